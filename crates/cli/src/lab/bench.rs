//! `invar lab bench`: one fixed set of work on a server and its rivals, a row for the history, and a page that draws it.

use std::fmt::Write as _;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use lab::bench::row::{self, Row};
use lab::bench::{BenchRequest, SET, page};
use lab::evidence::Metric;
use lab::matrix::Progress;
use lab::report::format::{self, digits};
use lab::report::judgement_name;
use lab::server::variables;

/// Seconds for the whole set unless told otherwise.
const TIME_BUDGET_S: u64 = 600;
/// The judged server is slower than a rival in something, beyond noise.
const EXIT_SLOWER: u8 = 1;
/// Parts of the set could not be measured.
const EXIT_INCOMPLETE: u8 = 2;

/// What `invar lab bench --help` says.
pub(super) const HELP: &str = "\
invar lab bench --server NAME=mysql://user:password@host:port
                [--server ...] --schema NAME [options]

Runs a fixed set on each server in turn: point-select (prepared, text),
read-only, read-write, insert and update-index with 1 and 16 connections, the
five incidents, and one load over 1 to 128 connections. The first server is
judged against the others.

  --schema NAME     the one schema it writes into: made, marked, taken away
  --time-budget S   seconds for all of it, loading included (600)
  --only ID[,ID]    only these parts
  --history FILE    appends the run as a line of JSON
  --page FILE       draws the history (or, without one, this run) as HTML;
                    alone, without servers, it draws and runs nothing
  --json FILE       the run alone
  --commit ID       what the judged server was built from (asked of git here)
  --tls             all connections inside TLS, for servers that demand it
  --quiet           no progress

Exit codes: 0 slower in nothing, 1 slower than a rival in something, 2 bad use,
or parts of the set are missing";

struct Options {
    request: BenchRequest,
    history: Option<PathBuf>,
    page: Option<PathBuf>,
    json: Option<PathBuf>,
    is_quiet: bool,
}

/// Runs the command; the exit code, or why it could not.
pub(super) fn run(arguments: &[&str]) -> Result<u8, String> {
    let options = read(arguments)?;
    let file = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    if options.request.servers.is_empty() {
        let (Some(history), Some(drawn)) = (&options.history, &options.page) else {
            return Err("against which servers? --server NAME=mysql://user:password@host:port".to_owned());
        };
        let rows = history_of(history)?;
        std::fs::write(drawn, page::page(&rows)).map_err(|error| file(drawn, error))?;
        return Ok(0);
    }
    if options.request.schema.is_empty() {
        return Err(super::run::NO_SCHEMA.to_owned());
    }
    for path in [&options.history, &options.page, &options.json].into_iter().flatten() {
        super::run::check_writable(path)?;
    }
    let is_terminal = std::io::stderr().is_terminal();
    let mut noted: Vec<String> = Vec::new();
    let row = lab::bench::run(&options.request, &mut |part, progress| {
        if options.is_quiet {
            return;
        }
        let note = match progress {
            Progress::Note(said) => super::run::plain(said),
            Progress::Confound(setting) => {
                let how = super::run::plain(&variables::remedy(setting));
                format!(
                    "CONFOUND {}; ratios may owe to it; to be without it: {how}",
                    format::setting(setting)
                )
            }
            progress => return tell(part, progress, is_terminal),
        };
        // Every part finds the same settings: once is enough.
        if !noted.contains(&note) {
            eprintln!("{}{note}", if is_terminal { "\r\x1b[K" } else { "" });
            noted.push(note);
        }
    })
    .map_err(|error| error.to_string())?;
    if is_terminal && !options.is_quiet {
        eprint!("\r\x1b[K");
    }
    // What was measured is shown even where a file cannot be written.
    print!("{}", text(&row));
    let keep = |path: &Path, written: std::io::Result<()>| written.map_err(|error| file(path, error));
    let json = options.json.as_deref().map_or(Ok(()), |path| {
        let text = serde_json::to_string_pretty(&row).map_err(|error| error.to_string())?;
        super::run::save(path, &(text + "\n"))
    });
    let history = options.history.as_deref().map_or(Ok(()), |path| keep(path, row::append(path, &row)));
    if let Some(drawn) = &options.page {
        let rows = match &options.history {
            Some(history) => history_of(history)?,
            None => vec![row.clone()],
        };
        keep(drawn, std::fs::write(drawn, page::page(&rows)))?;
    }
    json.and(history)?;
    Ok(match () {
        () if !row.incomplete.is_empty() => EXIT_INCOMPLETE,
        () if row.is_slower_somewhere() => EXIT_SLOWER,
        () => 0,
    })
}

