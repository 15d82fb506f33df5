//! The logical passes: the same rows with less work. Each has a name and can be switched off.
//!
//! | pass | what it does |
//! | --- | --- |
//! | `semijoin` | EXISTS and IN in WHERE become semi joins, NOT EXISTS an anti join, where no value can be NULL also NOT IN |
//! | `apply` | every other subquery becomes a column computed below the expression (always on) |
//! | `or_factors` | conditions that all branches of an OR have in common are taken out of it; what it says of one table alone is met before a join |
//! | `outer_to_inner` | a LEFT JOIN whose right side a condition needs becomes an inner join; a rule of `pushdown`, which alone knows the conditions that arrive at a join |
//! | `pushdown` | conditions move to the rows they are about, through projections, joins, groups and unions |
//! | `parts` | a large column that is asked only for its length, its beginning or whether it is NULL gives that part; one that is only carried, compared and sent to the client is read when it is sent |
//!
//! Before them `averages` gives what computes with AVG of exact numbers all digits of the quotient.
//! After them `own_scale` takes casts away from decimals that are only shown, and adds the texts of numbers that are not theirs.
//!
//! They run in this order, each over every tree of the statement. Constant parts of expressions are computed once per
//! execution by the compiled program, so there is no folding here beyond conditions that are plainly TRUE or FALSE.
//! What binding knows of constants ([`crate::bind::Session::constant`]) is for types and descriptions.
//! Unneeded columns are pruned when the physical plan is built.
//!
//! `tests/passes/*.script` show each pass's input and output for many queries.

mod apply;
mod averages;
mod or_factors;
mod own_scale;
mod parts;
mod pushdown;
mod references;
mod semijoin;

use crate::document::{Document, texts};
use crate::expr::{ColumnId, Expr};
use crate::logical::{Bound, BoundAssignment, BoundKind, BoundUpdate, InsertRows, Logical};
use crate::trace;

pub(crate) use or_factors::{implied, is_quiet};
pub(crate) use parts::can_be_large;

/// Which passes run, and which operators may be chosen. All, unless a test or a session says otherwise.
#[derive(Clone, Copy, Debug)]
pub struct Switches {
    /// `semijoin`.
    pub semijoin: bool,
    /// `or_factors`.
    pub or_factors: bool,
    /// `outer_to_inner`.
    pub outer_to_inner: bool,
    /// `pushdown`.
    pub pushdown: bool,
    /// `parts`.
    pub parts: bool,
    /// Joins may be hash joins; else they look rows up by an index or compare all pairs.
    pub hash_join: bool,
    /// What is looked for among the rows of a subquery is found in a hash table; else it is compared with each.
    pub member_sets: bool,
    /// Groups may be made in the order of an index, one after the other; else a hash table finds them.
    pub group_order: bool,
    /// Comparisons with constants are made on rows as they are stored, before their columns are read.
    pub early_conditions: bool,
    /// An aggregate that a subquery computes for each row is always a join with groups; else where that costs less.
    pub always_groups: bool,
    /// Indexes that are not visible may be chosen, too.
    pub invisible_indexes: bool,
}

impl Default for Switches {
    fn default() -> Switches {
        Switches {
            semijoin: true,
            or_factors: true,
            outer_to_inner: true,
            pushdown: true,
            parts: true,
            hash_join: true,
            member_sets: true,
            group_order: true,
            early_conditions: true,
            always_groups: false,
            invisible_indexes: false,
        }
    }
}

/// A pass, in the order in which they run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(missing_docs, reason = "the module's table says what they do")]
pub enum Pass {
    Semijoin,
    Apply,
    OrFactors,
    Pushdown,
    Parts,
}

