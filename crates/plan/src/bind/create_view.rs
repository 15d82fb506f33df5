//! The query of a new view: its canonical text, its columns, and whether it may be merged and changed through.

use std::sync::Arc;

use catalog::Catalog;
use syntax::ast::{
    CreateView, Ident, Join, JoinCondition, JoinKind, Query, QueryBody, SelectItem, TableFactor, TableRef,
};
use syntax::{QueryNames, ResolvedColumn, ShownItem, ViewPrint, print_view_query};

use super::scope::{Block, ScopeColumns, ScopeTable};
use super::{Binder, Session};
use crate::error::{PlanError, PlanResult};
use crate::expr::ColumnId;
use crate::logical::{Bound, BoundKind, TableIndex};

/// A view's query that has been bound.
#[derive(Debug)]
pub struct BoundView {
    /// The query as a statement.
    pub bound: Bound,
    /// Its canonical text.
    pub text: Vec<u8>,
    /// Names of the view's columns.
    pub names: Vec<Arc<str>>,
    /// It can be merged into a query around it.
    pub can_merge: bool,
    /// If it is merged, rows of its tables can be changed through it.
    pub can_update: bool,
    /// Schemas and names of the tables and views that it names.
    pub tables: Vec<(Arc<str>, Arc<str>)>,
}

/// Binds the query of a view that is `schema.name`; that name means nothing in it.
///
/// # Errors
/// MySQL's, for what may not stand in a view, for names, types and places.
pub fn bind_view(
    create: &CreateView<'_>,
    (schema, name): (&str, &str),
    text: &[u8],
    catalog: &Catalog,
    session: &dyn Session,
) -> PlanResult<BoundView> {
    let arena = bumpalo::Bump::new();
    let mut binder = Binder::new(text, catalog, session, &arena);
    let made = binder.new_view(create, (schema, name)).and_then(|view| {
        read_back(&view, catalog, session)?;
        Ok(view)
    });
    match made {
        Ok(view) => Ok(view.finish(binder)),
        Err(mut error) => {
            error.bound = Some(Box::new(binder.partly_bound()));
            Err(error)
        }
    }
}

/// Reads the text of a view as its users will: what cannot be read is no view.
fn read_back(view: &NewView, catalog: &Catalog, session: &dyn Session) -> PlanResult<()> {
    let arena = bumpalo::Bump::new();
    let parsed = syntax::parse(&view.text, &arena, syntax::SqlMode::default())
        .map_err(|error| PlanError::new(error.number, error.message))?;
    Binder::new(&view.text, catalog, session, &arena).statement(&parsed.statement).map(|_| ())
}

/// A view without what the binder has of it.
struct NewView {
    kind: BoundKind,
    output: Vec<crate::logical::OutputColumn>,
    text: Vec<u8>,
    names: Vec<Arc<str>>,
    can_merge: bool,
    can_update: bool,
}

impl NewView {
    fn finish(self, binder: Binder<'_>) -> BoundView {
        let mut tables: Vec<(Arc<str>, Arc<str>)> = Vec::new();
        for need in binder.needs.tables.iter().filter(|need| need.view.is_none()) {
            let definition = &binder.tables[need.table.0 as usize].entry.definition;
            let table = (Arc::clone(&definition.schema), Arc::clone(&definition.name));
            if !tables.contains(&table) {
                tables.push(table);
            }
        }
        BoundView {
            bound: binder.finish(self.kind, self.output),
            text: self.text,
            names: self.names,
            can_merge: self.can_merge,
            can_update: self.can_update,
            tables,
        }
    }
}

