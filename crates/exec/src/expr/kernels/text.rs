//! String functions. Positions and lengths count characters of the text's character set.

use super::super::compile::{Class, ScalarKernel};
use super::super::context::{SqlResult, sql_mode};
use super::super::convert::truncated;
use super::super::program::{Kernel, Row};
use super::put;
use plan::expr::{CallOption, Coercibility, Expr, ExprKind};
use plan::function::FunctionId;
use service::error::ER_UNKNOWN_LOCALE;
use types::charset::Charset;
use types::locale::LocaleId;
use types::temporal::DateTime;
use types::{Cell, CollationId, DataType, TypeKind, Value, base64, number};

/// Bytes from the first bad one on that error 1300 of CHAR shows.
const SHOWN_BAD_BYTES: usize = 3;

pub(super) fn scalar_kernel(function: FunctionId, args: &[Expr], result: &DataType) -> Option<ScalarKernel> {
    use Class::{Any, Bytes, Double, Int, Text, Utf8};
    use FunctionId as F;
    let plain = |kernel: Kernel, classes: &'static [Class]| {
        Some(ScalarKernel { kernel, classes, null_propagates: true })
    };
    let nulls = |kernel: Kernel, classes: &'static [Class]| {
        Some(ScalarKernel { kernel, classes, null_propagates: false })
    };
    let integer = args.first().is_some_and(|arg| arg.data_type.is_integer());
    match function {
        F::Ascii => plain(|r| r.put_int(i64::from(r.bytes(0).first().copied().unwrap_or(0))), &[Text]),
        F::BitLength => plain(|r| r.put_int(r.bytes(0).len() as i64 * 8), &[Text]),
        F::Length => plain(|r| r.put_int(r.bytes(0).len() as i64), &[Text]),
        F::CharLength => plain(char_length, &[Text]),
        F::Bin | F::Oct if integer => plain(radix, &[Int]),
        F::Bin | F::Oct => plain(radix, &[Text]),
        F::Conv if args.first().is_some_and(|arg| arg.data_type.kind == TypeKind::Bit) => plain(conv, &[Int]),
        F::Conv => plain(conv, &[Text, Int, Int]),
        F::Char => nulls(char, &[Int]),
        F::Concat => plain(concat, &[Text]),
        F::ConcatWs => nulls(concat_ws, &[Text]),
        F::Elt => nulls(elt, &[Int, Text]),
        F::ExportSet => plain(export_set, &[Int, Text, Text, Text, Int]),
        F::Field => {
            let all_text = args
                .iter()
                .map(|arg| &arg.data_type)
                .all(|of| of.is_string() || of.members.is_some() || of.kind == TypeKind::Null);
            let all_int = args.iter().all(|arg| arg.data_type.is_integer());
            if all_text {
                nulls(field_text, &[Text])
            } else if all_int {
                nulls(field_int, &[Int])
            } else {
                nulls(field_double, &[Double])
            }
        }
        F::FindInSet => plain(find_in_set, &[Text]),
        F::Format => {
            if args
                .first()
                .is_some_and(|arg| arg.data_type.is_integer() || arg.data_type.kind == TypeKind::Decimal)
            {
                nulls(format_decimal, &[Class::Decimal, Int, Utf8])
            } else {
                nulls(format_double, &[Double, Int, Utf8])
            }
        }
        F::FromBase64 => plain(from_base64, &[Bytes]),
        F::ToBase64 => plain(to_base64, &[Bytes]),
        F::Hex => {
            if args.first().is_some_and(|arg| arg.data_type.is_numeric()) {
                plain(hex_number, &[Int])
            } else {
                plain(hex_bytes, &[Bytes])
            }
        }
        F::Unhex => plain(unhex, &[Bytes]),
        F::Insert => plain(insert, &[Text, Int, Int, Text]),
        F::Instr => plain(|r| locate(r, 1, 0), &[Text]),
        F::Locate => plain(|r| locate(r, 0, 1), &[Text, Text, Int]),
        F::Left => plain(left, &[Text, Int]),
        F::Right => plain(right, &[Text, Int]),
        F::Lower => plain(
            |r| {
                let collation = text_collation(r);
                let text = r.bytes(0);
                r.put_with(|out| collation.lower(text, out))
            },
            &[Text],
        ),
        F::Upper => plain(
            |r| {
                let collation = text_collation(r);
                let text = r.bytes(0);
                r.put_with(|out| collation.upper(text, out))
            },
            &[Text],
        ),
        F::Lpad => plain(|r| pad(r, true), &[Text, Int, Text]),
        F::Rpad => plain(|r| pad(r, false), &[Text, Int, Text]),
        F::Trim => plain(|r| trim(r, true, true), &[Text]),
        F::LTrim => plain(|r| trim(r, true, false), &[Text]),
        F::RTrim => plain(|r| trim(r, false, true), &[Text]),
        F::MakeSet => nulls(make_set, &[Int, Text]),
        F::Ord => plain(ord, &[Text]),
        F::Quote => nulls(quote, &[Text]),
        F::Repeat => plain(repeat, &[Text, Int]),
        F::Replace => plain(replace, &[Text]),
        F::Reverse => plain(reverse, &[Text]),
        F::Soundex => plain(soundex, &[Utf8]),
        F::Space => plain(space, &[Int]),
        F::Strcmp => plain(
            |r| {
                // Beside a number or a date the bytes of the texts decide.
                let is_text = |of: &DataType| {
                    of.is_string()
                        || matches!(of.kind, TypeKind::Enum | TypeKind::Set | TypeKind::Json | TypeKind::Null)
                };
                let has_texts_only = r.call.types.iter().all(is_text);
                let collation = if has_texts_only { text_collation(r) } else { CollationId::BINARY };
                let order = collation.compare(r.bytes(0), r.bytes(1));
                r.put_int(order as i64)
            },
            &[Text],
        ),
        F::Substring => plain(substring, &[Text, Int, Int]),
        F::SubstringIndex => plain(substring_index, &[Text, Text, Int]),
        F::WeightString => match args.first().map(|arg| &arg.data_type) {
            Some(of) if !of.is_string() && of.kind != TypeKind::Json => plain(weight_of_number, &[Any]),
            _ => plain(weight_string, &[Text]),
        },
        F::BitCount => {
            if args.first().is_some_and(|arg| arg.data_type.is_binary_string()) {
                plain(
                    |r| r.put_int(r.bytes(0).iter().map(|byte| i64::from(byte.count_ones())).sum()),
                    &[Bytes],
                )
            } else {
                plain(|r| r.put_int(i64::from(r.int(0).count_ones())), &[Int])
            }
        }
        F::BitAnd | F::BitOr | F::BitXor if result.is_string() => plain(bytes_logic, &[Bytes]),
        F::BitNot if result.is_string() => plain(
            |r| {
                let bytes: Vec<u8> = r.bytes(0).iter().map(|byte| !byte).collect();
                r.put_bytes(&bytes)
            },
            &[Bytes],
        ),
        F::ShiftLeft | F::ShiftRight if result.is_string() => plain(bytes_shift, &[Bytes, Int]),
        _ => None,
    }
}

