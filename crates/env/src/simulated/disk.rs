//! A disk in memory that remembers the difference between "written" and "safe".
//!
//! Every file has two images: what can be read now, and what surely survives; between them lies the list of writes since
//! the last sync. A crash draws from that list. Names work the same way, except that a file system keeps its journal in
//! order: of the unsynced changes of names a prefix survives.
//!
//! How a crash draws (one of these for the whole disk, chosen by the seed):
//! nothing unsynced survives; everything does; of each file a prefix of the writes does, the last one torn; or each sector
//! of each write does or does not by itself (reordering).

use super::SimClock;
use crate::disk::{Create, Disk, File, FileOptions, Folder, FolderLock, SECTOR_BYTES, check_name};
use crate::random::Rng;
use parking_lot::{Mutex, MutexGuard};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// What shall go wrong. Counted by changes: writes, syncs, lengths, names; in the order in which they come, from 1, over the
/// whole life of one incarnation ([`Counts::changes`]).
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// The power fails during this change: it may be done, half done or not done, and every later call fails.
    pub crash_at_change: Option<u64>,
    /// The first sync (of a file or a folder) at or after this change fails. What it should have saved may be kept or lost,
    /// and is lost for good: a later sync does not try again, though reads still show it, as with a real page cache.
    pub fail_sync_at_change: Option<u64>,
    /// The first write at or after this change fails; a part of it may be there.
    pub fail_write_at_change: Option<u64>,
    /// So many reads in a million fail.
    pub fail_reads_per_million: u64,
    /// All files together may take this many bytes; more is `StorageFull`.
    pub space_bytes_max: Option<u64>,
    /// Only what was written takes space, by sectors: as on a file system that reserves nothing, a write may fail whose place
    /// was asked for before.
    pub cannot_reserve: bool,
}

/// What the disk has done, in this incarnation.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Counts {
    /// Writes, syncs, changed lengths and changed names.
    pub changes: u64,
    /// Reads.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Writes.
    pub writes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Syncs of files and folders.
    pub syncs: u64,
    /// Planned failures that have come, and refusals for want of space; the power failure is not one.
    pub faults: u64,
    /// Simulated time spent in all of them, in nanoseconds.
    pub busy_nanos: u64,
}

/// The simulated disk. Clones are the same disk.
#[derive(Clone, Debug)]
pub struct SimDisk {
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    rng: Rng,
    clock: Arc<SimClock>,
    faults: Faults,
    counts: Counts,
    crashed: bool,
    files: Vec<FileState>,
    folders: BTreeMap<PathBuf, FolderState>,
}

/// Index into `State::files`. Files are never taken out: an incarnation is short.
type FileId = usize;

#[derive(Clone, Debug, Default)]
struct FileState {
    current: Vec<u8>,
    durable: Vec<u8>,
    pending: Vec<Pending>,
    /// Which sectors were ever written.
    written: Vec<bool>,
    /// Bits that are read the wrong way round, until their byte is written again: offset and bit.
    flipped: Vec<(usize, u8)>,
}

impl FileState {
    fn holding(image: Vec<u8>, mut flipped: Vec<(usize, u8)>) -> FileState {
        let written = vec![true; image.len().div_ceil(SECTOR_BYTES)];
        flipped.retain(|flip| flip.0 < image.len());
        FileState { current: image.clone(), durable: image, pending: Vec::new(), written, flipped }
    }

    /// Turns the bits over that were flipped in what was read at `offset`.
    fn spoil(&self, offset: usize, bytes: &mut [u8]) {
        for &(at, bit) in &self.flipped {
            if let Some(byte) = at.checked_sub(offset).and_then(|at| bytes.get_mut(at)) {
                *byte ^= 1 << bit;
            }
        }
    }

    /// The sectors of a piece of the file, and whether each was written before.
    fn sectors(&self, offset: usize, bytes: usize) -> impl Iterator<Item = (usize, bool)> {
        let range = offset / SECTOR_BYTES..(offset + bytes).div_ceil(SECTOR_BYTES);
        range.map(|sector| (sector, self.written.get(sector).copied().unwrap_or(false)))
    }

    fn mark_written(&mut self, offset: usize, bytes: usize) {
        let end = (offset + bytes).div_ceil(SECTOR_BYTES);
        if self.written.len() < end {
            self.written.resize(end, false);
        }
        self.written[offset / SECTOR_BYTES..end].fill(true);
    }
}

