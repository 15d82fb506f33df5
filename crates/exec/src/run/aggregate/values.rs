//! What aggregates of groups and of frames have in common: stored values, sums, comparisons.

use plan::logical::AggregateFunction;
use plan::physical::Aggregate;
use types::json::Json;
use types::{Cell, Column, DataType, Decimal, Physical, TypeKind};

use crate::context::ExecContext;
use crate::expr::SqlResult;

/// A cell that owns its value.
#[derive(Clone, Debug, Default)]
pub(in crate::run) enum OwnedCell {
    #[default]
    Nothing,
    Null,
    Int(i64),
    Double(f64),
    Decimal(Decimal),
    Bytes(Vec<u8>),
}

impl OwnedCell {
    pub(in crate::run) fn of(cell: Cell<'_>) -> OwnedCell {
        let mut owned = OwnedCell::Nothing;
        owned.set(cell);
        owned
    }

    /// Keeps this value.
    pub(in crate::run) fn set(&mut self, cell: Cell<'_>) {
        match (self, cell) {
            (OwnedCell::Bytes(bytes), Cell::Bytes(new)) => {
                bytes.clear();
                bytes.extend_from_slice(new);
            }
            (owned, cell) => {
                *owned = match cell {
                    Cell::Null => OwnedCell::Null,
                    Cell::Int(value) => OwnedCell::Int(value),
                    Cell::Double(value) => OwnedCell::Double(value),
                    Cell::Decimal(value) => OwnedCell::Decimal(*value),
                    Cell::Bytes(value) => OwnedCell::Bytes(value.to_vec()),
                };
            }
        }
    }

    /// The value.
    pub(in crate::run) fn cell(&self) -> Cell<'_> {
        match self {
            OwnedCell::Nothing | OwnedCell::Null => Cell::Null,
            OwnedCell::Int(value) => Cell::Int(*value),
            OwnedCell::Double(value) => Cell::Double(*value),
            OwnedCell::Decimal(value) => Cell::Decimal(value),
            OwnedCell::Bytes(value) => Cell::Bytes(value),
        }
    }
}

/// 1301: a JSON aggregate would not fit into a packet.
pub(in crate::run) fn check_packet(bytes: usize, name: &str, ctx: &ExecContext<'_>) -> SqlResult<()> {
    let packet = ctx.eval.settings.max_allowed_packet;
    if bytes <= packet {
        return Ok(());
    }
    Err(service::error::ER_WARN_ALLOWED_PACKET_OVERFLOWED.with(&[&name, &packet]))
}

/// Appends a document.
pub(in crate::run) fn push_json(value: &Json, out: &mut Column) {
    let mut document = Vec::new();
    value.encode(&mut document);
    out.push_bytes(&document);
}

/// Adds a value to a sum and counts it.
#[inline]
pub(in crate::run) fn add_decimal((sum, count): &mut (Decimal, u64), value: &Decimal) {
    if *count == 0 && sum.is_zero() {
        // Its scale is that of the values from here on.
        *sum = *value;
    } else if sum.accumulate(value).is_none() {
        *sum = Decimal::limit(65, value.scale(), sum.is_negative());
    }
    *count += 1;
}

/// Appends SUM or AVG.
pub(in crate::run) fn emit_sum(call: &Aggregate, sum: Decimal, count: u64, out: &mut Column) {
    if count == 0 {
        out.push_null();
        return;
    }
    let value = if call.function == AggregateFunction::Avg {
        let scale = call.args[0].data_type.scale;
        let scale = if call.args[0].data_type.kind == TypeKind::Decimal { scale } else { 0 };
        let increment = call.data_type.scale.saturating_sub(scale);
        sum.div(&Decimal::from_u64(count), increment).unwrap_or(Decimal::ZERO)
    } else {
        sum
    };
    match call.data_type.physical() {
        Physical::Double => out.push_double(value.to_f64()),
        Physical::Int => out.push_int(value.to_i64().unwrap_or_else(|clipped| clipped.0)),
        _ => out.push_decimal(value.round(call.data_type.scale)),
    }
}

