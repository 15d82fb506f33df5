//! Values of an INSERT that need subqueries: for each a query of one row, whose outer row is the row at hand.

use plan::physical::{InsertPlan, PhysicalPlan, RowQuery};
use types::{Batch, Cell, Column, DataType};

use crate::context::ExecContext;
use crate::error::internal;
use crate::expr::SqlResult;
use crate::prepare::Programs;
use crate::run::Source;

/// The row queries of an INSERT under way.
pub(super) struct RowQueries<'p> {
    running: Vec<Running<'p>>,
}

struct Running<'p> {
    query: &'p RowQuery,
    source: Source<'p>,
    value: Column,
    is_known: bool,
}

impl<'p> RowQueries<'p> {
    pub(super) fn new(
        plan: &'p PhysicalPlan,
        insert: &'p InsertPlan,
        programs: &mut Programs<'_>,
    ) -> SqlResult<RowQueries<'p>> {
        let mut running = Vec::with_capacity(insert.row_queries.len());
        for query in &insert.row_queries {
            let source = Source::new(plan, &query.node, programs)?;
            let value = Column::new(query.node.types[0].physical());
            running.push(Running { query, source, value, is_known: false });
        }
        Ok(RowQueries { running })
    }

    /// The value of query `number` and its type for the only row of `row`.
    ///
    /// # Errors
    /// The client's.
    pub(super) fn eval(
        &mut self,
        number: u32,
        row: &Batch,
        ctx: &mut ExecContext<'_>,
    ) -> SqlResult<(Cell<'_>, &'p DataType)> {
        let Some(running) = self.running.get_mut(number as usize) else {
            return Err(internal("a row query that the plan does not have"));
        };
        let query = running.query;
        if !running.is_known {
            for &(slot, position) in &query.slots {
                // Columns of the query that feeds the INSERT are there only where a row of it is at hand.
                let Some(column) = row.columns.get(position as usize) else { continue };
                let mut value = Column::new(column.physical());
                value.push_cell(column.cell(0));
                ctx.eval.outer[slot as usize] = value;
            }
            running.value.clear();
            running.source.start(ctx)?;
            while running.source.next(ctx)? {
                for position in 0..running.source.batch.row_count {
                    running.value.push_cell(running.source.batch.columns[0].cell(position));
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
