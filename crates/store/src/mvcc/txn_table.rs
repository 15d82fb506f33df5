//! From a transaction's number to its state: a window of atomics that moves with the horizon.
//!
//! The word of a transaction is 0 before it began and after the horizon passed it, `RUNNING | undo slot` while it runs,
//! and its commit number once it is finished (1, which every snapshot sees, if it was rolled back: none of its stamps are
//! left by then).
//!
//! A lookup may race with the horizon passing the transaction: the word is read first, the horizon after it. If the
//! transaction lies below the horizon by then, what was read does not count and the answer is "seen by everybody".
//!
//! An old snapshot keeps the horizon where it is, for as long as its owner likes. What it costs is bounded: a chunk of
//! transactions that are all finished, with no snapshot between the first and the last of their commits, is joined to one
//! number, the smallest. Snapshots are from before it, and see none of them, or from after the last, and see them all; new ones
//! are after. So 4096 transactions take 8 bytes.
//!
//! Invariants:
//! 1. A joined number is never above the true one. So where a bound below which everybody sees everything is at that number or
//!    above, it is right of all the chunk: every snapshot is at the bound or later, hence behind the last of the commits.
//! 2. A chunk belongs to one place of the directory. Who has read a word of it looks whether it still did; words are cleared
//!    only when it no longer does.

use crate::error::StoreError;
use crate::ids::{Csn, TxnId};
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicU64, Ordering};
use std::sync::OnceLock;

/// Few in debug builds, so that short stories come to the ends of chunks.
const CHUNK_TXNS: u64 = if cfg!(debug_assertions) { 8 } else { 4096 };
const WINDOW_CHUNKS: u64 = 32 * 1024;
/// The most transactions between the oldest one that some snapshot does not see and the newest.
const WINDOW_TXNS_MAX: u64 = CHUNK_TXNS * (WINDOW_CHUNKS - 2);
const RUNNING: u64 = 1 << 63;
/// A place of the directory that has no chunk.
const NO_CHUNK: u64 = JOINED - 1;
/// In a place of the directory: the other bits are the commit number of all transactions there.
const JOINED: u64 = 1 << 63;
/// The commit number of what left no trace.
const ROLLED_BACK: Csn = Csn(1);

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
pub(crate) struct TxnTable {
    next: AtomicU64,
    horizon: AtomicU64,
    /// For each part of the window, which chunk holds it, or [`JOINED`].
    directory: Box<[AtomicU64]>,
    chunks: Box<[OnceLock<Chunk>]>,
    spare: Mutex<Spare>,
    advancing: Mutex<Advancing>,
}

/// What only who advances the horizon or joins chunks needs.
#[derive(Debug, Default)]
struct Advancing {
    /// The chunk of the window looked at next, to be joined.
    next_chunk: u64,
}

#[derive(Debug, Default)]
struct Spare {
    chunks: Vec<u32>,
    made: u32,
}

