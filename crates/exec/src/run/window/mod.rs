//! Window functions over rows that come partition by partition, each in the order of its window.
//!
//! Rows wait here until what their functions look at is there: ROW_NUMBER and RANK wait for nothing, a moving sum for the rows of its frame,
//! NTILE for the end of the partition. A batch is given when the values of all its rows are known. What later rows look back at (arguments, keys
//! of RANGE) is kept beside the rows, computed once.
//!
//! ```text
//! input -> batches, in order ----------------------------------------> batches with values
//!       -> computed values of their rows -> readers of the functions ---^
//! ```
//!
//! Invariants:
//! 1. All functions stand at the same row; a row is passed when each can give its value.
//! 2. Readers only move forward, so that both queues may lie on disk above the limit ([`rows`]).
//! 3. Memory is what rows that wait, or are looked back at, take: of batches before both nothing is kept.
//!
//! Read next: [`frame`] (which rows), [`function`] (what of them), [`accumulate`] (aggregates that move).

mod accumulate;
mod frame;
mod function;
mod rows;

use std::collections::VecDeque;
use std::sync::Arc;

use plan::Expr;
use plan::logical::{WindowCall, WindowFunction};
use plan::physical::{Node, PhysicalPlan};
use types::temporal::DateTime;
use types::temporal::parse::DateMode;
use types::vector::BATCH_BYTES_TARGET;
use types::{Batch, Cell, Column, DataType, Physical, TypeKind};

use super::aggregate::values::is_same;
use super::{Operator, Source};
use crate::context::ExecContext;
use crate::expr::{Program, Scratch, SqlResult};
use crate::programs::Programs;
use crate::row_buffer::columns;
use crate::spill::LIMIT_BYTES_MAX;

use frame::{Constant, MovingFrame, Wanted};
use function::Function;
use rows::{Reader, RowQueue};

/// Values that are gone through before a statement is asked again whether it was killed.
const STEPS_PER_CHECK: usize = 1 << 16;

/// The row that is computed, and what is known of the rows around it.
pub(super) struct Position {
    row: u64,
    /// Rows that have come: the next has this number.
    known: u64,
    partition_start: u64,
    /// If it has come.
    partition_end: Option<u64>,
    peers_start: u64,
    /// If it has come and is needed.
    peers_end: Option<u64>,
    /// Groups of peers in the partition up to the row.
    peer_groups: u64,
}

impl Position {
    fn new() -> Position {
        Position {
            row: 0,
            known: 0,
            partition_start: 0,
            partition_end: None,
            peers_start: 0,
            peers_end: None,
            peer_groups: 0,
        }
    }

    /// Rows of the partition, whose end has come.
    fn partition_rows(&self) -> u64 {
        self.partition_end.unwrap_or(self.known) - self.partition_start
    }

    /// Whether a row behind this one is of the partition.
    fn is_within(&self, row: u64) -> bool {
        row < self.partition_end.unwrap_or(self.known)
    }
}

/// Values that distinguish neighbouring rows.
struct Boundaries {
    computed: Option<(Scratch, Arc<Program>)>,
    types: Vec<DataType>,
    values: Vec<Column>,
    /// Those of the last row of the batch before.
    last: Vec<Column>,
}

impl Boundaries {
    fn new(exprs: &[Expr], programs: &mut Programs<'_>) -> SqlResult<Boundaries> {
        let shapes = || exprs.iter().map(|expr| expr.data_type.physical());
        let computed = if exprs.is_empty() {
            None
        } else {
            let program = programs.take(exprs)?;
            Some((program.scratch(), program))
        };
        Ok(Boundaries {
            computed,
            types: exprs.iter().map(|expr| expr.data_type.clone()).collect(),
            values: columns(shapes()),
            last: columns(shapes()),
        })
    }

    fn reset(&mut self) {
        if let Some((scratch, _)) = &mut self.computed {
            scratch.reset();
        }
        self.last.iter_mut().for_each(Column::clear);
    }

