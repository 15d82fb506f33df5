//! `differential --left URL --right URL [--seed N] [--statements N] [--minimise] ...`: runs rounds and prints what differs.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use client::Options;
use differential::compare::Lenience;
use differential::explained;
use differential::generate::Settings;
use differential::minimise::{minimise, script_text};
use differential::oracle::{Oracle, Verdict};
use differential::plan_errors::PlanErrors;
use differential::round::{Finding, Pair};
use differential::sessions::{Mix, Sessions};
use differential::temporary;

const USAGE: &str = "\
usage: differential --left mysql://USER@HOST:PORT --right mysql://USER:PASSWORD@HOST:PORT
       differential --alone mysql://USER@HOST:PORT   compare a server with itself under other plans, and with an interpreter
       differential --bad-values --left URL --right URL   changes with bad values under every sql_mode
       differential --branches --left URL --right URL     XA transactions over several connections
       differential --transactions --left URL --right URL other transactions, with definitions and temporary tables
  --seed N          seed of the first round; each round has the next one (default 1)
  --statements N    how many statements in all (default 2000)
  --round N         statements in a round (default 200)
  --changes N       percentage of statements that change rows (default 15)
  --definitions N   percentage of statements that change definitions (default 1)
  --minimise        cut each finding down before it is printed
  --most N          cut down at most N findings of a kind (and pair of error numbers), count the others
  --kinds A,B       work on findings of these kinds only: Crash, Rows, Order, Content, Error, Counts, Columns, ...
  --out DIR         write each finding into a file there, named by kind and seed; below evaluated those that depend on what is evaluated
  --views           statements read and change the tables through views
  --generated       tables have generated columns and functional key parts
  --triggers        the tables have triggers; what those write is compared after each change
  --functions       expressions call stored functions
  --checksums       what changes leave is compared by CHECKSUM TABLE, too
  --plans           statements have optimizer hints, and flags of optimizer_switch are switched between them
  --rows-only       compare rows, contents and errors only: no column types, warnings, texts
  --no-texts        do not compare texts of errors and warnings
  --database NAME   database to use on both servers; it is dropped (default differential)
";

/// Short cases instead of rounds.
#[derive(Clone, Copy)]
enum Cases {
    /// Of [`differential::bad_values`].
    BadValues,
    /// Of [`differential::sessions`].
    Sessions(Mix),
}

struct Arguments {
    left: Options,
    right: Options,
    seed: u64,
    statements: usize,
    settings: Settings,
    is_minimising: bool,
    cases: Option<Cases>,
    most: usize,
    kinds: Option<String>,
    out: Option<PathBuf>,
    lenience: Lenience,
    reads_views: bool,
    has_checksums: bool,
    database: String,
}

fn arguments() -> Result<Arguments, String> {
    let mut left = None;
    let mut right = None;
    let mut seed = 1;
    let mut statements = 2000;
    let mut settings = Settings::default();
    let mut is_minimising = false;
    let mut cases = None;
    let mut most = usize::MAX;
    let mut kinds = None;
    let mut out = None;
    let mut reads_views = false;
    let mut has_checksums = false;
    let mut lenience = Lenience { columns: true, warnings: true, texts: true };
    let mut database = "differential".to_owned();
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} needs a value"));
        let number = |text: String| text.parse::<u64>().map_err(|_| format!("{text} is no number"));
        let url = |text: String| Options::from_url(&text).map_err(|error| format!("{text}: {error}"));
        match word.as_str() {
            "--left" => left = Some(url(value()?)?),
            "--right" => right = Some(url(value()?)?),
            "--seed" => seed = number(value()?)?,
            "--statements" => statements = number(value()?)? as usize,
            "--round" => settings.statements = number(value()?)? as usize,
            "--changes" => settings.change_percent = number(value()?)?,
            "--definitions" => settings.definition_percent = number(value()?)?,
            "--kinds" => kinds = Some(value()?),
            "--most" => most = number(value()?)? as usize,
            "--minimise" => is_minimising = true,
            "--bad-values" => cases = Some(Cases::BadValues),
            "--branches" => cases = Some(Cases::Sessions(Mix::Branches)),
            "--transactions" => cases = Some(Cases::Sessions(Mix::Transactions)),
            "--out" => out = Some(PathBuf::from(value()?)),
            "--views" => reads_views = true,
            "--checksums" => has_checksums = true,
            "--generated" => settings.generated = true,
            "--triggers" => settings.triggers = true,
            "--functions" => settings.functions = true,
            "--plans" => settings.plans = true,
            "--rows-only" => lenience = Lenience { columns: false, warnings: false, texts: false },
            "--no-texts" => lenience.texts = false,
            "--database" => database = value()?,
            _ => return Err(format!("{word} is not known")),
        }
    }
    if reads_views {
        settings.definition_percent = 0;
    }
    let left = left.ok_or("--left is needed")?;
    let right = right.ok_or("--right is needed")?;
    Ok(Arguments {
        left,
        right,
        seed,
        statements,
        settings,
        is_minimising,
        cases,
        most,
        kinds,
        out,
        lenience,
        reads_views,
        has_checksums,
        database,
    })
}

