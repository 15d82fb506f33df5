//! ANALYZE TABLE: what is found out about the rows of a table, from all of a small one, from a sample of any other.
//!
//! The work does not grow with the table: leaves are drawn at random ([`store::LeafDraw`]), none twice, and of each a run of neighbouring rows
//! is looked at. Different keys of an index are counted by how often neighbouring entries differ, in leaves of its own.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use access::{CollectedStatistics, IndexStatistics, KeyBytesRange};
use hashbrown::HashSet;
use store::{StoreError, Tree};
use types::{Cell, Physical};

use crate::Utc;
use crate::check::CheckEnd;
use crate::codec::row::{BytesRef, RowView, spilled_reference};
use crate::collected::Gathered;
use crate::column_sample::ColumnSample;
use crate::index::scan_range;
use crate::index_sample::IndexSample;
use crate::table::Table;

/// A table of no more rows is looked at whole, if they fit [`SAMPLE_BYTES`].
const ROWS_WHOLE_MAX: u64 = 30_000;
/// Memory that the values of a sample may take; of wide rows there are fewer.
const SAMPLE_BYTES: u64 = 64 << 20;
/// Rows of a sample at least, however wide.
const ROWS_MIN: u64 = 300;
/// What a value of a sample takes beside its bytes.
const VALUE_BYTES: u64 = 32;
/// Bytes of a text's key that are taken for each of its characters.
const KEY_BYTES_PER_CHAR: u64 = 2;
/// Rows of a leaf, unless the table has too few leaves.
const LEAF_ROWS: usize = 20;
/// Leaves of a sample of rows for each page that `innodb_stats_persistent_sample_pages` asks for, which are 20 if nobody says otherwise; and most.
const LEAVES_PER_PAGE: u64 = 75;
/// Most leaves of a sample of rows.
const SAMPLED_LEAVES_MAX: u64 = 100_000;
/// Leaves of a sample of rows for which there is one of each index.
const ROW_LEAVES_PER_INDEX_LEAF: u64 = 3;
/// Most descents for a leaf of a sample; beyond them the sample is what it is.
const DESCENTS_PER_LEAF: u64 = 16;

impl Table {
    /// Collects statistics; [`Table::adopt`] makes them the table's. `sample_pages`: how many leaves are sampled, in the unit of MySQL's
    /// variable. `now`: microseconds since 1970. `go_on` is asked for each leaf.
    ///
    /// # Errors
    /// `go_on`'s; the store failed.
    pub fn gather<E>(
        &self,
        sample_pages: u64,
        now: i64,
        go_on: &mut dyn FnMut() -> Result<(), E>,
    ) -> Result<Gathered, CheckEnd<E>> {
        let changes_then = self.rows.change_count();
        let row_count = self.rows.record_count();
        let leaves = sample_pages.max(1).saturating_mul(LEAVES_PER_PAGE).min(SAMPLED_LEAVES_MAX);
        let row_max = self.sampled_rows_max();
        let (whole_max, rows) = (ROWS_WHOLE_MAX.min(row_max), (leaves * LEAF_ROWS as u64).min(row_max));
        let mut sample = RowsSample::new(self);
        let push = &mut |leaf: u32, key: &[u8], value: &[u8]| sample.push(leaf, key, value);
        let rows = visit(self, row_count, whole_max, (leaves, rows), go_on, push)?;
        let SampledRows { row_count, leaf_count, is_whole } = rows;
        let row_count = if is_whole { sample.row_count } else { row_count };
        let indexes = (0..self.definition.indexes.len())
            .map(|index| {
                let wanted = (leaves / ROW_LEAVES_PER_INDEX_LEAF).max(1);
                let wanted = if is_whole { None } else { Some(wanted) };
                self.index_statistics(index, wanted, row_count, go_on)
                    .map(|statistics| Some(Arc::new(statistics)))
            })
            .collect::<Result<_, _>>()?;
        let columns = sample.columns.iter_mut().map(|column| {
            let statistics = column.statistics(row_count, is_whole);
            Some(Arc::new(statistics))
        });
        let statistics = &self.counters().statistics;
        let known = self.gathered().map_or(0, |collected| collected.version);
        let version = statistics.version.load(Ordering::Relaxed).max(known) + 1;
        let collected = CollectedStatistics {
            version,
            made_micros: now,
            row_count,
            leaf_count,
            sampled_rows: sample.row_count,
            is_whole,
            columns: columns.collect(),
            indexes,
        };
        Ok(Gathered { collected: Arc::new(collected), changes_then })
    }

