//! Keys and rows over bytes, and a table's trees kept in step.

use std::sync::Arc;

use env::simulated::SimWorld;
use store::{LockMode, LockWait, Locked, Store, Transaction};
use table::codec::row::{BytesRef, Layout, RowView};
use table::{KeyBytesRange, RowScratch, ScanRequest, Table, Utc, WriteContext};
use types::vector::Batch;
use types::{Cell, Decimal};

use crate::count::{Counter, Sequence};

const ROWS: u32 = 4_000;
const CONTEXT: WriteContext<'static> = WriteContext { zone: &Utc, wait: LockWait::Nowait, reader: None };
const CREATE: &str = "CREATE TABLE t (id INT PRIMARY KEY, k INT NOT NULL, total DECIMAL(12,2) NOT NULL, c CHAR(120) NOT NULL, \
    name VARCHAR(40), KEY k (k), KEY n (name))";

/// The values of row `id`.
struct Row {
    id: i64,
    total: Decimal,
    name: Vec<u8>,
}

const TEXT: [u8; 119] = [b'x'; 119];

impl Row {
    fn new(id: u32) -> Row {
        Row {
            id: i64::from(id),
            total: Decimal::from_units(i128::from(id) * 37, 2),
            name: format!("name {id:05}").into_bytes(),
        }
    }

    fn cells(&self) -> [Cell<'_>; 5] {
        [
            Cell::Int(self.id),
            Cell::Int(self.id % 97),
            Cell::Decimal(&self.total),
            Cell::Bytes(&TEXT),
            Cell::Bytes(&self.name),
        ]
    }
}

fn key(id: u32, table: &Table) -> Vec<u8> {
    let mut key = Vec::new();
    table.key_codec(0).write_part(0, Cell::Int(i64::from(id)), &Utc, &mut key);
    key
}

pub(crate) fn count(counter: &mut Counter) {
    let store = fixture::open_store(&SimWorld::new(2));
    super::leave_free_blocks(&store);
    let table = fixture::create(&store, fixture::parse_table(CREATE));
    let mut transaction = store.begin();
    let mut scratch = RowScratch::default();
    for id in 0..ROWS {
        table.insert_with(&mut transaction, &Row::new(id).cells(), CONTEXT, &mut scratch).expect("a new row");
    }
    transaction.commit().expect("a commit");
    codecs(counter, &table);
    reads(counter, &store, &table);
    writes(counter, &store, &table);
}

fn codecs(counter: &mut Counter, table: &Arc<Table>) {
    let mut out = Vec::with_capacity(512);
    for (name, index, cell) in
        [("table.key_int", 0, Cell::Int(4711)), ("table.key_text", 2, Cell::Bytes(b"name 04711"))]
    {
        counter.count(name, 512, |_| {
            out.clear();
            table.key_codec(index).write_part(0, cell, &Utc, &mut out);
        });
    }
    let layout = Layout::new(&table.definition().columns, 0, |_| None, |_| true);
    let row = Row::new(4711);
    let cells = row.cells();
    let variable = |number: usize| match cells[layout.variable_columns()[number] as usize] {
        Cell::Bytes(bytes) => BytesRef::Inline(bytes),
        _ => BytesRef::Inline(b""),
    };
    counter.count("table.row_write", 512, |_| {
        out.clear();
        layout.write(|ordinal| cells[ordinal], variable, &Utc, &mut out);
    });
    let body = out.clone();
    counter.count("table.row_read", 512, |_| {
        let view = RowView::new(&layout, b"", b"", &body);
        (view.int(0, &Utc), view.int(1, &Utc), view.decimal(2), view.bytes(3).len(), view.bytes(4).len())
    });
}

fn reads(counter: &mut Counter, store: &Store, table: &Arc<Table>) {
    let mut random = Sequence(5);
    let view = store.read_view();
    counter.count("table.get_row", 512, |_| {
        let key = key(random.below(u64::from(ROWS)) as u32, table);
        table.get_row(&key, view.reader(), |row| row.bytes(3).len()).expect("a read").expect("a row")
    });
    let shapes = || table.definition().columns[..3].iter().map(|column| column.data_type.physical());
    for (name, index) in [("table.scan_1000_rows", None), ("table.scan_1000_by_index", Some(1))] {
        counter.count(name, 8, |_| {
            let mut batch = Batch::new(shapes());
            let request = ScanRequest {
                index,
                ranges: vec![KeyBytesRange::ALL],
                reverse: false,
                columns: vec![0, 1, 2],
                parts: Vec::new(),
            };
            let mut scan = table.scan(request);
            scan.set_batch_rows(1000);
            assert!(scan.next_batch(view.reader(), &Utc, &mut batch, None).expect("a scan"));
            assert_eq!(batch.row_count, 1000);
        });
    }
}

fn writes(counter: &mut Counter, store: &Store, table: &Arc<Table>) {
    let mut random = Sequence(6);
    let rows: Vec<Row> = (0..1024).map(|number| Row::new(ROWS + number)).collect();
    let mut scratch = RowScratch::default();
    counter.count("table.insert_two_indexes", 512, |number| {
        let mut transaction = store.begin();
        let cells = rows[number as usize].cells();
        table.insert_with(&mut transaction, &cells, CONTEXT, &mut scratch).expect("a new row");
        transaction.commit().expect("a commit")
    });
    let lock = |transaction: &mut Transaction, key: &[u8]| {
        let locked =
            table.lock_row(transaction, key, LockMode::Exclusive, CONTEXT.wait, |row| row.int(0, &Utc));
        assert!(matches!(locked, Ok(Locked::Row(_))));
    };
    counter.count("table.update_plain_column", 512, |number| {
        let total = Decimal::from_units(i128::from(number) + 1_000_000_000, 2);
        let mut transaction = store.begin();
        let key = key(random.below(u64::from(ROWS)) as u32, table);
        lock(&mut transaction, &key);
        table.update(&mut transaction, &key, &[(2, Cell::Decimal(&total))], CONTEXT).expect("a row");
        transaction.commit().expect("a commit")
    });
    counter.count("table.update_indexed_column", 512, |number| {
        let mut transaction = store.begin();
        let key = key(random.below(u64::from(ROWS)) as u32, table);
        lock(&mut transaction, &key);
        let changes = [(1, Cell::Int(i64::from(number) + 1000))];
        table.update(&mut transaction, &key, &changes, CONTEXT).expect("a row");
        transaction.commit().expect("a commit")
    });
    counter.count("table.delete", 512, |number| {
        let mut transaction = store.begin();
        let key = key(ROWS + number, table);
        lock(&mut transaction, &key);
        assert!(table.delete(&mut transaction, &key, CONTEXT).expect("a row"));
        transaction.commit().expect("a commit")
    });
}
