//! What the parts of a plan are called: tables, columns, expressions, key ranges.

use std::collections::BTreeSet;

use types::Value;

use crate::expr::{ColumnId, Expr, ExprKind};
use crate::logical::{ColumnInfo, TableIndex};
use crate::physical::{PhysicalPlan, RangePlan, Scan};
use crate::text::{Column, column_name, expr_text, literal};

/// Conditions joined by AND, in parentheses.
pub(super) fn joined(conditions: &[String]) -> String {
    match conditions {
        [condition] if condition.starts_with('(') => condition.clone(),
        _ => format!("({})", conditions.join(" and ")),
    }
}

/// How columns are written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Style {
    /// `t.a`
    Plain,
    /// `` `schema`.`t`.`a` ``
    Quoted,
}

/// The names of a plan.
#[derive(Clone, Copy)]
pub(super) struct Names<'p> {
    pub plan: &'p PhysicalPlan,
    /// Values of the parameters, as far as they are known.
    pub parameters: &'p [Value],
    pub style: Style,
}

impl<'p> Names<'p> {
    pub(super) fn alias(self, table: TableIndex) -> &'p str {
        &self.plan.tables[table.0 as usize].alias
    }

    /// A column as conditions show it.
    pub(super) fn column(self, id: ColumnId) -> String {
        match (self.style, self.plan.columns.get(id.0 as usize)) {
            (Style::Quoted, Some(ColumnInfo { name, origin: Some((table, _)), .. })) => {
                let schema = &self.plan.tables[table.0 as usize].entry.definition.schema;
                format!("`{schema}`.`{}`.`{name}`", self.alias(*table))
            }
            (Style::Quoted, Some(info)) if !info.name.is_empty() => format!("`{}`", info.name),
            _ => column_name(id, &self.plan.columns, |table| &self.plan.tables[table.0 as usize].alias),
        }
    }

    /// A column as lists show it: `schema.t.a`, without the schema if the table has an alias.
    pub(super) fn listed(self, id: ColumnId) -> String {
        let plain = Names { style: Style::Plain, ..self }.column(id);
        match self.plan.columns.get(id.0 as usize).and_then(|info| info.origin) {
            Some((table, _)) => {
                let table = &self.plan.tables[table.0 as usize];
                let definition = &table.entry.definition;
                if table.alias == definition.name { format!("{}.{plain}", definition.schema) } else { plain }
            }
            None => plain,
        }
    }

    /// The column of a table that a scan gives.
    pub(super) fn table_column(self, table: TableIndex, ordinal: usize) -> ColumnId {
        if let Some(part) = self.plan.tables[table.0 as usize].part(ordinal) {
            return part.id;
        }
        let at = |info: &ColumnInfo| info.origin == Some((table, ordinal as u32));
        ColumnId(self.plan.columns.iter().position(at).unwrap_or(usize::MAX >> 1) as u32)
    }

    /// The columns that a scan gives.
    pub(super) fn scan_columns(self, scan: &Scan) -> Vec<ColumnId> {
        scan.columns.iter().map(|&ordinal| self.table_column(scan.table, ordinal)).collect()
    }

    /// Names of the columns that a scan reads.
    pub(super) fn used_columns(self, scan: &Scan) -> Vec<String> {
        let definition = &self.plan.tables[scan.table.0 as usize].entry.definition;
        let width = definition.columns.len();
        let mut ordinals: Vec<usize> =
            scan.columns.iter().copied().filter(|&ordinal| ordinal < width).collect();
        ordinals.sort_unstable();
        ordinals.dedup();
        ordinals.into_iter().map(|ordinal| definition.columns[ordinal].name.to_string()).collect()
    }

    /// An expression over a batch of these columns.
    pub(super) fn expr(self, expr: &Expr, columns: &[ColumnId]) -> String {
        let name = |column: Column| match column {
            Column::Id(id) => self.column(id),
            Column::Input(position) => match columns.get(position as usize) {
                Some(id) => self.column(*id),
                None => format!("#{position}"),
            },
            Column::Outer(slot) => match self.plan.outer_slots.get(slot as usize) {
                Some(id) => self.column(*id),
                None => format!("outer #{slot}"),
            },
            Column::Param(ordinal) => {
                self.parameters.get(ordinal as usize).map_or_else(|| "?".into(), literal)
            }
        };
        expr_text(expr, &name)
    }

    /// Conditions, each over a batch of these columns.
    pub(super) fn exprs(self, exprs: &[Expr], columns: &[ColumnId]) -> Vec<String> {
        exprs.iter().map(|expr| self.expr(expr, columns)).collect()
    }

    /// The keys of an order.
    pub(super) fn keys(self, keys: &[(Expr, bool)], columns: &[ColumnId]) -> Vec<String> {
        let key = |(expr, descending): &(Expr, bool)| {
            format!("{}{}", self.expr(expr, columns), if *descending { " DESC" } else { "" })
        };
        keys.iter().map(key).collect()
    }

    /// The columns that expressions over a batch of `columns` read, sorted.
    pub(super) fn columns_of<'e>(
        self,
        exprs: impl IntoIterator<Item = &'e Expr>,
        columns: &[ColumnId],
    ) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        exprs.into_iter().for_each(|expr| self.find_columns(expr, columns, &mut found));
        found
    }

    fn find_columns(self, expr: &Expr, columns: &[ColumnId], found: &mut BTreeSet<String>) {
        let id = match expr.kind {
            ExprKind::Column(id) => Some(id),
            ExprKind::Input(position) => columns.get(position as usize).copied(),
            ExprKind::Outer(slot) => self.plan.outer_slots.get(slot as usize).copied(),
            _ => None,
        };
        let is_named = |id: &ColumnId| {
            let info = self.plan.columns.get(id.0 as usize);
            info.is_some_and(|info| info.origin.is_some() || !info.name.is_empty())
        };
        found.extend(id.filter(is_named).map(|id| self.listed(id)));
        expr.each_child(&mut |child| self.find_columns(child, columns, found));
    }

    /// The whole number that an expression is, if it is a constant.
    pub(super) fn count(self, expr: &Expr) -> Option<u64> {
        let value = match expr.kind {
            ExprKind::Param(ordinal) => self.parameters.get(ordinal as usize)?,
            _ => expr.as_literal()?,
        };
        match value {
            Value::Int(count) => u64::try_from(*count).ok(),
            Value::UInt(count) => Some(*count),
            _ => None,
        }
    }

    /// The name of an index's part.
    pub(super) fn index_part(self, scan: &Scan, index: usize, part: usize) -> String {
        let definition = &self.plan.tables[scan.table.0 as usize].entry.definition;
        let part = &definition.indexes[index].parts[part];
        match definition.part_expression(part) {
            Some(expression) => expression.replace('`', ""),
            None => definition.columns[part.column].name.to_string(),
        }
    }

    /// One range of an index; `left`: columns of the row that its ends are computed from.
    pub(super) fn range(self, scan: &Scan, index: usize, range: &RangePlan, left: &[ColumnId]) -> String {
        let column = |part: usize| self.index_part(scan, index, part);
        let mut parts = Vec::new();
        for (part, value) in range.equal.iter().enumerate() {
            parts.push(format!("{} = {}", column(part), self.expr(&value.expr, left)));
        }
        let part = range.equal.len();
        for (end, lower) in
            range.lower.iter().map(|end| (end, true)).chain(range.upper.iter().map(|end| (end, false)))
        {
            let op = match (end.like_prefix, lower, end.inclusive) {
                (true, true, _) => "like",
                (true, false, _) => continue,
                (_, true, true) => ">=",
                (_, true, false) => ">",
                (_, false, true) => "<=",
                (_, false, false) => "<",
            };
            parts.push(format!("{} {op} {}", column(part), self.expr(&end.expr, left)));
        }
        parts.join(" and ")
    }

    /// The first ranges of an index.
    pub(super) fn ranges(self, scan: &Scan, index: usize, ranges: &[RangePlan], left: &[ColumnId]) -> String {
        let mut texts: Vec<String> =
            ranges.iter().take(3).map(|range| self.range(scan, index, range, left)).collect();
        if ranges.len() > 3 {
            texts.push(format!("({} more)", ranges.len() - 3));
        }
        texts.join(" or ")
    }

    /// `Limit: 3 row(s)`
    pub(super) fn limit(self, count: Option<&Expr>, offset: Option<&Expr>) -> String {
        let count = count.map_or_else(|| "?".into(), |count| self.expr(count, &[]));
        match offset {
            Some(offset) => format!("Limit/Offset: {count}/{} row(s)", self.expr(offset, &[])),
            None => format!("Limit: {count} row(s)"),
        }
    }
}
