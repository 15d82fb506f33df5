//! From evidence to a conclusion, and what it stands on.
//!
//! ```text
//! validity -> finding -> sum over layers -> layer attribution -> known causes, schemas -> interventions -> verdict
//! ```
//!
//! | verdict | what it takes |
//! | --- | --- |
//! | `confirmed` | an intervention took the slowdown away and its return brought it back |
//! | `explained` | a known cause fits by two kinds of evidence or more and the layers account for 80 % of the difference; or the servers' indexes, statistics or plans differ where the time is spent |
//! | `located` | one layer is blamed by evidence |
//! | `novel` | one layer is blamed, a mechanism was measured there, no known cause fits, and no setting differs by `--accept` |
//! | `no-difference` | intervals narrow enough to say so |
//! | `unlocated` | a difference for certain, and no layer is blamed for it |
//! | `inconclusive` | noise, a saturated client, or a confound |
//!
//! Invariants:
//! 1. It reads a finished [`Run`] and nothing else: the same evidence gives the same verdict.
//! 2. A run whose client was saturated, or whose arms differ in what explains slowness by itself, has no verdict but
//!    `inconclusive`, with the reason named.
//! 3. A layer that was not measured is never excluded.
//! 4. Words agree with numbers: no share is above 100 % or without what it is a share of, and what is called slower is.
//!
//! Read next: [`finding`], [`sum`], [`layers`], [`sentence`].

mod advice;
pub mod finding;
pub mod layers;
pub mod sentence;
pub mod sum;
#[cfg(test)]
mod tests;

use crate::analysis::group_of;
use crate::evidence::{
    ClaimOutcome, Intervention, LayerOutcome, Metric, Run, SchemaDifference, SchemaPart, Setting, Verdict,
    VerdictKind,
};
use crate::format;
use crate::knowledge::entry::Entry;
use crate::knowledge::signature::{Pair, heaviest_leaf, hold};
use crate::knowledge::{Fit, matching};
use advice::Grounds;
use finding::{Finding, Outcome};
use layers::Blame;

/// The residual of the sum rule above which a mechanism is not called an explanation.
const RESIDUAL_SHARE_LEAST: f64 = 0.20;
/// Share of the slowdown that an intervention must take away, and that its return must bring back.
const RECOVERED_LEAST: f64 = 0.5;
/// Share of what was added that makes a function the mechanism.
const MECHANISM_LEAST: f64 = 0.5;
/// How much larger a count must be in the slow arm to be what makes it slow.
const COUNT_GROWN_LEAST: f64 = 1.5;

/// Whether an intervention took the slowdown away and its return brought it back, by its own three figures.
#[must_use]
pub(crate) fn is_proof(intervention: &Intervention) -> bool {
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
pub(crate) fn growth_of_calls<'a>(run: &Run, entries: &'a [Entry]) -> Option<CallGrowth<'a>> {
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
        format::nanoseconds(after),
        format::nanoseconds(before)
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
    let advice = advice::fixes(run, found.pair.slow, &found.entry.interventions);
    let todo = sentence::todo(&advice);
    Some(Verdict {
        kind,
        cause: Some(found.entry.id.clone()),
        layer: Some(found.entry.layer.clone()),
        summary: format!("{grew}; cause: {}{proven}{todo}", found.entry.title),
        evidence,
        advice,
        confidence: if proof.is_some() { 0.95 } else { 0.8 },
        fast_arm: Some(found.pair.fast),
        slow_arm: Some(found.pair.slow),
        metric: Metric::Count,
        ratio: Some(after / before),
        ..Verdict::default()
    })
}

