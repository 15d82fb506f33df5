//! Tables on another server, behind a connection: a second backend of `access`.
//!
//! Each scan, look-up and change is a statement of SQL on that server, inside one transaction there. Constants are literals. A row
//! is known by the condition that names it: its primary key, or all its columns, so that rows of a table without a key are distinguished
//! as far as their values differ. Rows come as text and are read back into columns' own shapes.
//!
//! Foreign keys, generated columns and CHECK are the other server's as well; here they are not resolved.

mod literal;
mod scan;
mod table;

use std::fmt::Write as _;
use std::sync::Arc;

use access::{
    Columns, DuplicateKey, Error, LargeReader, LargeReference, LockMode, LockWait, NewRow, PointKeys,
    Reading, RowLock, Scan, ScanRequest, ServerError, Snapshot, TimestampZone, Transaction, Updated,
    WriteTarget, Writing,
};
use catalog::TableDefinition;
use client::Connection;
use types::vector::{Batch, BytesColumn};
use types::{Cell, Value};

use literal::{quoted, write_cell};
use scan::{RemoteScan, Selected, ranges_condition};
pub(crate) use table::RemoteTable;
use table::remote;

/// Rows looked up by one statement.
const LOOK_UP_ROWS: usize = 64;

/// What a connection to the other server has to be set to: values are converted and checked before they get there, and come as they are stored.
pub(crate) fn set_up(connection: &mut Connection) -> Result<(), client::Error> {
    for sql in [
        "SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO'",
        "SET time_zone = '+00:00'",
        "SET character_set_results = NULL",
    ] {
        connection.run(sql.as_bytes())?;
    }
    Ok(())
}

/// A table's name with that of its schema.
fn full_name(definition: &TableDefinition) -> String {
    format!("{}.{}", quoted(&definition.schema), quoted(&definition.name))
}

/// What the other server's transaction sees: large values come whole, so that nothing is read by reference.
#[derive(Debug)]
pub(crate) struct RemoteSnapshot;

impl Snapshot for RemoteSnapshot {
    fn sees(&self, _table: &dyn access::Table) -> bool {
        true
    }

    fn read_large(
        &self,
        _reader: LargeReader<'_>,
        _table: &dyn access::Table,
        _reference: LargeReference,
        _offset: u64,
        _bytes: u64,
        _out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        Err(Error::Storage("a remote table gives no references".into()))
    }
}

/// The transaction on the other server.
pub(crate) struct RemoteTransaction<'c> {
    connection: &'c mut Connection,
    /// Something was locked or written.
    has_begun: &'c mut bool,
}

impl<'c> RemoteTransaction<'c> {
    /// Over a connection that is in a transaction; `has_begun` is set when something is locked or written.
    pub(crate) fn new(connection: &'c mut Connection, has_begun: &'c mut bool) -> Self {
        Self { connection, has_begun }
    }
}

/// What the other server says, as data.
pub(crate) fn failed(error: client::Error) -> Error {
    let client::Error::Server(error) = error else { return Error::Storage(error.to_string().into()) };
    let constraint = || {
        let text = error.message.split_once('(').map_or("", |(_, rest)| rest);
        text.strip_suffix(')').unwrap_or(text).to_owned()
    };
    match error.number {
        1205 => Error::LockWaitTimeout,
        1213 => Error::Deadlock,
        1317 => Error::Interrupted,
        3572 => Error::Locked,
        1451 => Error::ForeignKey(Box::new(access::ForeignKeyViolation::HasChildren {
            constraint: constraint(),
            child: None,
        })),
        1452 => Error::ForeignKey(Box::new(access::ForeignKeyViolation::NoParent {
            constraint: constraint(),
            parent: None,
        })),
        number => Error::Server(Box::new(ServerError { number, message: error.message.clone() })),
    }
}

fn lock_clause(lock: RowLock) -> String {
    let mode = match lock.mode {
        LockMode::Shared => " FOR SHARE",
        LockMode::Exclusive => " FOR UPDATE",
    };
    let wait = match lock.wait {
        LockWait::Timeout(_) => "",
        LockWait::NoWait => " NOWAIT",
        LockWait::Skip => " SKIP LOCKED",
    };
    format!("{mode}{wait}")
}

