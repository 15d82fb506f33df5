//! Views in FROM: the query of each is parsed from its canonical text and bound as a derived table is.
//!
//! Invariants:
//! 1. A view's query sees nothing of the statement around it: no tables, no common table expressions, no parameters, no variables of a
//!    stored program, no temporary tables.
//! 2. What it reads is checked against the view's definer, or against who reads the view if that is said (SQL SECURITY INVOKER).
//! 3. An error of names in it is 1356, which names the view that the statement itself names.

use std::sync::Arc;

use catalog::{TableEntry, ViewAlgorithm, ViewDefinition};
use syntax::ast::{Ident, Query, QueryBody, Statement};

use super::scope::{Block, ScopeColumns, ScopeTable};
use super::window::WindowClause;
use super::{Binder, VisibleCte};
use crate::error::{PlanError, PlanResult};
use crate::expr::ColumnId;
use crate::logical::{Logical, TableIndex};
use crate::needs::Definer;

/// Mentions of views in a statement, those within views included: each is parsed and bound by itself, and a short text may name
/// a view of views of views.
pub(crate) const VIEWS_MAX: u32 = 4096;

/// A view that is being bound.
#[derive(Clone)]
pub(crate) struct OpenView {
    /// Which mention.
    pub(crate) index: TableIndex,
    /// Whose privileges count in it; `None`: the session's.
    pub(crate) definer: Option<u32>,
}

/// What a view's query does not see.
struct Hidden<'a> {
    text: &'a [u8],
    blocks: Vec<Block>,
    ctes: Vec<VisibleCte<'a>>,
    window_clauses: Vec<(usize, WindowClause<'a>)>,
    collation: types::CollationId,
    names: Option<Box<syntax::QueryNames>>,
    depth: u32,
    aggregate_nesting: u32,
}

/// Whether an error of a view's query says that the view is invalid.
fn is_of_names(number: u16) -> bool {
    matches!(number, 1046 | 1049 | 1054 | 1109 | 1142 | 1143 | 1146 | 1305 | 1356 | 1370)
}

/// 1356 for the view `schema.name`.
#[must_use]
#[cold]
pub fn invalid_view(schema: &str, name: &str) -> Box<PlanError> {
    let text = format!(
        "View '{schema}.{name}' references invalid table(s) or column(s) or function(s) or definer/invoker of view \
         lack rights to use them"
    );
    PlanError::new(1356, text)
}

impl<'a> Binder<'a> {
    /// Whether what is bound belongs to a view's query.
    pub(crate) fn in_view(&self) -> bool {
        !self.open_views.is_empty()
    }

    /// The view that the statement names whose query is bound.
    pub(super) fn outermost_view(&self) -> Option<TableIndex> {
        self.open_views.first().map(|open| open.index)
    }

    /// The account that a view runs as whose query is bound.
    pub(super) fn actor_in_view(&self) -> Option<&Definer> {
        self.needs.definers.get(self.open_views.last()?.definer? as usize)
    }

    /// The same as CURRENT_USER() shows it.
    pub(super) fn definer_in_view(&self) -> Option<String> {
        let definer = self.actor_in_view()?;
        Some(format!("{}@{}", definer.user, definer.host))
    }

