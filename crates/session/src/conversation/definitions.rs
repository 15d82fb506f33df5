//! Statements that define: privileges and implicit commits around `backend::Definitions`, and what a session itself adds: AS SELECT,
//! table maintenance, COM_FIELD_LIST.

use std::sync::Arc;

use ::access::MetadataMode;
use catalog::{Privileges, TableEntry, TableKind};
use exec::output::{ResultColumn, encode_columns_with_defaults};
use plan::logical::{Created, OutputSource};
use service::error::{ER_BAD_DB_ERROR, ER_CANT_UPDATE_TABLE_IN_CREATE_TABLE_SELECT, ER_NO_DB_ERROR};
use service::{OkSummary, Outcome, Reply, SqlError};
use syntax::ast::{AlterAction, Maintain, MaintainKind, ObjectName, Statement};
use types::collation::CollationId;
use types::{DataType, TypeKind, ValueRef};

use super::attempt::Attempt;
use super::histogram;
use super::listing::{self, Listing, text};
use super::lock_tables;
use super::names::name_text;
use super::run;
use super::triggers;
use super::views;
use super::{Session, access};
use crate::backend::{
    Backend, CheckDepth, Defined, Definition, DefinitionContext, DefinitionSession, SelectedColumn,
};
use crate::errors::not_supported;
use crate::privilege;
use crate::status::StatementKind;
use crate::system_schemas::rows::Cell;
use crate::variables::definition::known;

type Result<T> = std::result::Result<T, Box<SqlError>>;

/// Counts a defining statement.
pub(super) fn count_definition<B: Backend>(session: &Session<B>, statement: &Statement<'_>) {
    let kind = match statement {
        Statement::CreateDatabase(_) => StatementKind::CreateDb,
        Statement::AlterDatabase(_) => StatementKind::AlterDb,
        Statement::DropDatabase { .. } => StatementKind::DropDb,
        Statement::CreateTable(_) => StatementKind::CreateTable,
        Statement::AlterTable(_) => StatementKind::AlterTable,
        Statement::DropTable(_) => StatementKind::DropTable,
        Statement::Truncate(_) => StatementKind::Truncate,
        Statement::RenameTable(_) => StatementKind::RenameTable,
        Statement::CreateIndex(_) => StatementKind::CreateIndex,
        Statement::DropIndex(_) => StatementKind::DropIndex,
        Statement::CreateView(_) => StatementKind::CreateView,
        Statement::DropView { .. } => StatementKind::DropView,
        Statement::CreateTrigger(_) => StatementKind::CreateTrigger,
        Statement::DropTrigger { .. } => StatementKind::DropTrigger,
        _ => return,
    };
    session.count(kind);
}

/// Runs a defining statement: commits what is open, changes definitions, answers when that is durable.
pub(crate) fn run_ddl<B: Backend>(
    session: &mut Session<B>,
    statement: &Statement<'_>,
    sql: &[u8],
    reply: &mut Reply<'_>,
) -> Attempt<()> {
    let keeps_transaction = matches!(statement, Statement::CreateTable(create) if create.temporary)
        || matches!(statement, Statement::DropTable(drop) if drop.temporary);
    if !keeps_transaction {
        session.tables.commit(&session.shared, &session.variables)?;
        session.tables.wait_for_commit(reply);
    } else if session.tables.transaction.branch().is_some() {
        let uses_any = makes_or_drops_temporary(session, statement)?;
        if let Some(branch) = session.tables.transaction.branch_mut() {
            branch.require_tables(|| uses_any)?;
        }
    }
    session.tables.require_writable_definitions(&session.shared, &session.variables, &session.account)?;
    lock_tables::require_locked_definition(&session.tables, session.names(), statement)?;
    if !keeps_transaction {
        session.tables.enter_change(&session.shared, &session.variables, false)?;
        return lock_tables::with_backup_lock(session, |session| define(session, statement, sql, reply));
    }
    define(session, statement, sql, reply)?;
    session.tables.transaction.note_temporary_definition(matches!(statement, Statement::CreateTable(_)));
    Ok(())
}

