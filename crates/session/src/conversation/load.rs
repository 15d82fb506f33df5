//! LOAD DATA: a file's lines as rows of one INSERT.
//!
//! The table's metadata lock is taken before the client is asked for its file. From then on the statement cannot be run again from its
//! beginning: a second request would meet the middle of the file.
//!
//! The statement becomes an INSERT whose row holds a parameter for each column of the file and the expressions of
//! SET; it is planned once and run a line at a time inside one transaction, so that conversions, defaults, warnings and
//! duplicate keys are those of INSERT. Lines come in pieces ([`Splitter`]), so memory does not grow with the file.
//!
//! Limits: a line of [`LINE_BYTES_MAX`]. `LOCAL` needs `local_infile` and the client's consent; a server file needs FILE and
//! lies under `secure_file_priv` if that is set ([`crate::server_files`]).

use std::sync::Arc;

use ::access::MetadataMode;
use catalog::{TableDefinition, TableEntry, TableKind};
use exec::FileLine;
use service::error::{
    EE_STAT, ER_BAD_FIELD_ERROR, ER_CLIENT_LOCAL_FILES_DISABLED, ER_INVALID_CHARACTER_STRING,
    ER_WARN_TOO_MANY_RECORDS, ER_WRONG_FIELD_TERMINATORS,
};
use service::{OkSummary, Outcome, Reply, SqlError};
use syntax::ast::{Duplicates, Insert, LoadColumn, LoadData, Statement};
use types::charset::Charset;
use types::collation::CollationId;
use types::{Value, ValueRef};

use super::attempt::Stop;
use super::execution;
use super::names::{file_charset, name_text};
use super::plan_fit;
use super::run;
use super::{Session, access};
use crate::backend::Backend;
use crate::core::Core;
use crate::plans::PlanHandle;
use crate::server_files;
use crate::status::StatementKind;
use crate::variables::definition::known;
use crate::variables::settings::Settings;

type Result<T> = std::result::Result<T, Box<SqlError>>;

/// The longest line, terminator included.
pub(crate) const LINE_BYTES_MAX: usize = 1 << 30;
/// A server file is read in pieces of this size.
const FILE_PIECE_BYTES: usize = 256 << 10;

/// The INSERT of a LOAD DATA that goes on after errors.
const IGNORING: &str = "INSERT IGNORE";

/// How lines and fields are distinguished.
#[derive(Clone, Debug)]
struct Format {
    field_end: Vec<u8>,
    enclosed: Option<u8>,
    escaped: Option<u8>,
    line_start: Vec<u8>,
    line_end: Vec<u8>,
    /// That of the file.
    charset: Charset,
}

/// One field of a line: `None` for NULL.
type Field = Option<Vec<u8>>;

impl Format {
    fn of(load: &LoadData<'_>) -> Result<Self> {
        let format = &load.format;
        let one = |text: Option<&[u8]>, default: Option<u8>| match text {
            None => Ok(default),
            Some([]) => Ok(None),
            Some([byte]) => Ok(Some(*byte)),
            Some(_) => Err(ER_WRONG_FIELD_TERMINATORS.bare()),
        };
        Ok(Self {
            field_end: format.field_terminated.unwrap_or(b"\t").to_vec(),
            enclosed: one(format.enclosed, None)?,
            escaped: one(format.escaped, Some(b'\\'))?,
            line_start: format.line_starting.unwrap_or(b"").to_vec(),
            line_end: format.line_terminated.unwrap_or(b"\n").to_vec(),
            charset: Charset::Utf8mb4,
        })
    }

