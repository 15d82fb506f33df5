//! Base64 as MySQL writes and reads it: lines of 76 characters; white space is passed over.
//!
//! Invariant: what [`write_lines`] writes, [`read`] reads back.

use ::base64::Engine;
use ::base64::alphabet::STANDARD;
use ::base64::engine::{GeneralPurpose, GeneralPurposeConfig};

use crate::number::is_space;

/// Bytes whose characters make a line.
const LINE_BYTES: usize = 57;

/// With padding. Bits behind the last byte are not looked at.
const ENGINE: GeneralPurpose =
    GeneralPurpose::new(&STANDARD, GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true));

/// Appends `bytes` in base64, `line_break` between lines.
pub fn write_lines(bytes: &[u8], line_break: &[u8], out: &mut Vec<u8>) {
    for (number, line) in bytes.chunks(LINE_BYTES).enumerate() {
        if number > 0 {
            out.extend_from_slice(line_break);
        }
        let start = out.len();
        out.resize(start + line.len().div_ceil(3) * 4, 0);
        let written = ENGINE.encode_slice(line, &mut out[start..]);
        debug_assert_eq!(written, Ok(out.len() - start), "three bytes are four characters");
    }
}

/// The bytes of a text; `None` if it is no base64.
#[must_use]
pub fn read(text: &[u8]) -> Option<Vec<u8>> {
    match text.iter().any(|&byte| is_space(byte)) {
        true => ENGINE.decode(text.iter().copied().filter(|&byte| !is_space(byte)).collect::<Vec<u8>>()).ok(),
        false => ENGINE.decode(text).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_written_and_read() {
        for length in [0, 1, 2, 3, 56, 57, 58, 114, 115] {
            let bytes: Vec<u8> = (0..length).collect();
            let mut text = Vec::new();
            write_lines(&bytes, b"\n", &mut text);
            assert!(text.split(|&byte| byte == b'\n').all(|line| line.len() <= 76));
            assert_eq!(read(&text).as_deref(), Some(&*bytes), "{length} bytes");
        }
    }

    #[test]
    fn texts_are_read_as_mysql_does() {
        let said = |text: &str| read(text.as_bytes()).map(|bytes| String::from_utf8(bytes).unwrap());
        assert_eq!(said("YWJj").as_deref(), Some("abc"));
        assert_eq!(said("YW\nI=").as_deref(), Some("ab"));
        assert_eq!(said(" Y W I = ").as_deref(), Some("ab"));
        assert_eq!(said("YWJ=").as_deref(), Some("ab"), "bits that make no byte");
        assert_eq!(said("").as_deref(), Some(""));
        for wrong in ["!!", "YWI", "Y===", "====", "YQ==YQ==", "YW=I", "YQ==="] {
            assert_eq!(said(wrong), None, "{wrong}");
        }
    }
}
