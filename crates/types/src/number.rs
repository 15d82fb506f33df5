//! Integers and floating-point numbers as text, both ways, as MySQL writes and reads them.
//!
//! A DOUBLE prints as the shortest digits that read back as the same number, a FLOAT as six significant digits.
//! Plain notation is used while the first digit stands within fifteen places of the point or the number has a
//! fraction, else `d.ddde-N`.
//! Reading stops at the first byte that does not belong; the caller decides what the rest means.

/// Most characters of a DOUBLE where a text of bounded length is wanted (string functions).
pub(crate) const DOUBLE_TEXT_WIDTH: usize = 23;
/// Most characters of a FLOAT where a text of bounded length is wanted.
pub(crate) const FLOAT_TEXT_WIDTH: usize = 12;

/// Digits `d.ddd` and the power of ten of the first: what both printers lay out.
struct Digits {
    negative: bool,
    digits: [u8; 24],
    count: usize,
    exponent: i32,
}

impl Digits {
    /// Reads `[-]digits[.digits][e[-]digits]`, the output of the shortest-digits printer.
    fn read(text: &str) -> Digits {
        let mut out = Digits { negative: false, digits: [0; 24], count: 0, exponent: 0 };
        let mut point: Option<i32> = None;
        let mut seen = 0;
        let mut bytes = text.as_bytes();
        if let Some(rest) = text.as_bytes().strip_prefix(b"-") {
            out.negative = true;
            bytes = rest;
        }
        let mut leading = 0;
        for (i, &byte) in bytes.iter().enumerate() {
            match byte {
                b'.' => point = Some(seen),
                b'e' | b'E' => {
                    let exponent: i32 = text[text.len() - bytes.len() + i + 1..].parse().unwrap_or(0);
                    out.exponent += exponent;
                    break;
                }
                digit => {
                    seen += 1;
                    if out.count == 0 && digit == b'0' {
                        leading += 1;
                    } else if out.count < 24 {
                        out.digits[out.count] = digit;
                        out.count += 1;
                    }
                }
            }
        }
        out.exponent += point.unwrap_or(seen) - leading - 1;
        while out.count > 0 && out.digits[out.count - 1] == b'0' {
            out.count -= 1;
        }
        out
    }

    fn write(&self, width: usize, out: &mut Vec<u8>) {
        if self.negative {
            out.push(b'-');
        }
        let digits = &self.digits[..self.count];
        if digits.is_empty() {
            out.push(b'0');
            return;
        }
        let exponent = self.exponent;
        let plain_length = if exponent < 0 {
            1 + (-exponent) as usize + digits.len()
        } else if digits.len() > exponent as usize + 1 {
            digits.len() + 1
        } else {
            exponent as usize + 1
        };
        let plain = (-15..15).contains(&exponent) || (exponent >= 0 && digits.len() > exponent as usize + 1);
        if !plain || plain_length + usize::from(self.negative) > width {
            out.push(digits[0]);
            if digits.len() > 1 {
                out.push(b'.');
                out.extend_from_slice(&digits[1..]);
            }
            out.push(b'e');
            out.extend_from_slice(itoa::Buffer::new().format(exponent).as_bytes());
        } else if exponent < 0 {
            out.extend_from_slice(b"0.");
            out.extend(std::iter::repeat_n(b'0', (-exponent - 1) as usize));
            out.extend_from_slice(digits);
        } else {
            let whole = exponent as usize + 1;
            if digits.len() <= whole {
                out.extend_from_slice(digits);
                out.extend(std::iter::repeat_n(b'0', whole - digits.len()));
            } else {
                out.extend_from_slice(&digits[..whole]);
                out.push(b'.');
                out.extend_from_slice(&digits[whole..]);
            }
        }
    }
}

