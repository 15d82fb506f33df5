//! Where undo entries are: segments, in memory and in the file, from the first entry until nobody needs any of them.
//!
//! A segment is free, open (a stripe appends to it), full, or spilled (full, and only in the file). It is freed when it
//! is full, no transaction that wrote to it still runs or waits for purge, and either every snapshot sees all of its
//! transactions or no version leads to any of its entries any more.
//!
//! Invariants:
//! 1. Only open segments change; a full one is moved or freed, nothing else.
//! 2. Memory: open segments, at most one a stripe, and as many full ones as the budget allows before the next change of
//!    a record begins ([`UndoLog::spill`]).
//! 3. While a checkpoint copies undo ([`UndoLog::pause_freeing`]) no segment is freed.

use super::file::{Spilled, UndoFile};
use super::{
    Before, ENTRY_BYTES_MAX, End, Entry, Kind, NONE, NewEntry, OFFSET_BITS, ONLY_LOCKS, entry_bytes, place,
    pointer, read,
};
use crate::btree::node::Version;
use crate::error::StoreError;
use crate::ids::{Csn, TreeId, TxnId};
use crate::sync::atomic::{AtomicU32, Ordering};
use crate::sync::{Mutex, RwLock, RwLockReadGuard};
use crate::thread_number::thread_number;
use crossbeam_utils::CachePadded;
use env::disk::Folder;
use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

const STRIPES: usize = 16;
const FIRST_SEGMENTS: usize = 64;
const CHUNKS: usize = 25;
/// The most segments at once: 64 TiB of undo.
const UNDO_SEGMENTS_MAX: usize = FIRST_SEGMENTS << (CHUNKS - 1);
const _: () = assert!((UNDO_SEGMENTS_MAX as u64 + 1) << OFFSET_BITS < ONLY_LOCKS);
const SEGMENT_BYTES_MAX: usize = 1 << OFFSET_BITS;
const SEGMENT_BYTES_MIN: usize = 1024;
/// Emptied buffers kept for use again.
const SPARE_BUFFERS_MAX: usize = 32;
/// A transaction that wrote to more segments waits for purge in memory, not in an end.
const END_SEGMENTS_MAX: usize = 64;
const NO_SEGMENT: u32 = u32::MAX;
/// No end.
const NO_END: u32 = u32::MAX;

/// The segments a transaction wrote to; with repetitions, where it went back and forth between stripes.
#[derive(Debug, Default)]
pub(crate) struct UndoRefs {
    /// One past the number of the first, 0 for none.
    first: u32,
    more: Vec<u32>,
}

impl UndoRefs {
    fn newest(&self) -> Option<u32> {
        self.more.last().copied().or_else(|| self.first.checked_sub(1))
    }

    fn push(&mut self, segment: u32) {
        if self.first == 0 {
            self.first = segment + 1;
        } else {
            self.more.push(segment);
        }
    }

    fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.first.checked_sub(1).into_iter().chain(self.more.iter().copied())
    }
}

#[derive(Debug, Default)]
enum Content {
    #[default]
    Free,
    Open(Vec<u8>),
    Full(Arc<Vec<u8>>),
    Spilled(Arc<Spilled>),
}

#[derive(Debug)]
struct Segment {
    content: Content,
    /// Transactions that wrote to it and may be rolled back or are yet to be purged, once for each [`UndoRefs::push`];
    /// one more while it waits in a stripe's queue because of its ends.
    users: u32,
    /// Entries that some version or some transaction leads to.
    live: u32,
    /// The newest commit of those that wrote to it.
    newest: u64,
    /// How often it was freed.
    life: u32,
    first_end: u32,
    last_end: u32,
}

impl Segment {
    fn free() -> RwLock<Segment> {
        let (first_end, last_end) = (NO_END, NO_END);
        let content = Content::Free;
        RwLock::new(Segment { content, users: 0, live: 0, newest: 0, life: 0, first_end, last_end })
    }

    fn is_full(&self) -> bool {
        matches!(self.content, Content::Full(_) | Content::Spilled(_))
    }

    fn may_go(&self, bound: Csn) -> bool {
        self.is_full() && self.users == 0 && (self.newest <= bound.0 || self.live == 0)
    }
}

#[derive(Debug)]
struct Stripe {
    open: AtomicU32,
    opening: Mutex<()>,
    /// Segments with ends that purge has not passed.
    ends: Mutex<VecDeque<u32>>,
    purging: Mutex<Purging>,
}

