//! The parts of large columns by which a plan reads a table: which bytes they are is known when an operator starts.

use std::sync::Arc;

use access::Part;
use plan::Expr;
use plan::logical::{PartKind, TableIndex, TablePart};
use plan::physical::PhysicalPlan;
use types::{Cell, Column};

use super::text_predicate::PreparedPredicate;
use crate::context::ExecContext;
use crate::expr::no_input;
use crate::expr::{Program, Scratch, SqlResult};
use crate::programs::Programs;
use crate::row_buffer::columns;

/// A plan's parts of a table, with the program of their numbers and texts.
pub(crate) struct Parts<'p> {
    plan: &'p [TablePart],
    /// The number by which references name the table.
    table: TableIndex,
    program: Option<(Arc<Program>, Scratch)>,
    values: Vec<Column>,
    current: Vec<Part>,
}

/// A number as the statement gave it; absent: it names none.
type Number = Option<Option<i128>>;

impl<'p> Parts<'p> {
    /// The parts of table `table` of `plan`.
    pub(crate) fn new(
        plan: &'p PhysicalPlan,
        table: TableIndex,
        programs: &mut Programs<'_>,
    ) -> SqlResult<Parts<'p>> {
        // A table that a statement mentions twice has one number, so that its values are the same wherever they come from.
        let id = plan.tables[table.0 as usize].entry.definition.id;
        let first = plan.tables.iter().position(|table| table.entry.definition.id == id);
        let plan: &[TablePart] = &plan.tables[table.0 as usize].parts;
        let table = TableIndex(first.map_or(table.0, |first| first as u32));
        let exprs: Vec<Expr> = plan
            .iter()
            .flat_map(|part| part.kind.numbers().into_iter().flatten().chain(part.kind.texts()))
            .cloned()
            .collect();
        let program = if exprs.is_empty() {
            None
        } else {
            let program = programs.take(&exprs)?;
            let scratch = program.scratch();
            Some((program, scratch))
        };
        let values = columns(exprs.iter().map(|expr| expr.data_type.physical()));
        Ok(Parts { plan, table, program, values, current: Vec::new() })
    }

    /// Computes which bytes they are in this run. `is_locking`: rows are read as they are now, and locked.
    pub(crate) fn start(&mut self, is_locking: bool, ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        if self.plan.is_empty() {
            return Ok(());
        }
        if let Some((program, scratch)) = &mut self.program {
            scratch.reset();
            program.eval(scratch, &no_input(), &mut ctx.eval, &mut self.values)?;
        }
        // A reference is read later, as the same snapshot sees it, or as the newest version of a row that the statement has
        // locked, if it reads all so. What neither holds may be gone by then.
        let out_of_line = ((!is_locking || ctx.lock_reads) && !ctx.read_uncommitted).then_some(self.table.0);
        let mut cells = self.values.iter().map(|column| column.cell(0));
        self.current.clear();
        for part in self.plan {
            let [position, count] = part.kind.numbers().map(|expr| number(expr, &mut cells));
            let kind = match &part.kind {
                PartKind::Predicate(predicate) => {
                    let backslash = !ctx.eval.settings.has(crate::expr::sql_mode::NO_BACKSLASH_ESCAPES);
                    let texts = cells.by_ref().take(predicate.texts.len());
                    access::PartKind::Predicate(Arc::new(PreparedPredicate::new(predicate, texts, backslash)))
                }
                kind => resolve(kind, position, count, out_of_line),
            };
            self.current.push(Part { column: part.column, kind });
        }
        Ok(())
    }

    /// The parts of this run.
    pub(crate) fn current(&self) -> &[Part] {
        &self.current
    }
}

/// The next of the values, if it is a number's.
fn number<'c>(expr: Option<&Expr>, values: &mut impl Iterator<Item = Cell<'c>>) -> Number {
    let expr = expr?;
    Some(match values.next() {
        Some(Cell::Int(value)) if expr.data_type.unsigned => Some(i128::from(value.cast_unsigned())),
        Some(Cell::Int(value)) => Some(i128::from(value)),
        _ => None,
    })
}

fn resolve(kind: &PartKind, position: Number, count: Number, out_of_line: Option<u32>) -> access::PartKind {
    let most = i128::from(u64::MAX);
    let (Some(position), Some(count)) = (position.unwrap_or(Some(1)), count.unwrap_or(Some(most))) else {
        return access::PartKind::Null;
    };
    let bytes = |position: i128, count: i128| access::PartKind::Bytes {
        position: position.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64,
        count: count.clamp(0, most) as u64,
    };
    match *kind {
        PartKind::Reference | PartKind::Predicate(_) => access::PartKind::Whole { out_of_line },
        PartKind::Nullness => bytes(1, 0),
        PartKind::Length { times } => access::PartKind::Length { times },
        PartKind::Substring { .. } => bytes(position, count),
        PartKind::Start { .. } if position < 0 => bytes(1, most),
        // What is left of the characters asked for is cut by the expression above.
        PartKind::Start { width, .. } => {
            let characters = if position == 0 || count <= 0 { 0 } else { position - 1 + count };
            bytes(1, characters.saturating_mul(i128::from(width)))
        }
    }
}