#[derive(Clone, Debug)]
enum Pending {
    Write { offset: usize, bytes: Vec<u8> },
    SetLen(usize),
}

#[derive(Clone, Debug, Default)]
struct FolderState {
    current: BTreeMap<String, FileId>,
    durable: BTreeMap<String, FileId>,
    pending: Vec<NameChange>,
    locked: BTreeSet<String>,
}

#[derive(Clone, Debug)]
enum NameChange {
    Make(String, FileId),
    Rename(String, String),
    Remove(String),
}

/// The text of the error that every call gives after the power failed.
const CRASHED: &str = "simulated power failure";

/// Whether an error says that the simulated power has failed.
#[must_use]
#[cfg(test)]
fn is_crash(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.to_string() == CRASHED)
}

#[cold]
fn crashed() -> io::Error {
    io::Error::other(CRASHED)
}

/// Whether a change goes on, or is the one during which the power fails.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Step {
    Do,
    Crash,
}

impl SimDisk {
    pub(super) fn new(seed: u64, clock: Arc<SimClock>) -> SimDisk {
        SimDisk {
            state: Arc::new(Mutex::new(State {
                rng: Rng::new(seed),
                clock,
                faults: Faults::default(),
                counts: Counts::default(),
                crashed: false,
                files: Vec::new(),
                folders: BTreeMap::new(),
            })),
        }
    }

    /// Plans failures, in place of those planned before.
    pub fn plan(&self, faults: Faults) {
        self.state.lock().faults = faults;
    }

    /// What has been done so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.state.lock().counts
    }

    /// Whether the power has failed.
    #[must_use]
    pub fn is_crashed(&self) -> bool {
        self.state.lock().crashed
    }

    /// Whether any planned failure other than the power failure has come.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.state.lock().counts.faults > 0
    }

    /// Bytes that all files take, as [`Faults::space_bytes_max`] counts them with or without [`Faults::cannot_reserve`].
    #[must_use]
    pub fn used_bytes(&self, cannot_reserve: bool) -> u64 {
        self.state.lock().used_bytes(cannot_reserve)
    }

    /// A file's bytes as a reader sees them now; none if there is no such file.
    #[must_use]
    pub fn content(&self, folder: &Path, name: &str) -> Option<Vec<u8>> {
        let state = self.state.lock();
        let id = *state.folders.get(folder)?.current.get(name)?;
        let mut content = state.files[id].current.clone();
        state.files[id].spoil(0, &mut content);
        Some(content)
    }

    /// The files of a folder and how long they are, as a reader sees them now.
    #[must_use]
    pub fn lengths(&self, folder: &Path) -> Vec<(String, usize)> {
        let state = self.state.lock();
        let names = state.folders.get(folder).into_iter().flat_map(|folder| &folder.current);
        names.map(|(name, &id)| (name.clone(), state.files[id].current.len())).collect()
    }

    /// Turns one bit over, as a failing medium does: it is read so, also after a crash, until its byte is written again; turned
    /// over once more it is right again. False if there is no such byte.
    pub fn flip_bit(&self, folder: &Path, name: &str, offset: usize, bit: u8) -> bool {
        let mut state = self.state.lock();
        let Some(&id) = state.folders.get(folder).and_then(|folder| folder.current.get(name)) else {
            return false;
        };
        let file = &mut state.files[id];
        if offset >= file.current.len() {
            return false;
        }
        let flip = (offset, bit % 8);
        match file.flipped.iter().position(|&other| other == flip) {
            Some(at) => drop(file.flipped.swap_remove(at)),
            None => file.flipped.push(flip),
        }
        true
    }

    /// Turns all bits back that are still flipped, and says how many.
    pub fn mend(&self) -> usize {
        let mut state = self.state.lock();
        state.files.iter_mut().map(|file| std::mem::take(&mut file.flipped).len()).sum()
    }

    /// Cuts the power and draws what survives. Returns a seed for the next world and its disk.
    pub(super) fn after_crash(&self, clock: Arc<SimClock>) -> (u64, SimDisk) {
        let mut state = self.state.lock();
        state.crashed = true;
        let mut rng = state.rng.fork();
        let draw = Draw::choose(&mut rng);
        let mut files = Vec::new();
        let mut folders = BTreeMap::new();
        for (path, folder) in &state.folders {
            let mut names = folder.durable.clone();
            let kept = draw.prefix(folder.pending.len(), &mut rng);
            for change in &folder.pending[..kept] {
                apply_name(&mut names, change);
            }
            for id in names.values_mut() {
                let image = survivors(&state.files[*id], draw, &mut rng);
                let flipped = state.files[*id].flipped.clone();
                *id = files.len();
                files.push(FileState::holding(image, flipped));
            }
            let after = FolderState { current: names.clone(), durable: names, ..FolderState::default() };
            folders.insert(path.clone(), after);
        }
        let seed = rng.next_u64();
        let (faults, counts) = (Faults::default(), Counts::default());
        let next = State { rng, clock, faults, counts, crashed: false, files, folders };
        (seed, SimDisk { state: Arc::new(Mutex::new(next)) })
    }
}

