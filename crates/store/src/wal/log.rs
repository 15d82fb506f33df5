//! Append and flush.
//!
//! Two mutexes, always taken in this order: `io` (who writes to the files; held during I/O) and `tail` (what was appended;
//! held for a copy). Positions are published through atomics, so asking costs a load.

use super::record::{Kind, payload_crc};
use super::segment::{self, Segment};
use super::tail::{Chain, Parts, Tail, drop_chains};
use super::{FlushPolicy, LogError, LogOptions, Lsn, PART_BYTES_MAX, io_failed};
use crate::planted::{self, Plant};
use crate::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use crate::sync::{Condvar, Mutex, MutexGuard, RwLock};
use env::Env;
use env::disk::{File, Folder};
use env::threads::Thread;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Under the policies that do not sync at each commit, the flusher syncs after this long.
const LAZY_SYNC_INTERVAL: Duration = Duration::from_secs(1);

/// How long the thread that makes segments ready waits after one could not be made.
const SPARE_RETRY: Duration = Duration::from_secs(1);

/// Hears of every flush. Called on the thread that did it, outside the log's mutexes; must not block and not call back.
pub trait LogListener: Send + Sync {
    /// Commits up to this position are acknowledged. Calls from different threads may come out of order; the largest counts.
    fn acknowledged(&self, position: Lsn);
    /// The log has stopped; whoever waits will wait in vain.
    fn stopped(&self, why: &LogError);
}

/// What the log has done since it was opened.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct LogCounters {
    /// Commits appended.
    pub commits: u64,
    /// Parts of transactions appended before their commits.
    pub parts: u64,
    /// Bytes of records appended, headers included, padding not.
    pub appended_bytes: u64,
    /// Bytes written to the files, padding included.
    pub written_bytes: u64,
    /// Batches written.
    pub writes: u64,
    /// Syncs.
    pub syncs: u64,
    /// Now: bytes of the files, spares included.
    pub file_bytes: u64,
    /// Times a caller of [`Log::flush_inline`] or [`Log::try_flush_inline`] found another flush under way.
    pub waits: u64,
}

/// An open log. See the module above for what it promises.
pub struct Log {
    shared: Arc<Shared>,
    threads: Mutex<Vec<Thread>>,
}

struct Shared {
    folder: Arc<dyn Folder>,
    io: IoMutex,
    tail: Mutex<Tail>,
    /// Serialises [`Log::truncate_below`].
    truncating: Mutex<()>,
    /// Serialises the making of spares. Taken before `io`.
    making: Mutex<()>,
    segment_file_bytes: u64,
    part_bytes_max: usize,
    buffer_bytes_max: usize,
    transaction_span_bytes_max: u64,
    policy: AtomicU8,
    /// Positions: of the last record appended, written, durable; `durable <= written <= end`.
    end: AtomicU64,
    written: AtomicU64,
    durable: AtomicU64,
    /// What waits in `tail`, roughly, so that appenders can see a full buffer without the mutex.
    pending_bytes: AtomicUsize,
    /// A flush is under way whose end the listeners have not begun to hear of. May be false too early, when two overlap.
    flushing: AtomicBool,
    stopped: OnceLock<LogError>,
    listeners: RwLock<Vec<Arc<dyn LogListener>>>,
    /// The highest position anybody asked the flusher for.
    requested: AtomicU64,
    flusher: Sleeper,
    preparer: Preparer,
    ending: AtomicBool,
    counts: Counts,
}

#[derive(Default)]
struct Counts {
    commits: AtomicU64,
    parts: AtomicU64,
    appended_bytes: AtomicU64,
    written_bytes: AtomicU64,
    writes: AtomicU64,
    syncs: AtomicU64,
    file_bytes: AtomicU64,
    waits: AtomicU64,
}

/// The files. Behind the I/O mutex.
struct Io {
    /// The segment being written.
    segment: Segment,
    file: Arc<dyn File>,
    /// All segments with a number, oldest first; the last is `segment`.
    segments: Vec<Segment>,
    spares: Vec<String>,
}

/// The I/O mutex, for waiters that need no turn: who waits for a flush wants to know that one has ended, not to have the
/// mutex. Handing it from waiter to waiter would let the next flush start with only the first of them (measured with 16
/// threads: 1.9 commits a sync, against 8 and more this way).
struct IoMutex {
    io: Mutex<Io>,
    waiter_count: AtomicUsize,
    mutex: Mutex<()>,
    released: Condvar,
}

struct IoGuard<'a> {
    owner: &'a IoMutex,
    /// None only while being dropped.
    io: Option<MutexGuard<'a, Io>>,
}

