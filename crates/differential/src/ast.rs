//! Statements as trees. The generator builds them, the minimiser cuts them, other checks rewrite them; text is made last.

use crate::forms::Form;
use crate::schema::{Column, Index, Table};
use crate::value::{Value, Writer, write_quoted};

/// The alias of the row that INSERT ... VALUES inserts; written where ON DUPLICATE KEY UPDATE names it.
pub const ROW_ALIAS: &str = "new_row";

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A column of a table or derived table, by alias; without one where only the name is in scope.
    Column {
        /// The alias; empty for none.
        relation: String,
        /// The column's name.
        name: String,
    },
    /// A value; a bound one is a `?` when the statement is prepared.
    Literal {
        /// The value.
        value: Value,
        /// Whether it may be a parameter.
        is_bound: bool,
    },
    /// An operator, function or cast of [`crate::forms::FORMS`].
    Call {
        /// Which.
        form: &'static Form,
        /// What it is applied to.
        arguments: Vec<Expr>,
    },
    /// CASE.
    Case {
        /// What is compared with each WHEN; conditions without it.
        operand: Option<Box<Expr>>,
        /// WHEN and THEN.
        branches: Vec<(Expr, Expr)>,
        /// ELSE.
        otherwise: Option<Box<Expr>>,
    },
    /// `left [NOT] IN (list)`.
    In {
        /// What is looked for.
        left: Box<Expr>,
        /// Where.
        list: Vec<Expr>,
        /// NOT.
        is_negated: bool,
    },
    /// `(a, b)`.
    Row(Vec<Expr>),
    /// A scalar subquery.
    Scalar(Box<Query>),
    /// EXISTS.
    Exists {
        /// The subquery.
        query: Box<Query>,
        /// NOT.
        is_negated: bool,
    },
    /// `left [NOT] IN (query)`.
    InQuery {
        /// What is looked for; a row for several columns.
        left: Box<Expr>,
        /// Where.
        query: Box<Query>,
        /// NOT.
        is_negated: bool,
    },
    /// `left < ANY (query)`.
    Quantified {
        /// What is compared.
        left: Box<Expr>,
        /// The comparison.
        operator: &'static str,
        /// ALL; else ANY.
        is_all: bool,
        /// With what.
        query: Box<Query>,
    },
    /// An aggregate function.
    Aggregate {
        /// Its name.
        function: &'static str,
        /// DISTINCT.
        is_distinct: bool,
        /// Arguments; none is `*`.
        arguments: Vec<Expr>,
        /// ORDER BY, of GROUP_CONCAT.
        order: Vec<(Expr, bool)>,
        /// SEPARATOR, of GROUP_CONCAT.
        separator: Option<&'static str>,
    },
    /// A window function.
    Window {
        /// Its name.
        function: &'static str,
        /// Arguments; none is `*` of COUNT.
        arguments: Vec<Expr>,
        /// OVER.
        window: Box<Window>,
    },
}

/// A window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Window {
    /// The window of the WINDOW clause that it is, or refines.
    pub base: Option<String>,
    /// PARTITION BY.
    pub partition: Vec<Expr>,
    /// ORDER BY, DESC.
    pub order: Vec<(Expr, bool)>,
    /// The frame, as it is written.
    pub frame: Option<String>,
}

impl Window {
    /// Appends its text after OVER or AS.
    pub fn write(&self, out: &mut Writer) {
        if let Some(base) = &self.base
            && self.partition.is_empty()
            && self.order.is_empty()
            && self.frame.is_none()
        {
            return out.push(base);
        }
        out.push("(");
        if let Some(base) = &self.base {
            out.push(base);
        }
        if !self.partition.is_empty() {
            out.push(" PARTITION BY ");
            out.list(&self.partition, ", ", |out, expr| expr.write(out));
        }
        write_order(&self.order, out);
        if let Some(frame) = &self.frame {
            out.push(" ");
            out.push(frame);
        }
        out.push(")");
    }

