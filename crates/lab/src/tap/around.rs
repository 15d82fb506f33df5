//! Two taps around a proxy: one that clients connect to, before it, and one that it takes for its server, behind it.
//!
//! ```text
//! client --> [ front tap ] --> proxy --> [ back tap ] --> server
//! ```
//!
//! What the front saw a command take and the back did not is the proxy's: its own work, and the way there and back. What passes
//! behind and did not come in before is what it says on its own, and what it cuts or joins is seen as other commands behind.

use std::fmt::Write as _;

use serde::Serialize;

use super::conversation::{COMPRESSED, TLS};
use super::phases::{LOGIN, Phases, Totals};
use crate::format::nanoseconds;

/// What a proxy adds, for each command that came to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Added {
    /// Commands that came to the proxy.
    pub commands: u64,
    /// Commands that it sent on.
    pub commands_behind: u64,
    /// From a command's last byte to its answer's last, before the proxy.
    pub front_ns: f64,
    /// The same behind it, of all commands there.
    pub back_ns: f64,
    /// The difference: what the proxy itself takes.
    pub proxy_ns: f64,
    /// Commands it sends beyond those it got; below 0 where it answers some itself.
    pub extra_commands: f64,
    /// Bytes it sends the server beyond those it got.
    pub extra_bytes_up: f64,
    /// Bytes the server sends beyond those that reach the client.
    pub extra_bytes_down: f64,
}

/// What two taps saw in the same time.
#[derive(Clone, Debug, Serialize)]
pub struct Around {
    /// Before the proxy.
    pub front: Phases,
    /// Behind it.
    pub back: Phases,
    /// For each command that came; absent if none did.
    pub added: Option<Added>,
}

/// From a command's last byte to its answer's.
fn answer_ns(totals: &Totals) -> u64 {
    totals.server_ns + totals.download_ns
}

impl Around {
    /// Puts both sides together.
    #[must_use]
    pub fn new(front: Phases, back: Phases) -> Around {
        let commands = front.command_count();
        let sum = |phases: &Phases, of: &dyn Fn(&Totals) -> u64| -> f64 {
            phases
                .commands
                .iter()
                .filter(|(kind, _)| **kind != LOGIN)
                .map(|(_, totals)| of(totals))
                .sum::<u64>() as f64
        };
        let each = |of: &dyn Fn(&Totals) -> u64| {
            (sum(&front, of) / commands as f64, sum(&back, of) / commands as f64)
        };
        let added = (commands > 0).then(|| {
            let (front_ns, back_ns) = each(&answer_ns);
            let (up, up_behind) = each(&|totals| totals.bytes_up);
            let (down, down_behind) = each(&|totals| totals.bytes_down);
            let commands_behind = back.command_count();
            Added {
                commands,
                commands_behind,
                front_ns,
                back_ns,
                proxy_ns: front_ns - back_ns,
                extra_commands: commands_behind as f64 / commands as f64 - 1.0,
                extra_bytes_up: up_behind - up,
                extra_bytes_down: down_behind - down,
            }
        });
        Around { front, back, added }
    }

    /// Something passed that cannot be looked into.
    #[must_use]
    pub(crate) fn is_hidden(&self) -> bool {
        [&self.front, &self.back].iter().any(|phases| {
            [TLS, COMPRESSED]
                .iter()
                .any(|kind| phases.commands.get(kind).is_some_and(|totals| totals.count > 0))
        })
    }

