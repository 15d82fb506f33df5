//! SQL from text to rows over a store in memory, compared with what MySQL 9.7 answers.
//!
//! `queries/*.sql` hold statements, one per line; `queries/*.expected` what MySQL said to them, made by
//! `queries/ask.py`. Rows are tab-separated; without ORDER BY they are compared sorted. A line that starts with `--`
//! is a comment.

mod answers;

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use catalog::{Catalog, Schema, SchemaId, TableId};
use exec::expr::{EvalContext, EvalSettings, NoSession, Warnings, sql_mode};
use exec::output::CollectSink;
use exec::{ExecContext, Prepared, run_change, run_query};
use fixture::Binding;
use plan::Options;
use plan::physical::PlanKind;
use store::Store;
use syntax::ast::Statement;
use table::{LocalSnapshot, LocalTransaction};
use types::DataType;

struct World {
    store: Store,
    catalog: Arc<Catalog>,
}

const BINDING: Binding = Binding("plan_x");

impl World {
    /// The tables that `queries/schema.sql` makes on the oracle.
    fn new() -> World {
        let store = fixture::open_store(&env::simulated::SimWorld::new(1));
        let mut schema = Schema::new(SchemaId(1), "plan_x", fixture::COLLATION, false);
        for (number, sql) in include_str!("queries/schema.sql").lines().enumerate() {
            let mut definition = fixture::parse_table(sql.trim_end_matches(';'));
            definition.id = TableId(number as u64 + 1);
            definition.schema = "plan_x".into();
            schema.insert(fixture::entry(fixture::create(&store, definition)));
        }
        let mut catalog = Catalog::new();
        catalog.version = 1;
        catalog.insert_schema(Arc::new(schema));
        World { store, catalog: Arc::new(catalog) }
    }

    /// What a statement answers, in the form of the expected files.
    fn run(&self, text: &str) -> String {
        match self.try_run(text) {
            Ok(answer) => answer,
            Err((number, message)) => format!("ERROR {number}: {message}\n"),
        }
    }

    fn try_run(&self, text: &str) -> Result<String, (u16, String)> {
        let arena = bumpalo::Bump::new();
        let parsed = syntax::parse(text.as_bytes(), &arena, syntax::SqlMode::default())
            .map_err(|error| (error.number, error.message))?;
        let (statement, explain) = match &parsed.statement {
            Statement::Query(_) | Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_) => {
                (parsed.statement, false)
            }
            other => panic!("{other:?} is no statement for this test"),
        };
        assert!(!explain);
        let failed = |error: Box<service::error::SqlError>| (error.number, error.message);
        let bound = plan::bind::bind(&statement, text.as_bytes(), &self.catalog, &BINDING)
            .map_err(|error| (error.number, error.message))?;
        let plan = Arc::new(plan::optimize(bound, &Options::new(&self.catalog)));
        let prepared = Prepared::new(plan.clone()).map_err(failed)?;
        let mode = EvalSettings::default().sql_mode | sql_mode::STRICT_TRANS_TABLES;
        let change = !matches!(plan.kind, PlanKind::Query(_));
        let settings = EvalSettings { sql_mode: mode, strict_dml: change, ..EvalSettings::default() };
        let mut session = NoSession;
        let mut warnings = Warnings::default();
        let eval = EvalContext {
            settings: &settings,
            params: &[],
            outer: Vec::new(),
            session: &mut session,
            warnings: &mut warnings,
        };
        let view = self.store.read_view();
        let mut transaction = self.store.begin();
        let status = exec::StatusCounts::new();
        let mut ctx = ExecContext::new(eval, &self.catalog, &(), &status);
        let snapshot = LocalSnapshot(&view);
        let mut local = LocalTransaction::new(&view, &mut transaction);
        ctx.snapshot = Some(&snapshot);
        ctx.transaction = Some(&mut local);
        let mut out = String::new();
        if change {
            let changed = run_change(&prepared, &mut ctx);
            drop(ctx);
            match changed {
                Ok(changed) => {
                    transaction.commit().expect("a commit");
                    writeln!(out, "OK {}", changed.affected).expect("a String takes all");
                }
                Err(error) => return Err(failed(error)),
            }
        } else {
            let types: Vec<DataType> = plan.output.iter().map(|column| column.data_type.clone()).collect();
            let mut sink = CollectSink::new(types.clone(), usize::MAX);
            run_query(&prepared, &mut ctx, &mut sink).map_err(failed)?;
            let mut lines: Vec<String> = sink
                .rows
                .iter()
                .map(|row| {
                    let cells: Vec<String> = row
                        .iter()
                        .zip(&types)
                        .map(|(value, data_type)| answers::show(value, data_type))
                        .collect();
                    cells.join("\t")
                })
                .collect();
            if !text.to_lowercase().contains("order by") {
                lines.sort();
            }
            for line in lines {
                out.push_str(&line);
                out.push('\n');
            }
        }
        Ok(out)
    }
}

fn compare(name: &str) {
    let world = World::new();
    answers::compare("queries", name, |statement| world.run(statement));
}

/// The plans of `plans.sql` are those of `plans.expected`; run with `REWRITE_SCRIPTS=1` to write what they are now.
#[test]
fn plans_are_as_written() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/queries");
    let statements = std::fs::read_to_string(folder.join("plans.sql")).expect("the test's data");
    let world = World::new();
    for number in 1..200 {
        world.run(&format!("INSERT INTO t VALUES ({number}, 'name {number}', {})", number % 20));
        world.run(&format!("INSERT INTO u VALUES ({number}, {}, {number})", number % 50));
        world.run(&format!("INSERT INTO d (a, f) VALUES ({}, 'text')", number % 7));
    }
    let mut plans = String::new();
    for statement in statements.lines().filter(|line| !line.is_empty() && !line.starts_with("--")) {
        let arena = bumpalo::Bump::new();
        let parsed =
            syntax::parse(statement.as_bytes(), &arena, syntax::SqlMode::default()).expect("it parses");
        let bound = plan::bind::bind(&parsed.statement, statement.as_bytes(), &world.catalog, &BINDING);
        let plan = plan::optimize(bound.expect("it binds"), &Options::new(&world.catalog));
        // Estimates change with the statistics: only shapes are compared.
        let tree: String = plan::explain::tree(&plan, None)
            .lines()
            .map(|line| format!("{}\n", line.split("  (cost").next().unwrap_or(line)))
            .collect();
        write!(plans, "> {statement}\n{tree}").expect("a String takes all");
    }
    if std::env::var_os("REWRITE_SCRIPTS").is_some() {
        std::fs::write(folder.join("plans.expected"), &plans).expect("the folder is writable");
    }
    let expected = std::fs::read_to_string(folder.join("plans.expected")).unwrap_or_default();
    assert_eq!(plans, expected);
}

#[test]
fn queries_answer_as_mysql_does() {
    compare("select");
}

#[test]
fn changes_answer_as_mysql_does() {
    compare("change");
}

#[test]
fn errors_are_mysqls() {
    compare("errors");
}
