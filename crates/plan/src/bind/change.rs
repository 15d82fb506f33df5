//! INSERT, REPLACE, UPDATE, DELETE.

use std::ops::Range;
use std::sync::Arc;

use catalog::{ColumnDefault, Privileges, TableEntry};
use syntax::ast::{
    self, Cell, CellKind, Delete, ExprKind as Ast, Insert, InsertSource, TableRef, Update, ValuesRows,
};
use types::{DataType, Value};

use super::scope::{AliasRule, Block, ScopeColumns, ScopeTable, written_name};
use super::stored;
use super::view_change::{ChangedColumn, ViewColumn};
use super::{Binder, utf8};
use crate::error::{PlanError, PlanResult};
use crate::expr::{ColumnId, Expr};
use crate::logical::{
    BoundAssignment, BoundDelete, BoundInsert, BoundRowQuery, BoundTable, BoundTargetView, BoundUpdate,
    InsertCell, InsertRows, Logical, SortKey, TableIndex, TableNeed,
};

impl<'a> Binder<'a> {
    pub(crate) fn insert(&mut self, insert: &'a Insert<'a>) -> PlanResult<BoundInsert> {
        if !insert.partitions.is_empty() {
            return Err(PlanError::new(1747, "PARTITION () clause on non partitioned table"));
        }
        let mut wanted = Privileges::INSERT;
        if insert.replace {
            wanted |= Privileges::DELETE;
        }
        if !insert.on_duplicate.is_empty() {
            wanted |= Privileges::UPDATE;
        }
        self.next_need = Some(wanted);
        let mut entry = self.find_table(&insert.table)?;
        let name = entry.definition.name.clone();
        self.blocks.push(Block::new("field list"));
        let before = self.tables.len();
        let mut through = None;
        let (table, columns) = if let Some(view) = entry.definition.view.clone() {
            let index = TableIndex(before as u32);
            self.view(entry, &view, name.clone())?;
            through = Some(index);
            let (table, columns) = self.insert_through_view(insert, index, &name, wanted)?;
            entry = self.tables[table.0 as usize].entry.clone();
            (table, columns)
        } else {
            let table = self.add_table(entry.clone(), name.clone());
            self.change_table(table);
            self.show_table(table, name.clone());
            let columns = self.insert_columns(&entry, insert)?;
            let names_none = insert.columns.is_none_or(<[_]>::is_empty);
            self.write_columns(table, &columns, Privileges::INSERT, names_none);
            (table, columns)
        };
        let own = before..self.tables.len();
        // The row that is being inserted: VALUES(c), the row alias, and columns in later cells.
        let new_row = ColumnId(self.columns.len() as u32);
        self.inserted_row = Some((table, new_row));
        for column in &entry.definition.columns {
            self.new_column(&column.name, column.data_type.clone(), true);
        }

        let mut selected = None;
        let rows = match &insert.source {
            InsertSource::Values(values) => {
                if let Some(row) =
                    values.ragged_row.filter(|_| values.row_count > 0 || values.column_count > 0)
                {
                    let wrong = if values.column_count as usize == columns.len() { row + 1 } else { 1 };
                    return Err(count_mismatch(wrong));
                }
                // `()` with a column list, and rows of another width than the list.
                let empty_row = values.column_count == 0 && insert.columns.is_none_or(<[_]>::is_empty);
                if values.column_count as usize != columns.len() && !empty_row {
                    return Err(count_mismatch(1));
                }
                let width = values.column_count as usize;
                let shown = std::mem::take(&mut self.block().tables);
                // Nothing but an expression reads the row.
                if !values.exprs.is_empty() {
                    self.show_new_row(&entry, &shown, &name, new_row)?;
                }
                let mut cells = Vec::with_capacity(values.cells.len());
                for (position, cell) in values.cells.iter().enumerate() {
                    let ordinal = columns.get(position % width.max(1));
                    let to = ordinal.map(|&ordinal| &entry.definition.columns[ordinal].data_type);
                    cells.push(self.insert_cell(values, cell, to)?);
                }
                self.block().tables = shown;
                self.check_target_not_read(table, through, "INSERT", &[own])?;
                if self.may_have_hints {
                    self.note_hints_of_insert(insert.hints, Some(table));
                }
                let columns_written = if width == 0 { Vec::new() } else { columns };
                return self.finish_insert(
                    insert,
                    &entry,
                    (table, through),
                    columns_written,
                    InsertRows::Values { row_count: values.row_count as usize, cells },
                    new_row,
                    None,
                );
            }
            InsertSource::Query(query) => {
                let shown = self.blocks.pop();
                let bound = self.query(query)?;
                self.blocks.extend(shown);
                if bound.output.len() != columns.len() {
                    return Err(count_mismatch(1));
                }
                let ids: Vec<ColumnId> = bound.output.iter().map(|column| column.id).collect();
                if self.may_have_hints {
                    self.note_hints_of_insert(insert.hints, None);
                }
                if matches!(query.body, ast::QueryBody::Select(_)) {
                    selected = self.last_block.take().filter(|block| !block.is_grouped);
                }
                InsertRows::Query(Box::new(bound.plan), ids)
            }
        };
        self.finish_insert(insert, &entry, (table, through), columns, rows, new_row, selected)
    }

