//! From the logical tree to the physical plan: indexes, join order, algorithms, positions.
//!
//! The builder walks down with the set of columns that are needed above, so that nothing else is read, and comes back
//! with operators whose expressions name positions. A column that the input does not have belongs to an enclosing
//! query: it becomes an outer slot, which the `Apply` of that query fills.
//!
//! Read next: [`access`] (indexes and ranges), [`join_group`] and [`join_order`] (the order of joins), [`join`] (how each is made), [`estimate`] and [`dives`] (how many rows),
//! [`cost`] (what it costs),
//! [`change`] (INSERT, UPDATE, DELETE).

mod access;
mod change;
mod dives;
mod equated;
mod estimate;
mod generated;
mod group_order;
mod grouped;
mod guards;
mod join;
mod join_conditions;
mod join_group;
mod join_order;
mod traced;
mod unique;
mod window;

use std::cell::{OnceCell, RefCell};
use std::sync::Arc;

use catalog::{Catalog, CollectedStatistics, References};
use types::planted::{self, Plant};
use types::{CollationId, DataType, Value};

use crate::constants::{Constants, NoConstants};
use crate::cost;
use crate::document::texts;
use crate::expr::{ColumnId, Expr, ExprKind, SubqueryKind};
use crate::feedback::Feedback;
use crate::function::FunctionId;
use crate::logical::{AggregateFunction, Bound, BoundKind, JoinKind, Logical, SortKey, TableIndex};
use crate::passes::{self, Switches};
use crate::physical::{Aggregate, ApplyKind, Node, Op, PhysicalPlan, PlanKind, PlanTable};
use crate::progress;
use crate::trace;

use access::RowOrder;
use group_order::{RequiredGroups, makes_groups};
use join::{Joining, leaf_of};

/// Number of columns of a set that are copied in about the time of one step.
const COLUMNS_PER_STEP: usize = 4096;

/// Aggregates of one query that are each looked for in an index.
const EXTREMES_MAX: usize = 8;

/// `eq_range_index_dive_limit` as MySQL has it by default.
const DIVE_LIMIT: usize = 200;

/// What the optimizer may know.
#[derive(Clone, Debug)]
pub struct Options {
    /// Logical passes.
    pub switches: Switches,
    /// Values of CHAR columns are read padded (sql_mode PAD_CHAR_TO_FULL_LENGTH).
    pub pads_chars: bool,
    /// Version of the catalog the statement was bound with.
    pub catalog_version: u64,
    /// Its foreign keys.
    pub references: Arc<References>,
    /// Lists of this many equalities or more are estimated from statistics, without a dive for each; 0: none is.
    pub dive_limit: usize,
    /// What was counted when the statement ran before.
    pub feedback: Option<Arc<Feedback>>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            switches: Switches::default(),
            pads_chars: false,
            catalog_version: 0,
            references: Arc::default(),
            dive_limit: DIVE_LIMIT,
            feedback: None,
        }
    }
}

impl Options {
    /// All passes, for the statement bound with this snapshot.
    #[must_use]
    pub fn new(catalog: &Catalog) -> Options {
        Options {
            catalog_version: catalog.version,
            references: Arc::clone(catalog.references()),
            ..Options::default()
        }
    }
}

/// Makes the plan. Cannot fail: every bound statement can be run some way.
#[must_use]
pub fn optimize(bound: Bound, options: &Options) -> PhysicalPlan {
    optimize_for(bound, options, &NoConstants)
}

/// Makes the plan that is best for these values of constants and parameters. It is right for others, too.
#[must_use]
pub fn optimize_for(mut bound: Bound, options: &Options, constants: &dyn Constants) -> PhysicalPlan {
    if trace::features().is_some() {
        return optimize_traced(bound, options, constants);
    }
    passes::run(&mut bound, options.switches);
    build_for(bound, options, constants)
}

/// [`optimize_for`], which tells what it does.
#[cold]
fn optimize_traced(mut bound: Bound, options: &Options, constants: &dyn Constants) -> PhysicalPlan {
    trace::part("join_optimization", || {
        trace::add(|| vec![("logical_plan", texts(bound.text().lines()))]);
        passes::run(&mut bound, options.switches);
        let plan = build_for(bound, options, constants);
        trace::add(|| vec![("chosen_plan", texts(crate::explain::tree(&plan, None, &[]).lines()))]);
        plan
    })
}

/// Builds the physical plan of a statement whose passes have run.
#[must_use]
pub fn build(bound: Bound, options: &Options) -> PhysicalPlan {
    build_for(bound, options, &NoConstants)
}

fn build_for(mut bound: Bound, options: &Options, constants: &dyn Constants) -> PhysicalPlan {
    let mut kind = std::mem::replace(&mut bound.kind, BoundKind::Do(Box::new(Logical::OneRow)));
    let mut builder = Builder::new(&bound, options, constants);
    builder.changes_rows = matches!(kind, BoundKind::Update(_) | BoundKind::Delete(_));
    let kind = match &mut kind {
        BoundKind::Query(tree) => {
            let texts = bound.output.iter().filter_map(|column| column.text);
            let wanted: Vec<ColumnId> = bound.output.iter().map(|column| column.id).chain(texts).collect();
            PlanKind::Query(builder.query(tree, &wanted))
        }
        BoundKind::Do(tree) => {
            let wanted = tree.output(&bound.tables);
            PlanKind::Do(builder.root(tree, &wanted))
        }
        BoundKind::Insert(insert) => PlanKind::Insert(Box::new(builder.insert(insert))),
        BoundKind::Update(update) => PlanKind::Update(Box::new(builder.update(update))),
        BoundKind::Delete(delete) => PlanKind::Delete(Box::new(builder.delete(delete))),
    };
    let guards = builder.guards();
    let (outer_slots, node_count) = (builder.outer_slots, builder.node_count);
    let changed: Vec<_> = kind.changed_tables().map(|table| &bound.tables[table.0 as usize].entry).collect();
    let foreign_keys = options.references.graph(&changed);
    let reference_columns = reference_columns(&bound);
    let mut plan = PhysicalPlan {
        kind,
        tables: bound
            .tables
            .iter()
            .map(|table| PlanTable {
                entry: table.entry.clone(),
                alias: table.alias.clone(),
                lock: table.lock,
                parts: table.parts.clone(),
            })
            .collect(),
        output: bound.output,
        reference_columns,
        parameters: bound.parameters,
        limit_parameters: bound.limit_parameters,
        count_parameters: bound.count_parameters,
        constant_checks: bound.constant_checks,
        needs: bound.needs,
        outer_slot_count: outer_slots.len() as u32,
        outer_slots,
        columns: bound.columns,
        recursion_count: bound.recursion_count,
        node_count,
        sizes: Vec::new(),
        guards,
        volatile: bound.volatile,
        calc_found_rows: bound.calc_found_rows,
        warnings: bound.warnings,
        has_limit: bound.has_limit,
        catalog_version: options.catalog_version,
        references: Arc::clone(&options.references),
        foreign_keys,
    };
    plan.sizes = plan.sizes_now();
    if plan.sizes.is_empty() {
        plan.guards.clear(); // It reads no range.
    }
    plan
}