/// Appends an integer.
#[inline]
pub fn write_i64(value: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Appends an integer.
#[inline]
pub fn write_u64(value: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Appends a DOUBLE as a result column shows it.
pub fn write_double(value: f64, out: &mut Vec<u8>) {
    write_double_within(value, usize::MAX, out);
}

/// Appends a DOUBLE, in exponent form if its plain form has more than `width` characters.
pub(crate) fn write_double_within(value: f64, width: usize, out: &mut Vec<u8>) {
    // Whole numbers of up to fifteen digits are common and need no digit search.
    if value.abs() < 1e15 && value == value.trunc() && (value != 0.0 || value.is_sign_positive()) {
        write_i64(value as i64, out);
        return;
    }
    if !value.is_finite() {
        // No expression yields these; a broken one must still print something readable.
        out.extend_from_slice(if value.is_nan() { b"nan" } else { b"inf" });
        return;
    }
    Digits::read(zmij::Buffer::new().format_finite(value)).write(width, out);
}

/// Appends a DOUBLE in at most `width` characters, with as many digits as they hold; false if the first digit and the exponent
/// do not fit either: the text is cut off then. MySQL's `my_gcvt`.
pub(crate) fn write_double_fitted(value: f64, width: usize, out: &mut Vec<u8>) -> bool {
    /// Maximum number of digits before or after the decimal point in plain notation.
    const PLAIN_PLACES_MAX: i32 = 15;
    let end = out.len() + width;
    // Significant digits without trailing zeros, and the position of the decimal point.
    let significant = |count: i32| -> (Vec<u8>, i32) {
        let digits = Digits::read(zmij::Buffer::new().format_finite(value.abs()));
        let count = count.max(1) as usize;
        let digits = if digits.count > count {
            Digits::read(&format!("{:.*e}", count - 1, value.abs()))
        } else {
            digits
        };
        (digits.digits[..digits.count].to_vec(), digits.exponent + 1)
    };
    if value == 0.0 || !value.is_finite() {
        if value == 0.0 && value.is_sign_negative() && width > 1 {
            out.push(b'-');
        }
        out.push(b'0');
        return value.is_finite();
    }
    let start = out.len();
    if value < 0.0 {
        out.push(b'-');
    }
    let mut width = width as i32 - i32::from(value < 0.0);
    let (mut digits, mut point) = significant(width);
    let count = digits.len() as i32;
    let exponent_width = 1 + i32::from(point >= 101 || point <= -99) + i32::from(point >= 11 || point <= -9);
    let plain_width = match point {
        ..=0 => count - point + 2,
        1.. if point < count => count + 1,
        _ => point,
    };
    let mut fits = true;
    let is_plain = (-PLAIN_PLACES_MAX + 1..=PLAIN_PLACES_MAX).contains(&point);
    if is_plain && (plain_width <= width || (point <= width && point >= -1 - exponent_width)) {
        width -= i32::from(point < count) + if point <= 0 { 1 - point } else { 0 };
        if width < count {
            fits = width >= point;
            let text = format!("{:.*}", (width - point).max(0) as usize, value.abs());
            out.extend_from_slice(match text.split_once('.') {
                Some(_) => text.trim_end_matches('0').trim_end_matches('.').as_bytes(),
                None => text.as_bytes(),
            });
            if &out[start..] == b"-0" {
                out.remove(start);
            }
        } else if point <= 0 {
            out.extend_from_slice(b"0.");
            out.extend(std::iter::repeat_n(b'0', point.unsigned_abs() as usize));
            out.extend_from_slice(&digits);
        } else {
            digits.resize(digits.len().max(point as usize), b'0');
            out.extend_from_slice(&digits[..point as usize]);
            if point < count {
                out.push(b'.');
                out.extend_from_slice(&digits[point as usize..]);
            }
        }
    } else {
        width -= 1 + exponent_width + i32::from(point < 1) + i32::from(count > 1);
        fits = width > 0;
        if width < count {
            (digits, point) = significant(width);
        }
        out.push(digits[0]);
        if digits.len() > 1 {
            out.push(b'.');
            out.extend_from_slice(&digits[1..]);
        }
        out.push(b'e');
        out.extend_from_slice(itoa::Buffer::new().format(point - 1).as_bytes());
    }
    out.truncate(end);
    fits
}

/// Appends a FLOAT (a double that holds an `f32`) as a result column shows it: six significant digits.
pub fn write_float(value: f64, out: &mut Vec<u8>) {
    write_float_within(value, usize::MAX, out);
}

/// Appends a FLOAT, in exponent form if its plain form has more than `width` characters.
pub(crate) fn write_float_within(value: f64, width: usize, out: &mut Vec<u8>) {
    if value.abs() < 1e6 && value == value.trunc() && (value != 0.0 || value.is_sign_positive()) {
        write_i64(value as i64, out);
        return;
    }
    if !value.is_finite() {
        out.extend_from_slice(if value.is_nan() { b"nan" } else { b"inf" });
        return;
    }
    // The shortest digits of the f32 if they are few enough, else rounded to six.
    let mut shortest = zmij::Buffer::new();
    let digits = Digits::read(shortest.format_finite(value as f32));
    if digits.count <= 6 {
        digits.write(width, out);
        return;
    }
    use std::io::Write;
    let mut buffer = [0u8; 32];
    let mut rest = &mut buffer[..];
    let written = match write!(rest, "{value:.5e}") {
        Ok(()) => 32 - rest.len(),
        Err(_) => 0,
    };
    Digits::read(std::str::from_utf8(&buffer[..written]).unwrap_or("0")).write(width, out);
}

/// Appends a FLOAT or DOUBLE with exactly `scale` digits after the point (`DOUBLE(10,2)`, ROUND results): the shortest text that is read
/// as this number, rounded if it is longer, with zeros if it is shorter.
pub fn write_fixed(value: f64, scale: u8, out: &mut Vec<u8>) {
    use std::io::Write;
    // Writing to a Vec cannot fail. A number of few digits is its own shortest text.
    if value.abs() < SHORT_MAX / 10_f64.powi(i32::from(scale)) {
        let _ = write!(out, "{value:.*}", usize::from(scale));
        return;
    }
    let begin = out.len();
    let _ = write!(out, "{value}");
    let decimals =
        out[begin..].iter().position(|&byte| byte == b'.').map_or(0, |at| out.len() - begin - at - 1);
    if decimals > usize::from(scale) {
        out.truncate(begin);
        let _ = write!(out, "{value:.*}", usize::from(scale));
        return;
    }
    if decimals == 0 && scale > 0 {
        out.push(b'.');
    }
    out.resize(out.len() + usize::from(scale) - decimals, b'0');
}

/// Every decimal number of up to 15 digits is read as a double of its own.
const SHORT_MAX: f64 = 1e15;

/// A number read from the start of a text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ParsedDouble {
    /// The number; 0 if there was none; the largest double if it is larger.
    pub value: f64,
    /// Bytes that belong to the number, spaces before it included; 0 if there was none.
    pub consumed: usize,
    /// Too large for a double.
    pub overflow: bool,
}

/// Is this byte white space to number parsing?
#[inline]
#[must_use]
pub fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// The part of `text` that is a number, `(start, end)`: after leading spaces, an optional sign, digits with an
/// optional point and an optional exponent. `None` if there is no digit.
#[must_use]
pub(crate) fn scan_number(text: &[u8]) -> Option<(usize, usize)> {
    let start = text.iter().take_while(|&&byte| is_space(byte)).count();
    let mut at = start;
    if matches!(text.get(at), Some(b'+' | b'-')) {
        at += 1;
    }
    let digits = |from: usize| text[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let whole = digits(at);
    at += whole;
    let mut fraction = 0;
    if text.get(at) == Some(&b'.') {
        fraction = digits(at + 1);
        if whole + fraction > 0 {
            at += 1 + fraction;
        }
    }
    if whole + fraction == 0 {
        return None;
    }
    if matches!(text.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(text.get(at + 1), Some(b'+' | b'-')));
        let count = digits(at + 1 + sign);
        if count > 0 {
            at += 1 + sign + count;
        }
    }
    Some((start, at))
}

/// Reads a double from the start of `text`.
#[must_use]
pub fn parse_double(text: &[u8]) -> ParsedDouble {
    let Some((start, end)) = scan_number(text) else {
        return ParsedDouble { value: 0.0, consumed: 0, overflow: false };
    };
    // Short integers are most of what is read.
    if end - start <= 15 && text[start..end].iter().all(u8::is_ascii_digit) {
        let value = text[start..end].iter().fold(0i64, |n, &digit| n * 10 + i64::from(digit - b'0'));
        return ParsedDouble { value: value as f64, consumed: end, overflow: false };
    }
    let value: f64 = std::str::from_utf8(&text[start..end]).ok().and_then(|t| t.parse().ok()).unwrap_or(0.0);
    let overflow = value.is_infinite();
    let value = if overflow { f64::MAX.copysign(value) } else { value };
    ParsedDouble { value, consumed: end, overflow }
}

/// An integer read from the start of a text: magnitude and sign, so that a signed or unsigned target clips it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ParsedInteger {
    /// The number, clipped to what `i128` holds; 0 if there was none.
    pub value: i128,
    /// Bytes that belong to the number, spaces before it included; 0 if there was none.
    pub consumed: usize,
}

