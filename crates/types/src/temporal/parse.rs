//! Dates and times from text and from numbers.
//!
//! Accepted: `2024-01-31 10:11:12.5` with any punctuation between the parts, `T` or spaces before the time, two-digit
//! years (70..99 are 19xx), and runs of digits (`20240131`, `240131101112`). For a time: `[-][D ]hh:mm:ss.ffffff`,
//! `hh:mm`, `hhmmss`, or a whole date with time. Source: MySQL manual, "Date and Time Literals".

use super::calendar::days_in_month;
use crate::planted::{self, Plant};

use super::{DateTime, MICROS_PER_SECOND, TIME_HOURS_MAX, Time};

/// How a session reads dates: parts of `sql_mode`.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct DateMode {
    /// ALLOW_INVALID_DATES: the day need only be 1..31.
    pub allow_invalid: bool,
    /// NO_ZERO_IN_DATE: month and day must not be zero while another part is not.
    pub no_zero_in_date: bool,
    /// NO_ZERO_DATE: `0000-00-00` is refused.
    pub no_zero_date: bool,
    /// TIME_TRUNCATE_FRACTIONAL: digits of a fraction behind the sixth are cut, not rounded.
    pub truncates_fraction: bool,
}

/// Why there is no date or time.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TemporalError {
    /// The text is none, or a part is out of its range.
    Invalid,
    /// A zero date, or a date with zero parts, which the mode refuses.
    Zero,
}

/// A date with time read from text.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ParsedDateTime {
    /// The fields.
    pub value: DateTime,
    /// A time of day was written.
    pub has_time: bool,
    /// Punctuation stood between its parts, and no blank: it may be a time of day rather than a date.
    pub has_delimiters_only: bool,
    /// Something that does not belong followed.
    pub truncated: bool,
    /// `+hh:mm` was written behind it: minutes east of UTC.
    pub offset_minutes: Option<i32>,
    /// The fraction rounded up to the next second: the caller adds one to `value`.
    pub carry: bool,
}

/// A time read from text.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ParsedTime {
    /// The time, clipped to ±838:59:59.
    pub value: Time,
    /// Something that does not belong followed.
    pub truncated: bool,
    /// It was outside the range and is clipped.
    pub out_of_range: bool,
    /// The text was a whole date with time.
    pub from_datetime: bool,
}

impl DateMode {
    /// Is this a date the mode accepts? Time fields are not looked at.
    ///
    /// # Errors
    /// `Invalid` for a day that does not exist, `Zero` for refused zero parts.
    pub fn check(self, value: DateTime) -> Result<(), TemporalError> {
        if value.is_zero_date() {
            return if self.no_zero_date { Err(TemporalError::Zero) } else { Ok(()) };
        }
        if value.has_zero_part() {
            return if self.no_zero_in_date { Err(TemporalError::Zero) } else { Ok(()) };
        }
        let last = days_in_month(value.year, value.month);
        if value.day > last && !self.allow_invalid { Err(TemporalError::Invalid) } else { Ok(()) }
    }
}

fn is_punctuation(byte: u8) -> bool {
    byte.is_ascii_punctuation()
}

fn is_space(byte: u8) -> bool {
    crate::number::is_space(byte)
}

