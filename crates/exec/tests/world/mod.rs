//! Statements from text to answers over tables that somebody keeps: what tests compare with stored answers of MySQL.
//!
//! Who keeps the tables is a [`Backend`]. CREATE TABLE, DROP TABLE and SET are read here: the parts that the scripts use.

use std::path::Path;
use std::sync::Arc;

use access::{Snapshot, Transaction};
use catalog::{Catalog, Schema, SchemaId, StoredValue, TableDefinition, TableEntry, TableId};
use exec::expr::{EvalContext, EvalSettings, SessionState, Warnings, sql_mode};
use exec::output::CollectSink;
use exec::{ChangeSettings, Changed, ExecContext, Prepared, run_change, run_query};
use fixture::{Binding, COLLATION};
use plan::Options;
use plan::physical::PlanKind;
use syntax::ast::{self, Statement};
use types::convert::{StoreOptions, store_value};
use types::{Cell, Column, DataType, TypeKind, Value, ValueRef};

/// 2026-11-21 04:00:00 UTC.
const NOW_UTC_MICROS: i64 = 1_795_233_600_000_000;

/// Who keeps the tables.
pub(crate) trait Backend {
    /// Makes a table as its statement says.
    fn create(&mut self, definition: TableDefinition, sql: &str) -> Arc<TableEntry>;

    /// Drops tables.
    fn drop_tables(&mut self, sql: &str);

    /// Gives `run` a transaction, which is committed if it answers true, and rolled back else.
    fn transact(&mut self, run: &mut dyn FnMut(&dyn Snapshot, &mut dyn Transaction) -> bool);
}

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

/// One session over a backend's tables.
pub(crate) struct World {
    backend: Box<dyn Backend>,
    database: &'static str,
    pub(crate) catalog: Arc<Catalog>,
    settings: EvalSettings,
    change: ChangeSettings,
    memory: Memory,
    tables_made: u64,
}

/// What a statement answers.
pub(crate) enum Answer {
    /// CREATE TABLE, DROP TABLE, SET.
    Done,
    /// Rows, their cells as text between tabs.
    Rows(Vec<String>),
    /// What a change did, the insert id that the client sees, and the warnings.
    Changed(Changed, u64, Warnings),
}

/// Number and text.
pub(crate) type Failure = (u16, String);

#[allow(clippy::boxed_local, reason = "errors come boxed")]
fn failed(error: Box<service::error::SqlError>) -> Failure {
    (error.number, error.message)
}

impl World {
    pub(crate) fn new(backend: Box<dyn Backend>, database: &'static str, found_rows: bool) -> World {
        let mut catalog = Catalog::new();
        catalog.version = 1;
        catalog.insert_schema(Arc::new(Schema::new(SchemaId(1), database, COLLATION, false)));
        World {
            backend,
            database,
            catalog: Arc::new(catalog),
            settings: EvalSettings { now_utc_micros: NOW_UTC_MICROS, ..EvalSettings::default() },
            change: ChangeSettings { found_rows, ..ChangeSettings::default() },
            memory: Memory::default(),
            tables_made: 0,
        }
    }

