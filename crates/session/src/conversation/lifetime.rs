//! What ends with a conversation: at COM_RESET_CONNECTION, COM_CHANGE_USER and the end of the connection.
//!
//! All three go through [`Session::end_conversation`], which names every part of a session; a statement that panicked goes through
//! [`Session::abandon_statement`], which does so too. A new part does not compile until it is said there what becomes of it.
//!
//! | part | reset connection | change user | end |
//! | --- | --- | --- | --- |
//! | transaction, temporary tables, locks, prepared statements | released | released | released |
//! | variables, user variables, diagnostics, LAST_INSERT_ID(), ROW_COUNT(), RAND(), `timestamp`, counters | as after a login | as after a login | dropped |
//! | account, default database | stay | replaced | dropped |
//! | FOUND_ROWS(), what the client can do | stay | stay | dropped |
//! | traces of the optimizer | dropped | dropped | dropped |
//! | plans of texts, programs of routines (each use looks at account, catalog and settings) | stay | stay | dropped |

use service::{ChangeUserRequest, Outcome};

use super::Session;
use super::routine;
use super::routines::Routines;
use super::shared::{Shared, leave_change};
use super::statement;
use super::table_state::{TableState, drop_rows_of};
use crate::backend::Backend;
use crate::processes::kept_attributes;

/// How a conversation ends.
#[derive(Clone, Copy, Debug)]
pub(super) enum End<'a> {
    /// COM_RESET_CONNECTION: the same account goes on.
    Reset,
    /// COM_CHANGE_USER: another account goes on, without a default database.
    ChangeUser(&'a ChangeUserRequest),
    /// The connection is closed.
    Close,
}

impl<B: Backend> Session<B> {
    /// Releases what the session holds of the server and, unless the connection is closed, makes it as it was after the login.
    ///
    /// # Errors
    /// The rollback's. Everything is released and reset all the same, but the account does not change.
    pub(super) fn end_conversation(&mut self, end: End<'_>) -> Outcome {
        let Self {
            // What others share is never half changed, but for the session's own entry.
            shared: Shared { core, backend, plans: _, control, process },
            tables: TableState { transaction, temporary, locks },
            client,
            account,
            database,
            variables,
            user_variables,
            prepared,
            diagnostics,
            results,
            functions,
            running,
            // The slow log goes on where it is.
            query_log: _,
            // Caches: each use looks at account, catalog and settings.
            digest_cache: _,
            routines: _,
            traces,
        } = self;
        // What others may wait for. Temporary tables after the rollback, which reads their rows.
        let rolled_back = transaction.rollback(&process.transaction);
        temporary.drop_all();
        if temporary.has_dropped() {
            drop_rows_of(temporary, &**backend, core, control);
        }
        locks.release_all(core, &**backend, &process.changing);
        prepared.clear(core);
        core.user_locks.release_all(control.connection_id);
        if matches!(end, End::Close) {
            core.processes.remove(control.connection_id);
            return rolled_back;
        }

        variables.reset(&core.globals(), control.connection_id);
        user_variables.clear();
        transaction.reset();
        diagnostics.clear();
        results.reset();
        functions.reset(core.random_u64());
        running.reset();
        process.reset();
        core.processes.reset_counts(process);
        traces.clear();
        rolled_back?;

        if let End::ChangeUser(request) = end {
            variables.set_wait_timeout(client);
            if let Some(collation) = request.collation {
                variables.set_client_collation(collation);
            }
            account.change(&core.catalog().load(), &request.account, &request.user);
            *database = None;
            let mut identity = process.identity.lock();
            identity.user.clone_from(&request.user);
            identity.account = (request.account.user.clone(), request.account.host.clone());
            identity.attributes = kept_attributes(&request.attributes);
            identity.database = None;
        }
        self.note_tracing();
        Ok(())
    }

    /// A statement panicked: nothing runs any longer, and its transaction is rolled back. What the client has made of the session stays.
    ///
    /// # Errors
    /// The rollback's. Everything else has been done.
    pub(super) fn abandon_statement(&mut self) -> Outcome {
        // Routines put back what they had changed of the session.
        routine::pop_frames(self);
        let Self {
            // What others share is never half changed.
            shared: Shared { core, backend, plans: _, control, process },
            // LOCK TABLES that did not come to its end has released what it took.
            tables: TableState { transaction, temporary, locks: _ },
            prepared,
            running,
            digest_cache,
            routines,
            traces: _,
            // What the client has said and been answered.
            client: _,
            account: _,
            database: _,
            variables: _,
            user_variables: _,
            diagnostics: _,
            results: _,
            functions: _,
            query_log: _,
        } = self;
        running.reset();
        process.reset();
        *routines = Routines::default();
        *digest_cache = Some(Box::default());
        prepared.count_all();
        leave_change(core, process);
        process.end(core.env.clock.wall_micros_coarse());
        let rolled_back = transaction.rollback(&process.transaction);
        transaction.keep_rolled_back_branch();
        // The transaction of a statement that had lent it is gone with the panic; another one is there.
        transaction.set_control(control);
        if temporary.has_dropped() {
            drop_rows_of(temporary, &**backend, core, control);
        }
        rolled_back
    }
}

impl<B: Backend> Drop for Session<B> {
    fn drop(&mut self) {
        if self.shared.core.logs.general_is_on() {
            statement::log_general(&self.shared, self.variables.settings(), "Quit", &&b""[..]);
        }
        // An error has been written to the log by the store, and there is no client any more.
        let _ = self.end_conversation(End::Close);
    }
}
