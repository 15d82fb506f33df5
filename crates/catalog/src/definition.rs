//! Definitions of tables: plain immutable data, as CREATE TABLE left it.

use std::sync::Arc;

use types::collation::CollationId;
use types::{DataType, Decimal};

use crate::name::NameMap;
use crate::trigger::TriggerDefinition;
use crate::view::ViewDefinition;

/// A schema's number, unique for the life of a data folder.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct SchemaId(pub u32);

/// A table's number, unique for the life of a data folder; a rebuilt or truncated table keeps its number.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct TableId(pub u64);

/// The number of a tree in the store (the store's `TreeId`); 0 means "no tree".
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct TreeNumber(pub u64);

/// What answers a name in FROM.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TableKind {
    /// Rows in the store.
    Base,
    /// Rows in the store, seen by one session and dropped with it.
    Temporary,
    /// Rows made while they are read (`information_schema`, `performance_schema`).
    System,
    /// The rows of a query.
    View,
}

/// A value as it lies in a row: the physical form of the column's type (`types::Physical`).
///
/// `Int` holds every integer, the bits of an unsigned one, packed temporals, ENUM indexes and SET bits. A TIMESTAMP
/// is UTC microseconds since 1970 here (0 for the zero value, as MySQL has it), unlike in a vector, where it stands in
/// the session's time zone.
#[derive(Clone, Debug, PartialEq)]
pub enum StoredValue {
    /// SQL NULL.
    Null,
    /// Integers and everything packed into one.
    Int(i64),
    /// FLOAT and DOUBLE.
    Double(f64),
    /// DECIMAL.
    Decimal(Decimal),
    /// Strings in the column's character set; JSON documents in binary form.
    Bytes(Box<[u8]>),
}

/// What a column holds when INSERT does not say.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnDefault {
    /// No default: 1364 in strict mode when left out. AUTO_INCREMENT columns have none either.
    None,
    /// DEFAULT NULL, also by omission for a nullable column.
    Null,
    /// A constant, converted to the column's type when the table was made.
    Literal {
        /// The converted value.
        value: StoredValue,
        /// Its text as SHOW CREATE prints it between quotes, before escapes: `1.50`, `2020-01-01`; for BIT the binary
        /// digits. UTF-8, or the bytes themselves for binary strings.
        text: Box<[u8]>,
    },
    /// DEFAULT CURRENT_TIMESTAMP(n); n is the column's own fractional digits.
    CurrentTimestamp,
    /// DEFAULT (expression): canonical text, parsed and bound when used.
    Expression(Arc<str>),
}

/// What a generated column is. Rows keep the values of all three kinds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum GeneratedKind {
    /// VIRTUAL.
    Virtual,
    /// STORED.
    Stored,
    /// The expression of a functional key part: no statement can name the column. Such columns stand behind all others.
    KeyPart,
}

/// GENERATED ALWAYS AS (expression).
#[derive(Clone, Debug, PartialEq)]
pub struct GeneratedColumn {
    /// Canonical text of the expression.
    pub expression: Arc<str>,
    /// STORED, VIRTUAL or a key part's.
    pub kind: GeneratedKind,
}

/// One column of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnDefinition {
    /// Name as written.
    pub name: Arc<str>,
    /// Type with length, scale, collation and members.
    pub data_type: DataType,
    /// Whether NULL may be stored.
    pub nullable: bool,
    /// Value when left out.
    pub default: ColumnDefault,
    /// ON UPDATE CURRENT_TIMESTAMP(n).
    pub on_update_now: bool,
    /// AUTO_INCREMENT.
    pub auto_increment: bool,
    /// GENERATED ALWAYS AS.
    pub generated: Option<GeneratedColumn>,
    /// INVISIBLE: not in `SELECT *` nor in an INSERT without column list.
    pub invisible: bool,
    /// The collation was written at the column (SHOW CREATE repeats it).
    pub collation_explicit: bool,
    /// COMMENT, at most 1,024 characters.
    pub comment: Arc<str>,
    /// The row schema version in which the column first lies in rows; rows of older versions answer
    /// `instant_default` (instant ADD COLUMN). 0 for a column that was there from the start.
    pub since_version: u32,
    /// What rows older than `since_version` hold.
    pub instant_default: StoredValue,
    /// Rows hold their columns in this order, ties by ordinal: a column that was put elsewhere by an instant change
    /// stays where it was in the rows.
    pub stored_order: u32,
    /// How the column lies in rows of older versions, oldest first.
    pub earlier_forms: Vec<EarlierForm>,
}

