//! This program under Valgrind, and what Valgrind wrote.
//!
//! Callgrind counts nothing but what runs inside [`crate::count::measured`], and writes a file each time that returns. The
//! n-th file belongs to the n-th name that the program printed. Threads beside are not counted: the switch is one of the
//! thread that calls.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::count::MEASURED;
use crate::operations::LAYERS;

/// The argument that says: you are inside Valgrind; the layer follows, and what names must hold.
pub(crate) const INSIDE: &str = "--inside";

/// What `valgrind --version` says; `None` without Valgrind.
pub(crate) fn version() -> Option<String> {
    let output = Command::new("valgrind").arg("--version").output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Features of the processor as Valgrind shows it, and the instructions of each operation.
pub(crate) type Counted = (String, Vec<(String, f64)>);

/// Runs the operations whose name holds `only`, or all. Each layer is a process of its own: what one allocates does not move
/// what the next does, so that its counts are the same each time.
///
/// # Errors
/// In words: Valgrind or the program failed, or wrote what was not expected.
pub(crate) fn run(only: Option<&str>) -> Result<Counted, String> {
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut done = Vec::new();
        while let Some((layer, _)) = LAYERS.get(next.fetch_add(1, Ordering::Relaxed)) {
            done.push((*layer, run_layer(layer, only)));
        }
        done
    };
    let mut done = std::thread::scope(|scope| {
        let other = scope.spawn(worker);
        let mut done = worker();
        done.extend(other.join().expect("it does not panic"));
        done
    });
    done.sort_by_key(|(layer, _)| LAYERS.iter().position(|(name, _)| name == layer));
    let mut all = Counted::default();
    for (layer, counted) in done {
        let (features, counts) = counted.map_err(|why| format!("{layer}: {why}"))?;
        all.0 = features;
        all.1.extend(counts);
    }
    if all.1.is_empty() {
        return Err("no operation has that name".to_owned());
    }
    Ok(all)
}

fn run_layer(layer: &str, only: Option<&str>) -> Result<Counted, String> {
    let program = std::env::current_exe().map_err(|error| format!("this program's path: {error}"))?;
    let folder = tempfile::tempdir().map_err(|error| format!("a folder for the counts: {error}"))?;
    let files = folder.path().join("out");
    let mut command = Command::new("valgrind");
    command
        .args(["--quiet", "--tool=callgrind", "--collect-atstart=no"])
        .arg(format!("--toggle-collect={MEASURED}"))
        .arg(format!("--dump-after={MEASURED}"))
        .arg(format!("--callgrind-out-file={}", files.display()))
        .arg(program)
        .arg(INSIDE)
        .arg(layer)
        .args(only)
        // The environment lies on the stack: its size would move what comes after it.
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .current_dir("/")
        .stdin(Stdio::null());
    let output = command.output().map_err(|error| format!("valgrind: {error}"))?;
    let said = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        return Err(format!(
            "{} under valgrind:\n{said}{}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        ));
    }
    let mut lines = said.lines();
    let features = lines.next().unwrap_or_default().to_owned();
    let mut counted = Vec::new();
    for (place, line) in lines.enumerate() {
        let (name, times) = line
            .split_once(' ')
            .and_then(|(name, times)| Some((name, times.parse::<f64>().ok()?)))
            .ok_or_else(|| format!("not a name and a number: {line}"))?;
        let total = total(&files, place + 1)?;
        counted.push((name.to_owned(), total / times));
    }
    Ok((features, counted))
}

/// The instructions in the n-th file.
fn total(files: &Path, number: usize) -> Result<f64, String> {
    let path = files.with_file_name(format!("out.{number}"));
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    total_of(&text).ok_or_else(|| format!("{}: no total in it", path.display()))
}

/// The line `totals: N` (or `summary: N`) of a callgrind file.
fn total_of(text: &str) -> Option<f64> {
    let line =
        text.lines().rev().find_map(|line| line.strip_prefix("totals: ").or(line.strip_prefix("summary: ")));
    line?.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::total_of;

    #[test]
    fn the_total_of_a_file_is_found() {
        assert_eq!(total_of("version: 1\nsummary: 7\n\nfn=(1) a\n3 12\n\ntotals: 1234\n"), Some(1234.0));
        assert_eq!(total_of("version: 1\nfn=(1) a\n"), None);
    }
}
