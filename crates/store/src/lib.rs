//! Transactional ordered bytes: pages, trees, versions, locks, log, checkpoint, recovery.

pub mod wal;
