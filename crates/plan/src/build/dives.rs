//! How many rows ranges with known ends hold: asked of an index, by a few descents each, else of what was found out about the column.
//!
//! Every range of constants is asked for, whatever the types of its ends, also where the index is not read in the end: what a condition
//! lets through decides about joins too. Each is asked once a plan. Parameters have the values of the run that the plan is made for; where these
//! decide, the plan has guards ([`guards`](super::guards)). Equalities with parameters are not asked for: they are estimated for all values
//! alike, so that the plans of most statements need no guards, unless the column is known to be skewed. Lists of equalities as long as `eq_range_index_dive_limit` are not asked for,
//! as in MySQL.

use crate::constants;
use crate::expr::{ColumnId, Expr, ExprKind};
use crate::function::FunctionId;
use crate::logical::TableIndex;
use crate::physical::{Asked, KeyValue, RangeEnd, RangePlan};

use super::Builder;
use super::access::{Limit, Sarg};

/// Most lists of ranges that are asked for while one plan is made.
const DIVES_MAX: usize = 256;
/// Longest list of values that are looked for among those that were found out about a column.
const LISTED_MAX: usize = 4096;
/// Longest list with parameters that is asked for: a guard asks for all of it before each run.
const GUARDED_MAX: usize = 16;

/// The answer for a list of ranges.
#[derive(Debug)]
pub(crate) struct Dive {
    pub(super) table: TableIndex,
    pub(super) asked: Asked,
    pub(super) ranges: Vec<RangePlan>,
    /// None: an end is not known.
    pub(super) rows: Option<f64>,
}

