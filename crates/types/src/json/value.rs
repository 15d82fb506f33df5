//! The binary form, its reader, the tree, and order.

use crate::decimal::Decimal;
use crate::planted::{self, Plant};
use crate::temporal::{DateTime, Time};
use std::cmp::Ordering;

/// What a value is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(missing_docs, reason = "the names are those of JSON_TYPE")]
#[repr(u8)]
pub enum Kind {
    Null = 0,
    False = 1,
    True = 2,
    Int = 3,
    UInt = 4,
    Double = 5,
    String = 6,
    Array = 7,
    Object = 8,
    Decimal = 9,
    Date = 10,
    Time = 11,
    DateTime = 12,
    Opaque = 13,
}

impl Kind {
    fn from_tag(tag: u8) -> Kind {
        use Kind as K;
        const ALL: [Kind; 14] = [
            K::Null,
            K::False,
            K::True,
            K::Int,
            K::UInt,
            K::Double,
            K::String,
            K::Array,
            K::Object,
            K::Decimal,
            K::Date,
            K::Time,
            K::DateTime,
            K::Opaque,
        ];
        ALL.get(usize::from(tag)).copied().unwrap_or(K::Null)
    }

    /// As JSON_TYPE names it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Kind::Null => "NULL",
            Kind::False | Kind::True => "BOOLEAN",
            Kind::Int => "INTEGER",
            Kind::UInt => "UNSIGNED INTEGER",
            Kind::Double => "DOUBLE",
            Kind::String => "STRING",
            Kind::Array => "ARRAY",
            Kind::Object => "OBJECT",
            Kind::Decimal => "DECIMAL",
            Kind::Date => "DATE",
            Kind::Time => "TIME",
            Kind::DateTime => "DATETIME",
            Kind::Opaque => "BLOB",
        }
    }

    fn is_number(self) -> bool {
        matches!(self, Kind::Int | Kind::UInt | Kind::Double | Kind::Decimal)
    }

    /// The class that decides the order of values of different kinds.
    fn rank(self) -> u8 {
        match self {
            Kind::Null => 0,
            Kind::Int | Kind::UInt | Kind::Double | Kind::Decimal => 1,
            Kind::String => 2,
            Kind::Object => 3,
            Kind::Array => 4,
            Kind::False | Kind::True => 5,
            Kind::Date => 6,
            Kind::Time => 7,
            Kind::DateTime => 8,
            Kind::Opaque => 9,
        }
    }
}

/// A value as a tree, to build and to change.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A whole number above `u32::MAX` that was read from a text, or one that came from an unsigned value.
    UInt(u64),
    /// A number with point or exponent.
    Double(f64),
    /// A number that came from a DECIMAL.
    Decimal(Decimal),
    /// UTF-8 text.
    String(Vec<u8>),
    /// `[...]`
    Array(Vec<Json>),
    /// `{...}`, sorted by key length, then bytes; keys are unique.
    Object(Vec<(Vec<u8>, Json)>),
    /// Came from a DATE.
    Date(DateTime),
    /// Came from a TIME.
    Time(Time),
    /// Came from a DATETIME or TIMESTAMP.
    DateTime(DateTime),
    /// Came from a byte string: protocol type and bytes.
    Opaque(u8, Vec<u8>),
}

/// The order of keys in an object.
pub(super) fn key_order(a: &[u8], b: &[u8]) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

fn put_u32(out: &mut [u8], at: usize, value: usize) {
    // A document is at most 1 GiB, as is every value.
    out[at..at + 4].copy_from_slice(&(value as u32).to_le_bytes());
}

impl Json {
    /// An object of these members; of equal keys the last wins.
    #[must_use]
    pub fn object(members: Vec<(Vec<u8>, Json)>) -> Json {
        let mut members = members;
        // Stable: of equal keys the later one stays behind the earlier.
        members.sort_by(|a, b| key_order(&a.0, &b.0));
        let mut unique: Vec<(Vec<u8>, Json)> = Vec::with_capacity(members.len());
        for member in members {
            match unique.last_mut() {
                Some(last) if last.0 == member.0 => *last = member,
                _ => unique.push(member),
            }
        }
        Json::Object(unique)
    }