    /// Its expressions.
    pub fn expressions_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        self.partition.iter_mut().chain(self.order.iter_mut().map(|(expr, _)| expr))
    }
}

/// One column of a result.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// What it shows.
    pub expr: Expr,
    /// AS.
    pub alias: Option<String>,
}

/// What a query reads from.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// A table or CTE.
    Table {
        /// Its name.
        name: String,
        /// Its alias, always written.
        alias: String,
        /// Such as `FORCE INDEX (k1)`.
        hint: Option<String>,
    },
    /// A derived table.
    Derived {
        /// Its query.
        query: Box<Query>,
        /// Its alias.
        alias: String,
        /// LATERAL: it sees the tables before it.
        is_lateral: bool,
    },
    /// JSON_TABLE.
    JsonTable {
        /// Its document.
        document: Expr,
        /// Row path and COLUMNS.
        rows: &'static str,
        /// Its alias.
        alias: String,
    },
    /// A join.
    Join {
        /// `JOIN`, `LEFT JOIN`, `NATURAL JOIN` and so on.
        kind: &'static str,
        /// Left side.
        left: Box<Source>,
        /// Right side.
        right: Box<Source>,
        /// ON.
        on: Option<Expr>,
        /// USING.
        using: Vec<String>,
    },
}

/// SELECT without ORDER BY and LIMIT.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Select {
    /// Hints and modifiers after SELECT, such as `STRAIGHT_JOIN` or `/*+ NO_BNL() */`.
    pub modifiers: Vec<String>,
    /// DISTINCT.
    pub is_distinct: bool,
    /// The select list; none is `*`.
    pub items: Vec<Item>,
    /// FROM.
    pub from: Option<Source>,
    /// WHERE.
    pub filter: Option<Expr>,
    /// GROUP BY.
    pub group: Vec<Expr>,
    /// WITH ROLLUP.
    pub is_rollup: bool,
    /// HAVING.
    pub having: Option<Expr>,
    /// WINDOW.
    pub windows: Vec<(String, Window)>,
}

/// What is between WITH and ORDER BY.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// SELECT.
    Select(Box<Select>),
    /// `left UNION right` and its kin.
    Set {
        /// `UNION`, `UNION ALL`, `INTERSECT` and so on.
        operator: &'static str,
        /// Left side.
        left: Box<Query>,
        /// Right side.
        right: Box<Query>,
    },
}

/// A common table expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Cte {
    /// Its name.
    pub name: String,
    /// Its column names, if written.
    pub columns: Vec<String>,
    /// Its query.
    pub query: Query,
}

/// A query.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// WITH RECURSIVE.
    pub is_recursive: bool,
    /// WITH.
    pub with: Vec<Cte>,
    /// SELECT or set operation.
    pub body: Body,
    /// ORDER BY: positions from 0 and DESC.
    pub order: Vec<(usize, bool)>,
    /// How many leading columns of `order` decide the order of rows that can be distinguished; the others may tie
    /// between different values.
    pub order_checked: usize,
    /// Offset and count.
    pub limit: Option<(u64, u64)>,
    /// The numbers of LIMIT are a `?` each when the statement is prepared.
    pub is_limit_bound: bool,
    /// Such as `FOR UPDATE`.
    pub locking: Option<&'static str>,
}

impl Query {
    /// A query that is this SELECT alone.
    #[must_use]
    pub fn of(select: Select) -> Query {
        Query {
            is_recursive: false,
            with: Vec::new(),
            body: Body::Select(Box::new(select)),
            order: Vec::new(),
            order_checked: 0,
            limit: None,
            is_limit_bound: false,
            locking: None,
        }
    }

    /// The SELECT, if it is no set operation.
    #[must_use]
    pub fn select(&self) -> Option<&Select> {
        match &self.body {
            Body::Select(select) => Some(select),
            Body::Set { .. } => None,
        }
    }
}

