//! What each kind of statement needs of the account that runs it: every requirement is written here and nowhere else.
//!
//! [`Access::require_privileges`] is asked once by the dispatcher before a statement does anything; it knows every
//! kind of statement. Statements with a plan say themselves which tables and columns they touch (`plan::logical::Needs`,
//! [`require_plan`]); those that change accounts ask again about each account while they hold
//! the accounts still ([`AccountAdmin`]). `crate::privilege` knows what an account holds, this module what is needed.
//!
//! Invariants:
//! 1. Who lacks a privilege is refused before it learns whether a table, column or account exists, wherever MySQL does so.
//! 2. An account that holds SYSTEM_USER is changed, ended or impersonated only by accounts that hold it too.

use catalog::{Account, Accounts, Catalog, Privileges, RoutineKind, TableKind};
use plan::logical::{Bound, ColumnNeed, Definer, FunctionNeed, Needs, TableIndex, TableNeed};
use plan::{PhysicalPlan, PlanError};
use service::error::{
    ER_ACCESS_DENIED_ERROR, ER_CANNOT_USER_REFERENCED_AS_DEFINER, ER_NO_SUCH_USER,
    ER_USER_REFERENCED_AS_DEFINER, Level,
};
use service::{Diagnostic, Outcome, SqlError};
use syntax::ast::{
    AlterAction, CreateTable, CreateTrigger, Duplicates, Flush, LoadData, MaintainKind, ObjectName,
    References, Show, Statement, VarScope,
};

use super::account_names::{account_meant, account_named};
use super::current_account::CurrentAccount;
use super::names::{Names, name_text};
use crate::errors::plan_error;
use crate::privilege::{self, SessionAccount};
use crate::processes::Identity;
use crate::references;
use crate::schema_names::MYSQL_SCHEMA;

/// Session variables that need SUPER, SYSTEM_VARIABLES_ADMIN or SESSION_VARIABLES_ADMIN.
const SESSION_VARIABLES_OF_SUPER: &[&str] = &[
    "binlog_direct_non_transactional_updates",
    "binlog_format",
    "binlog_row_image",
    "binlog_row_value_options",
    "binlog_rows_query_log_events",
    "binlog_transaction_compression",
    "binlog_transaction_compression_level_zstd",
    "bulk_insert_buffer_size",
    "character_set_database",
    "character_set_filesystem",
    "connection_memory_chunk_size",
    "connection_memory_limit",
    "global_connection_memory_tracking",
    "histogram_generation_max_mem_size",
    "pseudo_thread_id",
    "sql_generate_invisible_primary_key",
    "sql_log_bin",
    "sql_log_off",
    "sql_require_primary_key",
    "statement_memory_limit",
    "xa_detach_on_prepare",
];
/// Session variables that REPLICATION_APPLIER allows to change, too.
const SESSION_VARIABLES_OF_APPLIERS: &[&str] = &[
    "gtid_next",
    "immediate_server_version",
    "original_commit_timestamp",
    "original_server_version",
    "pseudo_replica_mode",
    "pseudo_slave_mode",
];
/// Session variables that SUPER does not allow to change.
const SESSION_VARIABLES_OF_ADMINS: &[&str] = &[
    "innodb_strict_mode",
    "internal_tmp_mem_storage_engine",
    "low_priority_updates",
    "max_delayed_threads",
    "max_error_count",
    "max_insert_delayed_threads",
    "min_examined_row_limit",
    "preload_buffer_size",
    "select_into_buffer_size",
    "select_into_disk_sync_delay",
];
/// Named by refusals of GRANT and REVOKE of roles.
const ROLE_ADMINS: &str = "WITH ADMIN, ROLE_ADMIN, SUPER";

/// Asks what a statement's account may do, before the statement is planned or run.
#[derive(Clone, Copy)]
pub(super) struct Access<'a> {
    pub(super) account: &'a SessionAccount,
    pub(super) names: Names<'a>,
}

