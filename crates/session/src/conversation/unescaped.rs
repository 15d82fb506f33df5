//! The texts of escaped literals, as values hold them.

use syntax::ast::{Cell, CellKind};

/// The texts of a statement's escaped literals, in order, without their escapes.
#[derive(Default)]
pub(super) struct UnescapedTexts {
    bytes: Vec<u8>,
    lengths: Vec<usize>,
}

impl UnescapedTexts {
    /// Gives memory back that has grown beyond `bytes_max`.
    #[inline]
    pub(super) fn keep_at_most(&mut self, bytes_max: usize) {
        if self.bytes.capacity() + self.lengths.capacity() * size_of::<usize>() > bytes_max {
            *self = Self::default();
        }
    }

    #[inline]
    pub(super) fn read(&mut self, cells: &[Cell], sql: &[u8], backslash: bool) -> Option<Unescaped<'_>> {
        self.bytes.clear();
        self.lengths.clear();
        for cell in cells.iter().filter(|cell| cell.kind == CellKind::StringEscaped) {
            let text = sql.get(cell.start as usize..(cell.start + cell.len) as usize)?;
            let quote = *sql.get((cell.start as usize).checked_sub(1)?)?;
            let before = self.bytes.len();
            syntax::unescape(text, quote, backslash, &mut self.bytes);
            self.lengths.push(self.bytes.len() - before);
        }
        Some(Unescaped { rest: &self.bytes, lengths: self.lengths.iter() })
    }
}

/// Gives them out.
pub(super) struct Unescaped<'a> {
    rest: &'a [u8],
    lengths: std::slice::Iter<'a, usize>,
}

impl<'a> Unescaped<'a> {
    pub(super) fn next(&mut self) -> Option<&'a [u8]> {
        let (text, rest) = self.rest.split_at_checked(*self.lengths.next()?)?;
        self.rest = rest;
        Some(text)
    }
}
