//! Generated columns and functional key parts as definitions.
//!
//! Invariants:
//! 1. Rows keep the values of all generated columns, VIRTUAL ones too: they are computed whenever a row is written, so that what an
//!    index holds and what a scan reads are the same value, whatever the session that reads it has set.
//! 2. A functional key part is a generated column that no statement can name (`GeneratedKind::KeyPart`). These stand behind all other
//!    columns, in the order of keys and parts, and are made from the keys whenever a definition is finished.
//! 3. An expression reads plain columns anywhere and generated ones before it, so that one pass by ordinal computes a row.

use std::sync::Arc;

use catalog::{ColumnDefinition, GeneratedColumn, GeneratedKind, NameMap, TableDefinition, TableEntry};
use plan::logical::Created;
use plan::{Expr, ExprKind, FunctionId};
use service::error as e;
use syntax::ast;
use types::{DataType, TypeKind};

use super::builder::{ColumnBuilder, TableBuilder};
use super::expression::{Unfit, canonical_generated, columns_of_text};
use super::{Result, Settings, selected};
use session::backend::SelectedColumn;

/// The name of a key without one that begins with an expression.
pub(super) const UNNAMED: &str = "functional_index";

/// What an expression in a statement names.
#[derive(Clone, Debug)]
pub(super) struct Written {
    columns: Vec<String>,
}

/// An expression that is a part of a key.
#[derive(Clone, Debug)]
pub(super) struct PartExpression {
    /// Canonical text.
    pub(super) text: Arc<str>,
    /// What stands in this statement.
    written: Option<WrittenPart>,
    /// The column that it is in the table that is altered.
    before: Option<(usize, ColumnDefinition)>,
    /// Type and whether it can be NULL, once it is bound.
    bound: Option<(DataType, bool)>,
}

#[derive(Clone, Debug)]
struct WrittenPart {
    columns: Vec<String>,
    unfit: Option<Unfit>,
    is_column: bool,
}

impl PartExpression {
    /// Of a statement.
    pub(super) fn written(expr: &ast::Expr<'_>, settings: &Settings<'_>) -> Result<Self> {
        let made = canonical_generated(expr, settings)?;
        let is_column = matches!(expr.kind, ast::ExprKind::Column(_));
        let written = WrittenPart { columns: made.columns, unfit: made.unfit, is_column };
        Ok(Self { text: made.text.into(), written: Some(written), before: None, bound: None })
    }

    /// Of a table as it is.
    pub(super) fn existing(text: &Arc<str>, before: (usize, ColumnDefinition)) -> Self {
        Self { text: Arc::clone(text), written: None, before: Some(before), bound: None }
    }

    /// The column that holds its values. `key`: the key's name; `place`: which key and part it is.
    ///
    /// # Errors
    /// 3753, 3757.
    pub(super) fn column(&self, key: Option<&str>, place: (usize, usize)) -> Result<ColumnDefinition> {
        let (data_type, nullable) =
            self.bound.clone().ok_or_else(|| e::ER_NOT_SUPPORTED_YET.with(&[&"functional index"]))?;
        if data_type.kind == TypeKind::Json {
            return Err(e::ER_FUNCTIONAL_INDEX_ON_JSON_OR_GEOMETRY_FUNCTION.bare());
        }
        if data_type.is_text_or_blob() {
            return Err(e::ER_FUNCTIONAL_INDEX_ON_LOB.bare());
        }
        let name = match key {
            Some(key) => format!("!hidden!{key}!{}!0", place.1),
            None => format!("!hidden!{UNNAMED}_{}!{}!0", place.0, place.1),
        };
        let mut column = match &self.before {
            Some((_, before)) if before.data_type == data_type && before.nullable == nullable => {
                before.clone()
            }
            _ => ColumnDefinition::new("", data_type, nullable),
        };
        column.name = name.into();
        column.invisible = true;
        column.generated =
            Some(GeneratedColumn { expression: Arc::clone(&self.text), kind: GeneratedKind::KeyPart });
        Ok(column)
    }

    fn origin(&self) -> Option<usize> {
        self.before.as_ref().map(|(ordinal, _)| *ordinal)
    }
}

/// Refuses what a generated column cannot have beside its expression.
///
/// # Errors
/// 1221.
pub(super) fn check_attributes(column: &ast::ColumnDef<'_>) -> Result<()> {
    let wrong = if column.ty.serial {
        "SERIAL"
    } else if column.default.is_some() {
        "DEFAULT"
    } else if column.on_update.is_some() {
        "ON UPDATE"
    } else if column.auto_increment {
        "AUTO_INCREMENT"
    } else {
        return Ok(());
    };
    Err(e::ER_WRONG_USAGE.with(&[&wrong, &"generated column"]))
}