    /// Reads the first `field_max` fields of the line at the front of `bytes` into `fields`; `None` if `bytes` may end inside
    /// the line (`last`: nothing more comes).
    fn read_line(
        &self,
        bytes: &[u8],
        last: bool,
        field_max: usize,
        fields: &mut Vec<Field>,
    ) -> Option<LineRead> {
        fields.clear();
        let mut at = 0;
        if !self.line_start.is_empty() {
            // Whatever stands before the line's start is skipped, lines without one entirely.
            match memchr::memmem::find(bytes, &self.line_start) {
                Some(start) => at = start + self.line_start.len(),
                None => return last.then_some(LineRead { length: bytes.len(), is_cut: false }),
            }
        }
        while fields.len() < field_max {
            let (field, next, end) = self.read_field(bytes, at, last)?;
            fields.push(field);
            at = next;
            if end {
                return Some(LineRead { length: at, is_cut: false });
            }
        }
        self.skip_rest(bytes, at, last)
    }

    /// The bytes of the character at the front, where those behind its first could be taken for a character of the format; else 1.
    /// `None`: more have to come.
    #[inline]
    fn char_bytes(&self, rest: &[u8], last: bool) -> Option<usize> {
        if self.charset.finds_by_bytes() || rest[0].is_ascii() {
            return Some(1);
        }
        let is_whole = rest.len() >= self.charset.max_bytes_per_char() || last;
        is_whole.then(|| self.charset.decode(rest).byte_count())
    }

    /// Skips what follows the last field that is wanted, whatever it is enclosed by. A terminator of the last field alone is
    /// nothing that is cut off, nor is a rest that no terminator of the line follows.
    fn skip_rest(&self, bytes: &[u8], start: usize, last: bool) -> Option<LineRead> {
        let mut at = start;
        while at < bytes.len() {
            let rest = &bytes[at..];
            if Some(rest[0]) == self.escaped {
                if rest.len() < 2 && !last {
                    return None;
                }
                at += 2;
                continue;
            }
            if rest.len() < self.line_end.len() && !last {
                return None;
            }
            if !self.line_end.is_empty() && rest.starts_with(&self.line_end) {
                return Some(LineRead { length: at + self.line_end.len(), is_cut: at > start });
            }
            at += self.char_bytes(rest, last)?;
        }
        last.then_some(LineRead { length: bytes.len(), is_cut: false })
    }

    /// One field from offset `at`: its value, where the next thing begins, and whether the line ended.
    fn read_field(&self, bytes: &[u8], mut at: usize, last: bool) -> Option<(Field, usize, bool)> {
        let mut value = Vec::new();
        let mut escaped_null = false;
        let quote = self.enclosed.filter(|quote| bytes.get(at) == Some(quote));
        if quote.is_some() {
            at += 1;
        }
        let quoted_start = at;
        loop {
            let rest = &bytes[at..];
            let Some(&byte) = rest.first() else {
                if !last {
                    return None;
                }
                return Some((self.finish(value, quote.is_some(), escaped_null), at, true));
            };
            if Some(byte) == self.escaped {
                let Some(&next) = rest.get(1) else {
                    if !last {
                        return None;
                    }
                    value.push(byte);
                    at += 1;
                    continue;
                };
                if next == b'N' && at == quoted_start && quote.is_none() {
                    escaped_null = true;
                }
                value.push(match next {
                    b'0' => 0,
                    b'b' => 8,
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'Z' => 26,
                    other => other,
                });
                at += 2;
                continue;
            }
            match quote {
                Some(quote) if byte == quote => {
                    let after = &rest[1..];
                    if after.first() == Some(&quote) {
                        value.push(quote);
                        at += 2;
                        continue;
                    }
                    let needed = self.field_end.len().max(self.line_end.len());
                    if after.len() < needed && !last {
                        return None;
                    }
                    if after.is_empty() {
                        return Some((Some(value), at + 1, true));
                    }
                    if !self.field_end.is_empty() && after.starts_with(&self.field_end) {
                        return Some((Some(value), at + 1 + self.field_end.len(), false));
                    }
                    if !self.line_end.is_empty() && after.starts_with(&self.line_end) {
                        return Some((Some(value), at + 1 + self.line_end.len(), true));
                    }
                    value.push(byte);
                    at += 1;
                }
                Some(_) => {
                    let count = self.char_bytes(rest, last)?;
                    value.extend_from_slice(&rest[..count]);
                    at += count;
                }
                None => {
                    let needed = self.field_end.len().max(self.line_end.len());
                    if rest.len() < needed && !last {
                        return None;
                    }
                    if !self.line_end.is_empty() && rest.starts_with(&self.line_end) {
                        return Some((
                            self.finish(value, false, escaped_null),
                            at + self.line_end.len(),
                            true,
                        ));
                    }
                    if !self.field_end.is_empty() && rest.starts_with(&self.field_end) {
                        return Some((
                            self.finish(value, false, escaped_null),
                            at + self.field_end.len(),
                            false,
                        ));
                    }
                    let count = self.char_bytes(rest, last)?;
                    value.extend_from_slice(&rest[..count]);
                    at += count;
                }
            }
        }
    }

