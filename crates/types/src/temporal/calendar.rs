//! Day numbers, lengths of months, weeks, and adding intervals.
//!
//! Day numbers count as MySQL's TO_DAYS: 0000-01-01 is day 1 in the proleptic Gregorian calendar in which, as
//! in MySQL, year 0 is no leap year, so that 0000-03-01 is day 60 and 1970-01-01 is day 719528.

use super::{DateTime, MICROS_PER_DAY, Time};

/// TO_DAYS('1970-01-01').
pub const UNIX_EPOCH_DAY: i64 = 719_528;
/// TO_DAYS('9999-12-31').
pub(crate) const DAY_MAX: i64 = 3_652_424;
/// Day number of 0001-01-01.
const FIRST_OF_YEAR_1: i64 = 366;
/// Days from March 1 of a year to January 1 of the next.
const DAYS_FROM_MARCH: i64 = 306;
const DAYS_OF_400_YEARS: u32 = 146_097;

/// Leap year? Year 0 is none.
#[must_use]
pub const fn is_leap(year: u16) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || (year.is_multiple_of(400) && year != 0))
}

/// Days of a month, 0 for month 0.
#[must_use]
pub const fn days_in_month(year: u16, month: u8) -> u8 {
    match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if is_leap(year) => 29,
        2 => 28,
        _ => 0,
    }
}

/// The number of a day as TO_DAYS gives it. Month and day may be 0.
#[must_use]
pub const fn day_number(year: u16, month: u8, day: u8) -> i64 {
    if year == 0 && month == 0 {
        return 0;
    }
    let (y, m, d) = (year as i64, month as i64, day as i64);
    let mut days = 365 * y + 31 * (m - 1) + d;
    let mut y = y;
    if m <= 2 {
        y -= 1;
    } else {
        days -= (m * 4 + 23) / 10;
    }
    // Integer division toward zero: the year before year 0 adds nothing.
    days + y / 4 - (y / 100 + 1) * 3 / 4
}

/// The date of a day number; `None` outside 0000-01-01..9999-12-31 (numbers below 366 are what MySQL's
/// FROM_DAYS calls zero; the caller decides).
#[must_use]
pub fn date_of_day(number: i64) -> Option<DateTime> {
    if !(1..=DAY_MAX).contains(&number) {
        return None;
    }
    if number < FIRST_OF_YEAR_1 {
        return Some(date_of_year_0(number));
    }
    // Years are counted from March, so that the leap day is a year's last, and in 400 years from year 0.
    let day = (number - FIRST_OF_YEAR_1 + DAYS_FROM_MARCH) as u32;
    let (cycle, day) = (day / DAYS_OF_400_YEARS, day % DAYS_OF_400_YEARS);
    let year = (day - day / (4 * 365) + day / 36_524 - day / (DAYS_OF_400_YEARS - 1)) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    // Five months from March or August on have 153 days.
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let is_next_year = month >= 10;
    let year = cycle * 400 + year + u32::from(is_next_year);
    let month = if is_next_year { month - 9 } else { month + 3 };
    Some(DateTime::date(year as u16, month as u8, day as u8))
}

/// The date of a day of the year 0, which is no leap year in MySQL, as it is in the calendar.
#[cold]
fn date_of_year_0(number: i64) -> DateTime {
    let (mut rest, mut month) = ((number - 1) as u16, 1);
    while rest >= u16::from(days_in_month(0, month)) && month < 12 {
        rest -= u16::from(days_in_month(0, month));
        month += 1;
    }
    DateTime::date(0, month, rest as u8 + 1)
}

/// Day of the week of a day number, Monday 0.
#[must_use]
pub const fn weekday(number: i64) -> u8 {
    (number + 5).rem_euclid(7) as u8
}

/// The same counting with Sunday 0.
#[must_use]
pub const fn weekday_from_sunday(number: i64) -> u8 {
    (number + 6).rem_euclid(7) as u8
}

impl DateTime {
    /// TO_DAYS of its date.
    #[must_use]
    pub const fn day_number(self) -> i64 {
        day_number(self.year, self.month, self.day)
    }

    /// Day of the year from 1.
    #[must_use]
    pub const fn day_of_year(self) -> i64 {
        self.day_number() - day_number(self.year, 1, 1) + 1
    }

    /// Microseconds since the start of day 0; differences between two are exact lengths of time.
    #[must_use]
    pub const fn linear_micros(self) -> i64 {
        self.day_number() * MICROS_PER_DAY + self.time_part().micros
    }

    /// The inverse of [`DateTime::linear_micros`]; `None` outside the calendar.
    #[must_use]
    pub fn from_linear_micros(micros: i64) -> Option<DateTime> {
        let date = date_of_day(micros.div_euclid(MICROS_PER_DAY))?;
        Some(date.with_time(Time { micros: micros.rem_euclid(MICROS_PER_DAY) }))
    }
}

/// How WEEK counts: the manual's table of modes, as three switches.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct WeekMode {
    /// Weeks begin on Monday, else on Sunday.
    pub monday_first: bool,
    /// Numbers run 1..53 and days before the first week belong to the last year's last week; else 0..53.
    pub range_1_to_53: bool,
    /// Week 1 is the first with a whole `first day of week` in the year; else the first with four days or more.
    pub first_whole: bool,
}

