//! Passwords of accounts: which may be set, what of earlier ones is kept, random ones, and second ones.
//!
//! | part | rule |
//! | --- | --- |
//! | PASSWORD HISTORY n | a password is none of the last n that were set |
//! | PASSWORD REUSE INTERVAL n DAY | nor one that was set less than n days ago |
//! | PASSWORD REQUIRE CURRENT | who changes the own password says the current one, also an empty one; not accounts with CREATE USER or UPDATE on `mysql` |
//! | RETAIN CURRENT PASSWORD | the current one stays as the second |
//!
//! Invariants:
//! 1. An account keeps at most [`EARLIER_PASSWORDS_MAX`] passwords: each is tried with every new one.
//! 2. An empty password is not kept, and is never refused as one of earlier ones.

use std::sync::Arc;

use catalog::{Account, AuthPlugin, EarlierPassword, PasswordPolicy};
use service::Outcome;
use service::error::{
    ER_CREDENTIALS_CONTRADICT_TO_HISTORY, ER_CURRENT_PASSWORD_CANNOT_BE_RETAINED,
    ER_CURRENT_PASSWORD_NOT_REQUIRED, ER_INCORRECT_CURRENT_PASSWORD, ER_MISSING_CURRENT_PASSWORD,
    ER_PASSWORD_CANNOT_BE_RETAINED_ON_PLUGIN_CHANGE, ER_SECOND_PASSWORD_CANNOT_BE_EMPTY,
};

use crate::core::Core;
use crate::variables::definition::known;

/// Passwords that an account keeps at most.
pub(super) const EARLIER_PASSWORDS_MAX: usize = 128;

const DAY_MICROS: i64 = 86_400_000_000;

/// A password that the server made for an account.
#[derive(Clone, Debug)]
pub(super) struct GeneratedPassword {
    pub(super) user: String,
    pub(super) host: String,
    pub(super) password: String,
}

/// Makes a password of this number of characters: letters, digits and signs, each as likely.
pub(super) fn generate(core: &Core, length: usize) -> String {
    const CHARACTERS: &[u8] =
        b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!@#%^&*()-_=+[]{};:,.<>/?|";
    let mut password = String::with_capacity(length);
    let mut bytes = [0; 64];
    while password.len() < length {
        core.fill_random(&mut bytes);
        // Bytes beyond a multiple of the count would make some characters likelier.
        let fair =
            bytes.iter().map(|byte| usize::from(*byte)).filter(|byte| *byte < 256 - 256 % CHARACTERS.len());
        let wanted = length - password.len();
        password.extend(fair.take(wanted).map(|byte| char::from(CHARACTERS[byte % CHARACTERS.len()])));
    }
    password
}

/// Whether a password is the one that is stored.
fn is_stored(plugin: AuthPlugin, stored: &[u8], password: &[u8]) -> bool {
    match plugin {
        _ if stored.is_empty() => password.is_empty(),
        AuthPlugin::CachingSha2 => wire::auth::sha2_verify_full(stored, password),
        AuthPlugin::Native => *wire::auth::native_stored(password).as_bytes() == *stored,
    }
}

/// Checks REPLACE: who may leave it out (`is_exempt`: holds what lets change any account), and whether it is right.
///
/// # Errors
/// 3891, 3892, 3893.
pub(super) fn require_current(
    core: &Core,
    account: &Account,
    replace: Option<&[u8]>,
    own: bool,
    is_exempt: bool,
) -> Outcome {
    let Some(given) = replace else {
        let is_required = || {
            let policy = account.password_policy.require_current;
            policy.unwrap_or_else(|| core.globals().boolean(known::password_require_current()))
        };
        let is_missing = own && !is_exempt && is_required();
        return if is_missing { Err(ER_MISSING_CURRENT_PASSWORD.bare()) } else { Ok(()) };
    };
    if !own {
        return Err(ER_CURRENT_PASSWORD_NOT_REQUIRED.bare());
    }
    let is_right = is_stored(account.plugin, &account.auth_string, given);
    if is_right { Ok(()) } else { Err(ER_INCORRECT_CURRENT_PASSWORD.bare()) }
}

/// What an account's password was before a statement changes it.
pub(super) struct Before {
    plugin: AuthPlugin,
    auth_string: Box<[u8]>,
}

impl Before {
    pub(super) fn of(account: &Account) -> Self {
        Self { plugin: account.plugin, auth_string: account.auth_string.clone() }
    }
}