/// What COERCIBILITY says. The position that LOCATE and its like find has the coercibility of the text that is searched.
/// What CHARSET(), COLLATION() and COERCIBILITY() give of an expression.
pub(in crate::expr) fn property(function: FunctionId, of: &Expr) -> Value {
    // A JSON column has another collation than what is computed has.
    let collation = if is_json_column(of) { CollationId::BINARY } else { collation_of(&of.data_type) };
    let name = match function {
        FunctionId::Coercibility => return Value::Int(coercibility(of)),
        FunctionId::Charset => collation.charset().name(),
        _ => collation.name(),
    };
    Value::string(name, CollationId::UTF8MB4_0900_AI_CI)
}

fn coercibility(expr: &Expr) -> i64 {
    let ExprKind::Call { function, args, .. } = &expr.kind else { return own_coercibility(expr) };
    let is_text = |arg: &Expr| arg.data_type.is_string() || arg.data_type.kind == TypeKind::Null;
    let searched = match function {
        FunctionId::Instr => &args[0],
        FunctionId::Locate => &args[1],
        FunctionId::Field if args.iter().all(is_text) => &args[0],
        FunctionId::RegexpInstr if args[..2].iter().all(is_text) => {
            return args[..2].iter().map(own_coercibility).min().unwrap_or(6);
        }
        _ => return own_coercibility(expr),
    };
    // A number is a literal there.
    own_coercibility(searched).min(if is_text(searched) { 6 } else { Coercibility::Literal as i64 })
}

fn own_coercibility(expr: &Expr) -> i64 {
    // What IF and CASE choose of BIT values is a number.
    let chooses =
        matches!(expr.kind, ExprKind::Case { .. } | ExprKind::Call { function: FunctionId::If, .. });
    if chooses && expr.data_type.kind == TypeKind::Bit {
        return Coercibility::Numeric as i64;
    }
    let is_column = matches!(expr.data_type.kind, TypeKind::Json | TypeKind::Bit);
    if is_column { Coercibility::Implicit as i64 } else { expr.coercibility as i64 }
}

/// The collation that a value is said to have: documents compare as utf8mb4_bin and are said to be bytes.
fn is_json_column(expr: &Expr) -> bool {
    expr.data_type.kind == TypeKind::Json && matches!(expr.kind, ExprKind::Input(_) | ExprKind::Outer(_))
}

fn collation_of(data_type: &DataType) -> CollationId {
    if data_type.is_string() || data_type.members.is_some() {
        data_type.collation
    } else if data_type.kind == TypeKind::Json {
        CollationId::UTF8MB4_BIN
    } else {
        CollationId::BINARY
    }
}

