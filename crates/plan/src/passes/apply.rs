//! Every subquery that is still inside an expression becomes a column that an `Apply` below computes. After this pass no
//! expression holds a subquery.
//!
//! An arm of CASE, IF, IFNULL and COALESCE, and an operand of AND and OR, is evaluated only if those before it ask for it. Its subqueries know
//! that ([`Subquery::needed_if`](crate::expr::Subquery::needed_if)): they are not computed for other rows, whatever errors that would give.
//! What decides is computed a second time for it, so that it is left out if it may differ then, or is large.

use types::{DataType, Value};

use crate::expr::{CallOption, ColumnId, Expr, ExprKind, SubqueryKind};
use crate::function::{FunctionId as F, with_operand};
use crate::logical::{Bound, ColumnInfo, JoinKind, Logical};

use super::take;

/// Runs the pass over a tree and the trees of the subqueries in it.
pub(super) fn run(bound: &mut Bound, tree: &mut Logical) {
    tree.each_input_mut(&mut |input| run(bound, input));
    if let Logical::Apply { subquery, .. } = tree {
        run(bound, &mut subquery.plan);
    }
    match tree {
        Logical::Filter { input, conditions } if conditions.iter().any(Expr::has_subquery) => {
            **input = extract_conditions(bound, take(input), conditions);
        }
        Logical::Project { input, items } if items.iter().any(|(_, expr)| expr.has_subquery()) => {
            let mut source = take(input);
            for (_, expr) in items {
                source = extract(bound, source, expr);
            }
            **input = source;
        }
        Logical::Aggregate { input, keys, calls, .. } => {
            let mut source = take(input);
            for (_, expr) in keys {
                source = extract(bound, source, expr);
            }
            for (_, call) in calls {
                for arg in &mut call.args {
                    source = extract(bound, source, arg);
                }
                for key in &mut call.order_by {
                    source = extract(bound, source, &mut key.expr);
                }
            }
            **input = source;
        }
        Logical::Window { .. } => {
            let mut slot = None;
            tree.each_input_mut(&mut |input| slot = Some(take(input)));
            tree.each_expr_mut(&mut |expr| {
                slot = slot.take().map(|source| extract(bound, source, expr));
            });
            tree.each_input_mut(&mut |input| {
                if let Some(source) = slot.take() {
                    *input = source;
                }
            });
        }
        Logical::Sort { input, keys } => {
            let mut source = take(input);
            for key in keys {
                source = extract(bound, source, &mut key.expr);
            }
            **input = source;
        }
        Logical::Join { kind, left, right, conditions } if conditions.iter().any(Expr::has_subquery) => {
            // An inner join's conditions may as well be checked after it; an outer join's are computed on the side
            // whose columns they need.
            if matches!(kind, JoinKind::Inner | JoinKind::Straight) {
                let (with, without): (Vec<_>, Vec<_>) = conditions.drain(..).partition(Expr::has_subquery);
                *conditions = without;
                let mut conditions = with;
                let source = extract_conditions(bound, take(tree), &mut conditions);
                *tree = Logical::Filter { input: Box::new(source), conditions };
            } else {
                let right_columns = right.output(&bound.tables);
                for condition in conditions {
                    let mut needs_right = false;
                    condition.each_column(&mut |id| needs_right |= right_columns.contains(&id));
                    let side = if needs_right { &mut *right } else { &mut *left };
                    let source = take(side);
                    **side = Extract { is_beside: true, ..Extract::new(bound) }.read(source, condition, true);
                }
            }
        }
        Logical::Values { rows, .. } if rows.iter().flatten().any(Expr::has_subquery) => {
            // Rows of VALUES stand alone: each becomes a projection of one row, all together a union.
            let Logical::Values { columns, rows } = take(tree) else { return };
            *tree = values_union(bound, columns, rows);
        }
        _ => {}
    }
}