/// Which columns of the result may hold references, see [`PhysicalPlan::reference_columns`].
fn reference_columns(bound: &Bound) -> Vec<bool> {
    let is_reference = |id: ColumnId| bound.columns[id.0 as usize].is_reference;
    if !bound.output.iter().any(|column| is_reference(column.id)) {
        return Vec::new();
    }
    bound.output.iter().map(|column| is_reference(column.id)).collect()
}

/// A set of columns.
#[derive(Clone, Debug)]
pub(crate) struct Needed(Vec<bool>);

impl Needed {
    pub(crate) fn none(count: usize) -> Needed {
        Needed(vec![false; count])
    }

    pub(crate) fn add(&mut self, id: ColumnId) {
        self.0[id.0 as usize] = true;
    }

    pub(crate) fn remove(&mut self, id: ColumnId) {
        self.0[id.0 as usize] = false;
    }

    pub(crate) fn has(&self, id: ColumnId) -> bool {
        self.0[id.0 as usize]
    }

    pub(crate) fn add_expr(&mut self, expr: &Expr) {
        expr.each_column(&mut |id| self.add(id));
    }
}

pub(crate) struct Builder<'b> {
    pub(crate) bound: &'b Bound,
    pub(crate) switches: Switches,
    /// The statement is an UPDATE or a DELETE.
    changes_rows: bool,
    /// Keys over CHAR columns hold other texts than are read of them.
    pads_chars: bool,
    constants: &'b dyn Constants,
    /// [`Options::dive_limit`].
    dive_limit: usize,
    /// [`Options::feedback`], if it is of these tables.
    feedback: Option<&'b Feedback>,
    /// What was found out about each table, when it was first asked for: one plan uses one version.
    collected: Vec<OnceCell<Option<Arc<CollectedStatistics>>>>,
    /// Indexed generated columns of each table, once they are asked for.
    expressions: Vec<generated::IndexedExpressions>,
    /// What was asked of indexes and of statistics.
    dives: RefCell<Vec<dives::Dive>>,
    /// Where the choice between ways to read the only table turns.
    turns: RefCell<Vec<guards::Turn>>,
    /// Columns of enclosing queries, by slot.
    outer_slots: Vec<ColumnId>,
    node_count: u32,
    /// From a column's number to its position in the batch a translation is about.
    positions: Vec<u32>,
}

const NO_POSITION: u32 = u32::MAX;