/// How a column lay in rows before an instant change of its type.
#[derive(Clone, Debug, PartialEq)]
pub struct EarlierForm {
    /// The last row version that holds it so.
    pub until_version: u32,
    /// Its type then.
    pub data_type: DataType,
    /// Whether it could be NULL then.
    pub nullable: bool,
}

/// A column that an instant change dropped: older rows still hold it.
#[derive(Clone, Debug, PartialEq)]
pub struct DroppedColumn {
    /// What it was.
    pub column: ColumnDefinition,
    /// The last row version that holds it.
    pub until_version: u32,
}

impl ColumnDefinition {
    /// A column without extras: no default, visible, in rows from the start.
    #[must_use]
    pub fn new(name: &str, data_type: DataType, nullable: bool) -> Self {
        Self {
            name: name.into(),
            data_type,
            nullable,
            default: ColumnDefault::None,
            on_update_now: false,
            auto_increment: false,
            generated: None,
            invisible: false,
            collation_explicit: false,
            comment: "".into(),
            since_version: 0,
            instant_default: StoredValue::Null,
            stored_order: 0,
            earlier_forms: Vec::new(),
        }
    }

    /// Whether it is the expression of a functional key part, which nobody sees.
    #[must_use]
    pub fn is_hidden(&self) -> bool {
        self.generated.as_ref().is_some_and(|generated| generated.kind == GeneratedKind::KeyPart)
    }

    /// Whether it is VIRTUAL.
    #[must_use]
    pub fn is_virtual(&self) -> bool {
        self.generated.as_ref().is_some_and(|generated| generated.kind == GeneratedKind::Virtual)
    }

    /// Whether it is STORED.
    #[must_use]
    pub fn is_stored_generated(&self) -> bool {
        self.generated.as_ref().is_some_and(|generated| generated.kind == GeneratedKind::Stored)
    }

    /// Type and nullability of the column in rows of `version`.
    #[must_use]
    pub fn form_in(&self, version: u32) -> (&DataType, bool) {
        match self.earlier_forms.iter().find(|form| version <= form.until_version) {
            Some(form) => (&form.data_type, form.nullable),
            None => (&self.data_type, self.nullable),
        }
    }
}

/// What an index promises.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum IndexKind {
    /// PRIMARY KEY.
    Primary,
    /// UNIQUE.
    Unique,
    /// Neither.
    Plain,
}

/// USING, kept for SHOW CREATE: every index is a B-tree.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum IndexAlgorithm {
    /// Not written.
    #[default]
    Default,
    /// USING BTREE.
    Btree,
    /// USING HASH (MySQL's InnoDB makes it a B-tree as well and prints BTREE).
    Hash,
}

/// One column of an index.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct IndexPart {
    /// Ordinal of the column in the table.
    pub column: usize,
    /// Only the first this many characters (bytes for binary types) are in the key.
    pub prefix_length: Option<u32>,
    /// DESC.
    pub descending: bool,
}

/// One index of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexDefinition {
    /// Name as written or made; `PRIMARY` for the primary key.
    pub name: Arc<str>,
    /// What it promises.
    pub kind: IndexKind,
    /// Its tree; for the clustered index the tree of the rows.
    pub tree: TreeNumber,
    /// Columns in order.
    pub parts: Vec<IndexPart>,
    /// INVISIBLE indexes are kept up but not used by plans.
    pub visible: bool,
    /// USING.
    pub algorithm: IndexAlgorithm,
    /// COMMENT.
    pub comment: Arc<str>,
    /// Made for a foreign key, not written: it is dropped when another index begins with its columns.
    pub generated: bool,
}

impl IndexDefinition {
    /// PRIMARY or UNIQUE.
    #[must_use]
    pub fn is_unique(&self) -> bool {
        self.kind != IndexKind::Plain
    }

    /// The PRIMARY KEY.
    #[must_use]
    pub fn is_primary(&self) -> bool {
        self.kind == IndexKind::Primary
    }
}

/// ON DELETE and ON UPDATE of a foreign key.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum ForeignKeyAction {
    /// Not written, or NO ACTION: the same as RESTRICT.
    #[default]
    NoAction,
    /// RESTRICT.
    Restrict,
    /// CASCADE.
    Cascade,
    /// SET NULL.
    SetNull,
    /// SET DEFAULT (parsed; never carried out by MySQL's InnoDB either).
    SetDefault,
}

