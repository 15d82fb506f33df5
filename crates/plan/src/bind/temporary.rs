//! Results that MySQL describes as columns of a temporary table.
//!
//! Where it collects the rows of a query block in a temporary table (GROUP BY, DISTINCT and ORDER BY that no index and
//! no sort of one table can give; derived tables that are not merged), a column of the result is one of that table:
//! without the keys of its base table, an expression without the flags of one. Whether it needs the table
//! follows from the statement as long as the joined tables are read in the order of FROM; of other join orders the
//! description may differ.

use types::data_type::column_flag as flag;
use types::{DataType, TypeKind};

use super::Binder;
use crate::expr::{ColumnId, Expr, ExprKind, SubqueryKind};
use crate::function::FunctionId;
use crate::logical::{
    AggregateCall, AggregateFunction, BoundTable, Logical, OutputColumn, OutputSource, SortKey,
};
use crate::rewrite::is_repeatable;

/// Integers with fewer digits and sign are INT in a temporary table, others BIGINT.
const INT_DIGITS: u32 = 10;

/// What a query block does with the rows of its FROM.
pub(super) struct Steps<'s> {
    /// FROM and WHERE.
    pub(super) rows: &'s Logical,
    /// WHERE.
    pub(super) conditions: &'s [Expr],
    pub(super) keys: &'s [(ColumnId, Expr)],
    pub(super) rollup: bool,
    pub(super) distinct: bool,
    /// SQL_BUFFER_RESULT.
    pub(super) is_buffered: bool,
    pub(super) sort: &'s [SortKey],
    /// Items that are no plain columns.
    pub(super) items: &'s [(ColumnId, Expr)],
}

/// Turns a column of a result into one of a temporary table. `computed`: no column, nor what MIN and its like pass on.
pub(super) fn keep(column: &mut OutputColumn, computed: bool) {
    const KEYS: u16 =
        flag::PRIMARY_KEY | flag::UNIQUE_KEY | flag::MULTIPLE_KEY | flag::PART_KEY | flag::AUTO_INCREMENT;
    column.flags &= !KEYS;
    if std::mem::replace(&mut column.source, OutputSource::Column) != OutputSource::Expression {
        return;
    }
    let data_type = &mut column.data_type;
    if !computed {
        if data_type.kind == TypeKind::Year {
            *data_type = DataType::YEAR;
        }
    } else if data_type.integer_bytes().is_some() || data_type.kind == TypeKind::Year {
        column.created_type.get_or_insert_with(|| data_type.clone());
        data_type.kind = if data_type.length < INT_DIGITS { TypeKind::Int } else { TypeKind::BigInt };
    }
}

/// Where MySQL gives the rows of a query block from.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Kept {
    /// From where they are computed; the keys of ROLLUP are values that are NULL in the rows above the groups.
    RolledUp,
    /// From a temporary table of groups: what is computed from finished groups is computed behind it.
    Groups,
    /// From a temporary table.
    Table,
}

