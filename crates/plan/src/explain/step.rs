//! The steps of a plan as FORMAT=TREE and version 2 of FORMAT=JSON show them: both print this one tree.
//!
//! A step is an operator, or a part of one that is shown by itself: a condition that a scan checks, the look-ups of a join.

use std::collections::BTreeSet;

use types::Value;

use super::Actual;
use super::names::{Names, Style, joined};
use crate::cost;
use crate::document::{Document, Members, texts};
use crate::expr::{ColumnId, Expr, ExprKind};
use crate::logical::{AggregateFunction, JoinKind, TableIndex, WindowCall};
use crate::physical::{
    Aggregate, ApplyKind, InsertPlan, InsertSource, Node, Op, PhysicalPlan, PlanKind, RangePlan, Scan, SetOp,
};
use crate::text::frame_text;

/// A step.
#[derive(Debug, Default)]
pub(super) struct Step {
    /// What the step is for the one above: `Hash`, `Select #2 (...)`.
    pub heading: Option<String>,
    /// What it does.
    pub operation: String,
    /// The same for programs.
    pub details: Members,
    /// Expected and counted rows; none for a part of an operator of which nothing is known.
    pub measure: Option<Measure>,
    /// Steps whose rows it reads.
    pub inputs: Vec<Step>,
    /// Subqueries that are computed for its rows.
    pub subqueries: Vec<Step>,
}

/// Rows and cost of a step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measure {
    /// Rows expected each time it is started.
    pub rows: f64,
    /// Cost, in MySQL's unit.
    pub cost: f64,
    /// What was counted when it ran.
    pub actual: Option<Actual>,
}

/// The steps of a plan; `actual`: what was counted, by node number.
pub(super) fn steps(plan: &PhysicalPlan, actual: Option<&[Actual]>, parameters: &[Value]) -> Step {
    let names = Names { plan, parameters, style: Style::Plain };
    let mut builder = Builder { names, actual, select: 1 };
    match &plan.kind {
        PlanKind::Query(node) | PlanKind::Do(node) => builder.node(node),
        PlanKind::Insert(insert) => builder.insert(insert),
        PlanKind::Update(update) => {
            let tables = builder.aliases(update.targets.iter().map(|target| target.table));
            let input = builder.node(&update.source);
            Step { operation: format!("Update {tables}"), inputs: vec![input], ..Step::default() }
        }
        PlanKind::Delete(delete) => {
            let tables = builder.aliases(delete.targets.iter().map(|target| target.0));
            let input = builder.node(&delete.source);
            Step {
                operation: format!("Delete from {tables}"),
                details: vec![("access_type", "delete_rows".into()), ("tables", tables.into())],
                inputs: vec![input],
                ..Step::default()
            }
        }
    }
}

struct Builder<'p> {
    names: Names<'p>,
    actual: Option<&'p [Actual]>,
    /// The number of the last SELECT.
    select: u32,
}

fn join_name(kind: JoinKind) -> &'static str {
    match kind {
        JoinKind::Inner | JoinKind::Straight => "inner join",
        JoinKind::Left => "left join",
        JoinKind::Semi => "semijoin",
        JoinKind::Anti => "antijoin",
    }
}

fn join_details(kind: JoinKind, algorithm: &str) -> Members {
    vec![
        ("access_type", "join".into()),
        ("join_type", join_name(kind).into()),
        ("join_algorithm", algorithm.into()),
    ]
}

/// One row that reads no table.
pub(super) fn has_one_row(node: &Node) -> bool {
    matches!(&node.op, Op::Project { input, .. } if matches!(input.op, Op::OneRow))
}

impl<'p> Builder<'p> {
    fn aliases(&self, tables: impl Iterator<Item = TableIndex>) -> String {
        let names: Vec<&str> = tables.map(|table| self.names.alias(table)).collect();
        names.join(", ")
    }

