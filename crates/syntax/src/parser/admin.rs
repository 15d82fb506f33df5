//! Which statement begins here, and the statements about transactions, variables and the server.

use super::{Parser, R};
use crate::ast::*;
use crate::keywords::T;

/// Longest `gtrid` and `bqual` of an XA transaction's name.
const XID_PART_BYTES_MAX: usize = 64;

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
                    return Ok(Statement::UnlockInstance);
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
            T::ANALYZE | T::CHECK | T::OPTIMIZE | T::REPAIR => self.maintain(),
            T::CHECKSUM => self.checksum(),
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

    pub(super) fn with_statement(&mut self) -> R<Statement<'a>> {
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

    pub(super) fn start(&mut self) -> R<Statement<'a>> {
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

    pub(super) fn completion(&mut self) -> R<Completion> {
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

    pub(super) fn rollback(&mut self) -> R<Statement<'a>> {
        self.bump();
        self.eat(T::WORK);
        if self.eat(T::TO) {
            self.eat(T::SAVEPOINT);
            return Ok(Statement::RollbackTo(self.ident()?));
        }
        Ok(Statement::Rollback(self.completion()?))
    }

    pub(super) fn lock(&mut self) -> R<Statement<'a>> {
        self.bump();
        if self.eat(T::INSTANCE) {
            self.expect_all(&[T::FOR, T::BACKUP])?;
            return Ok(Statement::LockInstance);
        }
        self.expect_any(&[T::TABLES, T::TABLE])?;
        let tables = self.comma_list(|p| {
            let name = p.object_name()?;
            let alias = p.table_alias()?;
            let mode = match p.expect_any(&[T::READ, T::WRITE])? {
                T::READ if p.eat(T::LOCAL) => TableLock::ReadLocal,
                T::READ => TableLock::Read,
                _ => TableLock::Write,
            };
            Ok(LockTable { name, alias, mode })
        })?;
        Ok(Statement::LockTables(tables))
    }

    pub(super) fn xa(&mut self) -> R<Statement<'a>> {
        self.bump();
        match self.kind() {
            T::START | T::BEGIN => {
                self.bump();
                let xid = self.xid()?;
                let onto = if self.eat(T::JOIN) {
                    Some(XaOnto::Join)
                } else if self.eat(T::RESUME) {
                    Some(XaOnto::Resume)
                } else {
                    None
                };
                Ok(Statement::Xa(Xa::Start { xid, onto }))
            }
            T::END => {
                self.bump();
                let xid = self.xid()?;
                let suspends = self.eat(T::SUSPEND);
                if suspends && self.eat(T::FOR) {
                    self.expect(T::MIGRATE)?;
                }
                Ok(Statement::Xa(Xa::End { xid, suspends }))
            }
            T::PREPARE => {
                self.bump();
                Ok(Statement::Xa(Xa::Prepare(self.xid()?)))
            }
            T::ROLLBACK => {
                self.bump();
                Ok(Statement::Xa(Xa::Rollback(self.xid()?)))
            }
            T::COMMIT => {
                self.bump();
                let xid = self.xid()?;
                let one_phase = self.eat(T::ONE);
                if one_phase {
                    self.expect(T::PHASE)?;
                }
                Ok(Statement::Xa(Xa::Commit { xid, one_phase }))
            }
            T::RECOVER => {
                self.bump();
                let converts = self.eat(T::CONVERT);
                if converts {
                    self.expect(T::XID)?;
                }
                Ok(Statement::Xa(Xa::Recover { converts }))
            }
            _ => self.fail(),
        }
    }

    fn xid(&mut self) -> R<Xid<'a>> {
        let mut xid = Xid { transaction: self.text_string()?, branch: b"", format: 1 };
        let mut last = None;
        if self.eat(T::Comma) {
            xid.branch = self.text_string()?;
            if self.eat(T::Comma) {
                last = Some(self.tok.start);
                xid.format = self.xid_format()?;
            }
        }
        let is_too_long = xid.transaction.len() > XID_PART_BYTES_MAX || xid.branch.len() > XID_PART_BYTES_MAX;
        match last {
            Some(at) if is_too_long || i64::try_from(xid.format).is_err() => self.fail_at(at),
            None if is_too_long => self.fail(),
            _ => Ok(xid),
        }
    }

    /// The digits that any number begins with.
    fn xid_format(&mut self) -> R<u64> {
        if !matches!(self.kind(), T::Decimal | T::Float) {
            return self.whole_number();
        }
        let token = self.bump();
        let text = self.text(token);
        let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
        Ok(if digits == 0 { 0 } else { Self::integer_of(&text[..digits]).unwrap_or(u64::MAX) })
    }

    // Prepared statements.

    pub(super) fn prepare(&mut self) -> R<Statement<'a>> {
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

    pub(super) fn execute(&mut self) -> R<Statement<'a>> {
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

    // EXPLAIN.

    pub(super) fn explain(&mut self) -> R<Statement<'a>> {
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

    pub(super) fn flush(&mut self) -> R<Statement<'a>> {
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

    pub(super) fn maintain(&mut self) -> R<Statement<'a>> {
        let kind = match self.bump().kind {
            T::ANALYZE => MaintainKind::Analyze,
            T::CHECK => MaintainKind::Check,
            T::OPTIMIZE => MaintainKind::Optimize,
            _ => MaintainKind::Repair,
        };
        let mut local = false;
        if matches!(kind, MaintainKind::Analyze | MaintainKind::Optimize | MaintainKind::Repair) {
            local = self.at_any(&[T::LOCAL, T::NO_WRITE_TO_BINLOG]);
            self.eat_no_binlog();
        }
        self.expect_any(&[T::TABLE, T::TABLES])?;
        let tables = self.object_names()?;
        let mut options: &'a [&'static str] = &[];
        let mut histogram_columns: &'a [Ident<'a>] = &[];
        let mut histogram = None;
        match kind {
            MaintainKind::Check | MaintainKind::Repair => options = self.maintain_options()?,
            MaintainKind::Analyze if self.at_any(&[T::UPDATE, T::DROP]) => {
                let update = self.bump().kind == T::UPDATE;
                self.expect_all(&[T::HISTOGRAM, T::ON])?;
                histogram_columns = self.idents()?;
                options = std::slice::from_ref(self.alloc(if update {
                    "UPDATE HISTOGRAM"
                } else {
                    "DROP HISTOGRAM"
                }));
                histogram = Some(if update { self.histogram_parameters()? } else { HistogramChange::Drop });
            }
            _ => {}
        }
        let maintain = Maintain { kind, local, tables, options, histogram_columns, histogram };
        Ok(Statement::Maintain(self.alloc(maintain)))
    }

    fn checksum(&mut self) -> R<Statement<'a>> {
        self.bump();
        self.expect_any(&[T::TABLE, T::TABLES])?;
        let tables = self.object_names()?;
        let is_quick = self.eat(T::QUICK);
        if !is_quick {
            self.eat(T::EXTENDED);
        }
        Ok(Statement::Checksum { tables, is_quick })
    }

    pub(super) fn histogram_parameters(&mut self) -> R<HistogramChange<'a>> {
        if self.eat(T::USING) {
            self.expect(T::DATA)?;
            let data = Some(self.string()?);
            return Ok(HistogramChange::Update { buckets: None, is_auto: false, data });
        }
        let mut buckets = None;
        if self.eat(T::WITH) {
            buckets = Some(self.integer()?);
            self.expect(T::BUCKETS)?;
        }
        let mut is_auto = false;
        if self.at_any(&[T::AUTO, T::MANUAL]) {
            is_auto = self.bump().kind == T::AUTO;
            self.expect(T::UPDATE)?;
        }
        Ok(HistogramChange::Update { buckets, is_auto, data: None })
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

    pub(super) fn handler(&mut self) -> R<Statement<'a>> {
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

    pub(super) fn cache_index(&mut self) -> R<Statement<'a>> {
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

    pub(super) fn install(&mut self) -> R<Statement<'a>> {
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