impl Access<'_> {
    /// Refuses a statement whose account lacks what it needs, as far as that is known before it is planned or run.
    ///
    /// # Errors
    /// 1044, 1045, 1142, 1227, and those of names (1046, 1049, 1146).
    #[inline]
    pub(super) fn require_privileges(&self, statement: &Statement<'_>) -> Outcome {
        let account = self.account;
        if !matches!(statement, Statement::AlterUser(_) | Statement::SetPassword(_)) {
            account.require_valid_password()?;
        }
        let global = |wanted, shown| privilege::require_global(account, wanted, shown);
        match statement {
            // Their plans know what they touch.
            Statement::Query(_)
            | Statement::Insert(_)
            | Statement::Update(_)
            | Statement::Delete(_)
            | Statement::Do(_)
            | Statement::Explain(_)
            | Statement::Set(_)
            | Statement::Prepare { .. }
            | Statement::Execute { .. } => Ok(()),
            // Anybody may.
            Statement::Empty
            | Statement::Signal(_)
            | Statement::GetDiagnostics(_)
            | Statement::StartTransaction { .. }
            | Statement::Commit(_)
            | Statement::Rollback(_)
            | Statement::Savepoint(_)
            | Statement::RollbackTo(_)
            | Statement::ReleaseSavepoint(_)
            // What XA RECOVER asks has an error of its own.
            | Statement::Xa(_)
            | Statement::UnlockTables
            | Statement::Deallocate(_)
            | Statement::SetRole(_)
            | Statement::Help(_) => Ok(()),
            // These answer 1235.
            Statement::Binlog(_) | Statement::Unsupported { .. } => Ok(()),
            // What they mean is looked up first: `use_database`, `kill`, `find_procedure`, the accounts as they are.
            Statement::Use(_)
            | Statement::Kill { .. }
            | Statement::Call(_)
            | Statement::CreateRoutine(_)
            | Statement::AlterRoutine(_)
            | Statement::DropRoutine(_)
            | Statement::CreateEvent(_)
            | Statement::AlterEvent(_)
            | Statement::DropEvent { .. }
            | Statement::CreateUser(_)
            | Statement::AlterUser(_)
            | Statement::DropUser { .. }
            | Statement::RenameUser(_)
            | Statement::CreateRole { .. }
            | Statement::DropRole { .. }
            | Statement::Grant(_)
            | Statement::Revoke(_)
            | Statement::SetPassword(_)
            | Statement::SetDefaultRole(_) => Ok(()),

            Statement::CreateDatabase(create) => self.require_schema(create.name.text, Privileges::CREATE),
            Statement::AlterDatabase(alter) => match &alter.name {
                Some(name) => self.require_schema(name.text, Privileges::ALTER),
                None => privilege::require_schema(account, &self.names.schema(None)?, Privileges::ALTER),
            },
            Statement::DropDatabase { name, .. } => self.require_schema(name.text, Privileges::DROP),
            Statement::CreateTable(create) => self.require_create_table(create),
            Statement::AlterTable(alter) => {
                let renamed = alter.actions.iter().find_map(|action| match action {
                    AlterAction::RenameTable(to) => Some(to),
                    _ => None,
                });
                let mut wanted = Privileges::ALTER;
                if renamed.is_some() {
                    wanted |= Privileges::DROP;
                }
                self.require_on(&alter.table, wanted)?;
                if let Some(to) = renamed {
                    self.require_on(to, Privileges::CREATE | Privileges::INSERT)?;
                }
                references::references_of_actions(alter.actions)
                    .into_iter()
                    .try_for_each(|references| self.require_references(&alter.table, references))
            }
            Statement::CreateView(create) => {
                let (schema, view) = self.names.table(&create.name)?;
                privilege::require_table(account, &schema, &view, Privileges::CREATE_VIEW)?;
                if create.or_replace || create.alter {
                    privilege::require_table(account, &schema, &view, Privileges::DROP)?;
                }
                Ok(())
            }
            Statement::DropView { names, .. } => names.iter().try_for_each(|name| {
                let (schema, view) = self.names.table(name)?;
                privilege::require_table(account, &schema, &view, Privileges::DROP)
            }),
            Statement::CreateTrigger(create) => self.require_create_trigger(create),
            // Asked when its table is found.
            Statement::DropTrigger { .. } => Ok(()),
            Statement::DropTable(drop) => {
                let named = drop.names.iter();
                named.filter(|_| !drop.temporary).try_for_each(|name| self.require_on(name, Privileges::DROP))
            }
            Statement::Truncate(name) => self.require_on(name, Privileges::DROP),
            Statement::RenameTable(pairs) => pairs.iter().try_for_each(|(from, to)| {
                self.require_on(from, Privileges::ALTER | Privileges::DROP)?;
                self.require_on(to, Privileges::CREATE | Privileges::INSERT)
            }),
            Statement::CreateIndex(create) => self.require_on(&create.table, Privileges::INDEX),
            Statement::DropIndex(drop) => self.require_on(&drop.table, Privileges::INDEX),
            Statement::LoadData(load) => self.require_load(load),

            Statement::LockTables(tables) => {
                tables.iter().try_for_each(|table| self.require_lock_table(&table.name))
            }
            Statement::LockInstance | Statement::UnlockInstance => {
                privilege::require_admin(account, Privileges::NONE, &["BACKUP_ADMIN"], "BACKUP_ADMIN")
            }
            Statement::Maintain(maintain) => {
                let wanted = match maintain.kind {
                    MaintainKind::Analyze | MaintainKind::Optimize | MaintainKind::Repair => {
                        Privileges::SELECT | Privileges::INSERT
                    }
                    MaintainKind::Check => {
                        return maintain.tables.iter().try_for_each(|name| self.require_check(name));
                    }
                };
                if maintain.kind == MaintainKind::Optimize && maintain.local {
                    // It stands for the privileges on the tables.
                    let shown = "OPTIMIZE_LOCAL_TABLE";
                    return privilege::require_admin(account, Privileges::NONE, &[shown], shown);
                }
                maintain.tables.iter().try_for_each(|name| self.require_on(name, wanted))
            }
            Statement::Checksum { tables, .. } => {
                tables.iter().try_for_each(|name| self.require_on(name, Privileges::SELECT))
            }
            Statement::Flush(flush) => self.require_flush(flush),
            Statement::Reset("BINARY LOGS AND GTIDS") => {
                // MySQL asks for either first, and then for RELOAD.
                let shown = "RELOAD or FLUSH_TABLES";
                privilege::require_admin(account, Privileges::RELOAD, &["FLUSH_TABLES"], shown)?;
                global(Privileges::RELOAD, "RELOAD")
            }
            // What RESET PERSIST needs depends on what is persisted.
            Statement::Reset(_) | Statement::ResetPersist(_) => Ok(()),
            Statement::Shutdown | Statement::Restart => global(Privileges::SHUTDOWN, "SHUTDOWN"),
            Statement::Show(show) => self.require_show(show),
            Statement::Describe { table, .. } => self.require_any_on(table),
        }
    }

    fn require_schema(&self, name: &[u8], wanted: Privileges) -> Outcome {
        privilege::require_schema(self.account, &name_text(name), wanted)
    }

    /// Privileges on a table that need not be there; nothing on a temporary table of this session.
    pub(super) fn require_on(&self, name: &ObjectName<'_>, wanted: Privileges) -> Outcome {
        let (schema, table) = self.names.table(name)?;
        if self.names.is_temporary(&schema, &table) {
            return Ok(());
        }
        privilege::require_table(self.account, &schema, &table, wanted)
    }

    /// Any privilege on the table or on a column of it, or SELECT on the schema: what DESCRIBE, SHOW COLUMNS and SHOW INDEX
    /// need of a table that must be there.
    fn require_any_on(&self, name: &ObjectName<'_>) -> Outcome {
        let entry = self.names.entry(name)?;
        let definition = &entry.definition;
        if definition.kind == TableKind::Temporary
            || privilege::on_table(self.account, &definition.schema, &definition.name)
                .contains(Privileges::SELECT)
            || privilege::has_table_grant(self.account, &definition.schema, &definition.name)
        {
            return Ok(());
        }
        Err(privilege::table_denied(self.account, &definition.name, Privileges::SELECT))
    }

    /// The same for CHECK TABLE, of a table that need not be there.
    fn require_check(&self, name: &ObjectName<'_>) -> Outcome {
        let (schema, table) = self.names.table(name)?;
        if self.names.is_temporary(&schema, &table)
            || privilege::on_table(self.account, &schema, &table).contains(Privileges::SELECT)
            || privilege::has_table_grant(self.account, &schema, &table)
        {
            return Ok(());
        }
        Err(privilege::table_denied(self.account, &table, Privileges::SELECT))
    }

    fn require_create_table(&self, create: &CreateTable<'_>) -> Outcome {
        if create.temporary {
            let (schema, _) = self.names.table(&create.name)?;
            privilege::require_schema(self.account, &schema, Privileges::CREATE_TEMPORARY_TABLES)?;
        } else {
            let (schema, table) = self.names.table(&create.name)?;
            let rows = if create.query.is_some() { Privileges::INSERT } else { Privileges::NONE };
            privilege::require_table(self.account, &schema, &table, Privileges::CREATE | rows)?;
        }
        if let Some(like) = &create.like {
            self.require_on(like, Privileges::SELECT)?;
        }
        if create.temporary {
            return Ok(());
        }
        references::references_of_elements(create.elements)
            .try_for_each(|references| self.require_references(&create.name, references))
    }

    /// A foreign key of `table` needs REFERENCES on its parent.
    fn require_references(&self, table: &ObjectName<'_>, references: &References<'_>) -> Outcome {
        let schema = match references.table.schema {
            Some(schema) => name_text(schema.text),
            None => self.names.table(table)?.0,
        };
        let parent = name_text(references.table.name.text);
        if privilege::on_table(self.account, &schema, &parent).contains(Privileges::REFERENCES) {
            return Ok(());
        }
        let shown = format!("{schema}.{parent}");
        Err(privilege::table_denied(self.account, &shown, Privileges::REFERENCES))
    }

    /// CREATE TRIGGER, before anything is looked for.
    fn require_create_trigger(&self, create: &CreateTrigger<'_>) -> Outcome {
        let schema = match create.table.schema {
            Some(schema) => name_text(schema.text),
            None => self.names.table(&create.name)?.0,
        };
        if matches!(&*schema, "mysql" | "sys") {
            return Err(service::error::ER_NO_TRIGGERS_ON_SYSTEM_SCHEMA.bare());
        }
        if catalog::names_equal(&schema, "information_schema") {
            return Err(privilege::schema_denied(self.account, &schema));
        }
        let table = name_text(create.table.name.text);
        privilege::require_table(self.account, &schema, &table, Privileges::TRIGGER)
    }

    fn require_load(&self, load: &LoadData<'_>) -> Outcome {
        if !load.local && !self.account.global.contains(Privileges::FILE) {
            return Err(access_denied(self.account));
        }
        let mut wanted = Privileges::INSERT;
        if load.duplicates == Duplicates::Replace {
            wanted |= Privileges::DELETE;
        }
        self.require_on(&load.table, wanted)
    }

    /// LOCK TABLES and FLUSH TABLES ... WITH READ LOCK of one table.
    fn require_lock_table(&self, name: &ObjectName<'_>) -> Outcome {
        let (schema, table) = self.names.table(name)?;
        if self.names.is_temporary(&schema, &table) {
            return Ok(());
        }
        privilege::require_schema(self.account, &schema, Privileges::LOCK_TABLES)?;
        if catalog::names_equal(&schema, "information_schema") {
            return Err(privilege::schema_denied(self.account, &schema));
        }
        privilege::require_table(self.account, &schema, &table, Privileges::SELECT)?;
        match self.names.catalog().table(&schema, &table) {
            Some(entry) if entry.definition.kind == TableKind::View => self.require_lock_below(entry),
            _ => Ok(()),
        }
    }

    /// LOCK TABLES of a view locks what it reads, so that who the view acts as must be allowed to lock that, too: 1356 says no more than that
    /// something below is missing.
    fn require_lock_below(&self, view: &catalog::TableEntry) -> Outcome {
        let catalog = self.names.catalog();
        let refused =
            || plan_error(&plan::bind::invalid_view(&view.definition.schema, &view.definition.name));
        let mut seen: Vec<catalog::TableId> = Vec::new();
        let mut waiting = vec![(view, None)];
        while let Some((entry, actor)) = waiting.pop() {
            let Some(view) = entry.definition.view.as_ref().filter(|_| !seen.contains(&entry.definition.id))
            else {
                continue;
            };
            seen.push(entry.definition.id);
            let (user, host) = &view.definer;
            let actor: Option<std::sync::Arc<SessionAccount>> = match view.invoker {
                true => actor,
                false => {
                    let definer = catalog.accounts.find(user, host).ok_or_else(refused)?;
                    Some(SessionAccount::at_login(&catalog.accounts, definer, host))
                }
            };
            let account = actor.as_deref().unwrap_or(self.account);
            for (schema, table) in &view.tables {
                privilege::require_schema(account, schema, Privileges::LOCK_TABLES)
                    .and_then(|()| privilege::require_table(account, schema, table, Privileges::SELECT))
                    .map_err(|_| refused())?;
                waiting.extend(catalog.table(schema, table).map(|entry| (&**entry, actor.clone())));
            }
        }
        Ok(())
    }

    fn require_flush(&self, flush: &Flush<'_>) -> Outcome {
        let one_of = |names: &[&str], shown: &str| {
            privilege::require_admin(self.account, Privileges::RELOAD, names, shown)
        };
        match flush {
            Flush::Tables { names, read_lock, export } => {
                one_of(&["FLUSH_TABLES"], "RELOAD or FLUSH_TABLES")?;
                let locks = *read_lock || *export;
                names.iter().filter(|_| locks).try_for_each(|name| self.require_lock_table(name))
            }
            Flush::Things(things) => things.iter().try_for_each(|thing| match *thing {
                "PRIVILEGES" => one_of(&["FLUSH_PRIVILEGES"], "RELOAD or FLUSH_PRIVILEGES"),
                "STATUS" => one_of(&["FLUSH_STATUS"], "RELOAD or FLUSH_STATUS"),
                "USER_RESOURCES" => one_of(&["FLUSH_USER_RESOURCES"], "RELOAD or FLUSH_USER_RESOURCES"),
                "OPTIMIZER_COSTS" => one_of(&["FLUSH_OPTIMIZER_COSTS"], "RELOAD or FLUSH_OPTIMIZER_COSTS"),
                _ => one_of(&[], "RELOAD"),
            }),
        }
    }

    fn require_show(&self, show: &Show<'_>) -> Outcome {
        let account = self.account;
        let global = |wanted, shown| privilege::require_global(account, wanted, shown);
        match show {
            Show::Columns { table, .. } | Show::Index { table, .. } => self.require_any_on(table),
            Show::CreateTable(name) => {
                let (schema, table) = self.names.table(name)?;
                let any = privilege::on_table(account, &schema, &table).intersects(Privileges::TABLE);
                let is_view =
                    |entry: std::sync::Arc<catalog::TableEntry>| entry.definition.kind == TableKind::View;
                if any && self.names.entry(name).is_ok_and(is_view) {
                    return privilege::require_table(account, &schema, &table, Privileges::SHOW_VIEW);
                }
                if any || self.names.is_temporary(&schema, &table) {
                    return Ok(());
                }
                Err(privilege::command_denied(account, &table, "SHOW"))
            }
            Show::CreateView(name) => {
                self.require_on(name, Privileges::SELECT)?;
                // A table is refused as such.
                match self.names.entry(name) {
                    Ok(entry) if entry.definition.kind != TableKind::View => Ok(()),
                    _ => self.require_on(name, Privileges::SHOW_VIEW),
                }
            }
            Show::CreateDatabase { name, .. } => {
                let name = name_text(name.text);
                if privilege::enters_schema(account, &name) {
                    return Ok(());
                }
                let (user, host) = (&account.user, &account.client_host);
                Err(service::error::ER_DBACCESS_DENIED_ERROR.with(&[user, host, &name]))
            }
            Show::Events { schema, .. } | Show::CreateRoutine("EVENT", ObjectName { schema, .. }) => {
                privilege::require_schema(account, &self.names.schema(*schema)?, Privileges::EVENT)
            }
            Show::CreateUser(name) => {
                let (user, host) = account_named(account, name);
                if account.is_named(&user, &host) {
                    return Ok(());
                }
                privilege::require_schema(account, MYSQL_SCHEMA, Privileges::SELECT)
            }
            Show::Grants { user, .. } => {
                let Some(user) = user else { return Ok(()) };
                let (user, host) = account_meant(account, user);
                if account.is_named(&user, &host) {
                    return Ok(());
                }
                privilege::require_table(account, MYSQL_SCHEMA, "user", Privileges::SELECT)
            }
            Show::Engine { .. } => global(Privileges::PROCESS, "PROCESS"),
            Show::BinaryLogs | Show::BinaryLogStatus | Show::ReplicaStatus => {
                global(Privileges::SUPER | Privileges::REPLICATION_CLIENT, "SUPER, REPLICATION CLIENT")
            }
            Show::Replicas => global(Privileges::REPLICATION_SLAVE, "REPLICATION SLAVE"),
            // `Names::listed_schema` asks for those of one schema; the others show each account what it may see.
            Show::Tables { .. }
            | Show::TableStatus { .. }
            | Show::OpenTables { .. }
            | Show::Triggers { .. }
            | Show::Databases(_)
            | Show::CreateRoutine(..)
            | Show::Variables { .. }
            | Show::Status { .. }
            | Show::Processlist { .. }
            | Show::Engines
            | Show::Warnings(_)
            | Show::Errors(_)
            | Show::CountWarnings
            | Show::CountErrors
            | Show::CharacterSet(_)
            | Show::Collation(_)
            | Show::Privileges
            | Show::Plugins
            | Show::RoutineStatus(..)
            | Show::Profiles
            | Show::Other(_) => Ok(()),
        }
    }
}

