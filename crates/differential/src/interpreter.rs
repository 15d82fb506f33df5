//! A naive interpreter of queries: every join compares all pairs of rows, every subquery runs again for every row.
//!
//! It knows integers, numbers with one digit behind the point (DECIMAL, JSON), plain texts of one collation, times as texts, and NULL,
//! and says [`Skip`] for all else, so that what it does answer is right by being simple. It is the third opinion beside the server's own other plans and a real MySQL.
//!
//! Invariants:
//! 1. It shares no code with the server: not its parser, its types, its plans or its comparisons.
//! 2. It never guesses: what MySQL may answer in several ways, or with an error, is [`Skip`].
//! 3. Its work is bounded by [`STEPS_MAX`].

use std::cell::Cell;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::ast::{Body, Expr, Query, Select, Source};
use crate::collation::Collation;
use crate::schema::Table;
use crate::value::Value;

/// Rows looked at by one query, of all joins and subqueries together.
const STEPS_MAX: u32 = 400_000;
/// Rounds of a recursive CTE.
const RECURSION_MAX: usize = 200;

/// This query is beyond the interpreter.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Skip(pub &'static str);

type Result<T> = std::result::Result<T, Skip>;

/// A value. Texts are folded ([`Collation::fold`]), so that equal ones are the same; so are numbers.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Datum {
    /// NULL, first in every order.
    Null,
    /// An integer of any width.
    Int(i128),
    /// A number that is no integer, in tenths.
    Tenths(i128),
    /// A text, or a time as a text of constant width.
    Text(String),
}

impl Ord for Datum {
    fn cmp(&self, other: &Datum) -> Ordering {
        let class = |datum: &Datum| match datum {
            Datum::Null => 0,
            Datum::Int(_) | Datum::Tenths(_) => 1,
            Datum::Text(_) => 2,
        };
        match (self, other) {
            (Datum::Text(left), Datum::Text(right)) => left.cmp(right),
            _ => class(self).cmp(&class(other)).then_with(|| self.raw_tenths().cmp(&other.raw_tenths())),
        }
    }
}

