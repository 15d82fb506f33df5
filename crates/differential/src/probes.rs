//! Every expression of a statement, evaluated by itself.
//!
//! A probe is a query that shows one expression of a statement, for every row with every other of the tables that it names. No
//! condition, join, group or limit keeps a row away from it, those of derived tables and CTEs that it names included, so a server that knows an error of
//! the expression gives it there.
//!
//! 1. The probes of all that an expression evaluates, its subqueries included, stand directly before its own: [`Probe::below`].
//! 2. A condition has a second probe that negates it, since its conversion to a truth value may be what fails.
//! 3. What is looked for in a subquery is compared with each item of its rows, too.
//! 4. JSON_TABLE has a probe of the rows that it makes.
//! 5. What gives a truth value has another as a WHERE, where constants beside columns are converted before rows are read.

use std::ops::Range;

use crate::ast::{Body, Cte, Expr, Item, Query, Rows, Select, Source, Statement};
use crate::forms;
use crate::schema::Family;
use crate::value::Value;
use crate::walk;

/// Tables that a probe joins at most: it reads each row with each.
const SOURCES_MAX: usize = 3;
/// Probes of a statement at most.
const PROBES_MAX: usize = 240;

/// One expression by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Probe {
    /// The expression, as the statement has it.
    pub expr: Expr,
    /// What evaluates it.
    pub query: Query,
    /// The probes of what it evaluates.
    pub below: Range<usize>,
    /// It stands where it is evaluated only for some rows or values, or not at all, whatever the plan: in an arm of CASE, IF or COALESCE, in the
    /// select list above WHERE, or in a query that has no row as it is written (WHERE 0, LIMIT 0).
    pub is_guarded: bool,
}

impl Probe {
    /// Whether it only shows a column: an error is of the derived table that computes it.
    #[must_use]
    pub fn is_column(&self) -> bool {
        match &self.query.body {
            Body::Select(select) => select.items.iter().all(|item| matches!(item.expr, Expr::Column { .. })),
            Body::Set { .. } => false,
        }
    }
}

/// The probes of a statement; nothing if they are too many.
#[must_use]
pub fn of(statement: &Statement) -> Option<Vec<Probe>> {
    let mut gather = Gather::default();
    let scope = Scope::default();
    match statement {
        Statement::Query(query) | Statement::CreateSelect { query, .. } => gather.query(query, &scope),
        Statement::Insert { rows: Rows::Query(query), .. } => gather.query(query, &scope),
        Statement::Insert { rows: Rows::Values(rows), .. } => {
            rows.iter().flatten().flatten().for_each(|expr| gather.expr(expr, &scope));
        }
        Statement::Update { with, from, sets, filter, .. } => {
            let scope = gather.with(with, scope);
            let scope = gather.source(from, &scope);
            sets.iter().for_each(|(_, expr)| gather.expr(expr, &scope));
            filter.iter().for_each(|expr| gather.condition(expr, &scope));
        }
        Statement::Delete { with, from, filter, .. } => {
            let scope = gather.with(with, scope);
            let scope = gather.source(from, &scope);
            filter.iter().for_each(|expr| gather.condition(expr, &scope));
        }
        Statement::Alter { .. } | Statement::Plain(_) => {}
    }
    (gather.found.len() <= PROBES_MAX).then_some(gather.found)
}

/// Which of the failing probes fail by themselves, not because of what they evaluate.
#[must_use]
pub fn by_themselves(probes: &[Probe], fails: &[bool]) -> Vec<usize> {
    let is_own = |&at: &usize| {
        let probe = &probes[at];
        fails[at] && !probe.is_column() && !probe.below.clone().any(|below| fails[below])
    };
    (0..probes.len()).filter(is_own).collect()
}

/// What an expression may name.
#[derive(Clone, Default)]
struct Scope {
    is_recursive: bool,
    with: Vec<Cte>,
    /// Tables and derived tables, of the queries around as well.
    sources: Vec<Source>,
}

