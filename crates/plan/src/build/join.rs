//! How two sides are joined: by lookups in an index of the right one, by a hash table of the smaller one, or pair by pair, whichever is
//! cheapest. In which order relations are joined: [`join_group`](super::join_group).

use crate::cost;
use crate::expr::{ColumnId, Expr, ExprKind};
use crate::function::FunctionId;
use crate::logical::{JoinKind, Logical, TableIndex};
use crate::physical::{Node, Op, Scan};
use crate::rewrite::conjuncts;
use crate::trace;

use super::access::Candidate;
use super::{Builder, Needed};

/// How two sides are joined.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Way {
    Lookup,
    Hash,
    Loop,
}

/// What decides how two sides are joined.
pub(super) struct Ways {
    pub(super) kind: JoinKind,
    pub(super) left_rows: f64,
    pub(super) right_rows: f64,
    /// Of all of the right side.
    pub(super) right_cost: f64,
    /// There is an equality for a hash table.
    pub(super) may_hash: bool,
    /// Of finding the right rows for one left row by an index, if there is one.
    pub(super) lookup_cost: Option<f64>,
}

/// The conditions of a join, and the share of the pairs of rows that meet them all: what joins of other relations have said already is
/// not counted a second time.
#[derive(Clone, Copy)]
pub(super) struct Joining<'c> {
    pub(super) conditions: &'c [Expr],
    pub(super) share: f64,
}

impl Ways {
    /// The cheapest way, and what it costs without the left side.
    pub(super) fn cheapest(&self) -> (Way, f64) {
        let mut cheapest = (Way::Loop, self.loop_cost());
        if let Some(cost) = self.hash_cost()
            && cost < cheapest.1
        {
            cheapest = (Way::Hash, cost);
        }
        match self.lookups_cost() {
            Some(cost) if cost < cheapest.1 => (Way::Lookup, cost),
            _ => cheapest,
        }
    }

    /// Of comparing all pairs.
    pub(super) fn loop_cost(&self) -> f64 {
        self.right_cost + self.left_rows * self.right_rows * cost::PAIR
    }

    /// Of a hash join, if there can be one.
    pub(super) fn hash_cost(&self) -> Option<f64> {
        let (left, right) = (self.left_rows, self.right_rows);
        // The smaller side of an inner join is kept.
        let (kept, asked) = match self.kind {
            JoinKind::Inner => (left.min(right), left.max(right)),
            _ => (right, left),
        };
        self.may_hash.then(|| self.right_cost + cost::hash_join(kept, asked))
    }

    /// Of lookups for all left rows, if there is an index.
    pub(super) fn lookups_cost(&self) -> Option<f64> {
        self.lookup_cost.map(|cost| self.left_rows * cost)
    }
}

