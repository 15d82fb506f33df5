//! `SET`.

use super::{Parser, R};
use crate::ast::*;
use crate::keywords::T;

impl<'a> Parser<'a> {
    pub(super) fn set(&mut self) -> R<Statement<'a>> {
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
    pub(super) fn scope_word(&mut self) -> Option<VarScope> {
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

    pub(super) fn set_item(&mut self, scope: Option<VarScope>) -> R<SetItem<'a>> {
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
    pub(super) fn set_var_name(&mut self, scope: VarScope) -> R<SysVar<'a>> {
        if self.at(T::DEFAULT) {
            let token = self.bump();
            let component = Ident { text: self.text(token), span: token.span() };
            self.expect(T::Dot)?;
            return Ok(SysVar { scope, component: Some(component), name: self.ident()? });
        }
        self.var_name(scope)
    }

    /// `= value`.
    pub(super) fn set_value(&mut self, var: SysVar<'a>) -> R<SetItem<'a>> {
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

    pub(super) fn set_transaction(&mut self, scope: VarScope) -> R<SetItem<'a>> {
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
}