    /// The table that an INSERT through a view changes, and the ordinals there of the columns that it writes.
    fn insert_through_view(
        &mut self,
        insert: &Insert<'_>,
        view: TableIndex,
        name: &str,
        wanted: Privileges,
    ) -> PlanResult<(TableIndex, Vec<usize>)> {
        let joined = self.joined_tables(view);
        // A file's lines go into a single table, and need not fill all columns.
        let is_load = insert.repeats_columns;
        if is_load && (!self.is_changeable_view(view) || joined > 1) {
            return Err(not_updatable(name, "LOAD"));
        }
        if !self.has_insertable_tables(view) {
            return Err(not_insertable(name));
        }
        let full_name = self.full_view_name(view);
        self.need_of_all(view, wanted);
        if insert.replace && joined > 1 {
            return Err(PlanError::new(1395, format!("Can not delete from join view '{full_name}'")));
        }
        let width = self.tables[view.0 as usize].entry.definition.columns.len() as u32;
        let names = insert.columns.filter(|names| !names.is_empty());
        let mut ordinals = Vec::new();
        match names {
            None if joined > 1 => {
                let text = format!("Can not insert into join view '{full_name}' without fields list");
                return Err(PlanError::new(1394, text));
            }
            None => ordinals.extend(0..width),
            Some(names) => {
                for name in names {
                    let found = self.block().tables[0].find(&utf8(name.name.text));
                    let Some((ordinal, _)) = found else {
                        let text = format!("Unknown column '{}' in 'field list'", written_name(name));
                        return Err(PlanError::new(1054, text));
                    };
                    ordinals.push(ordinal);
                }
            }
        }
        let mut table = None;
        let mut columns = Vec::with_capacity(ordinals.len());
        let mut needs = Vec::new();
        for ordinal in ordinals {
            let column = self.block().tables[0].name(ordinal);
            let changed = match self.view_column(view, ordinal) {
                ViewColumn::Expression => {
                    return Err(PlanError::new(1348, format!("Column '{column}' is not updatable")));
                }
                ViewColumn::Derived => return Err(not_insertable(name)),
                ViewColumn::Base(table, ordinal, path) => (table, ordinal, path),
            };
            if table.is_some_and(|table| table != changed.0) {
                return Err(several_tables(&full_name));
            }
            table = Some(changed.0);
            columns.push(changed.1);
            Self::write_path(&changed.2, Privileges::INSERT, names.is_none(), &mut needs);
        }
        if !is_load && !self.is_insertable(view) {
            return Err(not_insertable(name));
        }
        let Some(table) = table.or_else(|| self.only_table(view)) else { return Err(not_insertable(name)) };
        // Needs of one table follow each other.
        needs.sort_by_key(|need| need.table);
        self.needs.columns.extend(needs);
        self.need_on_way(view, table, wanted, true);
        let in_table = |ordinal| match self.view_column(view, ordinal) {
            ViewColumn::Base(base, ordinal, _) if base == table => Some(ordinal),
            _ => None,
        };
        self.inserted_view = Some((view, (0..width).map(in_table).collect()));
        Ok((table, columns))
    }

    /// A value with subqueries as a query of its own.
    pub(super) fn row_query(&mut self, expr: Expr) -> u32 {
        let column = self.new_column(&self.no_name(), expr.data_type.clone(), expr.nullable);
        let tree = Logical::Project { input: Box::new(Logical::OneRow), items: vec![(column, expr)] };
        self.row_queries.push(BoundRowQuery { tree, column });
        self.row_queries.len() as u32 - 1
    }

    /// Makes the columns of the tables of an INSERT's query that ON DUPLICATE KEY UPDATE reads columns of the query.
    fn add_read_columns(&self, rows: &mut InsertRows, tables: &[ScopeTable], read: &[ColumnId]) {
        let InsertRows::Query(tree, ids) = rows else { return };
        let is_shown = |id: ColumnId| {
            tables.iter().any(|table| match &table.columns {
                ScopeColumns::Base { first, definition, .. } => {
                    (first.0..first.0 + definition.columns.len() as u32).contains(&id.0)
                }
                ScopeColumns::Derived { columns, .. } => columns.iter().any(|(_, other)| *other == id),
            })
        };
        let mut added: Vec<ColumnId> = Vec::new();
        for &id in read {
            if is_shown(id) && !ids.contains(&id) && !added.contains(&id) {
                added.push(id);
            }
        }
        if !added.is_empty() {
            self.keep_through_distinct(tree, &added);
            ids.extend(added);
        }
    }

