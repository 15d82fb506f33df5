//! What is wrong with a scenario file, and where.

use std::fmt;
use std::ops::Range;

/// A scenario that cannot be run.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ScenarioError {
    /// Line of the file, from 1.
    pub line: usize,
    /// Key with the section it stands in, such as `load.rate`; empty if it is no line with a key.
    pub key: String,
    /// What was found and what was expected.
    pub message: String,
}

impl ScenarioError {
    /// An error at a place of `text`.
    pub(crate) fn at(text: &str, span: Range<usize>, message: impl Into<String>) -> ScenarioError {
        let start = span.start.min(text.len());
        let before = text.get(..start).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let line_text = text[line_start..].lines().next().unwrap_or_default();
        let own = key_of(line_text).unwrap_or_default();
        let section = text[..line_start]
            .lines()
            .rev()
            .find_map(section_of)
            .filter(|_| !own.is_empty() && section_of(line_text).is_none());
        let key = match section {
            Some(section) => format!("{section}.{own}"),
            None => own,
        };
        ScenarioError { line, key, message: message.into() }
    }

    /// An error of the TOML reader.
    pub(crate) fn of_toml(text: &str, error: &toml::de::Error) -> ScenarioError {
        let message = error.message().replace('\n', ", ");
        let span = error.span().unwrap_or_default();
        if let Some(key) = key_after("unknown field `", &message) {
            return ScenarioError::of_unknown_key(text, span, &key, message);
        }
        match key_after("missing field `", &message) {
            Some(key) => ScenarioError::of_missing_key(text, span, &key),
            None => ScenarioError::at(text, span, message),
        }
    }

    /// A key that is not there: what is named is it, and not the first one of the section that lacks it.
    fn of_missing_key(text: &str, span: Range<usize>, key: &str) -> ScenarioError {
        const SECTIONS: [&str; 3] = ["op", "load", "table"];
        let mut error = ScenarioError::at(text, span.clone(), String::new());
        let before = text.get(..span.start).unwrap_or_default();
        let line_start = before.rfind('\n').map_or(0, |end| end + 1);
        let header =
            section_of(text.get(line_start..).unwrap_or_default().lines().next().unwrap_or_default());
        // Of the whole file, whose span begins at its first key, or of a section.
        let is_of_file = before.lines().all(|line| line.trim().is_empty() || line.trim().starts_with('#'));
        let section = match header {
            Some(header) if !is_of_file || !SECTIONS.contains(&key) => Some(header),
            _ if is_of_file => None,
            _ => before.lines().rev().find_map(section_of),
        };
        error.key = section.map_or(key.to_owned(), |section| format!("{section}.{key}"));
        error.message = match SECTIONS.contains(&key) && is_of_file {
            true => format!("missing: the file needs a section [{key}]"),
            false => "missing".to_owned(),
        };
        error
    }

    /// A key that no scenario has. The reader's span may be that of the whole section: the error is where the key stands.
    fn of_unknown_key(text: &str, span: Range<usize>, key: &str, message: String) -> ScenarioError {
        let places: Vec<usize> = places_of_key(text, key).collect();
        let at = places.iter().copied().find(|at| *at >= span.start).or_else(|| places.first().copied());
        let at = at.unwrap_or(span.start);
        let mut error = ScenarioError::at(text, at..at, message);
        // Of several keys on one line it is this one.
        let before = text.get(..at).unwrap_or_default();
        let line_start = before.rfind('\n').map_or(0, |end| end + 1);
        let header = section_of(text[line_start..].lines().next().unwrap_or_default());
        let section = before[..line_start].lines().rev().find_map(section_of);
        error.key = match (header, section) {
            (Some(header), _) => header,
            (None, Some(section)) => format!("{section}.{key}"),
            (None, None) => key.to_owned(),
        };
        let known = expected_keys(&error.message);
        if let Some(meant) = nearest(key, known.iter().map(String::as_str)) {
            error.message += &format!("; did you mean `{meant}`?");
        }
        error
    }
}

/// The key of a message of the reader that begins so.
fn key_after(start: &str, message: &str) -> Option<String> {
    Some(message.strip_prefix(start)?.split('`').next()?.to_owned())
}

/// What the reader's message says it would take instead.
fn expected_keys(message: &str) -> Vec<String> {
    let Some((_, expected)) = message.split_once("expected ") else { return Vec::new() };
    expected.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Where a key stands in front of `=` or in the name of a section.
fn places_of_key<'a>(text: &'a str, key: &'a str) -> impl Iterator<Item = usize> + 'a {
    let is_inside = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    text.match_indices(key).map(|(at, _)| at).filter(move |&at| {
        let (before, after) = (&text[..at], &text[at + key.len()..]);
        let is_whole = !before.ends_with(is_inside) && !after.starts_with(is_inside);
        let line_start = before.rfind('\n').map_or(0, |end| end + 1);
        let is_comment = before[line_start..].contains('#');
        let after = after.trim_start_matches(['"', ' ', '\t']);
        let is_section = before[line_start..].trim_start().starts_with('[') && after.starts_with(['.', ']']);
        is_whole && !is_comment && (after.starts_with('=') || is_section)
    })
}

/// The known name that a misspelt one most likely means: within two letters, or two in five where it is long.
#[must_use]
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let most = (name.chars().count() * 2 / 5).max(2);
    let close = known.map(|other| (letters_apart(name, other), other)).filter(|(apart, _)| *apart <= most);
    let part_of = |other: &str| !other.contains(name);
    close.min_by_key(|(apart, other)| (*apart, part_of(other))).map(|(_, other)| other)
}

/// How many letters have to be put in, taken out or changed to make one word of the other.
fn letters_apart(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (line, letter) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = line + 1;
        for (at, known) in other.iter().enumerate() {
            let above = row[at + 1];
            row[at + 1] = (diagonal + usize::from(letter != *known)).min(above + 1).min(row[at] + 1);
            diagonal = above;
        }
    }
    row[other.len()]
}

/// The key of `key = value`, or the section a header names.
fn key_of(line: &str) -> Option<String> {
    if let Some(section) = section_of(line) {
        return Some(section);
    }
    let (key, _) = line.split_once('=')?;
    let key = key.trim().trim_start_matches('{').trim();
    let is_key =
        !key.is_empty() && key.chars().all(|char| char.is_ascii_alphanumeric() || "._-\"".contains(char));
    is_key.then(|| key.to_owned())
}

fn section_of(line: &str) -> Option<String> {
    let line = line.trim();
    let inner = line.strip_prefix('[')?;
    let name = inner.trim_start_matches('[').split(']').next()?.trim();
    let is_name =
        !name.is_empty() && name.chars().all(|char| char.is_ascii_alphanumeric() || "._-".contains(char));
    is_name.then(|| name.to_owned())
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}", self.line)?;
        if !self.key.is_empty() {
            write!(f, ", key {}", self.key)?;
        }
        write!(f, ": {}", self.message)
    }
}

impl std::error::Error for ScenarioError {}
