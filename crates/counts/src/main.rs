//! Instructions of single operations, counted by Valgrind and compared with those stored in `counts.txt`.
//!
//! Time depends on the machine and on who else uses it; the number of instructions does not. So a change that makes a point
//! select, a key or a commit dearer by a few instructions is seen here, on any machine, while no stopwatch could tell.
//!
//! ```text
//! cargo run --profile counts -p counts               compare: one line for each operation that differs, exit code 1
//! cargo run --profile counts -p counts -- --write    store what is counted now (look at the difference, then commit it)
//! cargo run --profile counts -p counts -- --only store.   these alone, printed; nothing is compared
//! ```
//!
//! The program starts itself under `valgrind --tool=callgrind`, once for each layer ([`valgrind`]); inside, [`operations`] prepares each operation,
//! runs it `times` times to settle, and `times` times more inside [`count::measured`], the only function that is counted.
//!
//! What a count depends on beside this repository stands at the head of `counts.txt` ([`stored::Environment`]): compiler, C
//! library (copying and comparing bytes, memory), Valgrind and the processor's features that libraries choose by. With
//! another of these nothing is compared, and that is said.

mod count;
mod operations;
mod processor;
mod stored;
mod valgrind;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use stored::{Environment, Stored, Verdict};

/// That of the server. The C library's joins free blocks whenever enough of them lie side by side, which depends on when other threads
/// freed theirs: a statement over 400 columns was cheaper by 2.4 % in one run of four.
#[global_allocator]
static ALLOCATOR: env::memory::Counting<env::mimalloc::Mimalloc> =
    env::memory::Counting(env::mimalloc::Mimalloc);

/// Exit code when nothing could be compared.
const LEFT_OUT: u8 = 3;

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("counts.txt")
}

fn main() -> ExitCode {
    let mut write = false;
    let mut only = None;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            valgrind::INSIDE => {
                let layer = arguments.next().unwrap_or_default();
                operations::count(&layer, &mut count::Counter::new(arguments.next()));
                return ExitCode::SUCCESS;
            }
            "--write" => write = true,
            "--only" => only = arguments.next(),
            other => {
                eprintln!("unknown argument {other}; see the head of crates/counts/src/main.rs");
                return ExitCode::from(2);
            }
        }
    }
    let Some(version) = valgrind::version() else {
        println!("instruction counts: LEFT OUT, valgrind is not installed");
        return ExitCode::from(LEFT_OUT);
    };
    let (features, counted) = match valgrind::run(only.as_deref()) {
        Ok(counted) => counted,
        Err(why) => {
            eprintln!("instruction counts: {why}");
            return ExitCode::from(2);
        }
    };
    if only.is_some() {
        for (name, count) in &counted {
            println!("{}", stored::line(name, *count));
        }
        return ExitCode::SUCCESS;
    }
    let now = Stored { environment: Environment::here(&version, &features), counts: counted };
    let before = std::fs::read_to_string(file()).ok().and_then(|text| Stored::parse(&text));
    if write {
        if let Err(error) = std::fs::write(file(), now.to_string()) {
            eprintln!("{}: {error}", file().display());
            return ExitCode::from(2);
        }
        println!("{} operations stored in {}", now.counts.len(), file().display());
    }
    let Some(before) = before else {
        if write {
            return ExitCode::SUCCESS;
        }
        println!("instruction counts: LEFT OUT, none are stored yet in {}: --write", file().display());
        return ExitCode::from(LEFT_OUT);
    };
    match before.compare(&now) {
        Verdict::Incomparable(what) => {
            println!("instruction counts: LEFT OUT, counted elsewhere: {what}; --write stores those of here");
            ExitCode::from(if write { 0 } else { LEFT_OUT })
        }
        Verdict::Compared { lines, failed } => {
            for line in &lines {
                println!("{line}");
            }
            if write {
                return ExitCode::SUCCESS;
            }
            println!("counts passed={} failed={failed}", now.counts.len() - failed.min(now.counts.len()));
            ExitCode::from(u8::from(failed > 0))
        }
    }
}