impl PartialOrd for Datum {
    fn partial_cmp(&self, other: &Datum) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Datum {
    fn of(value: &Value, collation: Collation) -> Result<Datum> {
        match value {
            Value::Null => Ok(Datum::Null),
            Value::Int(number) => Ok(Datum::Int(*number)),
            Value::Decimal(text) | Value::Json(text) => {
                let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
                let is_known = fraction.len() == 1 && !whole.is_empty();
                let digits = format!("{whole}{fraction}");
                match digits.parse() {
                    Ok(tenths) if is_known => Ok(Datum::tenths(tenths)),
                    _ => Err(Skip("a number with more digits, or no number")),
                }
            }
            Value::Text(text) => Ok(Datum::Text(collation.fold(text))),
            Value::Time(text) => time(text),
            _ => Err(Skip("a literal of another type")),
        }
    }

    fn tenths(tenths: i128) -> Datum {
        if tenths % 10 == 0 { Datum::Int(tenths / 10) } else { Datum::Tenths(tenths) }
    }

    fn raw_tenths(&self) -> i128 {
        match self {
            Datum::Int(number) => number.saturating_mul(10),
            Datum::Tenths(tenths) => *tenths,
            Datum::Null | Datum::Text(_) => 0,
        }
    }

    fn truth(&self) -> Result<Option<bool>> {
        match self {
            Datum::Null => Ok(None),
            Datum::Int(number) => Ok(Some(*number != 0)),
            Datum::Tenths(_) => Ok(Some(true)),
            Datum::Text(_) => Err(Skip("a text as a condition")),
        }
    }

    fn int(&self) -> Result<Option<i128>> {
        match self {
            Datum::Null => Ok(None),
            Datum::Int(number) => Ok(Some(*number)),
            Datum::Tenths(_) => Err(Skip("a fraction as an integer")),
            Datum::Text(_) => Err(Skip("a text as a number")),
        }
    }

    fn is_number(&self) -> bool {
        matches!(self, Datum::Int(_) | Datum::Tenths(_))
    }

    /// As a client reads it, [folded](Collation::fold_cell); `None` is NULL.
    #[must_use]
    pub fn shown(&self) -> Option<String> {
        match self {
            Datum::Null => None,
            Datum::Int(number) => Some(number.to_string()),
            Datum::Tenths(tenths) => {
                let sign = if *tenths < 0 { "-" } else { "" };
                let tenths = tenths.unsigned_abs();
                Some(format!("{sign}{}.{}", tenths / 10, tenths % 10))
            }
            Datum::Text(text) => Some(text.clone()),
        }
    }
}

/// `HH:MM:SS[.ffffff]` with all six digits behind the point.
fn time(text: &str) -> Result<Datum> {
    let (seconds, fraction) = text.split_once('.').unwrap_or((text, ""));
    if seconds.len() != "00:00:00".len() || fraction.len() > 6 {
        return Err(Skip("a time of another form"));
    }
    Ok(Datum::Text(format!("{seconds}.{fraction:0<6}")))
}

fn condition(truth: Option<bool>) -> Datum {
    truth.map_or(Datum::Null, |truth| Datum::Int(i128::from(truth)))
}

/// Compares two values of one type; `None` if one of them is NULL.
fn compare(left: &Datum, right: &Datum) -> Result<Option<Ordering>> {
    match (left, right) {
        (Datum::Null, _) | (_, Datum::Null) => Ok(None),
        (Datum::Text(_), Datum::Text(_)) => Ok(Some(left.cmp(right))),
        _ if left.is_number() && right.is_number() => Ok(Some(left.cmp(right))),
        _ => Err(Skip("values of two types compared")),
    }
}

/// Compares rows as `=` does: one pair that differs decides, else one NULL makes it unknown.
fn rows_equal(left: &[Datum], right: &[Datum]) -> Result<Option<bool>> {
    let mut unknown = false;
    for (left, right) in left.iter().zip(right) {
        match compare(left, right)? {
            Some(Ordering::Equal) => {}
            Some(_) => return Ok(Some(false)),
            None => unknown = true,
        }
    }
    Ok(if unknown { None } else { Some(true) })
}

/// What a query gives.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// The rows, in no order unless the query says one.
    pub rows: Vec<Vec<Datum>>,
}

/// One side of a FROM clause: where its columns lie in a row.
#[derive(Clone, Debug)]
struct Relation {
    alias: String,
    columns: Vec<String>,
}

/// The row an expression is about, and those of the enclosing queries.
#[derive(Clone, Copy)]
struct Scope<'s> {
    relations: &'s [Relation],
    row: &'s [Datum],
    group: Option<&'s Group<'s>>,
    aliases: &'s [(String, Datum)],
    outer: Option<&'s Scope<'s>>,
}

/// The rows an aggregate is about.
struct Group<'s> {
    keys: &'s [Expr],
    values: Vec<Datum>,
    rows: Vec<&'s Vec<Datum>>,
}

/// The tables, and how much work is left.
pub struct Interpreter<'t> {
    tables: &'t [Table],
    collation: Collation,
    steps: Cell<u32>,
}

type Ctes = Vec<(String, Rc<Rows>)>;

