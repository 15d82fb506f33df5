//! The way of a changed row to its table: the one place through which statements insert, change and delete rows.
//!
//! What happens to a row, in MySQL's order, and where:
//!
//! ```text
//!    values as the statement gives them, defaults       insert, update, duplicate
//! 1. BEFORE triggers: may change the new row or refuse  trigger
//! 2. NOT NULL, generated columns, WITH CHECK OPTION,    trigger, rules, view_check; NOT NULL without BEFORE triggers: values, whenever one is
//!    CHECK                                              stored
//! 3. foreign keys: children of the old row, parents     the backend, which holds the keys' locks
//! 4. the change, with all indexes                       the backend: access::Transaction
//! 5. AUTO_INCREMENT numbers seen                        numbers
//! 6. AFTER triggers: may refuse                         trigger
//! ```
//!
//! Steps 3 and 4 are one call of the backend: it undoes both if one fails. In it every stored row that changes, those of cascades too,
//! is shown to the table's observers ([`access::RowObserver`]: today the change log of online DDL), a child's before its parent's; they
//! may refuse. Rows that cascades change fire no trigger, as in MySQL. Foreign keys are resolved when the statement is
//! prepared ([`Compiled`]); an execution that does not check them (`foreign_key_checks`) or a table without any gives none.

use std::sync::Arc;

use access::{
    Columns, DuplicateKey, Error, ForeignKeyViolation, ForeignKeys, LargeSource, LockMode, NewRow, RowLock,
    Table, Updated, WriteTarget,
};
use catalog::{TableDefinition, TableId, TriggerEvent};
use plan::logical::TableIndex;
use plan::physical::PhysicalPlan;
use service::error::{Level, SqlError};
use types::vector::BytesColumn;
use types::{Batch, Cell};

use super::trigger::Trigger;
use super::values::diagnostic;
use crate::context::ExecContext;
use crate::error::{foreign_key_error, row_error};
use crate::expr::{EvalContext, SessionState, SqlResult};
use crate::stored_table::{StoredTable, stored_table};

/// The foreign keys and the triggers of a plan; most have neither.
#[derive(Debug)]
pub(super) struct Compiled(Option<Hooks>);

#[derive(Debug)]
struct Hooks {
    keys: Option<ResolvedKeys>,
    /// By table of the plan.
    triggers: Vec<Option<Trigger>>,
}

#[derive(Debug)]
struct ResolvedKeys {
    keys: Arc<dyn ForeignKeys>,
    /// The tables that they concern, by node.
    tables: Vec<TableId>,
}

impl Compiled {
    pub(super) fn new(plan: &PhysicalPlan) -> Compiled {
        let resolve = || -> Option<ResolvedKeys> {
            let graph = plan.foreign_keys.as_ref()?;
            let keys = graph.nodes.first()?.table.source.foreign_keys(graph)?;
            let tables = graph.nodes.iter().map(|node| node.table.definition.id).collect();
            Some(ResolvedKeys { keys, tables })
        };
        let keys = resolve();
        let trigger = |(index, table): (usize, &plan::physical::PlanTable)| {
            let events = plan.events(TableIndex(u32::try_from(index).ok()?));
            if events.is_empty() {
                return None;
            }
            Trigger::new(&table.entry.definition, table.entry.source.row_trigger(), events)
        };
        let triggers: Vec<Option<Trigger>> = plan.tables.iter().enumerate().map(trigger).collect();
        let any = keys.is_some() || triggers.iter().any(Option::is_some);
        Compiled(any.then_some(Hooks { keys, triggers }))
    }

    /// Whether any key or trigger concerns the statement.
    pub(super) fn any(&self) -> bool {
        self.0.is_some()
    }

    /// The way to a table of the plan.
    pub(super) fn writer<'p>(
        &'p self,
        plan: &'p PhysicalPlan,
        table: TableIndex,
        ctx: &ExecContext<'_>,
    ) -> SqlResult<RowWriter<'p>> {
        let StoredTable { definition, rows } = stored_table(plan, table)?;
        let Some(hooks) = &self.0 else {
            return Ok(RowWriter { definition, table: rows, keys: None, trigger: None });
        };
        let keys = hooks.keys.as_ref().filter(|_| ctx.change.foreign_key_checks).and_then(|resolved| {
            let node = resolved.tables.iter().position(|id| *id == definition.id)?;
            Some((Arc::clone(&resolved.keys), node))
        });
        let trigger = hooks.triggers[table.0 as usize].as_ref();
        Ok(RowWriter { definition, table: rows, keys, trigger })
    }
}

/// The way to a table.
pub(super) struct RowWriter<'p> {
    pub(super) definition: &'p TableDefinition,
    pub(super) table: Arc<dyn Table>,
    /// The keys that concern it, and which table it is among them.
    keys: Option<(Arc<dyn ForeignKeys>, usize)>,
    /// What its rows fire.
    trigger: Option<&'p Trigger>,
}

