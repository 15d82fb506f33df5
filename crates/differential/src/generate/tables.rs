//! Tables: columns of all types, indexes, rows with ties, extremes and NULLs.

use super::Generator;
use crate::schema::{Column, Index, IndexKind, IndexPart, Table, Type};
use crate::value::Value;

/// Collations that text columns have; the first ones more often.
const COLLATIONS: &[&str] = &[
    "utf8mb4_0900_ai_ci",
    "utf8mb4_0900_ai_ci",
    "utf8mb4_0900_ai_ci",
    "utf8mb4_0900_ai_ci",
    "utf8mb4_bin",
    "utf8mb4_general_ci",
    "utf8mb4_unicode_ci",
    "utf8mb4_0900_as_cs",
    "utf8mb4_0900_bin",
    "utf8mb4_cs_0900_ai_ci",
    "utf8mb4_da_0900_as_cs",
    "utf8mb4_ru_0900_ai_ci",
    "utf8mb4_zh_0900_as_cs",
    "utf8mb4_spanish2_ci",
    "utf8mb3_turkish_ci",
    "utf8mb3_general_ci",
    "utf8mb3_bin",
    "latin1_swedish_ci",
    "latin1_bin",
    "latin1_general_cs",
    "ascii_general_ci",
    "latin2_general_ci",
    "cp1251_general_ci",
    "utf16_general_ci",
    "utf16_unicode_ci",
    "utf16le_bin",
    "utf32_czech_ci",
    "ucs2_general_ci",
    "gbk_chinese_ci",
    "gb18030_chinese_ci",
    "sjis_japanese_ci",
    "cp932_bin",
    "ujis_japanese_ci",
    "euckr_korean_ci",
];

/// Words that every collation distinguishes.
pub(super) const PLAIN_WORDS: &[&str] =
    &["", "a", "b", "c", "ab", "abc", "x", "zz", "foo", "bar", "10", "2", "a b"];
/// Words that some collations call equal, that look like numbers and dates, or that need escaping.
pub(super) const WILD_WORDS: &[&str] = &[
    "",
    "a",
    "A",
    "a ",
    "B",
    "b",
    "é",
    "e",
    "E",
    "ß",
    "ss",
    "ab",
    "AB",
    "Ab ",
    " ",
    "  ",
    " a",
    "1",
    "01",
    "1.0",
    "0",
    "-1",
    "1e0",
    "1a",
    "null",
    "12:00:00",
    "2020-02-30",
    "2024-02-29",
    "2020-01-01 10:00:00",
    "日本",
    "😀",
    "a\tb",
    "a\\b",
    "o'r",
    "100%",
    "_x",
    "a,b",
    "Ä",
    "ä",
    "i",
    "I",
    "z",
];
/// Dates, the first ones more often.
pub(super) const DATES: &[&str] = &[
    "2020-01-01",
    "2020-01-02",
    "2020-02-29",
    "2021-12-31",
    "1999-12-31",
    "2000-01-01",
    "1970-01-02",
    "2038-01-18",
    "1000-01-01",
    "9999-12-31",
    "2023-07-15",
];
/// Times of a day or more.
pub(super) const TIMES: &[&str] = &[
    "00:00:00",
    "10:00:00",
    "12:34:56",
    "23:59:59",
    "00:00:01",
    "-00:00:01",
    "838:59:59",
    "-838:59:59",
    "17:00:00",
    "12:34:56.5",
    "23:59:59.999999",
    "01:02:03.123456",
];
/// JSON documents.
pub(super) const DOCUMENTS: &[&str] = &[
    "null",
    "1",
    "1.0",
    "2",
    "true",
    "false",
    "\"a\"",
    "\"A\"",
    "\"\"",
    "[]",
    "{}",
    "[1, 2, \"a\"]",
    "{\"a\": 1}",
    "{\"a\": {\"b\": [1, null]}, \"c\": \"x\"}",
    "-1.5",
    "1e2",
    "[1]",
    "{\"b\": 2, \"a\": \"x\"}",
    "9223372036854775807",
    "18446744073709551615",
];
pub(super) const MEMBERS: &[&str] = &["x", "a", "foo", "b"];

impl Generator {
    pub(super) fn make_tables(&mut self) {
        let count = 2 + self.random.below(3);
        // One collation for most text columns of a round, so that joins over text are not refused.
        let collation = *self.random.pick(COLLATIONS);
        for number in 0..count {
            let mut table = self.table(format!("t{number}"), collation);
            table.is_temporary = number > 0 && number + 1 == count && self.random.chance(12);
            self.tables.push(table);
        }
        self.is_ascii =
            self.tables.iter().flat_map(|table| &table.columns).any(|column| match column.column_type {
                Type::Text { collation, .. } => !collation.starts_with("utf8"),
                _ => false,
            });
    }

