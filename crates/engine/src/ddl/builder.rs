//! The builder of a table's definition: what CREATE TABLE collects and ALTER TABLE starts from, and the checks that make a definition
//! of it.
//!
//! Columns and keys know where they come from, so that ALTER TABLE can tell what is new, what moved and what changed.

use std::sync::Arc;

use catalog::{
    Catalog, CheckConstraint, ColumnDefault, ColumnDefinition, ForeignKey, ForeignKeyAction, IndexAlgorithm,
    IndexDefinition, IndexKind, IndexPart, NameMap, RowFormatOption, StoredValue, TableDefinition, TableKind,
    TableOptions, TreeNumber, fold_name, names_equal,
};
use service::error as e;
use service::error::{Diagnostic, SqlError};
use syntax::ast;
use types::{CollationId, DataType, TypeKind};

use super::expression::{Unfit, canonical_check, columns_of_text, stored_function_of};
use super::generated::{self, PartExpression, Written, check_attributes, generated_column};
use super::{Settings, check_column_name, check_index_name, defaults, foreign_key, selected, text_of};
use session::backend::SelectedColumn;
use session::column_type::{charset_warning, collation_warning, column_type, resolve_collation};

type Result<T> = std::result::Result<T, Box<SqlError>>;

/// Most columns of a table (InnoDB's limit).
const COLUMNS_MAX: usize = 1017;
/// Most indexes of a table.
const INDEXES_MAX: usize = 64;
/// Most parts of an index.
const PARTS_MAX: usize = 16;
/// Most bytes of an index's columns.
const KEY_BYTES_MAX: u64 = 3072;
/// Most bytes of a row without TEXT and BLOB columns.
const ROW_BYTES_MAX: u64 = 65_535;
/// Most characters of a column's comment, of an index's and of a table's.
const COMMENT_CHARS_MAX: usize = 1024;
const TABLE_COMMENT_CHARS_MAX: usize = 2048;

/// A column of a table being defined.
#[derive(Clone, Debug)]
pub(super) struct ColumnBuilder {
    pub(super) definition: ColumnDefinition,
    /// Ordinal in the table that is altered.
    pub(super) origin: Option<usize>,
    /// NULL was written.
    null_written: bool,
    /// What the expression of a generated column that stands in this statement names.
    pub(super) written: Option<Box<Written>>,
}

impl ColumnBuilder {
    /// The column of a functional key part.
    pub(super) fn of_part(definition: ColumnDefinition, origin: Option<usize>) -> Self {
        Self { definition, origin, null_written: false, written: None }
    }
}

/// A key of a table being defined.
#[derive(Clone, Debug)]
pub(super) struct KeyBuilder {
    pub(super) name: Option<Arc<str>>,
    pub(super) kind: IndexKind,
    pub(super) parts: Vec<KeyPartBuilder>,
    pub(super) visible: bool,
    algorithm: IndexAlgorithm,
    comment: Arc<str>,
    /// Ordinal of the index in the table that is altered.
    pub(super) origin: Option<usize>,
    /// Made for a foreign key, not written: left out if another key begins with its columns.
    pub(super) generated: bool,
}

/// A part of a key, by column name.
#[derive(Clone, Debug)]
pub(super) struct KeyPartBuilder {
    /// Of a part that is an expression its text, which is no column's name.
    pub(super) column: Arc<str>,
    pub(super) prefix_length: Option<u64>,
    pub(super) descending: bool,
    /// The part is an expression.
    pub(super) expression: Option<Box<PartExpression>>,
}

impl KeyPartBuilder {
    /// A whole column.
    fn whole(column: &Arc<str>) -> Self {
        Self { column: Arc::clone(column), prefix_length: None, descending: false, expression: None }
    }
}

/// A foreign key of a table being defined.
#[derive(Clone, Debug)]
pub(super) struct ForeignKeyBuilder {
    pub(super) name: Option<Arc<str>>,
    pub(super) columns: Vec<Arc<str>>,
    parent_schema: Arc<str>,
    parent_table: Arc<str>,
    parent_columns: Vec<Arc<str>>,
    on_delete: ForeignKeyAction,
    on_update: ForeignKeyAction,
    /// Checked when the table was made.
    pub(super) existing: bool,
}

/// A CHECK of a table being defined.
#[derive(Clone, Debug)]
pub(super) struct CheckBuilder {
    pub(super) name: Option<Arc<str>>,
    pub(super) expression: Arc<str>,
    /// Columns that it names, if it stands in this statement.
    columns: Vec<String>,
    pub(super) enforced: bool,
    /// What keeps it from being a CHECK.
    unfit: Option<Unfit>,
    /// The column it was written with: it may name no other.
    of_column: Option<Arc<str>>,
    /// It is there already.
    pub(super) existing: bool,
}

/// A table being defined.
#[derive(Clone, Debug)]
pub(super) struct TableBuilder {
    pub(super) schema: Arc<str>,
    pub(super) name: Arc<str>,
    pub(super) columns: Vec<ColumnBuilder>,
    pub(super) keys: Vec<KeyBuilder>,
    pub(super) foreign_keys: Vec<ForeignKeyBuilder>,
    pub(super) checks: Vec<CheckBuilder>,
    pub(super) options: TableOptions,
    pub(super) collation: CollationId,
    pub(super) comment: Arc<str>,
    /// AUTO_INCREMENT=, if written.
    pub(super) auto_increment: Option<u64>,
}

impl TableBuilder {
    /// A table without columns.
    pub(super) fn new(schema: &str, name: &str, collation: CollationId) -> Self {
        Self {
            schema: schema.into(),
            name: name.into(),
            columns: Vec::new(),
            keys: Vec::new(),
            foreign_keys: Vec::new(),
            checks: Vec::new(),
            options: TableOptions::default(),
            collation,
            comment: "".into(),
            auto_increment: None,
        }
    }

