//! A session's tables on another server: the second backend of `session`.
//!
//! Definitions, accounts and routines lie in a local folder, which also says what is right; each table's rows lie on the other server, where the
//! same table is made. A session's transaction is one there, over a connection of its own: it begins with the first snapshot, and a statement's
//! savepoint is one of SQL.
//!
//! The other server takes metadata locks by itself. Temporary tables, isolation levels other than REPEATABLE READ, histograms
//! and LOCK TABLES are not done over it; `otherwise.txt` lists the answers that differ.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use access::{MetadataMode, MetadataWait};
use catalog::{
    AccountId, Accounts, Catalog, CatalogHandle, EventDefinition, EventId, Events, RoutineId, Routines,
    TableEntry, TableId, TreeNumber,
};
use client::{Connection, Options};
use engine::Engine;
use engine::local::{LocalBackend, LocalTableLocks};
use plan::PhysicalPlan;
use service::{ConnectionControl, Diagnostic, Level, Outcome, SqlError};
use session::backend::{
    Access, Backend, CheckDepth, Defined, Definition, DefinitionContext, DefinitionSession, Definitions,
    LockWaits, PointMemory, PointOutcome, PointProgram, PointRead, PreparedTransactions, SessionTransaction,
    StatementStart, TableLocks, Xid,
};
use session::core::{Core, Storage};
use session::variables::Variables;
use types::ValueRef;
use types::charset::Charset;

use crate::remote::{RemoteSnapshot, RemoteTable, RemoteTransaction, failed, set_up};

/// What the other server says, as MySQL's error.
fn said(error: client::Error) -> Box<SqlError> {
    exec::access_error(failed(error))
}

/// What a statement that defines did on the other server.
struct DefinedThere {
    affected_rows: u64,
    info: String,
    warnings: Vec<Diagnostic>,
}

/// What SHOW WARNINGS shows there.
fn diagnostics(connection: &mut Connection) -> Result<Vec<Diagnostic>, client::Error> {
    let mut answer = connection.query(b"SHOW WARNINGS")?;
    let mut all = Vec::new();
    while answer.next_result()? {
        while let Some(row) = answer.next_row()? {
            let cell = |at: usize| row.cell(at).as_str().unwrap_or_default().to_owned();
            let number = cell(1).parse().unwrap_or(1105);
            let level = match &*cell(0) {
                "Note" => Level::Note,
                "Warning" => Level::Warning,
                _ => Level::Error,
            };
            let state = service::Code::by_number(number).map_or(*b"HY000", |code| code.state);
            all.push(Diagnostic { level, number, state, message: cell(2) });
        }
    }
    Ok(all)
}

/// The tables that were made on the other server.
#[derive(Debug, Default)]
struct Made {
    by_id: HashMap<TableId, Arc<TableEntry>>,
}

/// Tables whose rows another server keeps.
pub(crate) struct RemoteBackend {
    definitions: Engine,
    options: Options,
    catalog: Arc<CatalogHandle>,
    made: Mutex<Made>,
    /// Where definitions are carried out.
    connection: Mutex<Connection>,
}

impl std::fmt::Debug for RemoteBackend {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("RemoteBackend").finish_non_exhaustive()
    }
}

impl RemoteBackend {
    /// Definitions in `definitions`, rows on the server of `options`.
    pub(crate) fn new(definitions: Engine, mut options: Options) -> RemoteBackend {
        // An update answers whether there is the row.
        options.found_rows = true;
        let connection = Connection::connect(&options).expect("the other server lets root in");
        let catalog = Catalog::clone(&definitions.core().catalog().load());
        RemoteBackend {
            catalog: Arc::new(CatalogHandle::new(catalog)),
            definitions,
            options,
            made: Mutex::default(),
            connection: Mutex::new(connection),
        }
    }

    /// Where the snapshot of all definitions is found.
    pub(crate) fn handle(&self) -> &Arc<CatalogHandle> {
        &self.catalog
    }

