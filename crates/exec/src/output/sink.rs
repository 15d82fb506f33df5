//! Where a query's rows go.

use service::Reply;
use types::charset::Charset;
use types::vector::{Batch, Cell};
use types::{DataType, Value};

use super::{LargeColumns, RowEncoder};
use crate::expr::SqlResult;

/// Takes a query's rows batch by batch.
pub trait RowSink {
    /// The next rows. False: no more are wanted.
    ///
    /// # Errors
    /// The client is gone, or the rows are too many.
    fn batch(&mut self, batch: &Batch) -> SqlResult<bool>;

    /// The next rows, some of whose values are stored out of line.
    ///
    /// # Errors
    /// As [`RowSink::batch`], and the store's.
    fn batch_with_references(&mut self, batch: &Batch, large: &LargeColumns<'_>) -> SqlResult<bool> {
        self.batch(&large.read_all(batch)?)
    }
}

/// Encodes rows into the answer to the client.
pub struct ReplySink<'r, 'b> {
    reply: &'r mut Reply<'b>,
    encoder: RowEncoder,
    row_count: u64,
    rows_max: u64,
}

impl<'r, 'b> ReplySink<'r, 'b> {
    /// Rows with these columns go to `reply`, strings in `results`; at most `rows_max` (`sql_select_limit`).
    #[must_use]
    pub fn new<'c>(
        reply: &'r mut Reply<'b>,
        columns: impl Iterator<Item = &'c DataType>,
        results: Option<Charset>,
        rows_max: u64,
    ) -> Self {
        let format = reply.row_format();
        Self { reply, encoder: RowEncoder::new(columns, results, format), row_count: 0, rows_max }
    }

    /// As above, with columns whose texts lie behind the result's columns ([`RowEncoder::with_texts`]).
    #[must_use]
    pub fn with_texts(self, texts: Vec<(usize, usize)>) -> Self {
        Self { encoder: self.encoder.with_texts(texts), ..self }
    }

    /// Rows sent.
    #[must_use]
    pub fn row_count(&self) -> u64 {
        self.row_count
    }
}

impl RowSink for ReplySink<'_, '_> {
    fn batch(&mut self, batch: &Batch) -> SqlResult<bool> {
        for row in 0..batch.row_count {
            if self.row_count == self.rows_max {
                return Ok(false);
            }
            self.encoder.put_row(batch, row, self.reply.begin_row());
            self.reply.end_row()?;
            self.row_count += 1;
        }
        Ok(true)
    }

    fn batch_with_references(&mut self, batch: &Batch, large: &LargeColumns<'_>) -> SqlResult<bool> {
        for row in 0..batch.row_count {
            if self.row_count == self.rows_max {
                return Ok(false);
            }
            self.encoder.put_row_with_references(batch, row, large, self.reply)?;
            self.row_count += 1;
        }
        Ok(true)
    }
}

/// Keeps rows as boundary values: SET @x = (SELECT ...), SELECT ... INTO.
#[derive(Debug)]
pub struct CollectSink {
    types: Vec<DataType>,
    /// The rows so far.
    pub rows: Vec<Vec<Value>>,
    rows_max: usize,
}

impl CollectSink {
    /// Keeps at most `rows_max` rows and wants no more then.
    #[must_use]
    pub fn new(types: Vec<DataType>, rows_max: usize) -> Self {
        Self { types, rows: Vec::new(), rows_max }
    }
}

/// A cell as a boundary value of its type.
#[must_use]
pub fn value_of(cell: Cell<'_>, data_type: &DataType) -> Value {
    use types::TypeKind;
    use types::temporal::{DateTime, Time};
    match cell {
        Cell::Null => Value::Null,
        Cell::Int(number) => match data_type.kind {
            TypeKind::Date => Value::Date(DateTime::unpack(number)),
            TypeKind::DateTime | TypeKind::Timestamp => Value::DateTime(DateTime::unpack(number)),
            TypeKind::Time => Value::Time(Time { micros: number }),
            TypeKind::Enum => Value::Bytes {
                bytes: data_type
                    .members
                    .as_ref()
                    .map_or_else(Vec::new, |members| members.enum_text(number).to_vec()),
                collation: data_type.collation,
            },
            TypeKind::Set => {
                let mut bytes = Vec::new();
                if let Some(members) = &data_type.members {
                    #[allow(clippy::cast_sign_loss, reason = "SET keeps the bits of a u64")]
                    members.set_text(
                        number as u64,
                        &data_type.collation.charset().of_ascii(b","),
                        &mut bytes,
                    );
                }
                Value::Bytes { bytes, collation: data_type.collation }
            }
            #[allow(clippy::cast_sign_loss, reason = "unsigned values keep the bits of a u64")]
            _ if data_type.unsigned => Value::UInt(number as u64),
            _ => Value::Int(number),
        },
        Cell::Double(number) => Value::Double(number),
        Cell::Decimal(number) => Value::Decimal(*number),
        Cell::Bytes(bytes) if data_type.kind == TypeKind::Json => Value::Json(bytes.to_vec()),
        Cell::Bytes(bytes) => Value::Bytes { bytes: bytes.to_vec(), collation: data_type.collation },
    }
}

impl RowSink for CollectSink {
    fn batch(&mut self, batch: &Batch) -> SqlResult<bool> {
        for row in 0..batch.row_count {
            if self.rows.len() == self.rows_max {
                return Ok(false);
            }
            let values = self
                .types
                .iter()
                .zip(&batch.columns)
                .map(|(data_type, column)| value_of(column.cell(row), data_type));
            self.rows.push(values.collect());
        }
        Ok(true)
    }
}