    /// DISTINCT lets columns pass that it does not compare: those of one of the equal rows.
    fn keep_through_distinct(&self, tree: &mut Logical, kept: &[ColumnId]) {
        match tree {
            Logical::Limit { input, .. } | Logical::Sort { input, .. } => {
                self.keep_through_distinct(input, kept);
            }
            Logical::Distinct { input, columns } => {
                let input = std::mem::replace(&mut **input, Logical::OneRow);
                let keys = columns.iter().map(|&id| (id, self.column_expr(id))).collect();
                let kept = kept.iter().filter(|id| !columns.contains(id));
                let calls = kept.map(|&id| (id, super::group::any_value(self.column_expr(id)))).collect();
                *tree = Logical::Aggregate { input: Box::new(input), keys, calls, rollup: false };
            }
            // That of a DISTINCT ordered by columns it does not select.
            Logical::Aggregate { keys, calls, .. } => {
                for &id in kept {
                    if !keys.iter().any(|(key, _)| *key == id) && !calls.iter().any(|(call, _)| *call == id) {
                        calls.push((id, super::group::any_value(self.column_expr(id))));
                    }
                }
            }
            _ => {}
        }
    }

    fn insert_columns(&mut self, entry: &Arc<TableEntry>, insert: &Insert<'_>) -> PlanResult<Vec<usize>> {
        let definition = &entry.definition;
        let Some(names) = insert.columns.filter(|names| !names.is_empty()) else {
            return Ok((0..definition.columns.len())
                .filter(|&at| !definition.columns[at].invisible)
                .collect());
        };
        let mut seen = vec![false; definition.columns.len()];
        let mut columns = Vec::with_capacity(names.len());
        for name in names {
            let text = utf8(name.name.text);
            let Some(ordinal) = definition.column_ordinal(&text) else {
                return Err(PlanError::new(
                    1054,
                    format!("Unknown column '{}' in 'field list'", written_name(name)),
                ));
            };
            if std::mem::replace(&mut seen[ordinal], true) && !insert.repeats_columns {
                return Err(PlanError::new(1110, format!("Column '{text}' specified twice")));
            }
            columns.push(ordinal);
        }
        Ok(columns)
    }

    /// Shows the row being inserted as a table.
    fn show_new_row(
        &mut self,
        entry: &Arc<TableEntry>,
        shown: &[ScopeTable],
        alias: &str,
        new_row: ColumnId,
    ) -> PlanResult<()> {
        if let (Some((_, ordinals)), Some(view)) = (&self.inserted_view, shown.first()) {
            // Columns of the view's other tables are refused where they are read.
            let columns = ordinals.iter().enumerate().map(|(at, ordinal)| {
                let other = view.column(at as u32);
                (view.name(at as u32), ordinal.map_or(other, |ordinal| ColumnId(new_row.0 + ordinal as u32)))
            });
            let columns = columns.collect();
            return self.show_derived(alias, columns);
        }
        let columns = entry
            .definition
            .seen_columns()
            .enumerate()
            .map(|(ordinal, column)| (column.name.clone(), ColumnId(new_row.0 + ordinal as u32)))
            .collect();
        self.show_derived(alias, columns)
    }