impl Scope {
    /// The query that shows `expr`, or has it as its WHERE; nothing if it would read too much.
    fn query(&self, expr: &Expr, is_filter: bool) -> Option<Query> {
        let mut names = Vec::new();
        walk::expressions(&mut expr.clone(), &mut |expr| {
            if let Expr::Column { relation, .. } = expr {
                names.push(relation.clone());
            }
        });
        let is_named = |source: &Source, names: &[String]| match source {
            Source::Table { alias, .. } | Source::Derived { alias, .. } | Source::JsonTable { alias, .. } => {
                names.iter().any(|name| name == alias || name.is_empty())
            }
            Source::Join { .. } => false,
        };
        // What a LATERAL query or a JSON_TABLE reads stands before it.
        let mut sources: Vec<Source> = Vec::new();
        for source in self.sources.iter().rev() {
            if is_named(source, &names) {
                read_before(source, &mut names);
                sources.insert(0, source.clone());
            }
        }
        if sources.len() > SOURCES_MAX {
            return None;
        }
        let from = sources.into_iter().reduce(|left, right| Source::Join {
            kind: "CROSS JOIN",
            left: Box::new(left),
            right: Box::new(right),
            on: None,
            using: Vec::new(),
        });
        let filter = is_filter.then(|| expr.clone());
        let shown = if is_filter { Expr::literal(Value::Int(1)) } else { expr.clone() };
        let items = vec![Item { expr: shown, alias: Some("probed".to_owned()) }];
        let mut query = Query::of(Select { items, from, filter, ..Select::default() });
        query.is_recursive = self.is_recursive;
        query.with.clone_from(&self.with);
        if let Body::Select(select) = &mut query.body
            && let Some(from) = &mut select.from
        {
            keep_rows(from);
        }
        if !self.is_recursive {
            query.with.iter_mut().for_each(|cte| keep_all(&mut cte.query));
        }
        Some(query)
    }
}

#[derive(Default)]
struct Gather {
    found: Vec<Probe>,
    /// How many arms, select lists above WHERE and queries without a row are around what is visited.
    guards: usize,
}

/// Which argument is the first that this function evaluates only if those before it ask for it, or not at all.
fn first_arm(form: &forms::Form) -> Option<usize> {
    let is_one = |names: &[&str]| names.iter().any(|name| form.template.starts_with(name));
    if is_one(&["CHARSET(", "COLLATION(", "COERCIBILITY("]) {
        return Some(0);
    }
    is_one(&["IF(", "IFNULL(", "COALESCE("]).then_some(1)
}

impl Gather {
    fn query(&mut self, query: &Query, around: &Scope) {
        let mut scope = around.clone();
        scope.is_recursive |= query.is_recursive;
        scope = self.with(&query.with, scope);
        let is_never = query.limit.is_some_and(|(_, count)| count == 0)
            || query
                .select()
                .is_some_and(|select| select.filter.iter().chain(&select.having).any(is_false_as_written));
        self.guards += usize::from(is_never);
        match &query.body {
            Body::Set { left, right, .. } => {
                self.query(left, &scope);
                self.query(right, &scope);
            }
            Body::Select(select) => {
                if let Some(from) = &select.from {
                    scope = self.source(from, &scope);
                }
                let is_guarded = select.filter.is_some();
                select.items.iter().for_each(|item| self.arm(&item.expr, is_guarded, &scope));
                select.group.iter().for_each(|expr| self.expr(expr, &scope));
                let conditions = select.filter.iter().chain(&select.having);
                conditions.for_each(|expr| self.condition(expr, &scope));
            }
        }
        self.guards -= usize::from(is_never);
    }

    /// CTEs, each of which may name those before it. Answers the scope of what follows them.
    fn with(&mut self, with: &[Cte], mut scope: Scope) -> Scope {
        for cte in with {
            self.query(&cte.query, &scope);
            scope.with.push(cte.clone());
        }
        scope
    }

