//! Prepared transactions: durable, with the locks of their rows and tables, until any session decides by their names.
//!
//! ```text
//! prepare      a transaction of its own writes the rows that the prepared one has changed into a tree
//!              (pieces of a list, under the name); acknowledged when that commit is durable
//! commit       the prepared transaction deletes those pieces, and commits: both or neither
//! roll back    a transaction of its own deletes the pieces; then the prepared one is rolled back
//! after a crash   what ran is gone; the rows of each list are written and locked again, before the first session
//! ```
//!
//! The store needs no third state of a transaction, and a prepared one keeps no log: it is in the tree, and gives up the parts it had there.
//!
//! Invariants:
//! 1. A name that was acknowledged is in the tree until its decision is durable.
//! 2. A running transaction is held for each name in the tree, but for names whose decision is being carried out.
//! 3. A row's value in a list is the one at XA PREPARE: nothing changes the transaction between that and its decision.

use std::collections::BTreeMap;

use catalog::{Catalog, TableEntry};
use hashbrown::{HashMap, HashSet};
use parking_lot::Mutex;
use service::SqlError;
use service::error::{
    ER_QUERY_INTERRUPTED, ER_TOO_MANY_CONCURRENT_TRXS, ER_XAER_DUPID, ER_XAER_NOTA, ER_XAER_RMERR,
};
use session::backend::Xid;
use store::{
    CommitPosition, Interrupt, LockWait, ScanRange, Store, StoreError, Transaction, Tree, TreeId, TxnId,
    WriteError,
};

use crate::metadata::MetadataLocks;
use crate::store_error;

/// The tree of the lists: see [`key`]. Its number is the next one after those of `table`.
const PREPARED_TREE: TreeId = TreeId(5);
/// Most transactions that are prepared at a time; one more is 1637.
const PREPARED_MAX: usize = 4096;
/// Bytes of a piece of a list.
const PIECE_BYTES: usize = 3500;
/// First byte of a list: how it is written.
const FORMAT: u8 = 1;
/// Nobody else touches a list.
const NOBODY: LockWait = LockWait::Nowait;

/// All prepared transactions of a store.
pub(super) struct Prepared {
    store: Store,
    held: Mutex<BTreeMap<Xid, Held>>,
}

/// One of them.
struct Held {
    work: Transaction,
    /// Tables that DDL leaves as they are.
    metadata: MetadataLocks,
    /// Of its list.
    piece_count: u32,
}

impl std::fmt::Debug for Prepared {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Prepared").field("count", &self.held.lock().len()).finish_non_exhaustive()
    }
}

/// The key of a piece: name, then number.
///
/// ```text
/// length of gtrid | gtrid | length of bqual | bqual | formatID (8 bytes) | number (4 bytes)
/// ```
/// Lengths take a byte, numbers are big-endian.
fn key(xid: &Xid, piece: u32) -> Vec<u8> {
    let mut key = Vec::with_capacity(2 + xid.transaction.len() + xid.branch.len() + 12);
    for part in [&xid.transaction, &xid.branch] {
        key.push(u8::try_from(part.len()).unwrap_or(u8::MAX));
        key.extend_from_slice(part);
    }
    key.extend_from_slice(&xid.format.to_be_bytes());
    key.extend_from_slice(&piece.to_be_bytes());
    key
}

/// Whether one differs from `xid` in `formatID` at most.
fn has_parts(held: &BTreeMap<Xid, Held>, xid: &Xid) -> bool {
    let first = Xid { format: 0, ..xid.clone() };
    held.range(first..).next().is_some_and(|(held, _)| held.parts() == xid.parts())
}

/// The name in a key.
fn xid_of(key: &[u8]) -> Option<Xid> {
    let mut rest = key;
    let mut part = || {
        let (&length, after) = rest.split_first()?;
        let (part, after) = after.split_at_checked(usize::from(length))?;
        rest = after;
        Some(part.to_vec())
    };
    let (transaction, branch) = (part()?, part()?);
    let format = u64::from_be_bytes(*rest.first_chunk()?);
    Some(Xid { transaction, branch, format })
}

