//! Differences that are known, true and permanent: `explained.txt`.
//!
//! An entry is a line `kind: words` below lines `# reason`. It explains a difference of that kind whose script, answers
//! and SQL hold all words, which are separated by ` && `. Of descriptions of columns each column needs an entry.

use crate::compare::Difference;

/// One entry.
#[derive(Clone, Debug)]
pub struct Explanation {
    kind: String,
    words: Vec<String>,
    /// Why the servers differ.
    pub reason: String,
}

/// The entries of the file beside this crate.
///
/// # Panics
/// If an entry has no reason.
#[must_use]
pub fn entries() -> Vec<Explanation> {
    let mut reason = String::new();
    let mut found = Vec::new();
    for line in include_str!("../explained.txt").lines() {
        if let Some(text) = line.strip_prefix('#') {
            reason.push_str(text.trim());
            reason.push(' ');
        } else if line.trim().is_empty() {
            reason.clear();
        } else if let Some((kind, words)) = line.split_once(": ") {
            assert!(!reason.is_empty(), "explained.txt: `{line}` has no reason");
            let words = words.split(" && ").map(str::to_owned).collect();
            found.push(Explanation { kind: kind.to_owned(), words, reason: reason.clone() });
        }
    }
    found
}

/// The entry that explains a difference of this statement.
#[must_use]
pub fn explanation<'a>(
    entries: &'a [Explanation],
    sql: &str,
    difference: &Difference,
) -> Option<&'a Explanation> {
    let kind = format!("{:?}", difference.kind);
    let entry_of = |text: &str| {
        entries.iter().find(|entry| {
            entry.kind == kind && entry.words.iter().all(|word| sql.contains(word) || text.contains(word))
        })
    };
    if difference.unlike.is_empty() {
        return entry_of(&difference.text);
    }
    // Of descriptions of columns each must be explained by itself: two lines.
    let lines: Vec<&str> = difference.text.lines().collect();
    let mut found = None;
    for column in lines.chunks(2) {
        found = Some(entry_of(&column.join("\n"))?);
    }
    found
}
