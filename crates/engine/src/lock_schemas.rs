//! Who holds and who waits for which lock: `data_locks`, `data_lock_waits`, `INNODB_TRX`, `sys.innodb_lock_waits`, and what
//! SHOW ENGINE INNODB STATUS says of transactions.
//!
//! Everything is read from the store when it is asked for; a transaction keeps nothing for it but its connection's number.
//! Locks in the server's own trees (dictionary, counters) are left out. The tables show a MySQL's words: a record's lock is
//! `X,REC_NOT_GAP` or `S,REC_NOT_GAP`; an interval of keys, which MySQL has not, is `X,GAP` (it keeps inserts out) or `S` (it locks
//! the records there, too), and its LOCK_DATA tells the interval. THREAD_ID is the connection's number.
//! Readers need SELECT on those of `performance_schema` and PROCESS for the others. A list is bounded
//! (`store/src/lock_list.rs`).

use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use catalog::{Catalog, Privileges, VirtualContext, VirtualError, VirtualScan};
use hashbrown::{HashMap, HashSet};
use service::error::ER_SPECIFIC_ACCESS_DENIED_ERROR;
use store::{
    Deadlock, HeldLock, LockMode, LockTarget, LockWaiter, RunningTransaction, Store, StoreError, TreeId,
    TxnId,
};
use table::Table;
use types::temporal::calendar::UNIX_EPOCH_DAY;
use types::temporal::{DateTime, MICROS_PER_DAY};

use session::core::Core;
use session::processes::{Activity, ProcessEntry};
use session::session_context::SessionContext;
use session::system_schemas::Fill;
use session::system_schemas::rows::{Cell, Rows};

const ENGINE: &str = "INNODB";
/// Numbers shown for transactions that have only read begin here, as MySQL's do: the store gives them none.
const READERS_FIRST: u64 = 1 << 48;
/// `data_locks.LOCK_DATA` holds this many bytes.
const LOCK_DATA_BYTES_MAX: usize = 8192;
/// `INNODB_TRX.trx_query` holds this many characters.
const QUERY_CHARS_MAX: usize = 1024;

/// Where a tree belongs.
struct Place {
    table: Arc<Table>,
    index: Option<usize>,
}

impl Place {
    fn schema(&self) -> &str {
        &self.table.definition().schema
    }

    fn name(&self) -> &str {
        &self.table.definition().name
    }

    fn index_name(&self) -> &str {
        self.index.map_or("GEN_CLUST_INDEX", |index| &self.table.definition().indexes[index].name)
    }

    /// The key and, if it is the first one above another key, that it is not meant itself.
    fn describe(&self, key: &[u8]) -> (String, bool) {
        match key.strip_suffix(&[0]) {
            // A key with a byte more than it has parts: the next possible one.
            Some(before) if self.is_next(key) => (self.table.describe_key(self.index, before), true),
            _ => (self.table.describe_key(self.index, key), false),
        }
    }

    fn is_next(&self, key: &[u8]) -> bool {
        self.table.describe_key(self.index, key).ends_with(", 0x00")
    }

    fn target(&self, target: &LockTarget) -> String {
        match target {
            LockTarget::Tree => String::new(),
            LockTarget::Record(key) => self.describe(key).0,
            LockTarget::Keys { lower, upper, .. } => {
                let (from, above) = self.describe(lower);
                let mut text = format!("{}{from} ..", if above || lower.is_empty() { '(' } else { '[' });
                if let Some(upper) = upper {
                    let (to, included) = self.describe(upper);
                    let _ = write!(text, " {to}{}", if included { ']' } else { ')' });
                } else {
                    text.push(')');
                }
                text
            }
        }
    }
}

fn places(catalog: &Catalog) -> HashMap<TreeId, Place> {
    let tables = catalog.base_tables().filter_map(|entry| Table::of(&entry.source));
    tables
        .flat_map(|table| {
            let trees = table.index_trees();
            trees.into_iter().map(move |(tree, index)| (tree, Place { table: Arc::clone(&table), index }))
        })
        .collect()
}