impl<'a> Binder<'a> {
    fn new_view(&mut self, create: &'a CreateView<'a>, own: (&str, &str)) -> PlanResult<NewView> {
        let query = create.query;
        if query.into.is_some() {
            return Err(PlanError::new(1350, "View's SELECT contains a 'INTO' clause"));
        }
        self.unseen_view = Some((own.0.to_owned(), own.1.to_owned()));
        self.names = Some(Box::default());
        let bound = self.query(query)?;
        if self.names_variable {
            return Err(PlanError::new(1351, "View's SELECT contains a variable or parameter"));
        }
        let mut known = self.names.take().map_or_else(QueryNames::default, |names| *names);
        let written = self.written_names(query, &known);
        let mut names: Vec<Arc<str>> = bound.output.iter().map(|column| Arc::clone(&column.name)).collect();
        if create.columns.is_empty() {
            super::view::unique_names(
                &mut names,
                &written.iter().map(|item| item.is_written).collect::<Vec<_>>(),
            );
            for (item, name) in written.iter().zip(&names) {
                if let Some(start) = item.start {
                    known.items.insert(start, (&**name).into());
                }
            }
        } else {
            if create.columns.len() != names.len() {
                return Err(PlanError::new(
                    1353,
                    "In definition of view, derived table or common table expression, SELECT list and column names list \
                     have different column counts",
                ));
            }
            names = super::view::list_names(create.columns);
        }
        self.check_names(&names)?;
        let is_computed = self.last_block.as_ref().is_none_or(|block| block.is_grouped || block.has_windows);
        let can_merge = super::view::is_merge_form(query) && !is_computed;
        let can_update = can_merge && self.has_changeable_tables(query) && !self.reads_own_tables();
        let print = ViewPrint { names: Some(&known), text: self.text, ..ViewPrint::default() };
        let mut text = Vec::new();
        print_view_query(query, &print, self.types.connection_collation.charset().name(), &mut text);
        let mut output = bound.output;
        output.iter_mut().for_each(crate::logical::OutputColumn::describe_to_client);
        Ok(NewView {
            kind: BoundKind::Query(Box::new(bound.plan)),
            output,
            text,
            names,
            can_merge,
            can_update,
        })
    }

    /// Tells a trace what the names of a query mean: the query as a view of it would be kept.
    pub(super) fn trace_query(&mut self, query: &Query<'_>, output: &[crate::logical::OutputColumn]) {
        let Some(mut known) = self.names.take() else { return };
        let items = self.written_names(query, &known);
        for (item, column) in items.iter().zip(output) {
            if let Some(start) = item.start {
                known.items.insert(start, (&*column.name).into());
            }
        }
        let print = ViewPrint {
            names: Some(&known),
            text: self.text,
            omitted_schema: self.session.database().map(str::as_bytes),
            select_number: Some(std::cell::Cell::new(0)),
            ..ViewPrint::default()
        };
        let mut text = Vec::new();
        print_view_query(query, &print, self.types.connection_collation.charset().name(), &mut text);
        let text = String::from_utf8_lossy(&text).into_owned();
        crate::trace::add(|| vec![("expanded_query", text.into())]);
    }

    fn check_names(&self, names: &[Arc<str>]) -> PlanResult<()> {
        for name in names {
            if !super::view::is_column_name(name) {
                if name.chars().count() > 64 {
                    return Err(super::too_long(name));
                }
                return Err(PlanError::new(1166, format!("Incorrect column name '{name}'")));
            }
        }
        let map = catalog::NameMap::new(names.iter().map(|name| &**name));
        for (position, name) in names.iter().enumerate() {
            if map.get(name) != Some(position) {
                return Err(PlanError::new(1060, format!("Duplicate column name '{name}'")));
            }
        }
        Ok(())
    }

    /// For each column of the result whether its name was written, and where its expression stands.
    fn written_names(&self, query: &Query<'_>, known: &QueryNames) -> Vec<WrittenName> {
        let mut body = &query.body;
        let select = loop {
            match body {
                QueryBody::SetOp { left, .. } => body = left,
                QueryBody::Nested(query) => body = &query.body,
                QueryBody::Select(select) => break select,
                QueryBody::Table(name) => {
                    let shown = known.stars.get(&name.name.span.start).map_or(0, Vec::len);
                    return vec![WrittenName { is_written: true, start: None }; shown];
                }
                QueryBody::Values(rows) => {
                    return vec![WrittenName { is_written: true, start: None }; rows.column_count as usize];
                }
            }
        };
        let mut names = Vec::new();
        for item in select.items {
            match item {
                SelectItem::Star(span) | SelectItem::TableStar(_, span) => {
                    let shown = known.stars.get(&span.start).map_or(0, Vec::len);
                    names.extend(vec![WrittenName { is_written: true, start: None }; shown]);
                }
                SelectItem::Expr { expr, alias, source } => names.push(WrittenName {
                    is_written: alias.is_some() || matches!(expr.kind, syntax::ast::ExprKind::Column(_)),
                    start: Some(source.start),
                }),
            }
        }
        names
    }

