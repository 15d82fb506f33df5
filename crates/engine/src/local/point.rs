//! The point program: a SELECT of one row by a whole unique key, from the parameters to the row's bytes on the wire without operators.
//!
//! Such a plan is a scan with one range whose ends are parameters or literals, and a projection of plain columns. The
//! program encodes the key from the values, descends once, and encodes the selected columns from the row's own bytes under the
//! page's latch. Whatever does not fit (a value of another type than its key column, a large value outside its row) takes
//! the ordinary way through the operators, which answers the same.

use std::sync::Arc;

use exec::output::CellEncoder;
use plan::ExprKind;
use plan::logical::PartKind;
use plan::physical::{Node, Op, PhysicalPlan, PlanKind, Scan};
use service::{RowFormat, SqlError};
use store::Reader;
use table::Table;
use table::TimestampZone;
use table::codec::row::{BytesRef, RowView};
use types::charset::Charset;
use types::collation::CollationId;
use types::vector::Cell;
use types::{Physical, Value, ValueRef};
use wire::row;

use session::backend::{PointMemory, PointOutcome, PointProgram, PointRead};

/// One part of the key: where its value comes from and what it must be.
#[derive(Clone, Debug)]
struct KeyPart {
    source: KeySource,
    accepts: Accepts,
}

#[derive(Clone, Debug)]
enum KeySource {
    Parameter(usize),
    Literal(Value),
}

/// Which values a key column takes as they are.
#[derive(Clone, Copy, Debug)]
enum Accepts {
    /// Integers between these.
    Integers { least: i64, greatest: u64 },
    /// Text of this collation's character set.
    Text(CollationId),
}

/// A point SELECT of a local table, ready to run.
#[derive(Clone, Debug)]
pub struct LocalPointProgram {
    table: Arc<Table>,
    index: usize,
    covering: bool,
    key: Vec<KeyPart>,
    columns: Vec<Column>,
}

#[derive(Clone, Debug)]
struct Column {
    ordinal: usize,
    physical: Physical,
    encoder: CellEncoder,
}

/// Follows projections of plain columns down to the scan; answers the scan and which of its outputs the result has.
fn scan_below<'p>(node: &'p Node, wanted: &[usize]) -> Option<(&'p Scan, Vec<usize>)> {
    match &node.op {
        Op::Scan(scan) => Some((scan, wanted.to_vec())),
        Op::Project { input, exprs } => {
            let inner: Option<Vec<usize>> = wanted
                .iter()
                .map(|&output| match exprs.get(output)?.kind {
                    ExprKind::Input(position) => Some(position as usize),
                    _ => None,
                })
                .collect();
            scan_below(input, &inner?)
        }
        _ => None,
    }
}

impl PointProgram for LocalPointProgram {
    fn of(plan: &PhysicalPlan, results: Option<Charset>) -> Option<Self> {
        let PlanKind::Query(root) = &plan.kind else { return None };
        let outputs: Vec<usize> = (0..plan.output.len()).collect();
        if plan.calc_found_rows || !plan.warnings.is_empty() {
            return None;
        }
        let (scan, positions) = scan_below(root, &outputs)?;
        let table_reference = &plan.tables[scan.table.0 as usize];
        if table_reference.lock.is_some()
            || !scan.filter.is_empty()
            || scan.limit.is_some()
            || !scan.access.point
        {
            return None;
        }
        let table = Table::of(&table_reference.entry.source)?;
        let definition = Arc::clone(table.definition());
        let index = scan.access.index.or(definition.clustered)?;
        let [range] = scan.access.ranges.as_deref()? else { return None };
        let parts = &definition.indexes[index].parts;
        if range.equal.len() != parts.len() || parts.iter().any(|part| part.prefix_length.is_some()) {
            return None;
        }
        let mut key = Vec::with_capacity(parts.len());
        for (value, part) in range.equal.iter().zip(parts) {
            let data_type = &definition.columns[part.column].data_type;
            let accepts = if data_type.is_integer() && data_type.physical() == Physical::Int {
                let bytes = u32::from(data_type.integer_bytes()?);
                let bits = bytes * 8;
                if data_type.unsigned {
                    Accepts::Integers { least: 0, greatest: u64::MAX >> (64 - bits) }
                } else {
                    Accepts::Integers { least: i64::MIN >> (64 - bits), greatest: u64::MAX >> (65 - bits) }
                }
            } else if data_type.is_string() && !data_type.is_text_or_blob() {
                Accepts::Text(data_type.collation)
            } else {
                return None;
            };
            let source = match &value.expr.kind {
                ExprKind::Param(ordinal) => KeySource::Parameter(*ordinal as usize),
                ExprKind::Literal(value) => KeySource::Literal(value.clone()),
                _ => return None,
            };
            key.push(KeyPart { source, accepts });
        }
        let columns: Option<Vec<Column>> = positions
            .into_iter()
            .map(|position| {
                // A position behind the columns is the locator, which no result has.
                let ordinal = *scan.columns.get(position)?;
                // All of a large column is here what the row holds; other parts only a scan gives.
                let ordinal = match table_reference.part(ordinal) {
                    Some(part) if part.kind == PartKind::Reference => part.column,
                    Some(_) => return None,
                    None => ordinal,
                };
                let data_type = &definition.columns.get(ordinal)?.data_type;
                let encoder = CellEncoder::new(data_type, results);
                Some(Column { ordinal, physical: data_type.physical(), encoder })
            })
            .collect();
        let columns = columns?;
        let covering = columns.iter().all(|column| table.covers(index, column.ordinal));
        Some(Self { index, covering, key, columns, table })
    }
}

