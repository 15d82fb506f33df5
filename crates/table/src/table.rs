//! A table over the store: its definition compiled into codecs, its trees, its counters.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use access::{KeyBound, KeyBytesRange, KeyRange, RowObserver, RowTrigger};
use catalog::{TableDefinition, TableKind, TableSource, TreeNumber};
use store::{Reader, Store, StoreError, Tree};
use types::{Cell, Physical};

use crate::auto_increment::AutoIncrement;
use crate::codec::key::{KeyCodec, next_prefix};
use crate::codec::row::Layout;
use crate::index::{Index, open_indexes, scan_range, tree_id};
use crate::metadata_lock::MetadataLock;
use crate::statistics::{CachedStatistics, Statistics};

/// A table whose rows are in the store. Shared by all statements that run on one definition; a changed definition is
/// another `Table` over the same trees (and the same counters, see [`Table::open_from`]).
#[derive(Debug)]
pub struct Table {
    pub(crate) definition: Arc<TableDefinition>,
    pub(crate) store: Store,
    pub(crate) rows: Tree,
    /// Layouts of rows by version.
    pub(crate) layouts: Vec<Layout>,
    /// Keys of rows; `None`: hidden row numbers.
    pub(crate) clustered: Option<KeyCodec>,
    pub(crate) indexes: Vec<Index>,
    pub(crate) large: Option<Tree>,
    /// Who sees changes of its rows.
    observers: Observers,
    /// An insert may fail after it has changed something.
    pub(crate) insert_makes_several_changes: bool,
    counters: Arc<Counters>,
    pub(crate) known: CachedStatistics,
    /// The first commit whose snapshot shows all rows in all indexes.
    usable_from: AtomicU64,
}

/// Who sees changes of a table's rows. Whoever opens a table says so: its observers are those of one definition.
#[derive(Clone, Debug, Default)]
pub struct Observers {
    /// Fired by the rows that statements change themselves.
    pub trigger: Option<Arc<dyn RowTrigger>>,
    /// See every change of a stored row, in this order.
    pub rows: Vec<Arc<dyn RowObserver>>,
}

/// The number behind the last one in a tree, or why it is not known: a damaged table opens all the same, and only who needs
/// a number hears of it.
#[derive(Debug)]
pub(crate) struct NextNumber(Result<AtomicU64, StoreError>);

impl NextNumber {
    fn behind_last(store: &Store, tree: Option<&Tree>) -> Result<NextNumber, StoreError> {
        let last = tree.map_or(Ok(None), |tree| last_number(store, tree));
        match last {
            Ok(last) => Ok(NextNumber(Ok(AtomicU64::new(last.map_or(1, |number| number + 1))))),
            Err(error @ (StoreError::Corrupt { .. } | StoreError::Read { .. })) => Ok(NextNumber(Err(error))),
            Err(error) => Err(error),
        }
    }

    #[inline]
    fn take(&self) -> Result<u64, StoreError> {
        match &self.0 {
            Ok(next) => Ok(next.fetch_add(1, Ordering::Relaxed)),
            Err(error) => Err(error.clone()),
        }
    }
}

/// What lives as long as the table's trees, whatever its definition.
#[derive(Debug)]
pub(crate) struct Counters {
    /// The next hidden row number.
    pub(crate) next_row: NextNumber,
    /// The next stream of large values.
    pub(crate) next_stream: NextNumber,
    pub(crate) auto_increment: AutoIncrement,
    pub(crate) metadata_lock: Arc<MetadataLock>,
    pub(crate) statistics: Statistics,
}

impl Table {
    /// Opens a table from its definition.
    ///
    /// # Errors
    /// The store's, `TreeGone` if the definition names trees that do not exist.
    pub fn open(store: &Store, definition: Arc<TableDefinition>) -> Result<Arc<Self>, StoreError> {
        Self::open_with(store, definition, None, None, Observers::default())
    }

