//! Changes through views: which table's column a view's column is, and what a view asks of new rows.
//!
//! A view that is changed through is bound as one that is read; what its query was made of is kept beside it ([`ViewParts`]).
//!
//! Invariants:
//! 1. Parts are kept by statements that change rows, for views in their FROM or as their target; other statements keep none.
//! 2. A view's column is a table's column only where the queries of all views between them are part of the statement's own (merged).
//! 3. Conditions of WITH CHECK OPTION are copies of those that the views' queries filter by: a row is checked as it is found.

use std::ops::Range;
use std::sync::Arc;

use catalog::{CheckOption, Privileges, TableKind, ViewAlgorithm, ViewDefinition};
use syntax::ast::{Query, QueryBody, TableRef, VarScope};
use types::Value;

use super::Binder;
use super::scope::{Block, ScopeColumns, ScopeTable};
use crate::error::{PlanError, PlanResult};
use crate::expr::{ColumnId, Expr, ExprKind};
use crate::logical::{BoundViewCheck, ColumnNeed, Logical, TableIndex};

/// A view's query, as far as changes through the view need it.
pub(crate) struct ViewParts {
    view: TableIndex,
    /// The tables of its FROM.
    tables: Vec<ScopeTable>,
    /// Its columns.
    columns: Vec<ColumnId>,
    /// Rows of its tables can be changed through it.
    changeable: bool,
    /// WHERE and the conditions of its joins.
    conditions: Vec<Expr>,
    has_where: bool,
    check: CheckOption,
}

/// What a column of a view is.
pub(crate) enum ViewColumn {
    /// A table's column: the table, its ordinal, and all mentions on the way there with their ordinals, the view first, the table last.
    Base(TableIndex, usize, Vec<(TableIndex, u32)>),
    /// Computed.
    Expression,
    /// A column of a query in FROM.
    Derived,
}

/// The column of a table that an assignment changes.
pub(crate) struct ChangedColumn {
    pub(crate) table: TableIndex,
    pub(crate) ordinal: usize,
    /// The views on the way to it with their ordinals, the table last; of a plain table only that.
    pub(crate) path: Vec<(TableIndex, u32)>,
}

impl<'a> Binder<'a> {
    /// Whether what the current query is made of is kept.
    pub(super) fn keeps_view_parts(&self) -> bool {
        self.is_change && self.subquery_depth == 0 && self.in_view()
    }

    /// Keeps conditions of the current block for rows that are changed through its view.
    pub(super) fn keep_conditions(&mut self, conditions: &[Expr], is_where: bool) {
        if self.keeps_view_parts() {
            let block = self.block();
            block.kept_conditions.extend_from_slice(conditions);
            block.has_where |= is_where;
        }
    }

    /// Whether a view whose query was bound last is part of the statement's own query where that changes rows through it.
    pub(super) fn merges_for_change(&self, query: &Query<'_>, view: &ViewDefinition) -> bool {
        let is_plain = |block: &Block| !block.is_grouped && !block.has_windows;
        self.keeps_view_parts()
            && view.algorithm != ViewAlgorithm::Temptable
            && super::view::is_merge_form(query)
            && self.last_block.as_ref().is_some_and(is_plain)
    }

    /// Keeps the parts of the view whose query was bound last.
    pub(super) fn keep_view_parts(
        &mut self,
        query: &Query<'_>,
        view: &ViewDefinition,
        columns: &[ColumnId],
        merged: bool,
    ) {
        if !self.keeps_view_parts() {
            return;
        }
        let Some(open) = self.open_views.last() else { return };
        let index = open.index;
        let mut parts = ViewParts {
            view: index,
            tables: Vec::new(),
            columns: columns.to_vec(),
            changeable: false,
            conditions: Vec::new(),
            has_where: false,
            check: view.check_option,
        };
        if merged && let Some(block) = &mut self.last_block {
            parts.tables.clone_from(&block.tables);
            parts.conditions = std::mem::take(&mut block.kept_conditions);
            parts.has_where = block.has_where;
            let is_dependent = |node: &Expr| matches!(&node.kind, ExprKind::Subquery(subquery) if !subquery.outer.is_empty());
            parts.changeable = !has_outer_join(query)
                && !block.aliases.iter().any(|alias| alias.expr.any(&mut |node| is_dependent(node)));
        }
        parts.changeable = parts.changeable && self.has_changeable_parts(&parts);
        self.view_parts.push(parts);
    }

