//! What operators are given to run: settings, snapshot, limits, and what functions may ask of the session.

use std::sync::Arc;

use access::LockWait;
use catalog::{Catalog, Privileges};
use exec::expr::{EvalContext, EvalSettings, SessionState, SqlResult, Warnings};
use exec::{ChangeSettings, ExecContext, MemoryLimits, Prepared};
use plan::physical::PlanKind;
use service::Capabilities;
use service::error::ER_INTERNAL_ERROR;
use types::temporal::zone::TimeZone;
use types::{Value, ValueRef};

use super::Session;
use super::current_account::CurrentAccount;
use super::function_state::FunctionState;
use super::results::LastResults;
use crate::backend::{Access, Backend, LockWaits};
use crate::core::Core;
use crate::plans::CachedPlan;
use crate::privilege;
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
impl<B: Backend> Session<B> {
    pub(crate) fn now_micros(&self) -> i64 {
        self.functions.fixed_timestamp_micros().unwrap_or_else(|| self.core.env.clock.wall_micros())
    }

    /// Runs `run` with everything operators need.
    pub(crate) fn with_context<R>(
        &mut self,
        plan: &CachedPlan<B>,
        values: &[ValueRef<'_>],
        run: impl FnOnce(&Prepared, &mut ExecContext<'_>) -> SqlResult<R>,
    ) -> SqlResult<R> {
        // What system tables tell of: nobody's temporary tables.
        let catalog = self.core.catalog().peek();
        self.with_context_of(&catalog, plan, values, run)
    }

    pub(super) fn with_context_of<R>(
        &mut self,
        catalog: &Arc<Catalog>,
        plan: &CachedPlan<B>,
        values: &[ValueRef<'_>],
        run: impl FnOnce(&Prepared, &mut ExecContext<'_>) -> SqlResult<R>,
    ) -> SqlResult<R> {
        let changes = !matches!(plan.physical().kind, PlanKind::Query(_) | PlanKind::Do(_));
        let ignore = match &plan.physical().kind {
            PlanKind::Insert(insert) => insert.ignore,
            PlanKind::Update(update) => update.ignore,
            PlanKind::Delete(delete) => delete.ignore,
            _ => false,
        };
        let settings = EvalSettings {
            sql_mode: self.variables.settings().sql_mode.0,
            time_zone: TimeZone::clone(&self.variables.settings().time_zone),
            now_utc_micros: self.now_micros(),
            connection_collation: self.variables.settings().connection_collation,
            max_allowed_packet: usize::try_from(self.variables.unsigned(known::max_allowed_packet()))
                .unwrap_or(usize::MAX),
            locale: self.variables.settings().locale,
            default_week_format: i64::try_from(self.variables.unsigned(known::default_week_format()))
                .unwrap_or(0),
            strict_dml: (changes || self.routines.is_assigning())
                && self.variables.settings().sql_mode.is_strict()
                && !ignore,
        };
        let bytes = |id| usize::try_from(self.variables.unsigned(id)).unwrap_or(usize::MAX);
        let limits = MemoryLimits {
            sort_bytes: operator_bytes(bytes(known::sort_buffer_size())),
            sort_value_bytes: bytes(known::max_sort_length()),
            join_bytes: operator_bytes(bytes(known::join_buffer_size())),
            temporary_bytes: bytes(known::tmp_table_size()),
            group_concat_bytes: bytes(known::group_concat_max_len()),
            recursion_depth_max: self.variables.unsigned(known::cte_max_recursion_depth()),
        };
        let change = ChangeSettings {
            no_auto_value_on_zero: self.variables.settings().sql_mode.has(SqlModes::NO_AUTO_VALUE_ON_ZERO),
            auto_increment_increment: self.variables.unsigned(known::auto_increment_increment()),
            auto_increment_offset: self.variables.unsigned(known::auto_increment_offset()),
            insert_id: if changes { self.results.take_next_insert_id() } else { None },
            foreign_key_checks: self.variables.boolean(known::foreign_key_checks()),
            found_rows: self.client.has(Capabilities::FOUND_ROWS),
            file_line: None,
        };
        let lock_wait = LockWait::Timeout(std::time::Duration::from_millis(
            self.variables.settings().lock_wait_timeout_ms,
        ));
        let facts = plan.reads_system_tables().then(|| self.facts());
        let no_facts = ();
        let facts: &dyn std::any::Any = match &facts {
            Some(facts) => facts,
            None => &no_facts,
        };
        let rules = self.variables.settings().diagnostics;
        let mut warnings = Warnings::new(rules.kept_max);
        let borrows_view = !self.transaction.has_view();
        if borrows_view {
            self.transaction.view_now();
        }
        let lock_reads = self.transaction.locks_reads(plan.physical());
        let uncommitted = self.transaction.reads_uncommitted();
        let Some(Access { mut rows, snapshot, waits }) = self.transaction.start_access() else {
            return Err(ER_INTERNAL_ERROR.with(&[&"a statement without a snapshot"]));
        };
        let mut functions = Functions {
            core: &self.core,
            connection_id: self.control.connection_id,
            control: &self.control,
            user_variables: &mut self.user_variables,
            results: &mut self.results,
            state: &mut self.functions,
            database: self.database.as_deref(),
            account: &self.account,
            waits,
        };
        // A routine's own statement has the routine's variables as parameters.
        let slots: Vec<ValueRef<'_>> = match self.routines.slots() {
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
        };
        let mut context = ExecContext::new(eval, catalog, facts, &self.process.counts.status);
        context.snapshot = Some(&snapshot);
        context.transaction = Some(&mut rows);
        context.read_uncommitted = uncommitted;
        context.lock_reads = lock_reads;
        context.lock_wait = lock_wait;
        context.connection_id = self.control.connection_id;
        context.account = Some(self.account.id);
        context.limits = limits;
        context.change = change;
        context.spill = self.core.spill_folder();
        if !self.running.long_values().is_empty() && !self.routines.are_running() {
            context.long_values = self.running.long_values().to_vec();
        }
        let result = run(plan.prepared(), &mut context);
        let examined = context.rows_examined;
        let spilled = context.spill_counts();
        // What holds the transaction ends before the transaction goes on.
        drop(context);
        drop((rows, snapshot));
        self.core.counters.add_spilled(&spilled);
        self.process.counts.add_spilled(&spilled);
        self.transaction.add_rows_examined(examined);
        if borrows_view {
            self.transaction.park();
        }
        let total = warnings.total();
        self.diagnostics.extend_counted(warnings.entries().iter().cloned(), total, rules);
        result
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
        let roles = &self.account.active_roles;
        if roles.is_empty() {
            return "NONE".to_owned();
        }
        let mut shown: Vec<String> =
            roles.iter().map(|(user, host)| crate::conversation::accounts::quoted(user, host)).collect();
        shown.sort_unstable();
        shown.join(",")
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
