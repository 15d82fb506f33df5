//! Triggers: what the rows that a statement changes itself fire, and when.
//!
//! | who | is | runs |
//! | --- | --- | --- |
//! | the table's definition | [`TriggerDefinition`]: a program of SQL | in the session ([`SessionState::fire`]), through this statement's transaction |
//! | the table's source | [`RowTrigger`] | by itself |
//!
//! The row before is what the statement locked; the row after is a row of cells by position, as the statement builds it. A statement on
//! a table without a trigger for what it does never comes here: that is known when it is prepared.
//!
//! Invariants:
//! 1. While a BEFORE trigger runs, columns that are NOT NULL may be NULL; [`settle_nulls`] looks at them when all have run.
//! 2. A row fires each of its triggers once, in their order.
//!
//! [`SessionState::fire`]: crate::expr::SessionState::fire

use std::sync::Arc;

use access::{NewRowCells, RowCells, RowTrigger, ServerError};
use catalog::{TableDefinition, TriggerDefinition, TriggerEvent, TriggerTiming};
use service::error::SqlError;
use types::{Batch, Cell, Value, ValueRef};

use super::values::{Storing, Target, diagnostic};
use crate::context::ExecContext;
use crate::error::{access_error, coded};
use crate::expr::{FiredRow, Firing, SqlResult, Warnings};

/// A row of a batch, its columns at these positions; `None`: each at its ordinal.
#[derive(Clone, Copy)]
pub(super) struct RowAt<'a> {
    pub(super) batch: &'a Batch,
    pub(super) row: usize,
    pub(super) positions: Option<&'a [u32]>,
}

impl RowCells for RowAt<'_> {
    fn cell(&self, ordinal: usize) -> Cell<'_> {
        let position = self.positions.map_or(ordinal, |positions| positions[ordinal] as usize);
        self.batch.columns[position].cell(self.row)
    }
}

/// The only row of a batch, about to be written.
pub(super) struct NewRow<'a> {
    pub(super) definition: &'a TableDefinition,
    pub(super) batch: &'a mut Batch,
    /// As in [`RowAt`].
    pub(super) positions: Option<&'a [u32]>,
    /// Number of the row, for messages.
    pub(super) number: u64,
    /// Columns that a trigger has set to NULL.
    pub(super) set_null: Vec<usize>,
}

impl<'a> NewRow<'a> {
    pub(super) fn new(
        definition: &'a TableDefinition,
        batch: &'a mut Batch,
        positions: Option<&'a [u32]>,
        number: u64,
    ) -> NewRow<'a> {
        NewRow { definition, batch, positions, number, set_null: Vec::new() }
    }

    fn position(&self, ordinal: usize) -> usize {
        self.positions.map_or(ordinal, |positions| positions[ordinal] as usize)
    }
}

impl RowCells for NewRow<'_> {
    fn cell(&self, ordinal: usize) -> Cell<'_> {
        match self.batch.columns[self.position(ordinal)].cell(0) {
            Cell::Null if self.definition.columns[ordinal].auto_increment => Cell::Int(0),
            cell => cell,
        }
    }
}

/// The same for who gives values of any type.
struct Converting<'a, 'r> {
    row: &'a mut NewRow<'r>,
    storing: &'a Storing<'a>,
    warnings: &'a mut Warnings,
}

impl RowCells for Converting<'_, '_> {
    fn cell(&self, ordinal: usize) -> Cell<'_> {
        self.row.cell(ordinal)
    }
}

impl NewRowCells for Converting<'_, '_> {
    fn set(&mut self, ordinal: usize, value: &Value) -> Result<(), access::Error> {
        let row = &mut *self.row;
        let target = Target { definition: row.definition, ordinal, row: row.number, null_allowed: false };
        let position = row.position(ordinal);
        let out = &mut row.batch.columns[position];
        let stored = self.storing.put_value(target, &ValueRef::from(value), false, out, self.warnings);
        stored.map_err(|error| passed_on(&error))
    }

    fn put(&mut self, ordinal: usize, cell: Cell<'_>) {
        let row = &mut *self.row;
        let position = row.position(ordinal);
        row.set_null.retain(|&other| other != ordinal);
        if matches!(cell, Cell::Null) {
            row.set_null.push(ordinal);
        }
        let out = &mut row.batch.columns[position];
        out.clear();
        out.push_cell(cell);
    }
}

/// An error of the statement on its way through a trigger.
#[cold]
fn passed_on(error: &SqlError) -> access::Error {
    let SqlError { number, message, .. } = error;
    access::Error::Server(Box::new(ServerError { number: *number, message: message.clone() }))
}

/// The triggers of a table that is changed, for what a statement does to it.
#[derive(Debug)]
pub(super) struct Trigger {
    source: Option<Arc<dyn RowTrigger>>,
    table: Arc<TableDefinition>,
    /// Those of the definition, by event and timing.
    lists: [Vec<Arc<TriggerDefinition>>; 6],
}

fn list_of(event: TriggerEvent, timing: TriggerTiming) -> usize {
    event as usize * 2 + timing as usize
}

impl Trigger {
    /// The triggers of a table for these events; `None`: it has none.
    pub(super) fn new(
        table: &Arc<TableDefinition>,
        source: Option<&Arc<dyn RowTrigger>>,
        events: &[TriggerEvent],
    ) -> Option<Trigger> {
        let mut lists: [Vec<Arc<TriggerDefinition>>; 6] = Default::default();
        for trigger in table.triggers.iter().filter(|trigger| events.contains(&trigger.event)) {
            lists[list_of(trigger.event, trigger.timing)].push(Arc::clone(trigger));
        }
        let any = source.is_some() || lists.iter().any(|list| !list.is_empty());
        any.then(|| Trigger { source: source.cloned(), table: Arc::clone(table), lists })
    }

