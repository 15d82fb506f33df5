//! SELECT ... INTO OUTFILE and INTO DUMPFILE.
//!
//! The file is made when all is known that can be wrong before a row is read; a statement that fails later leaves what it has written, as
//! in MySQL.
//!
//! Rows go through [`FileSink`], so memory does not grow with them.

use std::sync::Arc;

use catalog::{Account, Privileges};
use exec::output::{FileShape, FileSink, FileWriter, LineFormat};
use service::SqlError;
use service::error::{
    ER_AMBIGUOUS_FIELD_TERM, ER_WRONG_FIELD_TERMINATORS, WARN_NON_ASCII_SEPARATOR_NOT_IMPLEMENTED,
};
use syntax::ast::{FileFormat, Into as IntoClause};
use types::charset::Charset;

use super::Session;
use super::names::{file_charset, name_text};
use crate::backend::Backend;
use crate::plans::CachedPlan;
use crate::privilege::require_global;
use crate::server_files;
use crate::variables::definition::known;

type Result<T> = std::result::Result<T, Box<SqlError>>;

/// The file that takes a query's rows.
#[derive(Clone, Debug)]
pub(crate) struct FileTarget {
    path: String,
    shape: FileShape,
}

/// Checks what an account needs for a statement whose INTO names a file; nothing for other ones.
///
/// # Errors
/// 1227.
pub(super) fn require_file(account: &Account, into: &IntoClause<'_>) -> Result<()> {
    match into {
        IntoClause::Variables(_) => Ok(()),
        IntoClause::Outfile { .. } | IntoClause::Dumpfile(_) => require_privilege(account),
    }
}

/// Checks what an account needs to have the server write a file.
///
/// # Errors
/// 1227.
pub(super) fn require_privilege(account: &Account) -> Result<()> {
    require_global(account, Privileges::FILE, "FILE")
}

impl FileTarget {
    /// The file that INTO names, if it names one.
    ///
    /// # Errors
    /// 1083 for quotes or escapes of several characters, 1115.
    pub(super) fn of(into: &IntoClause<'_>) -> Result<Option<FileTarget>> {
        let (path, shape) = match into {
            IntoClause::Variables(_) => return Ok(None),
            IntoClause::Dumpfile(path) => (path, FileShape::Dump),
            IntoClause::Outfile { path, charset, format } => {
                (path, FileShape::Lines(line_format(format, *charset)?))
            }
        };
        Ok(Some(FileTarget { path: name_text(path), shape }))
    }
}

fn line_format(format: &FileFormat<'_>, charset: Option<&[u8]>) -> Result<LineFormat> {
    let charset = charset.map(|name| file_charset(Some(name), Charset::Utf8mb4)).transpose()?;
    let one = |text: &[u8]| match Charset::Utf8mb4.char_count(text) {
        0 | 1 => Ok(text.to_vec()),
        _ => Err(ER_WRONG_FIELD_TERMINATORS.bare()),
    };
    Ok(LineFormat {
        field_end: format.field_terminated.unwrap_or(b"\t").to_vec(),
        enclosed: one(format.enclosed.unwrap_or_default())?,
        is_optional: format.enclosed_optionally,
        escaped: one(format.escaped.unwrap_or(b"\\"))?.first().copied(),
        line_start: format.line_starting.unwrap_or_default().to_vec(),
        line_end: format.line_terminated.unwrap_or(b"\n").to_vec(),
        charset,
    })
}

/// Makes the file, and a sink for the rows of the plan's query, at most `rows_max`.
///
/// # Errors
/// Those of [`server_files::create`].
fn sink_of<B: Backend>(
    session: &mut Session<B>,
    plan: &CachedPlan<B>,
    target: &FileTarget,
    rows_max: u64,
) -> Result<FileSink> {
    if let FileShape::Lines(format) = &target.shape {
        let settings = session.variables.settings().diagnostics;
        if format.has_wide_separator() {
            session.diagnostics.push(WARN_NON_ASCII_SEPARATOR_NOT_IMPLEMENTED.warning(&[]), settings);
        }
        if format.is_ambiguous(plan.physical().output.iter().map(|column| &column.data_type)) {
            session.diagnostics.push(ER_AMBIGUOUS_FIELD_TERM.warning(&[]), settings);
        }
    }
    let (file, shown) = server_files::create(&session.shared.core, &target.path)?;
    let buffer_bytes = session.variables.unsigned(known::select_into_buffer_size());
    let is_synced = session.variables.boolean(known::select_into_disk_sync());
    let control = Arc::clone(&session.shared.control);
    let buffer_bytes = usize::try_from(buffer_bytes).unwrap_or(usize::MAX);
    let writer = FileWriter::new(file, control, shown, buffer_bytes, is_synced);
    let columns = plan.physical().output.iter().map(|column| {
        let described = column.described_type.as_ref().unwrap_or(&column.data_type);
        (&column.data_type, described, &*column.name)
    });
    Ok(FileSink::new(writer, target.shape.clone(), columns, &plan.physical().texts(), rows_max))
}

/// Makes the file, and writes the rows that `run` sends to its sink, at most `rows_max`; what comes before an error is written, too. The
/// warnings of the rows go to the session's. Notes how many rows the query has found, and answers how many are in the file.
///
/// # Errors
/// Those of [`server_files::create`]; the query's; the file's (3).
pub(super) fn write<B: Backend>(
    session: &mut Session<B>,
    plan: &CachedPlan<B>,
    target: &FileTarget,
    rows_max: u64,
    run: impl FnOnce(&mut Session<B>, &mut FileSink) -> Result<u64>,
) -> Result<u64> {
    let mut sink = sink_of(session, plan, target, rows_max)?;
    let ran = run(session, &mut sink);
    let settings = session.variables.settings().diagnostics;
    session.diagnostics.extend(sink.take_warnings(), settings);
    let rows = sink.finish();
    let (found, rows) = (ran?, rows?);
    session.results.set_found_rows(if plan.physical().calc_found_rows { found } else { rows });
    Ok(rows)
}
