//! ALTER TABLE, CREATE INDEX, DROP INDEX.
//!
//! The statement's actions edit a draft of the table; the finished definition is compared with the old one:
//!
//! - the rows' layout is the same, or has columns more at its end: the trees stay. New columns answer older rows from
//!   their instant default; new indexes are built from a scan; dropped ones lose their tree;
//! - anything else: the rows are copied, converted, into new trees.
//!
//! All of it happens in the statement's one transaction, under the table's exclusive metadata lock.

use std::sync::Arc;

use catalog::{
    ColumnDefault, ColumnDefinition, IndexPart, StoredValue, TableDefinition, TableEntry, TableKind,
    TreeNumber, names_equal,
};
use service::error as e;
use service::error::{Diagnostic, Level, SqlError};
use store::LockWait;
use syntax::ast;
use syntax::ast::AlterAction as A;
use table::codec::row::VERSIONS_MAX;
use table::{KeyBytesRange, ScanRequest, Table, TimestampZone, Utc, WriteContext};
use types::convert::{Severity, StoreOptions, store};
use types::temporal::DateTime;
use types::temporal::parse::DateMode;
use types::vector::{Batch, BytesColumn};
use types::{Cell, CollationId, Column, DataType, Physical, TypeKind};

use super::column_type::{charset_warning, resolve_collation};
use super::definitions::trees_of;
use super::draft::Draft;
use super::foreign_key;
use super::tables::{find, lock_all, rename_generated_constraints, template};
use super::{Change, Context, Outcome, Result, Settings, check_index_name, defaults, sql_mode_bits, text_of};

/// How the statement may be carried out (ALGORITHM=).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Algorithm {
    Any,
    Instant,
    Inplace,
    Copy,
}

/// ALTER TABLE.
///
/// # Errors
/// MySQL's; the table is as before then.
pub fn alter_table(context: &mut Context<'_>, statement: &ast::AlterTable<'_>) -> Result<Outcome> {
    alter(context, &statement.table, statement.actions, statement.algorithm, statement.lock)
}

/// CREATE INDEX.
///
/// # Errors
/// As [`alter_table`].
pub fn create_index(context: &mut Context<'_>, statement: &ast::CreateIndex<'_>) -> Result<Outcome> {
    alter(context, &statement.table, &[A::AddKey(&statement.key)], statement.algorithm, statement.lock)
}

/// DROP INDEX.
///
/// # Errors
/// As [`alter_table`].
pub fn drop_index(context: &mut Context<'_>, statement: &ast::DropIndex<'_>) -> Result<Outcome> {
    let action = if statement.name.is("primary") { A::DropPrimaryKey } else { A::DropIndex(statement.name) };
    alter(context, &statement.table, &[action], statement.algorithm, statement.lock)
}

