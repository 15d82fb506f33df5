//! Definitions at whoever keeps the tables: what changes them, and what looks after tables.
//!
//! Each change is all or nothing, also across a crash. When it has been made, the catalog's snapshot shows it, and it is durable or
//! says for what the answer waits ([`Defined::position`]).
//!
//! The session has committed its transaction, checked privileges, and holds no metadata locks but those of LOCK TABLES.

use access::MetadataWait;
use catalog::{
    AccountId, Accounts, Catalog, CatalogHandle, ColumnDefinition, EventDefinition, EventId, Events,
    RoutineId, Routines, TableEntry, TreeNumber, TriggerDefinition, ViewDefinition,
};
use plan::logical::Created;
use service::{Diagnostic, Outcome, SqlError};
use syntax::ast;
use types::charset::Charset;
use types::temporal::DateTime;
use types::temporal::zone::TimeZone;
use types::{CollationId, DataType};

use super::TableLocks;
use crate::temporary::TemporaryTables;

/// A statement that changes definitions of schemas or tables.
#[derive(Clone, Copy, Debug)]
pub enum Definition<'s> {
    /// CREATE DATABASE.
    CreateSchema(&'s ast::CreateDatabase<'s>),
    /// ALTER DATABASE.
    AlterSchema(&'s ast::AlterDatabase<'s>),
    /// DROP DATABASE.
    DropSchema {
        /// Its name.
        name: &'s ast::Ident<'s>,
        /// IF EXISTS.
        if_exists: bool,
    },
    /// CREATE TABLE, also LIKE another one; with the columns of its query.
    CreateTable(&'s ast::CreateTable<'s>, &'s [SelectedColumn]),
    /// ALTER TABLE, and OPTIMIZE TABLE as one that rebuilds.
    AlterTable(&'s ast::AlterTable<'s>),
    /// DROP TABLE.
    DropTables(&'s ast::DropTable<'s>),
    /// TRUNCATE TABLE.
    TruncateTable(&'s ast::ObjectName<'s>),
    /// RENAME TABLE.
    RenameTables(&'s [(ast::ObjectName<'s>, ast::ObjectName<'s>)]),
    /// CREATE INDEX.
    CreateIndex(&'s ast::CreateIndex<'s>),
    /// DROP INDEX.
    DropIndex(&'s ast::DropIndex<'s>),
    /// CREATE VIEW, ALTER VIEW.
    CreateView(&'s NewView),
    /// CREATE TRIGGER.
    CreateTrigger(&'s NewTrigger),
    /// DROP TRIGGER.
    DropTrigger {
        /// Its schema.
        schema: &'s str,
        /// Its table.
        table: &'s str,
        /// Its name.
        name: &'s str,
    },
    /// DROP VIEW.
    DropViews {
        /// Their names.
        names: &'s [ast::ObjectName<'s>],
        /// IF EXISTS.
        if_exists: bool,
    },
}

/// A view whose query has been bound.
#[derive(Clone, Debug)]
pub struct NewView {
    /// Its schema.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// What it is.
    pub view: ViewDefinition,
    /// The columns of its query.
    pub columns: Vec<SelectedColumn>,
    /// OR REPLACE.
    pub or_replace: bool,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// ALTER VIEW.
    pub is_altered: bool,
}

/// A trigger whose body has been compiled.
#[derive(Clone, Debug)]
pub struct NewTrigger {
    /// The schema of its table, and its own.
    pub schema: String,
    /// Its table.
    pub table: String,
    /// What it is.
    pub trigger: TriggerDefinition,
    /// FOLLOWS (true) or PRECEDES the trigger of this name.
    pub order: Option<(bool, String)>,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
}

/// What a definition depends on in its session.
#[derive(Clone, Copy)]
pub struct DefinitionSession<'a> {
    /// The default database.
    pub database: Option<&'a str>,
    /// `sql_mode`, MySQL's bits.
    pub sql_mode: u64,
    /// The statement's text, into which the syntax tree's spans point.
    pub text: &'a [u8],
    /// The session's time zone.
    pub zone: &'a TimeZone,
    /// `collation_server`.
    pub server_collation: CollationId,
    /// The character set of string literals.
    pub literal_charset: Charset,
    /// `foreign_key_checks`.
    pub foreign_key_checks: bool,
    /// `restrict_fk_on_non_standard_key`: foreign keys refer to whole unique keys only.
    pub restrict_foreign_keys: bool,
    /// `lock_wait_timeout` and KILL.
    pub lock_wait: MetadataWait<'a>,
    /// Now, microseconds since 1970 UTC.
    pub now_micros: i64,
}

/// What a definition gets of its session.
pub struct DefinitionContext<'a, Locks> {
    /// What it depends on.
    pub session: DefinitionSession<'a>,
    /// What LOCK TABLES has locked for the session.
    pub locked_tables: &'a Locks,
    /// The session's own tables.
    pub temporary: &'a mut TemporaryTables,
    /// Warnings and notes of the statement.
    pub warnings: &'a mut Vec<Diagnostic>,
}

