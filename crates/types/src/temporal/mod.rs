//! Dates and times: fields, packed integers, text, calendar, time zones.
//!
//! A DATE, DATETIME or TIMESTAMP is its fields ([`DateTime`]), so that zero (`0000-00-00`) and partial dates
//! (`2024-00-00`) exist; in vectors it is the packed integer of [`DateTime::pack`], which orders as the fields
//! do. A TIME is a signed length of time ([`Time`]), in vectors its microseconds.
//! Source: MySQL manual, "Date and Time Data Types".
//!
//! Read next: `parse` (what text and numbers are accepted), `calendar` (day numbers, weeks, intervals),
//! `format` (printing, DATE_FORMAT), `zone` (TIMESTAMP and time zones).

pub mod calendar;
pub mod format;
pub mod parse;
pub mod scan;
pub mod zone;

/// Microseconds of a second.
pub const MICROS_PER_SECOND: i64 = 1_000_000;
/// Microseconds of a day.
pub const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;
/// Largest hour of a TIME.
pub(crate) const TIME_HOURS_MAX: i64 = 838;

/// The fields of a date with time of day. Zero and partial dates have zero fields.
///
/// Invariant kept by this crate's constructors: year <= 9999, month <= 12, day <= 31, hour <= 23, minute and
/// second <= 59, micros <= 999_999. The day need not exist in the month (ALLOW_INVALID_DATES).
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[allow(missing_docs, reason = "the names say it")]
pub struct DateTime {
    pub year: u16,
    pub month: u8,
    pub day: u8,
    pub hour: u8,
    pub minute: u8,
    pub second: u8,
    pub micros: u32,
}

/// A signed length of time in microseconds, -838:59:59.000000 to 838:59:59.000000 in columns.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Time {
    /// Microseconds, negative for times below zero.
    pub micros: i64,
}

impl DateTime {
    /// `0000-00-00 00:00:00`.
    pub const ZERO: DateTime =
        DateTime { year: 0, month: 0, day: 0, hour: 0, minute: 0, second: 0, micros: 0 };

    /// A date at midnight.
    #[must_use]
    pub const fn date(year: u16, month: u8, day: u8) -> DateTime {
        DateTime { year, month, day, ..DateTime::ZERO }
    }

    /// The fields as one integer that orders as they do: `((year*13+month)<<5|day)<<41 | (hour<<12|minute<<6|second)<<24
    /// | micros`. Never negative.
    #[inline]
    #[must_use]
    pub const fn pack(self) -> i64 {
        let ymd = (self.year as i64 * 13 + self.month as i64) << 5 | self.day as i64;
        let hms = (self.hour as i64) << 12 | (self.minute as i64) << 6 | self.second as i64;
        (ymd << 17 | hms) << 24 | self.micros as i64
    }

    /// The fields of a packed integer. Bits no `pack` makes give fields of no meaning, but no panic.
    #[inline]
    #[must_use]
    pub const fn unpack(packed: i64) -> DateTime {
        let micros = (packed & 0xff_ffff) as u32;
        let hms = packed >> 24 & 0x1_ffff;
        let ymd = packed >> 41 & 0x3f_ffff;
        let months = ymd >> 5;
        DateTime {
            year: (months / 13) as u16,
            month: (months % 13) as u8,
            day: (ymd & 31) as u8,
            hour: (hms >> 12) as u8,
            minute: (hms >> 6 & 63) as u8,
            second: (hms & 63) as u8,
            micros,
        }
    }

    /// The date at midnight.
    #[must_use]
    pub const fn date_part(self) -> DateTime {
        DateTime::date(self.year, self.month, self.day)
    }

    /// The time of day.
    #[must_use]
    pub const fn time_part(self) -> Time {
        let seconds = self.hour as i64 * 3600 + self.minute as i64 * 60 + self.second as i64;
        Time { micros: seconds * MICROS_PER_SECOND + self.micros as i64 }
    }

    /// This date with another time of day; `time` is within 0..24 hours.
    #[must_use]
    pub fn with_time(self, time: Time) -> DateTime {
        let (hour, minute, second, micros) = time.fields();
        DateTime { hour: hour as u8, minute, second, micros, ..self.date_part() }
    }

