//! Answers as a client reads them: packets in, events out.
//!
//! ```
//! use wire::client::{Event, ResultReader};
//! use wire::{Capabilities, OkPacket};
//! let mut payload = Vec::new();
//! OkPacket { affected_rows: 3, ..OkPacket::default() }.encode(0, Capabilities::NONE, &mut payload);
//! let mut reader = ResultReader::query(Capabilities::NONE);
//! assert!(matches!(reader.read(&payload), Ok(Event::Ok(ok)) if ok.affected_rows == 3));
//! assert!(reader.is_done());
//! ```

use crate::codec::{Malformed, Reader, malformed};
use crate::column::ColumnDefinition;
use crate::flags::{Capabilities, ColumnFlags, ColumnType, StatusFlags};
use crate::message::{
    self, EOF_HEADER, EOF_PACKET_BYTES_MAX, ERR_HEADER, LOCAL_FILE_HEADER, OK_HEADER, ReceivedError,
    ReceivedOk,
};
use crate::parameter::{self, ParameterValue};

/// One packet of an answer.
#[derive(Debug)]
pub enum Event<'a> {
    /// A statement without rows succeeded.
    Ok(ReceivedOk<'a>),
    /// The statement failed; nothing follows.
    Error(ReceivedError<'a>),
    /// The server wants the contents of a file; send it and an empty packet.
    LocalFile(&'a [u8]),
    /// A result with this many columns begins.
    Columns(usize),
    /// A column, or a parameter in the answer to COM_STMT_PREPARE.
    Column(ColumnDefinition<'a>),
    /// All columns were read (only without DEPRECATE_EOF).
    ColumnsEnd,
    /// A row, still encoded.
    Row(&'a [u8]),
    /// All rows were read.
    End {
        /// Warnings.
        warnings: u16,
        /// State of the session.
        status: StatusFlags,
    },
    /// A statement was prepared.
    Prepared {
        /// Its number.
        statement_id: u32,
        /// Columns of its result.
        column_count: u16,
        /// Its `?`.
        parameter_count: u16,
        /// Warnings.
        warnings: u16,
    },
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum State {
    Start,
    Columns { left: usize },
    ColumnsEof,
    Rows,
    PrepareStart,
    PrepareParameters { left: u16, columns: u16 },
    PrepareParametersEof { columns: u16 },
    PrepareColumns { left: u16 },
    PrepareColumnsEof,
    Done,
}

/// Reads the packets of one answer, several results of it included.
#[derive(Debug)]
pub struct ResultReader {
    capabilities: Capabilities,
    state: State,
}

impl ResultReader {
    /// The answer to COM_QUERY, COM_STMT_EXECUTE and every command answered by OK.
    #[must_use]
    pub fn query(capabilities: Capabilities) -> ResultReader {
        ResultReader { capabilities, state: State::Start }
    }

    /// The answer to COM_STMT_PREPARE.
    #[must_use]
    pub fn prepare(capabilities: Capabilities) -> ResultReader {
        ResultReader { capabilities, state: State::PrepareStart }
    }

    /// The answer to COM_STMT_FETCH: rows without columns.
    #[must_use]
    pub fn fetch(capabilities: Capabilities) -> ResultReader {
        ResultReader { capabilities, state: State::Rows }
    }

    /// Whether nothing more follows.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.state == State::Done
    }

    fn has_eof(&self) -> bool {
        !self.capabilities.has(Capabilities::DEPRECATE_EOF)
    }

    fn end(&mut self, status: StatusFlags) {
        self.state = if status.has(StatusFlags::MORE_RESULTS_EXISTS) { State::Start } else { State::Done };
    }

    fn after_parameters(&self, columns: u16) -> State {
        if columns > 0 { State::PrepareColumns { left: columns } } else { State::Done }
    }

    /// Reads the next packet.
    ///
    /// # Errors
    /// If it is cut or not what may come here.
    pub fn read<'a>(&mut self, payload: &'a [u8]) -> Result<Event<'a>, Malformed> {
        let Some(&first) = payload.first() else { return malformed("empty packet in an answer") };
        if first == ERR_HEADER && self.state != State::Done {
            self.state = State::Done;
            return ReceivedError::decode(payload).map(Event::Error);
        }
        match self.state {
            State::Start => match first {
                OK_HEADER => {
                    let ok = ReceivedOk::decode(payload, self.capabilities)?;
                    self.end(ok.status);
                    Ok(Event::Ok(ok))
                }
                LOCAL_FILE_HEADER => Ok(Event::LocalFile(&payload[1..])),
                _ => {
                    let Ok(count @ 1..) = usize::try_from(Reader::new(payload).lenenc_int()?) else {
                        return malformed("column count");
                    };
                    self.state = State::Columns { left: count };
                    Ok(Event::Columns(count))
                }
            },
            State::Columns { left } => {
                let column = ColumnDefinition::decode(payload)?;
                self.state = match left {
                    1 if self.has_eof() => State::ColumnsEof,
                    1 => State::Rows,
                    _ => State::Columns { left: left - 1 },
                };
                Ok(Event::Column(column))
            }
            State::ColumnsEof => {
                let (warnings, status) = message::decode_eof(payload)?;
                if status.has(StatusFlags::CURSOR_EXISTS) {
                    self.state = State::Done;
                    return Ok(Event::End { warnings, status });
                }
                self.state = State::Rows;
                Ok(Event::ColumnsEnd)
            }
            State::Rows => self.row_or_end(first, payload),
            State::PrepareStart => {
                let mut reader = Reader::new(payload);
                if reader.u8()? != OK_HEADER {
                    return malformed("answer to prepare");
                }
                let statement_id = reader.u32()?;
                let column_count = reader.u16()?;
                let parameter_count = reader.u16()?;
                reader.u8()?;
                let warnings = reader.u16()?;
                self.state = if parameter_count > 0 {
                    State::PrepareParameters { left: parameter_count, columns: column_count }
                } else {
                    self.after_parameters(column_count)
                };
                Ok(Event::Prepared { statement_id, column_count, parameter_count, warnings })
            }
            State::PrepareParameters { left, columns } => {
                self.state = match left {
                    1 if self.has_eof() => State::PrepareParametersEof { columns },
                    1 => self.after_parameters(columns),
                    _ => State::PrepareParameters { left: left - 1, columns },
                };
                ColumnDefinition::decode(payload).map(Event::Column)
            }
            State::PrepareParametersEof { columns } => {
                message::decode_eof(payload)?;
                self.state = self.after_parameters(columns);
                Ok(Event::ColumnsEnd)
            }
            State::PrepareColumns { left } => {
                self.state = match left {
                    1 if self.has_eof() => State::PrepareColumnsEof,
                    1 => State::Done,
                    _ => State::PrepareColumns { left: left - 1 },
                };
                ColumnDefinition::decode(payload).map(Event::Column)
            }
            State::PrepareColumnsEof => {
                message::decode_eof(payload)?;
                self.state = State::Done;
                Ok(Event::ColumnsEnd)
            }
            State::Done => malformed("packet after the end of an answer"),
        }
    }

    fn row_or_end<'a>(&mut self, first: u8, payload: &'a [u8]) -> Result<Event<'a>, Malformed> {
        if first != EOF_HEADER {
            return Ok(Event::Row(payload));
        }
        if self.has_eof() {
            if payload.len() >= EOF_PACKET_BYTES_MAX {
                return Ok(Event::Row(payload));
            }
            let (warnings, status) = message::decode_eof(payload)?;
            self.end(status);
            return Ok(Event::End { warnings, status });
        }
        // A row whose first value takes 16 MB or more starts with the same byte.
        if payload.len() >= crate::packet::FRAME_PAYLOAD_BYTES_MAX {
            return Ok(Event::Row(payload));
        }
        let ok = ReceivedOk::decode(payload, self.capabilities)?;
        self.end(ok.status);
        Ok(Event::End { warnings: ok.warnings, status: ok.status })
    }
}

