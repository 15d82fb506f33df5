//! Tables as the generator knows them: column types, indexes, rows, and their SQL.

use crate::value::{Value, Writer, write_quoted};

/// What kind of value an expression has; the generator mixes families on purpose and seldom.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Family {
    /// Integers of all widths.
    Integer,
    /// DECIMAL.
    Decimal,
    /// FLOAT and DOUBLE.
    Real,
    /// Character strings.
    Text,
    /// Byte strings.
    Bytes,
    /// DATE.
    Date,
    /// TIME.
    Time,
    /// DATETIME and TIMESTAMP.
    DateTime,
    /// YEAR.
    Year,
    /// BIT.
    Bit,
    /// ENUM.
    Enum,
    /// SET.
    Set,
    /// JSON.
    Json,
    /// Truth values: 0, 1 or NULL.
    Condition,
}

/// All families that columns have.
pub const FAMILIES: [Family; 13] = [
    Family::Integer,
    Family::Decimal,
    Family::Real,
    Family::Text,
    Family::Bytes,
    Family::Date,
    Family::Time,
    Family::DateTime,
    Family::Year,
    Family::Bit,
    Family::Enum,
    Family::Set,
    Family::Json,
];

/// A column's type.
#[derive(Clone, Debug, PartialEq)]
pub enum Type {
    /// TINYINT to BIGINT, by bytes.
    Integer {
        /// 1, 2, 3, 4 or 8.
        bytes: u8,
        /// UNSIGNED.
        unsigned: bool,
    },
    /// BIT(n).
    Bit(u8),
    /// YEAR.
    Year,
    /// DECIMAL(precision, scale).
    Decimal {
        /// All digits.
        precision: u8,
        /// Digits after the point.
        scale: u8,
        /// UNSIGNED.
        unsigned: bool,
    },
    /// FLOAT.
    Float,
    /// DOUBLE.
    Double,
    /// CHAR, VARCHAR and the TEXTs: the keyword with its length, and the collation (with its character set).
    Text {
        /// Such as `VARCHAR(20)`.
        keyword: String,
        /// Such as `latin1_swedish_ci`.
        collation: &'static str,
    },
    /// BINARY, VARBINARY and the BLOBs.
    Bytes {
        /// Such as `VARBINARY(20)`.
        keyword: String,
    },
    /// DATE.
    Date,
    /// TIME(n).
    Time(u8),
    /// DATETIME(n).
    DateTime(u8),
    /// TIMESTAMP(n).
    Timestamp(u8),
    /// ENUM.
    Enum(Vec<&'static str>),
    /// SET.
    Set(Vec<&'static str>),
    /// JSON.
    Json,
}

impl Type {
    /// The family of its values.
    #[must_use]
    pub fn family(&self) -> Family {
        match self {
            Type::Integer { .. } => Family::Integer,
            Type::Bit(_) => Family::Bit,
            Type::Year => Family::Year,
            Type::Decimal { .. } => Family::Decimal,
            Type::Float | Type::Double => Family::Real,
            Type::Text { .. } => Family::Text,
            Type::Bytes { .. } => Family::Bytes,
            Type::Date => Family::Date,
            Type::Time(_) => Family::Time,
            Type::DateTime(_) | Type::Timestamp(_) => Family::DateTime,
            Type::Enum(_) => Family::Enum,
            Type::Set(_) => Family::Set,
            Type::Json => Family::Json,
        }
    }

    /// Whether an index over it needs a prefix length: TEXT and BLOB.
    #[must_use]
    pub fn needs_prefix(&self) -> bool {
        match self {
            Type::Text { keyword, .. } | Type::Bytes { keyword } => {
                keyword.ends_with("TEXT") || keyword.ends_with("BLOB")
            }
            _ => false,
        }
    }

    fn write(&self, out: &mut String) {
        let fraction = |name: &str, digits: u8, out: &mut String| {
            out.push_str(name);
            if digits > 0 {
                out.push_str(&format!("({digits})"));
            }
        };
        let members = |name: &str, members: &[&str], out: &mut String| {
            out.push_str(name);
            out.push('(');
            for (index, member) in members.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_quoted(member, out);
            }
            out.push(')');
        };
        match self {
            Type::Integer { bytes, unsigned } => {
                out.push_str(match bytes {
                    1 => "TINYINT",
                    2 => "SMALLINT",
                    3 => "MEDIUMINT",
                    4 => "INT",
                    _ => "BIGINT",
                });
                out.push_str(if *unsigned { " UNSIGNED" } else { "" });
            }
            Type::Bit(bits) => out.push_str(&format!("BIT({bits})")),
            Type::Year => out.push_str("YEAR"),
            Type::Decimal { precision, scale, unsigned } => {
                let sign = if *unsigned { " UNSIGNED" } else { "" };
                out.push_str(&format!("DECIMAL({precision},{scale}){sign}"));
            }
            Type::Float => out.push_str("FLOAT"),
            Type::Double => out.push_str("DOUBLE"),
            Type::Text { keyword, collation } => {
                let charset = collation.split('_').next().unwrap_or(collation);
                out.push_str(&format!("{keyword} CHARACTER SET {charset} COLLATE {collation}"));
            }
            Type::Bytes { keyword } => out.push_str(keyword),
            Type::Date => out.push_str("DATE"),
            Type::Time(digits) => fraction("TIME", *digits, out),
            Type::DateTime(digits) => fraction("DATETIME", *digits, out),
            Type::Timestamp(digits) => fraction("TIMESTAMP", *digits, out),
            Type::Enum(names) => members("ENUM", names, out),
            Type::Set(names) => members("SET", names, out),
            Type::Json => out.push_str("JSON"),
        }
    }
}

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its type.
    pub column_type: Type,
    /// Without NOT NULL.
    pub is_nullable: bool,
    /// Its DEFAULT, if one is written.
    pub default: Option<Value>,
    /// Its values are small numbers or words that no collation calls equal; others hold extremes, padded and
    /// equal but different texts. Arithmetic is done over plain columns only, so that no sum overflows, and what
    /// chooses one of several equal values (DISTINCT, GROUP BY, MIN) prints plain ones only.
    pub is_plain: bool,
    /// GENERATED ALWAYS AS.
    pub generated: Option<Generated>,
}