    /// What is below a FROM. Answers the scope of the expressions beside it.
    fn source(&mut self, from: &Source, around: &Scope) -> Scope {
        let mut scope = around.clone();
        leaves(from, &mut scope.sources);
        self.below_source(from, around, &scope);
        scope
    }

    fn below_source(&mut self, source: &Source, around: &Scope, scope: &Scope) {
        match source {
            Source::Table { .. } => {}
            Source::JsonTable { document, alias, .. } => {
                let first = self.found.len();
                self.expr(document, scope);
                // The columns are what fails, not only the document.
                let any = Expr::Column { relation: alias.clone(), name: "j1".to_owned() };
                if let Some(mut query) = scope.query(&any, false) {
                    if let Body::Select(select) = &mut query.body {
                        select.items = vec![Item { expr: Expr::literal(Value::Int(1)), alias: None }];
                    }
                    let below = first..self.found.len();
                    let is_guarded = self.guards > 0;
                    self.found.push(Probe { expr: document.clone(), query, below, is_guarded });
                }
            }
            Source::Derived { query, is_lateral, .. } => {
                self.query(query, if *is_lateral { scope } else { around });
            }
            Source::Join { left, right, on, .. } => {
                self.below_source(left, around, scope);
                self.below_source(right, around, scope);
                on.iter().for_each(|on| self.condition(on, scope));
            }
        }
    }

    fn condition(&mut self, expr: &Expr, scope: &Scope) {
        let first = self.found.len();
        self.expr(expr, scope);
        if let Some(form) = forms::by_template("(NOT {})") {
            let negated = Expr::Call { form, arguments: vec![expr.clone()] };
            self.push(expr, &negated, false, first, scope);
        }
        if !gives_truth(expr) {
            self.push(expr, expr, true, first, scope);
        }
    }

    /// What is looked for, compared with the items of each row of the subquery, whatever its conditions leave.
    fn compared(&mut self, expr: &Expr, left: &Expr, query: &Query, first: usize, around: &Scope) {
        let mut scope = around.clone();
        scope.is_recursive |= query.is_recursive;
        scope.with.extend(query.with.iter().cloned());
        match &query.body {
            Body::Set { left: one, right: other, .. } => {
                self.compared(expr, left, one, first, &scope);
                self.compared(expr, left, other, first, &scope);
            }
            Body::Select(select) => {
                if let Some(from) = &select.from {
                    leaves(from, &mut scope.sources);
                }
                let sides = match left {
                    Expr::Row(parts) => &parts[..],
                    side => std::slice::from_ref(side),
                };
                for (side, item) in sides.iter().zip(&select.items) {
                    let arguments = vec![side.clone(), item.expr.clone()];
                    let equal = Expr::Call { form: forms::EQUAL, arguments };
                    self.push(expr, &equal, false, first, &scope);
                    self.push(expr, &equal, true, first, &scope);
                }
            }
        }
    }

    fn push(&mut self, expr: &Expr, shown: &Expr, is_filter: bool, first: usize, scope: &Scope) {
        if let Some(query) = scope.query(shown, is_filter) {
            let below = first..self.found.len();
            self.found.push(Probe { expr: expr.clone(), query, below, is_guarded: self.guards > 0 });
        }
    }

    fn arm(&mut self, expr: &Expr, is_guarded: bool, scope: &Scope) {
        self.guards += usize::from(is_guarded);
        self.expr(expr, scope);
        self.guards -= usize::from(is_guarded);
    }