    fn counted(&self, node: &Node) -> Option<Actual> {
        self.actual?.get(node.number as usize).copied()
    }

    fn measure(&self, node: &Node) -> Option<Measure> {
        Some(Measure { rows: node.rows, cost: cost::shown(node.cost), actual: self.counted(node) })
    }

    fn insert(&mut self, insert: &InsertPlan) -> Step {
        let table = &self.names.plan.tables[insert.table.0 as usize];
        let definition = &table.entry.definition;
        let (verb, access) =
            if insert.replace { ("Replace", "replace_values") } else { ("Insert", "insert_values") };
        let columns = insert.columns.iter().map(|&ordinal| &*definition.columns[ordinal].name);
        let mut details = vec![
            ("table_name", (&*definition.name).into()),
            ("schema_name", (&*definition.schema).into()),
            ("used_columns", texts(columns)),
        ];
        let input = match &insert.rows {
            InsertSource::Query(node) => self.node(node),
            InsertSource::Values { .. } => {
                details.push(("access_type", access.into()));
                fetched("Rows fetched before execution".into())
            }
        };
        Step {
            operation: format!("{verb} into {}", table.alias),
            details,
            inputs: vec![input],
            ..Step::default()
        }
    }

    /// A step that is the whole of a node.
    fn whole(&self, node: &Node, operation: String, details: Members, inputs: Vec<Step>) -> Step {
        Step { operation, details, measure: self.measure(node), inputs, ..Step::default() }
    }

