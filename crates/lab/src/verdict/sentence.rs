//! The verdict's sentence: how much slower what is, why, and what to do.
//!
//! Invariant: its words agree with its numbers. All of them come from one [`Finding`], whose ratio is above 1, and the direction
//! from which of its two arms is judged.

use super::finding::Finding;
use super::sum;
use crate::analysis::metric_name;
use crate::evidence::{Metric, Run};
use crate::format::{nanoseconds, times, value};
use crate::scenario::{Scenario, Statement, VARIANT_DEFAULT, Work};

/// What an arm does, as far as the scenario's text tells.
fn work(run: &Run, arm: usize) -> Option<Work> {
    let scenario = Scenario::parse(&run.scenario.text).ok()?;
    let this = run.arms.get(arm)?;
    let variant = this.levels.get("variant").map_or(VARIANT_DEFAULT, String::as_str);
    scenario.work(this.scale, variant).ok()
}

/// The verbs of an arm's statements, in capitals, each once; empty where the scenario is not known.
#[must_use]
pub(crate) fn verbs(run: &Run, arm: usize) -> Vec<String> {
    let statements = work(run, arm).map_or_else(Vec::new, |work| work.op.statements);
    let mut verbs: Vec<String> =
        statements.iter().map(Statement::verb).filter(|verb| !verb.is_empty()).collect();
    verbs.sort_unstable();
    verbs.dedup();
    verbs
}

/// Whether a statement of an arm has a plan; true where the scenario is not known.
#[must_use]
pub fn has_plan(run: &Run, arm: usize) -> bool {
    work(run, arm).is_none_or(|work| work.op.statements.iter().any(Statement::has_plan))
}

/// What one operation of an arm is called.
#[must_use]
pub fn operation(run: &Run, arm: usize) -> &'static str {
    let Some(work) = work(run, arm) else { return "operation" };
    let op = &work.op;
    if op.transaction {
        return "transaction";
    }
    let [one] = op.statements.as_slice() else { return "operation" };
    if one.batch.is_some() {
        return "batch";
    }
    if one.repeat != 1 {
        return "operation";
    }
    match verbs(run, arm).first().map(String::as_str) {
        Some("SELECT" | "WITH" | "TABLE" | "VALUES") => "query",
        Some("INSERT" | "REPLACE") => "insert",
        Some("UPDATE") => "update",
        Some("DELETE") => "delete",
        Some("CALL") => "call",
        Some(_) => "statement",
        None => "operation",
    }
}

/// What arms of two servers have in common and others of the run have otherwise: ` with rows=800`.
fn levels(run: &Run, arm: usize) -> String {
    let this = &run.arms[arm];
    let is_varied = |axis: &str, level: &str| {
        run.arms.iter().any(|other| other.levels.get(axis).is_some_and(|other| other != level))
    };
    let list: Vec<String> = this
        .levels
        .iter()
        .filter(|(axis, level)| *axis != "server" && is_varied(axis, level))
        .map(|(axis, level)| format!("{axis}={level}"))
        .collect();
    if list.is_empty() { String::new() } else { format!(" with {}", list.join(", ")) }
}

/// Names of the two arms of a finding: their servers, or, on one server, the arms themselves.
fn names<'a>(run: &'a Run, found: &Finding) -> (&'a str, &'a str) {
    let (fast, slow) = (&run.arms[found.pair.fast], &run.arms[found.pair.slow]);
    if fast.server == slow.server { (&fast.name, &slow.name) } else { (&fast.server, &slow.server) }
}

/// The difference alone: `each query takes 23.0 us longer on new than on old (61.0 us instead of 38.0 us)`.
#[must_use]
pub fn difference(run: &Run, found: &Finding) -> String {
    let (fast_name, slow_name) = names(run, found);
    let is_across = run.arms[found.pair.fast].server != run.arms[found.pair.slow].server;
    let with = if is_across { levels(run, found.pair.slow) } else { String::new() };
    let (was, is) = (found.fast_value, found.fast_value * found.ratio);
    let figure = |number: f64| value(found.metric, number);
    let amount = figure(is - was);
    let op = operation(run, found.pair.slow);
    let (judged, base, now, before) = if found.is_judged_slower {
        (slow_name, fast_name, is, was)
    } else {
        (fast_name, slow_name, was, is)
    };
    let (longer, more) = if found.is_judged_slower { ("longer", "more") } else { ("less", "less") };
    let on = format!("{with} on {judged} than on {base}");
    let instead = format!("({} instead of {})", figure(now), figure(before));
    let wall =
        run.sum.as_ref().filter(|sum| sum::is_divisible(sum)).map(|sum| nanoseconds(sum.total.delta_ns));
    match (found.metric, wall) {
        (Metric::ServerCpu, Some(wall)) => {
            format!("each {op} takes {wall} {longer}{on}, and {amount} {more} server CPU {instead}")
        }
        (Metric::ServerCpu, None) => format!("each {op} needs {amount} {more} server CPU{on} {instead}"),
        (Metric::RunQueue, _) => format!("each {op} waits {amount} {longer} for a core{on} {instead}"),
        (Metric::LatencyP99, _) => {
            format!("the slowest 1 % of all operations take {amount} {longer}{on} {instead}")
        }
        (Metric::LatencyP50 | Metric::TimePerOperation, _) => {
            format!("each {op} takes {amount} {longer}{on} {instead}")
        }
        (Metric::Count, _) => format!("each {op} has {amount} {more} of a count{on} {instead}"),
    }
}

/// The ratio with its interval: `new is 1.61 times as slow as old in median latency (95 % interval 1.55 to 1.68)`.
#[must_use]
pub fn ratio(run: &Run, found: &Finding) -> String {
    let (fast_name, slow_name) = names(run, found);
    let (judged, base, ratio) = if found.is_judged_slower {
        (slow_name, fast_name, found.ratio)
    } else {
        (fast_name, slow_name, 1.0 / found.ratio)
    };
    format!(
        "{judged} is {} as {base} in {} (95 % interval {:.2} to {:.2})",
        times(ratio),
        metric_name(found.metric),
        found.low,
        found.high
    )
}

/// The end of a verdict's sentence: the first thing to do.
#[must_use]
pub(crate) fn todo(advice: &[String]) -> String {
    advice.first().map_or(String::new(), |what| format!("; do: {what}"))
}

/// A layer with its part for people.
#[must_use]
pub fn layer(name: &str) -> &str {
    match name {
        "client" => "CPU of the client itself",
        "app" => "the application: its time between commands, or what it sends",
        "driver" => "the driver",
        "proxy" => "a proxy before the server",
        "network" => "the network",
        "server" => "CPU in the server",
        "server-sql" => "CPU in the server's SQL layer",
        "server-sql:plan" => "another plan, which reads more rows",
        "server-sql:sort" => "sorts that no longer fit into memory",
        "server-sql:temporary-table" => "temporary tables that no longer fit into memory",
        "engine" => "the storage engine",
        "engine:sync" => "waiting for files to be synced",
        "engine:row-lock" => "waiting for row locks",
        "kernel" => "waiting for a CPU core",
        other => match other.split_once(':') {
            // A part that only a known cause names.
            Some((whole, _)) => layer(whole),
            None => other,
        },
    }
}
