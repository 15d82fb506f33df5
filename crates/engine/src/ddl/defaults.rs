//! DEFAULT: a literal converted to the column's type, now, or an expression.

use catalog::{ColumnDefault, StoredValue};
use service::error as e;
use service::error::{Diagnostic, Level, SqlError};
use syntax::ast;
use table::{TimestampZone, print_cell};
use types::charset::Charset;
use types::convert::{Severity, StoreOptions, store_value};
use types::temporal::DateTime;
use types::temporal::parse::DateMode;
use types::{Cell, Column, DataType, Decimal, TypeKind, Value};

use super::{Settings, sql_mode_bits};

type Result<T> = std::result::Result<T, Box<SqlError>>;

/// Makes the default of column `name`.
///
/// # Errors
/// 1067, 1101.
pub(super) fn column_default(
    written: &ast::ColumnDefault<'_>,
    name: &str,
    data_type: &DataType,
    nullable: bool,
    settings: &Settings<'_>,
    warnings: &mut Vec<Diagnostic>,
) -> Result<ColumnDefault> {
    let invalid = || e::ER_INVALID_DEFAULT.with(&[&name]);
    match written {
        ast::ColumnDefault::Now(digits) => {
            let has_now = matches!(data_type.kind, TypeKind::DateTime | TypeKind::Timestamp);
            if !has_now || *digits != u64::from(data_type.scale) {
                return Err(invalid());
            }
            Ok(ColumnDefault::CurrentTimestamp)
        }
        ast::ColumnDefault::Expr(expr) => {
            Ok(ColumnDefault::Expression(super::expression::canonical(expr, settings)?.text.into()))
        }
        ast::ColumnDefault::Literal(expr) => {
            let Some(value) = literal(expr, data_type, settings) else { return Err(invalid()) };
            if value.is_null() {
                return if nullable { Ok(ColumnDefault::Null) } else { Err(invalid()) };
            }
            if data_type.is_text_or_blob() || data_type.kind == TypeKind::Json {
                let is_empty = matches!(&value, Value::Bytes { bytes, .. } if bytes.is_empty());
                if settings.is_strict() || !is_empty || data_type.kind == TypeKind::Json {
                    return Err(e::ER_BLOB_CANT_HAVE_DEFAULT.with(&[&name]));
                }
                warnings.push(e::ER_BLOB_CANT_HAVE_DEFAULT.warning(&[&name]));
                return Ok(if nullable { ColumnDefault::Null } else { ColumnDefault::None });
            }
            // A member's number is no default.
            let by_name = matches!(data_type.kind, TypeKind::Enum | TypeKind::Set);
            if by_name && !matches!(value, Value::Bytes { .. }) {
                return Err(invalid());
            }
            converted(&value, name, data_type, settings, warnings)
        }
    }
}

fn converted(
    value: &Value,
    name: &str,
    data_type: &DataType,
    settings: &Settings<'_>,
    warnings: &mut Vec<Diagnostic>,
) -> Result<ColumnDefault> {
    let has = |bit: u64| settings.session.sql_mode & bit != 0;
    let options = StoreOptions {
        date_mode: DateMode {
            allow_invalid: has(sql_mode_bits::ALLOW_INVALID_DATES),
            no_zero_in_date: settings.is_strict() && has(sql_mode_bits::NO_ZERO_IN_DATE),
            no_zero_date: settings.is_strict() && has(sql_mode_bits::NO_ZERO_DATE),
            truncates_fraction: has(sql_mode_bits::TIME_TRUNCATE_FRACTIONAL),
        },
        truncate_fraction: has(sql_mode_bits::TIME_TRUNCATE_FRACTIONAL),
        time_zone: settings.session.zone,
        now_utc_micros: settings.session.now_micros,
    };
    let mut column = Column::new(data_type.physical());
    if let Some(issue) = store_value(value, data_type, &options, &mut column) {
        let report = issue.report(settings.is_strict(), "", name, 1);
        let level = match report.severity {
            Severity::Note => Level::Note,
            Severity::Warning => Level::Warning,
            Severity::Error => Level::Error,
        };
        // A member that is not there is looked for before anything is converted.
        if data_type.members.is_none() {
            let state = e::Code::by_number(report.number).map_or(*b"HY000", |code| code.state);
            warnings.push(Diagnostic { level, number: report.number, state, message: report.message });
        }
        if level != Level::Note {
            return Err(e::ER_INVALID_DEFAULT.with(&[&name]));
        }
    }
    let cell = column.cell(0);
    Ok(ColumnDefault::Literal {
        value: stored(cell, data_type, settings.session.zone),
        text: text(cell, data_type),
    })
}

