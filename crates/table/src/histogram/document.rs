//! The JSON documents of histograms: values in them, what is wrong with one that was given, and what it says of a column.

use access::{Bucket, ColumnStatistics, TimestampZone};
use catalog::StoredValue;
use types::charset::Charset;
use types::json::{Json, View};
use types::temporal::parse::{DateMode, parse_datetime, parse_time};
use types::temporal::{DateTime, Time};
use types::{Cell, DataType, Decimal, Physical, TypeKind};

use crate::Utc;
use crate::codec::key::KeyCodec;

/// Characters of a text that a histogram holds.
pub(super) const CHARS_MAX: u32 = 42;
/// The protocol's type of a byte string in a document.
const OPAQUE_STRING: u8 = 254;
/// The collation that 9.7 shows for what is no text.
const NUMBER_COLLATION: u16 = 8;
const BINARY_COLLATION: u16 = 63;
/// Most frequent values that are taken from a histogram with a bucket a value.
const FREQUENT_MAX: usize = 1_024;
/// Shares add up to 1 within this.
const SHARE_ERROR: f64 = 1e-9;

/// Why a document that was given is no histogram of the column.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum DataError {
    /// The text is no JSON: what is wrong, and at which byte.
    Syntax(&'static str, usize),
    /// What 9.7 says of the document.
    Content(String),
}

/// The name of a column's type in documents; none for one that has no histogram.
pub(super) fn data_type_name(data_type: &DataType) -> Option<&'static str> {
    Some(match data_type.kind {
        TypeKind::BigInt if data_type.unsigned => "uint",
        TypeKind::TinyInt
        | TypeKind::SmallInt
        | TypeKind::MediumInt
        | TypeKind::Int
        | TypeKind::BigInt
        | TypeKind::Bit
        | TypeKind::Year => "int",
        TypeKind::Float | TypeKind::Double => "double",
        TypeKind::Decimal => "decimal",
        TypeKind::Date => "date",
        TypeKind::Time => "time",
        TypeKind::DateTime | TypeKind::Timestamp => "datetime",
        TypeKind::Enum => "enum",
        TypeKind::Set => "set",
        TypeKind::Char
        | TypeKind::VarChar
        | TypeKind::TinyText
        | TypeKind::Text
        | TypeKind::MediumText
        | TypeKind::LongText => "string",
        TypeKind::Json | TypeKind::Null => return None,
    })
}

pub(super) fn printed_collation(data_type: &DataType) -> u16 {
    match data_type.kind {
        TypeKind::Bit => BINARY_COLLATION,
        TypeKind::Enum | TypeKind::Set => data_type.collation.id(),
        _ if data_type.physical() == Physical::Bytes => data_type.collation.id(),
        _ => NUMBER_COLLATION,
    }
}

/// The beginning of a text that a histogram holds.
pub(super) fn beginning<'t>(text: &'t [u8], data_type: &DataType) -> &'t [u8] {
    let chars = CHARS_MAX as usize;
    let charset = data_type.collation.charset();
    let end = if charset == Charset::Binary { chars } else { charset.prefix_bytes(text, chars) };
    &text[..end.min(text.len())]
}

/// A value as a document has it.
pub(super) fn json_value(value: &StoredValue, data_type: &DataType, zone: &dyn TimestampZone) -> Json {
    match value {
        StoredValue::Null => Json::Null,
        StoredValue::Int(number) => match data_type.kind {
            TypeKind::Date => Json::Date(DateTime::unpack(*number)),
            TypeKind::Time => Json::Time(Time { micros: *number }),
            TypeKind::DateTime => Json::DateTime(DateTime::unpack(*number)),
            TypeKind::Timestamp if *number == 0 => Json::DateTime(DateTime::ZERO),
            TypeKind::Timestamp => Json::DateTime(zone.local(Utc.utc_micros(DateTime::unpack(*number)))),
            TypeKind::BigInt if data_type.unsigned => Json::UInt(*number as u64),
            _ => Json::Int(*number),
        },
        StoredValue::Double(number) => Json::Double(*number),
        StoredValue::Decimal(number) => Json::Decimal(*number),
        StoredValue::Bytes(bytes) => Json::Opaque(OPAQUE_STRING, bytes.to_vec()),
    }
}

