//! LOCK TABLES, UNLOCK TABLES, FLUSH TABLES ... WITH READ LOCK and FOR EXPORT, LOCK INSTANCE FOR BACKUP.
//!
//! LOCK TABLES takes the metadata locks of all its tables together, for reading only or alone, and until UNLOCK TABLES the
//! session may use these tables and no others, each reference by a lock of its own (MySQL's rule: a statement that names a
//! table twice needs two locks, one by an alias). Statements inside take no metadata locks: the session has them.
//!
//! What ends it: UNLOCK TABLES (commits first), another LOCK TABLES, START TRANSACTION, COM_RESET_CONNECTION, the end of the
//! connection. COMMIT and ROLLBACK do not. The global read lock outlives START TRANSACTION, as dump tools rely on.
//!
//! What a session keeps of them, and the locks of the statements inside: [`super::locks`].

use std::sync::Arc;

use access::MetadataWait;
use catalog::TableKind;
use service::error::{
    ER_LOCK_OR_ACTIVE_TRANSACTION, ER_NO_SUCH_TABLE, ER_NONUNIQ_TABLE, ER_TABLE_IN_SYSTEM_TABLESPACE,
    ER_WRONG_OBJECT,
};
use service::{Diagnostic, Level, Outcome, Reply, SqlError};
use syntax::ast::{LockTable, ObjectName, Statement, TableLock};

use super::Session;
use super::locks::LockedTable;
use super::names::{Names, name_text};
use super::table_state::TableState;
use crate::backend::Backend;
use crate::status::StatementKind;
use crate::temporary::TemporaryTables;

fn alias_of<'a>(table: &LockTable<'a>) -> &'a [u8] {
    table.alias.map_or(table.name.name.text, |alias| alias.text)
}

/// Runs a statement that changes definitions or accounts; waits while another session has locked the instance. The
/// session that has may go on itself.
///
/// # Errors
/// 1205, 1317, and `run`'s.
pub(crate) fn with_backup_lock<B: Backend, R, E: From<Box<SqlError>>>(
    session: &mut Session<B>,
    run: impl FnOnce(&mut Session<B>) -> Result<R, E>,
) -> Result<R, E> {
    let backend = Arc::clone(&session.shared.backend);
    let _under_way = session.shared.with_lock_wait(&session.variables, false, |lock_wait| {
        session.tables.locks.begin_change(&backend, lock_wait)
    })?;
    run(session)
}

/// Under LOCK TABLES: what a definition may touch.
///
/// # Errors
/// 1099, 1100, 1192.
pub(crate) fn require_locked_definition<B: Backend>(
    tables: &TableState<B>,
    names: Names<'_>,
    statement: &Statement<'_>,
) -> Outcome {
    if !tables.locks.has_tables() {
        return Ok(());
    }
    let locked = |name: &ObjectName<'_>| {
        let (schema, table) = names.table(name)?;
        tables.require_locked(&schema, &table, true)
    };
    match statement {
        Statement::CreateDatabase(_)
        | Statement::AlterDatabase(_)
        | Statement::DropDatabase { .. }
        | Statement::CreateView(_)
        | Statement::DropView { .. } => Err(ER_LOCK_OR_ACTIVE_TRANSACTION.bare()),
        Statement::CreateTable(create) if create.temporary => Ok(()),
        Statement::CreateTable(create) => {
            let (schema, table) = names.table(&create.name)?;
            tables.require_locked(&schema, &table, false)
        }
        Statement::AlterTable(alter) => locked(&alter.table),
        Statement::DropTable(drop) if drop.temporary => Ok(()),
        Statement::DropTable(drop) => drop.names.iter().try_for_each(locked),
        Statement::Truncate(name) => locked(name),
        Statement::RenameTable(pairs) => pairs.iter().try_for_each(|(from, _)| locked(from)),
        Statement::CreateIndex(create) => locked(&create.table),
        Statement::DropIndex(drop) => locked(&drop.table),
        _ => Ok(()),
    }
}

