//! A session's own system variables, and what statements read of them.
//!
//! Invariant: [`Settings`] are those of the variables. Whoever changes a variable does so through this type, which derives them again.

use std::ops::Deref;

use service::Capabilities;
use types::collation::CollationId;

use super::client::Client;
use crate::variables::definition::known;
use crate::variables::settings::Settings;
use crate::variables::{Setting, VariableId, Variables};

/// System variables of a session. Read as [`Variables`].
#[derive(Debug)]
pub(crate) struct SessionVariables {
    values: Variables,
    settings: Settings,
    /// Counts changes.
    generation: u64,
}

impl SessionVariables {
    /// `lock_wait_timeout`: how long a statement waits for metadata locks.
    #[inline]
    pub(crate) fn lock_wait(&self) -> std::time::Duration {
        std::time::Duration::from_secs(self.unsigned(known::lock_wait_timeout()))
    }

    /// As after a login: the server's values and the number of the connection.
    pub(super) fn new(globals: &Variables, connection_id: u64) -> Self {
        let mut values = globals.clone();
        values.set(known::pseudo_thread_id(), Setting::Integer(i128::from(connection_id)));
        Self { settings: Settings::derive(&values), values, generation: 0 }
    }

    /// The same once more.
    pub(super) fn reset(&mut self, globals: &Variables, connection_id: u64) {
        let generation = self.generation + 1;
        *self = Self { generation, ..Self::new(globals, connection_id) };
    }

    /// What statements read.
    #[inline]
    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Another number after each change of variables that settings are derived from.
    #[inline]
    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    /// Changes variables.
    pub(crate) fn set(&mut self, changes: impl IntoIterator<Item = (VariableId, Setting)>) {
        for (id, setting) in changes {
            self.values.set(id, setting);
        }
        self.generation += 1;
        self.settings = Settings::derive(&self.values);
    }

    /// The collation that a client names at login sets the three character sets.
    pub(super) fn set_client_collation(&mut self, collation: u16) {
        // A collation this server lacks, or no client can have, becomes the default, as in MySQL for one it does not know.
        let collation = CollationId::from_id(collation)
            .filter(|collation| collation.charset().is_for_clients())
            .unwrap_or(CollationId::UTF8MB4_0900_AI_CI);
        let charset = Setting::text(collation.charset().name());
        self.set([
            (known::character_set_client(), charset.clone()),
            (known::character_set_connection(), charset.clone()),
            (known::character_set_results(), charset),
            (known::collation_connection(), Setting::text(collation.name())),
        ]);
    }

    /// The default database has this collation.
    pub(super) fn set_database_collation(&mut self, collation: CollationId) {
        // No setting is derived from these two.
        self.values.set(known::collation_database(), Setting::text(collation.name()));
        self.values.set(known::character_set_database(), Setting::text(collation.charset().name()));
    }

    /// Gives an interactive client its own `wait_timeout`, which no setting is derived from.
    pub(super) fn set_wait_timeout(&mut self, client: &Client) {
        if client.has(Capabilities::INTERACTIVE) {
            let interactive = self.values.get(known::interactive_timeout()).clone();
            self.values.set(known::wait_timeout(), interactive);
        }
    }
}

impl Deref for SessionVariables {
    type Target = Variables;

    #[inline]
    fn deref(&self) -> &Variables {
        &self.values
    }
}
