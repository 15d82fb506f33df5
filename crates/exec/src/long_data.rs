//! Parameters that come in pieces before their statement runs (COM_STMT_SEND_LONG_DATA): in memory up to a limit, beyond it
//! in a temporary file.
//!
//! From the file a value goes into a table a piece at a time, where an INSERT takes the parameter as it is
//! ([`crate::Prepared::long_columns`]). Every other statement needs it whole ([`LongData::read_whole`]).

use std::io;
use std::sync::Arc;

use access::{LongValue, PREFIX_BYTES};
use env::disk::{File, Folder};
use types::charset::Charset;

use crate::error::coded;
use crate::expr::SqlResult;
use crate::spill::{file_failed, temporary_file};

/// Bytes of a parameter's long data that stay in memory; longer data goes to disk.
pub(crate) const LONG_DATA_MEMORY_BYTES: usize = 1 << 20;

/// Bytes read at a time.
const PIECE_BYTES: usize = 256 << 10;

/// What has come of a parameter.
#[derive(Debug, Default)]
pub struct LongData {
    /// All of it, or its first bytes.
    memory: Vec<u8>,
    file: Option<Spilled>,
}

#[derive(Debug)]
struct Spilled {
    folder: Arc<dyn Folder>,
    file: Arc<dyn File>,
    byte_count: u64,
}

/// A parameter whose value lies on disk: its number, and the value. Its first bytes stand among the parameters.
#[derive(Clone, Debug)]
pub struct LongParameter {
    /// From 0.
    pub number: u32,
    /// All of it.
    pub value: Arc<dyn LongValue>,
}

/// A finished file.
#[derive(Debug)]
struct OnDisk {
    file: Arc<dyn File>,
    byte_count: u64,
}

impl LongValue for OnDisk {
    fn byte_count(&self) -> u64 {
        self.byte_count
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.file.read_at(offset, buffer)
    }
}

impl LongData {
    /// Bytes so far.
    #[must_use]
    pub fn byte_count(&self) -> u64 {
        self.file.as_ref().map_or(self.memory.len() as u64, |spilled| spilled.byte_count)
    }

    /// The value, or its first bytes if [`LongData::on_disk`] has it.
    #[must_use]
    pub fn in_memory(&self) -> &[u8] {
        &self.memory
    }

    /// The value, if it lies on disk.
    #[must_use]
    pub fn on_disk(&self) -> Option<Arc<dyn LongValue>> {
        let spilled = self.file.as_ref()?;
        Some(Arc::new(OnDisk { file: Arc::clone(&spilled.file), byte_count: spilled.byte_count }))
    }

    /// Appends a piece. Without a folder for temporary files everything stays in memory, at most `most` bytes.
    ///
    /// # Errors
    /// What the system says of the file.
    pub fn push(&mut self, data: &[u8], folder: Option<&Arc<dyn Folder>>, most: usize) -> SqlResult<()> {
        if let Some(Spilled { folder, file, byte_count }) = &mut self.file {
            file.write_at(*byte_count, data).map_err(|error| file_failed(&error, &**folder, false))?;
            *byte_count += data.len() as u64;
            return Ok(());
        }
        let (Some(folder), true) = (folder, self.memory.len() + data.len() > LONG_DATA_MEMORY_BYTES) else {
            wire::packet::make_room(&mut self.memory, data.len(), most);
            self.memory.extend_from_slice(data);
            return Ok(());
        };
        let file = temporary_file(folder)?;
        let failed = |error: io::Error| file_failed(&error, &**folder, false);
        file.write_at(0, &self.memory).map_err(failed)?;
        file.write_at(self.memory.len() as u64, data).map_err(failed)?;
        let byte_count = (self.memory.len() + data.len()) as u64;
        let missing = PREFIX_BYTES.saturating_sub(self.memory.len()).min(data.len());
        self.memory.extend_from_slice(&data[..missing]);
        self.memory.truncate(PREFIX_BYTES);
        self.memory.shrink_to_fit();
        self.file = Some(Spilled { folder: Arc::clone(folder), file, byte_count });
        Ok(())
    }

