//! What lies between the lab and a server, and what the server says of its own time.
//!
//! A tap at the client cannot tell a slow server from a slow way to it. Two things can: COM_PING, which any server answers
//! without work, shows what the way costs a command; and `performance_schema` says how long statements took inside the server.
//! What the tap saw beyond the server's own time lies on the way: on the link as far as pings are as slow, else in something
//! that looks at statements, a proxy.

use std::fs;
use std::time::Instant;

use client::{Connection, Error};

use crate::server::ask;

/// Pings of one look.
const PINGS: usize = 15;

/// Round trips of COM_PING, nanoseconds.
///
/// # Errors
/// The connection's.
pub(crate) fn pings(connection: &mut Connection) -> Result<Vec<f64>, Error> {
    // The first wakes both sides up.
    connection.ping()?;
    (0..PINGS)
        .map(|_| {
            let began = Instant::now();
            connection.ping()?;
            Ok(began.elapsed().as_nanos() as f64)
        })
        .collect()
}

/// The server's clock at one moment: sums since its start, nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OwnTimes {
    /// Statements of this account, the asking session left out.
    pub statement_ns: f64,
    /// Of these waiting for locks.
    pub lock_ns: f64,
    /// Statements counted.
    pub statement_count: f64,
    /// Syncs of InnoDB's files and the binary log, and their opening and closing.
    pub sync_ns: Option<f64>,
}

/// All statements of this account less those of this session; a `TIMER` column is in picoseconds.
const STATEMENTS: &str = "\
SELECT a.t - s.t, a.l - s.l, a.c - s.c FROM \
(SELECT SUM(SUM_TIMER_WAIT) t, SUM(SUM_LOCK_TIME) l, SUM(COUNT_STAR) c \
FROM performance_schema.events_statements_summary_by_user_by_event_name \
WHERE USER = SUBSTRING_INDEX(USER(), '@', 1)) a, \
(SELECT COALESCE(SUM(SUM_TIMER_WAIT), 0) t, COALESCE(SUM(SUM_LOCK_TIME), 0) l, COALESCE(SUM(COUNT_STAR), 0) c \
FROM performance_schema.events_statements_summary_by_thread_by_event_name \
WHERE THREAD_ID = (SELECT THREAD_ID FROM performance_schema.threads WHERE PROCESSLIST_ID = CONNECTION_ID())) s";

const SYNCS: &str = "\
SELECT SUM(SUM_TIMER_MISC) FROM performance_schema.file_summary_by_event_name \
WHERE EVENT_NAME LIKE 'wait/io/file/innodb/%' OR EVENT_NAME LIKE 'wait/io/file/sql/binlog'";

impl OwnTimes {
    /// Reads the clock; `None` where the server has none: no `performance_schema`, switched off, or no right to read it.
    ///
    /// # Errors
    /// The connection's.
    pub fn read(connection: &mut Connection) -> Result<Option<OwnTimes>, Error> {
        let Some(statements) = numbers(connection, STATEMENTS)? else { return Ok(None) };
        let &[Some(wait), Some(lock), Some(count)] = statements.as_slice() else { return Ok(None) };
        let syncs = numbers(connection, SYNCS)?;
        const NS_PER_PS: f64 = 1e-3;
        Ok(Some(OwnTimes {
            statement_ns: wait * NS_PER_PS,
            lock_ns: lock * NS_PER_PS,
            statement_count: count,
            sync_ns: syncs.and_then(|row| row.first().copied().flatten()).map(|ps| ps * NS_PER_PS),
        }))
    }

    /// What was added since an earlier reading; `None` if the sums were reset or count no statements.
    #[must_use]
    pub fn since(&self, earlier: &OwnTimes) -> Option<OwnTimes> {
        let added = OwnTimes {
            statement_ns: self.statement_ns - earlier.statement_ns,
            lock_ns: self.lock_ns - earlier.lock_ns,
            statement_count: self.statement_count - earlier.statement_count,
            sync_ns: self
                .sync_ns
                .zip(earlier.sync_ns)
                .map(|(now, before)| now - before)
                .filter(|added| *added >= 0.0),
        };
        (added.statement_count > 0.0 && added.statement_ns > 0.0 && added.lock_ns >= 0.0).then_some(added)
    }
}

/// The first row as numbers; `None` if the server refuses or has no row.
fn numbers(connection: &mut Connection, sql: &str) -> Result<Option<Vec<Option<f64>>>, Error> {
    match ask(connection, sql) {
        Ok(rows) => Ok(rows
            .into_iter()
            .next()
            .map(|row| row.into_iter().map(|cell| cell.and_then(|text| text.parse().ok())).collect())),
        Err(Error::Server(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// How long a CPU quota kept a process's group from running so far, nanoseconds over all cores; `None` without such a group.
/// Reads version 1 and 2 of the kernel's control groups.
#[must_use]
pub(crate) fn throttled_ns(pid: u32) -> Option<u64> {
    let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
    groups.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (_, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        let is_cpu = controllers.split(',').any(|name| name == "cpu");
        let places: &[&str] = if controllers.is_empty() {
            &["/sys/fs/cgroup", "/sys/fs/cgroup/unified"]
        } else if is_cpu {
            &["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"]
        } else {
            &[]
        };
        places
            .iter()
            .find_map(|place| parse_throttled(&fs::read_to_string(format!("{place}{path}/cpu.stat")).ok()?))
    })
}

/// From `cpu.stat`.
fn parse_throttled(text: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(' ')?;
        let value: u64 = value.trim().parse().ok()?;
        match key {
            "throttled_time" => Some(value),
            "throttled_usec" => Some(value.saturating_mul(1000)),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throttling_is_read_in_both_forms() {
        let one = "nr_periods 10\nnr_throttled 3\nthrottled_time 123456789\n";
        let two = "usage_usec 5\nnr_periods 10\nnr_throttled 3\nthrottled_usec 1500\n";
        assert_eq!(parse_throttled(one), Some(123_456_789));
        assert_eq!(parse_throttled(two), Some(1_500_000));
        assert_eq!(parse_throttled("usage_usec 5\n"), None);
    }

    #[test]
    fn a_clock_that_was_reset_says_nothing() {
        let before = OwnTimes { statement_ns: 100.0, lock_ns: 1.0, statement_count: 5.0, sync_ns: Some(9.0) };
        let after = OwnTimes { statement_ns: 300.0, lock_ns: 1.0, statement_count: 7.0, sync_ns: Some(8.0) };
        let added = after.since(&before).unwrap();
        assert_eq!((added.statement_ns, added.statement_count, added.sync_ns), (200.0, 2.0, None));
        assert_eq!(before.since(&after), None);
        assert_eq!(after.since(&after), None);
    }
}
