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
        ScenarioError::at(text, error.span().unwrap_or_default(), message)
    }
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
