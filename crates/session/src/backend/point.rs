//! Point programs: SELECTs of one row by a whole unique key, which a backend answers without operators.

use access::TimestampZone;
use plan::PhysicalPlan;
use service::RowFormat;
use types::charset::Charset;

use super::Reads;

/// Memory of a point SELECT, lent for each.
#[derive(Debug, Default)]
pub struct PointMemory {
    /// The key that is looked for.
    pub key: Vec<u8>,
    /// The row's payload.
    pub row: Vec<u8>,
    /// For values that are not sent as they are stored.
    pub cell: Vec<u8>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PointOutcome {
    /// The number of rows that were found, 0 or 1, and written.
    Rows(u64),
    /// The ordinary way has to be taken.
    NotHere,
}

/// How a point program reads and writes its row.
#[derive(Clone, Copy)]
pub struct PointRead<'a> {
    /// What it sees.
    pub reads: Reads,
    /// The session's time zone.
    pub zone: &'a dyn TimestampZone,
    /// The protocol of the answer.
    pub format: RowFormat,
}

/// A point SELECT ready to run ([`SessionTransaction::read_point`](super::SessionTransaction::read_point)).
pub trait PointProgram: Sized + std::fmt::Debug + Send + Sync + 'static {
    /// The program of a plan whose strings are sent in `results`, if it is a point SELECT of this backend's.
    fn of(plan: &PhysicalPlan, results: Option<Charset>) -> Option<Self>;
}