impl<'b> Builder<'b> {
    fn new(bound: &'b Bound, options: &'b Options, constants: &'b dyn Constants) -> Builder<'b> {
        Builder {
            bound,
            switches: options.switches,
            changes_rows: false,
            pads_chars: options.pads_chars,
            constants,
            dive_limit: options.dive_limit,
            feedback: options.feedback.as_deref().filter(|feedback| feedback.is_of(&bound.tables)),
            collected: bound.tables.iter().map(|_| OnceCell::new()).collect(),
            expressions: bound.tables.iter().map(|_| generated::IndexedExpressions::new()).collect(),
            dives: RefCell::default(),
            turns: RefCell::default(),
            outer_slots: Vec::new(),
            node_count: 0,
            positions: vec![NO_POSITION; bound.columns.len() + bound.tables.len()],
        }
    }

    pub(crate) fn nothing(&self) -> Needed {
        Needed::none(self.positions.len())
    }

    /// The number under which a table's row locator travels.
    pub(crate) fn locator(&self, table: TableIndex) -> ColumnId {
        ColumnId(self.bound.columns.len() as u32 + table.0)
    }

    pub(crate) fn column_type(&self, id: ColumnId) -> DataType {
        match self.bound.columns.get(id.0 as usize) {
            Some(info) => info.data_type.clone(),
            None => DataType::varchar(0, CollationId::BINARY),
        }
    }

    /// A column by itself.
    pub(crate) fn column_expr(&self, id: ColumnId) -> Expr {
        let nullable = self.bound.columns.get(id.0 as usize).is_none_or(|info| info.nullable);
        Expr::column(id, self.column_type(id), nullable)
    }

    pub(crate) fn node(&mut self, op: Op, columns: Vec<ColumnId>, rows: f64, cost: f64) -> Node {
        let types = columns.iter().map(|id| self.column_type(*id)).collect();
        let number = self.node_count;
        self.node_count += 1;
        Node { number, op, columns, types, rows: rows.max(0.0), cost }
    }

    /// Runs `translate` with positions set for `columns`.
    fn with_positions<R>(&mut self, columns: &[ColumnId], translate: impl FnOnce(&mut Self) -> R) -> R {
        for (position, id) in columns.iter().enumerate() {
            self.positions[id.0 as usize] = position as u32;
        }
        let result = translate(self);
        for id in columns {
            self.positions[id.0 as usize] = NO_POSITION;
        }
        result
    }

    fn slot(&mut self, id: ColumnId) -> u32 {
        if let Some(slot) = self.outer_slots.iter().position(|other| *other == id) {
            return slot as u32;
        }
        self.outer_slots.push(id);
        self.outer_slots.len() as u32 - 1
    }

    fn translate_here(&mut self, expr: &mut Expr) {
        match expr.kind {
            ExprKind::Column(id) => {
                let position = self.positions[id.0 as usize];
                expr.kind = if position == NO_POSITION {
                    ExprKind::Outer(self.slot(id))
                } else {
                    ExprKind::Input(position)
                };
            }
            _ => expr.each_child_mut(&mut |child| self.translate_here(child)),
        }
    }

    /// Expressions over a batch of these columns.
    pub(crate) fn translate(&mut self, exprs: &[Expr], columns: &[ColumnId]) -> Vec<Expr> {
        let mut exprs = exprs.to_vec();
        self.with_positions(columns, |builder| {
            exprs.iter_mut().for_each(|expr| builder.translate_here(expr));
        });
        exprs
    }

    pub(crate) fn translate_one(&mut self, expr: &Expr, columns: &[ColumnId]) -> Expr {
        let mut expr = expr.clone();
        self.with_positions(columns, |builder| builder.translate_here(&mut expr));
        expr
    }

    fn translate_keys(&mut self, keys: &[SortKey], columns: &[ColumnId]) -> Vec<(Expr, bool)> {
        keys.iter().map(|key| (self.translate_one(&key.expr, columns), key.descending)).collect()
    }

    /// The plan of a statement's query: exactly `wanted`, in order.
    fn query(&mut self, tree: &Logical, wanted: &[ColumnId]) -> Node {
        match tree {
            Logical::Limit { input, count, offset } if self.bound.calc_found_rows => {
                let node = self.root(input, wanted);
                self.limit_node(node, count.as_ref(), offset.as_ref(), true)
            }
            _ => self.root(tree, wanted),
        }
    }

    /// The plan of a whole query: exactly `wanted`, in order.
    pub(crate) fn root(&mut self, tree: &Logical, wanted: &[ColumnId]) -> Node {
        let mut needed = self.nothing();
        wanted.iter().for_each(|id| needed.add(*id));
        let node = self.build(tree, &needed);
        self.project_to(node, wanted)
    }

    /// Exactly these columns in this order.
    pub(crate) fn project_to(&mut self, node: Node, wanted: &[ColumnId]) -> Node {
        if node.columns == wanted {
            return node;
        }
        let exprs: Vec<Expr> = wanted.iter().map(|id| self.column_expr(*id)).collect();
        // A projection below that is not shared can be narrowed at once.
        let exprs = self.translate(&exprs, &node.columns);
        if let Op::Project { exprs: inner, .. } = &node.op {
            let direct: Vec<Expr> = exprs
                .iter()
                .filter_map(|expr| match expr.kind {
                    ExprKind::Input(position) => inner.get(position as usize).cloned(),
                    _ => None,
                })
                .collect();
            if direct.len() == exprs.len() {
                let (rows, cost) = (node.rows, node.cost);
                if let Op::Project { input, .. } = node.op {
                    return self.node(Op::Project { input, exprs: direct }, wanted.to_vec(), rows, cost);
                }
                return node;
            }
        }
        let (rows, cost) = (node.rows, node.cost);
        self.node(Op::Project { input: Box::new(node), exprs }, wanted.to_vec(), rows, cost)
    }

    /// The plan of a tree; its output has at least the needed columns that the tree makes.
    pub(crate) fn build(&mut self, tree: &Logical, needed: &Needed) -> Node {
        // A set of columns is copied at every other node.
        progress::steps(1 + needed.0.len() / COLUMNS_PER_STEP);
        match tree {
            Logical::OneRow => self.node(Op::OneRow, Vec::new(), 1.0, 0.0),
            Logical::Empty { columns } => {
                // Above it an outer join may give rows, and a change ask whether they are of these tables.
                let tables = (0..self.bound.tables.len() as u32).map(TableIndex);
                let locators = tables
                    .filter(|&table| needed.has(self.locator(table)))
                    .filter(|&table| self.bound.tables[table.0 as usize].has_column_of(columns))
                    .map(|table| self.locator(table));
                let columns = columns.iter().copied().filter(|id| needed.has(*id)).chain(locators).collect();
                self.node(Op::Empty, columns, 0.0, 0.0)
            }
            Logical::Scan { table } => self.scan(*table, &[], needed, None).0,
            Logical::Values { columns, rows } => {
                let rows: Vec<Vec<Expr>> = rows.iter().map(|row| self.translate(row, &[])).collect();
                let count = rows.len() as f64;
                self.node(Op::Values(rows), columns.clone(), count, count * cost::MADE_ROW)
            }
            Logical::WorkingTable { recursion, columns } => self.node(
                Op::WorkingTable { recursion: *recursion },
                columns.clone(),
                100.0,
                100.0 * cost::MADE_ROW,
            ),
            Logical::Recursive { recursion, seed, seed_columns, step, step_columns, distinct, columns } => {
                let seed = Box::new(self.root(seed, seed_columns));
                let step = Box::new(self.root(step, step_columns));
                let (rows, cost) = (seed.rows * 10.0, seed.cost + step.cost * 10.0);
                let op = Op::Recursive { recursion: *recursion, seed, step, distinct: *distinct };
                self.node(op, columns.clone(), rows, cost)
            }
            Logical::Filter { input, conditions } => self.filter(input, conditions, needed),
            Logical::Project { input, items } => self.project(input, items, needed),
            Logical::Join { .. } if join_group::is_free(tree, &self.bound.tables) => {
                self.join_group(tree, &[], needed)
            }
            Logical::Join { kind, left, right, conditions } => {
                let mut inner = needed.clone();
                conditions.iter().for_each(|condition| inner.add_expr(condition));
                let mut dependent = Vec::new();
                right.each_column_of_subqueries(&mut |id| dependent.push(id));
                if !dependent.is_empty() {
                    dependent.sort_unstable();
                    dependent.dedup();
                    let left_columns = left.output(&self.bound.tables);
                    dependent.retain(|id| left_columns.contains(id));
                    dependent.iter().for_each(|id| inner.add(*id));
                }
                let left = self.build(left, &inner);
                if !dependent.is_empty() {
                    return self.dependent_join(*kind, left, right, conditions, &dependent, &inner);
                }
                self.join_with(*kind, left, right, conditions, &inner)
            }
            Logical::Aggregate { input, keys, calls, rollup } => {
                self.aggregate(input, keys, calls, *rollup, RequiredGroups::default(), needed)
            }
            Logical::Window { input, partition, order, calls } => {
                self.window(input, partition, order, calls, needed)
            }
            Logical::Distinct { input, columns } => {
                self.distinct_rows(input, columns, RequiredGroups::default())
            }
            Logical::Sort { input, keys } => match &**input {
                Logical::Distinct { input, .. } if planted::is(Plant::SortedDistinct) => {
                    self.sort(input, keys, None, needed)
                }
                _ => self.sort(input, keys, None, needed),
            },
            Logical::Limit { input, count, offset } => {
                self.limit(input, count.as_ref(), offset.as_ref(), needed)
            }
            Logical::SetOp { op, all, left, left_columns, right, right_columns, columns } => {
                let left = Box::new(self.root(left, left_columns));
                let right = Box::new(self.root(right, right_columns));
                let (rows, cost) = (left.rows + right.rows, left.cost + right.cost);
                match (op, all) {
                    (syntax::ast::SetOp::Union, true) => {
                        self.node(Op::Append { left, right }, columns.clone(), rows, cost)
                    }
                    (syntax::ast::SetOp::Union, false) => {
                        let append = self.node(Op::Append { left, right }, columns.clone(), rows, cost);
                        let op = Op::Distinct { input: Box::new(append) };
                        self.node(op, columns.clone(), rows, cost + rows * cost::DUPLICATE)
                    }
                    _ => {
                        let op = Op::SetOp { op: *op, all: *all, left, right };
                        self.node(op, columns.clone(), rows * 0.5, cost + rows * cost::DUPLICATE)
                    }
                }
            }
            Logical::JsonTable { input, document, rows, alias, columns } => {
                let input = self.root(input, &[*document]);
                let count = input.rows * cost::JSON_TABLE_ROWS;
                let cost = input.cost + count * cost::MADE_ROW;
                let op = Op::JsonTable { input: Box::new(input), rows: rows.clone(), alias: alias.clone() };
                self.node(op, columns.clone(), count, cost)
            }
            Logical::Lateral { input, .. } => self.build(input, needed),
            Logical::Apply { input, subquery, column } => self.apply(input, subquery, *column, needed),
        }
    }

    fn filter(&mut self, input: &Logical, conditions: &[Expr], needed: &Needed) -> Node {
        if conditions.iter().any(Expr::is_constant) {
            // By themselves, they are evaluated before a row is read.
            let (constants, rest): (Vec<Expr>, Vec<Expr>) =
                conditions.iter().cloned().partition(Expr::is_constant);
            let node =
                if rest.is_empty() { self.build(input, needed) } else { self.filter(input, &rest, needed) };
            return self.filter_node(node, &constants);
        }
        match input {
            Logical::Scan { table } => self.scan(*table, conditions, needed, None).0,
            Logical::Join { .. } if join_group::is_free(input, &self.bound.tables) => {
                self.join_group(input, conditions, needed)
            }
            _ => {
                let mut inner = needed.clone();
                conditions.iter().for_each(|condition| inner.add_expr(condition));
                let node = self.build(input, &inner);
                self.filter_node(node, conditions)
            }
        }
    }

    pub(crate) fn filter_node(&mut self, node: Node, conditions: &[Expr]) -> Node {
        if conditions.is_empty() {
            return node;
        }
        let translated = self.translate(conditions, &node.columns);
        let selectivity = self.conditions_selectivity(conditions);
        let (rows, cost) = (node.rows * selectivity, node.cost + node.rows * cost::FILTER);
        let columns = node.columns.clone();
        self.node(Op::Filter { input: Box::new(node), conditions: translated }, columns, rows, cost)
    }

    fn project(&mut self, input: &Logical, items: &[(ColumnId, Expr)], needed: &Needed) -> Node {
        let mut inner = needed.clone();
        let kept: Vec<&(ColumnId, Expr)> = items
            .iter()
            .filter(|(id, expr)| {
                needed.has(*id) || expr.any(&mut |node| matches!(node.kind, ExprKind::UserVarAssign { .. }))
            })
            .collect();
        for (id, _) in items {
            inner.remove(*id);
        }
        for (_, expr) in &kept {
            inner.add_expr(expr);
        }
        let node = self.build(input, &inner);
        self.project_node(node, &kept, needed)
    }

    fn project_node(&mut self, node: Node, items: &[&(ColumnId, Expr)], needed: &Needed) -> Node {
        if items.is_empty() {
            return node;
        }
        let mut columns: Vec<ColumnId> = node.columns.iter().copied().filter(|id| needed.has(*id)).collect();
        let mut exprs: Vec<Expr> = columns.iter().map(|id| self.column_expr(*id)).collect();
        for (id, expr) in items {
            columns.push(*id);
            exprs.push(expr.clone());
        }
        let exprs = self.translate(&exprs, &node.columns);
        let (rows, cost) = (node.rows, node.cost + node.rows * cost::PROJECT);
        self.node(Op::Project { input: Box::new(node), exprs }, columns, rows, cost)
    }

    /// Each different row once, in any order.
    fn distinct_rows(&mut self, input: &Logical, columns: &[ColumnId], wanted: RequiredGroups<'_>) -> Node {
        if let Some(node) = self.distinct_in_order(input, columns, wanted) {
            return node;
        }
        let node = self.root(input, columns);
        let (rows, cost) = ((node.rows * 0.5).max(1.0), node.cost + node.rows * cost::DUPLICATE);
        self.node(Op::Distinct { input: Box::new(node) }, columns.to_vec(), rows, cost)
    }

    /// What is needed below groups, and which of their aggregates are needed above.
    fn below_groups<'c>(
        &self,
        keys: &[(ColumnId, Expr)],
        calls: &'c [(ColumnId, crate::logical::AggregateCall)],
        needed: &Needed,
    ) -> (Needed, Vec<&'c (ColumnId, crate::logical::AggregateCall)>) {
        let mut inner = self.nothing();
        keys.iter().for_each(|(_, expr)| inner.add_expr(expr));
        let kept: Vec<_> = calls.iter().filter(|(id, _)| needed.has(*id)).collect();
        for (_, call) in &kept {
            call.args.iter().for_each(|arg| inner.add_expr(arg));
            call.order_by.iter().for_each(|key| inner.add_expr(&key.expr));
        }
        (inner, kept)
    }

