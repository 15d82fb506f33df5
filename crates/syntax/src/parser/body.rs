//! Bodies of stored programs, and the statements that raise and read conditions.

use super::{Parser, R};
use crate::ast::*;
use crate::keywords::T;

impl<'a> Parser<'a> {
    /// A statement of a stored program.
    pub(super) fn routine_statement(&mut self) -> R<RoutineStatement<'a>> {
        self.enter()?;
        let start = self.tok.start;
        let kind = self.routine_statement_kind()?;
        self.leave();
        Ok(RoutineStatement { kind, span: self.span_from(start) })
    }

    fn routine_statement_kind(&mut self) -> R<RoutineStatementKind<'a>> {
        use RoutineStatementKind as Kind;
        match self.kind() {
            T::BEGIN => self.block(None),
            T::IF => self.if_statement(),
            T::CASE => self.case_statement(),
            T::LOOP | T::WHILE | T::REPEAT => self.looping(None),
            T::RETURN => {
                self.bump();
                Ok(Kind::Return(self.expr()?))
            }
            T::LEAVE => {
                self.bump();
                Ok(Kind::Leave(self.ident()?))
            }
            T::ITERATE => {
                self.bump();
                Ok(Kind::Iterate(self.ident()?))
            }
            T::OPEN => {
                self.bump();
                Ok(Kind::Open(self.ident()?))
            }
            T::CLOSE => {
                self.bump();
                Ok(Kind::Close(self.ident()?))
            }
            T::FETCH => {
                self.bump();
                if self.eat(T::NEXT) {
                    self.expect(T::FROM)?;
                } else {
                    self.eat(T::FROM);
                }
                let cursor = self.ident()?;
                self.expect(T::INTO)?;
                Ok(Kind::Fetch { cursor, into: self.idents()? })
            }
            kind if Self::is_ident(kind) && !STATEMENT_WORDS.contains(&kind) && self.peek() == T::Colon => {
                let label = self.ident()?;
                self.bump();
                match self.kind() {
                    T::BEGIN => self.block(Some(label)),
                    T::LOOP | T::WHILE | T::REPEAT => self.looping(Some(label)),
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
            _ => {
                let statement = self.statement()?;
                Ok(Kind::Statement(self.alloc(statement)))
            }
        }
    }

    /// `statement; statement; ...` up to a word that ends the list; at least one.
    fn statements(&mut self, ends: &[T]) -> R<&'a [RoutineStatement<'a>]> {
        let mut statements = self.list();
        loop {
            statements.push(self.routine_statement()?);
            self.expect(T::Semicolon)?;
            if self.at_any(ends) {
                return Ok(statements.into_bump_slice());
            }
        }
    }

    /// What may stand behind `END`: the label again, if there was one.
    fn end_label(&mut self, begin: Option<Ident<'a>>) -> R<Labels<'a>> {
        let end = if begin.is_some() && self.at_ident() { Some(self.ident()?) } else { None };
        Ok(Labels { begin, end })
    }

    fn block(&mut self, label: Option<Ident<'a>>) -> R<RoutineStatementKind<'a>> {
        self.bump();
        let mut declarations = self.list();
        while self.at(T::DECLARE) {
            declarations.push(self.declaration()?);
            self.expect(T::Semicolon)?;
        }
        let mut statements = self.list();
        while !self.at(T::END) {
            statements.push(self.routine_statement()?);
            self.expect(T::Semicolon)?;
        }
        self.expect(T::END)?;
        let labels = self.end_label(label)?;
        Ok(RoutineStatementKind::Block(self.alloc(Block {
            labels,
            declarations: declarations.into_bump_slice(),
            statements: statements.into_bump_slice(),
        })))
    }

    fn declaration(&mut self) -> R<Declaration<'a>> {
        self.bump();
        if self.at_any(&[T::CONTINUE, T::EXIT, T::UNDO]) {
            let resumes = self.bump().kind == T::CONTINUE;
            self.expect_all(&[T::HANDLER, T::FOR])?;
            let conditions = self.comma_list(|p| match p.kind() {
                T::SQLWARNING => {
                    p.bump();
                    Ok(ConditionValue::Warning)
                }
                T::SQLEXCEPTION => {
                    p.bump();
                    Ok(ConditionValue::Exception)
                }
                T::NOT => {
                    p.bump();
                    p.expect(T::FOUND)?;
                    Ok(ConditionValue::NotFound)
                }
                T::SQLSTATE | T::Integer => p.condition_value(),
                _ => Ok(ConditionValue::Name(p.ident()?)),
            })?;
            let statement = self.routine_statement()?;
            return Ok(Declaration::Handler { resumes, conditions, statement: self.alloc(statement) });
        }
        let name = self.ident()?;
        if self.eat(T::CURSOR) {
            self.expect(T::FOR)?;
            let start = self.tok.start;
            let query = self.query_with_into()?;
            return Ok(Declaration::Cursor { name, query, span: self.span_from(start) });
        }
        if self.eat(T::CONDITION) {
            self.expect(T::FOR)?;
            return Ok(Declaration::Condition { name, value: self.condition_value()? });
        }
        let mut names = self.list();
        names.push(name);
        while self.eat(T::Comma) {
            names.push(self.ident()?);
        }
        let data_type = self.local_type()?;
        let default = if self.eat(T::DEFAULT) { Some(self.expr()?) } else { None };
        Ok(Declaration::Variables { names: names.into_bump_slice(), data_type, default })
    }

    fn condition_value(&mut self) -> R<ConditionValue<'a>> {
        if self.at(T::Integer) {
            return Ok(ConditionValue::Number(self.whole_number()?));
        }
        self.expect(T::SQLSTATE)?;
        self.eat(T::VALUE);
        Ok(ConditionValue::State(self.text_literal()?))
    }

    fn if_statement(&mut self) -> R<RoutineStatementKind<'a>> {
        self.bump();
        let mut branches = self.list();
        loop {
            let condition = self.expr()?;
            self.expect(T::THEN)?;
            branches.push((condition, self.statements(&[T::ELSEIF, T::ELSE, T::END])?));
            if !self.eat(T::ELSEIF) {
                break;
            }
        }
        let otherwise = if self.eat(T::ELSE) { Some(self.statements(&[T::END])?) } else { None };
        self.expect_all(&[T::END, T::IF])?;
        Ok(RoutineStatementKind::If { branches: branches.into_bump_slice(), otherwise })
    }

    fn case_statement(&mut self) -> R<RoutineStatementKind<'a>> {
        self.bump();
        let operand = if self.at(T::WHEN) { None } else { Some(self.expr()?) };
        if !self.at(T::WHEN) {
            return self.fail();
        }
        let mut branches = self.list();
        while self.eat(T::WHEN) {
            let value = self.expr()?;
            self.expect(T::THEN)?;
            branches.push((value, self.statements(&[T::WHEN, T::ELSE, T::END])?));
        }
        let otherwise = if self.eat(T::ELSE) { Some(self.statements(&[T::END])?) } else { None };
        self.expect_all(&[T::END, T::CASE])?;
        Ok(RoutineStatementKind::Case { operand, branches: branches.into_bump_slice(), otherwise })
    }

    fn looping(&mut self, label: Option<Ident<'a>>) -> R<RoutineStatementKind<'a>> {
        use RoutineStatementKind as Kind;
        let kind = self.bump().kind;
        match kind {
            T::WHILE => {
                let condition = self.expr()?;
                self.expect(T::DO)?;
                let statements = self.statements(&[T::END])?;
                self.expect_all(&[T::END, kind])?;
                Ok(Kind::While(self.end_label(label)?, condition, statements))
            }
            T::REPEAT => {
                let statements = self.statements(&[T::UNTIL])?;
                self.expect(T::UNTIL)?;
                let condition = self.expr()?;
                self.expect_all(&[T::END, kind])?;
                Ok(Kind::Repeat(self.end_label(label)?, statements, condition))
            }
            _ => {
                let statements = self.statements(&[T::END])?;
                self.expect_all(&[T::END, kind])?;
                Ok(Kind::Loop(self.end_label(label)?, statements))
            }
        }
    }

    // Diagnostics.

    /// `SIGNAL`, `RESIGNAL`.
    pub(super) fn signal(&mut self) -> R<Statement<'a>> {
        let again = self.bump().kind == T::RESIGNAL;
        let value = match self.kind() {
            T::SQLSTATE => Some(self.condition_value()?),
            _ if self.at_ident() => Some(ConditionValue::Name(self.ident()?)),
            _ if again => None,
            _ => return self.fail(),
        };
        let items = if self.eat(T::SET) {
            self.comma_list(|p| {
                let item = p.condition_item()?;
                p.expect(T::Eq)?;
                // A literal or a variable: nothing that is computed.
                let start = p.tok.start;
                let value = p.simple_expr()?;
                match value.kind {
                    ExprKind::Literal(_) | ExprKind::UserVar(_) | ExprKind::SysVar(_) => Ok((item, value)),
                    ExprKind::Column(column) if column.table.is_none() => Ok((item, value)),
                    _ => p.fail_at(start),
                }
            })?
        } else {
            &[]
        };
        Ok(Statement::Signal(self.alloc(Signal { again, value, items })))
    }

    /// An item `SIGNAL` may set.
    fn condition_item(&mut self) -> R<ConditionItem> {
        let Some((_, item)) = CONDITION_ITEMS.iter().find(|(word, _)| self.at(*word)) else {
            return self.fail();
        };
        self.bump();
        Ok(*item)
    }

    /// `GET [CURRENT | STACKED] DIAGNOSTICS`.
    pub(super) fn get_diagnostics(&mut self) -> R<Statement<'a>> {
        self.bump();
        let stacked = !self.eat(T::CURRENT) && self.eat(T::STACKED);
        self.expect(T::DIAGNOSTICS)?;
        let what = if self.eat(T::CONDITION) {
            let number = self.simple_expr()?;
            let items = self.comma_list(|p| {
                let target = p.diagnostics_target()?;
                if p.eat(T::RETURNED_SQLSTATE) {
                    return Ok((target, ConditionItem::ReturnedSqlstate));
                }
                Ok((target, p.condition_item()?))
            })?;
            DiagnosticsItems::Condition(number, items)
        } else {
            DiagnosticsItems::Statement(self.comma_list(|p| {
                let target = p.diagnostics_target()?;
                if p.eat(T::ROW_COUNT) {
                    return Ok((target, StatementItem::RowCount));
                }
                p.expect(T::NUMBER)?;
                Ok((target, StatementItem::Number))
            })?)
        };
        Ok(Statement::GetDiagnostics(self.alloc(GetDiagnostics { stacked, what })))
    }

    /// `@name =` or `name =`.
    fn diagnostics_target(&mut self) -> R<DiagnosticsTarget<'a>> {
        let target = if self.eat_at()? {
            DiagnosticsTarget::User(self.ident_or_string()?)
        } else {
            DiagnosticsTarget::Local(self.ident()?)
        };
        self.expect(T::Eq)?;
        Ok(target)
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
const CONDITION_ITEMS: [(T, ConditionItem); 12] = [
    (T::CLASS_ORIGIN, ConditionItem::ClassOrigin),
    (T::SUBCLASS_ORIGIN, ConditionItem::SubclassOrigin),
    (T::CONSTRAINT_CATALOG, ConditionItem::ConstraintCatalog),
    (T::CONSTRAINT_SCHEMA, ConditionItem::ConstraintSchema),
    (T::CONSTRAINT_NAME, ConditionItem::ConstraintName),
    (T::CATALOG_NAME, ConditionItem::CatalogName),
    (T::SCHEMA_NAME, ConditionItem::SchemaName),
    (T::TABLE_NAME, ConditionItem::TableName),
    (T::COLUMN_NAME, ConditionItem::ColumnName),
    (T::CURSOR_NAME, ConditionItem::CursorName),
    (T::MESSAGE_TEXT, ConditionItem::MessageText),
    (T::MYSQL_ERRNO, ConditionItem::MysqlErrno),
];
