//! Queries and table references.

use super::{JOIN_CHAIN_MAX, Parser, R};
use crate::ast::*;
use crate::keywords::T;

/// What stands in parentheses in `FROM`.
enum TableParen<'a> {
    Query(&'a Query<'a>),
    Refs(&'a [TableRef<'a>]),
}

impl<'a> Parser<'a> {
    /// At a token that continues a query after a parenthesised one.
    pub(super) fn at_query_tail(&self) -> bool {
        self.at_any(&[T::UNION, T::EXCEPT, T::INTERSECT, T::ORDER, T::LIMIT, T::FOR, T::LOCK])
    }

    pub(super) fn at_query(&mut self) -> bool {
        match self.kind() {
            T::SELECT | T::WITH | T::TABLE | T::LParen => true,
            T::VALUES => self.peek() == T::ROW,
            _ => false,
        }
    }

    /// A query inside another statement: without `INTO`.
    pub(super) fn query_expression(&mut self) -> R<&'a Query<'a>> {
        let outer = std::mem::replace(&mut self.into_allowed, false);
        let query = self.query_with_into()?;
        self.into_allowed = outer;
        if query.into.is_some() {
            return self.misplaced_into();
        }
        Ok(query)
    }

    #[cold]
    fn misplaced_into<X>(&mut self) -> R<X> {
        self.fail_with(
            3954,
            "HY000",
            "Misplaced INTO clause, INTO is not allowed inside subqueries, and must be placed at end of UNION clauses.",
        )
    }

    #[cold]
    fn several_intos<X>(&mut self) -> R<X> {
        self.fail_with(3953, "HY000", "Multiple INTO clauses in one query block.")
    }

    /// `[WITH ...] body [ORDER BY] [LIMIT] [locking]`.
    pub(super) fn query_with_into(&mut self) -> R<&'a Query<'a>> {
        self.enter()?;
        let start = self.tok.start;
        let with = if self.at(T::WITH) { Some(self.with_clause()?) } else { None };
        let mut into = None;
        let first = self.query_operand(&mut into)?;
        let body = self.set_operations(first, 0, &mut into)?;
        let query = self.query_end(start, with, body, into)?;
        self.leave();
        Ok(query)
    }

    /// Goes on after `(query)` that began at `start`.
    pub(super) fn query_tail_from(&mut self, query: &'a Query<'a>, start: u32) -> R<&'a Query<'a>> {
        let mut into = None;
        let body = self.set_operations(unwrap(query), 0, &mut into)?;
        self.query_end(start, None, body, into)
    }

    fn query_end(
        &mut self,
        start: u32,
        with: Option<&'a With<'a>>,
        body: QueryBody<'a>,
        mut into: Option<&'a Into<'a>>,
    ) -> R<&'a Query<'a>> {
        let order_by = if self.at(T::ORDER) { self.order_by()? } else { &[] };
        let limit = if self.at(T::LIMIT) { Some(self.limit()?) } else { None };
        let into_before_locking = self.into_allowed && self.at(T::INTO);
        if into_before_locking {
            if into.is_some() {
                return self.several_intos();
            }
            into = Some(self.read_into()?);
        }
        let mut locking = self.list();
        while self.at_any(&[T::FOR, T::LOCK]) {
            if self.eat(T::LOCK) {
                self.expect_all(&[T::IN, T::SHARE, T::MODE])?;
                locking.push(Locking { exclusive: false, tables: &[], wait: LockWait::Wait });
                continue;
            }
            if self.peek() == T::SCHEMA {
                break;
            }
            self.bump();
            let exclusive = self.expect_any(&[T::UPDATE, T::SHARE])? == T::UPDATE;
            let tables = if self.eat(T::OF) { self.object_names()? } else { &[] };
            let wait = if self.eat(T::NOWAIT) {
                LockWait::NoWait
            } else if self.eat(T::SKIP) {
                self.expect(T::LOCKED)?;
                LockWait::SkipLocked
            } else {
                LockWait::Wait
            };
            locking.push(Locking { exclusive, tables, wait });
        }
        let mut into_is_inner = std::mem::take(&mut self.into_is_inner);
        into_is_inner |= into_before_locking && !locking.is_empty();
        if self.into_allowed && self.at(T::INTO) {
            if into.is_some() {
                return self.several_intos();
            }
            into = Some(self.read_into()?);
        }
        Ok(self.alloc(Query {
            with,
            body,
            order_by,
            limit,
            locking: locking.into_bump_slice(),
            into,
            into_is_inner,
            span: self.span_from(start),
        }))
    }