    fn finish_insert(
        &mut self,
        insert: &'a Insert<'a>,
        entry: &Arc<TableEntry>,
        (table, through): (TableIndex, Option<TableIndex>),
        columns: Vec<usize>,
        mut rows: InsertRows,
        new_row: ColumnId,
        selected: Option<Block>,
    ) -> PlanResult<BoundInsert> {
        for &column in &columns {
            // LOAD DATA reads fields of generated columns and leaves them out.
            if entry.definition.columns[column].generated.is_some() && !insert.repeats_columns {
                let only_default = match &rows {
                    InsertRows::Values { cells, .. } => {
                        let at = columns.iter().position(|other| *other == column).unwrap_or(0);
                        cells.iter().skip(at).step_by(columns.len()).all(|cell| *cell == InsertCell::Default)
                    }
                    InsertRows::Query(..) => false,
                };
                if !only_default {
                    let (column, table) = (&entry.definition.columns[column].name, &entry.definition.name);
                    let text = format!(
                        "The value specified for generated column '{column}' in table '{table}' is not allowed."
                    );
                    return Err(PlanError::new(3105, text));
                }
            }
        }
        let mut on_duplicate = Vec::new();
        if !insert.on_duplicate.is_empty() {
            if let Some(alias) = &insert.row_alias {
                let names: Vec<Arc<str>> = if alias.columns.is_empty() {
                    columns.iter().map(|&ordinal| entry.definition.columns[ordinal].name.clone()).collect()
                } else if alias.columns.len() == columns.len() {
                    alias.columns.iter().map(|name| utf8(name.text).into()).collect()
                } else {
                    return Err(count_mismatch(1));
                };
                let shown = names
                    .into_iter()
                    .zip(&columns)
                    .map(|(name, &ordinal)| (name, ColumnId(new_row.0 + ordinal as u32)))
                    .collect();
                self.show_derived(&utf8(alias.name.text), shown)?;
            }
            // The tables of the SELECT are seen beside the changed one.
            let (selected, hidden) = selected.map(|block| (block.tables, block.hidden)).unwrap_or_default();
            let block = self.block();
            let shift = block.tables.len() as u32;
            block.hidden.extend(hidden.into_iter().map(|(table, ordinal)| (table + shift, ordinal)));
            block.tables.extend(selected.iter().cloned());
            self.new_row = Some((table, new_row));
            let before = self.tables.len();
            on_duplicate = self.assignments(insert.on_duplicate, &[(0, through.unwrap_or(table))])?;
            self.new_row = None;
            let is_query = matches!(rows, InsertRows::Query(..));
            let reads_target = |other: &BoundTable| other.entry.definition.id == entry.definition.id;
            if !is_query && self.tables[before..].iter().any(reads_target) {
                self.check_target_not_read(table, through, "INSERT", std::slice::from_ref(&(0..before)))?;
                return Err(target_is_read(&self.tables[through.unwrap_or(table).0 as usize].alias));
            }
            if let Some(view) = through {
                let mut other = on_duplicate.iter().any(|assignment| assignment.table != table);
                for value in on_duplicate.iter().filter_map(|assignment| assignment.value.as_ref()) {
                    value.each_column(&mut |id| other |= self.is_of_other_table(view, table, id));
                }
                if other {
                    return Err(several_tables(&self.full_view_name(view)));
                }
            }
            let mut read = Vec::new();
            for assignment in &mut on_duplicate {
                let Some(value) = &assignment.value else { continue };
                value.each_column(&mut |id| read.push(id));
                if value.has_subquery()
                    && let Some(value) = assignment.value.take()
                {
                    assignment.query = Some(self.row_query(value));
                }
            }
            self.add_read_columns(&mut rows, &selected, &read);
        }
        self.add_columns(&mut rows, &entry.definition, &columns);
        self.blocks.pop();
        let view = through.map(|view| {
            let name = self.full_view_name(view);
            let check = self.view_check(view, table, true);
            let is_replace = insert.replace && !insert.repeats_columns;
            let replaced = if is_replace { self.shown_rows(view) } else { None };
            Box::new(BoundTargetView { name, check, replaced })
        });
        Ok(BoundInsert {
            table,
            view,
            replace: insert.replace,
            ignore: insert.ignore,
            columns,
            rows,
            new_row,
            on_duplicate,
            row_queries: std::mem::take(&mut self.row_queries),
        })
    }

    fn insert_cell(
        &mut self,
        values: &'a ValuesRows<'a>,
        cell: &Cell,
        to: Option<&DataType>,
    ) -> PlanResult<InsertCell> {
        if cell.kind == CellKind::Default {
            return Ok(InsertCell::Default);
        }
        if cell.kind == CellKind::Param
            && self.types.fixes_parameters
            && let Some(collation) = to.and_then(|to| crate::function::charset_of(to, &self.types))
        {
            self.text_parameters.borrow_mut().push((cell.start, collation));
        }
        if let Some(value) = self.plain_cell(values, cell)? {
            return Ok(value);
        }
        let expr = &values.exprs[cell.start as usize];
        if matches!(expr.kind, Ast::Default) {
            return Ok(InsertCell::Default);
        }
        let bound = self.expr(expr)?;
        let bound = if let Some(to) = to { stored::given(bound, to) } else { bound };
        if let (Some((view, _)), Some((table, _))) = (&self.inserted_view, self.inserted_row) {
            let mut other = false;
            bound.each_column(&mut |id| other |= self.is_of_other_table(*view, table, id));
            if other {
                return Err(several_tables(&self.full_view_name(*view)));
            }
        }
        if bound.has_subquery() {
            return Ok(InsertCell::Query(self.row_query(bound)));
        }
        // Bytes with an introducer are text where a number is wanted, unlike a plain literal in hex or bits.
        let is_plain = !bound.data_type.is_binary_string() || bound.data_type.is_hex_literal();
        Ok(match bound.kind {
            crate::ExprKind::Literal(value) if is_plain => InsertCell::Value(value),
            crate::ExprKind::Param(ordinal) => {
                self.note_parameter(ordinal, None);
                InsertCell::Param(ordinal)
            }
            _ => InsertCell::Expr(Box::new(bound)),
        })
    }

