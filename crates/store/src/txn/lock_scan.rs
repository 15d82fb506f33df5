//! Locking a range row by row: for locking reads, and to find what an UPDATE or DELETE changes.

use super::{Locked, Transaction};
use crate::btree::node;
use crate::error::WriteError;
use crate::lock::{LockMode, LockWait, RangeLockOutcome, ScanFairness};
use crate::mvcc::txn_table::State;
use crate::read::{Direction, ScanRange, Walk};
use crate::trees::Tree;
use std::collections::VecDeque;

/// Keys looked up per visit of a leaf.
const KEYS_AHEAD_MAX: usize = 64;

/// A range being locked. Holds no latch between calls.
#[derive(Debug)]
pub struct LockScan {
    tree: Tree,
    walk: Walk,
    mode: LockMode,
    wait: LockWait,
    direction: Direction,
    /// Keys that may be rows; with their values if they are rows for certain and need no lock of their own.
    ahead: VecDeque<(Vec<u8>, Option<Vec<u8>>)>,
    ahead_max: usize,
    /// It has yielded to the writers that waited to insert records in what it locks next.
    has_yielded: bool,
    /// The record at which it has waited for the writers that came first.
    waited_at: Option<Box<[u8]>>,
    key: Vec<u8>,
    value: Vec<u8>,
}

impl LockScan {
    pub(super) fn new(tree: &Tree, range: &ScanRange<'_>, mode: LockMode, wait: LockWait) -> LockScan {
        LockScan {
            tree: tree.clone(),
            walk: Walk::new(range),
            mode,
            wait,
            direction: range.direction,
            ahead: VecDeque::new(),
            ahead_max: KEYS_AHEAD_MAX,
            has_yielded: false,
            waited_at: None,
            key: Vec::new(),
            value: Vec::new(),
        }
    }

    /// Says how many rows are wanted: no more of the range than that is locked at a time.
    pub fn set_wanted(&mut self, rows: usize) {
        self.ahead_max = rows.clamp(1, KEYS_AHEAD_MAX);
    }

    #[allow(
        clippy::type_complexity,
        reason = "a row is a key and a value; a name for the pair would hide that"
    )]
    /// Locks the next row that exists now and gives its key and current value; `None` at the end.
    ///
    /// # Errors
    /// What waiting for a lock can end in. The scan may be continued after `LockWaitTimeout`: it then leaves that row out.
    pub fn next(&mut self, txn: &mut Transaction) -> Result<Option<(&[u8], &[u8])>, WriteError> {
        loop {
            let Some((key, settled)) = self.ahead.pop_front() else {
                if !self.fill_ahead(txn)? {
                    return Ok(None);
                }
                continue;
            };
            if let Some(value) = settled {
                self.key = key;
                self.value = value;
                return Ok(Some((&self.key, &self.value)));
            }
            let value = &mut self.value;
            let locked = txn.lock_current(&self.tree, &key, self.mode, self.wait, |current| {
                value.clear();
                value.extend_from_slice(current);
            })?;
            if locked == Locked::Row(()) {
                self.key = key;
                return Ok(Some((&self.key, &self.value)));
            }
        }
    }

    /// Collects keys that may be rows, and locks the key range that contains them. False at the end of the range.
    fn fill_ahead(&mut self, txn: &mut Transaction) -> Result<bool, WriteError> {
        let ranges = txn.locks_ranges();
        if ranges {
            txn.begin_write()?;
        }
        let inner = txn.inner();
        let Some((guard, from, to)) = self.walk.next_leaf(inner, &self.tree.state)? else { return Ok(false) };
        let before = ranges.then(|| self.walk.clone());
        // Under a key range that covers the rows, those that no other transaction is changing are locked already.
        // Rows that may be skipped are locked one by one.
        let covers_rows = ranges && self.mode == LockMode::Shared && self.wait != LockWait::Skip;
        let body = guard.body();
        let mut full = false;
        for step in from..to {
            let index = match self.direction {
                Direction::Forward => step,
                Direction::Backward => to - 1 - (step - from),
            };
            let (version, _, value) = node::record(body, index);
            let trx_id = crate::ids::TxnId(version.trx_id);
            let running = trx_id != txn.id() && matches!(inner.txns.state(trx_id), State::Running(_));
            let newer = match txn.work.is_newer(inner, version) {
                Ok(newer) => newer,
                // Something has to be read first; then once more, from where the walk stands.
                Err(miss) => {
                    drop(guard);
                    self.ahead.clear();
                    let mut miss = Some(miss);
                    inner.retry_misses(|| miss.take().map_or(Ok(()), Err))?;
                    return Ok(true);
                }
            };
            if value.is_none() && !running && !newer {
                continue;
            }
            let settled = if covers_rows && !running && !newer { value.map(<[u8]>::to_vec) } else { None };
            self.ahead.push_back((node::key(body, index), settled));
            // The keys behind a row that has to be waited for are not locked before that row.
            if running || self.ahead.len() == self.ahead_max {
                let (key, _) = self.ahead.back().expect("just added");
                self.walk.leave_key(key);
                full = true;
                break;
            }
        }
        if !full {
            self.walk.leave_leaf(&guard);
        }
        if let Some(before) = before
            && let Some((lower, upper)) = before.walked(&self.walk)
        {
            let fairness = ScanFairness {
                is_backward: self.direction == Direction::Backward,
                waited_at: self.waited_at.as_deref(),
                yields: !self.has_yielded && matches!(self.wait, LockWait::Timeout(_)),
            };
            // Still under the latch: no other transaction inserts a record before the key range is there.
            match txn.add_range(&self.tree, (lower, upper), covers_rows, covers_rows.then_some(fairness))? {
                RangeLockOutcome::Locked => {
                    self.has_yielded = false;
                    self.waited_at = None;
                }
                RangeLockOutcome::Yield => {
                    drop(guard);
                    let (lower, upper) = (lower.to_vec(), upper.map(<[u8]>::to_vec));
                    // Once more: the records may be others now.
                    self.has_yielded = true;
                    self.ahead.clear();
                    self.walk = before;
                    txn.yield_to_inserters(&self.tree, (&lower, upper.as_deref()), self.wait)?;
                }
                RangeLockOutcome::Behind(key) => {
                    let mut walk = before.clone();
                    walk.leave_before(&key);
                    if let Some(key_range) = before.walked(&walk) {
                        // What lies before the record is locked before it is waited for.
                        txn.add_range(&self.tree, key_range, covers_rows, None)?;
                        match self.direction {
                            Direction::Forward => self.ahead.retain(|(ahead, _)| **ahead < *key),
                            Direction::Backward => self.ahead.retain(|(ahead, _)| **ahead > *key),
                        }
                        self.walk = walk;
                    } else {
                        drop(guard);
                        self.ahead.clear();
                        self.walk = before;
                        self.waited_at = Some(key.clone());
                        txn.wait_behind(&self.tree, &key, self.wait)?;
                    }
                }
            }
        }
        Ok(true)
    }
}
