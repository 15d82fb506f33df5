//! What source files must not hold.

use crate::modules::of_crate;
use crate::{NOT_SHIPPED, OUTSIDE_ENV_ALLOWED, crate_names, rust_sources};

fn is_code(line: &str) -> bool {
    !line.trim_start().starts_with("//")
}

/// Paths that begin so reach the operating system, and those that end so, by whatever way their first names came here.
const SYSTEM_PATHS: &[&[&str]] = &[
    &["std", "fs"],
    &["std", "net", "TcpStream"],
    &["std", "net", "TcpListener"],
    &["std", "process", "Command"],
];
const SYSTEM_CALLS: &[&[&str]] = &[
    &["Instant", "now"],
    &["SystemTime", "now"],
    &["thread", "spawn"],
    &["thread", "sleep"],
    &["thread", "scope"],
    &["thread", "Builder"],
];

/// What a path of shipped code reaches that belongs behind crate `env`.
fn system_use(names: &[String]) -> Option<String> {
    let begins = |path: &&&[&str]| names.len() >= path.len() && path.iter().zip(names).all(|(a, b)| a == b);
    let holds = |path: &&&[&str]| {
        names.windows(path.len()).any(|window| path.iter().zip(window).all(|(a, b)| a == b))
    };
    let found = SYSTEM_PATHS.iter().find(begins).or_else(|| SYSTEM_CALLS.iter().find(holds))?;
    Some(found.join("::"))
}

#[test]
fn files_clocks_and_threads_come_through_env() {
    let mut wrong = Vec::new();
    for name in crate_names() {
        for module in of_crate(&name) {
            if OUTSIDE_ENV_ALLOWED.iter().any(|(place, _)| module.file.contains(place)) {
                continue;
            }
            for path in module.named_paths() {
                if let Some(what) = system_use(&path.names) {
                    wrong.push(format!("{}:{}: `{what}` belongs behind crate `env`", module.file, path.line));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn uses_of_the_system_are_seen_however_they_are_written() {
    let seen = |text: &str| {
        let mut found = Vec::new();
        crate::modules::paths_in(text.parse().unwrap(), &mut found);
        found.iter().filter(|path| system_use(&path.names).is_some()).count()
    };
    assert_eq!(seen("use std::fs;"), 1);
    assert_eq!(seen("use std::{fs as files, io};"), 1);
    assert_eq!(seen("fn f() { let now = std::time::Instant::now(); }"), 1);
    assert_eq!(seen("fn f() { std::thread::Builder::new(); thread::sleep(x); }"), 2);
    assert_eq!(seen("use std::time::{Duration, Instant}; fn f(at: Instant) {}"), 0);
}

#[test]
fn no_scaffolding_is_left() {
    let mut wrong = Vec::new();
    for (name, text) in rust_sources() {
        if NOT_SHIPPED.iter().any(|tool| name.starts_with(&format!("crates/{tool}/"))) {
            continue;
        }
        for (number, line) in text.lines().enumerate().filter(|(_, line)| is_code(line)) {
            for word in ["todo!(", "unimplemented!(", "dbg!("] {
                if line.contains(word) {
                    wrong.push(format!("{name}:{}: `{word}` is left over", number + 1));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_file_opens_with_its_story() {
    let wrong: Vec<String> = rust_sources()
        .into_iter()
        .filter(|(name, text)| name.contains("/src/") && !text.starts_with("//!") && !text.starts_with("//"))
        .map(|(name, _)| name)
        .collect();
    assert!(wrong.is_empty(), "these files open without saying what they are for:\n{}", wrong.join("\n"));
}

#[test]
fn limits_are_written_down_by_their_names() {
    let document = std::fs::read_to_string(crate::root().join("docs/limits.md")).unwrap();
    let sources: String = rust_sources()
        .into_iter()
        .filter(|(name, _)| name.contains("/src/") && !name.starts_with("crates/tidy/"))
        .map(|(_, text)| text)
        .collect();
    let variables =
        std::fs::read_to_string(crate::root().join("crates/session/src/variables/system_variables.tsv"))
            .unwrap();
    let named = |line: &str| -> Vec<String> {
        let first = line.split('|').nth(1).unwrap_or("");
        first.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    };
    let mut wrong = Vec::new();
    let mut count = 0;
    for name in document.lines().filter(|line| line.starts_with("| `")).flat_map(named) {
        count += 1;
        let known = if name.chars().any(char::is_lowercase) {
            variables.lines().any(|line| line.split('\t').next() == Some(&name))
        } else {
            sources.contains(&format!("const {name}:"))
        };
        if !known {
            wrong.push(format!("docs/limits.md names `{name}`, which the code does not know"));
        }
    }
    assert!(count > 40, "the tables were read");
    // A limit that other modules may see is one a reader will look for.
    for line in sources.lines().map(str::trim_start) {
        let visible = line.strip_prefix("pub const ").or_else(|| line.strip_prefix("pub(crate) const "));
        if let Some((name, _)) = visible.and_then(|rest| rest.split_once(':'))
            && name.contains("_MAX")
            && !document.contains(&format!("`{name}`"))
            && !LIMITS_OF_FORMS.contains(&name)
        {
            wrong.push(format!("`{name}` is a limit: write it into docs/limits.md"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Named `_MAX` without refusing anything: forms of packets and of the log, the ends of what a type holds, descents side by side.
const LIMITS_OF_FORMS: &[&str] = &[
    "DAY_MAX",
    "DESCENTS_MAX",
    "EOF_PACKET_BYTES_MAX",
    "FRAME_PAYLOAD_BYTES_MAX",
    "OP_BYTES_MAX",
    "PART_BYTES_MAX",
    "SCALE_MAX",
    "SPARE_SEGMENTS_MAX",
    "TEXT_BYTES_MAX",
    "TIMESTAMP_MICROS_MAX",
    "UNIX_TIME_MICROS_MAX",
];