    /// Whether the tables of a view's FROM can be changed, and no condition of it reads one of them by itself.
    fn has_changeable_parts(&self, parts: &ViewParts) -> bool {
        let mut tables = Vec::new();
        let mut changeable = true;
        for table in &parts.tables {
            match table.columns {
                ScopeColumns::Base { table, .. } => tables.push(table),
                ScopeColumns::Derived { view: Some(nested), .. } => {
                    changeable &= self.parts_of(nested).is_some_and(|parts| parts.changeable);
                    self.base_tables(nested, &mut tables);
                }
                ScopeColumns::Derived { view: None, .. } => {}
            }
        }
        let definition = |table: &TableIndex| &self.tables[table.0 as usize].entry.definition;
        changeable &= tables.iter().all(|table| definition(table).kind != TableKind::System);
        let mut read = Vec::new();
        parts.conditions.iter().for_each(|condition| scans_of_subqueries(condition, &mut read));
        changeable
            && !read.iter().any(|read| tables.iter().any(|table| definition(table).id == definition(read).id))
    }

    fn parts_of(&self, view: TableIndex) -> Option<&ViewParts> {
        self.view_parts.iter().find(|parts| parts.view == view)
    }

    /// Whether rows can be changed through a view in FROM.
    pub(super) fn is_changeable_view(&self, view: TableIndex) -> bool {
        self.parts_of(view).is_some_and(|parts| parts.changeable)
    }

    /// How many tables and queries a view joins, those of views within it included.
    pub(super) fn joined_tables(&self, view: TableIndex) -> usize {
        let Some(parts) = self.parts_of(view) else { return 1 };
        let joined = parts.tables.iter().map(|table| match table.columns {
            ScopeColumns::Derived { view: Some(nested), .. } => self.joined_tables(nested),
            _ => 1,
        });
        joined.sum()
    }

    fn base_tables(&self, view: TableIndex, out: &mut Vec<TableIndex>) {
        let Some(parts) = self.parts_of(view) else { return };
        for table in &parts.tables {
            match table.columns {
                ScopeColumns::Base { table, .. } => out.push(table),
                ScopeColumns::Derived { view: Some(nested), .. } => self.base_tables(nested, out),
                ScopeColumns::Derived { view: None, .. } => {}
            }
        }
    }

    /// The only table of a view that joins none.
    pub(super) fn only_table(&self, view: TableIndex) -> Option<TableIndex> {
        let mut tables = Vec::new();
        self.base_tables(view, &mut tables);
        if tables.len() == 1 { tables.pop() } else { None }
    }

    /// The views between a view and a table of it, both included.
    pub(super) fn mentions_between(
        &self,
        view: TableIndex,
        table: TableIndex,
        out: &mut Vec<TableIndex>,
    ) -> bool {
        let Some(parts) = self.parts_of(view) else { return false };
        let depth = out.len();
        out.push(view);
        for shown in &parts.tables {
            match shown.columns {
                ScopeColumns::Base { table: base, .. } if base == table => {
                    out.push(table);
                    return true;
                }
                ScopeColumns::Derived { view: Some(nested), .. }
                    if self.mentions_between(nested, table, out) =>
                {
                    return true;
                }
                _ => {}
            }
        }
        out.truncate(depth);
        false
    }

