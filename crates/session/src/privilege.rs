//! Who may do what: privileges of an account, its active roles merged in, against schemas and tables.
//!
//! A session keeps one [`SessionAccount`] with its active roles merged; it is looked up again when the
//! catalog's accounts changed, so GRANT and REVOKE count from the next statement on, as in MySQL for tables and schemas.

use std::sync::Arc;

use catalog::{Account, Accounts, Privileges, RoutineDefinition, RoutineKind};
use service::SqlError;
use service::error::{
    ER_COLUMNACCESS_DENIED_ERROR, ER_DBACCESS_DENIED_ERROR, ER_NO_SUCH_USER, ER_PROCACCESS_DENIED_ERROR,
    ER_SPECIFIC_ACCESS_DENIED_ERROR, ER_TABLEACCESS_DENIED_ERROR,
};

/// A role by user and host.
pub type RoleName = (Arc<str>, Arc<str>);

/// Who a session acts as: an account with the privileges of its active roles merged in, and where its client is.
#[derive(Debug)]
pub struct SessionAccount {
    merged: Account,
    /// The active roles, as CURRENT_ROLE() shows them.
    pub active_roles: Vec<RoleName>,
    /// The client's host, which refusals of tables and columns name. That of the account in a routine of its definer.
    pub client_host: Arc<str>,
    /// Its password has expired: until it is changed, nothing else is done.
    must_change_password: bool,
}

impl std::ops::Deref for SessionAccount {
    type Target = Account;

    #[inline]
    fn deref(&self) -> &Account {
        &self.merged
    }
}

/// Adds what a role may do below the global level, and its dynamic privileges: one entry for each schema, table and routine.
fn add_privileges(to: &mut Account, role: &Account) {
    for (name, with_grant) in &role.dynamic {
        match to.dynamic.iter_mut().find(|(held, _)| held == name) {
            Some((_, held_with_grant)) => *held_with_grant |= with_grant,
            None => to.dynamic.push((Arc::clone(name), *with_grant)),
        }
    }
    to.dynamic.sort_unstable();
    for schema in &role.schemas {
        match to.schemas.iter_mut().find(|held| held.pattern == schema.pattern) {
            Some(held) => held.privileges |= schema.privileges,
            None => to.schemas.push(schema.clone()),
        }
    }
    for table in &role.tables {
        let found =
            to.tables.iter_mut().find(|held| held.schema == table.schema && held.table == table.table);
        let Some(held) = found else {
            to.tables.push(table.clone());
            continue;
        };
        held.privileges |= table.privileges;
        for column in &table.columns {
            match held.columns.iter_mut().find(|held| catalog::names_equal(&held.column, &column.column)) {
                Some(held) => held.privileges |= column.privileges,
                None => held.columns.push(column.clone()),
            }
        }
    }
    for routine in &role.routines {
        let found =
            to.routines.iter_mut().find(|held| held.is_on(routine.kind, &routine.schema, &routine.name));
        match found {
            Some(held) => held.privileges |= routine.privileges,
            None => to.routines.push(routine.clone()),
        }
    }
}

impl SessionAccount {
    /// `account` with those of `roles` that are granted to it, and with the roles granted to these.
    #[must_use]
    pub fn new(accounts: &Accounts, account: &Account, roles: &[RoleName], client_host: &str) -> Arc<Self> {
        let is_granted = |role: &&RoleName| {
            account.granted_roles.iter().any(|granted| granted.0 == role.0 && granted.1 == role.1)
        };
        let active_roles: Vec<RoleName> = roles.iter().filter(is_granted).cloned().collect();
        let mut merged = account.clone();
        let mut waiting = active_roles.clone();
        let mut seen: Vec<RoleName> = Vec::new();
        while let Some(name) = waiting.pop() {
            if seen.contains(&name) {
                continue;
            }
            if let Some(role) = accounts.find(&name.0, &name.1) {
                merged.global |= role.global;
                add_privileges(&mut merged, role);
                waiting.extend(
                    role.granted_roles.iter().map(|(user, host, _)| (Arc::clone(user), Arc::clone(host))),
                );
            }
            seen.push(name);
        }
        Arc::new(Self { merged, active_roles, client_host: client_host.into(), must_change_password: false })
    }

    /// The account as it acts after login: with its default roles.
    #[must_use]
    pub fn at_login(accounts: &Accounts, account: &Account, client_host: &str) -> Arc<Self> {
        Self::new(accounts, account, &account.default_roles, client_host)
    }

