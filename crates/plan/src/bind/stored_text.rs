//! Expressions that a table's definition keeps as text: they depend on no session, their text says everything.

use std::sync::Arc;

use catalog::{Catalog, TableEntry};
use syntax::SqlMode;
use types::{CollationId, DataType, Value};

use super::{Session, bind_over_table};
use crate::error::{PlanError, PlanResult};
use crate::expr::Expr;
use crate::function::TypeContext;

/// A stored expression over the columns of its table: column `i` is `Input(i)`.
///
/// # Errors
/// What is wrong with it.
pub fn bind_stored(entry: &Arc<TableEntry>, text: &str) -> PlanResult<Expr> {
    let arena = bumpalo::Bump::new();
    let parsed = syntax::parse_expr(text.as_bytes(), &arena, SqlMode::default())
        .map_err(|error| PlanError::new(error.number, error.message.to_string()))?;
    let session = StoredText { collation: entry.definition.collation };
    bind_over_table(&parsed, text.as_bytes(), entry, &Catalog::new(), &session)
}

struct StoredText {
    collation: CollationId,
}

impl Session for StoredText {
    fn database(&self) -> Option<&str> {
        None
    }

    fn connection_collation(&self) -> CollationId {
        self.collation
    }

    fn only_full_group_by(&self) -> bool {
        true
    }

    fn type_context(&self) -> TypeContext {
        TypeContext { connection_collation: self.collation, ..TypeContext::default() }
    }

    fn system_variable(&self, _scope: syntax::ast::VarScope, name: &str) -> PlanResult<Value> {
        Err(PlanError::new(3772, format!("Default value expression cannot refer to variable '{name}'")))
    }

    fn user_variable(&self, _name: &str) -> Option<DataType> {
        None
    }
}
