//! Bugs planted on purpose, to see the simulation catch them. They exist only with the feature `planted-bugs`, which nothing
//! that is shipped turns on; without it [`is`] is `false` before the program runs.

/// A planted bug.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(dead_code, unreachable_pub, reason = "without the feature only the names are used")]
#[repr(u8)]
pub enum Plant {
    /// A checkpoint does not sync its pages before it writes the superblock.
    SkipSync = 1,
    /// A snapshot sees a commit that came shortly after it.
    SeeTooMany,
    /// A snapshot does not see the newest commit before it.
    SeeTooFew,
    /// A rollback leaves out some changes.
    ForgetUndo,
    /// Recovery leaves out some changes of a transaction that ran at the checkpoint.
    ForgetRunning,
    /// A write in a full leaf does not look whether the row is locked.
    ForgetLock,
    /// Some changes are not in the commit's log record.
    LoseChange,
    /// A checkpoint gives out blocks again that the one before still needs.
    FreeEarly,
    /// Recovery does not repeat the last commit.
    ReplayStopsEarly,
    /// Recovery repeats half of a long commit.
    ReplayHalf,
    /// Purge does not look at snapshots.
    PurgeEarly,
    /// A checkpoint releases the log's segments although parts of running transactions are in them.
    DiscardParts,
    /// A segment of the log is begun, with a commit in it, before the parts in the one before it are synced.
    CommitBeforeParts,
    /// Recovery repeats parts whose transaction did not commit.
    CountOrphans,
    /// A checkpoint gives up what the one before saved of transactions that run on.
    ForgetChain,
    /// A checkpoint while recovery rolls back forgets what is still to be rolled back.
    UndoOnce,
    /// What a transaction rolled back after it went to the log counts.
    CountCut,
    /// A step that frees a part of a dropped tree ends before its last leaf is taken out of its node.
    KeepFreed,
    /// An update that moves an index entry sometimes makes no new one (planted in the tables).
    LoseEntry,
    /// Nobody looks at the checksums of blocks.
    SkipChecksum,
    /// What is read from the file of old versions is not compared with its checksum.
    SkipUndoChecksum,
    /// A lock that is released is granted to no waiter.
    ForgetHandOver,
    /// Deadlock cycles are not searched for.
    MissDeadlock,
}

#[cfg(feature = "planted-bugs")]
mod with_bugs {
    use super::Plant;
    use std::sync::atomic::{AtomicU8, Ordering};

    static PLANTED: AtomicU8 = AtomicU8::new(0);

    /// All bugs there are, with their names.
    pub const ALL: [(&str, Plant); 23] = [
        ("skip-sync", Plant::SkipSync),
        ("see-too-many", Plant::SeeTooMany),
        ("see-too-few", Plant::SeeTooFew),
        ("forget-undo", Plant::ForgetUndo),
        ("forget-running", Plant::ForgetRunning),
        ("forget-lock", Plant::ForgetLock),
        ("lose-change", Plant::LoseChange),
        ("free-early", Plant::FreeEarly),
        ("replay-stops-early", Plant::ReplayStopsEarly),
        ("replay-half", Plant::ReplayHalf),
        ("purge-early", Plant::PurgeEarly),
        ("discard-parts", Plant::DiscardParts),
        ("commit-before-parts", Plant::CommitBeforeParts),
        ("count-orphans", Plant::CountOrphans),
        ("forget-chain", Plant::ForgetChain),
        ("undo-once", Plant::UndoOnce),
        ("count-cut", Plant::CountCut),
        ("keep-freed", Plant::KeepFreed),
        ("lose-entry", Plant::LoseEntry),
        ("skip-checksum", Plant::SkipChecksum),
        ("skip-undo-checksum", Plant::SkipUndoChecksum),
        ("forget-hand-over", Plant::ForgetHandOver),
        ("miss-deadlock", Plant::MissDeadlock),
    ];

    /// Plants a bug in every store of this process, in place of the one before.
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
