//! A group of joins whose order is free: inner joins, and the LEFT, semi and anti joins among them.
//!
//! Relations of inner joins are joined in any order. What a LEFT, semi or anti join has on its right side is *attached*: it is one relation, and
//! may be joined, as the right side, to whatever holds all relations that its conditions read. That changes no answer: a semi or anti join keeps or
//! drops each row by what these relations hold; a LEFT join adds the same columns to each; and a condition above a LEFT join that reads those
//! columns is asked above it, wherever it comes to stand.
//!
//! A semi join whose right side has at most one row for each left one ([`unique`](super::unique)) is an inner join: the right side may then come first.
//!
//! STRAIGHT_JOIN, and joins whose right side is computed for each left row, keep their sides and are relations as a whole.

use std::collections::BTreeMap;

use crate::cost;
use crate::document::{Document, texts};
use crate::expr::{ColumnId, Expr};
use crate::feedback::TableSet;
use crate::function::FunctionId;
use crate::logical::{BoundTable, JoinKind, JoinOrderPlace, Logical, SortKey, TableIndex};
use crate::physical::Node;
use crate::progress;
use crate::rewrite::{conjuncts, is_repeatable, is_volatile};
use crate::trace;

use super::access::RowOrder;
use super::equated;
use super::join::{Joining, Ways, joined_rows, leaf_of};
use super::join_conditions::{JoinCondition, JoinConditions};
use super::join_order::{self, Order, Side, Steps};
use super::{Builder, Needed, unique};

/// A relation or join is expected to have this many rows at least, so that orders of those that may be empty differ.
const LEAST_ROWS: f64 = 0.01;
/// Relations of one group: each is one of 64 bits. Derived tables inside each other may join more than one query block may name.
const RELATIONS_MAX: usize = 64;

/// One relation of a group.
struct Relation<'t> {
    tree: &'t Logical,
    /// A plain table and the conditions on it alone.
    leaf: Option<(TableIndex, Vec<Expr>)>,
    columns: Vec<ColumnId>,
    /// The join that attaches it; else it is joined by inner joins.
    attached: Option<Attached>,
    /// Conditions that are asked when it has been read, or attached.
    above: Vec<Expr>,
    rows: f64,
    cost: f64,
    /// The plan of what is no plain table: made once, for its estimate, and then used. Made twice at each level, derived tables inside each
    /// other would take twice the time for each.
    node: Option<Node>,
}

impl Relation<'_> {
    /// By which join it is joined where these conditions can be asked; its conditions, and those above it.
    fn joined_by(&self, applying: Vec<Expr>) -> (JoinKind, Vec<Expr>, Vec<Expr>) {
        match &self.attached {
            Some(attached) => {
                let above = [&applying[..], &self.above[..]].concat();
                (attached.kind, attached.conditions.clone(), above)
            }
            None => (JoinKind::Inner, applying, Vec::new()),
        }
    }

    /// Share of the pairs of it and the relations on the left that meet the conditions by which it is joined.
    fn share(&self, joins: &JoinConditions, left: u64, own: u64) -> f64 {
        match &self.attached {
            Some(attached) => attached.share * joins.correction(left, own),
            None => joins.share(left, own),
        }
    }
}

struct Attached {
    kind: JoinKind,
    conditions: Vec<Expr>,
    /// Relations that the conditions read, without itself.
    needs: u64,
    /// The conditions have an equality for a hash table.
    may_hash: bool,
    /// Share of the pairs that meet them.
    share: f64,
}

type Attaching = (JoinKind, Vec<Expr>);

/// What [`Builder::flatten`] finds.
#[derive(Default)]
struct Flat<'t> {
    /// Each with the join that attaches it, and its conditions.
    relations: Vec<(&'t Logical, Option<Attaching>)>,
    conditions: Vec<Expr>,
}

/// Whether the tree is a join whose place among others is free.
pub(super) fn is_free(tree: &Logical, tables: &[BoundTable]) -> bool {
    match tree {
        Logical::Join { kind: JoinKind::Inner, .. } => true,
        Logical::Join { kind: JoinKind::Left | JoinKind::Semi | JoinKind::Anti, left, right, .. } => {
            !right.has_subquery_over(&left.output(tables)) && relation_count(tree) <= RELATIONS_MAX
        }
        _ => false,
    }
}

