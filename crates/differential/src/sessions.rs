//! Transactions at random, over several connections: errors, rows, contents and the list of prepared branches of two servers are compared.
//! [`Mix::Branches`] is about XA transactions, [`Mix::Transactions`] about isolation levels, savepoints, temporary tables, definitions and what is
//! prepared in and around transactions.
//!
//! A case is some tables, three connections to each server and some statements. After a difference the next case begins, so each finding is
//! short. Branches carry the name of the case's database, so that other users of a server do not disturb it.
//!
//! Invariants:
//! 1. Both servers get the same statements over connections of the same number; which comes next depends on the seed and on what the right
//!    server answered.
//! 2. After a case no branch of its database is prepared on either server.

use std::time::{Duration, Instant};

use client::{Error, Options};

use crate::cases::{Finding, difference, show};
use crate::random::Random;
use crate::server::{Answer, Server};

/// Connections to each server.
const CONNECTIONS: usize = 3;
/// Statements in a case.
const STATEMENTS: usize = 30;
/// How long the end of a connection may take to show.
const DISCONNECT_TIME_MAX: Duration = Duration::from_secs(5);
const ER_LOCK_WAIT_TIMEOUT: u16 = 1205;
const ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION: u16 = 1792;
/// Waits for locks end soon: the servers are asked by one thread.
const SESSION: &str = "SET innodb_lock_wait_timeout = 1, lock_wait_timeout = 1";

/// Which statements.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Mix {
    /// XA transactions.
    Branches,
    /// Other transactions, and what statements that are not of rows do to them.
    Transactions,
}

/// State of a branch as the right server's answers show it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum State {
    /// No branch.
    None,
    /// Between XA START and XA END.
    Active,
    /// Ended.
    Idle,
    /// Prepared, and still of the connection.
    Prepared,
}

/// A connection to each server.
struct Connections {
    left: Server,
    right: Server,
    state: State,
    /// The number of its branch.
    branch: usize,
}

impl Connections {
    fn ask(&mut self, sql: &str) -> (Answer, Answer) {
        self.left.send(sql);
        self.right.send(sql);
        (self.left.read(), self.right.read())
    }

    /// Their numbers on the servers.
    fn ids(&mut self) -> [Option<String>; 2] {
        [connection_id(&mut self.left), connection_id(&mut self.right)]
    }

    /// Waits until the servers have ended connections of these numbers.
    fn wait_for_ends(&mut self, [left, right]: [Option<String>; 2]) {
        left.inspect(|id| wait_for_end(&mut self.left, id));
        right.inspect(|id| wait_for_end(&mut self.right, id));
    }

    /// The state after a statement that was answered so.
    fn follow(&mut self, sql: &str, answer: &Answer) {
        if !matches!(answer, Answer::Done { .. }) {
            return;
        }
        let word = |text: &str| sql.starts_with(text);
        if word("XA START") || word("XA BEGIN") {
            self.state = State::Active;
        } else if word("XA END") {
            self.state = State::Idle;
        } else if word("XA PREPARE") {
            self.state = State::Prepared;
        } else if word("XA COMMIT") || word("XA ROLLBACK") {
            self.state = State::None;
        }
    }
}

/// How the statements of a case went.
struct Ran {
    compared: usize,
    /// The kind of the difference, and both answers.
    found: Option<(&'static str, String)>,
    /// The tables hold the same on both servers.
    is_certain: bool,
}

/// Cases over two servers.
pub struct Sessions<'a> {
    left: &'a Options,
    right: &'a Options,
    database: &'a str,
    mix: Mix,
    /// Whether texts of errors are compared.
    texts: bool,
}

impl std::fmt::Debug for Sessions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sessions").field("database", &self.database).finish_non_exhaustive()
    }
}