    /// Calls `differs` with each row of `batch` whose values are not those of the row before it; not with the very first.
    fn find(
        &mut self,
        batch: &Batch,
        ctx: &mut ExecContext<'_>,
        mut differs: impl FnMut(usize),
    ) -> SqlResult<()> {
        let Some((scratch, program)) = &mut self.computed else { return Ok(()) };
        program.eval(scratch, batch, &mut ctx.eval, &mut self.values)?;
        let Some(last_row) = batch.row_count.checked_sub(1) else { return Ok(()) };
        let has_last = self.last.first().is_some_and(|last| !last.is_empty());
        if has_last {
            let mut pairs = self.last.iter().zip(&self.values).zip(&self.types);
            if !pairs.all(|((last, value), of)| is_equal(last.cell(0), value.cell(0), of)) {
                differs(0);
            }
        }
        match &self.values[..] {
            [only] if only.physical() == Physical::Int && !only.nulls.any() => {
                for (row, pair) in only.ints().windows(2).enumerate() {
                    if pair[0] != pair[1] {
                        differs(row + 1);
                    }
                }
            }
            values => {
                for row in 1..batch.row_count {
                    let is_same = values
                        .iter()
                        .zip(&self.types)
                        .all(|(value, data_type)| is_equal(value.cell(row - 1), value.cell(row), data_type));
                    if !is_same {
                        differs(row);
                    }
                }
            }
        }
        for (last, value) in self.last.iter_mut().zip(&self.values) {
            last.clear();
            last.push_cell(value.cell(last_row));
        }
        Ok(())
    }
}

/// Whether two values are of one partition, or of peers.
#[inline]
fn is_equal(a: Cell<'_>, b: Cell<'_>, data_type: &DataType) -> bool {
    match (a, b) {
        (Cell::Bytes(a), Cell::Bytes(b)) if data_type.kind == TypeKind::Json => {
            a == b || types::json::compare(a, b).is_eq()
        }
        (a, b) => is_same(a, b, data_type),
    }
}

/// Whether a row is no peer of the one before it.
fn is_marked(reader: &mut Reader, kept: &RowQueue, row: u64) -> SqlResult<bool> {
    let (batch, place) = reader.at(kept, row)?;
    Ok(batch.columns[0].ints()[place] == 1)
}

/// A constant, its place and its window, for messages.
struct WindowConstant {
    place: usize,
    role: Constant,
    function: &'static str,
    window: Arc<str>,
}

/// What an operator computes for each row and once: expressions without repetition.
#[derive(Default)]
struct Computed {
    exprs: Vec<Expr>,
    constants: Vec<Expr>,
    roles: Vec<WindowConstant>,
}

impl Computed {
    fn constant(&mut self, expr: &Expr, role: Constant, call: &WindowCall) -> usize {
        self.constants.push(expr.clone());
        self.roles.push(WindowConstant {
            place: self.constants.len() - 1,
            role,
            function: call.function.name(),
            window: Arc::clone(&call.window),
        });
        self.constants.len() - 1
    }
}

pub(super) struct Window<'p> {
    input: Source<'p>,
    partition: Boundaries,
    peers: Option<Boundaries>,
    /// Computed for each row, behind the mark of peers if there is one.
    computed: Option<(Scratch, Arc<Program>)>,
    is_wide: bool,
    constants: Option<Arc<Program>>,
    constant_shapes: Vec<DataType>,
    roles: Vec<WindowConstant>,
    functions: Vec<Function>,
    frames: Vec<MovingFrame>,
    needs_partition_end: bool,
    needs_peers_end: bool,
    input_shapes: Vec<Physical>,

    /// Values of the constants that are counts; none: NULL.
    counts: Vec<Option<u64>>,
    has_started: bool,
    has_ended: bool,
    at: Position,
    /// First rows of partitions behind the one that is computed.
    starts: VecDeque<u64>,
    /// Rows that were not given yet, the first with those that are computed.
    waiting: RowQueue,
    /// What is computed of rows.
    kept: RowQueue,
    peers_reader: Reader,
    /// Up to here no row begins other peers than those of the row that is computed.
    peers_found: u64,
    /// Up to here it is known whose peers rows are.
    peers_settled: u64,
    results: Vec<Column>,
    /// Functions that give dates: place and name.
    dates: Vec<(usize, &'static str)>,
    /// The first batch, once it has to be given in pieces, and its next row.
    pieces: Option<(Batch, usize)>,
    steps: usize,
    has_spilled: bool,
}

