//! GROUP BY: what may be read above it.
//!
//! Above an aggregation only its keys and aggregates exist. A key that is a plain column keeps its number, so that
//! references to it stay as they are; an expression equal to another key is replaced by that key's column. Any other
//! column must be the same in all rows of a group (it depends on the keys through a unique key or an equality), or
//! sql_mode must lack ONLY_FULL_GROUP_BY: it then becomes an aggregate that keeps some row's value, under its own number.

use crate::error::{PlanError, PlanResult};
use crate::expr::{ColumnId, Expr, ExprKind};
use crate::function::{self, FunctionId};
use crate::logical::{
    AggregateCall, AggregateFunction, BoundTable, JoinKind, Logical, OutputColumn, SortKey,
};

use crate::rewrite::is_repeatable;
use types::DataType;

use super::Binder;
use super::scope::ScopeColumns;

/// What GROUP BY says.
pub(crate) struct Group<'g> {
    pub(crate) keys: Vec<(ColumnId, Expr)>,
    pub(crate) rollup: bool,
    /// GROUP BY was written.
    pub(crate) grouped: bool,
    /// Keys that MySQL does not find again in the clauses above: those written with INTERVAL(), or with rows that are compared
    /// by `<` and its like, or by IN.
    pub(crate) unrecognized: Vec<ColumnId>,
    /// WHERE.
    pub(crate) conditions: &'g [Expr],
}

/// Where an expression stands, for messages.
#[derive(Clone, Copy, Eq, Ord, PartialEq, PartialOrd)]
enum Place {
    Select(usize),
    Having,
    Order(usize),
    /// A window's own expressions: its number, and the place in one of its lists.
    Window(usize, usize),
}

/// A column that is read above the groups.
struct Read {
    id: ColumnId,
    place: Place,
    is_in_any_value: bool,
}

impl Read {
    fn plain(id: ColumnId, place: Place) -> Read {
        Read { id, place, is_in_any_value: false }
    }
}

/// Calls `visit` with each column that an expression reads, and whether ANY_VALUE reads it.
pub(super) fn each_read(expr: &Expr, visit: &mut dyn FnMut(ColumnId, bool)) {
    match &expr.kind {
        ExprKind::Call { function: FunctionId::AnyValue, .. } => {
            expr.each_column(&mut |id| visit(id, true));
        }
        ExprKind::Column(_) | ExprKind::Subquery(_) => expr.each_column(&mut |id| visit(id, false)),
        _ => expr.each_child(&mut |child| each_read(child, visit)),
    }
}

/// Notes the columns that an expression reads.
fn note_read(expr: &Expr, place: Place, out: &mut Vec<Read>) {
    each_read(expr, &mut |id, is_in_any_value| out.push(Read { id, place, is_in_any_value }));
}

