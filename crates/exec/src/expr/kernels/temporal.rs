//! Date and time functions.

use super::super::compile::{Class, ScalarKernel};
use super::super::context::SqlResult;
use super::super::convert::as_utf8;
use super::super::program::{Kernel, Row};
use plan::expr::{CallOption, Expr};
use plan::function::FunctionId;
use service::error::{
    ER_DATETIME_FUNCTION_OVERFLOW, ER_TEMPORAL_FUNCTION_OVERFLOW, ER_TRUNCATED_WRONG_VALUE,
    ER_WRONG_ARGUMENTS, ER_WRONG_VALUE_FOR_TYPE,
};
use syntax::ast::IntervalUnit;
use types::charset::Charset;
use types::data_type::SCALE_NOT_FIXED;
use types::temporal::calendar::{self, Interval, WeekMode, days_in_month};
use types::temporal::format::date_format;
use types::temporal::parse::{DateMode, datetime_from_number, parse_datetime, parse_time, time_from_number};
use types::temporal::zone::{TimeZone, UNIX_TIME_MICROS_MAX};
use types::temporal::{DateTime, MICROS_PER_DAY, MICROS_PER_SECOND, Time, round_micros, scan};
use types::{Cell, DataType, Decimal, Physical, TypeKind};

pub(super) fn scalar_kernel(
    function: FunctionId,
    args: &[Expr],
    option: &CallOption,
    result: &DataType,
) -> Option<ScalarKernel> {
    use Class::{
        Any, Checked, Date as Da, DateParts as Dp, DateTime as Dt, DateTimeOrZero, Decimal as Dec, Int,
        Time as Tm, Utf8, ZeroDate,
    };
    use FunctionId as F;
    let plain = |kernel: Kernel, classes: &'static [Class]| {
        Some(ScalarKernel { kernel, classes, null_propagates: true })
    };
    let nulls = |kernel: Kernel, classes: &'static [Class]| {
        Some(ScalarKernel { kernel, classes, null_propagates: false })
    };
    match function {
        F::Now => plain(|r| put_now(r, local_now), &[]),
        F::Sysdate => plain(
            |r| {
                put_now(r, |r| {
                    let clock = r.ctx.session.clock_utc_micros();
                    r.ctx.settings.time_zone.from_utc(clock)
                })
            },
            &[],
        ),
        F::UtcTimestamp => {
            plain(|r| put_now(r, |r| TimeZone::UTC.from_utc(r.ctx.settings.now_utc_micros)), &[])
        }
        F::Curdate => plain(
            |r| {
                let now = local_now(r);
                r.put_int(now.date_part().pack())
            },
            &[],
        ),
        F::UtcDate => plain(
            |r| {
                let now = TimeZone::UTC.from_utc(r.ctx.settings.now_utc_micros);
                r.put_int(now.date_part().pack())
            },
            &[],
        ),
        F::Curtime | F::UtcTime => plain(
            |r| {
                let now = if r.call.name == "utc_time" {
                    TimeZone::UTC.from_utc(r.ctx.settings.now_utc_micros)
                } else {
                    local_now(r)
                };
                r.put_int(now.truncate(r.call.result.scale).time_part().micros)
            },
            &[],
        ),
        F::Date => plain(
            |r| {
                let value = datetime(r, 0);
                r.put_int(value.date_part().pack())
            },
            &[Checked],
        ),
        F::Time => plain(
            |r| {
                let micros = round_micros(r.int(0), r.call.result.scale);
                r.put_int(micros)
            },
            &[Tm],
        ),
        F::Timestamp => plain(timestamp, &[Checked, Tm]),
        F::Year => plain(|r| r.put_int(i64::from(datetime(r, 0).year)), &[Dp]),
        F::Month => plain(|r| r.put_int(i64::from(datetime(r, 0).month)), &[Dp]),
        F::DayOfMonth => plain(|r| r.put_int(i64::from(datetime(r, 0).day)), &[Dp]),
        F::Quarter => plain(|r| r.put_int(i64::from(datetime(r, 0).month.div_ceil(3))), &[Dp]),
        F::DayOfYear => plain(|r| of_day(r, DateTime::day_of_year), &[Da]),
        F::DayOfWeek => plain(
            |r| of_day(r, |date| i64::from(calendar::weekday_from_sunday(date.day_number())) + 1),
            &[Da],
        ),
        F::Weekday => plain(|r| of_day(r, |date| i64::from(calendar::weekday(date.day_number()))), &[Da]),
        F::WeekOfYear => {
            plain(|r| of_day(r, |date| i64::from(calendar::week(date, WeekMode::new(3)).0)), &[Da])
        }
        F::Week => nulls(
            |r| {
                let mode = match r.count() {
                    1 => r.ctx.settings.default_week_format,
                    _ if r.is_null(1) => return no_mode(r),
                    _ => r.int(1),
                };
                of_day(r, |date| i64::from(calendar::week(date, WeekMode::new(mode)).0))
            },
            &[Da, Int],
        ),
        F::YearWeek => nulls(
            |r| {
                let mode = match r.count() {
                    1 => 0,
                    _ if r.is_null(1) => return no_mode(r),
                    _ => r.int(1),
                };
                of_day(r, |date| {
                    let (week, year) = calendar::week(date, WeekMode::new(mode | 2));
                    i64::from(year) * 100 + i64::from(week)
                })
            },
            &[Da, Int],
        ),
        F::DayName => plain(
            |r| {
                let date = datetime(r, 0);
                if date.has_zero_part() {
                    r.null()
                } else {
                    let weekday = calendar::weekday(date.day_number());
                    put_name(r, r.ctx.settings.locale.locale().weekday(weekday))
                }
            },
            &[Da],
        ),
        F::MonthName => plain(
            |r| match r.ctx.settings.locale.locale().month(datetime(r, 0).month) {
                Some(name) => put_name(r, name),
                None => r.null(),
            },
            &[Da],
        ),
        F::Hour => plain(|r| r.put_int(i64::from(time(r, 0).fields().0)), &[Tm]),
        F::Minute => plain(|r| r.put_int(i64::from(time(r, 0).fields().1)), &[Tm]),
        F::Second => plain(|r| r.put_int(i64::from(time(r, 0).fields().2)), &[Tm]),
        F::Microsecond => plain(|r| r.put_int(i64::from(time(r, 0).fields().3)), &[Tm]),
        F::TimeToSec => plain(
            |r| {
                let micros = r.int(0);
                r.put_int(micros / MICROS_PER_SECOND)
            },
            &[Tm],
        ),
        F::LastDay => plain(
            |r| {
                let date = datetime(r, 0);
                if date.month == 0 {
                    return r.null();
                }
                r.put_int(DateTime::date(date.year, date.month, days_in_month(date.year, date.month)).pack())
            },
            &[Da],
        ),
        F::DateDiff => plain(
            |r| {
                let (a, b) = (datetime(r, 0), datetime(r, 1));
                if a.has_zero_part() || b.has_zero_part() {
                    return r.null();
                }
                r.put_int(a.day_number() - b.day_number())
            },
            &[Da],
        ),
        F::ToDays => plain(|r| of_day(r, DateTime::day_number), &[Da]),
        F::ToSeconds => plain(|r| of_day(r, |date| date.linear_micros() / MICROS_PER_SECOND), &[Dt]),
        F::FromDays => plain(
            |r| {
                let number = r.int(0);
                match calendar::date_of_day(number) {
                    Some(date) => r.put_int(date.pack()),
                    None => overflow(r),
                }
            },
            &[Int],
        ),
        F::MakeDate => plain(make_date, &[Int]),
        F::MakeTime => plain(make_time, &[Int, Int, Dec]),
        F::SecToTime => plain(
            |r| {
                let micros = r.decimal(0).to_units(6).unwrap_or(if r.decimal(0).is_negative() {
                    i128::MIN
                } else {
                    i128::MAX
                });
                let limit = i128::from(Time::MAX.micros);
                if micros.abs() > limit {
                    let shown = r.decimal(0).to_string();
                    r.ctx.warn_or_fail(ER_TRUNCATED_WRONG_VALUE, &[&"time", &shown])?;
                }
                let micros = micros.clamp(-limit, limit) as i64;
                r.put_int(round_micros(micros, r.call.result.scale))
            },
            &[Dec],
        ),
        F::PeriodAdd => plain(period_add, &[Int]),
        F::PeriodDiff => plain(
            |r| {
                let (a, b) = (period_months(r, 0)?, period_months(r, 1)?);
                r.put_int(a - b)
            },
            &[Int],
        ),
        F::DateAdd | F::DateSub => {
            let unit_classes: &'static [Class] = match result.kind {
                TypeKind::Time => &[Tm, Any],
                TypeKind::Char => &[Any, Any],
                _ => &[Dt, Any],
            };
            plain(date_arith, unit_classes)
        }
        F::AddTime | F::SubTime => match result.kind {
            TypeKind::DateTime => plain(add_time_datetime, &[Dt, Tm]),
            TypeKind::Time => plain(add_time_time, &[Tm, Tm]),
            _ => plain(add_time_text, &[Any, Tm]),
        },
        F::Extract => {
            let of = args.first().map(|arg| &arg.data_type);
            let unit = match option {
                CallOption::Unit(unit) => *unit,
                _ => IntervalUnit::Day,
            };
            match of {
                Some(of) if of.kind == TypeKind::Time => plain(extract_time, &[Tm]),
                Some(of) if of.has_date() => plain(extract_datetime, &[Dt]),
                _ if !is_date_unit(unit) => plain(extract_moment, &[Any]),
                Some(of) if of.is_string() => plain(extract_text, &[Utf8]),
                _ => plain(extract_datetime, &[ZeroDate]),
            }
        }
        F::TimestampDiff => plain(timestamp_diff, &[Dt]),
        F::TimeDiff => plain(time_diff, &[Any]),
        F::DateFormat => plain(
            |r| {
                let value = datetime(r, 0);
                formatted(r, value, u32::from(value.hour), 1)
            },
            &[Dt, Class::Text],
        ),
        F::TimeFormat => plain(time_format, &[Any, Class::Text]),
        F::GetFormat => plain(get_format, &[Utf8]),
        F::StrToDate => plain(str_to_date, &[Utf8]),
        F::FromUnixtime => plain(from_unixtime, &[Dec, Class::Text]),
        F::UnixTimestamp => plain(unix_timestamp, &[DateTimeOrZero]),
        F::ConvertTz => plain(convert_tz, &[Dt, Utf8, Utf8]),
        _ => None,
    }
}

