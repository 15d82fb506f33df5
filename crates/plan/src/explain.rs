//! EXPLAIN: printers of the physical plan.
//!
//! [`tree`] is FORMAT=TREE, and with counters EXPLAIN ANALYZE; [`table`] the traditional rows. Both read the same plan
//! that runs. Texts follow MySQL's words where the operators are the same.

use std::fmt::Write as _;

use types::Value;

use crate::cost;
use crate::expr::{ColumnId, Expr, ExprKind};
use crate::logical::{AggregateFunction, JoinKind, TableIndex};
use crate::physical::{Access, ApplyKind, Node, Op, PhysicalPlan, PlanKind, RangePlan, Scan, SetOp};
use crate::text::{Column, column_name, expr_text, frame_text, literal};

/// What a node really did, for EXPLAIN ANALYZE.
#[derive(Clone, Copy, Debug, Default)]
pub struct Actual {
    /// Times it was started.
    pub loops: u64,
    /// Rows it gave, over all loops.
    pub rows: u64,
    /// Microseconds spent in it and below.
    pub micros: u64,
    /// Some of what it kept went to disk.
    pub spilled: bool,
}

/// A row of the traditional EXPLAIN.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExplainRow {
    /// Number of the SELECT; `None` for the result of a UNION.
    pub id: Option<u32>,
    /// SIMPLE, PRIMARY, SUBQUERY, DERIVED, UNION, INSERT, ...
    pub select_type: String,
    /// Alias of the table.
    pub table: Option<String>,
    /// system, const, eq_ref, ref, range, index, ALL.
    pub access_type: Option<String>,
    /// Indexes that were possible, comma between.
    pub possible_keys: Option<String>,
    /// The index used.
    pub key: Option<String>,
    /// Bytes of the key used.
    pub key_len: Option<String>,
    /// What the key is compared with.
    pub reference: Option<String>,
    /// Rows expected per pass.
    pub rows: Option<u64>,
    /// Percent of the rows that conditions let through.
    pub filtered: Option<f64>,
    /// Using where, Using index, Using filesort, Using temporary, ...
    pub extra: Option<String>,
}

/// FORMAT=TREE; with `actual` by node number EXPLAIN ANALYZE. `parameters`: their values, as far as they are known.
#[must_use]
pub fn tree(plan: &PhysicalPlan, actual: Option<&[Actual]>, parameters: &[Value]) -> String {
    let mut printer = Printer { plan, actual, parameters, out: String::new() };
    match &plan.kind {
        PlanKind::Query(node) | PlanKind::Do(node) => printer.node(node, 0),
        PlanKind::Insert(insert) => {
            let verb = if insert.replace { "Replace" } else { "Insert" };
            let _ = writeln!(printer.out, "-> {verb} into {}", printer.table_name(insert.table));
            if let crate::physical::InsertSource::Query(node) = &insert.rows {
                printer.node(node, 1);
            }
        }
        PlanKind::Update(update) => {
            let names: Vec<_> =
                update.targets.iter().map(|target| printer.table_name(target.table)).collect();
            let _ = writeln!(printer.out, "-> Update {}", names.join(", "));
            printer.node(&update.source, 1);
        }
        PlanKind::Delete(delete) => {
            let names: Vec<_> = delete.targets.iter().map(|(table, _)| printer.table_name(*table)).collect();
            let _ = writeln!(printer.out, "-> Delete from {}", names.join(", "));
            printer.node(&delete.source, 1);
        }
    }
    printer.out
}

struct Printer<'p> {
    plan: &'p PhysicalPlan,
    actual: Option<&'p [Actual]>,
    parameters: &'p [Value],
    out: String,
}

