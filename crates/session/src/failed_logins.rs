//! Wrong passwords in a row by account: what FAILED_LOGIN_ATTEMPTS and PASSWORD_LOCK_TIME count. As in MySQL the counts are
//! in memory only: a restart forgets them.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use catalog::{AccountId, PasswordLocking};

/// Microseconds of a day.
const DAY_MICROS: i64 = 86_400_000_000;

/// Counts for accounts that have wrong passwords behind them. Bounded by the number of accounts.
#[derive(Debug, Default)]
pub struct FailedLogins {
    counts: Mutex<HashMap<AccountId, Count>>,
}

#[derive(Clone, Copy, Debug)]
struct Count {
    failed: u16,
    /// When the last of them made the account blocked.
    blocked_micros: Option<i64>,
}

/// A blocked account: the days it is blocked for and those that remain; `None`: until somebody unblocks it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Blocked {
    /// In all, and from now on.
    pub days: Option<(i64, i64)>,
}

impl FailedLogins {
    /// Notes an attempt with the right or a wrong password; answers whether the account is blocked now.
    pub fn attempt(
        &self,
        account: AccountId,
        locking: PasswordLocking,
        right: bool,
        now_micros: i64,
    ) -> Option<Blocked> {
        if locking.failed_attempts_max == 0 || locking.lock_days == 0 {
            return None;
        }
        let lock_micros = i64::from(locking.lock_days) * DAY_MICROS;
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let mut count = counts.get(&account).copied().unwrap_or(Count { failed: 0, blocked_micros: None });
        if let Some(since) = count.blocked_micros
            && locking.lock_days > 0
            && now_micros - since >= lock_micros
        {
            count = Count { failed: 0, blocked_micros: None };
        }
        if count.blocked_micros.is_none() {
            if right {
                counts.remove(&account);
                return None;
            }
            count.failed = count.failed.saturating_add(1);
            if count.failed >= locking.failed_attempts_max {
                count.blocked_micros = Some(now_micros);
            }
            counts.insert(account, count);
        }
        let since = count.blocked_micros?;
        let remaining = (lock_micros - (now_micros - since)).max(0);
        let days = i64::from(locking.lock_days);
        Some(Blocked { days: (days > 0).then(|| (days, (remaining + DAY_MICROS - 1) / DAY_MICROS)) })
    }

    /// Forgets what is known of these accounts.
    pub fn forget(&self, accounts: &[AccountId]) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.retain(|account, _| !accounts.contains(account));
    }

    /// Forgets everything: FLUSH PRIVILEGES.
    pub(crate) fn forget_all(&self) {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCKING: PasswordLocking = PasswordLocking { failed_attempts_max: 2, lock_days: 3 };

    #[test]
    fn blocks_after_failures_in_a_row_and_for_the_days_said() {
        let logins = FailedLogins::default();
        let attempt = |right, day| logins.attempt(AccountId(7), LOCKING, right, day * DAY_MICROS);
        assert_eq!(attempt(false, 0), None);
        assert_eq!(attempt(true, 0), None, "a right one in between counts from the beginning");
        assert_eq!(attempt(false, 0), None);
        assert_eq!(attempt(false, 1), Some(Blocked { days: Some((3, 3)) }));
        assert_eq!(
            attempt(true, 2),
            Some(Blocked { days: Some((3, 2)) }),
            "the right password does not help"
        );
        assert_eq!(attempt(true, 4), None, "it is over");
        assert_eq!(attempt(false, 4), None, "and the count began again");
    }

    #[test]
    fn unbounded_blocks_until_forgotten() {
        let logins = FailedLogins::default();
        let locking = PasswordLocking { failed_attempts_max: 1, lock_days: -1 };
        let attempt = |right| logins.attempt(AccountId(7), locking, right, 1 << 60);
        assert_eq!(attempt(false), Some(Blocked { days: None }));
        assert_eq!(attempt(true), Some(Blocked { days: None }));
        logins.forget(&[AccountId(8)]);
        assert!(attempt(true).is_some());
        logins.forget(&[AccountId(7)]);
        assert_eq!(attempt(true), None);
    }
}