fn history_of(path: &Path) -> Result<Vec<Row>, String> {
    let (rows, bad) = row::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    for line in bad {
        eprintln!("invar lab: {}: line {line} is no row of this version and is left out", path.display());
    }
    Ok(rows)
}

fn read(arguments: &[&str]) -> Result<Options, String> {
    let mut arguments = arguments.iter().copied();
    let mut options = Options {
        request: BenchRequest {
            servers: Vec::new(),
            only: Vec::new(),
            time_budget: Duration::from_secs(TIME_BUDGET_S),
            schema: String::new(),
            commit: String::new(),
            with_tls: false,
        },
        history: None,
        page: None,
        json: None,
        is_quiet: false,
    };
    while let Some(word) = arguments.next() {
        let (option, inline) = match word.split_once('=') {
            Some((option, value)) if word.starts_with("--") => (option, Some(value)),
            _ => (word, None),
        };
        let mut value = || {
            inline
                .or_else(|| arguments.next())
                .ok_or_else(|| format!("{option} needs a value; see invar lab bench --help"))
        };
        let request = &mut options.request;
        match option {
            "--server" => {
                let server = super::run::server(value()?)?;
                if request.servers.iter().any(|(name, _)| *name == server.0) {
                    return Err(format!("--server: '{}' is no name of its own", server.0));
                }
                request.servers.push(server);
            }
            "--time-budget" => request.time_budget = super::run::time_budget(value()?)?,
            "--only" => {
                request.only = value()?.split(',').map(str::to_owned).collect();
                let is_part = |name: &String| SET.iter().any(|part| part.scenario == name);
                if let Some(unknown) = request.only.iter().find(|name| !is_part(name)) {
                    let all: Vec<&str> = SET.iter().map(|part| part.scenario).collect();
                    return Err(format!("--only: '{unknown}' is none of: {}", all.join(", ")));
                }
            }
            "--history" => options.history = Some(PathBuf::from(value()?)),
            "--page" => options.page = Some(PathBuf::from(value()?)),
            "--json" => options.json = Some(PathBuf::from(value()?)),
            "--commit" => value()?.clone_into(&mut request.commit),
            "--schema" => value()?.clone_into(&mut request.schema),
            "--tls" => request.with_tls = true,
            "--quiet" => options.is_quiet = true,
            unknown => return Err(format!("unknown option {unknown}; see invar lab bench --help")),
        }
    }
    if options.request.commit.is_empty() {
        options.request.commit = commit();
    }
    Ok(options)
}

/// The commit of this folder; with a `+` if files differ from it.
fn commit() -> String {
    let git = |arguments: &[&str]| {
        let out = std::process::Command::new("git").args(arguments).output().ok()?;
        out.status.success().then(|| String::from_utf8_lossy(&out.stdout).trim().to_owned())
    };
    match git(&["rev-parse", "--short=12", "HEAD"]) {
        Some(commit) => {
            let is_changed =
                git(&["status", "--porcelain", "-uno"]).is_none_or(|changes| !changes.is_empty());
            if is_changed { commit + "+" } else { commit }
        }
        None => "unknown".to_owned(),
    }
}