/// A value as a double.
pub(in crate::run) fn number(column: &Column, row: usize, data_type: &DataType) -> f64 {
    match column.cell(row) {
        Cell::Null => 0.0,
        Cell::Int(value) if data_type.unsigned => value as u64 as f64,
        Cell::Int(value) => value as f64,
        Cell::Double(value) => value,
        Cell::Decimal(value) => value.to_f64(),
        Cell::Bytes(text) => types::number::parse_double(&data_type.collation.charset().readable(text)).value,
    }
}

/// Compares two values of a type, neither of which is NULL.
pub(in crate::run) fn compare(a: Cell<'_>, b: Cell<'_>, data_type: &DataType) -> std::cmp::Ordering {
    match (a, b) {
        (Cell::Int(a), Cell::Int(b)) if data_type.unsigned => (a as u64).cmp(&(b as u64)),
        (Cell::Int(a), Cell::Int(b)) => a.cmp(&b),
        // -0.0 equals 0.0: the first of them stays.
        (Cell::Double(a), Cell::Double(b)) => a.partial_cmp(&b).unwrap_or_else(|| a.total_cmp(&b)),
        (Cell::Decimal(a), Cell::Decimal(b)) => a.cmp(b),
        (Cell::Bytes(a), Cell::Bytes(b)) if data_type.kind == TypeKind::Json => types::json::compare(a, b),
        (Cell::Bytes(a), Cell::Bytes(b)) => data_type.collation.compare(a, b),
        _ => std::cmp::Ordering::Equal,
    }
}

/// Whether two values are of one group.
#[inline]
pub(in crate::run) fn is_same(group: Cell<'_>, value: Cell<'_>, data_type: &DataType) -> bool {
    match (group, value) {
        (Cell::Null, Cell::Null) => true,
        (Cell::Int(group), Cell::Int(value)) => group == value,
        (Cell::Double(group), Cell::Double(value)) => group == value,
        (Cell::Decimal(group), Cell::Decimal(value)) => group == value,
        (Cell::Bytes(group), Cell::Bytes(value)) => {
            group == value
                || data_type.kind != TypeKind::Json && data_type.collation.compare(group, value).is_eq()
        }
        _ => false,
    }
}

/// Count, mean, sum of squared distances (Welford).
pub(in crate::run) type Variance = (u64, f64, f64);

/// Adds a value.
#[inline]
pub(in crate::run) fn add_to_variance((count, mean, squares): &mut Variance, value: f64) {
    *count += 1;
    let distance = value - *mean;
    *mean += distance / *count as f64;
    *squares += distance * (value - *mean);
}

/// Appends VAR_POP or its like.
pub(in crate::run) fn give_variance(
    function: AggregateFunction,
    (count, _, squares): Variance,
    out: &mut Column,
) {
    use AggregateFunction as A;
    let divisor = match function {
        A::StdSamp | A::VarSamp => count.saturating_sub(1),
        _ => count,
    };
    if divisor == 0 {
        out.push_null();
        return;
    }
    let variance = squares / divisor as f64;
    let root = matches!(function, A::StdPop | A::StdSamp);
    out.push_double(if root { variance.sqrt() } else { variance });
}

/// Combines byte strings bit by bit.
///
/// # Errors
/// 3513 if their lengths differ.
pub(in crate::run) fn combine_bytes(
    function: AggregateFunction,
    held: &mut [u8],
    bytes: &[u8],
) -> SqlResult<()> {
    if held.len() != bytes.len() {
        return Err(service::error::ER_INVALID_BITWISE_OPERANDS_SIZE.with(&[&"bit aggregate"]));
    }
    for (held, byte) in held.iter_mut().zip(bytes) {
        match function {
            AggregateFunction::BitAnd => *held &= byte,
            AggregateFunction::BitOr => *held |= byte,
            _ => *held ^= byte,
        }
    }
    Ok(())
}
