//! What the names in a statement mean to a session: its default database, its temporary tables before those of all.

use std::sync::Arc;

use catalog::{Catalog, Schema, TableEntry};
use service::SqlError;
use service::error::{ER_NO_DB_ERROR, ER_NO_SUCH_TABLE, ER_TOO_LONG_IDENT};
use syntax::ast::{Ident, ObjectName};
use types::charset::Charset;

use crate::core::Core;
use crate::errors::no_schema;
use crate::privilege::{self, SessionAccount};
use crate::temporary::TemporaryTables;

type Result<T> = std::result::Result<T, Box<SqlError>>;

/// A name as text; names are UTF-8 once parsed.
pub(super) fn name_text(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}

/// Character sets files may be in.
pub(super) fn file_charset(name: Option<&[u8]>, default: Charset) -> Result<Charset> {
    let Some(name) = name else { return Ok(default) };
    let text = name_text(name);
    Charset::from_name(&text).ok_or_else(|| service::error::ER_UNKNOWN_CHARACTER_SET.with(&[&text]))
}

/// What decides about names.
#[derive(Clone, Copy)]
pub(super) struct Names<'a> {
    pub(super) core: &'a Core,
    pub(super) database: Option<&'a Arc<str>>,
    pub(super) temporary: &'a TemporaryTables,
}

impl Names<'_> {
    /// The catalog as the session sees it, its temporary tables included.
    pub(super) fn catalog(&self) -> Arc<Catalog> {
        self.temporary.overlay(&self.core.catalog().load())
    }

    /// Whether it is a temporary table of the session.
    pub(super) fn is_temporary(&self, schema: &str, table: &str) -> bool {
        self.temporary.get(schema, table).is_some()
    }

    /// The schema written, or the default database.
    ///
    /// # Errors
    /// 1046.
    pub(super) fn schema(&self, written: Option<Ident<'_>>) -> Result<String> {
        match (written, self.database) {
            (Some(schema), _) => Ok(name_text(schema.text)),
            (None, Some(current)) => Ok(current.to_string()),
            (None, None) => Err(ER_NO_DB_ERROR.bare()),
        }
    }

    /// Schema and table a name means.
    ///
    /// # Errors
    /// 1046.
    pub(super) fn table(&self, name: &ObjectName<'_>) -> Result<(String, String)> {
        Ok((self.schema(name.schema)?, name_text(name.name.text)))
    }

    /// The table named, temporary tables first, whether or not the account may see it (`access` asked that).
    ///
    /// # Errors
    /// 1046, 1049, 1146.
    pub(super) fn entry(&self, name: &ObjectName<'_>) -> Result<Arc<TableEntry>> {
        // A temporary table hides the one of the same name.
        let catalog = self.catalog();
        let (schema, table) = self.table(name)?;
        let Some(found) = catalog.schema(&schema) else { return Err(no_schema(&schema)) };
        let Some(entry) = found.table(&table) else {
            if plan::bind::is_too_long(&table) {
                return Err(ER_TOO_LONG_IDENT.with(&[&table]));
            }
            return Err(ER_NO_SUCH_TABLE.with(&[&schema, &table]));
        };
        Ok(Arc::clone(entry))
    }

    /// The schema that `account` lists, written or the default database, with the catalog it is in.
    ///
    /// # Errors
    /// 1046, 1049; 1044 if the account has nothing there.
    pub(super) fn listed_schema(
        &self,
        written: Option<Ident<'_>>,
        account: &SessionAccount,
    ) -> Result<(Arc<Catalog>, Arc<Schema>)> {
        let catalog = self.core.catalog().load();
        let name = self.schema(written)?;
        let Some(found) = catalog.schema(&name).map(Arc::clone) else { return Err(no_schema(&name)) };
        if !privilege::enters_schema(account, &found.name)
            && !account.tables.iter().any(|granted| granted.schema == found.name)
        {
            return Err(privilege::schema_denied(account, &name));
        }
        Ok((catalog, found))
    }
}
