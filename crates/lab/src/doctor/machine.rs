//! Tools, rights and limits of this machine.

use std::fs;
use std::path::Path;
use std::time::Duration;

use super::{Check, State};
use crate::host::machine::{Crowding, Machine, parse_pressure};
use crate::host::process::parse_schedstat;
use crate::host::sys;
use crate::host::tool::{Scratch, ToolError, Tools};

/// How long one tool may take to show that it works.
const TRIAL_LIMIT: Duration = Duration::from_secs(20);

use State::{Limited, Missing, Ready};

pub(super) fn checks(tools: &Tools, machine: &Machine) -> Vec<Check> {
    let mut checks = vec![rights(), cores(machine), virtualisation(machine), crowding()];
    checks.extend([schedstat(), pressure(), files(), space()]);
    checks.extend(perf(tools));
    checks.push(bpftrace(tools));
    checks.push(tcpdump(tools));
    checks.extend(toolchains(tools));
    checks
}

/// Names of the capabilities we use, with their bits. Source: capabilities(7).
const CAPABILITIES: [(&str, u32); 6] = [
    ("net_raw", 13),
    ("sys_ptrace", 19),
    ("sys_admin", 21),
    ("sys_resource", 24),
    ("perfmon", 38),
    ("bpf", 39),
];

/// Effective capabilities in `/proc/self/status`.
fn capabilities(status: &str) -> Vec<&'static str> {
    let bits = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let bits = bits.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).unwrap_or(0);
    CAPABILITIES.iter().filter(|(_, bit)| bits >> bit & 1 == 1).map(|(name, _)| *name).collect()
}

fn rights() -> Check {
    let held = capabilities(&fs::read_to_string("/proc/self/status").unwrap_or_default());
    let user = sys::effective_user();
    let found = match held.is_empty() {
        true => format!("user {user}, no capability that helps"),
        false => format!(
            "{}, capabilities {}",
            if user == 0 { "root".to_owned() } else { format!("user {user}") },
            held.join(" ")
        ),
    };
    let sees_all = held.contains(&"sys_ptrace");
    Check::new(
        "rights",
        if sees_all { Ready } else { Limited },
        found,
        "processes of other users can be measured",
        "only servers that run as the same user can be measured; their sockets' owners stay unknown",
        "run as root, or as the server's user",
    )
}

fn cores(machine: &Machine) -> Check {
    let found = format!("{}, {} GB of memory", machine.core_count, machine.memory_bytes >> 30);
    Check::new(
        "cores",
        if machine.core_count >= 4 { Ready } else { Limited },
        found,
        "client and server each have cores of their own",
        "client and server share cores: trust CPU time and counts, not wall time or throughput",
        "measure on a machine with four cores or more, or from another machine",
    )
}

fn virtualisation(machine: &Machine) -> Check {
    let is_bare = machine.virtualisation == "none";
    Check::new(
        "virtualisation",
        if is_bare { Ready } else { Limited },
        machine.virtualisation.clone(),
        "nobody else takes time from our cores",
        "neighbours may take time (steal, below) and hardware counters may be closed",
        "measure on bare metal where that matters",
    )
}

fn crowding() -> Check {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().and_then(|word| word.parse::<f64>().ok()).unwrap_or(0.0);
    let crowding = Crowding::read();
    let steal = crowding.steal_ticks as f64 / crowding.cpu_ticks.max(1) as f64 * 100.0;
    let is_quiet = load < sys::core_count() as f64 / 2.0 && steal < 1.0;
    Check::new(
        "quiet",
        if is_quiet { Ready } else { Limited },
        format!("load {load:.2}, {steal:.1} % of all time stolen since start"),
        "wall times mean something",
        "wall times carry the neighbours' noise; the noise floor grows and small differences vanish in it",
        "stop what else runs here; `top` shows it",
    )
}

fn schedstat() -> Check {
    let text = fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let works = parse_schedstat(&text).is_some_and(|(cpu_ns, ..)| cpu_ns > 0);
    Check::new(
        "schedstat",
        if works { Ready } else { Missing },
        if works { "/proc/PID/task/TID/schedstat" } else { "this kernel keeps none" },
        "time each server thread waited for a core (ended threads excepted)",
        "waiting for a core cannot be told from waiting for anything else",
        "a kernel with CONFIG_SCHED_INFO",
    )
}

fn pressure() -> Check {
    let read = |what: &str| {
        let text = fs::read_to_string(format!("/proc/pressure/{what}")).ok()?;
        parse_pressure(&text).map(|pressure| format!("{what} {:.1} %", pressure.some_60s_percent))
    };
    let found: Vec<String> = ["cpu", "memory", "io"].into_iter().filter_map(read).collect();
    Check::new(
        "pressure (PSI)",
        if found.is_empty() { Missing } else { Ready },
        if found.is_empty() {
            "/proc/pressure is not there".to_owned()
        } else {
            format!("last minute: {}", found.join(", "))
        },
        "tells a crowded machine from a slow server",
        "a crowded machine shows only in stolen time and run queues",
        "a kernel of 4.20 or later with CONFIG_PSI, booted with psi=1",
    )
}