    /// Opens the table as `definition` now describes it, keeping counters and statistics of `earlier`, which is the
    /// same table before an instant change.
    ///
    /// # Errors
    /// The store's.
    pub fn open_from(
        store: &Store,
        definition: Arc<TableDefinition>,
        earlier: &Self,
    ) -> Result<Arc<Self>, StoreError> {
        Self::open_with(store, definition, Some(earlier), None, Observers::default())
    }

    /// Opens a table whose rows were copied into new trees (or dropped: TRUNCATE): only the metadata lock stays.
    ///
    /// # Errors
    /// The store's.
    pub fn open_rebuilt(
        store: &Store,
        definition: Arc<TableDefinition>,
        earlier: &Self,
    ) -> Result<Arc<Self>, StoreError> {
        Self::open_with(
            store,
            definition,
            None,
            Some(Arc::clone(earlier.metadata_lock())),
            Observers::default(),
        )
    }

    /// As [`Table::open_from`], of a table whose changes `observers` see.
    ///
    /// # Errors
    /// The store's.
    pub fn open_observed(
        store: &Store,
        definition: Arc<TableDefinition>,
        earlier: &Self,
        observers: Observers,
    ) -> Result<Arc<Self>, StoreError> {
        Self::open_with(store, definition, Some(earlier), None, observers)
    }

    /// The local table behind a catalog entry, for scans, which keep it.
    #[must_use]
    pub fn of(source: &Arc<dyn TableSource>) -> Option<Arc<Self>> {
        let any: Arc<dyn Any + Send + Sync> = Arc::clone(source) as Arc<dyn Any + Send + Sync>;
        any.downcast().ok()
    }

    fn open_with(
        store: &Store,
        definition: Arc<TableDefinition>,
        earlier: Option<&Self>,
        metadata_lock: Option<Arc<MetadataLock>>,
        observers: Observers,
    ) -> Result<Arc<Self>, StoreError> {
        let clustered =
            definition.clustered.map(|index| KeyCodec::new(&definition, &definition.indexes[index].parts));
        let layouts = (0..=definition.row_version)
            .map(|version| {
                let place = |ordinal: usize| clustered.as_ref().and_then(|codec| codec.place_of(ordinal));
                Layout::with_dropped(&definition.columns, &definition.dropped_columns, version, place, |_| {
                    true
                })
            })
            .collect();
        let usable_from = earlier.map_or(0, |earlier| earlier.usable_from.load(Ordering::Relaxed));
        let rows = store.tree(tree_id(definition.rows_tree))?;
        let indexes = open_indexes(store, &definition, 0..definition.indexes.len())?;
        let large = match definition.large_values_tree {
            TreeNumber(0) => None,
            tree => Some(store.tree(tree_id(tree))?),
        };
        let names = [&*definition.schema, &*definition.name];
        rows.set_names(&names);
        if let Some(large) = &large {
            large.set_names(&names);
        }
        for (index, of) in indexes.iter().zip(&definition.indexes) {
            if index.entries.is_some() {
                index.tree.set_names(&[names[0], names[1], &of.name]);
            }
        }
        let counters = match earlier {
            Some(earlier) => Arc::clone(&earlier.counters),
            None => Arc::new(Counters {
                next_row: NextNumber::behind_last(store, clustered.is_none().then_some(&rows))?,
                next_stream: NextNumber::behind_last(store, large.as_ref())?,
                auto_increment: AutoIncrement::open(store, &definition)?,
                metadata_lock: metadata_lock.unwrap_or_default(),
                statistics: Statistics::default(),
            }),
        };
        let insert_makes_several_changes =
            indexes.len() > usize::from(clustered.is_some()) || large.is_some() || !observers.rows.is_empty();
        Ok(Arc::new(Self {
            definition,
            store: store.clone(),
            rows,
            layouts,
            clustered,
            indexes,
            large,
            insert_makes_several_changes,
            observers,
            counters,
            known: CachedStatistics::default(),
            usable_from: AtomicU64::new(usable_from),
        }))
    }

    /// What the table looks like.
    #[must_use]
    pub fn definition(&self) -> &Arc<TableDefinition> {
        &self.definition
    }

