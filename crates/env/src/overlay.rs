//! A folder that can be written without being changed: what is written goes to a scratch folder and is read back from there.
//!
//! For looking at a data folder as its program would open it, recovery included, and leaving it as it was. The folder's
//! lock is held as long as the world lives, so nobody else changes what is read.
//!
//! Invariants:
//! 1. Nothing is ever written to the folder below; its files are opened to read.
//! 2. Memory grows with what is written, 24 bytes or so for 4,096, not with what is read.

use crate::Env;
use crate::disk::{Create, Disk, File, FileOptions, Folder, FolderLock, check_name};
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What is copied at the first write to a part of it.
const CHUNK_BYTES: usize = 4096;

/// A world in which the folder `path` can be opened and written, while its files stay as they are; no other folder can be
/// opened. Locks the folder by the file `lock`.
///
/// # Errors
/// `NotFound` if there is no such folder, `WouldBlock` if somebody has locked it, or what the system says.
pub fn over(env: &Env, path: &Path, lock: &str, scratch: Arc<dyn Folder>) -> io::Result<Env> {
    let base = env.disk.folder(path, false)?;
    let held = base.lock(lock)?;
    let names = base.list()?.into_iter().map(|name| (name.clone(), Name::Base(name))).collect();
    let folder = OverlayFolder {
        path: path.to_owned(),
        base,
        scratch: Arc::new(Scratch { folder: scratch, next: AtomicU64::new(1) }),
        names: Mutex::new(names),
        _lock: held,
    };
    Ok(Env { disk: Arc::new(Overlay { folder: Arc::new(folder) }), ..env.clone() })
}

#[derive(Debug)]
struct Overlay {
    folder: Arc<OverlayFolder>,
}

#[derive(Debug)]
struct OverlayFolder {
    path: PathBuf,
    base: Arc<dyn Folder>,
    scratch: Arc<Scratch>,
    names: Mutex<BTreeMap<String, Name>>,
    _lock: Box<dyn FolderLock>,
}

#[derive(Clone, Debug)]
enum Name {
    /// The file below of this name, not opened yet.
    Base(String),
    Own(Arc<OverlayFile>),
}

#[derive(Debug)]
struct Scratch {
    folder: Arc<dyn Folder>,
    next: AtomicU64,
}

impl Scratch {
    /// A file without a name: it goes with its handle.
    fn file(&self) -> io::Result<Arc<dyn File>> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let name = format!("overlay.{}.{number}", std::process::id());
        let file = self.folder.open(&name, FileOptions::create())?;
        self.folder.remove(&name)?;
        Ok(file)
    }
}

#[derive(Debug)]
struct OverlayFile {
    base: Option<Arc<dyn File>>,
    scratch: Arc<Scratch>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    len: u64,
    /// The file below counts up to here.
    base_len: u64,
    /// Where a chunk's newest bytes are in the scratch file.
    chunks: HashMap<u64, u64>,
    written: Option<Arc<dyn File>>,
}

impl Disk for Overlay {
    fn folder(&self, path: &Path, _create: bool) -> io::Result<Arc<dyn Folder>> {
        if path != self.folder.path {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "only one folder is open here"));
        }
        Ok(Arc::clone(&self.folder) as Arc<dyn Folder>)
    }
}

/// The lock of the folder below is held already.
#[derive(Debug)]
struct NoLock;

impl FolderLock for NoLock {}

impl Folder for OverlayFolder {
    fn path(&self) -> &Path {
        &self.path
    }

