//! Into text, bytes and JSON.

use std::borrow::Cow;

use super::issue::{Issue, IssueKind};
use super::show::{to_utf8, write_text};
use crate::charset::{Charset, convert_strict};
use crate::collation::CollationId;
use crate::data_type::{DataType, TypeKind};
use crate::json::{self, ParseErrorKind};
use crate::number;
use crate::vector::{Cell, Column};

pub(super) fn store_json(cell: Cell<'_>, from: &DataType, out: &mut Column) -> Option<Issue> {
    let problem = match cell {
        Cell::Bytes(document) if from.kind == TypeKind::Json => {
            out.push_bytes(document);
            return None;
        }
        Cell::Bytes(_) if from.is_binary_string() => IssueKind::JsonCharset,
        Cell::Bytes(text) => {
            let utf8 = to_utf8(text.to_vec(), from.collation.charset());
            match json::parse(&utf8, out.bytes_mut().tail()) {
                Ok(()) => {
                    out.bytes_mut().finish();
                    out.nulls.push(false);
                    return None;
                }
                Err(error) => match error.kind {
                    ParseErrorKind::Syntax => {
                        IssueKind::Json { message: error.message, position: error.position }
                    }
                    ParseErrorKind::TooDeep => IssueKind::JsonDepth,
                    ParseErrorKind::Stopped => IssueKind::Stopped,
                },
            }
        }
        _ => IssueKind::Json { message: "not a JSON text, may need CAST", position: 0 },
    };
    out.push_null();
    Issue::new(problem)
}

/// Bytes that are no characters, as errors 1366 and 3854 show them: `\xFF`, at most six and then dots.
#[must_use]
pub fn escaped(bytes: &[u8]) -> Vec<u8> {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut out = Vec::new();
    for &byte in bytes.iter().take(6) {
        if (0x20..0x7f).contains(&byte) {
            out.push(byte);
        } else {
            out.extend_from_slice(b"\\x");
            out.push(HEX[usize::from(byte >> 4)]);
            out.push(HEX[usize::from(byte & 15)]);
        }
    }
    if bytes.len() > 6 {
        out.extend_from_slice(b"...");
    }
    out
}

/// [`super::store`] into a text.
pub fn store_text(cell: Cell<'_>, from: &DataType, to: &DataType, out: &mut Column) -> Option<Issue> {
    let target = to.collation.charset();
    let mut issue = None;
    let owned: Cow<'_, [u8]>;
    let text: &[u8] = match cell {
        Cell::Bytes(text) if from.is_string() => {
            owned = in_charset(text, from.collation.charset(), target, &mut issue);
            &owned
        }
        // A BIT gives its bytes to TEXT and BLOB, and its number to what has a width.
        Cell::Int(bits) if from.kind == TypeKind::Bit && !to.is_text_or_blob() => {
            let mut text = Vec::new();
            number::write_u64(bits as u64, &mut text);
            owned = Cow::Owned(of_other(text, from, target));
            &owned
        }
        Cell::Int(_) if from.kind == TypeKind::Bit => {
            let mut bytes = Vec::new();
            write_text(cell, from, &mut bytes);
            owned = Cow::Owned(in_charset(&bytes, Charset::Binary, target, &mut issue).into_owned());
            &owned
        }
        // TEXT takes the number as it is shown, what has a width as many digits as it holds.
        Cell::Double(value) if !to.is_text_or_blob() => {
            let mut text = Vec::new();
            if !number::write_double_fitted(value, to.length as usize, &mut text) {
                issue = Issue::new(IssueKind::TooLong);
            }
            owned = Cow::Owned(of_other(text, from, target));
            &owned
        }
        _ => {
            let mut text = Vec::new();
            write_text(cell, from, &mut text);
            owned = Cow::Owned(of_other(text, from, target));
            &owned
        }
    };
    let kept = if to.is_text_or_blob() {
        let limit = to.length as usize;
        if text.len() <= limit { text.len() } else { target.whole_characters(&text[..limit]).len() }
    } else if text.len() <= to.length as usize {
        text.len()
    } else {
        target.prefix_bytes(text, to.length as usize)
    };
    if kept < text.len() {
        let blanks = target != Charset::Binary && target.trim_trailing_spaces(&text[kept..]).is_empty();
        if !blanks {
            issue = issue.or_else(|| Issue::new(IssueKind::TooLong));
        } else if to.kind != TypeKind::Char {
            issue = issue.or_else(|| Issue::new(IssueKind::Note));
        }
    }
    let mut text = &text[..kept];
    if to.kind == TypeKind::Char && to.collation != CollationId::BINARY {
        text = target.trim_trailing_spaces(text);
    }
    let tail = out.bytes_mut().tail();
    let start = tail.len();
    tail.extend_from_slice(text);
    if to.kind == TypeKind::Char && to.collation == CollationId::BINARY {
        tail.resize(start + to.length as usize, 0);
    }
    out.bytes_mut().finish();
    out.nulls.push(false);
    issue
}

/// A text in another character set. Bytes that are none of its characters are an issue.
fn in_charset<'t>(
    text: &'t [u8],
    source: Charset,
    target: Charset,
    issue: &mut Option<Issue>,
) -> Cow<'t, [u8]> {
    if target == Charset::Binary {
        return Cow::Borrowed(text);
    }
    if source == target || source == Charset::Binary {
        // A column of the same character set holds only valid text; literals and parameters were checked.
        let text = target.whole_units(text);
        return if target.validate(&text).is_ok() {
            text
        } else {
            Cow::Owned(keep_valid(&text, target, issue))
        };
    }
    let mut converted = Vec::with_capacity(text.len());
    if convert_strict(source, text, target, &mut converted).is_err() {
        converted.clear();
        crate::charset::convert_lossy(source, text, target, &mut converted);
        *issue = Some(Issue {
            kind: IssueKind::Incorrect { what: "string", partly: false },
            shown: escaped(&text[first_not_in(source, text, target)..]),
        });
    }
    Cow::Owned(converted)
}

/// The text of a value that is no text, in a set that holds even its digits in other bytes.
fn of_other(text: Vec<u8>, from: &DataType, target: Charset) -> Vec<u8> {
    if target.extends_ascii() {
        return text;
    }
    let own = if from.members.is_some() { from.collation.charset() } else { Charset::Utf8mb4 };
    let mut out = Vec::with_capacity(text.len() * target.min_bytes_per_char());
    crate::charset::convert_lossy(own, &text, target, &mut out);
    out
}

/// Where the first character of `text` is that `target` has not: behind all ASCII characters, or in the sets that do not extend
/// ASCII exactly there.
#[cold]
fn first_not_in(source: Charset, text: &[u8], target: Charset) -> usize {
    if source.extends_ascii() {
        return text.iter().take_while(|byte| byte.is_ascii()).count();
    }
    let mut none = Vec::new();
    convert_strict(source, text, target, &mut none).err().map_or(text.len(), |bad| bad.position)
}

#[cold]
pub(super) fn keep_valid(text: &[u8], target: Charset, issue: &mut Option<Issue>) -> Vec<u8> {
    let mut end = 0;
    // The valid beginning stays.
    while end < text.len() {
        let length = target.prefix_bytes(&text[end..], 1);
        if length == 0 || target.validate(&text[end..end + length]).is_err() {
            break;
        }
        end += length;
    }
    *issue = Some(Issue {
        kind: IssueKind::Incorrect { what: "string", partly: false },
        shown: escaped(&text[end..]),
    });
    text[..end].to_vec()
}