    /// Who sees changes of its rows.
    #[must_use]
    pub fn observers(&self) -> &Observers {
        &self.observers
    }

    /// Who is fired by the rows that statements change themselves.
    pub(crate) fn trigger(&self) -> Option<&Arc<dyn RowTrigger>> {
        self.observers.trigger.as_ref()
    }

    /// How many columns it has.
    pub(crate) fn width(&self) -> usize {
        self.definition.columns.len()
    }

    /// The store the table is in.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// How keys of index `index` are written: what the point path keeps in its program.
    #[must_use]
    pub fn key_codec(&self, index: usize) -> &KeyCodec {
        &self.indexes[index].keys
    }

    /// How keys of an index over column `column` alone would be written.
    pub(crate) fn column_codec(&self, column: usize) -> KeyCodec {
        let part = catalog::IndexPart { column, prefix_length: None, descending: false };
        KeyCodec::new(&self.definition, &[part])
    }

    /// Whether column `column` can be read from entries of index `index` alone.
    #[must_use]
    pub fn covers(&self, index: usize, column: usize) -> bool {
        self.indexes[index].entries.as_ref().is_none_or(|entries| entries.covers(column))
    }

    /// Whether there is no row, in the newest committed state.
    ///
    /// # Errors
    /// The store's.
    pub fn is_empty(&self) -> Result<bool, StoreError> {
        let view = self.store.read_view();
        let mut empty = true;
        self.store.scan(&self.rows, &scan_range(&KeyBytesRange::ALL, false)).for_each(
            view.reader(),
            |_, _| {
                empty = false;
                std::ops::ControlFlow::Break(())
            },
        )?;
        Ok(empty)
    }

    /// The largest value of an integer column that leads an index, 0 if there is none above: what an AUTO_INCREMENT
    /// counter must stay above.
    ///
    /// # Errors
    /// The store's.
    pub fn largest_value(&self, column: usize) -> Result<u64, StoreError> {
        let leads = |index: &&Index| index.keys.parts().first().is_some_and(|part| part.column == column);
        let Some(index) = self.indexes.iter().find(leads) else { return Ok(0) };
        let backward = !index.keys.parts()[0].descending;
        let view = self.store.read_view();
        let mut largest = 0;
        self.store.scan(&index.tree, &scan_range(&KeyBytesRange::ALL, backward)).for_each(
            view.reader(),
            |key, value| {
                let row = match &index.entries {
                    Some(entries) => entries.view(key, value),
                    None => self.row_view(key, value),
                };
                if !row.is_null(column) {
                    largest = row.int(column, &crate::Utc);
                }
                std::ops::ControlFlow::Break(())
            },
        )?;
        let unsigned = self.definition.columns[column].data_type.unsigned;
        Ok(if unsigned { largest as u64 } else { largest.max(0) as u64 })
    }

    /// The AUTO_INCREMENT counter.
    #[must_use]
    pub fn auto_increment(&self) -> &AutoIncrement {
        &self.counters.auto_increment
    }

    /// The lock that transactions using the table hold shared. It stays the same when the table is altered in place; a
    /// rebuilt table takes it over from the earlier one ([`Table::open_rebuilt`]).
    #[must_use]
    pub fn metadata_lock(&self) -> &Arc<MetadataLock> {
        &self.counters.metadata_lock
    }

