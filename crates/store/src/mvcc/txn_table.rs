//! From a transaction's number to its state: a window of atomics that moves with the horizon.
//!
//! The word of a transaction is 0 before it began and after the horizon passed it, `RUNNING | undo slot` while it runs,
//! and its commit number once it is finished (1, which every snapshot sees, if it was rolled back: none of its
//! transaction ids are left by then).
//!
//! A lookup may race with the horizon passing the transaction: the word is read first, the horizon after it. If the
//! transaction lies below the horizon by then, what was read does not count and the answer is "seen by everybody".
//!
//! Words lie in chunks of 4096; the window has places, each for a part of 4096 chunks:
//!
//! ```text
//! places  | part | joined 5000 | part | -          16.8 million transactions each
//!             \
//!              | joined 810 | chunk | joined 977 | ...
//!                              \
//!                               | word | word | ...
//! ```
//!
//! An old snapshot keeps the horizon where it is, for as long as its owner likes. What it costs is bounded: a chunk of
//! transactions that are all finished, with no snapshot between the first and the last of their commits, is joined to
//! one number, the smallest. Snapshots are from before it, and see none of them, or from after the last, and see them
//! all; new ones are after. So 4096 transactions take 8 bytes. A part whose chunks are all joined is joined in the same
//! way, and 16.8 million take 8 bytes. The window is so wide that writers need not stop for a snapshot of half a year.
//!
//! Invariants:
//! 1. A joined number is never above the true one. So where a bound below which everybody sees everything is at that
//!    number or above, it is right of all it stands for: every snapshot is at the bound or later, hence behind the last
//!    of the commits.
//! 2. A chunk belongs to one place of a part, a part to one place of the window. A reader of a word checks whether both
//!    still do; words and places are cleared only when they no longer do.
//! 3. What the horizon is in, chunk and part, is not joined, and neither is what has transactions that did not begin.

use crate::error::StoreError;
use crate::ids::{Csn, TxnId};
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::OnceLock;

/// Few in debug builds, so that short stories come to the ends of chunks and parts.
const CHUNK_TXNS: u64 = if cfg!(debug_assertions) { 8 } else { 4096 };
const PART_CHUNKS: u64 = if cfg!(debug_assertions) { 8 } else { 4096 };
const PART_TXNS: u64 = CHUNK_TXNS * PART_CHUNKS;
const PLACES: u64 = 32 * 1024;
/// The most transactions between the oldest one that some snapshot does not see and the newest: 550 thousand million.
const WINDOW_TXNS_MAX: u64 = PART_TXNS * (PLACES - 2);
/// The most chunks at once, 1 GiB: of 4096 transactions each among which a snapshot lies or one still runs.
const TXN_CHUNKS_MAX: u64 = 32 * 1024;
/// The most parts at once that have such chunks.
const TXN_PARTS_MAX: u64 = 4096;
/// Nobody begins a transaction with fewer chunks or parts than this left: who has begun finds one.
const RESERVE: u64 = 64;
const RUNNING: u64 = 1 << 63;
/// A place that has nothing.
const NOTHING: u64 = JOINED - 1;
/// In a place: the other bits are the commit number of all transactions there.
const JOINED: u64 = 1 << 63;
/// The commit number of what left no trace.
const ROLLED_BACK: Csn = Csn(1);
/// So many places are passed over, at most, for each chunk that is looked at to be joined.
const PLACES_PER_CHECK: usize = 64;

type Chunk = Box<[AtomicU64]>;

/// A transaction's state.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum State {
    /// It runs and owns this undo slot.
    Running(u32),
    /// It ended with this commit number.
    Finished(Csn),
    /// It ended so long ago that every snapshot sees it.
    Old,
}

#[derive(Debug)]
struct Part {
    /// For each of its chunks, which one it is, or [`JOINED`].
    places: Box<[AtomicU64]>,
    /// The newest commit of the chunks that were joined.
    newest: AtomicU64,
}

impl Part {
    fn new() -> Part {
        Part { places: nothing(PART_CHUNKS), newest: AtomicU64::new(0) }
    }

    fn place(&self, id: u64) -> &AtomicU64 {
        &self.places[(id / CHUNK_TXNS % PART_CHUNKS) as usize]
    }
}

fn nothing(count: u64) -> Box<[AtomicU64]> {
    std::iter::repeat_with(|| AtomicU64::new(NOTHING)).take(count as usize).collect()
}