    /// The account with the same roles and client, as accounts are now; unchanged if it was dropped.
    #[must_use]
    pub(crate) fn renewed(self: &Arc<Self>, accounts: &Accounts) -> Arc<Self> {
        match accounts.get(self.merged.id) {
            Some(now) => Self::new(accounts, now, &self.active_roles, &self.client_host)
                .with_expired_password(self.must_change_password),
            None => Arc::clone(self),
        }
    }

    /// The same account, whose password has expired or not.
    #[must_use]
    pub(crate) fn with_expired_password(self: Arc<Self>, is_expired: bool) -> Arc<Self> {
        if self.must_change_password == is_expired {
            return self;
        }
        Arc::new(Self {
            merged: self.merged.clone(),
            active_roles: self.active_roles.clone(),
            client_host: Arc::clone(&self.client_host),
            must_change_password: is_expired,
        })
    }

    /// Whether its password has expired.
    #[inline]
    pub(crate) fn must_change_password(&self) -> bool {
        self.must_change_password
    }

    /// Refuses what an account with an expired password may not do: all but changing it.
    ///
    /// # Errors
    /// 1820.
    #[inline]
    pub(crate) fn require_valid_password(&self) -> Result<(), Box<SqlError>> {
        if self.must_change_password { Err(service::error::ER_MUST_CHANGE_PASSWORD.bare()) } else { Ok(()) }
    }

    /// Whether it is the account `user`@`host`.
    #[must_use]
    pub fn is_named(&self, user: &str, host: &str) -> bool {
        *self.merged.user == *user && self.merged.host.eq_ignore_ascii_case(host)
    }
}

/// Whether the account holds the dynamic privilege `name`.
#[must_use]
pub fn has_dynamic(account: &Account, name: &str) -> bool {
    account.dynamic.iter().any(|(held, _)| **held == *name)
}

/// Whether `name` matches a GRANT's schema pattern: `%` any text, `_` one character, `\` takes the next as it is.
#[must_use]
pub fn schema_pattern_matches(pattern: &str, name: &str) -> bool {
    fn matches(pattern: &[u8], name: &[u8]) -> bool {
        match pattern {
            [] => name.is_empty(),
            [b'%', rest @ ..] => (0..=name.len()).any(|skip| matches(rest, &name[skip..])),
            [b'_', rest @ ..] => name.split_first().is_some_and(|(_, tail)| matches(rest, tail)),
            [b'\\', literal, rest @ ..] | [literal, rest @ ..] => {
                name.split_first().is_some_and(|(first, tail)| first == literal && matches(rest, tail))
            }
        }
    }
    matches(pattern.as_bytes(), name.as_bytes())
}

/// What the account may do with everything in a schema, global privileges included.
#[must_use]
pub(crate) fn on_schema(account: &Account, schema: &str) -> Privileges {
    let mut privileges = account.global;
    for granted in &account.schemas {
        if schema_pattern_matches(&granted.pattern, schema) {
            privileges |= granted.privileges;
        }
    }
    if catalog::names_equal(schema, "information_schema") {
        privileges |= Privileges::SELECT;
    }
    privileges
}

/// What the account may do with a table, schema and global privileges included.
#[must_use]
pub(crate) fn on_table(account: &Account, schema: &str, table: &str) -> Privileges {
    let mut privileges = on_schema(account, schema);
    for granted in &account.tables {
        if *granted.schema == *schema && *granted.table == *table {
            privileges |= granted.privileges;
        }
    }
    if catalog::names_equal(schema, "performance_schema") && is_world_readable(table) {
        privileges |= Privileges::SELECT;
    }
    privileges
}

/// Tables of performance_schema that everybody may read; some show each reader what is its own.
fn is_world_readable(table: &str) -> bool {
    const NAMES: [&str; 7] = [
        "global_status",
        "global_variables",
        "processlist",
        "session_account_connect_attrs",
        "session_status",
        "session_variables",
        "keyring_keys",
    ];
    NAMES.iter().any(|name| name.eq_ignore_ascii_case(table))
}

/// Whether the account has `wanted` on a column by itself.
#[must_use]
pub(crate) fn on_column(
    account: &Account,
    schema: &str,
    table: &str,
    column: &str,
    wanted: Privileges,
) -> bool {
    account.tables.iter().filter(|granted| *granted.schema == *schema && *granted.table == *table).any(
        |granted| {
            granted
                .columns
                .iter()
                .any(|entry| catalog::names_equal(&entry.column, column) && entry.privileges.contains(wanted))
        },
    )
}

