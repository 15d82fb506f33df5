//! `ALTER TABLE`.

use super::{Parser, R};
use crate::SqlMode;
use crate::ast::*;
use crate::keywords::T;

impl<'a> Parser<'a> {
    /// After `ALTER TABLE`.
    pub(super) fn alter_table(&mut self) -> R<Statement<'a>> {
        let table = self.object_name()?;
        let mut alter = AlterTable { table, actions: &[], algorithm: None, lock: None, validation: None };
        let mut actions = self.list();
        // Some actions stand alone, after modifiers at the most.
        let mut after_comma = false;
        let alone = loop {
            if !after_comma && self.at_any(&[T::Eof, T::Semicolon]) {
                break false;
            }
            if self.alter_modifier(&mut alter)? {
                if self.eat(T::Comma) {
                    after_comma = true;
                    continue;
                }
                break false;
            }
            if let Some(action) = self.alone_action(&mut alter)? {
                actions.push(action);
                break true;
            }
            if let Some(option) = self.table_option()? {
                actions.push(AlterAction::Option(option));
                // Options of one action need no comma between them.
                while let Some(option) = self.table_option()? {
                    actions.push(AlterAction::Option(option));
                }
            } else if !after_comma && self.at_any(&[T::PARTITION, T::REMOVE]) {
                break false;
            } else {
                actions.push(self.alter_action()?);
            }
            if !self.eat(T::Comma) {
                break false;
            }
            after_comma = true;
        };
        if !alone {
            if self.at(T::PARTITION) {
                let partitioning = self.partitioning()?;
                actions.push(AlterAction::PartitionBy(self.alloc(partitioning)));
            } else if self.eat(T::REMOVE) {
                self.expect(T::PARTITIONING)?;
                actions.push(AlterAction::Other("REMOVE PARTITIONING"));
            }
        }
        alter.actions = actions.into_bump_slice();
        Ok(Statement::AlterTable(self.alloc(alter)))
    }

    /// `ALGORITHM`, `LOCK`, `WITH VALIDATION`.
    pub(super) fn alter_modifier(&mut self, alter: &mut AlterTable<'a>) -> R<bool> {
        match self.kind() {
            T::ALGORITHM => {
                self.option_eq();
                alter.algorithm = Some(self.word_or_default()?);
            }
            T::LOCK => {
                self.option_eq();
                alter.lock = Some(self.word_or_default()?);
            }
            T::WITH | T::WITHOUT => {
                let with = self.bump().kind == T::WITH;
                self.expect(T::VALIDATION)?;
                alter.validation = Some(with);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    pub(super) fn word_or_default(&mut self) -> R<&'a [u8]> {
        if self.at(T::DEFAULT) {
            let token = self.bump();
            return Ok(self.text(token));
        }
        Ok(self.ident()?.text)
    }

    /// Names of partitions or `ALL`.
    pub(super) fn all_or_partitions(&mut self) -> R<()> {
        if self.eat(T::ALL) {
            return Ok(());
        }
        self.idents().map(|_| ())
    }

    pub(super) fn alone_action(&mut self, alter: &mut AlterTable<'a>) -> R<Option<AlterAction<'a>>> {
        let first = self.tok.kind;
        let second = self.peek();
        let what = match (first, second) {
            (T::DISCARD | T::IMPORT, T::TABLESPACE) => {
                self.bump();
                self.bump();
                if first == T::DISCARD { "DISCARD TABLESPACE" } else { "IMPORT TABLESPACE" }
            }
            (T::DISCARD | T::IMPORT, T::PARTITION) => {
                self.bump();
                self.bump();
                self.all_or_partitions()?;
                self.expect(T::TABLESPACE)?;
                if first == T::DISCARD { "DISCARD PARTITION" } else { "IMPORT PARTITION" }
            }
            (T::ADD, T::PARTITION) => {
                self.bump();
                self.bump();
                self.eat(T::NO_WRITE_TO_BINLOG);
                if self.eat(T::PARTITIONS) {
                    self.whole_number()?;
                } else {
                    self.partition_definitions()?;
                }
                "ADD PARTITION"
            }
            (T::DROP, T::PARTITION) => {
                self.bump();
                self.bump();
                self.idents()?;
                "DROP PARTITION"
            }
            (T::COALESCE, T::PARTITION) => {
                self.bump();
                self.bump();
                self.eat(T::NO_WRITE_TO_BINLOG);
                self.whole_number()?;
                "COALESCE PARTITION"
            }
            (T::TRUNCATE, T::PARTITION) => {
                self.bump();
                self.bump();
                self.all_or_partitions()?;
                "TRUNCATE PARTITION"
            }
            (T::REBUILD | T::OPTIMIZE | T::ANALYZE | T::CHECK | T::REPAIR, T::PARTITION) => {
                self.bump();
                self.bump();
                if first != T::CHECK {
                    self.eat_no_binlog();
                }
                self.all_or_partitions()?;
                if matches!(first, T::CHECK | T::REPAIR) {
                    self.maintain_options()?;
                }
                match first {
                    T::REBUILD => "REBUILD PARTITION",
                    T::OPTIMIZE => "OPTIMIZE PARTITION",
                    T::ANALYZE => "ANALYZE PARTITION",
                    T::CHECK => "CHECK PARTITION",
                    _ => "REPAIR PARTITION",
                }
            }
            (T::REORGANIZE, T::PARTITION) => {
                self.bump();
                self.bump();
                self.eat(T::NO_WRITE_TO_BINLOG);
                if self.at_ident() {
                    self.idents()?;
                    self.expect(T::INTO)?;
                    self.partition_definitions()?;
                }
                "REORGANIZE PARTITION"
            }
            (T::EXCHANGE, T::PARTITION) => {
                self.bump();
                self.bump();
                self.ident()?;
                self.expect_all(&[T::WITH, T::TABLE])?;
                self.object_name()?;
                if self.at_any(&[T::WITH, T::WITHOUT]) {
                    let with = self.bump().kind == T::WITH;
                    self.expect(T::VALIDATION)?;
                    alter.validation = Some(with);
                }
                "EXCHANGE PARTITION"
            }
            (T::SECONDARY_LOAD, _) => {
                self.bump();
                if self.at(T::PARTITION) {
                    self.bump();
                    self.paren_list(Self::ident)?;
                }
                "SECONDARY_LOAD"
            }
            (T::SECONDARY_UNLOAD, _) => {
                self.bump();
                if self.at(T::PARTITION) {
                    self.bump();
                    self.paren_list(Self::ident)?;
                }
                "SECONDARY_UNLOAD"
            }
            (
                T::DISCARD
                | T::IMPORT
                | T::COALESCE
                | T::TRUNCATE
                | T::REBUILD
                | T::OPTIMIZE
                | T::ANALYZE
                | T::CHECK
                | T::REPAIR
                | T::REORGANIZE
                | T::EXCHANGE,
                _,
            ) => {
                self.bump();
                return self.fail();
            }
            _ => return Ok(None),
        };
        Ok(Some(AlterAction::Other(what)))
    }

    pub(super) fn place(&mut self) -> R<Option<ColumnPlace<'a>>> {
        if self.eat(T::FIRST) {
            return Ok(Some(ColumnPlace::First));
        }
        if self.eat(T::AFTER) {
            return Ok(Some(ColumnPlace::After(self.ident()?)));
        }
        Ok(None)
    }

    pub(super) fn alter_action(&mut self) -> R<AlterAction<'a>> {
        match self.kind() {
            T::ADD => {
                self.bump();
                if let Some(element) = self.table_constraint()? {
                    return Ok(match element {
                        TableElement::Key(key) => AlterAction::AddKey(key),
                        TableElement::ForeignKey(key) => AlterAction::AddForeignKey(key),
                        TableElement::Check(check) => AlterAction::AddCheck(check),
                        TableElement::Column(_) => return self.fail(),
                    });
                }
                self.eat(T::COLUMN);
                if self.at(T::LParen) {
                    return Ok(AlterAction::AddElements(self.paren_list(Self::table_element)?));
                }
                let column = self.column_def()?;
                Ok(AlterAction::AddColumn(column, self.place()?))
            }
            T::MODIFY => {
                self.bump();
                self.eat(T::COLUMN);
                let column = self.column_def()?;
                Ok(AlterAction::ModifyColumn(column, self.place()?))
            }
            T::CHANGE => {
                self.bump();
                self.eat(T::COLUMN);
                let old = self.ident()?;
                let column = self.column_def()?;
                Ok(AlterAction::ChangeColumn(old, column, self.place()?))
            }
            T::DROP => self.alter_drop(),
            T::ALTER => self.alter_alter(),
            T::RENAME => self.alter_rename(),
            T::CONVERT => {
                self.bump();
                self.expect(T::TO)?;
                if !self.eat_charset_words()? {
                    return self.fail();
                }
                let charset = self.name_or_default()?;
                let collation = if self.eat(T::COLLATE) {
                    self.eat(T::Eq);
                    Some(self.collation_name()?)
                } else {
                    None
                };
                Ok(AlterAction::ConvertCharset { charset, collation })
            }
            T::ORDER => {
                self.bump();
                self.expect(T::BY)?;
                Ok(AlterAction::OrderBy(self.comma_list(|p| {
                    let start = p.tok.start;
                    let column = p.column_ref()?;
                    let expr = Expr { kind: ExprKind::Column(p.alloc(column)), span: p.span_from(start) };
                    let desc = match p.kind() {
                        T::ASC => Some(false),
                        T::DESC => Some(true),
                        _ => None,
                    };
                    if desc.is_some() {
                        p.bump();
                    }
                    Ok(OrderItem { expr, desc })
                })?))
            }
            T::FORCE => {
                self.bump();
                Ok(AlterAction::Force)
            }
            T::ENABLE | T::DISABLE => {
                let enable = self.bump().kind == T::ENABLE;
                self.expect(T::KEYS)?;
                Ok(AlterAction::Keys(enable))
            }
            T::UPGRADE => {
                self.bump();
                self.expect(T::PARTITIONING)?;
                Ok(AlterAction::Other("UPGRADE PARTITIONING"))
            }
            _ => self.fail(),
        }
    }

    pub(super) fn alter_drop(&mut self) -> R<AlterAction<'a>> {
        self.bump();
        match self.kind() {
            T::PRIMARY => {
                self.bump();
                self.expect(T::KEY)?;
                Ok(AlterAction::DropPrimaryKey)
            }
            T::INDEX | T::KEY => {
                self.bump();
                Ok(AlterAction::DropIndex(self.index_name()?))
            }
            T::FOREIGN => {
                self.bump();
                self.expect(T::KEY)?;
                Ok(AlterAction::DropForeignKey(self.ident()?))
            }
            T::CHECK => {
                self.bump();
                Ok(AlterAction::DropCheck(self.ident()?))
            }
            T::CONSTRAINT => {
                self.bump();
                Ok(AlterAction::DropConstraint(self.ident()?))
            }
            _ => {
                self.eat(T::COLUMN);
                let name = self.ident()?;
                let _ = self.eat(T::RESTRICT) || self.eat(T::CASCADE);
                Ok(AlterAction::DropColumn(name))
            }
        }
    }

    pub(super) fn alter_alter(&mut self) -> R<AlterAction<'a>> {
        self.bump();
        match self.kind() {
            T::INDEX => {
                self.bump();
                let name = self.ident()?;
                let invisible = self.expect_any(&[T::VISIBLE, T::INVISIBLE])? == T::INVISIBLE;
                Ok(AlterAction::SetIndexInvisible(name, invisible))
            }
            kind @ (T::CHECK | T::CONSTRAINT) => {
                self.bump();
                let name = self.ident()?;
                let enforced = self.mode.has(SqlMode::HIGH_NOT_PRECEDENCE) || !self.eat(T::NOT);
                self.expect(T::ENFORCED)?;
                Ok(AlterAction::SetEnforced { name, enforced, any_kind: kind == T::CONSTRAINT })
            }
            _ => {
                self.eat(T::COLUMN);
                let name = self.ident()?;
                if self.eat(T::DROP) {
                    self.expect(T::DEFAULT)?;
                    return Ok(AlterAction::DropDefault(name));
                }
                self.expect(T::SET)?;
                match self.kind() {
                    T::VISIBLE | T::INVISIBLE => {
                        Ok(AlterAction::SetColumnInvisible(name, self.bump().kind == T::INVISIBLE))
                    }
                    _ => {
                        self.expect(T::DEFAULT)?;
                        if self.at(T::LParen) {
                            return Ok(AlterAction::SetDefault(name, self.column_default()?));
                        }
                        Ok(AlterAction::SetDefault(name, ColumnDefault::Literal(self.signed_literal()?)))
                    }
                }
            }
        }
    }

    pub(super) fn alter_rename(&mut self) -> R<AlterAction<'a>> {
        self.bump();
        match self.kind() {
            T::COLUMN => {
                self.bump();
                let old = self.ident()?;
                self.expect(T::TO)?;
                Ok(AlterAction::RenameColumn(old, self.ident()?))
            }
            T::INDEX | T::KEY => {
                self.bump();
                let old = self.index_name()?;
                self.expect(T::TO)?;
                Ok(AlterAction::RenameIndex(old, self.index_name()?))
            }
            _ => {
                let _ = self.eat(T::TO) || self.eat(T::AS) || self.eat(T::Eq);
                Ok(AlterAction::RenameTable(self.object_name()?))
            }
        }
    }
}
