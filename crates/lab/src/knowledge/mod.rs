//! Known causes of slowness, as data: one TOML file each in `lab/kb/`, compiled in.
//!
//! An entry says which versions it concerns, what its evidence looks like, what looks alike and how to distinguish it, what
//! to change and what that must bring back. It carries an example: evidence as a run gives it. [`test`] holds every entry
//! to its example: its own signature must match, and no other's may.
//!
//! Invariants:
//! 1. An entry matches only on at least two independent kinds of evidence ([`entry::Kind`]); a version alone is none.
//! 2. One piece of evidence that was measured and does not fit refuses the entry, unless the entry calls it optional.
//! 3. What was not measured neither helps nor refuses.
//!
//! Read next: [`entry`] (the form of a file), [`signature`] (how it is held against a run).

pub mod entry;
pub mod signature;

use std::fmt::Write as _;

use crate::evidence::{LayerOutcome, Run};
use crate::format;
use entry::Entry;
use signature::{Match, Pair, hold};

/// The shipped entries by the name of their file.
const FILES: &[(&str, &str)] = &[
    ("mysql-bug-73056", include_str!("../../../../lab/kb/mysql-bug-73056.toml")),
    ("many-small-costs", include_str!("../../../../lab/kb/many-small-costs.toml")),
    ("mysql-bug-115555", include_str!("../../../../lab/kb/mysql-bug-115555.toml")),
    ("orm-wide-select", include_str!("../../../../lab/kb/orm-wide-select.toml")),
    ("mysql-bug-88422", include_str!("../../../../lab/kb/mysql-bug-88422.toml")),
    ("wide-select-name-resolution", include_str!("../../../../lab/kb/wide-select-name-resolution.toml")),
];

/// All entries, in the order of the list.
///
/// # Errors
/// The file, line and key of the first entry that is no entry, and what was expected.
pub fn entries() -> Result<Vec<Entry>, String> {
    FILES.iter().map(|(name, text)| parse(name, text)).collect()
}

/// Reads one entry; `name` is the file's, without `.toml`, and must be the entry's id.
///
/// # Errors
/// What is wrong and where.
pub fn parse(name: &str, text: &str) -> Result<Entry, String> {
    let entry: Entry = toml::from_str(text).map_err(|error| format!("lab/kb/{name}.toml: {error}"))?;
    if entry.id != name {
        return Err(format!("lab/kb/{name}.toml: id is '{}', expected the name of the file", entry.id));
    }
    entry.check().map_err(|why| format!("lab/kb/{name}.toml: {why}"))?;
    Ok(entry)
}

/// An entry that fits a pair of arms.
#[derive(Clone, Debug)]
pub struct Fit<'a> {
    /// The entry.
    pub entry: &'a Entry,
    /// What held, what did not, what was not measured.
    pub matched: Match,
}

/// The entries that match, best first: more kinds of evidence, then more pieces. A cause in a layer that the run's
/// layer attribution excludes is none of them.
#[must_use]
pub(crate) fn matching<'a>(entries: &'a [Entry], run: &Run, pair: Pair) -> Vec<Fit<'a>> {
    let is_excluded = |entry: &Entry| {
        std::iter::once(&entry.layer).chain(&entry.other_layers).all(|layer| {
            let layer = layer.split(':').next();
            run.layers.iter().any(|finding| {
                finding.outcome == LayerOutcome::Excluded && Some(finding.layer.as_str()) == layer
            })
        })
    };
    let mut fits: Vec<Fit<'a>> = entries
        .iter()
        .filter(|entry| !is_excluded(entry))
        .map(|entry| Fit { entry, matched: hold(entry, run, pair) })
        .filter(|fit| fit.matched.is_match())
        .collect();
    fits.sort_by_key(|fit| std::cmp::Reverse((fit.matched.kinds().len(), fit.matched.held.len())));
    fits
}

/// Lines that a terminal does not break.
fn put(out: &mut String, first: &str, indent: usize, text: &str) {
    out.push_str(&format::wrap(first, indent, text, format::COLUMNS));
    out.push('\n');
}

/// What `invar lab kb list` prints.
#[must_use]
pub fn list(entries: &[Entry]) -> String {
    let widest = entries.iter().map(|entry| entry.id.len()).max().unwrap_or(0);
    let mut out = String::new();
    for entry in entries {
        put(&mut out, &format!("{:widest$}  ", entry.id), 4, &format!("{}: {}", entry.layer, entry.title));
    }
    out
}

