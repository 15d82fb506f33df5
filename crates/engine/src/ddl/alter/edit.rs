//! The actions of ALTER TABLE, applied to the builder of its definition.
//!
//! Columns are found by the names they had before the statement, whatever its earlier actions renamed; what is dropped goes
//! first, so that its name is free for what is added. New and moved columns find their places when all have their new names, and
//! so do the keys that were there (`follow`).

use std::sync::Arc;

use catalog::{ColumnDefault, ColumnDefinition, TableDefinition, names_equal};
use service::error as e;
use service::error::{Diagnostic, SqlError};
use syntax::ast;
use syntax::ast::AlterAction as A;
use types::{CollationId, DataType, TypeKind};

use super::depend::check_dependents;
use super::follow::follow_columns;
use crate::ddl::builder::{ColumnBuilder, TableBuilder};
use crate::ddl::tables::template;
use crate::ddl::{
    Context, Result, Settings, check_column_name, check_index_name, check_name, defaults, text_of,
};
use session::column_type::{charset_warning, collation_warning, resolve_collation};

/// What the actions made of a table.
pub(super) struct Edited {
    pub(super) builder: TableBuilder,
    pub(super) table: TableDefinition,
    /// FORCE, ENGINE= or the like was written.
    pub(super) rebuild_asked: bool,
    /// RENAME TO.
    pub(super) rename: Option<(String, String)>,
}

/// Applies the actions to the table as it is.
///
/// # Errors
/// MySQL's.
pub(super) fn edit<'s>(
    context: &Context<'_>,
    catalog: &catalog::Catalog,
    old: &TableDefinition,
    actions: &[A<'s>],
    warnings: &mut Vec<Diagnostic>,
) -> Result<Edited> {
    let settings = context.settings(catalog);
    let gone = check_dependents(old, actions, &settings)?;
    let mut editor = Editor {
        builder: TableBuilder::of(old),
        old,
        settings: &settings,
        rebuild_asked: false,
        rename: None,
        placings: Vec::new(),
        taken: Vec::new(),
        missing: None,
    };
    let drops = |action: &A<'_>| {
        matches!(
            action,
            A::DropColumn(_)
                | A::DropPrimaryKey
                | A::DropIndex(_)
                | A::DropForeignKey(_)
                | A::DropCheck(_)
                | A::DropConstraint(_)
        )
    };
    for action in actions.iter().filter(|action| drops(action)) {
        editor.drop_something(action)?;
    }
    let stays = |name: &str| !gone.iter().any(|gone| names_equal(gone, name));
    editor.builder.checks.retain(|check| check.name.as_deref().is_none_or(stays));
    for action in actions.iter().filter(|action| !drops(action)) {
        editor.apply(context, action, warnings)?;
    }
    editor.place_columns()?;
    if editor.builder.columns.is_empty() {
        return Err(e::ER_CANT_REMOVE_ALL_FIELDS.bare());
    }
    if let Some(missing) = editor.missing {
        return Err(missing);
    }
    follow_columns(&mut editor.builder, old)?;
    let template = TableDefinition {
        row_version: old.row_version,
        dropped_columns: old.dropped_columns.clone(),
        ..template(old.id, old.schema_id, old.kind, old.created_micros)
    };
    let mut builder = editor.builder;
    let table = builder.finish(template, &settings, warnings)?;
    Ok(Edited { builder, table, rebuild_asked: editor.rebuild_asked, rename: editor.rename })
}

/// A column becomes VIRTUAL or stops being so only as another column; STORED is a plain one with an expression.
fn check_kind_stays(before: &ColumnDefinition, after: &ColumnDefinition) -> Result<()> {
    if before.is_virtual() == after.is_virtual() {
        return Ok(());
    }
    Err(e::ER_UNSUPPORTED_ACTION_ON_GENERATED_COLUMN.with(&[&"Changing the STORED status"]))
}

