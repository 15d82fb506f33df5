//! The traditional format: a row for each table.

use super::ExplainRow;
use super::names::{Names, Style};
use super::step::{first_of, has_one_row};
use crate::expr::{ColumnId, ExprKind};
use crate::logical::JoinKind;
use crate::physical::{InsertSource, Node, Op, PhysicalPlan, PlanKind, Scan};

/// The traditional rows.
pub(super) fn table(plan: &PhysicalPlan) -> Vec<ExplainRow> {
    let mut rows = Rows { plan, rows: Vec::new(), next_id: 1 };
    let (root, select_type) = match &plan.kind {
        PlanKind::Query(node) | PlanKind::Do(node) => (Some(node), "SIMPLE"),
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
                InsertSource::Query(node) => (Some(node), "SIMPLE"),
                InsertSource::Values { .. } => (None, ""),
            }
        }
        PlanKind::Update(update) => (Some(&update.source), "UPDATE"),
        PlanKind::Delete(delete) => (Some(&delete.source), "DELETE"),
    };
    if let Some(root) = root {
        let several = has_subquery(root);
        let select_type = if several && select_type == "SIMPLE" { "PRIMARY" } else { select_type };
        let id = rows.next_id;
        rows.next_id += 1;
        rows.node(root, id, select_type, &mut Vec::new());
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
                let share = share(node.rows, scan.rows_read);
                self.scan(scan, share, id, select_type, extra, &[]);
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
                let share = joined_share(node, *kind, left, scan);
                self.scan(scan, share, id, select_type, extra, &left.columns);
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

    /// `share`: of the rows that are read, those that the conditions let through.
    fn scan(
        &mut self,
        scan: &Scan,
        share: f64,
        id: u32,
        select_type: &str,
        above: Vec<&'static str>,
        left: &[ColumnId],
    ) {
        let names = Names { plan: self.plan, parameters: &[], style: Style::Plain };
        let read = read(names, scan, left);
        let mut extra: Vec<&str> = Vec::new();
        if !scan.filter.is_empty() || read.access_type == "range" {
            extra.push("Using where");
        }
        if read.covering {
            extra.push("Using index");
        }
        if scan.access.backward && scan.access.index.is_some() {
            extra.push("Backward index scan");
        }
        for text in above {
            if !extra.contains(&text) {
                extra.push(text);
            }
        }
        let key = read.key;
        self.rows.push(ExplainRow {
            id: Some(id),
            select_type: select_type.into(),
            table: Some(names.alias(scan.table).into()),
            access_type: Some(read.access_type.into()),
            possible_keys: key.as_ref().filter(|key| key.by_ranges).map(|key| key.name.clone()),
            key_len: key.as_ref().map(|key| key.bytes.to_string()),
            reference: key
                .as_ref()
                .filter(|key| !key.references.is_empty())
                .map(|key| key.references.join(",")),
            key: key.map(|key| key.name),
            rows: Some(scan.rows_read.round().max(1.0) as u64),
            filtered: Some(100.0 * share),
            extra: (!extra.is_empty()).then(|| extra.join("; ")),
        });
    }
}

/// How a table is read, as the traditional format and version 1 of FORMAT=JSON say it.
pub(super) struct Read {
    /// `const`, `eq_ref`, `ref`, `range`, `index`, `ALL`.
    pub access_type: &'static str,
    /// The index.
    pub key: Option<Key>,
    /// Only the index is read.
    pub covering: bool,
}

/// The index that a table is read by.
pub(super) struct Key {
    pub name: String,
    /// Names of the parts that are used.
    pub parts: Vec<String>,
    /// Bytes of these parts.
    pub bytes: u64,
    /// What they are compared with, if by equality.
    pub references: Vec<String>,
    /// By ranges, not as a whole.
    pub by_ranges: bool,
}

/// How a scan reads its table. `left`: columns of the rows that start it.
pub(super) fn read(names: Names<'_>, scan: &Scan, left: &[ColumnId]) -> Read {
    let definition = &names.plan.tables[scan.table.0 as usize].entry.definition;
    let access = &scan.access;
    let access_type = match (&access.index, &access.ranges) {
        (None, _) => "ALL",
        (Some(_), None) => "index",
        (Some(_), Some(ranges)) => {
            let only_equal = ranges.len() == 1 && ranges[0].lower.is_none() && ranges[0].upper.is_none();
            match (access.point, only_equal, left.is_empty()) {
                (true, true, true) => "const",
                (true, true, false) => "eq_ref",
                (_, true, _) => "ref",
                _ => "range",
            }
        }
    };
    let key = access.index.map(|index| {
        let first = access.ranges.as_ref().and_then(|ranges| ranges.first());
        let all = &definition.indexes[index].parts;
        let used = first.map_or(all.len(), |range| {
            range.equal.len() + usize::from(range.lower.is_some() || range.upper.is_some())
        });
        let references = match first {
            Some(range) if matches!(access_type, "const" | "eq_ref" | "ref") => range
                .equal
                .iter()
                .map(|value| match &value.expr.kind {
                    ExprKind::Input(position) => match left.get(*position as usize) {
                        Some(id) => {
                            format!(
                                "{}.{}",
                                definition.schema,
                                Names { style: Style::Plain, ..names }.column(*id)
                            )
                        }
                        None => "func".into(),
                    },
                    _ if value.expr.is_constant() => "const".into(),
                    _ => "func".into(),
                })
                .collect(),
            _ => Vec::new(),
        };
        Key {
            name: definition.indexes[index].name.to_string(),
            parts: (0..used).map(|part| names.index_part(scan, index, part)).collect(),
            bytes: all.iter().take(used).map(|part| key_bytes(definition, part)).sum(),
            references,
            by_ranges: access.ranges.is_some(),
        }
    });
    let covering = access.covering && access.index.is_some_and(|index| definition.clustered != Some(index));
    Read { access_type, key, covering }
}

/// `rows` of `all`, at most all of them.
pub(super) fn share(rows: f64, all: f64) -> f64 {
    if all > 0.0 { (rows / all).min(1.0) } else { 1.0 }
}

/// Of the rows that a join reads by look-ups, those that its conditions let through.
pub(super) fn joined_share(node: &Node, kind: JoinKind, left: &Node, scan: &Scan) -> f64 {
    match kind {
        JoinKind::Inner | JoinKind::Straight => share(node.rows, left.rows * scan.rows_read),
        JoinKind::Left | JoinKind::Semi | JoinKind::Anti => 1.0,
    }
}

/// Bytes of a key part as MySQL counts them in `key_len`.
fn key_bytes(definition: &catalog::TableDefinition, part: &catalog::IndexPart) -> u64 {
    column_bytes(&definition.columns[part.column], part.prefix_length)
}

/// Bytes of a column, or of its first `prefix` characters.
pub(super) fn column_bytes(column: &catalog::ColumnDefinition, prefix: Option<u32>) -> u64 {
    use types::TypeKind as K;
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
                let chars = u64::from(prefix.unwrap_or(data_type.length));
                let width = data_type.collation.charset().max_bytes_per_char() as u64;
                chars * width + if data_type.kind == K::Char { 0 } else { 2 }
            }
        },
    };
    bytes + u64::from(column.nullable)
}
