//! The general log and the slow query log, as files with MySQL's names, switches and lines.
//!
//! A line is built once, in one pass, and only if a log that is on wants it: with both logs off a statement pays
//! two relaxed loads; with the slow log on and the statement fast enough, one comparison more. A prepared
//! statement's parameters stay binary until then ([`StatementText::write_to`] renders them straight into the line), so
//! the cost of logging is linear in the bytes logged, whatever the number of parameters (MySQL bug 73056 is what
//! happens otherwise). Of a long statement only the beginning is logged (`log_statement_max_bytes`), so that logging it
//! costs little beside running it; `docs/decisions/logged-statements.md` has the reasons.
//!
//! Invariants:
//! 1. Lines of one file never mix: a line is written by one call under the file's mutex.
//! 2. A log that cannot be written is switched off and says so in the error log; no statement fails for it.

mod line;

pub(crate) use line::beginning;

pub use line::{GeneralEvent, SlowEvent, StatementText};

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use env::Env;

use crate::log_file::LogFile;

/// Both query logs of a server, with their switches.
#[derive(Debug)]
pub struct QueryLogs {
    env: Env,
    general_on: AtomicBool,
    slow_on: AtomicBool,
    general: LogFile,
    slow: LogFile,
    statement_bytes_max: AtomicUsize,
}

/// What the header of a log file says about the server.
#[derive(Clone, Debug, Default)]
pub struct LogHeader {
    /// The program's path.
    pub program: String,
    /// `@@version`.
    pub version: String,
    /// `@@version_comment`.
    pub version_comment: String,
    /// TCP port, 0 for none.
    pub port: u16,
    /// Unix socket, empty for none.
    pub socket: String,
}

impl LogHeader {
    fn text(&self) -> String {
        format!(
            "{}, Version: {} ({}). started with:\nTcp port: {}  Unix socket: {}\nTime                 Id Command    Argument\n",
            self.program, self.version, self.version_comment, self.port, self.socket
        )
    }
}

impl QueryLogs {
    /// Logs that are off and have no file yet.
    #[must_use]
    pub fn new(env: &Env, header: &LogHeader) -> Self {
        let header = header.text();
        Self {
            env: env.clone(),
            general_on: AtomicBool::new(false),
            slow_on: AtomicBool::new(false),
            general: LogFile::new(env.clone(), header.clone()),
            slow: LogFile::new(env.clone(), header),
            statement_bytes_max: AtomicUsize::new(usize::MAX),
        }
    }

    /// The general log's file.
    #[must_use]
    pub(crate) fn general_file(&self) -> &LogFile {
        &self.general
    }

    /// The slow log's file.
    #[must_use]
    pub(crate) fn slow_file(&self) -> &LogFile {
        &self.slow
    }

    /// Switches the general log; its file is opened at its first line.
    pub(crate) fn switch_general(&self, on: bool) {
        self.general_on.store(on, Ordering::Relaxed);
        if !on {
            self.general.close();
        }
    }

    /// Switches the slow log.
    pub(crate) fn switch_slow(&self, on: bool) {
        self.slow_on.store(on, Ordering::Relaxed);
        if !on {
            self.slow.close();
        }
    }

    /// Sets how many bytes of a statement's text a log holds at most; 0: all.
    pub(crate) fn set_statement_bytes_max(&self, bytes: u64) {
        let bytes = if bytes == 0 { usize::MAX } else { usize::try_from(bytes).unwrap_or(usize::MAX) };
        self.statement_bytes_max.store(bytes, Ordering::Relaxed);
    }

    /// Whether any statement is to be logged before it runs.
    #[must_use]
    #[inline]
    pub fn general_is_on(&self) -> bool {
        self.general_on.load(Ordering::Relaxed)
    }

    /// Whether statements are to be timed for the slow log.
    #[must_use]
    #[inline]
    pub(crate) fn slow_is_on(&self) -> bool {
        self.slow_on.load(Ordering::Relaxed)
    }

    /// Writes one line to the general log.
    pub fn general(&self, event: &GeneralEvent<'_>, text: &dyn StatementText) {
        let bytes_max = self.statement_bytes_max.load(Ordering::Relaxed);
        text.prepare(bytes_max);
        if let Err(error) = self.general.append(|line| event.write_to(text, bytes_max, line)) {
            self.switch_off(&self.general_on, &self.general, &error);
        }
    }

    /// Writes one entry to the slow log; the caller has checked that the statement qualifies.
    pub fn slow(&self, event: &SlowEvent<'_>, text: &dyn StatementText) {
        let bytes_max = self.statement_bytes_max.load(Ordering::Relaxed);
        text.prepare(bytes_max);
        if let Err(error) = self.slow.append(|line| event.write_to(text, bytes_max, line)) {
            self.switch_off(&self.slow_on, &self.slow, &error);
        }
    }

    /// A log cannot be written: it is off from now on, and the error log says why.
    #[cold]
    fn switch_off(&self, is_on: &AtomicBool, file: &LogFile, error: &std::io::Error) {
        is_on.store(false, Ordering::Relaxed);
        let text = format!("Could not use {} for logging ({error}); the log is off.", file.path().display());
        crate::error_log::warning(&self.env, &text);
    }
}
