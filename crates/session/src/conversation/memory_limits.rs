//! What a session's statements and its connection may use of memory ([`crate::limits`]), and what it holds between statements.

use env::memory::{self, Limits, UNLIMITED};
use service::Outcome;

use super::Session;
use crate::backend::Backend;
use crate::limits::memory_error;
use crate::variables::definition::known;

impl<B: Backend> Session<B> {
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
        self.user_variables.held_bytes() + self.prepared.held_bytes() + self.client.input_bytes()
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
