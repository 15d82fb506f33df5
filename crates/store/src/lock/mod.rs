//! The lock table: shared locks, key ranges and waiters.
//!
//! An exclusive row lock that no other transaction asks for has no entry here: the running transaction's id in the row
//! is the lock. Only shared locks and waits make entries. The first transaction that has to wait for a row enters the
//! row's writer as the holder, then queues behind it. A tree counts its entries, so a write consults the lock table
//! only if the tree has any.
//!
//! Entries are granted first come, first served. The holder of a shared lock that requests the exclusive one goes to
//! the front of the queue. A transaction that is about to wait enters its edges into the wait-for graph and searches it
//! for cycles through itself. The transaction with the fewest changes in a cycle is the victim; among equals, the one
//! that came last.
//!
//! Locks on key ranges ([`range`]) keep other transactions from inserting records where a scan must not see phantoms. A
//! key range is given by keys, not by neighbouring records, and conflicts with writers only, which wait for it. A
//! shared lock on a record queues behind the writers that wait to change the record.
//!
//! One transaction must not use up the memory for locks: its many shared locks in a tree are merged to one key range,
//! and beyond a limit it is refused further locks (`LockTable::check_lock_memory`).
//!
//! Invariants:
//! 1. Mutexes are taken in this order: page latch, shard of entries, shard of key ranges, the slot's locks or the
//!    graph. No thread sleeps while it holds one.
//! 2. An entry exists while it has a holder or a waiter; `TreeState::locks` of its tree counts it.
//! 3. A key is noted in the slot of its holder or waiter before it is held or waited for, so the end of the transaction
//!    finds it.

mod graph;
mod held;
mod range;
mod table;
mod waiting;

pub(crate) use held::HeldLocks;
pub(crate) use range::ScanFairness;
pub(crate) use table::{Acquired, LockTable, RangeLockOutcome, Request};
pub(crate) use waiting::Waiting;
pub use waiting::{Deadlock, DeadlockMember, Interrupt, LockMode, LockWait, LockWaiter};