    /// Whether a subquery of the query that was bound last reads a table that stands in its FROM, by itself or through views.
    fn reads_own_tables(&self) -> bool {
        let Some(block) = &self.last_block else { return false };
        let own: Vec<TableIndex> = block
            .tables
            .iter()
            .filter_map(|table| match table.columns {
                ScopeColumns::Base { table, .. } => Some(table),
                ScopeColumns::Derived { .. } => None,
            })
            .collect();
        let id = |table: usize| self.tables[table].entry.definition.id;
        let views: Vec<TableIndex> = block.tables.iter().filter_map(ScopeTable::catalog_table).collect();
        let is_of_from = |at: usize| {
            let table = TableIndex(at as u32);
            let need = self.needs.tables.iter().find(|need| need.table == table);
            views.contains(&table)
                || need.and_then(|need| need.view).is_some_and(|view| views.contains(&view))
                || self.derived_tables.contains(&table) && need.is_some_and(|need| need.view.is_none())
        };
        (0..self.tables.len())
            .any(|at| !is_of_from(at) && own.iter().any(|table| id(table.0 as usize) == id(at)))
    }

    /// Whether the tables of a query that can be merged can be changed through it: no outer joins, no tables of the system, no views that
    /// cannot.
    fn has_changeable_tables(&self, query: &Query<'_>) -> bool {
        let mut body = &query.body;
        while let QueryBody::Nested(query) = body {
            body = &query.body;
        }
        let ctes: Vec<&[u8]> =
            query.with.map(|with| with.ctes.iter().map(|cte| cte.name.text).collect()).unwrap_or_default();
        match body {
            QueryBody::Select(select) => select.from.iter().all(|table| self.is_changeable(table, &ctes)),
            QueryBody::Table(name) => self.is_changeable_table(name, &ctes),
            _ => false,
        }
    }

    fn is_changeable(&self, table: &TableRef<'_>, ctes: &[&[u8]]) -> bool {
        match table {
            TableRef::Table(factor) => self.is_changeable_table(&factor.name, ctes),
            TableRef::Derived { .. } | TableRef::JsonTable(_) => true,
            TableRef::Join(join) => {
                matches!(join.kind, JoinKind::Inner | JoinKind::Straight)
                    && self.is_changeable(&join.left, ctes)
                    && self.is_changeable(&join.right, ctes)
            }
            TableRef::List(list) => list.iter().all(|table| self.is_changeable(table, ctes)),
        }
    }

    fn is_changeable_table(&self, name: &syntax::ast::ObjectName<'_>, ctes: &[&[u8]]) -> bool {
        if name.schema.is_none() && ctes.iter().any(|cte| cte.eq_ignore_ascii_case(name.name.text)) {
            return true;
        }
        let Ok(entry) = self.find_table(name) else { return false };
        match &entry.definition.view {
            Some(view) => view.updatable,
            None => entry.definition.kind != catalog::TableKind::System,
        }
    }

    /// How a column of a table in a block is printed.
    fn resolved(&self, table: &ScopeTable, ordinal: u32) -> ResolvedColumn {
        let has_own_name = match &table.columns {
            ScopeColumns::Base { definition, .. } => definition.name == table.alias,
            ScopeColumns::Derived { view, .. } => view.is_some(),
        };
        let schema = table.schema.as_deref().filter(|_| has_own_name);
        ResolvedColumn {
            schema: schema.map(Into::into),
            table: (&*table.alias).into(),
            column: (&*table.name(ordinal)).into(),
        }
    }

