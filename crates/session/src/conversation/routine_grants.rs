//! Privileges on single routines: granted and revoked, and what comes and goes with a routine (`automatic_sp_privileges`).

use std::sync::Arc;

use catalog::{Account, Privileges, RoutineKind, RoutinePrivileges};
use service::Outcome;

use super::Session;
use crate::backend::Backend;
use crate::privilege;
use crate::variables::definition::known;

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
///
/// # Errors
/// The store's.
pub(super) fn grant_new_routine<B: Backend>(
    session: &mut Session<B>,
    kind: RoutineKind,
    schema: &str,
    name: &str,
) -> Outcome {
    let wanted = Privileges::EXECUTE | Privileges::ALTER_ROUTINE;
    if !session.shared.core.globals().boolean(known::automatic_sp_privileges())
        || privilege::on_routine(&session.account, schema, kind, name).contains(wanted)
    {
        return Ok(());
    }
    let (user, host) = (Arc::clone(&session.account.user), Arc::clone(&session.account.host));
    let is_named = |account: &Account| *account.user == *user && account.host.eq_ignore_ascii_case(&host);
    session.shared.backend.change_accounts(|accounts, _| {
        if let Some(account) = accounts.list.iter_mut().find(|account| is_named(account)) {
            grant_routine(Arc::make_mut(account), kind, schema, name, wanted);
        }
        Ok(())
    })?;
    session.account.renew(&session.shared.core);
    Ok(())
}

/// Privileges on a routine go with it (`automatic_sp_privileges`).
///
/// # Errors
/// The store's.
pub(super) fn revoke_dropped_routine<B: Backend>(
    session: &mut Session<B>,
    kind: RoutineKind,
    schema: &str,
    name: &str,
) -> Outcome {
    let has_any = |account: &Account| account.routines.iter().any(|held| held.is_on(kind, schema, name));
    let are_any = session.shared.core.catalog().load().accounts.list.iter().any(|account| has_any(account));
    if !are_any || !session.shared.core.globals().boolean(known::automatic_sp_privileges()) {
        return Ok(());
    }
    session.shared.backend.change_accounts(|accounts, _| {
        for account in accounts.list.iter_mut().filter(|account| has_any(account)) {
            Arc::make_mut(account).routines.retain(|held| !held.is_on(kind, schema, name));
        }
        Ok(())
    })?;
    session.account.renew(&session.shared.core);
    Ok(())
}
