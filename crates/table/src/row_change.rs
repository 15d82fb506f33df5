//! A row that was changed: the one place where a table tells of it.
//!
//! Every insert, update and delete of a row ends here, those of cascades and of copies too: after the change and all its index
//! entries, while the transaction holds the row's lock, and before the call that changed it returns. What must see each change of a
//! row is called from [`Table::row_changed`]: today the change log of online DDL ([`crate::ChangeLog`]).
//!
//! What may change or refuse a row comes before the change and not here: triggers, generated columns, NOT NULL and CHECK in
//! `exec::change`, foreign keys in [`crate::foreign_key`].

use types::Cell;

use crate::table::Table;

/// A row's cells by ordinal.
type Cells<'a, 'c> = &'a dyn Fn(usize) -> Cell<'c>;

/// A change of one row.
pub(crate) struct RowChange<'a, 'c> {
    /// Where the row was, and its cells, TIMESTAMPs in UTC; `None`: it is new.
    pub(crate) before: Option<(&'a [u8], Cells<'a, 'c>)>,
    /// Where it is now; `None`: it is gone.
    pub(crate) after: Option<&'a [u8]>,
    /// The columns that got other values, if it was there and still is.
    pub(crate) columns: &'a [(usize, Cell<'a>)],
}

impl RowChange<'_, '_> {
    /// Whether the row lies where it lay.
    fn stays(&self) -> bool {
        matches!((self.before, self.after), (Some((before, _)), Some(after)) if before == after)
    }
}

impl Table {
    /// Whether an observer of changes is registered.
    #[inline]
    pub(crate) fn tells_changes(&self) -> bool {
        self.changes.is_some()
    }

    /// A row was changed. Callers ask [`Table::tells_changes`] before they make up the change.
    #[cold]
    pub(crate) fn row_changed(&self, change: &RowChange<'_, '_>) {
        let Some(log) = &self.changes else { return };
        let stays = change.stays();
        if stays && !change.columns.iter().any(|column| log.logs_changes_of(column.0)) {
            return;
        }
        if let Some((locator, cell)) = change.before {
            log.append(locator, Some(cell));
        }
        if let Some(locator) = change.after
            && !stays
        {
            log.append(locator, None);
        }
    }
}