/// What a crash does with the writes that were not synced.
#[derive(Clone, Copy, Debug)]
enum Draw {
    LoseAll,
    KeepAll,
    /// A prefix of each file's writes, the last of them torn.
    Prefix,
    /// Each sector of each write by itself, so often in a thousand.
    Sectors(u64),
}

impl Draw {
    fn choose(rng: &mut Rng) -> Draw {
        match rng.below(8) {
            0 => Draw::LoseAll,
            1 => Draw::KeepAll,
            2..=4 => Draw::Prefix,
            _ => Draw::Sectors([100, 500, 900][rng.index(3)]),
        }
    }

    fn prefix(self, count: usize, rng: &mut Rng) -> usize {
        match self {
            Draw::LoseAll => 0,
            Draw::KeepAll => count,
            Draw::Prefix | Draw::Sectors(_) => rng.index(count + 1),
        }
    }
}

fn apply_name(names: &mut BTreeMap<String, FileId>, change: &NameChange) {
    match change {
        NameChange::Make(name, id) => {
            names.insert(name.clone(), *id);
        }
        NameChange::Rename(from, to) => {
            if let Some(id) = names.remove(from) {
                names.insert(to.clone(), id);
            }
        }
        NameChange::Remove(name) => {
            names.remove(name);
        }
    }
}

fn put(image: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    let end = offset + bytes.len();
    if image.len() < end {
        image.resize(end, 0);
    }
    image[offset..end].copy_from_slice(bytes);
}

/// Puts those sectors of a write that `keep` chooses; sectors are counted from the file's start.
fn put_sectors(image: &mut Vec<u8>, offset: usize, bytes: &[u8], mut keep: impl FnMut() -> bool) {
    let mut at = offset;
    let end = offset + bytes.len();
    while at < end {
        let next = ((at / SECTOR_BYTES + 1) * SECTOR_BYTES).min(end);
        if keep() {
            put(image, at, &bytes[at - offset..next - offset]);
        }
        at = next;
    }
}

/// A file's image after a crash.
fn survivors(file: &FileState, draw: Draw, rng: &mut Rng) -> Vec<u8> {
    let mut image = file.durable.clone();
    let whole = draw.prefix(file.pending.len(), rng);
    for (index, pending) in file.pending.iter().enumerate() {
        match (draw, pending) {
            (Draw::LoseAll, _) => break,
            (Draw::KeepAll, Pending::Write { offset, bytes }) => put(&mut image, *offset, bytes),
            (Draw::Prefix, _) if index > whole => break,
            (Draw::Prefix, Pending::Write { offset, bytes }) if index == whole => {
                // The write under way: its first sectors are there, or any of them.
                if rng.chance(500) {
                    let mut left = rng.below((bytes.len() / SECTOR_BYTES + 2) as u64);
                    put_sectors(&mut image, *offset, bytes, || {
                        left = left.saturating_sub(1);
                        left > 0
                    });
                } else {
                    put_sectors(&mut image, *offset, bytes, || rng.chance(500));
                }
            }
            (Draw::Prefix, Pending::Write { offset, bytes }) => put(&mut image, *offset, bytes),
            (Draw::Sectors(per_thousand), Pending::Write { offset, bytes }) => {
                put_sectors(&mut image, *offset, bytes, || rng.chance(per_thousand));
            }
            (Draw::Sectors(per_thousand), Pending::SetLen(_)) if !rng.chance(per_thousand) => {}
            (_, Pending::SetLen(len)) => image.resize(*len, 0),
        }
    }
    image
}