/// Tables that both have at first.
const TABLES: &[&str] = &[
    "CREATE TABLE t (id INT PRIMARY KEY, v INT, w VARCHAR(20), KEY (v))",
    "CREATE TABLE u (id INT AUTO_INCREMENT PRIMARY KEY, t INT, FOREIGN KEY (t) REFERENCES t (id) ON DELETE CASCADE)",
    "INSERT INTO t VALUES (1, 1, 'a'), (2, 2, 'b'), (3, 3, 'c'), (4, 4, NULL), (5, 5, 'e'), (6, 6, 'f')",
    "INSERT INTO u VALUES (1, 1), (2, 2), (3, NULL)",
    "CREATE FUNCTION f() RETURNS INT DETERMINISTIC RETURN 1",
    "CREATE PROCEDURE p() UPDATE t SET v = v + 1 WHERE id = 1",
    "CREATE PROCEDURE q() BEGIN COMMIT; SELECT 1; END",
    "CREATE TABLE w (id INT PRIMARY KEY, v INT)",
    "CREATE TABLE l (id INT)",
    "INSERT INTO w VALUES (1, 10), (2, 20), (3, 30)",
    "CREATE FUNCTION h() RETURNS INT READS SQL DATA RETURN (SELECT SUM(v) FROM w)",
    "CREATE PROCEDURE c(OUT n INT) BEGIN DECLARE i INT; DECLARE o INT DEFAULT 0; DECLARE d CURSOR FOR SELECT id FROM w; \
     DECLARE EXIT HANDLER FOR NOT FOUND SET n = o; OPEN d; LOOP FETCH d INTO i; SET o = o + i; END LOOP; END",
];

/// What the tables hold in the end; a branch that still holds locks would be waited for.
const CONTENT: [&str; 4] = [
    "SELECT * FROM t ORDER BY id FOR UPDATE",
    "SELECT * FROM u ORDER BY id FOR UPDATE",
    "SELECT * FROM w ORDER BY id FOR UPDATE",
    "SELECT * FROM l ORDER BY id FOR UPDATE",
];

/// Beginnings, ends and savepoints of transactions.
const CONTROL: &[&str] = &[
    "COMMIT AND CHAIN",
    "SAVEPOINT s",
    "SAVEPOINT r",
    "ROLLBACK TO s",
    "ROLLBACK TO r",
    "RELEASE SAVEPOINT s",
    "SET autocommit = 0",
    "SET autocommit = 1",
    "BEGIN",
    "START TRANSACTION READ ONLY",
    "START TRANSACTION WITH CONSISTENT SNAPSHOT",
    "COMMIT",
    "ROLLBACK",
    "SET TRANSACTION ISOLATION LEVEL READ COMMITTED",
];

/// Statements that have their own rules in a branch, or end a transaction elsewhere.
const OTHERS: &[&str] = &[
    "ROLLBACK RELEASE",
    "SET SESSION xa_detach_on_prepare = 0",
    "SET SESSION xa_detach_on_prepare = 1",
    "SET SESSION TRANSACTION READ WRITE",
    "SET SESSION TRANSACTION READ ONLY",
    "SET @a = (SELECT COUNT(*) FROM t)",
    "SELECT @a",
    "DO 1",
    "DO f()",
    "CALL p()",
    "CALL q()",
    "LOCK TABLES t READ, u READ",
    "UNLOCK TABLES",
    "CREATE TEMPORARY TABLE x (a INT)",
    "CREATE TEMPORARY TABLE y SELECT 1 AS a",
    "INSERT INTO x VALUES (1)",
    "SELECT * FROM x",
    "SELECT * FROM y",
    "DROP TEMPORARY TABLE x",
    "CREATE TABLE z (a INT)",
    "CREATE TABLE z AS SELECT 1 AS a",
    "DROP TABLE IF EXISTS z",
    "ALTER TABLE u ADD COLUMN c INT",
    "TRUNCATE TABLE u",
    "ANALYZE TABLE u",
    "FLUSH TABLES u",
    "CREATE OR REPLACE VIEW v AS SELECT 1",
    "CHECK TABLE t",
    "SELECT 1",
    "SELECT @@autocommit, @@transaction_read_only",
];

