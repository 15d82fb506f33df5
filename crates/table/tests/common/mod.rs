//! Tables over a simulated disk, without SQL.
#![allow(dead_code, reason = "each test uses a part")]

use std::path::Path;
use std::sync::Arc;

use catalog::{
    ColumnDefault, ColumnDefinition, IndexAlgorithm, IndexDefinition, IndexKind, IndexPart, NameMap,
    SchemaId, StoredValue, TableDefinition, TableId, TableKind, TableOptions, TreeNumber,
};
use env::simulated::SimWorld;
use store::{Options, Store};
use table::Table;
use types::{CollationId, DataType};

pub(crate) fn open_store(world: &SimWorld) -> Store {
    let options = Options { background_threads: false, buffer_pool_bytes: 16 << 20, ..Options::default() };
    Store::open(world.env(), Path::new("/data"), options).unwrap()
}

pub(crate) fn column(name: &str, data_type: DataType, nullable: bool) -> ColumnDefinition {
    ColumnDefinition {
        name: name.into(),
        data_type,
        nullable,
        default: if nullable { ColumnDefault::Null } else { ColumnDefault::None },
        on_update_now: false,
        auto_increment: false,
        generated: None,
        invisible: false,
        collation_explicit: false,
        comment: "".into(),
        since_version: 0,
        instant_default: StoredValue::Null,
    }
}

pub(crate) fn index(name: &str, kind: IndexKind, columns: &[usize]) -> IndexDefinition {
    IndexDefinition {
        name: name.into(),
        kind,
        tree: TreeNumber(0),
        parts: columns
            .iter()
            .map(|&column| IndexPart { column, prefix_length: None, descending: false })
            .collect(),
        visible: true,
        algorithm: IndexAlgorithm::Default,
        comment: "".into(),
    }
}

pub(crate) fn definition(columns: Vec<ColumnDefinition>, indexes: Vec<IndexDefinition>) -> TableDefinition {
    let mut table = TableDefinition {
        id: TableId(7),
        name: "t".into(),
        schema_id: SchemaId(1),
        schema: "s".into(),
        kind: TableKind::Base,
        columns,
        indexes,
        clustered: None,
        rows_tree: TreeNumber(0),
        large_values_tree: TreeNumber(0),
        row_version: 0,
        collation: CollationId::UTF8MB4_0900_AI_CI,
        comment: "".into(),
        created_micros: 0,
        options: TableOptions::default(),
        foreign_keys: Vec::new(),
        checks: Vec::new(),
        column_names: NameMap::default(),
    };
    table.index_names();
    table
}

/// Makes the trees of a definition and opens it.
pub(crate) fn create(store: &Store, mut table: TableDefinition) -> Arc<Table> {
    let mut transaction = store.begin();
    let mut tree = || TreeNumber(transaction.create_tree().unwrap().0);
    table.rows_tree = tree();
    table.large_values_tree = tree();
    for ordinal in 0..table.indexes.len() {
        table.indexes[ordinal].tree = if table.clustered == Some(ordinal) { table.rows_tree } else { tree() };
    }
    transaction.commit().unwrap();
    Table::open(store, Arc::new(table)).unwrap()
}
