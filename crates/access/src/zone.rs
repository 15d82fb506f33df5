//! What rows need of a time zone: a TIMESTAMP is UTC in a row and local time in a vector.

use types::Cell;
use types::temporal::calendar::UNIX_EPOCH_DAY;
use types::temporal::zone::TimeZone;
use types::temporal::{DateTime, MICROS_PER_DAY};

/// The session's time zone as rows use it.
pub trait TimestampZone: Sync {
    /// Local fields of microseconds since 1970 UTC.
    fn local(&self, utc_micros: i64) -> DateTime;

    /// Microseconds since 1970 UTC of local fields; a time that the zone skips gives the end of the gap.
    fn utc_micros(&self, local: DateTime) -> i64;
}

/// The fields that a TIMESTAMP has in one zone as those that it has in another. NULL and the zero date stay what they are.
#[must_use]
pub fn rezoned<'c>(cell: Cell<'c>, from: &dyn TimestampZone, to: &dyn TimestampZone) -> Cell<'c> {
    match cell {
        Cell::Int(packed @ 1..) => Cell::Int(to.local(from.utc_micros(DateTime::unpack(packed))).pack()),
        cell => cell,
    }
}

/// UTC.
#[derive(Clone, Copy, Debug, Default)]
pub struct Utc;

impl TimestampZone for Utc {
    fn local(&self, utc_micros: i64) -> DateTime {
        DateTime::from_linear_micros(utc_micros + UNIX_EPOCH_DAY * MICROS_PER_DAY).unwrap_or(DateTime::ZERO)
    }

    fn utc_micros(&self, local: DateTime) -> i64 {
        local.linear_micros() - UNIX_EPOCH_DAY * MICROS_PER_DAY
    }
}

impl TimestampZone for TimeZone {
    fn local(&self, utc_micros: i64) -> DateTime {
        self.from_utc(utc_micros)
    }

    fn utc_micros(&self, local: DateTime) -> i64 {
        self.to_utc(local)
    }
}
