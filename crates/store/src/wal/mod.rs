//! The log: the order in which transactions happened, and the first place where they are safe.
//!
//! A transaction gathers its changes in a private buffer and appends them here once, at commit, as one checksummed
//! record. The position just behind that record is the transaction's commit number: what a snapshot compares, what a
//! client's reply waits for, what a checkpoint names. One log, one sync; no page is ever logged.
//!
//! ```text
//!   append (memory, one short mutex)            flush (one at a time, whoever needs it)
//!   |commit|commit|part|commit|                 write a batch of whole 4 KiB blocks -> fdatasync -> tell the listeners
//!        \ position = commit number
//! ```
//!
//! While one flush is under way the next batch gathers; when it is done the next starts at once with whatever came
//! meanwhile. No timers: the device sets the pace ("Group Commit Self-Clocks", arXiv 2606.18187). A flush begins on a
//! fresh block, so a block that was promised to anybody is never written again and no later tear can reach it.
//!
//! Invariants:
//! 1. Positions only grow. A record that is acknowledged, and all before it, survive any crash.
//! 2. Replay gives a prefix of the appended commits, each whole, in order of position, and at least the acknowledged
//!    ones.
//! 3. `publish` runs under the append mutex: commit numbers become visible in the order of the log.
//! 4. After a failed write or sync nothing is appended or acknowledged again until the store is reopened: what the
//!    device holds is unknown, and a repeated sync would prove nothing.
//! 5. No record of an earlier life of a segment file, and none from behind a torn tail, is ever taken for one of this
//!    log.
//!
//! # Layout
//!
//! The log is a row of segment files, `log.00000001` and so on, each of [`LogOptions::segment_bytes`], zero-filled
//! before its first use and used again after a checkpoint (spares wait as `log.spare.N`). A file appears under its
//! number only when its header is durable. All numbers are little-endian.
//!
//! Segment header (the first block of 4,096 bytes; unused bytes are 0):
//!
//! | offset | bytes | field |
//! | --- | --- | --- |
//! | 0 | 8 | magic `INVARLOG` |
//! | 8 | 4 | format version, [`LOG_FORMAT_VERSION`] |
//! | 12 | 4 | crc32c of bytes 16..64 |
//! | 16 | 8 | number: 1, 2, 3 ... without gaps |
//! | 24 | 8 | start: position of the first byte behind this header; a multiple of 4,096 |
//! | 32 | 8 | end: the position where the segment is full |
//! | 40 | 8 | previous end: where the last record before this segment ends; it was durable before this header was written |
//! | 48 | 8 | salt: random for each use of a file; part of every record checksum |
//! | 56 | 8 | 0 |
//!
//! Record (at any position inside a segment; the gap to the record before is zeros up to a block boundary, or nothing):
//!
//! | offset | bytes | field |
//! | --- | --- | --- |
//! | 0 | 4 | crc32c of the salt and bytes 4..48 |
//! | 4 | 4 | crc32c of the payload |
//! | 8 | 4 | payload bytes |
//! | 12 | 1 | kind: 1 commit, 2 part |
//! | 13 | 3 | kept: this many bytes of the previous part count; 0: all |
//! | 16 | 8 | start: this record's own position |
//! | 24 | 8 | previous end: where the record before ends (the chain that invariant 2 rests on) |
//! | 32 | 8 | previous part: start of the part of the same transaction before this record; 0 if there is none |
//! | 40 | 8 | durable: everything that ends at or before this position was durable when this record was appended |
//! | 48 | n | payload, opaque |
//!
//! A transaction whose payload is long consists of parts and a commit record, linked backwards by `previous part`.
//! Parts without their commit record count for nothing. What a transaction rolls back again after it was appended stays
//! in the file and is left out by the link that follows: whole parts, or the end of one (`kept`). Format 1 had no
//! `kept`: 0 there.
//!
//! A reader that meets an invalid record looks further: if a valid record of this log, or the next segment's header,
//! says that the position was durable, durable bytes are damaged ([`LogError::Corrupt`]); if nobody says so, the log
//! ends here.
//!
//! Read next: `record` (one record), `segment` (files), `log` (append and flush), `replay` (reading back).

mod log;
mod record;
mod replay;
mod segment;
mod tail;
#[cfg(test)]
mod tests;

pub use log::{Log, LogCounters, LogListener};
pub use replay::{Commit, CommitRecord, Replay};
pub use tail::Parts;

use std::io;
use std::sync::Arc;

/// A position in the log, in bytes from the start of all time. A commit's position is the end of its commit record.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Lsn(pub u64);

impl Lsn {
    /// Where a new log begins: the position of every snapshot before the first commit. Positions below mean "none".
    pub const FIRST: Lsn = Lsn(BLOCK_BYTES as u64);
}

