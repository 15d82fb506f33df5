//! Files of the log, as a crash, a bad medium or another program may have left them.

use env::disk::FileOptions;
use env::random::Rng;
use env::simulated::SimWorld;
use std::path::Path;
use std::sync::Arc;
use store::wal::{Log, LogError, LogOptions, Lsn, Parts, Replay, SEGMENT_BYTES_MIN};

const FOLDER: &str = "/log";
const NAMES: [&str; 2] = ["log.00000001", "log.00000002"];

/// Opens and reads a log whose first two segment files are the two halves of `input`. It may be refused or end early; what
/// is read has rising positions, and if it ends the log can be appended to and read again.
pub fn log(input: &[u8]) {
    let (first, second) =
        input.split_at(input.len().min(usize::try_from(SEGMENT_BYTES_MIN).unwrap_or(usize::MAX)));
    let world = SimWorld::new(1);
    let Ok(folder) = world.env().disk.folder(Path::new(FOLDER), true) else { return };
    for (name, bytes) in NAMES.into_iter().zip([first, second]) {
        if bytes.is_empty() {
            continue;
        }
        let written = folder.open(name, FileOptions::create_new()).and_then(|file| file.write_at(0, bytes));
        assert!(written.is_ok(), "the simulated disk is healthy");
    }
    let Ok(mut replay) = Replay::open(world.env(), Arc::clone(&folder), Lsn::FIRST) else { return };
    let mut commits = Vec::new();
    loop {
        match replay.next() {
            Ok(Some(commit)) => {
                assert!(commits.last().is_none_or(|(position, _)| *position < commit.position));
                assert!(commit.payload.len() <= input.len());
                commits.push((commit.position, commit.payload));
            }
            Ok(None) => break,
            Err(LogError::Corrupt { .. }) => return,
            Err(other) => panic!("reading a healthy disk: {other}"),
        }
    }
    let options = LogOptions { segment_bytes: SEGMENT_BYTES_MIN, ..LogOptions::default() };
    let log = replay.into_log(&options).expect("a log that was read can be continued");
    let position = log.append(b"and one more", |_| ()).expect("the log is open");
    log.flush_inline(position).expect("the disk is healthy");
    drop(log);
    let mut again = Replay::open(world.env(), folder, Lsn::FIRST).expect("what was opened once opens again");
    for (position, payload) in commits {
        let commit = again.next().expect("readable").expect("still there");
        assert_eq!((commit.position, commit.payload), (position, payload));
    }
    assert_eq!(again.next().expect("readable").expect("still there").payload, b"and one more");
    assert!(again.next().expect("readable").is_none());
}

/// Well-formed inputs for [`log`].
///
/// # Panics
/// If the log cannot do on a healthy disk what it is for.
#[must_use]
pub fn log_samples() -> Vec<Vec<u8>> {
    let mut samples = Vec::new();
    for seed in 0..6 {
        let world = SimWorld::new(seed);
        let folder = world.env().disk.folder(Path::new(FOLDER), true).expect("a folder");
        let options = LogOptions { segment_bytes: SEGMENT_BYTES_MIN, ..LogOptions::default() };
        let log = Log::create(world.env(), folder, &options).expect("a log");
        let mut rng = Rng::new(seed);
        let mut parts = Parts::default();
        for number in 0..(2 + 4 * seed) {
            let mut payload = vec![0; rng.index(900)];
            rng.fill(&mut payload);
            if number % 5 == 1 {
                log.append_part(&payload, &mut parts).expect("append");
            }
            let position =
                log.append_with_parts(&payload, std::mem::take(&mut parts), |_| ()).expect("append");
            if rng.chance(500) {
                log.flush_inline(position).expect("flush");
            }
        }
        log.close().expect("close");
        let mut sample = world.disk().content(Path::new(FOLDER), NAMES[0]).expect("the first segment");
        sample.extend(world.disk().content(Path::new(FOLDER), NAMES[1]).unwrap_or_default());
        samples.push(sample);
    }
    samples
}
