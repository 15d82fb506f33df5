//! Definitions of local tables: [`crate::ddl`] and the dictionary behind [`session::backend::Definitions`].

use std::hash::Hash;
use std::sync::Arc;

use access::MetadataWait;
use catalog::{
    Account, AccountId, Accounts, Catalog, CatalogHandle, EventDefinition, EventId, Events,
    RoutineDefinition, RoutineId, Routines, TableEntry, TableKind, TreeNumber,
};
use hashbrown::HashMap;
use service::error::{ER_INVALID_JSON_TEXT_IN_PARAM, ER_TABLE_DEF_CHANGED};
use service::{Outcome, SqlError};
use store::Transaction;
use table::WriteError;
use table::dictionary::Dictionary;
use table::{CheckEnd, DataError, HistogramEnd, HistogramSpec, NoHistogram, Table};
use types::temporal::DateTime;
use types::temporal::zone::TimeZone;

use super::{LocalBackend, LocalTableLocks};
use crate::backup_lock::ChangeUnderWay;
use crate::ddl::{self, Change};
use crate::store_error;
use session::backend::{
    CheckDepth, Defined, Definition, DefinitionContext, Definitions, HistogramChange, HistogramOutcome,
};

/// Definitions that are stored each by itself, under a number.
struct Stored<T, Id> {
    id: fn(&T) -> Id,
    put: fn(&Dictionary, &mut Transaction, &T) -> Result<(), WriteError>,
    delete: fn(&Dictionary, &mut Transaction, Id) -> Result<(), WriteError>,
}

const ACCOUNTS: Stored<Account, AccountId> =
    Stored { id: |account| account.id, put: Dictionary::put_account, delete: Dictionary::delete_account };
const ROUTINES: Stored<RoutineDefinition, RoutineId> =
    Stored { id: |routine| routine.id, put: Dictionary::put_routine, delete: Dictionary::delete_routine };
const EVENTS: Stored<EventDefinition, EventId> =
    Stored { id: |event| event.id, put: Dictionary::put_event, delete: Dictionary::delete_event };

impl<T, Id: Copy + Eq + Hash> Stored<T, Id> {
    /// Stores those of `now` that differ from those before, and deletes those that are gone. Answers whether there are any.
    fn change<'d>(
        &self,
        dictionary: &Dictionary,
        transaction: &mut Transaction,
        before: impl Iterator<Item = &'d Arc<T>> + Clone,
        now: impl Iterator<Item = &'d Arc<T>>,
    ) -> Result<bool, Box<SqlError>>
    where
        T: 'd,
    {
        let mut gone: HashMap<Id, &Arc<T>> = before.clone().map(|known| ((self.id)(known), known)).collect();
        let mut is_changed = false;
        for definition in now {
            let known = gone.remove(&(self.id)(definition));
            if known.is_none_or(|known| !Arc::ptr_eq(known, definition)) {
                is_changed = true;
                (self.put)(dictionary, transaction, definition).map_err(exec::access_error)?;
            }
        }
        is_changed |= !gone.is_empty();
        // In the order of the definitions, not of the map: a simulated run repeats itself.
        for id in before.map(|known| (self.id)(known)).filter(|id| gone.contains_key(id)) {
            (self.delete)(dictionary, transaction, id).map_err(exec::access_error)?;
        }
        Ok(is_changed)
    }
}

/// Commits a change and waits until it is durable: the statement is acknowledged next.
fn commit_durably(definitions: &ddl::Definitions, change: Change<'_>) -> Outcome {
    if let (Some(position), _) = change.commit()? {
        let _waiting = env::blocking::enter();
        definitions.store().sync_to(position).map_err(store_error)?;
    }
    Ok(())
}