/// A cell as a row keeps it.
pub(super) fn stored(cell: Cell<'_>, data_type: &DataType, zone: &dyn TimestampZone) -> StoredValue {
    match cell {
        Cell::Null => StoredValue::Null,
        Cell::Int(0) if data_type.kind == TypeKind::Timestamp => StoredValue::Int(0),
        Cell::Int(packed) if data_type.kind == TypeKind::Timestamp => {
            StoredValue::Int(zone.utc_micros(DateTime::unpack(packed)))
        }
        Cell::Int(value) => StoredValue::Int(value),
        Cell::Double(value) => StoredValue::Double(value),
        Cell::Decimal(value) => StoredValue::Decimal(*value),
        Cell::Bytes(bytes) => StoredValue::Bytes(bytes.into()),
    }
}

/// A cell's text as SHOW CREATE prints it.
pub(super) fn text(cell: Cell<'_>, data_type: &DataType) -> Box<[u8]> {
    let mut out = Vec::new();
    match cell {
        Cell::Int(bits) if data_type.kind == TypeKind::Bit => {
            out.extend_from_slice(format!("{bits:b}").as_bytes());
        }
        Cell::Bytes(bytes) if data_type.is_binary_string() => out.extend_from_slice(bytes),
        _ => print_cell(cell, data_type, &mut out),
    }
    let charset = data_type.collation.charset();
    let has_charset = data_type.is_string() || data_type.members.is_some();
    if has_charset && charset != Charset::Binary && charset != Charset::Utf8mb4 {
        let mut utf8 = Vec::with_capacity(out.len());
        let _ = types::charset::convert_lossy(charset, &out, Charset::Utf8mb4, &mut utf8);
        out = utf8;
    }
    out.into()
}

/// The value of a literal with its sign; `None` for what cannot be a default.
fn literal(expr: &ast::Expr<'_>, data_type: &DataType, settings: &Settings<'_>) -> Option<Value> {
    use ast::{ExprKind, Literal, NumberKind, UnaryOp};
    match expr.kind {
        ExprKind::Unary { op: UnaryOp::Neg, expr } => Some(match literal(expr, data_type, settings)? {
            Value::Int(value) => Value::Int(value.checked_neg()?),
            Value::UInt(value) if value == 1 << 63 => Value::Int(i64::MIN),
            Value::UInt(value) => Value::Decimal(Decimal::from_u64(value).neg()),
            Value::Double(value) => Value::Double(-value),
            Value::Decimal(value) => Value::Decimal(value.neg()),
            _ => return None,
        }),
        ExprKind::Unary { op: UnaryOp::Plus, expr } => literal(expr, data_type, settings),
        ExprKind::Literal(literal) => Some(match literal {
            Literal::Null => Value::Null,
            Literal::True => Value::Int(1),
            Literal::False => Value::Int(0),
            Literal::Number(NumberKind::Integer, text) => {
                let number: u64 = std::str::from_utf8(text).ok()?.parse().ok()?;
                i64::try_from(number).map_or(Value::UInt(number), Value::Int)
            }
            Literal::Number(NumberKind::Decimal, text) => Value::Decimal(Decimal::parse(text).value),
            Literal::Number(NumberKind::Float, text) => {
                Value::Double(std::str::from_utf8(text).ok()?.parse().ok()?)
            }
            Literal::String { value, charset } => {
                // The text is UTF-8 here; behind an introducer are the bytes of that set.
                match charset {
                    Some(name) => {
                        let charset = Charset::from_name(std::str::from_utf8(name).ok()?)?;
                        Value::string(value, charset.default_collation())
                    }
                    None => {
                        Value::string_literal(value, settings.session.literal_charset.default_collation())
                    }
                }
            }
            Literal::Bytes { value, .. } if data_type.is_numeric() => {
                if value.len() > 8 {
                    return None;
                }
                Value::UInt(value.iter().fold(0, |bits, &byte| bits << 8 | u64::from(byte)))
            }
            Literal::Bytes { value, .. } => Value::string(value, types::CollationId::BINARY),
            Literal::Temporal { .. } => return None,
        }),
        _ => None,
    }
}

/// Zero with the column's digits behind the point: values in rows are shown as they are.
pub(super) fn zero_decimal(data_type: &DataType) -> Decimal {
    Decimal::ZERO.round(data_type.scale)
}
