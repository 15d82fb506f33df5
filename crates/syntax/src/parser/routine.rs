//! Views, stored programs, triggers, events, and their bodies.
//!
//! Stored programs do not run here yet, but they are read to the end: what MySQL accepts is accepted and what it
//! rejects is rejected at the same place.

use super::{Parser, R};
use crate::ast::*;
use crate::keywords::T;

impl<'a> Parser<'a> {
    /// After `CREATE [OR REPLACE]` or `ALTER`: what may have a definer.
    pub(super) fn create_with_definer(&mut self, or_replace: bool, alter: bool) -> R<Statement<'a>> {
        let no_name = Ident { text: b"", span: Span::default() };
        let mut view = CreateView {
            or_replace,
            if_not_exists: false,
            alter,
            algorithm: None,
            definer: None,
            security_invoker: false,
            name: ObjectName { schema: None, name: no_name },
            columns: &[],
            query: self.alloc(Query {
                with: None,
                body: QueryBody::Table(ObjectName { schema: None, name: no_name }),
                order_by: &[],
                limit: None,
                locking: &[],
                into: None,
                span: Span::default(),
            }),
            check_option: None,
        };
        let mut only_view = or_replace;
        if self.eat(T::ALGORITHM) {
            self.expect(T::Eq)?;
            view.algorithm = Some(self.word_of(&[T::UNDEFINED, T::MERGE, T::TEMPTABLE])?);
            only_view = true;
        }
        if self.eat(T::DEFINER) {
            self.expect(T::Eq)?;
            view.definer = Some(self.account()?);
        }
        if self.eat(T::SQL) {
            self.expect(T::SECURITY)?;
            view.security_invoker = self.expect_any(&[T::DEFINER, T::INVOKER])? == T::INVOKER;
            only_view = true;
        }
        match self.kind() {
            T::VIEW => self.view(view),
            _ if only_view => self.fail(),
            T::EVENT => self.event(alter),
            _ if alter => self.fail(),
            T::PROCEDURE => self.procedure(),
            T::FUNCTION => self.function(),
            T::AGGREGATE if view.definer.is_none() => {
                self.bump();
                if !self.at(T::FUNCTION) {
                    return self.fail();
                }
                self.bump();
                self.if_not_exists()?;
                self.ident()?;
                self.loadable_function()
            }
            T::TRIGGER => self.trigger(),
            T::LIBRARY if view.definer.is_none() => {
                self.bump();
                self.if_not_exists()?;
                self.object_name()?;
                loop {
                    match self.kind() {
                        T::COMMENT => {
                            self.bump();
                            self.string()?;
                        }
                        T::LANGUAGE => {
                            self.bump();
                            self.ident_or_string()?;
                        }
                        _ => break,
                    }
                }
                self.expect(T::AS)?;
                self.routine_text()?;
                Ok(Statement::Unsupported { what: "CREATE LIBRARY" })
            }
            _ => self.fail(),
        }
    }

    /// `'...'` or `$$...$$`.
    fn routine_text(&mut self) -> R<()> {
        self.expect_any(&[T::Dollar, T::Str]).map(|_| ())
    }

    fn loadable_function(&mut self) -> R<Statement<'a>> {
        self.expect(T::RETURNS)?;
        self.expect_any(&[T::STRING, T::REAL, T::DECIMAL, T::INT, T::INTEGER])?;
        self.expect(T::SONAME)?;
        self.text_string()?;
        Ok(Statement::Unsupported { what: "CREATE FUNCTION ... SONAME" })
    }

    /// `COMMENT`, `LANGUAGE SQL`, `DETERMINISTIC`, ...; true if the language is another one.
    fn characteristics(&mut self, create: bool) -> R<bool> {
        let mut external = false;
        loop {
            match self.kind() {
                T::COMMENT => {
                    self.bump();
                    self.string()?;
                }
                T::LANGUAGE => {
                    self.bump();
                    if !self.eat(T::SQL) {
                        self.ident_or_string()?;
                        external = true;
                    }
                }
                T::NO => {
                    self.bump();
                    self.expect(T::SQL)?;
                }
                T::CONTAINS => {
                    self.bump();
                    self.expect(T::SQL)?;
                }
                T::READS | T::MODIFIES => {
                    self.bump();
                    self.expect_all(&[T::SQL, T::DATA])?;
                }
                T::SQL => {
                    self.bump();
                    self.expect(T::SECURITY)?;
                    self.expect_any(&[T::DEFINER, T::INVOKER])?;
                }
                T::DETERMINISTIC if create => {
                    self.bump();
                }
                T::NOT if create => {
                    self.bump();
                    self.expect(T::DETERMINISTIC)?;
                }
                T::USING if create => {
                    self.bump();
                    self.paren_list(|p| {
                        p.object_name()?;
                        p.table_alias()
                    })?;
                }
                _ => return Ok(external),
            }
        }
    }

    /// After `ALTER`, at `PROCEDURE`, `FUNCTION` or `LIBRARY`.
    pub(super) fn alter_routine(&mut self) -> R<Statement<'a>> {
        let kind = self.bump().kind;
        self.object_name()?;
        if kind == T::LIBRARY {
            self.expect(T::COMMENT)?;
            self.string()?;
            return Ok(Statement::Unsupported { what: "ALTER LIBRARY" });
        }
        self.characteristics(false)?;
        Ok(Statement::Unsupported {
            what: if kind == T::PROCEDURE { "ALTER PROCEDURE" } else { "ALTER FUNCTION" },
        })
    }

    fn procedure(&mut self) -> R<Statement<'a>> {
        self.bump();
        self.if_not_exists()?;
        self.object_name()?;
        self.expect(T::LParen)?;
        if !self.at(T::RParen) {
            self.comma_list(|p| {
                if p.at_any(&[T::IN, T::OUT, T::INOUT]) {
                    p.bump();
                }
                p.parameter()
            })?;
        }
        self.expect(T::RParen)?;
        let external = self.characteristics(true)?;
        self.body(external)?;
        Ok(Statement::Unsupported { what: "CREATE PROCEDURE" })
    }

    fn parameter(&mut self) -> R<()> {
        self.ident()?;
        self.data_type()?;
        if self.eat(T::COLLATE) {
            self.collation_name()?;
        }
        Ok(())
    }

    fn function(&mut self) -> R<Statement<'a>> {
        self.bump();
        self.if_not_exists()?;
        self.object_name()?;
        if self.at(T::RETURNS) {
            return self.loadable_function();
        }
        self.expect(T::LParen)?;
        if !self.at(T::RParen) {
            self.comma_list(Self::parameter)?;
        }
        self.expect_all(&[T::RParen, T::RETURNS])?;
        self.data_type()?;
        if self.eat(T::COLLATE) {
            self.collation_name()?;
        }
        let external = self.characteristics(true)?;
        self.body(external)?;
        Ok(Statement::Unsupported { what: "CREATE FUNCTION" })
    }

    fn body(&mut self, external: bool) -> R<()> {
        if self.at(T::AS) || external {
            self.expect(T::AS)?;
            return self.routine_text();
        }
        self.routine_statement()
    }

    fn trigger(&mut self) -> R<Statement<'a>> {
        self.bump();
        self.if_not_exists()?;
        self.object_name()?;
        self.expect_any(&[T::BEFORE, T::AFTER])?;
        self.expect_any(&[T::INSERT, T::UPDATE, T::DELETE])?;
        self.expect(T::ON)?;
        self.object_name()?;
        self.expect_all(&[T::FOR, T::EACH, T::ROW])?;
        if self.at_any(&[T::FOLLOWS, T::PRECEDES]) {
            self.bump();
            self.ident_or_string()?;
        }
        self.body(false)?;
        Ok(Statement::Unsupported { what: "CREATE TRIGGER" })
    }

    fn event(&mut self, alter: bool) -> R<Statement<'a>> {
        self.bump();
        if !alter {
            self.if_not_exists()?;
        }
        self.object_name()?;
        let mut any = false;
        if self.at(T::ON) && self.peek() == T::SCHEDULE {
            any = true;
            self.bump();
            self.bump();
            if self.eat(T::AT) {
                self.expr()?;
            } else {
                self.expect(T::EVERY)?;
                self.expr()?;
                self.interval_unit()?;
                if self.eat(T::STARTS) {
                    self.expr()?;
                }
                if self.eat(T::ENDS) {
                    self.expr()?;
                }
            }
        } else if !alter {
            self.expect_all(&[T::ON, T::SCHEDULE])?;
        }
        if self.eat(T::ON) {
            any = true;
            self.expect(T::COMPLETION)?;
            self.eat(T::NOT);
            self.expect(T::PRESERVE)?;
        }
        if alter && self.eat(T::RENAME) {
            any = true;
            self.expect(T::TO)?;
            self.object_name()?;
        }
        if self.at_any(&[T::ENABLE, T::DISABLE]) {
            any = true;
            if self.bump().kind == T::DISABLE && self.eat(T::ON) {
                self.expect_any(&[T::SLAVE, T::REPLICA])?;
            }
        }
        if self.eat(T::COMMENT) {
            any = true;
            self.string()?;
        }
        if !alter || self.at(T::DO) {
            any = true;
            self.expect(T::DO)?;
            self.body(false)?;
        }
        if !any {
            return self.fail();
        }
        Ok(Statement::Unsupported { what: if alter { "ALTER EVENT" } else { "CREATE EVENT" } })
    }

    // Bodies.

    /// A statement of a stored program.
    fn routine_statement(&mut self) -> R<()> {
        self.enter()?;
        let read = self.routine_statement_inner();
        self.leave();
        read
    }

    fn routine_statement_inner(&mut self) -> R<()> {
        match self.kind() {
            T::BEGIN => self.block(false),
            T::IF => self.if_statement(),
            T::CASE => self.case_statement(),
            T::LOOP | T::WHILE | T::REPEAT => self.looping(false),
            T::RETURN => {
                self.bump();
                self.expr().map(|_| ())
            }
            T::LEAVE | T::ITERATE => {
                self.bump();
                self.ident().map(|_| ())
            }
            T::OPEN | T::CLOSE => {
                self.bump();
                self.ident().map(|_| ())
            }
            T::FETCH => {
                self.bump();
                if self.eat(T::NEXT) {
                    self.expect(T::FROM)?;
                } else {
                    self.eat(T::FROM);
                }
                self.ident()?;
                self.expect(T::INTO)?;
                self.idents().map(|_| ())
            }
            kind if Self::is_ident(kind) && !STATEMENT_WORDS.contains(&kind) && self.peek() == T::Colon => {
                self.bump();
                self.bump();
                match self.kind() {
                    T::BEGIN => self.block(true),
                    T::LOOP | T::WHILE | T::REPEAT => self.looping(true),
                    _ => self.fail(),
                }
            }
            T::Ident | T::QuotedIdent => {
                // Only a label begins so, and then `:` is what is missing.
                self.bump();
                self.fail()
            }
            kind if kind.is_free_word() && !STATEMENT_WORDS.contains(&kind) => {
                self.bump();
                self.fail()
            }
            _ => self.statement().map(|_| ()),
        }
    }

    /// `statement; statement; ...` up to a word that ends the list; at least one.
    fn statements(&mut self, ends: &[T]) -> R<()> {
        loop {
            self.routine_statement()?;
            self.expect(T::Semicolon)?;
            if self.at_any(ends) {
                return Ok(());
            }
        }
    }

    fn end_label(&mut self, labelled: bool) -> R<()> {
        if labelled && self.at_ident() {
            self.bump();
        }
        Ok(())
    }

    fn block(&mut self, labelled: bool) -> R<()> {
        self.bump();
        while self.at(T::DECLARE) {
            self.declaration()?;
            self.expect(T::Semicolon)?;
        }
        while !self.at(T::END) {
            self.routine_statement()?;
            self.expect(T::Semicolon)?;
        }
        self.expect(T::END)?;
        self.end_label(labelled)
    }

    fn declaration(&mut self) -> R<()> {
        self.bump();
        if self.at_any(&[T::CONTINUE, T::EXIT, T::UNDO]) {
            self.bump();
            self.expect_all(&[T::HANDLER, T::FOR])?;
            self.comma_list(|p| match p.kind() {
                T::SQLWARNING | T::SQLEXCEPTION => {
                    p.bump();
                    Ok(())
                }
                T::NOT => {
                    p.bump();
                    p.expect(T::FOUND).map(|_| ())
                }
                T::SQLSTATE | T::Integer => p.condition_value(),
                _ => p.ident().map(|_| ()),
            })?;
            return self.routine_statement();
        }
        self.ident()?;
        if self.eat(T::CURSOR) {
            self.expect(T::FOR)?;
            self.query_expression()?;
            return Ok(());
        }
        if self.eat(T::CONDITION) {
            self.expect(T::FOR)?;
            return self.condition_value();
        }
        while self.eat(T::Comma) {
            self.ident()?;
        }
        self.data_type()?;
        if self.eat(T::COLLATE) {
            self.collation_name()?;
        }
        if self.eat(T::DEFAULT) {
            self.expr()?;
        }
        Ok(())
    }

    fn condition_value(&mut self) -> R<()> {
        if self.at(T::Integer) {
            self.bump();
            return Ok(());
        }
        self.expect(T::SQLSTATE)?;
        self.eat(T::VALUE);
        self.text_literal().map(|_| ())
    }

    fn if_statement(&mut self) -> R<()> {
        self.bump();
        loop {
            self.expr()?;
            self.expect(T::THEN)?;
            self.statements(&[T::ELSEIF, T::ELSE, T::END])?;
            if !self.eat(T::ELSEIF) {
                break;
            }
        }
        if self.eat(T::ELSE) {
            self.statements(&[T::END])?;
        }
        self.expect_all(&[T::END, T::IF])
    }

    fn case_statement(&mut self) -> R<()> {
        self.bump();
        if !self.at(T::WHEN) {
            self.expr()?;
        }
        if !self.at(T::WHEN) {
            return self.fail();
        }
        while self.eat(T::WHEN) {
            self.expr()?;
            self.expect(T::THEN)?;
            self.statements(&[T::WHEN, T::ELSE, T::END])?;
        }
        if self.eat(T::ELSE) {
            self.statements(&[T::END])?;
        }
        self.expect_all(&[T::END, T::CASE])
    }

    fn looping(&mut self, labelled: bool) -> R<()> {
        let kind = self.bump().kind;
        match kind {
            T::WHILE => {
                self.expr()?;
                self.expect(T::DO)?;
                self.statements(&[T::END])?;
            }
            T::REPEAT => {
                self.statements(&[T::UNTIL])?;
                self.expect(T::UNTIL)?;
                self.expr()?;
            }
            _ => self.statements(&[T::END])?,
        }
        self.expect_all(&[T::END, kind])?;
        self.end_label(labelled)
    }

    // Diagnostics.

    /// `SIGNAL`, `RESIGNAL`.
    pub(super) fn signal(&mut self) -> R<Statement<'a>> {
        let resignal = self.bump().kind == T::RESIGNAL;
        match self.kind() {
            T::SQLSTATE => self.condition_value()?,
            _ if self.at_ident() => {
                self.ident()?;
            }
            _ if resignal => {}
            _ => return self.fail(),
        }
        if self.eat(T::SET) {
            self.comma_list(|p| {
                p.expect_any(&CONDITION_ITEMS)?;
                p.expect(T::Eq)?;
                p.expr()
            })?;
        }
        Ok(Statement::Unsupported { what: if resignal { "RESIGNAL" } else { "SIGNAL" } })
    }

    /// `GET [CURRENT | STACKED] DIAGNOSTICS`.
    pub(super) fn get_diagnostics(&mut self) -> R<Statement<'a>> {
        self.bump();
        let _ = self.eat(T::CURRENT) || self.eat(T::STACKED);
        self.expect(T::DIAGNOSTICS)?;
        let condition = self.eat(T::CONDITION);
        if condition {
            self.simple_expr()?;
        }
        self.comma_list(|p| {
            if p.eat_at()? {
                p.ident_or_string()?;
            } else {
                p.ident()?;
            }
            p.expect(T::Eq)?;
            if condition {
                if !p.eat(T::RETURNED_SQLSTATE) {
                    p.expect_any(&CONDITION_ITEMS)?;
                }
            } else if !p.eat(T::ROW_COUNT) {
                p.expect(T::NUMBER)?;
            }
            Ok(())
        })?;
        Ok(Statement::Unsupported { what: "GET DIAGNOSTICS" })
    }

    // Tablespaces and the like.

    /// `CREATE [OR REPLACE] SPATIAL` and on.
    pub(super) fn create_reference_system(&mut self, or_replace: bool) -> R<Statement<'a>> {
        self.expect_all(&[T::REFERENCE, T::SYSTEM])?;
        if !or_replace {
            self.if_not_exists()?;
        }
        self.whole_number()?;
        loop {
            match self.kind() {
                T::NAME | T::DEFINITION | T::DESCRIPTION => {
                    self.bump();
                    self.text_string()?;
                }
                T::ORGANIZATION => {
                    self.bump();
                    self.text_string()?;
                    self.expect_all(&[T::IDENTIFIED, T::BY])?;
                    self.whole_number()?;
                }
                _ => break,
            }
        }
        Ok(Statement::Unsupported { what: "CREATE SPATIAL REFERENCE SYSTEM" })
    }

    fn tablespace_options(&mut self) -> R<()> {
        loop {
            match self.kind() {
                T::INITIAL_SIZE
                | T::AUTOEXTEND_SIZE
                | T::MAX_SIZE
                | T::EXTENT_SIZE
                | T::UNDO_BUFFER_SIZE
                | T::REDO_BUFFER_SIZE
                | T::FILE_BLOCK_SIZE => {
                    self.bump();
                    self.eat(T::Eq);
                    self.size_number()?;
                }
                T::NODEGROUP => {
                    self.bump();
                    self.eat(T::Eq);
                    self.whole_number()?;
                }
                T::STORAGE | T::ENGINE => {
                    self.eat(T::STORAGE);
                    self.expect(T::ENGINE)?;
                    self.eat(T::Eq);
                    self.ident_or_string()?;
                }
                T::WAIT | T::NO_WAIT => {
                    self.bump();
                }
                T::COMMENT | T::ENCRYPTION | T::ENGINE_ATTRIBUTE => {
                    self.bump();
                    self.eat(T::Eq);
                    self.string()?;
                }
                _ => return Ok(()),
            }
            self.eat(T::Comma);
        }
    }

    /// After `CREATE`.
    pub(super) fn create_tablespace(&mut self) -> R<Statement<'a>> {
        if self.eat(T::LOGFILE) {
            self.expect(T::GROUP)?;
            self.ident()?;
            self.expect_all(&[T::ADD, T::UNDOFILE])?;
            self.text_string()?;
            self.tablespace_options()?;
            return Ok(Statement::Unsupported { what: "CREATE LOGFILE GROUP" });
        }
        let undo = self.eat(T::UNDO);
        self.expect(T::TABLESPACE)?;
        self.ident()?;
        if undo || self.at(T::ADD) {
            self.expect_all(&[T::ADD, T::DATAFILE])?;
            self.text_string()?;
        }
        if self.eat(T::USE) {
            self.expect_all(&[T::LOGFILE, T::GROUP])?;
            self.ident()?;
        }
        self.tablespace_options()?;
        Ok(Statement::Unsupported { what: "CREATE TABLESPACE" })
    }

    /// After `ALTER`.
    pub(super) fn alter_tablespace(&mut self) -> R<Statement<'a>> {
        if self.eat(T::LOGFILE) {
            self.expect(T::GROUP)?;
            self.ident()?;
            self.expect_all(&[T::ADD, T::UNDOFILE])?;
            self.text_string()?;
            self.tablespace_options()?;
            return Ok(Statement::Unsupported { what: "ALTER LOGFILE GROUP" });
        }
        let undo = self.eat(T::UNDO);
        self.expect(T::TABLESPACE)?;
        self.ident()?;
        if undo {
            self.expect(T::SET)?;
            self.expect_any(&[T::ACTIVE, T::INACTIVE])?;
        } else if self.at_any(&[T::ADD, T::DROP]) {
            self.bump();
            self.expect(T::DATAFILE)?;
            self.text_string()?;
        } else if self.eat(T::RENAME) {
            self.expect(T::TO)?;
            self.ident()?;
            return Ok(Statement::Unsupported { what: "ALTER TABLESPACE" });
        } else if self.at_any(&[T::Eof, T::Semicolon]) {
            return self.fail();
        }
        self.tablespace_options()?;
        Ok(Statement::Unsupported { what: "ALTER TABLESPACE" })
    }

    /// After `DROP`.
    pub(super) fn drop_tablespace(&mut self) -> R<Statement<'a>> {
        let logfile = self.eat(T::LOGFILE);
        if logfile {
            self.expect(T::GROUP)?;
        } else {
            self.eat(T::UNDO);
            self.expect(T::TABLESPACE)?;
        }
        self.ident()?;
        self.tablespace_options()?;
        Ok(Statement::Unsupported { what: if logfile { "DROP LOGFILE GROUP" } else { "DROP TABLESPACE" } })
    }

    /// After `CREATE` or `ALTER`, at `RESOURCE`.
    pub(super) fn resource_group(&mut self, what: &'static str) -> R<Statement<'a>> {
        self.bump();
        self.expect(T::GROUP)?;
        self.ident()?;
        if what.starts_with('C') {
            self.expect(T::TYPE)?;
            self.eat(T::Eq);
            self.expect_any(&[T::USER, T::SYSTEM])?;
        }
        if self.eat(T::VCPU) {
            self.eat(T::Eq);
            loop {
                self.integer()?;
                if self.eat(T::Minus) {
                    self.integer()?;
                }
                if !self.eat(T::Comma) && !self.at(T::Integer) {
                    break;
                }
            }
        }
        if self.eat(T::THREAD_PRIORITY) {
            self.eat(T::Eq);
            self.eat(T::Minus);
            self.integer()?;
        }
        if self.at_any(&[T::ENABLE, T::DISABLE]) {
            self.bump();
        }
        if what.starts_with('A') {
            self.eat(T::FORCE);
        }
        Ok(Statement::Unsupported { what })
    }

    /// After `ALTER`, at `INSTANCE`.
    pub(super) fn alter_instance(&mut self) -> R<Statement<'a>> {
        self.bump();
        match self.expect_any(&[T::ROTATE, T::RELOAD, T::ENABLE, T::DISABLE])? {
            T::ROTATE => {
                self.ident()?;
                self.expect_all(&[T::MASTER, T::KEY])?;
            }
            T::RELOAD => {
                if self.eat(T::TLS) {
                    if self.eat(T::FOR) {
                        self.expect(T::CHANNEL)?;
                        self.ident()?;
                    }
                    if self.eat(T::NO) {
                        self.expect_all(&[T::ROLLBACK, T::ON, T::ERROR])?;
                    }
                } else {
                    self.expect(T::KEYRING)?;
                }
            }
            _ => {
                self.ident()?;
                self.ident_or_string()?;
            }
        }
        Ok(Statement::Unsupported { what: "ALTER INSTANCE" })
    }
}