/// What an INSERT puts in.
#[derive(Clone, Debug, PartialEq)]
pub enum Rows {
    /// VALUES; `None` is DEFAULT.
    Values(Vec<Vec<Option<Expr>>>),
    /// A query.
    Query(Box<Query>),
}

/// One statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// A query.
    Query(Query),
    /// INSERT or REPLACE.
    Insert {
        /// `INSERT`, `INSERT IGNORE` or `REPLACE`.
        verb: &'static str,
        /// The table.
        table: String,
        /// Its columns, if named.
        columns: Vec<String>,
        /// What goes in.
        rows: Rows,
        /// ON DUPLICATE KEY UPDATE.
        on_duplicate: Vec<(String, Expr)>,
    },
    /// UPDATE.
    Update {
        /// WITH.
        with: Vec<Cte>,
        /// IGNORE.
        is_ignore: bool,
        /// The tables.
        from: Source,
        /// SET.
        sets: Vec<(Expr, Expr)>,
        /// WHERE.
        filter: Option<Expr>,
        /// ORDER BY these columns, and LIMIT.
        order: Vec<(Expr, bool)>,
        /// LIMIT.
        limit: Option<u64>,
    },
    /// DELETE.
    Delete {
        /// WITH.
        with: Vec<Cte>,
        /// IGNORE.
        is_ignore: bool,
        /// Aliases to delete from; empty for the form of one table.
        targets: Vec<String>,
        /// The tables.
        from: Source,
        /// WHERE.
        filter: Option<Expr>,
        /// ORDER BY these columns, and LIMIT.
        order: Vec<(Expr, bool)>,
        /// LIMIT.
        limit: Option<u64>,
    },
    /// ALTER TABLE with one change.
    Alter {
        /// The table.
        table: String,
        /// The change.
        change: Alteration,
    },
    /// CREATE TABLE ... SELECT.
    CreateSelect {
        /// The new table.
        table: String,
        /// Its rows.
        query: Query,
    },
    /// Text that needs no tree: BEGIN, SET sql_mode, SHOW CREATE TABLE.
    Plain(String),
}

/// One change of a definition.
#[derive(Clone, Debug, PartialEq)]
pub enum Alteration {
    /// MODIFY COLUMN.
    Modify(Column),
    /// ADD COLUMN, at the end.
    Add(Column),
    /// DROP COLUMN.
    Drop(String),
    /// ADD INDEX.
    AddIndex(Index),
    /// DROP INDEX; `PRIMARY` for the primary key.
    DropIndex(String),
}

impl Expr {
    /// A literal that stays in the text.
    #[must_use]
    pub fn literal(value: Value) -> Expr {
        Expr::Literal { value, is_bound: false }
    }