/// Checks that the account may do what the plan does: all tables first, then single columns.
///
/// # Errors
/// 1044, 1142, 1143.
#[inline]
pub(super) fn require_plan(account: &CurrentAccount, plan: &PhysicalPlan) -> Outcome {
    account.require_valid_password()?;
    let definition = |table: TableIndex| &*plan.tables[table.0 as usize].entry.definition;
    if plan.needs.reads_views {
        return require_with_views(account, &plan.needs, definition);
    }
    for need in &plan.needs.tables {
        require_need(account, definition(need.table), need)?;
    }
    require_columns(account, &plan.needs.columns, definition)?;
    require_functions(account, &plan.needs.functions, &Definers::new(), definition)
}

/// EXECUTE on functions that a statement calls; of those that a view calls whoever the view runs as must hold it.
fn require_functions<'d>(
    account: &CurrentAccount,
    functions: &[FunctionNeed],
    definers: &Definers,
    definition: impl Fn(TableIndex) -> &'d catalog::TableDefinition,
) -> Outcome {
    for FunctionNeed { call, definer, view } in functions {
        let function = &call.function.definition;
        actor_of(account, definers, *definer)
            .and_then(|actor| {
                privilege::require_execute(actor, &function.schema, RoutineKind::Function, &function.name)
            })
            .map_err(|error| hidden_error(error, view.map(&definition)))?;
    }
    Ok(())
}