    /// Appends the binary form.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        let number = |out: &mut Vec<u8>, kind: Kind, bytes: [u8; 8]| {
            out.push(kind as u8);
            out.extend_from_slice(&bytes);
        };
        match self {
            Json::Null => out.push(Kind::Null as u8),
            Json::Bool(false) => out.push(Kind::False as u8),
            Json::Bool(true) => out.push(Kind::True as u8),
            Json::Int(value) => number(out, Kind::Int, value.to_le_bytes()),
            Json::UInt(value) => number(out, Kind::UInt, value.to_le_bytes()),
            Json::Double(value) => number(out, Kind::Double, value.to_le_bytes()),
            Json::Date(value) => number(out, Kind::Date, value.pack().to_le_bytes()),
            Json::DateTime(value) => number(out, Kind::DateTime, value.pack().to_le_bytes()),
            Json::Time(value) => number(out, Kind::Time, value.micros.to_le_bytes()),
            Json::Decimal(value) => {
                let mut buffer = [0; crate::decimal::TEXT_BYTES_MAX];
                let text = value.format(&mut buffer);
                out.push(Kind::Decimal as u8);
                out.push(text.len() as u8);
                out.extend_from_slice(text);
            }
            Json::String(text) => {
                out.push(Kind::String as u8);
                out.extend_from_slice(&(text.len() as u32).to_le_bytes());
                out.extend_from_slice(text);
            }
            Json::Opaque(kind, bytes) => {
                out.push(Kind::Opaque as u8);
                out.push(*kind);
                out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
                out.extend_from_slice(bytes);
            }
            Json::Array(items) => {
                out.push(Kind::Array as u8);
                out.resize(start + 9 + 4 * items.len(), 0);
                for (i, item) in items.iter().enumerate() {
                    let offset = out.len() - start;
                    put_u32(out, start + 9 + 4 * i, offset);
                    item.encode(out);
                }
                let bytes = out.len() - start;
                put_u32(out, start + 1, bytes);
                put_u32(out, start + 5, items.len());
            }
            Json::Object(members) => {
                out.push(Kind::Object as u8);
                out.resize(start + 9 + 12 * members.len(), 0);
                for (i, (key, _)) in members.iter().enumerate() {
                    let offset = out.len() - start;
                    put_u32(out, start + 9 + 12 * i, offset);
                    put_u32(out, start + 13 + 12 * i, key.len());
                    out.extend_from_slice(key);
                }
                for (i, (_, value)) in members.iter().enumerate() {
                    let offset = out.len() - start;
                    put_u32(out, start + 17 + 12 * i, offset);
                    value.encode(out);
                }
                let bytes = out.len() - start;
                put_u32(out, start + 1, bytes);
                put_u32(out, start + 5, members.len());
            }
        }
    }
}

/// A value in binary form, read in place.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    bytes: &'a [u8],
}

impl<'a> View<'a> {
    /// A document's root.
    #[must_use]
    pub fn new(document: &'a [u8]) -> View<'a> {
        View { bytes: document }
    }

    /// Where its bytes begin in memory: each value of a document has a place of its own.
    pub(super) fn place(self) -> usize {
        self.bytes.as_ptr().addr()
    }

    /// What it is.
    #[must_use]
    pub fn kind(self) -> Kind {
        Kind::from_tag(self.bytes.first().copied().unwrap_or(0))
    }

    fn u32_at(self, at: usize) -> usize {
        let bytes = self.bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
        bytes.map_or(0, |bytes: [u8; 4]| u32::from_le_bytes(bytes) as usize)
    }

    fn eight(self) -> [u8; 8] {
        self.bytes.get(1..9).and_then(|bytes| bytes.try_into().ok()).unwrap_or([0; 8])
    }

    /// The value of an `Int`, or the raw 8 bytes of another kind that has them.
    #[must_use]
    pub fn int(self) -> i64 {
        i64::from_le_bytes(self.eight())
    }

    /// The value of a `Double`.
    #[must_use]
    pub fn double(self) -> f64 {
        f64::from_le_bytes(self.eight())
    }

    /// The value of a `Decimal`.
    #[must_use]
    pub fn decimal(self) -> Decimal {
        let length = usize::from(self.bytes.get(1).copied().unwrap_or(0));
        let text = self.bytes.get(2..2 + length).unwrap_or(b"");
        Decimal::parse(text).value
    }

    /// The text of a `String`.
    #[must_use]
    pub fn string(self) -> &'a [u8] {
        let length = self.u32_at(1);
        self.bytes.get(5..5 + length).unwrap_or(b"")
    }

    /// Protocol type and bytes of an `Opaque`.
    #[must_use]
    pub fn opaque(self) -> (u8, &'a [u8]) {
        let length = self.u32_at(2);
        (self.bytes.get(1).copied().unwrap_or(0), self.bytes.get(6..6 + length).unwrap_or(b""))
    }

