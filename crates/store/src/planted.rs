//! Bugs planted in the store on purpose, to see the simulation catch them: [`::planted`].

::planted::bugs! {
    /// A checkpoint does not sync its pages before it writes the superblock.
    SkipSync = "skip-sync",
    /// A snapshot sees a commit that came shortly after it.
    SeeTooMany = "see-too-many",
    /// A snapshot does not see the newest commit before it.
    SeeTooFew = "see-too-few",
    /// A rollback leaves out some changes.
    ForgetUndo = "forget-undo",
    /// Recovery leaves out some changes of a transaction that ran at the checkpoint.
    ForgetRunning = "forget-running",
    /// A write in a full leaf does not look whether the row is locked.
    ForgetLock = "forget-lock",
    /// Some changes are not in the commit's log record.
    LoseChange = "lose-change",
    /// A checkpoint gives out blocks again that the one before still needs.
    FreeEarly = "free-early",
    /// Recovery does not repeat the last commit.
    ReplayStopsEarly = "replay-stops-early",
    /// Recovery repeats half of a long commit.
    ReplayHalf = "replay-half",
    /// Purge does not look at snapshots.
    PurgeEarly = "purge-early",
    /// A checkpoint releases the log's segments although parts of running transactions are in them.
    DiscardParts = "discard-parts",
    /// A segment of the log is begun, with a commit in it, before the parts in the one before it are synced.
    CommitBeforeParts = "commit-before-parts",
    /// Recovery repeats parts whose transaction did not commit.
    CountOrphans = "count-orphans",
    /// A checkpoint gives up what the one before saved of transactions that run on.
    ForgetChain = "forget-chain",
    /// A checkpoint while recovery rolls back forgets what is still to be rolled back.
    UndoOnce = "undo-once",
    /// What a transaction rolled back after it went to the log counts.
    CountCut = "count-cut",
    /// A step that frees a part of a dropped tree ends before its last leaf is taken out of its node.
    KeepFreed = "keep-freed",
    /// An update that moves an index entry sometimes makes no new one (planted in the tables).
    LoseEntry = "lose-entry",
    /// Nobody looks at the checksums of blocks.
    SkipChecksum = "skip-checksum",
    /// What is read from the file of old versions is not compared with its checksum.
    SkipUndoChecksum = "skip-undo-checksum",
    /// A lock that is released is granted to no waiter.
    ForgetHandOver = "forget-hand-over",
    /// Deadlock cycles are not searched for.
    MissDeadlock = "miss-deadlock",
}
