//! The text form of a bound statement: a node per line, inputs below it, the trees of subqueries last.
//!
//! ```text
//! Filter a.x > 1, exists(subquery)
//!     Scan a
//!     subquery, reads a.id
//!         Filter (b.a_id = a.id)
//!             Scan b
//! ```
//!
//! Columns that are no table's and have no name are `#number`.

use std::fmt::Write as _;

use syntax::ast::SetOp;

use super::{Column, asked, column_name, expr_text, frame_text};
use crate::expr::{ColumnId, Expr, ExprKind, Subquery};
use crate::logical::{Bound, BoundKind, InsertRows, JoinKind, Logical, SortKey, TableIndex};

impl Bound {
    /// The statement's trees as text. For tests and for reading; nothing parses it.
    #[must_use]
    pub fn text(&self) -> String {
        let mut printer = Printer { bound: self, out: String::new() };
        match &self.kind {
            BoundKind::Query(tree) | BoundKind::Do(tree) => printer.node(tree, 0),
            BoundKind::Insert(insert) => {
                let verb = if insert.replace { "Replace into" } else { "Insert into" };
                let name = printer.table(insert.table);
                match &insert.rows {
                    InsertRows::Values { row_count, .. } => {
                        printer.line(0, &format!("{verb} {name}: {row_count} row(s)"));
                    }
                    InsertRows::Query(tree, _) => {
                        printer.line(0, &format!("{verb} {name}"));
                        printer.node(tree, 1);
                    }
                }
            }
            BoundKind::Update(update) => {
                let assignments: Vec<String> = update
                    .assignments
                    .iter()
                    .map(|assignment| {
                        let table = &self.tables[assignment.table.0 as usize];
                        let column = printer.column(table.column(assignment.column));
                        let value = assignment.value.as_ref().map(|value| printer.expr(value));
                        format!("{column} = {}", value.as_deref().unwrap_or("default"))
                    })
                    .collect();
                printer.line(0, &format!("Update {}", assignments.join(", ")));
                printer.node(&update.source, 1);
                for value in update.assignments.iter().filter_map(|assignment| assignment.value.as_ref()) {
                    printer.subqueries(value, 1);
                }
            }
            BoundKind::Delete(delete) => {
                let names: Vec<String> = delete.targets.iter().map(|&table| printer.table(table)).collect();
                printer.line(0, &format!("Delete from {}", names.join(", ")));
                printer.node(&delete.source, 1);
            }
        }
        printer.out
    }
}

struct Printer<'b> {
    bound: &'b Bound,
    out: String,
}

