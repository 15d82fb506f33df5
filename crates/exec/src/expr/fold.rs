//! Constants whose values are asked for while a statement is planned.
//!
//! Invariants:
//! 1. Nothing but the expression and the session's modes is read, and nothing is changed.
//! 2. No value is given if computing it is an error. Errors and warnings belong to the execution, which computes it again.

use plan::Expr;
use types::{Column, Value};

use super::context::{EvalContext, EvalSettings, NoSession, Warnings};
use super::program::Program;

/// The value of a constant that is foldable ([`Expr::is_foldable`]).
#[must_use]
pub fn fold(constant: &Expr, settings: &EvalSettings) -> Option<Value> {
    if !constant.is_foldable() {
        return None;
    }
    let program = Program::compile(std::slice::from_ref(constant)).ok()?;
    let mut warnings = Warnings::new(0);
    let mut session = NoSession;
    let mut context = EvalContext {
        settings,
        params: &[],
        outer: Vec::new(),
        session: &mut session,
        warnings: &mut warnings,
        snapshot: None,
        transaction: None,
    };
    let mut out = [Column::new(constant.data_type.physical())];
    program.eval(&mut program.scratch(), &super::no_input(), &mut context, &mut out).ok()?;
    Some(types::convert::cell_value(out[0].cell(0), &constant.data_type))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::FunctionId as F;
    use plan::expr::CallOption;
    use plan::function::TypeContext;

    fn call(function: F, args: Vec<Expr>) -> Expr {
        plan::function::build(function, args, CallOption::None, &TypeContext::default()).unwrap()
    }

    fn folded(constant: &Expr) -> Option<Value> {
        fold(constant, &EvalSettings::default())
    }

    #[test]
    fn constants_have_values_unless_these_are_errors() {
        assert_eq!(folded(&call(F::Sub, vec![Expr::int(1), Expr::int(2)])), Some(Value::Int(-1)));
        assert_eq!(folded(&call(F::Eq, vec![Expr::int(1), Expr::null()])), Some(Value::Null));
        let most = Expr::int(i64::MAX);
        assert_eq!(folded(&call(F::Add, vec![most, Expr::int(1)])), None, "1690");
        assert_eq!(
            folded(&call(F::Div, vec![Expr::int(1), Expr::int(0)])),
            Some(Value::Null),
            "1365 is a warning"
        );
    }

    #[test]
    fn what_is_no_literal_or_long_is_not_computed() {
        let parameter = Expr::new(plan::ExprKind::Param(0), types::DataType::BIGINT, true);
        assert_eq!(folded(&call(F::Neg, vec![parameter])), None);
        assert_eq!(folded(&call(F::Rand, Vec::new())), None);
        assert_eq!(folded(&call(F::Now, Vec::new())), None);
        let text = Expr::literal(Value::string("a", types::CollationId::UTF8MB4_0900_AI_CI));
        let long = call(F::Repeat, vec![text, Expr::int(1_000_000_000)]);
        assert_eq!(folded(&call(F::Length, vec![long])), None);
    }
}
