//! Temporary tables: base tables that only one session sees, kept in no dictionary, dropped with the session.
//!
//! DROP TEMPORARY TABLE leaves the session's transaction open, and that may have changed the table: whoever keeps its rows still needs
//! them to commit or to roll back. So the table is gone for the session at once, its rows are dropped after the transaction has ended.
//!
//! A session has at most [`TEMPORARY_TABLES_MAX`] of them: each takes memory for its definition and blocks of the data file. Of a dropped
//! one only the numbers of its trees are kept.

use std::cell::RefCell;
use std::sync::Arc;

use catalog::{Catalog, TableEntry, TreeNumber};
use service::SqlError;
use service::error::ER_CANT_CREATE_TABLE;

/// Set in the version of a snapshot that holds temporary tables.
const OVERLAY: u64 = 1 << 63;

/// Temporary tables of a session. MySQL has no such limit but its disk and memory.
const TEMPORARY_TABLES_MAX: usize = 4096;
/// The system's number and text for too many open files, which is what the table would be.
const TOO_MANY: (u32, &str) = (24, "Too many open files");

/// The temporary tables of one session.
#[derive(Debug, Default)]
pub struct TemporaryTables {
    tables: Vec<Arc<TableEntry>>,
    /// The snapshot with these tables in it, and the version of the one it was made from.
    overlay: RefCell<Option<(u64, Arc<Catalog>)>>,
    /// Trees of dropped tables, which the session's transaction may have changed.
    dropped: Vec<TreeNumber>,
}

impl TemporaryTables {
    /// Whether there is none.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }

    /// Whether `name` may be created beside them.
    ///
    /// # Errors
    /// 1005 beyond [`TEMPORARY_TABLES_MAX`].
    pub fn check_room(&self, name: &str) -> Result<(), Box<SqlError>> {
        if self.tables.len() < TEMPORARY_TABLES_MAX {
            return Ok(());
        }
        let (number, text) = TOO_MANY;
        Err(ER_CANT_CREATE_TABLE.with(&[&name, &number, &text]))
    }

    /// The temporary table `schema.name`.
    #[must_use]
    #[inline]
    pub fn get(&self, schema: &str, name: &str) -> Option<&Arc<TableEntry>> {
        self.tables
            .iter()
            .find(|entry| *entry.definition.schema == *schema && *entry.definition.name == *name)
    }

    /// The snapshot as the session sees it: its temporary tables hide others of the same name. A snapshot with temporary
    /// tables has a version of its own, so that no plan made with it passes for one that others may use.
    #[inline]
    pub fn overlay(&self, base: &Arc<Catalog>) -> Arc<Catalog> {
        if self.tables.is_empty() {
            return Arc::clone(base);
        }
        if let Some((version, overlay)) = &*self.overlay.borrow()
            && *version == base.version
        {
            return Arc::clone(overlay);
        }
        let mut catalog = (**base).clone();
        catalog.version |= OVERLAY;
        for entry in &self.tables {
            if let Some(schema) = catalog.schema_mut(&entry.definition.schema) {
                schema.insert(Arc::clone(entry));
            }
        }
        let overlay = Arc::new(catalog);
        self.overlay.replace(Some((base.version, Arc::clone(&overlay))));
        overlay
    }

    /// Adds or replaces a table.
    pub fn put(&mut self, entry: Arc<TableEntry>) {
        self.remove(&entry.definition.schema, &entry.definition.name);
        self.tables.push(entry);
        self.overlay.take();
    }

    /// Takes a table out whose rows stay, or are not its own any longer.
    pub fn remove(&mut self, schema: &str, name: &str) -> Option<Arc<TableEntry>> {
        let position = self
            .tables
            .iter()
            .position(|entry| *entry.definition.schema == *schema && *entry.definition.name == *name)?;
        self.overlay.take();
        Some(self.tables.remove(position))
    }

    /// Drops a table; its rows stay until [`TemporaryTables::take_dropped`].
    pub fn drop_table(&mut self, schema: &str, name: &str) {
        if let Some(entry) = self.remove(schema, name) {
            self.dropped.extend(entry.definition.trees());
        }
    }

    /// Whether rows of dropped tables are there.
    #[must_use]
    #[inline]
    pub(crate) fn has_dropped(&self) -> bool {
        !self.dropped.is_empty()
    }

    /// The trees of dropped tables, which may go now.
    #[must_use]
    pub fn take_dropped(&mut self) -> Vec<TreeNumber> {
        std::mem::take(&mut self.dropped)
    }

    /// Drops all tables: when the session ends or is reset.
    pub fn drop_all(&mut self) {
        self.overlay.take();
        let tables = std::mem::take(&mut self.tables);
        self.dropped.extend(tables.iter().flat_map(|entry| entry.definition.trees()));
    }
}
