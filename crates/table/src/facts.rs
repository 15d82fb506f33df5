//! Facts about tables in the store: kept across restarts, and read when they are first asked for.
//!
//! A record names the columns and indexes it speaks of with all that decides how their values are written; what has another form now, or lies in
//! rows since another layout, is left out. So no change of a definition has to look after it. Facts of another tree of rows are not read: a table that was
//! emptied or built again has none. What cannot be read is as if it were not there: statistics are found again.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use access::TableFacts;
use catalog::TableKind;

use crate::chunks::{self, FACTS_TREE};
use crate::encoding::{decode_facts, encode_facts};
use crate::error::WriteError;
use crate::statistics::{KEPT, NOT_KEPT, UNKNOWN};
use crate::table::Table;

/// What was found out, not known to plans yet.
#[derive(Debug)]
pub struct Gathered {
    pub(crate) facts: Arc<TableFacts>,
    /// Changes of the tree of rows when that was begun.
    pub(crate) changes_then: u64,
}

impl Table {
    /// What is known about the rows, if anything is.
    pub(crate) fn gathered(&self) -> Option<Arc<TableFacts>> {
        self.known.get(|| {
            let facts = self.with_histograms(self.read_facts())?;
            self.counters().statistics.version.fetch_max(facts.version, Ordering::Relaxed);
            Some(facts)
        })
    }

    fn read_facts(&self) -> Option<TableFacts> {
        if self.definition.kind != TableKind::Base {
            return None;
        }
        let record = chunks::read(&self.store, FACTS_TREE, self.definition.id).ok()??;
        decode_facts(&record, &self.definition)
    }

    /// Whether facts are kept of the table: looked up once.
    pub(crate) fn has_facts(&self) -> bool {
        let kept = &self.counters().statistics.kept;
        if kept.load(Ordering::Relaxed) == UNKNOWN {
            let record = chunks::read(&self.store, FACTS_TREE, self.definition.id);
            let found = matches!(record, Ok(Some(_)));
            kept.store(if found { KEPT } else { NOT_KEPT }, Ordering::Relaxed);
        }
        kept.load(Ordering::Relaxed) == KEPT
    }

    /// Makes facts those that plans are made from, also after the next start.
    ///
    /// # Errors
    /// The store's.
    pub fn adopt(&self, gathered: &Gathered) -> Result<(), WriteError> {
        let facts = &gathered.facts;
        if self.definition.kind == TableKind::Base {
            let mut transaction = self.store.begin();
            let record = encode_facts(facts, &self.definition);
            match chunks::write(&self.store.tree(FACTS_TREE)?, &mut transaction, self.definition.id, &record)
            {
                Ok(()) => transaction.commit()?,
                Err(error) => {
                    transaction.rollback()?;
                    return Err(error);
                }
            };
        }
        let with_histograms = self.with_histograms(Some((**facts).clone()));
        self.known.set(Arc::new(with_histograms.unwrap_or_default()));
        let statistics = &self.counters().statistics;
        statistics.version.store(facts.version, Ordering::Relaxed);
        statistics.changes_then.store(gathered.changes_then, Ordering::Relaxed);
        statistics.kept.store(KEPT, Ordering::Relaxed);
        Ok(())
    }
}
