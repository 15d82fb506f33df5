//! Accounts, roles, privileges.

use super::{Ident, ObjectName, UserRef};

/// `'user'@'host'`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Account<'a> {
    /// The user; empty for `CURRENT_USER` where it may stand (then `current` is true).
    pub user: &'a [u8],
    /// The host; `%` if not written.
    pub host: &'a [u8],
    /// `CURRENT_USER` was written.
    pub current: bool,
}

/// `IDENTIFIED ...` of one account.
#[derive(Clone, Copy, Debug, Default)]
pub struct Auth<'a> {
    /// `WITH plugin`.
    pub plugin: Option<&'a [u8]>,
    /// `BY 'password'`.
    pub password: Option<&'a [u8]>,
    /// `BY RANDOM PASSWORD`.
    pub random_password: bool,
    /// `AS 'hash'`.
    pub hash: Option<&'a [u8]>,
    /// `REPLACE 'current password'`.
    pub replace: Option<&'a [u8]>,
    /// `RETAIN CURRENT PASSWORD`.
    pub retain_current: bool,
    /// `DISCARD OLD PASSWORD`.
    pub discard_old: bool,
    /// More than one factor, or registration: 1235.
    pub multi_factor: bool,
}

impl Auth<'_> {
    /// Whether `IDENTIFIED` is written, which sets the password: to none if it says nothing of it.
    #[must_use]
    pub fn changes_password(&self) -> bool {
        self.plugin.is_some() || self.password.is_some() || self.random_password || self.hash.is_some()
    }
}

/// An account and how it proves itself.
#[derive(Clone, Copy, Debug)]
pub struct UserSpec<'a> {
    /// Which.
    pub user: UserRef<'a>,
    /// How.
    pub auth: Auth<'a>,
}

/// `REQUIRE`, `WITH`, `PASSWORD ...`, `ACCOUNT ...`, `COMMENT`.
#[derive(Clone, Copy, Debug)]
pub enum UserOption<'a> {
    /// `REQUIRE NONE`.
    RequireNone,
    /// `REQUIRE SSL`.
    RequireSsl,
    /// `REQUIRE X509`.
    RequireX509,
    /// `REQUIRE SUBJECT|ISSUER|CIPHER 'text'`.
    RequireCert(&'static str, &'a [u8]),
    /// `MAX_QUERIES_PER_HOUR` and its like: the word and the number.
    Limit(&'static str, u64),
    /// `PASSWORD EXPIRE` (now).
    PasswordExpire,
    /// `PASSWORD EXPIRE DEFAULT`.
    PasswordExpireDefault,
    /// `PASSWORD EXPIRE NEVER`.
    PasswordExpireNever,
    /// `PASSWORD EXPIRE INTERVAL n DAY`.
    PasswordExpireDays(u64),
    /// `PASSWORD HISTORY n`; `None` for `DEFAULT`.
    PasswordHistory(Option<u64>),
    /// `PASSWORD REUSE INTERVAL n DAY`; `None` for `DEFAULT`.
    PasswordReuseDays(Option<u64>),
    /// `PASSWORD REQUIRE CURRENT [DEFAULT | OPTIONAL]`: true, `None`, false.
    PasswordRequireCurrent(Option<bool>),
    /// `FAILED_LOGIN_ATTEMPTS n`.
    FailedLoginAttempts(u64),
    /// `PASSWORD_LOCK_TIME n`; `None` for `UNBOUNDED`.
    PasswordLockTime(Option<u64>),
    /// `ACCOUNT LOCK` (true), `ACCOUNT UNLOCK`.
    AccountLock(bool),
    /// `COMMENT 'text'`.
    Comment(&'a [u8]),
    /// `ATTRIBUTE 'json'`.
    Attribute(&'a [u8]),
}

/// `CREATE USER`.
#[derive(Clone, Copy, Debug)]
pub struct CreateUser<'a> {
    /// `IF NOT EXISTS`.
    pub if_not_exists: bool,
    /// The accounts.
    pub users: &'a [UserSpec<'a>],
    /// `DEFAULT ROLE`.
    pub default_roles: &'a [Account<'a>],
    /// Options for all of them.
    pub options: &'a [UserOption<'a>],
}

