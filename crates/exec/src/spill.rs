//! Rows on disk: what an operator keeps above its memory limit.
//!
//! A statement has at most one [`SpillFile`], made when the first operator needs it. Any number of streams lie in it: a
//! [`SpillWriter`] appends rows to one, [`SpillRows`] is a finished one, a [`SpillReader`] goes through it, as often as
//! wanted. A stream is a list of blocks; a block is LZ4 data of records one after the other; a record is a key (`u32`
//! length, bytes), a NULL byte per column, and the values: 8 bytes, those of `Decimal::to_exact`, or a length and bytes.
//!
//! Invariants:
//! 1. A statement has at most one spill file open; its name is gone as soon as it is open, so that nothing remains
//!    however the statement or the process ends. It is never synced.
//! 2. The blocks of a stream are free for other streams as soon as its [`SpillRows`] is dropped.
//! 3. A stream under way holds at most one block in memory; a record larger than a block makes a block of its own.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use env::disk::{File, FileOptions, Folder};
use service::error::SqlError;
use types::vector::{BytesColumn, Cell, ColumnData};
use types::{Batch, Column, Decimal, Physical};

use crate::error::internal;
use crate::expr::SqlResult;

/// Most plain bytes of a block, about.
const BLOCK_BYTES_MAX: usize = 64 << 10;
/// Fewest, for the smallest limits.
const BLOCK_BYTES_MIN: usize = 512;
/// Most bytes a limit may be: rows are numbered and keys found by `u32`.
pub(crate) const LIMIT_BYTES_MAX: usize = 1 << 30;
/// Space in the file is given out in multiples of this.
const SPACE_UNIT_BYTES: u64 = 256;

/// Names of files that a process left behind begin so.
const NAME_PREFIX: &str = "spill-";

static FILE_NUMBER: AtomicU64 = AtomicU64::new(0);

/// Plain bytes of a block for an operator with this memory limit: sixteen streams at once take a quarter of it.
pub(crate) fn block_bytes(limit: usize) -> usize {
    (limit / 64).clamp(BLOCK_BYTES_MIN, BLOCK_BYTES_MAX)
}

/// MySQL's error of a temporary file (its number is not in the server's table: it is mysys's).
#[cold]
fn failed(error: &io::Error, file: &SpillPath) -> Box<SqlError> {
    let number = error.raw_os_error().unwrap_or(match error.kind() {
        io::ErrorKind::StorageFull => 28,
        _ => 5,
    });
    let text = match error.kind() {
        io::ErrorKind::StorageFull => "No space left on device".to_owned(),
        _ => error.to_string(),
    };
    let (code, verb) = if file.reading { (2, "reading") } else { (3, "writing") };
    let message = format!("Error {verb} file '{}' (OS errno {number} - {text})", file.path);
    SqlError::new(code, *b"HY000", message)
}

/// Removes what a process that was killed between making a spill file and taking its name away left in `folder`.
///
/// # Errors
/// What the system says.
pub fn remove_left_over(folder: &dyn Folder) -> io::Result<()> {
    for name in folder.list()? {
        if name.starts_with(NAME_PREFIX) {
            folder.remove(&name)?;
        }
    }
    Ok(())
}

struct SpillPath {
    path: String,
    reading: bool,
}

/// The error says why `folder` cannot be written.
#[cold]
pub(crate) fn file_failed(error: &io::Error, folder: &dyn Folder, reading: bool) -> Box<SqlError> {
    failed(error, &SpillPath { path: folder.path().display().to_string(), reading })
}

/// A statement's temporary file.
#[derive(Debug)]
pub(crate) struct SpillFile {
    folder: Arc<dyn Folder>,
    file: Arc<dyn File>,
    state: Mutex<SpillState>,
}

#[derive(Debug, Default)]
struct SpillState {
    end: u64,
    /// Free ranges by their units.
    free: BTreeMap<u64, Vec<u64>>,
    packed: Vec<u8>,
    written_bytes: u64,
}

/// A block: where it is, its bytes there, and its bytes unpacked.
#[derive(Clone, Copy, Debug)]
struct Block {
    offset: u64,
    packed_bytes: u32,
    plain_bytes: u32,
}

impl Block {
    fn units(self) -> u64 {
        u64::from(self.packed_bytes).div_ceil(SPACE_UNIT_BYTES)
    }
}

impl SpillState {
    fn allocate(&mut self, units: u64) -> u64 {
        // A much larger range is left for what needs it.
        let found = self.free.range(units..=units * 2).next().map(|(&units, _)| units);
        let Some(found) = found else {
            let offset = self.end;
            self.end += units * SPACE_UNIT_BYTES;
            return offset;
        };
        let mut offset = 0;
        if let Some(offsets) = self.free.get_mut(&found) {
            offset = offsets.pop().unwrap_or_default();
            if offsets.is_empty() {
                self.free.remove(&found);
            }
        }
        if found > units {
            self.free.entry(found - units).or_default().push(offset + units * SPACE_UNIT_BYTES);
        }
        offset
    }
}

