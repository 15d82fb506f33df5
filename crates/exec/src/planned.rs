//! Values of constants for the planner's estimates: ranges of indexes as the execution will find them.

use access::KeyBytes;
use catalog::{IndexPart, KeyBound, KeyRange, TableDefinition};
use plan::constants::{ColumnRange, Constants, RangeKeys};
use plan::physical::RangePlan;
use plan::{Expr, ExprKind};
use types::temporal::DateTime;
use types::temporal::zone::TimeZone;
use types::{Batch, Cell, Column, TypeKind, Value, ValueRef};

use crate::expr::{EvalContext, EvalSettings, NoSession, Program, Warnings};
use crate::key::{EqualParts, IndexKeys, bytes_range, equal_parts, value_range};

/// Computes constants with a session's settings and the parameters of the run that comes next.
#[derive(Clone, Copy, Debug)]
pub struct PlannedConstants<'a> {
    /// How expressions are evaluated.
    pub settings: &'a EvalSettings,
    /// The parameters, if they are known.
    pub params: &'a [ValueRef<'a>],
}

impl PlannedConstants<'_> {
    /// The values of constants; nothing if one is not known, takes long, or is an error, which is the execution's to give.
    fn values(&self, exprs: &[Expr]) -> Option<Vec<Column>> {
        let is_known = |expr: &Expr| match expr.kind {
            ExprKind::Literal(_) => true,
            ExprKind::Param(ordinal) => (ordinal as usize) < self.params.len(),
            _ => expr.is_foldable_with(self.params.len()),
        };
        if !exprs.iter().all(is_known) {
            return None;
        }
        let program = Program::compile(exprs).ok()?;
        let mut warnings = Warnings::new(0);
        let mut session = NoSession;
        let mut context = EvalContext {
            settings: self.settings,
            params: self.params,
            outer: Vec::new(),
            session: &mut session,
            warnings: &mut warnings,
            snapshot: None,
            transaction: None,
        };
        let mut out: Vec<Column> = exprs.iter().map(|expr| Column::new(expr.data_type.physical())).collect();
        let row = Batch { row_count: 1, ..Batch::default() };
        program.eval(&mut program.scratch(), &row, &mut context, &mut out).ok()?;
        Some(out)
    }
}

impl Constants for PlannedConstants<'_> {
    fn range_keys(&self, table: &TableDefinition, index: usize, range: &RangePlan) -> RangeKeys {
        let ends = || range.lower.iter().chain(&range.upper);
        // Where texts that begin alike end is known in bytes only.
        if ends().any(|end| end.like_prefix) {
            return RangeKeys::Unknown;
        }
        let Some(values) = self.values(&exprs_of(range)) else { return RangeKeys::Unknown };
        let mode = self.settings.date_mode();
        let parts = &table.indexes[index].parts;
        let keys = IndexKeys { definition: table, parts, zone: &self.settings.time_zone, mode };
        match value_range(keys, range, &values, 0) {
            Some(mut keys) => {
                to_utc(table, index, &mut keys, &self.settings.time_zone);
                RangeKeys::Keys(keys)
            }
            None => RangeKeys::Nothing,
        }
    }

    fn column_range(
        &self,
        table: &TableDefinition,
        column: usize,
        bytes: &dyn KeyBytes,
        range: &RangePlan,
    ) -> ColumnRange {
        let Some(values) = self.values(&exprs_of(range)) else { return ColumnRange::Unknown };
        let mode = self.settings.date_mode();
        let parts = &[IndexPart { column, prefix_length: None, descending: false }];
        let keys = IndexKeys { definition: table, parts, zone: &self.settings.time_zone, mode };
        if range.equal.is_empty() {
            let range = bytes_range(keys, bytes, range, &values, 0);
            return range.map_or(ColumnRange::Nothing, ColumnRange::Range);
        }
        match equal_parts(keys, bytes, range, &values, 0) {
            EqualParts::Known(_) if values[0].cell(0) == Cell::Null => ColumnRange::Null,
            EqualParts::Known(key) => ColumnRange::Equal(key),
            EqualParts::KnownTo(_) => ColumnRange::Unknown,
            EqualParts::Nothing => ColumnRange::Nothing,
        }
    }
}

/// The expressions of a range: the equal ones, then its ends.
fn exprs_of(range: &RangePlan) -> Vec<Expr> {
    let ends = range.lower.iter().chain(&range.upper).map(|end| &end.expr);
    range.equal.iter().map(|value| &value.expr).chain(ends).cloned().collect()
}

/// Statistics know TIMESTAMPs in UTC only.
fn to_utc(table: &TableDefinition, index: usize, keys: &mut KeyRange, zone: &TimeZone) {
    let parts = &table.indexes[index].parts;
    for bound in [&mut keys.lower, &mut keys.upper] {
        let (KeyBound::Inclusive(values) | KeyBound::Exclusive(values)) = bound else { continue };
        for (value, part) in values.iter_mut().zip(parts) {
            let is_moment = table.columns[part.column].data_type.kind == TypeKind::Timestamp;
            if let Value::DateTime(local) = value
                && is_moment
                && *local != DateTime::ZERO
            {
                // The last moments of the calendar have none of their own in UTC.
                let utc = TimeZone::UTC.from_utc(zone.to_utc(*local));
                *local = if utc == DateTime::ZERO { *local } else { utc };
            }
        }
    }
}
