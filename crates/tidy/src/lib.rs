//! The repository checks its own shape.
//!
//! What a reader may rely on is checked by tests here, with messages that say what to do:
//! 1. A crate uses only crates on lines below its own ([`LAYERS`]), and a module of a crate only modules on lines before its own
//!    (`order.rs`): data flows one way.
//! 2. Every crate inherits the workspace's lints, edition and licence, and uses every dependency it names.
//! 3. Files, clocks, threads and randomness are reached through `env` alone ([`OUTSIDE_ENV_ALLOWED`] lists
//!    the few edges that may not, each with its reason).
//! 4. No leftover scaffolding (`todo!`, `dbg!`) in shipped code.
//! 5. What is public is used, and by another crate (`public.rs`).
//! 6. Every dependency has a licence and a source that `deny.toml` allows, and one version (`supply.rs`).
//! 7. `docs/limits.md` names limits that the code has, and each limit that a crate shows to others.
//! 8. A reason that many differences of the golden scripts share stands in `docs/status.md` (`differences.rs`).

#[cfg(test)]
mod differences;
#[cfg(test)]
mod layers;
#[cfg(test)]
mod modules;
#[cfg(test)]
mod order;
#[cfg(test)]
mod public;
#[cfg(test)]
mod sources;
#[cfg(test)]
mod supply;

use std::path::{Path, PathBuf};

/// The crates by line, lowest first. A crate may use any crate on a line before its own, none on its own.
///
/// The drawing of the same is in `ARCHITECTURE.md`; a test compares the two.
pub const LAYERS: &[&[&str]] = &[
    &["planted"],
    &["coordinator", "env", "metrics"],
    &["types"],
    &["access"],
    &["store", "catalog", "syntax", "wire"],
    &["table", "plan", "service"],
    &["exec", "client"],
    &["session"],
    &["engine"],
    &["lab", "server"],
    &["relay"],
    &["cli"],
];

/// Crates that are never shipped: tests and tools. They may use anything.
pub const NOT_SHIPPED: &[&str] = &["counts", "differential", "fixture", "script", "sim", "tidy", "xtask"];

/// Places that may touch the operating system themselves, and why.
pub const OUTSIDE_ENV_ALLOWED: &[(&str, &str)] = &[
    ("crates/env/", "it is the environment"),
    ("crates/server/", "sockets and worker threads are its job"),
    ("crates/client/", "sockets are its job"),
    ("crates/relay/", "sockets and the loops that poll them are its job"),
    ("crates/lab/", "it measures processes, sockets and time as the machine shows them"),
    ("crates/cli/", "wiring: command line, option files, signals"),
    ("crates/counts/", "measuring program, not shipped"),
    ("crates/differential/", "test tool"),
    ("crates/fixture/", "test tool"),
    ("crates/script/", "test tool"),
    ("crates/sim/", "test tool"),
    ("crates/tidy/", "test tool"),
    ("crates/xtask/", "runs other programs, not shipped"),
    ("/examples/", "measuring programs, not shipped"),
    ("/tests/", "tests may use temporary folders"),
    ("/benches/", "measuring programs, not shipped"),
];

/// The root of the checkout.
#[must_use]
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the checkout has a root")
}

/// The crates, by name.
///
/// # Panics
/// If their folder cannot be read.
#[must_use]
pub fn crate_names() -> Vec<String> {
    let folders = std::fs::read_dir(root().join("crates")).expect("the crates can be listed");
    let mut names: Vec<String> = folders
        .map(|entry| entry.expect("a folder entry can be read").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// All `.rs` files below `crates/`, with their text.
#[must_use]
pub fn rust_sources() -> Vec<(String, String)> {
    let root = root();
    let mut found = Vec::new();
    let mut folders = vec![root.join("crates")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a source folder can be read") {
            let path = entry.expect("a folder entry can be read").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).expect("a source file is UTF-8");
                let name = path.strip_prefix(&root).expect("below the root").to_string_lossy().into_owned();
                found.push((name, text));
            }
        }
    }
    found.sort();
    found
}
