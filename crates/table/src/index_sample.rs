//! Entries of an index from sampled leaves, and how many different keys all have.
//!
//! Entries stand in the order of their keys, so there are as many keys as neighbours differ, and one more. The share of differing
//! neighbours in a sample of leaves is that of all: no rare value can be missed, unlike where single rows are sampled.

use crate::codec::key::KeyPart;
use crate::index::Index;
use crate::table::Table;

/// Entries of a leaf that are looked at, where it takes long to find where parts end.
const RUN_MAX: usize = 128;

/// Entries, in their order.
pub(crate) struct IndexSample<'t> {
    index: &'t Index,
    /// The key before this one, and where its parts end; empty: there is none.
    previous: Vec<u8>,
    ends: Vec<usize>,
    pairs: u64,
    /// By number of parts less one: how many of the pairs differ in them.
    changes: Vec<u64>,
    entries: u64,
}

impl<'t> IndexSample<'t> {
    pub(crate) fn new(table: &'t Table, index: usize) -> Self {
        let index = &table.indexes[index];
        let changes = vec![0; index.keys.parts().len()];
        Self { index, previous: Vec::new(), ends: Vec::new(), pairs: 0, changes, entries: 0 }
    }

    /// How many entries of a leaf to look at.
    pub(crate) fn run_max(&self) -> usize {
        let parts = self.index.keys.parts();
        let before_last = &parts[..parts.len().saturating_sub(1)];
        if before_last.iter().all(|part| part.field.width().is_some()) { usize::MAX } else { RUN_MAX }
    }

    /// The next entry is no neighbour of the one before.
    pub(crate) fn begin_leaf(&mut self) {
        self.ends.clear();
    }

    pub(crate) fn push(&mut self, key: &[u8], value: &[u8]) {
        self.entries += 1;
        let mut equal = 0;
        if !self.ends.is_empty() {
            let common = key.iter().zip(&self.previous).take_while(|(one, other)| one == other).count();
            equal = self.ends.iter().take_while(|&&end| end <= common).count();
            self.pairs += 1;
            self.changes[equal..].iter_mut().for_each(|changes| *changes += 1);
        }
        self.ends.truncate(equal);
        self.find_ends(key, value);
        self.previous.clear();
        self.previous.extend_from_slice(key);
    }

    /// Where the parts of this key end, behind those whose ends are known.
    fn find_ends(&mut self, key: &[u8], value: &[u8]) {
        let parts = self.index.keys.parts();
        let all = self.index.entries.as_ref().map_or(key.len(), |entries| entries.columns_bytes(key, value));
        for (number, part) in parts.iter().enumerate().skip(self.ends.len()) {
            let start = self.ends.last().copied().unwrap_or(0);
            let end = if number + 1 == parts.len() {
                all
            } else {
                self.end(part, start, key, value).unwrap_or(all)
            };
            self.ends.push(end);
        }
    }

    /// None: it takes the value to know, which the entry does not have.
    fn end(&self, part: &KeyPart, start: usize, key: &[u8], value: &[u8]) -> Option<usize> {
        let marker = usize::from(part.nullable);
        if let Some(width) = part.field.width() {
            return Some(start + marker + width);
        }
        let first = key.get(start).copied().unwrap_or(0);
        if part.nullable && (if part.descending { !first } else { first }) == 0 {
            return Some(start + 1);
        }
        let entries = self.index.entries.as_ref()?;
        if part.prefix_length.is_some() || !entries.covers(part.column) {
            return None;
        }
        let crate::codec::field::Field::Bytes { collation } = part.field else { return None };
        let crate::codec::row::BytesRef::Inline(bytes) = entries.view(key, value).bytes(part.column) else {
            return None;
        };
        let mut written = Vec::new();
        collation.sort_key(bytes, &mut written);
        Some(start + marker + written.len())
    }

    /// Different keys of the first part, of the first two, ... of an index of `row_count` entries.
    pub(crate) fn distinct(&self, row_count: u64) -> Vec<u64> {
        let pairs = row_count.saturating_sub(1) as f64;
        let of_changes = |&changes: &u64| match self.pairs {
            // No two neighbours were met: each entry is taken to have its own key.
            0 => row_count,
            all => (1.0 + changes as f64 / all as f64 * pairs).round() as u64,
        };
        let met = u64::from(self.entries > 0);
        self.changes.iter().map(of_changes).map(|distinct| distinct.max(met)).collect()
    }
}