    /// Elements of an array, members of an object; 1 for a scalar (as JSON_LENGTH counts).
    #[must_use]
    pub fn len(self) -> usize {
        match self.kind() {
            Kind::Array => self.u32_at(5).min(self.bytes.len() / 4),
            Kind::Object => self.u32_at(5).min(self.bytes.len() / 12),
            _ => 1,
        }
    }

    /// An empty array or object.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    fn at(self, offset: usize) -> View<'a> {
        View { bytes: self.bytes.get(offset.max(1)..).unwrap_or(b"") }
    }

    /// An element of an array.
    #[must_use]
    pub fn element(self, index: usize) -> Option<View<'a>> {
        (self.kind() == Kind::Array && index < self.len()).then(|| self.at(self.u32_at(9 + 4 * index)))
    }

    /// A member of an object by position.
    #[must_use]
    pub fn member(self, index: usize) -> Option<(&'a [u8], View<'a>)> {
        if self.kind() != Kind::Object || index >= self.len() {
            return None;
        }
        let entry = 9 + 12 * index;
        let (key, length) = (self.u32_at(entry), self.u32_at(entry + 4));
        Some((self.bytes.get(key..key + length).unwrap_or(b""), self.at(self.u32_at(entry + 8))))
    }

    /// A member of an object by key.
    #[must_use]
    pub fn get(self, key: &[u8]) -> Option<View<'a>> {
        if self.kind() != Kind::Object {
            return None;
        }
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low.midpoint(high);
            let (found, value) = self.member(middle)?;
            match key_order(found, key) {
                Ordering::Equal => return Some(value),
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
            }
        }
        None
    }

    /// Elements of an array; a scalar or object counts as an array of itself.
    pub fn elements(self) -> impl Iterator<Item = View<'a>> {
        let count = if self.kind() == Kind::Array { self.len() } else { 0 };
        (0..count).filter_map(move |index| self.element(index))
    }

    /// Members of an object.
    pub fn members(self) -> impl Iterator<Item = (&'a [u8], View<'a>)> {
        let count = if self.kind() == Kind::Object { self.len() } else { 0 };
        (0..count).filter_map(move |index| self.member(index))
    }

    /// As a tree.
    #[must_use]
    pub fn tree(self) -> Json {
        match self.kind() {
            Kind::Null => Json::Null,
            Kind::False => Json::Bool(false),
            Kind::True => Json::Bool(true),
            Kind::Int => Json::Int(self.int()),
            Kind::UInt => Json::UInt(self.int() as u64),
            Kind::Double => Json::Double(self.double()),
            Kind::Decimal => Json::Decimal(self.decimal()),
            Kind::String => Json::String(self.string().to_vec()),
            Kind::Date => Json::Date(DateTime::unpack(self.int())),
            Kind::DateTime => Json::DateTime(DateTime::unpack(self.int())),
            Kind::Time => Json::Time(Time { micros: self.int() }),
            Kind::Opaque => {
                let (kind, bytes) = self.opaque();
                Json::Opaque(kind, bytes.to_vec())
            }
            Kind::Array => Json::Array(self.elements().map(View::tree).collect()),
            Kind::Object => {
                Json::Object(self.members().map(|(key, value)| (key.to_vec(), value.tree())).collect())
            }
        }
    }

    /// Appends the value's own binary form.
    pub fn copy_to(self, out: &mut Vec<u8>) {
        let length = match self.kind() {
            Kind::Null | Kind::False | Kind::True => 1,
            Kind::Int | Kind::UInt | Kind::Double | Kind::Date | Kind::Time | Kind::DateTime => 9,
            Kind::Decimal => 2 + usize::from(self.bytes.get(1).copied().unwrap_or(0)),
            Kind::String => 5 + self.u32_at(1),
            Kind::Opaque => 6 + self.u32_at(2),
            Kind::Array | Kind::Object => self.u32_at(1),
        };
        match self.bytes.get(..length) {
            Some(bytes) => out.extend_from_slice(bytes),
            None => out.push(Kind::Null as u8),
        }
    }

    /// A number as a double.
    #[must_use]
    pub fn number(self) -> Option<f64> {
        Some(match self.kind() {
            Kind::Int => self.int() as f64,
            Kind::UInt => self.int() as u64 as f64,
            Kind::Double => self.double(),
            Kind::Decimal => self.decimal().to_f64(),
            _ => return None,
        })
    }

    /// A whole number or decimal as a decimal.
    fn exact(self) -> Option<Decimal> {
        Some(match self.kind() {
            Kind::Int => Decimal::from_i64(self.int()),
            Kind::UInt => Decimal::from_u64(self.int() as u64),
            Kind::Decimal => self.decimal(),
            _ => return None,
        })
    }

    /// The number by its decimal digits, which distinguish a large integer from the DOUBLE next to it.
    fn digits(self) -> Option<Decimal> {
        self.exact().or_else(|| Decimal::from_f64(self.number()?).ok())
    }
}

