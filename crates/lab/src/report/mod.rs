//! What a run says, for people and for programs. Everything is made from a [`Run`] and nothing else.
//!
//! | for | by |
//! | --- | --- |
//! | a terminal | [`terminal::text`]: verdict, results by server beside the noise, layers; [`terminal::progress`] meanwhile |
//! | a program | [`Run::to_json`], described by `docs/lab-run.schema.json`; [`exit_code`] |
//! | an issue | [`markdown::text`] |
//! | a browser | [`html::page`]: one file, nothing from the network, the JSON inside |
//! | a slide, a wiki | [`drawings::all`]: each drawing as an SVG file of its own |
//!
//! Invariants:
//! 1. No text of a server, a scenario or an error reaches a page unescaped.
//! 2. A ratio is never drawn as a finding inside the noise floor.

#[cfg(test)]
mod browser;
pub mod charts;
pub mod drawings;
pub mod flames;
pub mod html;
pub mod markdown;
pub mod svg;
pub mod terminal;

use std::collections::BTreeSet;

use crate::analysis::{self, metric_name};
use crate::evidence::{
    Block, ClaimOutcome, Comparison, Fidelity, FidelityWord, JudgementWord, LayerOutcome, Metric, NoiseFloor,
    Run, Setting, VerdictKind,
};
use crate::format::{self, judgement_name};
use crate::scenario::Scenario;
use crate::server::variables::{self, Confound};
use crate::verdict::finding::{self, RowsCompared};

/// Exit code: no regression.
pub(crate) const EXIT_NONE: u8 = 0;
/// A regression: the judged arm is slower than its base.
pub(crate) const EXIT_REGRESSION: u8 = 1;
/// Bad use, or a run that failed before it could conclude.
pub const EXIT_FAILED: u8 = 2;
/// Inconclusive.
pub(crate) const EXIT_INCONCLUSIVE: u8 = 3;
/// The arms answered different rows.
pub(crate) const EXIT_MISMATCH: u8 = 4;

/// The exit code of a finished run. Where only driver profiles were compared with real drivers, one that differs is 1. Where
/// the base is the slower arm, and no arm is slower than its base anywhere else, there is no regression: 0.
#[must_use]
pub fn exit_code(run: &Run) -> u8 {
    let Some(verdict) = &run.verdict else {
        let words = || run.fidelity.iter().map(Fidelity::word);
        return match () {
            () if run.fidelity.is_empty() => EXIT_FAILED,
            () if words().any(|word| word == FidelityWord::Unlike) => EXIT_REGRESSION,
            () if words().any(|word| word == FidelityWord::Unsure) => EXIT_INCONCLUSIVE,
            () => EXIT_NONE,
        };
    };
    if verdict.has_result_mismatch {
        return EXIT_MISMATCH;
    }
    match verdict.kind {
        VerdictKind::NoDifference => EXIT_NONE,
        VerdictKind::Inconclusive => EXIT_INCONCLUSIVE,
        VerdictKind::Confirmed
        | VerdictKind::Explained
        | VerdictKind::Located
        | VerdictKind::Novel
        | VerdictKind::Unlocated => {
            let base_is_slow = run
                .comparisons
                .iter()
                .any(|found| Some(found.base) == verdict.slow_arm && Some(found.arm) == verdict.fast_arm);
            // The largest difference may be a gain and a smaller one, elsewhere in the matrix, a loss.
            let is_slower_somewhere = run
                .comparisons
                .iter()
                .any(|found| found.metric != Metric::Count && found.judgement == JudgementWord::Slower);
            if base_is_slow && !is_slower_somewhere { EXIT_NONE } else { EXIT_REGRESSION }
        }
    }
}

/// A verdict in one word.
#[must_use]
pub(crate) fn kind_name(kind: VerdictKind) -> &'static str {
    match kind {
        VerdictKind::Confirmed => "confirmed",
        VerdictKind::Explained => "explained",
        VerdictKind::Located => "located",
        VerdictKind::Novel => "novel",
        VerdictKind::Unlocated => "unlocated",
        VerdictKind::NoDifference => "no-difference",
        VerdictKind::Inconclusive => "inconclusive",
    }
}

