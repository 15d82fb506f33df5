//! Values on their way into columns: conversion, defaults, NOT NULL, with MySQL's warnings and errors.

use catalog::{ColumnDefault, StoredValue, TableDefinition};
use service::error::{Diagnostic, Level, SqlError};
use types::convert::{Severity, StoreOptions};
use types::temporal::DateTime;
use types::{Cell, Column, DataType, Physical, TypeKind, Value};

use crate::context::{ExecContext, coded};
use crate::expr::{SqlResult, sql_mode};

/// How one statement stores values.
pub(super) struct Storing {
    /// Strict mode and no IGNORE: a value that does not fit is an error.
    pub(super) strict: bool,
    /// IGNORE was written.
    pub(super) ignore: bool,
    /// Text of the statement's moment in the session's zone, packed with microseconds.
    now: DateTime,
}

impl Storing {
    pub(super) fn new(ctx: &ExecContext<'_>, ignore: bool) -> Storing {
        let settings = ctx.eval.settings;
        let strict = settings.has(sql_mode::STRICT) && !ignore;
        Storing { strict, ignore, now: settings.time_zone.from_utc(settings.now_utc_micros) }
    }

    /// Stores `cell` into column `ordinal`: appends what it becomes to `out`.
    pub(super) fn store(
        &self,
        definition: &TableDefinition,
        ordinal: usize,
        cell: Cell<'_>,
        from: &DataType,
        row: u64,
        out: &mut Column,
        ctx: &mut ExecContext<'_>,
    ) -> SqlResult<()> {
        let column = &definition.columns[ordinal];
        let to = &column.data_type;
        // The usual case without a detour: an integer that fits.
        if let Cell::Int(value) = cell
            && from.is_integer()
            && to.integer_bytes().is_some()
            && from.kind != TypeKind::Bit
        {
            let wide = if from.unsigned { i128::from(value as u64) } else { i128::from(value) };
            let (least, largest) = types::convert::integer_range(to);
            if (least..=largest).contains(&wide) {
                out.push_int(value);
                return Ok(());
            }
        }
        let options = StoreOptions {
            date_mode: ctx.eval.settings.date_mode(),
            truncate_fraction: ctx.eval.settings.has(sql_mode::TIME_TRUNCATE_FRACTIONAL),
            time_zone: &ctx.eval.settings.time_zone,
            today: self.now.date_part(),
        };
        let Some(issue) = types::convert::store(cell, from, to, &options, out) else { return Ok(()) };
        let report = issue.report(self.strict, &definition.name, &column.name, row);
        if report.severity == Severity::Error || issue.is_fatal() && !self.ignore {
            return Err(coded(report.number, &report.message));
        }
        let level = if report.severity == Severity::Note { Level::Note } else { Level::Warning };
        ctx.eval.warnings.push(diagnostic(level, report.number, &report.message));
        Ok(())
    }

    /// Appends the default of column `ordinal`. `None` in the answer: there is none that is a constant.
    pub(super) fn store_default(
        &self,
        definition: &TableDefinition,
        ordinal: usize,
        out: &mut Column,
        ctx: &mut ExecContext<'_>,
    ) -> SqlResult<()> {
        let column = &definition.columns[ordinal];
        match &column.default {
            ColumnDefault::Null => out.push_null(),
            ColumnDefault::Literal { value, .. } => push_stored(value, &column.data_type, out, ctx),
            ColumnDefault::CurrentTimestamp => self.push_now(&column.data_type, out),
            ColumnDefault::Expression(_) => out.push_null(),
            ColumnDefault::None if column.auto_increment => out.push_int(0),
            ColumnDefault::None if column.nullable => out.push_null(),
            ColumnDefault::None if column.data_type.kind == TypeKind::Enum && !self.strict => out.push_int(1),
            // An ENUM's default is its first member, in strict mode too.
            ColumnDefault::None if column.data_type.kind == TypeKind::Enum => out.push_int(1),
            ColumnDefault::None => {
                let message = format!("Field '{}' doesn't have a default value", column.name);
                if self.strict {
                    return Err(coded(1364, &message));
                }
                ctx.eval.warnings.push(diagnostic(Level::Warning, 1364, &message));
                push_implicit(&column.data_type, out);
            }
        }
        Ok(())
    }

