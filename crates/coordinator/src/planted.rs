//! Bugs planted on purpose, to see the simulation catch them. They exist only with the feature `planted-bugs`, which nothing
//! that is shipped turns on; without it [`is`] is `false` before the program runs.

/// A planted bug.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(dead_code, unreachable_pub, reason = "without the feature only the names are used")]
#[repr(u8)]
pub enum Plant {
    /// Recovery reads the decision and takes its absence for an abort, where it should insert one.
    SelectAbsence = 1,
    /// `XAER_NOTA` after XA COMMIT counts as a commit.
    TrustUnknownBranch,
    /// A decision is deleted before its branches are proven to be committed.
    DeleteEarly,
    /// Any front door deletes the decisions of one that lives.
    DeleteOfOthers,
    /// A fenced front door decides what became of its commit.
    IgnoreFence,
    /// The anchor commits when some branches have prepared.
    DecideEarly,
    /// A lost answer to the anchor's COMMIT counts as an error.
    TakeLostForAbort,
    /// Servers that have lost rows are used.
    TrustOldRows,
    /// Branches that only hold locks end before the commit.
    ReleaseLocksEarly,
    /// The client is answered before the branches have committed.
    AnswerEarly,
}

#[cfg(feature = "planted-bugs")]
mod with_bugs {
    use super::Plant;
    use std::sync::atomic::{AtomicU8, Ordering};

    static PLANTED: AtomicU8 = AtomicU8::new(0);

    /// All bugs there are, with their names.
    pub const ALL: [(&str, Plant); 10] = [
        ("select-absence", Plant::SelectAbsence),
        ("trust-unknown-branch", Plant::TrustUnknownBranch),
        ("delete-early", Plant::DeleteEarly),
        ("delete-of-others", Plant::DeleteOfOthers),
        ("ignore-fence", Plant::IgnoreFence),
        ("decide-early", Plant::DecideEarly),
        ("take-lost-for-abort", Plant::TakeLostForAbort),
        ("trust-old-rows", Plant::TrustOldRows),
        ("release-locks-early", Plant::ReleaseLocksEarly),
        ("answer-early", Plant::AnswerEarly),
    ];

    /// Plants a bug in every machine of this process, in place of the one before.
    pub fn plant(bug: Option<Plant>) {
        PLANTED.store(bug.map_or(0, |bug| bug as u8), Ordering::Relaxed);
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
pub(crate) const fn is(_bug: Plant) -> bool {
    false
}
