//! Queries: joins, subqueries, groups, set operations, common table expressions.

use super::expressions::Typed;
use super::{Generator, Info, Relation, Visible};
use crate::ast::{Body, Cte, Expr, Item, Query, Select, Source};
use crate::forms;
use crate::schema::{Column, Family, IndexKind, Table};
use crate::value::Value;

/// What a query is for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shape {
    /// The number of columns; any number if `None`.
    columns: Option<usize>,
    /// The family of the first column, if it matters.
    family: Option<Family>,
    /// Columns have names that differ: it is a derived table, a CTE or a side of a set operation.
    is_named: bool,
    /// Equal values in its result are the same.
    is_stable: bool,
    /// One row.
    is_scalar: bool,
}

const ANY: Shape = Shape { columns: None, family: None, is_named: false, is_stable: false, is_scalar: false };

/// What is known of a column's values.
pub(super) fn column_info(column: &Column) -> Info {
    let family = column.column_type.family();
    let is_stable = match family {
        Family::Text => column.is_plain,
        Family::Json => false,
        _ => true,
    };
    let is_small = column.is_plain
        && matches!(family, Family::Integer | Family::Decimal | Family::Real | Family::Bit | Family::Year);
    use crate::schema::Type;
    let is_unsigned = match column.column_type {
        Type::Integer { unsigned, .. } | Type::Decimal { unsigned, .. } => unsigned,
        Type::Bit(_) | Type::Year => true,
        _ => false,
    };
    Info { family, is_stable, is_small, is_unsigned }
}

fn visible(table: &Table) -> Vec<Visible> {
    let columns = table.columns.iter();
    columns.map(|column| Visible { name: column.name.clone(), info: column_info(column) }).collect()
}

impl Generator {
    /// A statement that reads.
    pub(super) fn query(&mut self) -> Query {
        let mut query = self.query_with_ctes();
        if query.with.is_empty() && query.select().is_some() && self.random.chance(4) {
            let lockings = ["FOR UPDATE", "FOR SHARE", "LOCK IN SHARE MODE", "FOR UPDATE SKIP LOCKED"];
            query.locking = Some(self.random.word(&lockings));
        }
        query
    }

    /// A common table expression for a change, visible to what is made next; it is not recursive.
    pub(super) fn cte_of_change(&mut self) -> Vec<Cte> {
        let had_temporary = std::mem::replace(&mut self.has_temporary, true);
        let name = self.fresh("cte");
        let (mut query, columns) = self.shaped(Shape { is_named: true, ..ANY });
        crate::walk::query_expressions(&mut query, &mut unbind);
        self.ctes.push(Relation { alias: name.clone(), columns });
        self.has_temporary = had_temporary;
        vec![Cte { name, columns: Vec::new(), query }]
    }

    fn query_with_ctes(&mut self) -> Query {
        let mut with = Vec::new();
        let mut is_recursive = false;
        if self.random.chance(12) {
            // A CTE may be named several times, a temporary table once.
            self.has_temporary = true;
            for _ in 0..1 + self.random.below(2) {
                let name = self.fresh("cte");
                if self.random.chance(30) {
                    is_recursive = true;
                    let (query, columns) = self.recursion(&name);
                    let visible = Relation { alias: name.clone(), columns };
                    let names = visible.columns.iter().map(|column| column.name.clone()).collect();
                    with.push(Cte { name, columns: names, query });
                    self.ctes.push(visible);
                } else {
                    let (query, mut columns) = self.shaped(Shape { is_named: true, ..ANY });
                    let mut names = Vec::new();
                    if self.random.chance(25) {
                        names.extend((0..columns.len()).map(|_| self.fresh("c")));
                        for (column, name) in columns.iter_mut().zip(&names) {
                            column.name.clone_from(name);
                        }
                    }
                    with.push(Cte { name: name.clone(), columns: names, query });
                    self.ctes.push(Relation { alias: name, columns });
                }
            }
            self.has_temporary = false;
        }
        // MySQL sends a parameter of a CTE that is not used with a type that is none.
        for cte in &mut with {
            crate::walk::query_expressions(&mut cte.query, &mut unbind);
        }
        let (mut query, _) = self.shaped(ANY);
        query.is_limit_bound = query.limit.is_some() && self.random.chance(50);
        query.with = with;
        query.is_recursive = is_recursive;
        query
    }

