//! Cardinality feedback: how many rows the scans and joins of a plan gave, for the next time that its statement is planned.
//!
//! Invariants:
//! 1. A fact is about a set of the statement's tables: in whatever order these are joined, their scan or join has this number of rows.
//! 2. Only a scan or join that was read to its end says how many rows it has.
//! 3. Facts hold for the tables they were counted in, with the statistics of then: newer ones may say it better.

use catalog::TableId;

use crate::logical::{BoundTable, Logical, TableIndex};
use crate::physical::{Node, Op, PhysicalPlan, PlanTable};

/// From which factor on between estimated and counted rows an estimate is wrong.
pub const WRONG_FACTOR: f64 = 100.0;
/// Most mentions of tables in a statement whose rows are counted: a set of them has a bit for each.
const TABLES_MAX: usize = u128::BITS as usize;

/// Mentions of tables in a statement.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct TableSet(u128);

impl TableSet {
    pub(crate) fn of(table: TableIndex) -> TableSet {
        TableSet(1u128.checked_shl(table.0).unwrap_or_default())
    }

    pub(crate) fn union(self, other: TableSet) -> TableSet {
        TableSet(self.0 | other.0)
    }

    /// The tables that a tree reads.
    pub(crate) fn read_by(tree: &Logical) -> TableSet {
        crate::progress::step();
        match tree {
            Logical::Scan { table } => TableSet::of(*table),
            _ => {
                let mut set = TableSet::default();
                tree.each_input(&mut |input| set = set.union(TableSet::read_by(input)));
                set
            }
        }
    }

    fn holds_all(self, other: TableSet) -> bool {
        other.0 & !self.0 == 0
    }
}

/// A table, and the version of what was found out about its rows.
type TableVersion = (TableId, u64);

/// What was counted while a plan ran.
#[derive(Clone, Debug, PartialEq)]
pub struct Feedback {
    /// The statement's tables.
    tables: Vec<TableVersion>,
    rows: Vec<(TableSet, f64)>,
}

impl Feedback {
    /// Whether both were counted in the same tables, of which nothing else was found out between.
    #[must_use]
    pub fn is_of_tables_of(&self, other: &Feedback) -> bool {
        self.tables == other.tables
    }

    /// Whether both say the same of the same joins.
    #[must_use]
    pub fn says_as(&self, other: &Feedback) -> bool {
        self.rows.len() == other.rows.len()
            && self.rows.iter().all(|&(set, rows)| other.rows_of(set) == Some(rows))
    }

    /// Whether a join had so different numbers of rows in both that its values decide.
    #[must_use]
    pub fn contradicts(&self, other: &Feedback) -> bool {
        self.rows.iter().any(|&(set, rows)| {
            let Some(before) = other.rows_of(set) else { return false };
            let (rows, before) = (rows.max(1.0), before.max(1.0));
            (rows / before).max(before / rows) >= WRONG_FACTOR
        })
    }

    /// Nothing is known but the tables.
    pub fn forget_rows(&mut self) {
        self.rows.clear();
    }

    /// Adds what was counted in other runs of the statement; where both have counted a set of tables, the larger number stays.
    pub fn add(&mut self, before: &Feedback) {
        for &(set, rows) in &before.rows {
            match self.rows.iter_mut().find(|(other, _)| *other == set) {
                Some((_, counted)) => *counted = counted.max(rows),
                None => self.rows.push((set, rows)),
            }
        }
    }

    /// Whether it was counted in these tables, and nothing newer is known of them.
    pub(crate) fn is_of(&self, tables: &[BoundTable]) -> bool {
        self.tables.len() == tables.len()
            && self.tables.iter().zip(tables).all(|(then, table)| {
                *then == (table.entry.definition.id, table.entry.source.statistics().collected_version())
            })
    }

    /// The rows of the scan or join of these tables.
    pub(crate) fn rows_of(&self, set: TableSet) -> Option<f64> {
        self.rows.iter().find(|(other, _)| *other == set).map(|(_, rows)| *rows)
    }

    /// What is known of joins of some of these tables.
    pub(crate) fn within(&self, set: TableSet) -> impl Iterator<Item = (TableSet, f64)> + '_ {
        self.rows.iter().copied().filter(move |(part, _)| set.holds_all(*part))
    }
}

/// How many rows the node with a number gave, if it was read to its end.
pub type Counted<'c> = &'c dyn Fn(u32) -> Option<f64>;

