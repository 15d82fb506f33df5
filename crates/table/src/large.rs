//! Values too large for a row, as chunks in the table's second tree.
//!
//! A *stream* is a run of chunks: key = stream (8 bytes) and chunk number (4 bytes), both big-endian; value = up to
//! [`CHUNK_BYTES`] bytes. All values of a row that do not fit share one stream, unless one is large enough to deserve
//! its own ([`OWN_STREAM_BYTES`]), so that an update of another column need not copy it. A stream is written once by the
//! transaction that writes the row and deleted by the one that replaces it: versions, locks and recovery are those of
//! any record.

use std::sync::Arc;

use access::{Error, KeyBytesRange, LARGE_VALUES_READ, LongValue, Predicate, PredicateResult};
use metrics::Counter;
use store::{Reader, StoreError, Transaction, Tree, TreePlace};

use crate::WAIT_INTERNAL;
use crate::codec::row::LargeReference;
use crate::error::{WriteError, from_store};
use crate::index::scan_range;
use crate::table::Table;

/// Bytes of a chunk's value.
pub(crate) const CHUNK_BYTES: usize = store::RECORD_BYTES_MAX - KEY_BYTES;
/// Bytes of a chunk's key.
const KEY_BYTES: usize = 12;
/// From this length on a value has a stream of its own.
pub const OWN_STREAM_BYTES: usize = access::REFERENCED_BYTES_MIN;

/// Chunks of a long value that are in memory on their way into the table.
const PIECE_CHUNKS: usize = 64;
/// Bytes of a value that may be in memory at once, whoever asks for it: as much as MySQL's largest `max_allowed_packet`. Longer
/// values are written and read in pieces only.
pub const WHOLE_BYTES_MAX: u64 = 1 << 30;
/// Bytes of a value that its predicate gets first, when those in the row were not enough.
const JUDGED_BYTES_FIRST: u64 = 1024;

/// From this length on a value gets just the room that it needs.
const ROOM_EXACT_BYTES: usize = 16 << 20;

/// Their bytes that were read.
pub static LARGE_VALUE_BYTES_READ: Counter = Counter::new();
/// Bytes of large values that were written from somewhere else a piece at a time, see [`LongValue`].
pub static LARGE_VALUE_BYTES_STREAMED: Counter = Counter::new();