    /// Numbers from a start to an end, perhaps joined with a table at each step.
    fn recursion(&mut self, name: &str) -> (Query, Vec<Visible>) {
        let number = |value: i64| Expr::literal(Value::Int(i128::from(value)));
        let column = |name: &str| Expr::Column { relation: String::new(), name: name.to_owned() };
        let start = self.random.between(0, 2);
        let end = start + self.random.between(0, 6);
        let step =
            Expr::Call { form: forms::PLUS, arguments: vec![column("n"), number(self.random.between(1, 2))] };
        let text = self.random.chance(40);
        let mut first = vec![Item { expr: number(start), alias: None }];
        let mut next = vec![Item { expr: step, alias: None }];
        let mut columns = vec![Visible {
            name: "n".to_owned(),
            info: Info { family: Family::Integer, is_stable: true, is_small: true, is_unsigned: false },
        }];
        if text {
            let wide = forms::FORMS.iter().find(|form| form.template == "CAST({} AS CHAR)");
            let joined = forms::FORMS.iter().find(|form| form.template == "CONCAT({}, {})");
            if let (Some(_), Some(joined)) = (wide, joined) {
                first.push(Item { expr: Expr::literal(Value::Text("a,b,c,d,e".to_owned())), alias: None });
                let more = Expr::Call {
                    form: joined,
                    arguments: vec![column("n"), Expr::literal(Value::Text("x".into()))],
                };
                next.push(Item { expr: more, alias: None });
                columns.push(Visible {
                    name: "s".to_owned(),
                    info: Info { family: Family::Text, is_stable: true, is_small: false, is_unsigned: false },
                });
            }
        }
        let first = Query::of(Select { items: first, ..Select::default() });
        let next = Query::of(Select {
            items: next,
            from: Some(Source::Table { name: name.to_owned(), alias: name.to_owned(), hint: None }),
            filter: Some(Expr::Call { form: forms::LESS, arguments: vec![column("n"), number(end)] }),
            ..Select::default()
        });
        let operator = if self.random.chance(70) { "UNION ALL" } else { "UNION" };
        let mut query = Query::of(Select::default());
        query.body = Body::Set { operator, left: Box::new(first), right: Box::new(next) };
        (query, columns)
    }

    /// A query of a shape below its own WITH RECURSIVE, and its columns.
    fn with_recursion(&mut self, shape: Shape) -> (Query, Vec<Visible>) {
        let count = self.ctes.len();
        let name = self.fresh("cte");
        let (mut numbers, columns) = self.recursion(&name);
        crate::walk::query_expressions(&mut numbers, &mut unbind);
        let names = columns.iter().map(|column| column.name.clone()).collect();
        self.ctes.push(Relation { alias: name.clone(), columns });
        let (mut query, columns) = self.shaped(shape);
        self.ctes.truncate(count);
        query.with.insert(0, Cte { name, columns: names, query: numbers });
        query.is_recursive = true;
        (query, columns)
    }

    /// A query of a shape, and its columns.
    pub(super) fn shaped(&mut self, shape: Shape) -> (Query, Vec<Visible>) {
        if self.budget > 0 && self.random.chance(2) {
            self.budget -= 1;
            return self.with_recursion(shape);
        }
        if !shape.is_scalar && self.budget > 0 && self.random.chance(9) {
            self.budget -= 1;
            return self.set_operation(shape);
        }
        let is_grouped = shape.is_scalar || self.random.chance(25);
        let (select, columns) = if is_grouped { self.grouped(shape) } else { self.plain(shape) };
        let is_star = select.items.is_empty();
        let mut query = Query::of(select);
        if !shape.is_scalar && !is_star {
            self.order(&mut query, &columns);
            if shape.is_named && query.limit.is_none() {
                // MySQL may lose a column that only such an ORDER BY names, and answers 1054 then.
                query.order.clear();
                query.order_checked = 0;
            }
        }
        (query, columns)
    }

    /// ORDER BY some or all columns; LIMIT only where that decides which rows come.
    fn order(&mut self, query: &mut Query, columns: &[Visible]) {
        if !self.random.chance(45) {
            return;
        }
        let mut positions: Vec<usize> = (0..columns.len()).collect();
        for at in (1..positions.len()).rev() {
            positions.swap(at, self.random.below(at + 1));
        }
        let all = self.random.chance(60);
        if !all {
            positions.truncate(1 + self.random.below(positions.len()));
        }
        query.order = positions.iter().map(|position| (*position, self.random.chance(30))).collect();
        let checked = positions.iter().take_while(|position| columns[**position].info.is_stable).count();
        query.order_checked = checked;
        if checked == columns.len() && self.random.chance(45) {
            let offset = if self.random.chance(25) { self.random.below(4) as u64 } else { 0 };
            query.limit = Some((offset, *self.random.pick(&[0, 1, 2, 3, 5, 10, 1000])));
        }
    }

