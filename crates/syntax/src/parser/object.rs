//! `CREATE`, `ALTER`, `DROP`, `RENAME`: of what.

use super::{Parser, R};
use crate::ast::*;
use crate::keywords::T;

impl<'a> Parser<'a> {
    pub(super) fn create(&mut self) -> R<Statement<'a>> {
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

    pub(super) fn server_options(&mut self) -> R<()> {
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

    pub(super) fn alter(&mut self) -> R<Statement<'a>> {
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

    pub(super) fn drop(&mut self) -> R<Statement<'a>> {
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
                let word = self.bump().kind;
                let if_exists = self.if_exists()?;
                let name = self.object_name()?;
                Ok(Statement::Unsupported {
                    what: match word {
                        T::PROCEDURE | T::FUNCTION => {
                            let kind = if word == T::PROCEDURE {
                                RoutineKind::Procedure
                            } else {
                                RoutineKind::Function
                            };
                            return Ok(Statement::DropRoutine(self.alloc(DropRoutine {
                                kind,
                                if_exists,
                                name,
                            })));
                        }
                        T::TRIGGER => return Ok(Statement::DropTrigger { if_exists, name }),
                        T::EVENT => return Ok(Statement::DropEvent { if_exists, name }),
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

    pub(super) fn drop_table(&mut self, temporary: bool) -> R<Statement<'a>> {
        let if_exists = self.if_exists()?;
        let names = self.object_names()?;
        let _ = self.eat(T::RESTRICT) || self.eat(T::CASCADE);
        Ok(Statement::DropTable(self.alloc(DropTable { temporary, if_exists, names })))
    }

    pub(super) fn rename(&mut self) -> R<Statement<'a>> {
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
}