/// What a definition did.
#[derive(Clone, Debug, Default)]
pub struct Defined {
    /// A table was created that was not there.
    pub is_new_table: bool,
    /// Rows that were copied; 0 for all but an ALTER TABLE that rebuilds.
    pub affected_rows: u64,
    /// Text of the OK packet (`Records: 0  Duplicates: 0  Warnings: {warnings}`), empty for most.
    pub info: String,
    /// How far the log must be durable before the statement is acknowledged.
    pub position: Option<u64>,
}

/// A column of the query of CREATE TABLE ... AS SELECT.
#[derive(Clone, Debug)]
pub struct SelectedColumn {
    /// Its name in the result.
    pub name: String,
    /// Its type.
    pub data_type: DataType,
    /// The column of a table that it shows, and whether it is shown by the query itself, not by a derived table of it.
    pub source: Option<(ColumnDefinition, bool)>,
    /// Whether it can be NULL.
    pub nullable: bool,
    /// How it is computed.
    pub created: Created,
}

/// How much CHECK TABLE looks at.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum CheckDepth {
    /// What holds the rows: `QUICK`.
    Structure,
    /// Also rows against index entries and large values.
    Rows,
    /// Also each index entry against its row: `EXTENDED`.
    Entries,
}

/// Changes definitions, accounts and routines, and looks after tables.
pub trait Definitions {
    /// What LOCK TABLES has locked.
    type Locks: TableLocks;
    /// A change of definitions or accounts that is under way. Dropping it ends it.
    type ChangeUnderWay<'a>
    where
        Self: 'a;

    /// Where the current snapshot of all definitions is found.
    fn catalog(&self) -> &CatalogHandle;

