//! One record: a header of 48 bytes and a payload. The layout stands in the module above.

use super::PART_BYTES_MAX;

/// Length of a record's header.
pub(crate) const HEADER_BYTES: usize = 48;

/// What a record is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Kind {
    /// Ends a transaction; with the parts before it, it counts.
    Commit,
    /// A piece of a transaction that counts only with its commit record.
    Part,
}

/// A record's header, decoded.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Header {
    pub(crate) kind: Kind,
    pub(crate) payload_crc: u32,
    pub(crate) payload_bytes: u32,
    pub(crate) start: u64,
    pub(crate) previous_end: u64,
    pub(crate) previous: Link,
    pub(crate) durable: u64,
}

/// What a record of a transaction says of the part before it. The default: there is none.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Link {
    /// The part's start, 0 if there is none.
    pub(crate) part: u64,
    /// The bytes of its payload that count, 0 for all; the transaction has rolled back the others.
    pub(crate) kept: u32,
}

/// [`Link::kept`] has three bytes.
const KEPT_BYTES: usize = 3;
const _: () = assert!(PART_BYTES_MAX < 1 << (8 * KEPT_BYTES));

impl Header {
    /// Where the record ends: for a commit its position.
    pub(crate) fn end(&self) -> u64 {
        self.start + HEADER_BYTES as u64 + u64::from(self.payload_bytes)
    }

    pub(crate) fn encode(&self, salt: u64) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[4..8].copy_from_slice(&self.payload_crc.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.payload_bytes.to_le_bytes());
        bytes[12] = match self.kind {
            Kind::Commit => 1,
            Kind::Part => 2,
        };
        bytes[13..16].copy_from_slice(&self.previous.kept.to_le_bytes()[..KEPT_BYTES]);
        bytes[16..24].copy_from_slice(&self.start.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.previous_end.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.previous.part.to_le_bytes());
        bytes[40..48].copy_from_slice(&self.durable.to_le_bytes());
        let crc = header_crc(&bytes, salt);
        bytes[..4].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// The header in `bytes`, if it is one of a segment with this salt. Says nothing of the payload.
    pub(crate) fn decode(bytes: &[u8], salt: u64) -> Option<Header> {
        let bytes: &[u8; HEADER_BYTES] = bytes.first_chunk()?;
        let kind = match bytes[12] {
            1 => Kind::Commit,
            2 => Kind::Part,
            _ => return None, // Zeros, the usual end, are recognised without a checksum.
        };
        if u32_at(bytes, 0) != header_crc(bytes, salt) {
            return None;
        }
        let header = Header {
            kind,
            payload_crc: u32_at(bytes, 4),
            payload_bytes: u32_at(bytes, 8),
            start: u64_at(bytes, 16),
            previous_end: u64_at(bytes, 24),
            previous: Link {
                part: u64_at(bytes, 32),
                kept: u32::from_le_bytes([bytes[13], bytes[14], bytes[15], 0]),
            },
            durable: u64_at(bytes, 40),
        };
        // A checksum is no proof: keep all later arithmetic inside u64.
        let sane = header.previous_end <= header.start
            && header.durable <= header.start
            && header.previous.part < header.start
            && header.start < u64::MAX / 2;
        sane.then_some(header)
    }
}

/// The checksum of a payload.
pub(crate) fn payload_crc(payload: &[u8]) -> u32 {
    crc32c::crc32c(payload)
}

fn header_crc(bytes: &[u8; HEADER_BYTES], salt: u64) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&salt.to_le_bytes()), &bytes[4..])
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut number = [0; 4];
    number.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(number)
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut number = [0; 8];
    number.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_comes_back_and_any_bit_changed_is_noticed() {
        let header = Header {
            kind: Kind::Part,
            payload_crc: payload_crc(b"abc"),
            payload_bytes: 3,
            start: 8192,
            previous_end: 8000,
            previous: Link { part: 4096, kept: 0x2_0304 },
            durable: 7000,
        };
        let bytes = header.encode(99);
        assert_eq!(Header::decode(&bytes, 99), Some(header));
        assert_eq!(header.end(), 8192 + 48 + 3);
        assert_eq!(Header::decode(&bytes, 98), None, "another use of the file");
        assert_eq!(Header::decode(&bytes[..47], 99), None);
        for bit in 0..8 * HEADER_BYTES {
            let mut damaged = bytes;
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Header::decode(&damaged, 99), None, "bit {bit}");
        }
    }
}
