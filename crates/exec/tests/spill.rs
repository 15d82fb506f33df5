//! Operators above their memory limits: the same rows as in memory, no file left, memory within bounds.
//!
//! Every query runs twice over the same random tables (NULLs, a case-insensitive collation, wide rows, skewed keys, a column
//! with one value), once with room for everything and once with a few KiB; rows must be the same. The limits are those of
//! [`exec::MemoryLimits`], so that every operator goes to disk, parts its input several times and merges in several passes.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell as ThreadCell;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use catalog::{Catalog, Schema, SchemaId, TableId};
use env::disk::{Disk, File, FileOptions, Folder, FolderLock, RealDisk};
use env::random::Rng;
use exec::expr::{EvalContext, EvalSettings, NoSession, SessionState, SqlResult, Warnings};
use exec::output::CollectSink;
use exec::{ExecContext, MemoryLimits, Prepared, SpillCounts, run_change, run_query};
use fixture::Binding;
use plan::Options;
use plan::physical::PlanKind;
use proptest::prelude::*;
use store::{Store, Transaction};
use table::{LocalSnapshot, LocalTransaction, RowScratch, Table, WriteContext};
use types::temporal::zone::TimeZone;
use types::{Cell, DataType, Decimal};

const BINDING: Binding = Binding("spill_x");

/// Counts what each thread holds, to measure what a query takes.
mod counting {
    #![allow(unsafe_code, reason = "an allocator is unsafe by its trait")]
    use super::{GlobalAlloc, Layout, System, ThreadCell};

    thread_local! {
        static HELD: ThreadCell<isize> = const { ThreadCell::new(0) };
        static PEAK: ThreadCell<isize> = const { ThreadCell::new(0) };
    }

    pub(super) struct Counting;

    fn add(bytes: isize) {
        let held = HELD.with(|held| {
            held.set(held.get() + bytes);
            held.get()
        });
        PEAK.with(|peak| peak.set(peak.get().max(held)));
    }

    // SAFETY: every call is the system allocator's own, with the same arguments; counting touches no memory of theirs.
    unsafe impl GlobalAlloc for Counting {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            add(layout.size().cast_signed());
            // SAFETY: the caller keeps the trait's rules.
            unsafe { System.alloc(layout) }
        }
        unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
            add(-layout.size().cast_signed());
            // SAFETY: the caller keeps the trait's rules.
            unsafe { System.dealloc(pointer, layout) }
        }
        unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
            add(size.cast_signed() - layout.size().cast_signed());
            // SAFETY: the caller keeps the trait's rules.
            unsafe { System.realloc(pointer, layout, size) }
        }
    }

    /// Most bytes that this thread held beyond those of now while `run` ran.
    pub(super) fn peak<R>(run: impl FnOnce() -> R) -> (R, usize) {
        let before = HELD.with(ThreadCell::get);
        PEAK.with(|peak| peak.set(before));
        let result = run();
        (result, (PEAK.with(ThreadCell::get) - before).cast_unsigned())
    }
}

#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;

/// A folder in memory that knows its open files, with so much space.
#[derive(Clone, Debug, Default)]
struct TestFolder {
    names: Arc<Mutex<Vec<String>>>,
    open_count: Arc<AtomicU64>,
    open_count_max: Arc<AtomicU64>,
    space_bytes: u64,
}

#[derive(Debug)]
struct TestFile {
    bytes: Mutex<Vec<u8>>,
    folder: TestFolder,
}

impl Drop for TestFile {
    fn drop(&mut self) {
        self.folder.open_count.fetch_sub(1, Ordering::Relaxed);
    }
}

impl TestFolder {
    fn new() -> TestFolder {
        TestFolder { space_bytes: u64::MAX, ..TestFolder::default() }
    }

    /// Files that have a name or are open.
    fn left(&self) -> (usize, u64) {
        (self.names.lock().unwrap().len(), self.open_count.load(Ordering::Relaxed))
    }
}