fn write_finding(folder: &Path, name: &str, finding: &Finding) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join(name), script_text(finding))
}

/// Whether a difference is proven to depend on what `of` names; it is counted by its kind, and said. `from`: where it was found.
fn is_proven(
    proof: Result<Option<impl std::fmt::Display>, client::Error>,
    of: &str,
    finding: &Finding,
    from: &str,
    counts: &mut BTreeMap<String, usize>,
    failure: &mut Option<String>,
) -> bool {
    match proof {
        Ok(Some(why)) => {
            let kind = format!("{:?}", finding.difference.kind);
            let (left, right) = finding.difference.errors;
            println!("depends on {of}, {kind} {left:?} {right:?}, {from}: {why}");
            *counts.entry(kind).or_default() += 1;
            true
        }
        Ok(None) => false,
        Err(error) => {
            *failure = Some(error.to_string());
            false
        }
    }
}

fn run(arguments: &Arguments) -> Result<bool, String> {
    let Arguments { left, right, lenience, database, settings, .. } = arguments;
    let connect = |database: &str| {
        Pair::connect(left, right, database, *lenience)
            .map(|pair| Pair {
                views: arguments.reads_views.then_some(0),
                has_triggers: settings.triggers,
                has_hints: settings.plans,
                has_checksums: arguments.has_checksums,
                ..pair
            })
            .map_err(|error| format!("cannot connect: {error}"))
    };
    let mut pair = connect(database)?;
    let mut cutter = if arguments.is_minimising { Some(connect(&format!("{database}_cut"))?) } else { None };
    let mut oracle = Oracle::connect(right, &format!("{database}_again"))
        .map_err(|error| format!("cannot connect: {error}"))?;
    let entries = explained::entries();
    let begin = Instant::now();
    let mut done = 0;
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    // Of each kind with its errors, how many stay when all that can be proven is.
    let mut standing: BTreeMap<String, usize> = BTreeMap::new();
    let mut explained_count = 0;
    let mut contradictions: BTreeMap<String, usize> = BTreeMap::new();
    let mut plan_errors = PlanErrors::connect(left, right, &format!("{database}_plans"))
        .map_err(|error| format!("cannot connect: {error}"))?;
    let mut of_plan: BTreeMap<String, usize> = BTreeMap::new();
    let mut of_evaluation: BTreeMap<String, usize> = BTreeMap::new();
    let mut of_order: BTreeMap<String, usize> = BTreeMap::new();
    let mut seed = arguments.seed;
    let mut failure = None;
    while done < arguments.statements && failure.is_none() {
        let ran = pair.round(seed, settings, |mut finding| {
            let is_known = |finding: &Finding| {
                let sql =
                    finding.script.statements.last().map_or(String::new(), differential::ast::Statement::sql);
                explained::explanation(&entries, &sql, &finding.difference).is_some()
            };
            if is_known(&finding) {
                explained_count += 1;
                return;
            }
            let key = format!("{:?} {:?}", finding.difference.kind, finding.difference.errors);
            *seen.entry(key.clone()).or_insert(0) += 1;
            let kind = format!("{:?}", finding.difference.kind);
            let is_wanted =
                arguments.kinds.as_ref().is_none_or(|kinds| kinds.split(',').any(|wanted| wanted == kind));
            if standing.get(&key).is_some_and(|count| *count >= arguments.most) || !is_wanted {
                *counts.entry(format!("{:?}", finding.difference.kind)).or_default() += 1;
                return;
            }
            // The oracle asks its questions of tables.
            let is_asked = !(arguments.reads_views
                && finding.script.statements.last().is_some_and(differential::ast::Statement::is_change));
            let verdict = |oracle: &mut Oracle, finding: &Finding| match is_asked {
                true => oracle.verdict(finding, *lenience),
                false => Ok(Verdict::Stands(Vec::new())),
            };
            match verdict(&mut oracle, &finding) {
                Ok(Verdict::Contradicts(variant)) => {
                    println!("the oracle contradicts itself, {kind}, seed {seed}: {variant}");
                    *contradictions.entry(kind).or_default() += 1;
                    return;
                }
                Ok(Verdict::Stands(unlike)) => {
                    let is_described = !unlike.is_empty();
                    let unlike = temporary::beyond(&finding, unlike);
                    if is_described && unlike.is_empty() {
                        println!("depends on a temporary table, {kind}, seed {seed}");
                        *of_plan.entry(kind).or_default() += 1;
                        return;
                    }
                    finding.difference.narrow(unlike);
                }
                Err(error) => failure = Some(error.to_string()),
            }
            let by_plan = match is_asked {
                true => plan_errors.plan(&finding).and_then(|plan| match plan {
                    Some(plan) => Ok(Some(plan)),
                    None => plan_errors.unneeded(&finding),
                }),
                false => Ok(None),
            };
            let from = format!("seed {seed}");
            if is_proven(by_plan, "the plan", &finding, &from, &mut of_plan, &mut failure) {
                return;
            }
            match plan_errors.evaluated(&finding) {
                Ok(Some(why)) => {
                    let (left, right) = finding.difference.errors;
                    println!("depends on what is evaluated, {kind} {left:?} {right:?}, seed {seed}: {why}");
                    let count = of_evaluation.entry(kind.clone()).or_default();
                    *count += 1;
                    if let Some(folder) = &arguments.out {
                        let name = format!("{kind}-{seed}-{count}.sql");
                        let written = write_finding(&folder.join("evaluated"), &name, &finding);
                        failure = written.err().map(|error| error.to_string()).or(failure.take());
                    }
                    return;
                }
                Ok(None) => {}
                Err(error) => failure = Some(error.to_string()),
            }
            let by_order = plan_errors.first(&finding);
            if is_proven(by_order, "the order of checks", &finding, &from, &mut of_order, &mut failure) {
                return;
            }
            let by_table = plan_errors.of_temporary_tables(&finding, is_asked);
            if is_proven(by_table, "a temporary table", &finding, &from, &mut of_plan, &mut failure) {
                return;
            }
            let mut finding = match &mut cutter {
                Some(cutter) => minimise(cutter, finding),
                None => finding,
            };
            if is_known(&finding) {
                explained_count += 1;
                return;
            }
            // What is left of the statement may show a contradiction that other parts of it had hidden.
            if cutter.is_some() && is_asked {
                match oracle.verdict(&finding, *lenience) {
                    Ok(Verdict::Contradicts(variant)) => {
                        println!("the oracle contradicts itself, {kind}, seed {seed}, cut down: {variant}");
                        *contradictions.entry(kind).or_default() += 1;
                        return;
                    }
                    Ok(Verdict::Stands(unlike)) => finding.difference.narrow(unlike),
                    Err(error) => failure = Some(error.to_string()),
                }
                let from = format!("seed {seed}, cut down");
                let by_plan = plan_errors.plan(&finding).and_then(|plan| match plan {
                    Some(plan) => Ok(Some(plan)),
                    None => plan_errors.unneeded(&finding),
                });
                if is_proven(by_plan, "the plan", &finding, &from, &mut of_plan, &mut failure) {
                    return;
                }
                let by_values = plan_errors.evaluated(&finding);
                if is_proven(
                    by_values,
                    "what is evaluated",
                    &finding,
                    &from,
                    &mut of_evaluation,
                    &mut failure,
                ) {
                    return;
                }
                // Both errors of a large statement are seldom found by cutting it once.
                let by_order = plan_errors.first(&finding);
                if is_proven(by_order, "the order of checks", &finding, &from, &mut of_order, &mut failure) {
                    return;
                }
                let by_table = plan_errors.of_temporary_tables(&finding, is_asked);
                if is_proven(by_table, "a temporary table", &finding, &from, &mut of_plan, &mut failure) {
                    return;
                }
            }
            let kind = format!("{:?}", finding.difference.kind);
            let count = counts.entry(kind.clone()).or_default();
            *count += 1;
            *standing.entry(key).or_default() += 1;
            match &arguments.out {
                Some(folder) => {
                    let written = write_finding(folder, &format!("{kind}-{seed}-{count}.sql"), &finding);
                    failure = written.err().map(|error| error.to_string()).or(failure.take());
                }
                None => println!("{}", script_text(&finding)),
            }
        });
        done += ran.map_err(|error| format!("round {seed}: {error}"))?;
        seed += 1;
    }
    if let Some(failure) = failure {
        return Err(failure);
    }
    let seconds = begin.elapsed().as_secs_f64();
    let mut line = format!("{done} statements, seeds {} to {}, {seconds:.0} s", arguments.seed, seed - 1);
    let _ =
        write!(line, ", explained {explained_count}, right server broke off {} times", pair.right_crashes);
    println!(
        "{line}; the oracle contradicts itself: {contradictions:?}; depends on the plan: {of_plan:?}; \
         depends on what is evaluated: {of_evaluation:?}; depends on the order of checks: {of_order:?}; \
         differences: {counts:?}"
    );
    for (key, count) in seen {
        println!("{count:6} {key}");
    }
    Ok(counts.is_empty())
}

