//! The tree a statement becomes: what was written, with its place in the text, and nothing about its meaning.
//!
//! Every node lives in the caller's arena (`bumpalo::Bump`) or borrows from the statement text, so a tree is
//! freed by resetting the arena and building it costs no allocator call. All nodes are `Copy` or behind a
//! shared reference. Names are bytes in the connection's character set, already freed of their quotes.
//!
//! Invariants:
//! 1. A `Span` lies inside the text that was parsed; `start <= end`.
//! 2. Parameters (`?`) are numbered from 0 in the order of the text, without gaps.
//! 3. A `VALUES` list holds no tree per literal: see [`values::ValuesRows`].
//! 4. Synonyms that mean exactly the same are one node (`DATE_ADD` and `TIMESTAMPADD`, `<>` and `!=`).
//!
//! Read next: `expr`, `query`, `dml`, `ddl`, `routine`, `admin`, `account`.

pub mod account;
pub mod admin;
pub mod ddl;
pub mod dml;
pub mod expr;
pub mod query;
pub mod routine;
pub mod values;

pub use account::*;
pub use admin::*;
pub use ddl::*;
pub use dml::*;
pub use expr::*;
pub use query::*;
pub use routine::*;
pub use values::*;

/// A place in the statement text: byte offsets, `end` exclusive.
#[derive(Clone, Copy, Default, Eq, PartialEq, Hash)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset after the last byte.
    pub end: u32,
}

impl std::fmt::Debug for Span {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "@{}..{}", self.start, self.end)
    }
}

impl Span {
    /// The bytes of `text` this span names.
    #[must_use]
    pub fn of(self, text: &[u8]) -> &[u8] {
        &text[self.start as usize..self.end as usize]
    }

    /// From the start of `self` to the end of `last`.
    #[must_use]
    pub fn to(self, last: Span) -> Span {
        Span { start: self.start, end: last.end }
    }
}

/// A name, quoted or not.
#[derive(Clone, Copy)]
pub struct Ident<'a> {
    /// The name itself: quotes removed, doubled quotes undone.
    pub text: &'a [u8],
    /// Where it stands, quotes included.
    pub span: Span,
}

