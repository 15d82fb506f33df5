//! Where the statements of a routine run: by themselves in the session's transaction, or inside a statement that fires triggers and lends its
//! rows and its snapshot. How they run there: [`super::inside`].

use ::access::{Snapshot, Transaction};
use exec::expr::FiredRow;
use service::Outcome;
use service::error as e;
use types::Cell;

/// What a statement lends to those inside it.
pub(crate) struct Lent<'a> {
    /// Through which rows are read, locked and written.
    pub(super) rows: &'a mut (dyn Transaction + 'a),
    /// What consistent reads see.
    pub(super) snapshot: &'a (dyn Snapshot + 'a),
    /// The statement's moment: NOW().
    pub(super) now_micros: i64,
    /// The row that fires the trigger in run.
    pub(super) new: FiredRow<'a>,
}

impl Lent<'_> {
    /// The statement's moment: NOW().
    pub(super) fn now_micros(&self) -> i64 {
        self.now_micros
    }

    /// Sets a column of NEW.
    ///
    /// # Errors
    /// 1815 where there is no NEW that may be changed.
    pub(super) fn put(&mut self, ordinal: usize, cell: Cell<'_>) -> Outcome {
        let FiredRow::Unwritten(new) = &mut self.new else {
            return Err(e::ER_INTERNAL_ERROR.with(&[&"a written row is not changed"]));
        };
        new.put(ordinal, cell);
        Ok(())
    }
}

/// Where statements of a routine run.
pub(crate) enum Ground<'a> {
    /// In the session's transaction.
    Own,
    /// Inside a statement.
    Lent(Lent<'a>),
}
