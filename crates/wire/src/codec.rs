//! Numbers and strings as packets hold them, written and read.
//!
//! Invariants:
//! 1. Reading never goes past the payload and never allocates: a length beyond the payload is [`Malformed`].
//! 2. What a `put_` function writes, the `Reader` function of the same name reads back.

use std::fmt;

/// A packet that does not hold what its kind promises. What to do is the caller's choice: the server answers 1835.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Malformed {
    /// What was being read.
    pub what: &'static str,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "malformed packet: {}", self.what)
    }
}

impl std::error::Error for Malformed {}

/// The error of a packet that ends too soon or holds a value that cannot be.
#[cold]
pub(crate) fn malformed<T>(what: &'static str) -> Result<T, Malformed> {
    Err(Malformed { what })
}

/// Length-encoded integers below this are one byte.
pub(crate) const LENENC_BYTE_END: u64 = 0xfb;

/// Writes a length-encoded integer: 1, 3, 4 or 9 bytes.
#[inline]
pub fn put_lenenc_int(out: &mut Vec<u8>, value: u64) {
    if value < LENENC_BYTE_END {
        out.push(value as u8);
    } else {
        put_long_lenenc_int(out, value);
    }
}

fn put_long_lenenc_int(out: &mut Vec<u8>, value: u64) {
    let bytes = value.to_le_bytes();
    if value < 1 << 16 {
        out.push(0xfc);
        out.extend_from_slice(&bytes[..2]);
    } else if value < 1 << 24 {
        out.push(0xfd);
        out.extend_from_slice(&bytes[..3]);
    } else {
        out.push(0xfe);
        out.extend_from_slice(&bytes);
    }
}

/// Bytes that [`put_lenenc_int`] takes for `value`.
#[must_use]
pub(crate) fn lenenc_int_bytes(value: u64) -> usize {
    match value {
        0..0xfb => 1,
        0xfb..0x1_0000 => 3,
        0x1_0000..0x100_0000 => 4,
        _ => 9,
    }
}

/// Writes a string behind its length.
#[inline]
pub fn put_lenenc_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_lenenc_int(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Writes a string and a zero byte. The string must hold none itself; what follows one is left out.
pub(crate) fn put_nul_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    let end = memchr::memchr(0, bytes).unwrap_or(bytes.len());
    out.extend_from_slice(&bytes[..end]);
    out.push(0);
}

/// Reads one payload from front to back.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Starts at the front of `payload`.
    #[must_use]
    pub fn new(payload: &'a [u8]) -> Reader<'a> {
        Reader { rest: payload }
    }

    /// What was not read yet.
    #[must_use]
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Whether all was read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next byte, left where it is.
    #[must_use]
    pub fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    /// The next `count` bytes.
    ///
    /// # Errors
    /// If the payload holds fewer.
    #[inline]
    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let Some((head, rest)) = self.rest.split_at_checked(count) else { return malformed("too short") };
        self.rest = rest;
        Ok(head)
    }

    /// Everything that is left.
    pub(crate) fn take_rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let Some((head, rest)) = self.rest.split_first_chunk::<N>() else { return malformed("too short") };
        self.rest = rest;
        Ok(*head)
    }

    /// One byte.
    ///
    /// # Errors
    /// If none is left.
    #[inline]
    pub fn u8(&mut self) -> Result<u8, Malformed> {
        self.array::<1>().map(|[byte]| byte)
    }

    /// Two bytes, little-endian.
    ///
    /// # Errors
    /// If fewer are left.
    pub fn u16(&mut self) -> Result<u16, Malformed> {
        self.array().map(u16::from_le_bytes)
    }

    /// Four bytes, little-endian.
    ///
    /// # Errors
    /// If fewer are left.
    pub fn u32(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_le_bytes)
    }

    /// Eight bytes, little-endian.
    ///
    /// # Errors
    /// If fewer are left.
    pub fn u64(&mut self) -> Result<u64, Malformed> {
        self.array().map(u64::from_le_bytes)
    }

    /// A length-encoded integer; `None` for the byte 0xfb, which says NULL in a row.
    ///
    /// # Errors
    /// If it is cut, or starts with 0xff, which starts no integer.
    #[inline]
    pub(crate) fn lenenc_int_or_null(&mut self) -> Result<Option<u64>, Malformed> {
        match self.u8()? {
            byte @ 0..0xfb => Ok(Some(u64::from(byte))),
            0xfb => Ok(None),
            0xfc => self.u16().map(|v| Some(u64::from(v))),
            0xfd => self.array::<3>().map(|[a, b, c]| Some(u64::from(u32::from_le_bytes([a, b, c, 0])))),
            0xfe => self.u64().map(Some),
            0xff => malformed("length-encoded integer"),
        }
    }

    /// A length-encoded integer.
    ///
    /// # Errors
    /// If it is cut or none.
    #[inline]
    pub fn lenenc_int(&mut self) -> Result<u64, Malformed> {
        match self.lenenc_int_or_null()? {
            Some(value) => Ok(value),
            None => malformed("NULL where a length must stand"),
        }
    }

    /// A string behind its length; `None` for NULL.
    ///
    /// # Errors
    /// If it is cut or its length is none.
    #[inline]
    pub(crate) fn lenenc_bytes_or_null(&mut self) -> Result<Option<&'a [u8]>, Malformed> {
        match self.lenenc_int_or_null()? {
            None => Ok(None),
            Some(length) => match usize::try_from(length) {
                Ok(length) => self.bytes(length).map(Some),
                Err(_) => malformed("length"),
            },
        }
    }

    /// A string behind its length.
    ///
    /// # Errors
    /// If it is cut or its length is none.
    pub fn lenenc_bytes(&mut self) -> Result<&'a [u8], Malformed> {
        match self.lenenc_bytes_or_null()? {
            Some(bytes) => Ok(bytes),
            None => malformed("NULL where a string must stand"),
        }
    }

    /// A string before a zero byte; the zero is read too.
    ///
    /// # Errors
    /// If there is no zero byte.
    pub fn nul_bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let Some(end) = memchr::memchr(0, self.rest) else { return malformed("string without its end") };
        let head = &self.rest[..end];
        self.rest = &self.rest[end + 1..];
        Ok(head)
    }

    /// A string before a zero byte or the end of the payload, which old clients leave without a zero.
    pub(crate) fn nul_or_rest(&mut self) -> &'a [u8] {
        self.nul_bytes().unwrap_or_else(|_| self.take_rest())
    }
}