    /// How many rows a sample may hold.
    fn sampled_rows_max(&self) -> u64 {
        let of_column = |column: usize| {
            let keys = self.known.keys(&self.definition, column);
            keys.map_or(0, |keys| {
                let chars = keys.parts()[0].prefix_length.map_or(0, u64::from);
                keys.fixed_bytes().map_or(chars * KEY_BYTES_PER_CHAR, |bytes| bytes as u64) + VALUE_BYTES
            })
        };
        let row_bytes: u64 = (0..self.definition.columns.len()).map(of_column).sum();
        (SAMPLE_BYTES / row_bytes.max(1)).max(ROWS_MIN)
    }

    /// Different prefixes of the keys of an index. `leaves`: how many leaves are looked at; none: all.
    fn index_statistics<E>(
        &self,
        index: usize,
        leaves: Option<u64>,
        row_count: u64,
        go_on: &mut dyn FnMut() -> Result<(), E>,
    ) -> Result<IndexStatistics, CheckEnd<E>> {
        let tree = &self.indexes[index].tree;
        let mut sample = IndexSample::new(self, index);
        let (leaf_count, sampled_leaves) = match leaves {
            None => {
                let mut leaves = 0;
                for_each_leaf(self, tree, go_on, |_, key, value| sample.push(key, value), &mut leaves)?;
                (leaves, leaves)
            }
            Some(leaves) => {
                let run = sample.run_max();
                let mut draw = Draw::new(self, tree, leaves).map_err(CheckEnd::Store)?;
                while draw.is_going() {
                    go_on().map_err(CheckEnd::Asked)?;
                    sample.begin_leaf();
                    draw.next(run, &mut |key, value| sample.push(key, value)).map_err(CheckEnd::Store)?;
                }
                (draw.leaf_count, draw.taken)
            }
        };
        Ok(IndexStatistics { distinct: sample.distinct(row_count), leaf_count, sampled_leaves })
    }
}

/// Draws leaves of a tree, none twice.
struct Draw {
    leaves: store::LeafDraw,
    leaf_count: u64,
    wanted: u64,
    taken: u64,
    descents: u64,
    drawn: HashSet<u64>,
}

impl Draw {
    fn new(table: &Table, tree: &Tree, wanted: u64) -> Result<Self, StoreError> {
        // Another sample each time: what one missed, the next may find.
        let seed = table.definition.id.0 << 32 ^ tree.id().0 << 16 ^ tree.change_count();
        let mut leaves = table.store.draw_leaves(tree, seed);
        let leaf_count = leaves.leaf_count()?.round() as u64;
        // The last leaves of a small tree would take long to be met.
        let wanted = wanted.min(leaf_count - leaf_count / 8).max(1);
        Ok(Self { leaves, leaf_count, wanted, taken: 0, descents: 0, drawn: HashSet::new() })
    }

    fn is_going(&self) -> bool {
        self.taken < self.wanted && self.descents < self.wanted * DESCENTS_PER_LEAF
    }

    fn next(&mut self, run: usize, record: &mut dyn FnMut(&[u8], &[u8])) -> Result<(), StoreError> {
        self.descents += 1;
        let drawn = &mut self.drawn;
        let taken = self.leaves.draw(run, &mut |leaf| drawn.insert(leaf), record)?;
        self.taken += u64::from(taken);
        Ok(())
    }
}

/// Takes the number of a leaf, and the locator and body of a row in it.
type RowSink<'a> = &'a mut dyn FnMut(u32, &[u8], &[u8]);

/// Which rows were visited.
pub(crate) struct SampledRows {
    /// Rows of the table.
    pub(crate) row_count: u64,
    pub(crate) leaf_count: u64,
    /// All of them.
    pub(crate) is_whole: bool,
}

/// Gives `row` the locator and body of each row of a table that has no more than `row_max`, else of a sample of about as many, with the number of
/// its leaf.
pub(crate) fn visit_rows<E>(
    table: &Table,
    row_max: u64,
    go_on: &mut dyn FnMut() -> Result<(), E>,
    row: RowSink<'_>,
) -> Result<SampledRows, CheckEnd<E>> {
    let leaves = (row_max / LEAF_ROWS as u64).clamp(1, SAMPLED_LEAVES_MAX);
    visit(table, table.rows.record_count(), row_max, (leaves, row_max), go_on, row)
}

