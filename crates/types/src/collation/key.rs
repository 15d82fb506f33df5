//! How sort keys treat spaces that may be padding, zero bytes, and the levels below the first.
//!
//! A key ends itself: no key is a proper prefix of another. Three schemes do it.
//!
//! **NO PAD, weights**: codes of weights, none beginning with 00, then 00.
//!
//! **NO PAD, bytes** (`binary`, `utf8mb4_0900_bin`): each 00 is written 00 FF, the end 00 00.
//!
//! **PAD SPACE**: a text stands for itself followed by endless spaces. So a run of spaces must sort by what follows
//! it: below a run that goes on for longer if a lesser weight follows, above if a greater one does. A run of n
//! spaces is the space's own code (one byte) and a tag:
//!
//! | tag | the run |
//! | --- | --- |
//! | 01 to 7E | n = tag, then a weight below the space's |
//! | 7F | 127 spaces or more, then such a weight; the other n - 127 follow as a run of their own |
//! | 80 | endless: the end of the text, and of the key |
//! | 81 | 127 or more, then a weight above the space's; the other n - 127 follow |
//! | 82 to FF | n = 100 - tag (hexadecimal), then a weight above the space's |
//!
//! **Lower levels** (0900 `as_ci`, `as_cs`): behind the 00 of the level above. Nearly all weights are the level's
//! common one (20 for accents, 2 for case), so runs of it are counted:
//!
//! | byte | meaning |
//! | --- | --- |
//! | 00 | the end of the level |
//! | 01 + two bytes | a weight below the common one |
//! | 02 to 40 | a run of byte - 1 common weights, then a lesser one or the end |
//! | 41 | 64 common weights, with nothing said of what follows |
//! | 42 to 80 | a run of 81 - byte (hexadecimal) common weights, then a greater one |
//! | 81 to FE | the common weight + byte - 80 |
//! | FF + two bytes | a greater weight |

/// Spaces seen and not yet written.
#[derive(Debug)]
pub(super) struct SpaceRuns {
    code: u8,
    pending: usize,
}

const RUN_LONG: usize = 127;

impl SpaceRuns {
    /// `code` is that of the space.
    pub(super) const fn new(code: u8) -> Self {
        Self { code, pending: 0 }
    }

    #[inline]
    pub(super) fn count_one(&mut self) {
        self.pending += 1;
    }

    /// Writes the pending run: a weight follows.
    #[inline]
    pub(super) fn flush(&mut self, next_is_greater: bool, key: &mut Vec<u8>) {
        match self.pending {
            0 => {}
            1 => {
                key.extend_from_slice(&[self.code, if next_is_greater { 0xFF } else { 0x01 }]);
                self.pending = 0;
            }
            _ => self.write_run(next_is_greater, key),
        }
    }

    fn write_run(&mut self, next_is_greater: bool, key: &mut Vec<u8>) {
        let tag = |less: u8| if next_is_greater { less.wrapping_neg() } else { less };
        while self.pending >= RUN_LONG {
            key.extend([self.code, tag(0x7F)]);
            self.pending -= RUN_LONG;
        }
        if self.pending > 0 {
            key.extend([self.code, tag(self.pending as u8)]);
        }
        self.pending = 0;
    }

    /// Ends the key.
    pub(super) fn end(self, key: &mut Vec<u8>) {
        key.extend([self.code, 0x80]);
    }
}

/// Appends the key of a NO PAD byte string.
pub(super) fn escape_zeros(bytes: &[u8], key: &mut Vec<u8>) {
    key.reserve(bytes.len() + 2);
    escape_zeros_open(bytes, key);
    key.extend([0, 0]);
}

/// The same without the end.
pub(super) fn escape_zeros_open(bytes: &[u8], key: &mut Vec<u8>) {
    let mut rest = bytes;
    while let Some(at) = memchr::memchr(0, rest) {
        key.extend_from_slice(&rest[..at]);
        key.extend([0, 0xFF]);
        rest = &rest[at + 1..];
    }
    key.extend_from_slice(rest);
}

/// Writes one of the lower levels.
#[derive(Debug)]
pub(super) struct LevelWriter {
    common: u16,
    pending: usize,
}

const LEVEL_RUN: usize = 64;

impl LevelWriter {
    pub(super) const fn new(common: u16) -> Self {
        Self { common, pending: 0 }
    }

    #[inline]
    pub(super) fn count_common(&mut self, count: usize) {
        self.pending += count;
    }

    #[inline]
    pub(super) fn push(&mut self, weight: u16, key: &mut Vec<u8>) {
        if weight == self.common {
            self.pending += 1;
            return;
        }
        let [high, low] = weight.to_be_bytes();
        if weight < self.common {
            self.flush(false, key);
            key.extend([0x01, high, low]);
        } else {
            self.flush(true, key);
            match weight - self.common {
                near @ 1..=0x7E => key.push(0x80 + near as u8),
                _ => key.extend([0xFF, high, low]),
            }
        }
    }

    fn flush(&mut self, next_is_greater: bool, key: &mut Vec<u8>) {
        while self.pending >= LEVEL_RUN {
            key.push(0x41);
            self.pending -= LEVEL_RUN;
        }
        if self.pending > 0 {
            let count = self.pending as u8;
            key.push(if next_is_greater { 0x81 - count } else { 0x01 + count });
        }
        self.pending = 0;
    }

    pub(super) fn end(mut self, key: &mut Vec<u8>) {
        self.flush(false, key);
        key.push(0);
    }
}