/// A row in a list.
struct ListedRow<'l> {
    tree: TreeId,
    key: &'l [u8],
    /// None: deleted.
    value: Option<&'l [u8]>,
}

impl<'l> ListedRow<'l> {
    /// ```text
    /// tree (8 bytes) | length of key (2) | key | 0, or 1 | length of value (4) | value
    /// ```
    fn write(&self, list: &mut Vec<u8>) {
        list.extend_from_slice(&self.tree.0.to_le_bytes());
        list.extend_from_slice(&u16::try_from(self.key.len()).unwrap_or(u16::MAX).to_le_bytes());
        list.extend_from_slice(self.key);
        match self.value {
            None => list.push(0),
            Some(value) => {
                list.push(1);
                list.extend_from_slice(&u32::try_from(value.len()).unwrap_or(u32::MAX).to_le_bytes());
                list.extend_from_slice(value);
            }
        }
    }

    /// The first row of `list` and what follows it, if all of it is there.
    fn read(list: &'l [u8]) -> Option<(ListedRow<'l>, &'l [u8])> {
        let (tree, rest) = list.split_first_chunk()?;
        let (key_bytes, rest) = rest.split_first_chunk()?;
        let (key, rest) = rest.split_at_checked(usize::from(u16::from_le_bytes(*key_bytes)))?;
        let (&is_live, rest) = rest.split_first()?;
        let (value, rest) = if is_live == 0 {
            (None, rest)
        } else {
            let (value_bytes, rest) = rest.split_first_chunk()?;
            let (value, rest) = rest.split_at_checked(u32::from_le_bytes(*value_bytes) as usize)?;
            (Some(value), rest)
        };
        Some((ListedRow { tree: TreeId(u64::from_le_bytes(*tree)), key, value }, rest))
    }
}

/// Writes a list, a piece at a time.
struct ListWriter {
    transaction: Transaction,
    tree: Tree,
    xid: Xid,
    piece: Vec<u8>,
    piece_count: u32,
}

impl ListWriter {
    fn push(&mut self, row: &ListedRow<'_>) -> Result<(), WriteError> {
        row.write(&mut self.piece);
        while self.piece.len() >= PIECE_BYTES {
            let rest = self.piece.split_off(PIECE_BYTES);
            self.put_piece()?;
            self.piece = rest;
        }
        Ok(())
    }

    fn put_piece(&mut self) -> Result<(), WriteError> {
        self.transaction.insert(&self.tree, &key(&self.xid, self.piece_count), &self.piece, NOBODY)?;
        self.piece_count += 1;
        Ok(())
    }

    fn commit(mut self) -> Result<(u32, Option<CommitPosition>), WriteError> {
        if !self.piece.is_empty() {
            self.put_piece()?;
        }
        let position = self.transaction.commit()?;
        Ok((self.piece_count, position))
    }
}

fn write_error(error: WriteError) -> Box<SqlError> {
    match error {
        WriteError::Store(error) => store_error(error),
        WriteError::Interrupted => ER_QUERY_INTERRUPTED.bare(),
        // Its pieces are there, or another session is deleting them.
        WriteError::DuplicateKey | WriteError::Locked { .. } => ER_XAER_DUPID.bare(),
        _ => ER_XAER_RMERR.bare(),
    }
}

/// A list that cannot be what was written.
fn damaged(why: &str) -> StoreError {
    StoreError::Corrupt { place: None, what: "a prepared transaction".into(), why: why.into() }
}

