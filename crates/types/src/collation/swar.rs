//! Eight bytes at a time.

const HIGH_BITS: u64 = 0x8080_8080_8080_8080;
const ONES: u64 = 0x0101_0101_0101_0101;
const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

/// The eight bytes at `at`, the first in the lowest bits; `None` if there are fewer.
#[inline]
pub(super) fn chunk(bytes: &[u8], at: usize) -> Option<u64> {
    let chunk = bytes.get(at..)?.first_chunk::<8>()?;
    Some(u64::from_le_bytes(*chunk))
}

#[inline]
pub(super) const fn is_ascii(chunk: u64) -> bool {
    chunk & HIGH_BITS == 0
}

/// Capital letters made small. Only for ASCII.
#[inline]
pub(super) const fn to_lower(chunk: u64) -> u64 {
    // With seven-bit bytes no sum carries into the next byte.
    let from_a = chunk + ONES * (0x80 - b'A' as u64);
    let after_z = chunk + ONES * (0x80 - b'Z' as u64 - 1);
    let is_capital = (from_a & !after_z) & HIGH_BITS;
    chunk | is_capital >> 2
}

/// Whether all bytes are printable ASCII: 20 to 7E.
#[inline]
pub(super) const fn is_printable_ascii(chunk: u64) -> bool {
    // Bit 7 of (byte + 60) is set from 20 on, of (byte + 1) from 7F on.
    is_ascii(chunk) && (chunk + ONES * 0x60) & HIGH_BITS == HIGH_BITS && (chunk + ONES) & HIGH_BITS == 0
}

/// The length of a front that need not be looked at when `a` and `b` are compared: there the texts are the same, or
/// (if `folds`) differ only in the case of ASCII letters. It ends at the front of a character of both.
#[inline]
pub(super) fn same_front(a: &[u8], b: &[u8], folds: bool) -> usize {
    let mut at = 0;
    while let (Some(x), Some(y)) = (chunk(a, at), chunk(b, at)) {
        if x != y && !(folds && is_ascii(x | y) && to_lower(x) == to_lower(y)) {
            break;
        }
        at += 8;
    }
    while let (Some(&x), Some(&y)) = (a.get(at), b.get(at)) {
        if x != y && !(folds && (x | y).is_ascii() && x.eq_ignore_ascii_case(&y)) {
            break;
        }
        at += 1;
    }
    // The bytes that follow may belong to a character that began before; every byte that is no continuation byte
    // begins one, in malformed text too.
    let continues = |text: &[u8]| text.get(at).is_some_and(|byte| byte & 0xC0 == 0x80);
    if continues(a) || continues(b) {
        // Up to `at` both have the same bytes, or ASCII.
        while at > 0 {
            at -= 1;
            if a[at] & 0xC0 != 0x80 {
                break;
            }
        }
    }
    at
}

/// A hash of a stream of bytes, which may be pushed one or eight at a time with the same outcome.
#[derive(Clone, Copy, Debug)]
pub(super) struct StreamHasher {
    state: u64,
    tail: u64,
    tail_bits: u32, // 0 to 56.
}

impl StreamHasher {
    pub(super) const fn new(seed: u64) -> Self {
        Self { state: seed ^ 0x243F_6A88_85A3_08D3, tail: 0, tail_bits: 0 }
    }

    #[inline]
    fn mix(&mut self, chunk: u64) {
        // A folded multiplication: both halves of the product depend on every bit of both factors. The addition keeps
        // a state of zero from swallowing what follows.
        let product = u128::from(self.state ^ chunk) * u128::from(MULTIPLIER);
        self.state = ((product as u64) ^ (product >> 64) as u64).wrapping_add(MULTIPLIER);
    }

    #[inline]
    pub(super) fn push(&mut self, byte: u8) {
        self.push_bits(u64::from(byte), 8);
    }

    /// `bits` is 8, 16 or 32; `value` has no more. Lower bytes come first.
    #[inline]
    pub(super) fn push_bits(&mut self, value: u64, bits: u32) {
        let full = self.tail | value << self.tail_bits;
        let full_bits = self.tail_bits + bits;
        if full_bits < 64 {
            (self.tail, self.tail_bits) = (full, full_bits);
        } else {
            self.mix(full);
            self.tail_bits = full_bits - 64;
            self.tail = value >> (bits - self.tail_bits);
        }
    }

    #[inline]
    pub(super) fn push_chunk(&mut self, chunk: u64) {
        if self.tail_bits == 0 {
            self.mix(chunk);
        } else {
            self.mix(self.tail | chunk << self.tail_bits);
            self.tail = chunk >> (64 - self.tail_bits);
        }
    }

    #[inline]
    pub(super) fn finish(mut self) -> u64 {
        // The tail leaves the highest byte free. Its length there distinguishes a text from one with trailing zero bytes.
        self.mix(self.tail | u64::from(self.tail_bits) << 56);
        self.state
    }
}
