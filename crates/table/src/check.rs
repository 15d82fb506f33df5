//! Whether a table's parts agree: rows against index entries, entries against rows, large values against the rows that own
//! them; and whether the dictionary and the store know the same trees.
//!
//! All is read under one snapshot, so writers may go on. Memory is bounded: a leaf of rows, one row, and at most
//! [`STREAMS_KEPT`] streams; a table with more is read once for each group of that many.

use std::collections::BinaryHeap;

use access::KeyBytesRange;
use catalog::{Catalog, TableDefinition};
use hashbrown::HashMap;
use store::{ReadView, Store, StoreError, Tree, TreeId};

use crate::Utc;
use crate::codec::row::{BytesRef, RowView, VERSIONS_MAX, spilled_reference, version_of};
use crate::index::{EntryBytes, scan_range, tree_id};
use crate::large::{CHUNK_BYTES, ReadFrom};
use crate::materialized::Materialized;
use crate::table::Table;

/// Problems of a table that are reported; then the check ends.
pub(crate) const PROBLEMS_MAX: usize = 20;
/// Streams of large values in memory at once, 16 bytes each.
const STREAMS_KEPT: usize = 1 << 20;

/// How much of a table is looked at.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum CheckDepth {
    /// Its trees: checksums, order, fences. `QUICK`, `FAST`.
    Trees,
    /// Also rows against index entries and large values.
    Rows,
    /// Also each index entry against its row. `EXTENDED`; else only where the numbers differ.
    Entries,
}

/// Why a check ended early.
#[derive(Debug)]
pub enum CheckEnd<E> {
    /// The caller wanted it to.
    Asked(E),
    /// The store failed, other than by damage of this table.
    Store(StoreError),
}

/// Why a check goes no further.
enum Stop<E> {
    End(CheckEnd<E>),
    /// The problem is reported; what follows would only repeat it.
    Told,
}

type Step<E, T = ()> = Result<T, Stop<E>>;

struct Check<'t, G> {
    table: &'t Table,
    view: ReadView,
    go_on: G,
    problems: Vec<String>,
    rows: u64,
    /// Per index: rows that have no entry, or another one.
    mismatches: Vec<u64>,
}

impl Table {
    /// Checks the table; answers what is wrong, one line each, at most [`PROBLEMS_MAX`]. `go_on` is asked for each leaf of
    /// rows.
    ///
    /// # Errors
    /// `go_on`'s; the store failed.
    pub fn check<E>(
        &self,
        depth: CheckDepth,
        go_on: impl FnMut() -> Result<(), E>,
    ) -> Result<Vec<String>, CheckEnd<E>> {
        let mut check = Check {
            table: self,
            view: self.store.read_view(),
            go_on,
            problems: Vec::new(),
            rows: 0,
            mismatches: vec![0; self.indexes.len()],
        };
        match check.run(depth) {
            Ok(()) | Err(Stop::Told) => Ok(check.problems),
            Err(Stop::End(end)) => Err(end),
        }
    }

    /// The trees of the table and what they are, for messages.
    #[must_use]
    pub fn trees(&self) -> Vec<(TreeId, String)> {
        self.parts().into_iter().map(|(tree, what)| (tree.id(), what)).collect()
    }

    fn parts(&self) -> Vec<(&Tree, String)> {
        let mut parts = vec![(&self.rows, "rows".to_owned())];
        for (number, index) in self.indexes.iter().enumerate() {
            if index.entries.is_some() {
                parts.push((&index.tree, format!("index {}", self.definition.indexes[number].name)));
            }
        }
        parts.extend(self.large.as_ref().map(|tree| (tree, "large values".to_owned())));
        parts
    }
}