/// A new file without a name in `folder`.
pub(crate) fn temporary_file(folder: &Arc<dyn Folder>) -> SqlResult<Arc<dyn File>> {
    let number = FILE_NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("{NAME_PREFIX}{}-{number}", std::process::id());
    let open = || -> io::Result<Arc<dyn File>> {
        let file = folder.open(&name, FileOptions::create())?;
        match folder.remove(&name) {
            // Another process that begins to use the folder may have cleared it.
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(file),
        }
    };
    open().map_err(|error| file_failed(&error, &**folder, false))
}

impl SpillFile {
    /// A new file without a name in `folder`.
    pub(crate) fn create(folder: &Arc<dyn Folder>) -> SqlResult<Arc<SpillFile>> {
        let file = temporary_file(folder)?;
        Ok(Arc::new(SpillFile { folder: Arc::clone(folder), file, state: Mutex::default() }))
    }

    fn state(&self) -> MutexGuard<'_, SpillState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, plain: &[u8]) -> SqlResult<Block> {
        let mut state = self.state();
        let mut packed = std::mem::take(&mut state.packed);
        packed.resize(lz4_flex::block::get_maximum_output_size(plain.len()), 0);
        let packed_bytes = lz4_flex::block::compress_into(plain, &mut packed)
            .map_err(|_| internal("a block that does not pack"))?;
        let mut block =
            Block { offset: 0, packed_bytes: packed_bytes as u32, plain_bytes: plain.len() as u32 };
        block.offset = state.allocate(block.units());
        state.written_bytes += packed_bytes as u64;
        drop(state);
        let written = env::blocking::around(|| self.file.write_at(block.offset, &packed[..packed_bytes]));
        self.keep(packed);
        written.map_err(|error| file_failed(&error, &*self.folder, false))?;
        Ok(block)
    }

    fn read(&self, block: Block, plain: &mut Vec<u8>) -> SqlResult<()> {
        let mut packed = std::mem::take(&mut self.state().packed);
        packed.resize(block.packed_bytes as usize, 0);
        if !self.file.read_if_cached(block.offset, &mut packed) {
            env::blocking::around(|| self.file.read_at(block.offset, &mut packed))
                .map_err(|error| file_failed(&error, &*self.folder, true))?;
        }
        plain.resize(block.plain_bytes as usize, 0);
        let count = lz4_flex::block::decompress_into(&packed, plain).ok();
        self.keep(packed);
        if count != Some(plain.len()) {
            return Err(internal("a spilled block"));
        }
        Ok(())
    }

    /// Keeps a buffer for the next block.
    fn keep(&self, packed: Vec<u8>) {
        if packed.len() <= 2 * BLOCK_BYTES_MAX {
            self.state().packed = packed;
        }
    }

    /// Packed bytes written so far.
    pub(crate) fn written_bytes(&self) -> u64 {
        self.state().written_bytes
    }
}

/// Appends rows to a stream.
pub(crate) struct SpillWriter {
    rows: SpillRows,
    block: Vec<u8>,
    block_bytes: usize,
}

impl SpillWriter {
    /// A stream of rows with columns of these shapes, in blocks of about `block_bytes`.
    pub(crate) fn new(file: &Arc<SpillFile>, shapes: &Arc<[Physical]>, block_bytes: usize) -> SpillWriter {
        let rows = SpillRows {
            file: Arc::clone(file),
            shapes: Arc::clone(shapes),
            blocks: Vec::new(),
            row_count: 0,
            plain_bytes: 0,
        };
        SpillWriter { rows, block: Vec::new(), block_bytes }
    }

    /// Rows so far.
    pub(crate) fn row_count(&self) -> u64 {
        self.rows.row_count
    }

    /// Appends row `row` of `columns`.
    pub(crate) fn push_row(&mut self, key: &[u8], columns: &[Column], row: usize) -> SqlResult<()> {
        self.push(key, columns.iter().map(|column| column.cell(row)))
    }

    /// Appends a row.
    pub(crate) fn push<'c>(&mut self, key: &[u8], cells: impl Iterator<Item = Cell<'c>>) -> SqlResult<()> {
        put_bytes(&mut self.block, key);
        for cell in cells {
            match cell {
                Cell::Null => self.block.push(0),
                Cell::Int(value) => {
                    self.block.push(1);
                    self.block.extend_from_slice(&value.to_le_bytes());
                }
                Cell::Double(value) => {
                    self.block.push(1);
                    self.block.extend_from_slice(&value.to_le_bytes());
                }
                Cell::Decimal(value) => {
                    self.block.push(1);
                    self.block.extend_from_slice(&value.to_exact());
                }
                Cell::Bytes(value) => {
                    self.block.push(1);
                    put_bytes(&mut self.block, value);
                }
            }
        }
        self.rows.row_count += 1;
        if self.block.len() >= self.block_bytes { self.write_block() } else { Ok(()) }
    }

    fn write_block(&mut self) -> SqlResult<()> {
        self.rows.plain_bytes += self.block.len() as u64;
        self.rows.blocks.push(self.rows.file.write(&self.block)?);
        self.block.clear();
        self.block.shrink_to(2 * self.block_bytes);
        Ok(())
    }

    /// Ends the stream.
    pub(crate) fn finish(mut self) -> SqlResult<SpillRows> {
        if !self.block.is_empty() {
            self.write_block()?;
        }
        Ok(self.rows)
    }
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(bytes);
}

