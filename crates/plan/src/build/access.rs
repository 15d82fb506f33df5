//! How a table is read: which index, which ranges of it, in which order.
//!
//! A condition that compares a column with something known before the row is read can narrow an index ("sargable"):
//! constants, parameters, outer values, and in a lookup join the columns of the left side. The ends stay expressions;
//! the executor converts their values to the column's type and knows when a value lies between two keys. A condition is
//! dropped from the filter only where the range says exactly the same.

use types::{DataType, TypeKind, Value};

use crate::cost;
use crate::expr::{ColumnId, Expr, ExprKind};
use crate::feedback::TableSet;
use crate::function::FunctionId;
use crate::logical::{BoundTable, SortKey, TableIndex};
use crate::physical::{Access, Asked, EarlyRanges, KeyValue, Node, Op, RangeEnd, RangePlan, Scan};
use crate::trace;

use super::estimate::{BETWEEN_SHARE, RANGE_SHARE};
use super::{Builder, Needed};

/// Most ranges that IN lists and OR may make of one index.
const RANGES_MAX: usize = 10_000;

/// Rows from which on it is worth it to ask for a filter's ranges before columns are read, and most ranges of a column.
const EARLY_ROWS_MIN: f64 = 16.0;
const EARLY_RANGES_MAX: usize = 16;

/// What a condition says about one column.
#[derive(Clone, Debug)]
pub(super) enum Limit {
    Equal { expr: Expr, null_safe: bool },
    In(Vec<Expr>),
    Ranges(Vec<(Option<RangeEnd>, Option<RangeEnd>)>),
}

#[derive(Clone, Debug)]
pub(super) struct Sarg {
    pub(super) column: usize,
    pub(super) limit: Limit,
    /// Position of the condition it comes from.
    pub(super) condition: usize,
    /// The range says all that the condition says.
    exact: bool,
    /// The column is generated, and stands for the expression that the condition is about.
    is_expression: bool,
}

/// An order in which the rows of a table are wanted.
#[derive(Clone, Copy)]
pub(crate) struct RowOrder<'k> {
    /// They are ordered by these.
    pub(crate) keys: &'k [SortKey],
    /// Of those that agree in `keys`, those that agree in these columns, too, stand side by side.
    pub(crate) grouped: &'k [Expr],
    /// Rows that are wanted; none: all.
    pub(crate) limit: Option<f64>,
    /// What has to be done where they come in another order.
    pub(crate) otherwise: Otherwise,
}

/// What makes up for rows that come in another order than the required one.
#[derive(Clone, Copy)]
pub(crate) enum Otherwise {
    /// They are sorted.
    Sort,
    /// Groups are found in a hash table: what that costs more for each row, and for all together.
    Hash(f64, f64),
}

impl<'k> RowOrder<'k> {
    /// ORDER BY, and how many rows of it.
    pub(crate) fn sorted(keys: &'k [SortKey], limit: Option<f64>) -> RowOrder<'k> {
        RowOrder { keys, grouped: &[], limit, otherwise: Otherwise::Sort }
    }

    fn cost_otherwise(&self, rows: f64) -> f64 {
        match self.otherwise {
            Otherwise::Sort => cost::sort(rows),
            Otherwise::Hash(per_row, all) => rows * per_row + all,
        }
    }
}

/// A way to read a table.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) access: Access,
    /// Rows read.
    pub(crate) rows: f64,
    pub(crate) cost: f64,
    /// Conditions the ranges make needless.
    pub(crate) consumed: Vec<usize>,
    /// Its rows come in the required order.
    pub(crate) ordered: bool,
    /// Equality on something of the other side of a join is used.
    pub(crate) uses_left: bool,
    /// Its index was asked how many rows the ranges hold.
    pub(crate) dived: bool,
    /// What each row adds to the cost.
    pub(crate) per_row: f64,
}

/// Whether hints let the rows come in the order of this index where they are to be sorted.
fn gives_order(bound: &BoundTable, index: usize, order: &RowOrder<'_>) -> bool {
    let allowed = bound.hints.as_ref().and_then(|hints| hints.order_indexes.as_ref());
    !matches!(order.otherwise, Otherwise::Sort) || allowed.is_none_or(|allowed| allowed.contains(&index))
}