    fn table(&mut self, name: String, collation: &'static str) -> Table {
        let (columns, indexes, rows) = (Vec::new(), Vec::new(), Vec::new());
        let mut table = Table { name, columns, indexes, is_temporary: false, rows };
        let has_id = self.random.chance(75);
        if has_id {
            let bytes = *self.random.pick(&[4, 4, 8, 2]);
            let unsigned = self.random.chance(30);
            table.columns.push(Column {
                name: "id".to_owned(),
                column_type: Type::Integer { bytes, unsigned },
                is_nullable: false,
                default: None,
                is_plain: true,
                generated: None,
            });
        }
        let count = 2 + self.random.below(5);
        for letter in 'a'..=(b'a' + count as u8 - 1) as char {
            let column = self.column(letter.to_string(), collation);
            table.columns.push(column);
        }
        if self.settings.generated {
            for number in 0..1 + self.random.below(3) {
                let column = self.generated_column(&table, format!("g{number}"), collation);
                table.columns.extend(column);
            }
        }
        if has_id && self.random.chance(85) {
            table.indexes.push(Index {
                name: "PRIMARY".to_owned(),
                kind: IndexKind::Primary,
                parts: vec![IndexPart { column: "id".to_owned(), prefix: None, is_descending: false }],
            });
        } else if self.random.chance(30)
            && let Some(index) = self.index(&table, "PRIMARY".to_owned(), IndexKind::Primary)
        {
            table.indexes.push(index);
        }
        for number in 0..self.random.below(4) {
            let kind = if self.random.chance(30) { IndexKind::Unique } else { IndexKind::Plain };
            if let Some(index) = self.index(&table, format!("k{number}"), kind) {
                table.indexes.push(index);
            }
        }
        let count = *self.random.pick(&[0, 1, 2, 4, 6, 8, 10, 12, 16, 30]);
        for row in 0..count {
            let values = table
                .columns
                .iter()
                .map(|column| {
                    if column.name == "id" && self.random.chance(90) {
                        Value::Int(row + 1)
                    } else {
                        self.stored_value(column)
                    }
                })
                .collect();
            table.rows.push(values);
        }
        table
    }

    /// A column of any type.
    pub(super) fn column(&mut self, name: String, collation: &'static str) -> Column {
        let column_type = self.column_type(collation);
        let is_nullable = self.random.chance(70);
        let mut column = Column {
            name,
            column_type,
            is_nullable,
            default: None,
            is_plain: self.random.chance(60),
            generated: None,
        };
        let no_default = matches!(column.column_type, Type::Json)
            || column.column_type.needs_prefix()
            || !self.random.chance(15);
        if !no_default {
            column.default = Some(self.stored_value(&column));
        }
        column
    }

    fn column_type(&mut self, collation: &'static str) -> Type {
        let random = &mut self.random;
        let collation = if random.chance(94) { collation } else { *random.pick(COLLATIONS) };
        match random.below(30) {
            0..=8 => {
                Type::Integer { bytes: *random.pick(&[1, 2, 3, 4, 4, 4, 8, 8]), unsigned: random.chance(40) }
            }
            9 => Type::Bit(*random.pick(&[1, 4, 8, 13, 64])),
            10 => Type::Year,
            11..=13 => {
                let (precision, scale) =
                    *random.pick(&[(5, 2), (10, 0), (10, 4), (18, 6), (65, 30), (3, 3), (20, 1)]);
                Type::Decimal { precision, scale, unsigned: random.chance(15) }
            }
            14 => Type::Float,
            15 => Type::Double,
            16..=20 => {
                let keyword = *random.pick(&[
                    "CHAR(5)",
                    "CHAR(20)",
                    "VARCHAR(5)",
                    "VARCHAR(20)",
                    "VARCHAR(20)",
                    "VARCHAR(300)",
                    "TINYTEXT",
                    "TEXT",
                    "LONGTEXT",
                ]);
                Type::Text { keyword: keyword.to_owned(), collation }
            }
            21 => {
                let keyword = *random.pick(&[
                    "BINARY(4)",
                    "VARBINARY(20)",
                    "VARBINARY(20)",
                    "BLOB",
                    "TINYBLOB",
                    "BINARY(20)",
                ]);
                Type::Bytes { keyword: keyword.to_owned() }
            }
            22 => Type::Date,
            23 => Type::Time(*random.pick(&[0, 0, 2, 6])),
            24..=25 => Type::DateTime(*random.pick(&[0, 0, 3, 6])),
            26 => Type::Timestamp(*random.pick(&[0, 0, 4, 6])),
            27 => Type::Enum(MEMBERS.to_vec()),
            28 => Type::Set(MEMBERS.to_vec()),
            _ => Type::Json,
        }
    }

