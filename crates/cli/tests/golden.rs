//! Golden scripts: SQL through a real server over the wire, everything a client sees written beside it.
//!
//! A script `sql/NAME.test` (its form: crate `script`) runs in a fresh database `golden_NAME`, as default database of the
//! unnamed session and of each other (`a> ...`), which is opened when first used. What is printed: columns with type, length
//! and flags; rows; counts, insert ids and info; warnings; errors. A query is asked a second time as a prepared statement,
//! and the two protocols must tell the same.
//!
//! | command | what |
//! | --- | --- |
//! | `& SQL` | sends it and does not wait for the answer: it may have to wait for another session's lock |
//! | `&` | reads that answer |
//! | `\connect USER PASSWORD [DATABASE]` | this session from now on; `-` for no password |
//! | `\connect_expired USER PASSWORD` | the same, by a client that can change an expired password |
//! | `\disconnect` | ends this session |
//! | `\names` | from now on columns are printed by name alone: for scripts about rows, since flags depend on the plan in MySQL |
//! | `\reset` | COM_RESET_CONNECTION |
//! | `\change_user USER PASSWORD [DATABASE]` | COM_CHANGE_USER; `-` for no password |
//!
//! `INVAR_REWRITE=1` writes what comes out; `INVAR_SCRIPT=NAME` runs one script. With `INVAR_ORACLE=mysql://...` the same
//! scripts run on a MySQL 9.7: what it answers otherwise must stand in `sql/NAME.differences`, a script of the blocks that
//! differ with MySQL's answers, each below a comment that says why. Rewriting keeps the comments. A script whose first comment
//! names MariaDB is compared with the MariaDB 11.8 that `INVAR_ORACLE_MARIADB` names (`sql/NAME.mariadb-differences`), with MySQL only if that
//! comment says "with MySQL and with MariaDB".

mod harness;
mod remote;
#[path = "remote/backend.rs"]
mod remote_backend;
#[path = "remote/server.rs"]
mod remote_server;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use client::{Answer, Cell, Column, ColumnFlags, ColumnType, Connection, Error, Options, Param};
use script::Block;

/// Time given to a statement that is not waited for, so that it gets as far as it can.
const SETTLE: std::time::Duration = std::time::Duration::from_millis(30);
/// So many times, if the server is not seen to have it wait for a row or to have answered. Other waits are not asked for.
const SETTLES_MAX: usize = 10;

/// One side that answers scripts.
struct World {
    options: Options,
    sessions: BTreeMap<String, Connection>,
    /// Asks how far a statement is that is not waited for.
    watcher: Option<Connection>,
    /// Ask queries by both protocols.
    both_protocols: bool,
    /// Print only the names of columns.
    names_only: bool,
}

impl World {
    fn new(mut options: Options, database: &str, both_protocols: bool) -> World {
        options.multi_statements = true;
        options.local_files = true;
        let mut connection = Connection::connect(&options).expect("the server answers");
        for sql in [format!("DROP DATABASE IF EXISTS {database}"), format!("CREATE DATABASE {database}")] {
            connection.run(sql.as_bytes()).expect("a fresh database");
        }
        options.database = Some(database.to_owned());
        World { options, sessions: BTreeMap::new(), watcher: None, both_protocols, names_only: false }
    }

    fn run(&mut self, block: &Block) -> String {
        let mut output = String::new();
        for command in &block.commands {
            let mut text = String::new();
            self.command(&command.session, &command.text, &mut text);
            if command.session.is_empty() {
                output.push_str(&text);
            } else {
                for line in text.lines() {
                    let _ = writeln!(output, "{}: {line}", command.session);
                }
            }
        }
        output
    }

