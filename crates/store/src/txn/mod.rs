//! Transactions: changes to current versions under row locks, rolled back completely or to a savepoint, or committed.
//!
//! A write goes to the newest version of a record, as in MySQL: it waits while the record bears the id of another
//! running transaction, and then works on what it finds. The old version goes to the undo. The new one bears the
//! transaction's id, which is the row lock. The change is appended to a private buffer that becomes the commit's log
//! record.
//!
//! Read next: `write` (one change), `rollback`, `lock_scan`, `own_rows`.

mod lock_scan;
mod merge;
mod own_rows;
pub(crate) mod rollback;
mod write;

pub use lock_scan::LockScan;

use crate::btree::Seek;
use crate::btree::node::{self, Version};
use crate::btree::tree::Shared;
use crate::error::{StoreError, WriteError};
use crate::ids::{CommitPosition, Csn, TreeId, TxnId};
use crate::lock::{
    Acquired, Interrupt, LockMode, LockWait, RangeLockOutcome, Request, ScanFairness, Waiting,
};
use crate::mvcc::Reader;
use crate::mvcc::txn_table::State;
use crate::mvcc::undo::{self, End, NONE, UndoRefs};
use crate::oplog::{Mark, Op, OpLog};
use crate::pager::PageMiss;
use crate::pager::pool::may_wait_inline;
use crate::read::ScanRange;
use crate::store::checkpoint::ReplayProgress;
use crate::store::space::{LARGE, Purpose};
use crate::store::{Inner, ReadView, Store, log_failed, meta_root, meta_value};
use crate::sync::atomic::Ordering;
use crate::trees::{Tree, TreeState};
use std::marker::PhantomData;
use std::sync::Arc;
use write::{Change, WriteOutcome};

/// A transaction. Dropping it rolls it back.
#[derive(Debug)]
pub struct Transaction {
    store: Store,
    work: Work,
    interrupt: Option<Arc<Interrupt>>,
}

/// A commit that finds the log without space has it shortened so often: a checkpoint that ran already may have begun
/// too early.
const LOG_SPACE_ATTEMPTS: u32 = 2;

/// What a transaction has done so far. Apart from its store, so that one can be borrowed beside the other.
#[derive(Debug)]
pub(crate) struct Work {
    /// 0 until the first write or lock.
    id: TxnId,
    slot: u32,
    /// The newest undo entry.
    last: u64,
    /// Where its undo is.
    undo_refs: UndoRefs,
    log: OpLog,
    change_count: u64,
    /// Changes and locks so far.
    touched: u64,
    /// It deleted records or dropped trees: purge has to look through its undo.
    deletes: bool,
    /// A statement could not be rolled back: it can only be rolled back as a whole.
    is_broken: bool,
    /// Its changes so far are not in the log, nor in `log`: [`Transaction::give_up_log_parts`].
    has_given_up_parts: bool,
    /// A commit that fails leaves it as it is.
    outlives_failed_commit: bool,
    /// Recovery repeats what the log already holds.
    replays: bool,
    /// What it changes pages for.
    purpose: Purpose,
    /// Whose it is: a number of the caller's own.
    owner: u64,
    /// Scans lock the key ranges they walk.
    locks_ranges: bool,
    /// Rows committed later than this may not be overwritten or locked.
    first_updater: Option<Csn>,
}

/// Which locks a transaction had at some moment: see [`Transaction::unlock_since`].
#[derive(Clone, Copy, Debug)]
pub struct LockMark {
    /// The newest undo entry.
    last: u64,
    /// Notes of locks from here on are newer.
    notes: (usize, usize),
}

/// A point to roll back to.
#[derive(Clone, Copy, Debug)]
pub struct Savepoint {
    txn: TxnId,
    last: u64,
    log: Mark,
    change_count: u64,
    /// Notes of locks from here on are newer.
    notes: (usize, usize),
}

/// What a row whose shared lock is held is like.
enum RowState {
    /// It is there, or is not.
    Row(bool),
    /// This transaction is changing it.
    ChangedBy(TxnId),
}

/// What locking a row found.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Locked<R> {
    /// The row is locked; this was made of its current value.
    Row(R),
    /// There is no such row now. Nothing is locked: [`Transaction::lock_range`] keeps others from inserting it.
    Absent,
    /// Another transaction holds it and the caller requested to skip such rows.
    Skipped,
}

impl Store {
    /// Begins a transaction. It costs nothing until it writes or locks.
    #[must_use]
    pub fn begin(&self) -> Transaction {
        Transaction::new(self.clone())
    }
}

impl Transaction {
    pub(crate) fn new(store: Store) -> Transaction {
        let work = Work {
            id: TxnId(0),
            slot: 0,
            last: NONE,
            undo_refs: UndoRefs::default(),
            log: OpLog::default(),
            change_count: 0,
            touched: 0,
            deletes: false,
            is_broken: false,
            has_given_up_parts: false,
            outlives_failed_commit: false,
            replays: false,
            purpose: Purpose::Any,
            owner: 0,
            locks_ranges: false,
            first_updater: None,
        };
        Transaction { store, work, interrupt: None }
    }

