//! Work on all rows of a table that others read and write meanwhile: indexes are built, rows copied or checked.
//!
//! ```text
//! exclusive      trees are made and committed; the catalog gets a table whose writers log what they change
//! beside others  parts of the rows are read and worked on; what writers log is applied, row by row
//! exclusive      the last logged changes are applied; then the caller commits the definition that names the trees
//! ```
//!
//! `table::ChangeLog` has the rules of the log; [`RowWork`] is what is done with a row. Nothing but the caller's commit is in the
//! dictionary: after a crash the trees belong to nobody, and opening drops them. Work that fails drops them itself.

use std::sync::Arc;

use catalog::TableEntry;
use service::error as e;
use store::{LockWait, Locked, Transaction};
use table::{ChangeLog, ChangedRow, LoggedChange, Others, Table};
use types::Batch;

use super::locks::AlterLocks;
use crate::ddl::definitions::Definitions;
use crate::ddl::{Context, Result};

/// Logged changes are applied between two parts when they take at least this many bytes.
const LOG_BYTES_BETWEEN_PARTS: usize = 1 << 20;
/// Few enough logged changes to apply them while nobody else gets to the table.
const LOG_BYTES_AT_END: usize = 16 << 10;
/// Rounds of applying before the end, if writers are as fast as they.
const ROUNDS_MAX: usize = 16;
/// Logged changes applied in one transaction.
const BATCH_CHANGES: usize = 1_000;

/// A round of applying, as work on a row sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Round {
    /// What to do about rows that others have locked.
    pub(super) wait: LockWait,
    /// No change is logged but those of this round behind this one: what is in a row's way will stay there.
    pub(super) certain: bool,
}

/// What is done with each row.
pub(super) trait RowWork {
    /// Ordinals of the columns that applying a change needs.
    fn columns(&self) -> &[usize];

    /// Works on the next part of the rows, from a snapshot of its own. False: that was the last.
    ///
    /// # Errors
    /// The client's: they end the statement.
    fn read_part(&mut self, changes: &ChangeLog) -> Result<bool>;

    /// Reverts what was done with a changed row. All changed rows of a round are reverted before the first change is applied.
    ///
    /// # Errors
    /// As [`RowWork::read_part`].
    fn take_back(&mut self, _transaction: &mut Transaction, _change: &LoggedChange<'_>) -> Result<()> {
        Ok(())
    }

    /// Works on a changed row as it is now; the transaction has locked it. `None`: it is gone. False: not now.
    ///
    /// # Errors
    /// As [`RowWork::read_part`].
    fn apply(
        &mut self,
        transaction: &mut Transaction,
        change: &LoggedChange<'_>,
        row: Option<ChangedRow<'_>>,
        round: Round,
    ) -> Result<bool>;
}

/// Work under way, or done. Dropping it takes it back.
pub(super) struct Online<'a> {
    definitions: &'a Definitions,
    /// Trees that no definition names yet.
    trees: Vec<u64>,
    changes: Arc<ChangeLog>,
    /// The table as the catalog has it meanwhile.
    published: Option<Arc<TableEntry>>,
    kept: bool,
}

impl<'a> Online<'a> {
    /// Work that fills these trees, which are committed.
    pub(super) fn new(definitions: &'a Definitions, trees: Vec<u64>, changes: Arc<ChangeLog>) -> Self {
        Self { definitions, trees, changes, published: None, kept: false }
    }

    /// Does the work, rows read through `table`, while `others` (`None`: nobody) may use the table of `entry`; alone on it before
    /// and after.
    ///
    /// # Errors
    /// 1205, 1317, 1799, and what the work says.
    pub(super) fn run(
        &mut self,
        context: &Context<'_>,
        locks: &mut AlterLocks,
        others: Option<Others>,
        entry: &Arc<TableEntry>,
        table: &Arc<Table>,
        works: &mut [&mut dyn RowWork],
    ) -> Result<()> {
        if let Some(others) = others
            && matches!(locks, AlterLocks::One(_))
        {
            if others == Others::Write {
                let published = self.definitions.begin().publish_logged(entry, Arc::clone(&self.changes))?;
                self.published = Some(published);
            }
            locks.let_in(others);
        }
        self.work(context, table, works)?;
        locks.be_alone(context.session.lock_wait)?;
        self.apply(context, table, works, true)?;
        self.changes.close();
        Ok(())
    }

