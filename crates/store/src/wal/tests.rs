//! What the log promises, under crashes, damage, failing devices and many threads.

use super::*;
use env::disk::{Disk, File, FileOptions, Folder, FolderLock};
use env::random::Rng;
use env::simulated::{Faults, SimWorld};
use env::{Env, disk::RealDisk};
use parking_lot::Mutex;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

fn small() -> LogOptions {
    LogOptions { segment_bytes: SEGMENT_BYTES_MIN, ..LogOptions::default() }
}

fn folder(env: &Env) -> Arc<dyn Folder> {
    env.disk.folder(Path::new("/log"), true).unwrap()
}

fn read_all(env: &Env, after: Lsn) -> Result<(Vec<Commit>, Replay), LogError> {
    let mut replay = Replay::open(env, folder(env), after)?;
    let mut commits = Vec::new();
    while let Some(commit) = replay.next()? {
        commits.push(commit);
    }
    Ok((commits, replay))
}

fn payload(number: u64, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len.max(8)];
    Rng::new(number).fill(&mut bytes);
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    bytes
}

#[test]
fn what_was_appended_comes_back_in_order_across_segments_and_lives() {
    let world = SimWorld::new(1);
    let env = world.env();
    let mut log = Log::create(env, folder(env), &small()).unwrap();
    assert!(matches!(Log::create(env, folder(env), &small()), Err(LogError::AlreadyExists)));
    // What opens on a full disk.
    let files = segment::list(&*folder(env)).unwrap();
    assert_eq!((files.numbers.len(), files.spares.len()), (1, 1));
    assert_eq!(log.end_lsn(), Lsn::FIRST);
    let mut written = Vec::new();
    for life in 0..3 {
        for number in 0..60 {
            let payload = payload(life * 100 + number, 1 + 37 * number as usize);
            let mut published = Lsn(0);
            let position = log.append(&payload, |position| published = position).unwrap();
            assert_eq!(published, position);
            assert!(written.last().is_none_or(|before: &Commit| before.position < position));
            written.push(Commit { position, payload });
            if number % 7 == 0 {
                log.flush_inline(position).unwrap();
                assert_eq!(log.durable_lsn(), position);
            }
        }
        let middle = written[written.len() / 2].position;
        log.close().unwrap();
        assert_eq!(read_all(env, middle).unwrap().0, written[written.len() / 2 + 1..]);
        let (commits, replay) = read_all(env, Lsn::FIRST).unwrap();
        assert_eq!(commits, written);
        log = replay.into_log(&small()).unwrap();
        assert_eq!(log.end_lsn(), written.last().unwrap().position);
    }
    Log::remove_files(&*folder(env)).unwrap();
    assert!(matches!(read_all(env, Lsn::FIRST), Err(LogError::Missing { .. })));
}

#[test]
fn on_a_full_disk_a_log_goes_on_in_a_segment_that_a_checkpoint_let_go() {
    let world = SimWorld::new(9);
    let env = world.env();
    let log = Log::create(env, folder(env), &small()).unwrap();
    let mut number = 0;
    while segment::list(&*folder(env)).unwrap().numbers.len() < 3 {
        let position = log.append(&payload(number, 900), |_| ()).unwrap();
        log.flush_inline(position).unwrap();
        number += 1;
    }
    let end = log.end_lsn();
    drop(log);
    let world = world.crash();
    let env = world.env();
    let max = world.disk().used_bytes(false);
    world.disk().plan(Faults { space_bytes_max: Some(max), ..Faults::default() });
    let (commits, mut replay) = read_all(env, Lsn::FIRST).unwrap();
    assert_eq!(commits.len() as u64, number);
    assert!(!replay.make_ready(&small()).unwrap(), "no spare, no room");
    replay.retire_below(commits[0].position, &small()).unwrap();
    assert!(!replay.make_ready(&small()).unwrap(), "the first segment has commits after that");
    replay.retire_below(end, &small()).unwrap();
    assert!(replay.make_ready(&small()).unwrap());
    let log = replay.into_log(&small()).unwrap();
    let position = log.append(b"more", |_| ()).unwrap();
    log.flush_inline(position).unwrap();
    drop(log);
    let (commits, _) = read_all(world.crash().env(), end).unwrap();
    assert_eq!(commits.len(), 1);
    assert_eq!(commits[0].payload, b"more");
}

