//! From the value of an expression to the setting of a variable, with MySQL's checks, errors and warnings.

use service::error::{
    ER_SQL_MODE_MERGED, ER_TRUNCATED_WRONG_VALUE, ER_UNKNOWN_CHARACTER_SET, ER_UNKNOWN_COLLATION,
    ER_UNKNOWN_LOCALE, ER_UNSUPPORTED_SQL_MODE, ER_WARN_DEPRECATED_SQLMODE, ER_WRONG_TYPE_FOR_VAR,
    ER_WRONG_VALUE_FOR_VAR,
};
use service::{Diagnostic, SqlError};
use types::Value;
use types::charset::Charset;
use types::collation::CollationId;
use types::locale::LocaleId;

use super::definition::{Definition, Kind};
use super::optimizer_switch::OptimizerSwitch;
use super::sql_mode::{SqlModeError, SqlModes};
use super::values::Setting;

/// Text variables that take NULL.
const NULLABLE: &[&str] = &["character_set_results", "init_connect"];

/// Text of a value as MySQL names it in error messages.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::Int(number) => number.to_string(),
        Value::UInt(number) => number.to_string(),
        Value::Double(number) => number.to_string(),
        Value::Decimal(number) => number.to_string(),
        Value::Bytes { bytes, .. } | Value::Json(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::Date(_) | Value::DateTime(_) | Value::Time(_) => String::new(),
    }
}

#[cold]
fn wrong_value(definition: &Definition, value: &Value) -> Box<SqlError> {
    ER_WRONG_VALUE_FOR_VAR.with(&[&definition.name, &shown(value)])
}

#[cold]
fn wrong_type(definition: &Definition) -> Box<SqlError> {
    ER_WRONG_TYPE_FOR_VAR.with(&[&definition.name])
}

fn text_of(value: &Value) -> Option<&str> {
    match value {
        Value::Bytes { bytes, .. } => std::str::from_utf8(bytes).ok(),
        _ => None,
    }
}

fn integer_of(value: &Value) -> Option<i128> {
    match value {
        Value::Int(number) => Some(i128::from(*number)),
        Value::UInt(number) => Some(i128::from(*number)),
        _ => None,
    }
}

