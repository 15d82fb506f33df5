//! Keys order as SQL does, and rows give back what was put in, for every type.

use std::cmp::Ordering;
use std::sync::Arc;

use catalog::{ColumnDefinition, IndexPart, StoredValue, TableDefinition};
use fixture::{column, definition};
use proptest::prelude::*;
use table::Utc;
use table::codec::key::{KeyCodec, next_prefix};
use table::codec::row::{BytesRef, Layout, RowView};
use types::temporal::DateTime;
use types::{Cell, CollationId, DataType, Decimal, TypeKind};

/// An owned cell.
#[derive(Clone, Debug, PartialEq)]
enum Owned {
    Null,
    Int(i64),
    Double(f64),
    Decimal(Decimal),
    Bytes(Vec<u8>),
}

impl Owned {
    fn cell(&self) -> Cell<'_> {
        match self {
            Self::Null => Cell::Null,
            Self::Int(value) => Cell::Int(*value),
            Self::Double(value) => Cell::Double(*value),
            Self::Decimal(value) => Cell::Decimal(value),
            Self::Bytes(value) => Cell::Bytes(value),
        }
    }
}

fn table(columns: Vec<ColumnDefinition>) -> TableDefinition {
    definition(columns, Vec::new())
}

fn unsigned(mut data_type: DataType) -> DataType {
    data_type.unsigned = true;
    data_type
}

/// Every kind with a few attributes.
fn all_types() -> Vec<DataType> {
    use TypeKind as K;
    let members = Arc::new(types::Members::new(vec![b"a".as_slice().into(), b"b".as_slice().into()]));
    let mut list = Vec::new();
    for kind in [K::TinyInt, K::SmallInt, K::MediumInt, K::Int, K::BigInt] {
        list.push(DataType::integer(kind, false));
        list.push(unsigned(DataType::integer(kind, true)));
    }
    list.extend([DataType::bit(1), DataType::bit(9), DataType::bit(64)]);
    list.extend([DataType::FLOAT, DataType::DOUBLE, DataType::YEAR, DataType::DATE]);
    list.extend([(5, 2), (65, 30), (30, 0), (9, 9)].map(|(p, s)| DataType::decimal(p, s)));
    for scale in [0, 3, 6] {
        list.extend([DataType::time(scale), DataType::datetime(scale), DataType::timestamp(scale)]);
    }
    for collation in [CollationId::UTF8MB4_0900_AI_CI, CollationId::UTF8MB4_BIN, CollationId::BINARY] {
        list.extend([DataType::char(20, collation), DataType::varchar(100, collation)]);
        list.push(DataType::text(K::Text, collation));
    }
    list.push(DataType::with_members(K::Enum, members.clone(), CollationId::UTF8MB4_0900_AI_CI));
    list.push(DataType::with_members(K::Set, members, CollationId::UTF8MB4_0900_AI_CI));
    list
}

fn date_time(seed: u64, scale: u8, from_year: u16, years: u16) -> DateTime {
    let micros_unit = 10_u32.pow(6 - u32::from(scale));
    DateTime {
        year: from_year + (seed % u64::from(years)) as u16,
        month: (seed / 7 % 12) as u8 + 1,
        day: (seed / 91 % 28) as u8 + 1,
        hour: (seed / 3000 % 24) as u8,
        minute: (seed / 70_000 % 60) as u8,
        second: (seed / 900_001 % 60) as u8,
        micros: if scale == 0 { 0 } else { (seed >> 20) as u32 % 10_u32.pow(u32::from(scale)) * micros_unit },
    }
}