/// Draws the conclusion: fills `sum`, `layers` and `verdict` of an analysed run.
pub(crate) fn conclude(run: &mut Run, entries: &[Entry], seed: u64) {
    run.sum = None;
    run.layers.clear();
    let mut verdict = match finding::find(run) {
        Outcome::Invalid(why) => {
            let advice: Vec<String> = finding::confounds(run).map(advice::make_alike).collect();
            let seen = finding::seen_in_spite(run).map_or(String::new(), |seen| format!(" ({seen})"));
            let summary = format!("{why}{seen}{}", sentence::todo(&advice));
            let evidence = finding::confounds(run).filter_map(|one| one.reason.clone()).collect();
            Verdict { advice, ..plain(VerdictKind::Inconclusive, summary, evidence) }
        }
        Outcome::None { summary, evidence } => plain(VerdictKind::NoDifference, summary, evidence),
        Outcome::Unclear { summary, evidence } => {
            let advice = advice::against_noise(run);
            let summary = summary + &sentence::todo(&advice);
            Verdict { advice, ..plain(VerdictKind::Inconclusive, summary, evidence) }
        }
        Outcome::Difference(found) => {
            run.sum = sum::of(run, found.pair, seed);
            let blame = layers::attribute(run, &found);
            run.layers.clone_from(&blame.findings);
            name(run, entries, &found, blame)
        }
    };
    if verdict.cause.is_none()
        && finding::invalid(run).is_none()
        && let Some(found) = by_call_time(run, entries, &verdict)
    {
        verdict = found;
    }
    verdict.evidence.extend(run.schema_differences.iter().map(schema_in_words));
    (verdict.claim, verdict.claim_reason) = claim(run, &verdict);
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

/// What the run says of the scenario's claim, and why.
fn claim(run: &Run, verdict: &Verdict) -> (ClaimOutcome, String) {
    match (verdict.kind, verdict.slow_arm.zip(verdict.fast_arm)) {
        (VerdictKind::NoDifference, _) => (ClaimOutcome::Refuted, verdict.summary.clone()),
        (_, Some((slow, fast))) if verdict.ratio.is_some() => {
            let is_base_slow = crate::analysis::base_of(run, fast) == Some(slow);
            let (slow, fast) = (&run.arms[slow].name, &run.arms[fast].name);
            let reason = if is_base_slow {
                format!("it holds for {slow}; {fast} is faster")
            } else {
                format!("it holds for {slow}, compared with {fast}")
            };
            (ClaimOutcome::Confirmed, reason)
        }
        _ => (ClaimOutcome::Undecided, "this run cannot tell".to_owned()),
    }
}

/// A difference of schemas or plans in one line.
#[must_use]
pub(crate) fn schema_in_words(difference: &SchemaDifference) -> String {
    let values: Vec<String> =
        difference.values.iter().map(|(server, value)| format!("{server}: {value}")).collect();
    let of = match difference.part {
        SchemaPart::Plan => format!("plan of {}", difference.of),
        _ => format!("{} of table {}", difference.what, difference.of),
    };
    format!("{of}: {}", values.join("; "))
}

/// What the schemas say of a difference between two servers: an index that only one has, before an estimate that is far
/// off, before a plan that differs for neither reason. Only where a plan differs too: an index that is not used is no cause.
fn schema_cause<'a>(run: &'a Run, slow_server: &str) -> Option<&'a SchemaDifference> {
    let of = |part| run.schema_differences.iter().filter(move |difference| difference.part == part);
    let plan = of(SchemaPart::Plan).next()?;
    let is_of_slow = |difference: &&SchemaDifference| difference.server.as_deref() == Some(slow_server);
    let is_used = |difference: &&SchemaDifference| {
        plan.of.to_ascii_lowercase().contains(&difference.of.to_ascii_lowercase())
    };
    let named = of(SchemaPart::Index).chain(of(SchemaPart::Statistics));
    named.filter(is_of_slow).find(is_used).or(Some(plan))
}

/// The id of such a cause, and the cause in words.
fn schema_cause_in_words(cause: &SchemaDifference, slow_server: &str) -> (&'static str, String) {
    match cause.part {
        SchemaPart::Index | SchemaPart::Column => {
            ("missing-index", format!("{} of table {} is not there on {slow_server}", cause.what, cause.of))
        }
        SchemaPart::Statistics => (
            "stale-statistics",
            format!(
                "{slow_server}'s statistics of table {} are stale ({})",
                cause.of,
                schema_in_words(cause)
            ),
        ),
        SchemaPart::Plan => ("other-plan", format!("another plan ({})", schema_in_words(cause))),
    }
}

fn residual_is_small(run: &Run) -> bool {
    // Where wall time is too noisy to add up, CPU alone was compared and there is nothing to add.
    run.sum
        .as_ref()
        .is_none_or(|sum| !sum::is_divisible(sum) || sum::residual_share(sum) <= RESIDUAL_SHARE_LEAST)
}

/// Whether CPU of the server is most of what was added. Only then may a function be what makes the difference.
fn is_of_cpu(run: &Run, found: &Finding, blame_is_of_cpu: bool) -> bool {
    if blame_is_of_cpu {
        return true;
    }
    match run.sum.as_ref().filter(|sum| sum::is_divisible(sum)) {
        Some(sum) => {
            let of = |name| sum::share(sum, name).unwrap_or(0.0);
            of("server-cpu") + of(sum::QUEUE_OF_CPU) >= MECHANISM_LEAST
        }
        None => found.metric == Metric::ServerCpu,
    }
}

