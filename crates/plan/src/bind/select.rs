//! SELECT, ORDER BY and LIMIT; what queries may be made of.
//!
//! ```text
//! FROM -> Filter(WHERE) -> Aggregate -> Project(items) -> Filter(HAVING) -> Distinct -> Sort -> Limit
//! FROM -> Filter(WHERE) -> Aggregate -> Filter(HAVING) -> Window ... -> Project(items) -> Distinct -> Sort -> Limit
//! ```
//!
//! A select item that is a plain column keeps that column's number; any other gets a new one. Clauses above the
//! projection mean an item by its column, so that nothing is computed twice.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use catalog::names_equal;
use syntax::ast::{self, Limit, OrderItem, Query, QueryBody, Select, SelectItem, SetOp, TableRef};
use types::data_type::SCALE_NOT_FIXED;
use types::{DataType, TypeKind};

use super::first_error::first_of;
use super::scope::{Alias, AliasRule, ScopeColumns};
use super::{Binder, utf8};
use crate::error::{PlanError, PlanResult};
use crate::expr::{ColumnId, Expr, ExprKind};
use crate::function::{self, FunctionId};
use crate::logical::{
    AggregateCall, AggregateFunction, Created, Logical, OutputColumn, OutputSource, SortKey,
};

/// A bound query.
pub(crate) struct BoundQuery {
    pub(crate) plan: Logical,
    pub(crate) output: Vec<OutputColumn>,
    /// Columns of enclosing blocks it reads.
    pub(crate) outer: Vec<ColumnId>,
}

/// The truth of a constant.
fn is_true(constant: &types::Value) -> bool {
    use types::Value;
    match constant {
        Value::Null => false,
        Value::Int(number) => *number != 0,
        Value::UInt(number) => *number != 0,
        Value::Double(number) => *number != 0.0,
        Value::Decimal(number) => !number.is_zero(),
        Value::Bytes { bytes, collation } => {
            types::number::parse_double(&collation.charset().readable(bytes)).value != 0.0
        }
        _ => true,
    }
}

impl<'a> Binder<'a> {
    pub(crate) fn query(&mut self, query: &'a Query<'a>) -> PlanResult<BoundQuery> {
        self.query_in(query, false)
    }

    /// Binds a query; `derived`: it stands in FROM and does not see the tables beside it.
    pub(crate) fn query_in(&mut self, query: &'a Query<'a>, derived: bool) -> PlanResult<BoundQuery> {
        self.nested(|binder| binder.query_here(query, derived))
    }

    fn query_here(&mut self, query: &'a Query<'a>, derived: bool) -> PlanResult<BoundQuery> {
        let ctes = self.enter_with(query.with)?;
        let bound = self.query_body(query, derived);
        self.leave_with(ctes);
        let bound = bound?;
        for locking in query.locking {
            self.lock_tables(locking)?;
        }
        Ok(bound)
    }

    fn query_body(&mut self, query: &'a Query<'a>, derived: bool) -> PlanResult<BoundQuery> {
        if let QueryBody::Select(select) = query.body {
            return self.select(select, query.order_by, query.limit.as_ref(), derived);
        }
        let mut bound = self.body(&query.body, derived)?;
        if !query.order_by.is_empty() {
            let mut block = Self::derived_block(derived);
            block.clause = "order clause";
            self.blocks.push(block);
            let keys = self.order_over_output(query.order_by, &bound.output);
            let block = self.blocks.pop();
            bound.outer.extend(block.map(|block| block.outer).unwrap_or_default());
            bound.plan = Logical::Sort { input: Box::new(bound.plan), keys: keys? };
        }
        bound.plan = self.limit(bound.plan, query.limit.as_ref())?;
        Ok(bound)
    }

    pub(super) fn body(&mut self, body: &'a QueryBody<'a>, derived: bool) -> PlanResult<BoundQuery> {
        match body {
            QueryBody::Select(select) => self.select(select, &[], None, derived),
            QueryBody::Nested(query) => self.query_in(query, derived),
            QueryBody::Values(rows) => self.values(rows, derived),
            QueryBody::Table(name) => {
                self.blocks.push(Self::derived_block(derived));
                let entry = self.find_table(name);
                let bound = entry.and_then(|entry| {
                    let alias = entry.definition.name.clone();
                    self.note_table(name.name, &entry.definition.schema);
                    if let Some(view) = entry.definition.view.clone() {
                        let (plan, shown) = self.view(entry, &view, alias)?;
                        self.note_star(name.name.span.start, &shown);
                        let output =
                            shown.into_iter().map(|(at, ordinal)| self.output_of(at, ordinal)).collect();
                        return Ok(BoundQuery { plan, output, outer: Vec::new() });
                    }
                    let index = self.add_table(entry, alias.clone());
                    self.show_table(index, alias);
                    let shown = self.block().tables[0].shown();
                    let columns: Vec<_> = shown.iter().map(|&ordinal| (0, ordinal)).collect();
                    self.note_star(name.name.span.start, &columns);
                    let output = shown.into_iter().map(|ordinal| self.output_of(0, ordinal)).collect();
                    Ok(BoundQuery { plan: Logical::Scan { table: index }, output, outer: Vec::new() })
                });
                self.last_block = self.blocks.pop();
                bound
            }
            QueryBody::SetOp { op, all, left, right } => {
                let members = super::set_members::members(*op, *all, left, right);
                if *op != SetOp::Union && members.len() > super::QUERY_DEPTH_MAX as usize {
                    return Err(PlanError::new(1473, "Too high level of nesting for select"));
                }
                let bound = self.bound_members(&members, derived)?;
                self.set_operation(*op, *all, bound)
            }
        }
    }

    /// One query inside another.
    pub(super) fn nested(
        &mut self,
        bind: impl FnOnce(&mut Self) -> PlanResult<BoundQuery>,
    ) -> PlanResult<BoundQuery> {
        self.view_depth += 1;
        let bound = if self.view_depth > super::QUERY_DEPTH_MAX {
            Err(PlanError::new(1473, "Too high level of nesting for select"))
        } else {
            bind(self)
        };
        self.view_depth -= 1;
        bound
    }