    /// Who keeps the definitions.
    fn local(&self) -> &LocalBackend {
        self.definitions.backend()
    }

    /// Runs a statement that defines on the other server, with what it depends on of the session.
    fn define_there(
        &self,
        session: DefinitionSession<'_>,
        sql: &[u8],
    ) -> Result<DefinedThere, Box<SqlError>> {
        let mut connection = self.connection.lock().expect("no session panics with it");
        let checks = u8::from(session.foreign_key_checks);
        let (sql_mode, lock_wait) = (session.sql_mode, session.lock_wait.time.as_secs().max(1));
        let (seconds, micros) = (session.now_micros / 1_000_000, session.now_micros % 1_000_000);
        let restricts = u8::from(session.restrict_foreign_keys);
        let set = format!(
            "SET sql_mode = {sql_mode}, foreign_key_checks = {checks}, lock_wait_timeout = {lock_wait}, \
             timestamp = {seconds}.{micros:06}, restrict_fk_on_non_standard_key = {restricts}"
        );
        connection.run(set.as_bytes()).map_err(said)?;
        if let Some(database) = session.database {
            connection.use_database(database).map_err(said)?;
        }
        let mut run = || -> Result<DefinedThere, client::Error> {
            let mut answer = connection.query(sql)?;
            answer.next_result()?;
            let affected_rows = answer.summary().affected_rows;
            let info = String::from_utf8_lossy(answer.info()).into_owned();
            answer.finish()?;
            Ok(DefinedThere { affected_rows, info, warnings: Vec::new() })
        };
        match run() {
            Ok(mut done) => {
                done.warnings = diagnostics(&mut connection).map_err(said)?;
                Ok(done)
            }
            Err(error) => {
                let mut error = said(error);
                // The error itself stands last.
                if let Ok(mut diagnostics) = diagnostics(&mut connection) {
                    diagnostics.pop();
                    error.earlier = diagnostics;
                }
                Err(error)
            }
        }
    }

    /// Publishes the definitions as they are now, each table with its rows on the other server. `emptied`: TRUNCATE TABLE, which numbers its
    /// rows from the beginning.
    fn publish(&self, emptied: bool) {
        let mut made = self.made.lock().expect("no session panics with it");
        let local = self.definitions.core().catalog().load();
        if local.version <= self.catalog.version() {
            return;
        }
        let mut catalog = Catalog::clone(&local);
        let mut by_id = HashMap::new();
        for entry in local.base_tables() {
            let definition = &entry.definition;
            let before = made.by_id.get(&definition.id);
            let now = match before {
                Some(before) if Arc::ptr_eq(&before.definition, definition) => Arc::clone(before),
                _ => {
                    let own = entry.source.auto_increment_next();
                    let earlier =
                        before.filter(|_| !emptied).and_then(|before| before.source.auto_increment_next());
                    let next = own.unwrap_or(1).max(earlier.unwrap_or(1));
                    let source = Arc::new(RemoteTable::new(Arc::clone(definition), next));
                    Arc::new(TableEntry { definition: Arc::clone(definition), source })
                }
            };
            if let Some(schema) = catalog.schema_mut(&definition.schema) {
                schema.insert(Arc::clone(&now));
            }
            by_id.insert(definition.id, now);
        }
        made.by_id = by_id;
        self.catalog.publish(catalog);
    }
}

/// No locks: the other server takes them by itself.
#[derive(Debug, Default)]
pub(crate) struct NoLocks;

impl TableLocks for NoLocks {
    type Lock = ();

    fn lock_of(_entry: &TableEntry) -> Option<()> {
        None
    }

    fn lock_together(&mut self, _wanted: &[((), MetadataMode)], _lock_wait: MetadataWait<'_>) -> Outcome {
        Ok(())
    }

    fn holds(&self, _entry: &TableEntry) -> bool {
        false
    }

    fn release_all(&mut self) {}
}

impl Definitions for RemoteBackend {
    type Locks = NoLocks;
    type ChangeUnderWay<'a> = <LocalBackend as Definitions>::ChangeUnderWay<'a>;