impl Prepared {
    /// Those of a store that has just been opened: their rows are written and locked again.
    ///
    /// # Errors
    /// The store's; what is in the tree is no list.
    pub(super) fn open(store: &Store, catalog: &Catalog) -> Result<Prepared, Box<SqlError>> {
        let prepared = Prepared { store: store.clone(), held: Mutex::default() };
        let mut lists: BTreeMap<Xid, u32> = BTreeMap::new();
        let mut is_readable = true;
        let view = store.read_view();
        let tree = store.tree(PREPARED_TREE).map_err(store_error)?;
        let scanned = store.scan(&tree, &ScanRange::all()).for_each(view.reader(), |key, _| {
            match xid_of(key) {
                Some(xid) => *lists.entry(xid).or_default() += 1,
                None => is_readable = false,
            }
            std::ops::ControlFlow::Continue(())
        });
        scanned.map_err(store_error)?;
        drop(view);
        if !is_readable {
            return Err(store_error(damaged("its name is not one")));
        }
        if lists.is_empty() {
            return Ok(prepared);
        }
        let entries = catalog.schemas_sorted().into_iter().flat_map(|schema| schema.tables());
        let of_tree: HashMap<u64, &TableEntry> = entries
            .flat_map(|entry| entry.definition.trees().into_iter().map(move |tree| (tree.0, &**entry)))
            .collect();
        for (xid, piece_count) in lists {
            let (work, trees) = prepared.work_again(&xid, piece_count)?;
            let mut metadata = MetadataLocks::default();
            for entry in trees.iter().filter_map(|tree| of_tree.get(&tree.0)) {
                metadata.keep_for_writing(entry);
            }
            prepared.held.lock().insert(xid, Held { work, metadata, piece_count });
        }
        Ok(prepared)
    }

    /// The transaction that a list is of, and which trees it changes.
    fn work_again(
        &self,
        xid: &Xid,
        piece_count: u32,
    ) -> Result<(Transaction, HashSet<TreeId>), Box<SqlError>> {
        let lists = self.store.tree(PREPARED_TREE).map_err(store_error)?;
        let view = self.store.read_view();
        let mut work = self.store.begin();
        let (mut list, mut trees) = (Vec::new(), HashSet::new());
        for piece in 0..piece_count {
            let read = |bytes: &[u8]| list.extend_from_slice(bytes);
            let is_there =
                self.store.get(&lists, &key(xid, piece), view.reader(), read).map_err(store_error)?;
            if is_there.is_none() {
                return Err(store_error(damaged("a piece of its list is missing")));
            }
            let mut rest = &list[..];
            if piece == 0 {
                rest = rest
                    .strip_prefix(&[FORMAT])
                    .ok_or_else(|| store_error(damaged("another version wrote it")))?;
            }
            while let Some((row, after)) = ListedRow::read(rest) {
                rest = after;
                // A temporary table's rows have ended with their session; another table is kept by its metadata lock.
                let tree = match self.store.tree(row.tree) {
                    Err(StoreError::TreeGone(_)) => continue,
                    tree => tree.map_err(store_error)?,
                };
                match row.value {
                    Some(value) => work.put(&tree, row.key, value, NOBODY).map_err(write_error)?,
                    // It may have been inserted and deleted.
                    None => work.delete(&tree, row.key, NOBODY).map(|_| ()).map_err(write_error)?,
                }
                trees.insert(row.tree);
            }
            let read_bytes = list.len() - rest.len();
            list.drain(..read_bytes);
        }
        if !list.is_empty() {
            return Err(store_error(damaged("its last row is cut off")));
        }
        work.give_up_log_parts().map_err(store_error)?;
        Ok((work, trees))
    }

    /// Writes what `work` has changed under a name, and keeps it. Answers how far the log must be durable before that counts.
    ///
    /// # Errors
    /// 1440 if the name is taken, 1637 if there are too many, 1317, the store's. `work` and `metadata` are as they were then.
    pub(super) fn prepare(
        &self,
        xid: &Xid,
        work: &mut Transaction,
        metadata: &mut MetadataLocks,
        next: impl FnOnce() -> Transaction,
        interrupt: &Interrupt,
    ) -> Result<Option<CommitPosition>, Box<SqlError>> {
        {
            let held = self.held.lock();
            if has_parts(&held, xid) {
                return Err(ER_XAER_DUPID.bare());
            }
            if held.len() >= PREPARED_MAX {
                return Err(ER_TOO_MANY_CONCURRENT_TRXS.bare());
            }
        }
        let tree = self.store.tree(PREPARED_TREE).map_err(store_error)?;
        let mut writer = ListWriter {
            transaction: self.store.begin(),
            tree,
            xid: xid.clone(),
            piece: vec![FORMAT],
            piece_count: 0,
        };
        let listed = work.each_own_row(|tree, key, value| {
            if interrupt.is_raised() {
                return Err(WriteError::Interrupted);
            }
            writer.push(&ListedRow { tree, key, value })
        });
        listed.map_err(write_error)?;
        let (piece_count, position) = writer.commit().map_err(write_error)?;
        let mut work = std::mem::replace(work, next());
        // A KILL of the session that prepared it is none of it.
        work.set_interrupt(None);
        let given_up = work.give_up_log_parts().map_err(store_error);
        self.held.lock().insert(xid.clone(), Held { work, metadata: std::mem::take(metadata), piece_count });
        given_up?;
        Ok(position)
    }