    /// Appends its text.
    pub fn write(&self, out: &mut Writer) {
        match self {
            Expr::Column { relation, name } => {
                if !relation.is_empty() {
                    out.push(relation);
                    out.push(".");
                }
                out.push(name);
            }
            Expr::Literal { value, is_bound } => match &mut out.parameters {
                Some(parameters) if *is_bound => {
                    parameters.push(value.clone());
                    out.push("?");
                }
                _ => value.write_literal(&mut out.text),
            },
            Expr::Call { form, arguments } => {
                let mut rest = form.template;
                let mut arguments = arguments.iter();
                while let Some((before, after)) = rest.split_once("{}") {
                    out.push(before);
                    if let Some(argument) = arguments.next() {
                        argument.write(out);
                    }
                    rest = after;
                }
                out.push(rest);
            }
            Expr::Case { operand, branches, otherwise } => {
                out.push("(CASE");
                if let Some(operand) = operand {
                    out.push(" ");
                    operand.write(out);
                }
                for (when, then) in branches {
                    out.push(" WHEN ");
                    when.write(out);
                    out.push(" THEN ");
                    then.write(out);
                }
                if let Some(otherwise) = otherwise {
                    out.push(" ELSE ");
                    otherwise.write(out);
                }
                out.push(" END)");
            }
            Expr::In { left, list, is_negated } => {
                out.push("(");
                left.write(out);
                out.push(if *is_negated { " NOT IN (" } else { " IN (" });
                out.list(list, ", ", |out, item| item.write(out));
                out.push("))");
            }
            Expr::Row(items) => {
                out.push("(");
                out.list(items, ", ", |out, item| item.write(out));
                out.push(")");
            }
            Expr::Scalar(query) => {
                out.push("(");
                query.write(out);
                out.push(")");
            }
            Expr::Exists { query, is_negated } => {
                out.push(if *is_negated { "(NOT EXISTS (" } else { "(EXISTS (" });
                query.write(out);
                out.push("))");
            }
            Expr::InQuery { left, query, is_negated } => {
                out.push("(");
                left.write(out);
                out.push(if *is_negated { " NOT IN (" } else { " IN (" });
                query.write(out);
                out.push("))");
            }
            Expr::Quantified { left, operator, is_all, query } => {
                out.push("(");
                left.write(out);
                out.push(" ");
                out.push(operator);
                out.push(if *is_all { " ALL (" } else { " ANY (" });
                query.write(out);
                out.push("))");
            }
            Expr::Window { function, arguments, window } => {
                out.push(function);
                out.push("(");
                if arguments.is_empty() && *function == "COUNT" {
                    out.push("*");
                }
                out.list(arguments, ", ", |out, item| item.write(out));
                out.push(") OVER ");
                window.write(out);
            }
            Expr::Aggregate { function, is_distinct, arguments, order, separator } => {
                out.push(function);
                out.push(if *is_distinct { "(DISTINCT " } else { "(" });
                if arguments.is_empty() {
                    out.push("*");
                }
                out.list(arguments, ", ", |out, item| item.write(out));
                write_order(order, out);
                if let Some(separator) = separator {
                    out.push(" SEPARATOR ");
                    write_quoted(separator, &mut out.text);
                }
                out.push(")");
            }
        }
    }
}

fn write_order(order: &[(Expr, bool)], out: &mut Writer) {
    if !order.is_empty() {
        out.push(" ORDER BY ");
        out.list(order, ", ", |out, (expr, is_descending)| {
            expr.write(out);
            out.push(if *is_descending { " DESC" } else { "" });
        });
    }
}

impl Source {
    /// Appends its text.
    pub fn write(&self, out: &mut Writer) {
        match self {
            Source::Table { name, alias, hint } => {
                out.push(name);
                if alias != name {
                    out.push(" ");
                    out.push(alias);
                }
                if let Some(hint) = hint {
                    out.push(" ");
                    out.push(hint);
                }
            }
            Source::JsonTable { document, rows, alias } => {
                out.push("JSON_TABLE(");
                document.write(out);
                out.push(", ");
                out.push(rows);
                out.push(") ");
                out.push(alias);
            }
            Source::Derived { query, alias, is_lateral } => {
                out.push(if *is_lateral { "LATERAL (" } else { "(" });
                query.write(out);
                out.push(") ");
                out.push(alias);
            }
            Source::Join { kind, left, right, on, using } => {
                left.write(out);
                out.push(" ");
                out.push(kind);
                out.push(" ");
                let is_nested = matches!(**right, Source::Join { .. });
                out.push(if is_nested { "(" } else { "" });
                right.write(out);
                out.push(if is_nested { ")" } else { "" });
                if let Some(on) = on {
                    out.push(" ON ");
                    on.write(out);
                }
                if !using.is_empty() {
                    out.push(" USING (");
                    out.push(&using.join(", "));
                    out.push(")");
                }
            }
        }
    }
}

