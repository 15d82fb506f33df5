//! How many rows: asked of indexes (`dives`), from the collected statistics ([`catalog::CollectedStatistics`]), else from rules of thumb.
//!
//! Conditions on different columns are taken to have nothing to do with each other, but for what an index over all of them knows: how many
//! different combinations there are. In joins, the values of the side with fewer are taken to be among those of the other.

use catalog::{CollectedStatistics, ColumnStatistics};

use crate::expr::{ColumnId, Expr, ExprKind};
use crate::function::FunctionId;
use crate::logical::{PartKind, TableIndex, TextPredicateKind};
use crate::passes;
use crate::physical::{KeyValue, RangePlan};

use super::Builder;
use super::access::{Limit, Sarg};

/// Share of rows that meet `a = constant` when nothing is known.
pub(crate) const EQUAL_SHARE: f64 = 0.1;
/// Share of rows in a range with one open end when nothing is known.
pub(crate) const RANGE_SHARE: f64 = 0.33;
/// Share of rows in a range with two ends when nothing is known.
pub(crate) const BETWEEN_SHARE: f64 = 0.11;

/// How many times as large a table may be as when it was looked at.
const GROWN_FACTOR: f64 = 10.0;

impl Builder<'_> {
    pub(crate) fn table_rows(&self, table: TableIndex) -> f64 {
        let table = &self.bound.tables[table.0 as usize];
        (table.entry.source.statistics().row_count() as f64).max(1.0)
    }

    /// What was found out about a table.
    pub(crate) fn collected(&self, table: TableIndex) -> Option<&CollectedStatistics> {
        let at = table.0 as usize;
        let find = || {
            let statistics = self.bound.tables[at].entry.source.statistics();
            // What was true of a table a tenth as large, or as ten times as large, says little of its values now.
            let row_count = statistics.row_count() as f64;
            let is_near =
                |then: f64| row_count <= then * GROWN_FACTOR && then <= (row_count + 1.0) * GROWN_FACTOR;
            statistics.collected().filter(|collected| is_near(collected.row_count as f64 + 1.0))
        };
        self.collected[at].get_or_init(find).as_deref()
    }

    /// Different values of a column: from an index that starts with it, else a guess.
    pub(crate) fn distinct(&self, id: ColumnId) -> f64 {
        let Some((table, ordinal)) = self.bound.columns.get(id.0 as usize).and_then(|info| info.origin)
        else {
            return 10.0;
        };
        let rows = self.table_rows(table);
        let entry = &self.bound.tables[table.0 as usize].entry;
        for (position, index) in entry.definition.indexes.iter().enumerate() {
            if index.parts[0].column == ordinal as usize {
                if index.is_unique() && index.parts.len() == 1 {
                    return rows;
                }
                return (entry.source.statistics().distinct_count(position, 1) as f64).clamp(1.0, rows);
            }
        }
        let found = self
            .collected(table)
            .and_then(|collected| collected.distinct_values(ordinal as usize, rows as u64));
        found.map_or_else(|| (rows * 0.1).clamp(1.0, 1000.0), |distinct| distinct.clamp(1.0, rows))
    }

    /// Share of the rows in which a column is NULL.
    fn null_share(&self, id: ColumnId) -> f64 {
        self.found(id).map_or(0.0, |found| found.null_share)
    }

    /// Different combinations of the values of columns of one table: as an index over them says, else as if they had nothing to do with each
    /// other.
    pub(super) fn combinations(&self, table: TableIndex, columns: &[ColumnId]) -> f64 {
        let rows = self.table_rows(table);
        let by_index = self.combinations_of_index(table, columns);
        by_index
            .unwrap_or_else(|| columns.iter().map(|&id| self.distinct(id)).product::<f64>().clamp(1.0, rows))
    }

    /// Different combinations of the values of columns of one table, if an index begins with them, in any order.
    fn combinations_of_index(&self, table: TableIndex, columns: &[ColumnId]) -> Option<f64> {
        let bound = &self.bound.tables[table.0 as usize];
        let ordinals: Vec<usize> = columns.iter().map(|&id| bound.ordinal(id)).collect::<Option<_>>()?;
        let rows = self.table_rows(table);
        let indexes = &bound.entry.definition.indexes;
        let begins = |index: &catalog::IndexDefinition| {
            let parts = index.parts.get(..ordinals.len())?;
            let is_it =
                parts.iter().all(|part| part.prefix_length.is_none() && ordinals.contains(&part.column));
            is_it.then_some(())
        };
        // A unique key among the columns: each row has its own combination.
        let is_key = |index: &&catalog::IndexDefinition| {
            index.is_unique()
                && index
                    .parts
                    .iter()
                    .all(|part| part.prefix_length.is_none() && ordinals.contains(&part.column))
        };
        if indexes.iter().any(|index| is_key(&index)) {
            return Some(rows);
        }
        let at = indexes.iter().position(|index| begins(index).is_some())?;
        let distinct = bound.entry.source.statistics().distinct_count(at, ordinals.len());
        Some((distinct as f64).clamp(1.0, rows))
    }

    pub(crate) fn conditions_selectivity(&self, conditions: &[Expr]) -> f64 {
        self.selectivity_by(conditions, &mut Vec::new())
    }

    /// The same, with what the conditions say of single columns of some tables in `known`.
    pub(super) fn selectivity_by(
        &self,
        conditions: &[Expr],
        known: &mut Vec<(TableIndex, Vec<Sarg>)>,
    ) -> f64 {
        let mut used: smallvec::SmallVec<[bool; 16]> = smallvec::smallvec![false; conditions.len()];
        let mut share = 1.0;
        for at in 0..conditions.len() {
            if used[at] {
                continue;
            }
            if let Some(of_all) = self.joined_share(conditions, at, &mut used) {
                share *= of_all;
                continue;
            }
            if let Some(of_all) = self.equalities_share(conditions, at, &mut used, known) {
                share *= of_all;
                continue;
            }
            share *= match self.known_share(conditions, at, &mut used, known) {
                Some(share) => share,
                None => self.share_by_rule(&conditions[at]),
            };
        }
        share.max(1e-9)
    }

    /// Share of a table's rows with given values in several columns that an index begins with. Sets `used` for all conditions that it speaks of;
    /// `known` as in [`Self::known_share`].
    fn equalities_share(
        &self,
        conditions: &[Expr],
        at: usize,
        used: &mut [bool],
        known: &mut Vec<(TableIndex, Vec<Sarg>)>,
    ) -> Option<f64> {
        let ExprKind::Call { function: FunctionId::Eq | FunctionId::NullSafeEq, args, .. } =
            &conditions[at].kind
        else {
            return None;
        };
        let table = args.iter().find_map(|arg| self.table_of(arg.as_column()?))?;
        self.collected(table)?;
        let bound = &self.bound.tables[table.0 as usize];
        let of_table = self.sargs_of(table, conditions, known);
        let equal = |column: usize| {
            of_table.iter().find(|sarg| sarg.column == column && !used[sarg.condition] && is_equality(sarg))
        };
        let mut best: Option<(usize, Vec<&Sarg>)> = None;
        for (position, index) in bound.entry.definition.indexes.iter().enumerate() {
            let whole = index.parts.iter().take_while(|part| part.prefix_length.is_none());
            let of_index: Vec<&Sarg> = whole.map_while(|part| equal(part.column)).collect();
            let is_of_it = of_index.len() > 1 && of_index.iter().any(|sarg| sarg.condition == at);
            if is_of_it && best.as_ref().is_none_or(|(_, known)| known.len() < of_index.len()) {
                best = Some((position, of_index));
            }
        }
        let (index, of_index) = best?;
        let equal = of_index.iter().filter_map(|sarg| match &sarg.limit {
            Limit::Equal { expr, null_safe } => Some(KeyValue { expr: expr.clone(), null_safe: *null_safe }),
            _ => None,
        });
        let range = RangePlan { equal: equal.collect(), ..RangePlan::default() };
        let rows = self.table_rows(table);
        let share = match self.dived_rows(table, index, &[range]) {
            Some(found) => found / rows,
            None => {
                let statistics = bound.entry.source.statistics();
                1.0 / (statistics.distinct_count(index, of_index.len()) as f64).clamp(1.0, rows)
            }
        };
        let of: Vec<usize> = of_index.iter().map(|sarg| sarg.condition).collect();
        of.into_iter().for_each(|condition| used[condition] = true);
        Some(share.min(1.0))
    }

    /// Share of the pairs of rows of two tables that agree in several columns. Sets `used` for all such conditions.
    fn joined_share(&self, conditions: &[Expr], at: usize, used: &mut [bool]) -> Option<f64> {
        let (one, other) = self.joined_columns(&conditions[at])?;
        let tables = (self.table_of(one)?, self.table_of(other)?);
        let mut sides = (vec![one], vec![other]);
        let mut of = vec![at];
        for (position, condition) in conditions.iter().enumerate().skip(at + 1) {
            if used[position] {
                continue;
            }
            let Some((one, other)) = self.joined_columns(condition) else { continue };
            let (one, other) = if self.table_of(one) == Some(tables.0) { (one, other) } else { (other, one) };
            if (self.table_of(one), self.table_of(other)) == (Some(tables.0), Some(tables.1)) {
                sides.0.push(one);
                sides.1.push(other);
                of.push(position);
            }
        }
        if of.len() < 2 {
            return None;
        }
        of.into_iter().for_each(|position| used[position] = true);
        Some(1.0 / self.combinations(tables.0, &sides.0).max(self.combinations(tables.1, &sides.1)))
    }

    /// The columns of two tables that a condition says to be equal.
    fn joined_columns(&self, condition: &Expr) -> Option<(ColumnId, ColumnId)> {
        let ExprKind::Call { function: FunctionId::Eq, args, .. } = &condition.kind else { return None };
        let (one, other) = (args[0].as_column()?, args[1].as_column()?);
        (self.table_of(one)? != self.table_of(other)?).then_some((one, other))
    }

    fn table_of(&self, id: ColumnId) -> Option<TableIndex> {
        Some(self.bound.columns.get(id.0 as usize)?.origin?.0)
    }

    /// Share of the rows for which a condition holds.
    pub(crate) fn selectivity(&self, condition: &Expr) -> f64 {
        match self.known_share(std::slice::from_ref(condition), 0, &mut [false], &mut Vec::new()) {
            Some(share) => share,
            None => self.share_by_rule(condition),
        }
    }

    fn share_by_rule(&self, condition: &Expr) -> f64 {
        match &condition.kind {
            ExprKind::Call { function, args, .. } => match function {
                FunctionId::Eq | FunctionId::NullSafeEq => match (args[0].as_column(), args[1].as_column()) {
                    (Some(a), Some(b)) => self.equal_columns_share(a, b),
                    (Some(a), None) | (None, Some(a)) => (1.0 - self.null_share(a)) / self.distinct(a),
                    (None, None) => EQUAL_SHARE,
                },
                FunctionId::Lt | FunctionId::Le | FunctionId::Gt | FunctionId::Ge => RANGE_SHARE,
                FunctionId::Between => BETWEEN_SHARE,
                FunctionId::Like => 0.11,
                FunctionId::IsNull => EQUAL_SHARE,
                FunctionId::Not => self.share_of_others(&args[0], 0.05),
                FunctionId::Ne => match (args[0].as_column(), args[1].as_column()) {
                    (Some(id), None) | (None, Some(id)) if self.is_found(id) => {
                        let mut equal = condition.clone();
                        if let ExprKind::Call { function, .. } = &mut equal.kind {
                            *function = FunctionId::Eq;
                        }
                        (1.0 - self.null_share(id) - self.selectivity(&equal)).max(1.0 / self.distinct(id))
                    }
                    _ => 0.5,
                },
                FunctionId::And => args.iter().map(|arg| self.selectivity(arg)).product(),
                FunctionId::Or => {
                    let any = 1.0 - args.iter().map(|arg| 1.0 - self.selectivity(arg)).product::<f64>();
                    any / self.already_counted(condition)
                }
                _ => 0.5,
            },
            ExprKind::InList { expr, list } => {
                let one = expr.as_column().map_or(EQUAL_SHARE, |id| 1.0 / self.distinct(id));
                (one * list.len() as f64).min(0.5)
            }
            ExprKind::Column(id) => self.test_selectivity(*id),
            _ => 0.5,
        }
    }

    /// Share of the pairs of rows in which two columns are equal. Frequent values that both have are known; of the others, those of the column with
    /// fewer are among those of the other.
    fn equal_columns_share(&self, one: ColumnId, other: ColumnId) -> f64 {
        let distinct = self.distinct(one).max(self.distinct(other));
        let both = (1.0 - self.null_share(one)) * (1.0 - self.null_share(other));
        let (Some(a), Some(b)) = (self.found(one), self.found(other)) else { return both / distinct };
        // The bytes of values compare only as those of one type.
        let form = |id: ColumnId| {
            let (table, ordinal) = self.bound.columns[id.0 as usize].origin?;
            let column = &self.bound.tables[table.0 as usize].entry.definition.columns[ordinal as usize];
            Some((&column.data_type, column.nullable))
        };
        if form(one) != form(other) {
            return both / distinct;
        }
        let (mut pairs, mut known) = (0.0, [0.0, 0.0]);
        let mut common = 0.0;
        for (value, share) in &a.frequent {
            if let Some((_, of_other)) = b.frequent.iter().find(|(of_other, _)| of_other == value) {
                pairs += share * of_other;
                known[0] += share;
                known[1] += of_other;
                common += 1.0;
            }
        }
        let rest = |id: ColumnId, known: f64| (1.0 - self.null_share(id) - known).max(0.0);
        pairs + rest(one, known[0]) * rest(other, known[1]) / (distinct - common).max(1.0)
    }

    /// Share of the rows for which a condition does not hold; at least `floor`, unless it is known.
    fn share_of_others(&self, condition: &Expr, floor: f64) -> f64 {
        match self.known_share(std::slice::from_ref(condition), 0, &mut [false], &mut Vec::new()) {
            Some(share) => (1.0 - share).max(0.0),
            None => (1.0 - self.share_by_rule(condition)).max(floor),
        }
    }

    /// Whether something was found out about a column's values.
    fn is_found(&self, id: ColumnId) -> bool {
        self.found(id).is_some()
    }

    fn found(&self, id: ColumnId) -> Option<&ColumnStatistics> {
        let (table, ordinal) = self.bound.columns.get(id.0 as usize)?.origin?;
        self.collected(table)?.column(ordinal as usize)
    }

    /// Share of the rows that an OR over several tables meets by what the pass `or_factors` made of it for each table alone: that is
    /// counted where the tables are read.
    fn already_counted(&self, or: &Expr) -> f64 {
        if !self.switches.or_factors {
            return 1.0;
        }
        let implied = passes::implied(&self.bound.columns, or);
        implied.iter().map(|condition| self.selectivity(condition)).product::<f64>().clamp(1e-9, 1.0)
    }

    /// As the condition that the pass `parts` has replaced by this column.
    fn test_selectivity(&self, id: ColumnId) -> f64 {
        let mut parts =
            self.bound.tables.iter().flat_map(|table| table.parts.iter().map(move |part| (table, part)));
        let Some((table, part)) = parts.find(|(_, part)| part.id == id) else { return 0.5 };
        let PartKind::Predicate(predicate) = &part.kind else { return 0.5 };
        let one = 1.0 / self.distinct(table.column(part.column));
        match predicate.kind {
            TextPredicateKind::Eq => one,
            TextPredicateKind::Ne => 0.5,
            TextPredicateKind::Lt | TextPredicateKind::Le | TextPredicateKind::Gt | TextPredicateKind::Ge => {
                RANGE_SHARE
            }
            TextPredicateKind::Between => BETWEEN_SHARE,
            TextPredicateKind::In => (one * predicate.texts.len() as f64).min(0.5),
            TextPredicateKind::Like => 0.11,
        }
    }

    /// Groups that `rows` rows fall into.
    pub(crate) fn group_count(&self, keys: &[(ColumnId, Expr)], rows: f64) -> f64 {
        let mut groups = 1.0;
        let mut of_tables: Vec<(TableIndex, Vec<ColumnId>)> = Vec::new();
        for (_, expr) in keys {
            match expr.as_column().map(|id| (id, self.table_of(id))) {
                Some((id, Some(table))) => match of_tables.iter_mut().find(|(known, _)| *known == table) {
                    Some((_, columns)) => columns.push(id),
                    None => of_tables.push((table, vec![id])),
                },
                Some((id, None)) => groups *= self.distinct(id),
                None => groups *= 10.0,
            }
        }
        for (table, columns) in of_tables {
            let all = self.combinations(table, &columns);
            groups *= if self.collected(table).is_some() {
                distinct_values_drawn(all, rows, self.table_rows(table))
            } else {
                all
            };
        }
        groups.min(rows).max(1.0)
    }
}

/// A condition `column = something known before the row is read`.
fn is_equality(sarg: &Sarg) -> bool {
    matches!(&sarg.limit, Limit::Equal { expr, .. } if expr.is_constant())
}

/// How many of `all` values `rows` rows hold that are drawn from `of` rows, which hold each as often (Yao 1977).
fn distinct_values_drawn(all: f64, rows: f64, of: f64) -> f64 {
    if rows >= of {
        return all;
    }
    all * (1.0 - (1.0 - rows / of).powf(of / all.max(1.0)))
}