    /// A cell that is a literal or a parameter.
    fn plain_cell(&mut self, values: &ValuesRows<'_>, cell: &Cell) -> PlanResult<Option<InsertCell>> {
        use ast::NumberKind as Kind;
        let text = |start: u32, len: u32| &self.text[start as usize..(start + len) as usize];
        if !matches!(cell.kind, CellKind::Param | CellKind::Expr | CellKind::Default)
            && let Some(ordinal) = self.literal_parameter(cell.start)
        {
            self.note_parameter(ordinal, None);
            return Ok(Some(InsertCell::Param(ordinal)));
        }
        let number =
            |kind: Kind, negative: bool| super::literal::number(kind, text(cell.start, cell.len), negative);
        let value = match cell.kind {
            CellKind::Null => Value::Null,
            CellKind::True => Value::Int(1),
            CellKind::False => Value::Int(0),
            CellKind::Integer => number(Kind::Integer, false)?,
            CellKind::Decimal => number(Kind::Decimal, false)?,
            CellKind::Float => number(Kind::Float, false)?,
            CellKind::NegInteger => number(Kind::Integer, true)?,
            CellKind::NegDecimal => number(Kind::Decimal, true)?,
            CellKind::NegFloat => number(Kind::Float, true)?,
            CellKind::String => {
                Value::string_literal(text(cell.start, cell.len), self.types.connection_collation)
            }
            CellKind::StringEscaped => {
                let mut bytes = Vec::with_capacity(cell.len as usize);
                let quote = self.text[cell.start as usize - 1];
                syntax::unescape(text(cell.start, cell.len), quote, !values.no_backslash_escapes, &mut bytes);
                Value::string_literal(&bytes, self.types.connection_collation)
            }
            CellKind::Hex => Value::string(hex_bytes(text(cell.start, cell.len)), types::CollationId::BINARY),
            CellKind::Param => {
                self.note_parameter(cell.start, None);
                return Ok(Some(InsertCell::Param(cell.start)));
            }
            CellKind::Default | CellKind::Expr => return Ok(None),
        };
        Ok(Some(InsertCell::Value(value)))
    }

    /// A cell of `VALUES ROW(..)` as a query; `None` for DEFAULT.
    pub(crate) fn values_cell(
        &mut self,
        values: &'a ValuesRows<'a>,
        cell: &Cell,
    ) -> PlanResult<Option<Expr>> {
        if cell.kind == CellKind::Default {
            return Ok(None);
        }
        match self.plain_cell(values, cell)? {
            Some(InsertCell::Value(value)) => Ok(Some(Expr::literal(value))),
            Some(InsertCell::Param(ordinal)) => Ok(Some(self.parameter(ordinal))),
            _ => {
                let expr = &values.exprs[cell.start as usize];
                if matches!(expr.kind, Ast::Default) { Ok(None) } else { self.expr(expr).map(Some) }
            }
        }
    }

