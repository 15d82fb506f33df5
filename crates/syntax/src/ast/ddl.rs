//! Statements that define things.

use super::{Duplicates, Expr, Ident, ObjectName, Query, Span};

/// A column's type as written.
#[derive(Clone, Copy, Debug)]
pub struct DataType<'a> {
    /// Which type; synonyms are resolved (`INT8` is `BIGINT`, `BOOL` is `TINYINT(1)`, `REAL` depends on sql_mode).
    pub name: TypeName,
    /// `(length)`, `(precision)` or fractional digits; `None`: not written.
    pub length: Option<u64>,
    /// `(.., scale)`.
    pub decimals: Option<u64>,
    /// `UNSIGNED` (also by `ZEROFILL`, `SERIAL`).
    pub unsigned: bool,
    /// `ZEROFILL`.
    pub zerofill: bool,
    /// Character set: `CHARACTER SET x`, `ASCII` (latin1), `UNICODE` (ucs2), `BYTE` (binary), `NATIONAL` (utf8mb3).
    pub charset: Option<&'a [u8]>,
    /// `BINARY` attribute: the `_bin` collation of the character set.
    pub binary: bool,
    /// `COLLATE` written in the column's attributes.
    pub collation: Option<&'a [u8]>,
    /// Members of `ENUM` and `SET`, decoded.
    pub members: &'a [&'a [u8]],
    /// `SERIAL`: also NOT NULL, AUTO_INCREMENT and UNIQUE.
    pub serial: bool,
}

/// Types of columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum TypeName {
    TinyInt,
    SmallInt,
    MediumInt,
    Int,
    BigInt,
    Bit,
    Decimal,
    Float,
    Double,
    Date,
    Time,
    DateTime,
    Timestamp,
    Year,
    Char,
    Varchar,
    Binary,
    Varbinary,
    TinyText,
    Text,
    MediumText,
    LongText,
    TinyBlob,
    Blob,
    MediumBlob,
    LongBlob,
    Enum,
    Set,
    Json,
    Vector,
    Geometry,
    Point,
    LineString,
    Polygon,
    MultiPoint,
    MultiLineString,
    MultiPolygon,
    GeometryCollection,
}

/// `CREATE TABLE`.
#[derive(Clone, Copy, Debug)]
pub struct CreateTable<'a> {
    /// `TEMPORARY`.
    pub temporary: bool,
    /// `IF NOT EXISTS`.
    pub if_not_exists: bool,
    /// Its name.
    pub name: ObjectName<'a>,
    /// `LIKE other`: then all that follows is empty.
    pub like: Option<ObjectName<'a>>,
    /// Columns, keys, constraints, in order.
    pub elements: &'a [TableElement<'a>],
    /// Table options, in order; a repeated option: the last one counts.
    pub options: &'a [TableOption<'a>],
    /// `PARTITION BY`.
    pub partitioning: Option<&'a Partitioning>,
    /// `IGNORE` or `REPLACE` before the query.
    pub duplicates: Duplicates,
    /// `[AS] query`.
    pub query: Option<&'a Query<'a>>,
}

/// One entry of the parenthesised list of `CREATE TABLE`.
#[derive(Clone, Copy, Debug)]
pub enum TableElement<'a> {
    /// A column.
    Column(&'a ColumnDef<'a>),
    /// A key.
    Key(&'a KeyDef<'a>),
    /// A foreign key.
    ForeignKey(&'a ForeignKey<'a>),
    /// A check constraint.
    Check(Check<'a>),
}