    fn finish(&self, value: Vec<u8>, quoted: bool, escaped_null: bool) -> Field {
        // `\N`, and with an enclosing character the bare word NULL.
        let null =
            (escaped_null && value == b"N") || (self.enclosed.is_some() && !quoted && value == b"NULL");
        if null { None } else { Some(value) }
    }
}

/// One line that was read.
struct LineRead {
    /// Bytes, with the terminator.
    length: usize,
    /// There was more than the fields that were wanted.
    is_cut: bool,
}

/// Cuts a stream of pieces into lines.
struct Splitter {
    format: Format,
    waiting: Vec<u8>,
    read: usize,
    /// Bytes that must wait before the line at their front is read again. A line that was not whole is read from its beginning when
    /// twice as many bytes are there, so that the cost of a line is linear in its length however small the pieces are.
    retry_bytes: usize,
}

impl Splitter {
    fn new(format: Format) -> Self {
        Self { format, waiting: Vec::new(), read: 0, retry_bytes: 0 }
    }

    fn add(&mut self, piece: &[u8]) {
        self.waiting.drain(..self.read);
        self.read = 0;
        self.waiting.extend_from_slice(piece);
    }

    /// The first `field_max` fields of the next whole line, and whether there are more; `None` if more bytes are needed.
    fn next_line(&mut self, last: bool, field_max: usize, fields: &mut Vec<Field>) -> Option<bool> {
        let bytes = &self.waiting[self.read..];
        if bytes.is_empty() || (bytes.len() < self.retry_bytes && !last) {
            return None;
        }
        let Some(line) = self.format.read_line(bytes, last, field_max, fields) else {
            self.retry_bytes = bytes.len().saturating_mul(2);
            return None;
        };
        self.retry_bytes = 0;
        self.read += line.length;
        (!(fields.is_empty() && field_max > 0 && last)).then_some(line.is_cut)
    }
}

/// What one LOAD DATA did.
#[derive(Default)]
struct Loaded {
    records: u64,
    deleted: u64,
    skipped: u64,
}

pub(crate) fn load_data<B: Backend>(
    session: &mut Session<B>,
    load: &LoadData<'_>,
    sql: &[u8],
    reply: &mut Reply<'_>,
) -> Outcome {
    session.count(StatementKind::Load);
    let format = Format::of(load)?;
    let mark = session.tables.transaction.table_mark();
    let outcome = load_into(session, load, &format, sql, reply);
    if outcome.is_err() && !session.tables.transaction.is_open() {
        session.tables.transaction.release_tables_to(mark);
    }
    outcome
}

/// The table, with its metadata lock taken: what the client's file is made for stays so while it is read.
///
/// # Errors
/// Those of finding the table, of privileges and of waiting for the lock.
fn lock_loaded_table<B: Backend>(session: &mut Session<B>, load: &LoadData<'_>) -> Result<Arc<TableEntry>> {
    let mark = session.tables.transaction.table_mark();
    let mut entry = session.names().entry(&load.table)?;
    loop {
        let definition = &entry.definition;
        if definition.kind != TableKind::Temporary {
            session.tables.require_writable(&session.shared, &session.account)?;
        }
        session.tables.enter_change(&session.shared, &session.variables, false)?;
        session.tables.lock_entry(&session.shared, &session.variables, &entry, MetadataMode::Write)?;
        // While we waited the table may have changed, or the name have come to mean another.
        match session.names().entry(&load.table) {
            Ok(now) if Arc::ptr_eq(&now.definition, &entry.definition) => return Ok(now),
            now => {
                session.tables.transaction.release_tables_to(mark);
                entry = now?;
            }
        }
    }
}

