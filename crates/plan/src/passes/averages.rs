//! AVG of exact numbers that something computes with has more digits than it shows.
//!
//! MySQL keeps a sum and a count. What computes with the average or compares it takes the quotient with all digits of its last group of
//! nine, among doubles the quotient of two doubles; what shows it, makes a text of it or passes it on as COALESCE and LEAST do takes the digits
//! of its type. Once a temporary table holds it, below windows and a sorted ROLLUP, in a derived table, those are all that there are.
//!
//! Invariants:
//! 1. The columns that the aggregation gave stay what they are: the quotients are aggregates beside them, which compute their argument once
//!    more. So it is made of exact numbers only: what calls, converts or draws numbers is not computed twice.
//! 2. An expression has the same type as before; what computes with more digits is cast to it.
//! 3. No quotient has fewer digits before the point than what is summed up.

use syntax::ast::IntervalUnit;
use types::data_type::DECIMAL_SCALE_MAX;
use types::{DataType, TypeKind, Value};

use crate::expr::{CallOption, ColumnId, Expr, ExprKind, Subquery, SubqueryKind};
use crate::function::{FunctionId as F, cast};
use crate::logical::{AggregateCall, AggregateFunction, Bound, BoundKind, ColumnInfo, InsertRows, Logical};

/// Digits that MySQL computes quotients with are a multiple of this.
const GROUP_DIGITS: u8 = 9;
/// Digits of the longest integer.
const BIGINT_DIGITS: u32 = 20;
/// Digits of a DECIMAL.
const PRECISION_MAX: u32 = 65;

/// Over all trees of a statement.
pub(super) fn run(bound: &mut Bound, kind: &mut BoundKind) {
    let columns = &mut Columns { all: &mut bound.columns, averages: &bound.averages };
    match kind {
        BoundKind::Query(tree) | BoundKind::Do(tree) => visit(columns, tree, false),
        BoundKind::Insert(insert) => {
            if let InsertRows::Query(tree, ids) = &mut insert.rows {
                store(columns, tree, ids);
                visit(columns, tree, false);
            }
            insert.row_queries.iter_mut().for_each(|query| visit(columns, &mut query.tree, false));
        }
        BoundKind::Update(update) => {
            let mut outside = Block { averages: Vec::new(), columns, more: Vec::new() };
            let assigned = update.assignments.iter_mut().filter_map(|assignment| assignment.value.as_mut());
            assigned.for_each(|value| {
                outside.widen(value);
                outside.compute(value);
            });
            visit(columns, &mut update.source, false);
            update.row_queries.iter_mut().for_each(|query| visit(columns, &mut query.tree, false));
        }
        BoundKind::Delete(delete) => visit(columns, &mut delete.source, false),
    }
}

/// The columns of the statement.
struct Columns<'b> {
    all: &'b mut Vec<ColumnInfo>,
    /// Those whose digits are there.
    averages: &'b [ColumnId],
}

/// `is_stored`: what `tree` gives goes through a temporary table before the expressions of its query block are computed.
fn visit(columns: &mut Columns<'_>, tree: &mut Logical, is_stored: bool) {
    let is_stored = match tree {
        Logical::Window { .. } => true,
        Logical::Sort { input, .. } | Logical::Distinct { input, .. } => is_stored || has_rollup(input),
        Logical::Filter { .. } | Logical::Project { .. } | Logical::Limit { .. } => is_stored,
        _ => false,
    };
    tree.each_input_mut(&mut |input| visit(columns, input, is_stored));
    let averages = match tree {
        Logical::Filter { input, .. } | Logical::Project { input, .. } | Logical::Sort { input, .. }
            if !is_stored =>
        {
            averages_of(input, columns.averages)
        }
        _ => Vec::new(),
    };
    let mut block = Block { averages, columns, more: Vec::new() };
    tree.each_expr_mut(&mut |expr| block.compute(expr));
    let more = block.more;
    if !more.is_empty() {
        aggregate(tree, more);
    }
}