/// EXPLAIN shows what views read: only to an account that may see how they are made, and may itself read that.
///
/// # Errors
/// 1345.
pub(super) fn require_explained(account: &SessionAccount, plan: &PhysicalPlan) -> Outcome {
    if !plan.needs.reads_views {
        return Ok(());
    }
    let may = plan.needs.tables.iter().all(|need| {
        let definition = &plan.tables[need.table.0 as usize].entry.definition;
        let held = privilege::on_table(account, &definition.schema, &definition.name)
            | privilege::on_columns(account, &definition.schema, &definition.name);
        is_free(definition)
            || (definition.kind != TableKind::View || held.contains(Privileges::SHOW_VIEW))
                && (need.view.is_none() || held.contains(Privileges::SELECT))
    });
    if may { Ok(()) } else { Err(service::error::ER_VIEW_NO_EXPLAIN.bare()) }
}

/// The same for the query of a view that is being made.
///
/// # Errors
/// As [`require_plan`].
pub(super) fn require_view_query(account: &CurrentAccount, bound: &Bound) -> Outcome {
    let definition = |table: TableIndex| &*bound.tables[table.0 as usize].entry.definition;
    require_with_views(account, &bound.needs, definition).map_err(|mut error| {
        // 9.7 asks for any privilege on what the query shows, and names the account as it was created.
        let own = format!("'{}'@'{}'", account.user, account.client_host);
        let created = format!("'{}'@'{}'", account.user, account.host);
        error.message =
            error.message.replacen("SELECT command", "ANY command", 1).replacen(&own, &created, 1);
        error
    })
}

