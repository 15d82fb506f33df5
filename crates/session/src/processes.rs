//! The process list: who is connected and what each connection does now.
//!
//! A session writes its own entry when a statement starts and ends: two relaxed stores and, unless the text is the one
//! written last, a copy under the entry's own mutex, which nobody else takes except a reader of the list. There is no
//! global lock on the path of a statement.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, Ordering};
use std::sync::{Arc, Weak};

use hashbrown::HashMap;
use parking_lot::{Mutex, RwLock};
use plan::physical::PhysicalPlan;
use service::ConnectionControl;

use crate::session_counts::{CountSums, SessionCounts};
use crate::variables::isolation::Isolation;

/// The most bytes of a statement that the list keeps; SHOW FULL PROCESSLIST shows these, the short form 100.
pub(crate) const STATEMENT_BYTES_KEPT_MAX: usize = 4 << 10;

/// The most bytes of connection attributes that are kept of a connection (`performance_schema_session_connect_attrs_size`).
pub(crate) const ATTRIBUTE_BYTES_KEPT_MAX: usize = 512;

/// What a connection does, as the `Command` column shows it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(u8)]
pub enum Activity {
    /// Waits for its client.
    Sleep = 0,
    /// Runs a statement from text.
    Query = 1,
    /// Runs a prepared statement.
    Execute = 2,
    /// Prepares one.
    Prepare = 3,
    /// Runs an event.
    Connect = 4,
}

impl Activity {
    fn from_number(number: u8) -> Self {
        match number {
            1 => Self::Query,
            2 => Self::Execute,
            3 => Self::Prepare,
            4 => Self::Connect,
            _ => Self::Sleep,
        }
    }

    /// MySQL's word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sleep => "Sleep",
            Self::Query => "Query",
            Self::Execute => "Execute",
            Self::Prepare => "Prepare",
            Self::Connect => "Connect",
        }
    }
}

/// What the entry says about the connection as such.
#[derive(Clone, Debug, Default)]
pub struct Identity {
    /// User name as given at login.
    pub user: String,
    /// User and host of the account it was let in as.
    pub account: (String, String),
    /// `host:port`, or `localhost`.
    pub host: String,
    /// Default database.
    pub database: Option<String>,
    /// What the client told of itself (`_client_name`, `program_name`, ...), in its order.
    pub attributes: Attributes,
}

/// Names and values of a client's attributes.
pub type Attributes = Box<[(Box<str>, Box<str>)]>;

/// A client's attributes as they are kept. Those from the first on that does not fit into
/// [`ATTRIBUTE_BYTES_KEPT_MAX`] are left out; then `_truncated` says how many bytes are missing, as in MySQL.
#[must_use]
pub(crate) fn kept_attributes(sent: &[(Vec<u8>, Vec<u8>)]) -> Attributes {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned().into_boxed_str();
    let bytes_of = |(name, value): &(Vec<u8>, Vec<u8>)| name.len() + value.len();
    let mut bytes = 0;
    let fits = |attribute: &&(Vec<u8>, Vec<u8>)| {
        bytes += bytes_of(attribute);
        bytes <= ATTRIBUTE_BYTES_KEPT_MAX
    };
    let mut kept: Vec<_> =
        sent.iter().take_while(fits).map(|(name, value)| (text(name), text(value))).collect();
    if kept.len() < sent.len() {
        let missing: usize = sent[kept.len()..].iter().map(bytes_of).sum();
        kept.push(("_truncated".into(), missing.to_string().into()));
    }
    kept.into()
}

/// One connection.
#[derive(Debug)]
pub struct ProcessEntry {
    /// How to kill it.
    pub control: Arc<ConnectionControl>,
    activity: AtomicU8,
    since_micros: AtomicI64,
    /// Its transaction.
    pub transaction: TransactionNote,
    /// What FLUSH TABLES WITH READ LOCK waits for (`crate::read_lock`).
    pub changing: Changing,
    /// What the session counts.
    pub counts: SessionCounts,
    /// Changed by USE and COM_CHANGE_USER.
    pub identity: Mutex<Identity>,
    statement: Mutex<ShownStatement>,
}

