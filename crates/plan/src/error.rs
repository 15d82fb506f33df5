//! Why a statement could not be planned: always an error of the client's, with MySQL's number and text.

/// A MySQL error found while binding. The SQLSTATE follows from the number in `service::error`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PlanError {
    /// MySQL's number.
    pub number: u16,
    /// Text for the client, UTF-8.
    pub message: String,
}

/// What binding returns; the error is boxed to keep results small.
pub type PlanResult<T> = Result<T, Box<PlanError>>;

impl PlanError {
    /// An error with this number and text.
    #[cold]
    #[must_use]
    pub fn new(number: u16, message: impl Into<String>) -> Box<PlanError> {
        Box::new(PlanError { number, message: message.into() })
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
