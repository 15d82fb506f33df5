//! Constants that MySQL converts when it resolves a comparison, and conditions that it computes before it reads a row: what is
//! wrong with them is an error whether a row reaches them or not.
//!
//! | constant | when | error |
//! | --- | --- | --- |
//! | a text beside a date, or one of a subquery's rows without HAVING that a date is looked for in | `=`, `<=>`, `<>`, `<` ..., STRCMP, NULLIF | 1525 |
//! | the same, if it is known only when the statement runs | `=` of a column of dates, joined to other conditions by AND and OR | 1525 |
//! | a text beside a TIME column | the same, and BETWEEN of two constants | 1292 where changes are strict, but for spaces |
//! | a number beside a column of dates or times | the same | 1292 where changes are strict |
//! | a text beside a BIGINT column | `=`, `<=>`, `<>`, `<` ..., STRCMP, NULLIF, and each bound of BETWEEN | 1292 where changes are strict |
//! | what is computed, beside a BIGINT column or a column of dates or times, but dates beside dates | the same | its own |
//! | a document beside a TIME or BIGINT column | `=`, `<=>`, `<>`, `<` ... | 3156 where changes are strict |
//! | a text that is written beside a column of numbers, or in the rows of a subquery that it is looked for in | the same, anywhere in WHERE, HAVING and ON but for outer joins, if no constant among the conditions that MySQL joins is false | 1292 where changes are strict |
//! | what is converted to another character set, unless it is bytes; what GROUP_CONCAT joins, and COUNT, SUM and AVG with DISTINCT distinguish values of | always | its own |
//! | the items of IN, if all are constants of one class | IN | that of the item |
//! | a part of WHERE, ON and HAVING that AND, OR and NOT join to others | always, before the texts beside columns | that of the part |
//!
//! Columns convert nothing for LIMIT 0, nor where constants in the rows that are compared are unlike. A subquery that is a join is left out if a constant
//! among its conditions, or those beside it, is false.
//!
//! In subqueries of changes a derived table is materialized, so that its columns are no constants.
//!
//! A column that an outer join fills with NULL is known only when the statement runs, and a constant beside the `=` of the second line alone. A row of a
//! set operation that comes from no table is none. What is known then is not looked for where LIMIT 0 or a condition that is false leaves no row. IS NULL
//! of what cannot be NULL is a constant.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, DefaultHasher};

use crate::expr::{CallOption, Coercibility, ColumnId, Expr, ExprKind, Subquery, SubqueryKind};
use crate::function::FunctionId as F;
use crate::logical::{
    AggregateCall, AggregateFunction, BoundAssignment, BoundKind, ColumnInfo, InsertCell, InsertRows,
    JoinKind, Logical,
};

use super::Session;
use types::data_type::{DECIMAL_PRECISION_MAX, DECIMAL_SCALE_MAX};
use types::{DataType, TypeKind, Value};

/// A constant is followed through at most this many nodes of the expressions that it is made of.
const NODES_MAX: usize = 512;

/// Among more items of select lists than this, a column is not searched one by one.
const SEARCHED_ITEMS_MAX: usize = 16;

/// Years that a YEAR column holds.
const YEAR_MIN: i64 = 1901;
const YEAR_MAX: i64 = 2155;

/// A constant text and the type of what it is compared with, as an expression of constants: computing it converts the text, with the
/// error that the comparison of a row would give.
fn conversion(mut constant: Expr, to: &DataType) -> Expr {
    if constant.data_type.kind == TypeKind::Json {
        let kind = ExprKind::Call { function: F::Cast, args: vec![constant], option: CallOption::None };
        return call(F::Eq, vec![Expr::new(kind, to.clone(), true), typed_null(to)]);
    }
    if constant.data_type.is_string() && to.kind == TypeKind::Decimal {
        // Unlike beside a DOUBLE, no digit at all is an error, too.
        let widest = DataType::decimal(DECIMAL_PRECISION_MAX, DECIMAL_SCALE_MAX);
        let kind = ExprKind::Call { function: F::Cast, args: vec![constant], option: CallOption::None };
        return call(F::Eq, vec![Expr::new(kind, widest.clone(), true), typed_null(&widest)]);
    }
    if constant.data_type.is_numeric() && to.is_temporal() {
        // 0 is the zero date, whatever the mode says of it.
        let to = if to.kind == TypeKind::Timestamp { DataType::datetime(to.scale) } else { to.clone() };
        let is_zero = call(F::Eq, vec![constant.clone(), Expr::int(0)]);
        let kind = ExprKind::Call { function: F::Cast, args: vec![constant], option: CallOption::None };
        let whens = vec![(is_zero, typed_null(&to))];
        let otherwise = Some(Box::new(Expr::new(kind, to.clone(), true)));
        return call(
            F::Eq,
            vec![Expr::new(ExprKind::Case { whens, otherwise }, to.clone(), true), typed_null(&to)],
        );
    }
    if matches!(constant.kind, ExprKind::Param(_)) && constant.data_type.is_numeric() {
        // A client's, of the type that its text is converted to.
        let data_type = constant.data_type.clone();
        return call(F::Eq, vec![constant, typed_null(&data_type)]);
    }
    let is_late = |node: &Expr| match &node.kind {
        ExprKind::Param(_) => true,
        ExprKind::Call { function, args, .. } => function.is_known_late(args),
        _ => false,
    };
    if to.kind == TypeKind::Time || constant.any(&mut |node| is_late(node)) {
        // A parameter is wrapped so that it does not take the type of what stands beside it, and what is known late as a sign that it is
        // checked.
        let (data_type, option) = match to.kind {
            TypeKind::Time => (to.clone(), CallOption::None),
            _ => (constant.data_type.clone(), CallOption::Whole),
        };
        let kind = ExprKind::Call { function: F::Cast, args: vec![constant], option };
        constant = Expr::new(kind, data_type, true);
    }
    call(F::Eq, vec![constant, typed_null(to)])
}

/// As [`conversion`] of a text to a time, but as a column keeps it: what it says nothing of is compared as a text.
fn conversion_by_column(text: Expr, to: &DataType) -> Expr {
    let kind = ExprKind::Call { function: F::Cast, args: vec![text], option: CallOption::Checked };
    call(F::Eq, vec![Expr::new(kind, to.clone(), true), typed_null(to)])
}

/// As [`conversion`] of a text to a number, but a year that the text begins with is compared as that year.
fn conversion_unless_year(text: Expr) -> Expr {
    let year = ExprKind::Call { function: F::Cast, args: vec![text.clone()], option: CallOption::BesideYear };
    let year = Expr::new(year, DataType::BIGINT, true);
    let is_year = call(F::Between, vec![year, Expr::int(YEAR_MIN), Expr::int(YEAR_MAX)]);
    let whens = vec![(is_year, Expr::literal(Value::Null))];
    let kind = ExprKind::Case { whens, otherwise: Some(Box::new(conversion(text, &DataType::DOUBLE))) };
    Expr::new(kind, DataType::BOOL, true)
}

/// The check, but for LIMIT 0.
fn unless_zero(count: &Expr, check: Expr) -> Expr {
    let is_zero = call(F::Eq, vec![count.clone(), Expr::int(0)]);
    let whens = vec![(is_zero, Expr::literal(Value::Null))];
    let kind = ExprKind::Case { whens, otherwise: Some(Box::new(check)) };
    Expr::new(kind, DataType::BOOL, true)
}

