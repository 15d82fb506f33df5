//! Kernels over a batch of 1,024 rows, and operators over a table of as many.

use std::sync::Arc;

use catalog::{Catalog, Schema, SchemaId, TableId};
use env::simulated::SimWorld;
use exec::expr::{EvalContext, EvalSettings, NoSession, Program, SqlResult, Warnings};
use exec::{ExecContext, Prepared, RowSink, run_query};
use fixture::Binding;
use plan::physical::{Node, Op, PhysicalPlan, PlanKind};
use plan::{Expr, Options};
use store::{LockWait, Store};
use table::{LocalSnapshot, LocalTransaction, RowScratch, Table, Utc, WriteContext};
use types::vector::Batch;
use types::{Cell, Column, Decimal};

use crate::count::Counter;

const ROWS: u32 = 1024;
const CREATE: &str = "CREATE TABLE t (id INT PRIMARY KEY, a INT NOT NULL, b INT, d DECIMAL(12,2) NOT NULL, x DOUBLE NOT NULL, \
    s VARCHAR(40) NOT NULL, day DATE NOT NULL)";

const KERNELS: [(&str, &str); 9] = [
    ("int_add", "a + id"),
    ("int_add_nullable", "a + b"),
    ("int_compare", "a > 500"),
    ("double_multiply", "x * 1.5e0"),
    ("decimal_multiply", "d * 1.19"),
    ("text_equal", "s = 'Name 00077'"),
    ("text_like", "s LIKE '%0007%'"),
    ("case", "CASE WHEN a < 300 THEN 'low' WHEN a < 700 THEN 'middle' ELSE 'high' END"),
    ("concat", "CONCAT(s, '-', a)"),
];

const QUERIES: [(&str, &str); 6] = [
    ("filter_sum", "SELECT SUM(a), COUNT(*) FROM t WHERE b > 20"),
    ("sum_decimal", "SELECT SUM(d) FROM t"),
    ("group_by_int", "SELECT b, COUNT(*), SUM(a) FROM t GROUP BY b"),
    ("order_by_text", "SELECT id FROM t ORDER BY s DESC"),
    ("order_by_limit", "SELECT id FROM t ORDER BY x LIMIT 10"),
    ("hash_join", "SELECT COUNT(*) FROM t t1 JOIN t t2 ON t1.a = t2.a"),
];

/// Takes rows and forgets them.
struct Forget(usize);

impl RowSink for Forget {
    fn batch(&mut self, batch: &Batch) -> SqlResult<bool> {
        self.0 += batch.row_count;
        Ok(true)
    }
}

struct World {
    store: Store,
    table: Arc<Table>,
    catalog: Arc<Catalog>,
}

/// What row `id` holds beside its own number: texts and decimals live here, cells are made of them.
fn values(id: u32) -> (Decimal, String) {
    (Decimal::from_units(i128::from(id) * 1237 % 1_000_000, 2), format!("name {:05}", id * 7919 % 1000))
}

fn cells<'a>(id: u32, decimal: &'a Decimal, text: &'a str) -> [Cell<'a>; 7] {
    let scattered = i64::from(id) * 7919 % 1009;
    let nullable = if id.is_multiple_of(10) { Cell::Null } else { Cell::Int(i64::from(id % 50)) };
    let day =
        types::temporal::DateTime { year: 2026, month: 1, day: (id % 28 + 1) as u8, ..Default::default() }
            .pack();
    [
        Cell::Int(i64::from(id)),
        Cell::Int(scattered),
        nullable,
        Cell::Decimal(decimal),
        Cell::Double(scattered as f64 * 0.37),
        Cell::Bytes(text.as_bytes()),
        Cell::Int(day),
    ]
}

impl World {
    fn new() -> World {
        let store = fixture::open_store(&SimWorld::new(3));
        let mut definition = fixture::parse_table(CREATE);
        definition.id = TableId(1);
        definition.schema = "d".into();
        let table = fixture::create(&store, definition);
        let mut transaction = store.begin();
        let mut scratch = RowScratch::default();
        for id in 0..ROWS {
            let (decimal, text) = values(id);
            let context = WriteContext { zone: &Utc, wait: LockWait::Nowait, reader: None };
            table
                .insert_with(&mut transaction, &cells(id, &decimal, &text), context, &mut scratch)
                .expect("a new row");
        }
        transaction.commit().expect("a commit");
        let mut schema = Schema::new(SchemaId(1), "d", fixture::COLLATION, false);
        schema.insert(fixture::entry(Arc::clone(&table)));
        let mut catalog = Catalog::new();
        catalog.version = 1;
        catalog.insert_schema(Arc::new(schema));
        World { store, table, catalog: Arc::new(catalog) }
    }

