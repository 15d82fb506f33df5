//! STR_TO_DATE: a text read by a format.

use super::calendar::{self, WeekMode, day_number};
use super::format::{day_names, month_names};
use super::{DateTime, Time};

/// What a format found in a text.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Scanned {
    /// The date and the time of day; the hours of `time` may exceed 23 if there is no date.
    pub date: DateTime,
    /// The time of day or length of time.
    pub time: Time,
    /// The text went on after the format was used up.
    pub rest: bool,
}

struct Reader<'t> {
    text: &'t [u8],
    at: usize,
}

impl Reader<'_> {
    fn number(&mut self, digits_max: usize) -> Option<u32> {
        let count =
            self.text[self.at..].iter().take(digits_max).take_while(|byte| byte.is_ascii_digit()).count();
        let value =
            self.text[self.at..self.at + count].iter().fold(0, |n, &digit| n * 10 + u32::from(digit - b'0'));
        self.at += count;
        (count > 0).then_some(value)
    }

    fn name(&mut self, names: &[&str], letters: Option<usize>) -> Option<u32> {
        let rest = &self.text[self.at..];
        for (i, name) in names.iter().enumerate() {
            let name = &name.as_bytes()[..letters.unwrap_or(name.len()).min(name.len())];
            if rest.len() >= name.len() && rest[..name.len()].eq_ignore_ascii_case(name) {
                self.at += name.len();
                return Some(i as u32);
            }
        }
        None
    }

    fn is_at_end(&self) -> bool {
        self.at >= self.text.len()
    }

    /// `%H:%i:%S`, or `%I:%i:%S %p`, as far as the text goes: hour, minute and second.
    fn clock(&mut self, is_twelve: bool) -> Option<(u32, u32, u32)> {
        let mut hour = self.number(2)?;
        let mut parts = [0, 0];
        for part in &mut parts {
            self.blanks();
            if self.is_at_end() {
                break;
            }
            if self.text[self.at] != b':' {
                return None;
            }
            self.at += 1;
            self.blanks();
            if self.is_at_end() {
                break;
            }
            *part = self.number(2)?;
        }
        if is_twelve {
            self.blanks();
            let is_afternoon = !self.is_at_end() && self.name(&["AM", "PM"], None)? == 1;
            if !(1..=12).contains(&hour) {
                return None;
            }
            hour = hour % 12 + if is_afternoon { 12 } else { 0 };
        }
        Some((hour, parts[0], parts[1]))
    }

    fn blanks(&mut self) {
        while self.text.get(self.at).is_some_and(|&byte| crate::number::is_space(byte)) {
            self.at += 1;
        }
    }
}

