//! A prepared statement's text with the values of its parameters, for the logs.

use std::cell::OnceCell;

use types::ValueRef;

use crate::log::{StatementText, beginning};

/// Room beyond a rendered statement's estimated length.
const RENDERED_SLACK_BYTES: usize = 256;

/// A statement's text with the values of its parameters in it, made once for all logs that want it.
pub(super) struct RenderedStatement<'a> {
    text: &'a [u8],
    places: &'a [u32],
    values: &'a [ValueRef<'a>],
    /// What the client sent for them. Adding them up would read each value once more.
    value_bytes: usize,
    /// The first of `values` that is only a beginning: nothing behind it is shown.
    cut_at: Option<usize>,
    rendered: OnceCell<Rendered>,
}

impl<'a> RenderedStatement<'a> {
    /// The statement `text`, whose parameters at `places` have these values, which the client sent in `value_bytes` bytes.
    #[inline]
    pub(super) fn new(
        text: &'a [u8],
        places: &'a [u32],
        values: &'a [ValueRef<'a>],
        value_bytes: usize,
        cut_at: Option<usize>,
    ) -> Self {
        Self { text, places, values, value_bytes, cut_at, rendered: OnceCell::new() }
    }
}

/// The text, or its beginning, and then how long the statement is as it was sent.
struct Rendered {
    text: Vec<u8>,
    whole_bytes: Option<usize>,
}

impl RenderedStatement<'_> {
    fn render(&self, bytes_max: usize) -> Rendered {
        let whole = self.text.len() + self.value_bytes;
        // Quotes and a comma around most values.
        let mut line =
            Vec::with_capacity(bytes_max.min(whole + 3 * self.values.len()) + RENDERED_SLACK_BYTES);
        let mut from = 0;
        let mut is_cut = false;
        for (number, (place, value)) in self.places.iter().zip(self.values).enumerate() {
            let place = *place as usize;
            line.extend_from_slice(&self.text[from..place]);
            from = place + 1;
            let left = bytes_max.saturating_sub(line.len());
            is_cut = left == 0;
            if let ValueRef::Bytes { bytes, collation } = *value
                && bytes.len() > left
            {
                is_cut = true;
                let bytes = beginning(bytes, left);
                write_literal(ValueRef::Bytes { bytes, collation }, &mut line);
            } else if !is_cut {
                write_literal(*value, &mut line);
            }
            is_cut |= self.cut_at == Some(number);
            if is_cut {
                break;
            }
        }
        if !is_cut {
            let left = bytes_max.saturating_sub(line.len());
            let rest = beginning(&self.text[from..], left);
            is_cut = rest.len() < self.text.len() - from;
            line.extend_from_slice(rest);
        }
        Rendered { text: line, whole_bytes: is_cut.then_some(whole) }
    }
}

impl StatementText for RenderedStatement<'_> {
    fn prepare(&self, bytes_max: usize) {
        self.rendered.get_or_init(|| self.render(bytes_max));
    }

    fn write_to(&self, bytes_max: usize, line: &mut Vec<u8>) -> Option<usize> {
        let rendered = self.rendered.get_or_init(|| self.render(bytes_max));
        line.extend_from_slice(&rendered.text);
        rendered.whole_bytes
    }
}

/// Appends a value as a literal that reads back as it.
fn write_literal(value: ValueRef<'_>, line: &mut Vec<u8>) {
    match value {
        ValueRef::Null => line.extend_from_slice(b"NULL"),
        ValueRef::Int(number) => types::number::write_i64(number, line),
        ValueRef::UInt(number) => types::number::write_u64(number, line),
        ValueRef::Double(number) => types::number::write_double(number, line),
        ValueRef::Decimal(number) => number.write_text(line),
        ValueRef::Date(date) => quoted(line, |line| date.write_date(line)),
        ValueRef::DateTime(time) => {
            quoted(line, |line| time.write_datetime(if time.micros == 0 { 0 } else { 6 }, line));
        }
        ValueRef::Time(time) => {
            quoted(line, |line| time.write_text(if time.micros % 1_000_000 == 0 { 0 } else { 6 }, line));
        }
        ValueRef::Bytes { bytes, .. } => catalog::append_string(line, bytes),
        ValueRef::Json(document) => quoted(line, |line| types::json::print(document, line)),
    }
}

fn quoted(line: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    line.push(b'\'');
    write(line);
    line.push(b'\'');
}

#[cfg(test)]
mod tests {
    use types::collation::CollationId;

    use super::*;

    fn shown(bytes_max: usize) -> (String, Option<usize>) {
        let text = b"INSERT INTO t VALUES (?, ?, ?)";
        let collation = CollationId::UTF8MB4_0900_AI_CI;
        let long = "it's\n".repeat(20);
        let values =
            [ValueRef::Int(-7), ValueRef::Bytes { bytes: long.as_bytes(), collation }, ValueRef::Null];
        let statement = RenderedStatement::new(text, &[22, 25, 28], &values, 100, None);
        statement.prepare(bytes_max);
        let mut line = Vec::new();
        let whole = statement.write_to(bytes_max, &mut line);
        (String::from_utf8(line).unwrap(), whole)
    }

    #[test]
    fn a_statement_is_rendered_with_its_values_and_cut_at_the_limit() {
        let all = format!("INSERT INTO t VALUES (-7, '{}', NULL)", "it''s\\n".repeat(20));
        assert_eq!(shown(usize::MAX), (all.clone(), None));
        assert_eq!(shown(all.len()), (all, None));
        // The limit falls into the long value, before it, and behind everything but the end.
        let whole = Some(30 + 100);
        assert_eq!(shown(31), ("INSERT INTO t VALUES (-7, 'it''s\\n'".to_owned(), whole));
        assert_eq!(shown(10), ("INSERT INTO t VALUES (".to_owned(), whole));
        let (text, cut) = shown(26 + 142 + 6);
        assert!(text.ends_with("NULL") && cut == whole, "{text}");
    }
}