/// The name by which `data_locks` and `data_lock_waits` know a lock.
fn lock_id(txn: TxnId, tree: TreeId, target: &LockTarget) -> String {
    let mut hasher = DefaultHasher::new();
    match target {
        LockTarget::Tree => return format!("{txn}:{tree}"),
        LockTarget::Record(key) => key.hash(&mut hasher),
        LockTarget::Keys { lower, upper, .. } => (lower, upper).hash(&mut hasher),
    }
    format!("{txn}:{tree}:{:016x}", hasher.finish())
}

fn wanted(waiter: &LockWaiter) -> LockTarget {
    LockTarget::Record(waiter.key.clone())
}

fn wanted_id(waiter: &LockWaiter) -> String {
    // Apart from the record's lock: it may be held while it waits for intervals.
    let suffix = if waiter.for_range { ":w" } else { "" };
    format!("{}{suffix}", lock_id(waiter.txn, waiter.tree, &wanted(waiter)))
}

fn mode_text(mode: LockMode, target: &LockTarget) -> &'static str {
    match (target, mode) {
        (LockTarget::Tree, LockMode::Exclusive) => "IX",
        (LockTarget::Tree, LockMode::Shared) => "IS",
        (LockTarget::Record(_), LockMode::Exclusive) => "X,REC_NOT_GAP",
        (LockTarget::Record(_), LockMode::Shared) => "S,REC_NOT_GAP",
        (LockTarget::Keys { covers_rows: true, .. }, _) => "S",
        (LockTarget::Keys { .. }, _) => "X,GAP",
    }
}

fn wanted_mode(waiter: &LockWaiter) -> &'static str {
    match waiter.mode {
        _ if waiter.inserts => "X,GAP,INSERT_INTENTION",
        mode => mode_text(mode, &wanted(waiter)),
    }
}

fn held_locks(store: &Store) -> Result<Vec<HeldLock>, StoreError> {
    let mut held = Vec::new();
    store.for_each_held_lock(&mut |lock| held.push(lock.clone()))?;
    Ok(held)
}

/// Makes the rows of one of the tables.
type Push = fn(&Store, &Core, &Catalog, &mut Rows<'_>) -> Result<(), StoreError>;

/// The tables, by their full names, and who makes their rows; whether a reader needs PROCESS.
const TABLES: &[(&str, bool, Push)] = &[
    ("information_schema.INNODB_TRX", true, push_innodb_trx),
    ("performance_schema.data_lock_waits", false, push_data_lock_waits),
    ("performance_schema.data_locks", false, push_data_locks),
    ("sys.innodb_lock_waits", true, push_innodb_lock_waits),
];

/// The tables as [`session::system_schemas::schemas`] takes them.
pub(crate) fn fills(store: &Store) -> Vec<(&'static str, Fill)> {
    let fill_of = |(name, needs_process, push): (&'static str, bool, Push)| {
        let store = store.clone();
        let fill: Fill =
            Arc::new(move |context: &VirtualContext<'_>, _: &VirtualScan<'_>, rows: &mut Rows<'_>| {
                let reader = SessionContext::of(context);
                let filled = if !needs_process || reader.has_global(Privileges::PROCESS) {
                    push(&store, &reader.core, context.catalog, rows).map_err(crate::store_error)
                } else {
                    Err(ER_SPECIFIC_ACCESS_DENIED_ERROR.with(&[&"PROCESS"]))
                };
                if let Err(error) = filled {
                    rows.fail(VirtualError { number: error.number, message: error.message });
                }
            });
        (name, fill)
    };
    TABLES.iter().copied().map(fill_of).collect()
}

fn owners(store: &Store) -> HashMap<TxnId, u64> {
    store.transaction_owners().into_iter().collect()
}