/// What stores the columns `ids` of `tree` gets all digits of the averages among them.
fn store(columns: &mut Columns<'_>, tree: &mut Logical, ids: &mut [ColumnId]) {
    if has_rollup(tree) || is_sorted_rollup(tree) {
        return;
    }
    let averages = averages_of(tree, columns.averages);
    let mut block = Block { averages, columns, more: Vec::new() };
    for id in ids {
        if let Some((wide, _)) = block.quotient(*id) {
            *id = wide;
        }
    }
    let more = block.more;
    if !more.is_empty() {
        aggregate(tree, more);
    }
}

fn has_rollup(tree: &Logical) -> bool {
    match tree {
        Logical::Aggregate { rollup, .. } => *rollup,
        Logical::Filter { input, .. } | Logical::Project { input, .. } => has_rollup(input),
        _ => false,
    }
}

/// The averages of exact numbers among the columns that the rows of a query block have.
fn averages_of(tree: &Logical, known: &[ColumnId]) -> Vec<(ColumnId, AggregateCall)> {
    match tree {
        Logical::Aggregate { calls, .. } => {
            calls.iter().filter(|(id, _)| known.contains(id)).cloned().collect()
        }
        Logical::Filter { input, .. }
        | Logical::Project { input, .. }
        | Logical::Sort { input, .. }
        | Logical::Limit { input, .. } => averages_of(input, known),
        _ => Vec::new(),
    }
}

/// Computes `more` with the other aggregates of a query block.
fn aggregate(tree: &mut Logical, more: Vec<(ColumnId, AggregateCall)>) {
    match tree {
        Logical::Aggregate { calls, .. } => calls.extend(more),
        Logical::Filter { input, .. }
        | Logical::Project { input, .. }
        | Logical::Sort { input, .. }
        | Logical::Limit { input, .. } => aggregate(input, more),
        _ => {}
    }
}

/// The averages that the expressions of a query block can read.
struct Block<'c, 'b> {
    averages: Vec<(ColumnId, AggregateCall)>,
    columns: &'c mut Columns<'b>,
    /// Aggregates beside them.
    more: Vec<(ColumnId, AggregateCall)>,
}

impl Block<'_, '_> {
    /// Gives what computes with averages in `expr` all their digits.
    fn compute(&mut self, expr: &mut Expr) {
        if let ExprKind::Subquery(subquery) = &mut expr.kind {
            visit(self.columns, &mut subquery.plan, false);
        }
        self.take_digits(expr);
        expr.each_child_mut(&mut |part| self.compute(part));
    }

