//! INSERT, REPLACE, UPDATE and DELETE over a store on a simulated disk, compared with what MySQL 9.7 answers: affected
//! rows, the insert id of the OK packet, its text, warnings, errors, and the rows afterwards.
//!
//! `changes/*.sql` hold statements, one per line; `changes/*.expected` what MySQL said to them, made by
//! `changes/ask.py`. CREATE TABLE and SET are read by the test itself: it knows the parts these scripts use.

mod answers;

use std::fmt::Write as _;
use std::sync::Arc;

use catalog::{Catalog, Schema, SchemaId, StoredValue, TableId};
use exec::expr::{EvalContext, EvalSettings, SessionState, Warnings, sql_mode};
use exec::output::CollectSink;
use exec::{ChangeSettings, ExecContext, Prepared, run_change, run_query};
use fixture::{Binding, COLLATION};
use plan::Options;
use plan::physical::PlanKind;
use store::Store;
use syntax::ast::{self, Statement};
use table::{LocalSnapshot, LocalTransaction};
use types::convert::{StoreOptions, store_value};
use types::{Cell, Column, DataType, TypeKind, Value, ValueRef};

/// 2026-11-21 04:00:00 UTC.
const NOW_UTC_MICROS: i64 = 1_795_233_600_000_000;

#[derive(Default)]
struct Memory {
    last_insert_id: u64,
    /// LAST_INSERT_ID(n) was called in this statement.
    told: u64,
}

impl SessionState for Memory {
    fn last_insert_id(&self) -> u64 {
        self.last_insert_id
    }
    fn set_last_insert_id(&mut self, id: u64) {
        self.last_insert_id = id;
        self.told = id;
    }
}

const BINDING: Binding = Binding("change_x");

struct World {
    store: Store,
    catalog: Arc<Catalog>,
    settings: EvalSettings,
    change: ChangeSettings,
    memory: Memory,
    tables_made: u64,
}

type Answer = Result<String, (u16, String)>;

#[allow(clippy::boxed_local, reason = "errors come boxed")]
fn failed(error: Box<service::error::SqlError>) -> (u16, String) {
    (error.number, error.message)
}

impl World {
    fn new(found_rows: bool) -> World {
        let store = fixture::open_store(&env::simulated::SimWorld::new(1));
        let mut catalog = Catalog::new();
        catalog.version = 1;
        catalog.insert_schema(Arc::new(Schema::new(SchemaId(1), "change_x", COLLATION, false)));
        let settings = EvalSettings { now_utc_micros: NOW_UTC_MICROS, ..EvalSettings::default() };
        World {
            store,
            catalog: Arc::new(catalog),
            settings,
            change: ChangeSettings { found_rows, ..ChangeSettings::default() },
            memory: Memory::default(),
            tables_made: 0,
        }
    }