/// performance_schema.data_locks.
fn push_data_locks(
    store: &Store,
    _core: &Core,
    catalog: &Catalog,
    rows: &mut Rows<'_>,
) -> Result<(), StoreError> {
    let (places, owners) = (places(catalog), owners(store));
    let mut push = |txn: TxnId, place: &Place, target: &LockTarget, id: &str, mode: &str, waits: bool| {
        let mut data = place.target(target);
        data.truncate(LOCK_DATA_BYTES_MAX); // Digits, all of one byte.
        let is_record = *target != LockTarget::Tree;
        rows.push(&[
            Cell::Text(ENGINE),
            Cell::Text(id),
            Cell::UInt(txn.0),
            Cell::uint_or_null(owners.get(&txn).copied()),
            Cell::UInt(0),
            Cell::Text(place.schema()),
            Cell::Text(place.name()),
            Cell::Null,
            Cell::Null,
            if is_record { Cell::Text(place.index_name()) } else { Cell::Null },
            Cell::UInt(0),
            Cell::Text(if is_record { "RECORD" } else { "TABLE" }),
            Cell::Text(mode),
            Cell::Text(if waits { "WAITING" } else { "GRANTED" }),
            if is_record { Cell::Text(&data) } else { Cell::Null },
        ]);
    };
    let mut tables = HashSet::new();
    for lock in held_locks(store)? {
        let Some(place) = places.get(&lock.tree) else { continue };
        let is_tree = lock.target == LockTarget::Tree;
        if is_tree && !tables.insert((lock.txn, place.table.definition().id, lock.mode == LockMode::Shared)) {
            continue;
        }
        let id = lock_id(lock.txn, lock.tree, &lock.target);
        push(lock.txn, place, &lock.target, &id, mode_text(lock.mode, &lock.target), false);
    }
    for waiter in store.lock_waiters() {
        let Some(place) = places.get(&waiter.tree) else { continue };
        if tables.insert((waiter.txn, place.table.definition().id, waiter.mode == LockMode::Shared)) {
            let (target, mode) = (LockTarget::Tree, waiter.mode);
            let id = lock_id(waiter.txn, waiter.tree, &target);
            push(waiter.txn, place, &target, &id, mode_text(mode, &target), false);
        }
        push(waiter.txn, place, &wanted(&waiter), &wanted_id(&waiter), wanted_mode(&waiter), true);
    }
    Ok(())
}

/// One pair of a waiter and somebody in its way.
struct Pair<'a> {
    waiter: &'a LockWaiter,
    blocker: TxnId,
    /// The blocker's lock.
    lock_id: String,
    lock_mode: &'static str,
}

/// The locks held now, to be found by who waits for them.
struct HeldLockIndex<'a> {
    records: HashMap<(TxnId, TreeId, &'a [u8]), &'a HeldLock>,
    intervals: HashMap<(TxnId, TreeId), Vec<&'a HeldLock>>,
}

impl<'a> HeldLockIndex<'a> {
    fn new(held: &'a [HeldLock]) -> Self {
        let (mut records, mut intervals) = (HashMap::new(), HashMap::<_, Vec<_>>::new());
        for lock in held {
            match &lock.target {
                LockTarget::Tree => {}
                LockTarget::Record(key) => {
                    records.insert((lock.txn, lock.tree, key.as_slice()), lock);
                }
                LockTarget::Keys { .. } => intervals.entry((lock.txn, lock.tree)).or_default().push(lock),
            }
        }
        Self { records, intervals }
    }