#[test]
fn each_policy_acknowledges_when_it_says() {
    let world = SimWorld::new(2);
    let env = world.env();
    let log = Log::create(env, folder(env), &small()).unwrap();
    let syncs = || world.disk().counts().syncs;
    let before = syncs();
    log.set_policy(FlushPolicy::Lazy);
    let position = log.append(b"lazy", |_| ()).unwrap();
    log.flush_inline(position).unwrap();
    assert_eq!((log.acknowledged_lsn(), log.counters().writes, syncs()), (position, 0, before));
    log.set_policy(FlushPolicy::WriteAtCommit);
    let position = log.append(b"written", |_| ()).unwrap();
    assert!(log.acknowledged_lsn() < position);
    log.flush_inline(position).unwrap();
    assert_eq!((log.acknowledged_lsn(), log.counters().writes, syncs()), (position, 1, before));
    assert_eq!(log.durable_lsn(), Lsn::FIRST);
    log.set_policy(FlushPolicy::AtCommit);
    assert_eq!(log.acknowledged_lsn(), Lsn::FIRST);
    log.flush_inline(position).unwrap(); // Nothing left to write, but to sync.
    assert_eq!((log.durable_lsn(), log.counters().writes, syncs()), (position, 1, before + 1));
}

#[test]
fn an_acknowledged_block_is_never_written_again() {
    let world = SimWorld::new(3);
    let env = world.env();
    let log = Log::create(env, folder(env), &small()).unwrap();
    let first = log.append(b"one", |_| ()).unwrap();
    log.flush_inline(first).unwrap();
    let second = log.append(b"two", |_| ()).unwrap();
    assert!(second.0 - 3 >= align_up(first.0), "starts on the next block");
    let third = log.append(b"three", |_| ()).unwrap();
    assert_eq!(third.0, second.0 + record::HEADER_BYTES as u64 + 5, "a batch is contiguous");
}

#[test]
fn truncation_keeps_what_replay_needs_and_uses_files_again() {
    let world = SimWorld::new(4);
    let env = world.env();
    let log = Log::create(env, folder(env), &small()).unwrap();
    let mut early = Parts::default();
    log.append_part(b"begun early, ", &mut early).unwrap();
    let mut abandoned = Parts::default();
    log.append_part(&[1; 10_000], &mut abandoned).unwrap();
    log.abandon(abandoned);
    let fill = || {
        let mut position = Lsn(0);
        for number in 0..40 {
            position = log.append(&payload(number, 1000), |_| ()).unwrap();
            log.flush_inline(position).unwrap();
        }
        position
    };
    let file_count = || env.disk.folder(Path::new("/log"), false).unwrap().list().unwrap().len();
    let checkpoint = fill();
    let before = file_count();
    log.truncate_below(checkpoint).unwrap();
    assert_eq!(file_count(), before, "the early part is in the first segment");
    let late = log.append_with_parts(b"ended late", early, |_| ()).unwrap();
    log.flush_inline(late).unwrap();
    log.truncate_below(checkpoint).unwrap();
    let (commits, _) = read_all(env, checkpoint).unwrap();
    assert_eq!(commits, [Commit { position: late, payload: b"begun early, ended late".to_vec() }]);
    for _ in 0..10 {
        log.truncate_below(fill()).unwrap();
    }
    assert!(file_count() <= before + SPARE_SEGMENTS_MAX, "files are used again: {}", file_count());
    assert!(matches!(read_all(env, checkpoint), Err(LogError::Missing { .. })));
}

