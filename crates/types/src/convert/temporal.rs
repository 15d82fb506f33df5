//! Into DATE, DATETIME, TIMESTAMP and TIME.

use super::issue::{Given, Issue, IssueKind, Origin, StoreOptions};
use super::number::{only_spaces, whole_number};
use crate::collation::CollationId;
use crate::data_type::{DataType, TypeKind};
use crate::decimal::{Clipped, Decimal};
use crate::json::{self};
use crate::temporal::parse::{self, DateMode, TemporalError};
use crate::temporal::zone::{TIMESTAMP_MICROS_MAX, TIMESTAMP_MICROS_MIN, TimeZone};
use crate::temporal::{DateTime, Time, round_micros, truncate_micros};
use crate::vector::{Cell, Column};

pub(super) fn temporal_name(kind: TypeKind) -> &'static str {
    match kind {
        TypeKind::Date => "date",
        TypeKind::Time => "time",
        _ => "datetime",
    }
}

/// What a column gets for a document that is no date: `zero` for a column's, NULL for an expression's.
fn push_none(origin: Origin<'_>, zero: i64, out: &mut Column) {
    match origin {
        Origin::Column(_) => out.push_int(zero),
        Origin::Computed(_) => out.push_null(),
    }
}

/// The date that a document's text is as a whole, and whether it has a time.
fn json_datetime(document: &[u8], options: &StoreOptions<'_>) -> Option<(DateTime, bool)> {
    let text = json::string(document)?;
    let parsed = parse::parse_datetime(text, options.date_mode).ok()?;
    let value = if parsed.truncated { None } else { parsed.rounded(6) }?;
    Some((value, text.iter().any(|byte| matches!(byte, b' ' | b'T'))))
}

