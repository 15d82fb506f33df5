//! Accounts: CREATE, ALTER, DROP, RENAME USER; roles; GRANT and REVOKE; SHOW GRANTS.
//!
//! A statement changes a copy of all accounts and either all of its changes are stored and published, or none.

use std::fmt::Write as _;
use std::sync::Arc;

use catalog::{
    Account, AccountTls, Accounts, AuthPlugin, Catalog, ColumnPrivileges, Privileges, RoutineKind,
    SchemaPrivileges, TablePrivileges,
};
use service::error::{
    ER_CANNOT_USER, ER_CANT_CREATE_USER_WITH_GRANT, ER_DYNAMIC_PRIVILEGE_NOT_REGISTERED,
    ER_ILLEGAL_GRANT_FOR_TABLE, ER_ILLEGAL_PRIVILEGE_LEVEL, ER_NO_SUCH_TABLE, ER_NONEXISTING_GRANT,
    ER_NONEXISTING_PROC_GRANT, ER_NONEXISTING_TABLE_GRANT, ER_PASSWORD_NO_MATCH, ER_PLUGIN_IS_NOT_LOADED,
    ER_RENAME_ROLE, ER_REVOKE_GRANTS, ER_ROLE_GRANTED_TO_ITSELF, ER_ROLE_NOT_GRANTED, ER_SP_DOES_NOT_EXIST,
    ER_SYNTAX_ERROR, ER_UNKNOWN_AUTHID, ER_WRONG_STRING_LENGTH, ER_WRONG_USAGE, ER_WRONG_VALUE,
};
use service::{Diagnostic, Outcome, Reply, SqlError};
use syntax::ast::{
    Account as Name, AlterUser, Auth, CreateUser, Grant, GrantObject, Privilege, Revoke, RevokeWhat,
    SetDefaultRole, SetPassword, SetRole, UserOption, UserRef,
};

use super::Session;
use super::access::{self, AccountAdmin};
use super::account_names::{account_meant, account_named, quoted};
use super::listing::{self, Listing, text, unsigned};
use super::names::{Names, name_text};
use super::passwords::{self, GeneratedPassword};
use super::routine_grants::grant_routine;
use super::transaction_statements;
use crate::backend::Backend;
use crate::core::Core;
use crate::errors::not_supported;
use crate::privilege::{self, RoleName, SessionAccount};
use crate::status::StatementKind;
use crate::system_schemas::rows::Cell;
use crate::variables::definition::known;

type Result<T> = std::result::Result<T, Box<SqlError>>;

/// The longest user name, in characters.
pub(crate) const USER_NAME_CHARS_MAX: usize = 32;
/// The longest host name, in characters.
pub(crate) const HOST_NAME_CHARS_MAX: usize = 255;

/// The greatest FAILED_LOGIN_ATTEMPTS and PASSWORD_LOCK_TIME.
pub(crate) const LOCKING_MAX: u16 = 32_767;

/// Dynamic privileges that GRANT knows (MySQL manual, "Dynamic Privilege Descriptions").
pub const DYNAMIC: &[&str] = &[
    "APPLICATION_PASSWORD_ADMIN",
    "AUDIT_ABORT_EXEMPT",
    "AUDIT_ADMIN",
    "AUTHENTICATION_POLICY_ADMIN",
    "BACKUP_ADMIN",
    "BINLOG_ADMIN",
    "BINLOG_ENCRYPTION_ADMIN",
    "CLONE_ADMIN",
    "CONNECTION_ADMIN",
    "ENCRYPTION_KEY_ADMIN",
    "FIREWALL_EXEMPT",
    "FLUSH_OPTIMIZER_COSTS",
    "FLUSH_PRIVILEGES",
    "FLUSH_STATUS",
    "FLUSH_TABLES",
    "FLUSH_USER_RESOURCES",
    "GROUP_REPLICATION_ADMIN",
    "GROUP_REPLICATION_STREAM",
    "INNODB_REDO_LOG_ARCHIVE",
    "INNODB_REDO_LOG_ENABLE",
    "MANAGE_DATA_MASKING_POLICY",
    "PASSWORDLESS_USER_ADMIN",
    "PERSIST_RO_VARIABLES_ADMIN",
    "REPLICATION_APPLIER",
    "REPLICATION_SLAVE_ADMIN",
    "RESOURCE_GROUP_ADMIN",
    "RESOURCE_GROUP_USER",
    "ROLE_ADMIN",
    "SENSITIVE_VARIABLES_OBSERVER",
    "SERVICE_CONNECTION_ADMIN",
    "SESSION_VARIABLES_ADMIN",
    "SET_ANY_DEFINER",
    "SHOW_ROUTINE",
    "SYSTEM_USER",
    "SYSTEM_VARIABLES_ADMIN",
    "TABLE_ENCRYPTION_ADMIN",
    "TELEMETRY_LOG_ADMIN",
    "TRANSACTION_GTID_TAG",
    "ALLOW_NONEXISTENT_DEFINER",
    "OPTIMIZE_LOCAL_TABLE",
    "XA_RECOVER_ADMIN",
    "CREATE_SPATIAL_REFERENCE_SYSTEM",
];

fn shown(name: &Name<'_>) -> String {
    format!("'{}'@'{}'", name_text(name.user), name_text(name.host))
}

#[cold]
fn cannot(operation: &str, names: &[String], why: &str) -> Box<SqlError> {
    let why = if why.is_empty() { String::new() } else { format!(" ({why})") };
    let names: Vec<String> = names.iter().map(|name| format!("{name}{why}")).collect();
    ER_CANNOT_USER.saying(format!("Operation {operation} failed for {}", names.join(",")))
}

const EXISTS: &str = "User account already exists";
const MISSING: &str = "User account does not exist";

/// Runs statements about accounts. What they warn of is shown also if they fail.
pub(super) struct AccountStatements<'a, B: Backend> {
    pub(super) core: &'a Core,
    /// Keeps the accounts.
    pub(super) backend: &'a B,
    /// The account that runs them.
    pub(super) account: &'a SessionAccount,
    /// `generated_random_password_length`.
    pub(super) random_length: u64,
    pub(super) names: Names<'a>,
}