/// Several checks by AND or OR, which take two at least.
fn joined(function: F, mut checks: Vec<Expr>) -> Expr {
    if checks.len() == 1 {
        checks.push(Expr::bool(function == F::And));
    }
    call(function, checks)
}

fn typed_null(data_type: &DataType) -> Expr {
    Expr { data_type: data_type.clone(), ..Expr::literal(Value::Null) }
}

fn call(function: F, args: Vec<Expr>) -> Expr {
    Expr::new(ExprKind::Call { function, args, option: CallOption::None }, DataType::BOOL, true)
}

/// What is known of a statement's columns.
#[derive(Clone, Copy)]
pub(super) struct Columns<'c> {
    pub(super) all: &'c [ColumnInfo],
    /// Those of derived tables that MySQL keeps in temporary tables.
    pub(super) materialized: &'c HashSet<ColumnId>,
    /// Those of queries with HAVING.
    pub(super) of_having: &'c HashSet<ColumnId>,
    /// Computes constants.
    pub(super) session: &'c dyn Session,
}

/// The checks of a statement, each an expression that is computed once before a row is read.
pub(super) fn of(kind: &BoundKind, columns: Columns<'_>, parameters: Parameters<'_>) -> Vec<Expr> {
    if let BoundKind::Insert(insert) = kind
        && let InsertRows::Values { cells, .. } = &insert.rows
        && insert.row_queries.is_empty()
        && insert.on_duplicate.is_empty()
        && !cells.iter().any(compares)
    {
        return Vec::new(); // It has no tree, and compares nothing.
    }
    let Columns { all: columns, materialized, of_having, session } = columns;
    let literals_are_parameters = matches!(parameters, Parameters::Literals);
    let mut found = Found { parameters, session: Some(session), columns, ..Found::default() };
    found.statement(kind);
    found.drop_conditions();
    if found.comparisons.is_empty() && found.conditions.is_empty() {
        return Vec::new();
    }
    found.gather_items();
    let resolve = Resolve { found: &found, columns, materialized, of_having, literals_are_parameters };
    let mut checks = Vec::new();
    for comparison in &found.comparisons {
        match *comparison {
            Comparison::Sides(left, right, equality, limit) => {
                for (constant, other) in [(left, right), (right, left)] {
                    let early = resolve.pair(constant, other, Equality::No);
                    let late = || {
                        let check = resolve.pair(constant, other, equality)?;
                        Some(match limit {
                            Some(count) => unless_zero(count, check),
                            None => check,
                        })
                    };
                    checks.extend(early.or_else(late));
                }
            }
            Comparison::Output(left, output, is_joined) => {
                let equality = if is_joined { Equality::JoinsRows } else { Equality::No };
                for Branch { value: right, is_computed_late } in resolve.branches(output) {
                    // Beside dates a constant is converted anywhere; what only columns convert needs one.
                    if !is_joined && !left.data_type.has_date() && !right.data_type.has_date() {
                        continue;
                    }
                    // A number is converted by a column that it is joined with.
                    let is_converted = |side: &Expr| is_joined || !side.data_type.is_numeric();
                    if is_converted(left) {
                        checks.extend(resolve.pair(left, &right, equality));
                    }
                    if is_converted(&right) && !is_computed_late {
                        checks.extend(resolve.pair(&right, left, equality));
                    }
                }
            }
            Comparison::Extreme(left, output) => {
                let info = &columns[output.0 as usize];
                let output = Expr::column(output, info.data_type.clone(), true);
                checks.extend(resolve.pair(left, &output, Equality::No));
            }
            // VALUES of a derived table is none of the subquery.
            Comparison::OneValue(_, output, _) if materialized.contains(&output) => {}
            Comparison::OneValue(left, _, value) => {
                checks.extend(resolve.pair(left, value, Equality::No));
                checks.extend(resolve.pair(value, left, Equality::No));
            }
            Comparison::List(value, list) => checks.extend(resolve.list(value, list)),
            Comparison::Computed(value) => checks.extend(resolve.computed_early(value)),
        }
    }
    checks.extend(resolve.conditions());
    checks
}

/// What parameters are.
#[derive(Clone, Copy, Default)]
pub(super) enum Parameters<'s> {
    /// Literals of the text.
    #[default]
    Literals,
    /// A client's: they take the type of what stands beside them. The session knows their values.
    OfClient(&'s dyn Session),
}

/// What is compared.
#[derive(Clone, Copy)]
enum Comparison<'t> {
    /// Two values; what is known late is looked for unless this parameter of LIMIT is 0.
    Sides(&'t Expr, &'t Expr, Equality, Option<&'t Expr>),
    /// With an output column of a subquery; whether that is a join.
    Output(&'t Expr, ColumnId, bool),
    /// With the least or greatest value of an output column.
    Extreme(&'t Expr, ColumnId),
    /// With the one value of a subquery without a table.
    OneValue(&'t Expr, ColumnId, &'t Expr),
    /// IN, and BETWEEN of a TIME.
    List(&'t Expr, &'t [Expr]),
    /// With nothing: MySQL computes the expression if it is a constant.
    Computed(&'t Expr),
}

/// Whether sides are compared by an `=` that joins tables.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Equality {
    No,
    /// AND and OR alone join it to others in WHERE or ON: MySQL looks for what equals what else. It converts then what it knows when the
    /// statement runs, too.
    Joins,
    /// As above, by a subquery that is joined.
    JoinsRows,
}

/// A query of a UNION, or the one query there is, and what it computes for a column.
struct Branch {
    value: Expr,
    /// What is computed is compared row by row.
    is_computed_late: bool,
}

/// WHERE, ON or HAVING.
struct Condition<'t> {
    parts: &'t [Expr],
    /// A part is a constant as it stands; else one may be if its columns are computed by constants.
    has_constant: bool,
    /// Those of one number are one condition in MySQL, which joins their tables with each other.
    group: u32,
    /// It says which rows of an outer join have a partner.
    is_of_outer_join: bool,
    /// LIMIT 0: no column converts anything.
    is_unread: bool,
}

/// By numbers that binding has chosen, so that no key is needed to hash them.
type ByColumn<V> = HashMap<ColumnId, V, BuildHasherDefault<DefaultHasher>>;
type ColumnSet = HashSet<ColumnId, BuildHasherDefault<DefaultHasher>>;

/// What the trees of a statement hold.
#[derive(Default)]
struct Found<'t> {
    parameters: Parameters<'t>,
    columns: &'t [ColumnInfo],
    session: Option<&'t dyn Session>,
    comparisons: Vec<Comparison<'t>>,
    conditions: Vec<Condition<'t>>,
    projections: Vec<&'t [(ColumnId, Expr)]>,
    /// Those of `projections`, by column.
    items: ByColumn<&'t Expr>,
    /// The columns of the sides of UNION, EXCEPT and INTERSECT, by column of the result.
    unions: ByColumn<(ColumnId, ColumnId)>,
    /// Columns of queries without a table.
    tableless: ColumnSet,
    /// Columns that an outer join fills with NULL.
    padded: ColumnSet,
    /// Subqueries that are joins: what is looked for in another is no column any more.
    joined: Vec<&'t Subquery>,
    /// Those that would be, but a constant in their conditions, or those beside them, leaves no row: MySQL compares nothing then.
    removed: Vec<&'t Subquery>,
    /// EXISTS that is a join.
    existing: Vec<&'t Subquery>,
    /// Comparisons by `=` that only AND and OR join to others in a condition.
    joining: Vec<&'t Expr>,
    /// The group of the conditions that are visited.
    group: u32,
    groups: u32,
    /// Outer joins around, within the group.
    outer_joins: u32,
    /// How many outer joins around what is visited may fill it with NULL.
    padding_depth: usize,
    /// How many LIMIT 0 are around what is visited.
    unread: u32,
    /// How many of these and conditions that are never true are around it: nothing is joined there.
    unjoined: u32,
    /// The parameter of the LIMIT around.
    limit: Option<&'t Expr>,
    /// The groups of queries that have no row as they are written.
    unasked: Vec<&'t Logical>,
}