impl State {
    fn spend(&mut self, mean_nanos: u64) {
        let nanos = mean_nanos / 2 + self.rng.below(mean_nanos);
        self.counts.busy_nanos += nanos;
        self.clock.advance(Duration::from_nanos(nanos));
    }

    fn begin_read(&mut self, len: usize) -> io::Result<()> {
        if self.crashed {
            return Err(crashed());
        }
        self.counts.reads += 1;
        self.counts.read_bytes += len as u64;
        self.spend(80_000);
        if self.faults.fail_reads_per_million > 0
            && self.rng.below(1_000_000) < self.faults.fail_reads_per_million
        {
            self.counts.faults += 1;
            return Err(io::Error::from_raw_os_error(libc::EIO));
        }
        Ok(())
    }

    fn begin_change(&mut self, mean_nanos: u64) -> io::Result<Step> {
        if self.crashed {
            return Err(crashed());
        }
        self.counts.changes += 1;
        self.spend(mean_nanos);
        if self.faults.crash_at_change.is_some_and(|at| at <= self.counts.changes) {
            self.crashed = true;
            return Ok(Step::Crash);
        }
        Ok(Step::Do)
    }

    /// Takes a planned failure if it is due.
    fn due(at: &mut Option<u64>, counts: &mut Counts) -> bool {
        if at.is_some_and(|at| at <= counts.changes) {
            *at = None;
            counts.faults += 1;
            return true;
        }
        false
    }

    fn due_sync(&mut self) -> bool {
        State::due(&mut self.faults.fail_sync_at_change, &mut self.counts)
    }

    fn used_bytes(&self, cannot_reserve: bool) -> u64 {
        let ids = self.folders.values().flat_map(|folder| folder.current.values());
        ids.map(|&id| {
            let file = &self.files[id];
            match cannot_reserve {
                true => (file.written.iter().filter(|&&written| written).count() * SECTOR_BYTES) as u64,
                false => file.current.len() as u64,
            }
        })
        .sum()
    }

    /// Whether there is space for a write (`bytes` of them at `offset`) or a new length (`None`).
    fn space_for(&mut self, id: FileId, offset: usize, bytes: Option<usize>) -> io::Result<()> {
        let Some(max) = self.faults.space_bytes_max else {
            return Ok(());
        };
        let cannot_reserve = self.faults.cannot_reserve;
        let file = &self.files[id];
        let growth = match (cannot_reserve, bytes) {
            (true, Some(bytes)) => {
                file.sectors(offset, bytes).filter(|&(_, written)| !written).count() * SECTOR_BYTES
            }
            (true, None) => 0,
            (false, bytes) => (offset + bytes.unwrap_or(0)).saturating_sub(file.current.len()),
        };
        if growth > 0 && self.used_bytes(cannot_reserve) + growth as u64 > max {
            self.counts.faults += 1;
            return Err(io::Error::from_raw_os_error(libc::ENOSPC));
        }
        Ok(())
    }

    fn write(&mut self, id: FileId, offset: usize, bytes: &[u8]) -> io::Result<()> {
        self.counts.writes += 1;
        self.counts.written_bytes += bytes.len() as u64;
        let step = self.begin_change(20_000)?;
        let fails = step == Step::Do && State::due(&mut self.faults.fail_write_at_change, &mut self.counts);
        let no_space = self.space_for(id, offset, Some(bytes.len()));
        let done = if fails || no_space.is_err() {
            // Sectors are whole, of a failed write, too.
            let end = offset + self.rng.index(bytes.len() + 1);
            (end / SECTOR_BYTES * SECTOR_BYTES).saturating_sub(offset)
        } else {
            bytes.len()
        };
        let file = &mut self.files[id];
        if no_space.is_ok() && done > 0 {
            put(&mut file.current, offset, &bytes[..done]);
            file.mark_written(offset, done);
            file.flipped.retain(|flip| !(offset..offset + done).contains(&flip.0));
            file.pending.push(Pending::Write { offset, bytes: bytes[..done].to_vec() });
        }
        no_space?;
        match step {
            Step::Crash => Err(crashed()),
            Step::Do if fails => Err(io::Error::from_raw_os_error(libc::EIO)),
            Step::Do => Ok(()),
        }
    }