    fn command(&mut self, session: &str, sql: &str, output: &mut String) {
        let expired = sql.strip_prefix("\\connect_expired ");
        if let Some(arguments) = expired.or_else(|| sql.strip_prefix("\\connect ")) {
            let mut arguments = arguments.split(' ');
            let mut options = self.options.clone();
            options.changes_expired_password = expired.is_some();
            options.user = arguments.next().unwrap_or_default().to_owned();
            options.password =
                arguments.next().filter(|password| *password != "-").unwrap_or_default().as_bytes().to_vec();
            options.database = arguments.next().map(str::to_owned);
            match Connection::connect(&options) {
                Ok(connection) => {
                    let connection = if expired.is_some() { connection } else { ready(connection) };
                    self.sessions.insert(session.to_owned(), connection);
                    output.push_str("ok\n");
                }
                // MySQL asks who gives an unknown account for the password of an account that is not there, by any plugin.
                Err(Error::Option(text))
                    if text == "authentication plugin 'sha256_password' is not known" =>
                {
                    let _ = writeln!(
                        output,
                        "ERROR 1045 (28000): Access denied for user '{}'@'localhost' (using password: {})",
                        options.user,
                        if options.password.is_empty() { "NO" } else { "YES" },
                    );
                }
                Err(error) => {
                    let _ = writeln!(output, "{error}");
                }
            }
            return;
        }
        if sql == "\\disconnect" {
            if let Some(connection) = self.sessions.remove(session) {
                connection.quit();
            }
            output.push_str("ok\n");
            return;
        }
        if sql == "\\names" {
            self.names_only = true;
            return;
        }
        let names_only = self.names_only;
        let options = &self.options;
        let connection = self
            .sessions
            .entry(session.to_owned())
            .or_insert_with(|| ready(Connection::connect(options).expect("the server answers")));
        if let Some(arguments) = sql.strip_prefix("\\change_user ") {
            let mut arguments = arguments.split(' ');
            let user = arguments.next().unwrap_or_default();
            let password = arguments.next().filter(|password| *password != "-").unwrap_or_default();
            match connection.change_user(user, password.as_bytes(), arguments.next()) {
                Ok(()) => output.push_str("ok\n"),
                Err(error) => {
                    let _ = writeln!(output, "{error}");
                }
            }
        } else if sql == "\\reset" {
            match connection.reset_session() {
                Ok(_) => output.push_str("ok\n"),
                Err(error) => {
                    let _ = writeln!(output, "{error}");
                }
            }
        } else if sql == "&" {
            match connection.pending() {
                Some(answer) => print_answer(answer, names_only, output),
                None => output.push_str("nothing was asked\n"),
            }
        } else if let Some(sql) = sql.strip_prefix("& ") {
            if let Err(error) = connection.query(sql.as_bytes()) {
                let _ = writeln!(output, "{error}");
            }
            let connection_id = connection.connection_id();
            self.settle(connection_id);
            return;
        } else {
            let mut rows = Vec::new();
            match connection.query(sql.as_bytes()) {
                Ok(answer) => rows = print_results(answer, names_only, output),
                Err(error) => {
                    let _ = writeln!(output, "{error}");
                }
            }
            // PREPARE reports what is wrong with a text; EXECUTE does not report it again.
            let answered = output.len();
            print_warnings(connection, output);
            let warnings = output.split_off(answered);
            if self.both_protocols && is_plain_query(sql) {
                compare_protocols(connection, sql, &rows, output);
            }
            output.push_str(&warnings);
            if connection.is_broken() {
                self.sessions.remove(session);
            }
            return;
        }
        print_warnings(connection, output);
        if connection.is_broken() {
            self.sessions.remove(session);
        }
    }
}

impl World {
    /// Waits until a connection waits for a row or for its client.
    fn settle(&mut self, connection_id: u32) {
        let options = &self.options;
        let watcher =
            self.watcher.get_or_insert_with(|| Connection::connect(options).expect("the server answers"));
        let sql = format!(
            "SELECT 1 FROM information_schema.INNODB_TRX WHERE trx_mysql_thread_id = {connection_id} \
             AND trx_state = 'LOCK WAIT' UNION ALL \
             SELECT 1 FROM information_schema.PROCESSLIST WHERE ID = {connection_id} AND COMMAND = 'Sleep'"
        );
        for _ in 0..SETTLES_MAX {
            std::thread::sleep(SETTLE);
            let mut answer = watcher.query(sql.as_bytes()).expect("the account may see all");
            let mut settled = false;
            while answer.next_result().expect("the server answers") {
                while answer.next_row().expect("the server answers").is_some() {
                    settled = true;
                }
            }
            if settled {
                return;
            }
        }
    }
}

/// The files that LOAD DATA LOCAL INFILE finds, by name.
const FILES: &[(&str, &[u8])] = &[
    ("plain", b"1\tone\t10\n2\ttw\\to\t20\n3\t\\N\t\\N\n"),
    ("csv", b"id,a,b\r\n10,\"ten, 10\",1\r\n11,\"say \"\"x\"\"\",2\r\n12,plain,3\r\n"),
    ("short", b"20,a\n21,b,5,extra\n22\nx,y,z\n23,much too long for it,1"),
    ("starting", b"xx30|a|1\nno31|b|2\nyyxx32|c|3\n"),
    ("latin1", b"40,\xe9,1\n"),
    ("fields", b"1\n2,\n3,a\n\n4,b,5\n5,c,6,7\n"),
    ("trailing", b"1,a,\n2,\"b\",\n3,c,,\n4,d,\"x\ny\"\n5\n6,e,x"),
    ("lead", b"60,ab\xffcd,1\n"),
    ("cut", b"60,ab\xe2\x82,1\n"),
    ("badutf8", b"50,\xff\xfe,1\n51,ok,2\n"),
];

