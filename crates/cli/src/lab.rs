//! `invar lab ...`: the command line of the lab.

mod bench;
mod run;
mod tap;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use lab::format;
use lab::host::tool::Tools;
use lab::server::{UnderTest, journal};

use crate::signals::Signals;

/// Reproduces, compares, locates and names a slowdown on any servers that speak MySQL's protocol.
///
/// Exit codes: 0 no difference, 1 a regression, 2 bad use or a failed run, 3 inconclusive, 4 the servers' results differ.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(clap::Subcommand)]
enum Command {
    /// What can be measured here and of these servers, what each missing thing costs, how to get it
    Doctor {
        #[command(flatten)]
        servers: ServerArguments,
        /// Prints JSON
        #[arg(long)]
        json: bool,
    },
    /// Runs a scenario against servers
    Run(Box<run::Arguments>),
    /// Puts global variables back that a run which died left changed on a server, and names the schemas it left there
    Restore(ServerArguments),
    /// Runs a fixed set on a server and its rivals, kept as a history
    Bench(bench::Arguments),
    /// Lists the scenarios that come along; with an ID prints that one
    List { id: Option<String> },
    /// Lists the profiles of drivers, and which real drivers can be run here
    Drivers,
    /// Prints the evidence of a run kept as JSON: which arms, how many blocks
    Show { file: String },
    /// Draws a kept run again; the exit code is that of its verdict
    Report {
        file: String,
        /// A page to look at
        #[arg(long, value_name = "FILE")]
        html: Option<PathBuf>,
        /// A report in Markdown
        #[arg(long, value_name = "FILE")]
        markdown: Option<PathBuf>,
        /// Each drawing as a file of its own in this folder
        #[arg(long, value_name = "DIR")]
        svg: Option<PathBuf>,
    },
    /// Stands between any client and a server and says where the time of each command went
    Tap(tap::Arguments),
    /// The known causes: list, show ID, or test, which holds each to its example
    Kb { arguments: Vec<String> },
}

/// Bad use, or a run that failed.
const EXIT_FAILED: u8 = 2;
/// Ended by Ctrl-C before the work could end by itself; as shells count it.
const EXIT_INTERRUPTED: i32 = 130;
/// How long the work may take to end in order.
const ORDERLY_END_MAX: Duration = Duration::from_secs(20);

