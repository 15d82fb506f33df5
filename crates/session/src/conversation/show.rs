//! SHOW: listings made from the catalog, the session and the server's counters.
//!
//! Each statement builds a [`Listing`]; `LIKE` filters its first column here, `WHERE` turns the listing into a table that
//! the planner and executor query like any other (see `filter`).

use std::sync::Arc;

use catalog::TableKind;
use service::error::{ER_NO_DB_ERROR, ER_UNKNOWN_STORAGE_ENGINE, ER_WRONG_OBJECT};
use service::{Level, Outcome, Reply, SqlError};
use syntax::ast::{Ident, Limit, Literal, ObjectName, Show, ShowFilter, Statement};
use types::charset::Charset;
use types::collation::CollationId;
use types::{DataType, TypeKind};

use super::Session;
use super::accounts::{show_create_user, show_grants};
use super::diagnostics::Diagnostics;
use super::events;
use super::listing::{self, LISTING_SCHEMA, LISTING_TABLE, Listing, ListingTable, text, unsigned};
use super::locks::SessionLocks;
use super::names::{Names, name_text};
use super::routine::{show_create_routine, show_routine_status};
use super::run;
use super::triggers;
use super::views;
use crate::backend::Backend;
use crate::errors::not_supported;
use crate::privilege::{self, SessionAccount};
use crate::schema_names::MYSQL_SCHEMA;
use crate::session_context::SessionContext;
use crate::status::StatementKind;
use crate::system_schemas::columns as column_texts;
use crate::system_schemas::rows::Cell;
use crate::system_schemas::server::collation_cells;
use crate::system_schemas::tables::{base_table_cells, system_table_kind};
use crate::variables::sql_mode::SqlModes;

type Result<T> = std::result::Result<T, Box<SqlError>>;

fn long_text() -> DataType {
    DataType::text(TypeKind::LongText, CollationId::UTF8MB4_0900_AI_CI)
}

fn int() -> DataType {
    DataType::integer(TypeKind::Int, true)
}

/// Whether `sql_select_limit` counts for this SHOW: for those that list what there is.
fn is_limited(show: &Show<'_>) -> bool {
    match show {
        Show::Databases(_)
        | Show::Tables { .. }
        | Show::TableStatus { .. }
        | Show::OpenTables { .. }
        | Show::Triggers { .. }
        | Show::Events { .. }
        | Show::Columns { .. }
        | Show::Index { .. }
        | Show::Variables { .. }
        | Show::Status { .. }
        | Show::Engines
        | Show::CharacterSet(_)
        | Show::Collation(_)
        | Show::Plugins
        | Show::RoutineStatus(..) => true,
        Show::CreateDatabase { .. }
        | Show::CreateTable(_)
        | Show::CreateView(_)
        | Show::CreateRoutine(..)
        | Show::CreateUser(_)
        | Show::Processlist { .. }
        | Show::Engine { .. }
        | Show::Warnings(_)
        | Show::Errors(_)
        | Show::CountWarnings
        | Show::CountErrors
        | Show::Grants { .. }
        | Show::Privileges
        | Show::BinaryLogs
        | Show::BinaryLogStatus
        | Show::Replicas
        | Show::ReplicaStatus
        | Show::Profiles
        | Show::Other(_) => false,
    }
}

/// Runs a SHOW statement.
pub(super) fn show<B: Backend>(
    session: &mut Session<B>,
    show: &Show<'_>,
    sql: &[u8],
    reply: &mut Reply<'_>,
) -> Outcome {
    session.count(StatementKind::Show);
    check_view(session, show)?;
    let (mut listing, filter) = listings(session).listing_of(show)?;
    let rows_max = if is_limited(show) { session.variables.settings().select_limit } else { u64::MAX };
    let found_rows = session.results.found_rows();
    let sent = match filter {
        ShowFilter::Where(condition) => send_filtered(session, listing, condition.span.of(sql), reply),
        ShowFilter::Like(pattern) => {
            listing.retain_like(pattern);
            listing.truncate(rows_max);
            listing::send(session, &listing, reply)
        }
        // What it shows was raised by another statement: it has no warnings itself.
        ShowFilter::None if matches!(show, Show::Warnings(_) | Show::Errors(_)) => {
            session.results.set_found_rows(listing.rows.row_count as u64);
            listing.send(reply, session.variables.settings().results_charset, session.status_flags(), 0)
        }
        ShowFilter::None => {
            listing.truncate(rows_max);
            listing::send(session, &listing, reply)
        }
    };
    if super::statement::keeps_diagnostics(&Statement::Show(show)) {
        session.results.set_found_rows(found_rows);
    }
    sent
}

