//! The bound statement around its tree: what it does, the tables it mentions, what its client sees.

use std::sync::Arc;

use catalog::{LockWait, TableEntry};
use types::{CollationId, DataType};

use super::{ColumnInfo, Logical, PlanHints, TableHints, TableIndex, TablePart};
use crate::error::PlanError;
use crate::expr::{ColumnId, Expr};
use crate::needs::Needs;

/// A table as one place of the statement mentions it.
#[derive(Clone, Debug)]
pub struct BoundTable {
    /// Definition and rows.
    pub entry: Arc<TableEntry>,
    /// Alias, or its name.
    pub alias: Arc<str>,
    /// Column `i` of the definition is `ColumnId(first_column + i)`.
    pub first_column: ColumnId,
    /// FOR UPDATE (true), FOR SHARE (false), or no locking read.
    pub lock: Option<(bool, LockWait)>,
    /// Indexes a hint allows; `None`: all visible ones.
    pub allowed_indexes: Option<Vec<usize>>,
    /// The same for GROUP BY.
    pub(crate) indexes_of_groups: Option<Vec<usize>>,
    /// FORCE INDEX: a table scan only if no index can be used.
    pub force_index: bool,
    /// What further hints ask for.
    pub hints: Option<Box<TableHints>>,
    /// A view, whose rows are those of its query's tree.
    pub is_view: bool,
    /// Parts of large columns that are read instead of them. Part `i` has the ordinal behind the table's columns.
    pub parts: Vec<TablePart>,
}

impl BoundTable {
    /// The number of the column, or part of one, at `ordinal`.
    #[must_use]
    pub fn column(&self, ordinal: usize) -> ColumnId {
        match ordinal.checked_sub(self.entry.definition.columns.len()) {
            Some(part) => self.parts[part].id,
            None => ColumnId(self.first_column.0 + ordinal as u32),
        }
    }

    /// Whether one of its columns is among `columns`.
    pub(crate) fn has_column_of(&self, columns: &[ColumnId]) -> bool {
        (0..self.width()).any(|ordinal| columns.contains(&self.column(ordinal)))
    }

    /// How many ordinals there are: columns, then parts.
    #[must_use]
    pub fn width(&self) -> usize {
        self.entry.definition.columns.len() + self.parts.len()
    }

    /// The part at `ordinal`, if it is not a whole column.
    #[must_use]
    pub fn part(&self, ordinal: usize) -> Option<&TablePart> {
        self.parts.get(ordinal.checked_sub(self.entry.definition.columns.len())?)
    }

    /// The ordinal of the column that a column is, or is a part of.
    #[must_use]
    pub(crate) fn whole_ordinal(&self, id: ColumnId) -> Option<usize> {
        self.ordinal(id).or_else(|| self.parts.iter().find(|part| part.id == id).map(|part| part.column))
    }

    /// The ordinal of a column, if it is one of this table's, whole.
    #[must_use]
    pub fn ordinal(&self, id: ColumnId) -> Option<usize> {
        let ordinal = id.0.checked_sub(self.first_column.0)? as usize;
        (ordinal < self.entry.definition.columns.len()).then_some(ordinal)
    }
}

/// A column of the result as the client sees it.
#[derive(Clone, Debug)]
pub struct OutputColumn {
    /// The column of the tree.
    pub id: ColumnId,
    /// Name or alias, UTF-8.
    pub name: Arc<str>,
    /// Alias of the table, empty for expressions.
    pub table: Arc<str>,
    /// The table's own name, empty for expressions.
    pub original_table: Arc<str>,
    /// The column's own name, empty for expressions.
    pub original_name: Arc<str>,
    /// The table's schema, empty for expressions.
    pub schema: Arc<str>,
    /// Type.
    pub data_type: DataType,
    /// May be NULL.
    pub nullable: bool,
    /// Flags of the table's column: keys, AUTO_INCREMENT, no default (`types::data_type::column_flag`).
    pub flags: u16,
    /// MySQL describes columns that are read and values that are computed differently.
    pub source: OutputSource,
    /// How it is computed.
    pub created: Created,
    /// The type by which CREATE TABLE ... SELECT chooses its own, where that is not the one of the description.
    pub created_type: Option<DataType>,
    /// The type by which the outermost query describes it to the client, where that is another one.
    pub described_type: Option<DataType>,
    /// The column of the tree that holds the text which the client gets of a decimal, where that is not the value's.
    pub text: Option<ColumnId>,
}

