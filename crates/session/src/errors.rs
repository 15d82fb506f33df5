//! Errors that several kinds of statements answer with, made of what the parser and the planner say.

use plan::PlanError;
use service::SqlError;
use service::error::{
    ER_BAD_DB_ERROR, ER_INTERNAL_ERROR, ER_NOT_SUPPORTED_YET, ER_PARSE_ERROR, ER_TOO_LONG_IDENT,
};

/// 1235 for something MySQL does and this server does not yet.
#[cold]
#[must_use]
pub(crate) fn not_supported(what: &str) -> Box<SqlError> {
    ER_NOT_SUPPORTED_YET.with(&[&what])
}

/// 1049, or 1059 for a name that no schema can have.
#[cold]
pub(crate) fn no_schema(name: &str) -> Box<SqlError> {
    if plan::bind::is_too_long(name) {
        ER_TOO_LONG_IDENT.with(&[&name])
    } else {
        ER_BAD_DB_ERROR.with(&[&name])
    }
}

/// A syntax error as clients see it.
#[cold]
pub(crate) fn syntax_error(error: &syntax::SyntaxError) -> Box<SqlError> {
    if error.number == service::error::ER_QUERY_INTERRUPTED.number
        && let Some(reached) = env::memory::exceeded()
    {
        return crate::limits::memory_error(&reached);
    }
    service::Code::by_number(error.number).map_or_else(
        || ER_PARSE_ERROR.saying(error.message.clone()),
        |code| code.saying(error.message.clone()),
    )
}

/// 1064 near `near`, which stands at offset `at` of `sql`.
#[cold]
pub(crate) fn syntax_error_near(near: &[u8], sql: &[u8], at: usize) -> Box<SqlError> {
    /// Bytes that MySQL shows of what it could not read.
    const NEAR_BYTES_MAX: usize = 80;
    let near = near.trim_ascii_start();
    let line = 1 + sql[..at.min(sql.len())].iter().filter(|byte| **byte == b'\n').count();
    let near = String::from_utf8_lossy(&near[..near.len().min(NEAR_BYTES_MAX)]).into_owned();
    ER_PARSE_ERROR.saying(format!(
        "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version for the right syntax to use near '{near}' at line {line}"
    ))
}

/// A planner's error as clients see it.
#[cold]
pub(crate) fn plan_error(error: &PlanError) -> Box<SqlError> {
    let mut answer = match service::Code::by_number(error.number) {
        Some(code) => code.saying(error.message.clone()),
        None => ER_INTERNAL_ERROR.with(&[&error.message]),
    };
    for warning in error.bound.iter().flat_map(|bound| &bound.warnings) {
        if let Some(code) = service::Code::by_number(warning.number) {
            answer
                .earlier
                .push(service::error::Diagnostic { message: warning.message.clone(), ..code.warning(&[]) });
        }
    }
    answer
}
