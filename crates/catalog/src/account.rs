//! Accounts and what they may do.

use std::ops::{BitAnd, BitOr, BitOrAssign, Not};
use std::sync::Arc;

use crate::routine::RoutineKind;

/// An account's number, unique for the life of a data folder.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct AccountId(pub u32);

/// A set of privileges: one bit each, in the order of MySQL's privilege columns.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct Privileges(pub u64);

macro_rules! privileges {
    ($($bit:literal $name:ident $text:literal;)*) => {
        #[allow(missing_docs, reason = "MySQL's own words")]
        impl Privileges {
            $(pub const $name: Self = Self(1 << $bit);)*

            /// Every single privilege with its name as GRANT and SHOW GRANTS write it, in SHOW GRANTS' order.
            pub const ALL: &'static [(Self, &'static str)] = &[$((Self::$name, $text)),*];
        }
    };
}

privileges! {
    0 SELECT "SELECT";
    1 INSERT "INSERT";
    2 UPDATE "UPDATE";
    3 DELETE "DELETE";
    4 CREATE "CREATE";
    5 DROP "DROP";
    6 RELOAD "RELOAD";
    7 SHUTDOWN "SHUTDOWN";
    8 PROCESS "PROCESS";
    9 FILE "FILE";
    10 REFERENCES "REFERENCES";
    11 INDEX "INDEX";
    12 ALTER "ALTER";
    13 SHOW_DATABASES "SHOW DATABASES";
    14 SUPER "SUPER";
    15 CREATE_TEMPORARY_TABLES "CREATE TEMPORARY TABLES";
    16 LOCK_TABLES "LOCK TABLES";
    17 EXECUTE "EXECUTE";
    18 REPLICATION_SLAVE "REPLICATION SLAVE";
    19 REPLICATION_CLIENT "REPLICATION CLIENT";
    20 CREATE_VIEW "CREATE VIEW";
    21 SHOW_VIEW "SHOW VIEW";
    22 CREATE_ROUTINE "CREATE ROUTINE";
    23 ALTER_ROUTINE "ALTER ROUTINE";
    24 CREATE_USER "CREATE USER";
    25 EVENT "EVENT";
    26 TRIGGER "TRIGGER";
    27 CREATE_TABLESPACE "CREATE TABLESPACE";
    28 CREATE_ROLE "CREATE ROLE";
    29 DROP_ROLE "DROP ROLE";
    63 GRANT_OPTION "GRANT OPTION";
}

impl Privileges {
    /// No privilege (USAGE).
    pub const NONE: Self = Self(0);

    /// What ALL means at the global level, without GRANT OPTION.
    pub const GLOBAL: Self = Self((1 << 30) - 1);

    /// What ALL means for a schema, without GRANT OPTION.
    pub const SCHEMA: Self = Self(
        Self::TABLE.0
            | Self::CREATE_TEMPORARY_TABLES.0
            | Self::LOCK_TABLES.0
            | Self::EXECUTE.0
            | Self::CREATE_ROUTINE.0
            | Self::ALTER_ROUTINE.0
            | Self::EVENT.0,
    );

    /// What ALL means for a table, without GRANT OPTION.
    pub const TABLE: Self = Self(
        Self::SELECT.0
            | Self::INSERT.0
            | Self::UPDATE.0
            | Self::DELETE.0
            | Self::CREATE.0
            | Self::DROP.0
            | Self::REFERENCES.0
            | Self::INDEX.0
            | Self::ALTER.0
            | Self::CREATE_VIEW.0
            | Self::SHOW_VIEW.0
            | Self::TRIGGER.0,
    );

    /// What ALL means for a routine, without GRANT OPTION.
    pub const ROUTINE: Self = Self(Self::EXECUTE.0 | Self::ALTER_ROUTINE.0);

    /// What can be given for a single column.
    pub const COLUMN: Self = Self(Self::SELECT.0 | Self::INSERT.0 | Self::UPDATE.0 | Self::REFERENCES.0);

    /// Whether every privilege of `wanted` is here.
    #[must_use]
    pub const fn contains(self, wanted: Self) -> bool {
        self.0 & wanted.0 == wanted.0
    }

