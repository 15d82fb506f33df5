//! The report for a terminal: at most 100 columns where names allow it, colour only if asked for.

use std::fmt::Write as _;
use std::time::Duration;

use super::words::{self, nanoseconds, value};
use super::{Cell, kind_name, main_metric, outcome_name, table};
use crate::analysis::metric_name;
use crate::evidence::{JudgementWord, Run, RungOutcome, VerdictKind};

struct Paint(bool);

impl Paint {
    fn red(&self, text: &str) -> String {
        self.with("31", text)
    }
    fn green(&self, text: &str) -> String {
        self.with("32", text)
    }
    fn yellow(&self, text: &str) -> String {
        self.with("33", text)
    }
    fn faint(&self, text: &str) -> String {
        self.with("2", text)
    }
    fn bold(&self, text: &str) -> String {
        self.with("1", text)
    }
    fn with(&self, code: &str, text: &str) -> String {
        if self.0 { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

/// Control characters of a server's answer must not drive somebody's terminal.
fn plain(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

/// One line while a run goes on: share of the time spent, what is left of it at most, what runs. Cut where the narrowest
/// terminal ends, for a line that wraps cannot be written over again.
#[must_use]
pub fn progress(budget: Duration, left: Duration, what: &str) -> String {
    const BAR: usize = 12;
    const COLUMNS: usize = 79;
    let share = 1.0 - (left.as_secs_f64() / budget.as_secs_f64().max(1e-9)).min(1.0);
    let filled = (share * BAR as f64) as usize;
    let (minutes, seconds) = (left.as_secs() / 60, left.as_secs() % 60);
    let line = format!(
        "[{}{}] {:3.0} %  at most {minutes}:{seconds:02} left  {}",
        "#".repeat(filled),
        ".".repeat(BAR - filled),
        share * 100.0,
        plain(what)
    );
    line.chars().take(COLUMNS).collect()
}

fn cell_text(cell: &Cell<'_>, metric: crate::evidence::Metric) -> String {
    let own = value(metric, cell.value);
    match cell.comparison {
        None => own,
        Some(found) => format!("{own} x{:.2}", found.ratio),
    }
}

fn painted(paint: &Paint, cell: &Cell<'_>, text: &str) -> String {
    match cell.comparison.map(|found| found.judgement) {
        Some(JudgementWord::Slower) => paint.red(text),
        Some(JudgementWord::Faster) => paint.green(text),
        Some(JudgementWord::Unconfirmed | JudgementWord::TooNoisy) => paint.yellow(text),
        Some(JudgementWord::NoDifference) => paint.faint(text),
        None => text.to_owned(),
    }
}

/// The whole report.
#[must_use]
pub fn text(run: &Run, colour: bool) -> String {
    let paint = Paint(colour);
    let mut out = String::new();
    let _ = writeln!(out, "{}  {}", paint.bold(&plain(&run.scenario.id)), plain(&run.scenario.claim));
    for server in &run.servers {
        let _ =
            writeln!(out, "  {}: {} {}", server.name, plain(&server.version), plain(&server.version_comment));
    }
    if !run.faith.is_empty() {
        out.push_str("\nProfiles against the drivers they imitate, per operation\n");
    }
    for [arm, word, pace, figures] in super::faith_rows(run) {
        let word = match word.as_str() {
            "alike" => paint.green(&word),
            "unlike" => paint.red(&word),
            _ => paint.yellow(&word),
        };
        let _ = writeln!(out, "  {arm}  {word}, {pace}: {figures}");
    }
    let metric = main_metric(run);
    let table = table(run, metric);
    let floor = table.floor.map_or("noise floor not measured".to_owned(), |floor| {
        format!("noise floor x{:.3} to x{:.3}", floor.ratio_low, floor.ratio_high)
    });
    let _ = writeln!(out, "\n{} ({floor}; a ratio within it is no difference)", metric_name(metric));
    let texts: Vec<Vec<String>> = table
        .rows
        .iter()
        .map(|(_, cells)| {
            cells.iter().map(|cell| cell.map_or(String::new(), |cell| cell_text(&cell, metric))).collect()
        })
        .collect();
    let label_width = table.rows.iter().map(|(label, _)| label.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..table.columns.len())
        .map(|column| {
            let cells = texts.iter().map(|row| row[column].chars().count());
            cells.max().unwrap_or(0).max(table.columns[column].chars().count())
        })
        .collect();
    let _ = write!(out, "  {:label_width$}", "");
    for (name, width) in table.columns.iter().zip(&widths) {
        let _ = write!(out, "  {name:>width$}");
    }
    out.push('\n');
    for ((label, cells), row) in table.rows.iter().zip(&texts) {
        let _ = write!(out, "  {label:label_width$}");
        for ((cell, text), width) in cells.iter().zip(row).zip(&widths) {
            let padded = format!("{text:>width$}");
            let padded = cell.map_or(padded.clone(), |cell| painted(&paint, &cell, &padded));
            let _ = write!(out, "  {padded}");
        }
        out.push('\n');
    }
    if !run.growth.is_empty() {
        out.push_str("\nGrowth\n");
        for growth in run.growth.iter().filter(|growth| growth.metric == metric) {
            let _ = writeln!(
                out,
                "  {}: exponent {:.2} ({:.2} to {:.2})",
                growth.group, growth.exponent, growth.exponent_low, growth.exponent_high
            );
        }
    }
    let timed = run.growth.iter().filter_map(|growth| Some((growth.count_name.as_ref()?, growth)));
    for (name, growth) in timed {
        let _ = writeln!(
            out,
            "  {}, {name}: exponent {:.2} ({:.2} to {:.2})",
            growth.group, growth.exponent, growth.exponent_low, growth.exponent_high
        );
    }
    out.push_str(&calls(run));
    for (name, list) in super::alike(run) {
        let _ = writeln!(out, "{} {}", paint.faint(name), plain(&list));
    }
    for setting in run.equalised.iter().filter(|setting| !setting.is_equal) {
        let mark = if setting.is_confound { paint.red("CONFOUND") } else { paint.yellow("not equal") };
        let _ = writeln!(out, "{mark} {}", words::setting(setting));
    }
    for warning in &run.warnings {
        let _ = writeln!(out, "{} {}", paint.yellow("warning"), plain(warning));
    }
    if !run.ladder.is_empty() {
        out.push_str("\nLadder of exclusion\n");
        for rung in &run.ladder {
            let (mark, name) = outcome_name(rung.outcome);
            let line = format!("  {mark} {:10} {name:12} {}", rung.layer, plain(&rung.evidence));
            let line = match rung.outcome {
                RungOutcome::Blamed => paint.red(&line),
                RungOutcome::NotMeasured => paint.faint(&line),
                RungOutcome::Excluded | RungOutcome::Contributes => line,
            };
            let _ = writeln!(out, "{line}");
        }
    }
    if let Some(why) = &run.incomplete {
        let _ = writeln!(out, "\n{} {}", paint.yellow("ended early"), plain(why));
    }
    if let Some(verdict) = &run.verdict {
        let name = kind_name(verdict.kind);
        let name = match verdict.kind {
            VerdictKind::NoDifference => paint.green(name),
            VerdictKind::Inconclusive => paint.yellow(name),
            _ => paint.red(name),
        };
        let _ = writeln!(out, "\n{}  {name}", paint.bold("Verdict"));
        if let Some(cause) = &verdict.cause {
            let _ = writeln!(out, "  cause  {cause}");
        }
        if let Some(layer) = &verdict.layer {
            let _ = writeln!(out, "  layer  {layer}");
        }
        let _ = writeln!(out, "  {}", plain(&verdict.summary));
        if verdict.has_result_mismatch {
            let _ = writeln!(out, "  {}", paint.red("the arms answered different rows"));
        }
        for line in &verdict.evidence {
            let _ = writeln!(out, "  - {}", plain(line));
        }
        if !verdict.advice.is_empty() {
            out.push_str("  What to do\n");
        }
        for line in &verdict.advice {
            let _ = writeln!(out, "  > {}", plain(line));
        }
    }
    if !run.expected.is_empty() {
        out.push_str("\nThe scenario is known to show\n");
    }
    for one in &run.expected {
        let mark = if one.holds { "✓" } else { "✗" };
        let _ = writeln!(out, "  {mark} {}; found: {}", one.what, plain(&one.found));
    }
    let _ = writeln!(out, "\n{} blocks in {}", run.blocks.len(), nanoseconds(run.duration_s * 1e9));
    if let Some(said) = super::client(run) {
        let _ = writeln!(out, "client: {said}");
    }
    out
}

/// Calls that were counted in the arms the verdict is about.
fn calls(run: &Run) -> String {
    let mut out = String::new();
    let Some(verdict) = &run.verdict else { return out };
    let arms = [verdict.fast_arm, verdict.slow_arm];
    for count in run.counts.iter().filter(|count| count.source == "uprobe" && arms.contains(&Some(count.arm)))
    {
        if out.is_empty() {
            out.push_str("\nCalls\n");
        }
        let arm = run.arms.get(count.arm).map_or("?", |arm| arm.name.as_str());
        let follows = count.follows.as_ref().map_or(String::new(), |what| format!("; follows {what}"));
        let _ = match count.name.strip_suffix("_ns") {
            Some(name) => {
                writeln!(out, "  {arm}: {name} takes {} a call{follows}", nanoseconds(count.per_op))
            }
            None => writeln!(out, "  {arm}: {} {:.1} times an operation{follows}", count.name, count.per_op),
        };
    }
    out
}
