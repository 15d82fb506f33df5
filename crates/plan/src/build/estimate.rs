//! How many rows: asked of indexes (`dives`), from their statistics, else from rules of thumb.

use crate::expr::{ColumnId, Expr, ExprKind};
use crate::function::FunctionId;
use crate::logical::{PartKind, TableIndex, TestKind};
use crate::passes;

use super::Builder;

/// Share of rows that meet `a = constant` when nothing is known.
pub(crate) const EQUAL_SHARE: f64 = 0.1;
/// Share of rows in a range with one open end when nothing is known.
pub(crate) const RANGE_SHARE: f64 = 0.33;
/// Share of rows in a range with two ends when nothing is known.
pub(crate) const BETWEEN_SHARE: f64 = 0.11;

impl Builder<'_> {
    pub(crate) fn table_rows(&self, table: TableIndex) -> f64 {
        let table = &self.bound.tables[table.0 as usize];
        (table.entry.source.statistics().row_count() as f64).max(1.0)
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
        (rows * 0.1).clamp(1.0, 1000.0)
    }

    pub(crate) fn conditions_selectivity(&self, conditions: &[Expr]) -> f64 {
        let mut used = vec![false; conditions.len()];
        let mut known = Vec::new();
        let mut share = 1.0;
        for at in 0..conditions.len() {
            if used[at] {
                continue;
            }
            share *= match self.dived_share(conditions, at, &mut used, &mut known) {
                Some(share) => share,
                None => self.share_by_rule(&conditions[at]),
            };
        }
        share.max(1e-9)
    }

    /// Share of the rows for which a condition holds.
    pub(crate) fn selectivity(&self, condition: &Expr) -> f64 {
        match self.dived_share(std::slice::from_ref(condition), 0, &mut [false], &mut Vec::new()) {
            Some(share) => share,
            None => self.share_by_rule(condition),
        }
    }

    fn share_by_rule(&self, condition: &Expr) -> f64 {
        match &condition.kind {
            ExprKind::Call { function, args, .. } => match function {
                FunctionId::Eq | FunctionId::NullSafeEq => match (args[0].as_column(), args[1].as_column()) {
                    (Some(a), Some(b)) => 1.0 / self.distinct(a).max(self.distinct(b)),
                    (Some(a), None) | (None, Some(a)) => 1.0 / self.distinct(a),
                    (None, None) => EQUAL_SHARE,
                },
                FunctionId::Lt | FunctionId::Le | FunctionId::Gt | FunctionId::Ge => RANGE_SHARE,
                FunctionId::Between => BETWEEN_SHARE,
                FunctionId::Like => 0.11,
                FunctionId::IsNull => EQUAL_SHARE,
                FunctionId::Not => (1.0 - self.selectivity(&args[0])).max(0.05),
                FunctionId::And => args.iter().map(|arg| self.selectivity(arg)).product(),
                FunctionId::Or => {
                    let any = 1.0 - args.iter().map(|arg| 1.0 - self.selectivity(arg)).product::<f64>();
                    any / self.counted_before(condition)
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

    /// Share of the rows that an OR over several tables meets by what the pass `or_factors` made of it for each table alone: that is
    /// counted where the tables are read.
    fn counted_before(&self, or: &Expr) -> f64 {
        if !self.switches.or_factors {
            return 1.0;
        }
        let implied = passes::implied(&self.bound.columns, or);
        implied.iter().map(|condition| self.selectivity(condition)).product::<f64>().clamp(1e-9, 1.0)
    }

    /// As the condition that the pass `parts` has put this column in the place of.
    fn test_selectivity(&self, id: ColumnId) -> f64 {
        let mut parts =
            self.bound.tables.iter().flat_map(|table| table.parts.iter().map(move |part| (table, part)));
        let Some((table, part)) = parts.find(|(_, part)| part.id == id) else { return 0.5 };
        let PartKind::Test(test) = &part.kind else { return 0.5 };
        let one = 1.0 / self.distinct(table.column(part.column));
        match test.kind {
            TestKind::Eq => one,
            TestKind::Ne => 0.5,
            TestKind::Lt | TestKind::Le | TestKind::Gt | TestKind::Ge => RANGE_SHARE,
            TestKind::Between => BETWEEN_SHARE,
            TestKind::In => (one * test.texts.len() as f64).min(0.5),
            TestKind::Like => 0.11,
        }
    }

    /// Groups that `rows` rows fall into.
    pub(crate) fn group_count(&self, keys: &[(ColumnId, Expr)], rows: f64) -> f64 {
        let groups: f64 =
            keys.iter().map(|(_, expr)| expr.as_column().map_or(10.0, |id| self.distinct(id))).product();
        groups.min(rows).max(1.0)
    }
}
