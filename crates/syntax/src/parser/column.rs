//! Column types, columns, keys and constraints.

use super::{Parser, R};
use crate::SqlMode;
use crate::ast::*;
use crate::keywords::T;

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

    pub(super) fn required_length(&mut self) -> R<u64> {
        match self.opt_length()? {
            Some(length) => Ok(length),
            None => self.fail(),
        }
    }

    pub(super) fn national(&mut self, ty: &mut DataType<'a>, varying: bool) -> R<()> {
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

    pub(super) fn string_attributes(&mut self, ty: &mut DataType<'a>) -> R<()> {
        (ty.charset, ty.binary) = self.charset_with_binary()?;
        Ok(())
    }

    pub(super) fn number_attributes(&mut self, ty: &mut DataType<'a>) {
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
    pub(super) fn column_def(&mut self) -> R<&'a ColumnDef<'a>> {
        let name = self.ident()?;
        self.column_def_of(name)
    }

    pub(super) fn column_def_of(&mut self, name: Ident<'a>) -> R<&'a ColumnDef<'a>> {
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

    pub(super) fn column_attribute(
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
            T::DEFAULT => {
                self.bump();
                column.default = Some(self.column_default()?);
            }
            T::ON => {
                self.bump();
                self.expect(T::UPDATE)?;
                column.on_update = Some(self.now_fraction()?);
            }
            T::AUTO_INCREMENT => {
                self.bump();
                column.auto_increment = true;
            }
            T::SERIAL => {
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

    pub(super) fn column_default(&mut self) -> R<ColumnDefault<'a>> {
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
    pub(super) fn now_fraction(&mut self) -> R<u64> {
        self.expect_any(&[T::NOW, T::CURRENT_TIMESTAMP, T::LOCALTIME, T::LOCALTIMESTAMP])?;
        if !self.eat(T::LParen) {
            return Ok(0);
        }
        let digits = if self.at(T::RParen) { 0 } else { self.integer()? };
        self.expect(T::RParen)?;
        Ok(digits)
    }

    pub(super) fn check(&mut self, name: Option<Ident<'a>>, table_level: bool) -> R<Check<'a>> {
        self.expect_all(&[T::CHECK, T::LParen])?;
        let expr = self.expr()?;
        self.expect(T::RParen)?;
        let mut enforced = true;
        // MySQL's `NOT` is another token under HIGH_NOT_PRECEDENCE, and MySQL's grammar does not accept it here.
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

    pub(super) fn references(&mut self) -> R<References<'a>> {
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

    pub(super) fn reference_action(&mut self) -> R<ReferenceAction> {
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
    pub(super) fn table_element(&mut self) -> R<TableElement<'a>> {
        if let Some(element) = self.table_constraint()? {
            return Ok(element);
        }
        Ok(TableElement::Column(self.column_def()?))
    }

    pub(super) fn table_constraint(&mut self) -> R<Option<TableElement<'a>>> {
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

    pub(super) fn index_algorithm(&mut self, options: &mut IndexOptions<'a>) -> R<()> {
        self.expect_any(&[T::USING, T::TYPE])?;
        options.algorithm = Some(match self.expect_any(&[T::BTREE, T::RTREE, T::HASH])? {
            T::BTREE => IndexAlgorithm::Btree,
            T::RTREE => IndexAlgorithm::Rtree,
            _ => IndexAlgorithm::Hash,
        });
        Ok(())
    }

    pub(super) fn key_parts(&mut self, expressions: bool) -> R<&'a [KeyPart<'a>]> {
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

    pub(super) fn index_options(&mut self, kind: KeyKind, options: &mut IndexOptions<'a>) -> R<()> {
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
}
