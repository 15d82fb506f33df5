//! The server's definitions: the dictionary on disk, the catalog snapshot, and the one way to change both.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use catalog::{Catalog, CatalogHandle, Schema, TableDefinition, TableEntry, TableKind, TreeNumber};
use exec::access_error;
use parking_lot::{Mutex, MutexGuard};
use service::error::SqlError;
use store::{CommitPosition, Store, StoreError, Transaction, TreeId};
use table::dictionary::{Dictionary, DictionaryError};
use table::{ChangeLog, Table, ViewSource};

use crate::store_error;

type Result<T> = std::result::Result<T, Box<SqlError>>;

/// Why the definitions of a data folder could not be read.
#[derive(Debug)]
pub enum OpenDefinitionsError {
    /// The dictionary.
    Dictionary(DictionaryError),
    /// The store.
    Store(StoreError),
}

impl std::fmt::Display for OpenDefinitionsError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Dictionary(error) => error.fmt(formatter),
            Self::Store(error) => error.fmt(formatter),
        }
    }
}

impl std::error::Error for OpenDefinitionsError {}

impl From<StoreError> for OpenDefinitionsError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// The server's definitions. Statements read [`Definitions::catalog`]; changes go through [`Definitions::begin`], one at
/// a time.
#[derive(Debug)]
pub struct Definitions {
    store: Store,
    dictionary: Dictionary,
    catalog: Arc<CatalogHandle>,
    changing: Mutex<()>,
    /// Trees of temporary tables that are gone but could not be dropped yet.
    unowned: Mutex<Vec<u64>>,
    /// `innodb_online_alter_log_max_size`.
    change_log_bytes_max: AtomicU64,
}

impl Definitions {
    /// Reads the dictionary, opens all tables, adds the system schemas, and drops trees that no table owns (temporary
    /// tables of an earlier run).
    ///
    /// # Errors
    /// A dictionary that cannot be read; the store's.
    pub fn open(
        store: &Store,
        system_schemas: Vec<Arc<Schema>>,
    ) -> std::result::Result<Self, OpenDefinitionsError> {
        let (dictionary, mut catalog) = Dictionary::open(store).map_err(OpenDefinitionsError::Dictionary)?;
        drop_orphans(store, &catalog)?;
        for schema in system_schemas {
            catalog.insert_schema(schema);
        }
        Ok(Self {
            store: store.clone(),
            dictionary,
            catalog: Arc::new(CatalogHandle::new(catalog)),
            changing: Mutex::new(()),
            unowned: Mutex::default(),
            change_log_bytes_max: AtomicU64::new(128 << 20),
        })
    }

    /// The store under all tables.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Where the current snapshot is found.
    #[must_use]
    pub fn catalog(&self) -> &Arc<CatalogHandle> {
        &self.catalog
    }

    /// The dictionary, for numbers of new things.
    #[must_use]
    pub fn dictionary(&self) -> &Dictionary {
        &self.dictionary
    }

    /// Sets how many bytes writers may log while all rows are worked on (`innodb_online_alter_log_max_size`).
    pub(crate) fn set_change_log_bytes_max(&self, bytes: u64) {
        self.change_log_bytes_max.store(bytes, Ordering::Relaxed);
    }

    /// How many bytes writers may log.
    pub(super) fn change_log_bytes_max(&self) -> u64 {
        self.change_log_bytes_max.load(Ordering::Relaxed)
    }

