//! FROM: tables, derived tables, CTEs, joins.

use std::sync::Arc;

use catalog::{NameMap, names_equal};
use syntax::ast::{
    Ident, IndexHintKind, IndexHintScope, Join, JoinCondition, JoinKind as AstJoin, Query, QueryBody,
    TableFactor, TableRef,
};
use types::{DataType, TypeKind};

use super::first_error::first_of;
use super::scope::{Block, CommonJoin, ScopeColumns, ScopeTable};
use super::temporary::TemporaryColumn;
use super::{Binder, JOIN_TABLES_MAX, NamedColumns, VisibleCte, utf8};
use crate::error::{PlanError, PlanResult};
use crate::expr::{CallOption, Coercibility, ColumnId, Expr, ExprKind};
use crate::function::{self, FunctionId};
use crate::logical::{
    AggregateCall, AggregateFunction, ColumnInfo, JoinKind, Logical, OutputColumn, OutputSource, TableIndex,
};

/// References to common table expressions beyond the first of each, in a whole statement: each of them is bound by itself, and those inside
/// of it again, so that a short text may name thousands (MySQL's limit).
pub(crate) const CTE_COPIES_MAX: u32 = 1024;

impl<'a> Binder<'a> {
    /// Binds FROM into the current block and gives its tree.
    pub(crate) fn from(&mut self, from: &'a [TableRef<'a>]) -> PlanResult<Logical> {
        let (tree, star) = self.table_refs(from)?;
        self.block().star = star;
        if self.block().tables.len() > JOIN_TABLES_MAX {
            let text = format!("Too many tables; MySQL can only use {JOIN_TABLES_MAX} tables in a join");
            return Err(PlanError::new(1116, text));
        }
        Ok(tree)
    }

    /// References with commas between them: an inner join.
    fn table_refs(&mut self, tables: &'a [TableRef<'a>]) -> PlanResult<(Logical, Vec<(u32, u32)>)> {
        let mut tree: Option<Logical> = None;
        let mut star: Vec<(u32, u32)> = Vec::new();
        for table in tables {
            let first = self.block().tables.len();
            let (right, columns) = self.table_ref(table)?;
            if tree.is_some() {
                self.block().mark_later(first..);
                star.extend(columns);
            } else {
                star = columns;
            }
            tree = Some(match tree {
                None => right,
                Some(left) => self.joined(JoinKind::Inner, left, right, Vec::new()),
            });
        }
        Ok((tree.unwrap_or(Logical::OneRow), star))
    }

    /// One reference; also the columns `*` shows of it.
    fn table_ref(&mut self, table: &'a TableRef<'a>) -> PlanResult<(Logical, Vec<(u32, u32)>)> {
        match table {
            TableRef::Table(factor) => self.table_factor(factor),
            TableRef::Derived { lateral, query, alias, columns } => {
                let Some(alias) = alias else {
                    return Err(PlanError::new(1248, "Every derived table must have its own alias"));
                };
                self.derived(query, &utf8(alias.text), columns, *lateral)
            }
            TableRef::JsonTable(table) => self.json_table(table),
            TableRef::Join(join) => self.join(join),
            TableRef::List(list) => self.table_refs(list),
        }
    }

    fn table_factor(&mut self, factor: &'a TableFactor<'a>) -> PlanResult<(Logical, Vec<(u32, u32)>)> {
        crate::progress::step();
        if !factor.partitions.is_empty() {
            return Err(PlanError::new(1747, "PARTITION () clause on non partitioned table"));
        }
        if factor.sample.is_some() {
            return Err(PlanError::not_supported("TABLESAMPLE"));
        }
        if factor.name.schema.is_none()
            && let Some(position) =
                self.ctes.iter().rposition(|cte| cte.name.eq_ignore_ascii_case(factor.name.name.text))
        {
            let alias = factor.alias.unwrap_or(factor.name.name);
            self.hinted_references.push(factor.name.name.span.start);
            let bound = self.cte(position, &utf8(alias.text));
            self.hinted_references.pop();
            return bound;
        }
        let entry = self.find_table(&factor.name)?;
        self.note_factor(factor, &entry.definition.schema);
        let alias: Arc<str> = match factor.alias {
            Some(alias) => utf8(alias.text).into(),
            None => entry.definition.name.clone(),
        };
        if let Some(view) = entry.definition.view.clone() {
            let index = TableIndex(self.tables.len() as u32);
            let shown = self.view(entry, &view, alias)?;
            self.index_hints(index, factor)?;
            return Ok(shown);
        }
        self.check_alias(&alias, Some(&entry.definition.schema))?;
        let index = self.add_table(entry, alias.clone());
        self.index_hints(index, factor)?;
        self.show_table(index, alias);
        Ok((Logical::Scan { table: index }, self.shown_last()))
    }

    fn index_hints(&mut self, index: TableIndex, factor: &'a TableFactor<'a>) -> PlanResult<()> {
        let table = &mut self.tables[index.0 as usize];
        let definition = table.entry.definition.clone();
        let visible =
            || (0..definition.indexes.len()).filter(|&index| definition.indexes[index].visible).collect();
        for hint in factor.index_hints {
            let mut named = Vec::new();
            for name in hint.indexes {
                let name = utf8(name.text);
                match definition.index_ordinal(&name) {
                    Some(ordinal) => named.push(ordinal),
                    None => {
                        // A view has no keys, and is named by its own name.
                        let shown = if table.is_view { &definition.name } else { &table.alias };
                        let name = if names_equal(&name, "PRIMARY") { "PRIMARY" } else { &*name };
                        let text = format!("Key '{name}' doesn't exist in table '{shown}'");
                        return Err(PlanError::new(1176, text));
                    }
                }
            }
            let is_of_join = matches!(hint.scope, IndexHintScope::All | IndexHintScope::Join);
            let is_of_groups = matches!(hint.scope, IndexHintScope::All | IndexHintScope::GroupBy);
            table.force_index |= is_of_join && hint.kind == IndexHintKind::Force;
            let of_join = is_of_join.then_some(&mut table.allowed_indexes);
            let of_groups = is_of_groups.then_some(&mut table.indexes_of_groups);
            for allowed in of_join.into_iter().chain(of_groups) {
                match hint.kind {
                    IndexHintKind::Use | IndexHintKind::Force => {
                        allowed.get_or_insert_default().extend(&named);
                    }
                    IndexHintKind::Ignore => {
                        allowed.get_or_insert_with(visible).retain(|index| !named.contains(index));
                    }
                }
            }
        }
        Ok(())
    }

    /// 1066, if a table is already shown under this name.
    pub(crate) fn check_alias(&mut self, alias: &str, schema: Option<&str>) -> PlanResult<()> {
        let taken = self.block().tables.iter().any(|table| {
            *table.alias == *alias
                && (table.schema.is_none() || schema.is_none() || table.schema.as_deref() == schema)
        });
        if taken {
            return Err(PlanError::new(1066, format!("Not unique table/alias: '{alias}'")));
        }
        Ok(())
    }

    /// What `*` shows of the table shown last.
    pub(super) fn shown_last(&mut self) -> Vec<(u32, u32)> {
        let tables = &self.block().tables;
        let position = tables.len() as u32 - 1;
        let table = &tables[position as usize];
        let mut shown = Vec::with_capacity(table.width() as usize);
        table.each_shown(&mut |ordinal| shown.push((position, ordinal)));
        shown
    }

    fn derived(
        &mut self,
        query: &'a Query<'a>,
        alias: &str,
        names: &'a [Ident<'a>],
        is_lateral: bool,
    ) -> PlanResult<(Logical, Vec<(u32, u32)>)> {
        self.check_alias(alias, None)?;
        let before = self.tables.len();
        let mut bound = self.query_in(query, !is_lateral)?;
        self.materialize_unless_merged(query, &mut bound);
        // What the query says may be NULL is said of its columns here, too.
        for column in &bound.output {
            self.columns[column.id.0 as usize].nullable |= column.nullable;
        }
        self.derived_tables.extend((before..self.tables.len()).map(|index| TableIndex(index as u32)));
        let columns = rename(&bound.output, names)?;
        self.show_derived(alias, columns)?;
        let mut plan = bound.plan;
        if is_lateral && !bound.outer.is_empty() {
            plan = self.lateral(plan, bound.outer);
        }
        Ok((plan, self.shown_last()))
    }

    /// What stands in FROM and reads these columns of the tables before it, or of enclosing queries.
    pub(super) fn lateral(&mut self, plan: Logical, outer: Vec<ColumnId>) -> Logical {
        self.has_lateral = true;
        Logical::Lateral { input: Box::new(plan), outer }
    }

    /// A query in FROM, which was bound last, as MySQL gives its rows: those of one that it does not merge into the query around it are
    /// in a temporary table.
    pub(super) fn materialize_unless_merged(
        &mut self,
        query: &Query<'_>,
        bound: &mut super::select::BoundQuery,
    ) {
        if matches!(query.body, QueryBody::Values(_)) {
            // As the rows of a UNION are.
            for column in &mut bound.output {
                column.source = OutputSource::SetOperation;
            }
        }
        keep_digits(&mut bound.plan);
        // In subqueries of changes it merges none.
        if self.is_change && self.subquery_depth > 0 || !self.is_merged(query) {
            self.materialize_rows(bound);
        }
    }

    /// A query in FROM whose rows are in a temporary table, whether or not it could be merged.
    pub(super) fn materialize_always(&mut self, query: &Query<'_>, bound: &mut super::select::BoundQuery) {
        if matches!(query.body, QueryBody::Values(_)) {
            self.materialize_unless_merged(query, bound);
        } else {
            keep_digits(&mut bound.plan);
            self.materialize_rows(bound);
        }
    }

    fn materialize_rows(&mut self, bound: &mut super::select::BoundQuery) {
        self.keep_aggregates(&bound.plan);
        self.materialize_derived(&bound.plan, &bound.outer, &mut bound.output);
        store_values(&mut bound.plan, &mut self.columns);
        self.store_members(bound);
    }

    /// A member of ENUM or SET by which ROLLUP groups is kept as its text, and one that MIN or MAX gives, which compare texts, as the member.
    fn store_members(&mut self, bound: &mut super::select::BoundQuery) {
        let mut stored = Vec::new();
        self.find_stored_members(&bound.plan, &mut stored);
        let mut items = Vec::new();
        for column in &mut bound.output {
            let Some((_, to)) = stored.iter().find(|(id, _)| *id == column.id) else { continue };
            let to = to.clone();
            let value = self.column_expr(column.id);
            let coercibility = value.coercibility;
            let kept = Expr { coercibility, ..function::cast(value, to.clone()) };
            let id = self.new_column(&column.name, to.clone(), true);
            if let Some(held) = self.temporary_columns.get(&column.id) {
                let held = TemporaryColumn { data_type: to.clone(), flags: held.flags, source: held.source };
                self.temporary_columns.insert(id, held);
            }
            self.materialized_columns.insert(id);
            (column.id, column.data_type) = (id, to);
            items.push((id, kept));
        }
        if !items.is_empty() {
            let input = std::mem::replace(&mut bound.plan, Logical::OneRow);
            bound.plan = Logical::Project { input: Box::new(input), items };
        }
    }

    /// The columns that a temporary table keeps as another type than the query gives them, with that type: members of ENUM and SET by which ROLLUP
    /// groups, and those of which MIN or MAX gives the text.
    fn find_stored_members(&self, plan: &Logical, found: &mut Vec<(ColumnId, DataType)>) {
        match plan {
            Logical::Limit { input, .. }
            | Logical::Sort { input, .. }
            | Logical::Filter { input, .. }
            | Logical::Distinct { input, .. }
            | Logical::Window { input, .. } => self.find_stored_members(input, found),
            Logical::Project { input, items } => {
                self.find_stored_members(input, found);
                for (id, item) in items {
                    let of = item.as_column().and_then(|of| found.iter().find(|(column, _)| *column == of));
                    if let Some((_, to)) = of.filter(|(column, _)| column != id).cloned() {
                        found.push((*id, to));
                    }
                }
            }
            Logical::Aggregate { keys, calls, rollup, .. } => {
                if *rollup {
                    let members = keys.iter().filter(|(_, key)| key.data_type.members.is_some());
                    found.extend(members.map(|(id, key)| {
                        let of = &key.data_type;
                        (*id, DataType::varchar(of.length, of.collation))
                    }));
                }
                let members =
                    calls.iter().filter_map(|(id, call)| Some((*id, self.extreme_member(call)?.clone())));
                found.extend(members);
            }
            _ => {}
        }
    }

    /// The type of the members of ENUM or SET of which MIN or MAX of a column gives the text.
    pub(super) fn extreme_member<'c>(&self, call: &'c AggregateCall) -> Option<&'c DataType> {
        let is_extreme = matches!(call.function, AggregateFunction::Min | AggregateFunction::Max);
        let Some((FunctionId::Cast, [of])) = call.args.first().filter(|_| is_extreme)?.as_call() else {
            return None;
        };
        (of.data_type.members.is_some() && self.is_field(of)).then_some(&of.data_type)
    }

    /// A text that an aggregate gives is a column of the temporary table, which holds its collation as strongly as any column. Only MIN
    /// and MAX of a temporary table's column pass on what that one has.
    fn keep_aggregates(&mut self, plan: &Logical) {
        use AggregateFunction as F;
        match plan {
            Logical::Limit { input, .. }
            | Logical::Sort { input, .. }
            | Logical::Filter { input, .. }
            | Logical::Project { input, .. }
            | Logical::Distinct { input, .. } => self.keep_aggregates(input),
            Logical::Aggregate { calls, .. } => {
                for (id, call) in calls {
                    let argument = call.args.first().and_then(Expr::as_column);
                    let passes_on = match call.function {
                        F::AnyValue => true,
                        F::Min | F::Max => {
                            argument.is_some_and(|column| self.materialized_columns.contains(&column))
                        }
                        _ => false,
                    };
                    if !passes_on && call.data_type.is_string() {
                        self.columns[id.0 as usize].coercibility = Some(Coercibility::Implicit);
                    }
                }
            }
            // A value of a window function keeps what its argument has.
            Logical::Window { input, .. } => self.keep_aggregates(input),
            _ => {}
        }
    }

    /// Whether MySQL makes the query in FROM that was bound last part of the query around it.
    fn is_merged(&self, query: &Query<'_>) -> bool {
        let is_mergeable = |item: &Expr| !item.has_subquery() && crate::rewrite::is_repeatable(item);
        match query.body {
            QueryBody::Select(select) => {
                query.limit.is_none()
                    && !select.from.is_empty()
                    && !select.options.distinct
                    && select.having.is_none()
                    && self.last_block.as_ref().is_some_and(|block| {
                        !block.is_grouped
                            && !block.has_windows
                            && block.aliases.iter().all(|alias| is_mergeable(&alias.expr))
                    })
            }
            QueryBody::Nested(query) => self.is_merged(query),
            _ => false,
        }
    }

    /// Shows named columns as a table of the current block.
    pub(crate) fn show_derived(&mut self, alias: &str, columns: Vec<(Arc<str>, ColumnId)>) -> PlanResult<()> {
        let names = NameMap::new(columns.iter().map(|(name, _)| &**name));
        for (position, (name, _)) in columns.iter().enumerate() {
            if names.get(name) != Some(position) {
                return Err(PlanError::new(1060, format!("Duplicate column name '{name}'")));
            }
        }
        let columns = ScopeColumns::Derived { names, columns, view: None };
        self.block().tables.push(ScopeTable { alias: alias.into(), schema: None, columns });
        Ok(())
    }

    /// Makes the CTEs of a WITH visible; the answer is what to give to [`Binder::leave_with`].
    pub(crate) fn enter_with(&mut self, with: Option<&'a syntax::ast::With<'a>>) -> PlanResult<usize> {
        let before = self.ctes.len();
        if let Some(with) = with {
            for (position, cte) in with.ctes.iter().enumerate() {
                if with.ctes[..position]
                    .iter()
                    .any(|other| other.name.text.eq_ignore_ascii_case(cte.name.text))
                {
                    let text = format!("Not unique table/alias: '{}'", utf8(cte.name.text));
                    return Err(PlanError::new(1066, text));
                }
                self.ctes.push(VisibleCte {
                    name: cte.name.text,
                    columns: cte.columns,
                    query: cte.query,
                    working: None,
                    recursive: with.recursive,
                    is_referenced: false,
                    position: before + position,
                });
            }
        }
        Ok(before)
    }

    pub(crate) fn leave_with(&mut self, before: usize) {
        self.ctes.truncate(before);
    }

    /// A reference to a CTE: its query is bound again, seeing only the CTEs before it.
    fn cte(&mut self, position: usize, alias: &str) -> PlanResult<(Logical, Vec<(u32, u32)>)> {
        self.check_alias(alias, None)?;
        if let Some((recursion, columns)) = &self.ctes[position].working {
            let (recursion, columns) = (*recursion, columns.clone());
            let mut fresh = Vec::with_capacity(columns.len());
            for (name, id) in columns {
                let info = self.columns[id.0 as usize].clone();
                let held = self.temporary_columns.get(&id).cloned();
                let id = self.new_column(&name, info.data_type, true);
                self.columns[id.0 as usize].coercibility = info.coercibility;
                self.materialized_columns.insert(id);
                self.temporary_columns.extend(held.map(|held| (id, held)));
                fresh.push((name.clone(), id));
            }
            let ids = fresh.iter().map(|(_, id)| *id).collect();
            self.show_derived(alias, fresh)?;
            return Ok((Logical::WorkingTable { recursion, columns: ids }, self.shown_last()));
        }
        let cte = &mut self.ctes[position];
        if std::mem::replace(&mut cte.is_referenced, true) {
            self.cte_copies += 1;
            if self.cte_copies > CTE_COPIES_MAX {
                return Err(PlanError::new(
                    4169,
                    "Common table expression expansion exceeded an implementation limit. Simplify the query.",
                ));
            }
        }
        let (query, names, recursive) = (cte.query, cte.columns, cte.recursive);
        let home = cte.position;
        // Its own name is visible inside it only if it is recursive.
        let later = self.ctes.split_off(if recursive { position + 1 } else { position });
        debug_assert_eq!(home, position);
        let before = self.tables.len();
        let outcome = self.cte_query(position, query, names, recursive);
        self.derived_tables.extend((before..self.tables.len()).map(|index| TableIndex(index as u32)));
        self.ctes.extend(later);
        if self.ctes.len() > position {
            self.ctes[position].working = None;
        }
        let (plan, columns) = outcome?;
        self.show_derived(alias, columns)?;
        Ok((plan, self.shown_last()))
    }

    fn cte_query(
        &mut self,
        position: usize,
        query: &'a Query<'a>,
        names: &'a [Ident<'a>],
        recursive: bool,
    ) -> PlanResult<(Logical, NamedColumns)> {
        if recursive && super::select::references_table(query, self.ctes[position].name) {
            return self.recursive_cte(position, query, names);
        }
        let mut bound = self.query_in(query, true)?;
        self.materialize_unless_merged(query, &mut bound);
        let columns = rename(&bound.output, names)?;
        Ok((bound.plan, columns))
    }

    fn join(&mut self, join: &'a Join<'a>) -> PlanResult<(Logical, Vec<(u32, u32)>)> {
        // The later table's conditions come first, then those of the join.
        let of_others = self.block().error.take();
        let has_common = join.natural || matches!(join.condition, JoinCondition::Using(_));
        let is_within_common = self.block().is_within_common;
        self.block().is_within_common |= has_common;
        let left_first = self.block().tables.len();
        let (mut left, mut left_star) = self.table_ref(&join.left)?;
        let of_left = self.block().error.take();
        let right_first = self.block().tables.len();
        let unseen = self.block().unseen.len();
        if join.kind == AstJoin::Right {
            // There is no left row yet when the right side is made.
            self.block().unseen.push(left_first..right_first);
        }
        let (mut right, mut right_star) = self.table_ref(&join.right)?;
        self.block().unseen.truncate(unseen);
        let of_right = self.block().error.take();
        let end = self.block().tables.len();
        let block = self.block();
        block.is_within_common = is_within_common;
        match join.kind {
            AstJoin::Right => block.mark_later(left_first..right_first),
            _ => block.mark_later(right_first..end),
        }
        if has_common {
            // Noted behind those within it, which have been marked.
            block.common_joins.push(CommonJoin { tables: left_first..end, is_later: false });
        }

        let mut conditions = Vec::new();
        let mut star = Vec::new();
        let common = match join.condition {
            JoinCondition::Using(names) => {
                let mut common = Vec::new();
                for name in names {
                    common.push(utf8(name.text).into_owned());
                }
                Some(common)
            }
            _ if join.natural => {
                let block = self.block();
                let mut common = Vec::new();
                for &(table, ordinal) in &left_star {
                    let name = block.tables[table as usize].name(ordinal);
                    if right_star.iter().any(|&(table, ordinal)| {
                        names_equal(&block.tables[table as usize].name(ordinal), &name)
                    }) {
                        common.push(name.to_string());
                    }
                }
                Some(common)
            }
            _ => None,
        };
        if let Some(common) = common {
            let first = if join.kind == AstJoin::Right { right_star.clone() } else { left_star.clone() };
            let place_of = |column: &(u32, u32)| first.iter().position(|other| other == column);
            let mut compared = Vec::with_capacity(common.len());
            for name in common {
                let left_column = self.find_common(&name, left_first..right_first)?;
                let right_column = self.find_common(&name, right_first..end)?;
                self.note_common(join, (left_column, right_column));
                let mut sides = vec![self.scope_column(left_column), self.scope_column(right_column)];
                if join.kind == AstJoin::Right {
                    // MySQL turns it round before it compares.
                    sides.reverse();
                }
                let (shown, hidden) = match join.kind {
                    AstJoin::Right => (right_column, left_column),
                    _ => (left_column, right_column),
                };
                compared.push((place_of(&shown), sides));
                self.block().hidden.push(hidden);
                star.push(shown);
                left_star.retain(|column| *column != left_column);
                right_star.retain(|column| *column != right_column);
            }
            // They are compared in the order of the first table, too.
            compared.sort_by_key(|(place, _)| *place);
            for (_, sides) in compared {
                conditions.extend(self.hold_error(|binder| Ok(vec![binder.call(FunctionId::Eq, sides)?]))?);
            }
            // The columns in common are shown in the first table's order.
            star.sort_by_key(place_of);
        }
        // The columns in common come first; then MySQL shows the right side of RIGHT JOIN with USING or NATURAL before its left, and so
        // of any RIGHT JOIN that such a join is made of.
        if (has_common || is_within_common) && join.kind == AstJoin::Right {
            star.extend(right_star);
            star.extend(left_star);
        } else {
            star.extend(left_star);
            star.extend(right_star);
        }
        if let JoinCondition::On(condition) = join.condition {
            conditions.extend(self.hold_error(|binder| binder.on_condition(condition, left_first, end))?);
        }
        self.keep_conditions(&conditions, false);
        let (first, last) =
            if join.kind == AstJoin::Right { (of_left, of_right) } else { (of_right, of_left) };
        let error = &mut self.block().error;
        *error = first_of([first, error.take(), last, of_others]);
        let kind = match join.kind {
            AstJoin::Inner => JoinKind::Inner,
            AstJoin::Straight => JoinKind::Straight,
            AstJoin::Left => JoinKind::Left,
            AstJoin::Right => {
                std::mem::swap(&mut left, &mut right);
                JoinKind::Left
            }
        };
        if kind == JoinKind::Left {
            for id in right.output(&self.tables) {
                self.columns[id.0 as usize].nullable = true;
            }
        }
        Ok((self.joined(kind, left, right, conditions), star))
    }

    /// A join. One whose right side is made for each left row keeps its sides.
    fn joined(&self, kind: JoinKind, left: Logical, right: Logical, conditions: Vec<Expr>) -> Logical {
        let is_dependent = self.has_lateral
            && kind == JoinKind::Inner
            && right.has_subquery_over(&left.output(&self.tables));
        let kind = if is_dependent { JoinKind::Straight } else { kind };
        Logical::Join { kind, left: Box::new(left), right: Box::new(right), conditions }
    }

    /// ON sees the tables of its own join only.
    fn on_condition(
        &mut self,
        condition: &'a syntax::ast::Expr<'a>,
        first: usize,
        end: usize,
    ) -> PlanResult<Vec<Expr>> {
        debug_assert_eq!(end, self.block().tables.len());
        let block = self.block();
        let clause = std::mem::replace(&mut block.clause, "on clause");
        let before: Vec<ScopeTable> = block.tables.drain(..first).collect();
        let hidden = std::mem::take(&mut block.hidden);
        let unseen = std::mem::take(&mut block.unseen);
        let shift = first as u32;
        block.hidden = hidden
            .iter()
            .filter(|(table, _)| *table >= shift)
            .map(|(table, o)| (table - shift, *o))
            .collect();
        let first_of_on = self.tables.len();
        let bound = self.condition(condition);
        let of_on = first_of_on..self.tables.len();
        let block = self.block();
        if !of_on.is_empty() {
            block.tables_of_on.push(of_on);
        }
        block.tables.splice(0..0, before);
        block.hidden = hidden;
        block.unseen = unseen;
        block.clause = clause;
        bound
    }

    /// Conditions of the current block; the first error of them is held until the block's select list is bound.
    pub(super) fn hold_error(
        &mut self,
        bind: impl FnOnce(&mut Self) -> PlanResult<Vec<Expr>>,
    ) -> PlanResult<Vec<Expr>> {
        if !self.block().holds_errors {
            return bind(self);
        }
        let (conditions, held) = self.hold(bind)?;
        let error = &mut self.block().error;
        *error = first_of([error.take(), held]);
        Ok(conditions.unwrap_or_default())
    }

    /// What is wrong with the conditions that the block holds.
    pub(super) fn release_conditions(&mut self) -> PlanResult<()> {
        let held = self.block().error.take();
        self.release(held)
    }

    /// Gives the error of a subquery that becomes a join, once the block is bound.
    pub(super) fn check_joins(&mut self) -> PlanResult<()> {
        self.block().join_error.take().map_or(Ok(()), Err)
    }

    fn scope_column(&mut self, (table, ordinal): (u32, u32)) -> Expr {
        let scope = &self.block().tables[table as usize];
        let id = scope.column(ordinal);
        if let Some(table) = scope.catalog_table() {
            self.read_column(table, ordinal, false);
        }
        self.column_expr(id)
    }

    /// The column of a JOIN USING on one side.
    fn find_common(&mut self, name: &str, tables: std::ops::Range<usize>) -> PlanResult<(u32, u32)> {
        let block = self.block();
        let mut found = None;
        for position in tables {
            if let Some((ordinal, _)) = block.tables[position].find(name) {
                let column = (position as u32, ordinal);
                if block.hidden.contains(&column) {
                    continue;
                }
                if found.is_some() {
                    return Err(PlanError::new(1052, format!("Column '{name}' in from clause is ambiguous")));
                }
                found = Some(column);
            }
        }
        found.ok_or_else(|| PlanError::new(1054, format!("Unknown column '{name}' in 'from clause'")))
    }

    /// A new block for a query inside FROM.
    pub(crate) fn derived_block(derived: bool) -> Block {
        let mut block = Block::new("field list");
        block.skips_parent = derived;
        block
    }
}

