//! Triggers: their statements, the locks of what they use, and how they are fired.
//!
//! ```text
//! CREATE TRIGGER   new_trigger   compiled (all of MySQL's errors), then part of the table's definition
//! INSERT ...       lock_programs metadata locks of all tables that the triggers may use, those of triggers below too
//!                  fire          exec -> a frame with NEW and OLD in its slots -> its instructions, inside the statement
//! ```
//!
//! A session compiles a trigger once for each definition of its table, and plans each statement of it once ([`super::routines`]).
//!
//! Invariants:
//! 1. What a trigger changes of the session (diagnostics, LAST_INSERT_ID(), ROW_COUNT(), account, `sql_mode`) is as before when it
//!    has run; user variables stay.
//! 2. What a statement's triggers use is locked before the first row is changed.

use std::sync::Arc;

use ::access::MetadataMode;
use catalog::{
    Privileges, Schema, TableDefinition, TableEntry, TableKind, TriggerDefinition, TriggerEvent,
    TriggerTiming,
};
use exec::expr::{FiredRow, Firing, SqlResult, StatementGround};
use plan::logical::TableIndex;
use plan::{PhysicalPlan, StoredCall};
use service::error as e;
use service::{Capabilities, Discard, Outcome, Reply, RowFormat, SqlError};
use syntax::ast::{self, CreateTrigger, ObjectName};
use types::collation::CollationId;
use types::{DataType, TypeKind, Value};
use wire::PacketBuffer;

use super::Session;
use super::attempt::Attempt;
use super::firings::Wanted;
use super::functions;
use super::ground::{Ground, Lent};
use super::listing::{Listing, text};
use super::names::{Names, name_text};
use super::routine::{FRAMES_MAX, call, definer, require_definer, run, statement};
use crate::backend::{Backend, NewTrigger};
use crate::privilege::{self, SessionAccount};
use crate::routine::program::{EmbeddedKind, Instruction, ScopeId};
use crate::routine::{self, Routine, compile};
use crate::system_schemas::rows::Cell;
use crate::variables::sql_mode::SqlModes;

type Result<T> = std::result::Result<T, Box<SqlError>>;

/// Definitions whose locks a session remembers.
const KEPT_MAX: usize = 64;
/// Triggers and procedures below each other that are looked at for their tables.
const FIRED_DEPTH_MAX: usize = 64;

/// The events of a new trigger.
fn timing_of(timing: ast::TriggerTiming) -> TriggerTiming {
    match timing {
        ast::TriggerTiming::Before => TriggerTiming::Before,
        ast::TriggerTiming::After => TriggerTiming::After,
    }
}

fn event_of(event: ast::TriggerEvent) -> TriggerEvent {
    match event {
        ast::TriggerEvent::Insert => TriggerEvent::Insert,
        ast::TriggerEvent::Update => TriggerEvent::Update,
        ast::TriggerEvent::Delete => TriggerEvent::Delete,
    }
}

/// Schema of the trigger, its table, and its name.
///
/// # Errors
/// 1046, 1435.
pub(super) fn trigger_names(
    names: Names<'_>,
    create: &CreateTrigger<'_>,
) -> Result<(String, String, String)> {
    let (schema, name) = names.table(&create.name)?;
    let table = name_text(create.table.name.text);
    match create.table.schema {
        Some(other) if name_text(other.text) != schema => {
            let is_system = matches!(&*schema, "mysql" | "sys");
            if create.name.schema.is_none() {
                // It belongs to the schema of its table only if that is the default database.
                return Err(if is_system {
                    e::ER_NO_TRIGGERS_ON_SYSTEM_SCHEMA.bare()
                } else {
                    e::ER_TRG_IN_WRONG_SCHEMA.bare()
                });
            }
            Err(e::ER_TRG_IN_WRONG_SCHEMA.bare())
        }
        _ => Ok((schema, table, name)),
    }
}

