//! Dates and times as text and as numbers; DATE_FORMAT.

use super::calendar::{self, WeekMode};
use super::{DateTime, Time, UNIT_MICROS};
use crate::charset::{Charset, convert_lossy};
use crate::decimal::Decimal;
use crate::locale::Locale;

fn two(out: &mut Vec<u8>, value: u32) {
    out.push(b'0' + (value / 10 % 10) as u8);
    out.push(b'0' + (value % 10) as u8);
}

fn padded(out: &mut Vec<u8>, value: u64, width: usize) {
    let mut buffer = itoa::Buffer::new();
    let text = buffer.format(value);
    out.extend(std::iter::repeat_n(b'0', width.saturating_sub(text.len())));
    out.extend_from_slice(text.as_bytes());
}

fn fraction(out: &mut Vec<u8>, micros: u32, digits: u8) {
    if digits > 0 {
        let digits = digits.min(6);
        out.push(b'.');
        padded(out, u64::from(micros) / UNIT_MICROS[digits as usize] as u64, digits as usize);
    }
}

impl DateTime {
    /// Appends `YYYY-MM-DD`.
    pub fn write_date(self, out: &mut Vec<u8>) {
        padded(out, u64::from(self.year), 4);
        out.push(b'-');
        two(out, u32::from(self.month));
        out.push(b'-');
        two(out, u32::from(self.day));
    }

    /// Appends `YYYY-MM-DD hh:mm:ss[.fraction]`; digits of the fraction beyond `scale` are cut off.
    pub fn write_datetime(self, scale: u8, out: &mut Vec<u8>) {
        self.write_date(out);
        out.push(b' ');
        two(out, u32::from(self.hour));
        out.push(b':');
        two(out, u32::from(self.minute));
        out.push(b':');
        two(out, u32::from(self.second));
        fraction(out, self.micros, scale);
    }

    /// YYYYMMDD.
    #[must_use]
    pub fn date_number(self) -> i64 {
        i64::from(self.year) * 10_000 + i64::from(self.month) * 100 + i64::from(self.day)
    }

    /// YYYYMMDDhhmmss.
    #[must_use]
    pub fn datetime_number(self) -> i64 {
        self.date_number() * 1_000_000
            + i64::from(self.hour) * 10_000
            + i64::from(self.minute) * 100
            + i64::from(self.second)
    }

    /// YYYYMMDDhhmmss.ffffff with `scale` digits after the point.
    #[must_use]
    pub fn datetime_decimal(self, scale: u8) -> Decimal {
        let units = i128::from(self.datetime_number()) * 1_000_000 + i128::from(self.micros);
        Decimal::from_units(units, 6).truncate(scale)
    }
}

impl Time {
    /// Appends `[-]hh:mm:ss[.fraction]`, hours of at least two digits.
    pub fn write_text(self, scale: u8, out: &mut Vec<u8>) {
        let (hours, minutes, seconds, micros) = self.fields();
        if self.is_negative() {
            out.push(b'-');
        }
        padded(out, u64::from(hours), 2);
        out.push(b':');
        two(out, u32::from(minutes));
        out.push(b':');
        two(out, u32::from(seconds));
        fraction(out, micros, scale);
    }

    /// hhmmss, signed.
    #[must_use]
    pub fn number(self) -> i64 {
        let (hours, minutes, seconds, _) = self.fields();
        let number = i64::from(hours) * 10_000 + i64::from(minutes) * 100 + i64::from(seconds);
        if self.is_negative() { -number } else { number }
    }

    /// hhmmss.ffffff, signed, with `scale` digits after the point.
    #[must_use]
    pub fn decimal(self, scale: u8) -> Decimal {
        let (_, _, _, micros) = self.fields();
        let units = i128::from(self.number().abs()) * 1_000_000 + i128::from(micros);
        Decimal::from_units(if self.is_negative() { -units } else { units }, 6).truncate(scale)
    }
}

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

pub(super) fn month_names() -> &'static [&'static str] {
    &MONTHS
}