/// Checks a statement that reads views: what a view reads is checked against its definer, and an account that lacks something there
/// makes the view invalid.
#[cold]
fn require_with_views<'d>(
    account: &CurrentAccount,
    needs: &Needs,
    definition: impl Fn(TableIndex) -> &'d catalog::TableDefinition,
) -> Outcome {
    let definers = definers_of(account, &needs.definers);
    for own in [true, false] {
        let own_tables = |table: TableIndex| {
            needs.tables.iter().find(|need| need.table == table).is_none_or(|need| need.view.is_none())
        };
        for need in needs.tables.iter().filter(|need| need.view.is_none() == own) {
            let actor = actor_of(account, &definers, need.definer)?;
            let checked = require_need(actor, definition(need.table), need);
            checked.map_err(|error| hidden_error(error, need.view.map(&definition)))?;
        }
        let columns: Vec<ColumnNeed> =
            needs.columns.iter().filter(|need| own_tables(need.table) == own).copied().collect();
        let mut rest = &columns[..];
        while let Some(first) = rest.first() {
            let need = needs.tables.iter().find(|need| need.table == first.table);
            let (definer, view) = need.map_or((None, None), |need| (need.definer, need.view));
            let count = rest.iter().take_while(|need| need.table == first.table).count();
            let actor = actor_of(account, &definers, definer)?;
            let checked = require_columns(actor, &rest[..count], &definition);
            checked.map_err(|error| hidden_error(error, view.map(&definition)))?;
            rest = &rest[count..];
        }
        // A view that reads no table has its definer all the same.
        if own {
            definers.iter().try_for_each(|definer| definer.as_ref().map(|_| ()).map_err(Clone::clone))?;
        }
    }
    require_functions(account, &needs.functions, &definers, definition)
}