/// Statements around transactions, and more of the most frequent of [`CONTROL`].
const SETTINGS: &[&str] = &[
    "BEGIN",
    "BEGIN",
    "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ WRITE",
    "COMMIT",
    "ROLLBACK AND CHAIN",
    "SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED",
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    "SET TRANSACTION READ ONLY",
    "SET completion_type = 1",
    "SET completion_type = 0",
    "SELECT @@autocommit, @@transaction_isolation, @@transaction_read_only",
];

/// Statements on temporary tables, one of which hides `w`.
const TEMPORARY: &[&str] = &[
    "CREATE TEMPORARY TABLE x (id INT PRIMARY KEY, v INT)",
    "CREATE TEMPORARY TABLE x LIKE t",
    "CREATE TEMPORARY TABLE x AS SELECT id, v FROM t",
    "CREATE TEMPORARY TABLE IF NOT EXISTS x (id INT AUTO_INCREMENT PRIMARY KEY, v INT) SELECT v FROM t",
    "CREATE TEMPORARY TABLE w (id INT PRIMARY KEY, v INT)",
    "INSERT INTO x (id, v) VALUES (50, 1), (51, 2)",
    "INSERT INTO x (v) VALUES (7)",
    "INSERT IGNORE INTO x (id, v) SELECT id, v FROM t",
    "INSERT INTO w SELECT 60 + COUNT(*), 1 FROM x",
    "UPDATE x SET v = v + 1",
    "UPDATE x JOIN t USING (id) SET x.v = t.v",
    "DELETE FROM x WHERE id > 50",
    "REPLACE INTO x (id, v) VALUES (50, 9)",
    "SELECT * FROM x ORDER BY id",
    "SELECT * FROM w ORDER BY id",
    "SELECT COUNT(*) FROM x JOIN t USING (id)",
    "ALTER TABLE x ADD COLUMN c INT DEFAULT 4",
    "ALTER TABLE x ADD INDEX (v)",
    "ALTER TABLE x RENAME TO y",
    "SELECT * FROM y ORDER BY id",
    "TRUNCATE TABLE x",
    "TRUNCATE TABLE w",
    "DROP TEMPORARY TABLE x",
    "DROP TEMPORARY TABLE IF EXISTS y, x",
    "DROP TABLE IF EXISTS x",
];

/// Definitions, of tables that transactions use seldom: others wait for them.
const DEFINITIONS: &[&str] = &[
    "CREATE TABLE z (id INT PRIMARY KEY, v INT)",
    "CREATE TABLE z AS SELECT id, v FROM t",
    "CREATE TABLE IF NOT EXISTS z LIKE w",
    "DROP TABLE IF EXISTS z",
    "ALTER TABLE w ADD COLUMN c INT DEFAULT 3",
    "ALTER TABLE w ADD COLUMN d INT NOT NULL FIRST",
    "ALTER TABLE w DROP COLUMN c",
    "ALTER TABLE w ADD INDEX k (v)",
    "ALTER TABLE w DROP INDEX k",
    "ALTER TABLE w MODIFY v VARCHAR(20)",
    "RENAME TABLE w TO z",
    "RENAME TABLE z TO w",
    "TRUNCATE TABLE w",
    "CREATE OR REPLACE VIEW v AS SELECT id, v FROM w",
    "CREATE OR REPLACE VIEW v AS SELECT COUNT(*) AS n FROM w",
    "DROP VIEW IF EXISTS v",
    "CREATE TRIGGER g BEFORE INSERT ON w FOR EACH ROW SET NEW.v = NEW.id + 1",
    "CREATE TRIGGER g AFTER UPDATE ON w FOR EACH ROW INSERT INTO l VALUES (NEW.id)",
    "DROP TRIGGER IF EXISTS g",
    "DROP FUNCTION IF EXISTS h",
    "CREATE FUNCTION h() RETURNS INT READS SQL DATA RETURN (SELECT COUNT(*) FROM w)",
    "SHOW CREATE TABLE w",
    "ANALYZE TABLE w",
    "CREATE INDEX k ON w (id, v)",
];