    /// Begins a change; waits for one that is under way.
    #[must_use]
    pub fn begin(&self) -> Change<'_> {
        let changing = self.changing.lock();
        let catalog = (*self.catalog.load()).clone();
        Change {
            definitions: self,
            transaction: self.store.begin(),
            catalog,
            opened: Vec::new(),
            _changing: changing,
        }
    }

    /// Drops the trees of temporary tables, which no definition names and no transaction uses any longer, and those that an earlier call
    /// could not drop. Nobody waits until that is durable: the next start drops what is left.
    ///
    /// # Errors
    /// The store's; the next call tries again.
    pub fn drop_temporary(&self, trees: &[TreeNumber]) -> std::result::Result<(), StoreError> {
        let mut all = std::mem::take(&mut *self.unowned.lock());
        all.extend(trees.iter().map(|tree| tree.0));
        let dropped = drop_trees(&self.store, &all);
        if dropped.is_err() {
            self.unowned.lock().append(&mut all);
        }
        dropped
    }

    /// Writes exact AUTO_INCREMENT counters: part of a clean shutdown.
    ///
    /// # Errors
    /// The store's.
    pub(crate) fn save_counters(&self) -> std::result::Result<(), table::WriteError> {
        for entry in self.catalog.load().base_tables() {
            if let Some(table) = entry.source.as_any().downcast_ref::<Table>() {
                table.auto_increment().save(&self.store)?;
            }
        }
        Ok(())
    }
}

/// Drops the trees that no definition names.
fn drop_orphans(store: &Store, catalog: &Catalog) -> std::result::Result<(), StoreError> {
    let mut owned: Vec<u64> = catalog.base_tables().flat_map(|entry| trees_of(&entry.definition)).collect();
    owned.sort_unstable();
    let is_orphan = |tree: &TreeId| *tree >= TreeId::FIRST_FREE && owned.binary_search(&tree.0).is_err();
    let orphans: Vec<u64> = store.tree_ids().into_iter().filter(is_orphan).map(|tree| tree.0).collect();
    drop_trees(store, &orphans)
}

/// Drops trees in a transaction of their own: all of them or none.
fn drop_trees(store: &Store, trees: &[u64]) -> std::result::Result<(), StoreError> {
    let mut transaction = store.begin();
    transaction.set_removes(true);
    for &tree in trees {
        match transaction.drop_tree(TreeId(tree), store::LockWait::Nowait) {
            // A dropped tree is listed until its pages are free.
            Ok(()) | Err(store::WriteError::Store(StoreError::TreeGone(_))) => {}
            Err(store::WriteError::Store(error)) => return Err(error),
            Err(error) => {
                return Err(StoreError::Corrupt {
                    what: "tree".into(),
                    why: error.to_string().into(),
                    place: None,
                });
            }
        }
    }
    transaction.commit()?;
    Ok(())
}

/// The trees of a table, each once.
pub(super) fn trees_of(table: &TableDefinition) -> Vec<u64> {
    table.trees().into_iter().map(|tree| tree.0).collect()
}

/// How a table is opened after a change.
enum Opening {
    /// A view.
    View(ViewSource),
    /// It is new.
    New,
    /// The same trees under another definition.
    Altered(Arc<TableEntry>),
    /// Other trees; transactions still know the earlier ones.
    Rebuilt(Arc<TableEntry>),
}

/// A change under way: a transaction, and the snapshot that will be published. Dropping it changes nothing.
pub struct Change<'a> {
    definitions: &'a Definitions,
    /// For the dictionary and for rows that belong to the change.
    pub transaction: Transaction,
    /// The snapshot to be; edit schemas, accounts and variables here.
    pub catalog: Catalog,
    /// Tables to be opened once the transaction has committed.
    opened: Vec<(Arc<TableDefinition>, Opening)>,
    _changing: MutexGuard<'a, ()>,
}