    fn node(&mut self, node: &Node) -> Step {
        let names = self.names;
        match &node.op {
            Op::OneRow => {
                Step { measure: self.measure(node), ..fetched("Rows fetched before execution".into()) }
            }
            Op::Values(rows) => {
                let text = format!("Rows fetched before execution ({})", rows.len());
                Step { measure: self.measure(node), ..fetched(text) }
            }
            Op::Empty => {
                let details =
                    vec![("access_type", "zero_rows".into()), ("zero_rows_cause", "Impossible WHERE".into())];
                self.whole(node, "Zero rows".into(), details, Vec::new())
            }
            Op::Scan(scan) => self.scan(node, scan),
            Op::WorkingTable { .. } => {
                let details = vec![("access_type", "scan_new_records".into())];
                self.whole(node, "Scan new records of the recursion".into(), details, Vec::new())
            }
            Op::Recursive { seed, step, distinct, .. } => {
                let text = if *distinct {
                    "Materialize recursive CTE with deduplication"
                } else {
                    "Materialize recursive CTE"
                };
                let mut details = vec![
                    ("access_type", "materialize".into()),
                    ("cte", true.into()),
                    ("recursive", true.into()),
                ];
                if *distinct {
                    details.push(("deduplication", true.into()));
                }
                let seed = self.node(seed);
                let step = Step { heading: Some("Repeat until convergence".into()), ..self.node(step) };
                self.whole(node, text.into(), details, vec![seed, step])
            }
            Op::Filter { input, conditions } => {
                let mut below = self.node(input);
                let mut inputs = std::mem::take(&mut below.subqueries);
                inputs.iter_mut().for_each(in_condition);
                inputs.insert(0, below);
                let filter = self.filter(conditions, &input.columns);
                Step { measure: self.measure(node), inputs, ..filter }
            }
            // Computing columns is no step of its own in MySQL's trees.
            Op::Project { input, .. } => self.node(input),
            Op::LookupJoin { kind, left, scan, conditions } => {
                self.lookup_join(node, *kind, left, scan, conditions)
            }
            Op::HashJoin { kind, left, right, keys, conditions, .. } => {
                self.hash_join(node, *kind, (left, right), keys, conditions)
            }
            Op::LoopJoin { kind, left, right, conditions, .. } => {
                let mut both = left.columns.clone();
                both.extend(&right.columns);
                let mut details = join_details(*kind, "nested_loop");
                let mut text = format!("Block nested loop {}", join_name(*kind));
                if !conditions.is_empty() {
                    let condition = joined(&names.exprs(conditions, &both));
                    text = format!("{text}: {condition}");
                    details.push(("condition", condition.into()));
                }
                let inputs = vec![self.node(left), self.node(right)];
                self.whole(node, text, details, inputs)
            }
            // One row of each group is read: the scan says so.
            Op::Aggregate { input, .. } if first_of(input).is_some() => self.node(input),
            Op::Aggregate { input, keys, calls, rollup, ordered } => {
                self.aggregate(node, input, (keys, calls), *rollup, *ordered)
            }
            Op::Window { input, partition, order, calls } => {
                self.window(node, input, partition, order, calls)
            }
            Op::Distinct { input } => {
                let details = vec![
                    ("access_type", "materialize".into()),
                    ("temp_table", true.into()),
                    ("deduplication", true.into()),
                ];
                let input = self.node(input);
                self.whole(node, "Deduplicate rows using hash table".into(), details, vec![input])
            }
            Op::Sort { input, keys } => {
                let fields = names.keys(keys, &input.columns);
                let text = format!("Sort: {}", fields.join(", "));
                let details = vec![("access_type", "sort".into()), ("sort_fields", texts(fields))];
                let input = self.node(input);
                self.whole(node, text, details, vec![input])
            }
            Op::TopN { input, keys, count, offset } => {
                let fields = names.keys(keys, &input.columns);
                let count_text = names.expr(count, &[]);
                let mut details =
                    vec![("access_type", "sort".into()), ("sort_fields", texts(fields.iter().cloned()))];
                if let Some(all) = self.limited(Some(count), offset.as_ref()) {
                    details.push(("per_chunk_limit", Document::Count(all)));
                }
                let sort = Step {
                    operation: format!(
                        "Sort: {}, limit input to {count_text} row(s) per chunk",
                        fields.join(", ")
                    ),
                    details,
                    inputs: vec![self.node(input)],
                    ..Step::default()
                };
                self.limit(node, Some(count), offset.as_ref(), sort)
            }
            Op::Limit { input, count, offset, .. } => {
                let input = self.node(input);
                self.limit(node, count.as_ref(), offset.as_ref(), input)
            }
            Op::Append { left, right } => {
                let inputs = vec![self.node(left), self.node(right)];
                self.whole(node, "Append".into(), vec![("access_type", "append".into())], inputs)
            }
            Op::SetOp { op, all, left, right } => {
                let (name, word) =
                    if *op == SetOp::Intersect { ("Intersect", "intersect") } else { ("Except", "except") };
                let mut details = vec![("access_type", "materialize".into()), (word, true.into())];
                if !*all {
                    details.push(("deduplication", true.into()));
                }
                let inputs = vec![self.node(left), self.node(right)];
                self.whole(node, format!("{name}{}", if *all { " all" } else { "" }), details, inputs)
            }
            Op::Apply { input, subquery, kind, outer, .. } => {
                let mut step = self.node(input);
                let subquery = self.subquery(subquery, kind, outer.is_empty());
                step.subqueries.push(subquery);
                step
            }
            Op::JsonTable { input, alias, .. } => {
                let inputs = if has_one_row(input) { Vec::new() } else { vec![self.node(input)] };
                let details = vec![
                    ("access_type", "materialized_table_function".into()),
                    ("table_name", (&**alias).into()),
                ];
                self.whole(node, "Materialize table function".into(), details, inputs)
            }
            Op::Fetch { input, table, columns, .. } => {
                let ids = columns.iter().map(|&ordinal| names.table_column(*table, ordinal));
                let columns: Vec<String> = ids.map(|id| names.column(id)).collect();
                let text = format!("Fetch {} by row id", columns.join(", "));
                let details = vec![
                    ("access_type", "row_id".into()),
                    ("table_name", names.alias(*table).into()),
                    ("used_columns", texts(columns)),
                ];
                let input = self.node(input);
                self.whole(node, text, details, vec![input])
            }
        }
    }