/// A value of `data_type` from a random number; numbers near each other are often near in value too.
fn value(data_type: &DataType, seed: u64, text: &str) -> Owned {
    use TypeKind as K;
    if seed.is_multiple_of(11) {
        return Owned::Null;
    }
    let bits = |width: u32| if width == 64 { u64::MAX } else { (1 << width) - 1 };
    match data_type.kind {
        K::TinyInt | K::SmallInt | K::MediumInt | K::Int | K::BigInt => {
            let width = u32::from(data_type.integer_bytes().unwrap()) * 8;
            let raw = seed & bits(width);
            if data_type.unsigned {
                Owned::Int(raw as i64)
            } else {
                Owned::Int(((raw << (64 - width)) as i64) >> (64 - width))
            }
        }
        K::Bit => Owned::Int((seed & bits(data_type.length)) as i64),
        K::Year => Owned::Int((1901 + seed % 255) as i64),
        K::Enum | K::Set => Owned::Int((seed % 3) as i64),
        K::Float => Owned::Double(f64::from(f32::from_bits(seed as u32 & 0xbfff_ffff))),
        K::Double => Owned::Double(f64::from_bits(seed & 0xbfff_ffff_ffff_ffff)),
        K::Decimal => {
            let digits = data_type.length.min(18);
            let units = (seed as i64) % 10_i64.pow(digits);
            Owned::Decimal(Decimal::from_units(i128::from(units), data_type.scale))
        }
        K::Date => Owned::Int(if seed.is_multiple_of(5) {
            0
        } else {
            date_time(seed, 0, 0, 9999).date_part().pack()
        }),
        K::DateTime => Owned::Int(date_time(seed, data_type.scale, 0, 9999).pack()),
        K::Timestamp => Owned::Int(if seed.is_multiple_of(5) {
            0
        } else {
            date_time(seed, data_type.scale, 1971, 60).pack()
        }),
        K::Time => Owned::Int((seed as i64) % 3_020_399_000_000),
        _ => Owned::Bytes(text.as_bytes().to_vec()),
    }
}

fn sql_order(data_type: &DataType, left: &Owned, right: &Owned) -> Ordering {
    match (left, right) {
        (Owned::Null, Owned::Null) => Ordering::Equal,
        (Owned::Null, _) => Ordering::Less,
        (_, Owned::Null) => Ordering::Greater,
        (Owned::Int(a), Owned::Int(b)) if data_type.unsigned => (*a as u64).cmp(&(*b as u64)),
        (Owned::Int(a), Owned::Int(b)) => a.cmp(b),
        (Owned::Double(a), Owned::Double(b)) => a.partial_cmp(b).unwrap(),
        (Owned::Decimal(a), Owned::Decimal(b)) => a.cmp(b),
        (Owned::Bytes(a), Owned::Bytes(b)) => data_type.collation.compare(a, b),
        _ => unreachable!("values of one type"),
    }
}