/// The collation of the text arguments.
fn text_collation(r: &Row<'_, '_>) -> CollationId {
    let of = |data_type: &DataType| data_type.is_string() || data_type.members.is_some();
    if of(&r.call.result) {
        return r.call.result.collation;
    }
    r.call
        .types
        .iter()
        .find(|data_type| of(data_type))
        .map_or(CollationId::UTF8MB4_0900_AI_CI, |data_type| data_type.collation)
}

fn charset(r: &Row<'_, '_>) -> Charset {
    text_collation(r).charset()
}

fn char_length(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let count = charset(r).char_count(r.bytes(0));
    r.put_int(count as i64)
}

fn digits_in(mut value: u64, base: u64, out: &mut Vec<u8>) {
    let start = out.len();
    loop {
        let digit = (value % base) as u8;
        out.push(if digit < 10 { b'0' + digit } else { b'A' + digit - 10 });
        value /= base;
        if value == 0 {
            break;
        }
    }
    out[start..].reverse();
}

fn radix(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let base = if r.call.name == "bin" { 2 } else { 8 };
    let is_integer = r.call.types[0].is_integer();
    if !is_integer && r.bytes(0).is_empty() {
        return r.null();
    }
    let value = if is_integer { r.int(0) as u64 } else { conv_value(r, 10)? as u64 };
    r.put_with(|out| digits_in(value, base, out))
}

/// Reads digits of a base in the first argument: a negative number keeps its 64 bits. No digit and too large a number are warned of.
fn conv_value(r: &mut Row<'_, '_>, base: u32) -> SqlResult<i128> {
    let (value, is_whole) = parse_digits(r.bytes(0), base);
    if !is_whole {
        truncated("DECIMAL", r.bytes(0), &r.call.types[0], r.ctx)?;
    }
    Ok(value)
}

/// The number that a text begins with; `false`: there is no digit, or it is too large. What is too far below zero is one less than 64 bits hold.
fn parse_digits(text: &[u8], base: u32) -> (i128, bool) {
    let text = text.trim_ascii_start();
    let (negative, digits) = match text.split_first() {
        Some((b'-', rest)) => (true, rest),
        Some((b'+', rest)) => (false, rest),
        _ => (false, text),
    };
    let (mut value, mut is_whole, mut is_beyond): (i128, bool, bool) = (0, false, false);
    for (at, &byte) in digits.iter().enumerate() {
        let Some(digit) = char::from(byte).to_digit(base) else { break };
        is_whole = at == 0 || is_whole;
        value = value * i128::from(base) + i128::from(digit);
        if value > i128::from(u64::MAX) {
            value = i128::from(u64::MAX);
            is_whole = false;
            is_beyond = true;
        }
    }
    match (negative, is_beyond) {
        (true, true) => (-value - 1, is_whole),
        (true, false) => (-value, is_whole),
        (false, _) => (value, is_whole),
    }
}

fn conv(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let (from, to) = (r.int(1), r.int(2));
    let valid = |base: i64| (2..=36).contains(&base.unsigned_abs());
    let is_bit = r.call.types[0].kind == TypeKind::Bit;
    if !valid(from) || !valid(to) || !is_bit && r.bytes(0).is_empty() {
        return r.null();
    }
    let value = if is_bit { r.wide(0) } else { conv_value(r, from.unsigned_abs() as u32)? };
    // A base below zero reads a signed number; of another one the sign is taken of what 64 bits hold.
    let bits = if is_bit {
        value as u64
    } else if from < 0 {
        (value.clamp(i64::MIN.into(), i64::MAX.into()) as i64).cast_unsigned()
    } else if value == -i128::from(u64::MAX) - 1 {
        0
    } else {
        value as u64
    };
    r.put_with(|out| {
        if to < 0 && (bits as i64) < 0 {
            out.push(b'-');
            digits_in((bits as i64).unsigned_abs(), to.unsigned_abs(), out);
        } else {
            digits_in(bits, to.unsigned_abs(), out);
        }
    })
}

fn char(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let codes: Vec<i64> = (0..r.count()).filter(|&i| !r.is_null(i)).map(|i| r.int(i)).collect();
    let charset = r.call.result.collation.charset();
    let mut text = Vec::new();
    for code in codes {
        let bytes = (code as u32).to_be_bytes();
        let skip = bytes.iter().take_while(|&&byte| byte == 0).count().min(3);
        text.extend_from_slice(&charset.whole_units(&bytes[skip..]));
    }
    if let Err(bad) = charset.validate(&text) {
        let shown: String =
            text[bad.position..].iter().take(SHOWN_BAD_BYTES).map(|byte| format!("{byte:02X}")).collect();
        r.ctx.warn(service::error::ER_INVALID_CHARACTER_STRING, &[&charset.name(), &shown]);
        // Every byte is a character of ASCII to MySQL here.
        if charset != Charset::Ascii {
            if r.ctx.settings.has(sql_mode::STRICT) {
                return r.null();
            }
            text.truncate(bad.position);
        }
    }
    r.put_bytes(&text)
}