/// What a histogram says of its column, as far as it does; the rest as it was `known`.
pub(super) fn statistics_of(
    document: &[u8],
    keys: &KeyCodec,
    known: Option<&ColumnStatistics>,
) -> ColumnStatistics {
    let view = View::new(document);
    let number = |name: &str| view.get(name.as_bytes()).and_then(View::number).unwrap_or(0.0);
    let mut statistics =
        ColumnStatistics { null_share: number("null-values"), ..ColumnStatistics::default() };
    statistics.mean_bytes = known.map_or(0.0, |known| known.mean_bytes);
    let is_singleton = view.get(b"histogram-type").is_some_and(|kind| kind.string() == b"singleton");
    let mut before = 0.0;
    for bucket in view.get(b"buckets").into_iter().flat_map(View::elements) {
        let at = |index: usize| bucket.element(index).and_then(View::number).unwrap_or(0.0);
        let key = |index: usize| bucket.element(index).map(|value| key_of(value, keys)).unwrap_or_default();
        let least = key(0);
        let (greatest, cumulative, distinct) =
            if is_singleton { (least.clone(), at(1), 1.0) } else { (key(1), at(2), at(3).max(1.0)) };
        if is_singleton && statistics.frequent.len() < FREQUENT_MAX {
            statistics.frequent.push((least.clone(), (cumulative - before).max(0.0)));
        }
        before = cumulative;
        statistics.distinct += distinct;
        statistics.histogram.push(Bucket { least, greatest, cumulative, distinct });
    }
    statistics.frequent.sort_by(|one, other| other.1.total_cmp(&one.1));
    if !is_singleton && let Some(known) = known {
        statistics.frequent.clone_from(&known.frequent);
        statistics.distinct = statistics.distinct.max(known.distinct);
    }
    statistics.distinct = statistics.distinct.max(1.0);
    statistics
}

fn key_of(value: View<'_>, keys: &KeyCodec) -> Box<[u8]> {
    let mut key = Vec::new();
    let decimal;
    let cell = match value.tree() {
        Json::Int(number) => Cell::Int(number),
        Json::UInt(number) => Cell::Int(number as i64),
        Json::Double(number) => Cell::Double(number),
        Json::Decimal(number) => {
            decimal = number;
            Cell::Decimal(&decimal)
        }
        Json::Date(moment) | Json::DateTime(moment) => Cell::Int(moment.pack()),
        Json::Time(time) => Cell::Int(time.micros),
        Json::Opaque(..) => {
            keys.write_part(0, Cell::Bytes(value.opaque().1), &Utc, &mut key);
            return key.into();
        }
        _ => Cell::Null,
    };
    keys.write_part(0, cell, &Utc, &mut key);
    key.into()
}

