//! `SHOW`.

use super::{Parser, R};
use crate::ast::*;
use crate::keywords::T;

impl<'a> Parser<'a> {
    fn show_filter(&mut self) -> R<ShowFilter<'a>> {
        if self.eat(T::LIKE) {
            return Ok(ShowFilter::Like(self.string()?));
        }
        if self.eat(T::WHERE) {
            return Ok(ShowFilter::Where(self.expr()?));
        }
        Ok(ShowFilter::None)
    }

    /// `FROM db` or `IN db`.
    fn show_schema(&mut self) -> R<Option<Ident<'a>>> {
        if self.at_any(&[T::FROM, T::IN]) {
            self.bump();
            return Ok(Some(self.ident()?));
        }
        Ok(None)
    }

    /// `FROM t [FROM db]`.
    fn show_table(&mut self) -> R<ObjectName<'a>> {
        self.expect_any(&[T::FROM, T::IN])?;
        let mut table = self.object_name()?;
        if let Some(schema) = self.show_schema()? {
            table.schema = Some(schema);
        }
        Ok(table)
    }

    /// `SHOW ...`.
    pub(super) fn show(&mut self) -> R<Statement<'a>> {
        self.bump();
        let show = self.show_what()?;
        Ok(Statement::Show(self.alloc(show)))
    }

    fn show_what(&mut self) -> R<Show<'a>> {
        let extended = self.at(T::EXTENDED);
        if extended {
            self.bump();
            if !self.at_any(&[T::FULL, T::TABLES, T::COLUMNS, T::FIELDS, T::INDEX, T::INDEXES, T::KEYS]) {
                return self.fail();
            }
        }
        let full = self.at(T::FULL);
        if full {
            self.bump();
            let ok = self.at_any(&[T::TABLES, T::COLUMNS, T::FIELDS])
                || (!extended && self.at_any(&[T::PROCESSLIST, T::TRIGGERS]));
            if !ok {
                return self.fail();
            }
        }
        let word = self.tok.kind;
        match word {
            T::DATABASES | T::SCHEMAS => {
                self.bump();
                Ok(Show::Databases(self.show_filter()?))
            }
            T::TABLES => {
                self.bump();
                let schema = self.show_schema()?;
                Ok(Show::Tables { extended, full, schema, filter: self.show_filter()? })
            }
            T::TABLE => {
                self.bump();
                self.expect(T::STATUS)?;
                let schema = self.show_schema()?;
                Ok(Show::TableStatus { schema, filter: self.show_filter()? })
            }
            T::OPEN => {
                self.bump();
                self.expect(T::TABLES)?;
                let schema = self.show_schema()?;
                Ok(Show::OpenTables { schema, filter: self.show_filter()? })
            }
            T::TRIGGERS => {
                self.bump();
                let schema = self.show_schema()?;
                Ok(Show::Triggers { full, schema, filter: self.show_filter()? })
            }
            T::EVENTS => {
                self.bump();
                let schema = self.show_schema()?;
                Ok(Show::Events { schema, filter: self.show_filter()? })
            }
            T::COLUMNS | T::FIELDS => {
                self.bump();
                let table = self.show_table()?;
                Ok(Show::Columns { extended, full, table, filter: self.show_filter()? })
            }
            T::INDEX | T::INDEXES | T::KEYS => {
                self.bump();
                let table = self.show_table()?;
                let where_ = if self.eat(T::WHERE) { Some(self.expr()?) } else { None };
                Ok(Show::Index { extended, table, where_ })
            }
            T::CREATE => {
                self.bump();
                self.show_create()
            }
            T::GLOBAL | T::SESSION | T::LOCAL | T::VARIABLES | T::STATUS => {
                let global = word == T::GLOBAL;
                if matches!(word, T::GLOBAL | T::SESSION | T::LOCAL) {
                    self.bump();
                }
                if self.expect_any(&[T::VARIABLES, T::STATUS])? == T::VARIABLES {
                    Ok(Show::Variables { global, filter: self.show_filter()? })
                } else {
                    Ok(Show::Status { global, filter: self.show_filter()? })
                }
            }
            T::PROCESSLIST => {
                self.bump();
                Ok(Show::Processlist { full })
            }
            T::STORAGE | T::ENGINES => {
                self.eat(T::STORAGE);
                self.expect(T::ENGINES)?;
                Ok(Show::Engines)
            }
            T::ENGINE => {
                self.bump();
                let engine = if self.eat(T::ALL) { None } else { Some(self.ident_or_string()?) };
                Ok(Show::Engine { engine, what: self.word_of(&[T::STATUS, T::MUTEX, T::LOGS])? })
            }
            T::WARNINGS => {
                self.bump();
                Ok(Show::Warnings(if self.at(T::LIMIT) { Some(self.limit()?) } else { None }))
            }
            T::ERRORS => {
                self.bump();
                Ok(Show::Errors(if self.at(T::LIMIT) { Some(self.limit()?) } else { None }))
            }
            T::COUNT => {
                self.bump();
                self.expect_all(&[T::LParen, T::Star, T::RParen])?;
                if self.expect_any(&[T::WARNINGS, T::ERRORS])? == T::WARNINGS {
                    Ok(Show::CountWarnings)
                } else {
                    Ok(Show::CountErrors)
                }
            }
            T::CHARSET | T::CHARACTER | T::CHAR => {
                self.eat_charset_words()?;
                Ok(Show::CharacterSet(self.show_filter()?))
            }
            T::COLLATION => {
                self.bump();
                Ok(Show::Collation(self.show_filter()?))
            }
            T::GRANTS => {
                self.bump();
                let mut user = None;
                let mut using: &'a [Account<'a>] = &[];
                if self.eat(T::FOR) {
                    let account = self.account()?;
                    user = Some(if account.current { UserRef::Current } else { UserRef::Named(account) });
                    if self.eat(T::USING) {
                        using = self.comma_list(Self::account)?;
                    }
                }
                Ok(Show::Grants { user, using })
            }
            T::PRIVILEGES => {
                self.bump();
                Ok(Show::Privileges)
            }
            T::PLUGINS => {
                self.bump();
                Ok(Show::Plugins)
            }
            T::PROCEDURE | T::FUNCTION | T::LIBRARY => {
                self.bump();
                if word != T::LIBRARY && self.eat(T::CODE) {
                    self.object_name()?;
                    return Ok(Show::Other(if word == T::PROCEDURE {
                        "PROCEDURE CODE"
                    } else {
                        "FUNCTION CODE"
                    }));
                }
                self.expect(T::STATUS)?;
                Ok(Show::RoutineStatus(word.word(), self.show_filter()?))
            }
            T::BINARY => {
                self.bump();
                if self.eat(T::LOG) {
                    self.expect(T::STATUS)?;
                    return Ok(Show::BinaryLogStatus);
                }
                self.expect(T::LOGS)?;
                Ok(Show::BinaryLogs)
            }
            T::REPLICAS => {
                self.bump();
                Ok(Show::Replicas)
            }
            T::REPLICA => {
                self.bump();
                self.expect(T::STATUS)?;
                self.opt_channel()?;
                Ok(Show::ReplicaStatus)
            }
            T::BINLOG | T::RELAYLOG => {
                self.bump();
                self.expect(T::EVENTS)?;
                if self.eat(T::IN) {
                    self.string()?;
                }
                if self.eat(T::FROM) {
                    self.whole_number()?;
                }
                if self.at(T::LIMIT) {
                    self.limit()?;
                }
                if word == T::RELAYLOG {
                    self.opt_channel()?;
                }
                Ok(Show::Other(if word == T::BINLOG { "BINLOG EVENTS" } else { "RELAYLOG EVENTS" }))
            }
            T::PROFILES => {
                self.bump();
                Ok(Show::Profiles)
            }
            T::PROFILE => {
                self.bump();
                self.profile_types()?;
                if self.eat(T::FOR) {
                    self.expect(T::QUERY)?;
                    self.integer()?;
                }
                if self.at(T::LIMIT) {
                    self.limit()?;
                }
                Ok(Show::Other("PROFILE"))
            }
            T::PARSE_TREE => {
                // Only debug builds of MySQL have it; others read the statement and then refuse.
                let place = self.bump().start;
                self.statement()?;
                self.fail_at(place)
            }
            _ => self.fail(),
        }
    }

    fn show_create(&mut self) -> R<Show<'a>> {
        let word = self.tok.kind;
        match word {
            T::DATABASE | T::SCHEMA => {
                self.bump();
                let if_not_exists = self.if_not_exists()?;
                Ok(Show::CreateDatabase { if_not_exists, name: self.ident()? })
            }
            T::TABLE => {
                self.bump();
                Ok(Show::CreateTable(self.object_name()?))
            }
            T::VIEW => {
                self.bump();
                Ok(Show::CreateView(self.object_name()?))
            }
            T::PROCEDURE | T::FUNCTION | T::TRIGGER | T::EVENT | T::LIBRARY => {
                self.bump();
                Ok(Show::CreateRoutine(word.word(), self.object_name()?))
            }
            T::USER => {
                self.bump();
                Ok(Show::CreateUser(self.account()?))
            }
            _ => self.fail(),
        }
    }

    fn profile_types(&mut self) -> R<()> {
        let mut any = false;
        loop {
            match self.kind() {
                T::CPU | T::MEMORY | T::IPC | T::SWAPS | T::SOURCE | T::ALL => {
                    self.bump();
                }
                T::BLOCK => {
                    self.bump();
                    self.expect(T::IO)?;
                }
                T::CONTEXT => {
                    self.bump();
                    self.expect(T::SWITCHES)?;
                }
                T::PAGE => {
                    self.bump();
                    self.expect(T::FAULTS)?;
                }
                _ if any => return self.fail(),
                _ => return Ok(()),
            }
            any = true;
            if !self.eat(T::Comma) {
                return Ok(());
            }
        }
    }
}
