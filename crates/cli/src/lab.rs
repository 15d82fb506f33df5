//! `invar lab ...`: the command line of the lab.

mod bench;
mod run;
mod tap;

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use lab::host::tool::Tools;
use lab::report::format;
use lab::server::{UnderTest, journal};

use crate::signals::Signals;

/// What `invar lab --help` says.
const HELP: &str = "\
invar lab: reproduce, compare, locate and name a slowdown on any servers that
speak MySQL's protocol

  invar lab doctor [--server URL]... [--tls] [--json]
          what can be measured here and of these servers, what each missing
          thing costs, how to get it
  invar lab run SCENARIO --server NAME=mysql://... [--server ...]
          a scenario against servers; see invar lab run --help
  invar lab restore --server URL... [--tls]
          puts global variables back that a run which died left changed on
          that server, and names the schemas it left there
  invar lab bench --server NAME=mysql://... [--server ...]
          a fixed set on a server and its rivals, kept as a history; see
          invar lab bench --help
  invar lab list
          the scenarios that come along; list ID prints one
  invar lab drivers
          profiles of drivers, and which real drivers can be run here
  invar lab show FILE
          the evidence of a run kept as JSON: which arms, how many blocks
  invar lab report FILE [--html FILE] [--markdown FILE] [--svg DIR]
          draws a kept run again; the exit code is that of its verdict
  invar lab tap --to URL
          stands between any client and a server and says where the time of
          each command went; see invar lab tap --help
  invar lab kb list
          the known causes; kb show ID prints one, kb test holds each to its
          example

Exit codes: 0 no difference, 1 a regression, 2 bad use or a failed run,
3 inconclusive, 4 the servers' results differ";

/// All commands, to find the one that was meant.
const COMMANDS: &[&str] =
    &["doctor", "run", "restore", "bench", "list", "drivers", "show", "report", "tap", "kb"];

/// Bad use, or a run that failed.
const EXIT_FAILED: u8 = 2;
/// Ended by Ctrl-C before the work could end by itself; as shells count it.
const EXIT_INTERRUPTED: i32 = 130;
/// How long the work may take to end in order.
const ORDERLY_END_MAX: Duration = Duration::from_secs(20);

/// Profiles, and each real driver with its version or what it lacks.
fn drivers() {
    show("profiles: our own client sends what these drivers send");
    for profile in lab::load::profile::Profile::all() {
        show(&format::wrap(&format!("  {:<24} ", profile.name), 27, profile.about, format::COLUMNS));
    }
    let put = |name: &str, said: &str| {
        show(&format::wrap(&format!("  {name:<24} "), 27, said, format::COLUMNS));
    };
    show("real drivers: each runs in a process of its own");
    let shims = lab::load::shim::Shims::new();
    for real in lab::load::shim::Real::all() {
        match shims.version(real) {
            Ok(version) => put(real.name, &version.to_string()),
            Err(why) => put(real.name, &format!("not here: {why}")),
        }
    }
}

/// Prints text for a reader that may stop early: a pipe that it has closed (`| head`) is no error.
pub(crate) fn show(text: &str) {
    let mut out = std::io::stdout().lock();
    let end = if text.ends_with('\n') { "" } else { "\n" };
    let _ = out
        .write_all(text.as_bytes())
        .and_then(|()| out.write_all(end.as_bytes()))
        .and_then(|()| out.flush());
}

/// Runs a command of the lab.
pub(crate) fn run(arguments: &[String]) -> ExitCode {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    end_on_signals();
    let result = match arguments[..] {
        [] | ["--help" | "-?" | "help", ..] => {
            show(HELP);
            Ok(())
        }
        ["run", "--help" | "-?"] => {
            show(run::HELP);
            Ok(())
        }
        ["run", ref rest @ ..] => match run::run(rest) {
            Ok(code) => return ExitCode::from(code),
            Err(why) => Err(why),
        },
        ["tap", "--help" | "-?"] => {
            show(tap::HELP);
            Ok(())
        }
        ["tap", ref rest @ ..] => tap::run(rest),
        ["bench", "--help" | "-?"] => {
            show(bench::HELP);
            Ok(())
        }
        ["bench", ref rest @ ..] => match bench::run(rest) {
            Ok(code) => return ExitCode::from(code),
            Err(why) => Err(why),
        },
        ["list"] => list(),
        ["drivers"] => {
            drivers();
            Ok(())
        }
        ["list", id] => match lab::scenario::shipped::named(id) {
            Some(text) => {
                show(text);
                Ok(())
            }
            None => Err(format!("no scenario '{id}'; see invar lab list")),
        },
        ["show", file] => show_evidence(file),
        ["doctor", ref rest @ ..] => doctor(rest),
        ["restore", ref rest @ ..] => restore(rest),
        ["kb", ref rest @ ..] => known_causes(rest),
        ["report", file, ref rest @ ..] => match report(file, rest) {
            Ok(code) => return ExitCode::from(code),
            Err(why) => Err(why),
        },
        [other, ..] => {
            let meant = lab::scenario::nearest(other, COMMANDS.iter().copied());
            let meant = meant.map_or(String::new(), |name| format!("; did you mean {name}?"));
            Err(format!("unknown command '{other}'{meant}; see invar lab --help"))
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            complain(&why);
            ExitCode::from(EXIT_FAILED)
        }
    }
}

