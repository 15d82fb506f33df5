//! The zlib frames that packets travel in when both sides have COMPRESS.
//!
//! ```text
//! compressed bytes u24 | sequence u8 | plain bytes u24, 0 if the content is not compressed | content
//! ```
//!
//! A frame holds any part of the stream of packets; its sequence starts again with each command and goes on in the
//! answer.
//!
//! Invariants:
//! 1. A frame is inflated to at most the length it announces, and memory grows only with what comes out.
//! 2. A frame whose content is not of the length announced is [`CompressError::Corrupt`].

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

use crate::packet::FRAME_PAYLOAD_BYTES_MAX;

/// Bytes of a frame's header.
pub(crate) const COMPRESSED_HEADER_BYTES: usize = 7;
/// Content shorter than this is sent as it is.
pub(crate) const COMPRESS_BYTES_MIN: usize = 50;
/// Bytes that one step of inflating may add: memory grows only with what really comes out.
pub const STEP_BYTES: usize = 16 * 1024;
/// zlib's level, as MySQL's default.
const LEVEL: u32 = 6;

/// Why a frame cannot be read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum CompressError {
    /// The content is not zlib, or not of the length announced. The client sees 1157.
    Corrupt,
}

/// Packs outgoing bytes into frames.
#[derive(Debug)]
pub struct Compressor {
    zlib: Compress,
}

impl Default for Compressor {
    fn default() -> Compressor {
        Compressor { zlib: Compress::new(Compression::new(LEVEL), true) }
    }
}

impl Compressor {
    /// Appends frames for all of `plain`; the first carries `sequence`, which is counted up.
    pub fn pack(&mut self, plain: &[u8], sequence: &mut u8, out: &mut Vec<u8>) {
        for piece in plain.chunks(FRAME_PAYLOAD_BYTES_MAX) {
            let start = out.len();
            out.resize(start + COMPRESSED_HEADER_BYTES, 0);
            let mut plain_bytes = 0;
            if piece.len() >= COMPRESS_BYTES_MIN && self.deflate(piece, out, start) {
                plain_bytes = piece.len();
            } else {
                out.truncate(start + COMPRESSED_HEADER_BYTES);
                out.extend_from_slice(piece);
            }
            let content = out.len() - start - COMPRESSED_HEADER_BYTES;
            let [a, b, c, _] = (content as u32).to_le_bytes();
            let [d, e, f, _] = (plain_bytes as u32).to_le_bytes();
            out[start..start + COMPRESSED_HEADER_BYTES].copy_from_slice(&[a, b, c, *sequence, d, e, f]);
            *sequence = sequence.wrapping_add(1);
        }
    }

    /// Appends `piece` deflated; `false` if that is not shorter.
    fn deflate(&mut self, piece: &[u8], out: &mut Vec<u8>, start: usize) -> bool {
        self.zlib.reset();
        out.reserve(piece.len());
        loop {
            let used = self.zlib.total_in() as usize;
            match self.zlib.compress_vec(&piece[used..], out, FlushCompress::Finish) {
                Ok(Status::StreamEnd) => break,
                Ok(Status::Ok | Status::BufError)
                    if out.len() - start - COMPRESSED_HEADER_BYTES < piece.len() =>
                {
                    out.reserve(piece.len());
                }
                _ => return false,
            }
        }
        out.len() - start - COMPRESSED_HEADER_BYTES < piece.len()
    }
}

/// zlib's window and tables, some 40 KB, needed only while a frame is inflated.
#[derive(Debug)]
pub struct Inflater(Decompress);

/// Unpacks incoming frames.
#[derive(Debug)]
pub struct Decompressor {
    /// Present while a compressed frame is being read; allocated then, unless the caller has lent one.
    inflater: Option<Inflater>,
    header: [u8; COMPRESSED_HEADER_BYTES],
    header_bytes: usize,
    content_bytes_left: usize,
    plain_bytes: usize,
    produced_bytes: usize,
    is_deflated: bool,
    ended: bool,
    expected: u8,
}

impl Default for Decompressor {
    fn default() -> Decompressor {
        Decompressor {
            inflater: None,
            header: [0; COMPRESSED_HEADER_BYTES],
            header_bytes: 0,
            content_bytes_left: 0,
            plain_bytes: 0,
            produced_bytes: 0,
            is_deflated: false,
            ended: true,
            expected: 0,
        }
    }
}

impl Decompressor {
    /// The number of the next frame.
    #[must_use]
    pub fn sequence(&self) -> u8 {
        self.expected
    }

    /// Sets the number of the next frame, after an answer has used some.
    pub fn set_sequence(&mut self, sequence: u8) {
        self.expected = sequence;
    }

    /// Whether the last frame was whole and none has begun.
    #[must_use]
    pub fn is_between_frames(&self) -> bool {
        self.header_bytes == 0
    }

