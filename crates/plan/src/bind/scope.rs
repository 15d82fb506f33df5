//! What names mean in one query block.

use std::sync::Arc;

use catalog::{NameMap, TableDefinition, names_equal};
use syntax::ast::{self, ColumnRef};

use super::first_error::HeldError;
use super::window::BoundWindow;
use super::{Binder, utf8};
use crate::error::{PlanError, PlanResult};
use crate::expr::{ColumnId, Expr};
use crate::logical::{AggregateCall, TableIndex};

/// The clauses that look at select aliases.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum AliasRule {
    /// Aliases are not seen.
    #[default]
    Never,
    /// Columns first, then aliases (GROUP BY).
    After,
    /// Aliases first, then columns (a name that is a whole key of ORDER BY).
    Before,
    /// Columns first, then aliases (inside an expression of ORDER BY).
    Within,
    /// As `Before`, and columns only if selected or grouped (HAVING).
    Having,
}

/// A table, or what stands for one, in FROM.
#[derive(Clone)]
pub(crate) struct ScopeTable {
    pub(crate) alias: Arc<str>,
    pub(crate) schema: Option<Arc<str>>,
    pub(crate) columns: ScopeColumns,
}

/// Where a scope table's columns are found.
#[derive(Clone)]
pub(crate) enum ScopeColumns {
    Base {
        first: ColumnId,
        definition: Arc<TableDefinition>,
        table: TableIndex,
    },
    Derived {
        names: NameMap,
        columns: Vec<(Arc<str>, ColumnId)>,
        /// It is this view.
        view: Option<TableIndex>,
    },
}

impl ScopeTable {
    /// Whether the column is one of this table's.
    pub(crate) fn holds(&self, id: ColumnId) -> bool {
        match &self.columns {
            ScopeColumns::Base { first, definition, .. } => {
                let ordinal = id.0.checked_sub(first.0);
                ordinal.is_some_and(|ordinal| (ordinal as usize) < definition.columns.len())
            }
            ScopeColumns::Derived { columns, .. } => columns.iter().any(|(_, other)| *other == id),
        }
    }

    /// The mention of a table or view of the catalog that it is.
    pub(crate) fn catalog_table(&self) -> Option<TableIndex> {
        match self.columns {
            ScopeColumns::Base { table, .. } => Some(table),
            ScopeColumns::Derived { view, .. } => view,
        }
    }

    pub(crate) fn find(&self, name: &str) -> Option<(u32, ColumnId)> {
        match &self.columns {
            ScopeColumns::Base { first, definition, .. } => definition
                .column_ordinal(name)
                .map(|ordinal| (ordinal as u32, ColumnId(first.0 + ordinal as u32))),
            ScopeColumns::Derived { names, columns, .. } => {
                names.get(name).map(|ordinal| (ordinal as u32, columns[ordinal].1))
            }
        }
    }

    /// How many columns it has.
    pub(crate) fn width(&self) -> u32 {
        match &self.columns {
            ScopeColumns::Base { definition, .. } => definition.columns.len() as u32,
            ScopeColumns::Derived { columns, .. } => columns.len() as u32,
        }
    }

    pub(crate) fn column(&self, ordinal: u32) -> ColumnId {
        match &self.columns {
            ScopeColumns::Base { first, .. } => ColumnId(first.0 + ordinal),
            ScopeColumns::Derived { columns, .. } => columns[ordinal as usize].1,
        }
    }

    pub(crate) fn name(&self, ordinal: u32) -> Arc<str> {
        match &self.columns {
            ScopeColumns::Base { definition, .. } => definition.columns[ordinal as usize].name.clone(),
            ScopeColumns::Derived { columns, .. } => columns[ordinal as usize].0.clone(),
        }
    }

