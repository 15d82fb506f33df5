//! The report for a terminal: no line is wider than 80 columns, colour only if asked for. The verdict stands last, where a
//! terminal shows it.

use std::fmt::Write as _;
use std::time::Duration;

use super::{Cell, claim_name, kind_name, main_metric, outcome_name, table};
use crate::analysis::metric_name;
use crate::evidence::{JudgementWord, LayerOutcome, Run, VerdictKind};
use crate::format::{self, COLUMNS, nanoseconds, value};
use crate::verdict::schema_in_words;

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

/// Control characters of a server's answer must not send control sequences to the terminal.
fn plain(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

/// One line while a run goes on: share of the time spent, what is left of it at most, what runs. Cut where the narrowest
/// terminal ends, for a line that wraps cannot be written over again.
#[must_use]
pub fn progress(budget: Duration, left: Duration, what: &str) -> String {
    const BAR: usize = 12;
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
    line.chars().take(COLUMNS - 1).collect()
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
        Some(JudgementWord::NoDifference | JudgementWord::WithinNoise) => paint.faint(text),
        Some(JudgementWord::Small) => text.to_owned(),
        None => text.to_owned(),
    }
}

/// Lines that are at most as wide as a terminal: the first begins with `first`, the others are indented alike.
fn put(out: &mut String, first: &str, text: &str) {
    put_with(out, first, first.chars().count(), text);
}

fn put_with(out: &mut String, first: &str, indent: usize, text: &str) {
    out.push_str(&format::wrap(first, indent, &plain(text), COLUMNS));
    out.push('\n');
}

/// A marked line: the mark is painted, the text is wrapped behind it.
fn put_marked(out: &mut String, mark: &str, painted: &str, text: &str) {
    let lines = format::wrap(mark, 2, &format!(" {}", plain(text)), COLUMNS);
    out.push_str(&lines.replacen(mark, painted, 1));
    out.push('\n');
}

/// The whole report.
#[must_use]
pub fn text(run: &Run, colour: bool) -> String {
    let paint = Paint(colour);
    let mut out = String::new();
    put(&mut out, "", &format!("{}: {}", run.scenario.id, run.scenario.claim));
    for server in &run.servers {
        put_with(
            &mut out,
            &format!("  {}:", server.name),
            4,
            &format!(" {} {}", server.version, server.version_comment),
        );
    }
    if !run.fidelity.is_empty() {
        out.push_str("\nDriver profiles compared with the real drivers, per operation\n");
    }
    for [arm, word, pace, figures] in super::fidelity_rows(run) {
        put_with(&mut out, "  ", 4, &format!("{arm}: {word}, {pace}: {figures}"));
    }
    let metric = main_metric(run);
    out.push_str(&results(run, metric, &paint));
    out.push_str(&growth(run, metric));
    out.push_str(&calls(run));
    out.push_str(&layers(run, &paint));
    out.push_str(&schemas(run));
    out.push_str(&settings(run, &paint));
    for warning in &run.warnings {
        put_marked(&mut out, "warning", &paint.yellow("warning"), warning);
    }
    if let Some(why) = &run.incomplete {
        out.push('\n');
        put_marked(&mut out, "ended early:", &paint.yellow("ended early:"), why);
    }
    let took = format!("{} blocks in {}", run.blocks.len(), nanoseconds(run.duration_s * 1e9));
    let client = super::client(run).map_or(String::new(), |said| format!("; client: {said}"));
    out.push('\n');
    put_with(&mut out, "", 2, &(took + &client));
    if !run.expected.is_empty() {
        out.push_str("\nThe scenario is known to show\n");
    }
    for one in &run.expected {
        let mark = if one.holds { "✓" } else { "✗" };
        put_with(&mut out, &format!("  {mark} "), 4, &format!("{}; found: {}", one.what, one.found));
    }
    if let Some(verdict) = &run.verdict {
        let name = kind_name(verdict.kind);
        let name = match verdict.kind {
            VerdictKind::NoDifference => paint.green(name),
            VerdictKind::Inconclusive => paint.yellow(name),
            _ if super::exit_code(run) == super::EXIT_NONE => paint.green(name),
            _ => paint.red(name),
        };
        let _ = writeln!(out, "\n{}  {name}", paint.bold("Verdict"));
        put(&mut out, "  ", &verdict.summary);
        if verdict.has_result_mismatch {
            let _ = writeln!(out, "  {}", paint.red("the servers answered different rows"));
        }
        let claim =
            format!("{}: \"{}\": {}", claim_name(verdict.claim), run.scenario.claim, verdict.claim_reason);
        put_with(&mut out, "  claim  ", 9, &claim);
        for (name, what) in [("  cause  ", &verdict.cause), ("  layer  ", &verdict.layer)] {
            if let Some(what) = what {
                put_with(&mut out, name, 9, what);
            }
        }
        if !verdict.evidence.is_empty() {
            out.push_str("  Evidence\n");
        }
        for line in &verdict.evidence {
            put(&mut out, "  - ", line);
        }
        if !verdict.advice.is_empty() {
            out.push_str("  What to do\n");
        }
        for line in &verdict.advice {
            put(&mut out, "  > ", line);
        }
    }
    out
}

