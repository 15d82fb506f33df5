//! Joins: the order of inner joins and how each is carried out.
//!
//! A chain of inner joins is a set of relations and conditions. Up to [`EXHAUSTIVE_MAX`] relations every left-deep order
//! is considered by dynamic programming over subsets; more are joined greedily, cheapest next. Each step is the cheapest
//! of: lookup in an index of the new relation, hash join, nested loop.

use crate::cost;
use crate::expr::{ColumnId, Expr, ExprKind};
use crate::function::FunctionId;
use crate::logical::{JoinKind, Logical, TableIndex};
use crate::physical::{Node, Op, Scan};
use crate::progress;
use crate::rewrite::conjuncts;

use super::access::Candidate;
use super::{Builder, Needed};

/// Relations up to which every order is tried: 2^8 subsets.
const EXHAUSTIVE_MAX: usize = 8;
/// Relations of one chain: each is one of 64 bits. Derived tables inside each other may join more than one query block may name.
const RELATIONS_MAX: usize = 64;

/// One relation of a chain of inner joins.
struct Relation<'t> {
    tree: &'t Logical,
    /// A plain table and the conditions on it alone.
    leaf: Option<(TableIndex, Vec<Expr>)>,
    columns: Vec<ColumnId>,
    rows: f64,
    cost: f64,
    /// The plan of what is no plain table: made once, for its estimate, and then used. Made twice at each level, derived tables inside each
    /// other would take twice the time for each.
    node: Option<Node>,
}

/// A condition over several relations.
struct JoinCondition {
    /// Which, as bits.
    touched: u64,
    condition: Expr,
    /// Share of the pairs that meet it.
    share: f64,
}

impl JoinCondition {
    /// Whether it can be asked once the relation `bit` is joined to those of `set`, and not before.
    fn applies(&self, set: u64, bit: u64) -> bool {
        self.touched & bit != 0 && self.touched & !(set | bit) == 0
    }
}

/// How a relation is joined to what is there.
enum Step {
    Lookup,
    Hash,
    Loop,
}

#[derive(Clone)]
struct Partial {
    order: Vec<usize>,
    rows: f64,
    cost: f64,
}

