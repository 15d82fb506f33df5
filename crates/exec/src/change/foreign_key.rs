//! The way of a changed row to its table: straight, or past the foreign keys that concern it.
//!
//! Keys are resolved when the statement is prepared ([`Compiled`]); an execution that does not check them
//! (`foreign_key_checks`) or a table without any goes straight.

use std::sync::Arc;

use plan::logical::TableIndex;
use plan::physical::PhysicalPlan;
use service::error::Level;
use store::Transaction;
use table::{ForeignKeyViolation, ForeignKeys, Table, Updated, WriteContext, WriteError};
use types::Cell;

use super::values::diagnostic;
use crate::context::ExecContext;
use crate::error::write_error;
use crate::expr::{SqlResult, Warnings};
use crate::run::scan::local_table;

/// The foreign keys of a plan.
#[derive(Debug)]
pub(super) struct Compiled(Option<Arc<ForeignKeys>>);

impl Compiled {
    pub(super) fn new(plan: &PhysicalPlan) -> Compiled {
        Compiled(plan.foreign_keys.as_ref().and_then(|graph| ForeignKeys::new(graph)))
    }

    /// Whether any key concerns the statement.
    pub(super) fn any(&self) -> bool {
        self.0.is_some()
    }

    /// The way to a table of the plan.
    pub(super) fn writer(
        &self,
        plan: &PhysicalPlan,
        table: TableIndex,
        ctx: &ExecContext<'_>,
    ) -> SqlResult<Writer> {
        let table = local_table(plan, table)?;
        let keys = self.0.as_ref().filter(|_| ctx.change.foreign_key_checks).and_then(|keys| {
            let node = keys.node_of(table.definition().id)?;
            Some((Arc::clone(keys), node))
        });
        Ok(Writer { table, keys })
    }
}

/// The way to a table.
pub(super) struct Writer {
    pub(super) table: Arc<Table>,
    /// The keys that concern it, and which table it is among them.
    keys: Option<(Arc<ForeignKeys>, usize)>,
}

impl Writer {
    /// Whether a row about to be inserted must be checked.
    pub(super) fn checks_rows(&self) -> bool {
        self.keys.is_some()
    }

    /// Checks a row about to be inserted.
    pub(super) fn check_insert(
        &self,
        transaction: &mut Transaction,
        cells: &[Cell<'_>],
        context: WriteContext<'_>,
        key: &mut Vec<u8>,
    ) -> Result<(), WriteError> {
        match &self.keys {
            Some((keys, node)) => keys.check_insert(*node, transaction, cells, context, key),
            None => Ok(()),
        }
    }

    /// [`Table::update`].
    pub(super) fn update(
        &self,
        transaction: &mut Transaction,
        locator: &[u8],
        changes: &[(usize, Cell<'_>)],
        context: WriteContext<'_>,
    ) -> Result<Updated, WriteError> {
        match &self.keys {
            Some((keys, node)) => keys.update(*node, transaction, locator, changes, context),
            None => self.table.update(transaction, locator, changes, context),
        }
    }

    /// [`Table::delete`].
    pub(super) fn delete(
        &self,
        transaction: &mut Transaction,
        locator: &[u8],
        context: WriteContext<'_>,
    ) -> Result<bool, WriteError> {
        match &self.keys {
            Some((keys, node)) => keys.delete(*node, transaction, locator, context),
            None => self.table.delete(transaction, locator, context),
        }
    }

    /// Whether other rows may refer to rows of the table, so that one cannot be replaced by changing all its columns.
    pub(super) fn has_children(&self) -> bool {
        self.keys.as_ref().is_some_and(|(keys, node)| keys.has_children(*node))
    }

    /// Deletes a row whose place a new one takes.
    pub(super) fn delete_replaced(
        &self,
        transaction: &mut Transaction,
        locator: &[u8],
        new: &[Cell<'_>],
        context: WriteContext<'_>,
    ) -> Result<bool, WriteError> {
        match &self.keys {
            Some((keys, node)) => keys.delete_replaced(*node, transaction, locator, new, context),
            None => self.table.delete(transaction, locator, context),
        }
    }
}

/// A violated foreign key: a warning with IGNORE, unless the cascade was too deep.
#[cold]
pub(super) fn violated(
    violation: Box<ForeignKeyViolation>,
    ignore: bool,
    warnings: &mut Warnings,
) -> SqlResult<()> {
    let ignorable = *violation != ForeignKeyViolation::TooDeep;
    let error = write_error(WriteError::ForeignKey(violation));
    if !ignore || !ignorable {
        return Err(error);
    }
    warnings.push(diagnostic(Level::Warning, error.number, &error.message));
    Ok(())
}
