//! FLOAT and DOUBLE as MySQL prints them when their decimals are not fixed.
//!
//! Digits: for a DOUBLE the fewest that read back as the same number; for a FLOAT at most six, rounded. Form, observed on
//! MySQL 9.7: plain while the first digit stands between 10^-15 and 10^14, or at 10^15 if digits follow the point; else
//! `1.5e20` with neither plus sign nor padding.

/// Appends a DOUBLE. Not-a-number and infinity, which no column can hold, print as Rust prints them.
pub fn write_f64(out: &mut Vec<u8>, value: f64) {
    let mut buffer = zmij::Buffer::new();
    write_digits(out, buffer.format(value));
}

/// Appends a FLOAT.
pub fn write_f32(out: &mut Vec<u8>, value: f32) {
    // Six digits of the value as a double: the rounding MySQL does, not the shortest text of the float.
    write_digits(out, &format!("{:.5e}", f64::from(value)));
}

/// Splits `text` (plain or scientific) into digits and exponent and prints them in MySQL's form.
fn write_digits(out: &mut Vec<u8>, text: &str) {
    let mut digits = [0u8; 32];
    let mut count = 0;
    let mut point = None; // Digits before the point.
    let mut exponent = 0i32;
    let mut negative = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'-' => negative = true,
            b'0'..=b'9' => {
                if count < digits.len() {
                    digits[count] = byte;
                    count += 1;
                }
            }
            b'.' => point = Some(count),
            b'e' | b'E' => {
                exponent = text[at + 1..].trim_start_matches('+').parse().unwrap_or(0);
                break;
            }
            _ => {
                out.extend_from_slice(text.as_bytes());
                return;
            }
        }
    }
    let mut decimal_point = point.unwrap_or(count) as i32 + exponent; // value = 0.DIGITS * 10^decimal_point
    let first = digits[..count].iter().position(|&d| d != b'0').unwrap_or(count);
    let last = digits[..count].iter().rposition(|&d| d != b'0').map_or(first, |at| at + 1);
    let digits = &digits[first..last];
    decimal_point -= first as i32;
    if negative {
        out.push(b'-');
    }
    if digits.is_empty() {
        out.push(b'0');
        return;
    }
    let length = digits.len() as i32;
    if (-14..=15).contains(&decimal_point) || (decimal_point > 0 && decimal_point < length) {
        if decimal_point <= 0 {
            out.extend_from_slice(b"0.");
            out.resize(out.len() + decimal_point.unsigned_abs() as usize, b'0');
            out.extend_from_slice(digits);
        } else if decimal_point >= length {
            out.extend_from_slice(digits);
            out.resize(out.len() + (decimal_point - length) as usize, b'0');
        } else {
            let (whole, part) = digits.split_at(decimal_point as usize);
            out.extend_from_slice(whole);
            out.push(b'.');
            out.extend_from_slice(part);
        }
    } else {
        out.push(digits[0]);
        if digits.len() > 1 {
            out.push(b'.');
            out.extend_from_slice(&digits[1..]);
        }
        out.push(b'e');
        let mut buffer = itoa::Buffer::new();
        out.extend_from_slice(buffer.format(decimal_point - 1).as_bytes());
    }
}

#[cfg(test)]
mod tests {
    fn double(value: f64) -> String {
        let mut out = Vec::new();
        super::write_f64(&mut out, value);
        String::from_utf8(out).expect("ASCII")
    }

    fn float(value: f32) -> String {
        let mut out = Vec::new();
        super::write_f32(&mut out, value);
        String::from_utf8(out).expect("ASCII")
    }

    /// Values and texts as MySQL 9.7 gave them.
    #[test]
    fn doubles_print_as_mysql_prints_them() {
        for (value, text) in [
            (1e14, "100000000000000"),
            (1e15, "1e15"),
            (1_234_567_890_123_456.0, "1.234567890123456e15"),
            (1.234_567_890_123_456_7e15, "1234567890123456.8"),
            (9_999_999_999_999_999.0, "1e16"),
            (1e-15, "0.000000000000001"),
            (1.234567e-15, "0.000000000000001234567"),
            (1e-16, "1e-16"),
            (1.797_693_134_862_315_7e308, "1.7976931348623157e308"),
            (5e-324, "5e-324"),
            (0.0, "0"),
            (-0.0, "-0"),
            (-1.5, "-1.5"),
            (1.0 / 3.0, "0.3333333333333333"),
            (123456.789, "123456.789"),
            (1.2345e22, "1.2345e22"),
            (100.0, "100"),
        ] {
            assert_eq!(double(value), text);
        }
    }

    #[test]
    fn floats_print_six_digits_as_mysql_does() {
        for (value, text) in [
            (1e7, "10000000"),
            (1_234_567.0, "1234570"),
            (16_777_216.0, "16777200"),
            (0.1, "0.1"),
            (1e-5, "0.00001"),
            (1.234_567_9e-5, "0.0000123457"),
            (1e14, "100000000000000"),
            (1e15, "1e15"),
            (f32::MAX, "3.40282e38"),
            (1e-45, "1.4013e-45"),
            (-1e20, "-1e20"),
            (1234.5678, "1234.57"),
        ] {
            assert_eq!(float(value), text);
        }
    }
}
