//! The tree says what MySQL means: what binds tighter, which join an `ON` belongs to, what a cell holds.

use bumpalo::Bump;
use syntax::ast::{CellKind, InsertSource, SelectItem, Statement};
use syntax::{DigestScratch, SqlMode, digest, parse, parse_expr, print_expr, print_query, unescape};

fn expr_in(sql: &str, mode: SqlMode) -> String {
    let arena = Bump::new();
    let expr = parse_expr(sql.as_bytes(), &arena, mode).expect(sql);
    let mut out = Vec::new();
    print_expr(&expr, "utf8mb4", &mut out);
    String::from_utf8(out).expect("UTF-8")
}

fn query(sql: &str) -> String {
    let arena = Bump::new();
    let Statement::Query(query) = parse(sql.as_bytes(), &arena, SqlMode::default()).expect(sql).statement
    else {
        panic!("{sql} is a query")
    };
    let mut out = Vec::new();
    print_query(query, "utf8mb4", &mut out);
    String::from_utf8(out).expect("UTF-8")
}

#[test]
fn operators_bind_as_in_mysql() {
    for (sql, wanted) in [
        ("a = 1 or b = 2 and not c = 3", "((`a` = 1) or ((`b` = 2) and (`c` <> 3)))"),
        ("1 - 2 - 3", "((1 - 2) - 3)"),
        ("1 + 2 * 3 ^ 4", "(1 + (2 * (3 ^ 4)))"),
        ("- a ^ 2", "(-(`a`) ^ 2)"),
        ("a between 1 and 2 and b", "((`a` between 1 and 2) and (0 <> `b`))"),
        ("a between 1 and b = c", "((`a` between 1 and `b`) = `c`)"),
        ("a = b is null", "((`a` = `b`) is null)"),
        ("a like 'x' = 1", "((`a` like _utf8mb4'x') = 1)"),
        ("interval 1 day + d + 1", "((`d` + interval 1 day) + 1)"),
        ("a || b", "((0 <> `a`) or (0 <> `b`))"),
        ("a << 1 + 2", "(`a` << (1 + 2))"),
        ("@x := a = 1", "(@`x`:=(`a` = 1))"),
        ("binary a = b", "(cast(`a` as char charset binary) = `b`)"),
        ("a collate x = b", "((`a` collate x) = `b`)"),
        ("((1, 2), 3)", "((1,2),3)"),
    ] {
        assert_eq!(expr_in(sql, SqlMode::default()), wanted, "{sql}");
    }
}

#[test]
fn modes_change_the_tree() {
    assert_eq!(expr_in("a || b || c", SqlMode::PIPES_AS_CONCAT), "concat(concat(`a`,`b`),`c`)");
    assert_eq!(expr_in("not a between 1 and 2", SqlMode::default()), "(`a` not between 1 and 2)");
    assert_eq!(expr_in("not a between 1 and 2", SqlMode::HIGH_NOT_PRECEDENCE), "((0 = `a`) between 1 and 2)");
    assert_eq!(expr_in("\"a\"", SqlMode::ANSI_QUOTES), "`a`");
    assert_eq!(expr_in(r"'a\n'", SqlMode::NO_BACKSLASH_ESCAPES), r"_utf8mb4'a\\n'");
    assert_eq!(expr_in("lower (a) = count (b)", SqlMode::IGNORE_SPACE), "(lower(`a`) = count(`b`))");
}

#[test]
fn joins_lean_to_the_left_whatever_the_order_of_conditions() {
    for (from, wanted) in [
        ("a join b join c", "((`a` join `b`) join `c`)"),
        ("a join b on 1 join c on 2", "((`a` join `b` on(1)) join `c` on(2))"),
        ("a join b join c on 1 on 2", "(`a` join (`b` join `c` on(1)) on(2))"),
        ("a join b left join c on 1", "((`a` join `b`) left join `c` on(1))"),
        ("a left join b left join c on 1 on 2", "(`a` left join (`b` left join `c` on(1)) on(2))"),
        ("a natural left join b", "(`a` natural left join `b`)"),
        ("a left join (b, c) on 1", "(`a` left join (`b`,`c`) on(1))"),
    ] {
        assert_eq!(query(&format!("select 1 from {from}")), format!("select 1 from {wanted}"));
    }
}

#[test]
fn intersect_binds_tighter_than_union_and_order_belongs_to_all() {
    assert_eq!(
        query("select 1 union select 2 intersect select 3 except all select 4 order by 1 limit 2, 3"),
        "select 1 union (select 2 intersect select 3) except all select 4 order by 1 limit 2,3"
    );
}