impl<'t> Found<'t> {
    fn statement(&mut self, kind: &'t BoundKind) {
        match kind {
            BoundKind::Query(tree) | BoundKind::Do(tree) => self.tree(tree),
            BoundKind::Insert(insert) => {
                match &insert.rows {
                    InsertRows::Query(tree, _) => self.tree(tree),
                    InsertRows::Values { cells, .. } => cells.iter().for_each(|cell| {
                        if let InsertCell::Expr(value) = cell {
                            self.expr(value);
                        }
                    }),
                }
                insert.row_queries.iter().for_each(|query| self.tree(&query.tree));
                self.assignments(&insert.on_duplicate);
            }
            BoundKind::Update(update) => {
                self.tree(&update.source);
                self.assignments(&update.assignments);
            }
            BoundKind::Delete(delete) => self.tree(&delete.source),
        }
    }

    fn assignments(&mut self, assignments: &'t [BoundAssignment]) {
        assignments
            .iter()
            .filter_map(|assignment| assignment.value.as_ref())
            .for_each(|value| self.expr(value));
    }

    fn tree(&mut self, tree: &'t Logical) {
        match tree {
            // What comes of windows is kept, and compared row by row.
            Logical::Project { input, .. } if is_windowed(input) => {}
            Logical::Project { input, items } => {
                self.projections.push(items);
                if has_no_table(input) {
                    self.tableless.extend(items.iter().map(|(id, _)| *id));
                }
                if self.padding_depth > 0 {
                    self.padded.extend(items.iter().map(|(id, _)| *id));
                }
            }
            Logical::SetOp { left_columns, right_columns, columns, .. } => {
                let sides = left_columns.iter().copied().zip(right_columns.iter().copied());
                self.unions.extend(columns.iter().copied().zip(sides));
            }
            Logical::Filter { conditions: parts, .. } | Logical::Join { conditions: parts, .. }
                if parts.iter().all(|part| self.is_of_numbers(part)) =>
            {
                match tree {
                    Logical::Join { kind: JoinKind::Left, left, right, .. } => {
                        self.padded_join(left, right);
                    }
                    _ => tree.each_input(&mut |input| self.tree(input)),
                }
                return;
            }
            Logical::Filter { conditions: parts, .. } | Logical::Join { conditions: parts, .. } => {
                let is_removed = parts.iter().any(|part| self.is_never_true(part));
                if !matches!(tree, Logical::Filter { input, .. } if is_grouped(input)) {
                    parts.iter().for_each(|part| self.note_joined(part, is_removed));
                }
                let has_constant = parts.iter().any(|part| self.has_constant_part(part));
                let is_left = matches!(tree, Logical::Join { kind: JoinKind::Left, .. });
                let is_checked = has_constant
                    || parts.iter().any(|part| part.any(&mut |node| is_never_null(node)))
                    || parts.iter().any(|part| matches!(part.kind, ExprKind::Literal(_)));
                if is_checked {
                    let is_of_outer_join = is_left || self.outer_joins > 0;
                    let (group, is_unread) = (self.group, self.unread > 0);
                    self.conditions.push(Condition {
                        parts,
                        has_constant,
                        group,
                        is_of_outer_join,
                        is_unread,
                    });
                }
                if let Logical::Join { kind: JoinKind::Left, left, right, .. } = tree {
                    self.padded_join(left, right);
                    tree.each_expr(&mut |expr| self.expr(expr));
                    return;
                }
                if is_removed && let Logical::Filter { input, .. } = tree {
                    self.unasked.extend(groups_of(input));
                    self.unjoined += 1;
                    tree.each_input(&mut |input| self.tree(input));
                    tree.each_expr(&mut |expr| self.expr(expr));
                    self.unjoined -= 1;
                    return;
                }
            }
            Logical::Apply { subquery, .. } => self.subquery(subquery),
            // What is below is a query of its own.
            Logical::Limit { .. } | Logical::Distinct { .. } | Logical::Aggregate { .. } => {
                if let Logical::Aggregate { calls, input, .. } = tree {
                    let is_unasked = self.unasked.iter().any(|other| std::ptr::eq(*other, tree))
                        || matches!(&**input, Logical::Filter { conditions, .. }
                            if conditions.iter().any(|part| self.is_never_true(part)));
                    if !is_unasked {
                        calls.iter().for_each(|(_, call)| self.note_aggregate(call));
                    }
                }
                let is_unread = matches!(tree, Logical::Limit { count: Some(count), .. } if is_zero(count));
                if is_unread && let Logical::Limit { input, .. } = tree {
                    self.unasked.extend(groups_of(input));
                }
                let limit_around = self.limit;
                if let Logical::Limit { count: Some(count), .. } = tree
                    && matches!(count.kind, ExprKind::Param(_))
                {
                    self.limit = Some(count);
                }
                self.unread += u32::from(is_unread);
                self.unjoined += u32::from(is_unread);
                self.in_own_group(&mut |found| tree.each_input(&mut |input| found.tree(input)));
                tree.each_expr(&mut |expr| self.expr(expr));
                self.unread -= u32::from(is_unread);
                self.unjoined -= u32::from(is_unread);
                self.limit = limit_around;
                return;
            }
            _ => {}
        }
        if matches!(tree, Logical::SetOp { .. } | Logical::Recursive { .. }) {
            tree.each_input(&mut |input| self.in_own_group(&mut |found| found.tree(input)));
        } else {
            tree.each_input(&mut |input| self.tree(input));
        }
        tree.each_expr(&mut |expr| self.expr(expr));
    }

    /// Visits the sides of LEFT JOIN.
    fn padded_join(&mut self, left: &'t Logical, right: &'t Logical) {
        self.tree(left);
        self.padding_depth += 1;
        self.outer_joins += 1;
        self.tree(right);
        self.outer_joins -= 1;
        self.padding_depth -= 1;
    }

    /// A comparison of columns of tables with such, with literals and with parameters, all of them plain numbers, or several by AND: nothing
    /// in it is a constant, and nothing is converted. Most conditions are.
    fn is_of_numbers(&self, condition: &Expr) -> bool {
        let Some((function, args)) = condition.as_call() else { return false };
        let is_of_table = |arg: &Expr| {
            arg.as_column().is_some_and(|id| {
                self.columns.get(id.0 as usize).is_some_and(|column| column.origin.is_some())
            })
        };
        let is_value = |arg: &Expr| match (&arg.kind, self.parameters) {
            (ExprKind::Literal(_), _) | (ExprKind::Param(_), Parameters::Literals) => true,
            // What a client sends for a number may be a text that is none.
            (ExprKind::Param(ordinal), Parameters::OfClient(session)) => {
                session.reads_as_number(*ordinal, &arg.data_type)
            }
            _ => false,
        };
        match function {
            F::And => args.iter().all(|arg| self.is_of_numbers(arg)),
            F::Eq | F::NullSafeEq | F::Ne | F::Lt | F::Le | F::Gt | F::Ge | F::Between => {
                args.iter().any(is_of_table)
                    && args
                        .iter()
                        .all(|arg| arg.data_type.is_plain_number() && (is_of_table(arg) || is_value(arg)))
            }
            _ => false,
        }
    }

