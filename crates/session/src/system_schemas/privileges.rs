//! USER_PRIVILEGES, SCHEMA_PRIVILEGES, TABLE_PRIVILEGES, COLUMN_PRIVILEGES, USER_ATTRIBUTES.

use std::sync::Arc;

use catalog::{Account, Privileges, VirtualContext, VirtualScan};

use super::rows::{Cell, Rows};
use crate::privilege;
use crate::session_context::SessionContext;

/// `'user'@'host'` as the GRANTEE columns show it.
#[must_use]
pub(crate) fn grantee(account: &Account) -> String {
    format!("'{}'@'{}'", account.user, account.host)
}

/// The accounts whose privileges the reader may see: all of them with SELECT on `mysql`, else its own.
fn visible_accounts<'a>(context: &'a VirtualContext<'_>) -> impl Iterator<Item = &'a Arc<Account>> {
    let reader = SessionContext::of(context);
    let all = reader.may_on_mysql(Privileges::SELECT);
    let own = reader.account.as_ref().map(|account| account.id);
    context.catalog.accounts.list.iter().filter(move |account| all || own == Some(account.id))
}

/// The accounts whose attributes the reader may see: all with SELECT or UPDATE on `mysql`, those that it may change with
/// CREATE USER, else its own.
fn administered_accounts<'a>(context: &'a VirtualContext<'_>) -> impl Iterator<Item = &'a Arc<Account>> {
    let reader = SessionContext::of(context);
    let all = reader.may_on_mysql(Privileges::SELECT) || reader.may_on_mysql(Privileges::UPDATE);
    let own = reader.account.as_ref().map(|account| account.id);
    let creates = reader.has_global(Privileges::CREATE_USER);
    let is_system =
        reader.account.as_ref().is_none_or(|account| privilege::has_dynamic(account, "SYSTEM_USER"));
    let accounts = &context.catalog.accounts;
    accounts.list.iter().filter(move |account| {
        let administers = creates && (is_system || !privilege::is_system_user(accounts, account));
        all || administers || own == Some(account.id)
    })
}

/// Names of the single privileges of a set, USAGE for none; GRANT OPTION is distinguished.
fn names(privileges: Privileges) -> impl Iterator<Item = &'static str> {
    let single = Privileges::ALL
        .iter()
        .filter(move |(bit, _)| *bit != Privileges::GRANT_OPTION && privileges.contains(*bit))
        .map(|(_, name)| *name);
    let none = (privileges & !Privileges::GRANT_OPTION).is_empty();
    none.then_some("USAGE").into_iter().chain(single)
}

/// USER_PRIVILEGES.
pub(crate) fn user_privileges(context: &VirtualContext<'_>, _scan: &VirtualScan<'_>, rows: &mut Rows<'_>) {
    for account in visible_accounts(context) {
        let (grantee, grantable) = (grantee(account), account.global.contains(Privileges::GRANT_OPTION));
        let mut row = |name: &str, grantable: bool| {
            rows.push(&[Cell::Text(&grantee), Cell::Text("def"), Cell::Text(name), Cell::yes_no(grantable)]);
        };
        names(account.global).for_each(|name| row(name, grantable));
        account.dynamic.iter().for_each(|(name, grantable)| row(name, *grantable));
    }
}

/// SCHEMA_PRIVILEGES.
pub(crate) fn schema_privileges(context: &VirtualContext<'_>, _scan: &VirtualScan<'_>, rows: &mut Rows<'_>) {
    for account in visible_accounts(context) {
        let grantee = grantee(account);
        for schema in &account.schemas {
            let grantable = schema.privileges.contains(Privileges::GRANT_OPTION);
            for name in names(schema.privileges) {
                rows.push(&[
                    Cell::Text(&grantee),
                    Cell::Text("def"),
                    Cell::Text(&schema.pattern),
                    Cell::Text(name),
                    Cell::yes_no(grantable),
                ]);
            }
        }
    }
}

/// TABLE_PRIVILEGES.
pub(crate) fn table_privileges(context: &VirtualContext<'_>, _scan: &VirtualScan<'_>, rows: &mut Rows<'_>) {
    for account in visible_accounts(context) {
        let grantee = grantee(account);
        for table in account.tables.iter().filter(|table| !table.privileges.is_empty()) {
            let grantable = table.privileges.contains(Privileges::GRANT_OPTION);
            for name in names(table.privileges) {
                rows.push(&[
                    Cell::Text(&grantee),
                    Cell::Text("def"),
                    Cell::Text(&table.schema),
                    Cell::Text(&table.table),
                    Cell::Text(name),
                    Cell::yes_no(grantable),
                ]);
            }
        }
    }
}

/// COLUMN_PRIVILEGES.
pub(crate) fn column_privileges(context: &VirtualContext<'_>, _scan: &VirtualScan<'_>, rows: &mut Rows<'_>) {
    for account in visible_accounts(context) {
        let grantee = grantee(account);
        for table in &account.tables {
            for column in &table.columns {
                for name in names(column.privileges) {
                    rows.push(&[
                        Cell::Text(&grantee),
                        Cell::Text("def"),
                        Cell::Text(&table.schema),
                        Cell::Text(&table.table),
                        Cell::Text(&column.column),
                        Cell::Text(name),
                        Cell::yes_no(table.privileges.contains(Privileges::GRANT_OPTION)),
                    ]);
                }
            }
        }
    }
}

/// USER_ATTRIBUTES.
pub(crate) fn user_attributes(context: &VirtualContext<'_>, _scan: &VirtualScan<'_>, rows: &mut Rows<'_>) {
    for account in administered_accounts(context) {
        let attributes =
            if account.attributes.is_empty() { Cell::Null } else { Cell::Text(&account.attributes) };
        rows.push(&[Cell::Text(&account.user), Cell::Text(&account.host), attributes]);
    }
}
