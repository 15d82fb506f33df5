//! Values that need subqueries, computed for one row at a time: for each a query of one row, whose outer row is the row at hand.
//! INSERT has them in the rows it writes.

use plan::physical::{PhysicalPlan, RowQuery};
use types::{Batch, Cell, Column, DataType};

use super::Source;
use crate::context::ExecContext;
use crate::error::internal;
use crate::expr::SqlResult;
use crate::programs::Programs;

/// Row queries under way.
pub(crate) struct RowQueries<'p> {
    running: Vec<Running<'p>>,
}

struct Running<'p> {
    query: &'p RowQuery,
    source: Source<'p>,
    value: Column,
    is_known: bool,
}

impl<'p> RowQueries<'p> {
    #[inline]
    pub(crate) fn new(
        plan: &'p PhysicalPlan,
        queries: &'p [RowQuery],
        programs: &mut Programs<'_>,
    ) -> SqlResult<RowQueries<'p>> {
        match queries.is_empty() {
            true => Ok(RowQueries { running: Vec::new() }),
            false => RowQueries::compile(plan, queries, programs),
        }
    }

    fn compile(
        plan: &'p PhysicalPlan,
        queries: &'p [RowQuery],
        programs: &mut Programs<'_>,
    ) -> SqlResult<RowQueries<'p>> {
        let mut running = Vec::with_capacity(queries.len());
        for query in queries {
            let source = Source::new(plan, &query.node, programs)?;
            let value = Column::new(query.node.types[0].physical());
            running.push(Running { query, source, value, is_known: false });
        }
        Ok(RowQueries { running })
    }

    /// The value of query `number` and its type for row `row` of `batch`.
    ///
    /// # Errors
    /// The client's.
    pub(crate) fn eval(
        &mut self,
        number: usize,
        batch: &Batch,
        row: usize,
        ctx: &mut ExecContext<'_>,
    ) -> SqlResult<(Cell<'_>, &'p DataType)> {
        let Some(running) = self.running.get_mut(number) else {
            return Err(internal("a row query that the plan does not have"));
        };
        let query = running.query;
        if !running.is_known {
            for &(slot, position) in &query.slots {
                // Columns of the query that feeds an INSERT are there only where a row of it is at hand.
                let Some(column) = batch.columns.get(position as usize) else { continue };
                let mut value = Column::new(column.physical());
                value.push_cell(column.cell(row));
                ctx.eval.outer[slot as usize] = value;
            }
            running.value.clear();
            running.source.start(ctx)?;
            while running.source.next(ctx)? {
                for row in 0..running.source.batch.row_count {
                    running.value.push_cell(running.source.batch.columns[0].cell(row));
                }
            }
            if running.value.is_empty() {
                return Err(internal("a row query without a row"));
            }
            running.is_known = query.is_constant;
        }
        Ok((running.value.cell(0), &query.node.types[0]))
    }
}
