//! Is the run valid, is there a difference, and between which two arms?

use std::collections::{BTreeMap, BTreeSet};

use crate::analysis::{base_of, group_of, metric_name};
use crate::evidence::{Arm, Comparison, JudgementWord, Metric, Run, Setting};
use crate::format::judgement_name;
use crate::format::{self, times};
use crate::knowledge::signature::Pair;

/// A difference between two arms.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The two.
    pub pair: Pair,
    /// By what they differ.
    pub metric: Metric,
    /// Slow over fast, above 1.
    pub ratio: f64,
    /// 95 % interval, low end.
    pub low: f64,
    /// High end.
    pub high: f64,
    /// Of the faster arm, in the metric's unit.
    pub fast_value: f64,
    /// What is judged, the arm that is not the base, is the slower one.
    pub is_judged_slower: bool,
    /// Levels of the matrix that it depends on, a sentence each.
    pub conditions: Vec<String>,
}

/// What a first look at a run says.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The run cannot answer, whatever its numbers.
    Invalid(String),
    /// No difference.
    None {
        /// In one line.
        summary: String,
        /// A line each.
        evidence: Vec<String>,
    },
    /// Neither.
    Unclear {
        /// In one line.
        summary: String,
        /// A line each.
        evidence: Vec<String>,
    },
    /// A difference, twice seen.
    Difference(Finding),
}

/// Share of an arm's blocks that may be invalid.
const INVALID_SHARE_MOST: f64 = 0.5;
/// Where CPU shows no difference, wall time may hide this much before the run says nothing.
const HIDDEN_IN_WALL_MOST: f64 = 0.5;
/// A difference at a larger size is preferred if it shows this share of the largest one.
const NEARLY: f64 = 0.8;
/// CPU is what a pair is judged by if it shows this share of the difference (of logarithms).
const CPU_SHOWS_LEAST: f64 = 0.5;
/// What a difference is said of.
pub(crate) const MAIN: [Metric; 3] = [Metric::ServerCpu, Metric::LatencyP50, Metric::TimePerOperation];

/// The differences of settings over which no verdict may be drawn.
pub(crate) fn confounds(run: &Run) -> impl Iterator<Item = &Setting> {
    run.equalised.iter().filter(|setting| setting.is_confound && !setting.is_equal)
}

/// What was seen all the same where a setting forbids a verdict: the largest difference that the timed blocks show for certain.
#[must_use]
pub(crate) fn seen_in_spite(run: &Run) -> Option<String> {
    confounds(run).next()?;
    let found = run
        .comparisons
        .iter()
        .filter(|found| MAIN.contains(&found.metric) && found.is_significant)
        .max_by(|a, b| effect(a).total_cmp(&effect(b)))?;
    Some(format!(
        "{} was {} as {} in {}",
        run.arms[found.arm].name,
        times(found.ratio),
        run.arms[found.base].name,
        metric_name(found.metric)
    ))
}

/// Why no verdict may be drawn at all.
#[must_use]
pub fn invalid(run: &Run) -> Option<String> {
    if let Some(setting) = confounds(run).next() {
        let values: Vec<String> =
            setting.values.iter().map(|(server, value)| format!("{server}: {value}")).collect();
        return Some(format!(
            "the servers cannot be compared: {} differs ({}) and matters here",
            setting.name,
            values.join(", "),
        ));
    }
    for (index, arm) in run.arms.iter().enumerate() {
        let all = run.blocks.iter().filter(|block| block.arm == index).count();
        let valid = run.valid_blocks(index).count();
        if all > 0 && ((all - valid) as f64) > INVALID_SHARE_MOST * all as f64 {
            let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
            for why in run
                .blocks
                .iter()
                .filter(|block| block.arm == index)
                .filter_map(|block| block.invalid.as_deref())
            {
                *reasons.entry(why).or_default() += 1;
            }
            let why = reasons.into_iter().max_by_key(|(_, count)| *count).map_or("", |(why, _)| why);
            return Some(format!(
                "the run is invalid: {} of {all} blocks of {}: {why}",
                all - valid,
                arm.name
            ));
        }
    }
    None
}

/// Arms that should answer alike and did not.
#[must_use]
pub(crate) fn results_differ(run: &Run) -> bool {
    (0..run.arms.len()).any(|arm| matches!(rows_compared(run, arm), RowsCompared::Different(_)))
}

/// What is known of an arm's rows beside those of the arm it is compared with.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RowsCompared {
    /// It is compared with nothing that runs the same statements over the same data.
    Alone,
    /// Number of operations with equal rows.
    Alike(u64),
    /// Number of operations with different rows.
    Different(u64),
    /// One of them left no hash: which of the two.
    Unknown(usize),
}

