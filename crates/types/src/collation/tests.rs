//! Orders, keys, hashes and patterns: the invariants of the module, on random texts.

use std::cmp::Ordering;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::*;

const AI_CI: CollationId = CollationId::UTF8MB4_0900_AI_CI;
const AS_CI: CollationId = CollationId::UTF8MB4_0900_AS_CI;
const AS_CS: CollationId = CollationId::UTF8MB4_0900_AS_CS;
const GENERAL: CollationId = CollationId::UTF8MB4_GENERAL_CI;
const UNICODE: CollationId = CollationId::UTF8MB4_UNICODE_CI;
const BIN: CollationId = CollationId::UTF8MB4_BIN;
const BIN_0900: CollationId = CollationId::UTF8MB4_0900_BIN;

fn key(collation: CollationId, text: &[u8]) -> Vec<u8> {
    let mut key = Vec::new();
    collation.sort_key(text, &mut key);
    key
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02X}")).collect()
}

#[test]
fn names_and_numbers() {
    for info in CollationId::all() {
        assert_eq!(CollationId::from_id(info.id.id()), Some(info.id));
        assert_eq!(CollationId::from_name(&info.name.to_ascii_uppercase()), Some(info.id));
        assert!(info.name.starts_with(info.charset.name()));
    }
    assert_eq!(CollationId::from_name("utf8_general_ci"), Some(CollationId::UTF8MB3_GENERAL_CI));
    assert_eq!(CollationId::from_name("utf8_0900_ai_ci"), None);
    assert_eq!(CollationId::from_name("utf8_"), None);
    assert_eq!(CollationId::from_name(""), None);
    assert_eq!(CollationId::from_id(0), None);
    assert_eq!(CollationId::from_id(u16::MAX), None);
    let defaults = CollationId::all().iter().filter(|info| info.is_default()).count();
    assert_eq!(defaults, Charset::ALL.len());
}

/// What each collation takes for equal, from a MySQL 9.7.
#[test]
fn what_is_equal() {
    let cases: [(&str, &str, &[CollationId]); 8] = [
        ("a", "A", &[AI_CI, AS_CI, GENERAL, UNICODE]),
        ("a", "á", &[AI_CI, GENERAL, UNICODE]),
        ("ß", "ss", &[AI_CI, UNICODE]), // Under as_ci they differ in the accent level.
        ("ß", "s", &[GENERAL]),
        ("a", "a  ", &[GENERAL, UNICODE, BIN]),
        ("a", "a\u{1}", &[AI_CI, AS_CI, AS_CS, UNICODE]),
        ("á", "a\u{301}", &[AI_CI, AS_CI, AS_CS, UNICODE]),
        ("😀", "😁", &[GENERAL, UNICODE]),
    ];
    for (a, b, equal) in cases {
        for collation in [AI_CI, AS_CI, AS_CS, GENERAL, UNICODE, BIN, BIN_0900] {
            let ours = collation.equal(a.as_bytes(), b.as_bytes());
            assert_eq!(ours, equal.contains(&collation), "{a} {b} {}", collation.name());
        }
    }
}

/// Under PAD SPACE, what is below a space sorts before the end of the text.
#[test]
fn padding_sorts_by_what_follows() {
    for collation in [GENERAL, BIN, CollationId::LATIN1_SWEDISH_CI] {
        let long = |end: &str| format!("a{}{end}", " ".repeat(300));
        for (a, b) in [("a\t", "a"), ("a", "a!"), ("a \t", "a"), ("a  \t", "a!")] {
            assert_eq!(collation.compare(a.as_bytes(), b.as_bytes()), Ordering::Less);
            assert!(key(collation, a.as_bytes()) < key(collation, b.as_bytes()));
        }
        let in_order = ["a\t", &long("\t"), "a", &long("!"), "a !", "a!"];
        let keys: Vec<_> = in_order.iter().map(|text| key(collation, text.as_bytes())).collect();
        assert!(keys.is_sorted(), "{}", collation.name());
    }
}

/// The codes are part of the file format: these must never change.
#[test]
fn sort_keys_are_as_they_were() {
    let keys = |text: &str| {
        [AI_CI, AS_CS, UNICODE, GENERAL, BIN, BIN_0900]
            .map(|collation| hex(&key(collation, text.as_bytes())))
            .join(" ")
    };
    assert_eq!(keys("Ab é1"), EXPECTED_SHORT);
    assert_eq!(keys("中\u{378}😀"), EXPECTED_COMPUTED);
    assert_eq!(keys(""), EXPECTED_EMPTY);
}

