//! Rows, as the text and the binary protocol hold them. Each function appends one value to a row's payload.
//!
//! A text row is its values one after the other, each [`put_text_bytes`] or [`put_text_null`]. A binary row is
//! [`begin_binary`], the values that are not NULL in order, and [`set_binary_null`] for the others. Nothing here allocates
//! beyond the vector that is written to, and nothing can fail.
//!
//! Source: MySQL 9.7 manual of the client/server protocol, "Text Resultset Row", "Binary Protocol Resultset Row".

use crate::codec::put_lenenc_bytes;
use crate::float_text;

/// Fields of a DATE, DATETIME or TIMESTAMP. Zero dates and zero parts are allowed.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct DateTimeFields {
    /// 0 to 9999.
    pub year: u16,
    /// 0 to 12.
    pub month: u8,
    /// 0 to 31.
    pub day: u8,
    /// 0 to 23.
    pub hour: u8,
    /// 0 to 59.
    pub minute: u8,
    /// 0 to 59.
    pub second: u8,
    /// 0 to 999,999.
    pub micros: u32,
}

/// Fields of a TIME, -838:59:59 to 838:59:59.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct TimeFields {
    /// Below zero.
    pub negative: bool,
    /// 0 to 838; a parameter may hold days, already counted in here.
    pub hours: u32,
    /// 0 to 59.
    pub minute: u8,
    /// 0 to 59.
    pub second: u8,
    /// 0 to 999,999.
    pub micros: u32,
}

// Text protocol.

/// NULL in a text row.
#[inline]
pub fn put_text_null(out: &mut Vec<u8>) {
    out.push(0xfb);
}

/// A string, or any value already printed.
#[inline]
pub fn put_text_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_lenenc_bytes(out, bytes);
}

/// Appends a value printed by `print`, which must write fewer than 251 bytes.
#[inline]
fn put_short(out: &mut Vec<u8>, print: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.push(0);
    print(out);
    let length = out.len() - at - 1;
    debug_assert!(length < 0xfb);
    out[at] = length as u8;
}

/// A signed integer.
#[inline]
pub fn put_text_i64(out: &mut Vec<u8>, value: i64) {
    let mut buffer = itoa::Buffer::new();
    put_lenenc_bytes(out, buffer.format(value).as_bytes());
}

/// An unsigned integer.
#[inline]
pub fn put_text_u64(out: &mut Vec<u8>, value: u64) {
    let mut buffer = itoa::Buffer::new();
    put_lenenc_bytes(out, buffer.format(value).as_bytes());
}

/// A DOUBLE without fixed decimals: the shortest text that reads back as the same number.
pub fn put_text_f64(out: &mut Vec<u8>, value: f64) {
    put_short(out, |out| float_text::write_f64(out, value));
}

/// A FLOAT without fixed decimals: six digits, as MySQL prints it.
pub fn put_text_f32(out: &mut Vec<u8>, value: f32) {
    put_short(out, |out| float_text::write_f32(out, value));
}

/// `YYYY-MM-DD`.
pub fn put_text_date(out: &mut Vec<u8>, value: DateTimeFields) {
    put_short(out, |out| write_date(out, value));
}

/// `YYYY-MM-DD hh:mm:ss`, with `decimals` digits of the second.
pub fn put_text_datetime(out: &mut Vec<u8>, value: DateTimeFields, decimals: u8) {
    put_short(out, |out| write_datetime(out, value, decimals));
}

/// `[-]hh[h]:mm:ss`, with `decimals` digits of the second.
pub fn put_text_time(out: &mut Vec<u8>, value: TimeFields, decimals: u8) {
    put_short(out, |out| write_time(out, value, decimals));
}

#[inline]
fn two(out: &mut Vec<u8>, value: u8) {
    out.extend_from_slice(&[b'0' + value / 10 % 10, b'0' + value % 10]);
}