    fn take_digits(&mut self, expr: &mut Expr) {
        let kind = expr.data_type.kind;
        match &mut expr.kind {
            // The variable gets all digits, what is shown is rounded.
            ExprKind::UserVarAssign { value, .. } => {
                if let Some(digits) = self.widen(value) {
                    round(expr, digits);
                }
            }
            ExprKind::InList { expr, list } => {
                self.compared(&mut std::iter::once(&mut **expr).chain(list).collect::<Vec<_>>());
            }
            ExprKind::Case { whens, otherwise } if kind == TypeKind::Double => {
                let arms = whens.iter_mut().map(|(_, then)| then).chain(otherwise.as_deref_mut());
                arms.for_each(|arm| self.double(arm));
            }
            ExprKind::Call { function, args, option } => match (*function, kind) {
                (
                    F::Add
                    | F::Sub
                    | F::Mul
                    | F::Mod
                    | F::Div
                    | F::Pow
                    | F::Sqrt
                    | F::Exp
                    | F::Ln
                    | F::Log
                    | F::Log2
                    | F::Log10
                    | F::Sin
                    | F::Cos
                    | F::Tan
                    | F::Cot
                    | F::Asin
                    | F::Acos
                    | F::Atan
                    | F::Atan2
                    | F::Degrees
                    | F::Radians
                    | F::Greatest
                    | F::Least
                    | F::IfNull
                    | F::Coalesce,
                    TypeKind::Double,
                ) => args.iter_mut().for_each(|arg| self.double(arg)),
                (F::If, TypeKind::Double) => args[1..].iter_mut().for_each(|arg| self.double(arg)),
                (F::Cast, TypeKind::Double | TypeKind::Float) => self.double(&mut args[0]),
                (F::Div, TypeKind::Decimal) => {
                    args.iter_mut().for_each(|arg| {
                        self.widen(arg);
                    });
                }
                (
                    function @ (F::Add | F::Sub | F::Mul | F::Mod | F::Greatest | F::Least),
                    TypeKind::Decimal,
                ) => {
                    let widened = args.iter_mut().filter_map(|arg| self.widen_arm(arg)).count();
                    let scales = args.iter().map(|arg| arg.data_type.scale);
                    let digits = match function {
                        F::Mul => scales.fold(0, u8::saturating_add),
                        _ => scales.max().unwrap_or(0),
                    };
                    if widened > 0 {
                        round(expr, digits.min(DECIMAL_SCALE_MAX));
                    }
                }
                (F::NullIf, _) => {
                    if let Some(digits) = self.null_if(args) {
                        round(expr, digits);
                    }
                }
                (F::IntDiv, _) => {
                    if args.iter().any(|arg| !is_exact(arg)) {
                        args.iter_mut().for_each(|arg| self.double(arg));
                    } else {
                        args.iter_mut().for_each(|arg| {
                            self.widen(arg);
                        });
                    }
                }
                (function, _) if function.is_comparison_operator() => {
                    self.compared(&mut args.iter_mut().collect::<Vec<_>>());
                }
                (F::Between | F::Interval | F::Field, _) => {
                    self.compared(&mut args.iter_mut().collect::<Vec<_>>());
                }
                (F::Cast, TypeKind::Decimal) if *option != CallOption::Common => {
                    self.widen(&mut args[0]);
                }
                (F::Cast, TypeKind::Time | TypeKind::DateTime | TypeKind::Json) => {
                    self.widen(&mut args[0]);
                }
                (F::Format | F::Microsecond, _) => {
                    self.widen(&mut args[0]);
                }
                (F::DateAdd | F::DateSub, _) if matches!(option, CallOption::Unit(IntervalUnit::Second)) => {
                    self.widen(&mut args[1]);
                }
                (F::AddTime | F::SubTime, _) => args.iter_mut().for_each(|arg| {
                    self.widen(arg);
                }),
                (F::JsonObject, _) => args.iter_mut().skip(1).step_by(2).for_each(|arg| {
                    self.widen(arg);
                }),
                (F::JsonArray, _) => args.iter_mut().for_each(|arg| {
                    self.widen(arg);
                }),
                (
                    F::JsonSet | F::JsonInsert | F::JsonReplace | F::JsonArrayAppend | F::JsonArrayInsert,
                    _,
                ) => {
                    args.iter_mut().skip(2).step_by(2).for_each(|arg| {
                        self.widen(arg);
                    });
                }
                _ => {}
            },
            _ => {}
        }
    }

    /// Operands of a comparison: exact beside exact numbers and constant texts, else doubles.
    fn compared(&mut self, operands: &mut [&mut Expr]) {
        if operands.iter().all(|operand| is_compared_exactly(operand)) {
            operands.iter_mut().for_each(|operand| {
                self.widen(operand);
            });
        } else if !operands.iter().any(|operand| operand.data_type.is_temporal()) {
            operands.iter_mut().for_each(|operand| self.double(operand));
        }
    }

    /// NULLIF, which gives the value that it compares: a decimal, and so no quotient of doubles. Its digits, if it is an average.
    fn null_if(&mut self, args: &mut [Expr]) -> Option<u8> {
        if !args.iter().all(is_compared_exactly) {
            return None;
        }
        let digits: Vec<Option<u8>> = args.iter_mut().map(|arg| self.widen(arg)).collect();
        digits[0]
    }