impl RemoteTransaction<'_> {
    /// Runs a change; answers how many rows met its condition, and whether one became different.
    fn change(&mut self, sql: &str) -> Result<(u64, bool), Error> {
        *self.has_begun = true;
        let mut answer = self.connection.query(sql.as_bytes()).map_err(failed)?;
        answer.next_result().map_err(failed)?;
        let is_same = String::from_utf8_lossy(answer.info()).contains("Changed: 0");
        let found = answer.summary().affected_rows;
        answer.finish().map_err(failed)?;
        Ok((found, !is_same))
    }

    /// Runs a query whose first column is a number; gives `take` each row.
    fn select(
        &mut self,
        sql: &str,
        mut take: impl FnMut(u32, client::Row<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut answer = self.connection.query(sql.as_bytes()).map_err(failed)?;
        answer.next_result().map_err(failed)?;
        while let Some(row) = answer.next_row().map_err(failed)? {
            let number = row.cell(0).as_u64().unwrap_or_default() as u32;
            take(number, row)?;
        }
        Ok(())
    }

    /// Appends the rows that meet `conditions`, each of one row at most, to `batch`, in the order of the conditions.
    fn select_each(
        &mut self,
        table: &RemoteTable,
        conditions: &[String],
        lock: Option<RowLock>,
        columns: Columns<'_>,
        batch: &mut Batch,
        matched: &mut Vec<u32>,
    ) -> Result<(), Error> {
        let selected = Selected::new(&table.definition, columns);
        // A query that locks is one of its own.
        let at_once = if lock.is_some() { 1 } else { LOOK_UP_ROWS };
        for (chunk, conditions) in conditions.chunks(at_once).enumerate() {
            let mut sql = String::new();
            for (number, condition) in conditions.iter().enumerate() {
                let union = if number > 0 { " UNION ALL " } else { "" };
                let (list, from) = (selected.list(), full_name(&table.definition));
                let number = chunk * at_once + number;
                let _ = write!(sql, "{union}SELECT {number}, {list} FROM {from} WHERE {condition} LIMIT 1");
                if conditions.len() > 1 {
                    let from = sql.rfind("SELECT").unwrap_or_default();
                    sql.insert(from, '(');
                    sql.push(')');
                }
            }
            if let Some(lock) = lock {
                *self.has_begun = true;
                sql.push_str(&lock_clause(lock));
            }
            if conditions.len() > 1 {
                sql.push_str(" ORDER BY 1");
            }
            self.select(&sql, |number, row| {
                matched.push(number);
                selected.push_row(row, 1, batch)
            })?;
        }
        Ok(())
    }

    /// The row that is in the way of one that was refused as a duplicate.
    fn duplicate_of(
        &mut self,
        table: &RemoteTable,
        cells: &[Cell<'_>],
        message: &str,
    ) -> Option<DuplicateKey> {
        let definition = &table.definition;
        let (value, key) =
            message.strip_prefix("Duplicate entry '")?.strip_suffix('\'')?.rsplit_once("' for key '")?;
        let name = key.rsplit('.').next()?;
        let index = definition.indexes.iter().position(|index| index.name.eq_ignore_ascii_case(name))?;
        let mut entry = String::new();
        for (number, part) in definition.indexes[index].parts.iter().enumerate() {
            let column = &definition.columns[part.column];
            let _ = write!(entry, "{}{} <=> ", if number > 0 { " AND " } else { "" }, quoted(&column.name));
            write_cell(cells[part.column], &column.data_type, &mut entry);
        }
        *self.has_begun = true;
        let selected = Selected::new(definition, Columns::whole(&[]));
        let sql = format!(
            "SELECT 0, {} FROM {} WHERE {entry} LIMIT 1 FOR SHARE",
            selected.list(),
            full_name(definition)
        );
        let mut locator = Vec::new();
        let read = self.select(&sql, |_, row| {
            locator = selected.locator(row, 1)?;
            Ok(())
        });
        // A row that has gone by now is not found in the way either, and the insert is tried again.
        read.ok()?;
        Some(DuplicateKey {
            index,
            entry: entry.into_bytes(),
            locator,
            value: value.to_owned(),
            key: key.to_owned(),
        })
    }

    fn write_failed(&mut self, table: &RemoteTable, cells: &[Cell<'_>], error: Error) -> Error {
        if let Error::Server(server) = &error
            && server.number == 1062
            && let Some(duplicate) = self.duplicate_of(table, cells, &server.message)
        {
            return Error::DuplicateKey(Box::new(duplicate));
        }
        error
    }
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or("FALSE")
}

/// The condition that names the row in the way, as long as it has the key.
fn in_the_way(duplicate: &DuplicateKey) -> String {
    if duplicate.locator.is_empty() {
        return "FALSE".to_owned();
    }
    format!("{} AND {}", text(&duplicate.locator), text(&duplicate.entry))
}

impl Transaction for RemoteTransaction<'_> {
    fn number(&self) -> u64 {
        0
    }

    fn scan(&mut self, table: &Arc<dyn access::Table>, request: ScanRequest) -> Result<Box<dyn Scan>, Error> {
        Ok(Box::new(RemoteScan::new(&remote(&**table)?.definition, request)))
    }

    fn next_batch(
        &mut self,
        scan: &mut dyn Scan,
        _reading: Reading<'_>,
        batch: &mut Batch,
        locators: Option<&mut BytesColumn>,
    ) -> Result<bool, Error> {
        let scan = scan::remote(scan)?;
        self.begin(scan, None)?;
        Ok(scan.give(batch, locators))
    }

    fn next_locked_batch(
        &mut self,
        scan: &mut dyn Scan,
        lock: RowLock,
        _zone: &dyn TimestampZone,
        batch: &mut Batch,
        locators: &mut BytesColumn,
    ) -> Result<bool, Error> {
        let scan = scan::remote(scan)?;
        self.begin(scan, Some(lock))?;
        Ok(scan.give(batch, Some(locators)))
    }

    /// A lock cannot be given back by a statement: rows that do not meet the condition stay locked.
    fn unlock_others(
        &mut self,
        _scan: &mut dyn Scan,
        _locators: &BytesColumn,
        _kept: &[u32],
    ) -> Result<(), Error> {
        Ok(())
    }

    fn look_up(
        &mut self,
        table: &dyn access::Table,
        index: usize,
        keys: &PointKeys,
        _reading: Reading<'_>,
        columns: Columns<'_>,
        batch: &mut Batch,
        matched: &mut Vec<u32>,
    ) -> Result<(), Error> {
        let PointKeys::Values(keys) = keys else { return Err(table::foreign()) };
        let table = remote(table)?;
        let condition = |values: &Vec<Value>| ranges_condition(&table.definition, Some(index), values);
        let conditions: Vec<String> = keys.iter().map(condition).collect();
        self.select_each(table, &conditions, None, columns, batch, matched)
    }

    fn fetch(
        &mut self,
        table: &dyn access::Table,
        locators: &BytesColumn,
        _reading: Reading<'_>,
        columns: Columns<'_>,
        batch: &mut Batch,
        matched: &mut Vec<u32>,
    ) -> Result<(), Error> {
        let conditions: Vec<String> = locators.iter().map(|locator| text(locator).to_owned()).collect();
        self.select_each(remote(table)?, &conditions, None, columns, batch, matched)
    }

    fn fetch_locked(
        &mut self,
        table: &dyn access::Table,
        locators: &BytesColumn,
        lock: RowLock,
        _zone: &dyn TimestampZone,
        columns: Columns<'_>,
        batch: &mut Batch,
        matched: &mut Vec<u32>,
    ) -> Result<(), Error> {
        let conditions: Vec<String> = locators.iter().map(|locator| text(locator).to_owned()).collect();
        self.select_each(remote(table)?, &conditions, Some(lock), columns, batch, matched)
    }

    /// The other server checks them when the row is inserted.
    fn check_parents(
        &mut self,
        _target: WriteTarget<'_>,
        _cells: &[Cell<'_>],
        _writing: Writing<'_>,
    ) -> Result<(), Error> {
        Ok(())
    }

    fn insert(
        &mut self,
        table: &dyn access::Table,
        row: NewRow<'_>,
        _writing: Writing<'_>,
    ) -> Result<(), Error> {
        let table = remote(table)?;
        if !row.large.is_empty() {
            return Err(Error::Storage("a remote table takes values whole".into()));
        }
        let (mut names, mut values) = (String::new(), String::new());
        for (column, &cell) in table.definition.columns.iter().zip(row.cells) {
            if column.generated.is_some() {
                continue;
            }
            let comma = if names.is_empty() { "" } else { ", " };
            let _ = write!(names, "{comma}{}", quoted(&column.name));
            values.push_str(comma);
            write_cell(cell, &column.data_type, &mut values);
        }
        let sql = format!("INSERT INTO {} ({names}) VALUES ({values})", full_name(&table.definition));
        self.change(&sql).map_err(|error| self.write_failed(table, row.cells, error))?;
        Ok(())
    }

    fn update(
        &mut self,
        target: WriteTarget<'_>,
        locator: &[u8],
        changes: &[(usize, Cell<'_>)],
        _writing: Writing<'_>,
    ) -> Result<Updated, Error> {
        let table = remote(target.table)?;
        let mut assignments = String::new();
        for &(ordinal, cell) in changes {
            let column = &table.definition.columns[ordinal];
            if column.generated.is_none() {
                let comma = if assignments.is_empty() { "" } else { ", " };
                let _ = write!(assignments, "{comma}{} = ", quoted(&column.name));
                write_cell(cell, &column.data_type, &mut assignments);
            }
        }
        // A column that is not named keeps its value, ON UPDATE CURRENT_TIMESTAMP or not.
        for (ordinal, column) in table.definition.columns.iter().enumerate() {
            if column.on_update_now && !changes.iter().any(|change| change.0 == ordinal) {
                let comma = if assignments.is_empty() { "" } else { ", " };
                let name = quoted(&column.name);
                let _ = write!(assignments, "{comma}{name} = {name}");
            }
        }
        if assignments.is_empty() {
            return Ok(Updated::Same);
        }
        let name = full_name(&table.definition);
        let sql = format!("UPDATE {name} SET {assignments} WHERE {} LIMIT 1", text(locator));
        let found = match self.change(&sql) {
            Ok(found) => found,
            Err(error) => {
                // The key that the row would have had.
                let mut new =
                    Batch::new(table.definition.columns.iter().map(|column| column.data_type.physical()));
                let ordinals: Vec<usize> = (0..table.definition.columns.len()).collect();
                let (columns, mut matched) = (Columns::whole(&ordinals), Vec::new());
                let conditions = [text(locator).to_owned()];
                self.select_each(table, &conditions, None, columns, &mut new, &mut matched)?;
                let cells: Vec<Cell<'_>> = (0..ordinals.len())
                    .map(|ordinal| match changes.iter().find(|change| change.0 == ordinal) {
                        Some(&(_, cell)) => cell,
                        None if matched.is_empty() => Cell::Null,
                        None => new.columns[ordinal].cell(0),
                    })
                    .collect();
                return Err(self.write_failed(table, &cells, error));
            }
        };
        Ok(match found {
            (0, _) => Updated::Absent,
            (_, true) => Updated::Changed,
            (_, false) => Updated::Same,
        })
    }

    fn delete(
        &mut self,
        target: WriteTarget<'_>,
        locator: &[u8],
        _replaced_by: Option<&[Cell<'_>]>,
        _writing: Writing<'_>,
    ) -> Result<bool, Error> {
        let name = full_name(&remote(target.table)?.definition);
        Ok(self.change(&format!("DELETE FROM {name} WHERE {} LIMIT 1", text(locator)))?.0 > 0)
    }

    fn lock_duplicate(
        &mut self,
        table: &dyn access::Table,
        duplicate: &DuplicateKey,
        writing: Writing<'_>,
        columns: Columns<'_>,
        batch: &mut Batch,
    ) -> Result<bool, Error> {
        let lock = RowLock { mode: LockMode::Exclusive, wait: writing.wait };
        let mut matched = Vec::new();
        let conditions = [in_the_way(duplicate)];
        self.select_each(remote(table)?, &conditions, Some(lock), columns, batch, &mut matched)?;
        Ok(!matched.is_empty())
    }

    fn keep_duplicate(
        &mut self,
        table: &dyn access::Table,
        duplicate: &DuplicateKey,
        wait: LockWait,
    ) -> Result<bool, Error> {
        let lock = RowLock { mode: LockMode::Shared, wait };
        let (mut batch, mut matched) = (Batch::default(), Vec::new());
        let (conditions, columns) = ([in_the_way(duplicate)], Columns::whole(&[]));
        self.select_each(remote(table)?, &conditions, Some(lock), columns, &mut batch, &mut matched)?;
        Ok(!matched.is_empty())
    }
}

impl RemoteTransaction<'_> {
    /// Reads the rows of a scan that has not begun.
    fn begin(&mut self, scan: &mut RemoteScan, lock: Option<RowLock>) -> Result<(), Error> {
        let Some(mut sql) = scan.begin()? else { return Ok(()) };
        if let Some(lock) = lock {
            *self.has_begun = true;
            sql.push_str(&lock_clause(lock));
        }
        let definition = Arc::clone(&scan.definition);
        let request = scan.request.clone();
        let width = definition.columns.len();
        let selected = Selected::new(&definition, Columns::new(width, &request.columns, &request.parts));
        self.select(&sql, |_, row| scan.push(&selected, row))
    }
}
