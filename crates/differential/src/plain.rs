//! Queries that the [interpreter](crate::interpreter) knows: integers (BIT and YEAR too), decimals, JSON numbers, times and words of one
//! collation, with many ties and NULLs, over tables with all kinds of indexes.
//!
//! The queries are small in types and rich in shape: joins of any nesting, correlated subqueries in every place,
//! derived tables, CTEs, groups, set operations.

use crate::ast::{Body, Cte, Expr, Item, Query, Select, Source};
use crate::collation::{COLLATIONS, Collation};
use crate::forms::{self, Form};
use crate::random::Random;
use crate::schema::{Column, Index, IndexKind, IndexPart, Table, Type};
use crate::value::Value;

/// Words, some equal to others in some collations.
const WORDS: [&str; 12] = ["a", "ab", "b", "ba", "c", "zz", "A", "aB", "a ", "b  ", "C", ""];
/// Times, with and without a fraction.
const TIMES: [&str; 6] =
    ["00:00:00", "07:30:00", "17:00:00.5", "17:00:00", "17:00:00.000001", "23:59:59.999999"];
/// Levels of expressions and of queries inside each other.
const EXPRESSION_DEPTH_MAX: usize = 3;
const QUERY_DEPTH_MAX: usize = 3;

/// What values a column or expression has.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kind {
    Int,
    /// A BIT column: an integer that is compared as it is, and printed as a number.
    Bit,
    /// YEAR, and integers that are years: a YEAR compared with a small number means another one.
    Year,
    /// DECIMAL with one digit behind the point.
    Tenth,
    /// A number in a JSON column.
    Json,
    /// TIME(6).
    Time,
    Word,
}

impl Kind {
    /// Whether values of both can be compared as numbers.
    fn is_number(self) -> bool {
        matches!(self, Kind::Int | Kind::Tenth | Kind::Json)
    }
}

/// A relation that expressions may name.
#[derive(Clone, Debug)]
struct Visible {
    alias: String,
    columns: Vec<(String, Kind)>,
    /// The columns of each index, if it is a table.
    keys: Vec<Vec<(String, Kind)>>,
}

impl Visible {
    /// What is no table.
    fn of(alias: String, columns: Vec<(String, Kind)>) -> Visible {
        Visible { alias, columns, keys: Vec::new() }
    }

    fn of_table(alias: String, table: &Table) -> Visible {
        let columns: Vec<(String, Kind)> =
            table.columns.iter().map(|column| (column.name.clone(), kind_of(column))).collect();
        let part = |part: &IndexPart| columns.iter().find(|column| column.0 == part.column).cloned();
        let keys = table.indexes.iter().map(|index| index.parts.iter().filter_map(part).collect()).collect();
        Visible { alias, columns, keys }
    }
}

/// Tables of one round, and the queries over them.
pub struct Plain {
    random: Random,
    collation: Collation,
    /// What kinds there are, the frequent ones several times.
    palette: Vec<Kind>,
    tables: Vec<Table>,
    aliases: usize,
    ctes: Vec<Visible>,
}

/// Columns of years have a name of their own: not all of them are of the type YEAR.
const YEAR_PREFIX: char = 'y';

fn kind_of(column: &Column) -> Kind {
    match column.column_type {
        _ if column.name.starts_with(YEAR_PREFIX) => Kind::Year,
        Type::Text { .. } => Kind::Word,
        Type::Decimal { .. } => Kind::Tenth,
        Type::Json => Kind::Json,
        Type::Time(_) => Kind::Time,
        Type::Bit(_) => Kind::Bit,
        _ => Kind::Int,
    }
}

fn form(template: &str) -> &'static Form {
    forms::by_template(template).expect("a form of the table")
}

fn call(template: &str, arguments: Vec<Expr>) -> Expr {
    Expr::Call { form: form(template), arguments }
}

/// Whether two rows break a unique index between them.
fn is_duplicate(
    indexes: &[Index],
    columns: &[Column],
    left: &[Value],
    right: &[Value],
    collation: Collation,
) -> bool {
    let same = |part: &IndexPart| {
        let at = columns.iter().position(|column| column.name == part.column).expect("a column of the table");
        match (&left[at], &right[at]) {
            (Value::Null, _) => false,
            (Value::Text(left), Value::Text(right)) => collation.fold(left) == collation.fold(right),
            (left, right) => left == right,
        }
    };
    indexes.iter().filter(|index| index.kind != IndexKind::Plain).any(|index| index.parts.iter().all(same))
}