/// Gives the columns of a query the values they have in MySQL's temporary table: hex literals are bytes there and decimals have the
/// scale of their column.
fn store_values(plan: &mut Logical, columns: &mut [ColumnInfo]) {
    match plan {
        Logical::Limit { input, .. }
        | Logical::Sort { input, .. }
        | Logical::Filter { input, .. }
        | Logical::Distinct { input, .. } => store_values(input, columns),
        Logical::Project { items, .. } => {
            for (id, item) in items {
                let mut data_type = item.data_type.clone();
                if data_type.is_hex_literal() {
                    data_type.unsigned = false;
                } else if data_type.kind != TypeKind::Decimal {
                    continue;
                }
                columns[id.0 as usize].data_type = data_type.clone();
                let args = vec![std::mem::replace(item, Expr::null())];
                let (nullable, coercibility) = (args[0].nullable, args[0].coercibility);
                let kind = ExprKind::Call { function: FunctionId::AnyValue, args, option: CallOption::None };
                *item = Expr { kind, data_type, nullable, coercibility };
            }
        }
        _ => {}
    }
}

/// What a query in FROM gives has all digits of its type, merged or not.
fn keep_digits(plan: &mut Logical) {
    plan.result_items().iter_mut().for_each(|(_, item)| function::keep_all_digits(item));
}

/// Output columns under the names of a column list, if there is one.
pub(crate) fn rename(output: &[OutputColumn], names: &[Ident<'_>]) -> PlanResult<Vec<(Arc<str>, ColumnId)>> {
    if !names.is_empty() && names.len() != output.len() {
        return Err(PlanError::new(
            1353,
            "In definition of view, derived table or common table expression, SELECT list and column names list \
             have different column counts",
        ));
    }
    Ok(output
        .iter()
        .enumerate()
        .map(|(position, column)| match names.get(position) {
            Some(name) => (utf8(name.text).into(), column.id),
            None => (column.name.clone(), column.id),
        })
        .collect())
}