impl Builder<'_> {
    /// A group of joins, and conditions above it.
    pub(crate) fn join_group(&mut self, tree: &Logical, above: &[Expr], needed: &Needed) -> Node {
        self.join_group_in_order(tree, above, None, needed).0
    }

    /// As [`Builder::join_group`]; whether the rows come in the required order, which is so if that costs less than sorting them.
    pub(crate) fn join_group_in_order(
        &mut self,
        tree: &Logical,
        above: &[Expr],
        wanted: Option<RequiredOrder<'_>>,
        needed: &Needed,
    ) -> (Node, bool) {
        let mut flat = Flat::default();
        for condition in above {
            conjuncts(condition.clone(), &mut flat.conditions);
        }
        self.flatten(tree, &mut flat);
        let mut inner = needed.clone();
        flat.conditions.iter().for_each(|condition| inner.add_expr(condition));
        for (_, attached) in &flat.relations {
            attached.iter().flat_map(|(_, on)| on).for_each(|condition| inner.add_expr(condition));
        }
        let mut relations: Vec<Relation<'_>> =
            flat.relations.iter().map(|(tree, _)| self.relation(tree, &inner)).collect();
        for (at, (_, attached)) in flat.relations.into_iter().enumerate() {
            let Some((kind, on)) = attached else { continue };
            let columns = &relations[at].columns;
            if kind == JoinKind::Semi && unique::is_unique_for(self.bound, relations[at].tree, columns, &on) {
                flat.conditions.extend(on);
                continue;
            }
            relations[at].attached = Some(self.attached(kind, on, at, &relations));
        }
        let (joins, rest) = self.place(flat.conditions, &mut relations);
        let before = self.hinted_order(&relations);
        let group = Group { builder: self, relations: &relations, joins: &joins, needed: &inner, before };
        let mut costs = Costs { lookups: BTreeMap::new(), group };
        let mut find = || {
            join_order::best(relations.len(), &mut costs).unwrap_or_else(|| {
                // No order is as hints ask for.
                costs.group.before = Vec::new();
                join_order::best(relations.len(), &mut costs)
                    .expect("in the order of the text all can be joined")
            })
        };
        let (order, best) = match relations.len() {
            1 => find(),
            _ => trace::list("considered_execution_plans", find),
        };
        if trace::features().is_some() {
            costs.trace_order(&order, &best);
        }
        let in_order = wanted.and_then(|wanted| costs.in_order(wanted, &best));
        if let Some(in_order) = in_order
            && let Some(node) = self.lookups_in_order(&in_order, &relations, &joins, &inner)
        {
            return (self.filter_node(node, &rest), true);
        }
        let node = self.ordered_node(order, &mut relations, &joins, &inner).0;
        (self.filter_node(node, &rest), false)
    }

    /// Reads the first relation in the required order, and looks up the others.
    fn lookups_in_order(
        &mut self,
        in_order: &InOrder<'_>,
        relations: &[Relation<'_>],
        joins: &JoinConditions,
        needed: &Needed,
    ) -> Option<Node> {
        let (first, others) = in_order.relations.split_first()?;
        let (table, own) = relations[*first].leaf.as_ref()?;
        let (mut node, is_ordered) =
            self.scan(*table, own, needed, Some(&RowOrder::sorted(in_order.keys, Some(in_order.first_rows))));
        if !is_ordered {
            return None;
        }
        let mut set = 1u64 << first;
        for &at in others {
            let conditions = joins.exprs_between(set, 1 << at);
            let relation = &relations[at];
            let (table, own) = relation.leaf.as_ref()?;
            let (kind, on, above) = relation.joined_by(conditions);
            let joining = Joining { conditions: &on, share: relation.share(joins, set, 1 << at) };
            node = self.join_in_order(kind, node, *table, own, relation.rows, joining, needed)?;
            set |= 1 << at;
            node = self.with_counted_rows(node, relations, set);
            node = self.filter_node(node, &above);
        }
        Some(node)
    }

    fn relation<'t>(&mut self, tree: &'t Logical, needed: &Needed) -> Relation<'t> {
        let columns = tree.output(&self.bound.tables);
        let leaf = leaf_of(tree).map(|(table, own)| (table, own.to_vec()));
        let mut built = None;
        let (rows, cost) = match &leaf {
            Some((table, conditions)) => {
                let rows = self.table_rows(*table) * self.conditions_selectivity(conditions);
                let best = self.cheapest(*table, conditions, needed);
                (rows.min(best.rows), best.cost)
            }
            None => {
                let node = built.insert(self.build(tree, needed));
                (node.rows, node.cost)
            }
        };
        let (attached, above) = (None, Vec::new());
        Relation { tree, leaf, columns, attached, above, rows: rows.max(LEAST_ROWS), cost, node: built }
    }

    fn attached(&self, kind: JoinKind, on: Vec<Expr>, at: usize, relations: &[Relation<'_>]) -> Attached {
        let mut conditions = Vec::new();
        on.into_iter().for_each(|condition| conjuncts(condition, &mut conditions));
        let own = 1u64 << at;
        let (mut needs, mut may_hash) = (0, false);
        for condition in &conditions {
            needs |= relations_read(condition, relations);
            may_hash |= self.hashed(condition, relations).is_some_and(|(a, b)| a == own || b == own);
        }
        let share = self.conditions_selectivity(&conditions);
        Attached { kind, conditions, needs: needs & !own, may_hash, share }
    }

    /// What the two sides of an equality read, if a hash table may find equal ones.
    fn hashed(&self, condition: &Expr, relations: &[Relation<'_>]) -> Option<(u64, u64)> {
        let (a, b) = self.hash_sides(condition)?;
        let (a, b) = (relations_read(a, relations), relations_read(b, relations));
        (a != 0 && b != 0 && a & b == 0).then_some((a, b))
    }

    /// For each relation those that hints want before it; empty without hints.
    fn hinted_order(&self, relations: &[Relation<'_>]) -> Vec<u64> {
        if self.bound.hints.join_orders.is_empty() {
            return Vec::new();
        }
        let set_of = |columns: &[ColumnId]| {
            let holds = |relation: &Relation<'_>| columns.iter().any(|id| relation.columns.contains(id));
            let found = relations.iter().enumerate().filter(|(_, relation)| holds(relation));
            found.fold(0u64, |set, (at, _)| set | 1 << at)
        };
        let needs: Vec<u64> = relations
            .iter()
            .map(|relation| relation.attached.as_ref().map_or(0, |attached| attached.needs))
            .collect();
        let mut before = vec![0u64; relations.len()];
        for hint in &self.bound.hints.join_orders {
            let tables: Vec<u64> = hint.tables.iter().map(|columns| set_of(columns)).collect();
            let named = tables.iter().fold(0, |all, table| all | table);
            let others = set_of(&hint.block) & !named;
            let mut with = before.clone();
            let mut put = |first: u64, then: u64| {
                for (at, earlier) in with.iter_mut().enumerate().filter(|(at, _)| then & (1u64 << *at) != 0) {
                    *earlier |= first & !(1u64 << at);
                }
            };
            for (at, &table) in tables.iter().enumerate() {
                let earlier = tables[..at].iter().fold(0, |all, table| all | table);
                put(earlier & !table, table);
            }
            match hint.place {
                JoinOrderPlace::Anywhere => {}
                JoinOrderPlace::First => put(named, others),
                JoinOrderPlace::Last => put(others, named),
            }
            // One that hints before it, or outer joins, do not allow is left out, as in MySQL.
            if can_be_ordered(&with, &needs) {
                before = with;
            }
        }
        before
    }

    /// Gives conditions on one relation alone to it. The others are of joins, or asked above all.
    fn place(&self, conditions: Vec<Expr>, relations: &mut [Relation<'_>]) -> (JoinConditions, Vec<Expr>) {
        let (mut joins, mut rest) = (Vec::new(), Vec::new());
        let mut narrowed = 0;
        for condition in conditions {
            let relations_read = relations_read(&condition, relations);
            // What is another value each time is asked for each joined row.
            if relations_read == 0 || is_volatile(&condition) {
                rest.push(condition);
            } else if relations_read.count_ones() == 1 {
                let relation = &mut relations[relations_read.trailing_zeros() as usize];
                match &mut relation.leaf {
                    Some((_, own)) if relation.attached.is_none() => {
                        own.push(condition);
                        narrowed |= relations_read;
                    }
                    _ if is_repeatable(&condition) => relation.above.push(condition),
                    _ => rest.push(condition),
                }
            } else {
                let share = self.selectivity(&condition);
                let hashed = self.hashed(&condition, relations);
                joins.push(JoinCondition { relations_read, condition, share, hashed, equated: None });
            }
        }
        for join in &mut joins {
            // Equal to the same constant each by itself: that they are equal says nothing more.
            if is_of_fixed_columns(&join.condition, relations) {
                join.share = 1.0;
            }
        }
        self.share_together(&mut joins, relations);
        let equalities = joins.iter().map(|join| match join.condition.as_call() {
            Some((FunctionId::Eq, [a, b])) => Some((a.as_column()?, b.as_column()?)),
            _ => None,
        });
        for (at, pair) in equated::implied(equalities) {
            joins[at].equated = Some(pair);
        }
        for (at, relation) in relations.iter_mut().enumerate() {
            if relation.attached.is_some() {
                continue;
            }
            if let Some((table, own)) = &relation.leaf
                && narrowed & (1 << at) != 0
            {
                let rows = self.table_rows(*table) * self.conditions_selectivity(own);
                relation.rows = relation.rows.min(rows).max(LEAST_ROWS);
            }
            if !relation.above.is_empty() {
                relation.rows =
                    (relation.rows * self.conditions_selectivity(&relation.above)).max(LEAST_ROWS);
            }
        }
        let mut joins = JoinConditions::new(joins);
        if self.feedback.is_some() {
            self.take_feedback(&mut joins, relations);
        }
        (joins, rest)
    }

    /// Takes over what was counted when the statement ran before: first of single relations, then of smaller joins and of larger ones.
    #[cold]
    fn take_feedback(&self, joins: &mut JoinConditions, relations: &mut [Relation<'_>]) {
        let Some(feedback) = self.feedback else { return };
        let tables: Vec<TableSet> =
            relations.iter().map(|relation| TableSet::read_by(relation.tree)).collect();
        for (relation, tables) in relations.iter_mut().zip(&tables) {
            if let (Some(_), Some(rows)) = (&relation.leaf, feedback.rows_of(*tables)) {
                relation.rows = rows.max(LEAST_ROWS);
            }
        }
        let all = tables.iter().fold(TableSet::default(), |all, tables| all.union(*tables));
        let mut counted: Vec<(u64, f64)> = feedback
            .within(all)
            .filter_map(|(set, rows)| Some((relations_of(set, &tables)?, rows)))
            .filter(|(relations, _)| relations.count_ones() > 1)
            .collect();
        counted.sort_by_key(|(relations, _)| (relations.count_ones(), *relations));
        for (set, rows) in counted {
            if let Some(estimated) = estimated_rows(set, relations, joins) {
                joins.correct(set, estimated, rows.max(LEAST_ROWS));
            }
        }
    }

    /// The join of these relations, with the rows that it had when the statement ran before, if that is known.
    fn with_counted_rows(&self, node: Node, relations: &[Relation<'_>], set: u64) -> Node {
        match self.feedback.and_then(|feedback| feedback.rows_of(tables_of(relations, set))) {
            Some(rows) => Node { rows, ..node },
            None => node,
        }
    }

    /// Conditions on the same two relations have one share together.
    fn share_together(&self, joins: &mut [JoinCondition], relations: &[Relation<'_>]) {
        for at in 0..joins.len() {
            let relations_read = joins[at].relations_read;
            let is_first = !joins[..at].iter().any(|other| other.relations_read == relations_read);
            let same = || joins[at..].iter().filter(|other| other.relations_read == relations_read);
            if relations_read.count_ones() != 2 || !is_first || same().count() < 2 {
                continue;
            }
            let counting = same().filter(|join| !is_of_fixed_columns(&join.condition, relations));
            let conditions: Vec<Expr> = counting.map(|join| join.condition.clone()).collect();
            let share = self.conditions_selectivity(&conditions);
            for join in joins[at..].iter_mut().filter(|other| other.relations_read == relations_read) {
                join.share = 1.0;
            }
            joins[at].share = share;
        }
    }

    fn relation_node(&mut self, relation: &mut Relation<'_>, needed: &Needed) -> Node {
        let node = match (&relation.leaf, relation.node.take()) {
            (Some((table, conditions)), _) => self.scan(*table, conditions, needed, None).0,
            (None, Some(node)) => node,
            (None, None) => self.build(relation.tree, needed),
        };
        match &relation.attached {
            Some(_) => node,
            None => self.filter_node(node, &relation.above),
        }
    }

    /// The plan of an order, and its relations.
    fn ordered_node(
        &mut self,
        order: Order,
        relations: &mut [Relation<'_>],
        joins: &JoinConditions,
        needed: &Needed,
    ) -> (Node, u64) {
        let (left, right) = match order {
            Order::Relation(at) => return (self.relation_node(&mut relations[at], needed), 1 << at),
            Order::Join(left, right) => (left, right),
        };
        let (left, left_set) = self.ordered_node(*left, relations, joins, needed);
        let at = match *right {
            Order::Relation(at) => at,
            right @ Order::Join(..) => {
                let (right, right_set) = self.ordered_node(right, relations, joins, needed);
                let conditions = joins.exprs_between(left_set, right_set);
                let share = joins.share(left_set, right_set);
                let joining = Joining { conditions: &conditions, share };
                let node = self.join_nodes(JoinKind::Inner, left, right, joining, false);
                let set = left_set | right_set;
                return (self.with_counted_rows(node, relations, set), set);
            }
        };
        let conditions = joins.exprs_between(left_set, 1 << at);
        let set = left_set | 1 << at;
        let relation = &mut relations[at];
        let (kind, conditions, above) = relation.joined_by(conditions);
        let joining = Joining { conditions: &conditions, share: relation.share(joins, left_set, 1 << at) };
        let node = match &relation.leaf {
            Some((table, own)) => self.join_leaf(kind, left, *table, own, relation.rows, joining, needed),
            None => {
                let right = self.relation_node(relation, needed);
                self.join_nodes(kind, left, right, joining, false)
            }
        };
        let node = self.with_counted_rows(node, relations, set);
        (self.filter_node(node, &above), set)
    }

    /// The relations and conditions of a group. Of one with too many relations the larger sides are relations as a whole.
    fn flatten<'t>(&self, tree: &'t Logical, flat: &mut Flat<'t>) {
        if relation_count(tree) <= RELATIONS_MAX {
            self.flatten_all(tree, flat);
        } else if let Logical::Join { kind: JoinKind::Inner, left, right, conditions: own } = tree {
            for side in [left, right] {
                if relation_count(side) <= RELATIONS_MAX / 2 {
                    self.flatten_all(side, flat);
                } else {
                    flat.relations.push((side, None));
                }
            }
            own.iter().for_each(|condition| conjuncts(condition.clone(), &mut flat.conditions));
        } else if let Logical::Filter { input, conditions: own } = tree {
            self.flatten(input, flat);
            own.iter().for_each(|condition| conjuncts(condition.clone(), &mut flat.conditions));
        } else {
            flat.relations.push((tree, None));
        }
    }

    fn flatten_all<'t>(&self, tree: &'t Logical, flat: &mut Flat<'t>) {
        match tree {
            Logical::Join { kind, left, right, conditions } if is_free(tree, &self.bound.tables) => {
                self.flatten_all(left, flat);
                if *kind == JoinKind::Inner {
                    self.flatten_all(right, flat);
                    for condition in conditions {
                        conjuncts(condition.clone(), &mut flat.conditions);
                    }
                } else {
                    flat.relations.push((right, Some((*kind, conditions.clone()))));
                }
            }
            Logical::Filter { input, conditions } if may_pull_up(input, conditions, &self.bound.tables) => {
                self.flatten_all(input, flat);
                for condition in conditions {
                    conjuncts(condition.clone(), &mut flat.conditions);
                }
            }
            _ => flat.relations.push((tree, None)),
        }
    }
}

/// Conditions above a join may be asked above others that it is part of.
fn may_pull_up(input: &Logical, conditions: &[Expr], tables: &[BoundTable]) -> bool {
    match input {
        Logical::Join { kind: JoinKind::Inner, .. } => true,
        _ => is_free(input, tables) && conditions.iter().all(is_repeatable),
    }
}

/// How many relations [`Builder::flatten_all`] finds.
fn relation_count(tree: &Logical) -> usize {
    progress::step();
    match tree {
        Logical::Join { kind: JoinKind::Inner, left, right, .. } => {
            relation_count(left) + relation_count(right)
        }
        Logical::Join { kind: JoinKind::Left | JoinKind::Semi | JoinKind::Anti, left, .. } => {
            1 + relation_count(left)
        }
        Logical::Filter { input, .. } if matches!(**input, Logical::Join { .. }) => relation_count(input),
        _ => 1,
    }
}

/// Whether a condition is that two columns are equal which conditions of their relations set equal to the same constant.
fn is_of_fixed_columns(condition: &Expr, relations: &[Relation<'_>]) -> bool {
    let Some((FunctionId::Eq, [a, b])) = condition.as_call() else { return false };
    let fixed = |side: &Expr| {
        let column = side.as_column()?;
        let relation = relations.iter().find(|relation| relation.columns.contains(&column))?;
        let (_, own) = relation.leaf.as_ref()?;
        own.iter().find_map(|condition| match condition.as_call() {
            Some((FunctionId::Eq, [a, b])) if a.as_column() == Some(column) && b.is_constant() => {
                Some(b.clone())
            }
            Some((FunctionId::Eq, [a, b])) if b.as_column() == Some(column) && a.is_constant() => {
                Some(a.clone())
            }
            _ => None,
        })
    };
    fixed(a).is_some_and(|constant| fixed(b) == Some(constant))
}

/// Which relations a condition reads, as bits.
fn relations_read(condition: &Expr, relations: &[Relation<'_>]) -> u64 {
    let mut bits = 0;
    condition.each_column(&mut |id| {
        if let Some(at) = relations.iter().position(|relation| relation.columns.contains(&id)) {
            bits |= 1 << at;
        }
    });
    bits
}

/// The relations of which these are all the tables, as bits.
fn relations_of(set: TableSet, tables: &[TableSet]) -> Option<u64> {
    let within = |of: &TableSet| *of != TableSet::default() && set.union(*of) == set;
    let found = tables.iter().enumerate().filter(|(_, of)| within(of));
    let relations = found.fold(0u64, |relations, (at, _)| relations | 1 << at);
    let all = tables.iter().filter(|of| within(of)).fold(TableSet::default(), |all, of| all.union(*of));
    (all == set).then_some(relations)
}

/// The tables of these relations.
fn tables_of(relations: &[Relation<'_>], set: u64) -> TableSet {
    let within = relations.iter().enumerate().filter(|(at, _)| set & (1 << at) != 0);
    within.fold(TableSet::default(), |tables, (_, relation)| tables.union(TableSet::read_by(relation.tree)))
}

/// Rows of a join of two sets of relations, each with its rows. None: what the right one, attached, needs is not on the left.
fn rows_of_join(
    (left, left_rows): (u64, f64),
    (right, right_rows): (u64, f64),
    attached: Option<&Attached>,
    joins: &JoinConditions,
) -> Option<f64> {
    let share = joins.share(left, right);
    let rows = match attached {
        Some(attached) if attached.needs & !left != 0 => return None,
        Some(attached) => {
            joined_rows(attached.kind, left_rows, left_rows * right_rows * attached.share) * share
        }
        None => left_rows * right_rows * share,
    };
    Some(rows.max(LEAST_ROWS))
}

/// Rows of the join of these relations by what is known so far: those of inner joins first, then what is attached to them.
fn estimated_rows(set: u64, relations: &[Relation<'_>], joins: &JoinConditions) -> Option<f64> {
    let within = || relations.iter().enumerate().filter(|(at, _)| set & (1 << at) != 0);
    let inner = within().filter(|(_, relation)| relation.attached.is_none());
    let attached = within().filter(|(_, relation)| relation.attached.is_some());
    let mut joined: Option<(u64, f64)> = None;
    for (at, relation) in inner.chain(attached) {
        let own = (1u64 << at, relation.rows);
        joined = Some(match joined {
            None => own,
            Some(left) => (left.0 | own.0, rows_of_join(left, own, relation.attached.as_ref(), joins)?),
        });
    }
    joined.map(|(_, rows)| rows)
}

/// Whether the relations have an order in which each comes behind those that it must.
fn can_be_ordered(before: &[u64], needs: &[u64]) -> bool {
    let all = (0..before.len()).fold(0u64, |set, at| set | 1 << at);
    let mut placed = 0u64;
    while placed != all {
        progress::step();
        let ready = |at: &usize| (before[*at] | needs[*at]) & !placed == 0;
        let next = (0..before.len()).filter(ready).fold(placed, |set, at| set | 1 << at);
        if next == placed {
            return false;
        }
        placed = next;
    }
    true
}

/// Whether hints want one of the relations on the right before one of those on the left.
fn contradicts(before: &[u64], left: u64, right: u64) -> bool {
    before.iter().enumerate().any(|(at, earlier)| left & (1 << at) != 0 && earlier & right != 0)
}

/// The order in which the rows of a group are wanted, and how many of them.
#[derive(Clone, Copy)]
pub(crate) struct RequiredOrder<'k> {
    pub(crate) keys: &'k [SortKey],
    pub(crate) limit: Option<f64>,
}

/// A way to join a group that keeps the order of its first relation.
struct InOrder<'k> {
    relations: Vec<usize>,
    keys: &'k [SortKey],
    /// Rows of the first relation that are read.
    first_rows: f64,
}

/// How many times later than they would if they lay evenly rows are assumed to come where reading stops at a limit.
const LATE_FACTOR: f64 = 3.0;

/// The joins of a group, by sets of its relations.
struct Group<'g, 'b, 't> {
    builder: &'g Builder<'b>,
    relations: &'g [Relation<'t>],
    joins: &'g JoinConditions,
    needed: &'g Needed,
    /// For each relation those that hints want before it; empty: there are no hints.
    before: Vec<u64>,
}

struct Costs<'g, 'b, 't> {
    group: Group<'g, 'b, 't>,
    /// What a lookup in the relation costs, by what of the left side its conditions read. None: no index.
    lookups: BTreeMap<(usize, u64), Option<f64>>,
}

impl Costs<'_, '_, '_> {
    fn lookup(&mut self, at: usize, left: u64) -> Option<f64> {
        let group = &self.group;
        let relation = &group.relations[at];
        let (table, own) = relation.leaf.as_ref()?;
        let bit = 1u64 << at;
        let read = match &relation.attached {
            Some(_) => 0,
            None => group.joins.between(left, bit).fold(0, |read, join| read | join.relations_read),
        };
        if read == 0 && relation.attached.is_none() {
            return None;
        }
        *self.lookups.entry((at, read)).or_insert_with(|| {
            let mut conditions = own.clone();
            match &relation.attached {
                Some(attached) => conditions.extend_from_slice(&attached.conditions),
                None => conditions.extend(group.joins.exprs_between(left, bit)),
            }
            group.builder.lookup(*table, &conditions, group.needed).map(|lookup| lookup.cost)
        })
    }
}

impl Costs<'_, '_, '_> {
    /// The way to have the order by reading a relation in it and looking up the others, if that costs less than sorting the rows of the `best` one.
    fn in_order<'k>(&mut self, wanted: RequiredOrder<'k>, best: &Side) -> Option<InOrder<'k>> {
        let relations = self.group.relations;
        let mut columns = Vec::new();
        wanted.keys.iter().for_each(|key| key.expr.each_column(&mut |id| columns.push(id)));
        let holds_all = |relation: &Relation<'_>| columns.iter().all(|id| relation.columns.contains(id));
        let first = relations.iter().position(|relation| !columns.is_empty() && holds_all(relation))?;
        let relation = &relations[first];
        let (table, own) = relation.leaf.as_ref()?;
        if relation.attached.is_some() {
            return None;
        }
        let read = self.group.builder.read_columns(*table, own, self.group.needed);
        let ways =
            self.group.builder.candidates(*table, own, &read, Some(&RowOrder::sorted(wanted.keys, None)));
        let cost = ways.iter().filter(|way| way.ordered).map(|way| way.cost).min_by(f64::total_cmp)?;
        let mut side = Side { set: 1 << first, rows: relation.rows, cost };
        let mut order = vec![first];
        while order.len() < relations.len() {
            let rest = (0..relations.len()).filter(|at| side.set & (1 << at) == 0);
            let next = rest.filter_map(|at| Some((at, self.looked_up(&side, at)?)));
            let by_cost = |a: &(usize, Side), b: &(usize, Side)| {
                (a.1.cost + a.1.rows * cost::ROW).total_cmp(&(b.1.cost + b.1.rows * cost::ROW))
            };
            let (at, joined) = next.min_by(by_cost)?;
            order.push(at);
            side = joined;
        }
        let share = wanted.limit.map_or(1.0, |limit| (limit / side.rows * LATE_FACTOR).min(1.0));
        (side.cost * share < best.cost + cost::sort(best.rows)).then_some(InOrder {
            relations: order,
            keys: wanted.keys,
            first_rows: relation.rows * share,
        })
    }

    /// The relation joined by lookups in an index of it.
    fn looked_up(&mut self, left: &Side, at: usize) -> Option<Side> {
        progress::step();
        let right = self.start(at);
        let lookup = self.lookup(at, left.set)?;
        let joined = self.join(left, &right)?;
        Some(Side { cost: left.cost + left.rows * lookup, ..joined })
    }
}