/// Reads a sign and digits only, as CAST(text AS SIGNED) does: `1.9` gives 1 and leaves `.9`.
#[must_use]
pub fn parse_integer_prefix(text: &[u8]) -> ParsedInteger {
    let start = text.iter().take_while(|&&byte| is_space(byte)).count();
    let negative = text.get(start) == Some(&b'-');
    let digits_at = start + usize::from(matches!(text.get(start), Some(b'+' | b'-')));
    let count = text[digits_at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    if count == 0 {
        return ParsedInteger { value: 0, consumed: 0 };
    }
    let magnitude = text[digits_at..digits_at + count]
        .iter()
        .fold(0i128, |n, &digit| n.saturating_mul(10).saturating_add(i128::from(digit - b'0')));
    ParsedInteger { value: if negative { -magnitude } else { magnitude }, consumed: digits_at + count }
}

/// Reads a number with point and exponent and rounds it half away from zero, as storing text into an integer
/// column does: `1.5` gives 2, `1e3` gives 1000.
#[must_use]
pub fn parse_integer_rounded(text: &[u8]) -> ParsedInteger {
    let Some((start, end)) = scan_number(text) else {
        return ParsedInteger { value: 0, consumed: 0 };
    };
    let number = &text[start..end];
    if number.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b'+')) {
        return ParsedInteger { consumed: end, ..parse_integer_prefix(&text[start..]) };
    }
    let parsed = crate::decimal::Decimal::parse(number);
    let value =
        parsed.value.to_units(0).unwrap_or(if parsed.value.is_negative() { i128::MIN } else { i128::MAX });
    ParsedInteger { value, consumed: end }
}