    /// Groups, in any order.
    fn aggregate(
        &mut self,
        input: &Logical,
        keys: &[(ColumnId, Expr)],
        calls: &[(ColumnId, crate::logical::AggregateCall)],
        rollup: bool,
        wanted: RequiredGroups<'_>,
        needed: &Needed,
    ) -> Node {
        // All rows have the same constant, which is not computed if nothing shows it.
        let is_unread = |(id, key): &(ColumnId, Expr)| {
            !rollup && key.is_constant() && !matches!(key.kind, ExprKind::Literal(_)) && !needed.has(*id)
        };
        let without_constants: Vec<(ColumnId, Expr)>;
        let keys = if keys.iter().any(is_unread) {
            let replaced = |key: &(ColumnId, Expr)| match is_unread(key) {
                true => {
                    let data_type = key.1.data_type.clone();
                    (key.0, Expr { data_type, ..Expr::literal(Value::Null) })
                }
                false => key.clone(),
            };
            without_constants = keys.iter().map(replaced).collect();
            &without_constants[..]
        } else {
            keys
        };
        let (inner, kept) = self.below_groups(keys, calls, needed);
        if !rollup && let Some(node) = self.groups_in_order(input, keys, &kept, wanted, &inner) {
            return node;
        }
        let node = match self.first_by_index(input, keys, &kept, &inner) {
            Some(node) => node,
            None => {
                if let Some(node) = self.extremes_by_index(input, keys, &kept) {
                    return node;
                }
                self.build(input, &inner)
            }
        };
        self.aggregate_node(node, keys, &kept, rollup, false)
    }