/// What is prepared lives through transactions and definitions.
const PREPARED: &[&str] = &[
    "PREPARE a FROM 'SELECT * FROM w ORDER BY id'",
    "PREPARE a FROM 'SELECT * FROM v ORDER BY 1'",
    "PREPARE a FROM 'SELECT id, v FROM t WHERE id > ? ORDER BY id'",
    "PREPARE a FROM 'SELECT * FROM x ORDER BY id'",
    "PREPARE b FROM 'INSERT INTO w (id, v) VALUES (?, 5)'",
    "PREPARE b FROM 'UPDATE w SET v = 8 WHERE id = ?'",
    "PREPARE b FROM 'DELETE FROM w WHERE id = ?'",
    "EXECUTE a",
    "EXECUTE a",
    "EXECUTE a USING @k",
    "EXECUTE b USING @k",
    "EXECUTE b USING @k",
    "DEALLOCATE PREPARE a",
    "SET @k = 1",
    "SET @k = 70",
    "SET @k = 71",
    "SET @k = '2'",
];

/// Statements over `w` and stored programs.
const OTHER_ROWS: &[&str] = &[
    "INSERT INTO w (id, v) VALUES (71, 1)",
    "INSERT INTO w (id, v) VALUES (72, 2), (73, 3), (71, 4)",
    "UPDATE w SET v = v + 1 WHERE id = 1",
    "DELETE FROM w WHERE id = 2",
    "SELECT * FROM w ORDER BY id",
    "SELECT * FROM v ORDER BY 1",
    "SELECT h()",
    "SELECT id, h() FROM t ORDER BY id",
    "CALL p()",
    "CALL q()",
    "CALL c(@n)",
    "SELECT @n, @a",
    "SELECT * FROM l ORDER BY id",
    "SELECT LAST_INSERT_ID()",
    "INSERT INTO u (t) VALUES (NULL)",
    "INSERT INTO u (t) SELECT id FROM t ORDER BY id",
    "SELECT COUNT(*) FROM u",
    "SELECT t.id, u.t FROM t JOIN u ON u.t = t.id ORDER BY t.id, u.id",
    "UPDATE t JOIN u ON u.t = t.id SET t.v = 40 WHERE t.id = 1",
    "DELETE u FROM u JOIN t ON u.t = t.id WHERE t.id = 2",
    "SHOW WARNINGS",
    "SELECT ROW_COUNT()",
];

/// Ends and conditions of lines that show a lock is held.
const LOCKING: &[&str] =
    &["FOR UPDATE NOWAIT", "FOR UPDATE SKIP LOCKED", "FOR SHARE NOWAIT", "FOR UPDATE OF t NOWAIT"];

struct Case<'a> {
    random: Random,
    database: &'a str,
    fresh_id: usize,
}