/// `--alone URL [--seed N] [--statements N] [--database NAME]`: queries, 25 a round.
fn alone(words: &[String]) -> Result<bool, String> {
    const QUERIES: usize = 25;
    let value = |name: &str| words.iter().position(|word| word == name).and_then(|at| words.get(at + 1));
    let number = |name: &str, otherwise: u64| match value(name) {
        Some(text) => text.parse::<u64>().map_err(|_| format!("{text} is no number")),
        None => Ok(otherwise),
    };
    let url = words.first().ok_or("--alone needs a server")?;
    let options = Options::from_url(url).map_err(|error| format!("{url}: {error}"))?;
    let database = value("--database").map_or("differential_alone", String::as_str);
    let first = number("--seed", 1)?;
    let rounds = number("--statements", 1000)?.div_ceil(QUERIES as u64);
    let (mut tally, mut count) = (differential::alone::Tally::default(), 0);
    for seed in first..first + rounds {
        let mut findings = Vec::new();
        let round = differential::alone::run(&options, database, seed..seed + 1, QUERIES, &mut findings)
            .map_err(|error| format!("round {seed}: {error}"))?;
        tally.add(round);
        count += findings.len();
        findings.iter().for_each(|finding| println!("{finding}"));
    }
    println!("seeds {first} to {}: {tally:?}, {count} findings", first + rounds - 1);
    Ok(count == 0)
}

