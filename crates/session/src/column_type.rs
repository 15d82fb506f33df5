//! A column's type as written, made into a data type with MySQL's limits, defaults and warnings.

use service::error::{
    Diagnostic, ER_COLLATION_CHARSET_MISMATCH, ER_DUPLICATED_VALUE_IN_TYPE, ER_ILLEGAL_VALUE_FOR_TYPE,
    ER_INVALID_YEAR_COLUMN_LENGTH, ER_M_BIGGER_THAN_D, ER_NOT_SUPPORTED_YET, ER_TOO_BIG_DISPLAYWIDTH,
    ER_TOO_BIG_FIELDLENGTH, ER_TOO_BIG_PRECISION, ER_TOO_BIG_SCALE, ER_UNKNOWN_CHARACTER_SET,
    ER_UNKNOWN_COLLATION, ER_WARN_DEPRECATED_FLOAT_DIGITS, ER_WARN_DEPRECATED_FLOAT_UNSIGNED,
    ER_WARN_DEPRECATED_INTEGER_DISPLAY_WIDTH, ER_WARN_DEPRECATED_SYNTAX,
    ER_WARN_DEPRECATED_SYNTAX_NO_REPLACEMENT, ER_WARN_DEPRECATED_ZEROFILL, ER_WRONG_FIELD_SPEC, SqlError,
};
use std::sync::Arc;
use syntax::ast;
use types::charset::Charset;
use types::data_type::{CHAR_LENGTH_MAX, DECIMAL_PRECISION_MAX, DECIMAL_SCALE_MAX, VARCHAR_BYTES_MAX};
use types::{CollationId, DataType, Members, TypeKind};

type Result<T> = std::result::Result<T, Box<SqlError>>;

/// Widest display width of a number.
const DISPLAY_WIDTH_MAX: u64 = 255;
/// Digits of a FLOAT(p) from which on it is a DOUBLE.
const FLOAT_DIGITS: u64 = 24;
/// Most digits of a FLOAT(p).
const FLOAT_DIGITS_MAX: u64 = 53;

/// A type with what SHOW CREATE remembers of how it was written.
#[derive(Clone, Debug)]
pub struct ColumnType {
    /// The type.
    pub data_type: DataType,
    /// CHARACTER SET or COLLATE was written.
    pub collation_explicit: bool,
}

/// The collation that CHARACTER SET and COLLATE ask for; `None` if neither was written.
///
/// # Errors
/// 1115, 1273, 1253.
pub fn resolve_collation(charset: Option<&[u8]>, collation: Option<&[u8]>) -> Result<Option<CollationId>> {
    let charset = charset.map(resolve_charset).transpose()?;
    let Some(name) = collation else { return Ok(charset.map(Charset::default_collation)) };
    let name = String::from_utf8_lossy(name);
    let found = CollationId::from_name(&name).ok_or_else(|| ER_UNKNOWN_COLLATION.with(&[&name]))?;
    if let Some(charset) = charset
        && found.charset() != charset
    {
        return Err(ER_COLLATION_CHARSET_MISMATCH.with(&[&found.name(), &charset.name()]));
    }
    Ok(Some(found))
}

/// The character set with this name.
///
/// # Errors
/// 1115.
pub(crate) fn resolve_charset(name: &[u8]) -> Result<Charset> {
    let name = String::from_utf8_lossy(name);
    Charset::from_name(&name).ok_or_else(|| ER_UNKNOWN_CHARACTER_SET.with(&[&name]))
}

fn deprecated(warnings: &mut Vec<Diagnostic>, code: service::error::Code) {
    // MySQL sends these texts under the number of the general deprecation warning.
    let mut warning = code.warning(&[]);
    warning.number = ER_WARN_DEPRECATED_SYNTAX_NO_REPLACEMENT.number;
    warnings.push(warning);
}