    /// The statement's moment as a value of a temporal column.
    pub(super) fn push_now(&self, data_type: &DataType, out: &mut Column) {
        let value = self.now.truncate(data_type.scale);
        let value = if data_type.kind == TypeKind::Date { value.date_part() } else { value };
        out.push_int(value.pack());
    }

    /// 1048 for a NULL in a NOT NULL column; where it is only a warning the column gets its implicit default.
    ///
    /// `lenient`: several rows are inserted, or IGNORE.
    pub(super) fn check_null(
        &self,
        definition: &TableDefinition,
        ordinal: usize,
        column: &mut Column,
        row: usize,
        lenient: bool,
        ctx: &mut ExecContext<'_>,
    ) -> SqlResult<()> {
        let target = &definition.columns[ordinal];
        if target.nullable || !column.is_null(row) {
            return Ok(());
        }
        let message = format!("Column '{}' cannot be null", target.name);
        if self.strict || !(lenient || self.ignore) {
            return Err(coded(1048, &message));
        }
        ctx.eval.warnings.push(diagnostic(Level::Warning, 1048, &message));
        let mut implicit = Column::new(column.physical());
        push_implicit(&target.data_type, &mut implicit);
        replace(column, row, implicit.cell(0));
        Ok(())
    }
}

/// Puts `cell` in place of row `row`, the last one.
pub(super) fn replace(column: &mut Column, row: usize, cell: Cell<'_>) {
    debug_assert_eq!(row + 1, column.len());
    column.truncate(row);
    column.push_cell(cell);
}

/// A warning by number.
pub(super) fn diagnostic(level: Level, number: u16, message: &str) -> Diagnostic {
    let error: Box<SqlError> = coded(number, message);
    Diagnostic { level, ..error.diagnostic() }
}

/// What a NOT NULL column holds when nothing was said: 0, the empty string, the zero date.
pub(super) fn push_implicit(data_type: &DataType, out: &mut Column) {
    match data_type.physical() {
        Physical::Int if data_type.kind == TypeKind::Enum => out.push_int(1),
        Physical::Int => out.push_int(0),
        Physical::Double => out.push_double(0.0),
        Physical::Decimal => {
            let zero = types::Decimal::ZERO.round(data_type.scale);
            out.push_decimal(zero);
        }
        Physical::Bytes if data_type.kind == TypeKind::Json => {
            let mut document = Vec::new();
            types::json::Json::Null.encode(&mut document);
            out.push_bytes(&document);
        }
        Physical::Bytes if data_type.kind == TypeKind::Char && data_type.is_binary_string() => {
            out.push_bytes(&vec![0; data_type.length as usize]);
        }
        Physical::Bytes => out.push_bytes(b""),
    }
}

/// A stored default as a cell; a TIMESTAMP comes into the session's zone.
fn push_stored(value: &StoredValue, data_type: &DataType, out: &mut Column, ctx: &ExecContext<'_>) {
    match value {
        StoredValue::Null => out.push_null(),
        StoredValue::Int(i64::MIN) if data_type.kind == TypeKind::Timestamp => out.push_int(0),
        StoredValue::Int(micros) if data_type.kind == TypeKind::Timestamp => {
            out.push_int(ctx.eval.settings.time_zone.from_utc(*micros).pack());
        }
        StoredValue::Int(value) => out.push_int(*value),
        StoredValue::Double(value) => out.push_double(*value),
        StoredValue::Decimal(value) => out.push_decimal(*value),
        StoredValue::Bytes(value) => out.push_bytes(value),
    }
}

/// A boundary value as a one-row column with its type.
pub(super) fn value_cell(value: &Value) -> (DataType, Column) {
    types::convert::value_column(value)
}