    fn select(
        &mut self,
        select: &'a Select<'a>,
        order_by: &'a [OrderItem<'a>],
        limit: Option<&Limit<'a>>,
        derived: bool,
    ) -> PlanResult<BoundQuery> {
        self.blocks.push(Self::derived_block(derived));
        let bound = self.select_block(select, order_by, limit);
        let mut block = self.blocks.pop();
        let (plan, output) = bound?;
        let outer = block.as_mut().map(|block| std::mem::take(&mut block.outer)).unwrap_or_default();
        self.last_block = block;
        Ok(BoundQuery { plan, output, outer })
    }

    fn select_block(
        &mut self,
        select: &'a Select<'a>,
        order_by: &'a [OrderItem<'a>],
        limit: Option<&Limit<'a>>,
    ) -> PlanResult<(Logical, Vec<OutputColumn>)> {
        self.enter_windows(select.windows);
        if select.qualify.is_some() {
            return Err(PlanError::not_supported("QUALIFY"));
        }
        if select.options.calc_found_rows {
            self.bind_calc_found_rows()?;
        }
        self.block().holds_errors = true;
        self.block().has_rollup = matches!(select.grouping, ast::GroupingKind::Rollup);
        let mut tree = self.from(select.from)?;
        if select.options.whole_rows {
            self.show_whole_rows();
        }
        let is_fixed = self.may_have_hints && self.note_hints(select.span, select.hints);
        if select.options.straight_join || is_fixed {
            fix_join_order(&mut tree);
        }

        if let Some(condition) = select.where_ {
            self.block().clause = "where clause";
            // An error of WHERE comes before those of ON.
            let of_joins = self.block().error.take();
            let conditions = self.hold_error(|binder| binder.where_condition(condition))?;
            let error = &mut self.block().error;
            *error = first_of([error.take(), of_joins]);
            self.keep_conditions(&conditions, true);
            tree = Logical::Filter { input: Box::new(tree), conditions };
        }

        // The select list.
        if self.in_view() && self.blocks.len() == 1 {
            self.item_needs.clear();
        }
        self.block().clause = "field list";
        self.block().aggregates_allowed = true;
        self.block().windows_allowed = true;
        let is_kept = !order_by.is_empty() || select.options.distinct;
        self.block().is_plainly_grouped =
            !select.group_by.is_empty() && (is_kept || matches!(select.grouping, ast::GroupingKind::Plain));
        let mut items: Vec<(ColumnId, Expr)> = Vec::new();
        let mut output = Vec::new();
        for item in select.items {
            self.select_item(item, select.from.is_empty(), &mut items, &mut output)?;
        }
        self.release_conditions()?;

        self.block().windows_allowed = false;

        // GROUP BY.
        let grouped = !select.group_by.is_empty();
        let rollup = match select.grouping {
            ast::GroupingKind::Plain => false,
            ast::GroupingKind::Rollup => true,
            ast::GroupingKind::Cube => return Err(PlanError::not_supported("CUBE")),
        };
        if rollup && let Logical::Filter { conditions, .. } = &mut tree {
            // A condition that no row can meet leaves the constants of the row above the groups as they are.
            let is_false = |condition: &Expr| self.constant(condition).is_some_and(|value| !is_true(&value));
            if conditions.iter().any(is_false) {
                conditions.push(Expr::literal(types::Value::Int(0)));
            }
        }
        let mut keys: Vec<(ColumnId, Expr)> = Vec::new();
        let mut has_repeated = false;
        let mut unrecognized = Vec::new();
        self.block().clause = "group statement";
        self.block().alias_rule = AliasRule::After;
        for item in select.group_by {
            let unequal_rows = self.unequal_rows;
            let key = self.group_key(item, &items, &output)?;
            let has_unequal_rows = self.unequal_rows != unequal_rows;
            let is_repeated = keys.iter().any(|(_, other)| *other == key);
            has_repeated |= is_repeated;
            // Each key of ROLLUP is a level, one that came before as well; what is above reads the first of them.
            if !is_repeated || rollup {
                let own = key.as_column().filter(|id| !is_repeated && !self.block().outer.contains(id));
                let id = match own {
                    Some(id) => id,
                    None => self.new_column(&self.no_name(), key.data_type.clone(), key.nullable),
                };
                let is_written =
                    position_of(&item.expr).is_none() && !matches!(item.expr.kind, ast::ExprKind::Column(_));
                if is_written && (has_unequal_rows || key.any(&mut is_interval)) {
                    unrecognized.push(id);
                }
                keys.push((id, key));
            }
        }
        if rollup && has_repeated {
            self.read_own_levels(select.group_by, &mut keys, &mut items, &mut output);
        }
        let key_columns: Vec<ColumnId> = keys.iter().map(|(id, _)| *id).collect();
        self.block().group_columns.extend(&key_columns);

        // HAVING and ORDER BY.
        let mut having = Vec::new();
        if let Some(condition) = select.having {
            self.block().clause = "having clause";
            self.block().alias_rule = AliasRule::Having;
            having = self.condition(condition)?;
            self.refuse_windows_in_having(&having, &items)?;
            self.having_columns.extend(output.iter().map(|column| column.id));
        }
        self.block().clause = "order clause";
        self.block().alias_rule = AliasRule::Before;
        let mut is_one_row = !grouped && !self.block().aggregates.is_empty();
        self.block().windows_allowed = true;
        let mut sort = self.order_keys(order_by, &output)?;
        self.block().alias_rule = AliasRule::Never;
        if self.block().written_windows > 0 {
            self.bind_unused_windows()?;
        }
        self.block().windows_allowed = false;
        self.release_windows()?;
        self.check_joins()?;
        if !grouped && !is_one_row && !self.block().aggregates.is_empty() {
            // Window functions of ORDER BY may be what computes aggregates.
            is_one_row = self.first_aggregated(&sort).is_none();
        }
        if is_one_row {
            // One row needs no order. Its keys must have a meaning, but may be columns that are not grouped.
            sort.clear();
        }

        let aggregate_ids: Vec<ColumnId> = self.block().aggregates.iter().map(|(id, _)| *id).collect();
        let aggregated = grouped || !self.block().aggregates.is_empty();
        if aggregated && !grouped && !is_one_row {
            return Err(PlanError::new(
                3029,
                format!(
                    "Expression #{} of ORDER BY contains aggregate function and applies to the result of a \
                     non-aggregated query",
                    self.first_aggregated(&sort).unwrap_or(0) + 1
                ),
            ));
        }
        if select.from.is_empty() && !grouped {
            // Nor does the row of a query that reads nothing.
            sort.clear();
        }
        let steps = super::temporary::Steps {
            rows: &tree,
            conditions: where_of(select, &tree),
            having: &having,
            keys: &keys,
            rollup,
            distinct: select.options.distinct,
            is_buffered: select.options.buffer_result,
            is_big: select.options.big_result,
            has_windows: self.blocks.last().is_some_and(|block| !block.windows.is_empty()),
            gives_no_row: limit.is_some_and(is_limit_zero),
            sort: &sort,
            items: &items,
            follows_merged: super::temporary::follows_merged(&tree),
            positions: super::temporary::Positions::of(&items),
        };
        self.describe(&steps, &mut output);
        let stored_bits = stored_bits(&items, &output);
        self.describe_nulled(&items, &mut output);
        self.describe_passed_on(&steps, &mut output);
        self.create_merged(&tree, &mut output);
        let rolled: Vec<Expr> =
            if rollup { keys.iter().map(|(_, key)| key.clone()).collect() } else { Vec::new() };
        // What is the same in all rows orders none, and is not computed for it.
        sort.retain(|key| {
            let item = key.expr.as_column().and_then(|id| items.iter().find(|(item, _)| *item == id));
            let expr = item.map_or(&key.expr, |(_, expr)| expr);
            // A constant that ROLLUP groups by is NULL in the rows above the groups.
            !expr.is_constant() || rolled.contains(expr)
        });
        for key in &mut sort {
            let item = |id| items.iter().chain(&keys).find(|(other, _)| *other == id).map(|(_, item)| item);
            key.expr = super::stored::sorted(std::mem::replace(&mut key.expr, Expr::null()), item, &tree);
        }
        if aggregated {
            self.block().is_grouped = true;
            let conditions = where_of(select, &tree).to_vec();
            let group = super::group::Group { keys, rollup, grouped, unrecognized, conditions: &conditions };
            tree = self.aggregate_node(tree, group, &mut items, &mut output, &mut having, &mut sort)?;
        }
        if !stored_bits.is_empty() {
            let columns = output.iter_mut().map(|column| (column.id, &mut column.data_type));
            let items = items.iter_mut().map(|(id, item)| (*id, &mut item.data_type));
            for (id, of) in columns.chain(items) {
                if let Some(bits) = stored_bits.get(&id) {
                    of.clone_from(bits);
                }
            }
            for (id, bits) in stored_bits {
                self.columns[id.0 as usize].data_type = bits;
            }
        }
        let windows = std::mem::take(&mut self.block().windows);
        // A subquery of HAVING stays above what it reads: the rest of the select list is computed of the groups that it leaves.
        let is_late = matches!(tree, Logical::Aggregate { .. }) && having.iter().any(Expr::has_subquery);
        if windows.is_empty() && !is_late {
            if !items.is_empty() {
                tree = Logical::Project { input: Box::new(tree), items };
            }
            if !having.is_empty() {
                tree = Logical::Filter { input: Box::new(tree), conditions: having };
            }
        } else {
            self.block().has_windows |= !windows.is_empty();
            tree = with_windows(tree, windows, items, having);
        }
        if select.options.distinct {
            tree = self.distinct(tree, distinct_ids(&output), &sort, &aggregate_ids)?;
        }
        if !sort.is_empty() {
            tree = Logical::Sort { input: Box::new(tree), keys: sort };
        }
        Ok((self.limit(tree, limit)?, output))
    }

    /// Lets `*` show all columns of all tables, in the order of their definitions.
    #[cold]
    fn show_whole_rows(&mut self) {
        let tables = self.block().tables.iter().zip(0..);
        let columns = tables.flat_map(|(table, position)| (0..table.width()).map(move |at| (position, at)));
        self.block().star = columns.collect();
    }

    fn select_item(
        &mut self,
        item: &'a SelectItem<'a>,
        no_from: bool,
        items: &mut Vec<(ColumnId, Expr)>,
        output: &mut Vec<OutputColumn>,
    ) -> PlanResult<()> {
        match item {
            SelectItem::Star(span) => {
                if no_from {
                    return Err(PlanError::new(1096, "No tables used"));
                }
                if self.names.is_some() {
                    let star = self.block().star.clone();
                    self.note_star(span.start, &star);
                }
                for (table, ordinal) in self.block().star.clone() {
                    let needs = self.needs.columns.len();
                    let column = self.output_of(table, ordinal);
                    self.add_output(column, output);
                    self.note_item_needs(needs);
                }
                Ok(())
            }
            SelectItem::TableStar(name, span) => {
                let alias = utf8(name.name.text);
                let schema = name.schema.map(|schema| utf8(schema.text));
                let position = self.block().tables.iter().position(|table| {
                    *table.alias == *alias
                        && schema.as_ref().is_none_or(|schema| table.schema.as_deref() == Some(schema))
                });
                let Some(position) = position else {
                    return Err(PlanError::new(1051, format!("Unknown table '{alias}'")));
                };
                let shown = self.block().tables[position].shown();
                if self.names.is_some() {
                    let columns: Vec<_> = shown.iter().map(|&ordinal| (position as u32, ordinal)).collect();
                    self.note_star(span.start, &columns);
                }
                for ordinal in shown {
                    let needs = self.needs.columns.len();
                    let column = self.output_of(position as u32, ordinal);
                    self.add_output(column, output);
                    self.note_item_needs(needs);
                }
                Ok(())
            }
            SelectItem::Expr { expr, alias, source } => {
                let needs = self.needs.columns.len();
                let mut bound = self.expr(expr)?;
                self.note_item_needs(needs);
                if let Some(alias) = alias {
                    self.warn_of_blanks(&utf8(alias.text));
                }
                let own = match (alias, &expr.kind) {
                    (None, ast::ExprKind::Column(name)) => self.own_name(&bound, name.name.text),
                    _ => None,
                };
                let name = own.unwrap_or_else(|| {
                    shown_name(&match (alias, &expr.kind) {
                        (Some(alias), _) => utf8(alias.text),
                        // A variable of a stored program is named as it is written, parentheses too.
                        (None, ast::ExprKind::Column(_)) if matches!(bound.kind, ExprKind::Param(_)) => {
                            utf8(source.of(self.text).trim_ascii())
                        }
                        (None, ast::ExprKind::Column(name)) => match self.name_as_defined(&bound) {
                            Some(name) => name.to_string().into(),
                            None => utf8(name.name.text),
                        },
                        (None, ast::ExprKind::Literal(ast::Literal::Null)) => "NULL".into(),
                        // Not its parentheses.
                        (None, ast::ExprKind::Literal(ast::Literal::Number(_, text))) => utf8(text),
                        (None, ast::ExprKind::Param(_)) => "?".into(),
                        (None, ast::ExprKind::Literal(ast::Literal::String { value, .. })) => utf8(value),
                        (None, _) => utf8(source.of(self.text).trim_ascii()),
                    })
                });
                self.note_name(source.start, &name);
                Self::name_call(&mut bound, &name);
                let mut column = match bound.as_column() {
                    // A column of this block keeps its number; an aggregate's too, but it is no table's column.
                    Some(id) if !self.block().outer.contains(&id) => self.output_of_column(id, &bound),
                    _ => {
                        let id = self.new_column(&name, bound.data_type.clone(), bound.nullable);
                        self.columns[id.0 as usize].coercibility = Some(bound.coercibility);
                        self.columns[id.0 as usize].bits = function::bits_of(&bound);
                        let mut column =
                            self.plain_output(id, name.clone(), bound.data_type.clone(), bound.nullable);
                        column.created = created(&bound);
                        if column.created == Created::IfNull
                            && let Some(bits) = function::bits_of(&bound)
                        {
                            column.created_type = Some(DataType::bit(bits));
                        }
                        if is_sum_of_doubles(&bound) {
                            let wide = DataType { length: DOUBLE_SUM_WIDTH, ..bound.data_type.clone() };
                            column.created_type = Some(wide);
                        }
                        if matches!(bound.kind, ExprKind::Subquery(_)) {
                            column.source = OutputSource::Value;
                        } else if bound.is_stored_call() {
                            // Its value is in a variable of the function's type, which is described as a column is.
                            column.source = OutputSource::Column;
                            // CREATE TABLE ... SELECT makes texts of it as of other functions.
                            let of = &bound.data_type;
                            if !of.is_string() && of.members.is_none() {
                                column.created = Created::Column;
                            }
                            column.created_type = Some(of.clone());
                        }
                        items.push((id, bound.clone()));
                        column
                    }
                };
                column.name = name.clone();
                let shown = Expr {
                    kind: ExprKind::Column(column.id),
                    data_type: bound.data_type.clone(),
                    nullable: bound.nullable,
                    coercibility: bound.coercibility,
                };
                output.push(column);
                let is_field = self.is_field(&bound);
                self.block().aliases.push(Alias { name, shown, expr: bound, is_field });
                Ok(())
            }
        }
    }

    /// The name of the column that an item is, where that is what the result shows of its name as written.
    fn own_name(&self, bound: &Expr, written: &[u8]) -> Option<Arc<str>> {
        let own = &self.columns[bound.as_column()?.0 as usize].name;
        let is_shown = own.as_bytes() == written && own.is_ascii() && own.len() <= NAME_BYTES_MAX;
        (is_shown && without_leading_blanks(own).len() == own.len()).then(|| Arc::clone(own))
    }

    /// The name of a column of this block whose table shows it as defined, however it was written.
    fn name_as_defined(&self, bound: &Expr) -> Option<Arc<str>> {
        let id = bound.as_column()?;
        self.blocks.last()?.tables.iter().find_map(|table| match &table.columns {
            ScopeColumns::Base { first, definition, .. } if definition.shows_names_as_defined() => {
                let ordinal = id.0.checked_sub(first.0)? as usize;
                definition.columns.get(ordinal).map(|column| Arc::clone(&column.name))
            }
            _ => None,
        })
    }

    fn add_output(&mut self, column: OutputColumn, output: &mut Vec<OutputColumn>) {
        let expr = Expr::column(column.id, column.data_type.clone(), column.nullable);
        let is_field = self.is_field(&expr);
        self.block().aliases.push(Alias { name: column.name.clone(), shown: expr.clone(), expr, is_field });
        output.push(column);
    }

    /// The output column for a column of the current block, with its table's names.
    pub(crate) fn output_of(&mut self, table: u32, ordinal: u32) -> OutputColumn {
        let scope = &self.block().tables[table as usize];
        let (id, name) = (scope.column(ordinal), scope.name(ordinal));
        if let Some(table) = scope.catalog_table() {
            self.read_column(table, ordinal, true);
        }
        let expr = self.column_expr(id);
        OutputColumn { name, ..self.output_of_column(id, &expr) }
    }

    /// Warnings of an alias that loses the blanks before it.
    fn warn_of_blanks(&mut self, alias: &str) {
        let rest = without_leading_blanks(alias);
        if rest.is_empty() && !alias.is_empty() {
            self.warnings.push(*PlanError::new(1474, format!("Name '{alias}' has become ''")));
        } else if rest.len() < alias.len() {
            let text = format!("Leading spaces are removed from name '{alias}'");
            self.warnings.push(*PlanError::new(1466, text));
        }
    }

    /// An output column that is no table's.
    pub(super) fn plain_output(
        &self,
        id: ColumnId,
        name: Arc<str>,
        data_type: DataType,
        nullable: bool,
    ) -> OutputColumn {
        let empty = self.no_name();
        OutputColumn {
            id,
            name,
            table: empty.clone(),
            original_table: empty.clone(),
            original_name: empty.clone(),
            schema: empty,
            data_type,
            nullable,
            flags: 0,
            source: OutputSource::Expression,
            created: Created::Column,
            created_type: None,
            described_type: None,
            text: None,
        }
    }

    fn output_of_column(&mut self, id: ColumnId, expr: &Expr) -> OutputColumn {
        let info = &self.columns[id.0 as usize];
        let shown = self.blocks.last().and_then(|block| block.tables.iter().find(|table| table.holds(id)));
        let is_merged = info.origin.is_none() && !self.materialized_columns.contains(&id);
        let origin = info
            .origin
            .map(|(table, ordinal)| (&self.tables[table.0 as usize].entry.definition, ordinal as usize));
        let named = |name: Option<&Arc<str>>| name.map_or_else(|| self.no_name(), Arc::clone);
        let mut column = OutputColumn {
            id,
            name: info.name.clone(),
            table: named(shown.map(|table| &table.alias)),
            original_table: named(origin.map(|(definition, _)| &definition.name)),
            original_name: named(origin.map(|_| &info.name)),
            schema: named(origin.map(|(definition, _)| &definition.schema)),
            data_type: expr.data_type.clone(),
            nullable: expr.nullable,
            flags: origin.map_or(0, |(definition, ordinal)| column_flags(definition, ordinal)),
            source: match shown {
                Some(_) if !is_merged => OutputSource::Column,
                _ => OutputSource::Expression,
            },
            created: Created::Column,
            created_type: None,
            described_type: None,
            text: None,
        };
        if let Some(held) = self.temporary_columns.get(&id) {
            column.data_type = held.data_type.clone();
            column.flags = held.flags;
            column.source = held.source;
        }
        // CREATE TABLE ... SELECT keeps the members of which MIN or MAX gives the text.
        let aggregates = self.blocks.last().map_or(&[][..], |block| &block.aggregates);
        let extreme = aggregates.iter().find(|(aggregate, _)| *aggregate == id);
        if let Some(of) = extreme.and_then(|(_, call)| self.extreme_member(call)) {
            column.created_type = Some(of.clone());
        }
        column
    }

    /// WITH ROLLUP, where several keys are the same expression under different names: each select item reads the first key that
    /// means an item of its name. What has no key of its name reads the first of those keys that mean no item, or the first of all:
    /// a key means none where its name is that of another item, which the column hides.
    fn read_own_levels(
        &mut self,
        group_by: &[OrderItem<'_>],
        keys: &mut [(ColumnId, Expr)],
        items: &mut [(ColumnId, Expr)],
        output: &mut [OutputColumn],
    ) {
        let selected: Vec<Expr> = output
            .iter()
            .map(|column| match items.iter().find(|(id, _)| *id == column.id) {
                Some((_, expr)) => expr.clone(),
                None => self.column_expr(column.id),
            })
            .collect();
        let meant: Vec<Option<usize>> = group_by
            .iter()
            .zip(&*keys)
            .map(|(item, (_, key))| match (position_of(&item.expr), &item.expr.kind) {
                (Some(position), _) => position,
                (None, ast::ExprKind::Column(column)) => {
                    let name = utf8(column.name.text);
                    let is_key = |at: &usize| selected[*at] == *key;
                    let is_named = |at: &usize| names_equal(&output[*at].name, &name);
                    let mut equal = (0..selected.len()).filter(is_key);
                    // Columns of a derived table that are one column below it are distinguished by their names.
                    let is_derived = key.as_column().is_some_and(|id| self.derived_name(id).is_some());
                    if is_derived && column.table.is_some() {
                        return equal.find(is_named);
                    }
                    // With its table's name a column is the first item that is this column, whatever that is called.
                    let named = if column.table.is_some() { None } else { equal.clone().find(is_named) };
                    match named {
                        None if column.table.is_none() && (0..output.len()).any(|at| is_named(&at)) => None,
                        named => named.or_else(|| equal.next()),
                    }
                }
                (None, _) => selected.iter().position(|expr| expr == key),
            })
            .collect();
        for at in 0..keys.len() {
            let is_first_without_item = meant[at].is_none()
                && keys[at].1.as_column().is_some()
                && !(0..at).any(|other| meant[other].is_none() && keys[other].1 == keys[at].1);
            let read = (0..at)
                .find(|other| keys[*other].1 == keys[at].1 && keys[at].1.as_column() == Some(keys[*other].0));
            if let (true, Some(read)) = (is_first_without_item, read) {
                let id = keys[read].0;
                keys[read].0 = keys[at].0;
                keys[at].0 = id;
            }
        }
        for at in 0..output.len() {
            let is_own = |(number, (_, key)): &(usize, &(ColumnId, Expr))| {
                *key == selected[at]
                    && meant[*number].is_some_and(|other| names_equal(&output[other].name, &output[at].name))
            };
            let Some((_, (id, key))) = keys.iter().enumerate().find(is_own) else { continue };
            let own = Expr { kind: ExprKind::Column(*id), ..key.clone() };
            match items.iter_mut().find(|(item, _)| *item == output[at].id) {
                Some((_, expr)) => *expr = own,
                None => {
                    output[at].id = *id;
                    self.block().aliases[at].shown = own.clone();
                    self.block().aliases[at].expr = own;
                }
            }
        }
    }

    /// A key of GROUP BY: ordinal, column, alias or expression.
    fn group_key(
        &mut self,
        item: &'a OrderItem<'a>,
        items: &[(ColumnId, Expr)],
        output: &[OutputColumn],
    ) -> PlanResult<Expr> {
        let key = match position_of(&item.expr) {
            Some(position) => {
                let column = position.and_then(|position| output.get(position)).ok_or_else(|| {
                    let text = utf8(item.expr.span.of(self.text)).into_owned();
                    PlanError::new(1054, format!("Unknown column '{text}' in 'group statement'"))
                })?;
                match items.iter().find(|(id, _)| *id == column.id) {
                    Some((_, expr)) => expr.clone(),
                    None => self.column_expr(column.id),
                }
            }
            None => {
                if let ast::ExprKind::Column(name) = item.expr.kind {
                    self.check_common_joins(name)?;
                }
                self.block().is_group_name = matches!(item.expr.kind, ast::ExprKind::Column(_));
                self.block().aggregates_allowed = false;
                let bound = match self.selected_by_common_name(&item.expr) {
                    Some(selected) => Ok(selected),
                    None => self.expr(&item.expr).or_else(|error| match error.number {
                        1052 => self.selected_by_name(&item.expr).ok_or(error),
                        _ => Err(error),
                    }),
                };
                self.block().aggregates_allowed = true;
                let bound = bound.map_err(|error| {
                    if error.number == 1111 {
                        let text = utf8(item.expr.span.of(self.text)).into_owned();
                        PlanError::new(1056, format!("Can't group on '{text}'"))
                    } else {
                        error
                    }
                })?;
                match bound.as_column().and_then(|id| items.iter().find(|(item, _)| *item == id)) {
                    Some((_, expr)) => expr.clone(),
                    None => match self.same_item(&item.expr, &bound) {
                        Some((_, expr)) => expr.clone(),
                        None => bound,
                    },
                }
            }
        };
        let windowed = self.window_columns();
        let aggregates = &self.block().aggregates;
        if key.reads_any(&windowed)
            || key.any(&mut |node| {
                node.as_column().is_some_and(|id| aggregates.iter().any(|(other, _)| *other == id))
            })
        {
            let is_grouping = |(id, call): &(ColumnId, AggregateCall)| {
                call.function == AggregateFunction::Grouping && key.reads_any(&[*id])
            };
            let text = match aggregates.iter().any(is_grouping) {
                true => "GROUPING function".into(),
                false => utf8(item.expr.span.of(self.text)).into_owned(),
            };
            return Err(PlanError::new(1056, format!("Can't group on '{text}'")));
        }
        Ok(key)
    }

    fn order_keys(
        &mut self,
        order_by: &'a [OrderItem<'a>],
        output: &[OutputColumn],
    ) -> PlanResult<Vec<SortKey>> {
        let mut keys: Vec<SortKey> = Vec::new();
        for item in order_by {
            let expr = match position_of(&item.expr) {
                Some(position) => {
                    let column = position.and_then(|position| output.get(position)).ok_or_else(|| {
                        let text = utf8(item.expr.span.of(self.text)).into_owned();
                        PlanError::new(1054, format!("Unknown column '{text}' in 'order clause'"))
                    })?;
                    self.column_expr(column.id)
                }
                None => self.order_item(&item.expr)?,
            };
            // A constant orders nothing; a key that came before cannot order again.
            if expr.as_literal().is_some() || keys.iter().any(|key| key.expr == expr) {
                continue;
            }
            keys.push(SortKey { expr, descending: item.desc == Some(true) });
        }
        Ok(keys)
    }

    /// A key of ORDER BY that is no position: what equals a select item is that item.
    fn order_item(&mut self, expr: &'a ast::Expr<'a>) -> PlanResult<Expr> {
        let is_name = matches!(expr.kind, ast::ExprKind::Column(_));
        let rule = self.block().alias_rule;
        if !is_name && rule == AliasRule::Before {
            self.block().alias_rule = AliasRule::Within;
        }
        let bound = self.expr(expr);
        self.block().alias_rule = rule;
        let bound = bound?;
        if bound.as_column().is_some() {
            return Ok(bound);
        }
        Ok(match self.same_item(expr, &bound) {
            Some((shown, _)) => shown.clone(),
            None => bound,
        })
    }

    /// The select item that an expression equals, as a column and as an expression. Subqueries are compared by their text.
    fn same_item(&self, expr: &ast::Expr<'_>, bound: &Expr) -> Option<(&Expr, &Expr)> {
        // MySQL does not recognise an item that is a subquery and nothing else.
        if !crate::rewrite::is_repeatable(bound) || matches!(bound.kind, ExprKind::Subquery(_)) {
            return None;
        }
        let has_subquery = bound.has_subquery();
        let text = if has_subquery { utf8(expr.span.of(self.text)) } else { "".into() };
        let is_same = |name: &str, item: &Expr| {
            if has_subquery { item.has_subquery() && *name == *text } else { item == bound }
        };
        let aliases = &self.blocks.last()?.aliases;
        let item = aliases.iter().find(|alias| is_same(&alias.name, &alias.expr));
        item.map(|alias| (&alias.shown, &alias.expr))
    }

    /// Position of the first key that is made of aggregates.
    fn first_aggregated(&self, sort: &[SortKey]) -> Option<usize> {
        let aggregates = self.blocks.last().map_or(&[][..], |block| &block.aggregates);
        let is_aggregated = |key: &SortKey| {
            let mut found = false;
            key.expr.each_column(&mut |id| found |= aggregates.iter().any(|(other, _)| *other == id));
            found
        };
        sort.iter().position(is_aggregated)
    }

    /// SQL_CALC_FOUND_ROWS.
    fn bind_calc_found_rows(&mut self) -> PlanResult<()> {
        if self.blocks.len() > 1 {
            return Err(PlanError::new(1234, "Incorrect usage/placement of 'SQL_CALC_FOUND_ROWS'"));
        }
        self.calc_found_rows = true;
        self.warn_deprecated("SQL_CALC_FOUND_ROWS", "Consider using two separate queries instead.");
        Ok(())
    }

    /// ORDER BY of a set operation: over its output columns.
    pub(super) fn order_over_output(
        &mut self,
        order_by: &'a [OrderItem<'a>],
        output: &[OutputColumn],
    ) -> PlanResult<Vec<SortKey>> {
        self.block().alias_rule = AliasRule::Before;
        for column in output {
            let expr = self.column_expr(column.id);
            let (name, shown) = (column.name.clone(), expr.clone());
            self.block().aliases.push(Alias { name, shown, expr, is_field: true });
        }
        self.order_keys(order_by, output)
    }

    pub(crate) fn limit(&mut self, input: Logical, limit: Option<&Limit<'a>>) -> PlanResult<Logical> {
        let Some(limit) = limit else { return Ok(input) };
        let count = Some(self.limit_value(&limit.count)?);
        let offset = limit.offset.as_ref().map(|offset| self.limit_value(offset)).transpose()?;
        Ok(Logical::Limit { input: Box::new(input), count, offset })
    }

    pub(crate) fn limit_value(&mut self, expr: &ast::Expr<'_>) -> PlanResult<Expr> {
        match &expr.kind {
            ast::ExprKind::Param(ordinal) => {
                self.limit_parameters.push(*ordinal);
                let mut limit = self.parameter(*ordinal);
                function::derive_limit(&mut limit, &self.types);
                self.note_parameters(std::slice::from_ref(&limit));
                Ok(limit)
            }
            ast::ExprKind::Literal(literal) => self.literal(literal, expr.span.start),
            ast::ExprKind::Column(column) => match self.local_variable(column.name.text) {
                // As MySQL has it, whole numbers only.
                Some(variable) if variable.data_type.is_integer() => Ok(variable),
                Some(_) => {
                    Err(PlanError::new(1691, "A variable of a non-integer based type in LIMIT clause"))
                }
                None => {
                    let name = utf8(column.name.text);
                    Err(PlanError::new(1327, format!("Undeclared variable: {name}")))
                }
            },
            _ => Err(PlanError::new(1210, "Incorrect arguments to LIMIT")),
        }
    }

    /// SELECT DISTINCT. It can be ordered by what it selects and by aggregates of its groups; without ONLY_FULL_GROUP_BY by
    /// other columns too, of which it keeps those of one of the equal rows.
    fn distinct(
        &mut self,
        tree: Logical,
        columns: Vec<ColumnId>,
        sort: &[SortKey],
        aggregates: &[ColumnId],
    ) -> PlanResult<Logical> {
        let mut kept: Vec<ColumnId> = Vec::new();
        for (position, key) in sort.iter().enumerate() {
            let mut missing = Vec::new();
            let mut refused = None;
            let block = self.blocks.last().expect("a block is being bound");
            super::group::each_read(&key.expr, &mut |id, is_in_any_value| {
                if !columns.contains(&id) && !block.outer.contains(&id) {
                    missing.push(id);
                    // What stands in ANY_VALUE is not asked for.
                    let is_free = is_in_any_value && block.free_columns.contains(&id);
                    if refused.is_none() && !is_free && !aggregates.contains(&id) {
                        refused = Some(id);
                    }
                }
            });
            if let Some(id) = refused.filter(|_| self.session.only_full_group_by()) {
                return Err(PlanError::new(
                    3065,
                    format!(
                        "Expression #{} of ORDER BY clause is not in SELECT list, references column '{}' which is \
                         not in SELECT list; this is incompatible with DISTINCT",
                        position + 1,
                        self.derived_name(id).unwrap_or_else(|| self.full_name(id))
                    ),
                ));
            }
            kept.extend(missing);
        }
        if kept.is_empty() {
            return Ok(Logical::Distinct { input: Box::new(tree), columns });
        }
        kept.sort_unstable();
        kept.dedup();
        let keys = columns.into_iter().map(|id| (id, self.column_expr(id))).collect();
        let calls = kept.into_iter().map(|id| (id, super::group::any_value(self.column_expr(id)))).collect();
        Ok(Logical::Aggregate { input: Box::new(tree), keys, calls, rollup: false })
    }

    /// A locking clause: it is about the tables in FROM of the SELECT before it, not about those of derived tables and of other
    /// members of a set operation.
    pub(super) fn lock_tables(&mut self, locking: &ast::Locking<'_>) -> PlanResult<()> {
        let wait = match locking.wait {
            ast::LockWait::Wait => catalog::LockWait::Wait,
            ast::LockWait::NoWait => catalog::LockWait::NoWait,
            ast::LockWait::SkipLocked => catalog::LockWait::SkipLocked,
        };
        let shown = self.last_block.as_ref().map_or(&[][..], |block| &block.tables);
        let mut named = vec![false; locking.tables.len()];
        for shown in shown {
            let position = locking.tables.iter().position(|name| *shown.alias == *utf8(name.name.text));
            if let Some(position) = position {
                named[position] = true;
            } else if !locking.tables.is_empty() {
                continue;
            }
            match shown.columns {
                ScopeColumns::Base { table, .. } => {
                    self.tables[table.0 as usize].lock = Some((locking.exclusive, wait));
                }
                ScopeColumns::Derived { view: Some(view), .. } => {
                    for need in self.needs.tables.iter().filter(|need| need.view == Some(view)) {
                        self.tables[need.table.0 as usize].lock = Some((locking.exclusive, wait));
                    }
                }
                // What MySQL says of a derived table that is named.
                ScopeColumns::Derived { .. } if position.is_some() => {
                    let text = format!("Table `{}` appears in multiple locking clauses.", shown.alias);
                    return Err(PlanError::new(3569, text));
                }
                ScopeColumns::Derived { .. } => {}
            }
        }
        if let Some(missing) = named.iter().position(|named| !named) {
            let name = utf8(locking.tables[missing].name.text);
            return Err(PlanError::new(3568, format!("Unresolved table name `{name}` in locking clause.")));
        }
        Ok(())
    }
}

