//! How a signature is held against a run.

use std::collections::BTreeMap;

use super::entry::{Entry, Evidence, Kind, State, When};
use crate::analysis::{group_of, middle};
use crate::evidence::{Arm, Block, Metric, Run, StackProfile};
use crate::stats::summary;

/// Rows read may differ by this share between arms that do the same work.
const WORK_ALIKE: f64 = 0.05;

/// The two arms a question is about.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Pair {
    /// Index of the faster arm.
    pub fast: usize,
    /// Index of the slower arm.
    pub slow: usize,
}

/// What an entry's signature found in a run.
#[derive(Clone, Debug, Default)]
pub struct Match {
    /// Pieces that hold, in words.
    pub held: Vec<(Kind, String)>,
    /// Pieces that were measured and do not fit.
    pub refused: Vec<String>,
    /// Pieces that were not measured.
    pub not_measured: Vec<String>,
    /// Kinds a match needs.
    kinds_least: usize,
}

impl Match {
    /// The different kinds that hold.
    #[must_use]
    pub fn kinds(&self) -> Vec<Kind> {
        let mut kinds: Vec<Kind> = self.held.iter().map(|(kind, _)| *kind).collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }

    /// Enough kinds hold and nothing refuses.
    #[must_use]
    pub fn is_match(&self) -> bool {
        self.refused.is_empty() && self.kinds().len() >= self.kinds_least.max(2)
    }

    /// A line for each piece.
    #[must_use]
    pub(crate) fn in_words(&self) -> String {
        let lines = |mark: &str, texts: &[String]| {
            texts.iter().map(|text| format!("  {mark} {text}\n")).collect::<String>()
        };
        let held: Vec<String> =
            self.held.iter().map(|(kind, text)| format!("{}: {text}", kind.name())).collect();
        lines("+", &held) + &lines("-", &self.refused) + &lines("?", &self.not_measured)
    }
}

enum Held {
    Yes(String),
    No(String),
    NotMeasured(String),
}

/// Holds an entry against a pair of arms.
#[must_use]
pub fn hold(entry: &Entry, run: &Run, pair: Pair) -> Match {
    let mut matched = Match { kinds_least: entry.kinds_least, ..Match::default() };
    let Some(slow) = run.arms.get(pair.slow) else {
        matched.refused.push("the run has no such arm".to_owned());
        return matched;
    };
    if let Some(server) = run.servers.iter().find(|server| server.name == slow.server)
        && entry.state_of(server.flavour, &server.version) == State::Free
    {
        matched
            .refused
            .push(format!("version: {} {} is known to be free of it", server.name, server.version));
    }
    for evidence in &entry.evidence {
        let (kind, what) = (evidence.kind(), evidence.in_words());
        match held(evidence, entry, run, pair) {
            Held::Yes(text) => matched.held.push((kind, text)),
            Held::No(text) if !evidence.is_optional() => {
                matched.refused.push(format!("{}: {text}; expected: {what}", kind.name()));
            }
            Held::No(text) | Held::NotMeasured(text) => {
                matched.not_measured.push(format!("{}: {text}", kind.name()));
            }
        }
    }
    matched
}

fn held(evidence: &Evidence, entry: &Entry, run: &Run, pair: Pair) -> Held {
    match evidence {
        Evidence::Matrix { when, ratio_least, ratio_most, fast_is_free, same_work, .. } => {
            if *fast_is_free && !is_free(entry, run, pair.fast) {
                return Held::No("the fast arm's server is not known to be free of it".to_owned());
            }
            if *same_work && let Some(differs) = other_work(run, pair) {
                return Held::No(differs);
            }
            matrix(entry, run, pair, when, *ratio_least, *ratio_most)
        }
        Evidence::Growth { counts, of, exponent_least, above_fast_by, .. } => {
            growth(run, pair, counts, of, (*exponent_least, *above_fast_by))
        }
        Evidence::Stack { frames, share_least, single_most, half_in_least, .. } => {
            stack(run, pair, frames, *share_least, *single_most, *half_in_least)
        }
        Evidence::Count { names, follows, ratio_least, .. } => {
            count(run, pair, names, follows.as_deref(), *ratio_least)
        }
        Evidence::Phase { commands, part, share_least, .. } => phase(run, pair, commands, part, *share_least),
    }
}