/// CREATE TRIGGER: compiles the body and checks what the account may do.
///
/// # Errors
/// MySQL's for names, bodies and privileges.
pub(super) fn new_trigger<B: Backend>(
    session: &mut Session<B>,
    create: &CreateTrigger<'_>,
    sql: &[u8],
) -> Result<NewTrigger> {
    let (schema, table, name) = trigger_names(session.names(), create)?;
    if name.is_empty() || name.ends_with(' ') {
        return Err(e::ER_SP_WRONG_NAME.with(&[&name]));
    }
    if plan::bind::is_too_long(&name) {
        return Err(e::ER_TOO_LONG_IDENT.with(&[&name]));
    }
    let catalog = session.shared.core.catalog().load();
    let Some(found) = catalog.schema(&schema) else { return Err(e::ER_BAD_DB_ERROR.with(&[&schema])) };
    if found.system {
        return Err(match &*schema {
            "mysql" | "sys" => e::ER_NO_TRIGGERS_ON_SYSTEM_SCHEMA.bare(),
            _ => privilege::schema_denied(&session.account, &schema),
        });
    }
    if session.tables.temporary.get(&schema, &table).is_some() {
        return Err(e::ER_TRG_ON_VIEW_OR_TEMP_TABLE.with(&[&table]));
    }
    let Some(entry) = found.table(&table) else { return Err(e::ER_NO_SUCH_TABLE.with(&[&schema, &table])) };
    if entry.definition.kind != TableKind::Base {
        return Err(e::ER_WRONG_OBJECT.with(&[&schema, &table, &"BASE TABLE"]));
    }
    let mode = session.variables.settings().sql_mode;
    let settings = compile::Settings { text: sql, collation: found.collation, strict: mode.is_strict() };
    let (event, timing) = (event_of(create.event), timing_of(create.timing));
    let place = compile::TriggerPlace { table: &entry.definition, event, timing };
    let mut warnings = Vec::new();
    compile::compile_trigger(create.body, &place, mode, &settings, &mut warnings)?;
    let owner = definer(&session.account, create.definer.as_ref());
    warnings.extend(require_definer(&session.account, &owner, &catalog)?);
    let diagnostics = session.variables.settings().diagnostics;
    session.diagnostics.extend(warnings, diagnostics);
    let now = session.functions.now_micros(&session.shared.core);
    let body = sql.get(create.body.span.start as usize..create.body.span.end as usize).unwrap_or_default();
    let settings = session.variables.settings();
    let trigger = TriggerDefinition {
        name: name.into(),
        timing,
        event,
        body: String::from_utf8_lossy(body).into(),
        definer: owner,
        sql_mode: mode.0,
        client_charset: settings.client_charset,
        connection_collation: settings.connection_collation,
        database_collation: found.collation,
        created_micros: now - now.rem_euclid(10_000),
    };
    let order = create.order.map(|(follows, other)| (follows, name_text(other)));
    Ok(NewTrigger { schema, table, trigger, order, if_not_exists: create.if_not_exists })
}

/// The table of a trigger.
///
/// # Errors
/// 1046; 1049 unless `missing_ok`.
pub(super) fn table_of(
    names: Names<'_>,
    name: &ObjectName<'_>,
    missing_ok: bool,
) -> Result<Option<(Arc<TableDefinition>, String)>> {
    let (schema, own) = names.table(name)?;
    let catalog = names.core.catalog().load();
    let Some(found) = catalog.schema(&schema) else {
        return if missing_ok { Ok(None) } else { Err(e::ER_BAD_DB_ERROR.with(&[&schema])) };
    };
    let table = found.tables().map(|entry| &entry.definition).find(|table| table.trigger(&own).is_some());
    Ok(table.map(|table| (Arc::clone(table), own)))
}

