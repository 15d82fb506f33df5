//! Mathematical functions, GREATEST, LEAST.

use super::super::compile::{Class, ScalarKernel};
use super::super::context::SqlResult;
use super::super::convert;
use super::super::program::{Kernel, Row};
use crate::error::internal;
use plan::expr::{CallOption, Expr};
use plan::function::FunctionId;
use service::error::ER_DATA_OUT_OF_RANGE;
use std::cmp::Ordering;
use types::temporal::DateTime;
use types::{Cell, Column, DataType, Decimal, Physical, TypeKind};

pub(super) fn scalar_kernel(function: FunctionId, args: &[Expr], result: &DataType) -> Option<ScalarKernel> {
    use Class::{Any, Double, Int, Text};
    use FunctionId as F;
    let plain = |kernel: Kernel, classes: &'static [Class]| {
        Some(ScalarKernel { kernel, classes, null_propagates: true })
    };
    let class = args.first().map_or(Double, |arg| match arg.data_type.kind {
        TypeKind::Decimal => Class::Decimal,
        TypeKind::Time | TypeKind::DateTime | TypeKind::Timestamp if arg.data_type.scale > 0 => {
            Class::Decimal
        }
        TypeKind::Date | TypeKind::Time | TypeKind::DateTime | TypeKind::Timestamp => Int,
        _ if arg.data_type.is_integer() || arg.data_type.is_hex_literal() => Int,
        _ => Double,
    });
    match function {
        F::Neg => match (class, result.physical()) {
            (Int, Physical::Int) => plain(neg_int, &[Int]),
            (_, Physical::Decimal) => plain(
                |r| {
                    let value = r.decimal(0).neg();
                    put_decimal(r, value)
                },
                &[Class::Decimal],
            ),
            _ => plain(|r| put_double(r, -r.double(0)), &[Double]),
        },
        F::BitNot if !result.is_string() => plain(|r| r.put_int(!r.int(0)), &[Int]),
        F::Abs => match class {
            Int => plain(abs_int, &[Int]),
            Class::Decimal => plain(
                |r| {
                    let value = r.decimal(0).abs();
                    put_decimal(r, value)
                },
                &[Class::Decimal],
            ),
            _ => plain(|r| put_double(r, r.double(0).abs()), &[Double]),
        },
        F::Sign => match class {
            Int => plain(
                |r| {
                    let sign = r.wide(0).signum() as i64;
                    r.put_int(sign)
                },
                &[Int],
            ),
            Class::Decimal => plain(
                |r| {
                    let value = r.decimal(0);
                    r.put_int(if value.is_zero() {
                        0
                    } else if value.is_negative() {
                        -1
                    } else {
                        1
                    })
                },
                &[Class::Decimal],
            ),
            _ => plain(
                |r| {
                    let value = r.double(0);
                    r.put_int(if value > 0.0 {
                        1
                    } else if value < 0.0 {
                        -1
                    } else {
                        0
                    })
                },
                &[Double],
            ),
        },
        F::Ceil | F::Floor => match (class, result.physical()) {
            (Int, _) => plain(|r| r.put_int(r.int(0)), &[Int]),
            (Class::Decimal, Physical::Int) => plain(whole_int, &[Class::Decimal]),
            (Class::Decimal, _) => plain(whole_decimal, &[Class::Decimal]),
            _ => plain(
                |r| {
                    let value = r.double(0);
                    put_double(r, if r.call.name == "floor" { value.floor() } else { value.ceil() })
                },
                &[Double],
            ),
        },
        F::Round | F::Truncate => match class {
            Int => plain(round_int, &[Int, Int]),
            Class::Decimal => plain(round_decimal, &[Class::Decimal, Int]),
            _ => plain(
                |r| {
                    let digits = if r.count() > 1 { r.wide(1).clamp(-400, 400) as i64 } else { 0 };
                    let value = round_at(r.double(0), digits, r.call.name == "truncate");
                    put_double(r, value)
                },
                &[Double, Int],
            ),
        },
        F::Acos => plain(|r| domain(r, |x| (x.abs() <= 1.0).then(|| x.acos())), &[Double]),
        F::Asin => plain(|r| domain(r, |x| (x.abs() <= 1.0).then(|| x.asin())), &[Double]),
        F::Atan if args.len() == 1 => plain(|r| put_double(r, r.double(0).atan()), &[Double]),
        F::Atan | F::Atan2 => plain(|r| put_double(r, r.double(0).atan2(r.double(1))), &[Double]),
        F::Cos => plain(|r| put_double(r, r.double(0).cos()), &[Double]),
        F::Sin => plain(|r| put_double(r, r.double(0).sin()), &[Double]),
        F::Tan => plain(|r| put_double(r, r.double(0).tan()), &[Double]),
        F::Cot => plain(
            |r| {
                let tangent = r.double(0).tan();
                if tangent == 0.0 {
                    let shown = format!("cot({})", r.double(0));
                    return Err(ER_DATA_OUT_OF_RANGE.with(&[&"DOUBLE", &shown]));
                }
                put_double(r, 1.0 / tangent)
            },
            &[Double],
        ),
        F::Degrees => plain(|r| put_double(r, r.double(0).to_degrees() + 0.0), &[Double]),
        F::Radians => plain(|r| put_double(r, r.double(0).to_radians() + 0.0), &[Double]),
        F::Exp => plain(|r| put_double(r, r.double(0).exp()), &[Double]),
        F::Ln => plain(|r| logarithm(r, f64::ln), &[Double]),
        F::Log if args.len() == 1 => plain(|r| logarithm(r, f64::ln), &[Double]),
        F::Log => Some(ScalarKernel { kernel: log_base, classes: &[Double], null_propagates: false }),
        F::Log2 => plain(|r| logarithm(r, f64::log2), &[Double]),
        F::Log10 => plain(|r| logarithm(r, f64::log10), &[Double]),
        F::Pi => plain(|r| put_double(r, std::f64::consts::PI), &[]),
        F::Pow => plain(|r| put_double(r, r.double(0).powf(r.double(1))), &[Double]),
        F::Sqrt => plain(|r| domain(r, |x| (x >= 0.0).then(|| x.sqrt())), &[Double]),
        F::Crc32 => plain(
            |r| {
                let value = crc32(r.bytes(0));
                r.put_int(i64::from(value))
            },
            &[Text],
        ),
        F::Rand => Some(ScalarKernel { kernel: rand, classes: &[Int], null_propagates: false }),
        F::Greatest | F::Least => {
            let is_of_dates = result.is_string() && args.iter().any(|arg| arg.data_type.has_date());
            match result.kind {
                _ if is_of_dates => plain(extreme_date, &[Any]),
                // Nothing is cut or filled up.
                _ if result.is_binary_string() => plain(extreme, &[Class::Bytes]),
                _ if result.is_string() => plain(extreme, &[Text]),
                _ => plain(extreme, &[Class::Result]),
            }
        }
        F::Benchmark => plain(|r| r.put_int(0), &[Int, Any]),
        _ => None,
    }
}

