//! ALTER TABLE beside other sessions, and over SIGKILL, on a real server.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use client::{Connection, Error};
use engine::ddl::Definitions;
use env::random::Rng;
use store::{Options, Store, TreeId};

mod harness;

use harness::Server;

/// Rows of the table at the start: enough for a build to take a while.
const ROWS: u64 = 30_000;

fn run(connection: &mut Connection, sql: &str) -> Result<u64, Error> {
    connection.run(sql.as_bytes()).map(|summary| summary.affected_rows)
}

fn must(connection: &mut Connection, sql: &str) {
    run(connection, sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
}

/// The rows of a query, each as one line.
fn rows(connection: &mut Connection, sql: &str) -> Vec<String> {
    let mut answer = connection.query(sql.as_bytes()).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let mut lines = Vec::new();
    while answer.next_result().unwrap() {
        while let Some(row) = answer.next_row().unwrap() {
            let columns = row.columns();
            let mut line = Vec::new();
            for (number, cell) in row.cells().enumerate() {
                if number > 0 {
                    line.push(b'|');
                }
                cell.write_text(&columns.get(number), &mut line);
            }
            lines.push(String::from_utf8_lossy(&line).into_owned());
        }
    }
    lines
}

fn session(server: &Server) -> Connection {
    let mut connection = server.root();
    must(&mut connection, "CREATE DATABASE IF NOT EXISTS d");
    must(&mut connection, "USE d");
    connection
}

/// `t (id, x, u, s)` of [`ROWS`] rows; `u` is unique though nothing says so.
fn with_table(connection: &mut Connection) {
    must(connection, "CREATE TABLE t (id INT PRIMARY KEY, x INT, u BIGINT, s VARCHAR(60))");
    must(connection, "SET cte_max_recursion_depth = 100000");
    must(
        connection,
        &format!(
            "INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {ROWS}) \
             SELECT i, i * 7 % 1000, i, CONCAT('text ', i % 777) FROM n"
        ),
    );
}

/// Index and rows say the same, both ways.
fn same_by(connection: &mut Connection, index: &str, columns: &str) {
    let by = |hint: &str| format!("SELECT {columns}, id FROM t {hint} ORDER BY {columns}, id");
    let from_rows = rows(connection, &by("USE INDEX ()"));
    let from_index = rows(connection, &by(&format!("FORCE INDEX ({index})")));
    assert!(from_rows == from_index, "{index}: {} rows, {} entries", from_rows.len(), from_index.len());
    let plan = rows(connection, &format!("EXPLAIN {}", by(&format!("FORCE INDEX ({index})"))));
    assert!(plan[0].contains(&format!(" using {index} ")), "{plan:?}");
}

/// Changes rows of all kinds until told to stop, in transactions of which some are rolled back. Values of `u` go from row to
/// row, and stay unique at each commit. `mirror`: in `m` as in `t`.
fn write_until(server: &Server, stop: &AtomicBool, committed: &AtomicU64, writer: u64, mirror: bool) {
    let mut connection = session(server);
    let mut random = Rng::new(writer + 1);
    let mut fresh = 1_000_000 * (writer + 1);
    // Each writer has rows of its own: they meet in the new indexes, not in row locks.
    let own = |random: &mut Rng| random.below(ROWS / 2) * 2 + writer % 2 + 1;
    while !stop.load(Ordering::Relaxed) {
        must(&mut connection, "BEGIN");
        for _ in 0..random.below(4) + 1 {
            let (id, other, value) = (own(&mut random), own(&mut random), random.below(1000));
            fresh += 1;
            let statements = match random.below(6) {
                0 => vec![format!(
                    "INSERT INTO t (id, x, u, s) VALUES ({}, {value}, {fresh}, 'new')",
                    fresh + 100_000
                )],
                1 => vec![format!("DELETE FROM t WHERE id = {id}")],
                2 => vec![format!("UPDATE t SET x = {value}, s = 'Text {value}' WHERE id = {id}")],
                3 if mirror => vec![format!(
                    "UPDATE t SET l = REPEAT('{value} ', {}) WHERE id = {id}",
                    value * (1 + value % 30)
                )],
                3 => vec![format!("UPDATE t SET s = UPPER(s) WHERE id = {id}")],
                4 => vec![format!(
                    "UPDATE t SET id = id + 10000000 * {}, x = NULL WHERE id = {id}",
                    writer + 1
                )],
                _ => vec![
                    format!("SELECT u INTO @one FROM t WHERE id = {id} FOR UPDATE"),
                    format!("SELECT u INTO @two FROM t WHERE id = {other} FOR UPDATE"),
                    format!(
                        "UPDATE t SET u = {fresh} WHERE id = {id} AND {id} <> {other} AND @two IS NOT NULL"
                    ),
                    format!("UPDATE t SET u = @one WHERE id = {other} AND ROW_COUNT() = 1"),
                ],
            };
            if statements.len() == 4 {
                // Only a pair that is there may change values.
                must(&mut connection, "SET @one = NULL, @two = NULL");
            }
            let mirrored: Vec<String> = match mirror {
                true => statements.iter().map(|sql| sql.replace(" t ", " m ")).collect(),
                false => Vec::new(),
            };
            for sql in statements.into_iter().chain(mirrored) {
                // A row moved twice onto the same place is the one thing that may be refused.
                match run(&mut connection, &sql) {
                    Ok(_) => {}
                    Err(error) if error.number() == Some(1062) => {
                        assert!(mirror || error.to_string().contains("t.PRIMARY"));
                    }
                    Err(error) => panic!("{sql}: {error}"),
                }
            }
        }
        must(&mut connection, if random.below(5) == 0 { "ROLLBACK" } else { "COMMIT" });
        committed.fetch_add(1, Ordering::Relaxed);
    }
}

/// Two writers go on all the time; afterwards the indexes hold exactly the rows.
#[test]
fn indexes_are_built_while_others_write() {
    let server = Server::start(&["--skip-ssl"]);
    let mut ddl = session(&server);
    with_table(&mut ddl);
    let (stop, committed) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for writer in 0..2 {
            let (server, stop, committed) = (&server, &stop, &committed);
            scope.spawn(move || write_until(server, stop, committed, writer, false));
        }
        let stopping = StopAtEnd(&stop);
        while committed.load(Ordering::Relaxed) < 10 {
            std::thread::sleep(Duration::from_millis(1));
        }
        let before = committed.load(Ordering::Relaxed);
        must(
            &mut ddl,
            "ALTER TABLE t ADD INDEX kx (x), ADD UNIQUE ku (u), ADD INDEX ks (s(5) DESC, x), LOCK=NONE",
        );
        assert!(committed.load(Ordering::Relaxed) > before + 2, "writers stood still");
        must(&mut ddl, "CREATE INDEX kxs ON t (x, s) ALGORITHM=INPLACE LOCK=NONE");
        let before = committed.load(Ordering::Relaxed);
        while committed.load(Ordering::Relaxed) < before + 10 {
            std::thread::sleep(Duration::from_millis(1));
        }
        drop(stopping);
    });
    for (index, columns) in [("kx", "x"), ("ku", "u"), ("kxs", "x, s")] {
        same_by(&mut ddl, index, columns);
    }
    let counted = |hint: &str| format!("SELECT COUNT(*), SUM(id) FROM t {hint} WHERE s > 'text' AND s < 'u'");
    assert_eq!(rows(&mut ddl, &counted("FORCE INDEX (ks)")), rows(&mut ddl, &counted("USE INDEX ()")));
    assert_eq!(rows(&mut ddl, "CHECK TABLE t"), ["d.t|check|status|OK"]);
    drop(ddl);
    let folder = server.folder();
    server.stop();
    assert_eq!(count_trees(&folder.path().join("data")), 0);
}

