//! Every drawing of a run as a file of its own: SVG that stands alone, for an issue, a slide or a wiki.
//!
//! They are the drawings of the page; only the matrix, a table there, is drawn here. No drawing needs a script, a style or a
//! font from elsewhere.

use std::collections::BTreeSet;

use super::svg::{open_of, shortened};
use super::{charts, flames, html, judgement_name, main_metric, table};
use crate::analysis::metric_name;
use crate::evidence::{Metric, Run};
use crate::format::{escape, value};

/// A drawing.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Drawing {
    /// Name for a file, without its ending: small letters, digits, hyphens. No two of a run are the same.
    pub name: String,
    /// An `svg` element that stands alone.
    pub svg: String,
}

/// Letters of an arm's name in the name of a file, at most.
const NAME_CHARS_MAX: usize = 60;

/// Text as a part of a file's name.
fn file_name(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars().take(NAME_CHARS_MAX) {
        match letter.to_ascii_lowercase() {
            letter if letter.is_ascii_alphanumeric() => out.push(letter),
            _ if out.ends_with('-') => {}
            _ => out.push('-'),
        }
    }
    out.trim_matches('-').to_owned()
}

/// All that a run can be drawn as, in the order of the page. Empty for a run without blocks.
#[must_use]
pub fn all(run: &Run) -> Vec<Drawing> {
    let metric = main_metric(run);
    let mut found = vec![("matrix".to_owned(), matrix(run, metric))];
    if metric != Metric::LatencyP50 {
        found.push(("matrix-latency".to_owned(), matrix(run, Metric::LatencyP50)));
    }
    for (name, svg) in [
        ("difference-by-layer", charts::waterfall(run)),
        ("phases", charts::phases(run)),
        ("latency-over-time", charts::latency_over_time(run)),
        ("latency-distribution", charts::distribution(run)),
        ("growth", charts::growth(run)),
    ] {
        found.push((name.to_owned(), svg));
    }
    for (index, svg) in charts::interventions(run).into_iter().enumerate() {
        found.push((format!("change-{}", index + 1), svg));
    }
    for figure in flames::figures(run) {
        found.push((format!("flames-{}", file_name(&figure.name)), figure.svg));
    }
    let mut names = BTreeSet::new();
    let mut drawings = Vec::new();
    for (name, svg) in found.into_iter().filter(|(_, svg)| !svg.is_empty()) {
        let mut own = name.clone();
        let mut count = 1;
        while !names.insert(own.clone()) {
            count += 1;
            own = format!("{name}-{count}");
        }
        drawings.push(Drawing { name: own, svg });
    }
    drawings
}