/// Profiles, and each real driver with its version or what it lacks.
fn drivers() {
    show("profiles: our own client sends what these drivers send");
    for profile in lab::drivers::profile::Profile::all() {
        show(&format::wrap(&format!("  {:<24} ", profile.name), 27, profile.about, format::COLUMNS));
    }
    let put = |name: &str, said: &str| {
        show(&format::wrap(&format!("  {name:<24} "), 27, said, format::COLUMNS));
    };
    show("real drivers: each runs in a process of its own");
    let shims = lab::load::shim::Shims::new();
    for real in lab::drivers::Real::all() {
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
pub(crate) fn run(arguments: Arguments) -> ExitCode {
    end_on_signals();
    let well = |done: Result<(), String>| done.map(|()| 0);
    let result = match arguments.command {
        None => {
            let mut command = <crate::Invar as clap::CommandFactory>::command();
            command.build();
            let lab = command.find_subcommand_mut("lab").expect("it is one");
            show(&lab.render_help().to_string());
            Ok(0)
        }
        Some(Command::Doctor { servers, json }) => well(doctor(&servers, json)),
        Some(Command::Run(arguments)) => run::run(*arguments),
        Some(Command::Restore(servers)) => well(restore(&servers)),
        Some(Command::Bench(arguments)) => bench::run(arguments),
        Some(Command::List { id: None }) => well(list()),
        Some(Command::List { id: Some(id) }) => match lab::scenario::shipped::named(&id) {
            Some(text) => {
                show(text);
                Ok(0)
            }
            None => Err(format!("no scenario '{id}'; see invar lab list")),
        },
        Some(Command::Drivers) => {
            drivers();
            Ok(0)
        }
        Some(Command::Show { file }) => well(show_evidence(&file)),
        Some(Command::Report { file, html, markdown, svg }) => {
            report(&file, html.as_deref(), markdown.as_deref(), svg.as_deref())
        }
        Some(Command::Tap(arguments)) => well(tap::run(&arguments)),
        Some(Command::Kb { arguments }) => well(known_causes(&arguments)),
    };
    match result {
        Ok(code) => ExitCode::from(code),
        Err(why) => {
            complain(&why);
            ExitCode::from(EXIT_FAILED)
        }
    }
}

/// Lets Ctrl-C and SIGTERM end the work in order: the run is asked to stop, and if it does not, variables are put back
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

/// Servers of `doctor` and `restore`.
#[derive(clap::Args)]
struct ServerArguments {
    /// A server: mysql://user:password@host:port, as often as there are servers; a name before it, as `run` takes it, is not needed
    #[arg(long = "server", value_name = "[NAME=]URL", value_parser = url)]
    servers: Vec<String>,
    /// The same
    #[arg(value_name = "URL", value_parser = url)]
    urls: Vec<String>,
    /// All connections inside TLS, for servers that demand it; certificates are not verified
    #[arg(long)]
    tls: bool,
}

/// `[NAME=]mysql://...`
fn url(value: &str) -> Result<String, String> {
    let url = match value.split_once('=') {
        Some((name, url)) if !name.contains("://") => url,
        _ => value,
    };
    if url.starts_with("mysql://") {
        Ok(url.to_owned())
    } else {
        Err("expected mysql://user:password@host:port".to_owned())
    }
}

impl ServerArguments {
    fn all(&self) -> Vec<String> {
        self.servers.iter().chain(&self.urls).cloned().collect()
    }
}

fn doctor(servers: &ServerArguments, as_json: bool) -> Result<(), String> {
    let report = lab::doctor::examine(&Tools::default(), &servers.all(), servers.tls);
    if as_json {
        println!("{}", serde_json::to_string_pretty(&report).map_err(|error| error.to_string())?);
    } else {
        show(&report.text());
    }
    Ok(())
}

fn restore(servers: &ServerArguments) -> Result<(), String> {
    let urls = servers.all();
    if urls.is_empty() {
        return Err("restore: which server? --server mysql://user:password@host:port".to_owned());
    }
    for url in &urls {
        if urls.len() > 1 {
            let options = client::Options::from_url(url).map_err(|error| error.to_string())?;
            show(&run::wrapped("", &lab::server::describe::url_without_password(&options)));
        }
        restore_one(url, servers.tls)?;
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
    // A command that only restores variables drops no data: it names the data and the command that drops it.
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

fn known_causes(arguments: &[String]) -> Result<(), String> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (said, is_well) = lab::knowledge::command(&arguments)?;
    show(&said);
    if is_well { Ok(()) } else { Err("the knowledge base is not as it should be".to_owned()) }
}

fn report(
    file: &str,
    html: Option<&Path>,
    markdown: Option<&Path>,
    svg: Option<&Path>,
) -> Result<u8, String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    let run = lab::evidence::Run::from_json(&text).map_err(|why| format!("{file}: {why}"))?;
    let colour = std::io::IsTerminal::is_terminal(&std::io::stdout());
    show(&lab::report::terminal::text(&run, colour));
    if let Some(folder) = svg {
        run::make_folder(folder)?;
        run::save_drawings(folder, &run)?;
    }
    let write = |path: &Path, text: String| {
        std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
    };
    if let Some(path) = html {
        write(path, lab::report::html::page(&run, &lab::report::flames::figures(&run)))?;
    }
    if let Some(path) = markdown {
        write(path, lab::report::markdown::text(&run))?;
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

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        servers: ServerArguments,
    }

    #[test]
    fn doctor_and_restore_take_servers_as_run_does() {
        let url = "mysql://root:a=b@127.0.0.1:3306";
        let named = format!("new={url}");
        let inline = format!("--server={named}");
        let read = |line: &[&str]| <Line as clap::Parser>::try_parse_from([&["x"], line].concat());
        let found = read(&["--tls", "--server", &named, &inline, "--server", url, url]).unwrap().servers;
        assert_eq!(found.all(), [url; 4]);
        assert!(found.tls);
        assert!(read(&["--server"]).is_err() && read(&["nothing"]).is_err());
        let none = ServerArguments { servers: Vec::new(), urls: Vec::new(), tls: false };
        assert!(restore(&none).unwrap_err().contains("which server"));
    }
}