impl Builder<'_> {
    pub(super) fn read_columns(&self, table: TableIndex, conditions: &[Expr], needed: &Needed) -> Vec<usize> {
        let bound = &self.bound.tables[table.0 as usize];
        let mut read = needed.clone();
        conditions.iter().for_each(|condition| read.add_expr(condition));
        (0..bound.width()).filter(|&at| read.has(bound.column(at))).collect()
    }

    pub(super) fn cheapest(&self, table: TableIndex, conditions: &[Expr], needed: &Needed) -> Candidate {
        let columns = self.read_columns(table, conditions, needed);
        self.candidates(table, conditions, &columns, None)
            .into_iter()
            .min_by(|a, b| a.cost.total_cmp(&b.cost))
            .expect("the table scan is always a candidate")
    }

    /// The best index to look rows up by something of the left side.
    pub(super) fn lookup(
        &self,
        table: TableIndex,
        conditions: &[Expr],
        needed: &Needed,
    ) -> Option<Candidate> {
        // References are compared by a hash join only.
        if conditions.iter().any(|condition| self.compares_references(condition)) {
            return None;
        }
        let columns = self.read_columns(table, conditions, needed);
        self.candidates(table, conditions, &columns, None)
            .into_iter()
            .filter(|candidate| candidate.uses_left)
            .min_by(|a, b| a.cost.total_cmp(&b.cost))
    }

    /// An equality by which a hash join may be made. Large values stored out of line are compared by a hash join only.
    fn may_hash(&self, condition: &Expr) -> bool {
        is_equality(condition) && (self.hashes(condition) || self.compares_references(condition))
    }

    /// Whether hash joins may be made by this condition. NO_BNL of one of its tables counts more than BNL of another.
    fn hashes(&self, condition: &Expr) -> bool {
        let hinted = self.bound.hints.hash_keys.iter().filter(|(columns, _)| condition.reads_any(columns));
        hinted.map(|(_, may_hash)| *may_hash).min().unwrap_or(self.switches.hash_join)
    }

    /// The sides of an equality whose values hash alike when they are equal.
    pub(super) fn hash_sides<'e>(&self, condition: &'e Expr) -> Option<(&'e Expr, &'e Expr)> {
        let (_, [a, b]) = condition.as_call()? else { return None };
        (self.may_hash(condition) && hashes_alike(a, b)).then_some((a, b))
    }

    /// The values by which a set answers `= ANY` or `<> ALL`, those of the input's columns and those of the subquery's. None: it cannot.
    pub(super) fn member_keys(
        &mut self,
        all: bool,
        condition: &[Expr],
        input: &[ColumnId],
        subquery: &[ColumnId],
    ) -> Vec<(Expr, Expr)> {
        let mut keys = Vec::with_capacity(condition.len());
        for part in condition {
            let function = if all { FunctionId::Ne } else { FunctionId::Eq };
            let Some((of, [a, b])) = part.as_call() else { return Vec::new() };
            let (a, b) = if b.reads_any(subquery) { (a, b) } else { (b, a) };
            let are_apart = b.reads_any(subquery) && !b.reads_any(input) && !a.reads_any(subquery);
            // Several values are different if one of them is: that is no equality.
            if of != function
                || all && condition.len() > 1
                || !are_apart
                || self.compares_references(part)
                || !hashes_alike(a, b)
            {
                return Vec::new();
            }
            keys.push((self.translate_one(a, input), self.translate_one(b, subquery)));
        }
        keys
    }

    fn compares_references(&self, condition: &Expr) -> bool {
        let mut any = false;
        condition.each_column(&mut |id| {
            any |= self.bound.columns.get(id.0 as usize).is_some_and(|c| c.is_reference);
        });
        any
    }

    /// A join that keeps its sides: Left, Semi, Anti, Straight.
    pub(crate) fn join_with(
        &mut self,
        kind: JoinKind,
        left: Node,
        right: &Logical,
        conditions: &[Expr],
        needed: &Needed,
    ) -> Node {
        let mut conjuncted = Vec::new();
        for condition in conditions {
            conjuncts(condition.clone(), &mut conjuncted);
        }
        let joining = Joining { conditions: &conjuncted, share: self.conditions_selectivity(&conjuncted) };
        match leaf_of(right) {
            Some((table, own)) => {
                let right_rows = self.table_rows(table) * self.conditions_selectivity(own);
                self.join_leaf(kind, left, table, own, right_rows, joining, needed)
            }
            None => {
                let right = self.build(right, needed);
                self.join_nodes(kind, left, right, joining, false)
            }
        }
    }

    /// A join whose right side reads these columns of the left row: it is computed for each.
    pub(crate) fn dependent_join(
        &mut self,
        kind: JoinKind,
        left: Node,
        right: &Logical,
        conditions: &[Expr],
        dependent: &[ColumnId],
        needed: &Needed,
    ) -> Node {
        let right = self.build(right, needed);
        let position = |id: &ColumnId| left.columns.iter().position(|column| column == id);
        let outer = dependent
            .iter()
            .filter_map(|id| position(id).map(|position| (self.slot(*id), position as u32)))
            .collect();
        let mut both = left.columns.clone();
        both.extend(&right.columns);
        let matched = left.rows * right.rows * self.conditions_selectivity(conditions);
        let rows = joined_rows(kind, left.rows, matched);
        let cost = left.cost + left.rows * right.cost;
        let conditions = self.translate(conditions, &both);
        let output =
            if matches!(kind, JoinKind::Semi | JoinKind::Anti) { left.columns.clone() } else { both };
        let (left, right) = (Box::new(left), Box::new(right));
        let kind = if kind == JoinKind::Straight { JoinKind::Inner } else { kind };
        self.node(Op::LoopJoin { kind, left, right, conditions, outer }, output, rows, cost)
    }

    /// Joins a table of which `right_rows` rows meet its `own` conditions by whatever is cheapest.
    pub(super) fn join_leaf(
        &mut self,
        kind: JoinKind,
        left: Node,
        table: TableIndex,
        own: &[Expr],
        right_rows: f64,
        joining: Joining<'_>,
        needed: &Needed,
    ) -> Node {
        let joins = joining.conditions;
        let mut all = own.to_vec();
        all.extend_from_slice(joins);
        let lookup = if joins.is_empty() { None } else { self.lookup(table, &all, needed) };
        let whole = self.cheapest(table, own, needed);
        let ways = Ways {
            kind,
            left_rows: left.rows,
            right_rows: right_rows.min(whole.rows).max(0.01),
            right_cost: whole.cost,
            may_hash: joins.iter().any(|condition| self.may_hash(condition)),
            lookup_cost: lookup.as_ref().map(|lookup| lookup.cost),
        };
        // FORCE INDEX: a scan of the table only where no forced index finds rows.
        let is_forced = lookup.is_some() && self.bound.tables[table.0 as usize].force_index;
        let way = if is_forced { Way::Lookup } else { ways.cheapest().0 };
        if trace::features().is_some() {
            self.trace_join(table, &ways, way);
        }
        match (way, lookup) {
            (Way::Lookup, Some(lookup)) => {
                let pairs = left.rows * ways.right_rows * joining.share;
                self.lookup_join(kind, left, table, own, joins, &lookup, pairs, needed)
            }
            _ => {
                let right = self.scan(table, own, needed, None).0;
                let straight = kind == JoinKind::Straight;
                self.join_nodes(kind, left, right, joining, straight)
            }
        }
    }

    /// Joins a table of which `right_rows` rows meet its `own` conditions by an index, in the order of the left rows. `None`: there is no such
    /// index.
    pub(super) fn join_in_order(
        &mut self,
        kind: JoinKind,
        left: Node,
        table: TableIndex,
        own: &[Expr],
        right_rows: f64,
        joining: Joining<'_>,
        needed: &Needed,
    ) -> Option<Node> {
        let all = [own, joining.conditions].concat();
        let lookup = self.lookup(table, &all, needed)?;
        let pairs = left.rows * right_rows * joining.share;
        Some(self.lookup_join(kind, left, table, own, joining.conditions, &lookup, pairs, needed))
    }

    /// `pairs`: how many pairs of rows meet all conditions.
    fn lookup_join(
        &mut self,
        kind: JoinKind,
        left: Node,
        table: TableIndex,
        own: &[Expr],
        joins: &[Expr],
        lookup: &Candidate,
        pairs: f64,
        needed: &Needed,
    ) -> Node {
        let mut all = own.to_vec();
        all.extend_from_slice(joins);
        let columns = self.read_columns(table, &all, needed);
        let bound = &self.bound.tables[table.0 as usize];
        let mut table_columns: Vec<ColumnId> = columns.iter().map(|&ordinal| bound.column(ordinal)).collect();
        let locator = needed.has(self.locator(table));
        if locator {
            table_columns.push(self.locator(table));
        }
        let mut filter = Vec::new();
        let mut conditions = Vec::new();
        for (position, condition) in all.iter().enumerate() {
            if lookup.consumed.contains(&position) {
                continue;
            }
            if position < own.len() { &mut filter } else { &mut conditions }.push(condition.clone());
        }
        let filter = self.translate(&filter, &table_columns);
        let mut both = left.columns.clone();
        both.extend(&table_columns);
        let conditions = self.translate(&conditions, &both);
        let access = self.translate_access(lookup.access.clone(), &left.columns);
        let rows_read = lookup.rows;
        let scan = Scan {
            table,
            access,
            columns,
            locator,
            filter,
            early: Vec::new(),
            first_of: 0,
            limit: None,
            keyed: true,
            rows_read,
        };
        let kind = if kind == JoinKind::Straight { JoinKind::Inner } else { kind };
        let rows = joined_rows(kind, left.rows, pairs);
        let output =
            if matches!(kind, JoinKind::Semi | JoinKind::Anti) { left.columns.clone() } else { both };
        let cost = left.cost + left.rows * lookup.cost;
        self.node(Op::LookupJoin { kind, left: Box::new(left), scan, conditions }, output, rows, cost)
    }

    /// Hash join if there is an equality, else nested loop.
    pub(super) fn join_nodes(
        &mut self,
        kind: JoinKind,
        left: Node,
        right: Node,
        joining: Joining<'_>,
        straight: bool,
    ) -> Node {
        // The smaller side of an inner join is kept.
        let (left, right) = if kind == JoinKind::Inner && !straight && left.rows < right.rows {
            (right, left)
        } else {
            (left, right)
        };
        let kind = if kind == JoinKind::Straight { JoinKind::Inner } else { kind };
        let mut keys = Vec::new();
        let mut rest = Vec::new();
        for condition in joining.conditions {
            match self.hash_key(condition, &left.columns, &right.columns) {
                Some(key) => keys.push(key),
                None => rest.push(condition.clone()),
            }
        }
        let rows = joined_rows(kind, left.rows, left.rows * right.rows * joining.share);
        let mut both = left.columns.clone();
        both.extend(&right.columns);
        let rest = self.translate(&rest, &both);
        let output =
            if matches!(kind, JoinKind::Semi | JoinKind::Anti) { left.columns.clone() } else { both };
        let (left_rows, right_rows, cost) = (left.rows, right.rows, left.cost + right.cost);
        let (left, right) = (Box::new(left), Box::new(right));
        if keys.is_empty() {
            let cost = cost + left_rows * right_rows * cost::PAIR;
            self.node(
                Op::LoopJoin { kind, left, right, conditions: rest, outer: Vec::new() },
                output,
                rows,
                cost,
            )
        } else {
            let cost = cost + cost::hash_join(right_rows, left_rows);
            let op = Op::HashJoin { kind, left, right, keys, conditions: rest, null_aware: false };
            self.node(op, output, rows, cost)
        }
    }

    /// `left = right` with one side over each input, both of a type whose values hash alike when they are equal.
    fn hash_key(
        &mut self,
        condition: &Expr,
        left: &[ColumnId],
        right: &[ColumnId],
    ) -> Option<(Expr, Expr, bool)> {
        let (a, b) = self.hash_sides(condition)?;
        let null_safe = matches!(condition.as_call(), Some((FunctionId::NullSafeEq, _)));
        let over = |expr: &Expr, columns: &[ColumnId]| {
            let mut any = false;
            let mut only = true;
            expr.each_column(&mut |id| {
                any = true;
                only &= columns.contains(&id);
            });
            any && only
        };
        let (a, b) = if over(a, left) && over(b, right) {
            (a, b)
        } else if over(b, left) && over(a, right) {
            (b, a)
        } else {
            return None;
        };
        Some((self.translate_one(a, left), self.translate_one(b, right), null_safe))
    }
}

