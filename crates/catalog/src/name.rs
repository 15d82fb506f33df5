//! Names that ignore case: columns, indexes, constraints.

use std::hash::{BuildHasher, Hash, Hasher};

use hashbrown::HashTable;

/// The form of a name under which names that differ only in case are equal: simple lower case per character.
/// MySQL compares such names under `utf8mb3_general_ci`, which also ignores accents; that part is left out, because
/// a column `e` beside a column `é` is more often wanted than refused.
#[must_use]
pub fn fold_name(name: &str) -> String {
    if name.is_ascii() {
        return name.to_ascii_lowercase();
    }
    name.chars().flat_map(char::to_lowercase).collect()
}

/// Whether two names are the same up to case.
#[must_use]
pub fn names_equal(left: &str, right: &str) -> bool {
    if left.is_ascii() && right.is_ascii() {
        return left.eq_ignore_ascii_case(right);
    }
    left.chars().flat_map(char::to_lowercase).eq(right.chars().flat_map(char::to_lowercase))
}

/// From a name, ignoring case, to its ordinal. A lookup allocates nothing, so that a statement of 400 columns costs
/// 400 hashes.
#[derive(Clone, Debug, Default)]
pub struct NameMap {
    // The name and its ordinal.
    entries: HashTable<(Box<str>, u32)>,
}

impl NameMap {
    /// Builds the map of `names` in order; of equal names the first wins.
    pub fn new<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        let mut map = Self::default();
        for (ordinal, name) in names.enumerate() {
            if map.get(name).is_none() {
                let hash = hash_name(name);
                let ordinal = u32::try_from(ordinal).unwrap_or(u32::MAX);
                map.entries.insert_unique(hash, (name.into(), ordinal), |(other, _)| hash_name(other));
            }
        }
        map
    }

    /// The ordinal of `name`, in any case.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<usize> {
        self.entries
            .find(hash_name(name), |(other, _)| names_equal(other, name))
            .map(|&(_, ordinal)| ordinal as usize)
    }
}

fn hash_name(name: &str) -> u64 {
    let mut hasher = foldhash::fast::FixedState::default().build_hasher();
    if name.is_ascii() {
        let mut buffer = [0_u8; 64]; // A name has at most 64 characters; a longer one matches nothing anyway.
        let bytes = name.as_bytes();
        let length = bytes.len().min(buffer.len());
        buffer[..length].copy_from_slice(&bytes[..length]);
        buffer[..length].make_ascii_lowercase();
        buffer[..length].hash(&mut hasher);
    } else {
        // An ASCII name never equals one whose folded form is not ASCII, except for characters such as the Kelvin
        // sign, which fold to ASCII: hash the folded bytes, as above.
        let folded = fold_name(name);
        let length = folded.len().min(64);
        folded.as_bytes()[..length].hash(&mut hasher);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_found_in_any_case() {
        let map = NameMap::new(["Id", "größe", "ID", "k\u{212A}"].into_iter());
        assert_eq!(map.get("iD"), Some(0));
        assert_eq!(map.get("GRÖSSE"), None);
        assert_eq!(map.get("GRÖßE"), Some(1));
        assert_eq!(map.get("KK"), Some(3));
        assert_eq!(map.get("x"), None);
    }
}
