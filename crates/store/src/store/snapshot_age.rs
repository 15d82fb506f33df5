//! How old the oldest snapshot is, without a look at the clock for each snapshot: about once a second somebody notes the newest
//! commit and the time. A snapshot is as old as the first note of a commit that it does not see.

use crate::ids::Csn;
use crate::sync::Mutex;
use std::collections::VecDeque;

/// Notes kept; of more, every other is dropped.
const NOTES_MAX: usize = 1024;
const NANOS_BETWEEN: u64 = 1_000_000_000;

#[derive(Debug, Default)]
pub(crate) struct SnapshotAges {
    /// Commit and time, both rising.
    notes: Mutex<VecDeque<(Csn, u64)>>,
}

impl SnapshotAges {
    /// Notes that `newest` is the newest commit now. Notes that only snapshots before `oldest` need go.
    pub(crate) fn note(&self, newest: Csn, oldest: Csn, now_nanos: u64) {
        let mut notes = self.notes.lock();
        while notes.front().is_some_and(|note| note.0 <= oldest) {
            notes.pop_front();
        }
        let is_due = notes.back().is_none_or(|&(csn, at)| csn < newest && now_nanos >= at + NANOS_BETWEEN);
        if newest > oldest && is_due {
            notes.push_back((newest, now_nanos));
        }
        if notes.len() > NOTES_MAX {
            let mut keep = false;
            notes.retain(|_| {
                keep = !keep;
                keep
            });
        }
    }

    /// How long ago a commit was noted that a snapshot does not see; 0 if none was.
    pub(crate) fn age_nanos(&self, snapshot: Csn, now_nanos: u64) -> u64 {
        let notes = self.notes.lock();
        let first = notes.partition_point(|note| note.0 <= snapshot);
        notes.get(first).map_or(0, |note| now_nanos.saturating_sub(note.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_ages_from_the_first_commit_it_misses() {
        const SECOND: u64 = NANOS_BETWEEN;
        let ages = SnapshotAges::default();
        for second in 0..5_000 {
            ages.note(Csn(100 + second), Csn(50), second * SECOND);
        }
        assert!(ages.notes.lock().len() <= NOTES_MAX);
        let seconds = |csn| ages.age_nanos(Csn(csn), 5_000 * SECOND) / SECOND;
        assert_eq!((seconds(50), seconds(5_099)), (5_000, 0));
        assert!(seconds(4_000).abs_diff(1_099) < 10, "{}", seconds(4_000));
        ages.note(Csn(6_000), Csn(6_000), 5_001 * SECOND);
        assert_eq!((seconds(6_000), ages.notes.lock().len()), (0, 0));
    }
}