    /// A transaction that is not logged: recovery repeats with it, bootstrap begins with it.
    pub(crate) fn unlogged(store: Store) -> Transaction {
        let mut txn = Transaction::new(store);
        txn.work.replays = true;
        txn
    }

    fn inner(&self) -> &Inner {
        &self.store.inner
    }

    /// The store it belongs to.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Its number; 0 until it first writes or locks.
    #[must_use]
    pub fn id(&self) -> TxnId {
        self.work.id
    }

    /// Whether it changed anything.
    #[must_use]
    pub fn has_changes(&self) -> bool {
        self.work.change_count > 0
    }

    /// How many records it changed.
    #[must_use]
    pub fn change_count(&self) -> u64 {
        self.work.change_count
    }

    /// Bytes its log record has so far, in memory and not.
    #[must_use]
    pub fn log_bytes(&self) -> u64 {
        self.work.log.len()
    }

    /// Lets this interrupt end the transaction's lock waits.
    pub fn set_interrupt(&mut self, interrupt: Option<Arc<Interrupt>>) {
        self.interrupt = interrupt;
    }

    /// From now on, or no longer, its changes remove more than they add: they may use the space that is reserved on a
    /// full disk. Deletions and locks do so anyway.
    pub fn set_removes(&mut self, removes: bool) {
        self.work.purpose = if removes { Purpose::Remove } else { Purpose::Any };
    }

    /// Says whose transaction it is, for lists of transactions and locks: a number of the caller's own. Before the first write
    /// or lock.
    pub fn set_owner(&mut self, owner: u64) {
        self.work.owner = owner;
    }

    /// Lets scans that lock rows also lock the key ranges they walk, so that no other transaction inserts a row there
    /// until this transaction ends; a shared scan then locks the rows by the key range. Without it, scans lock rows
    /// alone.
    #[inline]
    pub fn set_range_locks(&mut self, wanted: bool) {
        self.work.locks_ranges = wanted;
    }

    /// Whether scans lock key ranges.
    #[inline]
    #[must_use]
    pub fn locks_ranges(&self) -> bool {
        self.work.locks_ranges
    }

    /// From now on locking or writing a row that was changed by a commit later than `snapshot` fails with
    /// [`WriteError::ChangedSinceSnapshot`]: the first updater wins. `None`: the newest version is what counts. The caller
    /// keeps a view of the snapshot.
    #[inline]
    pub fn set_first_updater_wins(&mut self, snapshot: Option<Csn>) {
        self.work.first_updater = snapshot;
    }

