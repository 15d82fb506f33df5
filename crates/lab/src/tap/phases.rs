//! Times and bytes per kind of command, added up.

use std::collections::BTreeMap;

use serde::Serialize;

use super::conversation::{COMPRESSED, TLS};
use crate::evidence::PhaseTimes;
use crate::format::nanoseconds;

/// One command as the tap saw it; nanoseconds since the tap's start.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Seen {
    /// When the answer before had ended: the client thinks from here. Absent while another command was still in flight.
    pub idle_since_ns: Option<u64>,
    /// First byte of the command.
    pub first_in_ns: u64,
    /// Its last.
    pub last_in_ns: u64,
    /// First byte of the answer; absent if it has none.
    pub first_out_ns: Option<u64>,
    /// Its last.
    pub last_out_ns: u64,
    /// Bytes of the command, headers of packets included.
    pub bytes_up: u64,
    /// Bytes of the answer.
    pub bytes_down: u64,
}

/// Commands of one kind, added up.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
pub struct Totals {
    /// How many.
    pub count: u64,
    /// From the end of the answer before to the first byte.
    pub think_ns: u64,
    /// The middle of the last of these times, which a pause does not move; 0 until the stretch is taken.
    pub think_median_ns: u64,
    /// From the first byte to the last.
    pub upload_ns: u64,
    /// From there to the answer's first.
    pub server_ns: u64,
    /// From the answer's first byte to its last.
    pub download_ns: u64,
    /// Bytes of the commands.
    pub bytes_up: u64,
    /// Bytes of the answers.
    pub bytes_down: u64,
}

/// What a tap saw in one stretch of time.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
pub struct Phases {
    /// By kind: `COM_STMT_EXECUTE`, `COM_QUERY`, `COM_QUERY SET` and so on; `(login)`, `(inside TLS)`.
    pub commands: BTreeMap<&'static str, Totals>,
    /// Connections made.
    pub connections: u64,
    /// Connections that the server did not take, and why the last of them.
    pub refused: (u64, Option<String>),
    /// Think time before this does not count.
    #[serde(skip)]
    since_ns: u64,
    /// The last think times of each kind.
    #[serde(skip)]
    thinks: BTreeMap<&'static str, Vec<u64>>,
}

/// Think times of a kind that are kept for their median.
const THINKS_KEPT: usize = 1_024;

/// Name of the time from connecting to the end of the login.
pub(crate) const LOGIN: &str = "(login)";

impl Phases {
    /// Counts a command that is done.
    pub fn add(&mut self, kind: &'static str, seen: &Seen) {
        let first_out_ns = seen.first_out_ns.unwrap_or(seen.last_in_ns);
        let totals = self.commands.entry(kind).or_default();
        totals.count += 1;
        if let Some(idle_since_ns) = seen.idle_since_ns {
            let think_ns = seen.first_in_ns.saturating_sub(idle_since_ns.max(self.since_ns));
            totals.think_ns += think_ns;
            let last = self.thinks.entry(kind).or_default();
            match last.get_mut(totals.count as usize % THINKS_KEPT) {
                Some(oldest) => *oldest = think_ns,
                None => last.push(think_ns),
            }
        }
        totals.upload_ns += seen.last_in_ns.saturating_sub(seen.first_in_ns);
        totals.server_ns += first_out_ns.saturating_sub(seen.last_in_ns);
        totals.download_ns += seen.last_out_ns.saturating_sub(first_out_ns);
        totals.bytes_up += seen.bytes_up;
        totals.bytes_down += seen.bytes_down;
    }

    /// Everything so far; what follows begins at `now_ns`.
    pub fn take(&mut self, now_ns: u64) -> Phases {
        let mut seen = std::mem::replace(self, Phases { since_ns: now_ns, ..Phases::default() });
        for (kind, mut last) in std::mem::take(&mut seen.thinks) {
            last.sort_unstable();
            if let (Some(totals), Some(&middle)) = (seen.commands.get_mut(kind), last.get(last.len() / 2)) {
                totals.think_median_ns = middle;
            }
        }
        seen
    }

    /// Adds another stretch.
    pub fn merge(&mut self, other: &Phases) {
        for (kind, more) in &other.commands {
            let totals = self.commands.entry(kind).or_default();
            totals.count += more.count;
            totals.think_ns += more.think_ns;
            totals.think_median_ns = totals.think_median_ns.max(more.think_median_ns);
            totals.upload_ns += more.upload_ns;
            totals.server_ns += more.server_ns;
            totals.download_ns += more.download_ns;
            totals.bytes_up += more.bytes_up;
            totals.bytes_down += more.bytes_down;
        }
        self.connections += other.connections;
        self.refused.0 += other.refused.0;
        self.refused.1 = other.refused.1.clone().or(self.refused.1.take());
    }