/// The unit of writing. Devices write 512 or 4,096 bytes at once; both divide it.
pub const BLOCK_BYTES: usize = 4096;

/// Written into each segment; a higher number found is refused and nothing touched.
pub(crate) const LOG_FORMAT_VERSION: u32 = 2;

/// A record's payload is at most so long; what is longer becomes parts. Bounds the copy made under the append mutex.
pub const PART_BYTES_MAX: usize = 256 * 1024;

/// Segments are at least so long, so that a record of a quarter of it always fits one.
pub const SEGMENT_BYTES_MIN: u64 = 16 * 1024;

/// Segments are at most so long.
pub(crate) const SEGMENT_BYTES_MAX: u64 = 1 << 30;

/// Retired segments kept for use again; more are removed.
pub(crate) const SPARE_SEGMENTS_MAX: usize = 16;

/// When a commit counts as acknowledged: `innodb_flush_log_at_trx_commit`.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum FlushPolicy {
    /// 0: at once. The flusher thread writes and syncs about once a second; a crash of the server may lose that second.
    Lazy,
    /// 1: when it is durable.
    #[default]
    AtCommit,
    /// 2: when it is written. Survives a crash of the server, not one of the machine; synced about once a second.
    WriteAtCommit,
}

/// How to keep a log.
#[derive(Clone, Debug)]
pub struct LogOptions {
    /// Length of a segment file; rounded to whole blocks and held between [`SEGMENT_BYTES_MIN`] and [`SEGMENT_BYTES_MAX`].
    pub segment_bytes: u64,
    /// When this much waits in memory, an appender writes it out before it appends more.
    pub buffer_bytes_max: usize,
    /// When a commit is acknowledged; can be changed later by [`Log::set_policy`].
    pub flush_policy: FlushPolicy,
    /// The parts of a transaction that has not committed are kept until the log has grown by so much since the first of
    /// them, by it and by others; then it can only be rolled back ([`LogError::TransactionTooLong`]).
    pub transaction_span_bytes_max: u64,
}

/// [`LogOptions::transaction_span_bytes_max`], if not set otherwise: what one transaction can make the log keep.
pub(crate) const TRANSACTION_SPAN_BYTES_MAX: u64 = 32 << 30;

impl Default for LogOptions {
    fn default() -> LogOptions {
        LogOptions {
            // Filling one with zeros is most of what opening after a crash takes: 16 MiB, some 50 ms.
            segment_bytes: 16 << 20,
            buffer_bytes_max: 16 << 20,
            flush_policy: FlushPolicy::AtCommit,
            transaction_span_bytes_max: TRANSACTION_SPAN_BYTES_MAX,
        }
    }
}

/// Why the log could not do it.
#[derive(Clone, Debug, thiserror::Error)]
pub enum LogError {
    /// A file operation failed before the log was open. Nothing was lost; fix the cause and open again.
    #[error("{doing}: {source}")]
    Io {
        /// What was being done, with the file's name.
        doing: String,
        /// What the system said.
        #[source]
        source: Arc<io::Error>,
    },
    /// The disk has no space for one more segment. Nothing was appended; it can be tried again.
    #[error("no space left on the disk for the log")]
    Full,
    /// A write or sync failed while the log was in use. It stays so until the store is reopened, which finds out what is
    /// really on the disk.
    #[error("the log has stopped: {why}")]
    Stopped {
        /// What failed, and why.
        why: Arc<str>,
    },
    /// The log has grown by more than [`LogOptions::transaction_span_bytes_max`] since the transaction's first part. It has
    /// to be rolled back; the log goes on.
    #[error(
        "the log keeps the changes of one transaction for {span_bytes_max} bytes, and it goes back further"
    )]
    TransactionTooLong {
        /// The limit.
        span_bytes_max: u64,
    },
    /// Bytes that had been durable are not what was written: the medium or somebody else damaged them.
    #[error("the log is damaged at position {position}: {what}")]
    Corrupt {
        /// Where.
        position: u64,
        /// What is wrong there.
        what: &'static str,
    },
    /// The files were written by a newer version of this program.
    #[error("the log has format {found}, this version knows up to {known}")]
    NewerFormat {
        /// What the file says.
        found: u32,
        /// [`LOG_FORMAT_VERSION`].
        known: u32,
    },
    /// Replay should start at a position that no file contains: files are missing.
    #[error("the log has no position {position}: files are missing")]
    Missing {
        /// The position wanted.
        position: u64,
    },
    /// A new log was asked for in a folder that has one.
    #[error("the folder already has a log")]
    AlreadyExists,
}

#[cold]
fn io_failed(doing: String, source: io::Error) -> LogError {
    LogError::Io { doing, source: Arc::new(source) }
}

/// The next block boundary at or behind a position.
fn align_up(position: u64) -> u64 {
    position.next_multiple_of(BLOCK_BYTES as u64)
}