    fn expr(&mut self, expr: &Expr, scope: &Scope) {
        let first = self.found.len();
        match expr {
            Expr::Column { .. } => {}
            Expr::Literal { .. } => return,
            Expr::Call { form, arguments } => {
                for (at, argument) in arguments.iter().enumerate() {
                    self.arm(argument, first_arm(form).is_some_and(|first| at >= first), scope);
                }
            }
            Expr::Aggregate { arguments, .. } | Expr::Window { arguments, .. } => {
                arguments.iter().for_each(|argument| self.expr(argument, scope));
            }
            Expr::Row(items) => {
                items.iter().for_each(|item| self.expr(item, scope));
                return;
            }
            Expr::Case { operand, branches, otherwise } => {
                operand.iter().for_each(|part| self.expr(part, scope));
                for (at, (when, then)) in branches.iter().enumerate() {
                    self.arm(when, at > 0, scope);
                    self.arm(then, true, scope);
                }
                otherwise.iter().for_each(|part| self.arm(part, true, scope));
            }
            Expr::In { left, list, .. } => {
                self.expr(left, scope);
                list.iter().for_each(|item| self.expr(item, scope));
            }
            Expr::Scalar(query) | Expr::Exists { query, .. } => self.query(query, scope),
            Expr::InQuery { left, query, .. } | Expr::Quantified { left, query, .. } => {
                self.expr(left, scope);
                self.query(query, scope);
                self.compared(expr, left, query, first, scope);
            }
        }
        self.push(expr, expr, false, first, scope);
        if gives_truth(expr) {
            self.push(expr, expr, true, first, scope);
        }
    }
}

/// Leaves out what keeps rows away from what reads a query: WHERE, HAVING, ON, LIMIT.
fn keep_all(query: &mut Query) {
    query.with.iter_mut().for_each(|cte| keep_all(&mut cte.query));
    query.limit = None;
    match &mut query.body {
        Body::Set { left, right, .. } => {
            keep_all(left);
            keep_all(right);
        }
        Body::Select(select) => {
            select.filter = None;
            select.having = None;
            if let Some(from) = &mut select.from {
                keep_rows(from);
            }
        }
    }
}

fn keep_rows(source: &mut Source) {
    match source {
        Source::Table { .. } | Source::JsonTable { .. } => {}
        Source::Derived { query, .. } => keep_all(query),
        Source::Join { left, right, on, .. } => {
            keep_rows(left);
            keep_rows(right);
            if let Some(on) = on {
                *on = Expr::literal(Value::Int(1));
            }
        }
    }
}

/// Whether no row fulfils the condition, whatever the tables hold.
fn is_false_as_written(condition: &Expr) -> bool {
    match condition {
        Expr::Literal { value, .. } => matches!(value, Value::Null | Value::Int(0)),
        Expr::Call { form, arguments } => {
            form.template == forms::AND.template && arguments.iter().any(is_false_as_written)
        }
        _ => false,
    }
}

/// The tables that what is made for each row of those before it names.
fn read_before(source: &Source, names: &mut Vec<String>) {
    let mut note = |expr: &mut Expr| {
        if let Expr::Column { relation, .. } = expr {
            names.push(relation.clone());
        }
    };
    match source {
        Source::Derived { query, is_lateral: true, .. } => {
            walk::query_expressions(&mut query.clone(), &mut note);
        }
        Source::JsonTable { document, .. } => walk::expressions(&mut document.clone(), &mut note),
        _ => {}
    }
}

fn gives_truth(expr: &Expr) -> bool {
    match expr {
        Expr::Call { form, .. } => form.result == Some(Family::Condition),
        Expr::In { .. } | Expr::InQuery { .. } | Expr::Quantified { .. } => true,
        _ => false,
    }
}