/// As [`visit_rows`]; a sample is one of this number of leaves, and of this number of rows if the table has fewer leaves.
fn visit<E>(
    table: &Table,
    row_count: u64,
    whole_max: u64,
    (leaves, rows): (u64, u64),
    go_on: &mut dyn FnMut() -> Result<(), E>,
    row: RowSink<'_>,
) -> Result<SampledRows, CheckEnd<E>> {
    if row_count <= whole_max {
        let mut leaf_count = 0;
        for_each_leaf(
            table,
            &table.rows,
            go_on,
            |leaf, key, value| row(leaf as u32, key, value),
            &mut leaf_count,
        )?;
        return Ok(SampledRows { row_count, leaf_count, is_whole: true });
    }
    let leaves = leaves.min(rows / LEAF_ROWS as u64).max(1);
    let mut draw = Draw::new(table, &table.rows, leaves).map_err(CheckEnd::Store)?;
    let run = (rows / draw.wanted).max(LEAF_ROWS as u64) as usize;
    while draw.is_going() {
        go_on().map_err(CheckEnd::Asked)?;
        let leaf = draw.taken as u32;
        draw.next(run, &mut |key, value| row(leaf, key, value)).map_err(CheckEnd::Store)?;
    }
    Ok(SampledRows { row_count, leaf_count: draw.leaf_count, is_whole: false })
}

/// The columns of sampled rows.
struct RowsSample<'t> {
    table: &'t Table,
    columns: Vec<ColumnSample>,
    row_count: u64,
}

impl<'t> RowsSample<'t> {
    fn new(table: &'t Table) -> Self {
        let columns = table.definition.columns.iter().map(|_| ColumnSample::default()).collect();
        Self { table, columns, row_count: 0 }
    }

    fn push(&mut self, leaf: u32, key: &[u8], value: &[u8]) {
        self.row_count += 1;
        // A row stored out of line is not read.
        if spilled_reference(value).is_some() {
            return;
        }
        let row = self.table.row_view(key, value);
        for (ordinal, column) in self.columns.iter_mut().enumerate() {
            push_value(self.table, &row, ordinal, leaf, column);
        }
    }
}

fn push_value(table: &Table, row: &RowView<'_>, ordinal: usize, leaf: u32, column: &mut ColumnSample) {
    if row.is_null(ordinal) {
        return column.push_null();
    }
    let data_type = &table.definition.columns[ordinal].data_type;
    let Some(codec) = table.known.keys(&table.definition, ordinal) else {
        return column.push_large(row.bytes(ordinal).len());
    };
    let width = codec.parts()[0].field.width().unwrap_or(0) as u64;
    let mut push = |size: u64, cell: Cell<'_>| {
        column.push(leaf, size, |out| codec.write_part(0, cell, &Utc, out));
    };
    match data_type.physical() {
        Physical::Int => push(width, Cell::Int(row.int(ordinal, &Utc))),
        Physical::Double => push(width, Cell::Double(row.double(ordinal))),
        Physical::Decimal => push(width, Cell::Decimal(&row.decimal(ordinal))),
        Physical::Bytes => match row.bytes(ordinal) {
            BytesRef::Inline(bytes) => push(bytes.len() as u64, Cell::Bytes(bytes)),
            external @ BytesRef::External { .. } => column.push_large(external.len()),
        },
    }
}

/// Gives each record of a tree, with the number of its leaf.
fn for_each_leaf<E>(
    table: &Table,
    tree: &Tree,
    go_on: &mut dyn FnMut() -> Result<(), E>,
    mut record: impl FnMut(u64, &[u8], &[u8]),
    leaves: &mut u64,
) -> Result<(), CheckEnd<E>> {
    let view = table.store.read_view();
    let mut scan = table.store.scan(tree, &scan_range(&KeyBytesRange::ALL, false));
    loop {
        go_on().map_err(CheckEnd::Asked)?;
        let more = scan
            .next_batch(view.reader(), |key, value| {
                record(*leaves, key, value);
                ControlFlow::Continue(())
            })
            .map_err(CheckEnd::Store)?;
        *leaves += 1;
        if !more {
            return Ok(());
        }
    }
}