/// Makes the type of column `name` in a table with default collation `table_collation`; `type_word` is the first word of
/// the type as written.
///
/// # Errors
/// MySQL's, with its number and text.
pub fn column_type(
    written: &ast::DataType<'_>,
    name: &str,
    type_word: &[u8],
    table_collation: CollationId,
    strict: bool,
    warnings: &mut Vec<Diagnostic>,
) -> Result<ColumnType> {
    use ast::TypeName as T;
    let plain = |data_type: DataType| Ok(ColumnType { data_type, collation_explicit: false });
    match written.name {
        T::TinyInt | T::SmallInt | T::MediumInt | T::Int | T::BigInt => {
            let kind = match written.name {
                T::TinyInt => TypeKind::TinyInt,
                T::SmallInt => TypeKind::SmallInt,
                T::MediumInt => TypeKind::MediumInt,
                T::Int => TypeKind::Int,
                _ => TypeKind::BigInt,
            };
            let mut data_type = DataType::integer(kind, written.unsigned);
            if written.zerofill {
                deprecated(warnings, ER_WARN_DEPRECATED_ZEROFILL);
            }
            if let Some(width) = written.length {
                if !type_word.to_ascii_lowercase().starts_with(b"bool") {
                    deprecated(warnings, ER_WARN_DEPRECATED_INTEGER_DISPLAY_WIDTH);
                }
                check_width(width, name)?;
                if width > 0 {
                    data_type.length = width as u32;
                }
            }
            data_type.zerofill = written.zerofill;
            plain(data_type)
        }
        T::Bit => match written.length {
            Some(0) => Err(service::error::ER_INVALID_FIELD_SIZE.with(&[&name])),
            Some(bits) if bits > 64 => Err(ER_TOO_BIG_DISPLAYWIDTH.with(&[&name, &64])),
            bits => plain(DataType::bit(bits.unwrap_or(1) as u32)),
        },
        T::Decimal => decimal(written, name, warnings).and_then(plain),
        T::Float | T::Double => float(written, name, warnings).and_then(plain),
        T::Year => match written.length {
            None => plain(DataType::YEAR),
            Some(4) => {
                warnings.push(ER_WARN_DEPRECATED_SYNTAX.warning(&[&"YEAR(4)", &"YEAR"]));
                plain(DataType::YEAR)
            }
            Some(_) => Err(ER_INVALID_YEAR_COLUMN_LENGTH.bare()),
        },
        T::Date => plain(DataType::DATE),
        T::Time | T::DateTime | T::Timestamp => {
            let digits = written.length.unwrap_or(0);
            if digits > 6 {
                return Err(ER_TOO_BIG_PRECISION.with(&[&digits, &name, &6]));
            }
            let kind = match written.name {
                T::Time => TypeKind::Time,
                T::DateTime => TypeKind::DateTime,
                _ => TypeKind::Timestamp,
            };
            plain(DataType::temporal(kind, digits as u8))
        }
        T::Json => plain(DataType::JSON),
        T::Binary => {
            let length = written.length.unwrap_or(1);
            if length > u64::from(CHAR_LENGTH_MAX) {
                return Err(ER_TOO_BIG_FIELDLENGTH.with(&[&name, &CHAR_LENGTH_MAX]));
            }
            plain(DataType::char(length as u32, CollationId::BINARY))
        }
        T::Varbinary => {
            varchar(written.length.unwrap_or(1), CollationId::BINARY, name, strict, warnings).and_then(plain)
        }
        T::TinyBlob => plain(DataType::text(TypeKind::TinyText, CollationId::BINARY)),
        T::Blob => sized_text(written.length, CollationId::BINARY, name).and_then(plain),
        T::MediumBlob => plain(DataType::text(TypeKind::MediumText, CollationId::BINARY)),
        T::LongBlob => plain(DataType::text(TypeKind::LongText, CollationId::BINARY)),
        T::Char | T::Varchar | T::TinyText | T::Text | T::MediumText | T::LongText | T::Enum | T::Set => {
            text(written, name, type_word, table_collation, strict, warnings)
        }
        T::Vector => Err(ER_NOT_SUPPORTED_YET.with(&[&"VECTOR"])),
        T::Geometry
        | T::Point
        | T::LineString
        | T::Polygon
        | T::MultiPoint
        | T::MultiLineString
        | T::MultiPolygon
        | T::GeometryCollection => Err(ER_NOT_SUPPORTED_YET.with(&[&"GEOMETRY"])),
    }
}

