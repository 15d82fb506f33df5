//! Limits on what a statement, its connection and all of them use of memory (`env::memory`), and the errors of a statement that must end.
//!
//! | limit | beyond it |
//! | --- | --- |
//! | `statement_memory_limit` | the statement ends with 3170 |
//! | `global_statement_memory_limit` | the statement that asks for more ends with 3170, if its session has more than `STATEMENT_BYTES_SPARED` |
//! | `connection_memory_limit` | 4082, and the connection is closed; not for CONNECTION_ADMIN and SUPER |
//! | `global_connection_memory_limit` | 4081 likewise, with `global_connection_memory_tracking` |

use env::memory::{self, Exceeded, Held, Limit, Limits, UNLIMITED};
use hashbrown::HashMap;
use plan::progress::Stop;
use service::error::{ER_CAPACITY_EXCEEDED, ER_DA_CONN_LIMIT, ER_DA_GLOBAL_CONN_LIMIT, ER_QUERY_INTERRUPTED};
use service::{ConnectionControl, Outcome, SqlError};
use types::Value;

use super::LocalSession;
use crate::variables::definition::known;

/// Of the machine's memory beside the buffer pool, what `global_statement_memory_limit` is unless it is given: three quarters.
const GLOBAL_LIMIT_QUARTERS: u64 = 3;
/// `statement_memory_limit` is this part of that, unless it is given.
const STATEMENT_LIMIT_PART: u64 = 4;
/// No less than this, however small the machine.
const LIMIT_BYTES_MIN: u64 = 256 << 20;

/// `global_statement_memory_limit` and `statement_memory_limit` where nobody gave them.
pub(crate) fn default_limits(machine_bytes: u64, buffer_pool_bytes: u64) -> (u64, u64) {
    let all = machine_bytes.saturating_sub(buffer_pool_bytes) / 4 * GLOBAL_LIMIT_QUARTERS;
    let all = all.max(2 * LIMIT_BYTES_MIN);
    (all, (all / STATEMENT_LIMIT_PART).max(LIMIT_BYTES_MIN))
}

/// The error of a statement that has reached a limit of memory.
#[cold]
pub(super) fn memory_error(reached: &Exceeded) -> Box<SqlError> {
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
pub(super) fn closes_connection(error: &SqlError) -> bool {
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

impl LocalSession {
    /// A statement begins: it is charged with what its session holds.
    #[inline]
    pub(super) fn obey_memory_limits(&self) {
        let limits = &self.variables.settings().memory_limits;
        if self.variables.settings().limits_connections {
            memory::set_limits(self.limits_of_account(), self.held_bytes());
        } else {
            memory::set_limits(*limits, self.held_bytes());
        }
    }

    #[cold]
    fn limits_of_account(&self) -> Limits {
        let limits = self.variables.settings().memory_limits;
        if self.is_connection_admin() {
            return Limits { connection: UNLIMITED, ..limits };
        }
        let all_connections = if self.variables.settings().tracks_global_memory {
            self.core.globals().unsigned(known::global_connection_memory_limit())
        } else {
            UNLIMITED
        };
        Limits { all_connections, ..limits }
    }

    /// What the session holds between its statements.
    #[inline]
    fn held_bytes(&self) -> u64 {
        self.user_variables.held.bytes() + self.prepared.held_bytes() + self.client.input_bytes()
    }

    /// So much of its client's packets is in memory now.
    ///
    /// # Errors
    /// 4081, 4082 if that is beyond a limit of the connection.
    #[cold]
    pub(super) fn note_input(&mut self, bytes: u64) -> Outcome {
        self.client.set_input_bytes(bytes);
        if !self.variables.settings().limits_connections {
            return Ok(());
        }
        match memory::held_beyond(&self.limits_of_account(), self.held_bytes()) {
            Some(reached) => Err(memory_error(&reached)),
            None => Ok(()),
        }
    }

    /// A statement has ended: counts it if it used more than the status limits.
    #[inline]
    pub(super) fn note_memory_used(&self) {
        if self.variables.settings().counts_memory {
            self.count_memory_used();
        }
    }

    #[cold]
    fn count_memory_used(&self) {
        let globals = self.core.globals();
        if memory::command_bytes().1 > globals.unsigned(known::connection_memory_status_limit()) {
            self.core.counters.memory_status_hits.increment();
        }
        if memory::total_bytes().0 > globals.unsigned(known::global_connection_memory_status_limit()) {
            self.core.counters.global_memory_status_hits.increment();
        }
    }
}

/// User variables by name in lower case, and what they take.
#[derive(Debug, Default)]
pub(crate) struct UserVariables {
    values: HashMap<Vec<u8>, Value>,
    held: Held,
}

impl UserVariables {
    pub(crate) fn get(&self, name: &[u8]) -> Option<&Value> {
        self.values.get(name)
    }

    pub(crate) fn insert(&mut self, name: Vec<u8>, value: Value) {
        let bytes = bytes_of(&value) as i64;
        let new_entry = (name.len() + size_of::<(Vec<u8>, Value)>()) as i64;
        let before = match self.values.insert(name, value) {
            Some(before) => bytes_of(&before) as i64,
            None => -new_entry,
        };
        self.held.change(bytes - before);
    }

    pub(crate) fn clear(&mut self) {
        *self = UserVariables::default();
    }
}

/// Bytes of a value outside of itself.
fn bytes_of(value: &Value) -> usize {
    match value {
        Value::Bytes { bytes, .. } => bytes.len(),
        Value::Json(document) => document.len(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_that_is_set_again_takes_no_more() {
        let mut variables = UserVariables::default();
        let mut held = Vec::new();
        for length in [10, 10, 1000, 10] {
            let value = Value::Bytes { bytes: vec![b'x'; length], collation: types::CollationId::BINARY };
            variables.insert(b"name".to_vec(), value);
            held.push(variables.held.bytes());
        }
        assert_eq!([held[0], held[2] - 990, held[3]], [held[1]; 3]);
    }

    #[test]
    fn defaults_leave_room_for_the_buffer_pool() {
        let gib = 1u64 << 30;
        assert_eq!(default_limits(24 * gib, 8 * gib), (12 * gib, 3 * gib));
        assert_eq!(default_limits(gib, 4 * gib), (gib / 2, gib / 4));
    }
}