    fn set_operation(&mut self, shape: Shape) -> (Query, Vec<Visible>) {
        let operator = *self.random.pick(&[
            "UNION",
            "UNION",
            "UNION ALL",
            "UNION ALL",
            "INTERSECT",
            "EXCEPT",
            "INTERSECT ALL",
            "EXCEPT ALL",
        ]);
        let count = shape.columns.unwrap_or(1 + self.random.below(3));
        // Columns are made of the same families on both sides, seldom mixed.
        let families: Vec<Family> = (0..count).map(|_| self.family_of_some_table()).collect();
        let mut sides = Vec::new();
        let mut columns: Vec<Visible> = Vec::new();
        for side in 0..2 {
            let is_stable = operator != "UNION ALL" || shape.is_stable;
            let (select, found) = self.side(&families, shape.family, is_stable);
            let mut made = Query::of(select);
            if self.budget > 0 && self.random.chance(15) {
                // A set operation within; which of equal values it gives is certain.
                self.budget -= 1;
                let (other, _) = self.side(&families, shape.family, true);
                let inner = *self.random.pick(&["UNION ALL", "UNION", "EXCEPT", "INTERSECT"]);
                if is_stable || inner == "UNION ALL" {
                    let (left, right) = (Box::new(made), Box::new(Query::of(other)));
                    made = Query::of(Select::default());
                    made.body = Body::Set { operator: inner, left, right };
                }
            }
            if side == 0 {
                columns = found;
            } else {
                for (column, other) in columns.iter_mut().zip(&found) {
                    let same = column.info.family == other.info.family;
                    column.info.is_stable &= other.info.is_stable && (same || is_stable);
                    column.info.is_small &= other.info.is_small && same;
                    if !same {
                        column.info.family = Family::Text;
                    }
                }
            }
            sides.push(Box::new(made));
        }
        let mut query = Query::of(Select::default());
        let (Some(right), Some(left)) = (sides.pop(), sides.pop()) else { return (query, columns) };
        query.body = Body::Set { operator, left, right };
        self.order(&mut query, &columns);
        (query, columns)
    }

    fn family_of_some_table(&mut self) -> Family {
        let table = self.random.below(self.tables.len());
        let columns = &self.tables[table].columns;
        columns[self.random.below(columns.len())].column_type.family()
    }

    /// One side of a set operation.
    fn side(
        &mut self,
        families: &[Family],
        first: Option<Family>,
        is_stable: bool,
    ) -> (Select, Vec<Visible>) {
        let (from, relations) = self.from();
        self.scopes.push(relations);
        let mut select = Select { from: Some(from), ..Select::default() };
        let mut columns = Vec::new();
        for (index, family) in families.iter().enumerate() {
            let family = if index == 0 { first.unwrap_or(*family) } else { *family };
            let family = if self.random.chance(7) { self.some_family() } else { family };
            let mut typed = self.expr(family, 1);
            if is_stable {
                typed = self.stabilise(typed);
            }
            self.push_item(&mut select, &mut columns, typed, true);
        }
        select.filter = self.random.chance(60).then(|| self.condition(2).0);
        self.scopes.pop();
        (select, columns)
    }

    fn push_item(
        &mut self,
        select: &mut Select,
        columns: &mut Vec<Visible>,
        (expr, info): Typed,
        is_named: bool,
    ) {
        let mut alias = None;
        let mut name = String::new();
        if is_named || self.random.chance(30) {
            name = self.fresh("x");
            alias = Some(name.clone());
        }
        columns.push(Visible { name, info });
        select.items.push(Item { expr, alias });
    }

    /// A SELECT without groups.
    fn plain(&mut self, shape: Shape) -> (Select, Vec<Visible>) {
        let mut select = Select::default();
        if self.random.chance(6) && self.scopes.is_empty() {
            // Expressions alone.
            self.scopes.push(Vec::new());
        } else {
            let (from, relations) = self.from();
            select.from = Some(from);
            self.scopes.push(relations);
        }
        select.is_distinct = self.random.chance(14);
        let is_stable = shape.is_stable || select.is_distinct;
        let mut columns = Vec::new();
        let is_single = self.scopes.last().is_some_and(|relations| relations.len() == 1);
        if shape == ANY && !select.is_distinct && select.from.is_some() && self.random.chance(8)
            || is_single && shape.columns.is_none() && !is_stable && self.random.chance(4)
        {
            for relation in self.scopes.last().into_iter().flatten() {
                columns.extend(relation.columns.iter().cloned());
            }
        } else {
            let count = shape.columns.unwrap_or_else(|| 1 + self.random.below(4));
            for index in 0..count {
                let family = match shape.family {
                    Some(family) if index == 0 && self.random.chance(92) => family,
                    _ => self.some_family(),
                };
                let is_windowed = select.from.is_some() && self.random.chance(9);
                let mut typed = if is_windowed {
                    self.windowed(&mut select)
                } else {
                    let depth = if self.random.chance(55) { 0 } else { self.settings.depth };
                    self.expr(family, depth)
                };
                if is_stable {
                    typed = self.stabilise(typed);
                }
                self.push_item(&mut select, &mut columns, typed, shape.is_named);
            }
        }
        if select.from.is_some() {
            select.filter = self.random.chance(65).then(|| self.condition(self.settings.depth).0);
            self.modifiers(&mut select);
        }
        self.scopes.pop();
        (select, columns)
    }