impl Printer<'_> {
    fn table_name(&self, table: TableIndex) -> String {
        self.plan.tables[table.0 as usize].alias.to_string()
    }

    fn column_name(&self, id: ColumnId) -> String {
        column_name(id, &self.plan.columns, |table| &self.plan.tables[table.0 as usize].alias)
    }

    fn line(&mut self, depth: usize, node: &Node, text: &str) {
        for _ in 0..depth {
            self.out.push_str("    ");
        }
        let _ = write!(self.out, "-> {text}  (cost={:.3} rows={:.3})", cost::shown(node.cost), node.rows);
        if let Some(actual) = self.actual.and_then(|actual| actual.get(node.number as usize)) {
            if actual.loops == 0 {
                self.out.push_str(" (never executed)");
            } else {
                let loops = actual.loops as f64;
                let _ = write!(
                    self.out,
                    " (actual time={:.3} rows={:.2} loops={})",
                    actual.micros as f64 / 1000.0 / loops,
                    actual.rows as f64 / loops,
                    actual.loops
                );
                if actual.spilled {
                    self.out.push_str(" (spilled to disk)");
                }
            }
        }
        self.out.push('\n');
    }

    fn exprs(&self, exprs: &[Expr], columns: &[ColumnId]) -> String {
        let parts: Vec<String> = exprs.iter().map(|expr| self.expr(expr, columns)).collect();
        parts.join(" and ")
    }

    fn keys(&self, keys: &[(Expr, bool)], columns: &[ColumnId]) -> String {
        let parts: Vec<String> = keys
            .iter()
            .map(|(expr, descending)| {
                format!("{}{}", self.expr(expr, columns), if *descending { " DESC" } else { "" })
            })
            .collect();
        parts.join(", ")
    }

    fn scan_text(&self, scan: &Scan, left: &[ColumnId]) -> String {
        let table = &self.plan.tables[scan.table.0 as usize];
        let alias = &table.alias;
        let backward = if scan.access.backward { " (reverse)" } else { "" };
        let definition = &table.entry.definition;
        let by = scan.access.index.or(definition.clustered.filter(|_| scan.first_of > 0));
        let Some(index) = by else { return format!("Table scan on {alias}{backward}") };
        let name = &table.entry.definition.indexes[index].name;
        let covering = scan.access.covering && table.entry.definition.clustered != Some(index);
        let cover = if covering { "Covering index" } else { "Index" };
        if scan.first_of > 0 {
            let purpose = if scan.columns.len() > scan.first_of { "grouping" } else { "deduplication" };
            let over = match &scan.access.ranges {
                Some(ranges) => format!(" over ({})", self.ranges(scan, index, ranges, left)),
                None => String::new(),
            };
            return format!("{cover} skip scan for {purpose} on {alias} using {name}{over}{backward}");
        }
        match &scan.access.ranges {
            None => format!("{cover} scan on {alias} using {name}{backward}"),
            Some(ranges) => {
                let text = self.ranges(scan, index, ranges, left);
                if scan.access.point && ranges.len() == 1 {
                    format!(
                        "Single-row {}index lookup on {alias} using {name} ({text})",
                        if covering { "covering " } else { "" }
                    )
                } else if ranges.iter().all(|range| range.lower.is_none() && range.upper.is_none())
                    && ranges.len() == 1
                {
                    format!("{cover} lookup on {alias} using {name} ({text}){backward}")
                } else {
                    format!("{cover} range scan on {alias} using {name} over ({text}){backward}")
                }
            }
        }
    }

    fn ranges(&self, scan: &Scan, index: usize, ranges: &[RangePlan], left: &[ColumnId]) -> String {
        let definition = &self.plan.tables[scan.table.0 as usize].entry.definition;
        let column = |part: usize| {
            let part = &definition.indexes[index].parts[part];
            match definition.part_expression(part) {
                Some(expression) => expression.replace('`', ""),
                None => definition.columns[part.column].name.to_string(),
            }
        };
        let mut texts = Vec::new();
        for range in ranges.iter().take(3) {
            let mut parts = Vec::new();
            for (part, value) in range.equal.iter().enumerate() {
                parts.push(format!("{} = {}", column(part), self.expr(&value.expr, left)));
            }
            let part = range.equal.len();
            for (end, lower) in
                range.lower.iter().map(|end| (end, true)).chain(range.upper.iter().map(|end| (end, false)))
            {
                let op = match (end.like_prefix, lower, end.inclusive) {
                    (true, true, _) => "like",
                    (true, false, _) => continue,
                    (_, true, true) => ">=",
                    (_, true, false) => ">",
                    (_, false, true) => "<=",
                    (_, false, false) => "<",
                };
                parts.push(format!("{} {op} {}", column(part), self.expr(&end.expr, left)));
            }
            texts.push(parts.join(" and "));
        }
        if ranges.len() > 3 {
            texts.push(format!("({} more)", ranges.len() - 3));
        }
        texts.join(" or ")
    }

    fn node(&mut self, node: &Node, mut depth: usize) {
        let join = |kind: JoinKind| match kind {
            JoinKind::Inner | JoinKind::Straight => "inner join",
            JoinKind::Left => "left join",
            JoinKind::Semi => "semijoin",
            JoinKind::Anti => "antijoin",
        };
        match &node.op {
            Op::OneRow => self.line(depth, node, "Rows fetched before execution"),
            Op::Empty => self.line(depth, node, "Zero rows"),
            Op::Scan(scan) => {
                if !scan.filter.is_empty() {
                    let text = format!("Filter: ({})", self.exprs(&scan.filter, &node.columns));
                    self.line(depth, node, &text);
                    depth += 1;
                }
                let text = self.scan_text(scan, &[]);
                self.line(depth, node, &text);
            }
            Op::Values(rows) => {
                self.line(depth, node, &format!("Rows fetched before execution ({})", rows.len()));
            }
            Op::WorkingTable { .. } => self.line(depth, node, "Scan new records of the recursion"),
            Op::Recursive { seed, step, distinct, .. } => {
                let text = if *distinct {
                    "Materialize recursive CTE with deduplication"
                } else {
                    "Materialize recursive CTE"
                };
                self.line(depth, node, text);
                self.node(seed, depth + 1);
                self.node(step, depth + 1);
            }
            Op::Filter { input, conditions } => {
                let text = format!("Filter: ({})", self.exprs(conditions, &input.columns));
                self.line(depth, node, &text);
                self.node(input, depth + 1);
            }
            // Computing columns is no step of its own in MySQL's trees.
            Op::Project { input, .. } => self.node(input, depth),
            Op::LookupJoin { kind, left, scan, conditions } => {
                self.line(depth, node, &format!("Nested loop {}", join(*kind)));
                self.node(left, depth + 1);
                let mut depth = depth + 1;
                if !conditions.is_empty() || !scan.filter.is_empty() {
                    let mut own: Vec<ColumnId> =
                        scan.columns.iter().map(|&ordinal| self.table_column(scan.table, ordinal)).collect();
                    let mut texts = Vec::new();
                    if !scan.filter.is_empty() {
                        texts.push(self.exprs(&scan.filter, &own));
                    }
                    if !conditions.is_empty() {
                        let mut both = left.columns.clone();
                        both.append(&mut own);
                        texts.push(self.exprs(conditions, &both));
                    }
                    self.plain(depth, &format!("Filter: ({})", texts.join(" and ")));
                    depth += 1;
                }
                let text = self.scan_text(scan, &left.columns);
                self.plain(depth, &text);
            }
            Op::HashJoin { kind, left, right, keys, conditions, .. } => {
                let mut parts: Vec<String> = keys
                    .iter()
                    .map(|(a, b, safe)| {
                        let op = if *safe { "<=>" } else { "=" };
                        format!("({} {op} {})", self.expr(a, &left.columns), self.expr(b, &right.columns))
                    })
                    .collect();
                if !conditions.is_empty() {
                    let mut both = left.columns.clone();
                    both.extend(&right.columns);
                    parts.push(format!("extra conditions: ({})", self.exprs(conditions, &both)));
                }
                let name = join(*kind);
                let name = format!("{}{}", name[..1].to_uppercase(), &name[1..]);
                self.line(
                    depth,
                    node,
                    &format!("{} hash {}", name.split(' ').next().unwrap_or(&name), parts.join(", ")),
                );
                self.node(left, depth + 1);
                self.plain(depth + 1, "Hash");
                self.node(right, depth + 2);
            }
            Op::LoopJoin { kind, left, right, conditions, .. } => {
                let mut both = left.columns.clone();
                both.extend(&right.columns);
                let on = if conditions.is_empty() {
                    String::new()
                } else {
                    format!(": ({})", self.exprs(conditions, &both))
                };
                self.line(depth, node, &format!("Block nested loop {}{on}", join(*kind)));
                self.node(left, depth + 1);
                self.node(right, depth + 1);
            }
            // One row of each group is read: the scan says so.
            Op::Aggregate { input, .. } if first_of(input).is_some() => self.node(input, depth),
            Op::Aggregate { input, keys, calls, rollup, ordered } => {
                let calls: Vec<String> = calls
                    .iter()
                    .filter(|call| call.function != AggregateFunction::AnyValue)
                    .map(|call| {
                        let args = if call.args.is_empty() {
                            "0".into()
                        } else {
                            call.args
                                .iter()
                                .map(|arg| self.expr(arg, &input.columns))
                                .collect::<Vec<_>>()
                                .join(", ")
                        };
                        let distinct = if call.distinct { "distinct " } else { "" };
                        format!("{}({distinct}{args})", call.function.name())
                    })
                    .collect();
                let text = match (keys.is_empty(), rollup) {
                    (true, _) => format!("Aggregate: {}", calls.join(", ")),
                    (false, false) if *ordered && calls.is_empty() => "Group (no aggregates)".into(),
                    (false, false) if *ordered => format!("Group aggregate: {}", calls.join(", ")),
                    (false, false) => format!("Aggregate using hash table: {}", calls.join(", ")),
                    (false, true) => format!("Group aggregate with rollup: {}", calls.join(", ")),
                };
                self.line(depth, node, text.trim_end_matches([' ', ':']));
                self.node(input, depth + 1);
            }
            Op::Window { input, partition, order, calls } => {
                let mut over: Vec<String> = Vec::new();
                if !partition.is_empty() {
                    let partition: Vec<String> =
                        partition.iter().map(|expr| self.expr(expr, &input.columns)).collect();
                    over.push(format!("PARTITION BY {}", partition.join(", ")));
                }
                if !order.is_empty() {
                    over.push(format!("ORDER BY {}", self.keys(order, &input.columns)));
                }
                let calls_text: Vec<String> = calls
                    .iter()
                    .map(|call| {
                        let args: Vec<String> =
                            call.args.iter().map(|arg| self.expr(arg, &input.columns)).collect();
                        let frame = frame_text(&call.frame, &|expr| self.expr(expr, &input.columns));
                        let over = over.iter().chain((!frame.is_empty()).then_some(&frame));
                        let over: Vec<&str> = over.map(String::as_str).collect();
                        format!("{}({}) OVER ({})", call.function.name(), args.join(","), over.join(" "))
                    })
                    .collect();
                let buffering = if calls.iter().any(crate::logical::WindowCall::looks_ahead) {
                    " with buffering"
                } else {
                    ""
                };
                self.line(depth, node, &format!("Window aggregate{buffering}: {}", calls_text.join(", ")));
                self.node(input, depth + 1);
            }
            Op::Distinct { input } => {
                self.line(depth, node, "Deduplicate rows using hash table");
                self.node(input, depth + 1);
            }
            Op::Sort { input, keys } => {
                let text = format!("Sort: {}", self.keys(keys, &input.columns));
                self.line(depth, node, &text);
                self.node(input, depth + 1);
            }
            Op::TopN { input, keys, count, offset } => {
                let limit = self.limit(Some(count), offset.as_ref());
                self.line(depth, node, &limit);
                let text = format!(
                    "Sort: {}, limit input to {} row(s) per chunk",
                    self.keys(keys, &input.columns),
                    self.expr(count, &[])
                );
                self.plain(depth + 1, &text);
                self.node(input, depth + 2);
            }
            Op::Limit { input, count, offset, .. } => {
                let limit = self.limit(count.as_ref(), offset.as_ref());
                self.line(depth, node, &limit);
                self.node(input, depth + 1);
            }
            Op::Append { left, right } => {
                self.line(depth, node, "Append");
                self.node(left, depth + 1);
                self.node(right, depth + 1);
            }
            Op::SetOp { op, all, left, right } => {
                let name = if *op == SetOp::Intersect { "Intersect" } else { "Except" };
                self.line(depth, node, &format!("{name}{}", if *all { " all" } else { "" }));
                self.node(left, depth + 1);
                self.node(right, depth + 1);
            }
            Op::Apply { input, subquery, kind, outer, .. } => {
                self.node(input, depth);
                let what = match kind {
                    ApplyKind::Scalar => "projection",
                    ApplyKind::Exists => "condition; exists",
                    ApplyKind::Quantified { single: true, .. } => "condition; row",
                    ApplyKind::Quantified { all: false, keys, .. } if keys.is_empty() => "condition; any",
                    ApplyKind::Quantified { all: false, .. } => "condition; any by hash",
                    ApplyKind::Quantified { all: true, keys, .. } if keys.is_empty() => "condition; all",
                    ApplyKind::Quantified { all: true, .. } => "condition; all by hash",
                };
                let how = if outer.is_empty() { "run only once" } else { "dependent" };
                self.plain(depth, &format!("Select (subquery in {what}; {how})"));
                self.node(subquery, depth + 1);
            }
            Op::JsonTable { input, .. } => {
                self.line(depth, node, "Materialize table function");
                if !has_one_row(input) {
                    self.node(input, depth + 1);
                }
            }
            Op::Fetch { input, table, columns, .. } => {
                let names: Vec<String> = columns
                    .iter()
                    .map(|&ordinal| self.column_name(self.table_column(*table, ordinal)))
                    .collect();
                self.line(depth, node, &format!("Fetch {} by row id", names.join(", ")));
                self.node(input, depth + 1);
            }
        }
    }

    fn table_column(&self, table: TableIndex, ordinal: usize) -> ColumnId {
        if let Some(part) = self.plan.tables[table.0 as usize].part(ordinal) {
            return part.id;
        }
        let at = |info: &crate::logical::ColumnInfo| info.origin == Some((table, ordinal as u32));
        ColumnId(self.plan.columns.iter().position(at).unwrap_or(usize::MAX >> 1) as u32)
    }

    fn plain(&mut self, depth: usize, text: &str) {
        for _ in 0..depth {
            self.out.push_str("    ");
        }
        let _ = writeln!(self.out, "-> {text}");
    }

    fn limit(&self, count: Option<&Expr>, offset: Option<&Expr>) -> String {
        let count = count.map_or_else(|| "?".into(), |count| self.expr(count, &[]));
        match offset {
            Some(offset) => format!("Limit/Offset: {count}/{} row(s)", self.expr(offset, &[])),
            None => format!("Limit: {count} row(s)"),
        }
    }

    /// An expression over a batch of these columns.
    fn expr(&self, expr: &Expr, columns: &[ColumnId]) -> String {
        let name = |column: Column| match column {
            Column::Id(id) => self.column_name(id),
            Column::Input(position) => match columns.get(position as usize) {
                Some(id) => self.column_name(*id),
                None => format!("#{position}"),
            },
            Column::Outer(slot) => match self.plan.outer_slots.get(slot as usize) {
                Some(id) => self.column_name(*id),
                None => format!("outer #{slot}"),
            },
            Column::Param(ordinal) => {
                self.parameters.get(ordinal as usize).map_or_else(|| "?".into(), literal)
            }
        };
        expr_text(expr, &name)
    }
}

