//! FORMAT=JSON, version 1: query blocks with their tables in the order in which they are read.

use types::Value;

use super::names::{Names, Style, joined};
use super::rows::{self, Read};
use super::step::{first_of, has_one_row};
use crate::cost;
use crate::document::{Document, Members, texts};
use crate::expr::{ColumnId, Expr};
use crate::logical::{JoinKind, TableIndex, WindowCall};
use crate::physical::{InsertPlan, InsertSource, Node, Op, PhysicalPlan, PlanKind, Scan, SetOp};

/// The plan as a document.
pub(super) fn print(plan: &PhysicalPlan, parameters: &[Value]) -> String {
    let names = Names { plan, parameters, style: Style::Quoted };
    let changed: Vec<TableIndex> = plan.kind.changed_tables().collect();
    let verb = match &plan.kind {
        PlanKind::Update(_) => "update",
        _ => "delete",
    };
    let mut blocks = Blocks { names, select: 1, changed, verb };
    let block = match &plan.kind {
        PlanKind::Query(node) | PlanKind::Do(node) => blocks.query_block(node),
        PlanKind::Insert(insert) => blocks.insert(insert),
        PlanKind::Update(update) => blocks.query_block(&update.source),
        PlanKind::Delete(delete) => blocks.query_block(&delete.source),
    };
    Document::Object(vec![("query_block", Document::Object(block))]).pretty()
}

struct Blocks<'p> {
    names: Names<'p>,
    /// The number of the last SELECT.
    select: u32,
    /// Tables whose rows the statement changes.
    changed: Vec<TableIndex>,
    /// What it does to them.
    verb: &'static str,
}

/// What operators say of the tables below them.
#[derive(Default)]
struct Above {
    conditions: Vec<String>,
    /// Subqueries of these conditions.
    attached: Vec<Document>,
    /// Other subqueries.
    listed: Vec<Document>,
}

/// Rows and costs of a table in its join.
struct Figures {
    /// Rows read each time.
    examined: f64,
    /// Rows of the join so far.
    produced: f64,
    /// Of the rows read, those that the conditions let through.
    share: f64,
    /// Cost of the join so far, and before this table.
    costs: (f64, f64),
}

fn figure(cost: f64) -> Document {
    format!("{cost:.2}").into()
}

fn count(rows: f64) -> Document {
    Document::Count(rows.round().max(0.0) as u64)
}

/// Bytes as MySQL shortens them: `1K`.
fn shortened(bytes: f64) -> String {
    let mut bytes = bytes.max(0.0);
    for unit in ["", "K", "M", "G", "T"] {
        if bytes < 1024.0 {
            return format!("{}{unit}", bytes as u64);
        }
        bytes /= 1024.0;
    }
    format!("{}P", bytes as u64)
}

fn cost_info(figures: &Figures, row_bytes: f64) -> Document {
    let (all, before) = figures.costs;
    let of_rows = cost::shown(figures.produced * cost::ROW).min((all - before).max(0.0));
    Document::Object(vec![
        ("read_cost", figure((all - before - of_rows).max(0.0))),
        ("eval_cost", figure(of_rows)),
        ("prefix_cost", figure(all)),
        ("data_read_per_join", shortened(figures.produced * row_bytes).into()),
    ])
}

