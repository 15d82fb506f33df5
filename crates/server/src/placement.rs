//! Which worker group serves a connection.
//!
//! A new connection goes to the group with the fewest. One that does little else than commit moves to the first group:
//! the commits of one group share a flush of the log and wake nobody for it, those of two need two flushes or a wake-up
//! each (measured with 16 clients of durable inserts on two cores: 24 us of CPU a row in one group, 34 in two). When
//! the first group has used up the time of its CPU, it moves some connections to other groups, where they stay for a
//! while.
//!
//! Invariants:
//! 1. A connection moves only between two commands, with nothing unsent: when a commit has been answered.
//! 2. The first group takes no connection in while it is busier than [`TAKES_IN_BELOW`], and sends none away while it
//!    is less busy than [`SENDS_AWAY_ABOVE`], so a connection does not swing between two.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The group of the connections that commit.
pub(crate) const COMMITTERS: usize = 0;
/// The first group takes committers in below this part of a CPU's time, per mille.
const TAKES_IN_BELOW: u32 = 700;
/// The first group sends connections away above this part of a CPU's time, per mille.
const SENDS_AWAY_ABOVE: u32 = 900;
/// How often a group's use of its CPU is measured.
pub(crate) const LOAD_INTERVAL: Duration = Duration::from_millis(100);
/// Of a group that is too busy, one connection in this number is moved away at each measurement.
const SENT_AWAY_ONE_IN: usize = 4;
/// A connection that was moved away comes back no sooner.
const AWAY_MIN: Duration = Duration::from_secs(10);
/// Commits in excess of other commands, up to [`CommitHeuristic::SCORE_MAX`], that make a committer.
const COMMITTER_SCORE: u8 = 8;

/// How a connection has behaved lately.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CommitHeuristic {
    score: u8,
    away_until: Option<Instant>,
}

impl CommitHeuristic {
    const SCORE_MAX: u8 = 16;

    /// Notes a round of commands, which ended with a commit or not.
    pub(crate) fn note(&mut self, committed: bool) {
        self.score = if committed {
            (self.score + 1).min(CommitHeuristic::SCORE_MAX)
        } else {
            self.score.saturating_sub(1)
        };
    }

    fn commits(&self) -> bool {
        self.score >= COMMITTER_SCORE
    }
}

/// The groups' loads, for all groups to see.
#[derive(Debug)]
pub(crate) struct Placement {
    group_count: usize,
    /// Of the first group: CPU time per mille of wall time.
    load: AtomicU32,
    /// Connections that it still sends away before the next measurement.
    to_send_away: AtomicUsize,
}

/// Where a connection is to go.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Move {
    Stay,
    ToCommitters,
    ToEmptiest,
}

impl Placement {
    pub(crate) fn new(group_count: usize) -> Placement {
        Placement { group_count, load: AtomicU32::new(0), to_send_away: AtomicUsize::new(0) }
    }

    /// Whether a group is to measure its load: the others' decides nothing.
    pub(crate) fn asks_load_of(&self, group: usize) -> bool {
        group == COMMITTERS && self.group_count > 1
    }

    /// Notes what the first group used of a CPU's time since the last measurement; that time is not zero.
    pub(crate) fn note_load(&self, cpu: Duration, wall: Duration, connection_count: usize) {
        let per_mille = u32::try_from(cpu.as_nanos() * 1000 / wall.as_nanos()).unwrap_or(1000);
        self.load.store(per_mille, Ordering::Relaxed);
        let count = if per_mille > SENDS_AWAY_ABOVE { connection_count / SENT_AWAY_ONE_IN } else { 0 };
        self.to_send_away.store(count, Ordering::Relaxed);
    }

    /// Where a connection goes whose commit was just answered in `group`.
    pub(crate) fn after_commit(
        &self,
        group: usize,
        commit_heuristic: &mut CommitHeuristic,
        now: Instant,
    ) -> Move {
        if self.group_count < 2 || !commit_heuristic.commits() {
            return Move::Stay;
        }
        if group != COMMITTERS {
            let may_return = commit_heuristic.away_until.is_none_or(|until| now >= until);
            let has_room = self.load.load(Ordering::Relaxed) < TAKES_IN_BELOW;
            return if may_return && has_room { Move::ToCommitters } else { Move::Stay };
        }
        let one_less = |left: usize| left.checked_sub(1);
        if self.to_send_away.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_err() {
            return Move::Stay;
        }
        commit_heuristic.away_until = Some(now + AWAY_MIN);
        Move::ToEmptiest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn committer() -> CommitHeuristic {
        let mut commit_heuristic = CommitHeuristic::default();
        for _ in 0..COMMITTER_SCORE {
            commit_heuristic.note(true);
        }
        commit_heuristic
    }

    const INTERVAL: Duration = LOAD_INTERVAL;

    #[test]
    fn who_commits_each_time_moves_and_who_commits_now_and_then_stays() {
        let placement = Placement::new(2);
        let now = Instant::now();
        assert_eq!(placement.after_commit(1, &mut committer(), now), Move::ToCommitters);
        assert_eq!(placement.after_commit(0, &mut committer(), now), Move::Stay);
        let mut reader = CommitHeuristic::default();
        for command in 0..1000 {
            reader.note(command % 10 == 0);
        }
        assert_eq!(placement.after_commit(1, &mut reader, now), Move::Stay);
        assert_eq!(Placement::new(1).after_commit(0, &mut committer(), now), Move::Stay);
    }

    #[test]
    fn a_busy_first_group_takes_nobody_in_and_sends_some_away_for_a_while() {
        let placement = Placement::new(4);
        let now = Instant::now();
        placement.note_load(INTERVAL * 8 / 10, INTERVAL, 40);
        assert_eq!(placement.after_commit(1, &mut committer(), now), Move::Stay);
        assert_eq!(placement.after_commit(0, &mut committer(), now), Move::Stay);
        placement.note_load(INTERVAL, INTERVAL, 40);
        let mut sent = committer();
        assert_eq!(placement.after_commit(0, &mut sent, now), Move::ToEmptiest);
        let more = (0..40).filter(|_| placement.after_commit(0, &mut committer(), now) != Move::Stay).count();
        assert_eq!(more, 9, "a quarter of forty, one gone before");
        placement.note_load(INTERVAL / 10, INTERVAL, 30);
        assert!(
            placement.asks_load_of(0) && !placement.asks_load_of(3),
            "the others' load says nothing about the first"
        );
        assert_eq!(placement.after_commit(2, &mut sent, now), Move::Stay);
        assert_eq!(placement.after_commit(2, &mut sent, now + AWAY_MIN), Move::ToCommitters);
    }
}