#[test]
fn what_a_transaction_takes_back_does_not_count() {
    let world = SimWorld::new(11);
    let env = world.env();
    let log = Log::create(env, folder(env), &small()).unwrap();
    let mut expected = Vec::new();
    for (number, cuts) in
        [vec![0], vec![5], vec![4_999], vec![5_000], vec![5_001], vec![12_000, 5_000, 4_000]]
            .into_iter()
            .enumerate()
    {
        // Longer than a part may be here, so each comes to several.
        let mut whole = Vec::new();
        let mut parts = Parts::default();
        let append = |whole: &mut Vec<u8>, parts: &mut Parts, len: usize| {
            let bytes = payload(number as u64 + 1, len);
            log.append_part(&bytes, parts).unwrap();
            whole.extend(bytes);
            assert_eq!(parts.bytes(), whole.len() as u64);
        };
        append(&mut whole, &mut parts, 5_000);
        append(&mut whole, &mut parts, 9_000);
        for cut in cuts {
            whole.truncate(cut);
            log.cut(&mut parts, cut as u64);
            assert_eq!((parts.bytes(), parts.is_empty()), (cut as u64, cut == 0));
            log.append(b"another", |_| ()).unwrap();
            append(&mut whole, &mut parts, 700);
        }
        whole.extend(b"the end");
        let position = log.append_with_parts(b"the end", parts, |_| ()).unwrap();
        expected.push(Commit { position, payload: whole });
    }
    log.close().unwrap();
    let (mut commits, _) = read_all(env, Lsn::FIRST).unwrap();
    commits.retain(|commit| commit.payload != b"another");
    assert_eq!(commits, expected);
}

#[test]
fn a_transaction_that_goes_back_too_far_cannot_commit_and_keeps_no_log() {
    let world = SimWorld::new(12);
    let env = world.env();
    let options = LogOptions { transaction_span_bytes_max: 60_000, ..small() };
    let log = Log::create(env, folder(env), &options).unwrap();
    let too_long = |result: Result<Lsn, LogError>| {
        assert!(matches!(result, Err(LogError::TransactionTooLong { span_bytes_max: 60_000 })), "{result:?}");
    };
    // One by its own length, before anything was released: what it has stays good.
    let mut long = Parts::default();
    while let Ok(()) = log.append_part(&[1; 3_000], &mut long) {}
    assert_eq!(long.bytes(), 3_000 * 19);
    too_long(log.append_part(&[1; 3_000], &mut long).map(|()| Lsn(0)));
    let mut old = Parts::default();
    log.append_part(b"old", &mut old).unwrap();
    let long = log.append_with_parts(b"end", long, |_| ()).unwrap();
    // One by its age.
    let mut position = long;
    for number in 0..80 {
        position = log.append(&payload(number, 1_000), |_| ()).unwrap();
    }
    log.flush_inline(position).unwrap();
    log.truncate_below(position).unwrap();
    let segments = segment::list(&*folder(env)).unwrap().numbers;
    assert!(segments.len() <= 2, "{segments:?}");
    too_long(log.append_part(b"more", &mut old).map(|()| Lsn(0)));
    too_long(log.append_with_parts(b"end", old, |_| panic!("it does not count")));
    let position = log.append(b"others go on", |_| ()).unwrap();
    log.close().unwrap();
    let (commits, _) = read_all(env, position).unwrap();
    assert_eq!(commits, []);
}

