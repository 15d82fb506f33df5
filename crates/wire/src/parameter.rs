//! Parameters of prepared statements, and attributes of queries, as clients send them.
//!
//! ```text
//! [count lenenc]  NULL bitmap  new-types flag  [ { type u8, sign u8, [name lenenc] } ]  values of those not NULL
//! ```
//!
//! The count and the names are there only with QUERY_ATTRIBUTES; parameters past those of the statement are attributes.
//! The types are sent with the first execution and whenever they change; the session keeps them between.
//!
//! Source: MySQL 9.7 manual of the client/server protocol, "COM_STMT_EXECUTE", "COM_QUERY", "Binary Protocol Value".

use crate::codec::{Malformed, Reader, malformed, put_lenenc_bytes, put_lenenc_int};
use crate::flags::ColumnType;
use crate::row::{self, DateTimeFields, TimeFields};

/// Flag of COM_STMT_EXECUTE: the number of parameters is sent.
pub const PARAMETER_COUNT_AVAILABLE: u8 = 8;
/// The most parameters a statement has; more are 1390.
pub const PARAMETER_COUNT_MAX: usize = 65_535;

/// The type a client gave a parameter.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ParameterType {
    /// Type byte.
    pub column_type: ColumnType,
    /// An integer without sign.
    pub unsigned: bool,
}

/// One value, as sent. Strings are in `character_set_client`; which of them are text and which bytes the type says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ParameterValue<'a> {
    /// NULL.
    Null,
    /// Sent before by COM_STMT_SEND_LONG_DATA.
    LongData,
    /// An integer with sign, of 1, 2, 4 or 8 bytes.
    Int(i64),
    /// An integer without sign, of 1, 2, 4 or 8 bytes.
    UInt(u64),
    /// A FLOAT.
    Float(f32),
    /// A DOUBLE.
    Double(f64),
    /// A DECIMAL, as text.
    Decimal(&'a [u8]),
    /// A string or bytes; see the type.
    Bytes(&'a [u8]),
    /// A DATE.
    Date(DateTimeFields),
    /// A DATETIME or TIMESTAMP.
    DateTime(DateTimeFields),
    /// A TIME.
    Time(TimeFields),
}

impl ParameterValue<'_> {
    /// The type a client gives this value.
    #[must_use]
    pub fn kind(&self) -> ParameterType {
        use ColumnType as T;
        let column_type = match self {
            ParameterValue::Null => T::Null,
            ParameterValue::LongData => T::Blob,
            ParameterValue::Int(_) | ParameterValue::UInt(_) => T::LongLong,
            ParameterValue::Float(_) => T::Float,
            ParameterValue::Double(_) => T::Double,
            ParameterValue::Decimal(_) => T::NewDecimal,
            ParameterValue::Bytes(_) => T::VarString,
            ParameterValue::Date(_) => T::Date,
            ParameterValue::DateTime(_) => T::DateTime,
            ParameterValue::Time(_) => T::Time,
        };
        ParameterType { column_type, unsigned: matches!(self, ParameterValue::UInt(_)) }
    }

    /// Appends the value as its kind holds it; nothing for NULL and what was sent before.
    #[inline]
    pub fn put(&self, out: &mut Vec<u8>) {
        match *self {
            ParameterValue::Null | ParameterValue::LongData => {}
            ParameterValue::Int(v) => out.extend_from_slice(&v.to_le_bytes()),
            ParameterValue::UInt(v) => out.extend_from_slice(&v.to_le_bytes()),
            ParameterValue::Float(v) => out.extend_from_slice(&v.to_le_bytes()),
            ParameterValue::Double(v) => out.extend_from_slice(&v.to_le_bytes()),
            ParameterValue::Decimal(v) | ParameterValue::Bytes(v) => put_lenenc_bytes(out, v),
            ParameterValue::Date(v) => row::put_binary_date(out, v),
            ParameterValue::DateTime(v) => row::put_binary_datetime(out, v),
            ParameterValue::Time(v) => row::put_binary_time(out, v),
        }
    }
}

/// Reads the parameters of one execution, in order.
#[derive(Debug)]
pub struct Parameters<'a, 't> {
    reader: Reader<'a>,
    null_bitmap: &'a [u8],
    types: &'t [ParameterType],
    next: usize,
    count: usize,
}