pub(super) fn store_datetime(
    cell: Cell<'_>,
    given: Given<'_>,
    to: &DataType,
    options: &StoreOptions<'_>,
    out: &mut Column,
) -> Option<Issue> {
    let Given { data_type: from, origin } = given;
    let what = temporal_name(to.kind);
    let wrong = |out_of_range: bool, out: &mut Column| {
        out.push_int(DateTime::ZERO.pack());
        Issue::showing(IssueKind::Temporal { what, out_of_range }, cell, from)
    };
    let mut issue = None;
    let mut from_text = false;
    let mut whole = None;
    let parsed: Result<Option<DateTime>, TemporalError> = match (cell, from.kind) {
        (Cell::Int(packed), TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp) => {
            let value = DateTime::unpack(packed);
            options.date_mode.check(value).map(|()| Some(value))
        }
        (Cell::Int(micros), TypeKind::Time) => {
            Ok(DateTime::from_linear_micros(options.today().linear_micros() + micros))
        }
        // A YEAR is the number that it is, and none of these is a date.
        (Cell::Int(year), TypeKind::Year) => {
            parse::datetime_from_number(year, options.date_mode).map(|(value, _)| Some(value))
        }
        (Cell::Bytes(document), TypeKind::Json) => match json::to_datetime(document) {
            Some(value) => Ok(Some(value)),
            None => match json_datetime(document, options) {
                // A date alone is no DATETIME.
                Some((_, false)) if to.kind != TypeKind::Date => {
                    out.push_int(DateTime::ZERO.pack());
                    let text = Cell::Bytes(json::string(document).unwrap_or_default());
                    let kind = IssueKind::Temporal { what, out_of_range: false };
                    return Issue::showing(
                        kind,
                        text,
                        &DataType::varchar(0, CollationId::UTF8MB4_GENERAL_CI),
                    );
                }
                Some((value, _)) => Ok(Some(value)),
                None => {
                    let to = if to.kind == TypeKind::Date { "DATE" } else { "DATETIME/TIMESTAMP" };
                    push_none(origin, DateTime::ZERO.pack(), out);
                    return Issue::json(IssueKind::JsonValue { to }, origin);
                }
            },
        },
        (Cell::Bytes(text), _) => {
            from_text = true;
            let text = &*from.collation.charset().readable(text);
            match parse::parse_datetime(text, options.date_mode) {
                Ok(parsed) => {
                    if parsed.truncated {
                        issue = Issue::showing(IssueKind::Temporal { what, out_of_range: false }, cell, from);
                    }
                    let value = parsed.rounded(6);
                    Ok(match (value, parsed.offset_minutes) {
                        (Some(value), Some(minutes)) => {
                            Some(options.time_zone.from_utc(TimeZone::Offset(minutes).to_utc(value)))
                        }
                        (value, _) => value,
                    })
                }
                Err(error) => Err(error),
            }
        }
        _ => {
            let (number, micros) = match cell {
                Cell::Decimal(_) | Cell::Double(_) => {
                    let value = match cell {
                        Cell::Decimal(value) => *value,
                        Cell::Double(value) => match Decimal::from_f64(value) {
                            Ok(value) | Err(Clipped(value)) => value,
                        },
                        _ => Decimal::ZERO,
                    };
                    // A number without a date, where it is too large.
                    let micros = value.to_units(6).unwrap_or(-1_000_000);
                    match micros {
                        ..0 => (-1, 0),
                        _ => (i64::try_from(micros / 1_000_000).unwrap_or(-1), (micros % 1_000_000) as u32),
                    }
                }
                _ => (whole_number(cell, from).and_then(|n| i64::try_from(n).ok()).unwrap_or(-1), 0),
            };
            whole = Some(number);
            // A date without a time of day has no fraction of a second, but for the zero date, which has no whole one.
            let is_zero = number == 0;
            parse::datetime_from_number(number, options.date_mode).map(|(value, has_time)| {
                if has_time || is_zero {
                    return Some(DateTime { micros, ..value });
                }
                if micros != 0 && number != 0 {
                    issue = Issue::showing(IssueKind::Temporal { what, out_of_range: false }, cell, from);
                }
                Some(value)
            })
        }
    };
    let value = match parsed {
        Ok(Some(value)) => value,
        Ok(None) => return wrong(true, out),
        // A day that does not exist is out of range, anything else is no date.
        Err(TemporalError::Invalid) => {
            let day_only = match cell {
                Cell::Bytes(text) => {
                    let text = &*from.collation.charset().readable(text);
                    parse::parse_datetime(text, DateMode { allow_invalid: true, ..DateMode::default() })
                        .is_ok()
                }
                // So is a number below zero or beyond all dates.
                _ => whole.is_some_and(|number| number < 0),
            };
            return wrong(day_only, out);
        }
        // The zero date, and texts with a zero month or day, are out of range where the mode refuses them.
        Err(TemporalError::Zero) => return wrong(from_text || whole == Some(0), out),
    };
    // There is no second to which a zero date is rounded up.
    let round = |digits: u8| {
        let is_up =
            value.date_part() == DateTime::ZERO && value.round(digits) != Some(value.truncate(digits));
        if is_up { None } else { value.round(digits) }
    };
    let fitted = match to.kind {
        TypeKind::Date => {
            let rounded = if options.truncate_fraction { Some(value) } else { round(0) };
            let Some(rounded) = rounded else {
                return wrong(true, out);
            };
            let lost = rounded.time_part().micros != 0;
            if lost
                && issue.is_none()
                && (from_text
                    || matches!(from.kind, TypeKind::Time | TypeKind::DateTime | TypeKind::Timestamp))
            {
                issue = Issue::showing(IssueKind::TemporalNote { what }, cell, from);
            }
            Some(rounded.date_part())
        }
        _ if options.truncate_fraction => Some(value.truncate(to.scale)),
        _ => round(to.scale),
    };
    let Some(fitted) = fitted else {
        return wrong(true, out);
    };
    if to.kind == TypeKind::Timestamp && fitted != DateTime::ZERO {
        let utc = options.time_zone.to_utc(fitted);
        if fitted.has_zero_part() || !(TIMESTAMP_MICROS_MIN..=TIMESTAMP_MICROS_MAX).contains(&utc) {
            if !matches!(from.kind, TypeKind::DateTime | TypeKind::Timestamp) {
                return wrong(true, out);
            }
            // A date with a time of day is shown as the column would hold it.
            out.push_int(DateTime::ZERO.pack());
            let held = DataType::datetime(to.scale);
            let kind = IssueKind::Temporal { what, out_of_range: true };
            return Issue::showing(kind, Cell::Int(fitted.pack()), &held);
        }
    }
    out.push_int(fitted.pack());
    issue
}