    fn with_context<R>(
        &mut self,
        strict_dml: bool,
        params: &[Value],
        run: impl FnOnce(&mut ExecContext<'_>) -> R,
    ) -> (R, Warnings) {
        self.with_undo(strict_dml, params, run, |_| false)
    }

    /// As `with_context`; what `run` changed is undone if `is_undone` says so of its result.
    fn with_undo<R>(
        &mut self,
        strict_dml: bool,
        params: &[Value],
        run: impl FnOnce(&mut ExecContext<'_>) -> R,
        is_undone: impl FnOnce(&R) -> bool,
    ) -> (R, Warnings) {
        let settings = EvalSettings { strict_dml, ..self.settings.clone() };
        let mut warnings = Warnings::default();
        let view = self.store.read_view();
        let mut transaction = self.store.begin();
        let savepoint = transaction.savepoint();
        let params: Vec<ValueRef<'_>> = params.iter().map(ValueRef::from).collect();
        let eval = EvalContext {
            settings: &settings,
            params: &params,
            outer: Vec::new(),
            session: &mut self.memory,
            warnings: &mut warnings,
        };
        let status = exec::StatusCounts::new();
        let mut ctx = ExecContext::new(eval, &self.catalog, &(), &status);
        let snapshot = LocalSnapshot(&view);
        let mut local = LocalTransaction::new(&view, &mut transaction);
        ctx.snapshot = Some(&snapshot);
        ctx.transaction = Some(&mut local);
        ctx.change = self.change;
        let result = run(&mut ctx);
        drop(ctx);
        if is_undone(&result) {
            transaction.rollback_to(&savepoint).expect("a rollback");
        }
        transaction.commit().expect("a commit");
        (result, warnings)
    }

    fn default_of(&mut self, expr: &ast::Expr<'_>, sql: &[u8], to: &DataType) -> StoredValue {
        let bound = plan::bind::bind_constant(expr, sql, &self.catalog, &BINDING).expect("a literal");
        let (value, _) = self.with_context(false, &[], |ctx| exec::evaluate(&bound, ctx).expect("a value"));
        let options = StoreOptions {
            date_mode: self.settings.date_mode(),
            truncate_fraction: false,
            time_zone: &self.settings.time_zone,
            today: self.settings.time_zone.from_utc(NOW_UTC_MICROS),
        };
        let mut column = Column::new(to.physical());
        assert!(store_value(&value, to, &options, &mut column).is_none(), "a default that fits");
        match column.cell(0) {
            Cell::Null => StoredValue::Null,
            Cell::Int(packed) if to.kind == TypeKind::Timestamp => {
                StoredValue::Int(self.settings.time_zone.to_utc(types::temporal::DateTime::unpack(packed)))
            }
            Cell::Int(value) => StoredValue::Int(value),
            Cell::Double(value) => StoredValue::Double(value),
            Cell::Decimal(value) => StoredValue::Decimal(*value),
            Cell::Bytes(bytes) => StoredValue::Bytes(bytes.into()),
        }
    }

    fn create_table(&mut self, create: &ast::CreateTable<'_>, sql: &[u8]) {
        let mut definition =
            fixture::table_of(create, sql, &mut |expr, data_type| self.default_of(expr, sql, data_type));
        self.tables_made += 1;
        definition.id = TableId(self.tables_made);
        definition.schema = "change_x".into();
        let table = fixture::create(&self.store, definition);
        let mut catalog = Catalog::clone(&self.catalog);
        let mut schema = Schema::clone(catalog.schema("change_x").expect("the schema"));
        schema.insert(fixture::entry(table));
        catalog.version += 1;
        catalog.insert_schema(Arc::new(schema));
        self.catalog = Arc::new(catalog);
    }

    fn set(&mut self, assignment: &str) {
        let (name, value) = assignment.split_once('=').expect("SET name=value");
        let number = || value.trim().parse::<u64>().expect("a number");
        match name.trim() {
            "sql_mode" => {
                let strict = EvalSettings::default().sql_mode;
                let zero = value.contains("no_auto_value_on_zero");
                self.change.no_auto_value_on_zero = zero;
                self.settings.sql_mode = if value.trim() == "default" { strict } else { 0 };
            }
            "auto_increment_increment" => self.change.auto_increment_increment = number(),
            "auto_increment_offset" => self.change.auto_increment_offset = number(),
            "insert_id" => self.change.insert_id = Some(number()),
            other => panic!("SET {other} is not known here"),
        }
    }

    fn run(&mut self, sql: &str, params: &[Value]) -> String {
        match self.try_run(sql, params) {
            Ok(answer) => answer,
            Err((number, message)) => format!("ERROR {number}: {message}\n"),
        }
    }

    fn prepare(&self, sql: &str) -> Result<Prepared, (u16, String)> {
        let arena = bumpalo::Bump::new();
        let parsed = syntax::parse(sql.as_bytes(), &arena, syntax::SqlMode::default())
            .map_err(|error| (error.number, error.message))?;
        let bound = plan::bind::bind(&parsed.statement, sql.as_bytes(), &self.catalog, &BINDING)
            .map_err(|error| (error.number, error.message))?;
        let plan = Arc::new(plan::optimize(bound, &Options::new(&self.catalog)));
        Prepared::new(plan).map_err(failed)
    }

    fn try_run(&mut self, sql: &str, params: &[Value]) -> Answer {
        if let Some(assignment) = sql.strip_prefix("SET ") {
            self.set(assignment);
            return Ok("OK 0 0 \n".into());
        }
        if sql.starts_with("DROP TABLE") {
            return Ok("OK 0 0 \n".into());
        }
        let arena = bumpalo::Bump::new();
        let parsed = syntax::parse(sql.as_bytes(), &arena, syntax::SqlMode::default())
            .map_err(|error| (error.number, error.message))?;
        if let Statement::CreateTable(create) = &parsed.statement {
            self.create_table(create, sql.as_bytes());
            return Ok("OK 0 0 \n".into());
        }
        let prepared = self.prepare(sql)?;
        let plan = prepared.plan().clone();
        let ignore = match &plan.kind {
            PlanKind::Insert(insert) => insert.ignore,
            PlanKind::Update(update) => update.ignore,
            PlanKind::Delete(delete) => delete.ignore,
            PlanKind::Query(_) | PlanKind::Do(_) => return self.query(&prepared),
        };
        let strict = self.settings.has(sql_mode::STRICT) && !ignore;
        self.memory.told = 0;
        let found_rows = self.change.found_rows;
        let run = |ctx: &mut ExecContext<'_>| run_change(&prepared, ctx);
        let (changed, warnings) = self.with_undo(strict, params, run, Result::is_err);
        self.change.insert_id = None;
        let changed = changed.map_err(failed)?;
        if let Some(id) = changed.last_insert_id {
            self.memory.last_insert_id = id;
        }
        let told =
            if changed.reported_insert_id != 0 { changed.reported_insert_id } else { self.memory.told };
        assert!(
            !changed.is_update
                || changed.affected == if found_rows { changed.matched } else { changed.changed }
        );
        let mut out = format!("OK {} {told} {}\n", changed.affected, changed.info(warnings.total()));
        for entry in warnings.entries() {
            writeln!(out, "{} {}: {}", entry.level.name(), entry.number, entry.message).expect("a String");
        }
        Ok(out)
    }

    fn query(&mut self, prepared: &Prepared) -> Answer {
        let plan = prepared.plan().clone();
        let types: Vec<DataType> = plan.output.iter().map(|column| column.data_type.clone()).collect();
        let (rows, _) = self.with_context(false, &[], |ctx| {
            let mut sink = CollectSink::new(types.clone(), usize::MAX);
            run_query(prepared, ctx, &mut sink).map(|_| sink.rows)
        });
        let mut out = String::new();
        for row in rows.map_err(failed)? {
            let cells: Vec<String> =
                row.iter().zip(&types).map(|(value, data_type)| answers::show(value, data_type)).collect();
            writeln!(out, "{}", cells.join("\t")).expect("a String takes all");
        }
        Ok(out)
    }
}

fn compare(name: &str) {
    let mut world = World::new(name == "found_rows");
    answers::compare("changes", name, |statement| world.run(statement, &[]));
}

#[test]
fn values_are_converted_and_checked_as_mysql_does() {
    compare("values");
}

#[test]
fn numbers_are_given_as_mysql_does() {
    compare("numbers");
}

#[test]
fn duplicates_are_resolved_as_mysql_does() {
    compare("duplicates");
}

#[test]
fn rows_are_updated_and_deleted_as_mysql_does() {
    compare("rows");
}

#[test]
fn a_client_may_count_found_rows() {
    compare("found_rows");
}

/// One plan, many executions: the compiled part keeps nothing of a run.
#[test]
fn a_prepared_insert_runs_again_and_again() {
    let mut world = World::new(false);
    world.run("CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, a INT NOT NULL, b VARCHAR(9) DEFAULT 'x', c INT DEFAULT (a + 1))", &[]);
    let prepared = world.prepare("INSERT INTO t (a, b) VALUES (?, ?), (?, DEFAULT)").expect("a plan");
    for round in 0..50 {
        let params = [Value::Int(round), Value::string(format!("r{round}"), COLLATION), Value::UInt(7)];
        let (changed, warnings) = world.with_context(true, &params, |ctx| run_change(&prepared, ctx));
        let changed = changed.expect("rows are inserted");
        assert_eq!((changed.affected, changed.records), (2, 2));
        assert_eq!(changed.last_insert_id, Some(round as u64 * 2 + 1));
        assert!(warnings.is_empty());
    }
    assert_eq!(
        world.run("SELECT COUNT(*), SUM(a), SUM(c), MIN(b), MAX(id) FROM t", &[]),
        "100\t1575\t1675\tr0\t100\n"
    );
}

/// 2,700 rows of 24 parameters go in, and each is there: the shape of a driver's batch.
#[test]
fn a_batch_of_many_rows_goes_in() {
    const ROWS: usize = 2_700;
    let mut world = World::new(false);
    let columns: Vec<String> = (0..24)
        .map(|number| match number % 3 {
            0 => format!("c{number} INT"),
            1 => format!("c{number} VARCHAR(30)"),
            _ => format!("c{number} DECIMAL(12,2)"),
        })
        .collect();
    world.run(&format!("CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, {})", columns.join(", ")), &[]);
    let names: Vec<String> = (0..24).map(|number| format!("c{number}")).collect();
    let row = format!("({})", vec!["?"; 24].join(","));
    let sql = format!("INSERT INTO t ({}) VALUES {}", names.join(","), vec![row; ROWS].join(","));
    let mut params = Vec::with_capacity(ROWS * 24);
    for number in 0..ROWS * 24 {
        params.push(match number % 3 {
            0 => Value::Int(number as i64),
            1 => Value::string(format!("text {number}"), COLLATION),
            _ => Value::string(format!("{number}.25"), COLLATION),
        });
    }
    let prepared = world.prepare(&sql).expect("a plan");
    let (changed, warnings) = world.with_context(true, &params, |ctx| run_change(&prepared, ctx));
    assert_eq!(changed.expect("rows are inserted").affected, ROWS as u64);
    assert!(warnings.is_empty());
    let sum: usize = (0..ROWS).map(|row| row * 24).sum();
    assert_eq!(
        world.run("SELECT COUNT(*), SUM(c0), MIN(c1), SUM(c2) FROM t", &[]),
        format!("{ROWS}\t{sum}\ttext 1\t{}.00\n", sum + 2 * ROWS + ROWS / 4)
    );
}
