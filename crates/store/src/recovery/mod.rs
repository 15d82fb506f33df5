//! Opening: from what a crash left to a consistent store.
//!
//! 1. The newest whole superblock leads to the page map, and so to every page as the last checkpoint saw it. If the
//!    other one is damaged it may have been the newest: then what this one leads to must not have been written over
//!    since.
//! 2. Transactions that ran at that checkpoint left changes in those pages; they are rolled back by the undo saved with
//!    it. A checkpoint made meanwhile says how far this has got: the pool may be smaller than what is rolled back. Now
//!    the pages hold exactly the commits up to the checkpoint's position.
//! 3. The log's later commits are repeated in order, each as a transaction of its own or several, so that a checkpoint
//!    may come between (the pool may be smaller than what is repeated). It says how far this has got, also in the
//!    middle of a commit.
//!
//! A new store is made in a file of another name, which gets its name when it is complete: `data` is never half made.

pub(crate) mod check;
mod undo_image;

use self::check::{Damage, check_files};
use self::undo_image::UndoImage;
use crate::btree::Seek;
use crate::btree::node;
use crate::btree::tree::{Root, Shared};
use crate::error::{OpenError, StoreError, WriteError};
use crate::ids::{Csn, PageId, TreeId, TxnId};
use crate::lock::LockWait;
use crate::mvcc::undo::UndoLog;
use crate::oplog::{OP_BYTES_MAX, Op, Ops};
use crate::pager::blocks::{Blocks, FIRST_BLOCK};
use crate::pager::frame::{BODY_BYTES, PAGE_BYTES};
use crate::pager::image::{self, Block, Kind};
use crate::pager::pool::Pool;
use crate::planted::{self, Plant};
use crate::store::checkpoint::{CHAIN_BYTES, Checkpointer, MAP_PAGES, ReplayProgress, State, zero_block};
use crate::store::space::{LARGE, SpaceReservation};
use crate::store::superblock::{FORMAT, Found, Superblock, WRITTEN_BYTES};
use crate::store::undo_list::UndoList;
use crate::store::{DATA, Inner, Options, Store, frame_count, log_failed, meta_root};
use crate::sync::atomic::Ordering;
use crate::trees::Tree;
use crate::txn::Transaction;
use crate::wal::{CommitRecord, Log, LogError, Lsn, Replay};
use env::Env;
use env::disk::{File, FileOptions, Folder, FolderLock};
use hashbrown::HashSet;
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

const DATA_BEING_MADE: &str = "data.new";
const LOCK: &str = "lock";
/// The page of the tree of trees' root, the first ever allocated.
const META_ROOT: PageId = PageId(1);

fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> OpenError {
    let what = what.into();
    move |source| OpenError::Io { what, source }
}

impl Store {
    /// Opens the store in a folder, makes it if it is not there, recovers it if it was not closed.
    ///
    /// # Errors
    /// [`OpenError`]; the folder is then unchanged.
    pub fn open(env: &Env, path: &Path, options: Options) -> Result<Store, OpenError> {
        let (inner, damaged) = open(env, path, options)?;
        let store = Store { inner: Arc::new(inner) };
        replay_log(&store, path).map_err(|error| blame_superblock(error, damaged))?;
        if store.inner.options.background_threads {
            let log = store.inner.log.get().expect("the log is open");
            let failed = |error: LogError| OpenError::Store(log_failed(&error));
            log.start_threads(env).map_err(failed)?;
            crate::store::threads::start(&store.inner).map_err(|source| OpenError::Io {
                what: "starting the background threads".to_owned(),
                source,
            })?;
        }
        Ok(store)
    }
}