/// Settings in which servers may differ, made equal.
fn ready(mut connection: Connection) -> Connection {
    connection.set_local_file(Some(Box::new(|name| {
        let found = FILES.iter().find(|(file, _)| *file == name);
        let (_, bytes) = found.ok_or(std::io::Error::from(std::io::ErrorKind::NotFound))?;
        Ok(Box::new(*bytes))
    })));
    connection.run(b"SET time_zone = '+00:00', timestamp = 1700000000.123456").expect("anybody may");
    connection
}

fn print_answer(answer: Answer<'_>, names_only: bool, output: &mut String) {
    let _rows = print_results(answer, names_only, output);
}

/// Prints all results; the rows of the last are given back.
fn print_results(mut answer: Answer<'_>, names_only: bool, output: &mut String) -> Vec<String> {
    let mut rows = Vec::new();
    loop {
        match answer.next_result() {
            Ok(true) => {}
            Ok(false) => return rows,
            Err(error) => {
                let _ = writeln!(output, "{error}");
                return rows;
            }
        }
        rows.clear();
        if !answer.has_rows() {
            print_ok(&answer, output);
            continue;
        }
        let name = |column: &Column<'_>| String::from_utf8_lossy(column.name).into_owned();
        let print = |column: Column<'_>| if names_only { name(&column) } else { describe(&column) };
        let columns: Vec<String> = answer.columns().iter().map(print).collect();
        let _ = writeln!(output, "[{}]", columns.join(" | "));
        loop {
            match answer.next_row() {
                Ok(Some(row)) => {
                    let columns = row.columns();
                    let cells: Vec<String> =
                        row.cells().zip(columns.iter()).map(|(cell, column)| show(cell, &column)).collect();
                    let _ = writeln!(output, "{}", cells.join(" | "));
                    rows.push(cells.join(" | "));
                }
                Ok(None) => break,
                Err(error) => {
                    let _ = writeln!(output, "{error}");
                    return rows;
                }
            }
        }
    }
}

fn print_ok(answer: &Answer<'_>, output: &mut String) {
    let summary = answer.summary();
    output.push_str("ok");
    if summary.affected_rows > 0 {
        let _ = write!(output, ", {} rows", summary.affected_rows);
    }
    if summary.last_insert_id > 0 {
        let _ = write!(output, ", id {}", summary.last_insert_id);
    }
    if !answer.info().is_empty() {
        let _ = write!(output, ", {}", String::from_utf8_lossy(answer.info()));
    }
    output.push('\n');
}

/// What the server notes about the statement, the error it ended with left out.
fn print_warnings(connection: &mut Connection, output: &mut String) {
    if connection.is_broken() {
        return;
    }
    let mut lines = Vec::new();
    let mut read = || -> Result<(), Error> {
        let mut answer = connection.query(b"SHOW WARNINGS")?;
        while answer.next_result()? {
            while let Some(row) = answer.next_row()? {
                let [level, number, message] =
                    [0, 1, 2].map(|at| row.cell(at).as_bytes().unwrap_or_default());
                lines.push([level, b" ", number, b": ", message].concat());
            }
        }
        Ok(())
    };
    if let Err(error) = read() {
        let _ = writeln!(output, "SHOW WARNINGS: {error}");
    }
    for line in lines {
        let line = String::from_utf8_lossy(&line).into_owned();
        let (level, rest) = line.split_once(' ').unwrap_or((&line, ""));
        let is_last_error = level == "Error"
            && rest.split_once(": ").is_some_and(|(number, message)| {
                output.contains(&format!("ERROR {number} ")) && output.contains(message)
            });
        if !is_last_error {
            let _ = writeln!(output, "{line}");
        }
    }
}

fn describe(column: &Column<'_>) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut line = text(column.name);
    if column.org_name != column.name && !column.org_name.is_empty() {
        let _ = write!(line, "={}", text(column.org_name));
    }
    if !column.org_table.is_empty() {
        let _ = write!(line, " of {}", text(column.org_table));
        if column.org_table != column.table {
            let _ = write!(line, " {}", text(column.table));
        }
    }
    let _ = write!(line, " {:?}({}", column.column_type, column.length);
    if column.decimals > 0 {
        let _ = write!(line, ",{}", column.decimals);
    }
    line.push(')');
    if column.collation != 63 {
        let _ = write!(line, " c{}", column.collation);
    }
    differential::server::write_flags(column.flags, &mut line);
    line
}

