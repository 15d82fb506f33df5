//! What a run of a plan counted of its joins, compared with what was estimated: a plan that was wrong by much is noted, and made again with
//! what was counted the next time that its statement comes.

use exec::NodeCounter;
use plan::feedback::WRONG_FACTOR;

use super::Session;
use crate::backend::Backend;
use crate::plans::CachedPlan;
use crate::variables::settings::Settings;

/// Whether the rows of the plan are counted: its statement could be planned better.
#[inline]
pub(super) fn is_due<B: Backend>(plan: &CachedPlan<B>, settings: &Settings) -> bool {
    plan.physical().is_counted() && settings.optimizer_feedback && plan.estimate_check().is_open()
}

/// A run has ended, of which this was counted; empty: nothing was.
#[inline]
pub(super) fn end<B: Backend>(session: &mut Session<B>, plan: &CachedPlan<B>, counters: &[NodeCounter]) {
    if !counters.is_empty() {
        compare(session, plan, counters);
    }
}

fn compare<B: Backend>(session: &mut Session<B>, plan: &CachedPlan<B>, counters: &[NodeCounter]) {
    let counted = |number: u32| counters.get(number as usize).and_then(NodeCounter::rows_a_loop);
    let factor = plan.physical().worst_factor(&counted);
    if factor < WRONG_FACTOR {
        return;
    }
    session.running.note_misestimated(factor);
    let learn = || session.shared.plans.counted.note(plan.counted_key(), plan.physical().feedback(&counted));
    if plan.estimate_check().close(learn) {
        session.shared.core.counters.plans_misestimated.increment();
    }
}