/// One row that reads no table.
fn has_one_row(node: &Node) -> bool {
    matches!(&node.op, Op::Project { input, .. } if matches!(input.op, Op::OneRow))
}

/// The traditional rows.
#[must_use]
pub fn table(plan: &PhysicalPlan) -> Vec<ExplainRow> {
    let mut rows = Rows { plan, rows: Vec::new(), next_id: 1 };
    let (root, select_type, target) = match &plan.kind {
        PlanKind::Query(node) | PlanKind::Do(node) => (Some(node), "SIMPLE", None),
        PlanKind::Insert(insert) => {
            let verb = if insert.replace { "REPLACE" } else { "INSERT" };
            rows.rows.push(ExplainRow {
                id: Some(1),
                select_type: verb.into(),
                table: Some(plan.tables[insert.table.0 as usize].alias.to_string()),
                access_type: Some("ALL".into()),
                ..ExplainRow::default()
            });
            match &insert.rows {
                crate::physical::InsertSource::Query(node) => (Some(node), "SIMPLE", None),
                crate::physical::InsertSource::Values { .. } => (None, "", None),
            }
        }
        PlanKind::Update(update) => {
            (Some(&update.source), "UPDATE", update.targets.first().map(|target| target.table))
        }
        PlanKind::Delete(delete) => {
            (Some(&delete.source), "DELETE", delete.targets.first().map(|target| target.0))
        }
    };
    if let Some(root) = root {
        let several = has_subquery(root);
        let select_type = if several && select_type == "SIMPLE" { "PRIMARY" } else { select_type };
        let id = rows.next_id;
        rows.next_id += 1;
        rows.node(root, id, select_type, &mut Vec::new());
        let _ = target;
    }
    rows.rows
}

