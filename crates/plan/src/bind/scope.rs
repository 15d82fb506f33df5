//! What names mean in one query block.

use std::sync::Arc;

use catalog::{NameMap, TableDefinition, names_equal};
use syntax::ast::ColumnRef;

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
    /// Aliases first, then columns (ORDER BY).
    Before,
    /// As `Before`, and columns only if selected or grouped (HAVING).
    Having,
}

/// A table, or what stands for one, in FROM.
pub(crate) struct ScopeTable {
    pub(crate) alias: Arc<str>,
    pub(crate) schema: Option<Arc<str>>,
    pub(crate) columns: ScopeColumns,
}

/// Where a scope table's columns are found.
pub(crate) enum ScopeColumns {
    Base { first: ColumnId, definition: Arc<TableDefinition>, table: TableIndex },
    Derived { names: NameMap, columns: Vec<(Arc<str>, ColumnId)> },
}

impl ScopeTable {
    pub(crate) fn find(&self, name: &str) -> Option<(u32, ColumnId)> {
        match &self.columns {
            ScopeColumns::Base { first, definition, .. } => definition
                .column_ordinal(name)
                .map(|ordinal| (ordinal as u32, ColumnId(first.0 + ordinal as u32))),
            ScopeColumns::Derived { names, columns } => {
                names.get(name).map(|ordinal| (ordinal as u32, columns[ordinal].1))
            }
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

    /// Ordinals that `*` shows.
    pub(crate) fn shown(&self) -> Vec<u32> {
        match &self.columns {
            ScopeColumns::Base { definition, .. } => definition
                .columns
                .iter()
                .enumerate()
                .filter(|(_, column)| !column.invisible)
                .map(|(ordinal, _)| ordinal as u32)
                .collect(),
            ScopeColumns::Derived { columns, .. } => (0..columns.len() as u32).collect(),
        }
    }

    fn is(&self, schema: Option<&str>, alias: &str) -> bool {
        *self.alias == *alias && schema.is_none_or(|schema| self.schema.as_deref() == Some(schema))
    }
}

/// One SELECT while it is bound.
pub(crate) struct Block {
    pub(crate) tables: Vec<ScopeTable>,
    /// Columns of a JOIN USING that another table's column stands for: not found without qualifier.
    pub(crate) hidden: Vec<(u32, u32)>,
    /// What `*` shows, in order: (table, ordinal).
    pub(crate) star: Vec<(u32, u32)>,
    /// Names of the select list and what they mean: the item's column above the projection, and its expression.
    pub(crate) aliases: Vec<(Arc<str>, Expr, Expr)>,
    /// Columns of GROUP BY.
    pub(crate) group_columns: Vec<ColumnId>,
    /// Columns inside ANY_VALUE: not checked by ONLY_FULL_GROUP_BY.
    pub(crate) free_columns: Vec<ColumnId>,
    pub(crate) aggregates: Vec<(ColumnId, AggregateCall)>,
    /// Columns read from enclosing blocks.
    pub(crate) outer: Vec<ColumnId>,
    /// For error texts.
    pub(crate) clause: &'static str,
    pub(crate) alias_rule: AliasRule,
    pub(crate) aggregates_allowed: bool,
    pub(crate) in_aggregate: bool,
    /// A derived table: does not see the tables of the block around it.
    pub(crate) skips_parent: bool,
}

impl Block {
    pub(crate) fn new(clause: &'static str) -> Block {
        Block {
            tables: Vec::new(),
            hidden: Vec::new(),
            star: Vec::new(),
            aliases: Vec::new(),
            group_columns: Vec::new(),
            free_columns: Vec::new(),
            aggregates: Vec::new(),
            outer: Vec::new(),
            clause,
            alias_rule: AliasRule::Never,
            aggregates_allowed: false,
            in_aggregate: false,
            skips_parent: false,
        }
    }
}

/// What a lookup in one block gave.
enum Found {
    Nothing,
    Column(u32, u32, ColumnId),
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

    fn find_in_block(&self, depth: usize, name: &ColumnRef<'_>) -> PlanResult<Found> {
        let block = &self.blocks[depth];
        let column = utf8(name.name.text);
        let ambiguous = || {
            Err(PlanError::new(
                1052,
                format!("Column '{}' in {} is ambiguous", written_name(name), block.clause),
            ))
        };
        let mut alias_found = None;
        if block.alias_rule != AliasRule::Never && name.table.is_none() {
            for (alias, shown, inlined) in &block.aliases {
                if names_equal(alias, &column) {
                    let meaning = if block.in_aggregate { inlined } else { shown };
                    if alias_found.as_ref().is_some_and(|other| other != meaning) {
                        return ambiguous();
                    }
                    alias_found = Some(meaning.clone());
                }
            }
        }
        if let (AliasRule::Before | AliasRule::Having, Some(expr)) = (block.alias_rule, &alias_found) {
            // An aggregate's argument is a column of FROM before it is an alias.
            if !block.in_aggregate {
                return Ok(Found::Alias(expr.clone()));
            }
        }
        let mut found = None;
        if let Some(table) = name.table {
            let alias = utf8(table.text);
            let schema = name.schema.map(|schema| utf8(schema.text));
            for (position, table) in block.tables.iter().enumerate() {
                if table.is(schema.as_deref(), &alias)
                    && let Some((ordinal, id)) = table.find(&column)
                {
                    found = Some((position as u32, ordinal, id));
                    break;
                }
            }
        } else {
            for (position, table) in block.tables.iter().enumerate() {
                if let Some((ordinal, id)) = table.find(&column) {
                    if block.hidden.contains(&(position as u32, ordinal)) {
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
            (Some((table, ordinal, id)), _) => {
                let selected = block.alias_rule != AliasRule::Having
                    || block.in_aggregate
                    || block.group_columns.contains(&id)
                    || block.aliases.iter().any(|(_, shown, _)| shown.as_column() == Some(id));
                if selected { Found::Column(table, ordinal, id) } else { Found::Nothing }
            }
            (None, Some(expr)) => Found::Alias(expr),
            (None, None) => Found::Nothing,
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
        let innermost = self.blocks.len() - 1;
        let mut depth = innermost;
        loop {
            match self.find_in_block(depth, name)? {
                Found::Column(table, ordinal, id) => {
                    if let ScopeColumns::Base { table, .. } =
                        self.blocks[depth].tables[table as usize].columns
                    {
                        self.used[table.0 as usize][ordinal as usize] = true;
                    }
                    for block in &mut self.blocks[depth + 1..] {
                        if !block.outer.contains(&id) {
                            block.outer.push(id);
                        }
                    }
                    return Ok(self.column_expr(id));
                }
                Found::Alias(expr) if depth == innermost => return Ok(expr),
                Found::Alias(_) | Found::Nothing => {}
            }
            let step = if self.blocks[depth].skips_parent { 2 } else { 1 };
            if depth < step {
                break;
            }
            depth -= step;
        }
        let clause = self.blocks[innermost].clause;
        Err(PlanError::new(1054, format!("Unknown column '{}' in '{clause}'", written_name(name))))
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
