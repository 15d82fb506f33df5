//! Statements inside a statement that fires triggers or calls stored functions.
//!
//! Nothing begins, ends or rolls back there: the statement around them lends its rows and its snapshot ([`Lent`]), and
//! what fails leaves what it has done, as in MySQL, until that statement fails. All metadata locks were taken before it began
//! ([`super::triggers::lock_programs`]), so no plan becomes stale.
//!
//! Invariants:
//! 1. Only tables are used there whose metadata locks the statement took.
//! 2. A table that a statement in run uses is not changed inside it (1442).

use exec::expr::SqlResult;
use exec::output::CollectSink;
use exec::{ExecContext, Prepared};
use plan::logical::TableIndex;
use plan::physical::PlanKind;
use service::error as e;
use service::{Outcome, SqlError};
use types::ValueRef;

use super::Session;
use super::access;
use super::context;
use super::ground::Lent;
use super::run::require_join_size;
use crate::backend::Backend;
use crate::plans::{CachedPlan, PlanHandle};

/// Runs a statement without result inside another one, with the frame's slots as parameters.
///
/// # Errors
/// 1415 for a query; the statement's.
pub(super) fn run_inside<B: Backend>(
    session: &mut Session<B>,
    plan: &PlanHandle<B>,
    lent: &mut Lent<'_>,
) -> Outcome {
    match plan.physical().kind {
        PlanKind::Query(_) => Err(e::ER_SP_NO_RETSET.with(&[&session.routines.inside_word()])),
        PlanKind::Do(_) => {
            let mut sink = CollectSink::new(Vec::new(), 0);
            with_slots(session, plan, lent, |prepared, context| {
                exec::run_query(prepared, context, &mut sink)
            })?;
            session.results.set_row_count(0);
            Ok(())
        }
        PlanKind::Insert(_) | PlanKind::Update(_) | PlanKind::Delete(_) => {
            session.count(plan.kind());
            if session.variables.settings().safe_updates && plan.physical().changes_without_key() {
                return Err(e::ER_UPDATE_WITHOUT_KEY_IN_SAFE_MODE.with(&[&""]));
            }
            let changed = with_slots(session, plan, lent, exec::run_change)?;
            session.results.set_row_count(i64::try_from(changed.affected).unwrap_or(i64::MAX));
            session.results.take_set_by_function();
            if let Some(id) = changed.last_insert_id {
                session.results.set_last_insert_id(id);
            }
            Ok(())
        }
    }
}

/// Runs a plan inside another statement, with the frame's slots as parameters.
///
/// # Errors
/// Those of privileges; 1442; `run`'s.
pub(super) fn with_slots<B: Backend, R>(
    session: &mut Session<B>,
    plan: &PlanHandle<B>,
    lent: &mut Lent<'_>,
    run: impl FnOnce(&Prepared, &mut ExecContext<'_>) -> SqlResult<R>,
) -> Result<R, Box<SqlError>> {
    if !plan.is_allowed(&session.account) {
        access::require_plan(&session.account, plan.physical())?;
    }
    require_usable(session, plan)?;
    let slots = std::mem::take(&mut session.routines.frame()?.slots);
    let values: Vec<ValueRef<'_>> = slots.iter().map(ValueRef::from).collect();
    let ran = plan
        .require_limits(&values, false)
        .and_then(|()| require_join_size(session.variables.settings(), plan, &values))
        .and_then(|()| context::inside(session, plan, &values, lent, run));
    drop(values);
    session.routines.frame()?.slots = slots;
    ran
}

/// Refuses tables that the statement around it has no locks of, and changes of tables that it uses.
fn require_usable<B: Backend>(session: &mut Session<B>, plan: &CachedPlan<B>) -> Outcome {
    let physical = plan.physical();
    session.tables.require_branch_takes(physical)?;
    let firing = session.routines.firing();
    for (index, table) in physical.tables.iter().enumerate() {
        let definition = &table.entry.definition;
        if !firing.has_lock(definition) {
            // It was made after the statement began.
            return Err(e::ER_NO_SUCH_TABLE.with(&[&definition.schema, &definition.name]));
        }
        if physical.needs.changes(TableIndex(index as u32)) && firing.is_used(definition.id) {
            return Err(e::ER_CANT_UPDATE_USED_TABLE_IN_SF_OR_TRG.with(&[&definition.name]));
        }
    }
    Ok(())
}