    /// The lock of `blocker` that is in the waiter's way.
    fn find(&self, waiter: &LockWaiter, blocker: TxnId) -> Option<&'a HeldLock> {
        if !waiter.for_range {
            return self.records.get(&(blocker, waiter.tree, waiter.key.as_slice())).copied();
        }
        let is_it = |lock: &&&HeldLock| match &lock.target {
            LockTarget::Keys { lower, upper, covers_rows } => {
                (waiter.inserts || *covers_rows)
                    && *lower <= waiter.key
                    && upper.as_ref().is_none_or(|upper| waiter.key < *upper)
            }
            _ => false,
        };
        self.intervals.get(&(blocker, waiter.tree))?.iter().find(is_it).copied()
    }
}

/// Each waiter with each transaction in its way. `held` are the locks held now.
fn pairs<'a>(waiters: &'a [LockWaiter], held: &[HeldLock]) -> Vec<Pair<'a>> {
    let held = HeldLockIndex::new(held);
    let mut pairs = Vec::new();
    for waiter in waiters {
        for &blocker in &waiter.blockers {
            let (lock_id, lock_mode) = match held.find(waiter, blocker) {
                Some(lock) => {
                    (lock_id(lock.txn, lock.tree, &lock.target), mode_text(lock.mode, &lock.target))
                }
                // It waits for the same lock and came before, or has just gone.
                None => {
                    let target = wanted(waiter);
                    (lock_id(blocker, waiter.tree, &target), mode_text(LockMode::Exclusive, &target))
                }
            };
            pairs.push(Pair { waiter, blocker, lock_id, lock_mode });
        }
    }
    pairs
}

/// performance_schema.data_lock_waits.
fn push_data_lock_waits(
    store: &Store,
    _core: &Core,
    catalog: &Catalog,
    rows: &mut Rows<'_>,
) -> Result<(), StoreError> {
    let (places, owners, held) = (places(catalog), owners(store), held_locks(store)?);
    let waiters = store.lock_waiters();
    for pair in pairs(&waiters, &held).iter().filter(|pair| places.contains_key(&pair.waiter.tree)) {
        rows.push(&[
            Cell::Text(ENGINE),
            Cell::Text(&wanted_id(pair.waiter)),
            Cell::UInt(pair.waiter.txn.0),
            Cell::UInt(pair.waiter.owner),
            Cell::UInt(0),
            Cell::UInt(0),
            Cell::Text(&pair.lock_id),
            Cell::UInt(pair.blocker.0),
            Cell::uint_or_null(owners.get(&pair.blocker).copied()),
            Cell::UInt(0),
            Cell::UInt(0),
        ]);
    }
    Ok(())
}

/// A transaction as it is shown.
struct Shown {
    /// Its number.
    txn: u64,
    process: Option<Arc<ProcessEntry>>,
    owner: u64,
    began_micros: i64,
    isolation: &'static str,
    read_only: bool,
    foreign_key_checks: bool,
    query: Option<Vec<u8>>,
    waiter: Option<LockWaiter>,
    running: RunningTransaction,
    tables: usize,
}

impl Shown {
    fn weight(&self) -> u64 {
        self.running.changes + self.running.records_locked
    }
}

/// When something began that has a moment on the store's clock.
fn wall_micros(core: &Core, since: env::clock::Monotonic) -> i64 {
    let ago = core.env.clock.now().since(since);
    core.env.clock.wall_micros() - i64::try_from(ago.as_micros()).unwrap_or(0)
}