/// A count that follows another thing than in the fast arm, and is larger for it; or, where the difference is one of CPU, a
/// function that took half of what functions added.
fn mechanism(run: &Run, found: &Finding, blame_is_of_cpu: bool) -> Option<String> {
    let pair = found.pair;
    let relation = run.counts.iter().filter(|count| count.arm == pair.slow).find_map(|slow| {
        let same = |count: &&crate::evidence::CountRelation| {
            count.arm == pair.fast && count.name == slow.name && count.source == slow.source
        };
        let fast = run.counts.iter().find(same)?;
        let (is, was) = (slow.follows.as_ref()?, fast.follows.as_ref()?);
        let is_more = slow.per_op >= COUNT_GROWN_LEAST * fast.per_op;
        (is != was && is_more).then(|| format!("{} follows {is}, was {was}", slow.name))
    });
    relation.or_else(|| {
        heaviest_leaf(run, pair)
            .filter(|(_, share)| is_of_cpu(run, found, blame_is_of_cpu) && *share >= MECHANISM_LEAST)
            .map(|(frame, share)| {
                format!("{:.0} % of the CPU that functions added is in {frame}", share * 100.0)
            })
    })
}

/// Whether a known cause may be what a layer is blamed for: causes that cost CPU are none of waiting.
fn may_be_in(entry: &Entry, blamed: Option<&str>) -> bool {
    const WAITS: [&str; 4] = ["kernel", "network", "engine:sync", "engine:row-lock"];
    let Some(blamed) = blamed.filter(|layer| WAITS.contains(layer)) else { return true };
    std::iter::once(&entry.layer).chain(&entry.other_layers).any(|layer| layer == blamed)
}

