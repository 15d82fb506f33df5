//! The operating system's files: pread, pwrite, fdatasync, flock.

use super::{Create, Disk, File, FileOptions, Folder, FolderLock, check_name};
use rustix::fs::{Advice, FallocateFlags, FlockOperation};
use rustix::io::{ReadWriteFlags, preadv2};
use std::fs;
use std::io;
use std::num::NonZeroU64;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The operating system's file systems.
#[derive(Debug)]
pub struct RealDisk;

impl Disk for RealDisk {
    fn folder(&self, path: &Path, create: bool) -> io::Result<Arc<dyn Folder>> {
        if create {
            create_durably(path)?;
        }
        // The system refuses what is no folder: a named pipe would wait for its other end.
        let directory = fs::OpenOptions::new().read(true).custom_flags(libc::O_DIRECTORY).open(path)?;
        Ok(Arc::new(RealFolder { path: path.to_owned(), directory }))
    }

    fn real_path(&self, path: &Path) -> io::Result<PathBuf> {
        fs::canonicalize(path)
    }
}

/// Makes a folder and its missing parents, each named durably in the one above.
fn create_durably(path: &Path) -> io::Result<()> {
    if path.as_os_str().is_empty() || path.is_dir() {
        return Ok(());
    }
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    create_durably(parent)?;
    match fs::create_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()), // Somebody was faster.
        Err(error) => Err(error),
        Ok(()) => fs::File::open(parent)?.sync_all(),
    }
}

#[derive(Debug)]
struct RealFolder {
    path: PathBuf,
    directory: fs::File,
}

impl RealFolder {
    fn at(&self, name: &str) -> io::Result<PathBuf> {
        check_name(name)?;
        Ok(self.path.join(name))
    }
}

impl Folder for RealFolder {
    fn path(&self) -> &Path {
        &self.path
    }

    fn open(&self, name: &str, options: FileOptions) -> io::Result<Arc<dyn File>> {
        let path = self.at(name)?;
        let mut how = fs::OpenOptions::new();
        how.read(true).write(options.write).mode(0o640);
        match options.create {
            Create::Never => {}
            Create::IfMissing => {
                how.create(true);
            }
            Create::New => {
                how.create_new(true);
            }
        }
        if options.direct {
            match how.clone().custom_flags(libc::O_DIRECT).open(&path) {
                Ok(file) => return Ok(Arc::new(RealFile { file })),
                // tmpfs and some others have no direct I/O; the first attempt may have made the file all the same.
                Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
                    if options.create == Create::New {
                        how.create_new(false).create(true);
                    }
                }
                Err(error) => return Err(error),
            }
        }
        if !options.write && options.create == Create::Never {
            // A named pipe would wait for its other end.
            let file = how.custom_flags(libc::O_NONBLOCK).open(&path)?;
            if !file.metadata()?.is_file() {
                return Err(io::Error::from_raw_os_error(libc::EINVAL));
            }
            return Ok(Arc::new(RealFile { file }));
        }
        Ok(Arc::new(RealFile { file: how.open(&path)? }))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                // A name that is no text is nothing of ours.
                names.extend(entry.file_name().into_string().ok());
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.at(from)?, self.at(to)?)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.at(name)?)
    }

    fn sync(&self) -> io::Result<()> {
        self.directory.sync_all()
    }

    fn lock(&self, name: &str) -> io::Result<Box<dyn FolderLock>> {
        let path = self.at(name)?;
        let file = fs::OpenOptions::new().write(true).create(true).truncate(false).mode(0o640).open(&path)?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Box::new(RealLock { _file: file })),
            Err(error) if error == rustix::io::Errno::WOULDBLOCK => Err(io::Error::new(
                io::ErrorKind::WouldBlock,
                format!("{} is locked by another process", path.display()),
            )),
            Err(error) => Err(error.into()),
        }
    }
}

/// The lock is the kernel's and goes with the descriptor, so a killed process leaves none behind.
#[derive(Debug)]
struct RealLock {
    _file: fs::File,
}

impl FolderLock for RealLock {}

#[derive(Debug)]
struct RealFile {
    file: fs::File,
}

impl File for RealFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(buffer, offset)
    }

    fn read_if_cached(&self, offset: u64, buffer: &mut [u8]) -> bool {
        let wanted = buffer.len();
        let read = preadv2(&self.file, &mut [io::IoSliceMut::new(buffer)], offset, ReadWriteFlags::NOWAIT);
        read == Ok(wanted)
    }

    fn will_need(&self, offset: u64, len_bytes: u64) {
        // Only advice: where it is not taken, the read takes as long as ever.
        let _taken = rustix::fs::fadvise(&self.file, offset, NonZeroU64::new(len_bytes), Advice::WillNeed);
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn set_len(&self, len_bytes: u64) -> io::Result<()> {
        self.file.set_len(len_bytes)
    }

    fn allocate(&self, offset: u64, len_bytes: u64) -> io::Result<()> {
        if len_bytes == 0 {
            return Ok(());
        }
        match rustix::fs::fallocate(&self.file, FallocateFlags::empty(), offset, len_bytes) {
            Ok(()) => Ok(()),
            Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => {
                let end = offset.saturating_add(len_bytes);
                if self.len()? < end { self.set_len(end) } else { Ok(()) }
            }
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_do_what_the_traits_say() {
        let temporary = tempfile::tempdir().unwrap();
        let path = temporary.path().join("a/b");
        assert_eq!(RealDisk.folder(&path, false).unwrap_err().kind(), io::ErrorKind::NotFound);
        let folder = RealDisk.folder(&path, true).unwrap();
        let missing = folder.open("x", FileOptions::existing()).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        let file = folder.open("x", FileOptions::create_new()).unwrap();
        assert_eq!(
            folder.open("x", FileOptions::create_new()).unwrap_err().kind(),
            io::ErrorKind::AlreadyExists
        );
        file.write_at(10, b"hello").unwrap();
        file.sync().unwrap();
        folder.sync().unwrap();
        let mut bytes = [9; 15];
        file.read_at(0, &mut bytes).unwrap();
        assert_eq!(&bytes, b"\0\0\0\0\0\0\0\0\0\0hello");
        assert_eq!(file.read_at(1, &mut bytes).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        let mut again = [9; 15];
        // Not every file system tells.
        assert!(!file.read_if_cached(0, &mut again) || again == *b"\0\0\0\0\0\0\0\0\0\0hello", "{again:?}");
        assert!(!file.read_if_cached(1, &mut again));
        file.will_need(0, 15);
        file.allocate(0, 8192).unwrap();
        assert_eq!(file.len().unwrap(), 8192);
        file.set_len(3).unwrap();
        folder.rename("x", "y").unwrap();
        assert_eq!(folder.list().unwrap(), ["y"]);
        assert_eq!(file.len().unwrap(), 3, "a handle follows its file");
        folder.remove("y").unwrap();
        assert!(folder.list().unwrap().is_empty());
        for name in ["", ".", "..", "a/b", "a\0"] {
            assert_eq!(folder.remove(name).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{name:?}");
        }
        folder.open("direct", FileOptions { direct: true, ..FileOptions::create_new() }).unwrap();
    }

    #[test]
    fn a_folder_is_locked_once() {
        let temporary = tempfile::tempdir().unwrap();
        let one = RealDisk.folder(temporary.path(), false).unwrap();
        let two = RealDisk.folder(temporary.path(), false).unwrap();
        let held = one.lock("lock").unwrap();
        assert_eq!(two.lock("lock").unwrap_err().kind(), io::ErrorKind::WouldBlock);
        drop(held);
        two.lock("lock").unwrap();
    }
}
