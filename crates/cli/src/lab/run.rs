//! `invar lab run`: a scenario against servers, with progress on stderr and the result on stdout.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use lab::matrix::cell::Choice;
use lab::matrix::{MatrixError, Progress, Request};
use lab::report::{format, terminal};
use lab::scenario::{Protocol, Scenario, shipped};
use lab::server::variables;

/// Seconds of measuring unless told otherwise.
const TIME_BUDGET_S: u64 = 120;
/// Rounds at least, time permitting, and at most.
const ROUNDS: (usize, usize) = (10, 60);

/// Without leave to write, nothing is written.
pub(super) const NO_SCHEMA: &str = "its data needs a schema of its own on each server, which it makes and takes away again: name it, as in --schema invar_lab";

/// What `invar lab run --help` says.
pub(super) const HELP: &str = "\
invar lab run SCENARIO --server NAME=mysql://user:password@host:port
              [--server ...] --schema NAME [options]

SCENARIO is an id of `invar lab list` or a TOML file (docs/lab.md). The first
server is what the others are compared with.

  --schema NAME       the one schema it writes into: made, marked, and taken
                      away again; nothing is written without a name
  --time-budget S     seconds for measuring (120)
  --only-timing       no second look, stacks, counts, changes
  --rounds MIN[,MAX]  rounds of all arms, at least and at most (10,60)
  --scale N[,N]       only these sizes
  --variant NAME[,..] only these variants
  --driver NAME[,..]  as these drivers
  --protocol text,prepared
  --connections N[,N] this many connections
  --no-twin           do not run the first arm twice
  --driver-fidelity   only compare driver profiles with the real drivers they
                      imitate, at one pace; --driver names profiles
  --allow-pin         with --driver-fidelity: client on one core, servers on
                      the others; put back at the end
  --keep-data         leave the data there
  --allow-global      set global variables; they are put back
  --accept NAME[,..]  settings that may differ: the servers are compared as
                      they are set, and the verdict says so
  --tls               all connections inside TLS, for servers that demand it;
                      certificates are not verified
  --json FILE         keep the evidence
  --html FILE, --markdown FILE   reports to look at
  --svg DIR           each drawing as a file of its own in there
  --quiet             no progress

Exit codes: 0 no difference, 1 a regression, 2 bad use or a failed run,
3 inconclusive, 4 the servers' results differ";

/// All options, to find the one that was meant.
const OPTIONS: &[&str] = &[
    "--schema",
    "--time-budget",
    "--only-timing",
    "--rounds",
    "--scale",
    "--variant",
    "--driver",
    "--protocol",
    "--connections",
    "--no-twin",
    "--driver-fidelity",
    "--allow-pin",
    "--keep-data",
    "--allow-global",
    "--accept",
    "--tls",
    "--json",
    "--html",
    "--markdown",
    "--svg",
    "--quiet",
    "--server",
];

/// What the command line asks for.
struct Arguments {
    request: Request,
    json: Option<PathBuf>,
    html: Option<PathBuf>,
    markdown: Option<PathBuf>,
    svg: Option<PathBuf>,
    is_quiet: bool,
}

