//! Tables into a server: CREATE TABLE, then INSERTs of many rows.

use client::{Connection, Error};

use super::{Table, Work};
use crate::data::fill::Source;

/// A statement is sent when it is this long, bytes: well below the least `max_allowed_packet` (5.6: 4 MB), and long enough
/// that the round trip does not matter.
const STATEMENT_BYTES: usize = 512 * 1024;
/// Rows in one transaction at most: long ones make undo that the measurement would pay for.
const ROWS_PER_STATEMENT_MAX: u64 = 1_000;

/// Makes and fills the tables of `work` in the session's database, then runs its `setup`.
///
/// `progress` hears how many rows of how many are there, now and then.
///
/// # Errors
/// The server's or the connection's, with the statement's beginning.
pub fn load(
    connection: &mut Connection,
    work: &Work,
    seed: u64,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), (String, Error)> {
    let total = work.tables.iter().map(|table| table.rows).sum();
    let mut done = 0;
    for (number, table) in work.tables.iter().enumerate() {
        run(connection, table.create_statement().as_bytes())?;
        let mut from = 0;
        while from < table.rows {
            let (statement, rows) = insert(table, seed, number as u64, from);
            run(connection, &statement)?;
            from += rows;
            done += rows;
            progress(done, total);
        }
    }
    for statement in &work.setup {
        run(connection, statement.as_bytes())?;
    }
    Ok(())
}

fn run(connection: &mut Connection, statement: &[u8]) -> Result<(), (String, Error)> {
    /// Of a statement that failed this much is shown.
    const SHOWN_BYTES: usize = 80;
    match connection.run(statement) {
        Ok(_) => Ok(()),
        Err(error) => {
            let shown = &statement[..statement.len().min(SHOWN_BYTES)];
            Err((String::from_utf8_lossy(shown).into_owned(), error))
        }
    }
}

/// One INSERT of rows from `from` on, and how many it has.
fn insert(table: &Table, seed: u64, number: u64, from: u64) -> (Vec<u8>, u64) {
    let filled = || table.columns.iter().filter_map(|column| Some((&column.name, column.fill.as_ref()?)));
    let names: Vec<String> = filled().map(|(name, _)| format!("`{name}`")).collect();
    let mut out = format!("INSERT INTO `{}` ({}) VALUES ", table.name, names.join(", ")).into_bytes();
    let mut rows = 0;
    while rows < ROWS_PER_STATEMENT_MAX && from + rows < table.rows && out.len() < STATEMENT_BYTES {
        out.extend_from_slice(if rows == 0 { b"(" } else { b", (" });
        let row = from + rows;
        let mut source = Source::new(seed ^ (number << 56), row);
        for (index, (_, fill)) in filled().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            source.next(fill, || row).put_literal(&mut out);
        }
        out.push(b')');
        rows += 1;
    }
    (out, rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::fill::{Fill, FillKind};
    use crate::scenario::Column;

    #[test]
    fn rows_are_the_same_however_they_are_batched() {
        let column = |name: &str, kind| Column {
            name: name.into(),
            sql_type: "INT".into(),
            fill: Some(Fill { kind, null_share: 0.0 }),
        };
        let table = |rows| Table {
            name: "t".into(),
            columns: vec![
                column("a", FillKind::Serial(1)),
                column("b", FillKind::Uniform(1, 9)),
                Column { name: "c".into(), sql_type: "INT".into(), fill: None },
                column("d", FillKind::Text(3)),
            ],
            keys: vec![],
            rows,
            row_format: None,
            charset: None,
            engine: None,
        };
        let (long, rows) = insert(&table(3000), 5, 0, 0);
        assert_eq!(rows, ROWS_PER_STATEMENT_MAX);
        let (short, rows) = insert(&table(8), 5, 0, 7);
        assert_eq!(rows, 1);
        let (long, short) = (String::from_utf8(long).unwrap(), String::from_utf8(short).unwrap());
        let row = short.strip_prefix("INSERT INTO `t` (`a`, `b`, `d`) VALUES ").unwrap();
        assert!(row.starts_with("(8,"), "{row}");
        assert!(long.contains(row), "{row} in {}", &long[..200]);
    }
}
