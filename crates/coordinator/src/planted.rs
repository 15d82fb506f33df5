//! Bugs planted in the coordinator on purpose, to see the simulation catch them: [`::planted`].

::planted::bugs! {
    /// Recovery reads the decision and takes its absence for an abort, where it should insert one.
    SelectAbsence = "select-absence",
    /// `XAER_NOTA` after XA COMMIT counts as a commit.
    TrustUnknownBranch = "trust-unknown-branch",
    /// A decision is deleted before its branches are proven to be committed.
    DeleteEarly = "delete-early",
    /// Any front door deletes the decisions of one that lives.
    DeleteOfOthers = "delete-of-others",
    /// A fenced front door decides what became of its commit.
    IgnoreFence = "ignore-fence",
    /// The anchor commits when some branches have prepared.
    DecideEarly = "decide-early",
    /// A lost answer to the anchor's COMMIT counts as an error.
    TakeLostForAbort = "take-lost-for-abort",
    /// Servers that have lost rows are used.
    TrustOldRows = "trust-old-rows",
    /// Branches that only hold locks end before the commit.
    ReleaseLocksEarly = "release-locks-early",
    /// The client is answered before the branches have committed.
    AnswerEarly = "answer-early",
}
