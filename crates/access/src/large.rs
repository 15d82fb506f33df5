//! Large values: where they are, and how they are read and written in pieces.

use std::fmt::Debug;
use std::io;

use metrics::Counter;

/// Bytes of a [`LargeReference`].
pub const REFERENCE_BYTES: usize = 24;
/// First bytes of a large value that stand beside its reference, and in the cell of one that is written in pieces.
pub const PREFIX_BYTES: usize = 32;
/// From this length on a value may be copied from table to table by its reference.
pub const REFERENCED_BYTES_MIN: usize = 64 << 10;

/// Large values read in this process, in whole or in part, whoever asked for them.
pub static LARGE_VALUES_READ: Counter = Counter::new();

/// Where a large value's bytes are. Only the table that gave it knows what the stream and the offset mean.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct LargeReference {
    /// The stream.
    pub stream: u64,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub length: u64,
}

impl LargeReference {
    /// Appends its 24 bytes.
    pub fn write(self, out: &mut Vec<u8>) {
        for word in [self.stream, self.offset, self.length] {
            out.extend_from_slice(&word.to_le_bytes());
        }
    }

    /// Reads its 24 bytes.
    #[must_use]
    #[inline]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let word = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        Some(Self { stream: word(0)?, offset: word(8)?, length: word(16)? })
    }
}

/// A value that lies somewhere else and goes into a table a piece at a time.
pub trait LongValue: Debug + Send + Sync {
    /// Its bytes.
    fn byte_count(&self) -> u64;

    /// Fills `buffer` with the bytes from `offset` on.
    ///
    /// # Errors
    /// What the system says.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()>;
}