/// The steps of a block with windows, or subqueries in HAVING: HAVING below them, the select list above, but for what these read of it.
fn with_windows(
    mut tree: Logical,
    windows: Vec<super::window::BoundWindow>,
    items: Vec<(ColumnId, Expr)>,
    having: Vec<Expr>,
) -> Logical {
    let mut read: HashSet<ColumnId> = HashSet::new();
    let mut note = |expr: &Expr| {
        expr.each_column(&mut |id| {
            read.insert(id);
        });
    };
    having.iter().for_each(&mut note);
    windows.iter().for_each(|window| window.each_expr(&mut note));
    let (early, late): (Vec<_>, Vec<_>) = items.into_iter().partition(|(id, _)| read.contains(id));
    if !early.is_empty() {
        tree = Logical::Project { input: Box::new(tree), items: early };
    }
    if !having.is_empty() {
        tree = Logical::Filter { input: Box::new(tree), conditions: having };
    }
    tree = Binder::window_nodes(tree, windows);
    if !late.is_empty() {
        tree = Logical::Project { input: Box::new(tree), items: late };
    }
    tree
}

/// The width of a column that CREATE TABLE ... SELECT makes of what is computed of DOUBLE values with fixed digits.
const DOUBLE_SUM_WIDTH: u32 = 22;

