//! Parameters of COM_STMT_EXECUTE: from the packet to values.

use exec::LongData;
use hashbrown::HashMap;
use service::ExecuteRequest;
use types::charset::Charset;
use types::collation::CollationId;
use types::temporal::{DateTime, Time};
use types::{Decimal, ValueRef};
use wire::ColumnType;
use wire::parameter::{ParameterType, ParameterValue, Parameters};

use super::prepared::PreparedStatement;
use crate::backend::Backend;
use crate::variables::settings::Settings;

/// Appends the parameters of a request to `values`, long data among them; `arena` holds what is not as it was sent.
#[inline(always)] // Once on the way of each execution, once where long data lies on disk.
pub(super) fn read_parameters<'v, B: Backend>(
    settings: &Settings,
    statement: &mut PreparedStatement<B>,
    long_data: &'v HashMap<u16, LongData>,
    arena: &'v bumpalo::Bump,
    values: &mut Vec<ValueRef<'v>>,
    request: ExecuteRequest<'v>,
) -> Result<(), wire::codec::Malformed> {
    let collation = settings.connection_collation;
    let client = settings.client_charset;
    let own = collation.charset();
    let converts = client != own && (client.needs_conversion() || own.needs_conversion());
    let count = statement.places.len();
    values.reserve(count);
    let mut parameters = Parameters::read(
        request.parameters,
        request.flags,
        request.query_attributes,
        count,
        &mut statement.types,
    )?;
    let types = parameters.types();
    for (index, &declared) in types.iter().enumerate().take(count) {
        let long = if long_data.is_empty() {
            None
        } else {
            u16::try_from(index).ok().and_then(|index| long_data.get(&index))
        };
        let value = parameters.next_value(long.is_some())?;
        let value = match long {
            Some(long) => {
                let bytes = long.in_memory();
                let text = matches!(
                    declared.column_type,
                    ColumnType::VarString | ColumnType::String | ColumnType::VarChar
                );
                ValueRef::Bytes { bytes, collation: if text { collation } else { CollationId::BINARY } }
            }
            None => value_of(value, declared, collation),
        };
        values.push(if converts { from_client(client, value, arena) } else { value });
    }
    Ok(())
}

/// The value of a binary parameter. Text is taken as UTF-8 in `collation`, bytes of BLOB types as `binary`.
#[inline]
fn value_of(value: ParameterValue<'_>, data_type: ParameterType, collation: CollationId) -> ValueRef<'_> {
    match value {
        ParameterValue::Null | ParameterValue::LongData => ValueRef::Null,
        ParameterValue::Int(number) => ValueRef::Int(number),
        ParameterValue::UInt(number) => ValueRef::UInt(number),
        ParameterValue::Float(number) => ValueRef::Double(f64::from(number)),
        ParameterValue::Double(number) => ValueRef::Double(number),
        ParameterValue::Decimal(text) => ValueRef::Decimal(Decimal::parse(text).value),
        ParameterValue::Bytes(bytes) => {
            let binary = matches!(
                data_type.column_type,
                ColumnType::TinyBlob | ColumnType::MediumBlob | ColumnType::LongBlob | ColumnType::Blob
            );
            ValueRef::Bytes { bytes, collation: if binary { CollationId::BINARY } else { collation } }
        }
        ParameterValue::Date(fields) => ValueRef::Date(datetime_of(fields)),
        ParameterValue::DateTime(fields) => ValueRef::DateTime(datetime_of(fields)),
        ParameterValue::Time(fields) => ValueRef::Time(Time::new(
            fields.negative,
            fields.hours,
            fields.minute,
            fields.second,
            fields.micros,
        )),
    }
}

/// Text parameters come in `character_set_client`; here they are in the connection's.
fn from_client<'a>(client: Charset, value: ValueRef<'a>, arena: &'a bumpalo::Bump) -> ValueRef<'a> {
    let ValueRef::Bytes { bytes, collation } = value else { return value };
    if collation == CollationId::BINARY || bytes.is_ascii() && collation.charset().extends_ascii() {
        return value;
    }
    let mut text = Vec::with_capacity(bytes.len() * 2);
    // As in MySQL, what the connection's character set does not have becomes `?`.
    let _ = types::charset::convert_lossy(client, bytes, collation.charset(), &mut text);
    ValueRef::Bytes { bytes: arena.alloc_slice_copy(&text), collation }
}

fn datetime_of(fields: wire::row::DateTimeFields) -> DateTime {
    DateTime {
        year: fields.year,
        month: fields.month,
        day: fields.day,
        hour: fields.hour,
        minute: fields.minute,
        second: fields.second,
        micros: fields.micros,
    }
}