/// How far purge is in a stripe.
#[derive(Debug)]
struct Purging {
    /// The last end taken from the first segment of the queue.
    at: u32,
    current: Option<End>,
}

/// Where all undo is.
#[derive(Debug)]
pub(crate) struct UndoLog {
    chunks: [OnceLock<Box<[RwLock<Segment>]>>; CHUNKS],
    stripes: Box<[CachePadded<Stripe>]>,
    segment_bytes: usize,
    budget_segments: u32,
    /// Full segments in memory.
    full_in_memory: AtomicU32,
    made: AtomicU32,
    pool: Mutex<FreeSegments>,
    /// Held shared while undo is read by transactions, exclusively while a segment is freed.
    segment_latch: RwLock<()>,
    /// Where the sweep continues, and where the search for segments to be spilled does.
    sweep_hand: AtomicU32,
    file_hand: Mutex<u32>,
    file: UndoFile,
    /// Committed deleting transactions with too many segments for an end.
    large: Mutex<VecDeque<End>>,
    /// The one of them that purge is at. Apart, so that no commit waits for purge to add one.
    large_purging: Mutex<Option<End>>,
}

/// An entry in the file.
#[derive(Debug)]
pub(crate) struct SpilledEntry {
    number: u32,
    at: usize,
    segment: Arc<Spilled>,
}

/// Where an entry is, or what was made of it.
enum Found<R> {
    InMemory(R),
    Spilled(SpilledEntry),
}

/// What [`UndoLog::step_back`] came to.
#[derive(Debug)]
pub(crate) enum UndoStep {
    /// The version before, and whether it is live.
    To(Version, bool),
    /// An entry that has to be read from the disk first.
    Spilled(SpilledEntry),
}

/// What was read of the file may go on behind the entry.
fn cut_entry(copy: &mut Vec<u8>) -> Result<(), StoreError> {
    let len = read(copy, 0)?.bytes;
    copy.truncate(len);
    Ok(())
}

/// See [`UndoLog::pin`].
pub(crate) type UndoPin<'u> = RwLockReadGuard<'u, ()>;

/// How much undo there is, and what became of it since the opening.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UndoSize {
    pub(crate) bytes_in_memory: u64,
    pub(crate) bytes_in_file: u64,
    pub(crate) segments_spilled: u64,
    pub(crate) blocks_read: u64,
}

#[derive(Debug, Default)]
struct FreeSegments {
    free: Vec<u32>,
    buffers: Vec<Vec<u8>>,
    held: bool,
}

impl UndoLog {
    /// Undo that keeps about `memory_bytes` in memory. `names` are the folder's.
    pub(crate) fn open(
        folder: Arc<dyn Folder>,
        names: &[String],
        memory_bytes: u64,
        segment_bytes: usize,
    ) -> std::io::Result<UndoLog> {
        UndoFile::remove(&*folder, names)?;
        let segment_bytes = segment_bytes.clamp(SEGMENT_BYTES_MIN, SEGMENT_BYTES_MAX);
        let stripe = || {
            CachePadded::new(Stripe {
                open: AtomicU32::new(NO_SEGMENT),
                opening: Mutex::new(()),
                ends: Mutex::default(),
                purging: Mutex::new(Purging { at: NO_END, current: None }),
            })
        };
        Ok(UndoLog {
            chunks: [const { OnceLock::new() }; CHUNKS],
            stripes: std::iter::repeat_with(stripe).take(STRIPES).collect(),
            segment_bytes,
            budget_segments: u32::try_from(memory_bytes / segment_bytes as u64).unwrap_or(u32::MAX),
            full_in_memory: AtomicU32::new(0),
            made: AtomicU32::new(0),
            pool: Mutex::default(),
            segment_latch: RwLock::new(()),
            sweep_hand: AtomicU32::new(0),
            file_hand: Mutex::new(0),
            file: UndoFile::new(folder, segment_bytes),
            large: Mutex::default(),
            large_purging: Mutex::default(),
        })
    }

    fn locate(segment: usize) -> (usize, usize) {
        if segment < FIRST_SEGMENTS {
            return (0, segment);
        }
        let chunk = (segment / FIRST_SEGMENTS).ilog2() as usize + 1;
        (chunk, segment - (FIRST_SEGMENTS << (chunk - 1)))
    }