    fn aggregate_node(
        &mut self,
        node: Node,
        keys: &[(ColumnId, Expr)],
        calls: &[&(ColumnId, crate::logical::AggregateCall)],
        rollup: bool,
        ordered: bool,
    ) -> Node {
        let mut columns: Vec<ColumnId> = keys.iter().map(|(id, _)| *id).collect();
        columns.extend(calls.iter().map(|(id, _)| *id));
        let key_exprs: Vec<Expr> = keys.iter().map(|(_, expr)| expr.clone()).collect();
        let key_exprs = self.translate(&key_exprs, &node.columns);
        let mut aggregates = Vec::with_capacity(calls.len());
        for (_, call) in calls {
            let (function, args) = match counts_every_row(call) {
                true => (AggregateFunction::CountStar, &[][..]),
                false => (call.function, &call.args[..]),
            };
            aggregates.push(Aggregate {
                function,
                distinct: call.distinct,
                args: self.translate(args, &node.columns),
                order_by: self.translate_keys(&call.order_by, &node.columns),
                separator: call.separator.clone(),
                data_type: call.data_type.clone(),
                nullable: call.nullable,
            });
        }
        let rows = if keys.is_empty() { 1.0 } else { self.group_count(keys, node.rows) };
        let per_row = if ordered || keys.is_empty() { cost::GROUP_IN_ORDER } else { cost::group(rows) };
        let cost = node.cost + node.rows * per_row;
        let op = Op::Aggregate { input: Box::new(node), keys: key_exprs, calls: aggregates, rollup, ordered };
        self.node(op, columns, rows, cost)
    }

    /// Several MIN and MAX over a table: each the first row of an index that gives its order.
    fn extremes_by_index(
        &mut self,
        input: &Logical,
        keys: &[(ColumnId, Expr)],
        calls: &[&(ColumnId, crate::logical::AggregateCall)],
    ) -> Option<Node> {
        if !(2..=EXTREMES_MAX).contains(&calls.len()) || !keys.is_empty() {
            return None;
        }
        let mut all: Option<Node> = None;
        for call in calls {
            let mut needed = self.nothing();
            call.1.args.iter().for_each(|arg| needed.add_expr(arg));
            let first = self.first_by_index(input, keys, &[call], &needed)?;
            let one = self.aggregate_node(first, keys, &[call], false, false);
            all = Some(match all {
                Some(left) => {
                    self.join_nodes(JoinKind::Inner, left, one, Joining { conditions: &[], share: 1.0 }, true)
                }
                None => one,
            });
        }
        all
    }

    /// MIN or MAX alone over a table: the first row of an index that gives the order.
    fn first_by_index(
        &mut self,
        input: &Logical,
        keys: &[(ColumnId, Expr)],
        calls: &[&(ColumnId, crate::logical::AggregateCall)],
        needed: &Needed,
    ) -> Option<Node> {
        let [(_, call)] = calls else { return None };
        if !keys.is_empty() || !matches!(call.function, AggregateFunction::Min | AggregateFunction::Max) {
            return None;
        }
        let column = call.args.first()?.as_column()?;
        let (table, mut conditions) = match input {
            Logical::Filter { input, conditions } if conditions.iter().all(Expr::is_constant) => {
                let node = self.first_by_index(input, keys, calls, needed)?;
                return Some(self.filter_node(node, conditions));
            }
            _ => leaf_of(input).map(|(table, own)| (table, own.to_vec()))?,
        };
        self.bound.tables[table.0 as usize].ordinal(column)?;
        if self.bound.columns[column.0 as usize].nullable {
            let context = crate::function::TypeContext::default();
            let option = || crate::expr::CallOption::None;
            let null =
                crate::function::build(FunctionId::IsNull, call.args.clone(), option(), &context).ok()?;
            conditions.push(crate::function::build(FunctionId::Not, vec![null], option(), &context).ok()?);
        }
        let order =
            [SortKey { expr: call.args[0].clone(), descending: call.function == AggregateFunction::Max }];
        let (node, ordered) =
            self.scan(table, &conditions, needed, Some(&RowOrder::sorted(&order, Some(1.0))));
        if !ordered {
            return None;
        }
        let (columns, cost) = (node.columns.clone(), node.cost);
        let op =
            Op::Limit { input: Box::new(node), count: Some(Expr::int(1)), offset: None, counts_all: false };
        Some(self.node(op, columns, 1.0, cost))
    }