fn tell(part: &str, progress: &Progress<'_>, is_terminal: bool) {
    let mut err = std::io::stderr().lock();
    // Progress that nobody can read is no reason to stop.
    let _ = match progress {
        Progress::Step(what) if is_terminal => write!(err, "\r\x1b[K{part}: {what}"),
        Progress::Step(what) => writeln!(err, "{part}: {what}"),
        Progress::Rows(done, all) if is_terminal => write!(err, "\r\x1b[K{part}: {done} of {all} rows"),
        Progress::Block { round, arm, left, .. } if is_terminal => {
            write!(err, "\r\x1b[K{part}: round {}, {} s left  {arm}", round + 1, left.as_secs())
        }
        // Those are told elsewhere, or too often.
        Progress::Note(_)
        | Progress::Confound(_)
        | Progress::Rows(..)
        | Progress::Pass { .. }
        | Progress::Block { .. } => Ok(()),
    };
    let _ = err.flush();
}

/// The run as a table: CPU per operation of each server, and the judged one over each rival.
fn text(row: &Row) -> String {
    let mut out = String::new();
    let Some((judged, rivals)) = row.servers.split_first() else { return out };
    for server in &row.servers {
        let _ = writeln!(out, "{}: {}", server.name, server.version);
    }
    let _ = write!(
        out,
        "\nus per operation, CPU of the server and median latency; ratio: {} over it\n\n",
        judged.name
    );
    let mut whats: Vec<&str> = row.figures.iter().map(|figure| figure.what.as_str()).collect();
    whats.dedup();
    let mut seen: Vec<&str> = Vec::new();
    for what in whats {
        if seen.contains(&what) {
            continue;
        }
        seen.push(what);
        let _ = write!(out, "{what:38}");
        for server in &row.servers {
            let found = row.figure(what, &server.name);
            let shown = |value: Option<f64>| value.map_or("-".to_owned(), digits);
            let _ = write!(
                out,
                "  {:>9} {:>9}",
                shown(found.and_then(|found| found.cpu_us)),
                shown(found.and_then(|found| found.p50_us))
            );
        }
        for rival in rivals {
            let best = [Metric::ServerCpu, Metric::LatencyP50]
                .into_iter()
                .find_map(|metric| row.ratio(what, &rival.name, metric));
            if let Some(found) = best {
                let _ = write!(
                    out,
                    "  x{:.2} ({:.2}-{:.2}) {}",
                    found.ratio,
                    found.low,
                    found.high,
                    judgement_name(found.word, found.ratio)
                );
            }
        }
        out.push('\n');
    }
    if !row.differing.is_empty() {
        out.push('\n');
    }
    for setting in &row.differing {
        let _ = writeln!(out, "not equal {}", format::setting(setting));
    }
    for why in &row.incomplete {
        let _ = writeln!(out, "missing: {why}");
    }
    let _ = writeln!(out, "\n{} parts in {:.0} s", seen.len(), row.duration_s);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_read() {
        let arguments = [
            "--server",
            "ours=mysql://root@127.0.0.1:3306",
            "--server=theirs=mysql://root@127.0.0.1:3307",
            "--only=insert,scan",
        ];
        assert!(read(&arguments).map(|_| ()).unwrap_err().contains("'scan' is none of: point-select"));
        let arguments = [
            arguments[0],
            arguments[1],
            arguments[2],
            "--only=insert",
            "--time-budget=30",
            "--commit",
            "abc",
        ];
        let options = read(&arguments).unwrap();
        assert_eq!(options.request.servers[0].0, "ours");
        assert_eq!((options.request.commit.as_str(), options.request.time_budget.as_secs()), ("abc", 30));
        for (arguments, want) in [
            (vec!["--frobnicate"], "unknown option"),
            (vec!["--page"], "needs a value"),
            (vec!["--server", "x"], "expected NAME="),
        ] {
            let why = read(&arguments).map(|_| ()).unwrap_err();
            assert!(why.contains(want), "{why}");
        }
        assert!(run(&[]).unwrap_err().contains("against which servers"));
    }
}