/// Words that begin a statement and are not reserved.
const STATEMENT_WORDS: [T; 35] = [
    T::BEGIN,
    T::BINLOG,
    T::CACHE,
    T::CHECKSUM,
    T::CLONE,
    T::COMMIT,
    T::DEALLOCATE,
    T::DO,
    T::END,
    T::EXECUTE,
    T::FLUSH,
    T::HANDLER,
    T::HELP,
    T::IMPORT,
    T::INSTALL,
    T::PREPARE,
    T::REPAIR,
    T::RESET,
    T::RESTART,
    T::ROLLBACK,
    T::SAVEPOINT,
    T::SHUTDOWN,
    T::START,
    T::STOP,
    T::TRUNCATE,
    T::UNINSTALL,
    T::XA,
    T::ASCII,
    T::BYTE,
    T::CHARSET,
    T::COMMENT,
    T::CONTAINS,
    T::FOLLOWS,
    T::LANGUAGE,
    T::NO,
];

/// Items `SIGNAL` may set and `GET DIAGNOSTICS` may read.
const CONDITION_ITEMS: [T; 12] = [
    T::CLASS_ORIGIN,
    T::SUBCLASS_ORIGIN,
    T::CONSTRAINT_CATALOG,
    T::CONSTRAINT_SCHEMA,
    T::CONSTRAINT_NAME,
    T::CATALOG_NAME,
    T::SCHEMA_NAME,
    T::TABLE_NAME,
    T::COLUMN_NAME,
    T::CURSOR_NAME,
    T::MESSAGE_TEXT,
    T::MYSQL_ERRNO,
];