    /// A view as a table of the current block, under `alias`; also the columns `*` shows of it.
    pub(crate) fn view(
        &mut self,
        entry: Arc<TableEntry>,
        view: &ViewDefinition,
        alias: Arc<str>,
    ) -> PlanResult<(Logical, Vec<(u32, u32)>)> {
        let definition = Arc::clone(&entry.definition);
        self.check_alias(&alias, Some(&definition.schema))?;
        let first = self.tables.len();
        let index = self.add_table(entry, Arc::clone(&alias));
        self.tables[index.0 as usize].is_view = true;
        self.needs.reads_views = true;
        self.views += 1;
        if self.views > VIEWS_MAX {
            return Err(PlanError::new(1116, "Too many tables; MySQL can only use 61 tables in a join"));
        }
        let of_view = self
            .open_views
            .iter()
            .find(|open| self.tables[open.index.0 as usize].entry.definition.id == definition.id);
        if of_view.is_some() {
            let text = format!("`{}`.`{}` contains view recursion", definition.schema, definition.name);
            return Err(PlanError::new(1462, text));
        }
        let definer =
            if view.invoker {
                self.open_views.last().and_then(|open| open.definer)
            } else {
                Some(self.needs.definer(Definer {
                    user: Arc::clone(&view.definer.0),
                    host: Arc::clone(&view.definer.1),
                }))
            };
        let needs = self.needs.columns.len();
        let items_around = std::mem::take(&mut self.item_needs);
        let text: &'a [u8] = self.arena.alloc_slice_copy(view.query.as_bytes());
        let hidden = self.hide(text, view);
        self.open_views.push(OpenView { index, definer });
        let bound = self.view_query(text, view);
        self.open_views.pop();
        self.show(hidden);
        let (plan, ids) = bound.map_err(|error| self.error_of_view(error, &definition))?;
        self.defer_needs(index, needs);
        self.item_needs = items_around;
        self.derived_tables.extend((first..self.tables.len()).map(|index| TableIndex(index as u32)));
        if ids.len() != definition.columns.len() {
            return Err(self.error_of_view(PlanError::new(1054, String::new()), &definition));
        }
        let names = definition.columns.iter().map(|column| Arc::clone(&column.name));
        let columns: Vec<(Arc<str>, ColumnId)> = names.zip(ids).collect();
        let names = definition.column_names.clone();
        self.block().tables.push(ScopeTable {
            alias,
            schema: Some(Arc::clone(&definition.schema)),
            columns: ScopeColumns::Derived { names, columns, view: Some(index) },
        });
        Ok((plan, self.shown_last()))
    }