/// The statement that a connection runs, or ran last.
#[derive(Debug, Default)]
struct ShownStatement {
    text: Vec<u8>,
    /// Its plan, from when it runs (EXPLAIN FOR CONNECTION).
    plan: Weak<PhysicalPlan>,
}

/// What lists of transactions tell of a connection's, beside what the store knows.
#[derive(Debug, Default)]
pub struct TransactionNote {
    began_micros: AtomicI64,
    isolation: AtomicU8,
    read_only: AtomicBool,
    foreign_key_checks: AtomicBool,
}

/// A [`TransactionNote`] as read.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct TransactionInfo {
    /// When an open transaction began to read or write, in microseconds since 1970; 0: none is open, or it has not yet.
    pub began_micros: i64,
    /// The level of the running statement's transaction.
    pub isolation: Isolation,
    /// It may not write.
    pub read_only: bool,
    /// `foreign_key_checks`.
    pub foreign_key_checks: bool,
}

impl TransactionNote {
    /// Notes what counts for the statement that begins.
    #[inline]
    pub fn write(&self, isolation: Isolation, read_only: bool, foreign_key_checks: bool) {
        self.isolation.store(isolation as u8, Ordering::Relaxed);
        self.read_only.store(read_only, Ordering::Relaxed);
        self.foreign_key_checks.store(foreign_key_checks, Ordering::Relaxed);
    }

    /// Says when an open transaction began, if it has not been said; 0: it has ended.
    #[inline]
    pub(crate) fn set_began(&self, wall_micros: i64) {
        if wall_micros == 0 || self.began_micros.load(Ordering::Relaxed) == 0 {
            self.began_micros.store(wall_micros, Ordering::Relaxed);
        }
    }

    /// What was noted.
    #[must_use]
    #[inline]
    pub fn read(&self) -> TransactionInfo {
        TransactionInfo {
            began_micros: self.began_micros.load(Ordering::Relaxed),
            isolation: Isolation::from_number(self.isolation.load(Ordering::Relaxed)),
            read_only: self.read_only.load(Ordering::Relaxed),
            foreign_key_checks: self.foreign_key_checks.load(Ordering::Relaxed),
        }
    }
}

/// Whether a connection changes something just now.
#[derive(Debug, Default)]
pub struct Changing {
    /// A statement that changes rows or definitions, or a commit.
    pub statement: AtomicBool,
    /// LOCK TABLES.
    pub locked_tables: AtomicBool,
}

impl ProcessEntry {
    /// Says that a statement starts now.
    #[inline]
    pub fn begin(&self, activity: Activity, wall_micros: i64, statement: &[u8]) {
        self.begin_again(activity, wall_micros);
        let mut kept = self.statement.lock();
        kept.plan = Weak::new();
        kept.text.clear();
        kept.text.extend_from_slice(&statement[..statement.len().min(STATEMENT_BYTES_KEPT_MAX)]);
    }

    /// Says by which plan the statement runs.
    pub(crate) fn show_plan(&self, plan: &Arc<PhysicalPlan>) {
        self.statement.lock().plan = Arc::downgrade(plan);
    }

    /// The statement it runs, as far as it is kept, and the plan by which, if that was shown.
    pub(crate) fn statement_and_plan(&self) -> (Vec<u8>, Option<Arc<PhysicalPlan>>) {
        let shown = self.statement.lock();
        (shown.text.clone(), shown.plan.upgrade())
    }

    /// The same for the statement whose text was written last.
    #[inline]
    pub(crate) fn begin_again(&self, activity: Activity, wall_micros: i64) {
        self.since_micros.store(wall_micros, Ordering::Relaxed);
        self.activity.store(activity as u8, Ordering::Relaxed);
    }

    /// Says that it ended.
    #[inline]
    pub fn end(&self, wall_micros: i64) {
        self.since_micros.store(wall_micros, Ordering::Relaxed);
        self.activity.store(Activity::Sleep as u8, Ordering::Relaxed);
    }

    /// What it does, and since when (microseconds since 1970).
    #[must_use]
    pub fn activity(&self) -> (Activity, i64) {
        let activity = Activity::from_number(self.activity.load(Ordering::Relaxed));
        (activity, self.since_micros.load(Ordering::Relaxed))
    }

