//! What a statement leaves for the next ones to ask: LAST_INSERT_ID(), ROW_COUNT(), FOUND_ROWS(), and the `insert_id` that waits for
//! an INSERT.

/// The results of the statements before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LastResults {
    last_insert_id: u64,
    /// LAST_INSERT_ID(n) of the running statement.
    set_by_function: u64,
    next_insert_id: Option<u64>,
    row_count: i64,
    found_rows: u64,
}

impl Default for LastResults {
    fn default() -> Self {
        Self { last_insert_id: 0, set_by_function: 0, next_insert_id: None, row_count: -1, found_rows: 0 }
    }
}

impl LastResults {
    /// As after a login. As in MySQL, FOUND_ROWS() stays.
    pub(super) fn reset(&mut self) {
        *self = Self { found_rows: self.found_rows, ..Self::default() };
    }

    /// `LAST_INSERT_ID()`.
    #[inline]
    pub(crate) fn last_insert_id(&self) -> u64 {
        self.last_insert_id
    }

    /// An INSERT or SET gives LAST_INSERT_ID() a value.
    #[inline]
    pub(crate) fn set_last_insert_id(&mut self, id: u64) {
        self.last_insert_id = id;
    }

    /// LAST_INSERT_ID(n): the client is given the value, too.
    pub(crate) fn set_by_function(&mut self, id: u64) {
        self.last_insert_id = id;
        self.set_by_function = id;
    }

    /// The value that the running statement gave to LAST_INSERT_ID(n), else 0.
    #[inline]
    pub(crate) fn take_set_by_function(&mut self) -> u64 {
        std::mem::take(&mut self.set_by_function)
    }

    /// The running statement was rolled back and runs again: LAST_INSERT_ID() is what it was before, `id`.
    pub(crate) fn restore_insert_id(&mut self, id: u64) {
        self.last_insert_id = id;
        self.set_by_function = 0;
    }

    /// `insert_id`: the first generated value of the next INSERT, if one was set.
    #[inline]
    pub(crate) fn next_insert_id(&self) -> Option<u64> {
        self.next_insert_id
    }

    /// SET insert_id; 0 removes it.
    pub(crate) fn set_next_insert_id(&mut self, id: u64) {
        self.next_insert_id = Some(id).filter(|id| *id != 0);
    }

    /// The INSERT that uses it up.
    #[inline]
    pub(crate) fn take_next_insert_id(&mut self) -> Option<u64> {
        self.next_insert_id.take()
    }

    /// `ROW_COUNT()`.
    #[inline]
    pub(crate) fn row_count(&self) -> i64 {
        self.row_count
    }

    /// How many rows a statement changed; -1 for a query and for an error.
    #[inline]
    pub(crate) fn set_row_count(&mut self, row_count: i64) {
        self.row_count = row_count;
    }

    /// `FOUND_ROWS()`.
    #[inline]
    pub(crate) fn found_rows(&self) -> u64 {
        self.found_rows
    }

    /// How many rows a query found.
    #[inline]
    pub(crate) fn set_found_rows(&mut self, found_rows: u64) {
        self.found_rows = found_rows;
    }

    /// A query sent its rows.
    #[inline]
    pub(crate) fn end_query(&mut self, found_rows: u64) {
        self.found_rows = found_rows;
        self.row_count = -1;
    }
}