impl Builder<'_> {
    /// A chain of inner joins, and conditions above it.
    pub(crate) fn join_group(&mut self, tree: &Logical, above: &[Expr], needed: &Needed) -> Node {
        let mut trees = Vec::new();
        let mut conditions = Vec::new();
        for condition in above {
            conjuncts(condition.clone(), &mut conditions);
        }
        flatten(tree, &mut trees, &mut conditions);
        let mut inner = needed.clone();
        conditions.iter().for_each(|condition| inner.add_expr(condition));

        let mut relations: Vec<Relation<'_>> =
            trees.into_iter().map(|tree| self.relation(tree, &inner)).collect();
        // Conditions on one relation alone belong to it.
        let mut joins = Vec::new();
        let mut rest = Vec::new();
        let mut narrowed = 0;
        for condition in conditions {
            let touched = touched(&condition, &relations);
            match touched.count_ones() {
                0 => rest.push(condition),
                1 => {
                    let relation = &mut relations[touched.trailing_zeros() as usize];
                    match &mut relation.leaf {
                        Some((_, own)) => {
                            own.push(condition);
                            narrowed |= touched;
                        }
                        None => rest.push(condition),
                    }
                }
                _ => {
                    let share = self.selectivity(&condition);
                    joins.push(JoinCondition { touched, condition, share });
                }
            }
        }
        for (at, relation) in relations.iter_mut().enumerate() {
            if let Some((table, own)) = &relation.leaf
                && narrowed & (1 << at) != 0
            {
                let rows = self.table_rows(*table) * self.conditions_selectivity(own);
                relation.rows = relation.rows.min(rows).max(0.01);
            }
        }
        let order = self.order(&relations, &joins, &inner);

        let mut seen = 1u64 << order[0];
        let first = &mut relations[order[0]];
        let mut node = self.relation_node(first, &inner);
        for &next in &order[1..] {
            let bit = 1u64 << next;
            let applicable: Vec<Expr> = joins
                .iter()
                .filter(|join| join.applies(seen, bit))
                .map(|join| join.condition.clone())
                .collect();
            seen |= bit;
            let relation = &mut relations[next];
            node = match &relation.leaf {
                Some((table, own)) => self.join_leaf(JoinKind::Inner, node, *table, own, &applicable, &inner),
                None => {
                    let right = self.relation_node(relation, &inner);
                    self.join_nodes(JoinKind::Inner, node, right, &applicable, false)
                }
            };
        }
        self.filter_node(node, &rest)
    }

    fn relation<'t>(&mut self, tree: &'t Logical, needed: &Needed) -> Relation<'t> {
        let columns = tree.output(&self.bound.tables);
        let leaf = match tree {
            Logical::Scan { table } => Some((*table, Vec::new())),
            Logical::Filter { input, conditions } => match **input {
                Logical::Scan { table } => Some((table, conditions.clone())),
                _ => None,
            },
            _ => None,
        };
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
        Relation { tree, leaf, columns, rows: rows.max(0.01), cost, node: built }
    }

    fn read_columns(&self, table: TableIndex, conditions: &[Expr], needed: &Needed) -> Vec<usize> {
        let bound = &self.bound.tables[table.0 as usize];
        let mut read = needed.clone();
        conditions.iter().for_each(|condition| read.add_expr(condition));
        (0..bound.width()).filter(|&at| read.has(bound.column(at))).collect()
    }

    fn cheapest(&self, table: TableIndex, conditions: &[Expr], needed: &Needed) -> Candidate {
        let columns = self.read_columns(table, conditions, needed);
        self.candidates(table, conditions, &columns, None)
            .into_iter()
            .min_by(|a, b| a.cost.total_cmp(&b.cost))
            .expect("the table scan is always a candidate")
    }

    fn relation_node(&mut self, relation: &mut Relation<'_>, needed: &Needed) -> Node {
        match (&relation.leaf, relation.node.take()) {
            (Some((table, conditions)), _) => self.scan(*table, conditions, needed, None).0,
            (None, Some(node)) => node,
            (None, None) => self.build(relation.tree, needed),
        }
    }

    /// The order in which the relations are joined.
    fn order(&self, relations: &[Relation<'_>], joins: &[JoinCondition], needed: &Needed) -> Vec<usize> {
        let count = relations.len();
        if count == 1 {
            return vec![0];
        }
        let start =
            |at: usize| Partial { order: vec![at], rows: relations[at].rows, cost: relations[at].cost };
        if count <= EXHAUSTIVE_MAX {
            let mut best: Vec<Option<Partial>> = vec![None; 1 << count];
            for at in 0..count {
                best[1 << at] = Some(start(at));
            }
            for set in 1..1usize << count {
                let Some(partial) = best[set].clone() else { continue };
                for next in (0..count).filter(|next| set & (1 << next) == 0) {
                    let joined = self.extend(&partial, set as u64, next, relations, joins, needed);
                    let slot = &mut best[set | 1 << next];
                    if slot.as_ref().is_none_or(|other| joined.cost < other.cost) {
                        *slot = Some(joined);
                    }
                }
            }
            if let Some(Some(partial)) = best.pop() {
                return partial.order;
            }
        }
        // Greedy: from the relation with the fewest rows, always the cheapest next.
        let first = (0..count).min_by(|&a, &b| relations[a].rows.total_cmp(&relations[b].rows)).unwrap_or(0);
        let mut partial = start(first);
        let mut set = 1u64 << first;
        while partial.order.len() < count {
            let next = (0..count)
                .filter(|next| set & (1 << next) == 0)
                .map(|next| (next, self.extend(&partial, set, next, relations, joins, needed)))
                .min_by(|(_, a), (_, b)| (a.cost + a.rows).total_cmp(&(b.cost + b.rows)));
            let Some((next, joined)) = next else { break };
            partial = joined;
            set |= 1 << next;
        }
        partial.order
    }

    fn extend(
        &self,
        partial: &Partial,
        set: u64,
        next: usize,
        relations: &[Relation<'_>],
        joins: &[JoinCondition],
        needed: &Needed,
    ) -> Partial {
        progress::step();
        let bit = 1u64 << next;
        let relation = &relations[next];
        let applicable = || joins.iter().filter(|join| join.applies(set, bit));
        let selectivity: f64 = applicable().map(|join| join.share).product();
        let rows = (partial.rows * relation.rows * selectivity).max(0.01);
        let equal = applicable().any(|join| self.may_hash(&join.condition));
        let mut cost = relation.cost + partial.rows * relation.rows * cost::PAIR;
        if equal {
            let small = partial.rows.min(relation.rows);
            let large = partial.rows.max(relation.rows);
            cost = cost.min(relation.cost + cost::hash_join(small, large));
        }
        if let Some((table, own)) = &relation.leaf
            && applicable().next().is_some()
        {
            let mut conditions = own.clone();
            conditions.extend(applicable().map(|join| join.condition.clone()));
            if let Some(lookup) = self.lookup(*table, &conditions, needed) {
                cost = cost.min(partial.rows * lookup.cost);
            }
        }
        let mut order = partial.order.clone();
        order.push(next);
        Partial { order, rows, cost: partial.cost + cost }
    }

    /// The best index to look rows up by something of the left side.
    fn lookup(&self, table: TableIndex, conditions: &[Expr], needed: &Needed) -> Option<Candidate> {
        // Wholes are compared by a hash join only.
        if conditions.iter().any(|condition| self.compares_wholes(condition)) {
            return None;
        }
        let columns = self.read_columns(table, conditions, needed);
        self.candidates(table, conditions, &columns, None)
            .into_iter()
            .filter(|candidate| candidate.uses_left)
            .min_by(|a, b| a.cost.total_cmp(&b.cost))
    }

    /// An equality by which a hash join may be made. What compares large values apart from their rows has no other way.
    fn may_hash(&self, condition: &Expr) -> bool {
        is_equality(condition) && (self.switches.hash_join || self.compares_wholes(condition))
    }

    fn compares_wholes(&self, condition: &Expr) -> bool {
        let mut any = false;
        condition
            .each_column(&mut |id| any |= self.bound.columns.get(id.0 as usize).is_some_and(|c| c.is_whole));
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
        let leaf = match right {
            Logical::Scan { table } => Some((*table, Vec::new())),
            Logical::Filter { input, conditions } => match **input {
                Logical::Scan { table } => Some((table, conditions.clone())),
                _ => None,
            },
            _ => None,
        };
        match leaf {
            Some((table, own)) => self.join_leaf(kind, left, table, &own, &conjuncted, needed),
            None => {
                let right = self.build(right, needed);
                self.join_nodes(kind, left, right, &conjuncted, false)
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
        self.node(Op::LoopJoin { kind, left, right, conditions, outer }, output, rows, cost)
    }

    /// Joins a table by whatever is cheapest.
    fn join_leaf(
        &mut self,
        kind: JoinKind,
        left: Node,
        table: TableIndex,
        own: &[Expr],
        joins: &[Expr],
        needed: &Needed,
    ) -> Node {
        let mut all = own.to_vec();
        all.extend_from_slice(joins);
        let lookup = if joins.is_empty() { None } else { self.lookup(table, &all, needed) };
        let whole = self.cheapest(table, own, needed);
        let right_rows = (whole.rows).max(0.01);
        let equal = joins.iter().any(|condition| self.may_hash(condition));
        let mut step = Step::Loop;
        let mut least = whole.cost + left.rows * right_rows * cost::PAIR;
        if equal {
            let cost = if kind == JoinKind::Inner {
                let small = left.rows.min(right_rows);
                whole.cost + cost::hash_join(small, left.rows.max(right_rows))
            } else {
                whole.cost + cost::hash_join(right_rows, left.rows)
            };
            if cost < least {
                (step, least) = (Step::Hash, cost);
            }
        }
        // FORCE INDEX: a scan of the table only where no forced index finds rows.
        let is_forced = self.bound.tables[table.0 as usize].force_index;
        if let Some(lookup) = &lookup
            && (is_forced || left.rows * lookup.cost < least)
        {
            step = Step::Lookup;
        }
        match (step, lookup) {
            (Step::Lookup, Some(lookup)) => self.lookup_join(kind, left, table, own, joins, &lookup, needed),
            _ => {
                let right = self.scan(table, own, needed, None).0;
                let straight = kind == JoinKind::Straight;
                self.join_nodes(kind, left, right, joins, straight)
            }
        }
    }

    fn lookup_join(
        &mut self,
        kind: JoinKind,
        left: Node,
        table: TableIndex,
        own: &[Expr],
        joins: &[Expr],
        lookup: &Candidate,
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
        let left_selectivity =
            self.conditions_selectivity(&filter) * self.conditions_selectivity(&conditions);
        let matched = left.rows * lookup.rows * left_selectivity;
        let filter = self.translate(&filter, &table_columns);
        let mut both = left.columns.clone();
        both.extend(&table_columns);
        let conditions = self.translate(&conditions, &both);
        let access = self.translate_access(lookup.access.clone(), &left.columns);
        let rows_read = lookup.rows;
        let scan = Scan { table, access, columns, locator, filter, limit: None, keyed: true, rows_read };
        let kind = if kind == JoinKind::Straight { JoinKind::Inner } else { kind };
        let rows = joined_rows(kind, left.rows, matched);
        let output =
            if matches!(kind, JoinKind::Semi | JoinKind::Anti) { left.columns.clone() } else { both };
        let cost = left.cost + left.rows * lookup.cost;
        self.node(Op::LookupJoin { kind, left: Box::new(left), scan, conditions }, output, rows, cost)
    }

    /// Hash join if there is an equality, else nested loop.
    fn join_nodes(
        &mut self,
        kind: JoinKind,
        left: Node,
        right: Node,
        conditions: &[Expr],
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
        for condition in conditions {
            match self.hash_key(condition, &left.columns, &right.columns) {
                Some(key) => keys.push(key),
                None => rest.push(condition.clone()),
            }
        }
        let matched = left.rows * right.rows * self.conditions_selectivity(conditions);
        let rows = joined_rows(kind, left.rows, matched);
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
        if !self.may_hash(condition) {
            return None;
        }
        let (function, args) = condition.as_call()?;
        let null_safe = match function {
            FunctionId::Eq => false,
            FunctionId::NullSafeEq => true,
            _ => return None,
        };
        let over = |expr: &Expr, columns: &[ColumnId]| {
            let mut any = false;
            let mut only = true;
            expr.each_column(&mut |id| {
                any = true;
                only &= columns.contains(&id);
            });
            any && only
        };
        let (a, b) = if over(&args[0], left) && over(&args[1], right) {
            (&args[0], &args[1])
        } else if over(&args[1], left) && over(&args[0], right) {
            (&args[1], &args[0])
        } else {
            return None;
        };
        if !hashes_alike(a, b) {
            return None;
        }
        Some((self.translate_one(a, left), self.translate_one(b, right), null_safe))
    }
}

/// Equal values of both have equal keys without a conversion.
fn hashes_alike(a: &Expr, b: &Expr) -> bool {
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

fn is_equality(condition: &Expr) -> bool {
    matches!(condition.kind, ExprKind::Call { function: FunctionId::Eq | FunctionId::NullSafeEq, .. })
}

fn joined_rows(kind: JoinKind, left: f64, matched: f64) -> f64 {
    match kind {
        JoinKind::Inner | JoinKind::Straight => matched,
        JoinKind::Left => matched.max(left),
        JoinKind::Semi => left * 0.5,
        JoinKind::Anti => left * 0.5,
    }
}

/// Which relations a condition reads, as bits.
fn touched(condition: &Expr, relations: &[Relation<'_>]) -> u64 {
    let mut bits = 0;
    condition.each_column(&mut |id| {
        if let Some(at) = relations.iter().position(|relation| relation.columns.contains(&id)) {
            bits |= 1 << at;
        }
    });
    bits
}

/// The relations and conditions of a chain of inner joins. Of a chain with too many relations the larger sides are relations as a whole.
fn flatten<'t>(tree: &'t Logical, out: &mut Vec<&'t Logical>, conditions: &mut Vec<Expr>) {
    if relation_count(tree) <= RELATIONS_MAX {
        flatten_all(tree, out, conditions);
    } else if let Logical::Join { left, right, conditions: own, .. } = tree {
        for side in [left, right] {
            if relation_count(side) <= RELATIONS_MAX / 2 {
                flatten_all(side, out, conditions);
            } else {
                out.push(side);
            }
        }
        own.iter().for_each(|condition| conjuncts(condition.clone(), conditions));
    } else if let Logical::Filter { input, conditions: own } = tree {
        flatten(input, out, conditions);
        own.iter().for_each(|condition| conjuncts(condition.clone(), conditions));
    } else {
        out.push(tree);
    }
}

/// How many relations [`flatten_all`] finds.
fn relation_count(tree: &Logical) -> usize {
    progress::step();
    match tree {
        Logical::Join { kind: JoinKind::Inner, left, right, .. } => {
            relation_count(left) + relation_count(right)
        }
        Logical::Filter { input, .. } if matches!(**input, Logical::Join { kind: JoinKind::Inner, .. }) => {
            relation_count(input)
        }
        _ => 1,
    }
}

fn flatten_all<'t>(tree: &'t Logical, out: &mut Vec<&'t Logical>, conditions: &mut Vec<Expr>) {
    match tree {
        Logical::Join { kind: JoinKind::Inner, left, right, conditions: own } => {
            flatten_all(left, out, conditions);
            flatten_all(right, out, conditions);
            for condition in own {
                conjuncts(condition.clone(), conditions);
            }
        }
        Logical::Filter { input, conditions: own }
            if matches!(**input, Logical::Join { kind: JoinKind::Inner, .. }) =>
        {
            flatten_all(input, out, conditions);
            for condition in own {
                conjuncts(condition.clone(), conditions);
            }
        }
        _ => out.push(tree),
    }
}