impl WeekMode {
    /// The mode of `WEEK(date, mode)`, modes 0..7.
    #[must_use]
    pub const fn new(mode: i64) -> WeekMode {
        let mode = (mode & 7) as u8;
        let monday_first = mode & 1 == 1;
        // Odd modes start weeks on Monday; bit 4 swaps the rule for the first week.
        let first_whole = (mode & 4 != 0) == monday_first;
        WeekMode { monday_first, range_1_to_53: mode & 2 != 0, first_whole }
    }
}

/// Day number of the first day of week 1 of a year.
fn week_one(year: u16, mode: WeekMode) -> i64 {
    let first = day_number(year, 1, 1);
    let at = i64::from(if mode.monday_first { weekday(first) } else { weekday_from_sunday(first) });
    let starts_next = if mode.first_whole { at != 0 } else { at > 3 };
    if starts_next { first + 7 - at } else { first - at }
}

/// The number of the week of a date, and the year it belongs to: -1 is the year before year 0.
#[must_use]
pub fn week(date: DateTime, mode: WeekMode) -> (u8, i32) {
    let day = date.day_number();
    let mut year = date.year;
    let mut start = week_one(year, mode);
    if day < start {
        // Before a week that begins with the year there is only the day 0 of January.
        if !mode.range_1_to_53 && start > day_number(year, 1, 1) {
            return (0, i32::from(year));
        }
        if year == 0 {
            return (52, -1);
        }
        year -= 1;
        start = week_one(year, mode);
    } else if mode.range_1_to_53 && year < 9999 {
        let next = week_one(year + 1, mode);
        if day >= next {
            return (1, i32::from(year) + 1);
        }
    }
    (((day - start) / 7 + 1) as u8, i32::from(year))
}

/// The week, and the year it belongs to, as MySQL counts them for texts and EXTRACT(WEEK FROM ...): of a date without a month the days before
/// the first week are a number without a sign, which is more than a year of weeks.
#[must_use]
pub fn unsigned_week(date: DateTime, mode: WeekMode) -> (u32, i32) {
    if date.month > 0 {
        let (week, year) = week(date, mode);
        return (u32::from(week), year);
    }
    let year = i32::from(date.year);
    if mode.range_1_to_53 {
        let next = day_number(date.year + 1, 1, 1);
        let begins_next = if mode.first_whole {
            (if mode.monday_first { weekday(next) } else { weekday_from_sunday(next) }) == 0
        } else {
            (if mode.monday_first { weekday(next) } else { weekday_from_sunday(next) }) < 4
        };
        if begins_next {
            return (1, year + 1);
        }
    }
    let days = (date.day_number() - week_one(date.year, mode)) as u32;
    (days / 7 + 1, year)
}

/// What DATE_ADD adds: whole months, and an exact length of days and time. Year and month units fill `months`,
/// the others `days` and `micros`.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Interval {
    /// Months, signed.
    pub months: i64,
    /// Days, signed.
    pub days: i64,
    /// Microseconds, signed.
    pub micros: i128,
}

impl DateTime {
    /// The date an interval away: first the months, with the day cut to the month's length, then the exact
    /// part. `None` outside years 0..9999.
    #[must_use]
    pub fn checked_add(self, interval: Interval) -> Option<DateTime> {
        let mut value = self;
        if interval.months != 0 {
            let total =
                (i64::from(self.year) * 12 + i64::from(self.month) - 1).checked_add(interval.months)?;
            if !(0..120_000).contains(&total) {
                return None;
            }
            value.year = (total / 12) as u16;
            value.month = (total % 12) as u8 + 1;
            value.day = value.day.min(days_in_month(value.year, value.month));
        }
        if interval.days != 0 || interval.micros != 0 {
            let linear = i128::from(value.linear_micros())
                + i128::from(interval.days) * i128::from(MICROS_PER_DAY)
                + interval.micros;
            value = DateTime::from_linear_micros(i64::try_from(linear).ok()?)?;
        }
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn day_numbers_run_without_gap() {
        assert_eq!(day_number(1970, 1, 1), UNIX_EPOCH_DAY);
        assert_eq!(day_number(9999, 12, 31), DAY_MAX);
        assert_eq!(day_number(2000, 1, 1), 730_485);
        let mut date = DateTime::date(0, 1, 1);
        for number in 1..=DAY_MAX {
            assert_eq!(date_of_day(number), Some(date), "{number}");
            assert_eq!(date.day_number(), number);
            date.day += 1;
            if date.day > days_in_month(date.year, date.month) {
                date.day = 1;
                date.month += 1;
            }
            if date.month > 12 {
                date.month = 1;
                date.year += 1;
            }
        }
        assert_eq!(date_of_day(DAY_MAX + 1), None);
        assert_eq!(weekday(day_number(2024, 1, 1)), 0);
    }

    #[test]
    fn months_cut_the_day() {
        let leap = DateTime::date(2024, 1, 31);
        assert_eq!(
            leap.checked_add(Interval { months: 1, ..Interval::default() }),
            Some(DateTime::date(2024, 2, 29))
        );
        assert_eq!(
            leap.checked_add(Interval { months: -11, ..Interval::default() }),
            Some(DateTime::date(2023, 2, 28))
        );
        assert_eq!(
            DateTime::date(9999, 12, 31).checked_add(Interval { days: 1, ..Interval::default() }),
            None
        );
    }
}
