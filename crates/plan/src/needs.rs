//! What an account must be allowed for a statement, by the tables and columns that it names.

use std::sync::Arc;

use catalog::Privileges;

use crate::stored_function::StoredCall;

/// A place in FROM (or the target of a change): position in [`Bound::tables`](crate::logical::Bound::tables).
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct TableIndex(pub u32);

/// An account that a view belongs to.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Definer {
    /// User.
    pub user: Arc<str>,
    /// Host.
    pub host: Arc<str>,
}

/// What the account must hold on one mention of a table: on the table or, for a part of it, on columns.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TableNeed {
    /// Which mention.
    pub table: TableIndex,
    /// Must be held.
    pub privileges: Privileges,
    /// Or this (UPDATE of several tables, of which some are only read).
    pub alternative: Privileges,
    /// Rows are locked by FOR UPDATE: one of UPDATE, DELETE, LOCK TABLES too.
    pub locking: bool,
    /// The statement changes rows of it.
    pub changes: bool,
    /// Whose privileges count: one of [`Needs::definers`], or the session's account.
    pub definer: Option<u32>,
    /// The view through which the statement reads it: the one it names itself.
    pub view: Option<TableIndex>,
}

/// What the account must hold on one column of a table, unless it holds it on the whole table.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ColumnNeed {
    /// Which mention of the table.
    pub table: TableIndex,
    /// Which column.
    pub ordinal: u32,
    /// A single privilege.
    pub privileges: Privileges,
    /// The text names all columns at once (`*`, INSERT without a list); such needs of one table follow each other.
    pub of_all: bool,
}

/// A stored function that is called, for which EXECUTE must be held.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FunctionNeed {
    /// The call.
    pub call: StoredCall,
    /// Whose EXECUTE counts: one of [`Needs::definers`], or the session's account.
    pub definer: Option<u32>,
    /// The view that has it: the one that the statement names itself.
    pub view: Option<TableIndex>,
}

/// What a statement needs: tables are checked first, in the order of the text, then columns.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Needs {
    /// One for each mention of a table.
    pub tables: Vec<TableNeed>,
    /// Columns in the order of the text.
    pub columns: Vec<ColumnNeed>,
    /// Accounts whose privileges count within views.
    pub definers: Vec<Definer>,
    /// Stored functions that it calls, in the order of the text.
    pub functions: Vec<FunctionNeed>,
    /// It reads views.
    pub reads_views: bool,
}

impl Needs {
    /// The number of an account among [`Needs::definers`].
    pub(crate) fn definer(&mut self, definer: Definer) -> u32 {
        let known = self.definers.iter().position(|known| *known == definer);
        let at = known.unwrap_or_else(|| {
            self.definers.push(definer);
            self.definers.len() - 1
        });
        at as u32
    }

    /// Whether the statement changes rows of this mention of a table.
    #[must_use]
    pub fn changes(&self, table: TableIndex) -> bool {
        self.tables.iter().any(|need| need.changes && need.table == table)
    }
}
