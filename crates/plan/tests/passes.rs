//! What each pass of the optimizer does: golden scripts with the tree before and after it.
//!
//! `passes/PASS.script` holds queries; the output of each is the tree that the pass gets (`before`: the passes in front
//! of it have run) and the tree it leaves (`after`). `outer_to_inner` is a rule of `pushdown`: before is what pushdown
//! leaves without the rule, after with it. `INVAR_REWRITE=1 cargo test -p plan --test passes` writes them again.

use std::path::{Path, PathBuf};

use catalog::Catalog;
use fixture::Binding;
use plan::logical::Bound;
use plan::passes::{Pass, Switches};

const TABLES: [&str; 4] = [
    "CREATE TABLE customer (id INT PRIMARY KEY, name VARCHAR(20) NOT NULL, region INT, boss INT)",
    "CREATE TABLE orders (id INT PRIMARY KEY, customer_id INT NOT NULL, total INT, day DATE, KEY k (customer_id))",
    "CREATE TABLE item (order_id INT NOT NULL, line INT NOT NULL, sku INT, price INT NOT NULL, PRIMARY KEY (order_id, line))",
    "CREATE TABLE note (id INT PRIMARY KEY, order_id INT, body TEXT, data LONGBLOB NOT NULL, doc JSON)",
];

fn catalog() -> Catalog {
    fixture::shop(&TABLES, 1000, |_| {})
}

fn bind(catalog: &Catalog, sql: &str) -> Bound {
    let arena = bumpalo::Bump::new();
    let parsed = syntax::parse(sql.as_bytes(), &arena, syntax::SqlMode::default())
        .unwrap_or_else(|error| panic!("{sql}: {}", error.message));
    plan::bind::bind(&parsed.statement, sql.as_bytes(), catalog, &Binding("shop"))
        .unwrap_or_else(|error| panic!("{sql}: {}", error.message))
}

/// The trees before and after the pass or rule of this name.
fn before_and_after(name: &str, mut bound: Bound) -> (String, String) {
    let switches = Switches { outer_to_inner: false, ..Switches::default() };
    let pass = match name {
        "outer_to_inner" => Pass::Pushdown,
        _ => Pass::ALL.into_iter().find(|pass| pass.name() == name).expect("the file is named for a pass"),
    };
    for earlier in Pass::ALL.into_iter().take_while(|earlier| *earlier != pass) {
        earlier.run(&mut bound, switches);
    }
    let mut before = bound.clone();
    if name == "outer_to_inner" {
        pass.run(&mut before, switches);
        pass.run(&mut bound, Switches::default());
    } else {
        pass.run(&mut bound, switches);
    }
    (before.text(), bound.text())
}

fn check(name: &str) {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/passes/{name}.script"));
    let catalog = catalog();
    script::check(&path, |block| {
        let mut out = String::new();
        for command in &block.commands {
            let (before, after) = before_and_after(name, bind(&catalog, &command.text));
            out.push_str("before:\n");
            out.push_str(&before);
            if before == after {
                out.push_str("after: the same\n");
            } else {
                out.push_str("after:\n");
                out.push_str(&after);
            }
        }
        out
    });
}

#[test]
fn semijoin() {
    check("semijoin");
}

#[test]
fn apply() {
    check("apply");
}

#[test]
fn or_factors() {
    check("or_factors");
}

#[test]
fn outer_to_inner() {
    check("outer_to_inner");
}

#[test]
fn pushdown() {
    check("pushdown");
}

#[test]
fn parts() {
    check("parts");
}

/// A pass that is switched off must not be needed for a right answer: the trees of all combinations have the same
/// output columns.
#[test]
fn no_switch_changes_the_output() {
    let catalog = catalog();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/passes");
    let mut count = 0;
    for path in script::files(&folder, "script") {
        let text = std::fs::read_to_string(&path).expect("a script");
        let (blocks, _) = script::parse(&text).expect("a script");
        for command in blocks.iter().flat_map(|block| &block.commands) {
            let all = bind(&catalog, &command.text);
            for bits in 0..512 {
                let switches = Switches {
                    semijoin: bits & 1 != 0,
                    outer_to_inner: bits & 2 != 0,
                    pushdown: bits & 4 != 0,
                    parts: bits & 8 != 0,
                    hash_join: bits & 16 != 0,
                    or_factors: bits & 32 != 0,
                    member_sets: bits & 64 != 0,
                    always_groups: bits & 128 != 0,
                    group_order: bits & 256 != 0,
                    early_conditions: bits & 256 != 0,
                    invisible_indexes: false,
                };
                let mut bound = all.clone();
                plan::passes::run(&mut bound, switches);
                let plan = plan::build::build(bound, &plan::Options { switches, ..plan::Options::default() });
                let columns: Vec<_> = plan.output.iter().map(|column| column.id).collect();
                // A large column may be given by the part that is all of it.
                let whole = |id| {
                    let mut parts = plan
                        .tables
                        .iter()
                        .flat_map(|table| table.parts.iter().map(move |part| (table, part)));
                    parts
                        .find(|(_, part)| part.id == id)
                        .map(|(table, part)| (table.alias.clone(), part.column))
                };
                let wanted: Vec<_> = all.output.iter().map(|column| column.id).collect();
                for (&is, &was) in columns.iter().zip(&wanted) {
                    assert!(is == was || (switches.parts && whole(is).is_some()), "{}", command.text);
                }
                assert_eq!(columns.len(), wanted.len(), "{}", command.text);
                count += 1;
            }
        }
    }
    assert!(count > 600, "{count} plans were built");
}
