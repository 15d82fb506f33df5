//! A table against a model: random inserts, updates and deletes in transactions, some rolled back, then every way of
//! reading must show the model's rows; the same after a crash.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use catalog::{IndexKind, KeyBound, KeyRange, TableDefinition, TableStatistics};
use env::random::Rng;
use env::simulated::SimWorld;
use fixture::{column, create, definition, index, open_store};
use store::{LockMode, LockWait, Locked, Store, StoreError};
use table::codec::row::LargeReference;
use table::{
    Error, KeyBytesRange, ScanRequest, Table, Updated, Utc, WHOLE_BYTES_MAX, WriteContext, WriteError,
};
use types::vector::{Batch, BytesColumn};
use types::{Cell, CollationId, DataType, Decimal, TypeKind, Value};

const CONTEXT: WriteContext<'static> =
    WriteContext { zone: &Utc, wait: LockWait::Timeout(Duration::from_millis(1)), reader: None };

/// id, group (nullable), unique code (nullable), text, amount, blob.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    id: i64,
    group: Option<i64>,
    code: Option<i64>,
    text: Vec<u8>,
    amount: Decimal,
    blob: Vec<u8>,
}

impl Row {
    fn cells(&self) -> Vec<Cell<'_>> {
        vec![
            Cell::Int(self.id),
            self.group.map_or(Cell::Null, Cell::Int),
            self.code.map_or(Cell::Null, Cell::Int),
            Cell::Bytes(&self.text),
            Cell::Decimal(&self.amount),
            Cell::Bytes(&self.blob),
        ]
    }

    fn random(random: &mut Rng) -> Self {
        let blob_bytes = match random.below(20) {
            0 => random.below(200_000),
            1..4 => random.below(9_000),
            _ => random.below(60),
        } as usize;
        let fill = random.below(256) as u8;
        let text_bytes = if random.below(10) == 0 { 1500 } else { random.below(30) as usize };
        Self {
            id: random.below(200) as i64 - 100,
            group: (random.below(5) > 0).then(|| random.below(6) as i64),
            code: (random.below(3) > 0).then(|| random.below(60) as i64),
            text: vec![b'a' + random.below(26) as u8; text_bytes],
            amount: Decimal::from_units(i128::from(random.below(100_000)), 2),
            blob: (0..blob_bytes).map(|at| fill.wrapping_add(at as u8)).collect(),
        }
    }
}

fn make(store: &Store, primary: bool) -> Arc<Table> {
    let columns = vec![
        column("id", DataType::integer(TypeKind::Int, false), false),
        column("grp", DataType::integer(TypeKind::Int, false), true),
        column("code", DataType::BIGINT, true),
        column("txt", DataType::varchar(2000, CollationId::UTF8MB4_0900_AI_CI), false),
        column("amount", DataType::decimal(12, 2), false),
        column("data", DataType::text(TypeKind::LongText, CollationId::BINARY), false),
    ];
    let mut prefix = index("txt", IndexKind::Plain, &[3, 1]);
    prefix.parts[0].prefix_length = Some(5);
    let mut by_amount = index("amount", IndexKind::Plain, &[4]);
    by_amount.parts[0].descending = true;
    let first = if primary { IndexKind::Primary } else { IndexKind::Plain };
    let indexes = vec![
        index("PRIMARY", first, &[0]),
        index("code", IndexKind::Unique, &[2]),
        index("grp", IndexKind::Plain, &[1]),
        prefix,
        by_amount,
    ];
    create(store, definition(columns, indexes))
}

