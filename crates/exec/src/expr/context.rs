//! What expressions may ask of the statement and session that run them.

use std::fmt::Display;
use std::sync::Arc;

use access::{NewRowCells, RowCells, Snapshot, Transaction};
use catalog::{TableDefinition, TriggerDefinition};
use plan::StoredCall;
use service::error::{Code, Diagnostic, SqlError};
use types::convert::StoreOptions;
use types::json::Stopped;
use types::locale::LocaleId;
use types::temporal::parse::DateMode;
use types::temporal::zone::TimeZone;
use types::{CollationId, Column, Value, ValueRef};

use crate::error::internal;

/// An error for the client.
pub type SqlResult<T> = Result<T, Box<SqlError>>;

/// The bits of `sql_mode` that matter while values are computed, in MySQL's own numbering.
pub mod sql_mode {
    #![allow(missing_docs, reason = "the names are MySQL's")]
    pub const NO_UNSIGNED_SUBTRACTION: u64 = 1 << 6;
    pub const NO_BACKSLASH_ESCAPES: u64 = 1 << 20;
    pub const STRICT_TRANS_TABLES: u64 = 1 << 21;
    pub const STRICT_ALL_TABLES: u64 = 1 << 22;
    pub const NO_ZERO_IN_DATE: u64 = 1 << 23;
    pub const NO_ZERO_DATE: u64 = 1 << 24;
    pub const ALLOW_INVALID_DATES: u64 = 1 << 25;
    pub const ERROR_FOR_DIVISION_BY_ZERO: u64 = 1 << 26;
    pub const PAD_CHAR_TO_FULL_LENGTH: u64 = 1 << 31;
    pub const TIME_TRUNCATE_FRACTIONAL: u64 = 1 << 32;
    pub const STRICT: u64 = STRICT_TRANS_TABLES | STRICT_ALL_TABLES;
}

/// What is fixed while a statement runs.
#[derive(Clone, Debug)]
pub struct EvalSettings {
    /// `sql_mode`, MySQL's bits.
    pub sql_mode: u64,
    /// The session's time zone.
    pub time_zone: TimeZone,
    /// The statement's moment: microseconds since 1970-01-01 UTC (`SET timestamp` included).
    pub now_utc_micros: i64,
    /// `collation_connection`.
    pub connection_collation: CollationId,
    /// `max_allowed_packet`: the longest string a function makes, in bytes.
    pub max_allowed_packet: usize,
    /// `default_week_format`.
    pub default_week_format: i64,
    /// `lc_time_names`.
    pub locale: LocaleId,
    /// The statement changes data in strict mode and without IGNORE: what is a warning else is an error.
    pub strict_dml: bool,
}

impl Default for EvalSettings {
    fn default() -> EvalSettings {
        EvalSettings {
            sql_mode: sql_mode::STRICT_TRANS_TABLES
                | sql_mode::NO_ZERO_IN_DATE
                | sql_mode::NO_ZERO_DATE
                | sql_mode::ERROR_FOR_DIVISION_BY_ZERO,
            time_zone: TimeZone::UTC,
            now_utc_micros: 0,
            connection_collation: CollationId::UTF8MB4_0900_AI_CI,
            max_allowed_packet: 64 << 20,
            default_week_format: 0,
            locale: LocaleId::EN_US,
            strict_dml: false,
        }
    }
}

impl EvalSettings {
    /// Is one of these bits set?
    #[must_use]
    pub fn has(&self, bits: u64) -> bool {
        self.sql_mode & bits != 0
    }

    /// Which dates texts may name. A query reads zero dates whatever the mode; storing checks them.
    #[must_use]
    pub fn date_mode(&self) -> DateMode {
        DateMode {
            allow_invalid: self.has(sql_mode::ALLOW_INVALID_DATES),
            no_zero_in_date: self.has(sql_mode::NO_ZERO_IN_DATE),
            no_zero_date: self.has(sql_mode::NO_ZERO_DATE),
            truncates_fraction: self.has(sql_mode::TIME_TRUNCATE_FRACTIONAL),
        }
    }

    /// How values are stored.
    #[inline]
    #[must_use]
    pub fn store_options(&self) -> StoreOptions<'_> {
        StoreOptions {
            date_mode: self.date_mode(),
            truncate_fraction: self.has(sql_mode::TIME_TRUNCATE_FRACTIONAL),
            time_zone: &self.time_zone,
            now_utc_micros: self.now_utc_micros,
        }
    }
}

/// The new row of a firing.
pub enum FiredRow<'c> {
    /// The row goes.
    None,
    /// About to be written: triggers may change it.
    Unwritten(&'c mut dyn NewRowCells),
    /// It is written.
    Written(&'c dyn RowCells),
}

/// What fires triggers.
pub struct Firing<'c> {
    /// The table.
    pub table: &'c Arc<TableDefinition>,
    /// Its triggers, in their order.
    pub triggers: &'c [Arc<TriggerDefinition>],
    /// The row as it was.
    pub old: Option<&'c dyn RowCells>,
    /// The row as it becomes.
    pub new: FiredRow<'c>,
}

