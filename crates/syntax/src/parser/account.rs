//! Accounts, roles, privileges.

use super::{Parser, R};
use crate::ast::*;
use crate::keywords::T;

impl<'a> Parser<'a> {
    /// `user[@host]`, or `CURRENT_USER`.
    pub(super) fn account(&mut self) -> R<Account<'a>> {
        if self.at(T::CURRENT_USER) {
            self.bump();
            if self.eat(T::LParen) {
                self.expect(T::RParen)?;
            }
            return Ok(Account { user: b"", host: b"", current: true });
        }
        self.named_account()
    }

    fn named_account(&mut self) -> R<Account<'a>> {
        let user = self.ident_or_string()?;
        let host = if self.eat_at()? { self.ident_or_string()? } else { b"%" };
        Ok(Account { user, host, current: false })
    }

    /// A role: an account whose name is none of a few words.
    pub(super) fn role(&mut self) -> R<Account<'a>> {
        if self.at_any(&[
            T::EVENT,
            T::FILE,
            T::NONE,
            T::PROCESS,
            T::PROXY,
            T::RELOAD,
            T::REPLICATION,
            T::RESOURCE,
        ]) || self.at_any(&[T::SUPER, T::EXECUTE, T::RESTART, T::SHUTDOWN])
        {
            return self.fail();
        }
        self.named_account()
    }

    fn accounts(&mut self) -> R<&'a [Account<'a>]> {
        self.comma_list(Self::account)
    }

    fn user_ref(&mut self) -> R<UserRef<'a>> {
        if self.at(T::USER) && self.peek() == T::LParen {
            self.bump();
            self.bump();
            self.expect(T::RParen)?;
            return Ok(UserRef::Current);
        }
        let account = self.account()?;
        Ok(if account.current { UserRef::Current } else { UserRef::Named(account) })
    }

    /// `IDENTIFIED ...`.
    fn identified(&mut self, auth: &mut Auth<'a>) -> R<()> {
        self.expect(T::IDENTIFIED)?;
        if self.eat(T::WITH) {
            auth.plugin = Some(self.ident_or_string()?);
            if self.eat(T::AS) {
                auth.hash = Some(self.text_string()?);
                return Ok(());
            }
            if !self.at(T::BY) {
                return Ok(());
            }
        }
        self.expect(T::BY)?;
        if self.eat(T::RANDOM) {
            self.expect(T::PASSWORD)?;
            auth.random_password = true;
        } else {
            auth.password = Some(self.string()?);
        }
        Ok(())
    }

    /// After `CREATE USER`.
    pub(super) fn create_user(&mut self) -> R<Statement<'a>> {
        let if_not_exists = self.if_not_exists()?;
        let users = self.comma_list(|p| {
            let user = p.account()?;
            let mut auth = Auth::default();
            if p.at(T::IDENTIFIED) {
                p.identified(&mut auth)?;
                if p.eat(T::INITIAL) {
                    p.expect(T::AUTHENTICATION)?;
                    p.identified(&mut Auth::default())?;
                    auth.multi_factor = true;
                }
                while p.eat(T::AND) {
                    p.identified(&mut Auth::default())?;
                    auth.multi_factor = true;
                }
            }
            let user = if user.current { UserRef::Current } else { UserRef::Named(user) };
            Ok(UserSpec { user, auth })
        })?;
        let mut default_roles: &'a [Account<'a>] = &[];
        if self.eat(T::DEFAULT) {
            self.expect(T::ROLE)?;
            default_roles = self.comma_list(Self::role)?;
        }
        let options = self.user_options()?;
        Ok(Statement::CreateUser(self.alloc(CreateUser { if_not_exists, users, default_roles, options })))
    }

    /// After `ALTER USER`.
    pub(super) fn alter_user(&mut self) -> R<Statement<'a>> {
        let if_exists = self.if_exists()?;
        let mut specs = self.list();
        loop {
            let user = self.user_ref()?;
            if specs.is_empty() && self.eat(T::DEFAULT) {
                self.expect(T::ROLE)?;
                let roles = self.default_roles()?;
                let UserRef::Named(account) = user else {
                    let users =
                        std::slice::from_ref(self.alloc(Account { user: b"", host: b"", current: true }));
                    return Ok(Statement::SetDefaultRole(self.alloc(SetDefaultRole { roles, users })));
                };
                let users = std::slice::from_ref(self.alloc(account));
                return Ok(Statement::SetDefaultRole(self.alloc(SetDefaultRole { roles, users })));
            }
            let mut auth = Auth::default();
            self.alter_auth(&mut auth)?;
            specs.push(UserSpec { user, auth });
            if !self.eat(T::Comma) {
                break;
            }
        }
        let options = self.user_options()?;
        let users = specs.into_bump_slice();
        Ok(Statement::AlterUser(self.alloc(AlterUser { if_exists, users, options })))
    }

    fn alter_auth(&mut self, auth: &mut Auth<'a>) -> R<()> {
        match self.kind() {
            T::IDENTIFIED => {
                self.identified(auth)?;
                if self.eat(T::REPLACE) {
                    auth.replace = Some(self.text_string()?);
                }
                auth.retain_current = self.retain_current()?;
            }
            T::DISCARD => {
                self.bump();
                self.expect_all(&[T::OLD, T::PASSWORD])?;
                auth.discard_old = true;
            }
            T::ADD | T::MODIFY | T::DROP => {
                auth.multi_factor = true;
                let drop = self.at(T::DROP);
                while self.at_any(&[T::ADD, T::MODIFY, T::DROP]) {
                    self.bump();
                    self.integer()?;
                    self.expect(T::FACTOR)?;
                    if !drop {
                        self.identified(&mut Auth::default())?;
                    }
                }
            }
            T::Integer => {
                auth.multi_factor = true;
                self.bump();
                self.expect(T::FACTOR)?;
                if self.eat(T::UNREGISTER) {
                    return Ok(());
                }
                let initiate = self.expect_any(&[T::INITIATE, T::FINISH])? == T::INITIATE;
                self.expect(T::REGISTRATION)?;
                if !initiate {
                    self.expect_all(&[T::SET, T::CHALLENGE_RESPONSE, T::AS])?;
                    self.text_string()?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn retain_current(&mut self) -> R<bool> {
        if self.eat(T::RETAIN) {
            self.expect_all(&[T::CURRENT, T::PASSWORD])?;
            return Ok(true);
        }
        Ok(false)
    }

    fn user_options(&mut self) -> R<&'a [UserOption<'a>]> {
        let mut options = self.list();
        if self.eat(T::REQUIRE) {
            match self.kind() {
                T::NONE => {
                    self.bump();
                    options.push(UserOption::RequireNone);
                }
                T::SSL => {
                    self.bump();
                    options.push(UserOption::RequireSsl);
                }
                T::X509 => {
                    self.bump();
                    options.push(UserOption::RequireX509);
                }
                _ => loop {
                    let word = self.word_of(&[T::SUBJECT, T::ISSUER, T::CIPHER])?;
                    options.push(UserOption::RequireCert(word, self.string()?));
                    self.eat(T::AND);
                    if !self.at_any(&[T::SUBJECT, T::ISSUER, T::CIPHER]) {
                        break;
                    }
                },
            }
        }
        if self.eat(T::WITH) {
            const LIMITS: [T; 4] = [
                T::MAX_QUERIES_PER_HOUR,
                T::MAX_UPDATES_PER_HOUR,
                T::MAX_CONNECTIONS_PER_HOUR,
                T::MAX_USER_CONNECTIONS,
            ];
            loop {
                let word = self.word_of(&LIMITS)?;
                options.push(UserOption::Limit(word, self.whole_number()?));
                if !self.at_any(&LIMITS) {
                    break;
                }
            }
        }
        loop {
            let option = match self.kind() {
                T::ACCOUNT => {
                    self.bump();
                    UserOption::AccountLock(self.expect_any(&[T::LOCK, T::UNLOCK])? == T::LOCK)
                }
                T::FAILED_LOGIN_ATTEMPTS => {
                    self.bump();
                    UserOption::FailedLoginAttempts(self.whole_number()?)
                }
                T::PASSWORD_LOCK_TIME => {
                    self.bump();
                    if self.eat(T::UNBOUNDED) {
                        UserOption::PasswordLockTime(None)
                    } else {
                        UserOption::PasswordLockTime(Some(self.whole_number()?))
                    }
                }
                T::PASSWORD => self.password_option()?,
                _ => break,
            };
            options.push(option);
        }
        if self.at_any(&[T::COMMENT, T::ATTRIBUTE]) {
            let comment = self.bump().kind == T::COMMENT;
            let text = self.string()?;
            options.push(if comment { UserOption::Comment(text) } else { UserOption::Attribute(text) });
        }
        Ok(options.into_bump_slice())
    }

    fn password_option(&mut self) -> R<UserOption<'a>> {
        self.bump();
        Ok(match self.kind() {
            T::EXPIRE => {
                self.bump();
                match self.kind() {
                    T::INTERVAL => {
                        self.bump();
                        let days = self.whole_number()?;
                        self.expect(T::DAY)?;
                        UserOption::PasswordExpireDays(days)
                    }
                    T::NEVER => {
                        self.bump();
                        UserOption::PasswordExpireNever
                    }
                    T::DEFAULT => {
                        self.bump();
                        UserOption::PasswordExpireDefault
                    }
                    _ => UserOption::PasswordExpire,
                }
            }
            T::HISTORY => {
                self.bump();
                if self.eat(T::DEFAULT) {
                    UserOption::PasswordHistory(None)
                } else {
                    UserOption::PasswordHistory(Some(self.whole_number()?))
                }
            }
            T::REUSE => {
                self.bump();
                self.expect(T::INTERVAL)?;
                if self.eat(T::DEFAULT) {
                    UserOption::PasswordReuseDays(None)
                } else {
                    let days = self.whole_number()?;
                    self.expect(T::DAY)?;
                    UserOption::PasswordReuseDays(Some(days))
                }
            }
            T::REQUIRE => {
                self.bump();
                self.expect(T::CURRENT)?;
                UserOption::PasswordRequireCurrent(if self.eat(T::DEFAULT) {
                    None
                } else {
                    Some(!self.eat(T::OPTIONAL))
                })
            }
            _ => return self.fail(),
        })
    }

    // Passwords and roles of the session.

    /// After `SET`, at `PASSWORD`.
    pub(super) fn set_password(&mut self) -> R<Statement<'a>> {
        self.bump();
        let mut user = UserRef::Current;
        if self.eat(T::FOR) {
            let account = self.account()?;
            if !account.current {
                user = UserRef::Named(account);
            }
        }
        let password = if self.eat(T::TO) {
            self.expect(T::RANDOM)?;
            None
        } else {
            self.equals()?;
            Some(self.string()?)
        };
        let replace = if self.eat(T::REPLACE) { Some(self.string()?) } else { None };
        let retain_current = self.retain_current()?;
        Ok(Statement::SetPassword(self.alloc(SetPassword { user, password, replace, retain_current })))
    }

    fn default_roles(&mut self) -> R<SetRole<'a>> {
        if self.eat(T::NONE) {
            return Ok(SetRole::None);
        }
        if self.eat(T::ALL) {
            return Ok(SetRole::All);
        }
        Ok(SetRole::Roles(self.comma_list(Self::role)?))
    }

    /// After `SET`, at `ROLE`.
    pub(super) fn set_role(&mut self) -> R<Statement<'a>> {
        self.bump();
        let role = if self.eat(T::DEFAULT) {
            SetRole::Default
        } else if self.at(T::ALL) {
            self.bump();
            if self.eat(T::EXCEPT) { SetRole::AllExcept(self.comma_list(Self::role)?) } else { SetRole::All }
        } else {
            self.default_roles()?
        };
        Ok(Statement::SetRole(role))
    }

    /// After `SET DEFAULT ROLE`.
    pub(super) fn set_default_role(&mut self) -> R<Statement<'a>> {
        let roles = self.default_roles()?;
        self.expect(T::TO)?;
        let users = self.comma_list(Self::role)?;
        Ok(Statement::SetDefaultRole(self.alloc(SetDefaultRole { roles, users })))
    }

    // GRANT and REVOKE.

    /// A privilege or a role, whose kind shows only at `ON` or `TO`.
    fn role_or_privilege(&mut self) -> R<(Option<Privilege<'a>>, Option<Account<'a>>, u32)> {
        let place = self.tok.start;
        let plain = |name: &'static str| Privilege { name: name.as_bytes(), columns: &[] };
        let kind = self.tok.kind;
        let name: &'static str = match kind {
            T::SELECT | T::INSERT | T::UPDATE | T::REFERENCES => {
                self.bump();
                let columns = if self.at(T::LParen) { self.paren_list(Self::ident)? } else { &[] };
                return Ok((Some(Privilege { name: kind.word().as_bytes(), columns }), None, place));
            }
            T::DELETE
            | T::USAGE
            | T::INDEX
            | T::EXECUTE
            | T::RELOAD
            | T::SHUTDOWN
            | T::PROCESS
            | T::FILE
            | T::SUPER
            | T::EVENT
            | T::TRIGGER => self.bump().kind.word(),
            T::DROP => {
                self.bump();
                if self.eat(T::ROLE) { "DROP ROLE" } else { "DROP" }
            }
            T::ALTER => {
                self.bump();
                if self.eat(T::ROUTINE) { "ALTER ROUTINE" } else { "ALTER" }
            }
            T::GRANT => {
                self.bump();
                self.expect(T::OPTION)?;
                "GRANT OPTION"
            }
            T::SHOW => {
                self.bump();
                if self.expect_any(&[T::DATABASES, T::VIEW])? == T::VIEW {
                    "SHOW VIEW"
                } else {
                    "SHOW DATABASES"
                }
            }
            T::LOCK => {
                self.bump();
                self.expect(T::TABLES)?;
                "LOCK TABLES"
            }
            T::REPLICATION => {
                self.bump();
                if self.expect_any(&[T::SLAVE, T::CLIENT])? == T::SLAVE {
                    "REPLICATION SLAVE"
                } else {
                    "REPLICATION CLIENT"
                }
            }
            T::CREATE => {
                self.bump();
                match self.kind() {
                    T::TEMPORARY => {
                        self.bump();
                        self.expect(T::TABLES)?;
                        "CREATE TEMPORARY TABLES"
                    }
                    T::ROUTINE => {
                        self.bump();
                        "CREATE ROUTINE"
                    }
                    T::TABLESPACE => {
                        self.bump();
                        "CREATE TABLESPACE"
                    }
                    T::USER => {
                        self.bump();
                        "CREATE USER"
                    }
                    T::VIEW => {
                        self.bump();
                        "CREATE VIEW"
                    }
                    T::ROLE => {
                        self.bump();
                        "CREATE ROLE"
                    }
                    _ => "CREATE",
                }
            }
            T::NONE | T::RESOURCE | T::RESTART | T::PROXY => return self.fail(),
            _ => {
                let name = self.ident_or_string()?;
                if self.eat_at()? {
                    let host = self.ident_or_string()?;
                    return Ok((None, Some(Account { user: name, host, current: false }), place));
                }
                let columns = if self.at(T::LParen) { self.paren_list(Self::ident)? } else { &[] };
                let role = Account { user: name, host: b"%", current: false };
                return Ok((
                    Some(Privilege { name, columns }),
                    if columns.is_empty() { Some(role) } else { None },
                    place,
                ));
            }
        };
        Ok((Some(plain(name)), None, place))
    }

    /// Splits a list read by [`Parser::role_or_privilege`].
    fn as_privileges(
        &mut self,
        items: &[(Option<Privilege<'a>>, Option<Account<'a>>, u32)],
    ) -> R<&'a [Privilege<'a>]> {
        let mut privileges = self.list();
        for (privilege, ..) in items {
            match privilege {
                Some(privilege) => privileges.push(*privilege),
                None => {
                    return self.fail_with(3523, "HY000", "Illegal privilege level specified for role");
                }
            }
        }
        Ok(privileges.into_bump_slice())
    }

    fn as_roles(
        &mut self,
        items: &[(Option<Privilege<'a>>, Option<Account<'a>>, u32)],
    ) -> R<&'a [Account<'a>]> {
        let mut roles = self.list();
        for (_, role, place) in items {
            match role {
                Some(role) => roles.push(*role),
                None => {
                    self.failure = super::Failure::SyntaxText("Illegal authorization identifier");
                    return self.fail_at(*place);
                }
            }
        }
        Ok(roles.into_bump_slice())
    }

    /// What follows `ON`.
    fn grant_object(&mut self) -> R<GrantObject<'a>> {
        let routine = match self.kind() {
            T::PROCEDURE => Some("PROCEDURE"),
            T::FUNCTION => Some("FUNCTION"),
            T::LIBRARY => Some("LIBRARY"),
            _ => None,
        };
        if let Some(word) = routine {
            self.bump();
            return Ok(GrantObject::Routine(word, self.object_name()?));
        }
        self.eat(T::TABLE);
        if self.eat(T::Star) {
            if self.eat(T::Dot) {
                self.expect(T::Star)?;
                return Ok(GrantObject::Global);
            }
            return Ok(GrantObject::Schema(None));
        }
        let first = self.ident()?;
        if self.eat(T::Dot) {
            if self.eat(T::Star) {
                return Ok(GrantObject::Schema(Some(first)));
            }
            let name = ObjectName { schema: Some(first), name: self.ident()? };
            return Ok(GrantObject::Table(name));
        }
        Ok(GrantObject::Table(ObjectName { schema: None, name: first }))
    }

    fn grant_option(&mut self) -> R<bool> {
        if self.eat(T::WITH) {
            self.expect_all(&[T::GRANT, T::OPTION])?;
            return Ok(true);
        }
        Ok(false)
    }

    /// `GRANT`.
    pub(super) fn grant(&mut self) -> R<Statement<'a>> {
        self.bump();
        if self.at(T::PROXY) {
            self.bump();
            self.expect(T::ON)?;
            let proxied = self.account()?;
            self.expect(T::TO)?;
            let users = self.accounts()?;
            let grant_option = self.grant_option()?;
            return Ok(Statement::Grant(self.alloc(Grant::Proxy { proxied, users, grant_option })));
        }
        let mut privileges: &'a [Privilege<'a>] = &[];
        if self.eat(T::ALL) {
            self.eat(T::PRIVILEGES);
            self.expect(T::ON)?;
        } else {
            let items = self.comma_list(Self::role_or_privilege)?;
            if self.at(T::TO) {
                self.bump();
                let roles = self.as_roles(items)?;
                let users = self.accounts()?;
                let mut admin_option = false;
                if self.eat(T::WITH) {
                    self.expect_all(&[T::ADMIN, T::OPTION])?;
                    admin_option = true;
                }
                return Ok(Statement::Grant(self.alloc(Grant::Roles { roles, users, admin_option })));
            }
            self.expect(T::ON)?;
            privileges = self.as_privileges(items)?;
        }
        let object = self.grant_object()?;
        self.expect(T::TO)?;
        let users = self.accounts()?;
        let grant_option = self.grant_option()?;
        let as_user = self.eat(T::AS);
        if as_user {
            self.account()?;
            if self.eat(T::WITH) {
                self.expect(T::ROLE)?;
                if self.eat(T::ALL) {
                    if self.eat(T::EXCEPT) {
                        self.comma_list(Self::role)?;
                    }
                } else if !self.eat(T::NONE) && !self.eat(T::DEFAULT) {
                    self.comma_list(Self::role)?;
                }
            }
        }
        let grant = Grant::Privileges { privileges, object, users, grant_option, as_user };
        Ok(Statement::Grant(self.alloc(grant)))
    }

    /// `REVOKE`.
    pub(super) fn revoke(&mut self) -> R<Statement<'a>> {
        self.bump();
        let if_exists = self.if_exists()?;
        let what = if self.eat(T::PROXY) {
            self.expect(T::ON)?;
            RevokeWhat::Proxy(self.account()?)
        } else if self.eat(T::ALL) {
            self.eat(T::PRIVILEGES);
            if self.eat(T::Comma) {
                self.expect_all(&[T::GRANT, T::OPTION])?;
                RevokeWhat::Everything
            } else {
                self.expect(T::ON)?;
                RevokeWhat::Privileges(&[], self.grant_object()?)
            }
        } else {
            let items = self.comma_list(Self::role_or_privilege)?;
            if self.at(T::FROM) {
                RevokeWhat::Roles(self.as_roles(items)?)
            } else {
                self.expect(T::ON)?;
                let privileges = self.as_privileges(items)?;
                RevokeWhat::Privileges(privileges, self.grant_object()?)
            }
        };
        self.expect(T::FROM)?;
        let users = self.accounts()?;
        let mut ignore_unknown_user = false;
        if self.eat(T::IGNORE) {
            self.expect_all(&[T::UNKNOWN, T::USER])?;
            ignore_unknown_user = true;
        }
        Ok(Statement::Revoke(self.alloc(Revoke { if_exists, ignore_unknown_user, what, users })))
    }
}