fn key_of(codec: &KeyCodec, row: &[Owned]) -> Vec<u8> {
    let mut key = Vec::new();
    codec.write(|ordinal| row[ordinal].cell(), &Utc, &mut key);
    key
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// memcmp of keys over two parts, each ascending or descending, equals the order of SQL; and the keys with a given
    /// first part are exactly those in [prefix, next prefix).
    #[test]
    fn keys_order_as_sql(
        seeds in prop::array::uniform4(any::<u64>()), texts in prop::array::uniform4("[a-cA-Cäé \u{0}\u{ff}]{0,6}"),
        directions in prop::array::uniform2(any::<bool>()),
    ) {
        let types = all_types();
        for (first, second) in (0..types.len()).zip((0..types.len()).rev()) {
            let pair = [&types[first], &types[second]];
            let definition = table(vec![column("a", pair[0].clone(), true), column("b", pair[1].clone(), true)]);
            let parts: Vec<_> = (0..2)
                .map(|column| IndexPart { column, prefix_length: None, descending: directions[column] })
                .collect();
            let codec = KeyCodec::new(&definition, &parts);
            let row = |n: usize| [value(pair[0], seeds[n], &texts[n]), value(pair[1], seeds[n + 1], &texts[n + 1])];
            let (left, right) = (row(0), row(2));
            let mut expected = Ordering::Equal;
            for part in 0..2 {
                let order = sql_order(pair[part], &left[part], &right[part]);
                expected = expected.then(if directions[part] { order.reverse() } else { order });
            }
            let (left_key, right_key) = (key_of(&codec, &left), key_of(&codec, &right));
            prop_assert_eq!(left_key.cmp(&right_key), expected, "{:?} {:?} {:?}", pair, left, right);

            let mut from = Vec::new();
            codec.write_prefix(&[left[0].cell()], &Utc, &mut from);
            prop_assert!(left_key.starts_with(&from));
            let mut to = from.clone();
            let bounded = next_prefix(&mut to);
            let inside = right_key >= from && (!bounded || right_key < to);
            prop_assert_eq!(inside, sql_order(pair[0], &left[0], &right[0]).is_eq(), "{:?}", pair);
        }
    }

    /// A row of all types comes back from its bytes, fixed columns of the clustered key from the key; a row written
    /// before a column was added answers its instant default.
    #[test]
    fn rows_come_back(seeds in prop::collection::vec(any::<u64>(), 64), text in ".{0,40}") {
        let types = all_types();
        let mut columns: Vec<_> =
            types.iter().enumerate().map(|(n, t)| column(&format!("c{n}"), t.clone(), n != 3)).collect();
        let row: Vec<_> = types.iter().enumerate().map(|(n, t)| {
            let value = value(t, seeds[n], &text);
            if n == 3 && value == Owned::Null { Owned::Int(1) } else { value }
        }).collect();
        let mut added = column("added", DataType::varchar(10, CollationId::UTF8MB4_BIN), true);
        added.since_version = 1;
        added.instant_default = StoredValue::Bytes(b"instant".as_slice().into());
        columns.push(added);
        let definition = table(columns);
        let key_codec = KeyCodec::new(&definition, &[IndexPart { column: 3, prefix_length: None, descending: true }]);
        let layout = Layout::new(&definition.columns, 0, |ordinal| key_codec.place_of(ordinal), |_| true);
        let key = key_of(&key_codec, &row);
        let mut body = Vec::new();
        let variable = |row: &[Owned], number: usize| -> Vec<u8> {
            match &row[layout.variable_columns()[number] as usize] {
                Owned::Bytes(bytes) => bytes.clone(),
                _ => Vec::new(),
            }
        };
        let variables: Vec<_> = (0..layout.variable_columns().len()).map(|n| variable(&row, n)).collect();
        layout.write(|ordinal| row[ordinal].cell(), |n| BytesRef::Inline(&variables[n]), &Utc, &mut body);
        let view = RowView::new(&layout, &key, &key, &body);
        for (ordinal, expected) in row.iter().enumerate() {
            let mut out = types::Column::new(types[ordinal].physical());
            view.push_to(ordinal, &Utc, &mut out);
            prop_assert_eq!(out.cell(0), expected.cell(), "{:?}", types[ordinal]);
        }
        prop_assert_eq!(view.bytes(types.len()), BytesRef::Inline(b"instant"));

        // Change one column by copying the rest.
        let victim = (seeds[63] % types.len() as u64) as usize;
        if layout.in_body(victim) {
            let new = value(&types[victim], seeds[62] | 1, "changed");
            let mut changed_body = Vec::new();
            layout.write_changed(
                &view,
                |ordinal| (ordinal == victim).then(|| new.cell()),
                |n| if layout.variable_columns()[n] as usize == victim {
                    match new.cell() { Cell::Bytes(bytes) => BytesRef::Inline(bytes), _ => BytesRef::Inline(b"") }
                } else { view.variable(n) },
                &Utc,
                &mut changed_body,
            );
            let view = RowView::new(&layout, &key, &key, &changed_body);
            for (ordinal, expected) in row.iter().enumerate() {
                let mut out = types::Column::new(types[ordinal].physical());
                view.push_to(ordinal, &Utc, &mut out);
                let expected = if ordinal == victim { &new } else { expected };
                prop_assert_eq!(out.cell(0), expected.cell(), "{:?}", types[ordinal]);
            }
        }
    }
}

/// 0.0 and -0.0 are one key but two values.
#[test]
fn negative_zero_is_kept_in_the_row_and_equal_in_the_key() {
    let definition = table(vec![column("a", DataType::DOUBLE, true)]);
    let codec =
        KeyCodec::new(&definition, &[IndexPart { column: 0, prefix_length: None, descending: false }]);
    assert_eq!(key_of(&codec, &[Owned::Double(0.0)]), key_of(&codec, &[Owned::Double(-0.0)]));
    let layout = Layout::new(&definition.columns, 0, |_| None, |_| true);
    let mut body = Vec::new();
    layout.write(|_| Cell::Double(-0.0), |_| BytesRef::Inline(&[]), &Utc, &mut body);
    assert!(RowView::new(&layout, &[], &[], &body).double(0).is_sign_negative());
}
