//! Flame graphs of a run: the slow arm's, and what it adds to the fast one.

use super::html::Figure;
use crate::evidence::{Run, StackProfile};
use crate::host::stacks::diff::{Side, difference, tree};
use crate::host::stacks::flame::{Unit, difference_graph, flame_graph};
use crate::host::stacks::folded::{Profile, STATEMENT_ANCHORS};

/// Stacks with a smaller share of both sides are left out of a picture: they would be too small to see.
const SHARE_DRAWN: f64 = 0.0005;

/// A profile as it was kept, each stack from the frame every statement goes through.
fn profile(kept: &StackProfile) -> Profile {
    let mut profile = Profile::default();
    for (stack, count) in &kept.folded {
        if *count as f64 >= SHARE_DRAWN * kept.samples as f64 {
            profile.add(stack.split(';').map(str::to_owned).collect(), *count);
        }
    }
    profile.anchored(STATEMENT_ANCHORS)
}

/// Pictures of what a run sampled; none if it sampled nothing.
#[must_use]
pub fn figures(run: &Run) -> Vec<Figure> {
    let cost = |kept: &StackProfile| kept.cpu_ns_per_op.unwrap_or(kept.samples as f64);
    let unit = |kept: &StackProfile| {
        if kept.cpu_ns_per_op.is_some() { Unit::NanosecondsPerOperation } else { Unit::Samples }
    };
    let name = |kept: &StackProfile| run.arms.get(kept.arm).map_or("?", |arm| arm.name.as_str());
    let mut figures = Vec::new();
    if let [fast, slow, ..] = run.stacks.as_slice() {
        let (before, after) = (profile(fast), profile(slow));
        let side = |profile, kept| Side { profile, cpu_ns_per_operation: cost(kept) };
        let root = difference(side(&before, fast), side(&after, slow));
        let title = format!("What {} costs more than {}", name(slow), name(fast));
        let svg = difference_graph(&title, name(fast), name(slow), &root, unit(slow));
        figures.push(Figure { name: "difference".to_owned(), title, svg });
    }
    for kept in run.stacks.iter().rev() {
        let title = format!("Where {} spends the server's CPU", name(kept));
        let profile = profile(kept);
        let root = tree(Side { profile: &profile, cpu_ns_per_operation: cost(kept) });
        figures.push(Figure {
            name: name(kept).to_owned(),
            svg: flame_graph(&title, &root, unit(kept)),
            title,
        });
    }
    figures
}