impl Steps for Costs<'_, '_, '_> {
    fn start(&self, relation: usize) -> Side {
        let joined = &self.group.relations[relation];
        Side { set: 1 << relation, rows: joined.rows, cost: joined.cost }
    }

    fn is_connected(&self, left: u64, right: u64) -> bool {
        let attaches = |set: u64, other: u64| {
            set.count_ones() == 1
                && self.group.relations[set.trailing_zeros() as usize]
                    .attached
                    .as_ref()
                    .is_some_and(|attached| attached.needs & !other == 0)
        };
        self.group.joins.between(left, right).next().is_some()
            || attaches(right, left)
            || attaches(left, right)
    }

    fn join(&mut self, left: &Side, right: &Side) -> Option<Side> {
        let relations = self.group.relations;
        if left.only().is_some_and(|at| relations[at].attached.is_some())
            || contradicts(&self.group.before, left.set, right.set)
        {
            return None;
        }
        let joins = self.group.joins;
        let attached = right.only().and_then(|at| relations[at].attached.as_ref());
        let rows = rows_of_join((left.set, left.rows), (right.set, right.rows), attached, joins)?;
        let (kind, may_hash) = match attached {
            Some(attached) => (attached.kind, attached.may_hash),
            None => (JoinKind::Inner, joins.may_hash(left.set, right.set)),
        };
        let ways = Ways {
            kind,
            left_rows: left.rows,
            right_rows: right.rows,
            right_cost: right.cost,
            may_hash,
            lookup_cost: right.only().and_then(|at| self.lookup(at, left.set)),
        };
        let (_, cost) = ways.cheapest();
        let joined = Side { set: left.set | right.set, rows, cost: left.cost + cost };
        if trace::features().is_some_and(|features| features.greedy_search) {
            self.trace_considered(left, right, &joined);
        }
        Some(joined)
    }
}