fn show(cell: Cell<'_>, column: &Column<'_>) -> String {
    let mut bytes = Vec::new();
    if !cell.write_text(column, &mut bytes) {
        return "NULL".to_owned();
    }
    let is_text = column.collation != 63 || bytes.iter().all(|byte| (b' '..=b'~').contains(byte));
    let mut shown = String::new();
    match std::str::from_utf8(&bytes) {
        Ok(text) if is_text => {
            for character in text.chars() {
                match character {
                    '\n' => shown.push_str("\n    "),
                    control if control < ' ' => {
                        let _ = write!(shown, "\\x{:02X}", control as u32);
                    }
                    other => shown.push(other),
                }
            }
        }
        _ => {
            shown.push_str("0x");
            for byte in bytes {
                let _ = write!(shown, "{byte:02X}");
            }
        }
    }
    shown
}

/// A query that may be asked twice: no locks, no assignments, nothing that counts what was done before.
fn is_plain_query(sql: &str) -> bool {
    let upper = sql.to_ascii_uppercase();
    ["SELECT", "WITH", "VALUES", "TABLE", "("].iter().any(|word| upper.starts_with(word))
        && ![
            ":=",
            "?",
            " INTO ",
            "FOR UPDATE",
            "FOR SHARE",
            "ROW_COUNT",
            "FOUND_ROWS",
            "RAND(",
            "UUID",
            "SLEEP",
            "GET_LOCK",
            "RELEASE",
            "CONNECTION_ID",
            "LAST_INSERT_ID(",
            ";",
            "WARNING_COUNT",
            "ERROR_COUNT",
            "SQL_CALC",
        ]
        .iter()
        .any(|word| upper.contains(word))
}

/// Prints where a prepared statement tells otherwise than the query did.
fn compare_protocols(connection: &mut Connection, sql: &str, rows: &[String], output: &mut String) {
    let failed = output.contains("ERROR");
    let prepared = (|| -> Result<Vec<String>, Error> {
        let mut statement = connection.prepare(sql.as_bytes())?;
        let values = vec![Param::Null; statement.parameter_count()];
        let mut lines = Vec::new();
        {
            let mut answer = connection.execute(&mut statement, &values)?;
            while answer.next_result()? {
                while let Some(row) = answer.next_row()? {
                    let cells: Vec<String> = row
                        .cells()
                        .zip(row.columns().iter())
                        .map(|(cell, column)| show_binary(cell, &column))
                        .collect();
                    lines.push(cells.join(" | "));
                }
            }
        }
        connection.close(statement)?;
        Ok(lines)
    })();
    match prepared {
        Ok(_) if failed => output.push_str("PREPARED: no error\n"),
        Ok(lines) if lines == rows => {}
        Ok(lines) => {
            for (index, line) in
                lines.iter().enumerate().filter(|(index, line)| rows.get(*index) != Some(line)).take(3)
            {
                let _ = writeln!(output, "PREPARED: row {index}: {line}");
            }
            if lines.len() != rows.len() {
                let _ = writeln!(output, "PREPARED: {} rows", lines.len());
            }
        }
        Err(error) if output.contains(&error.to_string()) => {}
        Err(error) => {
            let _ = writeln!(output, "PREPARED: {error}");
        }
    }
}

