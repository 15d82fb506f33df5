//! What ALTER TABLE makes of a column's values when its type changes.
//!
//! It copies where a statement computes: to some types a value goes as its text or as its number and not as what it is.

use super::issue::{Given, Issue, IssueKind, Origin, StoreOptions};
use super::number::only_spaces;
use super::show::write_text;
use super::store;
use crate::charset::Charset;
use crate::data_type::{DataType, SCALE_NOT_FIXED, TypeKind};
use crate::decimal::Decimal;
use crate::number;
use crate::vector::{Cell, Column};

/// How a value goes from one type to another.
enum Way {
    /// As a statement stores it.
    Stored,
    /// As its text: 1 becomes the member '1' of an ENUM, not the first.
    Text,
    /// A FLOAT as the text of its six digits.
    FloatText,
    /// A DOUBLE as an integer, whose halves go to the even one.
    Rounded,
    /// As its number: '31' becomes the bits of 31, not of two characters.
    Number,
    /// Not at all: bytes are no JSON.
    Refused,
}

fn way(from: &DataType, to: &DataType) -> Way {
    let member = matches!(from.kind, TypeKind::Enum | TypeKind::Set);
    let bit = from.kind == TypeKind::Bit;
    let number =
        from.is_integer() || matches!(from.kind, TypeKind::Decimal | TypeKind::Float | TypeKind::Double);
    match to.kind {
        TypeKind::Enum | TypeKind::Set if number && !bit => Way::Text,
        TypeKind::Bit
            if from.is_string()
                || matches!(
                    from.kind,
                    TypeKind::Date | TypeKind::Json | TypeKind::Decimal | TypeKind::Float | TypeKind::Double
                ) =>
        {
            Way::Number
        }
        // Of documents a DECIMAL takes the number, the others the text.
        TypeKind::Decimal => Way::Stored,
        _ if from.kind == TypeKind::Json && (to.is_numeric() || to.is_temporal()) => Way::Text,
        TypeKind::Year if from.is_temporal() => Way::Number,
        TypeKind::Year if matches!(from.kind, TypeKind::Float | TypeKind::Double) => Way::Rounded,
        _ if from.kind == TypeKind::Float
            && from.scale == SCALE_NOT_FIXED
            && (to.is_string() || to.is_temporal()) =>
        {
            Way::FloatText
        }
        // 128 is no date as a text, as a number it is the 28th of January 2000.
        _ if number && !bit && to.is_temporal() => Way::Text,
        TypeKind::Json if bit || from.is_binary_string() => Way::Refused,
        TypeKind::Json if number || member || from.is_temporal() => Way::Text,
        _ => Way::Stored,
    }
}

