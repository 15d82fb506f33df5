//! Into ENUM and SET.

use super::issue::{Issue, IssueKind};
use super::number::whole_number;
use super::show::write_text;
use crate::charset::Charset;
use crate::data_type::{DataType, TypeKind};
use crate::vector::{Cell, Column};

/// A text in the target's character set, trailing spaces removed.
pub(super) fn member_text(text: &[u8], from: &DataType, to: &DataType) -> Vec<u8> {
    let (source, target) = (from.collation.charset(), to.collation.charset());
    let mut out = Vec::with_capacity(text.len());
    if source == target || source == Charset::Binary || target == Charset::Binary {
        out.extend_from_slice(text);
    } else {
        crate::charset::convert_lossy(source, text, target, &mut out);
    }
    let kept = target.trim_trailing_spaces(&out).len();
    out.truncate(kept);
    out
}

/// The text of what a member is named by: texts, documents and times.
fn plain_text(cell: Cell<'_>, from: &DataType, to: &DataType) -> Option<Vec<u8>> {
    match cell {
        Cell::Bytes(text) if from.kind != TypeKind::Json => Some(member_text(text, from, to)),
        Cell::Bytes(_) | Cell::Int(_) if from.kind == TypeKind::Json || from.is_temporal() => {
            let mut text = Vec::new();
            write_text(cell, from, &mut text);
            let mut out = Vec::with_capacity(text.len());
            crate::charset::convert_lossy(Charset::Utf8mb4, &text, to.collation.charset(), &mut out);
            Some(out)
        }
        _ => None,
    }
}

/// The number that a text of the target's character set is.
fn number_of(text: &[u8], to: &DataType) -> Option<u64> {
    std::str::from_utf8(&to.collation.charset().readable(text)).ok()?.parse().ok()
}

/// The number of the ENUM or SET value that a text names; 0 if it names none.
pub fn push_members(cell: Cell<'_>, from: &DataType, to: &DataType, out: &mut Column) {
    // A text that names none is 0, of which the issue says no more.
    let _ = if to.kind == TypeKind::Enum {
        store_enum(cell, from, to, out)
    } else {
        store_set(cell, from, to, out)
    };
}

pub(super) fn store_enum(cell: Cell<'_>, from: &DataType, to: &DataType, out: &mut Column) -> Option<Issue> {
    let empty = |out: &mut Column| {
        out.push_int(0);
        Issue::new(IssueKind::Truncated)
    };
    let Some(members) = &to.members else {
        return empty(out);
    };
    // The value that stands for no member stays what it is, in strict mode, too.
    if let (Cell::Int(0), TypeKind::Enum) = (cell, from.kind) {
        out.push_int(0);
        return None;
    }
    let text = match (cell, from.kind) {
        (Cell::Int(_), TypeKind::Enum | TypeKind::Set) => {
            let mut text = Vec::new();
            write_text(cell, from, &mut text);
            Some(text)
        }
        _ => plain_text(cell, from, to),
    };
    let index = match text {
        Some(text) => match members.position(&text, to.collation) {
            Some(position) => position as i128 + 1,
            // A number as text counts as the number.
            None => match number_of(&text, to) {
                Some(index) if index >= 1 && index <= members.len() as u64 => i128::from(index),
                // No member, and no mistake: how LOAD DATA gives a wrong value back.
                Some(0) => {
                    out.push_int(0);
                    return None;
                }
                _ if text.is_empty() && matches!(cell, Cell::Int(0)) => 0,
                _ => return empty(out),
            },
        },
        None => match cell {
            Cell::Double(value) => value as i128,
            Cell::Decimal(value) => value.truncate(0).to_units(0).unwrap_or(0),
            _ => whole_number(cell, from).unwrap_or(0),
        },
    };
    if index < 1 || index > members.len() as i128 {
        return empty(out);
    }
    out.push_int(index as i64);
    None
}

pub(super) fn store_set(cell: Cell<'_>, from: &DataType, to: &DataType, out: &mut Column) -> Option<Issue> {
    let Some(members) = &to.members else {
        out.push_int(0);
        return Issue::new(IssueKind::Truncated);
    };
    let all = if members.len() >= 64 { u64::MAX } else { (1u64 << members.len()) - 1 };
    let text = match (cell, from.kind) {
        (Cell::Int(_), TypeKind::Enum | TypeKind::Set) => {
            let mut text = Vec::new();
            write_text(cell, from, &mut text);
            Some(text)
        }
        _ => plain_text(cell, from, to),
    };
    let (bits, bad) = match text {
        Some(text) if text.is_empty() => (0, false),
        Some(text) => {
            let mut bits = 0u64;
            let mut bad = false;
            for part in to.collation.charset().split(&text, b',') {
                match members.position(part, to.collation) {
                    Some(position) => bits |= 1 << position,
                    None => bad = true,
                }
            }
            if bad
                && bits == 0
                && let Some(number) = number_of(&text, to)
            {
                // A text is one of the numbers that there are, or none.
                if number & !all == 0 { (number, false) } else { (0, true) }
            } else {
                (bits, bad)
            }
        }
        None => {
            let (number, is_large) = match cell {
                // Saturates; NaN is 0.
                Cell::Double(value) => (value as i64 as u64, false),
                Cell::Decimal(value) => (
                    value.to_f64() as i64 as u64,
                    value.to_units(0).is_none_or(|units| units > u64::MAX.into()),
                ),
                _ => (whole_number(cell, from).unwrap_or(0) as u64, false),
            };
            (number & all, number & !all != 0 || is_large)
        }
    };
    out.push_int(bits as i64);
    if bad { Issue::new(IssueKind::Truncated) } else { None }
}