/// Reads a histogram of a column that was given as text, with 9.7's complaints in its order. `now`: when, in UTC.
///
/// # Errors
/// What is wrong.
pub fn read_data(text: &[u8], data_type: &DataType, now: DateTime) -> Result<Json, DataError> {
    let tree =
        types::json::parse_tree(text).map_err(|error| DataError::Syntax(error.message, error.position))?;
    let Json::Object(members) = &tree else { return content("JSON data is not an object") };
    let member = |name: &str| members.iter().find(|(key, _)| key == name.as_bytes()).map(|(_, value)| value);
    let required = |name: &str| {
        member(name).ok_or_else(|| DataError::Content(format!("Missing attribute at '{}'.", path(name))))
    };
    let is_singleton = match required("histogram-type")? {
        Json::String(kind) if kind == b"singleton" => true,
        Json::String(kind) if kind == b"equi-height" => false,
        Json::String(_) => return content("Unsupported histogram type at '$.\"histogram-type\"'."),
        _ => return wrong_type("histogram-type"),
    };
    let Json::String(name) = required("data-type")? else { return wrong_type("data-type") };
    let own_name = data_type_name(data_type).unwrap_or("");
    if name != own_name.as_bytes() {
        return content("Histogram data type does not match column data type at '$.\"data-type\"'.");
    }
    let Json::Double(rate) = required("sampling-rate")? else { return wrong_type("sampling-rate") };
    if !(0.0..=1.0).contains(rate) {
        return content(
            "The sampling rate must be greater than or equal to 0 and less than or equal to 1 at '$.\"sampling-rate\"'.",
        );
    }
    let specified = match required("number-of-buckets-specified")? {
        Json::Int(number) => *number,
        Json::UInt(number) => i64::try_from(*number).unwrap_or(i64::MAX),
        _ => return wrong_type("number-of-buckets-specified"),
    };
    if !(1..=1024).contains(&specified) {
        return content(
            "The value of attribute number-of-buckets-specified must be an integer in the range from 1 to 1024 at '$.\"number-of-buckets-specified\"'.",
        );
    }
    let Json::Double(nulls) = required("null-values")? else { return wrong_type("null-values") };
    frequency(*nulls, &path("null-values"))?;
    let Json::Int(_) = required("collation-id")? else { return wrong_type("collation-id") };
    let Json::Bool(is_auto) = required("auto-update")? else { return wrong_type("auto-update") };
    let Json::Array(given) = required("buckets")? else { return wrong_type("buckets") };
    if given.len() as i64 > specified {
        return content(
            "The number of real buckets must be less than or equal to the number specified by attribute number-of-buckets-specified.",
        );
    }
    let mut buckets: Vec<Vec<Json>> = Vec::with_capacity(given.len());
    for (at, bucket) in given.iter().enumerate() {
        let bucket = read_bucket(bucket, at, is_singleton, data_type)?;
        follows(buckets.last(), &bucket, at, is_singleton, data_type)?;
        buckets.push(bucket);
    }
    let share_at = if is_singleton { 1 } else { 2 };
    match buckets.last().and_then(|bucket| bucket.get(share_at)) {
        None if *nulls != 0.0 && *nulls != 1.0 => {
            return content("The null values fraction should be 0 or 1.");
        }
        Some(Json::Double(share)) if (share + nulls - 1.0).abs() > SHARE_ERROR => {
            return content(
                "The sum of the null values fraction and the cumulative frequency of the last bucket should be 1.'",
            );
        }
        _ => {}
    }
    let member = |name: &str, value: Json| (name.as_bytes().to_vec(), value);
    Ok(Json::object(vec![
        member("buckets", Json::Array(buckets.into_iter().map(Json::Array).collect())),
        member("data-type", Json::String(own_name.as_bytes().to_vec())),
        member("auto-update", Json::Bool(*is_auto)),
        member("null-values", Json::Double(*nulls)),
        member("collation-id", Json::Int(i64::from(printed_collation(data_type)))),
        member("last-updated", Json::DateTime(now)),
        member("sampling-rate", Json::Double(*rate)),
        member("histogram-type", Json::String(if is_singleton { "singleton" } else { "equi-height" }.into())),
        member("number-of-buckets-specified", Json::Int(specified)),
    ]))
}

fn content<T>(message: &str) -> Result<T, DataError> {
    Err(DataError::Content(message.to_owned()))
}

fn wrong_type<T>(name: &str) -> Result<T, DataError> {
    content(&format!("Wrong attribute type at '{}'.", path(name)))
}

/// As 9.7 prints the path to a member.
fn path(name: &str) -> String {
    if name.contains('-') { format!("$.\"{name}\"") } else { format!("$.{name}") }
}

fn frequency(share: f64, path: &str) -> Result<(), DataError> {
    if (0.0..=1.0).contains(&share) {
        return Ok(());
    }
    content(&format!(
        "The frequency must be greater than or equal to 0 and less than or equal to 1 at '{path}'."
    ))
}