/// Opens or makes the data file and brings its pages to the last checkpoint's state. The log is still to be repeated. Answers also in
/// which block a superblock is damaged.
pub(crate) fn open(env: &Env, path: &Path, options: Options) -> Result<(Inner, Option<u32>), OpenError> {
    let named = |what: &str| format!("{what} {}", path.display());
    let folder = env.disk.folder(path, true).map_err(io(named("opening the data folder")))?;
    let lock = folder.lock(LOCK).map_err(|error| match error.kind() {
        ErrorKind::WouldBlock => OpenError::InUse { folder: path.display().to_string() },
        _ => io(named("locking the data folder"))(error),
    })?;
    let names = folder.list().map_err(io(named("listing the data folder")))?;
    let exists = names.iter().any(|name| name == DATA);
    let file = if exists {
        folder.open(DATA, FileOptions::existing()).map_err(io(named("opening the data file in")))?
    } else {
        let half_made = names.iter().any(|name| name == DATA_BEING_MADE);
        let others = names.iter().find(|name| name.starts_with("log"));
        if let (false, Some(log)) = (half_made, others) {
            let why = format!("it is missing, but {log} is there");
            return Err(StoreError::corrupt(named("the data file in"), why).into());
        }
        // Emptied, not removed: its name is what tells an unfinished store from one that lost its data file.
        let file = folder
            .open(DATA_BEING_MADE, FileOptions::create())
            .map_err(io(named("making the data file in")))?;
        file.set_len(0).map_err(io("emptying an unfinished data file"))?;
        file
    };
    let undo = UndoLog::open(Arc::clone(&folder), &names, options.undo_memory(), options.undo_segment_bytes)
        .map_err(io(named("removing old undo in")))?;
    let pool = Pool::new(Arc::clone(&file), frame_count(options.buffer_pool_bytes))
        .map_err(io(format!("reserving {} bytes for the buffer pool", options.buffer_pool_bytes)))?;
    let spare = options.checkpoint_dirty_bytes / PAGE_BYTES as u64;
    let spare_blocks = u32::try_from(spare).unwrap_or(u32::MAX);
    if !exists {
        folder.sync().map_err(io(named("syncing the data folder")))?;
        // The superblocks' places, so that writing one never needs space.
        file.allocate(0, u64::from(FIRST_BLOCK) * PAGE_BYTES as u64)
            .map_err(io("reserving space for the data file"))?;
        let state = State {
            number: 0,
            blocks: Blocks::new(),
            space: Arc::new(SpaceReservation::new(FIRST_BLOCK, &Blocks::new(), pool.arena().frame_count())),
            spare_blocks,
            idle_moves: 0,
            map_blocks: Vec::new(),
            directory_blocks: Vec::new(),
            undo_blocks: Vec::new(),
            changed_maps: BTreeSet::new(),
            freed_pages: Vec::new(),
            undo_list: UndoList::default(),
        };
        let checkpointer = Checkpointer::new(file, state, Csn(Lsn::FIRST.0), options.log_capacity_bytes);
        return Ok((Inner::new(env, options, pool, undo, checkpointer, TxnId(1), lock), None));
    }

    let (superblock, damaged) = read_superblocks(&*file)?;
    if let Some(block) = damaged {
        check_older(env, path, block)?;
    }
    let parts = Parts { env, options, file, pool, undo, lock, spare_blocks };
    let inner = at_checkpoint(parts, superblock, damaged);
    Ok((inner.map_err(|error| blame_superblock(error, damaged))?, damaged))
}

/// Changes that recovery repeats as one transaction, at most: fewer than a large one's.
const PIECE_CHANGES: u64 = LARGE / 2;

/// What a store is put together from.
struct Parts<'e> {
    env: &'e Env,
    options: Options,
    file: Arc<dyn File>,
    pool: Pool,
    undo: UndoLog,
    lock: Box<dyn FolderLock>,
    spare_blocks: u32,
}