/// The transactions that are open or run a statement, by number: those that wrote or locked, then those that read.
fn transactions(store: &Store, core: &Core, catalog: &Catalog) -> Result<Vec<Shown>, StoreError> {
    let places = places(catalog);
    let waiters = store.lock_waiters();
    let mut tables: HashMap<TxnId, HashSet<catalog::TableId>> = HashMap::new();
    for lock in held_locks(store)? {
        if let Some(place) = places.get(&lock.tree) {
            tables.entry(lock.txn).or_default().insert(place.table.definition().id);
        }
    }
    let mut seen = HashSet::new();
    let mut shown = Vec::new();
    let mut show = |running: RunningTransaction, txn: u64, process: Option<Arc<ProcessEntry>>| {
        let note = process.as_ref().map(|process| process.transaction.read()).unwrap_or_default();
        let (activity, since) = process.as_ref().map_or((Activity::Sleep, 0), |process| process.activity());
        let runs = activity != Activity::Sleep;
        shown.push(Shown {
            txn,
            owner: running.owner,
            began_micros: if note.began_micros == 0 { since } else { note.began_micros },
            isolation: note.isolation.words(),
            read_only: note.read_only,
            foreign_key_checks: note.foreign_key_checks,
            query: process.as_ref().filter(|_| runs).map(|process| process.statement()),
            waiter: waiters.iter().find(|waiter| waiter.txn == running.txn && txn < READERS_FIRST).cloned(),
            tables: tables.get(&running.txn).map_or(0, HashSet::len),
            running,
            process,
        });
    };
    for running in store.running_transactions()? {
        // Those of the server's own have no connection.
        if running.owner == 0 {
            continue;
        }
        seen.insert(running.owner);
        show(running, running.txn.0, core.processes.get(running.owner));
    }
    for process in core.processes.sorted() {
        let owner = process.control.connection_id;
        if process.transaction.read().began_micros != 0 && !seen.contains(&owner) {
            let nothing = RunningTransaction {
                txn: TxnId(0),
                owner,
                records_locked: 0,
                changes: 0,
                noted_locks: 0,
                noted_bytes: 0,
            };
            show(nothing, READERS_FIRST + owner, Some(process));
        }
    }
    Ok(shown)
}

fn query_text(query: &[u8]) -> String {
    String::from_utf8_lossy(query).chars().take(QUERY_CHARS_MAX).collect()
}

/// information_schema.INNODB_TRX.
fn push_innodb_trx(
    store: &Store,
    core: &Core,
    catalog: &Catalog,
    rows: &mut Rows<'_>,
) -> Result<(), StoreError> {
    for shown in transactions(store, core, catalog)? {
        let requested = shown.waiter.as_ref().map(wanted_id);
        let waits_since = shown.waiter.as_ref().and_then(|waiter| waiter.since);
        let query = shown.query.as_deref().map(query_text);
        let operation = shown.waiter.as_ref().map(operation);
        rows.push(&[
            Cell::UInt(shown.txn),
            Cell::Text(if shown.waiter.is_some() { "LOCK WAIT" } else { "RUNNING" }),
            Cell::Micros(shown.began_micros),
            Cell::text_or_null(requested.as_deref()),
            waits_since.map_or(Cell::Null, |since| Cell::Micros(wall_micros(core, since))),
            Cell::UInt(shown.weight()),
            Cell::UInt(shown.owner),
            Cell::text_or_null(query.as_deref()),
            Cell::text_or_null(operation),
            Cell::UInt(if query.is_some() { shown.tables as u64 } else { 0 }),
            Cell::UInt(shown.tables as u64),
            Cell::UInt(shown.running.noted_locks),
            Cell::UInt(shown.running.noted_bytes),
            Cell::UInt(shown.running.records_locked),
            Cell::UInt(shown.running.changes),
            Cell::UInt(0),
            Cell::Text(shown.isolation),
            Cell::Int(1),
            Cell::Int(i64::from(shown.foreign_key_checks)),
            Cell::Null,
            Cell::Int(0),
            Cell::UInt(0),
            Cell::Int(i64::from(shown.read_only)),
            Cell::Int(0),
            Cell::Null,
        ]);
    }
    Ok(())
}

fn operation(waiter: &LockWaiter) -> &'static str {
    if waiter.inserts { "inserting" } else { "starting index read" }
}