/// Runs the command; the exit code, or why it could not.
pub(super) fn run(list: &[&str]) -> Result<u8, String> {
    let arguments = read(list)?;
    let files = [&arguments.json, &arguments.html, &arguments.markdown];
    for path in files.into_iter().flatten() {
        check_writable(path)?;
    }
    if let Some(folder) = &arguments.svg {
        make_folder(folder)?;
    }
    let mut printer = ProgressPrinter {
        is_quiet: arguments.is_quiet,
        is_terminal: std::io::stderr().is_terminal(),
        budget: arguments.request.time_budget,
    };
    let run =
        lab::matrix::run(&arguments.request, &mut |progress| printer.print(progress)).map_err(|error| {
            match error {
                MatrixError::Use(why) => why,
                error @ MatrixError::Server { .. } => error.to_string(),
            }
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

fn read(list: &[&str]) -> Result<Arguments, String> {
    let mut left = list.iter().copied();
    let mut scenario_name = None;
    let mut servers = Vec::new();
    let mut choice = Choice::default();
    let mut time_budget = Duration::from_secs(TIME_BUDGET_S);
    let mut rounds = ROUNDS;
    let mut schema = None;
    let (mut json, mut html, mut markdown, mut svg) = (None, None, None, None);
    let (mut accepted, mut with_tls) = (Vec::new(), false);
    let (mut allow_global, mut keep_data, mut with_twin, mut is_quiet) = (false, false, true, false);
    let (mut only_timing, mut fidelity, mut allow_pin) = (false, false, false);
    let mut shown = vec!["invar lab run".to_owned()];
    while let Some(word) = left.next() {
        let (option, inline) = match word.split_once('=') {
            Some((option, value)) if word.starts_with("--") => (option, Some(value)),
            _ => (word, None),
        };
        let mut value = || {
            inline
                .or_else(|| left.next())
                .ok_or_else(|| format!("{option} needs a value; see invar lab run --help"))
        };
        let told = match option {
            "--server" => {
                let (name, options) = server(value()?)?;
                if servers.iter().any(|(other, _)| *other == name) {
                    return Err(format!("--server: '{name}' is no name of its own"));
                }
                let told = format!("{name}={}", lab::server::describe::url_without_password(&options));
                servers.push((name, options));
                Some(told)
            }
            "--time-budget" => {
                let value = value()?;
                time_budget = self::time_budget(value)?;
                Some(value.to_owned())
            }
            "--rounds" => {
                let value = value()?;
                let list = numbers::<usize>(option, value)?;
                let (least, most) = (list[0], *list.last().unwrap_or(&list[0]));
                if least == 0 || least > most || list.len() > 2 {
                    return Err(format!("--rounds {value}: expected MIN or MIN,MAX"));
                }
                rounds = (least, if list.len() == 1 { most.max(ROUNDS.1) } else { most });
                Some(value.to_owned())
            }
            "--scale" => {
                let value = value()?;
                choice.scale = numbers(option, value)?;
                Some(value.to_owned())
            }
            "--connections" => {
                let value = value()?;
                choice.connections = numbers(option, value)?;
                if choice.connections.contains(&0) {
                    return Err("--connections: expected at least 1".to_owned());
                }
                Some(value.to_owned())
            }
            "--variant" | "--driver" | "--protocol" => {
                let value = value()?;
                let list: Vec<String> = value.split(',').map(str::to_owned).collect();
                match option {
                    "--variant" => choice.variants = list,
                    "--driver" => choice.drivers = list,
                    _ => {
                        choice.protocols =
                            list.iter().map(|name| protocol(name)).collect::<Result<_, _>>()?;
                    }
                }
                Some(value.to_owned())
            }
            "--schema" => {
                schema = Some(value()?.to_owned());
                schema.clone()
            }
            "--accept" => {
                let value = value()?;
                accepted.extend(value.split(',').map(|name| name.replace('-', "_")));
                Some(value.to_owned())
            }
            "--tls" => {
                with_tls = true;
                None
            }
            "--json" | "--html" | "--markdown" | "--svg" => {
                let path = value()?;
                *match option {
                    "--json" => &mut json,
                    "--html" => &mut html,
                    "--svg" => &mut svg,
                    _ => &mut markdown,
                } = Some(PathBuf::from(path));
                Some(path.to_owned())
            }
            "--allow-global" => {
                allow_global = true;
                None
            }
            "--keep-data" => {
                keep_data = true;
                None
            }
            "--no-twin" => {
                with_twin = false;
                None
            }
            "--only-timing" => {
                only_timing = true;
                None
            }
            "--driver-fidelity" => {
                fidelity = true;
                None
            }
            "--allow-pin" => {
                allow_pin = true;
                None
            }
            "--quiet" => {
                is_quiet = true;
                None
            }
            unknown if unknown.starts_with('-') => {
                let meant = lab::scenario::nearest(unknown, OPTIONS.iter().copied());
                let meant = meant.map_or(String::new(), |name| format!("; did you mean {name}?"));
                return Err(format!("unknown option {unknown}{meant}; see invar lab run --help"));
            }
            name if scenario_name.is_none() => {
                scenario_name = Some(name);
                None
            }
            more => return Err(format!("'{more}' is too much; see invar lab run --help")),
        };
        shown.push(option.to_owned());
        shown.extend(told);
    }
    let name = scenario_name.ok_or("which scenario? see invar lab list")?;
    if servers.is_empty() {
        return Err("against which server? --server NAME=mysql://user:password@host:port".to_owned());
    }
    let request = Request {
        scenario: scenario(name)?,
        servers,
        choice,
        schema: schema.ok_or(NO_SCHEMA)?,
        allow_global,
        keep_data,
        with_twin,
        only_timing,
        fidelity,
        allow_pin,
        accepted,
        with_tls,
        time_budget,
        rounds,
        command: shown.join(" "),
    };
    Ok(Arguments { request, json, html, markdown, svg, is_quiet })
}

/// `NAME=mysql://...`
pub(super) fn server(value: &str) -> Result<(String, client::Options), String> {
    let (name, url) =
        value.split_once('=').ok_or_else(|| format!("--server {value}: expected NAME=mysql://user@host"))?;
    let options = client::Options::from_url(url).map_err(|error| format!("--server {name}: {error}"))?;
    if name.is_empty() {
        return Err(format!("--server {value}: expected a name before the first ="));
    }
    Ok((name.to_owned(), options))
}

pub(super) fn time_budget(value: &str) -> Result<Duration, String> {
    let seconds = value.parse::<f64>().ok().filter(|seconds| (0.1..=1e6).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| format!("--time-budget {value}: expected seconds"))
}

fn numbers<T: std::str::FromStr>(option: &str, value: &str) -> Result<Vec<T>, String> {
    value
        .split(',')
        .map(|one| one.parse().map_err(|_| format!("{option} {value}: '{one}' is no whole number")))
        .collect()
}

fn protocol(name: &str) -> Result<Protocol, String> {
    match name {
        "text" => Ok(Protocol::Text),
        "prepared" => Ok(Protocol::Prepared),
        "auto" => Ok(Protocol::Auto),
        other => Err(format!("--protocol {other}: expected text, prepared or auto")),
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

/// Words of a server must not drive somebody's terminal.
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

    #[test]
    fn the_command_line_is_read_and_passwords_are_not_told() {
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
        let arguments = read(&line).unwrap();
        assert_eq!(arguments.request.schema, "mine");
        assert_eq!(arguments.request.servers[1].0, "new");
        assert_eq!(
            (arguments.request.rounds, arguments.request.choice.connections.as_slice()),
            ((3, 4), &[1, 8][..])
        );
        assert!(!arguments.request.with_twin && !arguments.request.allow_global);
        assert_eq!(arguments.svg.as_deref(), Some(Path::new("drawn")));
        assert_eq!(arguments.request.accepted, ["log_bin", "innodb_buffer_pool_size"]);
        assert!(arguments.request.with_tls);
        assert!(!arguments.request.command.contains("secret"), "{}", arguments.request.command);
        assert!(arguments.request.command.contains("join --server old=mysql://root@127.0.0.1:3306"));
    }

    #[test]
    fn help_fits_a_terminal() {
        for text in [HELP, crate::lab::HELP, crate::lab::bench::HELP, crate::lab::tap::HELP] {
            for line in text.lines() {
                assert!(line.chars().count() <= format::COLUMNS, "{line}");
            }
        }
        for option in OPTIONS {
            assert!(HELP.contains(option), "{option}");
        }
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
            (vec!["join", good, "--frobnicate"], "unknown option --frobnicate; see"),
            (
                vec!["join", good, "--time-bugdet", "3"],
                "unknown option --time-bugdet; did you mean --time-budget?",
            ),
            (vec!["join", good, "--json"], "needs a value"),
            (vec!["join", good, "--protocol", "quic"], "expected text, prepared or auto"),
            (vec!["join", good], "--schema invar_lab"),
        ] {
            let why = read(&line).map(|_| ()).unwrap_err();
            assert!(why.contains(want) && !why.contains('\n'), "{line:?}: {why}");
        }
    }
}
