//! The definitions in the store: what the catalog is made from at start, and where DDL writes.
//!
//! One tree holds all. A key is the kind of a definition (1 byte), its number (8 bytes) and a chunk number (4 bytes),
//! both big-endian; a definition longer than a record is cut into chunks. Every DDL statement is one transaction over
//! this tree and the trees it makes or drops, so a crash leaves all of it or nothing; the catalog snapshot is published
//! when that transaction has committed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use access::KeyBytesRange;
use catalog::{
    Account, AccountId, Catalog, EventDefinition, EventId, Events, RoutineDefinition, RoutineId, Routines,
    Schema, SchemaId, TableDefinition, TableEntry, TableId, ViewDefinition, fold_name,
};
use hashbrown::HashMap;
use store::{Store, StoreError, Transaction, Tree, TreeId};

use crate::WAIT_INTERNAL;
use crate::auto_increment::COUNTERS_TREE;
use crate::chunks::{self, HISTOGRAMS_TREE, STATISTICS_TREE};
use crate::encoding::{self, DecodeError};
use crate::error::{WriteError, from_store};
use crate::index::scan_range;
use crate::table::Table;
use crate::view::ViewSource;

/// Bytes of a chunk.
const CHUNK_BYTES: usize = 3500;

const KIND_SCHEMA: u8 = 1;
const KIND_TABLE: u8 = 2;
const KIND_ACCOUNT: u8 = 3;
const KIND_VARIABLE: u8 = 4;
const KIND_ROUTINE: u8 = 5;
const KIND_VIEW: u8 = 6;
const KIND_EVENT: u8 = 7;

/// Why the dictionary cannot be read.
#[derive(Clone, Debug)]
pub enum DictionaryError {
    /// A definition was written by a newer version of the program.
    Newer {
        /// The version it has.
        version: u8,
    },
    /// A definition makes no sense.
    Damaged {
        /// Which.
        what: String,
    },
    /// The store failed.
    Store(StoreError),
}

impl std::fmt::Display for DictionaryError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Newer { version } => {
                write!(
                    formatter,
                    "the dictionary has format {version}, this program reads up to {}",
                    encoding::VERSION
                )
            }
            Self::Damaged { what } => write!(formatter, "the dictionary is damaged: {what}"),
            Self::Store(error) => error.fmt(formatter),
        }
    }
}

impl std::error::Error for DictionaryError {}

impl From<StoreError> for DictionaryError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// The dictionary of an open store.
#[derive(Debug)]
pub struct Dictionary {
    tree: Tree,
    counters: Tree,
    collected: Tree,
    histograms: Tree,
    next_schema: AtomicU32,
    next_table: AtomicU64,
    next_account: AtomicU32,
    next_routine: AtomicU64,
    next_event: AtomicU64,
}

