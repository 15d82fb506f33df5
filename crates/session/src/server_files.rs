//! Files of the server that statements name: LOAD DATA INFILE reads them, SELECT ... INTO OUTFILE makes them.
//!
//! Invariants:
//! 1. A file lies under `secure_file_priv`, if that is set, after all symbolic links of its path were followed.
//! 2. No file is overwritten, and none is made in the data folder, where the store keeps its own.
//!
//! A relative path begins at the data folder.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use env::disk::{File, FileOptions, error_text};
use service::SqlError;
use service::error::{
    EE_CANTCREATEFILE, EE_FILENOTFOUND, EE_STAT, ER_FILE_EXISTS_ERROR, ER_OPTION_PREVENTS_STATEMENT,
    ER_TEXTFILE_NOT_READABLE,
};

use crate::core::Core;
use crate::variables::definition::known;

type Result<T> = std::result::Result<T, Box<SqlError>>;

/// The system's numbers for a path that does not exist and for one that may not be used.
const NO_ENTRY: i32 = 2;
const NOT_PERMITTED: i32 = 13;

/// A path as the server understands it.
struct ServerPath {
    /// Absolute, as it was written.
    absolute: PathBuf,
    /// Without symbolic links, as far as it exists.
    real: PathBuf,
}

impl ServerPath {
    /// # Errors
    /// 1290 for a path that is not under `secure_file_priv`.
    fn of(core: &Core, path: &str) -> Result<ServerPath> {
        let globals = core.globals();
        let absolute = Path::new(globals.text(known::datadir())).join(path);
        let disk = &core.env.disk;
        let real =
            disk.real_path(&absolute).or_else(|error| match (absolute.parent(), absolute.file_name()) {
                (Some(folder), Some(name)) => Ok(disk.real_path(folder)?.join(name)),
                _ => Err(error),
            });
        let allowed = globals.text(known::secure_file_priv());
        if allowed.is_empty() {
            let real = real.unwrap_or_else(|_| absolute.clone());
            return Ok(ServerPath { absolute, real });
        }
        // What does not exist is not known to be inside.
        let inside = disk.real_path(Path::new(allowed)).ok().zip(real.ok());
        match inside {
            Some((allowed, real)) if real.starts_with(&allowed) => Ok(ServerPath { absolute, real }),
            _ => Err(ER_OPTION_PREVENTS_STATEMENT.with(&[&"--secure-file-priv"])),
        }
    }

    /// Its folder and its name there.
    fn parts(&self) -> Option<(&Path, &str)> {
        Some((self.real.parent()?, self.real.file_name()?.to_str()?))
    }
}

/// Opens a file to read it.
///
/// # Errors
/// 1290; 1085 for a folder, 13 and 29 for what cannot be opened.
pub(crate) fn open(core: &Core, path: &str) -> Result<Arc<dyn File>> {
    let found = ServerPath::of(core, path)?;
    let shown = found.absolute.display();
    let missing = |error: &std::io::Error| {
        let code = if error.kind() == std::io::ErrorKind::NotFound { EE_STAT } else { EE_FILENOTFOUND };
        code.with(&[&shown, &error.raw_os_error().unwrap_or(NO_ENTRY), &error_text(error)])
    };
    let Some((folder, name)) = found.parts() else {
        return Err(EE_STAT.with(&[&shown, &NO_ENTRY, &"No such file or directory"]));
    };
    if core.env.disk.folder(&found.real, false).is_ok() {
        return Err(ER_TEXTFILE_NOT_READABLE.with(&[&shown]));
    }
    let folder = core.env.disk.folder(folder, false).map_err(|error| missing(&error))?;
    folder.open(name, FileOptions::read_only()).map_err(|error| missing(&error))
}

/// Makes a file; the second value is its path for messages.
///
/// # Errors
/// 1290; 1086 for what exists, 1 for what cannot be made.
pub(crate) fn create(core: &Core, path: &str) -> Result<(Arc<dyn File>, String)> {
    let found = ServerPath::of(core, path)?;
    let shown = found.absolute.display().to_string();
    let refused = |errno: i32, text: &str| EE_CANTCREATEFILE.with(&[&shown, &errno, &text]);
    let exists = || ER_FILE_EXISTS_ERROR.with(&[&path]);
    if path.is_empty() || core.env.disk.folder(&found.real, false).is_ok() {
        return Err(exists());
    }
    let Some((folder, name)) = found.parts() else {
        return Err(refused(NO_ENTRY, "No such file or directory"));
    };
    let failed = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => exists(),
        _ => refused(error.raw_os_error().unwrap_or(NO_ENTRY), &error_text(&error)),
    };
    let data = core.env.disk.real_path(Path::new(core.globals().text(known::datadir())));
    if data.is_ok_and(|data| folder.starts_with(data)) {
        return Err(refused(NOT_PERMITTED, "Permission denied"));
    }
    let folder = core.env.disk.folder(folder, false).map_err(failed)?;
    let file = folder.open(name, FileOptions::create_new()).map_err(failed)?;
    Ok((file, shown))
}
