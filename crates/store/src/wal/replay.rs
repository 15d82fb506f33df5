//! Reading a log back, from a checkpoint to its end.

use super::log::salt_seed;
use super::record::{HEADER_BYTES, Header, Kind, payload_crc};
use super::segment::{self, Segment};
use super::tail::{self, Chain};
use super::{BLOCK_BYTES, Log, LogError, LogOptions, Lsn, align_up, io_failed};
use crate::planted::{self, Plant};
use env::Env;
use env::disk::{File, Folder};
use std::sync::Arc;

/// Read ahead in pieces of this size.
const WINDOW_BYTES: usize = 1 << 20;

/// A committed transaction.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Commit {
    /// Its position, which is its commit number.
    pub position: Lsn,
    /// What was appended for it, all parts joined.
    pub payload: Vec<u8>,
}

/// A committed transaction that still lies in the log: where its parts are.
#[derive(Clone, Debug)]
pub struct CommitRecord {
    /// Its position, which is its commit number.
    pub position: Lsn,
    /// The commit record is the last.
    parts: Vec<Place>,
}

/// Where one part is.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// Index into the replay's files.
    file: usize,
    start: u64,
    /// So many bytes of its payload count.
    kept: u32,
}

impl CommitRecord {
    /// How many parts it has.
    #[must_use]
    pub fn part_count(&self) -> usize {
        self.parts.len()
    }
}

/// A log being read. When [`Replay::next`] has given `None`, [`Replay::into_log`] makes it a log to append to.
#[derive(Debug)]
pub struct Replay {
    env: Env,
    folder: Arc<dyn Folder>,
    files: Vec<(Segment, Arc<dyn File>)>,
    spares: Vec<String>,
    /// Index into `files`.
    current: usize,
    window: Window,
    /// End of the last record accepted.
    chain_end: u64,
    /// Transactions in parts that were replayed: their parts may lie before the checkpoint and are needed again.
    chains: Vec<Chain>,
    ended: bool,
}

/// A piece of a file in memory.
#[derive(Debug, Default)]
struct Window {
    bytes: Vec<u8>,
    /// Position of the first byte.
    start: u64,
    /// Number of the segment it belongs to; 0 if none.
    number: u64,
}

impl Window {
    /// `len` bytes from `position`, which lie inside the segment.
    fn get(
        &mut self,
        segment: &Segment,
        file: &dyn File,
        position: u64,
        len: usize,
    ) -> Result<&[u8], LogError> {
        let end = position + len as u64;
        debug_assert!(position >= segment.start && end <= segment.end);
        let inside = self.number == segment.number
            && position >= self.start
            && end <= self.start + self.bytes.len() as u64;
        if !inside {
            let wanted = (segment.end - position).min(len.max(WINDOW_BYTES) as u64);
            self.number = 0; // Until the read has succeeded.
            self.bytes.resize(usize::try_from(wanted).unwrap_or(len), 0);
            file.read_at(segment.offset_of(position), &mut self.bytes)
                .map_err(|error| io_failed(format!("reading {}", segment.name()), error))?;
            self.start = position;
            self.number = segment.number;
        }
        let from = usize::try_from(position - self.start).unwrap_or(usize::MAX);
        Ok(&self.bytes[from..from + len])
    }
}

impl Replay {
    /// Opens a folder's log to read what was committed after `after`: a commit's position, or [`Lsn::FIRST`] for all.
    /// Changes nothing on the disk.
    ///
    /// # Errors
    /// `Missing` if no file contains `after`, `Corrupt`, `NewerFormat`, `Io`.
    pub fn open(env: &Env, folder: Arc<dyn Folder>, after: Lsn) -> Result<Replay, LogError> {
        let listing = segment::list(&*folder)?;
        let mut files = Vec::with_capacity(listing.numbers.len());
        for &number in &listing.numbers {
            let (segment, file) = segment::open(&*folder, number)?;
            if let Some((before, _)) = files.last() {
                let before: &Segment = before;
                if before.number + 1 != segment.number {
                    return Err(LogError::Missing { position: before.end });
                }
                let follows = segment.start >= before.end
                    && (before.previous_end..=before.end).contains(&segment.previous_end);
                if !follows {
                    let what = "a segment does not follow the one before";
                    return Err(LogError::Corrupt { position: segment.start, what });
                }
            }
            files.push((segment, file));
        }
        // The last segment that begins at or before the position; its chain continues there.
        let current = files
            .iter()
            .rposition(|(segment, _)| segment.start <= after.0 && after.0 <= segment.end)
            .ok_or(LogError::Missing { position: after.0 })?;
        Ok(Replay {
            env: env.clone(),
            folder,
            files,
            spares: listing.spares,
            current,
            window: Window::default(),
            chain_end: after.0,
            chains: Vec::new(),
            ended: false,
        })
    }

