//! The query of a view: what a name means is printed with it, as 9.7 stores the query.
//!
//! `*` and joins by common columns are written out, each column has its table and schema, each item its name; strings have no
//! introducer. Where names are known ([`QueryNames`], found by binding) they are those. A text that was printed with them is parsed and
//! printed again as it is, without the schema that need not be named ([`ViewPrint::omitted_schema`]).

use std::cell::Cell as Flag;
use std::collections::HashMap;

use super::{Printer, print_name};
use crate::ast::*;

/// A column with its table.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ResolvedColumn {
    /// The schema of a table of the catalog that has no alias.
    pub schema: Option<Box<str>>,
    /// The table's name in FROM.
    pub table: Box<str>,
    /// The column's own name.
    pub column: Box<str>,
}

/// A column that `*` shows.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ShownItem {
    /// Which.
    pub column: ResolvedColumn,
    /// Its name in the result.
    pub name: Box<str>,
}

/// What the names of a query mean, by where they stand in its text.
#[derive(Debug, Default)]
pub struct QueryNames {
    /// Columns, by the start of the last part of the name.
    pub columns: HashMap<u32, ResolvedColumn>,
    /// What `*` shows, and TABLE (by the start of the table's name).
    pub stars: HashMap<u32, Vec<ShownItem>>,
    /// Names of select items, by the start of the item's text.
    pub items: HashMap<u32, Box<str>>,
    /// Schemas of tables, by the start of the table's name.
    pub tables: HashMap<u32, Box<str>>,
    /// Schemas of stored functions, by the start of the function's name.
    pub functions: HashMap<u32, Box<str>>,
    /// Equal columns of joins with USING or NATURAL, by [`QueryNames::join_key`].
    pub joins: HashMap<usize, Vec<(ResolvedColumn, ResolvedColumn)>>,
}

impl QueryNames {
    /// The key of a join: where it lies.
    #[must_use]
    pub fn join_key(join: &Join<'_>) -> usize {
        std::ptr::from_ref(join).addr()
    }
}

/// How a view's query is printed.
#[derive(Debug, Default)]
pub struct ViewPrint<'a> {
    /// What its names mean; none: the text was printed before.
    pub names: Option<&'a QueryNames>,
    /// The text that it was parsed from, for VALUES.
    pub text: &'a [u8],
    /// The schema that is left out.
    pub omitted_schema: Option<&'a [u8]>,
    /// Set when a table of another schema was printed.
    pub names_other_schema: Flag<bool>,
    /// Each SELECT begins with its number, in a comment; the one before the first.
    pub select_number: Option<Flag<u32>>,
}

/// Appends the query of a view. `charset` is that of CAST to CHAR without one.
pub fn print_view_query(query: &Query<'_>, print: &ViewPrint<'_>, charset: &str, out: &mut Vec<u8>) {
    Printer { out, charset, view: Some(print), is_subquery: false, is_exists: false }.query(query);
}

/// The position that a key of ORDER BY or GROUP BY is.
fn position_of(key: &OrderItem<'_>) -> Option<usize> {
    match key.expr.kind {
        ExprKind::Literal(Literal::Number(NumberKind::Integer, digits)) => {
            std::str::from_utf8(digits).ok()?.parse().ok()
        }
        _ => None,
    }
}

/// Whether parentheses around a query say nothing.
fn is_bare(query: &Query<'_>) -> bool {
    query.with.is_none() && query.order_by.is_empty() && query.limit.is_none()
}

/// A member within parentheses that say nothing.
fn without_parentheses<'q>(mut body: &'q QueryBody<'q>) -> &'q QueryBody<'q> {
    while let QueryBody::Nested(nested) = body
        && is_bare(nested)
    {
        body = &nested.body;
    }
    body
}