impl std::fmt::Debug for Ident<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}`{:?}", self.text.escape_ascii(), self.span)
    }
}

impl Ident<'_> {
    /// Compares ASCII letters without case (keywords used as names, function and variable names).
    #[must_use]
    pub fn is(&self, name: &str) -> bool {
        self.text.eq_ignore_ascii_case(name.as_bytes())
    }
}

/// `[schema.]name` of a table, view, routine, trigger or event.
#[derive(Clone, Copy, Debug)]
pub struct ObjectName<'a> {
    /// The schema, if written.
    pub schema: Option<Ident<'a>>,
    /// The object.
    pub name: Ident<'a>,
}

/// One statement.
#[derive(Clone, Copy, Debug)]
pub enum Statement<'a> {
    /// Nothing but blanks and comments (MySQL: 1065 "Query was empty").
    Empty,
    /// `SELECT`, `TABLE`, `VALUES`, with their `WITH`, set operations and parentheses.
    Query(&'a Query<'a>),
    /// `INSERT` and `REPLACE`.
    Insert(&'a Insert<'a>),
    /// `UPDATE`, of one or of several tables.
    Update(&'a Update<'a>),
    /// `DELETE`, of one or of several tables.
    Delete(&'a Delete<'a>),
    /// `LOAD DATA`.
    LoadData(&'a LoadData<'a>),
    /// `DO expr, ...`.
    Do(&'a [Expr<'a>]),
    /// `CALL name(args)`.
    Call(&'a Call<'a>),

    /// `CREATE DATABASE`.
    CreateDatabase(&'a CreateDatabase<'a>),
    /// `ALTER DATABASE`.
    AlterDatabase(&'a AlterDatabase<'a>),
    /// `DROP DATABASE`.
    DropDatabase {
        /// `IF EXISTS` was written.
        if_exists: bool,
        /// The database.
        name: Ident<'a>,
    },
    /// `CREATE TABLE` in all its forms.
    CreateTable(&'a CreateTable<'a>),
    /// `ALTER TABLE`.
    AlterTable(&'a AlterTable<'a>),
    /// `DROP TABLE`.
    DropTable(&'a DropTable<'a>),
    /// `TRUNCATE [TABLE] t`.
    Truncate(ObjectName<'a>),
    /// `RENAME TABLE a TO b, ...`: pairs of old and new name.
    RenameTable(&'a [(ObjectName<'a>, ObjectName<'a>)]),
    /// `CREATE INDEX`.
    CreateIndex(&'a CreateIndex<'a>),
    /// `DROP INDEX`.
    DropIndex(&'a DropIndex<'a>),
    /// `CREATE VIEW` and `ALTER VIEW`.
    CreateView(&'a CreateView<'a>),
    /// `DROP VIEW`.
    DropView {
        /// `IF EXISTS` was written.
        if_exists: bool,
        /// The views.
        names: &'a [ObjectName<'a>],
    },

    /// `CREATE PROCEDURE`, `CREATE FUNCTION`.
    CreateRoutine(&'a CreateRoutine<'a>),
    /// `ALTER PROCEDURE`, `ALTER FUNCTION`.
    AlterRoutine(&'a AlterRoutine<'a>),
    /// `DROP PROCEDURE`, `DROP FUNCTION`.
    DropRoutine(&'a DropRoutine<'a>),
    /// `CREATE TRIGGER`.
    CreateTrigger(&'a CreateTrigger<'a>),
    /// `DROP TRIGGER`.
    DropTrigger {
        /// `IF EXISTS`.
        if_exists: bool,
        /// Its name.
        name: ObjectName<'a>,
    },
    /// `CREATE EVENT`.
    CreateEvent(&'a CreateEvent<'a>),
    /// `ALTER EVENT`.
    AlterEvent(&'a AlterEvent<'a>),
    /// `DROP EVENT`.
    DropEvent {
        /// `IF EXISTS`.
        if_exists: bool,
        /// Its name.
        name: ObjectName<'a>,
    },
    /// `SIGNAL`, `RESIGNAL`.
    Signal(&'a Signal<'a>),
    /// `GET DIAGNOSTICS`.
    GetDiagnostics(&'a GetDiagnostics<'a>),

    /// `START TRANSACTION`, `BEGIN`.
    StartTransaction {
        /// `WITH CONSISTENT SNAPSHOT`.
        consistent_snapshot: bool,
        /// `READ ONLY` (true) or `READ WRITE` (false).
        read_only: Option<bool>,
    },
    /// `COMMIT`.
    Commit(Completion),
    /// `ROLLBACK`.
    Rollback(Completion),
    /// `SAVEPOINT name`.
    Savepoint(Ident<'a>),
    /// `ROLLBACK TO [SAVEPOINT] name`.
    RollbackTo(Ident<'a>),
    /// `RELEASE SAVEPOINT name`.
    ReleaseSavepoint(Ident<'a>),
    /// `XA ...`.
    Xa(Xa<'a>),
    /// `LOCK TABLES`.
    LockTables(&'a [LockTable<'a>]),
    /// `UNLOCK TABLES`.
    UnlockTables,
    /// `LOCK INSTANCE FOR BACKUP`.
    LockInstance,
    /// `UNLOCK INSTANCE`.
    UnlockInstance,

    /// `SET a = 1, ...`, `SET NAMES`, `SET TRANSACTION`, ...
    Set(&'a [SetItem<'a>]),
    /// `SHOW ...`.
    Show(&'a Show<'a>),
    /// `EXPLAIN statement`.
    Explain(&'a Explain<'a>),
    /// `DESCRIBE table [column]`, the same as `SHOW COLUMNS`.
    Describe {
        /// The table.
        table: ObjectName<'a>,
        /// A column or a `LIKE` pattern.
        column: Option<&'a [u8]>,
    },
    /// `USE name`.
    Use(Ident<'a>),
    /// `KILL [CONNECTION | QUERY] id`.
    Kill {
        /// Only the statement that runs, not the connection.
        query_only: bool,
        /// The connection's number.
        id: &'a Expr<'a>,
    },
    /// `PREPARE name FROM ...`.
    Prepare {
        /// The name it gets.
        name: Ident<'a>,
        /// Where the text is.
        from: PrepareSource<'a>,
    },
    /// `EXECUTE name USING @a, ...`.
    Execute {
        /// The prepared statement.
        name: Ident<'a>,
        /// User variables, without `@`.
        using: &'a [&'a [u8]],
    },
    /// `DEALLOCATE PREPARE name`, `DROP PREPARE name`.
    Deallocate(Ident<'a>),
    /// `ANALYZE`, `CHECK`, `OPTIMIZE`, `REPAIR TABLE`.
    Maintain(&'a Maintain<'a>),
    /// `CHECKSUM TABLE names [QUICK | EXTENDED]`.
    Checksum {
        /// The tables.
        tables: &'a [ObjectName<'a>],
        /// `QUICK`.
        is_quick: bool,
    },
    /// `FLUSH ...`.
    Flush(&'a Flush<'a>),
    /// `RESET BINARY LOGS AND GTIDS`, `RESET REPLICA`: the words after `RESET`, upper case.
    Reset(&'static str),
    /// `RESET PERSIST`.
    ResetPersist(&'a ResetPersist<'a>),
    /// `HELP 'topic'`.
    Help(&'a [u8]),
    /// `SHUTDOWN`.
    Shutdown,
    /// `RESTART`.
    Restart,
    /// `BINLOG 'base64'` (decoded string literal).
    Binlog(&'a [u8]),

    /// `CREATE USER`.
    CreateUser(&'a CreateUser<'a>),
    /// `ALTER USER`.
    AlterUser(&'a AlterUser<'a>),
    /// `DROP USER`.
    DropUser {
        /// `IF EXISTS` was written.
        if_exists: bool,
        /// The accounts.
        users: &'a [Account<'a>],
    },
    /// `RENAME USER a TO b, ...`.
    RenameUser(&'a [(Account<'a>, Account<'a>)]),
    /// `CREATE ROLE`.
    CreateRole {
        /// `IF NOT EXISTS` was written.
        if_not_exists: bool,
        /// The roles.
        roles: &'a [Account<'a>],
    },
    /// `DROP ROLE`.
    DropRole {
        /// `IF EXISTS` was written.
        if_exists: bool,
        /// The roles.
        roles: &'a [Account<'a>],
    },
    /// `GRANT`.
    Grant(&'a Grant<'a>),
    /// `REVOKE`.
    Revoke(&'a Revoke<'a>),
    /// `SET PASSWORD`.
    SetPassword(&'a SetPassword<'a>),
    /// `SET ROLE`.
    SetRole(SetRole<'a>),
    /// `SET DEFAULT ROLE`, `ALTER USER ... DEFAULT ROLE`.
    SetDefaultRole(&'a SetDefaultRole<'a>),

    /// Correct MySQL that this server does not run: answered with 1235 and `what`.
    Unsupported {
        /// What it is, as MySQL names it: `CREATE TRIGGER`, `HANDLER`, `XA`, ...
        what: &'static str,
    },
}

/// `XA ...`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Xa<'a> {
    /// `XA START xid`, `XA BEGIN xid`.
    Start {
        /// The name.
        xid: Xid<'a>,
        /// `JOIN`, `RESUME`.
        onto: Option<XaOnto>,
    },
    /// `XA END xid`.
    End {
        /// The name.
        xid: Xid<'a>,
        /// `SUSPEND`, with or without `FOR MIGRATE`.
        suspends: bool,
    },
    /// `XA PREPARE xid`.
    Prepare(Xid<'a>),
    /// `XA COMMIT xid`.
    Commit {
        /// The name.
        xid: Xid<'a>,
        /// `ONE PHASE`.
        one_phase: bool,
    },
    /// `XA ROLLBACK xid`.
    Rollback(Xid<'a>),
    /// `XA RECOVER`.
    Recover {
        /// `CONVERT XID`: names in hexadecimal.
        converts: bool,
    },
}

/// What `XA START` goes on with.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum XaOnto {
    /// `JOIN`.
    Join,
    /// `RESUME`.
    Resume,
}

/// The name of an XA transaction.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Xid<'a> {
    /// `gtrid`, at most 64 bytes.
    pub transaction: &'a [u8],
    /// `bqual`, at most 64 bytes.
    pub branch: &'a [u8],
    /// `formatID`; 1 where it is not written.
    pub format: u64,
}

/// What follows `COMMIT` and `ROLLBACK`.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Completion {
    /// `AND CHAIN` (true), `AND NO CHAIN` (false), neither: `completion_type` decides.
    pub chain: Option<bool>,
    /// `RELEASE` (true), `NO RELEASE` (false), neither: `completion_type` decides.
    pub release: Option<bool>,
}

impl Completion {
    /// What it says, and where it says nothing what `by_default` says.
    #[must_use]
    pub fn or(self, by_default: Self) -> Self {
        Self { chain: self.chain.or(by_default.chain), release: self.release.or(by_default.release) }
    }
}