impl<'p> Window<'p> {
    pub(super) fn new(
        plan: &'p PhysicalPlan,
        node: &'p Node,
        partition: &'p [Expr],
        order: &'p [(Expr, bool)],
        calls: &'p [WindowCall],
        programs: &mut Programs<'_>,
    ) -> SqlResult<Window<'p>> {
        let input_shapes = node.shapes();
        let input = Source::new(plan, node, programs)?;
        let mut computed = Computed::default();
        // The first column marks rows that are no peers of the row before, if anybody asks for peers.
        let mut functions: Vec<Function> = Vec::with_capacity(calls.len());
        let mut frames: Vec<MovingFrame> = Vec::new();
        let mut known_frames: Vec<&WindowCall> = Vec::new();
        let asks_peers = calls.iter().any(asks_for_peers) && !order.is_empty();
        let first_column = usize::from(asks_peers);
        for call in calls {
            let exprs = std::cell::RefCell::new(&mut computed);
            let mut column = |expr: &Expr| {
                let computed = &mut exprs.borrow_mut().exprs;
                computed.push(expr.clone());
                computed.len() - 1 + first_column
            };
            let mut constant = |expr: &Expr, role: Constant| exprs.borrow_mut().constant(expr, role, call);
            let mut wanted = Wanted { column: &mut column, constant: &mut constant };
            let mut frame = None;
            if call.function.has_frame() {
                let known = known_frames.iter().position(|other| other.frame == call.frame);
                frame = Some(known.unwrap_or_else(|| {
                    frames.push(MovingFrame::new(&call.frame, &mut wanted));
                    known_frames.push(call);
                    frames.len() - 1
                }));
            }
            functions.push(Function::new(call, frame.map(|at| (at, &frames[at])), &mut wanted)?);
        }
        let Computed { exprs, constants, roles } = computed;
        let program = if exprs.is_empty() { None } else { Some(programs.take(&exprs)?) };
        let is_wide = program.as_ref().is_some_and(|program| program.is_wide());
        let order: Vec<Expr> = order.iter().map(|(expr, _)| expr.clone()).collect();
        let mark = asks_peers.then_some(Physical::Int);
        let kept_shapes = mark.into_iter().chain(exprs.iter().map(|expr| expr.data_type.physical()));
        let needs_ends = functions.iter().map(Function::needs_ends);
        let (of_partition, of_peers) =
            needs_ends.fold((false, false), |all, one| (all.0 || one.0, all.1 || one.1));
        Ok(Window {
            partition: Boundaries::new(partition, programs)?,
            peers: if asks_peers { Some(Boundaries::new(&order, programs)?) } else { None },
            constants: if constants.is_empty() { None } else { Some(programs.take(&constants)?) },
            constant_shapes: constants.iter().map(|expr| expr.data_type.clone()).collect(),
            roles,
            needs_partition_end: of_partition,
            needs_peers_end: of_peers || frames.iter().any(MovingFrame::needs_peers),
            frames,
            functions,
            waiting: RowQueue::new(input_shapes.iter().copied()),
            kept: RowQueue::new(kept_shapes),
            input_shapes,
            computed: program.map(|program| (program.scratch(), program)),
            is_wide,
            input,
            counts: Vec::new(),
            has_started: false,
            has_ended: false,
            at: Position::new(),
            starts: VecDeque::new(),
            peers_reader: Reader::default(),
            peers_found: 0,
            peers_settled: 0,
            dates: calls
                .iter()
                .enumerate()
                .filter(|(_, call)| matches!(call.data_type.kind, TypeKind::Date | TypeKind::DateTime))
                .map(|(at, call)| (at, call.function.name()))
                .collect(),
            results: columns(calls.iter().map(|call| call.data_type.physical())),
            pieces: None,
            steps: 0,
            has_spilled: false,
        })
    }

    /// Computes what is constant, and refuses what it must not be.
    fn begin(&mut self, ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        self.counts.clear();
        if let Some(program) = &self.constants {
            let mut values = columns(self.constant_shapes.iter().map(DataType::physical));
            program.eval(&mut program.scratch(), &crate::expr::no_input(), &mut ctx.eval, &mut values)?;
            for role in &self.roles {
                let cell = values[role.place].cell(0);
                self.counts.push(role.count(cell, &self.constant_shapes[role.place])?);
            }
        }
        if self.is_wide {
            self.input.limit_rows(1);
        }
        self.input.start(ctx)
    }

    /// Reads the next batch. False: there are no more rows.
    fn read(&mut self, ctx: &mut ExecContext<'_>) -> SqlResult<bool> {
        if self.has_ended {
            return Ok(false);
        }
        if !self.input.next(ctx)? {
            self.has_ended = true;
            self.starts.push_back(self.at.known);
            return Ok(true);
        }
        let batch = std::mem::replace(&mut self.input.batch, self.waiting.batch());
        let limit = ctx.limits.temporary_bytes.min(LIMIT_BYTES_MAX);
        let first = self.at.known;
        let starts = &mut self.starts;
        let before = starts.len();
        self.partition.find(&batch, ctx, |row| starts.push_back(first + row as u64))?;
        let mut kept = self.kept.batch();
        kept.row_count = batch.row_count;
        let (marks, own) = kept.columns.split_at_mut(usize::from(self.peers.is_some()));
        if let Some(peers) = &mut self.peers {
            let mut differs = vec![0i64; batch.row_count];
            peers.find(&batch, ctx, |row| differs[row] = 1)?;
            self.starts.range(before..).for_each(|start| differs[(start - first) as usize] = 1);
            marks.iter_mut().for_each(|marks| differs.iter().for_each(|mark| marks.push_int(*mark)));
        }
        if let Some((scratch, program)) = &mut self.computed {
            program.eval(scratch, &batch, &mut ctx.eval, own)?;
            if self.is_wide {
                self.input.limit_rows(scratch.rows_next(batch.row_count, own));
            }
        }
        self.at.known += batch.row_count as u64;
        let is_full = self.waiting.bytes() + self.kept.bytes() > limit;
        if is_full {
            ctx.count_disk_table(u32::from(std::mem::replace(&mut self.has_spilled, true)));
        }
        if !kept.columns.is_empty() {
            self.kept.push(kept, is_full, limit, ctx)?;
        }
        self.waiting.push(batch, is_full, limit, ctx)?;
        ctx.check()?;
        Ok(true)
    }

    /// Looks at where the row's partition and peers begin and end. False: they end behind what has come.
    fn look_around(&mut self) -> SqlResult<bool> {
        let at = &mut self.at;
        if at.partition_end.is_none() {
            at.partition_end = self.starts.front().copied();
        }
        if at.partition_end == Some(at.row) {
            self.starts.pop_front();
            at.partition_start = at.row;
            at.partition_end = self.starts.front().copied();
            at.peers_end = None;
            at.peers_start = at.row;
            at.peer_groups = 1;
            self.peers_found = at.row + 1;
            self.peers_settled = at.row + 1;
            self.frames.iter_mut().for_each(|frame| frame.begin(at.row));
            self.functions.iter_mut().for_each(|function| function.begin(at.row));
        }
        if self.needs_partition_end && at.partition_end.is_none() {
            return Ok(false);
        }
        if self.peers.is_none() {
            // Without an order all rows of the partition are peers.
            at.peers_end = at.partition_end;
            return Ok(true);
        }
        if self.peers_settled <= at.row {
            let begins = match self.needs_peers_end {
                true => at.peers_end == Some(at.row),
                false => is_marked(&mut self.peers_reader, &self.kept, at.row)?,
            };
            if begins {
                at.peers_start = at.row;
                at.peers_end = None;
                at.peer_groups += 1;
                self.peers_found = at.row + 1;
            }
            self.peers_settled = at.row + 1;
        }
        if self.needs_peers_end && at.peers_end.is_none() {
            let known = at.partition_end.unwrap_or(at.known);
            while self.peers_found < known {
                if is_marked(&mut self.peers_reader, &self.kept, self.peers_found)? {
                    at.peers_end = Some(self.peers_found);
                    return Ok(true);
                }
                self.peers_found += 1;
            }
            at.peers_end = at.partition_end;
        }
        Ok(!self.needs_peers_end || at.peers_end.is_some())
    }

    /// Computes the row. False: rows behind it have to come first.
    fn compute(&mut self, ctx: &mut ExecContext<'_>) -> SqlResult<bool> {
        if self.at.row >= self.at.known || !self.look_around()? {
            return Ok(false);
        }
        for frame in &mut self.frames {
            if !frame.move_to(&self.at, &self.counts, &self.kept)? {
                return Ok(false);
            }
        }
        let known = self.at.known;
        let ends_within = self.at.partition_end.is_some();
        let is_there =
            |function: &Function| ends_within || function.reads_up_to(self.at.row, &self.counts) <= known;
        if !self.functions.iter().all(is_there) {
            return Ok(false);
        }
        for (function, out) in self.functions.iter_mut().zip(&mut self.results) {
            let frame = function.frame.map_or((0, 0), |at| (self.frames[at].start, self.frames[at].end));
            self.steps += function.give(&self.at, frame, &self.counts, &self.kept, out, ctx)?;
        }
        self.at.row += 1;
        if self.steps >= STEPS_PER_CHECK {
            self.steps = 0;
            ctx.check()?;
        }
        Ok(true)
    }

    /// Drops what no row looks at any more.
    fn drop_passed(&mut self) {
        if self.kept.first_count().is_none() {
            return;
        }
        let row = self.at.row;
        let mut lowest = row;
        if self.needs_peers_end {
            lowest = lowest.min(self.peers_found);
        }
        for frame in &self.frames {
            lowest = lowest.min(frame.lowest(row));
        }
        for function in &self.functions {
            lowest = lowest.min(function.lowest(row, self.at.partition_start, &self.counts));
            if let Some(at) = function.frame {
                if function.reads_frame_start() {
                    lowest = lowest.min(self.frames[at].start);
                }
                if function.reads_frame_end() {
                    lowest = lowest.min(self.frames[at].end.saturating_sub(1));
                }
            }
        }
        // Where a later partition begins nothing before it is read.
        self.kept.drop_before(lowest);
    }

    /// Gives what is computed of the first batch.
    fn give(&mut self, out: &mut Batch, ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        for (at, name) in &self.dates {
            refuse_dates(&mut self.results[*at], name, ctx)?;
        }
        let width = self.input_shapes.len();
        let done = self.results.first().map_or(0, Column::len);
        let is_first = self.pieces.is_none();
        let (batch, from) = match self.pieces.take() {
            Some(pieces) => pieces,
            None => (self.waiting.pop()?, 0),
        };
        if is_first && done == batch.row_count {
            for (target, column) in out.columns.iter_mut().zip(batch.columns) {
                *target = column;
            }
        } else {
            let rows: Vec<u32> = (from as u32..(from + done) as u32).collect();
            for (target, column) in out.columns.iter_mut().zip(&batch.columns) {
                target.gather_from(column, &rows);
            }
            if from + done < batch.row_count {
                self.pieces = Some((batch, from + done));
            }
        }
        for (target, result) in out.columns[width..].iter_mut().zip(&mut self.results) {
            std::mem::swap(target, result);
            result.clear();
        }
        out.row_count = done;
        self.drop_passed();
        Ok(())
    }

    /// Rows of the first batch that are not given yet.
    fn first_count(&self) -> Option<usize> {
        match &self.pieces {
            Some((batch, from)) => Some(batch.row_count - from),
            None => self.waiting.first_count(),
        }
    }
}

