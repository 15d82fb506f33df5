//! What the kernel counts for one process and each of its threads, read from `/proc`.
//!
//! | figure | where | threads that ended |
//! | --- | --- | --- |
//! | CPU, ns | the process's CPU clock; `/proc/PID/stat` in ticks where that clock is refused | counted |
//! | user and system CPU, ticks of 10 ms as a rule | `/proc/PID/stat` | counted |
//! | faults | `/proc/PID/stat` | counted |
//! | bytes and calls of read and write | `/proc/PID/io`, own processes and root only | counted |
//! | run-queue time, ns | `/proc/PID/task/TID/schedstat` | **lost** |
//! | context switches | `/proc/PID/task/TID/status` | **lost** |
//!
//! Run-queue time is how long a thread was ready and no core took it: a busy machine shows there and not in CPU. The kernel
//! drops it with the thread, so [`Usage`] says how many threads ended between two samples and which share of the CPU time
//! its thread rows cover: a share far below 1 means that run-queue time is too low.
//!
//! Invariants:
//! 1. A file that cannot be read is `None` in a sample, never 0.
//! 2. A thread is known by its number and its start: a number given out again is a new thread.
//! 3. Differences never go below zero.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::sys;

/// What `/proc/PID/stat` says that we use.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Stat {
    /// Name of the process or thread, at most 15 bytes.
    pub name: String,
    /// One letter: `R` runs, `S` sleeps, `D` waits for a disk, `Z` has ended.
    pub state: char,
    /// Faults served without a disk.
    pub faults_minor: u64,
    /// Faults that waited for a disk.
    pub faults_major: u64,
    /// CPU in user code, ticks.
    pub user_ticks: u64,
    /// CPU in the kernel, ticks.
    pub system_ticks: u64,
    /// Threads alive.
    pub thread_count: u64,
    /// When it started, ticks since the machine did.
    pub start_ticks: u64,
    /// Memory in use, pages.
    pub resident_pages: u64,
}

/// Reads `/proc/PID/stat` or `/proc/PID/task/TID/stat`. The name may hold blanks and parentheses: it ends at the last one.
#[must_use]
pub(crate) fn parse_stat(text: &str) -> Option<Stat> {
    let (head, rest) = text.rsplit_once(')')?;
    let name = head.split_once('(')?.1.to_owned();
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    // proc(5) counts from 1 and `state` is the third; here it is the first.
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    Some(Stat {
        name,
        state: fields.first()?.chars().next()?,
        faults_minor: number(10)?,
        faults_major: number(12)?,
        user_ticks: number(14)?,
        system_ticks: number(15)?,
        thread_count: number(20)?,
        start_ticks: number(22)?,
        resident_pages: number(24)?,
    })
}

/// Reads `schedstat`: nanoseconds on a core, nanoseconds waiting for one, times put on one.
#[must_use]
pub(crate) fn parse_schedstat(text: &str) -> Option<(u64, u64, u64)> {
    let mut numbers = text.split_ascii_whitespace().map(|word| word.parse::<u64>().ok());
    Some((numbers.next()??, numbers.next()??, numbers.next()??))
}

/// The number behind `key` in a file of `key: number` lines, such as `status` and `io`; units are left out.
#[must_use]
pub(crate) fn parse_keyed(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

/// One thread at one moment.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct ThreadSample {
    /// Name the server gave it; `mysqld` for all of them on MySQL 5.7 and older.
    pub name: String,
    /// When it started, ticks since the machine did.
    pub start_ticks: u64,
    /// Nanoseconds on a core.
    pub cpu_ns: u64,
    /// Nanoseconds ready to run and waiting for a core.
    pub run_queue_ns: u64,
    /// Times it gave its core away by itself; `None` if not asked for.
    pub switches_voluntary: Option<u64>,
    /// Times its core was taken from it; `None` if not asked for.
    pub switches_forced: Option<u64>,
}

/// One process at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Process number.
    pub pid: u32,
    /// When it started, ticks since the machine did.
    pub start_ticks: u64,
    /// CPU of all its threads, ended ones included, nanoseconds.
    pub cpu_ns: u64,
    /// The part in user code, in steps of one tick.
    pub user_ns: u64,
    /// The part in the kernel, in steps of one tick.
    pub system_ns: u64,
    /// Whether `cpu_ns` is exact or the sum of ticks.
    pub cpu_is_exact: bool,
    /// Faults without a disk.
    pub faults_minor: u64,
    /// Faults that waited for a disk.
    pub faults_major: u64,
    /// Memory in use, bytes.
    pub resident_bytes: u64,
    /// Bytes that really were read from disks; `None` where the file is closed to us.
    pub disk_read_bytes: Option<u64>,
    /// Bytes that really go to disks.
    pub disk_write_bytes: Option<u64>,
    /// Calls of read and its kin.
    pub read_calls: Option<u64>,
    /// Calls of write and its kin.
    pub write_calls: Option<u64>,
    /// Its threads by number; `None` where the kernel keeps no `schedstat`.
    pub threads: Option<BTreeMap<u32, ThreadSample>>,
}

