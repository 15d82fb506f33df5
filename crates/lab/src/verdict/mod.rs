//! From evidence to a conclusion, and what it stands on.
//!
//! ```text
//! validity -> finding -> sum over layers -> ladder of exclusion -> known causes -> interventions -> verdict
//! ```
//!
//! | verdict | what it takes |
//! | --- | --- |
//! | `confirmed` | an intervention took the slowdown away and its return brought it back |
//! | `explained` | a known cause fits by two kinds of evidence or more, and the layers account for 80 % of the difference |
//! | `located` | one layer is blamed by evidence |
//! | `novel` | one layer is blamed, a mechanism was measured, and no known cause fits |
//! | `no-difference` | intervals narrow enough to say so |
//! | `inconclusive` | noise, a saturated client, a confound, or a difference that no evidence can place |
//!
//! Invariants:
//! 1. It reads a finished [`Run`] and nothing else: the same evidence gives the same verdict.
//! 2. A run whose client was saturated, or whose arms differ in what explains slowness by itself, has no verdict but
//!    `inconclusive`, with the reason named.
//! 3. A layer that nobody measured is never excluded.
//!
//! Read next: [`finding`], [`sum`], [`ladder`].

pub mod finding;
pub mod ladder;
pub mod sum;
#[cfg(test)]
mod tests;

use crate::analysis::{group_of, metric_name};
use crate::evidence::{Intervention, Metric, Run, RungOutcome, Setting, Verdict, VerdictKind};
use crate::knowledge::entry::{Entry, Fix};
use crate::knowledge::signature::{Pair, heaviest_leaf, hold};
use crate::knowledge::{Fit, matching};
use crate::server::variables;
use finding::{Finding, Outcome};

/// The residual of the sum rule above which a mechanism is not called an explanation.
const RESIDUAL_SHARE_LEAST: f64 = 0.20;
/// Share of the slowdown that an intervention must take away, and that its return must bring back.
const RECOVERED_LEAST: f64 = 0.5;

/// Whether an intervention took the slowdown away and its return brought it back, by its own three figures.
#[must_use]
pub fn is_proof(intervention: &Intervention) -> bool {
    let went = intervention.before - intervention.during;
    let came_back = intervention.after - intervention.during;
    let needed = if intervention.needed > 0.0 { intervention.needed } else { RECOVERED_LEAST };
    intervention.recovered >= needed
        && went > 0.05 * intervention.before.abs()
        && came_back >= RECOVERED_LEAST * went
}

/// The growth of a call's time, as a known cause describes it.
#[derive(Clone, Debug)]
pub struct CallGrowth<'a> {
    /// The cause.
    pub entry: &'a Entry,
    /// The largest arms of the two servers.
    pub pair: Pair,
    /// The call's time: the function's name with `_ns` behind it.
    pub count_name: String,
    held: Vec<String>,
}

/// Whether the time of a call grows as a known cause says, whatever operations cost.
#[must_use]
pub fn growth_of_calls<'a>(run: &Run, entries: &'a [Entry]) -> Option<CallGrowth<'a>> {
    let largest = run.arms.iter().filter_map(|arm| arm.scale).max()?;
    let arms: Vec<usize> = (0..run.arms.len())
        .filter(|&arm| run.arms[arm].scale == Some(largest) && run.arms[arm].same_as.is_none())
        .collect();
    let grown = |arm: usize| {
        let group = group_of(run, arm);
        run.growth.iter().find(|growth| growth.group == group && growth.count_name.is_some())
    };
    entries.iter().filter(|entry| entry.by_call_time).find_map(|entry| {
        let pairs = arms.iter().flat_map(|&slow| arms.iter().map(move |&fast| Pair { fast, slow }));
        pairs.filter(|pair| run.arms[pair.fast].server != run.arms[pair.slow].server).find_map(|pair| {
            let matched = hold(entry, run, pair);
            let count_name = grown(pair.slow)?.count_name.clone()?;
            let held = matched.held.iter().map(|(kind, text)| format!("{}: {text}", kind.name()));
            let held: Vec<String> = held.collect();
            matched.is_match().then_some(CallGrowth { entry, pair, count_name, held })
        })
    })
}