impl IoMutex {
    fn new(io: Io) -> IoMutex {
        IoMutex {
            io: Mutex::new(io),
            waiter_count: AtomicUsize::new(0),
            mutex: Mutex::new(()),
            released: Condvar::new(),
        }
    }

    fn lock(&self) -> IoGuard<'_> {
        IoGuard { owner: self, io: Some(self.io.lock()) }
    }

    fn try_lock(&self) -> Option<IoGuard<'_>> {
        self.io.try_lock().map(|io| IoGuard { owner: self, io: Some(io) })
    }

    /// Returns when the mutex was free for a moment, or at once if it is.
    fn wait_until_released(&self) {
        let mut guard = self.mutex.lock();
        self.waiter_count.fetch_add(1, Ordering::SeqCst);
        // A holder that releases it from here on sees the waiter, and can tell only when this thread is inside its
        // wait.
        crate::sync::atomic::fence(Ordering::SeqCst);
        if self.io.is_locked() {
            self.released.wait(&mut guard);
        }
        self.waiter_count.fetch_sub(1, Ordering::SeqCst);
    }
}

impl std::ops::Deref for IoGuard<'_> {
    type Target = Io;
    fn deref(&self) -> &Io {
        self.io.as_ref().expect("held until dropped")
    }
}

impl std::ops::DerefMut for IoGuard<'_> {
    fn deref_mut(&mut self) -> &mut Io {
        self.io.as_mut().expect("held until dropped")
    }
}

impl Drop for IoGuard<'_> {
    fn drop(&mut self) {
        drop(self.io.take());
        crate::sync::atomic::fence(Ordering::SeqCst);
        if self.owner.waiter_count.load(Ordering::SeqCst) > 0 {
            let _guard = self.owner.mutex.lock();
            self.owner.released.notify_all();
        }
    }
}

/// One thread that sleeps until there is work.
#[derive(Default)]
struct Sleeper {
    asleep: AtomicBool,
    mutex: Mutex<()>,
    wake: Condvar,
}

/// State shared with the thread that makes segments ready.
#[derive(Default)]
struct Preparer {
    wanted: AtomicBool,
    sleeper: Sleeper,
}

impl Sleeper {
    /// Wakes the thread if it sleeps. Whatever it should see was stored (SeqCst) before.
    fn wake(&self) {
        if self.asleep.load(Ordering::SeqCst) {
            // With the mutex held, the thread is either before its check or inside its wait.
            let _guard = self.mutex.lock();
            self.wake.notify_one();
        }
    }

    /// Sleeps unless `ready`; true if `timeout` passed.
    fn sleep_unless(&self, ready: impl Fn() -> bool, timeout: Option<Duration>) -> bool {
        let mut guard = self.mutex.lock();
        self.asleep.store(true, Ordering::SeqCst);
        let mut timed_out = false;
        if !ready() {
            match timeout {
                Some(timeout) => timed_out = self.wake.wait_for(&mut guard, timeout).timed_out(),
                None => self.wake.wait(&mut guard),
            }
        }
        self.asleep.store(false, Ordering::SeqCst);
        timed_out
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Log")
            .field("end", &self.end_lsn())
            .field("durable", &self.durable_lsn())
            .field("stopped", &self.shared.stopped.get())
            .finish_non_exhaustive()
    }
}

impl Log {
    /// Makes a new log in a folder that has none, of two files. Durable when it returns.
    ///
    /// From then on there are two at least: so a log that is opened on a full disk finds a spare, or a checkpoint makes one of the files before
    /// the last.
    ///
    /// # Errors
    /// `AlreadyExists`, `Io`.
    pub fn create(env: &Env, folder: Arc<dyn Folder>, options: &LogOptions) -> Result<Log, LogError> {
        let listing = segment::list(&*folder)?;
        if !listing.numbers.is_empty() {
            return Err(LogError::AlreadyExists);
        }
        let salt_seed = salt_seed(env)?;
        let segment = Segment::first(segment::clamp_segment_bytes(options.segment_bytes), salt_seed);
        let log = Log::start(folder, options, salt_seed, segment, Vec::new(), listing.spares, Vec::new())?;
        log.shared.make_ready()?;
        Ok(log)
    }

    /// Removes every file of a log, also of one half made. For a store whose creation did not finish, or that is dropped.
    ///
    /// # Errors
    /// `Io`.
    pub fn remove_files(folder: &dyn Folder) -> Result<(), LogError> {
        let listing = segment::list(folder)?;
        // Newest first: what a crash leaves is a log that lacks its end, not one that lacks its middle.
        for number in listing.numbers.iter().rev() {
            segment::remove(folder, &segment::name_of(*number))?;
        }
        for spare in &listing.spares {
            segment::remove(folder, spare)?;
        }
        folder.sync().map_err(|error| io_failed("syncing the folder of the log".to_owned(), error))
    }

