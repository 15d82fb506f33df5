//! Values on their way into columns: conversion and NOT NULL, with MySQL's warnings and errors.

use std::cell::OnceCell;

use catalog::{ColumnDefault, ColumnDefinition, StoredValue, TableDefinition};
use service::error::{Diagnostic, Level};
use types::convert::{self, Given, Origin, Severity, StoreOptions};
use types::temporal::DateTime;
use types::{Cell, CollationId, Column, DataType, Decimal, Physical, TypeKind, ValueRef, json};

use crate::error::coded;
use crate::expr::{EvalSettings, SqlResult, Warnings, sql_mode};

/// How one statement stores values.
pub(super) struct Storing<'a> {
    /// Strict mode and no IGNORE: a value that does not fit is an error.
    pub(super) strict: bool,
    /// Strict mode, but IGNORE makes warnings of errors.
    ignores_errors: bool,
    /// A NULL for a NOT NULL column is only a warning: several rows or IGNORE, and not strict.
    pub(super) lenient_null: bool,
    /// The statement gives or changes several rows.
    several_rows: bool,
    /// BEFORE triggers may replace a NULL: it is refused when they have run.
    delays_nulls: bool,
    /// What messages about documents call the table: as UPDATE names it.
    shown_table: Option<&'a str>,
    /// The statement's moment in the session's zone, once a column wants it.
    now: OnceCell<DateTime>,
    options: StoreOptions<'a>,
}

/// The value of a query.
pub(super) fn given_by_query(data_type: &DataType) -> Given<'_> {
    Given { data_type, origin: Origin::Computed("?") }
}

/// Where a value goes.
#[derive(Clone, Copy)]
pub(super) struct Target<'a> {
    pub(super) definition: &'a TableDefinition,
    pub(super) ordinal: usize,
    /// Row of the statement, from 1, for messages.
    pub(super) row: u64,
    /// NULL stays NULL: AUTO_INCREMENT makes a number of it.
    pub(super) null_allowed: bool,
}

impl<'a> Target<'a> {
    pub(super) fn column(&self) -> &'a ColumnDefinition {
        &self.definition.columns[self.ordinal]
    }

    /// The text, if the column would hold just its bytes.
    #[inline]
    pub(super) fn as_is<'v>(&self, value: ValueRef<'v>) -> Option<&'v [u8]> {
        match value {
            ValueRef::Bytes { bytes, collation }
                if convert::stores_as_is(bytes, collation, &self.column().data_type) =>
            {
                Some(bytes)
            }
            _ => None,
        }
    }
}

impl Target<'_> {
    /// Whether a value of this many bytes that lies among a table's large values is stored as it is, in no index.
    pub(super) fn takes_place(&self, byte_count: u64, from: &DataType) -> bool {
        let to = &self.column().data_type;
        let mut keys = self.definition.indexes.iter().flat_map(|index| &index.parts);
        to.is_text_or_blob()
            && from.is_string()
            && (from.collation.charset() == to.collation.charset() || to.collation == CollationId::BINARY)
            && byte_count >= access::REFERENCED_BYTES_MIN as u64
            && byte_count <= u64::from(to.length)
            && !keys.any(|part| part.column == self.ordinal)
    }
}

impl<'a> Storing<'a> {
    /// `several_rows`: the statement gives several rows, or rows of a query, or changes rows that exist.
    pub(super) fn new(settings: &'a EvalSettings, ignore: bool, several_rows: bool) -> Storing<'a> {
        let strict = settings.has(sql_mode::STRICT) && !ignore;
        Storing {
            strict,
            ignores_errors: ignore && settings.has(sql_mode::STRICT),
            lenient_null: !strict && (several_rows || ignore),
            several_rows,
            delays_nulls: false,
            shown_table: None,
            now: OnceCell::new(),
            options: settings.store_options(),
        }
    }

    /// The same settings, where BEFORE triggers may replace a NULL, or not.
    pub(super) fn delaying_nulls(self, delays_nulls: bool) -> Storing<'a> {
        Storing { delays_nulls, ..self }
    }

    /// The same settings for a table that messages about documents call `name`.
    pub(super) fn naming(self, name: &'a str) -> Storing<'a> {
        Storing { shown_table: Some(name), ..self }
    }

    /// The settings once BEFORE triggers have run, if they are others: no NULL is left in a NOT NULL column.
    pub(super) fn settled(&self) -> Option<Storing<'a>> {
        self.delays_nulls.then(|| Storing { delays_nulls: false, now: self.now.clone(), ..*self })
    }