/// The store as a superblock says. There may have been a newer one in the `damaged` block.
fn at_checkpoint(parts: Parts<'_>, superblock: Superblock, damaged: Option<u32>) -> Result<Inner, OpenError> {
    let Parts { env, options, file, pool, undo, lock, spare_blocks } = parts;
    let (directory, directory_blocks) = read_chain(&*file, Kind::Directory, superblock.map_head)?;
    let undo_image = UndoImage::open(&*file, &superblock).map_err(StoreError::from)?;
    let (undo_blocks, undo_list) = (undo_image.head_blocks.clone(), undo_image.list.clone());
    let map_blocks: Vec<u32> =
        directory.chunks_exact(4).map(|four| u32::from_le_bytes(four.try_into().expect("4 bytes"))).collect();
    let pages = read_map(&*file, &map_blocks, superblock.page_end)?;
    let mut blocks = Blocks::new();
    let used = [&pages, &map_blocks, &directory_blocks, &undo_blocks].into_iter().flatten();
    let used = used.chain(undo_list.chains.iter().flat_map(|chain| chain.blocks.iter()));
    for &block in used.filter(|&&block| block != 0) {
        if damaged.is_some() {
            check_not_later(&*file, block, superblock.checkpoint)?;
        }
        if !blocks.mark(block) {
            return Err(StoreError::corrupt("data file", format!("block {block} has two owners")).into());
        }
    }
    blocks.keep();
    if let Some(block) = damaged {
        // What it led to is free from now on: should the medium come to its senses, it must not count any more.
        let empty = || -> std::io::Result<()> {
            file.write_at(u64::from(block) * PAGE_BYTES as u64, &[0; WRITTEN_BYTES])?;
            file.sync()
        };
        empty().map_err(io("emptying a damaged superblock"))?;
    }
    pool.restore_map(&pages);
    let file_bytes = file.len().map_err(io("measuring the data file"))?;
    let file_blocks = u32::try_from(file_bytes / PAGE_BYTES as u64).unwrap_or(u32::MAX);
    let space = SpaceReservation::new(file_blocks, &blocks, pool.arena().frame_count());
    let of_undo = undo_blocks.len() + undo_list.block_count();
    space.count(&blocks, superblock.page_end, undo_image.records.len(), of_undo);
    let state = State {
        number: superblock.checkpoint,
        blocks,
        space: Arc::new(space),
        spare_blocks,
        idle_moves: 0,
        map_blocks,
        directory_blocks,
        undo_blocks,
        undo_list,
        changed_maps: BTreeSet::new(),
        freed_pages: Vec::new(),
    };
    let checkpointer =
        Checkpointer::new(Arc::clone(&file), state, superblock.position, options.log_capacity_bytes);
    let inner = Inner::new(env, options, pool, undo, checkpointer, superblock.next_txn, lock);
    inner.newest.store(superblock.position.0, Ordering::SeqCst);
    inner.checkpointer.set_replayed_changes(undo_image.replayed_changes);
    inner.next_tree.store(superblock.next_tree.0, Ordering::SeqCst);
    let records =
        |tree: TreeId| undo_image.records.iter().find(|found| found.0 == tree).map_or(0, |found| found.1);
    let meta = inner.add_tree(Root { tree: TreeId::META, page: META_ROOT }, records(TreeId::META));
    for (root, _) in meta_records(&inner, &meta)? {
        inner.add_tree(root, records(root.tree));
    }
    undo_image.undo(&inner)?;
    Ok(inner)
}

/// Repeats the log's commits and opens it for more, or finishes a new store.
pub(crate) fn replay_log(store: &Store, path: &Path) -> Result<(), OpenError> {
    let inner = &*store.inner;
    let folder = inner.env.disk.folder(path, false).map_err(io("opening the data folder"))?;
    if inner.tree(TreeId::META).is_none() {
        return finish_new(store, &folder);
    }
    // Drops that had committed by the checkpoint but were not carried out.
    let meta = inner.meta();
    for (root, dropped) in meta_records(inner, &meta)? {
        if dropped {
            inner.free_tree_later(root.tree);
            // Small ones at once, what is left of others by purge.
            inner.retry_misses(|| inner.free_tree_part(&root.tree.0.to_be_bytes()))?;
        }
    }
    let after = Lsn(inner.checkpointer.position().0);
    let failed = |error: LogError| OpenError::Store(log_failed(&error));
    let mut replay = Replay::open(&inner.env, Arc::clone(&folder), after).map_err(failed)?;
    let mut held = None;
    while let Some(mut commit) = replay.next_commit().map_err(failed)? {
        if planted::is(Plant::ReplayStopsEarly) {
            match held.replace(commit) {
                Some(before) => commit = before,
                None => continue,
            }
        }
        replay_commit(store, &mut replay, &commit)?;
    }
    if !replay.make_ready(&inner.options.log).map_err(failed)? {
        // The disk is full. A checkpoint has its space, and needs no segment before it, nor parts without a commit.
        replay.sync().map_err(failed)?;
        inner.checkpointer.set_replayed(Csn(replay.skip_to_end().0));
        inner.checkpoint()?;
        let position = Lsn(inner.checkpointer.position().0);
        replay.retire_below(position, &inner.options.log).map_err(failed)?;
    }
    let log = replay.into_log(&inner.options.log).map_err(failed)?;
    let _ = inner.log.set(log);
    Ok(())
}

