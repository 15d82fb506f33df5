//! Statements that define things: schemas, tables, indexes.
//!
//! Every statement is one store transaction over the dictionary and the trees it makes or drops ([`Definitions::begin`]),
//! so a crash leaves all of it or nothing. The new catalog snapshot is published after the commit, while the metadata
//! lock of every table concerned is held exclusively: nobody sees a definition whose trees do not exist.
//!
//! - `defaults`, `builder`, and [`session::column_type`]: from the syntax tree to a checked definition
//! - `foreign_key`: whether both ends of a key fit, and what a change of one end means to the other
//! - [`create_table`], [`drop_tables`], [`truncate_table`], [`rename_tables`], [`create_schema`]...: the statements
//! - [`alter_table`]: in place where only the definition changes, else by a copy
//!
//! Callers have committed the session's transaction (DDL commits implicitly), checked privileges, and released the
//! session's metadata locks. A statement answers with the position of its commit: the reply waits until it is durable.

mod alter;
mod builder;
mod defaults;
mod definitions;
mod expression;
mod foreign_key;
mod generated;
mod schemas;
mod selected;
mod tables;
mod triggers;
mod views;

use catalog::Catalog;
use exec::expr::EvalSettings;
use service::error as e;
use service::error::{Diagnostic, SqlError};
use store::CommitPosition;
use syntax::ast;

pub use alter::{alter_table, create_index, drop_index};
pub use definitions::{Change, Definitions, OpenDefinitionsError};
pub use schemas::{alter_schema, create_schema, drop_schema};
pub use tables::{create_table, drop_tables, rename_tables, truncate_table};
pub(crate) use triggers::{create_trigger, drop_trigger};
pub(crate) use views::{create_view, drop_views};

use session::backend::DefinitionSession;
use session::temporary::TemporaryTables;

type Result<T> = std::result::Result<T, Box<SqlError>>;

/// Most characters of a name.
const NAME_CHARS_MAX: usize = 64;

/// Bits of `sql_mode` that matter to definitions, in MySQL's numbering.
pub mod sql_mode_bits {
    /// NO_AUTO_VALUE_ON_ZERO.
    pub const NO_AUTO_VALUE_ON_ZERO: u64 = 1 << 19;
    /// Values of CHAR columns are read padded.
    pub const PAD_CHAR_TO_FULL_LENGTH: u64 = 1 << 31;
    /// NO_ZERO_IN_DATE.
    pub const NO_ZERO_IN_DATE: u64 = 1 << 23;
    /// NO_ZERO_DATE.
    pub const NO_ZERO_DATE: u64 = 1 << 24;
    /// STRICT_TRANS_TABLES.
    pub const STRICT_TRANS_TABLES: u64 = 1 << 21;
    /// STRICT_ALL_TABLES.
    pub const STRICT_ALL_TABLES: u64 = 1 << 22;
    /// ALLOW_INVALID_DATES.
    pub const ALLOW_INVALID_DATES: u64 = 1 << 25;
    /// TIME_TRUNCATE_FRACTIONAL.
    pub const TIME_TRUNCATE_FRACTIONAL: u64 = 1 << 32;
}

/// What a statement knows of its session.
pub struct Context<'a> {
    /// The server's definitions.
    pub definitions: &'a Definitions,
    /// What it depends on in its session.
    pub session: DefinitionSession<'a>,
    /// What LOCK TABLES has locked for this session.
    pub locked_tables: &'a crate::metadata::MetadataLocks,
    /// The session's own tables.
    pub temporary: &'a mut TemporaryTables,
    /// Warnings and notes of the statement.
    pub warnings: &'a mut Vec<Diagnostic>,
}

/// What a statement did.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Rows that were copied; 0 for all but a rebuilding ALTER TABLE.
    pub affected_rows: u64,
    /// Text of the OK packet (`Records: 0  Duplicates: 0  Warnings: 0`), empty for most.
    pub info: String,
    /// The reply waits until this commit is durable.
    pub position: Option<CommitPosition>,
}

/// What making a definition needs to know.
#[derive(Clone, Copy)]
pub(crate) struct Settings<'a> {
    pub(crate) catalog: &'a Catalog,
    pub(crate) session: DefinitionSession<'a>,
}

impl Settings<'_> {
    /// Whether STRICT_TRANS_TABLES or STRICT_ALL_TABLES is set.
    pub(crate) fn is_strict(&self) -> bool {
        is_strict(self.session.sql_mode)
    }

    /// An expression as it was written.
    fn source_text(&self, expr: &ast::Expr<'_>) -> Result<String> {
        let bytes = self.session.text.get(expr.span.start as usize..expr.span.end as usize).unwrap_or(b"");
        text_of(bytes).map(str::to_owned)
    }
}

impl<'a> Context<'a> {
    /// Whether STRICT_TRANS_TABLES or STRICT_ALL_TABLES is set.
    fn is_strict(&self) -> bool {
        is_strict(self.session.sql_mode)
    }

    /// What expressions of a table are computed under for rows that no statement writes.
    fn eval_settings(&self) -> EvalSettings {
        EvalSettings {
            sql_mode: self.session.sql_mode,
            time_zone: self.session.zone.clone(),
            now_utc_micros: self.session.now_micros,
            strict_dml: self.is_strict(),
            ..EvalSettings::default()
        }
    }

    fn settings<'s>(&'s self, catalog: &'s Catalog) -> Settings<'s> {
        Settings { catalog, session: self.session }
    }

    /// Schema and name that `name` means.
    fn resolve(&self, name: &ast::ObjectName<'_>) -> Result<(String, String)> {
        let schema = match name.schema {
            Some(schema) => {
                let schema = text_of(schema.text)?;
                check_name(schema)?;
                schema
            }
            None => self.session.database.ok_or_else(|| e::ER_NO_DB_ERROR.bare())?,
        };
        let table = text_of(name.name.text)?;
        check_name(table)?;
        if table.is_empty() || table.ends_with(' ') {
            return Err(e::ER_WRONG_TABLE_NAME.with(&[&table]));
        }
        Ok((schema.to_owned(), table.to_owned()))
    }
}

/// Whether STRICT_TRANS_TABLES or STRICT_ALL_TABLES is among the bits of `sql_mode`.
fn is_strict(sql_mode: u64) -> bool {
    sql_mode & (sql_mode_bits::STRICT_TRANS_TABLES | sql_mode_bits::STRICT_ALL_TABLES) != 0
}

/// A name's text, which must be UTF-8.
///
/// # Errors
/// 1300.
fn text_of(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|_| {
        let shown: String = bytes.iter().map(|byte| format!("\\x{byte:02X}")).collect();
        e::ER_INVALID_CHARACTER_STRING.with(&[&"utf8mb4", &shown])
    })
}

fn check_name(name: &str) -> Result<()> {
    if name.chars().count() > NAME_CHARS_MAX {
        return Err(e::ER_TOO_LONG_IDENT.with(&[&name]));
    }
    Ok(())
}

fn check_column_name(name: &str) -> Result<()> {
    check_name(name)?;
    if name.is_empty() || name.ends_with(' ') {
        return Err(e::ER_WRONG_COLUMN_NAME.with(&[&name]));
    }
    Ok(())
}

fn check_index_name(name: &str) -> Result<()> {
    check_name(name)?;
    if name.is_empty() || name.ends_with(' ') || name.eq_ignore_ascii_case("primary") {
        return Err(e::ER_WRONG_NAME_FOR_INDEX.with(&[&name]));
    }
    Ok(())
}
