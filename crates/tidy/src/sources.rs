//! What source files must not hold.

use crate::{NOT_SHIPPED, OUTSIDE_ENV_ALLOWED, rust_sources};

/// The part of a file before its unit tests, which by habit stand last.
fn shipped_part(text: &str) -> &str {
    text.split("#[cfg(test)]").next().unwrap_or(text)
}

fn is_code(line: &str) -> bool {
    !line.trim_start().starts_with("//")
}

#[test]
fn files_clocks_and_threads_come_through_env() {
    let forbidden =
        ["std::fs::", "Instant::now", "SystemTime::now", "thread::spawn", "thread::sleep", "thread::Builder"];
    let mut wrong = Vec::new();
    for (name, text) in rust_sources() {
        if name.ends_with("tests.rs") || OUTSIDE_ENV_ALLOWED.iter().any(|(place, _)| name.contains(place)) {
            continue;
        }
        for (number, line) in shipped_part(&text).lines().enumerate().filter(|(_, line)| is_code(line)) {
            for word in forbidden {
                if line.contains(word) {
                    wrong.push(format!("{name}:{}: `{word}` belongs behind crate `env`", number + 1));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
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