fn datetime(r: &Row<'_, '_>, arg: usize) -> DateTime {
    DateTime::unpack(r.int(arg))
}

fn time(r: &Row<'_, '_>, arg: usize) -> Time {
    Time { micros: r.int(arg) }
}

fn local_now(r: &mut Row<'_, '_>) -> DateTime {
    r.ctx.settings.time_zone.from_utc(r.ctx.settings.now_utc_micros)
}

fn put_now(r: &mut Row<'_, '_>, now: impl FnOnce(&mut Row<'_, '_>) -> DateTime) -> SqlResult<()> {
    let now = now(r).truncate(r.call.result.scale);
    r.put_int(now.pack())
}

/// A number of a whole date; NULL if a part of it is zero.
fn of_day(r: &mut Row<'_, '_>, f: impl FnOnce(DateTime) -> i64) -> SqlResult<()> {
    if r.is_null(0) {
        return r.null();
    }
    let date = datetime(r, 0);
    if date.has_zero_part() { r.null() } else { r.put_int(f(date)) }
}

/// The week of a date by a mode that is NULL is 0 in MySQL.
fn no_mode(r: &mut Row<'_, '_>) -> SqlResult<()> {
    of_day(r, |_| 0)
}

fn put_datetime(r: &mut Row<'_, '_>, value: Option<DateTime>) -> SqlResult<()> {
    match value.and_then(|value| value.round(r.call.result.scale)) {
        Some(value) => r.put_int(value.pack()),
        None => overflow(r),
    }
}

