//! A session's transaction over the local store.
//!
//! Invariant: the store's transaction is a new one after each end, but for one that wrote and locked nothing.

use std::sync::Arc;

use access::{MetadataMode, MetadataWait};
use catalog::TableEntry;
use service::{ConnectionControl, Outcome, SqlError};
use store::{Interrupt, ReadView, Savepoint, Store, Transaction, TxnId};
use table::{LocalSnapshot, LocalTransaction, RowScratch};
use types::ValueRef;

use super::point::LocalPointProgram;
use super::prepared::Prepared;
use crate::metadata::MetadataLocks;
use crate::store_error;
use session::backend::{
    Access, LockWaits, PointMemory, PointOutcome, PointRead, Reads, SessionTransaction, StatementStart, Xid,
};

/// What the lock waits of a transaction and its statement tell each other.
pub struct LocalLockWaits(Arc<Interrupt>);

/// The transaction of a session.
pub struct LocalSessionTransaction {
    /// Begins the next one.
    store: Store,
    /// Writes and locks.
    work: Transaction,
    /// Ends its lock waits: a KILL raises it.
    interrupt: LocalLockWaits,
    /// The snapshot while one is kept, else parked. One a session: making one touches the store's shared count.
    view: ReadView,
    /// Tables whose definitions it uses: DDL waits for it.
    metadata: MetadataLocks,
    /// Memory for the rows that its statements write, so that each does not allocate its own.
    scratch: RowScratch,
    /// Where it goes when it is prepared.
    prepared: Arc<Prepared>,
}

impl LocalSessionTransaction {
    /// One that has done nothing.
    pub(super) fn new(store: &Store, prepared: &Arc<Prepared>) -> Self {
        let interrupt = Interrupt::new();
        Self {
            work: begin(store, &interrupt),
            interrupt: LocalLockWaits(interrupt),
            view: store.parked_view(),
            metadata: MetadataLocks::default(),
            scratch: RowScratch::default(),
            prepared: Arc::clone(prepared),
            store: store.clone(),
        }
    }

    /// Forgets a KILL QUERY of an earlier statement.
    fn ready_interrupt(&self, control: &ConnectionControl) {
        if self.interrupt.0.is_raised() {
            self.interrupt.0.reset();
            // One of this statement may have come meanwhile.
            if control.is_killed() {
                self.interrupt.0.raise();
            }
        }
    }

    /// Takes out what has begun; the next one is in its place.
    fn take_begun(&mut self) -> Option<Transaction> {
        self.view.park();
        if !self.has_begun() {
            return None;
        }
        let next = begin(&self.store, &self.interrupt.0);
        Some(std::mem::replace(&mut self.work, next))
    }
}

/// A transaction of the store whose lock waits `interrupt` ends.
fn begin(store: &Store, interrupt: &Arc<Interrupt>) -> Transaction {
    let mut work = store.begin();
    work.set_interrupt(Some(Arc::clone(interrupt)));
    work
}

impl LockWaits for LocalLockWaits {
    fn forbid_requeue(&self) {
        self.0.set_may_requeue(false);
    }
}

impl SessionTransaction for LocalSessionTransaction {
    type Savepoint = Savepoint;
    type Rows<'a> = LocalTransaction<'a>;
    type Snapshot<'a> = LocalSnapshot<'a>;
    type Waits = LocalLockWaits;
    type PointProgram = LocalPointProgram;

    fn set_control(&self, control: &ConnectionControl) {
        let interrupt = Arc::clone(&self.interrupt.0);
        control.set_waiter(Some(Box::new(move || interrupt.raise())));
    }

    #[inline]
    fn begin_statement(&mut self, start: StatementStart<'_>) -> Outcome {
        self.ready_interrupt(start.control);
        self.interrupt.0.set_may_requeue(start.may_requeue);
        self.work.set_owner(start.control.connection_id);
        self.work.set_range_locks(start.locks_ranges);
        self.work.set_first_updater_wins(start.refuses_newer_rows.then(|| self.view.csn()));
        if !start.keeps_snapshot {
            self.view.refresh();
        }
        Ok(())
    }

    #[inline]
    fn may_requeue(&self) -> bool {
        self.interrupt.0.may_requeue()
    }

    fn lock_wait_micros(&self) -> u64 {
        self.interrupt.0.waited_micros()
    }

    fn reset_lock_wait(&self) {
        self.interrupt.0.reset_waited();
    }

    #[inline]
    fn has_snapshot(&self) -> bool {
        !self.view.is_parked()
    }

    #[inline]
    fn take_snapshot(&mut self) -> Outcome {
        self.view.refresh();
        Ok(())
    }

    #[inline]
    fn release_snapshot(&mut self) -> Outcome {
        self.view.park();
        Ok(())
    }

    fn start_access(&mut self) -> Option<Access<LocalTransaction<'_>, LocalSnapshot<'_>, &LocalLockWaits>> {
        if self.view.is_parked() {
            return None;
        }
        self.scratch.renew();
        Some(Access {
            rows: LocalTransaction::new(&self.view, &mut self.work, &mut self.scratch),
            snapshot: LocalSnapshot(&self.view),
            waits: &self.interrupt,
        })
    }

    #[inline]
    fn read_point(
        &self,
        program: &LocalPointProgram,
        values: &[ValueRef<'_>],
        read: PointRead<'_>,
        memory: &mut PointMemory,
    ) -> Result<PointOutcome, Box<SqlError>> {
        if self.view.is_parked() {
            return Ok(PointOutcome::NotHere);
        }
        let reader = match read.reads {
            Reads::Snapshot => self.view.reader(),
            Reads::Own => self.work.reader(&self.view),
            Reads::Uncommitted => self.view.reader_uncommitted(),
        };
        program.run(values, reader, read, memory)
    }

    #[inline]
    fn has_begun(&self) -> bool {
        self.work.id() != TxnId(0)
    }

    fn has_changes(&self) -> bool {
        self.work.has_changes()
    }

    #[inline]
    fn savepoint(&mut self) -> Result<Savepoint, Box<SqlError>> {
        Ok(self.work.savepoint())
    }

    fn roll_back_to(&mut self, savepoint: &Savepoint) -> Outcome {
        self.work.rollback_to(savepoint).map_err(store_error)
    }

    #[inline]
    fn commit(&mut self) -> Result<Option<u64>, Box<SqlError>> {
        let committed = match self.take_begun() {
            Some(ended) => ended.commit().map_err(store_error),
            None => Ok(None),
        };
        self.metadata.release_all();
        Ok(committed?.map(|position| position.0))
    }

    fn prepare(&mut self, xid: &Xid) -> Result<Option<u64>, Box<SqlError>> {
        let (store, interrupt) = (&self.store, &self.interrupt.0);
        let next = || begin(store, interrupt);
        let position = self.prepared.prepare(xid, &mut self.work, &mut self.metadata, next, interrupt)?;
        self.view.park();
        Ok(position.map(|position| position.0))
    }

    fn roll_back(&mut self) -> Outcome {
        let rolled_back = match self.take_begun() {
            Some(ended) => ended.rollback().map_err(store_error),
            None => Ok(()),
        };
        self.metadata.release_all();
        rolled_back
    }

    #[inline]
    fn lock_table(&mut self, entry: &TableEntry, mode: MetadataMode, lock_wait: MetadataWait<'_>) -> Outcome {
        self.metadata.lock(entry, mode, lock_wait)
    }

    #[inline]
    fn table_lock_count(&self) -> usize {
        self.metadata.len()
    }

    fn release_table_locks_to(&mut self, count: usize) {
        self.metadata.release_to(count);
    }
}