    /// Calls `visit` with the ordinals that `*` shows.
    pub(crate) fn each_shown(&self, visit: &mut dyn FnMut(u32)) {
        match &self.columns {
            ScopeColumns::Base { definition, .. } => {
                let columns = definition.columns.iter().zip(0..);
                columns.filter(|(column, _)| !column.invisible).for_each(|(_, ordinal)| visit(ordinal));
            }
            ScopeColumns::Derived { columns, .. } => (0..columns.len() as u32).for_each(visit),
        }
    }

    /// Ordinals that `*` shows.
    pub(crate) fn shown(&self) -> Vec<u32> {
        let mut shown = Vec::with_capacity(self.width() as usize);
        self.each_shown(&mut |ordinal| shown.push(ordinal));
        shown
    }

    fn is(&self, schema: Option<&str>, alias: &str) -> bool {
        *self.alias == *alias && schema.is_none_or(|schema| self.schema.as_deref() == Some(schema))
    }
}

/// A name of the select list.
pub(crate) struct Alias {
    pub(crate) name: Arc<str>,
    /// The item's column above the projection.
    pub(crate) shown: Expr,
    pub(crate) expr: Expr,
    /// A column of a table, or of a query in FROM that is materialised, and no expression of a merged one: two of one name that
    /// differ are ambiguous.
    pub(crate) is_field: bool,
}

/// A join with USING or NATURAL, in which MySQL looks for a name as in one table.
pub(crate) struct CommonJoin {
    /// Positions of its tables in the block.
    pub(crate) tables: std::ops::Range<usize>,
    /// Another table comes before it: of RIGHT JOIN the right side does.
    pub(crate) is_later: bool,
}

/// One SELECT while it is bound.
pub(crate) struct Block {
    pub(crate) tables: Vec<ScopeTable>,
    /// Positions of tables that a LATERAL query does not see: the left side of the RIGHT JOIN on whose right side it stands.
    pub(crate) unseen: Vec<std::ops::Range<usize>>,
    /// Columns of a JOIN USING that another table's column stands for: not found without qualifier.
    pub(crate) hidden: Vec<(u32, u32)>,
    /// Joins with USING or NATURAL.
    pub(crate) common_joins: Vec<CommonJoin>,
    /// The item of GROUP BY that is bound is nothing but a name: MySQL warns where a select item has it, too.
    pub(crate) is_group_name: bool,
    /// What `*` shows, in order: (table, ordinal).
    pub(crate) star: Vec<(u32, u32)>,
    /// The select list.
    pub(crate) aliases: Vec<Alias>,
    /// Columns of GROUP BY.
    pub(crate) group_columns: Vec<ColumnId>,
    /// Columns inside ANY_VALUE: not checked by ONLY_FULL_GROUP_BY.
    pub(crate) free_columns: Vec<ColumnId>,
    pub(crate) aggregates: Vec<(ColumnId, AggregateCall)>,
    /// Its windows that functions use, with these.
    pub(crate) windows: Vec<BoundWindow>,
    /// Where window functions may stand: the select list and ORDER BY.
    pub(crate) windows_allowed: bool,
    /// Windows that are written in it.
    pub(crate) written_windows: usize,
    /// It has window functions.
    pub(crate) has_windows: bool,
    /// Columns read from enclosing blocks.
    pub(crate) outer: Vec<ColumnId>,
    /// For error texts.
    pub(crate) clause: &'static str,
    pub(crate) alias_rule: AliasRule,
    pub(crate) aggregates_allowed: bool,
    pub(crate) in_aggregate: bool,
    /// It has groups, of which GROUP BY may say nothing.
    pub(crate) is_grouped: bool,
    /// GROUP BY is written in it, without ROLLUP or with its groups in a temporary table.
    pub(crate) is_plainly_grouped: bool,
    /// GROUP BY ... WITH ROLLUP.
    pub(crate) has_rollup: bool,
    /// A derived table: does not see the tables of the block around it.
    pub(crate) skips_parent: bool,
    /// What is bound is part of a join with USING or NATURAL.
    pub(crate) is_within_common: bool,
    /// Conditions are bound after the select list in MySQL: an error of the list comes before [`Block::error`].
    pub(crate) holds_errors: bool,
    /// What is wrong with a condition.
    pub(crate) error: Option<HeldError>,
    /// What is wrong with windows, and where the first of these stands in the WINDOW clause.
    pub(crate) window_error: Option<(usize, HeldError)>,
    /// What stands left of IN (subquery) and its like is bound, which messages name in place of the clause.
    pub(crate) is_left_of_subquery: bool,
    /// What is wrong with a subquery that becomes a join, once the block is bound.
    pub(crate) join_error: Option<Box<PlanError>>,
    /// Of a view that rows may be changed through: WHERE and the conditions of joins.
    pub(crate) kept_conditions: Vec<Expr>,
    /// It has a WHERE, which is kept.
    pub(crate) has_where: bool,
    /// The mentions of tables in the conditions of its joins.
    pub(crate) tables_of_on: Vec<std::ops::Range<usize>>,
}