impl Plain {
    /// The tables of this seed.
    #[must_use]
    pub fn new(seed: u64) -> Plain {
        let mut random = Random::new(seed);
        let collation = *random.pick(&COLLATIONS);
        let mut palette = vec![Kind::Int; 6];
        palette.extend([Kind::Word; 3]);
        for kind in [Kind::Year, Kind::Tenth, Kind::Json, Kind::Time] {
            if random.chance(30) {
                palette.extend([kind; 3]);
            }
        }
        let mut plain =
            Plain { random, collation, palette, tables: Vec::new(), aliases: 0, ctes: Vec::new() };
        let count = plain.random.between(2, 4);
        for number in 0..count {
            let table = plain.table(format!("t{number}"));
            plain.tables.push(table);
        }
        plain
    }

    /// The tables and their rows, which break no unique index.
    #[must_use]
    pub fn tables(&self) -> &[Table] {
        &self.tables
    }

    /// The collation of all texts.
    #[must_use]
    pub fn collation(&self) -> Collation {
        self.collation
    }

    fn kind(&mut self) -> Kind {
        *self.random.pick(&self.palette)
    }

    fn column_type(&mut self, kind: Kind) -> Type {
        let random = &mut self.random;
        match kind {
            Kind::Int if random.chance(10) => Type::Bit(4),
            Kind::Int => Type::Integer { bytes: *random.pick(&[1, 2, 3, 4, 8]), unsigned: random.chance(40) },
            Kind::Year if random.chance(60) => Type::Year,
            Kind::Year => Type::Integer { bytes: *random.pick(&[2, 4, 8]), unsigned: random.chance(40) },
            Kind::Bit => Type::Bit(4),
            Kind::Tenth => Type::Decimal { precision: *random.pick(&[3, 5]), scale: 1, unsigned: false },
            Kind::Json => Type::Json,
            Kind::Time => Type::Time(6),
            Kind::Word => Type::Text { keyword: "VARCHAR(10)".to_owned(), collation: self.collation.name },
        }
    }

    fn table(&mut self, name: String) -> Table {
        let mut columns = Vec::new();
        // A table of a many-to-many relation: two columns of a unique index by which it is looked up.
        let is_link = self.random.chance(25);
        for number in 0..self.random.between(2, 5) {
            let is_linked = is_link && number < 2;
            let kind = if is_linked { Kind::Int } else { self.kind() };
            columns.push(Column {
                name: format!("{}{number}", if kind == Kind::Year { YEAR_PREFIX } else { 'c' }),
                column_type: if is_linked {
                    Type::Integer { bytes: 4, unsigned: self.random.chance(40) }
                } else {
                    self.column_type(kind)
                },
                is_nullable: !is_linked && self.random.chance(60),
                default: None,
                is_plain: true,
                generated: None,
            });
        }
        let random = &mut self.random;
        let mut indexes: Vec<Index> = Vec::new();
        if is_link {
            let part = |column: &Column| IndexPart {
                column: column.name.clone(),
                prefix: None,
                is_descending: false,
            };
            let parts = columns.iter().take(2).map(part).collect();
            indexes.push(Index { name: "link".to_owned(), kind: IndexKind::Unique, parts });
        }
        let index_count = random.between(0, 4);
        for number in 0..index_count {
            let kind = match random.below(6) {
                0 if !indexes.iter().any(|index| index.kind == IndexKind::Primary) => IndexKind::Primary,
                1 | 2 => IndexKind::Unique,
                _ => IndexKind::Plain,
            };
            let mut parts: Vec<IndexPart> = Vec::new();
            for _ in 0..random.between(1, 4) {
                let column = random.pick(&columns);
                let is_allowed =
                    (kind != IndexKind::Primary || !column.is_nullable) && column.column_type != Type::Json;
                if is_allowed && !parts.iter().any(|part| part.column == column.name) {
                    let is_descending = random.chance(15);
                    parts.push(IndexPart { column: column.name.clone(), prefix: None, is_descending });
                }
            }
            if !parts.is_empty() {
                indexes.push(Index { name: format!("k{number}"), kind, parts });
            }
        }
        let mut rows: Vec<Vec<Value>> = Vec::new();
        for _ in 0..random.between(0, 14) {
            let row: Vec<Value> = columns.iter().map(|column| value(random, column)).collect();
            if !rows.iter().any(|other| is_duplicate(&indexes, &columns, other, &row, self.collation)) {
                rows.push(row);
            }
        }
        Table { name, columns, indexes, is_temporary: false, rows }
    }