/// What is said of a claim, in one word.
#[must_use]
pub(crate) fn claim_name(claim: ClaimOutcome) -> &'static str {
    match claim {
        ClaimOutcome::Confirmed => "confirmed",
        ClaimOutcome::Refuted => "refuted",
        ClaimOutcome::Undecided => "undecided",
    }
}

/// A layer's outcome as a mark and in words.
#[must_use]
pub(crate) fn outcome_name(outcome: LayerOutcome) -> (&'static str, &'static str) {
    match outcome {
        LayerOutcome::Excluded => ("\u{2713}", "excluded"),
        LayerOutcome::Blamed => ("\u{2717}", "blamed"),
        LayerOutcome::Contributes => ("~", "contributes"),
        LayerOutcome::NotMeasured => ("?", "not measured"),
    }
}

/// What is said of a profile beside its driver, in words.
#[must_use]
pub(crate) fn fidelity_name(word: FidelityWord) -> &'static str {
    match word {
        FidelityWord::Alike => "alike",
        FidelityWord::Unlike => "unlike",
        FidelityWord::Unsure => "not sure",
    }
}

/// Profiles against drivers as rows of texts: arm, what is said, the interval between starts, and the figures that are not
/// counts or not alike.
#[must_use]
pub(crate) fn fidelity_rows(run: &Run) -> Vec<[String; 4]> {
    run.fidelity
        .iter()
        .map(|fidelity| {
            let shown = |figure: &&crate::evidence::FidelityFigure| {
                figure.rounds > 0 || figure.word != FidelityWord::Alike
            };
            let figures: Vec<String> = fidelity
                .figures
                .iter()
                .filter(shown)
                .map(crate::evidence::FidelityFigure::describe)
                .collect();
            let pace = match fidelity.interval_ns {
                0 => "no pace".to_owned(),
                ns => format!("every {}", format::nanoseconds(ns as f64)),
            };
            let figures = if figures.is_empty() { "all counts alike".to_owned() } else { figures.join(", ") };
            [fidelity.arm.clone(), fidelity_name(fidelity.word()).to_owned(), pace, figures]
        })
        .collect()
}

/// A cell of the matrix.
#[derive(Clone, Copy, Debug)]
pub struct Cell<'a> {
    /// Index of the arm.
    pub arm: usize,
    /// Its middle, in the metric of the table.
    pub value: f64,
    /// Against its base, if it has one.
    pub comparison: Option<&'a Comparison>,
}

/// The matrix as a table: what varies down, servers across.
#[derive(Clone, Debug)]
pub struct Table<'a> {
    /// By what.
    pub metric: Metric,
    /// Names of the servers.
    pub columns: Vec<String>,
    /// Label and cells of each row.
    pub rows: Vec<(String, Vec<Option<Cell<'a>>>)>,
    /// The noise floor of the metric.
    pub floor: Option<&'a NoiseFloor>,
}

/// The metric of the verdict, else server CPU where it was measured, else median latency.
#[must_use]
pub(crate) fn main_metric(run: &Run) -> Metric {
    let of_verdict = run.verdict.as_ref().filter(|verdict| verdict.slow_arm.is_some());
    of_verdict.map_or_else(
        || {
            let has_cpu = run.comparisons.iter().any(|found| found.metric == Metric::ServerCpu);
            if has_cpu { Metric::ServerCpu } else { Metric::LatencyP50 }
        },
        |verdict| verdict.metric,
    )
}