    /// Year, month and day are all zero.
    #[must_use]
    pub(crate) const fn is_zero_date(self) -> bool {
        self.year == 0 && self.month == 0 && self.day == 0
    }

    /// Month or day is zero (a zero date too).
    #[must_use]
    pub const fn has_zero_part(self) -> bool {
        self.month == 0 || self.day == 0
    }
}

impl Time {
    /// 838:59:59, the largest TIME.
    pub const MAX: Time = Time { micros: (TIME_HOURS_MAX * 3600 + 59 * 60 + 59) * MICROS_PER_SECOND };
    /// -838:59:59, the smallest TIME.
    pub const MIN: Time = Time { micros: -Time::MAX.micros };

    /// From its parts.
    #[must_use]
    pub const fn new(negative: bool, hours: u32, minutes: u8, seconds: u8, micros: u32) -> Time {
        let seconds = hours as i64 * 3600 + minutes as i64 * 60 + seconds as i64;
        // 2^32 hours, which a parameter may claim to be, do not fit in microseconds.
        let total = seconds.saturating_mul(MICROS_PER_SECOND).saturating_add(micros as i64);
        Time { micros: if negative { -total } else { total } }
    }

    /// Hours, minutes, seconds, microseconds, without the sign.
    #[must_use]
    pub const fn fields(self) -> (u32, u8, u8, u32) {
        let total = self.micros.unsigned_abs();
        let seconds = total / MICROS_PER_SECOND as u64;
        (
            (seconds / 3600) as u32,
            (seconds / 60 % 60) as u8,
            (seconds % 60) as u8,
            (total % MICROS_PER_SECOND as u64) as u32,
        )
    }

    /// Below zero.
    #[must_use]
    pub const fn is_negative(self) -> bool {
        self.micros < 0
    }

    /// Within the range of a TIME column.
    #[must_use]
    pub const fn in_range(self) -> bool {
        self.micros.unsigned_abs() <= Time::MAX.micros.unsigned_abs()
    }

    /// The nearest TIME a column can hold.
    #[must_use]
    pub fn clipped(self) -> Time {
        Time { micros: self.micros.clamp(Time::MIN.micros, Time::MAX.micros) }
    }
}

/// Microseconds at `digits` fraction digits: rounded half away from zero. May reach the next second.
#[must_use]
pub fn round_micros(micros: i64, digits: u8) -> i64 {
    let unit = UNIT_MICROS[digits.min(6) as usize];
    let half = if micros < 0 { -(unit / 2) } else { unit / 2 };
    (micros + half) / unit * unit
}

/// Microseconds at `digits` fraction digits: cut off.
#[must_use]
pub fn truncate_micros(micros: i64, digits: u8) -> i64 {
    let unit = UNIT_MICROS[digits.min(6) as usize];
    micros / unit * unit
}

/// Microseconds of the last of this many fraction digits.
pub(crate) const UNIT_MICROS: [i64; 7] = [1_000_000, 100_000, 10_000, 1_000, 100, 10, 1];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_orders_as_fields_and_comes_back() {
        let values = [
            DateTime::ZERO,
            DateTime { micros: 1, ..DateTime::ZERO },
            DateTime::date(0, 0, 1),
            DateTime::date(0, 1, 0),
            DateTime { hour: 23, minute: 59, second: 59, micros: 999_999, ..DateTime::date(0, 12, 31) },
            DateTime::date(1, 0, 0),
            DateTime { hour: 23, minute: 59, second: 59, micros: 999_999, ..DateTime::date(9999, 12, 31) },
        ];
        for pair in values.windows(2) {
            assert!(pair[0].pack() < pair[1].pack());
        }
        for value in values {
            assert_eq!(DateTime::unpack(value.pack()), value);
        }
    }

    #[test]
    fn micros_round_half_away_from_zero() {
        assert_eq!(round_micros(1_500_000, 0), 2_000_000);
        assert_eq!(round_micros(-1_500_000, 0), -2_000_000);
        assert_eq!(round_micros(1_499_999, 0), 1_000_000);
        assert_eq!(truncate_micros(1_999_999, 2), 1_990_000);
    }
}
