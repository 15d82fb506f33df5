//! Views, stored programs, triggers, events, and what else has a definer. Their bodies: `body`.

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
            security_invoker: None,
            name: ObjectName { schema: None, name: no_name },
            columns: &[],
            query: self.alloc(Query {
                with: None,
                body: QueryBody::Table(ObjectName { schema: None, name: no_name }),
                order_by: &[],
                limit: None,
                locking: &[],
                into: None,
                into_is_inner: false,
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
            view.security_invoker = Some(self.expect_any(&[T::DEFINER, T::INVOKER])? == T::INVOKER);
            only_view = true;
        }
        match self.kind() {
            T::VIEW => self.view(view),
            _ if only_view => self.fail(),
            T::EVENT => self.event(view.definer, alter),
            _ if alter => self.fail(),
            T::PROCEDURE => self.procedure(view.definer),
            T::FUNCTION => self.function(view.definer),
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
            T::TRIGGER => self.trigger(view.definer),
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

    /// `COMMENT`, `LANGUAGE SQL`, `DETERMINISTIC`, ...
    fn characteristics(&mut self, create: bool) -> R<Characteristics<'a>> {
        let mut said = Characteristics::default();
        loop {
            match self.kind() {
                T::COMMENT => {
                    self.bump();
                    said.comment = Some(self.string()?);
                }
                T::LANGUAGE => {
                    self.bump();
                    if !self.eat(T::SQL) {
                        said.language = Some(self.ident_or_string()?);
                    }
                }
                T::NO => {
                    self.bump();
                    self.expect(T::SQL)?;
                    said.data_access = Some(DataAccess::NoSql);
                }
                T::CONTAINS => {
                    self.bump();
                    self.expect(T::SQL)?;
                    said.data_access = Some(DataAccess::ContainsSql);
                }
                word @ (T::READS | T::MODIFIES) => {
                    self.bump();
                    self.expect_all(&[T::SQL, T::DATA])?;
                    said.data_access = Some(if word == T::READS {
                        DataAccess::ReadsSqlData
                    } else {
                        DataAccess::ModifiesSqlData
                    });
                }
                T::SQL => {
                    self.bump();
                    self.expect(T::SECURITY)?;
                    said.invoker = Some(self.expect_any(&[T::DEFINER, T::INVOKER])? == T::INVOKER);
                }
                T::DETERMINISTIC if create => {
                    self.bump();
                    said.deterministic = Some(true);
                }
                T::NOT if create => {
                    self.bump();
                    self.expect(T::DETERMINISTIC)?;
                    said.deterministic = Some(false);
                }
                T::USING if create => {
                    self.bump();
                    self.paren_list(|p| {
                        p.object_name()?;
                        p.table_alias()
                    })?;
                }
                _ => return Ok(said),
            }
        }
    }

    /// After `ALTER`, at `PROCEDURE`, `FUNCTION` or `LIBRARY`.
    pub(super) fn alter_routine(&mut self) -> R<Statement<'a>> {
        let word = self.bump().kind;
        let name = self.object_name()?;
        if word == T::LIBRARY {
            self.expect(T::COMMENT)?;
            self.string()?;
            return Ok(Statement::Unsupported { what: "ALTER LIBRARY" });
        }
        let kind = if word == T::PROCEDURE { RoutineKind::Procedure } else { RoutineKind::Function };
        let characteristics = self.characteristics(false)?;
        Ok(Statement::AlterRoutine(self.alloc(AlterRoutine { kind, name, characteristics })))
    }

    fn procedure(&mut self, definer: Option<Account<'a>>) -> R<Statement<'a>> {
        self.bump();
        let if_not_exists = self.if_not_exists()?;
        let name = self.object_name()?;
        let (parameters, parameters_span) = self.parameters(true)?;
        let characteristics = self.characteristics(true)?;
        let body = self.body(characteristics.language.is_some())?;
        Ok(Statement::CreateRoutine(self.alloc(CreateRoutine {
            kind: RoutineKind::Procedure,
            if_not_exists,
            definer,
            name,
            parameters,
            parameters_span,
            returns: None,
            characteristics,
            body,
        })))
    }

    /// `(name type, ...)`, with modes for a procedure.
    fn parameters(&mut self, modes: bool) -> R<(&'a [Parameter<'a>], Span)> {
        self.expect(T::LParen)?;
        let start = self.prev_end;
        let mut parameters: &'a [Parameter<'a>] = &[];
        if !self.at(T::RParen) {
            parameters = self.comma_list(|p| {
                let mode = match p.kind() {
                    T::IN if modes => ParameterMode::In,
                    T::OUT if modes => ParameterMode::Out,
                    T::INOUT if modes => ParameterMode::InOut,
                    _ => return p.parameter(ParameterMode::In),
                };
                p.bump();
                p.parameter(mode)
            })?;
        }
        let end = self.expect(T::RParen)?.start;
        Ok((parameters, Span { start, end }))
    }

    fn parameter(&mut self, mode: ParameterMode) -> R<Parameter<'a>> {
        Ok(Parameter { mode, name: self.ident()?, data_type: self.local_type()? })
    }

    /// The type of a parameter, a variable, a function's value.
    pub(super) fn local_type(&mut self) -> R<LocalType<'a>> {
        let start = self.tok.start;
        let data_type = self.data_type()?;
        let collation = if self.eat(T::COLLATE) { Some(self.collation_name()?) } else { None };
        Ok(LocalType { data_type, collation, span: self.span_from(start) })
    }

    fn function(&mut self, definer: Option<Account<'a>>) -> R<Statement<'a>> {
        self.bump();
        let if_not_exists = self.if_not_exists()?;
        let name = self.object_name()?;
        if self.at(T::RETURNS) {
            return self.loadable_function();
        }
        let (parameters, parameters_span) = self.parameters(false)?;
        self.expect(T::RETURNS)?;
        let returns = Some(self.local_type()?);
        let characteristics = self.characteristics(true)?;
        let body = self.body(characteristics.language.is_some())?;
        Ok(Statement::CreateRoutine(self.alloc(CreateRoutine {
            kind: RoutineKind::Function,
            if_not_exists,
            definer,
            name,
            parameters,
            parameters_span,
            returns,
            characteristics,
            body,
        })))
    }

    fn body(&mut self, external: bool) -> R<Option<&'a RoutineStatement<'a>>> {
        if self.at(T::AS) || external {
            self.expect(T::AS)?;
            self.routine_text()?;
            return Ok(None);
        }
        let outer = std::mem::replace(&mut self.into_allowed, true);
        let body = self.routine_statement()?;
        self.into_allowed = outer;
        Ok(Some(self.alloc(body)))
    }

    fn trigger(&mut self, definer: Option<Account<'a>>) -> R<Statement<'a>> {
        self.bump();
        let if_not_exists = self.if_not_exists()?;
        let name = self.object_name()?;
        let timing = match self.expect_any(&[T::BEFORE, T::AFTER])? {
            T::BEFORE => TriggerTiming::Before,
            _ => TriggerTiming::After,
        };
        let event = match self.expect_any(&[T::INSERT, T::UPDATE, T::DELETE])? {
            T::INSERT => TriggerEvent::Insert,
            T::UPDATE => TriggerEvent::Update,
            _ => TriggerEvent::Delete,
        };
        self.expect(T::ON)?;
        let table = self.object_name()?;
        self.expect_all(&[T::FOR, T::EACH, T::ROW])?;
        let order = match self.kind() {
            word @ (T::FOLLOWS | T::PRECEDES) => {
                self.bump();
                Some((word == T::FOLLOWS, self.ident_or_string()?))
            }
            _ => None,
        };
        let Some(body) = self.body(false)? else { return self.fail() };
        Ok(Statement::CreateTrigger(self.alloc(CreateTrigger {
            if_not_exists,
            definer,
            name,
            timing,
            event,
            table,
            order,
            body,
        })))
    }

    fn event(&mut self, definer: Option<Account<'a>>, alter: bool) -> R<Statement<'a>> {
        self.bump();
        let if_not_exists = !alter && self.if_not_exists()?;
        let name = self.object_name()?;
        let mut clauses = EventClauses::default();
        let mut new_name = None;
        if !alter || self.at(T::ON) && self.peek() == T::SCHEDULE {
            self.expect_all(&[T::ON, T::SCHEDULE])?;
            clauses.schedule = Some(self.event_schedule()?);
        }
        if self.eat(T::ON) {
            self.expect(T::COMPLETION)?;
            let not = self.eat(T::NOT);
            self.expect(T::PRESERVE)?;
            clauses.preserve = Some(!not);
        }
        if alter && self.eat(T::RENAME) {
            self.expect(T::TO)?;
            new_name = Some(self.object_name()?);
        }
        if self.at_any(&[T::ENABLE, T::DISABLE]) {
            clauses.status = Some(if self.bump().kind == T::ENABLE {
                EventStatus::Enabled
            } else if self.eat(T::ON) {
                clauses.says_slave = self.expect_any(&[T::SLAVE, T::REPLICA])? == T::SLAVE;
                EventStatus::ReplicaSideDisabled
            } else {
                EventStatus::Disabled
            });
        }
        if self.eat(T::COMMENT) {
            clauses.comment = Some(self.string()?);
        }
        if !alter || self.at(T::DO) {
            self.expect(T::DO)?;
            clauses.body = self.body(false)?;
        }
        if !alter {
            return Ok(Statement::CreateEvent(self.alloc(CreateEvent {
                if_not_exists,
                definer,
                name,
                clauses,
            })));
        }
        let says_nothing = clauses.schedule.is_none()
            && clauses.preserve.is_none()
            && clauses.status.is_none()
            && clauses.comment.is_none()
            && clauses.body.is_none()
            && new_name.is_none();
        if says_nothing {
            return self.fail();
        }
        Ok(Statement::AlterEvent(self.alloc(AlterEvent { definer, name, new_name, clauses })))
    }

    fn event_schedule(&mut self) -> R<EventSchedule<'a>> {
        if self.eat(T::AT) {
            return Ok(EventSchedule::At(self.expr()?));
        }
        self.expect(T::EVERY)?;
        let value = self.expr()?;
        let unit = self.interval_unit()?;
        let starts = if self.eat(T::STARTS) { Some(self.expr()?) } else { None };
        let ends = if self.eat(T::ENDS) { Some(self.expr()?) } else { None };
        Ok(EventSchedule::Every { value, unit, starts, ends })
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
