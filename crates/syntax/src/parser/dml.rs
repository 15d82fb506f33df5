//! Statements that change rows, and `VALUES`.

use super::{Parser, R};
use crate::SqlMode;
use crate::ast::*;
use crate::keywords::T;

impl<'a> Parser<'a> {
    /// `INSERT` or `REPLACE`.
    pub(super) fn insert(&mut self) -> R<Statement<'a>> {
        let replace = self.at(T::REPLACE);
        let hints = self.hints_after();
        let priority = match self.kind() {
            T::LOW_PRIORITY => Some(Priority::Low),
            T::DELAYED => Some(Priority::Delayed),
            T::HIGH_PRIORITY if !replace => Some(Priority::High),
            _ => None,
        };
        if priority.is_some() {
            self.bump();
        }
        let ignore = !replace && self.eat(T::IGNORE);
        self.eat(T::INTO);
        let table = self.object_name()?;
        let partitions = self.opt_partitions()?;
        let mut insert = Insert {
            replace,
            priority,
            ignore,
            hints,
            table,
            partitions,
            columns: None,
            source: InsertSource::Values(self.alloc(self.no_rows())),
            row_alias: None,
            on_duplicate: &[],
            repeats_columns: false,
        };
        if self.eat(T::SET) {
            let mut columns = self.list();
            let mut values = CellBuffer::new(self);
            loop {
                columns.push(self.column_ref()?);
                self.equals()?;
                values.push(self)?;
                if !self.eat(T::Comma) {
                    break;
                }
            }
            insert.columns = Some(columns.into_bump_slice());
            let rows = values.finish(self, 1);
            insert.source = InsertSource::Values(self.alloc(rows));
            insert.row_alias = self.row_alias(replace)?;
        } else {
            if self.at(T::LParen) && !self.paren_is_query() {
                self.bump();
                insert.columns =
                    Some(if self.at(T::RParen) { &[] } else { self.comma_list(Self::column_ref)? });
                self.expect(T::RParen)?;
            }
            match self.kind() {
                T::VALUES | T::VALUE => {
                    let row_word = self.bump().kind == T::VALUES && self.at(T::ROW);
                    let rows = self.value_lists(row_word)?;
                    insert.source = InsertSource::Values(self.alloc(rows));
                    insert.row_alias = self.row_alias(replace)?;
                }
                _ if self.at_query() => {
                    insert.source = InsertSource::Query(self.query_expression()?);
                }
                _ => return self.fail(),
            }
        }
        if !replace && self.eat(T::ON) {
            self.expect_all(&[T::DUPLICATE, T::KEY, T::UPDATE])?;
            insert.on_duplicate = self.assignments()?;
        }
        Ok(Statement::Insert(self.alloc(insert)))
    }

    /// `(` begins a query, not a list of columns.
    fn paren_is_query(&mut self) -> bool {
        if self.peek() != T::LParen {
            return matches!(self.peek(), T::SELECT | T::WITH | T::TABLE | T::VALUES);
        }
        true
    }

    fn row_alias(&mut self, replace: bool) -> R<Option<RowAlias<'a>>> {
        if replace || !self.eat(T::AS) {
            return Ok(None);
        }
        let name = self.ident()?;
        let columns = if self.at(T::LParen) { self.paren_list(Self::ident)? } else { &[] };
        Ok(Some(RowAlias { name, columns }))
    }

    pub(super) fn assignments(&mut self) -> R<&'a [Assignment<'a>]> {
        self.comma_list(|p| {
            let column = p.column_ref()?;
            p.equals()?;
            Ok(Assignment { column, value: p.expr_or_default()? })
        })
    }

    /// An expression or bare `DEFAULT`.
    pub(super) fn expr_or_default(&mut self) -> R<Expr<'a>> {
        if self.at(T::DEFAULT) && self.peek() != T::LParen {
            let token = self.bump();
            return Ok(Expr { kind: ExprKind::Default, span: token.span() });
        }
        self.expr()
    }

    fn no_rows(&self) -> ValuesRows<'a> {
        ValuesRows {
            column_count: 0,
            row_count: 0,
            ragged_row: None,
            cells: &[],
            exprs: &[],
            no_backslash_escapes: self.mode.has(SqlMode::NO_BACKSLASH_ESCAPES),
        }
    }

    /// `ROW(...), ROW(...)`.
    pub(super) fn values_rows(&mut self) -> R<ValuesRows<'a>> {
        self.value_lists(true)
    }

    fn value_lists(&mut self, row_word: bool) -> R<ValuesRows<'a>> {
        let mut buffer = CellBuffer::new(self);
        let mut row_count = 0u32;
        let mut stride = 0usize;
        let mut ragged_row = None;
        loop {
            if row_word {
                self.expect(T::ROW)?;
            }
            self.expect(T::LParen)?;
            let row_start = buffer.cells.len();
            if !self.at(T::RParen) {
                loop {
                    buffer.push(self)?;
                    if !self.eat(T::Comma) {
                        break;
                    }
                }
            }
            self.expect(T::RParen)?;
            let width = buffer.cells.len() - row_start;
            if row_count == 0 && ragged_row.is_none() {
                stride = width;
            }
            if ragged_row.is_some() || width != stride {
                ragged_row.get_or_insert(row_count);
                buffer.cells.truncate(row_start);
            } else {
                row_count += 1;
            }
            if !self.eat(T::Comma) {
                break;
            }
        }
        let mut rows = buffer.finish(self, row_count);
        rows.column_count = stride as u32;
        rows.ragged_row = ragged_row;
        Ok(rows)
    }

    /// `UPDATE`.
    pub(super) fn update(&mut self, with: Option<&'a With<'a>>) -> R<Statement<'a>> {
        let hints = self.hints_after();
        let low_priority = self.eat(T::LOW_PRIORITY);
        let ignore = self.eat(T::IGNORE);
        let tables = self.comma_list(Self::table_ref)?;
        self.expect(T::SET)?;
        let assignments = self.assignments()?;
        let where_ = if self.eat(T::WHERE) { Some(self.expr_ref()?) } else { None };
        let order_by = if self.at(T::ORDER) { self.order_by()? } else { &[] };
        let limit = self.simple_limit()?;
        Ok(Statement::Update(self.alloc(Update {
            with,
            hints,
            low_priority,
            ignore,
            tables,
            assignments,
            where_,
            order_by,
            limit,
        })))
    }

    /// `LIMIT n` without offset.
    fn simple_limit(&mut self) -> R<Option<Expr<'a>>> {
        if self.eat(T::LIMIT) { Ok(Some(self.limit_number()?)) } else { Ok(None) }
    }

    /// `DELETE`.
    pub(super) fn delete(&mut self, with: Option<&'a With<'a>>) -> R<Statement<'a>> {
        let hints = self.hints_after();
        let mut delete = Delete {
            with,
            hints,
            low_priority: false,
            quick: false,
            ignore: false,
            targets: &[],
            from: &[],
            where_: None,
            order_by: &[],
            limit: None,
        };
        loop {
            match self.kind() {
                T::LOW_PRIORITY => delete.low_priority = true,
                T::IGNORE => delete.ignore = true,
                // `QUICK` is also a name: `DELETE quick FROM t` means the table only if no `FROM` or name follows.
                T::QUICK => delete.quick = true,
                _ => break,
            }
            self.bump();
        }
        if self.eat(T::FROM) {
            let name = self.object_name()?;
            if self.at(T::Dot) || self.at_any(&[T::Comma, T::USING]) {
                delete.targets = self.delete_targets(Some(name))?;
                self.expect(T::USING)?;
                delete.from = self.comma_list(Self::table_ref)?;
            } else {
                let alias = self.table_alias()?;
                let partitions = self.opt_partitions()?;
                let factor = TableFactor { name, partitions, alias, index_hints: &[], sample: None };
                let table = TableRef::Table(self.alloc(factor));
                delete.from = std::slice::from_ref(self.alloc(table));
                delete.where_ = if self.eat(T::WHERE) { Some(self.expr_ref()?) } else { None };
                delete.order_by = if self.at(T::ORDER) { self.order_by()? } else { &[] };
                delete.limit = self.simple_limit()?;
                return Ok(Statement::Delete(self.alloc(delete)));
            }
        } else {
            delete.targets = self.delete_targets(None)?;
            self.expect(T::FROM)?;
            delete.from = self.comma_list(Self::table_ref)?;
        }
        delete.where_ = if self.eat(T::WHERE) { Some(self.expr_ref()?) } else { None };
        Ok(Statement::Delete(self.alloc(delete)))
    }

    /// `t1, db.t2.*, ...`; `first` was already read up to its `.*`.
    fn delete_targets(&mut self, first: Option<ObjectName<'a>>) -> R<&'a [ObjectName<'a>]> {
        let mut names = self.list();
        let mut next = first;
        loop {
            let name = match next.take() {
                Some(name) => name,
                None => {
                    let first = self.ident()?;
                    if self.at(T::Dot) && self.peek() != T::Star {
                        self.bump();
                        ObjectName { schema: Some(first), name: self.ident()? }
                    } else {
                        ObjectName { schema: None, name: first }
                    }
                }
            };
            if self.eat(T::Dot) {
                self.expect(T::Star)?;
            }
            names.push(name);
            if !self.eat(T::Comma) {
                return Ok(names.into_bump_slice());
            }
        }
    }

    /// `LOAD DATA`, `LOAD XML`, `LOAD INDEX`.
    pub(super) fn load(&mut self) -> R<Statement<'a>> {
        self.bump();
        if self.eat(T::INDEX) {
            self.expect_all(&[T::INTO, T::CACHE])?;
            self.comma_list(|p| {
                p.object_name()?;
                p.key_cache_parts()?;
                if p.eat(T::IGNORE) {
                    p.expect(T::LEAVES)?;
                }
                Ok(())
            })?;
            return Ok(Statement::Unsupported { what: "LOAD INDEX INTO CACHE" });
        }
        let xml = self.expect_any(&[T::DATA, T::XML])? == T::XML;
        let mut low_priority = false;
        if self.at_any(&[T::LOW_PRIORITY, T::CONCURRENT]) {
            low_priority = self.bump().kind == T::LOW_PRIORITY;
        }
        let mut bulk = self.eat(T::FROM);
        let local = self.eat(T::LOCAL);
        if !self.at_any(&[T::INFILE, T::URL, T::S3]) {
            return self.fail();
        }
        bulk |= self.bump().kind != T::INFILE;
        let path = self.string()?;
        if self.eat(T::COUNT) || (self.at(T::Ident) && self.text(self.tok).eq_ignore_ascii_case(b"count")) {
            if self.at(T::Ident) {
                self.bump();
            }
            self.number()?;
            bulk = true;
        }
        if self.eat(T::IN) {
            self.expect_all(&[T::PRIMARY, T::KEY, T::ORDER])?;
            bulk = true;
        }
        let mut duplicates = Duplicates::Error;
        if self.at_any(&[T::IGNORE, T::REPLACE]) {
            duplicates = if self.bump().kind == T::IGNORE { Duplicates::Ignore } else { Duplicates::Replace };
        }
        self.expect_all(&[T::INTO, T::TABLE])?;
        let table = self.object_name()?;
        let partitions = self.opt_partitions()?;
        let charset = if self.eat_charset_words()? { Some(self.charset_name()?) } else { None };
        if xml && self.eat(T::ROWS) {
            self.expect_all(&[T::IDENTIFIED, T::BY])?;
            self.text_string()?;
        }
        let format = self.file_format()?;
        let mut ignore_lines = 0;
        if self.eat(T::IGNORE) {
            ignore_lines = self.integer()?;
            self.expect_any(&[T::LINES, T::ROWS])?;
        }
        let mut columns = self.list();
        if self.eat(T::LParen) {
            while !self.at(T::RParen) {
                columns.push(if self.eat_at()? {
                    LoadColumn::UserVar(self.ident_or_string()?)
                } else {
                    LoadColumn::Column(self.column_ref()?)
                });
                if !self.at(T::RParen) {
                    self.expect(T::Comma)?;
                    if self.at(T::RParen) {
                        return self.fail();
                    }
                }
            }
            self.expect(T::RParen)?;
        }
        let assignments = if self.eat(T::SET) { self.assignments()? } else { &[] };
        if self.eat(T::PARALLEL) {
            self.equals()?;
            self.number()?;
            bulk = true;
        }
        if self.eat(T::MEMORY) {
            self.equals()?;
            self.size_number()?;
            bulk = true;
        }
        if self.eat(T::ALGORITHM) {
            self.equals()?;
            self.expect(T::BULK)?;
            bulk = true;
        }
        if xml {
            return Ok(Statement::Unsupported { what: "LOAD XML" });
        }
        if bulk {
            return Ok(Statement::Unsupported { what: "LOAD DATA with ALGORITHM=BULK" });
        }
        Ok(Statement::LoadData(self.alloc(LoadData {
            low_priority,
            local,
            path,
            duplicates,
            table,
            partitions,
            charset,
            format,
            ignore_lines,
            columns: columns.into_bump_slice(),
            assignments,
        })))
    }
}

