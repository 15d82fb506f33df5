//! Decimals against a slow model, and what the manual says of scales and rounding.

use super::*;
use proptest::prelude::*;

fn d(text: &str) -> Decimal {
    Decimal::parse_exact(text.as_bytes()).unwrap_or_else(|| panic!("{text} is a decimal"))
}

#[test]
fn text_keeps_its_scale() {
    for text in [
        "0",
        "0.00",
        "1",
        "-1.50",
        "0.000000000000000000000000000001",
        "12345678901234567890.123456789",
        "99999999999999999999999999999999999.999999999999999999999999999999",
        "-99999999999999999999999999999999999999999999999999999999999999999",
    ] {
        assert_eq!(d(text).to_string(), text);
    }
    for (text, printed) in [
        (".5", "0.5"),
        ("5.", "5"),
        ("-0.0", "0.0"),
        ("1e3", "1000"),
        ("1.5e-3", "0.0015"),
        ("15e-1", "1.5"),
        ("+7", "7"),
        ("0012.50", "12.50"),
        ("  3", "3"),
        ("5e-31", "0.000000000000000000000000000001"),
        ("4e-31", "0.000000000000000000000000000000"),
        ("9e-40", "0.000000000000000000000000000000"),
    ] {
        assert_eq!(Decimal::parse(text.as_bytes()).value.to_string(), printed, "{text}");
    }
    let parsed = Decimal::parse(b"12.5abc");
    assert_eq!((parsed.value.to_string().as_str(), parsed.consumed), ("12.5", 4));
    assert_eq!(Decimal::parse(b".").consumed, 0);
    assert_eq!(Decimal::parse(b"1e").consumed, 1);
    assert!(Decimal::parse(&[b'9'; 66]).overflow);
}

#[test]
fn arithmetic_has_mysqls_scales() {
    assert_eq!(d("1.10").add(&d("2.005")).unwrap().to_string(), "3.105");
    assert_eq!(d("1").sub(&d("1.00")).unwrap().to_string(), "0.00");
    assert_eq!(d("1.10").mul(&d("2.005")).unwrap().to_string(), "2.20550");
    assert_eq!(d("1").div(&d("3"), 4).unwrap().to_string(), "0.333333333");
    assert_eq!(d("-7.5").rem(&d("2")).unwrap().to_string(), "-1.5");
    assert_eq!(d("7.5").div_integer(&d("-2")).unwrap().to_string(), "-3");
    assert!(d("1").div(&Decimal::ZERO, 4).is_none());
    let big = Decimal::limit(65, 0, false);
    assert!(big.mul(&big).is_none());
    assert_eq!(
        big.div(&d("7"), 4).unwrap().round(0).to_string(),
        "14285714285714285714285714285714285714285714285714285714285714286"
    );
}

#[test]
fn rounding_is_half_away_from_zero() {
    for (text, scale, rounded) in
        [("2.5", 0, "3"), ("-2.5", 0, "-3"), ("1.45", 1, "1.5"), ("-0.04", 1, "0.0"), ("1.5", 3, "1.500")]
    {
        assert_eq!(d(text).round(scale).to_string(), rounded);
    }
    assert_eq!(d("155").round_integer(1, false).unwrap().to_string(), "160");
    assert_eq!(d("155").round_integer(1, true).unwrap().to_string(), "150");
    assert_eq!(d("-1.2").floor().to_string(), "-2");
    assert_eq!(d("-1.2").ceil().to_string(), "-1");
    assert_eq!(d("1.2").ceil().to_string(), "2");
    assert_eq!(d("12.345").fit(4, 2).unwrap(), (d("12.35"), true));
    assert_eq!(d("123.45").fit(4, 2).unwrap_err().0.to_string(), "99.99");
    assert_eq!(d("9223372036854775807.4").to_i64(), Ok(i64::MAX));
    assert_eq!(d("9223372036854775807.5").to_i64(), Err(Clipped(i64::MAX)));
    assert_eq!(d("-0.4").to_u64(), Ok(0));
    assert_eq!(Decimal::from_f64(0.1).unwrap().to_string(), "0.1");
    assert_eq!(Decimal::from_f64(1e20).unwrap().to_string(), "100000000000000000000");
}

/// A slow model: sign and decimal digits as a vector, schoolbook arithmetic.
mod model {
    pub(super) fn add(a: &[u8], b: &[u8]) -> Vec<u8> {
        let (mut out, mut carry) = (Vec::new(), 0);
        for i in 0..a.len().max(b.len()) + 1 {
            let sum = a.iter().rev().nth(i).copied().unwrap_or(0)
                + b.iter().rev().nth(i).copied().unwrap_or(0)
                + carry;
            out.push(sum % 10);
            carry = sum / 10;
        }
        out.reverse();
        out
    }
    pub(super) fn mul(a: &[u8], b: &[u8]) -> Vec<u8> {
        let mut out = vec![0u32; a.len() + b.len()];
        for (i, &x) in a.iter().rev().enumerate() {
            for (j, &y) in b.iter().rev().enumerate() {
                out[i + j] += u32::from(x) * u32::from(y);
            }
        }
        for i in 0..out.len() - 1 {
            out[i + 1] += out[i] / 10;
            out[i] %= 10;
        }
        out.iter().rev().map(|&digit| digit as u8).collect()
    }
    pub(super) fn strip(digits: &[u8]) -> Vec<u8> {
        digits.iter().copied().skip_while(|&digit| digit == 0).collect()
    }
    /// Long division: quotient digits of a / b.
    pub(super) fn div(a: &[u8], b: &[u8]) -> Vec<u8> {
        let b = strip(b);
        let ge = |x: &[u8]| (x.len(), x) >= (b.len(), b.as_slice());
        let mut rest: Vec<u8> = Vec::new();
        let mut out = Vec::new();
        for &digit in a {
            rest.push(digit);
            rest = strip(&rest);
            let mut count = 0;
            while ge(&rest) {
                let mut borrow = 0i8;
                let mut next = rest.clone();
                for i in 0..next.len() {
                    let at = next.len() - 1 - i;
                    let mut value = next[at] as i8 - borrow - b.iter().rev().nth(i).map_or(0, |&x| x as i8);
                    borrow = i8::from(value < 0);
                    if value < 0 {
                        value += 10;
                    }
                    next[at] = value as u8;
                }
                rest = strip(&next);
                count += 1;
            }
            out.push(count);
        }
        strip(&out)
    }
}