const EXPECTED_SHORT: &str = "606209685700 6062096857007D840200860600 555709FF5D4C0980 424321FF46322180 416220FFC3A9312080 416220C3A9310000";
const EXPECTED_COMPUTED: &str = "CACE2DCC7E83784DDA00 CACE2DCC7E83784DDA0004000400 9CCE2D9E7E83789FFD0980 CEAD83F8FFFFFD2180 E4B8ADCDB8F09F98802080 E4B8ADCDB8F09F98800000";
const EXPECTED_EMPTY: &str = "00 000000 0980 2180 2080 0000";

/// What a beginning leaves open: a cut character, spaces that may be padding, accents below a first level that is equal.
#[test]
fn a_beginning_decides_where_it_can() {
    let decided = |collation: CollationId, start: &[u8], other: &str| {
        collation.compare_start(start, &key(collation, other.as_bytes()))
    };
    for collation in [AI_CI, AS_CS, GENERAL, UNICODE, BIN, BIN_0900, CollationId::LATIN1_SWEDISH_CI] {
        assert_eq!(decided(collation, b"abc", "abd"), Some(Ordering::Less), "{}", collation.name());
        assert_eq!(decided(collation, b"abc", "abb"), Some(Ordering::Greater), "{}", collation.name());
        assert_eq!(decided(collation, b"abcd", "abc"), Some(Ordering::Greater), "{}", collation.name());
        assert_eq!(decided(collation, b"abc", "abcd"), None, "{}", collation.name());
        assert_eq!(decided(collation, b"", "a"), None, "{}", collation.name());
    }
    assert_eq!(decided(GENERAL, b"abc   ", "abc"), None);
    assert_eq!(decided(AI_CI, b"abc   ", "abc"), Some(Ordering::Greater));
    assert_eq!(decided(AI_CI, b"ab\xC3", "abz"), None);
    assert_eq!(decided(AS_CS, "\u{e1}bc".as_bytes(), "abc"), None);
    let like = |pattern: &str, start: &str| {
        LikePattern::new(AI_CI, pattern.as_bytes(), None).matches_start(start.as_bytes())
    };
    assert_eq!(like("abc%", "ABCD"), Some(true));
    assert_eq!(like("abc%", "ab"), None);
    assert_eq!(like("abc%", "ax"), Some(false));
    assert_eq!(like("a_c", "abc"), Some(false));
    assert_eq!(like("abc%x", "abcd"), None);
    assert_eq!(like("abc%x", "abd"), Some(false));
    assert_eq!(like("%bc%", "xbcx"), Some(true));
    assert_eq!(like("%bc", "xbc"), None);
}

#[test]
fn like_and_its_shapes() {
    let like = |collation: CollationId, text: &str, pattern: &str| {
        let escape = Some(u32::from('\\'));
        let matches = collation.like(text.as_bytes(), pattern.as_bytes(), escape);
        let prepared = LikePattern::new(collation, pattern.as_bytes(), escape);
        assert_eq!(prepared.matches(text.as_bytes()), matches, "{pattern}");
        matches
    };
    assert!(like(AI_CI, "Résumé", "resu%"));
    assert!(like(AI_CI, "Résumé", "%UM_"));
    assert!(like(AI_CI, "50%", "50\\%"));
    assert!(!like(AI_CI, "505", "50\\%"));
    assert!(!like(AI_CI, "ß", "ss")); // Equal, yet two characters.
    assert!(!like(GENERAL, "a ", "a")); // No padding.
    assert!(like(GENERAL, "😀", "😁"));
    assert!(!like(UNICODE, "😀", "😁")); // Equal, yet MySQL distinguishes them here.
    assert!(like(AI_CI, "abcabcabd", "%abd"));
    assert!(like(AI_CI, "xxabcabd", "%ab%bd"));
    assert!(like(AI_CI, "some Special handling requests", "%special%REQUESTS%"));
    assert!(!like(AI_CI, "requests come before special", "%special%requests%"));
    assert!(!like(AI_CI, "abcab", "abc%cab") && like(AI_CI, "abccab", "abc%cab"));
    assert!(!like(AI_CI, "aba", "ab%a%a") && like(AI_CI, "abaa", "ab%a%a"));
    assert!(like(AI_CI, "Résumé of the year", "%of%YEAR"));
    assert!(like(BIN, "", "%"));
    assert!(!like(BIN, "", "_"));
    assert!(like(AI_CI, "a\\", "a\\")); // A lone escape at the end stands for itself.

    let prefix = |pattern: &str| {
        let prepared = LikePattern::new(AI_CI, pattern.as_bytes(), Some(u32::from('\\')));
        let (prefix, is_exact) = prepared.literal_prefix();
        (String::from_utf8(prefix.to_vec()).unwrap(), is_exact)
    };
    assert_eq!(prefix("ab%c"), ("ab".into(), false));
    assert_eq!(prefix("a\\_b_"), ("a_b".into(), false));
    assert_eq!(prefix("%a"), (String::new(), false));
    assert_eq!(prefix("a\\%"), ("a%".into(), true));
}