fn load_into<B: Backend>(
    session: &mut Session<B>,
    load: &LoadData<'_>,
    format: &Format,
    sql: &[u8],
    reply: &mut Reply<'_>,
) -> Outcome {
    let entry = lock_loaded_table(session, load)?;
    let definition = &entry.definition;
    let charset = file_charset(
        load.charset,
        Charset::from_name(session.variables.text(known::character_set_database()))
            .unwrap_or(Charset::Utf8mb4),
    )?;
    // MySQL does not read the lines of such files right, and its manual excludes them.
    if charset.min_bytes_per_char() > 1 {
        return Err(service::error::ER_NOT_SUPPORTED_YET
            .with(&[&format!("LOAD DATA of a file in {}", charset.name())]));
    }
    let collation =
        if charset == Charset::Binary { CollationId::BINARY } else { charset.default_collation() };

    // The INSERT this statement is.
    let quote = |name: &str| format!("`{}`", name.replace('`', "``"));
    let mut names: Vec<String> = Vec::new();
    let mut values: Vec<Vec<u8>> = Vec::new();
    // For each field of a line: a parameter of the row, or a variable to set first.
    let mut targets: Vec<Option<Vec<u8>>> = Vec::new();
    if load.columns.is_empty() {
        for column in definition.columns.iter().filter(|column| !column.invisible) {
            names.push(quote(&column.name));
            values.push(b"?".to_vec());
            targets.push(None);
        }
    }
    for column in load.columns {
        match column {
            LoadColumn::Column(column) => {
                let ordinal = column_of(definition, &name_text(column.name.text))?;
                names.push(quote(&definition.columns[ordinal].name));
                values.push(b"?".to_vec());
                targets.push(None);
            }
            LoadColumn::UserVar(name) => targets.push(Some(name.to_ascii_lowercase())),
        }
    }
    for assignment in load.assignments {
        names.push(quote(&name_text(assignment.column.name.text)));
        values.push(assignment.value.span.of(sql).to_vec());
    }
    let word = match load.duplicates {
        Duplicates::Replace => "REPLACE",
        // A client that has sent its file cannot be stopped: LOCAL goes on after duplicates.
        Duplicates::Ignore => IGNORING,
        Duplicates::Error if load.local => IGNORING,
        Duplicates::Error => "INSERT",
    };
    let mut text = format!(
        "{word} INTO {}.{} ({}) VALUES (",
        quote(&definition.schema),
        quote(&definition.name),
        names.join(", ")
    )
    .into_bytes();
    text.extend_from_slice(&values.join(&b", "[..]));
    text.push(b')');

    require_columns_of_load(
        session,
        &text,
        targets.iter().filter(|target| target.is_none()).count(),
        collation,
    )?;
    let mut splitter = Splitter::new(Format { charset, ..format.clone() });
    let mut pieces = open_source(&session.shared.core, load, reply)?;
    session.tables.begin_statement(&session.shared, session.variables.settings(), false)?;
    session.shared.process.counts.status.add(exec::StatusKind::ExternalLock, 2);
    let loaded = execution::atomically(session, |session| {
        let mut loaded = Loaded::default();
        load_lines(
            session,
            &text,
            &targets,
            collation,
            load.ignore_lines,
            &mut splitter,
            &mut pieces,
            reply,
            &mut loaded,
        )?;
        session.tables.end_statement(&session.shared)?;
        Ok(loaded)
    })?;
    session.tables.wait_for_commit(reply);
    let info = format!(
        "Records: {}  Deleted: {}  Skipped: {}  Warnings: {}",
        loaded.records,
        loaded.deleted,
        loaded.skipped,
        session.diagnostics.warning_count()
    );
    let affected = loaded.records - loaded.skipped + loaded.deleted;
    session.results.set_row_count(i64::try_from(affected).unwrap_or(i64::MAX));
    reply.ok(&OkSummary {
        affected_rows: affected,
        status: session.status_flags(),
        warnings: session.diagnostics.packet_count(),
        info: &info,
        ..OkSummary::default()
    })
}