/// The results by server: a table where it fits, else a list.
fn results(run: &Run, metric: crate::evidence::Metric, paint: &Paint) -> String {
    let table = table(run, metric);
    let mut out = String::from("\n");
    let floor = table.floor.map_or("noise not measured".to_owned(), |floor| {
        format!("an arm against itself: x{:.3} to x{:.3}", floor.ratio_low, floor.ratio_high)
    });
    put_with(
        &mut out,
        "",
        2,
        &format!("{} ({floor}; a ratio within it is no difference)", metric_name(metric)),
    );
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
    let width = 2 + label_width + widths.iter().map(|width| width + 2).sum::<usize>();
    let is_list = width > COLUMNS;
    if !is_list {
        let _ = write!(out, "  {:label_width$}", "");
        for (name, width) in table.columns.iter().zip(&widths) {
            let _ = write!(out, "  {name:>width$}");
        }
        out.push('\n');
    }
    for ((label, cells), row) in table.rows.iter().zip(&texts) {
        if is_list {
            put_with(&mut out, "  ", 4, label);
        } else {
            let _ = write!(out, "  {label:label_width$}");
        }
        for (column, (cell, text)) in cells.iter().zip(row).enumerate() {
            let width = if is_list { 0 } else { widths[column] };
            let padded = format!("{text:>width$}");
            let padded = cell.map_or(padded.clone(), |cell| painted(paint, &cell, &padded));
            let _ = match is_list {
                true if text.is_empty() => Ok(()),
                true => {
                    let name: String = table.columns[column].chars().take(40).collect();
                    writeln!(out, "    {name}: {padded}")
                }
                false => write!(out, "  {padded}"),
            };
        }
        if !is_list {
            out.push('\n');
        }
    }
    for line in super::comparisons_in_words(run, metric) {
        put_with(&mut out, "  ", 4, &line);
    }
    out
}

fn growth(run: &Run, metric: crate::evidence::Metric) -> String {
    let mut out = String::new();
    for growth in &run.growth {
        let what = match &growth.count_name {
            Some(name) => format!("{}, {name}", growth.group),
            None if growth.metric == metric => growth.group.clone(),
            None => continue,
        };
        if out.is_empty() {
            out.push_str("\nGrowth with size: cost = size to the power of\n");
        }
        let (low, high) = (growth.exponent_low, growth.exponent_high);
        put_with(
            &mut out,
            "  ",
            4,
            &format!("{what}: exponent {:.2} ({low:.2} to {high:.2})", growth.exponent),
        );
    }
    out
}

/// What each layer has to do with the difference.
fn layers(run: &Run, paint: &Paint) -> String {
    let mut out = String::new();
    if run.layers.is_empty() {
        return out;
    }
    out.push_str("\nWhere the added time goes, layer by layer\n");
    for finding in &run.layers {
        let (mark, name) = outcome_name(finding.outcome);
        let lines = format::wrap(
            &format!("  {mark} {:10} {name:12} ", finding.layer),
            28,
            &plain(&finding.evidence),
            COLUMNS,
        );
        let lines: Vec<String> = lines
            .lines()
            .map(|line| match finding.outcome {
                LayerOutcome::Blamed => paint.red(line),
                LayerOutcome::NotMeasured => paint.faint(line),
                LayerOutcome::Excluded | LayerOutcome::Contributes => line.to_owned(),
            })
            .collect();
        out.push_str(&lines.join("\n"));
        out.push('\n');
    }
    out
}

/// What of schemas, statistics and plans differs.
fn schemas(run: &Run) -> String {
    let mut out = String::new();
    if !run.schema_differences.is_empty() {
        out.push_str("\nTables and plans that differ\n");
    }
    for difference in &run.schema_differences {
        put(&mut out, "  - ", &schema_in_words(difference));
    }
    out
}

fn settings(run: &Run, paint: &Paint) -> String {
    let mut out = String::from("\n");
    for (name, list) in super::alike(run) {
        put_marked(&mut out, name, &paint.faint(name), &list);
    }
    let mut others = Vec::new();
    for setting in run.equalised.iter().filter(|setting| !setting.is_equal) {
        let text = format::setting(setting);
        if setting.is_confound {
            put_marked(&mut out, "CONFOUND", &paint.red("CONFOUND"), &text);
        } else if setting.is_accepted {
            put_marked(&mut out, "differs, accepted:", &paint.yellow("differs, accepted:"), &text);
        } else {
            others.push(text);
        }
    }
    if !others.is_empty() {
        put_marked(&mut out, "differ too:", &paint.yellow("differ too:"), &others.join(" | "));
    }
    if out.len() > 1 { out } else { String::new() }
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
        let said = match count.name.strip_suffix("_ns") {
            Some(name) => format!("{arm}: {name} takes {} a call{follows}", nanoseconds(count.per_op)),
            None => format!("{arm}: {} {:.1} times an operation{follows}", count.name, count.per_op),
        };
        put_with(&mut out, "  ", 4, &said);
    }
    out
}