    /// SET: names are looked up among `targets` (position in the block, table).
    fn assignments(
        &mut self,
        assignments: &'a [ast::Assignment<'a>],
        targets: &[(usize, TableIndex)],
    ) -> PlanResult<Vec<BoundAssignment>> {
        let mut bound = Vec::with_capacity(assignments.len());
        // The columns that are written are checked before those that are read.
        let needs_before = self.needs.columns.len();
        let mut written = Vec::with_capacity(assignments.len());
        for assignment in assignments {
            let name = utf8(assignment.column.name.text);
            let qualifier = assignment.column.table.map(|table| utf8(table.text));
            let mut found = None;
            for (position, table) in targets {
                let shown = &self.block().tables[*position];
                if qualifier.as_ref().is_some_and(|qualifier| **qualifier != *shown.alias) {
                    continue;
                }
                if let Some((ordinal, _)) = shown.find(&name) {
                    if found.is_some() {
                        let text = format!(
                            "Column '{}' in field list is ambiguous",
                            written_name(&assignment.column)
                        );
                        return Err(PlanError::new(1052, text));
                    }
                    found = Some((*table, ordinal));
                }
            }
            let Some((mentioned, ordinal)) = found else {
                let is_named = |shown: &&ScopeTable| {
                    qualifier.as_ref().is_none_or(|qualifier| **qualifier == *shown.alias)
                        && shown.find(&name).is_some()
                };
                // A derived table or CTE.
                if let Some(shown) = self.block().tables.iter().find(is_named) {
                    return Err(not_updatable(&shown.alias, "UPDATE"));
                }
                let text = format!("Unknown column '{}' in 'field list'", written_name(&assignment.column));
                return Err(PlanError::new(1054, text));
            };
            let ChangedColumn { table, ordinal: column, path } =
                self.changed_column(mentioned, ordinal, &name)?;
            self.block().clause = "field list";
            let mut value = match assignment.value.kind {
                Ast::Default => None,
                _ => Some(self.expr(&assignment.value)?),
            };
            let definition = &self.tables[table.0 as usize].entry.definition;
            if let Some(value) = &mut value {
                self.note_stored(value, &definition.columns[column].data_type);
                crate::function::derive_stored(value, &definition.columns[column].data_type, &self.types);
                self.note_parameters(std::slice::from_ref(value));
            }
            let value = value.map(|value| stored::given(value, &definition.columns[column].data_type));
            if definition.columns[column].generated.is_some() && value.is_some() {
                let text = format!(
                    "The value specified for generated column '{}' in table '{}' is not allowed.",
                    definition.columns[column].name, definition.name
                );
                return Err(PlanError::new(3105, text));
            }
            Self::write_path(&path, Privileges::UPDATE, false, &mut written);
            bound.push(BoundAssignment { table, column, value, query: None });
        }
        self.needs.columns.splice(needs_before..needs_before, written);
        Ok(bound)
    }

    /// The column of a table that an assignment to a column of a table or view changes.
    ///
    /// # Errors
    /// 1288, 1348.
    fn changed_column(&self, table: TableIndex, ordinal: u32, name: &str) -> PlanResult<ChangedColumn> {
        let mentioned = &self.tables[table.0 as usize];
        if !mentioned.is_view {
            return Ok(ChangedColumn { table, ordinal: ordinal as usize, path: vec![(table, ordinal)] });
        }
        if !self.is_changeable_view(table) {
            return Err(not_updatable(&mentioned.alias, "UPDATE"));
        }
        self.written_column(table, ordinal, name, &mentioned.alias, "UPDATE")
    }

    /// The view in FROM that a change of a table goes through.
    fn changed_through(&self, table: TableIndex) -> Option<TableIndex> {
        self.needs.tables.iter().find(|need| need.table == table).and_then(|need| need.view)
    }

    /// Refuses to change several tables of one view.
    fn check_one_table_of_views(&self, targets: &[TableIndex]) -> PlanResult<()> {
        for (at, &target) in targets.iter().enumerate() {
            let Some(view) = self.changed_through(target) else { continue };
            if targets[..at].iter().any(|&other| self.changed_through(other) == Some(view)) {
                return Err(several_tables(&self.full_view_name(view)));
            }
        }
        Ok(())
    }

    pub(crate) fn update(&mut self, update: &'a Update<'a>) -> PlanResult<BoundUpdate> {
        let ctes = self.enter_with(update.with)?;
        let multi_table = !matches!(update.tables, [TableRef::Table(_)]);
        self.next_need = (!multi_table).then_some(Privileges::UPDATE);
        self.blocks.push(Block::new("field list"));
        self.block().holds_errors = true;
        let before = self.tables.len();
        let mut source = self.from(update.tables)?;
        if self.may_have_hints && self.note_hints(super::hints::WHOLE, update.hints) {
            super::select::fix_join_order(&mut source);
        }
        let own = self.tables_of_from(before);
        let mut bases = Vec::new();
        for (position, table) in self.block().tables.iter().enumerate() {
            bases.extend(table.catalog_table().map(|table| (position, table)));
        }
        let only_view =
            match self.block().tables.first() {
                Some(ScopeTable {
                    columns: ScopeColumns::Derived { view: Some(view), .. }, alias, ..
                }) if !multi_table => Some((*view, Arc::clone(alias))),
                _ => None,
            };
        if let Some((view, alias)) = &only_view {
            if !self.is_changeable_view(*view) {
                return Err(not_updatable(alias, "UPDATE"));
            }
            if self.joined_tables(*view) > 1 && (!update.order_by.is_empty() || update.limit.is_some()) {
                let clause = if update.order_by.is_empty() { "LIMIT" } else { "ORDER BY" };
                return Err(PlanError::new(1221, format!("Incorrect usage of UPDATE and {clause}")));
            }
        }
        if multi_table {
            for need in &mut self.needs.tables {
                if bases.iter().any(|(_, table)| *table == need.table) {
                    need.alternative = Privileges::UPDATE;
                }
            }
        }
        source = self.change_condition(source, update.where_)?;
        self.block().clause = "field list";
        let assignments = self.assignments(update.assignments, &bases)?;
        self.check_joins()?;
        let mut targets: Vec<TableIndex> = assignments.iter().map(|assignment| assignment.table).collect();
        targets.sort_unstable();
        targets.dedup();
        self.check_one_table_of_views(&targets)?;
        for &table in &targets {
            match self.changed_through(table) {
                Some(view) => self.need_on_way(view, table, Privileges::UPDATE, false),
                None => self.change_table(table),
            }
        }
        if let (Some((view, alias)), [target], Some(_)) = (&only_view, &*targets, &update.limit) {
            self.check_limited_view(*view, *target, alias, "UPDATE")?;
        }
        source = self.change_order(source, update.order_by, update.limit.as_ref())?;
        self.blocks.pop();
        self.leave_with(ctes);
        for &table in &targets {
            self.tables[table.0 as usize].lock = Some((true, catalog::LockWait::Wait));
            self.check_target_not_read(table, self.changed_through(table), "UPDATE", &own)?;
        }
        let mut checks = Vec::new();
        for &table in &targets {
            if let Some(view) = self.changed_through(table) {
                checks.extend(self.view_check(view, table, false).map(|check| (table, check)));
            }
        }
        let multi_table = multi_table || only_view.is_some_and(|(view, _)| self.joined_tables(view) > 1);
        Ok(BoundUpdate {
            source: Box::new(source),
            targets,
            assignments,
            checks,
            row_queries: std::mem::take(&mut self.row_queries),
            ignore: update.ignore,
            multi_table,
        })
    }

    /// The mentions of tables in FROM of the current block, from `first` on, but for those in conditions of its joins.
    fn tables_of_from(&mut self, first: usize) -> Vec<Range<usize>> {
        let of_on = std::mem::take(&mut self.block().tables_of_on);
        let mut own = Vec::with_capacity(of_on.len() + 1);
        let mut start = first;
        for range in of_on {
            own.push(start..range.start);
            start = range.end;
        }
        own.push(start..self.tables.len());
        own
    }

    pub(crate) fn delete(&mut self, delete: &'a Delete<'a>) -> PlanResult<BoundDelete> {
        let ctes = self.enter_with(delete.with)?;
        self.next_need = delete.targets.is_empty().then_some(Privileges::DELETE);
        self.blocks.push(Block::new("field list"));
        self.block().holds_errors = true;
        let before = self.tables.len();
        let mut source = self.from(delete.from)?;
        if self.may_have_hints && self.note_hints(super::hints::WHOLE, delete.hints) {
            super::select::fix_join_order(&mut source);
        }
        let own = self.tables_of_from(before);
        let mut targets = Vec::new();
        if delete.targets.is_empty() {
            match self.block().tables.first().and_then(ScopeTable::catalog_table) {
                Some(table) if self.tables[table.0 as usize].is_view => {
                    let alias = self.tables[table.0 as usize].alias.clone();
                    let target = self.deleted_through(table, &alias)?;
                    if delete.limit.is_some() {
                        self.check_limited_view(table, target, &alias, "DELETE")?;
                    }
                    self.need_on_way(table, target, Privileges::DELETE, false);
                    targets.push(target);
                }
                _ => targets.push(TableIndex(self.tables.len() as u32 - 1)),
            }
        }
        for name in delete.targets {
            let alias = utf8(name.name.text);
            let schema = name.schema.map(|schema| utf8(schema.text));
            let found = self.block().tables.iter().find_map(|table| {
                let is_named = *table.alias == *alias
                    && schema.as_ref().is_none_or(|schema| table.schema.as_deref() == Some(schema));
                table.catalog_table().filter(|_| is_named)
            });
            let Some(mut table) = found else {
                return Err(PlanError::new(1109, format!("Unknown table '{alias}' in MULTI DELETE")));
            };
            if self.tables[table.0 as usize].is_view {
                let target = self.deleted_through(table, &alias)?;
                self.needs.tables.push(deletes(table));
                table = target;
            }
            if targets.contains(&table) {
                return Err(PlanError::new(1066, format!("Not unique table/alias: '{alias}'")));
            }
            targets.push(table);
        }
        for &table in &targets {
            if let Some(view) = self.changed_through(table) {
                if !delete.targets.is_empty() {
                    self.need_on_way(view, table, Privileges::DELETE | Privileges::SELECT, false);
                }
                continue;
            }
            if !delete.targets.is_empty() {
                // Of several tables all are read first.
                self.needs.tables.push(deletes(table));
            }
            self.change_table(table);
        }
        source = self.change_condition(source, delete.where_)?;
        self.check_joins()?;
        source = self.change_order(source, delete.order_by, delete.limit.as_ref())?;
        self.blocks.pop();
        self.leave_with(ctes);
        for &table in &targets {
            self.tables[table.0 as usize].lock = Some((true, catalog::LockWait::Wait));
            self.check_target_not_read(table, self.changed_through(table), "DELETE", &own)?;
        }
        Ok(BoundDelete { source: Box::new(source), targets, ignore: delete.ignore })
    }

    /// WHERE of a change. Its errors come before those of ON, which the block holds.
    fn change_condition(
        &mut self,
        source: Logical,
        where_: Option<&'a ast::Expr<'a>>,
    ) -> PlanResult<Logical> {
        let source = match where_ {
            Some(condition) => {
                self.block().clause = "where clause";
                let conditions = self.where_condition(condition)?;
                Logical::Filter { input: Box::new(source), conditions }
            }
            None => source,
        };
        self.release_conditions()?;
        Ok(source)
    }

    /// ORDER BY and LIMIT of a change.
    fn change_order(
        &mut self,
        mut source: Logical,
        order_by: &'a [ast::OrderItem<'a>],
        limit: Option<&ast::Expr<'a>>,
    ) -> PlanResult<Logical> {
        self.block().clause = "order clause";
        self.block().alias_rule = AliasRule::Never;
        let mut keys = Vec::new();
        for item in order_by {
            let expr = stored::sorted(self.expr(&item.expr)?, |_| None, &source);
            keys.push(SortKey { expr, descending: item.desc == Some(true) });
        }
        if !keys.is_empty() {
            source = Logical::Sort { input: Box::new(source), keys };
        }
        if let Some(limit) = limit {
            let count = Some(self.limit_value(limit)?);
            source = Logical::Limit { input: Box::new(source), count, offset: None };
        }
        Ok(source)
    }

    /// The table that a DELETE through a view changes.
    fn deleted_through(&mut self, view: TableIndex, alias: &str) -> PlanResult<TableIndex> {
        if !self.is_changeable_view(view) {
            return Err(not_updatable(alias, "DELETE"));
        }
        if self.joined_tables(view) > 1 {
            self.need_of_all(view, Privileges::DELETE);
            let text = format!("Can not delete from join view '{}'", self.full_view_name(view));
            return Err(PlanError::new(1395, text));
        }
        self.only_table(view).ok_or_else(|| not_updatable(alias, "DELETE"))
    }

    /// `DEFAULT(column)`.
    pub(crate) fn default_of(&mut self, name: &ast::ColumnRef<'_>) -> PlanResult<Expr> {
        let column = self.column(name)?;
        let id = column.as_column();
        let origin = id.and_then(|id| self.columns[id.0 as usize].origin.or_else(|| self.read_inserted(id)));
        let Some((table, ordinal)) = origin else {
            return Err(PlanError::new(
                1054,
                format!("Unknown column '{}' in 'field list'", written_name(name)),
            ));
        };
        let definition = &self.tables[table.0 as usize].entry.definition;
        let column = &definition.columns[ordinal as usize];
        match &column.default {
            ColumnDefault::None => {
                Err(PlanError::new(1364, format!("Field '{}' doesn't have a default value", column.name)))
            }
            ColumnDefault::Null => Ok(Expr::null()),
            ColumnDefault::Literal { text, .. } => {
                let collation = match column.data_type.is_string() {
                    true => column.data_type.collation,
                    false => self.types.connection_collation,
                };
                let text = Expr::literal(Value::string(text.to_vec(), collation));
                let data_type = column.data_type.clone();
                if data_type.is_string() || data_type.members.is_some() {
                    return Ok(text);
                }
                crate::function::build_typed(
                    crate::FunctionId::Cast,
                    vec![text],
                    data_type,
                    crate::expr::CallOption::None,
                    &self.types,
                )
            }
            ColumnDefault::CurrentTimestamp => self.call(crate::FunctionId::Now, Vec::new()),
            ColumnDefault::Expression(_) => {
                Err(PlanError::new(3773, "DEFAULT function cannot be used with default value expressions"))
            }
        }
    }

    /// `VALUES(column)`.
    pub(crate) fn values_of(&mut self, name: &ast::ColumnRef<'_>) -> PlanResult<Expr> {
        let Some((table, new_row)) = self.new_row else {
            // Outside ON DUPLICATE KEY UPDATE it is NULL, but the column must exist.
            self.column(name)?;
            return Ok(Expr::null());
        };
        self.warn_deprecated(
            "'VALUES function'",
            "Please use an alias (INSERT INTO ... VALUES (...) AS alias) and replace VALUES(col) in the ON DUPLICATE KEY \
             UPDATE clause with alias.col instead",
        );
        let named = utf8(name.name.text);
        let found = match &self.inserted_view {
            Some((view, ordinals)) => {
                let shown = &self.tables[view.0 as usize].entry.definition;
                shown.column_names.get(&named).and_then(|at| ordinals.get(at).copied().flatten())
            }
            None => self.tables[table.0 as usize].entry.definition.column_ordinal(&named),
        };
        match found {
            Some(ordinal) => {
                self.read_target_column(table, ordinal as u32);
                Ok(self.column_expr(ColumnId(new_row.0 + ordinal as u32)))
            }
            None => {
                Err(PlanError::new(1054, format!("Unknown column '{}' in 'field list'", written_name(name))))
            }
        }
    }
}