/// Lets Ctrl-C and SIGTERM end the work in order: what works is asked to stop, and if it does not, variables are put back
/// from here.
fn end_on_signals() {
    let signals = Signals::block();
    std::thread::spawn(move || {
        while !signals.wait(Duration::from_secs(3600)) {}
        if lab::interrupt::request() {
            eprintln!("invar lab: ending; once more to end at once");
            signals.wait(ORDERLY_END_MAX);
        }
        for (journal, outcome) in journal::put_back_all() {
            match outcome {
                Ok(outcomes) => say_outcomes(&outcomes),
                Err(why) => eprintln!("invar lab: {}: {why}; the next run puts it back", journal.display()),
            }
        }
        std::process::exit(EXIT_INTERRUPTED);
    });
}

fn say_outcomes(outcomes: &[(String, journal::Outcome)]) {
    for (name, outcome) in outcomes {
        eprintln!("invar lab: {name}: {outcome}");
    }
}

/// Says on stderr what is wrong: one line, which a terminal gets in lines that it does not break.
pub(crate) fn complain(why: &str) {
    if std::io::IsTerminal::is_terminal(&std::io::stderr()) {
        eprintln!("{}", format::wrap("invar lab: ", 2, why, format::COLUMNS));
    } else {
        eprintln!("invar lab: {why}");
    }
}

/// Arguments of `doctor` and `restore`.
struct ServerArguments {
    urls: Vec<String>,
    with_tls: bool,
    as_json: bool,
}

/// Reads `--server [NAME=]URL`, as often as it is there, `--tls` and `--json`.
fn server_arguments(command: &str, arguments: &[&str]) -> Result<ServerArguments, String> {
    let mut found = ServerArguments { urls: Vec::new(), with_tls: false, as_json: false };
    let mut left = arguments.iter().copied();
    while let Some(argument) = left.next() {
        match argument {
            "--json" if command == "doctor" => found.as_json = true,
            "--tls" => found.with_tls = true,
            _ if argument == "--server" || argument.starts_with("--server=") => {
                let value = argument.strip_prefix("--server=").or_else(|| left.next());
                let value = value.ok_or("--server needs mysql://user:password@host:port")?;
                // A name, as `run` takes it, is not needed here.
                let url = match value.split_once('=') {
                    Some((name, url)) if !name.contains("://") => url,
                    _ => value,
                };
                found.urls.push(url.to_owned());
            }
            url if url.starts_with("mysql://") => found.urls.push(url.to_owned()),
            other => {
                let known = ["--server", "--tls", "--json"];
                let meant = lab::scenario::nearest(other, known.into_iter());
                let meant = meant.map_or(String::new(), |name| format!("; did you mean {name}?"));
                return Err(format!("{command}: unknown option '{other}'{meant}; see invar lab --help"));
            }
        }
    }
    Ok(found)
}

fn doctor(arguments: &[&str]) -> Result<(), String> {
    let found = server_arguments("doctor", arguments)?;
    let report = lab::host::doctor::examine(&Tools::default(), &found.urls, found.with_tls);
    if found.as_json {
        println!("{}", serde_json::to_string_pretty(&report).map_err(|error| error.to_string())?);
    } else {
        show(&report.text());
    }
    Ok(())
}

fn restore(arguments: &[&str]) -> Result<(), String> {
    let found = server_arguments("restore", arguments)?;
    if found.urls.is_empty() {
        return Err("restore: which server? --server mysql://user:password@host:port".to_owned());
    }
    for url in &found.urls {
        if found.urls.len() > 1 {
            let options = client::Options::from_url(url).map_err(|error| error.to_string())?;
            show(&run::wrapped("", &lab::server::describe::url_without_password(&options)));
        }
        restore_one(url, found.with_tls)?;
    }
    Ok(())
}