    /// Visits what MySQL does not join with the tables beside it.
    fn in_own_group(&mut self, visit: &mut dyn FnMut(&mut Found<'t>)) {
        let around = (self.group, std::mem::take(&mut self.outer_joins));
        self.groups += 1;
        self.group = self.groups;
        visit(self);
        (self.group, self.outer_joins) = around;
    }

    /// Notes the subqueries of a condition that MySQL makes joins of: `column IN (SELECT ...)` by itself.
    fn note_joined(&mut self, part: &'t Expr, is_removed: bool) {
        match &part.kind {
            ExprKind::Call { function: F::And, args, .. } => {
                args.iter().for_each(|arg| self.note_joined(arg, is_removed));
            }
            ExprKind::Call { function: F::Or | F::Eq | F::Not, .. } => self.note_joining(part),
            ExprKind::Subquery(subquery) if is_plain(&subquery.plan) && is_listed(subquery) => {
                self.joined.push(subquery);
                if is_removed && !is_tableless(&subquery.plan) || self.has_no_row(&subquery.plan) {
                    self.removed.push(subquery);
                }
            }
            ExprKind::Subquery(subquery)
                if is_plain(&subquery.plan) && matches!(subquery.kind, SubqueryKind::Exists) =>
            {
                self.existing.push(subquery);
            }
            _ => {}
        }
    }

    /// A constant among the conditions of a query of tables is false.
    fn has_no_row(&self, tree: &Logical) -> bool {
        match tree {
            Logical::Project { input, .. } => self.has_no_row(input),
            Logical::Filter { input, conditions } => {
                !has_no_table(input) && conditions.iter().any(|part| self.is_never_true(part))
            }
            _ => false,
        }
    }

    fn is_never_true(&self, condition: &Expr) -> bool {
        match &condition.kind {
            ExprKind::Call { function: F::And, args, .. } => args.iter().any(|arg| self.is_never_true(arg)),
            ExprKind::Column(_) | ExprKind::Param(_) | ExprKind::Subquery(_) => false,
            _ if !condition.is_foldable() => false,
            _ => {
                let value = self.session.and_then(|session| session.constant(condition));
                matches!(value, Some(Value::Null | Value::Int(0) | Value::UInt(0)))
            }
        }
    }

    /// MySQL asks whether the constants are NULL that GROUP_CONCAT joins, or that an aggregate with DISTINCT distinguishes.
    fn note_aggregate(&mut self, call: &'t AggregateCall) {
        use AggregateFunction as A;
        let is_asked = match call.function {
            A::GroupConcat => true,
            A::Count | A::Sum | A::Avg => call.distinct,
            _ => false,
        };
        if is_asked {
            let computed = call.args.iter().filter(|arg| is_computed(arg));
            self.comparisons.extend(computed.map(Comparison::Computed));
        }
    }

    /// Notes the comparisons by `=` in a condition with which a column of dates may convert what is known late.
    fn note_joining(&mut self, part: &'t Expr) {
        match &part.kind {
            ExprKind::Call { function: F::And | F::Or, args, .. } => {
                args.iter().for_each(|arg| self.note_joining(arg));
            }
            ExprKind::Call { function: F::Not, args, .. }
                if matches!(args[0].kind, ExprKind::Call { function: F::Ne, .. }) =>
            {
                self.joining.push(&args[0]);
            }
            ExprKind::Call { function: F::Eq, args, .. }
                if args
                    .iter()
                    .any(|arg| matches!(arg.kind, ExprKind::Column(_)) && arg.data_type.has_date()) =>
            {
                self.joining.push(part);
            }
            _ => {}
        }
    }

    fn expr(&mut self, expr: &'t Expr) {
        match &expr.kind {
            ExprKind::Subquery(subquery) => {
                self.subquery(subquery);
                return;
            }
            ExprKind::Call { function, args, option }
                if function.compares_two() && !matches!(option, CallOption::AsIs) =>
            {
                if let [left, right] = &args[..]
                    && (converts(left, right) || converts(right, left))
                {
                    let equality = match function {
                        F::Eq | F::Ne
                            if self.unjoined == 0
                                && self.joining.iter().any(|other| std::ptr::eq(*other, expr)) =>
                        {
                            Equality::Joins
                        }
                        _ => Equality::No,
                    };
                    self.comparisons.push(Comparison::Sides(left, right, equality, self.limit));
                }
            }
            ExprKind::Call { function: F::Between, args, .. } if is_time_column(&args[0]) => {
                self.comparisons.push(Comparison::List(&args[0], &args[1..]));
            }
            ExprKind::Call { function: F::Between, args, .. } if is_bigint_column(&args[0]) => {
                let bounds = args[1..].iter().filter(|bound| converts(bound, &args[0]));
                let sides = |bound| Comparison::Sides(&args[0], bound, Equality::No, None);
                self.comparisons.extend(bounds.map(sides));
            }
            // A constant is converted to another character set at once; bytes are made characters of later.
            ExprKind::Call { function: F::ConvertUsing, args, option: CallOption::Lossless }
                if is_computed(&args[0]) && !is_of_bytes(&args[0]) =>
            {
                self.comparisons.push(Comparison::Computed(expr));
            }
            ExprKind::InList { expr: value, list }
                if list.len() > 1 && is_of_one_class(list) && !self.has_number_of_client(list) =>
            {
                self.comparisons.push(Comparison::List(value, list));
            }
            _ => {}
        }
        expr.each_child(&mut |child| self.expr(child));
    }

    /// A parameter that takes its type from a number.
    fn has_number_of_client(&self, list: &[Expr]) -> bool {
        let is_number = |item: &Expr| matches!(item.kind, ExprKind::Param(_)) && item.data_type.is_numeric();
        matches!(self.parameters, Parameters::OfClient(_)) && list.iter().any(is_number)
    }

    /// Some part may be a constant that is no number.
    fn has_constant_part(&self, condition: &Expr) -> bool {
        if let Some(parts) = joins_conditions(condition) {
            return parts.iter().any(|part| self.has_constant_part(part));
        }
        match &condition.kind {
            ExprKind::Literal(Value::Null | Value::Int(_)) => false,
            ExprKind::Subquery(subquery) => {
                matches!(subquery.kind, SubqueryKind::Quantified { all: false, .. })
            }
            _ => {
                condition.is_constant()
                    || is_made_of_values(condition)
                    || condition.any(&mut |node| self.has_text_beside_numbers(node))
            }
        }
    }

    fn has_text_beside_numbers(&self, expr: &Expr) -> bool {
        compared_sides(expr).is_some_and(|(left, right)| self.text_beside_numbers(left, right).is_some())
    }

    /// Those without a constant whose columns no query computes: most conditions of small statements.
    fn drop_conditions(&mut self) {
        let projections = &self.projections;
        if projections.iter().map(|items| items.len()).sum::<usize>() > SEARCHED_ITEMS_MAX {
            return;
        }
        let is_computed = |id| projections.iter().any(|items| items.iter().any(|(item, _)| *item == id));
        let may_be_checked = |condition: &Condition<'_>| {
            let mut computed = |node: &Expr| node.as_column().is_some_and(is_computed);
            condition.has_constant || condition.parts.iter().any(|part| part.any(&mut computed))
        };
        let checked = self.conditions.iter().filter(|condition| may_be_checked(condition));
        let groups: Vec<u32> = checked.map(|condition| condition.group).collect();
        self.conditions.retain(|condition| {
            let is_literal = |part: &Expr| matches!(part.kind, ExprKind::Literal(_));
            groups.contains(&condition.group)
                && (may_be_checked(condition) || condition.parts.iter().any(is_literal))
        });
    }