/// What `invar lab kb show ID` prints.
#[must_use]
pub fn show(entry: &Entry) -> String {
    let mut out = String::new();
    put(&mut out, "", 0, &entry.id);
    put(&mut out, "", 0, &entry.title);
    out.push('\n');
    put(&mut out, "layer    ", 9, &entry.layer);
    if let Some(scenario) = &entry.scenario {
        let command =
            format!("invar lab run {scenario} --server old=URL --server new=URL --schema invar_lab");
        put(&mut out, "replay   ", 9, &command);
    }
    out.push('\n');
    put(&mut out, "", 0, &entry.story.split_whitespace().collect::<Vec<_>>().join(" "));
    let mut list = |title: &str, lines: Vec<String>| {
        let _ = writeln!(out, "\n{title}");
        for line in lines {
            put(&mut out, "  ", 4, &line);
        }
    };
    list("Versions", entry.versions.iter().map(entry::Versions::in_words).collect());
    let signature =
        |evidence: &entry::Evidence| format!("{}: {}", evidence.kind().name(), evidence.in_words());
    let title = format!("Signature (at least {} independent kinds)", entry.kinds_least);
    list(&title, entry.evidence.iter().map(signature).collect());
    let alike = entry.look_alikes.iter().map(|alike| format!("{}: {}", alike.what, alike.told_apart_by));
    list("Looks alike", alike.collect());
    list("What to do", entry.interventions.iter().map(entry::Fix::in_words).collect());
    let verified: Vec<&str> = entry.verification.split_whitespace().collect();
    list("Verified when", vec![verified.join(" ")]);
    list("References", entry.references.clone());
    out
}

/// Holds every entry against every example. What it prints, and whether all is well.
#[must_use]
pub fn test(entries: &[Entry]) -> (String, bool) {
    let mut out = String::new();
    let mut is_well = true;
    for example in entries {
        let run = &example.example.run;
        let pair = example.example.pair();
        for entry in entries {
            let matched = hold(entry, run, pair);
            if (entry.id == example.id) == matched.is_match() {
                continue;
            }
            is_well = false;
            let _ = if entry.id == example.id {
                writeln!(out, "{}: does not match its own example\n{}", entry.id, matched.in_words())
            } else {
                writeln!(out, "{}: matches the example of {}\n{}", entry.id, example.id, matched.in_words())
            };
        }
        let own = hold(example, run, pair);
        let kinds: Vec<&str> = own.kinds().into_iter().map(entry::Kind::name).collect();
        let _ = writeln!(out, "{}: {} ({})", example.id, own.held.len(), kinds.join(", "));
    }
    let examples = entries.len();
    let _ = writeln!(
        out,
        "{examples} entries, each against {examples} examples: {}",
        if is_well { "every signature matches its own and no other" } else { "NOT as it should be" }
    );
    (out, is_well)
}

