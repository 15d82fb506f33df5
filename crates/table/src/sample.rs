//! Answers to the optimizer: from collected statistics and from the store.
//!
//! Rows are counted by the store. As long as there are no statistics, a run of entries at the start of an index and one at its end are looked at, and the
//! ratio of different prefixes to entries is taken for the whole. That is done again when the number of rows has changed
//! by more than a tenth.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use access::{CollectedStatistics, Histogram, KeyBytes, KeyBytesRange};
use catalog::{KeyRange, TableStatistics};
use types::Column;

use crate::Utc;
use crate::codec::row::RowView;
use crate::index::scan_range;
use crate::table::Table;

/// Entries looked at from each end of an index.
const SAMPLE_ENTRIES: usize = 1000;
/// A table is looked at again when this share of its rows has changed, and this number of rows more.
const CHANGED_SHARE: f64 = 0.1;
const CHANGED_ROWS: f64 = 500.0;
/// Estimated rows below which an empty table is not believed to be empty: plans live longer than emptiness.
const ROWS_MIN: u64 = 1;

impl Table {
    /// How much of the table changed since its statistics were collected; from 1 on they are due again: a tenth of its rows and 500 more.
    #[must_use]
    pub fn change(&self) -> f64 {
        let then = self.counters().statistics.changes_then.load(Ordering::Relaxed);
        let changes = self.rows.change_count().saturating_sub(then);
        let rows = self.rows.record_count() as f64;
        // What was loaded before a restart, or while nobody looked, has no statistics yet.
        let is_unknown = rows >= CHANGED_ROWS && !self.has_collected();
        (changes as f64 / (rows * CHANGED_SHARE + CHANGED_ROWS)).max(f64::from(u8::from(is_unknown)))
    }

    fn sample(&self) {
        let rows = self.row_count();
        let per_index: Vec<Vec<u64>> =
            (0..self.definition.indexes.len()).map(|index| self.sample_index(index)).collect();
        let statistics = &self.counters().statistics;
        *statistics.entries_per_key.write() = per_index;
        statistics.made_at.store(rows + 1, Ordering::Relaxed);
    }

    fn refresh(&self) {
        let rows = self.row_count();
        let made_at = self.counters().statistics.made_at.load(Ordering::Relaxed);
        let stale = match made_at.checked_sub(1) {
            None => true,
            Some(then) => rows.abs_diff(then) > then / 10 + 16,
        };
        // A definition with another number of indexes makes the figures useless too.
        if stale || self.counters().statistics.entries_per_key.read().len() != self.definition.indexes.len() {
            self.sample();
        }
    }

    /// Entries per different prefix of 1, 2, ... parts, times 1,000.
    fn sample_index(&self, index: usize) -> Vec<u64> {
        let definition = &self.definition.indexes[index];
        let part_count = definition.parts.len();
        let (mut entry_count, mut distinct) = (0_u64, vec![0_u64; part_count]);
        for reverse in [false, true] {
            let view = self.store.read_view();
            let tree = &self.indexes[index].tree;
            let mut scan = self.store.scan(tree, &scan_range(&KeyBytesRange::ALL, reverse));
            let mut previous: Option<Vec<Column>> = None;
            let mut seen = 0;
            let mut finished = false;
            while !finished {
                let more = scan.next_batch(view.reader(), |key, value| {
                    let row = self.index_row(index, key, value);
                    let current: Vec<Column> = definition
                        .parts
                        .iter()
                        .map(|part| {
                            let mut column =
                                Column::new(self.definition.columns[part.column].data_type.physical());
                            row.push_to(part.column, &Utc, &mut column);
                            column
                        })
                        .collect();
                    let equal_parts = previous.as_ref().map_or(0, |previous| {
                        previous.iter().zip(&current).take_while(|(left, right)| left == right).count()
                    });
                    for count in &mut distinct[equal_parts..] {
                        *count += 1;
                    }
                    previous = Some(current);
                    seen += 1;
                    if seen >= SAMPLE_ENTRIES { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                });
                finished = !matches!(more, Ok(true)) || seen >= SAMPLE_ENTRIES;
            }
            entry_count += seen as u64;
            if seen < SAMPLE_ENTRIES {
                break; // All of it was seen.
            }
        }
        distinct
            .iter()
            .map(|&count| (entry_count * 1000).checked_div(count).unwrap_or(1000).max(1000))
            .collect()
    }

    fn index_row<'a>(&'a self, index: usize, key: &'a [u8], value: &'a [u8]) -> RowView<'a> {
        match &self.indexes[index].entries {
            Some(entries) => entries.view(key, value),
            None => self.row_view(key, value),
        }
    }
}

impl TableStatistics for Table {
    fn row_count(&self) -> u64 {
        self.rows.record_count().max(ROWS_MIN)
    }

    fn shown_row_count(&self) -> u64 {
        self.rows.record_count()
    }

    fn distinct_count(&self, index: usize, part_count: usize) -> u64 {
        let rows = self.row_count();
        let definition = &self.definition.indexes[index];
        let nullable = definition.parts.iter().any(|part| self.definition.columns[part.column].nullable);
        if definition.is_unique() && part_count >= definition.parts.len() && !nullable {
            return rows;
        }
        if let Some(distinct) =
            self.gathered().and_then(|collected| collected.distinct_keys(index, part_count, rows))
        {
            return distinct;
        }
        self.refresh();
        let figures = self.counters().statistics.entries_per_key.read();
        let per_key =
            part_count.checked_sub(1).and_then(|part| figures.get(index)?.get(part).copied()).unwrap_or(1000);
        (rows.saturating_mul(1000) / per_key).max(1)
    }

    fn estimate_rows(&self, index: usize, range: &KeyRange) -> u64 {
        let bytes = self.key_range(index, range, &Utc);
        if bytes.is_empty() {
            return 0;
        }
        self.store.estimate_rows(&self.indexes[index].tree, &scan_range(&bytes, false)).unwrap_or(1)
    }

    fn collected(&self) -> Option<Arc<CollectedStatistics>> {
        self.gathered()
    }

    fn collected_version(&self) -> u64 {
        self.counters().statistics.version.load(Ordering::Relaxed)
    }

    fn column_keys(&self, column: usize) -> Option<&dyn KeyBytes> {
        let keys = self.known.keys(&self.definition, column)?;
        Some(keys)
    }

    fn histograms(&self) -> Vec<Histogram> {
        self.shown_histograms()
    }

    fn data_bytes(&self) -> u64 {
        let pages = self.store.tree_pages(&self.rows).unwrap_or(1).max(1);
        pages * 16_384
    }

    fn index_bytes(&self) -> u64 {
        let secondary = self.indexes.iter().filter(|index| index.entries.is_some());
        secondary.map(|index| self.store.tree_pages(&index.tree).unwrap_or(1).max(1) * 16_384).sum()
    }
}