/// As [`show`], a prepared statement's zero-filled DECIMAL and BIT being text already.
fn show_binary(cell: Cell<'_>, column: &Column<'_>) -> String {
    match column.column_type {
        ColumnType::NewDecimal | ColumnType::Bit => {
            let flags = column.flags.without(ColumnFlags::ZEROFILL);
            show(cell, &Column { flags, ..*column })
        }
        _ => show(cell, column),
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sql")
}

fn read(path: &Path) -> (Vec<Block>, String) {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    script::parse(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn write(path: &Path, blocks: &[Block], tail: &str) {
    if blocks.is_empty() {
        let _ = std::fs::remove_file(path); // There may be none.
    } else {
        std::fs::write(path, script::print(blocks, tail))
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
}

/// Which host a client comes from and who administers differ between servers: the names in refusals are not compared.
fn without_hosts(output: &str, administrator: &str) -> String {
    let mut text = String::new();
    for line in output.lines() {
        if line.contains("denied") {
            let line = line.replace(&format!("'{administrator}'@"), "'administrator'@");
            text.push_str(
                &["'127.0.0.1'", "'%'"]
                    .iter()
                    .fold(line, |line, host| line.replace(&format!("@{host}"), "@'localhost'")),
            );
        } else {
            text.push_str(line);
        }
        text.push('\n');
    }
    text
}

/// MariaDB says more in 1020, and BEGIN, COMMIT and ROLLBACK leave errors among the warnings.
fn without_repeated_errors(output: &str) -> String {
    let lines =
        output.lines().filter(|line| !line.contains(": Error 1020: ") && !line.contains(": Error 1213: "));
    let lines: Vec<&str> = lines
        .map(|line| match line.split_once("; try restarting transaction") {
            Some((said, _)) if line.contains("ERROR 1020") => said,
            _ => line,
        })
        .collect();
    lines.join("\n")
}

/// Where the clock of a MySQL's sessions is not the one of its engine, ages in this view are too long for a TIME.
fn without_ages(output: &str) -> String {
    let is_age = |line: &&str| line.starts_with("Warning 1292: Truncated incorrect time value");
    let lines: Vec<&str> = output.lines().filter(|line| !is_age(line)).collect();
    lines.join("\n")
}

fn commands(block: &Block) -> String {
    block
        .commands
        .iter()
        .map(|command| format!("{}> {}", command.session, command.text))
        .collect::<Vec<_>>()
        .join("\n")
}

/// The servers to compare with.
struct Oracles {
    mysql: Option<Options>,
    mariadb: Option<Options>,
}

/// Runs one script on our server and, if there is one, on the other that it is to be compared with; says what is wrong.
fn check(path: &Path, oracles: &Oracles) -> Vec<String> {
    let name = path.file_stem().expect("a script has a name").to_string_lossy().into_owned();
    let database = format!("golden_{name}");
    let mut wrong = Vec::new();
    let (mut blocks, tail) = read(path);
    let rewrite = script::is_rewriting();

    let server = harness::Server::start(&["--skip-ssl", "--local-infile=1"]);
    let mut ours = World::new(server.options(), &database, true);
    for block in &mut blocks {
        let output = script::as_output(&ours.run(block));
        if rewrite {
            block.output = output;
        } else if output != block.output {
            wrong.push(format!(
                "{}:{}: the output changed (INVAR_REWRITE=1 writes it down)\n{}\n--- expected\n{}\n--- actual\n{output}\n",
                path.display(),
                block.line,
                commands(block),
                block.output,
            ));
        }
    }
    let ours_user = ours.options.user.clone();
    drop(ours);
    server.stop();
    if rewrite {
        write(path, &blocks, &tail);
    }

    let named = |word: &str| blocks.first().is_some_and(|block| block.preamble.contains(word));
    let script = Written { path, blocks: &blocks, database: &database, user: &ours_user };
    if named("MariaDB") {
        let differences = path.with_extension("mariadb-differences");
        wrong.extend(script.compare(oracles.mariadb.as_ref(), &differences, true));
    }
    if !named("MariaDB") || named("with MySQL and") {
        let compare = || script.compare(oracles.mysql.as_ref(), &path.with_extension("differences"), false);
        let mut found = compare();
        if !found.is_empty() && oracles.mysql.is_some() {
            // What depends on the other server's moment (a time limit, a purge) is not found a second time.
            println!("{}: asked once more", path.display());
            found = compare();
        }
        wrong.extend(found);
    }
    wrong
}

/// A script as our server answers it.
struct Written<'a> {
    path: &'a Path,
    blocks: &'a [Block],
    database: &'a str,
    /// Whom it ran as.
    user: &'a str,
}

impl Written<'_> {
    /// Runs the script on another server, if there is one, and says where that answers otherwise than is written in `differences_path`.
    fn compare(&self, oracle: Option<&Options>, differences_path: &Path, is_mariadb: bool) -> Vec<String> {
        let Written { path, blocks, database, user } = *self;
        let rewrite = script::is_rewriting();
        let mut wrong = Vec::new();
        // A difference is known by its commands; the same commands may differ more than once.
        let (listed, differences_tail) = read(differences_path);
        let mut reasons: BTreeMap<String, Vec<Block>> = BTreeMap::new();
        for block in listed {
            if !rewrite && !block.preamble.contains('#') {
                wrong.push(format!("{}:{}: no reason is given", differences_path.display(), block.line));
            }
            reasons.entry(commands(&block)).or_default().push(block);
        }
        let Some(oracle) = oracle else {
            for (asked, listed) in &reasons {
                if !blocks.iter().any(|block| {
                    commands(block) == *asked && listed.iter().all(|one| one.output != block.output)
                }) {
                    wrong.push(format!("{}: no such difference: {asked}", differences_path.display()));
                }
            }
            return wrong;
        };
        let mut theirs = World::new(oracle.clone(), database, false);
        let mut settings = Connection::connect(oracle).expect("the other server answers");
        settings.run(b"SET GLOBAL local_infile = ON").expect("the account may");
        let mut differences = Vec::new();
        for block in blocks {
            let mut output = script::as_output(&theirs.run(block));
            if is_mariadb {
                output = without_repeated_errors(&output);
            }
            if commands(block).contains("sys.innodb_lock_waits") {
                output = without_ages(&output);
            }
            if without_hosts(&output, &oracle.user) == without_hosts(&block.output, user) {
                continue;
            }
            let listed = reasons
                .get_mut(&commands(block))
                .filter(|listed| !listed.is_empty())
                .map(|listed| listed.remove(0));
            let is_listed = listed.as_ref().is_some_and(|listed| listed.output == output);
            if !rewrite && !is_listed {
                wrong.push(format!(
                    "{}:{}: the other server answers otherwise\n{}\n--- ours\n{}\n--- theirs\n{output}\n",
                    path.display(),
                    block.line,
                    commands(block),
                    block.output
                ));
            }
            let preamble = listed.map_or_else(String::new, |listed| listed.preamble);
            differences.push(Block { preamble, output, ..block.clone() });
        }
        for (asked, left) in reasons.iter().filter(|(_, left)| !left.is_empty()) {
            if !rewrite {
                wrong.push(format!(
                    "{}: {} differences are gone: {asked}",
                    differences_path.display(),
                    left.len()
                ));
            }
        }
        theirs.run(&Block {
            commands: vec![script::Command {
                session: String::new(),
                text: format!("DROP DATABASE {database}"),
            }],
            ..Block::default()
        });
        if rewrite {
            write(differences_path, &differences, &differences_tail);
        }
        wrong
    }
}

#[test]
fn scripts_answer_as_written() {
    let oracles =
        Oracles { mysql: harness::oracle("INVAR_ORACLE"), mariadb: harness::oracle("INVAR_ORACLE_MARIADB") };
    let only = std::env::var("INVAR_SCRIPT").ok();
    let paths: Vec<PathBuf> = script::files(&folder(), "test")
        .into_iter()
        .filter(|path| {
            only.as_ref().is_none_or(|only| path.file_stem().is_some_and(|stem| stem == only.as_str()))
        })
        .collect();
    assert!(!paths.is_empty(), "INVAR_SCRIPT names no script");
    let next = AtomicUsize::new(0);
    let wrong = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(path) = paths.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let found = check(path, &oracles);
                    wrong.lock().expect("no checker panics holding it").extend(found);
                }
            });
        }
    });
    let wrong = wrong.into_inner().expect("no checker panics holding it");
    assert!(wrong.is_empty(), "{} differences\n{}", wrong.len(), wrong.join("\n"));
}

