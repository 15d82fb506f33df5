//! Queries that the [interpreter](crate::interpreter) knows: integers and words of one collation, with many ties and
//! NULLs, over tables with all kinds of indexes.
//!
//! The queries are small in types and rich in shape: joins of any nesting, correlated subqueries in every place,
//! derived tables, CTEs, groups, set operations.

use crate::ast::{Body, Cte, Expr, Item, Query, Select, Source};
use crate::forms::{self, Form};
use crate::random::Random;
use crate::schema::{Column, Index, IndexKind, IndexPart, Table, Type};
use crate::value::Value;

const WORDS: [&str; 6] = ["a", "ab", "b", "ba", "c", "zz"];
const COLLATION: &str = "utf8mb4_0900_ai_ci";
/// Levels of expressions and of queries inside each other.
const EXPRESSION_DEPTH_MAX: usize = 3;
const QUERY_DEPTH_MAX: usize = 3;

/// What values a column or expression has.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kind {
    Int,
    Word,
}

/// A relation that expressions may name.
#[derive(Clone, Debug)]
struct Visible {
    alias: String,
    columns: Vec<(String, Kind)>,
}

/// Tables of one round, and the queries over them.
pub struct Plain {
    random: Random,
    tables: Vec<Table>,
    aliases: usize,
    ctes: Vec<Visible>,
}

fn kind_of(column: &Column) -> Kind {
    if matches!(column.column_type, Type::Text { .. }) { Kind::Word } else { Kind::Int }
}

fn form(template: &str) -> &'static Form {
    forms::by_template(template).expect("a form of the table")
}

fn call(template: &str, arguments: Vec<Expr>) -> Expr {
    Expr::Call { form: form(template), arguments }
}

/// Whether two rows break a unique index between them.
fn is_duplicate(indexes: &[Index], columns: &[Column], left: &[Value], right: &[Value]) -> bool {
    let same = |part: &IndexPart| {
        let at = columns.iter().position(|column| column.name == part.column).expect("a column of the table");
        left[at] != Value::Null && left[at] == right[at]
    };
    indexes.iter().filter(|index| index.kind != IndexKind::Plain).any(|index| index.parts.iter().all(same))
}

