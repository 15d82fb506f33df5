//! What ends with a conversation: at COM_RESET_CONNECTION, COM_CHANGE_USER and the end of the connection.
//!
//! All three go through [`Session::end_conversation`], the one place that names every part of a session. A new part does not
//! compile until it is said there what becomes of it.
//!
//! | part | reset connection | change user | end |
//! | --- | --- | --- | --- |
//! | transaction, temporary tables, locks, prepared statements | released | released | released |
//! | variables, user variables, diagnostics, LAST_INSERT_ID(), ROW_COUNT(), RAND(), `timestamp`, counters | as after a login | as after a login | dropped |
//! | account, default database | stay | replaced | dropped |
//! | FOUND_ROWS(), what the client can do | stay | stay | dropped |
//! | plans of texts, programs of routines (each use looks at account, catalog and settings) | stay | stay | dropped |

use service::{ChangeUserRequest, Outcome};

use super::Session;
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
            core,
            backend,
            shared_plans: _,
            control,
            process,
            client,
            account,
            database,
            variables,
            user_variables,
            transaction,
            temporary,
            locks,
            prepared,
            diagnostics,
            results,
            functions,
            running,
            // The slow log goes on where it is.
            query_log: _,
            // Caches: each use looks at account, catalog and settings.
            templates: _,
            routines: _,
        } = self;
        // What others may wait for. Temporary tables after the rollback, which reads their rows.
        let rolled_back = transaction.rollback(&process.transaction);
        temporary.drop_all();
        if temporary.has_dropped() {
            let dropped = backend.drop_temporary(&temporary.take_dropped());
            super::warn_of_trees_left(core, control, dropped);
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
        Ok(())
    }
}

impl<B: Backend> Drop for Session<B> {
    fn drop(&mut self) {
        if self.core.logs.general_is_on() {
            self.log_general("Quit", &&b""[..]);
        }
        // An error has been written to the log by the store, and there is no client any more.
        let _ = self.end_conversation(End::Close);
    }
}
