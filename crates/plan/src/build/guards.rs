//! For which numbers of rows a plan stays the one to run ([`Guard`]).

use crate::cost;
use crate::logical::TableIndex;
use crate::physical::{Asked, GUARDS_MAX, Guard, RangePlan};

use super::Builder;
use super::access::Candidate;
use super::dives::has_parameters;

/// A plan runs for this many times the rows that it was made for, and down to this part of them, also where another one would be a little better: what
/// costs meet at is no exact number, and a plan always holds for the values it was made for.
const ROWS_FACTOR: f64 = 4.0;
/// Ranges with fewer rows are all alike to a join.
const FEW_ROWS: f64 = 64.0;

/// Between which numbers of rows in ranges the choice between ways to read a table stays as it is.
#[derive(Debug)]
pub(crate) struct Turn {
    index: usize,
    ranges: Vec<RangePlan>,
    least: f64,
    most: f64,
}

impl Builder<'_> {
    /// Notes where the choice between ways to read the only table of a statement turns, for each way whose rows parameters decide.
    /// `costs`: of all, with the sorting that they need.
    pub(super) fn note_choice(&self, table: TableIndex, all: &[Candidate], costs: &[f64], best: usize) {
        let mut turns = self.turns.borrow_mut();
        for (at, candidate) in all.iter().enumerate() {
            let (Some(index), Some(ranges)) = (candidate.access.index, parameter_ranges(candidate)) else {
                continue;
            };
            // What else its cost holds, sorting too, stays.
            let rows_at = |cost: f64| candidate.rows + (cost - costs[at]) / candidate.per_row;
            // What also depends on the values may come half the way.
            let meeting = |other: usize| match parameter_ranges(&all[other]) {
                Some(_) => (costs[at] * costs[other]).sqrt(),
                None => costs[other],
            };
            let (least, most) = if at == best {
                // Reading stops at the limit; or each row costs what it costs in the whole table.
                let beats_whole = candidate.ordered || candidate.per_row <= cost::ROW;
                let others = (0..all.len()).filter(|&other| {
                    other != best
                        && !(beats_whole && all[other].access.ranges.is_none())
                        && !self.are_alike(table, candidate, &all[other])
                });
                (0.0, rows_at(others.map(meeting).fold(f64::INFINITY, f64::min)))
            } else if self.are_alike(table, candidate, &all[best]) {
                continue;
            } else {
                (rows_at(meeting(best)), f64::INFINITY)
            };
            turns.push(Turn { index, ranges: ranges.to_vec(), least, most });
        }
    }

    /// Whether two indexes begin alike and are read in the same ranges: for any values both give the same rows.
    fn are_alike(&self, table: TableIndex, one: &Candidate, other: &Candidate) -> bool {
        let (Some(ranges), Some(index), Some(other_index)) =
            (&one.access.ranges, one.access.index, other.access.index)
        else {
            return false;
        };
        if one.access.ranges != other.access.ranges {
            return false;
        }
        let indexes = &self.bound.tables[table.0 as usize].entry.definition.indexes;
        let is_ranged = |range: &RangePlan| usize::from(range.lower.is_some() || range.upper.is_some());
        let part_count = ranges.iter().map(|range| range.equal.len() + is_ranged(range)).max().unwrap_or(0);
        let part = |index: usize, at: usize| {
            indexes[index].parts.get(at).map(|part| (part.column, part.prefix_length))
        };
        (0..part_count).all(|at| part(index, at) == part(other_index, at))
    }

    /// The guards of the plan that was built.
    pub(super) fn guards(&self) -> Vec<Guard> {
        let turns = self.turns.borrow();
        let is_choice = self.bound.tables.len() == 1;
        let mut guards = Vec::new();
        for dive in self.dives.borrow().iter() {
            let Some(rows) = dive.rows else { continue };
            if !dive.ranges.iter().any(has_parameters) {
                continue;
            }
            let table_rows = self.table_rows(dive.table);
            let (least, most) = if is_choice {
                let of_ranges = turns
                    .iter()
                    .filter(|turn| dive.asked == Asked::Index(turn.index) && turn.ranges == dive.ranges);
                of_ranges.fold((0.0, f64::INFINITY), |(least, most), turn| {
                    (turn.least.max(least), turn.most.min(most))
                })
            } else {
                (if rows <= FEW_ROWS { 0.0 } else { rows }, rows.max(FEW_ROWS) * ROWS_FACTOR)
            };
            let least = least.min(rows / ROWS_FACTOR);
            let most = most.max(rows * ROWS_FACTOR);
            let most = if most >= table_rows { f64::INFINITY } else { most };
            debug_assert!((least..=most).contains(&rows), "a plan holds for what it was made for");
            if (least > 0.0 || most < f64::INFINITY) && guards.len() < GUARDS_MAX {
                let (table, asked, ranges) = (dive.table, dive.asked, dive.ranges.clone());
                guards.push(Guard { table, asked, ranges, least, most });
            }
        }
        guards
    }
}

/// The ranges of a way to read a table, if parameters decide how many rows they hold.
fn parameter_ranges(candidate: &Candidate) -> Option<&[RangePlan]> {
    let ranges = candidate.access.ranges.as_deref()?;
    (candidate.dived && ranges.iter().any(has_parameters)).then_some(ranges)
}
