//! Who may do what: privileges of an account, its active roles merged in, against schemas and tables.
//!
//! A session keeps one [`Account`] snapshot with its roles merged ([`with_roles`]); it is looked up again when the
//! catalog's accounts changed, so GRANT and REVOKE count from the next statement on, as in MySQL for tables and schemas.

use std::sync::Arc;

use catalog::{Account, Accounts, Privileges, RoutineDefinition, RoutineKind};
use service::SqlError;
use service::error::{
    ER_COLUMNACCESS_DENIED_ERROR, ER_DBACCESS_DENIED_ERROR, ER_PROCACCESS_DENIED_ERROR,
    ER_SPECIFIC_ACCESS_DENIED_ERROR, ER_TABLEACCESS_DENIED_ERROR,
};

/// The account with the privileges of its default roles (and theirs) merged in.
#[must_use]
pub fn with_roles(accounts: &Accounts, account: &Arc<Account>) -> Arc<Account> {
    if account.default_roles.is_empty() {
        return Arc::clone(account);
    }
    let mut merged = Account::clone(account);
    let mut waiting: Vec<(Arc<str>, Arc<str>)> = account.default_roles.clone();
    let mut seen: Vec<(Arc<str>, Arc<str>)> = Vec::new();
    while let Some(name) = waiting.pop() {
        if seen.contains(&name) {
            continue;
        }
        if let Some(role) = accounts.find(&name.0, &name.1) {
            merged.global |= role.global;
            merged.dynamic.extend(role.dynamic.iter().cloned());
            merged.schemas.extend(role.schemas.iter().cloned());
            merged.tables.extend(role.tables.iter().cloned());
            waiting.extend(
                role.granted_roles.iter().map(|(user, host, _)| (Arc::clone(user), Arc::clone(host))),
            );
        }
        seen.push(name);
    }
    Arc::new(merged)
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
pub fn on_schema(account: &Account, schema: &str) -> Privileges {
    let mut privileges = account.global;
    for granted in &account.schemas {
        if schema_pattern_matches(&granted.pattern, schema) {
            privileges |= granted.privileges;
        }
    }
    if catalog::names_equal(schema, "information_schema") {
        privileges |= Privileges::SELECT;
    }
    if catalog::names_equal(schema, "performance_schema") {
        privileges |= Privileges::SELECT;
    }
    privileges
}

/// What the account may do with a table, schema and global privileges included.
#[must_use]
pub fn on_table(account: &Account, schema: &str, table: &str) -> Privileges {
    let mut privileges = on_schema(account, schema);
    for granted in &account.tables {
        if *granted.schema == *schema && *granted.table == *table {
            privileges |= granted.privileges;
        }
    }
    privileges
}

/// Whether the account has `wanted` on a column by itself.
#[must_use]
pub fn on_column(account: &Account, schema: &str, table: &str, column: &str, wanted: Privileges) -> bool {
    account.tables.iter().filter(|granted| *granted.schema == *schema && *granted.table == *table).any(
        |granted| {
            granted
                .columns
                .iter()
                .any(|entry| catalog::names_equal(&entry.column, column) && entry.privileges.contains(wanted))
        },
    )
}

/// Whether the account has `wanted` on any column of a table.
#[must_use]
pub fn on_any_column(account: &Account, schema: &str, table: &str, wanted: Privileges) -> bool {
    account
        .tables
        .iter()
        .filter(|granted| *granted.schema == *schema && *granted.table == *table)
        .any(|granted| granted.columns.iter().any(|entry| entry.privileges.intersects(wanted)))
}

/// Name of a single privilege for messages.
fn name_of(privileges: Privileges) -> &'static str {
    Privileges::ALL.iter().find(|(bit, _)| privileges.contains(*bit)).map_or("USAGE", |(_, name)| name)
}

/// Refuses with 1142 unless the account has `wanted` on the table.
///
/// # Errors
/// 1142, naming the first privilege that is missing.
pub fn require_table(
    account: &Account,
    schema: &str,
    table: &str,
    wanted: Privileges,
) -> Result<(), Box<SqlError>> {
    let missing = wanted & !on_table(account, schema, table);
    if missing.is_empty() { Ok(()) } else { Err(table_denied(account, table, missing)) }
}

/// Refuses with 1143 unless the account has `wanted` on the table or on that column.
///
/// # Errors
/// 1142 if it has it on no column of the table, else 1143.
pub fn require_column(
    account: &Account,
    schema: &str,
    table: &str,
    column: &str,
    wanted: Privileges,
) -> Result<(), Box<SqlError>> {
    if on_table(account, schema, table).contains(wanted) || on_column(account, schema, table, column, wanted)
    {
        return Ok(());
    }
    if on_any_column(account, schema, table, wanted) {
        return Err(column_denied(account, table, column, wanted));
    }
    Err(table_denied(account, table, wanted))
}

