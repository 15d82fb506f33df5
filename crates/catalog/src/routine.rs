//! Stored procedures and functions as their CREATE left them: text, and what the text meant where it was read.
//!
//! A routine keeps its source. It is read again under its own `sql_mode` when a session first runs it, so nothing
//! compiled lies on disk. Names compare without case; schemas as everywhere, byte by byte.

use std::sync::Arc;

use hashbrown::HashMap;
use types::CollationId;
use types::charset::Charset;

use crate::name::fold_name;

/// A routine's number, unique for the life of a data folder; ALTER keeps it.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct RoutineId(pub u64);

/// Procedures and functions have names of their own each.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum RoutineKind {
    /// Called by CALL.
    Procedure,
    /// Called in expressions.
    Function,
}

impl RoutineKind {
    /// MySQL's word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Procedure => "PROCEDURE",
            Self::Function => "FUNCTION",
        }
    }
}

/// What a routine says of the SQL in it. Nothing checks it.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[allow(missing_docs, reason = "MySQL's own words")]
pub enum DataAccess {
    #[default]
    ContainsSql,
    NoSql,
    ReadsSqlData,
    ModifiesSqlData,
}

impl DataAccess {
    /// As SHOW CREATE and `information_schema` write it.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::ContainsSql => "CONTAINS SQL",
            Self::NoSql => "NO SQL",
            Self::ReadsSqlData => "READS SQL DATA",
            Self::ModifiesSqlData => "MODIFIES SQL DATA",
        }
    }
}

/// A stored procedure or function.
#[derive(Clone, Debug, PartialEq)]
pub struct RoutineDefinition {
    /// Number.
    pub id: RoutineId,
    /// Which.
    pub kind: RoutineKind,
    /// Its schema.
    pub schema: Arc<str>,
    /// Name as written.
    pub name: Arc<str>,
    /// What stood between the parentheses, UTF-8.
    pub parameters: Arc<str>,
    /// The type of a function's value as written; empty for a procedure.
    pub returns: Arc<str>,
    /// The body as written, UTF-8.
    pub body: Arc<str>,
    /// User and host of the account it belongs to.
    pub definer: (Arc<str>, Arc<str>),
    /// SQL SECURITY INVOKER: it may what its caller may, not what its definer may.
    pub invoker: bool,
    /// DETERMINISTIC.
    pub deterministic: bool,
    /// READS SQL DATA and its like.
    pub data_access: DataAccess,
    /// COMMENT.
    pub comment: Arc<str>,
    /// `sql_mode` when it was made, MySQL's bits: it is read and run under it.
    pub sql_mode: u64,
    /// `character_set_client` when it was made.
    pub client_charset: Charset,
    /// `collation_connection` when it was made: of its string literals.
    pub connection_collation: CollationId,
    /// The schema's collation when it was made: of its variables.
    pub database_collation: CollationId,
    /// Microseconds since 1970, UTC.
    pub created_micros: i64,
    /// When ALTER last changed it, as `created_micros`.
    pub modified_micros: i64,
}

type Key = (Box<str>, RoutineKind, Box<str>);

/// All routines.
#[derive(Clone, Debug, Default)]
pub struct Routines {
    by_name: HashMap<Key, Arc<RoutineDefinition>, foldhash::fast::FixedState>,
}

fn key(schema: &str, kind: RoutineKind, name: &str) -> Key {
    (schema.into(), kind, fold_name(name).into())
}

impl Routines {
    /// The routine `schema.name`.
    #[must_use]
    pub fn get(&self, schema: &str, kind: RoutineKind, name: &str) -> Option<&Arc<RoutineDefinition>> {
        self.by_name.get(&key(schema, kind, name))
    }

    /// Adds or replaces a routine under its own name.
    pub fn insert(&mut self, routine: Arc<RoutineDefinition>) {
        self.by_name.insert(key(&routine.schema, routine.kind, &routine.name), routine);
    }

    /// Removes a routine.
    pub fn remove(&mut self, routine: &RoutineDefinition) -> Option<Arc<RoutineDefinition>> {
        self.by_name.remove(&key(&routine.schema, routine.kind, &routine.name))
    }

    /// Every routine, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<RoutineDefinition>> + Clone {
        self.by_name.values()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// Whether a routine names this account as its definer.
    #[must_use]
    pub fn have_definer(&self, user: &str, host: &str) -> bool {
        self.by_name
            .values()
            .any(|routine| *routine.definer.0 == *user && routine.definer.1.eq_ignore_ascii_case(host))
    }

    /// Every routine, by schema, kind and name: functions come first, as in MySQL's tables.
    #[must_use]
    pub fn sorted(&self) -> Vec<&Arc<RoutineDefinition>> {
        let mut routines: Vec<_> = self.by_name.values().collect();
        routines.sort_unstable_by(|left, right| {
            (&left.schema, std::cmp::Reverse(left.kind), fold_name(&left.name)).cmp(&(
                &right.schema,
                std::cmp::Reverse(right.kind),
                fold_name(&right.name),
            ))
        });
        routines
    }
}
