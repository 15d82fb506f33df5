//! Dates of columns that keep their type: MySQL writes them again where it copies rows, so that it refuses what the session may not write.
//!
//! | rows are | refused dates, strict | otherwise |
//! | --- | --- | --- |
//! | copied here | an error (`copy`) | a warning, zero (`copy`) |
//! | left as they are, though MySQL copies them | an error ([`StoredDateCheck::check`]) | copied after all |

use catalog::TableDefinition;
use service::error::SqlError;
use types::convert::{StoreOptions, store_copied};
use types::temporal::DateTime;
use types::temporal::parse::DateMode;
use types::temporal::zone::TimeZone;
use types::{Cell, Column, DataType, TypeKind};

use crate::ddl::{Context, Result, sql_mode_bits};

/// What the session's `sql_mode` says of dates, strict or not.
pub(super) fn date_mode(sql_mode: u64) -> DateMode {
    let has = |bit: u64| sql_mode & bit != 0;
    DateMode {
        allow_invalid: has(sql_mode_bits::ALLOW_INVALID_DATES),
        no_zero_in_date: has(sql_mode_bits::NO_ZERO_IN_DATE),
        no_zero_date: has(sql_mode_bits::NO_ZERO_DATE),
        truncates_fraction: has(sql_mode_bits::TIME_TRUNCATE_FRACTIONAL),
    }
}

/// How values are written, NO_ZERO_DATE and NO_ZERO_IN_DATE being errors in strict mode only.
pub(super) fn store_options<'a>(context: &Context<'a>) -> StoreOptions<'a> {
    let mode = date_mode(context.session.sql_mode);
    let strict = context.is_strict();
    StoreOptions {
        date_mode: DateMode {
            no_zero_in_date: strict && mode.no_zero_in_date,
            no_zero_date: strict && mode.no_zero_date,
            ..mode
        },
        truncate_fraction: mode.truncates_fraction,
        time_zone: context.session.zone,
        now_utc_micros: context.session.now_micros,
    }
}

/// Whether a column's value is a date that the mode does not let a session write.
pub(super) fn is_refused_date(cell: Cell<'_>, data_type: &DataType, mode: DateMode) -> bool {
    is_date(data_type) && matches!(cell, Cell::Int(packed) if mode.check(DateTime::unpack(packed)).is_err())
}

fn is_date(data_type: &DataType) -> bool {
    matches!(data_type.kind, TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp)
}

/// The columns of `table` that are there already and hold dates.
pub(super) fn retained_date_columns(table: &TableDefinition, mapping: &[Option<usize>]) -> Vec<usize> {
    let is_kept =
        |ordinal: &usize| mapping[*ordinal].is_some() && is_date(&table.columns[*ordinal].data_type);
    (0..table.columns.len()).filter(is_kept).collect()
}

/// Checks the dates of rows that are not copied.
pub(super) struct StoredDateCheck {
    table: Box<str>,
    /// Ordinals, ascending, with names and types.
    columns: Vec<(usize, Box<str>, DataType)>,
    mode: DateMode,
    zone: TimeZone,
    now_utc_micros: i64,
}

impl StoredDateCheck {
    /// Of these columns.
    pub(super) fn new(context: &Context<'_>, table: &TableDefinition, columns: &[usize]) -> Self {
        let column = |&ordinal: &usize| {
            let column = &table.columns[ordinal];
            (ordinal, (*column.name).into(), column.data_type.clone())
        };
        let options = store_options(context);
        Self {
            table: (*table.name).into(),
            columns: columns.iter().map(column).collect(),
            mode: options.date_mode,
            zone: context.session.zone.clone(),
            now_utc_micros: options.now_utc_micros,
        }
    }

    pub(super) fn columns(&self) -> impl Iterator<Item = usize> + '_ {
        self.columns.iter().map(|(ordinal, ..)| *ordinal)
    }

    /// Checks a row, in strict mode.
    ///
    /// # Errors
    /// 1292.
    pub(super) fn check<'c>(&self, cell: &dyn Fn(usize) -> Cell<'c>, row: u64) -> Result<()> {
        for (ordinal, name, data_type) in &self.columns {
            let cell = cell(*ordinal);
            if !is_refused_date(cell, data_type, self.mode) {
                continue;
            }
            let options = StoreOptions {
                date_mode: self.mode,
                truncate_fraction: self.mode.truncates_fraction,
                time_zone: &self.zone,
                now_utc_micros: self.now_utc_micros,
            };
            let mut out = Column::new(data_type.physical());
            if let Some(issue) = store_copied(cell, data_type, name, data_type, &options, &mut out) {
                let report = issue.report(true, &self.table, name, row);
                let state =
                    service::error::Code::by_number(report.number).map_or(*b"HY000", |code| code.state);
                return Err(SqlError::new(report.number, state, report.message));
            }
        }
        Ok(())
    }
}
