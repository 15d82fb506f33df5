//! Tables, indexes, databases, views.

use super::{Parser, R};
use crate::SqlMode;
use crate::ast::*;
use crate::keywords::T;

/// `ALGORITHM` and `LOCK`, each optional.
type AlgorithmAndLock<'a> = (Option<&'a [u8]>, Option<&'a [u8]>);

impl<'a> Parser<'a> {
    // Types.

    /// A column type with its own attributes.
    pub(super) fn data_type(&mut self) -> R<DataType<'a>> {
        use TypeName as N;
        let mut ty = DataType {
            name: N::Int,
            length: None,
            decimals: None,
            unsigned: false,
            zerofill: false,
            charset: None,
            binary: false,
            collation: None,
            members: &[],
            serial: false,
        };
        let word = self.tok.kind;
        ty.name = match word {
            T::INT | T::INTEGER | T::INT4 => N::Int,
            T::TINYINT | T::INT1 => N::TinyInt,
            T::SMALLINT | T::INT2 => N::SmallInt,
            T::MEDIUMINT | T::INT3 | T::MIDDLEINT => N::MediumInt,
            T::BIGINT | T::INT8 => N::BigInt,
            T::REAL => {
                if self.mode.has(SqlMode::REAL_AS_FLOAT) {
                    N::Float
                } else {
                    N::Double
                }
            }
            T::DOUBLE | T::FLOAT8 => N::Double,
            T::FLOAT | T::FLOAT4 => N::Float,
            T::DECIMAL | T::DEC | T::NUMERIC | T::FIXED => N::Decimal,
            T::BIT => N::Bit,
            T::BOOL | T::BOOLEAN => N::TinyInt,
            T::CHAR | T::CHARACTER | T::NCHAR => N::Char,
            T::VARCHAR | T::VARCHARACTER | T::NVARCHAR | T::NATIONAL => N::Varchar,
            T::BINARY => N::Binary,
            T::VARBINARY => N::Varbinary,
            T::VECTOR => N::Vector,
            T::YEAR => N::Year,
            T::DATE => N::Date,
            T::TIME => N::Time,
            T::TIMESTAMP => N::Timestamp,
            T::DATETIME => N::DateTime,
            T::TINYBLOB => N::TinyBlob,
            T::BLOB => N::Blob,
            T::MEDIUMBLOB => N::MediumBlob,
            T::LONGBLOB => N::LongBlob,
            T::TINYTEXT => N::TinyText,
            T::TEXT => N::Text,
            T::MEDIUMTEXT => N::MediumText,
            T::LONGTEXT => N::LongText,
            T::LONG => N::MediumText,
            T::ENUM => N::Enum,
            T::SET => N::Set,
            T::SERIAL => N::BigInt,
            T::JSON => N::Json,
            T::GEOMETRY => N::Geometry,
            T::POINT => N::Point,
            T::LINESTRING => N::LineString,
            T::POLYGON => N::Polygon,
            T::MULTIPOINT => N::MultiPoint,
            T::MULTILINESTRING => N::MultiLineString,
            T::MULTIPOLYGON => N::MultiPolygon,
            T::GEOMETRYCOLLECTION | T::GEOMCOLLECTION => N::GeometryCollection,
            _ => return self.fail(),
        };
        self.bump();
        match word {
            T::BOOL | T::BOOLEAN => ty.length = Some(1),
            T::SERIAL => {
                ty.unsigned = true;
                ty.serial = true;
            }
            T::BIT | T::BINARY | T::VECTOR => ty.length = self.opt_length()?,
            T::VARBINARY => ty.length = Some(self.required_length()?),
            T::BLOB | T::TEXT => {
                ty.length = self.opt_length()?;
                if word == T::TEXT {
                    self.string_attributes(&mut ty)?;
                }
            }
            T::TINYTEXT | T::MEDIUMTEXT | T::LONGTEXT => self.string_attributes(&mut ty)?,
            T::LONG => {
                if self.eat(T::VARBINARY) {
                    ty.name = N::MediumBlob;
                } else {
                    if self.at_any(&[T::CHAR, T::CHARACTER]) && self.peek() == T::VARYING {
                        self.bump();
                        self.bump();
                    } else if !self.eat(T::VARCHAR) {
                        self.eat(T::VARCHARACTER);
                    }
                    self.string_attributes(&mut ty)?;
                }
            }
            T::CHAR | T::CHARACTER => {
                if self.eat(T::VARYING) {
                    ty.name = N::Varchar;
                    ty.length = Some(self.required_length()?);
                } else {
                    ty.length = self.opt_length()?;
                }
                self.string_attributes(&mut ty)?;
            }
            T::VARCHAR | T::VARCHARACTER => {
                ty.length = Some(self.required_length()?);
                self.string_attributes(&mut ty)?;
            }
            T::NCHAR => {
                let varying = self.eat(T::VARCHAR) || self.eat(T::VARCHARACTER) || self.eat(T::VARYING);
                self.national(&mut ty, varying)?;
            }
            T::NVARCHAR => self.national(&mut ty, true)?,
            T::NATIONAL => {
                let first = self.expect_any(&[T::CHAR, T::CHARACTER, T::VARCHAR, T::VARCHARACTER])?;
                let varying = matches!(first, T::VARCHAR | T::VARCHARACTER) || self.eat(T::VARYING);
                self.national(&mut ty, varying)?;
            }
            T::ENUM | T::SET => {
                ty.members = self.paren_list(Self::text_string)?;
                self.string_attributes(&mut ty)?;
            }
            T::YEAR => {
                ty.length = self.opt_length()?;
                self.number_attributes(&mut ty);
            }
            T::TIME | T::TIMESTAMP | T::DATETIME => ty.length = self.opt_fraction()?,
            T::INT
            | T::INTEGER
            | T::INT4
            | T::TINYINT
            | T::INT1
            | T::SMALLINT
            | T::INT2
            | T::MEDIUMINT
            | T::INT3
            | T::MIDDLEINT
            | T::BIGINT
            | T::INT8 => {
                ty.length = self.opt_length()?;
                self.number_attributes(&mut ty);
            }
            T::REAL | T::DOUBLE | T::FLOAT8 | T::FLOAT4 => {
                if word == T::DOUBLE {
                    self.eat(T::PRECISION);
                }
                (ty.length, ty.decimals) = self.precision()?;
                if ty.length.is_some() && ty.decimals.is_none() && word != T::FLOAT4 {
                    return self.fail();
                }
                self.number_attributes(&mut ty);
            }
            T::FLOAT | T::DECIMAL | T::DEC | T::NUMERIC | T::FIXED => {
                (ty.length, ty.decimals) = self.precision()?;
                self.number_attributes(&mut ty);
            }
            _ => {}
        }
        Ok(ty)
    }

    fn required_length(&mut self) -> R<u64> {
        match self.opt_length()? {
            Some(length) => Ok(length),
            None => self.fail(),
        }
    }

    fn national(&mut self, ty: &mut DataType<'a>, varying: bool) -> R<()> {
        if varying {
            ty.name = TypeName::Varchar;
            ty.length = Some(self.required_length()?);
        } else {
            ty.name = TypeName::Char;
            ty.length = self.opt_length()?;
        }
        ty.charset = Some(b"utf8mb3");
        ty.binary = self.eat(T::BINARY);
        Ok(())
    }

    fn string_attributes(&mut self, ty: &mut DataType<'a>) -> R<()> {
        (ty.charset, ty.binary) = self.charset_with_binary()?;
        Ok(())
    }

    fn number_attributes(&mut self, ty: &mut DataType<'a>) {
        loop {
            match self.kind() {
                T::SIGNED => {}
                T::UNSIGNED => ty.unsigned = true,
                T::ZEROFILL => {
                    ty.zerofill = true;
                    ty.unsigned = true;
                }
                _ => return,
            }
            self.bump();
        }
    }

    // Columns.

    /// `name type attributes`.
    fn column_def(&mut self) -> R<&'a ColumnDef<'a>> {
        let name = self.ident()?;
        self.column_def_of(name)
    }

    fn column_def_of(&mut self, name: Ident<'a>) -> R<&'a ColumnDef<'a>> {
        let ty = self.data_type()?;
        let mut column = ColumnDef {
            name,
            ty,
            nullable: None,
            default: None,
            on_update: None,
            auto_increment: false,
            key: None,
            generated: None,
            comment: None,
            invisible: None,
            checks: &[],
            references: None,
            srid: None,
            column_format: None,
            storage: None,
            engine_attribute: None,
            secondary_engine_attribute: None,
            not_secondary: false,
        };
        if self.at(T::COLLATE) {
            self.bump();
            column.ty.collation = Some(self.collation_name()?);
        }
        if self.at(T::GENERATED) || self.at(T::AS) {
            if self.eat(T::GENERATED) {
                self.expect(T::ALWAYS)?;
            }
            self.expect_all(&[T::AS, T::LParen])?;
            let expr = self.expr()?;
            self.expect(T::RParen)?;
            let stored = self.at(T::STORED);
            if self.at_any(&[T::STORED, T::VIRTUAL]) {
                self.bump();
            }
            column.generated = Some(Generated { expr, stored });
        }
        let mut checks = self.list();
        while self.column_attribute(&mut column, &mut checks)? {}
        if self.at(T::REFERENCES) {
            let references = self.references()?;
            column.references = Some(self.alloc(references));
        }
        column.checks = checks.into_bump_slice();
        Ok(self.alloc(column))
    }

    fn column_attribute(
        &mut self,
        column: &mut ColumnDef<'a>,
        checks: &mut bumpalo::collections::Vec<'a, Check<'a>>,
    ) -> R<bool> {
        let generated = column.generated.is_some();
        match self.kind() {
            T::NULL => {
                self.bump();
                column.nullable = Some(true);
            }
            T::NOT => {
                self.bump();
                if !generated && self.eat(T::SECONDARY) {
                    column.not_secondary = true;
                } else {
                    self.expect(T::NULL)?;
                    column.nullable = Some(false);
                }
            }
            T::DEFAULT if !generated => {
                self.bump();
                column.default = Some(self.column_default()?);
            }
            T::ON if !generated => {
                self.bump();
                self.expect(T::UPDATE)?;
                column.on_update = Some(self.now_fraction()?);
            }
            T::AUTO_INCREMENT if !generated => {
                self.bump();
                column.auto_increment = true;
            }
            T::SERIAL if !generated => {
                self.bump();
                self.expect_all(&[T::DEFAULT, T::VALUE])?;
                column.auto_increment = true;
                column.nullable = Some(false);
                column.key = Some(ColumnKey::Unique);
            }
            T::PRIMARY => {
                self.bump();
                self.expect(T::KEY)?;
                column.key = Some(ColumnKey::Primary);
            }
            T::KEY => {
                self.bump();
                column.key = Some(ColumnKey::Primary);
            }
            T::UNIQUE => {
                self.bump();
                self.eat(T::KEY);
                // PRIMARY with UNIQUE keeps both in MySQL; the primary key is unique anyway.
                column.key.get_or_insert(ColumnKey::Unique);
            }
            T::COMMENT => {
                self.bump();
                column.comment = Some(self.string()?);
            }
            T::COLLATE => {
                self.bump();
                column.ty.collation = Some(self.collation_name()?);
            }
            T::COLUMN_FORMAT if !generated => {
                self.bump();
                column.column_format = Some(self.word_of(&[T::DEFAULT, T::FIXED, T::DYNAMIC])?);
            }
            T::STORAGE if !generated => {
                self.bump();
                column.storage = Some(self.word_of(&[T::DEFAULT, T::DISK, T::MEMORY])?);
            }
            T::SRID => {
                self.bump();
                column.srid = Some(self.whole_number()?);
            }
            T::VISIBLE | T::INVISIBLE => column.invisible = Some(self.bump().kind == T::INVISIBLE),
            T::ENGINE_ATTRIBUTE => {
                self.bump();
                self.eat(T::Eq);
                column.engine_attribute = Some(self.string()?);
            }
            T::SECONDARY_ENGINE_ATTRIBUTE => {
                self.bump();
                self.eat(T::Eq);
                column.secondary_engine_attribute = Some(self.string()?);
            }
            T::CONSTRAINT | T::CHECK => {
                let name =
                    if self.eat(T::CONSTRAINT) && !self.at(T::CHECK) { Some(self.ident()?) } else { None };
                checks.push(self.check(name, false)?);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// One of these words, as MySQL spells it.
    pub(super) fn word_of(&mut self, words: &[T]) -> R<&'static str> {
        Ok(self.expect_any(words)?.word())
    }

    fn column_default(&mut self) -> R<ColumnDefault<'a>> {
        if self.at(T::LParen) {
            self.bump();
            let expr = self.expr()?;
            self.expect(T::RParen)?;
            return Ok(ColumnDefault::Expr(expr));
        }
        if self.at_any(&[T::NOW, T::CURRENT_TIMESTAMP, T::LOCALTIME, T::LOCALTIMESTAMP]) {
            return Ok(ColumnDefault::Now(self.now_fraction()?));
        }
        Ok(ColumnDefault::Literal(self.signed_literal()?))
    }

    /// `NOW()` and its synonyms.
    fn now_fraction(&mut self) -> R<u64> {
        self.expect_any(&[T::NOW, T::CURRENT_TIMESTAMP, T::LOCALTIME, T::LOCALTIMESTAMP])?;
        if !self.eat(T::LParen) {
            return Ok(0);
        }
        let digits = if self.at(T::RParen) { 0 } else { self.integer()? };
        self.expect(T::RParen)?;
        Ok(digits)
    }

    fn check(&mut self, name: Option<Ident<'a>>, table_level: bool) -> R<Check<'a>> {
        self.expect_all(&[T::CHECK, T::LParen])?;
        let expr = self.expr()?;
        self.expect(T::RParen)?;
        let mut enforced = true;
        // MySQL's `NOT` is another token under HIGH_NOT_PRECEDENCE, and this place was forgotten there.
        if self.at(T::NOT)
            && !self.mode.has(SqlMode::HIGH_NOT_PRECEDENCE)
            && (table_level || self.peek() == T::ENFORCED)
        {
            self.bump();
            self.expect(T::ENFORCED)?;
            enforced = false;
        } else {
            self.eat(T::ENFORCED);
        }
        Ok(Check { name, expr, enforced })
    }

    fn references(&mut self) -> R<References<'a>> {
        self.expect(T::REFERENCES)?;
        let table = self.object_name()?;
        let columns = if self.at(T::LParen) { self.paren_list(Self::ident)? } else { &[] };
        let match_kind =
            if self.eat(T::MATCH) { Some(self.word_of(&[T::FULL, T::PARTIAL, T::SIMPLE])?) } else { None };
        let mut references = References { table, columns, match_kind, on_delete: None, on_update: None };
        while self.at(T::ON) {
            let what = self.peek();
            match what {
                T::DELETE if references.on_delete.is_none() => {
                    self.bump();
                    self.bump();
                    references.on_delete = Some(self.reference_action()?);
                }
                T::UPDATE if references.on_update.is_none() => {
                    self.bump();
                    self.bump();
                    references.on_update = Some(self.reference_action()?);
                }
                _ => {
                    self.bump();
                    return self.fail();
                }
            }
        }
        Ok(references)
    }

    fn reference_action(&mut self) -> R<ReferenceAction> {
        Ok(match self.expect_any(&[T::RESTRICT, T::CASCADE, T::SET, T::NO])? {
            T::RESTRICT => ReferenceAction::Restrict,
            T::CASCADE => ReferenceAction::Cascade,
            T::NO => {
                self.expect(T::ACTION)?;
                ReferenceAction::NoAction
            }
            _ => match self.expect_any(&[T::NULL, T::DEFAULT])? {
                T::NULL => ReferenceAction::SetNull,
                _ => ReferenceAction::SetDefault,
            },
        })
    }

    // Keys.

    /// A column, key or constraint of `CREATE TABLE`.
    fn table_element(&mut self) -> R<TableElement<'a>> {
        if let Some(element) = self.table_constraint()? {
            return Ok(element);
        }
        Ok(TableElement::Column(self.column_def()?))
    }

    fn table_constraint(&mut self) -> R<Option<TableElement<'a>>> {
        let constrained = self.at(T::CONSTRAINT);
        let mut constraint = None;
        if constrained {
            self.bump();
            if !self.at_any(&[T::PRIMARY, T::UNIQUE, T::FOREIGN, T::CHECK]) {
                constraint = Some(self.ident()?);
            }
        }
        let kind = match self.kind() {
            T::PRIMARY => KeyKind::Primary,
            T::UNIQUE => KeyKind::Unique,
            T::INDEX | T::KEY if !constrained => KeyKind::Index,
            T::FULLTEXT if !constrained => KeyKind::Fulltext,
            T::SPATIAL if !constrained => KeyKind::Spatial,
            T::CHECK => return Ok(Some(TableElement::Check(self.check(constraint, true)?))),
            T::FOREIGN => {
                self.bump();
                self.expect(T::KEY)?;
                let index = if self.at_ident() { Some(self.ident()?) } else { None };
                let columns = self.key_parts(false)?;
                let references = self.references()?;
                let key = ForeignKey { constraint, index, columns, references };
                return Ok(Some(TableElement::ForeignKey(self.alloc(key))));
            }
            _ if constrained => return self.fail(),
            _ => return Ok(None),
        };
        self.bump();
        match kind {
            KeyKind::Primary => {
                self.expect(T::KEY)?;
            }
            KeyKind::Unique | KeyKind::Fulltext | KeyKind::Spatial => {
                if !self.eat(T::KEY) {
                    self.eat(T::INDEX);
                }
            }
            KeyKind::Index => {}
        }
        let mut options = IndexOptions::default();
        let name = if self.at_ident() { Some(self.ident()?) } else { None };
        if !matches!(kind, KeyKind::Fulltext | KeyKind::Spatial) && self.at_any(&[T::USING, T::TYPE]) {
            self.index_algorithm(&mut options)?;
        }
        let parts = self.key_parts(true)?;
        self.index_options(kind, &mut options)?;
        let key = KeyDef { kind, name: name.or(constraint), parts, options };
        Ok(Some(TableElement::Key(self.alloc(key))))
    }

    fn index_algorithm(&mut self, options: &mut IndexOptions<'a>) -> R<()> {
        self.expect_any(&[T::USING, T::TYPE])?;
        options.algorithm = Some(match self.expect_any(&[T::BTREE, T::RTREE, T::HASH])? {
            T::BTREE => IndexAlgorithm::Btree,
            T::RTREE => IndexAlgorithm::Rtree,
            _ => IndexAlgorithm::Hash,
        });
        Ok(())
    }

    fn key_parts(&mut self, expressions: bool) -> R<&'a [KeyPart<'a>]> {
        self.paren_list(|p| {
            let target = if expressions && p.at(T::LParen) {
                p.bump();
                let expr = p.expr()?;
                p.expect(T::RParen)?;
                KeyTarget::Expr(expr)
            } else {
                let name = p.ident()?;
                let length = if p.eat(T::LParen) {
                    let length = p.integer()?;
                    p.expect(T::RParen)?;
                    Some(length)
                } else {
                    None
                };
                KeyTarget::Column(name, length)
            };
            let desc = match p.kind() {
                T::ASC => Some(false),
                T::DESC => Some(true),
                _ => None,
            };
            if desc.is_some() {
                p.bump();
            }
            Ok(KeyPart { target, desc })
        })
    }

    fn index_options(&mut self, kind: KeyKind, options: &mut IndexOptions<'a>) -> R<()> {
        loop {
            match self.kind() {
                T::USING | T::TYPE if !matches!(kind, KeyKind::Fulltext | KeyKind::Spatial) => {
                    self.index_algorithm(options)?;
                }
                T::KEY_BLOCK_SIZE => {
                    self.bump();
                    self.eat(T::Eq);
                    options.key_block_size = Some(self.whole_number()?);
                }
                T::COMMENT => {
                    self.bump();
                    options.comment = Some(self.string()?);
                }
                T::VISIBLE | T::INVISIBLE => options.invisible = Some(self.bump().kind == T::INVISIBLE),
                T::WITH if kind == KeyKind::Fulltext => {
                    self.bump();
                    self.expect(T::PARSER)?;
                    options.parser = Some(self.ident()?);
                }
                T::ENGINE_ATTRIBUTE => {
                    self.bump();
                    self.eat(T::Eq);
                    options.engine_attribute = Some(self.string()?);
                }
                T::SECONDARY_ENGINE_ATTRIBUTE => {
                    self.bump();
                    self.eat(T::Eq);
                    options.secondary_engine_attribute = Some(self.string()?);
                }
                _ => return Ok(()),
            }
        }
    }

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

    fn option_eq(&mut self) {
        self.bump();
        self.eat(T::Eq);
    }

    /// `DEFAULT` (`None`) or 0 or 1.
    fn ternary(&mut self) -> R<Option<u64>> {
        if self.eat(T::DEFAULT) {
            return Ok(None);
        }
        let place = self.tok.start;
        let value = self.number()?;
        if value > 1 { self.fail_at(place) } else { Ok(Some(value)) }
    }

    /// 1 to 65535.
    fn sample_pages(&mut self) -> R<u64> {
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

    fn table_option(&mut self) -> R<Option<TableOption<'a>>> {
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
    fn name_or_default(&mut self) -> R<Option<&'a [u8]>> {
        if self.eat(T::DEFAULT) { Ok(None) } else { Ok(Some(self.charset_name()?)) }
    }

    // Partitions: checked, kept as text.

    /// `PARTITION BY ...`.
    fn partitioning(&mut self) -> R<Partitioning> {
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

    fn bit_expr_only(&mut self) -> R<()> {
        self.expr().map(|_| ())
    }

    fn hash_or_key(&mut self) -> R<()> {
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

    fn partition_definitions(&mut self) -> R<()> {
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

    fn value_list(&mut self) -> R<()> {
        self.paren_list(|p| if p.eat(T::MAXVALUE) { Ok(()) } else { p.expr().map(|_| ()) })?;
        Ok(())
    }

    fn partition_options(&mut self) -> R<()> {
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

    // ALTER TABLE.

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
    fn alter_modifier(&mut self, alter: &mut AlterTable<'a>) -> R<bool> {
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

    fn word_or_default(&mut self) -> R<&'a [u8]> {
        if self.at(T::DEFAULT) {
            let token = self.bump();
            return Ok(self.text(token));
        }
        Ok(self.ident()?.text)
    }

    /// Names of partitions or `ALL`.
    fn all_or_partitions(&mut self) -> R<()> {
        if self.eat(T::ALL) {
            return Ok(());
        }
        self.idents().map(|_| ())
    }

    fn alone_action(&mut self, alter: &mut AlterTable<'a>) -> R<Option<AlterAction<'a>>> {
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

    fn place(&mut self) -> R<Option<ColumnPlace<'a>>> {
        if self.eat(T::FIRST) {
            return Ok(Some(ColumnPlace::First));
        }
        if self.eat(T::AFTER) {
            return Ok(Some(ColumnPlace::After(self.ident()?)));
        }
        Ok(None)
    }

    fn alter_action(&mut self) -> R<AlterAction<'a>> {
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

    fn alter_drop(&mut self) -> R<AlterAction<'a>> {
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

    fn alter_alter(&mut self) -> R<AlterAction<'a>> {
        self.bump();
        match self.kind() {
            T::INDEX => {
                self.bump();
                let name = self.ident()?;
                let invisible = self.expect_any(&[T::VISIBLE, T::INVISIBLE])? == T::INVISIBLE;
                Ok(AlterAction::SetIndexInvisible(name, invisible))
            }
            T::CHECK | T::CONSTRAINT => {
                self.bump();
                let name = self.ident()?;
                let enforced = self.mode.has(SqlMode::HIGH_NOT_PRECEDENCE) || !self.eat(T::NOT);
                self.expect(T::ENFORCED)?;
                Ok(AlterAction::SetEnforced(name, enforced))
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

    fn alter_rename(&mut self) -> R<AlterAction<'a>> {
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

    fn algorithm_and_lock(&mut self) -> R<AlgorithmAndLock<'a>> {
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

    fn database_options(&mut self, alter: bool) -> R<&'a [DatabaseOption<'a>]> {
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

    fn database_option_follows(&mut self) -> bool {
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
        if !view.alter {
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