fn read_all(table: &Arc<Table>, request: ScanRequest, view: &store::ReadView) -> Vec<Row> {
    let shapes = request.columns.iter().map(|&c| table.definition().columns[c].data_type.physical());
    let mut batch = Batch::new(shapes);
    let mut scan = table.scan(request);
    let mut rows = Vec::new();
    while scan.next_batch(view.reader(), &Utc, &mut batch, None).unwrap() {
        for row in 0..batch.row_count {
            let int = |column: usize| match batch.columns[column].cell(row) {
                Cell::Int(value) => Some(value),
                _ => None,
            };
            rows.push(Row {
                id: int(0).unwrap(),
                group: int(1),
                code: int(2),
                text: batch.columns[3].bytes().get(row).to_vec(),
                amount: batch.columns[4].decimals()[row],
                blob: batch.columns[5].bytes().get(row).to_vec(),
            });
        }
    }
    rows
}

fn check(table: &Arc<Table>, store: &Store, model: &BTreeMap<i64, Row>) {
    let problems = table.check(table::CheckDepth::Entries, || Ok::<(), ()>(())).unwrap();
    assert_eq!(problems, [] as [&str; 0]);
    let view = store.read_view();
    let all = |index: Option<usize>, reverse: bool| ScanRequest {
        index,
        ranges: vec![KeyBytesRange::ALL],
        reverse,
        columns: vec![0, 1, 2, 3, 4, 5],
        parts: Vec::new(),
    };
    let expected: Vec<Row> = model.values().cloned().collect();
    for path in [None, Some(0), Some(1), Some(2), Some(3), Some(4)] {
        let mut forward = read_all(table, all(path, false), &view);
        let mut backward = read_all(table, all(path, true), &view);
        backward.reverse();
        assert_eq!(forward, backward, "index {path:?} backward");
        if path == Some(2) {
            assert!(forward.is_sorted_by_key(|row| row.group));
        }
        if path == Some(4) {
            assert!(forward.is_sorted_by(|left, right| left.amount >= right.amount));
        }
        forward.sort_by_key(|row| row.id);
        assert_eq!(forward, expected, "index {path:?}");
    }
    // A range of the group index, covering: only columns that the entry has.
    for group in 0..6 {
        let range = table.key_range(2, &KeyRange::equal(vec![Value::Int(group)]), &Utc);
        let primary = table.definition().primary_key().is_some();
        let columns = if primary { vec![0, 1] } else { vec![1] };
        assert!(columns.iter().all(|&column| table.covers(2, column)));
        let mut batch = Batch::new(columns.iter().map(|_| types::Physical::Int));
        let mut scan = table.scan(ScanRequest {
            index: Some(2),
            ranges: vec![range],
            reverse: false,
            columns,
            parts: Vec::new(),
        });
        let mut count = 0;
        let mut locators = BytesColumn::default();
        while scan.next_batch(view.reader(), &Utc, &mut batch, Some(&mut locators)).unwrap() {
            count += batch.row_count;
            assert_eq!(locators.len(), batch.row_count);
        }
        assert_eq!(count, model.values().filter(|row| row.group == Some(group)).count());
    }
    // Points through the unique index.
    for code in 0..60 {
        let mut key = Vec::new();
        table.key_codec(1).write_part(0, Cell::Int(code), &Utc, &mut key);
        let found = table.get_unique(1, &key, view.reader(), |row| row.int(0, &Utc)).unwrap();
        assert_eq!(found, model.values().find(|row| row.code == Some(code)).map(|row| row.id));
    }
}

