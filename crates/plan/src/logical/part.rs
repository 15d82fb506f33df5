//! A part of a large column: what a statement reads of it where it does not need the whole value.

use types::{CollationId, DataType};

use crate::expr::{ColumnId, Expr};

/// A part of a column that a table gives beside its columns. It is NULL where the column is.
#[derive(Clone, Debug, PartialEq)]
pub struct TablePart {
    /// Its number.
    pub id: ColumnId,
    /// Ordinal of the column.
    pub column: usize,
    /// Which part.
    pub kind: PartKind,
    /// Type of the part.
    pub data_type: DataType,
}

/// Which part of a column. Numbers are whole and known when the statement starts: literals and parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum PartKind {
    /// Whether it is NULL: the part is empty if it is not.
    Nullness,
    /// Its bytes, times this: 8 for bits.
    Length {
        /// 1 or 8.
        times: u8,
    },
    /// The first bytes, enough to hold the characters asked for.
    Start {
        /// The first character, from 1; `None`: 1. A negative one counts from the end and needs all bytes.
        position: Option<Expr>,
        /// How many.
        count: Expr,
        /// Most bytes of a character.
        width: u32,
    },
    /// What SUBSTRING gives where a character is a byte.
    Substring {
        /// The first byte, from 1; a negative one counts from the end; 0: nothing. `None`: 1.
        position: Option<Expr>,
        /// How many. `None`: all to the end.
        count: Option<Expr>,
    },
    /// All of it, or a reference to where it is stored: what a result sends and nothing else needs is read when it is sent, a sort key
    /// as far as the order needs it.
    Reference,
    /// Whether the value meets a condition, 1 or 0: as much is read as decides it.
    Predicate(TextPredicate),
}

/// A comparison of a value with texts that are known when the statement starts.
#[derive(Clone, Debug, PartialEq)]
pub struct TextPredicate {
    /// Which.
    pub kind: TextPredicateKind,
    /// By this collation; the texts are in its character set.
    pub collation: CollationId,
    /// What it is compared with: one text, two of BETWEEN, any number of IN.
    pub texts: Vec<Expr>,
}

/// The comparisons that a beginning may decide.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(missing_docs, reason = "SQL's names")]
pub enum TextPredicateKind {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Between,
    In,
    /// With the default escape character.
    Like,
}

impl PartKind {
    /// What it is called in a printed tree.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            PartKind::Nullness => "nullness",
            PartKind::Length { times: 1 } => "bytes",
            PartKind::Length { .. } => "bits",
            PartKind::Start { .. } => "start",
            PartKind::Substring { .. } => "piece",
            PartKind::Reference => "value or reference",
            PartKind::Predicate(_) => "predicate",
        }
    }

    /// Its numbers: position, count.
    #[must_use]
    pub fn numbers(&self) -> [Option<&Expr>; 2] {
        match self {
            PartKind::Nullness | PartKind::Length { .. } | PartKind::Reference | PartKind::Predicate(_) => {
                [None, None]
            }
            PartKind::Start { position, count, .. } => [position.as_ref(), Some(count)],
            PartKind::Substring { position, count } => [position.as_ref(), count.as_ref()],
        }
    }

    /// The texts it is compared with.
    #[must_use]
    pub fn texts(&self) -> &[Expr] {
        match self {
            PartKind::Predicate(predicate) => &predicate.texts,
            _ => &[],
        }
    }

    /// Whether bytes of the value are needed, not only what the row itself knows of it.
    #[must_use]
    pub(crate) fn reads_bytes(&self) -> bool {
        !matches!(self, PartKind::Nullness | PartKind::Length { .. })
    }
}