/// sys.innodb_lock_waits: each waiter with each transaction in its way, the longest wait first.
fn push_innodb_lock_waits(
    store: &Store,
    core: &Core,
    catalog: &Catalog,
    rows: &mut Rows<'_>,
) -> Result<(), StoreError> {
    let (places, held) = (places(catalog), held_locks(store)?);
    let mut waiters = store.lock_waiters();
    waiters.sort_unstable_by_key(|waiter| waiter.since);
    let shown: HashMap<u64, Shown> =
        transactions(store, core, catalog)?.into_iter().map(|shown| (shown.txn, shown)).collect();
    let now = core.env.clock.wall_micros();
    for pair in pairs(&waiters, &held) {
        let (Some(place), Some(waiting), Some(blocking), Some(since)) = (
            places.get(&pair.waiter.tree),
            shown.get(&pair.waiter.txn.0),
            shown.get(&pair.blocker.0),
            pair.waiter.since,
        ) else {
            continue;
        };
        let began = wall_micros(core, since);
        let seconds = |micros: i64| (now - micros).max(0) / 1_000_000;
        let text = |query: &Option<Vec<u8>>| query.as_deref().map(query_text);
        let (waiting_query, blocking_query) = (text(&waiting.query), text(&blocking.query));
        rows.push(&[
            Cell::Micros(began),
            clock(seconds(began)),
            Cell::Int(seconds(began)),
            Cell::Text(&format!("`{}`.`{}`", place.schema(), place.name())),
            Cell::Text(place.schema()),
            Cell::Text(place.name()),
            Cell::Null,
            Cell::Null,
            Cell::Text(place.index_name()),
            Cell::Text("RECORD"),
            Cell::UInt(waiting.txn),
            Cell::Micros(waiting.began_micros),
            clock(seconds(waiting.began_micros)),
            Cell::UInt(waiting.running.records_locked),
            Cell::UInt(waiting.running.changes),
            Cell::UInt(waiting.owner),
            Cell::text_or_null(waiting_query.as_deref()),
            Cell::Text(&wanted_id(pair.waiter)),
            Cell::Text(wanted_mode(pair.waiter)),
            Cell::UInt(blocking.txn),
            Cell::UInt(blocking.owner),
            Cell::text_or_null(blocking_query.as_deref()),
            Cell::Text(&pair.lock_id),
            Cell::Text(pair.lock_mode),
            Cell::Micros(blocking.began_micros),
            clock(seconds(blocking.began_micros)),
            Cell::UInt(blocking.running.records_locked),
            Cell::UInt(blocking.running.changes),
            Cell::Text(&format!("KILL QUERY {}", blocking.owner)),
            Cell::Text(&format!("KILL {}", blocking.owner)),
        ]);
    }
    Ok(())
}

/// A TIME of this many seconds.
fn clock(seconds: i64) -> Cell<'static> {
    Cell::Int(seconds * 1_000_000)
}

/// What SHOW ENGINE INNODB STATUS says of the last deadlock (nothing if there was none) and of transactions.
///
/// # Errors
/// Undo or a page could not be read.
pub(crate) fn status_text(store: &Store, core: &Core, catalog: &Catalog) -> Result<String, StoreError> {
    let mut text = String::new();
    let places = places(catalog);
    if let Some(deadlock) = store.last_deadlock() {
        push_title("LATEST DETECTED DEADLOCK", &mut text);
        push_deadlock(core, &places, &deadlock, &mut text);
    }
    push_title("TRANSACTIONS", &mut text);
    for shown in transactions(store, core, catalog)? {
        let now = core.env.clock.wall_micros();
        let seconds = (now - shown.began_micros).max(0) / 1_000_000;
        let _ = writeln!(text, "---TRANSACTION {}, ACTIVE {seconds} sec", shown.txn);
        let _ = writeln!(
            text,
            "{}{} lock struct(s), heap size {}, {} row lock(s), undo log entries {}",
            if shown.waiter.is_some() { "LOCK WAIT " } else { "" },
            shown.running.noted_locks,
            shown.running.noted_bytes,
            shown.running.records_locked,
            shown.running.changes,
        );
        let (host, user) = shown.process.as_ref().map_or_else(Default::default, |process| {
            let identity = process.identity.lock();
            (identity.host.clone(), identity.user.clone())
        });
        let _ = writeln!(text, "MySQL thread id {}, query id 0 {host} {user}", shown.owner);
        if let Some(query) = &shown.query {
            let _ = writeln!(text, "{}", query_text(query));
        }
        if let Some(waiter) = &shown.waiter {
            let waited = waiter.since.map_or(0, |since| core.env.clock.now().since(since).as_secs());
            let _ = writeln!(text, "------- TRX HAS BEEN WAITING {waited} SEC FOR THIS LOCK TO BE GRANTED:");
            push_lock(&places, waiter, &mut text);
            let blockers: Vec<String> = waiter.blockers.iter().map(ToString::to_string).collect();
            let _ = writeln!(text, "held by or before it: {}", blockers.join(", "));
            text.push_str("------------------\n");
        }
    }
    Ok(text)
}