    /// Makes an average the quotient with all its digits: how many, if it is one.
    fn widen(&mut self, expr: &mut Expr) -> Option<u8> {
        crate::progress::step();
        if expr.data_type.kind != TypeKind::Decimal {
            return None;
        }
        let digits = match &mut expr.kind {
            ExprKind::Column(id) => {
                let (wide, call) = self.quotient(*id)?;
                *id = wide;
                expr.data_type = call;
                return Some(expr.data_type.scale);
            }
            ExprKind::Subquery(subquery) => self.in_subquery(subquery)?,
            ExprKind::Call { function: F::If, args, .. } => {
                args[1..].iter_mut().filter_map(|arm| self.widen_arm(arm)).max()?
            }
            ExprKind::Case { whens, otherwise } => {
                let arms = whens.iter_mut().map(|(_, then)| then).chain(otherwise.as_deref_mut());
                arms.filter_map(|arm| self.widen_arm(arm)).max()?
            }
            ExprKind::Call { function: F::NullIf, args, .. } => self.null_if(args)?,
            _ => return None,
        };
        expr.data_type = wider(&expr.data_type, digits);
        Some(digits)
    }

    /// As [`Block::widen`], of what a function may choose: not cast to the scale of all.
    fn widen_arm(&mut self, arm: &mut Expr) -> Option<u8> {
        if let ExprKind::Call { function: F::Cast, args, option: CallOption::Common } = &mut arm.kind
            && arm.data_type.kind == TypeKind::Decimal
            && let Some(digits) = self.widen(&mut args[0])
        {
            *arm = args.swap_remove(0);
            return Some(digits);
        }
        self.widen(arm)
    }

    /// Makes an average the quotient of two doubles.
    fn double(&mut self, expr: &mut Expr) {
        if let ExprKind::Call { function: F::Cast, args, .. } = &mut expr.kind
            && expr.data_type.kind == TypeKind::Double
        {
            return self.double(&mut args[0]);
        }
        if expr.data_type.kind != TypeKind::Decimal {
            return;
        }
        match &mut expr.kind {
            ExprKind::Column(id) => {
                let average =
                    self.averages.iter().find(|(average, call)| average == id && is_repeatable(call));
                let Some((_, call)) = average.cloned() else { return };
                let sum = AggregateCall {
                    function: AggregateFunction::Sum,
                    data_type: DataType::decimal(PRECISION_MAX, scale_of(&call)),
                    ..call.clone()
                };
                let count = AggregateCall {
                    function: AggregateFunction::Count,
                    data_type: DataType::BIGINT,
                    nullable: false,
                    ..call
                };
                let args = [sum, count].map(|call| {
                    let (data_type, nullable) = (call.data_type.clone(), call.nullable);
                    cast(Expr::column(self.column(call), data_type, nullable), DataType::DOUBLE)
                });
                let option = CallOption::None;
                let kind = ExprKind::Call { function: F::Div, args: args.into(), option };
                *expr = Expr::new(kind, DataType::DOUBLE, true);
            }
            // The value of a subquery is kept as an exact number.
            ExprKind::Subquery(_) => {
                self.widen(expr);
            }
            _ => {}
        }
    }

    /// Makes a scalar subquery give all digits of an average, if it gives one: how many.
    fn in_subquery(&mut self, subquery: &mut Subquery) -> Option<u8> {
        if !matches!(subquery.kind, SubqueryKind::Scalar) || is_sorted_rollup(&subquery.plan) {
            return None;
        }
        let averages = averages_of(&subquery.plan, self.columns.averages);
        let &[id] = &subquery.columns[..] else { return None };
        let mut block = Block { averages, columns: self.columns, more: Vec::new() };
        let (wide, data_type) = block.quotient(id)?;
        let more = block.more;
        aggregate(&mut subquery.plan, more);
        subquery.columns = vec![wide];
        Some(data_type.scale)
    }