    /// A log that goes on in a fresh segment, whose file this makes.
    pub(super) fn start(
        folder: Arc<dyn Folder>,
        options: &LogOptions,
        salt_seed: u64,
        segment: Segment,
        mut segments: Vec<Segment>,
        spares: Vec<String>,
        chains: Vec<Chain>,
    ) -> Result<Log, LogError> {
        let segment_file_bytes = segment::clamp_segment_bytes(options.segment_bytes);
        debug_assert_eq!(segment.file_bytes(), segment_file_bytes);
        let mut spares = segment::ready_spares(&*folder, spares, segment_file_bytes)?;
        let spare = spares.pop().expect("one is ready");
        let file = segment::create(&*folder, &segment, &spare)?;
        segments.push(segment);
        let ready = spares.len();
        let end = segment.previous_end;
        let counts = Counts::default();
        let file_bytes = segments.iter().map(Segment::file_bytes).sum::<u64>();
        counts.file_bytes.store(file_bytes + ready as u64 * segment_file_bytes, Ordering::Relaxed);
        let shared = Shared {
            folder,
            io: IoMutex::new(Io { segment, file, segments, spares }),
            tail: Mutex::new(Tail::new(segment, segment_file_bytes, salt_seed, chains, ready)),
            truncating: Mutex::new(()),
            making: Mutex::new(()),
            segment_file_bytes,
            part_bytes_max: PART_BYTES_MAX
                .min(usize::try_from(segment_file_bytes / 4).unwrap_or(PART_BYTES_MAX)),
            buffer_bytes_max: options.buffer_bytes_max,
            transaction_span_bytes_max: options.transaction_span_bytes_max,
            policy: AtomicU8::new(policy_number(options.flush_policy)),
            end: AtomicU64::new(end),
            written: AtomicU64::new(end),
            durable: AtomicU64::new(end),
            pending_bytes: AtomicUsize::new(0),
            flushing: AtomicBool::new(false),
            stopped: OnceLock::new(),
            listeners: RwLock::new(Vec::new()),
            requested: AtomicU64::new(0),
            flusher: Sleeper::default(),
            preparer: Preparer::default(),
            ending: AtomicBool::new(false),
            counts,
        };
        Ok(Log { shared: Arc::new(shared), threads: Mutex::new(Vec::new()) })
    }

    /// Appends a transaction. Returns its position, which is also its commit number and what durability is asked by.
    ///
    /// `publish` runs with that position under the append mutex: commit numbers become visible in log order. It has to
    /// be short, and takes no lock. If this fails, `publish` did not run and the transaction does not count.
    ///
    /// The caller holds no page latch: with a full buffer the appender writes it out first. A payload longer than a
    /// part is split here; the mutex is never held for more than one part's copy.
    ///
    /// # Errors
    /// `Stopped`; `Full` if the disk has no space: what is appended always has its place there.
    pub fn append(&self, payload: &[u8], publish: impl FnOnce(Lsn)) -> Result<Lsn, LogError> {
        self.append_with_parts(payload, Parts::default(), publish)
    }

    /// As [`Log::append`], for a transaction that moved parts of its buffer out before; `payload` is the rest.
    ///
    /// # Errors
    /// `Stopped`, `Full`, `TransactionTooLong`; the parts are then abandoned.
    pub fn append_with_parts(
        &self,
        payload: &[u8],
        mut parts: Parts,
        publish: impl FnOnce(Lsn),
    ) -> Result<Lsn, LogError> {
        let shared = &*self.shared;
        let mut publish = Some(publish);
        let mut publish = |position| {
            if let Some(publish) = publish.take() {
                publish(position);
            }
        };
        let mut rest = payload;
        while rest.len() > shared.part_bytes_max {
            let (part, after) = rest.split_at(shared.part_bytes_max);
            if let Err(error) = shared.append_one_part(part, &mut parts) {
                self.abandon(parts);
                return Err(error);
            }
            rest = after;
        }
        loop {
            match self.try_append(rest, &mut parts, &mut publish) {
                Ok(None) => {}
                Ok(Some(position)) => return Ok(position),
                Err(error) => {
                    self.abandon(parts);
                    return Err(error);
                }
            }
            if let Err(error) = self.prepare(rest.len()) {
                self.abandon(parts);
                return Err(error);
            }
        }
    }

