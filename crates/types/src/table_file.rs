//! Files of tables that the crate is built with, written by the programs in `tools/`: parts one behind the other, each with its length in
//! bytes before it (u32). Numbers are little-endian.
//!
//! The files are part of the program: one that ends too early is a mistake of whoever made it, and a panic.

/// Reads one part of a file.
pub(crate) struct TableReader {
    rest: &'static [u8],
}

impl TableReader {
    /// The part of this number, from 0.
    pub(crate) fn of_part(file: &'static [u8], number: usize) -> TableReader {
        let mut reader = TableReader { rest: file };
        for _ in 0..number {
            let bytes = reader.length();
            reader.rest = &reader.rest[bytes..];
        }
        let bytes = reader.length();
        TableReader { rest: &reader.rest[..bytes] }
    }

    fn length(&mut self) -> usize {
        usize::from(self.u16()) | usize::from(self.u16()) << 16
    }

    pub(crate) fn u8(&mut self) -> u8 {
        let (&first, rest) = self.rest.split_first().expect("a part of a file of tables is whole");
        self.rest = rest;
        first
    }

    pub(crate) fn u16(&mut self) -> u16 {
        u16::from_le_bytes([self.u8(), self.u8()])
    }

    /// A LEB128 number.
    pub(crate) fn number(&mut self) -> u32 {
        let (mut number, mut shift) = (0, 0);
        loop {
            let byte = self.u8();
            number |= u32::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return number;
            }
            shift += 7;
        }
    }
}