fn values_union(bound: &mut Bound, columns: Vec<ColumnId>, rows: Vec<Vec<Expr>>) -> Logical {
    let mut union: Option<(Logical, Vec<ColumnId>)> = None;
    let count = rows.len();
    for (number, row) in rows.into_iter().enumerate() {
        let mut source = Logical::OneRow;
        let mut items = Vec::new();
        let mut ids = Vec::new();
        for mut expr in row {
            source = extract(bound, source, &mut expr);
            let id = new_column(bound, &expr);
            ids.push(id);
            items.push((id, expr));
        }
        let project = Logical::Project { input: Box::new(source), items };
        union = Some(match union {
            None => (project, ids),
            Some((left, left_columns)) => {
                let output: Vec<ColumnId> = if number + 1 == count {
                    columns.clone()
                } else {
                    left_columns.iter().map(|id| copy_column(bound, *id)).collect()
                };
                let node = Logical::SetOp {
                    op: syntax::ast::SetOp::Union,
                    all: true,
                    left: Box::new(left),
                    left_columns,
                    right: Box::new(project),
                    right_columns: ids,
                    columns: output.clone(),
                };
                (node, output)
            }
        });
    }
    match union {
        Some((node, ids)) if ids == columns => node,
        Some((node, ids)) => {
            let items = columns
                .iter()
                .zip(ids)
                .map(|(id, source)| {
                    let info = &bound.columns[source.0 as usize];
                    (*id, Expr::column(source, info.data_type.clone(), info.nullable))
                })
                .collect();
            Logical::Project { input: Box::new(node), items }
        }
        None => Logical::Empty { columns },
    }
}

/// A text in which a number is read without a warning.
fn make_quiet(expr: &mut Expr) {
    let text = std::mem::replace(expr, Expr::null());
    let Expr { ref data_type, nullable, coercibility, .. } = text;
    let data_type = data_type.clone();
    let kind = ExprKind::Call { function: F::Cast, args: vec![text], option: CallOption::Quiet };
    *expr = Expr { kind, data_type, nullable, coercibility };
}

/// Texts among `columns` that the comparisons of a row compare with numbers.
fn read_quietly(part: &mut Expr, columns: &[ColumnId]) {
    if let ExprKind::Call { function, args, .. } = &mut part.kind
        && function.compares_two()
        && let [left, right] = &mut args[..]
    {
        let is_text = |side: &Expr| {
            side.data_type.is_string() && side.as_column().is_some_and(|id| columns.contains(&id))
        };
        if is_text(left) && right.data_type.is_numeric() {
            make_quiet(left);
        } else if is_text(right) && left.data_type.is_numeric() {
            make_quiet(right);
        }
        return;
    }
    part.each_child_mut(&mut |child| read_quietly(child, columns));
}

fn new_column(bound: &mut Bound, expr: &Expr) -> ColumnId {
    let id = ColumnId(bound.columns.len() as u32);
    bound.columns.push(ColumnInfo {
        name: "".into(),
        data_type: expr.data_type.clone(),
        nullable: expr.nullable,
        origin: None,
        coercibility: None,
        bits: None,
        is_reference: false,
    });
    id
}

fn copy_column(bound: &mut Bound, id: ColumnId) -> ColumnId {
    let mut info = bound.columns[id.0 as usize].clone();
    info.origin = None;
    bound.columns.push(info);
    ColumnId(bound.columns.len() as u32 - 1)
}

/// Makes every subquery of `expr` a column that an `Apply` over `source` computes.
fn extract(bound: &mut Bound, source: Logical, expr: &mut Expr) -> Logical {
    Extract::new(bound).read(source, expr, false)
}

/// As above, of a value that UPDATE assigns; columns that are `changing` may be read as they are after an assignment.
pub(super) fn extract_assigned(
    bound: &mut Bound,
    source: Logical,
    value: &mut Expr,
    changing: &[ColumnId],
) -> Logical {
    Extract { changing, ..Extract::new(bound) }.read(source, value, false)
}