fn digit_run(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// Digits after a point as microseconds, rounded (or cut) at the seventh; the flag says rounding reached a second.
fn fraction_micros(digits: &[u8], truncates: bool) -> (u32, bool) {
    let mut micros = 0;
    for place in 0..6 {
        micros = micros * 10 + digits.get(place).map_or(0, |&digit| u32::from(digit - b'0'));
    }
    if !truncates && digits.get(6).is_some_and(|&digit| digit >= b'5') {
        micros += 1;
    }
    if micros == 1_000_000 { (0, true) } else { (micros, false) }
}

/// Reads `+hh:mm` or `-hh:mm` within -13:59..+14:00, the whole text.
#[must_use]
pub(crate) fn parse_offset(text: &[u8]) -> Option<i32> {
    let (sign, rest) = match text.split_first()? {
        (b'+', rest) => (1, rest),
        (b'-', rest) => (-1, rest),
        _ => return None,
    };
    let colon = rest.iter().position(|&byte| byte == b':')?;
    let (hours, minutes) = (&rest[..colon], &rest[colon + 1..]);
    let number = |digits: &[u8]| -> Option<i32> {
        if digits.is_empty() || digits.len() > 2 || digit_run(digits) != digits.len() {
            return None;
        }
        Some(digits.iter().fold(0, |n, &digit| n * 10 + i32::from(digit - b'0')))
    };
    if minutes.len() != 2 {
        return None;
    }
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    let total = sign * (hours * 60 + minutes);
    (minutes < 60 && (-839..=840).contains(&total) && !(sign < 0 && total == 0)).then_some(total)
}

/// Reads a date, with or without time of day.
///
/// # Errors
/// `Invalid` if the text is none; `Zero` if the mode refuses it.
pub fn parse_datetime(text: &[u8], mode: DateMode) -> Result<ParsedDateTime, TemporalError> {
    let mut at = text.iter().take_while(|&&byte| is_space(byte)).count();
    if !text.get(at).is_some_and(u8::is_ascii_digit) {
        return Err(TemporalError::Invalid);
    }
    let run = text[at..].iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'T').count();
    let compact = matches!(text.get(at + run), None | Some(b'.'));
    let mut fields = [0u32; 6];
    let mut count = 0;
    let mut year_digits = if compact && (run == 4 || run == 8 || run >= 14) { 4 } else { 2 };
    let mut micros = 0;
    let mut carry = false;
    let (mut has_delimiter, mut has_blank) = (false, false);
    let mut two_digit_year = compact && year_digits == 2;
    while count < 6 && text.get(at).is_some_and(u8::is_ascii_digit) {
        let available = digit_run(&text[at..]);
        let take = if compact { available.min(if count == 0 { year_digits } else { 2 }) } else { available };
        if take > 6 {
            return Err(TemporalError::Invalid);
        }
        fields[count] = text[at..at + take].iter().fold(0, |n, &digit| n * 10 + u32::from(digit - b'0'));
        if count == 0 && !compact {
            year_digits = take;
            // A year of one digit is that year.
            two_digit_year = take == 2;
        }
        at += take;
        count += 1;
        if at == text.len() {
            break;
        }
        // `T` between date and time.
        if count == 3 && text[at] == b'T' {
            at += 1;
            continue;
        }
        if count == 6 {
            if text[at] == b'.' {
                let digits = digit_run(&text[at + 1..]);
                (micros, carry) = fraction_micros(&text[at + 1..at + 1 + digits], mode.truncates_fraction);
                at += 1 + digits;
            }
            break;
        }
        // A time zone can follow minutes too.
        if count >= 5 && parse_offset(&text[at..]).is_some() {
            break;
        }
        let mut next = at;
        while let Some(&byte) = text.get(next) {
            if is_space(byte) {
                // Blanks stand only between date and time, or at the end.
                if count != 3 {
                    break;
                }
            } else if !is_punctuation(byte) {
                break;
            }
            has_delimiter = true;
            has_blank |= is_space(byte);
            next += 1;
        }
        if text.get(next).is_some_and(u8::is_ascii_digit) {
            at = next;
        } else {
            if next == text.len() {
                at = next;
            }
            break;
        }
    }
    if count < 3 || year_digits > 4 {
        return Err(TemporalError::Invalid);
    }
    let rest = &text[at..];
    let trimmed = rest.len() - rest.iter().take_while(|&&byte| is_space(byte)).count();
    let rest = &rest[rest.len() - trimmed..];
    let offset_minutes = if count >= 5 { parse_offset(rest) } else { None };
    let truncated = !rest.is_empty() && offset_minutes.is_none();
    let not_zero = fields.iter().any(|&field| field != 0) || micros != 0;
    let mut year = fields[0];
    if two_digit_year && not_zero {
        year += if year < 70 { 2000 } else { 1900 };
    }
    let [_, month, day, hour, minute, second] = fields;
    if year > 9999 || month > 12 || day > 31 || hour > 23 || minute > 59 || second > 59 {
        return Err(TemporalError::Invalid);
    }
    let value = DateTime {
        year: year as u16,
        month: month as u8,
        day: day as u8,
        hour: hour as u8,
        minute: minute as u8,
        second: second as u8,
        micros,
    };
    mode.check(value)?;
    let has_delimiters_only = has_delimiter && !has_blank;
    Ok(ParsedDateTime { value, has_time: count > 3, has_delimiters_only, truncated, offset_minutes, carry })
}

