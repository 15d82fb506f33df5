//! Tables of the local store as sessions reach them: [`crate::backend`]'s traits.

mod definitions;
mod locks;
mod transaction;

pub(crate) use locks::LocalTableLocks;
pub(crate) use transaction::LocalSessionTransaction;