    /// The next commit in order of position; `None` at the end of the log, which may be a torn record.
    ///
    /// # Errors
    /// `Corrupt` if bytes that had been durable are damaged; `Io`.
    #[allow(clippy::should_implement_trait, reason = "an iterator of results would go on after an error")]
    pub fn next(&mut self) -> Result<Option<Commit>, LogError> {
        let Some(commit) = self.next_commit()? else { return Ok(None) };
        let mut payload = Vec::new();
        for part in 0..commit.part_count() {
            payload.extend_from_slice(self.read(&commit, part)?);
        }
        Ok(Some(Commit { position: commit.position, payload }))
    }

    /// As [`Replay::next`], without reading what the commit says: that may be more than memory holds.
    ///
    /// # Errors
    /// As [`Replay::next`].
    pub(crate) fn next_commit(&mut self) -> Result<Option<CommitRecord>, LogError> {
        while !self.ended {
            if let Some((next, _)) = self.files.get(self.current + 1)
                && next.previous_end == self.chain_end
            {
                self.current += 1;
                continue;
            }
            let Some(header) = self.next_record()? else {
                self.check_really_ends()?;
                self.ended = true;
                break;
            };
            self.chain_end = header.end();
            if header.kind == Kind::Commit || planted::is(Plant::CountOrphans) {
                let parts = self.find_parts(&header)?;
                return Ok(Some(CommitRecord { position: Lsn(header.end()), parts }));
            }
        }
        Ok(None)
    }

    /// Where the log ends: the position of the last record read.
    #[must_use]
    pub fn position(&self) -> Lsn {
        Lsn(self.chain_end)
    }

    /// The file that an error is about: where its position lies, else the one that is being read.
    pub(crate) fn file_name(&self, error: &LogError) -> Option<String> {
        let has = |(segment, _): &&(Segment, Arc<dyn File>)| match error {
            // What should come behind the last record may be in the next file.
            LogError::Corrupt { position, .. } if *position != self.chain_end => {
                (segment.start..segment.end).contains(position)
            }
            _ => false,
        };
        let file = self.files.iter().rfind(has).or_else(|| self.files.get(self.current));
        file.map(|(segment, _)| segment.name())
    }

    /// Makes the replayed tail durable and goes on in a fresh segment, so that nothing behind the torn end can ever be
    /// taken for part of this log.
    ///
    /// # Errors
    /// `Io`.
    ///
    /// # Panics
    /// If the end has not been reached: what is behind would be lost.
    pub fn into_log(self, options: &LogOptions) -> Result<Log, LogError> {
        assert!(self.ended, "a log is read to its end before it is appended to");
        // The new header will say that what was read is durable.
        self.sync()?;
        let (last, _) = self.files.last().expect("open found at least one file");
        let salt_seed = salt_seed(&self.env)?;
        let segment_bytes = segment::clamp_segment_bytes(options.segment_bytes);
        let next = last.next(segment_bytes, self.chain_end, salt_seed);
        let segments = self.files.iter().map(|(segment, _)| *segment).collect();
        Log::start(self.folder, options, salt_seed, next, segments, self.spares, self.chains)
    }

    /// Behind every record, parts of transactions that did not commit too, and in the last segment: a checkpoint there needs none before
    /// it. What is appended continues the chain there.
    pub(crate) fn skip_to_end(&mut self) -> Lsn {
        assert!(self.ended, "nothing that is to be repeated is skipped");
        let (last, _) = self.files.last().expect("open found at least one file");
        self.chain_end = self.chain_end.max(last.start);
        Lsn(self.chain_end)
    }

    /// Makes what was read durable: so far it may be only in the system's cache.
    ///
    /// # Errors
    /// `Io`.
    pub(crate) fn sync(&self) -> Result<(), LogError> {
        let (last, file) = self.files.last().expect("open found at least one file");
        file.sync().map_err(|error| io_failed(format!("syncing {}", last.name()), error))
    }

    /// Makes the file that [`Replay::into_log`] needs. False if there is none and the disk has no space for one.
    ///
    /// # Errors
    /// `Io`.
    pub(crate) fn make_ready(&mut self, options: &LogOptions) -> Result<bool, LogError> {
        let file_bytes = segment::clamp_segment_bytes(options.segment_bytes);
        match segment::ready_spares(&*self.folder, std::mem::take(&mut self.spares), file_bytes) {
            Ok(spares) => self.spares = spares,
            Err(LogError::Io { source, .. }) if env::disk::is_full(&source) => return Ok(false),
            Err(error) => return Err(error),
        }
        Ok(true)
    }

    /// Makes spares of the segments before a durable checkpoint, which nobody reads again.
    ///
    /// # Errors
    /// `Io`.
    pub(crate) fn retire_below(&mut self, checkpoint: Lsn, options: &LogOptions) -> Result<(), LogError> {
        let keep_from = tail::drop_chains(&mut self.chains, checkpoint, |_| true);
        let count = self.files.iter().take_while(|(segment, _)| segment.end <= keep_from).count();
        let count = count.min(self.files.len() - 1);
        let retired: Vec<Segment> = self.files.drain(..count).map(|(segment, _)| segment).collect();
        self.current = self.files.len() - 1;
        let file_bytes = segment::clamp_segment_bytes(options.segment_bytes);
        self.spares.extend(segment::recycle(&*self.folder, &retired, self.spares.len(), file_bytes)?);
        Ok(())
    }