impl Folder for TestFolder {
    fn path(&self) -> &Path {
        Path::new("/spill")
    }
    fn open(&self, name: &str, _options: FileOptions) -> io::Result<Arc<dyn File>> {
        self.names.lock().unwrap().push(name.to_owned());
        let now = self.open_count.fetch_add(1, Ordering::Relaxed) + 1;
        self.open_count_max.fetch_max(now, Ordering::Relaxed);
        Ok(Arc::new(TestFile { bytes: Mutex::default(), folder: self.clone() }))
    }
    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.names.lock().unwrap().clone())
    }
    fn rename(&self, _from: &str, _to: &str) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
    fn remove(&self, name: &str) -> io::Result<()> {
        self.names.lock().unwrap().retain(|other| other != name);
        Ok(())
    }
    fn sync(&self) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
    fn lock(&self, _name: &str) -> io::Result<Box<dyn FolderLock>> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

impl File for TestFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let bytes = self.bytes.lock().unwrap();
        let start = offset as usize;
        buffer.copy_from_slice(bytes.get(start..start + buffer.len()).ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
    fn write_at(&self, offset: u64, from: &[u8]) -> io::Result<()> {
        let end = offset as usize + from.len();
        if end as u64 > self.folder.space_bytes {
            return Err(io::Error::from_raw_os_error(28));
        }
        let mut bytes = self.bytes.lock().unwrap();
        let len = bytes.len().max(end);
        bytes.resize(len, 0);
        bytes[offset as usize..end].copy_from_slice(from);
        Ok(())
    }
    fn sync(&self) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
    fn len(&self) -> io::Result<u64> {
        Ok(self.bytes.lock().unwrap().len() as u64)
    }
    fn set_len(&self, _len_bytes: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
    fn allocate(&self, _offset: u64, _len_bytes: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// A row of the tables `l` and `r`: id, key (skewed), text, decimal, double, a wide text, a column of one value.
#[derive(Clone, Debug)]
struct Row {
    k: Option<i64>,
    s: Option<String>,
    d: Option<String>,
    f: Option<f64>,
    w: Option<String>,
}

struct World {
    store: Store,
    catalog: Arc<Catalog>,
}

impl World {
    /// Tables `l` and `r` with these rows, each with an index on `id` alone.
    fn new(left: &[Row], right: &[Row]) -> World {
        let store = fixture::open_store(&env::simulated::SimWorld::new(1));
        let mut schema = Schema::new(SchemaId(1), "spill_x", fixture::COLLATION, false);
        for (number, (name, rows)) in [("l", left), ("r", right)].into_iter().enumerate() {
            let mut definition = fixture::parse_table(&format!(
                "CREATE TABLE {name} (id INT PRIMARY KEY, k INT, s VARCHAR(60), d DECIMAL(65,10), f DOUBLE, \
                 w TEXT, one INT)"
            ));
            definition.id = TableId(number as u64 + 1);
            definition.schema = "spill_x".into();
            let table = fixture::create(&store, definition);
            let mut transaction = store.begin();
            for (id, row) in rows.iter().enumerate() {
                insert(&table, &mut transaction, id as i64 + 1, row);
            }
            transaction.commit().expect("rows are committed");
            schema.insert(fixture::entry(table));
        }
        let mut catalog = Catalog::new();
        catalog.version = 1;
        catalog.insert_schema(Arc::new(schema));
        World { store, catalog: Arc::new(catalog) }
    }

    /// The rows of a query as text (sorted, if it has no ORDER BY at its end), or what a change answered.
    fn run(&self, text: &str, how: &How<'_>) -> Result<(Vec<String>, SpillCounts), (u16, String)> {
        let arena = bumpalo::Bump::new();
        let parsed = syntax::parse(text.as_bytes(), &arena, syntax::SqlMode::default()).expect("it parses");
        let bound = plan::bind::bind(&parsed.statement, text.as_bytes(), &self.catalog, &BINDING)
            .unwrap_or_else(|error| panic!("{text}: {}", error.message));
        let plan = Arc::new(plan::optimize(bound, &Options::new(&self.catalog)));
        let failed = |error: Box<service::error::SqlError>| (error.number, error.message);
        let prepared = Prepared::new(plan.clone()).map_err(failed)?;
        let settings = EvalSettings::default();
        let mut session = Killed { batches_left: how.batches_max };
        let mut warnings = Warnings::default();
        let eval = EvalContext {
            settings: &settings,
            params: &[],
            outer: Vec::new(),
            session: &mut session,
            warnings: &mut warnings,
            snapshot: None,
            transaction: None,
        };
        let view = self.store.read_view();
        let mut transaction = self.store.begin();
        let status = exec::StatusCounts::new();
        let mut ctx = ExecContext::new(eval, &self.catalog, &(), &status);
        let snapshot = LocalSnapshot(&view);
        let mut scratch = RowScratch::default();
        let mut local = LocalTransaction::new(&view, &mut transaction, &mut scratch);
        ctx.eval.snapshot = Some(&snapshot);
        ctx.eval.transaction = Some(&mut local);
        ctx.limits = how.limits;
        ctx.spill = Some(Arc::clone(how.folder));
        let mut lines = Vec::new();
        if matches!(plan.kind, PlanKind::Query(_)) {
            let types: Vec<DataType> = plan.output.iter().map(|column| column.data_type.clone()).collect();
            if how.count_only {
                let mut sink = Count(0);
                run_query(&prepared, &mut ctx, &mut sink).map_err(failed)?;
                lines.push(sink.0.to_string());
            } else {
                let mut sink = CollectSink::new(types, usize::MAX);
                run_query(&prepared, &mut ctx, &mut sink).map_err(failed)?;
                lines = sink.rows.iter().map(|row| format!("{row:?}")).collect();
            }
            if !text.contains("ORDER BY id") {
                lines.sort();
            }
        } else {
            let changed = run_change(&prepared, &mut ctx).map_err(failed)?;
            lines.push(format!("{} {}", changed.affected, changed.matched));
        }
        let counts = ctx.spill_counts();
        drop(ctx);
        lines.push(format!("{} warnings", warnings.total()));
        if !matches!(plan.kind, PlanKind::Query(_)) {
            transaction.commit().expect("a commit");
        }
        Ok((lines, counts))
    }
}

struct Count(u64);

impl exec::RowSink for Count {
    fn batch(&mut self, batch: &types::Batch) -> SqlResult<bool> {
        self.0 += batch.row_count as u64;
        Ok(true)
    }
}

/// A session that is killed after this many batches.
struct Killed {
    batches_left: u64,
}

impl SessionState for Killed {
    fn check_killed(&mut self) -> SqlResult<()> {
        if self.batches_left == 0 {
            return Err(service::error::ER_QUERY_INTERRUPTED.bare());
        }
        self.batches_left -= 1;
        Ok(())
    }
}

struct How<'a> {
    limits: MemoryLimits,
    folder: &'a Arc<dyn Folder>,
    batches_max: u64,
    count_only: bool,
}

fn insert(table: &Table, transaction: &mut Transaction, id: i64, row: &Row) {
    let text = |text: &Option<String>| text.as_ref().map(|text| text.as_bytes().to_vec());
    let (s, w) = (text(&row.s), text(&row.w));
    let d = row.d.as_ref().map(|digits| Decimal::parse(digits.as_bytes()).value.round(10));
    let cells = [
        Cell::Int(id),
        row.k.map_or(Cell::Null, Cell::Int),
        s.as_deref().map_or(Cell::Null, Cell::Bytes),
        d.as_ref().map_or(Cell::Null, Cell::Decimal),
        row.f.map_or(Cell::Null, Cell::Double),
        w.as_deref().map_or(Cell::Null, Cell::Bytes),
        Cell::Int(1),
    ];
    let context = WriteContext { zone: &TimeZone::UTC, wait: store::LockWait::Nowait, reader: None };
    table.insert(transaction, &cells, context).expect("a new row");
}

fn limits(bytes: usize) -> MemoryLimits {
    MemoryLimits { sort_bytes: bytes, join_bytes: bytes, temporary_bytes: bytes, ..MemoryLimits::default() }
}

/// Room for everything.
const ROOMY: usize = 1 << 30;

/// Queries over `l` and `r`, one for each operator and kind at least.
const QUERIES: &[&str] = &[
    // Sorts: all rows, and the first by a heap that does not fit.
    "SELECT id, s, w FROM l ORDER BY s, f DESC, id",
    "SELECT id, w FROM l ORDER BY w DESC, id LIMIT 200 OFFSET 13",
    "SELECT w FROM l ORDER BY id LIMIT 5",
    // Hash joins.
    "SELECT l.id, r.id, r.w FROM l JOIN r ON l.k = r.k",
    "SELECT l.id, r.id FROM l JOIN r ON l.s = r.s AND l.f < r.f",
    "SELECT l.id, r.id, r.d FROM l LEFT JOIN r ON l.s = r.s",
    "SELECT l.id, r.id FROM l LEFT JOIN r ON l.k = r.k AND l.id < r.id AND r.f > 0.5",
    "SELECT l.id, r.id FROM l JOIN r ON l.k <=> r.k AND l.d <=> r.d",
    "SELECT l.id FROM l WHERE l.k IN (SELECT r.k FROM r WHERE r.f > 0.3)",
    "SELECT l.id FROM l WHERE EXISTS (SELECT 1 FROM r WHERE r.s = l.s AND r.f > l.f)",
    "SELECT l.id FROM l WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.k = l.k AND r.f > l.f)",
    "SELECT l.id FROM l WHERE l.id NOT IN (SELECT r.id * 2 FROM r)",
    "SELECT l.id FROM l WHERE l.s NOT IN (SELECT r.s FROM r WHERE r.s IS NOT NULL)",
    // One key for all rows: no parting helps.
    "SELECT COUNT(*), SUM(l.id * r.id) FROM l JOIN r ON l.one = r.one",
    "SELECT l.id FROM l WHERE l.one IN (SELECT r.one FROM r WHERE r.id < l.id)",
    "SELECT l.id FROM l WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.one = l.one AND r.id > l.id + 20)",
    "SELECT l.id, r.id FROM l LEFT JOIN r ON l.one = r.one AND r.id = l.id + 7 AND l.f > 0.2",
    // Nested loops.
    "SELECT COUNT(*), SUM(l.id), SUM(r.id) FROM l JOIN r ON l.id < r.id AND l.f > r.f",
    "SELECT l.id, r.id FROM l LEFT JOIN r ON l.id > r.id * 20",
    // Groups.
    "SELECT s, COUNT(*), SUM(k), MIN(w), MAX(d), AVG(f) FROM l GROUP BY s",
    "SELECT id + 0, COUNT(*), MAX(w) FROM l GROUP BY id + 0",
    "SELECT d, COUNT(*) FROM l GROUP BY d",
    "SELECT w, k, COUNT(*), ANY_VALUE(s), BIT_XOR(id), STDDEV(id) FROM l GROUP BY w, k",
    "SELECT s, k, COUNT(*), SUM(id) FROM l GROUP BY s, k WITH ROLLUP",
    "SELECT k, COUNT(DISTINCT s), COUNT(DISTINCT s, f), SUM(DISTINCT id) FROM l GROUP BY k",
    "SELECT COUNT(DISTINCT w), COUNT(DISTINCT d), SUM(DISTINCT k) FROM l",
    "SELECT k, GROUP_CONCAT(id), GROUP_CONCAT(DISTINCT s), GROUP_CONCAT(DISTINCT s ORDER BY f DESC) FROM l GROUP BY k",
    "SELECT GROUP_CONCAT(DISTINCT s ORDER BY s DESC, id SEPARATOR ''), GROUP_CONCAT(w) FROM l",
    "SELECT id + 0, JSON_ARRAYAGG(s), JSON_OBJECTAGG(id, f) FROM l GROUP BY id + 0",
    // Different rows, sets of rows.
    "SELECT DISTINCT s FROM l",
    "SELECT DISTINCT w, d FROM l",
    "SELECT s FROM l UNION SELECT s FROM r",
    "SELECT s, k FROM l EXCEPT SELECT s, k FROM r",
    "SELECT s FROM l EXCEPT ALL SELECT s FROM r",
    "SELECT s FROM l INTERSECT SELECT s FROM r",
    "SELECT k FROM l INTERSECT ALL SELECT k FROM r",
    "SELECT w FROM l EXCEPT SELECT w FROM r WHERE id < 3",
    // Rows kept: recursion, ANY and ALL.
    "WITH RECURSIVE c (n, t) AS (SELECT id, w FROM l UNION ALL SELECT n - 50, t FROM c WHERE n > 50) SELECT COUNT(*), SUM(n), MAX(t) FROM c",
    "WITH RECURSIVE c (n) AS (SELECT id FROM l UNION SELECT (n * 7 + 3) % 2000 FROM c) SELECT n FROM c",
    "WITH RECURSIVE c (n, t) AS (SELECT k, s FROM l UNION DISTINCT SELECT c.n + 1, r.s FROM c JOIN r ON r.s = c.t WHERE c.n < 3) SELECT n, t FROM c",
    "SELECT id, f > ALL (SELECT f FROM r WHERE f < 0.9), w = ANY (SELECT w FROM r) FROM l",
    // Windows: rows that wait for the end of a partition, and rows that are looked back at.
    "SELECT id, w, NTILE(7) OVER (ORDER BY id), COUNT(*) OVER (), SUM(k) OVER (PARTITION BY one ORDER BY s) FROM l",
    "SELECT id, LAG(w, 300) OVER (ORDER BY f, id), LEAD(s, 200, w) OVER (ORDER BY f, id), RANK() OVER (ORDER BY s) FROM l",
    "SELECT id, SUM(d) OVER (ORDER BY id ROWS 250 PRECEDING), MIN(w) OVER (ORDER BY id ROWS BETWEEN 100 PRECEDING AND 100 FOLLOWING) FROM l",
    "SELECT id, LAST_VALUE(w) OVER (ORDER BY k, id RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING), COUNT(*) OVER (ORDER BY id RANGE BETWEEN 20 PRECEDING AND 90 FOLLOWING), CUME_DIST() OVER (ORDER BY s) FROM l",
];

fn compare(world: &World, bytes: usize, queries: &[&str]) -> Vec<(String, SpillCounts)> {
    let mut spilled = Vec::new();
    for query in queries {
        let folder = TestFolder::new();
        let shared: Arc<dyn Folder> = Arc::new(folder.clone());
        let how =
            |bytes| How { limits: limits(bytes), folder: &shared, batches_max: u64::MAX, count_only: false };
        let (wanted, nothing) = world.run(query, &how(ROOMY)).expect("it runs in memory");
        assert_eq!(nothing, SpillCounts::default(), "{query}");
        let (got, counts) =
            world.run(query, &how(bytes)).unwrap_or_else(|error| panic!("{query}: {error:?}"));
        if got != wanted {
            let wrong =
                got.iter().zip(&wanted).position(|(a, b)| a != b).unwrap_or(got.len().min(wanted.len()));
            panic!(
                "{query} with {bytes} bytes: {} rows instead of {}; row {wrong}: {:?} instead of {:?}",
                got.len(),
                wanted.len(),
                got.get(wrong),
                wanted.get(wrong)
            );
        }
        assert_eq!(folder.left(), (0, 0), "{query} left a file");
        assert!(folder.open_count_max.load(Ordering::Relaxed) <= 1, "{query} had several files");
        spilled.push(((*query).to_owned(), counts));
    }
    spilled
}

/// `variety`: how many different texts there are, about.
fn rows(count: usize, seed: u64, variety: u64) -> Vec<Row> {
    let mut random = Rng::new(seed);
    let mut one = || {
        let null = random.below(10);
        // Every second key is 0.
        let k =
            (null != 0).then(|| if random.below(2) == 0 { 0 } else { random.below(variety / 4 + 1) as i64 });
        let word = random.below(variety);
        let s = (null != 1).then(|| match random.below(3) {
            0 => format!("Key {word}"),
            1 => format!("KEY {word}"),
            _ => format!("kéy {word}"),
        });
        let d = (null != 2).then(|| match random.below(3) {
            0 => format!("{}.5", random.below(variety)),
            // More digits before the point than a key of 65 digits with 30 behind the point has room for.
            1 => format!("-{}{:050}", 1 + random.below(3), random.below(variety)),
            _ => format!("9{:050}.0000000001", random.below(3)),
        });
        let f = (null != 3).then(|| random.below(1 << 20) as f64 / f64::from(1 << 20));
        let w = (null != 4).then(|| {
            let length = if random.below(20) == 0 { 2000 } else { random.below(120) as usize };
            format!("{:<length$}!", random.below(variety))
        });
        Row { k, s, d, f, w }
    };
    (0..count).map(|_| one()).collect()
}

#[test]
fn every_operator_gives_the_same_rows_from_disk() {
    // Some operators look at their memory once a batch of 1,024 rows: both tables are longer than one.
    let world = World::new(&rows(1500, 1, 400), &rows(1200, 2, 400));
    for (query, counts) in compare(&world, 2 << 10, QUERIES) {
        // Nothing else fits into so little.
        let few = query.contains("LIMIT 5") || query.contains("ORDER BY id LIMIT");
        assert!(few || counts.files == 1, "{query} stayed in memory");
    }
}

#[test]
fn sorts_merge_in_passes() {
    // A run has a batch of rows at least.
    let world = World::new(&rows(6_000, 3, 100), &[]);
    let counts = compare(&world, 1 << 10, &["SELECT id, w, s FROM l ORDER BY w, id"]);
    assert!(counts[0].1.sort_merge_passes > 1, "{counts:?}");
    assert!(counts[0].1.sort_runs > 4, "{counts:?}");
}

#[test]
fn a_key_with_all_rows_is_joined_in_passes() {
    let same = |count| {
        let row = Row { k: Some(7), s: Some("x".into()), d: None, f: Some(0.5), w: Some("w".repeat(50)) };
        vec![row; count]
    };
    let world = World::new(&same(300), &same(400));
    compare(
        &world,
        4 << 10,
        &[
            "SELECT l.id, r.id, r.w FROM l JOIN r ON l.k = r.k",
            "SELECT l.id, r.id FROM l LEFT JOIN r ON l.k = r.k AND r.id % 100 = l.id",
            "SELECT l.id FROM l WHERE EXISTS (SELECT 1 FROM r WHERE r.k = l.k AND r.id = l.id * 3)",
            "SELECT l.id FROM l WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.k = l.k AND r.id = l.id * 3)",
            "SELECT k, COUNT(*), GROUP_CONCAT(w ORDER BY id DESC), COUNT(DISTINCT id) FROM l GROUP BY k",
            "SELECT k, s FROM l INTERSECT ALL SELECT k, s FROM r",
        ],
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_tables_give_the_same_rows_from_disk(
        seed in any::<u64>(),
        left in 0usize..350,
        right in 0usize..250,
        variety in 1u64..300,
        bytes in prop_oneof![Just(1usize), 600usize..6000, 8_000usize..30_000],
    ) {
        let world = World::new(&rows(left, seed, variety), &rows(right, seed ^ 1, variety));
        compare(&world, bytes, QUERIES);
    }
}

/// Bytes an operator may hold beside its limit: batches of the operators, blocks, the plan.
const SLACK_BYTES: usize = 4 << 20;

#[test]
fn memory_stays_within_limits() {
    const LIMIT: usize = 128 << 10;
    let world = World::new(&rows(20_000, 5, 1_000_000), &rows(15_000, 6, 1_000_000));
    let path = std::env::temp_dir().join(format!("invar-spill-test-{}", std::process::id()));
    let folder = RealDisk.folder(&path, true).expect("a temporary folder");
    let mut smaller = 0;
    let queries = [
        "SELECT id, s, w, d FROM l ORDER BY s, id",
        "SELECT id, s, w, d FROM l ORDER BY s, id LIMIT 15000",
        "SELECT l.id, r.w FROM l JOIN r ON l.s = r.s",
        "SELECT l.id, r.w FROM l LEFT JOIN r ON l.one = r.one AND r.id = 7",
        "SELECT s, w, COUNT(*), MAX(d) FROM l GROUP BY s, w",
        "SELECT COUNT(DISTINCT w, s) FROM l",
        "SELECT GROUP_CONCAT(w), GROUP_CONCAT(w ORDER BY s) FROM l",
        "SELECT DISTINCT w, s FROM l",
        "SELECT w, s FROM l EXCEPT SELECT w, s FROM r",
        "SELECT w, s FROM l WHERE id < 10000 EXCEPT SELECT w, s FROM l",
        "WITH RECURSIVE c (n, t) AS (SELECT id, w FROM l UNION SELECT n + 100000, t FROM c WHERE n < 100000) SELECT n FROM c",
        "SELECT COUNT(*) FROM l WHERE w = ANY (SELECT CONCAT(w, 'x') FROM r) AND id < 3",
        "UPDATE l JOIN r ON l.id = r.id SET l.k = l.k + 1, r.k = 5 WHERE l.id < 1500",
        "DELETE l, r FROM l JOIN r ON l.id = r.id WHERE l.id > 14000",
    ];
    for query in queries {
        let how =
            |bytes| How { limits: limits(bytes), folder: &folder, batches_max: u64::MAX, count_only: true };
        let ran = if query.starts_with("SELECT") || query.starts_with("WITH") {
            counting::peak(|| world.run(query, &how(ROOMY))).1
        } else {
            usize::MAX
        };
        let (result, peak) = counting::peak(|| world.run(query, &how(LIMIT)));
        result.unwrap_or_else(|error| panic!("{query}: {error:?}"));
        assert!(peak < 2 * LIMIT + SLACK_BYTES, "{query}: {peak} bytes, {ran} in memory");
        smaller += usize::from(peak < ran / 2);
    }
    // The measure distinguishes the two.
    assert!(smaller >= 7, "only {smaller} of {} took half of what they take in memory", queries.len());
    assert_eq!(folder.list().expect("the folder is there"), Vec::<String>::new());
    std::fs::remove_dir(&path).expect("the folder is empty");
}

#[test]
fn a_full_disk_fails_the_statement_and_leaves_nothing() {
    let world = World::new(&rows(500, 7, 300), &rows(400, 8, 300));
    let mut failed = 0;
    for query in QUERIES {
        for space_bytes in [0, 8000] {
            let folder = TestFolder { space_bytes, ..TestFolder::new() };
            let shared: Arc<dyn Folder> = Arc::new(folder.clone());
            let how = How { limits: limits(2048), folder: &shared, batches_max: u64::MAX, count_only: false };
            if let Err(error) = world.run(query, &how) {
                let wanted = "Error writing file '/spill' (OS errno 28 - No space left on device)";
                assert_eq!(error, (3, wanted.to_owned()), "{query}");
                failed += 1;
            }
            assert_eq!(folder.left(), (0, 0), "{query} left a file");
        }
    }
    assert!(failed > QUERIES.len(), "only {failed} failed");
}

#[test]
fn a_killed_statement_leaves_nothing() {
    let world = World::new(&rows(500, 9, 300), &rows(400, 10, 300));
    for query in QUERIES {
        for batches_max in [1, 5, 30] {
            let folder = TestFolder::new();
            let shared: Arc<dyn Folder> = Arc::new(folder.clone());
            let how = How { limits: limits(2048), folder: &shared, batches_max, count_only: false };
            if let Err((number, message)) = world.run(query, &how) {
                assert_eq!(number, 1317, "{query}: {message}");
            }
            assert_eq!(folder.left(), (0, 0), "{query} left a file");
        }
    }
}

#[test]
fn changes_collect_on_disk() {
    let statements = [
        "UPDATE l JOIN r ON l.k = r.k SET l.f = r.id, r.f = l.id",
        "UPDATE l SET id = id + 10000 ORDER BY id DESC",
        "UPDATE l SET id = id + 20000 WHERE id > 5",
        "INSERT INTO l (id, k, s, d, f, w, one) SELECT id + 100000, k, s, d, f, w, one FROM l",
        "DELETE l, r FROM l JOIN r ON l.k = r.k AND r.id < 300 WHERE l.f < 600",
        "DELETE FROM r WHERE id IN (SELECT id * 2 FROM l) ORDER BY w LIMIT 50",
    ];
    let check = "SELECT id, k, s, f, w FROM l ORDER BY id";
    let check_right = "SELECT id, k, s, w FROM r ORDER BY id";
    let folder = TestFolder::new();
    let shared: Arc<dyn Folder> = Arc::new(folder.clone());
    let run = |bytes: usize| {
        let world = World::new(&rows(1300, 11, 1000), &rows(1200, 12, 1000));
        let mut lines = Vec::new();
        let mut files = 0;
        for statement in statements {
            let how = |bytes| How {
                limits: limits(bytes),
                folder: &shared,
                batches_max: u64::MAX,
                count_only: false,
            };
            let (answer, counts) = world.run(statement, &how(bytes)).expect("it runs");
            files += counts.files;
            lines.push(answer.join(" "));
            lines.push(world.run(check, &how(ROOMY)).expect("it runs").0.join("\n").replace("f: ", ""));
            lines.push(world.run(check_right, &how(ROOMY)).expect("it runs").0.join("\n"));
        }
        (lines, files)
    };
    let (wanted, none) = run(ROOMY);
    let (got, files) = run(2048);
    assert_eq!(none, 0);
    assert!(files >= 5, "only {files} statements went to disk");
    for (got, wanted) in got.iter().zip(&wanted) {
        // A join gives a row's partners in another order from disk, and the first one counts: columns set from it differ.
        assert_eq!(got.lines().count(), wanted.lines().count());
    }
    assert_eq!(got[0], wanted[0], "rows found and changed");
    assert_eq!(folder.left(), (0, 0));
}

#[test]
fn without_a_folder_the_statement_fails() {
    let world = World::new(&rows(500, 13, 100), &[]);
    let arena = bumpalo::Bump::new();
    let text = "SELECT DISTINCT w FROM l";
    let parsed = syntax::parse(text.as_bytes(), &arena, syntax::SqlMode::default()).expect("it parses");
    let bound =
        plan::bind::bind(&parsed.statement, text.as_bytes(), &world.catalog, &BINDING).expect("it binds");
    let prepared =
        Prepared::new(Arc::new(plan::optimize(bound, &Options::new(&world.catalog)))).expect("it compiles");
    let settings = EvalSettings::default();
    let (mut session, mut warnings) = (NoSession, Warnings::default());
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
    let mut ctx = ExecContext::new(eval, &world.catalog, &(), &status);
    let snapshot = LocalSnapshot(&view);
    let mut local = LocalTransaction::reading(&view);
    ctx.eval.snapshot = Some(&snapshot);
    ctx.eval.transaction = Some(&mut local);
    ctx.limits = limits(2048);
    let error = run_query(&prepared, &mut ctx, &mut Count(0)).expect_err("nowhere to go");
    assert_eq!((error.number, &*error.message), (1114, "The table '(temporary)' is full"));
}

#[test]
fn a_row_comparison_takes_one_row() {
    let world = World::new(&rows(20, 14, 10), &[]);
    let folder: Arc<dyn Folder> = Arc::new(TestFolder::new());
    let how = How { limits: limits(ROOMY), folder: &folder, batches_max: u64::MAX, count_only: false };
    let one = |text: &str| world.run(text, &how).map(|(lines, _)| lines[0].clone());
    let several = Err((1242, "Subquery returns more than 1 row".to_owned()));
    assert_eq!(one("SELECT (1, 1) = (SELECT id, one FROM l WHERE id < 3)"), several);
    assert_eq!(one("SELECT (1, 1) = (SELECT id, one FROM l WHERE id > 1 AND id < 4)"), several);
    assert_eq!(one("SELECT COUNT(*) FROM l WHERE (id, one) = (SELECT id, one FROM l)"), several);
    assert_eq!(one("SELECT (1, 1) = (SELECT id, one FROM l WHERE id = 1)"), Ok("[Int(1)]".to_owned()));
    assert_eq!(one("SELECT (1, 1) = (SELECT id, one FROM l WHERE id = 2)"), Ok("[Int(0)]".to_owned()));
    assert_eq!(one("SELECT (1, 1) = (SELECT id, one FROM l WHERE id = 99)"), Ok("[Null]".to_owned()));
    assert_eq!(
        one("SELECT COUNT(*) FROM l WHERE (1, 1) IN (SELECT id, one FROM l)"),
        Ok("[Int(20)]".to_owned())
    );
}
