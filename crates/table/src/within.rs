//! Ranges of columns, asked of rows as they are stored, before a column is read: what most of a filter says costs a comparison of two numbers.
//!
//! A column of at most 8 bytes whose bytes order its values is a number ([`RowView::ordered_bits`]). Others are let through, and so is a row
//! whose form of the column is another one: the query asks again.

use access::{ColumnRanges, KeyBytesRange};
use catalog::TableDefinition;

use crate::codec::field::Field;
use crate::codec::row::{OrderedBits, RowView};

/// What is wanted of one column.
#[derive(Clone, Debug)]
struct Bounds {
    ordinal: usize,
    field: Field,
    takes_null: bool,
    /// First and last number of each range.
    ranges: Vec<(u64, u64)>,
}

/// What is wanted of rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Within(Vec<Bounds>);

impl Within {
    /// Of ranges of columns of a table. Those of columns that are no numbers are left to the query.
    pub(crate) fn new(definition: &TableDefinition, within: Vec<ColumnRanges>) -> Within {
        let bounds = |of: ColumnRanges| {
            let column = definition.columns.get(of.column)?;
            let field = Field::of(&column.data_type);
            // -0.0 equals 0.0 and stands before it; and a TIMESTAMP is compared in a time zone.
            let is_number = matches!(field, Field::Int { .. } | Field::Decimal { .. });
            let bytes = field.width().filter(|&width| is_number && width <= size_of::<u64>())?;
            let takes_null = column.nullable && of.ranges.iter().any(|range| range.lower.is_empty());
            let ranges = of.ranges.iter().filter_map(|range| numbers(range, bytes, column.nullable));
            Some(Bounds { ordinal: of.column, field, takes_null, ranges: ranges.collect() })
        };
        Within(within.into_iter().filter_map(bounds).collect())
    }

    /// Whether all rows are.
    pub(crate) fn is_everything(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a row may be.
    #[inline]
    pub(crate) fn may_hold(&self, view: &RowView<'_>) -> bool {
        self.0.iter().all(|of| match view.ordered_bits(of.ordinal, of.field) {
            Some(OrderedBits::Bits(bits)) => {
                of.ranges.iter().any(|&(first, last)| first <= bits && bits <= last)
            }
            Some(OrderedBits::Null) => of.takes_null,
            None => true,
        })
    }
}

/// The first and the last number of a range of keys of `bytes` bytes, behind a marker if the column may be NULL. None: it holds no number.
fn numbers(range: &KeyBytesRange, bytes: usize, nullable: bool) -> Option<(u64, u64)> {
    let most = u64::MAX >> (64 - 8 * bytes);
    // The least number whose key is not before this one; none: all are.
    let from = |key: &[u8]| -> Option<u64> {
        let key = match key.split_first() {
            Some((0, _)) if nullable => return Some(0),
            Some((1, rest)) if nullable => rest,
            Some(_) if nullable => return None,
            _ => key,
        };
        let byte = |at: usize| u64::from(key.get(at).copied().unwrap_or(0));
        let number = (0..bytes).fold(0, |number, at| number << 8 | byte(at));
        // What is behind a number's whole key comes before the next number.
        if key.len() > bytes { number.checked_add(1).filter(|&next| next <= most) } else { Some(number) }
    };
    let first = from(&range.lower)?;
    let last = match &range.upper {
        None => most,
        Some(upper) => match from(upper) {
            None => most,
            Some(behind) => behind.checked_sub(1)?,
        },
    };
    (first <= last).then_some((first, last))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(lower: &[u8], upper: Option<&[u8]>) -> KeyBytesRange {
        KeyBytesRange { lower: lower.to_vec(), upper: upper.map(<[u8]>::to_vec) }
    }

    #[test]
    fn ranges_of_keys_are_ranges_of_numbers() {
        assert_eq!(numbers(&KeyBytesRange::ALL, 2, false), Some((0, 0xffff)));
        assert_eq!(numbers(&range(&[1, 2], Some(&[3])), 2, false), Some((0x102, 0x2ff)));
        assert_eq!(numbers(&range(&[1, 2, 0], Some(&[1, 3])), 2, false), None);
        assert_eq!(numbers(&range(&[1], Some(&[1, 0, 1])), 2, false), Some((0x100, 0x100)));
        assert_eq!(numbers(&range(&[], Some(&[])), 2, false), None);
        assert_eq!(numbers(&range(&[0xff; 8], None), 8, false), Some((u64::MAX, u64::MAX)));
    }

    #[test]
    fn a_marker_tells_null_from_numbers() {
        assert_eq!(numbers(&KeyBytesRange::ALL, 1, true), Some((0, 0xff)));
        // Behind NULL.
        assert_eq!(numbers(&range(&[0, 1], None), 1, true), Some((0, 0xff)));
        assert_eq!(numbers(&range(&[1, 5], Some(&[2])), 1, true), Some((5, 0xff)));
        assert_eq!(numbers(&range(&[1, 5], Some(&[1, 7])), 1, true), Some((5, 6)));
        assert_eq!(numbers(&range(&[0, 0], Some(&[1])), 1, true), None);
    }
}