fn put_double(r: &mut Row<'_, '_>, value: f64) -> SqlResult<()> {
    if !value.is_finite() {
        let mut shown = format!("{}(", r.call.name);
        for i in 0..r.count() {
            if i > 0 {
                shown.push(',');
            }
            let mut text = Vec::new();
            types::convert::write_text(r.args[i].cell(r.row), &DataType::DOUBLE, &mut text);
            shown.push_str(&String::from_utf8_lossy(&text));
        }
        shown.push(')');
        return Err(ER_DATA_OUT_OF_RANGE.with(&[&"DOUBLE", &shown]));
    }
    r.out.push_double(value);
    Ok(())
}

fn put_decimal(r: &mut Row<'_, '_>, value: Decimal) -> SqlResult<()> {
    r.out.push_decimal(value);
    Ok(())
}

#[cold]
fn overflow(r: &Row<'_, '_>, kind: &str) -> Box<service::SqlError> {
    let shown = format!("{}({})", r.call.name.trim(), r.wide(0));
    ER_DATA_OUT_OF_RANGE.with(&[&kind, &shown])
}

fn neg_int(r: &mut Row<'_, '_>) -> SqlResult<()> {
    match i64::try_from(-r.wide(0)) {
        Ok(value) => r.put_int(value),
        Err(_) => Err(ER_DATA_OUT_OF_RANGE.with(&[&"BIGINT", &format!("-({})", r.wide(0))])),
    }
}

fn abs_int(r: &mut Row<'_, '_>) -> SqlResult<()> {
    if r.is_unsigned(0) {
        return r.put_int(r.int(0));
    }
    match r.int(0).checked_abs() {
        Some(value) => r.put_int(value),
        None => Err(overflow(r, "BIGINT")),
    }
}

fn whole(r: &Row<'_, '_>) -> Decimal {
    if r.call.name == "floor" { r.decimal(0).floor() } else { r.decimal(0).ceil() }
}

fn whole_int(r: &mut Row<'_, '_>) -> SqlResult<()> {
    match whole(r).to_i64() {
        Ok(value) => r.put_int(value),
        Err(clipped) => r.put_int(clipped.0),
    }
}

fn whole_decimal(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let value = whole(r);
    put_decimal(r, value)
}