    /// How many rows a limit reads, those it skips included.
    fn limited(&self, count: Option<&Expr>, offset: Option<&Expr>) -> Option<u64> {
        let skipped = offset.map_or(Some(0), |offset| self.names.count(offset))?;
        Some(self.names.count(count?)?.saturating_add(skipped))
    }

    fn limit(&self, node: &Node, count: Option<&Expr>, offset: Option<&Expr>, input: Step) -> Step {
        let mut details = vec![("access_type", "limit".into())];
        if let Some(all) = self.limited(count, offset) {
            details.push(("limit", Document::Count(all)));
        }
        if let Some(skipped) = offset.map_or(Some(0), |offset| self.names.count(offset)) {
            details.push(("limit_offset", Document::Count(skipped)));
        }
        self.whole(node, self.names.limit(count, offset), details, vec![input])
    }

    /// The step that checks conditions, without measure and input.
    fn filter(&self, conditions: &[Expr], columns: &[ColumnId]) -> Step {
        let used = self.names.columns_of(conditions, columns);
        checked(&self.names.exprs(conditions, columns), used)
    }

    fn scan(&self, node: &Node, scan: &Scan) -> Step {
        let whole = self.measure(node);
        if scan.filter.is_empty() {
            return Step { measure: whole, ..self.table(scan, &[]) };
        }
        let counted = self.counted(node).map(|actual| Actual { rows: actual.examined, ..actual });
        let read = Measure { rows: scan.rows_read, cost: cost::shown(node.cost), actual: counted };
        let table = Step { measure: Some(read), ..self.table(scan, &[]) };
        let filter = self.filter(&scan.filter, &node.columns);
        Step { measure: whole, inputs: vec![table], ..filter }
    }

    fn lookup_join(
        &mut self,
        node: &Node,
        kind: JoinKind,
        left: &Node,
        scan: &Scan,
        conditions: &[Expr],
    ) -> Step {
        let names = self.names;
        let left_rows = left.rows.max(1.0);
        let each = cost::shown((node.cost - left.cost).max(0.0) / left_rows);
        // Each left row starts the look-up; of its rows and of its time is what the left side does not account for.
        let counted = self.counted(node).zip(self.counted(left)).map(|(all, below)| Actual {
            loops: below.rows,
            rows: all.examined.saturating_sub(below.examined),
            micros: all.micros.saturating_sub(below.micros),
            first_micros: all.micros.saturating_sub(below.micros),
            examined: 0,
            spilled: false,
        });
        let read = Measure { rows: scan.rows_read, cost: each, actual: counted };
        let mut inner = Step { measure: Some(read), ..self.table(scan, &left.columns) };
        if !conditions.is_empty() || !scan.filter.is_empty() {
            let mut own = names.scan_columns(scan);
            let mut used = names.columns_of(&scan.filter, &own);
            let mut parts = Vec::new();
            if !scan.filter.is_empty() {
                parts.extend(names.exprs(&scan.filter, &own));
            }
            if !conditions.is_empty() {
                let mut both = left.columns.clone();
                both.append(&mut own);
                used.extend(names.columns_of(conditions, &both));
                parts.extend(names.exprs(conditions, &both));
            }
            // Only the rows of these joins are those that the conditions let through.
            let passed = matches!(kind, JoinKind::Inner | JoinKind::Straight);
            let counted = counted.filter(|_| passed).zip(self.counted(node));
            let measure = Measure {
                rows: if passed { node.rows / left_rows } else { scan.rows_read },
                cost: each,
                actual: counted.map(|(inner, all)| Actual { rows: all.rows, ..inner }),
            };
            inner = Step { measure: Some(measure), inputs: vec![inner], ..checked(&parts, used) };
        }
        let inputs = vec![self.node(left), inner];
        self.whole(
            node,
            format!("Nested loop {}", join_name(kind)),
            join_details(kind, "nested_loop"),
            inputs,
        )
    }