    fn find(&self, segment: u32) -> Option<&RwLock<Segment>> {
        let (chunk, index) = UndoLog::locate(segment as usize);
        self.chunks.get(chunk)?.get()?.get(index)
    }

    fn segment(&self, segment: u32) -> &RwLock<Segment> {
        self.find(segment).expect("segments are named only after they were made")
    }

    /// Appends a transaction's entry and returns its pointer. `last` is its entry before. In a critical section, the
    /// record's leaf latched exclusively.
    pub(crate) fn record(
        &self,
        refs: &mut UndoRefs,
        last: u64,
        tree: TreeId,
        key: &[u8],
        before: Before<'_>,
    ) -> Result<u64, StoreError> {
        let (kind, version, data, shared) = before.parts();
        let draft = NewEntry { before: last, kind, tree, version, key, data, shared };
        let (number, at) = self.append(&draft, |segment, number| {
            if refs.newest() != Some(number) {
                refs.push(number);
                segment.users += 1;
            }
        })?;
        Ok(pointer(number, at))
    }

    fn append(
        &self,
        draft: &NewEntry<'_>,
        mut enter: impl FnMut(&mut Segment, u32),
    ) -> Result<(u32, usize), StoreError> {
        let stripe = &self.stripes[thread_number() % STRIPES];
        loop {
            let number = stripe.open.load(Ordering::Acquire);
            if number != NO_SEGMENT {
                let segment = &mut *self.segment(number).write();
                if let Content::Open(bytes) = &mut segment.content
                    && (bytes.is_empty() || bytes.len() + draft.bytes() <= self.segment_bytes)
                {
                    let at = bytes.len();
                    draft.push(bytes);
                    segment.live += 1;
                    enter(segment, number);
                    return Ok((number, at));
                }
            }
            self.open_another(stripe, number)?;
        }
    }

    /// Opens a segment for a stripe whose own is full.
    #[cold]
    fn open_another(&self, stripe: &Stripe, full: u32) -> Result<(), StoreError> {
        let _opening = stripe.opening.lock();
        if stripe.open.load(Ordering::Acquire) != full {
            return Ok(());
        }
        let (number, buffer) = {
            let mut pool = self.pool.lock();
            let number = match pool.free.pop() {
                Some(number) => number,
                None => self.make_segment()?,
            };
            (number, pool.buffers.pop())
        };
        let buffer = buffer.unwrap_or_else(|| Vec::with_capacity(self.segment_bytes));
        self.segment(number).write().content = Content::Open(buffer);
        stripe.open.store(number, Ordering::Release);
        if full != NO_SEGMENT {
            let mut segment = self.segment(full).write();
            segment.content = match std::mem::take(&mut segment.content) {
                Content::Open(bytes) => {
                    self.full_in_memory.fetch_add(1, Ordering::Relaxed);
                    Content::Full(Arc::new(bytes))
                }
                other => other,
            };
        }
        Ok(())
    }

    /// With the pool locked.
    fn make_segment(&self) -> Result<u32, StoreError> {
        let number = self.made.load(Ordering::Relaxed);
        if number as usize >= UNDO_SEGMENTS_MAX {
            return Err(StoreError::Limit("undo that some snapshot needs"));
        }
        let (chunk, _) = UndoLog::locate(number as usize);
        self.chunks[chunk].get_or_init(|| {
            let count = if chunk == 0 { FIRST_SEGMENTS } else { FIRST_SEGMENTS << (chunk - 1) };
            std::iter::repeat_with(Segment::free).take(count).collect()
        });
        self.made.store(number + 1, Ordering::Release);
        Ok(number)
    }

    /// Nothing leads to this entry any more: its change was rolled back.
    pub(crate) fn release_entry(&self, pointer: u64) {
        self.segment(place(pointer).0).write().live -= 1;
    }

    /// Takes an entry out again that was just recorded: the change it was for did not happen.
    pub(crate) fn discard(&self, pointer: u64) {
        let (number, at) = place(pointer);
        let segment = &mut *self.segment(number).write();
        segment.live -= 1;
        if let Content::Open(bytes) = &mut segment.content
            && entry_bytes(&bytes[at..]).is_some_and(|len| at + len == bytes.len())
        {
            bytes.truncate(at);
        }
    }