    fn set_len(&mut self, id: FileId, len: usize) -> io::Result<()> {
        let step = self.begin_change(20_000)?;
        self.space_for(id, len, None)?;
        let file = &mut self.files[id];
        file.current.resize(len, 0);
        file.written.truncate(len.div_ceil(SECTOR_BYTES));
        file.flipped.retain(|flip| flip.0 < len);
        file.pending.push(Pending::SetLen(len));
        if step == Step::Crash { Err(crashed()) } else { Ok(()) }
    }

    fn sync_file(&mut self, id: FileId) -> io::Result<()> {
        self.counts.syncs += 1;
        let step = self.begin_change(100_000)?;
        let done_before_crash = step == Step::Crash && self.rng.chance(300);
        let fails = step == Step::Do && State::due(&mut self.faults.fail_sync_at_change, &mut self.counts);
        if fails {
            let draw = Draw::choose(&mut self.rng);
            let image = survivors(&self.files[id], draw, &mut self.rng);
            let file = &mut self.files[id];
            file.durable = image;
            file.pending.clear();
            return Err(io::Error::from_raw_os_error(libc::EIO));
        }
        if step == Step::Do || done_before_crash {
            let file = &mut self.files[id];
            for pending in file.pending.drain(..) {
                match pending {
                    Pending::Write { offset, bytes } => put(&mut file.durable, offset, &bytes),
                    Pending::SetLen(len) => file.durable.resize(len, 0),
                }
            }
        }
        if step == Step::Crash { Err(crashed()) } else { Ok(()) }
    }
}

impl Disk for SimDisk {
    fn folder(&self, path: &Path, create: bool) -> io::Result<Arc<dyn Folder>> {
        let mut state = self.state.lock();
        if state.crashed {
            return Err(crashed());
        }
        if !state.folders.contains_key(path) {
            if !create {
                return Err(io::Error::new(io::ErrorKind::NotFound, format!("no folder {}", path.display())));
            }
            // The real disk, too, makes folders durably before it returns.
            state.folders.insert(path.to_owned(), FolderState::default());
        }
        Ok(Arc::new(SimFolder { disk: self.clone(), path: path.to_owned() }))
    }
}

#[derive(Debug)]
struct SimFolder {
    disk: SimDisk,
    path: PathBuf,
}

impl SimFolder {
    fn state(&self) -> MutexGuard<'_, State> {
        self.disk.state.lock()
    }

    /// One change of names: made in the current names, remembered as pending.
    fn change(
        &self,
        check: impl FnOnce(&FolderState) -> io::Result<()>,
        change: NameChange,
    ) -> io::Result<()> {
        let mut state = self.state();
        let step = state.begin_change(20_000)?;
        let folder = state.folders.get_mut(&self.path).ok_or_else(crashed)?;
        check(folder)?;
        apply_name(&mut folder.current, &change);
        folder.pending.push(change);
        if step == Step::Crash { Err(crashed()) } else { Ok(()) }
    }
}

fn must_exist(folder: &FolderState, name: &str) -> io::Result<()> {
    if folder.current.contains_key(name) {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::NotFound, format!("no file {name}")))
}

impl Folder for SimFolder {
    fn path(&self) -> &Path {
        &self.path
    }