impl Binder<'_> {
    /// How MySQL gives each of the block's output columns to the client.
    pub(super) fn describe(&self, steps: &Steps<'_>, output: &mut [OutputColumn]) {
        let kept = match self.table_of(steps, output) {
            None if steps.rollup => Kept::RolledUp,
            None => return,
            Some(kept) => kept,
        };
        for column in output {
            let item = steps.item(column.id).filter(|_| !self.kept_columns.contains(&column.id));
            let is_kept = match kept {
                Kept::RolledUp => {
                    if steps.keys.iter().any(|(id, _)| *id == column.id) {
                        column.source = OutputSource::Expression;
                        column.flags = 0;
                    }
                    false
                }
                Kept::Groups => !self.is_finished_behind(column.id, item),
                Kept::Table => true,
            };
            // Constants are not kept.
            if is_kept && !item.is_some_and(Expr::is_constant) {
                keep(column, item.is_some());
            }
        }
    }

    /// Computed from a group when all its rows are there: an expression over aggregates, an average.
    fn is_finished_behind(&self, id: ColumnId, item: Option<&Expr>) -> bool {
        use AggregateFunction as F;
        let aggregates = self.blocks.last().map_or(&[][..], |block| &block.aggregates);
        let aggregate =
            |id: ColumnId| aggregates.iter().find(|(other, _)| *other == id).map(|(_, call)| call);
        match item {
            Some(item) => item.any(&mut |node| node.as_column().is_some_and(|id| aggregate(id).is_some())),
            None => aggregate(id).is_some_and(|call| {
                matches!(
                    call.function,
                    F::Avg
                        | F::BitAnd
                        | F::BitOr
                        | F::BitXor
                        | F::StdPop
                        | F::StdSamp
                        | F::VarPop
                        | F::VarSamp
                )
            }),
        }
    }

    /// The columns of a derived table that MySQL keeps in a temporary table.
    pub(super) fn keep_derived(&mut self, output: &mut [OutputColumn]) {
        for column in output {
            let computed = matches!(column.data_type.kind, TypeKind::BigInt);
            keep(column, computed);
            // A YEAR that is computed compares as a number, whatever the description says.
            if column.data_type.kind != TypeKind::Year {
                self.columns[column.id.0 as usize].data_type = column.data_type.clone();
            }
            self.kept_columns.insert(column.id);
        }
    }

    /// The temporary table that the block needs, if it needs one.
    fn table_of(&self, steps: &Steps<'_>, output: &[OutputColumn]) -> Option<Kept> {
        let leaves = Leaves::of(steps.rows, steps.conditions, &self.tables);
        let first = leaves.nodes.first()?;
        if steps.is_buffered {
            return Some(Kept::Table);
        }
        let fixed = fixed_columns(steps.conditions);
        let is_fixed =
            |expr: &Expr| expr.is_constant() || expr.as_column().is_some_and(|id| fixed.contains(&id));
        let aggregates = self.blocks.last().map_or(&[][..], |block| &block.aggregates);
        let mut groups: Vec<Expr> = Vec::new();
        for (_, key) in steps.keys {
            let key = key.as_column().map_or_else(|| key.clone(), |id| self.output_expr(steps, id));
            if !is_fixed(&key) {
                groups.push(key);
            }
        }
        let is_grouped = !steps.keys.is_empty();
        let is_sorted = steps.rollup || aggregates.iter().any(|(_, call)| needs_sorted_rows(call));
        let mut is_distinct = false;
        if steps.distinct && (is_grouped || aggregates.is_empty()) {
            let items: Vec<Expr> = output.iter().map(|column| self.output_expr(steps, column.id)).collect();
            let items: Vec<Expr> = items.into_iter().filter(|item| !is_fixed(item)).collect();
            if !items.is_empty() && (is_grouped || leaves.nodes.len() > 1) {
                return Some(if is_grouped && !is_sorted { Kept::Groups } else { Kept::Table });
            }
            // Of one table it is a GROUP BY of all items, and nothing if they hold a unique key.
            is_distinct = !items.is_empty() && !self.holds_unique_key(first, &items);
            if is_distinct {
                groups = items;
            }
        }
        let sort: Vec<Expr> = steps
            .sort
            .iter()
            .map(|key| {
                key.expr.as_column().map_or_else(|| key.expr.clone(), |id| self.output_expr(steps, id))
            })
            .filter(|key| !is_fixed(key))
            .collect();
        let sort_is_free = match groups.is_empty() {
            true => sort.is_empty(),
            false if is_distinct => sort.iter().all(|key| groups.contains(key)),
            false if steps.rollup => sort.is_empty(),
            false => groups.starts_with(&sort),
        };
        if groups.is_empty() {
            let needed = !sort_is_free && !self.sorts_first(&leaves, first, &sort);
            return needed.then_some(Kept::Table);
        }
        let by_index = !leaves.is_buffered && self.is_index_order(first, &groups);
        let is_simple = by_index || is_sorted && self.sorts_first(&leaves, first, &groups);
        match (is_simple, sort_is_free) {
            (true, true) => None,
            (false, _) if !is_distinct && !is_sorted => Some(Kept::Groups),
            _ => Some(Kept::Table),
        }
    }

    /// What an output column or key stands for below the projection.
    fn output_expr(&self, steps: &Steps<'_>, id: ColumnId) -> Expr {
        let item = if self.kept_columns.contains(&id) { None } else { steps.item(id) };
        item.cloned().unwrap_or_else(|| self.column_expr(id))
    }

    /// A sort of the first table's rows gives this order.
    fn sorts_first(&self, leaves: &Leaves<'_>, first: &Logical, keys: &[Expr]) -> bool {
        let columns = first.output(&self.tables);
        !leaves.is_buffered
            && keys.iter().all(|key| {
                let mut is_own = true;
                key.each_column(&mut |id| is_own &= columns.contains(&id));
                is_own && is_repeatable(key)
            })
    }

    fn scanned(&self, leaf: &Logical) -> Option<&BoundTable> {
        match leaf {
            Logical::Scan { table } => self.tables.get(table.0 as usize),
            _ => None,
        }
    }

    fn is_index_order(&self, leaf: &Logical, keys: &[Expr]) -> bool {
        let Some(table) = self.scanned(leaf) else { return false };
        table.entry.definition.indexes.iter().filter(|index| index.visible).any(|index| {
            keys.len() <= index.parts.len()
                && keys.iter().zip(&index.parts).all(|(key, part)| {
                    part.prefix_length.is_none() && key.as_column() == Some(table.column(part.column))
                })
        })
    }

    fn holds_unique_key(&self, leaf: &Logical, items: &[Expr]) -> bool {
        let Some(table) = self.scanned(leaf) else { return false };
        let definition = &table.entry.definition;
        definition.indexes.iter().filter(|index| index.is_unique()).any(|index| {
            index.parts.iter().all(|part| {
                part.prefix_length.is_none()
                    && !definition.columns[part.column].nullable
                    && items.iter().any(|item| item.as_column() == Some(table.column(part.column)))
            })
        })
    }
}