fn finish_new(store: &Store, folder: &Arc<dyn Folder>) -> Result<(), OpenError> {
    let inner = &*store.inner;
    let failed = |error: LogError| OpenError::Store(log_failed(&error));
    let written = |error: WriteError| match error {
        WriteError::Store(error) => OpenError::Store(error),
        other => OpenError::Store(StoreError::corrupt("new data file", other.to_string())),
    };
    let root = inner.retry_misses(|| {
        let _section = inner.checkpoint_latch.shared();
        inner.create_root(TreeId::META)
    })?;
    assert!(root.page == META_ROOT);
    inner.add_tree(root, 0);
    let mut txn = Transaction::unlogged(store.clone());
    for id in TreeId::DICTIONARY.0..TreeId::FIRST_FREE.0 {
        txn.create_tree_as(TreeId(id)).map_err(written)?;
    }
    txn.commit_replayed(Csn(Lsn::FIRST.0), ReplayProgress::Whole)?;
    Log::remove_files(&**folder).map_err(failed)?;
    let log = Log::create(&inner.env, Arc::clone(folder), &inner.options.log).map_err(failed)?;
    let _ = inner.log.set(log);
    inner.checkpoint()?;
    folder.rename(DATA_BEING_MADE, DATA).map_err(io("naming the new data file"))?;
    folder.sync().map_err(io("syncing the data folder"))?;
    Ok(())
}

/// If the newest superblock may be damaged, the other one serves only if everything that it leads to is whole, and the log goes on from
/// there. Reads everything.
#[cold]
fn check_older(env: &Env, path: &Path, damaged: u32) -> Result<(), OpenError> {
    let report = check_files(env, path)?;
    let is_another = |damage: &&Damage| damage.block != Some(damaged);
    match report.damages.iter().find(is_another) {
        None => Ok(()),
        Some(Damage { file, block, why, .. }) => {
            let block = block.map_or_else(String::new, |block| format!(", block {block}"));
            let error = OpenError::Store(StoreError::corrupt(format!("{file} file{block}"), why));
            Err(blame_superblock(error, Some(damaged)))
        }
    }
}

/// A block that the older superblock leads to holds what it had then.
#[cold]
fn check_not_later(file: &dyn File, block: u32, checkpoint: u64) -> Result<(), StoreError> {
    let what = || format!("block {block}");
    let mut bytes = zero_block();
    file.read_at(u64::from(block) * PAGE_BYTES as u64, &mut bytes[..])
        .map_err(|error| StoreError::read(what(), &error))?;
    match image::checkpoint_of(&bytes) > checkpoint {
        true => Err(StoreError::corrupt(what(), "it was written by a later checkpoint")),
        false => Ok(()),
    }
}

/// Says that a superblock is damaged where that is why the other one leads to nothing whole.
pub(crate) fn blame_superblock(error: OpenError, damaged: Option<u32>) -> OpenError {
    match (error, damaged) {
        (OpenError::Store(StoreError::Corrupt { what, why, .. }), Some(block)) => {
            let why = format!("checksum; what the one before it leads to is no longer there ({what}: {why})");
            StoreError::corrupt(format!("data file, superblock in block {block}"), why).into()
        }
        (error, _) => error,
    }
}

/// The newest whole one, and where the other one is damaged: it is in one sector, and no crash tears that.
fn read_superblocks(file: &dyn File) -> Result<(Superblock, Option<u32>), OpenError> {
    let mut newest: Option<Superblock> = None;
    let mut damaged = None;
    for block in 0..FIRST_BLOCK {
        let mut bytes = [0; WRITTEN_BYTES];
        match file.read_at(u64::from(block) * PAGE_BYTES as u64, &mut bytes) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => continue,
            Err(error) => return Err(io("reading a superblock")(error)),
        }
        match Superblock::decode(&bytes) {
            Found::Torn if bytes.iter().all(|&byte| byte == 0) => {}
            Found::Torn => damaged = Some(block),
            Found::Newer(found) => return Err(OpenError::NewerFormat { found, supported: FORMAT }),
            Found::Whole(superblock) => {
                if newest.is_none_or(|newest| newest.checkpoint < superblock.checkpoint) {
                    newest = Some(superblock);
                }
            }
        }
    }
    let newest = newest.ok_or_else(|| StoreError::corrupt("data file", "neither superblock is whole"))?;
    Ok((newest, damaged))
}

