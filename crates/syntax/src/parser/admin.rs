//! Which statement begins here, and the statements about transactions, variables and the server.

use super::{Parser, R};
use crate::ast::*;
use crate::keywords::T;

impl<'a> Parser<'a> {
    /// A statement, chosen by its first word.
    pub(super) fn statement(&mut self) -> R<Statement<'a>> {
        match self.kind() {
            T::SELECT | T::TABLE | T::VALUES | T::LParen => Ok(Statement::Query(self.query_with_into()?)),
            T::WITH => self.with_statement(),
            T::INSERT | T::REPLACE => self.insert(),
            T::UPDATE => self.update(None),
            T::DELETE => self.delete(None),
            T::SET => self.set(),
            T::BEGIN => {
                self.bump();
                self.eat(T::WORK);
                Ok(Statement::StartTransaction { consistent_snapshot: false, read_only: None })
            }
            T::START => self.start(),
            T::COMMIT => {
                self.bump();
                self.eat(T::WORK);
                Ok(Statement::Commit(self.completion()?))
            }
            T::ROLLBACK => self.rollback(),
            T::SAVEPOINT => {
                self.bump();
                Ok(Statement::Savepoint(self.ident()?))
            }
            T::RELEASE => {
                self.bump();
                self.expect(T::SAVEPOINT)?;
                Ok(Statement::ReleaseSavepoint(self.ident()?))
            }
            T::SHOW => self.show(),
            T::EXPLAIN | T::DESCRIBE | T::DESC => self.explain(),
            T::USE => {
                self.bump();
                Ok(Statement::Use(self.ident()?))
            }
            T::CREATE => self.create(),
            T::ALTER => self.alter(),
            T::DROP => self.drop(),
            T::TRUNCATE => {
                self.bump();
                self.eat(T::TABLE);
                Ok(Statement::Truncate(self.object_name()?))
            }
            T::RENAME => self.rename(),
            T::PREPARE => self.prepare(),
            T::EXECUTE => self.execute(),
            T::DEALLOCATE => {
                self.bump();
                self.expect(T::PREPARE)?;
                Ok(Statement::Deallocate(self.ident()?))
            }
            T::DO => {
                self.bump();
                let mut items = self.list();
                loop {
                    items.push(self.expr()?);
                    self.select_alias()?;
                    if !self.eat(T::Comma) {
                        break;
                    }
                }
                Ok(Statement::Do(items.into_bump_slice()))
            }
            T::CALL => {
                self.bump();
                let name = self.object_name()?;
                let mut args: &'a [Expr<'a>] = &[];
                if self.eat(T::LParen) {
                    if !self.at(T::RParen) {
                        args = self.exprs()?;
                    }
                    self.expect(T::RParen)?;
                }
                Ok(Statement::Call(self.alloc(Call { name, args })))
            }
            T::LOAD => self.load(),
            T::LOCK => self.lock(),
            T::UNLOCK => {
                self.bump();
                if self.eat(T::INSTANCE) {
                    return Ok(Statement::Unsupported { what: "UNLOCK INSTANCE" });
                }
                self.expect_any(&[T::TABLES, T::TABLE])?;
                Ok(Statement::UnlockTables)
            }
            T::KILL => {
                self.bump();
                let query_only = self.at(T::QUERY);
                if self.at_any(&[T::QUERY, T::CONNECTION]) {
                    self.bump();
                }
                Ok(Statement::Kill { query_only, id: self.expr_ref()? })
            }
            T::GRANT => self.grant(),
            T::REVOKE => self.revoke(),
            T::FLUSH => self.flush(),
            T::ANALYZE | T::CHECK | T::OPTIMIZE | T::REPAIR | T::CHECKSUM => self.maintain(),
            T::HANDLER => self.handler(),
            T::HELP => {
                self.bump();
                Ok(Statement::Help(self.ident_or_string()?))
            }
            T::SHUTDOWN => {
                self.bump();
                Ok(Statement::Shutdown)
            }
            T::RESTART => {
                self.bump();
                Ok(Statement::Restart)
            }
            T::BINLOG => {
                self.bump();
                Ok(Statement::Binlog(self.string()?))
            }
            T::XA => self.xa(),
            T::SIGNAL | T::RESIGNAL => self.signal(),
            T::GET => self.get_diagnostics(),
            T::CACHE => self.cache_index(),
            T::INSTALL | T::UNINSTALL => self.install(),
            T::IMPORT => {
                self.bump();
                self.expect_all(&[T::TABLE, T::FROM])?;
                self.comma_list(Self::text_string)?;
                Ok(Statement::Unsupported { what: "IMPORT TABLE" })
            }
            T::RESET => self.reset(),
            T::PURGE => self.purge(),
            T::CHANGE => self.change_replication(),
            T::STOP => self.stop(),
            T::CLONE => self.clone_instance(),
            _ => self.fail(),
        }
    }

    fn with_statement(&mut self) -> R<Statement<'a>> {
        let start = self.tok.start;
        self.enter()?;
        let with = self.with_clause()?;
        self.leave();
        match self.kind() {
            T::UPDATE => self.update(Some(with)),
            T::DELETE => self.delete(Some(with)),
            _ => {
                let query = self.query_with_into()?;
                let query = Query { with: Some(with), span: self.span_from(start), ..*query };
                Ok(Statement::Query(self.alloc(query)))
            }
        }
    }

    // Transactions.

    fn start(&mut self) -> R<Statement<'a>> {
        self.bump();
        if !self.at(T::TRANSACTION) {
            return self.start_replication();
        }
        self.bump();
        let mut consistent_snapshot = false;
        let mut read_only = None;
        if self.at_any(&[T::WITH, T::READ]) {
            loop {
                if self.eat(T::WITH) {
                    self.expect_all(&[T::CONSISTENT, T::SNAPSHOT])?;
                    consistent_snapshot = true;
                } else {
                    self.expect(T::READ)?;
                    let only = self.expect_any(&[T::ONLY, T::WRITE])? == T::ONLY;
                    if read_only.is_some_and(|before| before != only) {
                        // MySQL stops at the end of the list of conflicting modes.
                        return self.fail();
                    }
                    read_only = Some(only);
                }
                if !self.eat(T::Comma) {
                    break;
                }
            }
        }
        Ok(Statement::StartTransaction { consistent_snapshot, read_only })
    }

    fn completion(&mut self) -> R<Completion> {
        let mut completion = Completion::default();
        if self.eat(T::AND) {
            let no = self.eat(T::NO);
            self.expect(T::CHAIN)?;
            completion.chain = Some(!no);
        }
        if self.at(T::RELEASE) || self.at(T::NO) {
            let no = self.eat(T::NO);
            if !no && completion.chain == Some(true) {
                return self.fail();
            }
            self.expect(T::RELEASE)?;
            completion.release = Some(!no);
        }
        Ok(completion)
    }

    fn rollback(&mut self) -> R<Statement<'a>> {
        self.bump();
        self.eat(T::WORK);
        if self.eat(T::TO) {
            self.eat(T::SAVEPOINT);
            return Ok(Statement::RollbackTo(self.ident()?));
        }
        Ok(Statement::Rollback(self.completion()?))
    }

    fn lock(&mut self) -> R<Statement<'a>> {
        self.bump();
        if self.eat(T::INSTANCE) {
            self.expect_all(&[T::FOR, T::BACKUP])?;
            return Ok(Statement::Unsupported { what: "LOCK INSTANCE FOR BACKUP" });
        }
        self.expect_any(&[T::TABLES, T::TABLE])?;
        let tables = self.comma_list(|p| {
            let name = p.object_name()?;
            let alias = p.table_alias()?;
            let mode = match p.expect_any(&[T::READ, T::WRITE, T::LOW_PRIORITY])? {
                T::READ if p.eat(T::LOCAL) => TableLock::ReadLocal,
                T::READ => TableLock::Read,
                T::LOW_PRIORITY => {
                    p.expect(T::WRITE)?;
                    TableLock::Write
                }
                _ => TableLock::Write,
            };
            Ok(LockTable { name, alias, mode })
        })?;
        Ok(Statement::LockTables(tables))
    }

    fn xa(&mut self) -> R<Statement<'a>> {
        self.bump();
        match self.kind() {
            T::START | T::BEGIN => {
                self.bump();
                self.xid()?;
                let _ = self.eat(T::JOIN) || self.eat(T::RESUME);
            }
            T::END => {
                self.bump();
                self.xid()?;
                if self.eat(T::SUSPEND) && self.eat(T::FOR) {
                    self.expect(T::MIGRATE)?;
                }
            }
            T::PREPARE | T::ROLLBACK => {
                self.bump();
                self.xid()?;
            }
            T::COMMIT => {
                self.bump();
                self.xid()?;
                if self.eat(T::ONE) {
                    self.expect(T::PHASE)?;
                }
            }
            T::RECOVER => {
                self.bump();
                if self.eat(T::CONVERT) {
                    self.expect(T::XID)?;
                }
            }
            _ => return self.fail(),
        }
        Ok(Statement::Unsupported { what: "XA" })
    }

    fn xid(&mut self) -> R<()> {
        self.text_string()?;
        if self.eat(T::Comma) {
            self.text_string()?;
            if self.eat(T::Comma) {
                self.whole_number()?;
            }
        }
        Ok(())
    }

    // Variables.

    fn set(&mut self) -> R<Statement<'a>> {
        self.bump();
        match self.kind() {
            T::PASSWORD if !matches!(self.peek(), T::Assign | T::Dot) => return self.set_password(),
            T::ROLE if !matches!(self.peek(), T::Eq | T::Assign | T::Dot) => return self.set_role(),
            T::DEFAULT => {
                self.bump();
                self.expect(T::ROLE)?;
                return self.set_default_role();
            }
            T::RESOURCE if self.peek() == T::GROUP => {
                self.bump();
                self.bump();
                self.ident()?;
                if self.eat(T::FOR) {
                    self.whole_number()?;
                    while self.eat(T::Comma) || self.at(T::Integer) {
                        self.whole_number()?;
                    }
                }
                return Ok(Statement::Unsupported { what: "SET RESOURCE GROUP" });
            }
            _ => {}
        }
        let mut items = self.list();
        let scope = self.scope_word();
        if self.at(T::TRANSACTION) && self.peek() != T::Eq && self.peek() != T::Assign {
            if matches!(scope, Some(VarScope::Persist | VarScope::PersistOnly)) {
                return self.fail();
            }
            self.bump();
            items.push(self.set_transaction(scope.unwrap_or(VarScope::Default))?);
            return Ok(Statement::Set(items.into_bump_slice()));
        }
        items.push(self.set_item(scope)?);
        while self.eat(T::Comma) {
            let scope = self.scope_word();
            items.push(self.set_item(scope)?);
        }
        Ok(Statement::Set(items.into_bump_slice()))
    }

    /// `GLOBAL`, `SESSION`, `LOCAL`, `PERSIST`, `PERSIST_ONLY`.
    fn scope_word(&mut self) -> Option<VarScope> {
        let scope = match self.kind() {
            T::GLOBAL => VarScope::Global,
            T::SESSION | T::LOCAL => VarScope::Session,
            T::PERSIST => VarScope::Persist,
            T::PERSIST_ONLY => VarScope::PersistOnly,
            _ => return None,
        };
        self.bump();
        Some(scope)
    }

    fn set_item(&mut self, scope: Option<VarScope>) -> R<SetItem<'a>> {
        if let Some(scope) = scope {
            if self.at_any(&[T::GLOBAL, T::LOCAL, T::PERSIST, T::PERSIST_ONLY, T::SESSION]) {
                return self.fail();
            }
            let var = self.set_var_name(scope)?;
            return self.set_value(var);
        }
        match self.kind() {
            T::At => {
                self.bump();
                let name = self.ident_or_string()?;
                self.equals()?;
                Ok(SetItem::UserVar { name, value: self.expr()? })
            }
            T::AtAt => {
                self.bump();
                let scope = match self.kind() {
                    T::GLOBAL => Some(VarScope::Global),
                    T::SESSION | T::LOCAL => Some(VarScope::Session),
                    T::PERSIST => Some(VarScope::Persist),
                    T::PERSIST_ONLY => Some(VarScope::PersistOnly),
                    _ => None,
                };
                if scope.is_some() {
                    self.bump();
                    self.expect(T::Dot)?;
                }
                let var = self.set_var_name(scope.unwrap_or(VarScope::Default))?;
                self.set_value(var)
            }
            T::NAMES => {
                self.bump();
                if self.eat(T::DEFAULT) {
                    return Ok(SetItem::Names { charset: None, collation: None });
                }
                let charset = Some(self.charset_name()?);
                let collation = if self.eat(T::COLLATE) { Some(self.collation_name()?) } else { None };
                Ok(SetItem::Names { charset, collation })
            }
            T::CHARACTER | T::CHAR | T::CHARSET if !matches!(self.peek(), T::Eq | T::Assign) => {
                self.eat_charset_words()?;
                if self.eat(T::DEFAULT) {
                    return Ok(SetItem::Charset(None));
                }
                Ok(SetItem::Charset(Some(self.charset_name()?)))
            }
            _ => {
                let var = self.set_var_name(VarScope::Default)?;
                self.set_value(var)
            }
        }
    }

    /// `name`, `component.name`, `DEFAULT.name` (a key cache).
    fn set_var_name(&mut self, scope: VarScope) -> R<SysVar<'a>> {
        if self.at(T::DEFAULT) {
            let token = self.bump();
            let component = Ident { text: self.text(token), span: token.span() };
            self.expect(T::Dot)?;
            return Ok(SysVar { scope, component: Some(component), name: self.ident()? });
        }
        self.var_name(scope)
    }

    /// `= value`.
    fn set_value(&mut self, var: SysVar<'a>) -> R<SetItem<'a>> {
        self.equals()?;
        let token = self.tok;
        let word = match token.kind {
            T::DEFAULT if self.peek() != T::LParen => {
                self.bump();
                return Ok(SetItem::SystemVar { var, value: None });
            }
            T::ON | T::ALL | T::ROW | T::SYSTEM | T::BINARY => {
                // Reserved words that are values here, and values only if nothing that they begin follows.
                let call = matches!(token.kind, T::ROW) && self.peek() == T::LParen;
                let cast =
                    token.kind == T::BINARY && !matches!(self.peek(), T::Comma | T::Eof | T::Semicolon);
                !call && !cast
            }
            _ => false,
        };
        if word {
            self.bump();
            let value = Literal::String { value: self.text(token), charset: None };
            let value = Expr { kind: ExprKind::Literal(value), span: token.span() };
            return Ok(SetItem::SystemVar { var, value: Some(value) });
        }
        Ok(SetItem::SystemVar { var, value: Some(self.expr()?) })
    }

    fn set_transaction(&mut self, scope: VarScope) -> R<SetItem<'a>> {
        let mut isolation = None;
        let mut read_only = None;
        loop {
            if self.at(T::ISOLATION) && isolation.is_none() {
                self.bump();
                self.expect(T::LEVEL)?;
                isolation = Some(match self.expect_any(&[T::READ, T::REPEATABLE, T::SERIALIZABLE])? {
                    T::READ => match self.expect_any(&[T::COMMITTED, T::UNCOMMITTED])? {
                        T::COMMITTED => Isolation::ReadCommitted,
                        _ => Isolation::ReadUncommitted,
                    },
                    T::REPEATABLE => {
                        self.expect(T::READ)?;
                        Isolation::RepeatableRead
                    }
                    _ => Isolation::Serializable,
                });
            } else if self.at(T::READ) && read_only.is_none() {
                self.bump();
                read_only = Some(self.expect_any(&[T::ONLY, T::WRITE])? == T::ONLY);
            } else {
                return self.fail();
            }
            if isolation.is_some() && read_only.is_some() || !self.eat(T::Comma) {
                return Ok(SetItem::Transaction { scope, isolation, read_only });
            }
        }
    }

    // Prepared statements.

    fn prepare(&mut self) -> R<Statement<'a>> {
        self.bump();
        let name = self.ident()?;
        self.expect(T::FROM)?;
        let from = if self.eat_at()? {
            PrepareSource::UserVar(self.ident_or_string()?)
        } else {
            PrepareSource::Text(self.string()?)
        };
        Ok(Statement::Prepare { name, from })
    }

    fn execute(&mut self) -> R<Statement<'a>> {
        self.bump();
        let name = self.ident()?;
        let mut using: &'a [&'a [u8]] = &[];
        if self.eat(T::USING) {
            using = self.comma_list(|p| {
                p.expect_at()?;
                p.ident_or_string()
            })?;
        }
        Ok(Statement::Execute { name, using })
    }

    // CREATE, ALTER, DROP, RENAME.

    fn create(&mut self) -> R<Statement<'a>> {
        self.bump();
        match self.kind() {
            T::TABLE => {
                self.bump();
                self.create_table(false)
            }
            T::TEMPORARY => {
                self.bump();
                self.expect(T::TABLE)?;
                self.create_table(true)
            }
            T::DATABASE | T::SCHEMA => {
                self.bump();
                self.create_database()
            }
            T::UNIQUE | T::FULLTEXT | T::INDEX => self.create_index(),
            T::SPATIAL if self.peek() == T::INDEX => self.create_index(),
            T::SPATIAL => {
                self.bump();
                self.create_reference_system(false)
            }
            T::USER => {
                self.bump();
                self.create_user()
            }
            T::ROLE => {
                self.bump();
                let if_not_exists = self.if_not_exists()?;
                Ok(Statement::CreateRole { if_not_exists, roles: self.comma_list(Self::role)? })
            }
            T::OR => {
                self.bump();
                self.expect(T::REPLACE)?;
                if self.at(T::SPATIAL) {
                    self.bump();
                    return self.create_reference_system(true);
                }
                self.create_with_definer(true, false)
            }
            T::SERVER => {
                self.bump();
                self.if_not_exists()?;
                self.ident_or_string()?;
                self.expect_all(&[T::FOREIGN, T::DATA, T::WRAPPER])?;
                self.ident_or_string()?;
                self.server_options()?;
                Ok(Statement::Unsupported { what: "CREATE SERVER" })
            }
            T::TABLESPACE | T::UNDO | T::LOGFILE => self.create_tablespace(),
            T::RESOURCE => self.resource_group("CREATE RESOURCE GROUP"),
            _ => self.create_with_definer(false, false),
        }
    }

    fn server_options(&mut self) -> R<()> {
        self.expect(T::OPTIONS)?;
        self.paren_list(|p| {
            if p.expect_any(&[T::USER, T::HOST, T::DATABASE, T::OWNER, T::PASSWORD, T::SOCKET, T::PORT])?
                == T::PORT
            {
                p.whole_number()?;
            } else {
                p.string()?;
            }
            Ok(())
        })?;
        Ok(())
    }

    fn alter(&mut self) -> R<Statement<'a>> {
        self.bump();
        match self.kind() {
            T::TABLE => {
                self.bump();
                self.alter_table()
            }
            T::DATABASE | T::SCHEMA => {
                self.bump();
                self.alter_database()
            }
            T::USER => {
                self.bump();
                self.alter_user()
            }
            T::PROCEDURE | T::FUNCTION | T::LIBRARY => self.alter_routine(),
            T::SERVER => {
                self.bump();
                self.ident_or_string()?;
                self.server_options()?;
                Ok(Statement::Unsupported { what: "ALTER SERVER" })
            }
            T::TABLESPACE | T::UNDO | T::LOGFILE => self.alter_tablespace(),
            T::RESOURCE => self.resource_group("ALTER RESOURCE GROUP"),
            T::INSTANCE => self.alter_instance(),
            _ => self.create_with_definer(false, true),
        }
    }

    fn drop(&mut self) -> R<Statement<'a>> {
        self.bump();
        match self.kind() {
            T::TABLE | T::TABLES => {
                self.bump();
                self.drop_table(false)
            }
            T::TEMPORARY => {
                self.bump();
                self.expect_any(&[T::TABLE, T::TABLES])?;
                self.drop_table(true)
            }
            T::DATABASE | T::SCHEMA => {
                self.bump();
                let if_exists = self.if_exists()?;
                Ok(Statement::DropDatabase { if_exists, name: self.ident()? })
            }
            T::INDEX => {
                self.bump();
                self.drop_index()
            }
            T::VIEW => {
                self.bump();
                let if_exists = self.if_exists()?;
                let names = self.object_names()?;
                let _ = self.eat(T::RESTRICT) || self.eat(T::CASCADE);
                Ok(Statement::DropView { if_exists, names })
            }
            T::USER => {
                self.bump();
                let if_exists = self.if_exists()?;
                Ok(Statement::DropUser { if_exists, users: self.comma_list(Self::account)? })
            }
            T::ROLE => {
                self.bump();
                let if_exists = self.if_exists()?;
                Ok(Statement::DropRole { if_exists, roles: self.comma_list(Self::role)? })
            }
            T::PREPARE => {
                self.bump();
                Ok(Statement::Deallocate(self.ident()?))
            }
            T::PROCEDURE | T::FUNCTION | T::TRIGGER | T::EVENT | T::LIBRARY => {
                let kind = self.bump().kind;
                self.if_exists()?;
                self.object_name()?;
                Ok(Statement::Unsupported {
                    what: match kind {
                        T::PROCEDURE => "DROP PROCEDURE",
                        T::FUNCTION => "DROP FUNCTION",
                        T::TRIGGER => "DROP TRIGGER",
                        T::EVENT => "DROP EVENT",
                        _ => "DROP LIBRARY",
                    },
                })
            }
            T::SERVER => {
                self.bump();
                self.if_exists()?;
                self.ident_or_string()?;
                Ok(Statement::Unsupported { what: "DROP SERVER" })
            }
            T::TABLESPACE | T::UNDO | T::LOGFILE => self.drop_tablespace(),
            T::RESOURCE => {
                self.bump();
                self.expect(T::GROUP)?;
                self.ident()?;
                self.eat(T::FORCE);
                Ok(Statement::Unsupported { what: "DROP RESOURCE GROUP" })
            }
            T::SPATIAL => {
                self.bump();
                self.expect_all(&[T::REFERENCE, T::SYSTEM])?;
                self.if_exists()?;
                self.whole_number()?;
                Ok(Statement::Unsupported { what: "DROP SPATIAL REFERENCE SYSTEM" })
            }
            _ => self.fail(),
        }
    }

    fn drop_table(&mut self, temporary: bool) -> R<Statement<'a>> {
        let if_exists = self.if_exists()?;
        let names = self.object_names()?;
        let _ = self.eat(T::RESTRICT) || self.eat(T::CASCADE);
        Ok(Statement::DropTable(self.alloc(DropTable { temporary, if_exists, names })))
    }

    fn rename(&mut self) -> R<Statement<'a>> {
        self.bump();
        if self.eat(T::USER) {
            let pairs = self.comma_list(|p| {
                let old = p.account()?;
                p.expect(T::TO)?;
                Ok((old, p.account()?))
            })?;
            return Ok(Statement::RenameUser(pairs));
        }
        self.expect_any(&[T::TABLE, T::TABLES])?;
        let pairs = self.comma_list(|p| {
            let old = p.object_name()?;
            p.expect(T::TO)?;
            Ok((old, p.object_name()?))
        })?;
        Ok(Statement::RenameTable(pairs))
    }

    // EXPLAIN.

    fn explain(&mut self) -> R<Statement<'a>> {
        self.bump();
        let starts_statement = matches!(
            self.tok.kind,
            T::SELECT
                | T::WITH
                | T::TABLE
                | T::VALUES
                | T::LParen
                | T::INSERT
                | T::REPLACE
                | T::UPDATE
                | T::DELETE
                | T::FOR
                | T::ANALYZE
        );
        let options = self.at(T::FORMAT) && self.peek() == T::Eq;
        if !starts_statement && !options && self.at_ident() {
            let table = self.object_name()?;
            let column = match self.kind() {
                T::Str | T::Hex | T::HexStr | T::Bin | T::BinStr => Some(self.text_string()?),
                _ if self.at_ident() => Some(self.ident()?.text),
                _ => None,
            };
            return Ok(Statement::Describe { table, column });
        }
        let mut explain = Explain {
            analyze: self.eat(T::ANALYZE),
            format: None,
            into: None,
            schema: None,
            target: ExplainTarget::Statement(self.alloc(Statement::Empty), Span::default()),
        };
        if self.eat(T::FORMAT) {
            self.expect(T::Eq)?;
            explain.format = Some(self.ident_or_string()?);
        }
        if self.eat(T::INTO) {
            self.expect_at()?;
            explain.into = Some(self.ident_or_string()?);
        }
        if self.at(T::FOR) && matches!(self.peek(), T::DATABASE | T::SCHEMA) {
            self.bump();
            self.bump();
            explain.schema = Some(self.ident()?);
        }
        let start = self.tok.start;
        explain.target = match self.kind() {
            T::FOR => {
                self.bump();
                self.expect(T::CONNECTION)?;
                if !self.at(T::Integer) {
                    return self.fail();
                }
                ExplainTarget::Connection(self.expr_ref()?)
            }
            T::SELECT
            | T::WITH
            | T::TABLE
            | T::VALUES
            | T::LParen
            | T::INSERT
            | T::REPLACE
            | T::UPDATE
            | T::DELETE => {
                let statement = self.statement()?;
                ExplainTarget::Statement(self.alloc(statement), self.span_from(start))
            }
            _ => return self.fail(),
        };
        Ok(Statement::Explain(self.alloc(explain)))
    }

    // The server.

    fn flush(&mut self) -> R<Statement<'a>> {
        self.bump();
        self.eat_no_binlog();
        if self.at_any(&[T::TABLES, T::TABLE]) {
            self.bump();
            let names = if self.at_ident() { self.object_names()? } else { &[] };
            let (mut read_lock, mut export) = (false, false);
            if self.eat(T::WITH) {
                self.expect_all(&[T::READ, T::LOCK])?;
                read_lock = true;
            } else if self.at(T::FOR) {
                if names.is_empty() {
                    self.bump();
                    self.expect(T::EXPORT)?;
                    return self.fail();
                }
                self.bump();
                self.expect(T::EXPORT)?;
                export = true;
            }
            return Ok(Statement::Flush(self.alloc(Flush::Tables { names, read_lock, export })));
        }
        let things = self.comma_list(|p| {
            let first = p.tok.kind;
            Ok(match first {
                T::ERROR | T::ENGINE | T::BINARY | T::GENERAL | T::SLOW => {
                    p.bump();
                    p.expect(T::LOGS)?;
                    match first {
                        T::ERROR => "ERROR LOGS",
                        T::ENGINE => "ENGINE LOGS",
                        T::BINARY => "BINARY LOGS",
                        T::GENERAL => "GENERAL LOGS",
                        _ => "SLOW LOGS",
                    }
                }
                T::RELAY => {
                    p.bump();
                    p.expect(T::LOGS)?;
                    p.opt_channel()?;
                    "RELAY LOGS"
                }
                T::PRIVILEGES | T::LOGS | T::STATUS | T::USER_RESOURCES | T::OPTIMIZER_COSTS => {
                    p.bump().kind.word()
                }
                _ => return p.fail(),
            })
        })?;
        Ok(Statement::Flush(self.alloc(Flush::Things(things))))
    }

    fn maintain(&mut self) -> R<Statement<'a>> {
        let kind = match self.bump().kind {
            T::ANALYZE => MaintainKind::Analyze,
            T::CHECK => MaintainKind::Check,
            T::OPTIMIZE => MaintainKind::Optimize,
            T::REPAIR => MaintainKind::Repair,
            _ => MaintainKind::Checksum,
        };
        if matches!(kind, MaintainKind::Analyze | MaintainKind::Optimize | MaintainKind::Repair) {
            self.eat_no_binlog();
        }
        self.expect_any(&[T::TABLE, T::TABLES])?;
        let tables = self.object_names()?;
        let mut options: &'a [&'static str] = &[];
        let mut histogram_columns: &'a [Ident<'a>] = &[];
        match kind {
            MaintainKind::Check | MaintainKind::Repair => options = self.maintain_options()?,
            MaintainKind::Checksum if self.at_any(&[T::QUICK, T::EXTENDED]) => {
                let word = self.bump().kind.word();
                options = std::slice::from_ref(self.alloc(word));
            }
            MaintainKind::Analyze if self.at_any(&[T::UPDATE, T::DROP]) => {
                let update = self.bump().kind == T::UPDATE;
                self.expect_all(&[T::HISTOGRAM, T::ON])?;
                histogram_columns = self.idents()?;
                options = std::slice::from_ref(self.alloc(if update {
                    "UPDATE HISTOGRAM"
                } else {
                    "DROP HISTOGRAM"
                }));
                if update {
                    self.histogram_parameters()?;
                }
            }
            _ => {}
        }
        Ok(Statement::Maintain(self.alloc(Maintain { kind, tables, options, histogram_columns })))
    }

    fn histogram_parameters(&mut self) -> R<()> {
        if self.at(T::WITH) {
            self.bump();
            self.integer()?;
            self.expect(T::BUCKETS)?;
            if self.at_any(&[T::AUTO, T::MANUAL]) {
                self.bump();
                self.expect(T::UPDATE)?;
            }
        } else if self.at_any(&[T::AUTO, T::MANUAL]) {
            self.bump();
            self.expect(T::UPDATE)?;
        }
        if self.eat(T::USING) {
            self.expect(T::DATA)?;
            self.string()?;
        }
        Ok(())
    }

    pub(super) fn maintain_options(&mut self) -> R<&'a [&'static str]> {
        let mut options = self.list();
        loop {
            match self.kind() {
                T::QUICK | T::FAST | T::MEDIUM | T::EXTENDED | T::CHANGED | T::USE_FRM => {
                    options.push(self.bump().kind.word());
                }
                T::FOR => {
                    self.bump();
                    self.expect(T::UPGRADE)?;
                    options.push("FOR UPGRADE");
                }
                _ => return Ok(options.into_bump_slice()),
            }
        }
    }

    fn handler(&mut self) -> R<Statement<'a>> {
        self.bump();
        let name = self.object_name()?;
        match self.kind() {
            T::OPEN => {
                self.bump();
                self.table_alias()?;
            }
            T::CLOSE if name.schema.is_none() => {
                self.bump();
            }
            T::READ if name.schema.is_none() => {
                self.bump();
                match self.kind() {
                    T::FIRST | T::NEXT => {
                        self.bump();
                    }
                    _ => {
                        self.ident()?;
                        match self.kind() {
                            T::FIRST | T::NEXT | T::PREV | T::LAST => {
                                self.bump();
                            }
                            T::Eq | T::Ge | T::Le | T::Gt | T::Lt => {
                                self.bump();
                                self.expect(T::LParen)?;
                                self.comma_list(Self::expr_or_default)?;
                                self.expect(T::RParen)?;
                            }
                            _ => return self.fail(),
                        }
                    }
                }
                if self.eat(T::WHERE) {
                    self.expr()?;
                }
                if self.at(T::LIMIT) {
                    self.limit()?;
                }
            }
            _ => return self.fail(),
        }
        Ok(Statement::Unsupported { what: "HANDLER" })
    }

    /// `[PARTITION (...)] [INDEX (...)]` of key-cache statements.
    pub(super) fn key_cache_parts(&mut self) -> R<()> {
        if self.eat(T::PARTITION) {
            self.expect(T::LParen)?;
            if !self.eat(T::ALL) {
                self.idents()?;
            }
            self.expect(T::RParen)?;
        }
        if self.at_any(&[T::INDEX, T::KEY]) {
            self.bump();
            self.expect(T::LParen)?;
            if !self.at(T::RParen) {
                self.comma_list(Self::index_name)?;
            }
            self.expect(T::RParen)?;
        }
        Ok(())
    }

    fn cache_index(&mut self) -> R<Statement<'a>> {
        self.bump();
        self.expect(T::INDEX)?;
        self.comma_list(|p| {
            p.object_name()?;
            p.key_cache_parts()
        })?;
        self.expect(T::IN)?;
        if !self.eat(T::DEFAULT) {
            self.ident()?;
        }
        Ok(Statement::Unsupported { what: "CACHE INDEX" })
    }

    fn install(&mut self) -> R<Statement<'a>> {
        let install = self.bump().kind == T::INSTALL;
        if self.eat(T::PLUGIN) {
            self.ident()?;
            if install {
                self.expect(T::SONAME)?;
                self.text_string()?;
            }
            return Ok(Statement::Unsupported {
                what: if install { "INSTALL PLUGIN" } else { "UNINSTALL PLUGIN" },
            });
        }
        self.expect(T::COMPONENT)?;
        self.comma_list(Self::text_string)?;
        if install && self.eat(T::SET) {
            self.comma_list(|p| {
                p.scope_word();
                p.var_name(VarScope::Default)?;
                p.equals()?;
                p.expr_or_default()
            })?;
        }
        Ok(Statement::Unsupported { what: if install { "INSTALL COMPONENT" } else { "UNINSTALL COMPONENT" } })
    }
}