/// Three numbers with punctuation between them, and behind them a blank and what is no digit: a date whose time of day is none.
fn is_date_before_blank(text: &[u8]) -> bool {
    let mut at = 0;
    for field in 0..3 {
        let digits = digit_run(&text[at..]);
        if digits == 0 || (field == 0 && digits < 2) {
            return false;
        }
        at += digits;
        let between =
            text[at..].iter().take_while(|byte| is_punctuation(**byte) || field == 2 && is_space(**byte));
        let between = between.count();
        if between == 0 {
            return false;
        }
        at += between;
        if field == 2 {
            return text[at - between..at].iter().any(|&byte| is_space(byte))
                && text.get(at).is_some_and(|byte| !byte.is_ascii_digit());
        }
    }
    false
}

/// A number and at once what is neither a digit nor between numbers: as long as a date, and none.
fn is_number_before_letter(text: &[u8]) -> bool {
    let digits = digit_run(text);
    digits > 0 && text.get(digits).is_some_and(|&byte| !is_punctuation(byte) && !is_space(byte))
}

/// Reads a time, or the time of day of a whole date.
///
/// # Errors
/// `Invalid` if the text is none or minutes or seconds exceed 59.
pub fn parse_time(text: &[u8]) -> Result<ParsedTime, TemporalError> {
    parse_time_with(text, false)
}

/// As [`parse_time`]; digits of a fraction behind the sixth are rounded, or cut.
///
/// # Errors
/// As [`parse_time`].
pub fn parse_time_with(text: &[u8], truncates_fraction: bool) -> Result<ParsedTime, TemporalError> {
    let mut at = text.iter().take_while(|&&byte| is_space(byte)).count();
    let start = at;
    let negative = text.get(at) == Some(&b'-');
    if negative {
        at += 1;
    }
    if at == text.len() {
        return Err(TemporalError::Invalid);
    }
    if text.len() - at >= 12
        && !negative
        && let Ok(parsed) =
            parse_datetime(&text[start..], DateMode { truncates_fraction, ..DateMode::default() })
        && parsed.has_time
        && (!parsed.has_delimiters_only || planted::is(Plant::TimeFraction))
        && (digit_run(&text[at..]) != 1 || text[at + 1] != b' ')
    {
        let value = parsed.value.time_part();
        return Ok(ParsedTime {
            value,
            truncated: parsed.truncated,
            out_of_range: false,
            from_datetime: true,
        });
    }
    if text.len() - at >= 12 && (is_date_before_blank(&text[at..]) || is_number_before_letter(&text[at..])) {
        return Err(TemporalError::Invalid);
    }
    let number = |at: &mut usize| -> Option<u64> {
        let run = digit_run(&text[*at..]);
        let value = text[*at..*at + run]
            .iter()
            .fold(0u64, |n, &digit| n.saturating_mul(10).saturating_add(u64::from(digit - b'0')));
        *at += run;
        (run > 0).then_some(value)
    };
    let point_first = text[at] == b'.';
    let first = match number(&mut at) {
        Some(value) => value,
        None if point_first && text.get(at + 1).is_some_and(u8::is_ascii_digit) => 0,
        None => return Err(TemporalError::Invalid),
    };
    let after_number = at;
    let blanks = text[at..].iter().take_while(|&&byte| is_space(byte)).count();
    let (mut days, hours, mut minutes, mut seconds);
    (days, minutes, seconds) = (0u64, 0u64, 0u64);
    let colon_digit =
        |at: usize| text.get(at) == Some(&b':') && text.get(at + 1).is_some_and(u8::is_ascii_digit);
    let clock = |at: &mut usize, minutes: &mut u64, seconds: &mut u64| {
        if colon_digit(*at) {
            *at += 1;
            *minutes = number(at).unwrap_or(0);
            if colon_digit(*at) {
                *at += 1;
                *seconds = number(at).unwrap_or(0);
            }
        }
    };
    // A single digit at the end is no hour.
    if blanks > 0 && text.len() - at - blanks > 1 && text[at + blanks].is_ascii_digit() {
        at += blanks;
        days = first;
        let run = digit_run(&text[at..]);
        hours = text[at..at + run]
            .iter()
            .fold(0u64, |n, &d| n.saturating_mul(10).saturating_add(u64::from(d - b'0')));
        at += run;
        clock(&mut at, &mut minutes, &mut seconds);
    } else if colon_digit(after_number) {
        hours = first;
        clock(&mut at, &mut minutes, &mut seconds);
    } else {
        hours = first / 10_000;
        minutes = first / 100 % 100;
        seconds = first % 100;
    }
    let mut micros = 0;
    let mut carry = false;
    if text.get(at) == Some(&b'.') {
        let digits = digit_run(&text[at + 1..]);
        (micros, carry) = fraction_micros(&text[at + 1..at + 1 + digits], truncates_fraction);
        at += 1 + digits;
    }
    let is_too_large = [days, hours].iter().any(|&number| number > u64::from(u32::MAX));
    if minutes > 59 || seconds > 59 || is_too_large || starts_exponent(&text[at..]) {
        return Err(TemporalError::Invalid);
    }
    let truncated = text[at..].iter().any(|&byte| !is_space(byte));
    let hours = days.saturating_mul(24).saturating_add(hours);
    Ok(clip(negative, hours, minutes, seconds, micros, carry, truncated))
}

