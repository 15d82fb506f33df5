//! The machine under everything: what it is, how crowded it is, and what its hypervisor keeps from it.
//!
//! [`Pressure`] (PSI) is the share of time in which some task waited for a core, memory or a disk. Steal is time in which a
//! core of ours was ready and the hypervisor ran another guest. Both move with wall time and not with the work of a server:
//! when they differ between two arms, wall times must not be compared.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::sys;

/// What makes numbers of two runs comparable at all: never anything measured at boot, which differs from boot to boot.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// As the processor names itself.
    pub cpu_model: String,
    /// Cores online.
    pub core_count: u64,
    /// Kernel release.
    pub kernel: String,
    /// Memory, bytes.
    pub memory_bytes: u64,
    /// Frequency governor; `None` where the guest does not see it.
    pub governor: Option<String>,
    /// `none`, `hypervisor (name)` or `container in hypervisor`.
    pub virtualisation: String,
}

impl Machine {
    /// Reads it from the running system. What cannot be read is empty or 0.
    #[must_use]
    pub fn read() -> Machine {
        let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let cpuinfo = text("/proc/cpuinfo");
        let vendor = ["/sys/class/dmi/id/sys_vendor", "/sys/hypervisor/type"]
            .iter()
            .map(|path| text(path).trim().to_owned())
            .find(|text| !text.is_empty());
        let in_container = ["/.dockerenv", "/run/.containerenv"].iter().any(|path| Path::new(path).exists());
        Machine {
            cpu_model: cpu_model(&cpuinfo),
            core_count: sys::core_count(),
            kernel: text("/proc/sys/kernel/osrelease").trim().to_owned(),
            memory_bytes: super::process::parse_keyed(&text("/proc/meminfo"), "MemTotal").unwrap_or(0) << 10,
            governor: fs::read_to_string("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
                .ok()
                .map(|text| text.trim().to_owned()),
            virtualisation: virtualisation(&cpuinfo, vendor.as_deref(), in_container),
        }
    }

    /// One line that is equal on the same machine on another day.
    #[must_use]
    pub fn key(&self) -> String {
        format!(
            "{} / {} cores / {} / governor {} / {}",
            self.cpu_model,
            self.core_count,
            self.kernel,
            self.governor.as_deref().unwrap_or("unseen"),
            self.virtualisation
        )
    }
}

fn cpu_model(cpuinfo: &str) -> String {
    let value =
        |key: &str| cpuinfo.lines().find_map(|line| Some(line.strip_prefix(key)?.split_once(':')?.1.trim()));
    // ARM kernels give numbers only.
    match (value("model name"), value("CPU implementer"), value("CPU part")) {
        (Some(name), ..) => name.to_owned(),
        (None, Some(who), Some(what)) => format!("ARM {who} part {what}"),
        _ => "unknown".to_owned(),
    }
}

fn virtualisation(cpuinfo: &str, vendor: Option<&str>, in_container: bool) -> String {
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    let is_guest = flags.split_ascii_whitespace().any(|flag| flag == "hypervisor");
    let below = match (is_guest, vendor) {
        (true, Some(vendor)) => format!("hypervisor ({vendor})"),
        (true, None) => "hypervisor".to_owned(),
        (false, _) => "none".to_owned(),
    };
    match (in_container, is_guest) {
        (true, true) => format!("container in {below}"),
        (true, false) => "container".to_owned(),
        (false, _) => below,
    }
}

/// How crowded the machine was, at one moment: sums since it started.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct Crowding {
    /// Time of all cores, ticks.
    pub cpu_ticks: u64,
    /// The part in which they had nothing to do.
    pub idle_ticks: u64,
    /// The part the hypervisor gave to others while we were ready.
    pub steal_ticks: u64,
    /// Microseconds in which some task waited for a core; `None` where the kernel has no PSI.
    pub cpu_some_us: Option<u64>,
    /// Microseconds in which some task waited for memory.
    pub memory_some_us: Option<u64>,
    /// Microseconds in which some task waited for a disk.
    pub io_some_us: Option<u64>,
}

impl Crowding {
    /// Reads it from the running system.
    #[must_use]
    pub fn read() -> Crowding {
        let pressure = |what: &str| {
            let text = fs::read_to_string(format!("/proc/pressure/{what}")).ok()?;
            parse_pressure(&text).map(|pressure| pressure.some_total_us)
        };
        let (cpu_ticks, idle_ticks, steal_ticks) =
            fs::read_to_string("/proc/stat").ok().as_deref().and_then(parse_cpu).unwrap_or_default();
        Crowding {
            cpu_ticks,
            idle_ticks,
            steal_ticks,
            cpu_some_us: pressure("cpu"),
            memory_some_us: pressure("memory"),
            io_some_us: pressure("io"),
        }
    }