impl Case<'_> {
    /// A name of a branch; the servers list the first four of `0..` alike, in hexadecimal too.
    fn name(&mut self, number: usize) -> String {
        let database = self.database;
        match number {
            0 => format!("'{database}-a'"),
            1 => format!("'{database}-a','b'"),
            2 => format!("'{database}-a','b',7"),
            3 => {
                let digits = hexadecimal(database);
                format!("X'{digits}2DFF','',1")
            }
            _ => self
                .random
                .word(&["''", "'x','y',-1", "'x','y','z'", "NULL", "0x", "'x',NULL", "1"])
                .to_owned(),
        }
    }

    /// A statement of either list.
    fn one_of(&mut self, first: &[&str], second: &[&str]) -> String {
        let at = self.random.below(first.len() + second.len());
        let statement = first.iter().chain(second).nth(at);
        statement.map_or_else(String::new, |sql| (*sql).to_owned())
    }

    /// Mostly the branch that a connection has; now and then another one.
    fn some_name(&mut self, own: usize) -> String {
        let number = match self.random.below(20) {
            0..14 => own,
            14..19 => self.random.below(4),
            _ => 4,
        };
        self.name(number)
    }

    fn xa(&mut self, state: State, own: usize) -> String {
        let name = self.some_name(own);
        let fitting = match state {
            State::None => {
                &["XA START {}", "XA START {}", "XA BEGIN {}", "XA COMMIT {}", "XA ROLLBACK {}"][..]
            }
            State::Active => &["XA END {}", "XA END {}", "XA END {} SUSPEND", "XA START {} JOIN"],
            State::Idle => &[
                "XA PREPARE {}",
                "XA PREPARE {}",
                "XA PREPARE {}",
                "XA COMMIT {} ONE PHASE",
                "XA ROLLBACK {}",
                "XA START {} RESUME",
            ],
            State::Prepared => &["XA COMMIT {}", "XA ROLLBACK {}", "XA COMMIT {} ONE PHASE"],
        };
        let form = if self.random.chance(75) {
            self.random.word(fitting)
        } else {
            self.random.word(&[
                "XA START {}",
                "XA END {}",
                "XA PREPARE {}",
                "XA COMMIT {}",
                "XA COMMIT {} ONE PHASE",
                "XA ROLLBACK {}",
                "XA START {} JOIN",
                "XA START {} RESUME",
                "XA END {} SUSPEND",
                "XA END {} SUSPEND FOR MIGRATE",
            ])
        };
        form.replace("{}", &name)
    }

    /// A row's key. Keys of a connection's own are never waited for.
    fn key(&mut self, connection: usize) -> usize {
        if self.random.chance(92) {
            1 + connection + CONNECTIONS * self.random.below(3)
        } else {
            1 + self.random.below(9)
        }
    }

    fn change(&mut self, connection: usize) -> String {
        let key = self.key(connection);
        let number = self.random.below(9);
        self.fresh_id += 1;
        let fresh = 100 + self.fresh_id;
        match self.random.below(12) {
            0 | 1 => format!("INSERT INTO t VALUES ({fresh}, {number}, 'n')"),
            2 => format!("INSERT INTO t VALUES ({key}, {number}, 'k')"),
            3 => format!("INSERT IGNORE INTO t VALUES ({key}, {number}, 'k'), ({fresh}, 1, 'n')"),
            4 | 5 => format!("UPDATE t SET v = {number} WHERE id = {key}"),
            6 => format!("UPDATE t SET w = REPEAT('x', {}) WHERE id = {key}", 10 + 3 * number),
            7 => format!("DELETE FROM t WHERE id = {key}"),
            8 => format!("REPLACE INTO t VALUES ({key}, {number}, 'r')"),
            9 => format!("INSERT INTO t VALUES ({key}, {number}, 'd') ON DUPLICATE KEY UPDATE v = v + 10"),
            10 => format!("INSERT INTO u (t) VALUES ({key})"),
            _ => format!("INSERT INTO t VALUES ({fresh}, (SELECT COUNT(*) FROM (SELECT 1) d), 's')"),
        }
    }

    fn query(&mut self) -> String {
        match self.random.below(5) {
            0 => {
                let (key, end) = (self.random.below(9) + 1, self.random.word(LOCKING));
                format!("SELECT * FROM t WHERE id = {key} {end}")
            }
            1 => "SELECT * FROM t ORDER BY id FOR UPDATE SKIP LOCKED".to_owned(),
            2 => "SELECT * FROM u ORDER BY id".to_owned(),
            _ => "SELECT * FROM t ORDER BY id".to_owned(),
        }
    }

    fn statement(&mut self, mix: Mix, connection: usize, state: State, own: usize) -> String {
        match mix {
            Mix::Branches => self.of_branches(connection, state, own),
            Mix::Transactions => self.of_transactions(connection),
        }
    }

    fn of_transactions(&mut self, connection: usize) -> String {
        match self.random.below(100) {
            0..16 => self.change(connection),
            16..26 => self.query(),
            26..46 => self.one_of(CONTROL, SETTINGS),
            46..62 => self.random.word(TEMPORARY).to_owned(),
            62..70 => self.random.word(DEFINITIONS).to_owned(),
            70..82 => self.random.word(PREPARED).to_owned(),
            _ => self.random.word(OTHER_ROWS).to_owned(),
        }
    }

    fn of_branches(&mut self, connection: usize, state: State, own: usize) -> String {
        match self.random.below(100) {
            0..42 => self.xa(state, own),
            42..66 => self.change(connection),
            66..78 => self.query(),
            78..82 => self.random.word(&["XA RECOVER", "XA RECOVER CONVERT XID"]).to_owned(),
            _ => self.one_of(CONTROL, OTHERS),
        }
    }
}