    /// What a view's column is.
    pub(super) fn view_column(&self, view: TableIndex, ordinal: u32) -> ViewColumn {
        let mut path = vec![(view, ordinal)];
        let (mut view, mut ordinal) = (view, ordinal);
        loop {
            let Some(parts) = self.parts_of(view) else { return ViewColumn::Derived };
            let Some(&id) = parts.columns.get(ordinal as usize) else { return ViewColumn::Derived };
            if let Some(table) = parts.tables.iter().find(|table| table.holds(id)) {
                match &table.columns {
                    ScopeColumns::Base { first, table, .. } => {
                        let ordinal = id.0 - first.0;
                        path.push((*table, ordinal));
                        return ViewColumn::Base(*table, ordinal as usize, path);
                    }
                    ScopeColumns::Derived { columns, view: Some(nested), .. } => {
                        let at = columns.iter().position(|(_, other)| *other == id).unwrap_or_default();
                        (view, ordinal) = (*nested, at as u32);
                        path.push((view, ordinal));
                        continue;
                    }
                    ScopeColumns::Derived { view: None, .. } => return ViewColumn::Derived,
                }
            }
            return ViewColumn::Expression;
        }
    }

    /// The table's column that a view's column is, which a change writes.
    ///
    /// # Errors
    /// 1288, 1348.
    pub(super) fn written_column(
        &self,
        view: TableIndex,
        ordinal: u32,
        name: &str,
        alias: &str,
        operation: &str,
    ) -> PlanResult<ChangedColumn> {
        match self.view_column(view, ordinal) {
            ViewColumn::Base(table, ordinal, path) => Ok(ChangedColumn { table, ordinal, path }),
            ViewColumn::Expression => Err(PlanError::new(1348, format!("Column '{name}' is not updatable"))),
            ViewColumn::Derived => Err(super::change::not_updatable(alias, operation)),
        }
    }

    /// Whether a view can be changed and its FROM has nothing but tables.
    pub(super) fn has_insertable_tables(&self, view: TableIndex) -> bool {
        let mut bases = Vec::new();
        self.base_tables(view, &mut bases);
        self.is_changeable_view(view) && bases.len() == self.joined_tables(view)
    }

    /// Whether rows can be inserted into a view: each column is another column of a table.
    pub(super) fn is_insertable(&self, view: TableIndex) -> bool {
        let Some(parts) = self.parts_of(view).filter(|parts| parts.changeable) else { return false };
        let mut seen = Vec::with_capacity(parts.columns.len());
        self.has_insertable_tables(view)
            && (0..parts.columns.len() as u32).all(|ordinal| match self.view_column(view, ordinal) {
                ViewColumn::Base(table, ordinal, _) if !seen.contains(&(table, ordinal)) => {
                    seen.push((table, ordinal));
                    true
                }
                _ => false,
            })
    }

    /// Whether a column is one of a view's tables other than `table`.
    pub(super) fn is_of_other_table(&self, view: TableIndex, table: TableIndex, id: ColumnId) -> bool {
        let mut bases = Vec::new();
        self.base_tables(view, &mut bases);
        bases.iter().any(|&base| {
            let bound = &self.tables[base.0 as usize];
            let ordinal = id.0.checked_sub(bound.first_column.0);
            base != table && ordinal.is_some_and(|ordinal| (ordinal as usize) < bound.width())
        })
    }

    /// What the option of a view, and of views within it, asks of the rows of `table` that are written through it. A row that is inserted
    /// has no row of the view's other tables beside it: their columns are NULL, and a join without WHERE asks nothing.
    pub(super) fn view_check(
        &mut self,
        view: TableIndex,
        table: TableIndex,
        inserted: bool,
    ) -> Option<Box<BoundViewCheck>> {
        let mut conditions = Vec::new();
        self.add_checks(view, false, inserted, &mut conditions);
        if conditions.is_empty() {
            return None;
        }
        if inserted {
            for condition in &mut conditions {
                let null = |id: ColumnId| {
                    self.is_of_other_table(view, table, id).then(|| {
                        let mut null = self.column_expr(id);
                        null.kind = ExprKind::Literal(Value::Null);
                        null.nullable = true;
                        null
                    })
                };
                crate::rewrite::substitute(condition, &null);
            }
        }
        Some(Box::new(self.check_of(view, conditions)))
    }

    /// The conditions of a view, and of those within it, that rows of its only table meet which it shows: others must not go by REPLACE.
    pub(super) fn shown_rows(&mut self, view: TableIndex) -> Option<Box<BoundViewCheck>> {
        let mut conditions = Vec::new();
        self.add_checks(view, true, false, &mut conditions);
        (!conditions.is_empty()).then(|| Box::new(self.check_of(view, conditions)))
    }