/// The commit number that a place without words stands for.
fn joined_number(entry: u64) -> u64 {
    if entry & JOINED != 0 { entry & !JOINED } else { 0 }
}

#[derive(Debug)]
pub(crate) struct TxnTable {
    next: AtomicU64,
    horizon: AtomicU64,
    /// For each part of the window, which one it is, or [`JOINED`].
    places: Box<[AtomicU64]>,
    parts: Box<[OnceLock<Part>]>,
    chunks: Box<[OnceLock<Chunk>]>,
    spare: Mutex<Spare>,
    /// Chunks or parts come to an end.
    is_full: AtomicBool,
    advancing: Mutex<Advancing>,
}

/// What only who advances the horizon or joins needs.
#[derive(Debug, Default)]
struct Advancing {
    /// The chunk of the window looked at next, to be joined.
    next_chunk: u64,
}

#[derive(Debug, Default)]
struct Spare {
    chunks: Vec<u32>,
    chunks_made: u32,
    parts: Vec<u32>,
    parts_made: u32,
}

impl Spare {
    fn is_short(&self) -> bool {
        let left = |most: u64, made: u32, spare: &[u32]| most - u64::from(made) + spare.len() as u64;
        left(TXN_CHUNKS_MAX, self.chunks_made, &self.chunks) < RESERVE
            || left(TXN_PARTS_MAX, self.parts_made, &self.parts) < RESERVE
    }
}

impl TxnTable {
    pub(crate) fn new(first: TxnId) -> TxnTable {
        TxnTable {
            next: AtomicU64::new(first.0),
            horizon: AtomicU64::new(first.0),
            places: nothing(PLACES),
            parts: std::iter::repeat_with(OnceLock::new).take(TXN_PARTS_MAX as usize).collect(),
            chunks: std::iter::repeat_with(OnceLock::new).take(TXN_CHUNKS_MAX as usize).collect(),
            spare: Mutex::default(),
            is_full: AtomicBool::new(false),
            advancing: Mutex::default(),
        }
    }

    /// Transactions below are finished and seen by every snapshot.
    #[inline]
    pub(crate) fn horizon(&self) -> u64 {
        self.horizon.load(Ordering::Acquire)
    }

    /// The number the next transaction will get.
    pub(crate) fn next(&self) -> TxnId {
        TxnId(self.next.load(Ordering::SeqCst))
    }

    #[inline]
    fn place(&self, id: u64) -> &AtomicU64 {
        &self.places[(id / PART_TXNS % PLACES) as usize]
    }

    // Neither `NOTHING` nor a joined number is the number of a part or a chunk.

    #[inline]
    fn part(&self, entry: u64) -> Option<&Part> {
        self.parts.get(entry as usize)?.get()
    }

    #[inline]
    fn words(&self, entry: u64) -> Option<&Chunk> {
        self.chunks.get(entry as usize)?.get()
    }

    #[inline]
    fn word_in(&self, entry: u64, id: u64) -> Option<&AtomicU64> {
        self.words(entry).map(|words| &words[(id % CHUNK_TXNS) as usize])
    }

    /// The word of a transaction that is not joined.
    #[inline]
    fn word(&self, id: u64) -> Option<&AtomicU64> {
        let part = self.part(self.place(id).load(Ordering::Acquire))?;
        self.word_in(part.place(id).load(Ordering::Acquire), id)
    }

    /// What the word of a transaction says, or the number that stands for it among others.
    #[inline]
    fn state_word(&self, id: u64) -> u64 {
        let place = self.place(id);
        loop {
            let entry = place.load(Ordering::SeqCst);
            let Some(part) = self.part(entry) else { return joined_number(entry) };
            let chunk_place = part.place(id);
            let chunk_entry = chunk_place.load(Ordering::SeqCst);
            let found = match self.word_in(chunk_entry, id) {
                Some(word) => word.load(Ordering::SeqCst),
                None => joined_number(chunk_entry),
            };
            if chunk_place.load(Ordering::SeqCst) == chunk_entry && place.load(Ordering::SeqCst) == entry {
                return found;
            }
        }
    }

    /// As [`TxnTable::state_word`], and up to which transaction the number stands for all. Only under `advancing`.
    fn state_run(&self, id: u64) -> (u64, u64) {
        let end_of = |txns: u64| (id / txns + 1) * txns;
        let entry = self.place(id).load(Ordering::SeqCst);
        let Some(part) = self.part(entry) else { return (joined_number(entry), end_of(PART_TXNS)) };
        let entry = part.place(id).load(Ordering::SeqCst);
        match self.word_in(entry, id) {
            Some(word) => (word.load(Ordering::SeqCst), id + 1),
            None => (joined_number(entry), end_of(CHUNK_TXNS)),
        }
    }