    fn catalog(&self) -> &CatalogHandle {
        &self.catalog
    }

    fn hold_for_backup(&self, lock_wait: MetadataWait<'_>) -> Outcome {
        self.local().hold_for_backup(lock_wait)
    }

    fn release_backup(&self) {
        self.local().release_backup();
    }

    fn begin_change(&self, lock_wait: MetadataWait<'_>) -> Result<Self::ChangeUnderWay<'_>, Box<SqlError>> {
        self.local().begin_change(lock_wait)
    }

    fn define(
        &self,
        context: DefinitionContext<'_, NoLocks>,
        definition: Definition<'_>,
    ) -> Result<Defined, Box<SqlError>> {
        // The table of CREATE TABLE is made as it was understood here, and without the rows of its query.
        let is_create = matches!(definition, Definition::CreateTable(..));
        let there = if is_create || context.session.text.is_empty() {
            None
        } else {
            Some(self.define_there(context.session, context.session.text)?)
        };
        let before = self.definitions.core().catalog().load();
        let mut warnings = Vec::new();
        let mut temporary = session::temporary::TemporaryTables::default();
        let defined = self.local().define(
            DefinitionContext {
                session: context.session,
                locked_tables: &LocalTableLocks::default(),
                temporary: &mut temporary,
                warnings: &mut warnings,
            },
            definition,
        );
        // What was said there is about the rows, too.
        match &there {
            Some(there) if !there.warnings.is_empty() => {
                context.warnings.extend(there.warnings.iter().cloned());
            }
            _ => context.warnings.append(&mut warnings),
        }
        let mut defined = defined?;
        if is_create {
            let now = self.definitions.core().catalog().load();
            let is_new = |entry: &&Arc<TableEntry>| {
                before.table(&entry.definition.schema, &entry.definition.name).is_none()
            };
            if let Some(entry) = now.base_tables().find(is_new) {
                let next = entry.source.auto_increment_next();
                let sql = catalog::show_create_table(&entry.definition, next);
                let session = DefinitionSession {
                    foreign_key_checks: false,
                    database: Some(&entry.definition.schema),
                    ..context.session
                };
                self.define_there(session, &sql)?;
            }
        }
        if !temporary.is_empty() {
            temporary.drop_all();
            self.local().drop_temporary(&temporary.take_dropped())?;
            return Err(service::error::ER_NOT_SUPPORTED_YET.with(&[&"temporary tables on another server"]));
        }
        if let Some(there) = there {
            defined.affected_rows = there.affected_rows;
            defined.info = there.info;
        }
        self.publish(matches!(definition, Definition::TruncateTable(_)));
        Ok(defined)
    }

    fn drop_temporary(&self, trees: &[TreeNumber]) -> Outcome {
        self.local().drop_temporary(trees)
    }

    fn change_accounts(
        &self,
        change: impl FnOnce(&mut Accounts, &mut dyn FnMut() -> AccountId) -> Outcome,
    ) -> Outcome {
        self.local().change_accounts(change)?;
        self.publish(false);
        Ok(())
    }

    fn new_routine_id(&self) -> RoutineId {
        self.local().new_routine_id()
    }

    fn change_routines<R>(
        &self,
        change: impl FnOnce(&mut Routines, &mut Accounts, &Catalog) -> Result<R, Box<SqlError>>,
    ) -> Result<R, Box<SqlError>> {
        let answer = self.local().change_routines(change)?;
        self.publish(false);
        Ok(answer)
    }

    fn new_event_id(&self) -> EventId {
        self.local().new_event_id()
    }

    fn change_events<R>(
        &self,
        change: impl FnOnce(&mut Events, &Catalog) -> Result<R, Box<SqlError>>,
    ) -> Result<R, Box<SqlError>> {
        let answer = self.local().change_events(change)?;
        self.publish(false);
        Ok(answer)
    }

    fn note_event_executed(&self, event: &EventDefinition, micros: i64) -> Outcome {
        self.local().note_event_executed(event, micros)
    }

    fn persist_variable(&self, name: &str, value: &str) -> Outcome {
        self.local().persist_variable(name, value)?;
        self.publish(false);
        Ok(())
    }

    fn forget_variables(&self, names: &[Box<str>]) -> Outcome {
        self.local().forget_variables(names)?;
        self.publish(false);
        Ok(())
    }

    fn looks_after(&self, entry: &TableEntry) -> bool {
        entry.source.as_any().is::<RemoteTable>()
    }

    fn analyze(
        &self,
        _entry: &TableEntry,
        _sample_pages: u64,
        _now: i64,
        _go_on: &mut dyn FnMut() -> Outcome,
    ) -> Outcome {
        Ok(())
    }

    fn change_histogram(
        &self,
        _entry: &TableEntry,
        _column: usize,
        _change: session::backend::HistogramChange<'_>,
        _zone: &types::temporal::zone::TimeZone,
        _now: types::temporal::DateTime,
        _go_on: &mut dyn FnMut() -> Outcome,
    ) -> Result<session::backend::HistogramOutcome, Box<SqlError>> {
        Ok(session::backend::HistogramOutcome::Type)
    }

    fn check(
        &self,
        _entry: &TableEntry,
        _depth: CheckDepth,
        _go_on: &mut dyn FnMut() -> Outcome,
    ) -> Result<Vec<String>, Box<SqlError>> {
        Ok(Vec::new())
    }
}

impl Storage for RemoteBackend {
    fn follow(&self, globals: &Variables) {
        self.local().follow(globals);
    }