/// Whether CREATE TEMPORARY TABLE or DROP TEMPORARY TABLE has anything to do with a temporary table: there may be none of the names.
fn makes_or_drops_temporary<B: Backend>(session: &Session<B>, statement: &Statement<'_>) -> Result<bool> {
    let Statement::DropTable(drop) = statement else { return Ok(true) };
    let names = session.names();
    for name in drop.names {
        let (schema, table) = names.table(name)?;
        if names.is_temporary(&schema, &table) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn define<B: Backend>(
    session: &mut Session<B>,
    statement: &Statement<'_>,
    sql: &[u8],
    reply: &mut Reply<'_>,
) -> Attempt<()> {
    if let Statement::CreateTable(create) = statement
        && let Some(query) = create.query
    {
        return create_table_as(session, create, query, sql, reply);
    }
    if let Statement::CreateView(create) = statement {
        let view = views::new_view(session, create, sql)?;
        let outcome = change_definition(session, sql, Definition::CreateView(&view))?;
        return Ok(send_ddl_outcome(session, &outcome, reply)?);
    }
    if let Statement::CreateTrigger(create) = statement {
        let trigger = triggers::new_trigger(session, create, sql)?;
        let outcome = change_definition(session, sql, Definition::CreateTrigger(&trigger))?;
        return Ok(send_ddl_outcome(session, &outcome, reply)?);
    }
    if let Statement::DropTrigger { if_exists, name } = statement {
        let outcome = match triggers::dropped(session, *if_exists, name)? {
            Some((table, name)) => {
                session.tables.require_locked(&table.schema, &table.name, true)?;
                let (schema, table) = (&*table.schema, &*table.name);
                let definition = Definition::DropTrigger { schema, table, name: &name };
                change_definition(session, sql, definition)?
            }
            None => Defined::default(),
        };
        return Ok(send_ddl_outcome(session, &outcome, reply)?);
    }
    let definition = definition_of(statement).ok_or_else(|| not_supported("this definition"))?;
    let outcome = change_definition(session, sql, definition)?;
    if let Statement::DropDatabase { name, .. } = statement {
        session.forget_database(&name_text(name.text));
    }
    lock_tables::follow_definition(session, statement)?;
    Ok(send_ddl_outcome(session, &outcome, reply)?)
}

fn send_ddl_outcome<B: Backend>(
    session: &mut Session<B>,
    outcome: &Defined,
    reply: &mut Reply<'_>,
) -> Outcome {
    if let Some(position) = outcome.position {
        reply.wait_for(position);
    }
    session.results.set_row_count(i64::try_from(outcome.affected_rows).unwrap_or(i64::MAX));
    // Warnings are counted when the statement has ended, which is now.
    let info = outcome.info.replace("{warnings}", &session.diagnostics.warning_count().to_string());
    reply.ok(&OkSummary {
        affected_rows: outcome.affected_rows,
        status: session.status_flags(),
        warnings: session.diagnostics.packet_count(),
        info: &info,
        ..OkSummary::default()
    })
}

/// Carries a definition out with what it needs of the session.
fn change_definition<B: Backend>(
    session: &mut Session<B>,
    sql: &[u8],
    definition: Definition<'_>,
) -> Result<Defined> {
    let core = Arc::clone(&session.shared.core);
    let zone = Arc::clone(&session.variables.settings().time_zone);
    let server_collation = core.globals().text(known::collation_server()).to_owned();
    let mut warnings = Vec::new();
    let now_micros = session.functions.now_micros(&session.shared.core);
    let control = Arc::clone(&session.shared.control);
    let time = session.variables.lock_wait();
    let lock_wait = ::access::MetadataWait { time, killed: &|| control.is_killed(), may_requeue: false };
    let depends_on = DefinitionSession {
        database: session.database.as_deref(),
        sql_mode: session.variables.settings().sql_mode.0,
        text: sql,
        zone: &zone,
        server_collation: CollationId::from_name(&server_collation)
            .unwrap_or(CollationId::UTF8MB4_0900_AI_CI),
        literal_charset: session.variables.settings().connection_collation.charset(),
        foreign_key_checks: session.variables.boolean(known::foreign_key_checks()),
        restrict_foreign_keys: session.variables.boolean(known::restrict_fk_on_non_standard_key()),
        lock_wait,
        now_micros,
    };
    let context = DefinitionContext {
        session: depends_on,
        locked_tables: session.tables.locks.kept(),
        temporary: &mut session.tables.temporary,
        warnings: &mut warnings,
    };
    let result = session.shared.backend.define(context, definition);
    session.diagnostics.extend(warnings, session.variables.settings().diagnostics);
    if !session.tables.transaction.has_begun() {
        session.tables.drop_temporary_rows(&session.shared);
    }
    result
}

/// CREATE TABLE ... AS SELECT: the table from the query's columns, then its rows as one INSERT ... SELECT.
fn create_table_as<B: Backend>(
    session: &mut Session<B>,
    create: &syntax::ast::CreateTable<'_>,
    query: &syntax::ast::Query<'_>,
    sql: &[u8],
    reply: &mut Reply<'_>,
) -> Attempt<()> {
    let owned = session.running.take_parameters();
    let values: Vec<ValueRef<'_>> = owned.iter().map(ValueRef::from).collect();
    let planned = session.planner().plan_definition(&Statement::Query(query), sql, &values)?;
    access::require_plan(&session.account, planned.physical())?;
    let plan = planned.physical();
    // A constant beside a date is the query's error, not that of a row that is stored.
    if !plan.constant_checks.is_empty() {
        super::context::with_context(session, &planned, &values, |prepared, context| {
            prepared.check_constants(&mut context.eval)
        })?;
    }
    let selected: Vec<SelectedColumn> = plan
        .output
        .iter()
        .map(|column| SelectedColumn {
            name: column.name.to_string(),
            data_type: column.created_type.as_ref().unwrap_or(&column.data_type).clone(),
            source: shown_column(plan, column),
            nullable: column.nullable,
            created: match column.source {
                _ if column.created_type.is_some() => column.created,
                source if source.is_computed() => column.created,
                _ => Created::Column,
            },
        })
        .collect();
    let outcome = change_definition(session, sql, Definition::CreateTable(create, &selected))?;
    if let Some(position) = outcome.position {
        reply.wait_for(position);
    }
    if !outcome.is_new_table {
        return Ok(session.send_ok(reply)?);
    }
    let (schema, table) = session.names().table(&create.name)?;
    let quote = |name: &str| format!("`{}`", name.replace('`', "``"));
    let columns: Vec<String> = selected.iter().map(|column| quote(&column.name)).collect();
    let word = match create.duplicates {
        syntax::ast::Duplicates::Error => "INSERT INTO",
        syntax::ast::Duplicates::Ignore => "INSERT IGNORE INTO",
        syntax::ast::Duplicates::Replace => "REPLACE INTO",
    };
    let mut text =
        format!("{word} {}.{} ({}) ", quote(&schema), quote(&table), columns.join(", ")).into_bytes();
    text.extend_from_slice(query.span.of(sql));
    let arena = bumpalo::Bump::new();
    let parsed = syntax::parse(&text, &arena, session.variables.settings().sql_mode.for_syntax())
        .map_err(|error| crate::errors::syntax_error(&error))?;
    // The table is there: what fills it cannot begin the whole statement again.
    let follows_others = session.running.follows_others();
    session.running.set_follows_others(true);
    session.traces.set_paused(true);
    // FOR UPDATE.
    let locked = plan.tables.iter().find(|table| matches!(table.lock, Some((true, _))));
    let filled = match locked {
        Some(locked) => {
            let name = &locked.entry.definition.name;
            Err(ER_CANT_UPDATE_TABLE_IN_CREATE_TABLE_SELECT.with(&[name, &table]).into())
        }
        None => run::run_planned(session, &parsed.statement, &text, &values, reply),
    };
    session.traces.set_paused(false);
    session.running.set_follows_others(follows_others);
    if filled.is_err() {
        // MySQL's statement is atomic: without its rows the table must not stay.
        let temporary = if create.temporary { "TEMPORARY " } else { "" };
        let drop = format!("DROP {temporary}TABLE {}.{}", quote(&schema), quote(&table)).into_bytes();
        let arena = bumpalo::Bump::new();
        if let Ok(parsed) = syntax::parse(&drop, &arena, session.variables.settings().sql_mode.for_syntax())
            && let Statement::DropTable(statement) = parsed.statement
        {
            change_definition(session, &drop, Definition::DropTables(statement))?;
        }
    }
    filled
}

/// ANALYZE, CHECK, OPTIMIZE, REPAIR TABLE.
pub(crate) fn maintain_tables<B: Backend>(
    session: &mut Session<B>,
    maintain: &Maintain<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    session.tables.commit(&session.shared, &session.variables)?;
    session.tables.wait_for_commit(reply);
    let operation = match maintain.kind {
        MaintainKind::Analyze => "analyze",
        MaintainKind::Check => "check",
        MaintainKind::Optimize => "optimize",
        MaintainKind::Repair => "repair",
    };
    let mut listing = Listing::new(&[
        ("Table", text(128)),
        ("Op", text(10)),
        ("Msg_type", text(10)),
        ("Msg_text", DataType::text(TypeKind::MediumText, CollationId::UTF8MB4_0900_AI_CI)),
    ]);
    if let Some(wanted) = &maintain.histogram {
        let outcome = histogram::change(session, maintain, wanted, &mut listing);
        session.tables.commit(&session.shared, &session.variables)?;
        outcome?;
        return listing::send(session, &listing, reply);
    }
    for name in maintain.tables {
        let (schema, table) = session.names().table(name)?;
        let full = format!("{schema}.{table}");
        let mut row = |kind: &str, message: &str| {
            listing.push(&[Cell::Text(&full), Cell::Text(operation), Cell::Text(kind), Cell::Text(message)]);
        };
        let entry = match session.names().entry(name) {
            Ok(entry) => entry,
            Err(error) => {
                row("Error", &error.message);
                if error.number == ER_BAD_DB_ERROR.number {
                    row("error", "Corrupt");
                } else {
                    row("status", "Operation failed");
                }
                continue;
            }
        };
        if entry.definition.kind == TableKind::View {
            if maintain.kind != MaintainKind::Check {
                let error = service::error::ER_WRONG_OBJECT.message(&[&schema, &table, &"BASE TABLE"]);
                row("Error", &error);
                row("status", "Operation failed");
            } else if let Some(error) = views::why_invalid(session, &entry.definition) {
                row("Error", &error.message);
                row("error", "Corrupt");
            } else {
                row("status", "OK");
            }
            continue;
        }
        if !session.shared.backend.looks_after(&entry) {
            // The views of information_schema are sound by nature.
            if maintain.kind == MaintainKind::Check && schema.eq_ignore_ascii_case("information_schema") {
                row("status", "OK");
            } else {
                row("note", &format!("The storage engine for the table doesn't support {operation}"));
            }
            continue;
        }
        let write = matches!(maintain.kind, MaintainKind::Repair | MaintainKind::Optimize);
        if let Err(error) = session.tables.require_locked(&schema, &table, write) {
            row("Error", &error.message);
            row("status", "Operation failed");
            continue;
        }
        if write && session.tables.locks.has_read_lock() {
            row("Error", &service::error::ER_CANT_UPDATE_WITH_READLOCK.message(&[]));
            row("status", "Operation failed");
            continue;
        }
        match maintain.kind {
            MaintainKind::Repair => {
                row("note", "The storage engine for the table doesn't support repair");
            }
            MaintainKind::Optimize => {
                row("note", "Table does not support optimize, doing recreate + analyze instead");
                match rebuild_table(session, *name, reply) {
                    Ok(()) => row("status", "OK"),
                    Err(error) => {
                        crate::limits::check_interrupted(&session.shared.control)?;
                        row("error", &error.message);
                        row("status", "Operation failed");
                    }
                }
            }
            MaintainKind::Analyze => {
                analyze(session, &entry)?;
                row("status", "OK");
            }
            MaintainKind::Check => {
                let has = |option: &str| maintain.options.contains(&option);
                let depth = match () {
                    () if has("EXTENDED") => CheckDepth::Entries,
                    () if has("QUICK") => CheckDepth::Structure,
                    () => CheckDepth::Rows,
                };
                let mut go_on = || {
                    env::blocking::tick();
                    crate::limits::check_interrupted(&session.shared.control)
                };
                let problems = session.shared.backend.check(&entry, depth, &mut go_on)?;
                for problem in &problems {
                    crate::error_log::error(&session.shared.core.env, &format!("table {full}: {problem}"));
                    row("Warning", problem);
                }
                if problems.is_empty() {
                    row("status", "OK");
                } else {
                    row("error", "Corrupt");
                }
            }
        }
    }
    listing::send(session, &listing, reply)
}

/// OPTIMIZE TABLE: rows and indexes in new trees, as ALTER TABLE ... FORCE has it; the old ones' space is free when no
/// snapshot needs them any more. Also under `read_only`: nothing that can be seen changes.
fn rebuild_table<B: Backend>(
    session: &mut Session<B>,
    name: ObjectName<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let actions = &[AlterAction::Force];
    let statement =
        syntax::ast::AlterTable { table: name, actions, algorithm: None, lock: None, validation: None };
    session.tables.enter_change(&session.shared, &session.variables, false)?;
    let outcome = lock_tables::with_backup_lock(session, |session| {
        change_definition(session, &[], Definition::AlterTable(&statement))
    })?;
    if let Some(position) = outcome.position {
        reply.wait_for(position);
    }
    let entry = session.names().entry(&name)?;
    analyze(session, &entry)
}

/// Finds out about the rows of a table, whose definition nobody changes meanwhile.
fn analyze<B: Backend>(session: &mut Session<B>, entry: &TableEntry) -> Outcome {
    session.tables.lock_entry(&session.shared, &session.variables, entry, MetadataMode::Read)?;
    let outcome = analyze_locked(session, entry);
    session.tables.commit(&session.shared, &session.variables)?;
    outcome
}

fn analyze_locked<B: Backend>(session: &Session<B>, entry: &TableEntry) -> Outcome {
    // It may have changed before the lock was taken.
    let definition = &entry.definition;
    let catalog = session.names().catalog();
    let newest = catalog.table(&definition.schema, &definition.name);
    let entry = newest.filter(|_| definition.kind != TableKind::Temporary).map_or(entry, |newest| &**newest);
    let sample_pages = session.shared.core.globals().unsigned(known::innodb_stats_persistent_sample_pages());
    let now = session.functions.now_micros(&session.shared.core);
    session.shared.backend.analyze(entry, sample_pages, now, &mut || {
        env::blocking::tick();
        crate::limits::check_interrupted(&session.shared.control)
    })
}

/// COM_FIELD_LIST: the columns of a table with their defaults.
pub(crate) fn list_fields<B: Backend>(
    session: &mut Session<B>,
    table: &[u8],
    wildcard: &[u8],
    reply: &mut Reply<'_>,
) -> Outcome {
    session.diagnostics.clear();
    let schema = session.database.clone().ok_or_else(|| ER_NO_DB_ERROR.bare())?;
    let catalog = session.catalog();
    let name = name_text(table);
    let Some(entry) = catalog.table(&schema, &name) else {
        return Err(service::error::ER_NO_SUCH_TABLE.with(&[&schema, &name]));
    };
    if !privilege::sees_table(&session.account, &schema, &name) {
        privilege::require_table(&session.account, &schema, &name, Privileges::SELECT)?;
    }
    let definition = &entry.definition;
    let wanted: Vec<_> = definition
        .columns
        .iter()
        .filter(|column| {
            wildcard.is_empty()
                || CollationId::UTF8MB4_0900_AI_CI.like(
                    column.name.as_bytes(),
                    wildcard,
                    Some(u32::from(b'\\')),
                )
        })
        .collect();
    let defaults: Vec<Option<Vec<u8>>> = wanted.iter().map(|column| listed_default(column)).collect();
    let columns = encode_columns_with_defaults(
        wanted.iter().zip(&defaults).map(|(column, default)| {
            let column = ResultColumn {
                schema: &definition.schema,
                table: &definition.name,
                original_table: &definition.name,
                name: &column.name,
                original_name: &column.name,
                data_type: &column.data_type,
                nullable: column.nullable,
                flags: 0,
                source: OutputSource::Column,
            };
            (column, default.as_deref())
        }),
        session.variables.settings().results_charset,
    );
    reply.field_list(&columns, session.status_flags())
}

/// What a statement changes; none if it changes no schema or table.
fn definition_of<'s>(statement: &'s Statement<'s>) -> Option<Definition<'s>> {
    Some(match statement {
        Statement::CreateDatabase(create) => Definition::CreateSchema(create),
        Statement::AlterDatabase(alter) => Definition::AlterSchema(alter),
        Statement::DropDatabase { name, if_exists } => Definition::DropSchema { name, if_exists: *if_exists },
        Statement::CreateTable(create) => Definition::CreateTable(create, &[]),
        Statement::AlterTable(alter) => Definition::AlterTable(alter),
        Statement::DropTable(drop) => Definition::DropTables(drop),
        Statement::Truncate(name) => Definition::TruncateTable(name),
        Statement::RenameTable(pairs) => Definition::RenameTables(pairs),
        Statement::CreateIndex(create) => Definition::CreateIndex(create),
        Statement::DropIndex(drop) => Definition::DropIndex(drop),
        Statement::DropView { names, if_exists } => Definition::DropViews { names, if_exists: *if_exists },
        _ => return None,
    })
}

/// The column of a table that a column of the result is, and whether no derived table stands between.
fn shown_column(
    plan: &plan::PhysicalPlan,
    column: &plan::logical::OutputColumn,
) -> Option<(catalog::ColumnDefinition, bool)> {
    let is_it = |table: &&plan::physical::PlanTable| {
        let definition = &table.entry.definition;
        definition.name == column.original_table && definition.schema == column.schema
    };
    let is_direct = |table: &&plan::physical::PlanTable| table.alias == column.table;
    let direct = plan.tables.iter().filter(is_it).find(is_direct);
    let definition = &direct.or_else(|| plan.tables.iter().find(is_it))?.entry.definition;
    let ordinal = definition.column_ordinal(&column.original_name)?;
    Some((definition.columns[ordinal].clone(), direct.is_some()))
}

/// A column's default as COM_FIELD_LIST tells it: where there is none, what a row holds before it is filled.
fn listed_default(column: &catalog::ColumnDefinition) -> Option<Vec<u8>> {
    use catalog::ColumnDefault;
    match &column.default {
        ColumnDefault::Literal { .. } => crate::system_schemas::columns::default_text(column),
        ColumnDefault::None if !column.nullable && column.data_type.is_string() => Some(Vec::new()),
        ColumnDefault::None if !column.nullable && !column.data_type.is_temporal() => Some(b"0".to_vec()),
        _ => None,
    }
}