/// Compares an arm's rows with those of its base, over as many operations as both ended.
#[must_use]
pub(crate) fn rows_compared(run: &Run, arm: usize) -> RowsCompared {
    /// Operations behind the one hash that earlier versions wrote.
    const OPERATIONS_BEFORE: u64 = 32;
    let hashes = |arm: usize| -> BTreeMap<u64, BTreeSet<&str>> {
        let mut found: BTreeMap<u64, BTreeSet<&str>> = BTreeMap::new();
        for block in run.blocks.iter().filter(|block| block.arm == arm) {
            for (operations, hash) in &block.result_hashes {
                found.entry(*operations).or_default().insert(hash);
            }
            if let Some(hash) = &block.result_hash {
                found.entry(OPERATIONS_BEFORE).or_default().insert(hash);
            }
        }
        found
    };
    let Some(base) = base_of(run, arm).filter(|base| asks_alike(&run.arms[*base], &run.arms[arm])) else {
        return RowsCompared::Alone;
    };
    let (one, other) = (hashes(base), hashes(arm));
    match one.iter().rev().find_map(|(operations, one)| Some((*operations, one, other.get(operations)?))) {
        Some((operations, one, other)) if one == other => RowsCompared::Alike(operations),
        Some((operations, ..)) => RowsCompared::Different(operations),
        None => RowsCompared::Unknown(if one.is_empty() { base } else { arm }),
    }
}

/// The same statements over the same data: the arms differ at most in server and driver.
fn asks_alike(one: &Arm, other: &Arm) -> bool {
    let rest = |arm: &Arm| -> Vec<(String, String)> {
        let is_content = |axis: &str| !["server", "driver"].contains(&axis);
        arm.levels.iter().filter(|(axis, _)| is_content(axis)).map(|(a, l)| (a.clone(), l.clone())).collect()
    };
    one.scale == other.scale && rest(one) == rest(other)
}

fn oriented(found: &Comparison) -> Finding {
    let slower = found.ratio >= 1.0;
    let (fast, slow) = if slower { (found.base, found.arm) } else { (found.arm, found.base) };
    let turn = |ratio: f64| if slower { ratio } else { 1.0 / ratio };
    let (one, other) = (turn(found.ci_low), turn(found.ci_high));
    Finding {
        pair: Pair { fast, slow },
        metric: found.metric,
        ratio: turn(found.ratio),
        low: one.min(other),
        high: one.max(other),
        // As the tables say it: the base's median, and that times the ratio, which was measured within rounds.
        fast_value: if slower { found.base_value } else { found.base_value * found.ratio },
        is_judged_slower: slower,
        conditions: Vec::new(),
    }
}

/// On which levels of other axes the difference between the same two servers depends.
fn conditions(run: &Run, finding: &Finding) -> Vec<String> {
    let (slow, fast) = (&run.arms[finding.pair.slow], &run.arms[finding.pair.fast]);
    let mut out = Vec::new();
    for (axis, level) in &slow.levels {
        // How it depends on the size is what growth tells.
        let is_size = Some(axis) == run.scenario.scale_name.as_ref();
        if axis == "server" || is_size || fast.levels.get(axis) != Some(level) {
            continue;
        }
        // The same comparison with only this axis moved.
        let elsewhere: Vec<(&String, f64)> = run
            .comparisons
            .iter()
            .filter(|other| other.metric == finding.metric)
            .filter_map(|other| {
                let turned = oriented(other).pair;
                let same_way = run.arms[turned.slow].server == slow.server
                    && run.arms[turned.fast].server == fast.server;
                let (one, two) = (&run.arms[other.arm], &run.arms[other.base]);
                let (this_slow, this_fast) = if one.server == slow.server { (one, two) } else { (two, one) };
                let moved = differs_in_only(slow, this_slow, axis) && differs_in_only(fast, this_fast, axis);
                let ratio = if same_way { other.ratio.max(1.0 / other.ratio) } else { 1.0 };
                moved.then(|| this_slow.levels.get(axis).map(|level| (level, ratio))).flatten()
            })
            .collect();
        if elsewhere.is_empty() {
            continue;
        }
        let alike = elsewhere.iter().all(|(_, ratio)| *ratio > 1.0 + (finding.ratio - 1.0) * 0.5);
        let gone = elsewhere.iter().all(|(_, ratio)| *ratio < 1.0 + (finding.ratio - 1.0) * 0.25);
        let others: Vec<String> =
            elsewhere.iter().map(|(level, ratio)| format!("{level}: {ratio:.2}")).collect();
        if alike {
            out.push(format!("it does not depend on {axis} ({})", others.join(", ")));
        } else if gone {
            out.push(format!("only where {axis} is {level} ({})", others.join(", ")));
        } else {
            out.push(format!("it varies with {axis} ({level}: {:.2}, {})", finding.ratio, others.join(", ")));
        }
    }
    out
}

fn differs_in_only(one: &Arm, other: &Arm, axis: &str) -> bool {
    one.levels.get(axis) != other.levels.get(axis)
        && one.server == other.server
        && one
            .levels
            .iter()
            .filter(|(name, _)| *name != axis)
            .all(|(name, level)| other.levels.get(name) == Some(level))
}

fn effect(found: &Comparison) -> f64 {
    found.ratio.ln().abs()
}

