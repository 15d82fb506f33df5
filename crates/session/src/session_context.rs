//! The session that reads a system table: its account, its variables, and the state of the server.

use std::collections::VecDeque;
use std::sync::Arc;

use catalog::{Privileges, TableDefinition, TableKind, VirtualContext};

use crate::core::Core;
use crate::privilege::{self, SessionAccount};
use crate::processes::{Activity, Attributes};
use crate::traces::StatementTrace;
use crate::variables::{Scope, Variables, definition};

/// The number by which the process list shows the event scheduler, which is no connection.
const SCHEDULER_ID: u64 = u32::MAX as u64;

/// One line of the process list.
#[derive(Clone, Debug)]
pub struct Process {
    /// Connection.
    pub connection_id: u64,
    /// User name as given at login.
    pub user: String,
    /// `host:port`.
    pub host: String,
    /// Default database.
    pub database: Option<String>,
    /// `Sleep`, `Query` ...
    pub command: &'static str,
    /// In that state since this many seconds.
    pub seconds: u64,
    /// `executing`, or empty.
    pub state: &'static str,
    /// The statement.
    pub statement: Option<Vec<u8>>,
}

/// The session behind a query on system tables. Cheap to make: all parts are shared.
#[derive(Debug)]
pub struct SessionContext {
    /// The server.
    pub core: Arc<Core>,
    /// The session's variables.
    pub variables: Variables,
    /// The session's account with its roles.
    pub account: Option<Arc<SessionAccount>>,
    /// TLS of the session's connection.
    pub tls: Option<Arc<service::TlsDetails>>,
    /// What the session has counted by itself.
    pub counts: Vec<(&'static str, u64)>,
    /// Traces of its statements.
    pub traces: Arc<VecDeque<StatementTrace>>,
}

impl SessionContext {
    /// The context of the session that reads.
    ///
    /// # Panics
    /// If the engine ran a query over system tables without it: a mistake in this crate.
    #[must_use]
    pub fn of<'a>(context: &'a VirtualContext<'_>) -> &'a SessionContext {
        context.session.downcast_ref().expect("the engine passes the context to every query")
    }

    /// Whether the reader has `wanted` globally.
    #[must_use]
    pub fn has_global(&self, wanted: Privileges) -> bool {
        self.account.as_ref().is_none_or(|account| account.global.contains(wanted))
    }

    /// Whether the reader has `wanted` on the schema of MySQL's accounts.
    #[must_use]
    pub(crate) fn may_on_mysql(&self, wanted: Privileges) -> bool {
        let schema = crate::schema_names::MYSQL_SCHEMA;
        self.account.as_ref().is_none_or(|account| privilege::on_schema(account, schema).contains(wanted))
    }

    /// Whether the reader sees the schema.
    #[must_use]
    pub(crate) fn sees_schema(&self, schema: &str) -> bool {
        self.account.as_ref().is_none_or(|account| privilege::sees_schema(account, schema))
    }

    /// Whether the reader may see how a view is made.
    #[must_use]
    pub(crate) fn shows_view(&self, schema: &str, view: &str) -> bool {
        self.account.as_ref().is_none_or(|account| {
            privilege::on_table(account, schema, view).contains(Privileges::SELECT | Privileges::SHOW_VIEW)
        })
    }

    /// Whether the reader sees the table.
    #[must_use]
    pub(crate) fn sees_table(&self, schema: &str, table: &str) -> bool {
        self.account.as_ref().is_none_or(|account| privilege::sees_table(account, schema, table))
    }

    /// `COLUMNS.PRIVILEGES` of a column; `None` if the reader does not see it.
    #[must_use]
    pub(crate) fn column_privileges_text(&self, table: &TableDefinition, column: &str) -> Option<String> {
        let account = self.account.as_ref();
        let has = match (table.kind, account) {
            (TableKind::System, _) => Privileges::SELECT,
            (TableKind::Temporary, _) | (TableKind::Base | TableKind::View, None) => Privileges(u64::MAX),
            (TableKind::Base | TableKind::View, Some(account)) => {
                privilege::on_column_and_above(account, &table.schema, &table.name, column)
            }
        };
        let names = [
            (Privileges::SELECT, "select"),
            (Privileges::INSERT, "insert"),
            (Privileges::UPDATE, "update"),
            (Privileges::REFERENCES, "references"),
        ];
        let names: Vec<&str> =
            names.iter().filter(|(bit, _)| has.contains(*bit)).map(|(_, name)| *name).collect();
        (!names.is_empty()).then(|| names.join(","))
    }

