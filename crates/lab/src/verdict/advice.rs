//! What to do next: only what the scenario and the evidence of this run suggest.

use super::sentence::verbs;
use crate::evidence::{Intervention, Run, SchemaDifference, Setting, VerdictKind};
use crate::knowledge::Fit;
use crate::knowledge::entry::Fix;
use crate::server::variables;

/// Share of the time budget from which it was the limit.
const BUDGET_SPENT: f64 = 0.9;
/// Sizes over which growth is fitted.
const SIZES_FOR_GROWTH: usize = 4;

/// What advice is drawn from.
pub(super) struct Grounds<'a> {
    pub(super) kind: VerdictKind,
    pub(super) layer: Option<&'a str>,
    pub(super) slow_arm: usize,
    pub(super) fit: Option<&'a Fit<'a>>,
    pub(super) proof: Option<&'a Intervention>,
    pub(super) schema: Option<&'a SchemaDifference>,
    pub(super) accepted: &'a [&'a Setting],
    /// A function or a count was found that makes the difference.
    pub(super) has_mechanism: bool,
}

/// The fixes of a known cause that concern the statements of an arm.
pub(super) fn fixes(run: &Run, arm: usize, of: &[Fix]) -> Vec<String> {
    let verbs = verbs(run, arm);
    of.iter().filter(|fix| fix.concerns(&verbs)).map(Fix::in_words).collect()
}

/// What to do about a difference of settings over which no verdict may be drawn.
pub(super) fn make_alike(setting: &Setting) -> String {
    let (how, name) = (variables::remedy(setting), &setting.name);
    format!("make {name} alike: {how}; or --accept {name} to compare the servers as they are set")
}

/// What to do where noise hides the answer.
pub(super) fn against_noise(run: &Run) -> Vec<String> {
    let was_spent = run.time_budget_s <= 0.0 || run.measured_s >= BUDGET_SPENT * run.time_budget_s;
    let cores = f64::from(run.machine.cores.max(1));
    let run_queue = run.machine.load_average.filter(|load| *load > cores).map(|load| {
        format!(
            "stop other programs on this machine and run again: its load was {load:.1} on {cores:.0} cores when the run began"
        )
    });
    let longer = was_spent.then(|| match run.time_budget_s {
        budget if budget > 0.0 => {
            format!("give it more time: all of --time-budget {budget:.0} was used; try {:.0}", 3.0 * budget)
        }
        _ => "give it more time by --time-budget".to_owned(),
    });
    let mut advice: Vec<String> = run_queue.into_iter().chain(longer).collect();
    if advice.is_empty() {
        advice
            .push("run it again when the machine is quieter: the rounds of this run do not agree".to_owned());
    }
    advice
}

fn has_option(run: &Run, option: &str) -> bool {
    run.commands.iter().any(|command| command.split(' ').any(|word| word == option))
}

/// The size grows with the scenario, and too few of its values ran to see how the cost does.
fn too_few_sizes(run: &Run) -> Option<usize> {
    run.scenario.scale_name.as_ref()?;
    let mut sizes: Vec<u64> = run.arms.iter().filter_map(|arm| arm.scale).collect();
    sizes.sort_unstable();
    sizes.dedup();
    (sizes.len() < SIZES_FOR_GROWTH).then_some(sizes.len())
}

/// Where to look next in what a layer does, where nothing more is known of it.
fn look_at(run: &Run, grounds: &Grounds<'_>, layer: &str) -> Option<String> {
    let (whole, part) = layer.split_once(':').unwrap_or((layer, ""));
    let text = match (whole, part) {
        (_, "sort") => "give sorts more memory: sort_buffer_size (the evidence names what differs)",
        (_, "temporary-table") => {
            "give temporary tables more memory: tmp_table_size, max_heap_table_size, temptable_max_ram"
        }
        ("client", _) => "give the client cores of its own: its own CPU is a part of what differs",
        ("app", _) => "compare what both send: the page's table of phases lists each command (--html FILE)",
        ("driver", _) => "use the faster driver, or compare what both send by invar lab tap",
        ("server" | "server-sql" | "engine", _) if has_option(run, "--html") => {
            "look at the page's flame graph of the difference: it names the functions"
        }
        ("server" | "server-sql" | "engine", _) if !run.stacks.is_empty() => {
            "write the page (--html FILE) and look at its flame graph of the difference: it names the functions"
        }
        _ => return None,
    };
    // What was found there is more than where to look.
    (!grounds.has_mechanism || !text.contains("flame graph")).then(|| text.to_owned())
}