#[test]
fn locating() {
    let locate = |collation: CollationId, needle: &str, haystack: &str, start| {
        collation.locate(needle.as_bytes(), haystack.as_bytes(), start, &mut || true)
    };
    assert_eq!(locate(AI_CI, "É", "中é中é", 2), Some(3));
    assert_eq!(locate(AI_CI, "", "abc", 3), Some(3));
    assert_eq!(locate(AI_CI, "", "abc", 4), None);
    assert_eq!(locate(AS_CI, "e", "xé", 0), Some(1));
    assert_eq!(locate(AS_CI, "ea", "xéa", 0), None);
    assert_eq!(locate(BIN, "B", "aB", 0), Some(1));
    assert_eq!(locate(CollationId::LATIN1_SWEDISH_CI, "b", "aB", 0), Some(1));
    assert_eq!(locate(CollationId::LATIN1_SWEDISH_CI, "abc", "ab", 0), None);
}

#[test]
fn letter_case() {
    let both = |collation: CollationId, text: &str| {
        let (mut upper, mut lower) = (Vec::new(), Vec::new());
        collation.upper(text.as_bytes(), &mut upper);
        collation.lower(text.as_bytes(), &mut lower);
        (String::from_utf8(upper).unwrap(), String::from_utf8(lower).unwrap())
    };
    assert_eq!(both(AI_CI, "aÉßǆ𐐨!"), ("AÉßǄ𐐀!".into(), "aéßǆ𐐨!".into()));
    assert_eq!(both(GENERAL, "aÉ𐐨"), ("AÉ𐐨".into(), "aé𐐨".into())); // No supplementary letters there.
    assert_eq!(both(AI_CI, "ɐb").0, "ⱯB"); // One byte longer than it was.
    assert_eq!(both(CollationId::BINARY, "aA"), ("aA".into(), "aA".into()));
    let mut out = Vec::new();
    AI_CI.upper(b"a\xFFb", &mut out);
    assert_eq!(out, b"A\xFFB");
}

/// Texts of pieces that meet in interesting ways, long enough for the eight-byte paths, some malformed.
fn text() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        6 => select(vec!["a", "A", "b", "s", "S", "ss", " ", "  ", "0", "_", "%", "\\", "\t", "\u{1}", "\0"]),
        3 => select(vec!["c", "h", "ch", "Ch", "lj", "dz", "dzs", "ddzs", "aa", "ll", "i", "I", "y", "w", "d\u{335}"]),
        2 => select(vec!["a\u{30a}", "a\u{308}", "o\u{302}\u{301}", "\u{30c}", "č", "ł", "ı", "かー", "ー", "ヽ", "゛", "ж", "ක", "ا"]),
        3 => select(vec!["é", "É", "e\u{301}", "ß", "ﬀ", "æ", "\u{a0}", "\u{2028}", "각", "中", "\u{378}", "\u{fdfa}"]),
        1 => select(vec!["😀", "😁", "𠀀", "𗀀", "\u{fffd}", "\u{ffff}", "\u{e000}", "เก", "ᄀ", "\u{1161}"]),
        2 => select(vec!["abcdefgh", "ABCDEFGH", "abcdefg ", "        ", "The quick brown fox "]),
    ];
    let malformed =
        select(vec![&b"\xFF"[..], b"\x80", b"\xC3", b"\xE4\xB8", b"\xF0\x9F\x98", b"\xED\xA0\x80"]);
    let piece = prop_oneof![12 => piece.prop_map(str::as_bytes), 1 => malformed];
    vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

/// Two texts, most often near each other.
fn pair() -> impl Strategy<Value = (Vec<u8>, Vec<u8>)> {
    let edited = (text(), text(), any::<Index>(), any::<Index>(), any::<bool>()).prop_map(
        |(a, extra, from, to, swap)| {
            let mut b = if swap { a.to_ascii_uppercase() } else { a.clone() };
            let (from, to) = (from.index(a.len() + 1), to.index(a.len() + 1));
            b.splice(from.min(to)..from.max(to), extra.into_iter().take(3));
            (a, b)
        },
    );
    prop_oneof![1 => (text(), text()), 3 => edited]
}