/// The INSERT of a line. A column may have a field and a value by SET: the last one counts.
fn parse_row<'a>(settings: &Settings, text: &'a [u8], arena: &'a bumpalo::Bump) -> Result<Statement<'a>> {
    let parsed = syntax::parse(text, arena, settings.sql_mode.for_syntax())
        .map_err(|error| crate::errors::syntax_error(&error))?;
    Ok(match parsed.statement {
        Statement::Insert(insert) => {
            Statement::Insert(arena.alloc(Insert { repeats_columns: true, ..*insert }))
        }
        other => other,
    })
}

/// Checks what the account may do with the columns before a file is read.
fn require_columns_of_load<B: Backend>(
    session: &Session<B>,
    text: &[u8],
    parameters: usize,
    collation: CollationId,
) -> Outcome {
    let arena = bumpalo::Bump::new();
    let statement = parse_row(session.variables.settings(), text, &arena)?;
    let value = Value::string(Vec::new(), collation);
    let values: Vec<ValueRef<'_>> = (0..parameters).map(|_| ValueRef::from(&value)).collect();
    let plan = session.planner().plan_definition(&statement, text, &values)?;
    access::require_plan(&session.account, plan.physical())
}

/// Opens the file, the client's or the server's.
fn open_source(core: &Core, load: &LoadData<'_>, reply: &mut Reply<'_>) -> Result<Source> {
    if load.local {
        if !core.globals().boolean(known::local_infile()) {
            return Err(ER_CLIENT_LOCAL_FILES_DISABLED.bare());
        }
        reply.request_local_file(load.path)?;
        return Ok(Source::Client);
    }
    let file = server_files::open(core, &name_text(load.path))?;
    let length = file.len().map_err(|error| {
        let text = env::disk::error_text(&error);
        EE_STAT.with(&[&name_text(load.path), &error.raw_os_error().unwrap_or(5), &text])
    })?;
    Ok(Source::File { file, at: 0, length })
}

