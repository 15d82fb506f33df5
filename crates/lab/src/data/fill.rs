//! One value: how it is made, and how it is written as SQL text or as a parameter.

use crate::data::random::Random;

/// 2020-01-01, from which dates are counted.
const DATES_FROM_YEAR: i64 = 2020;
const DAY_S: u64 = 86_400;

/// How a value is made.
#[derive(Clone, Debug, PartialEq)]
pub struct Fill {
    /// What.
    pub kind: FillKind,
    /// Share of NULL, 0..=1.
    pub null_share: f64,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq)]
pub enum FillKind {
    /// `start`, `start + 1` ...: by row in a table, by use as a parameter.
    Serial(i64),
    /// A whole number in `low..=high`.
    Uniform(i64, i64),
    /// The same divided by a power of ten: a DECIMAL.
    Decimal(i64, i64, u32),
    /// The number before plus this.
    PreviousPlus(i64),
    /// As many characters, digits in groups of eleven with a hyphen between.
    Digits(usize),
    /// As many small letters.
    Text(usize),
    /// A DATETIME within as many days from 2020-01-01.
    DateTime(u64),
    /// One of these, each as likely.
    Pick(Vec<String>),
    /// Always this.
    Constant(String),
}

/// A value that was made.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Value<'a> {
    /// NULL.
    Null,
    /// A whole number.
    Int(i64),
    /// Text that may stand without quotes (a decimal).
    Bare(&'a [u8]),
    /// Text.
    Text(&'a [u8]),
}

/// What values are made from.
#[derive(Debug)]
pub struct Source {
    random: Random,
    last: i64,
    scratch: Vec<u8>,
}

impl Source {
    /// A source of its own for each pair.
    #[must_use]
    pub fn new(seed: u64, stream: u64) -> Source {
        Source { random: Random::new(seed, stream), last: 0, scratch: Vec::new() }
    }

    /// Less than `bound`, evenly.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        self.random.below(bound)
    }

    /// The next value of `fill`; `serial` gives the number of the row or use.
    #[inline]
    pub fn next<'a>(&'a mut self, fill: &'a Fill, mut serial: impl FnMut() -> u64) -> Value<'a> {
        if fill.null_share > 0.0 && self.random.unit() < fill.null_share {
            return Value::Null;
        }
        match &fill.kind {
            FillKind::Serial(start) => self.int(start.wrapping_add(serial() as i64)),
            FillKind::Uniform(low, high) => {
                let value = self.random.between(*low, *high);
                self.int(value)
            }
            FillKind::PreviousPlus(more) => self.int(self.last.wrapping_add(*more)),
            FillKind::Decimal(low, high, decimals) => {
                let value = self.random.between(*low, *high);
                self.decimal(value, *decimals)
            }
            FillKind::Digits(count) => self.characters(*count, b'0', 10, true),
            FillKind::Text(count) => self.characters(*count, b'a', 26, false),
            FillKind::DateTime(days) => {
                let second = self.random.below(days.saturating_mul(DAY_S).max(1));
                self.datetime(second)
            }
            FillKind::Pick(list) => {
                Value::Text(list[self.random.below(list.len() as u64) as usize].as_bytes())
            }
            FillKind::Constant(text) => Value::Text(text.as_bytes()),
        }
    }

    #[inline]
    fn int(&mut self, value: i64) -> Value<'static> {
        self.last = value;
        Value::Int(value)
    }

    fn decimal(&mut self, value: i64, decimals: u32) -> Value<'_> {
        let unit = 10u64.pow(decimals);
        let (whole, part) = (value.unsigned_abs() / unit, value.unsigned_abs() % unit);
        let sign = if value < 0 { "-" } else { "" };
        self.scratch.clear();
        self.scratch
            .extend_from_slice(format!("{sign}{whole}.{part:0width$}", width = decimals as usize).as_bytes());
        Value::Bare(&self.scratch)
    }

    /// `count` characters of `base` on from `first`; one random number makes eleven of them.
    fn characters(&mut self, count: usize, first: u8, base: u64, is_grouped: bool) -> Value<'_> {
        const GROUP: usize = 11;
        self.scratch.clear();
        self.scratch.reserve(count);
        let mut bits = 0;
        for index in 0..count {
            let place = index % (GROUP + 1);
            if place == 0 {
                bits = self.random.next();
            }
            if is_grouped && place == GROUP {
                self.scratch.push(b'-');
                continue;
            }
            // The high part of a product with a random fraction is the next digit, the low part the next fraction.
            let product = u128::from(bits) * u128::from(base);
            self.scratch.push(first + (product >> 64) as u8);
            bits = product as u64;
        }
        Value::Text(&self.scratch)
    }

    fn datetime(&mut self, second: u64) -> Value<'_> {
        let (mut day, second) = ((second / DAY_S) as i64, second % DAY_S);
        let mut year = DATES_FROM_YEAR;
        loop {
            let days = if is_leap(year) { 366 } else { 365 };
            if day < days {
                break;
            }
            day -= days;
            year += 1;
        }
        let february = if is_leap(year) { 29 } else { 28 };
        let mut month = 1;
        for days in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
            if day < days {
                break;
            }
            day -= days;
            month += 1;
        }
        let text = format!(
            "{year:04}-{month:02}-{:02} {:02}:{:02}:{:02}",
            day + 1,
            second / 3600,
            second / 60 % 60,
            second % 60
        );
        self.scratch.clear();
        self.scratch.extend_from_slice(text.as_bytes());
        Value::Text(&self.scratch)
    }
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

