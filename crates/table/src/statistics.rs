//! The newest statistics of a table, and how they encode columns.

use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU64};

use access::CollectedStatistics;
use catalog::{IndexPart, TableDefinition};
use parking_lot::{Mutex, RwLock};
use types::Physical;

use crate::codec::key::KeyCodec;

/// Characters of a text that statistics know it by, by the most columns of the table; fewer in one with more, so that a sample's size stays
/// bounded.
const TEXT_CHARS: [(usize, u32); 3] = [(16, 42), (64, 16), (usize::MAX, 8)];

/// Of [`Statistics::kept`].
pub(crate) const UNKNOWN: u8 = 0;
pub(crate) const NOT_KEPT: u8 = 1;
pub(crate) const KEPT: u8 = 2;

/// What lives as long as the table's trees.
#[derive(Debug, Default)]
pub(crate) struct Statistics {
    /// Rows when `entries_per_key` was made, plus one; 0: never.
    pub(crate) made_at: AtomicU64,
    /// Per index, per number of parts: entries per different prefix, times 1,000. Used as long as no statistics are collected.
    pub(crate) entries_per_key: RwLock<Vec<Vec<u64>>>,
    /// The version of the newest statistics.
    pub(crate) version: AtomicU64,
    /// Changes of the tree of rows when the newest statistics were collected; see [`store::Tree::change_count`].
    pub(crate) changes_then: AtomicU64,
    /// Whether statistics are stored: one of the three constants above.
    pub(crate) kept: AtomicU8,
    /// Held while a histogram is replaced.
    pub(crate) histograms_changing: Mutex<()>,
}

/// JSON documents by column.
pub(crate) type Histograms = Arc<[(usize, Arc<[u8]>)]>;

/// The statistics cached for one definition of the table, by its columns and indexes.
#[derive(Debug, Default)]
pub(crate) struct CachedStatistics {
    /// None: not asked for yet.
    found: RwLock<Option<Option<Arc<CollectedStatistics>>>>,
    columns: OnceLock<Vec<Option<KeyCodec>>>,
    /// None: not asked for yet.
    histograms: RwLock<Option<Histograms>>,
}

impl CachedStatistics {
    /// The statistics; `load` reads the stored ones at first use.
    pub(crate) fn get(
        &self,
        load: impl FnOnce() -> Option<CollectedStatistics>,
    ) -> Option<Arc<CollectedStatistics>> {
        if let Some(collected) = &*self.found.read() {
            return collected.clone();
        }
        let mut found = self.found.write();
        found.get_or_insert_with(|| load().map(Arc::new)).clone()
    }

    /// The histograms, by column; `load` reads the stored ones at first use.
    pub(crate) fn histograms(&self, load: impl FnOnce() -> Vec<(usize, Arc<[u8]>)>) -> Histograms {
        if let Some(all) = &*self.histograms.read() {
            return Arc::clone(all);
        }
        let mut histograms = self.histograms.write();
        Arc::clone(histograms.get_or_insert_with(|| load().into()))
    }

    /// Replaces the histograms. The statistics are combined with them again.
    pub(crate) fn set_histograms(&self, all: Histograms) {
        *self.histograms.write() = Some(all);
        *self.found.write() = None;
    }

    pub(crate) fn set(&self, collected: Arc<CollectedStatistics>) {
        *self.found.write() = Some(Some(collected));
    }

    /// How values of a column are written, as part 0; none of a kind that has no order here.
    pub(crate) fn keys(&self, definition: &TableDefinition, column: usize) -> Option<&KeyCodec> {
        let all = self.columns.get_or_init(|| {
            let codec = |column| {
                let part = column_part(definition, column)?;
                Some(KeyCodec::new(definition, &[part]))
            };
            (0..definition.columns.len()).map(codec).collect()
        });
        all.get(column)?.as_ref()
    }
}

/// As which part of an index statistics write a column.
pub(crate) fn column_part(definition: &TableDefinition, column: usize) -> Option<IndexPart> {
    let data_type = &definition.columns[column].data_type;
    if data_type.kind == types::TypeKind::Json {
        return None;
    }
    let width = definition.columns.len();
    let text_chars = TEXT_CHARS.iter().find(|(columns, _)| width <= *columns).map_or(8, |(_, chars)| *chars);
    let prefix_length = (data_type.physical() == Physical::Bytes).then_some(text_chars);
    Some(IndexPart { column, prefix_length, descending: false })
}