    fn hash_join(
        &mut self,
        node: &Node,
        kind: JoinKind,
        (left, right): (&Node, &Node),
        keys: &[(Expr, Expr, bool)],
        conditions: &[Expr],
    ) -> Step {
        let names = self.names;
        let hashed: Vec<String> = keys
            .iter()
            .map(|(a, b, safe)| {
                let op = if *safe { "<=>" } else { "=" };
                format!("({} {op} {})", names.expr(a, &left.columns), names.expr(b, &right.columns))
            })
            .collect();
        let mut used = names.columns_of(keys.iter().map(|key| &key.0), &left.columns);
        used.extend(names.columns_of(keys.iter().map(|key| &key.1), &right.columns));
        let mut details = join_details(kind, "hash");
        details.push(("hash_condition", texts(hashed.iter().cloned())));
        let mut parts = hashed;
        if !conditions.is_empty() {
            let mut both = left.columns.clone();
            both.extend(&right.columns);
            used.extend(names.columns_of(conditions, &both));
            let extra = names.exprs(conditions, &both);
            parts.push(format!("extra conditions: {}", joined(&extra)));
            details.push(("extra_condition", texts(extra)));
        }
        details.push(("join_columns", texts(used)));
        let name = join_name(kind);
        let name = format!("{}{}", name[..1].to_uppercase(), &name[1..]);
        let text = format!("{} hash {}", name.split(' ').next().unwrap_or(&name), parts.join(", "));
        let left = self.node(left);
        let right = Step { heading: Some("Hash".into()), ..self.node(right) };
        self.whole(node, text, details, vec![left, right])
    }

    fn aggregate(
        &mut self,
        node: &Node,
        input: &Node,
        (keys, calls): (&[Expr], &[Aggregate]),
        rollup: bool,
        ordered: bool,
    ) -> Step {
        let names = self.names;
        let functions: Vec<String> = calls
            .iter()
            .filter(|call| {
                !matches!(call.function, AggregateFunction::AnyValue | AggregateFunction::Grouping)
            })
            .map(|call| {
                let args: Vec<String> = call.args.iter().map(|arg| names.expr(arg, &input.columns)).collect();
                let args = if args.is_empty() { "0".into() } else { args.join(", ") };
                let distinct = if call.distinct { "distinct " } else { "" };
                format!("{}({distinct}{args})", call.function.name())
            })
            .collect();
        let list = functions.join(", ");
        let text = match (keys.is_empty(), rollup) {
            (true, _) => format!("Aggregate: {list}"),
            (false, false) if ordered && calls.is_empty() => "Group (no aggregates)".into(),
            (false, false) if ordered => format!("Group aggregate: {list}"),
            (false, false) => format!("Aggregate using hash table: {list}"),
            (false, true) => format!("Group aggregate with rollup: {list}"),
        };
        let mut details = vec![("access_type", "aggregate".into()), ("functions", texts(functions))];
        if !keys.is_empty() {
            details.push(("group_by", true.into()));
        }
        if rollup {
            details.push(("rollup", true.into()));
        }
        let input = self.node(input);
        self.whole(node, text.trim_end_matches([' ', ':']).into(), details, vec![input])
    }