    /// Appends a transaction if that takes no waiting for the disk, for who holds what others wait for; `payload` is no longer than
    /// a part. The parts are used up if it succeeds. `None`: call [`Log::prepare`] without holding anything, and this again.
    ///
    /// # Errors
    /// `Stopped`, `TransactionTooLong`; `publish` did not run.
    pub(crate) fn try_append(
        &self,
        payload: &[u8],
        parts: &mut Parts,
        publish: &mut dyn FnMut(Lsn),
    ) -> Result<Option<Lsn>, LogError> {
        let shared = &*self.shared;
        debug_assert!(payload.len() <= shared.part_bytes_max);
        if shared.pending_bytes.load(Ordering::Relaxed) > shared.buffer_bytes_max {
            return Ok(None);
        }
        let crc = payload_crc(payload);
        let mut tail = shared.tail.lock();
        shared.check_stopped()?;
        if !tail.has_place(payload.len()) {
            return Ok(None);
        }
        let chain = match parts.first() {
            None => None,
            Some(first) => match tail.chains.iter().position(|chain| chain.first == first) {
                None => return Err(shared.too_long()),
                chain => chain,
            },
        };
        let durable = shared.durable.load(Ordering::Acquire);
        let (start, end) = tail.push(Kind::Commit, payload, crc, parts.link(), durable);
        if let Some(chain) = chain {
            tail.chains[chain].commit = Some(end);
        }
        publish(Lsn(end));
        shared.end.store(end, Ordering::Release);
        drop(tail);
        shared.note_appended(start, end);
        shared.counts.commits.fetch_add(1, Ordering::Relaxed);
        *parts = Parts::default();
        Ok(Some(Lsn(end)))
    }

    /// Waits until a record with so long a payload can be appended: it may be necessary again by then.
    ///
    /// # Errors
    /// `Stopped`, `Full`.
    pub(crate) fn prepare(&self, payload_bytes: usize) -> Result<(), LogError> {
        self.shared.write_out_if_full()?;
        drop(self.shared.tail_with_place(payload_bytes)?);
        Ok(())
    }

    /// The longest payload of one record.
    pub(crate) fn part_bytes_max(&self) -> usize {
        self.shared.part_bytes_max
    }

    /// Moves a part of an unfinished transaction's buffer into the log. It may end at any byte: replay gives all parts and
    /// the commit's own payload as one. Counts for nothing until the commit.
    ///
    /// # Errors
    /// `Stopped`, `Full`, `TransactionTooLong`; a piece may have been appended.
    pub fn append_part(&self, payload: &[u8], parts: &mut Parts) -> Result<(), LogError> {
        for part in payload.chunks(self.shared.part_bytes_max) {
            self.shared.append_one_part(part, parts)?;
        }
        Ok(())
    }

    /// The transaction has rolled back what it appended behind its first `bytes`: they do not count when it commits.
    pub fn cut(&self, parts: &mut Parts, bytes: u64) {
        let first = parts.first();
        parts.cut(bytes);
        if let (Some(first), true) = (first, parts.is_empty()) {
            self.drop_chain(first);
        }
    }

