//! Connections that have not logged in yet, and failed logins.
//!
//! A connection takes one of the `max_connections` when it has logged in. Until then it is among the [`UNAUTHENTICATED_MAX`], and
//! when there are more the oldest is closed: somebody who opens connections and sends nothing keeps nobody out.
//!
//! Failed logins are counted by account, as MySQL's connection-control component does it: from
//! `connection_control_failed_connections_threshold` consecutive ones on, the answer to the next attempt, good or bad, is delayed
//! by a second more each time, within `connection_control_min_connection_delay` and `connection_control_max_connection_delay`.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use service::{ConnectionControl, Kill, Limits};

use crate::location::lock;

/// Connections that have not logged in.
pub(crate) const UNAUTHENTICATED_MAX: usize = 1_000;
/// Accounts whose failed logins are counted; one of them is forgotten for the next.
pub(crate) const FAILED_ACCOUNTS_MAX: usize = 10_000;

/// The connections that have not logged in, by their numbers: the oldest first.
#[derive(Default)]
pub(crate) struct Unauthenticated(Mutex<BTreeMap<u64, Arc<ConnectionControl>>>);

impl Unauthenticated {
    /// Adds one; the oldest is closed if they are too many.
    pub(crate) fn add(&self, control: &Arc<ConnectionControl>) {
        let mut all = lock(&self.0);
        all.insert(control.connection_id, Arc::clone(control));
        let oldest = if all.len() > UNAUTHENTICATED_MAX { all.pop_first() } else { None };
        drop(all);
        if let Some((_, oldest)) = oldest {
            oldest.kill(Kill::Connection);
        }
    }

    /// One has logged in, or is gone.
    pub(crate) fn remove(&self, connection_id: u64) {
        lock(&self.0).remove(&connection_id);
    }

    /// Closes the oldest: the system has no descriptor for a new one.
    pub(crate) fn close_oldest(&self) {
        let oldest = lock(&self.0).pop_first();
        if let Some((_, oldest)) = oldest {
            oldest.kill(Kill::Connection);
        }
    }
}

/// Consecutive failed logins by user and host.
#[derive(Default)]
pub(crate) struct FailedLogins(Mutex<Failures>);

#[derive(Default)]
struct Failures {
    counts: HashMap<(String, String), u32>,
    /// The threshold of these counts: a new one starts from nothing.
    threshold: u32,
}

impl FailedLogins {
    /// Counts an attempt; how long its answer must be delayed, if it must.
    pub(crate) fn note(&self, user: &str, host: &str, has_failed: bool, limits: &Limits) -> Option<Duration> {
        let threshold = limits.failed_connections_threshold;
        let mut failures = lock(&self.0);
        if failures.threshold != threshold {
            *failures = Failures { threshold, ..Failures::default() };
        }
        if threshold == 0 {
            return None;
        }
        let key = (user.to_owned(), host.to_owned());
        let counts = &mut failures.counts;
        let before = counts.get(&key).copied().unwrap_or(0);
        if has_failed {
            if before == 0
                && counts.len() >= FAILED_ACCOUNTS_MAX
                && let Some(other) = counts.keys().next().cloned()
            {
                counts.remove(&other);
            }
            counts.insert(key, before.saturating_add(1));
        } else if before > 0 {
            counts.remove(&key);
        }
        drop(failures);
        if before < threshold {
            return None;
        }
        let millis = u64::from(before - threshold + 1).saturating_mul(1000);
        let most = u64::from(limits.max_connection_delay_ms);
        let least = u64::from(limits.min_connection_delay_ms).min(most);
        Some(Duration::from_millis(millis.clamp(least, most)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_delayed_by_a_second_more_each_time() {
        let failed = FailedLogins::default();
        let limits = Limits {
            failed_connections_threshold: 2,
            min_connection_delay_ms: 1500,
            max_connection_delay_ms: 3500,
            ..Limits::default()
        };
        let millis = |has_failed| failed.note("u", "h", has_failed, &limits).map(|delay| delay.as_millis());
        let delays: Vec<_> = (0..6).map(|_| millis(true)).collect();
        assert_eq!(delays, [None, None, Some(1500), Some(2000), Some(3000), Some(3500)]);
        assert_eq!(failed.note("u", "other", true, &limits), None);
        // The right password is delayed too, and then all is forgotten.
        assert_eq!(millis(false), Some(3500));
        assert_eq!(millis(false), None);
        assert_eq!(millis(true), None);
    }

    #[test]
    fn accounts_are_bounded() {
        let failed = FailedLogins::default();
        let limits = Limits { failed_connections_threshold: 1, ..Limits::default() };
        for number in 0..FAILED_ACCOUNTS_MAX + 10 {
            failed.note(&number.to_string(), "h", true, &limits);
        }
        assert_eq!(lock(&failed.0).counts.len(), FAILED_ACCOUNTS_MAX);
    }

    #[test]
    fn the_oldest_is_closed() {
        let waiting = Unauthenticated::default();
        let controls: Vec<_> =
            (0..=UNAUTHENTICATED_MAX as u64).map(|id| Arc::new(ConnectionControl::new(id, None))).collect();
        for control in &controls[..UNAUTHENTICATED_MAX] {
            waiting.add(control);
        }
        waiting.remove(0);
        waiting.add(&controls[0]);
        assert!(controls.iter().all(|control| control.kill_state() == Kill::None));
        waiting.remove(0);
        waiting.add(&controls[0]);
        waiting.add(&controls[UNAUTHENTICATED_MAX]);
        assert_eq!(controls[0].kill_state(), Kill::Connection);
        assert_eq!(controls[1].kill_state(), Kill::None);
    }
}