impl<E, G: FnMut() -> Result<(), E>> Check<'_, G> {
    fn run(&mut self, depth: CheckDepth) -> Step<E> {
        for (tree, what) in self.table.parts() {
            self.ask()?;
            match self.table.store.check_tree(tree) {
                Ok(_) => {}
                Err(error @ (StoreError::Corrupt { .. } | StoreError::Read { .. })) => {
                    self.tell(format!("{what}: {error}"))?;
                }
                Err(error) => return Err(Stop::End(CheckEnd::Store(error))),
            }
        }
        if !self.problems.is_empty() || depth == CheckDepth::Trees {
            return Ok(());
        }
        let mut streams = Streams::default();
        self.rows(&mut streams)?;
        for index in 0..self.table.indexes.len() {
            if self.table.indexes[index].entries.is_some() {
                self.entries(index, depth)?;
            }
        }
        if let Some(large) = &self.table.large {
            self.large_values(large, streams)?;
        }
        Ok(())
    }

    fn ask(&mut self) -> Step<E> {
        (self.go_on)().map_err(|error| Stop::End(CheckEnd::Asked(error)))
    }

    fn tell(&mut self, problem: String) -> Step<E> {
        self.problems.push(problem);
        if self.problems.len() < PROBLEMS_MAX { Ok(()) } else { Err(Stop::Told) }
    }

    /// Damage met while reading is reported; anything else ends the check.
    fn met<T>(&mut self, result: Result<T, StoreError>) -> Step<E, T> {
        match result {
            Ok(value) => Ok(value),
            Err(error @ (StoreError::Corrupt { .. } | StoreError::Read { .. })) => {
                self.problems.push(error.to_string());
                Err(Stop::Told)
            }
            Err(error) => Err(Stop::End(CheckEnd::Store(error))),
        }
    }

    /// All records of a tree, a leaf at a time and copied out of it.
    fn each(
        &mut self,
        tree: &Tree,
        from: &[u8],
        mut record: impl FnMut(&mut Self, &[u8], &[u8]) -> Step<E>,
    ) -> Step<E> {
        let range = KeyBytesRange { lower: from.to_vec(), upper: None };
        let mut scan = self.table.store.scan(tree, &scan_range(&range, false));
        let (mut bytes, mut ends) = (Vec::new(), Vec::new());
        loop {
            self.ask()?;
            bytes.clear();
            ends.clear();
            let more = scan.next_batch(self.view.reader(), |key, value| {
                bytes.extend_from_slice(key);
                let middle = bytes.len();
                bytes.extend_from_slice(value);
                ends.push((middle, bytes.len()));
                std::ops::ControlFlow::Continue(())
            });
            let more = self.met(more)?;
            let mut start = 0;
            for &(middle, end) in &ends {
                record(self, &bytes[start..middle], &bytes[middle..end])?;
                start = end;
            }
            if !more {
                return Ok(());
            }
        }
    }

    fn rows(&mut self, streams: &mut Streams) -> Step<E> {
        let table = self.table;
        self.rows = 0;
        let mut entry = EntryBytes::default();
        self.each(&table.rows, &[], |check, locator, stored| {
            check.rows += 1;
            let Some(body) = check.row(locator, stored, streams)? else { return Ok(()) };
            let view = RowView::new(table.layout(version_of(&body)), locator, locator, &body);
            let memory = check.materialize(&view)?;
            for index in 0..table.indexes.len() {
                if table.indexes[index].entries.is_none() {
                    continue;
                }
                entry.write(
                    &table.indexes[index],
                    |ordinal| memory.cell(table, &view, ordinal, &Utc),
                    locator,
                    &Utc,
                );
                let tree = &table.indexes[index].tree;
                let entries = table.indexes[index].entries.as_ref();
                let found = table.store.get(tree, &entry.key, check.view.reader(), |value| {
                    entries.is_some_and(|codec| codec.is_same(&entry.key, value, entry.value()))
                });
                let wrong = match check.met(found)? {
                    Some(true) => continue,
                    Some(false) => "another entry than its row's",
                    None => "no entry",
                };
                check.mismatches[index] += 1;
                let name = &table.definition.indexes[index].name;
                check.tell(format!("index {name} has {wrong} for the row with the key {}", hex(locator)))?;
            }
            Ok(())
        })
    }

    /// A row's body, whole, if it can be decoded; notes its streams.
    fn row(&mut self, locator: &[u8], stored: &[u8], streams: &mut Streams) -> Step<E, Option<Vec<u8>>> {
        let table = self.table;
        let key = || hex(locator);
        let version = version_of(stored);
        if version > table.definition.row_version.min(VERSIONS_MAX) {
            self.tell(format!("the row with the key {} has the unknown layout {version}", key()))?;
            return Ok(None);
        }
        let body = match spilled_reference(stored) {
            None => stored.to_vec(),
            Some(reference) => {
                streams.note(reference.stream, reference.offset + reference.length);
                let mut whole = Vec::new();
                match table.fetch(ReadFrom::View(self.view.reader()), reference, &mut whole) {
                    Ok(()) => whole,
                    Err(error @ StoreError::Corrupt { .. }) => {
                        self.tell(format!("the row with the key {}: {error}", key()))?;
                        return Ok(None);
                    }
                    Err(error) => return Err(Stop::End(CheckEnd::Store(error))),
                }
            }
        };
        let layout = table.layout(version);
        if let Err(why) = layout.check(&body) {
            self.tell(format!("the row with the key {} cannot be read: {why}", key()))?;
            return Ok(None);
        }
        let view = RowView::new(layout, locator, locator, &body);
        if view.has_external() {
            for number in 0..layout.variable_columns().len() {
                if let BytesRef::External { reference, .. } = view.variable(number) {
                    streams.note(reference.stream, reference.offset.saturating_add(reference.length));
                }
            }
        }
        Ok(Some(body))
    }

    fn materialize(&mut self, view: &RowView<'_>) -> Step<E, Materialized> {
        let table = self.table;
        let indexed = |ordinal: usize| {
            let indexes = &table.definition.indexes;
            indexes.iter().any(|index| index.parts.iter().any(|part| part.column == ordinal))
        };
        let read = Materialized::read(table, view, ReadFrom::View(self.view.reader()), indexed);
        self.met(read)
    }

    /// Entries without a row: looked for one by one only if there are more entries than rows that have one.
    fn entries(&mut self, index: usize, depth: CheckDepth) -> Step<E> {
        let table = self.table;
        let tree = &table.indexes[index].tree;
        let name = &table.definition.indexes[index].name;
        let mut count = 0_u64;
        self.each(tree, &[], |_, _, _| {
            count += 1;
            Ok(())
        })?;
        if count != self.rows {
            self.tell(format!("index {name} contains {count} entries, should be {}", self.rows))?;
        } else if self.mismatches[index] == 0 && depth != CheckDepth::Entries {
            return Ok(());
        }
        let Some(entries) = &table.indexes[index].entries else { return Ok(()) };
        let mut right = EntryBytes::default();
        self.each(tree, &[], |check, key, value| {
            let locator = entries.split(key, value).0.to_vec();
            let stored = table.store.get(&table.rows, &locator, check.view.reader(), <[u8]>::to_vec);
            let wrong = match check.met(stored)? {
                None => "no row",
                Some(stored) => {
                    let Some(body) = check.row(&locator, &stored, &mut Streams::none())? else {
                        return Ok(());
                    };
                    let view = RowView::new(table.layout(version_of(&body)), &locator, &locator, &body);
                    let memory = check.materialize(&view)?;
                    let cell = |ordinal: usize| memory.cell(table, &view, ordinal, &Utc);
                    right.write(&table.indexes[index], cell, &locator, &Utc);
                    if right.key == key {
                        return Ok(()); // Its value was compared from the row's side.
                    }
                    "a row with other columns"
                }
            };
            check.tell(format!("index {name}: the entry {} leads to {wrong}", hex(key)))
        })
    }

    /// Each stream has its row and each row's streams are whole.
    fn large_values(&mut self, large: &Tree, mut streams: Streams) -> Step<E> {
        let mut from = 0_u64;
        loop {
            let (expected, last) = streams.take();
            self.streams_from(large, from, last, &expected)?;
            let Some(last) = last else { return Ok(()) };
            from = last + 1;
            streams = Streams { from, ..Streams::default() };
            // The rows themselves were checked; this round is for their streams only.
            let table = self.table;
            self.each(&table.rows, &[], |check, locator, stored| {
                check.row(locator, stored, &mut streams).map(drop)
            })?;
        }
    }

    /// Compares the streams from `from` to `last` with what the rows say of them.
    fn streams_from(
        &mut self,
        large: &Tree,
        from: u64,
        last: Option<u64>,
        expected: &[(u64, u64)],
    ) -> Step<E> {
        let mut next = expected.iter().copied().peekable();
        // The stream at hand: its number, chunks and bytes so far, and how many bytes its row wants.
        let mut at: Option<(u64, u32, u64, u64)> = None;
        let mut behind = false;
        self.each(large, &from.to_be_bytes(), |check, key, value| {
            let Some((stream, chunk)) = split_chunk_key(key) else {
                return check.tell(format!("large values: a key of {} bytes", key.len()));
            };
            if behind || last.is_some_and(|last| stream > last) {
                behind = true;
                return Ok(());
            }
            if at.is_none_or(|at| at.0 != stream) {
                check.ended(at)?;
                while let Some((missing, bytes)) = next.next_if(|&(wanted, _)| wanted < stream) {
                    check.ended(Some((missing, 0, 0, bytes)))?;
                }
                match next.next_if(|&(wanted, _)| wanted == stream) {
                    Some((_, bytes)) => at = Some((stream, 0, 0, bytes)),
                    None => {
                        at = Some((stream, 0, 0, 0));
                        check.tell(format!("large values: stream {stream} belongs to no row"))?;
                    }
                }
            }
            let Some((_, chunks, bytes, wanted)) = &mut at else { return Ok(()) };
            let sound = *chunks == chunk && *bytes == u64::from(chunk) * CHUNK_BYTES as u64;
            *chunks += 1;
            *bytes += value.len() as u64;
            if sound || *wanted == 0 {
                return Ok(());
            }
            *wanted = 0; // Told once.
            check.tell(format!("large values: stream {stream} has a gap before its chunk {chunk}"))
        })?;
        self.ended(at)?;
        for (missing, bytes) in next {
            self.ended(Some((missing, 0, 0, bytes)))?;
        }
        Ok(())
    }

    fn ended(&mut self, at: Option<(u64, u32, u64, u64)>) -> Step<E> {
        match at {
            Some((stream, _, bytes, wanted)) if bytes < wanted => {
                self.tell(format!("large values: stream {stream} has {bytes} bytes, its row wants {wanted}"))
            }
            _ => Ok(()),
        }
    }
}