/// SHOW CREATE TRIGGER.
///
/// # Errors
/// 1360, 1227.
pub(super) fn show_create(
    account: &SessionAccount,
    names: Names<'_>,
    name: &ObjectName<'_>,
) -> Result<Listing> {
    let found = table_of(names, name, true)?;
    let Some((table, own)) = found else { return Err(e::ER_TRG_DOES_NOT_EXIST.bare()) };
    let Some(trigger) = table.trigger(&own) else { return Err(e::ER_TRG_DOES_NOT_EXIST.bare()) };
    if !privilege::on_table(account, &table.schema, &table.name).contains(Privileges::TRIGGER) {
        return Err(e::ER_SPECIFIC_ACCESS_DENIED_ERROR.with(&[&"TRIGGER"]));
    }
    let long = DataType::text(TypeKind::LongText, CollationId::UTF8MB4_0900_AI_CI);
    let mut listing = Listing::new(&[
        ("Trigger", text(64)),
        ("sql_mode", text(1024)),
        ("SQL Original Statement", long),
        ("character_set_client", text(64)),
        ("collation_connection", text(64)),
        ("Database Collation", text(64)),
        ("Created", DataType::temporal(TypeKind::Timestamp, 2)),
    ]);
    listing.push(&[
        Cell::Text(&trigger.name),
        Cell::Text(&SqlModes(trigger.sql_mode).names()),
        Cell::Text(&catalog::show_create_trigger(trigger, &table.name)),
        Cell::Text(trigger.client_charset.name()),
        Cell::Text(trigger.connection_collation.name()),
        Cell::Text(trigger.database_collation.name()),
        Cell::Moment(trigger.created_micros),
    ]);
    Ok(listing)
}

/// SHOW TRIGGERS of a schema: without the columns' filter.
pub(super) fn show_triggers(account: &SessionAccount, schema: &Schema, like: Option<&[u8]>) -> Listing {
    let long = DataType::text(TypeKind::LongText, CollationId::UTF8MB4_0900_AI_CI);
    let mut listing = Listing::new(&[
        ("Trigger", text(64)),
        ("Event", text(6)),
        ("Table", text(64)),
        ("Statement", long),
        ("Timing", text(6)),
        ("Created", DataType::temporal(TypeKind::Timestamp, 2)),
        ("sql_mode", text(1024)),
        ("Definer", text(288)),
        ("character_set_client", text(64)),
        ("collation_connection", text(64)),
        ("Database Collation", text(64)),
    ]);
    for entry in schema.tables_sorted() {
        let table = &entry.definition;
        let is_like = |pattern: &[u8]| {
            CollationId::UTF8MB4_0900_AI_CI.like(table.name.as_bytes(), pattern, Some(u32::from(b'\\')))
        };
        if table.triggers.is_empty()
            || !like.is_none_or(is_like)
            || !privilege::on_table(account, &table.schema, &table.name).contains(Privileges::TRIGGER)
        {
            continue;
        }
        for trigger in table.triggers_in_order() {
            listing.push(&[
                Cell::Text(&trigger.name),
                Cell::Text(trigger.event.word()),
                Cell::Text(&table.name),
                Cell::Text(&trigger.body),
                Cell::Text(trigger.timing.word()),
                Cell::Moment(trigger.created_micros),
                Cell::Text(&SqlModes(trigger.sql_mode).names()),
                Cell::Text(&format!("{}@{}", trigger.definer.0, trigger.definer.1)),
                Cell::Text(trigger.client_charset.name()),
                Cell::Text(trigger.connection_collation.name()),
                Cell::Text(trigger.database_collation.name()),
            ]);
        }
    }
    listing
}

/// The program of a trigger: the one this session has, or a new one.
fn program<B: Backend>(
    session: &mut Session<B>,
    table: &Arc<TableDefinition>,
    trigger: &Arc<TriggerDefinition>,
) -> Result<Arc<Routine>> {
    if let Some(routine) = session.routines.trigger_program(table, trigger) {
        return Ok(routine);
    }
    let routine = Arc::new(routine::trigger_routine(table, trigger)?);
    session.routines.keep_program(&routine);
    Ok(routine)
}

