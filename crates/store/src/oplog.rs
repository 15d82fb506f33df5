//! What a commit record says: the transaction's changes, one behind the other, in the words of trees and bytes.
//!
//! ```text
//! put:    1 | tree | key length | key | value length | value
//! diff:   2 | tree | key length | key | prefix | suffix | middle length | middle
//! delete: 3 | tree | key length | key
//! create: 4 | tree
//! drop:   5 | tree
//! ```
//! Numbers are LEB128. `diff` keeps `prefix` bytes from the start and `suffix` bytes from the end of the value it finds.

use crate::btree::node::RECORD_BYTES_MAX;
use crate::error::StoreError;
use crate::ids::TreeId;
use crate::wal::{Log, LogError, Lsn, PART_BYTES_MAX, Parts};

/// The most a change takes beside its key and value: code, tree, and lengths.
const OP_HEADER_BYTES_MAX: usize = 64;

/// Space for the first few changes is reserved at once.
const OPEN_BYTES_MIN: usize = 512;

/// The longest change: a decoder needs no more to go on.
pub(crate) const OP_BYTES_MAX: usize = OP_HEADER_BYTES_MAX + RECORD_BYTES_MAX;

/// A transaction's changes on their way to the log. They are kept in chunks as long as the log's parts, so that a large
/// transaction is never copied to make space for more of it. Beyond a bound its chunks are appended as parts that count
/// for nothing until the commit. The end of the changes can be cut off again, at any place: parts that were appended
/// are then left out of the chain that leads from the commit record back to the first part.
#[derive(Debug, Default)]
pub(crate) struct OpLog {
    parts: Parts,
    full: Vec<Vec<u8>>,
    full_bytes: usize,
    open: Vec<u8>,
}

/// A place in an [`OpLog`]: bytes before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark(u64);

impl OpLog {
    pub(crate) fn push(&mut self, op: &Op<'_>) {
        let bytes_max = op.bytes_max();
        if self.open.len() + bytes_max > PART_BYTES_MAX && !self.open.is_empty() {
            self.close_chunk();
        }
        if self.open.capacity() - self.open.len() < bytes_max {
            self.open.reserve(bytes_max.max(OPEN_BYTES_MIN));
        }
        op.write(&mut self.open);
    }

    fn close_chunk(&mut self) {
        self.full_bytes += self.open.len();
        self.full.push(std::mem::replace(&mut self.open, Vec::with_capacity(PART_BYTES_MAX)));
    }

    pub(crate) fn len(&self) -> u64 {
        self.parts.bytes() + self.bytes_in_memory() as u64
    }

    #[inline]
    pub(crate) fn bytes_in_memory(&self) -> usize {
        self.full_bytes + self.open.len()
    }

    /// Bytes of memory that all of it takes.
    pub(crate) fn memory_bytes(&self) -> usize {
        let full: usize = self.full.iter().map(Vec::capacity).sum();
        full + self.open.capacity() + self.parts.memory_bytes()
    }

    /// Whether it is more than one record of the log takes.
    #[inline]
    pub(crate) fn is_long(&self) -> bool {
        !self.full.is_empty()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark(self.len())
    }

    /// Forgets all behind the mark. The log is there if anything went out to it.
    pub(crate) fn truncate_to(&mut self, mark: Mark, log: Option<&Log>) {
        let parted_bytes = self.parts.bytes();
        if mark.0 < parted_bytes
            && let Some(log) = log
        {
            log.cut(&mut self.parts, mark.0);
        }
        let len = usize::try_from(mark.0.saturating_sub(parted_bytes)).unwrap_or(usize::MAX);
        while len < self.full_bytes
            && let Some(last) = self.full.pop()
        {
            self.full_bytes -= last.len();
            self.open = last;
        }
        self.open.truncate(len - self.full_bytes);
    }

    /// Moves what is in memory to the log, as parts. Outside a critical section, without a latch. If it fails, all of
    /// it stays in memory.
    #[cold]
    pub(crate) fn part(&mut self, log: &Log) -> Result<(), LogError> {
        let parted_bytes = self.parts.bytes();
        for chunk in self.full.iter().chain([&self.open]) {
            if let Err(error) = log.append_part(chunk, &mut self.parts) {
                log.cut(&mut self.parts, parted_bytes);
                return Err(error);
            }
        }
        self.full.clear();
        self.full_bytes = 0;
        self.open.clear();
        Ok(())
    }

    /// Appends the transaction's commit record if that takes no waiting; `None`: [`OpLog::prepare`] first.
    #[inline]
    pub(crate) fn try_commit(
        &mut self,
        log: &Log,
        publish: &mut dyn FnMut(Lsn),
    ) -> Result<Option<Lsn>, LogError> {
        debug_assert!(!self.is_long(), "the caller has moved it out");
        if self.open.len() > log.part_bytes_max() {
            return Ok(None);
        }
        log.try_append(&self.open, &mut self.parts, publish)
    }

    /// Waits until the commit record has a place in memory and on the disk. Outside a critical section, without a
    /// latch.
    #[cold]
    pub(crate) fn prepare(&mut self, log: &Log) -> Result<(), LogError> {
        if self.open.len() > log.part_bytes_max() {
            self.part(log)?;
        }
        log.prepare(self.open.len())
    }

    /// The transaction is rolled back: what was appended counts for nothing.
    pub(crate) fn abandon(&mut self, log: &Log) {
        log.abandon(std::mem::take(&mut self.parts));
    }

    pub(crate) fn has_parts(&self) -> bool {
        !self.parts.is_empty()
    }
}