impl<'a, 't> Parameters<'a, 't> {
    /// Reads all but the values of a COM_STMT_EXECUTE. `body`, `flags` and `query_attributes` are as in
    /// `service::ExecuteRequest`; `types` are the statement's types from last time, replaced if new ones were sent.
    ///
    /// # Errors
    /// If it is cut, a type is unknown, there are fewer than `parameter_count`, or no types were ever sent.
    pub fn read(
        body: &'a [u8],
        flags: u8,
        query_attributes: bool,
        parameter_count: usize,
        types: &'t mut Vec<ParameterType>,
    ) -> Result<Parameters<'a, 't>, Malformed> {
        let mut reader = Reader::new(body);
        let mut count = parameter_count;
        // Connector/Python sends the count without the flag, and MySQL takes it: with a parameter it is always there.
        if query_attributes && (parameter_count > 0 || flags & PARAMETER_COUNT_AVAILABLE != 0) {
            count = read_count(&mut reader)?;
            if count < parameter_count {
                return malformed("fewer parameters than the statement has");
            }
        }
        if count == 0 {
            return Ok(Parameters { reader, null_bitmap: &[], types: &[], next: 0, count: 0 });
        }
        let null_bitmap = reader.bytes(count.div_ceil(8))?;
        if reader.u8()? == 1 {
            types.clear();
            for _ in 0..count {
                types.push(read_type(&mut reader)?);
                if query_attributes {
                    reader.lenenc_bytes()?;
                }
            }
        } else if types.len() < parameter_count {
            return malformed("parameter types were never sent");
        } else {
            count = count.min(types.len());
        }
        Ok(Parameters { reader, null_bitmap, types, next: 0, count })
    }

    /// The types, one per parameter.
    #[must_use]
    pub fn types(&self) -> &'t [ParameterType] {
        self.types
    }

    /// The next parameter's value. `is_long_data`: it was sent before, and nothing of it is here.
    ///
    /// # Errors
    /// If it is cut, or a temporal value has a length that none has, or all parameters were read.
    #[inline]
    pub fn next_value(&mut self, is_long_data: bool) -> Result<ParameterValue<'a>, Malformed> {
        let index = self.next;
        if index >= self.count {
            return malformed("no such parameter");
        }
        self.next += 1;
        if is_long_data {
            return Ok(ParameterValue::LongData);
        }
        if self.null_bitmap[index / 8] & 1 << (index % 8) != 0 {
            return Ok(ParameterValue::Null);
        }
        read_value(&mut self.reader, self.types[index])
    }
}

/// A name and a value sent beside a query.
pub type Attribute<'a> = (&'a [u8], ParameterValue<'a>);

/// Reads the attributes in front of the text of a COM_QUERY from a client with QUERY_ATTRIBUTES; the text is what is left.
///
/// # Errors
/// If they are cut or a type is unknown.
pub fn read_query_attributes<'a>(reader: &mut Reader<'a>) -> Result<Vec<Attribute<'a>>, Malformed> {
    let count = read_count(reader)?;
    if reader.lenenc_int()? != 1 {
        return malformed("parameter set count");
    }
    if count == 0 {
        return Ok(Vec::new());
    }
    let null_bitmap = reader.bytes(count.div_ceil(8))?;
    if reader.u8()? != 1 {
        return malformed("attribute types");
    }
    let mut heads = Vec::new();
    for _ in 0..count {
        let kind = read_type(reader)?;
        heads.push((reader.lenenc_bytes()?, kind));
    }
    let mut attributes = Vec::with_capacity(heads.len());
    for (index, (name, kind)) in heads.into_iter().enumerate() {
        let is_null = null_bitmap[index / 8] & 1 << (index % 8) != 0;
        attributes.push((name, if is_null { ParameterValue::Null } else { read_value(reader, kind)? }));
    }
    Ok(attributes)
}

fn read_count(reader: &mut Reader<'_>) -> Result<usize, Malformed> {
    match usize::try_from(reader.lenenc_int()?) {
        Ok(count) if count <= PARAMETER_COUNT_MAX => Ok(count),
        _ => malformed("parameter count"),
    }
}

fn read_type(reader: &mut Reader<'_>) -> Result<ParameterType, Malformed> {
    let Some(column_type) = ColumnType::from_byte(reader.u8()?) else { return malformed("parameter type") };
    let unsigned = reader.u8()? & 0x80 != 0;
    Ok(ParameterType { column_type, unsigned })
}