    /// ORDER BY, with the LIMIT above it if there is one.
    fn sort(
        &mut self,
        input: &Logical,
        keys: &[SortKey],
        limit: Option<(&Expr, Option<&Expr>)>,
        needed: &Needed,
    ) -> Node {
        let mut inner = needed.clone();
        keys.iter().for_each(|key| inner.add_expr(&key.expr));
        // What the order does not need is computed when the rest is cut off.
        match input {
            Logical::Project { input, items }
                if !reads_items(keys, items)
                    && if assigns(items) { reads_one_table(input) } else { limit.is_some() } =>
            {
                let (inner, kept) = below_items(items, &inner);
                let node = self.sort(input, keys, limit, &inner);
                return self.project_node(node, &kept, needed);
            }
            Logical::Apply { input, subquery, column } if limit.is_some() && !reads_column(keys, *column) => {
                let inner = self.below_apply(subquery, *column, &inner);
                let node = self.sort(input, keys, limit, &inner);
                return self.apply_in_order(node, subquery, *column, needed);
            }
            _ => {}
        }
        if let Some((tree, conditions)) = self.joins_of(input) {
            let wanted = limit.map(|(count, offset)| row_limit(count) + offset.map_or(0.0, row_limit));
            let wanted = join_group::RequiredOrder { keys, limit: wanted };
            let (node, is_ordered) = self.join_group_in_order(tree, conditions, Some(wanted), &inner);
            return match limit {
                Some((count, offset)) if is_ordered => self.limit_node(node, Some(count), offset, false),
                None if is_ordered => node,
                _ => self.sort_node(node, keys, limit),
            };
        }
        let wanted = limit.map(|(count, offset)| row_limit(count) + offset.map_or(0.0, row_limit));
        if let Some(node) = self.ordered(input, keys, wanted, &inner) {
            return match limit {
                Some((count, offset)) => self.limit_node(node, Some(count), offset, false),
                None => node,
            };
        }
        // Rows are sorted narrow: large columns that the order does not need are fetched for those that remain.
        if let Some(node) = self.sort_then_fetch(input, keys, limit, &inner) {
            return node;
        }
        let node = self.build(input, &inner);
        self.sort_node(node, keys, limit)
    }