fn round_int(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let digits = if r.count() > 1 { r.wide(1) } else { 0 };
    let value = r.wide(0);
    if digits >= 0 {
        return r.put_int(r.int(0));
    }
    if digits < -19 {
        return r.put_int(0);
    }
    let power = 10i128.pow(-digits as u32);
    let half = if r.call.name == "truncate" { 0 } else { power / 2 * value.signum() };
    let rounded = (value + half) / power * power;
    let fits = if r.call.result.unsigned {
        u64::try_from(rounded).ok().map(|value| value as i64)
    } else {
        i64::try_from(rounded).ok()
    };
    match fits {
        Some(value) => r.put_int(value),
        None => Err(overflow(r, "BIGINT")),
    }
}

fn round_decimal(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let digits = if r.count() > 1 { r.wide(1) } else { 0 };
    let value = r.decimal(0);
    let cut = r.call.name == "truncate";
    let scale = r.call.result.scale;
    let rounded = if digits >= 0 {
        let wanted = u8::try_from(digits).unwrap_or(u8::MAX).min(value.scale());
        if cut { value.truncate(wanted) } else { value.round(wanted) }
    } else {
        let places = u32::try_from(-digits).unwrap_or(u32::MAX).min(80);
        match value.round_integer(places, cut) {
            Some(value) => value,
            None => return Err(ER_DATA_OUT_OF_RANGE.with(&[&"DECIMAL", &r.call.name])),
        }
    };
    put_decimal(r, rounded.round(scale))
}

/// A double rounded half away from zero (as far as doubles can tell) or cut at a digit.
pub(super) fn round_at(value: f64, digits: i64, cut: bool) -> f64 {
    let power = 10f64.powi(digits.unsigned_abs().min(308) as i32);
    if digits.unsigned_abs() > 308 {
        return if digits < 0 { 0.0 } else { value };
    }
    let scaled = if digits < 0 { value / power } else { value * power };
    if !scaled.is_finite() {
        return value;
    }
    let whole = if cut { scaled.trunc() } else { scaled.round_ties_even() };
    if digits < 0 { whole * power } else { whole / power }
}

fn domain(r: &mut Row<'_, '_>, f: impl FnOnce(f64) -> Option<f64>) -> SqlResult<()> {
    match f(r.double(0)) {
        Some(value) => put_double(r, value),
        None => r.null(),
    }
}

fn logarithm(r: &mut Row<'_, '_>, f: fn(f64) -> f64) -> SqlResult<()> {
    let value = r.double(0);
    if value <= 0.0 {
        r.ctx.warn_or_fail(service::error::ER_INVALID_ARGUMENT_FOR_LOGARITHM, &[])?;
        return r.null();
    }
    put_double(r, f(value))
}

/// A base of zero or less is one that there is no logarithm of, also where the number is NULL.
fn log_base(r: &mut Row<'_, '_>) -> SqlResult<()> {
    if r.is_null(0) || r.is_null(1) && r.double(0) > 0.0 {
        return r.null();
    }
    let base = r.double(0);
    if base <= 0.0 || base == 1.0 || r.double(1) <= 0.0 {
        r.ctx.warn_or_fail(service::error::ER_INVALID_ARGUMENT_FOR_LOGARITHM, &[])?;
        return r.null();
    }
    put_double(r, r.double(1).ln() / base.ln())
}

/// CRC-32 of ISO 3309, as zlib computes it.
pub(super) fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// RAND(seed): the generator the manual's examples show, kept per call. Two 30-bit registers.
struct Seeded {
    first: u32,
    second: u32,
    seed: i64,
}

const RAND_MODULUS: u64 = 0x3fff_ffff;

impl Seeded {
    fn new(seed: i64) -> Seeded {
        let bits = seed as u32;
        let first = u64::from(bits.wrapping_mul(0x1_0001).wrapping_add(55_555_555)) % RAND_MODULUS;
        let second = u64::from(bits.wrapping_mul(0x1000_0001)) % RAND_MODULUS;
        Seeded { first: first as u32, second: second as u32, seed }
    }

    fn next(&mut self) -> f64 {
        let first = (u64::from(self.first) * 3 + u64::from(self.second)) % RAND_MODULUS;
        let second = (first + u64::from(self.second) + 33) % RAND_MODULUS;
        (self.first, self.second) = (first as u32, second as u32);
        first as f64 / RAND_MODULUS as f64
    }
}