    /// Puts aside what a view's query does not see.
    fn hide(&mut self, text: &'a [u8], view: &ViewDefinition) -> Hidden<'a> {
        Hidden {
            text: std::mem::replace(&mut self.text, text),
            blocks: std::mem::take(&mut self.blocks),
            ctes: std::mem::take(&mut self.ctes),
            window_clauses: std::mem::take(&mut self.window_clauses),
            collation: std::mem::replace(&mut self.types.connection_collation, view.connection_collation),
            names: self.names.take(),
            depth: std::mem::take(&mut self.depth),
            aggregate_nesting: std::mem::take(&mut self.aggregate_nesting),
        }
    }

    fn show(&mut self, hidden: Hidden<'a>) {
        self.text = hidden.text;
        self.blocks = hidden.blocks;
        self.ctes = hidden.ctes;
        self.window_clauses = hidden.window_clauses;
        self.types.connection_collation = hidden.collation;
        self.names = hidden.names;
        self.depth = hidden.depth;
        self.aggregate_nesting = hidden.aggregate_nesting;
    }

    fn view_query(&mut self, text: &'a [u8], view: &ViewDefinition) -> PlanResult<(Logical, Vec<ColumnId>)> {
        let parsed = syntax::parse(text, self.arena, syntax::SqlMode::default());
        let Ok(Statement::Query(query)) = parsed.map(|parsed| parsed.statement) else {
            return Err(PlanError::new(1356, String::new()));
        };
        let mut bound = self.query_in(query, true)?;
        let merged = self.merges_for_change(query, view);
        if view.algorithm == ViewAlgorithm::Temptable || !is_merge_form(query) || !query.order_by.is_empty() {
            self.item_needs.clear();
        }
        let columns: Vec<ColumnId> = bound.output.iter().map(|column| column.id).collect();
        self.keep_view_parts(query, view, &columns, merged);
        if merged {
            // Its rows are those of its tables.
        } else if view.algorithm == ViewAlgorithm::Temptable {
            self.materialize_always(query, &mut bound);
        } else {
            self.materialize_unless_merged(query, &mut bound);
        }
        for column in &bound.output {
            self.columns[column.id.0 as usize].nullable |= column.nullable;
        }
        Ok((bound.plan, bound.output.iter().map(|column| column.id).collect()))
    }

    /// Notes what the select item reads that was bound last, beginning with `start` of the columns needed, where it makes a column of a view:
    /// another item needs the same by itself.
    pub(super) fn note_item_needs(&mut self, start: usize) {
        if !self.in_view() || self.blocks.len() != 1 {
            return;
        }
        for need in &self.needs.columns[start..] {
            self.used[need.table.0 as usize][need.ordinal as usize] = false;
        }
        self.item_needs.push(start..self.needs.columns.len());
    }

    /// Puts off what the columns of the view need whose query was bound last, until the statement reads them.
    fn defer_needs(&mut self, view: TableIndex, first: usize) {
        let items = std::mem::take(&mut self.item_needs);
        let width = self.tables[view.0 as usize].entry.definition.columns.len();
        if items.len() != width || items.first().is_some_and(|item| item.start < first) {
            return;
        }
        for (ordinal, item) in items.iter().enumerate() {
            let needs = self.needs.columns[item.clone()].to_vec();
            self.deferred_needs.insert((view, ordinal as u32), needs);
        }
        // Later ones first: the others stay where they are.
        items.into_iter().rev().for_each(|item| drop(self.needs.columns.drain(item)));
    }

    /// What a view's column reads is read with it.
    pub(super) fn read_below(&mut self, view: TableIndex, ordinal: u32) {
        let Some(needs) = self.deferred_needs.get(&(view, ordinal)) else { return };
        for need in needs.clone() {
            let used = &mut self.used[need.table.0 as usize][need.ordinal as usize];
            if !std::mem::replace(used, true) {
                self.needs.columns.push(need);
            }
        }
    }

    #[cold]
    fn error_of_view(&mut self, error: Box<PlanError>, view: &catalog::TableDefinition) -> Box<PlanError> {
        if !self.open_views.is_empty() || !is_of_names(error.number) {
            return error;
        }
        let of_unseen = self
            .missing_table
            .borrow()
            .as_ref()
            .is_some_and(|(schema, name, _)| self.is_unseen(schema, name));
        if of_unseen {
            return error;
        }
        *self.missing_table.borrow_mut() = None;
        self.missing_column = None;
        self.missing_function = None;
        invalid_view(&view.schema, &view.name)
    }
}

/// Whether a query could be merged into one around it, by its form.
pub(super) fn is_merge_form(query: &Query<'_>) -> bool {
    let mut query = query;
    while let QueryBody::Nested(nested) = query.body {
        if query.limit.is_some() {
            return false;
        }
        query = nested;
    }
    let QueryBody::Select(select) = query.body else { return matches!(query.body, QueryBody::Table(_)) };
    query.limit.is_none()
        && !select.from.is_empty()
        && !select.options.distinct
        && select.having.is_none()
        && select.group_by.is_empty()
}

/// A name that a column of a view may have: 9.7 gives others to columns that are named by their expression.
pub(super) fn is_column_name(name: &str) -> bool {
    !name.is_empty() && !name.ends_with(' ') && name.chars().count() <= 64
}

/// Names of a view's columns where no list names them: those made of expressions get another one where they could not be a column's, or
/// another column has it.
pub(super) fn unique_names(names: &mut [Arc<str>], is_written: &[bool]) {
    for at in 0..names.len() {
        if !is_written[at] && !is_column_name(&names[at]) {
            names[at] = format!("Name_exp_{}", at + 1).into();
        }
    }
    for at in 0..names.len() {
        for other in 0..at {
            if !catalog::names_equal(&names[at], &names[other]) {
                continue;
            }
            // The one whose name was made makes room.
            let renamed = if !is_written[at] {
                at
            } else if !is_written[other] {
                other
            } else {
                continue;
            };
            let base = Arc::clone(&names[renamed]);
            let mut attempt = 0;
            loop {
                let name: Arc<str> = match attempt {
                    0 => format!("Name_exp_{base}").into(),
                    number => format!("Name_exp_{number}_{base}").into(),
                };
                let taken = names
                    .iter()
                    .enumerate()
                    .any(|(index, other)| index != renamed && catalog::names_equal(other, &name));
                if !taken {
                    names[renamed] = name;
                    break;
                }
                attempt += 1;
            }
            break;
        }
    }
}

/// The name list of a view, checked as 9.7 does.
pub(super) fn list_names(names: &[Ident<'_>]) -> Vec<Arc<str>> {
    names.iter().map(|name| super::utf8(name.text).into()).collect()
}