    /// Works on all rows, and on what is logged until little is left.
    fn work(&self, context: &Context<'_>, table: &Arc<Table>, works: &mut [&mut dyn RowWork]) -> Result<()> {
        for number in 0..works.len() {
            alive(context)?;
            while works[number].read_part(&self.changes)? {
                alive(context)?;
                if self.changes.byte_count() > LOG_BYTES_BETWEEN_PARTS {
                    self.apply(context, table, works, false)?;
                }
            }
        }
        for _ in 0..ROUNDS_MAX {
            if self.changes.byte_count() <= LOG_BYTES_AT_END {
                break;
            }
            self.apply(context, table, works, false)?;
        }
        Ok(())
    }

    /// Applies what is logged; but for the `last` time, changes of rows that others have locked stay.
    fn apply(
        &self,
        context: &Context<'_>,
        table: &Arc<Table>,
        works: &mut [&mut dyn RowWork],
        last: bool,
    ) -> Result<()> {
        let name = &table.definition().name;
        let taken = self.changes.take().map_err(|_| e::ER_INNODB_ONLINE_LOG_TOO_BIG.with(&[name]))?;
        let store = table.store();
        let mut logged = taken.iter().peekable();
        while logged.peek().is_some() {
            let mut transaction = store.begin();
            for change in logged.by_ref().take(BATCH_CHANGES) {
                for work in &mut *works {
                    work.take_back(&mut transaction, &change)?;
                }
            }
            transaction.commit().map_err(crate::store_error)?;
            env::blocking::tick();
        }
        let mut columns: Vec<usize> = works.iter().flat_map(|work| work.columns()).copied().collect();
        columns.sort_unstable();
        columns.dedup();
        let shapes = columns.iter().map(|&column| table.definition().columns[column].data_type.physical());
        let mut batch = Batch::new(shapes);
        let wait = if last { LockWait::Nowait } else { LockWait::Skip };
        let mut logged = taken.iter().peekable();
        while logged.peek().is_some() {
            alive(context)?;
            let mut transaction = store.begin();
            for change in logged.by_ref().take(BATCH_CHANGES) {
                let locked = table
                    .lock_changed(&mut transaction, change.locator, wait, &columns, &mut batch)
                    .map_err(exec::access_error)?;
                let mut applied = locked != Locked::Skipped;
                if applied {
                    let row = ChangedRow { columns: &columns, batch: &batch };
                    let row = (locked == Locked::Row(())).then_some(row);
                    let round = Round { wait, certain: last || self.changes.byte_count() == 0 };
                    for work in &mut *works {
                        applied &= work.apply(&mut transaction, &change, row, round)?;
                    }
                }
                if !applied {
                    self.changes.put_back(&change);
                }
            }
            transaction.commit().map_err(crate::store_error)?;
            env::blocking::tick();
        }
        Ok(())
    }

    /// A definition that names the trees is being committed.
    pub(super) fn keep(mut self) {
        self.kept = true;
    }

    fn take_back(&self) -> Result<()> {
        if self.trees.is_empty() && self.published.is_none() {
            return Ok(());
        }
        let mut change = self.definitions.begin();
        change.drop_trees(&self.trees)?;
        if let Some(entry) = &self.published {
            change.put_altered(Arc::new((*entry.definition).clone()), entry)?;
        }
        change.commit().map(|_| ())
    }
}

fn alive(context: &Context<'_>) -> Result<()> {
    match (context.session.lock_wait.killed)() {
        true => Err(e::ER_QUERY_INTERRUPTED.bare()),
        false => Ok(()),
    }
}

impl Drop for Online<'_> {
    fn drop(&mut self) {
        self.changes.close();
        if !self.kept {
            // If not even this can be done the store has stopped; the next opening drops trees that nobody names.
            let _stopped = self.take_back();
        }
    }
}