/// Equal values of both have equal keys without a conversion.
pub(super) fn hashes_alike(a: &Expr, b: &Expr) -> bool {
    use types::Physical;
    let (a, b) = (&a.data_type, &b.data_type);
    match (a.physical(), b.physical()) {
        (Physical::Int, Physical::Int) => {
            let integer = |data_type: &types::DataType| data_type.is_integer();
            let date = |data_type: &types::DataType| data_type.has_date();
            // A hash join gives integers of different signedness keys that say the number.
            (integer(a) && integer(b))
                || (date(a) && date(b))
                || (a.kind == types::TypeKind::Time && b.kind == types::TypeKind::Time)
                || (a.members.is_some() && a == b)
        }
        (Physical::Double, Physical::Double) | (Physical::Decimal, Physical::Decimal) => true,
        (Physical::Bytes, Physical::Bytes) => a.is_string() && b.is_string() && a.collation == b.collation,
        _ => false,
    }
}

/// A plain table and the conditions on it alone.
pub(super) fn leaf_of(tree: &Logical) -> Option<(TableIndex, &[Expr])> {
    match tree {
        Logical::Scan { table } => Some((*table, &[])),
        Logical::Filter { input, conditions } => match **input {
            Logical::Scan { table } => Some((table, conditions)),
            _ => None,
        },
        _ => None,
    }
}

fn is_equality(condition: &Expr) -> bool {
    matches!(condition.kind, ExprKind::Call { function: FunctionId::Eq | FunctionId::NullSafeEq, .. })
}

/// Share of the left rows that an anti join leaves where hardly any has no partner.
const ANTI_SHARE_MIN: f64 = 0.01;

/// Rows of a join of `left` rows of which `matched` pairs meet the conditions.
pub(super) fn joined_rows(kind: JoinKind, left: f64, matched: f64) -> f64 {
    // Partners fall on the left rows by chance: so likely has a row none.
    let without = (-matched / left.max(1e-9)).exp();
    match kind {
        JoinKind::Inner | JoinKind::Straight => matched,
        JoinKind::Left => matched.max(left),
        JoinKind::Semi => left * (1.0 - without),
        JoinKind::Anti => left * without.max(ANTI_SHARE_MIN),
    }
}