/// A column definition.
#[derive(Clone, Copy, Debug)]
pub struct ColumnDef<'a> {
    /// Its name.
    pub name: Ident<'a>,
    /// Its type.
    pub ty: DataType<'a>,
    /// `NOT NULL` (false), `NULL` (true), neither.
    pub nullable: Option<bool>,
    /// `DEFAULT`.
    pub default: Option<ColumnDefault<'a>>,
    /// `ON UPDATE CURRENT_TIMESTAMP[(n)]`: the fractional digits written, 0 if none.
    pub on_update: Option<u64>,
    /// `AUTO_INCREMENT`.
    pub auto_increment: bool,
    /// `PRIMARY KEY`, `UNIQUE`.
    pub key: Option<ColumnKey>,
    /// `GENERATED ALWAYS AS (expr)`.
    pub generated: Option<Generated<'a>>,
    /// `COMMENT`.
    pub comment: Option<&'a [u8]>,
    /// `INVISIBLE` (true), `VISIBLE` (false), neither.
    pub invisible: Option<bool>,
    /// `CHECK` constraints written with the column.
    pub checks: &'a [Check<'a>],
    /// `REFERENCES`: a foreign key in 9.x as in standard SQL.
    pub references: Option<&'a References<'a>>,
    /// `SRID`.
    pub srid: Option<u64>,
    /// `COLUMN_FORMAT`: `FIXED`, `DYNAMIC` or `DEFAULT`.
    pub column_format: Option<&'static str>,
    /// `STORAGE`: `DISK`, `MEMORY` or `DEFAULT`.
    pub storage: Option<&'static str>,
    /// `ENGINE_ATTRIBUTE`.
    pub engine_attribute: Option<&'a [u8]>,
    /// `SECONDARY_ENGINE_ATTRIBUTE`.
    pub secondary_engine_attribute: Option<&'a [u8]>,
    /// `NOT SECONDARY`.
    pub not_secondary: bool,
}

/// A column's default.
#[derive(Clone, Copy, Debug)]
pub enum ColumnDefault<'a> {
    /// A literal, with its sign as [`super::ExprKind::Unary`] if it has one.
    Literal(Expr<'a>),
    /// `CURRENT_TIMESTAMP[(n)]`, `NOW()`, ...: fractional digits, 0 if not written.
    Now(u64),
    /// `(expression)`.
    Expr(Expr<'a>),
}

/// Keys written with a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKey {
    /// `[PRIMARY] KEY`.
    Primary,
    /// `UNIQUE [KEY]`.
    Unique,
}

/// A generated column.
#[derive(Clone, Copy, Debug)]
pub struct Generated<'a> {
    /// The expression.
    pub expr: Expr<'a>,
    /// `STORED` (else virtual).
    pub stored: bool,
}

/// `PRIMARY KEY`, `UNIQUE`, `INDEX`, `FULLTEXT`, `SPATIAL`.
#[derive(Clone, Copy, Debug)]
pub struct KeyDef<'a> {
    /// Which.
    pub kind: KeyKind,
    /// Its name: the index name, else the constraint's (only `PRIMARY KEY` and `UNIQUE` can have that).
    pub name: Option<Ident<'a>>,
    /// Its parts; never empty.
    pub parts: &'a [KeyPart<'a>],
    /// Options, all spellings resolved.
    pub options: IndexOptions<'a>,
}

/// Kinds of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum KeyKind {
    Primary,
    Unique,
    Index,
    Fulltext,
    Spatial,
}

/// A part of a key.
#[derive(Clone, Copy, Debug)]
pub struct KeyPart<'a> {
    /// A column or an expression.
    pub target: KeyTarget<'a>,
    /// `DESC` (true), `ASC` (false), neither.
    pub desc: Option<bool>,
}

/// What a key part covers.
#[derive(Clone, Copy, Debug)]
pub enum KeyTarget<'a> {
    /// `column[(length)]`.
    Column(Ident<'a>, Option<u64>),
    /// `(expression)`.
    Expr(Expr<'a>),
}

/// Options of an index.
#[derive(Clone, Copy, Debug, Default)]
pub struct IndexOptions<'a> {
    /// `USING`.
    pub algorithm: Option<IndexAlgorithm>,
    /// `COMMENT`.
    pub comment: Option<&'a [u8]>,
    /// `KEY_BLOCK_SIZE`.
    pub key_block_size: Option<u64>,
    /// `INVISIBLE` (true), `VISIBLE` (false), neither.
    pub invisible: Option<bool>,
    /// `WITH PARSER`.
    pub parser: Option<Ident<'a>>,
    /// `ENGINE_ATTRIBUTE`.
    pub engine_attribute: Option<&'a [u8]>,
    /// `SECONDARY_ENGINE_ATTRIBUTE`.
    pub secondary_engine_attribute: Option<&'a [u8]>,
}

/// `USING BTREE|HASH|RTREE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum IndexAlgorithm {
    Btree,
    Hash,
    Rtree,
}

