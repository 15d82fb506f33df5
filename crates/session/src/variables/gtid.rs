//! Sets of global transaction identifiers: what `gtid_purged` is given when a dump is loaded.
//!
//! This server writes no binary log and so makes no such identifiers; it keeps those that dumps bring along, as MySQL does,
//! so that the same dump is not taken in twice unnoticed.
//!
//! ```text
//! set:   uuid[:tag]:interval[:interval ...][, ...]      interval: n | n-m, both above 0
//! ```

use std::collections::BTreeMap;
use std::fmt;

/// The text is no set of identifiers. Client sees 1231.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct MalformedGtidSet;

/// The longest tag, in characters.
const TAG_CHARS_MAX: usize = 32;

/// A set of identifiers: by source and tag, disjoint intervals in order that do not touch.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct GtidSet {
    sources: BTreeMap<(String, String), Vec<(u64, u64)>>,
}

impl GtidSet {
    /// Reads a set; case, spaces and line breaks between its parts do not matter.
    ///
    /// # Errors
    /// The text is none.
    pub fn parse(text: &str) -> Result<Self, MalformedGtidSet> {
        let mut set = Self::default();
        for source in text.split(',').map(str::trim).filter(|source| !source.is_empty()) {
            let mut parts = source.split(':').map(str::trim);
            let uuid = parts.next().ok_or(MalformedGtidSet)?.to_ascii_lowercase();
            if !is_uuid(&uuid) {
                return Err(MalformedGtidSet);
            }
            let (mut tag, mut found) = (String::new(), false);
            for part in parts {
                if part.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') {
                    if part.len() > TAG_CHARS_MAX
                        || !part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
                    {
                        return Err(MalformedGtidSet);
                    }
                    tag = part.to_ascii_lowercase();
                    continue;
                }
                let (first, last) = part.split_once('-').unwrap_or((part, part));
                let number = |text: &str| text.trim().parse::<u64>().map_err(|_| MalformedGtidSet);
                let (first, last) = (number(first)?, number(last)?);
                if first == 0 || last >= i64::MAX as u64 {
                    return Err(MalformedGtidSet);
                }
                found = true;
                if first <= last {
                    set.sources.entry((uuid.clone(), tag.clone())).or_default().push((first, last));
                }
            }
            if !found {
                return Err(MalformedGtidSet);
            }
        }
        set.sources.values_mut().for_each(merge);
        Ok(set)
    }

    /// Everything that is in either.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let mut all = self.clone();
        for (source, intervals) in &other.sources {
            let kept = all.sources.entry(source.clone()).or_default();
            kept.extend(intervals);
            merge(kept);
        }
        all
    }

    /// Whether something is in both.
    #[must_use]
    pub fn intersects(&self, other: &Self) -> bool {
        self.sources.iter().any(|(source, intervals)| {
            other.sources.get(source).is_some_and(|others| {
                intervals.iter().any(|one| others.iter().any(|two| one.0 <= two.1 && two.0 <= one.1))
            })
        })
    }

    /// Whether all of `other` is in this set.
    #[must_use]
    pub fn contains(&self, other: &Self) -> bool {
        self.union(other) == *self
    }

    /// Whether nothing is in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Sorts intervals and joins those that overlap or touch.
fn merge(intervals: &mut Vec<(u64, u64)>) {
    intervals.sort_unstable();
    let mut merged: Vec<(u64, u64)> = Vec::with_capacity(intervals.len());
    for &(first, last) in intervals.iter() {
        match merged.last_mut() {
            Some(before) if first <= before.1 + 1 => before.1 = before.1.max(last),
            _ => merged.push((first, last)),
        }
    }
    *intervals = merged;
}

/// As MySQL shows it: a line for each source.
impl fmt::Display for GtidSet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut before: Option<&str> = None;
        for ((uuid, tag), intervals) in &self.sources {
            if before != Some(uuid) {
                let comma = if before.is_some() { ",\n" } else { "" };
                write!(formatter, "{comma}{uuid}")?;
            }
            before = Some(uuid);
            if !tag.is_empty() {
                write!(formatter, ":{tag}")?;
            }
            for (first, last) in intervals {
                if first == last {
                    write!(formatter, ":{first}")?;
                } else {
                    write!(formatter, ":{first}-{last}")?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "f73e60c5-e553-11f1-8ff9-02fc00000001";
    const TWO: &str = "0a3e60c5-e553-11f1-8ff9-02fc00000002";

    #[test]
    fn sets_are_read_joined_and_shown() {
        let set = GtidSet::parse(&format!("{}:5-7:1-3:4 ,\n {TWO}:9:Tag:1-2", ONE.to_uppercase())).unwrap();
        assert_eq!(set.to_string(), format!("{TWO}:9:tag:1-2,\n{ONE}:1-7"));
        let more = GtidSet::parse(&format!("{ONE}:9")).unwrap();
        assert!(!set.intersects(&more) && !set.contains(&more));
        let all = set.union(&more);
        assert_eq!(all.to_string(), format!("{TWO}:9:tag:1-2,\n{ONE}:1-7:9"));
        assert!(all.contains(&set) && all.intersects(&more));
        assert!(GtidSet::parse("").unwrap().is_empty());
    }

    #[test]
    fn what_is_no_set_is_refused() {
        let texts =
            ["x", ONE, "f73e60c5:1", &format!("{ONE}:0"), &format!("{ONE}:1-x"), &format!("{ONE}:tag")];
        for text in texts {
            assert_eq!(GtidSet::parse(text), Err(MalformedGtidSet), "{text}");
        }
    }
}