/// The generated column `name`.
///
/// # Errors
/// 3102, 3763, 3764, 3772: what its expression must not hold.
pub(super) fn generated_column(
    written: &ast::Generated<'_>,
    name: &str,
    settings: &Settings<'_>,
) -> Result<(GeneratedColumn, Written)> {
    if matches!(written.expr.kind, ast::ExprKind::Row(_)) {
        return Err(e::ER_GENERATED_COLUMN_ROW_VALUE.with(&[&name]));
    }
    let made = canonical_generated(&written.expr, settings)?;
    if let Some(unfit) = &made.unfit {
        return Err(match unfit {
            Unfit::Function(function) => {
                e::ER_GENERATED_COLUMN_NAMED_FUNCTION_IS_NOT_ALLOWED.with(&[&name, function])
            }
            Unfit::Variable => e::ER_DEFAULT_VAL_GENERATED_VARIABLES.with(&[&name]),
            Unfit::Array => {
                e::ER_NOT_SUPPORTED_YET.with(&[&"Use of CAST( .. AS .. ARRAY) outside of functional index in CREATE(non-SELECT)/ALTER TABLE or in general expressions"])
            }
            Unfit::Subquery | Unfit::NotBoolean => {
                e::ER_GENERATED_COLUMN_FUNCTION_IS_NOT_ALLOWED.with(&[&name])
            }
        });
    }
    let kind = if written.stored { GeneratedKind::Stored } else { GeneratedKind::Virtual };
    Ok((GeneratedColumn { expression: made.text.into(), kind }, Written { columns: made.columns }))
}

impl TableBuilder {
    /// Checks what the generated columns and functional key parts read, and finds the types of the latter. `columns`: those of the
    /// table that can be named. Answers whether there are any.
    ///
    /// # Errors
    /// 1054, 3107, 3109, 3754, 3758, 3762, and what is wrong with an expression.
    pub(super) fn check_generated(
        &mut self,
        template: &TableDefinition,
        columns: &[ColumnDefinition],
        names: &NameMap,
        settings: &Settings<'_>,
    ) -> Result<bool> {
        let has_parts = self.keys.iter().any(|key| key.parts.iter().any(|part| part.expression.is_some()));
        if !has_parts && columns.iter().all(|column| column.generated.is_none()) {
            return Ok(false);
        }
        for (ordinal, (column, builder)) in columns.iter().zip(&self.columns).enumerate() {
            let Some(generated) = &column.generated else { continue };
            let read;
            let named = match &builder.written {
                Some(written) => &written.columns,
                None => {
                    read = columns_of_text(&generated.expression, settings)?;
                    &read
                }
            };
            for name in named {
                let Some(used) = names.get(name) else {
                    return Err(e::ER_BAD_FIELD_ERROR.with(&[name, &"generated column function"]));
                };
                if columns[used].auto_increment {
                    return Err(e::ER_GENERATED_COLUMN_REF_AUTO_INC.with(&[&column.name]));
                }
                if used >= ordinal && columns[used].generated.is_some() {
                    return Err(e::ER_GENERATED_COLUMN_NON_PRIOR.bare());
                }
            }
        }
        let mut table = TableDefinition {
            name: Arc::clone(&self.name),
            schema: Arc::clone(&self.schema),
            columns: columns.to_vec(),
            collation: self.collation,
            ..template.clone()
        };
        table.index_names();
        let entry = entry_of(&table);
        for column in columns {
            if let Some(generated) = &column.generated {
                exec::bind_stored_expression(&entry, &generated.expression)?;
            }
        }
        for key in &mut self.keys {
            let key_name = key.name.as_deref().unwrap_or(UNNAMED);
            if key.kind == catalog::IndexKind::Primary
                && key.parts.iter().any(|part| part.expression.is_some())
            {
                return Err(e::ER_FUNCTIONAL_INDEX_PRIMARY_KEY.bare());
            }
            for expression in key.parts.iter_mut().filter_map(|part| part.expression.as_deref_mut()) {
                if let Some(written) = &expression.written {
                    check_written(written, key_name, columns, names)?;
                }
                let bound = exec::bind_stored_expression(&entry, &expression.text)?;
                expression.bound = Some((part_type(&bound), bound.nullable));
            }
        }
        Ok(true)
    }