/// FOREIGN KEY.
#[derive(Clone, Debug, PartialEq)]
pub struct ForeignKey {
    /// Constraint name, unique in the schema.
    pub name: Arc<str>,
    /// Columns of this table.
    pub columns: Vec<usize>,
    /// Schema of the table referred to.
    pub parent_schema: Arc<str>,
    /// Table referred to.
    pub parent_table: Arc<str>,
    /// Columns there, by name, since the other table changes by itself.
    pub parent_columns: Vec<Arc<str>>,
    /// ON DELETE.
    pub on_delete: ForeignKeyAction,
    /// ON UPDATE.
    pub on_update: ForeignKeyAction,
}

/// CHECK.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckConstraint {
    /// Constraint name, unique in the schema.
    pub name: Arc<str>,
    /// Canonical text of the condition, without the outer parentheses.
    pub expression: Arc<str>,
    /// Not NOT ENFORCED.
    pub enforced: bool,
}

/// ROW_FORMAT as written; kept for SHOW CREATE, without meaning here.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(missing_docs, reason = "MySQL's own words")]
pub enum RowFormatOption {
    Default,
    Dynamic,
    Fixed,
    Compressed,
    Redundant,
    Compact,
}

/// Table options that are kept only so that SHOW CREATE can show them.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(missing_docs, reason = "MySQL's own words, in the order SHOW CREATE prints them")]
pub struct TableOptions {
    pub min_rows: Option<u64>,
    pub max_rows: Option<u64>,
    pub avg_row_length: Option<u64>,
    pub pack_keys: Option<bool>,
    pub stats_persistent: Option<bool>,
    pub stats_auto_recalc: Option<bool>,
    pub stats_sample_pages: Option<u64>,
    pub checksum: bool,
    pub delay_key_write: bool,
    pub row_format: Option<RowFormatOption>,
    pub key_block_size: Option<u64>,
    pub compression: Option<Arc<str>>,
    pub encryption: Option<Arc<str>>,
}

/// A table: all that its rows and SHOW CREATE need to know.
#[derive(Clone, Debug)]
pub struct TableDefinition {
    /// Number.
    pub id: TableId,
    /// Name as written.
    pub name: Arc<str>,
    /// Number of its schema.
    pub schema_id: SchemaId,
    /// Name of its schema.
    pub schema: Arc<str>,
    /// Base, temporary, system or view.
    pub kind: TableKind,
    /// Columns in order.
    pub columns: Vec<ColumnDefinition>,
    /// Indexes: the primary key first, then unique ones that hold no NULL, then other unique ones, then the rest,
    /// each group in order of creation (the order SHOW KEYS has).
    pub indexes: Vec<IndexDefinition>,
    /// The index whose tree holds the rows: the primary key, else the first unique index over whole NOT NULL
    /// columns, else none: rows are then kept by a hidden row number in `rows_tree`.
    pub clustered: Option<usize>,
    /// The tree of the rows (equal to the clustered index's tree if there is one).
    pub rows_tree: TreeNumber,
    /// The tree of values too large for a row.
    pub large_values_tree: TreeNumber,
    /// Version of the row layout; grows with each instant change of the columns.
    pub row_version: u32,
    /// Columns that are gone from the definition but not from rows of older versions.
    pub dropped_columns: Vec<DroppedColumn>,
    /// Default collation of new columns.
    pub collation: CollationId,
    /// COMMENT, at most 2,048 characters.
    pub comment: Arc<str>,
    /// Microseconds since 1970, UTC.
    pub created_micros: i64,
    /// Kept for SHOW CREATE.
    pub options: TableOptions,
    /// FOREIGN KEY constraints.
    pub foreign_keys: Vec<ForeignKey>,
    /// CHECK constraints.
    pub checks: Vec<CheckConstraint>,
    /// Triggers, those of an event and a timing in their order.
    pub triggers: Vec<Arc<TriggerDefinition>>,
    /// What makes it a view.
    pub view: Option<Arc<ViewDefinition>>,
    /// From a column's name to its ordinal; made by [`TableDefinition::index_names`].
    pub column_names: NameMap,
}

impl TableDefinition {
    /// Its triggers by event, timing and order.
    #[must_use]
    pub fn triggers_in_order(&self) -> Vec<&Arc<TriggerDefinition>> {
        let mut triggers: Vec<_> = self.triggers.iter().collect();
        triggers.sort_by_key(|trigger| (trigger.event, trigger.timing));
        triggers
    }

    /// Its trigger of this name.
    #[must_use]
    pub fn trigger(&self, name: &str) -> Option<&Arc<TriggerDefinition>> {
        self.triggers.iter().find(|trigger| trigger.is_named(name))
    }

