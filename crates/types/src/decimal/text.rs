//! Decimals as text.

use super::wide::{self, POW10, U256};
use super::{Clipped, DIGITS_MAX, Decimal, TEXT_BYTES_MAX};
use std::fmt;

/// What reading a number from text gave.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parsed {
    /// The number; 0 if there was none; clipped if it has too many digits before the point.
    pub value: Decimal,
    /// Bytes of the text that belong to the number, leading spaces included. 0: there was no number.
    pub consumed: usize,
    /// The number had more than 65 digits before the point.
    pub overflow: bool,
    /// Digits after the point were rounded away.
    pub rounded: bool,
}

impl Decimal {
    /// Reads `[spaces][sign]digits[.digits][e[sign]digits]` from the start of the text. A point needs a digit
    /// beside it. Keeps at most 30 digits after the point unless the number was written with an exponent.
    #[must_use]
    pub fn parse(text: &[u8]) -> Parsed {
        let none = Parsed { value: Decimal::ZERO, consumed: 0, overflow: false, rounded: false };
        let mut at = 0;
        while matches!(text.get(at), Some(b' ' | b'\t'..=b'\r')) {
            at += 1;
        }
        let negative = text.get(at) == Some(&b'-');
        if matches!(text.get(at), Some(b'-' | b'+')) {
            at += 1;
        }
        let digits_from =
            |start: usize| text[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let integer = at..at + digits_from(at);
        at = integer.end;
        let mut fraction = at..at;
        if text.get(at) == Some(&b'.') {
            fraction = at + 1..at + 1 + digits_from(at + 1);
            if integer.is_empty() && fraction.is_empty() {
                return none;
            }
            at = fraction.end;
        }
        if integer.is_empty() && fraction.is_empty() {
            return none;
        }
        let mut exponent: i64 = 0;
        if matches!(text.get(at), Some(b'e' | b'E')) {
            let mut p = at + 1;
            let minus = text.get(p) == Some(&b'-');
            if matches!(text.get(p), Some(b'-' | b'+')) {
                p += 1;
            }
            let count = digits_from(p);
            if count > 0 {
                for &digit in &text[p..p + count] {
                    exponent = (exponent * 10 + i64::from(digit - b'0')).min(1_000_000);
                }
                if minus {
                    exponent = -exponent;
                }
                at = p + count;
            }
        }
        let consumed = at;
        // All digits in a row, the point `point` digits after the first.
        let digits = text[integer.clone()].iter().chain(&text[fraction.clone()]).copied();
        let leading = digits.clone().take_while(|&digit| digit == b'0').count();
        let total = integer.len() + fraction.len();
        let point = integer.len() as i64 + exponent;
        if leading == total {
            let scale = (total as i64 - point).clamp(0, 30) as u8;
            return Parsed { value: Decimal { scale, ..Decimal::ZERO }, consumed, ..none };
        }
        let integer_digits = point - leading as i64;
        if integer_digits > 65 {
            return Parsed {
                value: Decimal::limit(65, 0, negative),
                consumed,
                overflow: true,
                rounded: false,
            };
        }
        // Digits that stay: up to 30 after the point, up to DIGITS_MAX in all.
        let kept_scale = (total as i64 - point).clamp(0, 30).min(DIGITS_MAX as i64 - integer_digits.max(0));
        let kept = (point + kept_scale - leading as i64).clamp(0, (total - leading) as i64) as usize;
        let mut coefficient = wide::ZERO;
        let mut small: u128 = 0;
        let mut small_count = 0;
        let mut rest = digits.skip(leading);
        for digit in rest.by_ref().take(kept) {
            small = small * 10 + u128::from(digit - b'0');
            small_count += 1;
            if small_count == 38 {
                coefficient = push(&coefficient, small, small_count);
                small = 0;
                small_count = 0;
            }
        }
        coefficient = if wide::is_zero(&coefficient) {
            wide::from_u128(small)
        } else {
            push(&coefficient, small, small_count)
        };
        let mut rounded = false;
        // Rounding looks at the first digit dropped; it is the very next only if something was kept or the
        // number begins right after the last kept place.
        let first_dropped_is_next = point + kept_scale - leading as i64 >= 0;
        for (i, digit) in rest.enumerate() {
            rounded |= digit != b'0';
            if i == 0 && digit >= b'5' && first_dropped_is_next {
                coefficient = wide::add(&coefficient, &[1, 0, 0, 0]).unwrap_or(coefficient);
            }
        }
        // Zeros an exponent puts between the last digit and the last place.
        let filled = (point + kept_scale - total as i64).max(0) as usize;
        let coefficient = wide::mul_pow10(&coefficient, filled).unwrap_or(coefficient);
        match Decimal::checked(coefficient, kept_scale as u8, negative) {
            Some(value) => Parsed { value, consumed, overflow: false, rounded },
            None => Parsed { value: Decimal::limit(65, 0, negative), consumed, overflow: true, rounded },
        }
    }

    /// Reads text that is a number and nothing else.
    #[must_use]
    pub fn parse_exact(text: &[u8]) -> Option<Decimal> {
        let parsed = Decimal::parse(text);
        (parsed.consumed == text.len() && !text.is_empty() && !parsed.overflow).then_some(parsed.value)
    }

    /// Writes the number into `buffer` with all digits of its scale and gives the part used.
    pub fn format<'a>(&self, buffer: &'a mut [u8; TEXT_BYTES_MAX]) -> &'a [u8] {
        let mut at = TEXT_BYTES_MAX;
        let mut written = 0;
        let scale = self.scale as usize;
        let mut digit = |at: &mut usize, d: u8| {
            if written == scale && scale > 0 {
                *at -= 1;
                buffer[*at] = b'.';
            }
            *at -= 1;
            buffer[*at] = b'0' + d;
            written += 1;
        };
        let mut rest = self.coefficient;
        while wide::to_u128(&rest).is_none_or(|small| small > u128::from(u64::MAX)) {
            // Nineteen digits a step.
            let (quotient, low) = wide::div_rem(&wide::widen(&rest), &POW10[19]);
            let mut low = low[0];
            for _ in 0..19 {
                digit(&mut at, (low % 10) as u8);
                low /= 10;
            }
            rest = [quotient[0], quotient[1], quotient[2], quotient[3]];
        }
        let mut low = rest[0];
        while low > 0 {
            digit(&mut at, (low % 10) as u8);
            low /= 10;
        }
        while TEXT_BYTES_MAX - at - usize::from(TEXT_BYTES_MAX - at > scale && scale > 0) < scale + 1 {
            digit(&mut at, 0);
        }
        if self.negative {
            at -= 1;
            buffer[at] = b'-';
        }
        &buffer[at..]
    }

    /// Appends the number as text with all digits of its scale.
    pub fn write_text(&self, out: &mut Vec<u8>) {
        let mut buffer = [0; TEXT_BYTES_MAX];
        out.extend_from_slice(self.format(&mut buffer));
    }
}

fn push(high: &U256, low: u128, low_digits: usize) -> U256 {
    wide::mul_pow10(high, low_digits)
        .and_then(|shifted| wide::add(&shifted, &wide::from_u128(low)))
        .unwrap_or(*high)
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut buffer = [0; TEXT_BYTES_MAX];
        f.write_str(std::str::from_utf8(self.format(&mut buffer)).unwrap_or(""))
    }
}

impl fmt::Debug for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<Clipped<Decimal>> for Decimal {
    fn from(clipped: Clipped<Decimal>) -> Decimal {
        clipped.0
    }
}