    /// Runs `run` with a transaction of its own; what it changed is undone if `is_undone` says so of its result.
    pub(crate) fn with_context<R>(
        &mut self,
        strict_dml: bool,
        params: &[Value],
        run: impl FnOnce(&mut ExecContext<'_>) -> R,
        is_undone: impl FnOnce(&R) -> bool,
    ) -> (R, Warnings) {
        let settings = EvalSettings { strict_dml, ..self.settings.clone() };
        let mut warnings = Warnings::default();
        let params: Vec<ValueRef<'_>> = params.iter().map(ValueRef::from).collect();
        let status = exec::StatusCounts::new();
        let World { backend, catalog, change, memory, .. } = self;
        let mut once = Some((run, is_undone));
        let mut result = None;
        backend.transact(&mut |snapshot, transaction| {
            let Some((run, is_undone)) = once.take() else { panic!("a statement runs once") };
            let eval = EvalContext {
                settings: &settings,
                params: &params,
                outer: Vec::new(),
                session: &mut *memory,
                warnings: &mut warnings,
                snapshot: None,
                transaction: None,
            };
            let mut ctx = ExecContext::new(eval, catalog, &(), &status);
            ctx.eval.snapshot = Some(snapshot);
            ctx.eval.transaction = Some(transaction);
            ctx.change = *change;
            let got = run(&mut ctx);
            let is_kept = !is_undone(&got);
            result = Some(got);
            is_kept
        });
        (result.expect("the backend runs it"), warnings)
    }

    fn binding(&self) -> Binding {
        Binding(self.database)
    }

    fn default_of(&mut self, expr: &ast::Expr<'_>, sql: &[u8], to: &DataType) -> StoredValue {
        let bound = plan::bind::bind_constant(expr, sql, &self.catalog, &self.binding()).expect("a literal");
        let run = |ctx: &mut ExecContext<'_>| exec::evaluate(&bound, ctx).expect("a value");
        let (value, _) = self.with_context(false, &[], run, |_| false);
        let options = StoreOptions {
            date_mode: self.settings.date_mode(),
            truncate_fraction: false,
            time_zone: &self.settings.time_zone,
            now_utc_micros: NOW_UTC_MICROS,
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

    fn create_table(&mut self, create: &ast::CreateTable<'_>, sql: &str) {
        let bytes = sql.as_bytes();
        let mut definition =
            fixture::table_of(create, bytes, &mut |expr, data_type| self.default_of(expr, bytes, data_type));
        self.tables_made += 1;
        definition.id = TableId(self.tables_made);
        definition.schema = self.database.into();
        let entry = self.backend.create(definition, sql);
        let mut catalog = Catalog::clone(&self.catalog);
        let mut schema = Schema::clone(catalog.schema(self.database).expect("the schema"));
        schema.insert(entry);
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

    pub(crate) fn prepare(&self, sql: &str) -> Result<Prepared, Failure> {
        let arena = bumpalo::Bump::new();
        let parsed = syntax::parse(sql.as_bytes(), &arena, syntax::SqlMode::default())
            .map_err(|error| (error.number, error.message))?;
        let bound = plan::bind::bind(&parsed.statement, sql.as_bytes(), &self.catalog, &self.binding())
            .map_err(|error| (error.number, error.message))?;
        let plan = Arc::new(plan::optimize(bound, &Options::new(&self.catalog)));
        Prepared::new(plan).map_err(failed)
    }

    /// Runs a statement.
    pub(crate) fn run(&mut self, sql: &str) -> Result<Answer, Failure> {
        if let Some(assignment) = sql.strip_prefix("SET ") {
            self.set(assignment);
            return Ok(Answer::Done);
        }
        if sql.starts_with("DROP TABLE") {
            self.backend.drop_tables(sql);
            return Ok(Answer::Done);
        }
        let arena = bumpalo::Bump::new();
        let parsed = syntax::parse(sql.as_bytes(), &arena, syntax::SqlMode::default())
            .map_err(|error| (error.number, error.message))?;
        if let Statement::CreateTable(create) = &parsed.statement {
            self.create_table(create, sql);
            return Ok(Answer::Done);
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
        let (changed, warnings) = self.with_context(strict, &[], run, Result::is_err);
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
        Ok(Answer::Changed(changed, told, warnings))
    }

    fn query(&mut self, prepared: &Prepared) -> Result<Answer, Failure> {
        let plan = prepared.plan().clone();
        let types: Vec<DataType> = plan.output.iter().map(|column| column.data_type.clone()).collect();
        let run = |ctx: &mut ExecContext<'_>| {
            let mut sink = CollectSink::new(types.clone(), usize::MAX);
            run_query(prepared, ctx, &mut sink).map(|_| sink.rows)
        };
        let (rows, _) = self.with_context(false, &[], run, Result::is_err);
        let line = |row: Vec<Value>| {
            let cells: Vec<String> =
                row.iter().zip(&types).map(|(value, data_type)| show(value, data_type)).collect();
            cells.join("\t")
        };
        Ok(Answer::Rows(rows.map_err(failed)?.into_iter().map(line).collect()))
    }

    /// What a statement answers, in the form of the expected files. `in_full`: that of `changes`, with the insert id, the text and
    /// the warnings of a change, and rows in the order in which they came; else that of `queries`.
    pub(crate) fn answer(&mut self, sql: &str, in_full: bool) -> String {
        match self.run(sql) {
            Ok(Answer::Done) => "OK 0 0 \n".to_owned(),
            Ok(Answer::Rows(mut rows)) => {
                if !in_full && !sql.to_lowercase().contains("order by") {
                    rows.sort();
                }
                rows.iter().map(|row| format!("{row}\n")).collect()
            }
            Ok(Answer::Changed(changed, ..)) if !in_full => format!("OK {}\n", changed.affected),
            Ok(Answer::Changed(changed, told, warnings)) => {
                let mut out = format!("OK {} {told} {}\n", changed.affected, changed.info(warnings.total()));
                for entry in warnings.entries() {
                    out += &format!("{} {}: {}\n", entry.level.name(), entry.number, entry.message);
                }
                out
            }
            Err((number, message)) => format!("ERROR {number}: {message}\n"),
        }
    }
}

/// A value as a client would see it.
fn show(value: &Value, data_type: &DataType) -> String {
    if value.is_null() {
        return "NULL".into();
    }
    let (from, column) = types::convert::value_column(value);
    let shown = if matches!(value, Value::Bytes { .. }) { &from } else { data_type };
    let mut text = Vec::new();
    types::convert::write_text(column.cell(0), shown, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// Runs each statement of `NAME.sql` of a folder beside this one and compares what it says with `NAME.expected`.
pub(crate) fn compare(folder: &str, name: &str, mut run: impl FnMut(&str) -> String) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../exec/tests").join(folder);
    let read = |file: String| std::fs::read_to_string(folder.join(file)).expect("the test's data");
    let (statements, expected) = (read(format!("{name}.sql")), read(format!("{name}.expected")));
    let expected = format!("\n{expected}");
    let mut answers = expected.split("\n> ").skip(1);
    let mut wrong = Vec::new();
    let mut count = 0;
    for statement in statements.lines().filter(|line| !line.is_empty() && !line.starts_with("--")) {
        count += 1;
        let answer = answers.next().expect("an answer for every statement: run ask.py");
        let (asked, wanted) = answer.split_once('\n').unwrap_or((answer, ""));
        assert_eq!(asked, statement, "the expected file is of other statements: run ask.py");
        let got = run(statement.trim_end_matches(';'));
        if got.trim_end() != wanted.trim_end() {
            wrong.push(format!(
                "> {statement}\n--- MySQL\n{}\n--- ours\n{}\n",
                wanted.trim_end(),
                got.trim_end()
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {count} differ:\n{}", wrong.len(), wrong.join("\n"));
}