/// Reads `text` by `format`. `None` if they do not fit or a part is out of its range.
#[must_use]
pub fn str_to_date(text: &[u8], format: &[u8]) -> Option<Scanned> {
    let mut reader = Reader { text, at: 0 };
    let (mut year, mut month, mut day) = (0u32, 0u32, 0u32);
    let (mut hour, mut minute, mut second, mut micros) = (0u32, 0u32, 0u32, 0u32);
    let (mut pm, mut twelve) = (None, false);
    let (mut year_day, mut weekday, mut week) = (None, None, None);
    let mut week_year = None;
    let mut specifiers = format.iter().copied();
    while let Some(byte) = specifiers.next() {
        // A text of blanks ends as an empty one does: the rest of the format is not asked for.
        reader.blanks();
        if reader.at >= text.len() {
            break;
        }
        if byte != b'%' {
            if !crate::number::is_space(byte) {
                if reader.text.get(reader.at) != Some(&byte) {
                    return None;
                }
                reader.at += 1;
            }
            continue;
        }
        let specifier = specifiers.next()?;
        match specifier {
            b'Y' => {
                let start = reader.at;
                year = reader.number(4)?;
                if reader.at - start <= 2 {
                    year += if year < 70 { 2000 } else { 1900 };
                }
            }
            b'y' => {
                year = reader.number(2)?;
                year += if year < 70 { 2000 } else { 1900 };
            }
            b'm' | b'c' => month = reader.number(2)?,
            b'M' => month = reader.name(month_names(), None)? + 1,
            b'b' => month = reader.name(month_names(), Some(3))? + 1,
            b'd' | b'e' => day = reader.number(2)?,
            b'D' => {
                day = reader.number(2)?;
                // st, nd, rd, th
                reader.at = (reader.at + 2).min(text.len());
            }
            b'H' | b'k' => hour = reader.number(2)?,
            b'h' | b'I' | b'l' => {
                twelve = true;
                hour = reader.number(2)?;
                if !(1..=12).contains(&hour) {
                    return None;
                }
            }
            b'i' => minute = reader.number(2)?,
            b's' | b'S' => second = reader.number(2)?,
            b'f' => {
                let start = reader.at;
                micros = reader.number(6)?;
                for _ in reader.at - start..6 {
                    micros *= 10;
                }
            }
            b'p' => {
                pm = Some(reader.name(&["AM", "PM"], None)? == 1);
                if !twelve {
                    return None;
                }
            }
            b'r' | b'T' => (hour, minute, second) = reader.clock(specifier == b'r')?,
            b'W' => weekday = Some(reader.name(day_names(), None)?),
            b'a' => weekday = Some(reader.name(day_names(), Some(3))?),
            b'w' => {
                let number = reader.number(1)?;
                if number > 6 {
                    return None;
                }
                weekday = Some((number + 6) % 7);
            }
            b'j' => year_day = Some(reader.number(3)?),
            b'U' => week = Some((reader.number(2)?, false, false)),
            b'u' => week = Some((reader.number(2)?, true, false)),
            b'V' => week = Some((reader.number(2)?, false, true)),
            b'v' => week = Some((reader.number(2)?, true, true)),
            b'X' | b'x' => week_year = Some(reader.number(4)?),
            b'.' => {
                while reader.text.get(reader.at).is_some_and(u8::is_ascii_punctuation) {
                    reader.at += 1;
                }
            }
            b'@' => {
                while reader.text.get(reader.at).is_some_and(u8::is_ascii_alphabetic) {
                    reader.at += 1;
                }
            }
            b'#' => {
                while reader.text.get(reader.at).is_some_and(u8::is_ascii_digit) {
                    reader.at += 1;
                }
            }
            other => {
                if reader.text.get(reader.at) != Some(&other) {
                    return None;
                }
                reader.at += 1;
            }
        }
    }
    // What is left of the format after the text ends names nothing.
    if twelve {
        hour %= 12;
        if pm == Some(true) {
            hour += 12;
        }
    }
    // Day 0 names none.
    if let Some(number) = year_day.filter(|number| *number > 0) {
        let date = calendar::date_of_day(day_number(year as u16, 1, 1) + i64::from(number) - 1)?;
        (year, month, day) = (u32::from(date.year), u32::from(date.month), u32::from(date.day));
    }
    if let (Some((week, monday, strict)), Some(weekday)) = (week, weekday) {
        let of_year = if strict { week_year? } else { year };
        if week > 53 || (strict && week == 0) {
            return None;
        }
        let mode = WeekMode { monday_first: monday, range_1_to_53: strict, first_whole: !monday };
        let first = day_number(of_year as u16, 1, 1);
        let at =
            i64::from(if monday { calendar::weekday(first) } else { calendar::weekday_from_sunday(first) });
        let starts_next = if mode.first_whole { at != 0 } else { at > 3 };
        let week_one = if starts_next { first + 7 - at } else { first - at };
        let in_week = if monday { i64::from(weekday) } else { i64::from((weekday + 1) % 7) };
        let date = calendar::date_of_day(week_one + (i64::from(week) - 1) * 7 + in_week)?;
        (year, month, day) = (u32::from(date.year), u32::from(date.month), u32::from(date.day));
    }
    if month > 12 || day > 31 || minute > 59 || second > 59 || hour > 23 {
        return None;
    }
    let rest = text[reader.at..].iter().any(|&byte| !crate::number::is_space(byte));
    let time = Time::new(false, hour, minute as u8, second as u8, micros);
    Some(Scanned { date: DateTime::date(year as u16, month as u8, day as u8), time, rest })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_by_formats() {
        for (text, format, shown) in [
            ("2024-01-31", "%Y-%m-%d", "2024-01-31 00:00:00"),
            ("31/1/24 10:11 PM", "%d/%c/%y %h:%i %p", "2024-01-31 22:11:00"),
            ("January 5, 2024", "%M %e, %Y", "2024-01-05 00:00:00"),
            ("Jan 5th 2024", "%b %D %Y", "2024-01-05 00:00:00"),
            ("10:11:12", "%H:%i:%s", "0000-00-00 10:11:12"),
            ("10:11:12", "%T", "0000-00-00 10:11:12"),
            ("10:11:12 PM", "%r", "0000-00-00 22:11:12"),
            ("10:", "%r", "0000-00-00 10:00:00"),
            ("12:34:56", "%r %T %p", "0000-00-00 00:34:56"),
            ("3", "%r %T", "0000-00-00 03:00:00"),
            (" ", "%a %D", "0000-00-00 00:00:00"),
            ("2", "%j", "0000-01-02 00:00:00"),
            ("2024 032", "%Y %j", "2024-02-01 00:00:00"),
            ("200442 Monday", "%X%V %W", "2004-10-18 00:00:00"),
        ] {
            let scanned = str_to_date(text.as_bytes(), format.as_bytes()).unwrap_or_else(|| panic!("{text}"));
            let mut out = Vec::new();
            scanned.date.with_time(scanned.time).write_datetime(0, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), shown);
        }
        for (text, format) in [
            ("2024-13-01", "%Y-%m-%d"),
            ("x", "%Y"),
            ("13", "%r"),
            ("10x", "%T"),
            ("10:11:12 P", "%r"),
            ("13 PM", "%h %p"),
            ("2024/01", "%Y-%m"),
        ] {
            assert_eq!(str_to_date(text.as_bytes(), format.as_bytes()), None, "{text}");
        }
    }
}