impl Block {
    /// The clause as messages name it.
    fn shown_clause(&self) -> &'static str {
        if self.is_left_of_subquery { "IN/ALL/ANY subquery" } else { self.clause }
    }

    pub(crate) fn new(clause: &'static str) -> Block {
        Block {
            tables: Vec::new(),
            unseen: Vec::new(),
            hidden: Vec::new(),
            common_joins: Vec::new(),
            is_group_name: false,
            star: Vec::new(),
            aliases: Vec::new(),
            group_columns: Vec::new(),
            free_columns: Vec::new(),
            aggregates: Vec::new(),
            windows: Vec::new(),
            windows_allowed: false,
            written_windows: 0,
            has_windows: false,
            outer: Vec::new(),
            clause,
            alias_rule: AliasRule::Never,
            aggregates_allowed: false,
            in_aggregate: false,
            is_grouped: false,
            is_plainly_grouped: false,
            has_rollup: false,
            skips_parent: false,
            is_within_common: false,
            holds_errors: false,
            error: None,
            window_error: None,
            is_left_of_subquery: false,
            join_error: None,
            kept_conditions: Vec::new(),
            has_where: false,
            tables_of_on: Vec::new(),
        }
    }
}

impl Block {
    /// Marks the joins with USING or NATURAL of these tables: another table comes before them.
    pub(crate) fn mark_later(&mut self, tables: impl std::ops::RangeBounds<usize>) {
        let is_within = |join: &&mut CommonJoin| tables.contains(&join.tables.start);
        self.common_joins.iter_mut().filter(is_within).for_each(|join| join.is_later = true);
    }

    /// Whether a LATERAL query that is bound does not see this table.
    fn is_unseen(&self, position: usize) -> bool {
        self.unseen.iter().any(|range| range.contains(&position))
    }

    /// Whether this table of the catalog stands in FROM by itself.
    pub(crate) fn shows(&self, table: TableIndex) -> bool {
        self.tables
            .iter()
            .any(|shown| matches!(shown.columns, ScopeColumns::Base { table: other, .. } if other == table))
    }
}

/// What a lookup in one block gave.
enum Found {
    Nothing,
    /// The table, the ordinal and the column; whether the name is also that of another select item.
    Column(u32, u32, ColumnId, bool),
    Alias(Expr),
}