/// Two writers go on all the time, and change the same in a table that nobody alters: after each copy both hold the same.
#[test]
fn tables_are_copied_while_others_write() {
    let server = Server::start(&["--skip-ssl"]);
    let mut ddl = session(&server);
    with_table(&mut ddl);
    must(&mut ddl, "ALTER TABLE t ADD COLUMN l LONGTEXT, ADD INDEX kx (x)");
    must(&mut ddl, "UPDATE t SET l = REPEAT(s, id) WHERE id % 600 = 0");
    must(&mut ddl, "CREATE TABLE m LIKE t");
    must(&mut ddl, "INSERT INTO m SELECT * FROM t");
    let statements = [
        "ALTER TABLE t FORCE, LOCK=NONE",
        // Keys change with the rows, and go from row to row.
        "ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (u), ADD UNIQUE ki (id), LOCK=NONE",
        "ALTER TABLE t DROP PRIMARY KEY",
        "ALTER TABLE t FORCE, ALGORITHM=INPLACE, LOCK=NONE",
        "ALTER TABLE t DROP KEY ki, ADD PRIMARY KEY (id), ADD UNIQUE ku (u), LOCK=NONE",
        "ALTER TABLE t MODIFY u DECIMAL(30,2), MODIFY s VARCHAR(80) CHARACTER SET latin1",
        "ALTER TABLE t ADD COLUMN n INT NOT NULL DEFAULT 3, MODIFY l LONGTEXT FIRST, ADD INDEX kn (n, x), LOCK=NONE",
        "ALTER TABLE t ADD CHECK (x < 1000), MODIFY n INT NULL, ADD INDEX kn2 (n)",
        "OPTIMIZE TABLE t",
    ];
    let (stop, committed) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for writer in 0..2 {
            let (server, stop, committed) = (&server, &stop, &committed);
            scope.spawn(move || write_until(server, stop, committed, writer, true));
        }
        let stopping = StopAtEnd(&stop);
        while committed.load(Ordering::Relaxed) < 10 {
            std::thread::sleep(Duration::from_millis(1));
        }
        for statement in statements {
            let before = committed.load(Ordering::Relaxed);
            match statement.starts_with("ALTER") {
                true => must(&mut ddl, statement),
                false => assert_eq!(rows(&mut ddl, statement).len(), 2),
            }
            let meanwhile = committed.load(Ordering::Relaxed) - before;
            assert!(meanwhile > 2, "{statement}: writers stood still");
            // No transaction is half way.
            must(&mut ddl, "LOCK TABLES t READ, m READ");
            let of = |table: &str| {
                format!(
                    "SELECT id, x, u + 0.0, s, LENGTH(l), CRC32(l) FROM {table} ORDER BY id, CAST(u AS SIGNED)"
                )
            };
            let (copied, expected) = (rows(&mut ddl, &of("t")), rows(&mut ddl, &of("m")));
            let checked = rows(&mut ddl, "CHECK TABLE t EXTENDED");
            must(&mut ddl, "UNLOCK TABLES");
            let differ = copied.iter().zip(&expected).find(|(one, two)| !same_numbers(one, two));
            assert!(
                copied.len() == expected.len() && differ.is_none(),
                "{statement}: {} and {} rows, {differ:?}",
                copied.len(),
                expected.len()
            );
            assert_eq!(checked, ["d.t|check|status|OK"], "{statement}");
        }
        drop(stopping);
    });
    for (index, columns) in [("kx", "x"), ("ku", "u"), ("kn", "n, x"), ("kn2", "n")] {
        same_by(&mut ddl, index, columns);
    }
    drop(ddl);
    let folder = server.folder();
    server.stop();
    assert_eq!(count_trees(&folder.path().join("data")), 0);
}

