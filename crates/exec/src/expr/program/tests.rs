//! What cannot be seen from one row: which rows a node is evaluated for, and in what order.

use super::super::{EvalContext, EvalSettings, SessionState, Warnings};
use super::*;
use plan::function::{FunctionId, TypeContext, build, case};
use types::Value;

/// Remembers user variables.
#[derive(Default)]
struct Variables(std::collections::HashMap<String, Value>);

impl SessionState for Variables {
    fn user_variable(&self, name: &str) -> Option<Value> {
        self.0.get(name).cloned()
    }
    fn set_user_variable(&mut self, name: &str, value: Value) {
        self.0.insert(name.to_owned(), value);
    }
}

fn input(index: u32) -> Expr {
    Expr::new(plan::ExprKind::Input(index), DataType::BIGINT, true)
}

fn call(function: FunctionId, args: Vec<Expr>) -> Expr {
    build(function, args, CallOption::None, &TypeContext::default()).unwrap()
}

/// Evaluates over rows 0, 1, 2, NULL and gives the cells as text, and the number of warnings.
fn run(expr: &Expr) -> (Vec<String>, u64) {
    let mut column = Column::new(Physical::Int);
    (0..3).for_each(|value| column.push_int(value));
    column.push_null();
    let batch = Batch { columns: vec![column], row_count: 4 };
    let program = Program::compile(std::slice::from_ref(expr)).unwrap();
    let (settings, mut session, mut warnings) =
        (EvalSettings::default(), Variables::default(), Warnings::default());
    let mut ctx = EvalContext {
        settings: &settings,
        params: &[],
        outer: Vec::new(),
        session: &mut session,
        warnings: &mut warnings,
        snapshot: None,
        transaction: None,
    };
    let mut out = vec![Column::new(expr.data_type.physical())];
    program.eval(&mut program.scratch(), &batch, &mut ctx, &mut out).unwrap();
    let shown = (0..4)
        .map(|row| {
            let mut text = Vec::new();
            types::convert::write_text(out[0].cell(row), &expr.data_type, &mut text);
            if out[0].is_null(row) { "NULL".to_owned() } else { String::from_utf8(text).unwrap() }
        })
        .collect();
    (shown, warnings.total())
}

#[test]
fn arms_are_evaluated_only_for_their_rows() {
    // 10 DIV x warns for x = 0; the CASE keeps that row away from it.
    let division = call(FunctionId::IntDiv, vec![Expr::int(10), input(0)]);
    assert_eq!(run(&division), (vec!["NULL".into(), "10".into(), "5".into(), "NULL".into()], 1));
    let zero = call(FunctionId::Eq, vec![input(0), Expr::int(0)]);
    let guarded =
        case(vec![(zero.clone(), Expr::int(-1))], Some(division.clone()), &TypeContext::default()).unwrap();
    assert_eq!(run(&guarded), (vec!["-1".into(), "10".into(), "5".into(), "NULL".into()], 0));
    let not_zero = call(FunctionId::Not, vec![zero]);
    let positive = call(FunctionId::Gt, vec![division, Expr::int(5)]);
    let both = call(FunctionId::And, vec![not_zero, positive]);
    assert_eq!(run(&both), (vec!["0".into(), "1".into(), "0".into(), "NULL".into()], 0));
}

#[test]
fn bounds_behind_the_first_larger_one_are_not_evaluated() {
    // 10 DIV x warns for x = 0; the bound before it ends that row.
    let division = call(FunctionId::IntDiv, vec![Expr::int(10), input(0)]);
    let places = call(FunctionId::Interval, vec![input(0), Expr::int(1), division.clone()]);
    assert_eq!(run(&places), (vec!["0".into(), "1".into(), "1".into(), "-1".into()], 0));
    let places = call(FunctionId::Interval, vec![input(0), Expr::int(0), division, Expr::int(20)]);
    assert_eq!(run(&places), (vec!["2".into(), "1".into(), "1".into(), "-1".into()], 1));
}

#[test]
fn a_user_variable_is_seen_by_the_next_row() {
    let old = Expr::new(plan::ExprKind::UserVar("n".into()), DataType::BIGINT, true);
    let start = call(FunctionId::Coalesce, vec![old, Expr::int(0)]);
    let next = call(FunctionId::Add, vec![start, Expr::int(1)]);
    let data_type = next.data_type.clone();
    let assign =
        Expr::new(plan::ExprKind::UserVarAssign { name: "n".into(), value: Box::new(next) }, data_type, true);
    assert_eq!(run(&assign).0, ["1", "2", "3", "4"]);
}