/// What the account may do with any single column of a table, all columns together.
#[must_use]
pub(crate) fn on_columns(account: &Account, schema: &str, table: &str) -> Privileges {
    let granted =
        account.tables.iter().filter(|granted| *granted.schema == *schema && *granted.table == *table);
    granted.flat_map(|granted| &granted.columns).fold(Privileges::NONE, |sum, entry| sum | entry.privileges)
}

/// What the account may do with one column, the levels above included.
#[must_use]
pub(crate) fn on_column_and_above(account: &Account, schema: &str, table: &str, column: &str) -> Privileges {
    let granted =
        account.tables.iter().filter(|granted| *granted.schema == *schema && *granted.table == *table);
    granted
        .flat_map(|granted| &granted.columns)
        .filter(|entry| catalog::names_equal(&entry.column, column))
        .fold(on_table(account, schema, table), |sum, entry| sum | entry.privileges)
}

/// Whether anything is granted on the table or on columns of it, at these levels alone.
#[must_use]
pub(crate) fn has_table_grant(account: &Account, schema: &str, table: &str) -> bool {
    account.tables.iter().any(|granted| *granted.schema == *schema && *granted.table == *table)
}

/// The names of privileges as refusals list them, in the order of MySQL's bits.
fn names_of(privileges: Privileges) -> String {
    let mut names: Vec<&str> = Vec::new();
    for (bit, name) in Privileges::ALL {
        if *bit == Privileges::REFERENCES && privileges.contains(Privileges::GRANT_OPTION) {
            names.push("GRANT");
        }
        if *bit != Privileges::GRANT_OPTION && privileges.contains(*bit) {
            names.push(name);
        }
    }
    if names.is_empty() { "USAGE".to_owned() } else { names.join(", ") }
}

/// Refuses with 1142 unless the account has `wanted` on the table. What it has on single columns counts: a statement that
/// touches columns checks these one by one ([`require_column`]).
///
/// # Errors
/// 1142, naming the privileges that are missing.
pub(crate) fn require_table(
    account: &SessionAccount,
    schema: &str,
    table: &str,
    wanted: Privileges,
) -> Result<(), Box<SqlError>> {
    require_not_internal(account, schema, wanted)?;
    let missing = wanted & !on_table(account, schema, table);
    if missing.is_empty() {
        return Ok(());
    }
    let missing = missing & !on_columns(account, schema, table);
    if missing.is_empty() { Ok(()) } else { Err(table_denied(account, table, missing)) }
}

/// Nobody may write information_schema or define anything in it or in performance_schema.
fn require_not_internal(account: &Account, schema: &str, wanted: Privileges) -> Result<(), Box<SqlError>> {
    let definitions = Privileges::CREATE
        | Privileges::ALTER
        | Privileges::INDEX
        | Privileges::REFERENCES
        | Privileges::CREATE_TEMPORARY_TABLES
        | Privileges::CREATE_VIEW
        | Privileges::CREATE_ROUTINE
        | Privileges::TRIGGER;
    let refused = (catalog::names_equal(schema, "information_schema")
        && wanted.intersects(!Privileges::SELECT))
        || (catalog::names_equal(schema, "performance_schema") && wanted.intersects(definitions));
    if refused { Err(schema_denied(account, schema)) } else { Ok(()) }
}

/// Refuses with 1143 unless the account has `wanted` on the table or on that column.
///
/// # Errors
/// 1143.
pub(crate) fn require_column(
    account: &SessionAccount,
    schema: &str,
    table: &str,
    column: &str,
    wanted: Privileges,
) -> Result<(), Box<SqlError>> {
    if on_table(account, schema, table).contains(wanted) || on_column(account, schema, table, column, wanted)
    {
        return Ok(());
    }
    Err(column_denied(account, table, column, wanted))
}

/// Refuses with 1044 unless the account has `wanted` on the schema.
///
/// # Errors
/// 1044.
pub(crate) fn require_schema(
    account: &Account,
    schema: &str,
    wanted: Privileges,
) -> Result<(), Box<SqlError>> {
    require_not_internal(account, schema, wanted)?;
    if on_schema(account, schema).contains(wanted) { Ok(()) } else { Err(schema_denied(account, schema)) }
}

/// Refuses with 1227 unless the account has one of `wanted` globally; `shown` is what the message names.
///
/// # Errors
/// 1227.
pub(crate) fn require_global(
    account: &Account,
    wanted: Privileges,
    shown: &str,
) -> Result<(), Box<SqlError>> {
    if account.global.intersects(wanted) {
        return Ok(());
    }
    Err(ER_SPECIFIC_ACCESS_DENIED_ERROR.with(&[&shown]))
}