    /// Removes a transaction's newest entry, to which no row refers any more: its bytes, too, if no entry came after it
    /// and no thread reads undo by transactions at the moment.
    pub(crate) fn remove_newest(&self, pointer: u64) {
        match self.segment_latch.try_write() {
            Some(_exclusive) => self.discard(pointer),
            None => self.release_entry(pointer),
        }
    }

    /// A transaction has ended and will not be purged; snapshots from `csn` on need none of its undo.
    pub(crate) fn finish(&self, refs: &UndoRefs, csn: Csn) {
        for number in refs.iter() {
            let mut segment = self.segment(number).write();
            segment.users -= 1;
            segment.newest = segment.newest.max(csn.0);
        }
    }

    /// A deleting transaction has committed: purge finds it later.
    pub(crate) fn finish_later(&self, end: End) {
        for number in end.refs.iter() {
            let mut segment = self.segment(number).write();
            segment.newest = segment.newest.max(end.csn.0);
        }
        let data: Vec<u8> = end.refs.iter().flat_map(u32::to_le_bytes).collect();
        let draft = NewEntry {
            before: NONE,
            kind: Kind::End,
            tree: TreeId(end.txn.0),
            version: Version { trx_id: end.csn.0, undo: end.last },
            key: &[],
            data: &data,
            shared: (0, 0),
        };
        let mut queued = None;
        let appended = if data.len() > 4 * END_SEGMENTS_MAX {
            None
        } else {
            // Where no segment can be made for it, it waits in memory.
            self.append(&draft, |segment, number| {
                let Content::Open(bytes) = &mut segment.content else { unreachable!("just appended to") };
                let at = (bytes.len() - draft.bytes()) as u32;
                if segment.first_end == NO_END {
                    segment.first_end = at;
                    segment.users += 1;
                    queued = Some(number);
                } else {
                    let before = segment.last_end as usize;
                    bytes[before..before + 8].copy_from_slice(&pointer(number, at as usize).to_le_bytes());
                }
                segment.last_end = at;
            })
            .ok()
        };
        match (appended, queued) {
            (None, _) => self.large.lock().push_back(end),
            (_, Some(number)) => {
                self.stripes[thread_number() % STRIPES].ends.lock().push_back(number);
            }
            _ => {}
        }
    }

    /// Works on the committed deletions that every snapshot from `bound` on sees, of this thread's stripe or of all. `work`
    /// looks through one and says whether it is done with it; else this stops. True if there may be more to do.
    pub(crate) fn purge(
        &self,
        everywhere: bool,
        bound: Csn,
        mut work: impl FnMut(&mut End) -> Result<bool, StoreError>,
    ) -> Result<bool, StoreError> {
        let home = thread_number() % STRIPES;
        for index in 0..if everywhere { STRIPES } else { 1 } {
            let stripe = &self.stripes[(home + index) % STRIPES];
            let Some(mut purging) = stripe.purging.try_lock() else { return Ok(true) };
            loop {
                if purging.current.is_none() {
                    purging.current = self.next_end(stripe, &mut purging.at, everywhere)?;
                }
                let Some(end) = purging.current.as_mut().filter(|end| end.csn <= bound) else { break };
                if !work(end)? {
                    return Ok(true);
                }
                self.finish(&end.refs, end.csn);
                purging.current = None;
            }
        }
        if everywhere {
            let Some(mut purging) = self.large_purging.try_lock() else { return Ok(true) };
            loop {
                if purging.is_none() {
                    *purging = self.large.lock().pop_front();
                }
                let Some(end) = purging.as_mut().filter(|end| end.csn <= bound) else { break };
                if !work(end)? {
                    return Ok(true);
                }
                self.finish(&end.refs, end.csn);
                *purging = None;
            }
        }
        Ok(false)
    }