/// Gathers the cells of `VALUES`.
struct CellBuffer<'a> {
    cells: bumpalo::collections::Vec<'a, Cell>,
    exprs: bumpalo::collections::Vec<'a, Expr<'a>>,
}

impl<'a> CellBuffer<'a> {
    fn new(parser: &Parser<'a>) -> Self {
        CellBuffer { cells: parser.list(), exprs: parser.list() }
    }

    /// Reads one value.
    #[inline]
    fn push(&mut self, p: &mut Parser<'a>) -> R<()> {
        let token = p.tok;
        let simple = match token.kind {
            T::Integer => Some(match super::expr::number_kind(T::Integer, p.text(token)) {
                NumberKind::Integer => CellKind::Integer,
                _ => CellKind::Decimal,
            }),
            T::Decimal => Some(CellKind::Decimal),
            T::Float => Some(CellKind::Float),
            T::Str => Some(if token.escaped { CellKind::StringEscaped } else { CellKind::String }),
            T::NULL => Some(CellKind::Null),
            T::DEFAULT => Some(CellKind::Default),
            T::TRUE => Some(CellKind::True),
            T::FALSE => Some(CellKind::False),
            T::Param => Some(CellKind::Param),
            T::Hex | T::HexStr => Some(CellKind::Hex),
            T::Minus => return self.push_negative(p),
            _ => None,
        };
        if let Some(kind) = simple
            && matches!(p.peek(), T::Comma | T::RParen | T::Eof)
        {
            p.bump();
            self.cells.push(cell(kind, token.start, token.end, p));
            return Ok(());
        }
        self.push_expr(p)
    }