/// Whether an exponent follows what may be a time: [`parse_time`] refuses it.
#[must_use]
pub fn has_exponent(text: &[u8]) -> bool {
    let blanks = text.iter().take_while(|&&byte| is_space(byte)).count();
    let text = text[blanks..].strip_prefix(b"-").unwrap_or(&text[blanks..]);
    let is_of_time = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b':' | b'.' | b' ');
    let end = text.iter().take_while(|byte| is_of_time(byte)).count();
    end > 0 && starts_exponent(&text[end..])
}

/// `e` and digits, as of a DOUBLE: MySQL takes nothing with them for a time.
fn starts_exponent(text: &[u8]) -> bool {
    match text {
        [b'e' | b'E', b'+' | b'-', digit, ..] | [b'e' | b'E', digit, ..] => digit.is_ascii_digit(),
        _ => false,
    }
}

fn clip(
    negative: bool,
    hours: u64,
    minutes: u64,
    seconds: u64,
    micros: u32,
    carry: bool,
    truncated: bool,
) -> ParsedTime {
    let sign = if negative { -1 } else { 1 };
    if hours > TIME_HOURS_MAX as u64 {
        let value = Time { micros: sign * Time::MAX.micros };
        return ParsedTime { value, truncated, out_of_range: true, from_datetime: false };
    }
    let total = ((hours * 3600 + minutes * 60 + seconds) as i64 + i64::from(carry)) * MICROS_PER_SECOND
        + i64::from(micros);
    let value = Time { micros: sign * total };
    ParsedTime { value: value.clipped(), truncated, out_of_range: !value.in_range(), from_datetime: false }
}

/// Reads a number as a date: YYMMDD, YYYYMMDD, YYMMDDhhmmss or YYYYMMDDhhmmss. The flag says whether a time of day
/// was part of it.
///
/// # Errors
/// As [`parse_datetime`].
pub fn datetime_from_number(number: i64, mode: DateMode) -> Result<(DateTime, bool), TemporalError> {
    const DAY: i64 = 1_000_000;
    if number == 0 {
        mode.check(DateTime::ZERO)?;
        return Ok((DateTime::ZERO, false));
    }
    let (full, has_time) = match number {
        10_000_101_000_000..=99_999_999_999_999 => (number, true),
        101..=691_231 => ((number + 20_000_000) * DAY, false),
        700_101..=991_231 => ((number + 19_000_000) * DAY, false),
        10_000_101..=99_991_231 => (number * DAY, false),
        101_000_000..=691_231_235_959 => (number + 20_000_000_000_000, true),
        700_101_000_000..=991_231_235_959 => (number + 19_000_000_000_000, true),
        _ => return Err(TemporalError::Invalid),
    };
    let (date, time) = (full / DAY, full % DAY);
    let value = DateTime {
        year: (date / 10_000) as u16,
        month: (date / 100 % 100) as u8,
        day: (date % 100) as u8,
        hour: (time / 10_000) as u8,
        minute: (time / 100 % 100) as u8,
        second: (time % 100) as u8,
        micros: 0,
    };
    if value.month > 12 || value.day > 31 || value.hour > 23 || value.minute > 59 || value.second > 59 {
        return Err(TemporalError::Invalid);
    }
    mode.check(value)?;
    Ok((value, has_time))
}