    /// Conditions, those with subqueries as row queries.
    fn check_of(&mut self, view: TableIndex, conditions: Vec<Expr>) -> BoundViewCheck {
        let mut check =
            BoundViewCheck { view: self.full_view_name(view), conditions: Vec::new(), queries: Vec::new() };
        for condition in conditions {
            if condition.has_subquery() {
                let query = self.row_query(condition);
                check.queries.push(query);
            } else {
                check.conditions.push(condition);
            }
        }
        check
    }

    fn add_checks(&self, view: TableIndex, cascaded: bool, inserted: bool, out: &mut Vec<Expr>) {
        let Some(parts) = self.parts_of(view) else { return };
        let cascaded = cascaded || parts.check == CheckOption::Cascaded;
        if (cascaded || parts.check != CheckOption::None) && (parts.has_where || !inserted) {
            out.extend_from_slice(&parts.conditions);
        }
        for table in &parts.tables {
            if let ScopeColumns::Derived { view: Some(nested), .. } = table.columns {
                self.add_checks(nested, cascaded, inserted, out);
            }
        }
    }

    /// `schema.name` of a view, for messages.
    pub(super) fn full_view_name(&self, view: TableIndex) -> Arc<str> {
        let definition = &self.tables[view.0 as usize].entry.definition;
        format!("{}.{}", definition.schema, definition.name).into()
    }

    /// The change needs `wanted` on the views on the way to a table and on the table, instead of SELECT.
    pub(super) fn need_on_way(
        &mut self,
        view: TableIndex,
        table: TableIndex,
        wanted: Privileges,
        of_view: bool,
    ) {
        let mut mentions = Vec::new();
        self.mentions_between(view, table, &mut mentions);
        for need in self.needs.tables.iter_mut().filter(|need| mentions.contains(&need.table)) {
            if need.table == table {
                need.changes = true;
            }
            if need.table != view || of_view {
                need.privileges = wanted;
            }
        }
    }

    /// A change of a view needs `wanted` on all tables that it joins.
    pub(super) fn need_of_all(&mut self, view: TableIndex, wanted: Privileges) {
        let mut tables = Vec::new();
        self.base_tables(view, &mut tables);
        for need in self.needs.tables.iter_mut().filter(|need| tables.contains(&need.table)) {
            need.privileges = wanted;
        }
    }

    /// Notes that the column at the end of a path is written: in each view on the way, too.
    pub(super) fn write_path(
        path: &[(TableIndex, u32)],
        wanted: Privileges,
        of_all: bool,
        out: &mut Vec<ColumnNeed>,
    ) {
        out.extend(path.iter().map(|&(table, ordinal)| ColumnNeed {
            table,
            ordinal,
            privileges: wanted,
            of_all,
        }));
    }

    /// Refuses LIMIT where the view does not show the whole key of the table, or notes that it does not, as
    /// `updatable_views_with_limit` says.
    ///
    /// # Errors
    /// 1288.
    pub(super) fn check_limited_view(
        &mut self,
        view: TableIndex,
        table: TableIndex,
        alias: &str,
        operation: &str,
    ) -> PlanResult<()> {
        let width = self.parts_of(view).map_or(0, |parts| parts.columns.len() as u32);
        let mut shown = Vec::new();
        for ordinal in 0..width {
            if let ViewColumn::Base(base, ordinal, _) = self.view_column(view, ordinal)
                && base == table
            {
                shown.push(ordinal);
            }
        }
        let definition = Arc::clone(&self.tables[table.0 as usize].entry.definition);
        let is_key = |index: &catalog::IndexDefinition| {
            index.is_unique() && index.parts.iter().all(|part| !definition.columns[part.column].nullable)
        };
        let mut keys = definition.indexes.iter().filter(|index| is_key(index)).peekable();
        let is_whole = match keys.peek() {
            Some(_) => keys.any(|index| index.parts.iter().all(|part| shown.contains(&part.column))),
            None => (0..definition.columns.len()).all(|ordinal| shown.contains(&ordinal)),
        };
        if is_whole {
            return Ok(());
        }
        // What the variable says is in the plan.
        self.volatile = true;
        let allowed = self.session.system_variable(VarScope::Session, "updatable_views_with_limit")?;
        let is_no = match &allowed {
            Value::Int(number) => *number == 0,
            Value::Bytes { bytes, .. } => bytes == b"NO",
            _ => false,
        };
        if is_no {
            return Err(super::change::not_updatable(alias, operation));
        }
        let text = "View being updated does not have complete key of underlying table in it";
        self.warnings.push(*PlanError::new(1355, text));
        Ok(())
    }