impl<'o> Printer<'o> {
    fn known_names(&self) -> Option<&'o QueryNames> {
        self.view.and_then(|view| view.names)
    }

    fn is_omitted(&self, schema: &[u8]) -> bool {
        self.view.is_some_and(|view| view.omitted_schema == Some(schema))
    }

    fn resolved(&mut self, column: &ResolvedColumn) {
        if let Some(schema) = &column.schema
            && !self.is_omitted(schema.as_bytes())
        {
            self.name(schema.as_bytes());
            self.put(".");
        }
        self.name(column.table.as_bytes());
        self.put(".");
        self.name(column.column.as_bytes());
    }

    /// Prints the name of a stored function that a view's query calls; answers whether it is one.
    pub(super) fn stored_function_name(&mut self, name: &ObjectName<'_>) -> bool {
        let Some(view) = self.view else { return false };
        let known = self.known_names().and_then(|names| names.functions.get(&name.name.span.start));
        let schema = known.map(|schema| schema.as_bytes()).or(name.schema.map(|schema| schema.text));
        let Some(schema) = schema else { return false };
        if !self.is_omitted(schema) {
            view.names_other_schema.set(true);
            self.name(schema);
            self.put(".");
        }
        self.name(name.name.text);
        true
    }

    /// Prints a column as its view names it; answers whether there is a view.
    pub(super) fn view_column(&mut self, column: &ColumnRef<'_>) -> bool {
        if self.view.is_none() {
            return false;
        }
        if let Some(resolved) =
            self.known_names().and_then(|names| names.columns.get(&column.name.span.start))
        {
            self.resolved(resolved);
            return true;
        }
        let schema = column.schema.filter(|schema| !self.is_omitted(schema.text));
        for part in [schema, column.table].into_iter().flatten() {
            self.name(part.text);
            self.put(".");
        }
        self.name(column.name.text);
        true
    }

    /// Prints an item of a select list with its name; answers whether it did.
    pub(super) fn view_item(&mut self, item: &SelectItem<'_>, is_subquery: bool) -> bool {
        if self.view.is_none() {
            return false;
        }
        match item {
            SelectItem::Star(span) | SelectItem::TableStar(_, span) => {
                let shown = self.known_names().and_then(|names| names.stars.get(&span.start));
                let Some(shown) = shown else { return false };
                self.shown(shown, is_subquery);
            }
            SelectItem::Expr { expr, alias, source } => {
                self.expr(expr);
                let known = self.known_names().and_then(|names| names.items.get(&source.start));
                let name = match (known, alias) {
                    (_, None) if is_subquery => None,
                    (Some(name), _) => Some(name.as_bytes()),
                    (None, alias) => alias.map(|alias| alias.text),
                };
                if let Some(name) = name {
                    self.put(" AS ");
                    print_name(name, self.out);
                }
            }
        }
        true
    }

    fn shown(&mut self, shown: &[ShownItem], is_subquery: bool) {
        self.join(shown, ",", |p, item| {
            p.resolved(&item.column);
            if !is_subquery {
                p.put(" AS ");
                p.name(item.name.as_bytes());
            }
        });
    }

    /// The schema and name of a table of the catalog, the name of a common table expression.
    pub(super) fn table_name(&mut self, name: &ObjectName<'_>) {
        let Some(view) = self.view else { return self.object(name) };
        let known = self.known_names().and_then(|names| names.tables.get(&name.name.span.start));
        let schema = known.map(|schema| schema.as_bytes()).or(name.schema.map(|schema| schema.text));
        if let Some(schema) = schema.filter(|schema| !self.is_omitted(schema)) {
            view.names_other_schema.set(true);
            self.name(schema);
            self.put(".");
        }
        self.name(name.name.text);
    }

    /// FROM: in a view one join of all tables.
    pub(super) fn tables(&mut self, tables: &[TableRef<'_>]) {
        if self.view.is_none() {
            return self.join(tables, ",", Self::table);
        }
        for _ in 1..tables.len() {
            self.put("(");
        }
        for (index, table) in tables.iter().enumerate() {
            if index > 0 {
                self.put(" join ");
            }
            self.table(table);
            if index > 0 {
                self.put(")");
            }
        }
    }

    /// A join in a view: those by common columns are written out, RIGHT JOIN is turned round.
    pub(super) fn view_join(&mut self, join: &Join<'_>) {
        let (left, right) = match join.kind {
            JoinKind::Right => (&join.right, &join.left),
            _ => (&join.left, &join.right),
        };
        self.put("(");
        self.table(left);
        self.put(match join.kind {
            JoinKind::Inner => " join ",
            JoinKind::Straight => " straight_join ",
            JoinKind::Left | JoinKind::Right => " left join ",
        });
        self.table(right);
        let is_outer = matches!(join.kind, JoinKind::Left | JoinKind::Right);
        match join.condition {
            JoinCondition::On(condition) => {
                self.put(" on(");
                self.truth(condition);
                self.put(")");
            }
            JoinCondition::None | JoinCondition::Using(_) => {
                let common =
                    self.known_names().and_then(|names| names.joins.get(&QueryNames::join_key(join)));
                match common.map_or(&[][..], Vec::as_slice) {
                    [] if is_outer => self.put(" on(true)"),
                    [] => {}
                    pairs => {
                        self.put(if pairs.len() > 1 { " on((" } else { " on(" });
                        self.join(pairs, " and ", |p, (left, right)| {
                            p.put("(");
                            p.resolved(left);
                            p.put(" = ");
                            p.resolved(right);
                            p.put(")");
                        });
                        self.put(if pairs.len() > 1 { "))" } else { ")" });
                    }
                }
            }
        }
        self.put(")");
    }

    /// Keys of GROUP BY and ORDER BY: in a view a position stands for the item there.
    pub(super) fn keys(&mut self, keys: &[OrderItem<'_>], select: &Select<'_>) {
        if self.view.is_none() {
            return self.order_items(keys);
        }
        self.join(keys, ",", |p, key| {
            match position_of(key) {
                Some(position) => p.item_at(select, position, &key.expr),
                None => p.expr(&key.expr),
            }
            if key.desc == Some(true) {
                p.put(" desc");
            }
        });
    }

    fn item_at(&mut self, select: &Select<'_>, position: usize, written: &Expr<'_>) {
        let mut before = 0;
        for item in select.items {
            match item {
                SelectItem::Expr { expr, .. } => {
                    before += 1;
                    if before == position {
                        // A number would be read as another position, and all rows are equal by it.
                        return match is_whole_number(expr) {
                            true => self.put("''"),
                            false => self.expr(expr),
                        };
                    }
                }
                SelectItem::Star(span) | SelectItem::TableStar(_, span) => {
                    let Some(shown) = self.known_names().and_then(|names| names.stars.get(&span.start))
                    else {
                        break;
                    };
                    if let Some(item) = position.checked_sub(before + 1).and_then(|at| shown.get(at)) {
                        return self.resolved(&item.column);
                    }
                    before += shown.len();
                }
            }
        }
        self.expr(written);
    }

    /// Prints the name of the column at a position of a set operation's result; answers whether there is one.
    fn name_at(&mut self, body: &QueryBody<'_>, position: usize) -> bool {
        let mut body = body;
        let select = loop {
            match body {
                QueryBody::SetOp { left, .. } => body = left,
                QueryBody::Nested(query) => body = &query.body,
                QueryBody::Select(select) => break select,
                QueryBody::Table(_) | QueryBody::Values(_) => return false,
            }
        };
        let mut names: Vec<&[u8]> = Vec::new();
        for item in select.items {
            match item {
                SelectItem::Expr { alias, source, .. } => {
                    let known = self.known_names().and_then(|names| names.items.get(&source.start));
                    let written = alias.map(|alias| alias.text);
                    names.push(known.map(|name| name.as_bytes()).or(written).unwrap_or_default());
                }
                SelectItem::Star(span) | SelectItem::TableStar(_, span) => {
                    let shown = self.known_names().and_then(|names| names.stars.get(&span.start));
                    names.extend(shown.into_iter().flatten().map(|item| item.name.as_bytes()));
                }
            }
        }
        let Some(name) = position.checked_sub(1).and_then(|at| names.get(at)) else { return false };
        print_name(name, self.out);
        true
    }

    /// The body of a view's query and its ORDER BY, without parentheses that say nothing.
    pub(super) fn view_body(&mut self, query: &Query<'_>) {
        let body = without_parentheses(&query.body);
        if let QueryBody::Nested(nested) = body
            && query.order_by.is_empty()
            && query.limit.is_none()
        {
            return self.query(nested);
        }
        self.view_member(body);
        if query.order_by.is_empty() {
            return;
        }
        self.put(" order by ");
        if let QueryBody::Select(select) = body {
            return self.keys(query.order_by, select);
        }
        self.join(query.order_by, ",", |p, key| {
            if !position_of(key).is_some_and(|position| p.name_at(body, position)) {
                p.expr(&key.expr);
            }
            if key.desc == Some(true) {
                p.put(" desc");
            }
        });
    }

    /// A query or a member of a set operation. Operations within another one have parentheses, but those of its own kind on the left.
    fn view_member(&mut self, body: &QueryBody<'_>) {
        // A chain of operations leans to the left.
        let is_subquery = self.is_subquery;
        let mut chain: Vec<(SetOp, bool, &QueryBody<'_>, bool)> = Vec::new();
        let mut first = body;
        while let QueryBody::SetOp { op, all, left, right } = first {
            let parentheses = chain.last().is_some_and(|(outer, ..)| outer != op);
            chain.push((*op, *all, *right, parentheses));
            first = without_parentheses(left);
        }
        // A UNION that leaves duplicates out leaves them out of all unions before it; those before a UNION ALL stand in parentheses.
        let mut is_distinct = false;
        for at in 0..chain.len() {
            let (op, all, ..) = chain[at];
            is_distinct &= at > 0 && chain[at - 1].0 == SetOp::Union;
            is_distinct |= op == SetOp::Union && !all;
            chain[at].1 = all && !is_distinct;
            let is_before_all = at > 0 && op == SetOp::Union && chain[at - 1].0 == op && chain[at - 1].1;
            chain[at].3 |= is_before_all && !chain[at].1 && !is_subquery;
        }
        for _ in chain.iter().filter(|(.., parentheses)| *parentheses) {
            self.put("(");
        }
        self.single(first);
        chain.reverse();
        for (op, all, right, parentheses) in chain {
            self.put(match op {
                SetOp::Union => " union ",
                SetOp::Except => " except ",
                SetOp::Intersect => " intersect ",
            });
            if all {
                self.put("all ");
            }
            self.is_subquery = is_subquery;
            let right = without_parentheses(right);
            if matches!(right, QueryBody::SetOp { .. }) {
                self.put("(");
                self.view_member(right);
                self.put(")");
            } else {
                self.single(right);
            }
            if parentheses {
                self.put(")");
            }
        }
        self.is_subquery = is_subquery;
    }

    fn single(&mut self, body: &QueryBody<'_>) {
        let is_subquery = self.is_subquery;
        match body {
            QueryBody::Select(select) => self.select(select),
            QueryBody::Table(name) => {
                match self.known_names().and_then(|names| names.stars.get(&name.name.span.start)) {
                    Some(shown) => {
                        self.put("select ");
                        self.shown(shown, is_subquery);
                        self.put(" from ");
                    }
                    None => self.put("table "),
                }
                self.table_name(name);
            }
            QueryBody::Nested(query) => {
                self.put("(");
                self.query(query);
                self.put(")");
            }
            QueryBody::Values(rows) => self.view_values(rows),
            QueryBody::SetOp { .. } => self.view_member(body),
        }
        self.is_subquery = is_subquery;
    }

    fn view_values(&mut self, rows: &ValuesRows<'_>) {
        let text = self.view.map_or(&b""[..], |view| view.text);
        self.put("values ");
        for row in 0..rows.row_count {
            self.put(if row == 0 { "row(" } else { ",row(" });
            self.join(rows.row(row), ",", |p, cell| p.view_cell(cell, rows, text));
            self.put(")");
        }
    }

    fn view_cell(&mut self, cell: &Cell, rows: &ValuesRows<'_>, text: &[u8]) {
        let written = || text.get(cell.start as usize..(cell.start + cell.len) as usize).unwrap_or_default();
        match cell.kind {
            CellKind::Null => self.put("NULL"),
            CellKind::Default => self.put("default"),
            CellKind::True => self.put("true"),
            CellKind::False => self.put("false"),
            CellKind::Integer | CellKind::Decimal | CellKind::Float => self.raw(written()),
            CellKind::NegInteger | CellKind::NegDecimal | CellKind::NegFloat => {
                self.put("-(");
                self.raw(written());
                self.put(")");
            }
            CellKind::String => self.string(written(), None),
            CellKind::StringEscaped => {
                let quote = text.get((cell.start as usize).wrapping_sub(1)).copied().unwrap_or(b'\'');
                let mut value = Vec::new();
                crate::unescape(written(), quote, !rows.no_backslash_escapes, &mut value);
                self.string(&value, None);
            }
            CellKind::Hex => {
                self.put("0x");
                self.raw(&written().to_ascii_uppercase());
            }
            CellKind::Param => self.put("?"),
            CellKind::Expr => {
                if let Some(expr) = rows.exprs.get(cell.start as usize) {
                    self.expr(expr);
                }
            }
        }
    }
}

/// Whether ORDER BY and GROUP BY read the expression as a position.
fn is_whole_number(expr: &Expr<'_>) -> bool {
    matches!(expr.kind, ExprKind::Literal(Literal::Number(NumberKind::Integer, _)))
}