/// The account a trigger runs as, if it may do what the trigger does with its table.
///
/// # Errors
/// 1449, 1142, 1143.
fn definer_of<B: Backend>(session: &mut Session<B>, routine: &Arc<Routine>) -> Result<Arc<SessionAccount>> {
    let catalog = session.shared.core.catalog().load();
    let accounts = &catalog.accounts;
    let Some(of) = &routine.trigger else { return Err(e::ER_INTERNAL_ERROR.with(&[&"no trigger"])) };
    if let Some(account) = session.routines.firing().definer_of(routine, accounts) {
        return Ok(account);
    }
    let account = privilege::definer_account(accounts, &routine.definition.definer)?;
    let table = &of.table;
    if !privilege::on_table(&account, &table.schema, &table.name).contains(Privileges::TRIGGER) {
        return Err(privilege::table_denied(&account, &table.name, Privileges::TRIGGER));
    }
    for row in &routine.program.row_slots {
        let mut wanted = Privileges::NONE;
        if row.uses > row.sets {
            wanted |= Privileges::SELECT;
        }
        if row.sets > 0 {
            wanted |= Privileges::UPDATE;
        }
        let column = &table.columns[row.ordinal].name;
        let held = privilege::on_column_and_above(&account, &table.schema, &table.name, column);
        for one in [Privileges::SELECT, Privileges::UPDATE] {
            if wanted.contains(one) && !held.contains(one) {
                return Err(privilege::column_denied(&account, &table.name, column, one));
            }
        }
    }
    session.routines.firing().keep_definer(routine, accounts, &account);
    Ok(account)
}

/// Runs triggers for a row, inside the statement that changes it.
///
/// # Errors
/// Theirs.
pub(super) fn fire<B: Backend>(
    session: &mut Session<B>,
    firing: Firing<'_>,
    ground: StatementGround<'_>,
    now_micros: i64,
) -> SqlResult<()> {
    let StatementGround { rows, snapshot } = ground;
    let Firing { table, triggers, old, mut new } = firing;
    if env::stack::is_deep() || session.routines.frames().len() >= FRAMES_MAX {
        return Err(call::too_deep());
    }
    for trigger in triggers {
        crate::limits::check_interrupted(&session.shared.control)?;
        let diagnostics = std::mem::take(&mut session.diagnostics);
        let results = session.results;
        let mut slots = Vec::new();
        let prepared = program(session, table, trigger).and_then(|routine| {
            let account = definer_of(session, &routine)?;
            slots.resize(routine.program.variables.len(), Value::Null);
            for row in &routine.program.row_slots {
                let cell = match (&new, old) {
                    (FiredRow::Unwritten(new), _) if row.is_new => new.cell(row.ordinal),
                    (FiredRow::Written(new), _) if row.is_new => new.cell(row.ordinal),
                    (_, Some(old)) if !row.is_new => old.cell(row.ordinal),
                    _ => continue,
                };
                let data_type = &table.columns[row.ordinal].data_type;
                let mut value = exec::output::value_of(cell, data_type);
                if data_type.kind == TypeKind::Char
                    && !data_type.is_binary_string()
                    && !SqlModes(trigger.sql_mode).has(SqlModes::PAD_CHAR_TO_FULL_LENGTH)
                    && let Value::Bytes { bytes, .. } = &mut value
                {
                    // The statement may have read it padded, under a mode that the trigger has not.
                    let end = bytes.iter().rposition(|&byte| byte != b' ').map_or(0, |last| last + 1);
                    bytes.truncate(end);
                }
                slots[row.slot] = value;
            }
            Ok((routine, account))
        });
        let ran = prepared.and_then(|(routine, account)| {
            let base = session.routines.frames().len();
            call::enter_frame(session, routine, account, std::mem::take(&mut slots), Vec::new());
            let new = match &mut new {
                FiredRow::None => FiredRow::None,
                FiredRow::Unwritten(new) => FiredRow::Unwritten(&mut **new),
                FiredRow::Written(new) => FiredRow::Written(*new),
            };
            let mut ground = Ground::Lent(Lent { rows: &mut *rows, snapshot, now_micros, new });
            let (mut packets, mut link) = (PacketBuffer::new(), Discard);
            let mut reply = Reply::new(&mut packets, &mut link, Capabilities(0), RowFormat::Text);
            run::run_frames(session, base, &mut reply, &mut ground)
        });
        session.results = results;
        let own = std::mem::replace(&mut session.diagnostics, diagnostics);
        if let Err(error) = ran {
            session.diagnostics.expect_as(own);
            return Err(error);
        }
    }
    Ok(())
}

