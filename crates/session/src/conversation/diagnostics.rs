//! The warnings and errors of a session's last statement: what SHOW WARNINGS shows.
//!
//! Invariant: at most `max_error_count` are kept, but all are counted. Without `sql_notes` notes are neither.

use service::{Diagnostic, Level};
use syntax::ast::ConditionItem;

use crate::variables::settings::DiagnosticRules;

/// What SIGNAL said of a condition besides number, SQLSTATE and text.
#[derive(Clone, Debug, Default)]
pub(crate) struct ConditionDetails {
    items: Vec<(ConditionItem, String)>,
}

impl ConditionDetails {
    /// SIGNAL said this of it, in place of what was said before.
    pub(super) fn set(&mut self, item: ConditionItem, text: String) {
        self.items.retain(|(other, _)| *other != item);
        self.items.push((item, text));
    }

    /// What was said.
    pub(super) fn get(&self, item: ConditionItem) -> Option<&str> {
        self.items.iter().find(|(said, _)| *said == item).map(|(_, text)| &**text)
    }
}

/// Diagnostics of the statement that runs, or ran last.
#[derive(Clone, Debug, Default)]
pub struct Diagnostics {
    kept: Vec<Diagnostic>,
    warning_count: u64,
    error_count: u64,
    /// Both counts of the statement before.
    before: (u64, u64),
    /// What SIGNAL said besides number and text, by position in `kept`.
    details: Vec<(usize, ConditionDetails)>,
    /// Details of the error that is on its way here.
    pending: Option<ConditionDetails>,
    /// A handler has begun and no statement of it has run: these conditions are those it was called for.
    inherited: bool,
}

impl Diagnostics {
    /// A statement of the client starts. It may read what the one before has counted.
    #[inline]
    pub(crate) fn begin_statement(&mut self) {
        self.before = (self.warning_count, self.error_count);
    }

    /// `@@warning_count` and `@@error_count`: what the statement before has counted.
    #[must_use]
    pub(crate) fn counts_before(&self) -> (u64, u64) {
        self.before
    }

    /// Forgets everything: a new statement starts.
    #[inline]
    pub fn clear(&mut self) {
        // Most statements leave nothing. What is kept was counted, and details belong to what is kept.
        let is_clean = self.kept.is_empty() && self.warning_count == 0 && self.error_count == 0;
        if !is_clean || self.pending.is_some() || self.inherited {
            self.clear_all();
        }
    }

    #[cold]
    fn clear_all(&mut self) {
        self.kept.clear();
        self.warning_count = 0;
        self.error_count = 0;
        self.details.clear();
        self.pending = None;
        self.inherited = false;
    }

    /// Whether these are the conditions that a handler was called for, of which no statement has run.
    #[inline]
    pub(super) fn are_inherited(&self) -> bool {
        self.inherited
    }

    /// Says whether they are.
    pub(super) fn set_inherited(&mut self, inherited: bool) {
        self.inherited = inherited;
    }

    /// Keeps `details` for the condition that is added next.
    pub(crate) fn expect(&mut self, details: ConditionDetails) {
        self.pending = Some(details);
    }

    /// The same for an error that comes from a routine with diagnostics of its own.
    pub(super) fn expect_as(&mut self, inner: Self) {
        self.pending = inner.pending;
    }

    /// What SIGNAL said of a condition.
    pub(crate) fn details(&self, position: usize) -> Option<&ConditionDetails> {
        self.details.iter().find(|(at, _)| *at == position).map(|(_, details)| details)
    }

    /// Takes a condition out.
    pub(crate) fn remove(&mut self, position: usize) {
        if position >= self.kept.len() {
            return;
        }
        let removed = self.kept.remove(position);
        self.warning_count = self.warning_count.saturating_sub(1);
        if removed.level == Level::Error {
            self.error_count = self.error_count.saturating_sub(1);
        }
        self.details.retain(|(at, _)| *at != position);
        for (at, _) in &mut self.details {
            *at -= usize::from(*at > position);
        }
    }

    /// Adds one.
    pub fn push(&mut self, diagnostic: Diagnostic, rules: DiagnosticRules) {
        if diagnostic.level == Level::Note && !rules.has_notes {
            return;
        }
        self.warning_count += 1;
        if diagnostic.level == Level::Error {
            self.error_count += 1;
        }
        if self.kept.len() < rules.kept_max {
            if let Some(details) = self.pending.take() {
                self.details.push((self.kept.len(), details));
            }
            self.kept.push(diagnostic);
        }
    }

    /// Adds several.
    pub fn extend(&mut self, diagnostics: impl IntoIterator<Item = Diagnostic>, rules: DiagnosticRules) {
        for diagnostic in diagnostics {
            self.push(diagnostic, rules);
        }
    }

    /// Adds those kept of `total` that an execution raised.
    pub(crate) fn extend_counted(
        &mut self,
        kept: impl IntoIterator<Item = Diagnostic>,
        total: u64,
        rules: DiagnosticRules,
    ) {
        let before = self.warning_count;
        let mut left_out = 0;
        for diagnostic in kept {
            left_out += u64::from(diagnostic.level == Level::Note && !rules.has_notes);
            self.push(diagnostic, rules);
        }
        self.warning_count = before + total - left_out;
    }

    /// What is kept, in order.
    #[must_use]
    pub fn kept(&self) -> &[Diagnostic] {
        &self.kept
    }

    /// Warnings, notes and errors raised so far.
    #[must_use]
    pub fn warning_count(&self) -> u64 {
        self.warning_count
    }

    /// Errors raised so far.
    #[must_use]
    pub(crate) fn error_count(&self) -> u64 {
        self.error_count
    }

    /// The count as packets carry it.
    #[must_use]
    pub(crate) fn packet_count(&self) -> u16 {
        u16::try_from(self.warning_count).unwrap_or(u16::MAX)
    }
}