    /// The joins whose order is free that a tree is, and the conditions above them.
    fn joins_of<'t>(&self, tree: &'t Logical) -> Option<(&'t Logical, &'t [Expr])> {
        let (joins, conditions) = match tree {
            Logical::Filter { input, conditions } if !conditions.iter().any(Expr::is_constant) => {
                (&**input, &conditions[..])
            }
            _ => (tree, &[][..]),
        };
        (matches!(joins, Logical::Join { .. }) && join_group::is_free(joins, &self.bound.tables))
            .then_some((joins, conditions))
    }

    fn sort_node(&mut self, node: Node, keys: &[SortKey], limit: Option<(&Expr, Option<&Expr>)>) -> Node {
        let translated = self.translate_keys(keys, &node.columns);
        let columns = node.columns.clone();
        let rows = node.rows;
        let cost = node.cost + cost::sort(rows);
        match limit {
            Some((count, offset)) => {
                let kept = rows.min(row_limit(count));
                let op = Op::TopN {
                    input: Box::new(node),
                    keys: translated,
                    count: self.translate_one(count, &[]),
                    offset: offset.map(|offset| self.translate_one(offset, &[])),
                };
                self.node(op, columns, kept, cost)
            }
            None => self.node(Op::Sort { input: Box::new(node), keys: translated }, columns, rows, cost),
        }
    }

    /// A table's rows in the order of an index, if that is cheaper than sorting them.
    fn ordered(
        &mut self,
        input: &Logical,
        keys: &[SortKey],
        limit: Option<f64>,
        needed: &Needed,
    ) -> Option<Node> {
        match input {
            Logical::Filter { input, conditions } if conditions.iter().all(Expr::is_constant) => {
                let node = self.ordered(input, keys, limit, needed)?;
                Some(self.filter_node(node, conditions))
            }
            Logical::Filter { input, conditions }
                if makes_groups(input) && !conditions.iter().any(Expr::is_constant) =>
            {
                let mut inner = needed.clone();
                conditions.iter().for_each(|condition| inner.add_expr(condition));
                let limit = limit.map(|limit| limit / self.conditions_selectivity(conditions));
                let node = self.ordered(input, keys, limit, &inner)?;
                Some(self.filter_node(node, conditions))
            }
            Logical::Aggregate { input, keys: groups, calls, rollup: false } => {
                let (inner, kept) = self.below_groups(groups, calls, needed);
                self.groups_in_order(input, groups, &kept, RequiredGroups { keys, limit }, &inner)
            }
            Logical::Distinct { input, columns } => {
                self.distinct_in_order(input, columns, RequiredGroups { keys, limit })
            }
            Logical::Window { .. } if window::gives_order(input, keys, needed) => {
                Some(self.build(input, needed))
            }
            Logical::Scan { .. } | Logical::Filter { .. } => {
                let (table, conditions) = leaf_of(input)?;
                let (node, ordered) =
                    self.scan(table, conditions, needed, Some(&RowOrder::sorted(keys, limit)));
                ordered.then_some(node)
            }
            Logical::Project { input, items } => {
                if reads_items(keys, items) {
                    return None;
                }
                let (inner, kept) = below_items(items, needed);
                let node = self.ordered(input, keys, limit, &inner)?;
                Some(self.project_node(node, &kept, needed))
            }
            Logical::Apply { input, subquery, column } if !reads_column(keys, *column) => {
                let inner = self.below_apply(subquery, *column, needed);
                let node = self.ordered(input, keys, limit, &inner)?;
                Some(self.apply_in_order(node, subquery, *column, needed))
            }
            _ => None,
        }
    }

    /// Sorts key columns and locators only, then fetches the large columns.
    fn sort_then_fetch(
        &mut self,
        input: &Logical,
        keys: &[SortKey],
        limit: Option<(&Expr, Option<&Expr>)>,
        needed: &Needed,
    ) -> Option<Node> {
        let (table, conditions): (TableIndex, &[Expr]) = match input {
            Logical::Filter { input, conditions } if conditions.iter().all(Expr::is_constant) => {
                let node = self.sort_then_fetch(input, keys, limit, needed)?;
                return Some(self.filter_node(node, conditions));
            }
            Logical::Scan { table } => (*table, &[]),
            Logical::Filter { input, conditions } => match **input {
                Logical::Scan { table } => (table, conditions),
                _ => return None,
            },
            // What the order does not need is computed for the rows that remain.
            Logical::Project { input, items } if !reads_items(keys, items) && !assigns(items) => {
                let (inner, kept) = below_items(items, needed);
                let node = self.sort_then_fetch(input, keys, limit, &inner)?;
                return Some(self.project_node(node, &kept, needed));
            }
            Logical::Apply { input, subquery, column } if !reads_column(keys, *column) => {
                let inner = self.below_apply(subquery, *column, needed);
                let node = self.sort_then_fetch(input, keys, limit, &inner)?;
                return Some(self.apply_in_order(node, subquery, *column, needed));
            }
            _ => return None,
        };
        let bound_table = &self.bound.tables[table.0 as usize];
        if bound_table.entry.source.as_virtual().is_some() || bound_table.lock.is_some() {
            return None;
        }
        let mut early = self.nothing();
        keys.iter().for_each(|key| early.add_expr(&key.expr));
        conditions.iter().for_each(|condition| early.add_expr(condition));
        let mut late = Vec::new();
        for ordinal in 0..bound_table.width() {
            let id = bound_table.column(ordinal);
            let costs_reads = match bound_table.part(ordinal) {
                Some(part) => part.kind.reads_bytes(),
                None => passes::can_be_large(&bound_table.entry.definition.columns[ordinal].data_type),
            };
            if needed.has(id) && !early.has(id) && costs_reads {
                late.push(ordinal);
            }
        }
        if late.is_empty() {
            return None;
        }
        let mut narrow = needed.clone();
        for &ordinal in &late {
            narrow.remove(bound_table.column(ordinal));
        }
        let locator = self.locator(table);
        narrow.add(locator);
        let node = self.scan(table, conditions, &narrow, None).0;
        let node = self.sort_node(node, keys, limit);
        let position = node.columns.iter().position(|id| *id == locator)? as u32;
        let mut columns = node.columns.clone();
        columns.extend(late.iter().map(|&ordinal| bound_table.column(ordinal)));
        let (rows, cost) = (node.rows, node.cost + node.rows * cost::FETCH);
        let op = Op::Fetch { input: Box::new(node), table, locator: position, columns: late };
        Some(self.node(op, columns, rows, cost))
    }

    fn limit(
        &mut self,
        input: &Logical,
        count: Option<&Expr>,
        offset: Option<&Expr>,
        needed: &Needed,
    ) -> Node {
        match (input, count) {
            (Logical::Sort { input, keys }, Some(count)) => {
                self.sort(input, keys, Some((count, offset)), needed)
            }
            // These give a row for each: the others are cut off before anything is computed for them.
            (Logical::Project { input, items }, _) => {
                let (inner, kept) = below_items(items, needed);
                let node = self.limit(input, count, offset, &inner);
                self.project_node(node, &kept, needed)
            }
            (Logical::Apply { input, subquery, column }, _) => {
                let inner = self.below_apply(subquery, *column, needed);
                let node = self.limit(input, count, offset, &inner);
                self.apply_in_order(node, subquery, *column, needed)
            }
            (_, Some(rows)) => {
                let limit = row_limit(rows) + offset.map_or(0.0, row_limit);
                let node = self.build_limited(input, limit, needed);
                self.limit_node(node, count, offset, false)
            }
            _ => {
                let node = self.build(input, needed);
                self.limit_node(node, count, offset, false)
            }
        }
    }

    fn limit_node(
        &mut self,
        node: Node,
        count: Option<&Expr>,
        offset: Option<&Expr>,
        counts_all: bool,
    ) -> Node {
        let wanted = count.map_or(f64::MAX, row_limit) + offset.map_or(0.0, row_limit);
        let share = if node.rows > 0.0 { (wanted / node.rows).min(1.0) } else { 1.0 };
        let (rows, cost) = (node.rows.min(wanted), node.cost * share);
        let columns = node.columns.clone();
        let count = count.map(|count| self.translate_one(count, &[]));
        let offset = offset.map(|offset| self.translate_one(offset, &[]));
        self.node(Op::Limit { input: Box::new(node), count, offset, counts_all }, columns, rows, cost)
    }

    fn apply(
        &mut self,
        input: &Logical,
        subquery: &crate::expr::Subquery,
        column: ColumnId,
        needed: &Needed,
    ) -> Node {
        let inner = self.below_apply(subquery, column, needed);
        let node = self.build(input, &inner);
        if is_ordered(input) {
            return self.apply_in_order(node, subquery, column, needed);
        }
        self.apply_node(node, subquery, column, needed, false)
    }

    /// What is needed below the column that a subquery computes.
    fn below_apply(&self, subquery: &crate::expr::Subquery, column: ColumnId, needed: &Needed) -> Needed {
        let mut inner = needed.clone();
        inner.remove(column);
        if !needed.has(column) {
            return inner;
        }
        subquery.outer.iter().for_each(|id| inner.add(*id));
        if let SubqueryKind::Quantified { condition, .. } = &subquery.kind {
            for part in condition {
                part.each_column(&mut |id| {
                    if !subquery.columns.contains(&id) {
                        inner.add(id);
                    }
                });
            }
        }
        subquery.needed_if.iter().for_each(|condition| inner.add_expr(condition));
        inner
    }

    /// Computes a subquery for each row, in the order of the rows.
    fn apply_in_order(
        &mut self,
        node: Node,
        subquery: &crate::expr::Subquery,
        column: ColumnId,
        needed: &Needed,
    ) -> Node {
        self.apply_node(node, subquery, column, needed, true)
    }

    /// Computes a subquery for each row, if the column is needed.
    fn apply_node(
        &mut self,
        node: Node,
        subquery: &crate::expr::Subquery,
        column: ColumnId,
        needed: &Needed,
        keeps_order: bool,
    ) -> Node {
        if !needed.has(column) {
            return node;
        }
        let plan = match subquery.kind {
            SubqueryKind::Exists => {
                let nothing = self.nothing();
                self.build(&subquery.plan, &nothing)
            }
            _ => self.root(&subquery.plan, &subquery.columns),
        };
        let kind = match &subquery.kind {
            SubqueryKind::Scalar => ApplyKind::Scalar,
            SubqueryKind::Exists => ApplyKind::Exists,
            SubqueryKind::Quantified { all, single, condition } => {
                let keeps_set = self.bound.hints.keeps_set(subquery, self.switches.member_sets);
                let keys = match subquery.outer.is_empty() && !single && keeps_set {
                    true => self.member_keys(*all, condition, &node.columns, &subquery.columns),
                    false => Vec::new(),
                };
                let mut columns = node.columns.clone();
                columns.extend(&subquery.columns);
                let condition = self.translate(condition, &columns);
                ApplyKind::Quantified { all: *all, single: *single, condition, keys }
            }
        };
        let mut outer = Vec::new();
        for id in &subquery.outer {
            if let Some(position) = node.columns.iter().position(|column| column == id) {
                outer.push((self.slot(*id), position as u32));
            }
        }
        let needed_if = self.translate(&subquery.needed_if, &node.columns);
        let runs = self.runs(subquery, &node);
        // A join gives rows without a group later than others.
        if !keeps_order && let Some(joined) = self.joined_groups(&node, subquery, runs * plan.cost) {
            return self.group_join(node, joined, column, needed);
        }
        let mut columns = node.columns.clone();
        columns.push(column);
        let (rows, cost) = (node.rows, node.cost + runs * plan.cost);
        self.node(
            Op::Apply { input: Box::new(node), subquery: Box::new(plan), kind, outer, needed_if },
            columns,
            rows,
            cost,
        )
    }
}

