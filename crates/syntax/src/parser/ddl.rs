//! Tables, indexes, databases, views.

use super::{Parser, R};
use crate::ast::*;
use crate::keywords::T;

/// `ALGORITHM` and `LOCK`, each optional.
type AlgorithmAndLock<'a> = (Option<&'a [u8]>, Option<&'a [u8]>);

impl<'a> Parser<'a> {
    // Tables.

    /// After `CREATE [TEMPORARY] TABLE`.
    pub(super) fn create_table(&mut self, temporary: bool) -> R<Statement<'a>> {
        let if_not_exists = self.if_not_exists()?;
        let name = self.object_name()?;
        let mut table = CreateTable {
            temporary,
            if_not_exists,
            name,
            like: None,
            elements: &[],
            options: &[],
            partitioning: None,
            duplicates: Duplicates::Error,
            query: None,
        };
        if self.eat(T::LIKE) {
            table.like = Some(self.object_name()?);
            return Ok(Statement::CreateTable(self.alloc(table)));
        }
        if self.at(T::LParen) {
            if self.peek() == T::LIKE {
                self.bump();
                self.bump();
                table.like = Some(self.object_name()?);
                self.expect(T::RParen)?;
                return Ok(Statement::CreateTable(self.alloc(table)));
            }
            if !matches!(self.peek(), T::SELECT | T::WITH | T::TABLE | T::VALUES | T::LParen) {
                table.elements = self.paren_list(Self::table_element)?;
            }
        }
        let mut options = self.list();
        if !self.at(T::LParen) {
            while let Some(option) = self.table_option()? {
                options.push(option);
                self.eat(T::Comma);
            }
        }
        table.options = options.into_bump_slice();
        if self.at(T::PARTITION) {
            let partitioning = self.partitioning()?;
            table.partitioning = Some(self.alloc(partitioning));
        }
        if self.at_any(&[T::IGNORE, T::REPLACE]) {
            table.duplicates =
                if self.bump().kind == T::IGNORE { Duplicates::Ignore } else { Duplicates::Replace };
            if !self.at(T::AS) && !self.at_query() {
                return self.fail();
            }
        }
        let needs_query = self.eat(T::AS);
        if needs_query || self.at_query() {
            table.query = Some(self.query_expression()?);
        } else if table.elements.is_empty() {
            // Neither columns nor a query: MySQL notices when it makes the table (1113), except where the text ends
            // before anything was said.
            if table.options.is_empty()
                && table.partitioning.is_none()
                && !self.at_any(&[T::Eof, T::Semicolon])
            {
                return self.fail();
            }
        }
        Ok(Statement::CreateTable(self.alloc(table)))
    }

    pub(super) fn option_eq(&mut self) {
        self.bump();
        self.eat(T::Eq);
    }

    /// `DEFAULT` (`None`) or 0 or 1.
    pub(super) fn ternary(&mut self) -> R<Option<u64>> {
        if self.eat(T::DEFAULT) {
            return Ok(None);
        }
        let place = self.tok.start;
        let value = self.number()?;
        if value > 1 { self.fail_at(place) } else { Ok(Some(value)) }
    }

    /// 1 to 65535.
    pub(super) fn sample_pages(&mut self) -> R<u64> {
        let place = self.tok.start;
        let pages = self.number()?;
        if (1..=65_535).contains(&pages) { Ok(pages) } else { self.fail_at(place) }
    }

    /// A size: a number, perhaps with K, M, G behind it.
    pub(super) fn size_number(&mut self) -> R<u64> {
        if self.at(T::Integer) || self.at(T::Hex) {
            return self.number();
        }
        // `4M` is lexed as a name.
        if self.at(T::Ident) {
            let text = self.text(self.tok);
            if let Some((unit, digits)) = text.split_last() {
                let factor: u64 = match unit | 0x20 {
                    b'k' => 1 << 10,
                    b'm' => 1 << 20,
                    b'g' => 1 << 30,
                    _ => 0,
                };
                if factor > 0 && !digits.is_empty() && digits.iter().all(u8::is_ascii_digit) {
                    self.bump();
                    return Ok(Self::integer_of(digits).unwrap_or(u64::MAX).saturating_mul(factor));
                }
            }
        }
        if self.at_any(&[T::Ident, T::QuotedIdent]) {
            return self.fail_with(
                1531,
                "HY000",
                "A size parameter was incorrectly specified, either number or on the form 10M",
            );
        }
        self.fail()
    }

    pub(super) fn table_option(&mut self) -> R<Option<TableOption<'a>>> {
        use TableOption as O;
        let kind = self.tok.kind;
        Ok(Some(match kind {
            T::ENGINE => {
                self.option_eq();
                O::Engine(self.ident_or_string()?)
            }
            T::SECONDARY_ENGINE => {
                self.option_eq();
                if self.eat(T::NULL) {
                    O::SecondaryEngine(None)
                } else {
                    O::SecondaryEngine(Some(self.ident_or_string()?))
                }
            }
            T::AUTO_INCREMENT => {
                self.option_eq();
                O::AutoIncrement(self.number()?)
            }
            T::MAX_ROWS => {
                self.option_eq();
                O::MaxRows(self.number()?)
            }
            T::MIN_ROWS => {
                self.option_eq();
                O::MinRows(self.number()?)
            }
            T::AVG_ROW_LENGTH => {
                self.option_eq();
                O::AvgRowLength(self.number()?)
            }
            T::KEY_BLOCK_SIZE => {
                self.option_eq();
                O::KeyBlockSize(self.number()?)
            }
            T::PASSWORD => {
                self.option_eq();
                O::Password(self.string()?)
            }
            T::COMMENT => {
                self.option_eq();
                O::Comment(self.string()?)
            }
            T::COMPRESSION => {
                self.option_eq();
                O::Compression(self.string()?)
            }
            T::ENCRYPTION => {
                self.option_eq();
                O::Encryption(self.string()?)
            }
            T::CONNECTION => {
                self.option_eq();
                O::Connection(self.string()?)
            }
            T::ENGINE_ATTRIBUTE => {
                self.option_eq();
                O::EngineAttribute(self.string()?)
            }
            T::SECONDARY_ENGINE_ATTRIBUTE => {
                self.option_eq();
                O::SecondaryEngineAttribute(self.string()?)
            }
            T::AUTOEXTEND_SIZE => {
                self.option_eq();
                O::AutoextendSize(self.size_number()?)
            }
            T::CHECKSUM | T::TABLE_CHECKSUM => {
                self.option_eq();
                O::Checksum(self.number()? != 0)
            }
            T::DELAY_KEY_WRITE => {
                self.option_eq();
                O::DelayKeyWrite(self.number()? != 0)
            }
            T::PACK_KEYS => {
                self.option_eq();
                O::PackKeys(self.ternary()?)
            }
            T::STATS_AUTO_RECALC => {
                self.option_eq();
                O::StatsAutoRecalc(self.ternary()?)
            }
            T::STATS_PERSISTENT => {
                self.option_eq();
                O::StatsPersistent(self.ternary()?)
            }
            T::STATS_SAMPLE_PAGES => {
                self.option_eq();
                O::StatsSamplePages(if self.eat(T::DEFAULT) { None } else { Some(self.sample_pages()?) })
            }
            T::ROW_FORMAT => {
                self.option_eq();
                O::RowFormat(self.word_of(&[
                    T::DEFAULT,
                    T::FIXED,
                    T::DYNAMIC,
                    T::COMPRESSED,
                    T::REDUNDANT,
                    T::COMPACT,
                ])?)
            }
            T::UNION => {
                self.option_eq();
                self.expect(T::LParen)?;
                let names = if self.at(T::RParen) { &[] } else { self.object_names()? };
                self.expect(T::RParen)?;
                O::Union(names)
            }
            T::INSERT_METHOD => {
                self.option_eq();
                O::InsertMethod(self.word_of(&[T::NO, T::FIRST, T::LAST])?)
            }
            T::DATA | T::INDEX => {
                self.bump();
                self.expect(T::DIRECTORY)?;
                self.eat(T::Eq);
                let path = self.string()?;
                if kind == T::DATA { O::DataDirectory(path) } else { O::IndexDirectory(path) }
            }
            T::TABLESPACE => {
                self.option_eq();
                O::Tablespace(self.ident()?)
            }
            T::STORAGE => {
                self.bump();
                O::Storage(self.word_of(&[T::DISK, T::MEMORY])?)
            }
            T::START => {
                self.bump();
                self.expect(T::TRANSACTION)?;
                O::StartTransaction
            }
            T::DEFAULT | T::CHARSET | T::CHARACTER | T::CHAR | T::COLLATE => {
                self.eat(T::DEFAULT);
                if self.eat(T::COLLATE) {
                    self.eat(T::Eq);
                    O::Collate(self.name_or_default()?)
                } else if self.eat_charset_words()? {
                    self.eat(T::Eq);
                    O::Charset(self.name_or_default()?)
                } else {
                    return self.fail();
                }
            }
            _ => return Ok(None),
        }))
    }

    /// A character set or collation, or `DEFAULT`.
    pub(super) fn name_or_default(&mut self) -> R<Option<&'a [u8]>> {
        if self.eat(T::DEFAULT) { Ok(None) } else { Ok(Some(self.charset_name()?)) }
    }

    // Partitions: checked, kept as text.

    /// `PARTITION BY ...`.
    pub(super) fn partitioning(&mut self) -> R<Partitioning> {
        let start = self.expect(T::PARTITION)?.start;
        self.expect(T::BY)?;
        match self.kind() {
            T::LINEAR | T::HASH | T::KEY => self.hash_or_key()?,
            T::RANGE | T::LIST => {
                self.bump();
                if self.eat(T::COLUMNS) {
                    self.paren_list(Self::ident)?;
                } else {
                    self.expect(T::LParen)?;
                    self.bit_expr_only()?;
                    self.expect(T::RParen)?;
                }
            }
            _ => return self.fail(),
        }
        if self.eat(T::PARTITIONS) {
            self.whole_number()?;
        }
        if self.eat(T::SUBPARTITION) {
            self.expect(T::BY)?;
            self.hash_or_key()?;
            if self.eat(T::SUBPARTITIONS) {
                self.whole_number()?;
            }
        }
        if self.at(T::LParen) {
            self.partition_definitions()?;
        }
        Ok(Partitioning { source: self.span_from(start) })
    }

    pub(super) fn bit_expr_only(&mut self) -> R<()> {
        self.expr().map(|_| ())
    }

    pub(super) fn hash_or_key(&mut self) -> R<()> {
        self.eat(T::LINEAR);
        if self.expect_any(&[T::HASH, T::KEY])? == T::HASH {
            self.expect(T::LParen)?;
            self.bit_expr_only()?;
        } else {
            if self.eat(T::ALGORITHM) {
                self.expect(T::Eq)?;
                self.whole_number()?;
            }
            self.expect(T::LParen)?;
            if !self.at(T::RParen) {
                self.idents()?;
            }
        }
        self.expect(T::RParen)?;
        Ok(())
    }

    pub(super) fn partition_definitions(&mut self) -> R<()> {
        self.paren_list(|p| {
            p.expect(T::PARTITION)?;
            p.ident()?;
            if p.eat(T::VALUES) {
                if p.eat(T::LESS) {
                    p.expect(T::THAN)?;
                    if !p.eat(T::MAXVALUE) {
                        p.value_list()?;
                    }
                } else {
                    p.expect(T::IN)?;
                    if p.at(T::LParen) && p.peek() == T::LParen {
                        p.paren_list(Self::value_list)?;
                    } else {
                        p.value_list()?;
                    }
                }
            }
            p.partition_options()?;
            if p.at(T::LParen) {
                p.paren_list(|p| {
                    p.expect(T::SUBPARTITION)?;
                    p.ident_or_string()?;
                    p.partition_options()
                })?;
            }
            Ok(())
        })?;
        Ok(())
    }

    pub(super) fn value_list(&mut self) -> R<()> {
        self.paren_list(|p| if p.eat(T::MAXVALUE) { Ok(()) } else { p.expr().map(|_| ()) })?;
        Ok(())
    }

    pub(super) fn partition_options(&mut self) -> R<()> {
        loop {
            match self.kind() {
                T::TABLESPACE => {
                    self.option_eq();
                    self.ident()?;
                }
                T::STORAGE => {
                    self.bump();
                    self.expect(T::ENGINE)?;
                    self.eat(T::Eq);
                    self.ident_or_string()?;
                }
                T::ENGINE => {
                    self.option_eq();
                    self.ident_or_string()?;
                }
                T::NODEGROUP | T::MAX_ROWS | T::MIN_ROWS => {
                    self.option_eq();
                    self.whole_number()?;
                }
                T::DATA | T::INDEX => {
                    self.bump();
                    self.expect(T::DIRECTORY)?;
                    self.eat(T::Eq);
                    self.string()?;
                }
                T::COMMENT => {
                    self.option_eq();
                    self.string()?;
                }
                _ => return Ok(()),
            }
        }
    }

    // The rest.

    /// After `CREATE`, at `[UNIQUE | FULLTEXT | SPATIAL] INDEX`.
    pub(super) fn create_index(&mut self) -> R<Statement<'a>> {
        let kind = match self.kind() {
            T::UNIQUE => KeyKind::Unique,
            T::FULLTEXT => KeyKind::Fulltext,
            T::SPATIAL => KeyKind::Spatial,
            _ => KeyKind::Index,
        };
        if kind != KeyKind::Index {
            self.bump();
        }
        self.expect(T::INDEX)?;
        let name = self.ident()?;
        let mut options = IndexOptions::default();
        if matches!(kind, KeyKind::Index | KeyKind::Unique) && self.at_any(&[T::USING, T::TYPE]) {
            self.index_algorithm(&mut options)?;
        }
        self.expect(T::ON)?;
        let table = self.object_name()?;
        let parts = self.key_parts(true)?;
        self.index_options(kind, &mut options)?;
        let (algorithm, lock) = self.algorithm_and_lock()?;
        let key = KeyDef { kind, name: Some(name), parts, options };
        Ok(Statement::CreateIndex(self.alloc(CreateIndex { table, key, algorithm, lock })))
    }

    pub(super) fn algorithm_and_lock(&mut self) -> R<AlgorithmAndLock<'a>> {
        let (mut algorithm, mut lock) = (None, None);
        loop {
            if self.at(T::ALGORITHM) && algorithm.is_none() {
                self.option_eq();
                algorithm = Some(self.word_or_default()?);
            } else if self.at(T::LOCK) && lock.is_none() {
                self.option_eq();
                lock = Some(self.word_or_default()?);
            } else {
                return Ok((algorithm, lock));
            }
        }
    }

    /// After `DROP INDEX`.
    pub(super) fn drop_index(&mut self) -> R<Statement<'a>> {
        let name = self.index_name()?;
        self.expect(T::ON)?;
        let table = self.object_name()?;
        let (algorithm, lock) = self.algorithm_and_lock()?;
        Ok(Statement::DropIndex(self.alloc(DropIndex { name, table, algorithm, lock })))
    }

    pub(super) fn database_options(&mut self, alter: bool) -> R<&'a [DatabaseOption<'a>]> {
        let mut options = self.list();
        loop {
            let default = self.at(T::DEFAULT);
            if default {
                self.bump();
            }
            match self.kind() {
                T::CHARSET | T::CHARACTER | T::CHAR => {
                    self.eat_charset_words()?;
                    self.eat(T::Eq);
                    options.push(DatabaseOption::Charset(self.name_or_default()?));
                }
                T::COLLATE => {
                    self.option_eq();
                    options.push(DatabaseOption::Collate(self.name_or_default()?));
                }
                T::ENCRYPTION => {
                    self.option_eq();
                    options.push(DatabaseOption::Encryption(self.string()?));
                }
                T::READ if alter && !default => {
                    self.bump();
                    self.expect(T::ONLY)?;
                    self.eat(T::Eq);
                    options.push(DatabaseOption::ReadOnly(self.ternary()?));
                }
                _ if default => return self.fail(),
                _ => return Ok(options.into_bump_slice()),
            }
        }
    }

    /// After `CREATE DATABASE`.
    pub(super) fn create_database(&mut self) -> R<Statement<'a>> {
        let if_not_exists = self.if_not_exists()?;
        let name = self.ident()?;
        let options = self.database_options(false)?;
        Ok(Statement::CreateDatabase(self.alloc(CreateDatabase { if_not_exists, name, options })))
    }

    /// After `ALTER DATABASE`.
    pub(super) fn alter_database(&mut self) -> R<Statement<'a>> {
        let name =
            if self.at_ident() && !self.database_option_follows() { Some(self.ident()?) } else { None };
        let options = self.database_options(true)?;
        if options.is_empty() {
            return self.fail();
        }
        Ok(Statement::AlterDatabase(self.alloc(AlterDatabase { name, options })))
    }

    pub(super) fn database_option_follows(&mut self) -> bool {
        match self.kind() {
            T::CHARSET | T::ENCRYPTION => {
                // As a name it would be followed by an option.
                !matches!(
                    self.peek(),
                    T::CHARSET | T::CHARACTER | T::COLLATE | T::DEFAULT | T::ENCRYPTION | T::READ
                )
            }
            _ => false,
        }
    }

    /// At `VIEW`, with what was read before it.
    pub(super) fn view(&mut self, mut view: CreateView<'a>) -> R<Statement<'a>> {
        self.expect(T::VIEW)?;
        if !view.alter && !view.or_replace {
            view.if_not_exists = self.if_not_exists()?;
        }
        view.name = self.object_name()?;
        if self.at(T::LParen) {
            view.columns = self.paren_list(Self::ident)?;
        }
        self.expect(T::AS)?;
        view.query = self.query_expression()?;
        if self.eat(T::WITH) {
            let kind = match self.kind() {
                T::LOCAL | T::CASCADED => self.bump().kind.word(),
                _ => "CASCADED",
            };
            self.expect_all(&[T::CHECK, T::OPTION])?;
            view.check_option = Some(kind);
        }
        Ok(Statement::CreateView(self.alloc(view)))
    }
}
