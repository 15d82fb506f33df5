//! Histograms that ANALYZE TABLE ... UPDATE HISTOGRAM made or was given: MySQL's, one a column, as JSON documents.
//!
//! They are kept beside the statistics and say more of their column than these: estimates use them. A record names each column with its form; the change of a
//! definition drops those of columns that are no more what they were.

mod document;
mod make;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use access::{CollectedStatistics, ColumnStatistics, Histogram};
use catalog::{TableDefinition, TableKind};
use store::{CommitPosition, Store, Transaction};
use types::json::{Kind, View};
use types::temporal::DateTime;

pub use self::document::{DataError, read_data};
pub use self::make::HistogramSpec;
use crate::Utc;
use crate::check::CheckEnd;
use crate::chunks::{self, HISTOGRAMS_TREE};
use crate::encoding::{decode_histograms, encode_histograms, histogram_form};
use crate::error::WriteError;
use crate::table::Table;

/// Memory for a histogram that is made again: `histogram_generation_max_mem_size` as it is if nobody says otherwise.
const MEMORY_BYTES: u64 = 20_000_000;

/// Why histograms were not all made again.
#[derive(Debug)]
pub enum HistogramEnd<E> {
    /// The rows were not read to their end.
    Check(CheckEnd<E>),
    /// One could not be kept.
    Write(WriteError),
}

/// A histogram of a column of a definition.
pub(crate) type OfColumn = (usize, Arc<[u8]>);

/// Why a column cannot have a histogram.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum NoHistogram {
    /// It is a key by itself.
    Unique,
    /// Its type has no order.
    Type,
}

/// Whether a column can have a histogram.
///
/// # Errors
/// Why not.
pub fn may_have_histogram(definition: &TableDefinition, column: usize) -> Result<(), NoHistogram> {
    if document::data_type_name(&definition.columns[column].data_type).is_none() {
        return Err(NoHistogram::Type);
    }
    let is_key = |index: &catalog::IndexDefinition| {
        index.is_unique() && index.parts.len() == 1 && index.parts[0].column == column
    };
    if definition.indexes.iter().any(is_key) { Err(NoHistogram::Unique) } else { Ok(()) }
}

impl Table {
    /// All histograms, by column.
    pub(crate) fn kept_histograms(&self) -> Arc<[OfColumn]> {
        self.known.histograms(|| {
            let is_base = self.definition.kind == TableKind::Base;
            let record = is_base.then(|| chunks::read(&self.store, HISTOGRAMS_TREE, self.definition.id));
            record
                .and_then(Result::ok)
                .flatten()
                .map_or_else(Vec::new, |record| decode_histograms(&record, &self.definition))
        })
    }

    /// Replaces the histogram of a column, or drops it. Answers whether there was one, and what must be durable before that is acknowledged.
    ///
    /// # Errors
    /// The store's.
    pub fn set_histogram(
        &self,
        column: usize,
        document: Option<&[u8]>,
    ) -> Result<(bool, Option<CommitPosition>), WriteError> {
        // One change after the other.
        let _changing = self.counters().statistics.histograms_changing.lock();
        let mut all: Vec<OfColumn> = self.kept_histograms().to_vec();
        let before = all.len();
        all.retain(|(of, _)| *of != column);
        let had = all.len() < before;
        if document.is_none() && !had {
            return Ok((false, None));
        }
        all.extend(document.map(|document| (column, document.into())));
        let mut transaction = self.store.begin();
        let position = match put(&self.store, &mut transaction, &self.definition, &all) {
            Ok(()) => transaction.commit()?,
            Err(error) => {
                transaction.rollback()?;
                return Err(error);
            }
        };
        self.known.set_histograms(all.into());
        // Estimates come from other statistics now.
        self.gathered();
        self.counters().statistics.version.fetch_add(1, Ordering::Relaxed);
        Ok((had, position))
    }

    /// Makes the histograms again that are to follow the table (AUTO UPDATE). `now`: in UTC, as TIMESTAMPs are shown.
    ///
    /// # Errors
    /// `go_on`'s; the store's.
    pub fn refresh_histograms<E>(
        &self,
        now: DateTime,
        go_on: &mut dyn FnMut() -> Result<(), E>,
    ) -> Result<(), HistogramEnd<E>> {
        for (column, document) in self.kept_histograms().iter() {
            let view = View::new(document);
            let is_auto = view.get(b"auto-update").is_some_and(|auto| auto.kind() == Kind::True);
            let buckets = view.get(b"number-of-buckets-specified").map_or(0, View::int);
            if !is_auto {
                continue;
            }
            let bucket_max = usize::try_from(buckets).unwrap_or(0).max(1);
            let spec = HistogramSpec { bucket_max, is_auto, memory_bytes_max: MEMORY_BYTES, now };
            let made = self.make_histogram(*column, spec, &Utc, go_on).map_err(HistogramEnd::Check)?;
            let mut binary = Vec::new();
            made.encode(&mut binary);
            self.set_histogram(*column, Some(&binary)).map_err(HistogramEnd::Write)?;
        }
        Ok(())
    }

    /// Histograms as those who show them know them.
    pub(crate) fn shown_histograms(&self) -> Vec<Histogram> {
        let all = self.kept_histograms();
        all.iter()
            .map(|(column, document)| Histogram { column: *column, document: Arc::clone(document) })
            .collect()
    }

    /// Statistics, with what histograms say of their columns.
    pub(crate) fn with_histograms(
        &self,
        collected: Option<CollectedStatistics>,
    ) -> Option<CollectedStatistics> {
        let histograms = self.kept_histograms();
        if histograms.is_empty() {
            return collected;
        }
        let mut collected = collected.unwrap_or_else(|| CollectedStatistics {
            row_count: self.rows.record_count(),
            columns: vec![None; self.definition.columns.len()],
            indexes: vec![None; self.definition.indexes.len()],
            ..CollectedStatistics::default()
        });
        for (column, histogram) in histograms.iter() {
            let Some(keys) = self.known.keys(&self.definition, *column) else { continue };
            let known = collected.columns[*column].as_deref();
            let of_column: ColumnStatistics = document::statistics_of(histogram, keys, known);
            collected.columns[*column] = Some(Arc::new(of_column));
        }
        Some(collected)
    }
}

fn put(
    store: &Store,
    transaction: &mut Transaction,
    definition: &TableDefinition,
    all: &[OfColumn],
) -> Result<(), WriteError> {
    let record = if all.is_empty() { Vec::new() } else { encode_histograms(all, definition) };
    chunks::write(&store.tree(HISTOGRAMS_TREE)?, transaction, definition.id, &record)
}

/// Drops the histograms of columns that a change of a table's definition makes others, in its transaction.
///
/// # Errors
/// The store's.
pub fn keep_histograms(
    store: &Store,
    transaction: &mut Transaction,
    earlier: &TableDefinition,
    definition: &TableDefinition,
) -> Result<(), WriteError> {
    let Some(record) = chunks::read(store, HISTOGRAMS_TREE, definition.id)? else { return Ok(()) };
    let all = decode_histograms(&record, earlier);
    let forms: HashMap<Vec<u8>, usize> =
        (0..definition.columns.len()).map(|column| (histogram_form(definition, column), column)).collect();
    let kept: Vec<OfColumn> = all
        .iter()
        .filter_map(|(column, document)| {
            let now = *forms.get(&histogram_form(earlier, *column))?;
            may_have_histogram(definition, now).ok()?;
            Some((now, Arc::clone(document)))
        })
        .collect();
    if kept.len() < all.len() { put(store, transaction, definition, &kept) } else { Ok(()) }
}