impl Builder<'_> {
    /// Rows in ranges of an index together, if all ends are known.
    pub(crate) fn dived_rows(&self, table: TableIndex, index: usize, ranges: &[RangePlan]) -> Option<f64> {
        self.rows_asked(table, Asked::Index(index), ranges)
    }

    /// Rows in ranges together, if all ends are known, and who is asked knows.
    pub(super) fn rows_asked(&self, table: TableIndex, asked: Asked, ranges: &[RangePlan]) -> Option<f64> {
        let is_guardable = ranges.len() <= GUARDED_MAX || !ranges.iter().any(has_parameters);
        if !is_guardable || !ranges.iter().all(|range| self.may_be_known(table, asked, range)) {
            return None;
        }
        if let Some(rows) = self.answer(table, asked, ranges) {
            return rows;
        }
        if self.dives.borrow().len() >= DIVES_MAX {
            return None;
        }
        let rows = self.dive(table, asked, ranges);
        // That a list is too long is as soon found as the list itself.
        if rows.is_some() || ranges.len() == 1 {
            self.dives.borrow_mut().push(Dive { table, asked, ranges: ranges.to_vec(), rows });
        }
        rows
    }

    /// Whether the index was asked for these ranges, and knew.
    pub(crate) fn is_dived(&self, table: TableIndex, index: usize, ranges: &[RangePlan]) -> bool {
        self.answer(table, Asked::Index(index), ranges).flatten().is_some()
    }

    /// What was answered for these ranges, if it was asked.
    fn answer(&self, table: TableIndex, asked: Asked, ranges: &[RangePlan]) -> Option<Option<f64>> {
        let known = self.dives.borrow();
        let is_it = |dive: &&Dive| dive.table == table && dive.asked == asked && dive.ranges == ranges;
        known.iter().find(is_it).map(|dive| dive.rows)
    }

    fn dive(&self, table: TableIndex, asked: Asked, ranges: &[RangePlan]) -> Option<f64> {
        let are_equalities = ranges.iter().all(|range| range.lower.is_none() && range.upper.is_none());
        if are_equalities && matches!(asked, Asked::Index(_)) && self.is_long(ranges.len()) {
            return None;
        }
        let entry = &self.bound.tables[table.0 as usize].entry;
        constants::rows_in(self.constants, entry, asked, ranges)
    }

    /// A list of equalities that is too long to be asked for.
    fn is_long(&self, equality_count: usize) -> bool {
        self.dive_limit != 0 && equality_count >= self.dive_limit
    }

    /// Share of a table's rows that meet what the conditions say of one column against constants: by an index that begins with it, else by what was
    /// found out about its values. Sets `used` for the conditions that it speaks of; keeps in `known` what all of them say of a table. None: no
    /// such condition, or nobody knows.
    pub(super) fn known_share(
        &self,
        conditions: &[Expr],
        at: usize,
        used: &mut [bool],
        known: &mut Vec<(TableIndex, Vec<Sarg>)>,
    ) -> Option<f64> {
        let column = only_column(&conditions[at])?;
        let (table, ordinal) = self.bound.columns.get(column.0 as usize)?.origin?;
        let bound = self.bound.tables.get(table.0 as usize)?;
        if bound.ordinal(column)? != ordinal as usize {
            return None;
        }
        let starts_with_it = |index: &&catalog::IndexDefinition| {
            index.parts[0].column == ordinal as usize && index.parts[0].prefix_length.is_none()
        };
        let index = bound.entry.definition.indexes.iter().position(|index| starts_with_it(&index));
        if index.is_none() && self.collected(table).is_none() {
            return None;
        }
        if self.is_open_equality(conditions, at, column, table, ordinal) {
            return None;
        }
        let of_column = self.sargs_of(table, conditions, known).iter();
        let sargs: Vec<&Sarg> =
            of_column.filter(|sarg| sarg.column == ordinal as usize && !used[sarg.condition]).collect();
        if !sargs.iter().any(|sarg| sarg.condition == at) {
            return None;
        }
        let knows = |asked| {
            let is_skewed = self.is_skewed(table, asked);
            move |list: &[Expr]| is_skewed || !list.iter().any(has_parameter)
        };
        let by_index = index.and_then(|index| {
            let known = knows(Asked::Index(index));
            let (ranges, of) = ranges_of(&sargs, |list| !self.is_long(list.len()) && known(list))?;
            Some((self.dived_rows(table, index, &ranges)?, of))
        });
        let by_statistics = || {
            self.collected(table)?;
            let asked = Asked::Column(ordinal as usize);
            let known = knows(asked);
            let (ranges, of) = ranges_of(&sargs, |list| list.len() <= LISTED_MAX && known(list))?;
            Some((self.rows_asked(table, asked, &ranges)?, of))
        };
        let (rows, of) = by_index.or_else(by_statistics)?;
        of.into_iter().for_each(|condition| used[condition] = true);
        Some((rows / self.table_rows(table)).min(1.0))
    }

    /// The condition is an equality with a parameter that is estimated for all values alike, and no other one speaks of its column: nobody is
    /// asked for it. Most conditions of small statements are of this kind.
    fn is_open_equality(
        &self,
        conditions: &[Expr],
        at: usize,
        column: ColumnId,
        table: TableIndex,
        ordinal: u32,
    ) -> bool {
        let is_equality =
            matches!(conditions[at].as_call(), Some((FunctionId::Eq | FunctionId::NullSafeEq, _)));
        is_equality
            && has_parameter(&conditions[at])
            && !self.is_skewed(table, Asked::Column(ordinal as usize))
            && conditions.iter().enumerate().all(|(other, condition)| {
                other == at || !condition.any(&mut |node| node.as_column() == Some(column))
            })
    }

    /// The range is the same for each row, and one of constants or between parameters, or an equality with a parameter where it matters with which
    /// value.
    fn may_be_known(&self, table: TableIndex, asked: Asked, range: &RangePlan) -> bool {
        let is_equality = range.lower.is_none() && range.upper.is_none();
        let of = || exprs_of(range);
        of().all(Expr::is_constant)
            && (!is_equality || !of().any(has_parameter) || self.is_skewed(table, asked))
    }

    fn is_skewed(&self, table: TableIndex, asked: Asked) -> bool {
        let column = match asked {
            Asked::Column(column) => column,
            Asked::Index(index) => {
                self.bound.tables[table.0 as usize].entry.definition.indexes[index].parts[0].column
            }
        };
        self.collected(table).is_some_and(|collected| {
            collected.column(column).is_some_and(|of| of.is_skewed(collected.row_count))
        })
    }

    /// What conditions say of single columns of a table; kept in `known`.
    pub(super) fn sargs_of<'k>(
        &self,
        table: TableIndex,
        conditions: &[Expr],
        known: &'k mut Vec<(TableIndex, Vec<Sarg>)>,
    ) -> &'k [Sarg] {
        let place = known.iter().position(|(of, _)| *of == table).unwrap_or_else(|| {
            known.push((table, self.sargs(&self.bound.tables[table.0 as usize], conditions)));
            known.len() - 1
        });
        &known[place].1
    }
}