/// `invar lab kb list`, `show ID`, `test`: what it prints, and whether all is well.
///
/// # Errors
/// Bad use in words, or an entry that is none.
pub fn command(words: &[&str]) -> Result<(String, bool), String> {
    let entries = entries()?;
    match words {
        [] | ["list"] => Ok((list(&entries), true)),
        ["test"] => Ok(test(&entries)),
        ["show", id] => {
            let entry = entries.iter().find(|entry| entry.id == *id);
            let known = || entries.iter().map(|entry| entry.id.as_str()).collect::<Vec<_>>().join(", ");
            let entry = entry.ok_or_else(|| format!("no entry '{id}'; known are {}", known()))?;
            Ok((show(entry), true))
        }
        _ => Err("expected invar lab kb list, invar lab kb show ID or invar lab kb test".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::LayerFinding;

    #[test]
    fn every_file_of_the_folder_is_shipped_and_reads() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab/kb");
        let mut names: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .filter_map(|file| file.unwrap().file_name().to_str()?.strip_suffix(".toml").map(str::to_owned))
            .collect();
        names.sort();
        let mut shipped: Vec<String> = entries().unwrap().into_iter().map(|entry| entry.id).collect();
        shipped.sort();
        assert_eq!(names, shipped);
    }

    #[test]
    fn every_signature_matches_its_own_example_and_no_other() {
        let (said, is_well) = test(&entries().unwrap());
        assert!(is_well, "{said}");
    }

    #[test]
    fn the_scenario_that_replays_an_entry_is_shipped() {
        for entry in entries().unwrap() {
            let Some(scenario) = entry.scenario else { continue };
            let file = format!("../../lab/scenarios/{scenario}.toml");
            let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
            assert!(file.exists(), "{}: no scenario {scenario}", entry.id);
        }
    }

    #[test]
    fn an_entry_without_its_measurements_does_not_match() {
        for entry in entries().unwrap() {
            let mut run = entry.example.run.clone();
            run.stacks.clear();
            run.counts.clear();
            run.growth.clear();
            run.phases.clear();
            let matched = hold(&entry, &run, entry.example.pair());
            assert!(!matched.is_match(), "{}: one kind is not enough: {}", entry.id, matched.in_words());
        }
    }

    #[test]
    fn one_dear_function_is_not_many_small_costs() {
        let entries = entries().unwrap();
        let entry = entries.iter().find(|entry| entry.id == "many-small-costs").unwrap();
        let pair = entry.example.pair();
        assert!(hold(entry, &entry.example.run, pair).is_match());
        let mut one_dear = entry.example.run.clone();
        let slow = &mut one_dear.stacks[pair.slow];
        let before: u64 = slow.folded.iter().map(|(_, count)| count).sum();
        slow.folded.push(("mysqld;dear".to_owned(), before / 2));
        slow.cpu_ns_per_op = slow.cpu_ns_per_op.map(|ns| ns * 1.5);
        let matched = hold(entry, &one_dear, pair);
        assert!(matched.refused.iter().any(|why| why.contains("by one function, dear")), "{matched:?}");
        let mut both_affected = entry.example.run.clone();
        both_affected.servers[0].version = "8.0.30".to_owned();
        assert!(!hold(entry, &both_affected, pair).is_match(), "what both have explains no difference");
    }

    #[test]
    fn a_cause_in_an_excluded_layer_is_none() {
        let entries = entries().unwrap();
        for entry in &entries {
            let mut run = entry.example.run.clone();
            let layers = std::iter::once(&entry.layer).chain(&entry.other_layers);
            let layers: Vec<&str> = layers.map(|layer| layer.split(':').next().unwrap()).collect();
            let fits = |run: &Run| {
                matching(&entries, run, entry.example.pair()).iter().any(|fit| fit.entry.id == entry.id)
            };
            assert!(fits(&run), "{}", entry.id);
            for (index, layer) in layers.iter().enumerate() {
                assert!(fits(&run), "{}: one of its layers is left", entry.id);
                run.layers.push(LayerFinding {
                    layer: (*layer).to_owned(),
                    outcome: LayerOutcome::Excluded,
                    evidence: String::new(),
                    ..LayerFinding::default()
                });
                assert_eq!(fits(&run), index + 1 < layers.len(), "{}", entry.id);
            }
        }
    }

    #[test]
    fn a_wrong_file_says_where_and_what() {
        let wrong = parse("x", "id = \"x\"\ntitle = 7\n").unwrap_err();
        assert!(
            wrong.contains("lab/kb/x.toml") && wrong.contains("line 2") && wrong.contains("string"),
            "{wrong}"
        );
        let unknown = parse("x", "id = \"x\"\nstori = \"\"\n").unwrap_err();
        assert!(unknown.contains("stori"), "{unknown}");
    }

    #[test]
    fn list_and_show_name_what_a_reader_looks_for() {
        let entries = entries().unwrap();
        let listed = list(&entries);
        assert!(listed.lines().all(|line| line.chars().count() <= format::COLUMNS), "{listed}");
        assert_eq!(listed.lines().filter(|line| !line.starts_with(' ')).count(), entries.len());
        assert!(command(&["show", "none"]).unwrap_err().contains("mysql-bug-88422"));
        assert!(command(&["test"]).unwrap().1 && command(&["sho"]).is_err());
        let (shown, _) = command(&["show", "mysql-bug-73056"]).unwrap();
        assert!(shown.lines().all(|line| line.chars().count() <= format::COLUMNS), "{shown}");
        for part in ["mysql-bug-73056", "Versions", "Looks alike", "What to do", "Verified when", "http"] {
            assert!(shown.contains(part), "{part} in\n{shown}");
        }
    }
}