/// Scripts that do not run over tables of another server: in three a statement waits for a metadata lock, which nobody takes there; the
/// others have keys over expressions, whose columns no statement can name.
const NOT_OVER_ANOTHER_SERVER: &[&str] = &[
    "locks",
    "metadata",
    "savepoint_metadata",
    "functional_indexes",
    "generated_columns",
    "generated_values",
    // A transaction that has begun there without a name cannot be prepared.
    "xa",
];

/// What is answered otherwise over tables of another server, by script: reasons, each with the commands that it holds for.
///
/// ```text
/// [script]
/// # why
/// > the first line of a block's first command
/// ```
struct Otherwise {
    path: PathBuf,
    head: String,
    by_script: BTreeMap<String, Vec<(String, String)>>,
}

impl Otherwise {
    fn read(file: &str) -> Otherwise {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(file);
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let (mut head, mut by_script) = (String::new(), BTreeMap::<String, Vec<(String, String)>>::new());
        let (mut script, mut reason) = (String::new(), String::new());
        for line in text.lines().filter(|line| !line.is_empty()) {
            if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                (script, reason) = (name.to_owned(), String::new());
            } else if script.is_empty() {
                head.extend([line, "\n"]);
            } else if let Some(why) = line.strip_prefix("# ") {
                why.clone_into(&mut reason);
            } else {
                by_script.entry(script.clone()).or_default().push((reason.clone(), line.to_owned()));
            }
        }
        Otherwise { path, head, by_script }
    }

    fn write(&self) {
        let mut text = self.head.clone();
        for (script, commands) in self.by_script.iter().filter(|(_, commands)| !commands.is_empty()) {
            let _ = write!(text, "\n[{script}]\n");
            let mut before = None;
            for (reason, command) in commands {
                if before.replace(reason) != Some(reason) {
                    let _ = writeln!(text, "# {reason}");
                }
                let _ = writeln!(text, "{command}");
            }
        }
        std::fs::write(&self.path, text).unwrap_or_else(|error| panic!("{}: {error}", self.path.display()));
    }

    /// What a block is known by.
    fn name_of(block: &Block) -> String {
        commands(block).lines().next().unwrap_or_default().to_owned()
    }

    /// Compares what a script's blocks were found to answer otherwise with what is listed; rewriting, lists it with the reasons there are.
    fn compare(&mut self, script: &str, found: &[(String, String)], wrong: &mut Vec<String>) {
        let rewrite = script::is_rewriting();
        let mut listed = self.by_script.remove(script).unwrap_or_default();
        let mut now = Vec::new();
        for (name, report) in found {
            let reason = match listed.iter().position(|(_, listed)| listed == name) {
                Some(at) => listed.remove(at).0,
                None if rewrite => String::new(),
                None => {
                    wrong.push(format!("{script}: over another server the answer is another\n{report}"));
                    continue;
                }
            };
            if !rewrite && reason.is_empty() {
                wrong.push(format!("{}: {script}: no reason is given: {name}", self.path.display()));
            }
            now.push((reason, name.clone()));
        }
        if !rewrite {
            wrong.extend(
                listed.iter().map(|(_, name)| {
                    format!("{}: {script}: answers as it should: {name}", self.path.display())
                }),
            );
        }
        self.by_script.insert(script.to_owned(), now);
    }
}