/// The verdict where operations themselves show no known cause, and the time of a call does.
fn by_call_time(run: &Run, entries: &[Entry], otherwise: &Verdict) -> Option<Verdict> {
    let found = growth_of_calls(run, entries)?;
    let group = group_of(run, found.pair.slow);
    let growth = run
        .growth
        .iter()
        .find(|growth| growth.group == group && growth.count_name.as_ref() == Some(&found.count_name))?;
    let (&(least, before), &(most, after)) = (growth.points.first()?, growth.points.last()?);
    let size = run.scenario.scale_name.as_deref().unwrap_or("size");
    let slow = &run.arms[found.pair.slow].name;
    let grew = format!(
        "{slow}: a call of {} takes {} at {size} {most:.0}, {} at {least:.0}",
        found.count_name.trim_end_matches("_ns"),
        crate::report::words::nanoseconds(after),
        crate::report::words::nanoseconds(before)
    );
    let is_tried = |change: &&Intervention| {
        change.arm == found.pair.slow && change.metric == Metric::Count && change.is_confirmed
    };
    let proof = run.interventions.iter().find(is_tried).filter(|change| is_proof(change));
    let mut evidence = vec![grew.clone()];
    evidence.extend(found.held.iter().map(|held| format!("{}, {held}", found.entry.id)));
    evidence.extend(proof.map(|change| {
        format!("{}: {:.0} -> {:.0} -> {:.0}", change.what, change.before, change.during, change.after)
    }));
    evidence.push(format!("of operations: {}", otherwise.summary));
    let kind = if proof.is_some() { VerdictKind::Confirmed } else { VerdictKind::Explained };
    let proven = proof.map_or(String::new(), |_| format!("; proven by {}", proven_by(proof)));
    Some(Verdict {
        kind,
        cause: Some(found.entry.id.clone()),
        layer: Some(found.entry.layer.clone()),
        summary: format!("{grew}: {}{proven}", found.entry.title),
        evidence,
        advice: found.entry.interventions.iter().map(Fix::in_words).collect(),
        confidence: if proof.is_some() { 0.95 } else { 0.8 },
        fast_arm: Some(found.pair.fast),
        slow_arm: Some(found.pair.slow),
        metric: Metric::Count,
        ratio: Some(after / before),
        has_result_mismatch: false,
    })
}

/// Draws the conclusion: fills `sum`, `ladder` and `verdict` of an analysed run.
pub fn conclude(run: &mut Run, entries: &[Entry], seed: u64) {
    run.sum = None;
    run.ladder.clear();
    let mut verdict = match finding::find(run) {
        Outcome::Invalid(why) => Verdict {
            advice: finding::confounds(run).map(make_alike).collect(),
            ..plain(VerdictKind::Inconclusive, why, Vec::new())
        },
        Outcome::None { summary, evidence } => plain(VerdictKind::NoDifference, summary, evidence),
        Outcome::Unclear { summary, evidence } => plain(VerdictKind::Inconclusive, summary, evidence),
        Outcome::Difference(found) => {
            run.sum = sum::of(run, found.pair, seed);
            let blame = ladder::climb(run, &found);
            run.ladder.clone_from(&blame.rungs);
            name(run, entries, &found, blame.layer)
        }
    };
    if verdict.cause.is_none()
        && finding::invalid(run).is_none()
        && let Some(found) = by_call_time(run, entries, &verdict)
    {
        verdict = found;
    }
    verdict.has_result_mismatch = finding::results_differ(run);
    if verdict.has_result_mismatch {
        verdict.evidence.push("the arms answered different rows to the same statements".to_owned());
    }
    run.verdict = Some(verdict);
}

fn plain(kind: VerdictKind, summary: String, evidence: Vec<String>) -> Verdict {
    let confidence = if kind == VerdictKind::NoDifference { 0.95 } else { 0.0 };
    Verdict { kind, summary, evidence, confidence, ..Verdict::default() }
}

/// What to do about a difference of settings over which no verdict may be drawn.
fn make_alike(setting: &Setting) -> String {
    let (how, name) = (variables::remedy(setting), &setting.name);
    format!("make {name} alike: {how}; or compare the servers as they are set: --accept {name}")
}

/// The difference in one line: what, by how much, how sure.
fn in_words(run: &Run, found: &Finding) -> String {
    format!(
        "{} is {:.2} times as slow as {} in {} ({:.2} to {:.2})",
        run.arms[found.pair.slow].name,
        found.ratio,
        run.arms[found.pair.fast].name,
        metric_name(found.metric),
        found.low,
        found.high
    )
}

fn residual_is_small(run: &Run) -> bool {
    // Where wall time is too noisy to add up, CPU alone was compared and there is nothing to add.
    run.sum.as_ref().is_none_or(|sum| sum.total.low_ns <= 0.0 || sum.residual_share <= RESIDUAL_SHARE_LEAST)
}

/// A function that took half of the added CPU, or a count that follows another thing than in the fast arm.
fn mechanism(run: &Run, pair: Pair) -> Option<String> {
    let relation = run.counts.iter().filter(|count| count.arm == pair.slow).find_map(|slow| {
        let same = |count: &&crate::evidence::CountRelation| {
            count.arm == pair.fast && count.name == slow.name && count.source == slow.source
        };
        let fast = run.counts.iter().find(same)?;
        let (is, was) = (slow.follows.as_ref()?, fast.follows.as_ref()?);
        (is != was).then(|| format!("{} follows {is}, was {was}", slow.name))
    });
    relation.or_else(|| {
        heaviest_leaf(run, pair)
            .filter(|(_, share)| *share >= 0.5)
            .map(|(frame, share)| format!("{:.0} % of the added CPU in {frame}", share * 100.0))
    })
}