/// Lays the arms out.
#[must_use]
pub fn table(run: &Run, metric: Metric) -> Table<'_> {
    let mut columns: Vec<String> = run.servers.iter().map(|server| server.name.clone()).collect();
    for arm in &run.arms {
        if !columns.contains(&arm.server) {
            columns.push(arm.server.clone());
        }
    }
    let mut rows: Vec<(String, Vec<Option<Cell<'_>>>)> = Vec::new();
    let is_varied = |axis: &str, level: &str| {
        run.arms.iter().any(|other| other.levels.get(axis).is_none_or(|other| other != level))
    };
    // Where there is a ratio, the value beside it is the base's times the ratio: medians over all rounds need not agree with a
    // ratio that was measured within rounds.
    let compared = |arm: usize| {
        let of = || run.comparisons.iter().filter(|found| found.metric == metric);
        let own = of().find(|found| found.arm == arm).map(|found| found.base_value * found.ratio);
        own.or_else(|| of().find(|found| found.base == arm).map(|found| found.base_value))
    };
    for (index, arm) in run.arms.iter().enumerate().filter(|(_, arm)| arm.same_as.is_none()) {
        let Some(value) = compared(index).or_else(|| analysis::middle(run, index, metric)) else {
            continue;
        };
        let mut levels: Vec<String> = arm
            .levels
            .iter()
            .filter(|(axis, level)| *axis != "server" && is_varied(axis, level))
            .map(|(axis, level)| format!("{axis}={level}"))
            .collect();
        if let (Some(scale), Some(name)) = (arm.scale, &run.scenario.scale_name)
            && !arm.levels.contains_key(name)
        {
            levels.push(format!("{name}={scale}"));
        }
        let label = if levels.is_empty() { run.scenario.id.clone() } else { levels.join(" ") };
        let comparison = run.comparisons.iter().find(|found| found.arm == index && found.metric == metric);
        let cell = Cell { arm: index, value, comparison };
        let column = columns.iter().position(|name| *name == arm.server).unwrap_or(0);
        let place = match rows.iter().position(|(known, cells)| *known == label && cells[column].is_none()) {
            Some(place) => place,
            None => {
                rows.push((label, vec![None; columns.len()]));
                rows.len() - 1
            }
        };
        rows[place].1[column] = Some(cell);
    }
    let floor = run.noise.iter().find(|noise| noise.metric == metric);
    Table { metric, columns, rows, floor }
}

/// What is alike on the servers of a run, in two lists: what the lab made so, and of the rest what would forbid a verdict.
/// Empty where there is one server only.
#[must_use]
pub fn alike(run: &Run) -> Vec<(&'static str, String)> {
    if run.servers.len() < 2 {
        return Vec::new();
    }
    let list = |made: bool| {
        let weighs = |setting: &&Setting| {
            let known = variables::known(&setting.name);
            made || known.is_some_and(|variable| variable.confound != Confound::Never)
        };
        let named =
            run.equalised.iter().filter(|setting| setting.is_equal && setting.was_set == made).filter(weighs);
        // One that sessions or tables were given has another value as the server's default.
        let shown = |setting: &Setting| match setting.values.values().next() {
            Some(value) if !variables::has_other_values(setting) => format!("{} {value}", setting.name),
            _ => setting.name.clone(),
        };
        named.map(shown).collect::<Vec<_>>().join(", ")
    };
    let lists = [("made equal", list(true)), ("equal", list(false))];
    lists.into_iter().filter(|(_, list)| !list.is_empty()).collect()
}