/// Under LOCK TABLES: follows the names of what a definition dropped or renamed.
pub(crate) fn follow_definition<B: Backend>(session: &mut Session<B>, statement: &Statement<'_>) -> Outcome {
    if !session.tables.locks.has_tables() {
        return Ok(());
    }
    let mut renamed: Vec<((String, String), (String, String))> = Vec::new();
    match statement {
        Statement::DropTable(drop) if !drop.temporary => {
            for name in drop.names {
                let (schema, table) = session.names().table(name)?;
                session.tables.locks.forget(&schema, &table);
            }
        }
        Statement::RenameTable(pairs) => {
            for (from, to) in *pairs {
                renamed.push((session.names().table(from)?, session.names().table(to)?));
            }
        }
        Statement::AlterTable(alter) => {
            for action in alter.actions {
                if let syntax::ast::AlterAction::RenameTable(to) = action {
                    renamed.push((session.names().table(&alter.table)?, session.names().table(to)?));
                }
            }
        }
        _ => {}
    }
    for (from, to) in &renamed {
        session.tables.locks.rename(from, to);
    }
    if session.tables.locks.is_without_tables() {
        session.tables.release_locked(&session.shared);
    }
    Ok(())
}

/// LOCK TABLES.
pub(super) fn lock_tables<B: Backend>(
    session: &mut Session<B>,
    wanted: &[LockTable<'_>],
    reply: &mut Reply<'_>,
) -> Outcome {
    session.count(StatementKind::LockTables);
    for (index, table) in wanted.iter().enumerate() {
        if wanted[..index].iter().any(|before| alias_of(before) == alias_of(table)) {
            return Err(ER_NONUNIQ_TABLE.with(&[&name_text(alias_of(table))]));
        }
    }
    let tables = wanted.iter().map(|table| {
        let write = table.mode == TableLock::Write;
        (table.name, table.alias.map(|alias| name_text(alias.text)), write)
    });
    lock_named(session, tables.collect(), true, reply)?;
    session.send_ok(reply)
}

/// Locks tables by name, alias and whether for writing. `sees_temporary`: a name may be that of a temporary table.
fn lock_named<B: Backend>(
    session: &mut Session<B>,
    wanted: Vec<(ObjectName<'_>, Option<String>, bool)>,
    sees_temporary: bool,
    reply: &mut Reply<'_>,
) -> Outcome {
    let mut tables = Vec::with_capacity(wanted.len());
    for (name, alias, write) in wanted {
        let (schema, name) = session.names().table(&name)?;
        let alias = alias.unwrap_or_else(|| name.clone());
        tables.push(LockedTable { schema, name, alias, write });
    }
    // What was locked before and what is open ends here, whether or not the new tables can be had.
    session.tables.commit(&session.shared, &session.variables)?;
    session.tables.wait_for_commit(reply);
    if tables.iter().any(|table| table.write) {
        session.tables.require_write_access(&session.variables)?;
    }
    // What the commit said of this session is over: others may wait for what it is going to wait for.
    session.shared.leave_change();
    session.tables.release_locked(&session.shared);
    let control = &session.shared.control;
    let killed = || control.is_killed();
    let lock_wait = MetadataWait { time: session.variables.lock_wait(), killed: &killed, may_requeue: false };
    let none = TemporaryTables::default();
    let names = Names {
        core: &session.shared.core,
        database: session.database.as_ref(),
        temporary: if sees_temporary { &session.tables.temporary } else { &none },
    };
    let changing = &session.shared.process.changing;
    session.tables.locks.lock_tables(tables, || names.catalog(), &session.shared.core, changing, lock_wait)
}

/// UNLOCK TABLES: releases what LOCK TABLES and FLUSH TABLES WITH READ LOCK took.
pub(super) fn unlock_tables<B: Backend>(session: &mut Session<B>, reply: &mut Reply<'_>) -> Outcome {
    session.count(StatementKind::UnlockTables);
    if session.tables.locks.has_tables() {
        session.tables.commit(&session.shared, &session.variables)?;
        session.tables.wait_for_commit(reply);
        session.tables.release_locked(&session.shared);
    }
    session.tables.locks.release_read_lock(&session.shared.core);
    session.send_ok(reply)
}

/// `FLUSH TABLES [names] [WITH READ LOCK | FOR EXPORT]`.
pub(super) fn flush_tables<B: Backend>(
    session: &mut Session<B>,
    names: &[ObjectName<'_>],
    read_lock: bool,
    export: bool,
    reply: &mut Reply<'_>,
) -> Outcome {
    let locks = read_lock || export;
    if locks && session.tables.locks.has_tables() {
        return Err(ER_LOCK_OR_ACTIVE_TRANSACTION.bare());
    }
    match (names, locks) {
        ([], true) => flush_with_read_lock(session, reply),
        (names, true) => flush_and_lock(session, names, export, reply),
        // Nothing is cached that a flush would close. Under LOCK TABLES only what is locked for writing is flushed.
        (names, false) => {
            if names.is_empty() {
                session.tables.locks.require_all_for_write()?;
            }
            for name in names {
                let (schema, table) = session.names().table(name)?;
                session.tables.require_locked(&schema, &table, true)?;
            }
            session.tables.commit(&session.shared, &session.variables)?;
            session.tables.wait_for_commit(reply);
            session.send_ok(reply)
        }
    }
}

/// Locks tables for reading. For an export each is warned of: all tables lie in one file, as those of MySQL's system tablespace do.
fn flush_and_lock<B: Backend>(
    session: &mut Session<B>,
    names: &[ObjectName<'_>],
    export: bool,
    reply: &mut Reply<'_>,
) -> Outcome {
    session.tables.commit(&session.shared, &session.variables)?;
    session.tables.wait_for_commit(reply);
    session.tables.require_write_access(&session.variables)?;
    let mut tables: Vec<(String, String)> = Vec::with_capacity(names.len());
    for name in names {
        let (schema, table) = session.names().table(name)?;
        if tables.iter().any(|(_, before)| *before == table) {
            return Err(ER_NONUNIQ_TABLE.with(&[&table]));
        }
        // Temporary tables are not looked at.
        let catalog = session.shared.core.catalog().load();
        let found = catalog.table(&schema, &table).map(|entry| entry.definition.kind);
        match found {
            None => return Err(ER_NO_SUCH_TABLE.with(&[&schema, &table])),
            Some(TableKind::View) => return Err(ER_WRONG_OBJECT.with(&[&schema, &table, &"BASE TABLE"])),
            Some(_) => tables.push((schema, table)),
        }
    }
    lock_named(session, names.iter().map(|name| (*name, None, false)).collect(), false, reply)?;
    if export {
        let settings = session.variables.settings().diagnostics;
        for (schema, table) in tables {
            let message = format!("InnoDB: Table '`{schema}`.`{table}`' in system tablespace");
            let warning = Diagnostic {
                level: Level::Warning,
                number: ER_TABLE_IN_SYSTEM_TABLESPACE.number,
                state: *b"HY000",
                message,
            };
            session.diagnostics.push(warning, settings);
        }
    }
    session.send_ok(reply)
}

fn flush_with_read_lock<B: Backend>(session: &mut Session<B>, reply: &mut Reply<'_>) -> Outcome {
    session.tables.commit(&session.shared, &session.variables)?;
    session.tables.wait_for_commit(reply);
    session.shared.leave_change();
    let control = &session.shared.control;
    let killed = || control.is_killed();
    let lock_wait = MetadataWait { time: session.variables.lock_wait(), killed: &killed, may_requeue: false };
    session.tables.locks.hold_read_lock(&session.shared.core, control.connection_id, lock_wait)?;
    session.send_ok(reply)
}

/// LOCK INSTANCE FOR BACKUP: no definition changes until UNLOCK INSTANCE.
pub(super) fn lock_instance<B: Backend>(session: &mut Session<B>, reply: &mut Reply<'_>) -> Outcome {
    let control = &session.shared.control;
    let killed = || control.is_killed();
    let lock_wait = MetadataWait { time: session.variables.lock_wait(), killed: &killed, may_requeue: false };
    session.tables.locks.hold_backup_lock(&session.shared.backend, lock_wait)?;
    session.send_ok(reply)
}

/// UNLOCK INSTANCE.
pub(super) fn unlock_instance<B: Backend>(session: &mut Session<B>, reply: &mut Reply<'_>) -> Outcome {
    session.tables.locks.release_backup_lock(&session.shared.backend);
    session.send_ok(reply)
}