#[test]
fn a_failed_write_or_sync_stops_the_log_until_it_is_reopened() {
    struct Listener(AtomicU64);
    impl LogListener for Listener {
        fn acknowledged(&self, _position: Lsn) {}
        fn stopped(&self, _why: &LogError) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    for fails_at_sync in [false, true] {
        let world = SimWorld::new(5);
        let env = world.env();
        let log = Log::create(env, folder(env), &small()).unwrap();
        let ear = Arc::new(Listener(AtomicU64::new(0)));
        log.register(Arc::clone(&ear) as Arc<dyn LogListener>);
        let safe = log.append(b"safe", |_| ()).unwrap();
        log.flush_inline(safe).unwrap();
        let at = Some(world.disk().counts().changes);
        world.disk().plan(if fails_at_sync {
            Faults { fail_sync_at_change: at, ..Faults::default() }
        } else {
            Faults { fail_write_at_change: at, ..Faults::default() }
        });
        let unsafe_position = log.append(b"unsafe", |_| ()).unwrap();
        assert!(matches!(log.flush_inline(unsafe_position), Err(LogError::Stopped { .. })));
        let mut published = false;
        assert!(matches!(log.append(b"x", |_| published = true), Err(LogError::Stopped { .. })));
        assert!(!published && log.stopped().is_some());
        assert!(log.flush_inline(unsafe_position).is_err() && log.truncate_below(safe).is_err());
        log.flush_inline(safe).unwrap(); // What was promised stays promised.
        assert_eq!(log.durable_lsn(), safe);
        assert!(ear.0.load(Ordering::Relaxed) >= 1);
        drop(log);
        let after = world.crash();
        let (commits, replay) = read_all(after.env(), Lsn::FIRST).unwrap();
        assert_eq!(commits[0].payload, b"safe");
        assert!(commits.len() <= 2);
        let log = replay.into_log(&small()).unwrap();
        let position = log.append(b"again", |_| ()).unwrap();
        log.flush_inline(position).unwrap();
    }
}

#[test]
fn damage_to_durable_bytes_is_told_from_a_torn_end() {
    let world = SimWorld::new(6);
    let env = world.env();
    let log = Log::create(env, folder(env), &LogOptions { segment_bytes: 64 << 10, ..small() }).unwrap();
    let mut positions = Vec::new();
    for number in 0..5 {
        positions.push(log.append(&payload(number, 500), |_| ()).unwrap());
        log.flush_inline(positions[number as usize]).unwrap();
    }
    drop(log);
    let segment = segment::open(&*folder(env), 1).unwrap().0;
    for (index, position) in positions.iter().enumerate() {
        for back in [1, 300, 520, 540] {
            let offset = usize::try_from(segment.offset_of(position.0 - back)).unwrap();
            assert!(world.disk().flip_bit(Path::new("/log"), "log.00000001", offset, 3));
            let result = read_all(env, Lsn::FIRST);
            if index + 1 < positions.len() {
                assert!(
                    matches!(result, Err(LogError::Corrupt { .. })),
                    "record {index}, {back} before its end"
                );
            } else {
                // The last record: nobody behind it can witness, so it looks like a tear.
                assert_eq!(result.unwrap().0.len(), index);
            }
            assert!(world.disk().flip_bit(Path::new("/log"), "log.00000001", offset, 3));
        }
    }
    assert_eq!(read_all(env, Lsn::FIRST).unwrap().0.len(), 5);
    assert_eq!(read_all(env, positions[2]).unwrap().0.len(), 2);
}

/// What a seed did wrong, if it did.
type CheckResult = Result<(), String>;

/// Several lives of a log under random work, each ended by a crash at a random change; checks invariant 2 after each.
fn crash_rounds(seed: u64, skips_syncs: bool) -> CheckResult {
    let mut rng = Rng::new(seed ^ 0xabcd);
    let mut world = SimWorld::new(seed);
    let options = LogOptions {
        buffer_bytes_max: if rng.chance(300) { 2000 } else { 1 << 20 },
        flush_policy: [FlushPolicy::AtCommit, FlushPolicy::AtCommit, FlushPolicy::WriteAtCommit]
            [rng.index(3)],
        ..small()
    };
    // All commits that may exist, by position; which of them surely do; where the checkpoint stands.
    let mut appended: Vec<Commit> = Vec::new();
    let mut durable = Lsn(0);
    let mut checkpoint = Lsn::FIRST;
    let mut created = false;
    let mut number = 0;
    for round in 0..4 {
        let env = if skips_syncs { skipping_syncs(world.env(), seed) } else { world.env().clone() };
        let span = if rng.chance(500) { 15 } else { 90 };
        let crash_at = world.disk().counts().changes + 1 + rng.below(span);
        world.disk().plan(Faults { crash_at_change: Some(crash_at), ..Faults::default() });
        let mut work = || -> Result<(), LogError> {
            let mut log = if created {
                let (commits, replay) = read_all(&env, checkpoint)?;
                check(&appended, &commits, checkpoint, durable).map_err(|what| LogError::Stopped {
                    why: format!("CHECK round {round}: {what}").into(),
                })?;
                // What is gone is gone for good.
                let end = replay.position();
                appended.retain(|commit| commit.position <= end);
                let log = replay.into_log(&options)?;
                durable = log.durable_lsn();
                log
            } else {
                Log::remove_files(&*folder(&env))?;
                Log::create(&env, folder(&env), &options)?
            };
            created = true;
            let mut open_parts: Vec<(Parts, Vec<u8>)> = Vec::new();
            loop {
                number += 1;
                match rng.below(12) {
                    0..=5 => {
                        let size = [20, 200, 1500, 5000, 9000][rng.index(5)];
                        let mut whole = payload(number, rng.index(size));
                        let (parts, start) = if !open_parts.is_empty() && rng.chance(300) {
                            open_parts.swap_remove(rng.index(open_parts.len()))
                        } else {
                            (Parts::default(), Vec::new())
                        };
                        let mut position = Lsn(0);
                        let result = log.append_with_parts(&whole, parts, |lsn| position = lsn);
                        if position > Lsn(0) {
                            whole.splice(..0, start);
                            appended.push(Commit { position, payload: whole });
                        }
                        result?;
                    }
                    6 => {
                        let bytes = payload(number, rng.index(6000));
                        let goes_on = !open_parts.is_empty() && rng.chance(500);
                        let (mut parts, mut whole) = match goes_on {
                            true => open_parts.swap_remove(rng.index(open_parts.len())),
                            false => (Parts::default(), Vec::new()),
                        };
                        log.append_part(&bytes, &mut parts)?;
                        whole.extend(bytes);
                        if rng.chance(400) {
                            whole.truncate(rng.index(whole.len() + 1));
                            log.cut(&mut parts, whole.len() as u64);
                        }
                        open_parts.push((parts, whole));
                    }
                    7 => {
                        if let Some((parts, _)) = open_parts.pop() {
                            log.abandon(parts);
                        }
                    }
                    8..=9 => {
                        log.flush_inline(log.end_lsn())?;
                        durable = durable.max(log.durable_lsn());
                    }
                    10 => {
                        log.sync_inline(log.end_lsn())?;
                        durable = log.end_lsn();
                    }
                    _ if rng.chance(300) => {
                        log.sync_inline(log.end_lsn())?;
                        durable = log.end_lsn();
                        checkpoint = log.end_lsn();
                        log.truncate_below(checkpoint)?;
                    }
                    _ if rng.chance(100) => {
                        // A clean end; parts left open then count for nothing.
                        log.close()?;
                        let (commits, replay) = read_all(&env, checkpoint)?;
                        durable = replay.position();
                        check(&appended, &commits, checkpoint, durable).map_err(|what| {
                            LogError::Stopped { why: format!("CHECK after close: {what}").into() }
                        })?;
                        open_parts.clear();
                        log = replay.into_log(&options)?;
                    }
                    _ => {}
                }
            }
        };
        let error = work().expect_err("ends by the crash");
        let text = error.to_string();
        if text.contains("CHECK") || !text.contains("simulated power failure") {
            return Err(format!("seed {seed} round {round}: {text}"));
        }
        world = world.crash();
    }
    Ok(())
}

fn check(appended: &[Commit], found: &[Commit], checkpoint: Lsn, durable: Lsn) -> CheckResult {
    let expected: Vec<&Commit> = appended.iter().filter(|commit| commit.position > checkpoint).collect();
    if found.len() > expected.len() {
        return Err(format!("{} commits invented", found.len() - expected.len()));
    }
    for (found, expected) in found.iter().zip(&expected) {
        if found != *expected {
            return Err(format!("position {} is not what was appended", expected.position.0));
        }
    }
    match expected.get(found.len()) {
        Some(lost) if lost.position <= durable => Err(format!("durable commit {} is lost", lost.position.0)),
        _ => Ok(()),
    }
}

/// A world whose disk skips some syncs and says yes.
fn skipping_syncs(env: &Env, seed: u64) -> Env {
    Env {
        disk: Arc::new(SyncSkippingDisk {
            inner: Arc::clone(&env.disk),
            rng: Arc::new(Mutex::new(Rng::new(seed))),
        }),
        ..env.clone()
    }
}

#[derive(Debug)]
struct SyncSkippingDisk {
    inner: Arc<dyn Disk>,
    rng: Arc<Mutex<Rng>>,
}

#[derive(Debug)]
struct SyncSkippingFolder {
    inner: Arc<dyn Folder>,
    rng: Arc<Mutex<Rng>>,
}

#[derive(Debug)]
struct SyncSkippingFile {
    inner: Arc<dyn File>,
    rng: Arc<Mutex<Rng>>,
}

impl Disk for SyncSkippingDisk {
    fn folder(&self, path: &Path, create: bool) -> io::Result<Arc<dyn Folder>> {
        let inner = self.inner.folder(path, create)?;
        Ok(Arc::new(SyncSkippingFolder { inner, rng: Arc::clone(&self.rng) }))
    }
}

impl Folder for SyncSkippingFolder {
    fn path(&self) -> &Path {
        self.inner.path()
    }
    fn open(&self, name: &str, options: FileOptions) -> io::Result<Arc<dyn File>> {
        Ok(Arc::new(SyncSkippingFile { inner: self.inner.open(name, options)?, rng: Arc::clone(&self.rng) }))
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
        if self.rng.lock().chance(100) { Ok(()) } else { self.inner.sync() }
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

#[test]
fn crashes_at_any_change_lose_nothing_acknowledged() {
    let first = std::env::var("LOG_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    let count = std::env::var("LOG_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(3000);
    let failed: Vec<String> =
        (first..first + count).filter_map(|seed| crash_rounds(seed, false).err()).collect();
    assert!(
        failed.is_empty(),
        "{} of {count} seeds failed: {:#?}",
        failed.len(),
        &failed[..failed.len().min(5)]
    );
}

#[test]
fn a_skipped_sync_is_noticed() {
    let caught = (0..200).filter(|&seed| crash_rounds(seed, true).is_err()).count();
    assert!(caught >= 10, "a disk that skips one sync in ten was caught by {caught} of 200 seeds");
}

#[test]
fn many_threads_share_flushes_and_every_commit_is_there() {
    const THREADS: u64 = 8;
    const COMMITS: u64 = 200;
    struct Listener {
        settled: Mutex<Lsn>,
        changed: parking_lot::Condvar,
    }
    impl LogListener for Listener {
        fn acknowledged(&self, position: Lsn) {
            let mut settled = self.settled.lock();
            *settled = position.max(*settled);
            self.changed.notify_all();
        }
        fn stopped(&self, why: &LogError) {
            panic!("{why}");
        }
    }
    let temporary = tempfile::tempdir().unwrap();
    let env = Env::real();
    let folder = RealDisk.folder(temporary.path(), false).unwrap();
    let options = LogOptions { segment_bytes: 256 << 10, ..LogOptions::default() };
    let log = Log::create(&env, Arc::clone(&folder), &options).unwrap();
    log.start_threads(&env).unwrap();
    let ear = Arc::new(Listener { settled: Mutex::new(Lsn(0)), changed: parking_lot::Condvar::new() });
    log.register(Arc::clone(&ear) as Arc<dyn LogListener>);
    let newest = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (log, ear, newest) = (&log, &ear, &newest);
            scope.spawn(move || {
                for number in 0..COMMITS {
                    let bytes = payload(thread * COMMITS + number, 100);
                    let position = log
                        .append(&bytes, |position| {
                            // Under the mutex: publishing order is log order.
                            assert!(newest.swap(position.0, Ordering::Relaxed) < position.0);
                        })
                        .unwrap();
                    if thread % 2 == 0 {
                        log.flush_inline(position).unwrap();
                    } else {
                        log.request_flush(position);
                        let mut settled = ear.settled.lock();
                        while *settled < position {
                            ear.changed.wait(&mut settled);
                        }
                    }
                    assert!(log.durable_lsn() >= position);
                }
            });
        }
    });
    let counters = log.counters();
    assert_eq!(counters.commits, THREADS * COMMITS);
    drop(log);
    let mut replay = Replay::open(&env, folder, Lsn::FIRST).unwrap();
    let mut seen = vec![false; usize::try_from(THREADS * COMMITS).unwrap()];
    while let Some(commit) = replay.next().unwrap() {
        let number = record::u64_at(&commit.payload, 0);
        assert_eq!(commit.payload, payload(number, 100));
        assert!(!std::mem::replace(&mut seen[usize::try_from(number).unwrap()], true));
    }
    assert!(seen.iter().all(|&seen| seen));
}
