//! What operators are given to run: settings, snapshot, limits, and what functions may ask of the session.

use std::any::Any;
use std::sync::Arc;

use access::LockWait;
use catalog::{AccountId, Catalog, Privileges};
use env::disk::Folder;
use exec::expr::{
    EvalContext, EvalSettings, FiredRow, Firing, FunctionCall, SessionState, SqlResult, StatementGround,
    Warnings,
};
use exec::{ChangeSettings, ExecContext, MemoryLimits, Prepared, SpillCounts, ValueMemory};
use plan::physical::PlanKind;
use service::Capabilities;
use service::error::ER_INTERNAL_ERROR;
use types::temporal::zone::TimeZone;
use types::{Value, ValueRef};

use super::Session;
use super::current_account::CurrentAccount;
use super::feedback;
use super::function_state::FunctionState;
use super::ground::Lent;
use super::results::LastResults;
use crate::backend::{Access, Backend, LockWaits, SessionTransaction};
use crate::core::Core;
use crate::plans::CachedPlan;
use crate::privilege;
use crate::session_context::SessionContext;
use crate::variables::definition::known;
use crate::variables::sql_mode::SqlModes;

/// MySQL's default of `sort_buffer_size` and `join_buffer_size`, made for rows at a time.
const BUFFER_BYTES_DEFAULT: usize = 256 << 10;
/// What an operator that works by batches gets instead, as long as nobody says otherwise.
const OPERATOR_BYTES_DEFAULT: usize = 16 << 20;

/// Bytes of memory of a sort or join for what `sort_buffer_size` or `join_buffer_size` says.
fn operator_bytes(variable: usize) -> usize {
    if variable == BUFFER_BYTES_DEFAULT { OPERATOR_BYTES_DEFAULT } else { variable }
}

/// What the session's variables say of an execution.
struct Rules {
    settings: EvalSettings,
    limits: MemoryLimits,
    change: ChangeSettings,
    lock_wait: LockWait,
}

/// What an execution's context has of its session, besides what it computes with.
struct ContextSettings {
    limits: MemoryLimits,
    change: ChangeSettings,
    lock_wait: LockWait,
    lock_reads: bool,
    read_uncommitted: bool,
    connection_id: u64,
    account: AccountId,
    spill: Option<Arc<dyn Folder>>,
}

impl ContextSettings {
    #[inline(always)]
    fn of<B: Backend>(
        session: &Session<B>,
        plan: &CachedPlan<B>,
        (limits, change, lock_wait): (MemoryLimits, ChangeSettings, LockWait),
    ) -> ContextSettings {
        ContextSettings {
            limits,
            change,
            lock_wait,
            lock_reads: session.tables.transaction.locks_reads(plan.physical()),
            read_uncommitted: session.tables.transaction.reads_uncommitted(),
            connection_id: session.shared.control.connection_id,
            account: session.account.id,
            spill: session.shared.core.spill_folder(),
        }
    }

    #[inline(always)]
    fn put(self, context: &mut ExecContext<'_>) {
        context.read_uncommitted = self.read_uncommitted;
        context.lock_reads = self.lock_reads;
        context.lock_wait = self.lock_wait;
        context.connection_id = self.connection_id;
        context.account = Some(self.account);
        context.limits = self.limits;
        context.change = self.change;
        context.spill = self.spill;
    }
}

/// What system tables may ask of the session; nothing where the plan reads none.
fn asked_by_system_tables(session_context: Option<&SessionContext>) -> &dyn Any {
    session_context.map_or(&() as &dyn Any, |session_context| session_context)
}

/// Adds what an execution has read and spilled to the counters.
#[inline(always)]
fn count<B: Backend>(session: &mut Session<B>, examined: u64, spilled: &SpillCounts) {
    session.shared.core.counters.add_spilled(spilled);
    session.shared.process.counts.add_spilled(spilled);
    session.tables.transaction.add_rows_examined(examined);
}

