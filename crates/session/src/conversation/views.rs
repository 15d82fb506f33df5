//! Views: what a new one is, and how one is shown.

use std::sync::Arc;

use catalog::{CheckOption, TableDefinition, TableKind, ViewAlgorithm, ViewDefinition};
use plan::bind::BoundView;
use plan::logical::{Bound, Created, OutputColumn};
use service::SqlError;
use service::error as e;
use syntax::ViewPrint;
use syntax::ast::{CreateView, Statement};
use types::{DataType, TypeKind};

use super::Session;
use super::access::{self, AccountAdmin};
use super::listing::{Listing, text};
use super::routine::{definer, require_definer};
use crate::backend::{Backend, NewView, SelectedColumn};
use crate::privilege;
use crate::system_schemas::rows::Cell;
use crate::variables::sql_mode::SqlModes;

type Result<T> = std::result::Result<T, Box<SqlError>>;

/// Binds the query of CREATE VIEW or ALTER VIEW and checks what the account may do.
///
/// # Errors
/// MySQL's for names, types, places and privileges.
pub(super) fn new_view<B: Backend>(
    session: &mut Session<B>,
    create: &CreateView<'_>,
    sql: &[u8],
) -> Result<NewView> {
    let (schema, name) = session.names().table(&create.name)?;
    if name.is_empty() || name.ends_with(' ') {
        return Err(e::ER_WRONG_TABLE_NAME.with(&[&name]));
    }
    if plan::bind::is_too_long(&name) {
        return Err(e::ER_TOO_LONG_IDENT.with(&[&name]));
    }
    let catalog = session.shared.core.catalog().load();
    let Some(found) = catalog.schema(&schema) else { return Err(e::ER_BAD_DB_ERROR.with(&[&schema])) };
    if found.system {
        return Err(privilege::schema_denied(&session.account, &schema));
    }
    let earlier = found.table(&name).cloned();
    if create.alter {
        let Some(entry) = &earlier else { return Err(e::ER_NO_SUCH_TABLE.with(&[&schema, &name])) };
        if entry.definition.kind != TableKind::View {
            return Err(e::ER_WRONG_OBJECT.with(&[&schema, &name, &"VIEW"]));
        }
    }
    let kept = earlier.as_ref().filter(|_| create.alter).and_then(|entry| entry.definition.view.clone());
    let owner = match &kept {
        Some(kept) if create.definer.is_none() => kept.definer.clone(),
        _ => definer(&session.account, create.definer.as_ref()),
    };
    if let Some(kept) = &kept {
        let admin = AccountAdmin::new(&session.account, &catalog.accounts);
        admin.require_routine_of(&kept.definer.0, &kept.definer.1)?;
    }
    let note = require_definer(&session.account, &owner, &catalog)?;
    let view = session.planner().bind_view(create, (&schema, &name), sql)?;
    access::require_view_query(&session.account, &view.bound)?;
    let diagnostics = session.variables.settings().diagnostics;
    session.diagnostics.extend(note, diagnostics);
    let algorithm = match (create.algorithm, &kept) {
        (Some("MERGE"), _) => ViewAlgorithm::Merge,
        (Some("TEMPTABLE"), _) => ViewAlgorithm::Temptable,
        (None, Some(kept)) => kept.algorithm,
        _ => ViewAlgorithm::Undefined,
    };
    let algorithm = if algorithm == ViewAlgorithm::Merge && !view.can_merge {
        session.diagnostics.push(e::ER_WARN_VIEW_MERGE.warning(&[]), diagnostics);
        ViewAlgorithm::Undefined
    } else {
        algorithm
    };
    let updatable = view.can_update && algorithm != ViewAlgorithm::Temptable;
    let check_option = match create.check_option {
        None => CheckOption::None,
        Some(_) if !updatable => return Err(e::ER_VIEW_NONUPD_CHECK.with(&[&schema, &name])),
        Some("LOCAL") => CheckOption::Local,
        Some(_) => CheckOption::Cascaded,
    };
    let settings = session.variables.settings();
    let columns = selected_columns(&view);
    let definition = ViewDefinition {
        query: String::from_utf8_lossy(&view.text).into(),
        has_column_list: !create.columns.is_empty(),
        algorithm,
        definer: owner,
        invoker: create.security_invoker.unwrap_or_else(|| kept.as_ref().is_some_and(|kept| kept.invoker)),
        check_option,
        updatable,
        client_charset: settings.client_charset,
        connection_collation: settings.connection_collation,
        tables: view.tables,
    };
    Ok(NewView {
        schema,
        name,
        view: definition,
        columns,
        or_replace: create.or_replace,
        if_not_exists: create.if_not_exists,
        is_altered: create.alter,
    })
}

fn selected_columns(view: &BoundView) -> Vec<SelectedColumn> {
    let column = |(column, name): (&OutputColumn, &Arc<str>)| SelectedColumn {
        name: name.to_string(),
        data_type: column.created_type.as_ref().unwrap_or(&column.data_type).clone(),
        source: shown_column(&view.bound, column),
        nullable: column.nullable,
        created: match column.source {
            _ if column.created_type.is_some() => column.created,
            source if source.is_computed() => column.created,
            _ => Created::Column,
        },
    };
    view.bound.output.iter().zip(&view.names).map(column).collect()
}