    /// Whether one has this name, whatever its `formatID`.
    pub(super) fn has(&self, xid: &Xid) -> bool {
        has_parts(&self.held.lock(), xid)
    }

    /// The names.
    pub(super) fn names(&self) -> Vec<Xid> {
        self.held.lock().keys().cloned().collect()
    }

    fn take(&self, xid: &Xid) -> Result<Held, Box<SqlError>> {
        self.held.lock().remove(xid).ok_or_else(|| ER_XAER_NOTA.bare())
    }

    fn delete_list(&self, xid: &Xid, piece_count: u32, by: &mut Transaction) -> Result<(), Box<SqlError>> {
        let tree = self.store.tree(PREPARED_TREE).map_err(store_error)?;
        for piece in 0..piece_count {
            by.delete(&tree, &key(xid, piece), NOBODY).map_err(write_error)?;
        }
        Ok(())
    }

    /// Commits one. Answers how far the log must be durable before that counts.
    ///
    /// # Errors
    /// 1397; the store's, and it stays prepared.
    pub(super) fn commit(&self, xid: &Xid) -> Result<Option<CommitPosition>, Box<SqlError>> {
        let Held { mut work, metadata, piece_count } = self.take(xid)?;
        let before = work.savepoint();
        let committed = self
            .delete_list(xid, piece_count, &mut work)
            .and_then(|()| work.commit_or_stay().map_err(store_error));
        // Rolled back, it is with the store that has stopped: the next opening finds the list.
        if committed.is_err() && work.id() != TxnId(0) {
            let undone = work.rollback_to(&before);
            self.held.lock().insert(xid.clone(), Held { work, metadata, piece_count });
            undone.map_err(store_error)?;
        }
        committed
    }

    /// Rolls one back. Answers how far the log must be durable before that counts.
    ///
    /// # Errors
    /// 1397; the store's, and it stays prepared.
    pub(super) fn roll_back(&self, xid: &Xid) -> Result<Option<CommitPosition>, Box<SqlError>> {
        let held = self.take(xid)?;
        let mut deleting = self.store.begin();
        deleting.set_removes(true);
        let deleted = self
            .delete_list(xid, held.piece_count, &mut deleting)
            .and_then(|()| deleting.commit().map_err(store_error));
        match deleted {
            Ok(position) => {
                held.work.rollback().map_err(store_error)?;
                Ok(position)
            }
            Err(error) => {
                self.held.lock().insert(xid.clone(), held);
                Err(error)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_name_comes_back_from_its_key(
            transaction in prop::collection::vec(any::<u8>(), 0..=64),
            branch in prop::collection::vec(any::<u8>(), 0..=64),
            format: u64,
            piece: u32,
        ) {
            let xid = Xid { transaction, branch, format };
            prop_assert_eq!(xid_of(&key(&xid, piece)), Some(xid));
        }

        #[test]
        fn any_bytes_are_read_as_a_row_or_none(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            if let Some((row, rest)) = ListedRow::read(&bytes) {
                prop_assert!(rest.len() < bytes.len());
                prop_assert!(row.key.len() < bytes.len());
            }
            prop_assert!(xid_of(&bytes).is_none_or(|xid| xid.transaction.len() <= bytes.len()));
        }
    }
}
