//! SQL with sizes in it: `{rows}` is a size, `{repeat N: text}` is `text` N times with commas between, where `#` counts from 1.
//!
//! ```text
//! INSERT INTO t VALUES {repeat rows: (?, {repeat 3: ?})}   rows = 2   INSERT INTO t VALUES (?, ?, ?, ?), (?, ?, ?, ?)
//! SELECT {repeat 2: c# AS name_#} FROM t                              SELECT c1 AS name_1, c2 AS name_2 FROM t
//! ```
//!
//! Other braces are left alone, so JSON may stand in a statement.

use std::collections::BTreeMap;
use std::ops::Range;

/// Longest statement that is made, bytes.
const STATEMENT_BYTES_MAX: usize = 256 << 20;

/// Spreads a template.
///
/// # Errors
/// An unknown size, a count that is none, a brace without its end, a text that is too long.
pub(crate) fn spread(template: &str, sizes: &BTreeMap<String, i64>) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = template;
    while let Some(at) = rest.find('{') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(body) = rest.strip_prefix("repeat ") {
            let end = matching_end(body).ok_or("{repeat ...} has no end")?;
            let (count, text) =
                body[..end].split_once(':').ok_or("expected {repeat COUNT: text}, found no ':'")?;
            let count = match count.trim().parse::<i64>() {
                Ok(count) => count,
                Err(_) => named(count.trim(), sizes)?,
            };
            let count =
                usize::try_from(count).map_err(|_| format!("cannot repeat something {count} times"))?;
            let text = spread(text.trim(), sizes)?;
            if out.len() + count.saturating_mul(text.len() + 2) > STATEMENT_BYTES_MAX {
                return Err(format!("the statement is longer than {STATEMENT_BYTES_MAX} bytes"));
            }
            for index in 1..=count {
                if index > 1 {
                    out.push_str(", ");
                }
                if text.contains('#') {
                    out.push_str(&text.replace('#', &index.to_string()));
                } else {
                    out.push_str(&text);
                }
            }
            rest = &body[end + 1..];
        } else {
            let end = rest.find('}').filter(|&end| {
                end > 0 && rest[..end].chars().all(|char| char.is_ascii_lowercase() || char == '_')
            });
            match end {
                Some(end) => {
                    out.push_str(&named(&rest[..end], sizes)?.to_string());
                    rest = &rest[end + 1..];
                }
                None => out.push('{'),
            }
        }
    }
    out.push_str(rest);
    Ok(out)
}

/// Looks a size up.
pub(crate) fn named(name: &str, sizes: &BTreeMap<String, i64>) -> Result<i64, String> {
    sizes.get(name).copied().ok_or_else(|| {
        let known: Vec<&str> = sizes.keys().map(String::as_str).collect();
        let known = if known.is_empty() {
            "the name of a size, of which this file has none".to_owned()
        } else {
            format!("one of: {}", known.join(", "))
        };
        format!("unknown size '{name}'; expected a number or {known}")
    })
}