/// Makes the type of a parameter or variable of a stored program.
///
/// # Errors
/// As [`column_type`].
pub fn local_type(
    written: &ast::LocalType<'_>,
    name: &str,
    text: &[u8],
    collation: CollationId,
    strict: bool,
    warnings: &mut Vec<Diagnostic>,
) -> Result<DataType> {
    let mut data_type = written.data_type;
    data_type.collation = data_type.collation.or(written.collation);
    let word = text.split(|byte| !byte.is_ascii_alphanumeric()).next().unwrap_or_default();
    Ok(column_type(&data_type, name, word, collation, strict, warnings)?.data_type)
}

fn check_width(width: u64, name: &str) -> Result<()> {
    if width > DISPLAY_WIDTH_MAX {
        return Err(ER_TOO_BIG_DISPLAYWIDTH.with(&[&name, &DISPLAY_WIDTH_MAX]));
    }
    Ok(())
}

fn number_attributes(written: &ast::DataType<'_>, warnings: &mut Vec<Diagnostic>) {
    // ZEROFILL implies UNSIGNED, but only a written UNSIGNED is warned about; the tree does not distinguish the two, and
    // ZEROFILL alone is by far the more frequent.
    if written.zerofill {
        deprecated(warnings, ER_WARN_DEPRECATED_ZEROFILL);
    } else if written.unsigned {
        deprecated(warnings, ER_WARN_DEPRECATED_FLOAT_UNSIGNED);
    }
}

fn decimal(written: &ast::DataType<'_>, name: &str, warnings: &mut Vec<Diagnostic>) -> Result<DataType> {
    number_attributes(written, warnings);
    let precision = written.length.filter(|&length| length > 0).unwrap_or(10);
    let scale = written.decimals.unwrap_or(0);
    if scale > u64::from(DECIMAL_SCALE_MAX) {
        return Err(ER_TOO_BIG_SCALE.with(&[&scale, &name, &DECIMAL_SCALE_MAX]));
    }
    if precision > u64::from(DECIMAL_PRECISION_MAX) {
        return Err(ER_TOO_BIG_PRECISION.with(&[&precision, &name, &DECIMAL_PRECISION_MAX]));
    }
    if scale > precision {
        return Err(ER_M_BIGGER_THAN_D.with(&[&name]));
    }
    let mut data_type = DataType::decimal(precision as u32, scale as u8);
    data_type.unsigned = written.unsigned;
    data_type.zerofill = written.zerofill;
    Ok(data_type)
}

fn float(written: &ast::DataType<'_>, name: &str, warnings: &mut Vec<Diagnostic>) -> Result<DataType> {
    let mut double = written.name == ast::TypeName::Double;
    let mut digits = None;
    match (written.length, written.decimals) {
        (Some(precision), None) => {
            if precision > FLOAT_DIGITS_MAX {
                return Err(ER_WRONG_FIELD_SPEC.with(&[&name]));
            }
            double |= precision > FLOAT_DIGITS;
        }
        (Some(width), Some(scale)) => {
            deprecated(warnings, ER_WARN_DEPRECATED_FLOAT_DIGITS);
            if scale > u64::from(DECIMAL_SCALE_MAX) {
                return Err(ER_TOO_BIG_SCALE.with(&[&scale, &name, &DECIMAL_SCALE_MAX]));
            }
            if scale > width {
                return Err(ER_M_BIGGER_THAN_D.with(&[&name]));
            }
            check_width(width, name)?;
            digits = Some((width as u32, scale as u8));
        }
        _ => {}
    }
    number_attributes(written, warnings);
    // A column's text has at most 22 characters, an expression's 23.
    let mut data_type = if double { DataType { length: 22, ..DataType::DOUBLE } } else { DataType::FLOAT };
    if let Some((width, scale)) = digits {
        data_type.length = width;
        data_type.scale = scale;
    }
    data_type.unsigned = written.unsigned;
    data_type.zerofill = written.zerofill;
    Ok(data_type)
}