impl LocalBackend {
    /// Finds out about the rows of a table, and makes the histograms again that follow it. The caller holds the table's metadata lock, so that
    /// its rows keep their layout. If the definition is not the newest one nothing is kept.
    pub(crate) fn find_again<E>(
        &self,
        entry: &TableEntry,
        sample_pages: u64,
        now: i64,
        go_on: &mut dyn FnMut() -> Result<(), E>,
    ) -> Result<(), HistogramEnd<E>> {
        let Some(table) = Table::of(&entry.source) else { return Ok(()) };
        if !self.is_newest(entry) {
            return Ok(());
        }
        let collected = table.gather(sample_pages, now, go_on).map_err(HistogramEnd::Check)?;
        table.adopt(&collected).map_err(HistogramEnd::Write)?;
        table.refresh_histograms(TimeZone::UTC.from_utc(now), go_on)
    }

    /// Whether the table has this definition.
    fn is_newest(&self, entry: &TableEntry) -> bool {
        let definition = &entry.definition;
        definition.kind == TableKind::Temporary
            || self
                .definitions
                .catalog()
                .load()
                .table(&definition.schema, &definition.name)
                .is_some_and(|newest| Arc::ptr_eq(&newest.definition, definition))
    }

    /// Waits until a histogram's change is durable: the statement is acknowledged next.
    fn sync_histogram(&self, position: Option<store::CommitPosition>) -> Outcome {
        if let Some(position) = position {
            let _waiting = env::blocking::enter();
            self.definitions.store().sync_to(position).map_err(store_error)?;
        }
        Ok(())
    }
}

fn complaint(error: DataError) -> HistogramOutcome {
    match error {
        DataError::Content(complaint) => HistogramOutcome::Data { before: None, complaint },
        DataError::Syntax(message, position) => {
            let arguments: [&dyn std::fmt::Display; 4] = [&1, &"UPDATE HISTOGRAM", &message, &position];
            let before = Some(ER_INVALID_JSON_TEXT_IN_PARAM.message(&arguments));
            HistogramOutcome::Data { before, complaint: "JSON format error.".to_owned() }
        }
    }
}

impl Definitions for LocalBackend {
    type Locks = LocalTableLocks;
    type ChangeUnderWay<'a> = ChangeUnderWay<'a>;

    #[inline]
    fn catalog(&self) -> &CatalogHandle {
        self.definitions.catalog()
    }

    fn hold_for_backup(&self, lock_wait: MetadataWait<'_>) -> Outcome {
        self.backup_lock.hold(lock_wait)
    }

    fn release_backup(&self) {
        self.backup_lock.release();
    }