/// What an arm costs: server CPU where it was measured, else median latency, else the value in a comparison.
#[must_use]
pub fn cost(run: &Run, arm: usize) -> Option<f64> {
    middle(run, arm, Metric::ServerCpu).or_else(|| middle(run, arm, Metric::LatencyP50)).or_else(|| {
        let found = run.comparisons.iter().find(|found| {
            matches!(found.metric, Metric::ServerCpu | Metric::LatencyP50)
                && [found.arm, found.base].contains(&arm)
        })?;
        Some(if found.arm == arm { found.arm_value } else { found.base_value })
    })
}

/// Whether a condition holds for an arm; `None` if the run says nothing of it.
fn holds(run: &Run, arm: &Arm, when: &When) -> Option<bool> {
    let is_level = |level: &str| {
        when.level.iter().any(|wanted| match wanted.strip_prefix('!') {
            Some(unwanted) => !unwanted.eq_ignore_ascii_case(level),
            None => wanted.eq_ignore_ascii_case(level),
        })
    };
    when.axis.iter().find_map(|axis| match axis.strip_prefix('@') {
        Some(variable) => {
            let server = run.servers.iter().find(|server| server.name == arm.server)?;
            server.variables.get(variable).map(|level| is_level(level))
        }
        None => arm.levels.get(axis).map(|level| is_level(level)),
    })
}

fn matrix(entry: &Entry, run: &Run, pair: Pair, when: &[When], least: f64, most: Option<f64>) -> Held {
    let (Some(slow), Some(fast)) = (cost(run, pair.slow), cost(run, pair.fast)) else {
        return Held::NotMeasured("no cost of both arms".to_owned());
    };
    let ratio = slow / fast;
    let too_much = most.is_some_and(|most| ratio > most);
    if ratio < least || too_much {
        return Held::No(format!("the pair differs {ratio:.2} times"));
    }
    if when.is_empty() {
        return Held::Yes(format!("slower {ratio:.2} times"));
    }
    let slow_arm = &run.arms[pair.slow];
    let is_affected = |arm: &Arm| {
        run.servers
            .iter()
            .find(|server| server.name == arm.server)
            .is_none_or(|server| entry.state_of(server.flavour, &server.version) != State::Free)
    };
    let (mut inside, mut outside) = (Vec::new(), Vec::new());
    for (index, arm) in run.arms.iter().enumerate() {
        if arm.scale != slow_arm.scale || arm.same_as.is_some() {
            continue;
        }
        let conditions: Option<Vec<bool>> = when.iter().map(|when| holds(run, arm, when)).collect();
        let (Some(conditions), Some(cost)) = (conditions, cost(run, index)) else {
            return Held::NotMeasured("the matrix lacks an axis of it".to_owned());
        };
        let is_inside = is_affected(arm) && conditions.into_iter().all(|holds| holds);
        if is_inside { inside.push(cost) } else { outside.push(cost) }
    }
    let least_inside = inside.iter().copied().fold(f64::INFINITY, f64::min);
    let most_outside = outside.iter().copied().fold(0.0, f64::max);
    if inside.is_empty() || outside.is_empty() {
        return Held::NotMeasured("the matrix has no arm with, or none without, its conditions".to_owned());
    }
    // The slowest innocent arm and the fastest guilty one must still be well apart.
    if least_inside >= most_outside * least.sqrt() {
        Held::Yes(format!(
            "slower {ratio:.2} times, in {} arms with its conditions and in none of {} without",
            inside.len(),
            outside.len()
        ))
    } else {
        Held::No(format!(
            "arms without its conditions are as slow ({most_outside:.0} ns) as arms with them ({least_inside:.0} ns)"
        ))
    }
}