/// In a read-only transaction 9.7 refuses a change before it looks for names, and its PREPARE too (docs/status.md).
fn is_refused_later(sql: &str, left: &Answer, right: &Answer) -> bool {
    right.error() == Some(ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION)
        && (left.error().is_some() || sql.starts_with("PREPARE"))
}

fn hexadecimal(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02X}")).collect()
}

/// The rows of XA RECOVER that belong to a database, in one order.
fn own_branches(answer: Answer, database: &str) -> Answer {
    match answer {
        Answer::Rows { columns, mut rows, warnings } => {
            let digits = hexadecimal(database);
            rows.retain(|row| {
                let data = row.get(3).and_then(Option::as_deref).unwrap_or_default();
                data.starts_with(format!("{database}-").as_bytes())
                    || data.starts_with(format!("0x{digits}2D").as_bytes())
            });
            rows.sort();
            Answer::Rows { columns, rows, warnings }
        }
        other => other,
    }
}

/// Rolls back what is prepared of a database.
fn roll_back_prepared(server: &mut Server, database: &str) {
    let Answer::Rows { rows, .. } = own_branches(server.ask("XA RECOVER CONVERT XID"), database) else {
        return;
    };
    for row in rows {
        let cell = |at: usize| String::from_utf8_lossy(row[at].as_deref().unwrap_or_default()).into_owned();
        let length = |at: usize| cell(at).parse::<usize>().unwrap_or(0) * 2;
        let digits = cell(3);
        let digits = digits.trim_start_matches("0x");
        let (first, second) = digits.split_at(length(1).min(digits.len()));
        server.ask(&format!("XA ROLLBACK X'{first}',X'{second}',{}", cell(0)));
    }
}

/// The number of a connection on its server.
fn connection_id(server: &mut Server) -> Option<String> {
    match server.ask("SELECT CONNECTION_ID()") {
        Answer::Rows { rows, .. } => {
            rows.first()?.first()?.as_ref().map(|cell| String::from_utf8_lossy(cell).into_owned())
        }
        _ => None,
    }
}

/// Waits until a server has ended a connection, which it does after the client has closed it.
fn wait_for_end(server: &mut Server, id: &str) {
    let sql = format!("SELECT id FROM information_schema.processlist WHERE id = {id}");
    let begin = Instant::now();
    while begin.elapsed() < DISCONNECT_TIME_MAX {
        match server.ask(&sql) {
            Answer::Rows { rows, .. } if rows.is_empty() => return,
            _ => std::thread::sleep(Duration::from_millis(2)),
        }
    }
}

