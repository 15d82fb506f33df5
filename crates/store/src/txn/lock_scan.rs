//! Locking a range row by row: for locking reads, and to find what an UPDATE or DELETE changes.

use super::{Locked, Transaction};
use crate::btree::node;
use crate::error::WriteError;
use crate::lock::{LockMode, LockWait};
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
    ahead: VecDeque<Vec<u8>>,
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
            key: Vec::new(),
            value: Vec::new(),
        }
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
            let Some(key) = self.ahead.pop_front() else {
                if !self.look_ahead(txn)? {
                    return Ok(None);
                }
                continue;
            };
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

    /// Collects keys that may be rows. False at the end of the range.
    fn look_ahead(&mut self, txn: &Transaction) -> Result<bool, WriteError> {
        let inner = txn.inner();
        let Some((guard, from, to)) = self.walk.next_leaf(inner, &self.tree.state)? else { return Ok(false) };
        let body = guard.body();
        for step in from..to {
            let index = match self.direction {
                Direction::Forward => step,
                Direction::Backward => to - 1 - (step - from),
            };
            let (version, _, value) = node::record(body, index);
            let stamp = crate::ids::TxnId(version.stamp);
            let may_live = value.is_some()
                || (stamp != txn.id() && matches!(inner.txns.state(stamp), State::Running(_)));
            if may_live {
                self.ahead.push_back(node::key(body, index));
                if self.ahead.len() == KEYS_AHEAD_MAX {
                    let key = self.ahead.back().expect("just added");
                    self.walk.leave_key(key);
                    return Ok(true);
                }
            }
        }
        self.walk.leave_leaf(&guard);
        Ok(true)
    }
}
