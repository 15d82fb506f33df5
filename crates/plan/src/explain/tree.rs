//! FORMAT=TREE, and EXPLAIN ANALYZE: a line for each step.

use std::fmt::Write as _;

use super::Actual;
use super::step::{Measure, Step};

/// The steps as lines.
pub(super) fn print(root: &Step) -> String {
    let mut out = String::new();
    put(root, 0, &mut out);
    out
}

fn put(node: &Step, mut depth: usize, out: &mut String) {
    if let Some(heading) = &node.heading {
        line(heading, None, depth, out);
        depth += 1;
    }
    line(&node.operation, node.measure.as_ref(), depth, out);
    node.inputs.iter().for_each(|input| put(input, depth + 1, out));
    node.subqueries.iter().for_each(|subquery| put(subquery, depth, out));
}

fn line(text: &str, measure: Option<&Measure>, depth: usize, out: &mut String) {
    let _ = write!(out, "{:1$}-> {text}", "", 4 * depth);
    if let Some(measure) = measure {
        let _ = write!(out, "  (cost={:.3} rows={:.3})", measure.cost, measure.rows);
        if let Some(actual) = measure.actual {
            counted(actual, out);
        }
    }
    out.push('\n');
}

fn counted(actual: Actual, out: &mut String) {
    if actual.loops == 0 {
        out.push_str(" (never executed)");
        return;
    }
    let _ = write!(
        out,
        " (actual time={:.3}..{:.3} rows={:.2} loops={})",
        actual.each(actual.first_micros) / 1000.0,
        actual.each(actual.micros) / 1000.0,
        actual.each(actual.rows),
        actual.loops
    );
    if actual.spilled {
        out.push_str(" (spilled to disk)");
    }
}