fn growth(run: &Run, pair: Pair, counts: &[String], of: &[String], (least, above): (f64, f64)) -> Held {
    let grown_by = run.scenario.scale_name.as_deref();
    if !of.is_empty() && !of.iter().any(|of| Some(of.as_str()) == grown_by) {
        return Held::NotMeasured("grown by another size".to_owned());
    }
    let find = |arm: usize| {
        let group = group_of(run, arm);
        run.growth.iter().find(|growth| {
            growth.group == group
                && match &growth.count_name {
                    None => counts.is_empty(),
                    Some(name) => counts.iter().any(|wanted| name.contains(wanted.as_str())),
                }
        })
    };
    let (Some(slow), Some(fast)) = (find(pair.slow), find(pair.fast)) else {
        return Held::NotMeasured("fewer than four sizes".to_owned());
    };
    let said = format!(
        "{}exponent {:.2} ({:.2} to {:.2}) against {:.2} ({:.2} to {:.2})",
        slow.count_name.as_ref().map_or(String::new(), |name| format!("{name}: ")),
        slow.exponent,
        slow.exponent_low,
        slow.exponent_high,
        fast.exponent,
        fast.exponent_low,
        fast.exponent_high
    );
    if slow.exponent >= least && slow.exponent - fast.exponent >= above {
        Held::Yes(said)
    } else {
        Held::No(said)
    }
}

/// CPU nanoseconds per operation under frames that `is_wanted` takes, and in all.
fn cpu_under(profile: &StackProfile, is_wanted: impl Fn(&str) -> bool) -> Option<(f64, f64)> {
    let samples: u64 = profile.folded.iter().map(|(_, count)| count).sum();
    let total = profile
        .cpu_ns_per_op
        .or_else(|| (profile.operations > 0).then(|| samples as f64 / profile.operations as f64))?;
    if samples == 0 {
        return None;
    }
    let wanted: u64 =
        profile.folded.iter().filter(|(stack, _)| is_wanted(stack)).map(|(_, count)| count).sum();
    Some((total * wanted as f64 / samples as f64, total))
}

/// What one part adds as a share of what it and the rest add; what either takes away is no part of the base, so it is 0..=1.
fn share_of_added(part: f64, rest: f64) -> f64 {
    let added = part.max(0.0) + rest.max(0.0);
    if added > 0.0 { part.max(0.0) / added } else { 0.0 }
}

/// The share of the CPU that the slow arm adds which lies under any of these frames, 0..=1.
#[must_use]
pub(crate) fn share_of_added_cpu(run: &Run, pair: Pair, is_wanted: &dyn Fn(&str) -> bool) -> Option<f64> {
    let profile = |arm: usize| run.stacks.iter().find(|profile| profile.arm == arm);
    let (slow, slow_all) = cpu_under(profile(pair.slow)?, is_wanted)?;
    let (fast, fast_all) = match profile(pair.fast) {
        Some(profile) => cpu_under(profile, is_wanted)?,
        None => return None,
    };
    let (part, all) = (slow - fast, slow_all - fast_all);
    (all > 0.0).then(|| share_of_added(part, all - part))
}

fn stack(
    run: &Run,
    pair: Pair,
    frames: &[String],
    least: f64,
    single_most: Option<f64>,
    half_in_least: Option<usize>,
) -> Held {
    let is_wanted = |stack: &str| {
        frames.is_empty()
            || stack.split(';').any(|frame| frames.iter().any(|wanted| frame.contains(wanted.as_str())))
    };
    let Some(share) = share_of_added_cpu(run, pair, &is_wanted) else {
        return Held::NotMeasured("no stacks of both arms".to_owned());
    };
    let mut said = Vec::new();
    if !frames.is_empty() {
        said.push(format!("{:.0} % of the added CPU under {}", share * 100.0, frames.join(", ")));
    }
    let mut holds = share >= least;
    let added = added_by_leaves(run, pair);
    if let (Some(most), Some((frame, own))) = (single_most, added.first()) {
        said.push(format!("at most {:.0} % of it by one function, {frame}", own * 100.0));
        holds &= *own <= most;
    }
    if let Some(least) = half_in_least {
        let half = added.iter().map(|(_, own)| own).sum::<f64>() / 2.0;
        let mut sum = 0.0;
        let needed = added.iter().take_while(|(_, own)| {
            let is_short = sum < half;
            sum += own;
            is_short
        });
        let needed = needed.count();
        said.push(format!("half of what functions add is made up by {needed} of them"));
        holds &= needed >= least;
    }
    let said = said.join(", ");
    if holds { Held::Yes(said) } else { Held::No(said) }
}

/// Functions that have another name in another version: (one, other). Compared as one function.
const RENAMED: &[(&str, &str)] = &[("my_sql_parser_parse", "MYSQLparse"), ("my_sql_parser_lex", "MYSQLlex")];