    /// Commands that were answered or needed no answer.
    #[must_use]
    pub(crate) fn command_count(&self) -> u64 {
        self.commands.iter().filter(|(kind, _)| **kind != LOGIN).map(|(_, totals)| totals.count).sum()
    }

    /// Sums by kind of command, on one line.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Maps have text keys and there is no fallible Serialize here, so this cannot fail.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Means by kind of command, for people.
    #[must_use]
    pub fn table(&self) -> String {
        let (refused, why) = &self.refused;
        let mut out = format!("{} connections made", self.connections);
        if *refused > 0 {
            let why = why.as_deref().unwrap_or("unknown");
            out.push_str(&format!(", {refused} not taken by the server: {why}"));
        }
        out.push_str(&format!(
            "\n{:24} {:>9} {:>10} {:>10} {:>10} {:>10} {:>9} {:>9}",
            "command", "count", "think", "upload", "server", "download", "bytes up", "down"
        ));
        for (kind, totals) in self.commands.iter().filter(|(_, totals)| totals.count > 0) {
            let mean = |sum: u64| nanoseconds(sum as f64 / totals.count as f64);
            out.push_str(&format!(
                "\n{kind:24} {:>9} {:>10} {:>10} {:>10} {:>10} {:>9} {:>9}",
                totals.count,
                mean(totals.think_ns),
                mean(totals.upload_ns),
                mean(totals.server_ns),
                mean(totals.download_ns),
                totals.bytes_up / totals.count,
                totals.bytes_down / totals.count
            ));
        }
        if self.commands.keys().any(|kind| [TLS, COMPRESSED].contains(kind)) {
            out.push_str(
                "\nTLS or compression passed unread: these are bursts of bytes, not phases of commands",
            );
        }
        out
    }

    /// The form the evidence keeps: means for each kind, counts per operation. Empty without operations.
    #[must_use]
    pub fn per_operation(&self, arm: usize, operations: u64) -> Vec<PhaseTimes> {
        if operations == 0 {
            return Vec::new();
        }
        let filled = self.commands.iter().filter(|(_, totals)| totals.count > 0);
        filled
            .map(|(kind, totals)| {
                let mean = |sum: u64| sum as f64 / totals.count as f64;
                PhaseTimes {
                    arm,
                    command: (*kind).to_owned(),
                    per_op: totals.count as f64 / operations as f64,
                    think_ns: mean(totals.think_ns),
                    upload_ns: mean(totals.upload_ns),
                    server_ns: mean(totals.server_ns),
                    download_ns: mean(totals.download_ns),
                    bytes_up: mean(totals.bytes_up),
                    bytes_down: mean(totals.bytes_down),
                }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_are_distinguished_and_think_time_begins_with_the_stretch() {
        let mut phases = Phases::default();
        let seen = Seen {
            idle_since_ns: Some(100),
            first_in_ns: 300,
            last_in_ns: 350,
            first_out_ns: Some(450),
            last_out_ns: 460,
            bytes_up: 20,
            bytes_down: 11,
        };
        phases.add("COM_QUERY", &seen);
        phases.add(
            "COM_STMT_CLOSE",
            &Seen { idle_since_ns: None, first_out_ns: None, last_out_ns: 350, ..seen },
        );
        let whole = phases.take(1000);
        let query = whole.commands["COM_QUERY"];
        assert_eq!(query.think_median_ns, 200);
        assert_eq!((query.think_ns, query.upload_ns, query.server_ns, query.download_ns), (200, 50, 100, 10));
        let close = whole.commands["COM_STMT_CLOSE"];
        assert_eq!((close.think_ns, close.upload_ns, close.server_ns, close.download_ns), (0, 50, 0, 0));
        // The pause while nothing was measured is not think time.
        phases.add(
            "COM_QUERY",
            &Seen {
                first_in_ns: 1030,
                last_in_ns: 1030,
                first_out_ns: Some(1040),
                last_out_ns: 1040,
                ..seen
            },
        );
        let mut next = phases.take(2000);
        assert_eq!(next.commands["COM_QUERY"].think_ns, 30);
        next.merge(&whole);
        assert_eq!((next.command_count(), next.commands["COM_QUERY"].count), (3, 2));
        assert!(next.table().lines().any(|line| line.starts_with("COM_STMT_CLOSE") && line.contains(" 1 ")));
        assert!(next.to_json().contains("\"COM_QUERY\":{\"count\":2,"), "{}", next.to_json());
        let per_op = next.per_operation(4, 4);
        assert_eq!((per_op[0].arm, per_op[0].per_op, per_op[0].think_ns), (4, 0.5, 115.0));
        assert_eq!(next.per_operation(0, 0), vec![]);
    }
}