#[allow(clippy::too_many_lines, reason = "one loop over lines; its steps share too much to part")]
fn load_lines<B: Backend>(
    session: &mut Session<B>,
    text: &[u8],
    targets: &[Option<Vec<u8>>],
    collation: CollationId,
    ignore_lines: u64,
    splitter: &mut Splitter,
    source: &mut Source,
    reply: &mut Reply<'_>,
    loaded: &mut Loaded,
) -> Outcome {
    let arena = bumpalo::Bump::new();
    let statement = parse_row(session.variables.settings(), text, &arena)?;
    let strict = session.variables.settings().sql_mode.is_strict() && !text.starts_with(IGNORING.as_bytes());
    let mut plan: Option<PlanHandle<B>> = None;
    let mut fields = Vec::new();
    let mut piece = Vec::new();
    let mut to_skip = ignore_lines;
    let mut last = false;
    loop {
        // A piece may end inside a line, and so may the next thousand: a statement of one endless line ends as any other.
        crate::limits::check_interrupted(&session.shared.control)?;
        // Lines that are skipped are cut at their terminators only.
        while to_skip > 0 && splitter.next_line(last, 0, &mut fields).is_some() {
            to_skip -= 1;
        }
        while to_skip == 0
            && let Some(is_cut) = splitter.next_line(last, targets.len(), &mut fields)
        {
            loaded.records += 1;
            let field_count = fields.len();
            let given = targets.iter().take(field_count).filter(|target| target.is_none()).count();
            let line = FileLine { number: loaded.records, given };
            let mut row = Vec::with_capacity(targets.len());
            let mut next = fields.drain(..);
            for target in targets {
                let value = match next.next() {
                    Some(Some(bytes)) => {
                        require_characters(&bytes, collation.charset())?;
                        Value::Bytes { bytes, collation }
                    }
                    None if target.is_none() => Value::string(Vec::new(), collation),
                    Some(None) | None => Value::Null,
                };
                match target {
                    None => row.push(value),
                    Some(name) => {
                        session.user_variables.insert(name.clone(), value);
                    }
                }
            }
            drop(next);
            let values: Vec<ValueRef<'_>> = row.iter().map(ValueRef::from).collect();
            let summary = loop {
                let current = match plan.take() {
                    Some(current) if plan_fit::is_current(session, &current, &values) => current,
                    _ => session.planner().plan_definition(&statement, text, &values)?,
                };
                let ran = run::run_file_line(session, &current, &values, line);
                plan = Some(current);
                match ran.map_err(|stop| *stop) {
                    Ok(summary) => break summary,
                    Err(Stop::Failed(error)) => return Err(error),
                    Err(Stop::Requeue(_)) => return Err(SqlError::refused_wait()),
                    // Another table of the plan changed. The client has been asked for its file: only the line is run again.
                    Err(Stop::Replan) => {
                        plan = None;
                        session.tables.transaction.ensure_view()?;
                    }
                }
            };
            if is_cut {
                if strict {
                    return Err(ER_WARN_TOO_MANY_RECORDS.with(&[&loaded.records]));
                }
                let warning = ER_WARN_TOO_MANY_RECORDS.warning(&[&loaded.records]);
                session.diagnostics.push(warning, session.variables.settings().diagnostics);
            }
            if summary.affected == 0 {
                loaded.skipped += 1;
            } else {
                loaded.deleted += summary.affected.saturating_sub(1);
            }
            env::blocking::tick();
            crate::limits::check_interrupted(&session.shared.control)?;
        }
        if last {
            return Ok(());
        }
        if splitter.waiting.len() - splitter.read > LINE_BYTES_MAX {
            return Err(service::error::ER_NET_PACKET_TOO_LARGE.bare());
        }
        last = !source.next(&mut piece, reply)?;
        splitter.add(if last { b"" } else { &piece });
    }
}

/// 1300 for a field that MySQL's reader finds no characters in. It looks at the bytes that begin a character and at whether
/// the rest of three or four is there; a second byte that is none of a pair's is left to the column (1366).
fn require_characters(bytes: &[u8], charset: Charset) -> Result<()> {
    let longest = match charset {
        Charset::Utf8mb4 => 4,
        Charset::Utf8mb3 => 3,
        _ => return Ok(()),
    };
    let mut rest = bytes;
    loop {
        let good = match std::str::from_utf8(rest) {
            Ok(_) if longest == 4 => return Ok(()),
            Ok(text) => match text.char_indices().find(|(_, character)| character.len_utf8() > longest) {
                Some((at, _)) => at,
                None => return Ok(()),
            },
            Err(error) => error.valid_up_to(),
        };
        let at = bytes.len() - rest.len() + good;
        let mark = match bytes[at] {
            0xC2..=0xDF => {
                rest = &bytes[at + 1..];
                continue;
            }
            0xE0..=0xEF => "?",
            0xF0..=0xF4 if longest == 4 => "?",
            _ => "",
        };
        let shown = String::from_utf8_lossy(&bytes[..at]);
        return Err(ER_INVALID_CHARACTER_STRING.with(&[&charset.name(), &format!("{shown}{mark}")]));
    }
}

/// Where the bytes come from.
enum Source {
    Client,
    File { file: Arc<dyn env::disk::File>, at: u64, length: u64 },
}