    fn modifiers(&mut self, select: &mut Select) {
        if self.random.chance(4) {
            select.modifiers.push("STRAIGHT_JOIN".to_owned());
        }
        if self.random.chance(3) {
            let hints = [
                "/*+ NO_SEMIJOIN() */",
                "/*+ NO_BNL() */",
                "/*+ NO_MERGE() */",
                "/*+ SET_VAR(sort_buffer_size=32768) */",
                "/*+ SEMIJOIN(MATERIALIZATION) */",
                "/*+ SUBQUERY(INTOEXISTS) */",
                "/*+ NO_ICP() */",
                "/*+ JOIN_FIXED_ORDER() */",
            ];
            // Optimizer hints come first.
            let hint = (*self.random.pick(&hints)).to_owned();
            select.modifiers.insert(0, hint);
        }
    }

    /// GROUPING of some keys.
    fn grouping(&mut self, keys: &[Typed]) -> Typed {
        let count = 1 + self.random.below(2);
        let arguments = (0..count).map(|_| self.random.pick(keys).0.clone()).collect();
        let call = Expr::Aggregate {
            function: "GROUPING",
            is_distinct: false,
            arguments,
            order: Vec::new(),
            separator: None,
        };
        let info = Info { family: Family::Integer, is_stable: true, is_small: true, is_unsigned: false };
        (call, info)
    }

    /// A SELECT with aggregates.
    fn grouped(&mut self, shape: Shape) -> (Select, Vec<Visible>) {
        let (from, relations) = self.from();
        self.scopes.push(relations);
        let mut select = Select { from: Some(from), ..Select::default() };
        let mut columns = Vec::new();
        let mut keys: Vec<Typed> = Vec::new();
        if !shape.is_scalar && self.random.chance(80) {
            let budget = std::mem::take(&mut self.budget);
            let is_nested = self.scopes.len() > 1;
            self.is_local = true;
            for _ in 0..1 + self.random.below(3) {
                let family = self.some_family();
                // IN over a group by an expression is 1055 in MySQL, which moves the comparison into HAVING.
                let depth = if is_nested || self.random.chance(70) { 0 } else { 2 };
                let (expr, info) = self.expr(family, depth);
                // A literal would be a position.
                if !matches!(expr, Expr::Literal { .. }) {
                    let expr = unbound(expr);
                    keys.push((expr, info));
                }
            }
            self.budget = budget;
            self.is_local = false;
        }
        select.group = keys.iter().map(|(expr, _)| expr.clone()).collect();
        select.is_rollup = !keys.is_empty() && self.random.chance(12);
        let count = shape.columns.unwrap_or_else(|| 1 + self.random.below(4));
        for index in 0..count {
            let shown: Vec<Typed> = keys.iter().filter(|(_, info)| info.is_stable).cloned().collect();
            let typed = if select.is_rollup && self.random.chance(25) {
                self.grouping(&keys)
            } else if !shown.is_empty() && self.random.chance(45) {
                self.random.pick(&shown).clone()
            } else {
                let family = if index == 0 { shape.family } else { None };
                if !shape.is_scalar && family.is_none() && self.random.chance(5) {
                    self.window_over_groups()
                } else {
                    self.aggregate(family, shape.is_stable)
                }
            };
            let typed = if shape.is_stable { self.stabilise(typed) } else { typed };
            self.push_item(&mut select, &mut columns, typed, shape.is_named);
        }
        select.filter = self.random.chance(55).then(|| self.condition(self.settings.depth).0);
        if !shape.is_scalar && self.random.chance(25) {
            let (left, info) = self.aggregate(None, true);
            let aliases: Vec<usize> = (0..columns.len())
                .filter(|at| columns[*at].info.is_stable && columns[*at].name.starts_with('x'))
                .collect();
            let (left, info) = if !aliases.is_empty() && self.random.chance(30) {
                let column = &columns[*self.random.pick(&aliases)];
                (Expr::Column { relation: String::new(), name: column.name.clone() }, column.info)
            } else {
                (left, info)
            };
            let right = self.compared_in_having(info.family);
            let templates = ["({} = {})", "({} <> {})", "({} < {})", "({} >= {})", "({} <=> {})"];
            let template = *self.random.pick(&templates);
            if let Some(form) = forms::by_template(template) {
                select.having = Some(Expr::Call { form, arguments: vec![left, right] });
            }
        }
        if self.random.chance(20) {
            self.bare_keys(&mut select, &mut columns);
        } else if self.random.chance(25) {
            self.alias_keys(&mut select, &columns);
        }
        select.is_distinct = columns.iter().all(|column| column.info.is_stable) && self.random.chance(6);
        self.modifiers(&mut select);
        self.scopes.pop();
        (select, columns)
    }