/// What a generated column is made by.
#[derive(Clone, Debug, PartialEq)]
pub struct Generated {
    /// SQL over the columns of its table.
    pub expression: String,
    /// STORED, else VIRTUAL.
    pub is_stored: bool,
}

/// Whether an expression has this word.
#[must_use]
pub fn mentions(expression: &str, name: &str) -> bool {
    let is_word = |character: char| character.is_ascii_alphanumeric() || character == '_';
    expression.split(|character| !is_word(character)).any(|word| word == name)
}

impl Column {
    /// Appends its definition.
    pub fn write(&self, out: &mut String) {
        out.push_str(&self.name);
        out.push(' ');
        self.column_type.write(out);
        if let Some(Generated { expression, is_stored }) = &self.generated {
            let kind = if *is_stored { "STORED" } else { "VIRTUAL" };
            out.push_str(&format!(" GENERATED ALWAYS AS ({expression}) {kind}"));
        }
        if !self.is_nullable {
            out.push_str(" NOT NULL");
        } else if matches!(self.column_type, Type::Timestamp(_)) {
            out.push_str(" NULL");
        }
        if let Some(value) = &self.default {
            out.push_str(" DEFAULT ");
            value.write_stored(out);
        }
    }
}

/// What an index is for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum IndexKind {
    /// PRIMARY KEY.
    Primary,
    /// UNIQUE.
    Unique,
    /// Neither.
    Plain,
}

/// One column of an index.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexPart {
    /// The column's name.
    pub column: String,
    /// The length of a prefix, in characters or bytes.
    pub prefix: Option<u32>,
    /// DESC.
    pub is_descending: bool,
}

/// An index.
#[derive(Clone, Debug, PartialEq)]
pub struct Index {
    /// Its name; the primary key's is not written.
    pub name: String,
    /// What it is for.
    pub kind: IndexKind,
    /// Its columns, in order.
    pub parts: Vec<IndexPart>,
}

impl Index {
    /// Appends its definition.
    pub fn write(&self, out: &mut String) {
        match self.kind {
            IndexKind::Primary => out.push_str("PRIMARY KEY ("),
            IndexKind::Unique => out.push_str(&format!("UNIQUE KEY {} (", self.name)),
            IndexKind::Plain => out.push_str(&format!("KEY {} (", self.name)),
        }
        for (index, part) in self.parts.iter().enumerate() {
            if index > 0 {
                out.push_str(", ");
            }
            out.push_str(&part.column);
            if let Some(length) = part.prefix {
                out.push_str(&format!("({length})"));
            }
            if part.is_descending {
                out.push_str(" DESC");
            }
        }
        out.push(')');
    }
}

/// A table and the rows it begins with.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// Its columns, in order.
    pub columns: Vec<Column>,
    /// Its indexes.
    pub indexes: Vec<Index>,
    /// TEMPORARY: a statement of MySQL names it once.
    pub is_temporary: bool,
    /// Rows to insert; those that break a unique key are left out by INSERT IGNORE.
    pub rows: Vec<Vec<Value>>,
}

impl Table {
    /// The CREATE TABLE statement.
    #[must_use]
    pub fn create_sql(&self) -> String {
        let kind = if self.is_temporary { "TEMPORARY TABLE" } else { "TABLE" };
        let mut out = format!("CREATE {kind} {} (", self.name);
        for (index, column) in self.columns.iter().enumerate() {
            out.push_str(if index > 0 { ", " } else { "" });
            column.write(&mut out);
        }
        for index in &self.indexes {
            out.push_str(", ");
            index.write(&mut out);
        }
        out.push(')');
        out
    }

    /// The INSERT of its rows, if it has any.
    #[must_use]
    pub fn insert_sql(&self) -> Option<String> {
        if self.rows.is_empty() {
            return None;
        }
        let mut writer = Writer::default();
        let has_unique = self.indexes.iter().any(|index| index.kind != IndexKind::Plain);
        writer.push(if has_unique { "INSERT IGNORE INTO " } else { "INSERT INTO " });
        writer.push(&self.name);
        writer.push(" VALUES ");
        writer.list(&self.rows, ", ", |writer, row| {
            writer.push("(");
            let cells: Vec<_> = row.iter().zip(&self.columns).collect();
            writer.list(&cells, ", ", |writer, (value, column)| match column.generated {
                Some(_) => writer.push("DEFAULT"),
                None => value.write_stored(&mut writer.text),
            });
            writer.push(")");
        });
        Some(writer.text)
    }

    /// The column of this name.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// Takes a column away, and the indexes that have nothing left.
    pub fn remove_column(&mut self, at: usize) {
        let name = self.columns.remove(at).name;
        for row in &mut self.rows {
            row.remove(at);
        }
        for index in &mut self.indexes {
            index.parts.retain(|part| part.column != name);
        }
        self.indexes.retain(|index| !index.parts.is_empty());
    }
}
