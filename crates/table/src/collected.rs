//! The collected statistics of tables in the store: they survive restarts, and are read at first use.
//!
//! A record names its columns and indexes with all that decides how their values are encoded; what has another form now, or belongs to
//! rows since another layout, is left out. So no change of a definition has to update records. Statistics of another tree of rows are not read: a table that was
//! emptied or built again has none. A record that cannot be read counts as missing: statistics are collected again.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use access::CollectedStatistics;
use catalog::TableKind;

use crate::chunks::{self, STATISTICS_TREE};
use crate::encoding::{decode_collected, encode_collected};
use crate::error::WriteError;
use crate::statistics::{KEPT, NOT_KEPT, UNKNOWN};
use crate::table::Table;

/// Collected statistics that plans do not use yet.
#[derive(Debug)]
pub struct Gathered {
    pub(crate) collected: Arc<CollectedStatistics>,
    /// Changes of the tree of rows when that was begun.
    pub(crate) changes_then: u64,
}

impl Table {
    /// The collected statistics, if there are any.
    pub(crate) fn gathered(&self) -> Option<Arc<CollectedStatistics>> {
        self.known.get(|| {
            let collected = self.with_histograms(self.read_collected())?;
            self.counters().statistics.version.fetch_max(collected.version, Ordering::Relaxed);
            Some(collected)
        })
    }

    fn read_collected(&self) -> Option<CollectedStatistics> {
        if self.definition.kind != TableKind::Base {
            return None;
        }
        let record = chunks::read(&self.store, STATISTICS_TREE, self.definition.id).ok()??;
        decode_collected(&record, &self.definition)
    }

    /// Whether a record of statistics is stored for the table: looked up once.
    #[must_use]
    pub fn has_collected(&self) -> bool {
        let kept = &self.counters().statistics.kept;
        if kept.load(Ordering::Relaxed) == UNKNOWN {
            let record = chunks::read(&self.store, STATISTICS_TREE, self.definition.id);
            let found = matches!(record, Ok(Some(_)));
            kept.store(if found { KEPT } else { NOT_KEPT }, Ordering::Relaxed);
        }
        kept.load(Ordering::Relaxed) == KEPT
    }

    /// Makes plans use these statistics, also after the next start.
    ///
    /// # Errors
    /// The store's.
    pub fn adopt(&self, gathered: &Gathered) -> Result<(), WriteError> {
        let collected = &gathered.collected;
        if self.definition.kind == TableKind::Base {
            let mut transaction = self.store.begin();
            let record = encode_collected(collected, &self.definition);
            match chunks::write(
                &self.store.tree(STATISTICS_TREE)?,
                &mut transaction,
                self.definition.id,
                &record,
            ) {
                Ok(()) => transaction.commit()?,
                Err(error) => {
                    transaction.rollback()?;
                    return Err(error);
                }
            };
        }
        let with_histograms = self.with_histograms(Some((**collected).clone()));
        self.known.set(Arc::new(with_histograms.unwrap_or_default()));
        let statistics = &self.counters().statistics;
        statistics.version.store(collected.version, Ordering::Relaxed);
        statistics.changes_then.store(gathered.changes_then, Ordering::Relaxed);
        statistics.kept.store(KEPT, Ordering::Relaxed);
        Ok(())
    }
}
