//! The account whose privileges count: the client's, or that of the routine in run.
//!
//! Invariant: privileges and active roles are those of the catalog whose version [`CurrentAccount::renew`] saw last.

use std::ops::Deref;
use std::sync::Arc;

use catalog::{Account, AccountId, Accounts, Catalog, Privileges};

use crate::core::Core;
use crate::privilege::{self, SessionAccount};

/// The session's account. Read as [`SessionAccount`].
#[derive(Debug)]
pub(crate) struct CurrentAccount {
    /// With its active roles, as of `accounts_seen`.
    account: Arc<SessionAccount>,
    accounts_seen: Arc<Accounts>,
    /// The catalog's version at that look.
    catalog_seen: u64,
    /// `USER()`.
    user_at_host: String,
}

/// An account that a routine has replaced, and as of which accounts.
#[derive(Debug)]
pub(crate) struct ReplacedAccount {
    account: Arc<SessionAccount>,
    accounts: Arc<Accounts>,
}

impl CurrentAccount {
    /// A client that gave the name `user` proved to be `proved`, and comes from `client_host`.
    pub(super) fn at_login(
        catalog: &Catalog,
        proved: &service::Account,
        user: &str,
        client_host: &str,
    ) -> Self {
        let accounts = &catalog.accounts;
        let account = accounts
            .find(&proved.user, &proved.host)
            .map_or_else(|| Arc::new(Account::new(AccountId(0), &proved.user, &proved.host)), Arc::clone);
        Self {
            account: SessionAccount::at_login(accounts, &account, client_host)
                .with_expired_password(proved.password.is_expired()),
            accounts_seen: Arc::clone(accounts),
            catalog_seen: catalog.version,
            user_at_host: format!("{user}@{client_host}"),
        }
    }

    /// COM_CHANGE_USER: the client proved to be another account.
    pub(super) fn change(&mut self, catalog: &Catalog, proved: &service::Account, user: &str) {
        let client_host = self.user_and_host().1.to_owned();
        if let Some(account) = catalog.accounts.find(&proved.user, &proved.host) {
            self.account = SessionAccount::at_login(&catalog.accounts, account, &client_host)
                .with_expired_password(proved.password.is_expired());
        }
        self.accounts_seen = Arc::clone(&catalog.accounts);
        self.user_at_host = format!("{user}@{client_host}");
    }

    /// Looks the account up again if accounts changed since the last look.
    #[inline]
    pub(crate) fn renew(&mut self, core: &Core) {
        // Accounts are part of the catalog: they are as they were while its version is.
        if core.catalog().version() != self.catalog_seen {
            self.look_up(core);
        }
    }

    #[cold]
    fn look_up(&mut self, core: &Core) {
        let catalog = core.catalog().load();
        self.catalog_seen = catalog.version;
        if Arc::ptr_eq(&catalog.accounts, &self.accounts_seen) {
            return;
        }
        self.account = self.account.renewed(&catalog.accounts);
        self.accounts_seen = Arc::clone(&catalog.accounts);
    }

    /// A statement about passwords has run: perhaps it was this account's, which is no longer expired then.
    pub(super) fn password_changed(&mut self, core: &Core) {
        if self.account.must_change_password() && !core.password_expiry(&self.account).is_expired() {
            self.account = Arc::clone(&self.account).with_expired_password(false);
        }
    }

    /// All accounts, as of the last look.
    pub(super) fn accounts(&self) -> &Accounts {
        &self.accounts_seen
    }

    /// SET ROLE: other roles of the same account are active.
    pub(super) fn set_roles(&mut self, account: Arc<SessionAccount>) {
        self.account = account;
    }

    /// A routine runs with its definer's privileges; returns what [`CurrentAccount::restore`] brings back.
    pub(crate) fn switch(&mut self, account: Arc<SessionAccount>) -> ReplacedAccount {
        let account = std::mem::replace(&mut self.account, account);
        ReplacedAccount { account, accounts: Arc::clone(&self.accounts_seen) }
    }

    /// Goes back to the account that a routine had replaced, as it is now.
    pub(crate) fn restore(&mut self, replaced: &ReplacedAccount, core: &Core) {
        if Arc::ptr_eq(&self.account, &replaced.account) {
            return;
        }
        // Each call of a function comes here, and nearly always accounts are as they were.
        let now = core.catalog().peek();
        if Arc::ptr_eq(&now.accounts, &replaced.accounts) {
            self.account = Arc::clone(&replaced.account);
        } else {
            self.account = replaced.account.renewed(&now.accounts);
        }
        if !Arc::ptr_eq(&now.accounts, &self.accounts_seen) {
            self.accounts_seen = Arc::clone(&now.accounts);
        }
    }

    /// Whether the account may do to connections what others may not.
    pub(super) fn is_connection_admin(&self) -> bool {
        self.account.global.contains(Privileges::SUPER)
            || privilege::has_dynamic(&self.account, "CONNECTION_ADMIN")
    }

    /// `USER()`: the name the client gave, and where it comes from.
    pub(crate) fn user_at_host(&self) -> &str {
        &self.user_at_host
    }

    /// Both by themselves.
    pub(super) fn user_and_host(&self) -> (&str, &str) {
        self.user_at_host.rsplit_once('@').unwrap_or((&self.user_at_host, ""))
    }
}

impl Deref for CurrentAccount {
    type Target = Arc<SessionAccount>;

    #[inline]
    fn deref(&self) -> &Arc<SessionAccount> {
        &self.account
    }
}
