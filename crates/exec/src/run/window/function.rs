//! The functions: what each keeps while the rows of a partition go by, and what it gives for a row.

use plan::logical::{WindowCall, WindowFunction};
use plan::physical::Aggregate;
use types::{Cell, Column};

use super::Position;
use super::accumulate::Accumulator;
use super::frame::{Constant, MovingFrame, Wanted};
use super::rows::{Reader, RowQueue};
use crate::context::ExecContext;
use crate::error::internal;
use crate::expr::SqlResult;

/// A function over a window.
pub(super) struct Function {
    kind: Kind,
    /// The position of its frame among the frames of the operator, if it has one.
    pub(super) frame: Option<usize>,
}

enum Kind {
    RowNumber,
    Rank,
    DenseRank,
    PercentRank,
    CumeDist,
    /// The constant that is the number of buckets.
    Ntile(usize),
    /// LAG, LEAD.
    Neighbour {
        value: usize,
        /// The constant that is the number of rows.
        offset: usize,
        default: Option<usize>,
        leads: bool,
        reader: Reader,
        own: Reader,
    },
    First {
        value: usize,
        reader: Reader,
    },
    Last {
        value: usize,
        reader: Reader,
    },
    Nth {
        value: usize,
        number: usize,
        reader: Reader,
    },
    /// COUNT(*).
    CountRows,
    Aggregate(Box<Running>),
}

/// An aggregate under way.
struct Running {
    call: Aggregate,
    accumulator: Accumulator,
    /// The column of its first argument.
    first: usize,
    /// The rows of the frame that are in: from `removed` up to, not including, `added`.
    removed: u64,
    added: u64,
    entering: Reader,
    leaving: Reader,
    /// The last result, and the frame it is of, if frames may repeat.
    last: Option<(Column, Option<(u64, u64)>)>,
}

impl Function {
    pub(super) fn new(
        call: &WindowCall,
        frame: Option<(usize, &MovingFrame)>,
        wanted: &mut Wanted<'_>,
    ) -> SqlResult<Function> {
        use WindowFunction as W;
        let arg = |at: usize| call.args.get(at).ok_or_else(|| internal("a window function's argument"));
        let kind = match call.function {
            W::RowNumber => Kind::RowNumber,
            W::Rank => Kind::Rank,
            W::DenseRank => Kind::DenseRank,
            W::PercentRank => Kind::PercentRank,
            W::CumeDist => Kind::CumeDist,
            W::Ntile => Kind::Ntile((wanted.constant)(arg(0)?, Constant::Buckets)),
            W::Lag | W::Lead => Kind::Neighbour {
                value: (wanted.column)(arg(0)?),
                offset: (wanted.constant)(arg(1)?, Constant::Offset),
                default: call.args.get(2).map(|default| (wanted.column)(default)),
                leads: call.function == W::Lead,
                reader: Reader::default(),
                own: Reader::default(),
            },
            W::FirstValue => Kind::First { value: (wanted.column)(arg(0)?), reader: Reader::default() },
            W::LastValue => Kind::Last { value: (wanted.column)(arg(0)?), reader: Reader::default() },
            W::NthValue => Kind::Nth {
                value: (wanted.column)(arg(0)?),
                number: (wanted.constant)(arg(1)?, Constant::Nth),
                reader: Reader::default(),
            },
            W::Aggregate(plan::logical::AggregateFunction::CountStar) => Kind::CountRows,
            W::Aggregate(function) => {
                let mut columns = call.args.iter().map(|arg| (wanted.column)(arg));
                let first = columns.next().ok_or_else(|| internal("an aggregate's argument"))?;
                columns.for_each(drop);
                let aggregate = Aggregate {
                    function,
                    distinct: false,
                    args: call.args.clone(),
                    order_by: Vec::new(),
                    separator: (*b"").into(),
                    data_type: call.data_type.clone(),
                    nullable: call.nullable,
                };
                let frame = frame.map(|(_, frame)| frame);
                let accumulator = Accumulator::new(&aggregate, frame.is_some_and(MovingFrame::slides));
                let may_repeat = frame.is_some_and(MovingFrame::may_repeat);
                Kind::Aggregate(Box::new(Running {
                    last: may_repeat.then(|| (Column::new(call.data_type.physical()), None)),
                    call: aggregate,
                    accumulator,
                    first,
                    removed: 0,
                    added: 0,
                    entering: Reader::default(),
                    leaving: Reader::default(),
                }))
            }
        };
        Ok(Function { kind, frame: frame.map(|(at, _)| at) })
    }