/// Says of a view that it is invalid: an error where its columns are shown, else a warning.
fn check_view<B: Backend>(session: &mut Session<B>, show: &Show<'_>) -> Outcome {
    let (Show::Columns { table: name, .. } | Show::CreateTable(name) | Show::CreateView(name)) = show else {
        return Ok(());
    };
    let Ok(entry) = session.names().entry(name) else { return Ok(()) };
    if entry.definition.kind != TableKind::View {
        return Ok(());
    }
    let Some(error) = views::why_invalid(session, &entry.definition) else { return Ok(()) };
    if matches!(show, Show::Columns { .. }) {
        return Err(error);
    }
    if error.number == service::error::ER_VIEW_INVALID.number {
        let definition = &entry.definition;
        let warning = service::error::ER_VIEW_INVALID.warning(&[&definition.schema, &definition.name]);
        session.diagnostics.push(warning, session.variables.settings().diagnostics);
    }
    Ok(())
}

fn listings<B: Backend>(session: &Session<B>) -> Listings<'_, B> {
    Listings {
        account: &session.account,
        names: session.names(),
        diagnostics: &session.diagnostics,
        locks: &session.tables.locks,
        reader: session.session_context(),
        sql_mode: session.variables.settings().sql_mode,
    }
}

/// Sends the rows of a listing for which `condition` holds, by a query over it.
fn send_filtered<B: Backend>(
    session: &mut Session<B>,
    listing: Listing,
    condition: &[u8],
    reply: &mut Reply<'_>,
) -> Outcome {
    let catalog = Arc::new(ListingTable::catalog_with(listing, &session.catalog()));
    let mut text = format!("SELECT * FROM `{LISTING_SCHEMA}`.`{LISTING_TABLE}` WHERE ").into_bytes();
    text.extend_from_slice(condition);
    let arena = bumpalo::Bump::new();
    let parsed = syntax::parse(&text, &arena, session.variables.settings().sql_mode.for_syntax())
        .map_err(|error| crate::errors::syntax_error(&error))?;
    run::run_over(session, &catalog, &parsed.statement, &text, reply)
}

/// Makes the listings of SHOW.
struct Listings<'a, B: Backend> {
    /// The account that asks.
    account: &'a SessionAccount,
    names: Names<'a>,
    diagnostics: &'a Diagnostics,
    locks: &'a SessionLocks<B>,
    reader: SessionContext,
    /// Values of CHAR columns are read padded.
    sql_mode: SqlModes,
}

