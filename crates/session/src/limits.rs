//! Limits on what a statement, its connection and all of them use of memory (`env::memory`), and the errors of a statement that must end.
//!
//! | limit | beyond it |
//! | --- | --- |
//! | `statement_memory_limit` | the statement ends with 3170 |
//! | `global_statement_memory_limit` | the statement that asks for more ends with 3170, if its session has more than `STATEMENT_BYTES_SPARED` |
//! | `connection_memory_limit` | 4082, and the connection is closed; not for CONNECTION_ADMIN and SUPER |
//! | `global_connection_memory_limit` | 4081 likewise, with `global_connection_memory_tracking` |

use env::memory::{self, Exceeded, Limit};
use plan::progress::Stop;
use service::error::{ER_CAPACITY_EXCEEDED, ER_DA_CONN_LIMIT, ER_DA_GLOBAL_CONN_LIMIT, ER_QUERY_INTERRUPTED};
use service::{ConnectionControl, Outcome, SqlError};

/// Of the machine's memory beside the buffer pool, what `global_statement_memory_limit` is unless it is given: three quarters.
const GLOBAL_LIMIT_QUARTERS: u64 = 3;
/// `statement_memory_limit` is this part of that, unless it is given.
const STATEMENT_LIMIT_PART: u64 = 4;
/// No less than this, however small the machine.
const LIMIT_BYTES_MIN: u64 = 256 << 20;

/// `global_statement_memory_limit` and `statement_memory_limit` where nobody gave them.
#[must_use]
pub fn default_limits(machine_bytes: u64, buffer_pool_bytes: u64) -> (u64, u64) {
    let all = machine_bytes.saturating_sub(buffer_pool_bytes) / 4 * GLOBAL_LIMIT_QUARTERS;
    let all = all.max(2 * LIMIT_BYTES_MIN);
    (all, (all / STATEMENT_LIMIT_PART).max(LIMIT_BYTES_MIN))
}

/// The error of a statement that has reached a limit of memory.
#[cold]
pub(crate) fn memory_error(reached: &Exceeded) -> Box<SqlError> {
    let (limit, used) = (reached.limit_bytes, reached.used_bytes);
    let capacity = |name: &str| ER_CAPACITY_EXCEEDED.with(&[&limit, &name, &"Statement aborted."]);
    match reached.limit {
        Limit::Statement => capacity("statement_memory_limit"),
        Limit::AllStatements => capacity("global_statement_memory_limit"),
        Limit::Connection => ER_DA_CONN_LIMIT.with(&[&limit, &used]),
        Limit::AllConnections => ER_DA_GLOBAL_CONN_LIMIT.with(&[&limit, &used]),
    }
}

/// Whether the connection is closed after this error, as MySQL does where a connection's limit is reached.
pub(crate) fn closes_connection(error: &SqlError) -> bool {
    [ER_DA_CONN_LIMIT.number, ER_DA_GLOBAL_CONN_LIMIT.number].contains(&error.number)
}

/// Whether the running statement may go on.
///
/// # Errors
/// 3170, 4081, 4082 beyond a limit of memory; 1317 and 3024 of [`ConnectionControl::check`].
#[inline]
pub(crate) fn check_interrupted(control: &ConnectionControl) -> Outcome {
    if let Some(reached) = memory::exceeded() {
        return Err(memory_error(&reached));
    }
    control.check()
}

/// Why the planner was stopped.
#[cold]
pub(crate) fn stopped(why: Stop, control: &ConnectionControl) -> Box<SqlError> {
    if why == Stop::TooDeep {
        return exec::stack_overrun();
    }
    check_interrupted(control).err().unwrap_or_else(|| ER_QUERY_INTERRUPTED.bare())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_leave_room_for_the_buffer_pool() {
        let gib = 1u64 << 30;
        assert_eq!(default_limits(24 * gib, 8 * gib), (12 * gib, 3 * gib));
        assert_eq!(default_limits(gib, 4 * gib), (gib / 2, gib / 4));
    }
}
