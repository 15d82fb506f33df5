//! From the value of an expression to the setting of a variable, with MySQL's checks, errors and warnings.

use service::error::{
    ER_SQL_MODE_MERGED, ER_TRUNCATED_WRONG_VALUE, ER_UNKNOWN_CHARACTER_SET, ER_UNKNOWN_COLLATION,
    ER_UNKNOWN_LOCALE, ER_UNKNOWN_STORAGE_ENGINE, ER_UNSUPPORTED_SQL_MODE, ER_WARN_DEPRECATED_SQLMODE,
    ER_WRONG_TYPE_FOR_VAR, ER_WRONG_VALUE_FOR_VAR,
};
use service::{Diagnostic, SqlError};
use types::Value;
use types::charset::Charset;
use types::collation::CollationId;
use types::locale::LocaleId;

use super::definition::{Definition, Kind};
use super::flag_list::{self, Flags};
use super::optimizer_switch::OptimizerSwitch;
use super::sql_mode::{SqlModeError, SqlModes};
use super::values::Setting;

/// Switches of what this server does not do, and nobody should take for done: ON is refused.
const ALWAYS_OFF: &[&str] = &["binlog_encryption", "innodb_redo_log_encrypt", "innodb_undo_log_encrypt"];

/// Texts that name a full-text table, which there is none of.
const WITHOUT_TABLE: &[&str] =
    &["innodb_ft_aux_table", "innodb_ft_server_stopword_table", "innodb_ft_user_stopword_table"];

/// The flags of `optimizer_trace`.
const TRACE_FLAGS: [(&str, bool); 2] = [("enabled", false), ("one_line", false)];
/// The flags of `optimizer_trace_features`.
const TRACE_FEATURES: [(&str, bool); 4] = [
    ("greedy_search", true),
    ("range_optimizer", true),
    ("dynamic_range", true),
    ("repeated_subselect", true),
];

/// Whole numbers that are refused, not clipped, outside their range.
const NOT_CLIPPED: &[&str] = &["caching_sha2_password_digest_rounds", "innodb_commit_concurrency"];

/// The storage engines of MySQL that keep or drop rows; tables of all of them are ours.
const ENGINES: &[&str] =
    &["InnoDB", "MyISAM", "MEMORY", "CSV", "ARCHIVE", "BLACKHOLE", "MRG_MYISAM", "PERFORMANCE_SCHEMA"];

/// Text of a value as MySQL names it in error messages.
pub(crate) fn shown(value: &Value) -> String {
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
    if value.is_null() && definition.is_nullable {
        return Ok(Setting::Null);
    }
    match &definition.kind {
        Kind::Boolean => {
            let on = boolean(definition, value)?;
            if on && ALWAYS_OFF.contains(&definition.name) {
                return Err(wrong_value(definition, value));
            }
            Ok(Setting::Boolean(on && !definition.name.ends_with("_now")))
        }
        Kind::Integer { least, greatest, multiple_of } => {
            let number = integer_of(value).ok_or_else(|| wrong_type(definition))?;
            let clipped = number.clamp(*least, *greatest);
            if clipped != number && NOT_CLIPPED.contains(&definition.name) {
                return Err(wrong_value(definition, value));
            }
            let rounded = clipped - clipped.rem_euclid(*multiple_of);
            if rounded != number {
                let name = definition.present_name.unwrap_or(definition.name);
                warnings.push(ER_TRUNCATED_WRONG_VALUE.warning(&[&name, &number]));
            }
            Ok(Setting::Integer(rounded))
        }
        Kind::Decimal { least, greatest } => {
            #[allow(clippy::cast_precision_loss, reason = "seconds, far below 2^53")]
            let number = match value {
                Value::Int(number) => *number as f64,
                Value::UInt(number) => *number as f64,
                Value::Double(number) => *number,
                Value::Decimal(number) => number.to_f64(),
                _ => return Err(wrong_type(definition)),
            };
            let clipped = number.clamp(*least, *greatest);
            if number < *least || number > *greatest {
                warnings.push(ER_TRUNCATED_WRONG_VALUE.warning(&[&definition.name, &shown(value)]));
            }
            Ok(Setting::Decimal(clipped))
        }
        Kind::Enumeration(_) if is_fraction(value) => Err(wrong_type(definition)),
        Kind::Enumeration(names) => {
            let found = match (text_of(value), integer_of(value)) {
                (Some(text), _) => names.iter().position(|name| name.eq_ignore_ascii_case(text)),
                (None, Some(number)) => usize::try_from(number).ok().filter(|number| *number < names.len()),
                _ => None,
            };
            found.map(|index| Setting::text(names[index])).ok_or_else(|| wrong_value(definition, value))
        }
        Kind::Set(_) if definition.name == "optimizer_trace" => {
            flags(&TRACE_FLAGS, definition, current, value)
        }
        Kind::Set(_) if definition.name == "optimizer_trace_features" => {
            flags(&TRACE_FEATURES, definition, current, value)
        }
        Kind::Set(_) if is_fraction(value) => Err(wrong_type(definition)),
        Kind::Set(_) if definition.name == "sql_mode" => sql_mode(definition, value, warnings),
        Kind::Set(names) => set(definition, names, value),
        Kind::Text if definition.name == "optimizer_switch" => optimizer_switch(definition, current, value),
        Kind::Text => match value {
            Value::Bytes { .. } if WITHOUT_TABLE.contains(&definition.name) => {
                Err(wrong_value(definition, value))
            }
            Value::Bytes { bytes, .. } => Ok(Setting::text(&String::from_utf8_lossy(bytes))),
            Value::Null => Err(wrong_value(definition, value)),
            _ => Err(wrong_type(definition)),
        },
        Kind::CharacterSet => by_name_or_number(
            definition,
            value,
            Charset::from_name,
            |number| CollationId::from_id(u16::try_from(number).ok()?).map(CollationId::charset),
            Charset::name,
            |shown| ER_UNKNOWN_CHARACTER_SET.with(&[&shown]),
        ),
        Kind::Collation => by_name_or_number(
            definition,
            value,
            CollationId::from_name,
            |number| CollationId::from_id(u16::try_from(number).ok()?),
            CollationId::name,
            |shown| ER_UNKNOWN_COLLATION.with(&[&shown]),
        ),
        Kind::Locale => by_name_or_number(
            definition,
            value,
            LocaleId::from_name,
            |number| LocaleId::from_number(u64::try_from(number).ok()?),
            |locale| locale.locale().name,
            |shown| ER_UNKNOWN_LOCALE.with(&[&shown]),
        ),
        Kind::Engine => by_name_or_number(
            definition,
            value,
            |text| ENGINES.iter().find(|name| name.eq_ignore_ascii_case(text)).copied(),
            |_| None,
            |name| name,
            |shown| ER_UNKNOWN_STORAGE_ENGINE.with(&[&shown]),
        ),
    }
}

