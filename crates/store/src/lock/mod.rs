//! Who waits for whom.
//!
//! An exclusive row lock nobody else asks for is no entry here: it is the running transaction's stamp in the row. Only
//! shared locks and waiting make entries. The first who has to wait for a stamp enters its owner as the holder, then queues
//! behind it. A tree counts its entries, so that a write looks here only if there are any.
//!
//! Order: entries are granted first come, first served. A holder of a shared lock who wants the exclusive one goes to the
//! front. Whoever is about to wait enters its edges into the wait-for graph and looks for circles through itself; of those in
//! a circle the one that changed the least gives up, the last one to come if none changed less.
//!
//! Intervals of keys (`range`) keep others from adding records where a scan must not see phantoms. They are by key and not by
//! neighbouring record, and exclude nobody but writers, who wait for them. Who reads a record shared waits behind the writers that
//! wait to change it.
//!
//! One transaction must not use up the memory that locks may take: its many shared ones in a tree become one interval, and
//! beyond a limit it is refused more (`LockTable::check_room`).
//!
//! Invariants:
//! 1. Mutexes are taken in this order: page latch, shard of entries, shard of intervals, slot's locks or graph. Nobody
//!    sleeps holding one.
//! 2. An entry exists while it has a holder or a waiter; `TreeState::locks` of its tree counts it.
//! 3. A key is noted in its holder's or waiter's slot before it holds or waits, so the end of the transaction finds it.

mod graph;
mod held;
mod list;
mod range;
mod table;
mod waiting;

pub(crate) use held::HeldLocks;
pub use list::{HeldLock, LockTarget, RunningTransaction};
pub(crate) use range::Turn;
pub(crate) use table::{Acquired, LockTable, Ranged, Request};
pub(crate) use waiting::Waiting;
pub use waiting::{Deadlock, DeadlockMember, Interrupt, LockMode, LockWait, LockWaiter};