fn files() -> Check {
    const WANTED: u64 = 20_000;
    let limit = sys::open_files_max().unwrap_or(0);
    Check::new(
        "open files",
        if limit >= WANTED { Ready } else { Limited },
        if limit > 1 << 40 { "no limit".to_owned() } else { limit.to_string() },
        "scenarios with 10,000 connections",
        "scenarios with more connections than that stop",
        "ulimit -n 65535 before the run",
    )
}

fn space() -> Check {
    const WANTED: u64 = 1 << 30;
    let folder = std::env::temp_dir();
    let free = sys::free_bytes(&folder).unwrap_or(0);
    Check::new(
        "room for samples",
        if free >= WANTED { Ready } else { Limited },
        format!("{} MB free in {}", free >> 20, folder.display()),
        "stacks and probes can be recorded",
        "a recording may end early",
        "make room, or set TMPDIR",
    )
}

/// perf itself, its sampling by the CPU clock, and hardware events.
fn perf(tools: &Tools) -> Vec<Check> {
    let version = match tools.run("perf", &["--version"], TRIAL_LIMIT) {
        Ok(answer) => answer.first_line().to_owned(),
        Err(error) => {
            let get = "apt install linux-perf (Debian), linux-tools-generic (Ubuntu), dnf install perf";
            return vec![Check::new(
                "perf",
                Missing,
                error.to_string(),
                "stacks of the server: flame graphs and their difference",
                "no stacks: a slowdown is located to server, driver or network, not to functions",
                get,
            )];
        }
    };
    let paranoid = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    let paranoid = paranoid.trim().to_owned();
    let sampled = sample_ourselves(tools);
    let sampling = Check::new(
        "perf",
        if sampled.is_ok() { Ready } else { Missing },
        match &sampled {
            Ok(count) => format!("{version}: {count} samples of a trial, perf_event_paranoid {paranoid}"),
            Err(why) => {
                format!("{version}, but a trial gave nothing: {why} (perf_event_paranoid {paranoid})")
            }
        },
        "stacks of the server by the CPU clock: flame graphs and their difference",
        "no stacks: a slowdown is located to server, driver or network, not to functions",
        "run as root, or sysctl kernel.perf_event_paranoid=1; in a container --cap-add PERFMON",
    );
    let answer =
        tools.run("perf", &["stat", "-x,", "-e", "instructions,cycles,cache-misses", "true"], TRIAL_LIMIT);
    let counted = match &answer {
        Ok(answer) => answer
            .errors
            .lines()
            .filter(|line| line.starts_with(|letter: char| letter.is_ascii_digit()))
            .count(),
        Err(_) => 0,
    };
    let hardware = Check::new(
        "hardware events",
        match counted {
            0 => Missing,
            1 | 2 => Limited,
            _ => Ready,
        },
        format!("{counted} of instructions, cycles, cache-misses count here"),
        "instructions per operation: a count that noise does not touch",
        "CPU time and counts of calls stand in; nothing depends on these",
        "bare metal, or a virtual machine with its PMU passed through",
    );
    vec![sampling, hardware]
}

/// Samples a busy child for a moment; how many stacks came.
fn sample_ourselves(tools: &Tools) -> Result<usize, String> {
    let scratch = Scratch::new().map_err(|error| error.to_string())?;
    let file = scratch.path().join("perf.data");
    let file = file.to_str().ok_or("the temporary folder's name is no UTF-8")?;
    let busy = "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done";
    let record =
        ["record", "-q", "-e", "cpu-clock", "-F", "499", "-g", "-o", file, "--", "/bin/sh", "-c", busy];
    tools.run("perf", &record, TRIAL_LIMIT).map_err(|error| error.to_string())?;
    let answer = tools
        .run("perf", &["script", "-i", file, "-F", "pid,ip"], TRIAL_LIMIT)
        .map_err(|error| error.to_string())?;
    let count = answer.output.lines().filter(|line| line.is_empty()).count();
    if count == 0 { Err("no samples".to_owned()) } else { Ok(count) }
}