impl Blocks<'_> {
    fn insert(&mut self, insert: &InsertPlan) -> Members {
        let verb = if insert.replace { "replace" } else { "insert" };
        let table = Document::Object(vec![
            (verb, true.into()),
            ("table_name", self.names.alias(insert.table).into()),
            ("access_type", "ALL".into()),
        ]);
        let InsertSource::Query(node) = &insert.rows else {
            return vec![("select_id", Document::Count(1)), ("table", table)];
        };
        let mut block = self.query_block(node);
        let is_own = |name: &str| matches!(name, "select_id" | "cost_info");
        let own = block.iter().take_while(|(name, _)| is_own(name)).count();
        let from = block.split_off(own);
        block.push(("table", table));
        block.push(("insert_from", Document::Object(from)));
        block
    }

    /// A SELECT: `select_id`, `cost_info`, then what it consists of.
    fn query_block(&mut self, node: &Node) -> Members {
        let select = self.select;
        let cost = Document::Object(vec![("query_cost", figure(cost::shown(node.cost)))]);
        let mut block = vec![("select_id", Document::Count(u64::from(select))), ("cost_info", cost)];
        let mut above = Above::default();
        let content = self.content(node, &mut above);
        match content.first() {
            // A set operation is not a SELECT.
            Some((name, _)) if name.ends_with("_result") => block.clear(),
            Some((name, _)) if *name == "message" => block.truncate(1),
            _ => {}
        }
        block.extend(content);
        above.listed.append(&mut above.attached);
        if !above.listed.is_empty() {
            block.push(("select_list_subqueries", Document::List(above.listed)));
        }
        block
    }

    /// A SELECT within another.
    fn specification(&mut self, node: &Node, dependent: bool) -> Document {
        self.select += 1;
        let block = self.query_block(node);
        Document::Object(vec![
            ("dependent", dependent.into()),
            ("cacheable", (!dependent).into()),
            ("query_block", Document::Object(block)),
        ])
    }

    fn content(&mut self, node: &Node, above: &mut Above) -> Members {
        let object = |name, members| vec![(name, Document::Object(members))];
        match &node.op {
            Op::OneRow | Op::Values(_) => vec![("message", "No tables used".into())],
            Op::Empty => vec![("message", "Impossible WHERE".into())],
            Op::Project { input, .. } | Op::Fetch { input, .. } | Op::Limit { input, .. } => {
                self.content(input, above)
            }
            Op::Filter { input, conditions } => {
                above.conditions.extend(self.names.exprs(conditions, &input.columns));
                self.content(input, above)
            }
            Op::Apply { input, subquery, outer, .. } => {
                let subquery = self.specification(subquery, !outer.is_empty());
                if above.conditions.is_empty() {
                    above.listed.push(subquery);
                } else {
                    above.attached.push(subquery);
                }
                self.content(input, above)
            }
            Op::Sort { input, .. } | Op::TopN { input, .. } => {
                let mut members: Members = vec![("using_filesort", true.into())];
                members.extend(self.content(input, above));
                object("ordering_operation", members)
            }
            Op::Aggregate { input, keys, ordered, rollup, .. } => {
                // A condition on groups is not shown.
                above.conditions.clear();
                if keys.is_empty() {
                    return self.content(input, above);
                }
                let mut members: Members = Vec::new();
                if !ordered && !rollup {
                    members.push(("using_temporary_table", true.into()));
                }
                let sorted = match &input.op {
                    Op::Sort { input, .. } => Some(input),
                    _ => None,
                };
                members.push(("using_filesort", sorted.is_some().into()));
                members.extend(self.content(sorted.unwrap_or(input), above));
                object("grouping_operation", members)
            }
            Op::Distinct { input } => {
                if let Op::Append { .. } = input.op {
                    return self.union(input, true);
                }
                let mut members: Members =
                    vec![("using_temporary_table", true.into()), ("using_filesort", false.into())];
                members.extend(self.content(input, above));
                object("duplicates_removal", members)
            }
            Op::Window { input, calls, .. } => {
                let sorted = match &input.op {
                    Op::Sort { input, .. } => Some(input),
                    _ => None,
                };
                let functions = calls.iter().map(|call| call.function.name());
                let mut window: Members = vec![
                    ("name", "<unnamed window>".into()),
                    ("using_filesort", sorted.is_some().into()),
                    ("functions", texts(functions)),
                ];
                if calls.iter().any(WindowCall::looks_ahead) {
                    let buffer = vec![("using_temporary_table", true.into())];
                    window.insert(2, ("frame_buffer", Document::Object(buffer)));
                }
                let mut members: Members = vec![("windows", Document::List(vec![Document::Object(window)]))];
                members.extend(self.content(sorted.unwrap_or(input), above));
                object("windowing", members)
            }
            Op::Append { .. } | Op::SetOp { .. } => self.union(node, false),
            _ => {
                let mut tables = self.tables(node);
                self.attach(tables.last_mut(), above);
                if tables.len() == 1 {
                    return object("table", tables.remove(0));
                }
                let joined = tables
                    .into_iter()
                    .map(|table| Document::Object(vec![("table", Document::Object(table))]));
                vec![("nested_loop", Document::List(joined.collect()))]
            }
        }
    }

    /// What operators above say goes to the last table below them.
    fn attach(&self, table: Option<&mut Members>, above: &mut Above) {
        let Some(table) = table else { return };
        let conditions = std::mem::take(&mut above.conditions);
        if !conditions.is_empty() {
            condition(table, &conditions);
        }
        let subqueries = std::mem::take(&mut above.attached);
        if !subqueries.is_empty() {
            attach_subqueries(table, subqueries);
        }
    }

    fn union(&mut self, node: &Node, distinct: bool) -> Members {
        let name = match &node.op {
            Op::SetOp { op: SetOp::Intersect, .. } => "intersect_result",
            Op::SetOp { .. } => "except_result",
            _ => "union_result",
        };
        let first = self.select;
        let mut specifications = Vec::new();
        self.members_of(node, &mut specifications);
        let temporary = distinct || matches!(node.op, Op::SetOp { .. });
        let mut members: Members = vec![("using_temporary_table", temporary.into())];
        if temporary {
            let word = name.split('_').next().unwrap_or(name);
            self.select += 1;
            members.push(("select_id", Document::Count(u64::from(self.select))));
            members.push(("table_name", format!("<{word}{first},{}>", self.select - 1).into()));
            members.push(("access_type", "ALL".into()));
        }
        members.push(("query_specifications", Document::List(specifications)));
        vec![(name, Document::Object(members))]
    }

    /// The SELECTs of a set operation; the first one has the number of the whole.
    fn members_of(&mut self, node: &Node, out: &mut Vec<Document>) {
        match &node.op {
            Op::Append { left, right } => {
                self.members_of(left, out);
                self.members_of(right, out);
            }
            Op::SetOp { left, right, .. } if out.is_empty() => {
                self.members_of(left, out);
                self.members_of(right, out);
            }
            _ => {
                if out.is_empty() {
                    self.select -= 1;
                }
                out.push(self.specification(node, false));
            }
        }
    }

    /// The tables of a join.
    fn tables(&mut self, node: &Node) -> Vec<Members> {
        match &node.op {
            Op::Scan(scan) => {
                let cost = cost::shown(node.cost);
                let figures = Figures {
                    examined: scan.rows_read,
                    produced: node.rows,
                    share: rows::share(node.rows, scan.rows_read),
                    costs: (cost, 0.0),
                };
                vec![self.table(scan, &figures, &[], &[], None)]
            }
            Op::LookupJoin { kind, left, scan, conditions } => {
                let mut tables = self.tables(left);
                let figures = Figures {
                    examined: scan.rows_read,
                    produced: node.rows,
                    share: rows::joined_share(node, *kind, left, scan),
                    costs: (cost::shown(node.cost), cost::shown(left.cost)),
                };
                tables.push(self.table(scan, &figures, &left.columns, conditions, Some(*kind)));
                tables
            }
            Op::HashJoin { left, right, keys, conditions, .. } => {
                let mut both = left.columns.clone();
                both.extend(&right.columns);
                let mut parts: Vec<String> = keys
                    .iter()
                    .map(|(a, b, safe)| {
                        let op = if *safe { "<=>" } else { "=" };
                        let (a, b) = (self.names.expr(a, &left.columns), self.names.expr(b, &right.columns));
                        format!("({a} {op} {b})")
                    })
                    .collect();
                parts.extend(conditions.iter().map(|expr| self.names.expr(expr, &both)));
                self.buffered(left, right, "hash join", &parts)
            }
            Op::LoopJoin { left, right, conditions, .. } => {
                let mut both = left.columns.clone();
                both.extend(&right.columns);
                let parts: Vec<String> = conditions.iter().map(|expr| self.names.expr(expr, &both)).collect();
                self.buffered(left, right, "Block Nested Loop", &parts)
            }
            Op::Project { input, .. } | Op::Fetch { input, .. } if is_join(input) => self.tables(input),
            Op::Filter { input, conditions } if is_join(input) => {
                let mut tables = self.tables(input);
                if let Some(last) = tables.last_mut() {
                    condition(last, &self.names.exprs(conditions, &input.columns));
                }
                tables
            }
            Op::Apply { input, subquery, outer, .. } if is_join(input) => {
                let mut tables = self.tables(input);
                let subquery = self.specification(subquery, !outer.is_empty());
                if let Some(last) = tables.last_mut() {
                    attach_subqueries(last, vec![subquery]);
                }
                tables
            }
            Op::JsonTable { input, alias, .. } => {
                let mut tables = if has_one_row(input) { Vec::new() } else { self.tables(input) };
                let mut table = self.made(alias, node);
                table.push(("table_function", "json_table".into()));
                table.push(("using_temporary_table", true.into()));
                tables.push(table);
                tables
            }
            Op::WorkingTable { .. } => vec![self.made("<recursive>", node)],
            Op::Recursive { seed, step, distinct, .. } => {
                let name = format!("<derived{}>", self.select + 1);
                let specifications = vec![self.specification(seed, false), self.specification(step, false)];
                let union = Document::Object(vec![
                    ("using_temporary_table", (*distinct).into()),
                    ("query_specifications", Document::List(specifications)),
                ]);
                let block = Document::Object(vec![("union_result", union)]);
                vec![self.materialized(&name, node, block)]
            }
            _ => {
                self.select += 1;
                let name = format!("<derived{}>", self.select);
                let block = Document::Object(self.query_block(node));
                vec![self.materialized(&name, node, block)]
            }
        }
    }

    /// The tables of a join whose right rows are kept.
    fn buffered(&mut self, left: &Node, right: &Node, how: &str, conditions: &[String]) -> Vec<Members> {
        let mut tables = self.tables(left);
        let mut joined = self.tables(right);
        if let Some(first) = joined.first_mut() {
            first.push(("using_join_buffer", how.into()));
        }
        if let Some(last) = joined.last_mut().filter(|_| !conditions.is_empty()) {
            condition(last, conditions);
        }
        tables.append(&mut joined);
        tables
    }

    /// A table that is not stored.
    fn made(&self, name: &str, node: &Node) -> Members {
        let figures = Figures {
            examined: node.rows,
            produced: node.rows,
            share: 1.0,
            costs: (cost::shown(node.cost), 0.0),
        };
        vec![
            ("table_name", name.into()),
            ("access_type", "ALL".into()),
            ("rows_examined_per_scan", count(node.rows)),
            ("rows_produced_per_join", count(node.rows)),
            ("filtered", figure(100.0)),
            ("cost_info", cost_info(&figures, 16.0 * node.columns.len() as f64)),
        ]
    }

    fn materialized(&self, name: &str, node: &Node, block: Document) -> Members {
        let mut table = self.made(name, node);
        let from = Document::Object(vec![
            ("using_temporary_table", true.into()),
            ("dependent", false.into()),
            ("cacheable", true.into()),
            ("query_block", block),
        ]);
        table.push(("materialized_from_subquery", from));
        table
    }

    fn table(
        &self,
        scan: &Scan,
        figures: &Figures,
        left: &[ColumnId],
        conditions: &[Expr],
        join: Option<JoinKind>,
    ) -> Members {
        let names = self.names;
        let definition = &names.plan.tables[scan.table.0 as usize].entry.definition;
        let mut table: Members = Vec::new();
        if self.changed.contains(&scan.table) {
            table.push((self.verb, true.into()));
        }
        table.push(("table_name", names.alias(scan.table).into()));
        let Read { access_type, key, covering } = rows::read(names, scan, left);
        table.push(("access_type", access_type.into()));
        if let Some(key) = key {
            if key.by_ranges {
                table.push(("possible_keys", texts([key.name.as_str()])));
            }
            table.push(("key", key.name.into()));
            table.push(("used_key_parts", texts(key.parts)));
            table.push(("key_length", key.bytes.to_string().into()));
            if !key.references.is_empty() {
                table.push(("ref", texts(key.references)));
            }
        }
        table.push(("rows_examined_per_scan", count(figures.examined.max(1.0))));
        table.push(("rows_produced_per_join", count(figures.produced)));
        table.push(("filtered", figure(100.0 * figures.share)));
        if scan.access.backward && scan.access.index.is_some() {
            table.push(("backward_index_scan", true.into()));
        }
        if scan.first_of > 0 {
            table.push(("using_index_for_group_by", true.into()));
        } else if covering {
            table.push(("using_index", true.into()));
        }
        match join {
            Some(JoinKind::Semi) => table.push(("first_match", true.into())),
            Some(JoinKind::Anti) => table.push(("not_exists", true.into())),
            _ => {}
        }
        let row_bytes: u64 = definition.columns.iter().map(|column| rows::column_bytes(column, None)).sum();
        table.push(("cost_info", cost_info(figures, row_bytes as f64)));
        table.push(("used_columns", texts(names.used_columns(scan))));
        let own = names.scan_columns(scan);
        let mut parts: Vec<String> = scan.filter.iter().map(|expr| names.expr(expr, &own)).collect();
        let mut both = left.to_vec();
        both.extend(own);
        parts.extend(conditions.iter().map(|expr| names.expr(expr, &both)));
        if !parts.is_empty() {
            condition(&mut table, &parts);
        }
        table
    }
}