    /// 1093 or 1443: a table that the statement changes is read by a subquery as well. `own`: the mentions in the statement's FROM, but for
    /// conditions of joins, or as its target;
    /// `through`: the view that the change goes through.
    pub(super) fn check_target_not_read(
        &self,
        target: TableIndex,
        through: Option<TableIndex>,
        operation: &str,
        own: &[Range<usize>],
    ) -> PlanResult<()> {
        let changed = &self.tables[target.0 as usize];
        let through = through.map(|view| &self.tables[view.0 as usize]);
        let shown = through.map_or(&changed.alias, |view| &view.alias);
        let prevents = |alias: &str| {
            let text = format!(
                "The definition of table '{alias}' prevents operation {operation} on table '{shown}'."
            );
            Err(PlanError::new(1443, text))
        };
        let is_own = |table: TableIndex| own.iter().any(|range| range.contains(&(table.0 as usize)));
        for need in self.needs.tables.iter().filter(|need| !is_own(need.table)) {
            let read = &self.tables[need.table.0 as usize].entry.definition;
            if read.id != changed.entry.definition.id || need.table == target {
                continue;
            }
            match need.view.map(|view| &self.tables[view.0 as usize]) {
                Some(view) => {
                    let is_merged = view.entry.definition.view.as_ref().is_some_and(|view| view.updatable);
                    if !is_merged {
                        continue;
                    }
                    if through.is_some_and(|through| through.entry.definition.id == view.entry.definition.id)
                    {
                        return Err(super::change::target_is_read(shown));
                    }
                    return prevents(&view.alias);
                }
                None if self.derived_tables.contains(&need.table) => {}
                None if through.is_some() => return prevents(shown),
                // MySQL reads the changed table in VALUES under another name than its own.
                None if operation == "INSERT"
                    && !catalog::names_equal(&self.tables[need.table.0 as usize].alias, &read.name) => {}
                None => return Err(super::change::target_is_read(shown)),
            }
        }
        Ok(())
    }
}

/// The tables that subqueries of an expression read.
fn scans_of_subqueries(expr: &Expr, out: &mut Vec<TableIndex>) {
    if let ExprKind::Subquery(subquery) = &expr.kind {
        scans_of_tree(&subquery.plan, out);
    }
    expr.each_child(&mut |child| scans_of_subqueries(child, out));
}

fn scans_of_tree(tree: &Logical, out: &mut Vec<TableIndex>) {
    if let Logical::Scan { table } = tree {
        out.push(*table);
    }
    tree.each_expr(&mut |expr| scans_of_subqueries(expr, out));
    tree.each_input(&mut |input| scans_of_tree(input, out));
}

/// Whether an outer join stands in FROM of a query.
fn has_outer_join(query: &Query<'_>) -> bool {
    let mut body = &query.body;
    while let QueryBody::Nested(query) = body {
        body = &query.body;
    }
    let QueryBody::Select(select) = body else { return false };
    select.from.iter().any(is_outer_join)
}

fn is_outer_join(table: &TableRef<'_>) -> bool {
    match table {
        TableRef::Join(join) => {
            matches!(join.kind, syntax::ast::JoinKind::Left | syntax::ast::JoinKind::Right)
                || is_outer_join(&join.left)
                || is_outer_join(&join.right)
        }
        TableRef::List(list) => list.iter().any(is_outer_join),
        TableRef::Table(_) | TableRef::Derived { .. } | TableRef::JsonTable(_) => false,
    }
}
