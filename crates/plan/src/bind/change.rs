//! INSERT, REPLACE, UPDATE, DELETE.

use std::sync::Arc;

use catalog::{ColumnDefault, Privileges, TableEntry};
use syntax::ast::{
    self, Cell, CellKind, Delete, ExprKind as Ast, Insert, InsertSource, TableRef, Update, ValuesRows,
};
use types::{DataType, Value};

use super::scope::{AliasRule, Block, ScopeColumns, ScopeTable, written_name};
use super::stored;
use super::{Binder, utf8};
use crate::error::{PlanError, PlanResult};
use crate::expr::{ColumnId, Expr};
use crate::logical::{
    BoundAssignment, BoundDelete, BoundInsert, BoundRowQuery, BoundTable, BoundUpdate, ColumnNeed,
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
        let entry = self.find_table(&insert.table)?;
        let name = entry.definition.name.clone();
        let table = self.add_table(entry.clone(), name.clone());
        if entry.definition.view.is_some() {
            let text = format!("The target table {name} of the INSERT is not insertable-into");
            return Err(PlanError::new(1471, text));
        }
        self.change_table(table);
        self.blocks.push(Block::new("field list"));
        self.show_table(table, name.clone());

        let columns = self.insert_columns(&entry, insert)?;
        // The row that is being inserted: VALUES(c), the row alias, and columns in later cells.
        let new_row = ColumnId(self.columns.len() as u32);
        self.inserted_row = Some((table, new_row));
        let names_none = insert.columns.is_none_or(<[_]>::is_empty);
        self.write_columns(table, &columns, Privileges::INSERT, names_none);
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
                self.show_new_row(&entry, &name, new_row)?;
                let mut cells = Vec::with_capacity(values.cells.len());
                for (position, cell) in values.cells.iter().enumerate() {
                    let ordinal = columns.get(position % width.max(1));
                    let to = ordinal.map(|&ordinal| &entry.definition.columns[ordinal].data_type);
                    cells.push(self.insert_cell(values, cell, to)?);
                }
                self.block().tables = shown;
                self.check_target_not_read(table, "INSERT")?;
                let columns_written = if width == 0 { Vec::new() } else { columns };
                return self.finish_insert(
                    insert,
                    &entry,
                    table,
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
                if matches!(query.body, ast::QueryBody::Select(_)) {
                    selected = self.last_block.take().filter(|block| !block.is_grouped);
                }
                InsertRows::Query(Box::new(bound.plan), ids)
            }
        };
        self.finish_insert(insert, &entry, table, columns, rows, new_row, selected)
    }

    /// A value with subqueries as a query of its own.
    fn row_query(&mut self, expr: Expr) -> u32 {
        let column = self.new_column(&"".into(), expr.data_type.clone(), expr.nullable);
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
    fn show_new_row(&mut self, entry: &Arc<TableEntry>, alias: &str, new_row: ColumnId) -> PlanResult<()> {
        let columns = entry
            .definition
            .columns
            .iter()
            .enumerate()
            .map(|(ordinal, column)| (column.name.clone(), ColumnId(new_row.0 + ordinal as u32)))
            .collect();
        self.show_derived(alias, columns)
    }

    fn finish_insert(
        &mut self,
        insert: &'a Insert<'a>,
        entry: &Arc<TableEntry>,
        table: TableIndex,
        columns: Vec<usize>,
        mut rows: InsertRows,
        new_row: ColumnId,
        selected: Option<Block>,
    ) -> PlanResult<BoundInsert> {
        for &column in &columns {
            if let Some(generated) = &entry.definition.columns[column].generated {
                let _ = generated;
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
            on_duplicate = self.assignments(insert.on_duplicate, &[(0, table)])?;
            self.new_row = None;
            let is_query = matches!(rows, InsertRows::Query(..));
            let reads_target = |other: &BoundTable| other.entry.definition.id == entry.definition.id;
            if !is_query && self.tables[before..].iter().any(reads_target) {
                return Err(target_is_read(&self.tables[table.0 as usize].alias));
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
        Ok(BoundInsert {
            table,
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
                let alias = self.block().tables[*position].alias.clone();
                if qualifier.as_ref().is_some_and(|qualifier| **qualifier != *alias) {
                    continue;
                }
                let definition = self.tables[table.0 as usize].entry.definition.clone();
                if let Some(ordinal) = definition.column_ordinal(&name) {
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
            let Some((table, column)) = found else {
                let is_of_view = |table: &&ScopeTable| {
                    table.catalog_table().is_some()
                        && qualifier.as_ref().is_none_or(|qualifier| **qualifier == *table.alias)
                        && table.find(&name).is_some()
                };
                if let Some(view) = self.block().tables.iter().find(is_of_view) {
                    return Err(not_updatable(&view.alias, "UPDATE"));
                }
                let text = format!("Unknown column '{}' in 'field list'", written_name(&assignment.column));
                return Err(PlanError::new(1054, text));
            };
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
            let wanted = Privileges::UPDATE;
            written.push(ColumnNeed { table, ordinal: column as u32, privileges: wanted, of_all: false });
            bound.push(BoundAssignment { table, column, value, query: None });
        }
        self.needs.columns.splice(needs_before..needs_before, written);
        Ok(bound)
    }

    pub(crate) fn update(&mut self, update: &'a Update<'a>) -> PlanResult<BoundUpdate> {
        let ctes = self.enter_with(update.with)?;
        let multi_table = !matches!(update.tables, [TableRef::Table(_)]);
        self.next_need = (!multi_table).then_some(Privileges::UPDATE);
        self.blocks.push(Block::new("field list"));
        let mut source = self.from(update.tables)?;
        super::select::collect_scans(&source, &mut self.top_tables);
        let mut bases = Vec::new();
        for (position, table) in self.block().tables.iter().enumerate() {
            if let ScopeColumns::Base { table, .. } = table.columns {
                bases.push((position, table));
            }
        }
        if multi_table {
            for need in &mut self.needs.tables {
                if bases.iter().any(|(_, table)| *table == need.table) {
                    need.alternative = Privileges::UPDATE;
                }
            }
        }
        let assignments = self.assignments(update.assignments, &bases)?;
        let mut targets: Vec<TableIndex> = assignments.iter().map(|assignment| assignment.table).collect();
        targets.sort_unstable();
        targets.dedup();
        for &table in &targets {
            self.change_table(table);
        }
        source = self.change_source(source, update.where_, update.order_by, update.limit.as_ref())?;
        self.blocks.pop();
        self.leave_with(ctes);
        for &table in &targets {
            self.tables[table.0 as usize].lock = Some((true, catalog::LockWait::Wait));
            self.check_target_not_read(table, "UPDATE")?;
        }
        Ok(BoundUpdate { source: Box::new(source), targets, assignments, ignore: update.ignore, multi_table })
    }

    pub(crate) fn delete(&mut self, delete: &'a Delete<'a>) -> PlanResult<BoundDelete> {
        let ctes = self.enter_with(delete.with)?;
        self.next_need = delete.targets.is_empty().then_some(Privileges::DELETE);
        self.blocks.push(Block::new("field list"));
        let mut source = self.from(delete.from)?;
        super::select::collect_scans(&source, &mut self.top_tables);
        let mut targets = Vec::new();
        if delete.targets.is_empty() {
            if let Some(ScopeTable { alias, columns: ScopeColumns::Derived { view: Some(_), .. }, .. }) =
                self.block().tables.first()
            {
                return Err(not_updatable(alias, "DELETE"));
            }
            targets.push(TableIndex(self.tables.len() as u32 - 1));
        }
        for name in delete.targets {
            let alias = utf8(name.name.text);
            let schema = name.schema.map(|schema| utf8(schema.text));
            let found = self.block().tables.iter().find_map(|table| match table.columns {
                ScopeColumns::Base { table: index, .. }
                    if *table.alias == *alias
                        && schema.as_ref().is_none_or(|schema| table.schema.as_deref() == Some(schema)) =>
                {
                    Some(index)
                }
                _ => None,
            });
            let Some(table) = found else {
                let is_view = |table: &ScopeTable| *table.alias == *alias && table.catalog_table().is_some();
                if self.block().tables.iter().any(is_view) {
                    return Err(not_updatable(&alias, "DELETE"));
                }
                return Err(PlanError::new(1109, format!("Unknown table '{alias}' in MULTI DELETE")));
            };
            if targets.contains(&table) {
                return Err(PlanError::new(1066, format!("Not unique table/alias: '{alias}'")));
            }
            targets.push(table);
        }
        for &table in &targets {
            if !delete.targets.is_empty() {
                // Of several tables all are read first.
                let need = TableNeed {
                    table,
                    privileges: Privileges::DELETE,
                    alternative: Privileges::NONE,
                    locking: false,
                    changes: true,
                    definer: None,
                    view: None,
                };
                self.needs.tables.push(need);
            }
            self.change_table(table);
        }
        source = self.change_source(source, delete.where_, delete.order_by, delete.limit.as_ref())?;
        self.blocks.pop();
        self.leave_with(ctes);
        for &table in &targets {
            self.tables[table.0 as usize].lock = Some((true, catalog::LockWait::Wait));
            self.check_target_not_read(table, "DELETE")?;
        }
        Ok(BoundDelete { source: Box::new(source), targets, ignore: delete.ignore })
    }

    /// WHERE, ORDER BY and LIMIT of a change.
    fn change_source(
        &mut self,
        mut source: Logical,
        where_: Option<&'a ast::Expr<'a>>,
        order_by: &'a [ast::OrderItem<'a>],
        limit: Option<&ast::Expr<'a>>,
    ) -> PlanResult<Logical> {
        if let Some(condition) = where_ {
            self.block().clause = "where clause";
            let conditions = self.where_condition(condition)?;
            source = Logical::Filter { input: Box::new(source), conditions };
        }
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

    /// 1093: the changed table is read by a subquery as well.
    fn check_target_not_read(&self, target: TableIndex, operation: &str) -> PlanResult<()> {
        let changed = &self.tables[target.0 as usize];
        for need in self.needs.tables.iter().filter(|need| need.view.is_some()) {
            let read = &self.tables[need.table.0 as usize].entry;
            let Some(view) = need.view.map(|view| &self.tables[view.0 as usize]) else { continue };
            let is_merged = view.entry.definition.view.as_ref().is_some_and(|view| view.updatable);
            if is_merged && read.definition.id == changed.entry.definition.id {
                let text = format!(
                    "The definition of table '{}' prevents operation {operation} on table '{}'.",
                    view.alias, changed.alias
                );
                return Err(PlanError::new(1443, text));
            }
        }
        let in_from = |index: usize| {
            // Mentions in the statement's own FROM are the change's own sources.
            let table = TableIndex(index as u32);
            table == target || self.top_tables.contains(&table) || self.derived_tables.contains(&table)
        };
        for (index, table) in self.tables.iter().enumerate() {
            if !in_from(index) && table.entry.definition.id == changed.entry.definition.id {
                return Err(target_is_read(&changed.alias));
            }
        }
        Ok(())
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
        let definition = &self.tables[table.0 as usize].entry.definition;
        match definition.column_ordinal(&utf8(name.name.text)) {
            Some(ordinal) => {
                self.read_column(table, ordinal as u32, false);
                Ok(self.column_expr(ColumnId(new_row.0 + ordinal as u32)))
            }
            None => {
                Err(PlanError::new(1054, format!("Unknown column '{}' in 'field list'", written_name(name))))
            }
        }
    }
}

/// 1093.
fn target_is_read(alias: &str) -> Box<PlanError> {
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
fn not_updatable(table: &str, operation: &str) -> Box<PlanError> {
    PlanError::new(1288, format!("The target table {table} of the {operation} is not updatable"))
}