impl<'t> Interpreter<'t> {
    /// An interpreter over the rows of these tables, whose texts are all of this collation.
    #[must_use]
    pub fn new(tables: &'t [Table], collation: Collation) -> Interpreter<'t> {
        Interpreter { tables, collation, steps: Cell::new(STEPS_MAX) }
    }

    /// The rows of a query.
    ///
    /// # Errors
    /// [`Skip`].
    pub fn run(&self, query: &Query) -> Result<Rows> {
        self.steps.set(STEPS_MAX);
        self.query(query, &Vec::new(), None)
    }

    fn step(&self) -> Result<()> {
        self.steps.set(self.steps.get().checked_sub(1).ok_or(Skip("too much work"))?);
        Ok(())
    }

    fn query(&self, query: &Query, ctes: &Ctes, outer: Option<&Scope<'_>>) -> Result<Rows> {
        if query.locking.is_some() {
            return Err(Skip("a locking read"));
        }
        let mut ctes = ctes.clone();
        for cte in &query.with {
            let mut rows = match self.recursive(query, cte, &ctes, outer)? {
                Some(rows) => rows,
                None => self.query(&cte.query, &ctes, outer)?,
            };
            if !cte.columns.is_empty() {
                rows.columns.clone_from(&cte.columns);
            }
            ctes.push((cte.name.clone(), Rc::new(rows)));
        }
        let mut rows = match &query.body {
            Body::Select(select) => self.select(select, &ctes, outer)?,
            Body::Set { operator, left, right } => {
                let left = self.query(left, &ctes, outer)?;
                let right = self.query(right, &ctes, outer)?;
                set_operation(operator, left, right.rows)?
            }
        };
        if !query.order.is_empty() {
            rows.rows.sort_by(|left, right| {
                let one = |&(at, is_descending): &(usize, bool)| {
                    let ordering = left[at].cmp(&right[at]);
                    if is_descending { ordering.reverse() } else { ordering }
                };
                query.order.iter().map(one).find(|ordering| ordering.is_ne()).unwrap_or(Ordering::Equal)
            });
        }
        if let Some((offset, count)) = query.limit {
            let total = query.order.len() == rows.columns.len();
            if !total && (offset > 0 || rows.rows.len() as u64 > count) {
                return Err(Skip("LIMIT of an order that is not total"));
            }
            let skip = usize::try_from(offset).unwrap_or(usize::MAX);
            let take = usize::try_from(count).unwrap_or(usize::MAX);
            rows.rows = rows.rows.into_iter().skip(skip).take(take).collect();
        }
        Ok(rows)
    }

    /// A CTE that reads itself: `anchor UNION [ALL] rest`.
    fn recursive(
        &self,
        query: &Query,
        cte: &crate::ast::Cte,
        ctes: &Ctes,
        outer: Option<&Scope<'_>>,
    ) -> Result<Option<Rows>> {
        let Body::Set { operator, left, right } = &cte.query.body else { return Ok(None) };
        if !query.is_recursive || !reads(right, &cte.name) {
            return Ok(None);
        }
        let is_distinct = match *operator {
            "UNION ALL" => false,
            "UNION" | "UNION DISTINCT" => true,
            _ => return Err(Skip("recursion without UNION")),
        };
        let mut all = self.query(left, ctes, outer)?;
        if !cte.columns.is_empty() {
            all.columns.clone_from(&cte.columns);
        }
        if is_distinct {
            deduplicate(&mut all.rows);
        }
        let mut newest = all.rows.clone();
        for _ in 0..RECURSION_MAX {
            if newest.is_empty() {
                return Ok(Some(all));
            }
            let mut ctes = ctes.clone();
            let seen = Rows { columns: all.columns.clone(), rows: newest };
            ctes.push((cte.name.clone(), Rc::new(seen)));
            newest = self.query(right, &ctes, outer)?.rows;
            if is_distinct {
                deduplicate(&mut newest);
                newest.retain(|row| !all.rows.contains(row));
            }
            all.rows.extend(newest.iter().cloned());
        }
        Err(Skip("deep recursion"))
    }

    fn source(
        &self,
        source: &Source,
        ctes: &Ctes,
        outer: Option<&Scope<'_>>,
    ) -> Result<(Vec<Relation>, Vec<Vec<Datum>>)> {
        match source {
            Source::Table { name, alias, .. } => {
                let relation = |columns| vec![Relation { alias: alias.clone(), columns }];
                if let Some((_, rows)) = ctes.iter().rev().find(|cte| cte.0 == *name) {
                    return Ok((relation(rows.columns.clone()), rows.rows.clone()));
                }
                let table =
                    self.tables.iter().find(|table| table.name == *name).ok_or(Skip("no such table"))?;
                let row = |row: &Vec<Value>| {
                    row.iter().map(|value| Datum::of(value, self.collation)).collect::<Result<Vec<_>>>()
                };
                let rows = table.rows.iter().map(row).collect::<Result<_>>()?;
                Ok((relation(table.columns.iter().map(|column| column.name.clone()).collect()), rows))
            }
            Source::Derived { is_lateral: true, .. } | Source::JsonTable { .. } => Err(Skip("LATERAL")),
            Source::Derived { query, alias, .. } => {
                // A derived table does not see the tables beside it, but what encloses the query does reach it.
                let rows = self.query(query, ctes, outer)?;
                Ok((vec![Relation { alias: alias.clone(), columns: rows.columns }], rows.rows))
            }
            Source::Join { kind, left, right, on, using } => {
                if !using.is_empty() || kind.contains("NATURAL") {
                    return Err(Skip("USING"));
                }
                let (mut relations, left_rows) = self.source(left, ctes, outer)?;
                let left_width: usize = relations.iter().map(|relation| relation.columns.len()).sum();
                let (right_relations, right_rows) = self.source(right, ctes, outer)?;
                let right_width: usize = right_relations.iter().map(|relation| relation.columns.len()).sum();
                relations.extend(right_relations);
                let mut rows = Vec::new();
                let mut right_found = vec![false; right_rows.len()];
                for left_row in &left_rows {
                    let mut found = false;
                    for (at, right_row) in right_rows.iter().enumerate() {
                        self.step()?;
                        let mut row = left_row.clone();
                        row.extend_from_slice(right_row);
                        let scope =
                            Scope { relations: &relations, row: &row, group: None, aliases: &[], outer };
                        let fits = match on {
                            Some(on) => self.expr(on, &scope, ctes)?.truth()? == Some(true),
                            None => true,
                        };
                        if fits {
                            found = true;
                            right_found[at] = true;
                            rows.push(row);
                        }
                    }
                    if !found && kind.starts_with("LEFT") {
                        let mut row = left_row.clone();
                        row.extend(std::iter::repeat_n(Datum::Null, right_width));
                        rows.push(row);
                    }
                }
                if kind.starts_with("RIGHT") {
                    for (right_row, _) in right_rows.iter().zip(&right_found).filter(|(_, found)| !**found) {
                        let mut row = vec![Datum::Null; left_width];
                        row.extend_from_slice(right_row);
                        rows.push(row);
                    }
                }
                Ok((relations, rows))
            }
        }
    }

    fn select(&self, select: &Select, ctes: &Ctes, outer: Option<&Scope<'_>>) -> Result<Rows> {
        let (relations, rows) = match &select.from {
            Some(source) => self.source(source, ctes, outer)?,
            None => (Vec::new(), vec![Vec::new()]),
        };
        let mut kept = Vec::new();
        for row in rows {
            self.step()?;
            let scope = Scope { relations: &relations, row: &row, group: None, aliases: &[], outer };
            let fits = match &select.filter {
                Some(filter) => self.expr(filter, &scope, ctes)?.truth()? == Some(true),
                None => true,
            };
            if fits {
                kept.push(row);
            }
        }
        let columns = if select.items.is_empty() {
            relations.iter().flat_map(|relation| relation.columns.iter().cloned()).collect()
        } else {
            let name = |item: &crate::ast::Item| match (&item.alias, &item.expr) {
                (Some(alias), _) => alias.clone(),
                (None, Expr::Column { name, .. }) => name.clone(),
                (None, _) => String::new(),
            };
            select.items.iter().map(name).collect()
        };
        let is_grouped = !select.group.is_empty()
            || select.items.iter().any(|item| has_aggregate(&item.expr))
            || select.having.as_ref().is_some_and(has_aggregate);
        let mut out = Vec::new();
        if is_grouped {
            for group in self.groups(select, &relations, &kept, ctes, outer)? {
                let none: Vec<Datum> = Vec::new();
                let row = group.rows.first().copied().unwrap_or(&none);
                let scope = Scope { relations: &relations, row, group: Some(&group), aliases: &[], outer };
                out.extend(self.item_row(select, &scope, ctes)?);
            }
        } else {
            for row in &kept {
                let scope = Scope { relations: &relations, row, group: None, aliases: &[], outer };
                out.extend(self.item_row(select, &scope, ctes)?);
            }
        }
        if select.is_distinct {
            deduplicate(&mut out);
        }
        Ok(Rows { columns, rows: out })
    }

    /// One row of the result, if HAVING lets it pass.
    fn item_row(&self, select: &Select, scope: &Scope<'_>, ctes: &Ctes) -> Result<Option<Vec<Datum>>> {
        self.step()?;
        let row = if select.items.is_empty() {
            scope.row.to_vec()
        } else {
            select.items.iter().map(|item| self.expr(&item.expr, scope, ctes)).collect::<Result<_>>()?
        };
        if let Some(having) = &select.having {
            let named = |(item, value): (&crate::ast::Item, &Datum)| {
                item.alias.as_ref().map(|alias| (alias.clone(), value.clone()))
            };
            let aliases: Vec<(String, Datum)> = select.items.iter().zip(&row).filter_map(named).collect();
            let scope = Scope { aliases: &aliases, ..*scope };
            if self.expr(having, &scope, ctes)?.truth()? != Some(true) {
                return Ok(None);
            }
        }
        Ok(Some(row))
    }

    fn groups<'s>(
        &self,
        select: &'s Select,
        relations: &[Relation],
        rows: &'s [Vec<Datum>],
        ctes: &Ctes,
        outer: Option<&Scope<'_>>,
    ) -> Result<Vec<Group<'s>>> {
        let mut keyed: Vec<(Vec<Datum>, &'s Vec<Datum>)> = Vec::new();
        for row in rows {
            let scope = Scope { relations, row, group: None, aliases: &[], outer };
            let key = select.group.iter().map(|key| self.expr(key, &scope, ctes)).collect::<Result<_>>()?;
            keyed.push((key, row));
        }
        let width = select.group.len();
        let shortest = if select.is_rollup { 0 } else { width };
        let mut groups = Vec::new();
        for length in (shortest..=width).rev() {
            let mut found: BTreeMap<&[Datum], Vec<&'s Vec<Datum>>> = BTreeMap::new();
            if length == 0 {
                found.insert(&[], Vec::new());
            }
            for (key, row) in &keyed {
                found.entry(&key[..length]).or_default().push(row);
            }
            for (key, rows) in found {
                let mut values = key.to_vec();
                values.resize(width, Datum::Null);
                groups.push(Group { keys: &select.group, values, rows });
            }
        }
        Ok(groups)
    }