/// What of a run's arms was not compared by a metric, and what is known of the rows they answered: a line each.
#[must_use]
pub(crate) fn comparisons_in_words(run: &Run, metric: Metric) -> Vec<String> {
    let name = |arm: usize| run.arms[arm].name.as_str();
    let arms = || (0..run.arms.len()).filter(|&arm| run.arms[arm].same_as.is_none());
    let mut out = Vec::new();
    for arm in arms() {
        let Some(base) = analysis::base_of(run, arm) else { continue };
        if run.comparisons.iter().any(|found| found.arm == arm && found.metric == metric) {
            continue;
        }
        let rounds = |arm: usize| -> BTreeSet<(u32, u32)> {
            let has_value = |block: &&Block| block.value(metric, None).is_some();
            run.valid_blocks(arm).filter(has_value).map(|block| (block.pass, block.round)).collect()
        };
        let why = match rounds(base).intersection(&rounds(arm)).count() {
            0 => "no round has a value of both".to_owned(),
            1 => "one round has a value of both, and two are needed".to_owned(),
            both => format!("{both} rounds have values of both, too few"),
        };
        out.push(format!(
            "not compared by {}: {} with {}: {why}",
            metric_name(metric),
            name(arm),
            name(base)
        ));
    }
    let Ok(scenario) = Scenario::parse(&run.scenario.text) else { return out };
    let rows: Vec<(usize, RowsCompared)> = arms()
        .map(|arm| (arm, finding::rows_compared(run, arm)))
        .filter(|(_, rows)| *rows != RowsCompared::Alone)
        .collect();
    if rows.is_empty() || run.blocks.iter().all(|block| block.rows_per_op == 0.0) {
        return out;
    }
    if !scenario.compare_results {
        out.push("rows of the arms were not compared: the scenario does not set compare_results".to_owned());
        return out;
    }
    let alike: Vec<u64> = rows
        .iter()
        .filter_map(
            |(_, rows)| if let RowsCompared::Alike(operations) = rows { Some(*operations) } else { None },
        )
        .collect();
    if let Some(least) = alike.iter().min() {
        let of = if alike.len() == rows.len() {
            "all".to_owned()
        } else {
            format!("{} of {}", alike.len(), rows.len())
        };
        out.push(format!("rows: the same in {of} comparisons, over the first {least} operations or more"));
    }
    for (arm, found) in rows {
        match found {
            RowsCompared::Different(operations) => out.push(format!(
                "rows: {} answered others than its base within the first {operations} operations",
                name(arm)
            )),
            RowsCompared::Unknown(silent) => {
                let why = if run.arms[silent].driver == "native" {
                    "its first block ended no operation"
                } else {
                    "rows are seen of driver native only"
                };
                out.push(format!("rows not compared: {}: {}: {why}", name(arm), name(silent)));
            }
            RowsCompared::Alone | RowsCompared::Alike(_) => {}
        }
    }
    out
}

/// How the client itself fared, over all blocks: its CPU, and in an open loop how late it was and what it skipped. `None` without
/// blocks.
#[must_use]
pub fn client(run: &Run) -> Option<String> {
    let busy = run.blocks.iter().map(|block| block.client_busy).reduce(f64::max)?;
    let cpu: Vec<f64> = run.blocks.iter().map(|block| block.client_cpu_ns_per_op).collect();
    let cpu = crate::stats::summary::median(&cpu)?;
    let mut said = format!(
        "its busiest thread used up to {:.0} % of a core, {} of CPU per operation",
        busy * 100.0,
        format::nanoseconds(cpu)
    );
    let lag = run.blocks.iter().map(|block| block.lag_p99_ns).max().unwrap_or(0);
    let skips: u64 = run.blocks.iter().map(|block| block.skips).sum();
    if lag > 0 || skips > 0 {
        said += &format!(
            "; 1 % of starts were noticed {} late or later in the worst block; {skips} skipped",
            format::nanoseconds(lag as f64)
        );
    }
    let invalid = run.blocks.iter().filter(|block| block.invalid.is_some()).count();
    if invalid > 0 {
        said += &format!("; {invalid} of {} blocks are invalid", run.blocks.len());
    }
    Some(said)
}

/// The arms worth drawing: the verdict's pair, then others of the same size, at most this many.
#[must_use]
pub(crate) fn arms_to_draw(run: &Run, most: usize) -> Vec<usize> {
    let verdict = run.verdict.as_ref();
    let pair = [verdict.and_then(|said| said.fast_arm), verdict.and_then(|said| said.slow_arm)];
    let mut chosen: Vec<usize> = pair.into_iter().flatten().collect();
    let largest = run.arms.iter().filter_map(|arm| arm.scale).max();
    let scale = chosen.first().map_or(largest, |arm| run.arms[*arm].scale);
    for (index, arm) in run.arms.iter().enumerate() {
        if arm.scale == scale && arm.same_as.is_none() && !chosen.contains(&index) {
            chosen.push(index);
        }
    }
    chosen.truncate(most);
    chosen
}

#[cfg(test)]
mod tests;
