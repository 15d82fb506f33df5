//! The report as Markdown, for an issue or a pull request.

use std::fmt::Write as _;

use super::{claim_name, judgement_name, kind_name, main_metric, outcome_name, table};
use crate::analysis::metric_name;
use crate::evidence::Run;
use crate::format::{self, value};
use crate::verdict::schema_in_words;

/// Text that cannot break a table or become markup.
fn safe(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '|' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '\\' => {
                out.push('\\');
                out.push(letter);
            }
            letter if letter.is_control() => out.push(' '),
            letter => out.push(letter),
        }
    }
    out
}

/// The whole report.
#[must_use]
pub fn text(run: &Run) -> String {
    let mut out = format!("# {}\n\n{}\n", safe(&run.scenario.id), safe(&run.scenario.claim));
    if let Some(verdict) = &run.verdict {
        let _ = writeln!(out, "\n**{}**: {}", kind_name(verdict.kind), safe(&verdict.summary));
        let _ = writeln!(out, "\nClaim: {}, {}", claim_name(verdict.claim), safe(&verdict.claim_reason));
        for (name, what) in [("Cause", &verdict.cause), ("Layer", &verdict.layer)] {
            if let Some(what) = what {
                let _ = writeln!(out, "\n{name}: {}", safe(what));
            }
        }
        if !verdict.evidence.is_empty() {
            out.push_str("\n## Evidence\n\n");
        }
        for line in &verdict.evidence {
            let _ = writeln!(out, "- {}", safe(line));
        }
        if !verdict.advice.is_empty() {
            out.push_str("\n## What to do\n\n");
        }
        for line in &verdict.advice {
            let _ = writeln!(out, "- {}", safe(line));
        }
    }
    if !run.fidelity.is_empty() {
        out.push_str(
            "\n## Driver profiles compared with the real drivers\n\n| arm | | pace | per operation |\n| --- | --- | --- | --- |\n",
        );
    }
    for row in super::fidelity_rows(run) {
        let cells: Vec<String> = row.iter().map(|cell| safe(cell)).collect();
        let _ = writeln!(out, "| {} |", cells.join(" | "));
    }
    let metric = main_metric(run);
    let table = table(run, metric);
    let _ = writeln!(out, "\n## Results by server: {}\n", metric_name(metric));
    if let Some(floor) = table.floor {
        let _ =
            writeln!(out, "An arm against itself: x{:.3} to x{:.3}.\n", floor.ratio_low, floor.ratio_high);
    }
    let columns: Vec<String> = table.columns.iter().map(|name| safe(name)).collect();
    let _ = writeln!(out, "| | {} |\n|{}", columns.join(" | "), " --- |".repeat(columns.len() + 1));
    for (label, cells) in &table.rows {
        let cells: Vec<String> = cells
            .iter()
            .map(|cell| {
                cell.map_or(String::new(), |cell| match cell.comparison {
                    None => value(metric, cell.value),
                    Some(found) => format!(
                        "{} ({:.2}; {:.2} to {:.2}; {})",
                        value(metric, cell.value),
                        found.ratio,
                        found.ci_low,
                        found.ci_high,
                        judgement_name(found.judgement, found.ratio)
                    ),
                })
            })
            .collect();
        let _ = writeln!(out, "| {} | {} |", safe(label), cells.join(" | "));
    }
    for (index, line) in super::comparisons_in_words(run, metric).iter().enumerate() {
        let _ = writeln!(out, "{}- {}", if index == 0 { "\n" } else { "" }, safe(line));
    }
    if !run.layers.is_empty() {
        out.push_str("\n## Where the added time goes\n\n| layer | | evidence |\n| --- | --- | --- |\n");
        for finding in &run.layers {
            let (_, name) = outcome_name(finding.outcome);
            let _ = writeln!(out, "| {} | {name} | {} |", safe(&finding.layer), safe(&finding.evidence));
        }
    }
    if !run.schema_differences.is_empty() {
        out.push_str("\n## Tables and plans that differ\n\n");
    }
    for difference in &run.schema_differences {
        let _ = writeln!(out, "- {}", safe(&schema_in_words(difference)));
    }
    if let Some(said) = super::client(run) {
        let _ = writeln!(out, "\nClient: {}.", safe(&said));
    }
    let alike = super::alike(run);
    if !alike.is_empty() {
        out.push_str("\n## Settings\n\n");
    }
    for (name, list) in alike {
        let _ = writeln!(out, "- {name}: {}", safe(&list));
    }
    for setting in run.equalised.iter().filter(|setting| !setting.is_equal) {
        let mark = match (setting.is_confound, setting.is_accepted) {
            (true, _) => "**CONFOUND**",
            (false, true) => "differs, accepted:",
            (false, false) => "differs:",
        };
        let _ = writeln!(out, "- {mark} {}", safe(&format::setting(setting)));
    }
    for (title, lines) in [("Warnings", &run.warnings), ("Commands", &run.commands)] {
        if !lines.is_empty() {
            let _ = writeln!(out, "\n## {title}\n");
        }
        for line in lines {
            let _ = writeln!(out, "- {}", safe(line));
        }
    }
    out
}
