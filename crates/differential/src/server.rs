//! One server that answers: a session, its database, and answers as they are compared.

use std::fmt::Write as _;
use std::time::Duration;

use client::{Column, ColumnFlags, ColumnType, Connection, Error, Options, Param};

use crate::value::Value;

/// A statement that has not answered after so long hangs.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(40);
/// So long a server may take to come back.
const RESTART_TIME_MAX: Duration = Duration::from_secs(90);

/// Settings in which servers may differ, made equal.
const SESSION: &[&str] = &[
    "SET time_zone = '+00:00', timestamp = 1700000000.123456, max_execution_time = 20000",
    "SET SESSION group_concat_max_len = 100000, cte_max_recursion_depth = 100, innodb_lock_wait_timeout = 5",
    "SET SESSION optimizer_switch = 'default', lc_time_names = 'en_US'",
];
/// Makes the peer faster where the account may; refused elsewhere.
const SESSION_IF_ALLOWED: &str = "SET SESSION sql_log_bin = 0";

/// Description of a column as the server sent it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Described {
    /// Its name.
    pub name: Vec<u8>,
    /// Type.
    pub column_type: ColumnType,
    /// The most bytes of a value.
    pub length: u32,
    /// Digits after the point.
    pub decimals: u8,
    /// Number of its collation.
    pub collation: u16,
    /// Flags.
    pub flags: ColumnFlags,
}

impl Described {
    fn of(column: &Column<'_>) -> Described {
        Described {
            name: column.name.to_vec(),
            column_type: column.column_type,
            length: column.length,
            decimals: column.decimals,
            collation: column.collation,
            flags: column.flags,
        }
    }

    /// Name, type, length, decimals, collation and flags, as a person reads them.
    #[must_use]
    pub fn show(&self) -> String {
        let mut line =
            format!("{} {:?}({}", String::from_utf8_lossy(&self.name), self.column_type, self.length);
        if self.decimals > 0 {
            let _ = write!(line, ",{}", self.decimals);
        }
        let _ = write!(line, ") c{}", self.collation);
        write_flags(self.flags, &mut line);
        if self.flags.has(ColumnFlags::PART_KEY) {
            line.push_str(" PART_KEY");
        }
        line
    }
}

/// One row: the text of each cell, `None` for NULL.
pub type Cells = Vec<Option<Vec<u8>>>;

/// What a server answered.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// Rows.
    Rows {
        /// The columns.
        columns: Vec<Described>,
        /// The rows, as they came.
        rows: Vec<Cells>,
        /// How many warnings.
        warnings: u16,
    },
    /// No rows.
    Done {
        /// Rows changed.
        affected: u64,
        /// LAST_INSERT_ID.
        insert_id: u64,
        /// How many warnings.
        warnings: u16,
        /// Such as `Records: 1  Duplicates: 0  Warnings: 0`.
        info: Vec<u8>,
    },
    /// An error of the server.
    Refused {
        /// MySQL's number.
        number: u16,
        /// Its text.
        message: String,
    },
    /// The connection broke or the answer did not come.
    Broken(String),
}

impl Answer {
    /// The number of the error, if it is one.
    #[must_use]
    pub fn error(&self) -> Option<u16> {
        match self {
            Answer::Refused { number, .. } => Some(*number),
            _ => None,
        }
    }

    /// How many warnings came with it.
    #[must_use]
    pub fn warnings(&self) -> u16 {
        match self {
            Answer::Rows { warnings, .. } | Answer::Done { warnings, .. } => *warnings,
            Answer::Refused { .. } | Answer::Broken(_) => 0,
        }
    }

    /// The answer as a person reads it, at most `lines` rows of it.
    #[must_use]
    pub fn show(&self, lines: usize) -> String {
        match self {
            Answer::Rows { columns, rows, .. } => {
                let names: Vec<String> =
                    columns.iter().map(|column| String::from_utf8_lossy(&column.name).into_owned()).collect();
                let mut out = format!("{} rows [{}]", rows.len(), names.join(" | "));
                for row in rows.iter().take(lines) {
                    let _ = write!(out, "\n    {}", show_row(row));
                }
                out
            }
            Answer::Done { affected, insert_id, info, .. } => {
                format!("ok, {affected} rows, id {insert_id}, {}", String::from_utf8_lossy(info))
            }
            Answer::Refused { number, message } => format!("ERROR {number}: {message}"),
            Answer::Broken(why) => format!("BROKEN: {why}"),
        }
    }
}