impl<'p> RowWriter<'p> {
    /// What this event fires.
    #[inline]
    pub(super) fn fired_by(&self, event: TriggerEvent) -> Option<&'p Trigger> {
        self.trigger.filter(|trigger| trigger.fires(event))
    }

    fn target(&self) -> WriteTarget<'_> {
        WriteTarget { table: &*self.table, keys: self.keys.as_ref().map(|(keys, node)| (&**keys, *node)) }
    }

    /// Whether a row about to be inserted must be checked.
    pub(super) fn checks_rows(&self) -> bool {
        self.keys.is_some()
    }

    /// Whether other rows may refer to rows of the table, so that one cannot be replaced by changing all its columns.
    pub(super) fn has_children(&self) -> bool {
        self.keys.as_ref().is_some_and(|(keys, node)| keys.has_children(*node))
    }

    /// Checks the parents of a row about to be inserted. The inner error is the backend's, as below.
    ///
    /// # Errors
    /// 1105 without a transaction, as below.
    pub(super) fn check_parents(
        &self,
        cells: &[Cell<'_>],
        ctx: &mut ExecContext<'_>,
    ) -> SqlResult<Result<(), Error>> {
        let writing = ctx.writing();
        Ok(ctx.transaction()?.check_parents(self.target(), cells, writing))
    }

    /// Inserts a row whose parents are checked.
    #[inline]
    pub(super) fn insert(
        &self,
        cells: &[Cell<'_>],
        large: &[(usize, LargeSource)],
        ctx: &mut ExecContext<'_>,
    ) -> SqlResult<Result<(), Error>> {
        let writing = ctx.writing();
        Ok(ctx.transaction()?.insert(&*self.table, NewRow { cells, large }, writing))
    }

    /// Changes columns of a row.
    pub(super) fn update(
        &self,
        locator: &[u8],
        changes: &[(usize, Cell<'_>)],
        ctx: &mut ExecContext<'_>,
    ) -> SqlResult<Result<Updated, Error>> {
        let writing = ctx.writing();
        Ok(ctx.transaction()?.update(self.target(), locator, changes, writing))
    }

    /// Deletes a row; false if there is none. `replaced_by`: the row that takes its place.
    pub(super) fn delete(
        &self,
        locator: &[u8],
        replaced_by: Option<&[Cell<'_>]>,
        ctx: &mut ExecContext<'_>,
    ) -> SqlResult<Result<bool, Error>> {
        let writing = ctx.writing();
        Ok(ctx.transaction()?.delete(self.target(), locator, replaced_by, writing))
    }

    /// Locks the row in the way of a duplicate, and reads the columns `ordinals` of it; false if it is not in the way any more.
    ///
    /// # Errors
    /// No lock, or the backend's.
    pub(super) fn lock_duplicate(
        &self,
        duplicate: &DuplicateKey,
        ordinals: &[usize],
        old: &mut Batch,
        ctx: &mut ExecContext<'_>,
    ) -> SqlResult<bool> {
        let writing = ctx.writing();
        let columns = Columns::whole(ordinals);
        ctx.transaction()?
            .lock_duplicate(&*self.table, duplicate, writing, columns, old)
            .map_err(|error| self.failed(&error, ctx))
    }

    /// Locks what is in the way of a duplicate until the transaction ends; false if it has gone.
    ///
    /// # Errors
    /// No lock, or the backend's.
    #[cold]
    pub(super) fn keep_duplicate(
        &self,
        duplicate: &DuplicateKey,
        ctx: &mut ExecContext<'_>,
    ) -> SqlResult<bool> {
        let wait = ctx.lock_wait;
        ctx.transaction()?
            .keep_duplicate(&*self.table, duplicate, wait)
            .map_err(|error| self.failed(&error, ctx))
    }

    /// Reads the whole row with this locator, which the statement has locked, into `old`; false if it has gone.
    ///
    /// # Errors
    /// The backend's.
    #[cold]
    pub(super) fn read_old(
        &self,
        locator: &[u8],
        old: &mut Batch,
        ctx: &mut ExecContext<'_>,
    ) -> SqlResult<bool> {
        let ordinals: Vec<usize> = (0..self.definition.columns.len()).collect();
        *old = Batch::new(self.definition.columns.iter().map(|column| column.data_type.physical()));
        let mut locators = BytesColumn::new();
        locators.push(locator);
        let (zone, wait) = (ctx.writing().zone, ctx.lock_wait);
        let lock = RowLock { mode: LockMode::Exclusive, wait };
        let (columns, mut matched) = (Columns::whole(&ordinals), Vec::new());
        ctx.transaction()?
            .fetch_locked(&*self.table, &locators, lock, zone, columns, old, &mut matched)
            .map_err(|error| self.failed(&error, ctx))?;
        Ok(!matched.is_empty())
    }

    /// What the client sees of an error of the table.
    #[cold]
    pub(super) fn failed(&self, error: &Error, ctx: &ExecContext<'_>) -> Box<SqlError> {
        let shown = row_error(self.definition, error);
        match error {
            Error::ForeignKey(violation) => without_hidden_names(shown, violation, &*ctx.eval.session),
            _ => shown,
        }
    }
}

/// The error omits the names of the other table and of the constraint for an account without any privilege on that table.
fn without_hidden_names(
    mut error: Box<SqlError>,
    violation: &ForeignKeyViolation,
    session: &dyn SessionState,
) -> Box<SqlError> {
    let is_hidden =
        violation.other_table().is_some_and(|(schema, table)| !session.may_name_table(schema, table));
    if is_hidden && let Some(shown) = error.message.find(" (") {
        error.message.truncate(shown);
    }
    error
}

/// A violated foreign key: a warning with IGNORE, unless the cascade was too deep.
#[cold]
pub(super) fn violated(
    violation: &ForeignKeyViolation,
    ignore: bool,
    eval: &mut EvalContext<'_>,
) -> SqlResult<()> {
    let ignorable = !matches!(violation, ForeignKeyViolation::TooDeep { .. });
    let shown = foreign_key_error(violation);
    let error = without_hidden_names(shown, violation, &*eval.session);
    if !ignore || !ignorable {
        return Err(error);
    }
    eval.warnings.push(diagnostic(Level::Warning, error.number, &error.message));
    Ok(())
}