/// Whether lines say the same, but for digits behind a point.
fn same_numbers(one: &str, two: &str) -> bool {
    let plain = |line: &str| -> Vec<String> {
        line.split('|').map(|cell| cell.trim_end_matches('0').trim_end_matches('.').to_owned()).collect()
    };
    one == two || plain(one) == plain(two)
}

/// Ends the writers however the test ends.
struct StopAtEnd<'a>(&'a AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Two rows with one key end the build or the writer who comes after it, with 1062; the table stays usable.
#[test]
fn duplicates_made_meanwhile_are_found() {
    let server = Server::start(&["--skip-ssl"]);
    let (mut ddl, mut writer) = (session(&server), session(&server));
    with_table(&mut ddl);
    must(&mut ddl, &format!("INSERT INTO t VALUES ({}, 0, 5, '')", ROWS + 1));
    let by_copy = "ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (u)";
    for (statement, key) in [("ALTER TABLE t ADD UNIQUE ku (u)", "t.ku"), (by_copy, "t.PRIMARY")] {
        let error = run(&mut ddl, statement).unwrap_err();
        assert_eq!(error.number(), Some(1062), "{error}");
        assert!(error.to_string().contains(&format!("Duplicate entry '5' for key '{key}'")), "{error}");
    }
    must(&mut ddl, &format!("DELETE FROM t WHERE id = {}", ROWS + 1));
    for statement in ["ALTER TABLE t ADD UNIQUE ku (u)", by_copy] {
        a_duplicate_comes(&mut ddl, &mut writer, statement);
        must(&mut ddl, "DELETE FROM t WHERE u IN (5, -5)");
        must(&mut ddl, "INSERT INTO t VALUES (5, 0, 5, '')");
        run(&mut ddl, "DROP INDEX ku ON t").ok();
    }
}