/// The innermost frame of a stack, by the name that is the same in all versions: InnoDB calls the function behind a macro
/// `name` in some `name_func`.
fn leaf_of(stack: &str) -> &str {
    let leaf = stack.rsplit(';').next().unwrap_or(stack);
    let leaf = RENAMED.iter().find(|(one, _)| *one == leaf).map_or(leaf, |(_, other)| other);
    leaf.strip_suffix("_func").unwrap_or(leaf)
}

/// The functions whose own time grew, each with its share of all that functions added, the largest first.
fn added_by_leaves(run: &Run, pair: Pair) -> Vec<(String, f64)> {
    leaves(run, pair).into_iter().map(|leaf| (leaf.name, leaf.share)).collect()
}

/// A function whose own time grew.
struct Leaf {
    name: String,
    /// Of all that functions added, 0..=1.
    share: f64,
    /// What it added in nanoseconds, and the standard error of that, from the number of its samples.
    added_ns: f64,
    error_ns: f64,
}

fn leaves(run: &Run, pair: Pair) -> Vec<Leaf> {
    let profile = |arm: usize| run.stacks.iter().find(|profile| profile.arm == arm);
    let (Some(slow), Some(fast)) = (profile(pair.slow), profile(pair.fast)) else { return Vec::new() };
    let (Some((_, slow_all)), Some((_, fast_all))) = (cpu_under(slow, |_| true), cpu_under(fast, |_| true))
    else {
        return Vec::new();
    };
    if slow_all <= fast_all {
        return Vec::new();
    }
    // Added nanoseconds, and their variance.
    let mut cpu: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for (profile, all, sign) in [(slow, slow_all, 1.0), (fast, fast_all, -1.0)] {
        let samples: u64 = profile.folded.iter().map(|(_, count)| count).sum();
        let each = all / samples as f64;
        for (stack, count) in &profile.folded {
            let (added, variance) = cpu.entry(leaf_of(stack)).or_default();
            *added += sign * each * *count as f64;
            *variance += each * each * *count as f64;
        }
    }
    let all: f64 = cpu.values().map(|(added, _)| added.max(0.0)).sum();
    let mut grown: Vec<Leaf> = cpu
        .into_iter()
        .filter(|(_, (added, _))| *added > 0.0)
        .map(|(name, (added_ns, variance))| Leaf {
            name: name.to_owned(),
            share: added_ns / all,
            added_ns,
            error_ns: variance.sqrt(),
        })
        .collect();
    grown.sort_by(|a, b| b.share.total_cmp(&a.share));
    grown
}

/// Whether a frame has no name but that of its file: `[mysqld]`, `[unknown]`.
fn is_nameless(frame: &str) -> bool {
    frame.starts_with('[') && frame.ends_with(']')
}

/// Whether most samples of both arms ended in functions with names, so that stacks can distinguish parts of a server.
#[must_use]
pub(crate) fn has_names(run: &Run, pair: Pair) -> bool {
    [pair.fast, pair.slow].into_iter().all(|arm| {
        let Some(profile) = run.stacks.iter().find(|profile| profile.arm == arm) else { return false };
        let all: u64 = profile.folded.iter().map(|(_, count)| count).sum();
        let nameless = profile.folded.iter().filter(|(stack, _)| is_nameless(leaf_of(stack)));
        2 * nameless.map(|(_, count)| count).sum::<u64>() < all
    })
}

/// The function whose own time grew most, with its share of the CPU that functions added. `None` where so few samples met it
/// that chance may have made it.
#[must_use]
pub(crate) fn heaviest_leaf(run: &Run, pair: Pair) -> Option<(String, f64)> {
    /// Standard errors that are not chance.
    const ERRORS_LEAST: f64 = 3.0;
    let heaviest = leaves(run, pair).into_iter().next().filter(|leaf| !is_nameless(&leaf.name))?;
    (heaviest.added_ns >= ERRORS_LEAST * heaviest.error_ns).then_some((heaviest.name, heaviest.share))
}

fn is_free(entry: &Entry, run: &Run, arm: usize) -> bool {
    let Some(arm) = run.arms.get(arm) else { return false };
    let server = run.servers.iter().find(|server| server.name == arm.server);
    server.is_some_and(|server| entry.state_of(server.flavour, &server.version) == State::Free)
}