    /// The stripe's next end behind `at`; none that has to be read from the file, unless it `may_wait`.
    fn next_end(&self, stripe: &Stripe, at: &mut u32, may_wait: bool) -> Result<Option<End>, StoreError> {
        loop {
            let Some(number) = stripe.ends.lock().front().copied() else { return Ok(None) };
            // First whether it is full: then what has no end behind it now never will.
            let (is_full, is_spilled, first) = {
                let segment = self.segment(number).read();
                (segment.is_full(), matches!(segment.content, Content::Spilled(_)), segment.first_end)
            };
            if is_spilled && !may_wait {
                return Ok(None);
            }
            let next = if *at == NO_END {
                first
            } else {
                match self.with_entry(pointer(number, *at as usize), |entry| Ok(entry.before))? {
                    NONE => NO_END,
                    next => place(next).1 as u32,
                }
            };
            if *at != NO_END && (next != NO_END || is_full) {
                self.release_entry(pointer(number, *at as usize));
            }
            if next != NO_END {
                let end = self.with_entry(pointer(number, next as usize), |entry| {
                    let mut refs = UndoRefs::default();
                    for four in entry.data.chunks_exact(4) {
                        refs.push(u32::from_le_bytes(four.try_into().expect("4 bytes")));
                    }
                    let (csn, txn) = (Csn(entry.version.trx_id), TxnId(entry.tree.0));
                    Ok(End { csn, txn, last: entry.version.undo, refs })
                })?;
                *at = next;
                return Ok(Some(end));
            }
            if !is_full {
                return Ok(None);
            }
            stripe.ends.lock().pop_front();
            *at = NO_END;
            self.segment(number).write().users -= 1;
        }
    }

    /// Looks at an entry. May wait for the file.
    pub(crate) fn with_entry<R>(
        &self,
        pointer: u64,
        look: impl FnOnce(&Entry<'_>) -> Result<R, StoreError>,
    ) -> Result<R, StoreError> {
        let mut look = Some(look);
        let mut once = |entry: &Entry<'_>| look.take().expect("an entry is in one place")(entry);
        match self.find_entry(pointer, |bytes, at| once(&read(bytes, at)?))? {
            Found::InMemory(result) => Ok(result),
            Found::Spilled(spilled) => {
                let mut copy = Vec::new();
                self.file.read(&spilled.segment, spilled.at, &mut copy)?;
                once(&read(&copy, 0)?)
            }
        }
    }

    /// As [`UndoLog::with_entry`], without waiting: `None` if the entry has to be read from the disk. [`UndoLog::load`]
    /// does that.
    pub(crate) fn with_entry_in_memory<R>(
        &self,
        pointer: u64,
        look: impl FnOnce(&Entry<'_>) -> Result<R, StoreError>,
    ) -> Result<Option<R>, StoreError> {
        let mut look = Some(look);
        let mut once = |entry: &Entry<'_>| look.take().expect("an entry is in one place")(entry);
        match self.find_entry(pointer, |bytes, at| once(&read(bytes, at)?))? {
            Found::InMemory(result) => Ok(Some(result)),
            Found::Spilled(spilled) => {
                let mut copy = Vec::new();
                match self.file.read_cached(&spilled.segment, spilled.at, &mut copy)? {
                    true => once(&read(&copy, 0)?).map(Some),
                    false => Ok(None),
                }
            }
        }
    }

    /// Reads an entry from the disk if it lies there, so that it is near for a while. Without a latch or a mutex.
    pub(crate) fn load(&self, pointer: u64) -> Result<(), StoreError> {
        match self.find_entry(pointer, |_, _| Ok(()))? {
            Found::InMemory(()) => Ok(()),
            Found::Spilled(spilled) => self.read_spilled(&spilled, &mut Vec::new()).map(drop),
        }
    }

    /// Copies an entry. May wait for the file.
    pub(crate) fn copy(&self, pointer: u64, copy: &mut Vec<u8>) -> Result<(), StoreError> {
        match self.copy_or_find(pointer, copy)? {
            Found::InMemory(()) => Ok(()),
            Found::Spilled(spilled) => {
                self.file.read(&spilled.segment, spilled.at, copy)?;
                cut_entry(copy)
            }
        }
    }

    /// As [`UndoLog::copy`], without waiting: false if the entry has to be read from the disk.
    pub(crate) fn copy_in_memory(&self, pointer: u64, copy: &mut Vec<u8>) -> Result<bool, StoreError> {
        match self.copy_or_find(pointer, copy)? {
            Found::InMemory(()) => Ok(true),
            Found::Spilled(spilled) => {
                let is_near = self.file.read_cached(&spilled.segment, spilled.at, copy)?;
                if is_near { cut_entry(copy).map(|()| true) } else { Ok(false) }
            }
        }
    }

    fn copy_or_find(&self, pointer: u64, copy: &mut Vec<u8>) -> Result<Found<()>, StoreError> {
        copy.clear();
        self.find_entry(pointer, |bytes, at| {
            let len = read(bytes, at)?.bytes;
            copy.extend_from_slice(&bytes[at..at + len]);
            Ok(())
        })
    }

    /// Gives the segment's bytes and where in them the entry is to `look` if they are in memory.
    fn find_entry<R>(
        &self,
        pointer: u64,
        look: impl FnOnce(&[u8], usize) -> Result<R, StoreError>,
    ) -> Result<Found<R>, StoreError> {
        let (number, at) = place(pointer);
        let nothing = || StoreError::corrupt("undo", "a pointer leads to nothing");
        let segment = self.find(number).ok_or_else(nothing)?.read();
        match &segment.content {
            Content::Open(bytes) => look(bytes, at).map(Found::InMemory),
            Content::Full(bytes) => look(bytes, at).map(Found::InMemory),
            Content::Spilled(spilled) => {
                Ok(Found::Spilled(SpilledEntry { number, at, segment: Arc::clone(spilled) }))
            }
            Content::Free => Err(nothing()),
        }
    }

    /// Reads an entry that lay in the file, wherever its segment is by now. False if it was given back meanwhile: then nothing leads to
    /// the entry any more, and what was read means nothing. Waits for the disk.
    pub(crate) fn read_spilled(
        &self,
        spilled: &SpilledEntry,
        copy: &mut Vec<u8>,
    ) -> Result<bool, StoreError> {
        let outcome = self.file.read(&spilled.segment, spilled.at, copy).and_then(|()| cut_entry(copy));
        let segment = self.segment(spilled.number).read();
        let is_there =
            matches!(&segment.content, Content::Spilled(now) if Arc::ptr_eq(now, &spilled.segment));
        match outcome {
            Err(error) if is_there => Err(error),
            Err(_) => Ok(false),
            Ok(()) => Ok(is_there),
        }
    }

    /// Which use of its place the entry's segment is: together with the pointer it tells the entry from any that lies there earlier or
    /// later.
    pub(crate) fn life(&self, pointer: u64) -> u32 {
        self.find(place(pointer).0).map_or(0, |segment| segment.read().life)
    }

    /// As [`UndoLog::step_back`], if the entry is in memory.
    pub(crate) fn step_back_in_memory(
        &self,
        pointer: u64,
        value: &mut Vec<u8>,
    ) -> Option<Result<(Version, bool), StoreError>> {
        let (number, at) = place(pointer);
        let segment = self.segment(number).read();
        let bytes: &[u8] = match &segment.content {
            Content::Open(bytes) => bytes,
            Content::Full(bytes) => bytes,
            Content::Spilled(_) | Content::Free => return None,
        };
        Some(read(bytes, at).and_then(|entry| Ok((entry.version, entry.apply(value)?))))
    }

    /// While the result lives no segment is freed; `None` if one is being freed just now.
    pub(crate) fn pin(&self) -> Option<UndoPin<'_>> {
        self.segment_latch.try_read()
    }

    /// As [`UndoLog::pin`], but waits until a segment that is being freed just now is free.
    pub(crate) fn pin_waiting(&self) -> UndoPin<'_> {
        self.segment_latch.read()
    }