/// Takes the metadata locks of all that the triggers and functions of a statement may use, for the rest of the transaction.
///
/// # Errors
/// As [`super::table_state::TableState::lock_plan`].
#[cold]
pub(super) fn lock_programs<B: Backend>(session: &mut Session<B>, plan: &PhysicalPlan) -> Attempt<()> {
    let locked = take_locks(session, plan);
    if locked.is_err() && !session.tables.transaction.is_open() {
        // Nothing of a statement that has not begun is left.
        session.tables.transaction.forget_statement()?;
        session.tables.transaction.release_tables_to(0);
    }
    locked
}

fn take_locks<B: Backend>(session: &mut Session<B>, plan: &PhysicalPlan) -> Attempt<()> {
    session.routines.firing().locked.clear();
    let own: Vec<Wanted> =
        plan.tables.iter().map(|table| (Arc::clone(&table.entry), MetadataMode::Read)).collect();
    session.routines.firing().locked.push(own.into());
    loop {
        let version = session.shared.core.catalog().version();
        let mut lists = Vec::new();
        for (index, table) in plan.tables.iter().enumerate() {
            let events = plan.events(TableIndex(index as u32));
            let definition = &table.entry.definition;
            if !events.is_empty() && !definition.triggers.is_empty() {
                lists.push(used_by(session, definition, events, version)?);
            }
        }
        let triggers = lists.len();
        for need in &plan.needs.functions {
            lists.push(used_by_function(session, &need.call, version)?);
        }
        let of_functions = lists[triggers..].iter().flat_map(|list| list.iter());
        if of_functions.clone().any(|(_, mode)| *mode == MetadataMode::Write) {
            session.tables.require_writable(&session.shared, &session.account)?;
            session.tables.enter_change(&session.shared, &session.variables, false)?;
            // Only a SELECT has a limit of time, and it is no more one that only reads.
            if session.shared.core.deadlines.lift(&session.shared.control) {
                let note = e::ER_NON_RO_SELECT_DISABLE_TIMER.note(&[]);
                session.diagnostics.push(note, session.variables.settings().diagnostics);
            }
        }
        if session.tables.locks.has_tables() {
            for (entry, mode) in of_functions {
                let definition = &entry.definition;
                let writes = *mode != MetadataMode::Read;
                session.tables.require_locked(&definition.schema, &definition.name, writes)?;
            }
        }
        for (entry, mode) in lists.iter().flat_map(|list| list.iter()) {
            session.tables.lock_below(&session.shared, &session.variables, entry, *mode)?;
        }
        // While locks were waited for, tables and routines may have changed.
        if session.shared.core.catalog().version() == version {
            session.routines.firing().locked.extend(lists);
            return Ok(());
        }
        crate::limits::check_interrupted(&session.shared.control)?;
    }
}

/// What a function uses.
fn used_by_function<B: Backend>(
    session: &mut Session<B>,
    call: &StoredCall,
    version: u64,
) -> Result<Arc<[Wanted]>> {
    let definition = &call.function.definition;
    let key = Arc::as_ptr(definition).addr();
    let own_tables = !session.tables.temporary.is_empty();
    if let Some((_, seen, list)) = session.routines.firing().functions.get(&key)
        && *seen == version
        && !own_tables
    {
        return Ok(Arc::clone(list));
    }
    let mut search = Search { wanted: Vec::new(), seen: Vec::new() };
    search.function(session, call, 0)?;
    let list: Arc<[Wanted]> = search.wanted.into();
    let kept = &mut session.routines.firing().functions;
    if kept.len() >= KEPT_MAX {
        kept.clear();
    }
    kept.insert(key, (Arc::clone(definition), version, Arc::clone(&list)));
    Ok(list)
}

