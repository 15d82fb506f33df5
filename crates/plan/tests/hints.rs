//! What optimizer hints and switches make of plans: the tree with each must hold a word, or must not.

use catalog::Catalog;
use fixture::Binding;
use plan::Options;
use plan::passes::Switches;

const TABLES: [&str; 2] = [
    "CREATE TABLE t (id INT PRIMARY KEY, a INT NOT NULL, b INT NOT NULL, h INT NOT NULL, KEY ka (a), KEY kh (h))",
    "CREATE TABLE u (id INT PRIMARY KEY, t INT NOT NULL, v INT NOT NULL, KEY kt (t))",
];

fn catalog() -> Catalog {
    fixture::shop(&TABLES, 10_000, |table| {
        table.indexes.iter_mut().for_each(|index| index.visible = &*index.name != "kh");
    })
}

fn tree(catalog: &Catalog, sql: &str, switches: Switches) -> String {
    let arena = bumpalo::Bump::new();
    let parsed = syntax::parse(sql.as_bytes(), &arena, syntax::SqlMode::default())
        .unwrap_or_else(|error| panic!("{sql}: {}", error.message));
    let bound = plan::bind::bind(&parsed.statement, sql.as_bytes(), catalog, &Binding("shop"))
        .unwrap_or_else(|error| panic!("{sql}: {}", error.message));
    let warnings: Vec<_> = bound.warnings.iter().map(|warning| warning.message.clone()).collect();
    assert!(warnings.is_empty(), "{sql}: {warnings:?}");
    plan::explain::tree(&plan::optimize(bound, &Options { switches, ..Options::new(catalog) }), None, &[])
}

#[test]
fn hints_and_switches_choose_plans() {
    let catalog = catalog();
    let on = Switches::default();
    let no_joins = Switches { semijoin: false, ..on };
    let no_hash = Switches { hash_join: false, ..on };
    let all_indexes = Switches { invisible_indexes: true, ..on };
    let cases: &[(Switches, &str, bool, &str)] = &[
        (on, "SELECT b FROM t WHERE b IN (SELECT v FROM u)", true, "emijoin"),
        (on, "SELECT b FROM t WHERE b IN (SELECT /*+ NO_SEMIJOIN() */ v FROM u)", false, "emijoin"),
        (
            on,
            "SELECT /*+ NO_SEMIJOIN(@s) */ b FROM t WHERE b IN (SELECT /*+ QB_NAME(s) */ v FROM u)",
            false,
            "emijoin",
        ),
        (on, "SELECT b FROM t WHERE b IN (SELECT /*+ SUBQUERY(INTOEXISTS) */ v FROM u)", false, "emijoin"),
        (no_joins, "SELECT b FROM t WHERE b IN (SELECT v FROM u)", false, "emijoin"),
        (
            no_joins,
            "SELECT b FROM t WHERE b IN (SELECT /*+ SEMIJOIN(FIRSTMATCH) */ v FROM u)",
            true,
            "emijoin",
        ),
        (on, "SELECT t.b FROM t, u WHERE t.b = u.v", true, "-> Hash"),
        (on, "SELECT /*+ NO_BNL(u) */ t.b FROM t, u WHERE t.b = u.v", false, "-> Hash"),
        (on, "SELECT /*+ NO_BNL() */ t.b FROM t, u WHERE t.b = u.v", false, "-> Hash"),
        (
            on,
            "SELECT /*+ NO_BNL(d) */ d.b FROM (SELECT DISTINCT b FROM t) d, u WHERE d.b = u.v",
            false,
            "hash join",
        ),
        (no_hash, "SELECT t.b FROM t, u WHERE t.b = u.v", false, "-> Hash"),
        (no_hash, "SELECT /*+ BNL(t, u) */ t.b FROM t, u WHERE t.b = u.v", true, "-> Hash"),
        (on, "SELECT * FROM t ORDER BY a LIMIT 1", false, "Sort"),
        (on, "SELECT /*+ NO_ORDER_INDEX(t ka) */ * FROM t ORDER BY a LIMIT 1", true, "Sort"),
        (on, "SELECT /*+ ORDER_INDEX(t PRIMARY) */ * FROM t ORDER BY a LIMIT 1", true, "Sort"),
        (on, "SELECT * FROM t WHERE a BETWEEN 5 AND 6", true, "range scan"),
        (
            on,
            "SELECT /*+ NO_RANGE_OPTIMIZATION(t ka) */ * FROM t WHERE a BETWEEN 5 AND 6",
            false,
            "range scan",
        ),
        (on, "SELECT /*+ NO_RANGE_OPTIMIZATION(t) */ * FROM t WHERE a = 5", true, "Index lookup"),
        (on, "SELECT * FROM t WHERE h = 5", false, "kh"),
        (all_indexes, "SELECT * FROM t WHERE h = 5", true, "kh"),
        (on, "SELECT * FROM (SELECT DISTINCT a, b FROM t) d WHERE a = 5", true, "Index lookup"),
        (
            on,
            "SELECT /*+ NO_DERIVED_CONDITION_PUSHDOWN(d) */ * FROM (SELECT DISTINCT a, b FROM t) d WHERE a = 5",
            false,
            "Index lookup",
        ),
    ];
    let mut wrong = Vec::new();
    for &(switches, sql, holds, word) in cases {
        let shown = tree(&catalog, sql, switches);
        if shown.contains(word) != holds {
            wrong.push(format!("{sql}: {word}\n{shown}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn an_order_that_contradicts_an_earlier_one_is_left_out() {
    let catalog = catalog();
    let shown = |hints: &str| {
        let sql = format!("SELECT /*+ {hints} */ 1 FROM t, u WHERE u.t = t.id AND t.b = 3");
        tree(&catalog, &sql, Switches::default())
    };
    assert_eq!(shown("JOIN_ORDER(u, t) JOIN_ORDER(t, u)"), shown("JOIN_ORDER(u, t)"));
    assert_eq!(shown("JOIN_ORDER(t, u) JOIN_ORDER(u, t)"), shown("JOIN_ORDER(t, u)"));
    assert_ne!(shown("JOIN_ORDER(t, u)"), shown("JOIN_ORDER(u, t)"));
}