/// A row as a person reads it.
#[must_use]
pub fn show_row(row: &Cells) -> String {
    let cells: Vec<String> = row
        .iter()
        .map(|cell| match cell {
            None => "NULL".to_owned(),
            Some(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) if !text.chars().any(|char| char.is_control() && char != '\n') => {
                    text.replace('\n', "\\n")
                }
                _ => bytes.iter().fold("0x".to_owned(), |text, byte| format!("{text}{byte:02X}")),
            },
        })
        .collect();
    cells.join(" | ")
}

/// A server and a session on it.
#[derive(Debug)]
pub struct Server {
    options: Options,
    database: String,
    connection: Connection,
}

impl Server {
    /// Connects, with an empty database of this name.
    ///
    /// # Errors
    /// The server is not there or refuses.
    pub fn connect(options: &Options, database: &str) -> Result<Server, Error> {
        let mut options = options.clone();
        options.multi_statements = true;
        options.read_timeout = Some(ANSWER_TIME_MAX);
        options.write_timeout = Some(ANSWER_TIME_MAX);
        let connection = Connection::connect(&options)?;
        let mut server = Server { options, database: database.to_owned(), connection };
        server.prepare_session()?;
        Ok(server)
    }

    fn prepare_session(&mut self) -> Result<(), Error> {
        for sql in SESSION {
            self.connection.run(sql.as_bytes())?;
        }
        match self.connection.run(SESSION_IF_ALLOWED.as_bytes()) {
            Err(error) if error.number().is_none() => return Err(error),
            _ => {}
        }
        Ok(())
    }

    /// The connection, for a statement whose answer is read later.
    pub fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }

    /// An empty database, and a session as it is at first.
    ///
    /// # Errors
    /// The connection's.
    pub fn fresh_database(&mut self) -> Result<(), Error> {
        if self.connection.is_broken() {
            self.reconnect()?;
        }
        let name = &self.database;
        let sql = format!(
            "ROLLBACK; SET sql_mode = DEFAULT; CREATE DATABASE IF NOT EXISTS {name}; USE {name}; \
             DROP TEMPORARY TABLE IF EXISTS t0, t1, t2, t3; DROP DATABASE {name}; CREATE DATABASE {name}; USE {name}"
        );
        let made = self.connection.run(sql.as_bytes()).map(|_| ());
        if made.is_err() && self.connection.is_broken() {
            // The server broke off since the connection was used last.
            self.reconnect()?;
            return self.connection.run(sql.as_bytes()).map(|_| ());
        }
        made
    }

    /// Connects again after the connection broke, waiting for the server to come back.
    ///
    /// # Errors
    /// It does not come back.
    pub fn reconnect(&mut self) -> Result<(), Error> {
        let begin = std::time::Instant::now();
        loop {
            match Connection::connect(&self.options) {
                Ok(connection) => {
                    self.connection = connection;
                    return self.prepare_session();
                }
                Err(error) if begin.elapsed() > RESTART_TIME_MAX => return Err(error),
                Err(_) => std::thread::sleep(Duration::from_millis(300)),
            }
        }
    }

    /// Sends a statement; [`read`](Self::read) its answer then.
    pub fn send(&mut self, sql: &str) {
        let _ = self.connection.query(sql.as_bytes()); // A broken connection is reported by `read`.
    }

    /// The answer to what was sent.
    pub fn read(&mut self) -> Answer {
        match self.connection.pending() {
            Some(answer) => read(answer),
            None => Answer::Broken("the connection is broken".to_owned()),
        }
    }

    /// Sends a statement and reads its answer.
    pub fn ask(&mut self, sql: &str) -> Answer {
        self.send(sql);
        self.read()
    }

    /// Prepares and executes a statement, and closes it.
    pub fn ask_prepared(&mut self, sql: &str, values: &[Value]) -> Answer {
        let mut statement = match self.connection.prepare(sql.as_bytes()) {
            Ok(statement) => statement,
            Err(error) => return failed(error),
        };
        if statement.parameter_count() != values.len() {
            return Answer::Broken(format!("{} parameters", statement.parameter_count()));
        }
        let parameters: Vec<Param<'_>> = values.iter().map(Value::parameter).collect();
        let answer = match self.connection.execute(&mut statement, &parameters) {
            Ok(answer) => read(answer),
            Err(error) => failed(error),
        };
        let _ = self.connection.close(statement); // The server does not answer.
        answer
    }

    /// SHOW WARNINGS, as lines.
    pub fn warnings(&mut self) -> Vec<String> {
        match self.ask("SHOW WARNINGS") {
            Answer::Rows { rows, .. } => rows.iter().map(show_row).collect(),
            other => vec![other.show(0)],
        }
    }
}