/// Whether a value is a number that no name or switch is given by.
fn is_fraction(value: &Value) -> bool {
    matches!(value, Value::Double(_) | Value::Decimal(_))
}

/// A thing that has a name and, in most cases, a number.
fn by_name_or_number<T>(
    definition: &Definition,
    value: &Value,
    named: impl Fn(&str) -> Option<T>,
    numbered: impl Fn(i128) -> Option<T>,
    name_of: impl Fn(T) -> &'static str,
    unknown: impl Fn(String) -> Box<SqlError>,
) -> Result<Setting, Box<SqlError>> {
    let found = match (text_of(value), integer_of(value)) {
        (Some(text), _) => named(text),
        (None, Some(_)) if definition.kind == Kind::Engine => return Err(wrong_type(definition)),
        (None, Some(number)) => numbered(number),
        _ if value.is_null() => return Err(wrong_value(definition, value)),
        _ => return Err(wrong_type(definition)),
    };
    found.map(|found| Setting::text(name_of(found))).ok_or_else(|| unknown(shown(value)))
}

/// Names joined by commas, or the bits of a number. The setting has each name once, in the order of the variable.
fn set(definition: &Definition, names: &[&'static str], value: &Value) -> Result<Setting, Box<SqlError>> {
    let wrong = || wrong_value(definition, value);
    let mut chosen = vec![false; names.len()];
    match (text_of(value), integer_of(value)) {
        (Some(text), _) => {
            for part in text.split(',').filter(|part| !part.is_empty()) {
                let index =
                    names.iter().position(|name| name.eq_ignore_ascii_case(part)).ok_or_else(wrong)?;
                chosen[index] = true;
            }
        }
        (None, Some(bits)) => {
            if !(0..1 << names.len()).contains(&bits) {
                return Err(wrong());
            }
            for (index, chosen) in chosen.iter_mut().enumerate() {
                *chosen = bits >> index & 1 == 1;
            }
        }
        _ => return Err(wrong()),
    }
    let shown: Vec<&str> =
        names.iter().zip(chosen).filter(|(_, chosen)| *chosen).map(|(name, _)| *name).collect();
    Ok(Setting::text(&shown.join(",")))
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

/// A list of flags that is stored as MySQL shows it.
fn flags(
    flags: &Flags,
    definition: &Definition,
    current: &Setting,
    value: &Value,
) -> Result<Setting, Box<SqlError>> {
    let before = match current {
        Setting::Text(text) => flag_list::stored(text),
        _ => flag_list::defaults(flags),
    };
    let bits = match (text_of(value), integer_of(value)) {
        (Some(text), _) => flag_list::assign(flags, before, text)
            .map_err(|entry| ER_WRONG_VALUE_FOR_VAR.with(&[&definition.name, &entry]))?,
        (None, Some(number)) => u64::try_from(number)
            .ok()
            .and_then(|number| flag_list::from_number(flags, number))
            .ok_or_else(|| wrong_value(definition, value))?,
        _ if value.is_null() => return Err(wrong_value(definition, value)),
        _ => return Err(wrong_type(definition)),
    };
    Ok(Setting::text(&flag_list::shown(flags, bits)))
}

fn boolean(definition: &Definition, value: &Value) -> Result<bool, Box<SqlError>> {
    if is_fraction(value) {
        return Err(wrong_type(definition));
    }
    let on = match (text_of(value), integer_of(value)) {
        (Some(text), _) if text.eq_ignore_ascii_case("on") => Some(true),
        (Some(text), _) if text.eq_ignore_ascii_case("off") => Some(false),
        (None, Some(0)) => Some(false),
        (None, Some(1)) => Some(true),
        _ => None,
    };
    on.ok_or_else(|| wrong_value(definition, value))
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
