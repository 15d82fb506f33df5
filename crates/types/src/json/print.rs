//! Documents as text, exactly as MySQL prints them.

use super::value::{Kind, View};
use crate::base64;
use crate::number;
use crate::temporal::{DateTime, Time};

/// Appends a text in quotes, with JSON's escapes.
pub fn write_quoted(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    let mut from = 0;
    for (at, &byte) in text.iter().enumerate() {
        let escape: &[u8] = match byte {
            b'"' => b"\\\"",
            b'\\' => b"\\\\",
            0x08 => b"\\b",
            0x0c => b"\\f",
            b'\n' => b"\\n",
            b'\r' => b"\\r",
            b'\t' => b"\\t",
            0..=0x1f => b"",
            _ => continue,
        };
        out.extend_from_slice(&text[from..at]);
        if escape.is_empty() {
            const HEX: &[u8; 16] = b"0123456789abcdef";
            out.extend_from_slice(b"\\u00");
            out.push(HEX[usize::from(byte >> 4)]);
            out.push(HEX[usize::from(byte & 15)]);
        } else {
            out.extend_from_slice(escape);
        }
        from = at + 1;
    }
    out.extend_from_slice(&text[from..]);
    out.push(b'"');
}

fn write_double(value: f64, out: &mut Vec<u8>) {
    let start = out.len();
    number::write_double(value, out);
    // A double stays one when read back.
    if !out[start..].iter().any(|byte| matches!(byte, b'.' | b'e')) {
        out.extend_from_slice(b".0");
    }
}

fn write_scalar(view: View<'_>, out: &mut Vec<u8>) {
    match view.kind() {
        Kind::Null | Kind::Array | Kind::Object => out.extend_from_slice(b"null"),
        Kind::False => out.extend_from_slice(b"false"),
        Kind::True => out.extend_from_slice(b"true"),
        Kind::Int => number::write_i64(view.int(), out),
        Kind::UInt => number::write_u64(view.int() as u64, out),
        Kind::Double => write_double(view.double(), out),
        Kind::Decimal => view.decimal().write_text(out),
        Kind::String => write_quoted(view.string(), out),
        Kind::Date | Kind::DateTime | Kind::Time => {
            out.push(b'"');
            match view.kind() {
                Kind::Date => DateTime::unpack(view.int()).write_date(out),
                Kind::DateTime => DateTime::unpack(view.int()).write_datetime(6, out),
                _ => Time { micros: view.int() }.write_text(6, out),
            }
            out.push(b'"');
        }
        Kind::Opaque => {
            let (kind, bytes) = view.opaque();
            out.extend_from_slice(b"\"base64:type");
            number::write_u64(u64::from(kind), out);
            out.push(b':');
            // MySQL breaks the lines.
            base64::write_lines(bytes, b"\\n", out);
            out.push(b'"');
        }
    }
}

/// Appends a document on one line: `{"a": 1, "b": [2, 3]}`.
pub fn print(document: &[u8], out: &mut Vec<u8>) {
    print_view(View::new(document), out);
}

pub(super) fn print_view(view: View<'_>, out: &mut Vec<u8>) {
    match view.kind() {
        Kind::Array => {
            out.push(b'[');
            for (i, element) in view.elements().enumerate() {
                if i > 0 {
                    out.extend_from_slice(b", ");
                }
                print_view(element, out);
            }
            out.push(b']');
        }
        Kind::Object => {
            out.push(b'{');
            for (i, (key, value)) in view.members().enumerate() {
                if i > 0 {
                    out.extend_from_slice(b", ");
                }
                write_quoted(key, out);
                out.extend_from_slice(b": ");
                print_view(value, out);
            }
            out.push(b'}');
        }
        _ => write_scalar(view, out),
    }
}

/// Appends a document as JSON_PRETTY shows it, two blanks a level.
pub fn print_pretty(document: &[u8], out: &mut Vec<u8>) {
    pretty(View::new(document), 0, out);
}

fn line(level: usize, out: &mut Vec<u8>) {
    out.push(b'\n');
    out.extend(std::iter::repeat_n(b' ', 2 * level));
}

fn pretty(view: View<'_>, level: usize, out: &mut Vec<u8>) {
    let (open, close) = match view.kind() {
        Kind::Array => (b'[', b']'),
        Kind::Object => (b'{', b'}'),
        _ => return write_scalar(view, out),
    };
    out.push(open);
    for (i, element) in view.elements().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        line(level + 1, out);
        pretty(element, level + 1, out);
    }
    for (i, (key, value)) in view.members().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        line(level + 1, out);
        write_quoted(key, out);
        out.extend_from_slice(b": ");
        pretty(value, level + 1, out);
    }
    if !view.is_empty() {
        line(level, out);
    }
    out.push(close);
}