impl Pass {
    /// All, in order.
    pub const ALL: [Pass; 5] = [Pass::Semijoin, Pass::Apply, Pass::OrFactors, Pass::Pushdown, Pass::Parts];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Pass::Semijoin => "semijoin",
            Pass::Apply => "apply",
            Pass::OrFactors => "or_factors",
            Pass::Pushdown => "pushdown",
            Pass::Parts => "parts",
        }
    }

    /// Whether it runs.
    #[must_use]
    pub fn is_on(self, switches: Switches) -> bool {
        match self {
            Pass::Semijoin => switches.semijoin,
            Pass::Apply => true,
            Pass::OrFactors => switches.or_factors,
            Pass::Pushdown => switches.pushdown,
            Pass::Parts => switches.parts,
        }
    }

    /// Whether the statement has anything for it to do, as far as that is known at once.
    fn applies_to(self, bound: &Bound) -> bool {
        match self {
            Pass::Semijoin | Pass::Apply => bound.has_subqueries,
            Pass::OrFactors | Pass::Pushdown => true,
            Pass::Parts => parts::has_large_columns(bound),
        }
    }

    /// Runs it over every tree of the statement, whether its own switch is on or not.
    pub fn run(self, bound: &mut Bound, switches: Switches) {
        let switches = Switches { semijoin: true, ..switches };
        with_kind(bound, |bound, kind| self.run_kind(bound, kind, switches));
    }

    fn run_kind(self, bound: &mut Bound, kind: &mut BoundKind, switches: Switches) {
        match kind {
            BoundKind::Query(tree) | BoundKind::Do(tree) => self.run_tree(bound, tree, switches),
            BoundKind::Insert(insert) => {
                if let InsertRows::Query(tree, _) = &mut insert.rows {
                    self.run_tree(bound, tree, switches);
                }
                for query in &mut insert.row_queries {
                    self.run_tree(bound, &mut query.tree, switches);
                }
            }
            BoundKind::Update(update) => {
                let changing = changing_columns(bound, update);
                for value in update.assignments.iter_mut().filter_map(|assignment| assignment.value.as_mut())
                {
                    self.run_assigned(bound, &mut update.source, value, &changing, switches);
                }
                self.run_tree(bound, &mut update.source, switches);
                for query in &mut update.row_queries {
                    self.run_tree(bound, &mut query.tree, switches);
                }
            }
            BoundKind::Delete(delete) => self.run_tree(bound, &mut delete.source, switches),
        }
        if self == Pass::Parts {
            make_references(bound, kind);
        }
    }

    /// Runs it and tells of what it made, if it changed anything.
    #[cold]
    fn run_traced(self, bound: &mut Bound, kind: &mut BoundKind, switches: Switches) {
        let text = |bound: &mut Bound, kind: &mut BoundKind| {
            std::mem::swap(&mut bound.kind, kind);
            let text = bound.text();
            std::mem::swap(&mut bound.kind, kind);
            text
        };
        let before = text(bound, kind);
        self.run_kind(bound, kind, switches);
        let after = text(bound, kind);
        if before != after {
            let what = vec![("name", self.name().into()), ("logical_plan", texts(after.lines()))];
            trace::add(|| vec![("transformation", Document::Object(what))]);
        }
    }

    fn run_tree(self, bound: &mut Bound, tree: &mut Logical, switches: Switches) {
        match self {
            Pass::Semijoin => semijoin::run(bound, tree, switches.semijoin),
            Pass::Apply => apply::run(bound, tree),
            Pass::OrFactors => or_factors::run(bound, tree),
            Pass::Pushdown => pushdown::run(bound, tree, switches.outer_to_inner),
            Pass::Parts => parts::run(bound, tree),
        }
    }

    /// A value that UPDATE assigns may hold subqueries: they become columns of the rows it looks at.
    fn run_assigned(
        self,
        bound: &mut Bound,
        source: &mut Logical,
        value: &mut Expr,
        changing: &[ColumnId],
        switches: Switches,
    ) {
        match self {
            Pass::Semijoin => semijoin::in_expr(bound, value, switches.semijoin),
            Pass::Apply => *source = apply::extract_assigned(bound, take(source), value, changing),
            // An assignment sees what the ones before it set: its columns are those of the new row.
            Pass::OrFactors | Pass::Pushdown | Pass::Parts => {}
        }
    }
}