impl Sample {
    /// Reads all of it. About 10 us and 30 us a thread: meant for the ends of a block, not for every operation.
    ///
    /// # Errors
    /// The process is gone, or `/proc` is not there.
    pub fn take(pid: u32) -> io::Result<Sample> {
        Sample::take_from(Path::new("/proc"), pid)
    }

    fn take_from(proc: &Path, pid: u32) -> io::Result<Sample> {
        let folder = proc.join(pid.to_string());
        let stat = read_stat(&folder)?;
        let tick_ns = 1_000_000_000 / sys::ticks_per_second();
        let ticks_ns = (stat.user_ticks + stat.system_ticks) * tick_ns;
        let exact = sys::process_cpu_ns(pid);
        let io = fs::read_to_string(folder.join("io")).ok();
        let io = |key| io.as_deref().and_then(|text| parse_keyed(text, key));
        Ok(Sample {
            pid,
            start_ticks: stat.start_ticks,
            cpu_ns: exact.unwrap_or(ticks_ns),
            user_ns: stat.user_ticks * tick_ns,
            system_ns: stat.system_ticks * tick_ns,
            cpu_is_exact: exact.is_some(),
            faults_minor: stat.faults_minor,
            faults_major: stat.faults_major,
            resident_bytes: stat.resident_pages * sys::page_bytes(),
            disk_read_bytes: io("read_bytes"),
            disk_write_bytes: io("write_bytes"),
            read_calls: io("syscr"),
            write_calls: io("syscw"),
            threads: take_threads(&folder.join("task")),
        })
    }

    /// What was used since `earlier`.
    ///
    /// # Errors
    /// `earlier` is of another process: the server was restarted in between.
    pub fn since(&self, earlier: &Sample) -> Result<Usage, Restarted> {
        if (self.pid, self.start_ticks) != (earlier.pid, earlier.start_ticks) {
            return Err(Restarted { pid: self.pid });
        }
        let both = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then?));
        let cpu_ns = self.cpu_ns.saturating_sub(earlier.cpu_ns);
        let mut usage = Usage {
            cpu_ns,
            user_ns: self.user_ns.saturating_sub(earlier.user_ns),
            system_ns: self.system_ns.saturating_sub(earlier.system_ns),
            cpu_is_exact: self.cpu_is_exact && earlier.cpu_is_exact,
            faults_minor: self.faults_minor.saturating_sub(earlier.faults_minor),
            faults_major: self.faults_major.saturating_sub(earlier.faults_major),
            resident_bytes_before: earlier.resident_bytes,
            resident_bytes_after: self.resident_bytes,
            disk_read_bytes: both(self.disk_read_bytes, earlier.disk_read_bytes),
            disk_write_bytes: both(self.disk_write_bytes, earlier.disk_write_bytes),
            read_calls: both(self.read_calls, earlier.read_calls),
            write_calls: both(self.write_calls, earlier.write_calls),
            ..Usage::default()
        };
        if let (Some(now), Some(then)) = (&self.threads, &earlier.threads) {
            usage.add_threads(now, then);
        }
        Ok(usage)
    }
}

/// The process that was to be compared with itself is another one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Restarted {
    /// Process number.
    pub pid: u32,
}

impl std::fmt::Display for Restarted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "process {} was restarted between two samples", self.pid)
    }
}

impl std::error::Error for Restarted {}

/// What the threads of one name used.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct ThreadGroup {
    /// How many.
    pub count: u64,
    /// Nanoseconds on a core.
    pub cpu_ns: u64,
    /// Nanoseconds ready and waiting for a core.
    pub run_queue_ns: u64,
}