/// As above, of conditions that are checked one after the other.
fn extract_conditions(bound: &mut Bound, mut source: Logical, conditions: &mut [Expr]) -> Logical {
    let mut extract = Extract::new(bound);
    for condition in conditions {
        // Those without a subquery are checked below.
        let has_subquery = condition.has_subquery();
        source = extract.read(source, condition, true);
        if has_subquery {
            extract.require(condition, |condition| call(F::IsTrue, condition));
        }
    }
    source
}

/// A query without a table: MySQL takes it for its value.
fn is_value(tree: &Logical) -> bool {
    matches!(tree, Logical::Project { input, .. } if matches!(**input, Logical::OneRow))
}

fn call(function: F, arg: Expr) -> Expr {
    let kind = ExprKind::Call { function, args: vec![arg], option: CallOption::None };
    Expr::new(kind, DataType::BOOL, false)
}

/// Maximum number of conditions that are kept with a subquery, and of nodes in each of them. Beyond it the subquery is computed for rows that do
/// not read its value.
const NEEDED_IF_MAX: usize = 16;
const NEEDED_IF_NODES_MAX: usize = 64;

/// Takes subqueries out of an expression.
struct Extract<'b> {
    bound: &'b mut Bound,
    /// What is true where the part that is visited is evaluated: arms of CASE and operands of AND that those before them ask for.
    needed_if: Vec<Expr>,
    /// The operands that the part that is visited may read by their numbers.
    operands: Vec<(u64, Expr)>,
    /// Columns that may have another value where the expression is evaluated.
    changing: &'b [ColumnId],
    /// What is visited may be evaluated for other rows than the `Apply` has.
    is_beside: bool,
}

