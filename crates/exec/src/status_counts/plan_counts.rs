//! What each execution of a plan counts for the way it reads its tables: `Select_*` and `Handler_external_lock`.
//!
//! MySQL counts a table by its access in its query block: the first table of a join read whole is a `Select_scan`, a later one a
//! `Select_full_join`; a range of an index is a `Select_range` or a `Select_full_range_join`; a key that is equal to something
//! counts as nothing. A change of one table counts none of them.

use plan::physical::{Access, InsertSource, Node, Op, PhysicalPlan, PlanKind};

use super::StatusKind;

/// The counts that are not 0.
pub(crate) fn of(plan: &PhysicalPlan) -> Box<[(StatusKind, u64)]> {
    let mut counts = Counts { plan, kinds: [0; StatusKind::ALL.len()] };
    let stored = plan.tables.iter().filter(|table| table.is_stored()).count();
    // A table is locked and unlocked.
    counts.kinds[StatusKind::ExternalLock as usize] = 2 * stored as u64;
    match &plan.kind {
        PlanKind::Query(root) | PlanKind::Do(root) => counts.node(root, true),
        PlanKind::Insert(insert) => {
            if let InsertSource::Query(source) = &insert.rows {
                counts.node(source, true);
            }
        }
        PlanKind::Update(update) if stored > 1 => counts.node(&update.source, true),
        PlanKind::Delete(delete) if stored > 1 => counts.node(&delete.source, true),
        PlanKind::Update(_) | PlanKind::Delete(_) => {}
    }
    let all = StatusKind::ALL.iter().map(|(kind, _)| (*kind, counts.kinds[*kind as usize]));
    all.filter(|(_, count)| *count > 0).collect()
}

struct Counts<'p> {
    plan: &'p PhysicalPlan,
    kinds: [u64; StatusKind::ALL.len()],
}

impl Counts<'_> {
    fn add(&mut self, kind: StatusKind) {
        self.kinds[kind as usize] += 1;
    }

    /// Counts the tables below `node`; `is_first`: its first table is the first of its query block.
    fn node(&mut self, node: &Node, is_first: bool) {
        match &node.op {
            Op::OneRow | Op::Empty | Op::Values(_) | Op::WorkingTable { .. } => {}
            Op::JsonTable { .. } => {
                self.add(if is_first { StatusKind::SelectScan } else { StatusKind::SelectFullJoin });
            }
            Op::Scan(scan) => {
                let entry = &self.plan.tables[scan.table.0 as usize].entry;
                if entry.source.as_virtual().is_some() || scan.access.ranges.is_none() {
                    self.add(if is_first { StatusKind::SelectScan } else { StatusKind::SelectFullJoin });
                } else if reads_range(&scan.access) {
                    self.add(if is_first {
                        StatusKind::SelectRange
                    } else {
                        StatusKind::SelectFullRangeJoin
                    });
                }
            }
            Op::Filter { input, .. }
            | Op::Project { input, .. }
            | Op::Aggregate { input, .. }
            | Op::Window { input, .. }
            | Op::Sort { input, .. }
            | Op::TopN { input, .. }
            | Op::Limit { input, .. }
            | Op::Fetch { input, .. } => self.node(input, is_first),
            Op::Distinct { input } => {
                if matches!(input.op, Op::Append { .. }) {
                    // The result of a UNION is read.
                    self.add(StatusKind::SelectScan);
                }
                self.node(input, is_first);
            }
            Op::LookupJoin { left, scan, .. } => {
                self.node(left, is_first);
                if reads_range(&scan.access) {
                    self.add(StatusKind::SelectRangeCheck);
                }
            }
            Op::HashJoin { left, right, .. } | Op::LoopJoin { left, right, .. } => {
                self.node(left, is_first);
                self.node(right, false);
            }
            Op::Append { left, right } => {
                self.node(left, true);
                self.node(right, true);
            }
            Op::SetOp { left, right, .. } | Op::Recursive { seed: left, step: right, .. } => {
                self.add(StatusKind::SelectScan);
                self.node(left, true);
                self.node(right, true);
            }
            Op::Apply { input, subquery, .. } => {
                self.node(input, is_first);
                self.node(subquery, true);
            }
        }
    }
}

/// Whether ranges are read, rather than the rows of one key.
fn reads_range(access: &Access) -> bool {
    let ranges = access.ranges.as_deref().unwrap_or_default();
    ranges.len() > 1 || ranges.iter().any(|range| range.lower.is_some() || range.upper.is_some())
}
