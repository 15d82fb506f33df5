//! Rows of a system table on their way into batches: only the columns the query needs are kept.

use catalog::{TableDefinition, VirtualError};
use types::temporal::calendar::UNIX_EPOCH_DAY;
use types::temporal::{DateTime, MICROS_PER_DAY};
use types::vector::Batch;
use types::{DataType, Physical, TypeKind};

/// One value of a system table's row.
#[derive(Clone, Copy, Debug)]
pub enum Cell<'a> {
    /// NULL.
    Null,
    /// Text; for an ENUM column the member's name, for a SET the members with commas.
    Text(&'a str),
    /// Bytes as they are.
    Bytes(&'a [u8]),
    /// A number that may be negative.
    Int(i64),
    /// A number that may not.
    UInt(u64),
    /// Microseconds since 1970 UTC, for DATETIME and TIMESTAMP columns (shown in UTC), of which whole seconds are shown.
    Micros(i64),
    /// The same with all that the number has of them.
    Moment(i64),
}

impl<'a> Cell<'a> {
    /// `YES` or `NO`.
    #[must_use]
    pub(crate) fn yes_no(flag: bool) -> Self {
        Cell::Text(if flag { "YES" } else { "NO" })
    }

    /// Text or NULL.
    #[must_use]
    pub fn text_or_null(text: Option<&'a str>) -> Self {
        text.map_or(Cell::Null, Cell::Text)
    }

    /// Number or NULL.
    #[must_use]
    pub fn uint_or_null(number: Option<u64>) -> Self {
        number.map_or(Cell::Null, Cell::UInt)
    }
}

/// Collects rows into batches and hands full ones on.
pub struct Rows<'a> {
    definition: &'a TableDefinition,
    columns: &'a [usize],
    batch: Batch,
    emit: &'a mut dyn FnMut(&mut Batch) -> bool,
    stopped: bool,
    error: Option<VirtualError>,
}

impl<'a> Rows<'a> {
    /// Rows of `definition`, of which the columns `columns` are wanted, in that order.
    pub fn new(
        definition: &'a TableDefinition,
        columns: &'a [usize],
        emit: &'a mut dyn FnMut(&mut Batch) -> bool,
    ) -> Self {
        let batch = Batch::new(columns.iter().map(|&column| definition.columns[column].data_type.physical()));
        Self { definition, columns, batch, emit, stopped: false, error: None }
    }

    /// Adds a row: one cell a column of the table. Does nothing once the reader has enough.
    ///
    /// # Panics
    /// If the number of cells is not the table's number of columns.
    pub fn push(&mut self, cells: &[Cell<'_>]) {
        assert_eq!(
            cells.len(),
            self.definition.columns.len(),
            "a row of {} is complete",
            self.definition.name
        );
        if self.stopped {
            return;
        }
        for (position, &column) in self.columns.iter().enumerate() {
            let data_type = &self.definition.columns[column].data_type;
            push_cell(&mut self.batch.columns[position], data_type, cells[column]);
        }
        self.batch.row_count += 1;
        if self.batch.is_full() {
            self.hand_on();
        }
    }

    /// Whether the reader has enough; a costly function may stop early.
    #[must_use]
    pub fn stopped(&self) -> bool {
        self.stopped
    }

    fn hand_on(&mut self) {
        if !(self.emit)(&mut self.batch) {
            self.stopped = true;
        }
        self.batch.clear();
    }

    /// Ends the reading with an error.
    pub fn fail(&mut self, error: VirtualError) {
        self.stopped = true;
        self.error = Some(error);
    }

    /// Hands on what is left.
    ///
    /// # Errors
    /// The error that [`Rows::fail`] was given.
    pub fn finish(&mut self) -> Result<(), VirtualError> {
        if self.batch.row_count > 0 && !self.stopped {
            self.hand_on();
        }
        self.error.take().map_or(Ok(()), Err)
    }
}

/// Appends one value, converted to its column's physical form.
pub fn push_cell(column: &mut types::vector::Column, data_type: &DataType, cell: Cell<'_>) {
    #[allow(clippy::cast_possible_wrap, reason = "an unsigned column keeps the bits of its u64")]
    let bits = |number: u64| number as i64;
    match (cell, data_type.physical()) {
        (Cell::Null, _) => column.push_null(),
        (Cell::Text(text), Physical::Bytes) => column.push_bytes(text.as_bytes()),
        (Cell::Bytes(bytes), Physical::Bytes) => column.push_bytes(bytes),
        (Cell::Int(number), Physical::Bytes) => column.push_bytes(number.to_string().as_bytes()),
        (Cell::UInt(number), Physical::Bytes) => column.push_bytes(number.to_string().as_bytes()),
        (Cell::Text(text), Physical::Int) => column.push_int(match (&data_type.members, data_type.kind) {
            (Some(members), TypeKind::Enum) => members
                .iter()
                .position(|name| name == text.as_bytes())
                .map_or(0, |index| bits(index as u64 + 1)),
            (Some(members), _) => text
                .split(',')
                .filter_map(|part| members.iter().position(|name| name == part.as_bytes()))
                .fold(0, |set, index| set | 1 << index),
            (None, _) => text.parse().unwrap_or(0),
        }),
        (Cell::Int(number), Physical::Int) => column.push_int(number),
        (Cell::UInt(number), Physical::Int) => column.push_int(bits(number)),
        (Cell::Micros(micros) | Cell::Moment(micros), Physical::Int) => {
            // Whole seconds: MySQL shows none of a table's fractions either.
            let fraction = if matches!(cell, Cell::Micros(_)) { micros.rem_euclid(1_000_000) } else { 0 };
            let micros = micros - fraction + UNIX_EPOCH_DAY * MICROS_PER_DAY;
            match DateTime::from_linear_micros(micros) {
                Some(time) => column.push_int(time.pack()),
                None => column.push_null(),
            }
        }
        (other, physical) => unreachable!("a system table puts {other:?} into a {physical:?} column"),
    }
}