/// What a process used between two samples.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// CPU of all threads, ended ones included, nanoseconds.
    pub cpu_ns: u64,
    /// The part in user code, in steps of one tick.
    pub user_ns: u64,
    /// The part in the kernel, in steps of one tick.
    pub system_ns: u64,
    /// Whether `cpu_ns` is exact or the sum of ticks.
    pub cpu_is_exact: bool,
    /// Nanoseconds that threads still alive were ready and waited for a core; `None` without `schedstat`.
    pub run_queue_ns: Option<u64>,
    /// Nanoseconds on a core of threads still alive.
    pub thread_cpu_ns: Option<u64>,
    /// Threads that ended: their run-queue time is lost, their CPU is in `cpu_ns`.
    pub threads_ended: u64,
    /// Threads that started and live.
    pub threads_started: u64,
    /// By the name of the thread.
    pub groups: BTreeMap<String, ThreadGroup>,
    /// Context switches by choice, of threads still alive.
    pub switches_voluntary: Option<u64>,
    /// Context switches by force, of threads still alive.
    pub switches_forced: Option<u64>,
    /// Faults without a disk.
    pub faults_minor: u64,
    /// Faults that waited for a disk.
    pub faults_major: u64,
    /// Memory at the first sample, bytes.
    pub resident_bytes_before: u64,
    /// Memory at the second sample, bytes.
    pub resident_bytes_after: u64,
    /// Bytes that really were read from disks.
    pub disk_read_bytes: Option<u64>,
    /// Bytes that really go to disks.
    pub disk_write_bytes: Option<u64>,
    /// Calls of read and its kin.
    pub read_calls: Option<u64>,
    /// Calls of write and its kin.
    pub write_calls: Option<u64>,
}

impl Usage {
    fn add_threads(&mut self, now: &BTreeMap<u32, ThreadSample>, then: &BTreeMap<u32, ThreadSample>) {
        let same = |number: &u32, thread: &ThreadSample| {
            then.get(number).filter(|before| before.start_ticks == thread.start_ticks)
        };
        let nothing = ThreadSample::default();
        let (mut run_queue_ns, mut cpu_ns, mut known) = (0, 0, 0);
        let (mut voluntary, mut forced) = (Some(0), Some(0));
        let sum = |total: Option<u64>, now: Option<u64>, then: Option<u64>, old: bool| -> Option<u64> {
            Some(total? + now?.saturating_sub(if old { then? } else { 0 }))
        };
        for (number, thread) in now {
            let before = same(number, thread);
            let old = before.is_some();
            known += u64::from(old);
            let before = before.unwrap_or(&nothing);
            let thread_cpu_ns = thread.cpu_ns.saturating_sub(before.cpu_ns);
            let thread_wait_ns = thread.run_queue_ns.saturating_sub(before.run_queue_ns);
            cpu_ns += thread_cpu_ns;
            run_queue_ns += thread_wait_ns;
            voluntary = sum(voluntary, thread.switches_voluntary, before.switches_voluntary, old);
            forced = sum(forced, thread.switches_forced, before.switches_forced, old);
            let group = self.groups.entry(thread.name.clone()).or_default();
            group.count += 1;
            group.cpu_ns += thread_cpu_ns;
            group.run_queue_ns += thread_wait_ns;
        }
        self.run_queue_ns = Some(run_queue_ns);
        self.thread_cpu_ns = Some(cpu_ns);
        self.threads_ended = then.len() as u64 - known;
        self.threads_started = now.len() as u64 - known;
        self.switches_voluntary = voluntary;
        self.switches_forced = forced;
    }
}

fn read_stat(folder: &Path) -> io::Result<Stat> {
    let text = fs::read(folder.join("stat"))?;
    parse_stat(&String::from_utf8_lossy(&text))
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "this stat is no /proc/PID/stat"))
}