/// A finished stream.
#[derive(Debug)]
pub(crate) struct SpillRows {
    file: Arc<SpillFile>,
    shapes: Arc<[Physical]>,
    blocks: Vec<Block>,
    row_count: u64,
    plain_bytes: u64,
}

impl SpillRows {
    /// Rows in it.
    pub(crate) fn row_count(&self) -> u64 {
        self.row_count
    }

    /// Shapes of its columns.
    pub(crate) fn shapes(&self) -> impl Iterator<Item = Physical> {
        self.shapes.iter().copied()
    }

    /// Stands before the first row.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn reader(self: &Arc<Self>) -> SqlResult<SpillReader> {
        let mut reader = SpillReader {
            rows: Arc::clone(self),
            next_block: 0,
            bytes: Bytes { block: Vec::new(), at: 0 },
            key: None,
        };
        reader.advance()?;
        Ok(reader)
    }
}

impl Drop for SpillRows {
    fn drop(&mut self) {
        let mut state = self.file.state();
        for block in &self.blocks {
            state.free.entry(block.units()).or_default().push(block.offset);
        }
    }
}

/// Reads a stream, a row at a time.
pub(crate) struct SpillReader {
    rows: Arc<SpillRows>,
    next_block: usize,
    bytes: Bytes,
    /// Place of the current row's key in the block; `None` at the end.
    key: Option<(usize, usize)>,
}

impl SpillReader {
    /// The key of the row that [`SpillReader::take`] gives next; `None` behind the last.
    pub(crate) fn key(&self) -> Option<&[u8]> {
        self.key.map(|(start, end)| &self.bytes.block[start..end])
    }

    /// The stream.
    pub(crate) fn rows(&self) -> &Arc<SpillRows> {
        &self.rows
    }

    /// Appends the current row to `columns` and goes on.
    pub(crate) fn take(&mut self, columns: &mut [Column]) -> SqlResult<()> {
        let bytes = &mut self.bytes;
        for (column, shape) in columns.iter_mut().zip(self.rows.shapes.iter()) {
            if bytes.take(1)?[0] == 0 {
                column.push_null();
                continue;
            }
            match shape {
                Physical::Int => column.push_int(i64::from_le_bytes(bytes.array()?)),
                Physical::Double => column.push_double(f64::from_le_bytes(bytes.array()?)),
                Physical::Decimal => column.push_decimal(bytes.decimal()?),
                Physical::Bytes => {
                    let value = bytes.bytes()?;
                    match &mut column.data {
                        ColumnData::Bytes(data) => data.push(value),
                        _ => return Err(internal("a spilled shape")),
                    }
                    column.nulls.push(false);
                }
            }
        }
        self.advance()
    }

    /// Appends rows to `out` until it is full, and their keys to `keys`; false if there was none left.
    pub(crate) fn next_batch(&mut self, out: &mut Batch, keys: &mut BytesColumn) -> SqlResult<bool> {
        while !out.is_full() {
            let Some(key) = self.key() else { break };
            keys.push(key);
            self.take(&mut out.columns)?;
            out.row_count += 1;
        }
        Ok(out.row_count > 0)
    }

    fn advance(&mut self) -> SqlResult<()> {
        if self.bytes.at >= self.bytes.block.len() {
            let Some(&block) = self.rows.blocks.get(self.next_block) else {
                self.key = None;
                return Ok(());
            };
            self.next_block += 1;
            self.bytes.at = 0;
            self.bytes.block.clear();
            self.bytes.block.shrink_to((block.plain_bytes as usize).max(2 * BLOCK_BYTES_MIN));
            self.rows.file.read(block, &mut self.bytes.block)?;
        }
        let key = self.bytes.bytes()?.len();
        self.key = Some((self.bytes.at - key, self.bytes.at));
        Ok(())
    }
}

/// Bytes read from front to back.
struct Bytes {
    block: Vec<u8>,
    at: usize,
}

impl Bytes {
    fn take(&mut self, count: usize) -> SqlResult<&[u8]> {
        let start = self.at;
        self.at += count;
        self.block.get(start..start + count).ok_or_else(|| internal("a spilled row"))
    }

    fn array<const N: usize>(&mut self) -> SqlResult<[u8; N]> {
        self.take(N)?.try_into().map_err(|_| internal("a spilled row"))
    }

    /// Bytes behind their length.
    fn bytes(&mut self) -> SqlResult<&[u8]> {
        let count = u32::from_le_bytes(self.array()?) as usize;
        self.take(count)
    }

    pub(crate) fn decimal(&mut self) -> SqlResult<Decimal> {
        Decimal::from_exact(&self.array()?).ok_or_else(|| internal("a spilled decimal"))
    }
}