/// Arithmetic whose result is a DOUBLE with fixed digits of its fraction.
fn is_sum_of_doubles(expr: &Expr) -> bool {
    use FunctionId as F;
    matches!(
        expr.kind,
        ExprKind::Call { function: F::Add | F::Sub | F::Mul | F::Div | F::Mod | F::Neg | F::Abs, .. }
    ) && expr.data_type.kind == TypeKind::Double
        && expr.data_type.scale != SCALE_NOT_FIXED
}

/// What COALESCE and its like give of BIT values is bits again where the rows are stored in a temporary table.
fn stored_bits(items: &[(ColumnId, Expr)], output: &[OutputColumn]) -> HashMap<ColumnId, DataType> {
    let mut bits: HashMap<ColumnId, DataType> = HashMap::new();
    bits.extend(items.iter().filter_map(|(id, item)| Some((*id, DataType::bit(function::bits_of(item)?)))));
    if !bits.is_empty() {
        let is_kept = |column: &&OutputColumn| column.source == OutputSource::TemporaryTable;
        let kept: HashSet<ColumnId> = output.iter().filter(is_kept).map(|column| column.id).collect();
        bits.retain(|id, _| kept.contains(id));
    }
    bits
}

/// How this item of a select list is computed.
fn created(item: &Expr) -> Created {
    match &item.kind {
        // A minus is a function, whatever it stands before.
        ExprKind::Literal(types::Value::Int(..0)) => Created::Function,
        ExprKind::Literal(_) | ExprKind::Subquery(_) | ExprKind::Param(_) => Created::Value,
        ExprKind::Call { function: FunctionId::IfNull, .. } => Created::IfNull,
        ExprKind::Column(_) => Created::Column,
        _ => Created::Function,
    }
}