/// As [`store`] where ALTER TABLE changes the type of a column.
pub fn store_copied(
    cell: Cell<'_>,
    from: &DataType,
    column: &str,
    to: &DataType,
    options: &StoreOptions<'_>,
    out: &mut Column,
) -> Option<Issue> {
    let of = |data_type| Given { data_type, origin: Origin::Column(column) };
    if matches!(cell, Cell::Null) {
        out.push_null();
        return None;
    }
    if let Cell::Double(value) = cell
        && (to.is_integer() && to.kind != TypeKind::Year)
        && value.is_finite()
    {
        #[allow(clippy::cast_precision_loss, reason = "the limit itself is a power of two")]
        let is_beyond = value.abs() >= i64::MAX as f64;
        // It becomes a BIGINT first: a FLOAT beyond that the least one, without a word.
        if is_beyond && from.kind == TypeKind::Float {
            return store(Cell::Int(i64::MIN), of(&DataType::BIGINT), to, options, out);
        }
        if is_beyond {
            let limit = if value < 0.0 { i64::MIN } else { i64::MAX };
            store(Cell::Int(limit), of(&DataType::BIGINT), to, options, out);
            return Issue::showing(IssueKind::TruncatedInteger, cell, from);
        }
    }
    if let Cell::Decimal(value) = cell
        && (to.is_integer() || matches!(to.kind, TypeKind::Year | TypeKind::Bit))
        && let Err(limit) = value.to_i64()
    {
        // It becomes a BIGINT first, whatever the column is.
        store(Cell::Int(limit.0), of(&DataType::BIGINT), to, options, out);
        return Issue::showing(IssueKind::TruncatedDecimal, cell, from);
    }
    // A text becomes a DECIMAL first, the number that it begins with; TEXT and BLOB without a word.
    if let Cell::Bytes(text) = cell
        && to.kind == TypeKind::Decimal
        && from.is_string()
        && from.members.is_none()
    {
        let text = &*from.collation.charset().readable(text);
        let parsed = Decimal::parse(text);
        if parsed.consumed > 0 && !only_spaces(&text[parsed.consumed..]) {
            let number = DataType::varchar(parsed.consumed as u32, Charset::Utf8mb4.default_collation());
            let issue = store(Cell::Bytes(&text[..parsed.consumed]), of(&number), to, options, out);
            let is_read_quietly = from.is_text_or_blob();
            return if is_read_quietly {
                issue
            } else {
                Issue::showing(IssueKind::TruncatedDecimal, cell, from)
            };
        }
    }
    match way(from, to) {
        Way::Stored => store(cell, of(from), to, options, out),
        Way::Text => {
            let mut text = Vec::new();
            write_text(cell, from, &mut text);
            let is_member = matches!(from.kind, TypeKind::Enum | TypeKind::Set);
            let collation = if is_member { from.collation } else { Charset::Utf8mb4.default_collation() };
            store(Cell::Bytes(&text), of(&DataType::varchar(text.len() as u32, collation)), to, options, out)
        }
        Way::FloatText => {
            const DIGITS: usize = 6;
            const CHARS: usize = 12;
            let value = match cell {
                Cell::Double(value) => value,
                _ => 0.0,
            };
            // The nearest number with these digits is written as a DOUBLE would be.
            let short = format!("{value:.*e}", DIGITS - 1).parse().unwrap_or(value);
            let mut text = Vec::new();
            number::write_double_fitted(short, CHARS + usize::from(short < 0.0), &mut text);
            let collation = Charset::Utf8mb4.default_collation();
            store(Cell::Bytes(&text), of(&DataType::varchar(text.len() as u32, collation)), to, options, out)
        }
        Way::Rounded => {
            let cell = match cell {
                #[allow(clippy::cast_possible_truncation, reason = "what lies beyond is no year")]
                Cell::Double(value) => Cell::Int(value.round_ties_even() as i64),
                other => other,
            };
            store(cell, of(&DataType::BIGINT), to, options, out)
        }
        Way::Number => match cell {
            Cell::Bytes(text) if from.kind != TypeKind::Json => {
                let text = &*from.collation.charset().readable(text);
                let parsed = number::parse_integer_prefix(text);
                let number = parsed.value.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
                let issue = store(Cell::Int(number), of(&DataType::BIGINT), to, options, out);
                // The numbers of TEXT and BLOB are read without a word.
                let whole = parsed.consumed > 0 && only_spaces(&text[parsed.consumed..]);
                if issue.is_some() || whole || from.is_text_or_blob() {
                    return issue;
                }
                Issue::showing(IssueKind::TruncatedInteger, cell, from)
            }
            _ => {
                let mut number = Column::new(DataType::BIGINT.physical());
                let unfit = store(cell, of(from), &DataType::BIGINT, options, &mut number);
                let issue = store(number.cell(0), of(&DataType::BIGINT), to, options, out);
                // What is no number in a document is an issue of its own.
                unfit.filter(|_| from.kind == TypeKind::Json).or(issue)
            }
        },
        Way::Refused => {
            out.push_null();
            Issue::new(IssueKind::JsonCharset)
        }
    }
}