impl Change<'_> {
    /// The dictionary, whose methods take [`Change::transaction`].
    #[must_use]
    pub fn dictionary(&self) -> &Dictionary {
        &self.definitions.dictionary
    }

    /// Makes a tree.
    ///
    /// # Errors
    /// The store's.
    pub(super) fn create_tree(&mut self) -> Result<TreeNumber> {
        match self.transaction.create_tree() {
            Ok(tree) => Ok(TreeNumber(tree.0)),
            Err(store::WriteError::Store(error)) => Err(store_error(&error)),
            Err(error) => Err(service::error::ER_GET_ERRNO.saying(error.to_string())),
        }
    }

    /// Drops trees.
    ///
    /// # Errors
    /// The store's.
    pub(super) fn drop_trees(&mut self, trees: &[u64]) -> Result<()> {
        self.transaction.set_removes(true);
        for &tree in trees {
            match self.transaction.drop_tree(TreeId(tree), store::LockWait::Nowait) {
                Ok(()) => {}
                Err(store::WriteError::Store(error)) => return Err(store_error(&error)),
                Err(error) => return Err(service::error::ER_GET_ERRNO.saying(error.to_string())),
            }
        }
        Ok(())
    }

    /// Commits what it wrote without a new snapshot: something of a definition on which no plan depends.
    ///
    /// # Errors
    /// The store's.
    pub(crate) fn commit_unpublished(self) -> Result<()> {
        self.transaction.commit().map(|_| ()).map_err(|error| store_error(&error))
    }

    /// Gives a definition the trees it lacks.
    ///
    /// # Errors
    /// The store's.
    pub(super) fn create_missing_trees(&mut self, table: &mut TableDefinition) -> Result<()> {
        if table.rows_tree == TreeNumber(0) {
            table.rows_tree = self.create_tree()?;
        }
        for ordinal in 0..table.indexes.len() {
            if table.clustered == Some(ordinal) {
                table.indexes[ordinal].tree = table.rows_tree;
            } else if table.indexes[ordinal].tree == TreeNumber(0) {
                table.indexes[ordinal].tree = self.create_tree()?;
            }
        }
        if table.large_values_tree == TreeNumber(0) && table::may_need_large_values(table) {
            table.large_values_tree = self.create_tree()?;
        }
        Ok(())
    }

    /// Writes a table that is new.
    ///
    /// # Errors
    /// The store's.
    pub(super) fn put_new(&mut self, table: Arc<TableDefinition>) -> Result<()> {
        self.put(table, Opening::New)
    }

    /// Writes a table whose definition changed but not its trees.
    ///
    /// # Errors
    /// The store's.
    pub(super) fn put_altered(
        &mut self,
        table: Arc<TableDefinition>,
        earlier: &Arc<TableEntry>,
    ) -> Result<()> {
        self.put(table, Opening::Altered(Arc::clone(earlier)))
    }

    /// Writes a table whose rows were copied to other trees.
    ///
    /// # Errors
    /// The store's.
    pub(super) fn put_rebuilt(
        &mut self,
        table: Arc<TableDefinition>,
        earlier: &Arc<TableEntry>,
    ) -> Result<()> {
        self.put(table, Opening::Rebuilt(Arc::clone(earlier)))
    }

    /// Writes a view, which has the metadata lock of `earlier`.
    ///
    /// # Errors
    /// The store's.
    pub(super) fn put_view(
        &mut self,
        view: Arc<TableDefinition>,
        earlier: Option<&TableEntry>,
    ) -> Result<()> {
        let earlier = earlier.and_then(|entry| entry.source.as_any().downcast_ref::<ViewSource>());
        self.put(view, Opening::View(earlier.map_or_else(ViewSource::default, ViewSource::again)))
    }

    fn put(&mut self, table: Arc<TableDefinition>, opening: Opening) -> Result<()> {
        if let Some(view) = &table.view {
            let dictionary = &self.definitions.dictionary;
            dictionary.put_view(&mut self.transaction, &table, view).map_err(access_error)?;
        }
        if table.kind == TableKind::Base {
            self.definitions.dictionary.put_table(&mut self.transaction, &table).map_err(access_error)?;
            if let Opening::Altered(earlier) | Opening::Rebuilt(earlier) = &opening {
                let store = &self.definitions.store;
                table::keep_histograms(store, &mut self.transaction, &earlier.definition, &table)
                    .map_err(access_error)?;
            }
        }
        self.opened.push((table, opening));
        Ok(())
    }

    /// Deletes a table with its trees.
    ///
    /// # Errors
    /// The store's.
    pub(super) fn delete(&mut self, table: &TableDefinition) -> Result<()> {
        self.drop_trees(&trees_of(table))?;
        let dictionary = &self.definitions.dictionary;
        let deleted = match table.kind {
            TableKind::Base => dictionary.delete_table(&mut self.transaction, table.id),
            TableKind::View => dictionary.delete_view(&mut self.transaction, table.id),
            TableKind::Temporary | TableKind::System => return Ok(()),
        };
        deleted.map_err(access_error)?;
        if let Some(schema) = self.catalog.schema_mut(&table.schema) {
            schema.remove(&table.name);
        }
        Ok(())
    }

    /// Publishes the table of `earlier` as one whose writers log what they change. Nothing of this is in the dictionary, and
    /// nothing else of the change happens.
    ///
    /// # Errors
    /// The store's.
    pub(super) fn publish_logged(
        mut self,
        earlier: &Arc<TableEntry>,
        changes: Arc<ChangeLog>,
    ) -> Result<Arc<TableEntry>> {
        let store = &self.definitions.store;
        // Another definition of the same content: plans that know the earlier one are made again.
        let definition = Arc::new((*earlier.definition).clone());
        let source = match earlier.source.as_any().downcast_ref::<Table>() {
            Some(table) => {
                let mut observers = table.observers().clone();
                observers.rows.push(changes);
                Table::open_observed(store, Arc::clone(&definition), table, observers)
            }
            None => Table::open(store, Arc::clone(&definition)),
        };
        let entry = Arc::new(TableEntry { definition, source: source.map_err(store_error)? });
        if let Some(schema) = self.catalog.schema_mut(&entry.definition.schema) {
            schema.insert(Arc::clone(&entry));
        }
        self.catalog.version += 1;
        self.definitions.catalog.publish(self.catalog);
        Ok(entry)
    }

    /// Commits trees that were made, and nothing else: they belong to nobody until a later change names them.
    ///
    /// # Errors
    /// The store's.
    pub(super) fn commit_trees(self) -> Result<()> {
        self.transaction.commit().map_err(store_error)?;
        Ok(())
    }

    /// Commits and publishes. Answers the position of the commit and the temporary tables that were made or changed,
    /// which no catalog holds.
    ///
    /// # Errors
    /// The store's; nothing has changed then.
    pub fn commit(mut self) -> Result<(Option<CommitPosition>, Vec<Arc<TableEntry>>)> {
        let store = &self.definitions.store;
        let position = self.transaction.commit().map_err(store_error)?;
        let mut temporary = Vec::new();
        for (definition, opening) in self.opened {
            let earlier = |entry: &Arc<TableEntry>| Arc::clone(&entry.source);
            if let Opening::View(source) = opening {
                if let Some(schema) = self.catalog.schema_mut(&definition.schema) {
                    schema.insert(Arc::new(TableEntry { definition, source: Arc::new(source) }));
                }
                continue;
            }
            let source = match &opening {
                Opening::View(_) | Opening::New => Table::open(store, Arc::clone(&definition)),
                Opening::Altered(entry) => match earlier(entry).as_any().downcast_ref::<Table>() {
                    Some(table) => Table::open_from(store, Arc::clone(&definition), table),
                    None => Table::open(store, Arc::clone(&definition)),
                },
                Opening::Rebuilt(entry) => match earlier(entry).as_any().downcast_ref::<Table>() {
                    Some(table) => Table::open_rebuilt(store, Arc::clone(&definition), table),
                    None => Table::open(store, Arc::clone(&definition)),
                },
            };
            let source = source.map_err(store_error)?;
            let new_index = |entry: &Arc<TableEntry>| {
                let before = trees_of(&entry.definition);
                trees_of(&definition).iter().any(|tree| !before.contains(tree))
            };
            // A temporary table is read as it is now, whatever the snapshot.
            let is_temporary = definition.kind == TableKind::Temporary;
            if !is_temporary && !matches!(&opening, Opening::Altered(entry) if !new_index(entry)) {
                source.hide_from_older_views();
            }
            let entry = Arc::new(TableEntry { definition: Arc::clone(&definition), source });
            if is_temporary {
                temporary.push(entry);
            } else if let Some(schema) = self.catalog.schema_mut(&definition.schema) {
                schema.insert(entry);
            }
        }
        self.catalog.version += 1;
        self.definitions.catalog.publish(self.catalog);
        Ok((position, temporary))
    }
}