impl Value<'_> {
    /// Appends the value as an SQL literal.
    #[inline]
    pub(crate) fn put_literal(self, out: &mut Vec<u8>) {
        match self {
            Value::Null => out.extend_from_slice(b"NULL"),
            Value::Int(value) => put_int(out, value),
            Value::Bare(text) => out.extend_from_slice(text),
            Value::Text(text) => {
                out.push(b'\'');
                if text.iter().any(|byte| matches!(byte, b'\'' | b'\\' | 0)) {
                    for &byte in text {
                        match byte {
                            b'\'' => out.extend_from_slice(b"''"),
                            b'\\' => out.extend_from_slice(b"\\\\"),
                            0 => out.extend_from_slice(b"\\0"),
                            byte => out.push(byte),
                        }
                    }
                } else {
                    out.extend_from_slice(text);
                }
                out.push(b'\'');
            }
        }
    }
}

/// Appends decimal digits.
#[inline]
pub(crate) fn put_int(out: &mut Vec<u8>, value: i64) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    let mut left = value.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b'0' + (left % 10) as u8;
        left /= 10;
        if left == 0 {
            break;
        }
    }
    if value < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[at..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(kind: FillKind, stream: u64) -> String {
        let fill = Fill { kind, null_share: 0.0 };
        let mut out = Vec::new();
        Source::new(1, stream).next(&fill, || 41).put_literal(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn values_have_their_form_and_depend_on_the_seed_alone() {
        assert_eq!(text(FillKind::Serial(1), 0), "42");
        assert_eq!(text(FillKind::Constant("it's \\".into()), 0), "'it''s \\\\'");
        let digits = text(FillKind::Digits(30), 0);
        assert_eq!(digits.len(), 32);
        assert!(
            digits[1..31].bytes().enumerate().all(|(index, byte)| if index % 12 == 11 {
                byte == b'-'
            } else {
                byte.is_ascii_digit()
            }),
            "{digits}"
        );
        assert_ne!(digits, text(FillKind::Digits(30), 1));
        assert_eq!(digits, text(FillKind::Digits(30), 0));
        assert!(text(FillKind::Text(9), 3).trim_matches('\'').bytes().all(|byte| byte.is_ascii_lowercase()));
        assert_eq!(text(FillKind::Decimal(-105, -105, 2), 0), "-1.05");
        assert_eq!(text(FillKind::Uniform(i64::MIN, i64::MIN), 0), i64::MIN.to_string());
    }

    #[test]
    fn dates_are_dates() {
        let mut source = Source::new(0, 0);
        for (second, want) in [
            (0, "2020-01-01 00:00:00"),
            (59 * DAY_S, "2020-02-29 00:00:00"),
            (366 * DAY_S + 58 * DAY_S + 3_661, "2021-02-28 01:01:01"),
            (366 * DAY_S - 1, "2020-12-31 23:59:59"),
        ] {
            assert_eq!(source.datetime(second), Value::Text(want.as_bytes()));
        }
    }

    #[test]
    fn a_range_ends_behind_where_it_begins() {
        let mut source = Source::new(3, 3);
        let low = Fill { kind: FillKind::Uniform(1, 1000), null_share: 0.0 };
        let high = Fill { kind: FillKind::PreviousPlus(99), null_share: 0.0 };
        let Value::Int(first) = source.next(&low, || 0) else { panic!("an integer") };
        assert_eq!(source.next(&high, || 0), Value::Int(first + 99));
        let null = Fill { kind: FillKind::Serial(0), null_share: 1.0 };
        assert_eq!(source.next(&null, || 0), Value::Null);
    }
}