    /// The same settings for other rows of the statement.
    pub(super) fn for_rows(&self, ignore: bool, several_rows: bool) -> Storing<'a> {
        let lenient_null = !self.strict && (several_rows || ignore);
        Storing { lenient_null, several_rows, now: self.now.clone(), ..*self }
    }

    /// Makes `out` one row: `cell` as the target column holds it.
    ///
    /// # Errors
    /// What does not fit, in strict mode; NULL where none may be.
    #[inline]
    pub(super) fn put(
        &self,
        target: Target<'_>,
        cell: Cell<'_>,
        given: Given<'_>,
        out: &mut Column,
        warnings: &mut Warnings,
    ) -> SqlResult<()> {
        let column = target.column();
        let to = &column.data_type;
        out.clear();
        // The usual case without a detour: an integer that fits.
        if let Cell::Int(value) = cell
            && let Some(bytes) = to.integer_bytes()
            && given.data_type.integer_bytes().is_some()
            && fits(value, given.data_type.unsigned, bytes, to.unsigned)
        {
            out.push_int(value);
            return Ok(());
        }
        if cell == Cell::Null || given.data_type.kind == TypeKind::Null {
            out.push_null();
        } else if let Some(issue) = convert::store(cell, given, to, &self.options, out) {
            self.report(&issue, target, warnings)?;
        }
        if !column.nullable && !target.null_allowed && out.is_null(0) {
            let is_document =
                given.data_type.kind == TypeKind::Json && matches!(given.origin, Origin::Computed(_));
            if self.delays_nulls {
                return Ok(());
            }
            self.refuse_null(target, is_document, out, warnings)?;
        }
        Ok(())
    }

    /// As [`Storing::put`] for a boundary value. `literal`: it was written in the statement, so that a hexadecimal or
    /// binary literal counts as a number for a number's column.
    ///
    /// # Errors
    /// As [`Storing::put`].
    #[inline]
    pub(super) fn put_value(
        &self,
        target: Target<'_>,
        value: &ValueRef<'_>,
        literal: bool,
        out: &mut Column,
        warnings: &mut Warnings,
    ) -> SqlResult<()> {
        let (from, cell) = match value {
            ValueRef::Null => (DataType::NULL, Cell::Null),
            ValueRef::Int(value) => (DataType::BIGINT, Cell::Int(*value)),
            ValueRef::UInt(value) => (DataType::BIGINT_UNSIGNED, Cell::Int(*value as i64)),
            ValueRef::Double(value) => (DataType::DOUBLE, Cell::Double(*value)),
            ValueRef::Decimal(value) => (DataType::decimal(65, value.scale()), Cell::Decimal(value)),
            ValueRef::Date(value) => (DataType::DATE, Cell::Int(value.pack())),
            // Of a parameter a text gets a DATETIME without its fraction, and a TIME with as many digits as it needs, as in 9.7.
            ValueRef::DateTime(packed) if !literal && target.column().data_type.is_string() => {
                (DataType::datetime(0), Cell::Int(DateTime { micros: 0, ..*packed }.pack()))
            }
            ValueRef::DateTime(packed) => (plan::expr::literal_type(*value), Cell::Int(packed.pack())),
            ValueRef::Time(time) => (plan::expr::literal_type(*value), Cell::Int(time.micros)),
            ValueRef::Bytes { bytes, collation } => {
                let numeric = || target.column().data_type.is_numeric();
                if literal && *collation == CollationId::BINARY && numeric() {
                    (DataType::BIGINT_UNSIGNED, Cell::Int(number_of_bits(bytes) as i64))
                } else {
                    (DataType::varchar(bytes.len() as u32, *collation), Cell::Bytes(bytes))
                }
            }
            ValueRef::Json(document) => (DataType::JSON, Cell::Bytes(document)),
        };
        let from = Given { data_type: &from, origin: Origin::Computed("?") };
        self.put(target, cell, from, out, warnings)
    }

    #[cold]
    fn report(&self, issue: &convert::Issue, target: Target<'_>, warnings: &mut Warnings) -> SqlResult<()> {
        let definition = target.definition;
        let is_ignored = self.ignores_errors && issue.is_of_bits();
        let is_strict = self.strict || is_ignored;
        let table = self.shown_table.unwrap_or(&definition.name);
        let report = issue.report(is_strict, table, &target.column().name, target.row);
        let level = match report.severity {
            Severity::Error if is_ignored => Level::Warning,
            Severity::Error => return Err(coded(report.number, &report.message)),
            Severity::Warning => Level::Warning,
            Severity::Note => Level::Note,
        };
        warnings.push(diagnostic(level, report.number, &report.message));
        Ok(())
    }

    /// 1048; of a document that is computed, for one of several rows, 1265. Where it is only a warning the column gets its implicit
    /// default.
    ///
    /// # Errors
    /// 1048, 1265.
    #[cold]
    pub(super) fn refuse_null(
        &self,
        target: Target<'_>,
        is_document: bool,
        out: &mut Column,
        warnings: &mut Warnings,
    ) -> SqlResult<()> {
        let column = target.column();
        let (number, message) = match is_document && column.data_type.kind == TypeKind::Json {
            true if self.several_rows => {
                (1265, format!("Data truncated for column '{}' at row {}", column.name, target.row))
            }
            _ => (1048, format!("Column '{}' cannot be null", column.name)),
        };
        if !self.lenient_null {
            return Err(coded(number, &message));
        }
        warnings.push(diagnostic(Level::Warning, number, &message));
        out.clear();
        push_null_replacement(&column.data_type, out);
        Ok(())
    }

    /// 1364: nothing was given for a column without default. Where it is only a warning, `out` becomes the implicit
    /// default.
    ///
    /// # Errors
    /// 1364 in strict mode.
    #[cold]
    pub(super) fn no_default(
        &self,
        column: &ColumnDefinition,
        view: Option<&str>,
        out: &mut Column,
        warnings: &mut Warnings,
    ) -> SqlResult<()> {
        let (number, message) = match view {
            Some(view) => {
                (1423, format!("Field of view '{view}' underlying table doesn't have a default value"))
            }
            None => (1364, format!("Field '{}' doesn't have a default value", column.name)),
        };
        if self.strict {
            return Err(coded(number, &message));
        }
        warnings.push(diagnostic(Level::Warning, number, &message));
        out.clear();
        push_implicit(&column.data_type, out);
        Ok(())
    }

    /// Makes `out` what a column holds that a file's line has no field for; see [`crate::FileLine`].
    ///
    /// # Errors
    /// 1261 in strict mode.
    #[cold]
    pub(super) fn no_field(
        &self,
        target: Target<'_>,
        out: &mut Column,
        warnings: &mut Warnings,
    ) -> SqlResult<()> {
        let message = format!("Row {} doesn't contain data for all columns", target.row);
        if self.strict {
            return Err(coded(1261, &message));
        }
        warnings.push(diagnostic(Level::Warning, 1261, &message));
        let column = target.column();
        let nullable = column.nullable || target.null_allowed;
        out.clear();
        if column.data_type.kind == TypeKind::Timestamp && !column.nullable {
            self.put_now(&column.data_type, out);
        } else if nullable && !matches!(column.default, ColumnDefault::Literal { .. }) {
            out.push_null();
        } else if column.data_type.kind == TypeKind::Enum {
            out.push_int(0);
        } else {
            push_implicit(&column.data_type, out);
        }
        Ok(())
    }

    /// Makes `out` what a NOT NULL column holds for `\N` in a file.
    ///
    /// # Errors
    /// 1263 in strict mode.
    #[cold]
    pub(super) fn null_field(
        &self,
        target: Target<'_>,
        out: &mut Column,
        warnings: &mut Warnings,
    ) -> SqlResult<()> {
        let column = target.column();
        out.clear();
        if column.data_type.kind == TypeKind::Timestamp {
            self.put_now(&column.data_type, out);
            return Ok(());
        }
        let message = format!(
            "Column set to default value; NULL supplied to NOT NULL column '{}' at row {}",
            column.name, target.row
        );
        if self.strict {
            return Err(coded(1263, &message));
        }
        warnings.push(diagnostic(Level::Warning, 1263, &message));
        push_null_replacement(&column.data_type, out);
        Ok(())
    }

    /// Makes `out` the statement's moment as a temporal column holds it.
    pub(super) fn put_now(&self, data_type: &DataType, out: &mut Column) {
        let StoreOptions { time_zone, now_utc_micros, .. } = self.options;
        let now = self.now.get_or_init(|| time_zone.from_utc(now_utc_micros));
        let value = now.truncate(data_type.scale);
        let value = if data_type.kind == TypeKind::Date { value.date_part() } else { value };
        out.clear();
        out.push_int(value.pack());
    }

    /// Makes `out` a stored default; a TIMESTAMP comes into the session's zone.
    pub(super) fn put_stored(&self, value: &StoredValue, data_type: &DataType, out: &mut Column) {
        out.clear();
        match value {
            StoredValue::Null => out.push_null(),
            // The zero value of a TIMESTAMP is stored as 0.
            StoredValue::Int(0) if data_type.kind == TypeKind::Timestamp => out.push_int(0),
            StoredValue::Int(micros) if data_type.kind == TypeKind::Timestamp => {
                out.push_int(self.options.time_zone.from_utc(*micros).pack());
            }
            StoredValue::Int(value) => out.push_int(*value),
            StoredValue::Double(value) => out.push_double(*value),
            StoredValue::Decimal(value) => out.push_decimal(*value),
            StoredValue::Bytes(value) => out.push_bytes(value),
        }
    }
}

