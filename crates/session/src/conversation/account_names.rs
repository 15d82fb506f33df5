//! How statements name accounts, and how accounts are shown.

use syntax::ast::{Account as Name, UserRef};

use super::names::name_text;
use crate::privilege::SessionAccount;

/// `` `user`@`host` ``
pub(crate) fn quoted(user: &str, host: &str) -> String {
    format!("`{}`@`{}`", user.replace('`', "``"), host.replace('`', "``"))
}

/// User and host of the account that is named; `own` is the one that runs the statement.
pub(super) fn account_named(own: &SessionAccount, name: &Name<'_>) -> (String, String) {
    if name.current {
        (own.user.to_string(), own.host.to_string())
    } else {
        (name_text(name.user), name_text(name.host))
    }
}

/// The same, where the account may be left out.
pub(super) fn account_meant(own: &SessionAccount, name: &UserRef<'_>) -> (String, String) {
    match name {
        UserRef::Current => (own.user.to_string(), own.host.to_string()),
        UserRef::Named(name) => account_named(own, name),
    }
}