fn a_duplicate_comes(ddl: &mut Connection, writer: &mut Connection, statement: &str) {
    let (built, written) = std::thread::scope(|scope| {
        let built = scope.spawn(|| run(ddl, statement));
        std::thread::sleep(Duration::from_millis(20));
        let written = run(writer, &format!("INSERT INTO t VALUES ({}, 0, 5, '')", ROWS + 1));
        (built.join().unwrap(), written)
    });
    let failed = [built.is_err(), written.is_err()];
    assert_eq!(failed.iter().filter(|failed| **failed).count(), 1, "{built:?} {written:?}");
    let error = built.err().or(written.err()).unwrap();
    assert_eq!(error.number(), Some(1062), "{error}");
    must(writer, "INSERT INTO t VALUES (-1, 0, -5, '')");
    assert_eq!(rows(writer, "CHECK TABLE t"), ["d.t|check|status|OK"]);
}

/// At its end a build waits for a transaction that came meanwhile; KILL and `lock_wait_timeout` end the wait and the build.
#[test]
fn a_build_that_cannot_end_goes_without_a_trace() {
    let server = Server::start(&["--skip-ssl"]);
    let (mut ddl, mut writer) = (session(&server), session(&server));
    with_table(&mut ddl);
    must(&mut ddl, "SET lock_wait_timeout = 1");
    let mut ended = Vec::new();
    let copy = ("ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (u, id)", "(`u`,`id`)");
    let back = "ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (id)";
    let build = ("ALTER TABLE t ADD INDEX kx (x)", "kx");
    for (attempt, (statement, mark)) in [build, build, copy, copy].into_iter().enumerate() {
        must(&mut ddl, &format!("SET lock_wait_timeout = {}", [1, 1000][attempt % 2]));
        let id = ddl.connection_id();
        let built = std::thread::scope(|scope| {
            let built = scope.spawn(|| run(&mut ddl, statement));
            // Whether it comes before the build, in it, or is too late: the writer's transaction is open at the end.
            std::thread::sleep(Duration::from_millis(5));
            must(&mut writer, "BEGIN");
            must(&mut writer, &format!("UPDATE t SET x = x + 1 WHERE id = {}", attempt + 1));
            if attempt % 2 == 1 {
                std::thread::sleep(Duration::from_millis(300));
                let mut killer = server.root();
                must(&mut killer, &format!("KILL QUERY {id}"));
            }
            let built = built.join().unwrap();
            must(&mut writer, "COMMIT");
            built
        });
        match built {
            Ok(_) if mark == "kx" => must(&mut ddl, "DROP INDEX kx ON t"),
            Ok(_) => must(&mut ddl, back),
            Err(error) => ended.push(error.number()),
        }
        assert!(!rows(&mut writer, "SHOW CREATE TABLE t")[0].contains(mark));
    }
    assert!(ended.iter().all(|number| matches!(number, Some(1205 | 1317))), "{ended:?}");
    must(&mut ddl, "ALTER TABLE t ADD INDEX kx (x)");
    same_by(&mut ddl, "kx", "x");
    drop((ddl, writer));
    let folder = server.folder();
    server.stop();
    assert_eq!(count_trees(&folder.path().join("data")), 0);
}