impl Binder<'_> {
    pub(crate) fn block(&mut self) -> &mut Block {
        self.blocks.last_mut().expect("expressions are bound inside a block")
    }

    /// Shows a base table in the current block.
    pub(crate) fn show_table(&mut self, index: TableIndex, alias: Arc<str>) {
        let table = &self.tables[index.0 as usize];
        let columns = ScopeColumns::Base {
            first: table.first_column,
            definition: table.entry.definition.clone(),
            table: index,
        };
        let schema = Some(table.entry.definition.schema.clone());
        self.block().tables.push(ScopeTable { alias, schema, columns });
    }

    /// The select item of this name. Columns must not differ; the first item that is another expression comes before them.
    fn find_alias<'b>(
        block: &'b Block,
        column: &str,
        inlined: bool,
        ambiguous: &dyn Fn() -> PlanResult<Found>,
    ) -> PlanResult<Option<&'b Expr>> {
        let mut found: Option<&Alias> = None;
        for alias in block.aliases.iter().filter(|alias| names_equal(&alias.name, column)) {
            if !alias.is_field {
                found = Some(alias);
                break;
            }
            if found.is_some_and(|other| other.expr != alias.expr) {
                ambiguous()?;
            }
            found = Some(alias);
        }
        Ok(found.map(|alias| if inlined { &alias.expr } else { &alias.shown }))
    }

    /// The selected item that a bare name means, where several tables of FROM have a column of that name.
    pub(crate) fn selected_by_name(&self, expr: &ast::Expr<'_>) -> Option<Expr> {
        let ast::ExprKind::Column(name) = &expr.kind else { return None };
        if name.table.is_some() {
            return None;
        }
        let block = self.blocks.last()?;
        let several = || Err(PlanError::new(1052, String::new()));
        Self::find_alias(block, &utf8(name.name.text), false, &several).ok().flatten().cloned()
    }

    /// The selected item that GROUP BY means by the name of a common column of USING or NATURAL JOIN, if that is all it says. A column of
    /// a table comes before a selected item, but one that a join made only within an expression.
    pub(crate) fn selected_by_common_name(&self, expr: &ast::Expr<'_>) -> Option<Expr> {
        let ast::ExprKind::Column(name) = &expr.kind else { return None };
        let block = self.blocks.last()?;
        let is_common = !block.hidden.is_empty() && Self::is_joined_column(block, &utf8(name.name.text));
        if !is_common || !self.in_view() && self.session.local_variable(name.name.text).is_some() {
            return None;
        }
        self.selected_by_name(expr)
    }

    fn find_in_block(&self, depth: usize, name: &ColumnRef<'_>) -> PlanResult<Found> {
        let block = &self.blocks[depth];
        let is_innermost = depth + 1 == self.blocks.len();
        let column = utf8(name.name.text);
        let ambiguous = || {
            Err(PlanError::new(
                1052,
                format!("Column '{}' in {} is ambiguous", written_name(name), block.shown_clause()),
            ))
        };
        // A subquery sees the items of the lists around it, those that are bound already; above the projection as columns.
        let above = matches!(block.alias_rule, AliasRule::Before | AliasRule::Within | AliasRule::Having);
        let mut alias_found = None;
        // Items of one name may differ where the name is a column's.
        let is_column = || block.tables.iter().any(|table| table.find(&column).is_some());
        let is_passed = block.alias_rule == AliasRule::Within && is_innermost && is_column();
        if !is_passed && (block.alias_rule != AliasRule::Never || !is_innermost) && name.table.is_none() {
            let inlined = !above || block.in_aggregate;
            let shown = block.alias_rule == AliasRule::After && is_innermost;
            alias_found = Self::find_alias(block, &column, inlined && !shown, &ambiguous)?.cloned();
        }
        let alias_first = match block.alias_rule {
            AliasRule::Having => true,
            AliasRule::Before => is_innermost,
            AliasRule::Never | AliasRule::After | AliasRule::Within => false,
        };
        // An aggregate's argument is a column of FROM before it is an alias.
        if let Some(expr) = &alias_found
            && alias_first
            && !block.in_aggregate
        {
            if let Some((table, ordinal, id)) = self.grouped_column(block, name, &column)
                && expr.as_column() != Some(id)
            {
                return Ok(Found::Column(table, ordinal, id, true));
            }
            return Ok(Found::Alias(expr.clone()));
        }
        let mut found = None;
        if let Some(table) = name.table {
            let alias = utf8(table.text);
            let schema = name.schema.map(|schema| utf8(schema.text));
            for (position, table) in block.tables.iter().enumerate() {
                if table.is(schema.as_deref(), &alias)
                    && !block.is_unseen(position)
                    && let Some((ordinal, id)) = table.find(&column)
                {
                    found = Some((position as u32, ordinal, id));
                    break;
                }
            }
        } else {
            for (position, table) in block.tables.iter().enumerate() {
                if let Some((ordinal, id)) = table.find(&column) {
                    if block.hidden.contains(&(position as u32, ordinal)) || block.is_unseen(position) {
                        continue;
                    }
                    if found.is_some() {
                        return ambiguous();
                    }
                    found = Some((position as u32, ordinal, id));
                }
            }
        }
        Ok(match (found, alias_found) {
            (Some((table, ordinal, id)), alias) => {
                let selected = block.alias_rule != AliasRule::Having
                    || block.in_aggregate
                    || self.aggregate_nesting > 0
                    || block.group_columns.contains(&id)
                    || block.aliases.iter().any(|alias| alias.shown.as_column() == Some(id));
                let other = block.alias_rule == AliasRule::After
                    && is_innermost
                    && block.is_group_name
                    && alias.is_some_and(|alias| alias.as_column() != Some(id));
                if selected { Found::Column(table, ordinal, id, other) } else { Found::Nothing }
            }
            (None, Some(expr)) => Found::Alias(expr),
            (None, None) => Found::Nothing,
        })
    }

    /// Refuses a name of GROUP BY that two tables of a join with USING or NATURAL have, if another table comes before that join. Elsewhere
    /// MySQL looks into each table by itself, and takes the select item where several have the name.
    ///
    /// # Errors
    /// 1052.
    pub(crate) fn check_common_joins(&mut self, name: &ColumnRef<'_>) -> PlanResult<()> {
        if name.table.is_some() || self.block().common_joins.is_empty() {
            return Ok(());
        }
        let column = utf8(name.name.text);
        let block = self.block();
        let has = |position: &usize| {
            let found = block.tables.get(*position).and_then(|table| table.find(&column));
            found.is_some_and(|(ordinal, _)| !block.hidden.contains(&(*position as u32, ordinal)))
        };
        let mut later = block.common_joins.iter().filter(|join| join.is_later);
        if later.any(|join| join.tables.clone().filter(has).count() > 1) {
            return Err(PlanError::new(1052, format!("Column '{column}' in group statement is ambiguous")));
        }
        Ok(())
    }

    /// Whether USING or NATURAL made one column of several with this name.
    fn is_joined_column(block: &Block, column: &str) -> bool {
        block.hidden.iter().any(|&(table, ordinal)| {
            let table = block.tables.get(table as usize);
            table.and_then(|table| table.find(column)).is_some_and(|(other, _)| other == ordinal)
        })
    }

    /// In HAVING: the column of FROM with this name, if GROUP BY names it.
    fn grouped_column(
        &self,
        block: &Block,
        name: &ColumnRef<'_>,
        column: &str,
    ) -> Option<(u32, u32, ColumnId)> {
        if block.alias_rule != AliasRule::Having || name.table.is_some() {
            return None;
        }
        block.tables.iter().enumerate().find_map(|(position, table)| {
            let (ordinal, id) = table.find(column)?;
            block.group_columns.contains(&id).then_some((position as u32, ordinal, id))
        })
    }

    /// What a column name means here.
    pub(crate) fn column(&mut self, name: &ColumnRef<'_>) -> PlanResult<Expr> {
        // A variable of a stored program comes before a column of the same name.
        if name.table.is_none()
            && let Some(variable) = self.local_variable(name.name.text)
        {
            return Ok(variable);
        }
        if let Some(row) = name.table.as_ref().filter(|_| name.schema.is_none())
            && let Some(variable) = self.row_variable(row.text, name.name.text)
        {
            return Ok(variable);
        }
        let innermost = self.blocks.len() - 1;
        let mut depth = innermost;
        loop {
            match self.find_in_block(depth, name)? {
                Found::Column(table, ordinal, id, is_ambiguous) => {
                    if is_ambiguous {
                        let clause = self.blocks[depth].shown_clause();
                        let text = format!("Column '{}' in {clause} is ambiguous", written_name(name));
                        self.warnings.push(*PlanError::new(1052, text));
                    }
                    let scope = &self.blocks[depth].tables[table as usize];
                    if let Some(table) = scope.catalog_table() {
                        self.read_column(table, ordinal, false);
                    } else {
                        self.read_inserted(id);
                    }
                    self.note_column(depth, table, ordinal, name.name);
                    self.add_outer(depth, id);
                    return Ok(self.column_expr(id));
                }
                Found::Alias(expr) if depth == innermost => {
                    if self.blocks[depth].alias_rule != AliasRule::Having {
                        self.note_item(depth, expr.as_column(), name.name);
                    }
                    return Ok(expr);
                }
                Found::Alias(expr) => {
                    self.check_outer_alias(depth, name)?;
                    expr.each_column(&mut |id| self.add_outer(depth, id));
                    return Ok(expr);
                }
                Found::Nothing => {}
            }
            match self.enclosing(depth) {
                Some(outer) => depth = outer,
                None => break,
            }
        }
        let clause = self.blocks[innermost].shown_clause();
        self.missing_column = Some(utf8(name.name.text).to_string());
        Err(PlanError::new(1054, format!("Unknown column '{}' in '{clause}'", written_name(name))))
    }

    /// The block whose tables are visible next after those of the block at `depth`. A derived table sees none of the block in whose
    /// FROM it stands, nor does one within it.
    pub(crate) fn enclosing(&self, mut depth: usize) -> Option<usize> {
        while self.blocks[depth].skips_parent {
            depth = depth.checked_sub(1)?;
        }
        depth.checked_sub(1)
    }

    /// Notes that all blocks inside of the one at `depth` read a column of it.
    pub(crate) fn add_outer(&mut self, depth: usize, id: ColumnId) {
        for block in &mut self.blocks[depth + 1..] {
            if !block.outer.contains(&id) {
                block.outer.push(id);
            }
        }
    }

    /// 1247: a subquery must not read an item that is made of aggregates of its own level.
    fn check_outer_alias(&self, depth: usize, name: &ColumnRef<'_>) -> PlanResult<()> {
        let block = &self.blocks[depth];
        let column = utf8(name.name.text);
        let (mut is_aggregated, mut is_windowed) = (false, false);
        for alias in block.aliases.iter().filter(|alias| names_equal(&alias.name, &column)) {
            alias.expr.each_column(&mut |id| {
                is_aggregated |= block.aggregates.iter().any(|(other, _)| *other == id);
                is_windowed |= block.windows.iter().any(|window| window.makes(id));
            });
        }
        if is_windowed {
            return Err(super::window::alias_of_window(&column));
        }
        if is_aggregated {
            let text =
                format!("Reference '{}' not supported (reference to group function)", written_name(name));
            return Err(PlanError::new(1247, text));
        }
        Ok(())
    }

    /// Whether an expression is a column of a table or of a query in FROM that is materialised.
    pub(crate) fn is_field(&self, expr: &Expr) -> bool {
        expr.as_column().is_some_and(|id| {
            self.columns[id.0 as usize].origin.is_some() || self.materialized_columns.contains(&id)
        })
    }

    /// `schema.table.column` of a base table's column, for messages.
    pub(crate) fn full_name(&self, id: ColumnId) -> String {
        let info = &self.columns[id.0 as usize];
        match info.origin {
            Some((table, _)) => {
                let table = &self.tables[table.0 as usize];
                format!("{}.{}.{}", table.entry.definition.schema, table.alias, info.name)
            }
            None => info.name.to_string(),
        }
    }
}

/// A column name with what was written before it.
pub(crate) fn written_name(name: &ColumnRef<'_>) -> String {
    let mut text = String::new();
    for part in [name.schema, name.table].into_iter().flatten() {
        text.push_str(&utf8(part.text));
        text.push('.');
    }
    text.push_str(&utf8(name.name.text));
    text
}
