//! What a durable commit costs: commits per second and CPU per commit, by number of threads and way of flushing.
//!
//! Arms: `inline` (the committer flushes itself or waits for who does), `flusher` (requests go to the flusher thread, a
//! committer waits for the listener), `queued` (as a server does it: a thread keeps appending, up to 32 commits ahead of the
//! acknowledged position, so nobody sleeps for one commit), `append` (no flush: what appending alone costs).
//!
//! `cargo run --release -p store --example log_speed -- [folder] [seconds per arm]`

use env::Env;
use env::disk::{Disk, RealDisk};
use parking_lot::{Condvar, Mutex};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use store::wal::{FlushPolicy, Log, LogError, LogListener, LogOptions, Lsn};

/// A row of sysbench's tables and its key, roughly.
const PAYLOAD_BYTES: usize = 230;
const QUEUED_MAX: usize = 32;

#[derive(Default)]
struct Ear {
    settled: Mutex<Lsn>,
    changed: Condvar,
}

impl LogListener for Ear {
    fn acknowledged(&self, position: Lsn) {
        let mut settled = self.settled.lock();
        *settled = position.max(*settled);
        self.changed.notify_all();
    }

    fn stopped(&self, why: &LogError) {
        eprintln!("{why}");
    }
}

impl Ear {
    fn wait(&self, position: Lsn) {
        let mut settled = self.settled.lock();
        while *settled < position {
            self.changed.wait(&mut settled);
        }
    }
}

/// User and system time of this process so far.
fn cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("this runs on Linux");
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
    let ticks: u64 = fields[11..13].iter().filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}

fn arm(folder: &std::path::Path, way: &str, threads: usize, length: Duration) {
    let env = Env::real();
    let folder = RealDisk.folder(folder, true).expect("a folder to write in");
    Log::remove_files(&*folder).expect("an old log goes");
    let policy = if way == "append" { FlushPolicy::Lazy } else { FlushPolicy::AtCommit };
    let options = LogOptions { flush_policy: policy, ..LogOptions::default() };
    let log = Log::create(&env, Arc::clone(&folder), &options).expect("a new log");
    log.start_threads(&env).expect("threads");
    let ear = Arc::new(Ear::default());
    log.register(Arc::clone(&ear) as Arc<dyn LogListener>);
    let (stop, total) = (AtomicBool::new(false), AtomicU64::new(0));
    let (started, cpu_before) = (Instant::now(), cpu());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let payload = [7; PAYLOAD_BYTES];
                let mut count = 0;
                let mut queue = std::collections::VecDeque::new();
                while !stop.load(Ordering::Relaxed) {
                    let position = log.append(&payload, |_| ()).expect("append");
                    match way {
                        "inline" => log.flush_inline(position).expect("flush"),
                        "flusher" => {
                            log.request_flush(position);
                            ear.wait(position);
                        }
                        "queued" => {
                            log.request_flush(position);
                            queue.push_back(position);
                            if queue.len() >= QUEUED_MAX {
                                ear.wait(queue[0]);
                                let settled = log.acknowledged_lsn();
                                while queue.front().is_some_and(|front| *front <= settled) {
                                    queue.pop_front();
                                }
                            }
                        }
                        _ => {}
                    }
                    count += 1;
                }
                total.fetch_add(count, Ordering::Relaxed);
            });
        }
        // A clean log keeps its length: retire as a checkpoint would.
        while started.elapsed() < length {
            std::thread::sleep(Duration::from_millis(100));
            log.truncate_below(log.durable_lsn()).expect("truncate");
        }
        stop.store(true, Ordering::Relaxed);
    });
    let seconds = started.elapsed().as_secs_f64();
    let cpu_us = (cpu() - cpu_before).as_secs_f64() * 1e6;
    let total = total.load(Ordering::Relaxed) as f64;
    let counters = log.counters();
    println!(
        "{way:8} {threads:7} {:10.0} {:12.2} {:14.1} {:13.0}",
        total / seconds,
        cpu_us / total,
        total / (counters.syncs.max(1)) as f64,
        counters.written_bytes as f64 / total,
    );
    log.close().expect("close");
    Log::remove_files(&*folder).expect("clean up");
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().map_or_else(|| std::env::temp_dir().join("invar-log-speed"), PathBuf::from);
    let seconds = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(3);
    println!("way      threads  commits/s  CPU us/commit  commits/sync  bytes/commit");
    for way in ["inline", "flusher", "queued", "append"] {
        for threads in [1, 4, 16] {
            arm(&folder, way, threads, Duration::from_secs(seconds));
        }
    }
    std::fs::remove_dir_all(&folder).expect("clean up");
}
