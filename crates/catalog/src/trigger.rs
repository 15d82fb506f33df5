//! Triggers: a body by its text, as its CREATE left it, and which rows fire it.
//!
//! A trigger is part of its table's definition: it goes where the table goes, and whoever plans by the definition sees it. Its text
//! is read again under its own `sql_mode` when a session first needs it, so nothing compiled lies on disk.
//!
//! Invariant: within an event and a timing the triggers of a table stand in the order in which they fire.

use std::sync::Arc;

use types::CollationId;
use types::charset::Charset;

use crate::name::names_equal;

/// When a trigger fires.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum TriggerTiming {
    /// Before the row is written.
    Before,
    /// After it is written.
    After,
}

impl TriggerTiming {
    /// MySQL's word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Before => "BEFORE",
            Self::After => "AFTER",
        }
    }
}

/// What fires a trigger.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum TriggerEvent {
    /// A new row.
    Insert,
    /// A changed row.
    Update,
    /// A row that goes.
    Delete,
}

impl TriggerEvent {
    /// MySQL's word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Insert => "INSERT",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
        }
    }

    /// Whether its triggers see a new row.
    #[must_use]
    pub const fn has_new(self) -> bool {
        !matches!(self, Self::Delete)
    }

    /// Whether its triggers see an old row.
    #[must_use]
    pub const fn has_old(self) -> bool {
        !matches!(self, Self::Insert)
    }
}

/// A trigger of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct TriggerDefinition {
    /// Name as written, in the schema of its table.
    pub name: Arc<str>,
    /// When it fires.
    pub timing: TriggerTiming,
    /// What fires it.
    pub event: TriggerEvent,
    /// The body as written, UTF-8.
    pub body: Arc<str>,
    /// User and host of the account it belongs to.
    pub definer: (Arc<str>, Arc<str>),
    /// `sql_mode` when it was made, MySQL's bits: it is read and run under it.
    pub sql_mode: u64,
    /// `character_set_client` when it was made.
    pub client_charset: Charset,
    /// `collation_connection` when it was made: of its string literals.
    pub connection_collation: CollationId,
    /// The schema's collation when it was made: of its variables.
    pub database_collation: CollationId,
    /// Microseconds since 1970, UTC, to hundredths of a second.
    pub created_micros: i64,
}

impl TriggerDefinition {
    /// Whether this is its name.
    #[must_use]
    pub fn is_named(&self, name: &str) -> bool {
        names_equal(&self.name, name)
    }
}

/// The triggers among `triggers` that this fires, in order.
pub fn fired(
    triggers: &[Arc<TriggerDefinition>],
    event: TriggerEvent,
    timing: TriggerTiming,
) -> impl Iterator<Item = &Arc<TriggerDefinition>> {
    triggers.iter().filter(move |trigger| trigger.event == event && trigger.timing == timing)
}