    #[cold]
    fn add_chunk(&self, id: u64) {
        let mut spare = self.spare.lock();
        let place = self.place(id);
        let part = self.part(place.load(Ordering::Acquire)).unwrap_or_else(|| {
            let number = spare.parts.pop().unwrap_or_else(|| {
                spare.parts_made += 1;
                spare.parts_made - 1
            });
            let part = self.parts[number as usize].get_or_init(Part::new);
            place.store(u64::from(number), Ordering::Release);
            part
        });
        let place = part.place(id);
        if place.load(Ordering::Acquire) == NOTHING {
            let number = spare.chunks.pop().unwrap_or_else(|| {
                spare.chunks_made += 1;
                spare.chunks_made - 1
            });
            self.chunks[number as usize].get_or_init(|| {
                std::iter::repeat_with(|| AtomicU64::new(0)).take(CHUNK_TXNS as usize).collect()
            });
            place.store(u64::from(number), Ordering::Release);
        }
        self.is_full.store(spare.is_short(), Ordering::Relaxed);
    }

    /// Gives back a chunk to which no place leads any more.
    fn free_chunk(&self, entry: u64) {
        let Some(words) = self.words(entry) else { return };
        words.iter().for_each(|word| word.store(0, Ordering::Release));
        let mut spare = self.spare.lock();
        spare.chunks.push(entry as u32);
        self.is_full.store(spare.is_short(), Ordering::Relaxed);
    }

    /// Gives back a part to which no place leads any more; its chunks are joined or were given back.
    fn free_part(&self, entry: u64) {
        let Some(part) = self.part(entry) else { return };
        part.places.iter().for_each(|place| place.store(NOTHING, Ordering::Release));
        part.newest.store(0, Ordering::Release);
        let mut spare = self.spare.lock();
        spare.parts.push(entry as u32);
        self.is_full.store(spare.is_short(), Ordering::Relaxed);
    }

    /// Begins a transaction that owns an undo slot.
    ///
    /// # Errors
    /// The window is full: a snapshot is older than [`WINDOW_TXNS_MAX`] transactions, or too many of them lie far apart.
    pub(crate) fn begin(&self, slot: u32) -> Result<TxnId, StoreError> {
        if self.next.load(Ordering::Relaxed) - self.horizon() > WINDOW_TXNS_MAX
            || self.is_full.load(Ordering::Relaxed)
        {
            return Err(StoreError::Limit("transactions since the oldest snapshot"));
        }
        let id = self.next.fetch_add(1, Ordering::SeqCst);
        loop {
            if let Some(word) = self.word(id) {
                word.store(RUNNING | u64::from(slot), Ordering::SeqCst);
                return Ok(TxnId(id));
            }
            self.add_chunk(id);
        }
    }

    /// Ends a transaction. From now on snapshots taken at `csn` or later see it.
    #[inline]
    pub(crate) fn commit(&self, id: TxnId, csn: Csn) {
        self.word(id.0).expect("a running transaction is in the window").store(csn.0, Ordering::SeqCst);
    }

    /// Ends a transaction whose id is in no record any more.
    pub(crate) fn roll_back(&self, id: TxnId) {
        self.commit(id, ROLLED_BACK);
    }

    /// Outcome of a transaction.
    #[inline]
    pub(crate) fn state(&self, id: TxnId) -> State {
        let word = self.state_word(id.0);
        if id.0 < self.horizon.load(Ordering::SeqCst) {
            State::Old
        } else if word & RUNNING != 0 {
            State::Running((word & !RUNNING) as u32)
        } else {
            debug_assert!(word != 0, "transaction {id} never began");
            State::Finished(Csn(word))
        }
    }

    /// The commit number of a finished transaction.
    #[inline]
    pub(crate) fn commit_number(&self, id: TxnId) -> Option<Csn> {
        match self.state(id) {
            State::Running(_) => None,
            State::Finished(csn) => Some(csn),
            State::Old => Some(Csn(0)),
        }
    }