pub(super) fn day_names() -> &'static [&'static str] {
    &DAYS
}

/// DATE_FORMAT and TIME_FORMAT: appends `value` as `format` says, in its character set. `hours` is the hour to show, which for a
/// TIME may exceed 23. `None` if a name is asked for a month or day that is zero; `out` may then have grown.
pub fn date_format(
    value: DateTime,
    hours: u32,
    format: &[u8],
    charset: Charset,
    locale: &Locale,
    out: &mut Vec<u8>,
) -> Option<()> {
    let put_name = |out: &mut Vec<u8>, name: &str| {
        let _ = convert_lossy(Charset::Utf8mb4, name.as_bytes(), charset, out);
    };
    let mut bytes = format.iter().copied();
    let hour12 = match hours % 24 % 12 {
        0 => 12,
        hour => hour,
    };
    let week_text = |out: &mut Vec<u8>, mode: i64, year: bool| {
        let (week, of_year) = calendar::unsigned_week(value, WeekMode::new(mode));
        if year { padded(out, u64::from(of_year as u32), 4) } else { padded(out, u64::from(week), 2) }
    };
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let Some(specifier) = bytes.next() else {
            out.push(b'%');
            break;
        };
        match specifier {
            b'Y' => padded(out, u64::from(value.year), 4),
            b'y' => two(out, u32::from(value.year % 100)),
            b'm' => two(out, u32::from(value.month)),
            b'c' => padded(out, u64::from(value.month), 1),
            b'd' => two(out, u32::from(value.day)),
            b'e' => padded(out, u64::from(value.day), 1),
            b'D' => {
                padded(out, u64::from(value.day), 1);
                out.extend_from_slice(match value.day {
                    11..=19 => b"th",
                    day => match day % 10 {
                        1 => b"st",
                        2 => b"nd",
                        3 => b"rd",
                        _ => b"th",
                    },
                });
            }
            b'M' => put_name(out, locale.month(value.month)?),
            b'b' => put_name(out, locale.month_short(value.month)?),
            b'W' | b'a' => {
                if value.month == 0 && value.year == 0 {
                    return None;
                }
                let weekday = calendar::weekday(value.day_number());
                put_name(
                    out,
                    if specifier == b'W' { locale.weekday(weekday) } else { locale.weekday_short(weekday) },
                );
            }
            b'w' => {
                if value.month == 0 && value.year == 0 {
                    return None;
                }
                padded(out, u64::from(calendar::weekday_from_sunday(value.day_number())), 1);
            }
            // Less than zero without a month.
            b'j' => out.extend_from_slice(format!("{:0>3}", value.day_of_year().to_string()).as_bytes()),
            b'U' => week_text(out, 0, false),
            b'u' => week_text(out, 1, false),
            b'V' => week_text(out, 2, false),
            b'v' => week_text(out, 3, false),
            b'X' => week_text(out, 2, true),
            b'x' => week_text(out, 3, true),
            b'H' => padded(out, u64::from(hours), 2),
            b'k' => padded(out, u64::from(hours), 1),
            b'h' | b'I' => two(out, hour12),
            b'l' => padded(out, u64::from(hour12), 1),
            b'i' => two(out, u32::from(value.minute)),
            b's' | b'S' => two(out, u32::from(value.second)),
            b'f' => padded(out, u64::from(value.micros), 6),
            b'p' => out.extend_from_slice(if hours % 24 < 12 { &b"AM"[..] } else { b"PM" }),
            b'r' => {
                two(out, hour12);
                out.push(b':');
                two(out, u32::from(value.minute));
                out.push(b':');
                two(out, u32::from(value.second));
                out.extend_from_slice(if hours % 24 < 12 { b" AM" } else { b" PM" });
            }
            b'T' => {
                padded(out, u64::from(hours), 2);
                out.push(b':');
                two(out, u32::from(value.minute));
                out.push(b':');
                two(out, u32::from(value.second));
            }
            other => out.push(other),
        }
    }
    Some(())
}