impl<B: Backend> AccountStatements<'_, B> {
    /// All definitions. They stand still while accounts are changed.
    fn catalog(&self) -> Arc<Catalog> {
        self.core.catalog().load()
    }

    /// RETAIN CURRENT PASSWORD and DISCARD OLD PASSWORD of one's own account.
    fn require_second_password(&self, is_named: bool, own: bool) -> Outcome {
        let is_exempt = privilege::on_schema(self.account, "mysql").contains(Privileges::UPDATE);
        if !is_named || !own || is_exempt {
            return Ok(());
        }
        let needed = "CREATE USER or APPLICATION_PASSWORD_ADMIN";
        privilege::require_admin(
            self.account,
            Privileges::CREATE_USER,
            &["APPLICATION_PASSWORD_ADMIN"],
            needed,
        )
    }

    /// Checks REPLACE of a change of an account's password.
    fn require_current(&self, account: &Account, replace: Option<&[u8]>, own: bool) -> Outcome {
        let is_exempt = self.account.global.contains(Privileges::CREATE_USER)
            || privilege::on_schema(self.account, "mysql").contains(Privileges::UPDATE);
        passwords::require_current(self.core, account, replace, own, is_exempt)
    }

    /// A password that the server makes, where a statement asks for one; what is answered is added to `generated`.
    fn generate(
        &self,
        is_wanted: bool,
        (user, host): (&str, &str),
        generated: &mut Vec<GeneratedPassword>,
    ) -> Option<String> {
        let length = usize::try_from(self.random_length).unwrap_or(usize::MAX);
        let password = is_wanted.then(|| passwords::generate(self.core, length))?;
        let (user, host) = (user.to_owned(), host.to_owned());
        generated.push(GeneratedPassword { user, host, password: password.clone() });
        Some(password)
    }

    /// Sets plugin and stored password of an account as `IDENTIFIED ...` says; `password` is the one that it says or that was made.
    fn apply_auth(&self, account: &mut Account, auth: &Auth<'_>, password: Option<&[u8]>) -> Result<()> {
        if auth.multi_factor {
            return Err(not_supported("multi-factor authentication"));
        }
        if let Some(plugin) = auth.plugin {
            account.plugin = match plugin {
                b"caching_sha2_password" => AuthPlugin::CachingSha2,
                b"mysql_native_password" => AuthPlugin::Native,
                other => return Err(ER_PLUGIN_IS_NOT_LOADED.with(&[&name_text(other)])),
            };
            account.auth_string = Box::default();
        }
        if let Some(password) = password {
            account.auth_string = self.hash_password(account.plugin, password)?;
        }
        if let Some(hash) = auth.hash {
            let valid = match account.plugin {
                AuthPlugin::CachingSha2 => hash.is_empty() || wire::auth::sha2_is_stored(hash),
                AuthPlugin::Native => hash.is_empty() || wire::auth::native_is_stored(hash),
            };
            if !valid {
                return Err(service::error::ER_PASSWORD_FORMAT.bare());
            }
            account.auth_string = hash.into();
        }
        Ok(())
    }

    fn hash_password(&self, plugin: AuthPlugin, password: &[u8]) -> Result<Box<[u8]>> {
        if password.is_empty() {
            return Ok(Box::default());
        }
        Ok(match plugin {
            AuthPlugin::Native => wire::auth::native_stored(password).into_bytes().into(),
            AuthPlugin::CachingSha2 => self.core.hash_sha2_password(password),
        })
    }

    fn apply_options(account: &mut Account, options: &[UserOption<'_>]) -> Result<()> {
        for option in options {
            match *option {
                UserOption::RequireNone => account.tls = AccountTls::None,
                UserOption::RequireSsl => account.tls = AccountTls::Ssl,
                UserOption::RequireX509 => account.tls = AccountTls::X509,
                UserOption::RequireCert(..) => return Err(not_supported("REQUIRE SUBJECT, ISSUER, CIPHER")),
                UserOption::Limit(word, number) => {
                    let number = u32::try_from(number).unwrap_or(u32::MAX);
                    match word {
                        "MAX_QUERIES_PER_HOUR" => account.limits.queries_per_hour = number,
                        "MAX_UPDATES_PER_HOUR" => account.limits.updates_per_hour = number,
                        "MAX_CONNECTIONS_PER_HOUR" => account.limits.connections_per_hour = number,
                        _ => account.limits.user_connections = number,
                    }
                }
                UserOption::PasswordExpire => account.password_expired = true,
                UserOption::AccountLock(locked) => account.locked = locked,
                UserOption::Comment(comment) => {
                    let comment = name_text(comment).replace('\\', "\\\\").replace('"', "\\\"");
                    account.attributes = format!("{{\"comment\": \"{comment}\"}}").into();
                }
                UserOption::Attribute(attributes) => account.attributes = name_text(attributes).into(),
                UserOption::PasswordExpireDefault => account.password_policy.lifetime_days = None,
                UserOption::PasswordExpireNever => account.password_policy.lifetime_days = Some(0),
                UserOption::PasswordExpireDays(days) => {
                    let wrong = || ER_WRONG_VALUE.with(&[&"DAY", &days]);
                    let days = u16::try_from(days).ok().filter(|days| *days > 0);
                    account.password_policy.lifetime_days = Some(days.ok_or_else(wrong)?);
                }
                // The lowest 32 bits, as in MySQL.
                UserOption::PasswordHistory(count) => {
                    account.password_policy.history = count.map(|count| count as u32);
                }
                UserOption::PasswordReuseDays(days) => {
                    account.password_policy.reuse_days = days.map(|days| days as u32);
                }
                UserOption::PasswordRequireCurrent(required) => {
                    account.password_policy.require_current = required;
                }
                UserOption::FailedLoginAttempts(number) => {
                    let wrong = || ER_WRONG_VALUE.with(&[&"FAILED_LOGIN_ATTEMPTS", &number]);
                    let number = u16::try_from(number).ok().filter(|number| *number <= LOCKING_MAX);
                    account.password_locking.failed_attempts_max = number.ok_or_else(wrong)?;
                }
                UserOption::PasswordLockTime(None) => account.password_locking.lock_days = -1,
                UserOption::PasswordLockTime(Some(days)) => {
                    let wrong = || ER_WRONG_VALUE.with(&[&"PASSWORD_LOCK_TIME", &days]);
                    let days = u16::try_from(days).ok().filter(|days| *days <= LOCKING_MAX);
                    account.password_locking.lock_days = i32::from(days.ok_or_else(wrong)?);
                }
            }
        }
        Ok(())
    }

    pub(super) fn create_user(
        &self,
        statement: &CreateUser<'_>,
        notes: &mut Vec<Diagnostic>,
        generated: &mut Vec<GeneratedPassword>,
    ) -> Outcome {
        self.backend.change_accounts(|accounts, next_id| {
            let catalog = self.catalog();
            let admin = AccountAdmin::new(self.account, accounts);
            admin.require_create_user(Privileges::INSERT)?;
            let mut roles = Vec::new();
            for role in statement.default_roles {
                let (user, host) = account_named(self.account, role);
                admin.require_grant_of_role(&user, &host)?;
                let found = accounts.find(&user, &host);
                let found = found.ok_or_else(|| ER_UNKNOWN_AUTHID.with(&[&user, &host]))?;
                roles.push((Arc::clone(&found.user), Arc::clone(&found.host)));
            }
            let mut failed = Vec::new();
            for spec in statement.users {
                let (user, host) = account_meant(self.account, &spec.user);
                check_lengths(&user, &host)?;
                let admin = AccountAdmin::new(self.account, accounts);
                let target = accounts.find(&user, &host);
                target.map_or(Ok(()), |target| admin.require_change_of(target))?;
                admin.require_change_of_definer(&catalog, "CREATE USER", (&user, &host), notes)?;
                if target.is_some() {
                    if statement.if_not_exists {
                        notes.push(note(3163, format!("Authorization ID '{user}'@'{host}' already exists.")));
                    } else {
                        failed.push(format!("'{user}'@'{host}'"));
                    }
                    continue;
                }
                let mut account = Account::new(next_id(), &user, &host.to_ascii_lowercase());
                let made = self.generate(spec.auth.random_password, (&user, &host), generated);
                let password = made.as_deref().map(str::as_bytes).or(spec.auth.password);
                Self::apply_options(&mut account, statement.options)?;
                let is_expired = account.password_expired;
                let before = passwords::Before::of(&account);
                self.apply_auth(&mut account, &spec.auth, password)?;
                passwords::password_changed(self.core, &mut account, before, password, false)?;
                account.password_expired = is_expired;
                account.granted_roles =
                    roles.iter().map(|(user, host)| (Arc::clone(user), Arc::clone(host), false)).collect();
                account.default_roles.clone_from(&roles);
                accounts.list.push(Arc::new(account));
            }
            if failed.is_empty() { Ok(()) } else { Err(cannot("CREATE USER", &failed, EXISTS)) }
        })
    }

    pub(super) fn alter_user(
        &self,
        statement: &AlterUser<'_>,
        notes: &mut Vec<Diagnostic>,
        generated: &mut Vec<GeneratedPassword>,
    ) -> Outcome {
        let mut changed = Vec::new();
        self.backend.change_accounts(|accounts, _| {
            let mut failed = Vec::new();
            let mut changes_own = false;
            for spec in statement.users {
                let (user, host) = account_meant(self.account, &spec.user);
                let admin = AccountAdmin::new(self.account, accounts);
                let own = self.account.is_named(&user, &host);
                if !own || !statement.options.is_empty() || spec.auth.plugin.is_some() {
                    admin.require_create_user(Privileges::UPDATE)?;
                }
                if let Some(target) = accounts.find(&user, &host) {
                    admin.require_change_of(target)?;
                    if spec.auth.changes_password() {
                        self.require_current(target, spec.auth.replace, own)?;
                    }
                }
                self.require_second_password(spec.auth.retain_current || spec.auth.discard_old, own)?;
                let made = self.generate(spec.auth.random_password, (&user, &host), generated);
                let Some(account) = find_mut(accounts, &user, &host) else {
                    if statement.if_exists {
                        notes.push(note(3162, format!("Authorization ID '{user}'@'{host}' does not exist.")));
                    } else {
                        failed.push(format!("'{user}'@'{host}'"));
                    }
                    continue;
                };
                let before = passwords::Before::of(account);
                let password = made.as_deref().map(str::as_bytes).or(spec.auth.password);
                self.apply_auth(account, &spec.auth, password)?;
                if spec.auth.changes_password() {
                    // A plugin alone leaves the account without a password, which it must get first.
                    account.password_expired = password.is_none() && spec.auth.hash.is_none();
                }
                Self::apply_options(account, statement.options)?;
                let is_expired = account.password_expired;
                if spec.auth.changes_password() {
                    passwords::password_changed(
                        self.core,
                        account,
                        before,
                        password,
                        spec.auth.retain_current,
                    )?;
                    account.password_expired = is_expired;
                }
                if spec.auth.discard_old {
                    account.second_auth_string = Box::default();
                }
                changed.push(account.id);
                changes_own |= own && spec.auth.changes_password();
            }
            if !changes_own && failed.is_empty() {
                self.account.require_valid_password()?;
            }
            if failed.is_empty() { Ok(()) } else { Err(cannot("ALTER USER", &failed, MISSING)) }
        })?;
        let unblocks = |option: &UserOption<'_>| {
            matches!(
                option,
                UserOption::AccountLock(false)
                    | UserOption::FailedLoginAttempts(_)
                    | UserOption::PasswordLockTime(_)
            )
        };
        if statement.options.iter().any(unblocks) {
            self.core.failed_logins.forget(&changed);
        }
        Ok(())
    }

    pub(super) fn set_password(
        &self,
        statement: &SetPassword<'_>,
        generated: &mut Vec<GeneratedPassword>,
    ) -> Outcome {
        let (user, host) = account_meant(self.account, &statement.user);
        let own = self.account.is_named(&user, &host);
        self.backend.change_accounts(|accounts, _| {
            let admin = AccountAdmin::new(self.account, accounts);
            if !own {
                self.account.require_valid_password()?;
                admin.require_set_password()?;
            }
            if let Some(target) = accounts.find(&user, &host) {
                admin.require_change_of(target)?;
                self.require_current(target, statement.replace, own)?;
            }
            self.require_second_password(statement.retain_current, own)?;
            let account = find_mut(accounts, &user, &host).ok_or_else(|| ER_PASSWORD_NO_MATCH.bare())?;
            let made = self.generate(statement.password.is_none(), (&user, &host), generated);
            let password = made.as_deref().map(str::as_bytes).or(statement.password).unwrap_or_default();
            let before = passwords::Before::of(account);
            account.auth_string = self.hash_password(account.plugin, password)?;
            passwords::password_changed(self.core, account, before, Some(password), statement.retain_current)
        })
    }

    pub(super) fn drop_user(
        &self,
        names: &[Name<'_>],
        if_exists: bool,
        role: bool,
        notes: &mut Vec<Diagnostic>,
    ) -> Outcome {
        let operation = if role { "DROP ROLE" } else { "DROP USER" };
        self.backend.change_accounts(|accounts, _| {
            let mut failed = Vec::new();
            let catalog = self.catalog();
            let admin = AccountAdmin::new(self.account, accounts);
            if role {
                admin.require_roles(Privileges::DROP_ROLE, "CREATE USER, DROP ROLE")?;
            } else {
                admin.require_create_user(Privileges::DELETE)?;
            }
            for name in names {
                let (user, host) = account_named(self.account, name);
                let admin = AccountAdmin::new(self.account, accounts);
                let target = accounts.find(&user, &host);
                if let Some(target) = target {
                    if role { admin.require_drop_role_of(target) } else { admin.require_change_of(target) }?;
                }
                admin.require_change_of_definer(&catalog, operation, (&user, &host), notes)?;
                if target.is_none() {
                    if if_exists {
                        notes.push(note(3162, format!("Authorization ID '{user}'@'{host}' does not exist.")));
                    } else {
                        failed.push(shown(name));
                    }
                    continue;
                }
                accounts.list.retain(|account| !is_named(account, &user, &host));
                for account in &mut accounts.list {
                    let has = account.granted_roles.iter().any(|role| *role.0 == *user && *role.1 == *host);
                    if has {
                        let account = Arc::make_mut(account);
                        account.granted_roles.retain(|role| !(*role.0 == *user && *role.1 == *host));
                        account.default_roles.retain(|role| !(*role.0 == *user && *role.1 == *host));
                    }
                }
            }
            if failed.is_empty() { Ok(()) } else { Err(cannot(operation, &failed, MISSING)) }
        })
    }

    pub(super) fn rename_user(&self, pairs: &[(Name<'_>, Name<'_>)], notes: &mut Vec<Diagnostic>) -> Outcome {
        self.backend.change_accounts(|accounts, _| {
            let mut failed = Vec::new();
            let catalog = self.catalog();
            AccountAdmin::new(self.account, accounts).require_create_user(Privileges::UPDATE)?;
            for (from, to) in pairs {
                let ((user, host), (new_user, new_host)) =
                    (account_named(self.account, from), account_named(self.account, to));
                if let Some(target) = accounts.find(&user, &host) {
                    AccountAdmin::new(self.account, accounts).require_change_of(target)?;
                    let is_role = |account: &Arc<Account>| {
                        account.granted_roles.iter().any(|role| is_named(target, &role.0, &role.1))
                    };
                    if accounts.list.iter().any(is_role) {
                        return Err(ER_RENAME_ROLE.bare());
                    }
                }
                let admin = AccountAdmin::new(self.account, accounts);
                for name in [(&*user, &*host), (&*new_user, &*new_host)] {
                    admin.require_change_of_definer(&catalog, "RENAME USER", name, notes)?;
                }
                check_lengths(&new_user, &new_host)?;
                let taken = accounts.find(&new_user, &new_host).is_some();
                match find_mut(accounts, &user, &host) {
                    Some(account) if !taken => {
                        account.user = new_user.into();
                        account.host = new_host.to_ascii_lowercase().into();
                    }
                    _ => failed.push(shown(from)),
                }
            }
            if failed.is_empty() { Ok(()) } else { Err(cannot("RENAME USER", &failed, "")) }
        })
    }

    pub(super) fn create_role(
        &self,
        roles: &[Name<'_>],
        if_not_exists: bool,
        notes: &mut Vec<Diagnostic>,
    ) -> Outcome {
        self.backend.change_accounts(|accounts, next_id| {
            let catalog = self.catalog();
            let admin = AccountAdmin::new(self.account, accounts);
            admin.require_roles(Privileges::CREATE_ROLE, "CREATE USER, CREATE ROLE")?;
            let mut failed = Vec::new();
            for role in roles {
                let (user, host) = account_named(self.account, role);
                check_lengths(&user, &host)?;
                let admin = AccountAdmin::new(self.account, accounts);
                let target = accounts.find(&user, &host);
                target.map_or(Ok(()), |target| admin.require_change_of(target))?;
                admin.require_change_of_definer(&catalog, "CREATE ROLE", (&user, &host), notes)?;
                if target.is_some() {
                    if if_not_exists {
                        notes.push(note(3163, format!("Authorization ID '{user}'@'{host}' already exists.")));
                    } else {
                        failed.push(shown(role));
                    }
                    continue;
                }
                let mut account = Account::new(next_id(), &user, &host.to_ascii_lowercase());
                account.role = true;
                account.locked = true;
                account.password_expired = true;
                accounts.list.push(Arc::new(account));
            }
            if failed.is_empty() { Ok(()) } else { Err(cannot("CREATE ROLE", &failed, EXISTS)) }
        })
    }

    pub(super) fn set_default_role(&self, statement: &SetDefaultRole<'_>) -> Outcome {
        self.backend.change_accounts(|accounts, _| {
            for name in statement.users {
                let (user, host) = account_named(self.account, name);
                let admin = AccountAdmin::new(self.account, accounts);
                let target = accounts.find(&user, &host);
                if !self.account.is_named(&user, &host) {
                    target.map_or(Ok(()), |target| admin.require_change_of(target))?;
                    admin.require_create_user(Privileges::UPDATE)?;
                }
                let granted = target.map_or(&[][..], |target| &target.granted_roles);
                let roles = match statement.roles {
                    SetRole::None | SetRole::Default => Vec::new(),
                    SetRole::All | SetRole::AllExcept(_) => granted_names(granted),
                    SetRole::Roles(roles) => granted_among(self.account, roles, granted, &user, &host)?,
                };
                let account = find_mut(accounts, &user, &host)
                    .ok_or_else(|| cannot("SET DEFAULT ROLE", &[shown(name)], MISSING))?;
                account.default_roles = roles;
            }
            Ok(())
        })
    }

    /// SET ROLE: the account with those of its granted roles active.
    pub(super) fn with_roles(&self, roles: &SetRole<'_>) -> Result<Arc<SessionAccount>> {
        let catalog = self.core.catalog().load();
        let Some(account) = catalog.accounts.get(self.account.id) else {
            return Err(cannot("SET ROLE", &[quoted(&self.account.user, &self.account.host)], MISSING));
        };
        let (user, host) = (&account.user, &account.host);
        let active = match *roles {
            SetRole::None => Vec::new(),
            SetRole::Default => account.default_roles.clone(),
            SetRole::All => granted_names(&account.granted_roles),
            SetRole::AllExcept(except) => {
                let except = granted_among(self.account, except, &account.granted_roles, user, host)
                    .unwrap_or_default();
                let mut all = granted_names(&account.granted_roles);
                all.retain(|role| !except.contains(role));
                all
            }
            SetRole::Roles(roles) => granted_among(self.account, roles, &account.granted_roles, user, host)?,
        };
        Ok(SessionAccount::new(&catalog.accounts, account, &active, &self.account.client_host))
    }

    pub(super) fn grant(&self, statement: &Grant<'_>) -> Outcome {
        match *statement {
            Grant::Privileges { privileges, object, users, grant_option, as_user } => {
                if as_user {
                    return Err(not_supported("GRANT ... AS"));
                }
                let target = self.grant_target(object, privileges)?;
                self.backend.change_accounts(|accounts, _| {
                    self.require_grant(&target, accounts, users)?;
                    if !target.unregistered.is_empty() {
                        return Err(ER_SYNTAX_ERROR.bare());
                    }
                    self.require_grantable(&target)?;
                    for name in users {
                        let (user, host) = account_named(self.account, name);
                        let account = find_mut(accounts, &user, &host)
                            .ok_or_else(|| ER_CANT_CREATE_USER_WITH_GRANT.bare())?;
                        target.grant(account, grant_option);
                        Target::drop_empty(account);
                    }
                    Ok(())
                })?;
            }
            Grant::Roles { roles, users, admin_option } => {
                self.backend.change_accounts(|accounts, _| {
                    for role in roles {
                        let (role_user, role_host) = account_named(self.account, role);
                        let admin = AccountAdmin::new(self.account, accounts);
                        admin.require_grant_of_role(&role_user, &role_host)?;
                        if accounts.find(&role_user, &role_host).is_none() {
                            return Err(ER_UNKNOWN_AUTHID.with(&[&role_user, &role_host]));
                        }
                        for name in users {
                            let (user, host) = account_named(self.account, name);
                            if let Some(target) = accounts.find(&user, &host) {
                                AccountAdmin::new(self.account, accounts).require_change_of(target)?;
                            }
                            if leads_to(accounts, (&role_user, &role_host), (&user, &host)) {
                                let names: [&dyn std::fmt::Display; 4] =
                                    [&user, &host, &role_user, &role_host];
                                return Err(ER_ROLE_GRANTED_TO_ITSELF.with(&names));
                            }
                            let account = find_mut(accounts, &user, &host)
                                .ok_or_else(|| ER_UNKNOWN_AUTHID.with(&[&user, &host]))?;
                            account
                                .granted_roles
                                .retain(|role| !(*role.0 == *role_user && *role.1 == *role_host));
                            account.granted_roles.push((
                                role_user.as_str().into(),
                                role_host.as_str().into(),
                                admin_option,
                            ));
                        }
                    }
                    Ok(())
                })?;
            }
            Grant::Proxy { .. } => return Err(not_supported("GRANT PROXY")),
        }
        Ok(())
    }

    pub(super) fn revoke(&self, statement: &Revoke<'_>, notes: &mut Vec<Diagnostic>) -> Outcome {
        let target = match statement.what {
            RevokeWhat::Privileges(privileges, object) => Some(self.grant_target(object, privileges)?),
            RevokeWhat::Everything | RevokeWhat::Roles(_) => None,
            RevokeWhat::Proxy(_) => return Err(not_supported("REVOKE PROXY")),
        };
        self.backend.change_accounts(|accounts, _| {
            self.require_revoke(statement, target.as_ref(), accounts)?;
            let roles = match statement.what {
                RevokeWhat::Roles(roles) => roles,
                _ => &[],
            };
            let is_known = |(user, host): &(String, String)| accounts.find(user, host).is_some();
            let mut unknown_roles: Vec<_> =
                roles.iter().map(|role| account_named(self.account, role)).collect();
            unknown_roles.retain(|role| !is_known(role));
            for name in statement.users {
                let (user, host) = account_named(self.account, name);
                let Some(account) = find_mut(accounts, &user, &host) else {
                    if statement.ignore_unknown_user {
                        notes.push(Diagnostic {
                            level: service::Level::Warning,
                            ..note(3162, format!("Authorization ID {user} does not exist."))
                        });
                        continue;
                    }
                    return Err(match (&target, statement.what) {
                        (Some(target), _) => target.not_granted(&user, &host),
                        (None, RevokeWhat::Roles(_)) => ER_UNKNOWN_AUTHID.with(&[&user, &host]),
                        (None, _) => ER_REVOKE_GRANTS.bare(),
                    });
                };
                match (&target, statement.what) {
                    (Some(target), _) => {
                        if !target.is_granted_to(account) {
                            let missing = target.not_granted(&account.user, &account.host);
                            if !statement.if_exists {
                                return Err(missing);
                            }
                            notes.push(warning_of(&missing));
                        }
                        for name in &target.unregistered {
                            notes.push(ER_DYNAMIC_PRIVILEGE_NOT_REGISTERED.warning(&[name]));
                        }
                        target.revoke(account);
                    }
                    (None, RevokeWhat::Roles(roles)) => {
                        for (user, host) in &unknown_roles {
                            let unknown = ER_UNKNOWN_AUTHID.with(&[user, host]);
                            if !statement.if_exists {
                                return Err(unknown);
                            }
                            notes.push(warning_of(&unknown));
                        }
                        let is_named = |user: &str, host: &str| {
                            let mut named = roles.iter();
                            named.any(|role| user.as_bytes() == role.user && host.as_bytes() == role.host)
                        };
                        account.granted_roles.retain(|role| !is_named(&role.0, &role.1));
                        account.default_roles.retain(|role| !is_named(&role.0, &role.1));
                    }
                    _ => {
                        account.global = Privileges::NONE;
                        account.dynamic.clear();
                        account.schemas.clear();
                        account.tables.clear();
                        account.routines.clear();
                    }
                }
            }
            Ok(())
        })
    }

    /// What REVOKE needs, of the accounts it changes too.
    fn require_revoke(
        &self,
        statement: &Revoke<'_>,
        target: Option<&Target>,
        accounts: &Accounts,
    ) -> Outcome {
        let admin = AccountAdmin::new(self.account, accounts);
        match (statement.what, target) {
            (RevokeWhat::Roles(roles), _) => {
                for role in roles {
                    let (user, host) = account_named(self.account, role);
                    admin.require_grant_of_role(&user, &host)?;
                }
            }
            (_, None) => admin.require_create_user(Privileges::UPDATE)?,
            // ALL at the global level takes the dynamic privileges too, whoever granted them.
            (_, Some(target)) if target.all && target.level == Level::Global => {
                admin.require_create_user(Privileges::UPDATE)?;
            }
            (_, Some(_)) => {}
        }
        match target {
            Some(target) if !(target.all && target.level == Level::Global) => {
                self.require_grant(target, accounts, statement.users)
            }
            _ => statement.users.iter().try_for_each(|name| {
                let (user, host) = account_named(self.account, name);
                accounts.find(&user, &host).map_or(Ok(()), |found| admin.require_change_of(found))
            }),
        }
    }

    /// What a GRANT or REVOKE is about, checked.
    fn grant_target(&self, object: GrantObject<'_>, privileges: &[Privilege<'_>]) -> Result<Target> {
        let (level, all) = match object {
            GrantObject::Global => (Level::Global, Privileges::GLOBAL),
            GrantObject::Schema(name) => (Level::Schema(self.names.schema(name)?), Privileges::SCHEMA),
            GrantObject::Table(name) => {
                let (schema, table) = self.names.table(&name)?;
                (Level::Table(schema, table), Privileges::TABLE)
            }
            GrantObject::Routine(word, name) => {
                let kind = match word {
                    "PROCEDURE" => RoutineKind::Procedure,
                    "FUNCTION" => RoutineKind::Function,
                    _ => return Err(not_supported("privileges on libraries")),
                };
                let (schema, name) = self.names.table(&name)?;
                (Level::Routine(kind, schema, name), Privileges::ROUTINE)
            }
        };
        let mut target = Target {
            level,
            privileges: Privileges::NONE,
            columns: Vec::new(),
            dynamic: Vec::new(),
            unregistered: Vec::new(),
            all: false,
            usage: false,
            wrong_level: None,
        };
        if privileges.is_empty() {
            target.privileges = all;
            target.all = true;
            if target.level == Level::Global {
                target.dynamic = DYNAMIC.iter().map(|name| (*name).to_owned()).collect();
            }
        }
        for privilege in privileges {
            let name = name_text(privilege.name).to_ascii_uppercase();
            if name == "USAGE" {
                target.usage = true;
                continue;
            }
            let Some((bit, _)) = Privileges::ALL.iter().find(|(_, candidate)| *candidate == name) else {
                match &target.level {
                    Level::Global if DYNAMIC.contains(&name.as_str()) => target.dynamic.push(name),
                    Level::Global => target.unregistered.push(name),
                    Level::Schema(_) => return Err(ER_ILLEGAL_PRIVILEGE_LEVEL.with(&[&name])),
                    Level::Table(_, object) | Level::Routine(_, _, object) => {
                        return Err(ER_ILLEGAL_PRIVILEGE_LEVEL.with(&[object]));
                    }
                }
                continue;
            };
            let allowed = all | Privileges::GRANT_OPTION;
            if !allowed.contains(*bit) {
                let refusal = match target.level {
                    Level::Schema(_) => ER_WRONG_USAGE.with(&[&"DB GRANT", &"GLOBAL PRIVILEGES"]),
                    _ => ER_ILLEGAL_GRANT_FOR_TABLE.bare(),
                };
                target.wrong_level.get_or_insert(refusal);
            }
            if privilege.columns.is_empty() {
                target.privileges |= *bit;
                continue;
            }
            let Level::Table(..) = target.level else {
                target.wrong_level.get_or_insert_with(|| ER_ILLEGAL_GRANT_FOR_TABLE.bare());
                target.privileges |= *bit;
                continue;
            };
            if !Privileges::COLUMN.contains(*bit) {
                return Err(ER_WRONG_USAGE.with(&[&"COLUMN GRANT", &"NON-COLUMN PRIVILEGES"]));
            }
            target.columns.extend(privilege.columns.iter().map(|column| (name_text(column.text), *bit)));
        }
        Ok(target)
    }

    /// A table must be there, unless CREATE on it is granted, and so must its columns; a routine must be there.
    fn require_grantable(&self, target: &Target) -> Outcome {
        if let Level::Routine(kind, schema, name) = &target.level {
            return match self.core.catalog().load().routines.get(schema, *kind, name) {
                Some(_) => Ok(()),
                None => Err(ER_SP_DOES_NOT_EXIST.with(&[&kind.word(), name])),
            };
        }
        let Level::Table(schema, table) = &target.level else { return Ok(()) };
        let catalog = self.core.catalog().load();
        let entry = catalog.table(schema, table);
        if entry.is_none() && !target.privileges.contains(Privileges::CREATE) {
            return Err(ER_NO_SUCH_TABLE.with(&[schema, table]));
        }
        if let Some(entry) = entry {
            for (column, _) in &target.columns {
                if entry.definition.column_ordinal(column).is_none() {
                    return Err(service::error::ER_BAD_FIELD_ERROR.with(&[column, table]));
                }
            }
        }
        Ok(())
    }

    /// Who grants or revokes needs the privileges and GRANT OPTION at that level; dynamic ones each WITH GRANT OPTION.
    /// Accounts with SYSTEM_USER need SYSTEM_USER too. Then the level must have the privileges.
    fn require_grant(&self, target: &Target, accounts: &Accounts, users: &[Name<'_>]) -> Outcome {
        let change = || {
            users.iter().try_for_each(|name| {
                let (user, host) = account_named(self.account, name);
                let found = accounts.find(&user, &host);
                found.map_or(Ok(()), |found| {
                    AccountAdmin::new(self.account, accounts).require_change_of(found)
                })
            })
        };
        if target.is_dynamic() {
            change()?;
            return self.require_held(target, accounts);
        }
        self.require_held(target, accounts)?;
        change()?;
        target.wrong_level.clone().map_or(Ok(()), Err)
    }

    fn require_held(&self, target: &Target, accounts: &Accounts) -> Outcome {
        let columns = target.columns.iter().fold(Privileges::NONE, |sum, (_, bit)| sum | *bit);
        let wanted = target.privileges | columns | Privileges::GRANT_OPTION;
        let account = self.account;
        match &target.level {
            Level::Global => {
                if !target.is_dynamic() && !account.global.contains(wanted) {
                    return Err(access::access_denied(account));
                }
                let admin = AccountAdmin::new(account, accounts);
                let dynamic = target.dynamic.iter().filter(|_| !target.all).chain(&target.unregistered);
                dynamic.into_iter().try_for_each(|name| admin.require_grant_of_dynamic(name))
            }
            Level::Schema(schema) => {
                self.require_held_above(schema, wanted, Privileges::SCHEMA)?;
                privilege::require_schema(account, schema, wanted)
            }
            Level::Table(schema, table) => {
                self.require_held_above(schema, wanted, Privileges::TABLE | Privileges::ROUTINE)?;
                privilege::require_table(account, schema, table, wanted)
            }
            Level::Routine(kind, schema, name) => {
                self.require_held_above(schema, wanted, Privileges::TABLE | Privileges::ROUTINE)?;
                let missing = wanted & !privilege::on_routine(account, schema, *kind, name);
                let refused = match missing {
                    _ if missing.is_empty() => return Ok(()),
                    _ if missing.contains(Privileges::EXECUTE) => "execute",
                    _ if missing.contains(Privileges::ALTER_ROUTINE) => "alter routine",
                    _ if missing.contains(Privileges::GRANT_OPTION) => "grant",
                    _ => "",
                };
                Err(privilege::routine_denied(account, &format!("{schema}.{name}"), refused))
            }
        }
    }

    /// Privileges beyond `of_level` must be held where they are granted: on all schemas or on this one.
    ///
    /// # Errors
    /// 1045 for privileges that only all schemas have, 1044.
    fn require_held_above(&self, schema: &str, wanted: Privileges, of_level: Privileges) -> Outcome {
        let above = wanted & !(of_level | Privileges::GRANT_OPTION);
        if above.is_empty() || privilege::on_schema(self.account, schema).contains(wanted) {
            return Ok(());
        }
        if !Privileges::SCHEMA.contains(above) {
            return Err(access::access_denied(self.account));
        }
        Err(privilege::schema_denied(self.account, schema))
    }
}

/// Those of `roles`, all of which must be granted to `user`@`host`.
///
/// # Errors
/// 3530.
fn granted_among(
    own_account: &SessionAccount,
    roles: &[Name<'_>],
    granted: &[(Arc<str>, Arc<str>, bool)],
    user: &str,
    host: &str,
) -> Result<Vec<RoleName>> {
    let mut names: Vec<RoleName> = Vec::with_capacity(roles.len());
    for role in roles {
        let (role_user, role_host) = account_named(own_account, role);
        let found = granted.iter().find(|found| *found.0 == *role_user && *found.1 == *role_host);
        let missing = || ER_ROLE_NOT_GRANTED.with(&[&role_user, &role_host, &user, &host]);
        let found = found.ok_or_else(missing)?;
        let name = (Arc::clone(&found.0), Arc::clone(&found.1));
        if !names.contains(&name) {
            names.push(name);
        }
    }
    Ok(names)
}

/// SHOW GRANTS.
pub(super) fn show_grants(
    catalog: &Catalog,
    own_account: &SessionAccount,
    user: Option<UserRef<'_>>,
    using: &[Name<'_>],
) -> Result<Listing> {
    let (name, host) = account_meant(own_account, &user.unwrap_or(UserRef::Current));
    let Some(account) = catalog.accounts.find(&name, &host) else {
        return Err(ER_NONEXISTING_GRANT.with(&[&name, &host]));
    };
    // One's own privileges are shown with those of the active roles, unless the account is named or roles are.
    let own = matches!(user, None | Some(UserRef::Current));
    let with_roles = match using {
        [] => None,
        roles => {
            let (user, host) = (&account.user, &account.host);
            let roles = granted_among(own_account, roles, &account.granted_roles, user, host)?;
            Some(SessionAccount::new(&catalog.accounts, account, &roles, &own_account.client_host))
        }
    };
    let account: &Account = match &with_roles {
        Some(account) => account,
        None if own => own_account,
        None => account,
    };
    let mut listing = Listing::new(&[(&format!("Grants for {name}@{host}"), text(1024))]);
    for line in grants_of(account) {
        listing.push(&[Cell::Text(&line)]);
    }
    Ok(listing)
}

/// SHOW CREATE USER.
pub(super) fn show_create_user(
    catalog: &Catalog,
    own_account: &SessionAccount,
    name: &Name<'_>,
) -> Result<Listing> {
    let (user, host) = account_named(own_account, name);
    let Some(account) = catalog.accounts.find(&user, &host) else {
        return Err(cannot("SHOW CREATE USER", &[format!("'{user}'@'{host}'")], MISSING));
    };
    let mut statement = format!(
        "CREATE USER {} IDENTIFIED WITH '{}'",
        quoted(&account.user, &account.host),
        account.plugin.name()
    );
    if !account.auth_string.is_empty() {
        let mut literal = Vec::new();
        catalog::append_string(&mut literal, &account.auth_string);
        let _ = write!(statement, " AS {}", String::from_utf8_lossy(&literal));
    }
    if !account.default_roles.is_empty() {
        let mut roles: Vec<String> =
            account.default_roles.iter().map(|(user, host)| quoted(user, host)).collect();
        roles.sort_unstable();
        let _ = write!(statement, " DEFAULT ROLE {}", roles.join(","));
    }
    statement.push_str(match account.tls {
        AccountTls::None => " REQUIRE NONE",
        AccountTls::Ssl => " REQUIRE SSL",
        AccountTls::X509 => " REQUIRE X509",
    });
    let (expiry, reuse) = passwords::clauses(account);
    statement.push_str(&expiry);
    statement.push_str(if account.locked { " ACCOUNT LOCK" } else { " ACCOUNT UNLOCK" });
    statement.push_str(&reuse);
    let locking = account.password_locking;
    if locking.failed_attempts_max > 0 {
        let _ = write!(statement, " FAILED_LOGIN_ATTEMPTS {}", locking.failed_attempts_max);
    }
    match locking.lock_days {
        0 => {}
        days if days < 0 => statement.push_str(" PASSWORD_LOCK_TIME UNBOUNDED"),
        days => {
            let _ = write!(statement, " PASSWORD_LOCK_TIME {days}");
        }
    }
    if !account.attributes.is_empty() {
        let _ = write!(statement, " ATTRIBUTE '{}'", account.attributes.replace('\'', "''"));
    }
    let mut listing = Listing::new(&[(&format!("CREATE USER for {user}@{host}"), text(256))]);
    listing.push(&[Cell::Text(&statement)]);
    Ok(listing)
}

/// Runs a statement about accounts: commits what is open, and nothing changes definitions meanwhile.
pub(super) fn account_statement<B: Backend>(
    session: &mut Session<B>,
    kind: Option<StatementKind>,
    reply: &mut Reply<'_>,
    run: impl FnOnce(&AccountStatements<'_, B>, &mut Vec<Diagnostic>) -> Outcome,
) -> Outcome {
    password_statement(session, kind, reply, |run_statement, notes, _| run(run_statement, notes))
}

/// The same for a statement that may set passwords: answers with those that it made.
pub(super) fn password_statement<B: Backend>(
    session: &mut Session<B>,
    kind: Option<StatementKind>,
    reply: &mut Reply<'_>,
    run: impl FnOnce(&AccountStatements<'_, B>, &mut Vec<Diagnostic>, &mut Vec<GeneratedPassword>) -> Outcome,
) -> Outcome {
    transaction_statements::implicit_commit_then(session, reply, |session, reply| {
        if let Some(kind) = kind {
            session.count(kind);
        }
        let (mut notes, mut generated) = (Vec::new(), Vec::new());
        let ran = run(&account_statements(session), &mut notes, &mut generated);
        session.diagnostics.extend(notes, session.variables.settings().diagnostics);
        ran?;
        session.account.renew(&session.shared.core);
        session.account.password_changed(&session.shared.core);
        if generated.is_empty() {
            return session.send_ok(reply);
        }
        let columns = [
            ("user", text(USER_NAME_CHARS_MAX as u32)),
            ("host", text(HOST_NAME_CHARS_MAX as u32)),
            ("generated password", text(255)),
            ("auth_factor", unsigned()),
        ];
        let mut listing = Listing::new(&columns);
        for GeneratedPassword { user, host, password } in &generated {
            listing.push(&[Cell::Text(user), Cell::Text(host), Cell::Text(password), Cell::UInt(1)]);
        }
        listing::send(session, &listing, reply)
    })
}

/// What statements about accounts need of it.
pub(super) fn account_statements<B: Backend>(session: &Session<B>) -> AccountStatements<'_, B> {
    AccountStatements {
        core: &session.shared.core,
        backend: &*session.shared.backend,
        account: &session.account,
        random_length: session.variables.unsigned(known::generated_random_password_length()),
        names: session.names(),
    }
}

/// SET ROLE: which of the roles granted to the account are active in this session.
pub(super) fn set_role<B: Backend>(
    session: &mut Session<B>,
    roles: &SetRole<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let account = account_statements(session).with_roles(roles)?;
    session.account.set_roles(account);
    session.send_ok(reply)
}

/// An error that IF EXISTS makes a warning.
fn warning_of(error: &SqlError) -> Diagnostic {
    Diagnostic { level: service::Level::Warning, ..error.diagnostic() }
}

fn note(number: u16, message: String) -> Diagnostic {
    Diagnostic { level: service::Level::Note, number, state: *b"HY000", message }
}

fn granted_names(granted: &[(Arc<str>, Arc<str>, bool)]) -> Vec<RoleName> {
    granted.iter().map(|(user, host, _)| (Arc::clone(user), Arc::clone(host))).collect()
}

/// Whether `from` is `to` or has it as a role, by whatever way.
fn leads_to(accounts: &Accounts, from: (&str, &str), to: (&str, &str)) -> bool {
    let mut waiting = vec![(from.0.to_owned(), from.1.to_owned())];
    let mut seen: Vec<(String, String)> = Vec::new();
    while let Some(name) = waiting.pop() {
        if name.0 == to.0 && name.1 == to.1 {
            return true;
        }
        if seen.contains(&name) {
            continue;
        }
        if let Some(account) = accounts.find(&name.0, &name.1) {
            waiting.extend(account.granted_roles.iter().map(|role| (role.0.to_string(), role.1.to_string())));
        }
        seen.push(name);
    }
    false
}

fn is_named(account: &Account, user: &str, host: &str) -> bool {
    *account.user == *user && account.host.eq_ignore_ascii_case(host)
}

fn find_mut<'a>(accounts: &'a mut Accounts, user: &str, host: &str) -> Option<&'a mut Account> {
    accounts.list.iter_mut().find(|account| is_named(account, user, host)).map(Arc::make_mut)
}

fn check_lengths(user: &str, host: &str) -> Result<()> {
    if user.chars().count() > USER_NAME_CHARS_MAX {
        return Err(ER_WRONG_STRING_LENGTH.with(&[&user, &"user name", &USER_NAME_CHARS_MAX]));
    }
    if host.chars().count() > HOST_NAME_CHARS_MAX {
        return Err(ER_WRONG_STRING_LENGTH.with(&[&host, &"host name", &HOST_NAME_CHARS_MAX]));
    }
    Ok(())
}

#[derive(Clone, Debug, Eq, PartialEq)]
enum Level {
    Global,
    Schema(String),
    Table(String, String),
    Routine(RoutineKind, String, String),
}

/// What a GRANT or REVOKE gives or takes, and where.
struct Target {
    level: Level,
    privileges: Privileges,
    columns: Vec<(String, Privileges)>,
    dynamic: Vec<String>,
    /// Names that no privilege has: taken for dynamic ones.
    unregistered: Vec<String>,
    all: bool,
    /// USAGE was written.
    usage: bool,
    /// A privilege that this level does not have: refused once the account is known to hold it.
    wrong_level: Option<Box<SqlError>>,
}

impl Target {
    /// Only dynamic privileges, whose GRANT OPTION is their own.
    fn is_dynamic(&self) -> bool {
        let has_dynamic = !self.dynamic.is_empty() || !self.unregistered.is_empty();
        self.privileges.is_empty() && has_dynamic && !self.all && !self.usage
    }

    /// That nothing of it is granted to `user`, or not all.
    #[cold]
    fn not_granted(&self, user: &str, host: &str) -> Box<SqlError> {
        match &self.level {
            Level::Global | Level::Schema(_) => ER_NONEXISTING_GRANT.with(&[&user, &host]),
            Level::Table(_, table) => ER_NONEXISTING_TABLE_GRANT.with(&[&user, &host, table]),
            Level::Routine(_, _, name) => ER_NONEXISTING_PROC_GRANT.with(&[&user, &host, name]),
        }
    }

    /// Entries that grant nothing are none.
    fn drop_empty(account: &mut Account) {
        account.schemas.retain(|granted| !granted.privileges.is_empty());
        account.tables.retain(|granted| !granted.privileges.is_empty() || !granted.columns.is_empty());
        account.routines.retain(|granted| !granted.privileges.is_empty());
    }

    fn grant(&self, account: &mut Account, grant_option: bool) {
        let mut privileges = self.privileges;
        if grant_option && !self.is_dynamic() {
            privileges |= Privileges::GRANT_OPTION;
        }
        match &self.level {
            Level::Global => {
                account.global |= privileges;
                for name in &self.dynamic {
                    let held = account.dynamic.iter_mut().find(|(candidate, _)| **candidate == **name);
                    match held {
                        Some((_, grantable)) => *grantable |= grant_option,
                        None => account.dynamic.push((name.as_str().into(), grant_option)),
                    }
                }
                account.dynamic.sort();
            }
            Level::Schema(schema) => {
                match account.schemas.iter_mut().find(|granted| *granted.pattern == **schema) {
                    Some(granted) => granted.privileges |= privileges,
                    None => {
                        account
                            .schemas
                            .push(SchemaPrivileges { pattern: schema.as_str().into(), privileges });
                    }
                }
            }
            Level::Table(schema, table) => {
                let at = account
                    .tables
                    .iter()
                    .position(|granted| *granted.schema == **schema && *granted.table == **table)
                    .unwrap_or_else(|| {
                        account.tables.push(TablePrivileges {
                            schema: schema.as_str().into(),
                            table: table.as_str().into(),
                            privileges: Privileges::NONE,
                            columns: Vec::new(),
                        });
                        account.tables.len() - 1
                    });
                let granted = &mut account.tables[at];
                granted.privileges |= privileges;
                for (column, bit) in &self.columns {
                    match granted.columns.iter_mut().find(|entry| catalog::names_equal(&entry.column, column))
                    {
                        Some(entry) => entry.privileges |= *bit,
                        None => granted
                            .columns
                            .push(ColumnPrivileges { column: column.as_str().into(), privileges: *bit }),
                    }
                }
            }
            Level::Routine(kind, schema, name) => grant_routine(account, *kind, schema, name, privileges),
        }
    }

    /// Whether the account was granted what REVOKE names: at this level, and each privilege unless ALL is written.
    fn is_granted_to(&self, account: &Account) -> bool {
        let holds = |held: Privileges| self.all || held.contains(self.privileges);
        match &self.level {
            Level::Global => true,
            Level::Schema(schema) => account
                .schemas
                .iter()
                .find(|granted| *granted.pattern == **schema)
                .is_some_and(|granted| holds(granted.privileges)),
            Level::Table(schema, table) => {
                let mut tables = account.tables.iter();
                let granted = tables.find(|granted| *granted.schema == **schema && *granted.table == **table);
                granted.is_some_and(|granted| {
                    let of_column = |column: &str| {
                        let named = |entry: &&ColumnPrivileges| catalog::names_equal(&entry.column, column);
                        granted.columns.iter().find(named).map_or(Privileges::NONE, |entry| entry.privileges)
                    };
                    let of_columns =
                        granted.columns.iter().fold(Privileges::NONE, |sum, entry| sum | entry.privileges);
                    holds(granted.privileges | of_columns)
                        && self.columns.iter().all(|(column, bit)| of_column(column).contains(*bit))
                })
            }
            Level::Routine(kind, schema, name) => account
                .routines
                .iter()
                .find(|granted| granted.is_on(*kind, schema, name))
                .is_some_and(|granted| holds(granted.privileges)),
        }
    }

    /// Takes what the account has of it.
    fn revoke(&self, account: &mut Account) {
        let kept = !self.privileges;
        match &self.level {
            Level::Global => {
                account.global = account.global & kept;
                account.dynamic.retain(|(name, _)| !self.dynamic.iter().any(|taken| **taken == **name));
            }
            Level::Schema(schema) => {
                for granted in account.schemas.iter_mut().filter(|granted| *granted.pattern == **schema) {
                    granted.privileges = granted.privileges & kept;
                }
            }
            Level::Table(schema, table) => {
                let is_it =
                    |granted: &&mut TablePrivileges| *granted.schema == **schema && *granted.table == **table;
                for granted in account.tables.iter_mut().filter(is_it) {
                    granted.privileges = granted.privileges & kept;
                    for entry in &mut granted.columns {
                        let single = self
                            .columns
                            .iter()
                            .filter(|(column, _)| catalog::names_equal(column, &entry.column))
                            .fold(self.privileges, |sum, (_, bit)| sum | *bit);
                        entry.privileges = entry.privileges & !single;
                    }
                    granted.columns.retain(|entry| !entry.privileges.is_empty());
                }
            }
            Level::Routine(kind, schema, name) => {
                for granted in account.routines.iter_mut().filter(|own| own.is_on(*kind, schema, name)) {
                    granted.privileges = granted.privileges & kept;
                }
            }
        }
        Self::drop_empty(account);
    }
}

/// Names of a set with the columns of the single ones that have some.
fn privilege_list(privileges: Privileges, all: Privileges, columns: &[ColumnPrivileges]) -> String {
    if privileges.contains(all) {
        return "ALL PRIVILEGES".to_owned();
    }
    let mut parts = Vec::new();
    for (bit, name) in Privileges::ALL.iter().filter(|(bit, _)| *bit != Privileges::GRANT_OPTION) {
        if privileges.contains(*bit) {
            parts.push((*name).to_owned());
        }
        let mut named: Vec<String> = columns
            .iter()
            .filter(|entry| entry.privileges.contains(*bit))
            .map(|entry| format!("`{}`", entry.column))
            .collect();
        if !named.is_empty() {
            named.sort();
            parts.push(format!("{name} ({})", named.join(", ")));
        }
    }
    if parts.is_empty() { "USAGE".to_owned() } else { parts.join(", ") }
}

/// The statements that would give an account what it has.
#[must_use]
pub(crate) fn grants_of(account: &Account) -> Vec<String> {
    let to = quoted(&account.user, &account.host);
    let option = |privileges: Privileges| {
        if privileges.contains(Privileges::GRANT_OPTION) { " WITH GRANT OPTION" } else { "" }
    };
    // At the global level MySQL writes every name out.
    let global = privilege_list(account.global, Privileges(u64::MAX), &[]);
    let mut lines = vec![format!("GRANT {global} ON *.* TO {to}{}", option(account.global))];
    for grantable in [false, true] {
        let names: Vec<&str> =
            account.dynamic.iter().filter(|(_, with)| *with == grantable).map(|(name, _)| &**name).collect();
        if !names.is_empty() {
            let with = if grantable { " WITH GRANT OPTION" } else { "" };
            lines.push(format!("GRANT {} ON *.* TO {to}{with}", names.join(",")));
        }
    }
    for schema in &account.schemas {
        let list = privilege_list(schema.privileges, Privileges::SCHEMA, &[]);
        lines.push(format!("GRANT {list} ON `{}`.* TO {to}{}", schema.pattern, option(schema.privileges)));
    }
    for table in &account.tables {
        let list = privilege_list(table.privileges, Privileges::TABLE, &table.columns);
        lines.push(format!(
            "GRANT {list} ON `{}`.`{}` TO {to}{}",
            table.schema,
            table.table,
            option(table.privileges)
        ));
    }
    for routine in &account.routines {
        // MySQL has no short form of these.
        let list = privilege_list(routine.privileges, Privileges(u64::MAX), &[]);
        lines.push(format!(
            "GRANT {list} ON {} `{}`.`{}` TO {to}{}",
            routine.kind.word(),
            routine.schema,
            routine.name,
            option(routine.privileges)
        ));
    }
    for with_admin in [false, true] {
        let granted = account.granted_roles.iter().filter(|role| role.2 == with_admin);
        let mut roles: Vec<String> = granted.map(|(user, host, _)| quoted(user, host)).collect();
        roles.sort_unstable();
        if !roles.is_empty() {
            let with = if with_admin { " WITH ADMIN OPTION" } else { "" };
            lines.push(format!("GRANT {} TO {to}{with}", roles.join(",")));
        }
    }
    lines
}