    /// Whether any privilege of `wanted` is here.
    #[must_use]
    pub const fn intersects(self, wanted: Self) -> bool {
        self.0 & wanted.0 != 0
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl BitOr for Privileges {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Privileges {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl BitAnd for Privileges {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl Not for Privileges {
    type Output = Self;
    fn not(self) -> Self {
        Self(!self.0)
    }
}

/// How an account proves who it is.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum AuthPlugin {
    /// `caching_sha2_password`.
    #[default]
    CachingSha2,
    /// `mysql_native_password`.
    Native,
}

impl AuthPlugin {
    /// MySQL's name of it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::CachingSha2 => "caching_sha2_password",
            Self::Native => "mysql_native_password",
        }
    }
}

/// REQUIRE.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[allow(missing_docs, reason = "MySQL's own words")]
pub enum AccountTls {
    #[default]
    None,
    Ssl,
    X509,
}

/// WITH MAX_..._PER_HOUR; 0 means no limit.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[allow(missing_docs, reason = "MySQL's own words")]
pub struct ResourceLimits {
    pub queries_per_hour: u32,
    pub updates_per_hour: u32,
    pub connections_per_hour: u32,
    pub user_connections: u32,
}

/// When wrong passwords in a row block an account, and for how long; without both nothing is blocked.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct PasswordLocking {
    /// FAILED_LOGIN_ATTEMPTS; 0: never.
    pub failed_attempts_max: u16,
    /// PASSWORD_LOCK_TIME in days; negative: UNBOUNDED, 0: never.
    pub lock_days: i32,
}

/// What an account's password must meet; `None`: what the global variable says.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct PasswordPolicy {
    /// PASSWORD EXPIRE INTERVAL, in days; 0: NEVER.
    pub lifetime_days: Option<u16>,
    /// PASSWORD HISTORY.
    pub history: Option<u32>,
    /// PASSWORD REUSE INTERVAL, in days.
    pub reuse_days: Option<u32>,
    /// PASSWORD REQUIRE CURRENT; false: OPTIONAL.
    pub require_current: Option<bool>,
}

/// A password that an account has had.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct EarlierPassword {
    /// The plugin's digest of it.
    pub stored: Box<[u8]>,
    /// Microseconds since 1970 UTC at which it was set.
    pub set_micros: i64,
}

/// Privileges on one column.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnPrivileges {
    /// Column name, as written in GRANT.
    pub column: Arc<str>,
    /// What may be done with it.
    pub privileges: Privileges,
}

/// Privileges on one table.
#[derive(Clone, Debug, PartialEq)]
pub struct TablePrivileges {
    /// Schema of the table.
    pub schema: Arc<str>,
    /// Name of the table.
    pub table: Arc<str>,
    /// What may be done with the whole table.
    pub privileges: Privileges,
    /// What may be done with single columns.
    pub columns: Vec<ColumnPrivileges>,
}

/// Privileges on one routine.
#[derive(Clone, Debug, PartialEq)]
pub struct RoutinePrivileges {
    /// Procedure or function.
    pub kind: RoutineKind,
    /// Schema of the routine.
    pub schema: Arc<str>,
    /// Name of the routine.
    pub name: Arc<str>,
    /// What may be done with it.
    pub privileges: Privileges,
}

impl RoutinePrivileges {
    /// Whether they are those on this routine.
    #[must_use]
    pub fn is_on(&self, kind: RoutineKind, schema: &str, name: &str) -> bool {
        self.kind == kind && *self.schema == *schema && crate::names_equal(&self.name, name)
    }
}

/// Privileges on a schema or, with `%` and `_`, on schemas.
#[derive(Clone, Debug, PartialEq)]
pub struct SchemaPrivileges {
    /// Pattern, as written in GRANT.
    pub pattern: Arc<str>,
    /// What may be done.
    pub privileges: Privileges,
}

