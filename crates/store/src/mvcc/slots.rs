//! Running transactions: each that writes or locks owns a slot, which tells others its locks and a checkpoint its undo.

use crate::error::StoreError;
use crate::ids::TxnId;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicU64, Ordering};
use std::sync::OnceLock;

const FIRST_SLOTS: usize = 64;
const CHUNKS: usize = 19;
/// The most transactions that run at once.
const SLOTS_MAX: usize = FIRST_SLOTS << (CHUNKS - 1);

/// A running transaction.
#[derive(Debug)]
pub(crate) struct Slot {
    /// The transaction that owns the slot, 0 for none or finished.
    owner: AtomicU64,
    /// Its newest undo entry. Changes only in a critical section.
    pub(crate) last_undo: AtomicU64,
    /// How often its newest entry was taken out again: who goes along its entries and stopped in between may not go on then.
    pub(crate) removals: AtomicU64,
    /// The keys of its locks in the lock table.
    pub(crate) locks: Mutex<crate::lock::HeldLocks>,
}

/// All slots.
#[derive(Debug)]
pub(crate) struct Slots {
    chunks: [OnceLock<Box<[Slot]>>; CHUNKS],
    free: Mutex<FreeSlots>,
}

#[derive(Debug, Default)]
struct FreeSlots {
    free: Vec<u32>,
    made: u32,
}

impl Slots {
    pub(crate) fn new() -> Slots {
        Slots { chunks: [const { OnceLock::new() }; CHUNKS], free: Mutex::default() }
    }

    fn locate(slot: usize) -> (usize, usize) {
        if slot < FIRST_SLOTS {
            return (0, slot);
        }
        let chunk = (slot / FIRST_SLOTS).ilog2() as usize + 1;
        (chunk, slot - (FIRST_SLOTS << (chunk - 1)))
    }

    /// A slot that was handed out before.
    pub(crate) fn get(&self, slot: u32) -> &Slot {
        let (chunk, index) = Slots::locate(slot as usize);
        &self.chunks[chunk].get().expect("slots are used only after they were made")[index]
    }

    /// A slot for a new transaction; it has no owner yet.
    pub(crate) fn acquire(&self) -> Result<u32, StoreError> {
        let mut free = self.free.lock();
        if let Some(slot) = free.free.pop() {
            return Ok(slot);
        }
        if free.made as usize >= SLOTS_MAX {
            return Err(StoreError::Limit("transactions that run at once"));
        }
        let slot = free.made;
        let (chunk, _) = Slots::locate(slot as usize);
        self.chunks[chunk].get_or_init(|| {
            let count = if chunk == 0 { FIRST_SLOTS } else { FIRST_SLOTS << (chunk - 1) };
            let zero = || AtomicU64::new(0);
            let empty =
                || Slot { owner: zero(), last_undo: zero(), removals: zero(), locks: Mutex::default() };
            std::iter::repeat_with(empty).take(count).collect()
        });
        free.made += 1;
        Ok(slot)
    }

    /// Gives the slot to a transaction; `connection` is what its user calls itself.
    pub(crate) fn own(&self, slot: u32, owner: TxnId, connection: u64) {
        let slot = self.get(slot);
        slot.last_undo.store(0, Ordering::SeqCst);
        slot.locks.lock().begin(owner, connection);
        slot.owner.store(owner.0, Ordering::SeqCst);
    }

    /// The running transactions and their slots.
    pub(crate) fn owned(&self) -> Vec<(u32, TxnId)> {
        let made = self.free.lock().made;
        let owner = |slot: u32| (slot, TxnId(self.get(slot).owner.load(Ordering::SeqCst)));
        (0..made).map(owner).filter(|(_, owner)| *owner != TxnId(0)).collect()
    }

    /// Whether this transaction still runs in the slot.
    pub(crate) fn is_owned_by(&self, slot: u32, txn: TxnId) -> bool {
        self.get(slot).owner.load(Ordering::SeqCst) == txn.0
    }

    /// Says that the transaction has ended.
    pub(crate) fn disown(&self, slot: u32) {
        self.get(slot).owner.store(0, Ordering::SeqCst);
    }

    /// Gives the slot back. Its locks are released.
    pub(crate) fn release(&self, slot: u32) {
        self.free.lock().free.push(slot);
    }

    /// The running transactions that changed or locked something, and their newest undo entries. With the checkpoint
    /// latch held exclusively.
    pub(crate) fn running(&self) -> Vec<(TxnId, u64)> {
        let made = self.free.lock().made;
        let entries = (0..made).map(|slot| self.get(slot));
        let words = entries
            .map(|slot| (TxnId(slot.owner.load(Ordering::SeqCst)), slot.last_undo.load(Ordering::SeqCst)));
        words.filter(|&(owner, last)| owner != TxnId(0) && last != 0).collect()
    }
}