    /// Whether rows have to know their partition's end, or their peers' end.
    pub(super) fn needs_ends(&self) -> (bool, bool) {
        match self.kind {
            Kind::PercentRank | Kind::Ntile(_) => (true, false),
            Kind::CumeDist => (true, true),
            _ => (false, false),
        }
    }

    /// The row behind the last that it reads for `row`.
    pub(super) fn reads_up_to(&self, row: u64, counts: &[Option<u64>]) -> u64 {
        match self.kind {
            Kind::Neighbour { leads: true, offset, .. } => {
                row.saturating_add(counts[offset].unwrap_or(0)).saturating_add(1)
            }
            _ => row + 1,
        }
    }

    /// The first row that it still reads.
    pub(super) fn lowest(&self, row: u64, partition_start: u64, counts: &[Option<u64>]) -> u64 {
        match &self.kind {
            Kind::Neighbour { leads: false, offset, .. } => {
                row.saturating_sub(counts[*offset].unwrap_or(0)).max(partition_start)
            }
            Kind::Aggregate(running) if running.accumulator.reads_back() => running.removed.min(row),
            Kind::Aggregate(running) => running.added.min(row),
            _ => row,
        }
    }

    /// Whether it reads values of rows at the beginning of its frame.
    pub(super) fn reads_frame_start(&self) -> bool {
        matches!(self.kind, Kind::First { .. } | Kind::Nth { .. })
    }

    /// Whether it reads values of rows at the end of its frame.
    pub(super) fn reads_frame_end(&self) -> bool {
        matches!(self.kind, Kind::Last { .. })
    }

    /// A partition begins with this row.
    pub(super) fn begin(&mut self, row: u64) {
        if let Kind::Aggregate(running) = &mut self.kind {
            running.accumulator.clear();
            running.removed = row;
            running.added = row;
            if let Some((_, frame)) = &mut running.last {
                *frame = None;
            }
        }
    }

    pub(super) fn reset(&mut self) {
        match &mut self.kind {
            Kind::Neighbour { reader, own, .. } => {
                reader.reset();
                own.reset();
            }
            Kind::First { reader, .. } | Kind::Last { reader, .. } | Kind::Nth { reader, .. } => {
                reader.reset();
            }
            Kind::Aggregate(running) => {
                running.entering.reset();
                running.leaving.reset();
            }
            _ => {}
        }
        self.begin(0);
    }

    /// Appends the value of a row, whose frame lies from `frame.0` up to, not including, `frame.1`. Answers how many values were gone through.
    #[inline]
    pub(super) fn give(
        &mut self,
        at: &Position,
        frame: (u64, u64),
        counts: &[Option<u64>],
        rows: &RowQueue,
        out: &mut Column,
        ctx: &ExecContext<'_>,
    ) -> SqlResult<usize> {
        let number = |value: u64| value.cast_signed();
        match &mut self.kind {
            Kind::RowNumber => out.push_int(number(at.row - at.partition_start + 1)),
            Kind::Rank => out.push_int(number(at.peers_start - at.partition_start + 1)),
            Kind::DenseRank => out.push_int(number(at.peer_groups)),
            Kind::PercentRank => {
                let others = at.partition_rows().saturating_sub(1);
                let before = at.peers_start - at.partition_start;
                out.push_double(if others == 0 { 0.0 } else { before as f64 / others as f64 });
            }
            Kind::CumeDist => {
                let up_to = at.peers_end.unwrap_or(at.row + 1) - at.partition_start;
                out.push_double(up_to as f64 / at.partition_rows() as f64);
            }
            Kind::Ntile(buckets) => {
                let buckets = counts[*buckets].unwrap_or(1).max(1);
                out.push_int(number(bucket(at.row - at.partition_start, at.partition_rows(), buckets)));
            }
            Kind::Neighbour { value, offset, default, leads, reader, own } => {
                let offset = counts[*offset].unwrap_or(0);
                let row = if *leads {
                    at.row.checked_add(offset).filter(|row| at.is_within(*row))
                } else {
                    at.row.checked_sub(offset).filter(|row| *row >= at.partition_start)
                };
                match (row, default) {
                    (Some(row), _) => {
                        let (batch, place) = reader.at(rows, row)?;
                        out.push_cell(batch.columns[*value].cell(place));
                    }
                    (None, Some(default)) => {
                        let (batch, place) = own.at(rows, at.row)?;
                        out.push_cell(batch.columns[*default].cell(place));
                    }
                    (None, None) => out.push_null(),
                }
            }
            Kind::First { value, reader } => push_value(reader, rows, *value, frame, Some(0), out)?,
            Kind::Last { value, reader } => {
                let last = frame.1.saturating_sub(frame.0).checked_sub(1);
                push_value(reader, rows, *value, frame, last, out)?;
            }
            Kind::Nth { value, number, reader } => {
                let nth = counts[*number].and_then(|number| number.checked_sub(1));
                push_value(reader, rows, *value, frame, nth, out)?;
            }
            Kind::CountRows => out.push_int(number(frame.1.saturating_sub(frame.0))),
            Kind::Aggregate(running) => return running.give(frame, rows, out, ctx),
        }
        Ok(1)
    }
}

