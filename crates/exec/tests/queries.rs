//! SQL from text to rows over a store in memory, compared with what MySQL 9.7 answers.
//!
//! `queries/*.sql` hold statements, one per line; `queries/*.expected` what MySQL said to them, made by
//! `queries/ask.py`. Rows are tab-separated; without ORDER BY they are compared sorted. A line that starts with `--`
//! is a comment.

mod local;
mod world;

use std::fmt::Write as _;
use std::path::Path;

use fixture::Binding;
use local::Local;
use plan::Options;
use world::World;

/// The tables that `queries/schema.sql` makes on the oracle.
fn world() -> World {
    let mut world = World::new(Local::new(), "plan_x", false);
    for sql in include_str!("queries/schema.sql").lines() {
        world.answer(sql.trim_end_matches(';'), false);
    }
    world
}

fn compare(name: &str) {
    let mut world = world();
    world::compare("queries", name, |statement| world.answer(statement, false));
}

/// The plans of `plans.sql` are those of `plans.expected`; run with `INVAR_REWRITE=1` to write what they are now.
#[test]
fn plans_are_as_written() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/queries");
    let statements = std::fs::read_to_string(folder.join("plans.sql")).expect("the test's data");
    let mut world = world();
    for number in 1..200 {
        world.answer(&format!("INSERT INTO t VALUES ({number}, 'name {number}', {})", number % 20), false);
        world.answer(&format!("INSERT INTO u VALUES ({number}, {}, {number})", number % 50), false);
        world.answer(&format!("INSERT INTO d (a, f) VALUES ({}, 'text')", number % 7), false);
    }
    let mut plans = String::new();
    for statement in statements.lines().filter(|line| !line.is_empty() && !line.starts_with("--")) {
        let arena = bumpalo::Bump::new();
        let parsed =
            syntax::parse(statement.as_bytes(), &arena, syntax::SqlMode::default()).expect("it parses");
        let bound =
            plan::bind::bind(&parsed.statement, statement.as_bytes(), &world.catalog, &Binding("plan_x"));
        let constants =
            exec::PlannedConstants { settings: &exec::expr::EvalSettings::default(), params: &[] };
        let plan = plan::optimize_for(bound.expect("it binds"), &Options::new(&world.catalog), &constants);
        // Estimates change with the statistics: only shapes are compared.
        let tree: String = plan::explain::tree(&plan, None, &[])
            .lines()
            .map(|line| format!("{}\n", line.split("  (cost").next().unwrap_or(line)))
            .collect();
        write!(plans, "> {statement}\n{tree}").expect("a String takes all");
    }
    if std::env::var_os("INVAR_REWRITE").is_some() {
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