struct Editor<'a, 's> {
    builder: TableBuilder,
    old: &'a TableDefinition,
    settings: &'a Settings<'a>,
    rebuild_asked: bool,
    rename: Option<(String, String)>,
    placings: Vec<Placing<'s>>,
    /// Old columns that an action has changed.
    taken: Vec<usize>,
    /// 1091 of the first thing to drop that is not there: told if the columns have nothing worse.
    missing: Option<Box<SqlError>>,
}

/// What a constraint is.
#[derive(Clone, Copy, Eq, PartialEq)]
enum ConstraintKind {
    Check,
    ForeignKey,
    /// PRIMARY KEY or UNIQUE.
    Key,
}

/// The kind of the only constraint of the table that is called `name`.
///
/// # Errors
/// 3940, 3939.
fn constraint_kind(table: &TableDefinition, name: &str, clause: &str) -> Result<ConstraintKind> {
    let is_it = |other: &str| names_equal(other, name);
    let found = [
        (ConstraintKind::Check, table.checks.iter().any(|check| is_it(&check.name))),
        (ConstraintKind::ForeignKey, table.foreign_keys.iter().any(|key| is_it(&key.name))),
        (ConstraintKind::Key, table.indexes.iter().any(|index| index.is_unique() && is_it(&index.name))),
    ];
    let mut kinds = found.iter().filter(|(_, is_there)| *is_there).map(|(kind, _)| *kind);
    let kind = kinds.next().ok_or_else(|| e::ER_CONSTRAINT_NOT_FOUND.with(&[&name]))?;
    match kinds.next() {
        None => Ok(kind),
        Some(_) => Err(e::ER_MULTIPLE_CONSTRAINTS_WITH_SAME_NAME.with(&[&name, &clause])),
    }
}

/// A column on its way to its place.
struct Placing<'s> {
    column: Placed,
    /// `None`: behind the others.
    place: Option<ast::ColumnPlace<'s>>,
}

enum Placed {
    New(Box<ColumnBuilder>),
    /// Ordinal in the table as it is.
    Old(usize),
}

