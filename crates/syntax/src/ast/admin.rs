//! Statements about the session and the server.

use super::{Account, Expr, Ident, Limit, ObjectName, Span, Statement, VarScope};

/// One entry of `SET`.
#[derive(Clone, Copy, Debug)]
pub enum SetItem<'a> {
    /// `@name = value`.
    UserVar {
        /// Without `@`.
        name: &'a [u8],
        /// The value.
        value: Expr<'a>,
    },
    /// `[scope] name = value`, `@@scope.name = value`. Words like `ON` and `ALL` come as a string literal.
    SystemVar {
        /// The variable and its scope.
        var: super::SysVar<'a>,
        /// The value; `None` for `DEFAULT`.
        value: Option<Expr<'a>>,
    },
    /// `NAMES charset [COLLATE collation]`; no character set for `DEFAULT`.
    Names {
        /// The character set.
        charset: Option<&'a [u8]>,
        /// The collation.
        collation: Option<&'a [u8]>,
    },
    /// `CHARACTER SET charset`; `None` for `DEFAULT`.
    Charset(Option<&'a [u8]>),
    /// `TRANSACTION ...`.
    Transaction {
        /// `Default`: only the next transaction.
        scope: VarScope,
        /// `ISOLATION LEVEL`.
        isolation: Option<Isolation>,
        /// `READ ONLY` (true), `READ WRITE` (false).
        read_only: Option<bool>,
    },
}

/// Isolation levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Isolation {
    ReadUncommitted,
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

/// Where `PREPARE` finds its text.
#[derive(Clone, Copy, Debug)]
pub enum PrepareSource<'a> {
    /// A string, decoded.
    Text(&'a [u8]),
    /// A user variable.
    UserVar(&'a [u8]),
}

/// A table to lock.
#[derive(Clone, Copy, Debug)]
pub struct LockTable<'a> {
    /// Which.
    pub name: ObjectName<'a>,
    /// Its alias.
    pub alias: Option<Ident<'a>>,
    /// How.
    pub mode: TableLock,
}

/// Kinds of table locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableLock {
    /// `READ`.
    Read,
    /// `READ LOCAL`.
    ReadLocal,
    /// `WRITE`.
    Write,
}

