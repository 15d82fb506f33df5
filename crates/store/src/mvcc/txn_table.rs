//! From a transaction's number to its state: a window of atomics that moves with the horizon.
//!
//! The word of a transaction is 0 before it began and after the horizon passed it, `RUNNING | undo slot` while it runs,
//! and its commit number once it is finished (1, which every snapshot sees, if it was rolled back: none of its stamps are
//! left by then).
//!
//! A lookup may race with the horizon passing the transaction: the word is read first, the horizon after it. If the
//! transaction lies below the horizon by then, what was read does not count and the answer is "seen by everybody".

use crate::error::StoreError;
use crate::ids::{Csn, TxnId};
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::OnceLock;

const CHUNK_TXNS: u64 = 4096;
const WINDOW_CHUNKS: u64 = 32 * 1024;
/// The most transactions between the oldest one that some snapshot does not see and the newest.
const WINDOW_TXNS_MAX: u64 = CHUNK_TXNS * (WINDOW_CHUNKS - 2);
const NO_CHUNK: u32 = u32::MAX;
const RUNNING: u64 = 1 << 63;
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
    /// For each part of the window, which chunk holds it.
    directory: Box<[AtomicU32]>,
    chunks: Box<[OnceLock<Chunk>]>,
    spare: Mutex<Spare>,
    advancing: Mutex<()>,
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
            directory: std::iter::repeat_with(|| AtomicU32::new(NO_CHUNK))
                .take(WINDOW_CHUNKS as usize)
                .collect(),
            chunks: std::iter::repeat_with(OnceLock::new).take(WINDOW_CHUNKS as usize).collect(),
            spare: Mutex::default(),
            advancing: Mutex::new(()),
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

    fn word(&self, id: u64) -> Option<&AtomicU64> {
        let chunk = self.directory[(id / CHUNK_TXNS % WINDOW_CHUNKS) as usize].load(Ordering::Acquire);
        if chunk == NO_CHUNK {
            return None;
        }
        self.chunks[chunk as usize].get().map(|chunk| &chunk[(id % CHUNK_TXNS) as usize])
    }

    #[cold]
    fn add_chunk(&self, id: u64) {
        let mut spare = self.spare.lock();
        let place = &self.directory[(id / CHUNK_TXNS % WINDOW_CHUNKS) as usize];
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
        place.store(chunk, Ordering::Release);
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
        let word = self.word(id.0).map_or(0, |word| word.load(Ordering::SeqCst));
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
            let word = self.word(horizon).map_or(0, |word| word.load(Ordering::SeqCst));
            if word == 0 || word & RUNNING != 0 || word > bound.0 {
                break;
            }
            horizon += 1;
        }
        self.horizon.store(horizon, Ordering::SeqCst);
        for id in start..horizon {
            self.word(id).expect("it was there above").store(0, Ordering::SeqCst);
            if (id + 1) % CHUNK_TXNS == 0 {
                let place = &self.directory[(id / CHUNK_TXNS % WINDOW_CHUNKS) as usize];
                let chunk = place.swap(NO_CHUNK, Ordering::SeqCst);
                self.spare.lock().chunks.push(chunk);
            }
        }
    }
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
    fn chunks_are_used_again() {
        let table = TxnTable::new(TxnId(1));
        for number in 0..CHUNK_TXNS * 20 {
            let id = table.begin(0).unwrap();
            table.commit(id, Csn(number + 2));
            if number % 1000 == 0 {
                table.advance(Csn(number + 2), u64::MAX >> 1);
            }
        }
        assert!(table.spare.lock().made <= 3);
    }
}