    /// Goes one version back: `value` becomes the one before. Without waiting for the disk.
    pub(crate) fn step_back(&self, pointer: u64, value: &mut Vec<u8>) -> Result<UndoStep, StoreError> {
        let spilled = match self.find_entry(pointer, |bytes, at| {
            let entry = read(bytes, at)?;
            Ok(UndoStep::To(entry.version, entry.apply(value)?))
        })? {
            Found::InMemory(step) => return Ok(step),
            Found::Spilled(spilled) => spilled,
        };
        let mut copy = Vec::new();
        if !self.file.read_cached(&spilled.segment, spilled.at, &mut copy)? {
            return Ok(UndoStep::Spilled(spilled));
        }
        let entry = read(&copy, 0)?;
        Ok(UndoStep::To(entry.version, entry.apply(value)?))
    }

    /// Frees up to `count` segments that no snapshot needs, of the next `count`.
    pub(crate) fn sweep(&self, bound: Csn, count: u32) {
        let made = self.made.load(Ordering::Acquire);
        for _ in 0..count.min(made) {
            let number = self.sweep_hand.fetch_add(1, Ordering::Relaxed) % made;
            if self.segment(number).try_read().is_some_and(|segment| segment.may_go(bound)) {
                self.free_segment(number, bound);
            }
        }
    }

