//! Aggregates over frames that move: what enters is added, what leaves is taken away.
//!
//! Sums and averages of integers and DECIMAL, COUNT and the bit aggregates take a value away by what it had added; MIN and MAX keep the values
//! that may still become the least. What cannot be taken away exactly (DOUBLE, variance) or depends on the order of rows is computed
//! again of the values in the frame, from its first row to its last, as MySQL does.

use std::collections::VecDeque;

use plan::logical::AggregateFunction;
use plan::physical::Aggregate;
use types::json::Json;
use types::{Batch, Cell, Column, Decimal, Physical};

use crate::context::ExecContext;
use crate::error::{coded, internal};
use crate::expr::SqlResult;
use crate::run::aggregate::values::{
    OwnedCell, Variance, add_decimal, add_to_variance, check_packet, combine_bytes, compare, emit_sum,
    give_variance, number, push_json,
};

/// Fewest bytes a JSON value has in the result.
const JSON_TEXT_BYTES_MIN: usize = 3;

/// A value in the frame, with its row.
struct Candidate {
    row: u64,
    value: OwnedCell,
}

/// What is known of the rows in the frame.
enum Known {
    /// COUNT: values that are not NULL.
    Count(i64),
    Integers(i128, u64),
    Decimals(Decimal, u64),
    /// Bits: how many values have each, and how many values there are.
    Bits(Box<[u64; 64]>, u64),
    /// MIN and MAX: each may become the result when those before it have left.
    Extreme(VecDeque<Candidate>),
    /// DOUBLE: the sum of the values so far; those of the frame if it slides.
    Doubles(f64, u64, VecDeque<Option<f64>>),
    Variance(Variance, VecDeque<Option<f64>>),
    ByteBits(VecDeque<Option<Vec<u8>>>),
    JsonArray(VecDeque<Json>),
    JsonObject(VecDeque<(Vec<u8>, Json)>),
}

/// An aggregate over the rows of a frame.
pub(super) struct Accumulator {
    known: Known,
    /// The first row may leave.
    slides: bool,
    /// Something has left since the result was computed.
    is_stale: bool,
}

impl Accumulator {
    pub(super) fn new(call: &Aggregate, slides: bool) -> Accumulator {
        use AggregateFunction as A;
        let known = match call.function {
            A::Sum | A::Avg => match call.args[0].data_type.physical() {
                Physical::Int => Known::Integers(0, 0),
                Physical::Decimal => Known::Decimals(Decimal::ZERO, 0),
                _ => Known::Doubles(0.0, 0, VecDeque::new()),
            },
            A::Min | A::Max | A::AnyValue => Known::Extreme(VecDeque::new()),
            A::BitAnd | A::BitOr | A::BitXor if call.data_type.is_string() => {
                Known::ByteBits(VecDeque::new())
            }
            A::BitAnd | A::BitOr | A::BitXor => Known::Bits(Box::new([0; 64]), 0),
            A::StdPop | A::StdSamp | A::VarPop | A::VarSamp => {
                Known::Variance((0, 0.0, 0.0), VecDeque::new())
            }
            A::JsonArrayAgg => Known::JsonArray(VecDeque::new()),
            A::JsonObjectAgg => Known::JsonObject(VecDeque::new()),
            A::Count | A::CountStar | A::GroupConcat | A::Grouping => Known::Count(0),
        };
        Accumulator { known, slides, is_stale: false }
    }

    /// Whether rows that leave are read again.
    pub(super) fn reads_back(&self) -> bool {
        matches!(self.known, Known::Count(_) | Known::Integers(..) | Known::Decimals(..) | Known::Bits(..))
    }

    /// No rows.
    pub(super) fn clear(&mut self) {
        self.is_stale = false;
        match &mut self.known {
            Known::Count(count) => *count = 0,
            Known::Integers(sum, count) => (*sum, *count) = (0, 0),
            Known::Decimals(sum, count) => (*sum, *count) = (Decimal::ZERO, 0),
            Known::Bits(bits, count) => {
                **bits = [0; 64];
                *count = 0;
            }
            Known::Extreme(values) => values.clear(),
            Known::Doubles(sum, count, values) => {
                (*sum, *count) = (0.0, 0);
                values.clear();
            }
            Known::Variance(state, values) => {
                *state = (0, 0.0, 0.0);
                values.clear();
            }
            Known::ByteBits(values) => values.clear(),
            Known::JsonArray(values) => values.clear(),
            Known::JsonObject(members) => members.clear(),
        }
    }