    fn gather_items(&mut self) {
        let items = self.projections.iter().copied().flatten();
        self.items = items.map(|(id, expr)| (*id, expr)).collect();
    }

    /// The text that is written beside a column of numbers, and that column's type.
    fn text_beside_numbers<'e>(&self, left: &'e Expr, right: &'e Expr) -> Option<(&'e Expr, &'e DataType)> {
        let text = |expr: &'e Expr| match &expr.kind {
            ExprKind::Param(ordinal) if let Parameters::OfClient(session) = self.parameters => {
                let is_text =
                    expr.data_type.is_string() || !session.reads_as_number(*ordinal, &expr.data_type);
                is_text.then_some(expr)
            }
            // A system variable is computed later.
            ExprKind::Literal(_) if expr.coercibility == Coercibility::SystemConstant => None,
            ExprKind::Literal(_) | ExprKind::Param(_) if expr.data_type.is_string() => Some(expr),
            // Beside a YEAR.
            ExprKind::Call { args, option: CallOption::BesideYear, .. } => match &args[..] {
                [arg] if arg.data_type.is_string() && matches!(arg.kind, ExprKind::Literal(_)) => Some(arg),
                [arg] if arg.data_type.is_string() => Some(arg).filter(|arg| {
                    matches!(arg.kind, ExprKind::Param(_)) && matches!(self.parameters, Parameters::Literals)
                }),
                _ => None,
            },
            _ => None,
        };
        let is_number = |expr: &Expr| {
            let of = &expr.data_type;
            matches!(expr.kind, ExprKind::Column(_))
                && (of.kind == TypeKind::Year
                    // A text beside a BIGINT is converted wherever it stands.
                    || of.is_numeric() && !matches!(of.kind, TypeKind::Bit | TypeKind::BigInt))
        };
        [(left, right), (right, left)]
            .into_iter()
            .find(|(constant, column)| text(constant).is_some() && is_number(column))
            .and_then(|(constant, column)| Some((text(constant)?, &column.data_type)))
    }

    fn subquery(&mut self, subquery: &'t Subquery) {
        let depth = std::mem::take(&mut self.padding_depth);
        let mut joins = self.joined.iter().chain(&self.existing);
        if joins.any(|other| std::ptr::eq(*other, subquery)) {
            self.tree(&subquery.plan);
        } else {
            self.in_own_group(&mut |found| found.tree(&subquery.plan));
        }
        self.padding_depth = depth;
        let SubqueryKind::Quantified { condition, .. } = &subquery.kind else { return };
        let is_joined = self.joined.iter().any(|other| std::ptr::eq(*other, subquery));
        let mut comparisons = Vec::new();
        condition.iter().for_each(|part| gather_comparisons(part, &mut comparisons));
        for (function, left, right) in comparisons {
            self.expr(left);
            let output = right.as_column().filter(|id| subquery.columns.contains(id));
            let value = output.and_then(|id| one_value(&subquery.plan, id));
            match output {
                Some(output)
                    if let Some(value) = value
                        && (function.compares_two() && !compares_rows(function, subquery)
                            || matches!(subquery.plan, Logical::Values { .. })) =>
                {
                    self.comparisons.push(Comparison::OneValue(left, output, value));
                }
                Some(output) if compares_rows(function, subquery) => {
                    if is_joined && self.removed.iter().any(|other| std::ptr::eq(*other, subquery)) {
                        continue;
                    }
                    self.comparisons.push(Comparison::Output(left, output, is_joined));
                }
                Some(output) if function.compares_two() && converts_to_date(left, right) => {
                    self.comparisons.push(Comparison::Extreme(left, output));
                }
                _ => {}
            }
        }
    }
}

/// Functions that give a text, but say by themselves which number it is: no text is converted.
fn is_read_as_number(expr: &Expr) -> bool {
    expr.as_call().is_some_and(|(function, _)| {
        matches!(
            function,
            F::AddTime
                | F::DateAdd
                | F::DateSub
                | F::RegexpReplace
                | F::RegexpSubstr
                | F::StrToDate
                | F::SubTime
        )
    })
}

/// The sides of a comparison that converts constants to the type of a column.
fn compared_sides(expr: &Expr) -> Option<(&Expr, &Expr)> {
    match &expr.kind {
        ExprKind::Call { function, args, option } if !matches!(option, CallOption::AsIs) => match &args[..] {
            [left, right] if function.is_comparison_operator() => Some((left, right)),
            _ => None,
        },
        _ => None,
    }
}

/// The comparisons of values in that of rows.
fn gather_comparisons<'e>(part: &'e Expr, found: &mut Vec<(F, &'e Expr, &'e Expr)>) {
    match &part.kind {
        ExprKind::Call { function: F::And | F::Or, args, .. } => {
            args.iter().for_each(|arg| gather_comparisons(arg, found));
        }
        ExprKind::Call { function, args, .. } => {
            if let [left, right] = &args[..] {
                found.push((*function, left, right));
            }
        }
        ExprKind::Case { .. } => part.each_child(&mut |child| gather_comparisons(child, found)),
        _ => {}
    }
}

/// Whether MySQL compares with each row of the subquery, and not with its least or greatest value.
fn compares_rows(function: F, subquery: &Subquery) -> bool {
    let is_row = matches!(subquery.kind, SubqueryKind::Quantified { single: true, .. });
    is_row || matches!(function, F::Eq | F::Ne | F::NullSafeEq) || !subquery.outer.is_empty()
}

/// As below, where the other side is the least or greatest of several values.
fn converts_to_date(constant: &Expr, other: &Expr) -> bool {
    constant.data_type.is_string() && other.data_type.has_date()
}

/// Whether a constant would be converted to the type of what it is compared with.
fn converts(constant: &Expr, other: &Expr) -> bool {
    match constant.data_type.kind {
        TypeKind::Json => is_time_column(other) || is_bigint_column(other),
        _ if constant.data_type.is_numeric() => {
            other.data_type.is_temporal() && matches!(other.kind, ExprKind::Column(_))
                || is_bigint_column(other) && may_fail(constant)
        }
        _ if constant.data_type.is_temporal() => {
            let is_date = constant.data_type.has_date();
            may_fail(constant)
                && matches!(other.kind, ExprKind::Column(_))
                && (is_bigint_column(other)
                    || is_time_column(other)
                    || other.data_type.has_date() && !is_date)
        }
        _ => {
            constant.data_type.is_string()
                && (other.data_type.has_date() || is_time_column(other) || is_bigint_column(other))
        }
    }
}

/// An expression that is no literal by itself and reads a text, a date or a time.
fn may_fail(expr: &Expr) -> bool {
    let reads = |of: &DataType| of.is_string() || of.is_temporal() || of.kind == TypeKind::Json;
    is_computed(expr) && expr.any(&mut |node| reads(&node.data_type))
}

/// More than a literal or a column, so that it may fail.
fn is_computed(expr: &Expr) -> bool {
    !matches!(expr.kind, ExprKind::Literal(_) | ExprKind::Param(_) | ExprKind::Column(_))
}

/// Bytes, or characters that are made of them.
fn is_of_bytes(expr: &Expr) -> bool {
    let made_of = match &expr.kind {
        ExprKind::Call { function: F::Cast, args, option: CallOption::Characters } => &args[0],
        _ => expr,
    };
    made_of.data_type.is_binary_string()
}

