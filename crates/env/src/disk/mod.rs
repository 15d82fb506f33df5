//! Files as the store needs them: a few verbs, with what a crash may do written beside each.
//!
//! A [`Disk`] opens [`Folder`]s, a folder opens [`File`]s. Nothing here has a position or a buffer; offsets and lengths are
//! bytes. All calls may come from many threads at once.
//!
//! Invariants (kept by both implementations, relied on by the store):
//! 1. After [`File::sync`] returned without error, every write to that file that returned before the call survives any crash,
//!    as long as the file's name does.
//! 2. After [`Folder::sync`] returned without error, every name made, renamed or removed before the call stays so.
//! 3. Without a sync, a crash may keep, lose or tear any write at [`SECTOR_BYTES`], in any order; one sector is whole.
//! 4. After an error of `write_at` or `sync` nothing may be assumed of the bytes concerned, and repeating the sync proves
//!    nothing: a kernel may have dropped the dirty pages that failed. The only safe answer is to stop and reopen.

mod real;

use std::fmt::Debug;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use real::RealDisk;

/// The smallest unit that a crash leaves whole, either old or new. Devices today write 512 or 4,096 bytes at once.
pub(crate) const SECTOR_BYTES: usize = 512;

/// Whether an error says that there is no space: on the device, under a quota, or below the largest length a file may
/// have here. The operation was not done; it may be tried again when there is space.
#[must_use]
pub fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

/// Where folders are.
pub trait Disk: Debug + Send + Sync {
    /// Opens the folder at `path`; makes it (and its parents, durably) if `create`.
    ///
    /// # Errors
    /// `NotFound` without `create`, `NotADirectory`, `PermissionDenied`, or what the system says.
    fn folder(&self, path: &Path, create: bool) -> io::Result<Arc<dyn Folder>>;

    /// The absolute path of an existing file or folder, without symbolic links. By default that of a disk without links.
    ///
    /// # Errors
    /// `NotFound`, or what the system says.
    fn real_path(&self, path: &Path) -> io::Result<PathBuf> {
        Ok(path.to_owned())
    }
}

/// The system's text for an error, without its number.
#[must_use]
pub fn error_text(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

/// A folder of files. Names are plain: no `/`, not empty, neither `.` nor `..` (else `InvalidInput`).
pub trait Folder: Debug + Send + Sync {
    /// Where it is, for messages.
    fn path(&self) -> &Path;

    /// Opens or makes a file. A new name survives a crash only after [`Folder::sync`].
    ///
    /// # Errors
    /// `NotFound` or `AlreadyExists` against the options, or what the system says.
    fn open(&self, name: &str, options: FileOptions) -> io::Result<Arc<dyn File>>;

    /// The names of all files here, sorted; folders are left out.
    ///
    /// # Errors
    /// What the system says.
    fn list(&self) -> io::Result<Vec<String>>;

    /// Gives a file another name; a file of that name is replaced in one step. Durable after [`Folder::sync`].
    ///
    /// # Errors
    /// `NotFound`, or what the system says.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a name; open handles keep working. Durable after [`Folder::sync`].
    ///
    /// # Errors
    /// `NotFound`, or what the system says.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Makes all names of this folder durable as they are now (an fsync of the directory).
    ///
    /// # Errors
    /// What the system says; see invariant 4.
    fn sync(&self) -> io::Result<()>;

    /// Takes an exclusive lock by a file of this name (made if missing, never removed), until the returned value is dropped
    /// or the process ends, however it ends.
    ///
    /// # Errors
    /// `WouldBlock` if somebody else has it, here or in another process.
    fn lock(&self, name: &str) -> io::Result<Box<dyn FolderLock>>;
}

/// Held for as long as it lives.
pub trait FolderLock: Debug + Send + Sync {}

/// An open file.
pub trait File: Debug + Send + Sync {
    /// Fills `buffer` from `offset`.
    ///
    /// # Errors
    /// `UnexpectedEof` if the file ends before; the buffer's content is then unknown.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()>;

    /// As [`File::read_at`] if that takes no waiting for a device. False if it would, or if nobody knows, or if the range
    /// cannot be read: the buffer's content is then unknown, and [`File::read_at`] says why.
    fn read_if_cached(&self, _offset: u64, _buffer: &mut [u8]) -> bool {
        false
    }

    /// Says that this range will be read soon. A hint: returns at once, and nothing is different but how long the read takes.
    fn will_need(&self, _offset: u64, _len_bytes: u64) {}

    /// Writes all of `bytes` at `offset`; the file grows if needed, a hole reads as zeros. Readable at once by any handle,
    /// but see invariant 3.
    ///
    /// # Errors
    /// `StorageFull`, or what the system says; a part may have been written.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Makes all earlier writes and the length durable (fdatasync).
    ///
    /// # Errors
    /// See invariant 4.
    fn sync(&self) -> io::Result<()>;

    /// The length in bytes.
    ///
    /// # Errors
    /// What the system says.
    fn len(&self) -> io::Result<u64>;

    /// Whether the length is 0.
    ///
    /// # Errors
    /// As [`File::len`].
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Cuts the file, or extends it by zeros.
    ///
    /// # Errors
    /// What the system says.
    fn set_len(&self, len_bytes: u64) -> io::Result<()>;

    /// Reserves space, so that later writes in this range do not fail for want of it; extends the file by zeros if it is
    /// shorter. Where the file system cannot reserve, only the length is set.
    ///
    /// # Errors
    /// `StorageFull`, or what the system says.
    fn allocate(&self, offset: u64, len_bytes: u64) -> io::Result<()>;
}

/// How to open a file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct FileOptions {
    /// May be written.
    pub write: bool,
    /// What to do about a missing or an existing file.
    pub create: Create,
    /// Bypass the page cache (O_DIRECT): offsets, lengths and buffer addresses must then be multiples of 4,096. Where the
    /// file system refuses, the file is opened through the cache.
    pub direct: bool,
}

/// What to do about a missing or an existing file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Create {
    /// It must exist.
    Never,
    /// Make it if it is missing.
    IfMissing,
    /// It must not exist.
    New,
}

impl FileOptions {
    /// An existing file, only to read.
    #[must_use]
    pub fn read_only() -> FileOptions {
        FileOptions { write: false, create: Create::Never, direct: false }
    }

    /// An existing file, to read and write.
    #[must_use]
    pub fn existing() -> FileOptions {
        FileOptions { write: true, create: Create::Never, direct: false }
    }

    /// A file to read and write, made if it is missing.
    #[must_use]
    pub fn create() -> FileOptions {
        FileOptions { write: true, create: Create::IfMissing, direct: false }
    }

    /// A new file to read and write.
    #[must_use]
    pub fn create_new() -> FileOptions {
        FileOptions { write: true, create: Create::New, direct: false }
    }
}

/// Checks that a name stays inside its folder.
pub(crate) fn check_name(name: &str) -> io::Result<()> {
    if name.is_empty() || name == "." || name == ".." || name.contains(['/', '\0']) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("not a file name: {name:?}")));
    }
    Ok(())
}