    /// Reads through `view` and sees this transaction's own changes.
    #[must_use]
    #[inline]
    pub fn reader<'v>(&self, view: &'v ReadView) -> Reader<'v> {
        view.reader_for(self.work.id)
    }

    /// Reads the newest committed versions and this transaction's own: for rows it has locked. `view` keeps the old versions
    /// that this steps over.
    #[must_use]
    pub fn reader_of_newest<'v>(&self, view: &'v ReadView) -> Reader<'v> {
        view.reader_of_newest(self.work.id)
    }

    fn begin_write(&mut self) -> Result<(), StoreError> {
        if self.work.id != TxnId(0) {
            return Ok(());
        }
        let inner = &*self.store.inner;
        inner.check_writable()?;
        if !self.work.replays {
            inner.wait_for_log()?;
        }
        let slot = inner.slots.acquire()?;
        let id = match inner.txns.begin(slot) {
            Ok(id) => id,
            Err(error) => {
                inner.slots.release(slot);
                return Err(error);
            }
        };
        inner.slots.own(slot, id, self.work.owner);
        self.work.id = id;
        self.work.slot = slot;
        Ok(())
    }

    /// Adds a record.
    ///
    /// # Errors
    /// `DuplicateKey` if a live one has the key, and what waiting for a lock can end in.
    pub fn insert(
        &mut self,
        tree: &Tree,
        key: &[u8],
        value: &[u8],
        wait: LockWait,
    ) -> Result<(), WriteError> {
        match self.change(tree, key, &mut Change::Insert(value), wait)? {
            WriteOutcome::Duplicate => Err(WriteError::DuplicateKey),
            _ => Ok(()),
        }
    }

    /// Adds a record or gives it another value.
    ///
    /// # Errors
    /// What waiting for a lock can end in.
    pub fn put(&mut self, tree: &Tree, key: &[u8], value: &[u8], wait: LockWait) -> Result<(), WriteError> {
        self.change(tree, key, &mut Change::Put(value), wait).map(|_| ())
    }

    /// Gives a record another value. False if there is none.
    ///
    /// # Errors
    /// What waiting for a lock can end in.
    pub fn update(
        &mut self,
        tree: &Tree,
        key: &[u8],
        value: &[u8],
        wait: LockWait,
    ) -> Result<bool, WriteError> {
        Ok(self.change(tree, key, &mut Change::Update(value), wait)? != WriteOutcome::Absent)
    }

    /// Deletes a record. False if there is none.
    ///
    /// # Errors
    /// What waiting for a lock can end in.
    pub fn delete(&mut self, tree: &Tree, key: &[u8], wait: LockWait) -> Result<bool, WriteError> {
        Ok(self.change(tree, key, &mut Change::Delete, wait)? != WriteOutcome::Absent)
    }

    /// Locks a record and reads its current value: the newest committed one, or this transaction's own.
    ///
    /// # Errors
    /// What waiting for a lock can end in.
    pub fn lock_current<R>(
        &mut self,
        tree: &Tree,
        key: &[u8],
        mode: LockMode,
        wait: LockWait,
        found: impl FnOnce(&[u8]) -> R,
    ) -> Result<Locked<R>, WriteError> {
        let mut found = Some(found);
        let mut result = None;
        let mut read = |value: &[u8]| result = found.take().map(|found| found(value));
        let locked = match mode {
            LockMode::Exclusive => self
                .change(tree, key, &mut Change::Lock(&mut read), wait)
                .map(|done| done != WriteOutcome::Absent),
            LockMode::Shared => self.lock_shared(tree, key, wait, &mut read),
        };
        match (locked, result) {
            (Ok(true), Some(result)) => Ok(Locked::Row(result)),
            (Ok(_), _) => Ok(Locked::Absent),
            (Err(WriteError::Locked { .. }), _) if wait == LockWait::Skip => Ok(Locked::Skipped),
            (Err(error), _) => Err(error),
        }
    }

    fn lock_shared(
        &mut self,
        tree: &Tree,
        key: &[u8],
        wait: LockWait,
        found: &mut dyn FnMut(&[u8]),
    ) -> Result<bool, WriteError> {
        self.begin_write()?;
        if self.has_key_range(tree, key)
            && let Some(found) = self.read_covered(tree, key, found)?
        {
            return Ok(found);
        }
        if self.work.change_count > 0
            && let Some(found) = self.read_own(tree, key, found)?
        {
            return Ok(found);
        }
        let mark = self.lock_mark();
        self.acquire(tree, key, LockMode::Shared, None, wait)?;
        let found = self.read_shared(tree, key, wait, found);
        if !matches!(found, Ok(true)) {
            let inner = self.inner();
            let note = &inner.slots.get(self.work.slot).locks;
            inner.locks.release_newer(tree.id(), key, self.work.id, note, mark.notes.0);
        }
        found
    }

    /// Whether a key range of this transaction covers the record.
    fn has_key_range(&self, tree: &Tree, key: &[u8]) -> bool {
        tree.state.locks().load(Ordering::SeqCst) >= TreeState::RANGES
            && self.inner().locks.covers(tree.id(), key, self.work.id)
    }

    /// Reads a row that this transaction's key range covers, unless another transaction's change of it is older than
    /// the key range.
    fn read_covered(
        &self,
        tree: &Tree,
        key: &[u8],
        found: &mut dyn FnMut(&[u8]),
    ) -> Result<Option<bool>, WriteError> {
        let inner = self.inner();
        self.with_newest(tree, key, |record| {
            let Some((version, value)) = record else { return Ok(Ok(Some(false))) };
            if self.work.is_newer(inner, version)? {
                return Ok(Err(WriteError::ChangedSinceSnapshot));
            }
            let trx_id = TxnId(version.trx_id);
            if trx_id != self.work.id && matches!(inner.txns.state(trx_id), State::Running(_)) {
                return Ok(Ok(None));
            }
            if let Some(value) = value {
                found(value);
            }
            Ok(Ok(Some(value.is_some())))
        })?
    }

    /// Reads a row that this transaction has written: it holds more than a shared lock of it, and waits for none that
    /// the lock table knows.
    fn read_own(
        &self,
        tree: &Tree,
        key: &[u8],
        found: &mut dyn FnMut(&[u8]),
    ) -> Result<Option<bool>, WriteError> {
        Ok(self.with_newest(tree, key, |record| {
            let Some((_, value)) = record.filter(|(version, _)| version.trx_id == self.work.id.0) else {
                return Ok(None);
            };
            if let Some(value) = value {
                found(value);
            }
            Ok(Some(value.is_some()))
        })?)
    }

    /// Reads a record's newest version and value under its leaf's latch; again after each page miss.
    fn with_newest<R>(
        &self,
        tree: &Tree,
        key: &[u8],
        mut look: impl FnMut(Option<(Version, Option<&[u8]>)>) -> Result<R, PageMiss>,
    ) -> Result<R, StoreError> {
        if tree.state.is_dropped() {
            return Err(StoreError::TreeGone(tree.id()));
        }
        let inner = self.inner();
        inner.with_tree(&tree.state, || {
            let guard = tree.state.root.leaf::<Shared>(&inner.pool, Seek::At(key))?;
            let index = node::search(guard.body(), key).ok();
            look(index.map(|index| {
                let (version, _, value) = node::record(guard.body(), index);
                (version, value)
            }))
        })
    }

    /// Waits for the transaction whose id is in a row of which the shared lock is held, and reads the row.
    fn read_shared(
        &self,
        tree: &Tree,
        key: &[u8],
        wait: LockWait,
        found: &mut dyn FnMut(&[u8]),
    ) -> Result<bool, WriteError> {
        let inner = &*self.store.inner;
        loop {
            let trx_id = self.with_newest(tree, key, |record| {
                let Some((version, value)) = record else { return Ok(Ok(RowState::Row(false))) };
                let trx_id = TxnId(version.trx_id);
                if self.work.is_newer(inner, version)? {
                    return Ok(Err(WriteError::ChangedSinceSnapshot));
                }
                if trx_id != self.work.id && matches!(inner.txns.state(trx_id), State::Running(_)) {
                    return Ok(Ok(RowState::ChangedBy(trx_id)));
                }
                if let Some(value) = value {
                    found(value);
                }
                Ok(Ok(RowState::Row(value.is_some())))
            })??;
            let trx_id = match trx_id {
                RowState::Row(is_there) => return Ok(is_there),
                RowState::ChangedBy(trx_id) => trx_id,
            };
            // The transaction id was there first: queue behind that transaction.
            inner.locks.withdraw_shared(tree.id(), key, self.work.id);
            self.acquire(tree, key, LockMode::Shared, Some(trx_id), wait)?;
            // That may have found that the transaction has ended, without granting the lock: request it again, which
            // changes nothing if it was granted.
            self.acquire(tree, key, LockMode::Shared, None, wait)?;
        }
    }

    /// Takes a lock in the table, waiting as requested. Read the row again afterwards.
    fn acquire(
        &self,
        tree: &Tree,
        key: &[u8],
        mode: LockMode,
        written_by: Option<TxnId>,
        wait: LockWait,
    ) -> Result<Acquired, WriteError> {
        let inner = self.inner();
        let written_by = match written_by.map(|holder| (holder, inner.txns.state(holder))) {
            Some((holder, State::Running(slot))) => Some((holder, &inner.slots.get(slot).locks)),
            Some(_) => return Ok(Acquired::Recheck),
            None => None,
        };
        let request = self.request(tree, key, mode, written_by, wait);
        let result = inner.locks.acquire(&request, || inner.counters.lock_waits.increment());
        self.count_refused(result.as_ref().err());
        result
    }

    fn request<'a>(
        &'a self,
        tree: &'a Tree,
        key: &'a [u8],
        mode: LockMode,
        written_by: Option<(TxnId, &'a crate::sync::Mutex<crate::lock::HeldLocks>)>,
        wait: LockWait,
    ) -> Request<'a> {
        Request {
            tree: &tree.state,
            key,
            txn: self.work.id,
            mode,
            wait,
            own: &self.inner().slots.get(self.work.slot).locks,
            written_by,
            interrupt: self.interrupt.as_deref(),
            weight: self.work.change_count,
            owner: self.work.owner,
        }
    }

    /// Waits until no other transaction's key range keeps this one from inserting (`inserts`) or changing a record. If
    /// it had to wait, its precedence is to be ended when it has retried.
    fn wait_for_range(
        &self,
        tree: &Tree,
        key: &[u8],
        inserts: bool,
        wait: LockWait,
    ) -> Result<Option<Arc<Waiting>>, WriteError> {
        let inner = self.inner();
        let request = self.request(tree, key, LockMode::Exclusive, None, wait);
        let result = inner.locks.wait_for_range(&request, inserts, || inner.counters.lock_waits.increment());
        self.count_refused(result.as_ref().err());
        result
    }

    fn count_refused(&self, error: Option<&WriteError>) {
        match error {
            Some(WriteError::Deadlock { .. }) => self.inner().counters.deadlocks.increment(),
            Some(WriteError::LockWaitTimeout { .. }) => self.inner().counters.lock_timeouts.increment(),
            _ => {}
        }
    }

    /// Keeps other transactions from inserting records with keys from `lower` up to `upper` (`None`: to the end) until
    /// this one ends, if it locks key ranges at all ([`Transaction::set_range_locks`]). Never waits. Records there now,
    /// and those that others are inserting, are not locked: look for them and lock them afterwards.
    ///
    /// # Errors
    /// `TooManyLocks`; the store stopped.
    pub fn lock_range(&mut self, tree: &Tree, lower: &[u8], upper: Option<&[u8]>) -> Result<(), WriteError> {
        if !self.work.locks_ranges {
            return Ok(());
        }
        self.begin_write()?;
        self.add_range(tree, (lower, upper), false, None).map(|_| ())
    }

    fn add_range(
        &self,
        tree: &Tree,
        key_range: (&[u8], Option<&[u8]>),
        covers_rows: bool,
        fairness: Option<ScanFairness<'_>>,
    ) -> Result<RangeLockOutcome, WriteError> {
        let inner = self.inner();
        let own = &inner.slots.get(self.work.slot).locks;
        inner.locks.lock_range(&tree.state, self.work.id, own, key_range, covers_rows, fairness)
    }

    /// Waits for the writers that wait to change the record at `key` and come first.
    fn wait_behind(&self, tree: &Tree, key: &[u8], wait: LockWait) -> Result<(), WriteError> {
        let inner = self.inner();
        let request = self.request(tree, key, LockMode::Shared, None, wait);
        inner.locks.wait_behind(&request, || inner.counters.lock_waits.increment())
    }

    /// Yields to the writers that wait to insert a record in the key range.
    fn yield_to_inserters(
        &self,
        tree: &Tree,
        (lower, upper): (&[u8], Option<&[u8]>),
        wait: LockWait,
    ) -> Result<(), WriteError> {
        let inner = self.inner();
        let request = self.request(tree, lower, LockMode::Shared, None, wait);
        inner.locks.yield_to_inserters(&request, upper, || inner.counters.lock_waits.increment())
    }

    /// Which locks there are now.
    #[must_use]
    pub fn lock_mark(&self) -> LockMark {
        if self.work.id == TxnId(0) {
            return LockMark { last: NONE, notes: (0, 0) };
        }
        let inner = self.inner();
        // Without any locks in the table what is noted means nothing.
        let none = inner.locks.bytes() == 0;
        let notes = if none { (0, 0) } else { inner.slots.get(self.work.slot).locks.lock().counts() };
        LockMark { last: self.work.last, notes }
    }

    /// Gives a row's lock back if it was taken after `mark` and the row was not changed since: READ COMMITTED does so with
    /// rows that do not meet the condition after all. The newest locks first: that is cheapest. No savepoint may be younger
    /// than the lock.
    ///
    /// # Errors
    /// Reading a page failed.
    pub fn unlock_since(&mut self, tree: &Tree, key: &[u8], mark: LockMark) -> Result<(), StoreError> {
        if self.work.id == TxnId(0) {
            return Ok(());
        }
        let Transaction { store, work, .. } = self;
        let inner = &*store.inner;
        rollback::unlock(inner, (work.id, work.slot), tree, key, &mut work.last, mark.last)?;
        let note = &inner.slots.get(self.work.slot).locks;
        inner.locks.release_newer(tree.id(), key, self.work.id, note, mark.notes.0);
        Ok(())
    }

    /// Reads the newest committed version of a record, or this transaction's own, without locking it.
    ///
    /// # Errors
    /// Reading a page failed; the tree is gone.
    pub fn get_current<R>(
        &self,
        tree: &Tree,
        key: &[u8],
        found: impl FnOnce(&[u8]) -> R,
    ) -> Result<Option<R>, StoreError> {
        // The view keeps the undo of what commits while we look.
        let _view = self.store.read_view();
        let reader = Reader {
            snapshot: Csn(u64::MAX >> 1),
            horizon: self.inner().txns.horizon(),
            own: self.work.id,
            uncommitted: false,
            view: PhantomData,
        };
        self.store.get(tree, key, reader, found)
    }

    /// Whether the newest version of a record is this transaction's: written, or locked exclusively.
    ///
    /// # Errors
    /// Reading a page failed; the tree is gone.
    pub fn has_written(&self, tree: &Tree, key: &[u8]) -> Result<bool, StoreError> {
        let guard = self.inner().leaf(&tree.state, Seek::At(key))?;
        let found = node::search(guard.body(), key).ok();
        let own = |index| node::record(guard.body(), index).0.trx_id == self.work.id.0;
        Ok(self.work.id != TxnId(0) && found.is_some_and(own))
    }

    /// Begins to lock and read a range, row by row.
    #[must_use]
    pub fn lock_scan(&self, tree: &Tree, range: &ScanRange<'_>, mode: LockMode, wait: LockWait) -> LockScan {
        LockScan::new(tree, range, mode, wait)
    }

    /// Makes a tree. It is usable at once by this transaction; others should wait for its commit.
    ///
    /// # Errors
    /// The pool is full, the store stopped.
    pub fn create_tree(&mut self) -> Result<TreeId, WriteError> {
        let id = TreeId(self.inner().next_tree.fetch_add(1, Ordering::SeqCst));
        self.create_tree_as(id)?;
        Ok(id)
    }

    pub(crate) fn create_tree_as(&mut self, id: TreeId) -> Result<(), WriteError> {
        self.begin_write()?;
        let Transaction { store, work, .. } = &mut *self;
        let inner = &*store.inner;
        let meta = inner.meta();
        inner.check_writable()?;
        inner.check_space(work.purpose)?;
        let root = inner.retry_misses(|| {
            // One step for a checkpoint: the root page and what the tree of trees says of it.
            let section = inner.checkpoint_latch.shared();
            let root = inner.create_root(id)?;
            let value = meta_value(root.page, false);
            match work.change_in_section(
                inner,
                &section,
                &meta,
                &id.0.to_be_bytes(),
                &mut Change::Insert(&value),
            ) {
                Ok(write::Attempt::WriteOutcome(WriteOutcome::Changed)) => Ok(root),
                outcome => {
                    inner.pool.free_unread(root.page)?;
                    outcome?;
                    Err(StoreError::corrupt("the tree of trees", format!("tree {id} is there already"))
                        .into())
                }
            }
        })?;
        inner.add_tree(root, 0);
        if !self.work.replays {
            self.work.log.push(&Op::Create { tree: id });
        }
        self.work.change_count += 1;
        Ok(())
    }

    /// Drops a tree. Older snapshots can go on reading it; its pages are freed when none needs them.
    ///
    /// No other running transaction may have changed or locked a record of it: to undo that, and to repeat it from the
    /// log when that transaction commits later, the tree has to be there. The caller ensures that by locks on tables;
    /// here it is checked in debug builds.
    ///
    /// # Errors
    /// `TreeGone`, and what waiting for a lock can end in.
    pub fn drop_tree(&mut self, id: TreeId, wait: LockWait) -> Result<(), WriteError> {
        if id < TreeId::FIRST_FREE {
            return Err(StoreError::Limit("the reserved trees cannot be dropped").into());
        }
        let meta = self.inner().meta();
        let key = id.0.to_be_bytes();
        let current =
            self.lock_current(&meta, &key, LockMode::Exclusive, wait, |value| meta_root(&key, value))?;
        match current {
            Locked::Row(Ok((root, false))) => {
                self.work.deletes = true;
                self.update(&meta, &key, &meta_value(root.page, true), wait)?
            }
            Locked::Row(Err(error)) => return Err(error.into()),
            _ => return Err(StoreError::TreeGone(id).into()),
        };
        #[cfg(debug_assertions)]
        self.inner().assert_unused(id, self.work.id);
        if !self.work.replays {
            self.work.log.push(&Op::Drop { tree: id });
        }
        Ok(())
    }

    /// A point to roll back to, also before the first change.
    #[must_use]
    pub fn savepoint(&self) -> Savepoint {
        let notes = self.lock_mark().notes;
        Savepoint {
            notes,
            txn: self.work.id,
            last: self.work.last,
            log: self.work.log.mark(),
            change_count: self.work.change_count,
        }
    }

    /// Rolls back everything since the savepoint. Exclusive row locks taken since are released; shared ones and key
    /// ranges stay, the latter unless the savepoint is older than the first change or lock.
    ///
    /// # Errors
    /// Reading a page failed.
    ///
    /// # Panics
    /// If the savepoint is another transaction's.
    pub fn rollback_to(&mut self, savepoint: &Savepoint) -> Result<(), StoreError> {
        assert!(
            savepoint.txn == self.work.id || savepoint.txn == TxnId(0),
            "a savepoint belongs to its transaction"
        );
        let inner = &*self.store.inner;
        // Before the rows' locks go: others may change them and commit first, and recovery repeats commits in their order.
        self.work.log.truncate_to(savepoint.log, inner.log.get());
        let Work { id, slot, last, .. } = &mut self.work;
        let slot = *slot;
        let undone = rollback::undo_until(inner, *id, slot, last, savepoint.last, |entry| {
            // Whoever waits for the row need not wait any longer: it is not this transaction's now.
            if entry.version.trx_id != id.0
                && let Some(tree) = inner.tree(entry.tree)
                && tree.state.locks().load(Ordering::SeqCst) % TreeState::RANGES != 0
            {
                let own = &inner.slots.get(slot).locks;
                inner.locks.release_undone(entry.tree, entry.key, *id, own, savepoint.notes.0);
            }
        });
        self.work.is_broken |= undone.is_err();
        undone?;
        if self.work.change_count > savepoint.change_count {
            self.work.change_count = savepoint.change_count;
            self.tell_rolled_back(self.work.id, savepoint.change_count);
        }
        if self.work.id != TxnId(0) {
            let inner = self.inner();
            let note = &inner.slots.get(self.work.slot).locks;
            inner.locks.release_refused(self.work.id, note, savepoint.notes);
        }
        if savepoint.txn == TxnId(0) && self.work.id != TxnId(0) {
            // As MySQL: a savepoint before the first change or lock takes the locks back, too.
            let inner = self.inner();
            inner.locks.release_ranges(self.work.id, &inner.slots.get(self.work.slot).locks);
        }
        Ok(())
    }

    /// Rolls everything back.
    ///
    /// # Errors
    /// Reading a page failed: what could not be rolled back stays locked until the store is opened again.
    pub fn rollback(mut self) -> Result<(), StoreError> {
        self.roll_back()
    }

    /// Only the first `kept` changes of the transaction are left.
    fn tell_rolled_back(&self, id: TxnId, kept: u64) {
        if let Some(observer) = self.store.inner.commit_observer.get() {
            observer.rolled_back(id, kept);
        }
    }

    fn roll_back(&mut self) -> Result<(), StoreError> {
        if self.work.id == TxnId(0) {
            return Ok(());
        }
        let id = std::mem::take(&mut self.work.id);
        let inner = &*self.store.inner;
        if self.work.log.has_parts() {
            self.work.log.abandon(inner.log()?);
        }
        if self.work.log.is_long() {
            inner.note_txn_log_memory(&self.work.log);
        }
        let undone = rollback::undo_until(inner, id, self.work.slot, &mut self.work.last, NONE, |_| ());
        if let Err(error) = undone {
            return Err(inner.stop(&format!("transaction {id} could not be rolled back: {error}")));
        }
        if self.work.change_count > 0 {
            self.tell_rolled_back(id, 0);
        }
        self.work.end_changes(inner);
        let section = inner.checkpoint_latch.shared();
        inner.slots.disown(self.work.slot);
        inner.txns.roll_back(id);
        drop(section);
        inner.locks.release_all(id, &inner.slots.get(self.work.slot).locks);
        inner.slots.release(self.work.slot);
        // Versions it merged stay merged: an entry of its undo leads past them.
        inner
            .undo
            .finish(&std::mem::take(&mut self.work.undo_refs), Csn(inner.newest.load(Ordering::SeqCst)));
        inner.counters.rollbacks.increment();
        Ok(())
    }

    /// Makes the changes visible to later snapshots and releases the locks. They are durable when
    /// [`Store::durable_position`] has reached the position returned; `None` if nothing was written.
    ///
    /// # Errors
    /// The log stopped, the disk has no space for it (`DiskFull`), or the transaction goes back too far in it
    /// (`TransactionTooLong`); everything is rolled back.
    pub fn commit(mut self) -> Result<Option<CommitPosition>, StoreError> {
        if self.work.id == TxnId(0) {
            return Ok(None);
        }
        self.commit_at(None)
    }

    /// As [`Transaction::commit`], but where that fails the transaction goes on, with all that it has changed and locked, as long as the
    /// store does.
    ///
    /// # Errors
    /// As [`Transaction::commit`]; [`Transaction::id`] is 0 if it is rolled back.
    pub fn commit_or_stay(&mut self) -> Result<Option<CommitPosition>, StoreError> {
        if self.work.id == TxnId(0) {
            return Ok(None);
        }
        self.work.outlives_failed_commit = true;
        self.commit_at(None)
    }

    /// A commit has failed: rolls back, unless the transaction outlives that.
    fn fail_commit(&mut self, error: StoreError) -> StoreError {
        if self.work.outlives_failed_commit && self.store.stopped().is_none() {
            return error;
        }
        self.roll_back().err().unwrap_or(error)
    }

    /// Ends a repeated transaction, or a piece of it, with the number it had. What a checkpoint says of it changes with it.
    pub(crate) fn commit_replayed(
        mut self,
        position: Csn,
        progress: ReplayProgress,
    ) -> Result<(), StoreError> {
        if self.work.id == TxnId(0) {
            self.inner().checkpointer.set_replay_progress(position, progress);
        } else {
            self.commit_at(Some((position, progress)))?;
        }
        self.store.inner.newest.store(position.0, Ordering::SeqCst);
        Ok(())
    }

    fn commit_at(
        &mut self,
        replayed: Option<(Csn, ReplayProgress)>,
    ) -> Result<Option<CommitPosition>, StoreError> {
        if self.work.is_broken {
            let why = "an earlier statement could not be rolled back".into();
            return Err(self.fail_commit(StoreError::UndoFile { doing: "reading", why }));
        }
        if self.work.has_given_up_parts
            && let Err(error) = self.log_again()
        {
            return Err(self.fail_commit(error));
        }
        if self.work.log.is_long()
            && let Err(error) = self.work.move_log_out(&self.store.inner)
        {
            return Err(self.fail_commit(error));
        }
        let inner = &*self.store.inner;
        let id = self.work.id;
        // In a critical section, so that a checkpoint sees the transaction running or committed, nothing in between.
        let mut section = inner.checkpoint_latch.shared();
        let position = if let Some((position, progress)) = replayed {
            inner.txns.commit(id, position);
            inner.checkpointer.set_replay_progress(position, progress);
            Some(position)
        } else if self.work.log.is_empty() {
            // Only locks: the new versions equal the old ones, so any number from theirs on will do.
            inner.txns.commit(id, Csn(inner.newest.load(Ordering::SeqCst)));
            None
        } else {
            let mut publish = |position: crate::wal::Lsn| {
                if let Some(observer) = inner.commit_observer.get() {
                    observer.committed(id, Csn(position.0));
                }
                inner.txns.commit(id, Csn(position.0));
                inner.newest.store(position.0, Ordering::SeqCst);
            };
            let appended = loop {
                let appended = inner.check_writable().and_then(|()| {
                    let appended = self.work.log.try_commit(inner.log()?, &mut publish);
                    appended.map_err(|error| log_failed(&error))
                });
                match appended {
                    Ok(Some(position)) => break Ok(position),
                    Ok(None) => {}
                    Err(error) => break Err(error),
                }
                // No thread waits for the disk in a critical section.
                drop(section);
                let mut prepared = self.work.prepare_commit(inner);
                for _ in 0..LOG_SPACE_ATTEMPTS {
                    if matches!(prepared, Err(StoreError::DiskFull { .. })) && inner.shorten_log() {
                        prepared = self.work.prepare_commit(inner);
                    }
                }
                section = inner.checkpoint_latch.shared();
                if let Err(error) = prepared {
                    break Err(error);
                }
            };
            match appended {
                Ok(position) => Some(Csn(position.0)),
                Err(error) => {
                    drop(section);
                    let error = match error {
                        StoreError::DiskFull { .. } => {
                            inner.checkpointer.request();
                            error
                        }
                        error @ StoreError::TransactionTooLong { .. } => error,
                        error => inner.stop(&error.to_string()),
                    };
                    return Err(self.fail_commit(error));
                }
            }
        };
        inner.slots.disown(self.work.slot);
        drop(section);
        self.work.id = TxnId(0);
        inner.locks.release_all(id, &inner.slots.get(self.work.slot).locks);
        inner.slots.release(self.work.slot);
        self.work.end_changes(inner);
        inner.counters.commits.increment();
        if let (Some(position), None) = (position, replayed) {
            inner.charge_log(position);
        }
        let csn = position.unwrap_or_else(|| Csn(inner.newest.load(Ordering::SeqCst)));
        let refs = std::mem::take(&mut self.work.undo_refs);
        if self.work.deletes {
            inner.undo.finish_later(End { csn, txn: id, last: self.work.last, refs });
        } else {
            inner.undo.finish(&refs, csn);
        }
        inner.purge_after_commit();
        Ok(position)
    }
}

