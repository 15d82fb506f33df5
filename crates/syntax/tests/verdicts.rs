//! Accepted and rejected as MySQL 9.7.4 does, with its error text: the answers of a real server are in `tests/data`.
//!
//! A line that 9.7 refused for its meaning (an unknown table, say) only has to parse, or to fail: there the server
//! may have stopped before it read the end. `KNOWN` counts the lines on which we differ; it may only fall.

use std::fmt::Write;

use bumpalo::Bump;
use syntax::{SqlMode, parse, syntax_error_at};

fn unescape_line(line: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = line;
    while let [c, tail @ ..] = rest {
        rest = tail;
        if *c != b'\\' {
            out.push(*c);
            continue;
        }
        match *rest {
            [b'n', ref tail @ ..] => (out.push(b'\n'), rest = tail).1,
            [b't', ref tail @ ..] => (out.push(b'\t'), rest = tail).1,
            [b'x', hi, lo, ref tail @ ..] => {
                let digit = |c: u8| (c as char).to_digit(16).unwrap_or(0) as u8;
                out.push(digit(hi) << 4 | digit(lo));
                rest = tail;
            }
            [other, ref tail @ ..] => (out.push(other), rest = tail).1,
            [] => out.push(b'\\'),
        }
    }
    out
}

fn mode_of(name: &str) -> SqlMode {
    match name {
        "ANSI_QUOTES" => SqlMode::ANSI_QUOTES,
        "PIPES_AS_CONCAT" => SqlMode::PIPES_AS_CONCAT,
        "NO_BACKSLASH_ESCAPES" => SqlMode::NO_BACKSLASH_ESCAPES,
        "IGNORE_SPACE" => SqlMode::IGNORE_SPACE,
        "HIGH_NOT_PRECEDENCE" => SqlMode::HIGH_NOT_PRECEDENCE,
        "REAL_AS_FLOAT" => SqlMode::REAL_AS_FLOAT,
        other => panic!("no such mode: {other}"),
    }
}

/// `None`: parsed; else the error's number and text.
fn answer(sql: &[u8], arena: &Bump, mode: SqlMode) -> Option<(u16, String)> {
    match parse(sql, arena, mode) {
        Ok(parsed) if parsed.more => {
            let blanks = sql[parsed.end..].iter().take_while(|c| c.is_ascii_whitespace()).count();
            let error = syntax_error_at(sql, parsed.end + blanks);
            Some((error.number, error.message))
        }
        Ok(_) => None,
        Err(error) => Some((error.number, error.message)),
    }
}

fn check(name: &str, known: usize) {
    let path = format!("{}/tests/data/{name}", env!("CARGO_MANIFEST_DIR"));
    let data = std::fs::read(&path).expect("the data file is beside the test");
    let mut mode = SqlMode::default();
    let mut arena = Bump::new();
    let (mut count, mut wrong) = (0, 0);
    let mut report = String::new();
    for line in data.split(|c| *c == b'\n').filter(|line| !line.is_empty()) {
        if let Some(comment) = line.strip_prefix(b"# ") {
            if let Some(modes) = comment.strip_prefix(b"modes:") {
                for name in String::from_utf8_lossy(modes).split_whitespace() {
                    mode = mode.with(mode_of(name));
                }
            }
            continue;
        }
        let fields: Vec<&[u8]> = line.split(|c| *c == b'\t').collect();
        let sql = unescape_line(fields[0]);
        arena.reset();
        let got = answer(&sql, &arena, mode);
        count += 1;
        let fits = match fields[1] {
            b"OK" => got.is_none(),
            b"1064" => {
                let near = String::from_utf8_lossy(&unescape_line(fields[2])).into_owned();
                let line = String::from_utf8_lossy(fields[3]).into_owned();
                let text = format!(
                    "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server \
                     version for the right syntax to use near '{near}' at line {line}"
                );
                got.as_ref().is_some_and(|(number, message)| *number == 1064 && *message == text)
            }
            // An error of meaning: `OK 1146`.
            _ => true,
        };
        if !fits {
            wrong += 1;
            let wanted = String::from_utf8_lossy(&line[fields[0].len()..]).into_owned();
            let _ =
                writeln!(report, "{}\n   9.7: {wanted}\n  here: {got:?}", String::from_utf8_lossy(fields[0]));
        }
    }
    assert!(count > 100, "{name} holds {count} statements");
    assert!(wrong <= known, "{wrong} of {count} differ in {name}, {known} are known:\n{report}");
}

#[test]
fn the_grammar_corpus_is_read_as_mysql_reads_it() {
    check("grammar.txt", 0);
}

#[test]
fn corners_of_the_grammar_are_as_in_mysql() {
    check("corners.txt", 0);
}

#[test]
fn errors_stand_where_mysql_sees_them() {
    check("mutated.txt", KNOWN_MUTATED);
}

#[test]
fn modes_change_reading_as_in_mysql() {
    check("modes.txt", KNOWN_MODES);
}

#[test]
fn words_are_names_where_mysql_lets_them() {
    check("words.txt", 2);
}

const KNOWN_MUTATED: usize = 0;
/// MySQL quotes a comment it could not end with the comments inside it rewritten as `(* *)`.
const KNOWN_MODES: usize = 3;