    /// LOCK INSTANCE FOR BACKUP: nobody changes definitions or accounts until [`Definitions::release_backup`], but the session that holds it,
    /// which does not ask. Waits for changes that are under way.
    ///
    /// # Errors
    /// 1205, 1317.
    fn hold_for_backup(&self, lock_wait: MetadataWait<'_>) -> Outcome;
    /// Ends one [`Definitions::hold_for_backup`].
    fn release_backup(&self);
    /// Begins a change: waits while others hold the definitions for a backup.
    ///
    /// # Errors
    /// 1205, 1317.
    fn begin_change(&self, lock_wait: MetadataWait<'_>) -> Result<Self::ChangeUnderWay<'_>, Box<SqlError>>;

    /// Carries a statement out.
    ///
    /// # Errors
    /// MySQL's for the statement; nothing has changed then.
    fn define(
        &self,
        context: DefinitionContext<'_, Self::Locks>,
        definition: Definition<'_>,
    ) -> Result<Defined, Box<SqlError>>;

    /// Drops the trees of temporary tables that their session has dropped, and what an earlier call could not drop. No transaction knows
    /// of them any longer. Nobody waits until that is durable.
    ///
    /// # Errors
    /// The backend's; a later call tries again.
    fn drop_temporary(&self, trees: &[TreeNumber]) -> Outcome;

    /// Changes accounts: all of `change` is stored and published, or nothing. It is durable then.
    ///
    /// # Errors
    /// What `change` answers; the backend's.
    fn change_accounts(
        &self,
        change: impl FnOnce(&mut Accounts, &mut dyn FnMut() -> AccountId) -> Outcome,
    ) -> Outcome;

    /// A number for a routine that is new.
    fn new_routine_id(&self) -> RoutineId;

    /// Changes routines, and accounts with them, in the same way. `change` gets the catalog as it is before: no other definition changes while it runs.
    ///
    /// # Errors
    /// What `change` answers; the backend's.
    fn change_routines<R>(
        &self,
        change: impl FnOnce(&mut Routines, &mut Accounts, &Catalog) -> Result<R, Box<SqlError>>,
    ) -> Result<R, Box<SqlError>>;

    /// A number for an event that is new.
    fn new_event_id(&self) -> EventId;

    /// Changes events, as [`Definitions::change_routines`] does routines.
    ///
    /// # Errors
    /// What `change` answers; the backend's.
    fn change_events<R>(
        &self,
        change: impl FnOnce(&mut Events, &Catalog) -> Result<R, Box<SqlError>>,
    ) -> Result<R, Box<SqlError>>;

    /// Notes that an event begins to run. No snapshot is published.
    ///
    /// # Errors
    /// The backend's.
    fn note_event_executed(&self, event: &EventDefinition, micros: i64) -> Outcome;

    /// Keeps the value of a global variable for later starts of the server. It is durable then.
    ///
    /// # Errors
    /// The backend's.
    fn persist_variable(&self, name: &str, value: &str) -> Outcome;

    /// Forgets what [`Self::persist_variable`] kept of these variables. It is durable then.
    ///
    /// # Errors
    /// The backend's.
    fn forget_variables(&self, names: &[Box<str>]) -> Outcome;

    /// Whether the table is one of this backend's, which ANALYZE TABLE and CHECK TABLE look after.
    fn looks_after(&self, entry: &TableEntry) -> bool;

    /// Finds out about a table's rows, for plans. `sample_pages`: `innodb_stats_persistent_sample_pages`; `now`: microseconds since 1970. Calls
    /// `go_on` now and then, and ends with its error.
    ///
    /// # Errors
    /// Those of `go_on`; the backend's.
    fn analyze(
        &self,
        entry: &TableEntry,
        sample_pages: u64,
        now: i64,
        go_on: &mut dyn FnMut() -> Outcome,
    ) -> Outcome;

    /// Makes, reads or drops the histogram of a column. `zone`: in which TIMESTAMPs are shown; `now`: in UTC. Calls `go_on` now and then, and ends
    /// with its error.
    ///
    /// # Errors
    /// Those of `go_on`; the backend's.
    fn change_histogram(
        &self,
        entry: &TableEntry,
        column: usize,
        change: HistogramChange<'_>,
        zone: &TimeZone,
        now: DateTime,
        go_on: &mut dyn FnMut() -> Outcome,
    ) -> Result<HistogramOutcome, Box<SqlError>>;

    /// Looks for damage in a table: each problem as a text. Calls `go_on` now and then, and ends with its error.
    ///
    /// # Errors
    /// Those of `go_on`; the backend's, but for damage of this table.
    fn check(
        &self,
        entry: &TableEntry,
        depth: CheckDepth,
        go_on: &mut dyn FnMut() -> Outcome,
    ) -> Result<Vec<String>, Box<SqlError>>;
}

/// What becomes of the histogram of a column.
#[derive(Clone, Copy, Debug)]
pub enum HistogramChange<'a> {
    /// It is made from the rows.
    Make {
        /// Most buckets.
        bucket_max: usize,
        /// Made again whenever the table is analyzed.
        is_auto: bool,
        /// `histogram_generation_max_mem_size`.
        memory_bytes_max: u64,
    },
    /// It is this JSON text.
    Read(&'a [u8]),
    /// It is dropped.
    Drop,
}

/// What became of the histogram of a column.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum HistogramOutcome {
    /// It was made or read.
    Made,
    /// It was dropped.
    Dropped,
    /// There was none to drop.
    None,
    /// The column is a key by itself.
    Unique,
    /// Its type has none.
    Type,
    /// The text is no histogram of the column.
    Data {
        /// A complaint that comes first: the text is no JSON.
        before: Option<String>,
        /// What is wrong.
        complaint: String,
    },
}