/// How a statement's expressions are evaluated. `strict`: what would be a warning is an error in strict mode.
#[inline(always)]
fn eval_settings<B: Backend>(session: &Session<B>, now_utc_micros: i64, strict: bool) -> EvalSettings {
    EvalSettings {
        sql_mode: session.variables.settings().sql_mode.0,
        time_zone: TimeZone::clone(&session.variables.settings().time_zone),
        now_utc_micros,
        connection_collation: session.variables.settings().connection_collation,
        max_allowed_packet: usize::try_from(session.variables.unsigned(known::max_allowed_packet()))
            .unwrap_or(usize::MAX),
        locale: session.variables.settings().locale,
        default_week_format: i64::try_from(session.variables.unsigned(known::default_week_format()))
            .unwrap_or(0),
        strict_dml: strict && session.variables.settings().sql_mode.is_strict(),
    }
}

impl Rules {
    #[inline(always)]
    fn of<B: Backend>(session: &mut Session<B>, plan: &CachedPlan<B>) -> Rules {
        let changes = !matches!(plan.physical().kind, PlanKind::Query(_) | PlanKind::Do(_));
        let ignore = match &plan.physical().kind {
            PlanKind::Insert(insert) => insert.ignore,
            PlanKind::Update(update) => update.ignore,
            PlanKind::Delete(delete) => delete.ignore,
            _ => false,
        };
        let now = session.functions.now_micros(&session.shared.core);
        let settings = eval_settings(session, now, (changes || session.routines.is_assigning()) && !ignore);
        let bytes = |id| usize::try_from(session.variables.unsigned(id)).unwrap_or(usize::MAX);
        let limits = MemoryLimits {
            sort_bytes: operator_bytes(bytes(known::sort_buffer_size())),
            sort_value_bytes: bytes(known::max_sort_length()),
            join_bytes: operator_bytes(bytes(known::join_buffer_size())),
            temporary_bytes: bytes(known::tmp_table_size()),
            group_concat_bytes: bytes(known::group_concat_max_len()),
            recursion_depth_max: session.variables.unsigned(known::cte_max_recursion_depth()),
        };
        let change = ChangeSettings {
            no_auto_value_on_zero: session.variables.settings().sql_mode.has(SqlModes::NO_AUTO_VALUE_ON_ZERO),
            auto_increment_increment: session.variables.unsigned(known::auto_increment_increment()),
            auto_increment_offset: session.variables.unsigned(known::auto_increment_offset()),
            insert_id: if changes { session.results.take_next_insert_id() } else { None },
            foreign_key_checks: session.variables.boolean(known::foreign_key_checks()),
            found_rows: session.client.has(Capabilities::FOUND_ROWS),
            file_line: None,
        };
        let lock_wait = LockWait::Timeout(std::time::Duration::from_millis(
            session.variables.settings().lock_wait_timeout_ms,
        ));
        Rules { settings, limits, change, lock_wait }
    }
}