/// `ALTER USER`.
#[derive(Clone, Copy, Debug)]
pub struct AlterUser<'a> {
    /// `IF EXISTS`.
    pub if_exists: bool,
    /// The accounts.
    pub users: &'a [UserSpec<'a>],
    /// Options for all of them.
    pub options: &'a [UserOption<'a>],
}

/// `GRANT`.
#[derive(Clone, Copy, Debug)]
pub enum Grant<'a> {
    /// `GRANT privileges ON object TO users`.
    Privileges {
        /// The privileges; empty: `ALL`.
        privileges: &'a [Privilege<'a>],
        /// On what.
        object: GrantObject<'a>,
        /// To whom.
        users: &'a [Account<'a>],
        /// `WITH GRANT OPTION`.
        grant_option: bool,
        /// `AS user ...`.
        as_user: bool,
    },
    /// `GRANT roles TO users`.
    Roles {
        /// The roles.
        roles: &'a [Account<'a>],
        /// To whom.
        users: &'a [Account<'a>],
        /// `WITH ADMIN OPTION`.
        admin_option: bool,
    },
    /// `GRANT PROXY ON a TO b`.
    Proxy {
        /// Who is impersonated.
        proxied: Account<'a>,
        /// By whom.
        users: &'a [Account<'a>],
        /// `WITH GRANT OPTION`.
        grant_option: bool,
    },
}

/// `REVOKE`.
#[derive(Clone, Copy, Debug)]
pub struct Revoke<'a> {
    /// `IF EXISTS`.
    pub if_exists: bool,
    /// `IGNORE UNKNOWN USER`.
    pub ignore_unknown_user: bool,
    /// What.
    pub what: RevokeWhat<'a>,
    /// From whom.
    pub users: &'a [Account<'a>],
}

/// What is revoked.
#[derive(Clone, Copy, Debug)]
pub enum RevokeWhat<'a> {
    /// `privileges ON object`; empty: `ALL`.
    Privileges(&'a [Privilege<'a>], GrantObject<'a>),
    /// `ALL PRIVILEGES, GRANT OPTION`.
    Everything,
    /// Roles.
    Roles(&'a [Account<'a>]),
    /// `PROXY ON user`.
    Proxy(Account<'a>),
}

/// One privilege.
#[derive(Clone, Copy, Debug)]
pub struct Privilege<'a> {
    /// Static privileges as MySQL names them, upper case (`SELECT`, `CREATE TEMPORARY TABLES`, `GRANT OPTION`);
    /// dynamic ones as written (`BACKUP_ADMIN`).
    pub name: &'a [u8],
    /// Only these columns; empty: no list.
    pub columns: &'a [Ident<'a>],
}

/// Where a privilege holds.
#[derive(Clone, Copy, Debug)]
pub enum GrantObject<'a> {
    /// `*.*`.
    Global,
    /// `db.*`, and `*` (the current database: `None`).
    Schema(Option<Ident<'a>>),
    /// `[db.]table`.
    Table(ObjectName<'a>),
    /// `PROCEDURE`, `FUNCTION` or `LIBRARY` and its name.
    Routine(&'static str, ObjectName<'a>),
}

/// `SET PASSWORD`.
#[derive(Clone, Copy, Debug)]
pub struct SetPassword<'a> {
    /// Whose.
    pub user: UserRef<'a>,
    /// The new one; `None` for `TO RANDOM`.
    pub password: Option<&'a [u8]>,
    /// `REPLACE`.
    pub replace: Option<&'a [u8]>,
    /// `RETAIN CURRENT PASSWORD`.
    pub retain_current: bool,
}

/// `SET ROLE`.
#[derive(Clone, Copy, Debug)]
pub enum SetRole<'a> {
    /// `NONE`.
    None,
    /// `DEFAULT`.
    Default,
    /// `ALL`.
    All,
    /// `ALL EXCEPT roles`.
    AllExcept(&'a [Account<'a>]),
    /// Roles.
    Roles(&'a [Account<'a>]),
}

/// `SET DEFAULT ROLE`.
#[derive(Clone, Copy, Debug)]
pub struct SetDefaultRole<'a> {
    /// Which roles: `None`, `All` or `Roles`.
    pub roles: SetRole<'a>,
    /// Whose.
    pub users: &'a [Account<'a>],
}