fn rand(r: &mut Row<'_, '_>) -> SqlResult<()> {
    if r.count() == 0 {
        let value = r.ctx.session.rand();
        r.out.push_double(value);
        return Ok(());
    }
    let seed = if r.is_null(0) { 0 } else { r.int(0) };
    let constant = r.args[0].is_constant();
    let value = match r.state.as_mut().and_then(|state| state.downcast_mut::<Seeded>()) {
        // A constant seed starts one sequence; a column's value starts one for each row.
        Some(seeded) if constant && seeded.seed == seed => seeded.next(),
        _ => {
            let mut seeded = Seeded::new(seed);
            let value = seeded.next();
            *r.state = Some(Box::new(seeded));
            value
        }
    };
    r.out.push_double(value);
    Ok(())
}

/// The number of the greatest or least of `count` arguments: the last of the greatest, the first of the least.
fn extreme_of(count: usize, greatest: bool, compare: impl Fn(usize, usize) -> Ordering) -> usize {
    (1..count).fold(0, |best, i| {
        let order = compare(i, best);
        if if greatest { order.is_ge() } else { order.is_lt() } { i } else { best }
    })
}

fn extreme(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let greatest = r.call.name == "greatest";
    let best = extreme_of(r.count(), greatest, |a, b| compare(r, a, b));
    match r.args[best].cell(r.row) {
        Cell::Decimal(value) => {
            // Where the values keep their own digits, none are added.
            let (from, to) = (&r.call.types[best], &r.call.result);
            let scale = if from.kind == TypeKind::Decimal { from.scale.min(to.scale) } else { to.scale };
            put_decimal(r, value.round(scale))
        }
        cell => {
            r.out.push_cell(cell);
            Ok(())
        }
    }
}

/// What MySQL shows for a value beside dates that is none: the bits of a date all set, later than any.
const NO_DATE: &[u8] = b"16383-15-31";

/// GREATEST and LEAST of dates beside numbers or texts: compared as dates, given as text.
fn extreme_date(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let greatest = r.call.name == "greatest";
    let has_time = r.call.types.iter().any(|of| matches!(of.kind, TypeKind::DateTime | TypeKind::Timestamp));
    let mut best: Option<i64> = None;
    for i in 0..r.count() {
        let (cell, from) = (r.args[i].cell(r.row), &r.call.types[i]);
        let packed = if has_time {
            // What is no date is the zero date.
            convert::datetime_beside(cell, from, r.ctx)?.map_or(0, DateTime::pack)
        } else {
            match convert::date_beside(cell, from, r.ctx)? {
                Some(date) => date.date_part().pack(),
                None if from.kind == TypeKind::Json => 0,
                None => i64::MAX,
            }
        };
        if best.is_none_or(|best| if greatest { packed > best } else { packed < best }) {
            best = Some(packed);
        }
    }
    match best {
        Some(0) | None if has_time => extreme_text(r, greatest),
        Some(i64::MAX) | None => put_ascii(r, NO_DATE),
        Some(packed) => {
            let value = DateTime::unpack(packed);
            let CallOption::Number(digits) = r.call.option else {
                return Err(internal("an extreme without its fraction digits"));
            };
            let digits = digits as u8;
            let mut text = Vec::new();
            if has_time {
                value.write_datetime(digits, &mut text);
            } else {
                value.write_date(&mut text);
            }
            put_ascii(r, &text)
        }
    }
}

/// Gives an ASCII text in the result's character set.
fn put_ascii(r: &mut Row<'_, '_>, text: &[u8]) -> SqlResult<()> {
    let text = r.call.result.collation.charset().of_ascii(text);
    r.put_bytes(&text)
}

/// The greatest or least of the arguments as texts.
fn extreme_text(r: &mut Row<'_, '_>, greatest: bool) -> SqlResult<()> {
    let collation = r.call.result.collation;
    let mut texts = Column::new(Physical::Bytes);
    for i in 0..r.count() {
        convert::push_text(r.args[i].cell(r.row), &r.call.types[i], collation, &mut texts);
    }
    let texts = texts.bytes();
    let best = extreme_of(r.count(), greatest, |a, b| collation.compare(texts.get(a), texts.get(b)));
    r.put_bytes(texts.get(best))
}

fn compare(r: &Row<'_, '_>, a: usize, b: usize) -> Ordering {
    match r.call.result.physical() {
        Physical::Int if r.call.result.unsigned => (r.int(a) as u64).cmp(&(r.int(b) as u64)),
        Physical::Int => r.int(a).cmp(&r.int(b)),
        Physical::Double => r.double(a).partial_cmp(&r.double(b)).unwrap_or(Ordering::Equal),
        Physical::Decimal => r.decimal(a).cmp(&r.decimal(b)),
        Physical::Bytes if r.call.result.kind == TypeKind::Json => {
            types::json::compare(r.bytes(a), r.bytes(b))
        }
        Physical::Bytes => r.call.result.collation.compare(r.bytes(a), r.bytes(b)),
    }
}