impl Dictionary {
    /// Reads everything and opens every table. The catalog has version 1.
    ///
    /// # Errors
    /// A definition that cannot be read; the store's.
    pub fn open(store: &Store) -> Result<(Self, Catalog), DictionaryError> {
        let this = Self {
            tree: store.tree(TreeId::DICTIONARY)?,
            counters: store.tree(COUNTERS_TREE)?,
            collected: store.tree(STATISTICS_TREE)?,
            histograms: store.tree(HISTOGRAMS_TREE)?,
            next_schema: AtomicU32::new(1),
            next_table: AtomicU64::new(1),
            next_account: AtomicU32::new(1),
            next_routine: AtomicU64::new(1),
            next_event: AtomicU64::new(1),
        };
        let mut catalog = Catalog::new();
        let mut accounts = Vec::new();
        let mut routines = Routines::default();
        let mut events = Events::default();
        let mut variables = HashMap::default();
        let mut schema_names: HashMap<SchemaId, Arc<str>> = HashMap::new();
        for (kind, number, record) in this.records(store)? {
            let damaged = |error| match error {
                DecodeError::Newer(version) => DictionaryError::Newer { version },
                DecodeError::Damaged => DictionaryError::Damaged { what: format!("record {kind}.{number}") },
            };
            match kind {
                KIND_SCHEMA => {
                    let schema = encoding::decode_schema(&record).map_err(damaged)?;
                    this.next_schema.fetch_max(schema.id.0 + 1, Ordering::Relaxed);
                    schema_names.insert(schema.id, Arc::clone(&schema.name));
                    catalog.insert_schema(Arc::new(schema));
                }
                KIND_TABLE => {
                    // Schemas sort before tables, so their names are known.
                    let definition = encoding::decode_table(&record, |id| schema_names.get(&id).cloned());
                    let definition = Arc::new(definition.map_err(damaged)?);
                    this.next_table.fetch_max(definition.id.0 + 1, Ordering::Relaxed);
                    let source = Table::open(store, Arc::clone(&definition))?;
                    let entry = TableEntry { definition: Arc::clone(&definition), source };
                    if let Some(schema) = catalog.schema_mut(&definition.schema) {
                        schema.insert(Arc::new(entry));
                    }
                }
                KIND_ACCOUNT => {
                    let account = encoding::decode_account(&record).map_err(damaged)?;
                    this.next_account.fetch_max(account.id.0 + 1, Ordering::Relaxed);
                    accounts.push(Arc::new(account));
                }
                KIND_VARIABLE => {
                    let (name, value) = encoding::decode_variable(&record).map_err(damaged)?;
                    variables.insert((&*name).into(), (&*value).into());
                }
                KIND_ROUTINE => {
                    let routine = encoding::decode_routine(&record).map_err(damaged)?;
                    this.next_routine.fetch_max(routine.id.0 + 1, Ordering::Relaxed);
                    routines.insert(Arc::new(routine));
                }
                KIND_EVENT => {
                    let event = encoding::decode_event(&record).map_err(damaged)?;
                    this.next_event.fetch_max(event.id.0 + 1, Ordering::Relaxed);
                    events.insert(Arc::new(event));
                }
                KIND_VIEW => {
                    let definition = encoding::decode_view(&record, |id| schema_names.get(&id).cloned());
                    let definition = Arc::new(definition.map_err(damaged)?);
                    this.next_table.fetch_max(definition.id.0 + 1, Ordering::Relaxed);
                    let source = Arc::new(ViewSource::default());
                    if let Some(schema) = catalog.schema_mut(&definition.schema) {
                        schema.insert(Arc::new(TableEntry { definition, source }));
                    }
                }
                _ => return Err(DictionaryError::Damaged { what: format!("record of kind {kind}") }),
            }
        }
        catalog.accounts = Arc::new(catalog::Accounts { list: accounts });
        catalog.routines = Arc::new(routines);
        catalog.events = Arc::new(events);
        catalog.persisted_variables = Arc::new(variables);
        catalog.version = 1;
        Ok((this, catalog))
    }