/// Adds conditions to that of a table.
fn condition(table: &mut Members, conditions: &[String]) {
    match table.iter_mut().find(|(name, _)| *name == "attached_condition") {
        Some((_, Document::Text(earlier))) => {
            let mut all = vec![std::mem::take(earlier)];
            all.extend_from_slice(conditions);
            *earlier = joined(&all);
        }
        _ => table.push(("attached_condition", joined(conditions).into())),
    }
}

fn attach_subqueries(table: &mut Members, subqueries: Vec<Document>) {
    match table.iter_mut().find(|(name, _)| *name == "attached_subqueries") {
        Some((_, Document::List(earlier))) => earlier.extend(subqueries),
        _ => table.push(("attached_subqueries", Document::List(subqueries))),
    }
}

/// Whether the rows are those of a join, or of a table by itself.
fn is_join(node: &Node) -> bool {
    match &node.op {
        Op::Scan(_) | Op::LookupJoin { .. } | Op::HashJoin { .. } | Op::LoopJoin { .. } => true,
        Op::JsonTable { .. } => true,
        Op::Aggregate { input, .. } if first_of(input).is_some() => false,
        Op::Project { input, .. }
        | Op::Fetch { input, .. }
        | Op::Filter { input, .. }
        | Op::Apply { input, .. } => is_join(input),
        _ => false,
    }
}
