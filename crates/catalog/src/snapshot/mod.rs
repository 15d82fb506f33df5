//! The snapshot of all definitions and the handle by which it is taken and replaced.

mod references;
mod source;

pub use references::{Edge, ForeignKeyGraph, Node, Reference, References, leading_index, unique_index};
pub use source::{LockWait, TableSource, VirtualContext, VirtualError, VirtualScan, VirtualTable};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use hashbrown::HashMap;
use types::collation::CollationId;

use crate::account::Accounts;
use crate::definition::{SchemaId, TableDefinition, TableKind};
use crate::event::Events;
use crate::routine::Routines;

/// A table as queries find it: what it looks like and what gives its rows.
#[derive(Clone, Debug)]
pub struct TableEntry {
    /// What it looks like.
    pub definition: Arc<TableDefinition>,
    /// What gives its rows. For a base table this is `table::Table` (through [`TableSource::as_any`]).
    pub source: Arc<dyn TableSource>,
}

/// A schema (MySQL says database as well).
#[derive(Clone, Debug)]
pub struct Schema {
    /// Number.
    pub id: SchemaId,
    /// Name as written.
    pub name: Arc<str>,
    /// Default collation of new tables; names the character set too.
    pub collation: CollationId,
    /// A system schema: its tables are virtual and their names ignore case.
    pub system: bool,
    tables: HashMap<Box<str>, Arc<TableEntry>, foldhash::fast::FixedState>,
}

impl Schema {
    /// A schema without tables.
    #[must_use]
    pub fn new(id: SchemaId, name: &str, collation: CollationId, system: bool) -> Self {
        Self { id, name: name.into(), collation, system, tables: HashMap::default() }
    }

    /// The table called `name`.
    #[must_use]
    pub fn table(&self, name: &str) -> Option<&Arc<TableEntry>> {
        if self.system {
            self.tables.get(crate::name::fold_name(name).as_str())
        } else {
            self.tables.get(name)
        }
    }

    /// Adds or replaces the table `entry` under its own name.
    pub fn insert(&mut self, entry: Arc<TableEntry>) {
        let name = &entry.definition.name;
        let key: Box<str> = if self.system { crate::name::fold_name(name).into() } else { (&**name).into() };
        self.tables.insert(key, entry);
    }

    /// Removes the table called `name`.
    pub fn remove(&mut self, name: &str) -> Option<Arc<TableEntry>> {
        if self.system {
            self.tables.remove(crate::name::fold_name(name).as_str())
        } else {
            self.tables.remove(name)
        }
    }

    /// Number of tables.
    #[must_use]
    pub fn table_count(&self) -> usize {
        self.tables.len()
    }

    /// Every table, in no order.
    pub fn tables(&self) -> impl Iterator<Item = &Arc<TableEntry>> {
        self.tables.values()
    }

    /// Every table, by name.
    #[must_use]
    pub fn tables_sorted(&self) -> Vec<&Arc<TableEntry>> {
        let mut tables: Vec<_> = self.tables.values().collect();
        tables.sort_unstable_by(|left, right| left.definition.name.cmp(&right.definition.name));
        tables
    }
}

/// Everything that exists, at one moment.
#[derive(Clone, Debug)]
pub struct Catalog {
    /// Grows with each published snapshot.
    pub version: u64,
    /// Accounts and privileges.
    pub accounts: Arc<Accounts>,
    /// Stored procedures and functions.
    pub routines: Arc<Routines>,
    /// Events.
    pub events: Arc<Events>,
    /// `SET PERSIST`: variable name to text.
    pub persisted_variables: Arc<HashMap<Box<str>, Box<str>, foldhash::fast::FixedState>>,
    schemas: HashMap<Box<str>, Arc<Schema>, foldhash::fast::FixedState>,
    /// Who refers to whom, as of the moment the snapshot was published.
    references: Arc<References>,
    /// System schemas by folded name to real name.
    system_names: HashMap<Box<str>, Box<str>, foldhash::fast::FixedState>,
}

impl Default for Catalog {
    fn default() -> Self {
        Self::new()
    }
}

