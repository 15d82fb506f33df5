//! What columns get and what strict mode says to it.

use super::*;
use crate::data_type::Members;
use crate::temporal::DateTime;
use crate::temporal::parse::DateMode;
use crate::temporal::zone::TimeZone;
use std::sync::Arc;

fn stored(text: &str, to: &DataType) -> String {
    stored_value(&Value::string(text, CollationId::UTF8MB4_0900_AI_CI), to)
}

/// What the column gets and what strict mode says.
fn stored_value(value: &Value, to: &DataType) -> String {
    let zone = TimeZone::UTC;
    let options = StoreOptions {
        date_mode: DateMode {
            no_zero_date: true,
            no_zero_in_date: true,
            allow_invalid: false,
            truncates_fraction: false,
        },
        truncate_fraction: false,
        time_zone: &zone,
        now_utc_micros: zone.to_utc(DateTime::date(2024, 5, 6)),
    };
    let mut out = Column::new(to.physical());
    let issue = store_value(value, to, &options, &mut out);
    let mut shown = Vec::new();
    write_text(out.cell(0), to, &mut shown);
    let mut shown = String::from_utf8_lossy(&shown).into_owned();
    if let Some(issue) = issue {
        let report = issue.report(true, "t", "c", 1);
        shown.push_str(&format!(" {:?} {} {}", report.severity, report.number, report.message));
    }
    shown
}

#[test]
fn strict_mode_answers_as_the_reference() {
    let tiny = DataType::integer(TypeKind::TinyInt, false);
    let money = DataType::decimal(5, 2);
    let varchar = DataType::varchar(3, CollationId::UTF8MB4_0900_AI_CI);
    let char3 = DataType::char(3, CollationId::UTF8MB4_0900_AI_CI);
    let letters = Arc::new(Members::new(vec![(*b"a").into(), (*b"b").into()]));
    let letter =
        DataType::with_members(TypeKind::Enum, Arc::clone(&letters), CollationId::UTF8MB4_0900_AI_CI);
    let set = DataType::with_members(TypeKind::Set, letters, CollationId::UTF8MB4_0900_AI_CI);
    for (text, to, shown) in [
        ("12", &tiny, "12"),
        ("12abc", &tiny, "12 Error 1265 Data truncated for column 'c' at row 1"),
        ("abc", &tiny, "0 Error 1366 Incorrect integer value: 'abc' for column 'c' at row 1"),
        ("1.5", &tiny, "2"),
        ("300", &tiny, "127 Error 1264 Out of range value for column 'c' at row 1"),
        ("1.234", &money, "1.23 Note 1265 Data truncated for column 'c' at row 1"),
        ("1234.5", &money, "999.99 Error 1264 Out of range value for column 'c' at row 1"),
        ("12abc", &money, "12.00 Error 1366 Incorrect decimal value: '12abc' for column 'c' at row 1"),
        ("abc", &DataType::DOUBLE, "0 Error 1366 Incorrect DOUBLE value: 'abc' for column 'c' at row 1"),
        ("abcd", &varchar, "abc Error 1406 Data too long for column 'c' at row 1"),
        ("abc  ", &varchar, "abc Note 1265 Data truncated for column 'c' at row 1"),
        ("ab ", &char3, "ab"),
        ("abc", &DataType::DATE, "0000-00-00 Error 1292 Incorrect date value: 'abc' for column 'c' at row 1"),
        (
            "2024-01-01 10:11:12",
            &DataType::DATE,
            "2024-01-01 Note 1292 Incorrect date value: '2024-01-01 10:11:12' for column 'c' at row 1",
        ),
        ("2024-01-01 10:11:12.6", &DataType::datetime(0), "2024-01-01 10:11:13"),
        ("2024-01-01 10:11:12+02:00", &DataType::datetime(0), "2024-01-01 08:11:12"),
        (
            "1969-12-31 10:00:00",
            &DataType::timestamp(0),
            "0000-00-00 00:00:00 Error 1292 Incorrect datetime value: '1969-12-31 10:00:00' for column 'c' at row 1",
        ),
        (
            "839:00:00",
            &DataType::time(0),
            "838:59:59 Error 1292 Incorrect time value: '839:00:00' for column 'c' at row 1",
        ),
        ("24", &DataType::YEAR, "2024"),
        ("0", &DataType::YEAR, "2000"),
        ("B", &letter, "b"),
        ("c", &letter, " Error 1265 Data truncated for column 'c' at row 1"),
        ("2", &letter, "b"),
        ("a,b", &set, "a,b"),
        ("a,c", &set, "a Error 1265 Data truncated for column 'c' at row 1"),
        (
            "[1",
            &DataType::JSON,
            " Error 3140 Invalid JSON text: \"Missing a comma or ']' after an array element.\" at position 2 in value for column 't.c'.",
        ),
    ] {
        assert_eq!(stored(text, to), shown, "{text}");
    }
    assert_eq!(
        stored_value(&Value::Int(16), &DataType::bit(4)),
        "\u{f} Error 1406 Data too long for column 'c' at row 1"
    );
    assert_eq!(stored_value(&Value::Double(1.0 / 3.0), &varchar), "0.3");
    assert_eq!(stored_value(&Value::Int(20_240_131), &DataType::DATE), "2024-01-31");
    assert_eq!(
        stored_value(&Value::Bytes { bytes: vec![b'a', 0xff], collation: CollationId::BINARY }, &varchar),
        "a Error 1366 Incorrect string value: '\\xFF' for column 'c' at row 1"
    );
}