fn is_limit_zero(limit: &Limit<'_>) -> bool {
    limit.offset.is_none()
        && matches!(
            limit.count.kind,
            ast::ExprKind::Literal(ast::Literal::Number(ast::NumberKind::Integer, b"0"))
        )
}

/// The flags that a table's column has in its definition packet beside those of its type.
pub(super) fn column_flags(definition: &catalog::TableDefinition, ordinal: usize) -> u16 {
    use types::data_type::column_flag as flag;
    let column = &definition.columns[ordinal];
    let mut flags = 0;
    for (position, index) in definition.indexes.iter().enumerate() {
        // MySQL takes the first unique key without NULL for the primary key of a table that has none.
        let is_primary = index.is_primary() || definition.clustered == Some(position);
        if index.parts.iter().any(|part| part.column == ordinal) {
            flags |= flag::PART_KEY;
        }
        if is_primary && index.parts.iter().any(|part| part.column == ordinal) {
            flags |= flag::PRIMARY_KEY;
        } else if index.parts.first().is_some_and(|part| part.column == ordinal) {
            flags |= if index.is_unique() && index.parts.len() == 1 {
                flag::UNIQUE_KEY
            } else {
                flag::MULTIPLE_KEY
            };
        }
    }
    if column.auto_increment {
        flags |= flag::AUTO_INCREMENT;
    }
    if column.on_update_now {
        flags |= flag::ON_UPDATE_NOW | flag::TIMESTAMP;
    }
    if !column.nullable && column.default == catalog::ColumnDefault::None && !column.auto_increment {
        flags |= flag::NO_DEFAULT_VALUE;
    }
    flags
}