impl Select {
    /// Appends its text.
    pub fn write(&self, out: &mut Writer) {
        out.push("SELECT ");
        for modifier in &self.modifiers {
            out.push(modifier);
            out.push(" ");
        }
        out.push(if self.is_distinct { "DISTINCT " } else { "" });
        if self.items.is_empty() {
            out.push("*");
        }
        out.list(&self.items, ", ", |out, item| {
            item.expr.write(out);
            if let Some(alias) = &item.alias {
                out.push(" AS ");
                out.push(alias);
            }
        });
        if let Some(from) = &self.from {
            out.push(" FROM ");
            from.write(out);
        }
        if let Some(filter) = &self.filter {
            out.push(" WHERE ");
            filter.write(out);
        }
        if !self.group.is_empty() {
            out.push(" GROUP BY ");
            out.list(&self.group, ", ", |out, expr| expr.write(out));
            out.push(if self.is_rollup { " WITH ROLLUP" } else { "" });
        }
        if let Some(having) = &self.having {
            out.push(" HAVING ");
            having.write(out);
        }
        if !self.windows.is_empty() {
            out.push(" WINDOW ");
            out.list(&self.windows, ", ", |out, (name, window)| {
                out.push(name);
                out.push(" AS ");
                window.write(out);
            });
        }
    }
}

fn write_ctes(ctes: &[Cte], is_recursive: bool, out: &mut Writer) {
    if ctes.is_empty() {
        return;
    }
    out.push(if is_recursive { "WITH RECURSIVE " } else { "WITH " });
    out.list(ctes, ", ", |out, cte| {
        out.push(&cte.name);
        if !cte.columns.is_empty() {
            out.push(" (");
            out.push(&cte.columns.join(", "));
            out.push(")");
        }
        out.push(" AS (");
        cte.query.write(out);
        out.push(")");
    });
    out.push(" ");
}

impl Query {
    /// Appends its text.
    pub fn write(&self, out: &mut Writer) {
        write_ctes(&self.with, self.is_recursive, out);
        match &self.body {
            Body::Select(select) => select.write(out),
            Body::Set { operator, left, right } => {
                out.push("(");
                left.write(out);
                out.push(") ");
                out.push(operator);
                out.push(" (");
                right.write(out);
                out.push(")");
            }
        }
        if !self.order.is_empty() {
            out.push(" ORDER BY ");
            out.list(&self.order, ", ", |out, (position, is_descending)| {
                out.push(&(position + 1).to_string());
                out.push(if *is_descending { " DESC" } else { "" });
            });
        }
        if let Some((offset, count)) = self.limit {
            let number = |out: &mut Writer, number: u64| match &mut out.parameters {
                Some(parameters) if self.is_limit_bound => {
                    parameters.push(Value::Int(i128::from(number)));
                    out.push("?");
                }
                _ => out.push(&number.to_string()),
            };
            out.push(" LIMIT ");
            number(out, count);
            if offset > 0 {
                out.push(" OFFSET ");
                number(out, offset);
            }
        }
        if let Some(locking) = self.locking {
            out.push(" ");
            out.push(locking);
        }
    }
}

impl Statement {
    /// The text, without parameters.
    #[must_use]
    pub fn sql(&self) -> String {
        let mut out = Writer::default();
        self.write(&mut out);
        out.text
    }

    /// The text with `?` and the values of these.
    #[must_use]
    pub fn prepared_sql(&self) -> (String, Vec<Value>) {
        let mut out = Writer { text: String::new(), parameters: Some(Vec::new()) };
        self.write(&mut out);
        (out.text, out.parameters.unwrap_or_default())
    }

