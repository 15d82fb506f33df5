//! Tables under crashes: transfers between accounts whose sum must hold, an index over changing names, a unique one with
//! NULLs, large values, tables and indexes that come and go, snapshots that stay.
//!
//! After each crash: the files are sound, before recovery (`store::check_files`); the dictionary and the store know the same
//! trees; each table agrees with its indexes and large values (`Table::check`); the rows are those after some prefix of the
//! commits, with all that were acknowledged; the sum holds. Snapshots are compared with the rows they were taken over.

use crate::model::{Changes, History, Rows, State};
use catalog::{Catalog, IndexKind, Schema, SchemaId, TableDefinition, TreeNumber};
use env::random::Rng;
use env::simulated::{Faults, SimWorld};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use store::wal::LogOptions;
use store::{LockMode, LockWait, Locked, Options, ReadView, Savepoint, Store, Transaction, TreeId};
use table::dictionary::Dictionary;
use table::{
    CheckDepth, Error, KeyBytesRange, ScanRequest, Table, Updated, Utc, WriteContext, WriteError,
    check_dictionary,
};
use types::vector::Batch;
use types::{Cell, CollationId, DataType, TypeKind};

const CONTEXT: WriteContext<'static> = WriteContext { zone: &Utc, wait: LockWait::Nowait, reader: None };
const ACCOUNTS: i64 = 24;
const FIRST_BALANCE: i64 = 1_000;
const OPEN_MAX: usize = 3;
const TABLES_MAX: usize = 3;
/// The table with the sum; others come and go.
const BANK: u64 = 1;

/// What a run went through.
#[derive(Clone, Copy, Debug, Default)]
pub struct Statistics {
    /// Runs.
    pub runs: u64,
    /// Crashes with a recovery and a comparison.
    pub crashes: u64,
    /// Commits that changed something.
    pub commits: u64,
    /// Tables and indexes made and dropped.
    pub definitions: u64,
    /// Snapshots compared.
    pub snapshots: u64,
}

impl Statistics {
    /// Adds the counts of another run.
    pub fn add(&mut self, other: &Statistics) {
        self.runs += other.runs;
        self.crashes += other.crashes;
        self.commits += other.commits;
        self.definitions += other.definitions;
        self.snapshots += other.snapshots;
    }
}

enum Halt {
    /// The simulated disk failed: a crash follows.
    Stopped,
    Wrong(String),
}

type Step<T = ()> = Result<T, Halt>;

/// A row as the model keeps it.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Row {
    id: i64,
    name: Vec<u8>,
    code: Option<i64>,
    balance: i64,
    data: Vec<u8>,
}

impl Row {
    fn encode(&self) -> Vec<u8> {
        let mut bytes = self.balance.to_le_bytes().to_vec();
        bytes.extend(self.code.unwrap_or(i64::MIN).to_le_bytes());
        bytes.extend((self.name.len() as u32).to_le_bytes());
        bytes.extend(&self.name);
        bytes.extend(&self.data);
        bytes
    }

    fn decode(key: &[u8], bytes: &[u8]) -> Row {
        let i64_at = |at: usize| i64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
        let name_end = 20 + u32::from_le_bytes(bytes[16..20].try_into().expect("4 bytes")) as usize;
        Row {
            id: i64::from_be_bytes(key.try_into().expect("8 bytes")),
            name: bytes[20..name_end].to_vec(),
            code: Some(i64_at(8)).filter(|&code| code != i64::MIN),
            balance: i64_at(0),
            data: bytes[name_end..].to_vec(),
        }
    }

    fn cells(&self) -> [Cell<'_>; 5] {
        let code = self.code.map_or(Cell::Null, Cell::Int);
        [Cell::Int(self.id), Cell::Bytes(&self.name), code, Cell::Int(self.balance), Cell::Bytes(&self.data)]
    }
}

fn row_key(id: i64) -> Vec<u8> {
    id.to_be_bytes().to_vec()
}

struct Open {
    txn: Transaction,
    changes: Changes,
    view: Option<(ReadView, Rc<State>)>,
    /// Tables it worked on: nobody changes their definitions meanwhile.
    tables: BTreeSet<u64>,
}

struct Life<'a> {
    world: &'a SimWorld,
    store: Store,
    dictionary: Dictionary,
    tables: BTreeMap<u64, Arc<Table>>,
    rng: Rng,
    history: &'a mut History,
    statistics: &'a mut Statistics,
}