fn fraction(out: &mut Vec<u8>, micros: u32, decimals: u8) {
    let decimals = usize::from(decimals.min(6));
    if decimals > 0 {
        let mut digits = [b'0'; 6];
        let mut rest = micros;
        for digit in digits.iter_mut().rev() {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        out.push(b'.');
        out.extend_from_slice(&digits[..decimals]);
    }
}

/// Appends `YYYY-MM-DD` without a length.
pub fn write_date(out: &mut Vec<u8>, value: DateTimeFields) {
    two(out, (value.year / 100 % 100) as u8);
    two(out, (value.year % 100) as u8);
    out.push(b'-');
    two(out, value.month);
    out.push(b'-');
    two(out, value.day);
}

/// Appends `YYYY-MM-DD hh:mm:ss[.frac]` without a length.
pub fn write_datetime(out: &mut Vec<u8>, value: DateTimeFields, decimals: u8) {
    write_date(out, value);
    out.push(b' ');
    two(out, value.hour);
    out.push(b':');
    two(out, value.minute);
    out.push(b':');
    two(out, value.second);
    fraction(out, value.micros, decimals);
}

/// Appends `[-]hh[h]:mm:ss[.frac]` without a length.
pub fn write_time(out: &mut Vec<u8>, value: TimeFields, decimals: u8) {
    if value.negative {
        out.push(b'-');
    }
    if value.hours < 100 {
        two(out, value.hours as u8);
    } else {
        let mut buffer = itoa::Buffer::new();
        out.extend_from_slice(buffer.format(value.hours).as_bytes());
    }
    out.push(b':');
    two(out, value.minute);
    out.push(b':');
    two(out, value.second);
    fraction(out, value.micros, decimals);
}

// Binary protocol.

/// Starts a binary row of `column_count` columns: header and NULL bitmap. Returns where the bitmap starts in `out`.
#[inline]
pub fn begin_binary(out: &mut Vec<u8>, column_count: usize) -> usize {
    out.push(0);
    let bitmap = out.len();
    out.resize(bitmap + (column_count + 9) / 8, 0);
    bitmap
}

/// Says that column `index` is NULL; it then has no value in the row.
#[inline]
pub fn set_binary_null(out: &mut [u8], bitmap: usize, index: usize) {
    out[bitmap + (index + 2) / 8] |= 1 << ((index + 2) % 8);
}

/// MEDIUMINT or INT.
#[inline]
pub fn put_binary_i32(out: &mut Vec<u8>, value: i32) {
    out.extend_from_slice(&value.to_le_bytes());
}

/// BIGINT.
#[inline]
pub fn put_binary_i64(out: &mut Vec<u8>, value: i64) {
    out.extend_from_slice(&value.to_le_bytes());
}

/// FLOAT.
#[inline]
pub fn put_binary_f32(out: &mut Vec<u8>, value: f32) {
    out.extend_from_slice(&value.to_le_bytes());
}

/// DOUBLE.
#[inline]
pub fn put_binary_f64(out: &mut Vec<u8>, value: f64) {
    out.extend_from_slice(&value.to_le_bytes());
}

/// Strings, DECIMAL (as text), BIT, JSON (as text), ENUM and SET (as text).
#[inline]
pub fn put_binary_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_lenenc_bytes(out, bytes);
}

/// DATE: length 0 or 4.
pub fn put_binary_date(out: &mut Vec<u8>, value: DateTimeFields) {
    if value.year == 0 && value.month == 0 && value.day == 0 {
        out.push(0);
        return;
    }
    out.push(4);
    put_date_fields(out, value);
}

/// DATETIME and TIMESTAMP: length 0, 4, 7 or 11, the shortest that holds the value.
pub fn put_binary_datetime(out: &mut Vec<u8>, value: DateTimeFields) {
    if value.micros != 0 {
        out.push(11);
    } else if (value.hour, value.minute, value.second) != (0, 0, 0) {
        out.push(7);
    } else {
        put_binary_date(out, value);
        return;
    }
    put_date_fields(out, value);
    out.extend_from_slice(&[value.hour, value.minute, value.second]);
    if value.micros != 0 {
        out.extend_from_slice(&value.micros.to_le_bytes());
    }
}

fn put_date_fields(out: &mut Vec<u8>, value: DateTimeFields) {
    out.extend_from_slice(&value.year.to_le_bytes());
    out.extend_from_slice(&[value.month, value.day]);
}

/// TIME: length 0, 8 or 12.
pub fn put_binary_time(out: &mut Vec<u8>, value: TimeFields) {
    if (value.hours, value.minute, value.second, value.micros) == (0, 0, 0, 0) {
        out.push(0);
        return;
    }
    out.push(if value.micros == 0 { 8 } else { 12 });
    out.push(u8::from(value.negative));
    out.extend_from_slice(&(value.hours / 24).to_le_bytes());
    out.extend_from_slice(&[(value.hours % 24) as u8, value.minute, value.second]);
    if value.micros != 0 {
        out.extend_from_slice(&value.micros.to_le_bytes());
    }
}