    /// Notes what a column's name means.
    pub(super) fn note_column(&mut self, depth: usize, table: u32, ordinal: u32, name: Ident<'_>) {
        if self.names.is_some() {
            let resolved = self.resolved(&self.blocks[depth].tables[table as usize], ordinal);
            if let Some(names) = &mut self.names {
                names.columns.insert(name.span.start, resolved);
            }
        }
    }

    /// Notes what the name of a select item means in a key: a column itself, an expression by its name.
    pub(super) fn note_item(&mut self, depth: usize, id: Option<ColumnId>, name: Ident<'_>) {
        let Some(id) = id.filter(|_| self.names.is_some()) else { return };
        let holder = |block: &Block| block.tables.iter().position(|table| table.holds(id));
        let Some(at) = holder(&self.blocks[depth]) else { return };
        let table = &self.blocks[depth].tables[at];
        let ordinal = (0..table.width()).find(|&ordinal| table.column(ordinal) == id);
        if let Some(ordinal) = ordinal {
            self.note_column(depth, at as u32, ordinal, name);
        }
    }

    /// Notes the columns that `*`, or TABLE, at `start` shows: those of the current block.
    pub(super) fn note_star(&mut self, start: u32, columns: &[(u32, u32)]) {
        if self.names.is_none() {
            return;
        }
        let Some(block) = self.blocks.last() else { return };
        let shown = columns
            .iter()
            .map(|&(table, ordinal)| {
                let table = &block.tables[table as usize];
                ShownItem { column: self.resolved(table, ordinal), name: (&*table.name(ordinal)).into() }
            })
            .collect();
        if let Some(names) = &mut self.names {
            names.stars.insert(start, shown);
        }
    }

    /// Notes the schema of a table.
    pub(super) fn note_table(&mut self, name: Ident<'_>, schema: &str) {
        if let Some(names) = &mut self.names {
            names.tables.insert(name.span.start, schema.into());
        }
    }

    /// Notes a table of FROM.
    pub(super) fn note_factor(&mut self, factor: &TableFactor<'_>, schema: &str) {
        self.note_table(factor.name.name, schema);
    }

    /// Notes the columns that a join by common columns compares.
    pub(super) fn note_common(&mut self, join: &Join<'_>, (left, right): ((u32, u32), (u32, u32))) {
        if self.names.is_none() {
            return;
        }
        debug_assert!(join.natural || matches!(join.condition, JoinCondition::Using(_)));
        let Some(block) = self.blocks.last() else { return };
        let side = |(table, ordinal): (u32, u32)| self.resolved(&block.tables[table as usize], ordinal);
        let (left, right) = (side(left), side(right));
        let pair = if join.kind == JoinKind::Right { (right, left) } else { (left, right) };
        if let Some(names) = &mut self.names {
            names.joins.entry(QueryNames::join_key(join)).or_default().push(pair);
        }
    }

    /// Notes the name of a select item.
    pub(super) fn note_name(&mut self, start: u32, name: &str) {
        if let Some(names) = &mut self.names {
            names.items.insert(start, name.into());
        }
    }

    /// Whether what is bound stands in the query of the new view itself, not in that of a view that it reads.
    fn is_in_new_view(&self) -> bool {
        self.unseen_view.is_some() && self.names.is_some()
    }

    /// Refuses what a view's query may not contain.
    ///
    /// # Errors
    /// 1351.
    pub(super) fn refuse_in_view(&self) -> PlanResult<()> {
        if self.is_in_new_view() {
            return Err(PlanError::new(1351, "View's SELECT contains a variable or parameter"));
        }
        Ok(())
    }

    /// Whether the name is that of the view whose query this is.
    pub(super) fn is_unseen(&self, schema: &str, table: &str) -> bool {
        self.unseen_view.as_ref().is_some_and(|(own_schema, own)| own_schema == schema && own == table)
    }

    /// 1352 for a temporary table in a new view.
    pub(super) fn refuse_temporary(&self, name: &str) -> PlanResult<()> {
        if self.is_in_new_view() {
            return Err(PlanError::new(1352, format!("View's SELECT refers to a temporary table '{name}'")));
        }
        Ok(())
    }
}

#[derive(Clone, Copy)]
struct WrittenName {
    is_written: bool,
    start: Option<u32>,
}
