//! `invar lab run`: a scenario against servers, with progress on stderr and the result on stdout.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use lab::format;
use lab::matrix::cell::Choice;
use lab::matrix::{MatrixError, Progress, Request};
use lab::report::terminal;
use lab::scenario::{Protocol, Scenario, shipped};
use lab::server::variables;

/// Seconds of measuring, by default.
const TIME_BUDGET_S: u64 = 120;
/// Rounds at least, time permitting, and at most.
const ROUNDS: (usize, usize) = (10, 60);

/// Without leave to write, nothing is written.
pub(super) const NO_SCHEMA: &str = "its data needs a schema of its own on each server, which it makes and takes away again: name it, as in --schema invar_lab";

/// Runs a scenario against servers.
///
/// Exit codes: 0 no difference, 1 a regression, 2 bad use or a failed run, 3 inconclusive, 4 the servers' results differ.
#[derive(clap::Args)]
pub(super) struct Arguments {
    /// An id of `invar lab list` or a TOML file (docs/lab.md)
    scenario: Option<String>,
    /// A server; the first is what the others are compared with
    #[arg(long = "server", value_name = "NAME=mysql://user:password@host:port", value_parser = server)]
    servers: Vec<(String, client::Options)>,
    /// The one schema it writes into: created, marked, and dropped again; nothing is written without a name
    #[arg(long, value_name = "NAME")]
    schema: Option<String>,
    /// Seconds for measuring
    #[arg(long, value_name = "S", default_value_t = TIME_BUDGET_S.to_string())]
    time_budget: String,
    /// No second look, stacks, counts, changes
    #[arg(long)]
    only_timing: bool,
    /// Rounds of all arms, at least and at most [default: 10,60]
    #[arg(long, value_name = "MIN[,MAX]", value_parser = rounds)]
    rounds: Option<(usize, usize)>,
    /// Only these sizes
    #[arg(long, value_name = "N,..", value_delimiter = ',')]
    scale: Vec<u64>,
    /// Only these variants
    #[arg(long, value_name = "NAME,..", value_delimiter = ',')]
    variant: Vec<String>,
    /// As these drivers
    #[arg(long, value_name = "NAME,..", value_delimiter = ',')]
    driver: Vec<String>,
    /// text, prepared or auto
    #[arg(long, value_name = "NAME,..", value_delimiter = ',', value_parser = protocol)]
    protocol: Vec<Protocol>,
    /// This many connections
    #[arg(long, value_name = "N,..", value_delimiter = ',', value_parser = connections)]
    connections: Vec<u32>,
    /// Does not run the first arm twice
    #[arg(long)]
    no_twin: bool,
    /// Only compares driver profiles with the real drivers they imitate, at one pace; --driver names profiles
    #[arg(long)]
    driver_fidelity: bool,
    /// With --driver-fidelity: client on one core, servers on the others; put back at the end
    #[arg(long)]
    allow_pin: bool,
    /// Leaves the data there
    #[arg(long)]
    keep_data: bool,
    /// Sets global variables; they are put back
    #[arg(long)]
    allow_global: bool,
    /// Settings that may differ: the servers are compared as they are set, and the verdict says so
    #[arg(long, value_name = "NAME,..", value_delimiter = ',')]
    accept: Vec<String>,
    /// All connections inside TLS, for servers that demand it; certificates are not verified
    #[arg(long)]
    tls: bool,
    /// Keeps the evidence
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// A page to look at
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// A report in Markdown
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Each drawing as a file of its own in this folder
    #[arg(long, value_name = "DIR")]
    svg: Option<PathBuf>,
    /// No progress
    #[arg(long)]
    quiet: bool,
}