    /// An index over one to three columns; `None` if the columns drawn cannot be indexed so.
    pub(super) fn index(&mut self, table: &Table, name: String, kind: IndexKind) -> Option<Index> {
        let mut parts: Vec<IndexPart> = Vec::new();
        for _ in 0..*self.random.pick(&[1, 1, 2, 2, 3]) {
            if self.settings.generated && kind != IndexKind::Primary && self.random.chance(35) {
                let part = self.functional_part(table, "utf8mb4_0900_ai_ci");
                parts.extend(part.filter(|part| parts.iter().all(|other| other.column != part.column)));
                continue;
            }
            let column = self.random.pick(&table.columns);
            let is_virtual = column.generated.as_ref().is_some_and(|generated| !generated.is_stored);
            let usable = !(matches!(column.column_type, Type::Json)
                || kind == IndexKind::Primary && (column.is_nullable || is_virtual))
                && parts.iter().all(|part| part.column != column.name);
            if usable {
                let can_prefix = match &column.column_type {
                    Type::Text { keyword, .. } | Type::Bytes { keyword } => !keyword.ends_with("(4)"),
                    _ => false,
                };
                let wants = column.column_type.needs_prefix() || can_prefix && self.random.chance(25);
                parts.push(IndexPart {
                    column: column.name.clone(),
                    prefix: wants.then(|| *self.random.pick(&[1, 2, 4])),
                    is_descending: self.random.chance(12),
                });
            }
        }
        (!parts.is_empty()).then_some(Index { name, kind, parts })
    }

    /// A value that the column holds as it is.
    pub fn stored_value(&mut self, column: &Column) -> Value {
        if column.generated.is_some() {
            return Value::Null;
        }
        if column.is_nullable && self.random.chance(18) {
            return Value::Null;
        }
        self.value_of_type(&column.column_type, column.is_plain)
    }