/// A foreign key.
#[derive(Clone, Copy, Debug)]
pub struct ForeignKey<'a> {
    /// `CONSTRAINT name`.
    pub constraint: Option<Ident<'a>>,
    /// Index name after `FOREIGN KEY`.
    pub index: Option<Ident<'a>>,
    /// Its columns.
    pub columns: &'a [KeyPart<'a>],
    /// What it refers to.
    pub references: References<'a>,
}

/// `REFERENCES table (columns) ...`.
#[derive(Clone, Copy, Debug)]
pub struct References<'a> {
    /// The table.
    pub table: ObjectName<'a>,
    /// Its columns; empty if not written.
    pub columns: &'a [Ident<'a>],
    /// `MATCH FULL|PARTIAL|SIMPLE`.
    pub match_kind: Option<&'static str>,
    /// `ON DELETE`.
    pub on_delete: Option<ReferenceAction>,
    /// `ON UPDATE`.
    pub on_update: Option<ReferenceAction>,
}

/// What a foreign key does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum ReferenceAction {
    Restrict,
    Cascade,
    SetNull,
    NoAction,
    SetDefault,
}

/// `[CONSTRAINT name] CHECK (expr) [[NOT] ENFORCED]`.
#[derive(Clone, Copy, Debug)]
pub struct Check<'a> {
    /// Its name.
    pub name: Option<Ident<'a>>,
    /// The condition.
    pub expr: Expr<'a>,
    /// `NOT ENFORCED` was not written.
    pub enforced: bool,
}