    /// The next query.
    pub fn query(&mut self) -> Query {
        self.aliases = 0;
        self.ctes.clear();
        let kinds = self.kinds();
        self.full_query(&kinds, &[], 0)
    }

    fn kinds(&mut self) -> Vec<Kind> {
        let count = self.random.between(1, 3);
        (0..count).map(|_| self.kind()).collect()
    }

    fn alias(&mut self) -> String {
        self.aliases += 1;
        format!("x{}", self.aliases)
    }

    /// A query of these columns. `outer`: what it may be correlated with.
    fn full_query(&mut self, kinds: &[Kind], outer: &[Visible], depth: usize) -> Query {
        let ctes_before = self.ctes.len();
        let mut with = Vec::new();
        let mut is_recursive = false;
        if depth < 2 && self.random.chance(12) {
            is_recursive = self.random.chance(25);
            let cte = self.cte(is_recursive, depth);
            with.push(cte);
        }
        let body = if depth < QUERY_DEPTH_MAX && self.random.chance(12) {
            let left = self.full_query(kinds, outer, depth + 1);
            let right = self.full_query(kinds, outer, depth + 1);
            let operator = *self.random.pick(&[
                "UNION",
                "UNION ALL",
                "INTERSECT",
                "EXCEPT",
                "INTERSECT ALL",
                "EXCEPT ALL",
            ]);
            Body::Set { operator, left: Box::new(left), right: Box::new(right) }
        } else {
            Body::Select(Box::new(self.select(kinds, outer, depth)))
        };
        let mut order = Vec::new();
        let mut limit = None;
        if self.random.chance(if depth == 0 { 40 } else { 15 }) {
            order = (0..kinds.len()).map(|at| (at, self.random.chance(30))).collect();
            if self.random.chance(40) {
                limit = Some((self.random.below(3) as u64, self.random.below(5) as u64));
            }
        }
        self.ctes.truncate(ctes_before);
        let order_checked = order.len();
        Query { is_recursive, with, body, order, order_checked, limit, is_limit_bound: false, locking: None }
    }

    fn cte(&mut self, is_recursive: bool, depth: usize) -> Cte {
        let name = format!("w{}", self.ctes.len() + 10 * depth);
        let (columns, query) = if is_recursive {
            let one = Select {
                items: vec![Item {
                    expr: Expr::literal(Value::Int(self.random.between(0, 2).into())),
                    alias: None,
                }],
                ..Select::default()
            };
            let n = Expr::Column { relation: name.clone(), name: "c0".to_owned() };
            let end = Expr::literal(Value::Int(self.random.between(2, 6).into()));
            let next = Select {
                items: vec![Item {
                    expr: call("({} + {})", vec![n.clone(), Expr::literal(Value::Int(1))]),
                    alias: None,
                }],
                from: Some(Source::Table { name: name.clone(), alias: name.clone(), hint: None }),
                filter: Some(call("({} < {})", vec![n, end])),
                ..Select::default()
            };
            let body = Body::Set {
                operator: if self.random.chance(50) { "UNION ALL" } else { "UNION" },
                left: Box::new(Query::of(one)),
                right: Box::new(Query::of(next)),
            };
            (vec![("c0".to_owned(), Kind::Int)], Query { body, ..Query::of(Select::default()) })
        } else {
            let kinds = self.kinds();
            let query = self.full_query(&kinds, &[], depth + 1);
            (kinds.into_iter().enumerate().map(|(at, kind)| (format!("c{at}"), kind)).collect(), query)
        };
        let names = columns.iter().map(|column| column.0.clone()).collect();
        self.ctes.push(Visible::of(name.clone(), columns));
        Cte { name, columns: names, query }
    }