/// Reads the values of a text row, in order; `None` is NULL.
///
/// # Errors
/// If it is cut.
pub fn text_row<'a>(row: &'a [u8], mut take: impl FnMut(Option<&'a [u8]>)) -> Result<(), Malformed> {
    let mut reader = Reader::new(row);
    while !reader.is_empty() {
        take(reader.lenenc_bytes_or_null()?);
    }
    Ok(())
}

/// Reads the values of a binary row with columns of these types and flags.
///
/// # Errors
/// If it is cut or a type has no binary form.
pub fn binary_row<'a>(
    row: &'a [u8],
    columns: &[(ColumnType, ColumnFlags)],
    mut take: impl FnMut(ParameterValue<'a>),
) -> Result<(), Malformed> {
    let mut reader = Reader::new(row);
    if reader.u8()? != 0 {
        return malformed("binary row");
    }
    let bitmap = reader.bytes((columns.len() + 9) / 8)?;
    for (index, &(column_type, flags)) in columns.iter().enumerate() {
        if bitmap[(index + 2) / 8] & 1 << ((index + 2) % 8) != 0 {
            take(ParameterValue::Null);
            continue;
        }
        let unsigned = flags.has(ColumnFlags::UNSIGNED);
        take(parameter::read_value(&mut reader, parameter::ParameterType { column_type, unsigned })?);
    }
    if reader.is_empty() { Ok(()) } else { malformed("bytes after a binary row") }
}

