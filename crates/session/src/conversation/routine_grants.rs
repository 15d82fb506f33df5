//! Privileges on single routines: granted and revoked, and what comes and goes with a routine (`automatic_sp_privileges`),
//! in the change of definitions that makes or drops it.

use std::sync::Arc;

use catalog::{Account, Accounts, Privileges, RoutineKind, RoutinePrivileges};

use crate::privilege::{self, SessionAccount};

/// Grants privileges on a routine.
pub(super) fn grant_routine(
    account: &mut Account,
    kind: RoutineKind,
    schema: &str,
    name: &str,
    privileges: Privileges,
) {
    if privileges.is_empty() {
        return;
    }
    match account.routines.iter_mut().find(|granted| granted.is_on(kind, schema, name)) {
        Some(granted) => granted.privileges |= privileges,
        None => {
            let name = catalog::fold_name(name).into();
            account.routines.push(RoutinePrivileges { kind, schema: schema.into(), name, privileges });
            account.routines.sort_by(|left, right| {
                (left.kind, &left.schema, &left.name).cmp(&(right.kind, &right.schema, &right.name))
            });
        }
    }
}

/// The account that makes a routine may run and alter it (`automatic_sp_privileges`).
pub(super) fn grant_new_routine(
    accounts: &mut Accounts,
    maker: &SessionAccount,
    kind: RoutineKind,
    schema: &str,
    name: &str,
) {
    let wanted = Privileges::EXECUTE | Privileges::ALTER_ROUTINE;
    if privilege::on_routine(maker, schema, kind, name).contains(wanted) {
        return;
    }
    if let Some(account) =
        accounts.list.iter_mut().find(|account| maker.is_named(&account.user, &account.host))
    {
        grant_routine(Arc::make_mut(account), kind, schema, name, wanted);
    }
}

/// Privileges on a routine go with it (`automatic_sp_privileges`).
pub(super) fn revoke_dropped_routine(accounts: &mut Accounts, kind: RoutineKind, schema: &str, name: &str) {
    let has_any = |account: &Account| account.routines.iter().any(|held| held.is_on(kind, schema, name));
    for account in accounts.list.iter_mut().filter(|account| has_any(account)) {
        Arc::make_mut(account).routines.retain(|held| !held.is_on(kind, schema, name));
    }
}