/// `LIKE` or `WHERE` of `SHOW`.
#[derive(Clone, Copy, Debug)]
pub enum ShowFilter<'a> {
    /// Everything.
    None,
    /// `LIKE 'pattern'`.
    Like(&'a [u8]),
    /// `WHERE condition`.
    Where(Expr<'a>),
}

/// `SHOW`.
#[derive(Clone, Copy, Debug)]
pub enum Show<'a> {
    /// `DATABASES`.
    Databases(ShowFilter<'a>),
    /// `[EXTENDED] [FULL] TABLES [FROM db]`.
    Tables {
        /// `EXTENDED`.
        extended: bool,
        /// `FULL`.
        full: bool,
        /// `FROM db`.
        schema: Option<Ident<'a>>,
        /// Filter.
        filter: ShowFilter<'a>,
    },
    /// `TABLE STATUS [FROM db]`.
    TableStatus {
        /// `FROM db`.
        schema: Option<Ident<'a>>,
        /// Filter.
        filter: ShowFilter<'a>,
    },
    /// `OPEN TABLES [FROM db]`.
    OpenTables {
        /// `FROM db`.
        schema: Option<Ident<'a>>,
        /// Filter.
        filter: ShowFilter<'a>,
    },
    /// `TRIGGERS [FROM db]`.
    Triggers {
        /// `FULL`.
        full: bool,
        /// `FROM db`.
        schema: Option<Ident<'a>>,
        /// Filter.
        filter: ShowFilter<'a>,
    },
    /// `EVENTS [FROM db]`.
    Events {
        /// `FROM db`.
        schema: Option<Ident<'a>>,
        /// Filter.
        filter: ShowFilter<'a>,
    },
    /// `[EXTENDED] [FULL] COLUMNS FROM t`.
    Columns {
        /// `EXTENDED`.
        extended: bool,
        /// `FULL`.
        full: bool,
        /// The table; `FROM db` is its schema.
        table: ObjectName<'a>,
        /// Filter.
        filter: ShowFilter<'a>,
    },
    /// `[EXTENDED] INDEX FROM t`.
    Index {
        /// `EXTENDED`.
        extended: bool,
        /// The table; `FROM db` is its schema.
        table: ObjectName<'a>,
        /// `WHERE`.
        where_: Option<Expr<'a>>,
    },
    /// `CREATE DATABASE`.
    CreateDatabase {
        /// `IF NOT EXISTS`.
        if_not_exists: bool,
        /// Which.
        name: Ident<'a>,
    },
    /// `CREATE TABLE`.
    CreateTable(ObjectName<'a>),
    /// `CREATE VIEW`.
    CreateView(ObjectName<'a>),
    /// `CREATE PROCEDURE`, `FUNCTION`, `TRIGGER`, `EVENT`, `LIBRARY`: the word and the name.
    CreateRoutine(&'static str, ObjectName<'a>),
    /// `CREATE USER`.
    CreateUser(Account<'a>),
    /// `[GLOBAL | SESSION] VARIABLES`.
    Variables {
        /// `GLOBAL`.
        global: bool,
        /// Filter.
        filter: ShowFilter<'a>,
    },
    /// `[GLOBAL | SESSION] STATUS`.
    Status {
        /// `GLOBAL`.
        global: bool,
        /// Filter.
        filter: ShowFilter<'a>,
    },
    /// `[FULL] PROCESSLIST`.
    Processlist {
        /// `FULL`.
        full: bool,
    },
    /// `[STORAGE] ENGINES`.
    Engines,
    /// `ENGINE x STATUS|MUTEX|LOGS`.
    Engine {
        /// The engine; `ALL` is `None`.
        engine: Option<&'a [u8]>,
        /// `STATUS`, `MUTEX` or `LOGS`.
        what: &'static str,
    },
    /// `WARNINGS`.
    Warnings(Option<Limit<'a>>),
    /// `ERRORS`.
    Errors(Option<Limit<'a>>),
    /// `COUNT(*) WARNINGS`.
    CountWarnings,
    /// `COUNT(*) ERRORS`.
    CountErrors,
    /// `CHARACTER SET`.
    CharacterSet(ShowFilter<'a>),
    /// `COLLATION`.
    Collation(ShowFilter<'a>),
    /// `GRANTS [FOR user [USING roles]]`.
    Grants {
        /// Whose; `None`: the current user's.
        user: Option<UserRef<'a>>,
        /// `USING`.
        using: &'a [Account<'a>],
    },
    /// `PRIVILEGES`.
    Privileges,
    /// `PLUGINS`.
    Plugins,
    /// `PROCEDURE STATUS`, `FUNCTION STATUS`, `LIBRARY STATUS`: the first word.
    RoutineStatus(&'static str, ShowFilter<'a>),
    /// `BINARY LOGS`.
    BinaryLogs,
    /// `BINARY LOG STATUS`.
    BinaryLogStatus,
    /// `REPLICAS`.
    Replicas,
    /// `REPLICA STATUS`.
    ReplicaStatus,
    /// `PROFILES`.
    Profiles,
    /// What this server does not show: the words, upper case (`PROFILE`, `BINLOG EVENTS`).
    Other(&'static str),
}

/// An account or the current one.
#[derive(Clone, Copy, Debug)]
pub enum UserRef<'a> {
    /// `CURRENT_USER`, `USER()`.
    Current,
    /// A named one.
    Named(Account<'a>),
}

/// `EXPLAIN`.
#[derive(Clone, Copy, Debug)]
pub struct Explain<'a> {
    /// `ANALYZE`.
    pub analyze: bool,
    /// `FORMAT=`: as written (`TRADITIONAL`, `JSON`, `TREE`; anything else is error 1791).
    pub format: Option<&'a [u8]>,
    /// `INTO @name`.
    pub into: Option<&'a [u8]>,
    /// `FOR SCHEMA name`.
    pub schema: Option<Ident<'a>>,
    /// What is explained.
    pub target: ExplainTarget<'a>,
}

/// What `EXPLAIN` explains.
#[derive(Clone, Copy, Debug)]
pub enum ExplainTarget<'a> {
    /// A statement, and its text.
    Statement(&'a Statement<'a>, Span),
    /// `FOR CONNECTION id`.
    Connection(&'a Expr<'a>),
}

/// `ANALYZE TABLE` and its like.
#[derive(Clone, Copy, Debug)]
pub struct Maintain<'a> {
    /// Which.
    pub kind: MaintainKind,
    /// `LOCAL`, `NO_WRITE_TO_BINLOG`.
    pub local: bool,
    /// The tables.
    pub tables: &'a [ObjectName<'a>],
    /// Option words, upper case: `QUICK`, `EXTENDED`, `FOR UPGRADE`, `USE_FRM`, `UPDATE HISTOGRAM`, `DROP HISTOGRAM`.
    pub options: &'a [&'static str],
    /// Columns of `UPDATE HISTOGRAM` and `DROP HISTOGRAM`.
    pub histogram_columns: &'a [Ident<'a>],
    /// What becomes of their histograms.
    pub histogram: Option<HistogramChange<'a>>,
}

/// `UPDATE HISTOGRAM` or `DROP HISTOGRAM`.
#[derive(Clone, Copy, Debug)]
pub enum HistogramChange<'a> {
    /// Made or given.
    Update {
        /// `WITH n BUCKETS`.
        buckets: Option<u64>,
        /// `AUTO UPDATE`.
        is_auto: bool,
        /// `USING DATA`.
        data: Option<&'a [u8]>,
    },
    /// Dropped.
    Drop,
}

/// Kinds of table maintenance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum MaintainKind {
    Analyze,
    Check,
    Optimize,
    Repair,
}

/// `FLUSH`.
#[derive(Clone, Copy, Debug)]
pub enum Flush<'a> {
    /// `TABLES [names] [WITH READ LOCK | FOR EXPORT]`.
    Tables {
        /// The tables; empty: all.
        names: &'a [ObjectName<'a>],
        /// `WITH READ LOCK`.
        read_lock: bool,
        /// `FOR EXPORT`.
        export: bool,
    },
    /// All else: each thing's words, upper case (`PRIVILEGES`, `STATUS`, `BINARY LOGS`, ...).
    Things(&'a [&'static str]),
}

/// `RESET PERSIST [[IF EXISTS] variable]`.
#[derive(Clone, Copy, Debug)]
pub struct ResetPersist<'a> {
    /// `IF EXISTS`.
    pub if_exists: bool,
    /// All, if none is named.
    pub variable: Option<super::SysVar<'a>>,
}