/// Reads a block of a chain: the piece of bytes in it, and the number of the next.
fn read_piece<'b>(
    file: &dyn File,
    kind: Kind,
    number: u32,
    block: &'b mut Block,
) -> Result<(&'b [u8], u32), StoreError> {
    file.read_at(u64::from(number) * PAGE_BYTES as u64, &mut block[..])
        .map_err(|error| StoreError::read(format!("block {number}"), &error))?;
    let body = image::check(block, kind, u64::from(number))?;
    let next = u32::from_le_bytes(body[..4].try_into().expect("4 bytes"));
    let len = u32::from_le_bytes(body[4..8].try_into().expect("4 bytes")) as usize;
    if len > CHAIN_BYTES {
        return Err(StoreError::corrupt(format!("data file, {kind:?} chain"), "a piece is too long"));
    }
    Ok((&body[8..8 + len], next))
}

/// Reads a chain of blocks: its bytes and which blocks it takes.
fn read_chain(file: &dyn File, kind: Kind, head: u32) -> Result<(Vec<u8>, Vec<u32>), StoreError> {
    let blocks = chain_blocks(file, kind, head)?;
    let (mut bytes, mut block) = (Vec::new(), zero_block());
    for &number in &blocks {
        bytes.extend_from_slice(read_piece(file, kind, number, &mut block)?.0);
    }
    Ok((bytes, blocks))
}

/// What is wrong with a chain, and in which block if that is known.
#[derive(Debug)]
struct ChainDamage {
    block: Option<u32>,
    error: StoreError,
}

impl From<StoreError> for ChainDamage {
    fn from(error: StoreError) -> ChainDamage {
        ChainDamage { block: None, error }
    }
}

impl From<ChainDamage> for StoreError {
    fn from(damage: ChainDamage) -> StoreError {
        damage.error
    }
}

/// Which blocks a chain takes, head first.
fn chain_blocks(file: &dyn File, kind: Kind, head: u32) -> Result<Vec<u32>, ChainDamage> {
    let (mut blocks, mut seen) = (Vec::new(), HashSet::new());
    let mut block = zero_block();
    let mut next = head;
    while next != 0 {
        if !seen.insert(next) {
            let error =
                StoreError::corrupt(format!("data file, {kind:?} chain"), "it leads back into itself");
            return Err(ChainDamage { block: Some(next), error });
        }
        blocks.push(next);
        let damaged = |error| ChainDamage { block: Some(next), error };
        next = read_piece(file, kind, next, &mut block).map_err(damaged)?.1;
    }
    Ok(blocks)
}

/// Reads the map: each page's block, 0 for none.
fn read_map(file: &dyn File, map_blocks: &[u32], page_end: u64) -> Result<Vec<u32>, StoreError> {
    let mut pages = Vec::with_capacity(map_blocks.len() * MAP_PAGES);
    let mut block = zero_block();
    for &map_block in map_blocks {
        file.read_at(u64::from(map_block) * PAGE_BYTES as u64, &mut block[..])
            .map_err(|error| StoreError::read(format!("block {map_block}"), &error))?;
        let body = image::check(&block, Kind::Map, u64::from(map_block))?;
        let entries = body[..BODY_BYTES / 4 * 4].chunks_exact(4);
        pages.extend(entries.map(|four| u32::from_le_bytes(four.try_into().expect("4 bytes"))));
    }
    let page_end = usize::try_from(page_end).unwrap_or(usize::MAX);
    if pages.len() < page_end {
        return Err(StoreError::corrupt("data file", "the page map is too short"));
    }
    pages.truncate(page_end);
    Ok(pages)
}

/// All trees the tree of trees names, committed or not: roots, and whether they are dropped.
fn meta_records(inner: &Inner, meta: &Tree) -> Result<Vec<(Root, bool)>, StoreError> {
    let mut found = Vec::new();
    let mut start = Vec::new();
    loop {
        let guard = inner.retry_misses(|| meta.state.root.leaf::<Shared>(&inner.pool, Seek::At(&start)))?;
        let body = guard.body();
        for index in 0..node::count(body) {
            if let Some(value) = node::value(body, index) {
                found.push(meta_root(&node::key(body, index), value)?);
            }
        }
        match node::upper_fence(body) {
            Some(fence) => start = fence.to_vec(),
            None => return Ok(found),
        }
    }
}