fn has_subquery(node: &Node) -> bool {
    if matches!(node.op, Op::Apply { .. } | Op::Append { .. } | Op::SetOp { .. } | Op::Recursive { .. }) {
        return true;
    }
    let mut found = false;
    node.each_input(&mut |input| found |= has_subquery(input));
    found
}

struct Rows<'p> {
    plan: &'p PhysicalPlan,
    rows: Vec<ExplainRow>,
    next_id: u32,
}

impl Rows<'_> {
    /// `above`: what the operators above say in Extra of the first table below.
    fn node(&mut self, node: &Node, id: u32, select_type: &str, above: &mut Vec<&'static str>) {
        match &node.op {
            Op::OneRow | Op::Empty => {
                let text = if matches!(node.op, Op::Empty) { "Impossible WHERE" } else { "No tables used" };
                self.rows.push(ExplainRow {
                    id: Some(id),
                    select_type: select_type.into(),
                    extra: Some(text.into()),
                    ..ExplainRow::default()
                });
            }
            Op::JsonTable { input, alias, .. } => {
                if !has_one_row(input) {
                    self.node(input, id, select_type, above);
                }
                let mut extra = vec!["Table function: json_table"];
                extra.extend(std::mem::take(above));
                extra.push("Using temporary");
                self.rows.push(ExplainRow {
                    id: Some(id),
                    select_type: select_type.into(),
                    table: Some(alias.to_string()),
                    access_type: Some("ALL".into()),
                    rows: Some(node.rows.round().max(1.0) as u64),
                    filtered: Some(100.0),
                    extra: Some(extra.join("; ")),
                    ..ExplainRow::default()
                });
            }
            Op::Scan(scan) => {
                let extra = std::mem::take(above);
                self.scan(scan, node.rows, id, select_type, extra, &[]);
            }
            Op::LookupJoin { left, scan, conditions, kind } => {
                self.node(left, id, select_type, above);
                let mut extra = Vec::new();
                if !conditions.is_empty() {
                    extra.push("Using where");
                }
                if *kind == JoinKind::Semi {
                    extra.push("FirstMatch");
                }
                let per_row = (node.rows / left.rows.max(1.0)).max(1.0);
                let rows = if scan.access.point { 1.0 } else { per_row };
                self.scan(scan, rows, id, select_type, extra, &left.columns);
            }
            Op::HashJoin { left, right, .. } | Op::LoopJoin { left, right, .. } => {
                self.node(left, id, select_type, above);
                let text = if matches!(node.op, Op::HashJoin { .. }) {
                    "Using join buffer (hash join)"
                } else {
                    "Using join buffer"
                };
                self.node(right, id, select_type, &mut vec![text]);
            }
            Op::Apply { input, subquery, outer, .. } => {
                self.node(input, id, select_type, above);
                let inner = self.next_id;
                self.next_id += 1;
                let kind = if outer.is_empty() { "SUBQUERY" } else { "DEPENDENT SUBQUERY" };
                self.node(subquery, inner, kind, &mut Vec::new());
            }
            Op::Append { left, right } | Op::SetOp { left, right, .. } => {
                self.node(left, id, select_type, above);
                let inner = self.next_id;
                self.next_id += 1;
                self.node(right, inner, "UNION", &mut Vec::new());
            }
            Op::Sort { input, .. } | Op::TopN { input, .. } => {
                above.push("Using filesort");
                self.node(input, id, select_type, above);
            }
            Op::Aggregate { input, keys, ordered, .. } => {
                if first_of(input).is_some() {
                    above.insert(0, "Using index for group-by");
                } else if !keys.is_empty() && !ordered {
                    above.insert(0, "Using temporary");
                }
                self.node(input, id, select_type, above);
            }
            Op::Window { input, .. } => {
                if !above.contains(&"Using temporary") {
                    above.insert(0, "Using temporary");
                }
                self.node(input, id, select_type, above);
            }
            Op::Distinct { input } => {
                above.insert(0, "Using temporary");
                self.node(input, id, select_type, above);
            }
            _ => node.each_input(&mut |input| {
                self.node(input, id, select_type, &mut std::mem::take(above));
            }),
        }
    }

    fn scan(
        &mut self,
        scan: &Scan,
        rows: f64,
        id: u32,
        select_type: &str,
        above: Vec<&'static str>,
        left: &[ColumnId],
    ) {
        let table = &self.plan.tables[scan.table.0 as usize];
        let definition = &table.entry.definition;
        let Access { index, ranges, covering, point, .. } = &scan.access;
        let printer = Printer { plan: self.plan, actual: None, parameters: &[], out: String::new() };
        let mut row = ExplainRow {
            id: Some(id),
            select_type: select_type.into(),
            table: Some(table.alias.to_string()),
            rows: Some(rows.round().max(1.0) as u64),
            filtered: Some(if scan.filter.is_empty() { 100.0 } else { 33.33 }),
            ..ExplainRow::default()
        };
        let kind = match (index, ranges) {
            (None, _) => "ALL",
            (Some(_), None) => "index",
            (Some(_), Some(ranges)) => {
                let only_equal = ranges.len() == 1 && ranges[0].lower.is_none() && ranges[0].upper.is_none();
                match (point, only_equal, left.is_empty()) {
                    (true, true, true) => "const",
                    (true, true, false) => "eq_ref",
                    (_, true, _) => "ref",
                    _ => "range",
                }
            }
        };
        row.access_type = Some(kind.into());
        if let Some(index) = *index {
            let definition_index = &definition.indexes[index];
            if ranges.is_some() {
                row.possible_keys = Some(definition_index.name.to_string());
            }
            row.key = Some(definition_index.name.to_string());
            let parts = match ranges.as_ref().and_then(|ranges| ranges.first()) {
                Some(range) => {
                    range.equal.len() + usize::from(range.lower.is_some() || range.upper.is_some())
                }
                None => definition_index.parts.len(),
            };
            let bytes: u64 =
                definition_index.parts.iter().take(parts).map(|part| key_bytes(definition, part)).sum();
            row.key_len = Some(bytes.to_string());
            if matches!(kind, "const" | "eq_ref" | "ref")
                && let Some(range) = ranges.as_ref().and_then(|ranges| ranges.first())
            {
                let texts: Vec<String> = range
                    .equal
                    .iter()
                    .map(|value| match &value.expr.kind {
                        ExprKind::Input(position) => match left.get(*position as usize) {
                            Some(id) => format!("{}.{}", definition.schema, printer.column_name(*id)),
                            None => "func".into(),
                        },
                        _ if value.expr.is_constant() => "const".into(),
                        _ => "func".into(),
                    })
                    .collect();
                row.reference = Some(texts.join(","));
            }
        }
        let mut extra: Vec<&str> = Vec::new();
        if !scan.filter.is_empty() || kind == "range" {
            extra.push("Using where");
        }
        if *covering && index.is_some_and(|index| definition.clustered != Some(index)) {
            extra.push("Using index");
        }
        if scan.access.backward && index.is_some() {
            extra.push("Backward index scan");
        }
        for text in above {
            if !extra.contains(&text) {
                extra.push(text);
            }
        }
        row.extra = (!extra.is_empty()).then(|| extra.join("; "));
        self.rows.push(row);
    }
}

