//! CREATE, ALTER and DROP PROCEDURE, and the listings of SHOW.

use std::sync::Arc;

use catalog::{DataAccess, Privileges, RoutineDefinition, RoutineKind};
use service::error as e;
use service::{Outcome, Reply, SqlError};
use syntax::ast::{self, AlterRoutine, Characteristics, CreateRoutine, DropRoutine, ObjectName, Span};
use types::collation::CollationId;
use types::{DataType, TypeKind};

use crate::backend::Backend;
use crate::conversation::Session;
use crate::conversation::access::AccountAdmin;
use crate::conversation::current_account::CurrentAccount;
use crate::conversation::listing::{Listing, text};
use crate::conversation::lock_tables;
use crate::conversation::names::Names;
use crate::conversation::routine_grants;
use crate::errors::not_supported;
use crate::privilege::{self, SessionAccount};
use crate::routine::compile;
use crate::routine::program::Instruction;
use crate::status::StatementKind;
use crate::system_schemas::rows::Cell;
use crate::variables::definition::known;
use crate::variables::sql_mode::SqlModes;

type Result<T> = std::result::Result<T, Box<SqlError>>;

/// Most characters of a routine's name.
const NAME_CHARS_MAX: usize = 64;

fn kind_of(kind: ast::RoutineKind) -> RoutineKind {
    match kind {
        ast::RoutineKind::Procedure => RoutineKind::Procedure,
        ast::RoutineKind::Function => RoutineKind::Function,
    }
}