#[test]
fn an_escape_amid_a_malformed_pattern_makes_no_character() {
    let pattern = b"\xF0\x9F\x98\\\x80a";
    let id = CollationId::from_name("utf8mb4_general_ci").unwrap();
    let prepared = LikePattern::new(id, pattern, Some(u32::from('\\')));
    let text = "😀a".as_bytes();
    assert_eq!(prepared.matches(text), id.like(text, pattern, Some(u32::from('\\'))));
    assert_eq!(prepared.matches_start("😀".as_bytes()), Some(prepared.matches(text)));
    assert_eq!(prepared.literal_prefix().0, b"");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn keys_order_as_compare_does((a, b) in pair()) {
        for info in CollationId::all() {
            let (key_a, key_b) = (key(info.id, &a), key(info.id, &b));
            let order = info.id.compare(&a, &b);
            prop_assert_eq!(key_a.cmp(&key_b), order, "{}: {} {}", info.name, hex(&key_a), hex(&key_b));
            prop_assert_eq!(info.id.compare(&b, &a), order.reverse(), "{}", info.name);
            prop_assert_eq!(info.id.equal(&a, &b), order.is_eq(), "{}", info.name);
            if order.is_eq() {
                prop_assert_eq!(info.id.hash(&a, 7), info.id.hash(&b, 7), "{}", info.name);
            } else {
                // Keys end themselves.
                prop_assert!(!key_a.starts_with(&key_b) && !key_b.starts_with(&key_a), "{}", info.name);
            }
        }
    }

    #[test]
    fn weight_strings_order_as_compare_does_without_padding((a, b) in pair()) {
        for info in CollationId::all().iter().filter(|info| info.padding == Padding::NoPad) {
            let (mut weights_a, mut weights_b) = (Vec::new(), Vec::new());
            info.id.weight_string(&a, &mut weights_a);
            info.id.weight_string(&b, &mut weights_b);
            prop_assert_eq!(weights_a.cmp(&weights_b), info.id.compare(&a, &b), "{}", info.name);
        }
    }

    #[test]
    fn like_agrees_with_its_parts((text, literal) in pair(), cut in any::<Index>()) {
        let literal: Vec<u8> = literal.into_iter().filter(|byte| !b"%_\\".contains(byte)).collect();
        let literal = &literal[..cut.index(literal.len() + 1)];
        for info in CollationId::all() {
            for pattern in [
                literal.to_vec(),
                [literal, b"%"].concat(),
                [b"%", literal].concat(),
                [b"%", literal, b"%"].concat(),
                [literal, b"%", literal].concat(),
                [b"%", literal, b"%", &literal[..literal.len().min(1)], b"%"].concat(),
            ] {
                let prepared = LikePattern::new(info.id, &pattern, None);
                let matches = info.id.like(&text, &pattern, None);
                prop_assert_eq!(prepared.matches(&text), matches, "{} {:?}", info.name, prepared);
                if matches {
                    let mut prefix_key = Vec::new();
                    info.id.sort_key_prefix(prepared.literal_prefix().0, &mut prefix_key);
                    prop_assert!(key(info.id, &text).starts_with(&prefix_key), "{} {:?}", info.name, prepared);
                }
            }
        }
    }

    /// A beginning decides only what is so of every text that begins with it.
    #[test]
    fn a_beginning_says_what_the_whole_says((a, b) in pair(), cut in any::<Index>()) {
        if a.is_empty() {
            return Ok(());
        }
        let start = &a[..cut.index(a.len())];
        for info in CollationId::all() {
            let mut begins = Vec::new();
            info.id.sort_key_of_start(start, &mut begins);
            prop_assert!(key(info.id, &a).starts_with(&begins), "{} {}", info.name, hex(&begins));
            if let Some(order) = info.id.compare_start(start, &key(info.id, &b)) {
                prop_assert_eq!(order, info.id.compare(&a, &b), "{} {}", info.name, hex(start));
            }
            for pattern in [b.clone(), [&b[..], b"%"].concat(), [b"%", &b[..], b"%"].concat()] {
                let prepared = LikePattern::new(info.id, &pattern, Some(u32::from('\\')));
                if let Some(matches) = prepared.matches_start(start) {
                    prop_assert_eq!(matches, prepared.matches(&a), "{} {} {:?}", info.name, hex(start), prepared);
                }
            }
        }
    }

    #[test]
    fn conversion_keeps_what_both_sets_have(text in text()) {
        for from in Charset::ALL {
            for to in Charset::ALL {
                let (mut strict, mut lossy) = (Vec::new(), Vec::new());
                let kept = crate::charset::convert_strict(from, &text, to, &mut strict);
                let loss = crate::charset::convert_lossy(from, &text, to, &mut lossy);
                prop_assert_eq!(kept.is_ok(), loss.lost_count == 0);
                prop_assert!(to.validate(&lossy).is_ok());
                if kept.is_ok() {
                    prop_assert_eq!(strict, lossy);
                }
            }
        }
    }
}
