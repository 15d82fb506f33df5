//! The error log: what an administrator has to know, in MySQL's line format, to standard error or a file.
//!
//! `2026-01-02T03:04:05.000006Z 0 [Warning] [MY-000000] [Server] text`

use std::io::Write as _;
use std::path::Path;
use std::sync::OnceLock;

use env::Env;

use crate::log_file::{LogFile, write_timestamp};

static FILE: OnceLock<LogFile> = OnceLock::new();

/// From now on the log goes to `path` (`--log-error`); without this call it goes to standard error.
pub fn open(env: &Env, path: &Path) {
    let file = FILE.get_or_init(|| LogFile::new(env.clone(), String::new()));
    file.set_path(path);
}

/// Whether the file given can be written to.
///
/// # Errors
/// Why not.
pub fn check() -> std::io::Result<()> {
    FILE.get().map_or(Ok(()), LogFile::check)
}

/// Something to know.
pub fn note(env: &Env, text: &str) {
    write(env, "System", text);
}

/// Something that works on, but not as asked.
pub fn warning(env: &Env, text: &str) {
    write(env, "Warning", text);
}

/// Something that failed.
pub fn error(env: &Env, text: &str) {
    write(env, "ERROR", text);
}

fn write(env: &Env, level: &str, text: &str) {
    let mut line = Vec::with_capacity(text.len() + 80);
    write_timestamp(env.clock.wall_micros(), &mut line);
    line.extend_from_slice(format!(" 0 [{level}] [MY-000000] [Server] {text}\n").as_bytes());
    let written =
        FILE.get().is_some_and(|file| file.append(|buffer| buffer.extend_from_slice(&line)).is_ok());
    if !written {
        // Standard error may be closed; there is nobody left to tell then.
        let _ = std::io::stderr().write_all(&line);
    }
}