fn is_interval(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Call { function: FunctionId::Interval, .. })
}

/// A bare integer in GROUP BY or ORDER BY is a position; inner `None`: not a possible one.
pub(super) fn position_of(expr: &ast::Expr<'_>) -> Option<Option<usize>> {
    match expr.kind {
        ast::ExprKind::Literal(ast::Literal::Number(ast::NumberKind::Integer, text)) => {
            let position = std::str::from_utf8(text).ok().and_then(|text| text.parse::<usize>().ok());
            Some(position.and_then(|position| position.checked_sub(1)))
        }
        _ => None,
    }
}

/// Output columns without repetition.
fn distinct_ids(output: &[OutputColumn]) -> Vec<ColumnId> {
    let mut ids = Vec::with_capacity(output.len());
    for column in output {
        if !ids.contains(&column.id) {
            ids.push(column.id);
        }
    }
    ids
}

/// The conditions of WHERE, at the top of a block's tree until its groups are made.
fn where_of<'t>(select: &Select<'_>, tree: &'t Logical) -> &'t [Expr] {
    match tree {
        Logical::Filter { conditions, .. } if select.where_.is_some() => conditions,
        _ => &[],
    }
}

/// SELECT STRAIGHT_JOIN: every inner join keeps its order.
pub(super) fn fix_join_order(tree: &mut Logical) {
    if let Logical::Join { kind, left, right, .. } = tree {
        if *kind == crate::logical::JoinKind::Inner {
            *kind = crate::logical::JoinKind::Straight;
        }
        fix_join_order(left);
        fix_join_order(right);
    }
}