/// MySQL's values of windows lie in a temporary table, whose columns hold no date that the mode refuses: it is the zero date there.
///
/// # Errors
/// 1292 in strict data changes.
fn refuse_dates(dates: &mut Column, function: &'static str, ctx: &mut ExecContext<'_>) -> SqlResult<()> {
    let mode = DateMode { no_zero_date: false, ..ctx.eval.settings.date_mode() };
    let is_refused =
        |cell: Cell<'_>| matches!(cell, Cell::Int(date) if mode.check(DateTime::unpack(date)).is_err());
    if !(0..dates.len()).any(|row| is_refused(dates.cell(row))) {
        return Ok(());
    }
    let mut held = Column::new(dates.physical());
    for row in 0..dates.len() {
        match dates.cell(row) {
            Cell::Int(date) if is_refused(Cell::Int(date)) => {
                let mut shown = Vec::new();
                DateTime::unpack(date).write_date(&mut shown);
                let shown = String::from_utf8_lossy(&shown);
                let message = format!("Incorrect date value: '{shown}' for column '{function}' at row 1");
                let error = service::error::ER_TRUNCATED_WRONG_VALUE.saying(message);
                if ctx.eval.settings.strict_dml {
                    return Err(error);
                }
                let mut entry = error.diagnostic();
                entry.level = service::Level::Warning;
                ctx.eval.warnings.push(entry);
                held.push_int(DateTime::ZERO.pack());
            }
            cell => held.push_cell(cell),
        }
    }
    *dates = held;
    Ok(())
}