    /// Gives up the parts of a transaction that was rolled back.
    #[allow(
        clippy::needless_pass_by_value,
        reason = "the parts are used up: nobody may append them afterwards"
    )]
    pub fn abandon(&self, parts: Parts) {
        if let Some(first) = parts.first() {
            self.drop_chain(first);
        }
    }

    fn drop_chain(&self, first: u64) {
        self.shared.tail.lock().chains.retain(|chain| chain.first != first);
    }

    /// Returns when the policy counts `position` as acknowledged: writes and syncs itself, or waits for whoever does.
    ///
    /// Does not tell [`env::blocking`] of its own I/O, because a caller that flushes inline is alone and would hand its place
    /// to nobody; it does tell of a wait for another's.
    ///
    /// # Errors
    /// `Stopped`: whether `position` is durable is unknown.
    pub fn flush_inline(&self, position: Lsn) -> Result<(), LogError> {
        self.shared.flush_to(position, false, true).map(drop)
    }

    /// As [`Log::flush_inline`], but never waits for another's flush: `false` if one is under way, of whose end the
    /// listeners will hear; then the caller may try again.
    ///
    /// # Errors
    /// `Stopped`.
    pub(crate) fn try_flush_inline(&self, position: Lsn) -> Result<bool, LogError> {
        self.shared.flush_to(position, false, false)
    }

    /// Returns when `position` is durable, whatever the policy.
    ///
    /// # Errors
    /// `Stopped`.
    pub fn sync_inline(&self, position: Lsn) -> Result<(), LogError> {
        self.shared.flush_to(position, true, true).map(drop)
    }

    /// Asks the flusher thread for `position`; the listeners hear when it is done. Costs two loads when the flusher is awake.
    /// Without [`Log::start_threads`] nobody does it.
    pub fn request_flush(&self, position: Lsn) {
        self.shared.requested.fetch_max(position.0, Ordering::SeqCst);
        self.shared.flusher.wake();
    }

    /// Adds a listener, for as long as the log is open.
    pub fn register(&self, listener: Arc<dyn LogListener>) {
        self.shared.listeners.write().push(listener);
    }

    /// Up to here commits are acknowledged under the policy.
    #[must_use]
    pub fn acknowledged_lsn(&self) -> Lsn {
        Lsn(self.shared.acknowledged())
    }

    /// Up to here everything survives any crash.
    #[must_use]
    pub fn durable_lsn(&self) -> Lsn {
        Lsn(self.shared.durable.load(Ordering::Acquire))
    }

    /// The position of the last record appended: every later commit has a greater one.
    #[must_use]
    pub(crate) fn end_lsn(&self) -> Lsn {
        Lsn(self.shared.end.load(Ordering::Acquire))
    }

    /// When commits are acknowledged from now on.
    pub(crate) fn set_policy(&self, policy: FlushPolicy) {
        self.shared.policy.store(policy_number(policy), Ordering::SeqCst);
        self.shared.flusher.wake();
    }

    /// When commits are acknowledged.
    #[must_use]
    pub fn policy(&self) -> FlushPolicy {
        self.shared.policy()
    }

    /// Why the log has stopped, if it has.
    #[must_use]
    pub fn stopped(&self) -> Option<LogError> {
        self.shared.stopped.get().cloned()
    }

    /// What has been done so far.
    #[must_use]
    pub fn counters(&self) -> LogCounters {
        let counts = &self.shared.counts;
        LogCounters {
            commits: counts.commits.load(Ordering::Relaxed),
            parts: counts.parts.load(Ordering::Relaxed),
            appended_bytes: counts.appended_bytes.load(Ordering::Relaxed),
            written_bytes: counts.written_bytes.load(Ordering::Relaxed),
            writes: counts.writes.load(Ordering::Relaxed),
            syncs: counts.syncs.load(Ordering::Relaxed),
            file_bytes: counts.file_bytes.load(Ordering::Relaxed),
            waits: counts.waits.load(Ordering::Relaxed),
        }
    }

    /// Starts the thread that flushes on request and the one that makes segments ready ahead of need.
    ///
    /// # Errors
    /// `Io` if this world has no threads.
    pub fn start_threads(&self, env: &Env) -> Result<(), LogError> {
        let mut threads = self.threads.lock();
        if !threads.is_empty() {
            return Ok(());
        }
        for (name, work) in
            [("log-flush", Shared::run_flusher as fn(&Shared)), ("log-prepare", Shared::run_preparer)]
        {
            let shared = Arc::clone(&self.shared);
            let thread = env
                .threads
                .spawn(name, Box::new(move || work(&shared)))
                .map_err(|error| io_failed(format!("starting {name}"), error))?;
            threads.push(thread);
        }
        Ok(())
    }

    /// Releases segments that no replay from `checkpoint` on needs; call it when the superblock naming that position is
    /// durable. Parts of transactions that were unfinished at the checkpoint are kept, unless they go back too far
    /// ([`LogOptions::transaction_span_bytes_max`]).
    ///
    /// # Errors
    /// `Stopped`.
    pub fn truncate_below(&self, checkpoint: Lsn) -> Result<(), LogError> {
        let shared = &*self.shared;
        let _one_at_a_time = shared.truncating.lock();
        shared.check_stopped()?;
        let keep_from = {
            let mut tail = shared.tail.lock();
            let end = shared.end.load(Ordering::Acquire);
            // Without its chain it cannot commit any more.
            let may_commit = |chain: &Chain| end - chain.first <= shared.transaction_span_bytes_max;
            let keep_from = drop_chains(&mut tail.chains, checkpoint, may_commit);
            if planted::is(Plant::DiscardParts) { checkpoint.0 } else { keep_from }
        };
        let (retired, spare_count) = {
            let mut io = shared.io.lock();
            let count = io.segments.iter().take_while(|segment| segment.end <= keep_from).count();
            let count = count.min(io.segments.len() - 1);
            (io.segments.drain(..count).collect::<Vec<_>>(), io.spares.len())
        };
        if retired.is_empty() {
            return Ok(());
        }
        // Outside the I/O mutex: flushes go on meanwhile.
        let spares = segment::recycle(&*shared.folder, &retired, spare_count, shared.segment_file_bytes)
            .map_err(|error| shared.stop(&error))?;
        let removed = retired.iter().map(Segment::file_bytes).sum::<u64>()
            - spares.len() as u64 * shared.segment_file_bytes;
        shared.counts.file_bytes.fetch_sub(removed, Ordering::Relaxed);
        shared.add_spares(spares);
        Ok(())
    }

    /// Removes the segments that are ready, except one: the disk has no space for something else. False if there were
    /// none.
    ///
    /// # Errors
    /// The log has stopped, or stops now.
    pub(crate) fn give_up_spares(&self) -> Result<bool, LogError> {
        let shared = &*self.shared;
        let _making = shared.making.lock();
        let count = {
            let mut tail = shared.tail.lock();
            let count = tail.ready.saturating_sub(1);
            tail.ready -= count;
            count
        };
        let spares = {
            let mut io = shared.io.lock();
            let left = io.spares.len() - count;
            io.spares.split_off(left)
        };
        for spare in &spares {
            match segment::remove(&*shared.folder, spare) {
                // Some file systems need space for that. The next opening finds the file.
                Err(LogError::Io { source, .. }) if env::disk::is_full(&source) => {}
                removed => removed.map_err(|error| shared.stop(&error))?,
            }
            shared.counts.file_bytes.fetch_sub(shared.segment_file_bytes, Ordering::Relaxed);
        }
        Ok(!spares.is_empty())
    }

    /// Makes everything durable and ends the threads. A log that is dropped instead leaves what a crash would.
    ///
    /// # Errors
    /// `Stopped`.
    pub fn close(self) -> Result<(), LogError> {
        self.sync_inline(self.end_lsn())
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.shared.ending.store(true, Ordering::SeqCst);
        self.shared.flusher.wake();
        self.shared.preparer.sleeper.wake();
        for thread in self.threads.get_mut().drain(..) {
            // A panic there has been reported by the panic hook; the log's own promises do not rest on that thread.
            let _ended_well = thread.join();
        }
    }
}