    fn column(&self, relation: &str, name: &str, scope: &Scope<'_>) -> Result<Datum> {
        if relation.is_empty()
            && let Some((_, value)) = scope.aliases.iter().find(|alias| alias.0 == name)
        {
            return Ok(value.clone());
        }
        let mut at = 0;
        let mut found = None;
        for candidate in scope.relations {
            if (relation.is_empty() || candidate.alias == relation)
                && let Some(position) = candidate.columns.iter().position(|column| column == name)
            {
                if found.is_some() {
                    return Err(Skip("an ambiguous name"));
                }
                found = Some(at + position);
            }
            at += candidate.columns.len();
        }
        match (found, scope.outer) {
            (Some(_), _) if scope.group.is_some() => Err(Skip("a column that is no key of the group")),
            (Some(at), _) => Ok(scope.row[at].clone()),
            (None, Some(outer)) => {
                // Within a group the outer query's columns are its keys.
                let expr = Expr::Column { relation: relation.to_owned(), name: name.to_owned() };
                match outer
                    .group
                    .and_then(|group| group.keys.iter().position(|key| *key == expr).map(|at| (group, at)))
                {
                    Some((group, at)) => Ok(group.values[at].clone()),
                    None => self.column(relation, name, outer),
                }
            }
            (None, None) => Err(Skip("no such column")),
        }
    }