impl Binder<'_> {
    /// Puts the aggregation on top of `tree` and makes the clauses above read it.
    pub(crate) fn aggregate_node(
        &mut self,
        tree: Logical,
        group: Group<'_>,
        items: &mut [(ColumnId, Expr)],
        output: &mut [OutputColumn],
        having: &mut [Expr],
        sort: &mut [SortKey],
    ) -> PlanResult<Logical> {
        let mut known: Vec<ColumnId> = group.keys.iter().map(|(id, _)| *id).collect();
        known.extend(self.block().aggregates.iter().map(|(id, _)| *id));
        known.extend(items.iter().map(|(id, _)| *id));
        known.extend(self.window_columns());
        let block = self.block();
        known.extend(&block.outer);
        let free = std::mem::take(&mut block.free_columns);

        let is_recognized = |(id, _): &&(ColumnId, Expr)| !group.unrecognized.contains(id);
        let keys: Vec<&(ColumnId, Expr)> = group.keys.iter().filter(is_recognized).collect();
        let mut read: Vec<Read> = Vec::new();
        for (position, column) in output.iter_mut().enumerate() {
            match items.iter_mut().find(|(id, _)| *id == column.id) {
                Some((id, expr)) => {
                    let was_computed = expr.as_column().is_none();
                    replace_keys(expr, &keys);
                    if was_computed && expr.as_column().is_some() {
                        // A row above the groups has NULL for its key.
                        expr.nullable |= group.rollup;
                        column.nullable |= expr.nullable;
                        self.columns[id.0 as usize].nullable = expr.nullable;
                    }
                    note_read(expr, Place::Select(position), &mut read);
                }
                None => read.push(Read::plain(column.id, Place::Select(position))),
            }
        }
        for condition in having.iter_mut() {
            replace_keys(condition, &keys);
            note_read(condition, Place::Having, &mut read);
        }
        for (position, key) in sort.iter_mut().enumerate() {
            replace_keys(&mut key.expr, &keys);
            note_read(&key.expr, Place::Order(position), &mut read);
            self.order_members(&mut key.expr, &group);
        }

        let mut windows = std::mem::take(&mut self.block().windows);
        for (at, window) in windows.iter_mut().enumerate() {
            for (_, call) in &mut window.calls {
                call.exprs_mut().for_each(|expr| replace_keys(expr, &keys));
            }
            let order = window.order.iter_mut().map(|key| &mut key.expr).enumerate();
            for (position, expr) in window.partition.iter_mut().enumerate().chain(order) {
                replace_keys(expr, &keys);
                note_read(expr, Place::Window(at, position), &mut read);
                self.order_members(expr, &group);
            }
        }
        // What arguments read stands where the function does.
        for window in &windows {
            for (made, call) in &window.calls {
                let reads = |expr: &Expr| expr.reads_any(&[*made]);
                let is_item = |column: &OutputColumn| {
                    column.id == *made || items.iter().any(|(id, item)| *id == column.id && reads(item))
                };
                let place = match output.iter().position(is_item) {
                    Some(position) => Place::Select(position),
                    None => Place::Order(sort.iter().position(|key| reads(&key.expr)).unwrap_or(0)),
                };
                call.exprs().for_each(|expr| note_read(expr, place, &mut read));
            }
        }
        if !windows.is_empty() {
            read.sort_by_key(|read| read.place);
        }
        self.block().windows = windows;

        let mut determined = None;
        let mut extra: Vec<(ColumnId, AggregateCall)> = Vec::new();
        let mut unchecked: Vec<ColumnId> = Vec::new();
        for Read { id, place, is_in_any_value } in read {
            let is_known = known.contains(&id);
            let is_free = is_in_any_value && free.contains(&id);
            if is_known && (is_free || !unchecked.contains(&id)) {
                continue;
            }
            if is_free {
                unchecked.push(id);
            } else if self.session.only_full_group_by()
                && (self.columns[id.0 as usize].origin.is_some() || self.derived_name(id).is_some())
            {
                let determined = determined.get_or_insert_with(|| self.determined(&tree, &group));
                if !determined.contains(&id) {
                    return Err(self.not_grouped(id, place, group.grouped));
                }
                unchecked.retain(|other| *other != id);
            }
            if is_known {
                continue;
            }
            known.push(id);
            let mut call = any_value(self.column_expr(id));
            call.nullable |= !group.grouped;
            extra.push((id, call));
        }
        if group.rollup {
            // A super-aggregate row has NULL for the keys it sums over.
            for (id, _) in &group.keys {
                for column in output.iter_mut().filter(|column| column.id == *id) {
                    column.nullable = true;
                }
                self.columns[id.0 as usize].nullable = true;
            }
            for (id, item) in items.iter_mut() {
                self.columns[id.0 as usize].nullable |= note_null_keys(item, &group.keys);
            }
            for expr in having.iter_mut().chain(sort.iter_mut().map(|key| &mut key.expr)) {
                note_null_keys(expr, &group.keys);
            }
            for window in &mut self.block().windows {
                for (_, call) in &mut window.calls {
                    call.exprs_mut().for_each(|expr| {
                        note_null_keys(expr, &group.keys);
                    });
                }
                let own = window.partition.iter_mut().chain(window.order.iter_mut().map(|key| &mut key.expr));
                own.for_each(|expr| {
                    note_null_keys(expr, &group.keys);
                });
            }
        }
        let mut calls = std::mem::take(&mut self.block().aggregates);
        for (_, call) in calls.iter_mut().filter(|(_, call)| call.function == AggregateFunction::Grouping) {
            number_keys(call, &keys, &group)?;
        }
        calls.extend(extra);
        Ok(Logical::Aggregate { input: Box::new(tree), keys: group.keys, calls, rollup: group.rollup })
    }

    /// ORDER BY, of windows too, and PARTITION BY the numbers of ENUM and SET members that MIN and MAX give, and by the texts of keys that ROLLUP may make NULL.
    fn order_members(&self, key: &mut Expr, group: &Group<'_>) {
        let Some(id) = key.as_column() else { return };
        if let Some((_, of)) = group.keys.iter().find(|(other, _)| *other == id) {
            if group.rollup && of.data_type.members.is_some() {
                let text = DataType::char(of.data_type.length, of.data_type.collation);
                *key = function::cast(std::mem::replace(key, Expr::null()), text);
            }
            return;
        }
        let aggregates = self.blocks.last().map_or(&[][..], |block| &block.aggregates);
        let Some((_, call)) = aggregates.iter().find(|(other, _)| *other == id) else { return };
        if let (AggregateFunction::Min | AggregateFunction::Max, Some((FunctionId::Cast, [of]))) =
            (call.function, call.args.first().and_then(Expr::as_call))
            && of.data_type.members.is_some()
        {
            *key = function::cast(std::mem::replace(key, Expr::null()), of.data_type.clone());
        }
    }

    fn not_grouped(&self, id: ColumnId, place: Place, grouped: bool) -> Box<PlanError> {
        let name = self.derived_name(id).unwrap_or_else(|| self.full_name(id));
        let (position, list) = match place {
            Place::Select(position) => (position + 1, "SELECT list".to_owned()),
            Place::Having => (1, "HAVING clause".to_owned()),
            Place::Order(position) => (position + 1, "ORDER BY clause".to_owned()),
            Place::Window(at, position) => {
                let windows = self.blocks.last().map_or(&[][..], |block| &block.windows);
                let name = windows.get(at).map_or("", |window| window.shown_name());
                (position + 1, format!("PARTITION BY or ORDER BY clause of window '{name}'"))
            }
        };
        if grouped {
            PlanError::new(
                1055,
                format!(
                    "Expression #{position} of {list} is not in GROUP BY clause and contains nonaggregated column \
                     '{name}' which is not functionally dependent on columns in GROUP BY clause; this is incompatible \
                     with sql_mode=only_full_group_by"
                ),
            )
        } else {
            PlanError::new(
                1140,
                format!(
                    "In aggregated query without GROUP BY, expression #{position} of {list} contains nonaggregated \
                     column '{name}'; this is incompatible with sql_mode=only_full_group_by"
                ),
            )
        }
    }

    /// `table.column` of a column of a derived table in FROM, with the schema of a view.
    pub(super) fn derived_name(&self, id: ColumnId) -> Option<String> {
        self.blocks.last()?.tables.iter().find_map(|table| match &table.columns {
            ScopeColumns::Derived { columns, view, .. } => {
                let (name, _) = columns.iter().find(|(_, other)| *other == id)?;
                let shown = format!("{}.{name}", table.alias);
                Some(match view {
                    Some(view) => format!("{}.{shown}", self.tables[view.0 as usize].entry.definition.schema),
                    None => shown,
                })
            }
            ScopeColumns::Base { .. } => None,
        })
    }

    /// Columns that are the same in all rows of a group.
    fn determined(&self, tree: &Logical, group: &Group<'_>) -> Vec<ColumnId> {
        let mut determined: Vec<ColumnId> =
            group.keys.iter().filter_map(|(_, expr)| expr.as_column()).collect();
        let mut equalities = Vec::new();
        for condition in group.conditions {
            equality(condition, &mut equalities);
        }
        join_equalities(tree, &mut equalities);
        let mut computed = Vec::new();
        computed_columns(tree, &self.tables, group.grouped, &mut computed);
        loop {
            let before = determined.len();
            for (column, other) in &equalities {
                let fixed = other.is_none_or(|other| determined.contains(&other));
                if fixed && !determined.contains(column) {
                    determined.push(*column);
                }
            }
            for (from, column) in &computed {
                if !determined.contains(column) && from.iter().all(|id| determined.contains(id)) {
                    determined.push(*column);
                }
            }
            for table in &self.tables {
                let definition = &table.entry.definition;
                let unique = definition.indexes.iter().any(|index| {
                    index.is_unique()
                        && index.parts.iter().all(|part| {
                            part.prefix_length.is_none()
                                && !definition.columns[part.column].nullable
                                && determined.contains(&table.column(part.column))
                        })
                });
                if unique {
                    for ordinal in 0..definition.columns.len() {
                        let id = table.column(ordinal);
                        if !determined.contains(&id) {
                            determined.push(id);
                        }
                    }
                }
            }
            if determined.len() == before {
                return determined;
            }
        }
    }
}