    /// How rows are read by who reads as `reader`. The rows of a temporary table change with its session alone, which sees them as they are
    /// now, also in a transaction that is older than the table.
    #[inline]
    pub(crate) fn reader<'v>(&self, reader: Reader<'v>) -> Reader<'v> {
        if self.definition.kind == TableKind::Temporary { reader.newest() } else { reader }
    }

    /// Whether a snapshot sees the table whole. One that is older than the table's last rebuild (or newest index) does
    /// not: a read through it is 1412, "Table definition has changed, please retry transaction".
    #[must_use]
    pub fn is_visible_to(&self, view: &store::ReadView) -> bool {
        view.csn().0 >= self.usable_from.load(Ordering::Relaxed)
    }

    /// Says that older snapshots than the newest commit do not see the table whole.
    pub fn hide_from_older_views(&self) {
        self.usable_from.store(self.store.newest_position().0, Ordering::Relaxed);
    }

    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    pub(crate) fn next_row_number(&self) -> Result<u64, StoreError> {
        self.counters.next_row.take()
    }

    pub(crate) fn next_stream(&self) -> Result<u64, StoreError> {
        self.counters.next_stream.take()
    }

    /// The layout of the rows written now.
    pub(crate) fn current_layout(&self) -> &Layout {
        &self.layouts[self.definition.row_version as usize]
    }

    /// The layout of version `version`; the current one for a version that does not exist.
    pub(crate) fn layout(&self, version: u32) -> &Layout {
        self.layouts.get(version as usize).unwrap_or_else(|| self.current_layout())
    }

    /// The bytes between which the keys of `range` of index `index` lie.
    #[must_use]
    pub fn key_range(
        &self,
        index: usize,
        range: &KeyRange,
        zone: &dyn crate::TimestampZone,
    ) -> KeyBytesRange {
        let keys = &self.indexes[index].keys;
        let prefix = |values: &[types::Value]| {
            let mut key = Vec::new();
            for (number, value) in values.iter().enumerate().take(keys.parts().len()) {
                access::with_cell(value, |cell| keys.write_part(number, cell, zone, &mut key));
            }
            key
        };
        let lower = match &range.lower {
            KeyBound::Unbounded => Vec::new(),
            KeyBound::Inclusive(values) => prefix(values),
            KeyBound::Exclusive(values) => {
                let mut key = prefix(values);
                if !next_prefix(&mut key) {
                    return KeyBytesRange::EMPTY;
                }
                key
            }
        };
        let upper = match &range.upper {
            KeyBound::Unbounded => None,
            KeyBound::Inclusive(values) => {
                let mut key = prefix(values);
                next_prefix(&mut key).then_some(key)
            }
            KeyBound::Exclusive(values) => Some(prefix(values)),
        };
        KeyBytesRange { lower, upper }
    }
}

/// The first 8 bytes of the last key of a tree whose keys start with a big-endian number.
fn last_number(store: &Store, tree: &Tree) -> Result<Option<u64>, StoreError> {
    let view = store.read_view();
    let mut last = None;
    let mut scan = store.scan(tree, &scan_range(&KeyBytesRange::ALL, true));
    while last.is_none()
        && scan.next_batch(view.reader(), |key, _| {
            last = key.get(..8).and_then(|bytes| bytes.try_into().ok()).map(u64::from_be_bytes);
            std::ops::ControlFlow::Break(())
        })?
    {}
    Ok(last)
}

/// Whether rows of this table can be longer than a record of the store, so that it needs a tree of large values. The row's key, its
/// primary key, stands in the record, too.
#[must_use]
pub fn may_need_large_values(table: &TableDefinition) -> bool {
    let total: u64 = table.columns.iter().map(|column| column.data_type.bytes_max() + 3).sum();
    let primary = table.indexes.iter().find(|index| index.is_primary());
    let key: u64 = primary.map_or(0, |index| {
        let of_part = |column: usize| {
            let data_type = &table.columns[column].data_type;
            let factor = if data_type.physical() == Physical::Bytes { SORT_KEY_FACTOR_MAX } else { 1 };
            data_type.bytes_max() * factor + 3
        };
        index.parts.iter().map(|part| of_part(part.column)).sum()
    });
    total + key.min(store::KEY_BYTES_MAX as u64) + 512 > store::RECORD_BYTES_MAX as u64
}

/// A text's sort key has at most this many times the bytes that its type may have: 18 weights of two bytes for a character of four.
const SORT_KEY_FACTOR_MAX: u64 = 9;

/// A cell's NULL-ness without looking at its value.
pub(crate) fn is_null(cell: Cell<'_>) -> bool {
    matches!(cell, Cell::Null)
}