impl OutputColumn {
    /// Gives it the type by which a client sees it.
    pub(crate) fn describe_to_client(&mut self) {
        if let Some(described) = self.described_type.take() {
            let usual = std::mem::replace(&mut self.data_type, described);
            self.created_type.get_or_insert(usual);
        }
    }
}

/// How a column of a result is computed, as far as MySQL chooses the type by it that CREATE TABLE ... SELECT gives the column.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Created {
    /// A column, an aggregate, a column of a set operation.
    Column,
    /// A literal or a scalar subquery.
    Value,
    /// A function or operator.
    Function,
    /// IFNULL, which keeps the type of its arguments.
    IfNull,
}

/// Where an output column's values come from.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum OutputSource {
    /// A table or derived table.
    Column,
    /// The rows of a set operation.
    SetOperation,
    /// They are computed.
    Expression,
    /// A scalar subquery or a key of ROLLUP, which may be a column.
    Value,
    /// They are computed and stored in a temporary table.
    TemporaryTable,
}

impl OutputSource {
    /// The values come to the client from where they are computed.
    #[must_use]
    pub fn is_computed(self) -> bool {
        matches!(self, OutputSource::Expression | OutputSource::Value)
    }
}

/// A cell of VALUES.
#[derive(Clone, Debug, PartialEq)]
pub enum InsertCell {
    /// A literal.
    Value(types::Value),
    /// DEFAULT.
    Default,
    /// A parameter.
    Param(u32),
    /// Anything else; columns are those of the new row (`INSERT INTO t (a, b) VALUES (1, a + 1)`).
    Expr(Box<Expr>),
    /// An expression with subqueries: one of [`BoundInsert::row_queries`].
    Query(u32),
}

/// The value of an expression with subqueries for one row of an INSERT, as a query of one row and one column. The row's columns
/// are columns of an enclosing query to it.
#[derive(Clone, Debug)]
pub struct BoundRowQuery {
    /// The query.
    pub tree: Logical,
    /// Its column.
    pub column: ColumnId,
}

/// Rows of INSERT; literals stay compact until they are stored.
#[derive(Clone, Debug)]
pub enum InsertRows {
    /// VALUES and SET: cells row by row, as many per row as columns are written.
    Values {
        /// Rows; each may be empty.
        row_count: usize,
        /// Cells.
        cells: Vec<InsertCell>,
    },
    /// A query and its columns, in order.
    Query(Box<Logical>, Vec<ColumnId>),
}

/// `column = value` of UPDATE and ON DUPLICATE KEY UPDATE.
#[derive(Clone, Debug)]
pub struct BoundAssignment {
    /// Which table.
    pub table: TableIndex,
    /// Ordinal of its column.
    pub column: usize,
    /// The value; `None`: DEFAULT, or the row query.
    pub value: Option<Expr>,
    /// In ON DUPLICATE KEY UPDATE, a value with subqueries: one of [`BoundInsert::row_queries`].
    pub query: Option<u32>,
}

/// What WITH CHECK OPTION of a view asks of rows that are written through it: each condition must be true.
#[derive(Clone, Debug)]
pub struct BoundViewCheck {
    /// `schema.name` of the view that the statement names.
    pub view: Arc<str>,
    /// Conditions over the rows of the statement: of INSERT over the table's columns.
    pub conditions: Vec<Expr>,
    /// Those with subqueries: row queries of the statement.
    pub queries: Vec<u32>,
}

/// The view that an INSERT names.
#[derive(Clone, Debug)]
pub struct BoundTargetView {
    /// `schema.name`.
    pub name: Arc<str>,
    /// What it asks of rows.
    pub check: Option<Box<BoundViewCheck>>,
    /// What rows must be that REPLACE takes away: those that the view shows.
    pub replaced: Option<Box<BoundViewCheck>>,
}