    #[cold]
    fn free_segment(&self, number: u32, bound: Csn) {
        let Some(_exclusive) = self.segment_latch.try_write() else { return };
        let mut pool = self.pool.lock();
        let mut segment = self.segment(number).write();
        if pool.held || !segment.may_go(bound) {
            return;
        }
        let content = std::mem::take(&mut segment.content);
        (segment.live, segment.newest) = (0, 0);
        segment.life = segment.life.wrapping_add(1);
        (segment.first_end, segment.last_end) = (NO_END, NO_END);
        drop(segment);
        match content {
            Content::Full(bytes) => {
                self.full_in_memory.fetch_sub(1, Ordering::Relaxed);
                // Unless it is being spilled just now.
                if let Ok(mut buffer) = Arc::try_unwrap(bytes)
                    && pool.buffers.len() < SPARE_BUFFERS_MAX
                    && buffer.capacity() <= self.segment_bytes.max(ENTRY_BYTES_MAX)
                {
                    buffer.clear();
                    pool.buffers.push(buffer);
                }
            }
            Content::Spilled(spilled) => {
                self.file.release(&spilled);
            }
            Content::Open(_) | Content::Free => unreachable!("only full segments may go"),
        }
        pool.free.push(number);
    }

    /// Spills segments while there are more in memory than the budget allows. Outside a critical section, without a
    /// latch.
    ///
    /// # Errors
    /// The file cannot be written. Nothing is lost: what was to be spilled stays in memory.
    #[inline]
    pub(crate) fn spill(&self) -> Result<(), StoreError> {
        if self.full_in_memory.load(Ordering::Relaxed) <= self.budget_segments {
            return Ok(());
        }
        self.spill_until(self.budget_segments)
    }

    /// Spills segments ahead of need.
    pub(crate) fn spill_ahead(&self) -> Result<(), StoreError> {
        let wanted = self.budget_segments - self.budget_segments / 4;
        if self.full_in_memory.load(Ordering::Relaxed) <= wanted { Ok(()) } else { self.spill_until(wanted) }
    }

    #[cold]
    fn spill_until(&self, wanted: u32) -> Result<(), StoreError> {
        let _waits = env::blocking::enter();
        let mut hand = self.file_hand.lock();
        // Numbers are given out from the lowest free one on: those in front of the hand are the oldest, more or less.
        for _ in 0..self.made.load(Ordering::Acquire) {
            if self.full_in_memory.load(Ordering::Relaxed) <= wanted {
                return Ok(());
            }
            let number = *hand % self.made.load(Ordering::Acquire);
            self.spill_one(number)?;
            *hand = number + 1;
        }
        Ok(())
    }

    fn spill_one(&self, number: u32) -> Result<(), StoreError> {
        let segment = self.segment(number);
        let bytes = match &segment.read().content {
            Content::Full(bytes) => Arc::clone(bytes),
            _ => return Ok(()),
        };
        let spilled = self.file.write(&bytes)?;
        let mut segment = segment.write();
        match &segment.content {
            Content::Full(now) if Arc::ptr_eq(now, &bytes) => {
                segment.content = Content::Spilled(Arc::new(spilled));
                self.full_in_memory.fetch_sub(1, Ordering::Relaxed);
            }
            _ => self.file.release(&spilled), // Freed meanwhile.
        }
        Ok(())
    }

    /// Returns the space of files without any segment to the system. May take long; outside a critical section, without
    /// a latch.
    pub(crate) fn close_removed(&self) {
        self.file.close_removed();
    }

    /// From now on no segment is freed.
    pub(crate) fn pause_freeing(&self) {
        self.pool.lock().held = true;
    }

    /// Ends [`UndoLog::pause_freeing`].
    pub(crate) fn resume_freeing(&self) {
        self.pool.lock().held = false;
    }

    pub(crate) fn size(&self) -> UndoSize {
        let is_open = |stripe: &&CachePadded<Stripe>| stripe.open.load(Ordering::Relaxed) != NO_SEGMENT;
        let open = self.stripes.iter().filter(is_open).count() as u64;
        let segments = u64::from(self.full_in_memory.load(Ordering::Relaxed)) + open;
        let (segments_spilled, blocks_read) = self.file.counts();
        UndoSize {
            bytes_in_memory: segments * self.segment_bytes as u64,
            bytes_in_file: self.file.used_bytes(),
            segments_spilled,
            blocks_read,
        }
    }
}
