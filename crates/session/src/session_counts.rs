//! Status counters that each session counts by itself. The server's are the sums over all sessions, those that have ended included.
//!
//! A session is the only one that writes its counters, so adding to one costs what it costs for a plain integer.

use exec::{StatusCounts, StatusKind};
use metrics::OwnedCounter;

use crate::status::StatementKind;

/// How many counters a session has.
pub(crate) const SESSION_COUNT: usize = OTHERS + StatusKind::ALL.len() + StatementKind::ALL.len();
const OTHERS: usize = 12;

/// What one session has counted since it began or since FLUSH STATUS.
#[derive(Debug)]
pub struct SessionCounts {
    /// Statements of clients (`Questions`).
    pub questions: OwnedCounter,
    /// Slower than `long_query_time`.
    pub slow_queries: OwnedCounter,
    /// Bytes from the client.
    pub bytes_received: OwnedCounter,
    /// Bytes to the client.
    pub bytes_sent: OwnedCounter,
    /// COM_STMT_PREPARE.
    pub com_stmt_prepare: OwnedCounter,
    /// COM_STMT_EXECUTE.
    pub com_stmt_execute: OwnedCounter,
    /// COM_STMT_CLOSE.
    pub com_stmt_close: OwnedCounter,
    /// COM_STMT_RESET.
    pub com_stmt_reset: OwnedCounter,
    /// COM_STMT_SEND_LONG_DATA.
    pub com_stmt_send_long_data: OwnedCounter,
    /// COM_STMT_FETCH.
    pub com_stmt_fetch: OwnedCounter,
    /// Operators other than sorts that went to disk.
    pub created_tmp_disk_tables: OwnedCounter,
    /// Passes in which sorted runs were merged.
    pub sort_merge_passes: OwnedCounter,
    /// Rows, sorts, temporary tables, ways of reading.
    pub status: StatusCounts,
    kinds: [OwnedCounter; StatementKind::ALL.len()],
}

impl Default for SessionCounts {
    fn default() -> Self {
        Self {
            questions: OwnedCounter::new(),
            slow_queries: OwnedCounter::new(),
            bytes_received: OwnedCounter::new(),
            bytes_sent: OwnedCounter::new(),
            com_stmt_prepare: OwnedCounter::new(),
            com_stmt_execute: OwnedCounter::new(),
            com_stmt_close: OwnedCounter::new(),
            com_stmt_reset: OwnedCounter::new(),
            com_stmt_send_long_data: OwnedCounter::new(),
            com_stmt_fetch: OwnedCounter::new(),
            created_tmp_disk_tables: OwnedCounter::new(),
            sort_merge_passes: OwnedCounter::new(),
            status: StatusCounts::new(),
            kinds: [const { OwnedCounter::new() }; StatementKind::ALL.len()],
        }
    }
}

impl SessionCounts {
    /// Counts a statement of a kind.
    #[inline]
    pub fn count(&self, kind: StatementKind) {
        self.kinds[kind as usize].increment();
    }

    /// Counts what a statement put on disk.
    pub(crate) fn add_spilled(&self, spilled: &exec::SpillCounts) {
        if spilled.files > 0 {
            self.created_tmp_disk_tables.add(spilled.disk_tables);
            self.sort_merge_passes.add(spilled.sort_merge_passes);
        }
    }

    /// Counts a point SELECT: one table, one key.
    #[inline]
    pub(crate) fn count_point(&self) {
        self.status.add(StatusKind::ReadKey, 1);
        self.status.add(StatusKind::ExternalLock, 2);
        self.status.add(StatusKind::Commit, 1);
    }

    /// Every counter with its name, always in the same order.
    fn all(&self) -> impl Iterator<Item = (&'static str, &OwnedCounter)> {
        let others: [(&str, &OwnedCounter); OTHERS] = [
            ("Bytes_received", &self.bytes_received),
            ("Bytes_sent", &self.bytes_sent),
            ("Com_stmt_close", &self.com_stmt_close),
            ("Com_stmt_execute", &self.com_stmt_execute),
            ("Com_stmt_fetch", &self.com_stmt_fetch),
            ("Com_stmt_prepare", &self.com_stmt_prepare),
            ("Com_stmt_reset", &self.com_stmt_reset),
            ("Com_stmt_send_long_data", &self.com_stmt_send_long_data),
            ("Created_tmp_disk_tables", &self.created_tmp_disk_tables),
            ("Questions", &self.questions),
            ("Slow_queries", &self.slow_queries),
            ("Sort_merge_passes", &self.sort_merge_passes),
        ];
        let status = StatusKind::ALL.iter().map(|(kind, name)| (*name, self.status.counter(*kind)));
        let kinds = StatementKind::ALL.iter().map(|(kind, name)| (*name, &self.kinds[*kind as usize]));
        others.into_iter().chain(status).chain(kinds)
    }

    /// Adds all counters to `sums`.
    pub(crate) fn add_to(&self, sums: &mut CountSums) {
        for (sum, (_, counter)) in sums.0.iter_mut().zip(self.all()) {
            *sum += counter.get();
        }
    }

    /// Sets all counters to 0.
    pub fn reset(&self) {
        self.all().for_each(|(_, counter)| counter.set(0));
    }

    /// Every counter by its name, unsorted.
    #[must_use]
    pub fn values(&self) -> Vec<(&'static str, u64)> {
        self.all().map(|(name, counter)| (name, counter.get())).collect()
    }
}

/// Sums of the counters of sessions.
#[derive(Clone, Debug)]
pub struct CountSums([u64; SESSION_COUNT]);

impl Default for CountSums {
    fn default() -> Self {
        Self([0; SESSION_COUNT])
    }
}

impl CountSums {
    /// Every sum by its name, unsorted.
    #[must_use]
    pub fn values(&self) -> Vec<(&'static str, u64)> {
        let names = SessionCounts::default();
        names.all().zip(self.0).map(|((name, _), sum)| (name, sum)).collect()
    }

    /// The sum of one counter.
    #[must_use]
    pub fn of(&self, name: &str) -> u64 {
        self.values().into_iter().find(|(candidate, _)| *candidate == name).map_or(0, |(_, sum)| sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_sessions_have_the_same_counters() {
        let session = SessionCounts::default();
        assert_eq!(session.values().len(), SESSION_COUNT);
        session.count(StatementKind::Insert);
        session.status.add(StatusKind::Write, 3);
        let mut sums = CountSums::default();
        session.add_to(&mut sums);
        session.add_to(&mut sums);
        assert_eq!((sums.of("Com_insert"), sums.of("Handler_write"), sums.of("Questions")), (2, 6, 0));
        session.reset();
        assert!(session.values().iter().all(|(_, count)| *count == 0));
    }
}