/// The second backend of sessions: definitions here, rows on another server. Answers are the same, with no change in `session`, `plan` or
/// `exec`, but for those that are listed, each with its reason.
#[test]
fn scripts_answer_the_same_over_tables_of_another_server() {
    let there = harness::Server::start(&["--skip-ssl"]);
    let own = tempfile::tempdir().expect("a folder");
    let env = env::Env::real();
    let start = engine::StartOptions {
        data_folder: own.path().join("data"),
        variables: vec![("local_infile".into(), "1".into())],
        ..Default::default()
    };
    let engine = engine::Engine::open(&env, &start).expect("an empty folder opens");
    let service = remote_server::RemoteServer::new(&env, &engine, there.options());
    let address = "127.0.0.1:0".parse().expect("an address");
    let listeners = server::Listeners::bind(&[address], None).expect("a free port");
    let port = listeners.tcp_addresses()[0].port();
    let server = server::Server::start(listeners, server::Config::default(), std::sync::Arc::new(service))
        .expect("it serves");
    let host = "127.0.0.1".into();
    let options = Options { address: client::Address::Tcp { host, port }, ..there.options() };
    let only = std::env::var("INVAR_SCRIPT").ok();
    let mut wrong = Vec::new();
    let paths = script::files(&folder(), "test");
    let name_of = |path: &Path| path.file_stem().expect("a script has a name").to_string_lossy().into_owned();
    let names: Vec<String> = paths.iter().map(|path| name_of(path)).collect();
    let mut otherwise = Otherwise::read("remote/otherwise.txt");
    let listed =
        NOT_OVER_ANOTHER_SERVER.iter().copied().chain(otherwise.by_script.keys().map(String::as_str));
    for name in listed {
        assert!(names.iter().any(|there| there == name), "{name} is no script");
    }
    for path in paths {
        let name = name_of(&path);
        let is_left_out = NOT_OVER_ANOTHER_SERVER.contains(&&*name);
        if is_left_out || only.as_ref().is_some_and(|only| *only != name) {
            continue;
        }
        let mut world = World::new(options.clone(), &format!("golden_{name}"), true);
        let mut found = Vec::new();
        for block in read(&path).0 {
            let output = script::as_output(&world.run(&block));
            if output != block.output {
                let (line, asked) = (block.line, commands(&block));
                let report =
                    format!("line {line}\n{asked}\n--- expected\n{}\n--- actual\n{output}\n", block.output);
                found.push((Otherwise::name_of(&block), report));
            }
        }
        otherwise.compare(&name, &found, &mut wrong);
    }
    if script::is_rewriting() {
        otherwise.write();
    }
    assert!(server.stop(std::time::Duration::from_secs(10)), "the server stops");
    assert!(wrong.is_empty(), "{} differences\n{}", wrong.len(), wrong.join("\n"));
}