impl<'b> Extract<'b> {
    fn new(bound: &'b mut Bound) -> Extract<'b> {
        Extract { bound, needed_if: Vec::new(), operands: Vec::new(), changing: &[], is_beside: false }
    }

    /// Notes that what follows is evaluated only if what `of` makes of the condition is true.
    fn require(&mut self, condition: &Expr, of: impl Fn(Expr) -> Expr) {
        if self.is_beside || self.needed_if.len() >= NEEDED_IF_MAX {
            return;
        }
        // It is computed a second time, with the operands that it reads.
        let mut condition = condition.clone();
        if condition.any(&mut |node| matches!(node.kind, ExprKind::Call { function: F::Operand, .. })) {
            for (number, operand) in self.operands.iter().rev() {
                condition = with_operand(*number, operand.clone(), condition);
            }
        }
        let mut nodes = 0;
        let is_other = condition.any(&mut |node| {
            nodes += 1;
            nodes > NEEDED_IF_NODES_MAX
                || match &node.kind {
                    ExprKind::Call { function, .. } => !function.is_deterministic(),
                    ExprKind::UserVar(_) | ExprKind::UserVarAssign { .. } => true,
                    ExprKind::Column(id) => self.changing.contains(id),
                    _ => false,
                }
        });
        if !is_other {
            self.needed_if.push(of(condition));
        }
    }

    /// `is_read`: an expression or condition reads the value, so that it may become a number.
    fn read(&mut self, mut source: Logical, expr: &mut Expr, is_read: bool) -> Logical {
        if let ExprKind::Subquery(subquery) = &expr.kind {
            // Numbers are read without a warning in a text that MySQL keeps of a subquery.
            let is_quiet = is_read
                && matches!(subquery.kind, SubqueryKind::Scalar)
                && expr.data_type.is_string()
                && !is_value(&subquery.plan);
            let column = new_column(self.bound, expr);
            let ExprKind::Subquery(mut subquery) =
                std::mem::replace(&mut expr.kind, ExprKind::Column(column))
            else {
                return source;
            };
            run(self.bound, &mut subquery.plan);
            let is_kept = !is_value(&subquery.plan);
            if let SubqueryKind::Quantified { condition, single, .. } = &mut subquery.kind {
                for part in condition {
                    // So are those of a row.
                    if *single && is_kept {
                        read_quietly(part, &subquery.columns);
                    }
                    // The left operand may hold a subquery itself.
                    source = self.read(source, part, true);
                }
            }
            subquery.needed_if.clone_from(&self.needed_if);
            if is_quiet {
                make_quiet(expr);
            }
            return Logical::Apply { input: Box::new(source), subquery, column };
        }
        let kept = self.needed_if.len();
        source = match &mut expr.kind {
            ExprKind::Call { function: F::And, args, .. } => {
                self.in_turn(source, args, |arg| call(F::Not, call(F::IsFalse, arg)))
            }
            ExprKind::Call { function: F::Or, args, .. } => {
                self.in_turn(source, args, |arg| call(F::Not, call(F::IsTrue, arg)))
            }
            ExprKind::Call { function: F::Coalesce | F::IfNull, args, .. } => {
                self.in_turn(source, args, |arg| call(F::IsNull, arg))
            }
            ExprKind::Call { function: F::WithOperand, args, option: CallOption::Number(number) } => {
                let [operand, reader] = &mut args[..] else { return source };
                source = self.read(source, operand, true);
                self.operands.push((*number, operand.clone()));
                source = self.read(source, reader, true);
                self.operands.pop();
                source
            }
            // They compute nothing of what they are asked for.
            ExprKind::Call { function: F::Charset | F::Collation | F::Coercibility, args, .. } => {
                args.iter_mut().for_each(leave_out_subqueries);
                source
            }
            ExprKind::Call { function: F::If, args, .. } if args.len() == 3 => {
                source = self.read(source, &mut args[0], true);
                let (condition, arms) = args.split_at_mut(1);
                for (arm, is_taken) in arms.iter_mut().zip([true, false]) {
                    if arm.has_subquery() {
                        self.require(&condition[0], |condition| taken(condition, is_taken));
                        source = self.read(source, arm, true);
                        self.needed_if.truncate(kept);
                    }
                }
                source
            }
            ExprKind::Case { whens, otherwise } => {
                let last = whens.iter().rposition(|(when, then)| when.has_subquery() || then.has_subquery());
                let last = match otherwise.as_ref().is_some_and(|otherwise| otherwise.has_subquery()) {
                    true => Some(whens.len()),
                    false => last,
                };
                for (at, (when, then)) in whens.iter_mut().enumerate() {
                    if last.is_none_or(|last| at > last) {
                        break;
                    }
                    source = self.read(source, when, true);
                    if then.has_subquery() {
                        let around = self.needed_if.len();
                        self.require(when, |when| taken(when, true));
                        source = self.read(source, then, true);
                        self.needed_if.truncate(around);
                    }
                    self.require(when, |when| taken(when, false));
                }
                if let Some(otherwise) = otherwise {
                    source = self.read(source, otherwise, true);
                }
                source
            }
            _ => {
                let mut slot = Some(source);
                expr.each_child_mut(&mut |child| {
                    if let Some(source) = slot.take() {
                        slot = Some(self.read(source, child, true));
                    }
                });
                slot.unwrap_or(Logical::OneRow)
            }
        };
        self.needed_if.truncate(kept);
        source
    }

    /// Operands of which each is evaluated only if `goes_on` is true of all before it.
    fn in_turn(&mut self, mut source: Logical, args: &mut [Expr], goes_on: impl Fn(Expr) -> Expr) -> Logical {
        let Some(last) = args.iter().rposition(Expr::has_subquery) else { return source };
        for (at, arg) in args.iter_mut().enumerate().take(last + 1) {
            source = self.read(source, arg, true);
            if at < last {
                self.require(arg, &goes_on);
            }
        }
        source
    }
}

/// Puts a NULL of its type in place of each subquery of an expression that is not computed.
fn leave_out_subqueries(expr: &mut Expr) {
    if matches!(expr.kind, ExprKind::Subquery(_)) {
        expr.kind = ExprKind::Literal(Value::Null);
    }
    expr.each_child_mut(&mut leave_out_subqueries);
}

/// Whether a condition that chooses between arms is true.
fn taken(condition: Expr, is_true: bool) -> Expr {
    let truth = call(F::IsTrue, condition);
    if is_true { truth } else { call(F::Not, truth) }
}