impl Catalog {
    /// A catalog with nothing in it, version 0.
    #[must_use]
    pub fn new() -> Self {
        Self {
            version: 0,
            accounts: Arc::default(),
            routines: Arc::default(),
            events: Arc::default(),
            persisted_variables: Arc::default(),
            schemas: HashMap::default(),
            references: Arc::default(),
            system_names: HashMap::default(),
        }
    }

    /// The schema called `name`; system schemas answer in any case.
    #[must_use]
    pub fn schema(&self, name: &str) -> Option<&Arc<Schema>> {
        if let Some(schema) = self.schemas.get(name) {
            return Some(schema);
        }
        if self.system_names.is_empty() {
            return None;
        }
        let real = self.system_names.get(crate::name::fold_name(name).as_str())?;
        self.schemas.get(real)
    }

    /// The table `schema.name`.
    #[must_use]
    pub fn table(&self, schema: &str, name: &str) -> Option<&Arc<TableEntry>> {
        self.schema(schema)?.table(name)
    }

    /// Adds or replaces a schema.
    pub fn insert_schema(&mut self, schema: Arc<Schema>) {
        if schema.system {
            self.system_names.insert(crate::name::fold_name(&schema.name).into(), (&*schema.name).into());
        }
        self.schemas.insert((&*schema.name).into(), schema);
    }

    /// Removes a schema with all in it.
    pub fn remove_schema(&mut self, name: &str) -> Option<Arc<Schema>> {
        self.schemas.remove(name)
    }

    /// A schema to change: copied if a published snapshot still shares it.
    pub fn schema_mut(&mut self, name: &str) -> Option<&mut Schema> {
        self.schemas.get_mut(name).map(Arc::make_mut)
    }

    /// Every schema, by name.
    #[must_use]
    pub fn schemas_sorted(&self) -> Vec<&Arc<Schema>> {
        let mut schemas: Vec<_> = self.schemas.values().collect();
        schemas.sort_unstable_by(|left, right| left.name.cmp(&right.name));
        schemas
    }

    /// The foreign keys of a published snapshot. The same value as long as no table concerned changes.
    #[must_use]
    pub fn references(&self) -> &Arc<References> {
        &self.references
    }

    /// Resolves the tables of all foreign keys again.
    pub fn find_references(&mut self) {
        let found = References::of(self);
        if !found.same(&self.references) {
            self.references = Arc::new(found);
        }
    }

    /// Every base table, in no order.
    pub fn base_tables(&self) -> impl Iterator<Item = &Arc<TableEntry>> {
        self.schemas
            .values()
            .flat_map(|schema| schema.tables.values())
            .filter(|entry| entry.definition.kind == TableKind::Base)
    }
}

/// Where the current snapshot is found. Loading is one atomic load and never waits; publishing happens under the DDL
/// lock of whoever owns the handle.
#[derive(Debug)]
pub struct CatalogHandle {
    current: ArcSwap<Catalog>,
    /// Of `current`, or of the one before it while it is being replaced.
    version: AtomicU64,
}

impl CatalogHandle {
    /// Starts with `catalog`.
    #[must_use]
    pub fn new(mut catalog: Catalog) -> Self {
        catalog.find_references();
        Self { version: AtomicU64::new(catalog.version), current: ArcSwap::from_pointee(catalog) }
    }

    /// The current snapshot, for as long as the caller keeps it.
    #[must_use]
    pub fn load(&self) -> Arc<Catalog> {
        self.current.load_full()
    }

    /// The current snapshot for a short look, without touching its reference count.
    #[must_use]
    pub fn peek(&self) -> arc_swap::Guard<Arc<Catalog>> {
        self.current.load()
    }

    /// The version of the current snapshot: one load, for those who only ask whether anything changed. Once
    /// [`CatalogHandle::publish`] has returned no reader gets an older one.
    #[inline]
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Replaces the snapshot. Invariant 2: the caller, alone at this moment, has raised the version.
    pub fn publish(&self, mut catalog: Catalog) {
        assert!(catalog.version > self.current.load().version, "a published snapshot has a higher version");
        catalog.find_references();
        let version = catalog.version;
        self.current.store(Arc::new(catalog));
        self.version.store(version, Ordering::Release);
    }
}