/// Orders two documents as MySQL does: by kind (null, numbers, strings, objects, arrays, booleans, temporals, bytes),
/// then by value.
#[must_use]
pub fn compare(a: &[u8], b: &[u8]) -> Ordering {
    compare_views(View::new(a), View::new(b))
}

pub(super) fn compare_views(a: View<'_>, b: View<'_>) -> Ordering {
    let (kind_a, kind_b) = (a.kind(), b.kind());
    let by_rank = kind_a.rank().cmp(&kind_b.rank());
    if by_rank.is_ne() {
        return by_rank;
    }
    match kind_a {
        Kind::Null => Ordering::Equal,
        Kind::False | Kind::True => (kind_a as u8).cmp(&(kind_b as u8)),
        _ if kind_a.is_number() => match (a.exact(), b.exact()) {
            (Some(a), Some(b)) => a.cmp(&b),
            _ => a
                .number()
                .partial_cmp(&b.number())
                .unwrap_or(Ordering::Equal)
                .then_with(|| a.digits().zip(b.digits()).map_or(Ordering::Equal, |(a, b)| a.cmp(&b))),
        },
        Kind::String => a.string().cmp(b.string()),
        Kind::Opaque => a.opaque().cmp(&b.opaque()),
        Kind::Array => {
            for (x, y) in a.elements().zip(b.elements()) {
                let order = compare_views(x, y);
                if order.is_ne() {
                    return order;
                }
            }
            a.len().cmp(&b.len())
        }
        Kind::Object => {
            let by_count = a.len().cmp(&b.len());
            if by_count.is_ne() {
                return by_count;
            }
            for ((key_a, x), (key_b, y)) in a.members().zip(b.members()) {
                let order = key_order(key_a, key_b).then_with(|| compare_views(x, y));
                if order.is_ne() {
                    return order;
                }
            }
            Ordering::Equal
        }
        _ => a.int().cmp(&b.int()),
    }
}

/// Appends a key of a document: keys compare as the documents do, and none is the beginning of another. Numbers are compared
/// by their decimal digits, whatever their type.
pub fn sort_key(document: &[u8], out: &mut Vec<u8>) {
    view_key(View::new(document), out);
}

fn view_key(view: View<'_>, out: &mut Vec<u8>) {
    let kind = view.kind();
    out.push(kind.rank());
    match kind {
        Kind::Null => {}
        Kind::False | Kind::True => out.push(u8::from(kind == Kind::True)),
        Kind::Int | Kind::UInt | Kind::Double | Kind::Decimal => {
            let mut text = Vec::new();
            match view.exact() {
                Some(value) => text.extend_from_slice(value.to_string().as_bytes()),
                None => crate::number::write_double(view.number().unwrap_or(0.0), &mut text),
            }
            if planted::is(Plant::JsonNumberType) {
                out.push(kind as u8);
            }
            number_key(&text, out);
        }
        Kind::String => string_key(view.string(), out),
        Kind::Opaque => {
            let (kind, bytes) = view.opaque();
            out.push(kind);
            string_key(bytes, out);
        }
        Kind::Array => {
            for element in view.elements() {
                out.push(1);
                view_key(element, out);
            }
            out.push(0);
        }
        Kind::Object => {
            out.extend_from_slice(&(view.len() as u32).to_be_bytes());
            for (name, value) in view.members() {
                out.extend_from_slice(&(name.len() as u32).to_be_bytes());
                out.extend_from_slice(name);
                view_key(value, out);
            }
        }
        Kind::Date | Kind::Time | Kind::DateTime => {
            out.extend_from_slice(&(view.int() as u64 ^ 1 << 63).to_be_bytes());
        }
    }
}

/// A string's bytes, zeros marked, and an end that sorts before every byte.
fn string_key(bytes: &[u8], out: &mut Vec<u8>) {
    for &byte in bytes {
        out.push(byte);
        if byte == 0 {
            out.push(1);
        }
    }
    out.extend_from_slice(&[0, 0]);
}