/// Runs the command; the exit code, or why it could not.
pub(super) fn run(mut arguments: Arguments) -> Result<u8, String> {
    let request = request(&mut arguments)?;
    let files = [&arguments.json, &arguments.html, &arguments.markdown];
    for path in files.into_iter().flatten() {
        check_writable(path)?;
    }
    if let Some(folder) = &arguments.svg {
        make_folder(folder)?;
    }
    let mut printer = ProgressPrinter {
        is_quiet: arguments.quiet,
        is_terminal: std::io::stderr().is_terminal(),
        budget: request.time_budget,
    };
    let run =
        lab::matrix::run(&request, &mut |progress| printer.print(progress)).map_err(|error| match error {
            MatrixError::Use(why) => why,
            error @ MatrixError::Server { .. } => error.to_string(),
        })?;
    printer.end();
    // What was found is shown even where it cannot be kept.
    super::show(&terminal::text(&run, std::io::stdout().is_terminal()));
    if let Some(why) = &run.incomplete {
        super::complain(&format!("the run ended early, what was measured is kept: {why}"));
    }
    if let Some(path) = &arguments.json {
        save(path, &(run.to_json() + "\n"))?;
    }
    if let Some(path) = &arguments.html {
        save(path, &lab::report::html::page(&run, &lab::report::flames::figures(&run)))?;
    }
    if let Some(path) = &arguments.markdown {
        save(path, &lab::report::markdown::text(&run))?;
    }
    if let Some(folder) = &arguments.svg {
        save_drawings(folder, &run)?;
    }
    Ok(lab::matrix::exit_code(&run))
}

/// Makes a folder for drawings and sees that files can be made in it.
pub(super) fn make_folder(folder: &Path) -> Result<(), String> {
    let trial = folder.join(format!(".invar-lab-{}", std::process::id()));
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(&trial, ""))
        .and_then(|()| std::fs::remove_file(&trial))
        .map_err(|error| format!("{}: {error}", folder.display()))
}