fn is_bigint_column(expr: &Expr) -> bool {
    expr.data_type.kind == TypeKind::BigInt && matches!(expr.kind, ExprKind::Column(_))
}

fn is_time_column(expr: &Expr) -> bool {
    expr.data_type.kind == TypeKind::Time && matches!(expr.kind, ExprKind::Column(_))
}

/// MySQL keeps constants of one class sorted, and computes them for it.
fn is_of_one_class(list: &[Expr]) -> bool {
    let class = |expr: &Expr| match expr.data_type.kind {
        TypeKind::Json => None,
        _ if expr.data_type.is_string() => Some(0),
        TypeKind::Decimal => Some(1),
        TypeKind::Float | TypeKind::Double => Some(2),
        _ if expr.data_type.is_integer() => Some(3),
        _ => None,
    };
    let first = list.first().and_then(class);
    first.is_some() && list.iter().all(|item| class(item) == first)
}

/// AND, OR and NOT, whose parts are looked at by themselves.
fn joins_conditions(expr: &Expr) -> Option<&[Expr]> {
    expr.as_call().filter(|(function, _)| matches!(function, F::And | F::Or | F::Not)).map(|(_, args)| args)
}

/// IS NULL of what cannot be NULL.
fn is_known_not_null(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Call { function: F::IsNull | F::IsNullFunction, args, .. } => !args[0].may_be_null(),
        _ => false,
    }
}

/// A column that may be computed by a constant: it is not on the inner side of an outer join.
fn is_never_null(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Column(_)) && !expr.nullable
}

/// Follows columns to what computes them.
struct Resolve<'f, 't> {
    found: &'f Found<'t>,
    columns: &'f [ColumnInfo],
    materialized: &'f HashSet<ColumnId>,
    of_having: &'f HashSet<ColumnId>,
    literals_are_parameters: bool,
}