fn concat(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let total: usize = (0..r.count()).map(|i| r.bytes(i).len()).sum();
    if r.too_large(total)? {
        return Ok(());
    }
    let args = r.args;
    let row = r.row;
    put(r.out, |out| {
        for arg in args {
            out.extend_from_slice(arg.bytes(row));
        }
    });
    Ok(())
}

fn concat_ws(r: &mut Row<'_, '_>) -> SqlResult<()> {
    if r.is_null(0) {
        return r.null();
    }
    let total: usize =
        (1..r.count()).filter(|&i| !r.is_null(i)).map(|i| r.bytes(i).len() + r.bytes(0).len()).sum();
    if r.too_large(total)? {
        return Ok(());
    }
    let (args, row, separator) = (r.args, r.row, r.bytes(0));
    put(r.out, |out| {
        let mut first = true;
        for arg in &args[1..] {
            if arg.is_null(row) {
                continue;
            }
            if !first {
                out.extend_from_slice(separator);
            }
            first = false;
            out.extend_from_slice(arg.bytes(row));
        }
    });
    Ok(())
}

fn elt(r: &mut Row<'_, '_>) -> SqlResult<()> {
    if r.is_null(0) {
        return r.null();
    }
    let index = r.wide(0);
    if index < 1 || index >= r.count() as i128 || r.is_null(index as usize) {
        return r.null();
    }
    let text = r.bytes(index as usize);
    r.put_bytes(text)
}

fn export_set(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let bits = r.int(0) as u64;
    let count = if r.count() > 4 { r.int(4) } else { 64 };
    let count = if (0..=64).contains(&count) { count as u32 } else { 64 };
    let (on, off) = (r.bytes(1), r.bytes(2));
    let separator = if r.count() > 3 { r.bytes(3) } else { b"," };
    r.put_with(|out| {
        for bit in 0..count {
            if bit > 0 {
                out.extend_from_slice(separator);
            }
            out.extend_from_slice(if bits >> bit & 1 == 1 { on } else { off });
        }
    })
}

fn field_text(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let collation = text_collation(r);
    let found = !r.is_null(0);
    let at = (1..r.count()).find(|&i| found && !r.is_null(i) && collation.equal(r.bytes(0), r.bytes(i)));
    r.put_int(at.unwrap_or(0) as i64)
}

/// Takes no notice of the signs of integers.
fn field_int(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let found = !r.is_null(0);
    let at = (1..r.count()).find(|&i| found && !r.is_null(i) && r.int(0) == r.int(i));
    r.put_int(at.unwrap_or(0) as i64)
}

fn field_double(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let found = !r.is_null(0);
    let at = (1..r.count()).find(|&i| found && !r.is_null(i) && r.double(0) == r.double(i));
    r.put_int(at.unwrap_or(0) as i64)
}

fn find_in_set(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let collation = text_collation(r);
    let (needle, set) = (r.bytes(0), r.bytes(1));
    if set.is_empty() {
        return r.put_int(0);
    }
    // Trailing spaces count, whatever the collation says of them.
    let spaces = |text: &[u8]| match collation.is_no_pad() {
        true => 0,
        false => text.iter().rev().take_while(|&&byte| byte == b' ').count(),
    };
    let needle_spaces = spaces(needle);
    let at = set
        .split(|&byte| byte == b',')
        .position(|member| spaces(member) == needle_spaces && collation.equal(member, needle));
    r.put_int(at.map_or(0, |at| at as i64 + 1))
}

fn format_decimal(r: &mut Row<'_, '_>) -> SqlResult<()> {
    if r.is_null(0) || r.is_null(1) {
        return r.null();
    }
    let digits = r.narrow(1).clamp(0, 30) as u8;
    let text = r.decimal(0).round(digits).to_string();
    put_grouped(r, &text)
}

fn format_double(r: &mut Row<'_, '_>) -> SqlResult<()> {
    if r.is_null(0) || r.is_null(1) {
        return r.null();
    }
    let digits = r.narrow(1).clamp(0, 30) as u8;
    let mut text = Vec::new();
    number::write_fixed(super::number::round_at(r.double(0), i64::from(digits), false), digits, &mut text);
    put_grouped(r, std::str::from_utf8(&text).unwrap_or(""))
}