impl Plain {
    /// The tables of this seed.
    #[must_use]
    pub fn new(seed: u64) -> Plain {
        let mut plain = Plain { random: Random::new(seed), tables: Vec::new(), aliases: 0, ctes: Vec::new() };
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

    fn table(&mut self, name: String) -> Table {
        let random = &mut self.random;
        let mut columns = Vec::new();
        for number in 0..random.between(2, 5) {
            let column_type = if random.chance(30) {
                Type::Text { keyword: "VARCHAR(10)".to_owned(), collation: COLLATION }
            } else {
                Type::Integer { bytes: *random.pick(&[1, 2, 3, 4, 8]), unsigned: random.chance(40) }
            };
            columns.push(Column {
                name: format!("c{number}"),
                column_type,
                is_nullable: random.chance(60),
                default: None,
                is_plain: true,
            });
        }
        let mut indexes: Vec<Index> = Vec::new();
        let index_count = random.between(0, 4);
        for number in 0..index_count {
            let kind = match random.below(5) {
                0 if !indexes.iter().any(|index| index.kind == IndexKind::Primary) => IndexKind::Primary,
                1 => IndexKind::Unique,
                _ => IndexKind::Plain,
            };
            let mut parts: Vec<IndexPart> = Vec::new();
            for _ in 0..random.between(1, 3) {
                let column = random.pick(&columns);
                let is_allowed = kind != IndexKind::Primary || !column.is_nullable;
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
            if !rows.iter().any(|other| is_duplicate(&indexes, &columns, other, &row)) {
                rows.push(row);
            }
        }
        Table { name, columns, indexes, rows }
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
        (0..count).map(|_| if self.random.chance(70) { Kind::Int } else { Kind::Word }).collect()
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
        Query { is_recursive, with, body, order, order_checked, limit, locking: None }
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
        self.ctes.push(Visible { alias: name.clone(), columns });
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
        let fitting: Vec<&Expr> =
            keys.iter().filter(|key| self.column_kind(key, own) == Some(kind)).collect();
        if !fitting.is_empty() && self.random.chance(50) {
            return (*self.random.pick(&fitting)).clone();
        }
        let argument = self.column(kind, own);
        let aggregate = |function, is_distinct, argument: Option<Expr>| Expr::Aggregate {
            function,
            is_distinct,
            arguments: argument.into_iter().collect(),
            order: Vec::new(),
        };
        match (kind, self.random.below(5)) {
            (Kind::Int, 0) => aggregate("COUNT", false, None),
            (Kind::Int, 1) => aggregate("COUNT", self.random.chance(50), Some(argument)),
            (Kind::Int, 2) => aggregate("SUM", self.random.chance(30), Some(argument)),
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
            visible.push(Visible { alias: alias.clone(), columns });
            return Source::Derived { query: Box::new(query), alias };
        }
        if !self.ctes.is_empty() && self.random.chance(40) {
            let cte = self.random.pick(&self.ctes).clone();
            visible.push(Visible { alias: alias.clone(), columns: cte.columns });
            return Source::Table { name: cte.alias, alias, hint: None };
        }
        let table = self.random.pick(&self.tables);
        let columns = table.columns.iter().map(|column| (column.name.clone(), kind_of(column))).collect();
        let name = table.name.clone();
        visible.push(Visible { alias: alias.clone(), columns });
        Source::Table { name, alias, hint: None }
    }

    fn join_condition(&mut self, visible: &[Visible], outer: &[Visible], depth: usize) -> Expr {
        let last = visible.len() - 1;
        let left_side = self.random.below(last.max(1));
        let kind = if self.random.chance(70) { Kind::Int } else { Kind::Word };
        let left = self.column(kind, &visible[left_side..=left_side]);
        let right = self.column(kind, &visible[last..]);
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

    /// A column of this kind, or a literal where there is none.
    fn column(&mut self, kind: Kind, visible: &[Visible]) -> Expr {
        for _ in 0..6 {
            if let Some((column, found)) = self.any_column(visible)
                && found == kind
            {
                return column;
            }
        }
        self.literal(kind)
    }

    fn literal(&mut self, kind: Kind) -> Expr {
        let value = match kind {
            _ if self.random.chance(5) => Value::Null,
            Kind::Int => Value::Int(self.random.between(-1, 6).into()),
            Kind::Word => Value::Text((*self.random.pick(&WORDS)).to_owned()),
        };
        Expr::Literal { value, is_bound: true }
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
            let function =
                if kind == Kind::Int { *self.random.pick(&["COUNT", "MIN", "MAX", "SUM"]) } else { "MAX" };
            let expr = Expr::Aggregate {
                function,
                is_distinct: false,
                arguments: vec![argument],
                order: Vec::new(),
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
                let left = self.column(Kind::Int, scope);
                let low = self.literal(Kind::Int);
                call("({} BETWEEN {} AND {})", vec![left, low, self.literal(Kind::Int)])
            }
            12 | 13 => {
                let kind = if self.random.chance(70) { Kind::Int } else { Kind::Word };
                let left = self.column(kind, scope);
                let list = (0..self.random.between(1, 4)).map(|_| self.literal(kind)).collect();
                Expr::In { left: Box::new(left), list, is_negated }
            }
            14..=16 if depth < QUERY_DEPTH_MAX => {
                let kinds =
                    if self.random.chance(80) { vec![Kind::Int] } else { vec![Kind::Int, Kind::Word] };
                let left = if let [kind] = kinds[..] {
                    self.column(kind, scope)
                } else {
                    Expr::Row(kinds.iter().map(|kind| self.column(*kind, scope)).collect())
                };
                let query = self.unlimited(&kinds, scope, depth);
                Expr::InQuery { left: Box::new(left), query: Box::new(query), is_negated }
            }
            17 | 18 if depth < QUERY_DEPTH_MAX => {
                let query = self.unlimited(&[Kind::Int], scope, depth);
                Expr::Exists { query: Box::new(query), is_negated }
            }
            19 if depth < QUERY_DEPTH_MAX => {
                let kind = if self.random.chance(70) { Kind::Int } else { Kind::Word };
                let left = Box::new(self.column(kind, scope));
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
        let kind = if self.random.chance(75) { Kind::Int } else { Kind::Word };
        let template = *self.random.pick(&[
            "({} = {})",
            "({} = {})",
            "({} <=> {})",
            "({} <> {})",
            "({} < {})",
            "({} >= {})",
        ]);
        let left = self.column(kind, scope);
        let right = match self.random.below(3) {
            0 => self.literal(kind),
            1 => self.column(kind, scope),
            _ => self.value(kind, scope, depth, level + 1),
        };
        call(template, vec![left, right])
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
        Some(Source::Derived { .. }) => Vec::new(),
        Some(Source::Table { name, alias, .. }) => {
            let columns = match tables.iter().find(|table| table.name == *name) {
                Some(table) => {
                    table.columns.iter().map(|column| (column.name.clone(), kind_of(column))).collect()
                }
                None => ctes
                    .iter()
                    .find(|cte| cte.alias == *name)
                    .map_or_else(Vec::new, |cte| cte.columns.clone()),
            };
            vec![Visible { alias: alias.clone(), columns }]
        }
    }
}

fn value(random: &mut Random, column: &Column) -> Value {
    if column.is_nullable && random.chance(20) {
        return Value::Null;
    }
    match &column.column_type {
        Type::Text { .. } => Value::Text((*random.pick(&WORDS)).to_owned()),
        Type::Integer { unsigned: true, .. } => Value::Int(random.between(0, 6).into()),
        _ => Value::Int(random.between(-2, 6).into()),
    }
}