/// Finds the cells of a text row of `count` columns: `start` gets where each begins, for [`text_cell`].
///
/// # Errors
/// If it is cut or has another number of cells.
#[inline]
pub fn text_cells(row: &[u8], count: usize, mut start: impl FnMut(usize)) -> Result<(), Malformed> {
    let mut reader = Reader::new(row);
    for _ in 0..count {
        start(row.len() - reader.rest().len());
        reader.lenenc_bytes_or_null()?;
    }
    if reader.is_empty() { Ok(()) } else { malformed("bytes after a text row") }
}

/// The cell of a text row that begins with `rest`, found by [`text_cells`].
#[inline]
#[must_use]
pub fn text_cell(rest: &[u8]) -> ParameterValue<'_> {
    match Reader::new(rest).lenenc_bytes_or_null() {
        Ok(Some(bytes)) => ParameterValue::Bytes(bytes),
        _ => ParameterValue::Null,
    }
}

/// Finds the cells of a binary row, for [`binary_cell`]; that of a NULL begins where the next one does.
///
/// # Errors
/// If it is cut or a type has no binary form.
#[inline]
pub fn binary_cells(
    row: &[u8],
    columns: &[(ColumnType, ColumnFlags)],
    mut start: impl FnMut(usize),
) -> Result<(), Malformed> {
    let mut reader = Reader::new(row);
    if reader.u8()? != 0 {
        return malformed("binary row");
    }
    let bitmap = reader.bytes((columns.len() + 9) / 8)?;
    for (index, &(column_type, flags)) in columns.iter().enumerate() {
        start(row.len() - reader.rest().len());
        if bitmap[(index + 2) / 8] & 1 << ((index + 2) % 8) == 0 {
            let unsigned = flags.has(ColumnFlags::UNSIGNED);
            parameter::read_value(&mut reader, parameter::ParameterType { column_type, unsigned })?;
        }
    }
    if reader.is_empty() { Ok(()) } else { malformed("bytes after a binary row") }
}

/// The cell of a binary row that begins with `rest`, found by [`binary_cells`], and is not NULL.
#[inline]
#[must_use]
pub fn binary_cell(rest: &[u8], column_type: ColumnType, flags: ColumnFlags) -> ParameterValue<'_> {
    let unsigned = flags.has(ColumnFlags::UNSIGNED);
    parameter::read_value(&mut Reader::new(rest), parameter::ParameterType { column_type, unsigned })
        .unwrap_or(ParameterValue::Null)
}