    /// Appends its text.
    pub fn write(&self, out: &mut Writer) {
        match self {
            Statement::Query(query) => query.write(out),
            Statement::Insert { verb, table, columns, rows, on_duplicate } => {
                out.push(verb);
                out.push(" INTO ");
                out.push(table);
                if !columns.is_empty() {
                    out.push(" (");
                    out.push(&columns.join(", "));
                    out.push(")");
                }
                match rows {
                    Rows::Values(rows) => {
                        out.push(" VALUES ");
                        out.list(rows, ", ", |out, row| {
                            out.push("(");
                            out.list(row, ", ", |out, value| match value {
                                Some(Expr::Literal { value, is_bound })
                                    if out.parameters.is_none() || !is_bound =>
                                {
                                    value.write_stored(&mut out.text);
                                }
                                Some(value) => value.write(out),
                                None => out.push("DEFAULT"),
                            });
                            out.push(")");
                        });
                    }
                    Rows::Query(query) => {
                        out.push(" ");
                        query.write(out);
                    }
                }
                let mut assigned = Writer::default();
                on_duplicate.iter().for_each(|(_, value)| value.write(&mut assigned));
                let names_row = assigned.text.contains(&format!("{ROW_ALIAS}."));
                if names_row && matches!(rows, Rows::Values(_)) {
                    out.push(" AS ");
                    out.push(ROW_ALIAS);
                }
                if !on_duplicate.is_empty() {
                    out.push(" ON DUPLICATE KEY UPDATE ");
                    out.list(on_duplicate, ", ", |out, (column, value)| {
                        out.push(column);
                        out.push(" = ");
                        value.write(out);
                    });
                }
            }
            Statement::Update { with, is_ignore, from, sets, filter, order, limit } => {
                write_ctes(with, false, out);
                out.push(if *is_ignore { "UPDATE IGNORE " } else { "UPDATE " });
                from.write(out);
                out.push(" SET ");
                out.list(sets, ", ", |out, (column, value)| {
                    column.write(out);
                    out.push(" = ");
                    value.write(out);
                });
                write_tail(filter.as_ref(), order, *limit, out);
            }
            Statement::Delete { with, is_ignore, targets, from, filter, order, limit } => {
                write_ctes(with, false, out);
                out.push(if *is_ignore { "DELETE IGNORE " } else { "DELETE " });
                if !targets.is_empty() {
                    out.push(&targets.join(", "));
                    out.push(" ");
                }
                out.push("FROM ");
                from.write(out);
                write_tail(filter.as_ref(), order, *limit, out);
            }
            Statement::Alter { table, change } => {
                out.push(&format!("ALTER TABLE {table} "));
                match change {
                    Alteration::Modify(column) => {
                        out.push("MODIFY COLUMN ");
                        column.write(&mut out.text);
                    }
                    Alteration::Add(column) => {
                        out.push("ADD COLUMN ");
                        column.write(&mut out.text);
                    }
                    Alteration::Drop(name) => out.push(&format!("DROP COLUMN {name}")),
                    Alteration::AddIndex(index) => {
                        out.push("ADD ");
                        index.write(&mut out.text);
                    }
                    Alteration::DropIndex(name) if name == "PRIMARY" => out.push("DROP PRIMARY KEY"),
                    Alteration::DropIndex(name) => out.push(&format!("DROP INDEX {name}")),
                }
            }
            Statement::CreateSelect { table, query } => {
                out.push(&format!("CREATE TABLE {table} "));
                query.write(out);
            }
            Statement::Plain(text) => out.push(text),
        }
    }

    /// Whether the content of tables may be another afterwards.
    #[must_use]
    pub fn is_change(&self) -> bool {
        !matches!(self, Statement::Query(_) | Statement::Plain(_))
    }
}

fn write_tail(filter: Option<&Expr>, order: &[(Expr, bool)], limit: Option<u64>, out: &mut Writer) {
    if let Some(filter) = filter {
        out.push(" WHERE ");
        filter.write(out);
    }
    write_order(order, out);
    if let Some(limit) = limit {
        out.push(&format!(" LIMIT {limit}"));
    }
}

/// The tables a round begins with, and the statements that run over them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Script {
    /// Tables and their rows.
    pub tables: Vec<Table>,
    /// Statements, in order; of a minimised script the last one differs.
    pub statements: Vec<Statement>,
}
