//! Values between types: as text, as JSON, as [`Value`], and into a column ([`store`]).
//!
//! Storing never fails: it yields the value the column gets, and an [`Issue`] when that is not what was given. The
//! caller asks [`Issue::report`] what MySQL says to it: an error in strict mode, a warning or a note else.

mod copied;
mod issue;
mod members;
mod number;
mod show;
mod temporal;
#[cfg(test)]
mod tests;
mod text;

use crate::charset::Charset;
use crate::collation::CollationId;
use crate::data_type::{DataType, TypeKind};
use crate::value::Value;
use crate::vector::{Cell, Column};
pub use copied::store_copied;
pub use issue::{Given, Issue, Origin, Report, Severity, StoreOptions};
pub use members::push_members;
use members::{store_enum, store_set};
pub use number::{is_double_document, is_integer_document};
use number::{store_bit, store_decimal, store_double, store_integer, store_year};
pub use show::{cell_value, json_value, value_column, write_json_value, write_text};
use temporal::{store_datetime, store_time};
use text::store_json;
pub use text::{escaped, store_text};

/// Smallest and largest value of an integer kind.
#[must_use]
pub(crate) fn integer_range(data_type: &DataType) -> (i128, i128) {
    let bits = u32::from(data_type.integer_bytes().unwrap_or(8)) * 8;
    if data_type.unsigned { (0, (1 << bits) - 1) } else { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) }
}

/// Stores a value: pushes what the column gets to `out`, which has the target's shape. A NULL is pushed as NULL.
pub fn store(
    cell: Cell<'_>,
    given: Given<'_>,
    to: &DataType,
    options: &StoreOptions<'_>,
    out: &mut Column,
) -> Option<Issue> {
    let from = given.data_type;
    if matches!(cell, Cell::Null) || from.kind == TypeKind::Null {
        out.push_null();
        return None;
    }
    if from.members.is_some() && to.is_temporal() {
        // A member is the date or time of its text, not of its place.
        let mut text = Vec::new();
        write_text(cell, from, &mut text);
        let of_text = DataType::varchar(text.len() as u32, from.collation);
        return store(Cell::Bytes(&text), Given { data_type: &of_text, ..given }, to, options, out);
    }
    match to.kind {
        TypeKind::TinyInt | TypeKind::SmallInt | TypeKind::MediumInt | TypeKind::Int | TypeKind::BigInt => {
            store_integer(cell, given, to, out)
        }
        TypeKind::Decimal => store_decimal(cell, given, to, out),
        TypeKind::Float | TypeKind::Double => store_double(cell, given, to, out),
        TypeKind::Year => store_year(cell, given, options, out),
        TypeKind::Bit => store_bit(cell, given, to, out),
        TypeKind::Enum => store_enum(cell, from, to, out),
        TypeKind::Set => store_set(cell, from, to, out),
        TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp => {
            store_datetime(cell, given, to, options, out)
        }
        TypeKind::Time => store_time(cell, given, to, options, out),
        TypeKind::Json => store_json(cell, from, out),
        TypeKind::Null => {
            out.push_null();
            None
        }
        _ => store_text(cell, from, to, out),
    }
}

/// Whether [`store`] would put exactly these bytes into a column of type `to`, without an issue: then they need not pass
/// through it. `false` decides nothing.
#[inline]
#[must_use]
pub fn stores_as_is(text: &[u8], from: CollationId, to: &DataType) -> bool {
    let target = to.collation.charset();
    let kept_whole = match to.kind {
        TypeKind::VarChar => true,
        // Trailing spaces are cut off, binary ones are filled up. (A space of UTF-16LE ends with a zero.)
        TypeKind::Char => to.collation != CollationId::BINARY && !matches!(text.last(), Some(0 | b' ')),
        _ => to.is_text_or_blob(),
    };
    // No character is longer than its bytes, and ASCII is the same in the sets that extend it.
    kept_whole
        && text.len() <= to.length as usize
        && (target == Charset::Binary
            || (text.is_ascii()
                && (from == to.collation || from.charset().extends_ascii() && target.extends_ascii()))
            || (from.charset() == target && target.validate(text).is_ok()))
}

/// Stores a [`Value`]; see [`store`].
pub fn store_value(
    value: &Value,
    to: &DataType,
    options: &StoreOptions<'_>,
    out: &mut Column,
) -> Option<Issue> {
    let (from, column) = value_column(value);
    let given = Given { data_type: &from, origin: Origin::Computed("") };
    store(column.cell(0), given, to, options, out)
}