    /// Writes keys of GROUP BY that are columns by their bare names, which are names of select items as well. Where several
    /// tables have a column of that name, the item is the key itself; else the name means the column, whatever the item is.
    fn bare_keys(&mut self, select: &mut Select, columns: &mut [Visible]) {
        let relations = self.scopes.last().cloned().unwrap_or_default();
        for key in &mut select.group {
            let Expr::Column { name, .. } = &*key else { continue };
            let name = name.clone();
            if columns.iter().any(|column| column.name == name) {
                continue;
            }
            let tables = relations
                .iter()
                .filter(|relation| relation.columns.iter().any(|column| column.name == name))
                .count();
            let is_fit = |item: &Item| tables == 1 || item.expr == *key;
            let fit: Vec<usize> = (0..columns.len()).filter(|at| is_fit(&select.items[*at])).collect();
            if fit.is_empty() || !self.random.chance(70) {
                continue;
            }
            let at = *self.random.pick(&fit);
            columns[at].name.clone_from(&name);
            select.items[at].alias = Some(name.clone());
            *key = Expr::Column { relation: String::new(), name };
        }
    }

    /// What HAVING compares with: a literal, seldom a subquery that names nothing around it.
    fn compared_in_having(&mut self, family: Family) -> Expr {
        if self.budget > 0 && self.random.chance(12) {
            let scopes = std::mem::take(&mut self.scopes);
            let scalar = self.scalar_subquery(family);
            self.scopes = scopes;
            if let Some((scalar, _)) = scalar {
                return scalar;
            }
        }
        self.literal(family).0
    }

    /// Writes keys of GROUP BY by the aliases of the select items that are the same.
    fn alias_keys(&mut self, select: &mut Select, columns: &[Visible]) {
        for key in &mut select.group {
            let item = select.items.iter().position(|item| item.expr == *key);
            let Some(at) = item.filter(|at| columns[*at].name.starts_with('x')) else { continue };
            if self.random.chance(70) {
                *key = Expr::Column { relation: String::new(), name: columns[at].name.clone() };
            }
        }
    }

    /// An aggregate with one right answer, or an expression of some.
    fn aggregate(&mut self, family: Option<Family>, is_stable: bool) -> Typed {
        let (one, info) = self.lone_aggregate(family, is_stable);
        if !self.random.chance(14) {
            return (one, info);
        }
        let templates = [
            "IFNULL({}, {})",
            "COALESCE({}, {})",
            "NULLIF({}, {})",
            "GREATEST({}, {})",
            "({} + {})",
            "({} = {})",
        ];
        let template = *self.random.pick(&templates);
        let is_number = matches!(info.family, Family::Integer | Family::Decimal);
        let Some(form) = forms::by_template(template).filter(|_| template != "({} + {})" || is_number) else {
            return (one, info);
        };
        let (other, of_other) = if self.random.chance(50) {
            self.literal(info.family)
        } else {
            self.lone_aggregate(Some(info.family), is_stable)
        };
        let family = if template == "({} = {})" { Family::Integer } else { info.family };
        let is_stable =
            template == "({} = {})" || info.is_stable && of_other.is_stable && family == of_other.family;
        // Digits of unlike numbers.
        let is_stable = is_stable && family != Family::Decimal;
        let info = Info { family, is_stable, is_small: false, is_unsigned: false };
        (Expr::Call { form, arguments: vec![one, other] }, info)
    }

    /// An aggregate with one right answer.
    pub(super) fn lone_aggregate(&mut self, family: Option<Family>, is_stable: bool) -> Typed {
        // An aggregate over columns of an outer query alone belongs to that query.
        let budget = std::mem::take(&mut self.budget);
        self.is_local = true;
        let typed = self.local_aggregate(family, is_stable);
        self.is_local = false;
        self.budget = budget;
        typed
    }