/// All threads; `None` if the kernel keeps no `schedstat`. A thread that ends while it is read is left out.
fn take_threads(folder: &Path) -> Option<BTreeMap<u32, ThreadSample>> {
    let mut threads = BTreeMap::new();
    for entry in fs::read_dir(folder).ok()?.flatten() {
        let Some(number) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let folder = entry.path();
        let Ok(stat) = read_stat(&folder) else { continue };
        let schedstat = fs::read_to_string(folder.join("schedstat"));
        let Some((cpu_ns, run_queue_ns, _)) = schedstat.ok().as_deref().and_then(parse_schedstat) else {
            // Gone in between, unless the file was never there.
            if folder.join("stat").exists() {
                return None;
            }
            continue;
        };
        let status = fs::read_to_string(folder.join("status")).ok();
        let status = |key| status.as_deref().and_then(|text| parse_keyed(text, key));
        threads.insert(
            number,
            ThreadSample {
                name: stat.name,
                start_ticks: stat.start_ticks,
                cpu_ns,
                run_queue_ns,
                switches_voluntary: status("voluntary_ctxt_switches"),
                switches_forced: status("nonvoluntary_ctxt_switches"),
            },
        );
    }
    Some(threads)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stat_is_read_whatever_the_name_holds() {
        let text = "11009 (my (s)q ld) S 1 11009 11009 0 -1 1077936384 90321 17 5 2 4321 987 1 2 20 0 38 0 2345678 \
                    4563402752 114455 18446744073709551615 1 1 0 0 0 0 0 4096 0 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n";
        let stat = parse_stat(text).unwrap();
        assert_eq!(stat.name, "my (s)q ld");
        assert_eq!((stat.state, stat.thread_count, stat.start_ticks), ('S', 38, 2_345_678));
        assert_eq!((stat.user_ticks, stat.system_ticks), (4321, 987));
        assert_eq!((stat.faults_minor, stat.faults_major, stat.resident_pages), (90321, 5, 114_455));
        for broken in ["", "1 (x", "1 (x) S", "1 (x) S a b c"] {
            assert_eq!(parse_stat(broken), None, "{broken}");
        }
    }

    #[test]
    fn schedstat_and_keyed_files_are_read() {
        assert_eq!(parse_schedstat("148225 3451287 2\n"), Some((148_225, 3_451_287, 2)));
        assert_eq!(parse_schedstat("148225\n"), None);
        let status = "Name:\tmysqld\nVmRSS:\t  457820 kB\nvoluntary_ctxt_switches:\t71\nnonvoluntary_ctxt_switches:\t3\n";
        assert_eq!(parse_keyed(status, "voluntary_ctxt_switches"), Some(71));
        assert_eq!(parse_keyed(status, "nonvoluntary_ctxt_switches"), Some(3));
        assert_eq!(parse_keyed(status, "VmRSS"), Some(457_820));
        assert_eq!(parse_keyed(status, "Vm"), None);
    }

    fn thread(name: &str, start_ticks: u64, cpu_ns: u64, run_queue_ns: u64) -> ThreadSample {
        ThreadSample {
            name: name.into(),
            start_ticks,
            cpu_ns,
            run_queue_ns,
            switches_voluntary: Some(cpu_ns / 10),
            switches_forced: Some(0),
        }
    }

    #[test]
    fn threads_that_ended_keep_their_cpu_and_are_counted() {
        let sample = |cpu_ns, threads: &[(u32, ThreadSample)]| Sample {
            pid: 7,
            start_ticks: 1,
            cpu_ns,
            threads: Some(threads.iter().cloned().collect()),
            ..Sample::default()
        };
        let before = sample(1000, &[(7, thread("main", 1, 100, 10)), (8, thread("conn", 2, 500, 50))]);
        // Thread 8 ended; its number was given to a new one, and 9 started.
        let after = sample(
            2000,
            &[
                (7, thread("main", 1, 300, 30)),
                (8, thread("conn", 9, 200, 5)),
                (9, thread("conn", 9, 100, 6)),
            ],
        );
        let usage = after.since(&before).unwrap();
        assert_eq!((usage.cpu_ns, usage.thread_cpu_ns, usage.run_queue_ns), (1000, Some(500), Some(31)));
        assert_eq!((usage.threads_ended, usage.threads_started), (1, 2));
        assert_eq!(usage.groups["conn"], ThreadGroup { count: 2, cpu_ns: 300, run_queue_ns: 11 });
        assert_eq!(usage.switches_voluntary, Some(20 + 20 + 10));

        let another = Sample { start_ticks: 2, ..after };
        assert_eq!(another.since(&before), Err(Restarted { pid: 7 }));
    }

    #[test]
    fn a_figure_that_cannot_be_read_is_not_zero() {
        let blind = Sample { pid: 7, ..Sample::default() };
        let usage = blind.since(&blind).unwrap();
        assert_eq!((usage.run_queue_ns, usage.switches_voluntary, usage.disk_read_bytes), (None, None, None));
    }

    #[test]
    fn the_own_process_is_measured_with_threads_that_ended() {
        let pid = std::process::id();
        let before = Sample::take(pid).unwrap();
        let spin = std::thread::spawn(|| {
            let start = sys::thread_cpu_ns();
            let mut sum = 0u64;
            while sys::thread_cpu_ns() - start < 30_000_000 {
                sum = std::hint::black_box(sum.wrapping_add(1));
            }
        });
        spin.join().unwrap();
        let usage = Sample::take(pid).unwrap().since(&before).unwrap();
        assert!(usage.cpu_is_exact, "a process may read its own clock");
        assert!(usage.cpu_ns >= 30_000_000, "the thread that ended is in it: {usage:?}");
        assert!(Sample::take(pid).unwrap().resident_bytes > 1 << 20);
        assert!(Sample::take(u32::MAX).is_err(), "no such process");
    }
}
