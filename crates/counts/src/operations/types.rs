//! Numbers, dates, collations, conversions.

use types::collation::LikePattern;
use types::temporal::parse::{DateMode, parse_datetime};
use types::{CollationId, Decimal, convert, json, number};
use types::{DataType, TypeKind};

use crate::count::{Counter, Sequence};

fn decimals() -> Vec<Decimal> {
    let mut random = Sequence(11);
    (0..64).map(|_| Decimal::from_units(i128::from(random.below(1_000_000_000)) - 400_000_000, 2)).collect()
}

pub(crate) fn count(counter: &mut Counter) {
    numbers(counter);
    texts(counter);
}

fn numbers(counter: &mut Counter) {
    let values = decimals();
    let at = |number: u32| &values[number as usize % 64];
    let next = |number: u32| &values[(number as usize + 1) % 64];
    let printed: Vec<Vec<u8>> = values
        .iter()
        .map(|value| {
            let mut text = Vec::new();
            value.write_text(&mut text);
            text
        })
        .collect();
    counter.count("types.decimal_parse", 1024, |number| Decimal::parse_exact(&printed[number as usize % 64]));
    let mut out = Vec::with_capacity(128);
    counter.count("types.decimal_print", 1024, |number| {
        out.clear();
        at(number).write_text(&mut out);
    });
    counter.count("types.decimal_add", 1024, |number| at(number).add(next(number)));
    counter.count("types.decimal_multiply", 1024, |number| at(number).mul(next(number)));
    counter.count("types.decimal_divide", 1024, |number| at(number).div(next(number), 4));
    counter.count("types.decimal_round", 1024, |number| at(number).round(1));
    counter.count("types.decimal_key", 1024, |number| {
        out.clear();
        at(number).write_key(12, 2, &mut out);
    });
    counter.count("types.integer_print", 1024, |number| {
        out.clear();
        number::write_i64(i64::from(number) * 7919, &mut out);
    });
    counter.count("types.double_print", 1024, |number| {
        out.clear();
        number::write_double(f64::from(number) * 1.37, &mut out);
    });
    counter.count("types.double_parse", 1024, |number| number::parse_double(&printed[number as usize % 64]));
    let dates: Vec<Vec<u8>> = (0..64)
        .map(|number| format!("20{number:02}-07-{:02} 12:34:56", number % 28 + 1).into_bytes())
        .collect();
    counter.count("types.datetime_parse", 1024, |number| {
        parse_datetime(&dates[number as usize % 64], DateMode::default()).map(|parsed| parsed.value.pack())
    });
    let parsed = parse_datetime(&dates[7], DateMode::default()).expect("a date").value;
    counter.count("types.datetime_print", 1024, |_| {
        out.clear();
        parsed.write_datetime(0, &mut out);
    });
    let to = DataType::decimal(12, 2);
    counter.count("types.decimal_to_text", 1024, |number| {
        out.clear();
        convert::write_text(types::Cell::Decimal(at(number)), &to, &mut out);
    });
    let integer = DataType::integer(TypeKind::Int, false);
    counter.count("types.integer_to_text", 1024, |number| {
        out.clear();
        convert::write_text(types::Cell::Int(i64::from(number)), &integer, &mut out);
    });
    let document = br#"{"id": 4711, "name": "Anna", "tags": ["a", "b", 3.5], "open": true}"#;
    counter.count("types.json_parse", 256, |_| {
        out.clear();
        json::parse(document, &mut out).is_ok()
    });
}

fn texts(counter: &mut Counter) {
    let customer = |number: u32| format!("Customer#{:08}", number % 64).into_bytes();
    let names: Vec<Vec<u8>> = (0..64).map(customer).collect();
    let upper: Vec<Vec<u8>> = names.iter().map(|name| name.to_ascii_uppercase()).collect();
    let french = "Été à l'œuvre: garçon, naïveté. ".as_bytes();
    let chinese = "数据库的速度不应该改变。".as_bytes();
    let at = |number: u32| number as usize % 64;
    let ai_ci = CollationId::UTF8MB4_0900_AI_CI;
    let mut key = Vec::with_capacity(4096);
    for (name, collation) in [
        ("0900_ai_ci", ai_ci),
        ("general_ci", CollationId::UTF8MB4_GENERAL_CI),
        ("bin", CollationId::UTF8MB4_BIN),
        ("latin1", CollationId::LATIN1_SWEDISH_CI),
    ] {
        counter.count(&format!("types.compare_{name}"), 512, |number| {
            collation.compare(&names[at(number)], &upper[at(number)])
        });
        counter.count(&format!("types.sort_key_{name}"), 512, |number| {
            key.clear();
            collation.sort_key(&names[at(number)], &mut key);
        });
    }
    counter.count("types.sort_key_french", 256, |_| {
        key.clear();
        ai_ci.sort_key(french, &mut key);
    });
    counter.count("types.sort_key_chinese", 256, |_| {
        key.clear();
        ai_ci.sort_key(chinese, &mut key);
    });
    counter.count("types.hash_0900_ai_ci", 512, |number| ai_ci.hash(&names[at(number)], 7));
    let pattern = LikePattern::new(ai_ci, b"%00004%", Some(92));
    counter.count("types.like_0900_ai_ci", 512, |number| pattern.matches(&names[at(number)]));
    counter.count("types.upper_0900_ai_ci", 512, |number| {
        key.clear();
        ai_ci.upper(&names[at(number)], &mut key);
    });
}
