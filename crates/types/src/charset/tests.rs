//! Character sets against the standard library and by hand.

use super::*;

#[test]
fn names_and_aliases() {
    for set in Charset::ALL {
        assert_eq!(Charset::from_name(&set.name().to_ascii_uppercase()), Some(set));
        assert_eq!(set.default_collation().charset(), set);
        assert_eq!(set.bin_collation().charset(), set);
    }
    assert_eq!(Charset::from_name("UTF8"), Some(Charset::Utf8mb3));
    assert_eq!(Charset::from_name("tis621"), None);
}

#[test]
fn malformed_bytes_are_found_where_they_stand() {
    let bad = |position| Err(BadBytes { position });
    assert_eq!(Charset::Utf8mb4.validate("aé中😀".as_bytes()), Ok(()));
    assert_eq!(Charset::Utf8mb3.validate("aé中😀".as_bytes()), bad(6));
    assert_eq!(Charset::Utf8mb3.validate(b"a\xF0\x9F\x98"), bad(1));
    assert_eq!(Charset::Utf8mb4.validate(b"ab\xED\xA0\x80"), bad(2)); // A surrogate.
    assert_eq!(Charset::Utf8mb4.validate(b"\xC0\x80"), bad(0)); // Not the shortest form.
    assert_eq!(Charset::Utf8mb4.validate(b"\xF4\x90\x80\x80"), bad(0)); // Above U+10FFFF.
    assert_eq!(Charset::Ascii.validate(b"abc\x80"), bad(3));
    assert_eq!(Charset::Latin1.validate(b"\x81\xFF"), Ok(()));
}

/// The decoder must agree with the standard library on every sequence up to four bytes that matters.
#[test]
fn decoding_agrees_with_std() {
    let interesting =
        [0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xED, 0xEF];
    let leads = (0..=255u8).collect::<Vec<_>>();
    for &a in &leads {
        for &b in &interesting {
            for &c in &interesting {
                for &d in &interesting {
                    let bytes = [a, b, c, d];
                    let expected = match std::str::from_utf8(&bytes) {
                        Ok(text) => text.chars().next(),
                        Err(error) => {
                            std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap().chars().next()
                        }
                    };
                    let expected = match expected {
                        Some(character) => {
                            Decoded::Char { code: u32::from(character), bytes: character.len_utf8() }
                        }
                        None => Decoded::Bad { byte: a },
                    };
                    assert_eq!(Charset::Utf8mb4.decode(&bytes), expected, "{bytes:02X?}");
                }
            }
        }
    }
}

#[test]
fn counting_and_cutting() {
    let text = "aé中😀".as_bytes();
    assert_eq!(Charset::Utf8mb4.char_count(text), 4);
    assert_eq!(Charset::Utf8mb4.char_count(b"a\xFFb"), 3);
    assert_eq!(Charset::Latin1.char_count(text), text.len());
    for (count, bytes) in [(0, 0), (1, 1), (2, 3), (3, 6), (4, 10), (9, 10)] {
        assert_eq!(Charset::Utf8mb4.prefix_bytes(text, count), bytes);
    }
    assert_eq!(Charset::Utf8mb4.prefix_bytes("abcdefghijklé".as_bytes(), 12), 12);
    assert_eq!(Charset::Utf8mb4.prefix_bytes("abcdefghijkléz".as_bytes(), 13), 14);
    assert_eq!(Charset::Utf8mb4.trim_trailing_spaces(b" a  "), b" a");
    assert_eq!(Charset::Utf8mb4.trim_trailing_spaces(b"  "), b"");
}

#[test]
fn every_latin1_byte_survives_a_round_trip() {
    let all: Vec<u8> = (0..=255).collect();
    let (mut utf8, mut back) = (Vec::new(), Vec::new());
    convert_strict(Charset::Latin1, &all, Charset::Utf8mb4, &mut utf8).unwrap();
    convert_strict(Charset::Utf8mb4, &utf8, Charset::Latin1, &mut back).unwrap();
    assert_eq!(back, all);
    assert!(String::from_utf8(utf8).unwrap().contains('€'));
}

#[test]
fn conversion_reports_what_is_lost() {
    let mut out = Vec::new();
    let text = "a€中😀".as_bytes();
    assert_eq!(
        convert_lossy(Charset::Utf8mb4, text, Charset::Latin1, &mut out),
        ConversionLoss { lost_count: 2 }
    );
    assert_eq!(out, b"a\x80??");
    assert_eq!(
        convert_strict(Charset::Utf8mb4, text, Charset::Latin1, &mut out),
        Err(BadBytes { position: 4 })
    );
    assert_eq!(out, b"a\x80??"); // Untouched by the failure.
    out.clear();
    assert_eq!(convert_lossy(Charset::Utf8mb4, text, Charset::Utf8mb3, &mut out).lost_count, 1);
    assert_eq!(out, "a€中?".as_bytes());
    out.clear();
    assert_eq!(convert_lossy(Charset::Binary, b"a\xFFb", Charset::Utf8mb4, &mut out).lost_count, 1);
    assert_eq!(out, b"a?b");
    out.clear();
    convert_strict(Charset::Utf8mb4, text, Charset::Binary, &mut out).unwrap();
    assert_eq!(out, text);
}