    fn window(
        &mut self,
        node: &Node,
        input: &Node,
        partition: &[Expr],
        order: &[(Expr, bool)],
        calls: &[WindowCall],
    ) -> Step {
        let names = self.names;
        let list = |exprs: &[Expr]| -> Vec<String> {
            exprs.iter().map(|expr| names.expr(expr, &input.columns)).collect()
        };
        let mut over: Vec<String> = Vec::new();
        if !partition.is_empty() {
            over.push(format!("PARTITION BY {}", list(partition).join(", ")));
        }
        if !order.is_empty() {
            over.push(format!("ORDER BY {}", names.keys(order, &input.columns).join(", ")));
        }
        let functions: Vec<String> = calls
            .iter()
            .map(|call| {
                let frame = frame_text(&call.frame, &|expr| names.expr(expr, &input.columns));
                let over = over.iter().chain((!frame.is_empty()).then_some(&frame));
                let over: Vec<&str> = over.map(String::as_str).collect();
                format!("{}({}) OVER ({})", call.function.name(), list(&call.args).join(","), over.join(" "))
            })
            .collect();
        let looks_ahead = calls.iter().any(WindowCall::looks_ahead);
        let buffering = if looks_ahead { " with buffering" } else { "" };
        let text = format!("Window aggregate{buffering}: {}", functions.join(", "));
        let mut details = vec![("access_type", "window".into()), ("functions", texts(functions))];
        if looks_ahead {
            details.push(("buffering", true.into()));
        }
        let input = self.node(input);
        self.whole(node, text, details, vec![input])
    }

    fn subquery(&mut self, subquery: &Node, kind: &ApplyKind, is_constant: bool) -> Step {
        self.select += 1;
        let what = match kind {
            ApplyKind::Scalar => "projection",
            ApplyKind::Exists => "condition; exists",
            ApplyKind::Quantified { single: true, .. } => "condition; row",
            ApplyKind::Quantified { all: false, keys, .. } if keys.is_empty() => "condition; any",
            ApplyKind::Quantified { all: false, .. } => "condition; any by hash",
            ApplyKind::Quantified { all: true, keys, .. } if keys.is_empty() => "condition; all",
            ApplyKind::Quantified { all: true, .. } => "condition; all by hash",
        };
        let how = if is_constant { "run only once" } else { "dependent" };
        let heading = format!("Select #{} (subquery in {what}; {how})", self.select);
        let mut step = self.node(subquery);
        let location = what.split(';').next().unwrap_or(what);
        step.details.push(("subquery", true.into()));
        step.details.push((if is_constant { "cacheable" } else { "dependent" }, true.into()));
        step.details.push(("subquery_location", location.into()));
        Step { heading: Some(heading), ..step }
    }

    /// A table that is read, without measure.
    fn table(&self, scan: &Scan, left: &[ColumnId]) -> Step {
        let names = self.names;
        let table = &names.plan.tables[scan.table.0 as usize];
        let definition = &table.entry.definition;
        let alias = &table.alias;
        let mut details: Members =
            vec![("table_name", (&*definition.name).into()), ("schema_name", (&*definition.schema).into())];
        if *alias != definition.name {
            details.push(("alias", (&**alias).into()));
        }
        details.push(("used_columns", texts(names.used_columns(scan))));
        let backward = if scan.access.backward { " (reverse)" } else { "" };
        if scan.access.backward {
            details.push(("reverse", true.into()));
        }
        let by = scan.access.index.or(definition.clustered.filter(|_| scan.first_of > 0));
        let Some(index) = by else {
            details.push(("access_type", "table".into()));
            return Step {
                operation: format!("Table scan on {alias}{backward}"),
                details,
                ..Step::default()
            };
        };
        let name = &definition.indexes[index].name;
        let covering = scan.access.covering && definition.clustered != Some(index);
        details.extend([
            ("access_type", "index".into()),
            ("index_name", (&**name).into()),
            ("covering", covering.into()),
        ]);
        let (operation, kind) = self.index_access(scan, index, left, &mut details);
        details.push(("index_access_type", kind.into()));
        Step { operation: format!("{operation}{backward}"), details, ..Step::default() }
    }