fn restore_one(url: &str, with_tls: bool) -> Result<(), String> {
    let why = |error: &dyn std::fmt::Display| error.to_string();
    let say = |text: &str| show(&run::wrapped("", text));
    let mut options = client::Options::from_url(url).map_err(|error| why(&error))?;
    if with_tls {
        options.tls = client::Tls::Required(client::unverified_tls());
    }
    let mut connection = client::Connection::connect(&options).map_err(|error| why(&error))?;
    let server = UnderTest::describe("server", &options, &mut connection).map_err(|error| why(&error))?;
    let folder = journal::default_folder();
    let outcomes = journal::recover(&folder, &server, &mut connection).map_err(|error| why(&error))?;
    say_outcomes(&outcomes);
    if outcomes.iter().any(|(_, outcome)| matches!(outcome, journal::Outcome::Refused(_))) {
        return Err("not everything is put back; the journal stays".to_owned());
    }
    if outcomes.is_empty() {
        say(&format!("no variable was left changed on this server, as far as {} knows", folder.display()));
    }
    // Data is not taken away by a command that only puts variables back: it is named, with what takes it away.
    for (schema, is_used) in lab::matrix::lab_schema::marked(&mut connection).map_err(|error| why(&error))? {
        if is_used {
            say(&format!("schema {schema} is in use by a run"));
        } else {
            say(&format!(
                "schema {schema} was left behind by a run; the next run with --schema {schema} replaces it and takes \
                 it away, or: DROP DATABASE `{schema}`"
            ));
        }
    }
    Ok(())
}

fn known_causes(arguments: &[&str]) -> Result<(), String> {
    let (said, is_well) = lab::knowledge::command(arguments)?;
    show(&said);
    if is_well { Ok(()) } else { Err("the knowledge base is not as it should be".to_owned()) }
}

fn report(file: &str, options: &[&str]) -> Result<u8, String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    let run = lab::evidence::Run::from_json(&text).map_err(|why| format!("{file}: {why}"))?;
    let colour = std::io::IsTerminal::is_terminal(&std::io::stdout());
    show(&lab::report::terminal::text(&run, colour));
    for option in options.chunks(2) {
        let (path, text) = match option {
            ["--svg", folder] => {
                let folder = std::path::Path::new(folder);
                run::make_folder(folder)?;
                run::save_drawings(folder, &run)?;
                continue;
            }
            ["--html", path] => (path, lab::report::html::page(&run, &lab::report::flames::figures(&run))),
            ["--markdown", path] => (path, lab::report::markdown::text(&run)),
            _ => {
                return Err(format!(
                    "'{}': expected --html FILE, --markdown FILE or --svg DIR",
                    option.join(" ")
                ));
            }
        };
        std::fs::write(path, text).map_err(|error| format!("{path}: {error}"))?;
    }
    Ok(lab::report::exit_code(&run))
}

fn list() -> Result<(), String> {
    for (id, _) in lab::scenario::shipped::ALL {
        let scenario = run::scenario(id)?;
        show(&format::wrap(&format!("{id:35} "), 36, &scenario.claim, format::COLUMNS));
    }
    Ok(())
}

fn show_evidence(file: &str) -> Result<(), String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    let run = lab::evidence::Run::from_json(&text).map_err(|why| format!("{file}: {why}"))?;
    println!("{} on {} servers, {} blocks", run.scenario.id, run.servers.len(), run.blocks.len());
    for (index, arm) in run.arms.iter().enumerate() {
        println!("  {}: {} valid blocks", arm.name, run.valid_blocks(index).count());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doctor_and_restore_take_servers_as_run_does() {
        let url = "mysql://root:a=b@127.0.0.1:3306";
        let named = format!("new={url}");
        let inline = format!("--server={named}");
        let found =
            server_arguments("restore", &["--tls", "--server", &named, &inline, "--server", url, url])
                .unwrap();
        assert_eq!(found.urls, [url; 4]);
        assert!(found.with_tls && !found.as_json);
        let why = |arguments: &[&str]| server_arguments("restore", arguments).map(|_| ()).unwrap_err();
        assert_eq!(
            why(&["--sever", url]),
            "restore: unknown option '--sever'; did you mean --server?; see invar lab --help"
        );
        assert!(why(&["--json"]).contains("unknown option"), "only doctor has it");
        assert!(why(&["--server"]).contains("needs mysql://"));
        assert!(restore(&[]).unwrap_err().contains("which server"));
    }
}