    /// Whether this event fires anything.
    pub(super) fn fires(&self, event: TriggerEvent) -> bool {
        self.source.is_some()
            || self.runs(event, TriggerTiming::Before)
            || self.runs(event, TriggerTiming::After)
    }

    /// Whether it fires triggers of the definition.
    pub(super) fn runs(&self, event: TriggerEvent, timing: TriggerTiming) -> bool {
        !self.lists[list_of(event, timing)].is_empty()
    }

    /// Fires them before a row is written.
    ///
    /// # Errors
    /// One refuses the row.
    #[cold]
    pub(super) fn before(
        &self,
        event: TriggerEvent,
        old: Option<RowAt<'_>>,
        new: Option<&mut NewRow<'_>>,
        storing: Option<&Storing<'_>>,
        ctx: &mut ExecContext<'_>,
    ) -> SqlResult<()> {
        let list = &self.lists[list_of(event, TriggerTiming::Before)];
        let old = old.as_ref().map(|old| old as &dyn RowCells);
        let (Some(new), Some(storing)) = (new, storing) else {
            if !list.is_empty() {
                ctx.fire(Firing { table: &self.table, triggers: list, old, new: FiredRow::None })?;
            }
            return match &self.source {
                Some(source) => source.before(old, None).map_err(access_error),
                None => Ok(()),
            };
        };
        let mut unused = Warnings::new(0);
        if !list.is_empty() {
            let mut row = Converting { row: new, storing, warnings: &mut unused };
            ctx.fire(Firing { table: &self.table, triggers: list, old, new: FiredRow::Unwritten(&mut row) })?;
        }
        match &self.source {
            Some(source) => {
                let mut row = Converting { row: new, storing, warnings: ctx.eval.warnings };
                source.before(old, Some(&mut row)).map_err(access_error)
            }
            None => Ok(()),
        }
    }

    /// Fires them after a row was written.
    ///
    /// # Errors
    /// One refuses the row.
    #[cold]
    pub(super) fn after(
        &self,
        event: TriggerEvent,
        old: Option<RowAt<'_>>,
        new: Option<RowAt<'_>>,
        ctx: &mut ExecContext<'_>,
    ) -> SqlResult<()> {
        let old = old.as_ref().map(|old| old as &dyn RowCells);
        let new = new.as_ref().map(|new| new as &dyn RowCells);
        let list = &self.lists[list_of(event, TriggerTiming::After)];
        if !list.is_empty() {
            let new = new.map_or(FiredRow::None, FiredRow::Written);
            ctx.fire(Firing { table: &self.table, triggers: list, old, new })?;
        }
        match &self.source {
            Some(source) => source.after(old, new).map_err(access_error),
            None => Ok(()),
        }
    }
}

/// What looks at the NULLs of NOT NULL columns when the BEFORE triggers of a row have run.
pub(super) struct NullRules<'a> {
    pub(super) storing: &'a Storing<'a>,
    /// The statement has IGNORE.
    pub(super) ignore: bool,
    /// The column that AUTO_INCREMENT fills.
    pub(super) numbered: Option<usize>,
    /// Columns that the statement does not write and that have no default.
    pub(super) missing: &'a [usize],
    /// The view that the statement names.
    pub(super) view: Option<&'a str>,
}

/// Refuses NULLs in NOT NULL columns, or makes values of them where that is only a warning, one for each column of a statement
/// (`warned`). False: a trigger has put one there, and the statement ignores the row for it.
///
/// # Errors
/// 1048, 1364.
#[cold]
pub(super) fn settle_nulls(
    new: &mut NewRow<'_>,
    rules: &NullRules<'_>,
    warned: &mut Vec<usize>,
    warnings: &mut Warnings,
) -> SqlResult<bool> {
    let definition = new.definition;
    let is_refused = |new: &NewRow<'_>, ordinal: usize| {
        let column = &definition.columns[ordinal];
        !column.nullable
            && column.generated.is_none()
            && rules.numbered != Some(ordinal)
            && new.batch.columns[new.position(ordinal)].is_null(0)
    };
    // What triggers have put there is refused as soon as they have run.
    for &ordinal in &new.set_null {
        if is_refused(new, ordinal) {
            let message = format!("Column '{}' cannot be null", definition.columns[ordinal].name);
            if !rules.ignore {
                return Err(coded(1048, &message));
            }
            warnings.push(diagnostic(service::error::Level::Warning, 1048, &message));
            return Ok(false);
        }
    }
    // Then what the statement gives, then what it leaves out.
    let is_missing = |ordinal: &usize| rules.missing.contains(ordinal);
    let given = (0..definition.columns.len()).filter(|ordinal| !is_missing(ordinal));
    for ordinal in given.chain(rules.missing.iter().copied()) {
        if !is_refused(new, ordinal) {
            continue;
        }
        let column = &definition.columns[ordinal];
        let mut unused = Warnings::new(0);
        let told = match warned.contains(&ordinal) {
            true => &mut unused,
            false => &mut *warnings,
        };
        let position = new.position(ordinal);
        let out = &mut new.batch.columns[position];
        if is_missing(&ordinal) {
            rules.storing.no_default(column, rules.view, out, told)?;
        } else {
            let target = Target { definition, ordinal, row: new.number, null_allowed: false };
            rules.storing.refuse_null(target, false, out, told)?;
        }
        warned.push(ordinal);
    }
    Ok(true)
}