/// Whether a table of this name stands in FROM of the query or of a query in its FROM.
pub(crate) fn references_table(query: &Query<'_>, name: &[u8]) -> bool {
    body_references(&query.body, name)
}

pub(super) fn body_references(body: &QueryBody<'_>, name: &[u8]) -> bool {
    match body {
        QueryBody::Select(select) => select.from.iter().any(|table| table_ref_references(table, name)),
        QueryBody::Values(_) => false,
        QueryBody::Table(table) => table.schema.is_none() && table.name.text.eq_ignore_ascii_case(name),
        QueryBody::SetOp { left, right, .. } => body_references(left, name) || body_references(right, name),
        QueryBody::Nested(query) => references_table(query, name),
    }
}

fn table_ref_references(table: &TableRef<'_>, name: &[u8]) -> bool {
    match table {
        TableRef::Table(factor) => {
            factor.name.schema.is_none() && factor.name.name.text.eq_ignore_ascii_case(name)
        }
        TableRef::Derived { query, .. } => references_table(query, name),
        TableRef::JsonTable(_) => false,
        TableRef::Join(join) => {
            table_ref_references(&join.left, name) || table_ref_references(&join.right, name)
        }
        TableRef::List(list) => list.iter().any(|table| table_ref_references(table, name)),
    }
}

