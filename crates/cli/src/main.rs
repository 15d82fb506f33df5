//! Wiring only: reads the command line, opens a door.

mod check;
mod lab;
mod local;
mod options;
mod serve;
mod signals;

use std::process::ExitCode;

/// Small allocations of many threads are most of what a server does; this allocator was made for that. Counted, so that statements can be
/// limited.
#[global_allocator]
static ALLOCATOR: env::memory::Counting<mimalloc::MiMalloc> = env::memory::Counting(mimalloc::MiMalloc);

/// Gives what the calling thread's part of the allocator keeps back to the system.
fn return_freed() {
    #[allow(unsafe_code, reason = "a C function")]
    // SAFETY: it may be called on any thread at any time; true: all that is free, at once.
    unsafe {
        libmimalloc_sys::mi_collect(true);
    }
}

const HELP: &str = "\
invar: a MySQL stack whose speed does not move

  invar serve [options]   a MySQL-compatible database server; see invar serve --help
  invar check DIR         whether a data folder is sound; see invar check --help
  invar lab ...           reproduce, compare and name slowdowns on any MySQL servers; see invar lab --help";

/// What a test of planted bugs asks of this process.
#[cfg(feature = "planted-bugs")]
fn plant() -> Result<(), String> {
    if let Ok(name) = std::env::var("INVAR_PLANTED_BUG")
        && !types::planted::plant(&name)
    {
        return Err(format!("no planted bug is called {name}"));
    }
    if let Ok(rows) = std::env::var("INVAR_BATCH_ROWS") {
        types::vector::set_batch_rows_max(rows.parse().map_err(|_| format!("{rows} is no number of rows"))?);
    }
    Ok(())
}

fn main() -> ExitCode {
    env::memory::set_return_freed(return_freed);
    #[cfg(feature = "planted-bugs")]
    if let Err(why) = plant() {
        eprintln!("invar: {why}");
        return ExitCode::FAILURE;
    }
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.first().map(String::as_str) {
        Some("serve") if words.iter().any(|word| word == "--help" || word == "-?") => {
            println!("{}", serve::HELP);
            ExitCode::SUCCESS
        }
        Some("serve") => match serve::run::<local::Local>(&words[1..]) {
            Ok(()) => ExitCode::SUCCESS,
            Err(why) => {
                eprintln!("invar: {why}");
                ExitCode::FAILURE
            }
        },
        Some("check") => check::run(&words[1..]),
        Some("lab") => lab::run(&words[1..]),
        Some("--version" | "-V") => {
            println!("invar {}", env!("CARGO_PKG_VERSION"));
            ExitCode::SUCCESS
        }
        Some("--help" | "-?" | "help") | None => {
            println!("{HELP}");
            ExitCode::SUCCESS
        }
        Some(other) => {
            eprintln!("invar: unknown command '{other}'; see invar --help");
            ExitCode::FAILURE
        }
    }
}
