//! The rows of a running transaction as they are now, whatever it did to them on the way: what a transaction that waits for its
//! decision is made of again after a crash, and what its commit record says when the log no longer holds its parts.
//!
//! Invariants:
//! 1. Each row that bears the transaction's id comes once: with the undo entry that its newest version names, or with the one that says
//!    that there was none before.
//! 2. A transaction whose parts were given up writes all of its rows into the log before its commit record, at each attempt to commit.

use super::{Transaction, log_failed, rollback};
use crate::error::StoreError;
use crate::ids::TreeId;
use crate::mvcc::undo::{self, Kind, NONE};
use crate::oplog::{Op, OpLog};

impl Transaction {
    /// Calls `each` with every row that the transaction has changed or locked: its tree, its key and its value now, `None` where the
    /// transaction deleted it. In no particular order; trees that it made are not among them.
    ///
    /// # Errors
    /// Reading a page or undo failed; what `each` answers.
    pub fn each_own_row<E: From<StoreError>>(
        &self,
        mut each: impl FnMut(TreeId, &[u8], Option<&[u8]>) -> Result<(), E>,
    ) -> Result<(), E> {
        let inner = self.inner();
        let (mut copy, mut value) = (Vec::new(), Vec::new());
        let mut at = self.work.last;
        while at != NONE {
            rollback::copy_entry(inner, at, &mut copy)?;
            let entry = undo::read(&copy, 0)?;
            if entry.tree != TreeId::META
                && let Some(tree) = inner.tree(entry.tree)
            {
                let is_live = self.with_newest(&tree, entry.key, |record| {
                    let is_it = record.filter(|(version, _)| {
                        // The first version of a record leads nowhere.
                        let is_newest = undo::entry_of(version.undo) == at
                            || version.undo == NONE && entry.kind == Kind::Absent;
                        version.trx_id == self.work.id.0 && is_newest
                    });
                    value.clear();
                    value.extend_from_slice(is_it.and_then(|(_, value)| value).unwrap_or_default());
                    Ok(is_it.map(|(_, value)| value.is_some()))
                })?;
                if let Some(is_live) = is_live {
                    each(entry.tree, entry.key, is_live.then_some(&value))?;
                }
            }
            at = entry.before;
        }
        Ok(())
    }

    /// Keeps no part of the transaction in the log any longer: it may stay open for as long as its decision takes, and the log goes
    /// on. Its commit writes all of its rows again.
    ///
    /// # Errors
    /// The log stopped.
    pub fn give_up_log_parts(&mut self) -> Result<(), StoreError> {
        if self.work.log.has_parts() {
            self.work.log.abandon(self.store.inner.log()?);
            self.work.log = OpLog::default();
            self.work.has_given_up_parts = true;
        }
        Ok(())
    }

    /// Writes the rows of a transaction that has given up its parts.
    #[cold]
    pub(super) fn log_again(&mut self) -> Result<(), StoreError> {
        let inner = &*self.store.inner;
        let log = inner.log()?;
        // What was done since then is in the rows as well.
        self.work.log.abandon(log);
        let mut again = OpLog::default();
        let logged = self.each_own_row(|tree, key, value| {
            again.push(&Op::Put { tree, key, value: value.unwrap_or_default() });
            if value.is_none() {
                // The transaction may have inserted it: recovery deletes only what is there.
                again.push(&Op::Delete { tree, key });
            }
            if again.bytes_in_memory() > inner.options.txn_log_memory_bytes {
                inner.wait_for_log()?;
                again.part(log).map_err(|error| log_failed(&error))?;
            }
            Ok(())
        });
        // A commit that fails after this begins again: the parts stay given up.
        match logged {
            Ok(()) => self.work.log = again,
            Err(_) => again.abandon(log),
        }
        logged
    }
}
