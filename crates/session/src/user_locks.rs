//! Named locks of GET_LOCK: one holder each, taken again by its holder as often as it likes.
//!
//! Waiting sits in `env::blocking`. A waiter wakes on a release, on its own deadline and on KILL.
//!
//! Invariants:
//! 1. `counts` holds for each connection how many locks of `held` it holds, and nothing for one that holds none.
//! 2. Names have at most [`NAME_CHARS_MAX`] characters (3057), a connection at most [`LOCKS_PER_CONNECTION_MAX`] locks (1206).

use std::time::Duration;

use env::Env;
use env::blocking::WaitForOthers;
use hashbrown::HashMap;
use parking_lot::{Condvar, Mutex};
use service::error::{ER_LOCK_TABLE_FULL, ER_USER_LOCK_DEADLOCK, ER_USER_LOCK_WRONG_NAME};
use service::{ConnectionControl, SqlError};

/// The longest name, in characters.
pub const NAME_CHARS_MAX: usize = 64;

/// Locks that a connection may hold at a time. MySQL has no limit but its memory.
pub(crate) const LOCKS_PER_CONNECTION_MAX: usize = 10_000;

/// A waiter looks so often whether it was killed.
const KILL_CHECK_INTERVAL: Duration = Duration::from_millis(100);

#[derive(Debug, Default)]
struct UserLock {
    connection_id: u64,
    times: u64,
}

#[derive(Debug, Default)]
struct State {
    held: HashMap<String, UserLock>,
    /// How many locks each connection holds.
    counts: HashMap<u64, usize>,
    /// Which lock a connection waits for, to find deadlocks.
    waits: HashMap<u64, String>,
}

/// All user locks of a server.
#[derive(Debug, Default)]
pub struct UserLocks {
    state: Mutex<State>,
    released: Condvar,
}

fn key(name: &str) -> Result<String, Box<SqlError>> {
    if name.is_empty() || name.chars().count() > NAME_CHARS_MAX {
        return Err(ER_USER_LOCK_WRONG_NAME.with(&[&name]));
    }
    Ok(name.to_lowercase())
}

impl UserLocks {
    /// Takes the lock: 1 got it, 0 timed out, `None` when killed. A negative timeout waits for ever.
    ///
    /// # Errors
    /// 3057 for a bad name, 3058 for a deadlock among waiters, 1206 for one lock too many, 1135 when too many wait already.
    pub fn acquire(
        &self,
        control: &ConnectionControl,
        name: &str,
        timeout_seconds: f64,
        env: &Env,
    ) -> Result<Option<i64>, Box<SqlError>> {
        let name = key(name)?;
        let connection_id = control.connection_id;
        let deadline = (timeout_seconds >= 0.0).then(|| {
            env.clock.now().after(Duration::try_from_secs_f64(timeout_seconds).unwrap_or(Duration::MAX))
        });
        // Taken before the mutex: the guard may itself wait when it is dropped.
        let mut blocking = None;
        loop {
            let mut state = self.state.lock();
            match state.held.get_mut(&name) {
                None => {
                    state.waits.remove(&connection_id);
                    let count = state.counts.entry(connection_id).or_default();
                    if *count >= LOCKS_PER_CONNECTION_MAX {
                        return Err(ER_LOCK_TABLE_FULL.bare());
                    }
                    *count += 1;
                    state.held.insert(name, UserLock { connection_id, times: 1 });
                    return Ok(Some(1));
                }
                Some(held) if held.connection_id == connection_id => {
                    held.times += 1;
                    return Ok(Some(1));
                }
                Some(_) => {}
            }
            if state.closes_cycle(connection_id, &name) {
                state.waits.remove(&connection_id);
                return Err(ER_USER_LOCK_DEADLOCK.bare());
            }
            let now = env.clock.now();
            let left = deadline.map_or(KILL_CHECK_INTERVAL, |deadline| deadline.since(now));
            if left.is_zero() {
                state.waits.remove(&connection_id);
                return Ok(Some(0));
            }
            if control.is_killed() {
                state.waits.remove(&connection_id);
                drop(state);
                control.check()?;
                return Ok(None);
            }
            if blocking.is_none() {
                drop(state);
                let entered = env::blocking::try_enter(WaitForOthers::default());
                blocking = Some(entered.map_err(|_| SqlError::refused_wait())?);
                continue;
            }
            state.waits.insert(connection_id, name.clone());
            self.released.wait_for(&mut state, left.min(KILL_CHECK_INTERVAL));
        }
    }