    /// Lends what a deflated frame will need, so that many connections share one. One that has its own leaves it.
    pub fn borrow_from(&mut self, spare: &mut Option<Inflater>) {
        if self.inflater.is_none() {
            self.inflater = spare.take();
        }
    }

    /// Gives it back, unless a deflated frame has begun and not ended.
    pub fn give_back(&mut self, spare: &mut Option<Inflater>) {
        let is_busy = self.is_deflated && self.header_bytes == COMPRESSED_HEADER_BYTES;
        if !is_busy && self.inflater.is_some() {
            *spare = self.inflater.take();
        }
    }

    /// Takes all of `input` and appends what was in it to `plain`.
    ///
    /// # Errors
    /// A frame that is no zlib or not of the length it says.
    pub fn unpack(&mut self, input: &[u8], plain: &mut Vec<u8>) -> Result<(), CompressError> {
        self.unpack_part(input, plain, usize::MAX).map(|_| ())
    }

    /// As [`unpack`](Self::unpack), but stops when `plain` has grown by `bytes_max` or at most [`STEP_BYTES`] more: 64 KB of zlib may hold
    /// 64 MB. Says how many bytes of `input` it took. If it stopped, there may be more even behind all of `input`.
    ///
    /// # Errors
    /// A frame that is no zlib or not of the length it says.
    pub fn unpack_part(
        &mut self,
        input: &[u8],
        plain: &mut Vec<u8>,
        bytes_max: usize,
    ) -> Result<usize, CompressError> {
        let start = plain.len();
        let mut used = 0;
        while plain.len() - start < bytes_max {
            if self.header_bytes < COMPRESSED_HEADER_BYTES {
                let take = (COMPRESSED_HEADER_BYTES - self.header_bytes).min(input.len() - used);
                self.header[self.header_bytes..self.header_bytes + take]
                    .copy_from_slice(&input[used..used + take]);
                self.header_bytes += take;
                used += take;
                if self.header_bytes < COMPRESSED_HEADER_BYTES {
                    break;
                }
                self.begin_frame();
            }
            let content = &input[used..used + self.content_bytes_left.min(input.len() - used)];
            let before = plain.len();
            let taken = if self.is_deflated {
                self.inflate_step(content, plain)?
            } else {
                let take = content.len().min(bytes_max - (plain.len() - start));
                plain.extend_from_slice(&content[..take]);
                take
            };
            used += taken;
            self.content_bytes_left -= taken;
            let is_whole = self.content_bytes_left == 0;
            if self.ended && is_whole {
                if self.is_deflated && self.produced_bytes != self.plain_bytes {
                    return Err(CompressError::Corrupt);
                }
                self.header_bytes = 0;
            } else if self.ended && self.is_deflated {
                return Err(CompressError::Corrupt); // Bytes after the end of the zlib stream are not content.
            } else if taken == 0 && plain.len() == before {
                // More has to arrive, if anything is missing.
                if is_whole || !content.is_empty() {
                    return Err(CompressError::Corrupt);
                }
                break;
            }
        }
        Ok(used)
    }

    /// The header of a frame is there.
    fn begin_frame(&mut self) {
        let [a, b, c, sequence, d, e, f] = self.header;
        // Taken as it comes: each command starts at 0 again, also one sent right behind a command that has no
        // answer, and both may arrive at once. The packets inside have numbers of their own.
        self.expected = sequence.wrapping_add(1);
        self.content_bytes_left = u32::from_le_bytes([a, b, c, 0]) as usize;
        self.plain_bytes = u32::from_le_bytes([d, e, f, 0]) as usize;
        self.is_deflated = self.plain_bytes != 0;
        self.produced_bytes = 0;
        self.ended = !self.is_deflated;
        if self.is_deflated {
            self.inflater.get_or_insert_with(|| Inflater(Decompress::new(true))).0.reset(true);
        }
    }

    /// Inflates up to [`STEP_BYTES`] to the end of `plain`, and says how many bytes of `content` that took.
    fn inflate_step(&mut self, content: &[u8], plain: &mut Vec<u8>) -> Result<usize, CompressError> {
        let mut step = [0; STEP_BYTES];
        let Some(Inflater(zlib)) = &mut self.inflater else { return Err(CompressError::Corrupt) };
        let (before_in, before_out) = (zlib.total_in(), zlib.total_out());
        let status = zlib.decompress(content, &mut step, FlushDecompress::None);
        let produced = (zlib.total_out() - before_out) as usize;
        self.produced_bytes += produced;
        if self.produced_bytes > self.plain_bytes {
            return Err(CompressError::Corrupt);
        }
        plain.extend_from_slice(&step[..produced]);
        match status {
            Ok(Status::StreamEnd) => self.ended = true,
            Ok(Status::Ok | Status::BufError) => {}
            Err(_) => return Err(CompressError::Corrupt),
        }
        Ok((zlib.total_in() - before_in) as usize)
    }
}