/// Definers as they act; an error where there is no such account.
type Definers = Vec<Result<std::sync::Arc<SessionAccount>, Box<SqlError>>>;

fn definers_of(account: &CurrentAccount, definers: &[Definer]) -> Definers {
    let accounts = account.accounts();
    definers
        .iter()
        .map(|definer| {
            // The roles that are active in the session are not those of a view.
            if account.is_named(&definer.user, &definer.host) && account.granted_roles.is_empty() {
                return Ok(std::sync::Arc::clone(account));
            }
            let found = accounts.find(&definer.user, &definer.host);
            // Only an administrator learns which account is missing.
            let missing = || match account.global.contains(Privileges::SUPER) {
                true => ER_NO_SUCH_USER.with(&[&definer.user, &definer.host]),
                false => access_denied(account),
            };
            Ok(SessionAccount::at_login(accounts, found.ok_or_else(missing)?, &definer.host))
        })
        .collect()
}

fn actor_of<'a>(
    account: &'a SessionAccount,
    definers: &'a Definers,
    definer: Option<u32>,
) -> Result<&'a SessionAccount, Box<SqlError>> {
    match definer.and_then(|definer| definers.get(definer as usize)) {
        None => Ok(account),
        Some(Ok(definer)) => Ok(definer),
        Some(Err(error)) => Err(error.clone()),
    }
}

/// Of what a view reads nothing is said but that the view is invalid.
fn hidden_error(error: Box<SqlError>, view: Option<&catalog::TableDefinition>) -> Box<SqlError> {
    match view {
        Some(view) => plan_error(&plan::bind::invalid_view(&view.schema, &view.name)),
        None => error,
    }
}

/// The refusal that stands before an error of names: who may not read a table is not told what it lacks.
#[cold]
pub(super) fn denied_instead(account: &CurrentAccount, error: &PlanError) -> Option<Box<SqlError>> {
    let bound = error.bound.as_ref()?;
    let definition_of = |table: TableIndex| {
        let (entry, _) =
            bound.tables.iter().find(|(_, need)| need.table == table).expect("each has its need");
        &*entry.definition
    };
    let check = || -> Outcome {
        if !bound.definers.is_empty() || bound.tables.iter().any(|(_, need)| need.view.is_some()) {
            let needs = Needs {
                tables: bound.tables.iter().map(|(_, need)| *need).collect(),
                columns: bound.columns.clone(),
                definers: bound.definers.clone(),
                functions: bound.functions.clone(),
                reads_views: true,
            };
            return require_with_views(account, &needs, definition_of);
        }
        for (entry, need) in &bound.tables {
            require_need(account, &entry.definition, need)?;
        }
        if let Some((schema, table, wanted)) = &bound.missing_table {
            privilege::require_table(account, schema, table, *wanted)?;
        }
        require_columns(account, &bound.columns, definition_of)?;
        if let Some(column) = &bound.missing_column {
            for (entry, need) in bound.tables.iter().filter(|(_, need)| need.privileges == Privileges::SELECT)
            {
                let definition = &entry.definition;
                if definition.kind == TableKind::Base && need.alternative.is_empty() {
                    privilege::require_column(
                        account,
                        &definition.schema,
                        &definition.name,
                        column,
                        Privileges::SELECT,
                    )?;
                }
            }
        }
        require_functions(account, &bound.functions, &Definers::new(), definition_of)?;
        match &bound.missing_function {
            Some((schema, name)) => privilege::require_execute(account, schema, RoutineKind::Function, name),
            None => Ok(()),
        }
    };
    check().err()
}

/// KILL: connections of one's own user name, all others with SUPER or CONNECTION_ADMIN, those of accounts with SYSTEM_USER
/// only with SYSTEM_USER.
///
/// # Errors
/// 1227; the caller names the connection.
pub(super) fn require_kill(account: &CurrentAccount, accounts: &Accounts, victim: &Identity) -> Outcome {
    if account.user_and_host().0 != victim.user {
        privilege::require_admin(account, Privileges::SUPER, &["CONNECTION_ADMIN"], "CONNECTION_ADMIN")?;
    }
    if account.is_named(&victim.account.0, &victim.account.1) {
        return Ok(());
    }
    match accounts.find(&victim.account.0, &victim.account.1) {
        Some(found) if privilege::is_system_user(accounts, found) => privilege::require_system_user(account),
        _ => Ok(()),
    }
}