    /// Moves the horizon over transactions that every snapshot from `bound` on sees, after `budget` steps at most: at
    /// one, or at many that are joined.
    pub(crate) fn advance(&self, bound: Csn, budget: u64) {
        let Some(_advancing) = self.advancing.try_lock() else { return };
        let start = self.horizon.load(Ordering::SeqCst);
        let next = self.next.load(Ordering::SeqCst);
        let mut horizon = start;
        for _ in 0..budget {
            if horizon >= next {
                break;
            }
            let (word, end) = self.state_run(horizon);
            if word == 0 || word & RUNNING != 0 || word > bound.0 {
                break;
            }
            horizon = end;
        }
        self.horizon.store(horizon, Ordering::SeqCst);
        let mut id = start;
        while id < horizon {
            let place = self.place(id);
            let entry = place.load(Ordering::SeqCst);
            let Some(part) = self.part(entry) else {
                place.store(NOTHING, Ordering::SeqCst);
                id = (id / PART_TXNS + 1) * PART_TXNS;
                continue;
            };
            let end = ((id / CHUNK_TXNS + 1) * CHUNK_TXNS).min(horizon);
            if end.is_multiple_of(CHUNK_TXNS) {
                self.free_chunk(part.place(id).swap(NOTHING, Ordering::SeqCst));
            } else {
                (id..end).filter_map(|id| self.word(id)).for_each(|word| word.store(0, Ordering::SeqCst));
            }
            if end.is_multiple_of(PART_TXNS) {
                place.store(NOTHING, Ordering::SeqCst);
                self.free_part(entry);
            }
            id = end;
        }
    }

    /// Joins chunks and parts in front of the horizon, after a look at `budget` chunks at most. `any_between(from, to)`: whether a
    /// snapshot, now or later, may be at commit `from` or later and before commit `to`, which has happened.
    pub(crate) fn join(&self, budget: usize, any_between: impl Fn(Csn, Csn) -> bool) {
        let Some(mut advancing) = self.advancing.try_lock() else { return };
        let horizon = self.horizon.load(Ordering::SeqCst);
        // The horizon's own chunk has words that are cleared already.
        let first = horizon / CHUNK_TXNS + 1;
        let end = self.next.load(Ordering::SeqCst) / CHUNK_TXNS;
        let (mut looks, mut passed) = (0, 0);
        for _ in 0..budget.saturating_mul(PLACES_PER_CHECK) {
            if looks == budget || first + passed >= end {
                break;
            }
            let chunk =
                if (first..end).contains(&advancing.next_chunk) { advancing.next_chunk } else { first };
            let id = chunk * CHUNK_TXNS;
            let place = self.place(id);
            let entry = place.load(Ordering::SeqCst);
            let Some(part) = self.part(entry) else {
                advancing.next_chunk = (chunk / PART_CHUNKS + 1) * PART_CHUNKS;
                passed += advancing.next_chunk - chunk;
                continue;
            };
            advancing.next_chunk = chunk + 1;
            passed += 1;
            let chunk_place = part.place(id);
            let chunk_entry = chunk_place.load(Ordering::SeqCst);
            if let Some(words) = self.words(chunk_entry) {
                looks += 1;
                if let Some((least, most)) = joined(words, &any_between) {
                    part.newest.fetch_max(most.0, Ordering::SeqCst);
                    chunk_place.store(JOINED | least.0, Ordering::SeqCst);
                    self.free_chunk(chunk_entry);
                }
            }
            let is_last = (chunk + 1).is_multiple_of(PART_CHUNKS);
            if is_last
                && id / PART_TXNS > horizon / PART_TXNS
                && let Some(least) = joined_part(part, &any_between)
            {
                place.store(JOINED | least.0, Ordering::SeqCst);
                self.free_part(entry);
            }
        }
    }

    /// How many chunks and parts are in use.
    #[cfg(test)]
    fn used(&self) -> (usize, usize) {
        let spare = self.spare.lock();
        let used = |made: u32, spare: &[u32]| made as usize - spare.len();
        (used(spare.chunks_made, &spare.chunks), used(spare.parts_made, &spare.parts))
    }
}

/// The number that can stand for all transactions of a chunk, if there is one, and the newest commit among them.
fn joined(words: &[AtomicU64], any_between: impl Fn(Csn, Csn) -> bool) -> Option<(Csn, Csn)> {
    let (mut least, mut most) = (u64::MAX, 0);
    for word in words {
        let word = word.load(Ordering::SeqCst);
        if word == 0 || word & RUNNING != 0 {
            return None;
        }
        if word != ROLLED_BACK.0 {
            (least, most) = (least.min(word), most.max(word));
        }
    }
    if most == 0 {
        return Some((ROLLED_BACK, ROLLED_BACK));
    }
    (!any_between(Csn(least), Csn(most))).then_some((Csn(least), Csn(most)))
}