fn text(
    written: &ast::DataType<'_>,
    name: &str,
    type_word: &[u8],
    table_collation: CollationId,
    strict: bool,
    warnings: &mut Vec<Diagnostic>,
) -> Result<ColumnType> {
    use ast::TypeName as T;
    let national = matches!(type_word.to_ascii_lowercase().as_slice(), b"national" | b"nchar" | b"nvarchar");
    match written.charset {
        Some(_) if national => warnings.push(service::error::ER_DEPRECATED_NATIONAL.warning(&[])),
        Some(charset) => charset_warning(charset, warnings),
        None => {}
    }
    if let Some(collation) = written.collation {
        collation_warning(collation, warnings);
    }
    if written.binary {
        let replacement = "a CHARACTER SET clause with _bin collation";
        warnings.push(ER_WARN_DEPRECATED_SYNTAX.warning(&[&"BINARY as attribute of a type", &replacement]));
    }
    let explicit = resolve_collation(written.charset, written.collation)?;
    let mut collation = explicit.unwrap_or(table_collation);
    if written.binary && written.collation.is_none() {
        collation = collation.charset().bin_collation();
    }
    let data_type = match written.name {
        T::Char => {
            let length = written.length.unwrap_or(1);
            if length > u64::from(CHAR_LENGTH_MAX) {
                return Err(ER_TOO_BIG_FIELDLENGTH.with(&[&name, &CHAR_LENGTH_MAX]));
            }
            DataType::char(length as u32, collation)
        }
        T::Varchar => varchar(written.length.unwrap_or(1), collation, name, strict, warnings)?,
        T::TinyText => DataType::text(TypeKind::TinyText, collation),
        T::Text => sized_text(written.length, collation, name)?,
        T::MediumText => DataType::text(TypeKind::MediumText, collation),
        T::LongText => DataType::text(TypeKind::LongText, collation),
        T::Enum => members(TypeKind::Enum, written.members, collation, name, strict, warnings)?,
        _ => members(TypeKind::Set, written.members, collation, name, strict, warnings)?,
    };
    Ok(ColumnType { data_type, collation_explicit: explicit.is_some() })
}

/// Character sets that are on their way out.
const LEAVING: [&str; 6] = ["dec8", "hp8", "macce", "macroman", "ucs2", "utf8mb3"];

/// Warns of character sets that are on their way out.
pub fn charset_warning(charset: &[u8], warnings: &mut Vec<Diagnostic>) {
    if charset.eq_ignore_ascii_case(b"utf8") {
        warnings.push(service::error::ER_DEPRECATED_UTF8_ALIAS.warning(&[]));
    } else if let Some(name) = LEAVING.iter().find(|name| charset.eq_ignore_ascii_case(name.as_bytes())) {
        warnings.push(ER_WARN_DEPRECATED_SYNTAX.warning(&[name, &"utf8mb4"]));
    }
}

/// Warns of collations of such character sets.
pub fn collation_warning(collation: &[u8], warnings: &mut Vec<Diagnostic>) {
    const PREFIX: &[u8] = b"utf8mb3_";
    if collation.get(..PREFIX.len()).is_some_and(|start| start.eq_ignore_ascii_case(PREFIX)) {
        let name = String::from_utf8_lossy(collation).to_ascii_lowercase();
        warnings.push(service::error::ER_WARN_DEPRECATED_UTF8MB3_COLLATION.warning(&[&name]));
    }
}