/// Puts the numbers of the keys in place of the arguments of GROUPING.
///
/// # Errors
/// 1111 without GROUP BY; 1210 for a constant and 3602 for another expression that is no key.
fn number_keys(call: &mut AggregateCall, keys: &[&(ColumnId, Expr)], group: &Group<'_>) -> PlanResult<()> {
    if !group.grouped {
        return Err(PlanError::new(1111, "Invalid use of group function"));
    }
    for (number, arg) in call.args.iter_mut().enumerate() {
        replace_keys(arg, keys);
        let id = arg.as_column();
        let Some(key) = group.keys.iter().position(|(key, _)| Some(*key) == id) else {
            return Err(if arg.as_literal().is_some() {
                PlanError::new(1210, "Incorrect arguments to GROUPING function")
            } else {
                PlanError::new(
                    3602,
                    format!("Argument #{} of GROUPING function is not in GROUP BY", number + 1),
                )
            });
        };
        *arg = Expr::int(i64::try_from(key).unwrap_or(i64::MAX));
    }
    Ok(())
}

/// The value of one of a group's rows.
pub(crate) fn any_value(arg: Expr) -> AggregateCall {
    AggregateCall {
        function: AggregateFunction::AnyValue,
        distinct: false,
        data_type: arg.data_type.clone(),
        nullable: arg.nullable,
        args: vec![arg],
        order_by: Vec::new(),
        separator: (*b"").into(),
    }
}