fn name(run: &Run, entries: &[Entry], found: &Finding, layer: Option<String>) -> Verdict {
    let mut verdict = Verdict {
        fast_arm: Some(found.pair.fast),
        slow_arm: Some(found.pair.slow),
        metric: found.metric,
        ratio: Some(found.ratio),
        ..Verdict::default()
    };
    let difference = in_words(run, found);
    verdict.evidence.push(difference.clone());
    verdict.evidence.extend(found.conditions.iter().cloned());
    if let Some(sum) = &run.sum {
        verdict.evidence.push(sum::in_words(sum));
    }
    for rung in run.ladder.iter().filter(|rung| rung.outcome == RungOutcome::Blamed) {
        verdict.evidence.push(format!("{}: {}", rung.layer, rung.evidence));
    }
    let fits = matching(entries, run, found.pair);
    let best = fits.first();
    if let Some(fit) = best {
        verdict.evidence.extend(
            fit.matched.held.iter().map(|(kind, text)| format!("{}, {}: {text}", fit.entry.id, kind.name())),
        );
        for other in fits.iter().skip(1) {
            verdict.evidence.push(format!("{} fits as well, with less evidence", other.entry.id));
        }
    }
    let proof = run
        .interventions
        .iter()
        .filter(|change| change.arm == found.pair.slow && change.is_confirmed && is_proof(change))
        .max_by(|a, b| a.recovered.total_cmp(&b.recovered));
    for change in run.interventions.iter().filter(|change| change.arm == found.pair.slow) {
        verdict.evidence.push(format!(
            "{}: {} -> {} -> {} when taken back; {:.0} % of the gap went{}",
            change.what,
            figure(change.metric, change.before),
            figure(change.metric, change.during),
            figure(change.metric, change.after),
            change.recovered * 100.0,
            if change.is_confirmed && is_proof(change) { "" } else { ", which proves nothing" }
        ));
    }
    let mechanism = mechanism(run, found.pair);
    verdict.cause = best.map(|fit| fit.entry.id.clone());
    verdict.layer = best.map(|fit| fit.entry.layer_where(layer.as_deref()).to_owned()).or(layer);
    verdict.kind = match (best, proof, &verdict.layer) {
        (_, Some(_), _) => VerdictKind::Confirmed,
        (Some(_), None, _) if residual_is_small(run) => VerdictKind::Explained,
        (Some(_), None, _) => VerdictKind::Located,
        (None, None, Some(_)) if mechanism.is_some() && residual_is_small(run) => VerdictKind::Novel,
        (None, None, Some(_)) => VerdictKind::Located,
        (None, None, None) => VerdictKind::Inconclusive,
    };
    verdict.confidence = match verdict.kind {
        VerdictKind::Confirmed => 0.98,
        VerdictKind::Explained => 0.85,
        VerdictKind::Located | VerdictKind::Novel => 0.7,
        VerdictKind::NoDifference | VerdictKind::Inconclusive => 0.3,
    };
    verdict.evidence.extend(mechanism.clone());
    let place = verdict.layer.as_deref().unwrap_or("an unknown layer");
    let title = best.map(|fit| fit.entry.title.as_str());
    verdict.summary = match (verdict.kind, title) {
        (VerdictKind::Confirmed, Some(title)) => {
            format!("{difference}: {title}; proven by {}", proven_by(proof))
        }
        (VerdictKind::Confirmed, None) => format!("{difference}: in {place}; proven by {}", proven_by(proof)),
        (VerdictKind::Explained, Some(title)) => format!("{difference}: {title}"),
        (VerdictKind::Located, Some(title)) => {
            format!("{difference}: in {place}; it looks like '{title}', but the layers do not add up")
        }
        (VerdictKind::Novel, _) => {
            format!("{difference}: in {place}; {}; no known cause fits", mechanism.unwrap_or_default())
        }
        (VerdictKind::Inconclusive, _) => format!("{difference}; nothing measured can place it"),
        _ => format!("{difference}: in {place}"),
    };
    verdict.advice = advice(run, best, verdict.kind);
    verdict
}

fn proven_by(proof: Option<&Intervention>) -> String {
    proof.map_or(String::new(), |change| {
        format!("'{}' ({:.0} % of the gap)", change.what, change.recovered * 100.0)
    })
}

fn figure(metric: Metric, value: f64) -> String {
    if metric == Metric::Count { format!("{value:.1}") } else { crate::report::words::nanoseconds(value) }
}

fn advice(run: &Run, best: Option<&Fit<'_>>, kind: VerdictKind) -> Vec<String> {
    let mut advice: Vec<String> =
        best.map(|fit| fit.entry.interventions.iter().map(Fix::in_words).collect()).unwrap_or_default();
    if kind == VerdictKind::Confirmed {
        return advice;
    }
    let missing = |what: bool, text: &str| what.then(|| text.to_owned());
    advice.extend(missing(
        run.stacks.is_empty(),
        "profile both servers on this machine: stacks tell the SQL layer from the engine",
    ));
    advice.extend(missing(
        run.phases.is_empty(),
        "run through the tap: phases of the protocol tell client, network and server apart",
    ));
    advice.extend(missing(
        run.growth.is_empty(),
        "run four sizes or more: the way it grows is evidence that noise cannot hide",
    ));
    if kind == VerdictKind::Novel {
        advice.push("keep the JSON and the folded stacks: they are the bug report".to_owned());
    }
    advice
}
