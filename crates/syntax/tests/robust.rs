//! No text makes the parser fail otherwise than with an error: not deep ones, not long ones, not random ones.

use bumpalo::Bump;
use proptest::prelude::*;
use syntax::{DigestScratch, NESTING_MAX, SqlMode, digest, parse};

/// What a worker thread surely has, unoptimised builds included.
const STACK_BYTES: usize = 1 << 20;

fn error_of(sql: Vec<u8>) -> Option<u16> {
    std::thread::Builder::new()
        .stack_size(STACK_BYTES)
        .spawn(move || {
            let _ = digest(&sql, SqlMode::default(), &mut DigestScratch::default());
            parse(&sql, &Bump::new(), SqlMode::default()).err().map(|e| e.number)
        })
        .expect("a thread")
        .join()
        .expect("no panic")
}

#[test]
fn nesting_ends_in_an_error_and_never_in_an_overflow() {
    for deep in [NESTING_MAX as usize, 10_000, 200_000] {
        let nested = |open: &str, middle: &str, close: &str| {
            [open.repeat(deep), middle.to_owned(), close.repeat(deep)].concat().into_bytes()
        };
        let with = |head: &str, rest: Vec<u8>| [head.as_bytes(), &rest].concat();
        let statements = [
            with("SELECT ", nested("(", "1", ")")),
            with("SELECT ", nested("(SELECT ", "1", ")")),
            with("SELECT ", nested("-", "1", "")),
            with("SELECT ", nested("NOT ", "1", "")),
            with("SELECT ", nested("f(", "1", ")")),
            with("SELECT ", nested("CASE WHEN 1 THEN ", "1", " END")),
            with("SELECT ", nested("1 BETWEEN 2 AND ", "1", "")),
            with("SELECT ", nested("@a := ", "1", "")),
            with("SELECT ", nested("INTERVAL (", "1", ")")),
            with("SELECT ", nested("{x ", "1", "}")),
            with("SELECT ", nested("1 IN (", "1", ")")),
            with("SELECT ", nested("EXISTS (SELECT ", "1", ")")),
            with("SELECT 1", nested("", "", "+1")),
            with("SELECT 1", nested("", "", " XOR 1")),
            with("SELECT 1", nested("", "", " COLLATE x")),
            with("SELECT 1", nested("", "", "=1")),
            with("SELECT 1", nested("", "", " IS NULL")),
            nested("(", "SELECT 1", ")"),
            with("SELECT 1 FROM ", nested("(", "t", ")")),
            with("SELECT 1 FROM ", nested("(SELECT 1 FROM ", "t", ") x")),
            with("SELECT 1 FROM ", nested("t JOIN ", "t", "")),
            with("SELECT 1 FROM t", nested("", "", " JOIN t ON 1")),
            with("SELECT 1 FROM ", nested("t LEFT JOIN ", "t", " ON 1")),
            with("", nested("WITH a AS (", "SELECT 1", ") SELECT 1")),
            with("CREATE PROCEDURE p() ", nested("BEGIN ", "SELECT 1", "; END")),
            with("CREATE PROCEDURE p() ", nested("IF 1 THEN ", "SELECT 1", "; END IF")),
            with("INSERT INTO t VALUES ", nested("(", "1", ")")),
        ];
        for sql in statements {
            let head = String::from_utf8_lossy(&sql[..40]).into_owned();
            let error = error_of(sql);
            if deep > NESTING_MAX as usize {
                // `(t JOIN (t ...` without ON is an error of its own; all the others are too deep.
                assert!(error == Some(1436) || error == Some(1064), "{head}: {error:?}");
            }
        }
    }
}

#[test]
fn long_chains_of_and_and_or_and_union_are_no_nesting() {
    for sql in [
        format!("SELECT 1 FROM t WHERE a = 0{}", " OR a = 1".repeat(20_000)),
        format!("SELECT 1 FROM t WHERE a = 0{}", " AND f(a) = 1".repeat(20_000)),
        format!("SELECT 1{}", " UNION ALL SELECT 1".repeat(10_000)),
        format!("SELECT 1 IN (1{})", ", 1".repeat(20_000)),
        format!("SELECT 1{}", ", a + b * f(c)".repeat(20_000)),
    ] {
        assert_eq!(error_of(sql.into_bytes()), None);
    }
}

#[test]
fn a_long_insert_costs_a_few_bytes_a_value() {
    let mut sql = b"INSERT INTO t VALUES (1,'a')".to_vec();
    while sql.len() < 16 << 20 {
        sql.extend_from_slice(b",(12345678,'some text of a usual length, say')");
    }
    let arena = Bump::new();
    let parsed = parse(&sql, &arena, SqlMode::default()).expect("correct");
    let syntax::ast::Statement::Insert(insert) = parsed.statement else { panic!("an INSERT") };
    let syntax::ast::InsertSource::Values(rows) = insert.source else { panic!("with VALUES") };
    assert_eq!((rows.column_count, rows.ragged_row, rows.exprs.len()), (2, None, 0));
    assert_eq!(rows.cells.len(), rows.row_count as usize * 2);
    // Cells of 12 bytes for every 24 bytes of text, and what doubling a buffer leaves behind.
    assert!(arena.allocated_bytes() < 3 * sql.len(), "{} bytes", arena.allocated_bytes());
}

const PIECES: &[&str] = &[
    "SELECT",
    "FROM",
    "t",
    "a",
    ".",
    ",",
    "(",
    ")",
    "*",
    "1",
    "'x'",
    "WHERE",
    "=",
    "AND",
    "OR",
    "NOT",
    "IN",
    "UNION",
    "ALL",
    "ORDER BY",
    "LIMIT",
    "INSERT INTO",
    "VALUES",
    "SET",
    "@",
    "@@",
    "?",
    "NULL",
    "IS",
    "LIKE",
    "BETWEEN",
    "CASE",
    "WHEN",
    "THEN",
    "END",
    "INTERVAL",
    "DAY",
    "+",
    "-",
    "/*! ",
    "*/",
    "/*",
    "--",
    "#",
    "`",
    "\"",
    "'",
    "\\",
    "0x",
    "1e",
    "JOIN",
    "ON",
    "CREATE TABLE",
    "INT",
    "DEFAULT",
    "KEY",
    "ALTER TABLE",
    "ADD",
    ";",
    "WITH",
    "AS",
    "N'",
    "X'",
    "_utf8mb4",
    "\n",
    "\0",
    "$$",
    "$a$",
    "CAST(",
    "COUNT(",
    "OVER",
    "{",
    "}",
    ":=",
    "->",
    "!",
    "BEGIN",
    "PARTITION BY",
    "EXPLAIN",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), mode in 0u8..64) {
        read(&bytes, SqlMode(mode));
    }

    #[test]
    fn random_pieces_never_panic(
        pieces in proptest::collection::vec(proptest::sample::select(PIECES), 0..40),
        blank in any::<bool>(),
        mode in 0u8..64,
    ) {
        read(pieces.join(if blank { " " } else { "" }).as_bytes(), SqlMode(mode));
    }
}

fn read(sql: &[u8], mode: SqlMode) {
    let arena = Bump::new();
    match parse(sql, &arena, mode) {
        Ok(parsed) => assert!(parsed.end <= sql.len()),
        Err(error) => assert!(error.offset <= sql.len() && error.number != 0),
    }
    let mut scratch = DigestScratch::default();
    if let Some(digested) = digest(sql, mode, &mut scratch) {
        assert!(digested.end <= sql.len());
        for literal in digested.literals {
            assert!((literal.start + literal.len) as usize <= sql.len());
        }
    }
}