/// A call of a stored function.
pub struct FunctionCall<'c> {
    /// Which.
    pub call: &'c StoredCall,
    /// The values of its arguments.
    pub arguments: Vec<Value>,
    /// Where its value goes, as a cell of its type.
    pub out: &'c mut Column,
}

/// What a statement lends to those that run inside it: they read and write as it does.
pub struct StatementGround<'c> {
    /// Through which rows are read, locked and written.
    pub rows: &'c mut (dyn Transaction + 'c),
    /// What consistent reads see.
    pub snapshot: &'c (dyn Snapshot + 'c),
}

/// What a session keeps and what it can do to the world, for functions that ask. Everything has a harmless default.
pub trait SessionState {
    /// The value of `@name` (small letters); `None` if never set.
    fn user_variable(&self, _name: &str) -> Option<Value> {
        None
    }
    /// Sets `@name`.
    fn set_user_variable(&mut self, _name: &str, _value: Value) {}
    /// LAST_INSERT_ID().
    fn last_insert_id(&self) -> u64 {
        0
    }
    /// LAST_INSERT_ID(n).
    fn set_last_insert_id(&mut self, _id: u64) {}
    /// ROW_COUNT() of the statement before.
    fn row_count(&self) -> i64 {
        -1
    }
    /// FOUND_ROWS() of the statement before.
    fn found_rows(&self) -> i64 {
        0
    }
    /// CONNECTION_ID().
    fn connection_id(&self) -> u64 {
        0
    }
    /// DATABASE().
    fn database(&self) -> Option<String> {
        None
    }
    /// USER(): name and host the client came with.
    fn user(&self) -> String {
        String::new()
    }
    /// CURRENT_USER(): the account it was let in as.
    fn current_user(&self) -> String {
        String::new()
    }
    /// Whether messages may name this table: the account may do something with it.
    fn may_name_table(&self, _schema: &str, _table: &str) -> bool {
        true
    }
    /// CURRENT_ROLE().
    fn current_role(&self) -> String {
        "NONE".to_owned()
    }
    /// VERSION().
    fn version(&self) -> String {
        "9.7.4-invar".to_owned()
    }
    /// Random bytes good enough for keys.
    fn random_bytes(&mut self, buffer: &mut [u8]) {
        buffer.fill(0);
    }
    /// The session's RAND(): uniform in 0..1.
    fn rand(&mut self) -> f64 {
        0.5
    }
    /// The clock as it stands now, microseconds since 1970-01-01 UTC (SYSDATE, UUID).
    fn clock_utc_micros(&mut self) -> i64 {
        0
    }
    /// UUID() as 16 bytes in text order.
    fn uuid(&mut self) -> [u8; 16] {
        let mut bytes = [0; 16];
        self.random_bytes(&mut bytes);
        bytes[6] = bytes[6] & 0x0f | 0x10;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        bytes
    }
    /// UUID_SHORT().
    fn uuid_short(&mut self) -> u64 {
        1
    }
    /// Waits; true if KILL QUERY or the statement's time limit ended it. Its other rows fail, this one does not.
    ///
    /// # Errors
    /// The connection was killed.
    fn sleep(&mut self, _micros: u64) -> SqlResult<bool> {
        Ok(false)
    }
    /// GET_LOCK: 1 got it, 0 timed out, `None` an error such as being killed. Negative: wait for ever.
    fn get_lock(&mut self, _name: &str, _timeout_seconds: f64) -> SqlResult<Option<i64>> {
        Ok(Some(1))
    }
    /// RELEASE_LOCK: 1 released, 0 held by another, `None` no such lock.
    fn release_lock(&mut self, _name: &str) -> SqlResult<Option<i64>> {
        Ok(None)
    }
    /// RELEASE_ALL_LOCKS: how many.
    fn release_all_locks(&mut self) -> i64 {
        0
    }
    /// IS_USED_LOCK: the connection that holds it.
    fn lock_holder(&mut self, _name: &str) -> Option<u64> {
        None
    }
    /// Runs triggers of a table for a row, through the transaction of the statement that fires them.
    ///
    /// # Errors
    /// The triggers'; 1815 of a session that has none.
    fn fire(&mut self, _firing: Firing<'_>, _ground: StatementGround<'_>) -> SqlResult<()> {
        Err(internal("triggers without a session"))
    }
    /// Calls a stored function, through the transaction of the statement that calls it.
    ///
    /// # Errors
    /// The function's; 1815 of a session that has none.
    fn call(&mut self, _call: FunctionCall<'_>, _ground: StatementGround<'_>) -> SqlResult<()> {
        Err(internal("stored functions without a session"))
    }
    /// Fails if the statement or the connection was killed. Called once a batch and in long functions.
    ///
    /// # Errors
    /// 1317 or 3024.
    fn check_killed(&mut self) -> SqlResult<()> {
        Ok(())
    }
}