fn run(seed: u64, primary: bool) {
    let mut world = SimWorld::new(seed);
    let mut store = open_store(&world);
    let mut table = make(&store, primary);
    let definition = Arc::clone(table.definition());
    let mut random = Rng::new(seed * 7919 + 1);
    let mut model: BTreeMap<i64, Row> = BTreeMap::new();
    for round in 0..8 {
        for _ in 0..10 {
            let mut transaction = store.begin();
            let mut next = model.clone();
            for _ in 0..=random.below(6) {
                let row = Row::random(&mut random);
                let taken = |next: &BTreeMap<i64, Row>, code: Option<i64>, id: i64| {
                    code.is_some() && next.values().any(|other| other.code == code && other.id != id)
                };
                let locator_of =
                    |store: &Store, transaction: &store::Transaction, id: i64| -> Option<Vec<u8>> {
                        let view = store.read_view();
                        let mut scan = table.scan(ScanRequest {
                            index: Some(0),
                            ranges: vec![table.key_range(0, &KeyRange::equal(vec![Value::Int(id)]), &Utc)],
                            reverse: false,
                            columns: vec![0],
                            parts: Vec::new(),
                        });
                        let mut batch = Batch::new([types::Physical::Int]);
                        let mut locators = BytesColumn::default();
                        let reader = transaction.reader(&view);
                        scan.next_batch(reader, &Utc, &mut batch, Some(&mut locators)).unwrap();
                        (batch.row_count > 0).then(|| locators.get(0).to_vec())
                    };
                match random.below(3) {
                    0 => {
                        // Without a primary key the model keeps ids in a map of its own.
                        if !primary && next.contains_key(&row.id) {
                            continue;
                        }
                        let result = table.insert(&mut transaction, &row.cells(), CONTEXT);
                        if next.contains_key(&row.id) {
                            let Err(WriteError::Access(Error::DuplicateKey(key))) = result else {
                                panic!("{result:?}")
                            };
                            assert_eq!((key.index, key.value), (0, row.id.to_string()));
                        } else if taken(&next, row.code, row.id) {
                            let Err(WriteError::Access(Error::DuplicateKey(key))) = result else {
                                panic!("{result:?}")
                            };
                            assert_eq!((key.index, key.key.as_str()), (1, "t.code"));
                        } else {
                            result.unwrap();
                            next.insert(row.id, row);
                        }
                    }
                    1 => {
                        let Some((&id, old)) =
                            next.iter().nth(random.below(next.len().max(1) as u64) as usize)
                        else {
                            continue;
                        };
                        let locator = locator_of(&store, &transaction, id).unwrap();
                        let mut new = old.clone();
                        let mut changes: Vec<(usize, Cell<'_>)> = Vec::new();
                        let cells = row.cells();
                        for (column, cell) in cells.into_iter().enumerate() {
                            if random.below(3) == 0 {
                                changes.push((column, cell));
                                match column {
                                    0 => new.id = row.id,
                                    1 => new.group = row.group,
                                    2 => new.code = row.code,
                                    3 => new.text = row.text.clone(),
                                    4 => new.amount = row.amount,
                                    _ => new.blob = row.blob.clone(),
                                }
                            }
                        }
                        let id_taken = new.id != id && next.contains_key(&new.id);
                        if !primary && id_taken {
                            continue;
                        }
                        let locked = table.lock_row(
                            &mut transaction,
                            &locator,
                            LockMode::Exclusive,
                            CONTEXT.wait,
                            |row| row.int(0, &Utc),
                        );
                        assert_eq!(locked.unwrap(), Locked::Row(id));
                        let result = table.update(&mut transaction, &locator, &changes, CONTEXT);
                        if id_taken || taken(&next, new.code, id) {
                            assert!(
                                matches!(result, Err(WriteError::Access(Error::DuplicateKey(_)))),
                                "{result:?}"
                            );
                        } else {
                            let expected = if new == *old { Updated::Same } else { Updated::Changed };
                            assert_eq!(result.unwrap(), expected);
                            next.remove(&id);
                            next.insert(new.id, new);
                        }
                    }
                    _ => {
                        let locator = locator_of(&store, &transaction, row.id);
                        assert_eq!(locator.is_some(), next.contains_key(&row.id));
                        if let Some(locator) = locator {
                            assert!(table.delete(&mut transaction, &locator, CONTEXT).unwrap());
                            next.remove(&row.id);
                        }
                    }
                }
            }
            if random.below(4) == 0 {
                transaction.rollback().unwrap();
            } else {
                if let Some(position) = transaction.commit().unwrap() {
                    store.sync_to(position).unwrap();
                }
                model = next;
            }
        }
        check(&table, &store, &model);
        if round % 4 == 3 {
            drop((table, store));
            world = world.crash();
            store = open_store(&world);
            table = Table::open(&store, Arc::clone(&definition)).unwrap();
            check(&table, &store, &model);
            store.check().unwrap();
        }
    }
    assert!(table.row_count() > 0);
    assert!(table.distinct_count(2, 1) <= 8);
    let low = KeyRange { lower: KeyBound::Unbounded, upper: KeyBound::Exclusive(vec![Value::Int(0)]) };
    let estimate = table.estimate_rows(0, &low);
    let exact = model.keys().filter(|&&id| id < 0).count() as u64;
    assert!(estimate.abs_diff(exact) <= 30, "{estimate} {exact}");
}

#[test]
fn a_table_with_a_primary_key_equals_its_model() {
    for seed in 1..=2 {
        run(seed, true);
    }
}

#[test]
fn a_table_without_a_primary_key_equals_its_model() {
    for seed in 11..=11 {
        run(seed, false);
    }
}

/// Numbers handed out are never handed out again, whatever crashes; a clean end leaves no gap.
#[test]
fn auto_increment_never_goes_back() {
    let mut world = SimWorld::new(3);
    let mut store = open_store(&world);
    let mut columns = vec![column("id", DataType::integer(TypeKind::Int, false), false)];
    columns[0].auto_increment = true;
    let table = create(&store, definition(columns, vec![index("PRIMARY", IndexKind::Primary, &[0])]));
    let definition = Arc::clone(table.definition());
    let counter = table.auto_increment();
    assert_eq!(counter.reserve(&store, 1).unwrap(), 1);
    assert_eq!(counter.reserve(&store, 5).unwrap(), 2);
    counter.observe(&store, 100).unwrap();
    let last = counter.reserve(&store, 1).unwrap();
    assert_eq!(last, 101);
    let mut transaction = store.begin();
    table.insert(&mut transaction, &[Cell::Int(101)], CONTEXT).unwrap();
    store.sync_to(transaction.commit().unwrap().unwrap()).unwrap();
    drop((table, store));
    world = world.crash();
    store = open_store(&world);
    let table = Table::open(&store, Arc::clone(&definition)).unwrap();
    let next = table.auto_increment().reserve(&store, 1).unwrap();
    assert!(next > last, "{next}");
    table.auto_increment().save(&store).unwrap();
    store.close().unwrap();
    drop((table, store));
    let store = open_store(&world);
    let table = Table::open(&store, definition).unwrap();
    assert_eq!(table.auto_increment().peek(), next + 1);
    table.auto_increment().observe(&store, i32::MAX as u64).unwrap();
    assert_eq!(
        table.auto_increment().reserve(&store, 1).unwrap(),
        i32::MAX as u64,
        "the last one again: 1062"
    );
}

/// Nobody brings more than 1 GB of a value into memory: that is refused before anything is read, or room made.
#[test]
fn a_value_beyond_the_limit_is_not_read_whole() {
    let store = open_store(&SimWorld::new(5));
    let table = make(&store, true);
    let view = store.read_view();
    let mut value = Vec::new();
    let mut fetch = |length| {
        let reference = LargeReference { stream: 1, offset: 0, length };
        table.fetch_large(view.reader(), reference, &mut value).unwrap_err()
    };
    assert!(matches!(fetch(WHOLE_BYTES_MAX + 1), StoreError::Limit(_)));
    assert!(matches!(fetch(100_000), StoreError::Corrupt { .. }), "there is no such value");
    assert!(value.capacity() < 1 << 20);
}

/// A bad bit in the page of watermarks keeps no table from being opened and read; who needs a number gets the error.
#[test]
fn an_unreadable_counter_fails_who_needs_it_and_nobody_else() {
    let world = SimWorld::new(6);
    let store = open_store(&world);
    let mut columns = vec![column("id", DataType::integer(TypeKind::Int, false), false)];
    columns[0].auto_increment = true;
    let table = create(&store, definition(columns, vec![index("PRIMARY", IndexKind::Primary, &[0])]));
    let definition = Arc::clone(table.definition());
    let first = table.auto_increment().reserve(&store, 1).unwrap();
    let mut transaction = store.begin();
    table.insert(&mut transaction, &[Cell::Int(first as i64)], CONTEXT).unwrap();
    transaction.commit().unwrap();
    store.close().unwrap();
    drop((table, store));
    let folder = std::path::Path::new(fixture::FOLDER);
    let blocks = store::check_files(world.env(), folder).unwrap().blocks as usize;
    let flip = |block: usize| world.disk().flip_bit(folder, "data", block * store::PAGE_BYTES + 9_000, 0);
    let block = (2..blocks)
        .find(|&block| {
            flip(block);
            let report = store::check_files(world.env(), folder).unwrap();
            let is_found = report.damages.iter().any(|damage| damage.tree == Some(store::TreeId(2)));
            if !is_found {
                flip(block);
            }
            is_found
        })
        .expect("a page of watermarks");
    let store = open_store(&world);
    let table = Table::open(&store, Arc::clone(&definition)).unwrap();
    let counter = table.auto_increment();
    assert!(matches!(counter.reserve(&store, 1), Err(WriteError::Store(StoreError::Corrupt { .. }))));
    assert!(matches!(counter.observe(&store, 1), Err(WriteError::Store(StoreError::Corrupt { .. }))));
    let request = ScanRequest {
        index: None,
        ranges: vec![KeyBytesRange::ALL],
        reverse: false,
        columns: vec![0],
        parts: Vec::new(),
    };
    let view = store.read_view();
    let mut batch = Batch::new([definition.columns[0].data_type.physical()]);
    assert!(table.scan(request).next_batch(view.reader(), &Utc, &mut batch, None).unwrap());
    assert_eq!(batch.columns[0].cell(0), Cell::Int(1));
    drop((view, table, store));
    // As good as new when the bit is.
    flip(block);
    let store = open_store(&world);
    let table = Table::open(&store, definition).unwrap();
    assert!(table.auto_increment().reserve(&store, 1).unwrap() > first);
}

/// An instant change says nothing of index entries: those from before are what they should be.
#[test]
fn entries_written_before_an_instant_change_are_sound() {
    let store = open_store(&SimWorld::new(7));
    let text = DataType::varchar(30, CollationId::UTF8MB4_0900_AI_CI);
    let columns =
        vec![column("id", DataType::integer(TypeKind::Int, false), false), column("txt", text, true)];
    let indexes = vec![index("PRIMARY", IndexKind::Primary, &[0]), index("txt", IndexKind::Plain, &[1])];
    let table = create(&store, definition(columns, indexes));
    let insert = |table: &Arc<Table>, cells: &[Cell<'_>]| {
        let mut transaction = store.begin();
        table.insert(&mut transaction, cells, CONTEXT).unwrap();
        transaction.commit().unwrap();
    };
    insert(&table, &[Cell::Int(1), Cell::Bytes(b"one")]);
    let mut changed = TableDefinition::clone(table.definition());
    changed.row_version += 1;
    let mut added = column("more", DataType::integer(TypeKind::Int, false), true);
    added.since_version = changed.row_version;
    added.stored_order = 2;
    changed.columns.push(added);
    let table = Table::open(&store, Arc::new(changed)).unwrap();
    insert(&table, &[Cell::Int(2), Cell::Bytes(b"two"), Cell::Int(7)]);
    let problems = table.check(table::CheckDepth::Entries, || Ok::<(), ()>(())).unwrap();
    assert_eq!(problems, [] as [&str; 0]);
}
