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
//! | plans of texts, programs of routines (each use looks at account, catalog and settings) | stay | stay | dropped |

use service::{ChangeUserRequest, ConnectionControl, Outcome};

use super::Session;
use super::lock_tables::leave_change;
use super::routine::Routines;
use crate::backend::Backend;
use crate::core::Core;
use crate::processes::kept_attributes;
use crate::temporary::TemporaryTables;

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

    /// A statement panicked: nothing runs any longer, and its transaction is rolled back. What the client has made of the session stays.
    ///
    /// # Errors
    /// The rollback's. Everything else has been done.
    pub(super) fn abandon_statement(&mut self) -> Outcome {
        // Routines put back what they had changed of the session.
        self.pop_frames();
        let Self {
            core,
            backend,
            control,
            process,
            transaction,
            temporary,
            prepared,
            running,
            templates,
            routines,
            // What others share is never half changed.
            shared_plans: _,
            // What the client has said and been answered.
            client: _,
            account: _,
            database: _,
            variables: _,
            user_variables: _,
            locks: _,
            diagnostics: _,
            results: _,
            functions: _,
            query_log: _,
        } = self;
        running.reset();
        process.reset();
        *routines = Routines::default();
        *templates = Some(Box::default());
        prepared.count_all();
        leave_change(core, process);
        process.end(core.env.clock.wall_micros_coarse());
        let rolled_back = transaction.rollback(&process.transaction);
        if temporary.has_dropped() {
            drop_rows_of(temporary, &**backend, core, control);
        }
        rolled_back
    }
}

/// Drops the rows of temporary tables that the session has dropped.
#[cold]
pub(super) fn drop_rows_of<B: Backend>(
    temporary: &mut TemporaryTables,
    backend: &B,
    core: &Core,
    control: &ConnectionControl,
) {
    if let Err(error) = backend.drop_temporary(&temporary.take_dropped()) {
        // That is no failure of who dropped the tables.
        let (connection, why) = (control.connection_id, &error.message);
        let text = format!("The space of connection {connection}'s temporary tables is freed later: {why}");
        crate::error_log::warning(&core.env, &text);
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