/// Writes each drawing of a run into a folder, one file each.
pub(super) fn save_drawings(folder: &Path, run: &lab::evidence::Run) -> Result<(), String> {
    for drawing in lab::report::drawings::all(run) {
        let path = folder.join(drawing.name + ".svg");
        std::fs::write(&path, drawing.svg).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

/// Whether a result can be kept there: better known before minutes of measuring than after. What is there stays.
pub(super) fn check_writable(path: &Path) -> Result<(), String> {
    let opened = std::fs::OpenOptions::new().create(true).append(true).open(path);
    opened.map(|_| ()).map_err(|error| format!("{}: {error}", path.display()))
}

/// Writes a result; where that fails, into the folder for temporary files, and the error says so.
pub(super) fn save(path: &Path, text: &str) -> Result<(), String> {
    let Err(error) = std::fs::write(path, text) else { return Ok(()) };
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or("json");
    let rescue = std::env::temp_dir().join(format!("invar-lab-{}.{extension}", std::process::id()));
    let kept = match std::fs::write(&rescue, text) {
        Ok(()) => format!("it is kept in {} instead", rescue.display()),
        Err(other) => format!("nor could it be kept in {}: {other}", rescue.display()),
    };
    Err(format!("{}: {error}; {kept}", path.display()))
}

/// The scenario of an id or a file.
pub(super) fn scenario(name: &str) -> Result<Scenario, String> {
    if let Some(text) = shipped::named(name) {
        return Scenario::parse(text).map_err(|error| format!("{name}: {error}"));
    }
    let text = std::fs::read_to_string(name).map_err(|error| {
        let meant = lab::scenario::nearest(name, shipped::ALL.iter().map(|(id, _)| *id));
        let meant = meant.map_or(String::new(), |id| format!("; did you mean {id}?"));
        format!("{name}: {error}; neither a file nor one of `invar lab list`{meant}")
    })?;
    Scenario::parse(&text).map_err(|error| format!("{name}: {error}"))
}

/// What the command line asks for.
fn request(arguments: &mut Arguments) -> Result<Request, String> {
    let name = arguments.scenario.as_deref().ok_or("which scenario? see invar lab list")?;
    let servers = std::mem::take(&mut arguments.servers);
    if servers.is_empty() {
        return Err("against which server? --server NAME=mysql://user:password@host:port".to_owned());
    }
    refuse_same_names(&servers)?;
    Ok(Request {
        scenario: scenario(name)?,
        servers,
        choice: Choice {
            scale: arguments.scale.clone(),
            variants: arguments.variant.clone(),
            drivers: arguments.driver.clone(),
            protocols: arguments.protocol.clone(),
            connections: arguments.connections.clone(),
        },
        schema: arguments.schema.clone().ok_or(NO_SCHEMA)?,
        allow_global: arguments.allow_global,
        keep_data: arguments.keep_data,
        with_twin: !arguments.no_twin,
        only_timing: arguments.only_timing,
        fidelity: arguments.driver_fidelity,
        allow_pin: arguments.allow_pin,
        accepted: arguments.accept.iter().map(|name| name.replace('-', "_")).collect(),
        with_tls: arguments.tls,
        time_budget: time_budget(&arguments.time_budget)?,
        rounds: arguments.rounds.unwrap_or(ROUNDS),
        command: without_passwords(std::env::args().skip(1)),
    })
}

/// A command line as it may be kept: without the passwords of its servers.
fn without_passwords(arguments: impl Iterator<Item = String>) -> String {
    let shown = arguments.map(|argument| match argument.find("mysql://") {
        Some(at) => match client::Options::from_url(&argument[at..]) {
            Ok(options) => {
                format!("{}{}", &argument[..at], lab::server::describe::url_without_password(&options))
            }
            Err(_) => argument[..at].to_owned(),
        },
        None => argument,
    });
    std::iter::once("invar".to_owned()).chain(shown).collect::<Vec<_>>().join(" ")
}

/// Each server has a name of its own, by which results are distinguished.
pub(super) fn refuse_same_names(servers: &[(String, client::Options)]) -> Result<(), String> {
    for (index, (name, _)) in servers.iter().enumerate() {
        if servers[..index].iter().any(|(other, _)| other == name) {
            return Err(format!("--server: '{name}' is no name of its own"));
        }
    }
    Ok(())
}

fn rounds(value: &str) -> Result<(usize, usize), String> {
    let list: Option<Vec<usize>> = value.split(',').map(|one| one.parse().ok()).collect();
    match list.as_deref() {
        Some(&[least]) if least > 0 => Ok((least, least.max(ROUNDS.1))),
        Some(&[least, most]) if least > 0 && least <= most => Ok((least, most)),
        _ => Err("expected MIN or MIN,MAX".to_owned()),
    }
}

fn connections(value: &str) -> Result<u32, String> {
    value.parse().ok().filter(|&count| count > 0).ok_or_else(|| "expected at least 1".to_owned())
}

/// `NAME=mysql://...`
pub(super) fn server(value: &str) -> Result<(String, client::Options), String> {
    let (name, url) = value.split_once('=').ok_or_else(|| "expected NAME=mysql://user@host".to_owned())?;
    let options = client::Options::from_url(url).map_err(|error| error.to_string())?;
    if name.is_empty() {
        return Err("expected a name before the first =".to_owned());
    }
    Ok((name.to_owned(), options))
}

pub(super) fn time_budget(value: &str) -> Result<Duration, String> {
    let seconds = value.parse::<f64>().ok().filter(|seconds| (0.1..=1e6).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| format!("--time-budget {value}: expected seconds"))
}

fn protocol(name: &str) -> Result<Protocol, String> {
    match name {
        "text" => Ok(Protocol::Text),
        "prepared" => Ok(Protocol::Prepared),
        "auto" => Ok(Protocol::Auto),
        _ => Err("expected text, prepared or auto".to_owned()),
    }
}

/// Says on stderr how far it is: one line written over again on a terminal, few lines in a log.
struct ProgressPrinter {
    is_quiet: bool,
    is_terminal: bool,
    budget: Duration,
}

impl ProgressPrinter {
    fn print(&mut self, progress: &Progress<'_>) {
        if self.is_quiet {
            return;
        }
        let mut err = std::io::stderr().lock();
        let clear = if self.is_terminal { "\r\x1b[K" } else { "" };
        // Who does not listen to progress misses nothing.
        let _ = match progress {
            Progress::Step(what) if self.is_terminal => write!(err, "\r\x1b[K{what}"),
            Progress::Step(what) => writeln!(err, "{}", wrapped("", what)),
            // It stays above the line that is written over again.
            Progress::Note(said) => writeln!(err, "{clear}{}", wrapped("", &plain(said))),
            Progress::Confound(setting) => {
                let how = plain(&variables::remedy(setting));
                let lines = [
                    wrapped("CONFOUND ", &plain(&format::setting(setting))),
                    wrapped("  ", &format!("so there will be no verdict; to get one: {how}")),
                    wrapped(
                        "  ",
                        &format!("or compare the servers as they are set: --accept {}", setting.name),
                    ),
                ];
                writeln!(err, "{clear}{}", lines.join("\n"))
            }
            Progress::Rows(done, all) if self.is_terminal => {
                write!(err, "\r\x1b[Kloading data: {done} of {all} rows")
            }
            Progress::Rows(..) => Ok(()),
            Progress::Pass { what, left } if self.is_terminal => {
                write!(err, "{clear}{}", terminal::progress(self.budget, *left, what))
            }
            Progress::Pass { what, left } => {
                writeln!(err, "{}", wrapped("", &format!("{what}; at most {} s left", left.as_secs())))
            }
            Progress::Block { round, arm, block, left } => {
                let what = match &block.invalid {
                    Some(why) => format!("invalid: {why}"),
                    None => format!(
                        "{} operations, median {}",
                        block.operations,
                        duration(block.latency.p50_ns as f64)
                    ),
                };
                let line = format!("round {}, {arm}: {what}", round + 1);
                if self.is_terminal {
                    write!(err, "{clear}{}", terminal::progress(self.budget, *left, &line))
                } else if block.invalid.is_some() || block.position == 0 {
                    let line = format!("{line}; at most {} s left", left.as_secs());
                    writeln!(err, "{}", wrapped("", &line))
                } else {
                    Ok(())
                }
            }
        };
        let _ = err.flush();
    }

    fn end(&self) {
        if self.is_terminal && !self.is_quiet {
            eprint!("\r\x1b[K");
        }
    }
}

/// Lines that a terminal does not break.
pub(super) fn wrapped(first: &str, text: &str) -> String {
    format::wrap(first, 2, text, format::COLUMNS)
}

/// Text from a server must not send control sequences to the terminal.
pub(super) fn plain(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

fn duration(ns: f64) -> String {
    match ns {
        ns if ns < 1e3 => format!("{ns:.0} ns"),
        ns if ns < 1e6 => format!("{:.1} us", ns / 1e3),
        ns if ns < 1e9 => format!("{:.2} ms", ns / 1e6),
        ns => format!("{:.2} s", ns / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn read(line: &[&str]) -> Result<(Arguments, Request), String> {
        let line = [&["run"], line].concat();
        let parsed = <Line as clap::Parser>::try_parse_from(line).map_err(|error| crate::one_line(&error))?;
        let mut arguments = parsed.arguments;
        let request = request(&mut arguments)?;
        Ok((arguments, request))
    }

    #[test]
    fn the_command_line_is_read_and_passwords_are_not_kept() {
        let line = [
            "join",
            "--server",
            "old=mysql://root:secret@127.0.0.1:3306",
            "--server=new=mysql://root@127.0.0.1:3307",
            "--time-budget",
            "2.5",
            "--rounds",
            "3,4",
            "--no-twin",
            "--json=x.json",
            "--svg",
            "drawn",
            "--accept",
            "log-bin,innodb_buffer_pool_size",
            "--tls",
            "--connections",
            "1,8",
            "--schema",
            "mine",
        ];
        let (arguments, request) = read(&line).unwrap();
        assert_eq!(request.schema, "mine");
        assert_eq!(request.servers[1].0, "new");
        assert_eq!((request.rounds, request.choice.connections.as_slice()), ((3, 4), &[1, 8][..]));
        assert!(!request.with_twin && !request.allow_global);
        assert_eq!(arguments.svg.as_deref(), Some(Path::new("drawn")));
        assert_eq!(request.accepted, ["log_bin", "innodb_buffer_pool_size"]);
        assert!(request.with_tls);
        let command = without_passwords(line.iter().map(|&word| word.to_owned()));
        assert!(!command.contains("secret"), "{command}");
        assert!(command.starts_with("invar join --server old=mysql://root@127.0.0.1:3306"), "{command}");
    }

    #[test]
    fn what_is_wrong_is_one_line() {
        let good = "--server=a=mysql://root@127.0.0.1";
        for (line, want) in [
            (vec!["join"], "against which server"),
            (vec![good], "which scenario"),
            (vec!["nothing-such", good], "neither a file nor"),
            (vec!["join", "--server", "mysql://root@h"], "expected NAME="),
            (vec!["join", "--server", "a=http://h"], "is not mysql://"),
            (vec!["join", good, good], "no name of its own"),
            (vec!["join", good, "--rounds", "5,2"], "expected MIN or MIN,MAX"),
            (vec!["join", good, "--frobnicate"], "unexpected argument '--frobnicate'"),
            (vec!["join", good, "--time-bugdet", "3"], "'--time-budget'"),
            (vec!["join", good, "--json"], "a value is required for '--json"),
            (vec!["join", good, "--protocol", "quic"], "expected text, prepared or auto"),
            (vec!["join", good, "--connections", "0"], "expected at least 1"),
            (vec!["join", good], "--schema invar_lab"),
        ] {
            let why = read(&line).map(|_| ()).unwrap_err();
            assert!(why.contains(want) && !why.contains('\n'), "{line:?}: {why}");
        }
    }
}
