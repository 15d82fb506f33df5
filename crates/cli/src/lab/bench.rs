//! `invar lab bench`: one fixed set of work on a server and its rivals, a row for the history, and a page that draws it.

use std::fmt::Write as _;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use lab::bench::row::{self, Row};
use lab::bench::{BenchRequest, SET, page};
use lab::evidence::Metric;
use lab::format::judgement_name;
use lab::format::{self, digits};
use lab::matrix::Progress;
use lab::server::variables;

/// Seconds for the whole set, by default.
const TIME_BUDGET_S: u64 = 600;
/// The judged server is slower than a rival in something, beyond noise.
const EXIT_SLOWER: u8 = 1;
/// Parts of the set could not be measured.
const EXIT_INCOMPLETE: u8 = 2;

/// Runs a fixed set on each server in turn.
///
/// It is point-select (prepared, text), read-only, read-write, insert and update-index with 1 and 16 connections, the five
/// incidents, and one load over 1 to 128 connections. The first server is judged against the others.
///
/// Exit codes: 0 slower in nothing, 1 slower than a rival in something, 2 bad use, or parts of the set are missing.
#[derive(clap::Args)]
pub(super) struct Arguments {
    /// A server; the first one is judged
    #[arg(long = "server", value_name = "NAME=mysql://user:password@host:port", value_parser = super::run::server)]
    servers: Vec<(String, client::Options)>,
    /// The one schema it writes into: created, marked, dropped
    #[arg(long, value_name = "NAME", default_value = "")]
    schema: String,
    /// Seconds for all of it, loading included
    #[arg(long, value_name = "S", default_value_t = TIME_BUDGET_S.to_string())]
    time_budget: String,
    /// Only these parts
    #[arg(long, value_name = "ID,..", value_delimiter = ',', value_parser = part)]
    only: Vec<String>,
    /// Appends the run as a line of JSON
    #[arg(long, value_name = "FILE")]
    history: Option<PathBuf>,
    /// Draws the history (or, without one, this run) as HTML; alone, without servers, it draws and runs nothing
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// The run alone
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// What the measured server was built from (by default the commit that git names here)
    #[arg(long, value_name = "ID")]
    commit: Option<String>,
    /// All connections inside TLS, for servers that demand it
    #[arg(long)]
    tls: bool,
    /// No progress
    #[arg(long)]
    quiet: bool,
}

fn part(name: &str) -> Result<String, String> {
    if SET.iter().any(|part| part.scenario == name) {
        return Ok(name.to_owned());
    }
    let all: Vec<&str> = SET.iter().map(|part| part.scenario).collect();
    Err(format!("it is none of: {}", all.join(", ")))
}

/// Runs the command; the exit code, or why it could not.
pub(super) fn run(mut options: Arguments) -> Result<u8, String> {
    let request = request(&mut options)?;
    let file = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    if request.servers.is_empty() {
        let (Some(history), Some(drawn)) = (&options.history, &options.page) else {
            return Err("against which servers? --server NAME=mysql://user:password@host:port".to_owned());
        };
        let rows = history_of(history)?;
        std::fs::write(drawn, page::page(&rows)).map_err(|error| file(drawn, error))?;
        return Ok(0);
    }
    if request.schema.is_empty() {
        return Err(super::run::NO_SCHEMA.to_owned());
    }
    for path in [&options.history, &options.page, &options.json].into_iter().flatten() {
        super::run::check_writable(path)?;
    }
    let is_terminal = std::io::stderr().is_terminal();
    let mut noted: Vec<String> = Vec::new();
    let row = lab::bench::run(&request, &mut |part, progress| {
        if options.quiet {
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
    if is_terminal && !options.quiet {
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

fn request(arguments: &mut Arguments) -> Result<BenchRequest, String> {
    let servers = std::mem::take(&mut arguments.servers);
    super::run::refuse_same_names(&servers)?;
    Ok(BenchRequest {
        servers,
        only: arguments.only.clone(),
        time_budget: super::run::time_budget(&arguments.time_budget)?,
        schema: arguments.schema.clone(),
        commit: arguments.commit.clone().unwrap_or_else(commit),
        with_tls: arguments.tls,
    })
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
        // Those are reported elsewhere, or too often.
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

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn read(line: &[&str]) -> Result<Arguments, String> {
        let parsed = <Line as clap::Parser>::try_parse_from([&["bench"], line].concat());
        parsed.map(|line| line.arguments).map_err(|error| crate::one_line(&error))
    }

    #[test]
    fn the_command_line_is_read() {
        let servers =
            ["--server", "ours=mysql://root@127.0.0.1:3306", "--server=theirs=mysql://root@127.0.0.1:3307"];
        let line = [&servers[..], &["--only=insert", "--time-budget=30", "--commit", "abc"]].concat();
        let request = request(&mut read(&line).unwrap()).unwrap();
        assert_eq!(request.servers[0].0, "ours");
        assert_eq!((request.commit.as_str(), request.time_budget.as_secs()), ("abc", 30));
        for (line, want) in [
            (vec!["--only=insert,scan"], "none of: point-select"),
            (vec!["--frobnicate"], "unexpected argument"),
            (vec!["--page"], "a value is required"),
            (vec!["--server", "x"], "expected NAME="),
        ] {
            let why = read(&line).map(|_| ()).unwrap_err();
            assert!(why.contains(want) && !why.contains('\n'), "{why}");
        }
        assert!(run(read(&[]).unwrap()).unwrap_err().contains("against which servers"));
    }
}
