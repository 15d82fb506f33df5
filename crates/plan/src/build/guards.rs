//! For which numbers of rows a plan stays the one to run ([`Guard`]).

use crate::cost;
use crate::physical::{GUARDS_MAX, Guard, RangePlan};

use super::Builder;
use super::access::Candidate;

/// Of a plan that is more than the choice between ways to read a table: a range may hold so many times as many rows, or as few.
const ROWS_FACTOR: f64 = 4.0;
/// Ranges with fewer rows are all alike.
const FEW_ROWS: f64 = 64.0;

/// Between which numbers of rows in a range the choice between ways to read a table stays as it is.
#[derive(Debug)]
pub(crate) struct Turn {
    index: usize,
    range: RangePlan,
    least: f64,
    most: f64,
}

impl Builder<'_> {
    /// Notes where the choice between ways to read the only table of a statement turns, for each way whose rows parameters decide.
    /// `costs`: of all, with the sorting that they need.
    pub(super) fn note_choice(&self, all: &[Candidate], costs: &[f64], best: usize) {
        let mut turns = self.turns.borrow_mut();
        for (at, candidate) in all.iter().enumerate() {
            let (Some(index), Some(range)) = (candidate.access.index, parameter_range(candidate)) else {
                continue;
            };
            let fixed = candidate.cost - candidate.rows * candidate.per_row;
            let rows_at = |cost: f64| (cost - fixed) / candidate.per_row;
            // What also depends on the values may come half the way.
            let meeting = |other: usize| match parameter_range(&all[other]) {
                Some(_) => (candidate.cost * costs[other]).sqrt(),
                None => costs[other],
            };
            let (least, most) = if at != best {
                (rows_at(meeting(best)), f64::INFINITY)
            } else if candidate.ordered || candidate.per_row <= cost::ROW {
                // Reading stops at the limit; or each row costs what it costs in the whole table.
                (0.0, f64::INFINITY)
            } else {
                let others = (0..all.len()).filter(|&other| other != best);
                (0.0, rows_at(others.map(meeting).fold(f64::INFINITY, f64::min)))
            };
            turns.push(Turn { index, range: range.clone(), least, most });
        }
    }

    /// The guards of the plan that was built.
    pub(super) fn guards(&self) -> Vec<Guard> {
        let turns = self.turns.borrow();
        let is_choice = self.bound.tables.len() == 1;
        let mut guards = Vec::new();
        for dive in self.dives.borrow().iter() {
            let ([range], Some(rows)) = (&dive.ranges[..], dive.rows) else { continue };
            if !has_parameter(range) {
                continue;
            }
            let table_rows = self.table_rows(dive.table);
            let (least, most) = if is_choice {
                let of_range = turns.iter().filter(|turn| turn.index == dive.index && turn.range == *range);
                of_range.fold((0.0, f64::INFINITY), |(least, most), turn| {
                    (turn.least.max(least), turn.most.min(most))
                })
            } else {
                let least = if rows <= FEW_ROWS { 0.0 } else { rows / ROWS_FACTOR };
                (least, rows.max(FEW_ROWS) * ROWS_FACTOR)
            };
            let most = if most >= table_rows { f64::INFINITY } else { most };
            if (least > 0.0 || most < f64::INFINITY) && guards.len() < GUARDS_MAX {
                let (table, index, range) = (dive.table, dive.index, range.clone());
                guards.push(Guard { table, index, range, least, most });
            }
        }
        guards
    }
}

/// The range of a way to read a table, if it is one and parameters decide how many rows it holds.
fn parameter_range(candidate: &Candidate) -> Option<&RangePlan> {
    match &candidate.access.ranges.as_ref()?[..] {
        [range] if candidate.dived && has_parameter(range) => Some(range),
        _ => None,
    }
}

fn has_parameter(range: &RangePlan) -> bool {
    super::dives::exprs_of(range).any(super::dives::has_parameter)
}