impl<'t> Resolve<'_, 't> {
    /// The check of `constant` beside `other`, if it is one.
    fn pair(&self, constant: &Expr, other: &Expr, equality: Equality) -> Option<Expr> {
        // A `?` takes the type of what stands beside it.
        let is_parameter = matches!(constant.kind, ExprKind::Param(_))
            && !self.literals_are_parameters
            && equality != Equality::JoinsRows;
        if is_parameter || !converts(constant, other) {
            return None;
        }
        let constant = match &constant.kind {
            ExprKind::Call { args, option: CallOption::BesideBigInt, .. } => args.first()?,
            // Bytes that are materialized.
            ExprKind::Call { args, option: CallOption::Stored, .. } if args[0].data_type.is_hex_literal() => {
                args.first()?
            }
            _ => constant,
        };
        if constant.data_type.is_numeric() && !matches!(self.computed(other).kind, ExprKind::Column(_)) {
            return None;
        }
        let of = &constant.data_type;
        let is_converted_by_column = is_bigint_column(other) && of.kind != TypeKind::Json || of.is_temporal();
        if is_converted_by_column && !self.is_stored(self.computed(other)) {
            return None;
        }
        // What is known late is converted by a column of dates that joins are made by.
        let is_joining = equality != Equality::No
            && other.data_type.has_date()
            && self
                .computed(other)
                .as_column()
                .is_some_and(|id| self.columns[id.0 as usize].origin.is_some());
        let constant = self.constant_of(constant, is_joining && !is_converted_by_column)?;
        if !is_joining && !self.is_early(&constant, !other.data_type.has_date()) {
            return None;
        }
        let is_number =
            !constant.data_type.is_string() || is_bigint_column(other) && is_read_as_number(&constant);
        let is_only_computed = is_converted_by_column && is_number;
        if is_only_computed {
            let null = typed_null(&constant.data_type);
            return Some(call(F::Eq, vec![constant, null]));
        }
        if constant.data_type.is_string() && other.data_type.kind == TypeKind::Time {
            return Some(conversion_by_column(constant, &other.data_type));
        }
        Some(conversion(constant, &other.data_type))
    }

    /// Whether MySQL computes it before the statement is optimized: it depends on nothing that is known only when the statement runs.
    /// `is_parameter_early`: what is a parameter itself, and not made of any, is known.
    fn is_early(&self, expr: &Expr, is_parameter_early: bool) -> bool {
        let is_of_client = matches!(self.found.parameters, Parameters::OfClient(_));
        !expr.any(&mut |node| match &node.kind {
            ExprKind::Param(_) => is_of_client && !(is_parameter_early && std::ptr::eq(node, expr)),
            // A system variable.
            ExprKind::Literal(_) => node.coercibility == Coercibility::SystemConstant,
            ExprKind::Call { function, args, .. } => function.is_known_late(args),
            _ => false,
        })
    }

    /// A column of a table, or of a derived table that is materialized.
    fn is_stored(&self, expr: &Expr) -> bool {
        expr.as_column()
            .is_some_and(|id| self.materialized.contains(&id) || self.columns[id.0 as usize].origin.is_some())
    }

    /// The check of what is computed before the statement is optimized, if it is a constant.
    fn computed_early(&self, value: &Expr) -> Option<Expr> {
        let constant = self.constant(value).filter(|constant| self.is_early(constant, false))?;
        let null = typed_null(&constant.data_type);
        Some(call(F::Eq, vec![constant, null]))
    }

    /// The check of the items of IN.
    fn list(&self, value: &Expr, list: &[Expr]) -> Option<Expr> {
        if value.data_type.kind == TypeKind::Year {
            return None;
        }
        let list = list.iter().map(|item| self.constant(item)).collect::<Option<Vec<_>>>()?;
        if is_time_column(value) {
            let times = list.into_iter().filter(|item| item.data_type.is_string());
            let times = times.map(|item| conversion(item, &value.data_type));
            return times.reduce(|one, other| call(F::Or, vec![one, other]));
        }
        let kind = ExprKind::InList { expr: Box::new(typed_null(&value.data_type)), list };
        Some(Expr::new(kind, DataType::BOOL, true))
    }

    /// The constants among the parts of a condition, joined as they are.
    fn condition(&self, condition: &Expr) -> Option<Expr> {
        if let Some((function, parts)) = condition.as_call()
            && joins_conditions(condition).is_some()
        {
            return self.all_of(parts, function);
        }
        match &condition.kind {
            // What cannot be NULL is not computed for it.
            _ if is_known_not_null(condition) => None,
            ExprKind::Subquery(subquery) => self.looked_for(subquery),
            _ => self.constant_condition(condition).or_else(|| self.within(condition)),
        }
    }

    /// The texts beside columns of numbers in a condition that is no constant.
    fn within(&self, condition: &Expr) -> Option<Expr> {
        let mut checks = Vec::new();
        self.gather_within(condition, &mut checks);
        // A conversion gives NULL, which ends no OR.
        checks.into_iter().reduce(|one, other| call(F::Or, vec![one, other]))
    }

    fn gather_within(&self, expr: &Expr, checks: &mut Vec<Expr>) {
        if is_known_not_null(expr) {
            return;
        }
        if let Some((left, right)) = compared_sides(expr) {
            checks.extend(self.beside_numbers(left, right));
        }
        if !matches!(expr.kind, ExprKind::Subquery(_)) {
            expr.each_child(&mut |child| self.gather_within(child, checks));
        }
    }

    /// Of each group, first the constants of each condition; if none is false, what columns convert, but for outer joins.
    fn conditions(&self) -> Vec<Expr> {
        let conditions = &self.found.conditions;
        let mut checks = Vec::new();
        let mut groups: Vec<u32> = conditions.iter().map(|condition| condition.group).collect();
        groups.sort_unstable();
        groups.dedup();
        for group in groups {
            let mut constants = Vec::new();
            let mut conversions = Vec::new();
            for condition in conditions.iter().filter(|condition| condition.group == group) {
                let (mut first, later) = self.checks_of(condition.parts, F::And);
                if condition.is_unread {
                    // Parameters are not known then.
                    first.retain(|check| self.is_early(check, false));
                }
                if !first.is_empty() {
                    let check = joined(F::And, first);
                    if !condition.is_of_outer_join {
                        constants.push(call(F::IsTrue, vec![check.clone()]));
                    }
                    checks.push(check);
                }
                if !condition.is_of_outer_join && !condition.is_unread {
                    conversions.extend(later);
                }
            }
            if !conversions.is_empty() {
                constants.extend(conversions);
                checks.push(joined(F::And, constants));
            }
        }
        checks
    }

    /// Those of several parts.
    fn all_of(&self, parts: &[Expr], function: F) -> Option<Expr> {
        let (mut checks, later) = self.checks_of(parts, function);
        checks.extend(later);
        match (function, checks.is_empty()) {
            (_, true) => None,
            (F::Not, _) => Some(call(F::Not, checks)),
            _ => Some(joined(function, checks)),
        }
    }

    /// The checks of several parts: constants, and then what columns convert.
    fn checks_of(&self, parts: &[Expr], function: F) -> (Vec<Expr>, Vec<Expr>) {
        let checks = parts.iter().filter_map(|part| {
            let is_whole = joins_conditions(part).is_some();
            let check = match &part.kind {
                // It is no join, and compares constants only where it is but one value.
                ExprKind::Subquery(subquery) if function != F::And && !has_no_table(&subquery.plan) => None,
                _ => self.condition(part),
            };
            Some((check?, !is_whole && self.constant_condition(part).is_none()))
        });
        let (later, first): (Vec<_>, Vec<_>) = checks.partition(|(_, is_conversion)| *is_conversion);
        let alone = |checks: Vec<(Expr, bool)>| checks.into_iter().map(|(check, _)| check).collect();
        (alone(first), alone(later))
    }

    /// What computes a column.
    fn computed<'e>(&self, expr: &'e Expr) -> &'e Expr
    where
        't: 'e,
    {
        let mut expr = expr;
        while let Some(item) = expr
            .as_column()
            .filter(|id| !self.materialized.contains(id))
            .and_then(|id| self.found.items.get(&id))
        {
            expr = item;
        }
        expr
    }

    fn constant_condition(&self, condition: &Expr) -> Option<Expr> {
        let is_nullable = |node: &Expr| matches!(node.kind, ExprKind::Column(_)) && node.nullable;
        if condition.any(&mut |node| is_nullable(node)) {
            return None;
        }
        self.constant(condition)
    }

    /// The conversion of a text to a number, in place of the comparison with it.
    fn beside_numbers(&self, left: &Expr, right: &Expr) -> Option<Expr> {
        let (left, right) = (self.computed(left), self.computed(right));
        let (text, data_type) = self.found.text_beside_numbers(left, right)?;
        let number = if std::ptr::eq(text, left) { right } else { left };
        // What an aggregate gives is converted by nothing.
        if number.as_column().is_some() && !self.is_stored(number) {
            return None;
        }
        // The comparison gives NULL, which ends no AND and no OR before its other parts.
        self.constant(text).map(|text| match data_type.kind {
            TypeKind::Year => conversion_unless_year(text),
            _ => conversion(text, data_type),
        })
    }

    /// As above for `column IN (SELECT text ...)`, which is a comparison where it is a join; and for constants on both sides.
    fn looked_for(&self, subquery: &Subquery) -> Option<Expr> {
        let SubqueryKind::Quantified { all: false, single: false, condition } = &subquery.kind else {
            return None;
        };
        let (mut constants, mut conversions) = (Vec::new(), Vec::new());
        for part in condition {
            let Some((F::Eq, [left, right])) = part.as_call() else { continue };
            let id = right.as_column().filter(|id| !self.materialized.contains(id));
            // What HAVING looks at is compared with a column.
            if id.is_some_and(|id| self.of_having.contains(&id)) {
                continue;
            }
            let item = id.and_then(|id| self.found.items.get(&id).copied()).unwrap_or(right);
            let is_read = item.data_type.kind == TypeKind::Year;
            match if is_read { None } else { self.beside_numbers(left, item) } {
                Some(conversion) => conversions.push(conversion),
                None => constants.extend(self.constant(part)),
            }
        }
        // All constants are computed. If some are unlike nothing is converted. A conversion gives NULL, which ends no OR.
        let computed = constants.iter().cloned().reduce(|one, other| call(F::Xor, vec![one, other]));
        let mut checks: Vec<Expr> = computed
            .filter(|_| constants.len() > 1)
            .map(|all| call(F::Or, vec![call(F::IsTrue, vec![all]), Expr::bool(true)]))
            .into_iter()
            .collect();
        checks.extend(constants.into_iter().map(|constant| call(F::IsTrue, vec![constant])));
        checks.extend(conversions.into_iter().reduce(|one, other| call(F::Or, vec![one, other])));
        let check = checks.into_iter().reduce(|one, other| call(F::And, vec![one, other]))?;
        // Nothing is compared where the subquery has no row.
        let own = match &subquery.plan {
            Logical::Project { input, .. } => match &**input {
                Logical::Filter { conditions, .. } => self.all_of(conditions, F::And),
                _ => None,
            },
            _ => None,
        };
        let check = match own {
            Some(own) => call(F::And, vec![own, check]),
            None => check,
        };
        // Whether there is a row is not known here: the check is NULL.
        Some(call(F::Xor, vec![check, typed_null(&DataType::BOOL)]))
    }

    fn constant(&self, expr: &Expr) -> Option<Expr> {
        self.constant_of(expr, false)
    }

    /// `is_equality`: what equals a column is followed through outer joins, too.
    fn constant_of(&self, expr: &Expr, is_equality: bool) -> Option<Expr> {
        // Most have a column of a table, and are not worth a copy.
        let is_read = |id| !self.is_computed(id, is_equality);
        if expr.any(&mut |node| node.as_column().is_some_and(is_read))
            && !expr.any(&mut |node| is_known_not_null(node))
        {
            return None;
        }
        let mut constant = expr.clone();
        let mut nodes = NODES_MAX;
        self.make_constant(&mut constant, is_equality, &mut nodes).then_some(constant)
    }

    /// Whether the column is what an expression gives, in every row.
    fn is_computed(&self, id: ColumnId, is_equality: bool) -> bool {
        let is_padded = !is_equality && self.found.padded.contains(&id);
        !self.materialized.contains(&id) && !is_padded && self.found.items.contains_key(&id)
    }

    /// What the queries of a UNION compute for a column, or the one query there is.
    fn branches(&self, output: ColumnId) -> Vec<Branch> {
        let mut branches = Vec::new();
        let mut columns = vec![output];
        while let Some(column) = columns.pop() {
            if !self.materialized.contains(&column)
                && let Some((left, right)) = self.found.unions.get(&column)
            {
                columns.extend([*right, *left]);
                continue;
            }
            let is_member = column != output;
            let item = self.found.items.get(&column).filter(|_| !self.materialized.contains(&column));
            // A number or document that a text of the result is made of is compared row by row.
            if is_member && item.is_some_and(|item| is_text_of_number(item)) {
                continue;
            }
            // What HAVING looks at is compared with a column.
            let is_computed_late =
                is_member && self.found.tableless.contains(&column) || self.of_having.contains(&column);
            let value = match item {
                // A side of a UNION is cast to the type of the result.
                Some(item) if is_member => uncast(item).clone(),
                Some(item) => (*item).clone(),
                None => {
                    let info = &self.columns[column.0 as usize];
                    Expr::column(column, info.data_type.clone(), true)
                }
            };
            branches.push(Branch { value, is_computed_late });
        }
        branches
    }

    /// Puts what computes them in place of columns and of subqueries without tables. `false`: it is no constant.
    fn make_constant(&self, expr: &mut Expr, is_equality: bool, nodes: &mut usize) -> bool {
        crate::progress::step();
        if *nodes == 0 {
            return false;
        }
        *nodes -= 1;
        let item = match &expr.kind {
            ExprKind::Column(id) if !self.is_computed(*id, is_equality) => return false,
            ExprKind::Column(id) => match self.found.items.get(id) {
                Some(item) => Some((*item).clone()),
                None => return false,
            },
            ExprKind::Subquery(subquery) => match value_without_table(subquery) {
                Some(value) => Some(value.clone()),
                None => return false,
            },
            ExprKind::Call { .. } if is_known_not_null(expr) => {
                *expr = Expr::int(0);
                return true;
            }
            ExprKind::UserVar(_) | ExprKind::UserVarAssign { .. } => return false,
            ExprKind::Call { function, .. } if is_called_by_row(*function) => return false,
            _ => None,
        };
        if let Some(item) = item {
            *expr = item;
            return self.make_constant(expr, is_equality, nodes);
        }
        let mut is_constant = true;
        expr.each_child_mut(&mut |child| {
            is_constant = is_constant && self.make_constant(child, is_equality, nodes);
        });
        is_constant
    }
}