    pub(super) fn with_clause(&mut self) -> R<&'a With<'a>> {
        self.expect(T::WITH)?;
        let recursive = self.eat(T::RECURSIVE);
        let ctes = self.comma_list(|p| {
            let name = p.ident()?;
            let columns = if p.at(T::LParen) { p.paren_list(Self::ident)? } else { &[] };
            p.expect(T::AS)?;
            Ok(Cte { name, columns, query: p.subquery()? })
        })?;
        Ok(self.alloc(With { recursive, ctes }))
    }

    /// `UNION`, `EXCEPT`, `INTERSECT` that bind tighter than `above`, applied to `left`.
    fn set_operations(
        &mut self,
        mut left: QueryBody<'a>,
        above: u8,
        into: &mut Option<&'a Into<'a>>,
    ) -> R<QueryBody<'a>> {
        let mut chain = 0;
        loop {
            let (op, power) = match self.kind() {
                T::UNION => (SetOp::Union, 1),
                T::EXCEPT => (SetOp::Except, 1),
                T::INTERSECT => (SetOp::Intersect, 2),
                _ => return Ok(left),
            };
            if power <= above {
                return Ok(left);
            }
            self.bump();
            let all = self.eat(T::ALL);
            if !all {
                self.eat(T::DISTINCT);
            }
            let (had_into, in_parentheses) = (into.is_some(), self.at(T::LParen));
            let right = self.query_operand(into)?;
            if had_into {
                return self.misplaced_into();
            }
            if into.is_some() {
                self.into_is_inner = in_parentheses || !self.into_ends_block;
            }
            let right = self.set_operations(right, power, into)?;
            chain += 1;
            if chain > crate::UNION_CHAIN_MAX {
                return self.too_deep();
            }
            left = QueryBody::SetOp { op, all, left: self.alloc(left), right: self.alloc(right) };
        }
    }

    fn query_operand(&mut self, into: &mut Option<&'a Into<'a>>) -> R<QueryBody<'a>> {
        match self.kind() {
            T::SELECT => {
                let select = self.select(into)?;
                Ok(QueryBody::Select(self.alloc(select)))
            }
            T::TABLE => {
                self.bump();
                Ok(QueryBody::Table(self.object_name()?))
            }
            T::VALUES => {
                self.bump();
                if !self.at(T::ROW) {
                    return self.fail();
                }
                let rows = self.values_rows()?;
                Ok(QueryBody::Values(self.alloc(rows)))
            }
            T::LParen => {
                self.bump();
                // `(SELECT ... INTO @x)` is allowed at the top, as far as the grammar goes.
                let depth = self.depth;
                let query = self.query_with_into()?;
                debug_assert_eq!(depth, self.depth);
                if query.into.is_some() {
                    *into = query.into;
                    self.into_is_inner = query.into_is_inner;
                }
                self.expect(T::RParen)?;
                Ok(unwrap(query))
            }
            _ => self.fail(),
        }
    }

    fn select(&mut self, into: &mut Option<&'a Into<'a>>) -> R<Select<'a>> {
        let start = self.tok.start;
        let hints = self.hints_after();
        let options = self.select_options()?;
        let mut items = self.list();
        if self.at(T::Star) {
            let star = self.bump();
            items.push(SelectItem::Star(star.span()));
        } else {
            items.push(self.select_item()?);
        }
        while self.eat(T::Comma) {
            items.push(self.select_item()?);
        }
        let mut select = Select {
            options,
            hints,
            items: items.into_bump_slice(),
            from: &[],
            where_: None,
            group_by: &[],
            grouping: GroupingKind::Plain,
            having: None,
            windows: &[],
            qualify: None,
            span: Span::default(),
        };
        if self.at(T::INTO) {
            let clause = self.read_into()?;
            // Two `INTO`s, or one in a subquery: the caller that allows no `INTO` checks it.
            *into = Some(clause);
            if self.at(T::INTO) {
                return self.several_intos();
            }
            self.into_ends_block = self.at_any(&[T::RParen, T::Semicolon, T::Eof, T::END]);
            if !(self.at_any(&[
                T::FROM,
                T::WHERE,
                T::GROUP,
                T::HAVING,
                T::WINDOW,
                T::QUALIFY,
                T::ORDER,
                T::LIMIT,
                T::FOR,
                T::LOCK,
                T::UNION,
                T::EXCEPT,
                T::INTERSECT,
                T::RParen,
                T::Semicolon,
                T::Eof,
                T::END,
            ])) {
                return self.fail();
            }
        }
        if self.eat(T::FROM) && !self.eat(T::DUAL) {
            select.from = self.comma_list(Self::table_ref)?;
        }
        if self.eat(T::WHERE) {
            select.where_ = Some(self.expr_ref()?);
        }
        if self.eat(T::GROUP) {
            self.expect(T::BY)?;
            if self.at_any(&[T::ROLLUP, T::CUBE]) && self.peek() == T::LParen {
                select.grouping =
                    if self.bump().kind == T::ROLLUP { GroupingKind::Rollup } else { GroupingKind::Cube };
                select.group_by = self.paren_list(Self::group_item)?;
            } else {
                select.group_by = self.comma_list(Self::group_item)?;
                if self.eat_pair(T::WITH, T::ROLLUP) {
                    select.grouping = GroupingKind::Rollup;
                }
            }
        }
        if self.eat(T::HAVING) {
            select.having = Some(self.expr_ref()?);
        }
        if self.eat(T::WINDOW) {
            select.windows = self.comma_list(|p| {
                let name = p.ident()?;
                p.expect(T::AS)?;
                Ok((name, p.window_spec()?))
            })?;
        }
        if self.eat(T::QUALIFY) {
            select.qualify = Some(self.expr_ref()?);
        }
        if options.distinct && options.all {
            return self.fail_with(1221, "HY000", "Incorrect usage of ALL and DISTINCT");
        }
        select.span = self.span_from(start);
        Ok(select)
    }

    /// Consumes the current keyword and returns the text of the hint comment directly after it.
    pub(super) fn hints_after(&mut self) -> Option<Span> {
        let word = self.bump();
        // The token now current was lexed after the word, so the lexer has passed the comment by.
        let hint = self.lexer.hint;
        (hint.end > hint.start && hint.start >= word.end && hint.end <= self.tok.start).then_some(hint)
    }

    fn select_options(&mut self) -> R<SelectOptions> {
        let mut o = SelectOptions::default();
        loop {
            match self.kind() {
                T::DISTINCT | T::DISTINCTROW => o.distinct = true,
                T::ALL => o.all = true,
                T::STRAIGHT_JOIN => o.straight_join = true,
                T::HIGH_PRIORITY => o.high_priority = true,
                T::SQL_SMALL_RESULT => o.small_result = true,
                T::SQL_BIG_RESULT => o.big_result = true,
                T::SQL_BUFFER_RESULT => o.buffer_result = true,
                T::SQL_CALC_FOUND_ROWS => o.calc_found_rows = true,
                T::SQL_NO_CACHE => o.no_cache = true,
                _ => break,
            }
            self.bump();
        }
        Ok(o)
    }

    fn select_item(&mut self) -> R<SelectItem<'a>> {
        let start = self.tok.start;
        let expr = if self.at_ident() && self.peek() == T::Dot {
            // `t.*` and `db.t.*` look like columns up to the star.
            let first = self.ident()?;
            self.bump();
            if self.eat(T::Star) {
                let name = ObjectName { schema: None, name: first };
                return Ok(SelectItem::TableStar(name, self.span_from(start)));
            }
            let second = self.ident()?;
            if self.at(T::Dot) && self.peek() == T::Star {
                self.bump();
                self.bump();
                let name = ObjectName { schema: Some(first), name: second };
                return Ok(SelectItem::TableStar(name, self.span_from(start)));
            }
            let primary = self.qualified_after(start, first, second)?;
            self.expr_from(Some(primary))?
        } else {
            self.expr()?
        };
        let source = self.span_from(start);
        let alias = self.select_alias()?;
        Ok(SelectItem::Expr { expr, alias, source })
    }

    /// `[AS] name` or `[AS] 'name'`.
    #[inline]
    pub(super) fn select_alias(&mut self) -> R<Option<Ident<'a>>> {
        let with_as = self.eat(T::AS);
        if self.at_ident() {
            return Ok(Some(self.ident()?));
        }
        if self.at(T::Str) {
            let token = self.bump();
            return Ok(Some(Ident { text: self.string_of(token), span: token.span() }));
        }
        if with_as { self.fail() } else { Ok(None) }
    }

    fn group_item(&mut self) -> R<OrderItem<'a>> {
        Ok(OrderItem { expr: self.expr()?, desc: None })
    }

    /// `ORDER BY ...`.
    pub(super) fn order_by(&mut self) -> R<&'a [OrderItem<'a>]> {
        self.expect_all(&[T::ORDER, T::BY])?;
        self.comma_list(|p| {
            let expr = p.expr()?;
            let desc = match p.kind() {
                T::ASC => Some(false),
                T::DESC => Some(true),
                _ => None,
            };
            if desc.is_some() {
                p.bump();
            }
            Ok(OrderItem { expr, desc })
        })
    }

    /// `LIMIT ...`.
    pub(super) fn limit(&mut self) -> R<Limit<'a>> {
        self.expect(T::LIMIT)?;
        let first = self.limit_number()?;
        if self.eat(T::Comma) {
            return Ok(Limit { count: self.limit_number()?, offset: Some(first) });
        }
        if self.eat(T::OFFSET) {
            return Ok(Limit { count: first, offset: Some(self.limit_number()?) });
        }
        Ok(Limit { count: first, offset: None })
    }

    pub(super) fn limit_number(&mut self) -> R<Expr<'a>> {
        match self.kind() {
            T::Integer => {
                let token = self.tok;
                let text = self.text(token);
                if super::expr::number_kind(T::Integer, text) != NumberKind::Integer {
                    return self.fail();
                }
                self.simple_expr()
            }
            T::Param => self.simple_expr(),
            _ if self.at_ident() => {
                let name = self.ident()?;
                let column = self.alloc(ColumnRef { schema: None, table: None, name });
                Ok(Expr { kind: ExprKind::Column(column), span: name.span })
            }
            _ => self.fail(),
        }
    }

    fn read_into(&mut self) -> R<&'a Into<'a>> {
        self.expect(T::INTO)?;
        let into = if self.eat(T::OUTFILE) {
            let path = self.string()?;
            let charset = if self.eat_charset_words()? { Some(self.charset_name()?) } else { None };
            Into::Outfile { path, charset, format: self.file_format()? }
        } else if self.eat(T::DUMPFILE) {
            Into::Dumpfile(self.string()?)
        } else {
            Into::Variables(self.comma_list(|p| {
                if p.eat_at()? {
                    return Ok(IntoVar::User(p.ident_or_string()?));
                }
                if p.at(T::Str) {
                    return p.fail();
                }
                Ok(IntoVar::Local(p.ident()?))
            })?)
        };
        Ok(self.alloc(into))
    }

    /// `FIELDS ... LINES ...`.
    pub(super) fn file_format(&mut self) -> R<FileFormat<'a>> {
        let mut format = FileFormat::default();
        if self.eat(T::FIELDS) || self.eat(T::COLUMNS) {
            let mut any = false;
            loop {
                match self.kind() {
                    T::TERMINATED => {
                        self.bump();
                        self.expect(T::BY)?;
                        format.field_terminated = Some(self.text_string()?);
                    }
                    T::OPTIONALLY | T::ENCLOSED => {
                        if self.eat(T::OPTIONALLY) {
                            format.enclosed_optionally = true;
                        }
                        self.expect_all(&[T::ENCLOSED, T::BY])?;
                        format.enclosed = Some(self.text_string()?);
                    }
                    T::ESCAPED => {
                        self.bump();
                        self.expect(T::BY)?;
                        format.escaped = Some(self.text_string()?);
                    }
                    _ if any => break,
                    _ => return self.fail(),
                }
                any = true;
            }
        }
        if self.eat(T::LINES) {
            let mut any = false;
            loop {
                match self.kind() {
                    T::STARTING => {
                        self.bump();
                        self.expect(T::BY)?;
                        format.line_starting = Some(self.text_string()?);
                    }
                    T::TERMINATED => {
                        self.bump();
                        self.expect(T::BY)?;
                        format.line_terminated = Some(self.text_string()?);
                    }
                    _ if any => break,
                    _ => return self.fail(),
                }
                any = true;
            }
        }
        Ok(format)
    }

    // Tables.

    fn at_join(&self) -> bool {
        self.at_any(&[T::JOIN, T::INNER, T::CROSS, T::STRAIGHT_JOIN, T::LEFT, T::RIGHT, T::NATURAL])
    }

    /// A table, or tables joined.
    pub(super) fn table_ref(&mut self) -> R<TableRef<'a>> {
        Ok(self.table_ref_depth()?.0)
    }

    /// A table reference, and how many of its joins its first table is the leftmost of: those in parentheses are none of them.
    fn table_ref_depth(&mut self) -> R<(TableRef<'a>, usize)> {
        self.enter()?;
        let first = self.table_factor()?;
        let joined = self.joins(first)?;
        self.leave();
        Ok(joined)
    }

    fn joins(&mut self, mut left: TableRef<'a>) -> R<(TableRef<'a>, usize)> {
        let (mut chain, mut depth) = (0, 0);
        while self.at_join() {
            chain += 1;
            if chain > JOIN_CHAIN_MAX {
                return self.too_deep();
            }
            let kind = match self.bump().kind {
                T::NATURAL => {
                    let kind = self.natural_kind()?;
                    let right = self.table_factor()?;
                    let join = Join { kind, natural: true, left, right, condition: JoinCondition::None };
                    left = TableRef::Join(self.alloc(join));
                    depth += 1;
                    continue;
                }
                T::INNER | T::CROSS => {
                    self.expect(T::JOIN)?;
                    JoinKind::Inner
                }
                T::STRAIGHT_JOIN => JoinKind::Straight,
                T::LEFT => {
                    self.eat(T::OUTER);
                    self.expect(T::JOIN)?;
                    JoinKind::Left
                }
                T::RIGHT => {
                    self.eat(T::OUTER);
                    self.expect(T::JOIN)?;
                    JoinKind::Right
                }
                _ => JoinKind::Inner,
            };
            // The right side takes all joins that follow; an `ON` closes the nearest open join.
            let (right, right_depth) = self.table_ref_depth()?;
            let condition = if self.eat(T::ON) {
                JoinCondition::On(self.expr_ref()?)
            } else if self.eat(T::USING) {
                JoinCondition::Using(self.paren_list(Self::ident)?)
            } else if matches!(kind, JoinKind::Left | JoinKind::Right) {
                return self.fail();
            } else {
                JoinCondition::None
            };
            left = match condition {
                JoinCondition::None => {
                    depth += right_depth;
                    self.join_leftmost(kind, left, right, right_depth)
                }
                _ => TableRef::Join(self.alloc(Join { kind, natural: false, left, right, condition })),
            };
            depth += 1;
        }
        Ok((left, depth))
    }

    /// `a JOIN b LEFT JOIN c ON x` is `(a JOIN b) LEFT JOIN c ON x`: a join without condition goes to the leftmost
    /// table of what follows it.
    fn join_leftmost(
        &self,
        kind: JoinKind,
        left: TableRef<'a>,
        right: TableRef<'a>,
        right_depth: usize,
    ) -> TableRef<'a> {
        match right {
            TableRef::Join(inner) if right_depth > 0 => {
                let moved = self.join_leftmost(kind, left, inner.left, right_depth - 1);
                TableRef::Join(self.alloc(Join { left: moved, ..*inner }))
            }
            _ => TableRef::Join(self.alloc(Join {
                kind,
                natural: false,
                left,
                right,
                condition: JoinCondition::None,
            })),
        }
    }

    fn natural_kind(&mut self) -> R<JoinKind> {
        let kind = match self.kind() {
            T::LEFT => JoinKind::Left,
            T::RIGHT => JoinKind::Right,
            _ => JoinKind::Inner,
        };
        if kind == JoinKind::Inner {
            self.eat(T::INNER);
        } else {
            self.bump();
            self.eat(T::OUTER);
        }
        self.expect(T::JOIN)?;
        Ok(kind)
    }

    fn table_factor(&mut self) -> R<TableRef<'a>> {
        match self.kind() {
            T::LATERAL => {
                self.bump();
                let query = self.subquery()?;
                self.derived(true, query)
            }
            T::LParen => match self.table_paren()? {
                TableParen::Query(query) => {
                    self.expect(T::RParen)?;
                    self.derived(false, query)
                }
                TableParen::Refs(refs) => {
                    self.expect(T::RParen)?;
                    Ok(group(refs))
                }
            },
            T::JSON_TABLE => self.json_table(),
            T::LBrace => {
                self.bump();
                self.expect(T::OJ)?;
                let inner = self.table_ref()?;
                self.expect(T::RBrace)?;
                Ok(inner)
            }
            _ => {
                let factor = self.table_name_factor(true)?;
                Ok(TableRef::Table(self.alloc(factor)))
            }
        }
    }

    /// A named table with partitions, alias and hints.
    pub(super) fn table_name_factor(&mut self, hints: bool) -> R<TableFactor<'a>> {
        let name = self.object_name()?;
        let partitions = self.opt_partitions()?;
        let alias = self.table_alias()?;
        let mut sample = None;
        if self.eat(T::TABLESAMPLE) {
            self.expect_any(&[T::SYSTEM, T::BERNOULLI])?;
            self.expect(T::LParen)?;
            sample = Some(self.expr_ref()?);
            self.expect(T::RParen)?;
        }
        let index_hints = if hints { self.index_hints()? } else { &[] };
        Ok(TableFactor { name, partitions, alias, index_hints, sample })
    }

    pub(super) fn opt_partitions(&mut self) -> R<&'a [Ident<'a>]> {
        if self.eat(T::PARTITION) { self.paren_list(Self::ident) } else { Ok(&[]) }
    }

    pub(super) fn table_alias(&mut self) -> R<Option<Ident<'a>>> {
        if self.eat(T::AS) || self.at_ident() { Ok(Some(self.ident()?)) } else { Ok(None) }
    }

    fn index_hints(&mut self) -> R<&'a [IndexHint<'a>]> {
        let mut hints = self.list();
        while self.at_any(&[T::USE, T::FORCE, T::IGNORE]) {
            let kind = match self.bump().kind {
                T::USE => IndexHintKind::Use,
                T::FORCE => IndexHintKind::Force,
                _ => IndexHintKind::Ignore,
            };
            self.expect_any(&[T::INDEX, T::KEY])?;
            let mut scope = IndexHintScope::All;
            if self.eat(T::FOR) {
                scope = match self.expect_any(&[T::JOIN, T::ORDER, T::GROUP])? {
                    T::JOIN => IndexHintScope::Join,
                    T::ORDER => IndexHintScope::OrderBy,
                    _ => IndexHintScope::GroupBy,
                };
                if scope != IndexHintScope::Join {
                    self.expect(T::BY)?;
                }
            }
            self.expect(T::LParen)?;
            let indexes = if kind == IndexHintKind::Use && self.at(T::RParen) {
                &[]
            } else {
                self.comma_list(Self::index_name)?
            };
            self.expect(T::RParen)?;
            hints.push(IndexHint { kind, scope, indexes });
        }
        Ok(hints.into_bump_slice())
    }

    /// An index's name, `PRIMARY` included.
    pub(super) fn index_name(&mut self) -> R<Ident<'a>> {
        if self.at(T::PRIMARY) {
            let token = self.bump();
            return Ok(Ident { text: self.text(token), span: token.span() });
        }
        self.ident()
    }

    /// At a token that may stand behind a table reference.
    fn after_table(&self) -> bool {
        self.at_join()
            || self.at_query_tail()
            || self.at_any(&[
                T::Eof,
                T::Semicolon,
                T::RParen,
                T::RBrace,
                T::Comma,
                T::WHERE,
                T::GROUP,
                T::HAVING,
            ])
            || self.at_any(&[T::INTO, T::ON, T::USING, T::SET, T::WINDOW, T::QUALIFY])
    }

    fn derived(&mut self, lateral: bool, query: &'a Query<'a>) -> R<TableRef<'a>> {
        let alias = self.table_alias()?;
        if alias.is_none() && self.after_table() {
            return self.fail_with(1248, "42000", "Every derived table must have its own alias");
        }
        if alias.is_none() {
            return self.fail();
        }
        let columns = if self.at(T::LParen) { self.paren_list(Self::ident)? } else { &[] };
        Ok(TableRef::Derived { lateral, query, alias, columns })
    }

    /// `(` and then a query or table references, up to but without `)`.
    fn table_paren(&mut self) -> R<TableParen<'a>> {
        self.enter()?;
        let start = self.expect(T::LParen)?.end;
        let paren = match self.kind() {
            T::SELECT | T::WITH | T::TABLE | T::VALUES => TableParen::Query(self.query_expression()?),
            T::LParen => {
                let inner_start = self.tok.start.max(start);
                let inner = self.table_paren()?;
                self.expect(T::RParen)?;
                let first = match inner {
                    TableParen::Query(query) if self.at_query_tail() => {
                        let query = self.query_tail_from(query, inner_start)?;
                        self.leave();
                        return Ok(TableParen::Query(query));
                    }
                    TableParen::Query(query) if self.at(T::RParen) => {
                        self.leave();
                        return Ok(TableParen::Query(query));
                    }
                    TableParen::Query(query) => self.derived(false, query)?,
                    TableParen::Refs(refs) => group(refs),
                };
                let (first, _) = self.joins(first)?;
                self.refs_after(first)?
            }
            _ => {
                let first = self.table_ref()?;
                self.refs_after(first)?
            }
        };
        self.leave();
        Ok(paren)
    }

    fn refs_after(&mut self, first: TableRef<'a>) -> R<TableParen<'a>> {
        let mut refs = self.list();
        refs.push(first);
        while self.eat(T::Comma) {
            refs.push(self.table_ref()?);
        }
        // One derived table in parentheses of its own is no table reference.
        if let [TableRef::Derived { .. } | TableRef::JsonTable(_)] = refs[..] {
            return self.fail();
        }
        Ok(TableParen::Refs(refs.into_bump_slice()))
    }

    fn json_table(&mut self) -> R<TableRef<'a>> {
        self.bump();
        self.expect(T::LParen)?;
        let doc = self.expr()?;
        self.expect(T::Comma)?;
        let path = self.text_literal()?;
        let columns = self.json_columns()?;
        self.expect(T::RParen)?;
        let alias = self.table_alias()?;
        Ok(TableRef::JsonTable(self.alloc(JsonTable { doc, path, columns, alias })))
    }

    fn json_columns(&mut self) -> R<&'a [JsonColumn<'a>]> {
        self.enter()?;
        self.expect(T::COLUMNS)?;
        let columns = self.paren_list(|p| {
            if p.at(T::NESTED) && p.peek() == T::PATH {
                p.bump();
                p.bump();
                let path = p.text_literal()?;
                return Ok(JsonColumn::Nested { path, columns: p.json_columns()? });
            }
            let name = p.ident()?;
            if p.eat(T::FOR) {
                p.expect(T::ORDINALITY)?;
                return Ok(JsonColumn::Ordinality(name));
            }
            let mut ty = p.data_type()?;
            if p.eat(T::COLLATE) {
                ty.collation = Some(p.collation_name()?);
            }
            let exists = p.eat(T::EXISTS);
            p.expect(T::PATH)?;
            let path = p.text_literal()?;
            let (on_empty, on_error) = p.answers_in_any_order()?;
            Ok(JsonColumn::Path { name, ty: p.alloc(ty), exists, path, on_empty, on_error })
        })?;
        self.leave();
        Ok(columns)
    }
}

/// A parenthesised query as an operand: without its parentheses if they change nothing.
fn unwrap<'a>(query: &'a Query<'a>) -> QueryBody<'a> {
    let plain = query.with.is_none()
        && query.order_by.is_empty()
        && query.limit.is_none()
        && query.locking.is_empty()
        && !matches!(query.body, QueryBody::SetOp { .. });
    if plain { query.body } else { QueryBody::Nested(query) }
}

/// `(t)` is `t`; `(t1, t2)` is a list.
fn group<'a>(refs: &'a [TableRef<'a>]) -> TableRef<'a> {
    match refs {
        [one] => *one,
        _ => TableRef::List(refs),
    }
}