#[test]
fn a_column_without_alias_is_named_by_its_source() {
    let sql = b"SELECT  a + 1 , (b) , 'it''s' AS c FROM t";
    let arena = Bump::new();
    let parsed = parse(sql, &arena, SqlMode::default()).expect("correct");
    let Statement::Query(query) = parsed.statement else { panic!() };
    let syntax::ast::QueryBody::Select(select) = query.body else { panic!() };
    let sources: Vec<_> = select
        .items
        .iter()
        .map(|item| match item {
            SelectItem::Expr { source, .. } => String::from_utf8_lossy(source.of(sql)).into_owned(),
            _ => String::new(),
        })
        .collect();
    assert_eq!(sources, ["a + 1", "(b)", "'it''s'"]);
}

#[test]
fn values_are_cells() {
    let sql = br"INSERT INTO t (a, b) VALUES (-1, 'x\'y'), (NULL, now()), (18446744073709551616, X'4D'), (?, 1.5e3)";
    let arena = Bump::new();
    let parsed = parse(sql, &arena, SqlMode::default()).expect("correct");
    let Statement::Insert(insert) = parsed.statement else { panic!() };
    let InsertSource::Values(rows) = insert.source else { panic!() };
    let kinds: Vec<_> = rows.cells.iter().map(|cell| cell.kind).collect();
    use CellKind as K;
    assert_eq!(
        kinds,
        [K::NegInteger, K::StringEscaped, K::Null, K::Expr, K::Decimal, K::Hex, K::Param, K::Float]
    );
    assert_eq!((rows.row_count, rows.column_count, rows.exprs.len(), parsed.param_count), (4, 2, 1, 1));
    let cell = rows.row(0)[1];
    let mut text = Vec::new();
    unescape(&sql[cell.start as usize..(cell.start + cell.len) as usize], b'\'', true, &mut text);
    assert_eq!(text, b"x'y");
    let cell = rows.row(2)[1];
    assert_eq!(&sql[cell.start as usize..(cell.start + cell.len) as usize], b"4D");
}

#[test]
fn rows_of_another_width_are_named() {
    let arena = Bump::new();
    let parsed =
        parse(b"INSERT INTO t VALUES (1,2),(3,4),(5),(6,7)", &arena, SqlMode::default()).expect("parses");
    let Statement::Insert(insert) = parsed.statement else { panic!() };
    let InsertSource::Values(rows) = insert.source else { panic!() };
    assert_eq!((rows.row_count, rows.ragged_row), (2, Some(2)));
}

#[test]
fn statements_are_distinguished() {
    let sql = b" SELECT 1 ; /* c */ SELECT ';' ;; ";
    let arena = Bump::new();
    let first = parse(sql, &arena, SqlMode::default()).expect("correct");
    assert_eq!((&sql[first.end..], first.more), (b" /* c */ SELECT ';' ;; ".as_slice(), true));
    let second = parse(&sql[first.end..], &arena, SqlMode::default()).expect("correct");
    assert!(!second.more);
    assert!(matches!(
        parse(b" -- x", &arena, SqlMode::default()).expect("empty").statement,
        Statement::Empty
    ));
}

// Recognition.

/// Template, hash, literals as text, width and number of rows.
type DigestLookup = (Vec<u8>, u64, Vec<String>, Option<(u32, u32)>);

fn found(sql: &str) -> Option<DigestLookup> {
    let mut scratch = DigestScratch::default();
    let digested = digest(sql.as_bytes(), SqlMode::default(), &mut scratch)?;
    let literals = digested
        .literals
        .iter()
        .map(|cell| sql[cell.start as usize..(cell.start + cell.len) as usize].to_owned())
        .collect();
    let rows = digested.rows.map(|rows| (rows.column_count, rows.row_count));
    Some((digested.normalized.to_vec(), digested.hash, literals, rows))
}