    fn expr(&self, expr: &Expr, scope: &Scope<'_>, ctes: &Ctes) -> Result<Datum> {
        if let Some(group) = scope.group
            && let Some(at) = group.keys.iter().position(|key| key == expr)
        {
            return Ok(group.values[at].clone());
        }
        match expr {
            Expr::Column { relation, name } => self.column(relation, name, scope),
            Expr::Literal { value, .. } => Datum::of(value, self.collation),
            Expr::Call { form, arguments } => {
                let values = arguments
                    .iter()
                    .map(|argument| self.expr(argument, scope, ctes))
                    .collect::<Result<Vec<_>>>()?;
                call(form.template, &values)
            }
            Expr::Case { operand, branches, otherwise } => {
                let operand = operand.as_ref().map(|operand| self.expr(operand, scope, ctes)).transpose()?;
                for (when, then) in branches {
                    let when = self.expr(when, scope, ctes)?;
                    let holds = match &operand {
                        Some(operand) => compare(operand, &when)? == Some(Ordering::Equal),
                        None => when.truth()? == Some(true),
                    };
                    if holds {
                        return self.expr(then, scope, ctes);
                    }
                }
                otherwise.as_ref().map_or(Ok(Datum::Null), |otherwise| self.expr(otherwise, scope, ctes))
            }
            Expr::In { left, list, is_negated } => {
                let left = self.row_of(left, scope, ctes)?;
                let list =
                    list.iter().map(|item| self.row_of(item, scope, ctes)).collect::<Result<Vec<_>>>()?;
                Ok(condition(is_in(&left, &list)?.map(|found| found != *is_negated)))
            }
            Expr::Row(_) => Err(Skip("a row as a value")),
            Expr::Scalar(query) => {
                let rows = self.query(query, ctes, Some(scope))?;
                match &rows.rows[..] {
                    [] => Ok(Datum::Null),
                    [row] if row.len() == 1 => Ok(row[0].clone()),
                    _ => Err(Skip("a scalar subquery of several rows")),
                }
            }
            Expr::Exists { query, is_negated } => {
                let rows = self.query(query, ctes, Some(scope))?;
                Ok(condition(Some(rows.rows.is_empty() == *is_negated)))
            }
            Expr::InQuery { left, query, is_negated } => {
                let left = self.row_of(left, scope, ctes)?;
                let rows = self.query(query, ctes, Some(scope))?;
                Ok(condition(is_in(&left, &rows.rows)?.map(|found| found != *is_negated)))
            }
            Expr::Quantified { left, operator, is_all, query } => {
                let left = self.expr(left, scope, ctes)?;
                let rows = self.query(query, ctes, Some(scope))?;
                let mut unknown = false;
                for row in &rows.rows {
                    let [right] = &row[..] else { return Err(Skip("ANY over rows")) };
                    match compare(&left, right)? {
                        None => unknown = true,
                        Some(ordering) if holds(operator, ordering)? != *is_all => {
                            return Ok(condition(Some(!is_all)));
                        }
                        Some(_) => {}
                    }
                }
                Ok(condition(if unknown { None } else { Some(*is_all) }))
            }
            Expr::Window { .. } => Err(Skip("a window function")),
            Expr::Aggregate { function, is_distinct, arguments, order, separator: _ } => {
                self.aggregate(function, *is_distinct, arguments, order, scope, ctes)
            }
        }
    }