impl LocalPointProgram {
    /// Encodes the key into `out`; false if a value does not fit its column as it is.
    fn write_key(&self, values: &[ValueRef<'_>], zone: &dyn TimestampZone, out: &mut Vec<u8>) -> bool {
        let codec = self.table.key_codec(self.index);
        for (number, part) in self.key.iter().enumerate() {
            let value = match &part.source {
                KeySource::Parameter(ordinal) => match values.get(*ordinal) {
                    Some(value) => *value,
                    None => return false,
                },
                KeySource::Literal(value) => ValueRef::from(value),
            };
            let cell = match (value, part.accepts) {
                (ValueRef::Int(number), Accepts::Integers { least, greatest })
                    if number >= least && (number < 0 || number.cast_unsigned() <= greatest) =>
                {
                    Cell::Int(number)
                }
                // An unsigned column keeps the bits of its number.
                (ValueRef::UInt(number), Accepts::Integers { greatest, .. }) if number <= greatest => {
                    Cell::Int(number.cast_signed())
                }
                (ValueRef::Bytes { bytes, collation }, Accepts::Text(wanted))
                    if collation.charset() == wanted.charset() =>
                {
                    Cell::Bytes(bytes)
                }
                _ => return false,
            };
            codec.write_part(number, cell, zone, out);
        }
        true
    }

    /// Reads the row and writes its payload to `memory.row`; `memory` is as it was lent.
    ///
    /// # Errors
    /// The store's.
    pub(super) fn run(
        &self,
        values: &[ValueRef<'_>],
        reader: Reader<'_>,
        PointRead { zone, format, .. }: PointRead<'_>,
        memory: &mut PointMemory,
    ) -> Result<PointOutcome, Box<SqlError>> {
        let PointMemory { key, row, cell } = memory;
        if !self.write_key(values, zone, key) {
            return Ok(PointOutcome::NotHere);
        }
        let write = |view: &RowView<'_>| write_row(&self.columns, view, zone, format, cell, row);
        let found = if self.covering {
            self.table.get_covered(self.index, key, reader, write)
        } else {
            self.table.get_unique(self.index, key, reader, write)
        };
        match found {
            Ok(Some(true)) => Ok(PointOutcome::Rows(1)),
            Ok(Some(false)) => Ok(PointOutcome::NotHere),
            Ok(None) => Ok(PointOutcome::Rows(0)),
            Err(error) => Err(crate::store_error(&error)),
        }
    }
}

/// Writes the columns of one row; false if one of them lies outside the row.
fn write_row(
    columns: &[Column],
    view: &RowView<'_>,
    zone: &dyn TimestampZone,
    format: RowFormat,
    scratch: &mut Vec<u8>,
    out: &mut Vec<u8>,
) -> bool {
    let bitmap = match format {
        RowFormat::Text => 0,
        RowFormat::Binary => row::begin_binary(out, columns.len()),
    };
    for (index, column) in columns.iter().enumerate() {
        let ordinal = column.ordinal;
        let decimal;
        let cell = if view.is_null(ordinal) {
            Cell::Null
        } else {
            match column.physical {
                Physical::Int => Cell::Int(view.int(ordinal, zone)),
                Physical::Double => Cell::Double(view.double(ordinal)),
                Physical::Decimal => {
                    decimal = view.decimal(ordinal);
                    Cell::Decimal(&decimal)
                }
                Physical::Bytes => match view.bytes(ordinal) {
                    BytesRef::Inline(bytes) => Cell::Bytes(bytes),
                    BytesRef::External { .. } => return false,
                },
            }
        };
        match format {
            RowFormat::Text => column.encoder.put_cell_text(cell, scratch, out),
            RowFormat::Binary => {
                if !column.encoder.put_cell_binary(cell, scratch, out) {
                    row::set_binary_null(out, bitmap, index);
                }
            }
        }
    }
    true
}
