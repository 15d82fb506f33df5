//! `invar lab ...`: the command line of the lab.

use std::process::ExitCode;

/// What `invar lab --help` says.
const HELP: &str = "\
invar lab: reproduce, compare, locate and name a slowdown on any servers that speak MySQL's protocol

  invar lab show FILE     the evidence of a run kept as JSON: which arms, how many blocks
  invar lab report FILE [--html FILE] [--markdown FILE]
                          draws a kept run again; the exit code is that of its verdict
  invar lab kb list       the known causes; kb show ID prints one, kb test holds each to its example

Exit codes: 0 no difference, 1 a regression, 2 bad use or a failed run, 3 inconclusive, 4 the servers' results differ";

/// Bad use, or a run that failed.
const EXIT_FAILED: u8 = 2;

/// Runs a command of the lab.
pub(crate) fn run(words: &[String]) -> ExitCode {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let result = match words[..] {
        [] | ["--help" | "-?" | "help", ..] => {
            println!("{HELP}");
            Ok(())
        }
        ["show", file] => show(file),
        ["kb", ref rest @ ..] => known_causes(rest),
        ["report", file, ref rest @ ..] => match report(file, rest) {
            Ok(code) => return ExitCode::from(code),
            Err(why) => Err(why),
        },
        [other, ..] => Err(format!("unknown command '{other}'; see invar lab --help")),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("invar lab: {why}");
            ExitCode::from(EXIT_FAILED)
        }
    }
}

fn known_causes(words: &[&str]) -> Result<(), String> {
    let (said, is_well) = lab::knowledge::command(words)?;
    print!("{said}");
    if is_well { Ok(()) } else { Err("the knowledge base is not as it should be".to_owned()) }
}

fn report(file: &str, options: &[&str]) -> Result<u8, String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    let run = lab::evidence::Run::from_json(&text).map_err(|why| format!("{file}: {why}"))?;
    let colour = std::io::IsTerminal::is_terminal(&std::io::stdout());
    print!("{}", lab::report::terminal::text(&run, colour));
    for option in options.chunks(2) {
        let (path, text) = match option {
            ["--html", path] => (path, lab::report::html::page(&run, &[])),
            ["--markdown", path] => (path, lab::report::markdown::text(&run)),
            _ => return Err(format!("'{}': expected --html FILE or --markdown FILE", option.join(" "))),
        };
        std::fs::write(path, text).map_err(|error| format!("{path}: {error}"))?;
    }
    Ok(lab::report::exit_code(&run))
}

fn show(file: &str) -> Result<(), String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    let run = lab::evidence::Run::from_json(&text).map_err(|why| format!("{file}: {why}"))?;
    println!("{} on {} servers, {} blocks", run.scenario.id, run.servers.len(), run.blocks.len());
    for (index, arm) in run.arms.iter().enumerate() {
        println!("  {}: {} valid blocks", arm.name, run.valid_blocks(index).count());
    }
    Ok(())
}
