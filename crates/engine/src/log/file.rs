//! One log file: opened at its first line, appended to under a mutex, reopened after `FLUSH LOGS` or a new name.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use env::Env;
use env::disk::{File, FileOptions};
use parking_lot::Mutex;

use super::ServerFacts;

/// The line buffer kept between lines; a longer one is given back after use.
const LINE_BUFFER_BYTES_KEPT: usize = 64 << 10;

struct Open {
    file: Arc<dyn File>,
    end: u64,
}

#[derive(Default)]
struct State {
    path: PathBuf,
    open: Option<Open>,
    line: Vec<u8>,
}

/// A log file that grows by whole lines.
pub struct LogFile {
    env: Env,
    /// What the header says; none for the error log, which has no header.
    facts: Option<ServerFacts>,
    state: Mutex<State>,
}

impl std::fmt::Debug for LogFile {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("LogFile").field("path", &self.state.lock().path).finish_non_exhaustive()
    }
}

impl LogFile {
    /// A log without a path; nothing is opened.
    #[must_use]
    pub fn new(env: Env, facts: ServerFacts) -> Self {
        Self { env, facts: Some(facts), state: Mutex::default() }
    }

    /// A log whose file begins with no header.
    #[must_use]
    pub fn plain(env: Env) -> Self {
        Self { env, facts: None, state: Mutex::default() }
    }

    /// From the next line on, writes to `path`.
    pub fn set_path(&self, path: &Path) {
        let mut state = self.state.lock();
        if state.path != path {
            state.open = None;
            path.clone_into(&mut state.path);
        }
    }

    /// Closes the file; the next line opens it again by name (so that a moved file can be rotated).
    pub fn close(&self) {
        self.state.lock().open = None;
    }

    /// Builds a line and appends it. Answers false if the file cannot be written; the reason goes to the error log.
    pub fn append(&self, build: impl FnOnce(&mut Vec<u8>)) -> bool {
        let mut state = self.state.lock();
        let state = &mut *state;
        state.line.clear();
        if state.open.is_none() {
            match self.open(&state.path) {
                Ok(open) => {
                    self.write_header(&mut state.line);
                    state.open = Some(open);
                }
                Err(error) => return self.failed(&state.path, &error),
            }
        }
        build(&mut state.line);
        let Some(open) = state.open.as_mut() else { return false };
        let written = open.file.write_at(open.end, &state.line);
        open.end += state.line.len() as u64;
        if state.line.capacity() > LINE_BUFFER_BYTES_KEPT {
            state.line = Vec::new();
        }
        match written {
            Ok(()) => true,
            Err(error) => {
                state.open = None;
                self.failed(&state.path, &error)
            }
        }
    }

    /// Whether the file can be opened. For a log that begins without a header.
    ///
    /// # Errors
    /// Why not.
    pub fn check(&self) -> std::io::Result<()> {
        let mut state = self.state.lock();
        if state.open.is_none() {
            state.open = Some(self.open(&state.path)?);
        }
        Ok(())
    }

    fn open(&self, path: &Path) -> std::io::Result<Open> {
        let wrong =
            || std::io::Error::new(std::io::ErrorKind::InvalidInput, "a log file needs a folder and a name");
        let folder = path.parent().ok_or_else(wrong)?;
        let name = path.file_name().and_then(std::ffi::OsStr::to_str).ok_or_else(wrong)?;
        let file = self.env.disk.folder(folder, false)?.open(name, FileOptions::create())?;
        let end = file.len()?;
        Ok(Open { file, end })
    }

    fn write_header(&self, line: &mut Vec<u8>) {
        let Some(facts) = &self.facts else { return };
        line.extend_from_slice(
            format!(
                "{}, Version: {} ({}). started with:\nTcp port: {}  Unix socket: {}\nTime                 Id Command    Argument\n",
                facts.program, facts.version, facts.version_comment, facts.port, facts.socket
            )
            .as_bytes(),
        );
    }

    #[cold]
    fn failed(&self, path: &Path, error: &std::io::Error) -> bool {
        if self.facts.is_none() {
            return false; // The error log itself: the caller falls back to standard error.
        }
        crate::error_log::warning(
            &self.env,
            &format!("Could not use {} for logging ({error}); the log is off.", path.display()),
        );
        false
    }
}