/// Who writes more than `innodb_online_alter_log_max_size` allows ends the build with 1799.
#[test]
fn too_many_changes_end_a_build() {
    let server = Server::start(&["--skip-ssl", "--innodb-online-alter-log-max-size=65536"]);
    let (mut ddl, mut writer) = (session(&server), session(&server));
    with_table(&mut ddl);
    for statement in ["ALTER TABLE t ADD INDEX kx (x)", "ALTER TABLE t FORCE"] {
        let error = (0..20).find_map(|_| {
            let built = std::thread::scope(|scope| {
                let built = scope.spawn(|| run(&mut ddl, statement));
                std::thread::sleep(Duration::from_millis(10));
                must(&mut writer, "UPDATE t SET x = x + 1");
                built.join().unwrap()
            });
            if built.is_ok() {
                run(&mut ddl, "DROP INDEX kx ON t").ok();
            }
            built.err()
        });
        let error = error.expect("one of twenty builds meets the writer");
        assert_eq!(error.number(), Some(1799), "{error}");
    }
    must(&mut ddl, "SET GLOBAL innodb_online_alter_log_max_size = 134217728");
    must(&mut ddl, "ALTER TABLE t ADD INDEX kx (x)");
    same_by(&mut ddl, "kx", "x");
}

/// Others read while a table is copied.
#[test]
fn a_copy_lets_others_read() {
    let server = Server::start(&["--skip-ssl"]);
    let (mut ddl, mut reader) = (session(&server), session(&server));
    with_table(&mut ddl);
    let (stop, mut reads) = (AtomicBool::new(false), 0);
    std::thread::scope(|scope| {
        let copy = scope.spawn(|| {
            let stopping = StopAtEnd(&stop);
            let copied = run(&mut ddl, "ALTER TABLE t MODIFY s VARCHAR(59)");
            drop(stopping);
            copied
        });
        while !stop.load(Ordering::Relaxed) {
            must(&mut reader, "BEGIN");
            assert_eq!(rows(&mut reader, "SELECT COUNT(*) FROM t"), [ROWS.to_string()]);
            must(&mut reader, "COMMIT");
            reads += 1;
        }
        assert_eq!(copy.join().unwrap().unwrap(), ROWS);
    });
    assert!(reads > 3, "{reads} reads");
}

/// Killed in the middle of a definition, the server comes back with the table as it was before or as it is after, all rows, and
/// no tree that belongs to nobody.
#[test]
fn a_kill_leaves_before_or_after() {
    let statements = [
        ("ALTER TABLE t ADD INDEX kx (x), ADD INDEX ks (s)", "KEY `kx`"),
        ("ALTER TABLE t MODIFY u VARCHAR(30), ADD UNIQUE ku (u)", "`u` varchar(30)"),
        ("ALTER TABLE t DROP COLUMN s, ADD COLUMN z TEXT", "`z` text"),
        ("ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (u, id), ADD KEY (x)", "(`u`,`id`)"),
        ("RENAME TABLE t TO tt", ""),
        ("DROP TABLE t", ""),
    ];
    for (number, (statement, mark)) in statements.into_iter().enumerate() {
        for delay in [1, 25, 120] {
            let server = Server::start(&["--skip-ssl"]);
            let mut ddl = session(&server);
            with_table(&mut ddl);
            let folder = server.folder();
            let mut done = None;
            std::thread::scope(|scope| {
                let ending = scope.spawn(|| run(&mut ddl, statement));
                std::thread::sleep(Duration::from_millis(delay));
                drop(server); // SIGKILL
                done = Some(ending.join().unwrap().is_ok());
            });
            let server = Server::start_in(folder, &["--skip-ssl"]);
            let mut root = session(&server);
            let tables = rows(&mut root, "SHOW TABLES");
            let after = match number {
                4 => tables == ["tt"],
                5 => tables.is_empty(),
                _ => rows(&mut root, "SHOW CREATE TABLE t")[0].contains(mark),
            };
            assert!(after || (done == Some(false) && tables == ["t"]), "{statement}: {tables:?}");
            for table in &tables {
                assert_eq!(rows(&mut root, &format!("SELECT COUNT(*) FROM {table}")), [ROWS.to_string()]);
                assert_eq!(
                    rows(&mut root, &format!("CHECK TABLE {table}"))[0].split('|').next_back(),
                    Some("OK")
                );
            }
            if number == 0 && after {
                same_by(&mut root, "kx", "x");
            }
            drop(root);
            let folder = server.folder();
            server.stop();
            assert_eq!(count_trees(&folder.path().join("data")), 0, "{statement} after {delay} ms");
        }
    }
}