/// A table whose rows a DELETE of several tables takes away.
fn deletes(table: TableIndex) -> TableNeed {
    TableNeed {
        table,
        privileges: Privileges::DELETE,
        alternative: Privileges::NONE,
        locking: false,
        changes: true,
        definer: None,
        view: None,
    }
}

/// 1471.
#[cold]
fn not_insertable(table: &str) -> Box<PlanError> {
    PlanError::new(1471, format!("The target table {table} of the INSERT is not insertable-into"))
}

/// 1393.
#[cold]
fn several_tables(view: &str) -> Box<PlanError> {
    let text = format!("Can not modify more than one base table through a join view '{view}'");
    PlanError::new(1393, text)
}

/// 1093.
pub(super) fn target_is_read(alias: &str) -> Box<PlanError> {
    PlanError::new(1093, format!("You can't specify target table '{alias}' for update in FROM clause"))
}

fn count_mismatch(row: u32) -> Box<PlanError> {
    PlanError::new(1136, format!("Column count doesn't match value count at row {row}"))
}

/// The bytes of hexadecimal digits, padded on the left.
fn hex_bytes(digits: &[u8]) -> Vec<u8> {
    let value = |digit: u8| (digit as char).to_digit(16).unwrap_or(0) as u8;
    let (first, pairs) = if digits.len() % 2 == 1 { digits.split_at(1) } else { digits.split_at(0) };
    let mut bytes: Vec<u8> = first.iter().map(|&digit| value(digit)).collect();
    bytes.extend(pairs.chunks(2).map(|pair| value(pair[0]) << 4 | value(pair[1])));
    bytes
}

/// 1288.
#[cold]
pub(super) fn not_updatable(table: &str, operation: &str) -> Box<PlanError> {
    PlanError::new(1288, format!("The target table {table} of the {operation} is not updatable"))
}