impl Source {
    /// Replaces `piece` by the next bytes; false at the end.
    fn next(&mut self, piece: &mut Vec<u8>, reply: &mut Reply<'_>) -> Result<bool> {
        match self {
            Source::Client => reply.read_local_chunk(piece),
            Source::File { file, at, length } => {
                let count = (*length - *at).min(FILE_PIECE_BYTES as u64);
                if count == 0 {
                    return Ok(false);
                }
                piece.resize(usize::try_from(count).unwrap_or(FILE_PIECE_BYTES), 0);
                let read = env::blocking::around(|| file.read_at(*at, piece));
                read.map_err(|error| {
                    service::error::ER_ERROR_ON_READ.with(&[
                        &"file",
                        &error.raw_os_error().unwrap_or(5),
                        &error,
                    ])
                })?;
                *at += count;
                Ok(true)
            }
        }
    }
}

/// The ordinal of a column by name, for LOAD DATA.
fn column_of(definition: &TableDefinition, name: &str) -> Result<usize> {
    definition.column_ordinal(name).ok_or_else(|| ER_BAD_FIELD_ERROR.with(&[&name, &"field list"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(format: &Format, text: &str, piece_bytes: usize) -> Vec<Vec<Option<String>>> {
        let mut splitter = Splitter::new(format.clone());
        let mut found = Vec::new();
        let mut fields = Vec::new();
        let mut take = |splitter: &mut Splitter, last: bool| {
            while splitter.next_line(last, usize::MAX, &mut fields).is_some() {
                found.push(
                    fields
                        .drain(..)
                        .map(|field| field.map(|bytes| String::from_utf8(bytes).unwrap()))
                        .collect(),
                );
            }
        };
        for piece in text.as_bytes().chunks(piece_bytes) {
            splitter.add(piece);
            take(&mut splitter, false);
        }
        splitter.add(b"");
        take(&mut splitter, true);
        found
    }

    fn text(field: &str) -> Option<String> {
        Some(field.to_owned())
    }

    #[test]
    fn fields_are_cut_the_same_however_the_pieces_fall() {
        let csv = Format {
            field_end: b",".to_vec(),
            enclosed: Some(b'"'),
            escaped: Some(b'\\'),
            line_start: Vec::new(),
            line_end: b"\r\n".to_vec(),
            charset: Charset::Utf8mb4,
        };
        let input = "1,\"a \"\"b\"\", c\",\\N\r\n2,x\\,y,NULL\r\n\"\",,\"NULL\"";
        for piece_bytes in 1..input.len() {
            assert_eq!(
                lines(&csv, input, piece_bytes),
                [
                    vec![text("1"), text("a \"b\", c"), None],
                    vec![text("2"), text("x,y"), None],
                    vec![text(""), text(""), text("NULL")],
                ],
                "pieces of {piece_bytes} bytes"
            );
        }
    }

    /// Read from its beginning with each piece, this line would take hours.
    #[test]
    fn a_long_line_in_small_pieces_is_read_in_linear_time() {
        let format = Format {
            field_end: b"\t".to_vec(),
            enclosed: None,
            escaped: Some(b'\\'),
            line_start: Vec::new(),
            line_end: b"\n".to_vec(),
            charset: Charset::Utf8mb4,
        };
        let long = "x".repeat(16 << 20);
        assert_eq!(
            lines(&format, &format!("1\t{long}\n2\t3"), 32),
            [vec![text("1"), text(&long)], vec![text("2"), text("3")]]
        );
    }

    #[test]
    fn lines_may_have_a_start() {
        let format = Format {
            field_end: b"\t".to_vec(),
            enclosed: None,
            escaped: Some(b'\\'),
            line_start: b"xxx".to_vec(),
            line_end: b"\n".to_vec(),
            charset: Charset::Utf8mb4,
        };
        assert_eq!(
            lines(&format, "xxxabc\t1\nsomething xxxdef\t2\n", 4),
            [vec![text("abc"), text("1")], vec![text("def"), text("2")]]
        );
    }
}
