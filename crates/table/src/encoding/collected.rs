//! Records of statistics about tables.
//!
//! `version u8 | tree of rows u64 | version of the statistics u64 | made u64 | rows u64 | leaves u64 | sampled rows u64 | whole u8 | columns | indexes`, each column
//! and index behind its *form*: its name and all that decides how values are written. Shares and numbers of values are the bits of a double.

use std::sync::Arc;

use access::{Bucket, CollectedStatistics, ColumnStatistics, IndexStatistics};
use catalog::{IndexDefinition, TableDefinition};

use super::{DecodeError, Decoded, Reader, Writer, write_type};
use crate::statistics::column_part;

/// Version of the records written now. Others are not read: statistics are collected again.
const STATISTICS_VERSION: u8 = 1;

pub(crate) fn encode_collected(collected: &CollectedStatistics, definition: &TableDefinition) -> Vec<u8> {
    let mut out = Writer { out: vec![STATISTICS_VERSION] };
    out.u64(definition.rows_tree.0);
    out.u64(collected.version);
    out.u64(collected.made_micros as u64);
    out.u64(collected.row_count);
    out.u64(collected.leaf_count);
    out.u64(collected.sampled_rows);
    out.bool(collected.is_whole);
    let columns: Vec<_> = known(&collected.columns).collect();
    out.list(&columns, |out, (ordinal, column)| {
        out.bytes(&column_form(definition, *ordinal));
        write_column(out, column);
    });
    let indexes: Vec<_> = known(&collected.indexes).collect();
    out.list(&indexes, |out, (ordinal, index)| {
        out.bytes(&index_form(definition, &definition.indexes[*ordinal]));
        out.list(&index.distinct, |out, distinct| out.u64(*distinct));
        out.u64(index.leaf_count);
        out.u64(index.sampled_leaves);
    });
    out.out
}

/// The statistics of the columns and indexes that the table has now; `None` if they belong to another tree of rows, or cannot be read.
pub(crate) fn decode_collected(record: &[u8], definition: &TableDefinition) -> Option<CollectedStatistics> {
    read_collected(record, definition).ok()?
}

fn read_collected(record: &[u8], definition: &TableDefinition) -> Decoded<Option<CollectedStatistics>> {
    let Some((&version, rest)) = record.split_first() else { return Err(DecodeError::Damaged) };
    if version != STATISTICS_VERSION {
        return Err(DecodeError::Newer(version));
    }
    let mut input = Reader { version, rest };
    if input.u64()? != definition.rows_tree.0 {
        return Ok(None);
    }
    let mut collected = CollectedStatistics {
        version: input.u64()?,
        made_micros: input.u64()? as i64,
        row_count: input.u64()?,
        leaf_count: input.u64()?,
        sampled_rows: input.u64()?,
        is_whole: input.bool()?,
        columns: vec![None; definition.columns.len()],
        indexes: vec![None; definition.indexes.len()],
    };
    let forms: Vec<_> = (0..definition.columns.len()).map(|column| column_form(definition, column)).collect();
    for (form, column) in input.list(|input| Ok((input.bytes()?, read_column(input)?)))? {
        if let Some(ordinal) = forms.iter().position(|own| own == form) {
            collected.columns[ordinal] = Some(Arc::new(column));
        }
    }
    let forms: Vec<_> = definition.indexes.iter().map(|index| index_form(definition, index)).collect();
    let read_index = |input: &mut Reader<'_>| {
        let distinct = input.list(Reader::u64)?;
        Ok(IndexStatistics { distinct, leaf_count: input.u64()?, sampled_leaves: input.u64()? })
    };
    for (form, index) in input.list(|input| Ok((input.bytes()?, read_index(input)?)))? {
        if let Some(ordinal) = forms.iter().position(|own| own == form) {
            collected.indexes[ordinal] = Some(Arc::new(index));
        }
    }
    Ok(Some(collected))
}

fn known<T>(all: &[Option<Arc<T>>]) -> impl Iterator<Item = (usize, &T)> {
    all.iter().enumerate().filter_map(|(ordinal, one)| Some((ordinal, one.as_deref()?)))
}

fn double(out: &mut Writer, value: f64) {
    out.u64(value.to_bits());
}

fn read_double(input: &mut Reader<'_>) -> Decoded<f64> {
    let value = f64::from_bits(input.u64()?);
    if value.is_finite() && value >= 0.0 { Ok(value) } else { Err(DecodeError::Damaged) }
}