    /// The record that continues the chain in the current segment: right behind the one before, or on the next block.
    fn next_record(&mut self) -> Result<Option<Header>, LogError> {
        let (segment, _) = self.files[self.current];
        let near = self.chain_end.max(segment.start);
        for position in [near, align_up(near)] {
            if let Some(header) = self.record_at(self.current, position, Some(self.chain_end))? {
                return Ok(Some(header));
            }
        }
        Ok(None)
    }

    /// The whole valid record at a position, whose chain continues `previous_end` if that is given.
    fn record_at(
        &mut self,
        index: usize,
        position: u64,
        previous_end: Option<u64>,
    ) -> Result<Option<Header>, LogError> {
        let (segment, file) = &self.files[index];
        if position < segment.start || position + HEADER_BYTES as u64 > segment.end {
            return Ok(None);
        }
        let bytes = self.window.get(segment, &**file, position, HEADER_BYTES)?;
        let Some(header) = Header::decode(bytes, segment.salt) else {
            return Ok(None);
        };
        let fits = header.start == position
            && header.end() <= segment.end
            && previous_end.is_none_or(|end| header.previous_end == end);
        if !fits {
            return Ok(None);
        }
        let payload = self.window.get(
            segment,
            &**file,
            position + HEADER_BYTES as u64,
            header.payload_bytes as usize,
        )?;
        Ok((payload_crc(payload) == header.payload_crc).then_some(header))
    }

    /// Nothing continues the chain. Looks whether anybody says that something did, durably.
    fn check_really_ends(&mut self) -> Result<(), LogError> {
        let damaged =
            LogError::Corrupt { position: self.chain_end, what: "a record that was durable is not whole" };
        if self.current + 1 < self.files.len() {
            return Err(damaged);
        }
        let (segment, file) = &self.files[self.current];
        let mut position = align_up(self.chain_end.max(segment.start));
        while position < segment.end {
            // Each flush begins on a block, so one look per block finds a record of each.
            let bytes = self.window.get(segment, &**file, position, HEADER_BYTES)?;
            if let Some(header) = Header::decode(bytes, segment.salt)
                && header.start == position
                && header.durable > self.chain_end
            {
                return Err(damaged);
            }
            position += BLOCK_BYTES as u64;
        }
        Ok(())
    }

    /// Reads one part of what a commit says. A change may go on in the next part.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    ///
    /// # Panics
    /// If the commit has no such part.
    pub fn read(&mut self, commit: &CommitRecord, part: usize) -> Result<&[u8], LogError> {
        let Place { file, start, kept } = commit.parts[part];
        let damaged = LogError::Corrupt { position: start, what: "a part of a transaction is not whole" };
        let header = self.record_at(file, start, None)?.ok_or_else(|| damaged.clone())?;
        let (segment, file) = &self.files[file];
        let start = start + HEADER_BYTES as u64;
        let payload = self.window.get(segment, &**file, start, header.payload_bytes as usize)?;
        payload.get(..kept as usize).ok_or(damaged)
    }

    /// Where a commit's parts are, itself the last.
    fn find_parts(&mut self, commit: &Header) -> Result<Vec<Place>, LogError> {
        let mut parts = vec![Place { file: self.current, start: commit.start, kept: commit.payload_bytes }];
        let mut link = commit.previous;
        while link.part != 0 {
            let start = link.part;
            let damaged = LogError::Corrupt { position: start, what: "a part of a transaction is missing" };
            let index = self
                .files
                .iter()
                .rposition(|(segment, _)| (segment.start..segment.end).contains(&start))
                .ok_or_else(|| damaged.clone())?;
            // Only its header: the window goes forward, and this goes back.
            let (segment, file) = &self.files[index];
            if start + HEADER_BYTES as u64 > segment.end {
                return Err(damaged);
            }
            let mut bytes = [0; HEADER_BYTES];
            file.read_at(segment.offset_of(start), &mut bytes)
                .map_err(|error| io_failed(format!("reading {}", segment.name()), error))?;
            let header = Header::decode(&bytes, segment.salt).ok_or_else(|| damaged.clone())?;
            if header.kind != Kind::Part || header.start != start || link.kept > header.payload_bytes {
                return Err(damaged);
            }
            let kept = if link.kept == 0 { header.payload_bytes } else { link.kept };
            parts.push(Place { file: index, start, kept });
            link = header.previous; // Its part lies before this one, so this ends.
        }
        if parts.len() > 1
            && let Some(first) = parts.last()
        {
            self.chains.push(Chain { first: first.start, commit: Some(commit.end()) });
        }
        parts.reverse();
        Ok(parts)
    }
}