impl<B: Backend> Listings<'_, B> {
    fn listing_of<'s>(&self, show: &Show<'s>) -> Result<(Listing, ShowFilter<'s>)> {
        let none = ShowFilter::None;
        Ok(match *show {
            Show::Databases(filter) => (self.show_databases(filter), filter),
            Show::Tables { full, schema, filter, .. } => (self.show_tables(schema, full, filter)?, filter),
            Show::TableStatus { schema, filter } => (self.show_table_status(schema)?, filter),
            Show::OpenTables { filter, .. } => {
                let columns = [
                    ("Database", text(64)),
                    ("Table", text(64)),
                    ("In_use", unsigned()),
                    ("Name_locked", unsigned()),
                ];
                (Listing::new(&columns), filter)
            }
            Show::Triggers { schema, filter, .. } => {
                let (_, schema) = self.names.listed_schema(schema, self.account)?;
                let (like, filter) = match filter {
                    ShowFilter::Like(pattern) => (Some(pattern), none),
                    filter => (None, filter),
                };
                (triggers::show_triggers(self.account, &schema, like), filter)
            }
            Show::Events { schema, filter, .. } => {
                let schema = self.names.schema(schema)?;
                // LIKE means the name, which is not the first column.
                let (like, filter) = match filter {
                    ShowFilter::Like(pattern) => (Some(pattern), none),
                    filter => (None, filter),
                };
                (events::show_events(self.account, &self.names, &schema, like), filter)
            }
            Show::Columns { full, table, filter, .. } => (self.show_columns(table, full)?, filter),
            Show::Index { table, where_, .. } => {
                (self.show_index(table)?, where_.map_or(none, ShowFilter::Where))
            }
            Show::CreateDatabase { if_not_exists, name } => {
                (self.show_create_database(name, if_not_exists)?, none)
            }
            Show::CreateTable(name) => (self.show_create_table(name)?, none),
            Show::CreateView(name) => {
                let entry = self.names.entry(&name)?;
                if let Some(view) = &entry.definition.view {
                    let database = self.names.database.map(|name| &**name);
                    return Ok((views::show_create(&entry.definition, view, database, self.sql_mode), none));
                }
                let (schema, table) = (&entry.definition.schema, &entry.definition.name);
                return Err(ER_WRONG_OBJECT.with(&[schema, table, &"VIEW"]));
            }
            Show::CreateRoutine("PROCEDURE", name) => (
                show_create_routine(self.account, &self.names, catalog::RoutineKind::Procedure, &name)?,
                none,
            ),
            Show::CreateRoutine("FUNCTION", name) => {
                (show_create_routine(self.account, &self.names, catalog::RoutineKind::Function, &name)?, none)
            }
            Show::CreateRoutine("TRIGGER", name) => {
                (triggers::show_create(self.account, self.names, &name)?, none)
            }
            Show::CreateRoutine("EVENT", name) => (events::show_create(&self.names, &name)?, none),
            Show::CreateRoutine(word, name) => return Err(self.no_such_routine(word, name)),
            Show::CreateUser(account) => {
                (show_create_user(&self.names.core.catalog().load(), self.account, &account)?, none)
            }
            Show::Variables { global, filter } => (self.show_variables(global), filter),
            Show::Status { global, filter } => (self.show_status(global), filter),
            Show::Processlist { full } => (self.show_processlist(full), none),
            Show::Engines => (self.show_engines(), none),
            Show::Engine { engine, what } => (self.show_engine(engine, what)?, none),
            Show::Warnings(limit) => (self.show_diagnostics(false, limit), none),
            Show::Errors(limit) => (self.show_diagnostics(true, limit), none),
            Show::CountWarnings => {
                (self.show_count("@@session.warning_count", self.diagnostics.warning_count()), none)
            }
            Show::CountErrors => {
                (self.show_count("@@session.error_count", self.diagnostics.error_count()), none)
            }
            Show::CharacterSet(filter) => (show_character_sets(), filter),
            Show::Collation(filter) => (show_collations(), filter),
            Show::Grants { user, using } => {
                (show_grants(&self.names.core.catalog().load(), self.account, user, using)?, none)
            }
            Show::Privileges => (show_privileges(), none),
            Show::Plugins => (show_plugins(), none),
            Show::RoutineStatus(word, filter) => {
                let kind = if word == "FUNCTION" {
                    catalog::RoutineKind::Function
                } else {
                    catalog::RoutineKind::Procedure
                };
                // LIKE means the name, which is not the first column.
                match filter {
                    ShowFilter::Like(pattern) => {
                        (show_routine_status(self.account, &self.names, kind, Some(pattern)), none)
                    }
                    filter => (show_routine_status(self.account, &self.names, kind, None), filter),
                }
            }
            Show::BinaryLogs => return Err(service::error::ER_NO_BINARY_LOGGING.bare()),
            Show::BinaryLogStatus => (
                Listing::of_text(&[
                    "File",
                    "Position",
                    "Binlog_Do_DB",
                    "Binlog_Ignore_DB",
                    "Executed_Gtid_Set",
                ]),
                none,
            ),
            Show::Replicas => {
                (Listing::of_text(&["Server_Id", "Host", "Port", "Source_Id", "Replica_UUID"]), none)
            }
            Show::ReplicaStatus => {
                (Listing::of_text(&["Replica_IO_State", "Source_Host", "Source_User", "Source_Port"]), none)
            }
            Show::Profiles => (Listing::of_text(&["Query_ID", "Duration", "Query"]), none),
            Show::Other(words) => return Err(not_supported(&format!("SHOW {words}"))),
        })
    }

    fn show_databases(&self, filter: ShowFilter<'_>) -> Listing {
        let title = match filter {
            ShowFilter::Like(pattern) => format!("Database ({})", String::from_utf8_lossy(pattern)),
            _ => "Database".to_owned(),
        };
        let mut listing = Listing::new(&[(&title, text(64))]);
        let catalog = self.names.core.catalog().load();
        for schema in catalog.schemas_sorted() {
            if privilege::sees_schema(self.account, &schema.name) {
                listing.push(&[Cell::Text(&schema.name)]);
            }
        }
        listing
    }

    fn show_tables(&self, schema: Option<Ident<'_>>, full: bool, filter: ShowFilter<'_>) -> Result<Listing> {
        let (_catalog, schema) = self.names.listed_schema(schema, self.account)?;
        let mut title = format!("Tables_in_{}", schema.name);
        if let ShowFilter::Like(pattern) = filter {
            title = format!("{title} ({})", String::from_utf8_lossy(pattern));
        }
        let mut columns = vec![(title.as_str(), text(64))];
        if full {
            columns.push(("Table_type", text(11)));
        }
        let mut listing = Listing::new(&columns);
        for entry in schema.tables_sorted() {
            let table = &entry.definition;
            if !schema.system && !privilege::sees_table(self.account, &schema.name, &table.name) {
                continue;
            }
            let kind = match table.kind {
                TableKind::View => "VIEW",
                _ => system_table_kind(&schema.name),
            };
            let cells = [Cell::Text(&table.name), Cell::Text(kind)];
            listing.push(&cells[..columns.len()]);
        }
        Ok(listing)
    }

    fn show_table_status(&self, schema: Option<Ident<'_>>) -> Result<Listing> {
        let (catalog, schema) = self.names.listed_schema(schema, self.account)?;
        let mut listing = Listing::new(&[
            ("Name", text(64)),
            ("Engine", text(64)),
            ("Version", int()),
            ("Row_format", text(10)),
            ("Rows", unsigned()),
            ("Avg_row_length", unsigned()),
            ("Data_length", unsigned()),
            ("Max_data_length", unsigned()),
            ("Index_length", unsigned()),
            ("Data_free", unsigned()),
            ("Auto_increment", unsigned()),
            ("Create_time", DataType::timestamp(0)),
            ("Update_time", DataType::datetime(0)),
            ("Check_time", DataType::datetime(0)),
            ("Collation", text(64)),
            ("Checksum", unsigned()),
            ("Create_options", text(256)),
            ("Comment", text(2048)),
        ]);
        for entry in schema.tables_sorted() {
            let table = &entry.definition;
            if table.kind == TableKind::System {
                let mut cells = [Cell::Null; 18];
                cells[0] = Cell::Text(&table.name);
                if &*schema.name == MYSQL_SCHEMA {
                    cells[1] = Cell::Text("CSV");
                }
                cells[2] = Cell::UInt(10);
                listing.push(&cells);
                continue;
            }
            if !privilege::sees_table(self.account, &schema.name, &table.name) {
                continue;
            }
            if let Some(view) = &table.view {
                let comment = crate::system_schemas::views::comment(&catalog, table, view);
                let mut cells = [Cell::Null; 18];
                cells[0] = Cell::Text(&table.name);
                cells[11] = Cell::Micros(table.created_micros);
                cells[17] = Cell::Text(&comment);
                listing.push(&cells);
                continue;
            }
            let tail = [Cell::Text(""), Cell::Text(&table.comment)];
            listing.push(&[&[Cell::Text(&table.name)][..], &base_table_cells(entry), &tail].concat());
        }
        Ok(listing)
    }

    pub(super) fn show_columns(&self, name: ObjectName<'_>, full: bool) -> Result<Listing> {
        let entry = self.names.entry(&name)?;
        let table = &entry.definition;
        let mut columns = vec![("Field", text(64)), ("Type", long_text())];
        if full {
            columns.push(("Collation", text(64)));
        }
        columns.extend([("Null", text(3)), ("Key", text(3)), ("Default", long_text()), ("Extra", text(256))]);
        if full {
            columns.extend([("Privileges", text(154)), ("Comment", text(2048))]);
        }
        let mut listing = Listing::new(&columns);
        let temporary = table.kind == TableKind::Temporary;
        let reader = &self.reader;
        for (ordinal, column) in table.seen_columns().enumerate() {
            let Some(privileges) = reader.column_privileges_text(table, &column.name) else { continue };
            let (_, column_type) = column_texts::type_texts(column);
            let default = column_texts::default_text(column);
            let extra = column_texts::extra(column);
            let has_text = column.data_type.is_string() || column.data_type.members.is_some();
            let collation = (has_text && column.data_type.collation != CollationId::BINARY)
                .then(|| column.data_type.collation.name());
            let mut cells = vec![Cell::Text(&column.name), Cell::Text(&column_type)];
            if full {
                cells.push(Cell::text_or_null(collation));
            }
            cells.extend([
                Cell::yes_no(column.nullable),
                Cell::Text(column_texts::column_key(table, ordinal)),
                default.as_deref().map_or(Cell::Null, Cell::Bytes),
                // MySQL makes the rows of a temporary table another way.
                Cell::text_or_null(Some(&*extra).filter(|extra| !temporary || !extra.is_empty())),
            ]);
            if full {
                cells.extend([Cell::Text(&privileges), Cell::Text(&column.comment)]);
            }
            listing.push(&cells);
        }
        Ok(listing)
    }

    fn show_index(&self, name: ObjectName<'_>) -> Result<Listing> {
        let entry = self.names.entry(&name)?;
        let table = &entry.definition;
        let mut listing = Listing::new(&[
            ("Table", text(64)),
            ("Non_unique", DataType::integer(TypeKind::Int, false)),
            ("Key_name", text(64)),
            ("Seq_in_index", int()),
            ("Column_name", text(64)),
            ("Collation", text(1)),
            ("Cardinality", DataType::BIGINT),
            ("Sub_part", DataType::BIGINT),
            ("Packed", text(1)),
            ("Null", text(3)),
            ("Index_type", text(11)),
            ("Comment", text(8)),
            ("Index_comment", text(2048)),
            ("Visible", text(3)),
            ("Expression", long_text()),
        ]);
        for (number, index) in table.indexes.iter().enumerate() {
            for position in 0..index.parts.len() {
                let head = [Cell::Text(&table.name), Cell::UInt(u64::from(!index.is_unique()))];
                let expression = column_texts::part_expression(table, number, position);
                let part = column_texts::index_part_cells(&entry, number, position, &expression);
                listing.push(&[&head[..], &part].concat());
            }
        }
        Ok(listing)
    }

    fn show_create_database(&self, name: Ident<'_>, if_not_exists: bool) -> Result<Listing> {
        let (_catalog, schema) = self.names.listed_schema(Some(name), self.account)?;
        let mut listing = Listing::of_expressions(&[("Database", text(64)), ("Create Database", text(1024))]);
        let statement = catalog::show_create_schema(&schema, if_not_exists);
        listing.push(&[Cell::Text(&schema.name), Cell::Bytes(statement.as_ref())]);
        Ok(listing)
    }

    fn show_create_table(&self, name: ObjectName<'_>) -> Result<Listing> {
        let entry = self.names.entry(&name)?;
        let table = &entry.definition;
        if let Some(view) = &table.view {
            return Ok(views::show_create(
                table,
                view,
                self.names.database.map(|name| &**name),
                self.sql_mode,
            ));
        }
        if table.kind == TableKind::Base {
            self.locks.require_table(&table.schema, &table.name, false)?;
        }
        let mut listing = Listing::of_expressions(&[("Table", text(64)), ("Create Table", text(1024))]);
        let auto_increment_next = entry.source.auto_increment_next();
        let statement = if self.sql_mode.has(SqlModes::PAD_CHAR_TO_FULL_LENGTH) {
            catalog::show_create_table(&catalog::with_padded_defaults(table), auto_increment_next)
        } else {
            catalog::show_create_table(table, auto_increment_next)
        };
        listing.push(&[Cell::Text(&table.name), Cell::Bytes(statement.as_ref())]);
        Ok(listing)
    }

    fn no_such_routine(&self, word: &str, name: ObjectName<'_>) -> Box<SqlError> {
        use service::error::ER_SP_DOES_NOT_EXIST;
        let own = name_text(name.name.text);
        match word {
            _ if name.schema.is_none() && self.names.database.is_none() => ER_NO_DB_ERROR.bare(),
            _ => ER_SP_DOES_NOT_EXIST.with(&[&word, &own]),
        }
    }

    fn show_variables(&self, global: bool) -> Listing {
        let mut listing = Listing::new(&[("Variable_name", text(64)), ("Value", text(1024))]);
        for (name, value) in self.reader.shown_variables(global) {
            listing.push(&[Cell::Text(name), Cell::Text(&value)]);
        }
        listing
    }

    fn show_status(&self, global: bool) -> Listing {
        let mut listing = Listing::new(&[("Variable_name", text(64)), ("Value", text(1024))]);
        for (name, value) in self.reader.status(global) {
            listing.push(&[Cell::Text(name), Cell::Text(&value)]);
        }
        listing
    }

    fn show_processlist(&self, full: bool) -> Listing {
        let mut listing = Listing::new(&[
            ("Id", unsigned()),
            ("User", text(32)),
            ("Host", text(255)),
            ("db", text(64)),
            ("Command", text(16)),
            ("Time", DataType::integer(TypeKind::Int, false)),
            ("State", text(30)),
            ("Info", if full { long_text() } else { text(100) }),
        ]);
        for process in self.reader.processes() {
            let statement = process
                .statement
                .as_deref()
                .map(|bytes| &bytes[..if full { bytes.len() } else { bytes.len().min(100) }]);
            listing.push(&[
                Cell::UInt(process.connection_id),
                Cell::Text(&process.user),
                Cell::Text(&process.host),
                Cell::text_or_null(process.database.as_deref()),
                Cell::Text(process.command),
                Cell::UInt(process.seconds),
                Cell::Text(process.state),
                statement.map_or(Cell::Null, Cell::Bytes),
            ]);
        }
        listing
    }

    fn show_engines(&self) -> Listing {
        let mut listing =
            Listing::of_text(&["Engine", "Support", "Comment", "Transactions", "XA", "Savepoints"]);
        let comment = "Supports transactions, row-level locking, and foreign keys";
        listing.push(&["InnoDB", "DEFAULT", comment, "YES", "NO", "YES"].map(Cell::Text));
        listing
    }

    fn show_engine(&self, engine: Option<&[u8]>, what: &str) -> Result<Listing> {
        if let Some(engine) = engine
            && !engine.eq_ignore_ascii_case(b"innodb")
        {
            return Err(ER_UNKNOWN_STORAGE_ENGINE.with(&[&String::from_utf8_lossy(engine)]));
        }
        let mut listing = Listing::new(&[("Type", text(10)), ("Name", text(512)), ("Status", long_text())]);
        if what == "STATUS" {
            let mut status = String::from(
                "\n=====================================\nINVAR STORE STATUS\n=====================================\n",
            );
            let catalog = self.names.core.catalog().load();
            let core = self.names.core;
            status.push_str(&core.storage().describe_transactions(core, &catalog)?);
            status.push_str("--------\nCOUNTERS\n--------\n");
            for (name, value) in self.names.core.status() {
                if name.starts_with("Innodb_") {
                    status.push_str(&format!("{name} {value}\n"));
                }
            }
            listing.push(&[Cell::Text("InnoDB"), Cell::Text(""), Cell::Text(&status)]);
        }
        Ok(listing)
    }

    fn show_diagnostics(&self, errors_only: bool, limit: Option<Limit<'_>>) -> Listing {
        let mut listing = Listing::new(&[("Level", text(7)), ("Code", int()), ("Message", text(512))]);
        let number = |expr: syntax::ast::Expr<'_>| match expr.kind {
            syntax::ast::ExprKind::Literal(Literal::Number(_, digits)) => {
                std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok())
            }
            _ => None,
        };
        let skip = limit.and_then(|limit| limit.offset).and_then(number).unwrap_or(0);
        let take = limit.and_then(|limit| number(limit.count)).unwrap_or(usize::MAX);
        let shown = self
            .diagnostics
            .kept()
            .iter()
            .filter(|diagnostic| !errors_only || diagnostic.level == Level::Error);
        for diagnostic in shown.skip(skip).take(take) {
            listing.push(&[
                Cell::Text(diagnostic.level.name()),
                Cell::UInt(u64::from(diagnostic.number)),
                Cell::Text(&diagnostic.message),
            ]);
        }
        listing
    }

    fn show_count(&self, title: &str, count: u64) -> Listing {
        let mut listing = Listing::new(&[(title, unsigned())]);
        listing.push(&[Cell::UInt(count)]);
        listing
    }
}