/// The comparison a verdict is about.
///
/// Arms of two servers before arms of one, for the question is why one server is slower; how options matter on one of them is
/// then a condition of it. Of these the largest, but at the largest size that shows nearly as much: there its cause drowns
/// the rest. By CPU, unless CPU shows less than half of it.
fn chosen<'a>(run: &Run, significant: &[&'a Comparison]) -> Option<&'a Comparison> {
    let is_across = |found: &&&Comparison| run.arms[found.base].server != run.arms[found.arm].server;
    let across: Vec<&Comparison> = significant.iter().filter(is_across).copied().collect();
    let of = if across.is_empty() { significant } else { across.as_slice() };
    let largest = of.iter().max_by(|a, b| effect(a).total_cmp(&effect(b)))?;
    let group = |found: &Comparison| (group_of(run, found.base), group_of(run, found.arm));
    let pair = of
        .iter()
        .filter(|other| {
            group(other) == group(largest)
                && (other.ratio > 1.0) == (largest.ratio > 1.0)
                && effect(other) >= NEARLY * effect(largest)
        })
        .max_by(|a, b| {
            let scale = |found: &Comparison| run.arms[found.arm].scale;
            scale(a).cmp(&scale(b)).then(effect(a).total_cmp(&effect(b)))
        })?;
    let by_cpu = of.iter().find(|other| {
        (other.base, other.arm, other.metric) == (pair.base, pair.arm, Metric::ServerCpu)
            && (other.ratio > 1.0) == (pair.ratio > 1.0)
            && effect(other) >= CPU_SHOWS_LEAST * effect(pair)
    });
    by_cpu.or(Some(pair)).copied()
}

/// Looks at a run.
#[must_use]
pub fn find(run: &Run) -> Outcome {
    if let Some(why) = invalid(run) {
        return Outcome::Invalid(why);
    }
    let main: Vec<&Comparison> =
        run.comparisons.iter().filter(|found| MAIN.contains(&found.metric)).collect();
    if main.is_empty() {
        let summary = "nothing could be compared: fewer than two arms with two blocks each".to_owned();
        return Outcome::Unclear { summary, evidence: Vec::new() };
    }
    let significant: Vec<&Comparison> = main.iter().filter(|found| found.is_significant).copied().collect();
    if let Some(chosen) = chosen(run, &significant) {
        let mut finding = oriented(chosen);
        finding.conditions = conditions(run, &finding);
        return Outcome::Difference(finding);
    }
    let evidence: Vec<String> = main
        .iter()
        .map(|found| {
            format!(
                "{} against {}, {}: x{:.3} ({:.3} to {:.3}), {}",
                run.arms[found.arm].name,
                run.arms[found.base].name,
                metric_name(found.metric),
                found.ratio,
                found.ci_low,
                found.ci_high,
                judgement_name(found.judgement, found.ratio)
            )
        })
        .collect();
    if let Some(once) = main.iter().find(|found| found.judgement == JudgementWord::Unconfirmed) {
        let summary = format!(
            "{} looks {} as {} in {}, but a second look at it did not agree",
            run.arms[once.arm].name,
            times(once.ratio),
            run.arms[once.base].name,
            metric_name(once.metric)
        );
        return Outcome::Unclear { summary, evidence };
    }
    let is_cpu = |found: &&&Comparison| found.metric == Metric::ServerCpu;
    let is_none = |found: &&&Comparison| {
        let word = found.judgement;
        matches!(word, JudgementWord::NoDifference | JudgementWord::Small | JudgementWord::WithinNoise)
    };
    let cpu_is_still =
        main.iter().filter(is_cpu).count() > 0 && main.iter().filter(is_cpu).all(|found| is_none(&found));
    let noisy: Vec<&&Comparison> =
        main.iter().filter(|found| found.judgement == JudgementWord::TooNoisy).collect();
    let most_hidden = |of: &[&&Comparison]| of.iter().map(|found| found.hidden).fold(0.0, f64::max);
    let hidden = most_hidden(&main.iter().collect::<Vec<_>>());
    if noisy.is_empty() || (cpu_is_still && most_hidden(&noisy) <= HIDDEN_IN_WALL_MOST) {
        let small = main.iter().filter(|found| found.judgement == JudgementWord::Small);
        let largest = small.max_by(|a, b| effect(a).total_cmp(&effect(b)));
        let cpu = main.iter().filter(is_cpu).map(|found| found.hidden).fold(0.0, f64::max);
        let summary = match largest {
            Some(found) => format!("no difference that matters: {}", in_units(run, found)),
            None if noisy.is_empty() => format!("no difference above {}", format::effect(hidden)),
            None => format!(
                "no difference: at most {} in server CPU; wall time, noisier, leaves room for {}",
                format::effect(cpu),
                format::effect(hidden)
            ),
        };
        return Outcome::None { summary, evidence };
    }
    let summary = format!("too noisy: a difference of up to {} could hide here", format::effect(hidden));
    Outcome::Unclear { summary, evidence }
}

/// A small difference with its size.
fn in_units(run: &Run, found: &Comparison) -> String {
    let units = (found.arm_value - found.base_value).abs();
    format!(
        "{} is {} as {} in {}, which is {} an operation",
        run.arms[found.arm].name,
        times(found.ratio),
        run.arms[found.base].name,
        metric_name(found.metric),
        format::value(found.metric, units)
    )
}