    fn begin_change(&self, lock_wait: MetadataWait<'_>) -> Result<ChangeUnderWay<'_>, Box<SqlError>> {
        self.backup_lock.begin_change(lock_wait)
    }

    fn define(
        &self,
        context: DefinitionContext<'_, LocalTableLocks>,
        definition: Definition<'_>,
    ) -> Result<Defined, Box<SqlError>> {
        let mut context = ddl::Context {
            definitions: &self.definitions,
            session: context.session,
            locked_tables: context.locked_tables.metadata(),
            temporary: context.temporary,
            warnings: context.warnings,
        };
        let context = &mut context;
        let mut is_new_table = false;
        let outcome = match definition {
            Definition::CreateSchema(create) => ddl::create_schema(context, create),
            Definition::AlterSchema(alter) => ddl::alter_schema(context, alter),
            Definition::DropSchema { name, if_exists } => ddl::drop_schema(context, name, if_exists),
            Definition::CreateTable(create, columns) => {
                let created = ddl::create_table(context, create, columns);
                created.map(|(outcome, is_new)| {
                    is_new_table = is_new;
                    outcome
                })
            }
            Definition::AlterTable(alter) => ddl::alter_table(context, alter),
            Definition::DropTables(drop) => ddl::drop_tables(context, drop),
            Definition::TruncateTable(name) => ddl::truncate_table(context, name),
            Definition::RenameTables(pairs) => ddl::rename_tables(context, pairs),
            Definition::CreateIndex(create) => ddl::create_index(context, create),
            Definition::DropIndex(drop) => ddl::drop_index(context, drop),
            Definition::CreateView(view) => ddl::create_view(context, view),
            Definition::CreateTrigger(trigger) => ddl::create_trigger(context, trigger),
            Definition::DropTrigger { schema, table, name } => {
                ddl::drop_trigger(context, schema, table, name)
            }
            Definition::DropViews { names, if_exists } => ddl::drop_views(context, names, if_exists),
        }?;
        Ok(Defined {
            is_new_table,
            affected_rows: outcome.affected_rows,
            info: outcome.info,
            position: outcome.position.map(|position| position.0),
        })
    }

    fn drop_temporary(&self, trees: &[TreeNumber]) -> Outcome {
        self.definitions.drop_temporary(trees).map_err(store_error)
    }

    fn change_accounts(
        &self,
        change: impl FnOnce(&mut Accounts, &mut dyn FnMut() -> AccountId) -> Outcome,
    ) -> Outcome {
        let dictionary = self.definitions.dictionary();
        let mut under_way = self.definitions.begin();
        let before = self.catalog().load();
        let mut accounts = Accounts::clone(&before.accounts);
        change(&mut accounts, &mut || dictionary.new_account_id())?;
        let (known, now) = (before.accounts.list.iter(), accounts.list.iter());
        ACCOUNTS.change(dictionary, &mut under_way.transaction, known, now)?;
        under_way.catalog.accounts = Arc::new(accounts);
        commit_durably(&self.definitions, under_way)
    }

    fn new_routine_id(&self) -> RoutineId {
        self.definitions.dictionary().new_routine_id()
    }

    fn change_routines<R>(
        &self,
        change: impl FnOnce(&mut Routines, &mut Accounts, &Catalog) -> Result<R, Box<SqlError>>,
    ) -> Result<R, Box<SqlError>> {
        let dictionary = self.definitions.dictionary();
        let mut under_way = self.definitions.begin();
        let before = Arc::clone(&under_way.catalog.routines);
        let mut routines = Routines::clone(&before);
        let mut accounts = Accounts::clone(&under_way.catalog.accounts);
        let answer = change(&mut routines, &mut accounts, &under_way.catalog)?;
        let transaction = &mut under_way.transaction;
        let (known, now) = (under_way.catalog.accounts.list.iter(), accounts.list.iter());
        let mut is_changed = ACCOUNTS.change(dictionary, transaction, known, now)?;
        if is_changed {
            under_way.catalog.accounts = Arc::new(accounts);
        }
        is_changed |= ROUTINES.change(dictionary, transaction, before.iter(), routines.iter())?;
        if is_changed {
            under_way.catalog.routines = Arc::new(routines);
            commit_durably(&self.definitions, under_way)?;
        }
        Ok(answer)
    }

    fn new_event_id(&self) -> EventId {
        self.definitions.dictionary().new_event_id()
    }

    fn change_events<R>(
        &self,
        change: impl FnOnce(&mut Events, &Catalog) -> Result<R, Box<SqlError>>,
    ) -> Result<R, Box<SqlError>> {
        let dictionary = self.definitions.dictionary();
        let mut under_way = self.definitions.begin();
        let before = Arc::clone(&under_way.catalog.events);
        let mut events = Events::clone(&before);
        let answer = change(&mut events, &under_way.catalog)?;
        let transaction = &mut under_way.transaction;
        let is_changed = EVENTS.change(dictionary, transaction, before.iter(), events.iter())?;
        if is_changed {
            under_way.catalog.events = Arc::new(events);
            commit_durably(&self.definitions, under_way)?;
        }
        Ok(answer)
    }

    fn note_event_executed(&self, event: &EventDefinition, micros: i64) -> Outcome {
        let mut change = self.definitions.begin();
        let Some(now_there) = change.catalog.events.by_id(event.id).map(Arc::clone) else { return Ok(()) };
        now_there.executed.set(micros);
        let dictionary = self.definitions.dictionary();
        dictionary.put_event(&mut change.transaction, &now_there).map_err(exec::access_error)?;
        change.commit_unpublished()
    }

    fn persist_variable(&self, name: &str, value: &str) -> Outcome {
        let mut change = self.definitions.begin();
        self.definitions
            .dictionary()
            .put_variable(&mut change.transaction, name, value)
            .map_err(exec::access_error)?;
        Arc::make_mut(&mut change.catalog.persisted_variables).insert(name.into(), value.into());
        commit_durably(&self.definitions, change)
    }

    fn forget_variables(&self, names: &[Box<str>]) -> Outcome {
        let mut change = self.definitions.begin();
        for name in names {
            self.definitions
                .dictionary()
                .delete_variable(&mut change.transaction, name)
                .map_err(exec::access_error)?;
            Arc::make_mut(&mut change.catalog.persisted_variables).remove(name);
        }
        commit_durably(&self.definitions, change)
    }

    fn looks_after(&self, entry: &TableEntry) -> bool {
        Table::of(&entry.source).is_some()
    }

    fn analyze(
        &self,
        entry: &TableEntry,
        sample_pages: u64,
        now: i64,
        go_on: &mut dyn FnMut() -> Outcome,
    ) -> Outcome {
        self.find_again(entry, sample_pages, now, go_on).map_err(|end| match end {
            HistogramEnd::Check(CheckEnd::Asked(error)) => error,
            HistogramEnd::Check(CheckEnd::Store(error)) => store_error(error),
            HistogramEnd::Write(error) => exec::access_error(error),
        })
    }

    fn change_histogram(
        &self,
        entry: &TableEntry,
        column: usize,
        change: HistogramChange<'_>,
        zone: &TimeZone,
        now: DateTime,
        go_on: &mut dyn FnMut() -> Outcome,
    ) -> Result<HistogramOutcome, Box<SqlError>> {
        let Some(table) = Table::of(&entry.source) else { return Ok(HistogramOutcome::Type) };
        if !self.is_newest(entry) {
            return Err(ER_TABLE_DEF_CHANGED.bare());
        }
        let document = match change {
            HistogramChange::Drop => {
                let (had, position) = table.set_histogram(column, None).map_err(exec::access_error)?;
                self.sync_histogram(position)?;
                return Ok(if had { HistogramOutcome::Dropped } else { HistogramOutcome::None });
            }
            HistogramChange::Make { .. } | HistogramChange::Read(_) => {
                match table::may_have_histogram(&entry.definition, column) {
                    Err(NoHistogram::Unique) => return Ok(HistogramOutcome::Unique),
                    Err(NoHistogram::Type) => return Ok(HistogramOutcome::Type),
                    Ok(()) => {}
                }
                match change {
                    HistogramChange::Make { bucket_max, is_auto, memory_bytes_max } => {
                        let spec = HistogramSpec { bucket_max, is_auto, memory_bytes_max, now };
                        table.make_histogram(column, spec, zone, go_on).map_err(|end| match end {
                            CheckEnd::Asked(error) => error,
                            CheckEnd::Store(error) => store_error(error),
                        })?
                    }
                    HistogramChange::Read(text) => {
                        let data_type = &entry.definition.columns[column].data_type;
                        match table::read_data(text, data_type, now) {
                            Ok(document) => document,
                            Err(error) => return Ok(complaint(error)),
                        }
                    }
                    HistogramChange::Drop => return Ok(HistogramOutcome::None),
                }
            }
        };
        let mut binary = Vec::new();
        document.encode(&mut binary);
        let (_, position) = table.set_histogram(column, Some(&binary)).map_err(exec::access_error)?;
        self.sync_histogram(position)?;
        Ok(HistogramOutcome::Made)
    }

    fn check(
        &self,
        entry: &TableEntry,
        depth: CheckDepth,
        go_on: &mut dyn FnMut() -> Outcome,
    ) -> Result<Vec<String>, Box<SqlError>> {
        let Some(table) = Table::of(&entry.source) else { return Ok(Vec::new()) };
        let depth = match depth {
            CheckDepth::Structure => table::CheckDepth::Trees,
            CheckDepth::Rows => table::CheckDepth::Rows,
            CheckDepth::Entries => table::CheckDepth::Entries,
        };
        table.check(depth, go_on).map_err(|end| match end {
            CheckEnd::Asked(error) => error,
            CheckEnd::Store(error) => store_error(error),
        })
    }
}