    /// A table as it is.
    pub(super) fn of(table: &TableDefinition) -> Self {
        let column_name = |ordinal: usize| Arc::clone(&table.columns[ordinal].name);
        Self {
            schema: Arc::clone(&table.schema),
            name: Arc::clone(&table.name),
            columns: table
                .seen_columns()
                .enumerate()
                .map(|(ordinal, column)| ColumnBuilder {
                    definition: column.clone(),
                    origin: Some(ordinal),
                    null_written: false,
                    written: None,
                })
                .collect(),
            keys: table
                .indexes
                .iter()
                .enumerate()
                .map(|(ordinal, index)| KeyBuilder {
                    name: Some(Arc::clone(&index.name)),
                    kind: index.kind,
                    parts: index
                        .parts
                        .iter()
                        .map(|part| KeyPartBuilder {
                            column: table
                                .part_expression(part)
                                .map_or_else(|| column_name(part.column), Arc::clone),
                            prefix_length: part.prefix_length.map(u64::from),
                            descending: part.descending,
                            expression: table.part_expression(part).map(|text| {
                                let before = (part.column, table.columns[part.column].clone());
                                Box::new(PartExpression::existing(text, before))
                            }),
                        })
                        .collect(),
                    visible: index.visible,
                    algorithm: index.algorithm,
                    comment: Arc::clone(&index.comment),
                    origin: Some(ordinal),
                    generated: index.generated,
                })
                .collect(),
            foreign_keys: table
                .foreign_keys
                .iter()
                .map(|key| ForeignKeyBuilder {
                    name: Some(Arc::clone(&key.name)),
                    columns: key.columns.iter().map(|&column| column_name(column)).collect(),
                    parent_schema: Arc::clone(&key.parent_schema),
                    parent_table: Arc::clone(&key.parent_table),
                    parent_columns: key.parent_columns.clone(),
                    on_delete: key.on_delete,
                    on_update: key.on_update,
                    existing: true,
                })
                .collect(),
            checks: table
                .checks
                .iter()
                .map(|check| CheckBuilder {
                    name: Some(Arc::clone(&check.name)),
                    expression: Arc::clone(&check.expression),
                    columns: Vec::new(),
                    enforced: check.enforced,
                    unfit: None,
                    of_column: None,
                    existing: true,
                })
                .collect(),
            options: table.options.clone(),
            collation: table.collation,
            comment: Arc::clone(&table.comment),
            auto_increment: None,
        }
    }