/// The column, if a condition reads only one.
fn only_column(condition: &Expr) -> Option<ColumnId> {
    let (mut column, mut only) = (None, true);
    condition.each_column(&mut |id| only &= *column.get_or_insert(id) == id);
    column.filter(|_| only)
}

/// The ranges that conditions on one column mean together, and which conditions these are. `may_ask`: whether the index is asked for a
/// list of equalities.
fn ranges_of(sargs: &[&Sarg], may_ask: impl Fn(&[Expr]) -> bool) -> Option<(Vec<RangePlan>, Vec<usize>)> {
    let equal = |expr: &Expr, null_safe: bool| RangePlan {
        equal: vec![KeyValue { expr: expr.clone(), null_safe }],
        ..RangePlan::default()
    };
    for sarg in sargs {
        match &sarg.limit {
            Limit::Equal { expr, null_safe } => {
                return Some((vec![equal(expr, *null_safe)], vec![sarg.condition]));
            }
            Limit::In(list) if !may_ask(list) => return None,
            Limit::In(list) => {
                return Some((list.iter().map(|expr| equal(expr, false)).collect(), vec![sarg.condition]));
            }
            Limit::Ranges(_) => {}
        }
    }
    let mut range = RangePlan::default();
    let mut of = Vec::new();
    let fits = |own: &Option<RangeEnd>, end: &Option<RangeEnd>| own.is_none() || end.is_none();
    for sarg in sargs {
        let Limit::Ranges(parts) = &sarg.limit else { continue };
        match &parts[..] {
            [(lower, upper)] if fits(&range.lower, lower) && fits(&range.upper, upper) => {
                range.lower = range.lower.or_else(|| lower.clone());
                range.upper = range.upper.or_else(|| upper.clone());
                of.push(sarg.condition);
            }
            _ => {}
        }
    }
    if !of.is_empty() {
        return Some((vec![range], of));
    }
    let several = sargs.iter().find_map(|sarg| match &sarg.limit {
        Limit::Ranges(parts) => Some((parts, sarg.condition)),
        _ => None,
    });
    let (parts, condition) = several?;
    let range = |(lower, upper): &(Option<RangeEnd>, Option<RangeEnd>)| RangePlan {
        equal: Vec::new(),
        lower: lower.clone(),
        upper: upper.clone(),
    };
    Some((parts.iter().map(range).collect(), vec![condition]))
}

/// The exprs of a range, its equal ones first.
fn exprs_of(range: &RangePlan) -> impl Iterator<Item = &Expr> {
    let ends = range.lower.iter().chain(&range.upper).map(|end| &end.expr);
    range.equal.iter().map(|value| &value.expr).chain(ends)
}

/// Parameters decide how many rows it holds.
pub(super) fn has_parameters(range: &RangePlan) -> bool {
    exprs_of(range).any(has_parameter)
}

fn has_parameter(expr: &Expr) -> bool {
    expr.any(&mut |node| matches!(node.kind, ExprKind::Param(_)))
}
