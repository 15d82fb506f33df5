//! The trees there are, as the layer above holds them.

use crate::btree::tree::Root;
use crate::ids::TreeId;
use crate::sync::RwLock;
use crate::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::Arc;

/// A tree of ordered bytes. Cheap to clone; get it once and keep it.
#[derive(Clone, Debug)]
pub struct Tree {
    pub(crate) state: Arc<TreeState>,
}

impl Tree {
    /// The tree's number.
    #[must_use]
    pub fn id(&self) -> TreeId {
        self.state.id()
    }

    /// Says what the tree is called above, from the outermost name: damage is reported with it.
    pub fn set_names(&self, names: &[&str]) {
        *self.state.names.write() = names.iter().map(|&name| name.into()).collect();
    }

    /// About how many live records there are; it counts changes when they are made, not when they commit.
    #[must_use]
    pub fn record_count(&self) -> u64 {
        u64::try_from(self.state.records.load(Ordering::Relaxed)).unwrap_or(0)
    }

    /// How often records were inserted, updated and deleted since the store was opened; changes rolled back count twice.
    #[must_use]
    pub fn change_count(&self) -> u64 {
        self.state.changes.load(Ordering::Relaxed)
    }
}

/// What is known about a tree while the store is open.
#[derive(Debug)]
pub(crate) struct TreeState {
    pub(crate) root: Root,
    locks: AtomicU64,
    pub(crate) records: AtomicI64,
    /// Changes of records since the store was opened.
    changes: AtomicU64,
    dropped: AtomicBool,
    /// What the layer above calls it. Looked at only when something is wrong.
    names: RwLock<Arc<[Arc<str>]>>,
}

impl TreeState {
    pub(crate) fn new(root: Root, records: i64) -> Arc<TreeState> {
        Arc::new(TreeState {
            root,
            locks: AtomicU64::new(0),
            records: AtomicI64::new(records),
            changes: AtomicU64::new(0),
            dropped: AtomicBool::new(false),
            names: RwLock::new(Arc::new([])),
        })
    }

    pub(crate) fn id(&self) -> TreeId {
        self.root.tree
    }

    /// Added to [`TreeState::locks`] while the tree has locked key ranges.
    pub(crate) const RANGES: u64 = 1 << 32;

    /// How many entries of the lock table belong to this tree, and whether there are key ranges. 0: a writer need not
    /// look.
    pub(crate) fn locks(&self) -> &AtomicU64 {
        &self.locks
    }

    pub(crate) fn count(&self, change: i64) {
        self.records.fetch_add(change, Ordering::Relaxed);
        self.changes.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn names(&self) -> Arc<[Arc<str>]> {
        Arc::clone(&self.names.read())
    }

    pub(crate) fn set_dropped(&self) {
        self.dropped.store(true, Ordering::Release);
    }

    #[inline]
    pub(crate) fn is_dropped(&self) -> bool {
        self.dropped.load(Ordering::Acquire)
    }
}