    fn row_of(&self, expr: &Expr, scope: &Scope<'_>, ctes: &Ctes) -> Result<Vec<Datum>> {
        match expr {
            Expr::Row(items) => items.iter().map(|item| self.expr(item, scope, ctes)).collect(),
            other => Ok(vec![self.expr(other, scope, ctes)?]),
        }
    }

    fn aggregate(
        &self,
        function: &str,
        is_distinct: bool,
        arguments: &[Expr],
        order: &[(Expr, bool)],
        scope: &Scope<'_>,
        ctes: &Ctes,
    ) -> Result<Datum> {
        let Some(group) = scope.group else { return Err(Skip("an aggregate of an outer query")) };
        if !order.is_empty() {
            return Err(Skip("an ordered aggregate"));
        }
        let mut values: Vec<Vec<Datum>> = Vec::new();
        for row in &group.rows {
            let scope = Scope { row, group: None, aliases: &[], ..*scope };
            let row = arguments
                .iter()
                .map(|argument| self.expr(argument, &scope, ctes))
                .collect::<Result<Vec<_>>>()?;
            if row.iter().all(|value| *value != Datum::Null) {
                values.push(row);
            }
        }
        if is_distinct {
            deduplicate(&mut values);
        }
        let firsts = || values.iter().filter_map(|row| row.first());
        match function {
            "COUNT" => Ok(Datum::Int(values.len() as i128)),
            "MIN" => Ok(firsts().min().cloned().unwrap_or(Datum::Null)),
            "MAX" => Ok(firsts().max().cloned().unwrap_or(Datum::Null)),
            "SUM" => {
                if !firsts().all(Datum::is_number) {
                    return Err(Skip("a sum of texts"));
                }
                let sum = firsts().map(Datum::raw_tenths).reduce(|left, right| left + right);
                Ok(sum.map_or(Datum::Null, Datum::tenths))
            }
            _ => Err(Skip("another aggregate")),
        }
    }
}