/// The matrix as a heat map: what varies down, servers across, coloured against the noise floor. Empty without arms.
fn matrix(run: &Run, metric: Metric) -> String {
    const LABEL: f64 = 300.0;
    const CELL: f64 = 190.0;
    const ROW: f64 = 44.0;
    const HEAD: f64 = 70.0;
    const LABEL_CHARS: usize = 44;
    const COLUMN_CHARS: usize = 26;
    let table = table(run, metric);
    if table.rows.is_empty() {
        return String::new();
    }
    let width = LABEL + CELL * table.columns.len() as f64 + 10.0;
    let height = HEAD + ROW * table.rows.len() as f64 + 34.0;
    let title = format!("{}: {}", run.scenario.id, metric_name(metric));
    let mut out = open_of(&title, width, height, 10.0);
    let text = |x: f64, y: f64, style: &str, said: &str| {
        format!("<text x=\"{x:.1}\" y=\"{y:.1}\" {style}>{}</text>", escape(said))
    };
    for (column, name) in table.columns.iter().enumerate() {
        let middle = LABEL + CELL * (column as f64 + 0.5);
        let style = "text-anchor=\"middle\" font-weight=\"600\"";
        out.push_str(&text(middle, HEAD - 14.0, style, &shortened(name, COLUMN_CHARS)));
    }
    for (row, (label, cells)) in table.rows.iter().enumerate() {
        let top = HEAD + ROW * row as f64;
        let style = "text-anchor=\"end\"";
        out.push_str(&text(LABEL - 10.0, top + ROW / 2.0 + 4.0, style, &shortened(label, LABEL_CHARS)));
        for (column, cell) in cells.iter().enumerate() {
            let Some(cell) = cell else { continue };
            let left = LABEL + CELL * column as f64;
            let (background, ink) = match cell.comparison {
                Some(found) => html::colour(found, table.floor),
                None => ("#ffffff".to_owned(), "#222"),
            };
            out.push_str(&format!(
                "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{background}\" stroke=\"#cccccc\"/>",
                left + 1.0,
                top + 1.0,
                CELL - 2.0,
                ROW - 2.0
            ));
            let style = |size: u32| format!("text-anchor=\"middle\" fill=\"{ink}\" font-size=\"{size}\"");
            let own = value(metric, cell.value);
            let Some(found) = cell.comparison else {
                out.push_str(&text(left + CELL / 2.0, top + ROW / 2.0 + 4.0, &style(13), &own));
                continue;
            };
            let first = format!("{own}  \u{d7}{:.2}", found.ratio);
            let second = format!(
                "{:.2} to {:.2}, {}",
                found.ci_low,
                found.ci_high,
                judgement_name(found.judgement, found.ratio)
            );
            out.push_str(&text(left + CELL / 2.0, top + 19.0, &style(13), &first));
            out.push_str(&text(left + CELL / 2.0, top + 35.0, &style(11), &second));
        }
    }
    let floor =
        table.floor.map_or("How much an arm differs from itself was not measured.".to_owned(), |floor| {
            format!(
                "An arm against itself: x{:.3} to x{:.3} ({} rounds). Red is slower, blue faster.",
                floor.ratio_low, floor.ratio_high, floor.pairs
            )
        });
    out.push_str(&text(10.0, height - 12.0, "fill=\"#666\"", &floor));
    out.push_str("</svg>");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_a_file_and_are_not_taken_twice() {
        assert_eq!(file_name("new/cj-8.3.0/rows=500 (again)"), "new-cj-8-3-0-rows-500-again");
        assert_eq!(file_name("../../etc/passwd"), "etc-passwd");
        assert_eq!(file_name("\u{e4}").len(), 0);
        let run = super::super::tests::full();
        let drawings = all(&run);
        let names: Vec<&str> = drawings.iter().map(|drawing| drawing.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "matrix",
                "matrix-latency",
                "difference-by-layer",
                "phases",
                "latency-over-time",
                "latency-distribution",
                "growth",
                "change-1",
                "flames-difference",
                "flames-new-rows-800",
                "flames-old-rows-800",
            ]
        );
        for drawing in &drawings {
            assert!(drawing.svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""), "{}", drawing.name);
            assert!(
                drawing.svg.trim_end().ends_with("</svg>") && !drawing.svg.contains("<script"),
                "{}",
                drawing.name
            );
        }
        let matrix = &drawings[0].svg;
        assert_eq!(
            matrix.matches("<rect").count(),
            1 + 8,
            "a ground and a cell for each of 4 sizes on 2 servers"
        );
        assert!(
            matrix.contains("rows=800")
                && matrix.contains("An arm against itself")
                && matrix.contains("rgb(")
        );
        assert_eq!(all(&Run::new()), []);
    }

    #[test]
    fn two_drawings_of_one_name_are_distinguished() {
        let mut run = super::super::tests::full();
        for stack in &mut run.stacks {
            stack.arm = 9;
        }
        let names: Vec<String> = all(&run).into_iter().map(|drawing| drawing.name).collect();
        let arm = format!("flames-{}", file_name(&run.arms[9].name));
        assert!(names.contains(&arm) && names.contains(&format!("{arm}-2")), "{names:?}");
    }
}