impl Steps<'_> {
    /// What a column computes: an item of the block or of a derived table that is merged into it.
    fn item(&self, id: ColumnId) -> Option<&Expr> {
        find(self.items, id).or_else(|| merged_item(self.rows, id))
    }
}

fn find(items: &[(ColumnId, Expr)], id: ColumnId) -> Option<&Expr> {
    items.iter().find(|(item, _)| *item == id).map(|(_, expr)| expr)
}

/// What a column computes inside of FROM.
fn merged_item(rows: &Logical, id: ColumnId) -> Option<&Expr> {
    match rows {
        Logical::Join { left, right, .. } => merged_item(left, id).or_else(|| merged_item(right, id)),
        Logical::Filter { input, .. } | Logical::Sort { input, .. } => merged_item(input, id),
        Logical::Project { input, items } => find(items, id).or_else(|| merged_item(input, id)),
        _ => None,
    }
}

/// The tables of a FROM, in the order of their reading.
struct Leaves<'t> {
    nodes: Vec<&'t Logical>,
    /// Some table after the first has no index for its rows to be found by: all rows are joined at once, in no order.
    is_buffered: bool,
}

impl<'t> Leaves<'t> {
    fn of(rows: &'t Logical, conditions: &[Expr], tables: &[BoundTable]) -> Leaves<'t> {
        let mut leaves = Leaves {
            nodes: Vec::new(),
            is_buffered: conditions.iter().any(|condition| is_semijoin(condition, tables)),
        };
        let mut equalities = Vec::new();
        conditions.iter().for_each(|condition| equal_columns(condition, &mut equalities));
        leaves.collect(rows, &mut equalities);
        for leaf in leaves.nodes.iter().skip(1) {
            let is_key = |id: ColumnId| match leaf {
                Logical::Scan { table } => starts_index(&tables[table.0 as usize], id),
                // MySQL makes an index of it.
                other => other.output(tables).contains(&id),
            };
            leaves.is_buffered |= !equalities.iter().any(|id| is_key(*id));
        }
        leaves
    }

    fn collect(&mut self, rows: &'t Logical, equalities: &mut Vec<ColumnId>) {
        match rows {
            Logical::OneRow => {}
            Logical::Join { left, right, conditions, .. } => {
                conditions.iter().for_each(|condition| equal_columns(condition, equalities));
                self.collect(left, equalities);
                self.collect(right, equalities);
            }
            Logical::Filter { input, .. } | Logical::Project { input, .. } | Logical::Sort { input, .. }
                if !matches!(**input, Logical::OneRow) =>
            {
                self.collect(input, equalities);
            }
            leaf => self.nodes.push(leaf),
        }
    }
}

/// A subquery that MySQL joins, without an index for its rows to be found by.
fn is_semijoin(condition: &Expr, tables: &[BoundTable]) -> bool {
    let ExprKind::Subquery(subquery) = &condition.kind else { return false };
    match (&subquery.kind, &subquery.plan) {
        (SubqueryKind::Exists, _) => true,
        (SubqueryKind::Quantified { all: false, single: false, .. }, Logical::Scan { table }) => {
            !subquery.columns.iter().any(|id| starts_index(&tables[table.0 as usize], *id))
        }
        (SubqueryKind::Quantified { all, single, .. }, _) => !all && !single,
        _ => false,
    }
}

fn starts_index(table: &BoundTable, id: ColumnId) -> bool {
    let is_first = |index: &catalog::IndexDefinition| {
        index.parts.first().is_some_and(|part| table.column(part.column) == id)
    };
    table.entry.definition.indexes.iter().any(is_first)
}

/// Columns of `a = b`.
fn equal_columns(condition: &Expr, out: &mut Vec<ColumnId>) {
    if let Some((FunctionId::Eq | FunctionId::NullSafeEq, sides)) = condition.as_call() {
        out.extend(sides.iter().filter_map(Expr::as_column));
    }
}

/// Columns that WHERE makes equal to constants.
fn fixed_columns(conditions: &[Expr]) -> Vec<ColumnId> {
    let fixed = |condition: &Expr| match condition.as_call() {
        Some((FunctionId::Eq, [left, right])) if right.is_constant() => left.as_column(),
        Some((FunctionId::Eq, [left, right])) if left.is_constant() => right.as_column(),
        _ => None,
    };
    conditions.iter().filter_map(fixed).collect()
}

/// Aggregates that MySQL does not compute row by row in a temporary table.
fn needs_sorted_rows(call: &AggregateCall) -> bool {
    use AggregateFunction as F;
    call.distinct || matches!(call.function, F::GroupConcat | F::JsonArrayAgg | F::JsonObjectAgg)
}