fn deduplicate(rows: &mut Vec<Vec<Datum>>) {
    let mut seen = std::collections::BTreeSet::new();
    rows.retain(|row| seen.insert(row.clone()));
}

fn set_operation(operator: &str, mut left: Rows, right: Vec<Vec<Datum>>) -> Result<Rows> {
    let is_all = operator.ends_with(" ALL");
    let mut counts: BTreeMap<Vec<Datum>, usize> = BTreeMap::new();
    right.iter().for_each(|row| *counts.entry(row.clone()).or_default() += 1);
    match operator.split(' ').next().unwrap_or_default() {
        "UNION" => left.rows.extend(right),
        "INTERSECT" | "EXCEPT" => {
            if !is_all {
                deduplicate(&mut left.rows);
            }
            let is_except = operator.starts_with("EXCEPT");
            left.rows.retain(|row| {
                let found = counts.get_mut(row).filter(|count| **count > 0);
                let is_found = found.is_some();
                if is_all && let Some(count) = found {
                    *count -= 1;
                }
                is_found != is_except
            });
        }
        _ => return Err(Skip("another set operation")),
    }
    if !is_all {
        deduplicate(&mut left.rows);
    }
    Ok(left)
}

fn is_in(left: &[Datum], list: &[Vec<Datum>]) -> Result<Option<bool>> {
    let mut unknown = false;
    for item in list {
        match rows_equal(left, item)? {
            Some(true) => return Ok(Some(true)),
            Some(false) => {}
            None => unknown = true,
        }
    }
    Ok(if unknown { None } else { Some(false) })
}

fn holds(operator: &str, ordering: Ordering) -> Result<bool> {
    match operator {
        "=" => Ok(ordering.is_eq()),
        "<>" | "!=" => Ok(ordering.is_ne()),
        "<" => Ok(ordering.is_lt()),
        "<=" => Ok(ordering.is_le()),
        ">" => Ok(ordering.is_gt()),
        ">=" => Ok(ordering.is_ge()),
        _ => Err(Skip("another comparison")),
    }
}