/// The scan below groups that gives one row of each, if it does.
fn first_of(input: &Node) -> Option<&Scan> {
    match &input.op {
        Op::Scan(scan) => (scan.first_of > 0).then_some(scan),
        Op::Filter { input, .. } => first_of(input),
        _ => None,
    }
}

/// Bytes of a key part as MySQL counts them in `key_len`.
fn key_bytes(definition: &catalog::TableDefinition, part: &catalog::IndexPart) -> u64 {
    use types::TypeKind as K;
    let column = &definition.columns[part.column];
    let data_type = &column.data_type;
    let bytes = match data_type.kind {
        K::Year => 1,
        K::Bit => u64::from(data_type.length.div_ceil(8)),
        K::Float => 4,
        K::Double => 8,
        K::Date => 3,
        K::Time => 3 + u64::from(data_type.scale.div_ceil(2)),
        K::DateTime => 5 + u64::from(data_type.scale.div_ceil(2)),
        K::Timestamp => 4 + u64::from(data_type.scale.div_ceil(2)),
        K::Enum => 1 + u64::from(data_type.members.as_ref().is_some_and(|members| members.len() > 255)),
        K::Set => data_type.members.as_ref().map_or(1, |members| members.len().div_ceil(8) as u64),
        K::Decimal => u64::from(data_type.length) / 9 * 4 + 4,
        _ => match data_type.integer_bytes() {
            Some(bytes) => u64::from(bytes),
            None => {
                let chars = u64::from(part.prefix_length.unwrap_or(data_type.length));
                let width = data_type.collation.charset().max_bytes_per_char() as u64;
                chars * width + if data_type.kind == K::Char { 0 } else { 2 }
            }
        },
    };
    bytes + u64::from(column.nullable)
}