/// Under which rules a row and its large values are read.
#[derive(Clone, Copy)]
pub(crate) enum ReadFrom<'a> {
    /// A snapshot.
    View(Reader<'a>),
    /// The newest committed version, or the transaction's own: for rows it has locked.
    Current(&'a Transaction),
}

/// What [`WHOLE_BYTES_MAX`] forbids.
const TOO_LONG_IN_WHOLE: StoreError = StoreError::Limit(
    "a value of more than 1 GB can be read in pieces only, not in an expression or a locking read",
);

fn chunk_key(stream: u64, chunk: u32) -> [u8; KEY_BYTES] {
    let mut key = [0; KEY_BYTES];
    key[..8].copy_from_slice(&stream.to_be_bytes());
    key[8..].copy_from_slice(&chunk.to_be_bytes());
    key
}

/// Where a value comes from that goes into the table a piece at a time.
#[derive(Clone, Debug)]
pub(crate) enum Long {
    /// From somewhere else.
    Elsewhere(Arc<dyn LongValue>),
    /// From among the large values of a table.
    Place(Arc<Table>, LargeReference),
}

impl Long {
    pub(crate) fn byte_count(&self) -> u64 {
        match self {
            Long::Elsewhere(value) => value.byte_count(),
            Long::Place(_, reference) => reference.length,
        }
    }

    /// Makes `piece` the `count` bytes from `offset` on; a place is read as `reader` sees it.
    fn read_at(
        &self,
        offset: u64,
        count: usize,
        reader: Option<Reader<'_>>,
        piece: &mut Vec<u8>,
    ) -> Result<(), WriteError> {
        match self {
            Long::Elsewhere(value) => {
                piece.resize(count, 0);
                value.read_at(offset, piece).map_err(|error| Error::LongValue(Arc::new(error)).into())
            }
            Long::Place(table, reference) => {
                let Some(reader) = reader else {
                    return Err(
                        StoreError::Limit("a value of another table is copied without a snapshot").into()
                    );
                };
                piece.clear();
                Ok(table.fetch_large_piece(reader, *reference, offset, count as u64, piece)?)
            }
        }
    }
}

impl Table {
    /// Writes `bytes` as a new stream.
    pub(crate) fn write_stream(
        &self,
        transaction: &mut Transaction,
        bytes: &[u8],
    ) -> Result<u64, WriteError> {
        let stream = self.next_stream()?;
        self.write_chunks(transaction, stream, 0, bytes)?;
        Ok(stream)
    }

    /// Writes a value as a new stream, of which [`PIECE_CHUNKS`] chunks are in memory at a time.
    pub(crate) fn write_long_stream(
        &self,
        transaction: &mut Transaction,
        value: &Long,
        reader: Option<Reader<'_>>,
    ) -> Result<u64, WriteError> {
        let stream = self.next_stream()?;
        let byte_count = value.byte_count();
        let mut piece = Vec::with_capacity(PIECE_CHUNKS * CHUNK_BYTES);
        let mut offset = 0;
        while offset < byte_count {
            let count = (byte_count - offset).min((PIECE_CHUNKS * CHUNK_BYTES) as u64) as usize;
            value.read_at(offset, count, reader, &mut piece)?;
            let first = (offset / CHUNK_BYTES as u64) as u32;
            self.write_chunks(transaction, stream, first, &piece)?;
            offset += count as u64;
        }
        LARGE_VALUE_BYTES_STREAMED.add(byte_count);
        Ok(stream)
    }

    /// Writes `bytes` as the chunks of a stream from number `first` on.
    fn write_chunks(
        &self,
        transaction: &mut Transaction,
        stream: u64,
        first: u32,
        bytes: &[u8],
    ) -> Result<(), WriteError> {
        let Some(tree) = &self.large else {
            return Err(
                StoreError::Limit("a row is too large for a table without a tree of large values").into()
            );
        };
        for (number, chunk) in bytes.chunks(CHUNK_BYTES).enumerate() {
            transaction
                .put(tree, &chunk_key(stream, first + number as u32), chunk, WAIT_INTERNAL)
                .map_err(from_store)?;
        }
        Ok(())
    }

    /// Deletes a stream of `byte_count` bytes.
    pub(crate) fn delete_stream(
        &self,
        transaction: &mut Transaction,
        stream: u64,
        byte_count: u64,
    ) -> Result<(), WriteError> {
        let Some(tree) = &self.large else { return Ok(()) };
        for number in 0..byte_count.div_ceil(CHUNK_BYTES as u64) {
            transaction.delete(tree, &chunk_key(stream, number as u32), WAIT_INTERNAL).map_err(from_store)?;
        }
        Ok(())
    }

    /// Appends the value that `reference` names, as `reader`, which has seen its row, sees it.
    ///
    /// # Errors
    /// The store's; `Corrupt` if a part is missing.
    pub fn fetch_large(
        &self,
        reader: Reader<'_>,
        reference: LargeReference,
        out: &mut Vec<u8>,
    ) -> Result<(), StoreError> {
        self.fetch(ReadFrom::View(reader), reference, out)
    }

    /// Appends a piece of the value that `reference` names: `bytes` from `offset` on, or what is left of it. The first piece
    /// counts as the reading of the value.
    ///
    /// # Errors
    /// As [`Table::fetch_large`].
    pub(crate) fn fetch_large_piece(
        &self,
        reader: Reader<'_>,
        reference: LargeReference,
        offset: u64,
        bytes: u64,
        out: &mut Vec<u8>,
    ) -> Result<(), StoreError> {
        let offset = offset.min(reference.length);
        let piece = LargeReference {
            stream: reference.stream,
            offset: reference.offset + offset,
            length: bytes.min(reference.length - offset),
        };
        if offset == 0 {
            LARGE_VALUES_READ.increment();
        }
        self.fetch_piece(ReadFrom::View(self.reader(reader)), piece, out)
    }

    pub(crate) fn fetch(
        &self,
        from: ReadFrom<'_>,
        reference: LargeReference,
        out: &mut Vec<u8>,
    ) -> Result<(), StoreError> {
        LARGE_VALUES_READ.increment();
        if reference.length > WHOLE_BYTES_MAX {
            return Err(TOO_LONG_IN_WHOLE);
        }
        self.fetch_piece(from, reference, out)
    }

    /// What `predicate` says of a value, of which it has seen the beginning in the row. It gets more and more of it.
    pub(crate) fn evaluate_large(
        &self,
        predicate: &dyn Predicate,
        from: ReadFrom<'_>,
        reference: LargeReference,
    ) -> Result<PredicateResult, StoreError> {
        LARGE_VALUES_READ.increment();
        let mut start = Vec::new();
        let mut wanted = JUDGED_BYTES_FIRST;
        loop {
            let offset = start.len() as u64;
            let length = wanted.min(reference.length - offset);
            if offset + length > WHOLE_BYTES_MAX {
                return Err(TOO_LONG_IN_WHOLE);
            }
            let piece = LargeReference { offset: reference.offset + offset, length, ..reference };
            self.fetch_piece(from, piece, &mut start)?;
            let result = predicate.evaluate(&start, reference.length);
            if result != PredicateResult::More || start.len() as u64 >= reference.length {
                debug_assert!(result != PredicateResult::More, "a whole value is decided");
                return Ok(result);
            }
            // Twice as much each time: what is looked at again is no more than what is new.
            wanted = start.len() as u64;
        }
    }

    fn fetch_piece(
        &self,
        from: ReadFrom<'_>,
        reference: LargeReference,
        out: &mut Vec<u8>,
    ) -> Result<(), StoreError> {
        let start = out.len();
        let wanted = reference.length as usize;
        LARGE_VALUE_BYTES_READ.add(reference.length);
        let Some(tree) = &self.large else { return Err(self.missing(None)) };
        let mut chunk = (reference.offset / CHUNK_BYTES as u64) as u32;
        let mut skip = (reference.offset % CHUNK_BYTES as u64) as usize;
        // A vector that grows by itself may take twice what it holds.
        if wanted >= ROOM_EXACT_BYTES {
            out.reserve_exact(wanted);
        } else {
            out.reserve(wanted);
        }
        let mut append = |out: &mut Vec<u8>, bytes: &[u8]| {
            let bytes = bytes.get(skip..).unwrap_or(&[]);
            let left = wanted - (out.len() - start);
            out.extend_from_slice(&bytes[..bytes.len().min(left)]);
            skip = 0;
        };
        match from {
            ReadFrom::View(reader) if wanted > 2 * CHUNK_BYTES => {
                let range = KeyBytesRange {
                    lower: chunk_key(reference.stream, chunk).to_vec(),
                    upper: Some((reference.stream + 1).to_be_bytes().to_vec()),
                };
                let mut scan = self.store.scan(tree, &scan_range(&range, false));
                while out.len() - start < wanted
                    && scan.next_batch(reader, |_, bytes| {
                        append(out, bytes);
                        if out.len() - start < wanted {
                            std::ops::ControlFlow::Continue(())
                        } else {
                            std::ops::ControlFlow::Break(())
                        }
                    })?
                {}
            }
            _ => {
                while out.len() - start < wanted {
                    let key = chunk_key(reference.stream, chunk);
                    let found = match from {
                        ReadFrom::View(reader) => {
                            self.store.get(tree, &key, reader, |bytes| append(out, bytes))?
                        }
                        ReadFrom::Current(transaction) => {
                            transaction.get_current(tree, &key, |bytes| append(out, bytes))?
                        }
                    };
                    if found.is_none() {
                        break;
                    }
                    chunk += 1;
                }
            }
        }
        if out.len() - start < wanted { Err(self.missing(Some(tree))) } else { Ok(()) }
    }

    #[cold]
    fn missing(&self, tree: Option<&Tree>) -> StoreError {
        let names = [Arc::clone(&self.definition.schema), Arc::clone(&self.definition.name)];
        let place = tree.map(|tree| Arc::new(TreePlace { tree: tree.id(), names: names.clone().into() }));
        StoreError::Corrupt {
            what: format!("table {}.{}", names[0], names[1]).into(),
            why: "a part of a large value is missing".into(),
            place,
        }
    }
}
