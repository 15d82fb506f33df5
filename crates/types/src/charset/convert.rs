//! From one character set to another, by way of code points.
//!
//! `binary` has no code points: to and from it, bytes are copied and only checked against the other set.

use super::{BadBytes, Charset, Decoded};

/// What a lossy conversion could not keep.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct ConversionLoss {
    /// Characters replaced by `?`: malformed in the source, or unknown to the target.
    pub lost_count: usize,
}

/// Appends `text`, which is in `from`, to `out` in `to`. What cannot be kept becomes `?` and is counted.
pub fn convert_lossy(from: Charset, text: &[u8], to: Charset, out: &mut Vec<u8>) -> ConversionLoss {
    let mut lost_count = 0;
    let Err(_) = copy_if_same(from, text, to, out) else { return ConversionLoss::default() };
    let source = if from == Charset::Binary { to } else { from };
    for decoded in source.chars(text) {
        let kept = match decoded {
            Decoded::Char { code, .. } => to.encode(code, out),
            Decoded::Bad { .. } | Decoded::End => false,
        };
        if !kept {
            out.extend_from_slice(&to.of_ascii(b"?"));
            lost_count += 1;
        }
    }
    ConversionLoss { lost_count }
}

/// Appends `text`, which is in `from`, to `out` in `to`, if all of it can be kept.
///
/// # Errors
/// `BadBytes` with the position in `text` of the first character that is malformed or unknown to `to`; `out` is then
/// as it was.
pub fn convert_strict(from: Charset, text: &[u8], to: Charset, out: &mut Vec<u8>) -> Result<(), BadBytes> {
    let out_bytes_before = out.len();
    match copy_if_same(from, text, to, out) {
        Ok(()) => return Ok(()),
        Err(Some(bad)) => return Err(bad),
        Err(None) => {}
    }
    let mut chars = from.chars(text);
    loop {
        let position = text.len() - chars.rest().len();
        match chars.next() {
            None => return Ok(()),
            Some(Decoded::Char { code, .. }) if to.encode(code, out) => {}
            Some(_) => {
                out.truncate(out_bytes_before);
                return Err(BadBytes { position });
            }
        }
    }
}

/// Copies when no byte changes. `Err(Some(_))`: the bytes would be copied but are malformed; `Err(None)`: they would
/// change.
fn copy_if_same(from: Charset, text: &[u8], to: Charset, out: &mut Vec<u8>) -> Result<(), Option<BadBytes>> {
    let utf8 = |set| matches!(set, Charset::Utf8mb3 | Charset::Utf8mb4);
    let same_bytes = from == to || from == Charset::Binary || to == Charset::Binary || utf8(from) && utf8(to);
    if same_bytes {
        if to != Charset::Binary {
            let text = to.whole_units(text);
            to.validate(&text).map_err(Some)?;
            out.extend_from_slice(&text);
            return Ok(());
        }
    } else if !(text.is_ascii() && from.extends_ascii() && to.extends_ascii()) {
        return Err(None);
    }
    out.extend_from_slice(text);
    Ok(())
}