impl Work {
    /// Counts a change or a lock; from [`LARGE`] on the transaction is a large one.
    #[inline]
    fn touch(&mut self, inner: &Inner) {
        self.touched += 1;
        if self.touched == LARGE {
            inner.checkpointer.space.begin_large();
        }
    }

    /// The transaction has no changes to roll back any more.
    fn end_changes(&mut self, inner: &Inner) {
        if std::mem::take(&mut self.touched) >= LARGE {
            inner.checkpointer.space.end_large();
        }
    }

    /// Moves what waits for the log there.
    #[cold]
    fn move_log_out(&mut self, inner: &Inner) -> Result<(), StoreError> {
        inner.note_txn_log_memory(&self.log);
        let moved = self.log.part(inner.log()?).map_err(|error| log_failed(&error));
        if matches!(moved, Err(StoreError::DiskFull { .. })) {
            inner.checkpointer.request();
        }
        inner.charge_log(Csn(inner.log()?.end_lsn().0));
        moved
    }

    #[cold]
    fn prepare_commit(&mut self, inner: &Inner) -> Result<(), StoreError> {
        self.log.prepare(inner.log()?).map_err(|error| log_failed(&error))
    }

    /// Whether the record was changed by a commit later than what may be overwritten.
    #[inline]
    fn is_newer(&self, inner: &Inner, version: Version) -> Result<bool, PageMiss> {
        match self.first_updater {
            Some(snapshot) => self.is_newer_than(inner, version, snapshot),
            None => Ok(false),
        }
    }

    fn is_newer_than(&self, inner: &Inner, mut version: Version, snapshot: Csn) -> Result<bool, PageMiss> {
        loop {
            let trx_id = TxnId(version.trx_id);
            let newer = trx_id != self.id
                && matches!(inner.txns.state(trx_id), State::Finished(csn) if csn > snapshot);
            if !newer || !undo::only_locks(version.undo) {
                return Ok(newer);
            }
            // That one only locked the row: what counts is the change before. The snapshot keeps its entry.
            version = match inner.undo.with_entry_in_memory(version.undo, |entry| Ok(entry.version))? {
                Some(before) => before,
                None if may_wait_inline() => {
                    inner.undo.with_entry(version.undo, |entry| Ok(entry.version))?
                }
                None => return Err(PageMiss::Spilled(version.undo)),
            };
        }
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        // A failure has stopped the store, and everybody will hear of it.
        let _stopped = self.roll_back();
    }
}
