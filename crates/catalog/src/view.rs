//! Views: a query by its canonical text, and whose privileges count in it.
//!
//! A view is a [`TableDefinition`](crate::TableDefinition) of kind [`TableKind::View`](crate::TableKind::View): it shares the names of
//! tables. Its columns are those of its query when it was made; what they are now is found by binding the text.

use std::sync::Arc;

use types::CollationId;
use types::charset::Charset;

/// ALGORITHM.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum ViewAlgorithm {
    /// Not written, or MERGE of what cannot be merged.
    #[default]
    Undefined,
    /// Its query becomes part of the one around it.
    Merge,
    /// Its rows are materialised.
    Temptable,
}

impl ViewAlgorithm {
    /// MySQL's word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Undefined => "UNDEFINED",
            Self::Merge => "MERGE",
            Self::Temptable => "TEMPTABLE",
        }
    }
}

/// WITH CHECK OPTION: rows written through the view must be rows of it.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum CheckOption {
    /// Not written.
    #[default]
    None,
    /// Its own condition counts, and those of views below it that have an option themselves.
    Local,
    /// The conditions of all views below it count.
    Cascaded,
}

impl CheckOption {
    /// MySQL's word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::None => "NONE",
            Self::Local => "LOCAL",
            Self::Cascaded => "CASCADED",
        }
    }
}

/// What makes a table definition a view.
#[derive(Clone, Debug, PartialEq)]
pub struct ViewDefinition {
    /// Canonical text of the query: every table with its schema.
    pub query: Arc<str>,
    /// Its columns were named in a list.
    pub has_column_list: bool,
    /// ALGORITHM.
    pub algorithm: ViewAlgorithm,
    /// User and host of the account it belongs to.
    pub definer: (Arc<str>, Arc<str>),
    /// SQL SECURITY INVOKER: the reader's privileges count on what it reads.
    pub invoker: bool,
    /// WITH CHECK OPTION.
    pub check_option: CheckOption,
    /// Rows of its tables could be changed through it when it was made.
    pub updatable: bool,
    /// `character_set_client` when it was made.
    pub client_charset: Charset,
    /// `collation_connection` when it was made: that of its literals.
    pub connection_collation: CollationId,
    /// Schemas and names of the tables and views that its query names.
    pub tables: Vec<(Arc<str>, Arc<str>)>,
}