fn split_chunk_key(key: &[u8]) -> Option<(u64, u32)> {
    let (stream, chunk) = key.split_first_chunk::<8>()?;
    Some((u64::from_be_bytes(*stream), u32::from_be_bytes(chunk.try_into().ok()?)))
}

/// The streams that rows name and how long they are at least: the lowest numbers from `from` on.
#[derive(Default)]
struct Streams {
    from: u64,
    /// The largest on top.
    lowest: BinaryHeap<(u64, u64)>,
    /// Some did not fit.
    more: bool,
    off: bool,
}

impl Streams {
    fn none() -> Streams {
        Streams { off: true, ..Streams::default() }
    }

    fn note(&mut self, stream: u64, bytes: u64) {
        if self.off || stream < self.from {
            return;
        }
        self.lowest.push((stream, bytes));
        if self.lowest.len() > STREAMS_KEPT {
            self.lowest.pop();
            self.more = true;
        }
    }

    /// In order, each once with its largest length; and the last one if there are more behind it.
    fn take(&mut self) -> (Vec<(u64, u64)>, Option<u64>) {
        let mut streams = std::mem::take(&mut self.lowest).into_sorted_vec();
        // Of equal numbers the longest is last.
        streams.reverse();
        streams.dedup_by_key(|stream| stream.0);
        streams.reverse();
        if !self.more {
            return (streams, None);
        }
        // Of the last number another part may have been left out.
        let left_out = streams.pop();
        let last = streams.last().map(|stream| stream.0);
        (streams, last.or(left_out.map(|stream| stream.0)))
    }
}

