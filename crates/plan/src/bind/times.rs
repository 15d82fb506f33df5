//! Times beside texts: only a TIME column itself makes a time of the text.

use types::TypeKind;

use crate::error::PlanResult;
use crate::expr::{CallOption, Expr, ExprKind, SubqueryKind};
use crate::function::{self, FunctionId};

use super::Binder;

impl Binder<'_> {
    /// What MIN and MAX give of times, and the time of a subquery, is no column: beside a text it is a text.
    pub(super) fn times_beside_texts(&self, function: FunctionId, args: &mut [Expr]) -> PlanResult<()> {
        let compares = function.compares_two() || function == FunctionId::Between;
        if !compares || !args.iter().any(|arg| arg.data_type.is_string()) {
            return Ok(());
        }
        for arg in args.iter_mut().filter(|arg| arg.data_type.kind == TypeKind::Time) {
            if self.is_computed_time(arg) {
                let time = std::mem::replace(arg, Expr::null());
                *arg = function::build(FunctionId::AnyValue, vec![time], CallOption::None, &self.types)?;
            }
        }
        Ok(())
    }

    fn is_computed_time(&self, time: &Expr) -> bool {
        match &time.kind {
            ExprKind::Column(id) => {
                self.blocks.iter().any(|block| block.aggregates.iter().any(|(other, _)| other == id))
            }
            ExprKind::Subquery(subquery) => matches!(subquery.kind, SubqueryKind::Scalar),
            _ => false,
        }
    }
}
