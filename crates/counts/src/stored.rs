//! `counts.txt`: where the counts were made, and a line for each operation.

use std::fmt;
use std::process::Command;

/// How far a count may be from the stored one, in hundredths. A dearer one fails; a cheaper one is named, to be stored with the change
/// that made it so, or a later change could spend it unseen.
pub(crate) const TOLERANCE_PERCENT: f64 = 2.0;
/// And more than this many instructions: of a count of fifty, one is 2 % already.
pub(crate) const TOLERANCE_INSTRUCTIONS: f64 = 3.0;

/// What counts depend on beside the repository: `key: value` lines.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Environment(Vec<(String, String)>);

fn first_line(program: &str, argument: &str) -> String {
    let output = Command::new(program).arg(argument).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    text.lines().next().unwrap_or("unknown").trim().to_owned()
}

impl Environment {
    /// Of this machine; `features` as seen inside Valgrind.
    pub(crate) fn here(valgrind: &str, features: &str) -> Environment {
        let pairs = [
            ("rustc", first_line("rustc", "--version")),
            ("libc", first_line("ldd", "--version")),
            ("valgrind", valgrind.to_owned()),
            ("processor", features.to_owned()),
        ];
        Environment(pairs.map(|(key, value)| (key.to_owned(), value)).to_vec())
    }
}

/// Counts and where they were made.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Stored {
    pub(crate) environment: Environment,
    /// Instructions of one call, by operation, in the order in which they were counted.
    pub(crate) counts: Vec<(String, f64)>,
}

/// What a comparison gave.
#[derive(Debug, PartialEq)]
pub(crate) enum Verdict {
    /// Made in another environment: what is stored there and found here.
    Incomparable(String),
    /// A line for each operation that is not as stored, and how many of them fail.
    Compared { lines: Vec<String>, failed: usize },
}

/// An operation's line.
pub(crate) fn line(name: &str, count: f64) -> String {
    format!("{name:36} {count:14.1}")
}

impl Stored {
    /// Reads the file; `None` if it is none.
    pub(crate) fn parse(text: &str) -> Option<Stored> {
        let mut stored = Stored { environment: Environment(Vec::new()), counts: Vec::new() };
        for line in text.lines().filter(|line| !line.is_empty()) {
            if let Some(comment) = line.strip_prefix('#') {
                if let Some((key, value)) =
                    comment.trim().split_once(": ").filter(|(key, _)| !key.contains(' '))
                {
                    stored.environment.0.push((key.to_owned(), value.to_owned()));
                }
            } else {
                let (name, count) = line.split_once(' ')?;
                stored.counts.push((name.to_owned(), count.trim().parse().ok()?));
            }
        }
        Some(stored)
    }

    /// Holds `now` against these.
    pub(crate) fn compare(&self, now: &Stored) -> Verdict {
        if self.environment != now.environment {
            let differ = |pairs: &[(String, String)], other: &[(String, String)]| {
                let differing = pairs.iter().filter(|pair| !other.contains(pair));
                differing.map(|(key, value)| format!("{key} {value}")).collect::<Vec<_>>().join(", ")
            };
            let (stored, here) = (&self.environment.0, &now.environment.0);
            return Verdict::Incomparable(format!(
                "stored with {}; here {}",
                differ(stored, here),
                differ(here, stored)
            ));
        }
        let (mut lines, mut cheaper) = (Vec::new(), 0);
        for (name, count) in &now.counts {
            let Some((_, before)) = self.counts.iter().find(|(stored, _)| stored == name) else {
                lines.push(format!("{name}: {count:.1} instructions, not stored yet: --write"));
                continue;
            };
            let (more, percent) = (count - before, 100.0 * (count - before) / before);
            if more.abs() > TOLERANCE_INSTRUCTIONS && percent.abs() > TOLERANCE_PERCENT {
                cheaper += usize::from(more < 0.0);
                let what = if more > 0.0 { "DEARER" } else { "cheaper, to be stored with --write" };
                lines.push(format!(
                    "{name}: {before:.1} -> {count:.1} instructions ({percent:+.1} %): {what}"
                ));
            }
        }
        for (name, _) in &self.counts {
            if !now.counts.iter().any(|(counted, _)| counted == name) {
                lines.push(format!("{name}: stored, but no operation any more: --write"));
            }
        }
        let failed = lines.len() - cheaper;
        Verdict::Compared { lines, failed }
    }
}

impl fmt::Display for Stored {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            out,
            "# Instructions of one call of each operation in crates/counts/src/operations. Written by"
        )?;
        writeln!(out, "#     cargo run --profile counts -p counts -- --write")?;
        writeln!(out, "# and compared by ./test in the same environment only:")?;
        for (key, value) in &self.environment.0 {
            writeln!(out, "# {key}: {value}")?;
        }
        for (name, count) in &self.counts {
            writeln!(out, "{}", line(name, *count))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(rustc: &str, counts: &[(&str, f64)]) -> Stored {
        let environment = Environment(vec![("rustc".to_owned(), rustc.to_owned())]);
        Stored { environment, counts: counts.iter().map(|&(name, count)| (name.to_owned(), count)).collect() }
    }

    fn compared(before: &Stored, now: &Stored) -> (Vec<String>, usize) {
        match before.compare(now) {
            Verdict::Compared { lines, failed } => (lines, failed),
            Verdict::Incomparable(what) => panic!("{what}"),
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let some = stored("1.95", &[("store.get", 812.5), ("types.decimal_add", 61.0)]);
        assert_eq!(Stored::parse(&some.to_string()), Some(some));
        assert_eq!(Stored::parse("store.get many"), None);
    }

    #[test]
    fn dearer_cheaper_new_and_gone_operations_are_named() {
        let before =
            stored("1.95", &[("a", 1000.0), ("b", 1000.0), ("c", 1000.0), ("d", 10.0), ("gone", 5.0)]);
        let now = stored("1.95", &[("a", 1019.0), ("b", 1021.0), ("c", 979.0), ("d", 13.0), ("new", 5.0)]);
        let (lines, failed) = compared(&before, &now);
        assert_eq!((lines.len(), failed), (4, 3), "{lines:?}");
        assert!(lines[0].starts_with("b: ") && lines[0].contains("DEARER"));
        assert!(lines[1].starts_with("c: ") && lines[1].contains("cheaper"));
        assert!(lines[2].starts_with("new: "));
        assert!(lines[3].starts_with("gone: "));
        assert_eq!(compared(&before, &before), (Vec::new(), 0));
    }

    #[test]
    fn counts_of_another_compiler_are_not_compared() {
        let (before, now) = (stored("1.95", &[("a", 1000.0)]), stored("1.96", &[("a", 1500.0)]));
        let Verdict::Incomparable(what) = before.compare(&now) else { panic!("they were compared") };
        assert!(what.contains("1.95") && what.contains("1.96"), "{what}");
    }
}
