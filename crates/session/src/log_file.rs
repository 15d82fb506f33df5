//! One log file: opened at its first line, appended to under a mutex, reopened after `FLUSH LOGS` or a new name.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use env::Env;
use env::disk::{File, FileOptions};
use parking_lot::Mutex;

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
    /// What the file begins with.
    header: String,
    state: Mutex<State>,
}

impl std::fmt::Debug for LogFile {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("LogFile").field("path", &self.state.lock().path).finish_non_exhaustive()
    }
}

impl LogFile {
    /// A log without a path, whose file begins with `header`; nothing is opened.
    #[must_use]
    pub fn new(env: Env, header: String) -> Self {
        Self { env, header, state: Mutex::default() }
    }

    /// From the next line on, writes to `path`.
    pub(crate) fn set_path(&self, path: &Path) {
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

    /// Builds a line and appends it.
    ///
    /// # Errors
    /// The file cannot be opened or written.
    pub fn append(&self, build: impl FnOnce(&mut Vec<u8>)) -> std::io::Result<()> {
        let mut state = self.state.lock();
        let state = &mut *state;
        state.line.clear();
        if state.open.is_none() {
            state.open = Some(self.open(&state.path)?);
            state.line.extend_from_slice(self.header.as_bytes());
        }
        build(&mut state.line);
        let Some(open) = state.open.as_mut() else { return Ok(()) };
        let written = open.file.write_at(open.end, &state.line);
        open.end += state.line.len() as u64;
        if state.line.capacity() > LINE_BUFFER_BYTES_KEPT {
            state.line = Vec::new();
        }
        if written.is_err() {
            state.open = None;
        }
        written
    }

    /// Where it is written.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.state.lock().path.clone()
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
}

/// `2026-01-02T03:04:05.000006Z`
pub(crate) fn write_timestamp(wall_micros: i64, line: &mut Vec<u8>) {
    let (seconds, micros) = (wall_micros.div_euclid(1_000_000), wall_micros.rem_euclid(1_000_000));
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = civil_from_days(days);
    // A vector takes everything.
    let _ = write!(
        line,
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{micros:06}Z",
        second / 3600,
        second / 60 % 60,
        second % 60
    );
}

/// Year, month and day of a day counted from 1970-01-01 in the Gregorian calendar: shift the year to begin in March, so
/// that the leap day is its last and the months' lengths follow one line.
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468; // From 0000-03-01.
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_become_dates() {
        assert_eq!(civil_from_days(0), (1970, 1, 1));
        assert_eq!(civil_from_days(11_016), (2000, 2, 29));
        assert_eq!(civil_from_days(-1), (1969, 12, 31));
    }
}
