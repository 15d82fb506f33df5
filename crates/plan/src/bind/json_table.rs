//! JSON_TABLE in FROM.
//!
//! Its document may read columns of the tables before it, as a LATERAL query may.

use std::sync::Arc;

use syntax::ast::{self, JsonOn};
use types::json::{self, Path};
use types::{DataType, TypeKind, Value};

use super::documents::check_document;
use super::temporary::TemporaryColumn;
use super::{Binder, NamedColumns, utf8};
use crate::error::{PlanError, PlanResult};
use crate::expr::{Coercibility, Expr, JsonAnswer};
use crate::logical::{JsonColumn, JsonRows, JsonSource, Logical, OutputSource};

/// The display width of a column FOR ORDINALITY.
const ORDINALITY_DIGITS: u32 = 10;

impl<'a> Binder<'a> {
    pub(super) fn json_table(
        &mut self,
        table: &'a ast::JsonTable<'a>,
    ) -> PlanResult<(Logical, Vec<(u32, u32)>)> {
        let Some(alias) = table.alias else {
            return Err(PlanError::new(3667, "Every table function must have an alias"));
        };
        let alias = utf8(alias.text);
        self.check_alias(&alias, None)?;
        let document = self.json_table_document(&table.doc)?;
        let mut columns = Vec::new();
        let rows = self.json_rows(table.path, table.columns, &mut columns)?;
        let ids = columns.iter().map(|(_, id)| *id).collect();
        self.show_derived(&alias, columns)?;

        let mut outer = Vec::new();
        document.each_column(&mut |id| outer.push(id));
        outer.sort_unstable();
        outer.dedup();
        let id = self.new_column(&self.no_name(), document.data_type.clone(), document.nullable);
        let input = Logical::Project { input: Box::new(Logical::OneRow), items: vec![(id, document)] };
        let mut plan = Logical::JsonTable {
            input: Box::new(input),
            document: id,
            rows: Arc::new(rows),
            alias: alias.as_ref().into(),
            columns: ids,
        };
        if !outer.is_empty() {
            plan = self.lateral(plan, outer);
        }
        Ok((plan, self.shown_last()))
    }

    fn json_table_document(&mut self, document: &'a ast::Expr<'a>) -> PlanResult<Expr> {
        let clause = std::mem::replace(&mut self.block().clause, "a table function argument");
        let bound = self.expr(document);
        self.block().clause = clause;
        let bound = bound?;
        if bound.has_subquery() {
            return Err(PlanError::new(1210, "Incorrect arguments to JSON_TABLE"));
        }
        // Another value is refused with the first row that it is computed for.
        if bound.is_foldable() {
            check_document(&bound, "json_table")?;
        }
        if bound.data_type.is_hex_literal() {
            let text = "Cannot create a JSON value from a string with CHARACTER SET 'binary'.";
            return Err(PlanError::new(3144, text));
        }
        Ok(bound)
    }

    fn json_rows(
        &mut self,
        path: &[u8],
        written: &'a [ast::JsonColumn<'a>],
        all: &mut NamedColumns,
    ) -> PlanResult<JsonRows> {
        crate::progress::step();
        let mut rows = JsonRows { path: parse_path(path)?, columns: Vec::new(), nested: Vec::new() };
        for column in written {
            let (name, data_type, source) = match column {
                ast::JsonColumn::Nested { path, columns } => {
                    rows.nested.push(self.json_rows(path, columns, all)?);
                    continue;
                }
                ast::JsonColumn::Ordinality(name) => (name, DataType::BIGINT, JsonSource::Ordinality),
                ast::JsonColumn::Path { name, ty, exists, path, on_empty, on_error } => {
                    let data_type = self.session.column_type(ty, &utf8(name.text))?;
                    let path = parse_path(path)?;
                    let source = if *exists {
                        JsonSource::Exists(path)
                    } else {
                        JsonSource::Value {
                            path,
                            on_empty: answer(*on_empty, &data_type, name)?,
                            on_error: answer(*on_error, &data_type, name)?,
                        }
                    };
                    (name, data_type, source)
                }
            };
            let name: Arc<str> = utf8(name.text).into();
            let id = self.new_column(&name, data_type, true);
            self.columns[id.0 as usize].coercibility = Some(Coercibility::Implicit);
            self.materialized_columns.insert(id);
            if matches!(source, JsonSource::Ordinality) {
                // It is described by fewer digits than it is computed with.
                let held = TemporaryColumn {
                    data_type: DataType { length: ORDINALITY_DIGITS, ..DataType::BIGINT },
                    flags: 0,
                    source: OutputSource::Column,
                };
                self.temporary_columns.insert(id, held);
            }
            rows.columns.push(JsonColumn { output: all.len(), name: name.clone(), source });
            all.push((name, id));
        }
        Ok(rows)
    }
}

fn parse_path(text: &[u8]) -> PlanResult<Path> {
    Path::parse(text).map_err(|error| {
        let position = error.position;
        let text =
            format!("Invalid JSON path expression. The error is around character position {position}.");
        PlanError::new(3143, text)
    })
}

fn answer(on: Option<JsonOn<'_>>, data_type: &DataType, name: &ast::Ident<'_>) -> PlanResult<JsonAnswer> {
    let default = match on {
        None | Some(JsonOn::Null) => return Ok(JsonAnswer::Null),
        Some(JsonOn::Error) => return Ok(JsonAnswer::Error),
        Some(JsonOn::Default(default)) => default,
    };
    let ast::ExprKind::Literal(ast::Literal::String { value, .. }) = default.kind else {
        return Err(PlanError::not_supported(
            "non-string DEFAULT value for a column in a JSON_TABLE expression",
        ));
    };
    let mut document = Vec::new();
    json::parse(value, &mut document).map_err(|error| {
        let text = format!(
            "Invalid JSON text in argument 1 to function JSON_TABLE: \"{}\" at position {}.",
            error.message, error.position
        );
        PlanError::new(3141, text)
    })?;
    let is_scalar = !matches!(json::View::new(&document).kind(), json::Kind::Array | json::Kind::Object);
    if data_type.kind != TypeKind::Json && !is_scalar {
        return Err(PlanError::new(1067, format!("Invalid default value for '{}'", utf8(name.text))));
    }
    Ok(JsonAnswer::Default(Value::Json(document)))
}
