//! Rows on disk: sorted runs in LZ4 blocks.
//!
//! A block is `u32` compressed bytes, `u32` plain bytes, then the LZ4 data of rows one after the other. A row is its key
//! (`u32` length, bytes), a NULL byte per column, and the values: 8 bytes, a decimal's key, or a length and bytes. The file
//! loses its name as soon as it is open, so that nothing remains however the process ends; it is never synced.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use env::disk::{File, FileOptions, Folder};
use types::vector::{Cell, ColumnData};
use types::{Batch, Decimal, Physical};

use crate::context::{coded, internal};
use crate::expr::SqlResult;

/// Plain bytes of a block, about.
const BLOCK_BYTES: usize = 64 << 10;

static FILE_NUMBER: AtomicU64 = AtomicU64::new(0);

fn failed(error: &io::Error) -> Box<service::error::SqlError> {
    coded(3, &format!("Error writing a temporary file: {error}"))
}

/// Writes rows in the order they come.
pub(super) struct RunWriter {
    file: Arc<dyn File>,
    shapes: Vec<Physical>,
    block: Vec<u8>,
    end: u64,
}

impl RunWriter {
    pub(super) fn create(folder: &Arc<dyn Folder>, shapes: &[Physical]) -> SqlResult<RunWriter> {
        let name = format!("spill-{}", FILE_NUMBER.fetch_add(1, Ordering::Relaxed));
        let file = folder.open(&name, FileOptions::create()).map_err(|error| failed(&error))?;
        folder.remove(&name).map_err(|error| failed(&error))?;
        Ok(RunWriter { file, shapes: shapes.to_vec(), block: Vec::new(), end: 0 })
    }

    pub(super) fn push(&mut self, key: &[u8], batch: &Batch, row: usize) -> SqlResult<()> {
        put_bytes(&mut self.block, key);
        for column in &batch.columns {
            match column.cell(row) {
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
                    self.block.push(value.scale());
                    value.write_key(65, 30, &mut self.block);
                }
                Cell::Bytes(value) => {
                    self.block.push(1);
                    put_bytes(&mut self.block, value);
                }
            }
        }
        if self.block.len() >= BLOCK_BYTES { self.write_block() } else { Ok(()) }
    }

    fn write_block(&mut self) -> SqlResult<()> {
        let packed = lz4_flex::block::compress(&self.block);
        let mut bytes = Vec::with_capacity(packed.len() + 8);
        bytes.extend_from_slice(&(packed.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&(self.block.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&packed);
        self.file.write_at(self.end, &bytes).map_err(|error| failed(&error))?;
        self.end += bytes.len() as u64;
        self.block.clear();
        Ok(())
    }

    /// Ends the run and stands before its first row.
    pub(super) fn finish(mut self) -> SqlResult<RunReader> {
        if !self.block.is_empty() {
            self.write_block()?;
        }
        let mut reader = RunReader {
            file: self.file,
            shapes: self.shapes,
            end: self.end,
            offset: 0,
            block: Vec::new(),
            at: 0,
            key: None,
        };
        reader.advance()?;
        Ok(reader)
    }
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(bytes);
}

/// Reads a run back, a row at a time.
pub(super) struct RunReader {
    file: Arc<dyn File>,
    shapes: Vec<Physical>,
    end: u64,
    offset: u64,
    block: Vec<u8>,
    at: usize,
    /// Place of the current row's key in the block; `None` at the end.
    key: Option<(usize, usize)>,
}

impl RunReader {
    /// The key of the row that [`RunReader::take`] gives next.
    pub(super) fn key(&self) -> Option<&[u8]> {
        self.key.map(|(start, end)| &self.block[start..end])
    }

    /// Appends the current row to `out` and goes on.
    pub(super) fn take(&mut self, out: &mut Batch) -> SqlResult<()> {
        let shapes = std::mem::take(&mut self.shapes);
        for (column, shape) in out.columns.iter_mut().zip(&shapes) {
            if self.bytes(1)?[0] == 0 {
                column.push_null();
                continue;
            }
            match shape {
                Physical::Int => {
                    let value = i64::from_le_bytes(self.array()?);
                    column.push_int(value);
                }
                Physical::Double => {
                    let value = f64::from_le_bytes(self.array()?);
                    column.push_double(value);
                }
                Physical::Decimal => {
                    let scale = self.bytes(1)?[0];
                    let key = self.bytes(Decimal::key_bytes(65))?;
                    let value =
                        Decimal::read_key(65, 30, key).ok_or_else(|| internal("a spilled decimal"))?;
                    column.push_decimal(value.round(scale));
                }
                Physical::Bytes => {
                    let count = u32::from_le_bytes(self.array()?) as usize;
                    let value = self.bytes(count)?;
                    match &mut column.data {
                        ColumnData::Bytes(data) => data.push(value),
                        _ => return Err(internal("a spilled shape")),
                    }
                    column.nulls.push(false);
                }
            }
        }
        self.shapes = shapes;
        out.row_count += 1;
        self.advance()
    }

    fn bytes(&mut self, count: usize) -> SqlResult<&[u8]> {
        let start = self.at;
        self.at += count;
        self.block.get(start..start + count).ok_or_else(|| internal("a spilled row"))
    }

    fn array<const N: usize>(&mut self) -> SqlResult<[u8; N]> {
        self.bytes(N)?.try_into().map_err(|_| internal("a spilled row"))
    }

    fn advance(&mut self) -> SqlResult<()> {
        if self.at >= self.block.len() {
            if self.offset >= self.end {
                self.key = None;
                return Ok(());
            }
            let mut header = [0; 8];
            self.file.read_at(self.offset, &mut header).map_err(|error| failed(&error))?;
            let [a, b, c, d, e, f, g, h] = header;
            let packed_bytes = u32::from_le_bytes([a, b, c, d]) as usize;
            let plain_bytes = u32::from_le_bytes([e, f, g, h]) as usize;
            let mut packed = vec![0; packed_bytes];
            self.file.read_at(self.offset + 8, &mut packed).map_err(|error| failed(&error))?;
            self.offset += 8 + packed_bytes as u64;
            self.block =
                lz4_flex::block::decompress(&packed, plain_bytes).map_err(|_| internal("a spilled block"))?;
            self.at = 0;
        }
        let count = u32::from_le_bytes(self.array()?) as usize;
        let start = self.at;
        self.bytes(count)?;
        self.key = Some((start, start + count));
        Ok(())
    }
}