fn leaves(source: &Source, found: &mut Vec<Source>) {
    match source {
        Source::Table { .. } | Source::Derived { .. } | Source::JsonTable { .. } => {
            found.push(source.clone());
        }
        Source::Join { left, right, .. } => {
            leaves(left, found);
            leaves(right, found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(name: &str, alias: &str) -> Source {
        Source::Table { name: name.to_owned(), alias: alias.to_owned(), hint: None }
    }

    fn column(relation: &str, name: &str) -> Expr {
        Expr::Column { relation: relation.to_owned(), name: name.to_owned() }
    }

    fn equal(left: Expr, right: Expr) -> Expr {
        Expr::Call { form: forms::by_template("({} = {})").unwrap(), arguments: vec![left, right] }
    }

    fn texts(statement: &Statement) -> Vec<String> {
        of(statement).unwrap().into_iter().map(|probe| Statement::Query(probe.query).sql()).collect()
    }

    /// `DELETE FROM t0 r1 WHERE (r1.a = (SELECT (r2.b = 1) FROM t1 r2 WHERE r1.c))`
    fn delete() -> Statement {
        let one = Expr::literal(Value::Int(1));
        let item = Item { expr: equal(column("r2", "b"), one), alias: None };
        let inner = Query::of(Select {
            items: vec![item],
            from: Some(table("t1", "r2")),
            filter: Some(column("r1", "c")),
            ..Select::default()
        });
        let filter = Some(equal(column("r1", "a"), Expr::Scalar(Box::new(inner))));
        let (with, targets, order) = (Vec::new(), Vec::new(), Vec::new());
        let from = table("t0", "r1");
        Statement::Delete { with, is_ignore: false, targets, from, filter, order, limit: None }
    }

    #[test]
    fn an_expression_is_shown_for_all_rows_it_names() {
        let texts = texts(&delete());
        let has = |wanted: &str| texts.iter().any(|text| text == wanted);
        assert!(has("SELECT (r2.b = 1) AS probed FROM t1 r2"), "{texts:?}");
        // A condition of the outer row, as a truth value; without the query it stands in.
        assert!(has("SELECT (NOT r1.c) AS probed FROM t0 r1"), "{texts:?}");
        assert!(has("SELECT 1 AS probed FROM t1 r2 WHERE (r2.b = 1)"), "{texts:?}");
        let is_filter = |text: &String| text.starts_with("SELECT 1 AS probed");
        let is_free = |text: &String| !text.contains("WHERE") || text.contains("(SELECT") || is_filter(text);
        assert!(texts.iter().all(is_free), "{texts:?}");
    }

    /// `SELECT c FROM t0 r1 WHERE r1.w`, `COALESCE(c, d)` and `CASE WHEN c THEN d END`: c of the first and each d are guarded.
    #[test]
    fn arms_and_select_lists_above_where_are_guarded() {
        let guarded = |expr: Expr, filter: Option<Expr>| {
            let items = vec![Item { expr, alias: None }];
            let from = Some(table("t0", "r1"));
            let query = Query::of(Select { items, from, filter, ..Select::default() });
            let probes = of(&Statement::Query(query)).unwrap();
            let of_column =
                |name: &str| probes.iter().find(|probe| probe.expr == column("r1", name)).unwrap().is_guarded;
            (of_column("c"), probes.iter().any(|probe| probe.expr == column("r1", "d")) && of_column("d"))
        };
        let (c, d) = (column("r1", "c"), column("r1", "d"));
        assert_eq!(guarded(c.clone(), Some(column("r1", "w"))), (true, false));
        assert_eq!(guarded(c.clone(), None), (false, false));
        let form = forms::by_template("COALESCE({}, {})").unwrap();
        assert_eq!(guarded(Expr::Call { form, arguments: vec![c.clone(), d.clone()] }, None), (false, true));
        let case = Expr::Case { operand: None, branches: vec![(c.clone(), d)], otherwise: None };
        assert_eq!(guarded(case, None), (false, true));
        // What only the type is asked of.
        let form = forms::by_template("CHARSET({})").unwrap();
        assert_eq!(guarded(Expr::Call { form, arguments: vec![c] }, None), (true, false));
    }

    #[test]
    fn what_no_row_reaches_as_it_is_written_is_guarded() {
        let is_guarded = |filter: Option<Expr>, limit: Option<(u64, u64)>| {
            let items = vec![Item { expr: Expr::literal(Value::Int(1)), alias: None }];
            let having = Some(column("r1", "c"));
            let from = Some(table("t0", "r1"));
            let mut query = Query::of(Select { items, from, filter, having, ..Select::default() });
            query.limit = limit;
            let probes = of(&Statement::Query(query)).unwrap();
            probes.iter().find(|probe| probe.expr == column("r1", "c")).unwrap().is_guarded
        };
        let zero = Expr::literal(Value::Int(0));
        let both = Expr::Call { form: forms::AND, arguments: vec![column("r1", "w"), zero.clone()] };
        assert!(is_guarded(Some(zero), None));
        assert!(is_guarded(Some(both), None));
        assert!(is_guarded(Some(Expr::literal(Value::Null)), None));
        assert!(is_guarded(None, Some((0, 0))));
        assert!(!is_guarded(Some(column("r1", "w")), Some((0, 1))));
    }

    #[test]
    fn a_lateral_query_is_probed_beside_what_it_reads() {
        let inner = Select {
            items: vec![Item { expr: column("r1", "c"), alias: Some("x".to_owned()) }],
            from: Some(table("t1", "r2")),
            filter: Some(equal(column("r1", "c"), column("r2", "b"))),
            ..Select::default()
        };
        let lateral = |is_lateral| {
            let query = Box::new(Query::of(inner.clone()));
            let right = Box::new(Source::Derived { query, alias: "l3".to_owned(), is_lateral });
            let left = Box::new(table("t0", "r1"));
            let from = Some(Source::Join { kind: "CROSS JOIN", left, right, on: None, using: Vec::new() });
            let items = vec![Item { expr: column("l3", "x"), alias: None }];
            let query = Query::of(Select { items, from, ..Select::default() });
            let probes = of(&Statement::Query(query)).unwrap();
            probes.iter().map(|probe| Statement::Query(probe.query.clone()).sql()).collect::<Vec<_>>()
        };
        let compared = "SELECT (r1.c = r2.b) AS probed FROM t0 r1 CROSS JOIN t1 r2".to_owned();
        assert!(lateral(true).contains(&compared), "{:?}", lateral(true));
        assert!(!lateral(false).contains(&compared));
        let shown = |text: &String| text.starts_with("SELECT l3.x AS probed FROM t0 r1 CROSS JOIN LATERAL (");
        assert!(lateral(true).iter().any(shown), "{:?}", lateral(true));
    }

    #[test]
    fn a_derived_table_keeps_its_rows() {
        let filter = Some(Expr::literal(Value::Int(0)));
        let items = vec![Item { expr: column("r1", "c"), alias: Some("x".to_owned()) }];
        let inner = Select { items, from: Some(table("t0", "r1")), filter, ..Select::default() };
        let mut query = Query::of(inner);
        query.limit = Some((0, 0));
        let from =
            Some(Source::Derived { query: Box::new(query), alias: "d2".to_owned(), is_lateral: false });
        let items = vec![Item { expr: column("d2", "x"), alias: None }];
        let texts = texts(&Statement::Query(Query::of(Select { items, from, ..Select::default() })));
        let shown = "SELECT d2.x AS probed FROM (SELECT r1.c AS x FROM t0 r1) d2";
        assert!(texts.iter().any(|text| text == shown), "{texts:?}");
    }

    #[test]
    fn what_an_expression_evaluates_stands_before_it() {
        let probes = of(&delete()).unwrap();
        let last = probes.last().unwrap();
        assert_eq!(last.below, 0..probes.len() - 1);
        let mut fails = vec![false; probes.len()];
        // The whole fails because of a part of it.
        fails[probes.len() - 1] = true;
        assert_eq!(by_themselves(&probes, &fails), [probes.len() - 1]);
        let part = probes
            .iter()
            .position(|probe| probe.expr == equal(column("r2", "b"), Expr::literal(Value::Int(1))));
        fails[part.unwrap()] = true;
        assert_eq!(by_themselves(&probes, &fails), [part.unwrap()]);
        // A column fails because of the derived table that computes it.
        let column = probes.iter().position(Probe::is_column).unwrap();
        assert_eq!(by_themselves(&probes, &(0..probes.len()).map(|at| at == column).collect::<Vec<_>>()), []);
    }
}