impl WindowConstant {
    /// The count that a constant is; none if it is NULL.
    ///
    /// # Errors
    /// 1210 and 3586 for what is none.
    fn count(&self, cell: Cell<'_>, data_type: &DataType) -> SqlResult<Option<u64>> {
        let count = match cell {
            Cell::Int(value) if data_type.unsigned => Some(value.cast_unsigned()),
            Cell::Int(value) => u64::try_from(value).ok(),
            _ => None,
        };
        let is_null = matches!(cell, Cell::Null);
        let signed =
            |least: u64| count.filter(|count| (least..=i64::MAX.cast_unsigned()).contains(count)).map(Some);
        let checked = match self.role {
            Constant::RowCount => count.map(Some),
            Constant::Distance => (!is_null && !is_negative(cell)).then_some(None),
            Constant::Buckets => signed(1),
            Constant::Offset => signed(0),
            Constant::Nth if is_null => Some(None),
            Constant::Nth => signed(1),
        };
        match (checked, self.role) {
            (Some(count), _) => Ok(count),
            (None, Constant::RowCount | Constant::Distance) => {
                Err(service::error::ER_WINDOW_FRAME_ILLEGAL.with(&[&self.window]))
            }
            (None, _) => Err(service::error::ER_WRONG_ARGUMENTS.with(&[&self.function])),
        }
    }
}