fn push_title(title: &str, text: &mut String) {
    let line = "-".repeat(title.len());
    let _ = writeln!(text, "{line}\n{title}\n{line}");
}

fn push_lock(places: &HashMap<TreeId, Place>, waiter: &LockWaiter, text: &mut String) {
    let mode = format!(" lock_mode {} waiting", wanted_mode(waiter));
    push_record(places, waiter, waiter.txn, &mode, text);
}

/// The record that somebody waits for, as a lock of `txn`.
fn push_record(
    places: &HashMap<TreeId, Place>,
    waiter: &LockWaiter,
    txn: TxnId,
    mode: &str,
    text: &mut String,
) {
    let _ = match places.get(&waiter.tree) {
        Some(place) => writeln!(
            text,
            "RECORD LOCKS index {} of table `{}`.`{}` trx id {txn}{mode}\nkey {}",
            place.index_name(),
            place.schema(),
            place.name(),
            place.target(&wanted(waiter)),
        ),
        None => writeln!(text, "RECORD LOCKS of tree {} trx id {txn}{mode}", waiter.tree),
    };
}

fn push_deadlock(core: &Core, places: &HashMap<TreeId, Place>, deadlock: &Deadlock, text: &mut String) {
    // The one that closed the cycle is shown last, as in MySQL.
    let mut members: Vec<_> = deadlock.cycle.iter().collect();
    members.rotate_left(1);
    if let Some(since) = deadlock.cycle.first().and_then(|member| member.waiter.since) {
        let micros = wall_micros(core, since);
        let moment = DateTime::from_linear_micros(micros + UNIX_EPOCH_DAY * MICROS_PER_DAY);
        let mut written = Vec::new();
        if let Some(moment) = moment {
            moment.write_datetime(0, &mut written);
        }
        let _ = writeln!(text, "{}", String::from_utf8_lossy(&written));
    }
    let mut victim = 0;
    let before = members.iter().cycle().skip(members.len() - 1);
    for ((number, member), before) in (1..).zip(&members).zip(before) {
        let waiter = &member.waiter;
        if waiter.txn == deadlock.victim {
            victim = number;
        }
        let _ = writeln!(text, "*** ({number}) TRANSACTION:\nTRANSACTION {}", waiter.txn);
        let _ = writeln!(text, "undo log entries {}", waiter.change_count);
        let _ = writeln!(text, "MySQL thread id {}", waiter.owner);
        let _ = writeln!(text, "{}", query_text(&member.description));
        // What the one before in the circle waits for: held, or waited for since earlier.
        let _ = writeln!(text, "*** ({number}) HOLDS THE LOCK(S):");
        push_record(places, &before.waiter, waiter.txn, "", text);
        let _ = writeln!(text, "*** ({number}) WAITING FOR THIS LOCK TO BE GRANTED:");
        push_lock(places, waiter, text);
    }
    let _ = writeln!(text, "*** WE ROLL BACK TRANSACTION ({victim})");
}