/// The number that can stand for all transactions of a part, if there is one.
fn joined_part(part: &Part, any_between: impl Fn(Csn, Csn) -> bool) -> Option<Csn> {
    let mut least = u64::MAX;
    for place in &part.places {
        match joined_number(place.load(Ordering::SeqCst)) {
            0 => return None,
            number if number == ROLLED_BACK.0 => {}
            number => least = least.min(number),
        }
    }
    if least == u64::MAX {
        return Some(ROLLED_BACK);
    }
    let newest = Csn(part.newest.load(Ordering::SeqCst));
    (!any_between(Csn(least), newest)).then_some(Csn(least))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_horizon_stops_at_what_runs_and_at_what_a_snapshot_misses() {
        let table = TxnTable::new(TxnId(100));
        let ids: Vec<TxnId> = (0..10_000).map(|slot| table.begin(slot).unwrap()).collect();
        assert_eq!(ids[7], TxnId(107));
        assert_eq!(table.state(ids[7]), State::Running(7));
        for (number, &id) in ids.iter().enumerate() {
            if number != 9_000 {
                table.commit(id, Csn(10 + number as u64));
            }
        }
        table.advance(Csn(10 + 5_000), u64::MAX >> 1);
        assert_eq!(table.horizon(), 100 + 5_001);
        assert_eq!(table.state(ids[5_000]), State::Old);
        assert_eq!(table.state(ids[5_001]), State::Finished(Csn(5_011)));
        table.advance(Csn(u64::MAX >> 1), u64::MAX >> 1);
        assert_eq!(table.horizon(), 100 + 9_000);
        table.roll_back(ids[9_000]);
        table.advance(Csn(2), u64::MAX >> 1);
        assert_eq!(table.horizon(), 100 + 9_001);
    }

    #[test]
    fn what_an_old_snapshot_misses_takes_little_memory() {
        let table = TxnTable::new(TxnId(1));
        let snapshots = [CHUNK_TXNS / 2 + 20, 25 * CHUNK_TXNS, 73 * CHUNK_TXNS + 1];
        let count = CHUNK_TXNS * 100;
        let runs = CHUNK_TXNS * 30 + 7;
        // Now and then one that began early commits late.
        let csn_of = |id: u64| 10 + id + if id.is_multiple_of(50) { CHUNK_TXNS / 2 } else { 0 };
        let between = |from: Csn, to: Csn| snapshots.iter().any(|&at| at >= from.0 && at < to.0);
        for id in 1..=count {
            assert_eq!(table.begin(3).unwrap(), TxnId(id));
            match id {
                id if id == runs => {}
                id if id % 101 == 0 => table.roll_back(TxnId(id)),
                id => table.commit(TxnId(id), Csn(csn_of(id))),
            }
        }
        table.advance(Csn(snapshots[0]), u64::MAX >> 1);
        let horizon = table.horizon();
        assert!(horizon <= snapshots[0]);
        for _ in 0..100 {
            table.join(7, between);
        }
        // Those of the horizon and of the end, a few around each snapshot, and the one with what runs.
        assert!(table.used().0 <= 9, "{:?}", table.used());
        for id in horizon..=count {
            let csn = csn_of(id);
            match table.state(TxnId(id)) {
                State::Running(slot) => assert_eq!((id, slot), (runs, 3)),
                // Its id is in no record any more.
                State::Finished(_) if id % 101 == 0 => {}
                State::Finished(joined) => {
                    assert!(joined.0 <= csn, "{id}: {joined} is above {csn}");
                    for at in snapshots {
                        assert_eq!(joined.0 <= at, csn <= at, "{id}: {joined} for {csn}, snapshot {at}");
                    }
                }
                State::Old => panic!("{id} is not below the horizon"),
            }
        }
        // The horizon passes what is joined.
        table.advance(Csn(u64::MAX >> 1), u64::MAX >> 1);
        assert_eq!(table.horizon(), runs);
        table.commit(TxnId(runs), Csn(count + 5_000));
        table.advance(Csn(u64::MAX >> 1), u64::MAX >> 1);
        assert_eq!((table.horizon(), table.state(TxnId(runs))), (count + 1, State::Old));
        assert!(table.used().0 <= 1 && table.used().1 <= 1, "{:?}", table.used());
    }

    #[test]
    fn chunks_are_used_again() {
        let table = TxnTable::new(TxnId(1));
        for number in 0..CHUNK_TXNS * 20 {
            let id = table.begin(0).unwrap();
            table.commit(id, Csn(number + 2));
            if number % (CHUNK_TXNS / 4) == 0 {
                table.advance(Csn(number + 2), u64::MAX >> 1);
            }
        }
        assert!(table.spare.lock().chunks_made <= 3);
    }

    /// Many more transactions than the words that there is space for, beside one snapshot that stays; some run for
    /// long.
    #[test]
    fn writers_go_on_however_long_a_snapshot_stays() {
        let table = TxnTable::new(TxnId(1));
        let snapshot = 20;
        let between = |from: Csn, to: Csn| (from.0..to.0).contains(&snapshot);
        let count = CHUNK_TXNS * TXN_CHUNKS_MAX + 17;
        let mut running = None;
        for id in 1..=count {
            assert_eq!(table.begin(3).unwrap(), TxnId(id));
            if id % (PART_TXNS * 100) == 5 {
                if let Some(before) = running.replace(id) {
                    table.commit(TxnId(before), Csn(10 + id));
                }
            } else {
                table.commit(TxnId(id), Csn(10 + id));
            }
            if id % CHUNK_TXNS == 0 {
                table.advance(Csn(snapshot), 8);
                table.join(4, between);
            }
        }
        assert!(table.horizon() <= snapshot);
        for _ in 0..PART_CHUNKS {
            table.join(CHUNK_TXNS as usize, between);
        }
        // Chunks of the horizon, of the snapshot, of what runs and of the end; their parts.
        let (chunks, parts) = table.used();
        assert!(chunks <= 6 && parts <= 5, "{chunks} {parts}");
        for id in (table.horizon()..=count).step_by(61) {
            match table.state(TxnId(id)) {
                // Those that ran for long have committed much later.
                State::Finished(csn) if id % (PART_TXNS * 100) == 5 => assert!(csn.0 > snapshot, "{id}"),
                State::Finished(csn) => assert_eq!(csn.0 <= snapshot, 10 + id <= snapshot, "{id}"),
                other => assert_eq!(Some(id), running, "{other:?}"),
            }
        }
        // When the snapshot goes, the horizon comes after it at once.
        table.commit(TxnId(running.unwrap()), Csn(count + 11));
        table.advance(Csn(count + 11), 4 * PART_TXNS + count / PART_TXNS);
        assert_eq!((table.horizon(), table.used().0 <= 1), (count + 1, true), "{:?}", table.used());
    }

    #[test]
    fn lookups_beside_joining_are_right() {
        let table = TxnTable::new(TxnId(1));
        let count = PART_TXNS * if cfg!(debug_assertions) { 200 } else { 2 };
        // Snapshots end one after the other, oldest first; the first is the oldest there is.
        let (first, step) = (count / 3, count / 50 + 1);
        let snapshot = AtomicU64::new(first);
        let begun = AtomicU64::new(0);
        let csn_of = |id: u64| 10 + id;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for id in 1..=count {
                    table.begin(0).unwrap();
                    table.commit(TxnId(id), Csn(csn_of(id)));
                    begun.store(id, Ordering::SeqCst);
                }
            });
            scope.spawn(|| {
                while table.horizon() <= count {
                    let done = begun.load(Ordering::SeqCst);
                    let at = snapshot.load(Ordering::SeqCst);
                    table.join(5, |from, to| {
                        let next = first + (from.0.max(at) - first).next_multiple_of(step);
                        next < to.0 || to.0 > csn_of(done)
                    });
                    table.advance(Csn(at), 3);
                    if done == count {
                        snapshot.fetch_add(step, Ordering::SeqCst);
                    }
                }
            });
            for turn in 0..2 {
                let (table, begun, snapshot) = (&table, &begun, &snapshot);
                scope.spawn(move || {
                    let mut id = 7 + turn;
                    while table.horizon() <= count {
                        let done = begun.load(Ordering::SeqCst);
                        if done == 0 {
                            continue; // None has begun yet.
                        }
                        id = (id * 48_271 + 11) % done + 1;
                        let at = snapshot.load(Ordering::SeqCst);
                        let found = table.commit_number(TxnId(id)).unwrap();
                        if snapshot.load(Ordering::SeqCst) == at {
                            assert_eq!(found.0 <= at, csn_of(id) <= at, "{id} is {found}, snapshot {at}");
                        }
                    }
                });
            }
        });
        assert!(table.used().1 <= 1, "{:?}", table.used());
    }
}