/// `a = constant` as (a, None), `a = b` as (a, Some(b)) and (b, Some(a)).
fn equality(condition: &Expr, out: &mut Vec<(ColumnId, Option<ColumnId>)>) {
    let Some((FunctionId::Eq, [left, right])) = condition.as_call() else { return };
    let plain = |expr: &Expr| match &expr.kind {
        ExprKind::Call { function: FunctionId::Cast | FunctionId::ConvertUsing, .. } => None,
        _ => expr.as_column(),
    };
    match (plain(left), plain(right)) {
        (Some(a), Some(b)) => {
            out.push((a, Some(b)));
            out.push((b, Some(a)));
        }
        (Some(a), None) if right.is_constant() => out.push((a, None)),
        (None, Some(b)) if left.is_constant() => out.push((b, None)),
        _ => {}
    }
}

fn join_equalities(tree: &Logical, out: &mut Vec<(ColumnId, Option<ColumnId>)>) {
    match tree {
        Logical::Join { kind, left, right, conditions } => {
            if *kind != JoinKind::Left {
                conditions.iter().for_each(|condition| equality(condition, out));
            }
            join_equalities(left, out);
            join_equalities(right, out);
        }
        Logical::Filter { input, conditions } => {
            conditions.iter().for_each(|condition| equality(condition, out));
            join_equalities(input, out);
        }
        Logical::Project { input, .. } | Logical::Sort { input, .. } | Logical::Limit { input, .. } => {
            join_equalities(input, out);
        }
        _ => {}
    }
}

/// What derived tables and outer joins compute: columns with those that determine them.
fn computed_columns(
    tree: &Logical,
    tables: &[BoundTable],
    grouped: bool,
    out: &mut Vec<(Vec<ColumnId>, ColumnId)>,
) {
    match tree {
        Logical::Project { items, .. } => {
            for (id, expr) in items.iter().filter(|(_, expr)| is_repeatable(expr)) {
                let mut from = Vec::new();
                expr.each_column(&mut |id| from.push(id));
                out.push((from, *id));
            }
        }
        // Rows of ROLLUP have NULL for other reasons than their keys. Without GROUP BY above it MySQL does not take one group
        // for all as one row.
        Logical::Aggregate { keys, calls, rollup: false, .. } if grouped || !keys.is_empty() => {
            let keys: Vec<ColumnId> = keys.iter().map(|(id, _)| *id).collect();
            out.extend(calls.iter().map(|(id, _)| (keys.clone(), *id)));
        }
        // Whether a left row has partners depends on all columns of its side that the conditions read.
        Logical::Join { kind: JoinKind::Left, right, conditions, .. } => {
            let right_columns = right.output(tables);
            let (mut equalities, mut from) = (Vec::new(), Vec::new());
            for condition in conditions {
                equality(condition, &mut equalities);
                condition.each_column(&mut |id| {
                    if !right_columns.contains(&id) {
                        from.push(id);
                    }
                });
            }
            for (column, other) in equalities {
                if right_columns.contains(&column) && other.is_none_or(|other| from.contains(&other)) {
                    out.push((from.clone(), column));
                }
            }
        }
        Logical::SetOp { .. } | Logical::Recursive { .. } => return,
        _ => {}
    }
    tree.each_input(&mut |input| computed_columns(input, tables, grouped, out));
}

/// Notes in an expression above the groups of ROLLUP that keys may be NULL, and with them what is computed from them.
fn note_null_keys(expr: &mut Expr, keys: &[(ColumnId, Expr)]) -> bool {
    let is_key = |id: ColumnId| keys.iter().any(|(key, _)| *key == id);
    let mut reads_key = match &expr.kind {
        ExprKind::Column(id) => is_key(*id),
        ExprKind::Subquery(subquery) => subquery.outer.iter().any(|id| is_key(*id)),
        _ => false,
    };
    expr.each_child_mut(&mut |child| reads_key |= note_null_keys(child, keys));
    expr.nullable |= reads_key;
    reads_key
}

/// Puts the key's column in place of every expression that equals a key.
fn replace_keys(expr: &mut Expr, keys: &[&(ColumnId, Expr)]) {
    if expr.as_column().is_none() {
        for (id, key) in keys {
            if key.as_column() != Some(*id) && key == expr {
                expr.kind = ExprKind::Column(*id);
                return;
            }
        }
    }
    expr.each_child_mut(&mut |child| replace_keys(child, keys));
}