    fn select(&mut self, kinds: &[Kind], outer: &[Visible], depth: usize) -> Select {
        let mut visible = Vec::new();
        let from =
            if self.random.chance(4) { None } else { Some(self.source(&mut visible, outer, depth, 3)) };
        let own = visible.len();
        let mut scope = visible;
        scope.extend_from_slice(outer);
        let filter = (from.is_some() && self.random.chance(65)).then(|| self.condition(&scope, depth, 0));
        let mut select = Select { from, filter, ..Select::default() };
        let is_grouped = own > 0 && self.random.chance(25);
        if is_grouped {
            for _ in 0..self.random.below(3) {
                if let Some((column, _)) = self.any_column(&scope[..own])
                    && !select.group.contains(&column)
                {
                    select.group.push(column);
                }
            }
            select.is_rollup = !select.group.is_empty() && self.random.chance(25);
            let keys = select.group.clone();
            for kind in kinds {
                let expr = self.grouped(*kind, &keys, &scope[..own]);
                select.items.push(Item { expr, alias: None });
            }
            if select.is_rollup || self.random.chance(30) {
                let low = Expr::literal(Value::Int(self.random.between(0, 3).into()));
                let template = *self.random.pick(&["({} > {})", "({} <= {})", "({} <> {})"]);
                let aggregate = self.grouped(Kind::Int, &[], &scope[..own]);
                select.having = self.random.chance(50).then(|| call(template, vec![aggregate, low]));
            }
        } else {
            for kind in kinds {
                let expr = self.value(*kind, &scope, depth, 1);
                select.items.push(Item { expr, alias: None });
            }
        }
        for (at, item) in select.items.iter_mut().enumerate() {
            item.alias = Some(format!("c{at}"));
        }
        select.is_distinct = self.random.chance(20);
        select
    }

    fn grouped(&mut self, kind: Kind, keys: &[Expr], own: &[Visible]) -> Expr {
        let fitting: Vec<Expr> = keys
            .iter()
            .filter_map(|key| self.column_kind(key, own).and_then(|found| as_value(key.clone(), found, kind)))
            .collect();
        if !fitting.is_empty() && self.random.chance(50) {
            return self.random.pick(&fitting).clone();
        }
        let argument = self.column(kind, own);
        let aggregate = |function, is_distinct, argument: Option<Expr>| Expr::Aggregate {
            function,
            is_distinct,
            arguments: argument.into_iter().collect(),
            order: Vec::new(),
            separator: None,
        };
        match (kind, self.random.below(5)) {
            (Kind::Int, 0) => aggregate("COUNT", false, None),
            (Kind::Int, 1) => aggregate("COUNT", self.random.chance(50), Some(argument)),
            (Kind::Int | Kind::Tenth, 2) => aggregate("SUM", self.random.chance(30), Some(argument)),
            (_, 3) => aggregate("MIN", false, Some(argument)),
            _ => aggregate("MAX", false, Some(argument)),
        }
    }

    fn column_kind(&self, expr: &Expr, visible: &[Visible]) -> Option<Kind> {
        let Expr::Column { relation, name } = expr else { return None };
        let relation = visible.iter().find(|visible| visible.alias == *relation)?;
        relation.columns.iter().find(|column| column.0 == *name).map(|column| column.1)
    }