fn alter(
    context: &mut Context<'_>,
    name: &ast::ObjectName<'_>,
    actions: &[A<'_>],
    algorithm: Option<&[u8]>,
    lock: Option<&[u8]>,
) -> Result<Outcome> {
    let algorithm = parse_algorithm(algorithm, lock)?;
    let (schema, name) = context.resolve(name)?;
    let catalog = context.temporary.overlay(&context.definitions.catalog().load());
    let entry = find(&catalog, &schema, &name)?;
    let _locks = lock_all(&concerned(&catalog, &entry, actions)?, context)?;
    let mut change = context.definitions.begin();
    let base = Arc::new(change.catalog.clone());
    let catalog = context.temporary.overlay(&base);
    let entry = find(&catalog, &schema, &name)?;
    let old = Arc::clone(&entry.definition);

    let mut warnings = std::mem::take(context.warnings);
    let result = edit(context, &catalog, &old, actions, &mut warnings);
    *context.warnings = warnings;
    let Edited { draft, mut table, rebuild_asked, rename } = result?;
    if old.kind == TableKind::Base {
        let mapping: Vec<Option<usize>> = draft.columns.iter().map(|column| column.origin).collect();
        foreign_key::check_altered(&old, &table, &mapping, &context.settings(&base))?;
    }
    let adds_keys = foreign_key::adds_keys(&old, &table);
    let checks_rows = context.foreign_key_checks && adds_keys;
    let asked = match algorithm {
        Algorithm::Instant => Some(("ALGORITHM=INSTANT", "ALGORITHM=COPY/INPLACE")),
        Algorithm::Inplace if checks_rows => Some(("ALGORITHM=INPLACE", "ALGORITHM=COPY")),
        _ => None,
    };
    if let Some((asked, instead)) = asked.filter(|_| adds_keys) {
        if checks_rows {
            let reason = "Adding foreign keys needs foreign_key_checks=OFF";
            return Err(e::ER_ALTER_OPERATION_NOT_SUPPORTED_REASON.with(&[&asked, &reason, &instead]));
        }
        return Err(e::ER_ALTER_OPERATION_NOT_SUPPORTED.with(&[&asked, &instead]));
    }
    if let Some((new_schema, new_name)) = &rename {
        let target = catalog.schema(new_schema).ok_or_else(|| e::ER_BAD_DB_ERROR.with(&[new_schema]))?;
        if (new_schema.as_str(), new_name.as_str()) != (&*old.schema, &*old.name)
            && target.table(new_name).is_some()
        {
            return Err(e::ER_TABLE_EXISTS_ERROR.with(&[new_name]));
        }
        table.schema_id = target.id;
        table.schema = new_schema.as_str().into();
        table.name = new_name.as_str().into();
        rename_generated_constraints(&mut table, &old.name);
    }

    let mapping: Vec<Option<usize>> = draft.columns.iter().map(|column| column.origin).collect();
    let kept = kept_indexes(&draft, &old, &table, &mapping);
    let clustered_stays = match (old.clustered, table.clustered) {
        (None, None) => true,
        (Some(before), Some(after)) => kept[after] == Some(before),
        _ => false,
    };
    let in_place = !rebuild_asked
        && algorithm != Algorithm::Copy
        && old.kind == TableKind::Base
        && clustered_stays
        && instant_layout(&old, &mut table, &mapping, context)?;
    let builds_index = kept.iter().any(Option::is_none);
    if algorithm == Algorithm::Instant && (!in_place || builds_index) {
        let type_changes = mapping.iter().zip(&table.columns).any(|(origin, column)| {
            origin.is_some_and(|origin| !same_storage(&old.columns[origin], column, false))
        });
        if type_changes {
            return Err(e::ER_ALTER_OPERATION_NOT_SUPPORTED_REASON.with(&[
                &"ALGORITHM=INSTANT",
                &"Need to rebuild the table to change column type",
                &"ALGORITHM=COPY/INPLACE",
            ]));
        }
        return Err(
            e::ER_ALTER_OPERATION_NOT_SUPPORTED.with(&[&"ALGORITHM=INSTANT", &"ALGORITHM=COPY/INPLACE"])
        );
    }
    let source = Table::of(&entry.source).ok_or_else(|| e::ER_NO_SUCH_TABLE.with(&[&schema, &name]))?;
    let copied_rows = if in_place {
        keep_trees(&mut change, &old, &mut table, &kept)?;
        build_indexes(context, &mut change, &source, &table, &kept)?;
        None
    } else {
        Some(copy(context, &mut change, &source, &mut table, &mapping)?)
    };

    let mut checked = None;
    if checks_rows {
        checked = Some(foreign_key::check_rows(context, &mut change, &Arc::new(table.clone()), &old)?);
    }
    if rename.is_some() && old.kind == TableKind::Base {
        if let Some(from) = change.catalog.schema_mut(&old.schema) {
            from.remove(&old.name);
        }
        foreign_key::check_awaited(&base, &table, &context.settings(&base), false)?;
        for key in &table.foreign_keys {
            foreign_key::check_name_is_free(&base, &table, &key.name)?;
        }
    }
    if old.kind == TableKind::Base {
        foreign_key::follow_altered(&mut change, &old, &mut table, &mapping)?;
    }
    let table = Arc::new(table);
    if in_place {
        change.put_altered(Arc::clone(&table), &entry)?;
    } else {
        change.put_rebuilt(Arc::clone(&table), &entry)?;
    }
    let (position, temporary) = change.commit()?;
    if rename.is_some() {
        context.temporary.remove(&old.schema, &old.name);
    }
    for entry in temporary {
        context.temporary.put(entry);
    }
    let (copied, counter) = copied_rows.unwrap_or((0, None));
    // MySQL counts the rows it copies, not those it moves while it rebuilds a table in place.
    let loses_key = old.primary_key().is_some() && table.primary_key().is_none();
    let converts = mapping.iter().zip(&table.columns).any(|(origin, column)| {
        origin.is_some_and(|origin| {
            let before = ColumnDefinition { nullable: column.nullable, ..old.columns[origin].clone() };
            !same_storage(&before, column, false)
        })
    });
    let counted = converts || loses_key || algorithm == Algorithm::Copy || old.kind == TableKind::Temporary;
    let affected_rows = if counted { copied } else { checked.unwrap_or(0) };
    // A temporary table's counter is in no tree.
    let counter = counter.filter(|_| table.kind == TableKind::Temporary);
    if let Some(next) = draft.auto_increment.or(counter) {
        raise_counter(context, &table, next)?;
    }
    let warning_count = context.warnings.iter().filter(|warning| warning.level != Level::Note).count();
    Ok(Outcome {
        affected_rows,
        info: format!("Records: {affected_rows}  Duplicates: 0  Warnings: {warning_count}"),
        position,
    })
}

/// The tables that nobody else may be at work on: the table, the parents of new foreign keys, and the children whose keys
/// follow a new name.
fn concerned(
    catalog: &catalog::Catalog,
    entry: &Arc<TableEntry>,
    actions: &[A<'_>],
) -> Result<Vec<Arc<TableEntry>>> {
    let mut tables = vec![Arc::clone(entry)];
    if entry.definition.kind != TableKind::Base {
        return Ok(tables);
    }
    let renames =
        |action: &A<'_>| matches!(action, A::ChangeColumn(..) | A::RenameColumn(..) | A::RenameTable(_));
    if actions.iter().any(renames) {
        tables.extend(foreign_key::children(catalog, &entry.definition));
    }
    for references in foreign_key::references_of_actions(actions) {
        tables.extend(foreign_key::parent_of(catalog, &entry.definition.schema, references)?);
    }
    Ok(tables)
}

fn parse_algorithm(algorithm: Option<&[u8]>, lock: Option<&[u8]>) -> Result<Algorithm> {
    let upper = |text: &[u8]| String::from_utf8_lossy(text).to_ascii_uppercase();
    if let Some(lock) = lock
        && !matches!(upper(lock).as_str(), "DEFAULT" | "NONE" | "SHARED" | "EXCLUSIVE")
    {
        return Err(e::ER_UNKNOWN_ALTER_LOCK.with(&[&String::from_utf8_lossy(lock)]));
    }
    Ok(match algorithm.map(upper).as_deref() {
        None | Some("DEFAULT") => Algorithm::Any,
        Some("INSTANT") => Algorithm::Instant,
        Some("INPLACE") => Algorithm::Inplace,
        Some("COPY") => Algorithm::Copy,
        Some(_) => {
            let shown = String::from_utf8_lossy(algorithm.unwrap_or(b"")).into_owned();
            return Err(e::ER_UNKNOWN_ALTER_ALGORITHM.with(&[&shown]));
        }
    })
}

/// What the actions made of a table.
struct Edited {
    draft: Draft,
    table: TableDefinition,
    /// FORCE, ENGINE= or the like was written.
    rebuild_asked: bool,
    /// RENAME TO.
    rename: Option<(String, String)>,
}

fn edit(
    context: &Context<'_>,
    catalog: &catalog::Catalog,
    old: &TableDefinition,
    actions: &[A<'_>],
    warnings: &mut Vec<Diagnostic>,
) -> Result<Edited> {
    let settings = context.settings(catalog);
    let mut editor = Editor {
        draft: Draft::of(old),
        old,
        settings: &settings,
        rebuild_asked: false,
        rename: None,
        dropped_columns: Vec::new(),
    };
    // What is dropped goes first, so that its name is free for what is added.
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
    for action in actions.iter().filter(|action| !drops(action)) {
        editor.apply(context, action, warnings)?;
    }
    if editor.draft.columns.is_empty() {
        return Err(e::ER_CANT_REMOVE_ALL_FIELDS.bare());
    }
    for name in &editor.dropped_columns {
        let uses =
            |key: &&super::draft::DraftForeignKey| key.columns.iter().any(|column| names_equal(column, name));
        if let Some(key) = editor.draft.foreign_keys.iter().find(uses) {
            let key = key.name.as_deref().unwrap_or_default();
            return Err(e::ER_FK_COLUMN_CANNOT_DROP.with(&[name, &key]));
        }
    }
    let template = TableDefinition {
        row_version: old.row_version,
        ..template(old.id, old.schema_id, old.kind, old.created_micros)
    };
    let table = editor.draft.finish(template, &settings, warnings)?;
    Ok(Edited { draft: editor.draft, table, rebuild_asked: editor.rebuild_asked, rename: editor.rename })
}

struct Editor<'a> {
    draft: Draft,
    old: &'a TableDefinition,
    settings: &'a Settings<'a>,
    rebuild_asked: bool,
    rename: Option<(String, String)>,
    dropped_columns: Vec<String>,
}

impl Editor<'_> {
    /// The draft's position of the column that was called `name` before the statement.
    ///
    /// # Errors
    /// 1054.
    fn old_column(&self, name: &str) -> Result<usize> {
        self.draft
            .columns
            .iter()
            .position(|column| {
                column.origin.is_some_and(|origin| names_equal(&self.old.columns[origin].name, name))
            })
            .ok_or_else(|| e::ER_BAD_FIELD_ERROR.with(&[&name, &self.old.name]))
    }

    fn drop_something(&mut self, action: &A<'_>) -> Result<()> {
        let missing = |name: &str| e::ER_CANT_DROP_FIELD_OR_KEY.with(&[&name]);
        match action {
            A::DropColumn(name) => {
                let name = text_of(name.text)?;
                let position = self.draft.column_position(name).ok_or_else(|| missing(name))?;
                self.draft.columns.remove(position);
                self.dropped_columns.push(name.to_owned());
                for key in &mut self.draft.keys {
                    let before = key.parts.len();
                    key.parts.retain(|part| !names_equal(&part.column, name));
                    if key.parts.len() != before {
                        key.origin = None;
                    }
                }
                self.draft.keys.retain(|key| !key.parts.is_empty());
            }
            A::DropPrimaryKey => {
                let position = self.draft.keys.iter().position(|key| key.kind == catalog::IndexKind::Primary);
                self.draft.keys.remove(position.ok_or_else(|| missing("PRIMARY"))?);
            }
            A::DropIndex(name) => {
                let name = text_of(name.text)?;
                let position = self.key_position(name).ok_or_else(|| missing(name))?;
                self.draft.keys.remove(position);
            }
            A::DropForeignKey(name) => {
                let name = text_of(name.text)?;
                if !self.drop_foreign_key(name) {
                    return Err(missing(name));
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
                if !self.drop_check(name) && !self.drop_foreign_key(name) {
                    let position = self.draft.keys.iter().position(|key| {
                        key.kind != catalog::IndexKind::Plain
                            && key.name.as_deref().is_some_and(|other| names_equal(other, name))
                    });
                    let position = position.ok_or_else(|| e::ER_CONSTRAINT_NOT_FOUND.with(&[&name]))?;
                    self.draft.keys.remove(position);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn key_position(&self, name: &str) -> Option<usize> {
        self.draft
            .keys
            .iter()
            .position(|key| key.name.as_deref().is_some_and(|other| names_equal(other, name)))
    }

    fn drop_foreign_key(&mut self, name: &str) -> bool {
        let before = self.draft.foreign_keys.len();
        self.draft
            .foreign_keys
            .retain(|key| !key.name.as_deref().is_some_and(|other| names_equal(other, name)));
        self.draft.foreign_keys.len() != before
    }

    fn drop_check(&mut self, name: &str) -> bool {
        let before = self.draft.checks.len();
        self.draft
            .checks
            .retain(|check| !check.name.as_deref().is_some_and(|other| names_equal(other, name)));
        self.draft.checks.len() != before
    }

    fn apply(&mut self, context: &Context<'_>, action: &A<'_>, warnings: &mut Vec<Diagnostic>) -> Result<()> {
        let settings = self.settings;
        match *action {
            A::AddColumn(column, place) => {
                let column = self.draft.column(column, settings, warnings)?;
                self.place(column, place, None)?;
            }
            A::AddElements(elements) => {
                for element in elements {
                    self.draft.add_element(element, settings, warnings)?;
                }
            }
            A::AddKey(key) => {
                let key = Draft::key(key, warnings)?;
                self.draft.keys.push(key);
            }
            A::AddForeignKey(key) => self.draft.add_foreign_key(key)?,
            A::AddCheck(check) => self.draft.add_check(&check, settings)?,
            A::ModifyColumn(column, place) => {
                let name = text_of(column.name.text)?;
                self.redefine(name, column, place, warnings)?;
            }
            A::ChangeColumn(old, column, place) => {
                self.redefine(text_of(old.text)?, column, place, warnings)?;
            }
            A::SetDefault(name, default) => {
                let position = self.old_column(text_of(name.text)?)?;
                let column = &self.draft.columns[position].definition;
                let default = defaults::column_default(
                    &default,
                    &column.name.clone(),
                    &column.data_type.clone(),
                    column.nullable,
                    settings,
                    warnings,
                )?;
                self.draft.columns[position].definition.default = default;
            }
            A::DropDefault(name) => {
                let position = self.old_column(text_of(name.text)?)?;
                self.draft.columns[position].definition.default = ColumnDefault::None;
            }
            A::SetColumnInvisible(name, invisible) => {
                let position = self.old_column(text_of(name.text)?)?;
                self.draft.columns[position].definition.invisible = invisible;
            }
            A::SetIndexInvisible(name, invisible) => {
                let name = text_of(name.text)?;
                let position = self
                    .key_position(name)
                    .ok_or_else(|| e::ER_KEY_DOES_NOT_EXITS.with(&[&name, &self.old.name]))?;
                if invisible && self.draft.keys[position].kind == catalog::IndexKind::Primary {
                    return Err(e::ER_PK_INDEX_CANT_BE_INVISIBLE.bare());
                }
                self.draft.keys[position].visible = !invisible;
            }
            A::SetEnforced(name, enforced) => {
                let name = text_of(name.text)?;
                let found = self
                    .draft
                    .checks
                    .iter_mut()
                    .find(|check| check.name.as_deref().is_some_and(|other| names_equal(other, name)));
                match found {
                    Some(check) => check.enforced = enforced,
                    None => return Err(e::ER_CHECK_CONSTRAINT_NOT_FOUND.with(&[&name])),
                }
            }
            A::RenameColumn(old, new) => {
                let position = self.old_column(text_of(old.text)?)?;
                let new = text_of(new.text)?;
                super::check_column_name(new)?;
                self.rename_column(position, new);
            }
            A::RenameIndex(old, new) => {
                let (old, new) = (text_of(old.text)?, text_of(new.text)?);
                let position = self
                    .key_position(old)
                    .ok_or_else(|| e::ER_KEY_DOES_NOT_EXITS.with(&[&old, &self.old.name]))?;
                check_index_name(new)?;
                self.draft.keys[position].name = Some(new.into());
            }
            A::RenameTable(name) => {
                let (schema, name) = match name.schema {
                    Some(_) => context.resolve(&name)?,
                    None => (self.old.schema.to_string(), {
                        let new = text_of(name.name.text)?;
                        super::check_name(new)?;
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
                self.draft.apply_options(&[option], settings, warnings)?;
            }
            A::ConvertCharset { charset, collation } => {
                if let Some(charset) = charset {
                    charset_warning(charset, warnings);
                }
                let collation = resolve_collation(charset, collation)?.unwrap_or(settings.server_collation);
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

    /// Puts a column where it is to stand; `default`: where it stood.
    fn place(
        &mut self,
        column: super::draft::DraftColumn,
        place: Option<ast::ColumnPlace<'_>>,
        default: Option<usize>,
    ) -> Result<()> {
        let position = match place {
            None => default.unwrap_or(self.draft.columns.len()),
            Some(ast::ColumnPlace::First) => 0,
            Some(ast::ColumnPlace::After(name)) => {
                let name = text_of(name.text)?;
                let after = self.draft.column_position(name);
                after.ok_or_else(|| e::ER_BAD_FIELD_ERROR.with(&[&name, &self.old.name]))? + 1
            }
        };
        self.draft.columns.insert(position.min(self.draft.columns.len()), column);
        Ok(())
    }

    fn redefine(
        &mut self,
        old: &str,
        column: &ast::ColumnDef<'_>,
        place: Option<ast::ColumnPlace<'_>>,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<()> {
        let position = self.old_column(old)?;
        let new_name = text_of(column.name.text)?.to_owned();
        let mut made = self.draft.column(column, self.settings, warnings)?;
        let before = self.draft.columns[position].clone();
        made.origin = before.origin;
        made.definition.since_version = before.definition.since_version;
        made.definition.instant_default = before.definition.instant_default;
        if !names_equal(&before.definition.name, &new_name) {
            self.rename_column(position, &new_name);
        }
        self.draft.columns.remove(position);
        self.place(made, place, Some(position))
    }

    /// Renames a column, and with it what refers to it.
    fn rename_column(&mut self, position: usize, new: &str) {
        let old = Arc::clone(&self.draft.columns[position].definition.name);
        let new: Arc<str> = new.into();
        self.draft.columns[position].definition.name = Arc::clone(&new);
        for key in &mut self.draft.keys {
            // Keys that stand in the statement itself use the new names already.
            if key.origin.is_some() {
                for part in key.parts.iter_mut().filter(|part| names_equal(&part.column, &old)) {
                    part.column = Arc::clone(&new);
                }
            }
        }
        for key in &mut self.draft.foreign_keys {
            for column in key.columns.iter_mut().filter(|column| names_equal(column, &old)) {
                *column = Arc::clone(&new);
            }
        }
    }

    /// CONVERT TO CHARACTER SET: the table's collation and that of all its strings.
    fn convert(&mut self, collation: CollationId) {
        self.draft.collation = collation;
        for column in &mut self.draft.columns {
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

/// For each index of the new table the old index whose entries are the same, if any.
fn kept_indexes(
    draft: &Draft,
    old: &TableDefinition,
    table: &TableDefinition,
    mapping: &[Option<usize>],
) -> Vec<Option<usize>> {
    table
        .indexes
        .iter()
        .map(|index| {
            let origin = draft.keys.iter().find_map(|key| {
                let same_name = key.name.as_deref().is_some_and(|name| names_equal(name, &index.name));
                key.origin.filter(|_| same_name)
            })?;
            let before = &old.indexes[origin];
            let parts: Option<Vec<IndexPart>> = index
                .parts
                .iter()
                .map(|part| Some(IndexPart { column: mapping[part.column]?, ..*part }))
                .collect();
            let same = parts.as_ref() == Some(&before.parts) && before.is_unique() == index.is_unique();
            same.then_some(origin)
        })
        .collect()
}

/// Whether rows of the old table can be read as rows of the new one; then gives new columns their version and what they
/// answer for older rows.
fn instant_layout(
    old: &TableDefinition,
    table: &mut TableDefinition,
    mapping: &[Option<usize>],
    context: &Context<'_>,
) -> Result<bool> {
    let old_count = old.columns.len();
    if mapping.len() < old_count || !mapping.iter().take(old_count).copied().eq((0..old_count).map(Some)) {
        return Ok(false);
    }
    let in_index =
        |column: usize| old.indexes.iter().any(|index| index.parts.iter().any(|p| p.column == column));
    for ordinal in 0..old_count {
        if !same_storage(&old.columns[ordinal], &table.columns[ordinal], in_index(ordinal)) {
            return Ok(false);
        }
    }
    if table.columns.len() == old_count {
        return Ok(true);
    }
    if old.row_version >= VERSIONS_MAX
        || table.columns[old_count..].iter().any(|column| column.auto_increment)
    {
        return Ok(false);
    }
    table.row_version = old.row_version + 1;
    for column in &mut table.columns[old_count..] {
        column.since_version = table.row_version;
        let Some(value) = default_value(column, context) else {
            return Err(e::ER_NOT_SUPPORTED_YET.with(&[&"ADD COLUMN with an expression as DEFAULT"]));
        };
        column.instant_default = value;
    }
    Ok(true)
}

/// What a new column holds in rows that are there already; `None` for an expression.
fn default_value(column: &ColumnDefinition, context: &Context<'_>) -> Option<StoredValue> {
    Some(match &column.default {
        ColumnDefault::Null => StoredValue::Null,
        ColumnDefault::Literal { value, .. } => value.clone(),
        ColumnDefault::CurrentTimestamp => {
            let unit = 10_i64.pow(6 - u32::from(column.data_type.scale.min(6)));
            let micros = context.now_micros / unit * unit;
            match column.data_type.kind {
                TypeKind::Timestamp => StoredValue::Int(micros),
                _ => StoredValue::Int(context.zone.from_utc(micros).pack()),
            }
        }
        ColumnDefault::Expression(_) => return None,
        // NOT NULL without default: the type's zero.
        ColumnDefault::None if column.nullable => StoredValue::Null,
        ColumnDefault::None => match column.data_type.physical() {
            Physical::Int if column.data_type.kind == TypeKind::Enum => StoredValue::Int(1),
            Physical::Int => StoredValue::Int(0),
            Physical::Double => StoredValue::Double(0.0),
            Physical::Decimal => StoredValue::Decimal(types::Decimal::ZERO),
            Physical::Bytes if column.data_type.kind == TypeKind::Json => {
                let mut document = Vec::new();
                types::json::Json::Null.encode(&mut document);
                StoredValue::Bytes(document.into())
            }
            Physical::Bytes
                if column.data_type.is_binary_string() && column.data_type.kind == TypeKind::Char =>
            {
                StoredValue::Bytes(vec![0; column.data_type.length as usize].into())
            }
            Physical::Bytes => StoredValue::Bytes(Box::default()),
        },
    })
}

/// Whether a column's bytes in rows (and index entries) mean the same under both definitions.
fn same_storage(before: &ColumnDefinition, after: &ColumnDefinition, in_index: bool) -> bool {
    let (one, two) = (&before.data_type, &after.data_type);
    if before.nullable != after.nullable || one.kind != two.kind || one.unsigned != two.unsigned {
        return false;
    }
    if before.auto_increment != after.auto_increment && after.auto_increment {
        return false; // Zeros and NULLs in it would have to be numbered.
    }
    match one.kind {
        TypeKind::Decimal | TypeKind::Bit => one.length == two.length && one.scale == two.scale,
        TypeKind::Time | TypeKind::DateTime | TypeKind::Timestamp => one.scale == two.scale,
        TypeKind::Float | TypeKind::Double => one.scale == two.scale && one.length == two.length,
        TypeKind::Enum | TypeKind::Set => {
            // Members may be added behind the others.
            one.collation == two.collation
                && match (&one.members, &two.members) {
                    (Some(one), Some(two)) => {
                        one.len() <= two.len()
                            && one.iter().zip(two.iter()).all(|(left, right)| left == right)
                    }
                    _ => false,
                }
        }
        TypeKind::VarChar if !in_index => one.collation == two.collation && one.length <= two.length,
        _ if one.is_string() => one.collation == two.collation && one.length == two.length,
        _ => true,
    }
}

/// Gives the new definition the old trees where they serve, and drops those that nobody needs.
fn keep_trees(
    change: &mut Change<'_>,
    old: &TableDefinition,
    table: &mut TableDefinition,
    kept: &[Option<usize>],
) -> Result<()> {
    table.rows_tree = old.rows_tree;
    table.large_values_tree = old.large_values_tree;
    for (index, origin) in table.indexes.iter_mut().zip(kept) {
        index.tree = origin.map_or(TreeNumber(0), |origin| old.indexes[origin].tree);
    }
    change.create_missing_trees(table)?;
    let still = trees_of(table);
    let gone: Vec<u64> = trees_of(old).into_iter().filter(|tree| !still.contains(tree)).collect();
    change.drop_trees(&gone)
}

/// Fills the new indexes from the rows.
fn build_indexes(
    context: &Context<'_>,
    change: &mut Change<'_>,
    source: &Arc<Table>,
    table: &TableDefinition,
    kept: &[Option<usize>],
) -> Result<()> {
    let new: Vec<usize> = (0..kept.len()).filter(|&index| kept[index].is_none()).collect();
    if new.is_empty() {
        return Ok(());
    }
    let store = context.definitions.store();
    let target = Table::open(store, Arc::new(table.clone())).map_err(exec::store_error)?;
    // Rows as the new definition reads them, new columns included; the trees of rows are the same.
    let reading = Table::open_from(store, Arc::new(table.clone()), source).map_err(exec::store_error)?;
    let write = WriteContext { zone: &Utc, wait: LockWait::Timeout(context.patience.time) };
    for_each_row(&reading, &mut |_, cells, locator| {
        for &index in &new {
            target
                .insert_index_entry(&mut change.transaction, index, cells, locator, write)
                .map_err(exec::write_error)?;
        }
        Ok(())
    })
}

/// Copies the rows, converted, into new trees. Answers how many, and where the AUTO_INCREMENT counter goes on.
fn copy(
    context: &mut Context<'_>,
    change: &mut Change<'_>,
    source: &Arc<Table>,
    table: &mut TableDefinition,
    mapping: &[Option<usize>],
) -> Result<(u64, Option<u64>)> {
    let old = Arc::clone(source.definition());
    change.drop_trees(&trees_of(&old))?;
    table.rows_tree = TreeNumber(0);
    table.large_values_tree = TreeNumber(0);
    table.row_version = 0;
    for index in &mut table.indexes {
        index.tree = TreeNumber(0);
    }
    for column in &mut table.columns {
        column.since_version = 0;
        column.instant_default = StoredValue::Null;
    }
    change.create_missing_trees(table)?;
    let store = context.definitions.store();
    let target = Table::open(store, Arc::new(table.clone())).map_err(exec::store_error)?;

    // A TIMESTAMP that stays one is copied as an instant; one that becomes something else, or the other way round, goes
    // through the session's zone.
    let zone_matters = mapping.iter().zip(&table.columns).any(|(origin, column)| {
        origin.is_some_and(|origin| {
            let kinds = [old.columns[origin].data_type.kind, column.data_type.kind];
            kinds[0] != kinds[1] && kinds.contains(&TypeKind::Timestamp)
        })
    });
    let zone: &dyn TimestampZone = if zone_matters { context.zone } else { &Utc };
    let mut converter = Converter::new(context, &old, table, mapping, zone, source)?;
    let write = WriteContext { zone, wait: LockWait::Timeout(context.patience.time) };
    let mut row_count = 0;
    let mut warnings = Vec::new();
    for_each_row_in(source, zone, &mut |_, cells, _| {
        row_count += 1;
        converter.convert(cells, row_count, &mut warnings)?;
        let converted: Vec<Cell<'_>> = converter.columns.iter().map(|column| column.cell(0)).collect();
        target.insert(&mut change.transaction, &converted, write).map_err(exec::write_error)
    })?;
    context.warnings.extend(warnings);
    if let Some(next) = converter.next_number.or_else(|| {
        let had = old.auto_increment_column().is_some() && table.auto_increment_column().is_some();
        had.then(|| source.auto_increment().peek())
    }) {
        if table.kind == TableKind::Base {
            let dictionary = context.definitions.dictionary();
            dictionary.put_counter(&mut change.transaction, table.id, next).map_err(exec::write_error)?;
        }
        return Ok((row_count, Some(next)));
    }
    Ok((row_count, None))
}

/// What to do with a row: its number from 1, its cells, its locator.
type EachRow<'f> = &'f mut dyn FnMut(usize, &[Cell<'_>], &[u8]) -> Result<()>;

/// Calls `each` with every row: its number, its cells, its locator. TIMESTAMPs are in UTC.
fn for_each_row(table: &Arc<Table>, each: EachRow<'_>) -> Result<()> {
    for_each_row_in(table, &Utc, each)
}

fn for_each_row_in(table: &Arc<Table>, zone: &dyn TimestampZone, each: EachRow<'_>) -> Result<()> {
    let columns = &table.definition().columns;
    let view = table.store().read_view();
    let mut scan = table.scan(ScanRequest {
        index: None,
        ranges: vec![KeyBytesRange::ALL],
        reverse: false,
        columns: (0..columns.len()).collect(),
    });
    let mut batch = Batch::new(columns.iter().map(|column| column.data_type.physical()));
    let mut locators = BytesColumn::default();
    let mut number = 0;
    while scan.next_batch(view.reader(), zone, &mut batch, Some(&mut locators)).map_err(exec::store_error)? {
        for row in 0..batch.row_count {
            let cells: Vec<Cell<'_>> = batch.columns.iter().map(|column| column.cell(row)).collect();
            number += 1;
            each(number, &cells, locators.get(row))?;
        }
        env::blocking::tick();
    }
    Ok(())
}

/// Turns rows of the old definition into rows of the new one.
struct Converter<'a> {
    old: &'a TableDefinition,
    table: &'a TableDefinition,
    mapping: &'a [Option<usize>],
    options: StoreOptions<'a>,
    strict: bool,
    /// What new columns hold, one row each.
    fills: Vec<Option<Column>>,
    /// The row made last.
    columns: Vec<Column>,
    /// The next number of an AUTO_INCREMENT column that is new.
    next_number: Option<u64>,
    number_column: Option<usize>,
}

impl<'a> Converter<'a> {
    fn new(
        context: &Context<'a>,
        old: &'a TableDefinition,
        table: &'a TableDefinition,
        mapping: &'a [Option<usize>],
        zone: &dyn TimestampZone,
        source: &Arc<Table>,
    ) -> Result<Self> {
        let has = |bit: u64| context.sql_mode & bit != 0;
        let strict = has(sql_mode_bits::STRICT_TRANS_TABLES) || has(sql_mode_bits::STRICT_ALL_TABLES);
        let mut fills = Vec::new();
        for (column, origin) in table.columns.iter().zip(mapping) {
            if origin.is_some() {
                fills.push(None);
                continue;
            }
            let value = match default_value(column, context) {
                Some(value) => value,
                None if source.is_empty().map_err(exec::store_error)? => StoredValue::Null,
                None => {
                    return Err(e::ER_NOT_SUPPORTED_YET.with(&[&"ADD COLUMN with an expression as DEFAULT"]));
                }
            };
            let mut fill = Column::new(column.data_type.physical());
            match &value {
                StoredValue::Null => fill.push_null(),
                StoredValue::Int(micros) if column.data_type.kind == TypeKind::Timestamp && *micros != 0 => {
                    fill.push_int(zone.local(*micros).pack());
                }
                StoredValue::Int(value) => fill.push_int(*value),
                StoredValue::Double(value) => fill.push_double(*value),
                StoredValue::Decimal(value) => fill.push_decimal(*value),
                StoredValue::Bytes(value) => fill.push_bytes(value),
            }
            fills.push(Some(fill));
        }
        let number_column = table.auto_increment_column().filter(|&ordinal| mapping[ordinal].is_none());
        Ok(Self {
            old,
            table,
            mapping,
            options: StoreOptions {
                date_mode: DateMode {
                    allow_invalid: has(sql_mode_bits::ALLOW_INVALID_DATES),
                    no_zero_in_date: strict && has(sql_mode_bits::NO_ZERO_IN_DATE),
                    no_zero_date: strict && has(sql_mode_bits::NO_ZERO_DATE),
                },
                truncate_fraction: false,
                time_zone: context.zone,
                today: DateTime::ZERO,
            },
            strict,
            fills,
            columns: table.columns.iter().map(|column| Column::new(column.data_type.physical())).collect(),
            next_number: number_column.map(|_| 1),
            number_column,
        })
    }

    fn convert(&mut self, cells: &[Cell<'_>], row: u64, warnings: &mut Vec<Diagnostic>) -> Result<()> {
        for (ordinal, definition) in self.table.columns.iter().enumerate() {
            let out = &mut self.columns[ordinal];
            out.clear();
            let Some(origin) = self.mapping[ordinal] else {
                if self.number_column == Some(ordinal) {
                    let number = self.next_number.unwrap_or(1);
                    out.push_int(number as i64);
                    self.next_number = Some(number + 1);
                } else if let Some(fill) = &self.fills[ordinal] {
                    out.extend_from(fill);
                }
                continue;
            };
            let (from, to) = (&self.old.columns[origin].data_type, &definition.data_type);
            let cell = cells[origin];
            if cell == Cell::Null && !definition.nullable {
                if self.strict {
                    return Err(e::ER_INVALID_USE_OF_NULL.bare());
                }
                warnings.push(e::WARN_DATA_TRUNCATED.warning(&[&definition.name, &row]));
                push_zero(to, out);
                continue;
            }
            if from == to {
                out.push_cell(cell);
                continue;
            }
            if let Some(issue) = store(cell, from, to, &self.options, out) {
                let report = issue.report(self.strict, &self.table.name, &definition.name, row);
                if report.severity == Severity::Error {
                    let state = e::Code::by_number(report.number).map_or(*b"HY000", |code| code.state);
                    return Err(Box::new(SqlError { number: report.number, state, message: report.message }));
                }
                let level = if report.severity == Severity::Note { Level::Note } else { Level::Warning };
                warnings.push(Diagnostic {
                    level,
                    number: report.number,
                    state: *b"HY000",
                    message: report.message,
                });
            }
        }
        Ok(())
    }
}

fn push_zero(data_type: &DataType, out: &mut Column) {
    match data_type.physical() {
        Physical::Int => out.push_int(0),
        Physical::Double => out.push_double(0.0),
        Physical::Decimal => out.push_decimal(types::Decimal::ZERO),
        Physical::Bytes => out.push_bytes(b""),
    }
}

/// AUTO_INCREMENT=: the counter goes up, never below what the rows hold.
fn raise_counter(context: &Context<'_>, table: &TableDefinition, next: u64) -> Result<()> {
    let Some(column) = table.auto_increment_column() else { return Ok(()) };
    let catalog = context.definitions.catalog().load();
    let entry: Option<Arc<TableEntry>> = match table.kind {
        TableKind::Temporary => context.temporary.get(&table.schema, &table.name).cloned(),
        _ => catalog.table(&table.schema, &table.name).cloned(),
    };
    let Some(opened) = entry.as_ref().and_then(|entry| Table::of(&entry.source)) else { return Ok(()) };
    let largest = opened.largest_value(column).map_err(exec::store_error)?;
    let wanted = next.max(largest.saturating_add(1)).max(1);
    opened.auto_increment().set(context.definitions.store(), wanted).map_err(exec::write_error)
}