/// Repeats what a commit says, a part at a time, in transactions of few changes each: nobody reads yet, and what is in
/// the log is never rolled back. One large transaction would need space for its undo, and would have no checkpoint made
/// for it on a full disk. A checkpoint between two of them says how far this has got.
fn replay_commit(store: &Store, replay: &mut Replay, commit: &CommitRecord) -> Result<(), OpenError> {
    let position = Csn(commit.position.0);
    let checkpointer = &store.inner.checkpointer;
    let contained = checkpointer.replayed_changes();
    let mut txn = Transaction::unlogged(store.clone());
    // What a part ends with in the middle of a change.
    let mut rest = Vec::new();
    let mut repeated = 0;
    for part in 0..commit.part_count() {
        let bytes = replay.read(commit, part).map_err(|error| OpenError::Store(log_failed(&error)))?;
        rest.extend_from_slice(bytes);
        let mut ops = Ops::new(&rest);
        while let Some(op) = ops.next_whole() {
            repeated += 1;
            if repeated > 4 && planted::is(Plant::ReplayHalf) {
                continue;
            }
            if repeated <= contained {
                continue;
            }
            if txn.change_count() >= PIECE_CHANGES {
                if checkpointer.replayed_changes() == 0 {
                    // From here on a checkpoint counts on the rest of the commit.
                    replay.sync().map_err(|error| OpenError::Store(log_failed(&error)))?;
                }
                let piece = std::mem::replace(&mut txn, Transaction::unlogged(store.clone()));
                piece.commit_replayed(position, ReplayProgress::Changes(repeated - 1))?;
                purge_for_undo_space(store)?;
            }
            replay_op(store, &mut txn, op, position)?;
        }
        let left = ops.left();
        let is_last = part + 1 == commit.part_count();
        if left > OP_BYTES_MAX || (is_last && left > 0) {
            let record = format!("log record {position}");
            return Err(StoreError::corrupt(record, "a change is cut off or unknown").into());
        }
        rest.drain(..rest.len() - left);
    }
    txn.commit_replayed(position, ReplayProgress::Whole)?;
    purge_for_undo_space(store)?;
    Ok(())
}

/// Purges what was deleted, if the undo file has no space for the undo that this needs.
fn purge_for_undo_space(store: &Store) -> Result<(), OpenError> {
    let is_full =
        |error: &StoreError| matches!(error, StoreError::UndoFile { .. } | StoreError::DiskFull { .. });
    while let Err(error) = store.inner.undo.spill() {
        match store.inner.purge_tick() {
            Ok(true) if is_full(&error) => {}
            // Each piece needs some at most, and the background threads purge the rest.
            Ok(false) if is_full(&error) => break,
            Err(found) if is_full(&error) && is_full(&found) => break,
            Ok(_) => return Err(error.into()),
            Err(found) => return Err(found.into()),
        }
    }
    Ok(())
}

fn replay_op(store: &Store, txn: &mut Transaction, op: Op<'_>, position: Csn) -> Result<(), OpenError> {
    let failed = |error: WriteError| match error {
        WriteError::Store(error) => OpenError::Store(error),
        other => OpenError::Store(StoreError::corrupt(format!("log record {position}"), other.to_string())),
    };
    let lost = |why: &str| StoreError::corrupt(format!("log record {position}"), why);
    let wait = LockWait::Nowait;
    match op {
        Op::Put { tree, key, value } => txn.put(&store.tree(tree)?, key, value, wait).map_err(failed)?,
        Op::Diff { tree, key, prefix, suffix, middle } => {
            let tree = store.tree(tree)?;
            let new = txn.get_current(&tree, key, |old| {
                let end = old.len().checked_sub(suffix).filter(|&end| end >= prefix)?;
                Some([&old[..prefix], middle, &old[end..]].concat())
            })?;
            let new = new.flatten().ok_or_else(|| lost("a difference does not fit its value"))?;
            txn.put(&tree, key, &new, wait).map_err(failed)?;
        }
        Op::Delete { tree, key } => {
            if !txn.delete(&store.tree(tree)?, key, wait).map_err(failed)? {
                return Err(lost("it deletes a record that does not exist").into());
            }
        }
        Op::Create { tree } => {
            txn.create_tree_as(tree).map_err(failed)?;
            store.inner.next_tree.fetch_max(tree.0 + 1, Ordering::SeqCst);
        }
        Op::Drop { tree } => txn.drop_tree(tree, wait).map_err(failed)?,
    }
    Ok(())
}