/// The column of a table that a column of the query is, and whether no view or derived table stands between.
fn shown_column(bound: &Bound, column: &OutputColumn) -> Option<(catalog::ColumnDefinition, bool)> {
    let tables = || bound.tables.iter().filter(|table| !table.is_view);
    let (table, ordinal) = tables().find_map(|table| Some((table, table.ordinal(column.id)?)))?;
    let definition = table.entry.definition.columns.get(ordinal)?;
    Some((definition.clone(), table.alias == column.table))
}

/// The query of a view without the schema that all its tables have, if that is the default database.
fn shown_query(view: &ViewDefinition, database: Option<&str>) -> Vec<u8> {
    let whole = view.query.as_bytes();
    let Some(database) = database else { return whole.to_vec() };
    let arena = bumpalo::Bump::new();
    let Ok(parsed) = syntax::parse(whole, &arena, syntax::SqlMode::default()) else { return whole.to_vec() };
    let Statement::Query(query) = parsed.statement else { return whole.to_vec() };
    let print = ViewPrint { text: whole, omitted_schema: Some(database.as_bytes()), ..ViewPrint::default() };
    let mut out = Vec::with_capacity(whole.len());
    syntax::print_view_query(query, &print, view.connection_collation.charset().name(), &mut out);
    if print.names_other_schema.get() { whole.to_vec() } else { out }
}

/// The text of SHOW CREATE VIEW: under ANSI without what only MySQL has.
fn create_text(
    definition: &TableDefinition,
    view: &ViewDefinition,
    database: Option<&str>,
    mode: SqlModes,
) -> Vec<u8> {
    let mut out = Vec::new();
    if mode.has(SqlModes::ANSI) {
        out.extend_from_slice(b"CREATE VIEW ");
    } else {
        out.extend_from_slice(format!("CREATE ALGORITHM={} DEFINER=", view.algorithm.word()).as_bytes());
        catalog::append_identifier(&mut out, &view.definer.0);
        out.push(b'@');
        catalog::append_identifier(&mut out, &view.definer.1);
        let security = if view.invoker { "INVOKER" } else { "DEFINER" };
        out.extend_from_slice(format!(" SQL SECURITY {security} VIEW ").as_bytes());
    }
    if database != Some(&*definition.schema) {
        catalog::append_identifier(&mut out, &definition.schema);
        out.push(b'.');
    }
    catalog::append_identifier(&mut out, &definition.name);
    if view.has_column_list {
        out.extend_from_slice(b" (");
        for (position, column) in definition.columns.iter().enumerate() {
            if position > 0 {
                out.push(b',');
            }
            catalog::append_identifier(&mut out, &column.name);
        }
        out.push(b')');
    }
    out.extend_from_slice(b" AS ");
    out.extend_from_slice(&shown_query(view, database));
    if view.check_option != CheckOption::None {
        out.extend_from_slice(format!(" WITH {} CHECK OPTION", view.check_option.word()).as_bytes());
    }
    if mode.has(SqlModes::ANSI_QUOTES) { with_double_quotes(&out) } else { out }
}

/// A text that this server printed with its names between double quotes.
fn with_double_quotes(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut around = None;
    let mut bytes = text.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        match (around, byte) {
            (Some(b'\''), b'\\') => {
                out.push(byte);
                out.extend(bytes.next());
            }
            (Some(b'`'), b'`') if bytes.next_if_eq(&b'`').is_some() => out.push(b'`'),
            (Some(b'`'), b'"') => out.extend_from_slice(b"\"\""),
            (None, b'\'' | b'`') => {
                around = Some(byte);
                out.push(if byte == b'`' { b'"' } else { byte });
            }
            (Some(quote), _) if quote == byte => {
                around = None;
                out.push(if byte == b'`' { b'"' } else { byte });
            }
            _ => out.push(byte),
        }
    }
    out
}

/// SHOW CREATE VIEW, and SHOW CREATE TABLE of a view.
pub(super) fn show_create(
    definition: &TableDefinition,
    view: &ViewDefinition,
    database: Option<&str>,
    mode: SqlModes,
) -> Listing {
    let long = DataType::text(TypeKind::LongText, types::CollationId::UTF8MB4_0900_AI_CI);
    let mut listing = Listing::of_expressions(&[
        ("View", text(64)),
        ("Create View", long),
        ("character_set_client", text(32)),
        ("collation_connection", text(32)),
    ]);
    let created = create_text(definition, view, database, mode);
    listing.push(&[
        Cell::Text(&definition.name),
        Cell::Bytes(&created),
        Cell::Text(view.client_charset.name()),
        Cell::Text(view.connection_collation.name()),
    ]);
    listing
}

/// Why a view cannot be used: 1356 and its kin; `None`: it can.
pub(super) fn why_invalid<B: Backend>(
    session: &Session<B>,
    definition: &TableDefinition,
) -> Option<Box<SqlError>> {
    let quote = |name: &str| format!("`{}`", name.replace('`', "``"));
    let sql = format!("SELECT * FROM {}.{}", quote(&definition.schema), quote(&definition.name)).into_bytes();
    let arena = bumpalo::Bump::new();
    let parsed = match syntax::parse(&sql, &arena, syntax::SqlMode::default()) {
        Ok(parsed) => parsed,
        Err(error) => return Some(crate::errors::syntax_error(&error)),
    };
    session.planner().plan_definition(&parsed.statement, &sql, &[]).err()
}
