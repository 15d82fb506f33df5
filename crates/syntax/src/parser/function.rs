//! Expressions that begin with a word: functions with a syntax of their own, casts, `CASE`, `MATCH`.

use super::expr::plain_unit;
use super::{Parser, R};
use crate::SqlMode;
use crate::ast::*;
use crate::keywords::T;

const DAY: IntervalUnit = IntervalUnit::Day;

impl<'a> Parser<'a> {
    /// An expression that begins with a word.
    pub(super) fn word_expr(&mut self, kind: T) -> R<Expr<'a>> {
        let start = self.tok.start;
        // `SQL_TSI_DAY` is `DAY` in every place, the function `DAY()` included.
        let kind = if plain_unit(kind) != kind && self.peek() == T::LParen { plain_unit(kind) } else { kind };
        let paren = || usize::MAX;
        match kind {
            // Functions with fixed numbers of arguments, whose names are words.
            T::DAY
            | T::HOUR
            | T::MINUTE
            | T::MONTH
            | T::SECOND
            | T::YEAR
            | T::MICROSECOND
            | T::QUARTER
            | T::ASCII
            | T::CHARSET
            | T::COLLATION
            | T::REVERSE
                if self.peek() == T::LParen =>
            {
                self.word_call(1, 1)
            }
            T::DATE | T::TIME | T::TIMESTAMP => self.temporal_word(kind),
            T::LEFT | T::RIGHT | T::MOD => self.word_call(2, 2),
            T::REPEAT => self.word_call(2, 2),
            T::TRUNCATE if self.peek() == T::LParen => self.word_call(2, 2),
            T::IF | T::REPLACE => self.word_call(3, 3),
            T::INSERT => self.word_call(4, 4),
            T::FORMAT if self.peek() == T::LParen => self.word_call(2, 3),
            T::WEEK if self.peek() == T::LParen => self.word_call(1, 2),
            T::LOG if self.peek() == T::LParen => self.word_call(1, 2),
            T::COALESCE if self.peek() == T::LParen => self.word_call(1, paren()),
            T::POINT if self.peek() == T::LParen => self.word_call(2, 2),
            T::LINESTRING | T::POLYGON | T::MULTIPOINT | T::MULTILINESTRING | T::MULTIPOLYGON
                if self.peek() == T::LParen =>
            {
                self.word_call(1, paren())
            }
            T::GEOMETRYCOLLECTION | T::GEOMCOLLECTION if self.peek() == T::LParen => {
                self.word_call(0, paren())
            }
            T::DATABASE | T::SCHEMA => {
                self.bump();
                self.no_args()?;
                self.call_at(start, b"DATABASE", &[])
            }
            T::ROW_COUNT if self.peek() == T::LParen => self.word_call(0, 0),
            T::USER if self.peek() == T::LParen => {
                self.bump();
                self.no_args()?;
                self.call_at(start, b"USER", &[])
            }
            T::SESSION_USER | T::SYSTEM_USER => {
                self.bump();
                self.no_args()?;
                self.call_at(start, b"USER", &[])
            }
            T::CURRENT_USER => {
                self.bump();
                self.optional_no_args()?;
                self.call_at(start, b"CURRENT_USER", &[])
            }
            T::CURRENT_DATE | T::UTC_DATE => {
                self.bump();
                self.optional_no_args()?;
                self.call_at(start, if kind == T::UTC_DATE { b"UTC_DATE" } else { b"CURDATE" }, &[])
            }
            T::CURDATE => {
                self.bump();
                self.no_args()?;
                self.call_at(start, b"CURDATE", &[])
            }
            T::NOW | T::CURRENT_TIMESTAMP | T::LOCALTIME | T::LOCALTIMESTAMP => {
                let args = self.fraction_args()?;
                self.call_at(start, b"NOW", args)
            }
            T::CURTIME | T::CURRENT_TIME => {
                let args = self.fraction_args()?;
                self.call_at(start, b"CURTIME", args)
            }
            T::UTC_TIME => {
                let args = self.fraction_args()?;
                self.call_at(start, b"UTC_TIME", args)
            }
            T::UTC_TIMESTAMP => {
                let args = self.fraction_args()?;
                self.call_at(start, b"UTC_TIMESTAMP", args)
            }
            T::SYSDATE => {
                let args = self.fraction_args()?;
                self.call_at(start, b"SYSDATE", args)
            }
            T::INTERVAL => self.interval_expr(),
            T::CASE => self.case_expr(),
            T::CAST => self.cast(),
            T::CONVERT => self.convert(),
            T::EXISTS => {
                self.bump();
                let query = self.subquery()?;
                self.grow()?;
                Ok(self.make(start, ExprKind::Exists(query)))
            }
            T::ROW => {
                self.bump();
                self.expect(T::LParen)?;
                let first = self.expr()?;
                if !self.at(T::Comma) {
                    return self.fail();
                }
                self.row_or_paren(start, first)
            }
            T::DEFAULT => {
                self.bump();
                self.expect(T::LParen)?;
                let column = self.column_ref()?;
                self.expect(T::RParen)?;
                Ok(self.make(start, ExprKind::DefaultOf(self.alloc(column))))
            }
            T::VALUES => {
                self.bump();
                self.expect(T::LParen)?;
                let column = self.column_ref()?;
                self.expect(T::RParen)?;
                Ok(self.make(start, ExprKind::ValuesOf(self.alloc(column))))
            }
            T::MATCH => self.match_expr(),
            T::ADDDATE | T::SUBDATE | T::DATE_ADD | T::DATE_SUB => self.date_add(kind),
            T::EXTRACT => {
                self.bump();
                self.expect(T::LParen)?;
                let unit = self.interval_unit()?;
                self.expect(T::FROM)?;
                let expr = self.expr_ref()?;
                self.expect(T::RParen)?;
                self.grow()?;
                Ok(self.make(start, ExprKind::Extract { unit, expr }))
            }
            T::TIMESTAMPADD | T::TIMESTAMPDIFF if self.peek() == T::LParen => self.timestamp_function(kind),
            T::GET_FORMAT if self.peek() == T::LParen => {
                self.bump();
                self.bump();
                let kind = match self.expect_any(&[T::DATE, T::TIME, T::DATETIME, T::TIMESTAMP])? {
                    T::DATE => TemporalKind::Date,
                    T::TIME => TemporalKind::Time,
                    _ => TemporalKind::DateTime,
                };
                self.expect(T::Comma)?;
                let expr = self.expr_ref()?;
                self.expect(T::RParen)?;
                self.grow()?;
                Ok(self.make(start, ExprKind::GetFormat { kind, expr }))
            }
            T::POSITION => {
                self.bump();
                self.expect(T::LParen)?;
                let needle = self.bit_expr(None, 0)?;
                self.expect(T::IN)?;
                let hay = self.expr()?;
                self.expect(T::RParen)?;
                self.grow()?;
                self.call_at(start, b"LOCATE", &[needle, hay])
            }
            T::SUBSTRING | T::SUBSTR | T::MID => self.substring(),
            T::TRIM => self.trim(),
            T::CHAR | T::CHARACTER => self.char_function(),
            T::WEIGHT_STRING if self.peek() == T::LParen => self.weight_string(),
            T::JSON_VALUE if self.peek() == T::LParen => self.json_value(),
            T::GROUPING => {
                self.bump();
                let args = self.paren_list(Self::expr)?;
                self.grow()?;
                Ok(self.make(start, ExprKind::Grouping(args)))
            }
            T::AVG if self.peek() == T::LParen => self.aggregate(AggregateFunc::Avg),
            T::COUNT => self.aggregate(AggregateFunc::Count),
            T::SUM => self.aggregate(AggregateFunc::Sum),
            T::MIN => self.aggregate(AggregateFunc::Min),
            T::MAX => self.aggregate(AggregateFunc::Max),
            T::BIT_AND => self.aggregate(AggregateFunc::BitAnd),
            T::BIT_OR => self.aggregate(AggregateFunc::BitOr),
            T::BIT_XOR => self.aggregate(AggregateFunc::BitXor),
            T::STD | T::STDDEV | T::STDDEV_POP => self.aggregate(AggregateFunc::StdPop),
            T::STDDEV_SAMP => self.aggregate(AggregateFunc::StdSamp),
            T::VARIANCE | T::VAR_POP => self.aggregate(AggregateFunc::VarPop),
            T::VAR_SAMP => self.aggregate(AggregateFunc::VarSamp),
            T::GROUP_CONCAT => self.aggregate(AggregateFunc::GroupConcat),
            T::JSON_ARRAYAGG => self.aggregate(AggregateFunc::JsonArrayAgg),
            T::JSON_OBJECTAGG => self.aggregate(AggregateFunc::JsonObjectAgg),
            T::ST_COLLECT => self.aggregate(AggregateFunc::StCollect),
            T::ROW_NUMBER => self.window_call(WindowFunc::RowNumber),
            T::RANK => self.window_call(WindowFunc::Rank),
            T::DENSE_RANK => self.window_call(WindowFunc::DenseRank),
            T::CUME_DIST => self.window_call(WindowFunc::CumeDist),
            T::PERCENT_RANK => self.window_call(WindowFunc::PercentRank),
            T::NTILE => self.window_call(WindowFunc::Ntile),
            T::LEAD => self.window_call(WindowFunc::Lead),
            T::LAG => self.window_call(WindowFunc::Lag),
            T::FIRST_VALUE => self.window_call(WindowFunc::FirstValue),
            T::LAST_VALUE => self.window_call(WindowFunc::LastValue),
            T::NTH_VALUE => self.window_call(WindowFunc::NthValue),
            _ if kind.is_free_word() => {
                // A word that is no reserved one is a column, but never the name of a loadable function.
                let first = self.ident()?;
                if self.at(T::Dot) {
                    return self.qualified(start, first);
                }
                let column = self.alloc(ColumnRef { schema: None, table: None, name: first });
                self.column_tail(start, column)
            }
            _ => self.fail(),
        }
    }

    /// `word(args)` with the word, in upper case, as the function's name.
    #[inline(never)]
    pub(super) fn word_call(&mut self, min: usize, max: usize) -> R<Expr<'a>> {
        let mut word = self.bump();
        word.kind = plain_unit(word.kind);
        let args = self.fixed_args(min, max)?;
        let call = FunctionCall {
            name: ObjectName {
                schema: None,
                name: Ident { text: word.kind.word().as_bytes(), span: word.span() },
            },
            args,
            arg_aliases: &[],
        };
        Ok(self.make(word.start, ExprKind::Function(self.alloc(call))))
    }

    pub(super) fn no_args(&mut self) -> R<()> {
        self.expect_all(&[T::LParen, T::RParen])
    }

    pub(super) fn optional_no_args(&mut self) -> R<()> {
        if self.eat(T::LParen) {
            self.expect(T::RParen)?;
        }
        Ok(())
    }

    /// The word, then nothing, `()` or `(digits)`.
    pub(super) fn fraction_args(&mut self) -> R<&'a [Expr<'a>]> {
        self.bump();
        if !self.eat(T::LParen) {
            return Ok(&[]);
        }
        if self.eat(T::RParen) {
            return Ok(&[]);
        }
        if !self.at(T::Integer) {
            return self.fail();
        }
        let arg = self.primary()?;
        self.expect(T::RParen)?;
        Ok(std::slice::from_ref(self.alloc(arg)))
    }

    /// `DATE '...'`, `DATE(x)`, or a column of that name.
    #[inline(never)]
    pub(super) fn temporal_word(&mut self, word: T) -> R<Expr<'a>> {
        let start = self.tok.start;
        match self.peek() {
            T::Str => {
                self.bump();
                let value = self.string()?;
                let kind = match word {
                    T::DATE => TemporalKind::Date,
                    T::TIME => TemporalKind::Time,
                    _ => TemporalKind::DateTime,
                };
                Ok(self.make(start, ExprKind::Literal(Literal::Temporal { kind, value })))
            }
            T::LParen => self.word_call(1, if word == T::TIMESTAMP { 2 } else { 1 }),
            _ => {
                let first = self.ident()?;
                if self.at(T::Dot) {
                    return self.qualified(start, first);
                }
                let column = self.alloc(ColumnRef { schema: None, table: None, name: first });
                self.column_tail(start, column)
            }
        }
    }

    /// `INTERVAL n DAY + date`, or the function `INTERVAL(n, a, b)`.
    #[inline(never)]
    pub(super) fn interval_expr(&mut self) -> R<Expr<'a>> {
        let start = self.bump().start;
        let interval = match self.interval_or_call(start, false)? {
            Ok(call) => return Ok(call),
            Err(interval) => interval,
        };
        let unit = self.interval_unit()?;
        self.expect(T::Plus)?;
        // The date is a whole expression in the grammar, and `+` ends at the first operator not tighter.
        self.enter()?;
        let date = self.bit_expr(None, 4)?;
        self.leave();
        self.grow()?;
        let kind = ExprKind::DateArith {
            date: self.alloc(date),
            interval: self.alloc(interval),
            unit,
            subtract: false,
        };
        Ok(self.make(start, kind))
    }

    #[inline(never)]
    pub(super) fn case_expr(&mut self) -> R<Expr<'a>> {
        let start = self.bump().start;
        let operand = if self.at(T::WHEN) { None } else { Some(self.expr()?) };
        let mut whens = self.list();
        if !self.at(T::WHEN) {
            return self.fail();
        }
        while self.eat(T::WHEN) {
            let when = self.expr()?;
            self.expect(T::THEN)?;
            whens.push((when, self.expr()?));
        }
        let otherwise = if self.eat(T::ELSE) { Some(self.expr()?) } else { None };
        self.expect(T::END)?;
        self.grow()?;
        let case = Case { operand, whens: whens.into_bump_slice(), otherwise };
        Ok(self.make(start, ExprKind::Case(self.alloc(case))))
    }

    #[inline(never)]
    pub(super) fn cast(&mut self) -> R<Expr<'a>> {
        let start = self.bump().start;
        self.expect(T::LParen)?;
        let expr = self.expr()?;
        let mut at_time_zone = None;
        if self.eat(T::AT) {
            if self.eat(T::LOCAL) {
                self.expect(T::AS)?;
                self.cast_type()?;
                self.eat(T::ARRAY);
                self.expect(T::RParen)?;
                return self.fail_with(1235, "42000", "This version of MySQL doesn't yet support 'AT LOCAL'");
            }
            self.expect_all(&[T::TIME, T::ZONE])?;
            self.eat(T::INTERVAL);
            at_time_zone = Some(self.string()?);
            self.expect(T::AS)?;
            if !self.at(T::DATETIME) {
                return self.fail();
            }
        } else {
            self.expect(T::AS)?;
        }
        let to = self.cast_type()?;
        let array = at_time_zone.is_none() && self.eat(T::ARRAY);
        self.expect(T::RParen)?;
        self.grow()?;
        Ok(self.make(start, ExprKind::Cast(self.alloc(Cast { expr, to, array, at_time_zone }))))
    }

    #[inline(never)]
    pub(super) fn convert(&mut self) -> R<Expr<'a>> {
        let start = self.bump().start;
        self.expect(T::LParen)?;
        let expr = self.expr()?;
        self.grow()?;
        if self.eat(T::USING) {
            let charset = self.charset_name()?;
            self.expect(T::RParen)?;
            return Ok(self.make(start, ExprKind::ConvertUsing { expr: self.alloc(expr), charset }));
        }
        self.expect(T::Comma)?;
        let to = self.cast_type()?;
        self.expect(T::RParen)?;
        let cast = Cast { expr, to, array: false, at_time_zone: None };
        Ok(self.make(start, ExprKind::Cast(self.alloc(cast))))
    }

    /// `(n)` or nothing.
    pub(super) fn opt_length(&mut self) -> R<Option<u64>> {
        if !self.eat(T::LParen) {
            return Ok(None);
        }
        let length = self.number_in_parens()?;
        self.expect(T::RParen)?;
        Ok(Some(length))
    }

    pub(super) fn number_in_parens(&mut self) -> R<u64> {
        if self.at_any(&[T::Integer, T::Decimal]) { self.number() } else { self.fail() }
    }

    pub(super) fn cast_type(&mut self) -> R<CastType<'a>> {
        let kind = self.tok.kind;
        Ok(match kind {
            T::BINARY => {
                self.bump();
                CastType::Binary(self.opt_length()?)
            }
            T::CHAR | T::CHARACTER => {
                self.bump();
                let length = self.opt_length()?;
                let (charset, binary) = self.charset_with_binary()?;
                CastType::Char { length, charset, binary }
            }
            T::NCHAR => {
                self.bump();
                CastType::Char { length: self.opt_length()?, charset: Some(b"utf8mb3"), binary: false }
            }
            T::NATIONAL => {
                self.bump();
                self.expect_any(&[T::CHAR, T::CHARACTER])?;
                CastType::Char { length: self.opt_length()?, charset: Some(b"utf8mb3"), binary: false }
            }
            T::SIGNED => {
                self.bump();
                let _ = self.eat(T::INT) || self.eat(T::INTEGER);
                CastType::Signed
            }
            T::UNSIGNED => {
                self.bump();
                let _ = self.eat(T::INT) || self.eat(T::INTEGER);
                CastType::Unsigned
            }
            T::DATE => {
                self.bump();
                CastType::Date
            }
            T::YEAR => {
                self.bump();
                CastType::Year
            }
            T::TIME => {
                self.bump();
                CastType::Time(self.opt_fraction()?)
            }
            T::DATETIME => {
                self.bump();
                CastType::DateTime(self.opt_fraction()?)
            }
            T::DECIMAL | T::DEC | T::NUMERIC | T::FIXED => {
                if matches!(kind, T::NUMERIC | T::FIXED) {
                    return self.fail();
                }
                self.bump();
                let (precision, scale) = self.precision()?;
                CastType::Decimal { precision, scale }
            }
            T::JSON => {
                self.bump();
                CastType::Json
            }
            T::FLOAT => {
                self.bump();
                CastType::Float(self.opt_length()?)
            }
            T::DOUBLE => {
                self.bump();
                self.eat(T::PRECISION);
                CastType::Double
            }
            T::REAL => {
                self.bump();
                if self.mode.has(SqlMode::REAL_AS_FLOAT) { CastType::Float(None) } else { CastType::Double }
            }
            T::POINT
            | T::LINESTRING
            | T::POLYGON
            | T::MULTIPOINT
            | T::MULTILINESTRING
            | T::MULTIPOLYGON
            | T::GEOMETRYCOLLECTION
            | T::GEOMCOLLECTION => {
                self.bump();
                CastType::Spatial(kind.word())
            }
            _ => return self.fail(),
        })
    }

    /// `(digits)` or nothing, only plain integers.
    pub(super) fn opt_fraction(&mut self) -> R<Option<u64>> {
        if !self.eat(T::LParen) {
            return Ok(None);
        }
        let digits = self.integer()?;
        self.expect(T::RParen)?;
        Ok(Some(digits))
    }

    /// `(precision[, scale])` or nothing.
    pub(super) fn precision(&mut self) -> R<(Option<u64>, Option<u64>)> {
        if !self.eat(T::LParen) {
            return Ok((None, None));
        }
        let precision = self.number_in_parens()?;
        let scale = if self.eat(T::Comma) { Some(self.integer()?) } else { None };
        self.expect(T::RParen)?;
        Ok((Some(precision), scale))
    }

    /// Character set of a string type: its name and whether `BINARY` was written.
    pub(super) fn charset_with_binary(&mut self) -> R<(Option<&'a [u8]>, bool)> {
        let mut charset: Option<&'a [u8]> = None;
        let mut binary = false;
        match self.kind() {
            T::ASCII | T::UNICODE => {
                charset = Some(if self.bump().kind == T::ASCII { b"latin1" } else { b"ucs2" });
                binary = self.eat(T::BINARY);
            }
            T::BYTE => {
                self.bump();
                charset = Some(b"binary");
            }
            T::CHARACTER | T::CHAR | T::CHARSET => {
                self.eat_charset_words()?;
                charset = Some(self.charset_name()?);
                binary = self.eat(T::BINARY);
            }
            T::BINARY => {
                self.bump();
                binary = true;
                match self.kind() {
                    T::ASCII => {
                        self.bump();
                        charset = Some(b"latin1");
                    }
                    T::UNICODE => {
                        self.bump();
                        charset = Some(b"ucs2");
                    }
                    T::CHARACTER | T::CHAR | T::CHARSET => {
                        self.eat_charset_words()?;
                        charset = Some(self.charset_name()?);
                    }
                    _ => {}
                }
            }
            _ => {}
        }
        Ok((charset, binary))
    }

    #[inline(never)]
    pub(super) fn match_expr(&mut self) -> R<Expr<'a>> {
        let start = self.bump().start;
        let columns = if self.at(T::LParen) {
            self.paren_list(Self::column_ref)?
        } else {
            self.comma_list(Self::column_ref)?
        };
        self.expect_all(&[T::AGAINST, T::LParen])?;
        let against = self.bit_expr(None, 0)?;
        let mut mode = MatchMode::Natural;
        if self.eat(T::IN) {
            if self.eat(T::BOOLEAN) {
                mode = MatchMode::Boolean;
            } else {
                self.expect_all(&[T::NATURAL, T::LANGUAGE])?;
            }
            self.expect(T::MODE)?;
        }
        if mode == MatchMode::Natural && self.eat(T::WITH) {
            self.expect_all(&[T::QUERY, T::EXPANSION])?;
            mode = MatchMode::NaturalExpansion;
        }
        self.expect(T::RParen)?;
        self.grow()?;
        Ok(self.make(start, ExprKind::Match(self.alloc(Match { columns, against, mode }))))
    }

    #[inline(never)]
    pub(super) fn date_add(&mut self, word: T) -> R<Expr<'a>> {
        let start = self.bump().start;
        self.expect(T::LParen)?;
        let date = self.expr_ref()?;
        self.expect(T::Comma)?;
        let subtract = matches!(word, T::SUBDATE | T::DATE_SUB);
        let plain_days = matches!(word, T::ADDDATE | T::SUBDATE);
        let (interval, unit) = if self.at(T::INTERVAL) {
            let interval_start = self.bump().start;
            match self.interval_or_call(interval_start, true)? {
                Ok(call) if plain_days => (self.expr_from_call(call)?, DAY),
                Ok(_) => return self.fail(),
                Err(interval) => (interval, self.interval_unit()?),
            }
        } else if plain_days {
            (self.expr()?, DAY)
        } else {
            return self.fail();
        };
        self.expect(T::RParen)?;
        self.grow()?;
        let kind = ExprKind::DateArith { date, interval: self.alloc(interval), unit, subtract };
        Ok(self.make(start, kind))
    }

    pub(super) fn expr_from_call(&mut self, call: Expr<'a>) -> R<Expr<'a>> {
        let call = self.simple_tail(call)?;
        self.expr_from(Some(call))
    }

    #[inline(never)]
    pub(super) fn timestamp_function(&mut self, word: T) -> R<Expr<'a>> {
        let start = self.bump().start;
        self.expect(T::LParen)?;
        let unit = self.timestamp_unit()?;
        self.expect(T::Comma)?;
        let first = self.expr_ref()?;
        self.expect(T::Comma)?;
        let second = self.expr_ref()?;
        self.expect(T::RParen)?;
        self.grow()?;
        let kind = if word == T::TIMESTAMPADD {
            ExprKind::DateArith { date: second, interval: first, unit, subtract: false }
        } else {
            ExprKind::TimestampDiff { unit, from: first, to: second }
        };
        Ok(self.make(start, kind))
    }

    #[inline(never)]
    pub(super) fn substring(&mut self) -> R<Expr<'a>> {
        let start = self.bump().start;
        self.expect(T::LParen)?;
        let text = self.expr()?;
        let from_for = self.at(T::FROM);
        if !from_for && !self.at(T::Comma) {
            return self.fail();
        }
        self.bump();
        let from = self.expr()?;
        let mut args = self.list();
        args.push(text);
        args.push(from);
        if self.eat(if from_for { T::FOR } else { T::Comma }) {
            args.push(self.expr()?);
        }
        self.expect(T::RParen)?;
        self.grow()?;
        self.call_at(start, b"SUBSTRING", &args)
    }

    #[inline(never)]
    pub(super) fn trim(&mut self) -> R<Expr<'a>> {
        let start = self.bump().start;
        self.expect(T::LParen)?;
        let mut remove = None;
        let side = match self.kind() {
            T::LEADING => TrimSide::Leading,
            T::TRAILING => TrimSide::Trailing,
            _ => TrimSide::Both,
        };
        let expr;
        if self.at_any(&[T::LEADING, T::TRAILING, T::BOTH]) {
            self.bump();
            if !self.at(T::FROM) {
                remove = Some(self.expr_ref()?);
            }
            self.expect(T::FROM)?;
            expr = self.expr_ref()?;
        } else {
            let first = self.expr_ref()?;
            if self.eat(T::FROM) {
                remove = Some(first);
                expr = self.expr_ref()?;
            } else {
                expr = first;
            }
        }
        self.expect(T::RParen)?;
        self.grow()?;
        Ok(self.make(start, ExprKind::Trim { side, remove, expr }))
    }

    #[inline(never)]
    pub(super) fn char_function(&mut self) -> R<Expr<'a>> {
        let start = self.bump().start;
        self.expect(T::LParen)?;
        let args = self.exprs()?;
        let charset = if self.eat(T::USING) { Some(self.charset_name()?) } else { None };
        self.expect(T::RParen)?;
        self.grow()?;
        Ok(self.make(start, ExprKind::Char { args, charset }))
    }

    #[inline(never)]
    pub(super) fn weight_string(&mut self) -> R<Expr<'a>> {
        let start = self.bump().start;
        self.expect(T::LParen)?;
        let expr = self.expr_ref()?;
        let mut binary = false;
        let mut length = None;
        if self.eat(T::AS) {
            binary = self.expect_any(&[T::CHAR, T::CHARACTER, T::BINARY])? == T::BINARY;
            self.expect(T::LParen)?;
            length = Some(self.whole_number()?);
            self.expect(T::RParen)?;
        } else if self.eat(T::Comma) {
            for position in 0..3 {
                if position > 0 {
                    self.expect(T::Comma)?;
                }
                self.number()?;
            }
        }
        self.expect(T::RParen)?;
        self.grow()?;
        Ok(self.make(start, ExprKind::WeightString { expr, binary, length }))
    }

    #[inline(never)]
    pub(super) fn json_value(&mut self) -> R<Expr<'a>> {
        let start = self.bump().start;
        self.expect(T::LParen)?;
        let doc = self.simple_expr()?;
        self.expect(T::Comma)?;
        let path = self.text_literal()?;
        let returning = if self.eat(T::RETURNING) { Some(self.cast_type()?) } else { None };
        let (on_empty, on_error) = self.on_empty_or_error()?;
        self.expect(T::RParen)?;
        self.grow()?;
        let value = JsonValue { doc, path, returning, on_empty, on_error };
        Ok(self.make(start, ExprKind::JsonValue(self.alloc(value))))
    }

    /// A string with introducer or adjacent strings where only a string may stand.
    pub(super) fn text_literal(&mut self) -> R<&'a [u8]> {
        let expr = match self.kind() {
            T::Str | T::NStr => self.string_expr(None)?,
            T::Introducer if self.peek() == T::Str => self.introduced()?,
            _ => return self.fail(),
        };
        match expr.kind {
            ExprKind::Literal(Literal::String { value, .. }) => Ok(value),
            _ => self.fail(),
        }
    }

    /// `... ON EMPTY ... ON ERROR`, each optional.
    pub(super) fn on_empty_or_error(&mut self) -> R<(Option<JsonOn<'a>>, Option<JsonOn<'a>>)> {
        let mut on_empty = None;
        let mut on_error = None;
        while on_error.is_none() {
            let what = match self.kind() {
                T::NULL => {
                    self.bump();
                    JsonOn::Null
                }
                T::ERROR => {
                    self.bump();
                    JsonOn::Error
                }
                T::DEFAULT => {
                    self.bump();
                    JsonOn::Default(self.signed_literal()?)
                }
                _ => break,
            };
            self.expect(T::ON)?;
            if on_empty.is_none() && self.eat(T::EMPTY) {
                on_empty = Some(what);
            } else {
                self.expect(T::ERROR)?;
                on_error = Some(what);
            }
        }
        Ok((on_empty, on_error))
    }

    /// As [`Parser::on_empty_or_error`]; that of errors may come first.
    pub(super) fn answers_in_any_order(&mut self) -> R<(Option<JsonOn<'a>>, Option<JsonOn<'a>>)> {
        let (on_empty, on_error) = self.on_empty_or_error()?;
        if on_empty.is_none() && on_error.is_some() && self.at_any(&[T::NULL, T::ERROR, T::DEFAULT]) {
            let (on_empty, other) = self.on_empty_or_error()?;
            return if other.is_some() { self.fail() } else { Ok((on_empty, on_error)) };
        }
        Ok((on_empty, on_error))
    }

    /// A literal, perhaps with a sign before a number.
    pub(super) fn signed_literal(&mut self) -> R<Expr<'a>> {
        match self.kind() {
            T::Minus | T::Plus => {
                let sign = self.bump();
                if !self.at_any(&[T::Integer, T::Decimal, T::Float]) {
                    return self.fail();
                }
                let number = self.primary()?;
                let op = if sign.kind == T::Minus { UnaryOp::Neg } else { UnaryOp::Plus };
                let kind = ExprKind::Unary { op, expr: self.alloc(number) };
                Ok(self.make(sign.start, kind))
            }
            T::DATE | T::TIME | T::TIMESTAMP if self.peek() == T::Str => self.primary(),
            T::Integer
            | T::Decimal
            | T::Float
            | T::Str
            | T::NStr
            | T::Introducer
            | T::Hex
            | T::HexStr
            | T::Bin
            | T::BinStr
            | T::NULL
            | T::TRUE
            | T::FALSE => self.primary(),
            _ => self.fail(),
        }
    }
}