pub(super) fn store_time(
    cell: Cell<'_>,
    given: Given<'_>,
    to: &DataType,
    options: &StoreOptions<'_>,
    out: &mut Column,
) -> Option<Issue> {
    let Given { data_type: from, origin } = given;
    let wrong =
        |out_of_range: bool| Issue::showing(IssueKind::Temporal { what: "time", out_of_range }, cell, from);
    let mut issue = None;
    let mut extra = 0;
    let parsed = match (cell, from.kind) {
        (Cell::Int(_), TypeKind::Date) => {
            out.push_int(0);
            return None;
        }
        (Cell::Int(packed), TypeKind::DateTime | TypeKind::Timestamp) => {
            Ok(DateTime::unpack(packed).time_part())
        }
        (Cell::Int(micros), TypeKind::Time) => Ok(Time { micros }),
        (Cell::Bytes(document), TypeKind::Json) => {
            let whole = |text| {
                let parsed = parse::parse_time(text).ok()?;
                (!parsed.truncated && !parsed.out_of_range).then_some(parsed.value)
            };
            let Some(time) = json::to_time(document).or_else(|| whole(json::string(document)?)) else {
                push_none(origin, 0, out);
                return Issue::json(IssueKind::JsonValue { to: "TIME" }, origin);
            };
            let cut = matches!(origin, Origin::Column(_)) || options.truncate_fraction;
            let micros = if cut { truncate_micros } else { round_micros };
            out.push_int(micros(time.micros, to.scale));
            return None;
        }
        (Cell::Bytes(text), _) => {
            let text = &*from.collation.charset().readable(text);
            if only_spaces(text) {
                out.push_int(0);
                return None;
            }
            match parse::parse_time_with(text, options.truncate_fraction) {
                Ok(parsed) => {
                    if parsed.out_of_range {
                        issue = wrong(true);
                    } else if parsed.truncated {
                        issue = wrong(false);
                    } else if parsed.from_datetime {
                        issue = Issue::showing(IssueKind::TemporalNote { what: "time" }, cell, from);
                    }
                    Ok(parsed.value)
                }
                // MySQL says nothing of a number with an exponent.
                Err(_) if parse::has_exponent(text) => {
                    out.push_int(0);
                    return None;
                }
                Err(_) => Err(text.contains(&b':')),
            }
        }
        _ => {
            let number = match cell {
                Cell::Decimal(_) | Cell::Double(_) => {
                    let value = match cell {
                        Cell::Decimal(value) => *value,
                        Cell::Double(value) => match Decimal::from_f64(value) {
                            Ok(value) | Err(Clipped(value)) => value,
                        },
                        _ => Decimal::ZERO,
                    };
                    let beyond = if value.is_negative() { i128::MIN } else { i128::MAX };
                    let micros = value.to_units(6).unwrap_or(beyond);
                    extra = (micros % 1_000_000) as i64;
                    i64::try_from(micros / 1_000_000).unwrap_or(if micros < 0 { i64::MIN } else { i64::MAX })
                }
                _ => whole_number(cell, from).and_then(|n| i64::try_from(n).ok()).unwrap_or(i64::MAX),
            };
            match parse::time_from_number(number) {
                Ok(parsed) => {
                    if parsed.out_of_range {
                        issue = wrong(true);
                        extra = 0;
                    }
                    Ok(parsed.value)
                }
                Err(_) => Err(true),
            }
        }
    };
    match parsed {
        Ok(time) => {
            let micros = time.micros + extra;
            let micros = if options.truncate_fraction {
                truncate_micros(micros, to.scale)
            } else {
                round_micros(micros, to.scale)
            };
            let time = Time { micros };
            if !time.in_range() && issue.is_none() {
                issue = wrong(true);
            }
            out.push_int(time.clipped().micros);
            issue
        }
        Err(out_of_range) => {
            out.push_int(0);
            wrong(out_of_range)
        }
    }
}
