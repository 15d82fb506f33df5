//! The undo file: full segments that the memory for undo has no space for.
//!
//! A temporary file in the data folder, made when the first segment is spilled and removed when the store is opened:
//! undo is needed after a restart only for what a checkpoint saved of it. It is a row of places of one size; the place
//! of a segment that was freed is used again, and a file without any segment is removed. Nothing in it is ever synced.
//! The thread that frees the last segment only removes the file's name. The space is returned to the system when the
//! file is closed ([`UndoFile::close_removed`]), which is done by a thread that no statement waits for.
//!
//! Segments are read back in blocks through a small cache. Each block's checksum stays in memory, so that whatever else
//! is read is an error and never a wrong version.

use super::{ENTRY_BYTES_MAX, HEADER_BYTES, entry_bytes};
use crate::error::StoreError;
use crate::planted::{self, Plant};
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicU64, Ordering};
use env::disk::{File, FileOptions, Folder};
use std::io;
use std::sync::Arc;

/// The file's name in the data folder.
const NAME: &str = "undo.tmp";
/// What is read at once.
const BLOCK_BYTES: usize = 8 * 1024;
/// Blocks kept: 1 MiB.
const CACHED_BLOCKS: usize = 128;

/// A segment in the file.
#[derive(Debug)]
pub(super) struct Spilled {
    place: u32,
    bytes: u32,
    /// Which writing of a place it is: tells it from others in the cache.
    number: u64,
    /// Of each block.
    checksums: Box<[u32]>,
}

#[derive(Debug)]
pub(super) struct UndoFile {
    folder: Arc<dyn Folder>,
    place_bytes: usize,
    state: Mutex<State>,
    cache: Box<[Mutex<Cached>]>,
    blocks_read: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    file: Option<Arc<dyn File>>,
    /// Places that hold nothing.
    free: Vec<u32>,
    /// Places the file has.
    places: u32,
    /// Files without a name that are still to be closed.
    removed: Vec<Arc<dyn File>>,
    writings: u64,
}

#[derive(Debug, Default)]
struct Cached {
    number: u64,
    block: usize,
    bytes: Vec<u8>,
}

#[cold]
fn failed(doing: &'static str, error: &io::Error) -> StoreError {
    match env::disk::is_full(error) {
        true => StoreError::DiskFull { what: NAME },
        false => StoreError::UndoFile { doing, why: error.to_string().into() },
    }
}

impl UndoFile {
    /// Removes what an earlier life left.
    pub(super) fn remove(folder: &dyn Folder, names: &[String]) -> io::Result<()> {
        if names.iter().any(|name| name == NAME) { folder.remove(NAME) } else { Ok(()) }
    }

    pub(super) fn new(folder: Arc<dyn Folder>, segment_bytes: usize) -> UndoFile {
        let cache = std::iter::repeat_with(Mutex::default).take(CACHED_BLOCKS).collect();
        let place_bytes = segment_bytes.max(ENTRY_BYTES_MAX);
        UndoFile { folder, place_bytes, state: Mutex::default(), cache, blocks_read: AtomicU64::new(0) }
    }

    fn offset(&self, place: u32, block: usize) -> u64 {
        u64::from(place) * self.place_bytes as u64 + (block * BLOCK_BYTES) as u64
    }

    /// Writes a segment's entries.
    pub(super) fn write(&self, bytes: &[u8]) -> Result<Spilled, StoreError> {
        debug_assert!(!bytes.is_empty() && bytes.len() <= self.place_bytes);
        let (file, place, number) = {
            let mut state = self.state.lock();
            let file = match &state.file {
                Some(file) => Arc::clone(file),
                None => {
                    let opened = self.folder.open(NAME, FileOptions::create());
                    let file = opened.map_err(|error| failed("making", &error))?;
                    state.file = Some(Arc::clone(&file));
                    file
                }
            };
            state.writings += 1;
            let place = state.free.pop().unwrap_or_else(|| {
                state.places += 1;
                state.places - 1
            });
            (file, place, state.writings)
        };
        if let Err(error) = file.write_at(self.offset(place, 0), bytes) {
            self.state.lock().free.push(place);
            return Err(failed("writing", &error));
        }
        let checksums = bytes.chunks(BLOCK_BYTES).map(crc32c::crc32c).collect();
        Ok(Spilled { place, bytes: bytes.len() as u32, number, checksums })
    }

    /// Gives a segment's place back.
    pub(super) fn release(&self, spilled: &Spilled) {
        let mut state = self.state.lock();
        state.free.push(spilled.place);
        if state.free.len() == state.places as usize
            && state.file.is_some()
            // A file that cannot be removed keeps its length: its places are used again all the same.
            && self.folder.remove(NAME).is_ok()
        {
            let file = state.file.take();
            state.removed.extend(file);
            state.places = 0;
            state.free = Vec::new();
        }
    }

    /// Closes files that were removed. Takes as long as the system takes to free their blocks.
    pub(super) fn close_removed(&self) {
        let removed = std::mem::take(&mut self.state.lock().removed);
        drop(removed);
    }

    /// Copies the entry at `at` of a segment, and perhaps something behind it. May wait for the disk.
    pub(super) fn read(&self, spilled: &Spilled, at: usize, entry: &mut Vec<u8>) -> Result<(), StoreError> {
        let read = self.read_entry(spilled, at, entry, true)?;
        debug_assert!(read);
        Ok(())
    }