impl<'s> Editor<'_, 's> {
    /// The builder's position of the column that was called `name` before the statement, for the one action that may change it.
    ///
    /// # Errors
    /// 1054.
    fn take_column(&mut self, name: &str) -> Result<usize> {
        let found =
            self.old.column_ordinal(name).filter(|origin| !self.taken.contains(origin)).and_then(|origin| {
                self.taken.push(origin);
                self.builder.columns.iter().position(|column| column.origin == Some(origin))
            });
        found.ok_or_else(|| e::ER_BAD_FIELD_ERROR.with(&[&name, &self.old.name]))
    }

    fn drop_something(&mut self, action: &A<'_>) -> Result<()> {
        match action {
            A::DropColumn(name) => {
                let name = text_of(name.text)?;
                let is_hidden =
                    |column: &ColumnDefinition| column.is_hidden() && names_equal(&column.name, name);
                if self.builder.column_position(name).is_none() && self.old.columns.iter().any(is_hidden) {
                    return Err(e::ER_CANNOT_DROP_COLUMN_FUNCTIONAL_INDEX.with(&[&name]));
                }
                match self.builder.column_position(name) {
                    Some(position) => drop(self.builder.columns.remove(position)),
                    None => self.miss(name),
                }
            }
            A::DropPrimaryKey => {
                let position =
                    self.builder.keys.iter().position(|key| key.kind == catalog::IndexKind::Primary);
                self.drop_key(position, "PRIMARY");
            }
            A::DropIndex(name) => {
                let name = text_of(name.text)?;
                self.drop_key(self.key_position(name), name);
            }
            A::DropForeignKey(name) => {
                let name = text_of(name.text)?;
                if !self.drop_foreign_key(name) {
                    self.miss(name);
                }
            }
            A::DropCheck(name) => {
                let name = text_of(name.text)?;
                if !self.drop_check(name) {
                    return Err(e::ER_CHECK_CONSTRAINT_NOT_FOUND.with(&[&name]));
                }
            }
            A::DropConstraint(name) => {
                let name = text_of(name.text)?;
                match constraint_kind(self.old, name, "DROP")? {
                    ConstraintKind::Check => drop(self.drop_check(name)),
                    ConstraintKind::ForeignKey => {
                        if !self.drop_foreign_key(name) {
                            self.miss(name);
                        }
                    }
                    ConstraintKind::Key => self.drop_key(self.key_position(name), name),
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn drop_key(&mut self, position: Option<usize>, name: &str) {
        match position {
            Some(position) => drop(self.builder.keys.remove(position)),
            None => self.miss(name),
        }
    }

    fn miss(&mut self, name: &str) {
        self.missing.get_or_insert_with(|| e::ER_CANT_DROP_FIELD_OR_KEY.with(&[&name]));
    }

    fn key_position(&self, name: &str) -> Option<usize> {
        self.builder
            .keys
            .iter()
            .position(|key| key.name.as_deref().is_some_and(|other| names_equal(other, name)))
    }

    fn drop_foreign_key(&mut self, name: &str) -> bool {
        let before = self.builder.foreign_keys.len();
        self.builder
            .foreign_keys
            .retain(|key| !key.name.as_deref().is_some_and(|other| names_equal(other, name)));
        self.builder.foreign_keys.len() != before
    }

    fn drop_check(&mut self, name: &str) -> bool {
        let before = self.builder.checks.len();
        self.builder
            .checks
            .retain(|check| !check.name.as_deref().is_some_and(|other| names_equal(other, name)));
        self.builder.checks.len() != before
    }

    fn apply(&mut self, context: &Context<'_>, action: &A<'s>, warnings: &mut Vec<Diagnostic>) -> Result<()> {
        let settings = self.settings;
        match *action {
            A::AddColumn(column, place) => {
                self.add_column(column, place, warnings)?;
            }
            A::AddElements(elements) => {
                for element in elements {
                    match element {
                        ast::TableElement::Column(column) => self.add_column(column, None, warnings)?,
                        element => self.builder.add_element(element, settings, warnings)?,
                    }
                }
            }
            A::AddKey(key) => {
                let key = TableBuilder::key(key, settings, warnings)?;
                self.builder.keys.push(key);
            }
            A::AddForeignKey(key) => self.builder.add_foreign_key(key)?,
            A::AddCheck(check) => self.builder.add_check(&check, None, settings)?,
            A::ModifyColumn(column, place) => {
                let name = text_of(column.name.text)?;
                self.redefine(name, column, place, warnings)?;
            }
            A::ChangeColumn(old, column, place) => {
                self.redefine(text_of(old.text)?, column, place, warnings)?;
            }
            A::SetDefault(name, default) => self.set_default(text_of(name.text)?, &default, warnings)?,
            A::DropDefault(name) => {
                let position = self.take_column(text_of(name.text)?)?;
                self.builder.columns[position].definition.default = ColumnDefault::None;
            }
            A::SetColumnInvisible(name, invisible) => {
                let position = self.take_column(text_of(name.text)?)?;
                self.builder.columns[position].definition.invisible = invisible;
            }
            A::SetIndexInvisible(name, invisible) => {
                let name = text_of(name.text)?;
                let position = self
                    .key_position(name)
                    .ok_or_else(|| e::ER_KEY_DOES_NOT_EXITS.with(&[&name, &self.old.name]))?;
                if invisible && self.builder.keys[position].kind == catalog::IndexKind::Primary {
                    return Err(e::ER_PK_INDEX_CANT_BE_INVISIBLE.bare());
                }
                self.builder.keys[position].visible = !invisible;
            }
            A::SetEnforced { name, enforced, any_kind } => {
                let name = text_of(name.text)?;
                if any_kind && constraint_kind(self.old, name, "ALTER")? != ConstraintKind::Check {
                    return Err(e::ER_ALTER_CONSTRAINT_ENFORCEMENT_NOT_SUPPORTED.with(&[&name]));
                }
                let found = self
                    .builder
                    .checks
                    .iter_mut()
                    .find(|check| check.name.as_deref().is_some_and(|other| names_equal(other, name)));
                match found {
                    Some(check) => check.enforced = enforced,
                    None => return Err(e::ER_CHECK_CONSTRAINT_NOT_FOUND.with(&[&name])),
                }
            }
            A::RenameColumn(old, new) => {
                let position = self.take_column(text_of(old.text)?)?;
                let new = text_of(new.text)?;
                check_column_name(new)?;
                self.builder.columns[position].definition.name = new.into();
            }
            A::RenameIndex(old, new) => {
                let (old, new) = (text_of(old.text)?, text_of(new.text)?);
                let position = self
                    .key_position(old)
                    .ok_or_else(|| e::ER_KEY_DOES_NOT_EXITS.with(&[&old, &self.old.name]))?;
                check_index_name(new)?;
                let key = &mut self.builder.keys[position];
                key.name = Some(new.into());
                // A name that was given keeps the index.
                key.generated = false;
            }
            A::RenameTable(name) => {
                let (schema, name) = match name.schema {
                    Some(_) => context.resolve(&name)?,
                    None => (self.old.schema.to_string(), {
                        let new = text_of(name.name.text)?;
                        check_name(new)?;
                        if new.is_empty() || new.ends_with(' ') {
                            return Err(e::ER_WRONG_TABLE_NAME.with(&[&new]));
                        }
                        new.to_owned()
                    }),
                };
                self.rename = Some((schema, name));
            }
            A::Option(option) => {
                if matches!(option, ast::TableOption::Engine(_)) {
                    self.rebuild_asked = true;
                }
                self.builder.apply_options(&[option], settings, warnings)?;
            }
            A::ConvertCharset { charset, collation } => {
                if let Some(charset) = charset {
                    charset_warning(charset, warnings);
                }
                collation.into_iter().for_each(|name| collation_warning(name, warnings));
                let collation =
                    resolve_collation(charset, collation)?.unwrap_or(settings.session.server_collation);
                self.convert(collation);
            }
            A::Force => self.rebuild_asked = true,
            // Rows keep the order of their key whatever is asked; non-unique keys are never disabled.
            A::OrderBy(_) | A::Keys(_) => {}
            A::PartitionBy(_) => return Err(e::ER_NOT_SUPPORTED_YET.with(&[&"PARTITION BY"])),
            A::Other(words) => return Err(e::ER_NOT_SUPPORTED_YET.with(&[&words])),
            A::DropColumn(_)
            | A::DropPrimaryKey
            | A::DropIndex(_)
            | A::DropForeignKey(_)
            | A::DropCheck(_)
            | A::DropConstraint(_) => {}
        }
        Ok(())
    }

    fn add_column(
        &mut self,
        column: &ast::ColumnDef<'_>,
        place: Option<ast::ColumnPlace<'s>>,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<()> {
        let column = Placed::New(Box::new(self.builder.column(column, self.settings, warnings)?));
        self.placings.push(Placing { column, place });
        Ok(())
    }

    fn redefine(
        &mut self,
        old: &str,
        column: &ast::ColumnDef<'_>,
        place: Option<ast::ColumnPlace<'s>>,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<()> {
        let position = self.take_column(old)?;
        let mut made = self.builder.column(column, self.settings, warnings)?;
        let before = self.builder.columns[position].clone();
        check_kind_stays(&before.definition, &made.definition)?;
        made.origin = before.origin;
        made.definition.since_version = before.definition.since_version;
        made.definition.instant_default = before.definition.instant_default;
        made.definition.stored_order = before.definition.stored_order;
        made.definition.earlier_forms = before.definition.earlier_forms;
        self.builder.columns[position] = made;
        if let (Some(origin), Some(_)) = (before.origin, place) {
            self.placings.push(Placing { column: Placed::Old(origin), place });
        }
        Ok(())
    }

    /// An AUTO_INCREMENT column takes a default and goes on without; a BLOB takes none, not even an expression.
    fn set_default(
        &mut self,
        name: &str,
        default: &ast::ColumnDefault<'_>,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<()> {
        let position = self.take_column(name)?;
        let column = &mut self.builder.columns[position].definition;
        if column.generated.is_some() {
            return Err(e::ER_WRONG_USAGE.with(&[&"DEFAULT", &"generated column"]));
        }
        if column.data_type.is_text_or_blob() {
            return Err(e::ER_BLOB_CANT_HAVE_DEFAULT.with(&[&column.name]));
        }
        let made = defaults::column_default(
            default,
            &column.name,
            &column.data_type,
            column.nullable,
            self.settings,
            warnings,
        )?;
        if !column.auto_increment {
            column.default = made;
        }
        Ok(())
    }

    /// Puts the columns that are new or move where they are to stand, one after the other.
    ///
    /// # Errors
    /// 1054: AFTER a column that is not there yet.
    fn place_columns(&mut self) -> Result<()> {
        for Placing { column, place } in std::mem::take(&mut self.placings) {
            let columns = &mut self.builder.columns;
            let column = match column {
                Placed::New(column) => *column,
                Placed::Old(origin) => {
                    let position = columns.iter().position(|column| column.origin == Some(origin));
                    let Some(position) = position else { continue };
                    columns.remove(position)
                }
            };
            let position = match place {
                None => self.builder.columns.len(),
                Some(ast::ColumnPlace::First) => 0,
                Some(ast::ColumnPlace::After(name)) => {
                    let name = text_of(name.text)?;
                    let after = self.builder.column_position(name);
                    after.ok_or_else(|| e::ER_BAD_FIELD_ERROR.with(&[&name, &self.old.name]))? + 1
                }
            };
            self.builder.columns.insert(position, column);
        }
        Ok(())
    }

    /// CONVERT TO CHARACTER SET: the table's collation and that of all its strings.
    fn convert(&mut self, collation: CollationId) {
        self.builder.collation = collation;
        let added = self.placings.iter_mut().filter_map(|placing| match &mut placing.column {
            Placed::New(column) => Some(&mut **column),
            Placed::Old(_) => None,
        });
        for column in self.builder.columns.iter_mut().chain(added) {
            let column = &mut column.definition;
            let data_type = &mut column.data_type;
            let is_text = data_type.is_string() || matches!(data_type.kind, TypeKind::Enum | TypeKind::Set);
            if !is_text || data_type.is_binary_string() {
                continue;
            }
            let (before, after) = (data_type.collation.charset(), collation.charset());
            if data_type.is_text_or_blob() && after.max_bytes_per_char() > before.max_bytes_per_char() {
                // A TEXT must hold as many characters as before.
                let chars = u64::from(data_type.length) / before.max_bytes_per_char() as u64;
                let bytes = chars * after.max_bytes_per_char() as u64;
                let kind = match bytes {
                    0..=0xff => TypeKind::TinyText,
                    0x100..=0xffff => TypeKind::Text,
                    0x1_0000..=0xff_ffff => TypeKind::MediumText,
                    _ => TypeKind::LongText,
                };
                *data_type = DataType::text(kind, collation);
            }
            if let Some(members) = &data_type.members {
                let names = members
                    .iter()
                    .map(|name| {
                        let mut out = Vec::new();
                        let _ = types::charset::convert_lossy(before, name, after, &mut out);
                        out.into_boxed_slice()
                    })
                    .collect();
                *data_type =
                    DataType::with_members(data_type.kind, Arc::new(types::Members::new(names)), collation);
            }
            data_type.collation = collation;
        }
    }
}