    /// A row enters: `place` of `batch`, whose arguments begin at column `first`.
    #[inline]
    pub(super) fn add(
        &mut self,
        call: &Aggregate,
        row: u64,
        (batch, place, first): (&Batch, usize, usize),
    ) -> SqlResult<()> {
        let column = &batch.columns[first];
        match &mut self.known {
            Known::Count(count) => *count += i64::from(!column.is_null(place)),
            Known::Integers(sum, count) => {
                if !column.is_null(place) {
                    *sum += wide(column.ints()[place], call);
                    *count += 1;
                }
            }
            Known::Decimals(sum, count) => {
                if !column.is_null(place) {
                    let mut state = (*sum, *count);
                    add_decimal(&mut state, &column.decimals()[place]);
                    (*sum, *count) = state;
                }
            }
            Known::Bits(bits, count) => {
                if !column.is_null(place) {
                    each_bit(bits_of(column, place, call), |bit| bits[bit] += 1);
                    *count += 1;
                }
            }
            Known::Extreme(values) => {
                if !column.is_null(place) {
                    Self::add_candidate(values, call, row, column.cell(place), self.slides);
                }
            }
            Known::Doubles(sum, count, values) => {
                let value = (!column.is_null(place)).then(|| number(column, place, &call.args[0].data_type));
                if let Some(value) = value {
                    *sum += value;
                    *count += 1;
                }
                if self.slides {
                    values.push_back(value);
                }
            }
            Known::Variance(state, values) => {
                let value = (!column.is_null(place)).then(|| number(column, place, &call.args[0].data_type));
                if let Some(value) = value {
                    add_to_variance(state, value);
                }
                if self.slides {
                    values.push_back(value);
                }
            }
            Known::ByteBits(values) => {
                let value = match column.cell(place) {
                    Cell::Bytes(bytes) => Some(bytes.to_vec()),
                    _ => None,
                };
                if self.slides || values.is_empty() {
                    values.push_back(value);
                } else if let Some(value) = value {
                    match values.front_mut() {
                        Some(Some(held)) => combine_bytes(call.function, held, &value)?,
                        Some(held) => *held = Some(value),
                        None => {}
                    }
                }
            }
            Known::JsonArray(values) => {
                values.push_back(types::convert::json_value(column.cell(place), &call.args[0].data_type));
            }
            Known::JsonObject(members) => {
                if column.is_null(place) {
                    return Err(coded(3158, "JSON documents may not contain NULL member names."));
                }
                let mut name = Vec::new();
                types::convert::write_text(column.cell(place), &call.args[0].data_type, &mut name);
                let value = batch.columns[first + 1].cell(place);
                members.push_back((name, types::convert::json_value(value, &call.args[1].data_type)));
            }
        }
        Ok(())
    }

    fn add_candidate(
        values: &mut VecDeque<Candidate>,
        call: &Aggregate,
        row: u64,
        cell: Cell<'_>,
        slides: bool,
    ) {
        let data_type = &call.args[0].data_type;
        // Of equal values the first is given, as long as it is there.
        let is_beaten = |value: &OwnedCell| {
            let order = compare(cell, value.cell(), data_type);
            if call.function == AggregateFunction::Min { order.is_lt() } else { order.is_gt() }
        };
        if !slides {
            match values.front_mut() {
                Some(best) if is_beaten(&best.value) => best.value.set(cell),
                Some(_) => {}
                None => values.push_back(Candidate { row, value: OwnedCell::of(cell) }),
            }
            return;
        }
        while values.back().is_some_and(|last| is_beaten(&last.value)) {
            values.pop_back();
        }
        values.push_back(Candidate { row, value: OwnedCell::of(cell) });
    }

    /// The first row leaves. `batch`: the row, if [`Accumulator::reads_back`].
    #[inline]
    pub(super) fn remove(
        &mut self,
        call: &Aggregate,
        row: u64,
        back: Option<(&Batch, usize, usize)>,
    ) -> SqlResult<()> {
        match &mut self.known {
            Known::Extreme(values) => {
                while values.front().is_some_and(|first| first.row <= row) {
                    values.pop_front();
                }
                return Ok(());
            }
            Known::Doubles(_, _, values) => {
                self.is_stale |= values.pop_front().is_some_and(|value| value.is_some());
                return Ok(());
            }
            Known::Variance(_, values) => {
                self.is_stale |= values.pop_front().is_some_and(|value| value.is_some());
                return Ok(());
            }
            Known::ByteBits(values) => {
                values.pop_front();
                return Ok(());
            }
            Known::JsonArray(values) => {
                values.pop_front();
                return Ok(());
            }
            Known::JsonObject(members) => {
                members.pop_front();
                return Ok(());
            }
            Known::Count(_) | Known::Integers(..) | Known::Decimals(..) | Known::Bits(..) => {}
        }
        let Some((batch, place, first)) = back else { return Err(internal("a row that leaves a frame")) };
        let column = &batch.columns[first];
        if column.is_null(place) {
            return Ok(());
        }
        match &mut self.known {
            Known::Count(count) => *count -= 1,
            Known::Integers(sum, count) => {
                *sum -= wide(column.ints()[place], call);
                *count -= 1;
            }
            Known::Decimals(sum, count) => {
                if let Some(less) = sum.sub(&column.decimals()[place]) {
                    *sum = less;
                }
                *count -= 1;
            }
            Known::Bits(bits, count) => {
                each_bit(bits_of(column, place, call), |bit| bits[bit] -= 1);
                *count -= 1;
            }
            _ => {}
        }
        Ok(())
    }