fn digits_of(value: &Decimal) -> Vec<u8> {
    let text = value.to_string();
    model::strip(&text.bytes().filter(u8::is_ascii_digit).map(|byte| byte - b'0').collect::<Vec<_>>())
}

fn any_decimal() -> impl Strategy<Value = Decimal> {
    (any::<bool>(), "[0-9]{1,35}", "[0-9]{0,30}").prop_map(|(minus, integer, fraction)| {
        let point = if fraction.is_empty() { "" } else { "." };
        d(&format!("{}{integer}{point}{fraction}", if minus { "-" } else { "" }))
    })
}

proptest! {
    #[test]
    fn add_mul_div_agree_with_the_model(a in any_decimal(), b in any_decimal()) {
        let same_sign = b.abs();
        let scale = a.scale().max(b.scale());
        let pad = |value: &Decimal| digits_of(&value.abs().round(scale));
        let sum = a.abs().add(&same_sign).unwrap();
        prop_assert_eq!(digits_of(&sum), model::strip(&model::add(&pad(&a), &pad(&b))));
        prop_assert_eq!(a.add(&b).unwrap().sub(&b).unwrap(), a);
        let exact_scale = a.scale() + b.scale();
        if exact_scale <= 30 && let Some(product) = a.mul(&b) {
            prop_assert_eq!(digits_of(&product), model::strip(&model::mul(&digits_of(&a), &digits_of(&b))));
            prop_assert_eq!(product.is_negative(), a.is_negative() != b.is_negative() && !product.is_zero());
        }
        if !b.is_zero() && let Some(quotient) = a.div(&b, 4) {
            let shift = i32::from(quotient.scale()) + i32::from(b.scale()) - i32::from(a.scale());
            if shift >= 0 {
                let mut dividend = digits_of(&a);
                dividend.extend(std::iter::repeat_n(0, shift as usize));
                prop_assert_eq!(digits_of(&quotient), model::div(&dividend, &digits_of(&b)));
            }
            let whole = a.div_integer(&b).unwrap();
            let rest = a.rem(&b).unwrap();
            if let Some(back) = whole.mul(&b).and_then(|product| product.add(&rest)) {
                prop_assert_eq!(back, a);
            }
        }
    }

    /// Numbers of up to 19 digits go another way than longer ones.
    #[test]
    fn short_numbers_count_as_long_ones(a in any::<i64>(), b in any::<i64>(), scales in (0u8..20, 0u8..20)) {
        let (a, b) = (Decimal::from_units(a.into(), scales.0), Decimal::from_units(b.into(), scales.1));
        // The same numbers with a coefficient of more than 64 bits.
        let (long_a, long_b) = (a.round(30), b.round(30));
        prop_assert_eq!(a.cmp(&b), long_a.cmp_wide(&long_b));
        prop_assert_eq!(a.add(&b), long_a.add(&long_b));
        prop_assert_eq!(a.sub(&b), long_a.sub(&long_b));
        prop_assert_eq!(a.add(&b).unwrap().scale(), scales.0.max(scales.1));
        let mut sum = a;
        for value in [a, b, b.neg(), a.neg(), b] {
            let added = sum.add(&value).unwrap();
            prop_assert!(sum.accumulate(&value).is_some());
            prop_assert_eq!((sum, sum.scale()), (added, added.scale()));
        }
        let mut key = Vec::new();
        let value = a.round(4).fit(18, 4).unwrap_or_else(|clipped| (clipped.0, true)).0;
        value.write_key(18, 4, &mut key);
        prop_assert_eq!(Decimal::read_key(18, 4, &key), Some(value));
    }

    #[test]
    fn keys_sort_as_values_and_read_back(a in any_decimal(), b in any_decimal()) {
        let (mut ka, mut kb) = (Vec::new(), Vec::new());
        a.write_key(65, 30, &mut ka);
        b.write_key(65, 30, &mut kb);
        prop_assert_eq!(ka.len(), Decimal::key_bytes(65));
        prop_assert_eq!(ka.cmp(&kb), a.cmp(&b));
        prop_assert_eq!(Decimal::read_key(65, 30, &ka), Some(a));
    }

    #[test]
    fn text_and_double_round_trip(a in any_decimal(), n in any::<i64>()) {
        prop_assert_eq!(d(&a.to_string()), a);
        prop_assert_eq!(a.to_f64(), a.to_string().parse::<f64>().unwrap());
        prop_assert_eq!(Decimal::from_i64(n).to_i64(), Ok(n));
        prop_assert_eq!(Decimal::from_i64(n).to_string(), n.to_string());
        let same = a.round(30);
        prop_assert_eq!(same, a);
        let hash = |value: &Decimal| foldhash_of(value);
        prop_assert_eq!(hash(&same), hash(&a));
    }
}

fn foldhash_of(value: &Decimal) -> u64 {
    use std::hash::BuildHasher;
    foldhash::fast::FixedState::with_seed(1).hash_one(value)
}