    fn open(&self, name: &str, options: FileOptions) -> io::Result<Arc<dyn File>> {
        check_name(name)?;
        let mut names = self.names.lock();
        let own = match (names.get(name).cloned(), options.create) {
            (Some(_), Create::New) => {
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, format!("{name} exists")));
            }
            (None, Create::Never) => {
                return Err(io::Error::new(io::ErrorKind::NotFound, format!("no file {name}")));
            }
            (Some(Name::Own(own)), _) => own,
            (Some(Name::Base(base_name)), _) => {
                let base = self.base.open(&base_name, FileOptions::read_only())?;
                OverlayFile::new(Some(base), &self.scratch)?
            }
            (None, _) => OverlayFile::new(None, &self.scratch)?,
        };
        names.insert(name.to_owned(), Name::Own(Arc::clone(&own)));
        Ok(own)
    }

    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.names.lock().keys().cloned().collect())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        check_name(to)?;
        let mut names = self.names.lock();
        let moved = names
            .remove(from)
            .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, format!("no file {from}")))?;
        names.insert(to.to_owned(), moved);
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let removed = self.names.lock().remove(name);
        removed.map(drop).ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, format!("no file {name}")))
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn lock(&self, _name: &str) -> io::Result<Box<dyn FolderLock>> {
        Ok(Box::new(NoLock))
    }
}

impl OverlayFile {
    fn new(base: Option<Arc<dyn File>>, scratch: &Arc<Scratch>) -> io::Result<Arc<OverlayFile>> {
        let len = base.as_ref().map_or(Ok(0), |base| base.len())?;
        let state = State { len, base_len: len, chunks: HashMap::new(), written: None };
        Ok(Arc::new(OverlayFile { base, scratch: Arc::clone(scratch), state: Mutex::new(state) }))
    }

    /// Fills `buffer`, a part of one chunk, from `offset`; what was never written is zero.
    fn read_part(&self, state: &State, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let chunk = offset / CHUNK_BYTES as u64;
        if let (Some(at), Some(written)) = (state.chunks.get(&chunk), &state.written) {
            return written.read_at(at + offset % CHUNK_BYTES as u64, buffer);
        }
        buffer.fill(0);
        let below = state.base_len.saturating_sub(offset).min(buffer.len() as u64) as usize;
        match &self.base {
            Some(base) if below > 0 => base.read_at(offset, &mut buffer[..below]),
            _ => Ok(()),
        }
    }
}