/// Refuses with 1044 unless the account has `wanted` on the schema.
///
/// # Errors
/// 1044.
pub fn require_schema(account: &Account, schema: &str, wanted: Privileges) -> Result<(), Box<SqlError>> {
    if on_schema(account, schema).contains(wanted) { Ok(()) } else { Err(schema_denied(account, schema)) }
}

/// Refuses with 1227 unless the account has one of `wanted` globally; `shown` is what the message names.
///
/// # Errors
/// 1227.
pub fn require_global(account: &Account, wanted: Privileges, shown: &str) -> Result<(), Box<SqlError>> {
    if account.global.intersects(wanted) {
        return Ok(());
    }
    Err(ER_SPECIFIC_ACCESS_DENIED_ERROR.with(&[&shown]))
}

/// Whether the account may `USE` the schema or see it in lists: any privilege on it or on anything in it.
#[must_use]
pub fn sees_schema(account: &Account, schema: &str) -> bool {
    let any = Privileges(u64::MAX) & !Privileges::GRANT_OPTION;
    let data = Privileges::SCHEMA;
    account.global.intersects(data | Privileges::SHOW_DATABASES)
        || on_schema(account, schema).intersects(any & data)
        || account.tables.iter().any(|granted| *granted.schema == *schema)
        || catalog::names_equal(schema, "information_schema")
        || catalog::names_equal(schema, "performance_schema")
}

/// Whether the account sees a table in lists.
#[must_use]
pub fn sees_table(account: &Account, schema: &str, table: &str) -> bool {
    on_table(account, schema, table).intersects(Privileges::TABLE)
        || on_any_column(account, schema, table, Privileges::COLUMN)
}

/// What the account may do with a routine, schema and global privileges included.
#[must_use]
pub fn on_routine(account: &Account, schema: &str, kind: RoutineKind, name: &str) -> Privileges {
    let _ = (kind, name);
    on_schema(account, schema)
}

/// Whether the account sees that a routine is there: any privilege on it, or its own.
#[must_use]
pub fn sees_routine(account: &Account, routine: &RoutineDefinition) -> bool {
    let any = Privileges::CREATE_ROUTINE | Privileges::ALTER_ROUTINE | Privileges::EXECUTE;
    sees_routine_body(account, routine)
        || on_routine(account, &routine.schema, routine.kind, &routine.name).intersects(any)
}

/// Whether the account sees a routine's text: its own, or with SELECT on everything or SHOW_ROUTINE.
#[must_use]
pub fn sees_routine_body(account: &Account, routine: &RoutineDefinition) -> bool {
    (*account.user == *routine.definer.0 && *account.host == *routine.definer.1)
        || account.global.contains(Privileges::SELECT)
        || account.dynamic.iter().any(|(name, _)| &**name == "SHOW_ROUTINE")
}

/// 1370: `verb` says what was wanted.
#[cold]
#[must_use]
pub fn routine_denied(account: &Account, routine: &str, verb: &str) -> Box<SqlError> {
    ER_PROCACCESS_DENIED_ERROR.with(&[&verb, &account.user, &account.host, &routine])
}

/// 1142 for a table, named as given.
#[cold]
#[must_use]
pub fn table_denied(account: &Account, table: &str, missing: Privileges) -> Box<SqlError> {
    ER_TABLEACCESS_DENIED_ERROR.with(&[&name_of(missing), &account.user, &account.host, &table])
}

#[cold]
fn column_denied(account: &Account, table: &str, column: &str, missing: Privileges) -> Box<SqlError> {
    ER_COLUMNACCESS_DENIED_ERROR.with(&[&name_of(missing), &account.user, &account.host, &column, &table])
}

/// 1044 for a schema.
#[cold]
#[must_use]
pub fn schema_denied(account: &Account, schema: &str) -> Box<SqlError> {
    ER_DBACCESS_DENIED_ERROR.with(&[&account.user, &account.host, &schema])
}

#[cfg(test)]
mod tests {
    use super::*;
    use catalog::{AccountId, SchemaPrivileges, TablePrivileges};

    fn account() -> Account {
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
        account
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
        assert_eq!(error.message, "DELETE command denied to user 'u'@'%' for table 't'");
        assert!(require_column(&account, "hr", "people", "NAME", Privileges::SELECT).is_ok());
        assert_eq!(
            require_column(&account, "hr", "people", "pay", Privileges::SELECT).unwrap_err().number,
            1143
        );
        assert_eq!(
            require_column(&account, "hr", "other", "pay", Privileges::SELECT).unwrap_err().number,
            1142
        );
        assert!(sees_schema(&account, "hr"));
        assert!(!sees_schema(&account, "private"));
    }
}