    /// The process list as the reader sees it: all connections with PROCESS, else those of its own account.
    #[must_use]
    pub fn processes(&self) -> Vec<Process> {
        let now = self.core.env.clock.wall_micros();
        let all = self.has_global(Privileges::PROCESS);
        let own_user = self.account.as_ref().map_or("", |account| &account.user);
        let entries = self.core.processes.sorted();
        let scheduler = self.core.event_scheduler.shown().filter(|_| all);
        let scheduler = scheduler.map(|(state, since)| Process {
            connection_id: SCHEDULER_ID,
            user: "event_scheduler".to_owned(),
            host: "localhost".to_owned(),
            database: None,
            command: "Daemon",
            seconds: u64::try_from(now.saturating_sub(since) / 1_000_000).unwrap_or(0),
            state,
            statement: None,
        });
        let shown = entries.iter().map(|entry| {
            let (activity, since) = entry.activity();
            let identity = entry.identity.lock().clone();
            let idle = activity == Activity::Sleep;
            Process {
                connection_id: entry.control.connection_id,
                user: identity.user,
                host: identity.host,
                database: identity.database,
                command: activity.name(),
                seconds: u64::try_from(now.saturating_sub(since) / 1_000_000).unwrap_or(0),
                state: if idle { "" } else { "executing" },
                statement: (!idle).then(|| entry.statement()),
            }
        });
        scheduler.into_iter().chain(shown.filter(|process| all || process.user == own_user)).collect()
    }

    /// Connection attributes by connection, of the connections whose entries the reader sees, or those of its own user.
    #[must_use]
    pub(crate) fn connection_attributes(&self, own: bool) -> Vec<(u64, Attributes)> {
        let all = !own && self.has_global(Privileges::PROCESS);
        let own_user = self.account.as_ref().map_or("", |account| &account.user);
        let entries = self.core.processes.sorted();
        let seen = entries.iter().filter_map(|entry| {
            let identity = entry.identity.lock();
            let is_seen = all || identity.user == own_user;
            is_seen.then(|| (entry.control.connection_id, identity.attributes.clone()))
        });
        seen.collect()
    }

    /// Variables as SHOW VARIABLES prints them, by name.
    pub(crate) fn shown_variables(&self, global: bool) -> impl Iterator<Item = (&'static str, String)> {
        let globals = self.core.globals();
        let session = self.variables.clone();
        definition::ids().filter_map(move |id| {
            let definition = id.definition();
            let setting = match definition.scope {
                Scope::Global => globals.get(id),
                Scope::Both if global => globals.get(id),
                Scope::Session if global => return None,
                _ => session.get(id),
            };
            Some((definition.name, setting.shown()))
        })
    }

    /// Status counters, by name.
    #[must_use]
    pub fn status(&self, global: bool) -> Vec<(&'static str, String)> {
        let mut all = self.core.status();
        if !global {
            // The session's own values, over the global ones.
            let (version, cipher) = match &self.tls {
                Some(tls) => (tls.version.to_owned(), tls.cipher.clone()),
                None => (String::new(), String::new()),
            };
            let counts = self.counts.iter().map(|(name, count)| (*name, count.to_string()));
            for (name, value) in [("Ssl_version", version), ("Ssl_cipher", cipher)].into_iter().chain(counts)
            {
                match all.iter_mut().find(|(candidate, _)| *candidate == name) {
                    Some(entry) => entry.1 = value,
                    None => all.push((name, value)),
                }
            }
        }
        all.sort_unstable_by_key(|(name, _)| *name);
        all
    }
}
