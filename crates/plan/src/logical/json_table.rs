//! JSON_TABLE: what rows a document becomes.
//!
//! The row path names values of the document, each of which is a row. Columns take values of a row by paths of their own; a nested
//! path makes several rows of one. The rows of two nested paths beside each other follow each other, each with NULL in the columns of the other.

use std::sync::Arc;

use types::json::Path;

use super::expr::JsonAnswer;

/// Rows made of the values that a path names.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonRows {
    /// Names the rows, from the document or from a row of the path around it.
    pub path: Path,
    /// What each row gives of itself.
    pub columns: Vec<JsonColumn>,
    /// What makes several rows of each.
    pub nested: Vec<JsonRows>,
}

/// A column of JSON_TABLE.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonColumn {
    /// Position among all columns of the table.
    pub output: usize,
    /// Its name, for messages.
    pub name: Arc<str>,
    /// What it holds.
    pub source: JsonSource,
}

/// What a column of JSON_TABLE holds.
#[derive(Clone, Debug, PartialEq)]
pub enum JsonSource {
    /// FOR ORDINALITY: the number of the row among those of its path, from 1.
    Ordinality,
    /// EXISTS PATH: 1 or 0.
    Exists(Path),
    /// PATH: the value.
    Value {
        /// Names it, from the row.
        path: Path,
        /// Where there is none.
        on_empty: JsonAnswer,
        /// Where the column cannot hold it.
        on_error: JsonAnswer,
    },
}

impl JsonRows {
    /// Calls `visit` with each column, those of nested paths included.
    pub fn each_column<'r>(&'r self, visit: &mut dyn FnMut(&'r JsonColumn)) {
        self.columns.iter().for_each(&mut *visit);
        self.nested.iter().for_each(|nested| nested.each_column(visit));
    }
}