/// Reads a number as a time: hhmmss, or a whole date with time (YYYYMMDDhhmmss).
///
/// # Errors
/// `Invalid` if minutes or seconds exceed 59.
pub fn time_from_number(number: i64) -> Result<ParsedTime, TemporalError> {
    if number >= 10_000_000_000
        && let Ok((value, _)) = datetime_from_number(number, DateMode::default())
    {
        let value = value.time_part();
        return Ok(ParsedTime { value, truncated: false, out_of_range: false, from_datetime: true });
    }
    let magnitude = number.unsigned_abs();
    let (hours, minutes, seconds) = (magnitude / 10_000, magnitude / 100 % 100, magnitude % 100);
    // A number beyond the largest time is out of range before its minutes and seconds are looked at.
    const LARGEST: u64 = TIME_HOURS_MAX as u64 * 10_000 + 5_959;
    if magnitude > LARGEST {
        return Ok(clip(number < 0, TIME_HOURS_MAX as u64 + 1, 0, 0, 0, false, false));
    }
    if minutes > 59 || seconds > 59 {
        return Err(TemporalError::Invalid);
    }
    Ok(clip(number < 0, hours, minutes, seconds, 0, false, false))
}

impl ParsedDateTime {
    /// The value with its fraction rounded to this many digits (or cut off), which can reach the next second or year.
    #[must_use]
    pub fn rounded(self, digits: u8) -> Option<DateTime> {
        let value = if self.carry { self.value.plus_second()? } else { self.value };
        value.round(digits)
    }
}

impl DateTime {
    fn plus_second(self) -> Option<DateTime> {
        let time = self.time_part().micros + MICROS_PER_SECOND;
        if time < super::MICROS_PER_DAY {
            return Some(self.with_time(Time { micros: time }));
        }
        let next = self.day_number() + 1;
        let date = super::calendar::date_of_day(next)?;
        Some(date.with_time(Time { micros: time - super::MICROS_PER_DAY }))
    }

    /// The fraction rounded half up to this many digits. `None` past the year 9999.
    #[must_use]
    pub fn round(self, digits: u8) -> Option<DateTime> {
        if digits >= 6 || self.micros == 0 {
            return Some(self);
        }
        let micros = super::round_micros(i64::from(self.micros), digits);
        let value = DateTime { micros: (micros % MICROS_PER_SECOND) as u32, ..self };
        if micros >= MICROS_PER_SECOND { value.plus_second() } else { Some(value) }
    }