/// A function that is called while rows are read, never before.
fn is_called_by_row(function: F) -> bool {
    !function.is_deterministic() || function == F::DeterministicFunction
}

fn uncast(item: &Expr) -> &Expr {
    match &item.kind {
        // What is cast to the type of a set operation is a column. A statement's own cast to a text is none of these.
        ExprKind::Call { function: F::Cast, args, option }
            if args[0].as_column().is_some()
                && (matches!(option, CallOption::Stored)
                    || !item.data_type.is_string() && !args[0].data_type.is_string()) =>
        {
            &args[0]
        }
        _ => item,
    }
}

fn is_zero(count: &Expr) -> bool {
    matches!(count.kind, ExprKind::Literal(Value::Int(0) | Value::UInt(0)))
}

fn is_text_of_number(item: &Expr) -> bool {
    let Some((F::Cast, [arg])) = item.as_call() else { return false };
    let is_number = arg.data_type.is_numeric() || arg.data_type.kind == TypeKind::Json;
    item.data_type.is_string() && (is_number || is_text_of_number(arg))
}

/// IN, unlike `(a, b) = (subquery)` and `<> ALL`.
fn is_listed(subquery: &Subquery) -> bool {
    matches!(subquery.kind, SubqueryKind::Quantified { all: false, single: false, .. })
}

/// A SELECT without groups and set operations.
fn is_plain(tree: &Logical) -> bool {
    match tree {
        Logical::Project { input, .. } => {
            !matches!(**input, Logical::Aggregate { .. } | Logical::SetOp { .. })
        }
        _ => false,
    }
}

/// The groups of the query that gives these rows.
fn groups_of(tree: &Logical) -> Option<&Logical> {
    match tree {
        Logical::Sort { input, .. } | Logical::Filter { input, .. } => groups_of(input),
        Logical::Project { input, items } => {
            let below = match &**input {
                Logical::Filter { input, .. } => input,
                _ => input,
            };
            // Else they are those of a derived table.
            let Logical::Aggregate { calls, .. } = &**below else { return None };
            let is_shown = |id: ColumnId| {
                items.iter().any(|(_, item)| item.any(&mut |node| node.as_column() == Some(id)))
            };
            calls.iter().any(|(id, _)| is_shown(*id)).then_some(&**below)
        }
        Logical::Aggregate { .. } => Some(tree),
        _ => None,
    }
}

/// Groups, and what is computed of them.
fn is_grouped(tree: &Logical) -> bool {
    match tree {
        Logical::Aggregate { .. } => true,
        Logical::Project { input, .. } => matches!(**input, Logical::Aggregate { .. }),
        _ => false,
    }
}

/// One row that is made of no table.
fn has_no_table(tree: &Logical) -> bool {
    match tree {
        Logical::OneRow => true,
        Logical::Project { input, .. } => has_no_table(input),
        _ => false,
    }
}

/// A query without a table.
fn is_tableless(tree: &Logical) -> bool {
    match tree {
        Logical::Project { input, .. } | Logical::Filter { input, .. } => is_tableless(input),
        _ => has_no_table(tree),
    }
}

fn is_windowed(tree: &Logical) -> bool {
    match tree {
        Logical::Window { .. } => true,
        Logical::Project { input, .. } | Logical::Filter { input, .. } | Logical::Sort { input, .. } => {
            is_windowed(input)
        }
        _ => false,
    }
}

/// What a query without a table computes for a column in the one row that it has, or VALUES of one row.
fn one_value(tree: &Logical, column: ColumnId) -> Option<&Expr> {
    match tree {
        Logical::Values { columns, rows } => match &rows[..] {
            [row] => columns.iter().position(|id| *id == column).and_then(|at| row.get(at)),
            _ => None,
        },
        Logical::Project { input, items } if matches!(**input, Logical::OneRow) => {
            items.iter().find(|(id, _)| *id == column).map(|(_, item)| item)
        }
        // HAVING.
        Logical::Filter { input, .. } if matches!(**input, Logical::Project { .. }) => {
            one_value(input, column)
        }
        Logical::Sort { input, .. } => one_value(input, column),
        _ => None,
    }
}

/// A value of INSERT ... VALUES that compares a text with a date.
fn compares(cell: &InsertCell) -> bool {
    let InsertCell::Expr(value) = cell else { return false };
    value.any(&mut |node| match &node.kind {
        ExprKind::Call { function, args, .. } if function.compares_two() => match &args[..] {
            [left, right] => converts_to_date(left, right) || converts_to_date(right, left),
            _ => false,
        },
        _ => false,
    })
}

/// A constant but for `(SELECT value)` in it, which is one, too.
fn is_made_of_values(expr: &Expr) -> bool {
    let is_value = |subquery: &Subquery| {
        value_without_table(subquery).is_some_and(|value| value.is_constant() || is_made_of_values(value))
    };
    let has_value = expr.any(&mut |node| matches!(node.kind, ExprKind::Subquery(_)));
    has_value
        && !expr.any(&mut |node| match &node.kind {
            ExprKind::Subquery(subquery) => !is_value(subquery),
            ExprKind::Column(_) => true,
            _ => false,
        })
}

/// What `(SELECT value)` computes.
pub(super) fn value_without_table(subquery: &Subquery) -> Option<&Expr> {
    let (SubqueryKind::Scalar, Logical::Project { input, items }) = (&subquery.kind, &subquery.plan) else {
        return None;
    };
    let [column] = subquery.columns[..] else { return None };
    matches!(**input, Logical::OneRow)
        .then(|| items.iter().find(|(id, _)| *id == column))
        .flatten()
        .map(|(_, expr)| expr)
}