/// By how much the arms differ in rows read for an answer, if they do; `None` also where it was not counted.
fn other_work(run: &Run, pair: Pair) -> Option<String> {
    let (slow, fast) = (rows_read(run, pair.slow)?, rows_read(run, pair.fast)?);
    let differ = (slow - fast).abs() > WORK_ALIKE * slow.max(fast).max(1.0);
    differ.then(|| format!("{slow:.1} rows are read for an operation, {fast:.1} in the fast arm"))
}

/// Rows read from the engine for an operation, by the handler's counters; `None` where it was not counted.
#[must_use]
pub fn rows_read(run: &Run, arm: usize) -> Option<f64> {
    let counted = run.valid_blocks(arm).filter(|block| !block.status_per_op.is_empty());
    summary::median(&counted.map(Block::rows_read_per_op).collect::<Vec<_>>())
}

fn count(run: &Run, pair: Pair, names: &[String], follows: Option<&str>, ratio_least: Option<f64>) -> Held {
    let is_named = |name: &str| names.iter().any(|wanted| name.contains(wanted.as_str()));
    let of = |arm: usize| run.counts.iter().find(|count| count.arm == arm && is_named(&count.name));
    let Some(slow) = of(pair.slow) else {
        return Held::NotMeasured(format!("{} was not counted", names.join(" or ")));
    };
    let mut said = format!("{} {:.0} times an operation", slow.name, slow.per_op);
    if slow.per_op == 0.0 {
        return Held::No(format!("{} was never called", slow.name));
    }
    if let Some(wanted) = follows {
        match &slow.follows {
            None => return Held::NotMeasured(format!("{said}: too few sizes to say what it follows")),
            Some(found) if found.split(" or ").any(|found| found == wanted) => {
                said = format!("{said}: follows {found}");
            }
            Some(found) => return Held::No(format!("{said}: follows {found}")),
        }
    }
    if let Some(least) = ratio_least {
        let Some(fast) = of(pair.fast) else {
            return Held::NotMeasured(format!("{} was not counted in the fast arm", slow.name));
        };
        said = format!("{said}, {:.0} in the fast arm", fast.per_op);
        if slow.per_op < least * fast.per_op.max(f64::MIN_POSITIVE) {
            return Held::No(said);
        }
    }
    Held::Yes(said)
}

fn phase(run: &Run, pair: Pair, commands: &[String], part: &str, least: f64) -> Held {
    let sum = |arm: usize, is_wanted: &dyn Fn(&str) -> bool, only: Option<&str>| -> Option<f64> {
        let mut of = run.phases.iter().filter(|phase| phase.arm == arm).peekable();
        of.peek()?;
        Some(
            of.filter(|phase| is_wanted(&phase.command))
                .map(|phase| {
                    let parts = [
                        ("think", phase.think_ns),
                        ("upload", phase.upload_ns),
                        ("server", phase.server_ns),
                        ("download", phase.download_ns),
                    ];
                    let wanted = parts.iter().filter(|(name, _)| only.is_none_or(|only| only == *name));
                    phase.per_op * wanted.map(|(_, ns)| ns).sum::<f64>()
                })
                .sum(),
        )
    };
    let is_wanted = |command: &str| commands.iter().any(|wanted| wanted == command);
    let all = |_: &str| true;
    let (Some(slow), Some(slow_all)) = (sum(pair.slow, &is_wanted, Some(part)), sum(pair.slow, &all, None))
    else {
        return Held::NotMeasured("no tap".to_owned());
    };
    let (Some(fast), Some(fast_all)) = (sum(pair.fast, &is_wanted, Some(part)), sum(pair.fast, &all, None))
    else {
        return Held::NotMeasured("no tap on the fast arm".to_owned());
    };
    if slow_all <= fast_all {
        return Held::No("the tap saw no added time".to_owned());
    }
    let (part_ns, all_ns) = (slow - fast, slow_all - fast_all);
    let share = share_of_added(part_ns, all_ns - part_ns);
    let said =
        format!("{:.0} % of the added wall time in the {part} part of {}", share * 100.0, commands.join("/"));
    if share >= least { Held::Yes(said) } else { Held::No(said) }
}
