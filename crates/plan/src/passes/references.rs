//! Large columns that nothing computes with are passed as *references*: the value if the row stores it inline, else a reference to
//! where it is stored out of line.
//!
//! Columns that hold the same values are of one *class*: a column of a table, what a projection, a group, MIN, MAX, ANY_VALUE
//! or a set operation make of it, and both sides of an equality by which two inputs are joined. A class whose columns are
//! only carried, compared for equality, ordered and sent to the client is passed by reference: its tables give the part `Reference`, and
//! operators read as much of the values as the comparison needs. A class that an expression reads stays values.
//!
//! Invariants:
//! 1. Either all columns of a class are references or none is: no operator sees both where it expects one.
//! 2. A column counts as read unless this walk proves that it is not: every kind of node says here what it does with its columns.

use crate::expr::{ColumnId, Expr, ExprKind, SubqueryKind};
use crate::function::FunctionId;
use crate::logical::{AggregateFunction, Bound, Logical, PartKind, TableIndex};
use crate::rewrite::replace_columns;

use super::parts::{Parts, Seen, can_be_large};
use types::TypeKind;

/// What is known of a class.
#[derive(Clone, Copy, Default)]
struct Class {
    /// Some node carries it.
    is_used: bool,
    /// An expression reads its values.
    is_read: bool,
    /// Its values are compared.
    is_key: bool,
    /// It has a column of a table whose values may be large.
    is_large: bool,
    /// It has one that an index finds by value, or one whose form in memory cannot be compared (JSON).
    is_bound: bool,
}

/// The column whose value an expression gives as it is.
fn carried(expr: &Expr) -> Option<ColumnId> {
    match &expr.kind {
        ExprKind::Call { function: FunctionId::AnyValue, args, .. } => carried(args.first()?),
        _ => expr.as_column(),
    }
}

struct Classes<'b> {
    bound: &'b Bound,
    parents: Vec<u32>,
    classes: Vec<Class>,
}

/// Makes references of the classes of a statement that can be. `given`: output columns of the tree that its consumer accepts as
/// references; `read`: those whose values it reads.
pub(super) fn run(bound: &mut Bound, tree: &mut Logical, given: &mut [ColumnId], read: &[ColumnId]) {
    let mut classes = Classes::new(bound);
    classes.tree(tree);
    read.iter().for_each(|id| classes.read(*id));
    given.iter().for_each(|id| classes.class(*id).is_used = true);
    let references: Vec<bool> =
        (0..bound.columns.len()).map(|id| classes.is_reference(ColumnId(id as u32))).collect();
    if !references.contains(&true) {
        return;
    }
    // Columns of tables are replaced by parts, the others become references themselves.
    let mut instead: Vec<Option<ColumnId>> = vec![None; references.len()];
    for id in (0..references.len() as u32).map(ColumnId).filter(|id| references[id.0 as usize]) {
        match source(bound, id) {
            Some(seen) => {
                let stored = bound.columns[id.0 as usize].data_type.clone();
                instead[id.0 as usize] = Some(Parts { bound }.part(seen, PartKind::Reference, stored));
            }
            None => bound.columns[id.0 as usize].is_reference = true,
        }
    }
    let new = |id: ColumnId| instead.get(id.0 as usize).copied().flatten().unwrap_or(id);
    replace(tree, &new);
    given.iter_mut().for_each(|id| *id = new(*id));
}

/// The column of a table of the store that a column is.
fn source(bound: &Bound, id: ColumnId) -> Option<Seen> {
    let position = bound.tables.iter().position(|table| table.ordinal(id).is_some())?;
    let table = &bound.tables[position];
    if table.entry.source.as_virtual().is_some() {
        return None;
    }
    Some(Seen { id, table: TableIndex(position as u32), ordinal: table.ordinal(id)? })
}

/// Puts `new` in place of columns, wherever a tree names them.
fn replace(tree: &mut Logical, new: &dyn Fn(ColumnId) -> ColumnId) {
    tree.each_expr_mut(&mut |expr| replace_columns(expr, &mut |id| ExprKind::Column(new(id))));
    let change = |ids: &mut Vec<ColumnId>| ids.iter_mut().for_each(|id| *id = new(*id));
    match tree {
        Logical::Empty { columns } | Logical::Distinct { columns, .. } => change(columns),
        Logical::SetOp { left_columns, right_columns, columns, .. } => {
            change(left_columns);
            change(right_columns);
            change(columns);
        }
        Logical::Project { items, .. } => items.iter_mut().for_each(|(id, _)| *id = new(*id)),
        // A group calls its columns as the table does.
        Logical::Aggregate { keys, calls, .. } => {
            keys.iter_mut().for_each(|(id, _)| *id = new(*id));
            calls.iter_mut().for_each(|(id, _)| *id = new(*id));
        }
        Logical::Apply { subquery, .. } => replace(&mut subquery.plan, new),
        _ => {}
    }
    tree.each_input_mut(&mut |input| replace(input, new));
}