/// Where the brace that was opened before `text` ends.
fn matching_end(text: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' if depth == 0 => return Some(at),
            b'}' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Where the `?` of a statement are: not those in quotes or comments.
pub(crate) fn placeholders(sql: &str) -> Vec<usize> {
    let bytes = sql.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'?' => found.push(at),
            quote @ (b'\'' | b'"' | b'`') => {
                at += 1;
                while at < bytes.len() && bytes[at] != quote {
                    at += if bytes[at] == b'\\' && quote != b'`' { 2 } else { 1 };
                }
            }
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                at = sql[at + 2..].find("*/").map_or(bytes.len(), |end| at + 2 + end + 1);
            }
            b'#' => at = sql[at..].find('\n').map_or(bytes.len(), |end| at + end),
            b'-' if bytes[at..].starts_with(b"-- ") => {
                at = sql[at..].find('\n').map_or(bytes.len(), |end| at + end);
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// Where the one row of an INSERT's or REPLACE's VALUES stands, if there is one row and every placeholder is in it.
pub(crate) fn one_row_of_values(sql: &str, placeholders: &[usize]) -> Option<Range<usize>> {
    let (first, last) = (*placeholders.first()?, *placeholders.last()?);
    let upper = sql.to_ascii_uppercase();
    let begins = upper.trim_start();
    if !begins.starts_with("INSERT") && !begins.starts_with("REPLACE") {
        return None;
    }
    let keyword = upper[..first].rfind("VALUES")?;
    let open = keyword + sql[keyword..].find('(')?;
    let is_bare = |from: usize| sql[from..open].trim().is_empty();
    if open > first || !is_bare(keyword + "VALUES".len()) {
        return None;
    }
    let mut depth = 0;
    let mut quote = None;
    let mut close = None;
    let mut chars = sql[open..].char_indices();
    while let Some((at, char)) = chars.next() {
        match (quote, char) {
            (Some(open_quote), char) if char == open_quote => quote = None,
            (Some(_), '\\') => drop(chars.next()),
            (Some(_), _) => {}
            (None, '\'' | '"' | '`') => quote = Some(char),
            (None, '(') => depth += 1,
            (None, ')') => {
                depth -= 1;
                if depth == 0 {
                    close = Some(open + at);
                    break;
                }
            }
            _ => {}
        }
    }
    let close = close.filter(|&close| close > last)?;
    // Another row is no one row.
    (!sql[close + 1..].trim_start().starts_with(',')).then_some(open..close + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_spread() {
        let sizes = BTreeMap::from([("rows".to_owned(), 2)]);
        let spread = |template| spread(template, &sizes);
        assert_eq!(
            spread("VALUES {repeat rows: (?, {repeat 2: ?})} LIMIT {rows}").unwrap(),
            "VALUES (?, ?, ?), (?, ?, ?) LIMIT 2"
        );
        assert_eq!(spread("{repeat 3: c# AS n_#}").unwrap(), "c1 AS n_1, c2 AS n_2, c3 AS n_3");
        assert_eq!(spread("'{\"a\": 1}' {}").unwrap(), "'{\"a\": 1}' {}");
        assert!(spread("{rowz}").unwrap_err().contains("one of: rows"));
        assert!(spread("{repeat 2: a").unwrap_err().contains("no end"));
        assert!(spread("{repeat -2: a}").unwrap_err().contains("-2 times"));
        assert!(spread("{repeat 999999999999: a}").unwrap_err().contains("longer"));
    }

    #[test]
    fn the_row_of_an_insert_is_found_or_refused() {
        let row = |sql: &str| one_row_of_values(sql, &placeholders(sql)).map(|range| sql[range].to_owned());
        assert_eq!(
            row("insert INTO t (a, b) values (?, f(')', ?)) ON DUPLICATE KEY UPDATE a = 1").unwrap(),
            "(?, f(')', ?))"
        );
        assert_eq!(row("REPLACE t VALUES(?, '\\')')").unwrap(), "(?, '\\')')");
        for sql in [
            "INSERT INTO t VALUES (?), (?)",
            "INSERT INTO t VALUES (1)",
            "INSERT INTO t SELECT ?",
            "INSERT INTO t VALUES (?) ON DUPLICATE KEY UPDATE a = ?",
            "UPDATE t SET a = VALUES(?)",
            "INSERT INTO t VALUES (?",
        ] {
            assert_eq!(row(sql), None, "{sql}");
        }
    }

    #[test]
    fn placeholders_are_not_those_in_quotes_or_comments() {
        assert_eq!(placeholders("a ? '?' \"?\" `?` /* ? */ ? -- ?\n? # ?"), [2, 24, 31]);
        assert_eq!(placeholders("'it\\'s ?' ?"), [10]);
        assert_eq!(placeholders("'open ?"), [0usize; 0]);
    }
}