    fn local_aggregate(&mut self, family: Option<Family>, is_stable: bool) -> Typed {
        let known = |family, is_stable| Info { family, is_stable, is_small: false, is_unsigned: false };
        let simple = |function, arguments| Expr::Aggregate {
            function,
            is_distinct: false,
            arguments,
            order: Vec::new(),
            separator: None,
        };
        let mut choice = self.random.below(100);
        if family.is_some_and(|family| !matches!(family, Family::Integer | Family::Decimal)) {
            choice = 50; // MIN and MAX give any family.
        }
        match choice {
            0..=14 => (simple("COUNT", Vec::new()), known(Family::Integer, true)),
            15..=24 => {
                let family = self.some_family();
                (simple("COUNT", vec![self.expr(family, 1).0]), known(Family::Integer, true))
            }
            25..=34 => {
                let arguments = (0..1 + self.random.below(2)).map(|_| {
                    let family = self.some_family();
                    // MySQL counts a NULL that it computes of a parameter.
                    unbound(self.expr(family, 1).0)
                });
                let arguments = arguments.collect();
                let (function, order) = ("COUNT", Vec::new());
                let count =
                    Expr::Aggregate { function, is_distinct: true, arguments, order, separator: None };
                (count, known(Family::Integer, true))
            }
            35..=64 => {
                let family = family.unwrap_or_else(|| self.some_family());
                let typed = self.expr(family, 1);
                let (expr, info) = self.stabilise(typed);
                let function = *self.random.pick(&["MIN", "MAX"]);
                (simple(function, vec![expr]), known(info.family, true))
            }
            65..=79 => {
                let column = self.column_where(|info| info.is_small);
                let (expr, _) = column.unwrap_or_else(|| self.literal(Family::Integer));
                let function = *self.random.pick(&["SUM", "SUM", "AVG"]);
                let is_distinct = self.random.chance(20);
                let (arguments, order) = (vec![expr], Vec::new());
                let sum = Expr::Aggregate { function, is_distinct, arguments, order, separator: None };
                (sum, known(Family::Decimal, true))
            }
            80..=86 => {
                let column = self.column_where(|info| info.is_small && info.family == Family::Integer);
                let (expr, _) = column.unwrap_or_else(|| self.literal(Family::Integer));
                let function = *self.random.pick(&["BIT_AND", "BIT_OR", "BIT_XOR"]);
                (simple(function, vec![expr]), known(Family::Integer, true))
            }
            87..=94 => {
                let family = self.some_family();
                let typed = self.expr(family, 0);
                let (expr, _) = self.stabilise(typed);
                let order = vec![(unbound(expr.clone()), self.random.chance(30))];
                let order = if matches!(expr, Expr::Literal { .. }) { Vec::new() } else { order };
                let arguments = vec![unbound(expr)];
                let is_distinct = self.random.chance(40);
                let separator =
                    self.random.chance(30).then(|| *self.random.pick(&["", "; ", "'", "\\", "a", "-"]));
                let function = "GROUP_CONCAT";
                let joined = Expr::Aggregate { function, is_distinct, arguments, order, separator };
                (joined, known(Family::Text, is_stable))
            }
            _ => {
                let column = self.column_where(|info| info.is_small);
                let (expr, _) = column.unwrap_or_else(|| self.literal(Family::Integer));
                let function = *self.random.pick(&[
                    "STDDEV_POP",
                    "STDDEV_SAMP",
                    "VAR_POP",
                    "VAR_SAMP",
                    "STD",
                    "VARIANCE",
                ]);
                let rounded =
                    Expr::Call { form: forms::ROUNDED, arguments: vec![simple(function, vec![expr])] };
                (rounded, known(Family::Real, true))
            }
        }
    }

    /// What a query reads from, and what it makes visible.
    fn from(&mut self) -> (Source, Vec<Relation>) {
        let (mut source, relation) = self.relation();
        let mut relations = vec![relation];
        let joins = *self.random.pick(&[0, 0, 0, 1, 1, 1, 2, 2, 3]);
        for _ in 0..joins {
            let (right, relation) =
                if self.random.chance(8) { self.lateral(&relations) } else { self.relation() };
            (source, relations) = self.join(source, relations, right, relation);
        }
        (source, relations)
    }