    /// Adds the columns of functional key parts, which stand behind the others in `columns`.
    pub(super) fn add_part_columns(&mut self, columns: &[ColumnDefinition]) {
        self.columns.retain(|column| !column.definition.is_hidden());
        let expressions =
            self.keys.iter().flat_map(|key| &key.parts).filter_map(|part| part.expression.as_deref());
        let origins: Vec<Option<usize>> = expressions.map(PartExpression::origin).collect();
        for (definition, origin) in columns[self.columns.len()..].iter().zip(origins) {
            self.columns.push(ColumnBuilder::of_part(definition.clone(), origin));
        }
    }
}

fn check_written(
    written: &WrittenPart,
    key: &str,
    columns: &[ColumnDefinition],
    names: &NameMap,
) -> Result<()> {
    if written.is_column {
        return Err(e::ER_FUNCTIONAL_INDEX_ON_FIELD.bare());
    }
    match &written.unfit {
        None => {}
        Some(Unfit::Array) => return Err(e::ER_NOT_SUPPORTED_YET.with(&[&"multi-valued index"])),
        Some(Unfit::Variable) => return Err(e::ER_DEFAULT_VAL_GENERATED_VARIABLES.with(&[&key])),
        Some(_) => return Err(e::ER_FUNCTIONAL_INDEX_FUNCTION_IS_NOT_ALLOWED.with(&[&key])),
    }
    for name in &written.columns {
        let Some(used) = names.get(name) else {
            return Err(e::ER_BAD_FIELD_ERROR.with(&[name, &"functional index"]));
        };
        if columns[used].auto_increment {
            return Err(e::ER_FUNCTIONAL_INDEX_REF_AUTO_INCREMENT.with(&[&key]));
        }
    }
    Ok(())
}

/// The type of the column that CREATE TABLE ... SELECT would make of the expression.
fn part_type(expr: &Expr) -> DataType {
    let created = match &expr.kind {
        ExprKind::Literal(types::Value::Int(..0)) => Created::Function,
        ExprKind::Literal(_) => Created::Value,
        ExprKind::Call { function: FunctionId::IfNull, .. } => Created::IfNull,
        ExprKind::Input(_) => Created::Column,
        _ => Created::Function,
    };
    let data_type = expr.data_type.clone();
    selected::stored_type(&SelectedColumn {
        name: String::new(),
        data_type,
        source: None,
        nullable: expr.nullable,
        created,
    })
}

/// Makes sure that everything that is computed for rows of the table can be.
///
/// # Errors
/// 1235.
pub(super) fn check_programs(table: &TableDefinition) -> Result<()> {
    exec::RowDefaults::compile(&entry_of(table), &|_| false, &|_| true).map(drop)
}

/// The table as what binds expressions sees it: nobody reads its rows.
fn entry_of(table: &TableDefinition) -> Arc<TableEntry> {
    Arc::new(TableEntry {
        definition: Arc::new(table.clone()),
        source: Arc::new(table::ViewSource::default()),
    })
}

/// By ordinal: the generated columns of `table` whose values may differ from those that rows of `old` hold. `mapping`: where its
/// columns come from.
///
/// # Errors
/// What is wrong with an expression.
pub(super) fn recomputed(
    old: &TableDefinition,
    table: &TableDefinition,
    mapping: &[Option<usize>],
    settings: &Settings<'_>,
) -> Result<Vec<bool>> {
    let is_other = |ordinal: usize| {
        let column = &table.columns[ordinal];
        let Some(before) = mapping[ordinal].map(|origin| &old.columns[origin]) else { return true };
        before.data_type != column.data_type || before.nullable && !column.nullable
    };
    let mut changed: Vec<bool> = (0..mapping.len()).map(is_other).collect();
    let mut computed = vec![false; mapping.len()];
    for (ordinal, column) in table.columns.iter().enumerate() {
        let Some(generated) = &column.generated else { continue };
        let before = mapping[ordinal].and_then(|origin| old.columns[origin].generated.as_ref());
        let mut is_changed =
            changed[ordinal] || before.is_none_or(|before| before.expression != generated.expression);
        if !is_changed {
            for name in columns_of_text(&generated.expression, settings)? {
                is_changed |= table.column_ordinal(&name).is_some_and(|used| changed[used]);
            }
        }
        changed[ordinal] = is_changed;
        computed[ordinal] = is_changed;
    }
    Ok(computed)
}