/// A number as the locale of FORMAT's third argument writes it; an unknown one is warned of and means `en_US`.
fn put_grouped(r: &mut Row<'_, '_>, plain: &str) -> SqlResult<()> {
    let mut locale = LocaleId::EN_US;
    if r.count() > 2 {
        let is_null = r.is_null(2);
        let name = if is_null { "NULL" } else { std::str::from_utf8(r.bytes(2)).unwrap_or("") };
        match LocaleId::from_name(name).filter(|_| !is_null) {
            Some(found) => locale = found,
            None => {
                let name = name.to_owned();
                r.ctx.warn(ER_UNKNOWN_LOCALE, &[&name]);
            }
        }
    }
    r.put_with(|out| locale.locale().write_grouped(plain, out))
}

fn to_base64(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let bytes = r.bytes(0);
    if r.too_large(bytes.len() / 3 * 4 + 4)? {
        return Ok(());
    }
    r.put_with(|out| base64::write_lines(bytes, b"\n", out))
}

fn from_base64(r: &mut Row<'_, '_>) -> SqlResult<()> {
    match base64::read(r.bytes(0)) {
        Some(bytes) => r.put_bytes(&bytes),
        None => r.null(),
    }
}

fn hex_number(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let value = r.int(0) as u64;
    r.put_with(|out| digits_in(value, 16, out))
}

fn hex_bytes(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let bytes = r.bytes(0);
    r.put_with(|out| hex_upper(bytes, out))
}

fn hex_upper(bytes: &[u8], out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for byte in bytes {
        out.push(HEX[usize::from(byte >> 4)]);
        out.push(HEX[usize::from(byte & 15)]);
    }
}

/// Bytes of a text of hexadecimal digits; an odd first digit stands alone.
pub(super) fn from_hex(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len().div_ceil(2));
    let mut high = if text.len() % 2 == 1 { Some(0) } else { None };
    for &byte in text {
        let digit = char::from(byte).to_digit(16)? as u8;
        match high.take() {
            Some(high) => out.push(high << 4 | digit),
            None => high = Some(digit),
        }
    }
    Some(out)
}

fn unhex(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let text = r.bytes(0);
    match from_hex(text) {
        Some(bytes) => r.put_bytes(&bytes),
        None => {
            let shown = format!("'{}'", String::from_utf8_lossy(text));
            r.ctx.warn_or_fail(service::error::ER_WRONG_VALUE_FOR_TYPE, &[&"string", &shown, &"unhex"])?;
            r.null()
        }
    }
}

fn insert(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let charset = charset(r);
    let (text, position, length, new) = (r.bytes(0), r.wide(1), r.wide(2), r.bytes(3));
    let count = charset.char_count(text) as i128;
    if position < 1 || position > count {
        return r.put_bytes(text);
    }
    let start = charset.prefix_bytes(text, (position - 1) as usize);
    let rest = &text[start..];
    let length = if length < 0 { count } else { length.min(count) };
    let cut = charset.prefix_bytes(rest, length as usize);
    if r.too_large(text.len() + new.len())? {
        return Ok(());
    }
    r.put_with(|out| {
        out.extend_from_slice(&text[..start]);
        out.extend_from_slice(new);
        out.extend_from_slice(&rest[cut..]);
    })
}

fn locate(r: &mut Row<'_, '_>, needle: usize, haystack: usize) -> SqlResult<()> {
    let collation = text_collation(r);
    let start = if r.count() > 2 { r.wide(2) } else { 1 };
    let count = collation.charset().char_count(r.bytes(haystack)) as i128;
    if start < 1 || start > count + 1 {
        return r.put_int(0);
    }
    let mut progress = Ok(());
    let session = &mut *r.ctx.session;
    let at = collation.locate(
        r.args[needle].bytes(r.row),
        r.args[haystack].bytes(r.row),
        (start - 1) as usize,
        &mut || {
            env::blocking::pause();
            progress = session.check_killed();
            progress.is_ok()
        },
    );
    progress?;
    r.put_int(at.map_or(0, |at| at as i64 + 1))
}

fn left(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let charset = charset(r);
    let (text, count) = (r.bytes(0), r.wide(1));
    let end =
        if count <= 0 { 0 } else { charset.prefix_bytes(text, usize::try_from(count).unwrap_or(usize::MAX)) };
    r.put_bytes(&text[..end])
}

fn right(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let charset = charset(r);
    let (text, count) = (r.bytes(0), r.wide(1));
    if count <= 0 {
        return r.put_bytes(b"");
    }
    let total = charset.char_count(text);
    let skip = total.saturating_sub(usize::try_from(count).unwrap_or(usize::MAX));
    r.put_bytes(&text[charset.prefix_bytes(text, skip)..])
}