fn write_column(out: &mut Writer, column: &ColumnStatistics) {
    double(out, column.null_share);
    double(out, column.distinct);
    double(out, column.mean_bytes);
    out.list(&column.frequent, |out, (value, share)| {
        out.bytes(value);
        double(out, *share);
    });
    out.list(&column.histogram, |out, bucket| {
        out.bytes(&bucket.least);
        out.option((bucket.least != bucket.greatest).then_some(&bucket.greatest), |out, greatest| {
            out.bytes(greatest);
        });
        double(out, bucket.cumulative);
        double(out, bucket.distinct);
    });
}

fn read_column(input: &mut Reader<'_>) -> Decoded<ColumnStatistics> {
    Ok(ColumnStatistics {
        null_share: read_double(input)?,
        distinct: read_double(input)?,
        mean_bytes: read_double(input)?,
        frequent: input.list(|input| Ok((input.bytes()?.into(), read_double(input)?)))?,
        histogram: input.list(|input| {
            let least: Box<[u8]> = input.bytes()?.into();
            let greatest = input.option(|input| Ok(input.bytes()?.into()))?;
            let greatest = greatest.unwrap_or_else(|| least.clone());
            Ok(Bucket { least, greatest, cumulative: read_double(input)?, distinct: read_double(input)? })
        })?,
    })
}

/// The form of a column: statistics of a column with another form are not used.
fn column_form(definition: &TableDefinition, ordinal: usize) -> Vec<u8> {
    let column = &definition.columns[ordinal];
    let mut out = Writer::default();
    out.str(&column.name);
    write_type(&mut out, &column.data_type);
    out.bool(column.nullable);
    out.u32(column.since_version);
    let part = column_part(definition, ordinal);
    out.u32(part.and_then(|part| part.prefix_length).unwrap_or(0));
    out.out
}

fn index_form(definition: &TableDefinition, index: &IndexDefinition) -> Vec<u8> {
    let mut out = Writer::default();
    out.u64(index.tree.0);
    out.list(&index.parts, |out, part| {
        out.bytes(&column_form(definition, part.column));
        out.u32(part.prefix_length.unwrap_or(0));
        out.bool(part.descending);
    });
    out.out
}

#[cfg(test)]
mod tests {
    use super::*;
    use catalog::{ColumnDefinition, SchemaId, TableId};
    use types::DataType;

    fn definition() -> TableDefinition {
        let columns = vec![
            ColumnDefinition::new("a", DataType::BIGINT, false),
            ColumnDefinition::new("b", DataType::BIGINT, true),
        ];
        TableDefinition::system(
            TableId(7),
            (SchemaId(1), "s"),
            "t",
            columns,
            types::CollationId::UTF8MB4_0900_AI_CI,
        )
    }

    fn collected() -> CollectedStatistics {
        let column = ColumnStatistics {
            null_share: 0.25,
            distinct: 7.0,
            mean_bytes: 8.0,
            frequent: vec![(vec![1].into(), 0.5)],
            histogram: vec![
                Bucket { least: vec![1].into(), greatest: vec![1].into(), cumulative: 0.5, distinct: 1.0 },
                Bucket { least: vec![2].into(), greatest: vec![9].into(), cumulative: 0.75, distinct: 6.0 },
            ],
        };
        let column = Arc::new(column);
        CollectedStatistics {
            version: 3,
            row_count: 9,
            columns: vec![Some(Arc::clone(&column)), Some(column)],
            ..CollectedStatistics::default()
        }
    }

    #[test]
    fn statistics_are_read_as_they_were_written() {
        let definition = definition();
        assert_eq!(
            decode_collected(&encode_collected(&collected(), &definition), &definition),
            Some(collected())
        );
    }

    /// Columns are known by their form, wherever they stand; other rows, a newer format and any cut are no statistics, and no panic.
    #[test]
    fn statistics_of_dropped_columns_are_not_read() {
        let then = definition();
        let record = encode_collected(&collected(), &then);
        let mut now = definition();
        now.columns.swap(0, 1);
        now.columns[1].nullable = true;
        let read = decode_collected(&record, &now).unwrap();
        assert!(read.columns[0].is_some() && read.columns[1].is_none());
        now.rows_tree.0 += 1;
        assert_eq!(decode_collected(&record, &now), None);
        for end in 0..record.len() {
            assert_eq!(decode_collected(&record[..end], &then), None);
        }
        let mut newer = record;
        newer[0] += 1;
        assert_eq!(decode_collected(&newer, &then), None);
    }
}