/// A number as printed: sign, decimal exponent, digits without zeros around them.
fn number_key(text: &[u8], out: &mut Vec<u8>) {
    let (is_negative, text) = match text.split_first() {
        Some((b'-', rest)) => (true, rest),
        _ => (false, text),
    };
    let split = text.iter().position(|byte| matches!(byte, b'e' | b'E')).unwrap_or(text.len());
    let exponent = text.get(split + 1..).unwrap_or_default();
    let exponent: i32 = std::str::from_utf8(exponent).ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    let mantissa = &text[..split];
    let whole = mantissa.iter().position(|&byte| byte == b'.').unwrap_or(mantissa.len());
    let digits = || mantissa.iter().copied().filter(|&byte| byte != b'.');
    let leading = digits().take_while(|&digit| digit == b'0').count();
    let count = digits().count()
        - digits().collect::<Vec<u8>>().iter().rev().take_while(|&&digit| digit == b'0').count();
    if leading >= count {
        out.push(1);
        return;
    }
    out.push(if is_negative { 0 } else { 2 });
    let from = out.len();
    // The value is 0.DIGITS times ten to this.
    let power = whole as i32 - leading as i32 + exponent;
    out.extend_from_slice(&((power + i32::from(i16::MAX)) as u16).to_be_bytes());
    out.extend(digits().take(count).skip(leading));
    out.push(0);
    if is_negative {
        out[from..].iter_mut().for_each(|byte| *byte = !*byte);
    }
}

/// The text of a document as CAST to CHAR of a scalar sees it: a string without quotes, all else as printed.
#[must_use]
pub fn scalar_text(document: &[u8]) -> Option<Vec<u8>> {
    let view = View::new(document);
    if matches!(view.kind(), Kind::Array | Kind::Object) {
        return None;
    }
    let mut out = Vec::new();
    unquote(document, &mut out);
    Some(out)
}

/// The text of a document that is a string.
#[must_use]
pub fn string(document: &[u8]) -> Option<&[u8]> {
    let view = View::new(document);
    (view.kind() == Kind::String).then(|| view.string())
}

/// JSON_UNQUOTE of a document: a string's text, everything else printed.
pub fn unquote(document: &[u8], out: &mut Vec<u8>) {
    let view = View::new(document);
    match view.kind() {
        Kind::String => out.extend_from_slice(view.string()),
        Kind::Date | Kind::Time | Kind::DateTime | Kind::Opaque => {
            // Printed as a string; without the quotes.
            let mut text = Vec::new();
            super::print(document, &mut text);
            let inner = text.strip_prefix(b"\"").and_then(|text| text.strip_suffix(b"\"")).unwrap_or(&text);
            out.extend_from_slice(inner);
        }
        _ => super::print(document, out),
    }
}

/// A number, boolean or numeric text as a double.
#[must_use]
pub fn to_double(document: &[u8]) -> Option<f64> {
    let view = View::new(document);
    match view.kind() {
        Kind::True => Some(1.0),
        Kind::False => Some(0.0),
        Kind::String => {
            // An empty text is 0.
            let parsed = crate::number::parse_double(view.string());
            (parsed.consumed > 0 || view.string().is_empty()).then_some(parsed.value)
        }
        _ => view.number(),
    }
}

/// Whether a document is a number.
#[must_use]
pub fn is_number(document: &[u8]) -> bool {
    View::new(document).number().is_some()
}

/// Whether a document is `true` or `false`.
#[must_use]
pub fn is_boolean(document: &[u8]) -> bool {
    matches!(View::new(document).kind(), Kind::True | Kind::False)
}

/// A number, boolean or numeric text as an integer, rounded.
#[must_use]
pub fn to_integer(document: &[u8]) -> Option<i128> {
    let view = View::new(document);
    match view.kind() {
        Kind::True => Some(1),
        Kind::False => Some(0),
        Kind::Int => Some(i128::from(view.int())),
        // The bits count, as in MySQL.
        Kind::UInt => Some(i128::from(view.int())),
        Kind::Double => Some(view.double().round_ties_even() as i128),
        Kind::Decimal => view.decimal().to_units(0),
        Kind::String => {
            let parsed = crate::number::parse_integer_prefix(view.string());
            (parsed.consumed > 0).then_some(parsed.value)
        }
        _ => None,
    }
}

/// The value of a date or datetime.
#[must_use]
pub fn to_datetime(document: &[u8]) -> Option<DateTime> {
    let view = View::new(document);
    matches!(view.kind(), Kind::Date | Kind::DateTime).then(|| DateTime::unpack(view.int()))
}

/// The value of a time.
#[must_use]
pub fn to_time(document: &[u8]) -> Option<Time> {
    let view = View::new(document);
    match view.kind() {
        Kind::Time => Some(Time { micros: view.int() }),
        Kind::DateTime => Some(DateTime::unpack(view.int()).time_part()),
        _ => None,
    }
}
