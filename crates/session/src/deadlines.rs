//! Statements that end when their time is over (`max_execution_time`).
//!
//! One thread, begun by the first statement that has a limit, sleeps until the nearest deadline and asks that connection to stop
//! ([`Kill::Timeout`]). A statement takes its deadline back under the same mutex: the next one is never stopped in its place.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use env::Env;
use env::clock::Clock;
use env::threads::Thread;
use parking_lot::{Condvar, Mutex};
use service::error::{ER_CANT_CREATE_THREAD, ER_QUERY_INTERRUPTED, ER_QUERY_TIMEOUT, SqlError};
use service::{ConnectionControl, Kill};

/// All deadlines of a server.
#[derive(Debug, Default)]
pub struct Deadlines {
    shared: Arc<Shared>,
    thread: Mutex<Option<Thread>>,
}

#[derive(Debug, Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    /// By the clock's nanoseconds, and a number that distinguishes equal ones.
    by_time: BTreeMap<(u64, u64), Arc<ConnectionControl>>,
    next_number: u64,
    ended: bool,
}

/// A running statement's deadline. Dropping it takes it back.
#[derive(Debug)]
pub struct Deadline {
    shared: Arc<Shared>,
    at: (u64, u64),
    control: Arc<ConnectionControl>,
}

impl Deadlines {
    /// The statement that this connection begins has so long.
    ///
    /// # Errors
    /// 1135.
    pub fn begin(
        &self,
        env: &Env,
        control: &Arc<ConnectionControl>,
        limit: Duration,
    ) -> Result<Deadline, Box<SqlError>> {
        let mut thread = self.thread.lock();
        if thread.is_none() {
            let (shared, clock) = (Arc::clone(&self.shared), Arc::clone(&env.clock));
            let work = move || shared.run(&*clock);
            let spawned = env.threads.spawn("deadlines", Box::new(work));
            let failed =
                |error: std::io::Error| ER_CANT_CREATE_THREAD.with(&[&error.raw_os_error().unwrap_or(0)]);
            *thread = Some(spawned.map_err(failed)?);
        }
        drop(thread);
        let mut waiting = self.shared.waiting.lock();
        waiting.next_number += 1;
        let at = (env.clock.now().after(limit).nanos, waiting.next_number);
        waiting.by_time.insert(at, Arc::clone(control));
        let is_nearest = waiting.by_time.keys().next() == Some(&at);
        drop(waiting);
        if is_nearest {
            self.shared.changed.notify_one();
        }
        Ok(Deadline { shared: Arc::clone(&self.shared), at, control: Arc::clone(control) })
    }

    /// The statement that this connection runs may take as long as it needs. Answers whether it had a limit.
    pub(crate) fn lift(&self, control: &Arc<ConnectionControl>) -> bool {
        let mut waiting = self.shared.waiting.lock();
        let before = waiting.by_time.len();
        waiting.by_time.retain(|_, other| !Arc::ptr_eq(other, control));
        waiting.by_time.len() < before
    }
}

impl Drop for Deadlines {
    fn drop(&mut self) {
        self.shared.waiting.lock().ended = true;
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.get_mut().take() {
            // A panic there was reported by the panic hook.
            let _ended_well = thread.join();
        }
    }
}

impl Shared {
    fn run(&self, clock: &dyn Clock) {
        let mut waiting = self.waiting.lock();
        while !waiting.ended {
            let Some((&at, _)) = waiting.by_time.first_key_value() else {
                self.changed.wait(&mut waiting);
                continue;
            };
            let now = clock.now().nanos;
            if at.0 > now {
                self.changed.wait_for(&mut waiting, Duration::from_nanos(at.0 - now));
            } else if let Some(control) = waiting.by_time.remove(&at) {
                control.kill(Kill::Timeout);
            }
        }
    }
}

impl Deadline {
    /// The error to return for a statement that has failed with `error`: an interruption was one by time if that is what was asked last.
    #[must_use]
    pub fn explain(&self, error: Box<SqlError>) -> Box<SqlError> {
        match error.number == ER_QUERY_INTERRUPTED.number && self.control.kill_state() == Kill::Timeout {
            true => ER_QUERY_TIMEOUT.bare(),
            false => error,
        }
    }
}

impl Drop for Deadline {
    fn drop(&mut self) {
        // After this nobody asks it to stop; what was asked before is forgotten.
        self.shared.waiting.lock().by_time.remove(&self.at);
        self.control.forget_timeout();
    }
}

/// The milliseconds of a `MAX_EXECUTION_TIME(n)` among a SELECT's optimizer hints.
#[must_use]
pub fn hinted(hints: &[u8]) -> Option<u64> {
    const NAME: &[u8] = b"MAX_EXECUTION_TIME";
    let at = hints.windows(NAME.len()).position(|window| window.eq_ignore_ascii_case(NAME))?;
    let rest = hints[at + NAME.len()..].trim_ascii_start().strip_prefix(b"(")?.trim_ascii_start();
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    rest[digits..].trim_ascii_start().strip_prefix(b")")?;
    // MySQL takes 32 bits.
    std::str::from_utf8(&rest[..digits]).ok()?.parse::<u32>().ok().map(u64::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_is_found_among_others() {
        for (text, expected) in [
            (" MAX_EXECUTION_TIME(1000) ", Some(1000)),
            ("NO_MERGE(t) max_execution_time ( 7 ) BKA(t)", Some(7)),
            ("MAX_EXECUTION_TIME()", None),
            ("MAX_EXECUTION_TIME(x)", None),
            ("MAX_EXECUTION_TIME(99999999999)", None),
            ("", None),
        ] {
            assert_eq!(hinted(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn only_the_statement_whose_time_is_over_is_stopped() {
        let env = Env::real();
        let deadlines = Deadlines::default();
        let control = |id| Arc::new(ConnectionControl::new(id, None));
        let (one, two) = (control(1), control(2));
        let long = deadlines.begin(&env, &two, Duration::from_secs(3_600)).unwrap();
        let short = deadlines.begin(&env, &one, Duration::from_millis(1)).unwrap();
        while !one.is_killed() {
            std::thread::yield_now();
        }
        assert_eq!(short.explain(ER_QUERY_INTERRUPTED.bare()).number, ER_QUERY_TIMEOUT.number);
        drop(short);
        assert!(!one.is_killed() && !two.is_killed());
        two.kill(Kill::Query);
        assert_eq!(long.explain(ER_QUERY_INTERRUPTED.bare()).number, ER_QUERY_INTERRUPTED.number);
        assert!(two.is_killed());
    }
}