/// The next segment is made when so large a part of this one is used: early, so that a disk that fills up meanwhile leaves the log two
/// segments to take turns with.
const PREPARED_AT: u64 = 8;

impl Shared {
    fn policy(&self) -> FlushPolicy {
        match self.policy.load(Ordering::Relaxed) {
            0 => FlushPolicy::Lazy,
            2 => FlushPolicy::WriteAtCommit,
            _ => FlushPolicy::AtCommit,
        }
    }

    fn acknowledged(&self) -> u64 {
        match self.policy() {
            FlushPolicy::Lazy => self.end.load(Ordering::Acquire),
            FlushPolicy::AtCommit => self.durable.load(Ordering::Acquire),
            FlushPolicy::WriteAtCommit => self.written.load(Ordering::Acquire),
        }
    }

    fn check_stopped(&self) -> Result<(), LogError> {
        self.stopped.get().map_or(Ok(()), |error| Err(error.clone()))
    }

    /// Notes why the log has stopped; the first reason stays.
    #[cold]
    fn note_stopped(&self, cause: &LogError) -> LogError {
        let why = match cause {
            LogError::Stopped { why } => Arc::clone(why),
            other => Arc::from(other.to_string()),
        };
        self.stopped.get_or_init(|| LogError::Stopped { why }).clone()
    }

    /// Stops the log for good. Returns the error to answer with.
    #[cold]
    fn stop(&self, cause: &LogError) -> LogError {
        let error = self.note_stopped(cause);
        // Whoever appends now has checked before; after this line nobody appends any more.
        drop(self.tail.lock());
        for listener in self.listeners.read().iter() {
            listener.stopped(&error);
        }
        error
    }

    fn note_appended(&self, start: u64, end: u64) {
        let bytes = end - start;
        self.pending_bytes.fetch_add(usize::try_from(bytes).unwrap_or(usize::MAX), Ordering::Relaxed);
        self.counts.appended_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Writes out (without sync) if too much waits in memory.
    fn write_out_if_full(&self) -> Result<(), LogError> {
        if self.pending_bytes.load(Ordering::Relaxed) <= self.buffer_bytes_max {
            return Ok(());
        }
        let _guard = env::blocking::enter();
        let mut io = self.io.lock();
        if self.pending_bytes.load(Ordering::Relaxed) <= self.buffer_bytes_max {
            return Ok(());
        }
        self.write_batch(&mut io).map_err(|error| {
            self.note_stopped(&error); // While the mutex is held, as in `flush`.
            drop(io);
            self.stop(&error)
        })
    }

    /// The append mutex, when a record with so long a payload has its place on the disk.
    fn tail_with_place(&self, payload_bytes: usize) -> Result<MutexGuard<'_, Tail>, LogError> {
        loop {
            let tail = self.tail.lock();
            self.check_stopped()?;
            if tail.has_place(payload_bytes) {
                return Ok(tail);
            }
            drop(tail);
            let _guard = env::blocking::enter();
            self.make_ready().map_err(|error| match &error {
                LogError::Io { source, .. } if env::disk::is_full(source) => LogError::Full,
                error => self.stop(error),
            })?;
        }
    }