    /// A table whose rows are computed: without indexes and trees.
    #[must_use]
    pub fn system(
        id: TableId,
        (schema_id, schema): (SchemaId, &str),
        name: &str,
        columns: Vec<ColumnDefinition>,
        collation: CollationId,
    ) -> Self {
        Self {
            id,
            name: name.into(),
            schema_id,
            schema: schema.into(),
            kind: TableKind::System,
            column_names: NameMap::new(columns.iter().map(|column| &*column.name)),
            columns,
            indexes: Vec::new(),
            clustered: None,
            rows_tree: TreeNumber(0),
            large_values_tree: TreeNumber(0),
            row_version: 0,
            dropped_columns: Vec::new(),
            collation,
            comment: "".into(),
            created_micros: 0,
            options: TableOptions::default(),
            foreign_keys: Vec::new(),
            checks: Vec::new(),
            triggers: Vec::new(),
            view: None,
        }
    }

    /// The trees that it names, in order, each once.
    #[must_use]
    pub fn trees(&self) -> Vec<TreeNumber> {
        let mut trees: Vec<TreeNumber> = self.indexes.iter().map(|index| index.tree).collect();
        trees.extend([self.rows_tree, self.large_values_tree]);
        trees.retain(|&tree| tree != TreeNumber::default());
        trees.sort_unstable();
        trees.dedup();
        trees
    }

    /// Whether a result names its columns as they are defined, however the statement wrote them: so do the tables of
    /// `information_schema` that are views over the dictionary in MySQL.
    #[must_use]
    pub fn shows_names_as_defined(&self) -> bool {
        self.kind == TableKind::System
            && &*self.schema == "information_schema"
            && !matches!(
                &*self.name,
                "COLLATIONS"
                    | "COLUMN_PRIVILEGES"
                    | "ENGINES"
                    | "INNODB_TRX"
                    | "PLUGINS"
                    | "PROCESSLIST"
                    | "SCHEMA_PRIVILEGES"
                    | "TABLE_PRIVILEGES"
                    | "USER_PRIVILEGES"
            )
    }

    /// Resets the row versions: there are no rows of an earlier layout.
    pub fn begin_layout(&mut self) {
        self.row_version = 0;
        self.dropped_columns.clear();
        for (ordinal, column) in self.columns.iter_mut().enumerate() {
            column.since_version = 0;
            column.instant_default = StoredValue::Null;
            column.stored_order = ordinal as u32;
            column.earlier_forms.clear();
        }
    }

    /// Rebuilds `column_names` and `clustered` after the columns or indexes were changed.
    pub fn index_names(&mut self) {
        self.column_names = NameMap::new(self.seen_columns().map(|column| &*column.name));
        self.clustered = self.indexes.iter().position(IndexDefinition::is_primary).or_else(|| {
            self.indexes.iter().position(|index| {
                index.is_unique()
                    && index
                        .parts
                        .iter()
                        .all(|part| part.prefix_length.is_none() && !self.columns[part.column].nullable)
            })
        });
    }

    /// The columns that can be named: all but those of functional key parts, which stand last.
    pub fn seen_columns(&self) -> impl Iterator<Item = &ColumnDefinition> + Clone {
        self.columns.iter().take_while(|column| !column.is_hidden())
    }

    /// The expression of a part of an index, if it is no column.
    #[must_use]
    pub fn part_expression(&self, part: &IndexPart) -> Option<&Arc<str>> {
        let generated = self.columns[part.column].generated.as_ref()?;
        (generated.kind == GeneratedKind::KeyPart).then_some(&generated.expression)
    }

    /// Ordinal of the column called `name`, in any case.
    #[must_use]
    pub fn column_ordinal(&self, name: &str) -> Option<usize> {
        self.column_names.get(name)
    }

    /// Ordinal of the index called `name`, in any case.
    #[must_use]
    pub fn index_ordinal(&self, name: &str) -> Option<usize> {
        self.indexes.iter().position(|index| crate::name::names_equal(&index.name, name))
    }

    /// The PRIMARY KEY.
    #[must_use]
    pub fn primary_key(&self) -> Option<&IndexDefinition> {
        self.indexes.iter().find(|index| index.is_primary())
    }

    /// Ordinal of the AUTO_INCREMENT column.
    #[must_use]
    pub fn auto_increment_column(&self) -> Option<usize> {
        self.columns.iter().position(|column| column.auto_increment)
    }
}