/// Refuses with 1227 unless the account holds one of the dynamic privileges `names`, or one of `wanted` globally.
///
/// # Errors
/// 1227.
pub(crate) fn require_admin(
    account: &Account,
    wanted: Privileges,
    names: &[&str],
    shown: &str,
) -> Result<(), Box<SqlError>> {
    if names.iter().any(|name| has_dynamic(account, name)) {
        return Ok(());
    }
    require_global(account, wanted, shown)
}

/// 1227 unless the account holds SYSTEM_USER.
///
/// # Errors
/// 1227.
pub(crate) fn require_system_user(account: &Account) -> Result<(), Box<SqlError>> {
    require_admin(account, Privileges::NONE, &["SYSTEM_USER"], "SYSTEM_USER")
}

/// Whether an account, with all roles that are granted to it, holds SYSTEM_USER: only others that do may change it.
#[must_use]
pub(crate) fn is_system_user(accounts: &Accounts, account: &Account) -> bool {
    let roles: Vec<RoleName> =
        account.granted_roles.iter().map(|(user, host, _)| (Arc::clone(user), Arc::clone(host))).collect();
    has_dynamic(&SessionAccount::new(accounts, account, &roles, ""), "SYSTEM_USER")
}

/// Whether the account may `USE` the schema or see what is in it: any privilege on it or on anything in it.
#[must_use]
pub(crate) fn enters_schema(account: &Account, schema: &str) -> bool {
    on_schema(account, schema).intersects(Privileges::SCHEMA)
        || account.tables.iter().any(|granted| *granted.schema == *schema && grants_anything(granted))
        || account
            .routines
            .iter()
            .any(|granted| *granted.schema == *schema && granted.privileges.intersects(Privileges::ROUTINE))
        || catalog::names_equal(schema, "information_schema")
        || catalog::names_equal(schema, "performance_schema")
}

/// Whether more than GRANT OPTION is granted.
fn grants_anything(granted: &catalog::TablePrivileges) -> bool {
    granted.privileges.intersects(Privileges::TABLE) || !granted.columns.is_empty()
}

/// Whether the account sees the schema in lists.
#[must_use]
pub(crate) fn sees_schema(account: &Account, schema: &str) -> bool {
    account.global.intersects(Privileges::SHOW_DATABASES)
        || enters_schema(account, schema)
        || account.schemas.iter().any(|granted| schema_pattern_matches(&granted.pattern, schema))
        || account.tables.iter().any(|granted| *granted.schema == *schema)
        || account.routines.iter().any(|granted| *granted.schema == *schema)
}

/// Whether the account sees a table in lists.
#[must_use]
pub(crate) fn sees_table(account: &Account, schema: &str, table: &str) -> bool {
    on_table(account, schema, table).intersects(Privileges::TABLE) || has_table_grant(account, schema, table)
}

/// What the account may do with a routine, schema and global privileges included.
#[must_use]
pub(crate) fn on_routine(account: &Account, schema: &str, kind: RoutineKind, name: &str) -> Privileges {
    let own = account.routines.iter().filter(|granted| granted.is_on(kind, schema, name));
    own.fold(on_schema(account, schema), |sum, granted| sum | granted.privileges)
}

/// Whether the account sees that a routine is there: any privilege on it, or its own.
#[must_use]
pub(crate) fn sees_routine(account: &Account, routine: &RoutineDefinition) -> bool {
    let any = Privileges::CREATE_ROUTINE | Privileges::ALTER_ROUTINE | Privileges::EXECUTE;
    sees_routine_body(account, routine)
        || on_routine(account, &routine.schema, routine.kind, &routine.name).intersects(any)
}

/// Whether the account sees a routine's text: its own, or with SELECT on everything or SHOW_ROUTINE.
#[must_use]
pub(crate) fn sees_routine_body(account: &Account, routine: &RoutineDefinition) -> bool {
    (*account.user == *routine.definer.0 && *account.host == *routine.definer.1)
        || account.global.contains(Privileges::SELECT)
        || has_dynamic(account, "SHOW_ROUTINE")
}

/// 1370: `verb` says what was wanted.
#[cold]
#[must_use]
pub(crate) fn routine_denied(account: &Account, routine: &str, verb: &str) -> Box<SqlError> {
    ER_PROCACCESS_DENIED_ERROR.with(&[&verb, &account.user, &account.host, &routine])
}

