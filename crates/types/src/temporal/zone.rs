//! Time zones: between moments (microseconds since 1970-01-01 UTC) and the fields a session sees.
//!
//! A moment inside an hour that a zone skips is moved to the end of the gap; of an hour that occurs twice the first
//! is meant, as MySQL does.

use super::calendar::UNIX_EPOCH_DAY;
use super::parse::parse_offset;
use super::{DateTime, MICROS_PER_DAY, MICROS_PER_SECOND};
use jiff::tz;

/// A session's time zone.
#[derive(Clone, Debug, PartialEq)]
pub enum TimeZone {
    /// `+hh:mm`: minutes east of UTC.
    Offset(i32),
    /// A zone of the time zone database, with the name it was asked for.
    Named {
        /// As written in `SET time_zone`.
        name: std::sync::Arc<str>,
        /// Its rules.
        rules: tz::TimeZone,
    },
}

/// Largest TIMESTAMP: 2038-01-19 03:14:07.999999 UTC.
pub(crate) const TIMESTAMP_MICROS_MAX: i64 = (i32::MAX as i64) * MICROS_PER_SECOND + 999_999;
/// Smallest TIMESTAMP that is not the zero date: 1970-01-01 00:00:01 UTC.
pub(crate) const TIMESTAMP_MICROS_MIN: i64 = MICROS_PER_SECOND;

/// Most microseconds FROM_UNIXTIME and UNIX_TIMESTAMP handle: 3001-01-18 23:59:59.999999 UTC.
pub const UNIX_TIME_MICROS_MAX: i64 = 32_536_771_199 * MICROS_PER_SECOND + 999_999;

impl TimeZone {
    /// UTC.
    pub const UTC: TimeZone = TimeZone::Offset(0);

    /// Reads `+hh:mm`, `-hh:mm`, or the name of a zone. `SYSTEM` is the caller's to resolve.
    #[must_use]
    pub fn parse(text: &str) -> Option<TimeZone> {
        if let Some(minutes) = parse_offset(text.as_bytes()) {
            return Some(TimeZone::Offset(minutes));
        }
        if !text.starts_with(|first: char| first.is_ascii_alphabetic()) {
            return None;
        }
        let rules = tz::TimeZone::get(text).ok()?;
        Some(TimeZone::Named { name: text.into(), rules })
    }

    /// The zone of the machine, from the `TZ` variable or its configuration; UTC if that is not to be found.
    #[must_use]
    pub fn system() -> TimeZone {
        match tz::TimeZone::try_system() {
            Ok(rules) => {
                let name = rules.iana_name().unwrap_or("SYSTEM").into();
                TimeZone::Named { name, rules }
            }
            Err(_) => TimeZone::UTC,
        }
    }

    /// Seconds east of UTC at a moment.
    #[must_use]
    pub(crate) fn offset_seconds_at(&self, utc_micros: i64) -> i64 {
        match self {
            TimeZone::Offset(minutes) => i64::from(*minutes) * 60,
            TimeZone::Named { rules, .. } => jiff::Timestamp::from_microsecond(utc_micros)
                .map_or(0, |at| i64::from(rules.to_offset(at).seconds())),
        }
    }

    /// The fields a clock in this zone shows at a moment; the zero date for what no calendar holds.
    #[must_use]
    pub fn from_utc(&self, utc_micros: i64) -> DateTime {
        let local = utc_micros + self.offset_seconds_at(utc_micros) * MICROS_PER_SECOND;
        DateTime::from_linear_micros(local + UNIX_EPOCH_DAY * MICROS_PER_DAY).unwrap_or(DateTime::ZERO)
    }

    /// The moment these fields mean in this zone.
    #[must_use]
    pub fn to_utc(&self, value: DateTime) -> i64 {
        let local = value.linear_micros() - UNIX_EPOCH_DAY * MICROS_PER_DAY;
        match self {
            TimeZone::Offset(minutes) => local - i64::from(*minutes) * 60 * MICROS_PER_SECOND,
            TimeZone::Named { rules, .. } => {
                let civil = jiff::civil::DateTime::new(
                    value.year as i16,
                    value.month.max(1) as i8,
                    value.day.max(1) as i8,
                    value.hour as i8,
                    value.minute as i8,
                    value.second as i8,
                    value.micros as i32 * 1000,
                );
                let Ok(civil) = civil else {
                    return local;
                };
                let ambiguous = rules.to_ambiguous_timestamp(civil);
                match ambiguous.offset() {
                    tz::AmbiguousOffset::Unambiguous { offset } => {
                        local - i64::from(offset.seconds()) * MICROS_PER_SECOND
                    }
                    tz::AmbiguousOffset::Fold { before, .. } => {
                        local - i64::from(before.seconds()) * MICROS_PER_SECOND
                    }
                    tz::AmbiguousOffset::Gap { before, after } => {
                        // The first moment after the gap: where the clock jumped.
                        let wrong = local - i64::from(after.seconds()) * MICROS_PER_SECOND;
                        let start = jiff::Timestamp::from_microsecond(wrong)
                            .ok()
                            .and_then(|at| rules.following(at).next())
                            .map(|transition| transition.timestamp().as_microsecond());
                        start.unwrap_or(local - i64::from(before.seconds()) * MICROS_PER_SECOND)
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_and_fields() {
        let berlin = TimeZone::parse("Europe/Berlin").unwrap();
        let winter = DateTime { hour: 12, ..DateTime::date(2024, 1, 1) };
        assert_eq!(berlin.to_utc(winter), 1_704_106_800 * MICROS_PER_SECOND);
        assert_eq!(berlin.from_utc(1_704_106_800 * MICROS_PER_SECOND), winter);
        // 2024-03-31 02:30 does not exist; 2024-10-27 02:30 exists twice, the first is meant.
        let gap = DateTime { hour: 2, minute: 30, ..DateTime::date(2024, 3, 31) };
        assert_eq!(berlin.to_utc(gap), 1_711_846_800 * MICROS_PER_SECOND);
        let twice = DateTime { hour: 2, minute: 30, ..DateTime::date(2024, 10, 27) };
        assert_eq!(berlin.to_utc(twice), 1_729_989_000 * MICROS_PER_SECOND);
        assert_eq!(TimeZone::parse("-05:30"), Some(TimeZone::Offset(-330)));
        for bad in ["", "+15:00", "nowhere/land", "+1", "5:00"] {
            assert_eq!(TimeZone::parse(bad), None, "{bad}");
        }
        assert_eq!(TimeZone::UTC.from_utc(0), DateTime::date(1970, 1, 1));
    }
}