/// Runs `run` with everything operators need.
pub(crate) fn with_context<B: Backend, R>(
    session: &mut Session<B>,
    plan: &CachedPlan<B>,
    values: &[ValueRef<'_>],
    run: impl FnOnce(&Prepared, &mut ExecContext<'_>) -> SqlResult<R>,
) -> SqlResult<R> {
    // What system tables tell of: nobody's temporary tables.
    let catalog = session.shared.core.catalog().peek();
    with_context_of(session, &catalog, plan, values, run)
}

pub(super) fn with_context_of<B: Backend, R>(
    session: &mut Session<B>,
    catalog: &Arc<Catalog>,
    plan: &CachedPlan<B>,
    values: &[ValueRef<'_>],
    run: impl FnOnce(&Prepared, &mut ExecContext<'_>) -> SqlResult<R>,
) -> SqlResult<R> {
    if plan.runs_programs() {
        return lending(session, catalog, plan, values, run);
    }
    let Rules { settings, limits, change, lock_wait } = Rules::of(session, plan);
    let session_context = plan.reads_system_tables().then(|| session.session_context());
    let session_context = asked_by_system_tables(session_context.as_ref());
    let rules = session.variables.settings().diagnostics;
    let mut warnings = Warnings::new(rules.kept_max);
    let borrows_view = !session.tables.transaction.has_view();
    if borrows_view {
        session.tables.transaction.view_now()?;
    }
    let context_settings = ContextSettings::of(session, plan, (limits, change, lock_wait));
    let Some(Access { mut rows, snapshot, waits }) = session.tables.transaction.start_access() else {
        return Err(ER_INTERNAL_ERROR.with(&[&"a statement without a snapshot"]));
    };
    let mut functions = Functions {
        core: &session.shared.core,
        connection_id: session.shared.control.connection_id,
        control: &session.shared.control,
        user_variables: &mut session.user_variables,
        results: &mut session.results,
        state: &mut session.functions,
        database: session.database.as_deref(),
        account: &session.account,
        waits,
    };
    // A routine's own statement has the routine's variables as parameters.
    let slots: Vec<ValueRef<'_>> = match session.routines.slots() {
        Some(slots) if values.is_empty() => slots.iter().map(ValueRef::from).collect(),
        _ => Vec::new(),
    };
    let values = if slots.is_empty() { values } else { &slots };
    let eval = EvalContext {
        settings: &settings,
        params: values,
        outer: Vec::new(),
        session: &mut functions,
        warnings: &mut warnings,
        snapshot: None,
        transaction: None,
    };
    let mut context = ExecContext::new(eval, catalog, session_context, &session.shared.process.counts.status);
    context.eval.snapshot = Some(&snapshot);
    context.eval.transaction = Some(&mut rows);
    context_settings.put(&mut context);
    if feedback::is_due(plan, session.variables.settings()) {
        context.count_nodes(plan.physical().node_count, false);
    }
    if !session.running.long_values().is_empty() && !session.routines.are_running() {
        context.long_values = session.running.long_values().to_vec();
    }
    let result = run(plan.prepared(), &mut context);
    let examined = context.rows_examined;
    let spilled = context.spill_counts();
    let counters = std::mem::take(&mut context.node_counters);
    // What holds the transaction ends before the transaction goes on.
    drop(context);
    drop((rows, snapshot));
    count(session, examined, &spilled);
    if result.is_ok() {
        feedback::end(session, plan, &counters);
    }
    let released = if borrows_view { session.tables.transaction.park() } else { Ok(()) };
    let total = warnings.total();
    session.diagnostics.extend_counted(warnings.entries().iter().cloned(), total, rules);
    match released {
        Ok(()) => result,
        Err(error) => result.and(Err(error)),
    }
}

/// The same for a statement that fires triggers or calls functions: its transaction is out of the session meanwhile, so that these have the
/// session.
#[cold]
fn lending<B: Backend, R>(
    session: &mut Session<B>,
    catalog: &Arc<Catalog>,
    plan: &CachedPlan<B>,
    values: &[ValueRef<'_>],
    run: impl FnOnce(&Prepared, &mut ExecContext<'_>) -> SqlResult<R>,
) -> SqlResult<R> {
    let borrows_view = !session.tables.transaction.has_view();
    if borrows_view {
        session.tables.transaction.view_now()?;
    }
    let now_micros = session.functions.now_micros(&session.shared.core);
    // A routine's own statement has the routine's variables as parameters; the frame needs them no less.
    let slots: Vec<Value> = match session.routines.slots() {
        Some(slots) if values.is_empty() => slots.to_vec(),
        _ => Vec::new(),
    };
    let slots: Vec<ValueRef<'_>> = slots.iter().map(ValueRef::from).collect();
    let values = if slots.is_empty() { values } else { &slots };
    let backend = &session.shared.backend;
    let lent = session.tables.transaction.lend_work(|| backend.new_transaction());
    let mut work = match lent {
        Ok(work) => work,
        Err(error) => {
            if borrows_view {
                session.tables.transaction.park()?;
            }
            return Err(error);
        }
    };
    let result = match work.start_access() {
        Some(Access { mut rows, snapshot, waits }) => {
            waits.forbid_requeue();
            let mut lent = Lent { rows: &mut rows, snapshot: &snapshot, now_micros, new: FiredRow::None };
            over(session, catalog, plan, values, &mut lent, run)
        }
        None => Err(ER_INTERNAL_ERROR.with(&[&"a statement without a snapshot"])),
    };
    session.tables.transaction.return_work(work);
    let released = if borrows_view { session.tables.transaction.park() } else { Ok(()) };
    match released {
        Ok(()) => result,
        Err(error) => result.and(Err(error)),
    }
}

/// The value of a plan that is nothing but an expression over the variables of a routine: without operators and what these need.
/// `assigns`: it is for a variable.
pub(super) fn value_of<B: Backend>(
    session: &mut Session<B>,
    plan: &CachedPlan<B>,
    slots: &[Value],
    memory: &mut ValueMemory,
    now_micros: i64,
    assigns: bool,
) -> SqlResult<Value> {
    let settings = eval_settings(session, now_micros, assigns);
    let rules = session.variables.settings().diagnostics;
    let mut warnings = Warnings::new(rules.kept_max);
    let values: Vec<ValueRef<'_>> = slots.iter().map(ValueRef::from).collect();
    let mut calling = Calling { session, now_micros };
    let mut eval = EvalContext {
        settings: &settings,
        params: &values,
        outer: Vec::new(),
        session: &mut calling,
        warnings: &mut warnings,
        snapshot: None,
        transaction: None,
    };
    let value = plan.prepared().value(memory, &mut eval);
    let total = warnings.total();
    if total > 0 {
        session.diagnostics.extend_counted(warnings.entries().iter().cloned(), total, rules);
    }
    value
}

/// Runs `run` inside a statement that fires triggers or calls functions, by what that lends.
pub(super) fn inside<B: Backend, R>(
    session: &mut Session<B>,
    plan: &CachedPlan<B>,
    values: &[ValueRef<'_>],
    lent: &mut Lent<'_>,
    run: impl FnOnce(&Prepared, &mut ExecContext<'_>) -> SqlResult<R>,
) -> SqlResult<R> {
    let catalog = session.shared.core.catalog().peek();
    over(session, &catalog, plan, values, lent, run)
}

fn over<B: Backend, R>(
    session: &mut Session<B>,
    catalog: &Arc<Catalog>,
    plan: &CachedPlan<B>,
    values: &[ValueRef<'_>],
    lent: &mut Lent<'_>,
    run: impl FnOnce(&Prepared, &mut ExecContext<'_>) -> SqlResult<R>,
) -> SqlResult<R> {
    let Rules { mut settings, limits, change, lock_wait } = Rules::of(session, plan);
    settings.now_utc_micros = lent.now_micros;
    let session_context = plan.reads_system_tables().then(|| session.session_context());
    let session_context = asked_by_system_tables(session_context.as_ref());
    let rules = session.variables.settings().diagnostics;
    let mut warnings = Warnings::new(rules.kept_max);
    let context_settings = ContextSettings::of(session, plan, (limits, change, lock_wait));
    let process = session.shared.process.entry();
    let counts_nodes = feedback::is_due(plan, session.variables.settings());
    let entered = plan.runs_programs().then(|| session.routines.firing().enter(plan.physical()));
    let mut calling = Calling { session, now_micros: lent.now_micros };
    let eval = EvalContext {
        settings: &settings,
        params: values,
        outer: Vec::new(),
        session: &mut calling,
        warnings: &mut warnings,
        snapshot: None,
        transaction: None,
    };
    let mut context = ExecContext::new(eval, catalog, session_context, &process.counts.status);
    context.eval.snapshot = Some(lent.snapshot);
    context.eval.transaction = Some(&mut *lent.rows);
    context_settings.put(&mut context);
    if counts_nodes {
        context.count_nodes(plan.physical().node_count, false);
    }
    let result = run(plan.prepared(), &mut context);
    let examined = context.rows_examined;
    let spilled = context.spill_counts();
    let counters = std::mem::take(&mut context.node_counters);
    drop(context);
    if let Some(mark) = entered {
        session.routines.firing().leave(mark);
    }
    count(session, examined, &spilled);
    if result.is_ok() {
        feedback::end(session, plan, &counters);
    }
    let total = warnings.total();
    session.diagnostics.extend_counted(warnings.entries().iter().cloned(), total, rules);
    result
}

/// What a statement may ask that fires triggers or calls functions, or runs in one: the session is free for these.
struct Calling<'a, B: Backend> {
    session: &'a mut Session<B>,
    now_micros: i64,
}

/// The statement is not requeued, whatever it does.
struct NeverRequeued;

impl LockWaits for NeverRequeued {
    fn forbid_requeue(&self) {}
}

impl<B: Backend> Calling<'_, B> {
    fn parts(&mut self) -> Functions<'_> {
        let session = &mut *self.session;
        Functions {
            core: &session.shared.core,
            connection_id: session.shared.control.connection_id,
            control: &session.shared.control,
            user_variables: &mut session.user_variables,
            results: &mut session.results,
            state: &mut session.functions,
            database: session.database.as_deref(),
            account: &session.account,
            waits: &NeverRequeued,
        }
    }
}

impl<B: Backend> SessionState for Calling<'_, B> {
    fn fire(&mut self, firing: Firing<'_>, ground: StatementGround<'_>) -> SqlResult<()> {
        self.session.fire(firing, ground, self.now_micros)
    }

    fn call(&mut self, call: FunctionCall<'_>, ground: StatementGround<'_>) -> SqlResult<()> {
        self.session.call_function(call, ground, self.now_micros)
    }

    fn user_variable(&self, name: &str) -> Option<Value> {
        self.session.user_variables.get(name.as_bytes()).cloned()
    }

    fn set_user_variable(&mut self, name: &str, value: Value) {
        self.parts().set_user_variable(name, value);
    }

    fn last_insert_id(&self) -> u64 {
        self.session.results.last_insert_id()
    }

    fn set_last_insert_id(&mut self, id: u64) {
        self.parts().set_last_insert_id(id);
    }

    fn row_count(&self) -> i64 {
        self.session.results.row_count()
    }

    fn found_rows(&self) -> i64 {
        i64::try_from(self.session.results.found_rows()).unwrap_or(i64::MAX)
    }

    fn connection_id(&self) -> u64 {
        self.session.shared.control.connection_id
    }

    fn database(&self) -> Option<String> {
        self.session.database.as_deref().map(str::to_owned)
    }

    fn user(&self) -> String {
        self.session.account.user_at_host().to_owned()
    }

    fn current_user(&self) -> String {
        format!("{}@{}", self.session.account.user, self.session.account.host)
    }

    fn may_name_table(&self, schema: &str, table: &str) -> bool {
        privilege::on_table(&self.session.account, schema, table).intersects(Privileges::TABLE)
    }

    fn current_role(&self) -> String {
        shown_roles(&self.session.account)
    }

    fn version(&self) -> String {
        self.session.shared.core.version().to_owned()
    }

    fn random_bytes(&mut self, buffer: &mut [u8]) {
        self.parts().random_bytes(buffer);
    }

    fn rand(&mut self) -> f64 {
        self.parts().rand()
    }

    fn clock_utc_micros(&mut self) -> i64 {
        self.parts().clock_utc_micros()
    }

    fn sleep(&mut self, micros: u64) -> SqlResult<bool> {
        self.parts().sleep(micros)
    }

    fn get_lock(&mut self, name: &str, timeout_seconds: f64) -> SqlResult<Option<i64>> {
        self.parts().get_lock(name, timeout_seconds)
    }

    fn release_lock(&mut self, name: &str) -> SqlResult<Option<i64>> {
        self.parts().release_lock(name)
    }

    fn release_all_locks(&mut self) -> i64 {
        self.parts().release_all_locks()
    }

    fn lock_holder(&mut self, name: &str) -> Option<u64> {
        self.parts().lock_holder(name)
    }

    fn check_killed(&mut self) -> SqlResult<()> {
        self.parts().check_killed()
    }
}

/// What functions may read of the session and do to it.
struct Functions<'a> {
    core: &'a Arc<Core>,
    connection_id: u64,
    control: &'a service::ConnectionControl,
    user_variables: &'a mut super::user_variables::UserVariables,
    results: &'a mut LastResults,
    state: &'a mut FunctionState,
    database: Option<&'a str>,
    account: &'a CurrentAccount,
    /// Told if the statement leaves a trace that a rollback does not remove.
    waits: &'a dyn LockWaits,
}

impl SessionState for Functions<'_> {
    fn user_variable(&self, name: &str) -> Option<Value> {
        self.user_variables.get(name.as_bytes()).cloned()
    }

    fn set_user_variable(&mut self, name: &str, value: Value) {
        self.waits.forbid_requeue();
        self.user_variables.insert(name.as_bytes().to_vec(), value);
    }

    fn last_insert_id(&self) -> u64 {
        self.results.last_insert_id()
    }

    fn set_last_insert_id(&mut self, id: u64) {
        self.results.set_by_function(id);
    }

    fn row_count(&self) -> i64 {
        self.results.row_count()
    }

    fn found_rows(&self) -> i64 {
        i64::try_from(self.results.found_rows()).unwrap_or(i64::MAX)
    }

    fn connection_id(&self) -> u64 {
        self.connection_id
    }

    fn database(&self) -> Option<String> {
        self.database.map(str::to_owned)
    }

    fn user(&self) -> String {
        self.account.user_at_host().to_owned()
    }

    fn current_user(&self) -> String {
        format!("{}@{}", self.account.user, self.account.host)
    }

    fn may_name_table(&self, schema: &str, table: &str) -> bool {
        privilege::on_table(self.account, schema, table).intersects(Privileges::TABLE)
    }

    fn current_role(&self) -> String {
        shown_roles(self.account)
    }

    fn version(&self) -> String {
        self.core.version().to_owned()
    }

    fn random_bytes(&mut self, buffer: &mut [u8]) {
        self.core.fill_random(buffer);
    }

    fn rand(&mut self) -> f64 {
        self.state.next_random()
    }

    fn clock_utc_micros(&mut self) -> i64 {
        self.core.env.clock.wall_micros()
    }

    fn sleep(&mut self, micros: u64) -> SqlResult<bool> {
        let interrupted = self.core.sleep(self.control, micros);
        if self.control.kill_state() == service::Kill::Connection {
            self.control.check()?;
        }
        Ok(interrupted)
    }

    fn get_lock(&mut self, name: &str, timeout_seconds: f64) -> SqlResult<Option<i64>> {
        self.waits.forbid_requeue();
        self.core.user_locks.acquire(self.control, name, timeout_seconds, &self.core.env)
    }

    fn release_lock(&mut self, name: &str) -> SqlResult<Option<i64>> {
        self.waits.forbid_requeue();
        Ok(self.core.user_locks.release(self.connection_id, name))
    }

    fn release_all_locks(&mut self) -> i64 {
        self.waits.forbid_requeue();
        self.core.user_locks.release_all(self.connection_id)
    }

    fn lock_holder(&mut self, name: &str) -> Option<u64> {
        self.core.user_locks.holder(name)
    }

    fn check_killed(&mut self) -> SqlResult<()> {
        crate::limits::check_interrupted(self.control)
    }
}

/// CURRENT_ROLE().
fn shown_roles(account: &CurrentAccount) -> String {
    let roles = &account.active_roles;
    if roles.is_empty() {
        return "NONE".to_owned();
    }
    let mut shown: Vec<String> =
        roles.iter().map(|(user, host)| super::account_names::quoted(user, host)).collect();
    shown.sort_unstable();
    shown.join(",")
}