fn read_bucket(
    bucket: &Json,
    at: usize,
    is_singleton: bool,
    data_type: &DataType,
) -> Result<Vec<Json>, DataError> {
    let Json::Array(parts) = bucket else {
        return content(&format!("Wrong attribute type at '$.buckets[{at}]'."));
    };
    let (wanted, word) = if is_singleton { (2, "Two") } else { (4, "Four") };
    if parts.len() != wanted {
        return content(&format!("{word} elements required for bucket at '$.buckets[{at}]'."));
    }
    let values = if is_singleton { 1 } else { 2 };
    let mut read = Vec::with_capacity(wanted);
    for (number, value) in parts[..values].iter().enumerate() {
        read.push(read_value(value, data_type, &format!("$.buckets[{at}][{number}]"))?);
    }
    let path = format!("$.buckets[{at}][{values}]");
    let Json::Double(share) = parts[values] else {
        return content(&format!("Wrong attribute type at '{path}'."));
    };
    frequency(share, &path)?;
    read.push(Json::Double(share));
    if !is_singleton {
        let path = format!("$.buckets[{at}][3]");
        match parts[3] {
            Json::Int(distinct) if distinct > 0 => read.push(Json::Int(distinct)),
            Json::Int(_) => {
                return content(&format!(
                    "The number of distinct values must be a positive integer at '{path}'."
                ));
            }
            _ => return content(&format!("Wrong attribute type at '{path}'.")),
        }
    }
    Ok(read)
}

/// Whether a bucket lies behind the one before.
fn follows(
    before: Option<&Vec<Json>>,
    bucket: &[Json],
    at: usize,
    is_singleton: bool,
    data_type: &DataType,
) -> Result<(), DataError> {
    let order = |one: &Json, other: &Json| compare(one, other, data_type);
    if !is_singleton && order(&bucket[0], &bucket[1]).is_gt() {
        return content(&format!(
            "The lower inclusive value of bucket at '$.buckets[{at}][0]' must be less than or equal to upper inclusive value."
        ));
    }
    let Some(before) = before else { return Ok(()) };
    if is_singleton && !order(&before[0], &bucket[0]).is_lt() {
        return content(&format!(
            "The value at '$.buckets[{at}][0]' must be greater than that of previous bucket."
        ));
    }
    if !is_singleton && !order(&before[1], &bucket[0]).is_lt() {
        return content(&format!(
            "The lower inclusive value of bucket at '$.buckets[{at}][0]' must be greater than the upper inclusive value of previous bucket."
        ));
    }
    let share_at = if is_singleton { 1 } else { 2 };
    let share = |bucket: &[Json]| match bucket[share_at] {
        Json::Double(share) => share,
        _ => 0.0,
    };
    if share(bucket) < share(before) {
        return content(&format!(
            "The cumulative frequency at '$.buckets[{at}][{share_at}]' must be greater than that of previous bucket."
        ));
    }
    Ok(())
}

fn compare(one: &Json, other: &Json, data_type: &DataType) -> std::cmp::Ordering {
    if let (Json::Opaque(_, one), Json::Opaque(_, other)) = (one, other) {
        return data_type.collation.compare(one, other);
    }
    let document = |value: &Json| {
        let mut bytes = Vec::new();
        value.encode(&mut bytes);
        bytes
    };
    types::json::compare(&document(one), &document(other))
}

/// A value of the column's type.
fn read_value(value: &Json, data_type: &DataType, path: &str) -> Result<Json, DataError> {
    let wrong = || DataError::Content(format!("Wrong attribute type at '{path}'."));
    let format_error = || DataError::Content(format!("Value format error at '{path}'."));
    let out_of_range = || DataError::Content(format!("Out of range value for column at '{path}'."));
    let text = || match value {
        Json::String(text) => Ok(text),
        _ => Err(wrong()),
    };
    Ok(match data_type_name(data_type).unwrap_or("") {
        "double" => match value {
            Json::Double(_) => value.clone(),
            _ => return Err(wrong()),
        },
        "decimal" => match value {
            Json::Double(number) => Json::Decimal(Decimal::from_f64(*number).map_err(|_| out_of_range())?),
            Json::Int(number) => Json::Decimal(Decimal::from_units(i128::from(*number), 0)),
            _ => return Err(wrong()),
        },
        "date" => {
            let moment = parse_datetime(text()?, DateMode::default()).map_err(|_| format_error())?;
            if moment.truncated || moment.has_time {
                return Err(format_error());
            }
            Json::Date(moment.value)
        }
        "datetime" => {
            let moment = parse_datetime(text()?, DateMode::default()).map_err(|_| format_error())?;
            if moment.truncated {
                return Err(format_error());
            }
            Json::DateTime(moment.value)
        }
        "time" => {
            let time = parse_time(text()?).map_err(|_| format_error())?;
            if time.truncated {
                return Err(format_error());
            }
            Json::Time(time.value)
        }
        "string" => {
            let bytes = text()?
                .strip_prefix(b"base64:type254:")
                .and_then(types::base64::read)
                .ok_or_else(format_error)?;
            Json::Opaque(OPAQUE_STRING, bytes)
        }
        _ => {
            let number = match value {
                Json::Int(number) => i128::from(*number),
                Json::UInt(number) => i128::from(*number),
                _ => return Err(wrong()),
            };
            let (least, most) = integer_limits(data_type);
            if !(least..=most).contains(&number) {
                return Err(out_of_range());
            }
            if data_type.kind == TypeKind::BigInt && data_type.unsigned {
                Json::UInt(number as u64)
            } else {
                Json::Int(number as i64)
            }
        }
    })
}