/// Orders of joins in a trace.
impl Costs<'_, '_, '_> {
    #[cold]
    fn trace_considered(&self, left: &Side, right: &Side, joined: &Side) {
        trace::add(|| {
            let mut joining = self.names(right.set);
            let joining = match joining.len() {
                1 => ("table", joining.swap_remove(0).into()),
                _ => ("tables", texts(joining)),
            };
            vec![
                ("plan_prefix", texts(self.names(left.set))),
                joining,
                ("rows_for_plan", Document::number(joined.rows)),
                ("cost_for_plan", Document::number(cost::shown(joined.cost))),
            ]
        });
    }

    #[cold]
    fn trace_order(&self, order: &Order, best: &Side) {
        trace::add(|| {
            let chosen = vec![
                ("order", self.shown_order(order).into()),
                ("rows_for_plan", Document::number(best.rows)),
                ("cost_for_plan", Document::number(cost::shown(best.cost))),
                ("chosen", true.into()),
            ];
            vec![("chosen_join_order", Document::Object(chosen))]
        });
    }

    fn shown_order(&self, order: &Order) -> String {
        match order {
            Order::Relation(at) => self.names(1 << at).concat(),
            Order::Join(left, right) => format!("({} {})", self.shown_order(left), self.shown_order(right)),
        }
    }

    /// The tables of relations; what is no table by itself is a derived one.
    fn names(&self, set: u64) -> Vec<String> {
        let relations = self.group.relations.iter().enumerate().filter(|(at, _)| set & (1 << at) != 0);
        let name = |(_, relation): (usize, &Relation<'_>)| match &relation.leaf {
            Some((table, _)) => format!("`{}`", self.group.builder.bound.tables[table.0 as usize].alias),
            None => "<derived>".to_owned(),
        };
        relations.map(name).collect()
    }
}