/// Finishes a change of the password: what becomes of the one before, and whether the new one may be set. `password`: the new one, where
/// the statement says it itself.
///
/// # Errors
/// 3638; 3878, 3894 and 3895 with RETAIN CURRENT PASSWORD.
pub(super) fn password_changed(
    core: &Core,
    account: &mut Account,
    before: Before,
    password: Option<&[u8]>,
    retains: bool,
) -> Outcome {
    let now = core.env.clock.wall_micros();
    let (user, host) = (Arc::clone(&account.user), Arc::clone(&account.host));
    let name: [&dyn std::fmt::Display; 2] = [&user, &host];
    if retains {
        if account.plugin != before.plugin {
            return Err(ER_PASSWORD_CANNOT_BE_RETAINED_ON_PLUGIN_CHANGE.with(&name));
        }
        if account.auth_string.is_empty() {
            return Err(ER_CURRENT_PASSWORD_CANNOT_BE_RETAINED.with(&name));
        }
        if before.auth_string.is_empty() {
            return Err(ER_SECOND_PASSWORD_CANNOT_BE_EMPTY.with(&name));
        }
        account.second_auth_string = before.auth_string;
    } else if account.plugin != before.plugin || account.auth_string.is_empty() {
        account.second_auth_string = Box::default();
    }
    if account.plugin != before.plugin {
        account.earlier_passwords.clear();
    }
    if let Some(password) = password.filter(|password| !password.is_empty()) {
        let (count, days) = reuse_rules(core, account.password_policy);
        let is_kept = |(at, earlier): &(usize, &EarlierPassword)| is_within(*at, earlier, count, days, now);
        let mut kept = account.earlier_passwords.iter().enumerate().filter(is_kept);
        if kept.any(|(_, earlier)| is_stored(account.plugin, &earlier.stored, password)) {
            return Err(ER_CREDENTIALS_CONTRADICT_TO_HISTORY.with(&name));
        }
    }
    keep_password(core, account, now);
    account.password_changed_micros = now;
    account.password_expired = false;
    Ok(())
}

/// How many passwords, and those of how many days, must not come again.
fn reuse_rules(core: &Core, policy: PasswordPolicy) -> (u64, u64) {
    let globals = core.globals();
    (
        policy.history.map_or_else(|| globals.unsigned(known::password_history()), u64::from),
        policy.reuse_days.map_or_else(|| globals.unsigned(known::password_reuse_interval()), u64::from),
    )
}

fn is_within(at: usize, earlier: &EarlierPassword, count: u64, days: u64, now: i64) -> bool {
    let days = i64::try_from(days).unwrap_or(i64::MAX);
    (at as u64) < count || now.saturating_sub(earlier.set_micros) < days.saturating_mul(DAY_MICROS)
}

/// Keeps the new password, and no more earlier ones than must not come again.
fn keep_password(core: &Core, account: &mut Account, now: i64) {
    let (count, days) = reuse_rules(core, account.password_policy);
    let stored = account.auth_string.clone();
    if !stored.is_empty() {
        account.earlier_passwords.insert(0, EarlierPassword { stored, set_micros: now });
    }
    let mut at = 0;
    account.earlier_passwords.retain(|earlier| {
        at += 1;
        is_within(at - 1, earlier, count, days, now)
    });
    account.earlier_passwords.truncate(EARLIER_PASSWORDS_MAX);
}

/// The clauses of CREATE USER: PASSWORD EXPIRE, HISTORY, REUSE INTERVAL, REQUIRE CURRENT.
pub(super) fn clauses(account: &Account) -> (String, String) {
    let policy = &account.password_policy;
    let expiry = match policy.lifetime_days {
        _ if account.password_expired => " PASSWORD EXPIRE".to_owned(),
        None => " PASSWORD EXPIRE DEFAULT".to_owned(),
        Some(0) => " PASSWORD EXPIRE NEVER".to_owned(),
        Some(days) => format!(" PASSWORD EXPIRE INTERVAL {days} DAY"),
    };
    let history = policy.history.map_or_else(|| "DEFAULT".to_owned(), |count| count.to_string());
    let reuse = policy.reuse_days.map_or_else(|| "DEFAULT".to_owned(), |days| format!("{days} DAY"));
    let current = match policy.require_current {
        None => " DEFAULT",
        Some(true) => "",
        Some(false) => " OPTIONAL",
    };
    let reuse = format!(
        " PASSWORD HISTORY {history} PASSWORD REUSE INTERVAL {reuse} PASSWORD REQUIRE CURRENT{current}"
    );
    (expiry, reuse)
}
