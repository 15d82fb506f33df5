//! Reads statements, one a line with `\n`, `\t`, `\\` and `\xNN` escaped, and prints what the parser says of each:
//! `OK`, or the error's number and text. Made to compare with a real server's answers.

use std::io::{BufRead, Write};

fn main() -> std::io::Result<()> {
    let mut mode = syntax::SqlMode::default();
    for name in std::env::args().skip(1) {
        mode = mode.with(match name.as_str() {
            "ANSI_QUOTES" => syntax::SqlMode::ANSI_QUOTES,
            "PIPES_AS_CONCAT" => syntax::SqlMode::PIPES_AS_CONCAT,
            "NO_BACKSLASH_ESCAPES" => syntax::SqlMode::NO_BACKSLASH_ESCAPES,
            "IGNORE_SPACE" => syntax::SqlMode::IGNORE_SPACE,
            "HIGH_NOT_PRECEDENCE" => syntax::SqlMode::HIGH_NOT_PRECEDENCE,
            _ => syntax::SqlMode::REAL_AS_FLOAT,
        });
    }
    let mut out = std::io::stdout().lock();
    let mut arena = bumpalo::Bump::new();
    for line in std::io::stdin().lock().split(b'\n') {
        let sql = unescape_line(&line?);
        arena.reset();
        match syntax::parse(&sql, &arena, mode) {
            Ok(parsed) if parsed.more => {
                let error = syntax::syntax_error_at(&sql, next_statement(&sql, parsed.end));
                writeln!(out, "{} {}", error.number, error.message.escape_default())?;
            }
            Ok(_) => writeln!(out, "OK")?,
            Err(error) => writeln!(out, "{} {}", error.number, error.message.escape_default())?,
        }
    }
    Ok(())
}

fn next_statement(sql: &[u8], end: usize) -> usize {
    end + sql[end..].iter().take_while(|c| c.is_ascii_whitespace()).count()
}

fn unescape_line(line: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = line;
    while let [c, tail @ ..] = rest {
        rest = tail;
        if *c != b'\\' {
            out.push(*c);
            continue;
        }
        match rest {
            [b'n', tail @ ..] => (out.push(b'\n'), rest = tail).1,
            [b't', tail @ ..] => (out.push(b'\t'), rest = tail).1,
            [b'x', hi, lo, tail @ ..] => {
                let digit = |c: u8| (c as char).to_digit(16).unwrap_or(0) as u8;
                out.push(digit(*hi) << 4 | digit(*lo));
                rest = tail;
            }
            [other, tail @ ..] => (out.push(*other), rest = tail).1,
            [] => out.push(b'\\'),
        }
    }
    out
}