    /// The column called `name`.
    pub(super) fn column_position(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| names_equal(&column.definition.name, name))
    }

    /// Adds what stands between the parentheses of CREATE TABLE.
    pub(super) fn add_element(
        &mut self,
        element: &ast::TableElement<'_>,
        settings: &Settings<'_>,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<()> {
        match element {
            ast::TableElement::Column(column) => {
                let column = self.column(column, settings, warnings)?;
                self.columns.push(column);
            }
            ast::TableElement::Key(key) => {
                let key = Self::key(key, settings, warnings)?;
                self.keys.push(key);
            }
            ast::TableElement::ForeignKey(key) => self.add_foreign_key(key)?,
            ast::TableElement::Check(check) => self.add_check(check, None, settings)?,
        }
        Ok(())
    }

    /// Makes a column, and adds the keys and checks that were written with it.
    pub(super) fn column(
        &mut self,
        column: &ast::ColumnDef<'_>,
        settings: &Settings<'_>,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<ColumnBuilder> {
        let name = text_of(column.name.text)?;
        check_column_name(name)?;
        if column.generated.is_some() {
            check_attributes(column)?;
        }
        let written = column_type(
            &column.ty,
            name,
            type_word(column, settings.session.text),
            self.collation,
            settings.is_strict(),
            warnings,
        )?;
        let auto_increment = column.auto_increment || column.ty.serial;
        let mut nullable = column.nullable.unwrap_or(true) && !column.ty.serial;
        if auto_increment {
            let allowed = written.data_type.integer_bytes().is_some();
            if !allowed {
                return Err(e::ER_WRONG_FIELD_SPEC.with(&[&name]));
            }
            if column.default.is_some() {
                return Err(e::ER_INVALID_DEFAULT.with(&[&name]));
            }
            nullable = false;
        }
        let fraction = u64::from(written.data_type.scale);
        let has_now = matches!(written.data_type.kind, TypeKind::DateTime | TypeKind::Timestamp);
        if column.on_update.is_some_and(|digits| !has_now || digits != fraction) {
            return Err(e::ER_INVALID_ON_UPDATE.with(&[&name]));
        }
        let generated = column
            .generated
            .as_ref()
            .map(|generated| generated_column(generated, name, settings))
            .transpose()?;
        let (generated, named) = generated.unzip();
        let default = match &column.default {
            _ if generated.is_some() => ColumnDefault::None,
            None if auto_increment => ColumnDefault::None,
            None if nullable => ColumnDefault::Null,
            None => ColumnDefault::None,
            Some(default) => {
                defaults::column_default(default, name, &written.data_type, nullable, settings, warnings)?
            }
        };
        let has_null_default = column.default.is_some() && default == ColumnDefault::Null;
        if has_null_default && matches!(column.key, Some(ast::ColumnKey::Primary)) {
            return Err(e::ER_INVALID_DEFAULT.with(&[&name]));
        }
        let comment = text_of(column.comment.unwrap_or(b""))?;
        if comment.chars().count() > COMMENT_CHARS_MAX {
            return Err(e::ER_TOO_LONG_FIELD_COMMENT.with(&[&name, &COMMENT_CHARS_MAX]));
        }
        for check in column.checks {
            self.add_check(check, Some(name), settings)?;
        }
        if let Some(references) = column.references {
            self.add_reference(None, vec![name.into()], references)?;
        }
        let key = match column.key {
            Some(ast::ColumnKey::Primary) => Some(IndexKind::Primary),
            Some(ast::ColumnKey::Unique) => Some(IndexKind::Unique),
            None if column.ty.serial => Some(IndexKind::Unique),
            None => None,
        };
        if let Some(kind) = key {
            self.keys.push(KeyBuilder {
                name: None,
                kind,
                parts: vec![KeyPartBuilder::whole(&name.into())],
                visible: true,
                algorithm: IndexAlgorithm::Default,
                comment: "".into(),
                origin: None,
                generated: false,
            });
        }
        Ok(ColumnBuilder {
            definition: ColumnDefinition {
                name: name.into(),
                data_type: written.data_type,
                nullable,
                default,
                on_update_now: column.on_update.is_some(),
                auto_increment,
                generated,
                invisible: column.invisible.unwrap_or(false),
                collation_explicit: written.collation_explicit,
                comment: comment.into(),
                since_version: 0,
                instant_default: StoredValue::Null,
                stored_order: 0,
                earlier_forms: Vec::new(),
            },
            origin: None,
            null_written: column.nullable == Some(true) || has_null_default,
            written: named.map(Box::new),
        })
    }

    /// A column of CREATE TABLE ... AS SELECT.
    pub(super) fn add_selected_column(&mut self, column: &SelectedColumn, settings: &Settings<'_>) {
        let data_type = selected::stored_type(column);
        let direct = selected::direct(column);
        self.columns.push(ColumnBuilder {
            definition: ColumnDefinition {
                name: column.name.as_str().into(),
                default: selected::default(column, &data_type, !settings.is_strict()),
                data_type,
                nullable: column.nullable,
                on_update_now: direct.is_some_and(|source| source.on_update_now),
                auto_increment: false,
                generated: None,
                invisible: false,
                collation_explicit: direct.is_some_and(|source| source.collation_explicit),
                comment: direct.map_or_else(|| "".into(), |source| Arc::clone(&source.comment)),
                since_version: 0,
                instant_default: StoredValue::Null,
                stored_order: 0,
                earlier_forms: Vec::new(),
            },
            origin: None,
            null_written: false,
            written: None,
        });
    }

    /// CREATE TABLE ... AS SELECT puts the columns of the query behind those that are only in the definition.
    pub(super) fn put_selected_last(&mut self, selected: &[&str]) {
        let place = |column: &ColumnBuilder| {
            let name = &column.definition.name;
            selected.iter().position(|selected| names_equal(selected, name)).map_or(0, |at| at + 1)
        };
        self.columns.sort_by_key(place);
    }

    /// Makes a key.
    pub(super) fn key(
        key: &ast::KeyDef<'_>,
        settings: &Settings<'_>,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<KeyBuilder> {
        let kind = match key.kind {
            ast::KeyKind::Primary => IndexKind::Primary,
            ast::KeyKind::Unique => IndexKind::Unique,
            ast::KeyKind::Index => IndexKind::Plain,
            ast::KeyKind::Fulltext => return Err(e::ER_NOT_SUPPORTED_YET.with(&[&"FULLTEXT index"])),
            ast::KeyKind::Spatial => return Err(e::ER_NOT_SUPPORTED_YET.with(&[&"SPATIAL index"])),
        };
        let name = match key.name {
            Some(name) if kind != IndexKind::Primary => {
                let name = text_of(name.text)?;
                check_index_name(name)?;
                Some(name.into())
            }
            _ => None,
        };
        if kind == IndexKind::Primary && key.options.invisible == Some(true) {
            return Err(e::ER_PK_INDEX_CANT_BE_INVISIBLE.bare());
        }
        let algorithm = match key.options.algorithm {
            None => IndexAlgorithm::Default,
            Some(ast::IndexAlgorithm::Btree) => IndexAlgorithm::Btree,
            Some(ast::IndexAlgorithm::Hash) => {
                warnings.push(e::ER_UNSUPPORTED_INDEX_ALGORITHM.note(&[&"HASH"]));
                IndexAlgorithm::Default
            }
            Some(ast::IndexAlgorithm::Rtree) => return Err(e::ER_NOT_SUPPORTED_YET.with(&[&"RTREE index"])),
        };
        let comment = text_of(key.options.comment.unwrap_or(b""))?;
        if comment.chars().count() > COMMENT_CHARS_MAX {
            let shown = name.clone().unwrap_or_else(|| Arc::from("PRIMARY"));
            return Err(e::ER_TOO_LONG_INDEX_COMMENT.with(&[&shown, &COMMENT_CHARS_MAX]));
        }
        Ok(KeyBuilder {
            name,
            kind,
            parts: key_parts(key.parts, Some(settings))?,
            visible: !key.options.invisible.unwrap_or(false),
            algorithm,
            comment: comment.into(),
            origin: None,
            generated: false,
        })
    }

    /// Adds a CHECK.
    pub(super) fn add_check(
        &mut self,
        check: &ast::Check<'_>,
        of_column: Option<&str>,
        settings: &Settings<'_>,
    ) -> Result<()> {
        let name = check.name.map(|name| text_of(name.text).map(Arc::from)).transpose()?;
        let made = canonical_check(&check.expr, settings)?;
        self.checks.push(CheckBuilder {
            name,
            expression: made.text.into(),
            columns: made.columns,
            enforced: check.enforced,
            unfit: made.unfit,
            of_column: of_column.map(Arc::from),
            existing: false,
        });
        Ok(())
    }

    /// Adds a FOREIGN KEY.
    pub(super) fn add_foreign_key(&mut self, key: &ast::ForeignKey<'_>) -> Result<()> {
        let mut columns = Vec::new();
        for part in key_parts(key.columns, None)? {
            if part.prefix_length.is_some() {
                return Err(e::ER_CANNOT_ADD_FOREIGN.bare());
            }
            columns.push(part.column);
        }
        let name =
            key.constraint.or(key.index).map(|name| text_of(name.text).map(Arc::<str>::from)).transpose()?;
        self.add_reference_named(
            key.constraint.is_some().then(|| name.clone()).flatten(),
            name,
            columns,
            &key.references,
        )
    }

    fn add_reference(
        &mut self,
        name: Option<Arc<str>>,
        columns: Vec<Arc<str>>,
        references: &ast::References<'_>,
    ) -> Result<()> {
        self.add_reference_named(name.clone(), name, columns, references)
    }

    fn add_reference_named(
        &mut self,
        name: Option<Arc<str>>,
        index_name: Option<Arc<str>>,
        columns: Vec<Arc<str>>,
        references: &ast::References<'_>,
    ) -> Result<()> {
        let action = |action: Option<ast::ReferenceAction>| match action {
            None | Some(ast::ReferenceAction::NoAction) => ForeignKeyAction::NoAction,
            Some(ast::ReferenceAction::Restrict) => ForeignKeyAction::Restrict,
            Some(ast::ReferenceAction::Cascade) => ForeignKeyAction::Cascade,
            Some(ast::ReferenceAction::SetNull) => ForeignKeyAction::SetNull,
            Some(ast::ReferenceAction::SetDefault) => ForeignKeyAction::SetDefault,
        };
        let parent_schema = match references.table.schema {
            Some(schema) => text_of(schema.text)?.into(),
            None => Arc::clone(&self.schema),
        };
        let parent_columns = references
            .columns
            .iter()
            .map(|column| text_of(column.text).map(Arc::from))
            .collect::<Result<_>>()?;
        self.keys.push(KeyBuilder {
            name: index_name,
            kind: IndexKind::Plain,
            parts: columns.iter().map(KeyPartBuilder::whole).collect(),
            visible: true,
            algorithm: IndexAlgorithm::Default,
            comment: "".into(),
            origin: None,
            generated: true,
        });
        self.foreign_keys.push(ForeignKeyBuilder {
            name,
            columns,
            parent_schema,
            parent_table: text_of(references.table.name.text)?.into(),
            parent_columns,
            on_delete: action(references.on_delete),
            on_update: action(references.on_update),
            existing: false,
        });
        Ok(())
    }

    /// Takes table options. The character set must be known before columns are made, so CREATE TABLE calls this first.
    pub(super) fn apply_options(
        &mut self,
        options: &[ast::TableOption<'_>],
        settings: &Settings<'_>,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<()> {
        use ast::TableOption as O;
        let (mut charset, mut collation): (Option<&[u8]>, Option<&[u8]>) = (None, None);
        let mut default_asked = false;
        for option in options {
            match *option {
                O::Engine(name) => check_engine(name, &self.name, warnings)?,
                O::AutoIncrement(next) => self.auto_increment = Some(next),
                O::Charset(Some(name)) => {
                    charset_warning(name, warnings);
                    if let Some(earlier) = charset
                        && !earlier.eq_ignore_ascii_case(name)
                    {
                        let (one, other) = (String::from_utf8_lossy(earlier), String::from_utf8_lossy(name));
                        return Err(e::ER_CONFLICTING_DECLARATIONS.with(&[
                            &"CHARACTER SET ",
                            &one,
                            &"CHARACTER SET ",
                            &other,
                        ]));
                    }
                    charset = Some(name);
                }
                O::Charset(None) => default_asked = true,
                O::Collate(name) => {
                    name.into_iter().for_each(|name| collation_warning(name, warnings));
                    collation = name;
                }
                O::Comment(comment) => {
                    let comment = text_of(comment)?;
                    if comment.chars().count() > TABLE_COMMENT_CHARS_MAX {
                        return Err(
                            e::ER_TOO_LONG_TABLE_COMMENT.with(&[&self.name, &TABLE_COMMENT_CHARS_MAX])
                        );
                    }
                    self.comment = comment.into();
                }
                O::RowFormat(format) => {
                    self.options.row_format = match format {
                        "DYNAMIC" => Some(RowFormatOption::Dynamic),
                        "FIXED" => Some(RowFormatOption::Fixed),
                        "COMPRESSED" => Some(RowFormatOption::Compressed),
                        "REDUNDANT" => Some(RowFormatOption::Redundant),
                        "COMPACT" => Some(RowFormatOption::Compact),
                        _ => None,
                    };
                }
                O::KeyBlockSize(size) => self.options.key_block_size = Some(size).filter(|&size| size > 0),
                O::MaxRows(rows) => self.options.max_rows = Some(rows).filter(|&rows| rows > 0),
                O::MinRows(rows) => self.options.min_rows = Some(rows).filter(|&rows| rows > 0),
                O::AvgRowLength(length) => {
                    self.options.avg_row_length = Some(length).filter(|&length| length > 0);
                }
                O::Compression(text) => self.options.compression = Some(text_of(text)?.into()),
                O::Encryption(text) => {
                    if !text.eq_ignore_ascii_case(b"N") && !text.is_empty() {
                        return Err(e::ER_NOT_SUPPORTED_YET.with(&[&"table encryption"]));
                    }
                }
                O::Checksum(on) => self.options.checksum = on,
                O::DelayKeyWrite(on) => self.options.delay_key_write = on,
                O::PackKeys(value) => self.options.pack_keys = value.map(|value| value != 0),
                O::StatsAutoRecalc(value) => self.options.stats_auto_recalc = value.map(|value| value != 0),
                O::StatsPersistent(value) => self.options.stats_persistent = value.map(|value| value != 0),
                O::StatsSamplePages(value) => self.options.stats_sample_pages = value,
                O::SecondaryEngine(Some(_)) => {
                    return Err(e::ER_NOT_SUPPORTED_YET.with(&[&"SECONDARY_ENGINE"]));
                }
                O::Union(_) => return Err(e::ER_NOT_SUPPORTED_YET.with(&[&"UNION of tables"])),
                O::DataDirectory(_) | O::IndexDirectory(_) => {
                    return Err(e::ER_NOT_SUPPORTED_YET.with(&[&"DATA DIRECTORY"]));
                }
                // Where a table's bytes are and which other engine reads them has no meaning here.
                O::SecondaryEngine(None)
                | O::Password(_)
                | O::InsertMethod(_)
                | O::Tablespace(_)
                | O::Storage(_)
                | O::Connection(_)
                | O::EngineAttribute(_)
                | O::SecondaryEngineAttribute(_)
                | O::AutoextendSize(_)
                | O::StartTransaction
                | O::Other(_) => {}
            }
        }
        if let (Some(format), Some(_), true) =
            (self.options.row_format, self.options.key_block_size, settings.is_strict())
            && format != RowFormatOption::Compressed
        {
            let shown = format!("{format:?}").to_ascii_uppercase();
            let mut warning = e::ER_ILLEGAL_HA_CREATE_OPTION.warning(&[&"InnoDB", &shown]);
            warning.message = format!("InnoDB: cannot specify ROW_FORMAT={shown} with KEY_BLOCK_SIZE.");
            warnings.push(warning);
            return Err(unlisted(
                1031,
                format!("Table storage engine for '{}' doesn't have this option", self.name),
            ));
        }
        if let Some(collation) = resolve_collation(charset, collation)? {
            self.collation = collation;
        } else if default_asked {
            self.collation = settings.session.server_collation;
        }
        Ok(())
    }

    /// Checks everything and makes the definition. Numbers of table, schema and trees are the caller's to fill in.
    pub(super) fn finish(
        &mut self,
        template: TableDefinition,
        settings: &Settings<'_>,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<TableDefinition> {
        let mut columns: Vec<ColumnDefinition> =
            self.columns.iter().map(|column| column.definition.clone()).collect();
        if columns.is_empty() {
            return Err(e::ER_TABLE_MUST_HAVE_COLUMNS.bare());
        }
        if columns.len() > COLUMNS_MAX {
            return Err(e::ER_TOO_MANY_FIELDS.bare());
        }
        let names = NameMap::new(columns.iter().map(|column| &*column.name));
        for (ordinal, column) in columns.iter().enumerate() {
            if names.get(&column.name) != Some(ordinal) {
                return Err(e::ER_DUP_FIELDNAME.with(&[&column.name]));
            }
        }
        if columns.iter().all(|column| column.invisible) {
            return Err(e::ER_TABLE_MUST_HAVE_A_VISIBLE_COLUMN.bare());
        }
        let computes = self.check_generated(&template, &columns, &names, settings)?;
        let indexes = self.indexes(&mut columns, &names, warnings)?;
        if columns.len() > COLUMNS_MAX {
            return Err(e::ER_TOO_MANY_FIELDS.bare());
        }
        self.add_part_columns(&columns);
        check_auto_increment(&columns, &indexes)?;
        check_row_size(&columns)?;
        for column in &columns {
            if !column.nullable && column.default == ColumnDefault::Null {
                return Err(e::ER_INVALID_DEFAULT.with(&[&column.name]));
            }
        }
        check_default_expressions(&columns, &names, settings)?;
        let mut table = TableDefinition {
            name: Arc::clone(&self.name),
            schema: Arc::clone(&self.schema),
            columns,
            indexes,
            collation: self.collation,
            comment: Arc::clone(&self.comment),
            options: self.options.clone(),
            ..template
        };
        table.index_names();
        if computes {
            generated::check_programs(&table)?;
        }
        table.checks = self.named_checks(&table, settings)?;
        table.foreign_keys = self.named_foreign_keys(&table, settings, warnings)?;
        Ok(table)
    }

    fn indexes(
        &self,
        columns: &mut Vec<ColumnDefinition>,
        names: &NameMap,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Vec<IndexDefinition>> {
        if self.keys.iter().filter(|key| key.kind == IndexKind::Primary).count() > 1 {
            return Err(e::ER_MULTIPLE_PRI_KEY.bare());
        }
        let redundant = self.redundant_keys();
        let mut duplicates = Vec::new();
        let mut taken: Vec<Arc<str>> = Vec::new();
        // Each with the group it sorts into.
        let mut made: Vec<(u8, IndexDefinition)> = Vec::new();
        for (position, key) in self.keys.iter().enumerate() {
            if redundant[position] {
                continue;
            }
            let mut parts: Vec<IndexPart> = Vec::new();
            if key.parts.len() > PARTS_MAX {
                return Err(e::ER_TOO_MANY_KEY_PARTS.with(&[&PARTS_MAX]));
            }
            for (number, part) in key.parts.iter().enumerate() {
                if let Some(expression) = &part.expression {
                    let column = expression.column(key.name.as_deref(), (position, number))?;
                    parts.push(index_part(&column, columns.len(), part)?);
                    columns.push(column);
                    continue;
                }
                let ordinal = names
                    .get(&part.column)
                    .ok_or_else(|| e::ER_KEY_COLUMN_DOES_NOT_EXITS.with(&[&part.column]))?;
                if parts.iter().any(|other| other.column == ordinal) {
                    return Err(e::ER_DUP_FIELDNAME.with(&[&part.column]));
                }
                if key.kind == IndexKind::Primary {
                    if columns[ordinal].is_virtual() {
                        return Err(e::ER_UNSUPPORTED_ACTION_ON_GENERATED_COLUMN
                            .with(&[&"Defining a virtual generated column as primary key"]));
                    }
                    make_not_null(&mut columns[ordinal], self.columns[ordinal].null_written)?;
                }
                parts.push(index_part(&columns[ordinal], ordinal, part)?);
            }
            let key_bytes: u64 = parts.iter().map(|part| part_bytes(&columns[part.column], part)).sum();
            if key_bytes > KEY_BYTES_MAX {
                return Err(e::ER_TOO_LONG_KEY.with(&[&KEY_BYTES_MAX]));
            }
            let name = match (&key.name, key.kind) {
                (_, IndexKind::Primary) => Arc::from("PRIMARY"),
                (Some(name), _) => {
                    if key.origin.is_none() {
                        check_index_name(name)?;
                    }
                    if taken.iter().any(|other| names_equal(other, name)) {
                        return Err(e::ER_DUP_KEYNAME.with(&[name]));
                    }
                    Arc::clone(name)
                }
                (None, _) if key.parts[0].expression.is_some() => {
                    let explicit = self.keys.iter().filter_map(|key| key.name.clone());
                    let taken: Vec<Arc<str>> = taken.iter().cloned().chain(explicit).collect();
                    free_name(&generated::UNNAMED.into(), &taken)
                }
                (None, _) => free_name(&columns[parts[0].column].name, &taken),
            };
            taken.push(Arc::clone(&name));
            let nullable = parts.iter().any(|part| columns[part.column].nullable);
            let partial = parts.iter().any(|part| part.prefix_length.is_some());
            let group = match key.kind {
                IndexKind::Primary => 0,
                IndexKind::Unique => 1 + 2 * u8::from(nullable) + u8::from(partial),
                IndexKind::Plain => 5,
            };
            // Keys over columns that rows of MySQL do not keep come behind the others.
            let is_virtual = |column: &ColumnDefinition| column.is_virtual() || column.is_hidden();
            let group = 2 * group + u8::from(parts.iter().any(|part| is_virtual(&columns[part.column])));
            if key.origin.is_none()
                && !key.generated
                && key.kind != IndexKind::Primary
                && made
                    .iter()
                    .any(|(_, other)| other.parts == parts && other.kind == key.kind && !other.generated)
            {
                duplicates.push(e::ER_DUP_INDEX.warning(&[&name, &self.schema, &self.name]));
            }
            made.push((
                group,
                IndexDefinition {
                    name,
                    kind: key.kind,
                    tree: TreeNumber(0),
                    parts,
                    visible: key.visible,
                    algorithm: key.algorithm,
                    comment: Arc::clone(&key.comment),
                    generated: key.generated,
                },
            ));
        }
        if made.len() > INDEXES_MAX {
            return Err(e::ER_TOO_MANY_KEYS.with(&[&INDEXES_MAX]));
        }
        warnings.append(&mut duplicates);
        made.sort_by_key(|(group, _)| *group);
        Ok(made.into_iter().map(|(_, index)| index).collect())
    }

    /// The generated keys that other keys replace. Of two generated keys the shorter one goes, of equals the earlier one.
    fn redundant_keys(&self) -> Vec<bool> {
        let begins_with = |key: &KeyBuilder, start: &KeyBuilder| {
            start.parts.len() <= key.parts.len()
                && start.parts.iter().zip(&key.parts).all(|(one, two)| {
                    names_equal(&one.column, &two.column)
                        && (one.prefix_length, one.descending) == (two.prefix_length, two.descending)
                })
        };
        let mut redundant = vec![false; self.keys.len()];
        for (position, key) in self.keys.iter().enumerate() {
            for (earlier_position, earlier) in self.keys[..position].iter().enumerate() {
                if redundant[earlier_position] {
                    continue;
                }
                if earlier.generated && begins_with(key, earlier) {
                    redundant[earlier_position] = true;
                } else if key.generated && begins_with(earlier, key) {
                    redundant[position] = true;
                    break;
                }
            }
        }
        redundant
    }

    fn named_checks(&self, table: &TableDefinition, settings: &Settings<'_>) -> Result<Vec<CheckConstraint>> {
        let prefix = format!("{}_chk_", self.name);
        // A new table counts from 1, whatever names were written.
        let existing =
            self.checks.iter().filter(|check| check.existing).filter_map(|check| check.name.as_deref());
        let mut next = existing.filter_map(|name| generated_number(name, &prefix)).max().unwrap_or(0);
        let mut checks: Vec<CheckConstraint> = Vec::new();
        for check in &self.checks {
            let name = match &check.name {
                Some(name) => Arc::clone(name),
                None => {
                    next += 1;
                    format!("{prefix}{next}").into()
                }
            };
            if let Some(unfit) = &check.unfit {
                return Err(unfit.error(&name));
            }
            for column in &check.columns {
                let Some(ordinal) = table.column_ordinal(column) else {
                    return Err(e::ER_CHECK_CONSTRAINT_REFERS_UNKNOWN_COLUMN.with(&[&name, column]));
                };
                if table.columns[ordinal].auto_increment {
                    return Err(e::ER_CHECK_CONSTRAINT_REFERS_AUTO_INCREMENT_COLUMN.with(&[&name]));
                }
                if check.of_column.as_deref().is_some_and(|own| !names_equal(own, column)) {
                    return Err(e::ER_COLUMN_CHECK_CONSTRAINT_REFERENCES_OTHER_COLUMN.with(&[&name]));
                }
            }
            if checks.iter().any(|other| names_equal(&other.name, &name)) {
                return Err(e::ER_CHECK_CONSTRAINT_DUP_NAME.with(&[&name]));
            }
            if !check.existing {
                check_name_is_free(settings.catalog, table, &name)?;
            }
            checks.push(CheckConstraint {
                name,
                expression: Arc::clone(&check.expression),
                enforced: check.enforced,
            });
        }
        Ok(checks)
    }

    fn named_foreign_keys(
        &self,
        table: &TableDefinition,
        settings: &Settings<'_>,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Vec<ForeignKey>> {
        // The keys the table has had so far: their names stay taken until the statement is done.
        let before = match table.kind {
            TableKind::Base => settings
                .catalog
                .table(&self.schema, &self.name)
                .filter(|entry| entry.definition.id == table.id)
                .map(|entry| Arc::clone(&entry.definition)),
            _ => None,
        };
        let before: &[ForeignKey] = before.as_ref().map_or(&[], |before| &before.foreign_keys);
        let prefix = format!("{}_ibfk_", self.name);
        let mut next = before
            .iter()
            .filter_map(|key| key.name.strip_prefix(&prefix)?.parse::<u32>().ok())
            .max()
            .unwrap_or(0)
            + 1;
        let mut keys: Vec<ForeignKey> = Vec::new();
        for key in &self.foreign_keys {
            let name = match &key.name {
                Some(name) => Arc::clone(name),
                None => {
                    next += 1;
                    format!("{prefix}{}", next - 1).into()
                }
            };
            let mut columns = Vec::new();
            for column in &key.columns {
                let ordinal = table
                    .column_ordinal(column)
                    .ok_or_else(|| e::ER_KEY_COLUMN_DOES_NOT_EXITS.with(&[column]))?;
                columns.push(ordinal);
            }
            let mut parent_columns = key.parent_columns.clone();
            if parent_columns.is_empty() {
                parent_columns = self.parent_primary_key(key, table, settings)?;
            }
            if columns.len() != parent_columns.len() {
                let shown = key.name.as_deref().unwrap_or("foreign key without name");
                return Err(
                    e::ER_WRONG_FK_DEF.with(&[&shown, &"Key reference and table reference don't match"])
                );
            }
            let made = ForeignKey {
                name,
                columns,
                parent_schema: Arc::clone(&key.parent_schema),
                parent_table: Arc::clone(&key.parent_table),
                parent_columns,
                on_delete: key.on_delete,
                on_update: key.on_update,
            };
            if !key.existing {
                let taken = keys.iter().chain(before).any(|other| names_equal(&other.name, &made.name));
                if taken || self.is_explicit_later(&made.name, keys.len()) {
                    return Err(e::ER_FK_DUP_NAME.with(&[&made.name]));
                }
                foreign_key::check_name_is_free(settings.catalog, table, &made.name)?;
                self.check_checks(&made, table, settings)?;
                foreign_key::check_generated(&made, table, settings)?;
                foreign_key::check_new(&made, table, settings, warnings)?;
            } else {
                foreign_key::check_bases(&made, table, settings)?;
            }
            keys.push(made);
        }
        Ok(keys)
    }

    /// Whether a key behind the one at `position` was given this name.
    fn is_explicit_later(&self, name: &str, position: usize) -> bool {
        self.foreign_keys
            .iter()
            .skip(position + 1)
            .any(|key| key.name.as_deref().is_some_and(|other| names_equal(other, name)))
    }

    /// The columns that REFERENCES without columns means.
    fn parent_primary_key(
        &self,
        key: &ForeignKeyBuilder,
        table: &TableDefinition,
        settings: &Settings<'_>,
    ) -> Result<Vec<Arc<str>>> {
        let names = |parent: &TableDefinition| -> Vec<Arc<str>> {
            let parts = parent.primary_key().map_or(&[][..], |index| &index.parts);
            parts.iter().map(|part| Arc::clone(&parent.columns[part.column].name)).collect()
        };
        if key.parent_schema == table.schema && key.parent_table == table.name {
            return Ok(names(table));
        }
        match foreign_key::base_table(settings.catalog, &key.parent_schema, &key.parent_table) {
            Some(parent) => Ok(names(&parent.definition)),
            None => Err(e::ER_FK_CANNOT_OPEN_PARENT.with(&[&key.parent_table])),
        }
    }

    /// No CHECK may look at a column that a foreign key writes into.
    fn check_checks(&self, key: &ForeignKey, table: &TableDefinition, settings: &Settings<'_>) -> Result<()> {
        if !foreign_key::writes_columns(key) {
            return Ok(());
        }
        for (given, check) in self.checks.iter().zip(&table.checks) {
            let mut named = given.columns.clone();
            if named.is_empty() {
                named = columns_of_text(&check.expression, settings)?;
            }
            for &column in &key.columns {
                let name = &table.columns[column].name;
                if named.iter().any(|other| names_equal(other, name)) {
                    return Err(e::ER_CHECK_CONSTRAINT_CLAUSE_USING_FK_REFER_ACTION_COLUMN.with(&[
                        name,
                        &check.name,
                        &key.name,
                    ]));
                }
            }
        }
        Ok(())
    }
}

/// The number at the end of a generated name.
fn generated_number(name: &str, prefix: &str) -> Option<u32> {
    let start = name.get(..prefix.len())?;
    if start != prefix {
        return None;
    }
    name[prefix.len()..].parse().ok()
}

/// Names of CHECK constraints are unique in a schema; those of temporary tables in the table.
///
/// # Errors
/// 3822.
pub(super) fn check_name_is_free(catalog: &Catalog, table: &TableDefinition, name: &str) -> Result<()> {
    if table.kind != TableKind::Base {
        return Ok(());
    }
    let taken = catalog.schema(&table.schema).is_some_and(|schema| {
        schema.tables().map(|entry| &entry.definition).any(|other| {
            other.kind == TableKind::Base
                && other.id != table.id
                && other.checks.iter().any(|check| names_equal(&check.name, name))
        })
    });
    if taken { Err(e::ER_CHECK_CONSTRAINT_DUP_NAME.with(&[&name])) } else { Ok(()) }
}

/// An error that the table of MySQL's numbers leaves out.
#[cold]
fn unlisted(number: u16, message: String) -> Box<SqlError> {
    SqlError::new(number, *b"HY000", message)
}

/// The first word of a column's type as written, by which BOOL differs from TINYINT(1) and NCHAR from CHAR.
fn type_word<'t>(column: &ast::ColumnDef<'_>, text: &'t [u8]) -> &'t [u8] {
    let rest = text.get(column.name.span.end as usize..).unwrap_or(b"").trim_ascii_start();
    let end = rest.iter().position(|byte| !byte.is_ascii_alphanumeric()).unwrap_or(rest.len());
    &rest[..end]
}

/// `settings`: of a key whose parts may be expressions.
fn key_parts(parts: &[ast::KeyPart<'_>], settings: Option<&Settings<'_>>) -> Result<Vec<KeyPartBuilder>> {
    parts
        .iter()
        .map(|part| match part.target {
            ast::KeyTarget::Column(name, length) => Ok(KeyPartBuilder {
                column: text_of(name.text)?.into(),
                prefix_length: length,
                descending: part.desc.unwrap_or(false),
                expression: None,
            }),
            ast::KeyTarget::Expr(ref expr) => {
                let settings = settings.ok_or_else(|| {
                    e::ER_NOT_SUPPORTED_YET.with(&[&"functional key parts in this context"])
                })?;
                let expression = PartExpression::written(expr, settings)?;
                Ok(KeyPartBuilder {
                    column: Arc::clone(&expression.text),
                    prefix_length: None,
                    descending: part.desc.unwrap_or(false),
                    expression: Some(Box::new(expression)),
                })
            }
        })
        .collect()
}

/// PRIMARY KEY makes its columns NOT NULL, unless NULL or DEFAULT NULL is written with them.
fn make_not_null(column: &mut ColumnDefinition, null_written: bool) -> Result<()> {
    if null_written {
        return Err(e::ER_PRIMARY_CANT_HAVE_NULL.bare());
    }
    if column.nullable {
        column.nullable = false;
        if column.default == ColumnDefault::Null {
            column.default = ColumnDefault::None;
        }
    }
    Ok(())
}

fn index_part(column: &ColumnDefinition, ordinal: usize, part: &KeyPartBuilder) -> Result<IndexPart> {
    let data_type = &column.data_type;
    if data_type.kind == TypeKind::Json {
        return Err(e::ER_JSON_USED_AS_KEY.with(&[&column.name]));
    }
    let text = data_type.is_text_or_blob();
    let mut prefix_length = None;
    match part.prefix_length {
        None if text => return Err(e::ER_BLOB_KEY_WITHOUT_LENGTH.with(&[&column.name])),
        None => {}
        Some(0) => return Err(e::ER_KEY_PART_0.with(&[&column.name])),
        Some(length) => {
            if !data_type.is_string() || (!text && length > u64::from(data_type.length)) {
                return Err(e::ER_WRONG_SUB_KEY.bare());
            }
            let char_bytes = data_type.collation.charset().max_bytes_per_char() as u64;
            if text && length * char_bytes > KEY_BYTES_MAX {
                return Err(e::ER_TOO_LONG_KEY.with(&[&KEY_BYTES_MAX]));
            }
            if text || length < u64::from(data_type.length) {
                prefix_length = Some(length as u32);
            }
        }
    }
    if data_type.is_string() && data_type.length == 0 {
        return Err(e::ER_WRONG_KEY_COLUMN.with(&[&column.name]));
    }
    Ok(IndexPart { column: ordinal, prefix_length, descending: part.descending })
}

/// Bytes of a part as MySQL counts them against its limit.
pub(super) fn part_bytes(column: &ColumnDefinition, part: &IndexPart) -> u64 {
    let data_type = &column.data_type;
    match data_type.kind {
        _ if data_type.is_string() => {
            let chars = part.prefix_length.unwrap_or(data_type.length);
            u64::from(chars) * data_type.collation.charset().max_bytes_per_char() as u64
        }
        _ => fixed_bytes(data_type),
    }
}

/// Bytes of a fixed-width column as MySQL counts them.
fn fixed_bytes(data_type: &DataType) -> u64 {
    let fraction = u64::from(data_type.scale.div_ceil(2));
    match data_type.kind {
        TypeKind::Year => 1,
        TypeKind::Date => 3,
        TypeKind::Time => 3 + fraction,
        TypeKind::DateTime => 5 + fraction,
        TypeKind::Timestamp => 4 + fraction,
        TypeKind::Float => 4,
        TypeKind::Double => 8,
        TypeKind::Bit => u64::from(data_type.length.div_ceil(8)),
        TypeKind::Decimal => {
            let digits =
                |count: u32| u64::from(count / 9 * 4 + [0, 1, 1, 2, 2, 3, 3, 4, 4][(count % 9) as usize]);
            let scale = u32::from(data_type.scale);
            digits(data_type.length.saturating_sub(scale)) + digits(scale)
        }
        TypeKind::Enum => {
            data_type.members.as_ref().map_or(1, |members| if members.len() > 255 { 2 } else { 1 })
        }
        TypeKind::Set => data_type.members.as_ref().map_or(1, |members| match members.len() {
            0..=8 => 1,
            9..=16 => 2,
            17..=24 => 3,
            25..=32 => 4,
            _ => 8,
        }),
        _ => data_type.integer_bytes().map_or(4, u64::from),
    }
}

fn check_row_size(columns: &[ColumnDefinition]) -> Result<()> {
    let mut total: u64 = 0;
    let mut null_bits: u64 = 1;
    for column in columns.iter().filter(|column| !column.is_hidden()) {
        let data_type = &column.data_type;
        let char_bytes = data_type.collation.charset().max_bytes_per_char() as u64;
        total += match data_type.kind {
            TypeKind::Char => u64::from(data_type.length) * char_bytes,
            TypeKind::VarChar => {
                let bytes = u64::from(data_type.length) * char_bytes;
                bytes + if bytes > 255 { 2 } else { 1 }
            }
            TypeKind::TinyText => 9,
            TypeKind::Text => 10,
            TypeKind::MediumText => 11,
            TypeKind::LongText | TypeKind::Json => 12,
            _ => fixed_bytes(data_type),
        };
        null_bits += u64::from(column.nullable);
    }
    if columns.iter().any(|column| column.nullable) {
        total += null_bits.div_ceil(8);
    }
    if total > ROW_BYTES_MAX {
        return Err(e::ER_TOO_BIG_ROWSIZE.with(&[&ROW_BYTES_MAX]));
    }
    Ok(())
}

fn check_auto_increment(columns: &[ColumnDefinition], indexes: &[IndexDefinition]) -> Result<()> {
    let mut found = columns.iter().enumerate().filter(|(_, column)| column.auto_increment);
    let Some((ordinal, _)) = found.next() else { return Ok(()) };
    let leads = indexes.iter().any(|index| index.parts.first().is_some_and(|part| part.column == ordinal));
    if found.next().is_some() || !leads {
        return Err(e::ER_WRONG_AUTO_KEY.bare());
    }
    Ok(())
}

/// An expression as default reads columns of the table, and of those with such a default only earlier ones.
fn check_default_expressions(
    columns: &[ColumnDefinition],
    names: &NameMap,
    settings: &Settings<'_>,
) -> Result<()> {
    for (ordinal, column) in columns.iter().enumerate() {
        let ColumnDefault::Expression(text) = &column.default else { continue };
        if let Some(function) = stored_function_of(text, settings)? {
            return Err(
                e::ER_DEFAULT_VAL_GENERATED_NAMED_FUNCTION_IS_NOT_ALLOWED.with(&[&column.name, &function])
            );
        }
        for name in columns_of_text(text, settings)? {
            let Some(used) = names.get(&name) else {
                return Err(e::ER_BAD_FIELD_ERROR.with(&[&name, &"default value expression"]));
            };
            if columns[used].auto_increment {
                return Err(e::ER_DEFAULT_VAL_GENERATED_REF_AUTO_INC.with(&[&column.name]));
            }
            let is_computed = columns[used].generated.is_some()
                || matches!(columns[used].default, ColumnDefault::Expression(_));
            if used >= ordinal && is_computed {
                return Err(e::ER_DEFAULT_VAL_GENERATED_NON_PRIOR.with(&[&column.name]));
            }
        }
    }
    Ok(())
}

/// The first of `name`, `name_2`, `name_3`... that is free.
fn free_name(name: &Arc<str>, taken: &[Arc<str>]) -> Arc<str> {
    let is_free = |candidate: &str| {
        fold_name(candidate) != "primary" && !taken.iter().any(|other| names_equal(other, candidate))
    };
    if is_free(name) {
        return Arc::clone(name);
    }
    (2..)
        .map(|number: u32| format!("{name}_{number}"))
        .find(|candidate| is_free(candidate))
        .map_or_else(|| Arc::clone(name), Arc::from)
}

/// ENGINE=: every engine of MySQL that keeps rows is ours under another name.
fn check_engine(name: &[u8], table: &str, warnings: &mut Vec<Diagnostic>) -> Result<()> {
    let shown = String::from_utf8_lossy(name);
    match shown.to_ascii_lowercase().as_str() {
        "innodb" | "" => Ok(()),
        "myisam" | "memory" | "heap" | "csv" | "archive" | "mrg_myisam" | "blackhole" | "aria"
        | "rocksdb" => {
            warnings.push(e::ER_WARN_USING_OTHER_HANDLER.warning(&[&"InnoDB", &table]));
            Ok(())
        }
        _ => Err(e::ER_UNKNOWN_STORAGE_ENGINE.with(&[&shown])),
    }
}