    fn open(&self, name: &str, options: FileOptions) -> io::Result<Arc<dyn File>> {
        check_name(name)?;
        let existing = {
            let state = self.state();
            if state.crashed {
                return Err(crashed());
            }
            state.folders.get(&self.path).and_then(|folder| folder.current.get(name).copied())
        };
        let id = match (existing, options.create) {
            (Some(_), Create::New) => {
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, format!("{name} exists")));
            }
            (Some(id), _) => id,
            (None, Create::Never) => {
                return Err(io::Error::new(io::ErrorKind::NotFound, format!("no file {name}")));
            }
            (None, _) => {
                let id = {
                    let mut state = self.state();
                    state.files.push(FileState::default());
                    state.files.len() - 1
                };
                self.change(|_| Ok(()), NameChange::Make(name.to_owned(), id))?;
                id
            }
        };
        Ok(Arc::new(SimFile { disk: self.disk.clone(), id, write: options.write }))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let state = self.state();
        if state.crashed {
            return Err(crashed());
        }
        Ok(state
            .folders
            .get(&self.path)
            .map(|folder| folder.current.keys().cloned().collect())
            .unwrap_or_default())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        check_name(from)?;
        check_name(to)?;
        self.change(|folder| must_exist(folder, from), NameChange::Rename(from.to_owned(), to.to_owned()))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        check_name(name)?;
        self.change(|folder| must_exist(folder, name), NameChange::Remove(name.to_owned()))
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.state();
        state.counts.syncs += 1;
        let step = state.begin_change(100_000)?;
        let fails = step == Step::Do && state.due_sync();
        let done = match step {
            Step::Crash => state.rng.chance(300),
            Step::Do => !fails,
        };
        let folder = state.folders.get_mut(&self.path).ok_or_else(crashed)?;
        if done {
            folder.durable = folder.current.clone();
            folder.pending.clear();
        }
        match step {
            Step::Crash => Err(crashed()),
            Step::Do if fails => Err(io::Error::from_raw_os_error(libc::EIO)),
            Step::Do => Ok(()),
        }
    }

    fn lock(&self, name: &str) -> io::Result<Box<dyn FolderLock>> {
        check_name(name)?;
        drop(self.open(name, FileOptions::create())?);
        let mut state = self.state();
        let folder = state.folders.get_mut(&self.path).ok_or_else(crashed)?;
        if !folder.locked.insert(name.to_owned()) {
            return Err(io::Error::new(io::ErrorKind::WouldBlock, format!("{name} is locked")));
        }
        Ok(Box::new(SimLock { disk: self.disk.clone(), path: self.path.clone(), name: name.to_owned() }))
    }
}

#[derive(Debug)]
struct SimLock {
    disk: SimDisk,
    path: PathBuf,
    name: String,
}

impl FolderLock for SimLock {}

impl Drop for SimLock {
    fn drop(&mut self) {
        if let Some(folder) = self.disk.state.lock().folders.get_mut(&self.path) {
            folder.locked.remove(&self.name);
        }
    }
}

#[derive(Debug)]
struct SimFile {
    disk: SimDisk,
    id: FileId,
    write: bool,
}

impl SimFile {
    fn writable(&self) -> io::Result<()> {
        if self.write { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::EBADF)) }
    }
}

/// Files larger than this are refused: a simulation holds them in memory.
const SIM_FILE_BYTES_MAX: u64 = 1 << 32;

fn in_memory(offset: u64) -> io::Result<usize> {
    if offset > SIM_FILE_BYTES_MAX {
        return Err(io::Error::from_raw_os_error(libc::EFBIG));
    }
    usize::try_from(offset).map_err(|_| io::Error::from_raw_os_error(libc::EFBIG))
}

impl File for SimFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let mut state = self.disk.state.lock();
        state.begin_read(buffer.len())?;
        let file = &state.files[self.id];
        let start = usize::try_from(offset).map_err(|_| io::ErrorKind::UnexpectedEof)?;
        let range = start..start.checked_add(buffer.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        let bytes = file.current.get(range).ok_or(io::ErrorKind::UnexpectedEof)?;
        buffer.copy_from_slice(bytes);
        file.spoil(start, buffer);
        Ok(())
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.writable()?;
        let offset = in_memory(offset)?;
        self.disk.state.lock().write(self.id, offset, bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.disk.state.lock().sync_file(self.id)
    }

    fn len(&self) -> io::Result<u64> {
        let state = self.disk.state.lock();
        if state.crashed {
            return Err(crashed());
        }
        Ok(state.files[self.id].current.len() as u64)
    }

    fn set_len(&self, len_bytes: u64) -> io::Result<()> {
        self.writable()?;
        let len = in_memory(len_bytes)?;
        self.disk.state.lock().set_len(self.id, len)
    }

    fn allocate(&self, offset: u64, len_bytes: u64) -> io::Result<()> {
        self.writable()?;
        let end = in_memory(offset.saturating_add(len_bytes))?;
        let mut state = self.disk.state.lock();
        let len = state.files[self.id].current.len();
        state.set_len(self.id, len.max(end))
    }
}

#[cfg(test)]
mod tests;