/// Appends the value of the row that many rows behind the first of the frame; NULL if it has none.
fn push_value(
    reader: &mut Reader,
    rows: &RowQueue,
    value: usize,
    (start, end): (u64, u64),
    nth: Option<u64>,
    out: &mut Column,
) -> SqlResult<()> {
    let row = nth.and_then(|nth| start.checked_add(nth)).filter(|row| *row < end);
    match row {
        Some(row) => {
            let (batch, place) = reader.at(rows, row)?;
            out.push_cell(batch.columns[value].cell(place));
        }
        None => out.push_cell(Cell::Null),
    }
    Ok(())
}

/// The bucket of NTILE, from 1: the first ones have a row more where the rows cannot be shared out evenly.
fn bucket(row: u64, rows: u64, buckets: u64) -> u64 {
    let (size, larger) = (rows / buckets, rows % buckets);
    let in_larger = larger * (size + 1);
    if row < in_larger { row / (size + 1) + 1 } else { larger + (row - in_larger) / size.max(1) + 1 }
}

impl Running {
    /// Brings the rows of the frame in and the others out.
    fn move_to(&mut self, (start, end): (u64, u64), rows: &RowQueue) -> SqlResult<usize> {
        let end = end.max(start);
        let mut steps = 0;
        if start >= self.added || start < self.removed || end < self.added {
            // Nothing stays, or an end has gone back: from the beginning.
            if self.added > self.removed {
                self.accumulator.clear();
            }
            self.removed = start;
            self.added = start;
        }
        while self.removed < start {
            let back = if self.accumulator.reads_back() {
                let (batch, place) = self.leaving.at(rows, self.removed)?;
                Some((batch, place, self.first))
            } else {
                None
            };
            self.accumulator.remove(&self.call, self.removed, back)?;
            self.removed += 1;
            steps += 1;
        }
        while self.added < end {
            let (batch, place) = self.entering.at(rows, self.added)?;
            self.accumulator.add(&self.call, self.added, (batch, place, self.first))?;
            self.added += 1;
            steps += 1;
        }
        Ok(steps)
    }

    fn give(
        &mut self,
        frame: (u64, u64),
        rows: &RowQueue,
        out: &mut Column,
        ctx: &ExecContext<'_>,
    ) -> SqlResult<usize> {
        if let Some((value, of)) = &self.last
            && *of == Some(frame)
        {
            out.push_cell(value.cell(0));
            return Ok(1);
        }
        let steps = self.move_to(frame, rows)? + self.accumulator.steps();
        self.accumulator.give(&self.call, out, ctx)?;
        if let Some((value, of)) = &mut self.last {
            *of = Some(frame);
            value.clear();
            value.push_cell(out.cell(out.len() - 1));
        }
        Ok(steps)
    }
}

#[cfg(test)]
mod tests {
    use super::bucket;

    /// Buckets differ by at most one row, the larger first, and none is left out while there are rows.
    #[test]
    fn buckets_share_rows_out() {
        for rows in 1..40u64 {
            for buckets in 1..45u64 {
                let all: Vec<u64> = (0..rows).map(|row| bucket(row, rows, buckets)).collect();
                assert_eq!(all[0], 1);
                assert_eq!(all.last().copied(), Some(rows.min(buckets)));
                assert!(all.iter().zip(&all[1..]).all(|(a, b)| a == b || a + 1 == *b));
                let size = |bucket: u64| all.iter().filter(|other| **other == bucket).count();
                let sizes: Vec<usize> = (1..=rows.min(buckets)).map(size).collect();
                assert!(sizes.iter().zip(&sizes[1..]).all(|(a, b)| a >= b && *a <= *b + 1));
            }
        }
    }
}