fn pad(r: &mut Row<'_, '_>, front: bool) -> SqlResult<()> {
    let charset = charset(r);
    let (text, count, fill) = (r.bytes(0), r.wide(1), r.bytes(2));
    if count < 0 {
        return r.null();
    }
    let limit = r.ctx.settings.max_allowed_packet;
    if count > limit as i128 {
        r.too_large(limit + 1)?;
        return Ok(());
    }
    let count = count as usize;
    let have = charset.char_count(text);
    if count <= have {
        return r.put_bytes(&text[..charset.prefix_bytes(text, count)]);
    }
    let fill_chars = charset.char_count(fill);
    if fill_chars == 0 {
        return r.put_bytes(text);
    }
    let missing = count - have;
    let whole = missing / fill_chars;
    // Room for the widest characters is counted.
    if r.too_large(count * charset.max_bytes_per_char())? {
        return Ok(());
    }
    r.require_room(text.len() + (whole + 1) * fill.len())?;
    r.put_with(|out| {
        if !front {
            out.extend_from_slice(text);
        }
        append_repeated(out, fill, fill.len() * whole);
        out.extend_from_slice(&fill[..charset.prefix_bytes(fill, missing % fill_chars)]);
        if front {
            out.extend_from_slice(text);
        }
    })
}

/// How far it is from `at`, where a character begins, to the next place where others may be looked for.
#[inline]
fn step(charset: Charset, text: &[u8], at: usize) -> usize {
    if charset.finds_by_bytes() { 1 } else { charset.decode(&text[at..]).byte_count().max(1) }
}

/// `text` without `remove` at its end, as whole characters of a set whose bytes do not tell where one begins.
fn trim_whole_characters<'t>(charset: Charset, text: &'t [u8], remove: &[u8]) -> &'t [u8] {
    let mut begins = vec![false; text.len() + 1];
    let mut at = 0;
    while at < text.len() {
        begins[at] = true;
        at += step(charset, text, at);
    }
    let mut kept = text;
    while kept.ends_with(remove) && begins[kept.len() - remove.len()] {
        kept = &kept[..kept.len() - remove.len()];
    }
    kept
}

fn trim(r: &mut Row<'_, '_>, front: bool, back: bool) -> SqlResult<()> {
    let charset = charset(r);
    let mut text = r.bytes(0);
    let remove = if r.count() > 1 { r.bytes(1) } else { b" " };
    if !remove.is_empty() {
        while front && text.starts_with(remove) {
            text = &text[remove.len()..];
        }
        if back && !charset.finds_by_bytes() && text.ends_with(remove) {
            r.require_room(text.len())?;
            text = trim_whole_characters(charset, text, remove);
        }
        while back && charset.finds_by_bytes() && text.ends_with(remove) {
            text = &text[..text.len() - remove.len()];
        }
    }
    r.put_bytes(text)
}

fn make_set(r: &mut Row<'_, '_>) -> SqlResult<()> {
    if r.is_null(0) {
        return r.null();
    }
    let bits = r.int(0) as u64;
    let (args, row) = (r.args, r.row);
    put(r.out, |out| {
        let mut first = true;
        for (bit, arg) in args[1..].iter().enumerate().take(64) {
            if bits >> bit & 1 == 1 && !arg.is_null(row) {
                if !first {
                    out.push(b',');
                }
                first = false;
                out.extend_from_slice(arg.bytes(row));
            }
        }
    });
    Ok(())
}

fn ord(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let charset = charset(r);
    let text = r.bytes(0);
    let first = &text[..charset.prefix_bytes(text, 1)];
    let code = first.iter().fold(0i64, |code, &byte| code << 8 | i64::from(byte));
    r.put_int(code)
}

fn quote(r: &mut Row<'_, '_>) -> SqlResult<()> {
    if r.is_null(0) {
        return r.put_bytes(b"NULL");
    }
    let charset = charset(r);
    let text = r.bytes(0);
    r.put_with(|out| {
        out.push(b'\'');
        let mut at = 0;
        while at < text.len() {
            let end = at + step(charset, text, at);
            let own = &text[at..end];
            at = end;
            let [byte] = *own else {
                out.extend_from_slice(own);
                continue;
            };
            match byte {
                0 => out.extend_from_slice(b"\\0"),
                0x1a => out.extend_from_slice(b"\\Z"),
                b'\'' | b'\\' => {
                    out.push(b'\\');
                    out.push(byte);
                }
                _ => out.push(byte),
            }
        }
        out.push(b'\'');
    })
}

fn repeat(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let (text, count) = (r.bytes(0), r.wide(1));
    if count <= 0 || text.is_empty() {
        return r.put_bytes(b"");
    }
    let limit = r.ctx.settings.max_allowed_packet;
    if count > (limit / text.len()) as i128 {
        r.too_large(limit + 1)?;
        return Ok(());
    }
    let bytes = text.len() * count as usize;
    r.require_room(bytes)?;
    r.put_with(|out| append_repeated(out, text, bytes))
}

