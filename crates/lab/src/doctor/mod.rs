//! `invar lab doctor`: what can be measured on this machine and of a server, what each missing thing costs, how to get it.
//!
//! Each check tries the thing itself where that is cheap and harmless: perf is not "installed" but has sampled our own
//! process; bpftrace has run a program. Nothing that is missing is an error, and nothing on a server is changed.
//!
//! Read next: `machine` (tools and rights here), `server` (what one server lets us see), [`Report::text`].

mod machine;
mod server;

use crate::format;

use serde::{Deserialize, Serialize};

use crate::host::machine::Machine;
use crate::host::tool::Tools;

/// How far a thing can be used.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// In full.
    Ready,
    /// In part; `found` says which.
    Limited,
    /// Not at all.
    Missing,
}

/// One thing a measurement can stand on.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// What.
    pub name: String,
    /// How far it can be used.
    pub state: State,
    /// What was seen.
    pub found: String,
    /// What it gives the user.
    pub gives: String,
    /// What is lost without it; empty if it is ready.
    pub without: String,
    /// How to get it; empty if it is ready.
    pub get: String,
}

impl Check {
    /// A check with its reasons; those of the remedy are kept only where one is needed.
    fn new(
        name: &str,
        state: State,
        found: impl Into<String>,
        gives: &str,
        without: &str,
        get: &str,
    ) -> Check {
        let unless_ready = |text: &str| if state == State::Ready { String::new() } else { text.to_owned() };
        Check {
            name: name.to_owned(),
            state,
            found: found.into(),
            gives: gives.to_owned(),
            without: unless_ready(without),
            get: unless_ready(get),
        }
    }
}

/// What is known of one server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerReport {
    /// Where, without the password.
    pub url: String,
    /// What it is, in a line; empty if it does not answer.
    pub what: String,
    /// Why it does not answer.
    pub error: Option<String>,
    /// What of it can be measured.
    pub checks: Vec<Check>,
}

/// All that was found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The machine.
    pub machine: Machine,
    /// Its key: numbers of machines with another are not compared.
    pub machine_key: String,
    /// What can be measured here.
    pub checks: Vec<Check>,
    /// The servers asked for.
    pub servers: Vec<ServerReport>,
    /// Journals of runs that died: variables that may still be changed somewhere.
    pub left_behind: Vec<String>,
}

/// Looks at this machine and at the servers behind `urls`, inside TLS if asked for.
#[must_use]
pub fn examine(tools: &Tools, urls: &[String], with_tls: bool) -> Report {
    let machine = Machine::read();
    let folder = crate::server::journal::default_folder();
    let left_behind = match crate::server::journal::abandoned(&folder) {
        Ok(journals) => journals
            .iter()
            .filter(|(_, contents)| !contents.changes.is_empty())
            .map(|(path, contents)| {
                let names: Vec<_> = contents.changes.iter().map(|change| change.name.as_str()).collect();
                format!("{}: {} of {}", path.display(), names.join(", "), contents.url)
            })
            .collect(),
        Err(error) => vec![format!("cannot be looked for: {error}")],
    };
    Report {
        machine_key: machine.key(),
        checks: machine::checks(tools, &machine),
        servers: urls.iter().map(|url| server::examine(url, with_tls)).collect(),
        left_behind,
        machine,
    }
}

impl Report {
    /// For people: a line for what is there, what it costs and how to get it below what is not.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = format!("Machine: {}\n\nOn this machine\n", self.machine_key);
        for check in &self.checks {
            write_check(&mut text, check);
        }
        for server in &self.servers {
            let what = if server.what.is_empty() { "does not answer" } else { &server.what };
            text.push('\n');
            put(&mut text, &format!("{}: ", server.url), 2, what);
            if let Some(error) = &server.error {
                put(&mut text, "  ", 2, error);
            }
            for check in &server.checks {
                write_check(&mut text, check);
            }
        }
        if !self.left_behind.is_empty() {
            text.push('\n');
            let said = "Variables a run that died may have left changed (the next run on that server puts them back; \
                        `invar lab restore --server URL` does it now)";
            put(&mut text, "", 0, said);
            for journal in &self.left_behind {
                put(&mut text, "  ", 4, journal);
            }
        }
        let all = || self.checks.iter().chain(self.servers.iter().flat_map(|server| &server.checks));
        let count = |state| all().filter(|check| check.state == state).count();
        let (ready, limited, missing) = (count(State::Ready), count(State::Limited), count(State::Missing));
        text.push('\n');
        let said = format!(
            "{ready} ready, {limited} in part, {missing} missing. What is missing is left out of a run, which says so."
        );
        put(&mut text, "", 0, &said);
        text
    }
}

/// Lines that a terminal does not break.
fn put(text: &mut String, first: &str, indent: usize, said: &str) {
    text.push_str(&format::wrap(first, indent, said, format::COLUMNS));
    text.push('\n');
}

fn write_check(text: &mut String, check: &Check) {
    let sign = match check.state {
        State::Ready => "ok     ",
        State::Limited => "part   ",
        State::Missing => "missing",
    };
    put(text, &format!("  {sign} {:<22} ", check.name), 10, &check.found);
    let margin = " ".repeat(10);
    if check.state == State::Ready {
        put(text, &format!("{margin}gives: "), 17, &check.gives);
    } else {
        put(text, &format!("{margin}costs: "), 17, &check.without);
        put(text, &format!("{margin}get:   "), 17, &check.get);
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn a_machine_without_any_tool_is_examined_all_the_same() {
        let tools = Tools::in_path(OsStr::new("/nonexistent"));
        let report = examine(&tools, &["mysql://root@127.0.0.1:1".to_owned(), "nonsense".to_owned()], false);
        let perf = report.checks.iter().find(|check| check.name == "perf").unwrap();
        assert_eq!(perf.state, State::Missing);
        for check in &report.checks {
            assert!(!check.found.is_empty() && !check.gives.is_empty(), "{check:?}");
            let has_remedy = !check.without.is_empty() && !check.get.is_empty();
            assert_eq!(has_remedy, check.state != State::Ready, "{check:?}");
        }
        assert!(report.servers.iter().all(|server| server.error.is_some()), "{:?}", report.servers);
        let text = report.text();
        assert!(text.contains("missing perf") && text.contains("does not answer"), "{text}");
        let json = serde_json::to_string(&report).unwrap();
        assert_eq!(serde_json::from_str::<Report>(&json).unwrap(), report);
    }
}