impl File for OverlayFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let state = self.state.lock();
        if offset.checked_add(buffer.len() as u64).is_none_or(|end| end > state.len) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if state.chunks.is_empty()
            && let Some(base) = &self.base
            && offset + buffer.len() as u64 <= state.base_len
        {
            return base.read_at(offset, buffer);
        }
        let mut done = 0;
        while done < buffer.len() {
            let at = offset + done as u64;
            let in_chunk = CHUNK_BYTES - (at % CHUNK_BYTES as u64) as usize;
            let end = buffer.len().min(done + in_chunk);
            self.read_part(&state, at, &mut buffer[done..end])?;
            done = end;
        }
        Ok(())
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.state.lock();
        let end = offset
            .checked_add(bytes.len() as u64)
            .ok_or_else(|| io::Error::from(io::ErrorKind::FileTooLarge))?;
        let mut done = 0;
        while done < bytes.len() {
            let at = offset + done as u64;
            let inside = (at % CHUNK_BYTES as u64) as usize;
            let take = (CHUNK_BYTES - inside).min(bytes.len() - done);
            let chunk = at / CHUNK_BYTES as u64;
            let place = match state.chunks.get(&chunk) {
                Some(&place) => place,
                None => {
                    let mut whole = [0; CHUNK_BYTES];
                    self.read_part(&state, chunk * CHUNK_BYTES as u64, &mut whole)?;
                    if state.written.is_none() {
                        state.written = Some(self.scratch.file()?);
                    }
                    let place = state.chunks.len() as u64 * CHUNK_BYTES as u64;
                    if let Some(written) = &state.written {
                        written.write_at(place, &whole)?;
                    }
                    state.chunks.insert(chunk, place);
                    place
                }
            };
            if let Some(written) = &state.written {
                written.write_at(place + inside as u64, &bytes[done..done + take])?;
            }
            done += take;
        }
        state.len = state.len.max(end);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.state.lock().len)
    }

    fn set_len(&self, len_bytes: u64) -> io::Result<()> {
        let old = self.state.lock().len;
        if len_bytes < old {
            // What is cut off reads as zeros if the file grows again.
            let rest = (CHUNK_BYTES as u64 - len_bytes % CHUNK_BYTES as u64) % CHUNK_BYTES as u64;
            let in_last = rest.min(old - len_bytes);
            if in_last > 0 {
                self.write_at(len_bytes, &vec![0; in_last as usize])?;
            }
            let mut state = self.state.lock();
            state.base_len = state.base_len.min(len_bytes);
            // Places are never given twice, so chunks behind the end are emptied, not forgotten.
            let behind: Vec<u64> = state
                .chunks
                .keys()
                .copied()
                .filter(|chunk| chunk * CHUNK_BYTES as u64 >= len_bytes)
                .collect();
            for chunk in behind {
                if let (Some(&place), Some(written)) = (state.chunks.get(&chunk), &state.written) {
                    written.write_at(place, &[0; CHUNK_BYTES])?;
                }
            }
        }
        self.state.lock().len = len_bytes;
        Ok(())
    }

    fn allocate(&self, offset: u64, len_bytes: u64) -> io::Result<()> {
        let mut state = self.state.lock();
        state.len = state.len.max(offset.saturating_add(len_bytes));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::SimWorld;

    #[test]
    fn what_is_written_is_read_and_the_folder_below_stays() {
        let world = SimWorld::new(3);
        let below = world.env().disk.folder(Path::new("/data"), true).unwrap();
        let scratch = world.env().disk.folder(Path::new("/scratch"), true).unwrap();
        let old: Vec<u8> = (0..20_000u32).map(|number| (number % 251) as u8).collect();
        below.open("a", FileOptions::create()).unwrap().write_at(0, &old).unwrap();
        below.open("b", FileOptions::create()).unwrap().write_at(0, b"bee").unwrap();

        let env = over(world.env(), Path::new("/data"), "lock", scratch).unwrap();
        assert_eq!(below.lock("lock").unwrap_err().kind(), io::ErrorKind::WouldBlock);
        assert!(env.disk.folder(Path::new("/other"), true).is_err());
        let folder = env.disk.folder(Path::new("/data"), false).unwrap();
        let file = folder.open("a", FileOptions::existing()).unwrap();
        let mut model = old.clone();
        let mut rng = crate::random::Rng::new(5);
        for _ in 0..300 {
            let (at, len) = (rng.index(30_000), 1 + rng.index(9_000));
            match rng.below(8) {
                0 => {
                    file.set_len(at as u64).unwrap();
                    model.resize(at, 0);
                }
                1..=4 => {
                    let bytes = vec![rng.below(256) as u8; len];
                    file.write_at(at as u64, &bytes).unwrap();
                    model.resize(model.len().max(at + len), 0);
                    model[at..at + len].copy_from_slice(&bytes);
                }
                _ => {
                    let mut found = vec![9; len];
                    let expected = model.get(at..at + len);
                    assert_eq!(file.read_at(at as u64, &mut found).is_ok(), expected.is_some());
                    assert!(expected.is_none_or(|expected| expected == found));
                }
            }
            assert_eq!(file.len().unwrap(), model.len() as u64);
        }
        folder.rename("b", "c").unwrap();
        folder.remove("c").unwrap();
        folder.open("new", FileOptions::create_new()).unwrap().write_at(5, b"x").unwrap();
        assert_eq!(folder.list().unwrap(), ["a", "lock", "new"]);

        assert_eq!(below.list().unwrap(), ["a", "b", "lock"]);
        assert_eq!(world.disk().content(Path::new("/data"), "a").unwrap(), old);
        assert_eq!(world.disk().content(Path::new("/data"), "b").unwrap(), b"bee");
    }
}