    fn plan(&self, sql: &str) -> PhysicalPlan {
        let arena = bumpalo::Bump::new();
        let parsed = syntax::parse(sql.as_bytes(), &arena, syntax::SqlMode::default()).expect("it parses");
        let bound = plan::bind::bind(&parsed.statement, sql.as_bytes(), &self.catalog, &Binding("d"))
            .unwrap_or_else(|error| panic!("{sql}: {}", error.message));
        plan::optimize(bound, &Options::new(&self.catalog))
    }

    /// The rows as a scan of these columns gives them.
    fn batch(&self, columns: &[usize]) -> Batch {
        let definition = self.table.definition();
        let mut batch =
            Batch::new(columns.iter().map(|&column| definition.columns[column].data_type.physical()));
        for id in 0..ROWS {
            let (decimal, text) = values(id);
            let cells = cells(id, &decimal, &text);
            for (column, &ordinal) in batch.columns.iter_mut().zip(columns) {
                column.push_cell(cells[ordinal]);
            }
        }
        batch.row_count = ROWS as usize;
        batch
    }
}

/// Expressions over a scan, and the columns that it reads.
fn projection(node: &Node) -> (&[Expr], &[usize]) {
    let Op::Project { input, exprs } = &node.op else { panic!("not a projection: {:?}", node.op) };
    let Op::Scan(scan) = &input.op else { panic!("not of a scan: {:?}", input.op) };
    (exprs, &scan.columns)
}

fn root(plan: &PhysicalPlan) -> &Node {
    let PlanKind::Query(root) = &plan.kind else { panic!("not a query") };
    root
}

pub(crate) fn count(counter: &mut Counter) {
    let world = World::new();
    for (name, expression) in KERNELS {
        kernel(counter, &world, name, expression);
    }
    for (name, sql) in QUERIES {
        query(counter, &world, name, sql);
    }
}

fn kernel(counter: &mut Counter, world: &World, name: &str, expression: &str) {
    let plan = world.plan(&format!("SELECT {expression} FROM t"));
    let (exprs, columns) = projection(root(&plan));
    let batch = world.batch(columns);
    let program = Program::compile(exprs).expect("it compiles");
    let mut scratch = program.scratch();
    let settings = EvalSettings::default();
    let (mut warnings, mut session) = (Warnings::default(), NoSession);
    let mut out = vec![Column::new(exprs[0].data_type.physical())];
    counter.count(&format!("exec.eval_{name}"), 8, |_| {
        let mut context = EvalContext {
            settings: &settings,
            params: &[],
            outer: Vec::new(),
            session: &mut session,
            warnings: &mut warnings,
            snapshot: None,
            transaction: None,
        };
        out[0].clear();
        program.eval(&mut scratch, &batch, &mut context, &mut out).expect("it has a value");
        assert_eq!(out[0].len(), ROWS as usize);
    });
}

fn query(counter: &mut Counter, world: &World, name: &str, sql: &str) {
    let prepared = Prepared::new(Arc::new(world.plan(sql))).expect("it compiles");
    let settings = EvalSettings::default();
    counter.count(&format!("exec.run_{name}"), 4, |_| {
        let (mut warnings, mut session) = (Warnings::default(), NoSession);
        let eval = EvalContext {
            settings: &settings,
            params: &[],
            outer: Vec::new(),
            session: &mut session,
            warnings: &mut warnings,
            snapshot: None,
            transaction: None,
        };
        let view = world.store.read_view();
        let status = exec::StatusCounts::new();
        let mut context = ExecContext::new(eval, &world.catalog, &(), &status);
        let snapshot = LocalSnapshot(&view);
        let mut local = LocalTransaction::reading(&view);
        context.eval.snapshot = Some(&snapshot);
        context.eval.transaction = Some(&mut local);
        let mut sink = Forget(0);
        run_query(&prepared, &mut context, &mut sink).expect("it runs");
        assert!(sink.0 > 0);
    });
}
