//! Rows that stay behind a cursor until the client fetches them (COM_STMT_FETCH).

use env::memory::MemoryCharge;
use exec::RowSink;
use exec::expr::SqlResult;
use exec::output::RowEncoder;
use service::{Reply, SqlError};
use types::DataType;
use types::charset::Charset;
use types::vector::Batch;

/// Rows of a result that the client fetches piece by piece (COM_STMT_FETCH).
#[derive(Debug)]
pub struct Cursor {
    types: Vec<DataType>,
    batches: std::vec::IntoIter<Batch>,
    current: Option<(Batch, usize)>,
    /// All its rows.
    held: MemoryCharge,
}

impl Cursor {
    /// What its rows take of memory.
    pub(super) fn held_bytes(&self) -> u64 {
        self.held.bytes()
    }

    /// Sends at most `row_count` rows; answers whether there are more.
    ///
    /// # Errors
    /// The client is gone.
    pub fn send(
        &mut self,
        row_count: u32,
        results: Option<Charset>,
        reply: &mut Reply<'_>,
    ) -> Result<bool, Box<SqlError>> {
        let mut encoder = RowEncoder::new(self.types.iter(), results, service::RowFormat::Binary);
        let mut left = row_count;
        loop {
            match &mut self.current {
                Some((batch, next)) if *next < batch.row_count => {
                    if left == 0 {
                        return Ok(true);
                    }
                    encoder.put_row(batch, *next, reply.begin_row());
                    reply.end_row()?;
                    *next += 1;
                    left -= 1;
                }
                _ => match self.batches.next() {
                    Some(batch) => self.current = Some((batch, 0)),
                    None => return Ok(false),
                },
            }
        }
    }
}

/// Keeps batches for a cursor.
#[derive(Default)]
pub(super) struct CursorSink {
    batches: Vec<Batch>,
    bytes: usize,
}

impl CursorSink {
    /// The cursor over what came, of columns with these types.
    pub(super) fn into_cursor(self, types: Vec<DataType>) -> Box<Cursor> {
        let mut held = MemoryCharge::default();
        held.set(self.bytes as u64);
        Box::new(Cursor { types, batches: self.batches.into_iter(), current: None, held })
    }
}

impl RowSink for CursorSink {
    fn batch(&mut self, batch: &Batch) -> SqlResult<bool> {
        let mut copy = Batch::new(batch.columns.iter().map(types::vector::Column::physical));
        copy.extend_from(batch);
        self.bytes += copy.columns.iter().map(types::vector::Column::memory_bytes).sum::<usize>();
        self.batches.push(copy);
        Ok(true)
    }
}
