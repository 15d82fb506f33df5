//! Metadata locks, which keep a table's definition as it is while a transaction uses it: their modes, which of them may be held at
//! the same time, and how long a statement waits for one.

use std::time::Duration;

/// What a holder does with the table.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum MetadataMode {
    /// Reads rows.
    Read,
    /// Writes rows, or locks them for that.
    Write,
    /// Reads rows and lets nobody write: LOCK TABLES ... READ.
    ReadOnly,
    /// Prepares a change of the definition, beside readers and writers.
    Upgradable,
    /// Changes the definition, or LOCK TABLES ... WRITE.
    Exclusive,
}

impl MetadataMode {
    /// Whether the lock may be held in this mode while another session holds it in `other`.
    #[must_use]
    pub fn is_compatible_with(self, other: MetadataMode) -> bool {
        use MetadataMode::{Exclusive, ReadOnly, Upgradable, Write};
        !matches!(
            (self, other),
            (Exclusive, _)
                | (_, Exclusive)
                | (Upgradable, Upgradable)
                | (Write, ReadOnly)
                | (ReadOnly, Write)
        )
    }
}

/// How to wait for a metadata lock: how long, and what ends the wait before.
#[derive(Clone, Copy)]
pub struct MetadataWait<'a> {
    /// The longest wait.
    pub time: Duration,
    /// Whether to give up now: KILL.
    pub killed: &'a dyn Fn() -> bool,
    /// The statement that waits is requeued if it must not wait.
    pub may_requeue: bool,
}

impl std::fmt::Debug for MetadataWait<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("MetadataWait").field("time", &self.time).finish_non_exhaustive()
    }
}

impl MetadataWait<'static> {
    /// Waits up to this time, and nothing else ends the wait.
    #[must_use]
    pub fn up_to(time: Duration) -> Self {
        Self { time, killed: &|| false, may_requeue: false }
    }
}