/// One change.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Op<'b> {
    Put { tree: TreeId, key: &'b [u8], value: &'b [u8] },
    Diff { tree: TreeId, key: &'b [u8], prefix: usize, suffix: usize, middle: &'b [u8] },
    Delete { tree: TreeId, key: &'b [u8] },
    Create { tree: TreeId },
    Drop { tree: TreeId },
}

fn put_number(log: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        log.push(number as u8 | 0x80);
        number >>= 7;
    }
    log.push(number as u8);
}

fn put_bytes(log: &mut Vec<u8>, bytes: &[u8]) {
    put_number(log, bytes.len() as u64);
    log.extend_from_slice(bytes);
}

impl Op<'_> {
    fn bytes_max(&self) -> usize {
        OP_HEADER_BYTES_MAX
            + match *self {
                Op::Put { key, value, .. } => key.len() + value.len(),
                Op::Diff { key, middle, .. } => key.len() + middle.len(),
                Op::Delete { key, .. } => key.len(),
                Op::Create { .. } | Op::Drop { .. } => 0,
            }
    }

    pub(crate) fn write(&self, log: &mut Vec<u8>) {
        let (code, tree) = match *self {
            Op::Put { tree, .. } => (1, tree),
            Op::Diff { tree, .. } => (2, tree),
            Op::Delete { tree, .. } => (3, tree),
            Op::Create { tree } => (4, tree),
            Op::Drop { tree } => (5, tree),
        };
        log.push(code);
        put_number(log, tree.0);
        match *self {
            Op::Put { key, value, .. } => {
                put_bytes(log, key);
                put_bytes(log, value);
            }
            Op::Diff { key, prefix, suffix, middle, .. } => {
                put_bytes(log, key);
                put_number(log, prefix as u64);
                put_number(log, suffix as u64);
                put_bytes(log, middle);
            }
            Op::Delete { key, .. } => put_bytes(log, key),
            Op::Create { .. } | Op::Drop { .. } => {}
        }
    }
}

/// Reads changes in the order they were made.
pub(crate) struct Ops<'b> {
    rest: &'b [u8],
}

impl<'b> Ops<'b> {
    pub(crate) fn new(record: &'b [u8]) -> Ops<'b> {
        Ops { rest: record }
    }

    fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(byte)
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    fn bytes(&mut self) -> Option<&'b [u8]> {
        let len = usize::try_from(self.number()?).ok()?;
        let (bytes, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest;
        Some(bytes)
    }

    /// The next change, if all of it is there; else nothing is taken.
    pub(crate) fn next_whole(&mut self) -> Option<Op<'b>> {
        let before = self.rest;
        let op = self.op();
        if op.is_none() {
            self.rest = before;
        }
        op
    }

    /// Bytes not taken.
    pub(crate) fn left(&self) -> usize {
        self.rest.len()
    }

    fn op(&mut self) -> Option<Op<'b>> {
        let code = self.byte()?;
        let tree = TreeId(self.number()?);
        Some(match code {
            1 => Op::Put { tree, key: self.bytes()?, value: self.bytes()? },
            2 => {
                let key = self.bytes()?;
                let (prefix, suffix) = (self.number()? as usize, self.number()? as usize);
                Op::Diff { tree, key, prefix, suffix, middle: self.bytes()? }
            }
            3 => Op::Delete { tree, key: self.bytes()? },
            4 => Op::Create { tree },
            5 => Op::Drop { tree },
            _ => return None,
        })
    }
}

impl<'b> Iterator for Ops<'b> {
    type Item = Result<Op<'b>, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let op = self.op().ok_or_else(|| StoreError::corrupt("log", "a change is cut off or unknown"));
        if op.is_err() {
            self.rest = &[];
        }
        Some(op)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_written_is_read() {
        let ops = [
            Op::Create { tree: TreeId(300) },
            Op::Put { tree: TreeId(300), key: b"k", value: &[7; 200] },
            Op::Diff { tree: TreeId(300), key: b"k", prefix: 100, suffix: 3, middle: b"" },
            Op::Delete { tree: TreeId(1), key: b"" },
            Op::Drop { tree: TreeId(u64::MAX) },
        ];
        let mut log = Vec::new();
        for op in &ops {
            op.write(&mut log);
        }
        assert_eq!(Ops::new(&log).collect::<Result<Vec<_>, _>>().unwrap(), ops);
        assert!(Ops::new(&log[..log.len() - 1]).any(|op| op.is_err()));
    }

    #[test]
    fn chunks_together_are_the_changes_and_can_be_cut_after_any() {
        let value = vec![7; 4_000];
        let mut log = OpLog::default();
        let mut ends = vec![0];
        for number in 0..200u64 {
            log.push(&Op::Put { tree: TreeId(number), key: &number.to_be_bytes(), value: &value });
            ends.push(log.len());
        }
        assert!(log.full.len() > 2);
        for count in [200, 150, 70, 64, 3, 0] {
            log.truncate_to(Mark(ends[count]), None);
            let (full, open) = (&log.full, &log.open);
            assert!(full.iter().all(|chunk| chunk.len() <= PART_BYTES_MAX));
            let whole = [full.concat(), open.clone()].concat();
            assert_eq!(whole.len() as u64, log.len());
            let trees: Vec<u64> = Ops::new(&whole)
                .map(|op| match op.unwrap() {
                    Op::Put { tree, .. } => tree.0,
                    other => panic!("{other:?}"),
                })
                .collect();
            assert_eq!(trees, (0..count as u64).collect::<Vec<_>>());
        }
        assert!(log.is_empty());
        log.push(&Op::Create { tree: TreeId(1) });
        assert_eq!(log.open.len() as u64, log.len());
    }

    proptest! {
        #[test]
        fn any_bytes_end(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(Ops::new(&bytes).count() <= bytes.len());
        }
    }
}
