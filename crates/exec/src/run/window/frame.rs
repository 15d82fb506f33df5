//! Frames: which rows of a partition a function sees from a row. Both ends only move forward.
//!
//! With RANGE and limits an end is looked for from where it was for the row before. The keys of rows are sorted, NULL first or, if they go
//! down, last: NULL is within no limit, and the frame of a row whose key is NULL begins or ends with its peers.

use std::cmp::Ordering;

use plan::Expr;
use plan::logical::{Frame, FrameBound};
use types::{Batch, Cell, Decimal};

use super::Position;
use super::rows::{Reader, RowQueue};
use crate::expr::SqlResult;

/// One end.
enum End {
    Unbounded,
    CurrentRow,
    /// A count of rows before or behind; the number is the index of the count among the constants.
    Rows {
        count: usize,
        following: bool,
    },
    /// The column of the limit.
    Range {
        limit: usize,
        is_unsigned: bool,
        reader: Reader,
        /// How far the search has come in this partition.
        found: u64,
    },
}

/// A frame that moves with the row.
pub(super) struct MovingFrame {
    counts_rows: bool,
    first: End,
    last: End,
    /// The column of the key, and whether it is unsigned.
    key: (usize, bool),
    descending: bool,
    reader: Reader,
    /// The frame of the row: from `start` up to, not including, `end`.
    pub(super) start: u64,
    pub(super) end: u64,
}

/// What a frame reads of its rows, and what is constant.
pub(super) struct Wanted<'w> {
    /// Puts an expression among those that are computed for each row; gives its column.
    pub(super) column: &'w mut dyn FnMut(&Expr) -> usize,
    /// The same for constants.
    pub(super) constant: &'w mut dyn FnMut(&Expr, Constant) -> usize,
}

/// What a constant of a window is for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Constant {
    /// Rows between a row and an end of its frame.
    RowCount,
    /// The distance of keys.
    Distance,
    /// Buckets of NTILE.
    Buckets,
    /// Rows of LAG and LEAD.
    Offset,
    /// The row of NTH_VALUE, from 1.
    Nth,
}

impl MovingFrame {
    pub(super) fn new(frame: &Frame, wanted: &mut Wanted<'_>) -> MovingFrame {
        let key = match &frame.key {
            Some(key) => ((wanted.column)(key), key.data_type.unsigned),
            None => (0, false),
        };
        let mut end = |bound: &FrameBound| match bound {
            FrameBound::Unbounded => End::Unbounded,
            FrameBound::CurrentRow => End::CurrentRow,
            FrameBound::Rows { count, following } => {
                End::Rows { count: (wanted.constant)(count, Constant::RowCount), following: *following }
            }
            FrameBound::Range { distance, limit } => {
                (wanted.constant)(distance, Constant::Distance);
                End::Range {
                    limit: (wanted.column)(limit),
                    is_unsigned: limit.data_type.unsigned,
                    reader: Reader::default(),
                    found: 0,
                }
            }
        };
        let (first, last) = (end(&frame.start), end(&frame.end));
        MovingFrame {
            counts_rows: frame.counts_rows,
            first,
            last,
            key,
            descending: frame.descending,
            reader: Reader::default(),
            start: 0,
            end: 0,
        }
    }

    /// Whether the first row may change within a partition.
    pub(super) fn slides(&self) -> bool {
        !matches!(self.first, End::Unbounded)
    }

    /// Whether rows have to know their peers.
    pub(super) fn needs_peers(&self) -> bool {
        let is_of_peers = |end: &End| match end {
            End::CurrentRow => !self.counts_rows,
            End::Range { .. } => true,
            End::Unbounded | End::Rows { .. } => false,
        };
        is_of_peers(&self.first) || is_of_peers(&self.last)
    }

    /// Whether neighbouring rows may have the same frame.
    pub(super) fn may_repeat(&self) -> bool {
        !self.counts_rows || matches!((&self.first, &self.last), (End::Unbounded, End::Unbounded))
    }

    /// A partition begins with this row.
    pub(super) fn begin(&mut self, row: u64) {
        self.start = row;
        self.end = row;
        for end in [&mut self.first, &mut self.last] {
            if let End::Range { found, .. } = end {
                *found = row;
            }
        }
    }

    pub(super) fn reset(&mut self) {
        self.reader.reset();
        for end in [&mut self.first, &mut self.last] {
            if let End::Range { reader, .. } = end {
                reader.reset();
            }
        }
        self.begin(0);
    }

    /// The first row that is still read for the frame.
    pub(super) fn lowest(&self, row: u64) -> u64 {
        let mut lowest = row;
        for end in [&self.first, &self.last] {
            if let End::Range { found, .. } = end {
                lowest = lowest.min(*found);
            }
        }
        lowest
    }