impl TxnTable {
    pub(crate) fn new(first: TxnId) -> TxnTable {
        TxnTable {
            next: AtomicU64::new(first.0),
            horizon: AtomicU64::new(first.0),
            directory: std::iter::repeat_with(|| AtomicU64::new(NO_CHUNK))
                .take(WINDOW_CHUNKS as usize)
                .collect(),
            chunks: std::iter::repeat_with(OnceLock::new).take(WINDOW_CHUNKS as usize).collect(),
            spare: Mutex::default(),
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

    fn place(&self, chunk: u64) -> &AtomicU64 {
        &self.directory[(chunk % WINDOW_CHUNKS) as usize]
    }

    /// The word of a transaction whose chunk is not joined.
    fn word(&self, id: u64) -> Option<&AtomicU64> {
        self.word_in(self.place(id / CHUNK_TXNS).load(Ordering::Acquire), id)
    }

    #[inline]
    fn word_in(&self, entry: u64, id: u64) -> Option<&AtomicU64> {
        // Neither `NO_CHUNK` nor a joined number is the number of a chunk.
        self.chunks.get(entry as usize)?.get().map(|chunk| &chunk[(id % CHUNK_TXNS) as usize])
    }

    /// What the word of a transaction says, or the number that stands for its whole chunk.
    #[inline]
    fn look(&self, id: u64) -> u64 {
        let place = self.place(id / CHUNK_TXNS);
        loop {
            let entry = place.load(Ordering::SeqCst);
            let Some(word) = self.word_in(entry, id) else {
                return if entry & JOINED != 0 { entry & !JOINED } else { 0 };
            };
            let word = word.load(Ordering::SeqCst);
            if place.load(Ordering::SeqCst) == entry {
                return word;
            }
        }
    }

    #[cold]
    fn add_chunk(&self, id: u64) {
        let mut spare = self.spare.lock();
        let place = self.place(id / CHUNK_TXNS);
        if place.load(Ordering::Acquire) != NO_CHUNK {
            return;
        }
        let chunk = spare.chunks.pop().unwrap_or_else(|| {
            let index = spare.made;
            spare.made += 1;
            let words = std::iter::repeat_with(|| AtomicU64::new(0)).take(CHUNK_TXNS as usize).collect();
            self.chunks[index as usize].set(words).expect("made once");
            index
        });
        place.store(u64::from(chunk), Ordering::Release);
    }

    /// Begins a transaction that owns an undo slot.
    ///
    /// # Errors
    /// The window is full: a snapshot is older than [`WINDOW_TXNS_MAX`] transactions.
    pub(crate) fn begin(&self, slot: u32) -> Result<TxnId, StoreError> {
        if self.next.load(Ordering::Relaxed) - self.horizon() > WINDOW_TXNS_MAX {
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

    /// Ends a transaction whose stamps are all gone.
    pub(crate) fn roll_back(&self, id: TxnId) {
        self.commit(id, ROLLED_BACK);
    }

    /// What became of a transaction.
    #[inline]
    pub(crate) fn state(&self, id: TxnId) -> State {
        let word = self.look(id.0);
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

    /// Moves the horizon over transactions that every snapshot from `bound` on sees, `budget` of them at most.
    pub(crate) fn advance(&self, bound: Csn, budget: u64) {
        let Some(_advancing) = self.advancing.try_lock() else { return };
        let start = self.horizon.load(Ordering::SeqCst);
        let end = self.next.load(Ordering::SeqCst).min(start + budget);
        let mut horizon = start;
        while horizon < end {
            let word = self.look(horizon);
            if word == 0 || word & RUNNING != 0 || word > bound.0 {
                break;
            }
            horizon += 1;
        }
        self.horizon.store(horizon, Ordering::SeqCst);
        for id in start..horizon {
            if let Some(word) = self.word(id) {
                word.store(0, Ordering::SeqCst);
            }
            if (id + 1) % CHUNK_TXNS == 0 {
                let entry = self.place(id / CHUNK_TXNS).swap(NO_CHUNK, Ordering::SeqCst);
                if entry & JOINED == 0 {
                    self.spare.lock().chunks.push(entry as u32);
                }
            }
        }
    }

    /// Joins chunks in front of the horizon, after a look at `budget` of them at most. `any_between(from, to)`: whether a snapshot,
    /// now or later, may be at commit `from` or later and before commit `to`, which has happened.
    pub(crate) fn join(&self, budget: usize, any_between: impl Fn(Csn, Csn) -> bool) {
        let Some(mut advancing) = self.advancing.try_lock() else { return };
        // The horizon's own chunk has words that are cleared already.
        let first = self.horizon.load(Ordering::SeqCst) / CHUNK_TXNS + 1;
        let end = self.next.load(Ordering::SeqCst) / CHUNK_TXNS;
        let mut looks = 0;
        for _ in first..end {
            let chunk =
                if (first..end).contains(&advancing.next_chunk) { advancing.next_chunk } else { first };
            advancing.next_chunk = chunk + 1;
            let place = self.place(chunk);
            let entry = place.load(Ordering::SeqCst);
            let Some(words) = self.chunks.get(entry as usize).and_then(OnceLock::get) else { continue };
            if let Some(least) = joined(words, &any_between) {
                place.store(JOINED | least.0, Ordering::SeqCst);
                words.iter().for_each(|word| word.store(0, Ordering::Release));
                self.spare.lock().chunks.push(entry as u32);
            }
            looks += 1;
            if looks == budget {
                break;
            }
        }
    }

    /// How many chunks are in use.
    #[cfg(test)]
    fn used_chunks(&self) -> usize {
        let spare = self.spare.lock();
        spare.made as usize - spare.chunks.len()
    }
}

/// The number that can stand for all transactions of a chunk, if there is one.
fn joined(words: &[AtomicU64], any_between: impl Fn(Csn, Csn) -> bool) -> Option<Csn> {
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
        return Some(ROLLED_BACK);
    }
    (!any_between(Csn(least), Csn(most))).then_some(Csn(least))
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
        assert!(table.used_chunks() <= 9, "{}", table.used_chunks());
        for id in horizon..=count {
            let csn = csn_of(id);
            match table.state(TxnId(id)) {
                State::Running(slot) => assert_eq!((id, slot), (runs, 3)),
                // None of its stamps are left.
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
        assert!(table.used_chunks() <= 1);
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
        assert!(table.spare.lock().made <= 3);
    }
}
