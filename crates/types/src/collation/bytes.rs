//! Collations that go byte by byte: those that compare bytes as they are (`binary` and every `_bin`; in UTF-8 the
//! order of bytes is the order of code points) and those with a weight for each of 256 bytes.

use std::cmp::Ordering;

use super::info::Padding;
use super::key::{self, SpaceRuns};
use super::locate;
use super::swar::{self, StreamHasher};

/// A byte's weight.
pub(super) trait ByteWeights: Copy {
    fn weight(self, byte: u8) -> u8;
}

/// Every byte weighs itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plain;

/// Weights from a table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table(pub(super) &'static [u8; 256]);

impl ByteWeights for Plain {
    #[inline]
    fn weight(self, byte: u8) -> u8 {
        byte
    }
}

impl ByteWeights for Table {
    #[inline]
    fn weight(self, byte: u8) -> u8 {
        self.0[usize::from(byte)]
    }
}

/// Orders `binary` and `_bin`.
pub(super) fn compare_plain(padding: Padding, a: &[u8], b: &[u8]) -> Ordering {
    if padding == Padding::NoPad {
        return a.cmp(b);
    }
    let length = a.len().min(b.len());
    a[..length].cmp(&b[..length]).then_with(|| compare_ends(Plain, &a[length..], &b[length..]))
}

/// Orders by table. All of them are PAD SPACE.
pub(super) fn compare_table(table: Table, a: &[u8], b: &[u8]) -> Ordering {
    let length = a.len().min(b.len());
    let mut at = 0;
    while at < length {
        if let (Some(x), Some(y)) = (swar::chunk(a, at), swar::chunk(b, at))
            && x == y
        {
            at += 8;
            continue;
        }
        // A chunk that differs: by its bytes, for most often they differ in case only.
        let end = length.min(at + 8);
        for (&x, &y) in a[at..end].iter().zip(&b[at..end]) {
            let order = table.weight(x).cmp(&table.weight(y));
            if order.is_ne() {
                return order;
            }
        }
        at = end;
    }
    compare_ends(table, &a[length..], &b[length..])
}

/// Orders what the longer text has left against spaces.
fn compare_ends<W: ByteWeights>(weights: W, a: &[u8], b: &[u8]) -> Ordering {
    let space = weights.weight(b' ');
    let to_spaces = |rest: &[u8]| {
        let order = |&byte: &u8| weights.weight(byte).cmp(&space);
        rest.iter().map(order).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    };
    if a.is_empty() { to_spaces(b).reverse() } else { to_spaces(a) }
}

/// Hashes the weights.
pub(super) fn hash<W: ByteWeights>(weights: W, padding: Padding, text: &[u8], seed: u64) -> u64 {
    let text = match padding {
        Padding::PadSpace => trim(weights, text),
        Padding::NoPad => text,
    };
    let mut hasher = StreamHasher::new(seed);
    let mut chunks = text.chunks_exact(8);
    for chunk in &mut chunks {
        let mut weighed = [0; 8];
        for (target, &byte) in weighed.iter_mut().zip(chunk) {
            *target = weights.weight(byte);
        }
        hasher.push_chunk(u64::from_le_bytes(weighed));
    }
    for &byte in chunks.remainder() {
        hasher.push(weights.weight(byte));
    }
    hasher.finish()
}

fn trim<W: ByteWeights>(weights: W, text: &[u8]) -> &[u8] {
    let space = weights.weight(b' ');
    let kept = text.iter().rposition(|&byte| weights.weight(byte) != space).map_or(0, |last| last + 1);
    &text[..kept]
}

/// Appends the key.
pub(super) fn sort_key<W: ByteWeights>(weights: W, padding: Padding, text: &[u8], key: &mut Vec<u8>) {
    match padding {
        Padding::NoPad => key::escape_zeros(text, key),
        Padding::PadSpace => {
            key.reserve(text.len() + 2);
            let mut spaces = SpaceRuns::new(weights.weight(b' '));
            write_padded(weights, text, &mut spaces, key);
            spaces.end(key);
        }
    }
}

/// Appends what begins the keys of all texts that begin with `prefix`.
pub(super) fn sort_key_prefix<W: ByteWeights>(
    weights: W,
    padding: Padding,
    prefix: &[u8],
    key: &mut Vec<u8>,
) {
    match padding {
        Padding::NoPad => key::escape_zeros_open(prefix, key),
        Padding::PadSpace => {
            write_padded(weights, prefix, &mut SpaceRuns::new(weights.weight(b' ')), key);
        }
    }
}

fn write_padded<W: ByteWeights>(weights: W, text: &[u8], spaces: &mut SpaceRuns, key: &mut Vec<u8>) {
    let space = weights.weight(b' ');
    let mut write = |weight: u8, key: &mut Vec<u8>| {
        if weight == space {
            spaces.count_one();
        } else {
            spaces.flush(weight > space, key);
            key.push(weight);
        }
    };
    let mut chunks = text.chunks_exact(8);
    for chunk in &mut chunks {
        let mut weighed = [0; 8];
        for (target, &byte) in weighed.iter_mut().zip(chunk) {
            *target = weights.weight(byte);
        }
        if weighed.iter().fold(true, |all, &weight| all & (weight != space)) {
            write(weighed[0], key);
            key.extend_from_slice(&weighed[1..]);
        } else {
            for weight in weighed {
                write(weight, key);
            }
        }
    }
    for &byte in chunks.remainder() {
        write(weights.weight(byte), key);
    }
}

/// Offset of the first occurrence.
pub(super) fn find(
    table: Table,
    haystack: &[u8],
    needle: &[u8],
    may_continue: &mut dyn FnMut() -> bool,
) -> Option<usize> {
    let mut asking = locate::Asking::new(needle, may_continue);
    let same = |window: &[u8]| window.iter().zip(needle).all(|(&a, &b)| table.weight(a) == table.weight(b));
    let mut windows = haystack.windows(needle.len()).enumerate().take_while(|_| asking.may_try());
    windows.find(|(_, window)| same(window)).map(|(at, _)| at)
}