/// What to do about a difference.
pub(super) fn of_difference(run: &Run, grounds: &Grounds<'_>) -> Vec<String> {
    let mut advice = Vec::new();
    advice.extend(grounds.accepted.iter().map(|setting| {
        let how = variables::remedy(setting);
        format!("{how} and run again: that shows what {} has to do with it", setting.name)
    }));
    let server = &run.arms[grounds.slow_arm].server;
    advice.extend(grounds.proof.map(|proof| {
        let (what, share) = (&proof.what, proof.recovered * 100.0);
        let is_sql =
            ["ALTER ", "CREATE ", "DROP ", "SET ", "ANALYZE "].iter().any(|verb| what.starts_with(verb));
        let on = if is_sql { format!("on {server}: ") } else { String::new() };
        format!("{on}{what} (tried: {share:.0} % of the gap went)")
    }));
    if let Some(difference) = grounds.schema {
        // What was tried and proven is said once.
        let is_new = |sql: &&String| grounds.proof.is_none_or(|proof| !proof.what.contains(sql.as_str()));
        let remedy = difference.server.as_ref().zip(difference.remedy.as_ref().filter(is_new));
        advice.extend(remedy.map(|(server, sql)| format!("on {server}: {sql}")));
    }
    let known =
        grounds.fit.map_or_else(Vec::new, |fit| fixes(run, grounds.slow_arm, &fit.entry.interventions));
    // What was tried is advised above if it helped, and not at all if it did not.
    let tried = || run.interventions.iter().filter(|change| change.arm == grounds.slow_arm);
    advice.extend(known.into_iter().filter(|fix| !tried().any(|change| fix.starts_with(&change.what))));
    if advice.len() > grounds.accepted.len() || grounds.proof.is_some() {
        return advice;
    }
    let only_timing = has_option(run, "--only-timing");
    if only_timing {
        advice.push("run without --only-timing: stacks, phases and changes say where and why".to_owned());
        return advice;
    }
    match grounds.layer {
        Some("kernel") => {
            advice.push("give each server cores of its own, or stop other programs, and run again".to_owned());
        }
        Some("network") => advice.push("compare both links by ping and by the size of answers".to_owned()),
        Some("proxy") => advice.push("connect to the server itself, and compare".to_owned()),
        Some("engine:sync") => advice.push(
            "compare innodb_flush_log_at_trx_commit, sync_binlog, log_bin and the disks of both servers".to_owned(),
        ),
        Some("engine:row-lock") => {
            advice.push("look for the transaction that holds the locks: performance_schema.data_locks".to_owned());
        }
        Some("server-sql:plan") if grounds.schema.is_none() => {
            advice.push("compare EXPLAIN ANALYZE of the statement on both servers".to_owned());
        }
        Some("server" | "server-sql" | "engine") if run.stacks.is_empty() => advice.push(
            "let perf sample both servers on this machine (invar lab doctor says what it lacks): \
             stacks tell which functions it is"
                .to_owned(),
        ),
        None if run.phases.is_empty() => advice.push(
            "let the run go through its tap (see the warnings for why it did not): it tells network, proxy and \
             server apart"
                .to_owned(),
        ),
        None => advice.extend(against_noise(run)),
        Some(layer) => advice.extend(look_at(run, grounds, layer)),
    }
    let is_cpu = matches!(grounds.layer, Some("server" | "server-sql" | "engine"));
    if is_cpu
        && !grounds.has_mechanism
        && let Some(sizes) = too_few_sizes(run)
    {
        let name = run.scenario.scale_name.as_deref().unwrap_or("the size");
        advice.push(format!(
            "run {SIZES_FOR_GROWTH} values of {name} instead of {sizes}: how cost grows is evidence"
        ));
    }
    if grounds.kind == VerdictKind::Novel {
        advice.push(
            "report it: the run's JSON (--json) holds the statement, the settings and the stacks".to_owned(),
        );
    }
    advice
}
