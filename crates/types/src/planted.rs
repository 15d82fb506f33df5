//! Bugs planted on purpose in `types`, `plan` and `exec`, to see random statements without another server find them: [`::planted`].
//! Each is of a kind that a server once had.

::planted::bugs! {
    /// A hash join of a signed with an unsigned integer compares their bits.
    SignedKey = "signed-key",
    /// A hash join of YEAR or BIT with a signed integer does.
    YearKey = "year-key",
    /// A lookup by a unique index with an IN list looks for the first of the list alone.
    FirstOfList = "first-of-list",
    /// IS NULL on a column that is NOT NULL looks for the key of its smallest value.
    NullIsSmallest = "null-is-smallest",
    /// What a subquery computes from outer columns alone is no condition of the join that it becomes.
    OuterItem = "outer-item",
    /// NOT IN becomes an anti join although there may be NULLs.
    NullNotIn = "null-not-in",
    /// A time as text with a fraction is read as a date and has no time.
    TimeFraction = "time-fraction",
    /// JSON numbers of different types are treated as different.
    JsonNumberType = "json-number-type",
    /// Texts that are padded with spaces are compared as if they were not.
    NoPadding = "no-padding",
    /// WITH ROLLUP leaves a level out.
    RollupLevel = "rollup-level",
    /// DISTINCT below an ORDER BY is left out.
    SortedDistinct = "sorted-distinct",
    /// An outer join with further conditions loses the rows without a partner.
    OuterRow = "outer-row",
    /// A hash join knows texts by their bytes, whatever the collation.
    HashBytes = "hash-bytes",
    /// A join that meets the rows of one side in several batches forgets which rows had a match.
    ForgetPartner = "forget-partner",
    /// DISTINCT forgets what it has seen when a batch ends.
    ForgetSeen = "forget-seen",
}
