//! A disk that skips some syncs and says yes: what the simulation must be able to notice.

use env::Env;
use env::disk::{Disk, File, FileOptions, Folder, FolderLock};
use env::random::Rng;
use parking_lot::Mutex;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// `env` with a disk that skips this many syncs of files in a thousand.
#[must_use]
pub fn skipping_syncs(env: &Env, seed: u64, per_thousand: u64) -> Env {
    let rng = Arc::new(Mutex::new(Rng::new(seed)));
    let skipper = SyncSkipper { rng, per_thousand };
    Env { disk: Arc::new(SyncSkippingDisk { inner: Arc::clone(&env.disk), skipper }), ..env.clone() }
}

#[derive(Clone, Debug)]
struct SyncSkipper {
    rng: Arc<Mutex<Rng>>,
    per_thousand: u64,
}

#[derive(Debug)]
struct SyncSkippingDisk {
    inner: Arc<dyn Disk>,
    skipper: SyncSkipper,
}

#[derive(Debug)]
struct SyncSkippingFolder {
    inner: Arc<dyn Folder>,
    skipper: SyncSkipper,
}

#[derive(Debug)]
struct SyncSkippingFile {
    inner: Arc<dyn File>,
    skipper: SyncSkipper,
}

impl Disk for SyncSkippingDisk {
    fn folder(&self, path: &Path, create: bool) -> io::Result<Arc<dyn Folder>> {
        Ok(Arc::new(SyncSkippingFolder {
            inner: self.inner.folder(path, create)?,
            skipper: self.skipper.clone(),
        }))
    }
}

impl Folder for SyncSkippingFolder {
    fn path(&self) -> &Path {
        self.inner.path()
    }

    fn open(&self, name: &str, options: FileOptions) -> io::Result<Arc<dyn File>> {
        Ok(Arc::new(SyncSkippingFile {
            inner: self.inner.open(name, options)?,
            skipper: self.skipper.clone(),
        }))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.inner.list()
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.inner.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.inner.remove(name)
    }

    fn sync(&self) -> io::Result<()> {
        self.inner.sync()
    }

    fn lock(&self, name: &str) -> io::Result<Box<dyn FolderLock>> {
        self.inner.lock(name)
    }
}

impl File for SyncSkippingFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.inner.read_at(offset, buffer)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.inner.write_at(offset, bytes)
    }

    fn sync(&self) -> io::Result<()> {
        if self.skipper.rng.lock().chance(self.skipper.per_thousand) {
            return Ok(());
        }
        self.inner.sync()
    }

    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }

    fn set_len(&self, len_bytes: u64) -> io::Result<()> {
        self.inner.set_len(len_bytes)
    }

    fn allocate(&self, offset: u64, len_bytes: u64) -> io::Result<()> {
        self.inner.allocate(offset, len_bytes)
    }
}
