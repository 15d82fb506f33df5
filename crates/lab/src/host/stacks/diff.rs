//! Two profiles, laid over each other.
//!
//! Samples become nanoseconds of CPU per operation: the share of a stack times the CPU time per operation that was measured
//! without sampling. So twice the samples because of twice the operations is no difference, and a stack that grew is one
//! that costs an operation more. Stacks that are in one profile only are kept.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::folded::Profile;

/// One side of a comparison.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// Its samples.
    pub profile: &'a Profile,
    /// CPU per operation, nanoseconds, measured in a pass without sampling.
    pub cpu_ns_per_operation: f64,
}

impl Side<'_> {
    fn ns_per_sample(&self) -> f64 {
        match self.profile.samples() {
            0 => 0.0,
            samples => self.cpu_ns_per_operation / samples as f64,
        }
    }
}

/// A frame, with what lies below it, on both sides. Nanoseconds per operation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Node {
    /// Of the first side: this frame and all it called.
    pub before_ns: f64,
    /// Of the second side.
    pub after_ns: f64,
    /// What it called, by name.
    pub callees: BTreeMap<String, Node>,
}

impl Node {
    fn add(&mut self, frames: &[String], add: &impl Fn(&mut Node)) {
        add(self);
        if let [first, rest @ ..] = frames {
            self.callees.entry(first.clone()).or_default().add(rest, add);
        }
    }

    /// What the frame costs itself, without what it called: before and after.
    #[must_use]
    pub(crate) fn own_ns(&self) -> (f64, f64) {
        let own =
            |all: f64, of: fn(&Node) -> f64| (all - self.callees.values().map(of).sum::<f64>()).max(0.0);
        (own(self.before_ns, |node| node.before_ns), own(self.after_ns, |node| node.after_ns))
    }

    /// Room the frame needs in a drawing where both sides have theirs: the larger of its own times, and the room of what it
    /// called.
    #[must_use]
    pub(crate) fn room_ns(&self) -> f64 {
        let (before, after) = self.own_ns();
        before.max(after) + self.callees.values().map(Node::room_ns).sum::<f64>()
    }

    /// How many frames lie below, at most.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.callees.values().map(|node| 1 + node.depth()).max().unwrap_or(0)
    }
}

/// One profile as a tree; both sides of each node are the same.
#[must_use]
pub fn tree(side: Side<'_>) -> Node {
    let mut root = Node::default();
    let ns = side.ns_per_sample();
    for (frames, count) in side.profile.iter() {
        root.add(frames, &|node: &mut Node| {
            node.before_ns += count as f64 * ns;
            node.after_ns += count as f64 * ns;
        });
    }
    root
}

/// Two profiles as one tree.
#[must_use]
pub fn difference(before: Side<'_>, after: Side<'_>) -> Node {
    let mut root = Node::default();
    let ns = before.ns_per_sample();
    for (frames, count) in before.profile.iter() {
        root.add(frames, &|node: &mut Node| node.before_ns += count as f64 * ns);
    }
    let ns = after.ns_per_sample();
    for (frames, count) in after.profile.iter() {
        root.add(frames, &|node: &mut Node| node.after_ns += count as f64 * ns);
    }
    root
}

/// A function on both sides. Nanoseconds per operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FunctionDifference {
    /// Its name.
    pub name: String,
    /// Itself, before.
    pub own_before_ns: f64,
    /// Itself, after.
    pub own_after_ns: f64,
    /// With all it called, before.
    pub all_before_ns: f64,
    /// With all it called, after.
    pub all_after_ns: f64,
    /// The growth of `all` as a share of the growth of the whole; 0 if the whole did not change.
    pub share_of_change: f64,
}

/// Functions by how much they grew with all they called, the largest change first. Wherever they were called from: two
/// versions seldom call the same thing on the same way.
#[must_use]
pub fn functions(before: Side<'_>, after: Side<'_>) -> Vec<FunctionDifference> {
    let (old, new) = (before.profile.by_function(), after.profile.by_function());
    let (old_ns, new_ns) = (before.ns_per_sample(), after.ns_per_sample());
    let whole = after.cpu_ns_per_operation - before.cpu_ns_per_operation;
    let mut names: Vec<&str> = old.keys().chain(new.keys()).copied().collect();
    names.sort_unstable();
    names.dedup();
    let mut functions: Vec<FunctionDifference> = names
        .into_iter()
        .map(|name| {
            let (own_old, all_old) = old.get(name).copied().unwrap_or_default();
            let (own_new, all_new) = new.get(name).copied().unwrap_or_default();
            let (all_before_ns, all_after_ns) = (all_old as f64 * old_ns, all_new as f64 * new_ns);
            FunctionDifference {
                name: name.to_owned(),
                own_before_ns: own_old as f64 * old_ns,
                own_after_ns: own_new as f64 * new_ns,
                all_before_ns,
                all_after_ns,
                share_of_change: if whole == 0.0 { 0.0 } else { (all_after_ns - all_before_ns) / whole },
            }
        })
        .collect();
    let change = |one: &FunctionDifference| (one.all_after_ns - one.all_before_ns).abs();
    functions.sort_by(|a, b| change(b).total_cmp(&change(a)).then_with(|| a.name.cmp(&b.name)));
    functions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_per_operation_and_keep_what_vanished() {
        let old = Profile::parse("main;run;copy 30\nmain;run;gone 10\nmain 10\n").unwrap();
        let new = Profile::parse("main;run;copy 60\nmain;new 30\nmain 10\n").unwrap();
        // 50 samples are 50 ns, 100 samples are 200 ns.
        let before = Side { profile: &old, cpu_ns_per_operation: 50.0 };
        let after = Side { profile: &new, cpu_ns_per_operation: 200.0 };
        let root = difference(before, after);
        assert_eq!((root.before_ns, root.after_ns), (50.0, 200.0));
        let main = &root.callees["main"];
        assert_eq!(main.own_ns(), (10.0, 20.0));
        let run = &main.callees["run"];
        assert_eq!((run.callees["gone"].before_ns, run.callees["gone"].after_ns), (10.0, 0.0));
        assert_eq!((main.callees["new"].before_ns, main.callees["new"].after_ns), (0.0, 60.0));
        assert_eq!(run.room_ns(), 130.0, "copy needs 120, gone 10");
        assert_eq!(root.depth(), 3);

        let functions = functions(before, after);
        assert_eq!((functions[0].name.as_str(), functions[0].share_of_change), ("main", 1.0));
        assert_eq!((functions[1].name.as_str(), functions[1].share_of_change), ("copy", 0.6));
        assert_eq!(functions.last().unwrap().name, "gone");
    }

    #[test]
    fn an_empty_side_is_no_division_by_zero() {
        let (nothing, some) = (Profile::default(), Profile::parse("a 1\n").unwrap());
        let side = |profile| Side { profile, cpu_ns_per_operation: 10.0 };
        let root = difference(side(&nothing), side(&some));
        assert_eq!((root.before_ns, root.after_ns), (0.0, 10.0));
    }
}