/// Runs the passes that are on.
pub fn run(bound: &mut Bound, switches: Switches) {
    with_kind(bound, |bound, kind| {
        if !bound.averages.is_empty() {
            averages::run(bound, kind);
        }
        let is_traced = trace::features().is_some();
        for pass in Pass::ALL {
            let is_hinted = pass == Pass::Semijoin && bound.hints.ask_for_joins();
            if (pass.is_on(switches) || is_hinted) && pass.applies_to(bound) {
                match is_traced {
                    false => pass.run_kind(bound, kind, switches),
                    true => pass.run_traced(bound, kind, switches),
                }
            }
        }
        if let BoundKind::Query(tree) = kind {
            own_scale::run(bound, tree);
        }
    });
}

/// Calls `change` with the trees of a statement beside the rest: the columns that a pass makes are noted in the statement whose trees it
/// changes.
fn with_kind(bound: &mut Bound, change: impl FnOnce(&mut Bound, &mut BoundKind)) {
    let mut kind = std::mem::replace(&mut bound.kind, BoundKind::Do(Box::new(Logical::OneRow)));
    change(bound, &mut kind);
    bound.kind = kind;
}

/// The second half of `parts`: what of a statement's large columns is only carried.
fn make_references(bound: &mut Bound, kind: &mut BoundKind) {
    let mut read = Vec::new();
    let reads = |assignments: &[BoundAssignment], read: &mut Vec<ColumnId>| {
        let values = assignments.iter().filter_map(|assignment| assignment.value.as_ref());
        values.for_each(|value| value.each_column(&mut |id| read.push(id)));
    };
    match kind {
        BoundKind::Query(tree) => {
            let mut given: Vec<ColumnId> = bound.output.iter().map(|column| column.id).collect();
            references::run(bound, tree, &mut given, &[]);
            bound.output.iter_mut().zip(given).for_each(|(column, id)| column.id = id);
        }
        BoundKind::Do(tree) => {
            let read = tree.output(&bound.tables);
            references::run(bound, tree, &mut [], &read);
        }
        BoundKind::Insert(insert) => {
            reads(&insert.on_duplicate, &mut read);
            for query in &mut insert.row_queries {
                references::run(bound, &mut query.tree, &mut [], &[query.column]);
            }
            if let InsertRows::Query(tree, columns) = &mut insert.rows {
                // A row that is replaced or changed may be one that a later row refers to; a view looks at rows.
                let is_checked = insert.view.as_ref().is_some_and(|view| view.check.is_some());
                if insert.replace || !insert.on_duplicate.is_empty() || is_checked {
                    read.extend(columns.iter());
                }
                references::run(bound, tree, columns, &read);
            }
        }
        BoundKind::Update(update) => {
            reads(&update.assignments, &mut read);
            for (_, check) in &update.checks {
                check.conditions.iter().for_each(|condition| condition.each_column(&mut |id| read.push(id)));
            }
            for query in &mut update.row_queries {
                crate::rewrite::free_columns(&query.tree, &bound.tables, &mut read);
                references::run(bound, &mut query.tree, &mut [], &[query.column]);
            }
            references::run(bound, &mut update.source, &mut [], &read);
        }
        BoundKind::Delete(delete) => references::run(bound, &mut delete.source, &mut [], &[]),
    }
}

/// The columns that an UPDATE sets, and those that follow from them: an assignment may read them as they are after it.
fn changing_columns(bound: &Bound, update: &BoundUpdate) -> Vec<ColumnId> {
    let assigned = update.assignments.iter().map(|assignment| (assignment.table, assignment.column));
    let mut columns: Vec<ColumnId> =
        assigned.map(|(table, ordinal)| bound.tables[table.0 as usize].column(ordinal)).collect();
    for table in &update.targets {
        let table = &bound.tables[table.0 as usize];
        let definitions = table.entry.definition.columns.iter().enumerate();
        let generated = definitions.filter(|(_, column)| column.generated.is_some());
        columns.extend(generated.map(|(ordinal, _)| table.column(ordinal)));
    }
    columns
}

/// Takes a tree out of its place.
fn take(tree: &mut Logical) -> Logical {
    std::mem::replace(tree, Logical::OneRow)
}