    /// On one line.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Maps have text keys and there is no fallible Serialize here, so this cannot fail.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// For people: each kind of command on both sides, and what it comes to.
    #[must_use]
    pub fn table(&self) -> String {
        let mut out = format!(
            "{} connections before the proxy, {} behind it",
            self.front.connections, self.back.connections
        );
        for (side, phases) in [("before", &self.front), ("behind", &self.back)] {
            if let (1.., Some(why)) = (phases.refused.0, &phases.refused.1) {
                let _ = write!(out, "; {side} it {} were not taken: {why}", phases.refused.0);
            }
        }
        let _ = write!(
            out,
            "\n{:24} {:>9} {:>10} {:>9} {:>9}   {:>9} {:>10} {:>9} {:>9}",
            "command", "before", "answer in", "bytes up", "down", "behind", "answer in", "bytes up", "down"
        );
        let mut kinds: Vec<&str> =
            self.front.commands.keys().chain(self.back.commands.keys()).copied().collect();
        kinds.sort_unstable();
        kinds.dedup();
        for kind in kinds {
            let side = |phases: &Phases| match phases.commands.get(kind) {
                Some(totals) if totals.count > 0 => format!(
                    "{:>9} {:>10} {:>9} {:>9}",
                    totals.count,
                    nanoseconds(answer_ns(totals) as f64 / totals.count as f64),
                    totals.bytes_up / totals.count,
                    totals.bytes_down / totals.count
                ),
                _ => format!("{:>9} {:>10} {:>9} {:>9}", "-", "", "", ""),
            };
            let _ = write!(out, "\n{kind:24} {}   {}", side(&self.front), side(&self.back));
        }
        match &self.added {
            None => out.push_str("\nno command came to the proxy"),
            Some(added) => {
                let _ = write!(
                    out,
                    "\nfor each command that came: {} before, {} behind: the proxy takes {}; {:+.2} commands, {:+.0} bytes \
                     up, {:+.0} bytes down",
                    nanoseconds(added.front_ns),
                    nanoseconds(added.back_ns),
                    signed(added.proxy_ns),
                    added.extra_commands,
                    added.extra_bytes_up,
                    added.extra_bytes_down
                );
            }
        }
        if self.is_hidden() {
            out.push_str(
                "\nTLS or compression passed unread: bursts are counted for commands there, and their times are no phases of \
                 commands; connect without (ssl-mode=DISABLED)",
            );
        }
        out
    }
}

fn signed(ns: f64) -> String {
    if ns < 0.0 { format!("-{}", nanoseconds(-ns)) } else { nanoseconds(ns) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tap::phases::Seen;

    fn phases(commands: &[(&'static str, u64, u64)]) -> Phases {
        let mut phases = Phases::default();
        for &(kind, answer_ns, bytes_up) in commands {
            phases.add(
                kind,
                &Seen {
                    idle_since_ns: None,
                    first_in_ns: 0,
                    last_in_ns: 10,
                    first_out_ns: Some(10 + answer_ns / 2),
                    last_out_ns: 10 + answer_ns,
                    bytes_up,
                    bytes_down: 50,
                },
            );
        }
        phases
    }

    #[test]
    fn what_a_proxy_adds_is_told_by_time_bytes_and_commands() {
        let front = phases(&[("COM_QUERY", 900, 100), ("COM_QUERY", 1_100, 100), (LOGIN, 99_999, 9_999)]);
        let back = phases(&[("COM_QUERY", 300, 120), ("COM_QUERY", 500, 120), ("COM_QUERY SET", 200, 40)]);
        let around = Around::new(front, back);
        let added = around.added.unwrap();
        assert_eq!((added.commands, added.commands_behind), (2, 3));
        assert_eq!((added.front_ns, added.back_ns, added.proxy_ns), (1_000.0, 500.0, 500.0));
        assert_eq!((added.extra_commands, added.extra_bytes_up, added.extra_bytes_down), (0.5, 40.0, 25.0));
        let table = around.table();
        assert!(
            table.contains("the proxy takes 500 ns; +0.50 commands, +40 bytes up, +25 bytes down"),
            "{table}"
        );
        assert!(
            table.lines().any(|line| line.starts_with("COM_QUERY SET") && line.contains(" - ")),
            "{table}"
        );
        assert!(around.to_json().contains("\"proxy_ns\":500.0"), "{}", around.to_json());
        assert!(!around.is_hidden());
    }

    #[test]
    fn nothing_and_what_is_hidden_are_said() {
        let around = Around::new(Phases::default(), Phases::default());
        assert!(around.added.is_none() && around.table().contains("no command came"));
        let around = Around::new(phases(&[(TLS, 100, 10)]), phases(&[("COM_QUERY", 50, 10)]));
        assert!(around.is_hidden() && around.table().contains("passed unread"));
    }
}