impl<'a> Sessions<'a> {
    /// Cases over these servers, in a database of this name, which is dropped.
    #[must_use]
    pub fn new(
        left: &'a Options,
        right: &'a Options,
        database: &'a str,
        mix: Mix,
        texts: bool,
    ) -> Sessions<'a> {
        Sessions { left, right, database, mix, texts }
    }

    fn connect(&self) -> Result<Connections, Error> {
        let mut connections = Connections {
            left: Server::connect(self.left, self.database)?,
            right: Server::connect(self.right, self.database)?,
            state: State::None,
            branch: 0,
        };
        connections.ask(SESSION);
        connections.ask(&format!("USE {}", self.database));
        Ok(connections)
    }

    /// Runs one case; the number of statements compared, and what differs.
    ///
    /// # Errors
    /// A connection broke and does not come back.
    pub fn case(&self, seed: u64) -> Result<(usize, Option<Finding>), Error> {
        let mut observer = self.connect()?;
        observer.left.fresh_database()?;
        observer.right.fresh_database()?;
        let mut statements: Vec<String> = TABLES.iter().map(|sql| (*sql).to_owned()).collect();
        for sql in TABLES {
            observer.ask(sql);
        }
        let mut connections = (0..CONNECTIONS).map(|_| self.connect()).collect::<Result<Vec<_>, _>>()?;
        let ran = self.statements(seed, &mut statements, &mut connections, &mut observer);
        let ended: Vec<_> = connections.iter_mut().map(Connections::ids).collect();
        drop(connections);
        ended.into_iter().for_each(|ids| observer.wait_for_ends(ids));
        let Ran { compared, found, is_certain } = ran?;
        // What is prepared survives its connection, and can be rolled back by any other one.
        let prepared = observer.ask("XA RECOVER CONVERT XID");
        let (left, right) =
            (own_branches(prepared.0, self.database), own_branches(prepared.1, self.database));
        let found = found.or_else(|| difference(&left, &right, true).map(|kind| (kind, show(&left, &right))));
        roll_back_prepared(&mut observer.left, self.database);
        roll_back_prepared(&mut observer.right, self.database);
        let contents: &[&str] = if found.is_none() && is_certain { &CONTENT } else { &[] };
        let found = found.or_else(|| {
            contents.iter().find_map(|sql| {
                let (left, right) = observer.ask(sql);
                difference(&left, &right, true).map(|_| ("Content", show(&left, &right)))
            })
        });
        Ok((compared, found.map(|(kind, text)| Finding { seed, statements, kind, text })))
    }

    fn statements(
        &self,
        seed: u64,
        statements: &mut Vec<String>,
        connections: &mut [Connections],
        observer: &mut Connections,
    ) -> Result<Ran, Error> {
        let mut case = Case { random: Random::new(seed), database: self.database, fresh_id: 0 };
        for compared in 0..STATEMENTS {
            let number = case.random.below(CONNECTIONS);
            let connection = &mut connections[number];
            if case.random.chance(3) {
                statements.push(format!("/* connection {number} ends, and is made again */"));
                let ids = connection.ids();
                *connection = self.connect()?;
                observer.wait_for_ends(ids);
                continue;
            }
            if connection.state == State::None {
                connection.branch = case.random.below(4);
            }
            let sql = case.statement(self.mix, number, connection.state, connection.branch);
            statements.push(format!("/* {number} */ {sql}"));
            let is_prepared = case.random.chance(10);
            let (mut left, mut right) = if is_prepared {
                (connection.left.ask_prepared(&sql, &[]), connection.right.ask_prepared(&sql, &[]))
            } else {
                connection.ask(&sql)
            };
            if sql.starts_with("XA RECOVER") {
                (left, right) = (own_branches(left, self.database), own_branches(right, self.database));
            }
            // The servers lock other gaps between rows (docs/status.md), so that one waits and the other does not, and contents differ then.
            if [&left, &right].iter().any(|answer| answer.error() == Some(ER_LOCK_WAIT_TIMEOUT)) {
                return Ok(Ran { compared, found: None, is_certain: false });
            }
            if is_refused_later(&sql, &left, &right) {
                continue;
            }
            if let Some(kind) = difference(&left, &right, self.texts) {
                let note = if is_prepared { "(prepared)\n" } else { "" };
                let found = Some((kind, format!("{note}{}", show(&left, &right))));
                return Ok(Ran { compared: compared + 1, found, is_certain: true });
            }
            connection.follow(&sql, &right);
            if sql == "ROLLBACK RELEASE" {
                *connection = self.connect()?;
            }
        }
        Ok(Ran { compared: STATEMENTS, found: None, is_certain: true })
    }
}