    fn add_status(&self, all: &mut Vec<(&'static str, String)>) {
        self.local().add_status(all);
    }

    fn describe_transactions(&self, _core: &Core, _catalog: &Catalog) -> Result<String, Box<SqlError>> {
        Ok(String::new())
    }
}

/// Rows of another server always come by operators.
#[derive(Debug)]
pub(crate) enum NoPointProgram {}

impl PointProgram for NoPointProgram {
    fn of(_plan: &PhysicalPlan, _results: Option<Charset>) -> Option<Self> {
        None
    }
}

impl Backend for RemoteBackend {
    type Transaction = RemoteSessionTransaction;
    type PointProgram = NoPointProgram;

    fn new_transaction(&self) -> Result<RemoteSessionTransaction, Box<SqlError>> {
        let mut connection = Connection::connect(&self.options).map_err(said)?;
        set_up(&mut connection).map_err(said)?;
        Ok(RemoteSessionTransaction {
            connection,
            is_open: false,
            has_snapshot: false,
            has_begun: false,
            savepoints: 0,
            waits: Waits,
        })
    }
}

/// None is ever prepared: [`SessionTransaction::prepare`] refuses.
impl PreparedTransactions for RemoteBackend {
    fn prepared(&self) -> Result<Vec<Xid>, Box<SqlError>> {
        self.local().prepared()
    }

    fn is_prepared(&self, xid: &Xid) -> Result<bool, Box<SqlError>> {
        self.local().is_prepared(xid)
    }

    fn commit_prepared(&self, xid: &Xid) -> Result<Option<u64>, Box<SqlError>> {
        self.local().commit_prepared(xid)
    }

    fn roll_back_prepared(&self, xid: &Xid) -> Result<Option<u64>, Box<SqlError>> {
        self.local().roll_back_prepared(xid)
    }
}

/// Waits happen on the other server.
pub(crate) struct Waits;

impl LockWaits for Waits {
    fn forbid_requeue(&self) {}
}

/// A session's transaction on the other server.
pub(crate) struct RemoteSessionTransaction {
    connection: Connection,
    /// It has begun there.
    is_open: bool,
    has_snapshot: bool,
    /// Something was locked or written.
    has_begun: bool,
    savepoints: u64,
    waits: Waits,
}

impl RemoteSessionTransaction {
    fn end(&mut self, how: &[u8]) -> Outcome {
        let is_open = std::mem::take(&mut self.is_open);
        (self.has_snapshot, self.has_begun, self.savepoints) = (false, false, 0);
        if is_open { self.connection.run(how).map(|_| ()).map_err(said) } else { Ok(()) }
    }
}

impl SessionTransaction for RemoteSessionTransaction {
    /// The name of a savepoint there; `None`: before the transaction.
    type Savepoint = Option<u64>;
    type Rows<'a> = RemoteTransaction<'a>;
    type Snapshot<'a> = RemoteSnapshot;
    type Waits = Waits;
    type PointProgram = NoPointProgram;