#[cold]
fn overflow(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let is_time = r.call.result.kind == TypeKind::Time;
    if let Some(shown) = &r.call.shown {
        let kind = match r.call.result.kind {
            TypeKind::Time => "TIME",
            TypeKind::Date => "DATE",
            _ => "DATETIME",
        };
        r.ctx.warn_or_fail(ER_TEMPORAL_FUNCTION_OVERFLOW, &[&kind, shown])?;
    } else {
        let kind = if is_time { "time" } else { "datetime" };
        r.ctx.warn_or_fail(ER_DATETIME_FUNCTION_OVERFLOW, &[&kind])?;
    }
    r.null()
}

fn timestamp(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let value = datetime(r, 0);
    if r.count() == 1 {
        return put_datetime(r, Some(value));
    }
    if value.has_zero_part() {
        return r.null();
    }
    let sum = DateTime::from_linear_micros(value.linear_micros() + r.int(1));
    put_datetime(r, sum)
}

fn make_date(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let (year, day) = (r.wide(0), r.wide(1));
    if day <= 0 || !(0..=9999).contains(&year) {
        return r.null();
    }
    let year = match year {
        0..=69 => year + 2000,
        70..=99 => year + 1900,
        _ => year,
    };
    let number = i128::from(calendar::day_number(year as u16, 1, 1)) + day - 1;
    match i64::try_from(number).ok().and_then(calendar::date_of_day) {
        Some(date) => r.put_int(date.pack()),
        None => r.null(),
    }
}

fn make_time(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let (hours, minutes) = (r.wide(0), r.wide(1));
    let micros = r.decimal(2).to_units(6).unwrap_or(-1);
    if !(0..60).contains(&minutes) || !(0..60_000_000).contains(&micros) {
        return r.null();
    }
    let negative = hours < 0;
    let total = (hours.abs().min(1000) * 3600 + minutes * 60) * 1_000_000 + micros;
    let limit = i128::from(Time::MAX.micros);
    if total > limit {
        let shown = format!(
            "{}{:02}:{minutes:02}:{:02}",
            if negative { "-" } else { "" },
            hours.abs(),
            micros / 1_000_000
        );
        r.ctx.warn_or_fail(ER_TRUNCATED_WRONG_VALUE, &[&"time", &shown])?;
    }
    let total = total.min(limit) as i64;
    let micros = round_micros(if negative { -total } else { total }, r.call.result.scale);
    r.put_int(micros)
}

fn period_months(r: &Row<'_, '_>, arg: usize) -> SqlResult<i64> {
    let period = r.int(arg);
    let (mut year, month) = (period / 100, period % 100);
    if period < 0 || month == 0 || month > 12 || year > 99_999_999 {
        return Err(ER_WRONG_ARGUMENTS.with(&[&r.call.name]));
    }
    if year < 70 {
        year += 2000;
    } else if year < 100 {
        year += 1900;
    }
    Ok(year * 12 + month - 1)
}

fn period_add(r: &mut Row<'_, '_>) -> SqlResult<()> {
    // MySQL computes without a sign and without a limit.
    let months = (period_months(r, 0)? as u64).wrapping_add(r.int(1) as u64);
    r.put_int((months / 12).wrapping_mul(100).wrapping_add(months % 12 + 1) as i64)
}

fn unit(r: &Row<'_, '_>) -> IntervalUnit {
    match r.call.option {
        CallOption::Unit(unit) => unit,
        _ => IntervalUnit::Day,
    }
}