fn name(run: &Run, entries: &[Entry], found: &Finding, blame: Blame) -> Verdict {
    let Blame { layer, is_of_cpu, .. } = blame;
    // The added CPU is located, and the added wall time, which grew as well, is not.
    let is_wall_open = is_of_cpu && run.sum.as_ref().is_some_and(sum::is_divisible);
    let is_explained = residual_is_small(run) && !is_wall_open;
    let mut verdict = Verdict {
        fast_arm: Some(found.pair.fast),
        slow_arm: Some(found.pair.slow),
        metric: found.metric,
        ratio: Some(found.ratio),
        ..Verdict::default()
    };
    let difference = sentence::difference(run, found);
    verdict.evidence.push(sentence::ratio(run, found));
    verdict.evidence.extend(found.conditions.iter().cloned());
    if let Some(sum) = &run.sum {
        verdict.evidence.push(sum::in_words(run, sum));
    }
    let is_tapped = run.phases.iter().any(|phase| phase.arm == found.pair.slow);
    if is_tapped && run.sum.as_ref().is_some_and(|sum| !sum::is_seen_by_taps(sum)) {
        let said = "what the taps saw does not add up to what was timed (noise): it is left out";
        verdict.evidence.push(said.to_owned());
    }
    verdict.evidence.extend(sum::beside_in_words(run, found.pair.slow));
    for finding in run.layers.iter().filter(|finding| finding.outcome == LayerOutcome::Blamed) {
        verdict.evidence.push(format!("{}: {}", finding.layer, finding.evidence));
    }
    let fits: Vec<Fit<'_>> = matching(entries, run, found.pair)
        .into_iter()
        .filter(|fit| may_be_in(fit.entry, layer.as_deref()))
        .collect();
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
            "{}: {}, with it {}, undone {}; {:.0} % of the gap went{}",
            change.what,
            figure(change.metric, change.before),
            figure(change.metric, change.during),
            figure(change.metric, change.after),
            change.recovered * 100.0,
            if change.is_confirmed && is_proof(change) { "" } else { ", which is no proof" }
        ));
    }
    let (slow_server, fast_server) = (&run.arms[found.pair.slow].server, &run.arms[found.pair.fast].server);
    let is_in_server = layer.as_deref().is_some_and(|layer| layer.starts_with("server") || layer == "engine");
    let is_before_server = layer
        .as_deref()
        .is_some_and(|layer| ["client", "app", "driver", "proxy", "network"].contains(&layer));
    // A function of the server is no mechanism of what is spent before it.
    let mechanism = mechanism(run, found, is_of_cpu).filter(|_| !is_before_server);
    let schema = schema_cause(run, slow_server)
        .filter(|_| slow_server != fast_server && is_in_server && best.is_none());
    let accepted: Vec<&Setting> = run
        .equalised
        .iter()
        .filter(|one| one.is_accepted && !one.is_equal && slow_server != fast_server)
        .collect();
    verdict
        .evidence
        .extend(accepted.iter().map(|setting| format!("differs, as accepted: {}", format::setting(setting))));
    verdict.cause = best.map(|fit| fit.entry.id.clone());
    verdict.layer = best.map(|fit| fit.entry.layer_where(layer.as_deref()).to_owned()).or(layer);
    // A change that helps says nothing of a setting that differs beside it, unless what it made alike differs, too.
    let is_of_schema = proof.zip(schema.and_then(|schema| schema.remedy.as_ref()));
    let is_of_schema = is_of_schema.is_some_and(|(proof, sql)| proof.what.contains(sql.as_str()));
    let is_proven = proof.is_some() && (accepted.is_empty() || is_of_schema);
    verdict.kind = match (best, proof, &verdict.layer) {
        (_, Some(_), _) if is_proven => VerdictKind::Confirmed,
        (_, Some(_), _) => VerdictKind::Located,
        (Some(_), None, _) if accepted.is_empty() && is_explained => VerdictKind::Explained,
        (Some(_), None, _) => VerdictKind::Located,
        (None, None, Some(_)) if schema.is_some() => VerdictKind::Explained,
        (None, None, Some(_)) if mechanism.is_some() && accepted.is_empty() && is_explained => {
            VerdictKind::Novel
        }
        (None, None, Some(_)) => VerdictKind::Located,
        (None, None, None) => VerdictKind::Unlocated,
    };
    verdict.confidence = match verdict.kind {
        VerdictKind::Confirmed => 0.98,
        VerdictKind::Explained => 0.85,
        VerdictKind::Located | VerdictKind::Novel => 0.7,
        VerdictKind::NoDifference | VerdictKind::Inconclusive | VerdictKind::Unlocated => 0.3,
    };
    verdict.evidence.extend(mechanism.clone());
    let place = verdict.layer.as_deref().map(sentence::layer);
    let mut cause = match (best, schema) {
        (Some(fit), _) if verdict.kind == VerdictKind::Located => {
            let place = place.unwrap_or("an unknown layer");
            let but =
                if is_explained || proof.is_some() { "" } else { ", though a part of the time was not seen" };
            format!("{place}, which looks like '{}'{but}", fit.entry.title)
        }
        (Some(fit), _) => fit.entry.title.clone(),
        (None, Some(schema)) => {
            let (id, words) = schema_cause_in_words(schema, slow_server);
            verdict.cause = Some(id.to_owned());
            words
        }
        (None, None) => {
            let named: Vec<&str> = place.into_iter().chain(mechanism.as_deref()).collect();
            let known =
                if verdict.kind == VerdictKind::Novel { ", which no known cause explains" } else { "" };
            if named.is_empty() {
                run.sum.as_ref().and_then(sum::largest_in_words).map_or_else(
                    || "not found, nothing measured can place it".to_owned(),
                    |parts| format!("not found, no layer has half of it; the largest parts are {parts}"),
                )
            } else {
                named.join(", ") + known
            }
        }
    };
    if !accepted.is_empty() {
        let names: Vec<String> = accepted.iter().map(|setting| format::setting(setting)).collect();
        let may =
            if is_explained_by_setting(&accepted, verdict.layer.as_deref()) { "likely" } else { "perhaps" };
        cause += &format!(", {may} because of the accepted difference of {}", names.join(" and "));
    }
    if is_proven {
        cause += ", proven by a change that was tried";
    }
    verdict.advice = advice::of_difference(
        run,
        &Grounds {
            kind: verdict.kind,
            layer: verdict.layer.as_deref(),
            slow_arm: found.pair.slow,
            fit: best,
            proof,
            schema,
            accepted: if is_of_schema { &[] } else { &accepted },
            has_mechanism: mechanism.is_some(),
        },
    );
    let of = if is_wall_open { "cause of the CPU" } else { "cause" };
    if is_wall_open {
        verdict.evidence.push(
            "no layer has half of the added wall time: what is located is the added CPU of the server"
                .to_owned(),
        );
    }
    verdict.summary = format!("{difference}; {of}: {cause}{}", sentence::todo(&verdict.advice));
    verdict
}

/// Whether settings that differ work where the time is spent: what is written and synced for each commit is waited for.
fn is_explained_by_setting(accepted: &[&Setting], layer: Option<&str>) -> bool {
    const OF_COMMITS: [&str; 4] =
        ["log_bin", "sync_binlog", "innodb_flush_log_at_trx_commit", "innodb_doublewrite"];
    let waits = layer.is_some_and(|layer| layer == "engine" || layer == "engine:sync");
    waits && accepted.iter().any(|setting| OF_COMMITS.contains(&setting.name.as_str()))
}

fn proven_by(proof: Option<&Intervention>) -> String {
    proof.map_or(String::new(), |change| {
        format!("'{}' ({:.0} % of the gap)", change.what, change.recovered * 100.0)
    })
}

fn figure(metric: Metric, value: f64) -> String {
    if metric == Metric::Count { format!("{value:.1}") } else { format::nanoseconds(value) }
}
