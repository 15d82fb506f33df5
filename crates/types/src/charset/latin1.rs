//! MySQL's `latin1`: Windows code page 1252. The bytes that cp1252 leaves unassigned (81, 8D, 8F, 90, 9D) are the C1
//! controls of the same number, so that every byte is a character and survives a round trip.

/// Code points of the bytes 0x80 to 0x9F; all others are their own number. Source: Unicode's CP1252.TXT.
const HIGH_CONTROLS: [u16; 32] = [
    0x20AC, 0x0081, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160, 0x2039, 0x0152,
    0x008D, 0x017D, 0x008F, 0x0090, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x02DC, 0x2122,
    0x0161, 0x203A, 0x0153, 0x009D, 0x017E, 0x0178,
];

pub(super) fn to_unicode(byte: u8) -> u32 {
    match byte {
        0x80..=0x9F => u32::from(HIGH_CONTROLS[usize::from(byte - 0x80)]),
        _ => u32::from(byte),
    }
}

pub(super) fn from_unicode(code: u32) -> Option<u8> {
    match code {
        0..=0x7F | 0xA0..=0xFF => Some(code as u8),
        _ => {
            let index = HIGH_CONTROLS.iter().position(|&high| u32::from(high) == code)?;
            Some(0x80 + index as u8)
        }
    }
}
