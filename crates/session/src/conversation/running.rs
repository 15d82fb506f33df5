//! The statement that runs: its text and parameters for expressions that are planned by themselves, and where it stands.

use std::cell::Cell;

use types::{Value, ValueRef};

use super::memory;
use super::query_log::{QueuedClock, StatementClock};
use crate::backend::Backend;
use crate::core::Core;
use crate::deadlines::Deadline;
use crate::plans::PlanHandle;

/// What the parts of a running statement ask of it. Empty between statements, but for memory that is used again.
#[derive(Default)]
pub(crate) struct RunningStatement {
    /// The text into which the spans of expressions point.
    text: Vec<u8>,
    /// Its parameters, for expressions.
    parameters: Vec<Value>,
    /// Parameters that lie on disk.
    long_values: Vec<exec::LongParameter>,
    /// EXECUTE runs a statement of PREPARE.
    executes_named: bool,
    /// It follows others that have left traces: earlier statements of its text, the definition of the table that it fills.
    follows_others: bool,
    /// Its deadline, while it is to be planned again or queued.
    deadline: Cell<Option<Box<Deadline>>>,
    /// Its clock, if it was queued.
    queued: Option<Box<QueuedClock>>,
    /// By which factor the worst estimate of its plans was wrong, where that is enough to plan again.
    misestimated_by: f64,
}

impl std::fmt::Debug for RunningStatement {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("RunningStatement").field("text", &self.text).finish_non_exhaustive()
    }
}

impl RunningStatement {
    /// Nothing runs.
    pub(super) fn reset(&mut self) {
        *self = Self::default();
    }

    /// A statement stands at the beginning of its command, or follows others.
    #[inline]
    pub(super) fn set_follows_others(&mut self, follows_others: bool) {
        self.follows_others = follows_others;
    }

    /// Whether another statement of the same command ran before it.
    #[inline]
    pub(super) fn follows_others(&self) -> bool {
        self.follows_others
    }

    /// The text into which the spans of the statement's expressions point.
    #[inline]
    pub(crate) fn set_text(&mut self, text: &[u8]) {
        self.text.clear();
        self.text.extend_from_slice(text);
    }

    /// The values of its parameters.
    #[inline]
    pub(super) fn set_parameters(&mut self, parameters: &[ValueRef<'_>]) {
        self.parameters = parameters.iter().map(|value| value.to_value()).collect();
    }

    /// Takes the parameters out; [`RunningStatement::put_back`] returns them.
    pub(super) fn take_parameters(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.parameters)
    }

    /// Takes text and parameters out while an expression is planned.
    pub(super) fn take(&mut self) -> (Vec<u8>, Vec<Value>) {
        (std::mem::take(&mut self.text), std::mem::take(&mut self.parameters))
    }

    /// Returns what [`RunningStatement::take`] took.
    pub(super) fn put_back(&mut self, (text, parameters): (Vec<u8>, Vec<Value>)) {
        self.text = text;
        self.parameters = parameters;
    }

    /// It has ended: memory beyond what is kept for the next one is freed.
    #[inline]
    pub(super) fn end(&mut self) {
        self.free_text();
        if self.deadline.get_mut().is_some() || self.queued.is_some() || self.misestimated_by > 0.0 {
            self.drop_details();
        }
    }

    /// It was rolled back and is requeued: its time goes on.
    #[cold]
    pub(super) fn suspend(&mut self, clock: StatementClock, core: &Core) {
        self.free_text();
        match &mut self.queued {
            Some(queued) => queued.suspend(core),
            None => self.queued = Some(Box::new(QueuedClock::new(clock, core))),
        }
    }

    /// The clock of a statement that was requeued and runs again.
    #[cold]
    pub(super) fn go_on(&mut self, core: &Core) -> Option<StatementClock> {
        self.queued.as_mut().map(|queued| queued.go_on(core))
    }

    /// An estimate of its plan was wrong by this factor.
    pub(super) fn note_misestimated(&mut self, factor: f64) {
        self.misestimated_by = self.misestimated_by.max(factor);
    }

    /// By which factor the worst estimate was wrong; 0: none was by much.
    pub(super) fn misestimated_by(&self) -> f64 {
        self.misestimated_by
    }

    /// How long it was queued, in microseconds.
    pub(super) fn queued_micros(&self) -> u64 {
        self.queued.as_ref().map_or(0, |queued| queued.micros())
    }

    #[inline]
    fn free_text(&mut self) {
        if self.text.capacity() > memory::KEPT_BYTES_MAX {
            self.text = Vec::new();
        }
    }

    /// It ended before it was planned again, or after it was queued, or was estimated wrong.
    #[cold]
    fn drop_details(&mut self) {
        self.misestimated_by = 0.0;
        self.deadline.set(None);
        self.queued = None;
    }

    /// It is to be planned again or queued, and has the time that is left.
    pub(super) fn keep_deadline(&mut self, deadline: Box<Deadline>) {
        self.deadline.set(Some(deadline));
    }

    /// The same, with the plan that does not serve.
    pub(super) fn keep_deadline_of<B: Backend>(&mut self, mut plan: PlanHandle<B>) {
        self.deadline.set(plan.take_deadline());
    }

    /// The deadline of a statement that is planned or run again.
    pub(super) fn take_deadline(&self) -> Option<Box<Deadline>> {
        self.deadline.take()
    }

    /// Its parameters that lie on disk.
    #[inline]
    pub(super) fn long_values(&self) -> &[exec::LongParameter] {
        &self.long_values
    }

    /// Says which parameters lie on disk; none once it has ended.
    #[inline]
    pub(super) fn set_long_values(&mut self, long_values: Vec<exec::LongParameter>) {
        self.long_values = long_values;
    }

    /// Whether EXECUTE runs it.
    #[inline]
    pub(super) fn executes_named(&self) -> bool {
        self.executes_named
    }

    /// EXECUTE begins, or ends.
    pub(super) fn set_executes_named(&mut self, executes_named: bool) {
        self.executes_named = executes_named;
    }
}