    /// Makes a spare if none is ready.
    fn make_ready(&self) -> Result<(), LogError> {
        let _making = self.making.lock();
        if self.tail.lock().ready == 0 {
            let spare = segment::make_spare(&*self.folder, self.segment_file_bytes)?;
            self.counts.file_bytes.fetch_add(self.segment_file_bytes, Ordering::Relaxed);
            self.add_spares(vec![spare]);
        }
        Ok(())
    }

    fn add_spares(&self, mut spares: Vec<String>) {
        let count = spares.len();
        // In this order: who finds one ready finds its file.
        self.io.lock().spares.append(&mut spares);
        self.tail.lock().ready += count;
    }

    #[cold]
    fn too_long(&self) -> LogError {
        LogError::TransactionTooLong { span_bytes_max: self.transaction_span_bytes_max }
    }

    fn append_one_part(&self, payload: &[u8], parts: &mut Parts) -> Result<(), LogError> {
        let crc = payload_crc(payload);
        self.write_out_if_full()?;
        let mut tail = self.tail_with_place(payload.len())?;
        if let Some(first) = parts.first() {
            let span_bytes = self.end.load(Ordering::Acquire) + payload.len() as u64 - first;
            if span_bytes > self.transaction_span_bytes_max
                || !tail.chains.iter().any(|chain| chain.first == first)
            {
                return Err(self.too_long());
            }
        }
        let durable = self.durable.load(Ordering::Acquire);
        let (start, end) = tail.push(Kind::Part, payload, crc, parts.link(), durable);
        if parts.is_empty() {
            tail.chains.push(Chain { first: start, commit: None });
        }
        parts.push(start, payload.len());
        self.end.store(end, Ordering::Release);
        drop(tail);
        self.note_appended(start, end);
        self.counts.parts.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// False, unless `may_wait`, if another's flush is under way of which the listeners will hear.
    fn flush_to(&self, position: Lsn, must_sync: bool, may_wait: bool) -> Result<bool, LogError> {
        loop {
            // Read again each time: the policy may change while a commit waits.
            let policy = self.policy();
            let sync = must_sync || policy == FlushPolicy::AtCommit;
            let reached =
                || if must_sync { self.durable.load(Ordering::Acquire) } else { self.acknowledged() };
            if reached() >= position.0 {
                return Ok(true);
            }
            self.check_stopped()?;
            assert!(position.0 <= self.end.load(Ordering::Acquire), "only what was appended can be flushed");
            let Some(mut io) = self.io.try_lock() else {
                self.counts.waits.fetch_add(1, Ordering::Relaxed);
                if !may_wait && self.flushing.load(Ordering::SeqCst) {
                    return Ok(false);
                }
                let _guard = env::blocking::enter();
                self.io.wait_until_released();
                continue;
            };
            if reached() >= position.0 {
                return Ok(true);
            }
            let result = self.flush(&mut io, sync);
            drop(io);
            self.finish_flush(result)?;
        }
    }

    /// Tells the listeners how a flush went, outside the mutexes.
    fn finish_flush(&self, result: Result<(), LogError>) -> Result<(), LogError> {
        result.map_err(|error| self.stop(&error))?;
        let settled = Lsn(self.acknowledged());
        for listener in self.listeners.read().iter() {
            listener.acknowledged(settled);
        }
        Ok(())
    }

    /// To be followed by [`Shared::finish_flush`], when the mutex is released.
    fn flush(&self, io: &mut Io, sync: bool) -> Result<(), LogError> {
        self.flushing.store(true, Ordering::SeqCst);
        let result = self.write_and_sync(io, sync);
        if let Err(error) = &result {
            // While the mutex is held: nobody may flush after this and call durable what was lost here.
            self.note_stopped(error);
        }
        // Before the listeners: a thread that saw it set is notified for certain.
        self.flushing.store(false, Ordering::SeqCst);
        result
    }

    fn write_and_sync(&self, io: &mut Io, sync: bool) -> Result<(), LogError> {
        self.write_batch(io)?;
        let written = self.written.load(Ordering::Acquire);
        if sync && self.durable.load(Ordering::Acquire) < written {
            self.sync(io)?;
            self.durable.store(written, Ordering::Release);
        }
        Ok(())
    }

    fn sync(&self, io: &Io) -> Result<(), LogError> {
        self.counts.syncs.fetch_add(1, Ordering::Relaxed);
        io.file.sync().map_err(|error| io_failed(format!("syncing {}", io.segment.name()), error))
    }

    /// Writes what waits in memory.
    fn write_batch(&self, io: &mut Io) -> Result<(), LogError> {
        self.check_stopped()?;
        let batch = self.tail.lock().seal();
        if batch.pieces.is_empty() {
            return Ok(());
        }
        for piece in &batch.pieces {
            if piece.segment.number != io.segment.number {
                self.enter_segment(io, piece.segment)?;
            }
            let offset = piece.segment.offset_of(piece.start);
            io.file
                .write_at(offset, &piece.bytes)
                .map_err(|error| io_failed(format!("writing {}", io.segment.name()), error))?;
            self.counts.writes.fetch_add(1, Ordering::Relaxed);
            self.counts.written_bytes.fetch_add(piece.bytes.len() as u64, Ordering::Relaxed);
        }
        self.written.store(batch.end, Ordering::Release);
        let mut tail = self.tail.lock();
        tail.reuse(batch);
        self.pending_bytes.store(tail.pending_bytes(), Ordering::Relaxed);
        let ready = tail.ready;
        drop(tail);
        let used = self.written.load(Ordering::Relaxed).saturating_sub(io.segment.start);
        if ready == 0 && used > (io.segment.end - io.segment.start) / PREPARED_AT {
            self.preparer.wanted.store(true, Ordering::SeqCst);
            self.preparer.sleeper.wake();
        }
        Ok(())
    }

    fn enter_segment(&self, io: &mut Io, next: Segment) -> Result<(), LogError> {
        debug_assert_eq!(next.number, io.segment.number + 1);
        // The new header says that everything before it is durable, also the parts of transactions that commit in the new file.
        if !planted::is(Plant::CommitBeforeParts) {
            self.sync(io)?;
        }
        let spare = io.spares.pop().expect("a segment is begun only when there is a file for it");
        io.file = segment::create(&*self.folder, &next, &spare)?;
        io.segment = next;
        io.segments.push(next);
        Ok(())
    }

    fn run_flusher(&self) {
        let mut overdue = false;
        while !self.ending.load(Ordering::SeqCst) && self.stopped.get().is_none() {
            let policy = self.policy();
            let wanted = || {
                let requested = self.requested.load(Ordering::SeqCst).min(self.end.load(Ordering::SeqCst));
                self.acknowledged() < requested
                    || self.ending.load(Ordering::SeqCst)
                    || policy != self.policy()
            };
            if wanted() || overdue {
                let mut io = self.io.lock();
                let result = self.flush(&mut io, policy == FlushPolicy::AtCommit || overdue);
                drop(io);
                overdue = false;
                if self.finish_flush(result).is_err() {
                    return; // `stop` has notified all listeners.
                }
                continue;
            }
            let timeout = (policy != FlushPolicy::AtCommit).then_some(LAZY_SYNC_INTERVAL);
            overdue = self.flusher.sleep_unless(wanted, timeout);
        }
    }

    /// Keeps one zero-filled segment ready, so that no commit pays for filling one.
    fn run_preparer(&self) {
        while !self.ending.load(Ordering::SeqCst) && self.stopped.get().is_none() {
            let before = self.preparer.wanted.swap(false, Ordering::SeqCst);
            if before {
                // If it fails, nothing has been promised by this file: a commit that needs the space tries again, and
                // gets the error.
                if self.make_ready().is_err() {
                    let ending = || self.ending.load(Ordering::SeqCst);
                    self.preparer.sleeper.sleep_unless(ending, Some(SPARE_RETRY));
                    self.preparer.wanted.store(true, Ordering::SeqCst);
                }
                continue;
            }
            let ready = || self.preparer.wanted.load(Ordering::SeqCst) || self.ending.load(Ordering::SeqCst);
            self.preparer.sleeper.sleep_unless(ready, None);
        }
    }
}

fn policy_number(policy: FlushPolicy) -> u8 {
    match policy {
        FlushPolicy::Lazy => 0,
        FlushPolicy::AtCommit => 1,
        FlushPolicy::WriteAtCommit => 2,
    }
}

/// Random per opening: what tells this life of the segment files from all earlier ones.
pub(super) fn salt_seed(env: &Env) -> Result<u64, LogError> {
    env.random.next_u64().map_err(|error| io_failed("drawing a salt for the log".to_owned(), error))
}