    /// Values that giving the result goes through.
    pub(super) fn steps(&self) -> usize {
        match &self.known {
            Known::Doubles(_, _, values) | Known::Variance(_, values) if self.is_stale => values.len(),
            Known::ByteBits(values) => values.len(),
            Known::JsonArray(values) => values.len(),
            Known::JsonObject(members) => members.len(),
            _ => 1,
        }
    }

    /// Appends the result.
    pub(super) fn give(
        &mut self,
        call: &Aggregate,
        out: &mut Column,
        ctx: &ExecContext<'_>,
    ) -> SqlResult<()> {
        use AggregateFunction as A;
        match &mut self.known {
            Known::Count(count) => out.push_int(*count),
            Known::Integers(sum, count) => emit_sum(call, Decimal::from_i128(*sum), *count, out),
            Known::Decimals(sum, count) => emit_sum(call, *sum, *count, out),
            Known::Bits(bits, count) => {
                let mut value = 0u64;
                for (bit, having) in bits.iter().enumerate() {
                    let is_set = match call.function {
                        A::BitAnd => having == count,
                        A::BitOr => *having > 0,
                        _ => having % 2 == 1,
                    };
                    value |= u64::from(is_set) << bit;
                }
                out.push_int(value.cast_signed());
            }
            Known::Extreme(values) => match values.front() {
                Some(best) => out.push_cell(best.value.cell()),
                None => out.push_null(),
            },
            Known::Doubles(sum, count, values) => {
                if std::mem::take(&mut self.is_stale) {
                    (*sum, *count) = (0.0, 0);
                    for value in values.iter().flatten() {
                        *sum += value;
                        *count += 1;
                    }
                }
                match *count {
                    0 => out.push_null(),
                    count if call.function == A::Avg => out.push_double(*sum / count as f64),
                    _ => out.push_double(*sum),
                }
            }
            Known::Variance(state, values) => {
                if std::mem::take(&mut self.is_stale) {
                    *state = (0, 0.0, 0.0);
                    values.iter().flatten().for_each(|value| add_to_variance(state, *value));
                }
                give_variance(call.function, *state, out);
            }
            Known::ByteBits(values) => {
                let mut all: Option<Vec<u8>> = None;
                for value in values.iter().flatten() {
                    match &mut all {
                        None => all = Some(value.clone()),
                        Some(held) => combine_bytes(call.function, held, value)?,
                    }
                }
                match all {
                    Some(bytes) => out.push_bytes(&bytes),
                    None => {
                        let neutral = if call.function == A::BitAnd { 0xFF } else { 0 };
                        out.push_bytes(&vec![neutral; call.args[0].data_type.length as usize]);
                    }
                }
            }
            Known::JsonArray(values) if values.is_empty() => out.push_null(),
            Known::JsonArray(values) => {
                check_packet(values.len() * JSON_TEXT_BYTES_MIN, "json_arrayagg", ctx)?;
                push_json(&Json::Array(values.iter().cloned().collect()), out);
                let bytes = out.bytes().get(out.len() - 1).len();
                check_packet(bytes, "json_arrayagg", ctx)?;
            }
            Known::JsonObject(members) if members.is_empty() => out.push_null(),
            Known::JsonObject(members) => {
                push_json(&Json::object(members.iter().cloned().collect()), out);
                let bytes = out.bytes().get(out.len() - 1).len();
                check_packet(bytes, "json_objectagg", ctx)?;
            }
        }
        Ok(())
    }
}

#[inline]
fn wide(value: i64, call: &Aggregate) -> i128 {
    if call.args[0].data_type.unsigned { i128::from(value.cast_unsigned()) } else { i128::from(value) }
}

fn bits_of(column: &Column, place: usize, call: &Aggregate) -> u64 {
    match column.cell(place) {
        Cell::Int(value) => value.cast_unsigned(),
        _ => number(column, place, &call.args[0].data_type) as u64,
    }
}

fn each_bit(mut bits: u64, mut visit: impl FnMut(usize)) {
    while bits != 0 {
        visit(bits.trailing_zeros() as usize);
        bits &= bits - 1;
    }
}