    fn push_negative(&mut self, p: &mut Parser<'a>) -> R<()> {
        // `-` and a number are one cell if `,` or `)` follows; looked at with a copy of the lexer.
        let kind = match p.peek() {
            T::Integer => CellKind::NegInteger,
            T::Decimal => CellKind::NegDecimal,
            T::Float => CellKind::NegFloat,
            _ => return self.push_expr(p),
        };
        let mut rest = p.lexer;
        if !matches!(rest.next().kind, T::Comma | T::RParen) {
            return self.push_expr(p);
        }
        p.bump();
        let token = p.bump();
        let kind = match (kind, super::expr::number_kind(token.kind, p.text(token))) {
            (CellKind::NegInteger, NumberKind::Decimal) => CellKind::NegDecimal,
            _ => kind,
        };
        self.cells.push(Cell { start: token.start, len: token.end - token.start, kind });
        Ok(())
    }

    #[inline(never)]
    fn push_expr(&mut self, p: &mut Parser<'a>) -> R<()> {
        let expr = p.expr_or_default()?;
        let cell = match expr.kind {
            ExprKind::Default => Cell { start: expr.span.start, len: 7, kind: CellKind::Default },
            _ => {
                self.exprs.push(expr);
                Cell { start: self.exprs.len() as u32 - 1, len: 0, kind: CellKind::Expr }
            }
        };
        self.cells.push(cell);
        Ok(())
    }

    fn finish(self, p: &Parser<'a>, row_count: u32) -> ValuesRows<'a> {
        let cells = self.cells.into_bump_slice();
        ValuesRows {
            column_count: cells.len() as u32,
            row_count,
            cells,
            exprs: self.exprs.into_bump_slice(),
            ..p.no_rows()
        }
    }
}

#[inline]
fn cell(kind: CellKind, start: u32, end: u32, p: &mut Parser<'_>) -> Cell {
    let (start, len) = match kind {
        CellKind::String | CellKind::StringEscaped => (start + 1, end - start - 2),
        // `0x41` and `X'41'`: the digits.
        CellKind::Hex if p.sql[end as usize - 1] == b'\'' => (start + 2, end - start - 3),
        CellKind::Hex => (start + 2, end - start - 2),
        CellKind::Param => {
            p.param_places.push(start);
            p.params += 1;
            (p.params - 1, 0)
        }
        _ => (start, end - start),
    };
    Cell { start, len, kind }
}