    /// The statement it runs, as far as it is kept.
    #[must_use]
    pub fn statement(&self) -> Vec<u8> {
        self.statement.lock().text.clone()
    }
}

/// All connections that have a session.
#[derive(Debug, Default)]
pub struct ProcessList {
    entries: RwLock<HashMap<u64, Arc<ProcessEntry>>>,
    /// What sessions counted that have ended, or before FLUSH STATUS. Changed under the lock of the entries, so that a reader who
    /// holds that one sees each count once.
    earlier_counts: Mutex<CountSums>,
}

impl ProcessList {
    /// Adds a connection.
    pub fn add(
        &self,
        control: Arc<ConnectionControl>,
        identity: Identity,
        wall_micros: i64,
    ) -> Arc<ProcessEntry> {
        let entry = Arc::new(ProcessEntry {
            control,
            activity: AtomicU8::new(Activity::Sleep as u8),
            since_micros: AtomicI64::new(wall_micros),
            transaction: TransactionNote::default(),
            changing: Changing::default(),
            counts: SessionCounts::default(),
            identity: Mutex::new(identity),
            statement: Mutex::default(),
        });
        self.entries.write().insert(entry.control.connection_id, Arc::clone(&entry));
        entry
    }

    /// Takes a connection out.
    pub fn remove(&self, connection_id: u64) {
        let mut entries = self.entries.write();
        if let Some(entry) = entries.remove(&connection_id) {
            entry.counts.add_to(&mut self.earlier_counts.lock());
        }
    }

    /// A session begins to count from 0; what it has counted stays part of the sums.
    pub(crate) fn reset_counts(&self, entry: &ProcessEntry) {
        let _alone = self.entries.write();
        entry.counts.add_to(&mut self.earlier_counts.lock());
        entry.counts.reset();
    }

    /// Adds the bytes of a connection without a session to the sums.
    pub fn add_traffic(&self, received_bytes: u64, sent_bytes: u64) {
        let counts = SessionCounts::default();
        counts.bytes_received.add(received_bytes);
        counts.bytes_sent.add(sent_bytes);
        counts.add_to(&mut self.earlier_counts.lock());
    }

    /// What all sessions have counted.
    #[must_use]
    pub(crate) fn count_sums(&self) -> CountSums {
        let entries = self.entries.read();
        let mut sums = self.earlier_counts.lock().clone();
        entries.values().for_each(|entry| entry.counts.add_to(&mut sums));
        sums
    }

    /// One connection.
    #[must_use]
    pub fn get(&self, connection_id: u64) -> Option<Arc<ProcessEntry>> {
        self.entries.read().get(&connection_id).cloned()
    }

    /// Whether `is` says yes of any connection but this one.
    #[must_use]
    pub(crate) fn any_other(&self, connection_id: u64, is: impl Fn(&ProcessEntry) -> bool) -> bool {
        self.entries.read().values().any(|entry| entry.control.connection_id != connection_id && is(entry))
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.entries.read().len()
    }

    /// How many run a statement now.
    #[must_use]
    pub(crate) fn running_count(&self) -> usize {
        self.entries.read().values().filter(|entry| entry.activity().0 != Activity::Sleep).count()
    }

    /// All, by connection number.
    #[must_use]
    pub fn sorted(&self) -> Vec<Arc<ProcessEntry>> {
        let mut all: Vec<_> = self.entries.read().values().cloned().collect();
        all.sort_unstable_by_key(|entry| entry.control.connection_id);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_kept_up_to_a_limit() {
        let sent = |lengths: &[usize]| -> Vec<(Vec<u8>, Vec<u8>)> {
            lengths.iter().map(|length| (b"name".to_vec(), vec![b'v'; *length])).collect()
        };
        assert_eq!(kept_attributes(&sent(&[248, 256])).len(), 2);
        let kept = kept_attributes(&sent(&[248, 257, 1]));
        assert_eq!(kept.len(), 2);
        assert_eq!((&*kept[1].0, &*kept[1].1), ("_truncated", "266"));
    }
}