    /// As [`UndoFile::read`] if that takes no waiting; false if it would.
    pub(super) fn read_cached(
        &self,
        spilled: &Spilled,
        at: usize,
        entry: &mut Vec<u8>,
    ) -> Result<bool, StoreError> {
        self.read_entry(spilled, at, entry, false)
    }

    fn read_entry(
        &self,
        spilled: &Spilled,
        at: usize,
        entry: &mut Vec<u8>,
        may_wait: bool,
    ) -> Result<bool, StoreError> {
        entry.clear();
        let mut end = at + HEADER_BYTES;
        let mut block = at / BLOCK_BYTES;
        while at + entry.len() < end {
            let read = self.read_block(spilled, block, may_wait, |bytes| {
                let from = (at + entry.len()).saturating_sub(block * BLOCK_BYTES);
                let piece = bytes.get(from..).unwrap_or(&[]);
                entry.extend_from_slice(&piece[..piece.len().min(ENTRY_BYTES_MAX)]);
            })?;
            if !read {
                return Ok(false);
            }
            if let Some(bytes) = entry_bytes(entry) {
                end = at + bytes;
            }
            block += 1;
        }
        Ok(true)
    }

    /// False if that would take waiting, and may not.
    fn read_block(
        &self,
        spilled: &Spilled,
        block: usize,
        may_wait: bool,
        look: impl FnOnce(&[u8]),
    ) -> Result<bool, StoreError> {
        let damaged =
            || StoreError::UndoFile { doing: "reading", why: "it does not hold what was written".into() };
        let &checksum = spilled.checksums.get(block).ok_or_else(damaged)?;
        let line = &self.cache[(spilled.number as usize * 8 + block) % CACHED_BLOCKS];
        let mut cached = match may_wait {
            true => line.lock(),
            // Its holder may be waiting for the disk.
            false => match line.try_lock() {
                Some(cached) => cached,
                None => return Ok(false),
            },
        };
        if (cached.number, cached.block) != (spilled.number, block) {
            let file = self.state.lock().file.clone().ok_or_else(damaged)?;
            let mut bytes = vec![0; (spilled.bytes as usize - block * BLOCK_BYTES).min(BLOCK_BYTES)];
            let offset = self.offset(spilled.place, block);
            if !file.read_if_cached(offset, &mut bytes) {
                if !may_wait {
                    return Ok(false);
                }
                file.read_at(offset, &mut bytes).map_err(|error| failed("reading", &error))?;
            }
            self.blocks_read.fetch_add(1, Ordering::Relaxed);
            if crc32c::crc32c(&bytes) != checksum && !planted::is(Plant::SkipUndoChecksum) {
                return Err(damaged());
            }
            *cached = Cached { number: spilled.number, block, bytes };
        }
        look(&cached.bytes);
        Ok(true)
    }

    /// Segments written and blocks read, so far.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.state.lock().writings, self.blocks_read.load(Ordering::Relaxed))
    }

    /// Bytes of the file that hold segments.
    pub(super) fn used_bytes(&self) -> u64 {
        let state = self.state.lock();
        (u64::from(state.places) - state.free.len() as u64) * self.place_bytes as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use env::simulated::SimWorld;
    use std::path::Path;

    #[test]
    fn entries_across_blocks_come_back_and_damage_is_an_error() {
        let world = SimWorld::new(1);
        let folder = world.env().disk.folder(Path::new("/data"), true).unwrap();
        let file = UndoFile::new(Arc::clone(&folder), 64 * 1024);
        let mut segment = Vec::new();
        let mut starts = Vec::new();
        for number in 0..40u8 {
            starts.push(segment.len());
            let data = vec![number; usize::from(number) * 37];
            let draft = super::super::NewEntry {
                before: u64::from(number),
                kind: super::super::Kind::Whole,
                tree: crate::ids::TreeId(7),
                version: crate::btree::node::Version { trx_id: 1, undo: 2 },
                key: b"key",
                data: &data,
                shared: (0, 0),
            };
            draft.push(&mut segment);
        }
        let spilled = [file.write(&segment).unwrap(), file.write(&segment).unwrap()];
        let mut entry = Vec::new();
        for (number, &at) in starts.iter().enumerate() {
            file.read(&spilled[1], at, &mut entry).unwrap();
            let read = super::super::read(&entry, 0).unwrap();
            assert_eq!((read.before, read.data.len()), (number as u64, number * 37));
        }
        world.disk().flip_bit(Path::new("/data"), NAME, starts[30] + 50, 3);
        // The second one lies behind the first and is whole; the first was not read yet.
        file.read(&spilled[1], starts[30], &mut entry).unwrap();
        let damaged = file.read(&spilled[0], starts[30], &mut entry);
        assert!(matches!(damaged, Err(StoreError::UndoFile { .. })), "{damaged:?}");
        assert_eq!(file.used_bytes(), 2 * 64 * 1024);
        let before = spilled[0].place;
        file.release(&spilled[0]);
        assert_eq!(file.write(&segment).unwrap().place, before);
        file.release(&spilled[0]);
        file.release(&spilled[1]);
        assert_eq!(file.used_bytes(), 0);
        assert!(world.disk().content(Path::new("/data"), NAME).is_none());
        file.close_removed();
        let again = file.write(&segment).unwrap();
        file.read(&again, starts[7], &mut entry).unwrap();
        assert_eq!(again.place, 0);
    }
}