    /// What is read of an index, and how MySQL's programs know it.
    fn index_access(
        &self,
        scan: &Scan,
        index: usize,
        left: &[ColumnId],
        details: &mut Members,
    ) -> (String, &'static str) {
        let names = self.names;
        let table = &names.plan.tables[scan.table.0 as usize];
        let (alias, name) = (&table.alias, &table.entry.definition.indexes[index].name);
        let covering = scan.access.covering && table.entry.definition.clustered != Some(index);
        let cover = if covering { "Covering index" } else { "Index" };
        let parts = |count: usize| texts((0..count).map(|part| names.index_part(scan, index, part)));
        let texts_of = |ranges: &[RangePlan]| -> Vec<String> {
            ranges.iter().map(|range| names.range(scan, index, range, left)).collect()
        };
        if scan.first_of > 0 {
            let purpose = if scan.columns.len() > scan.first_of { "grouping" } else { "deduplication" };
            let ranges = scan.access.ranges.as_deref();
            details.push(("key_columns", parts(scan.first_of)));
            details.push(("ranges", texts(texts_of(ranges.unwrap_or_default()))));
            let over = ranges.map_or_else(String::new, |ranges| {
                format!(" over ({})", names.ranges(scan, index, ranges, left))
            });
            let text = format!("{cover} skip scan for {purpose} on {alias} using {name}{over}");
            return (text, "group_index_skip_scan");
        }
        let Some(ranges) = &scan.access.ranges else {
            return (format!("{cover} scan on {alias} using {name}"), "index_scan");
        };
        let text = names.ranges(scan, index, ranges, left);
        let used = |range: &RangePlan| {
            range.equal.len() + usize::from(range.lower.is_some() || range.upper.is_some())
        };
        details.push(("key_columns", parts(ranges.iter().map(used).max().unwrap_or(0))));
        match &ranges[..] {
            [range] if scan.access.point || (range.lower.is_none() && range.upper.is_none()) => {
                let references = range.equal.iter().map(|value| {
                    match names.columns_of([&value.expr], left).into_iter().next() {
                        Some(column) if matches!(value.expr.kind, ExprKind::Input(_)) => column,
                        Some(_) => "func".into(),
                        None => "const".into(),
                    }
                });
                details.push(("lookup_condition", text.as_str().into()));
                details.push(("lookup_references", texts(references)));
                let what = match (scan.access.point, covering) {
                    (true, true) => "Single-row covering index lookup",
                    (true, false) => "Single-row index lookup",
                    (false, true) => "Covering index lookup",
                    (false, false) => "Index lookup",
                };
                (format!("{what} on {alias} using {name} ({text})"), "index_lookup")
            }
            _ => {
                details.push(("ranges", texts(texts_of(ranges))));
                (format!("{cover} range scan on {alias} using {name} over ({text})"), "index_range_scan")
            }
        }
    }
}

/// The step that checks conditions, without measure and input.
fn checked(conditions: &[String], used: BTreeSet<String>) -> Step {
    let text = joined(conditions);
    Step {
        operation: format!("Filter: {text}"),
        details: vec![
            ("access_type", "filter".into()),
            ("condition", text.into()),
            ("filter_columns", texts(used)),
        ],
        ..Step::default()
    }
}

fn fetched(operation: String) -> Step {
    Step {
        operation,
        details: vec![("access_type", "rows_fetched_before_execution".into())],
        ..Step::default()
    }
}

/// A subquery whose value only the condition above needs.
fn in_condition(step: &mut Step) {
    if let Some(heading) = &mut step.heading {
        *heading = heading.replace("subquery in projection", "subquery in condition");
    }
    for (name, value) in &mut step.details {
        if *name == "subquery_location" {
            *value = "condition".into();
        }
    }
}

/// The scan below groups that gives one row of each, if it does.
pub(super) fn first_of(input: &Node) -> Option<&Scan> {
    match &input.op {
        Op::Scan(scan) => (scan.first_of > 0).then_some(scan),
        Op::Filter { input, .. } => first_of(input),
        _ => None,
    }
}