    fn join(
        &mut self,
        left: Source,
        mut relations: Vec<Relation>,
        right: Source,
        relation: Relation,
    ) -> (Source, Vec<Relation>) {
        let kinds =
            ["JOIN", "JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "CROSS JOIN", "STRAIGHT_JOIN"];
        let mut kind = *self.random.pick(&kinds);
        let is_dependent =
            matches!(right, Source::Derived { is_lateral: true, .. } | Source::JsonTable { .. });
        if is_dependent && kind == "RIGHT JOIN" {
            kind = "LEFT JOIN";
        }
        let mut on = None;
        let mut using = Vec::new();
        // Names that stand once on each side.
        let common: Vec<String> = relation
            .columns
            .iter()
            .filter(|column| {
                let count = |name: &str| {
                    relations.iter().flat_map(|left| &left.columns).filter(|left| left.name == name).count()
                };
                count(&column.name) == 1
            })
            .map(|column| column.name.clone())
            .collect();
        let choice = self.random.below(100);
        if choice < 12 && !common.is_empty() && kind != "CROSS JOIN" && kind != "STRAIGHT_JOIN" {
            for _ in 0..1 + self.random.below(2) {
                let name = self.random.pick(&common).clone();
                if !using.contains(&name) {
                    using.push(name);
                }
            }
            relations.push(relation);
        } else if choice < 16 && relations.len() == 1 && kind != "CROSS JOIN" && kind != "STRAIGHT_JOIN" {
            kind = match kind {
                "LEFT JOIN" => "NATURAL LEFT JOIN",
                "RIGHT JOIN" => "NATURAL RIGHT JOIN",
                _ => "NATURAL JOIN",
            };
            relations.push(relation);
        } else {
            let condition = self.join_condition(&relations, &relation);
            relations.push(relation);
            if kind != "CROSS JOIN" || self.random.chance(50) {
                self.scopes.push(relations.clone());
                let mut condition = condition.unwrap_or_else(|| self.condition(1).0);
                if self.random.chance(20) {
                    let more = self.condition(1).0;
                    condition = Expr::Call { form: forms::AND, arguments: vec![condition, more] };
                }
                self.scopes.pop();
                on = Some(condition);
            }
        }
        (Source::Join { kind, left: Box::new(left), right: Box::new(right), on, using }, relations)
    }

    /// `left.column = right.column`, perhaps several, mostly of one family.
    fn join_condition(&mut self, left: &[Relation], right: &Relation) -> Option<Expr> {
        let mut condition: Option<Expr> = None;
        for _ in 0..*self.random.pick(&[1, 1, 1, 2, 2, 3]) {
            let relation = self.random.pick(left);
            if relation.columns.is_empty() || right.columns.is_empty() {
                return condition;
            }
            let a = self.random.pick(&relation.columns);
            let number = |family| {
                matches!(
                    family,
                    Family::Integer | Family::Decimal | Family::Real | Family::Bit | Family::Year
                )
            };
            let same: Vec<&Visible> = right
                .columns
                .iter()
                .filter(|b| b.info.family == a.info.family || number(a.info.family) && number(b.info.family))
                .collect();
            let temporal = super::is_temporal;
            let b = if same.is_empty() || self.random.chance(8) {
                self.random.pick(&right.columns)
            } else {
                same[self.random.below(same.len())]
            };
            if temporal(a.info.family) != temporal(b.info.family) && !self.random.chance(4) {
                continue;
            }
            let column = |relation: &Relation, column: &Visible| Expr::Column {
                relation: relation.alias.clone(),
                name: column.name.clone(),
            };
            let mut sides = vec![column(relation, a), column(right, b)];
            if self.random.chance(50) {
                sides.reverse();
            }
            let templates = [
                "({} = {})",
                "({} = {})",
                "({} = {})",
                "({} = {})",
                "({} <=> {})",
                "({} < {})",
                "({} >= {})",
            ];
            let template = *self.random.pick(&templates);
            let form = forms::FORMS.iter().find(|form| form.template == template)?;
            let equal = Expr::Call { form, arguments: sides };
            condition = Some(match condition {
                None => equal,
                Some(before) => Expr::Call { form: forms::AND, arguments: vec![before, equal] },
            });
        }
        condition
    }

    /// A derived table that sees these tables before it.
    fn lateral(&mut self, before: &[Relation]) -> (Source, Relation) {
        if self.budget == 0 {
            return self.relation();
        }
        self.budget -= 1;
        if self.random.chance(40) {
            return self.json_table(before);
        }
        self.scopes.push(before.to_vec());
        let (query, columns) = self.shaped(Shape { is_named: true, ..ANY });
        self.scopes.pop();
        let alias = self.fresh("l");
        let source = Source::Derived { query: Box::new(query), alias: alias.clone(), is_lateral: true };
        (source, Relation { alias, columns })
    }

    /// A table, CTE or derived table.
    pub(super) fn relation(&mut self) -> (Source, Relation) {
        if self.budget > 0 && self.random.chance(12) {
            self.budget -= 1;
            // A derived table sees no other table of its FROM, and those of outer queries.
            let (query, columns) = self.shaped(Shape { is_named: true, ..ANY });
            let alias = self.fresh("d");
            let source = Source::Derived { query: Box::new(query), alias: alias.clone(), is_lateral: false };
            return (source, Relation { alias, columns });
        }
        if !self.ctes.is_empty() && self.random.chance(60) {
            let cte = self.random.pick(&self.ctes).clone();
            let alias = self.fresh("q");
            let source = Source::Table { name: cte.alias, alias: alias.clone(), hint: None };
            return (source, Relation { alias, columns: cte.columns });
        }
        let mut table = self.random.below(self.tables.len());
        for _ in 0..self.tables.len() {
            let is_taken = self.tables[table].is_temporary && self.has_temporary;
            if self.target.as_ref() == Some(&self.tables[table].name) || is_taken {
                table = (table + 1) % self.tables.len();
            }
        }
        self.has_temporary |= self.tables[table].is_temporary;
        let hint = self.index_hint(table);
        let alias = self.fresh("r");
        let table = &self.tables[table];
        let source = Source::Table { name: table.name.clone(), alias: alias.clone(), hint };
        (source, Relation { alias, columns: visible(table) })
    }

    fn index_hint(&mut self, table: usize) -> Option<String> {
        if !self.random.chance(7) {
            return None;
        }
        let indexes = &self.tables[table].indexes;
        if indexes.is_empty() {
            return None;
        }
        let index = self.random.pick(indexes);
        let name = if index.kind == IndexKind::Primary { "PRIMARY" } else { &index.name };
        let verb = self.random.pick(&["USE INDEX", "FORCE INDEX", "IGNORE INDEX", "FORCE INDEX FOR JOIN"]);
        Some(format!("{verb} ({name})"))
    }

    /// A subquery with one row and one column.
    pub(super) fn scalar_subquery(&mut self, family: Family) -> Option<Typed> {
        self.budget = self.budget.checked_sub(1)?;
        let shape = Shape { columns: Some(1), family: Some(family), is_scalar: true, ..ANY };
        let (mut query, columns) = self.shaped(shape);
        self.lock(&mut query);
        let mut info = columns.first()?.info;
        info.is_small = false;
        Some((Expr::Scalar(Box::new(query)), info))
    }

    /// Seldom FOR UPDATE or FOR SHARE of a subquery.
    fn lock(&mut self, query: &mut Query) {
        if query.select().is_some() && self.random.chance(2) {
            query.locking = Some(self.random.word(&["FOR UPDATE", "FOR SHARE"]));
        }
    }

    /// A subquery with one row of as many columns as `families`, the first of its family.
    pub(super) fn row_subquery(&mut self, families: &[Family]) -> Option<Expr> {
        self.budget = self.budget.checked_sub(1)?;
        let (columns, family) = (Some(families.len()), families.first().copied());
        let (query, _) = self.shaped(Shape { columns, family, is_scalar: true, ..ANY });
        Some(Expr::Scalar(Box::new(query)))
    }

    /// What IN, ANY and ALL look into: a query, rather often a set operation.
    fn members(&mut self, shape: Shape) -> Query {
        if self.random.chance(25) { self.set_operation(shape).0 } else { self.shaped(shape).0 }
    }

    /// EXISTS, IN, ANY, ALL.
    pub(super) fn subquery_condition(&mut self) -> Expr {
        self.budget = self.budget.saturating_sub(1);
        let is_negated = self.random.chance(40);
        match self.random.below(10) {
            0..=3 => {
                let mut query = self.shaped(ANY).0;
                self.correlate(&mut query);
                self.lock(&mut query);
                Expr::Exists { query: Box::new(query), is_negated }
            }
            4..=7 => {
                let count = *self.random.pick(&[1, 1, 1, 2]);
                let families: Vec<Family> = (0..count).map(|_| self.some_family()).collect();
                let mut left: Vec<Expr> = families.iter().map(|family| self.expr(*family, 0).0).collect();
                let shape = Shape { columns: Some(count), family: Some(families[0]), ..ANY };
                let mut query = self.members(shape);
                query.limit = None; // IN with LIMIT is refused.
                let left = if count == 1 { left.remove(0) } else { Expr::Row(left) };
                Expr::InQuery { left: Box::new(left), query: Box::new(query), is_negated }
            }
            _ => {
                let family = self.some_family();
                let is_row = self.random.chance(15);
                let left = self.expr(family, 0).0;
                let left = if is_row {
                    let other = self.some_family();
                    Expr::Row(vec![left, self.expr(other, 0).0])
                } else {
                    left
                };
                let left = Box::new(left);
                let columns = Some(if is_row { 2 } else { 1 });
                let mut query = self.members(Shape { columns, family: Some(family), ..ANY });
                query.limit = None;
                if is_row {
                    // Rows are compared with all rows of a subquery by these alone.
                    let operator = if is_negated { "<>" } else { "=" };
                    return Expr::Quantified { left, operator, is_all: is_negated, query: Box::new(query) };
                }
                let operator = *self.random.pick(&["=", "<>", "<", "<=", ">", ">="]);
                Expr::Quantified { left, operator, is_all: is_negated, query: Box::new(query) }
            }
        }
    }

    /// Binds a subquery to the query around it by an equality, as people write them.
    fn correlate(&mut self, query: &mut Query) {
        let Body::Select(select) = &mut query.body else { return };
        if !select.group.is_empty() || !self.random.chance(60) {
            return;
        }
        let Some(Source::Table { name, alias, .. }) = &select.from else { return };
        let Some(table) = self.tables.iter().find(|table| table.name == *name) else { return };
        let columns = visible(table);
        let inner = Relation { alias: alias.clone(), columns };
        let Some(outer) = self.scopes.last().cloned() else { return };
        if outer.is_empty() {
            return;
        }
        if let Some(condition) = self.join_condition(&outer, &inner) {
            select.filter = Some(match select.filter.take() {
                None => condition,
                Some(filter) => Expr::Call { form: forms::AND, arguments: vec![condition, filter] },
            });
        }
    }

    /// A query that gives these families, one row after the other in a certain order.
    pub(super) fn rows_of(&mut self, families: &[Family]) -> Query {
        let (select, columns) = self.side(families, None, true);
        let mut query = Query::of(select);
        query.order = (0..columns.len()).map(|position| (position, false)).collect();
        query.order_checked = columns.len();
        query
    }
}

/// The expression with its parameters as literals: a grouped expression must be the same text twice.
pub(super) fn unbound(mut expr: Expr) -> Expr {
    crate::walk::expressions(&mut expr, &mut unbind);
    expr
}

fn unbind(expr: &mut Expr) {
    if let Expr::Literal { is_bound, .. } = expr {
        *is_bound = false;
    }
}