    /// Moves to a row. False: rows behind it are not there yet.
    pub(super) fn move_to(
        &mut self,
        at: &Position,
        counts: &[Option<u64>],
        rows: &RowQueue,
    ) -> SqlResult<bool> {
        let row = at.row;
        self.start = match &mut self.first {
            End::Unbounded => at.partition_start,
            End::CurrentRow if self.counts_rows => row,
            End::CurrentRow => at.peers_start,
            End::Rows { count, following } => {
                let count = counts[*count].unwrap_or(0);
                if *following {
                    row.saturating_add(count)
                } else {
                    row.saturating_sub(count).max(at.partition_start)
                }
            }
            End::Range { limit, is_unsigned, reader, found } => {
                let limit = limit_of(reader.at(rows, row)?, (*limit, *is_unsigned), self.key.0);
                match limit {
                    Limit::OfPeers => at.peers_start,
                    // The date lies beyond all dates: MySQL's search takes it for larger than all keys where these rise, and for smaller where they fall.
                    Limit::Beyond if self.descending => *found,
                    Limit::Beyond => u64::MAX,
                    Limit::At(limit) => {
                        let search = Search { key: self.key, descending: self.descending, is_first: true };
                        if !search.run(found, limit, at, rows, &mut self.reader)? {
                            return Ok(false);
                        }
                        *found
                    }
                }
            }
        };
        self.end = match &mut self.last {
            End::Unbounded => match at.partition_end {
                Some(end) => end,
                None => return Ok(false),
            },
            End::CurrentRow if self.counts_rows => row + 1,
            End::CurrentRow => match at.peers_end {
                Some(end) => end,
                None => return Ok(false),
            },
            End::Rows { count, following } => {
                let count = counts[*count].unwrap_or(0);
                if *following {
                    let end = row.saturating_add(count).saturating_add(1);
                    match at.partition_end {
                        Some(last) => end.min(last),
                        None if end <= at.known => end,
                        None => return Ok(false),
                    }
                } else {
                    (row + 1).saturating_sub(count).max(at.partition_start)
                }
            }
            End::Range { limit, is_unsigned, reader, found } => {
                let limit = limit_of(reader.at(rows, row)?, (*limit, *is_unsigned), self.key.0);
                let last = match limit {
                    Limit::OfPeers => at.peers_end,
                    Limit::Beyond if self.descending => Some(*found),
                    Limit::Beyond => at.partition_end,
                    Limit::At(limit) => {
                        let search = Search { key: self.key, descending: self.descending, is_first: false };
                        search.run(found, limit, at, rows, &mut self.reader)?.then_some(*found)
                    }
                };
                match last {
                    Some(end) => end,
                    None => return Ok(false),
                }
            }
        };
        Ok(true)
    }
}

/// The limit of a row.
enum Limit<'l> {
    /// The row's key is NULL: only its peers are as far away.
    OfPeers,
    /// The key moved by the distance is no date any more.
    Beyond,
    /// The limit, and whether it is unsigned.
    At((Cell<'l>, bool)),
}

/// The limit of the row at `place`; `limit`, `key`: columns.
fn limit_of<'l>(
    (batch, place): (&'l Batch, usize),
    (limit, is_unsigned): (usize, bool),
    key: usize,
) -> Limit<'l> {
    match batch.columns[limit].cell(place) {
        Cell::Null if batch.columns[key].is_null(place) => Limit::OfPeers,
        Cell::Null => Limit::Beyond,
        limit => Limit::At((limit, is_unsigned)),
    }
}

/// The search for an end by keys.
struct Search {
    key: (usize, bool),
    descending: bool,
    /// For the first row that is not before the limit; else for the first that is behind it.
    is_first: bool,
}

impl Search {
    /// Moves `found` on. False: the rows that are there do not tell.
    fn run(
        &self,
        found: &mut u64,
        limit: (Cell<'_>, bool),
        at: &Position,
        rows: &RowQueue,
        reader: &mut Reader,
    ) -> SqlResult<bool> {
        let known = at.partition_end.unwrap_or(at.known);
        while *found < known {
            let (batch, place) = reader.at(rows, *found)?;
            let goes_on = match batch.columns[self.key.0].cell(place) {
                Cell::Null => !self.descending,
                key => {
                    let order = compare((key, self.key.1), limit);
                    let order = if self.descending { order.reverse() } else { order };
                    if self.is_first { order.is_lt() } else { order.is_le() }
                }
            };
            if !goes_on {
                return Ok(true);
            }
            *found += 1;
        }
        Ok(at.partition_end.is_some())
    }
}

/// Compares a key with a limit: numbers by their values, dates and times by their places.
fn compare((key, key_unsigned): (Cell<'_>, bool), (limit, limit_unsigned): (Cell<'_>, bool)) -> Ordering {
    let wide = |value: i64, unsigned: bool| {
        if unsigned { i128::from(value.cast_unsigned()) } else { i128::from(value) }
    };
    match (key, limit) {
        (Cell::Int(key), Cell::Int(limit)) => wide(key, key_unsigned).cmp(&wide(limit, limit_unsigned)),
        (Cell::Decimal(key), Cell::Decimal(limit)) => key.cmp(limit),
        (Cell::Decimal(key), Cell::Int(limit)) => key.cmp(&Decimal::from_i128(wide(limit, limit_unsigned))),
        (Cell::Int(key), Cell::Decimal(limit)) => Decimal::from_i128(wide(key, key_unsigned)).cmp(limit),
        (key, limit) => double(key, key_unsigned).total_cmp(&double(limit, limit_unsigned)),
    }
}

fn double(cell: Cell<'_>, unsigned: bool) -> f64 {
    match cell {
        Cell::Int(value) if unsigned => value.cast_unsigned() as f64,
        Cell::Int(value) => value as f64,
        // -0.0 equals 0.0.
        Cell::Double(value) => value + 0.0,
        Cell::Decimal(value) => value.to_f64(),
        Cell::Null | Cell::Bytes(_) => 0.0,
    }
}
