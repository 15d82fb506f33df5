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

use crate::error::StoreError;
use crate::ids::TreeId;

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

    proptest! {
        #[test]
        fn any_bytes_end(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(Ops::new(&bytes).count() <= bytes.len());
        }
    }
}