/// Makes the run of a seed.
///
/// # Errors
/// What went wrong, with the seed.
pub fn run(seed: u64) -> Result<Statistics, String> {
    let mut statistics = Statistics { runs: 1, ..Statistics::default() };
    let mut rng = Rng::new(seed.wrapping_mul(0x9e37_79b9).wrapping_add(4_711));
    let mut world = SimWorld::new(seed);
    let mut history = History::new();
    let options = Options {
        buffer_pool_bytes: [48, 80, 300][rng.index(3)] * 16 * 1024,
        log: LogOptions {
            segment_bytes: [64 << 10, 256 << 10][rng.index(2)],
            buffer_bytes_max: 1 << 20,
            ..LogOptions::default()
        },
        background_threads: false,
        txn_log_memory_bytes: [0, 1 << 10, 4 << 20][(seed % 3) as usize],
        checkpoint_piece_bytes: 64 << 10,
        ..Options::default()
    };
    for round in 0..3 {
        if round > 0 || rng.chance(100) {
            let span = [40, 150, 600][rng.index(3)];
            let soon = world.disk().counts().changes + 1 + rng.below(span);
            let mut faults = Faults { crash_at_change: Some(soon), ..Faults::default() };
            match rng.below(12) {
                0 => faults.fail_sync_at_change = Some(soon / 2),
                1 => faults.fail_write_at_change = Some(soon / 2),
                2 if round > 0 => faults.space_bytes_max = Some(3 << 20),
                3 => faults.fail_reads_per_million = 2_000,
                _ => {}
            }
            world.disk().plan(faults);
        }
        let told = |what: String| format!("bank seed {seed} round {round}: {what}");
        match live(&world, &options, rng.fork(), &mut history, &mut statistics, 60) {
            Ok(()) | Err(Halt::Stopped) => {}
            Err(Halt::Wrong(what)) => return Err(told(what)),
        }
        statistics.crashes += 1;
        world = world.crash();
    }
    match live(&world, &options, rng, &mut history, &mut statistics, 0) {
        Ok(()) => Ok(statistics),
        Err(Halt::Stopped) => Err(format!("bank seed {seed} at the end: stopped on a healthy disk")),
        Err(Halt::Wrong(what)) => Err(format!("bank seed {seed} at the end: {what}")),
    }
}

fn excused(world: &SimWorld) -> bool {
    world.disk().is_crashed() || world.disk().has_failed()
}

fn live(
    world: &SimWorld,
    options: &Options,
    rng: Rng,
    history: &mut History,
    statistics: &mut Statistics,
    steps: u32,
) -> Step {
    let path = Path::new("/data");
    let failed = |what: String| if excused(world) { Halt::Stopped } else { Halt::Wrong(what) };
    let names = world.env().disk.folder(path, true).and_then(|folder| folder.list());
    if names.map_err(|error| failed(error.to_string()))?.iter().any(|name| name == "data") {
        let report = store::check_files(world.env(), path)
            .map_err(|error| failed(format!("is not checked: {error}")))?;
        if let Some(damage) = report.damages.first() {
            return Err(failed(format!("the files are damaged before recovery: {damage:?}")));
        }
        if report.lost_pages > 0 && !excused(world) {
            return Err(Halt::Wrong(format!("{} pages are lost", report.lost_pages)));
        }
    }
    let store = Store::open(world.env(), path, options.clone())
        .map_err(|error| failed(format!("does not open: {error}")))?;
    while store.purge_tick().map_err(|error| failed(error.to_string()))? {}
    let (dictionary, catalog) =
        Dictionary::open(&store).map_err(|error| failed(format!("the dictionary does not open: {error}")))?;
    let mut life = Life { world, store, dictionary, tables: BTreeMap::new(), rng, history, statistics };
    life.compare(&catalog)?;
    if !life.history.newest().trees.contains_key(&BANK) {
        life.make_table(BANK)?;
    }
    let mut open: Vec<Open> = Vec::new();
    let mut views: Vec<(ReadView, Rc<State>)> = Vec::new();
    for _ in 0..steps {
        life.step(&mut open, &mut views)?;
    }
    Ok(())
}