fn varchar(
    length: u64,
    collation: CollationId,
    name: &str,
    strict: bool,
    warnings: &mut Vec<Diagnostic>,
) -> Result<DataType> {
    let char_bytes = collation.charset().max_bytes_per_char() as u64;
    let chars_max = u64::from(VARCHAR_BYTES_MAX) / char_bytes;
    if length <= chars_max {
        return Ok(DataType::varchar(length as u32, collation));
    }
    if strict {
        return Err(ER_TOO_BIG_FIELDLENGTH.with(&[&name, &chars_max]));
    }
    let binary = collation == CollationId::BINARY;
    let data_type = sized_text(Some(length), collation, name)?;
    let (from, to) = if binary { ("VARBINARY", "BLOB") } else { ("VARCHAR", "TEXT") };
    warnings.push(service::error::ER_AUTO_CONVERT.note(&[&name, &from, &to]));
    Ok(data_type)
}

/// TEXT(n) or BLOB(n): the smallest kind that holds n characters.
fn sized_text(length: Option<u64>, collation: CollationId, name: &str) -> Result<DataType> {
    let Some(length) = length else { return Ok(DataType::text(TypeKind::Text, collation)) };
    let bytes = length.saturating_mul(collation.charset().max_bytes_per_char() as u64);
    let kind = if bytes < 1 << 8 {
        TypeKind::TinyText
    } else if bytes < 1 << 16 {
        TypeKind::Text
    } else if bytes < 1 << 24 {
        TypeKind::MediumText
    } else if length <= u64::from(u32::MAX) {
        TypeKind::LongText
    } else {
        return Err(ER_TOO_BIG_DISPLAYWIDTH.with(&[&name, &u32::MAX]));
    };
    Ok(DataType::text(kind, collation))
}

/// Members of an ENUM.
const ENUM_MEMBERS_MAX: usize = 65_535;
/// Members of a SET: a bit each.
const SET_MEMBERS_MAX: usize = 64;

fn members(
    kind: TypeKind,
    written: &[&[u8]],
    collation: CollationId,
    name: &str,
    strict: bool,
    warnings: &mut Vec<Diagnostic>,
) -> Result<DataType> {
    let type_name = if kind == TypeKind::Enum { "ENUM" } else { "SET" };
    let charset = collation.charset();
    if kind == TypeKind::Enum && written.len() > ENUM_MEMBERS_MAX {
        return Err(service::error::ER_TOO_BIG_ENUM.with(&[&name]));
    }
    if kind == TypeKind::Set && written.len() > SET_MEMBERS_MAX {
        return Err(service::error::ER_TOO_BIG_SET.with(&[&name]));
    }
    let mut names: Vec<Box<[u8]>> = Vec::with_capacity(written.len());
    // By sort key, so that the time grows with the members and not with their square.
    let mut positions = hashbrown::HashMap::with_capacity(written.len());
    for member in written {
        // Trailing spaces are no part of a member (except of a binary one).
        let text =
            if charset == Charset::Binary { member } else { Charset::Utf8mb4.trim_trailing_spaces(member) };
        let shown = String::from_utf8_lossy(text);
        if kind == TypeKind::Set && text.contains(&b',') {
            return Err(ER_ILLEGAL_VALUE_FOR_TYPE.with(&[&"set", &shown]));
        }
        let converted = to_charset(text, charset);
        let mut key = Vec::new();
        collation.sort_key(&converted, &mut key);
        let position = *positions.entry(key).or_insert(names.len());
        if position < names.len() {
            let first = String::from_utf8_lossy(&names[position]);
            if strict {
                return Err(ER_DUPLICATED_VALUE_IN_TYPE.with(&[&name, &first, &type_name]));
            }
            warnings.push(ER_DUPLICATED_VALUE_IN_TYPE.note(&[&name, &first, &type_name]));
        }
        names.push(converted.into());
    }
    Ok(DataType::with_members(kind, Arc::new(Members::new(names)), collation))
}

/// Text in UTF-8 as bytes of another character set; what it cannot hold becomes `?`.
fn to_charset(text: &[u8], charset: Charset) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let _ = types::charset::convert_lossy(Charset::Utf8mb4, text, charset, &mut out);
    out
}
