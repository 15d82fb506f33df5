//! The answer to a command, read as it arrives.

use wire::StatusFlags;

use super::{Connection, Phase};
use crate::error::Error;
use crate::row::{Columns, Row};

/// What the server says at the end of a result.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Summary {
    /// Rows changed; 0 for a result with rows.
    pub affected_rows: u64,
    /// The first number given out by AUTO_INCREMENT.
    pub last_insert_id: u64,
    /// Warnings raised.
    pub warnings: u16,
    /// State of the session.
    pub status: StatusFlags,
}

/// The results of one command, one after the other; each has rows or not. Dropping it leaves the rest to be read by the
/// connection's next command.
#[derive(Debug)]
pub struct Answer<'c> {
    pub(crate) connection: &'c mut Connection,
}

impl Answer<'_> {
    /// Goes to the next result, over what is left of the present one; `false` if there is none.
    ///
    /// # Errors
    /// The server's, after which there are no more results, or the connection's.
    pub fn next_result(&mut self) -> Result<bool, Error> {
        self.connection.skip_rows()?;
        match self.connection.phase {
            Phase::Idle => Ok(false),
            Phase::Head | Phase::Rows => self.connection.read_head().map(|()| true),
        }
    }

    /// Whether the present result has rows, perhaps none of them.
    #[must_use]
    pub fn has_rows(&self) -> bool {
        self.connection.has_rows
    }

    /// The columns of the present result; none if it has no rows.
    #[must_use]
    pub fn columns(&self) -> &Columns {
        &self.connection.columns
    }

    /// The next row of the present result; `None` at its end.
    ///
    /// # Errors
    /// The server's, after which there are no more results, or the connection's.
    #[inline]
    pub fn next_row(&mut self) -> Result<Option<Row<'_>>, Error> {
        self.connection.next_row()
    }

    /// What the server said at the end of the present result; for one with rows only once all of them were read.
    #[must_use]
    pub fn summary(&self) -> Summary {
        self.connection.summary
    }

    /// Text for people at the end of the present result, such as `Rows matched: 1  Changed: 1  Warnings: 0`.
    #[must_use]
    pub fn info(&self) -> &[u8] {
        &self.connection.info
    }

    /// Changes of session state at the end of the present result, as the server sent them.
    #[must_use]
    pub fn state_changes(&self) -> &[u8] {
        &self.connection.state_changes
    }

    /// Reads all that is left and says what the server said last.
    ///
    /// # Errors
    /// The first of the server's, or the connection's.
    pub fn finish(mut self) -> Result<Summary, Error> {
        while self.next_result()? {}
        Ok(self.connection.summary)
    }
}