/// Through `invar shard` a script's answers are the same, but for those that are listed, each with its reason.
#[test]
fn scripts_answer_the_same_through_a_relay() {
    let only = std::env::var("INVAR_SCRIPT").ok();
    let name_of = |path: &Path| path.file_stem().expect("a script has a name").to_string_lossy().into_owned();
    let paths: Vec<PathBuf> = script::files(&folder(), "test")
        .into_iter()
        .filter(|path| only.as_ref().is_none_or(|only| name_of(path) == *only))
        // Accounts are the front door's own, and COM_CHANGE_USER is not there yet.
        .filter(|path| {
            let text = std::fs::read_to_string(path).expect("a script can be read");
            !text.contains("\\connect") && !text.contains("\\change_user")
        })
        .collect();
    let next = AtomicUsize::new(0);
    let all = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                while let Some(path) = paths.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let server = harness::Server::start(&["--skip-ssl", "--local-infile=1"]);
                    let relay = harness::Server::relay(&server.options(), &[]);
                    let name = name_of(path);
                    let mut world = World::new(relay.options(), &format!("golden_{name}"), true);
                    let mut found = Vec::new();
                    for block in read(path).0 {
                        let output = script::as_output(&world.run(&block));
                        if output != block.output {
                            let (line, asked) = (block.line, commands(&block));
                            let expected = &block.output;
                            let report = format!(
                                "line {line}\n{asked}\n--- expected\n{expected}\n--- actual\n{output}\n"
                            );
                            found.push((Otherwise::name_of(&block), report));
                        }
                    }
                    all.lock().expect("nobody panics holding it").insert(name, found);
                }
            });
        }
    });
    let mut otherwise = Otherwise::read("relay/otherwise.txt");
    let mut wrong = Vec::new();
    for (name, found) in all.into_inner().expect("nobody panics holding it") {
        otherwise.compare(&name, &found, &mut wrong);
    }
    if script::is_rewriting() {
        otherwise.write();
    }
    assert!(wrong.is_empty(), "{} differences\n{}", wrong.len(), wrong.join("\n"));
}

/// SHOW ENGINE INNODB STATUS.
fn engine_status(connection: &mut Connection) -> String {
    let mut text = String::new();
    let mut answer = connection.query(b"SHOW ENGINE INNODB STATUS").expect("root may");
    while answer.next_result().expect("it answers") {
        while let Some(row) = answer.next_row().expect("it answers") {
            row.cell(2).as_str().unwrap_or_default().clone_into(&mut text);
        }
    }
    text
}

#[test]
fn engine_status_tells_of_waits_and_the_last_deadlock() {
    let server = harness::Server::start(&["--skip-ssl"]);
    let mut one = World::new(server.options(), "golden_status", false);
    let mut output = String::new();
    one.command("", "CREATE TABLE t (id INT PRIMARY KEY, v INT)", &mut output);
    one.command("", "INSERT INTO t VALUES (1, 0), (2, 0), (3, 0)", &mut output);
    for (session, sql) in [
        ("a", "BEGIN"),
        ("b", "BEGIN"),
        ("a", "UPDATE t SET v = 1 WHERE id IN (1, 3)"),
        ("b", "UPDATE t SET v = 2 WHERE id = 2"),
        ("a", "& UPDATE t SET v = 1 WHERE id = 2"),
    ] {
        one.command(session, sql, &mut output);
    }
    let mut watcher = Connection::connect(&server.options()).expect("the server answers");
    let status = engine_status(&mut watcher);
    assert!(!status.contains("LATEST DETECTED DEADLOCK"), "{status}");
    for told in [
        "TRX HAS BEEN WAITING",
        "RECORD LOCKS index PRIMARY of table `golden_status`.`t`",
        "key 2\n",
        "UPDATE t SET v = 1 WHERE id = 2",
    ] {
        assert!(status.contains(told), "{told} is not told in {status}");
    }
    one.command("b", "UPDATE t SET v = 2 WHERE id = 1", &mut output);
    one.command("a", "&", &mut output);
    assert!(output.contains("ERROR 1213"), "{output}");
    let status = engine_status(&mut watcher);
    let told = status.split("------------\nTRANSACTIONS").next().unwrap_or_default();
    for wanted in [
        "LATEST DETECTED DEADLOCK",
        "UPDATE t SET v = 1 WHERE id = 2",
        "UPDATE t SET v = 2 WHERE id = 1",
        "*** (1) HOLDS THE LOCK(S):\nRECORD LOCKS index PRIMARY of table `golden_status`.`t`",
        "*** WE ROLL BACK TRANSACTION (2)",
    ] {
        assert!(told.contains(wanted), "{wanted} is not told in {told}");
    }
    // Who waits for row 2 and holds row 1 is told first, then who has them the other way round.
    let keys: Vec<&str> = told.lines().filter(|line| line.starts_with("key ")).collect();
    assert_eq!(keys, ["key 1", "key 2", "key 2", "key 1"], "{told}");
    drop((watcher, one));
    server.stop();
}