fn call(template: &str, values: &[Datum]) -> Result<Datum> {
    let truths = || values.iter().map(Datum::truth).collect::<Result<Vec<_>>>();
    let first_known = || values.iter().find(|value| **value != Datum::Null).cloned().unwrap_or(Datum::Null);
    let arithmetic = |compute: fn(i128, i128) -> Option<i128>| -> Result<Datum> {
        match (values[0].int()?, values[1].int()?) {
            (Some(left), Some(right)) => Ok(compute(left, right).map_or(Datum::Null, Datum::Int)),
            _ => Ok(Datum::Null),
        }
    };
    match template {
        "({} + {})" | "({} - {})" if values.iter().any(|value| matches!(value, Datum::Tenths(_))) => {
            match (&values[0], &values[1]) {
                (Datum::Null, _) | (_, Datum::Null) => Ok(Datum::Null),
                (left, right) if left.is_number() && right.is_number() => {
                    let right =
                        if template == "({} + {})" { right.raw_tenths() } else { -right.raw_tenths() };
                    Ok(Datum::tenths(left.raw_tenths() + right))
                }
                _ => Err(Skip("a text as a number")),
            }
        }
        "({} + {})" => arithmetic(i128::checked_add),
        "({} - {})" => arithmetic(i128::checked_sub),
        "({} * {})" => arithmetic(i128::checked_mul),
        "CAST({} AS TIME(6))" => match &values[0] {
            Datum::Text(text) => time(text),
            Datum::Null => Ok(Datum::Null),
            _ => Err(Skip("a number as a time")),
        },
        "CAST({} AS JSON)" if values[0].is_number() || values[0] == Datum::Null => Ok(values[0].clone()),
        "({} DIV {})" => arithmetic(i128::checked_div),
        "({} % {})" => arithmetic(i128::checked_rem),
        "({} AND {})" => {
            let truths = truths()?;
            Ok(condition(if truths.contains(&Some(false)) {
                Some(false)
            } else if truths.contains(&None) {
                None
            } else {
                Some(true)
            }))
        }
        "({} OR {})" => {
            let truths = truths()?;
            Ok(condition(if truths.contains(&Some(true)) {
                Some(true)
            } else if truths.contains(&None) {
                None
            } else {
                Some(false)
            }))
        }
        "({} XOR {})" => {
            let truths = truths()?;
            Ok(condition(truths[0].zip(truths[1]).map(|(left, right)| left != right)))
        }
        "(NOT {})" => Ok(condition(values[0].truth()?.map(|truth| !truth))),
        "({} IS NULL)" => Ok(condition(Some(values[0] == Datum::Null))),
        "({} IS NOT NULL)" => Ok(condition(Some(values[0] != Datum::Null))),
        "({} IS TRUE)" => Ok(condition(Some(values[0].truth()? == Some(true)))),
        "({} IS FALSE)" => Ok(condition(Some(values[0].truth()? == Some(false)))),
        "({} <=> {})" => Ok(condition(Some(match compare(&values[0], &values[1])? {
            Some(ordering) => ordering.is_eq(),
            None => values[0] == values[1],
        }))),
        "({} BETWEEN {} AND {})" => {
            let low = compare(&values[0], &values[1])?.map(Ordering::is_ge);
            let high = compare(&values[0], &values[2])?.map(Ordering::is_le);
            Ok(condition(match (low, high) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            }))
        }
        "COALESCE({}, {})" | "IFNULL({}, {})" => {
            if values.iter().any(Datum::is_number)
                && values.iter().any(|value| matches!(value, Datum::Text(_)))
            {
                return Err(Skip("a number or a text"));
            }
            Ok(first_known())
        }
        "NULLIF({}, {})" => Ok(match compare(&values[0], &values[1])? {
            Some(Ordering::Equal) => Datum::Null,
            _ => values[0].clone(),
        }),
        _ => {
            let operator = template.strip_prefix("({} ").and_then(|rest| rest.strip_suffix(" {})"));
            let operator = operator.ok_or(Skip("another function"))?;
            match compare(&values[0], &values[1])? {
                Some(ordering) => Ok(condition(Some(holds(operator, ordering)?))),
                None => Ok(Datum::Null),
            }
        }
    }
}

/// Whether an expression has an aggregate of its own query.
#[must_use]
pub fn has_aggregate(expr: &Expr) -> bool {
    match expr {
        Expr::Aggregate { .. } => true,
        Expr::Window { arguments, .. } => arguments.iter().any(has_aggregate),
        Expr::Call { arguments, .. } | Expr::Row(arguments) => arguments.iter().any(has_aggregate),
        Expr::Case { operand, branches, otherwise } => {
            operand.as_deref().is_some_and(has_aggregate)
                || branches.iter().any(|(when, then)| has_aggregate(when) || has_aggregate(then))
                || otherwise.as_deref().is_some_and(has_aggregate)
        }
        Expr::In { left, list, .. } => has_aggregate(left) || list.iter().any(has_aggregate),
        Expr::InQuery { left, .. } | Expr::Quantified { left, .. } => has_aggregate(left),
        Expr::Column { .. } | Expr::Literal { .. } | Expr::Scalar(_) | Expr::Exists { .. } => false,
    }
}

/// Whether a query's FROM clauses name a table, outside of subqueries in expressions.
fn reads(query: &Query, name: &str) -> bool {
    fn source_reads(source: &Source, name: &str) -> bool {
        match source {
            Source::Table { name: other, .. } => other == name,
            Source::JsonTable { .. } => false,
            Source::Derived { query, .. } => reads(query, name),
            Source::Join { left, right, .. } => source_reads(left, name) || source_reads(right, name),
        }
    }
    match &query.body {
        Body::Select(select) => select.from.as_ref().is_some_and(|source| source_reads(source, name)),
        Body::Set { left, right, .. } => reads(left, name) || reads(right, name),
    }
}