    fn set_control(&self, _control: &ConnectionControl) {}

    fn begin_statement(&mut self, start: StatementStart<'_>) -> Outcome {
        if start.keeps_snapshot { Ok(()) } else { self.take_snapshot() }
    }

    fn may_requeue(&self) -> bool {
        false
    }

    fn lock_wait_micros(&self) -> u64 {
        0
    }

    fn reset_lock_wait(&self) {}

    fn has_snapshot(&self) -> bool {
        self.has_snapshot
    }

    fn take_snapshot(&mut self) -> Outcome {
        // A later snapshot: nothing of the earlier one is needed.
        self.release_snapshot()?;
        if !self.is_open {
            self.connection.run(b"START TRANSACTION WITH CONSISTENT SNAPSHOT").map_err(said)?;
            self.is_open = true;
        }
        self.has_snapshot = true;
        Ok(())
    }

    fn release_snapshot(&mut self) -> Outcome {
        self.has_snapshot = false;
        if self.is_open && !self.has_begun { self.end(b"ROLLBACK") } else { Ok(()) }
    }

    fn start_access(&mut self) -> Option<Access<RemoteTransaction<'_>, RemoteSnapshot, &Waits>> {
        if !self.has_snapshot {
            return None;
        }
        let rows = RemoteTransaction::new(&mut self.connection, &mut self.has_begun);
        Some(Access { rows, snapshot: RemoteSnapshot, waits: &self.waits })
    }

    fn read_point(
        &self,
        program: &NoPointProgram,
        _values: &[ValueRef<'_>],
        _read: PointRead<'_>,
        _memory: &mut PointMemory,
    ) -> Result<PointOutcome, Box<SqlError>> {
        match *program {}
    }

    fn has_begun(&self) -> bool {
        self.has_begun
    }

    fn has_changes(&self) -> bool {
        self.has_begun
    }

    fn savepoint(&mut self) -> Result<Option<u64>, Box<SqlError>> {
        if !self.is_open {
            return Ok(None);
        }
        self.savepoints += 1;
        let sql = format!("SAVEPOINT s{}", self.savepoints);
        self.connection.run(sql.as_bytes()).map_err(said)?;
        Ok(Some(self.savepoints))
    }

    fn roll_back_to(&mut self, savepoint: &Option<u64>) -> Outcome {
        match savepoint {
            Some(number) => {
                let sql = format!("ROLLBACK TO SAVEPOINT s{number}");
                self.connection.run(sql.as_bytes()).map(|_| ()).map_err(said)
            }
            None => self.end(b"ROLLBACK"),
        }
    }

    fn commit(&mut self) -> Result<Option<u64>, Box<SqlError>> {
        self.end(b"COMMIT")?;
        Ok(None)
    }

    fn prepare(&mut self, _xid: &Xid) -> Result<Option<u64>, Box<SqlError>> {
        // There it has begun without a name, and could not be prepared.
        Err(service::error::ER_NOT_SUPPORTED_YET.with(&[&"XA PREPARE"]))
    }

    fn roll_back(&mut self) -> Outcome {
        self.end(b"ROLLBACK")
    }

    fn lock_table(&mut self, _entry: &TableEntry, _mode: MetadataMode, _wait: MetadataWait<'_>) -> Outcome {
        Ok(())
    }

    fn table_lock_count(&self) -> usize {
        0
    }

    fn release_table_locks_to(&mut self, _count: usize) {}
}