fn utf8(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Puts what was written of `said` into a definition.
fn apply(said: &Characteristics<'_>, definition: &mut RoutineDefinition) {
    if let Some(comment) = said.comment {
        definition.comment = utf8(comment).into();
    }
    if let Some(invoker) = said.invoker {
        definition.invoker = invoker;
    }
    if let Some(deterministic) = said.deterministic {
        definition.deterministic = deterministic;
    }
    if let Some(access) = said.data_access {
        definition.data_access = match access {
            ast::DataAccess::ContainsSql => DataAccess::ContainsSql,
            ast::DataAccess::NoSql => DataAccess::NoSql,
            ast::DataAccess::ReadsSqlData => DataAccess::ReadsSqlData,
            ast::DataAccess::ModifiesSqlData => DataAccess::ModifiesSqlData,
        };
    }
}

/// Schema and name of a routine.
fn routine_name(names: Names<'_>, name: &ObjectName<'_>) -> Result<(String, String)> {
    names.table(name)
}

/// CREATE PROCEDURE, CREATE FUNCTION.
pub(crate) fn create_routine<B: Backend>(
    session: &mut Session<B>,
    create: &CreateRoutine<'_>,
    sql: &[u8],
    reply: &mut Reply<'_>,
) -> Outcome {
    let kind = kind_of(create.kind);
    let Some(body) = create.body else { return Err(not_supported("LANGUAGE")) };
    let (schema, name) = routine_name(session.names(), &create.name)?;
    session.count(match kind {
        RoutineKind::Procedure => StatementKind::CreateProcedure,
        RoutineKind::Function => StatementKind::CreateFunction,
    });
    let catalog = session.shared.core.catalog().load();
    let Some(found) = catalog.schema(&schema) else { return Err(e::ER_BAD_DB_ERROR.with(&[&schema])) };
    privilege::require_schema(&session.account, &schema, Privileges::CREATE_ROUTINE)?;
    if found.system {
        return Err(privilege::schema_denied(&session.account, &schema));
    }
    if name.is_empty() || name.ends_with(' ') {
        return Err(e::ER_SP_WRONG_NAME.with(&[&name]));
    }
    if name.chars().count() > NAME_CHARS_MAX {
        return Err(e::ER_TOO_LONG_IDENT.with(&[&name]));
    }
    let mode = session.variables.settings().sql_mode;
    let settings = compile::Settings { text: sql, collation: found.collation, strict: mode.is_strict() };
    let mut warnings = Vec::new();
    let program = compile::compile(create, body, &settings, &mut warnings)?;
    if kind == RoutineKind::Function {
        let returns = |instruction: &Instruction| matches!(instruction, Instruction::ReturnValue(_));
        if !program.instructions.iter().any(returns) {
            return Err(e::ER_SP_NORETURN.with(&[&format!("{schema}.{name}")]));
        }
        if plan::function::is_native(&name) {
            warnings.insert(0, e::ER_NATIVE_FCT_NAME_COLLISION.note(&[&name]));
        }
    }
    let definer = definer(&session.account, create.definer.as_ref());
    require_definer(&session.account, &definer, &catalog)?;
    let cut = |span: Span| utf8(sql.get(span.start as usize..span.end as usize).unwrap_or_default());
    let now = session.functions.now_micros(&session.shared.core);
    let mut definition = RoutineDefinition {
        id: session.shared.backend.new_routine_id(),
        kind,
        schema: Arc::clone(&found.name),
        name: name.into(),
        parameters: cut(create.parameters_span).into(),
        returns: program.returns.as_ref().map(shown_type).unwrap_or_default().into(),
        body: cut(body.span).into(),
        definer,
        invoker: false,
        deterministic: false,
        data_access: DataAccess::default(),
        comment: "".into(),
        sql_mode: mode.0,
        client_charset: session.variables.settings().client_charset,
        connection_collation: session.variables.settings().connection_collation,
        database_collation: found.collation,
        created_micros: now,
        modified_micros: now,
    };
    apply(&create.characteristics, &mut definition);
    define_program(session, reply, |session, reply| {
        store_routine(session, definition, create.if_not_exists, &mut warnings)?;
        session.diagnostics.extend(warnings, session.variables.settings().diagnostics);
        session.send_ok(reply)
    })
}

/// A type as SHOW CREATE FUNCTION writes it: with its character set, and with its collation unless that is the set's default.
fn shown_type(data_type: &DataType) -> String {
    let mut out = Vec::new();
    data_type.print_sql(&mut out);
    let mut shown = utf8(&out);
    let has_characters =
        data_type.members.is_some() || data_type.is_string() && !data_type.is_binary_string();
    if has_characters && data_type.kind != TypeKind::Json {
        let charset = data_type.collation.charset();
        shown = format!("{shown} CHARSET {}", charset.name());
        if charset.default_collation() != data_type.collation {
            shown = format!("{shown} COLLATE {}", data_type.collation.name());
        }
    }
    shown
}

/// Changes a routine or event: commits what is open, and changes definitions as every definition does.
pub(in crate::conversation) fn define_program<B: Backend>(
    session: &mut Session<B>,
    reply: &mut Reply<'_>,
    run: impl FnOnce(&mut Session<B>, &mut Reply<'_>) -> Outcome,
) -> Outcome {
    session.tables.commit(&session.shared, &session.variables)?;
    session.tables.wait_for_commit(reply);
    session.tables.require_writable_definitions(&session.shared, &session.variables, &session.account)?;
    session.tables.enter_change(&session.shared, &session.variables, false)?;
    lock_tables::with_backup_lock(session, |session| run(session, reply))
}

/// Stores a new routine with the privileges of its maker; gives a note if it is there. Schema and definer count as they are when no other definition
/// changes.
fn store_routine<B: Backend>(
    session: &mut Session<B>,
    definition: RoutineDefinition,
    if_not_exists: bool,
    warnings: &mut Vec<service::Diagnostic>,
) -> Outcome {
    let (word, name) = (definition.kind.word(), Arc::clone(&definition.name));
    let grants = grants_automatically(session);
    let is_new = session.shared.backend.change_routines(|routines, accounts, catalog| {
        if catalog.schema(&definition.schema).is_none() {
            return Err(e::ER_BAD_DB_ERROR.with(&[&definition.schema]));
        }
        warnings.extend(require_definer(&session.account, &definition.definer, catalog)?);
        if routines.get(&definition.schema, definition.kind, &definition.name).is_none() {
            if grants {
                let (kind, schema) = (definition.kind, &definition.schema);
                routine_grants::grant_new_routine(accounts, &session.account, kind, schema, &name);
            }
            routines.insert(Arc::new(definition));
            return Ok(true);
        }
        if if_not_exists { Ok(false) } else { Err(e::ER_SP_ALREADY_EXISTS.with(&[&word, &name])) }
    })?;
    if is_new {
        session.account.renew(&session.shared.core);
    } else {
        let note = e::ER_SP_ALREADY_EXISTS.note(&[&word, &name]);
        session.diagnostics.push(note, session.variables.settings().diagnostics);
    }
    Ok(())
}

/// Whether who makes a routine may run and alter it, and privileges on it are dropped with it.
fn grants_automatically<B: Backend>(session: &Session<B>) -> bool {
    session.shared.core.globals().boolean(known::automatic_sp_privileges())
}

/// The account a new routine belongs to.
pub(in crate::conversation) fn definer(
    account: &CurrentAccount,
    written: Option<&ast::Account<'_>>,
) -> (Arc<str>, Arc<str>) {
    match written.filter(|account| !account.current) {
        Some(account) => (utf8(account.user).into(), utf8(account.host).to_lowercase().into()),
        None => (Arc::clone(&account.user), Arc::clone(&account.host)),
    }
}

/// Whether a new routine may belong to it: 1227 for another account unless this one may, and note 1449 if there is none.
pub(in crate::conversation) fn require_definer(
    account: &CurrentAccount,
    (user, host): &(Arc<str>, Arc<str>),
    catalog: &catalog::Catalog,
) -> Result<Option<service::Diagnostic>> {
    if *account.user == **user && *account.host == **host {
        return Ok(None);
    }
    AccountAdmin::new(account, &catalog.accounts).require_definer(user, host)?;
    let is_missing = catalog.accounts.find(user, host).is_none();
    Ok(is_missing.then(|| e::ER_NO_SUCH_USER.note(&[user, host])))
}

/// The routine `name`, if the account may alter it.
fn alterable<B: Backend>(
    session: &Session<B>,
    kind: RoutineKind,
    name: &ObjectName<'_>,
) -> Result<Option<Arc<RoutineDefinition>>> {
    let (schema, own) = routine_name(session.names(), name)?;
    let allowed = privilege::on_routine(&session.account, &schema, kind, &own);
    if !allowed.contains(Privileges::ALTER_ROUTINE) {
        return Err(privilege::routine_denied(&session.account, &format!("{schema}.{own}"), "alter routine"));
    }
    let catalog = session.shared.core.catalog().load();
    let found = catalog.routines.get(&schema, kind, &own).map(Arc::clone);
    if let Some(routine) = &found {
        let (user, host) = &routine.definer;
        AccountAdmin::new(&session.account, &catalog.accounts).require_routine_of(user, host)?;
    }
    Ok(found)
}

/// ALTER PROCEDURE, ALTER FUNCTION.
pub(crate) fn alter_routine<B: Backend>(
    session: &mut Session<B>,
    alter: &AlterRoutine<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let kind = kind_of(alter.kind);
    session.count(match kind {
        RoutineKind::Procedure => StatementKind::AlterProcedure,
        RoutineKind::Function => StatementKind::AlterFunction,
    });
    let (schema, name) = routine_name(session.names(), &alter.name)?;
    let missing = || e::ER_SP_DOES_NOT_EXIST.with(&[&kind.word(), &format!("{schema}.{name}")]);
    let found = alterable(session, kind, &alter.name)?.ok_or_else(missing)?;
    let now = session.functions.now_micros(&session.shared.core);
    define_program(session, reply, |session, reply| {
        session.shared.backend.change_routines(|routines, _, _| {
            // What another session did in between counts.
            let now_there = routines.get(&found.schema, kind, &found.name);
            let mut definition = RoutineDefinition::clone(now_there.ok_or_else(missing)?);
            apply(&alter.characteristics, &mut definition);
            definition.modified_micros = now;
            routines.insert(Arc::new(definition));
            Ok(())
        })?;
        session.send_ok(reply)
    })
}

/// DROP PROCEDURE, DROP FUNCTION.
pub(crate) fn drop_routine<B: Backend>(
    session: &mut Session<B>,
    drop: &DropRoutine<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let kind = kind_of(drop.kind);
    session.count(match kind {
        RoutineKind::Procedure => StatementKind::DropProcedure,
        RoutineKind::Function => StatementKind::DropFunction,
    });
    let (schema, name) = routine_name(session.names(), &drop.name)?;
    let shown = format!("{schema}.{name}");
    let found = alterable(session, kind, &drop.name)?;
    let revokes = grants_automatically(session);
    define_program(session, reply, |session, reply| {
        let is_dropped = session.shared.backend.change_routines(|routines, accounts, _| {
            let found =
                found.and_then(|found| routines.get(&found.schema, kind, &found.name).map(Arc::clone));
            match found {
                Some(found) => {
                    if revokes {
                        routine_grants::revoke_dropped_routine(accounts, kind, &schema, &name);
                    }
                    Ok(routines.remove(&found).is_some())
                }
                None if drop.if_exists => Ok(false),
                None => Err(e::ER_SP_DOES_NOT_EXIST.with(&[&kind.word(), &shown])),
            }
        })?;
        if is_dropped {
            session.account.renew(&session.shared.core);
        } else {
            let note = e::ER_SP_DOES_NOT_EXIST.note(&[&kind.word(), &shown]);
            session.diagnostics.push(note, session.variables.settings().diagnostics);
        }
        session.send_ok(reply)
    })
}

/// SHOW CREATE PROCEDURE, SHOW CREATE FUNCTION.
pub(in crate::conversation) fn show_create_routine(
    account: &SessionAccount,
    names: &Names<'_>,
    kind: RoutineKind,
    name: &ObjectName<'_>,
) -> Result<Listing> {
    let (schema, own) = names.table(name)?;
    let catalog = names.core.catalog().load();
    let missing = || e::ER_SP_DOES_NOT_EXIST.with(&[&kind.word(), &own]);
    let found = catalog.routines.get(&schema, kind, &own).ok_or_else(missing)?;
    if !privilege::sees_routine(account, found) {
        return Err(missing());
    }
    let (first, third) = match kind {
        RoutineKind::Procedure => ("Procedure", "Create Procedure"),
        RoutineKind::Function => ("Function", "Create Function"),
    };
    let long = DataType::text(TypeKind::LongText, CollationId::UTF8MB4_0900_AI_CI);
    let mut listing = Listing::new(&[
        (first, text(64)),
        ("sql_mode", text(1024)),
        (third, long),
        ("character_set_client", text(64)),
        ("collation_connection", text(64)),
        ("Database Collation", text(64)),
    ]);
    let body_seen = privilege::sees_routine_body(account, found);
    let created = catalog::show_create_routine(found);
    listing.push(&[
        Cell::Text(&found.name),
        Cell::Text(&SqlModes(found.sql_mode).names()),
        if body_seen { Cell::Text(&created) } else { Cell::Null },
        Cell::Text(found.client_charset.name()),
        Cell::Text(found.connection_collation.name()),
        Cell::Text(found.database_collation.name()),
    ]);
    Ok(listing)
}

/// SHOW PROCEDURE STATUS, SHOW FUNCTION STATUS: without the columns' filter.
pub(in crate::conversation) fn show_routine_status(
    account: &SessionAccount,
    names: &Names<'_>,
    kind: RoutineKind,
    like: Option<&[u8]>,
) -> Listing {
    let mut listing = Listing::new(&[
        ("Db", text(64)),
        ("Name", text(64)),
        ("Type", text(9)),
        ("Language", text(64)),
        ("Definer", text(288)),
        ("Modified", DataType::temporal(TypeKind::Timestamp, 0)),
        ("Created", DataType::temporal(TypeKind::Timestamp, 0)),
        ("Security_type", text(7)),
        ("Comment", DataType::text(TypeKind::Text, CollationId::UTF8MB4_0900_AI_CI)),
        ("character_set_client", text(64)),
        ("collation_connection", text(64)),
        ("Database Collation", text(64)),
    ]);
    let catalog = names.core.catalog().load();
    for routine in catalog.routines.sorted() {
        let name = routine.name.as_bytes();
        let is_like =
            |pattern: &[u8]| CollationId::UTF8MB4_0900_AI_CI.like(name, pattern, Some(u32::from(b'\\')));
        if routine.kind != kind || !privilege::sees_routine(account, routine) || !like.is_none_or(is_like) {
            continue;
        }
        listing.push(&[
            Cell::Text(&routine.schema),
            Cell::Text(&routine.name),
            Cell::Text(kind.word()),
            Cell::Text("SQL"),
            Cell::Text(&format!("{}@{}", routine.definer.0, routine.definer.1)),
            Cell::Micros(routine.modified_micros),
            Cell::Micros(routine.created_micros),
            Cell::Text(if routine.invoker { "INVOKER" } else { "DEFINER" }),
            Cell::Text(&routine.comment),
            Cell::Text(routine.client_charset.name()),
            Cell::Text(routine.connection_collation.name()),
            Cell::Text(routine.database_collation.name()),
        ]);
    }
    listing
}