fn integer_limits(data_type: &DataType) -> (i128, i128) {
    match data_type.kind {
        TypeKind::Bit => (0, (1 << data_type.length.clamp(1, 64)) - 1),
        TypeKind::Year => (0, 2155),
        TypeKind::Enum => (0, data_type.members.as_ref().map_or(0, |members| members.len() as i128)),
        TypeKind::Set => {
            (0, (1 << data_type.members.as_ref().map_or(0, |members| members.len().min(64))) - 1)
        }
        _ => {
            let bits = u32::from(data_type.integer_bytes().unwrap_or(8)) * 8;
            if data_type.unsigned {
                (0, (1 << bits) - 1)
            } else {
                (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str, data_type: &DataType) -> String {
        match read_data(text.as_bytes(), data_type, DateTime::ZERO) {
            Ok(document) => {
                let (mut binary, mut text) = (Vec::new(), Vec::new());
                document.encode(&mut binary);
                types::json::print(&binary, &mut text);
                String::from_utf8(text).unwrap()
            }
            Err(DataError::Syntax(message, _)) => message.to_owned(),
            Err(DataError::Content(message)) => message,
        }
    }

    fn given(buckets: &str, kind: &str) -> String {
        format!(
            "{{\"buckets\": {buckets}, \"data-type\": \"int\", \"auto-update\": true, \"null-values\": 0.0, \"collation-id\": 8,
             \"sampling-rate\": 1.0, \"histogram-type\": \"{kind}\", \"number-of-buckets-specified\": 4}}"
        )
    }

    #[test]
    fn documents_are_read_or_complained_of_as_in_mysql() {
        let tiny = DataType::integer(TypeKind::TinyInt, true);
        for (buckets, kind, start) in [
            (
                "[[1, 0.5], [200, 1.0]]",
                "singleton",
                "{\"buckets\": [[1, 0.5], [200, 1.0]], \"data-type\": \"int\"",
            ),
            ("[[1, 0.5], [300, 1.0]]", "singleton", "Out of range value for column at '$.buckets[1][0]'."),
            (
                "[[2, 0.5], [1, 1.0]]",
                "singleton",
                "The value at '$.buckets[1][0]' must be greater than that of previous bucket.",
            ),
            ("[[1, 0.5, 1]]", "singleton", "Two elements required for bucket at '$.buckets[0]'."),
            ("{}", "singleton", "Wrong attribute type at '$.buckets'."),
            ("[[1, 0.5]]", "singleton", "The sum of the null values fraction and"),
            (
                "[[1, 5, 0.5, 3], [6, 7, 1.0, 2]]",
                "equi-height",
                "{\"buckets\": [[1, 5, 0.5, 3], [6, 7, 1.0, 2]]",
            ),
            (
                "[[1, 5, 0.5, 3], [4, 7, 1.0, 2]]",
                "equi-height",
                "The lower inclusive value of bucket at '$.buckets[1][0]' must be greater",
            ),
            ("[]", "other", "Unsupported histogram type at '$.\"histogram-type\"'."),
        ] {
            let said = said(&given(buckets, kind), &tiny);
            assert!(said.starts_with(start), "{buckets}: {said}");
        }
        assert_eq!(said("[]", &tiny), "JSON data is not an object");
        assert_eq!(said("{}", &tiny), "Missing attribute at '$.\"histogram-type\"'.");
    }
}
