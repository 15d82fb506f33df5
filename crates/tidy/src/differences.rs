//! The reasons of differences from MySQL and MariaDB, in the `.differences` files of the golden scripts.
//!
//! A reason says why this answer differs. What explains more than a few answers is a difference that users meet, too: it stands in
//! `docs/status.md`, and the reason quotes it. Anything else that is repeated so often explains nothing.

use std::collections::BTreeMap;

use crate::root;

/// A reason that `docs/status.md` does not have stands at most so often in all files together.
const USES_MAX: usize = 3;

/// The reason of each entry of a file: the lines of comment in front of its commands, as one text.
fn reasons(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut reason: Vec<&str> = Vec::new();
    for line in text.lines() {
        if let Some(comment) = line.strip_prefix('#') {
            reason.push(comment.trim());
        } else if !reason.is_empty() {
            found.push(reason.join(" "));
            reason.clear();
        }
    }
    found
}

/// Text without its line breaks.
fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The reasons that are used too often.
fn repeated(reasons: impl IntoIterator<Item = String>, documented: &str) -> Vec<String> {
    let mut uses: BTreeMap<String, usize> = BTreeMap::new();
    for reason in reasons {
        *uses.entry(reason).or_default() += 1;
    }
    uses.retain(|reason, count| *count > USES_MAX && !documented.contains(reason.as_str()));
    uses.into_iter().map(|(reason, count)| format!("{count} times: {reason}")).collect()
}

#[test]
fn a_reason_that_many_differences_share_is_documented() {
    let folder = root().join("crates/cli/tests/sql");
    let mut all = Vec::new();
    for entry in std::fs::read_dir(&folder).expect("the golden scripts are there") {
        let path = entry.expect("it can be read").path();
        if path.extension().is_some_and(|name| name == "differences" || name == "mariadb-differences") {
            all.extend(reasons(&std::fs::read_to_string(&path).expect("it is text")));
        }
    }
    assert!(all.len() > 100, "the files of differences were not found in {}", folder.display());
    let status = std::fs::read_to_string(root().join("docs/status.md")).expect("docs/status.md");
    let wrong = repeated(all, &in_one_line(&status));
    assert!(
        wrong.is_empty(),
        "give each difference its own reason, or document what they share in docs/status.md and quote it:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn boilerplate_is_found() {
    let entry = |reason: &str| format!("# {reason}\n> SELECT 1\n---\n1\n\n");
    let file = entry("Another length.").repeat(USES_MAX + 1) + &entry("Once.");
    assert_eq!(reasons("# Two\n# lines.\n> SELECT 1\n---\n1\n"), ["Two lines."]);
    assert_eq!(repeated(reasons(&file), ""), ["4 times: Another length."]);
    assert_eq!(
        repeated(reasons(&file), &in_one_line("- Another\n  length. And so on.")),
        Vec::<String>::new()
    );
    let few = entry("Another length.").repeat(USES_MAX);
    assert_eq!(repeated(reasons(&few), ""), Vec::<String>::new());
}