impl<'b> Classes<'b> {
    fn new(bound: &'b Bound) -> Classes<'b> {
        let mut classes = vec![Class::default(); bound.columns.len()];
        for table in &bound.tables {
            let definition = &table.entry.definition;
            for (ordinal, column) in definition.columns.iter().enumerate() {
                let class = &mut classes[table.column(ordinal).0 as usize];
                let in_index = || {
                    definition
                        .indexes
                        .iter()
                        .flat_map(|index| &index.parts)
                        .any(|part| part.column == ordinal)
                };
                // What pads a value reads it.
                let is_padded = bound.pads_chars && column.data_type.kind == TypeKind::Char;
                class.is_read = table.entry.source.as_virtual().is_some() || is_padded;
                class.is_large = can_be_large(&column.data_type);
                class.is_bound = !column.data_type.is_string() || in_index();
            }
            // What is only a part of a value is computed.
            for part in table.parts.iter().filter(|part| part.kind != PartKind::Reference) {
                classes[part.id.0 as usize].is_read = true;
            }
        }
        Classes { bound, parents: (0..bound.columns.len() as u32).collect(), classes }
    }

    fn find(&mut self, id: ColumnId) -> usize {
        let mut at = id.0 as usize;
        while self.parents[at] as usize != at {
            let above = self.parents[at] as usize;
            self.parents[at] = self.parents[above];
            at = above;
        }
        at
    }

    fn class(&mut self, id: ColumnId) -> &mut Class {
        let at = self.find(id);
        &mut self.classes[at]
    }

    fn is_reference(&mut self, id: ColumnId) -> bool {
        let class = *self.class(id);
        class.is_used && class.is_large && !class.is_read && !(class.is_key && class.is_bound)
    }

    fn read(&mut self, id: ColumnId) {
        self.class(id).is_read = true;
    }

    fn read_all(&mut self, ids: &[ColumnId]) {
        ids.iter().for_each(|id| self.read(*id));
    }

    fn read_expr(&mut self, expr: &Expr) {
        expr.each_column(&mut |id| self.read(id));
    }

    /// Two columns have the same values.
    fn join(&mut self, a: ColumnId, b: ColumnId) {
        let data_type = |id: ColumnId| &self.bound.columns[id.0 as usize].data_type;
        let (of_a, of_b) = (data_type(a), data_type(b));
        let is_alike = of_a.physical() == types::Physical::Bytes
            && of_b.physical() == types::Physical::Bytes
            && of_a.is_string() == of_b.is_string()
            && of_a.collation.charset() == of_b.collation.charset();
        let (a, b) = (self.find(a), self.find(b));
        let (one, other) = (self.classes[a], self.classes[b]);
        self.parents[b] = a as u32;
        self.classes[a] = Class {
            is_used: true,
            is_read: one.is_read || other.is_read || !is_alike,
            is_key: one.is_key || other.is_key,
            is_large: one.is_large || other.is_large,
            is_bound: one.is_bound || other.is_bound,
        };
    }

    /// A node makes `id` of an expression. `is_key`: it compares the values.
    fn made(&mut self, id: ColumnId, expr: &Expr, is_key: bool) {
        match carried(expr) {
            Some(of) => {
                self.join(of, id);
                self.class(id).is_key |= is_key;
            }
            None => {
                self.read_expr(expr);
                self.read(id);
            }
        }
    }

    /// A node compares the values of an expression for equality.
    fn key(&mut self, expr: &Expr) {
        match expr.as_column() {
            Some(id) => self.compare(id),
            None => self.read_expr(expr),
        }
    }

    fn compare(&mut self, id: ColumnId) {
        let class = self.class(id);
        class.is_used = true;
        class.is_key = true;
    }

    fn tree(&mut self, tree: &Logical) {
        tree.each_input(&mut |input| self.tree(input));
        match tree {
            Logical::OneRow | Logical::Scan { .. } | Logical::Empty { .. } => {}
            Logical::Values { columns, rows } => {
                rows.iter().flatten().for_each(|expr| self.read_expr(expr));
                self.read_all(columns);
            }
            Logical::WorkingTable { columns, .. } => self.read_all(columns),
            Logical::Recursive { seed_columns, step_columns, columns, .. } => {
                self.read_all(seed_columns);
                self.read_all(step_columns);
                self.read_all(columns);
            }
            Logical::Filter { conditions, .. } => {
                conditions.iter().for_each(|condition| self.read_expr(condition));
            }
            Logical::Limit { count, offset, .. } => {
                count.iter().chain(offset).for_each(|expr| self.read_expr(expr));
            }
            Logical::Project { items, .. } => {
                for (id, expr) in items {
                    self.made(*id, expr, false);
                }
            }
            Logical::Sort { keys, .. } => {
                for key in keys {
                    self.key(&key.expr);
                    self.sorted_as(&key.expr);
                }
            }
            Logical::Join { left, right, conditions, .. } => self.conditions(left, right, conditions),
            Logical::Aggregate { keys, calls, rollup, .. } => {
                for (id, expr) in keys {
                    self.made(*id, expr, true);
                    if *rollup {
                        self.read(*id);
                    }
                }
                for (id, call) in calls {
                    call.order_by.iter().for_each(|key| self.read_expr(&key.expr));
                    match (call.function, &call.args[..]) {
                        (AggregateFunction::Min | AggregateFunction::Max, [arg]) => self.made(*id, arg, true),
                        (AggregateFunction::AnyValue, [arg]) => self.made(*id, arg, false),
                        (AggregateFunction::Count, args) if call.distinct => {
                            args.iter().for_each(|arg| self.key(arg));
                            self.read(*id);
                        }
                        (_, args) => {
                            args.iter().for_each(|arg| self.read_expr(arg));
                            self.read(*id);
                        }
                    }
                }
            }
            Logical::Window { calls, .. } => {
                tree.each_expr(&mut |expr| self.read_expr(expr));
                calls.iter().for_each(|(id, _)| self.read(*id));
            }
            Logical::Distinct { columns, .. } => columns.iter().for_each(|id| self.compare(*id)),
            Logical::SetOp { op, all, left_columns, right_columns, columns, .. } => {
                let is_key = *op != syntax::ast::SetOp::Union || !all;
                for ((id, left), right) in columns.iter().zip(left_columns).zip(right_columns) {
                    self.join(*left, *id);
                    self.join(*right, *id);
                    self.class(*id).is_key |= is_key;
                }
            }
            Logical::JsonTable { document, columns, .. } => {
                self.read(*document);
                self.read_all(columns);
            }
            Logical::Lateral { outer, .. } => self.read_all(outer),
            Logical::Apply { subquery, column, .. } => {
                self.tree(&subquery.plan);
                self.read_all(&subquery.columns);
                self.read_all(&subquery.outer);
                self.read(*column);
                if let SubqueryKind::Quantified { condition, .. } = &subquery.kind {
                    condition.iter().for_each(|part| self.read_expr(part));
                }
                subquery.needed_if.iter().for_each(|condition| self.read_expr(condition));
            }
        }
    }

    /// An order by another type than the column's own is computed.
    fn sorted_as(&mut self, expr: &Expr) {
        if let Some(id) = expr.as_column()
            && self.bound.columns[id.0 as usize].data_type != expr.data_type
        {
            self.read(id);
        }
    }

    /// The conditions of a join. If all equalities are of one column on either side,
    /// it is a hash join, which compares references. By any other an index might find the rows, whose values would then be read.
    fn conditions(&mut self, left: &Logical, right: &Logical, conditions: &[Expr]) {
        let tables = &self.bound.tables;
        let (left, right) = (left.output(tables), right.output(tables));
        let mut pairs = Vec::new();
        let mut all_are = true;
        for condition in conditions {
            let is_equality =
                |function: FunctionId| matches!(function, FunctionId::Eq | FunctionId::NullSafeEq);
            let pair = match condition.as_call() {
                Some((function, [a, b])) if is_equality(function) => {
                    let is_text = |expr: &Expr| expr.data_type.is_string();
                    match (a.as_column(), b.as_column()) {
                        (Some(x), Some(y))
                            if is_text(a)
                                && is_text(b)
                                && a.data_type.collation == b.data_type.collation
                                && (left.contains(&x) && right.contains(&y)
                                    || left.contains(&y) && right.contains(&x)) =>
                        {
                            Some((x, y))
                        }
                        _ => {
                            all_are = false;
                            None
                        }
                    }
                }
                // An equality may stand inside AND.
                Some((FunctionId::And, _)) => {
                    all_are = false;
                    None
                }
                _ => None,
            };
            match pair {
                Some(pair) => pairs.push(pair),
                None => self.read_expr(condition),
            }
        }
        for (a, b) in pairs {
            self.join(a, b);
            self.compare(a);
            if !all_are {
                self.read(a);
            }
        }
    }
}