/// `--bad-values`, `--branches` or `--transactions`, `--left URL --right URL [--seed N] [--statements N] [--no-texts]`: cases until at least `--statements` statements have run.
fn run_cases(arguments: &Arguments, cases: Cases) -> Result<bool, String> {
    let Arguments { left, right, lenience, database, .. } = arguments;
    let mut pair = Pair::connect(left, right, database, *lenience)
        .map_err(|error| format!("cannot connect: {error}"))?;
    let folder = arguments.out.clone().unwrap_or_else(std::env::temp_dir);
    let (mut done, mut seed, mut counts) = (0, arguments.seed, BTreeMap::new());
    while done < arguments.statements {
        let ran = match cases {
            Cases::BadValues => {
                let file = Some(folder.join(format!("{database}.load")));
                differential::bad_values::case(&mut pair, seed, file)
            }
            Cases::Sessions(mix) => Sessions::new(left, right, database, mix, lenience.texts).case(seed),
        };
        let (compared, finding) = ran.map_err(|error| format!("case {seed}: {error}"))?;
        done += compared;
        if let Some(finding) = finding {
            let count: &mut usize = counts.entry(finding.kind).or_default();
            *count += 1;
            let is_wanted = arguments
                .kinds
                .as_ref()
                .is_none_or(|kinds| kinds.split(',').any(|wanted| wanted == finding.kind));
            if *count <= arguments.most && is_wanted {
                println!("{finding}");
            }
        }
        seed += 1;
    }
    println!("{done} statements, seeds {} to {}; differences: {counts:?}", arguments.seed, seed - 1);
    Ok(counts.is_empty())
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.first().is_some_and(|word| word == "--alone") {
        return match alone(&words[1..]) {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::from(1),
            Err(error) => {
                eprintln!("{error}\n{USAGE}");
                ExitCode::from(2)
            }
        };
    }
    let arguments = match arguments() {
        Ok(arguments) => arguments,
        Err(error) => {
            eprintln!("{error}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let ran = match arguments.cases {
        Some(cases) => run_cases(&arguments, cases),
        None => run(&arguments),
    };
    match ran {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}