/// Trees in a data folder that no definition names. A definition's trees are all there.
fn count_trees(data: &Path) -> usize {
    let options = Options { background_threads: false, ..Options::default() };
    let store = Store::open(&env::Env::real(), data, options).unwrap();
    // Looked at before the definitions are opened, which drops what belongs to nobody.
    while store.purge_tick().unwrap() {}
    let all: Vec<u64> =
        store.tree_ids().into_iter().filter(|tree| *tree >= TreeId::FIRST_FREE).map(|tree| tree.0).collect();
    let definitions = Definitions::open(&store, Vec::new()).unwrap();
    let catalog = definitions.catalog().load();
    let mut owned: Vec<u64> = catalog
        .base_tables()
        .flat_map(|entry| {
            let table = &entry.definition;
            let indexes = table.indexes.iter().map(|index| index.tree.0);
            indexes.chain([table.rows_tree.0, table.large_values_tree.0]).collect::<Vec<_>>()
        })
        .filter(|&tree| tree != 0)
        .collect();
    owned.sort_unstable();
    owned.dedup();
    assert!(owned.iter().all(|tree| all.contains(tree)));
    all.len() - owned.len()
}

/// Pages of all trees.
fn pages(connection: &mut Connection) -> u64 {
    let status = rows(connection, "SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_data'");
    status[0].split('|').nth(1).expect("a value").parse().expect("a number")
}

#[test]
fn optimize_leaves_fewer_pages_and_the_same_rows_also_after_a_kill() {
    let server = Server::start(&["--skip-ssl"]);
    let folder = server.folder();
    let mut root = session(&server);
    with_table(&mut root);
    must(&mut root, "ALTER TABLE t ADD KEY x (x)");
    let full = pages(&mut root);
    // Every leaf loses half of its rows: neighbours do not fit into one.
    must(&mut root, "DELETE FROM t WHERE id % 2 = 0");
    let sum = "SELECT COUNT(*), SUM(id), SUM(u), BIT_XOR(CRC32(s)) FROM t";
    let before = rows(&mut root, sum);
    let note = "d.t|optimize|note|Table does not support optimize, doing recreate + analyze instead";
    assert_eq!(rows(&mut root, "OPTIMIZE TABLE t"), [note, "d.t|optimize|status|OK"]);
    assert_eq!(rows(&mut root, sum), before);
    same_by(&mut root, "x", "x");
    // The old trees go when nobody reads them any more.
    let waited = (0..600).find(|_| {
        std::thread::sleep(Duration::from_millis(50));
        pages(&mut root) * 3 < full * 2
    });
    assert!(waited.is_some(), "{} of {full} pages", pages(&mut root));
    drop(server);
    let server = Server::start_in(folder, &["--skip-ssl"]);
    let mut root = session(&server);
    assert_eq!(rows(&mut root, sum), before);
    assert_eq!(rows(&mut root, "CHECK TABLE t EXTENDED"), ["d.t|check|status|OK"]);
    server.stop();
}