/// COUNT of bits that are never NULL, which MySQL does not compute: operands of unlike length are no error.
fn counts_every_row(call: &crate::logical::AggregateCall) -> bool {
    let is_never_null = |arg: &Expr| {
        let is_of_bits = |(function, _): (FunctionId, &[Expr])| {
            matches!(function, FunctionId::BitAnd | FunctionId::BitOr | FunctionId::BitXor)
        };
        !arg.nullable && arg.as_call().is_some_and(is_of_bits)
    };
    call.function == AggregateFunction::Count && !call.distinct && call.args.iter().all(is_never_null)
}

/// Whether rows are sorted as they are read from a table: what a select list assigns is assigned in their order then, as in MySQL, and
/// before they are sorted where they are collected first.
fn reads_one_table(tree: &Logical) -> bool {
    match tree {
        Logical::Scan { .. } => true,
        Logical::Filter { input, .. } => reads_one_table(input),
        _ => false,
    }
}

/// Whether the rows of a tree come in an order that is asked for.
fn is_ordered(tree: &Logical) -> bool {
    match tree {
        // Each total comes after its groups.
        Logical::Sort { .. } | Logical::Window { .. } | Logical::Aggregate { rollup: true, .. } => true,
        Logical::Project { input, .. }
        | Logical::Filter { input, .. }
        | Logical::Limit { input, .. }
        | Logical::Apply { input, .. } => is_ordered(input),
        _ => false,
    }
}

fn reads_column(keys: &[SortKey], column: ColumnId) -> bool {
    let mut reads = false;
    keys.iter().for_each(|key| key.expr.each_column(&mut |id| reads |= id == column));
    reads
}

/// Whether an order needs what a projection computes.
fn reads_items(keys: &[SortKey], items: &[(ColumnId, Expr)]) -> bool {
    let mut found = false;
    for key in keys {
        key.expr.each_column(&mut |id| found |= items.iter().any(|(item, _)| *item == id));
    }
    found
}

/// Whether a projection sets variables, which shows in which order it is computed.
fn assigns(items: &[(ColumnId, Expr)]) -> bool {
    let sets = |node: &Expr| matches!(node.kind, ExprKind::UserVarAssign { .. });
    items.iter().any(|(_, expr)| expr.any(&mut |node| sets(node)))
}

/// What is needed below a projection, and which of its items are needed above.
fn below_items<'i>(items: &'i [(ColumnId, Expr)], needed: &Needed) -> (Needed, Vec<&'i (ColumnId, Expr)>) {
    let mut inner = needed.clone();
    items.iter().for_each(|(id, _)| inner.remove(*id));
    let is_kept = |item: &&(ColumnId, Expr)| needed.has(item.0) || assigns(std::slice::from_ref(*item));
    let kept: Vec<&(ColumnId, Expr)> = items.iter().filter(is_kept).collect();
    kept.iter().for_each(|(_, expr)| inner.add_expr(expr));
    (inner, kept)
}

/// Rows a LIMIT lets through, as far as it is known.
fn row_limit(expr: &Expr) -> f64 {
    match expr.as_literal() {
        Some(Value::Int(count)) => *count as f64,
        Some(Value::UInt(count)) => *count as f64,
        _ => 100.0,
    }
}