/// Bytes of the longest name of a column of a result.
const NAME_BYTES_MAX: usize = 255;

/// The name of a column of a result: MySQL leaves leading blanks and control characters out, has no characters beyond the
/// basic plane in names, and cuts what is longer, such as a literal of 64 MB.
fn shown_name(text: &str) -> Arc<str> {
    let text = without_leading_blanks(text);
    if text.len() <= NAME_BYTES_MAX && text.is_ascii() {
        return text.into();
    }
    let end = (0..=NAME_BYTES_MAX.min(text.len())).rev().find(|&end| text.is_char_boundary(end));
    let end = end.unwrap_or(0);
    if text[..end].chars().all(is_in_names) {
        return text[..end].into();
    }
    let mut name = String::with_capacity(NAME_BYTES_MAX);
    for char in text.chars() {
        let char = if is_in_names(char) { char } else { '?' };
        if name.len() + char.len_utf8() > NAME_BYTES_MAX {
            break;
        }
        name.push(char);
    }
    name.into()
}

fn without_leading_blanks(name: &str) -> &str {
    name.trim_start_matches(|char: char| char == ' ' || char.is_ascii_control())
}

/// Names are of the characters of utf8mb3.
fn is_in_names(char: char) -> bool {
    char.len_utf8() <= 3
}
