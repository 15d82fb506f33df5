//! What goes on behind the transactions: purge, checkpoints, recovery, and the thread that does the first two.

pub(crate) mod ages;
pub(crate) mod check;
pub(crate) mod checkpoint;
mod forget;
pub(crate) mod pressure;
pub(crate) mod purge;
pub(crate) mod recover;
pub(crate) mod room;
pub(crate) mod superblock;
mod undo_image;
mod undo_list;
pub(crate) mod worker;
