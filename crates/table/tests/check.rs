//! A table's check finds each kind of disagreement and names it; and nothing in a sound table.

use std::ops::ControlFlow;
use std::sync::Arc;

use catalog::IndexKind;
use env::simulated::SimWorld;
use fixture::{column, create, definition, index, open_store};
use store::{LockWait, ScanRange, Store, Transaction, Tree, TreeId};
use table::{CheckDepth, CheckEnd, RowScratch, Table, Utc, WriteContext};
use types::{Cell, CollationId, DataType, TypeKind};

const CONTEXT: WriteContext<'static> = WriteContext { zone: &Utc, wait: LockWait::Nowait, reader: None };

/// 40 rows, an index over a string, a unique one with NULLs, large values in own and in shared streams.
fn filled(store: &Store) -> Arc<Table> {
    let columns = vec![
        column("id", DataType::integer(TypeKind::Int, false), false),
        column("name", DataType::varchar(100, CollationId::UTF8MB4_0900_AI_CI), false),
        column("code", DataType::BIGINT, true),
        column("data", DataType::text(TypeKind::LongText, CollationId::BINARY), false),
        column("more", DataType::text(TypeKind::LongText, CollationId::BINARY), true),
    ];
    let indexes = vec![
        index("PRIMARY", IndexKind::Primary, &[0]),
        index("code", IndexKind::Unique, &[2]),
        index("name", IndexKind::Plain, &[1]),
    ];
    let table = create(store, definition(columns, indexes));
    let mut transaction = store.begin();
    let mut scratch = RowScratch::default();
    for id in 0..40_i64 {
        let name = format!("Name {}", id % 7);
        let code = if id % 3 == 0 { Cell::Null } else { Cell::Int(id * 10) };
        let data = vec![id as u8; [10, 9_000, 100_000][id as usize % 3]];
        let more = vec![7; 6_000];
        let cells =
            [Cell::Int(id), Cell::Bytes(name.as_bytes()), code, Cell::Bytes(&data), Cell::Bytes(&more)];
        table.insert_with(&mut transaction, &cells, CONTEXT, &mut scratch).unwrap();
    }
    transaction.commit().unwrap();
    table
}

fn problems(table: &Table) -> Vec<String> {
    table.check(CheckDepth::Rows, || Ok::<(), ()>(())).unwrap()
}

fn tree(store: &Store, table: &Table, what: &str) -> Tree {
    let trees = table.trees();
    let found: &(TreeId, String) = trees.iter().find(|tree| tree.1 == what).unwrap();
    store.tree(found.0).unwrap()
}

/// The records of a tree.
fn records(store: &Store, tree: &Tree) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut all = Vec::new();
    store
        .scan(tree, &ScanRange::all())
        .for_each(store.read_view().reader(), |key, value| {
            all.push((key.to_vec(), value.to_vec()));
            ControlFlow::Continue(())
        })
        .unwrap();
    all
}

/// Breaks a fresh table behind its back and gives what its check says.
fn broken(change: impl FnOnce(&Store, &Table, &mut Transaction)) -> Vec<String> {
    let world = SimWorld::new(1);
    let store = open_store(&world);
    let table = filled(&store);
    assert_eq!(problems(&table), [] as [&str; 0]);
    let mut transaction = store.begin();
    change(&store, &table, &mut transaction);
    transaction.commit().unwrap();
    problems(&table)
}

#[track_caller]
fn says(problems: &[String], wanted: &[&str]) {
    assert_eq!(problems.len(), wanted.len(), "{problems:#?}");
    for (problem, wanted) in problems.iter().zip(wanted) {
        assert!(problem.contains(wanted), "{problem} has no {wanted}");
    }
}

#[test]
fn a_lost_entry_is_named() {
    let found = broken(|store, table, transaction| {
        let tree = tree(store, table, "index name");
        let (key, _) = records(store, &tree).swap_remove(11);
        assert!(transaction.delete(&tree, &key, LockWait::Nowait).unwrap());
    });
    says(
        &found,
        &["index name has no entry for the row with the key 0x8000", "contains 39 entries, should be 40"],
    );
}

#[test]
fn an_entry_without_a_row_is_named() {
    let found = broken(|store, table, transaction| {
        let tree = tree(store, table, "rows");
        let (key, _) = records(store, &tree).swap_remove(12);
        assert!(transaction.delete(&tree, &key, LockWait::Nowait).unwrap());
    });
    says(
        &found,
        &[
            "index code contains 40 entries, should be 39",
            "leads to no row",
            "index name contains 40 entries, should be 39",
            "leads to no row",
            "belongs to no row",
        ],
    );
}

#[test]
fn an_entry_of_other_columns_is_named() {
    let found = broken(|store, table, transaction| {
        let tree = tree(store, table, "index code");
        // A key of the form that a NULL gives, so that it ends with a row's key.
        let (key, value) = records(store, &tree).swap_remove(0);
        assert!(transaction.delete(&tree, &key, LockWait::Nowait).unwrap());
        let mut other = key.clone();
        other[3] ^= 1;
        transaction.insert(&tree, &other, &value, LockWait::Nowait).unwrap();
    });
    says(&found, &["index code has no entry for the row", "leads to a row with other columns"]);
}

#[test]
fn a_row_that_cannot_be_read_is_named() {
    let found = broken(|store, table, transaction| {
        let tree = tree(store, table, "rows");
        let (key, mut value) = records(store, &tree).swap_remove(5);
        value.truncate(9);
        transaction.put(&tree, &key, &value, LockWait::Nowait).unwrap();
    });
    assert!(found[0].contains("cannot be read"), "{found:#?}");
}

#[test]
fn lost_and_left_over_large_values_are_named() {
    let found = broken(|store, table, transaction| {
        let tree = tree(store, table, "large values");
        let all = records(store, &tree);
        let (key, _) = all.iter().rfind(|(key, _)| key[11] == 20).unwrap();
        assert!(transaction.delete(&tree, key, LockWait::Nowait).unwrap());
    });
    says(&found, &["has a gap before its chunk 21"]);
    let found = broken(|store, table, transaction| {
        let tree = tree(store, table, "large values");
        let (key, _) = records(store, &tree).pop().unwrap();
        assert!(transaction.delete(&tree, &key, LockWait::Nowait).unwrap());
    });
    assert!(found[0].contains("its row wants") || found[0].contains("large value"), "{found:#?}");
    let found = broken(|store, table, transaction| {
        let tree = tree(store, table, "large values");
        let mut key = 5_000_u64.to_be_bytes().to_vec();
        key.extend([0; 4]);
        transaction.put(&tree, &key, b"left over", LockWait::Nowait).unwrap();
    });
    says(&found, &["stream 5000 belongs to no row"]);
}

#[test]
fn a_check_ends_when_asked_and_ignores_what_is_not_committed() {
    let world = SimWorld::new(1);
    let store = open_store(&world);
    let table = filled(&store);
    let mut asked = 0;
    let ended = table.check(CheckDepth::Rows, || {
        asked += 1;
        if asked > 4 { Err("enough") } else { Ok(()) }
    });
    assert!(matches!(ended, Err(CheckEnd::Asked("enough"))));
    let mut transaction = store.begin();
    let rows = tree(&store, &table, "rows");
    let (key, _) = records(&store, &rows).swap_remove(5);
    transaction.delete(&rows, &key, LockWait::Nowait).unwrap();
    assert_eq!(problems(&table), [] as [&str; 0]);
}