/// Whether a new value of a column makes the row another one. UPDATE compares documents as such, of which 1 and 1.0 are equal; if
/// another column makes the row another one, the document is written as it was given.
#[inline]
pub(super) fn changes_row(old: Cell<'_>, new: Cell<'_>, data_type: &DataType) -> bool {
    match (old, new) {
        (Cell::Bytes(old), Cell::Bytes(new)) if data_type.kind == TypeKind::Json => {
            old != new && !json::compare(old, new).is_eq()
        }
        _ => old != new,
    }
}

/// Does an integer of 64 bits fit into `bytes` bytes?
#[inline]
fn fits(value: i64, unsigned: bool, bytes: u8, to_unsigned: bool) -> bool {
    let shift = 64 - 8 * u32::from(bytes);
    match (unsigned, to_unsigned) {
        (false, false) => value << shift >> shift == value,
        (false, true) => value >= 0 && (value as u64) << shift >> shift == value as u64,
        (true, true) => (value as u64) << shift >> shift == value as u64,
        (true, false) => value >= 0 && value << shift >> shift == value,
    }
}

/// The number a hexadecimal or binary literal stands for; of more than 64 bits the largest.
fn number_of_bits(bytes: &[u8]) -> u64 {
    let significant = &bytes[bytes.iter().position(|&byte| byte != 0).unwrap_or(bytes.len())..];
    if significant.len() > 8 {
        return u64::MAX;
    }
    significant.iter().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// An entry for SHOW WARNINGS by number.
#[cold]
pub(super) fn diagnostic(level: Level, number: u16, message: &str) -> Diagnostic {
    Diagnostic { level, ..coded(number, message).diagnostic() }
}

/// Appends what a NOT NULL column holds for a NULL: no member of an ENUM, else the same as when nothing was said.
fn push_null_replacement(data_type: &DataType, out: &mut Column) {
    if data_type.kind == TypeKind::Enum {
        out.push_int(0);
    } else {
        push_implicit(data_type, out);
    }
}

/// Appends what a NOT NULL column holds when nothing was said: 0, the empty string, the zero date, the first member.
pub(super) fn push_implicit(data_type: &DataType, out: &mut Column) {
    match data_type.physical() {
        Physical::Int => out.push_int(i64::from(data_type.kind == TypeKind::Enum)),
        Physical::Double => out.push_double(0.0),
        Physical::Decimal => out.push_decimal(Decimal::ZERO.round(data_type.scale)),
        Physical::Bytes if data_type.kind == TypeKind::Json => {
            let mut document = Vec::new();
            json::Json::Null.encode(&mut document);
            out.push_bytes(&document);
        }
        Physical::Bytes if data_type.kind == TypeKind::Char && data_type.is_binary_string() => {
            out.push_bytes(&vec![0; data_type.length as usize]);
        }
        Physical::Bytes => out.push_bytes(b""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_fit_by_their_bytes() {
        assert!(fits(127, false, 1, false) && !fits(128, false, 1, false));
        assert!(fits(-128, false, 1, false) && !fits(-129, false, 1, false));
        assert!(fits(255, false, 1, true) && !fits(256, false, 1, true) && !fits(-1, false, 1, true));
        assert!(fits(-1, true, 8, true) && !fits(-1, true, 8, false));
        assert!(fits(i64::MAX, true, 8, false) && fits(i64::MIN, false, 8, false));
    }

    #[test]
    fn a_literal_of_bits_is_a_number() {
        assert_eq!(number_of_bits(b"\x00\x00\x41"), 0x41);
        assert_eq!(number_of_bits(&[0xff; 8]), u64::MAX);
        assert_eq!(number_of_bits(&[1; 9]), u64::MAX);
        assert_eq!(number_of_bits(b""), 0);
    }
}