fn definition(id: u64) -> TableDefinition {
    let text = CollationId::UTF8MB4_0900_AI_CI;
    let columns = vec![
        fixture::column("id", DataType::BIGINT, false),
        fixture::column("name", DataType::varchar(60, text), false),
        fixture::column("code", DataType::BIGINT, true),
        fixture::column("balance", DataType::BIGINT, false),
        fixture::column("data", DataType::text(TypeKind::LongText, CollationId::BINARY), false),
    ];
    let indexes = vec![
        fixture::index("PRIMARY", IndexKind::Primary, &[0]),
        fixture::index("code", IndexKind::Unique, &[2]),
        fixture::index("name", IndexKind::Plain, &[1]),
    ];
    TableDefinition {
        id: catalog::TableId(id),
        name: format!("t{id}").as_str().into(),
        schema: "sim".into(),
        ..fixture::definition(columns, indexes)
    }
}

impl Life<'_> {
    fn failed<T>(&self, what: impl std::fmt::Display) -> Step<T> {
        if excused(self.world) { Err(Halt::Stopped) } else { Err(Halt::Wrong(what.to_string())) }
    }

    fn excuse<T, E: std::fmt::Display>(&self, result: Result<T, E>) -> Step<T> {
        result.or_else(|error| self.failed(error))
    }

    fn compare(&mut self, catalog: &Catalog) -> Step {
        let problems = check_dictionary(&self.store, catalog);
        if !problems.is_empty() {
            return self.failed(problems.join("; "));
        }
        let mut found = State::default();
        for entry in catalog.base_tables() {
            let Some(table) = Table::of(&entry.source) else { continue };
            let problems = match table.check(CheckDepth::Entries, || Ok::<(), ()>(())) {
                Ok(problems) => problems,
                Err(end) => return self.failed(format!("{end:?}")),
            };
            if !problems.is_empty() {
                return self.failed(format!("table {}: {}", entry.definition.name, problems.join("; ")));
            }
            let view = self.store.read_view();
            found.trees.insert(entry.definition.id.0, Rc::new(self.rows(&table, &view)?));
            self.tables.insert(entry.definition.id.0, table);
        }
        if !excused(self.world) {
            let _position = self.history.survived(&found).map_err(Halt::Wrong)?;
        } else if self.history.survived(&found).is_err() {
            return Err(Halt::Stopped);
        }
        self.check_sum(&found)
    }

    fn check_sum(&self, state: &State) -> Step {
        let Some(rows) = state.trees.get(&BANK) else { return Ok(()) };
        let sum: i64 = rows.iter().map(|(key, value)| Row::decode(key, value).balance).sum();
        if sum != ACCOUNTS * FIRST_BALANCE {
            return Err(Halt::Wrong(format!("the sum of the accounts is {sum}")));
        }
        Ok(())
    }

    fn rows(&self, table: &Arc<Table>, view: &ReadView) -> Step<Rows> {
        self.rows_by(table, view, None)
    }

    fn rows_by(&self, table: &Arc<Table>, view: &ReadView, index: Option<usize>) -> Step<Rows> {
        let columns = vec![0, 1, 2, 3, 4];
        let shapes = columns.iter().map(|&column| table.definition().columns[column].data_type.physical());
        let mut batch = Batch::new(shapes);
        let ranges = vec![KeyBytesRange::ALL];
        let mut scan = table.scan(ScanRequest { index, ranges, reverse: false, columns, parts: Vec::new() });
        let mut rows = Rows::new();
        loop {
            let more = self.excuse(scan.next_batch(view.reader(), &Utc, &mut batch, None))?;
            if !more {
                return Ok(rows);
            }
            for at in 0..batch.row_count {
                let int = |column: usize| match batch.columns[column].cell(at) {
                    Cell::Int(value) => Some(value),
                    _ => None,
                };
                let row = Row {
                    id: int(0).unwrap_or(i64::MIN),
                    name: batch.columns[1].bytes().get(at).to_vec(),
                    code: int(2),
                    balance: int(3).unwrap_or(i64::MIN),
                    data: batch.columns[4].bytes().get(at).to_vec(),
                };
                if rows.insert(row_key(row.id), row.encode()).is_some() {
                    return self.failed(format!("row {} comes twice from index {index:?}", row.id));
                }
            }
        }
    }

    /// A table with its rows, in one commit.
    fn make_table(&mut self, id: u64) -> Step {
        let mut table = definition(id);
        let mut txn = self.store.begin();
        let mut changes = Changes { created: vec![id], ..Changes::default() };
        let schema = Schema::new(SchemaId(1), "sim", CollationId::UTF8MB4_0900_AI_CI, false);
        let put = self.dictionary.put_schema(&mut txn, &schema);
        self.excuse(put)?;
        let mut tree = || txn.create_tree().map(|tree| TreeNumber(tree.0));
        let made = (|| {
            table.rows_tree = tree()?;
            table.large_values_tree = tree()?;
            for ordinal in 0..table.indexes.len() {
                let clustered = table.clustered == Some(ordinal);
                table.indexes[ordinal].tree = if clustered { table.rows_tree } else { tree()? };
            }
            Ok::<(), store::WriteError>(())
        })();
        self.excuse(made)?;
        let put = self.dictionary.put_table(&mut txn, &table);
        self.excuse(put)?;
        let opened = Table::open(&self.store, Arc::new(table));
        let table = self.excuse(opened)?;
        for number in 0..ACCOUNTS {
            let row = self.row(number, FIRST_BALANCE);
            let row = Row { code: None, ..row };
            let inserted = table.insert(&mut txn, &row.cells(), CONTEXT);
            self.excuse(inserted)?;
            changes.rows.insert((id, row_key(number)), Some(row.encode()));
        }
        self.tables.insert(id, table);
        self.statistics.definitions += 1;
        self.finish(txn, &changes)
    }

    fn row(&mut self, id: i64, balance: i64) -> Row {
        let data_bytes = match self.rng.below(12) {
            0 => 10_000 + self.rng.index(70_000),
            1..=3 => self.rng.index(9_000),
            _ => self.rng.index(60),
        };
        Row {
            id,
            name: format!("name {:03}", self.rng.below(200)).into_bytes(),
            code: self.rng.chance(600).then(|| self.rng.below(400) as i64),
            balance,
            data: vec![self.rng.below(256) as u8; data_bytes],
        }
    }

    fn finish(&mut self, txn: Transaction, changes: &Changes) -> Step {
        match txn.commit() {
            Ok(None) => Ok(()),
            Ok(Some(position)) => {
                self.history.commit(position.0, changes);
                self.statistics.commits += 1;
                if self.rng.chance(400) {
                    let synced = self.store.sync_to(position);
                    self.excuse(synced)?;
                    self.history.durable(self.store.durable_position().0);
                }
                Ok(())
            }
            Err(error) => {
                self.history.commit(u64::MAX, changes);
                self.failed(error)
            }
        }
    }

    fn step(&mut self, open: &mut Vec<Open>, views: &mut Vec<(ReadView, Rc<State>)>) -> Step {
        if open.is_empty() || (open.len() < OPEN_MAX && self.rng.chance(150)) {
            let txn = self.store.begin();
            open.push(Open { txn, changes: Changes::default(), view: None, tables: BTreeSet::new() });
            return Ok(());
        }
        let at = self.rng.index(open.len());
        match self.rng.below(100) {
            0..=29 => self.statement(&mut open[at], Life::transfer),
            30..=59 => self.statement(&mut open[at], Life::change),
            60..=64 => {
                let one = &mut open[at];
                let (view, state) =
                    one.view.take().unwrap_or_else(|| (self.store.read_view(), self.history.newest()));
                self.look(&view, &state)?;
                one.view = Some((view, state));
                Ok(())
            }
            65..=67 if views.len() < 2 => {
                views.push((self.store.read_view(), self.history.newest()));
                Ok(())
            }
            65..=72 if !views.is_empty() => {
                let which = self.rng.index(views.len());
                self.look(&views[which].0, &views[which].1)?;
                if self.rng.chance(250) {
                    views.swap_remove(which);
                }
                Ok(())
            }
            73..=84 => {
                let one = open.swap_remove(at);
                let view = one.view;
                let done = self.finish(one.txn, &one.changes);
                drop(view);
                done
            }
            85..=87 => {
                let rolled_back = open.swap_remove(at).txn.rollback();
                self.excuse(rolled_back)
            }
            88..=91 => self.define(open, views),
            92..=94 => {
                let done = self.store.checkpoint_now();
                self.excuse(done)
            }
            _ => {
                let done = self.store.purge_tick();
                self.excuse(done).map(drop)
            }
        }
    }

    /// A statement: undone whole if it meets a lock or a duplicate.
    fn statement(
        &mut self,
        one: &mut Open,
        statement: impl Fn(&mut Self, &mut Open, u64, &Arc<Table>) -> Step<bool>,
    ) -> Step {
        let ids: Vec<u64> = self.tables.keys().copied().collect();
        let id = if self.rng.chance(600) { BANK } else { ids[self.rng.index(ids.len())] };
        let Some(table) = self.tables.get(&id).cloned() else { return Ok(()) };
        one.tables.insert(id);
        let before = one.changes.clone();
        let savepoint: Savepoint = one.txn.savepoint();
        if statement(self, one, id, &table)? {
            return Ok(());
        }
        one.changes = before;
        let undone = one.txn.rollback_to(&savepoint);
        self.excuse(undone)
    }

    /// The newest version of a row, locked; none if it does not exist. `Err(None)`: somebody else has it.
    fn locked(&self, one: &mut Open, id: u64, table: &Arc<Table>, row: i64) -> Step<Option<Option<Row>>> {
        let mut key = Vec::new();
        table.key_codec(0).write_part(0, Cell::Int(row), &Utc, &mut key);
        let expected = one
            .changes
            .get(&self.history.newest(), id, &row_key(row))
            .map(|bytes| Row::decode(&row_key(row), bytes));
        let balance =
            table.lock_row(&mut one.txn, &key, LockMode::Exclusive, LockWait::Nowait, |row| row.int(3, &Utc));
        match balance {
            Ok(Locked::Row(balance)) if expected.as_ref().is_some_and(|row| row.balance == balance) => {
                Ok(Some(expected))
            }
            Ok(Locked::Absent) if expected.is_none() => Ok(Some(None)),
            Err(WriteError::Access(Error::Locked)) => Ok(None),
            Err(error) => self.failed(error),
            other => self.failed(format!("table {id} row {row} is {other:?}, expected {expected:?}")),
        }
    }

    /// False if a lock or a duplicate was met.
    fn put(&self, one: &mut Open, id: u64, table: &Arc<Table>, old: &Row, new: &Row) -> Step<bool> {
        let mut key = Vec::new();
        table.key_codec(0).write_part(0, Cell::Int(old.id), &Utc, &mut key);
        let changes: Vec<(usize, Cell<'_>)> = new.cells().into_iter().enumerate().skip(1).collect();
        match table.update(&mut one.txn, &key, &changes, CONTEXT) {
            Ok(Updated::Changed | Updated::Same) => {
                one.changes.rows.insert((id, row_key(old.id)), Some(new.encode()));
                Ok(true)
            }
            Ok(Updated::Absent) => self.failed("a locked row is gone"),
            Err(WriteError::Access(Error::Locked)) => Ok(false),
            Err(WriteError::Access(Error::DuplicateKey(duplicate))) if duplicate.key.ends_with("code") => {
                Ok(false)
            }
            Err(error) => self.failed(error),
        }
    }

    fn transfer(&mut self, one: &mut Open, id: u64, table: &Arc<Table>) -> Step<bool> {
        let (from, to) = (self.rng.below(ACCOUNTS as u64) as i64, self.rng.below(ACCOUNTS as u64) as i64);
        let amount = self.rng.below(100) as i64;
        if from == to {
            return Ok(true);
        }
        let Some(Some(mut giver)) = self.locked(one, id, table, from)? else { return Ok(false) };
        let Some(Some(mut taker)) = self.locked(one, id, table, to)? else { return Ok(false) };
        let (old_giver, old_taker) = (giver.clone(), taker.clone());
        giver.balance -= amount;
        taker.balance += amount;
        Ok(self.put(one, id, table, &old_giver, &giver)? && self.put(one, id, table, &old_taker, &taker)?)
    }

    /// Another name, code and data; or a row of no balance comes or goes.
    fn change(&mut self, one: &mut Open, id: u64, table: &Arc<Table>) -> Step<bool> {
        let number = self.rng.below(ACCOUNTS as u64 + 10) as i64;
        let Some(old) = self.locked(one, id, table, number)? else { return Ok(false) };
        let place = (id, row_key(number));
        match old {
            None => {
                let row = self.row(number, 0);
                match table.insert(&mut one.txn, &row.cells(), CONTEXT) {
                    Ok(()) => {
                        one.changes.rows.insert(place, Some(row.encode()));
                        Ok(true)
                    }
                    // The row itself may be another's, not yet committed.
                    Err(WriteError::Access(Error::Locked | Error::DuplicateKey(_))) => Ok(false),
                    Err(error) => self.failed(error),
                }
            }
            Some(old) if old.balance == 0 && self.rng.chance(300) => {
                let mut key = Vec::new();
                table.key_codec(0).write_part(0, Cell::Int(number), &Utc, &mut key);
                match table.delete(&mut one.txn, &key, CONTEXT) {
                    Ok(true) => {
                        one.changes.rows.insert(place, None);
                        Ok(true)
                    }
                    Ok(false) => self.failed("a locked row cannot be deleted"),
                    Err(WriteError::Access(Error::Locked)) => Ok(false),
                    Err(error) => self.failed(error),
                }
            }
            Some(old) => {
                let new = self.row(number, old.balance);
                self.put(one, id, table, &old, &new)
            }
        }
    }

    /// A snapshot shows each table as it was, by its rows and by an index; the sum holds.
    fn look(&mut self, view: &ReadView, state: &State) -> Step {
        self.statistics.snapshots += 1;
        self.check_sum(state)?;
        for (id, table) in self.tables.clone() {
            let Some(expected) = state.trees.get(&id) else { continue };
            if !table.is_visible_to(view) {
                continue;
            }
            let index = [None, Some(1), Some(2)][self.rng.index(3)];
            let found = self.rows_by(&table, view, index)?;
            if found != **expected {
                return self.failed(format!("a snapshot of table {id} by index {index:?} shows other rows"));
            }
        }
        Ok(())
    }

    /// A table is created or dropped, or the index over names is made again: no transaction works on the table
    /// meanwhile.
    fn define(&mut self, open: &[Open], views: &[(ReadView, Rc<State>)]) -> Step {
        let used: BTreeSet<u64> = open.iter().flat_map(|one| one.tables.iter().copied()).collect();
        let state = self.history.newest();
        let viewed = |id: u64| {
            let own = open.iter().filter_map(|one| one.view.as_ref());
            views.iter().chain(own).any(|(_, state)| state.trees.contains_key(&id))
        };
        let free: Vec<u64> = self
            .tables
            .keys()
            .copied()
            .filter(|id| !used.contains(id) && state.trees.contains_key(id))
            .collect();
        if self.tables.len() < TABLES_MAX && self.rng.chance(500) {
            let id = (BANK + 1..).find(|id| !self.tables.contains_key(id)).unwrap_or(BANK + 1);
            return self.make_table(id);
        }
        let Some(&id) = free.get(self.rng.index(free.len().max(1))) else { return Ok(()) };
        let table = Arc::clone(&self.tables[&id]);
        self.statistics.definitions += 1;
        let mut txn = self.store.begin();
        if id != BANK && !viewed(id) && self.rng.chance(400) {
            let deleted = self.dictionary.delete_table(&mut txn, table.definition().id);
            self.excuse(deleted)?;
            for (tree, _) in table.trees() {
                let dropped = txn.drop_tree(tree, LockWait::Nowait);
                self.excuse(dropped)?;
            }
            self.tables.remove(&id);
            return self.finish(txn, &Changes { dropped: vec![id], ..Changes::default() });
        }
        // DROP INDEX, ADD INDEX in one transaction; sometimes rolled back.
        let mut definition = (**table.definition()).clone();
        let made = txn.create_tree();
        let tree: TreeId = self.excuse(made)?;
        let old = TreeId(definition.indexes[2].tree.0);
        definition.indexes[2].tree = TreeNumber(tree.0);
        let put = self.dictionary.put_table(&mut txn, &definition);
        self.excuse(put)?;
        let opened = Table::open_from(&self.store, Arc::new(definition), &table);
        let fresh = self.excuse(opened)?;
        let view = self.store.read_view();
        let rows = self.rows(&table, &view)?;
        drop(view);
        for (key, value) in &rows {
            let row = Row::decode(key, value);
            let mut locator = Vec::new();
            table.key_codec(0).write_part(0, Cell::Int(row.id), &Utc, &mut locator);
            let inserted = fresh.insert_index_entry(&mut txn, 2, &row.cells(), &locator, CONTEXT);
            self.excuse(inserted)?;
        }
        let dropped = txn.drop_tree(old, LockWait::Nowait);
        self.excuse(dropped)?;
        if self.rng.chance(250) {
            let rolled_back = txn.rollback();
            return self.excuse(rolled_back);
        }
        self.finish(txn, &Changes::default())?;
        fresh.hide_from_older_views();
        self.tables.insert(id, fresh);
        Ok(())
    }
}
