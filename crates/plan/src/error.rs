//! Why a statement could not be planned: always an error of the client's, with MySQL's number and text.

use std::sync::Arc;

use catalog::{Privileges, TableEntry};

use crate::needs::{ColumnNeed, FunctionNeed, TableNeed};

/// A MySQL error found while binding. The SQLSTATE follows from the number in `service::error`.
#[derive(Clone, Debug)]
pub struct PlanError {
    /// MySQL's number.
    pub number: u16,
    /// Text for the client, UTF-8.
    pub message: String,
    /// What had been bound of a statement, for an account that may not even see this error.
    pub bound: Option<Box<PartlyBound>>,
}

/// A statement as far as it was bound.
#[derive(Clone, Debug, Default)]
pub struct PartlyBound {
    /// Schema, name and columns of the tables found so far.
    pub tables: Vec<(Arc<TableEntry>, TableNeed)>,
    /// Columns found so far.
    pub columns: Vec<ColumnNeed>,
    /// Accounts whose privileges count within views.
    pub definers: Vec<crate::needs::Definer>,
    /// The table that is not there.
    pub missing_table: Option<(String, String, Privileges)>,
    /// The column that is not there.
    pub missing_column: Option<String>,
    /// Schema and name of the stored function that is not there.
    pub missing_function: Option<(String, String)>,
    /// Stored functions found so far.
    pub functions: Vec<FunctionNeed>,
    /// What had been warned of.
    pub warnings: Vec<PlanError>,
}

/// What binding returns; the error is boxed to keep results small.
pub type PlanResult<T> = Result<T, Box<PlanError>>;

impl PlanError {
    /// An error with this number and text.
    #[cold]
    #[must_use]
    pub fn new(number: u16, message: impl Into<String>) -> Box<PlanError> {
        Box::new(PlanError { number, message: message.into(), bound: None })
    }

    /// 1235: correct MySQL that this server does not run yet.
    #[cold]
    #[must_use]
    pub fn not_supported(what: &str) -> Box<PlanError> {
        Self::new(1235, format!("This version of MySQL doesn't yet support '{what}'"))
    }
}

impl std::fmt::Display for PlanError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.number, self.message)
    }
}

impl std::error::Error for PlanError {}
