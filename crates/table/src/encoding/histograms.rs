//! Records of histograms: `version u8 | count u32 | (form of the column, JSON document)...`.

use std::sync::Arc;

use catalog::TableDefinition;

use super::{DecodeError, Decoded, Reader, Writer, write_type};

/// Version of the records written now. Others are not read.
const HISTOGRAMS_VERSION: u8 = 1;

pub(crate) fn encode_histograms(all: &[(usize, Arc<[u8]>)], definition: &TableDefinition) -> Vec<u8> {
    let mut out = Writer { out: vec![HISTOGRAMS_VERSION] };
    out.list(all, |out, (column, document)| {
        out.bytes(&histogram_form(definition, *column));
        out.bytes(document);
    });
    out.out
}

/// The histograms of columns that are still what they were; none if they cannot be read.
pub(crate) fn decode_histograms(record: &[u8], definition: &TableDefinition) -> Vec<(usize, Arc<[u8]>)> {
    let forms: Vec<_> =
        (0..definition.columns.len()).map(|column| histogram_form(definition, column)).collect();
    let all = read(record).unwrap_or_default();
    all.into_iter()
        .filter_map(|(form, document)| Some((forms.iter().position(|own| own == form)?, document.into())))
        .collect()
}

fn read(record: &[u8]) -> Decoded<Vec<(&[u8], &[u8])>> {
    match record.split_first() {
        Some((&HISTOGRAMS_VERSION, rest)) => {
            let mut input = Reader { version: HISTOGRAMS_VERSION, rest };
            input.list(|input| Ok((input.bytes()?, input.bytes()?)))
        }
        Some((&version, _)) => Err(DecodeError::Newer(version)),
        None => Err(DecodeError::Damaged),
    }
}

/// What a column is to histograms: with another form it has none.
pub(crate) fn histogram_form(definition: &TableDefinition, ordinal: usize) -> Vec<u8> {
    let column = &definition.columns[ordinal];
    let mut out = Writer::default();
    out.str(&column.name);
    write_type(&mut out, &column.data_type);
    out.out
}
