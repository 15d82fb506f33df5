//! Traces of the optimizer that a session keeps (`optimizer_trace`, information_schema.OPTIMIZER_TRACE).
//!
//! Invariants:
//! 1. Kept are at most [`TRACES_MAX`] traces, and those that `optimizer_trace_offset` and `optimizer_trace_limit` ask for.
//! 2. What they take stays within `optimizer_trace_max_mem_size` and the text of one statement. What is beyond is counted.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::sync::Arc;

use env::memory::MemoryCharge;
use plan::trace::{Features, Settings, Traced};

use crate::variables::definition::known;
use crate::variables::{VariableId, Variables};

/// Traces that a session keeps at most.
pub(crate) const TRACES_MAX: usize = 1_000;

/// The trace of one statement.
#[derive(Clone, Debug, Default)]
pub struct StatementTrace {
    /// The statement.
    pub query: Vec<u8>,
    /// What was considered and chosen.
    pub trace: Vec<u8>,
    /// Bytes of it that were not kept.
    pub missing: u64,
    /// It is not shown, because of what the statement reads as another account.
    pub is_hidden: bool,
}

impl StatementTrace {
    fn bytes(&self) -> usize {
        self.query.len() + self.trace.len()
    }
}

/// What a session keeps.
#[derive(Debug, Default)]
pub(crate) struct Traces {
    kept: RefCell<Arc<VecDeque<StatementTrace>>>,
    /// Statements that were traced since the last assignment of an offset or a limit.
    count: Cell<u64>,
    held: RefCell<MemoryCharge>,
    /// What runs is part of a statement that is not traced.
    is_paused: Cell<bool>,
}

impl Traces {
    /// Whether statements are not traced for now.
    pub(crate) fn set_paused(&self, is_paused: bool) {
        self.is_paused.set(is_paused);
    }

    /// Whether the statement that is planned now is traced.
    pub(crate) fn is_due(&self, variables: &Variables) -> bool {
        Self::is_on(variables) && !self.is_paused.get()
    }

    /// Whether statements are traced.
    pub(crate) fn is_on(variables: &Variables) -> bool {
        variables.text(known::optimizer_trace()).starts_with("enabled=on")
    }

    /// Drops all.
    pub(crate) fn clear(&self) {
        *self.kept.borrow_mut() = Arc::default();
        self.count.set(0);
        self.held.borrow_mut().set(0);
    }

    /// Whether an assignment of the variable drops all.
    pub(crate) fn is_cleared_by(id: VariableId) -> bool {
        id == known::optimizer_trace_offset() || id == known::optimizer_trace_limit()
    }

    /// How the next statement is traced. None: its trace is not kept.
    pub(crate) fn next(&self, variables: &Variables) -> Option<Settings> {
        let before = self.kept_before(variables)?;
        let used: usize = self.kept.borrow().iter().rev().take(before).map(StatementTrace::bytes).sum();
        let bytes_max = usize::try_from(variables.unsigned(known::optimizer_trace_max_mem_size()));
        let features = variables.text(known::optimizer_trace_features());
        Some(Settings {
            bytes_max: bytes_max.unwrap_or(usize::MAX).saturating_sub(used),
            one_line: variables.text(known::optimizer_trace()).ends_with("one_line=on"),
            end_markers: variables.boolean(known::end_markers_in_json()),
            features: Features {
                greedy_search: features.contains("greedy_search=on"),
                range_optimizer: features.contains("range_optimizer=on"),
            },
        })
    }

    /// How many of the kept traces stay beside the next one; none: that one is not kept.
    fn kept_before(&self, variables: &Variables) -> Option<usize> {
        let offset = variables.integer(known::optimizer_trace_offset());
        if offset < 0 {
            let most = usize::try_from(offset.unsigned_abs()).unwrap_or(usize::MAX).min(TRACES_MAX);
            return Some(most - 1);
        }
        let first = u64::try_from(offset).unwrap_or(u64::MAX);
        let behind = self.count.get().checked_sub(first)?;
        let is_kept =
            behind < variables.unsigned(known::optimizer_trace_limit()) && behind < TRACES_MAX as u64;
        is_kept.then_some(TRACES_MAX - 1)
    }

    /// Counts a statement, and keeps its trace if there is one.
    pub(crate) fn put(
        &self,
        query: &[u8],
        traced: Option<(Traced, Settings)>,
        is_hidden: bool,
        variables: &Variables,
    ) {
        let before = self.kept_before(variables);
        self.count.set(self.count.get() + 1);
        let (Some((traced, settings)), Some(before)) = (traced, before) else { return };
        let trace = if is_hidden {
            StatementTrace { is_hidden, ..StatementTrace::default() }
        } else {
            let query = if settings.bytes_max == 0 { Vec::new() } else { query.to_vec() };
            StatementTrace { query, trace: traced.text, missing: traced.missing, is_hidden }
        };
        let mut kept = self.kept.borrow_mut();
        let list = Arc::make_mut(&mut kept);
        while list.len() > before {
            list.pop_front();
        }
        list.push_back(trace);
        let bytes: usize = list.iter().map(|trace| trace.bytes() + size_of::<StatementTrace>()).sum();
        self.held.borrow_mut().set(bytes as u64);
    }

    /// Those that are shown now.
    pub(crate) fn shown(&self) -> Arc<VecDeque<StatementTrace>> {
        Arc::clone(&self.kept.borrow())
    }
}