/// SET of a system variable.
///
/// # Errors
/// 1227.
pub(super) fn require_variable(account: &SessionAccount, name: &str, scope: VarScope) -> Outcome {
    if scope == VarScope::PersistOnly {
        let names = ["SYSTEM_VARIABLES_ADMIN", "PERSIST_RO_VARIABLES_ADMIN"];
        if names.iter().all(|name| privilege::has_dynamic(account, name)) {
            return Ok(());
        }
        let shown = names.join(" and ");
        return Err(service::error::ER_PERSIST_ONLY_ACCESS_DENIED_ERROR.with(&[&shown]));
    }
    let global = matches!(scope, VarScope::Global | VarScope::Persist);
    if global {
        let shown = "SUPER or SYSTEM_VARIABLES_ADMIN";
        privilege::require_admin(account, Privileges::SUPER, &["SYSTEM_VARIABLES_ADMIN"], shown)?;
        // Roles that all accounts have are given, too.
        if name == "mandatory_roles" && !privilege::has_dynamic(account, "ROLE_ADMIN") {
            let shown = "SYSTEM_VARIABLES_ADMIN or SUPER privileges, as well as the ROLE_ADMIN";
            return Err(service::error::ER_SPECIFIC_ACCESS_DENIED_ERROR.with(&[&shown]));
        }
        return Ok(());
    }
    let admins = &["SYSTEM_VARIABLES_ADMIN", "SESSION_VARIABLES_ADMIN"];
    if SESSION_VARIABLES_OF_APPLIERS.contains(&name) {
        let shown = "SUPER, SYSTEM_VARIABLES_ADMIN, SESSION_VARIABLES_ADMIN or REPLICATION_APPLIER";
        let names = &["SYSTEM_VARIABLES_ADMIN", "SESSION_VARIABLES_ADMIN", "REPLICATION_APPLIER"];
        return privilege::require_admin(account, Privileges::SUPER, names, shown);
    }
    if SESSION_VARIABLES_OF_SUPER.contains(&name) {
        let shown = "SUPER, SYSTEM_VARIABLES_ADMIN or SESSION_VARIABLES_ADMIN";
        return privilege::require_admin(account, Privileges::SUPER, admins, shown);
    }
    if SESSION_VARIABLES_OF_ADMINS.contains(&name) {
        let shown = "SYSTEM_VARIABLES_ADMIN or SESSION_VARIABLES_ADMIN";
        return privilege::require_admin(account, Privileges::NONE, admins, shown);
    }
    Ok(())
}

/// What a session's `default_table_encryption` asks for that is not the server's: SUPER, or two others.
///
/// # Errors
/// 1227.
pub(super) fn require_encryption(account: &SessionAccount) -> Outcome {
    let names = ["SYSTEM_VARIABLES_ADMIN", "TABLE_ENCRYPTION_ADMIN"];
    if names.iter().all(|name| privilege::has_dynamic(account, name)) {
        return Ok(());
    }
    let shown = "SUPER or SYSTEM_VARIABLES_ADMIN and TABLE_ENCRYPTION_ADMIN";
    privilege::require_admin(account, Privileges::SUPER, &[], shown)
}

/// What EXPLAIN FOR CONNECTION asks for the statement of another account: all privileges.
///
/// # Errors
/// 1045.
pub(super) fn require_all(account: &SessionAccount) -> Outcome {
    if account.global.contains(Privileges::GLOBAL) { Ok(()) } else { Err(access_denied(account)) }
}

/// 1045 as statements answer it.
#[cold]
pub(super) fn access_denied(account: &SessionAccount) -> Box<SqlError> {
    let password = if account.auth_string.is_empty() { "NO" } else { "YES" };
    ER_ACCESS_DENIED_ERROR.with(&[&account.user, &account.host, &password])
}

fn require_need(account: &SessionAccount, table: &catalog::TableDefinition, need: &TableNeed) -> Outcome {
    if is_free(table) {
        return Ok(());
    }
    let (schema, name) = (&table.schema, &table.name);
    if !need.alternative.is_empty()
        && privilege::require_table(account, schema, name, need.alternative).is_ok()
    {
        return Ok(());
    }
    privilege::require_table(account, schema, name, need.privileges)?;
    if need.locking {
        let one_of = Privileges::UPDATE | Privileges::DELETE | Privileges::LOCK_TABLES;
        let held = privilege::on_table(account, schema, name) | privilege::on_columns(account, schema, name);
        if !held.intersects(one_of) {
            return Err(privilege::command_denied(account, name, "SELECT with locking clause"));
        }
    }
    Ok(())
}

/// Tables whose rows are the session's own, and listings that show nothing else.
fn is_free(table: &catalog::TableDefinition) -> bool {
    table.kind == TableKind::Temporary || *table.schema == *super::listing::LISTING_SCHEMA
}