    /// Digits of the fraction beyond this many cut off.
    #[must_use]
    pub fn truncate(self, digits: u8) -> DateTime {
        DateTime { micros: super::truncate_micros(i64::from(self.micros), digits) as u32, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn datetime(text: &str) -> String {
        match parse_datetime(text.as_bytes(), DateMode::default()) {
            Ok(parsed) => {
                let mut out = Vec::new();
                match parsed.rounded(6) {
                    Some(value) => value.write_datetime(6, &mut out),
                    None => out.extend_from_slice(b"overflow"),
                }
                let mut text = String::from_utf8(out).unwrap();
                if parsed.truncated {
                    text.push_str(" cut");
                }
                text
            }
            Err(error) => format!("{error:?}"),
        }
    }

    fn time(text: &str) -> String {
        match parse_time(text.as_bytes()) {
            Ok(parsed) => {
                let mut out = Vec::new();
                parsed.value.write_text(6, &mut out);
                let mut text = String::from_utf8(out).unwrap();
                for (flag, name) in [(parsed.truncated, " cut"), (parsed.out_of_range, " clipped")] {
                    if flag {
                        text.push_str(name);
                    }
                }
                text
            }
            Err(error) => format!("{error:?}"),
        }
    }

    #[test]
    fn dates_in_all_spellings() {
        for (text, shown) in [
            ("2024-01-31", "2024-01-31 00:00:00.000000"),
            ("2024-1-3 4:5:6.7", "2024-01-03 04:05:06.700000"),
            ("24-01-31", "2024-01-31 00:00:00.000000"),
            ("70/01/31", "1970-01-31 00:00:00.000000"),
            ("20240131", "2024-01-31 00:00:00.000000"),
            ("240131", "2024-01-31 00:00:00.000000"),
            ("240131101112", "2024-01-31 10:11:12.000000"),
            ("20240131101112.1234567", "2024-01-31 10:11:12.123457"),
            ("20240131T101112", "2024-01-31 10:11:12.000000"),
            ("2024-01-31T10:11:12", "2024-01-31 10:11:12.000000"),
            ("2024-01-31 23:59:59.9999999", "2024-02-01 00:00:00.000000"),
            ("2024-01-31abc", "2024-01-31 00:00:00.000000 cut"),
            ("2024-02-30", "Invalid"),
            ("2024-13-01", "Invalid"),
            ("2024-00-00", "2024-00-00 00:00:00.000000"),
            ("0000-00-00", "0000-00-00 00:00:00.000000"),
            ("2024-01", "Invalid"),
            ("abc", "Invalid"),
            ("", "Invalid"),
            ("2024-01-31 24:00:00", "Invalid"),
            ("2024-01-31 10", "2024-01-31 10:00:00.000000"),
            ("2024-01-31 10:11:12+02:00", "2024-01-31 10:11:12.000000"),
        ] {
            assert_eq!(datetime(text), shown, "{text}");
        }
        let zero = parse_datetime(b"0000-00-00", DateMode { no_zero_date: true, ..DateMode::default() });
        assert_eq!(zero, Err(TemporalError::Zero));
        assert_eq!(
            parse_datetime(b"2024-01-31 10:11:12+02:00", DateMode::default()).unwrap().offset_minutes,
            Some(120)
        );
    }

    #[test]
    fn times_in_all_spellings() {
        for (text, shown) in [
            ("10:11:12", "10:11:12.000000"),
            ("10:11", "10:11:00.000000"),
            ("1112", "00:11:12.000000"),
            ("12", "00:00:12.000000"),
            ("-10:11:12.5", "-10:11:12.500000"),
            ("1 10:11:12", "34:11:12.000000"),
            ("1 10", "34:00:00.000000"),
            ("839:00:00", "838:59:59.000000 clipped"),
            ("10:60:00", "Invalid"),
            ("2024-01-31 10:11:12", "10:11:12.000000"),
            ("101112.25", "10:11:12.250000"),
            ("10:11:12abc", "10:11:12.000000 cut"),
            ("abc", "Invalid"),
            ("23:59:59.9999999", "24:00:00.000000"),
            ("17:00:00.000000", "17:00:00.000000"),
            ("12:01:02.000000", "12:01:02.000000"),
            ("20240131101112", "10:11:12.000000"),
        ] {
            assert_eq!(time(text), shown, "{text}");
        }
    }

    #[test]
    fn numbers_are_dates_and_times() {
        let date = |number| {
            datetime_from_number(number, DateMode::default()).map(|(value, _)| value.datetime_number())
        };
        assert_eq!(date(240_131), Ok(20_240_131_000_000));
        assert_eq!(date(20_240_131_101_112), Ok(20_240_131_101_112));
        assert_eq!(date(700_101), Ok(19_700_101_000_000));
        assert_eq!(date(100), Err(TemporalError::Invalid));
        assert_eq!(date(-1), Err(TemporalError::Invalid));
        assert_eq!(time_from_number(101_112).unwrap().value.number(), 101_112);
        assert_eq!(time_from_number(-8_390_000).unwrap().value, Time::MIN);
        assert_eq!(time_from_number(8_385_960).unwrap().value, Time::MAX);
        assert!(time_from_number(1_260).is_err());
    }
}
