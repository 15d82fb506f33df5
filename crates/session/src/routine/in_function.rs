//! Which statements may run while another one runs them: in triggers and functions, and in procedures that these call.

use service::SqlError;
use service::error as e;
use syntax::ast::{SetItem, Statement};

type Result<T> = std::result::Result<T, Box<SqlError>>;

/// Refuses a statement in the body of a trigger or function. `place`: the word for it.
///
/// # Errors
/// 1336 for dynamic SQL, 1415 for what answers with rows, 1422 for what commits, 1445; 1235 for what could run there in MySQL.
pub(crate) fn require_allowed(statement: &Statement<'_>, place: &str) -> Result<()> {
    let commits = || Err(e::ER_COMMIT_NOT_ALLOWED_IN_SF_OR_TRG.bare());
    let not_here = |what: &str| Err(e::ER_STMT_NOT_ALLOWED_IN_SF_OR_TRG.with(&[&what]));
    match statement {
        Statement::Query(query) if query.into.is_none() => Err(e::ER_SP_NO_RETSET.with(&[&place])),
        Statement::Show(_)
        | Statement::Describe { .. }
        | Statement::Explain(_)
        | Statement::Help(_)
        | Statement::Checksum { .. } => Err(e::ER_SP_NO_RETSET.with(&[&place])),
        Statement::Query(_)
        | Statement::Insert(_)
        | Statement::Update(_)
        | Statement::Delete(_)
        | Statement::Do(_)
        | Statement::Call(_)
        | Statement::Signal(_)
        | Statement::GetDiagnostics(_)
        | Statement::Kill { .. }
        | Statement::Empty => Ok(()),
        Statement::Set(items) => {
            let is_autocommit = |item: &SetItem<'_>| match item {
                SetItem::SystemVar { var, .. } => var.name.text.eq_ignore_ascii_case(b"autocommit"),
                _ => false,
            };
            match items.iter().any(is_autocommit) {
                true => Err(e::ER_SP_CANT_SET_AUTOCOMMIT.bare()),
                false => Ok(()),
            }
        }
        Statement::Prepare { .. } | Statement::Execute { .. } | Statement::Deallocate(_) => {
            not_here("Dynamic SQL")
        }
        Statement::Flush(_) => not_here("FLUSH"),
        // These have errors of their own in a body.
        Statement::CreateRoutine(_)
        | Statement::DropRoutine(_)
        | Statement::AlterRoutine(_)
        | Statement::Use(_)
        | Statement::LockTables(_)
        | Statement::UnlockTables
        | Statement::LoadData(_) => Ok(()),
        Statement::CreateTrigger(_) => Err(e::ER_SP_NO_RECURSIVE_CREATE.with(&[&"TRIGGER"])),
        Statement::CreateTable(create) if create.temporary => {
            Err(crate::errors::not_supported(&format!("CREATE TEMPORARY TABLE in a {place}")))
        }
        Statement::DropTable(drop) if drop.temporary => {
            Err(crate::errors::not_supported(&format!("DROP TEMPORARY TABLE in a {place}")))
        }
        Statement::Savepoint(_) | Statement::RollbackTo(_) | Statement::ReleaseSavepoint(_) => {
            Err(crate::errors::not_supported(&format!("SAVEPOINT in a {place}")))
        }
        Statement::Unsupported { what } => Err(crate::errors::not_supported(what)),
        _ => commits(),
    }
}
