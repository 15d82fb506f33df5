//! Bugs planted on purpose, to see random statements without another server find them. They exist only with the feature `planted-bugs`,
//! which nothing that is shipped turns on; without it [`is`] is `false` before the program runs.
//!
//! Each is of a kind that a server once had. They lie in `types`, `plan` and `exec`, all behind [`is`].

/// A planted bug.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(dead_code, reason = "without the feature only the names are used")]
#[repr(u8)]
pub enum Plant {
    /// A hash join of a signed with an unsigned integer compares their bits.
    SignedKey = 1,
    /// A hash join of YEAR or BIT with a signed integer does.
    YearKey,
    /// A lookup by a unique index with an IN list looks for the first of the list alone.
    FirstOfList,
    /// IS NULL on a column that is NOT NULL looks for the key of its smallest value.
    NullIsSmallest,
    /// What a subquery computes from outer columns alone is no condition of the join that it becomes.
    OuterItem,
    /// NOT IN becomes an anti join although there may be NULLs.
    NullNotIn,
    /// A time as text with a fraction is read as a date and has no time.
    TimeFraction,
    /// JSON numbers of different types are treated as different.
    JsonNumberType,
    /// Texts that are padded with spaces are compared as if they were not.
    NoPadding,
    /// WITH ROLLUP leaves a level out.
    RollupLevel,
    /// DISTINCT below an ORDER BY is left out.
    SortedDistinct,
    /// An outer join with further conditions loses the rows without a partner.
    OuterRow,
    /// A hash join knows texts by their bytes, whatever the collation.
    HashBytes,
    /// A join that meets the rows of one side in several batches forgets which rows had a match.
    ForgetPartner,
    /// DISTINCT forgets what it has seen when a batch ends.
    ForgetSeen,
}

#[cfg(feature = "planted-bugs")]
mod with_bugs {
    use super::Plant;
    use std::sync::atomic::{AtomicU8, Ordering};

    static PLANTED: AtomicU8 = AtomicU8::new(0);

    /// All bugs there are, with their names.
    pub const ALL: [(&str, Plant); 15] = [
        ("signed-key", Plant::SignedKey),
        ("year-key", Plant::YearKey),
        ("first-of-list", Plant::FirstOfList),
        ("null-is-smallest", Plant::NullIsSmallest),
        ("outer-item", Plant::OuterItem),
        ("null-not-in", Plant::NullNotIn),
        ("time-fraction", Plant::TimeFraction),
        ("json-number-type", Plant::JsonNumberType),
        ("no-padding", Plant::NoPadding),
        ("rollup-level", Plant::RollupLevel),
        ("sorted-distinct", Plant::SortedDistinct),
        ("outer-row", Plant::OuterRow),
        ("hash-bytes", Plant::HashBytes),
        ("forget-partner", Plant::ForgetPartner),
        ("forget-seen", Plant::ForgetSeen),
    ];

    /// Plants a bug in this process, in place of the one before. False: there is none of this name.
    pub fn plant(name: &str) -> bool {
        let found = ALL.iter().find(|(known, _)| *known == name);
        if let Some((_, bug)) = found {
            PLANTED.store(*bug as u8, Ordering::Relaxed);
        }
        found.is_some()
    }

    /// Whether this bug is planted.
    #[must_use]
    pub fn is(bug: Plant) -> bool {
        PLANTED.load(Ordering::Relaxed) == bug as u8
    }
}
#[cfg(feature = "planted-bugs")]
pub use with_bugs::{ALL, is, plant};

/// There are none.
#[cfg(not(feature = "planted-bugs"))]
#[inline(always)]
#[must_use]
pub const fn is(_bug: Plant) -> bool {
    false
}
