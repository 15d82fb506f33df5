//! Values of tables and literals: SQL text and parameters of prepared statements.

use client::Param;

/// Gathers SQL text; with `parameters`, literals that are marked become `?`.
#[derive(Debug, Default)]
pub struct Writer {
    /// The text so far.
    pub text: String,
    /// The values of the `?`, if the statement is to be prepared.
    pub parameters: Option<Vec<Value>>,
}

impl Writer {
    /// Appends text.
    pub fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Appends items with a separator between them.
    pub fn list<T>(&mut self, items: &[T], separator: &str, mut write: impl FnMut(&mut Writer, &T)) {
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                self.push(separator);
            }
            write(self, item);
        }
    }
}

/// One value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// NULL.
    Null,
    /// Any integer that a 64-bit column holds.
    Int(i128),
    /// Digits with a point.
    Decimal(String),
    /// An approximate number.
    Real(f64),
    /// Text.
    Text(String),
    /// Bytes, written in hexadecimal digits.
    Bytes(Vec<u8>),
    /// `YYYY-MM-DD`.
    Date(String),
    /// `[-]HH:MM:SS[.ffffff]`.
    Time(String),
    /// `YYYY-MM-DD HH:MM:SS[.ffffff]`.
    DateTime(String),
    /// The text of a JSON document.
    Json(String),
}

/// Appends `text` as a string literal.
pub fn write_quoted(text: &str, out: &mut String) {
    out.push('\'');
    for character in text.chars() {
        match character {
            '\'' => out.push_str("''"),
            '\\' => out.push_str("\\\\"),
            '\0' => out.push_str("\\0"),
            '\n' => out.push_str("\\n"),
            other => out.push(other),
        }
    }
    out.push('\'');
}

impl Value {
    /// Appends the literal of an expression: dates and JSON carry their types.
    pub fn write_literal(&self, out: &mut String) {
        match self {
            Value::Date(text) => {
                out.push_str("DATE");
                write_quoted(text, out);
            }
            Value::Time(text) => {
                out.push_str("TIME");
                write_quoted(text, out);
            }
            Value::DateTime(text) => {
                out.push_str("TIMESTAMP");
                write_quoted(text, out);
            }
            Value::Json(text) => {
                out.push_str("CAST(");
                write_quoted(text, out);
                out.push_str(" AS JSON)");
            }
            other => other.write_stored(out),
        }
    }

    /// Appends the literal of a row to insert: the column says the type.
    pub fn write_stored(&self, out: &mut String) {
        match self {
            Value::Null => out.push_str("NULL"),
            Value::Int(value) => out.push_str(&value.to_string()),
            Value::Decimal(digits) => out.push_str(digits),
            Value::Real(value) => out.push_str(&format!("{value:e}")),
            Value::Bytes(bytes) => {
                out.push_str("x'");
                for byte in bytes {
                    out.push_str(&format!("{byte:02X}"));
                }
                out.push('\'');
            }
            Value::Text(text)
            | Value::Date(text)
            | Value::Time(text)
            | Value::DateTime(text)
            | Value::Json(text) => write_quoted(text, out),
        }
    }

    /// The value as a client sends it with a prepared statement.
    #[must_use]
    pub fn parameter(&self) -> Param<'_> {
        match self {
            Value::Null => Param::Null,
            Value::Int(value) => match i64::try_from(*value) {
                Ok(value) => Param::Int(value),
                Err(_) => Param::UInt(u64::try_from(*value).unwrap_or(u64::MAX)),
            },
            Value::Decimal(digits) => Param::Decimal(digits.as_bytes()),
            Value::Real(value) => Param::Double(*value),
            Value::Text(text) | Value::Json(text) => Param::Bytes(text.as_bytes()),
            Value::Bytes(bytes) => Param::Bytes(bytes),
            Value::Date(text) | Value::DateTime(text) | Value::Time(text) => {
                temporal_parameter(self, text).unwrap_or(Param::Bytes(text.as_bytes()))
            }
        }
    }
}

/// The numbers of a text, and its fraction in microseconds.
fn temporal_parameter<'a>(value: &Value, text: &str) -> Option<Param<'a>> {
    let negative = text.starts_with('-');
    let text = text.trim_start_matches('-');
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let micros: u32 = format!("{fraction:0<6}").get(..6)?.parse().ok()?;
    let numbers: Vec<u32> =
        whole.split([' ', '-', ':']).map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let byte = |at: usize| numbers.get(at).copied().unwrap_or(0).min(255) as u8;
    let mut fields = wire::row::DateTimeFields::default();
    match value {
        Value::Time(_) => {
            let fields = wire::row::TimeFields {
                negative,
                hours: *numbers.first()?,
                minute: byte(1),
                second: byte(2),
                micros,
            };
            Some(Param::Time(fields))
        }
        _ => {
            fields.year = u16::try_from(*numbers.first()?).ok()?;
            fields.month = byte(1);
            fields.day = byte(2);
            if matches!(value, Value::Date(_)) {
                return Some(Param::Date(fields));
            }
            fields.hour = byte(3);
            fields.minute = byte(4);
            fields.second = byte(5);
            fields.micros = micros;
            Some(Param::DateTime(fields))
        }
    }
}