/// Whether the node's rows are estimated from those of its tables.
fn is_estimated(node: &Node) -> bool {
    match &node.op {
        Op::Scan(scan) => scan.limit.is_none(),
        Op::LookupJoin { .. } | Op::HashJoin { .. } => true,
        Op::LoopJoin { outer, .. } => outer.is_empty(),
        _ => false,
    }
}

/// By which factor the worst estimate below a node was wrong.
fn worst_factor(node: &Node, counted: Counted<'_>) -> f64 {
    let mut worst = 1.0;
    if is_estimated(node)
        && let Some(rows) = counted(node.number)
    {
        let (rows, estimated) = (rows.max(1.0), node.rows.max(1.0));
        worst = (rows / estimated).max(estimated / rows);
    }
    node.each_input(&mut |input| worst = worst_factor(input, counted).max(worst));
    worst
}

/// Collects what was counted, node by node.
struct Collector<'c> {
    counted: Counted<'c>,
    rows: Vec<(TableSet, f64)>,
    /// Sets that stand for several nodes, whose rows differ.
    ambiguous: Vec<TableSet>,
}

impl Collector<'_> {
    /// The tables that the node reads.
    fn visit(&mut self, node: &Node) -> TableSet {
        let mut set = match &node.op {
            Op::Scan(scan) | Op::LookupJoin { scan, .. } => TableSet::of(scan.table),
            _ => TableSet::default(),
        };
        match &node.op {
            // A subquery adds no rows.
            Op::Apply { input, subquery, .. } => {
                self.visit(subquery);
                set = self.visit(input);
            }
            _ => node.each_input(&mut |input| set = set.union(self.visit(input))),
        }
        if is_estimated(node)
            && let Some(rows) = (self.counted)(node.number)
        {
            self.note(set, rows);
        }
        set
    }

    fn note(&mut self, set: TableSet, rows: f64) {
        if let Some(at) = self.rows.iter().position(|(other, _)| *other == set) {
            self.rows.swap_remove(at);
            self.ambiguous.push(set);
        }
        if !self.ambiguous.contains(&set) {
            self.rows.push((set, rows));
        }
    }
}

fn version_of(table: &PlanTable) -> TableVersion {
    (table.entry.definition.id, table.entry.source.statistics().collected_version())
}

impl PhysicalPlan {
    /// Whether its rows are counted while it runs: another order of joins may be better than the one it has.
    #[inline]
    #[must_use]
    pub fn is_counted(&self) -> bool {
        self.sizes.len() > 1 && self.tables.len() <= TABLES_MAX
    }

    /// By which factor the worst of its estimates was wrong in a run, at least 1.
    #[must_use]
    pub fn worst_factor(&self, counted: Counted<'_>) -> f64 {
        self.kind.source().map_or(1.0, |root| worst_factor(root, counted))
    }

    /// What a run of it says of its tables.
    #[must_use]
    pub fn feedback(&self, counted: Counted<'_>) -> Feedback {
        let mut collector = Collector { counted, rows: Vec::new(), ambiguous: Vec::new() };
        if let Some(root) = self.kind.source() {
            collector.visit(root);
        }
        Feedback { tables: self.tables.iter().map(version_of).collect(), rows: collector.rows }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(tables: &[u32]) -> TableSet {
        tables.iter().fold(TableSet::default(), |set, &table| set.union(TableSet::of(TableIndex(table))))
    }

    fn feedback(rows: &[(TableSet, f64)]) -> Feedback {
        Feedback { tables: vec![(TableId(1), 0), (TableId(2), 0)], rows: rows.to_vec() }
    }

    #[test]
    fn of_two_counts_the_larger_one_stays() {
        let mut now = feedback(&[(set(&[0]), 5.0), (set(&[0, 1]), 1.0)]);
        now.add(&feedback(&[(set(&[0, 1]), 9.0), (set(&[1]), 2.0)]));
        assert_eq!(now.rows_of(set(&[0, 1])), Some(9.0));
        assert_eq!(now.rows_of(set(&[0])), Some(5.0));
        assert_eq!(now.rows_of(set(&[1])), Some(2.0));
        assert_eq!(now.within(set(&[0])).count(), 1);
    }

    #[test]
    fn a_set_of_two_nodes_says_nothing() {
        let mut collector = Collector { counted: &|_| None, rows: Vec::new(), ambiguous: Vec::new() };
        collector.note(set(&[0]), 1000.0);
        assert_eq!(collector.rows.len(), 1);
        for _ in 0..2 {
            collector.note(set(&[0]), 3.0);
            assert!(collector.rows.is_empty());
        }
    }
}