impl Printer<'_> {
    fn table(&self, table: TableIndex) -> String {
        self.bound.tables[table.0 as usize].alias.to_string()
    }

    fn column(&self, id: ColumnId) -> String {
        column_name(id, &self.bound.columns, |table| &self.bound.tables[table.0 as usize].alias)
    }

    fn columns(&self, ids: &[ColumnId]) -> String {
        ids.iter().map(|&id| self.column(id)).collect::<Vec<_>>().join(", ")
    }

    fn expr(&self, expr: &Expr) -> String {
        expr_text(expr, &|column| self.named(column))
    }

    fn named(&self, column: Column) -> String {
        match column {
            Column::Id(id) => self.column(id),
            // Positions come with the physical plan.
            Column::Input(position) => format!("input {position}"),
            Column::Outer(slot) => format!("outer {slot}"),
            Column::Param(_) => "?".into(),
        }
    }

    fn list<'e>(&self, exprs: impl IntoIterator<Item = &'e Expr>) -> String {
        exprs.into_iter().map(|expr| self.expr(expr)).collect::<Vec<_>>().join(", ")
    }

    fn keys(&self, keys: &[SortKey]) -> String {
        keys.iter()
            .map(|key| format!("{}{}", self.expr(&key.expr), if key.descending { " desc" } else { "" }))
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// `#5 = a.x + 1`; a column that only goes through shows its name alone.
    fn items(&self, items: &[(ColumnId, Expr)]) -> String {
        let item = |(id, expr): &(ColumnId, Expr)| match expr.as_column() {
            Some(column) if column == *id => self.column(*id),
            _ => format!("{} = {}", self.column(*id), self.expr(expr)),
        };
        items.iter().map(item).collect::<Vec<_>>().join(", ")
    }

    fn line(&mut self, depth: usize, text: &str) {
        let _ = writeln!(self.out, "{:1$}{2}", "", 4 * depth, text.trim_end());
    }

    fn node(&mut self, tree: &Logical, depth: usize) {
        let text = self.head(tree);
        self.line(depth, &text);
        tree.each_input(&mut |input| self.node(input, depth + 1));
        match tree {
            Logical::Apply { subquery, .. } => self.subquery(subquery, depth + 1),
            _ => tree.each_expr(&mut |expr| self.subqueries(expr, depth + 1)),
        }
    }

    /// The node itself, on one line.
    fn head(&self, tree: &Logical) -> String {
        match tree {
            Logical::OneRow => "One row".into(),
            Logical::Empty { columns } => format!("Empty {}", self.columns(columns)),
            Logical::Scan { table } => {
                let definition = &self.bound.tables[table.0 as usize];
                let parts: Vec<String> = definition
                    .parts
                    .iter()
                    .map(|part| {
                        let column = &definition.entry.definition.columns[part.column].name;
                        format!("{} of {column}", part.kind.name())
                    })
                    .collect();
                let giving = if parts.is_empty() { "" } else { ", giving " };
                format!("Scan {}{giving}{}", self.table(*table), parts.join(", "))
            }
            Logical::Values { columns, rows } => {
                let rows: Vec<String> = rows.iter().map(|row| format!("({})", self.list(row))).collect();
                format!("Values {} = {}", self.columns(columns), rows.join(", "))
            }
            Logical::WorkingTable { recursion, columns } => {
                format!("Rows of the last step of recursion {recursion}: {}", self.columns(columns))
            }
            Logical::Recursive { recursion, distinct, columns, .. } => {
                let distinct = if *distinct { " distinct" } else { "" };
                format!("Recursion {recursion}{distinct}: {}", self.columns(columns))
            }
            Logical::Filter { conditions, .. } => format!("Filter {}", self.list(conditions)),
            Logical::Project { items, .. } => format!("Project {}", self.items(items)),
            Logical::Join { kind, conditions, .. } => {
                let kind = match kind {
                    JoinKind::Inner => "Inner join",
                    JoinKind::Straight => "Straight join",
                    JoinKind::Left => "Left join",
                    JoinKind::Semi => "Semi join",
                    JoinKind::Anti => "Anti join",
                };
                let on = if conditions.is_empty() { "" } else { " on " };
                format!("{kind}{on}{}", self.list(conditions))
            }
            Logical::Aggregate { keys, calls, rollup, .. } => {
                let calls: Vec<String> = calls
                    .iter()
                    .map(|(id, call)| {
                        let distinct = if call.distinct { "distinct " } else { "" };
                        let order = if call.order_by.is_empty() { "" } else { " order by " };
                        format!(
                            "{} = {}({distinct}{}{order}{})",
                            self.column(*id),
                            call.function.name(),
                            self.list(&call.args),
                            self.keys(&call.order_by)
                        )
                    })
                    .collect();
                let by = if keys.is_empty() { String::new() } else { format!(" by {}", self.items(keys)) };
                let rollup = if *rollup { " with rollup" } else { "" };
                format!("Aggregate{by}{rollup}: {}", calls.join(", "))
            }
            Logical::Window { partition, order, calls, .. } => {
                let calls: Vec<String> = calls
                    .iter()
                    .map(|(id, call)| {
                        let frame = frame_text(&call.frame, &|expr| self.expr(expr));
                        let space = if frame.is_empty() { "" } else { " " };
                        format!(
                            "{} = {}({}){space}{frame}",
                            self.column(*id),
                            call.function.name(),
                            self.list(&call.args)
                        )
                    })
                    .collect();
                format!(
                    "Window by ({}) in order of ({}): {}",
                    self.list(partition),
                    self.keys(order),
                    calls.join(", ")
                )
            }
            Logical::Distinct { columns, .. } => format!("Distinct {}", self.columns(columns)),
            Logical::Sort { keys, .. } => format!("Sort {}", self.keys(keys)),
            Logical::Limit { count, offset, .. } => {
                let count = count.as_ref().map_or_else(|| "all".into(), |count| self.expr(count));
                match offset {
                    Some(offset) => format!("Limit {count} offset {}", self.expr(offset)),
                    None => format!("Limit {count}"),
                }
            }
            Logical::SetOp { op, all, columns, left_columns, right_columns, .. } => {
                let op = match op {
                    SetOp::Union => "Union",
                    SetOp::Except => "Except",
                    SetOp::Intersect => "Intersect",
                };
                let all = if *all { " all" } else { "" };
                format!(
                    "{op}{all} {} of ({}) and ({})",
                    self.columns(columns),
                    self.columns(left_columns),
                    self.columns(right_columns)
                )
            }
            Logical::JsonTable { document, columns, .. } => {
                format!("JSON table {} of {}", self.columns(columns), self.column(*document))
            }
            Logical::Lateral { outer, .. } => format!("Lateral over {}", self.columns(outer)),
            Logical::Apply { subquery, column, .. } => {
                let asked = asked(&subquery.kind, &|column| self.named(column));
                let mut text = format!("Apply {} = {asked}", self.column(*column));
                for condition in &subquery.needed_if {
                    let condition = expr_text(condition, &|column| self.named(column));
                    let _ = write!(text, " if {condition}");
                }
                text
            }
        }
    }

    /// The trees of the subqueries inside an expression.
    fn subqueries(&mut self, expr: &Expr, depth: usize) {
        if let ExprKind::Subquery(subquery) = &expr.kind {
            self.subquery(subquery, depth);
        }
        expr.each_child(&mut |child| self.subqueries(child, depth));
    }

    fn subquery(&mut self, subquery: &Subquery, depth: usize) {
        let reads = if subquery.outer.is_empty() { "" } else { ", reads " };
        self.line(depth, &format!("subquery{reads}{}", self.columns(&subquery.outer)));
        self.node(&subquery.plan, depth + 1);
    }
}