#[test]
fn statements_that_differ_in_values_have_one_template() {
    for (one, other) in [
        ("SELECT c FROM t WHERE id=1", "select  c from t where id = 42"),
        ("SELECT c FROM t WHERE s = 'a' LIMIT 3", "SELECT c FROM t WHERE s = \"b\" /* x */ LIMIT 7"),
        ("UPDATE t SET a = 1 WHERE b = -2", "UPDATE t SET a = 3 WHERE b = -4"),
        ("INSERT INTO t VALUES (1, 'a')", "INSERT INTO t VALUES (-2, NULL), (3.5, DEFAULT)"),
        ("DELETE FROM t WHERE a IN (1, 2)", "DELETE FROM t WHERE a IN (3, 4)"),
        (
            "SELECT a FROM t WHERE x = (SELECT b FROM u WHERE c = 1)",
            "SELECT a FROM t WHERE x = (SELECT b FROM u WHERE c = 2)",
        ),
        ("SELECT a FROM t ORDER BY b LIMIT 1", "SELECT a FROM t ORDER BY b LIMIT 2"),
    ] {
        let (a, b) = (found(one).expect(one), found(other).expect(other));
        assert_eq!((a.0, a.1), (b.0, b.1), "{one} and {other}");
        assert_ne!(a.2, b.2);
    }
}

#[test]
fn statements_that_mean_something_else_have_other_templates() {
    for (one, other) in [
        ("SELECT 1 FROM t", "SELECT 2 FROM t"),
        ("SELECT a+1 FROM t", "SELECT a + 1 FROM t"),
        ("SELECT a FROM t ORDER BY 1", "SELECT a FROM t ORDER BY 2"),
        ("SELECT a FROM t GROUP BY 1", "SELECT a FROM t GROUP BY 2"),
        ("SELECT a FROM t WHERE b = 1", "SELECT a FROM t WHERE b = '1'"),
        ("SELECT a FROM t WHERE b = 1", "SELECT a FROM t WHERE b = 1.0"),
        ("SELECT a FROM t WHERE b IS NULL", "SELECT a FROM t WHERE b IS TRUE"),
        ("SELECT a FROM t WHERE b IN (1)", "SELECT a FROM t WHERE b IN (1, 2)"),
        ("SELECT a FROM User", "SELECT a FROM user"),
        ("SELECT a FROM `t`", "SELECT a FROM t"),
        ("SELECT a FROM t WHERE CAST(b AS CHAR(1)) = 'x'", "SELECT a FROM t WHERE CAST(b AS CHAR(2)) = 'x'"),
        ("SELECT a FROM t WHERE b > NOW(3)", "SELECT a FROM t WHERE b > NOW(6)"),
        ("SELECT a FROM t WHERE ROUND(b, 1) = 2", "SELECT a FROM t WHERE ROUND(b, 2) = 2"),
        ("SELECT a FROM t WHERE j->'$.a' = 1", "SELECT a FROM t WHERE j->'$.b' = 1"),
        ("SELECT /*+ BKA(t) */ a FROM t", "SELECT a FROM t"),
        ("SELECT a FROM t WHERE b = 1 /*!80000 OR 1 */", "SELECT a FROM t WHERE b = 1"),
        ("INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (1, 2)"),
        ("INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (a)"),
        ("SELECT a FROM t WHERE b = 1 AND c = 2", "SELECT a FROM t WHERE b = 1 OR c = 2"),
    ] {
        assert_ne!(found(one).expect(one).0, found(other).expect(other).0, "{one} and {other}");
    }
}

#[test]
fn literals_are_found_where_the_tree_has_them() {
    let sql = "SELECT a, 5 FROM t WHERE b = 'x' AND c > 10 AND d = 0x41 LIMIT 3";
    assert_eq!(found(sql).expect(sql).2, ["x", "10", "41", "3"]);
    let mut scratch = DigestScratch::default();
    let digested = digest(sql.as_bytes(), SqlMode::default(), &mut scratch).expect(sql);
    let place = |text: &str| digested.find(sql.find(text).expect(text) as u32);
    assert_eq!([place("'x'"), place("10"), place("0x41"), place("3")], [Some(0), Some(1), Some(2), Some(3)]);
    assert_eq!([place("5 FROM"), place("a, 5")], [None, None]);
    assert_eq!(
        found("INSERT INTO t (a,b) VALUES (1,-2),(3,'q') ON DUPLICATE KEY UPDATE a=9").expect("rows").3,
        Some((2, 2))
    );
    assert!(found("INSERT INTO t VALUES (1, NOW())").expect("no rows").3.is_none());
}

#[test]
fn what_needs_the_parser_is_left_to_it() {
    for sql in [
        "SET a = 1",
        "CREATE TABLE t (a INT)",
        "SELECT a FROM t WHERE b = 'x' 'y'",
        "SELECT 'open",
        "SELECT 1)",
        "",
    ] {
        assert!(found(sql).is_none(), "{sql}");
    }
}
