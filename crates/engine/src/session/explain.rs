//! EXPLAIN: the plan of a statement, not run.

use service::{Outcome, Reply};
use syntax::ast::{Explain, ExplainTarget};
use types::Value;

use super::{LocalSession, not_supported};
use crate::status::StatementKind;

impl LocalSession {
    pub(crate) fn explain(
        &mut self,
        explain: &Explain<'_>,
        _sql: &[u8],
        _parameters: &[Value],
        _reply: &mut Reply<'_>,
    ) -> Outcome {
        self.core.counters.count(StatementKind::ExplainOther);
        let ExplainTarget::Statement(..) = explain.target else {
            return Err(not_supported("EXPLAIN FOR CONNECTION"));
        };
        Err(not_supported("EXPLAIN"))
    }
}