/// A session with nothing: constant folding, tests.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSession;

impl SessionState for NoSession {}

/// Entries kept for SHOW WARNINGS, and how many there were.
#[derive(Clone, Debug)]
pub struct Warnings {
    entries: Vec<Diagnostic>,
    total: u64,
    limit: usize,
}

impl Default for Warnings {
    fn default() -> Warnings {
        Warnings::new(1024)
    }
}

impl Warnings {
    /// Keeps at most `limit` entries (`max_error_count`) and counts all.
    #[must_use]
    pub fn new(limit: usize) -> Warnings {
        Warnings { entries: Vec::new(), total: 0, limit }
    }

    /// Adds an entry.
    pub fn push(&mut self, entry: Diagnostic) {
        self.total += 1;
        if self.entries.len() < self.limit {
            self.entries.push(entry);
        }
    }

    /// A warning of `code`. Its text is only made while there is room for it.
    #[cold]
    pub fn warn(&mut self, code: Code, arguments: &[&dyn Display]) {
        self.total += 1;
        if self.entries.len() < self.limit {
            self.entries.push(code.warning(arguments));
        }
    }

    /// The entries kept.
    #[must_use]
    pub fn entries(&self) -> &[Diagnostic] {
        &self.entries
    }

    /// How many there were; at most 65535 reach the client's count.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// None at all?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// Whether the count has reached its maximum: another warning changes nothing that a client sees.
    pub(super) fn is_count_full(&self) -> bool {
        self.total >= u64::from(u16::MAX)
    }

    /// Forgets what came after `total` was this.
    pub fn truncate(&mut self, total: u64) {
        let entries = usize::try_from(total).unwrap_or(usize::MAX);
        self.entries.truncate(entries);
        self.total = self.total.min(total);
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.total = 0;
    }
}

/// Everything an evaluation may read or change beside its input.
pub struct EvalContext<'a> {
    /// Fixed settings.
    pub settings: &'a EvalSettings,
    /// The statement's parameters.
    pub params: &'a [ValueRef<'a>],
    /// Values of rows of enclosing queries: one-row columns by slot. After a change the caller gives the program a
    /// reset scratch ([`super::Scratch::reset`]).
    pub outer: Vec<Column>,
    /// The session.
    pub session: &'a mut dyn SessionState,
    /// Where warnings go.
    pub warnings: &'a mut Warnings,
    /// The snapshot consistent reads see; `None` only for plans that read no table that a backend keeps.
    pub snapshot: Option<&'a dyn Snapshot>,
    /// Through which rows are read, locked and written; `None` only for plans that do none of it.
    pub transaction: Option<&'a mut dyn Transaction>,
}

impl EvalContext<'_> {
    /// Calls a stored function, and appends its value to `out`.
    ///
    /// # Errors
    /// The function's; 1105 without a transaction.
    #[cold]
    pub(crate) fn call_function(
        &mut self,
        call: &StoredCall,
        arguments: Vec<Value>,
        out: &mut Column,
    ) -> SqlResult<()> {
        let (Some(rows), Some(snapshot)) = (self.transaction.as_deref_mut(), self.snapshot) else {
            return Err(internal("a stored function without a transaction"));
        };
        self.session.call(FunctionCall { call, arguments, out }, StatementGround { rows, snapshot })
    }

    /// What was found along a path, unless the search had to end before.
    ///
    /// # Errors
    /// Why the statement has to end.
    pub(crate) fn searched<T>(&mut self, found: Result<T, Stopped>) -> SqlResult<T> {
        match found {
            Ok(found) => Ok(found),
            Err(Stopped) => {
                self.session.check_killed()?;
                Err(service::error::ER_QUERY_INTERRUPTED.bare())
            }
        }
    }

    /// A warning of `code`.
    #[cold]
    pub fn warn(&mut self, code: Code, arguments: &[&dyn Display]) {
        self.warnings.warn(code, arguments);
    }

    /// What data changes in strict mode must not do: a warning for queries, an error for them.
    ///
    /// # Errors
    /// The error of `code` in strict data changes.
    #[cold]
    pub(crate) fn warn_or_fail(&mut self, code: Code, arguments: &[&dyn Display]) -> SqlResult<()> {
        if self.settings.strict_dml {
            return Err(code.with(arguments));
        }
        self.warnings.warn(code, arguments);
        Ok(())
    }

    /// 1365: division by zero, as the mode wants it.
    ///
    /// # Errors
    /// 1365 in strict data changes.
    #[cold]
    pub(crate) fn division_by_zero(&mut self) -> SqlResult<()> {
        if self.settings.has(sql_mode::ERROR_FOR_DIVISION_BY_ZERO) {
            self.warn_or_fail(service::error::ER_DIVISION_BY_ZERO, &[])?;
        }
        Ok(())
    }
}
