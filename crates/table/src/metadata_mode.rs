//! The modes of metadata locks, and which of them may be held at the same time.

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
    pub(crate) fn is_compatible_with(self, other: MetadataMode) -> bool {
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