/// INSERT and REPLACE.
#[derive(Clone, Debug)]
pub struct BoundInsert {
    /// The table.
    pub table: TableIndex,
    /// The view through which rows go into it.
    pub view: Option<Box<BoundTargetView>>,
    /// REPLACE.
    pub replace: bool,
    /// IGNORE.
    pub ignore: bool,
    /// Ordinals of the columns written, in order of the cells.
    pub columns: Vec<usize>,
    /// The rows.
    pub rows: InsertRows,
    /// Columns `VALUES(c)` and the row alias mean: column `i` of the new row is `ColumnId(new_row + i)`.
    pub new_row: ColumnId,
    /// ON DUPLICATE KEY UPDATE, evaluated over the old row's columns and the new row's.
    pub on_duplicate: Vec<BoundAssignment>,
    /// Values that need subqueries.
    pub row_queries: Vec<BoundRowQuery>,
}

/// UPDATE.
#[derive(Clone, Debug)]
pub struct BoundUpdate {
    /// Rows to look at, already filtered, ordered and limited.
    pub source: Box<Logical>,
    /// Tables that change.
    pub targets: Vec<TableIndex>,
    /// In order of the text; a later one sees what an earlier one of the same table set.
    pub assignments: Vec<BoundAssignment>,
    /// What views ask of rows of a target.
    pub checks: Vec<(TableIndex, Box<BoundViewCheck>)>,
    /// Conditions with subqueries.
    pub row_queries: Vec<BoundRowQuery>,
    /// IGNORE.
    pub ignore: bool,
    /// Several tables: each matched row of each target is changed once.
    pub multi_table: bool,
}

/// DELETE.
#[derive(Clone, Debug)]
pub struct BoundDelete {
    /// Rows to look at, already filtered, ordered and limited.
    pub source: Box<Logical>,
    /// Tables whose rows go.
    pub targets: Vec<TableIndex>,
    /// IGNORE.
    pub ignore: bool,
}

/// What the statement does.
#[derive(Clone, Debug)]
pub enum BoundKind {
    /// Gives rows.
    Query(Box<Logical>),
    /// INSERT, REPLACE.
    Insert(BoundInsert),
    /// UPDATE.
    Update(BoundUpdate),
    /// DELETE.
    Delete(BoundDelete),
    /// DO: evaluates and forgets.
    Do(Box<Logical>),
}

/// A bound statement.
#[derive(Clone, Debug)]
pub struct Bound {
    /// What it does.
    pub kind: BoundKind,
    /// Every mention of a table.
    pub tables: Vec<BoundTable>,
    /// Every column, by [`ColumnId`].
    pub columns: Vec<ColumnInfo>,
    /// Some expression has a subquery.
    pub has_subqueries: bool,
    /// Columns that are AVG of exact numbers and have more digits than they show: not those of derived tables.
    pub averages: Vec<ColumnId>,
    /// The result's columns; empty without result.
    pub output: Vec<OutputColumn>,
    /// What the account must hold.
    pub needs: Needs,
    /// Types of the parameters; `None`: it goes into a column as it is.
    pub parameters: Vec<Option<DataType>>,
    /// Those whose time of day a function reads: a number or text that is no date stays what it is.
    pub time_parameters: Vec<u32>,
    /// Those that take the character set of a text beside them, with its collation: error 3988 where it does not hold the value.
    pub text_parameters: Vec<(u32, CollationId)>,
    /// Those of LIMIT, whose values must be counts.
    pub limit_parameters: Vec<u32>,
    /// Those of them that are numbers of rows of window functions, which refuse negative ones themselves.
    pub count_parameters: Vec<u32>,
    /// Parameters are those of a client, not literals of the text.
    pub has_client_parameters: bool,
    /// Values of CHAR columns are read padded (sql_mode PAD_CHAR_TO_FULL_LENGTH).
    pub pads_chars: bool,
    /// Constants that each execution computes before it reads a row, for their errors.
    pub constant_checks: Vec<Expr>,
    /// Depends on session state beyond the plan's key (variables): must not be cached.
    pub volatile: bool,
    /// Number of recursive CTEs.
    pub recursion_count: u32,
    /// SELECT SQL_CALC_FOUND_ROWS.
    pub calc_found_rows: bool,
    /// What is wrong with the text and no error: each execution warns of it.
    pub warnings: Vec<PlanError>,
    /// What its optimizer hints ask for.
    pub hints: PlanHints,
    /// The query as a whole has a LIMIT, so that `sql_select_limit` does not count.
    pub has_limit: bool,
}