/// What the triggers of a definition use.
fn used_by<B: Backend>(
    session: &mut Session<B>,
    table: &Arc<TableDefinition>,
    events: &'static [TriggerEvent],
    version: u64,
) -> Result<Arc<[Wanted]>> {
    let key = (Arc::as_ptr(table).addr(), events);
    let own_tables = !session.tables.temporary.is_empty();
    if let Some((_, seen, list)) = session.routines.firing().kept.get(&key)
        && *seen == version
        && !own_tables
    {
        return Ok(Arc::clone(list));
    }
    let mut search = Search { wanted: Vec::new(), seen: Vec::new() };
    search.table(session, table, events, 0)?;
    let list: Arc<[Wanted]> = search.wanted.into();
    let kept = &mut session.routines.firing().kept;
    if kept.len() >= KEPT_MAX {
        kept.clear();
    }
    kept.insert(key, (Arc::clone(table), version, Arc::clone(&list)));
    Ok(list)
}

/// Looks for the tables that triggers and functions, and procedures that they call, use. What cannot be planned is left out: it fails when it runs.
struct Search {
    wanted: Vec<Wanted>,
    /// Programs looked at.
    seen: Vec<usize>,
}

impl Search {
    fn table<B: Backend>(
        &mut self,
        session: &mut Session<B>,
        table: &Arc<TableDefinition>,
        events: &[TriggerEvent],
        depth: usize,
    ) -> Result<()> {
        for trigger in table.triggers.iter().filter(|trigger| events.contains(&trigger.event)) {
            let Ok(routine) = program(session, table, trigger) else { continue };
            let Ok(account) = definer_of(session, &routine) else { continue };
            self.routine(session, &routine, account, depth)?;
        }
        Ok(())
    }

    fn function<B: Backend>(
        &mut self,
        session: &mut Session<B>,
        call: &StoredCall,
        depth: usize,
    ) -> Result<()> {
        // What fails here fails again when it is called, if it is.
        let Ok((routine, account)) = functions::program_of(session, call) else { return Ok(()) };
        self.routine(session, &routine, account, depth)
    }

    fn routine<B: Backend>(
        &mut self,
        session: &mut Session<B>,
        routine: &Arc<Routine>,
        account: Arc<SessionAccount>,
        depth: usize,
    ) -> Result<()> {
        let key = Arc::as_ptr(routine).addr();
        if self.seen.contains(&key) {
            return Ok(());
        }
        self.seen.push(key);
        if depth >= FIRED_DEPTH_MAX || env::stack::is_deep() || session.routines.frames().len() >= FRAMES_MAX
        {
            return Err(call::too_deep());
        }
        let slots = vec![Value::Null; routine.program.variables.len()];
        let diagnostics = std::mem::take(&mut session.diagnostics);
        call::enter_frame(session, Arc::clone(routine), account, slots, Vec::new());
        let searched = self.statements(session, routine, depth);
        call::pop_frame(session);
        session.diagnostics = diagnostics;
        searched
    }