/// A table option.
#[derive(Clone, Copy, Debug)]
pub enum TableOption<'a> {
    /// `ENGINE`.
    Engine(&'a [u8]),
    /// `SECONDARY_ENGINE`; `None` for `NULL`.
    SecondaryEngine(Option<&'a [u8]>),
    /// `AUTO_INCREMENT`.
    AutoIncrement(u64),
    /// `[DEFAULT] CHARACTER SET`; `None` for `DEFAULT`.
    Charset(Option<&'a [u8]>),
    /// `[DEFAULT] COLLATE`; `None` for `DEFAULT`.
    Collate(Option<&'a [u8]>),
    /// `COMMENT`.
    Comment(&'a [u8]),
    /// `ROW_FORMAT`, upper case.
    RowFormat(&'static str),
    /// `KEY_BLOCK_SIZE`.
    KeyBlockSize(u64),
    /// `MAX_ROWS`.
    MaxRows(u64),
    /// `MIN_ROWS`.
    MinRows(u64),
    /// `AVG_ROW_LENGTH`.
    AvgRowLength(u64),
    /// `PASSWORD`.
    Password(&'a [u8]),
    /// `COMPRESSION`.
    Compression(&'a [u8]),
    /// `ENCRYPTION`.
    Encryption(&'a [u8]),
    /// `CHECKSUM`, `TABLE_CHECKSUM`.
    Checksum(bool),
    /// `DELAY_KEY_WRITE`.
    DelayKeyWrite(bool),
    /// `PACK_KEYS`; `None` for `DEFAULT`.
    PackKeys(Option<u64>),
    /// `STATS_AUTO_RECALC`; `None` for `DEFAULT`.
    StatsAutoRecalc(Option<u64>),
    /// `STATS_PERSISTENT`; `None` for `DEFAULT`.
    StatsPersistent(Option<u64>),
    /// `STATS_SAMPLE_PAGES`; `None` for `DEFAULT`.
    StatsSamplePages(Option<u64>),
    /// `UNION = (...)`.
    Union(&'a [ObjectName<'a>]),
    /// `INSERT_METHOD`: `NO`, `FIRST`, `LAST`.
    InsertMethod(&'static str),
    /// `DATA DIRECTORY`.
    DataDirectory(&'a [u8]),
    /// `INDEX DIRECTORY`.
    IndexDirectory(&'a [u8]),
    /// `TABLESPACE`.
    Tablespace(Ident<'a>),
    /// `STORAGE`: `DISK` or `MEMORY`.
    Storage(&'static str),
    /// `CONNECTION`.
    Connection(&'a [u8]),
    /// `ENGINE_ATTRIBUTE`.
    EngineAttribute(&'a [u8]),
    /// `SECONDARY_ENGINE_ATTRIBUTE`.
    SecondaryEngineAttribute(&'a [u8]),
    /// `AUTOEXTEND_SIZE` in bytes.
    AutoextendSize(u64),
    /// `START TRANSACTION`.
    StartTransaction,
    /// An option that only other products' engines read, by its MySQL name.
    Other(&'static str),
}

/// `PARTITION BY`.
#[derive(Clone, Copy, Debug)]
pub struct Partitioning {
    /// The text from `PARTITION BY` to its end, as written.
    pub source: Span,
}

/// `ALTER TABLE`.
#[derive(Clone, Copy, Debug)]
pub struct AlterTable<'a> {
    /// The table.
    pub table: ObjectName<'a>,
    /// What is done, in order.
    pub actions: &'a [AlterAction<'a>],
    /// `ALGORITHM`: `DEFAULT`, `INSTANT`, `INPLACE`, `COPY`.
    pub algorithm: Option<&'a [u8]>,
    /// `LOCK`: `DEFAULT`, `NONE`, `SHARED`, `EXCLUSIVE`.
    pub lock: Option<&'a [u8]>,
    /// `WITH VALIDATION` (true), `WITHOUT VALIDATION` (false), neither.
    pub validation: Option<bool>,
}

/// Where a column goes.
#[derive(Clone, Copy, Debug)]
pub enum ColumnPlace<'a> {
    /// `FIRST`.
    First,
    /// `AFTER column`.
    After(Ident<'a>),
}

/// One action of `ALTER TABLE`.
#[derive(Clone, Copy, Debug)]
pub enum AlterAction<'a> {
    /// `ADD [COLUMN] def [FIRST | AFTER x]`.
    AddColumn(&'a ColumnDef<'a>, Option<ColumnPlace<'a>>),
    /// `ADD [COLUMN] (defs and keys)`.
    AddElements(&'a [TableElement<'a>]),
    /// `ADD` key.
    AddKey(&'a KeyDef<'a>),
    /// `ADD` foreign key.
    AddForeignKey(&'a ForeignKey<'a>),
    /// `ADD CHECK`.
    AddCheck(Check<'a>),
    /// `MODIFY [COLUMN]`.
    ModifyColumn(&'a ColumnDef<'a>, Option<ColumnPlace<'a>>),
    /// `CHANGE [COLUMN] old def`.
    ChangeColumn(Ident<'a>, &'a ColumnDef<'a>, Option<ColumnPlace<'a>>),
    /// `DROP [COLUMN]`.
    DropColumn(Ident<'a>),
    /// `DROP PRIMARY KEY`.
    DropPrimaryKey,
    /// `DROP INDEX`.
    DropIndex(Ident<'a>),
    /// `DROP FOREIGN KEY`.
    DropForeignKey(Ident<'a>),
    /// `DROP CHECK`.
    DropCheck(Ident<'a>),
    /// `DROP CONSTRAINT`: of whatever kind has that name.
    DropConstraint(Ident<'a>),
    /// `ALTER [COLUMN] c SET DEFAULT`.
    SetDefault(Ident<'a>, ColumnDefault<'a>),
    /// `ALTER [COLUMN] c DROP DEFAULT`.
    DropDefault(Ident<'a>),
    /// `ALTER [COLUMN] c SET INVISIBLE` (true) or `VISIBLE`.
    SetColumnInvisible(Ident<'a>, bool),
    /// `ALTER INDEX i INVISIBLE` (true) or `VISIBLE`.
    SetIndexInvisible(Ident<'a>, bool),
    /// `ALTER CHECK|CONSTRAINT c [NOT] ENFORCED`.
    SetEnforced {
        /// The constraint.
        name: Ident<'a>,
        /// `ENFORCED`.
        enforced: bool,
        /// `CONSTRAINT` was written: a constraint of another kind may have that name.
        any_kind: bool,
    },
    /// `RENAME COLUMN a TO b`.
    RenameColumn(Ident<'a>, Ident<'a>),
    /// `RENAME INDEX a TO b`.
    RenameIndex(Ident<'a>, Ident<'a>),
    /// `RENAME [TO] name`.
    RenameTable(ObjectName<'a>),
    /// A table option.
    Option(TableOption<'a>),
    /// `CONVERT TO CHARACTER SET x [COLLATE y]`; no character set for `DEFAULT`.
    ConvertCharset {
        /// The character set.
        charset: Option<&'a [u8]>,
        /// The collation.
        collation: Option<&'a [u8]>,
    },
    /// `ORDER BY`.
    OrderBy(&'a [super::OrderItem<'a>]),
    /// `FORCE`.
    Force,
    /// `ENABLE KEYS` (true), `DISABLE KEYS`.
    Keys(bool),
    /// `PARTITION BY ...` as an action.
    PartitionBy(&'a Partitioning),
    /// An action this server does not do: its words, upper case (`DISCARD TABLESPACE`, `DROP PARTITION`).
    Other(&'static str),
}

/// `DROP TABLE`.
#[derive(Clone, Copy, Debug)]
pub struct DropTable<'a> {
    /// `TEMPORARY`.
    pub temporary: bool,
    /// `IF EXISTS`.
    pub if_exists: bool,
    /// The tables.
    pub names: &'a [ObjectName<'a>],
}

/// `CREATE INDEX`.
#[derive(Clone, Copy, Debug)]
pub struct CreateIndex<'a> {
    /// The table.
    pub table: ObjectName<'a>,
    /// The key; its name is always there.
    pub key: KeyDef<'a>,
    /// `ALGORITHM`.
    pub algorithm: Option<&'a [u8]>,
    /// `LOCK`.
    pub lock: Option<&'a [u8]>,
}

/// `DROP INDEX`.
#[derive(Clone, Copy, Debug)]
pub struct DropIndex<'a> {
    /// The index; `PRIMARY` quoted or not is the primary key.
    pub name: Ident<'a>,
    /// The table.
    pub table: ObjectName<'a>,
    /// `ALGORITHM`.
    pub algorithm: Option<&'a [u8]>,
    /// `LOCK`.
    pub lock: Option<&'a [u8]>,
}

/// `CREATE DATABASE`.
#[derive(Clone, Copy, Debug)]
pub struct CreateDatabase<'a> {
    /// `IF NOT EXISTS`.
    pub if_not_exists: bool,
    /// Its name.
    pub name: Ident<'a>,
    /// Its options.
    pub options: &'a [DatabaseOption<'a>],
}

/// `ALTER DATABASE`.
#[derive(Clone, Copy, Debug)]
pub struct AlterDatabase<'a> {
    /// The database; not written: the current one.
    pub name: Option<Ident<'a>>,
    /// Its options.
    pub options: &'a [DatabaseOption<'a>],
}

/// An option of a database.
#[derive(Clone, Copy, Debug)]
pub enum DatabaseOption<'a> {
    /// `CHARACTER SET`; `None` for `DEFAULT`.
    Charset(Option<&'a [u8]>),
    /// `COLLATE`; `None` for `DEFAULT`.
    Collate(Option<&'a [u8]>),
    /// `ENCRYPTION`.
    Encryption(&'a [u8]),
    /// `READ ONLY`: 0, 1; `None` for `DEFAULT`.
    ReadOnly(Option<u64>),
}

/// `CREATE VIEW`, `ALTER VIEW`.
#[derive(Clone, Copy, Debug)]
pub struct CreateView<'a> {
    /// `OR REPLACE`.
    pub or_replace: bool,
    /// `IF NOT EXISTS`.
    pub if_not_exists: bool,
    /// `ALTER VIEW`.
    pub alter: bool,
    /// `ALGORITHM`: `UNDEFINED`, `MERGE`, `TEMPTABLE`.
    pub algorithm: Option<&'static str>,
    /// `DEFINER`.
    pub definer: Option<super::Account<'a>>,
    /// `SQL SECURITY`: INVOKER (true), DEFINER (false), not written.
    pub security_invoker: Option<bool>,
    /// Its name.
    pub name: ObjectName<'a>,
    /// Names of its columns; empty: the query's.
    pub columns: &'a [Ident<'a>],
    /// The query.
    pub query: &'a Query<'a>,
    /// `WITH CHECK OPTION`: `CASCADED` or `LOCAL`.
    pub check_option: Option<&'static str>,
}