/// Appends `text` again and again, `bytes` in all: twice what is there each time, as a short text would be appended millions of times.
fn append_repeated(out: &mut Vec<u8>, text: &[u8], bytes: usize) {
    out.reserve(bytes);
    let start = out.len();
    out.extend_from_slice(&text[..text.len().min(bytes)]);
    while out.len() - start < bytes {
        let more = (out.len() - start).min(bytes - (out.len() - start));
        out.extend_from_within(start..start + more);
    }
}

fn replace(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let charset = charset(r);
    let (text, from, to) = (r.bytes(0), r.bytes(1), r.bytes(2));
    if from.is_empty() {
        return r.put_bytes(text);
    }
    let mut found = Vec::new();
    let mut at = 0;
    while at + from.len() <= text.len() {
        if text[at..].starts_with(from) {
            found.push(at);
            at += from.len();
        } else {
            at += step(charset, text, at);
        }
    }
    if r.too_large(text.len() + found.len() * to.len())? {
        return Ok(());
    }
    r.put_with(|out| {
        let mut done = 0;
        for at in found {
            out.extend_from_slice(&text[done..at]);
            out.extend_from_slice(to);
            done = at + from.len();
        }
        out.extend_from_slice(&text[done..]);
    })
}

fn reverse(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let charset = charset(r);
    let text = r.bytes(0);
    r.put_with(|out| {
        if charset.is_single_byte() || charset.is_ascii_text(text) {
            out.extend(text.iter().rev());
            return;
        }
        let start = out.len();
        out.resize(start + text.len(), 0);
        let mut end = out.len();
        let mut rest = text;
        while !rest.is_empty() {
            let length = charset.prefix_bytes(rest, 1).max(1);
            out[end - length..end].copy_from_slice(&rest[..length]);
            end -= length;
            rest = &rest[length..];
        }
    })
}

fn soundex(r: &mut Row<'_, '_>) -> SqlResult<()> {
    const CODES: &[u8; 26] = b"01230120022455012623010202";
    let text = String::from_utf8_lossy(r.bytes(0)).into_owned();
    let charset = r.call.result.collation.charset();
    // Of bytes only ASCII is letters. Of the sets of more bytes MySQL takes every character from U+00C0 on for a letter; the others
    // say which of theirs are, and those do not count that only modify a letter.
    let is_letter = |letter: &char| match charset {
        Charset::Binary => letter.is_ascii_alphabetic(),
        _ if letter.is_ascii() => letter.is_ascii_alphabetic(),
        _ if charset.is_single_byte() => {
            *letter >= '\u{C0}' && letter.is_alphabetic() && !('\u{2B0}'..='\u{2FF}').contains(letter)
        }
        _ => *letter >= '\u{C0}',
    };
    let code_of = |letter: char| -> u8 {
        let upper = letter.to_ascii_uppercase();
        if upper.is_ascii_uppercase() { CODES[(upper as u8 - b'A') as usize] } else { b'0' }
    };
    let mut letters = text.chars().filter(is_letter);
    let mut out = String::new();
    if let Some(first) = letters.next() {
        out.push(first.to_ascii_uppercase());
        let mut last = code_of(first);
        for letter in letters {
            let code = code_of(letter);
            // H and W do not separate equal codes; vowels and others do.
            if code != b'0' && code != last {
                out.push(char::from(code));
                last = code;
            } else if code == b'0' && !matches!(letter.to_ascii_uppercase(), 'H' | 'W') {
                // MySQL keeps the last code over vowels too.
                continue;
            }
        }
        while out.chars().count() < 4 {
            out.push('0');
        }
    }
    r.put_with(|to| {
        let _ = types::charset::convert_lossy(Charset::Utf8mb4, out.as_bytes(), charset, to);
    })
}

fn space(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let count = r.wide(0).max(0);
    let limit = r.ctx.settings.max_allowed_packet;
    if count > limit as i128 {
        r.too_large(limit + 1)?;
        return Ok(());
    }
    r.require_room(count as usize)?;
    r.put_with(|out| out.resize(out.len() + count as usize, b' '))
}

fn substring(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let charset = charset(r);
    let (text, position) = (r.bytes(0), r.wide(1));
    let length = if r.count() > 2 { r.wide(2) } else { i128::from(u64::MAX) };
    let total = charset.char_count(text) as i128;
    let start = if position > 0 { position - 1 } else { total + position };
    if position == 0 || start < 0 || start >= total || length <= 0 {
        return r.put_bytes(b"");
    }
    let rest = &text[charset.prefix_bytes(text, start as usize)..];
    let end = charset.prefix_bytes(rest, length.min(total) as usize);
    r.put_bytes(&rest[..end])
}