fn is_negative(cell: Cell<'_>) -> bool {
    match cell {
        Cell::Null => false,
        Cell::Int(value) => value < 0,
        Cell::Double(value) => value < 0.0,
        Cell::Decimal(value) => value.is_negative(),
        Cell::Bytes(text) => text.trim_ascii_start().starts_with(b"-"),
    }
}

/// Whether a function asks which rows are peers.
fn asks_for_peers(call: &WindowCall) -> bool {
    use plan::logical::FrameBound as B;
    let is_of_peers = |bound: &B| match bound {
        B::CurrentRow => !call.frame.counts_rows,
        B::Range { .. } => true,
        B::Unbounded | B::Rows { .. } => false,
    };
    match call.function {
        WindowFunction::Rank
        | WindowFunction::DenseRank
        | WindowFunction::PercentRank
        | WindowFunction::CumeDist => true,
        function => function.has_frame() && (is_of_peers(&call.frame.start) || is_of_peers(&call.frame.end)),
    }
}

impl Operator for Window<'_> {
    fn start(&mut self, _ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        self.has_started = false;
        self.has_ended = false;
        self.partition.reset();
        if let Some(peers) = &mut self.peers {
            peers.reset();
        }
        if let Some((scratch, _)) = &mut self.computed {
            scratch.reset();
        }
        self.at = Position::new();
        self.starts.clear();
        // The first partition begins with the first row.
        self.starts.push_back(0);
        self.waiting.clear();
        self.kept.clear();
        self.peers_reader.reset();
        self.peers_found = 0;
        self.peers_settled = 0;
        self.results.iter_mut().for_each(Column::clear);
        self.pieces = None;
        self.steps = 0;
        self.has_spilled = false;
        self.frames.iter_mut().for_each(MovingFrame::reset);
        self.functions.iter_mut().for_each(Function::reset);
        Ok(())
    }

    fn next(&mut self, ctx: &mut ExecContext<'_>, out: &mut Batch) -> SqlResult<bool> {
        if !std::mem::replace(&mut self.has_started, true) {
            self.begin(ctx)?;
        }
        let limit = ctx.limits.temporary_bytes.min(LIMIT_BYTES_MAX);
        loop {
            if let Some(wanted) = self.first_count() {
                let mut done = self.results.first().map_or(0, Column::len);
                while done < wanted && self.compute(ctx)? {
                    done += 1;
                    let is_large = done.is_multiple_of(16) && {
                        let bytes: usize = self.results.iter().map(Column::byte_count).sum();
                        bytes > BATCH_BYTES_TARGET.min(limit)
                    };
                    if is_large {
                        self.give(out, ctx)?;
                        return Ok(true);
                    }
                }
                if done == wanted {
                    self.give(out, ctx)?;
                    return Ok(true);
                }
                self.drop_passed();
            }
            if !self.read(ctx)? {
                return Ok(false);
            }
        }
    }
}