/// EXECUTE on a routine, which need not be there.
///
/// # Errors
/// 1370.
pub(crate) fn require_execute(
    account: &SessionAccount,
    schema: &str,
    kind: RoutineKind,
    name: &str,
) -> Result<(), Box<SqlError>> {
    if on_routine(account, schema, kind, name).contains(Privileges::EXECUTE) {
        return Ok(());
    }
    Err(routine_denied(account, &format!("{schema}.{name}"), "execute"))
}

/// The account of a definer, as it acts in what it has made.
///
/// # Errors
/// 1449.
pub(crate) fn definer_account(
    accounts: &Accounts,
    (user, host): &(Arc<str>, Arc<str>),
) -> Result<Arc<SessionAccount>, Box<SqlError>> {
    let found = accounts.find(user, host).ok_or_else(|| ER_NO_SUCH_USER.with(&[user, host]))?;
    Ok(SessionAccount::at_login(accounts, found, host))
}

/// The account that a procedure or function runs as: that which calls it, or its definer, which must be allowed to run it too.
///
/// # Errors
/// 1370, 1449.
pub(crate) fn routine_account(
    caller: &Arc<SessionAccount>,
    accounts: &Accounts,
    routine: &RoutineDefinition,
) -> Result<Arc<SessionAccount>, Box<SqlError>> {
    if routine.invoker {
        return Ok(Arc::clone(caller));
    }
    let definer = definer_account(accounts, &routine.definer)?;
    require_execute(&definer, &routine.schema, routine.kind, &routine.name)?;
    Ok(definer)
}

/// 1142 for a table, named as given.
#[cold]
#[must_use]
pub(crate) fn table_denied(account: &SessionAccount, table: &str, missing: Privileges) -> Box<SqlError> {
    command_denied(account, table, &names_of(missing))
}

/// 1142 with any words for what was refused.
#[cold]
#[must_use]
pub(crate) fn command_denied(account: &SessionAccount, table: &str, command: &str) -> Box<SqlError> {
    ER_TABLEACCESS_DENIED_ERROR.with(&[&command, &account.user, &account.client_host, &table])
}

/// 1143.
#[cold]
#[must_use]
pub(crate) fn column_denied(
    account: &SessionAccount,
    table: &str,
    column: &str,
    missing: Privileges,
) -> Box<SqlError> {
    let names = names_of(missing);
    ER_COLUMNACCESS_DENIED_ERROR.with(&[&names, &account.user, &account.client_host, &column, &table])
}

/// 1044 for a schema.
#[cold]
#[must_use]
pub(crate) fn schema_denied(account: &Account, schema: &str) -> Box<SqlError> {
    ER_DBACCESS_DENIED_ERROR.with(&[&account.user, &account.host, &schema])
}

#[cfg(test)]
mod tests {
    use super::*;
    use catalog::{AccountId, SchemaPrivileges, TablePrivileges};

    fn account() -> Arc<SessionAccount> {
        let mut account = Account::new(AccountId(1), "u", "%");
        account.schemas.push(SchemaPrivileges { pattern: "shop\\_%".into(), privileges: Privileges::SELECT });
        account.tables.push(TablePrivileges {
            schema: "hr".into(),
            table: "people".into(),
            privileges: Privileges::INSERT,
            columns: vec![catalog::ColumnPrivileges {
                column: "name".into(),
                privileges: Privileges::SELECT,
            }],
        });
        SessionAccount::at_login(&Accounts::default(), &account, "10.0.0.1")
    }

    #[test]
    fn patterns_follow_like() {
        assert!(schema_pattern_matches("shop\\_%", "shop_eu"));
        assert!(!schema_pattern_matches("shop\\_%", "shopxeu"));
        assert!(schema_pattern_matches("a_c", "abc"));
        assert!(!schema_pattern_matches("a_c", "ac"));
    }

    #[test]
    fn levels_add_up() {
        let account = account();
        assert!(require_table(&account, "shop_eu", "t", Privileges::SELECT).is_ok());
        let error =
            require_table(&account, "shop_eu", "t", Privileges::SELECT | Privileges::DELETE).unwrap_err();
        assert_eq!(error.number, 1142);
        assert_eq!(error.message, "DELETE command denied to user 'u'@'10.0.0.1' for table 't'");
        assert!(require_column(&account, "hr", "people", "NAME", Privileges::SELECT).is_ok());
        assert_eq!(
            require_column(&account, "hr", "people", "pay", Privileges::SELECT).unwrap_err().number,
            1143
        );
        assert_eq!(require_table(&account, "hr", "other", Privileges::SELECT).unwrap_err().number, 1142);
        assert!(sees_schema(&account, "hr"));
        assert!(!sees_schema(&account, "private"));
    }
}