fn substring_index(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let charset = charset(r);
    let (text, delimiter, count) = (r.bytes(0), r.bytes(1), r.wide(2));
    if delimiter.is_empty() || count == 0 || text.is_empty() {
        return r.put_bytes(b"");
    }
    let mut places = Vec::new();
    let mut at = 0;
    while at + delimiter.len() <= text.len() {
        if text[at..].starts_with(delimiter) {
            places.push(at);
            at += delimiter.len();
        } else {
            at += step(charset, text, at);
        }
    }
    let part = if count > 0 {
        match usize::try_from(count - 1).ok().and_then(|i| places.get(i)) {
            Some(&at) => &text[..at],
            None => text,
        }
    } else {
        let back = usize::try_from(-count).unwrap_or(usize::MAX);
        match places.len().checked_sub(back).and_then(|i| places.get(i)) {
            Some(&at) => &text[at + delimiter.len()..],
            None => text,
        }
    };
    r.put_bytes(part)
}

/// The weight of an integer, a date or a time: eight bytes in the order of the values. Other numbers have none.
fn weight_of_number(r: &mut Row<'_, '_>) -> SqlResult<()> {
    /// The sign's bit, turned over.
    const SIGN: u64 = 1 << 63;
    /// What a TIME of no length is packed to.
    const TIME_ZERO: i64 = 0x8000_0000_0000;
    let of = &r.call.types[0];
    let weight = match (r.args[0].cell(r.row), of.kind) {
        (Cell::Int(packed), TypeKind::Date) => {
            let date = DateTime::unpack(packed);
            u64::from(date.year) << 9 | u64::from(date.month) << 5 | u64::from(date.day) | SIGN
        }
        (Cell::Int(packed), TypeKind::DateTime | TypeKind::Timestamp) => packed as u64 | SIGN,
        (Cell::Int(micros), TypeKind::Time) => {
            let (seconds, rest) = (micros.abs() / 1_000_000, micros.abs() % 1_000_000);
            let clock = (seconds / 3600) << 12 | (seconds / 60 % 60) << 6 | (seconds % 60);
            let packed = clock << 24 | rest;
            (if micros < 0 { TIME_ZERO - packed - 1 } else { TIME_ZERO + packed }) as u64 | SIGN
        }
        (Cell::Int(value), _) if of.members.is_some() || !of.unsigned => value as u64 ^ SIGN,
        (Cell::Int(value), _) => value as u64,
        _ => return r.null(),
    };
    r.put_bytes(&weight.to_be_bytes())
}

fn weight_string(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let data_type = &r.call.types[0];
    let collation = if data_type.kind == TypeKind::Json {
        CollationId::UTF8MB4_BIN
    } else {
        text_collation_of_argument(data_type)
    };
    let text = r.bytes(0);
    let length = match r.call.option {
        CallOption::Number(length) => Some(length as usize),
        _ => None,
    };
    r.put_with(|out| match length {
        Some(length) => {
            let charset = collation.charset();
            let mut padded = text[..charset.prefix_bytes(text, length)].to_vec();
            let have = charset.char_count(&padded);
            let blank = if charset == Charset::Binary { &[0][..] } else { &charset.of_ascii(b" ") };
            // What does not compare as if spaces followed is not filled up.
            let is_filled = charset == Charset::Binary || !collation.is_no_pad();
            let missing = if is_filled { length.saturating_sub(have).min(1 << 20) } else { 0 };
            padded.extend(blank.iter().copied().cycle().take(missing * blank.len()));
            collation.weight_string(&padded, out);
        }
        None => collation.weight_string(text, out),
    })
}

fn text_collation_of_argument(data_type: &DataType) -> CollationId {
    collation_of(data_type)
}

fn bytes_logic(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let (a, b) = (r.bytes(0), r.bytes(1));
    if a.len() != b.len() {
        return Err(service::error::ER_INVALID_BITWISE_OPERANDS_SIZE.with(&[&r.call.name]));
    }
    let op = r.call.name.as_bytes()[0];
    let bytes: Vec<u8> = a
        .iter()
        .zip(b)
        .map(|(x, y)| match op {
            b'&' => x & y,
            b'|' => x | y,
            _ => x ^ y,
        })
        .collect();
    r.put_bytes(&bytes)
}

fn bytes_shift(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let (bytes, by) = (r.bytes(0), r.wide(1));
    let left = r.call.name == "<<";
    let bits = bytes.len() as i128 * 8;
    let by = if by < 0 || by >= bits { return r.put_bytes(&vec![0; bytes.len()]) } else { by as usize };
    let (whole, part) = (by / 8, by % 8);
    let at = |i: isize| -> u16 {
        if i >= 0 && (i as usize) < bytes.len() { u16::from(bytes[i as usize]) } else { 0 }
    };
    let shifted: Vec<u8> = (0..bytes.len() as isize)
        .map(|i| {
            if left {
                let from = i + whole as isize;
                ((at(from) << part) | (at(from + 1) << part >> 8)) as u8
            } else {
                let from = i - whole as isize;
                ((at(from) >> part) | (at(from - 1) << 8 >> part)) as u8
            }
        })
        .collect();
    r.put_bytes(&shifted)
}