    /// All records, chunks joined, by kind and number.
    fn records(&self, store: &Store) -> Result<Vec<(u8, u64, Vec<u8>)>, DictionaryError> {
        let view = store.read_view();
        let mut records: Vec<(u8, u64, Vec<u8>)> = Vec::new();
        let mut scan = store.scan(&self.tree, &scan_range(&KeyBytesRange::ALL, false));
        while scan.next_batch(view.reader(), |key, value| {
            let kind = key.first().copied().unwrap_or(0);
            let number = key.get(1..9).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_be_bytes);
            match records.last_mut() {
                Some(last) if last.0 == kind && last.1 == number => last.2.extend_from_slice(value),
                _ => records.push((kind, number, value.to_vec())),
            }
            std::ops::ControlFlow::Continue(())
        })? {}
        Ok(records)
    }

    /// A number for a new schema.
    pub fn new_schema_id(&self) -> SchemaId {
        SchemaId(self.next_schema.fetch_add(1, Ordering::Relaxed))
    }

    /// A number for a new table.
    pub fn new_table_id(&self) -> TableId {
        TableId(self.next_table.fetch_add(1, Ordering::Relaxed))
    }

    /// A number for a new account.
    pub fn new_account_id(&self) -> AccountId {
        AccountId(self.next_account.fetch_add(1, Ordering::Relaxed))
    }

    /// A number for a new routine.
    pub fn new_routine_id(&self) -> RoutineId {
        RoutineId(self.next_routine.fetch_add(1, Ordering::Relaxed))
    }

    /// Writes a routine, new or changed.
    ///
    /// # Errors
    /// The store's.
    pub fn put_routine(
        &self,
        transaction: &mut Transaction,
        routine: &RoutineDefinition,
    ) -> Result<(), WriteError> {
        self.put(transaction, KIND_ROUTINE, routine.id.0, &encoding::encode_routine(routine))
    }

    /// Deletes a routine.
    ///
    /// # Errors
    /// The store's.
    pub fn delete_routine(&self, transaction: &mut Transaction, id: RoutineId) -> Result<(), WriteError> {
        self.delete(transaction, KIND_ROUTINE, id.0, 0)
    }

    /// A number for a new event.
    pub fn new_event_id(&self) -> EventId {
        EventId(self.next_event.fetch_add(1, Ordering::Relaxed))
    }

    /// Writes an event, new or changed.
    ///
    /// # Errors
    /// The store's.
    pub fn put_event(
        &self,
        transaction: &mut Transaction,
        event: &EventDefinition,
    ) -> Result<(), WriteError> {
        self.put(transaction, KIND_EVENT, event.id.0, &encoding::encode_event(event))
    }

    /// Deletes an event.
    ///
    /// # Errors
    /// The store's.
    pub fn delete_event(&self, transaction: &mut Transaction, id: EventId) -> Result<(), WriteError> {
        self.delete(transaction, KIND_EVENT, id.0, 0)
    }

    /// Writes a schema, new or changed.
    ///
    /// # Errors
    /// The store's.
    pub fn put_schema(&self, transaction: &mut Transaction, schema: &Schema) -> Result<(), WriteError> {
        self.put(transaction, KIND_SCHEMA, u64::from(schema.id.0), &encoding::encode_schema(schema))
    }

    /// Deletes a schema; its tables are the caller's to delete.
    ///
    /// # Errors
    /// The store's.
    pub fn delete_schema(&self, transaction: &mut Transaction, id: SchemaId) -> Result<(), WriteError> {
        self.delete(transaction, KIND_SCHEMA, u64::from(id.0), 0)
    }

    /// Writes a table, new or changed.
    ///
    /// # Errors
    /// The store's.
    pub fn put_table(
        &self,
        transaction: &mut Transaction,
        table: &TableDefinition,
    ) -> Result<(), WriteError> {
        self.put(transaction, KIND_TABLE, table.id.0, &encoding::encode_table(table))
    }

    /// Deletes a table; its trees are the caller's to drop.
    ///
    /// # Errors
    /// The store's.
    pub fn delete_table(&self, transaction: &mut Transaction, id: TableId) -> Result<(), WriteError> {
        transaction.delete(&self.counters, &id.0.to_be_bytes(), WAIT_INTERNAL).map_err(from_store)?;
        chunks::write(&self.collected, transaction, id, &[])?;
        chunks::write(&self.histograms, transaction, id, &[])?;
        self.delete(transaction, KIND_TABLE, id.0, 0)
    }

    /// Writes a view, new or changed.
    ///
    /// # Errors
    /// The store's.
    pub fn put_view(
        &self,
        transaction: &mut Transaction,
        table: &TableDefinition,
        view: &ViewDefinition,
    ) -> Result<(), WriteError> {
        self.put(transaction, KIND_VIEW, table.id.0, &encoding::encode_view(table, view))
    }

    /// Deletes a view.
    ///
    /// # Errors
    /// The store's.
    pub fn delete_view(&self, transaction: &mut Transaction, id: TableId) -> Result<(), WriteError> {
        self.delete(transaction, KIND_VIEW, id.0, 0)
    }

    /// Sets a table's AUTO_INCREMENT counter, to be read when the table is next opened.
    ///
    /// # Errors
    /// The store's.
    pub fn put_counter(
        &self,
        transaction: &mut Transaction,
        id: TableId,
        next: u64,
    ) -> Result<(), WriteError> {
        transaction
            .put(&self.counters, &id.0.to_be_bytes(), &next.to_le_bytes(), WAIT_INTERNAL)
            .map_err(from_store)
    }

    /// Drops a table's AUTO_INCREMENT counter: it starts at 1 again.
    ///
    /// # Errors
    /// The store's.
    pub fn reset_counter(&self, transaction: &mut Transaction, id: TableId) -> Result<(), WriteError> {
        transaction.delete(&self.counters, &id.0.to_be_bytes(), WAIT_INTERNAL).map(|_| ()).map_err(from_store)
    }

    /// Writes an account, new or changed.
    ///
    /// # Errors
    /// The store's.
    pub fn put_account(&self, transaction: &mut Transaction, account: &Account) -> Result<(), WriteError> {
        self.put(transaction, KIND_ACCOUNT, u64::from(account.id.0), &encoding::encode_account(account))
    }

    /// Deletes an account.
    ///
    /// # Errors
    /// The store's.
    pub fn delete_account(&self, transaction: &mut Transaction, id: AccountId) -> Result<(), WriteError> {
        self.delete(transaction, KIND_ACCOUNT, u64::from(id.0), 0)
    }

    /// Writes a persisted variable.
    ///
    /// # Errors
    /// The store's.
    pub fn put_variable(
        &self,
        transaction: &mut Transaction,
        name: &str,
        value: &str,
    ) -> Result<(), WriteError> {
        self.put(transaction, KIND_VARIABLE, variable_number(name), &encoding::encode_variable(name, value))
    }

    /// Deletes a persisted variable.
    ///
    /// # Errors
    /// The store's.
    pub fn delete_variable(&self, transaction: &mut Transaction, name: &str) -> Result<(), WriteError> {
        self.delete(transaction, KIND_VARIABLE, variable_number(name), 0)
    }

    fn put(
        &self,
        transaction: &mut Transaction,
        kind: u8,
        number: u64,
        record: &[u8],
    ) -> Result<(), WriteError> {
        let mut chunk_count = 0;
        for chunk in record.chunks(CHUNK_BYTES) {
            transaction
                .put(&self.tree, &key(kind, number, chunk_count), chunk, WAIT_INTERNAL)
                .map_err(from_store)?;
            chunk_count += 1;
        }
        self.delete(transaction, kind, number, chunk_count)
    }

    /// Deletes the chunks of a record from `first` on.
    fn delete(
        &self,
        transaction: &mut Transaction,
        kind: u8,
        number: u64,
        first: u32,
    ) -> Result<(), WriteError> {
        let mut chunk = first;
        while transaction.delete(&self.tree, &key(kind, number, chunk), WAIT_INTERNAL).map_err(from_store)? {
            chunk += 1;
        }
        Ok(())
    }
}

fn key(kind: u8, number: u64, chunk: u32) -> [u8; 13] {
    let mut key = [0; 13];
    key[0] = kind;
    key[1..9].copy_from_slice(&number.to_be_bytes());
    key[9..].copy_from_slice(&chunk.to_be_bytes());
    key
}

/// Variables have no number: a hash of the name serves (FNV-1a, 64 bits).
fn variable_number(name: &str) -> u64 {
    let folded = fold_name(name);
    folded
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