pub(crate) fn read_value<'a>(
    reader: &mut Reader<'a>,
    kind: ParameterType,
) -> Result<ParameterValue<'a>, Malformed> {
    use ColumnType as T;
    use ParameterValue as V;
    let integer = |signed: i64, unsigned: u64| if kind.unsigned { V::UInt(unsigned) } else { V::Int(signed) };
    Ok(match kind.column_type {
        T::Null => V::Null,
        T::Tiny | T::Bool => reader.u8().map(|v| integer(i64::from(v as i8), u64::from(v)))?,
        T::Short | T::Year => reader.u16().map(|v| integer(i64::from(v as i16), u64::from(v)))?,
        T::Long | T::Int24 => reader.u32().map(|v| integer(i64::from(v as i32), u64::from(v)))?,
        T::LongLong => reader.u64().map(|v| integer(v as i64, v))?,
        T::Float => V::Float(f32::from_bits(reader.u32()?)),
        T::Double => V::Double(f64::from_bits(reader.u64()?)),
        T::Decimal | T::NewDecimal => V::Decimal(reader.lenenc_bytes()?),
        T::Date | T::NewDate => V::Date(read_datetime(reader)?),
        T::DateTime | T::Timestamp => V::DateTime(read_datetime(reader)?),
        T::Time => V::Time(read_time(reader)?),
        T::VarChar
        | T::Bit
        | T::Json
        | T::Enum
        | T::Set
        | T::TinyBlob
        | T::MediumBlob
        | T::LongBlob
        | T::Blob
        | T::VarString
        | T::String
        | T::Geometry
        | T::Invalid => V::Bytes(reader.lenenc_bytes()?),
    })
}

/// Reads a DATE, DATETIME or TIMESTAMP: any of the lengths 0, 4, 7, 11. Fields are not checked for being a date.
///
/// # Errors
/// If it is cut or has another length.
pub(crate) fn read_datetime(reader: &mut Reader<'_>) -> Result<DateTimeFields, Malformed> {
    let length = reader.u8()?;
    let mut fields = DateTimeFields::default();
    if !matches!(length, 0 | 4 | 7 | 11) {
        return malformed("length of a date");
    }
    if length >= 4 {
        fields.year = reader.u16()?;
        fields.month = reader.u8()?;
        fields.day = reader.u8()?;
    }
    if length >= 7 {
        fields.hour = reader.u8()?;
        fields.minute = reader.u8()?;
        fields.second = reader.u8()?;
    }
    if length == 11 {
        fields.micros = reader.u32()?;
    }
    Ok(fields)
}

/// Reads a TIME: length 0, 8 or 12. Days are counted into the hours, at most to `u32::MAX`.
///
/// # Errors
/// If it is cut or has another length.
pub(crate) fn read_time(reader: &mut Reader<'_>) -> Result<TimeFields, Malformed> {
    let length = reader.u8()?;
    let mut fields = TimeFields::default();
    if !matches!(length, 0 | 8 | 12) {
        return malformed("length of a time");
    }
    if length >= 8 {
        fields.negative = reader.u8()? != 0;
        let days = reader.u32()?;
        fields.hours = days.saturating_mul(24).saturating_add(u32::from(reader.u8()?));
        fields.minute = reader.u8()?;
        fields.second = reader.u8()?;
    }
    if length == 12 {
        fields.micros = reader.u32()?;
    }
    Ok(fields)
}

/// Appends parameters as a client sends them with COM_STMT_EXECUTE, types included. `count_and_names`: the client has
/// QUERY_ATTRIBUTES and sets [`PARAMETER_COUNT_AVAILABLE`].
pub fn put_parameters(out: &mut Vec<u8>, values: &[ParameterValue<'_>], count_and_names: bool) {
    if count_and_names {
        put_lenenc_int(out, values.len() as u64);
    }
    if values.is_empty() {
        return;
    }
    let bitmap = out.len();
    out.resize(bitmap + values.len().div_ceil(8), 0);
    out.push(1);
    for (index, value) in values.iter().enumerate() {
        if matches!(value, ParameterValue::Null) {
            out[bitmap + index / 8] |= 1 << (index % 8);
        }
        let kind = value.kind();
        out.extend_from_slice(&[kind.column_type as u8, if kind.unsigned { 0x80 } else { 0 }]);
        if count_and_names {
            out.push(0);
        }
    }
    for value in values {
        value.put(out);
    }
}