    /// Brings all of it into memory.
    ///
    /// # Errors
    /// 1038 if there is no memory for it; what the system says of the file.
    pub fn read_whole(&mut self) -> SqlResult<()> {
        let Some(Spilled { folder, file, byte_count }) = self.file.take() else { return Ok(()) };
        let mut whole = Vec::new();
        if whole.try_reserve_exact(byte_count as usize).is_err() {
            return Err(coded(1038, "Out of sort memory, consider increasing server sort buffer size"));
        }
        whole.resize(byte_count as usize, 0);
        file.read_at(0, &mut whole).map_err(|error| file_failed(&error, &*folder, true))?;
        self.memory = whole;
        Ok(())
    }

    /// Whether all of it is well formed in `charset`.
    ///
    /// # Errors
    /// What the system says of the file.
    pub fn is_well_formed(&self, charset: Charset) -> SqlResult<bool> {
        let Some(Spilled { folder, file, byte_count }) = &self.file else {
            return Ok(charset.validate(&self.memory).is_ok());
        };
        let mut piece = Vec::new();
        let mut offset = 0;
        while offset < *byte_count {
            // A character that a piece cuts begins the next one.
            let kept = piece.len();
            let count = (byte_count - offset).min(PIECE_BYTES as u64) as usize;
            piece.resize(kept + count, 0);
            file.read_at(offset, &mut piece[kept..]).map_err(|error| file_failed(&error, &**folder, true))?;
            offset += count as u64;
            let whole =
                if offset < *byte_count { charset.whole_characters(&piece).len() } else { piece.len() };
            if charset.validate(&piece[..whole]).is_err() {
                return Ok(false);
            }
            piece.drain(..whole);
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::{LONG_DATA_MEMORY_BYTES, LongData};
    use types::charset::Charset;

    fn long(text: &[u8], pieces: usize) -> LongData {
        let world = env::simulated::SimWorld::new(1);
        let folder = world.env().disk.folder(std::path::Path::new("/tmp"), true).expect("a folder");
        let mut long = LongData::default();
        for piece in text.chunks(text.len().div_ceil(pieces)) {
            long.push(piece, Some(&folder), usize::MAX).expect("room");
        }
        assert_eq!(long.byte_count(), text.len() as u64);
        long
    }

    #[test]
    fn beyond_the_limit_it_lies_on_disk() {
        let text: Vec<u8> = (0..LONG_DATA_MEMORY_BYTES + 5000).map(|at| (at % 251) as u8).collect();
        for pieces in [1, 2, 100, 5000] {
            let short = long(&text[..LONG_DATA_MEMORY_BYTES], pieces);
            assert!(short.on_disk().is_none() && short.in_memory() == &text[..LONG_DATA_MEMORY_BYTES]);
            let mut long = long(&text, pieces);
            assert_eq!(long.in_memory(), &text[..32]);
            let value = long.on_disk().expect("it is on disk");
            let mut piece = [0; 300];
            value.read_at(LONG_DATA_MEMORY_BYTES as u64 - 100, &mut piece).expect("it reads");
            assert_eq!(piece, text[LONG_DATA_MEMORY_BYTES - 100..][..300]);
            long.read_whole().expect("it reads");
            assert!(long.on_disk().is_none() && long.in_memory() == text);
        }
    }

    #[test]
    fn characters_are_checked_across_pieces() {
        for shift in 0..4 {
            let text = format!("{}{}", "x".repeat(shift), "\u{20ac}".repeat(700_000)).into_bytes();
            assert!(long(&text, 7).is_well_formed(Charset::Utf8mb4).expect("it reads"));
            for at in [shift + 1, 1_500_001, text.len() - 1] {
                let mut bad = text.clone();
                bad[at] = b'x';
                assert!(!long(&bad, 7).is_well_formed(Charset::Utf8mb4).expect("it reads"), "{shift} {at}");
            }
            let cut = &text[..text.len() - 1];
            assert!(!long(cut, 7).is_well_formed(Charset::Utf8mb4).expect("it reads"));
            assert!(long(cut, 7).is_well_formed(Charset::Latin1).expect("it reads"));
        }
    }
}