    /// The column of the quotient with all digits of an average, and its type.
    fn quotient(&mut self, average: ColumnId) -> Option<(ColumnId, DataType)> {
        let (_, call) = self.averages.iter().find(|(id, call)| *id == average && is_repeatable(call))?;
        let scale = scale_of(call);
        let spare = scale.next_multiple_of(GROUP_DIGITS) - scale;
        let more = call.data_type.scale.saturating_sub(scale).saturating_sub(spare);
        let digits = (scale + spare + more).next_multiple_of(GROUP_DIGITS);
        if integer_digits(call) + u32::from(digits) > PRECISION_MAX {
            return None;
        }
        let data_type = wider(&call.data_type, digits);
        let call = AggregateCall { data_type: data_type.clone(), ..call.clone() };
        Some((self.column(call), data_type))
    }

    /// The column of an aggregate that is computed with the others.
    fn column(&mut self, call: AggregateCall) -> ColumnId {
        if let Some((id, _)) = self.more.iter().find(|(_, other)| *other == call) {
            return *id;
        }
        let id = new_column(self.columns.all, call.data_type.clone());
        self.more.push((id, call));
        id
    }
}

fn is_sorted_rollup(tree: &Logical) -> bool {
    match tree {
        Logical::Sort { input, .. } | Logical::Distinct { input, .. } => has_rollup(input),
        Logical::Limit { input, .. } => is_sorted_rollup(input),
        _ => false,
    }
}

/// Digits after the point of the numbers that are summed up.
fn scale_of(call: &AggregateCall) -> u8 {
    match call.args.first() {
        Some(arg) if arg.data_type.kind == TypeKind::Decimal => arg.data_type.scale.min(call.data_type.scale),
        _ => 0,
    }
}

/// Digits before the point of the numbers that are summed up.
fn integer_digits(call: &AggregateCall) -> u32 {
    match call.args.first() {
        Some(arg) if arg.data_type.kind == TypeKind::Decimal => {
            arg.data_type.length.saturating_sub(u32::from(arg.data_type.scale))
        }
        _ => BIGINT_DIGITS,
    }
}

/// Whether an average is compared with it by all its digits.
fn is_compared_exactly(operand: &Expr) -> bool {
    is_exact(operand) || matches!(operand.as_literal(), Some(Value::Bytes { .. }))
}

/// Whether an aggregate may be computed once more: nothing in its arguments is called, converted or drawn.
fn is_repeatable(call: &AggregateCall) -> bool {
    let is_other = |node: &Expr| {
        !is_exact(node) || node.as_call().is_some_and(|(function, _)| !function.is_deterministic())
    };
    call.args.iter().all(|arg| !arg.any(&mut |node| is_other(node)))
}

fn is_exact(expr: &Expr) -> bool {
    expr.data_type.is_integer() || matches!(expr.data_type.kind, TypeKind::Decimal | TypeKind::Null)
}

fn wider(data_type: &DataType, digits: u8) -> DataType {
    DataType::decimal(PRECISION_MAX, data_type.scale.max(digits))
}

/// Casts a value that was computed from values with more digits, and therefore has more itself, to its type.
fn round(expr: &mut Expr, digits: u8) {
    let shown = expr.data_type.clone();
    if shown.kind != TypeKind::Decimal {
        return;
    }
    let mut computed = std::mem::replace(expr, Expr::null());
    computed.data_type = wider(&shown, digits);
    *expr = cast(computed, shown);
}

fn new_column(columns: &mut Vec<ColumnInfo>, data_type: DataType) -> ColumnId {
    let id = ColumnId(columns.len() as u32);
    columns.push(ColumnInfo {
        name: "avg".into(),
        data_type,
        nullable: true,
        origin: None,
        coercibility: None,
        bits: None,
        is_reference: false,
    });
    id
}