    /// What happened since `earlier`, `elapsed_us` microseconds ago.
    #[must_use]
    pub fn since(&self, earlier: &Crowding, elapsed_us: u64) -> CrowdingShare {
        let ticks = self.cpu_ticks.saturating_sub(earlier.cpu_ticks);
        let share = |now: u64, then: u64| match ticks {
            0 => 0.0,
            ticks => now.saturating_sub(then) as f64 / ticks as f64,
        };
        let waited = |now: Option<u64>, then: Option<u64>| {
            Some(now?.saturating_sub(then?) as f64 / elapsed_us.max(1) as f64)
        };
        CrowdingShare {
            busy: 1.0 - share(self.idle_ticks, earlier.idle_ticks).min(1.0),
            steal: share(self.steal_ticks, earlier.steal_ticks),
            cpu_some: waited(self.cpu_some_us, earlier.cpu_some_us),
            memory_some: waited(self.memory_some_us, earlier.memory_some_us),
            io_some: waited(self.io_some_us, earlier.io_some_us),
        }
    }
}

/// How crowded the machine was between two moments; shares of the time, 0 to 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CrowdingShare {
    /// Of all cores' time: not idle.
    pub busy: f64,
    /// Of all cores' time: kept by the hypervisor.
    pub steal: f64,
    /// Somebody waited for a core.
    pub cpu_some: Option<f64>,
    /// Somebody waited for memory.
    pub memory_some: Option<f64>,
    /// Somebody waited for a disk.
    pub io_some: Option<f64>,
}

/// One file below `/proc/pressure`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pressure {
    /// Percent of the last 10 seconds in which some task waited.
    pub some_10s_percent: f64,
    /// Percent of the last minute.
    pub some_60s_percent: f64,
    /// Microseconds since the machine started.
    pub some_total_us: u64,
}

/// Reads a file below `/proc/pressure`.
#[must_use]
pub(crate) fn parse_pressure(text: &str) -> Option<Pressure> {
    let line = text.lines().find_map(|line| line.strip_prefix("some "))?;
    let value =
        |key: &str| line.split_ascii_whitespace().find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
    Some(Pressure {
        some_10s_percent: value("avg10")?.parse().ok()?,
        some_60s_percent: value("avg60")?.parse().ok()?,
        some_total_us: value("total")?.parse().ok()?,
    })
}

/// Reads the first line of `/proc/stat`: all ticks, idle ones (waiting for a disk included), stolen ones.
fn parse_cpu(text: &str) -> Option<(u64, u64, u64)> {
    let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks: Vec<u64> = line.split_ascii_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
    // user nice system idle iowait irq softirq steal; the guest columns behind are inside user and nice already.
    let all = ticks.iter().take(8).sum();
    Some((all, ticks.get(3)? + ticks.get(4).unwrap_or(&0), *ticks.get(7).unwrap_or(&0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pressure_and_stolen_time_are_read() {
        let text = "some avg10=78.70 avg60=63.92 avg300=31.39 total=13351845944\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n";
        let pressure = parse_pressure(text).unwrap();
        assert_eq!(pressure.some_total_us, 13_351_845_944);
        assert!((pressure.some_10s_percent - 78.7).abs() < 1e-9);
        assert_eq!(parse_pressure("full avg10=0.00"), None);

        let before = parse_cpu("cpu  100 10 50 800 20 0 10 10 5 5\ncpu0 1 2 3\n").unwrap();
        assert_eq!(before, (1000, 820, 10));
        let crowding = |(cpu_ticks, idle_ticks, steal_ticks), us| Crowding {
            cpu_ticks,
            idle_ticks,
            steal_ticks,
            cpu_some_us: Some(us),
            ..Crowding::default()
        };
        let share = crowding((2000, 1020, 110), 500_000).since(&crowding(before, 0), 1_000_000);
        assert!((share.busy - 0.8).abs() < 1e-9 && (share.steal - 0.1).abs() < 1e-9, "{share:?}");
        assert_eq!((share.cpu_some, share.io_some), (Some(0.5), None));
    }

    #[test]
    fn a_machine_is_named() {
        let cpuinfo = "processor\t: 0\nmodel name\t: AMD EPYC\nflags\t\t: fpu hypervisor sse\n";
        assert_eq!(cpu_model(cpuinfo), "AMD EPYC");
        assert_eq!(virtualisation(cpuinfo, Some("KVM"), true), "container in hypervisor (KVM)");
        assert_eq!(virtualisation("flags : fpu\n", Some("Dell"), false), "none");
        assert_eq!(cpu_model("CPU implementer : 0x41\nCPU part : 0xd0c\n"), "ARM 0x41 part 0xd0c");
        let machine = Machine::read();
        assert!(machine.core_count >= 1 && !machine.kernel.is_empty(), "{machine:?}");
        assert_eq!(machine.key(), Machine::read().key());
    }
}