/// Numbers of an interval text such as `1 10:11:12.5`, in order, and its sign.
fn interval_numbers(text: &[u8]) -> (bool, Vec<i64>, usize) {
    let trimmed = text.trim_ascii_start();
    let negative = trimmed.first() == Some(&b'-');
    let mut numbers = Vec::new();
    let mut last_digits = 0;
    let mut at = 0;
    while at < trimmed.len() {
        let run = trimmed[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if run == 0 {
            at += 1;
            continue;
        }
        let number = trimmed[at..at + run]
            .iter()
            .fold(0i64, |n, &digit| n.saturating_mul(10).saturating_add(i64::from(digit - b'0')));
        numbers.push(number);
        last_digits = run;
        at += run;
    }
    (negative, numbers, last_digits)
}

/// Reads the amount of an interval; `None`: it is no such interval.
fn interval(r: &mut Row<'_, '_>, arg: usize) -> SqlResult<Option<Interval>> {
    use IntervalUnit as U;
    let unit = unit(r);
    let data_type = &r.call.types[arg];
    let cell = r.args[arg].cell(r.row);
    let composite: &[i64] = match unit {
        U::SecondMicrosecond => &[1_000_000, 1],
        U::MinuteMicrosecond => &[60_000_000, 1_000_000, 1],
        U::MinuteSecond => &[60_000_000, 1_000_000],
        U::HourMicrosecond => &[3_600_000_000, 60_000_000, 1_000_000, 1],
        U::HourSecond => &[3_600_000_000, 60_000_000, 1_000_000],
        U::HourMinute => &[3_600_000_000, 60_000_000],
        U::DayMicrosecond => &[MICROS_PER_DAY, 3_600_000_000, 60_000_000, 1_000_000, 1],
        U::DaySecond => &[MICROS_PER_DAY, 3_600_000_000, 60_000_000, 1_000_000],
        U::DayMinute => &[MICROS_PER_DAY, 3_600_000_000, 60_000_000],
        U::DayHour => &[MICROS_PER_DAY, 3_600_000_000],
        U::YearMonth => &[12, 1],
        _ => &[],
    };
    if !composite.is_empty() {
        let mut text = Vec::new();
        types::convert::write_text(cell, data_type, &mut text);
        let (negative, mut numbers, last_digits) = interval_numbers(&text);
        if numbers.is_empty() || numbers.len() > composite.len() {
            return Ok(None);
        }
        // `.5` microseconds are 500000.
        if composite.last() == Some(&1) && unit != U::YearMonth && numbers.len() == composite.len() {
            let micros = numbers.len() - 1;
            for _ in last_digits..6 {
                numbers[micros] = numbers[micros].saturating_mul(10);
            }
        }
        let sizes = &composite[composite.len() - numbers.len()..];
        let total: i128 =
            numbers.iter().zip(sizes).map(|(&number, &size)| i128::from(number) * i128::from(size)).sum();
        let total = if negative { -total } else { total };
        return Ok(Some(if unit == U::YearMonth {
            Interval { months: i64::try_from(total).unwrap_or(i64::MAX), ..Interval::default() }
        } else {
            Interval { micros: total, ..Interval::default() }
        }));
    }
    let amount = match (cell, data_type.kind) {
        (Cell::Int(packed), TypeKind::Date) => Decimal::from_i64(DateTime::unpack(packed).date_number()),
        (Cell::Int(packed), TypeKind::DateTime | TypeKind::Timestamp) => {
            DateTime::unpack(packed).datetime_decimal(data_type.scale)
        }
        (Cell::Int(micros), TypeKind::Time) => Time { micros }.decimal(data_type.scale),
        // The bits of an unsigned number beyond BIGINT are those of a negative one.
        (Cell::Int(value), _) => Decimal::from_i64(value),
        (Cell::Decimal(value), _) => *value,
        (Cell::Double(value), _) => Decimal::from_f64(value).unwrap_or_else(|clipped| clipped.0),
        _ => {
            let mut text = Vec::new();
            types::convert::write_text(cell, data_type, &mut text);
            if data_type.kind == TypeKind::Json {
                text = types::json::string(r.bytes(arg)).map_or(text, <[u8]>::to_vec);
            } else if data_type.is_string() {
                text = as_utf8(&text, data_type).into_owned();
            }
            Decimal::parse(&text).value
        }
    };
    let whole = |amount: Decimal| -> i128 {
        // Texts are read up to the point, numbers are rounded, doubles to the even neighbour.
        let number = match cell {
            Cell::Double(value) => {
                Decimal::from_f64(value.round_ties_even()).unwrap_or_else(|clipped| clipped.0)
            }
            Cell::Bytes(_) => amount.truncate(0),
            _ => amount.round(0),
        };
        number.to_units(0).unwrap_or(i128::MAX / 4)
    };
    let n = whole(amount);
    let clip = |n: i128| i64::try_from(n).unwrap_or(if n < 0 { i64::MIN / 4 } else { i64::MAX / 4 });
    Ok(Some(match unit {
        U::Microsecond => Interval { micros: n, ..Interval::default() },
        U::Second => Interval { micros: amount.to_units(6).unwrap_or(i128::MAX / 4), ..Interval::default() },
        U::Minute => Interval { micros: n.saturating_mul(60_000_000), ..Interval::default() },
        U::Hour => Interval { micros: n.saturating_mul(3_600_000_000), ..Interval::default() },
        U::Day => Interval { days: clip(n), ..Interval::default() },
        U::Week => Interval { days: clip(n.saturating_mul(7)), ..Interval::default() },
        U::Month => Interval { months: clip(n), ..Interval::default() },
        U::Quarter => Interval { months: clip(n.saturating_mul(3)), ..Interval::default() },
        _ => Interval { months: clip(n.saturating_mul(12)), ..Interval::default() },
    }))
}

fn is_date_unit(unit: IntervalUnit) -> bool {
    use IntervalUnit as U;
    matches!(unit, U::Day | U::Week | U::Month | U::Quarter | U::Year | U::YearMonth)
}

fn date_arith(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let Some(mut amount) = interval(r, 1)? else {
        return r.null();
    };
    if r.call.name.starts_with("date_sub") {
        amount = Interval { months: -amount.months, days: -amount.days, micros: -amount.micros };
    }
    if r.call.result.kind == TypeKind::Time {
        let total =
            i128::from(r.int(0)) + amount.micros + i128::from(amount.days) * i128::from(MICROS_PER_DAY);
        return match i64::try_from(total) {
            Ok(micros) if (Time { micros }).in_range() => {
                r.put_int(round_micros(micros, r.call.result.scale))
            }
            _ => overflow(r),
        };
    }
    let small = amount.micros.unsigned_abs() < (1 << 62) && amount.days.unsigned_abs() < 1 << 40;
    if r.call.result.kind != TypeKind::Char {
        let value = datetime(r, 0);
        if value.has_zero_part() {
            return r.null();
        }
        let sum = if small { value.checked_add(amount) } else { None };
        return put_datetime(r, sum);
    }
    // A text: shown as a date while nothing has a time of day.
    let mode = DateMode { no_zero_in_date: true, no_zero_date: true, ..r.ctx.settings.date_mode() };
    let Some((value, has_time)) = text_moment(r, mode)? else {
        return r.null();
    };
    let sum = if small { value.and_then(|value| value.checked_add(amount)) } else { None };
    let Some(sum) = sum else {
        r.ctx.warn_or_fail(ER_DATETIME_FUNCTION_OVERFLOW, &[&"datetime"])?;
        return r.null();
    };
    let date_only = !has_time && is_date_unit(unit(r));
    r.put_with(|out| {
        if date_only {
            sum.write_date(out);
        } else {
            sum.write_datetime(if sum.micros > 0 { 6 } else { 0 }, out);
        }
    })
}

/// The date that DATE_ADD starts at, of an argument that is none by its type (`None` past the year 9999), and whether it has a
/// time of day; `None` with a warning if it is none.
fn text_moment(r: &mut Row<'_, '_>, mode: DateMode) -> SqlResult<Option<(Option<DateTime>, bool)>> {
    let data_type = &r.call.types[0];
    let cell = r.args[0].cell(r.row);
    if let (Cell::Int(year), TypeKind::Year) = (cell, data_type.kind) {
        return Ok(Some((Some(DateTime::date(u16::try_from(year).unwrap_or_default(), 1, 1)), true)));
    }
    if let Cell::Int(number) = cell
        && data_type.is_integer()
        && data_type.kind != TypeKind::Bit
        && let Ok((value, has_time)) = datetime_from_number(number, mode)
    {
        return Ok(Some((Some(value), has_time)));
    }
    let mut text = Vec::new();
    types::convert::write_text(cell, data_type, &mut text);
    if data_type.is_string() {
        text = as_utf8(&text, data_type).into_owned();
    } else if data_type.kind == TypeKind::Json {
        text = types::json::string(r.bytes(0)).map_or(text, <[u8]>::to_vec);
    }
    let Ok(parsed) = parse_datetime(&text, mode) else {
        warn_text(r, format!("Incorrect datetime value: '{}'", String::from_utf8_lossy(&text)))?;
        return Ok(None);
    };
    if parsed.truncated {
        let shown = String::from_utf8_lossy(&text).into_owned();
        r.ctx.warn_or_fail(ER_TRUNCATED_WRONG_VALUE, &[&"datetime", &shown])?;
    }
    Ok(Some((parsed.rounded(6), parsed.has_time)))
}

#[cold]
fn warn_text(r: &mut Row<'_, '_>, message: String) -> SqlResult<()> {
    let error = ER_TRUNCATED_WRONG_VALUE.saying(message);
    if r.ctx.settings.strict_dml {
        return Err(error);
    }
    let mut entry = error.diagnostic();
    entry.level = service::Level::Warning;
    r.ctx.warnings.push(entry);
    Ok(())
}

fn signed_micros(r: &Row<'_, '_>, arg: usize) -> i64 {
    if r.call.name == "subtime" { -r.int(arg) } else { r.int(arg) }
}

fn add_time_datetime(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let value = datetime(r, 0);
    if value.has_zero_part() {
        return r.null();
    }
    let sum = DateTime::from_linear_micros(value.linear_micros() + signed_micros(r, 1));
    put_datetime(r, sum)
}

fn add_time_time(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let sum = Time { micros: r.int(0) + signed_micros(r, 1) };
    if !sum.in_range() {
        return overflow(r);
    }
    r.put_int(sum.micros)
}

fn add_time_text(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let micros = signed_micros(r, 1);
    match moment(r, 0)? {
        Some(Moment::DateTime(value)) => match DateTime::from_linear_micros(value.linear_micros() + micros) {
            Some(sum) => r.put_with(|out| sum.write_datetime(if sum.micros > 0 { 6 } else { 0 }, out)),
            None => overflow(r),
        },
        Some(Moment::Time(time)) => {
            let sum = Time { micros: time.micros + micros }.clipped();
            let fraction = sum.micros % MICROS_PER_SECOND != 0;
            r.put_with(|out| sum.write_text(if fraction { 6 } else { 0 }, out))
        }
        None => r.null(),
    }
}

/// What may be a time or a date with time of day.
#[derive(Clone, Copy)]
enum Moment {
    Time(Time),
    DateTime(DateTime),
}

/// An argument that may be either; `None` with a warning if it is neither.
fn moment(r: &mut Row<'_, '_>, arg: usize) -> SqlResult<Option<Moment>> {
    let data_type = &r.call.types[arg];
    let cell = r.args[arg].cell(r.row);
    let number = match (cell, data_type.kind) {
        (Cell::Int(micros), TypeKind::Time) => return Ok(Some(Moment::Time(Time { micros }))),
        (Cell::Int(packed), TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp) => {
            return Ok(Some(Moment::DateTime(DateTime::unpack(packed))));
        }
        // The bits of an unsigned number beyond BIGINT are those of a negative one.
        (Cell::Int(number), _) if data_type.is_integer() && data_type.kind != TypeKind::Bit => {
            Some(i128::from(number) * i128::from(MICROS_PER_SECOND))
        }
        (Cell::Decimal(value), _) => Some(value.to_units(6).unwrap_or(i128::MAX)),
        (Cell::Double(value), _) => {
            Some(Decimal::from_f64(value).ok().and_then(|value| value.to_units(6)).unwrap_or(i128::MAX))
        }
        _ => None,
    };
    let mut text = Vec::new();
    types::convert::write_text(cell, data_type, &mut text);
    if data_type.is_string() {
        text = as_utf8(&text, data_type).into_owned();
    }
    if let Some(micros) = number {
        return number_moment(r, micros, &text);
    }
    if data_type.kind == TypeKind::Json
        && let Some(text) = types::json::string(r.bytes(arg))
    {
        // Of a document a text must be a whole time.
        let whole = parse_time(text).ok().filter(|parsed| !parsed.truncated && !parsed.out_of_range);
        return Ok(whole.map(|parsed| Moment::Time(parsed.value)));
    }
    // Digits that end with another sign than a time's first are a date.
    let mode = r.ctx.settings.date_mode();
    let first_sign = text.trim_ascii_start().iter().position(|byte| !byte.is_ascii_digit());
    let is_time = first_sign.is_some_and(|at| at == 0 || text.trim_ascii_start()[at] == b':');
    if !is_time
        && let Ok(parsed) = parse_datetime(&text, mode)
        && let Some(value) = parsed.rounded(6)
    {
        return Ok(Some(Moment::DateTime(value)));
    }
    match parse_time(&text) {
        Ok(parsed) => Ok(Some(Moment::Time(parsed.value))),
        Err(_) => {
            let shown = String::from_utf8_lossy(&text).into_owned();
            r.ctx.warn_or_fail(ER_TRUNCATED_WRONG_VALUE, &[&"time", &shown])?;
            Ok(None)
        }
    }
}

/// Numbers of eight digits and more are dates.
const DATE_NUMBER_MIN: i64 = 10_000_101;

fn number_moment(r: &mut Row<'_, '_>, micros: i128, shown: &[u8]) -> SqlResult<Option<Moment>> {
    let rest = (micros % i128::from(MICROS_PER_SECOND)) as i64;
    let number = i64::try_from(micros / i128::from(MICROS_PER_SECOND)).unwrap_or(i64::MAX);
    if number >= DATE_NUMBER_MIN {
        return match datetime_from_number(number, r.ctx.settings.date_mode()) {
            Ok((value, _)) => {
                Ok(Some(Moment::DateTime(DateTime { micros: rest.unsigned_abs() as u32, ..value })))
            }
            Err(_) => {
                warn_text(r, format!("Incorrect datetime value: '{}'", String::from_utf8_lossy(shown)))?;
                Ok(None)
            }
        };
    }
    match time_from_number(number) {
        Ok(parsed) if !parsed.out_of_range => {
            Ok(Some(Moment::Time(Time { micros: parsed.value.micros + rest }.clipped())))
        }
        _ => {
            let shown = String::from_utf8_lossy(shown).into_owned();
            r.ctx.warn_or_fail(ER_TRUNCATED_WRONG_VALUE, &[&"time", &shown])?;
            Ok(None)
        }
    }
}

fn time_format(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let time = match moment(r, 0)? {
        Some(Moment::Time(time)) => time,
        Some(Moment::DateTime(value)) => value.time_part(),
        None => return r.null(),
    };
    let (hours, minute, second, micros) = time.fields();
    let value = DateTime { hour: (hours % 24) as u8, minute, second, micros, ..DateTime::ZERO };
    let format = r.bytes(1);
    if names_day(format) {
        return r.null();
    }
    let mut text = Vec::new();
    if time.is_negative() {
        text.push(b'-');
    }
    let (charset, locale) = (r.call.result.collation.charset(), r.ctx.settings.locale.locale());
    match date_format(value, hours, format, charset, locale, &mut text) {
        Some(()) => r.put_bytes(&text),
        None => r.null(),
    }
}

/// Whether a format names a day, week or the name of a month, which a TIME has not.
fn names_day(format: &[u8]) -> bool {
    let mut bytes = format.iter();
    while let Some(byte) = bytes.next() {
        if *byte == b'%' && bytes.next().is_some_and(|specifier| b"DUuVvXxjMbWaw".contains(specifier)) {
            return true;
        }
    }
    false
}

fn extract_fields(r: &Row<'_, '_>, date: DateTime, hours: i64, days: i64) -> i64 {
    use IntervalUnit as U;
    let (minute, second, micros) = (i64::from(date.minute), i64::from(date.second), i64::from(date.micros));
    let hms = hours * 10_000 + minute * 100 + second;
    match unit(r) {
        U::Year => i64::from(date.year),
        U::Quarter => i64::from(date.month.div_ceil(3)),
        U::Month => i64::from(date.month),
        U::Week => {
            let mode = WeekMode::new(r.ctx.settings.default_week_format);
            i64::from(calendar::unsigned_week(date, mode).0)
        }
        U::Day => days,
        U::Hour => hours,
        U::Minute => minute,
        U::Second => second,
        U::Microsecond => micros,
        U::YearMonth => i64::from(date.year) * 100 + i64::from(date.month),
        U::DayHour => days * 100 + hours,
        U::DayMinute => days * 10_000 + hours * 100 + minute,
        U::DaySecond => days * 1_000_000 + hms,
        U::DayMicrosecond => (days * 1_000_000 + hms) * 1_000_000 + micros,
        U::HourMinute => hours * 100 + minute,
        U::HourSecond => hms,
        U::HourMicrosecond => hms * 1_000_000 + micros,
        U::MinuteSecond => minute * 100 + second,
        U::MinuteMicrosecond => (minute * 100 + second) * 1_000_000 + micros,
        U::SecondMicrosecond => second * 1_000_000 + micros,
    }
}

fn extract_datetime(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let value = datetime(r, 0);
    let number = extract_fields(r, value, i64::from(value.hour), i64::from(value.day));
    r.put_int(number)
}

fn extract_from_time(r: &mut Row<'_, '_>, time: Time) -> SqlResult<()> {
    let (hours, minute, second, micros) = time.fields();
    let value = DateTime { minute, second, micros, ..DateTime::ZERO };
    let number = extract_fields(r, value, i64::from(hours), 0);
    r.put_int(if time.is_negative() { -number } else { number })
}

fn extract_time(r: &mut Row<'_, '_>) -> SqlResult<()> {
    use IntervalUnit as U;
    let time = time(r, 0);
    if matches!(unit(r), U::Year | U::Quarter | U::Month | U::Week | U::Day | U::YearMonth) {
        // A time has today's date.
        let today = local_now(r).date_part();
        return match DateTime::from_linear_micros(today.linear_micros() + time.micros) {
            Some(value) => {
                let number = extract_fields(r, value, i64::from(value.hour), i64::from(value.day));
                r.put_int(number)
            }
            None => r.null(),
        };
    }
    extract_from_time(r, time)
}

/// A unit of the time of day, of what is neither time nor date by its type.
fn extract_moment(r: &mut Row<'_, '_>) -> SqlResult<()> {
    match moment(r, 0)? {
        Some(Moment::Time(time)) => extract_from_time(r, time),
        Some(Moment::DateTime(value)) => {
            let number = extract_fields(r, value, i64::from(value.hour), i64::from(value.day));
            r.put_int(number)
        }
        None => r.null(),
    }
}

/// A unit of the date, of a text.
fn extract_text(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let text = r.bytes(0);
    let mode = DateMode { allow_invalid: r.ctx.settings.date_mode().allow_invalid, ..DateMode::default() };
    match parse_datetime(text, mode).ok().and_then(|parsed| parsed.rounded(6)) {
        Some(value) => {
            let number = extract_fields(r, value, i64::from(value.hour), i64::from(value.day));
            r.put_int(number)
        }
        None => {
            warn_text(r, format!("Incorrect datetime value: '{}'", String::from_utf8_lossy(text)))?;
            r.null()
        }
    }
}

fn timestamp_diff(r: &mut Row<'_, '_>) -> SqlResult<()> {
    use IntervalUnit as U;
    let (from, to) = (datetime(r, 0), datetime(r, 1));
    if from.has_zero_part() || to.has_zero_part() {
        return r.null();
    }
    let micros = to.linear_micros() - from.linear_micros();
    let months = || {
        let (first, last, sign) = if micros < 0 { (to, from, -1) } else { (from, to, 1) };
        let mut months = (i64::from(last.year) - i64::from(first.year)) * 12 + i64::from(last.month)
            - i64::from(first.month);
        let within = |value: DateTime| (value.day, value.time_part().micros);
        if within(last) < within(first) {
            months -= 1;
        }
        sign * months
    };
    let number = match unit(r) {
        U::Microsecond => micros,
        U::Second => micros / MICROS_PER_SECOND,
        U::Minute => micros / (60 * MICROS_PER_SECOND),
        U::Hour => micros / (3600 * MICROS_PER_SECOND),
        U::Day => micros / MICROS_PER_DAY,
        U::Week => micros / (7 * MICROS_PER_DAY),
        U::Month => months(),
        U::Quarter => months() / 3,
        U::Year => months() / 12,
        _ => return r.null(),
    };
    r.put_int(number)
}

fn time_diff(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let (a, b) = match (moment(r, 0)?, moment(r, 1)?) {
        (Some(Moment::Time(a)), Some(Moment::Time(b))) => (a.micros, b.micros),
        (Some(Moment::DateTime(a)), Some(Moment::DateTime(b))) => (a.linear_micros(), b.linear_micros()),
        _ => return r.null(),
    };
    let difference = Time { micros: a - b };
    if !difference.in_range() {
        let mut shown = Vec::new();
        difference.write_text(r.call.result.scale, &mut shown);
        r.ctx.warn_or_fail(ER_TRUNCATED_WRONG_VALUE, &[&"time", &String::from_utf8_lossy(&shown)])?;
    }
    r.put_int(round_micros(difference.clipped().micros, r.call.result.scale))
}

/// Gives a locale's name in the character set of the result.
fn put_name(r: &mut Row<'_, '_>, name: &str) -> SqlResult<()> {
    let charset = r.call.result.collation.charset();
    r.put_with(|out| {
        let _ = types::charset::convert_lossy(Charset::Utf8mb4, name.as_bytes(), charset, out);
    })
}

fn formatted(r: &mut Row<'_, '_>, value: DateTime, hours: u32, format: usize) -> SqlResult<()> {
    let (charset, locale) = (r.call.result.collation.charset(), r.ctx.settings.locale.locale());
    let format = r.bytes(format);
    if format.is_empty() {
        return r.null();
    }
    let mut text = Vec::new();
    match date_format(value, hours, format, charset, locale, &mut text) {
        Some(()) => r.put_bytes(&text),
        None => r.null(),
    }
}

fn get_format(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let kind = match &r.call.option {
        CallOption::Text(kind) => kind.to_ascii_uppercase(),
        _ => Vec::new(),
    };
    let style = r.bytes(0).to_ascii_uppercase();
    let formats: [&str; 3] = match style.as_slice() {
        b"USA" => ["%m.%d.%Y", "%h:%i:%s %p", "%Y-%m-%d %H.%i.%s"],
        b"JIS" => ["%Y-%m-%d", "%H:%i:%s", "%Y-%m-%d %H:%i:%s"],
        b"ISO" => ["%Y-%m-%d", "%H:%i:%s", "%Y-%m-%d %H:%i:%s"],
        b"EUR" => ["%d.%m.%Y", "%H.%i.%s", "%Y-%m-%d %H.%i.%s"],
        b"INTERNAL" => ["%Y%m%d", "%H%i%s", "%Y%m%d%H%i%s"],
        _ => return r.null(),
    };
    let index = match kind.as_slice() {
        b"DATE" => 0,
        b"TIME" => 1,
        _ => 2,
    };
    r.put_bytes(formats[index].as_bytes())
}

fn str_to_date(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let (text, format) = (r.bytes(0), r.bytes(1));
    let kind = r.call.result.kind;
    let mode = r.ctx.settings.date_mode();
    // NO_ZERO_DATE refuses any zero part here.
    let has_zero = |date: DateTime| date.year == 0 || date.has_zero_part();
    let is_taken = |date: DateTime| mode.check(date).is_ok() && !(mode.no_zero_date && has_zero(date));
    let scanned =
        scan::str_to_date(text, format).filter(|scanned| kind == TypeKind::Time || is_taken(scanned.date));
    let Some(scanned) = scanned else {
        let what = if kind == TypeKind::Time { "time" } else { "datetime" };
        let shown = String::from_utf8_lossy(text).into_owned();
        r.ctx.warn_or_fail(ER_WRONG_VALUE_FOR_TYPE, &[&what, &shown, &"str_to_date"])?;
        return r.null();
    };
    if scanned.rest {
        let what = match kind {
            TypeKind::Time => "time",
            TypeKind::Date => "date",
            _ => "datetime",
        };
        let shown = String::from_utf8_lossy(text).into_owned();
        r.ctx.warn_or_fail(ER_TRUNCATED_WRONG_VALUE, &[&what, &shown])?;
    }
    match kind {
        TypeKind::Time => r.put_int(scanned.time.micros),
        TypeKind::Date => r.put_int(scanned.date.pack()),
        _ => r.put_int(scanned.date.with_time(scanned.time).pack()),
    }
}

fn from_unixtime(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let micros = match r.decimal(0).to_units(6).and_then(|micros| i64::try_from(micros).ok()) {
        Some(micros) if (0..=UNIX_TIME_MICROS_MAX).contains(&micros) => micros,
        _ => return r.null(),
    };
    let value = r.ctx.settings.time_zone.from_utc(micros);
    if r.count() > 1 {
        return formatted(r, value, u32::from(value.hour), 1);
    }
    put_datetime(r, Some(value))
}

fn unix_timestamp(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let micros = if r.count() == 0 {
        r.ctx.settings.now_utc_micros
    } else {
        let value = datetime(r, 0);
        if value.has_zero_part() {
            0
        } else {
            let micros = r.ctx.settings.time_zone.to_utc(value);
            // The first second has no fraction in MySQL.
            if (MICROS_PER_SECOND..=UNIX_TIME_MICROS_MAX).contains(&micros) { micros } else { 0 }
        }
    };
    if r.call.result.physical() == Physical::Decimal {
        let digits = match r.call.result.scale {
            SCALE_NOT_FIXED if micros % MICROS_PER_SECOND == 0 => 0,
            SCALE_NOT_FIXED => 6,
            digits => digits,
        };
        let value = Decimal::from_units(i128::from(micros), 6).truncate(digits);
        r.out.push_decimal(value);
        return Ok(());
    }
    r.put_int(micros / MICROS_PER_SECOND)
}

fn convert_tz(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let value = datetime(r, 0);
    let zone = |r: &Row<'_, '_>, arg: usize| -> Option<TimeZone> {
        let name = std::str::from_utf8(r.bytes(arg)).ok()?;
        if name.eq_ignore_ascii_case("SYSTEM") { Some(TimeZone::system()) } else { TimeZone::parse(name) }
    };
    let (Some(from), Some(to)) = (zone(r, 1), zone(r, 2)) else {
        return r.null();
    };
    if value.has_zero_part() {
        return r.null();
    }
    let micros = from.to_utc(value);
    if !(MICROS_PER_SECOND..=UNIX_TIME_MICROS_MAX).contains(&micros) {
        return r.put_int(value.pack());
    }
    put_datetime(r, Some(to.from_utc(micros)))
}