fn show_character_sets() -> Listing {
    let mut listing = Listing::new(&[
        ("Charset", text(64)),
        ("Description", text(2048)),
        ("Default collation", text(64)),
        ("Maxlen", int()),
    ]);
    for charset in Charset::ALL {
        listing.push(&[
            Cell::Text(charset.name()),
            Cell::Text(charset.description()),
            Cell::Text(charset.default_collation().name()),
            Cell::UInt(charset.max_bytes_per_char() as u64),
        ]);
    }
    listing
}

fn show_collations() -> Listing {
    let mut listing = Listing::new(&[
        ("Collation", text(64)),
        ("Charset", text(64)),
        ("Id", unsigned()),
        ("Default", text(3)),
        ("Compiled", text(3)),
        ("Sortlen", int()),
        ("Pad_attribute", text(9)),
    ]);
    let mut all: Vec<_> = CollationId::all().iter().collect();
    all.sort_unstable_by_key(|info| info.name);
    for info in all {
        listing.push(&collation_cells(info));
    }
    listing
}

/// Static privileges as SHOW PRIVILEGES tells of them.
const PRIVILEGE_TEXTS: &[(&str, &str, &str)] = &[
    ("Alter", "Tables", "To alter the table"),
    ("Create", "Databases,Tables,Indexes", "To create new databases and tables"),
    ("Create role", "Server Admin", "To create new roles"),
    ("Create temporary tables", "Databases", "To use CREATE TEMPORARY TABLE"),
    ("Create user", "Server Admin", "To create new users"),
    ("Delete", "Tables", "To delete existing rows"),
    ("Drop", "Databases,Tables", "To drop databases, tables, and views"),
    ("Drop role", "Server Admin", "To drop roles"),
    ("File", "File access on server", "To read and write files on the server"),
    (
        "Grant option",
        "Databases,Tables,Functions,Procedures",
        "To give to other users those privileges you possess",
    ),
    ("Index", "Tables", "To create or drop indexes"),
    ("Insert", "Tables", "To insert data into tables"),
    ("Lock tables", "Databases", "To use LOCK TABLES (together with SELECT privilege)"),
    ("Process", "Server Admin", "To view the plain text of currently executing queries"),
    ("References", "Databases,Tables", "To have references on tables"),
    ("Reload", "Server Admin", "To reload or refresh tables, logs and privileges"),
    ("Select", "Tables", "To retrieve rows from table"),
    ("Show databases", "Server Admin", "To see all databases with SHOW DATABASES"),
    ("Shutdown", "Server Admin", "To shut down the server"),
    ("Super", "Server Admin", "To use KILL thread, SET GLOBAL, CHANGE REPLICATION SOURCE, etc."),
    ("Update", "Tables", "To update existing rows"),
    ("Usage", "Server Admin", "No privileges - allow connect only"),
];

/// HELP: no topics are installed.
pub(super) fn help_topics() -> Listing {
    Listing::of_expressions(&[("name", text(64)), ("is_it_category", text(1))])
}

fn show_privileges() -> Listing {
    let mut listing = Listing::of_text(&["Privilege", "Context", "Comment"]);
    for (privilege, context, comment) in PRIVILEGE_TEXTS {
        listing.push(&[Cell::Text(privilege), Cell::Text(context), Cell::Text(comment)]);
    }
    listing
}

fn show_plugins() -> Listing {
    let mut listing = Listing::of_text(&["Name", "Status", "Type", "Library", "License"]);
    for (name, kind) in [
        ("mysql_native_password", "AUTHENTICATION"),
        ("caching_sha2_password", "AUTHENTICATION"),
        ("InnoDB", "STORAGE ENGINE"),
    ] {
        listing.push(&[
            Cell::Text(name),
            Cell::Text("ACTIVE"),
            Cell::Text(kind),
            Cell::Null,
            Cell::Text("Apache-2.0"),
        ]);
    }
    listing
}