    fn statements<B: Backend>(
        &mut self,
        session: &mut Session<B>,
        routine: &Arc<Routine>,
        depth: usize,
    ) -> Result<()> {
        let program = &routine.program;
        for (id, embedded) in program.statements.iter().enumerate() {
            if embedded.kind == EmbeddedKind::Other {
                self.set(session, &embedded.text, embedded.scope, depth)?;
            }
            if matches!(embedded.kind, EmbeddedKind::Other | EmbeddedKind::Dynamic) {
                continue;
            }
            // What fails here fails again when it runs, if it does.
            let Ok(planned) = statement::take_plan(session, program, id) else { continue };
            let physical = planned.plan.shared().physical();
            for (index, table) in physical.tables.iter().enumerate() {
                let changes =
                    physical.needs.changes(TableIndex(index as u32)) || matches!(table.lock, Some((true, _)));
                let mode = if changes { MetadataMode::Write } else { MetadataMode::Read };
                self.want(&table.entry, mode);
            }
            for node in physical.foreign_keys.iter().flat_map(|graph| &graph.nodes) {
                let mode = if node.written { MetadataMode::Write } else { MetadataMode::Read };
                self.want(&node.table, mode);
            }
            let plan = Arc::clone(planned.plan.shared());
            statement::keep_plan_of(&mut session.routines, id, planned)?;
            for (index, table) in plan.physical().tables.iter().enumerate() {
                let events = plan.physical().events(TableIndex(index as u32));
                self.table(session, &table.entry.definition, events, depth + 1)?;
            }
            for need in &plan.physical().needs.functions {
                self.function(session, &need.call, depth + 1)?;
            }
        }
        for instruction in &program.instructions {
            let Instruction::Call { name, arguments } = instruction else { continue };
            let Ok(callee) = call::find_procedure(session, name.0.as_deref(), &name.1, arguments.len())
            else {
                continue;
            };
            let accounts = Arc::clone(&session.shared.core.catalog().load().accounts);
            let account = privilege::routine_account(&session.account, &accounts, &callee.definition);
            let Ok(account) = account else { continue };
            self.routine(session, &callee, account, depth + 1)?;
        }
        Ok(())
    }

    /// The tables that a SET of user variables reads, in a procedure.
    fn set<B: Backend>(
        &mut self,
        session: &mut Session<B>,
        text: &[u8],
        scope: ScopeId,
        depth: usize,
    ) -> Outcome {
        session.routines.frame()?.scope = Some(scope);
        let arena = bumpalo::Bump::new();
        let mode = session.variables.settings().sql_mode.for_syntax();
        let Ok(parsed) = syntax::parse(text, &arena, mode) else { return Ok(()) };
        let ast::Statement::Set(items) = parsed.statement else { return Ok(()) };
        for item in items {
            let ast::SetItem::UserVar { value, .. } = item else { continue };
            let Ok(plan) = statement::plan_expr(&session.planner(), value, text, &[]) else { continue };
            for table in &plan.physical().tables {
                self.want(&table.entry, MetadataMode::Read);
            }
            for need in &plan.physical().needs.functions {
                self.function(session, &need.call, depth + 1)?;
            }
        }
        Ok(())
    }

    fn want(&mut self, entry: &Arc<TableEntry>, mode: MetadataMode) {
        let same = |(other, _): &&mut Wanted| other.definition.id == entry.definition.id;
        match self.wanted.iter_mut().find(same) {
            Some((_, held)) if mode == MetadataMode::Write => *held = mode,
            Some(_) => {}
            None => self.wanted.push((Arc::clone(entry), mode)),
        }
    }
}

/// DROP TRIGGER: the table and the privilege on it. `None`: there is no such trigger, of which a note was given.
///
/// # Errors
/// 1049, 1360, 1142.
pub(super) fn dropped<B: Backend>(
    session: &mut Session<B>,
    if_exists: bool,
    name: &ObjectName<'_>,
) -> Result<Option<(Arc<TableDefinition>, String)>> {
    let found = table_of(session.names(), name, if_exists)?;
    let Some((table, own)) = found else {
        if !if_exists {
            return Err(e::ER_TRG_DOES_NOT_EXIST.bare());
        }
        let note = e::ER_TRG_DOES_NOT_EXIST.note(&[]);
        session.diagnostics.push(note, session.variables.settings().diagnostics);
        return Ok(None);
    };
    privilege::require_table(&session.account, &table.schema, &table.name, Privileges::TRIGGER)?;
    Ok(Some((table, own)))
}