/// The nearest integer of a double, half to even, as MySQL rounds when it stores a double into an integer.
#[must_use]
pub fn round_double(value: f64) -> f64 {
    value.round_ties_even()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn double(value: f64) -> String {
        let mut out = Vec::new();
        write_double(value, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn fixed_digits_are_those_of_the_shortest_text() {
        let fixed = |value: f64, scale: u8| {
            let mut out = Vec::new();
            write_fixed(value, scale, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(fixed(0.1, 20), "0.10000000000000000000");
        assert_eq!(fixed(123.456, 2), "123.46");
        assert_eq!(fixed(-1.5e38, 3), format!("-15{}.000", "0".repeat(37)));
        assert_eq!(fixed(1e23, 0), format!("1{}", "0".repeat(23)));
        assert_eq!(fixed(f64::from(0.1_f32), 10), "0.1000000015");
        assert_eq!(fixed(0.0, 2), "0.00");
        assert_eq!(fixed(4_503_599_627_370_497.5, 0), "4503599627370498");
    }

    fn float(value: f32) -> String {
        let mut out = Vec::new();
        write_float(f64::from(value), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn doubles_print_as_the_reference_prints_them() {
        for (value, text) in [
            (1e14, "100000000000000"),
            (1e15, "1e15"),
            (123456789012345.0, "123456789012345"),
            (1234567890123456.0, "1.234567890123456e15"),
            (12345678901234567.0, "1.2345678901234568e16"),
            (1e-4, "0.0001"),
            (1e-5, "0.00001"),
            (1e-15, "0.000000000000001"),
            (1e-16, "1e-16"),
            (1.5e-15, "0.0000000000000015"),
            (1.234_567_890_123_456_8e-10, "0.00000000012345678901234568"),
            (-0.0, "-0"),
            (0.0, "0"),
            (f64::MAX, "1.7976931348623157e308"),
            (2.2e-308, "2.2e-308"),
            (0.1, "0.1"),
            (1.0 / 3.0, "0.3333333333333333"),
            (1e22, "1e22"),
            (100000000000000.3, "100000000000000.3"),
            (-1.5e-7, "-0.00000015"),
            (1e15 + 0.3, "1000000000000000.2"),
        ] {
            assert_eq!(double(value), text);
        }
        let mut out = Vec::new();
        write_double_within(1.234567890123456e-7, DOUBLE_TEXT_WIDTH, &mut out);
        assert_eq!(out, b"1.234567890123456e-7");
    }

    #[test]
    fn doubles_give_up_digits_for_a_width() {
        for (value, width, text, fits) in [
            (-1e10, 3, "-1e", false),
            (1e10, 3, "1e1", false),
            (1e10, 8, "1e10", true),
            (-1e10, 12, "-10000000000", true),
            (123456.789, 3, "1e5", false),
            (123456.789, 6, "123457", true),
            (123456.789, 8, "123456.8", true),
            (1.5e-7, 3, "1e-", false),
            (1.5e-7, 6, "1.5e-7", true),
            (1.5e-7, 12, "0.00000015", true),
            (0.001234567, 3, "0", true),
            (0.001234567, 6, "0.0012", true),
            (0.001234567, 8, "0.001235", true),
            (-0.5, 3, "0", true),
            (1234567.0, 6, "1.23e6", true),
            (12345.669921875, 8, "12345.67", true),
            (12345.669921875, 6, "12346", true),
            (12345.669921875, 12, "12345.669922", true),
            (0.99999, 3, "1", true),
            (1000.0, 3, "1e3", true),
            (f64::from(1.1f32), 40, "1.100000023841858", true),
            (0.0, 3, "0", true),
        ] {
            let mut out = Vec::new();
            let fitted = write_double_fitted(value, width, &mut out);
            assert_eq!(
                (String::from_utf8(out).unwrap().as_str(), fitted),
                (text, fits),
                "{value} in {width}"
            );
        }
    }

    #[test]
    fn floats_print_six_digits() {
        for (value, text) in [
            (1e14f32, "100000000000000"),
            (1e15, "1e15"),
            (123456789012345.0, "123457000000000"),
            (1234567.0, "1234570"),
            (123456.7, "123457"),
            (16777216.0, "16777200"),
            (0.33333, "0.33333"),
            (3.4e38, "3.4e38"),
            (1.2345679e-5, "0.0000123457"),
            (0.1, "0.1"),
        ] {
            assert_eq!(float(value), text);
        }
    }

    #[test]
    fn reading_stops_at_what_does_not_belong() {
        assert_eq!(parse_double(b" 12abc"), ParsedDouble { value: 12.0, consumed: 3, overflow: false });
        assert_eq!(parse_double(b"-1.5e3x").value, -1500.0);
        assert_eq!(parse_double(b"1e").consumed, 1);
        assert_eq!(parse_double(b".").consumed, 0);
        assert!(parse_double(b"1e999").overflow);
        assert_eq!(parse_integer_prefix(b"1.9"), ParsedInteger { value: 1, consumed: 1 });
        assert_eq!(parse_integer_rounded(b"1.5"), ParsedInteger { value: 2, consumed: 3 });
        assert_eq!(parse_integer_rounded(b"-15e-1 "), ParsedInteger { value: -2, consumed: 6 });
        assert_eq!(parse_integer_rounded(b"99999999999999999999").value, 99_999_999_999_999_999_999);
    }
}