/// An account: `user`@`host`.
#[derive(Clone, Debug, PartialEq)]
pub struct Account {
    /// Number.
    pub id: AccountId,
    /// User name, at most 32 characters; empty for the anonymous account.
    pub user: Arc<str>,
    /// Host name, address, netmask or pattern, lower case.
    pub host: Arc<str>,
    /// How it proves who it is.
    pub plugin: AuthPlugin,
    /// The plugin's digest of the password in MySQL's text form (`$A$005$...`, `*...`); empty: no password.
    pub auth_string: Box<[u8]>,
    /// The same of the password that RETAIN CURRENT PASSWORD kept, which is as good; empty: none.
    pub second_auth_string: Box<[u8]>,
    /// ACCOUNT LOCK.
    pub locked: bool,
    /// PASSWORD EXPIRE.
    pub password_expired: bool,
    /// Microseconds since 1970 UTC of the last change of the password.
    pub password_changed_micros: i64,
    /// REQUIRE.
    pub tls: AccountTls,
    /// Limits.
    pub limits: ResourceLimits,
    /// FAILED_LOGIN_ATTEMPTS and PASSWORD_LOCK_TIME.
    pub password_locking: PasswordLocking,
    /// Expiry and reuse.
    pub password_policy: PasswordPolicy,
    /// Passwords that must not come again yet, newest first; the one that counts is among them.
    pub earlier_passwords: Vec<EarlierPassword>,
    /// COMMENT and ATTRIBUTE: JSON text, empty if none.
    pub attributes: Arc<str>,
    /// A role: created by CREATE ROLE, cannot log in.
    pub role: bool,
    /// Roles granted to this account: user, host, WITH ADMIN OPTION.
    pub granted_roles: Vec<(Arc<str>, Arc<str>, bool)>,
    /// Which of them are active after login.
    pub default_roles: Vec<(Arc<str>, Arc<str>)>,
    /// Privileges ON *.*.
    pub global: Privileges,
    /// Dynamic privileges (upper case) with their GRANT OPTION.
    pub dynamic: Vec<(Arc<str>, bool)>,
    /// Privileges ON schema.*.
    pub schemas: Vec<SchemaPrivileges>,
    /// Privileges ON schema.table.
    pub tables: Vec<TablePrivileges>,
    /// Privileges ON PROCEDURE and ON FUNCTION, by kind, schema and name.
    pub routines: Vec<RoutinePrivileges>,
}

impl Account {
    /// An account without password and privileges.
    #[must_use]
    pub fn new(id: AccountId, user: &str, host: &str) -> Self {
        Self {
            id,
            user: user.into(),
            host: host.into(),
            plugin: AuthPlugin::default(),
            auth_string: Box::default(),
            second_auth_string: Box::default(),
            locked: false,
            password_expired: false,
            password_changed_micros: 0,
            tls: AccountTls::None,
            limits: ResourceLimits::default(),
            password_locking: PasswordLocking::default(),
            password_policy: PasswordPolicy::default(),
            earlier_passwords: Vec::new(),
            attributes: "".into(),
            role: false,
            granted_roles: Vec::new(),
            default_roles: Vec::new(),
            global: Privileges::NONE,
            dynamic: Vec::new(),
            schemas: Vec::new(),
            tables: Vec::new(),
            routines: Vec::new(),
        }
    }

    /// Whether the password must be changed before anything else. `lifetime_days`: `default_password_lifetime`; 0: no end.
    #[must_use]
    pub fn is_password_expired(&self, now_micros: i64, lifetime_days: u64) -> bool {
        const DAY_MICROS: i64 = 86_400_000_000;
        let days = self.password_policy.lifetime_days.map_or(lifetime_days, u64::from);
        // Of accounts of earlier versions that never had a password it is not known when they were made.
        let ends = self.password_changed_micros > 0 && days > 0;
        let days = i64::try_from(days).unwrap_or(i64::MAX);
        self.password_expired
            || ends
                && now_micros.saturating_sub(self.password_changed_micros) >= days.saturating_mul(DAY_MICROS)
    }
}

/// All accounts.
#[derive(Clone, Debug, Default)]
pub struct Accounts {
    /// In order of creation.
    pub list: Vec<Arc<Account>>,
}

impl Accounts {
    /// The account `user`@`host`, exactly.
    #[must_use]
    pub fn find(&self, user: &str, host: &str) -> Option<&Arc<Account>> {
        self.list.iter().find(|account| *account.user == *user && account.host.eq_ignore_ascii_case(host))
    }

    /// The account with this number.
    #[must_use]
    pub fn get(&self, id: AccountId) -> Option<&Arc<Account>> {
        self.list.iter().find(|account| account.id == id)
    }
}