fn require_columns<'d>(
    account: &SessionAccount,
    needs: &[ColumnNeed],
    definition: impl Fn(TableIndex) -> &'d catalog::TableDefinition,
) -> Outcome {
    let mut held_of_all = None;
    for need in needs {
        let table = definition(need.table);
        if is_free(table) {
            continue;
        }
        let (schema, name) = (&table.schema, &table.name);
        let column = &table.columns[need.ordinal as usize].name;
        let held = privilege::require_column(account, schema, name, column, need.privileges);
        let group = (need.table, need.privileges);
        match held {
            Ok(()) => held_of_all = need.of_all.then_some(group),
            // Where all columns are meant, the table is named once any of them was allowed.
            Err(_) if need.of_all && held_of_all == Some(group) => {
                return Err(privilege::table_denied(account, name, need.privileges));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Asks what an account may do to accounts, while these are held still.
pub(super) struct AccountAdmin<'a> {
    account: &'a SessionAccount,
    accounts: &'a Accounts,
}

impl<'a> AccountAdmin<'a> {
    pub(super) fn new(account: &'a SessionAccount, accounts: &'a Accounts) -> AccountAdmin<'a> {
        AccountAdmin { account, accounts }
    }

    /// CREATE USER, or `on_mysql` on the schema that holds MySQL's accounts.
    pub(super) fn require_create_user(&self, on_mysql: Privileges) -> Outcome {
        if self.may_write_mysql(on_mysql) {
            return Ok(());
        }
        privilege::require_global(self.account, Privileges::CREATE_USER, "CREATE USER")
    }

    fn may_write_mysql(&self, wanted: Privileges) -> bool {
        !wanted.is_empty() && privilege::on_schema(self.account, MYSQL_SCHEMA).contains(wanted)
    }

    /// CREATE ROLE and DROP ROLE.
    pub(super) fn require_roles(&self, wanted: Privileges, shown: &str) -> Outcome {
        privilege::require_global(self.account, wanted | Privileges::CREATE_USER, shown)
    }

    /// Changing or dropping `target`: one with SYSTEM_USER needs SYSTEM_USER.
    pub(super) fn require_change_of(&self, target: &Account) -> Outcome {
        if self.account.id != target.id && privilege::is_system_user(self.accounts, target) {
            return privilege::require_system_user(self.account);
        }
        Ok(())
    }

    /// DROP ROLE of what can log in needs CREATE USER.
    pub(super) fn require_drop_role_of(&self, target: &Account) -> Outcome {
        self.require_change_of(target)?;
        if target.locked && target.auth_string.is_empty() {
            return Ok(());
        }
        privilege::require_global(self.account, Privileges::CREATE_USER, "CREATE USER")
    }

    /// Granting or revoking `role`: ROLE_ADMIN, SUPER, or the role WITH ADMIN OPTION; one with SYSTEM_USER needs SYSTEM_USER.
    pub(super) fn require_grant_of_role(&self, user: &str, host: &str) -> Outcome {
        let with_admin =
            self.account.granted_roles.iter().any(|role| role.2 && *role.0 == *user && *role.1 == *host);
        if !with_admin {
            privilege::require_admin(self.account, Privileges::SUPER, &["ROLE_ADMIN"], ROLE_ADMINS)?;
        }
        match self.accounts.find(user, host) {
            Some(role) if privilege::is_system_user(self.accounts, role) => {
                privilege::require_system_user(self.account)
            }
            _ => Ok(()),
        }
    }

    /// Granting or revoking a dynamic privilege needs it WITH GRANT OPTION.
    pub(super) fn require_grant_of_dynamic(&self, name: &str) -> Outcome {
        let grantable = self.account.dynamic.iter().any(|(held, option)| **held == *name && *option);
        if grantable || self.may_write_mysql(Privileges::UPDATE) {
            return Ok(());
        }
        Err(service::error::ER_SPECIFIC_ACCESS_DENIED_ERROR.with(&[&"GRANT OPTION"]))
    }

    /// SET PASSWORD FOR another account.
    pub(super) fn require_set_password(&self) -> Outcome {
        privilege::require_schema(self.account, MYSQL_SCHEMA, Privileges::UPDATE)
    }

    /// The definer of a routine, if it is another account.
    pub(crate) fn require_definer(&self, user: &str, host: &str) -> Outcome {
        if self.account.is_named(user, host) {
            return Ok(());
        }
        let needed = "SUPER or SET_ANY_DEFINER";
        privilege::require_admin(self.account, Privileges::SUPER, &["SET_ANY_DEFINER"], needed)?;
        match self.accounts.find(user, host) {
            Some(definer) => self.require_change_of(definer),
            None => {
                let needed = "SUPER or ALLOW_NONEXISTENT_DEFINER";
                let names = &["ALLOW_NONEXISTENT_DEFINER"];
                privilege::require_admin(self.account, Privileges::SUPER, names, needed)
            }
        }
    }

    /// Creating, dropping or renaming an account that stored routines or events name as their definer: 4006 (`operation` failed) without
    /// ALLOW_NONEXISTENT_DEFINER, otherwise a warning to give.
    pub(super) fn require_change_of_definer(
        &self,
        catalog: &Catalog,
        operation: &str,
        (user, host): (&str, &str),
        notes: &mut Vec<Diagnostic>,
    ) -> Outcome {
        let what = if catalog.routines.have_definer(user, host) {
            "a stored routine"
        } else if catalog.events.have_definer(user, host) {
            "an event"
        } else {
            return Ok(());
        };
        let shown = format!("'{user}'@'{host}'");
        if !privilege::has_dynamic(self.account, "ALLOW_NONEXISTENT_DEFINER") {
            return Err(ER_CANNOT_USER_REFERENCED_AS_DEFINER.with(&[&operation, &shown, &what]));
        }
        let note = ER_USER_REFERENCED_AS_DEFINER.note(&[&shown, &what]);
        notes.push(Diagnostic { level: Level::Warning, ..note });
        Ok(())
    }

    /// Changing or dropping a routine of a definer with SYSTEM_USER.
    pub(crate) fn require_routine_of(&self, user: &str, host: &str) -> Outcome {
        self.accounts.find(user, host).map_or(Ok(()), |definer| self.require_change_of(definer))
    }
}