fn failed(error: Error) -> Answer {
    match error {
        Error::Server(error) => Answer::Refused { number: error.number, message: error.message },
        other => Answer::Broken(other.to_string()),
    }
}

/// An answer of more rows is not compared: it is as uncertain as one that took too long.
const ROWS_MAX: usize = 200_000;

/// Reads the last result of an answer.
fn read(mut answer: client::Answer<'_>) -> Answer {
    let mut last = Answer::Broken("no result".to_owned());
    loop {
        match answer.next_result() {
            Ok(true) => {}
            Ok(false) => return last,
            Err(error) => return failed(error),
        }
        if !answer.has_rows() {
            let summary = answer.summary();
            last = Answer::Done {
                affected: summary.affected_rows,
                insert_id: summary.last_insert_id,
                warnings: summary.warnings,
                info: answer.info().to_vec(),
            };
            continue;
        }
        let columns = answer.columns().iter().map(|column| Described::of(&column)).collect();
        let mut rows = Vec::new();
        let mut is_too_long = false;
        loop {
            match answer.next_row() {
                Ok(Some(_)) if rows.len() == ROWS_MAX => is_too_long = true,
                Ok(Some(row)) => {
                    let cells = row.cells().zip(row.columns().iter()).map(|(cell, column)| {
                        let mut text = Vec::new();
                        cell.write_text(&column, &mut text).then_some(text)
                    });
                    rows.push(cells.collect());
                }
                Ok(None) => break,
                Err(error) => return failed(error),
            }
        }
        if is_too_long {
            last = Answer::Refused { number: 3024, message: format!("more than {ROWS_MAX} rows") };
            continue;
        }
        last = Answer::Rows { columns, rows, warnings: answer.summary().warnings };
    }
}

/// Appends the names of these flags, each after a blank.
pub fn write_flags(flags: ColumnFlags, line: &mut String) {
    for (flag, name) in [
        (ColumnFlags::NOT_NULL, "NOT_NULL"),
        (ColumnFlags::PRI_KEY, "PRI"),
        (ColumnFlags::UNIQUE_KEY, "UNIQUE"),
        (ColumnFlags::MULTIPLE_KEY, "MULTIPLE"),
        (ColumnFlags::BLOB, "BLOB"),
        (ColumnFlags::UNSIGNED, "UNSIGNED"),
        (ColumnFlags::ZEROFILL, "ZEROFILL"),
        (ColumnFlags::BINARY, "BINARY"),
        (ColumnFlags::ENUM, "ENUM"),
        (ColumnFlags::AUTO_INCREMENT, "AUTO"),
        (ColumnFlags::TIMESTAMP, "TIMESTAMP"),
        (ColumnFlags::SET, "SET"),
        (ColumnFlags::NO_DEFAULT_VALUE, "NO_DEFAULT"),
        (ColumnFlags::ON_UPDATE_NOW, "ON_UPDATE"),
        (ColumnFlags::NUM, "NUM"),
    ] {
        if flags.has(flag) {
            line.push(' ');
            line.push_str(name);
        }
    }
}