    /// Gives the lock back: 1 done, 0 another holds it, `None` nobody does.
    pub fn release(&self, connection_id: u64, name: &str) -> Option<i64> {
        let name = key(name).ok()?;
        let mut state = self.state.lock();
        let held = state.held.get_mut(&name)?;
        if held.connection_id != connection_id {
            return Some(0);
        }
        held.times -= 1;
        if held.times == 0 {
            state.held.remove(&name);
            state.uncount(connection_id);
            self.released.notify_all();
        }
        Some(1)
    }

    /// Gives all locks of a connection back; answers how many holds there were.
    pub fn release_all(&self, connection_id: u64) -> i64 {
        let mut state = self.state.lock();
        state.waits.remove(&connection_id);
        if state.counts.remove(&connection_id).is_none() {
            return 0;
        }
        let mut count = 0;
        state.held.retain(|_, held| {
            let own = held.connection_id == connection_id;
            if own {
                count += i64::try_from(held.times).unwrap_or(i64::MAX);
            }
            !own
        });
        self.released.notify_all();
        count
    }

    /// The connection that holds the lock.
    pub fn holder(&self, name: &str) -> Option<u64> {
        Some(self.state.lock().held.get(&key(name).ok()?)?.connection_id)
    }
}

impl State {
    /// The connection holds one lock less.
    fn uncount(&mut self, connection_id: u64) {
        if let Some(count) = self.counts.get_mut(&connection_id) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&connection_id);
            }
        }
    }

    /// Whether waiting for `name` would make `connection_id` wait for itself.
    fn closes_cycle(&self, connection_id: u64, name: &str) -> bool {
        let mut name = name;
        for _ in 0..=self.waits.len() {
            let Some(held) = self.held.get(name) else { return false };
            if held.connection_id == connection_id {
                return true;
            }
            match self.waits.get(&held.connection_id) {
                Some(next) => name = next,
                None => return false,
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_has_one_holder_at_a_time() {
        let env = Env::real();
        let locks = UserLocks::default();
        let (first, second) = (ConnectionControl::new(1, None), ConnectionControl::new(2, None));
        assert_eq!(locks.acquire(&first, "A", 0.0, &env).unwrap(), Some(1));
        assert_eq!(locks.acquire(&first, "a", 0.0, &env).unwrap(), Some(1));
        assert_eq!(locks.acquire(&second, "a", 0.0, &env).unwrap(), Some(0));
        assert_eq!(locks.release(2, "a"), Some(0));
        assert_eq!(locks.release(1, "a"), Some(1));
        assert_eq!(locks.holder("a"), Some(1));
        assert_eq!(locks.release_all(1), 1);
        assert_eq!(locks.acquire(&second, "a", 0.0, &env).unwrap(), Some(1));
        assert_eq!(locks.release(1, "b"), None);
        assert_eq!(locks.acquire(&first, "", 0.0, &env).unwrap_err().number, 3057);
    }

    #[test]
    fn a_connection_holds_a_bounded_number_of_locks() {
        let env = Env::real();
        let locks = UserLocks::default();
        let (first, second) = (ConnectionControl::new(1, None), ConnectionControl::new(2, None));
        for number in 0..LOCKS_PER_CONNECTION_MAX {
            assert_eq!(locks.acquire(&first, &number.to_string(), 0.0, &env).unwrap(), Some(1));
        }
        assert_eq!(locks.acquire(&first, "0", 0.0, &env).unwrap(), Some(1), "it is held already");
        assert_eq!(locks.acquire(&first, "one more", 0.0, &env).unwrap_err().number, 1206);
        assert_eq!(locks.acquire(&second, "one more", 0.0, &env).unwrap(), Some(1));
        assert_eq!(locks.release(1, "1"), Some(1));
        assert_eq!(locks.acquire(&first, "another", 0.0, &env).unwrap(), Some(1));
        assert_eq!(locks.release_all(1), LOCKS_PER_CONNECTION_MAX as i64 + 1);
        assert_eq!(locks.release_all(1), 0);
        assert_eq!(locks.release(2, "one more"), Some(1));
        assert!(locks.state.lock().counts.is_empty());
    }

    #[test]
    fn a_waiter_gets_the_lock_when_it_is_free() {
        let env = Env::real();
        let locks = UserLocks::default();
        let holder = ConnectionControl::new(1, None);
        locks.acquire(&holder, "a", 0.0, &env).unwrap();
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| {
                let control = ConnectionControl::new(2, None);
                locks.acquire(&control, "a", -1.0, &env).unwrap()
            });
            while locks.state.lock().waits.is_empty() {
                std::thread::yield_now();
            }
            locks.release(1, "a");
            assert_eq!(waiter.join().unwrap(), Some(1));
        });
    }
}