impl Builder<'_> {
    /// Reads a table under conditions over its columns. `order`: the required order; the answer tells whether the rows come so.
    pub(crate) fn scan(
        &mut self,
        table: TableIndex,
        conditions: &[Expr],
        needed: &Needed,
        order: Option<&RowOrder<'_>>,
    ) -> (Node, bool) {
        let bound = &self.bound.tables[table.0 as usize];
        let mut read = needed.clone();
        conditions.iter().for_each(|condition| read.add_expr(condition));
        let columns: Vec<usize> = (0..bound.width()).filter(|&at| read.has(bound.column(at))).collect();
        let mut known = vec![(table, self.sargs(bound, conditions))];
        let candidates = self.candidates_by(table, &known[0].1, &columns, order);
        let keyed = candidates.iter().any(|candidate| candidate.access.ranges.is_some());
        let mut rows_of_all =
            || (self.table_rows(table) * self.selectivity_by(conditions, &mut known)).max(0.0);
        // Without an order to choose for, only a filter that keeps all conditions asks for it.
        let rows = order.map(|_| rows_of_all());
        let best = self.choose(table, candidates, rows.unwrap_or(0.0), order);
        let rows = rows.or_else(|| best.consumed.is_empty().then(rows_of_all));
        let locator = needed.has(self.locator(table));
        let Candidate { access, rows: read_rows, cost, consumed, ordered, .. } = best;
        let mut output: Vec<ColumnId> = columns.iter().map(|&ordinal| bound.column(ordinal)).collect();
        if locator {
            output.push(self.locator(table));
        }
        let filter: Vec<Expr> = conditions
            .iter()
            .enumerate()
            .filter(|(position, _)| !consumed.contains(position))
            .map(|(_, condition)| condition.clone())
            .collect();
        let rows = match rows {
            Some(rows) if consumed.is_empty() => rows,
            _ => read_rows * self.conditions_selectivity(&filter),
        };
        let counted = self.feedback.and_then(|feedback| feedback.rows_of(TableSet::of(table)));
        let rows = counted.unwrap_or(rows);
        let reads_first = bound.hints.as_ref().is_some_and(|hints| hints.reads_first);
        let early = match read_rows >= EARLY_ROWS_MIN && !(reads_first && access.index.is_some()) {
            true => {
                let sargs = known.swap_remove(0).1.into_iter();
                self.early_ranges(table, sargs.filter(|sarg| !consumed.contains(&sarg.condition)))
            }
            false => Vec::new(),
        };
        let filter = self.translate(&filter, &output);
        let access = self.translate_access(access, &[]);
        let scan = Scan {
            table,
            access,
            columns,
            locator,
            filter,
            early,
            first_of: 0,
            limit: None,
            keyed,
            rows_read: read_rows,
        };
        (self.node(Op::Scan(scan), output, rows, cost), ordered)
    }

    /// What conditions say of single columns against constants, column by column.
    fn early_ranges(&mut self, table: TableIndex, sargs: impl Iterator<Item = Sarg>) -> Vec<EarlyRanges> {
        let bound = &self.bound.tables[table.0 as usize];
        if !self.switches.early_conditions
            || bound.lock.is_some()
            || bound.entry.source.as_virtual().is_some()
        {
            return Vec::new();
        }
        let mut early = Vec::new();
        for Sarg { column, limit, is_expression, .. } in sargs {
            if is_expression {
                continue;
            }
            let data_type = &bound.entry.definition.columns[column].data_type;
            let is_number =
                data_type.is_integer() || data_type.kind == TypeKind::Decimal || data_type.has_date();
            if !is_number || data_type.kind == TypeKind::Timestamp {
                continue;
            }
            let equal = |expr: Expr| RangePlan {
                equal: vec![KeyValue { expr, null_safe: false }],
                ..RangePlan::default()
            };
            let ranges: Vec<RangePlan> = match limit {
                Limit::Equal { expr, null_safe: false } => vec![equal(expr)],
                Limit::In(list) if list.len() <= EARLY_RANGES_MAX => list.into_iter().map(equal).collect(),
                Limit::Ranges(parts) if parts.len() <= EARLY_RANGES_MAX => {
                    let range = |(lower, upper)| RangePlan { equal: Vec::new(), lower, upper };
                    parts.into_iter().map(range).collect()
                }
                _ => continue,
            };
            let is_constant = |range: &RangePlan| {
                let ends = range.lower.iter().chain(&range.upper).map(|end| &end.expr);
                range.equal.iter().map(|value| &value.expr).chain(ends).all(Expr::is_constant)
            };
            if ranges.iter().all(is_constant) {
                early.push(EarlyRanges { column, ranges });
            }
        }
        for of in &mut early {
            self.translate_ranges(&mut of.ranges, &[]);
        }
        early
    }

    fn choose(
        &self,
        table: TableIndex,
        candidates: Vec<Candidate>,
        rows: f64,
        order: Option<&RowOrder<'_>>,
    ) -> Candidate {
        let cost_of = |candidate: &Candidate| match order {
            None => candidate.cost,
            Some(order) if candidate.ordered => {
                // Reading stops at the limit.
                let share = order.limit.map_or(1.0, |limit| (limit / rows.max(1.0)).min(1.0));
                candidate.cost * share
            }
            Some(order) => candidate.cost + order.cost_otherwise(rows),
        };
        let costs: Vec<f64> = candidates.iter().map(cost_of).collect();
        let by_cost = |one: &usize, other: &usize| costs[*one].total_cmp(&costs[*other]);
        let best = (0..candidates.len()).min_by(by_cost).expect("the table scan is always a candidate");
        if self.bound.tables.len() == 1 {
            self.note_choice(table, &candidates, &costs, best);
        }
        if trace::features().is_some_and(|features| features.range_optimizer) {
            self.trace_access(table, &candidates, &costs, best);
        }
        candidates.into_iter().nth(best).expect("it was found there")
    }

    /// Key expressions by position in the left side's batch (none for a plain scan).
    pub(crate) fn translate_access(&mut self, mut access: Access, left: &[ColumnId]) -> Access {
        if let Some(ranges) = &mut access.ranges {
            self.translate_ranges(ranges, left);
        }
        access
    }

    fn translate_ranges(&mut self, ranges: &mut [RangePlan], left: &[ColumnId]) {
        for range in ranges {
            for value in &mut range.equal {
                value.expr = self.translate_one(&value.expr, left);
            }
            for end in range.lower.iter_mut().chain(range.upper.iter_mut()) {
                end.expr = self.translate_one(&end.expr, left);
            }
        }
    }

    /// Every sensible way to read the table.
    pub(crate) fn candidates(
        &self,
        table: TableIndex,
        conditions: &[Expr],
        columns: &[usize],
        order: Option<&RowOrder<'_>>,
    ) -> Vec<Candidate> {
        let sargs = self.sargs(&self.bound.tables[table.0 as usize], conditions);
        self.candidates_by(table, &sargs, columns, order)
    }

    /// The same, where it is known what the conditions say of single columns.
    fn candidates_by(
        &self,
        table: TableIndex,
        sargs: &[Sarg],
        columns: &[usize],
        order: Option<&RowOrder<'_>>,
    ) -> Vec<Candidate> {
        let bound = &self.bound.tables[table.0 as usize];
        let definition = &bound.entry.definition;
        let rows = self.table_rows(table);
        let is_changed = self.changes_rows && bound.lock.is_some_and(|(is_exclusive, _)| is_exclusive);
        let mut candidates = Vec::new();
        for (position, index) in definition.indexes.iter().enumerate() {
            if !index.visible && !self.switches.invisible_indexes
                || bound.allowed_indexes.as_ref().is_some_and(|allowed| !allowed.contains(&position))
            {
                continue;
            }
            let equalities: Vec<Sarg>;
            let sargs = match &bound.hints {
                Some(hints) if hints.without_ranges.contains(&position) => {
                    let is_equality = |sarg: &&Sarg| matches!(sarg.limit, Limit::Equal { .. });
                    equalities = sargs.iter().filter(is_equality).cloned().collect();
                    &equalities
                }
                _ => sargs,
            };
            let Some(mut candidate) = self.index_candidate(table, position, sargs, columns, rows) else {
                continue;
            };
            if let Some(order) = order.filter(|order| gives_order(bound, position, order)) {
                match self.index_order(bound, position, sargs, order) {
                    Some(backward)
                        if candidate.access.ranges.as_ref().is_none_or(|ranges| ranges.len() <= 1) =>
                    {
                        candidate.ordered = true;
                        candidate.access.backward = backward;
                    }
                    _ => {}
                }
            }
            // Rows that are changed are read from the table in any case: in its order, as in MySQL.
            let is_whole = candidate.access.ranges.is_none() && !candidate.ordered;
            if is_whole && (!candidate.access.covering || is_changed) {
                continue;
            }
            candidates.push(candidate);
        }
        let forced =
            bound.force_index && candidates.iter().any(|candidate| candidate.access.ranges.is_some());
        if !forced {
            let access = Access { index: None, ranges: None, backward: false, covering: true, point: false };
            let mut whole = Candidate {
                access,
                rows,
                cost: (rows + 1.0) * cost::ROW,
                consumed: Vec::new(),
                ordered: false,
                uses_left: false,
                dived: false,
                per_row: cost::ROW,
            };
            if let (Some(order), Some(clustered)) = (order, definition.clustered)
                && gives_order(bound, clustered, order)
                && let Some(backward) = self.index_order(bound, clustered, sargs, order)
            {
                whole.ordered = true;
                whole.access.backward = backward;
            }
            candidates.push(whole);
        }
        if bound.lock.is_some() {
            // Every row read would be locked, and every gap: a range is better even where it saves few rows.
            let whole = candidates.iter_mut().filter(|candidate| candidate.access.ranges.is_none());
            whole.for_each(|candidate| candidate.cost *= cost::WHOLE_LOCKED_FACTOR);
        }
        candidates
    }

    fn index_candidate(
        &self,
        table: TableIndex,
        position: usize,
        sargs: &[Sarg],
        columns: &[usize],
        table_rows: f64,
    ) -> Option<Candidate> {
        let bound = &self.bound.tables[table.0 as usize];
        let definition = &bound.entry.definition;
        let index = &definition.indexes[position];
        let clustered = definition.clustered == Some(position);
        let covering = clustered || columns.iter().all(|&column| covers(bound, position, column));
        let mut ranges = vec![RangePlan::default()];
        let mut consumed = Vec::new();
        let mut equal_parts = 0;
        let mut ranged = None;
        let mut null_safe = false;
        for part in &index.parts {
            let whole = part.prefix_length.is_none();
            let of_column = || sargs.iter().filter(|sarg| sarg.column == part.column);
            let equal = of_column().find(|sarg| matches!(sarg.limit, Limit::Equal { .. }));
            if let Some(Sarg { limit: Limit::Equal { expr, null_safe: safe }, condition, exact, .. }) = equal
            {
                for range in &mut ranges {
                    range.equal.push(KeyValue { expr: expr.clone(), null_safe: *safe });
                }
                null_safe |= *safe;
                equal_parts += 1;
                if *exact && whole {
                    consumed.push(*condition);
                }
                if !whole {
                    break;
                }
                continue;
            }
            let list = of_column().find_map(|sarg| match &sarg.limit {
                Limit::In(list) if list.len() * ranges.len() <= RANGES_MAX => Some((list, sarg)),
                _ => None,
            });
            if let Some((list, sarg)) = list {
                let mut product = Vec::with_capacity(ranges.len() * list.len());
                for range in &ranges {
                    for expr in list {
                        let mut range = range.clone();
                        range.equal.push(KeyValue { expr: expr.clone(), null_safe: false });
                        product.push(range);
                    }
                }
                ranges = product;
                equal_parts += 1;
                if sarg.exact && whole {
                    consumed.push(sarg.condition);
                }
                if !whole {
                    break;
                }
                continue;
            }
            // The first part without equality may be a range; conditions on both ends are joined.
            let mut lower: Option<RangeEnd> = None;
            let mut upper: Option<RangeEnd> = None;
            let mut several: Option<&Sarg> = None;
            for sarg in of_column() {
                let Limit::Ranges(parts) = &sarg.limit else { continue };
                match &parts[..] {
                    [(from, to)] => {
                        let fits = from.as_ref().is_none_or(|_| lower.is_none())
                            && to.as_ref().is_none_or(|_| upper.is_none());
                        if !fits {
                            continue;
                        }
                        if let Some(from) = from {
                            lower = Some(from.clone());
                        }
                        if let Some(to) = to {
                            upper = Some(to.clone());
                        }
                        if sarg.exact && whole {
                            consumed.push(sarg.condition);
                        }
                    }
                    _ => several = several.or(Some(sarg)),
                }
            }
            if lower.is_some() || upper.is_some() {
                ranged = Some(match (&lower, &upper) {
                    (Some(_), Some(_)) => BETWEEN_SHARE,
                    _ => RANGE_SHARE,
                });
                for range in &mut ranges {
                    range.lower.clone_from(&lower);
                    range.upper.clone_from(&upper);
                }
            } else if let Some(sarg) = several
                && let Limit::Ranges(parts) = &sarg.limit
                && parts.len() * ranges.len() <= RANGES_MAX
            {
                ranged = Some(BETWEEN_SHARE);
                let mut product = Vec::with_capacity(parts.len() * ranges.len());
                for range in &ranges {
                    for (lower, upper) in parts {
                        product.push(RangePlan {
                            equal: range.equal.clone(),
                            lower: lower.clone(),
                            upper: upper.clone(),
                        });
                    }
                }
                ranges = product;
                if sarg.exact && whole {
                    consumed.push(sarg.condition);
                }
            }
            break;
        }
        let per_row = if clustered {
            cost::ROW
        } else if covering {
            cost::COVERED_ENTRY
        } else {
            cost::located_row(table_rows)
        };
        let descent = cost::descent(table_rows);
        let unbounded = equal_parts == 0 && ranged.is_none();
        if unbounded {
            let access =
                Access { index: Some(position), ranges: None, backward: false, covering, point: false };
            return Some(Candidate {
                access,
                rows: table_rows,
                cost: table_rows * per_row + descent,
                consumed: Vec::new(),
                ordered: false,
                uses_left: false,
                dived: false,
                per_row,
            });
        }
        let point = index.is_unique()
            && equal_parts == index.parts.len()
            && !null_safe
            && index.parts.iter().all(|part| part.prefix_length.is_none());
        let rows = if point {
            ranges.len() as f64
        } else {
            self.range_rows(table, position, &ranges, equal_parts, ranged, table_rows)
        };
        let rows = rows.min(table_rows);
        let uses_left = ranges
            .iter()
            .any(|range| range.equal.iter().map(|value| &value.expr).any(|expr| !expr.is_constant()));
        let cost = descent * ranges.len() as f64 + rows * per_row;
        let access = Access { index: Some(position), ranges: Some(ranges), backward: false, covering, point };
        let dived = !point && self.is_dived(table, position, access.ranges.as_deref().unwrap_or_default());
        Some(Candidate { access, rows, cost, consumed, ordered: false, uses_left, dived, per_row })
    }

    /// Rows of all ranges.
    fn range_rows(
        &self,
        table: TableIndex,
        position: usize,
        ranges: &[RangePlan],
        equal_parts: usize,
        ranged: Option<f64>,
        table_rows: f64,
    ) -> f64 {
        if let Some(rows) = self.dived_rows(table, position, ranges) {
            return rows;
        }
        let statistics = self.bound.tables[table.0 as usize].entry.source.statistics();
        let distinct = if equal_parts == 0 {
            1.0
        } else {
            (statistics.distinct_count(position, equal_parts) as f64).clamp(1.0, table_rows)
        };
        let found = ranged.and_then(|_| {
            let column = self.bound.tables[table.0 as usize].entry.definition.indexes[position].parts
                [equal_parts]
                .column;
            let RangePlan { lower, upper, .. } = ranges.first()?.clone();
            let range = RangePlan { equal: Vec::new(), lower, upper };
            Some(self.rows_asked(table, Asked::Column(column), &[range])? / table_rows)
        });
        // An unknown range of a big table is more often short than a fixed share of it.
        let guessed = || ranged.map_or(1.0, |share| if table_rows > 1000.0 { share * 0.1 } else { share });
        let share = found.unwrap_or_else(guessed);
        (table_rows / distinct * share).max(1.0) * ranges.len() as f64
    }

    /// Whether an index gives an order, and whether it must be read backward for it.
    fn index_order(
        &self,
        bound: &BoundTable,
        position: usize,
        sargs: &[Sarg],
        order: &RowOrder<'_>,
    ) -> Option<bool> {
        let definition = &bound.entry.definition;
        let index = &definition.indexes[position];
        let fixed = |column: usize| {
            sargs.iter().any(|sarg| {
                sarg.column == column
                    && matches!(&sarg.limit, Limit::Equal { expr, .. } if expr.is_constant())
            })
        };
        let mut parts: Vec<(usize, bool)> = Vec::new();
        let mut complete = true;
        for part in &index.parts {
            if part.prefix_length.is_some() {
                complete = false;
                break;
            }
            parts.push((part.column, part.descending));
        }
        // The rest of an entry is the key of the row.
        if complete
            && !index.is_unique()
            && let Some(clustered) = definition.clustered
        {
            parts.extend(
                definition.indexes[clustered].parts.iter().map(|part| (part.column, part.descending)),
            );
        }
        let unique_parts = if index.is_unique()
            && index.parts.iter().all(|part| !definition.columns[part.column].nullable)
        {
            index.parts.len()
        } else {
            usize::MAX
        };
        let mut backward = None;
        let mut next = 0;
        let ordinal_of = |expr: &Expr| {
            let ordinal = match expr.as_column() {
                Some(id) => bound.ordinal(id)?,
                None => self.generated_ordinal(bound, expr).filter(|(_, is_same)| *is_same)?.0,
            };
            let is_same = expr.data_type.collation == definition.columns[ordinal].data_type.collation;
            is_same.then_some(ordinal)
        };
        for key in order.keys {
            let ordinal = ordinal_of(&key.expr)?;
            if fixed(ordinal) {
                continue;
            }
            while next < parts.len() && parts[next].0 != ordinal && fixed(parts[next].0) {
                next += 1;
            }
            if next >= unique_parts {
                break;
            }
            let &(column, descending) = parts.get(next)?;
            if column != ordinal {
                return None;
            }
            let needs_backward = descending != key.descending;
            if backward.is_some_and(|backward| backward != needs_backward) {
                return None;
            }
            backward = Some(needs_backward);
            next += 1;
        }
        let grouped: Vec<usize> = order.grouped.iter().map(ordinal_of).collect::<Option<_>>()?;
        let passed = |parts: &[(usize, bool)], ordinal| parts.iter().any(|part| part.0 == ordinal);
        while next < unique_parts
            && grouped.iter().any(|&ordinal| !fixed(ordinal) && !passed(&parts[..next], ordinal))
        {
            let &(column, _) = parts.get(next)?;
            if !fixed(column) && !grouped.contains(&column) {
                return None;
            }
            next += 1;
        }
        Some(backward.unwrap_or(false))
    }

    /// What the conditions say about single columns of the table.
    pub(super) fn sargs(&self, bound: &BoundTable, conditions: &[Expr]) -> Vec<Sarg> {
        let mut sargs = Vec::new();
        for (position, condition) in conditions.iter().enumerate() {
            self.sarg(bound, condition, position, &mut sargs);
        }
        sargs
    }

    fn sarg(&self, bound: &BoundTable, condition: &Expr, position: usize, out: &mut Vec<Sarg>) {
        match &condition.kind {
            ExprKind::Call { function, args, .. } => match function {
                FunctionId::Eq
                | FunctionId::NullSafeEq
                | FunctionId::Lt
                | FunctionId::Le
                | FunctionId::Gt
                | FunctionId::Ge => {
                    for (column, value, turned) in [(&args[0], &args[1], false), (&args[1], &args[0], true)] {
                        let Some((ordinal, exact)) = self.comparable(bound, column, value, *function) else {
                            continue;
                        };
                        let end = |inclusive| RangeEnd { expr: value.clone(), inclusive, like_prefix: false };
                        let limit = match (function, turned) {
                            (FunctionId::Eq, _) => Limit::Equal { expr: value.clone(), null_safe: false },
                            (FunctionId::NullSafeEq, _) => {
                                Limit::Equal { expr: value.clone(), null_safe: true }
                            }
                            (FunctionId::Lt, false) | (FunctionId::Gt, true) => {
                                Limit::Ranges(vec![(None, Some(end(false)))])
                            }
                            (FunctionId::Le, false) | (FunctionId::Ge, true) => {
                                Limit::Ranges(vec![(None, Some(end(true)))])
                            }
                            (FunctionId::Gt, false) | (FunctionId::Lt, true) => {
                                Limit::Ranges(vec![(Some(end(false)), None)])
                            }
                            _ => Limit::Ranges(vec![(Some(end(true)), None)]),
                        };
                        let is_expression = column.as_column().is_none();
                        out.push(Sarg { column: ordinal, limit, condition: position, exact, is_expression });
                        return;
                    }
                }
                FunctionId::Between => {
                    let low = self.comparable(bound, &args[0], &args[1], FunctionId::Between);
                    let high = self.comparable(bound, &args[0], &args[2], FunctionId::Between);
                    if let (Some((column, low_exact)), Some((_, high_exact))) = (low, high) {
                        let end = |expr: &Expr| RangeEnd {
                            expr: expr.clone(),
                            inclusive: true,
                            like_prefix: false,
                        };
                        let limit = Limit::Ranges(vec![(Some(end(&args[1])), Some(end(&args[2])))]);
                        let exact = low_exact && high_exact;
                        let is_expression = args[0].as_column().is_none();
                        out.push(Sarg { column, limit, condition: position, exact, is_expression });
                    }
                }
                FunctionId::IsNull => {
                    if let Some(ordinal) = args[0].as_column().and_then(|id| bound.whole_ordinal(id)) {
                        let limit = Limit::Equal { expr: Expr::null(), null_safe: true };
                        out.push(Sarg {
                            column: ordinal,
                            limit,
                            condition: position,
                            exact: true,
                            is_expression: false,
                        });
                    }
                }
                FunctionId::Like if args.len() == 2 => {
                    if let Some((column, _)) = self.comparable(bound, &args[0], &args[1], FunctionId::Like)
                        && starts_literally(&args[1])
                    {
                        let end = RangeEnd { expr: args[1].clone(), inclusive: true, like_prefix: true };
                        let limit = Limit::Ranges(vec![(Some(end.clone()), Some(end))]);
                        let is_expression = args[0].as_column().is_none();
                        out.push(Sarg { column, limit, condition: position, exact: false, is_expression });
                    }
                }
                FunctionId::And => args.iter().for_each(|arg| {
                    let mut inner = Vec::new();
                    self.sarg(bound, arg, position, &mut inner);
                    out.extend(inner.into_iter().map(|sarg| Sarg { exact: false, ..sarg }));
                }),
                FunctionId::Or => self.or_sarg(bound, args, position, out),
                _ => {}
            },
            ExprKind::InList { expr, list } => {
                let mut all_exact = true;
                let mut column = None;
                for item in list {
                    match self.comparable(bound, expr, item, FunctionId::Eq) {
                        Some((ordinal, exact)) => {
                            column = Some(ordinal);
                            all_exact &= exact;
                        }
                        _ => return,
                    }
                }
                if let Some(column) = column {
                    let limit = Limit::In(list.clone());
                    let is_expression = expr.as_column().is_none();
                    out.push(Sarg { column, limit, condition: position, exact: all_exact, is_expression });
                }
            }
            _ => {}
        }
    }

    /// `c < 1 OR c BETWEEN 5 AND 6 OR c = 9`: ranges of one column.
    fn or_sarg(&self, bound: &BoundTable, args: &[Expr], position: usize, out: &mut Vec<Sarg>) {
        let mut column = None;
        let mut exact = true;
        let mut is_expression = false;
        let mut ranges = Vec::new();
        for arg in args {
            let mut inner = Vec::new();
            self.sarg(bound, arg, position, &mut inner);
            let [sarg] = &inner[..] else { return };
            if column.is_some_and(|column| column != sarg.column) {
                return;
            }
            column = Some(sarg.column);
            exact &= sarg.exact;
            is_expression |= sarg.is_expression;
            let point = |expr: &Expr| {
                let end = RangeEnd { expr: expr.clone(), inclusive: true, like_prefix: false };
                (Some(end.clone()), Some(end))
            };
            match &sarg.limit {
                Limit::Equal { null_safe: true, .. } => return,
                Limit::Equal { expr, .. } => ranges.push(point(expr)),
                Limit::In(list) => ranges.extend(list.iter().map(point)),
                Limit::Ranges(parts) => ranges.extend(parts.iter().cloned()),
            }
        }
        if let Some(column) = column {
            let limit = Limit::Ranges(ranges);
            out.push(Sarg { column, limit, condition: position, exact, is_expression });
        }
    }

    /// Whether `column op value` can narrow an index over the column: its ordinal, and whether the range then says
    /// exactly what the comparison says.
    fn comparable(
        &self,
        bound: &BoundTable,
        column: &Expr,
        value: &Expr,
        function: FunctionId,
    ) -> Option<(usize, bool)> {
        let (ordinal, is_same) = match column.as_column() {
            Some(id) => (bound.ordinal(id)?, true),
            None => self.generated_ordinal(bound, column)?,
        };
        // Nothing of this table's own row, and the same whenever it is computed.
        let mut own = false;
        value.each_column(&mut |id| own |= bound.whole_ordinal(id).is_some());
        let stable = !value.any(&mut |node| match &node.kind {
            ExprKind::UserVar(_) | ExprKind::UserVarAssign { .. } | ExprKind::Subquery(_) => true,
            ExprKind::Call { function, .. } => !function.is_deterministic(),
            _ => false,
        });
        if own || !stable {
            return None;
        }
        let stored = &bound.entry.definition.columns[ordinal].data_type;
        let other = &value.data_type;
        if other.kind == TypeKind::Null {
            return Some((ordinal, false));
        }
        let integer = |data_type: &DataType| data_type.is_integer() && data_type.kind != TypeKind::Bit;
        let equality = matches!(function, FunctionId::Eq | FunctionId::NullSafeEq);
        let exact = if stored.is_string() {
            if !other.is_string() || column.data_type.collation != stored.collation {
                return None;
            }
            // Texts are read padded, and the spaces count.
            if self.pads_chars && stored.kind == TypeKind::Char && stored.collation.is_no_pad() {
                return None;
            }
            // The key is the collation's: it says what `=` says.
            value.data_type.collation == stored.collation
        } else if integer(stored) {
            if other.is_string() {
                // Compared as doubles: the key may be found so, but text such as '5a' has its say in the filter.
                false
            } else if integer(other) || other.kind == TypeKind::Bit {
                true
            } else if other.is_numeric() {
                false
            } else {
                return None;
            }
        } else {
            match stored.kind {
                TypeKind::Decimal if other.is_integer() || other.kind == TypeKind::Decimal => {
                    integer(other) || other.kind == TypeKind::Decimal
                }
                TypeKind::Double if other.is_numeric() => other.kind != TypeKind::Decimal,
                TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp => {
                    // A text of an outer row is compared with a DATE as a date.
                    let is_day = stored.kind == TypeKind::Date
                        && value.any(&mut |node| matches!(node.kind, ExprKind::Outer(_)));
                    if !(other.has_date() || (other.is_string() && value.is_constant() && !is_day)) {
                        return None;
                    }
                    other.kind == stored.kind
                        && other.scale <= stored.scale
                        && stored.kind != TypeKind::Timestamp
                }
                TypeKind::Time => {
                    // A text of an outer row is compared as a text.
                    let fixed = || {
                        value.is_constant() && !value.any(&mut |node| matches!(node.kind, ExprKind::Outer(_)))
                    };
                    if !(other.kind == TypeKind::Time || (other.is_string() && fixed())) {
                        return None;
                    }
                    other.kind == TypeKind::Time && other.scale <= stored.scale
                }
                TypeKind::Bit if integer(other) => true,
                TypeKind::Enum
                    if equality && other.is_string() && column.data_type.collation == stored.collation =>
                {
                    false
                }
                _ => return None,
            }
        };
        if function == FunctionId::Like && !stored.is_string() {
            return None;
        }
        Some((ordinal, exact && is_same))
    }
}

/// Whether an index entry alone gives the column: a whole part of the index or of the key of the row.
fn covers(bound: &BoundTable, index: usize, column: usize) -> bool {
    let definition = &bound.entry.definition;
    let column = bound.part(column).map_or(column, |part| part.column);
    let in_parts = |index: usize| {
        definition.indexes[index]
            .parts
            .iter()
            .any(|part| part.column == column && part.prefix_length.is_none())
    };
    in_parts(index) || definition.clustered.is_some_and(in_parts)
}

/// A LIKE pattern that is known to begin with something, or is not known yet.
fn starts_literally(pattern: &Expr) -> bool {
    match &pattern.kind {
        ExprKind::Literal(Value::Bytes { bytes, .. }) => !matches!(bytes.first(), None | Some(b'%' | b'_')),
        ExprKind::Param(_) | ExprKind::Outer(_) => true,
        _ => false,
    }
}