/// Checks `value` and makes it a setting, in place of `current`. Numbers out of range are clipped with a warning, as MySQL does.
///
/// # Errors
/// 1231 and 1232, and those of character sets and sql_modes.
pub fn setting_of(
    definition: &Definition,
    current: &Setting,
    value: &Value,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Setting, Box<SqlError>> {
    match &definition.kind {
        Kind::Boolean => boolean(value).map(Setting::Boolean).ok_or_else(|| wrong_value(definition, value)),
        Kind::Integer { least, greatest } => {
            let number = integer_of(value).ok_or_else(|| match value {
                Value::Null => wrong_type(definition),
                _ => wrong_type(definition),
            })?;
            let clipped = number.clamp(*least, *greatest);
            if clipped != number {
                warnings.push(ER_TRUNCATED_WRONG_VALUE.warning(&[&definition.name, &number]));
            }
            Ok(Setting::Integer(clipped))
        }
        Kind::Decimal => {
            #[allow(clippy::cast_precision_loss, reason = "seconds, far below 2^53")]
            let number = match value {
                Value::Int(number) => *number as f64,
                Value::UInt(number) => *number as f64,
                Value::Double(number) => *number,
                Value::Decimal(number) => number.to_f64(),
                _ => return Err(wrong_type(definition)),
            };
            if number < 0.0 {
                warnings.push(ER_TRUNCATED_WRONG_VALUE.warning(&[&definition.name, &shown(value)]));
            }
            Ok(Setting::Decimal(number.max(0.0)))
        }
        Kind::Enumeration(names) => {
            let found = match (text_of(value), integer_of(value)) {
                (Some(text), _) => names.iter().position(|name| name.eq_ignore_ascii_case(text)),
                (None, Some(number)) => usize::try_from(number).ok().filter(|number| *number < names.len()),
                _ => None,
            };
            found.map(|index| Setting::text(names[index])).ok_or_else(|| wrong_value(definition, value))
        }
        Kind::Set(_) if definition.name == "sql_mode" => sql_mode(definition, value, warnings),
        Kind::Set(names) => {
            let text = text_of(value).ok_or_else(|| wrong_value(definition, value))?;
            for part in text.split(',').filter(|part| !part.is_empty()) {
                if !names.iter().any(|name| name.eq_ignore_ascii_case(part)) {
                    return Err(wrong_value(definition, value));
                }
            }
            Ok(Setting::text(&text.to_ascii_uppercase()))
        }
        Kind::Text if definition.name == "optimizer_switch" => optimizer_switch(definition, current, value),
        Kind::Text => text(definition, value),
    }
}

fn optimizer_switch(
    definition: &Definition,
    current: &Setting,
    value: &Value,
) -> Result<Setting, Box<SqlError>> {
    let switch = match (text_of(value), integer_of(value)) {
        (Some(text), _) => OptimizerSwitch::of(current)
            .with(text)
            .map_err(|entry| ER_WRONG_VALUE_FOR_VAR.with(&[&definition.name, &entry]))?,
        (None, Some(number)) => u64::try_from(number)
            .ok()
            .and_then(OptimizerSwitch::from_bits)
            .ok_or_else(|| wrong_value(definition, value))?,
        _ if value.is_null() => return Err(wrong_value(definition, value)),
        _ => return Err(wrong_type(definition)),
    };
    Ok(Setting::text(&switch.shown()))
}

fn boolean(value: &Value) -> Option<bool> {
    if let Some(text) = text_of(value) {
        return match text.to_ascii_lowercase().as_str() {
            "on" | "true" | "1" => Some(true),
            "off" | "false" | "0" => Some(false),
            _ => None,
        };
    }
    match integer_of(value) {
        Some(0) => Some(false),
        Some(1) => Some(true),
        _ => None,
    }
}

fn sql_mode(
    definition: &Definition,
    value: &Value,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Setting, Box<SqlError>> {
    let modes = match (text_of(value), integer_of(value)) {
        (Some(text), _) => SqlModes::parse(text),
        (None, Some(number)) => {
            u64::try_from(number).map_err(|_| wrong_value(definition, value)).map(SqlModes::from_bits)?
        }
        _ => return Err(wrong_value(definition, value)),
    };
    match modes {
        Ok(modes) => {
            if !modes.fits_strictness() {
                warnings.push(ER_SQL_MODE_MERGED.warning(&[]));
            }
            if modes.has(SqlModes::PAD_CHAR_TO_FULL_LENGTH) {
                warnings.push(ER_WARN_DEPRECATED_SQLMODE.warning(&[&"PAD_CHAR_TO_FULL_LENGTH"]));
            }
            Ok(Setting::text(&modes.names()))
        }
        Err(SqlModeError::Unknown(name)) => Err(ER_WRONG_VALUE_FOR_VAR.with(&[&definition.name, &name])),
        Err(SqlModeError::Unsupported(bits)) => {
            Err(ER_UNSUPPORTED_SQL_MODE.saying(format!("sql_mode={bits:#010x} is not supported.")))
        }
    }
}

fn text(definition: &Definition, value: &Value) -> Result<Setting, Box<SqlError>> {
    if value.is_null() {
        return if NULLABLE.contains(&definition.name) {
            Ok(Setting::Null)
        } else {
            Err(wrong_value(definition, value))
        };
    }
    let name = definition.name;
    if name.starts_with("character_set_") {
        let charset = match (text_of(value), integer_of(value)) {
            (Some(text), _) => Charset::from_name(text),
            (None, Some(number)) => {
                u16::try_from(number).ok().and_then(CollationId::from_id).map(CollationId::charset)
            }
            _ => return Err(wrong_type(definition)),
        };
        let charset = charset.ok_or_else(|| ER_UNKNOWN_CHARACTER_SET.with(&[&shown(value)]))?;
        return Ok(Setting::text(charset.name()));
    }
    if name.starts_with("collation_") || name == "default_collation_for_utf8mb4" {
        let collation = match (text_of(value), integer_of(value)) {
            (Some(text), _) => CollationId::from_name(text),
            (None, Some(number)) => u16::try_from(number).ok().and_then(CollationId::from_id),
            _ => return Err(wrong_type(definition)),
        };
        let collation = collation.ok_or_else(|| ER_UNKNOWN_COLLATION.with(&[&shown(value)]))?;
        return Ok(Setting::text(collation.name()));
    }
    if name == "lc_time_names" {
        let locale = match (text_of(value), integer_of(value)) {
            (Some(text), _) => LocaleId::from_name(text),
            (None, Some(number)) => u64::try_from(number).ok().and_then(LocaleId::from_number),
            _ => return Err(wrong_type(definition)),
        };
        let locale = locale.ok_or_else(|| ER_UNKNOWN_LOCALE.with(&[&shown(value)]))?;
        return Ok(Setting::text(locale.locale().name));
    }
    match value {
        Value::Bytes { bytes, .. } => Ok(Setting::text(&String::from_utf8_lossy(bytes))),
        _ => Err(wrong_type(definition)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::variables::by_name;

    fn set(name: &str, value: &Value) -> Result<(Setting, Vec<String>), String> {
        let definition = by_name(name.as_bytes()).unwrap().definition();
        let mut warnings = Vec::new();
        match setting_of(definition, &definition.default, value, &mut warnings) {
            Ok(setting) => Ok((setting, warnings.into_iter().map(|warning| warning.message).collect())),
            Err(error) => Err(format!("{} {}", error.number, error.message)),
        }
    }

    fn text(text: &str) -> Value {
        Value::string(text, CollationId::UTF8MB4_0900_AI_CI)
    }

    #[test]
    fn values_are_checked_as_mysql_checks_them() {
        assert_eq!(set("autocommit", &text("on")), Ok((Setting::Boolean(true), vec![])));
        assert_eq!(
            set("autocommit", &Value::Int(2)),
            Err("1231 Variable 'autocommit' can't be set to the value of '2'".to_owned())
        );
        assert_eq!(
            set("autocommit", &Value::Null),
            Err("1231 Variable 'autocommit' can't be set to the value of 'NULL'".to_owned())
        );
        assert_eq!(
            set("sort_buffer_size", &text("x")),
            Err("1232 Incorrect argument type to variable 'sort_buffer_size'".to_owned())
        );
        assert_eq!(
            set("sort_buffer_size", &Value::Int(1)),
            Ok((Setting::Integer(32768), vec!["Truncated incorrect sort_buffer_size value: '1'".to_owned()]))
        );
        assert_eq!(
            set("transaction_isolation", &text("read-committed")),
            Ok((Setting::text("READ-COMMITTED"), vec![]))
        );
        assert_eq!(
            set("transaction_isolation", &Value::Int(7)),
            Err("1231 Variable 'transaction_isolation' can't be set to the value of '7'".to_owned())
        );
        assert_eq!(set("character_set_results", &Value::Null), Ok((Setting::Null, vec![])));
        assert_eq!(
            set("character_set_client", &text("x")),
            Err("1115 Unknown character set: 'x'".to_owned())
        );
        assert_eq!(set("collation_connection", &text("x")), Err("1273 Unknown collation: 'x'".to_owned()));
    }
}