    fn source(
        &mut self,
        visible: &mut Vec<Visible>,
        outer: &[Visible],
        depth: usize,
        joins: usize,
    ) -> Source {
        if joins > 0 && self.random.chance(55) {
            let mut mine = Vec::new();
            let left = self.source(&mut mine, outer, depth, joins - 1);
            let right_joins = if self.random.chance(20) { joins - 1 } else { 0 };
            let right = self.source(&mut mine, outer, depth, right_joins);
            let kind =
                *self.random.pick(&["JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "STRAIGHT_JOIN"]);
            let on = self.join_condition(&mine, outer, depth);
            visible.extend(mine);
            return Source::Join {
                kind,
                left: Box::new(left),
                right: Box::new(right),
                on: Some(on),
                using: Vec::new(),
            };
        }
        let alias = self.alias();
        if depth < QUERY_DEPTH_MAX && self.random.chance(12) {
            let kinds = self.kinds();
            // A derived table does not see the tables beside it; it may see those of enclosing queries.
            let query = self.full_query(&kinds, outer, depth + 1);
            let columns = kinds.into_iter().enumerate().map(|(at, kind)| (format!("c{at}"), kind)).collect();
            visible.push(Visible::of(alias.clone(), columns));
            return Source::Derived { query: Box::new(query), alias, is_lateral: false };
        }
        if !self.ctes.is_empty() && self.random.chance(40) {
            let cte = self.random.pick(&self.ctes).clone();
            visible.push(Visible::of(alias.clone(), cte.columns));
            return Source::Table { name: cte.alias, alias, hint: None };
        }
        let table = self.random.pick(&self.tables);
        let name = table.name.clone();
        visible.push(Visible::of_table(alias.clone(), table));
        Source::Table { name, alias, hint: None }
    }

    fn join_condition(&mut self, visible: &[Visible], outer: &[Visible], depth: usize) -> Expr {
        let last = visible.len() - 1;
        if self.random.chance(30)
            && let Some(condition) = self.key_condition(&visible[last], &visible[..last])
        {
            return condition;
        }
        let left_side = self.random.below(last.max(1));
        let kind = self.kind();
        let other = self.comparable(kind);
        let left = self.side(kind, other, &visible[left_side..=left_side]);
        let right = self.side(other, kind, &visible[last..]);
        let template =
            *self.random.pick(&["({} = {})", "({} = {})", "({} = {})", "({} <=> {})", "({} < {})"]);
        let equality = call(template, vec![left, right]);
        if self.random.chance(25) {
            let mut scope = visible.to_vec();
            scope.extend_from_slice(outer);
            let other = self.condition(&scope, depth, 1);
            return call("({} AND {})", vec![equality, other]);
        }
        equality
    }

    /// A condition by which an index of a table can be looked up: its first columns equal something of `others`, the last one is
    /// one of a list, NULL, or in a range.
    fn key_condition(&mut self, of: &Visible, others: &[Visible]) -> Option<Expr> {
        if of.keys.is_empty() {
            return None;
        }
        let key = self.random.pick(&of.keys).clone();
        let mut all: Option<Expr> = None;
        let length = match self.random.below(3) {
            0 => self.random.between(1, key.len() as i64) as usize,
            _ => key.len(),
        };
        for (at, (name, kind)) in key.into_iter().take(length).enumerate() {
            let kind = if kind == Kind::Bit { Kind::Int } else { kind };
            let column = Expr::Column { relation: of.alias.clone(), name };
            let is_last = at + 1 == length;
            let condition = match self.random.below(6) {
                0..=2 if is_last => {
                    let list = (0..self.random.between(2, 4)).map(|_| self.literal(kind)).collect();
                    Expr::In { left: Box::new(column), list, is_negated: false }
                }
                3 | 4 if is_last => call("({} IS NULL)", vec![column]),
                5 if is_last => call("({} >= {})", vec![column, self.literal(kind)]),
                0 => call("({} = {})", vec![column, self.literal(kind)]),
                _ => call("({} = {})", vec![column, self.operand(kind, others)]),
            };
            all = Some(match all {
                Some(all) => call("({} AND {})", vec![all, condition]),
                None => condition,
            });
        }
        all
    }

    fn any_column(&mut self, visible: &[Visible]) -> Option<(Expr, Kind)> {
        // A CTE of a query that is complete by now has no columns here.
        let relations: Vec<&Visible> =
            visible.iter().filter(|relation| !relation.columns.is_empty()).collect();
        if relations.is_empty() {
            return None;
        }
        let relation = (*self.random.pick(&relations)).clone();
        let (name, kind) = self.random.pick(&relation.columns).clone();
        Some((Expr::Column { relation: relation.alias, name }, kind))
    }

    /// A value of this kind: a column, or a literal where there is none.
    fn column(&mut self, kind: Kind, visible: &[Visible]) -> Expr {
        for _ in 0..6 {
            if let Some((column, found)) = self.any_column(visible)
                && let Some(value) = as_value(column, found, kind)
            {
                return value;
            }
        }
        self.literal(kind)
    }

    /// A side of a comparison: as [`column`](Self::column), but a BIT column as it is.
    fn operand(&mut self, kind: Kind, visible: &[Visible]) -> Expr {
        for _ in 0..6 {
            if let Some((column, found)) = self.any_column(visible)
                && (found == kind || (kind, found) == (Kind::Int, Kind::Bit))
            {
                return column;
            }
        }
        self.literal(kind)
    }

    /// A side of a comparison with a value of `other`: beside JSON, BIT is no number.
    fn side(&mut self, kind: Kind, other: Kind, visible: &[Visible]) -> Expr {
        if kind == other { self.operand(kind, visible) } else { self.column(kind, visible) }
    }

    /// The kind of what a value of this kind is compared with.
    fn comparable(&mut self, kind: Kind) -> Kind {
        let other = self.kind();
        if kind.is_number() && other.is_number() && self.random.chance(50) { other } else { kind }
    }

    fn literal(&mut self, kind: Kind) -> Expr {
        if self.random.chance(5) {
            return Expr::Literal { value: Value::Null, is_bound: true };
        }
        match kind {
            Kind::Int | Kind::Bit => {
                Expr::Literal { value: Value::Int(self.random.between(-1, 6).into()), is_bound: true }
            }
            Kind::Year => {
                Expr::Literal { value: Value::Int(self.random.between(1999, 2004).into()), is_bound: true }
            }
            Kind::Tenth => Expr::Literal { value: tenths(&mut self.random), is_bound: false },
            Kind::Json => {
                let value = if self.random.chance(50) {
                    Value::Int(self.random.between(-1, 4).into())
                } else {
                    tenths(&mut self.random)
                };
                call("CAST({} AS JSON)", vec![Expr::Literal { value, is_bound: false }])
            }
            Kind::Time => {
                let text = Value::Text((*self.random.pick(&TIMES)).to_owned());
                call("CAST({} AS TIME(6))", vec![Expr::Literal { value: text, is_bound: false }])
            }
            Kind::Word => {
                Expr::Literal { value: Value::Text((*self.random.pick(&WORDS)).to_owned()), is_bound: true }
            }
        }
    }

    /// What a column of this kind is compared with: also a literal of another type that is converted.
    fn compared_literal(&mut self, kind: Kind) -> Expr {
        if self.random.chance(50) {
            return self.literal(kind);
        }
        let value = match kind {
            Kind::Time => {
                let text = *self.random.pick(&TIMES);
                let (seconds, fraction) = text.split_once('.').unwrap_or((text, ""));
                Value::Text(format!("{seconds}.{fraction:0<6}"))
            }
            Kind::Json | Kind::Tenth => Value::Int(self.random.between(-1, 4).into()),
            _ => return self.literal(kind),
        };
        Expr::Literal { value, is_bound: false }
    }

    fn value(&mut self, kind: Kind, scope: &[Visible], depth: usize, level: usize) -> Expr {
        if level >= EXPRESSION_DEPTH_MAX {
            return self.column(kind, scope);
        }
        match self.random.below(20) {
            0..=10 => self.column(kind, scope),
            11 | 12 => self.literal(kind),
            13 if kind == Kind::Int => {
                let template = *self.random.pick(&["({} + {})", "({} * {})", "({} DIV {})", "({} % {})"]);
                call(template, vec![self.column(kind, scope), self.literal(kind)])
            }
            13 if kind == Kind::Tenth => {
                let template = *self.random.pick(&["({} + {})", "({} - {})"]);
                call(template, vec![self.column(kind, scope), self.literal(kind)])
            }
            13 | 14 => {
                let template = *self.random.pick(&["COALESCE({}, {})", "IFNULL({}, {})", "NULLIF({}, {})"]);
                let first = self.value(kind, scope, depth, level + 1);
                call(template, vec![first, self.column(kind, scope)])
            }
            15 | 16 => {
                let when = self.condition(scope, depth, level + 1);
                let then = self.value(kind, scope, depth, level + 1);
                let otherwise = self.random.chance(70).then(|| Box::new(self.column(kind, scope)));
                Expr::Case { operand: None, branches: vec![(when, then)], otherwise }
            }
            17 | 18 if depth < QUERY_DEPTH_MAX => {
                Expr::Scalar(Box::new(self.scalar_query(kind, scope, depth)))
            }
            _ if kind == Kind::Int => self.condition(scope, depth, level + 1),
            _ => self.column(kind, scope),
        }
    }

    /// A subquery of one row at the most: an aggregate, or LIMIT 1 of a total order.
    fn scalar_query(&mut self, kind: Kind, scope: &[Visible], depth: usize) -> Query {
        let mut query = self.full_query(&[kind], scope, depth + 1);
        if let Body::Select(select) = &mut query.body
            && self.random.chance(60)
            && select.group.is_empty()
            && select.having.is_none()
            && select.from.is_some()
        {
            let own = visible_of(select.from.as_ref(), &self.tables, &self.ctes);
            let argument = self.column(kind, &own);
            let function = match kind {
                Kind::Int => *self.random.pick(&["COUNT", "MIN", "MAX", "SUM"]),
                Kind::Tenth => *self.random.pick(&["MIN", "MAX", "SUM"]),
                _ => *self.random.pick(&["MIN", "MAX"]),
            };
            let expr = Expr::Aggregate {
                function,
                is_distinct: false,
                arguments: vec![argument],
                order: Vec::new(),
                separator: None,
            };
            select.items = vec![Item { expr, alias: Some("c0".to_owned()) }];
            select.is_distinct = false;
            query.order.clear();
            query.order_checked = 0;
            query.limit = None;
            return query;
        }
        query.order = vec![(0, self.random.chance(50))];
        query.order_checked = 1;
        query.limit = Some((0, 1));
        query
    }

    fn condition(&mut self, scope: &[Visible], depth: usize, level: usize) -> Expr {
        if level >= EXPRESSION_DEPTH_MAX {
            return self.comparison(scope, depth, level);
        }
        if self.random.chance(12)
            && let Some(relation) = (!scope.is_empty()).then(|| self.random.pick(scope).clone())
            && let Some(condition) = self.key_condition(&relation, scope)
        {
            return condition;
        }
        let is_negated = self.random.chance(40);
        match self.random.below(20) {
            0..=5 => self.comparison(scope, depth, level),
            6 | 7 => {
                let template = *self.random.pick(&["({} AND {})", "({} OR {})", "({} OR {})", "({} XOR {})"]);
                let left = self.condition(scope, depth, level + 1);
                call(template, vec![left, self.condition(scope, depth, level + 1)])
            }
            8 => call("(NOT {})", vec![self.condition(scope, depth, level + 1)]),
            9 | 10 => {
                let template = *self.random.pick(&["({} IS NULL)", "({} IS NOT NULL)"]);
                let column = self.any_column(scope).map_or(Expr::literal(Value::Null), |column| column.0);
                call(template, vec![column])
            }
            11 => {
                let left = self.operand(Kind::Int, scope);
                let low = self.literal(Kind::Int);
                call("({} BETWEEN {} AND {})", vec![left, low, self.literal(Kind::Int)])
            }
            12 | 13 => {
                let kind = self.kind();
                let left = self.operand(kind, scope);
                let is_column = matches!(left, Expr::Column { .. });
                let list = (0..self.random.between(1, 4))
                    .map(|_| if is_column { self.compared_literal(kind) } else { self.literal(kind) })
                    .collect();
                Expr::In { left: Box::new(left), list, is_negated }
            }
            14..=16 if depth < QUERY_DEPTH_MAX => {
                let mut kinds = vec![self.kind()];
                if self.random.chance(20) {
                    kinds.push(self.kind());
                }
                let left = if let [kind] = kinds[..] {
                    self.operand(kind, scope)
                } else {
                    Expr::Row(kinds.iter().map(|kind| self.operand(*kind, scope)).collect())
                };
                let query = self.unlimited(&kinds, scope, depth);
                Expr::InQuery { left: Box::new(left), query: Box::new(query), is_negated }
            }
            17 | 18 if depth < QUERY_DEPTH_MAX => {
                let query = self.unlimited(&[Kind::Int], scope, depth);
                Expr::Exists { query: Box::new(query), is_negated }
            }
            19 if depth < QUERY_DEPTH_MAX => {
                let kind = self.kind();
                let left = Box::new(self.operand(kind, scope));
                let operator = *self.random.pick(&["=", "<>", "<", "<=", ">", ">="]);
                let is_all = self.random.chance(50);
                let query = Box::new(self.unlimited(&[kind], scope, depth));
                Expr::Quantified { left, operator, is_all, query }
            }
            _ => self.comparison(scope, depth, level),
        }
    }

    /// MySQL has no LIMIT directly inside of IN and ANY.
    fn unlimited(&mut self, kinds: &[Kind], scope: &[Visible], depth: usize) -> Query {
        let mut query = self.full_query(kinds, scope, depth + 1);
        query.limit = None;
        query
    }

    fn comparison(&mut self, scope: &[Visible], depth: usize, level: usize) -> Expr {
        let kind = self.kind();
        let template = *self.random.pick(&[
            "({} = {})",
            "({} = {})",
            "({} <=> {})",
            "({} <> {})",
            "({} < {})",
            "({} >= {})",
        ]);
        let case = self.random.below(3);
        let other = if case == 1 { self.comparable(kind) } else { kind };
        let left = self.side(kind, other, scope);
        let right = match case {
            0 if matches!(left, Expr::Column { .. }) => self.compared_literal(kind),
            0 => self.literal(kind),
            1 => self.side(other, kind, scope),
            _ => self.value(kind, scope, depth, level + 1),
        };
        call(template, vec![left, right])
    }
}

/// A column of one kind as a value of another, if it is one: what a client reads of BIT are bytes.
fn as_value(column: Expr, found: Kind, wanted: Kind) -> Option<Expr> {
    match (found, wanted) {
        (Kind::Bit, Kind::Int) => Some(call("({} + {})", vec![column, Expr::literal(Value::Int(0))])),
        _ => (found == wanted).then_some(column),
    }
}

fn visible_of(source: Option<&Source>, tables: &[Table], ctes: &[Visible]) -> Vec<Visible> {
    match source {
        None => Vec::new(),
        Some(Source::Join { left, right, .. }) => {
            let mut all = visible_of(Some(left), tables, ctes);
            all.extend(visible_of(Some(right), tables, ctes));
            all
        }
        Some(Source::Derived { .. } | Source::JsonTable { .. }) => Vec::new(),
        Some(Source::Table { name, alias, .. }) => {
            let columns = || {
                ctes.iter().find(|cte| cte.alias == *name).map_or_else(Vec::new, |cte| cte.columns.clone())
            };
            vec![match tables.iter().find(|table| table.name == *name) {
                Some(table) => Visible::of_table(alias.clone(), table),
                None => Visible::of(alias.clone(), columns()),
            }]
        }
    }
}

fn value(random: &mut Random, column: &Column) -> Value {
    if column.is_nullable && random.chance(20) {
        return Value::Null;
    }
    match (&column.column_type, kind_of(column)) {
        (_, Kind::Year) => Value::Int(random.between(1999, 2004).into()),
        (_, Kind::Word) => Value::Text((*random.pick(&WORDS)).to_owned()),
        (_, Kind::Tenth) => tenths(random),
        (_, Kind::Json) => {
            let Value::Decimal(text) = tenths(random) else { return Value::Null };
            let whole = text.strip_suffix(".0").filter(|_| random.chance(50));
            Value::Json(whole.map_or(text.clone(), str::to_owned))
        }
        (_, Kind::Time) => Value::Time((*random.pick(&TIMES)).to_owned()),
        (Type::Integer { bytes, unsigned }, _) if random.chance(4) => extreme(*bytes, *unsigned, random),
        (Type::Integer { unsigned: true, .. } | Type::Bit(_), _) => Value::Int(random.between(0, 6).into()),
        _ => Value::Int(random.between(-2, 6).into()),
    }
}

/// The smallest or the largest number of a type.
fn extreme(bytes: u8, is_unsigned: bool, random: &mut Random) -> Value {
    let count = 1_i128 << (8 * u32::from(bytes));
    let least = if is_unsigned { 0 } else { -count / 2 };
    Value::Int(if random.chance(50) { least } else { least + count - 1 })
}

/// A number with one digit behind the point.
fn tenths(random: &mut Random) -> Value {
    let tenths = random.between(-2, 8) * 5;
    Value::Decimal(format!(
        "{}{}.{}",
        if tenths < 0 { "-" } else { "" },
        tenths.abs() / 10,
        tenths.abs() % 10
    ))
}