fn bpftrace(tools: &Tools) -> Check {
    let check = |state, found: String, get: &str| {
        Check::new(
            "bpftrace",
            state,
            found,
            "counts of calls of a server's functions: evidence that noise does not touch",
            "no call counts: what a function's calls are proportional to stays unknown; status counters stand in",
            get,
        )
    };
    let version = match tools.run("bpftrace", &["--version"], TRIAL_LIMIT) {
        Ok(answer) => answer.first_line().to_owned(),
        Err(error) => {
            return check(
                Missing,
                error.to_string(),
                "apt install bpftrace, dnf install bpftrace; needs root",
            );
        }
    };
    match tools.run("bpftrace", &["-e", "BEGIN { printf(\"works\\n\"); exit(); }"], TRIAL_LIMIT) {
        Ok(answer) if answer.output.contains("works") => {
            // Its BEGIN is itself a uprobe, so those work too.
            check(Ready, format!("{version}, a trial ran"), "")
        }
        Ok(answer) => {
            check(Missing, format!("{version}, a trial said nothing: {}", answer.first_line()), "run as root")
        }
        Err(ToolError::TimedOut(..)) => {
            check(Missing, format!("{version}, a trial hung"), "a newer kernel or bpftrace")
        }
        Err(error) => {
            check(Missing, format!("{version}: {error}"), "run as root; in a container --privileged")
        }
    }
}

fn tcpdump(tools: &Tools) -> Check {
    let found = tools.run("tcpdump", &["--version"], TRIAL_LIMIT);
    let may = sys::effective_user() == 0
        || capabilities(&fs::read_to_string("/proc/self/status").unwrap_or_default()).contains(&"net_raw");
    let (state, found) = match &found {
        Ok(answer) if may => (Ready, answer.first_line().to_owned()),
        Ok(answer) => (Limited, format!("{}, but no right to listen", answer.first_line())),
        Err(error) => (Missing, error.to_string()),
    };
    Check::new(
        "tcpdump",
        state,
        found,
        "recordings of traffic that cannot be sent through the lab's own tap",
        "only traffic through the lab's own tap can be looked at",
        "apt install tcpdump; root or CAP_NET_RAW",
    )
}

/// Runtimes that run real drivers, to check how well they are imitated.
fn toolchains(tools: &Tools) -> Vec<Check> {
    let check = |name: &str, version: Result<String, String>, gives: &str, without: &str, get: &str| {
        let (state, found) = match version {
            Ok(version) => (Ready, version),
            Err(why) => (Missing, why),
        };
        Check::new(name, state, found, gives, without, get)
    };
    let version = |program: &str, arguments: &[&str]| {
        tools
            .run(program, arguments, TRIAL_LIMIT)
            .map(|answer| answer.first_line().to_owned())
            .map_err(|error| error.to_string())
    };
    let mut checks = vec![check(
        "java",
        version("java", &["-version"]),
        "real Connector/J and MariaDB Connector/J beside their imitation",
        "Connector/J is imitated only, unchecked",
        "apt install openjdk-17-jdk-headless",
    )];
    let has_jdk = ["javac", "jcmd", "jstat"].iter().all(|program| tools.find(program).is_some());
    checks.push(check(
        "JDK tools",
        if has_jdk {
            Ok("javac, jcmd, jstat".to_owned())
        } else {
            Err("javac, jcmd or jstat is not installed".to_owned())
        },
        "shims for Java drivers are compiled; stacks and collections of a Java proxy",
        "a Java proxy is a black box: only its two sides are measured",
        "apt install openjdk-17-jdk-headless (a JRE is not enough)",
    ));
    for (name, arguments, driver, get) in [
        ("go", &["version"][..], "go-sql-driver", "apt install golang-go"),
        ("node", &["--version"][..], "mysql2", "apt install nodejs"),
        ("python3", &["--version"][..], "PyMySQL", "apt install python3"),
    ] {
        let (gives, without) = (
            format!("the real {driver} beside its imitation"),
            format!("{driver} is imitated only, unchecked"),
        );
        checks.push(check(name, version(name, arguments), &gives, &without, get));
    }
    let has_names = Path::new("/usr/lib/debug").read_dir().is_ok_and(|mut entries| entries.next().is_some());
    checks.push(check(
        "debug symbols",
        if has_names {
            Ok("/usr/lib/debug is not empty".to_owned())
        } else {
            Err("/usr/lib/debug is empty".to_owned())
        },
        "names of all functions of those stripped servers whose files are there",
        "functions a stripped server does not export are named after their neighbours (~name+2)",
        "install the server's -dbgsym or -debuginfo package",
    ));
    checks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_are_read_by_their_bits() {
        assert_eq!(
            capabilities("Name:\tx\nCapEff:\t000000c001282000\n"),
            ["net_raw", "sys_ptrace", "sys_admin", "sys_resource", "perfmon", "bpf"]
        );
        assert_eq!(capabilities("CapEff:\t0000000000000000\n"), [] as [&str; 0]);
        assert_eq!(capabilities(""), [] as [&str; 0]);
    }
}