    /// A value of a type.
    pub(super) fn value_of_type(&mut self, column_type: &Type, is_plain: bool) -> Value {
        let random = &mut self.random;
        match column_type {
            Type::Integer { bytes, unsigned } => {
                let bits = u32::from(*bytes) * 8;
                let (low, high) = if *unsigned {
                    (0, (1i128 << bits) - 1)
                } else {
                    (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)
                };
                if is_plain || random.chance(40) {
                    return Value::Int(i128::from(random.between(if *unsigned { 0 } else { -2 }, 9)));
                }
                let around = *random.pick(&[
                    low,
                    low + 1,
                    high,
                    high - 1,
                    -1,
                    0,
                    127,
                    128,
                    255,
                    256,
                    32767,
                    32768,
                    65535,
                    2_147_483_647,
                    2_147_483_648,
                    -2_147_483_648,
                    4_294_967_295,
                    9_007_199_254_740_993,
                    9_223_372_036_854_775_807,
                    2020,
                    20_200_101,
                ]);
                Value::Int(around.clamp(low, high))
            }
            Type::Bit(bits) => {
                let high = (1i128 << bits) - 1;
                let value =
                    if is_plain || random.chance(50) { i128::from(random.between(0, 5)) } else { high };
                Value::Int(value.min(high))
            }
            Type::Year => {
                let years: &[i128] =
                    if is_plain { &[2020, 2021, 1999, 2000] } else { &[1901, 2155, 0, 2020, 1999, 1970] };
                Value::Int(*random.pick(years))
            }
            Type::Decimal { precision, scale, unsigned } => {
                let whole_digits = usize::from(precision - scale);
                let scale = usize::from(*scale);
                if is_plain || random.chance(50) {
                    let whole =
                        if whole_digits == 0 { 0 } else { random.between(if *unsigned { 0 } else { -3 }, 9) };
                    let fraction = *random.pick(&["", "5", "25", "50", "1"]);
                    if scale == 0 || fraction.len() > scale || fraction.is_empty() {
                        return Value::Decimal(whole.to_string());
                    }
                    return Value::Decimal(format!("{whole}.{fraction}"));
                }
                let sign = if *unsigned || random.chance(50) { "" } else { "-" };
                let whole = if whole_digits == 0 { "0".to_owned() } else { "9".repeat(whole_digits) };
                if scale == 0 {
                    return Value::Decimal(format!("{sign}{whole}"));
                }
                Value::Decimal(format!("{sign}{whole}.{}", "9".repeat(scale)))
            }
            Type::Float | Type::Double => {
                if is_plain || random.chance(40) {
                    return Value::Real(random.between(-8, 40) as f64 / 4.0);
                }
                let values: &[f64] = if matches!(column_type, Type::Float) {
                    &[1.5e38, -1.5e38, 1e-30, 0.1, 16_777_216.0, 123_456.79, 3.3]
                } else {
                    &[1.7e308, -1.7e308, 1e-300, 0.1, 9_007_199_254_740_992.0, 1e15, 123_456_789.123, 0.3]
                };
                Value::Real(*random.pick(values))
            }
            Type::Text { keyword, collation } => {
                let words = if is_plain { PLAIN_WORDS } else { WILD_WORDS };
                for _ in 0..8 {
                    let word = *random.pick(words);
                    let limit = if keyword.ends_with("(5)") { 5 } else { 300 };
                    if word.chars().count() <= limit && fits(word, collation) {
                        return Value::Text(word.to_owned());
                    }
                }
                Value::Text(String::new())
            }
            Type::Bytes { keyword } => {
                let length = if keyword.ends_with("(4)") { 4 } else { 6 };
                let bytes: &[&[u8]] = if is_plain {
                    &[b"", b"a", b"b", b"ab", b"xyz"]
                } else {
                    &[b"", b"a", b"a ", b"A", b"\0", b"a\0", b"\xff\xfe", b"\xc3\xa9", b"12", b"0a1b"]
                };
                let mut value = random.pick(bytes).to_vec();
                value.truncate(length);
                Value::Bytes(value)
            }
            Type::Date => Value::Date(date(random, is_plain)),
            Type::Time(digits) => {
                let times = if is_plain { &TIMES[..5] } else { TIMES };
                Value::Time(cut_fraction(random.word(times), *digits))
            }
            Type::DateTime(digits) => {
                let time = if is_plain {
                    *random.pick(&TIMES[..4])
                } else {
                    *random.pick(&["00:00:00", "23:59:59.999999", "12:34:56.5", "10:00:00"])
                };
                let date = date(random, is_plain);
                Value::DateTime(format!("{date} {}", cut_fraction(time, *digits)))
            }
            Type::Timestamp(digits) => {
                let date = *random.pick(&[
                    "2020-01-01",
                    "2020-01-02",
                    "2020-02-29",
                    "1999-12-31",
                    "2038-01-18",
                    "1970-01-02",
                ]);
                let time = *random.pick(&["00:00:00", "10:00:00", "23:59:59", "12:34:56.5"]);
                Value::DateTime(format!("{date} {}", cut_fraction(time, *digits)))
            }
            Type::Enum(members) => Value::Text((*random.pick(members)).to_owned()),
            Type::Set(members) => {
                let chosen: Vec<&str> = members.iter().copied().filter(|_| random.chance(40)).collect();
                Value::Text(chosen.join(","))
            }
            Type::Json => Value::Json((*random.pick(DOCUMENTS)).to_owned()),
        }
    }
}

fn date(random: &mut crate::random::Random, is_plain: bool) -> String {
    let dates = if is_plain { &DATES[..5] } else { DATES };
    (*random.pick(dates)).to_owned()
}

/// The time with no more digits after the point than the type has.
fn cut_fraction(time: &str, digits: u8) -> String {
    match time.split_once('.') {
        Some((whole, _)) if digits == 0 => whole.to_owned(),
        Some((whole, fraction)) => {
            format!("{whole}.{}", &fraction[..fraction.len().min(usize::from(digits))])
        }
        None => time.to_owned(),
    }
}

/// Whether the character set of a collation has all characters of a word.
fn fits(word: &str, collation: &str) -> bool {
    let set = collation.split('_').next().unwrap_or("");
    word.chars().all(|character| match set {
        "utf8mb4" | "utf16" | "utf16le" | "utf32" | "gb18030" => true,
        "utf8mb3" | "ucs2" => (character as u32) < 0x1_0000,
        "latin1" => (character as u32) < 0x100,
        "latin2" => character.is_ascii() || "éßÄä".contains(character),
        _ => character.is_ascii(),
    })
}
