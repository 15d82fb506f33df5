//! AUTO_INCREMENT: which number a row gets, and which one the client gets.
//!
//! Numbers are taken from the table's counter in runs: for rows written out, as many as there are, later what is left of them; for rows of a
//! query 1, 2, 4, ... What is left of a run at the statement's end is lost. A number whose row was not written after all
//! (a duplicate with IGNORE or ON DUPLICATE KEY UPDATE) goes to the next row.
//!
//! Source: MySQL manual, "AUTO_INCREMENT Handling in InnoDB" (`innodb_autoinc_lock_mode = 2`), and 9.7's answers.

use access::{Error, Table, first_of_series};
use types::{Cell, Column, Physical};

use crate::context::ChangeSettings;

/// Longest run taken for rows of a query.
const RUN_MAX: u64 = 65_535;

/// The numbers of one statement.
#[derive(Debug)]
pub(super) struct Numbers {
    pub(super) ordinal: usize,
    increment: u64,
    offset: u64,
    zero_is_a_value: bool,
    /// SET INSERT_ID, for the first number.
    forced: Option<u64>,
    next: u64,
    left: u64,
    /// Runs taken.
    run_count: u32,
    /// Rows done when the first number was wanted.
    first: Option<u64>,
}

/// Rows that are written out in a statement.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowsWritten {
    pub(super) count: u64,
    /// Those before the one at hand.
    pub(super) done: u64,
}

/// Where the number of a row comes from.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Number {
    /// The statement gave it; its 64 bits, as the client gets them.
    Given(u64),
    /// The table's counter gave it.
    Generated(u64),
}

impl Numbers {
    pub(super) fn new(ordinal: usize, settings: &ChangeSettings) -> Numbers {
        Numbers {
            ordinal,
            increment: settings.auto_increment_increment.max(1),
            offset: settings.auto_increment_offset,
            zero_is_a_value: settings.no_auto_value_on_zero,
            forced: settings.insert_id,
            next: 0,
            left: 0,
            run_count: 0,
            first: None,
        }
    }

    /// Puts a number into `column`, the row's AUTO_INCREMENT column, if it holds NULL or 0. `rows`: rows of the
    /// statement, if known.
    ///
    /// # Errors
    /// The counter's.
    pub(super) fn fill(
        &mut self,
        table: &dyn Table,
        column: &mut Column,
        rows: Option<RowsWritten>,
    ) -> Result<Number, Error> {
        match given(column.cell(0)) {
            Some(0) if !self.zero_is_a_value => {}
            Some(value) => return Ok(Number::Given(value as u64)),
            None => {}
        }
        let value = match self.forced.take() {
            Some(value) => {
                self.begin(rows);
                self.left = 0;
                value
            }
            None => self.take(table, rows)?,
        };
        let is_double = column.physical() == Physical::Double;
        column.clear();
        if is_double {
            column.push_double(value as f64);
        } else {
            column.push_int(value as i64);
        }
        Ok(Number::Generated(value))
    }

    /// How many rows were done when the first number was wanted.
    fn begin(&mut self, rows: Option<RowsWritten>) -> u64 {
        *self.first.get_or_insert(rows.map_or(0, |rows| rows.done))
    }

    fn take(&mut self, table: &dyn Table, rows: Option<RowsWritten>) -> Result<u64, Error> {
        if self.left == 0 {
            let first = self.begin(rows);
            let left = rows.map(|rows| rows.count.saturating_sub(rows.done - first));
            let count = left.unwrap_or_else(|| (1 << self.run_count.min(16)).min(RUN_MAX)).max(1);
            self.next = table.reserve_numbers(count, self.increment, self.offset)?;
            self.left = count;
            self.run_count += 1;
        }
        let value = self.next;
        self.left -= 1;
        self.next = self.next.saturating_add(self.increment);
        Ok(value)
    }

    /// The row with this number was written.
    ///
    /// # Errors
    /// The counter's.
    pub(super) fn written(&mut self, table: &dyn Table, number: Number, signed: bool) -> Result<(), Error> {
        let (Number::Given(value) | Number::Generated(value)) = number;
        if number == Number::Given(value) || self.left == 0 {
            self.observe(table, value, signed)?;
        }
        Ok(())
    }

    /// A row holds `value` now: it is not given out any more.
    ///
    /// # Errors
    /// The counter's.
    pub(super) fn observe(&mut self, table: &dyn Table, value: u64, signed: bool) -> Result<(), Error> {
        if signed && (value as i64) < 0 {
            return Ok(());
        }
        table.observe_number(value)?;
        // What is left of the run starts behind it.
        while self.left > 0 && self.next <= value {
            let Some(next) = first_of_series(value.saturating_add(1), self.increment, self.offset) else {
                self.left = 0;
                break;
            };
            let passed = (next - self.next).div_ceil(self.increment).max(1);
            self.left = self.left.saturating_sub(passed);
            self.next = next;
        }
        Ok(())
    }

    /// The row with this number was not written: the next one gets it.
    pub(super) fn return_number(&mut self, number: Number) {
        if let Number::Generated(value) = number
            && self.run_count > 0
            && (self.left == 0 || self.next == value.saturating_add(self.increment))
        {
            self.next = value;
            self.left += 1;
        }
    }
}

/// What the row holds already; `None` for NULL.
fn given(cell: Cell<'_>) -> Option<i64> {
    match cell {
        Cell::Int(value) => Some(value),
        Cell::Double(value) => Some(value as i64),
        Cell::Null | Cell::Decimal(_) | Cell::Bytes(_) => None,
    }
}