/// Compares the trees that the definitions name with those that the store has: one line for each that is named twice or not
/// at all. Trees of temporary tables belong to nobody after a crash.
#[must_use]
pub fn check_dictionary(store: &Store, catalog: &Catalog) -> Vec<String> {
    let mut owners: HashMap<TreeId, String> = HashMap::new();
    let mut problems = Vec::new();
    for table in tables(catalog) {
        for (tree, what) in definition_trees(table) {
            let owner = format!("{}.{} ({what})", table.schema, table.name);
            if let Some(other) = owners.insert(tree, owner.clone()) {
                problems.push(format!("tree {tree} belongs to {other} and to {owner}"));
            }
        }
    }
    for tree in store.tree_ids() {
        if tree >= TreeId::FIRST_FREE && !owners.contains_key(&tree) {
            problems.push(format!("tree {tree} belongs to no table"));
        }
    }
    problems
}

/// What each tree of the definitions is: `schema.table` and its part.
#[must_use]
pub fn tree_owners(catalog: &Catalog) -> HashMap<TreeId, String> {
    let named = |table: &TableDefinition| {
        let full = format!("{}.{}", table.schema, table.name);
        definition_trees(table).into_iter().map(move |(tree, what)| (tree, format!("{full}, {what}")))
    };
    tables(catalog).flat_map(named).collect()
}

fn tables(catalog: &Catalog) -> impl Iterator<Item = &TableDefinition> {
    catalog.base_tables().filter(|entry| Table::of(&entry.source).is_some()).map(|entry| &*entry.definition)
}

fn definition_trees(table: &TableDefinition) -> Vec<(TreeId, String)> {
    let mut trees = vec![(tree_id(table.rows_tree), "rows".to_owned())];
    for (number, index) in table.indexes.iter().enumerate() {
        if table.clustered != Some(number) {
            trees.push((tree_id(index.tree), format!("index {}", index.name)));
        }
    }
    if table.large_values_tree.0 != 0 {
        trees.push((tree_id(table.large_values_tree), "large values".to_owned()));
    }
    trees
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut text = String::from("0x");
    for byte in bytes.iter().take(32) {
        let _infallible = write!(text, "{byte:02X}");
    }
    if bytes.len() > 32 {
        text.push_str("...");
    }
    text
}
