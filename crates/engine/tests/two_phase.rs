//! The participant's side of a commit over several backends: what is prepared survives a crash, and is committed or rolled back by its name.

mod answers;
mod root;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use answers::{CAPABILITIES, ask};
use engine::engine::{Engine, StartOptions};
use env::Env;

/// An engine over a folder of its own.
struct Server {
    folder: tempfile::TempDir,
    engine: Engine,
}

fn data(folder: &Path) -> PathBuf {
    folder.join("data")
}

impl Server {
    fn open(folder: tempfile::TempDir) -> Server {
        let options = StartOptions { data_folder: data(folder.path()), ..StartOptions::default() };
        let engine = Engine::open(&Env::real(), &options).expect("the folder opens");
        Server { folder, engine }
    }

    fn new() -> Server {
        let server = Server::open(tempfile::tempdir().expect("a folder"));
        server.run(&[
            "CREATE DATABASE d",
            "CREATE TABLE d.t (id INT PRIMARY KEY, v INT, s LONGTEXT, UNIQUE KEY (v))",
            "INSERT INTO d.t SELECT n, n, 'old' FROM (WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 500) SELECT n FROM r) x",
        ]);
        server
    }

    /// Runs statements as one client; the answer to the last one, rows with commas, or its error.
    fn run(&self, statements: &[&str]) -> String {
        let mut session = root::connect_as(&self.engine, CAPABILITIES, 1);
        let (last, before) = statements.split_last().expect("there are some");
        for sql in before {
            if let Err(error) = ask(&mut *session, sql) {
                panic!("{sql}: {error}");
            }
        }
        ask(&mut *session, last).map_or_else(|error| error, |rows| rows.join(","))
    }

    /// Stopped and opened again.
    fn stop(self) -> Server {
        let Server { folder, engine } = self;
        drop(engine);
        Server::open(folder)
    }

    /// What a crash leaves once all that was committed is durable, opened.
    fn crash(self) -> Server {
        let store = self.engine.backend().store();
        store.sync_to(store.newest_position()).expect("it is durable");
        loop {
            let folder = tempfile::tempdir().expect("a folder");
            let before = files(self.folder.path());
            // A checkpoint meanwhile would leave what no crash leaves.
            if copy(self.folder.path(), folder.path()).is_ok() && files(self.folder.path()) == before {
                return Server::open(folder);
            }
        }
    }
}

/// Names, lengths and times of the files of a data folder.
fn files(folder: &Path) -> Vec<(OsString, u64, SystemTime)> {
    let mut files: Vec<_> = std::fs::read_dir(data(folder))
        .expect("it can be listed")
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let of = entry.metadata().ok()?;
            Some((entry.file_name(), of.len(), of.modified().ok()?))
        })
        .collect();
    files.sort();
    files
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir(data(to))?;
    for entry in std::fs::read_dir(data(from))? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            std::fs::copy(entry.path(), data(to).join(entry.file_name()))?;
        }
    }
    Ok(())
}

/// Rows inserted, changed, deleted, inserted and deleted; a long value, and more than a transaction keeps of its log in memory.
const CHANGES: [&str; 6] = [
    "INSERT INTO d.t VALUES (1000, 1000, REPEAT('long ', 100000)), (1001, 1001, 'x')",
    "UPDATE d.t SET v = v + 2000, s = REPEAT('n', 20000) WHERE id <= 400",
    "UPDATE d.t SET v = v + 9000 WHERE id = 1",
    "DELETE FROM d.t WHERE id IN (450, 451)",
    "DELETE FROM d.t WHERE id = 1001",
    "SELECT id FROM d.t WHERE id = 452 FOR UPDATE",
];
const SUMS: &str = "SELECT COUNT(*), SUM(v), SUM(LENGTH(s)), MAX(id) FROM d.t";
const BEFORE: &str = "500|125250|1500|500";
const AFTER: &str = "499|934349|8500294|1000";

fn prepared() -> Server {
    let server = Server::new();
    let mut statements = vec!["XA START 'g', 'b', 7"];
    statements.extend(CHANGES);
    statements.extend(["XA END 'g', 'b', 7", "XA PREPARE 'g', 'b', 7", "XA RECOVER"]);
    assert_eq!(server.run(&statements), "7|1|1|gb");
    server
}

/// Nobody sees what is prepared, nor changes it.
fn assert_kept(server: &Server) {
    assert_eq!(server.run(&["XA RECOVER CONVERT XID"]), "7|1|1|0x6762");
    assert_eq!(server.run(&[SUMS]), BEFORE);
    assert!(server.run(&["SELECT id FROM d.t WHERE id = 5 FOR UPDATE NOWAIT"]).starts_with("3572 "));
    assert!(server.run(&["SELECT id FROM d.t WHERE id = 450 FOR UPDATE NOWAIT"]).starts_with("3572 "));
    assert_eq!(server.run(&["SELECT id FROM d.t WHERE id = 449 FOR UPDATE NOWAIT"]), "449");
    let waits = ["SET lock_wait_timeout = 1", "ALTER TABLE d.t ADD x INT"];
    assert!(server.run(&waits).starts_with("1205 "));
    assert!(server.run(&["XA START 'g', 'b', 7"]).starts_with("1440 "));
    assert!(server.run(&["XA COMMIT 'g', 'b', 8"]).starts_with("1397 "));
}

#[test]
fn what_is_prepared_is_kept_over_crashes_and_committed_by_its_name() {
    let server = prepared();
    assert_kept(&server);
    let server = server.crash();
    assert_kept(&server);
    let server = server.stop().crash();
    assert_kept(&server);
    assert_eq!(server.run(&["XA COMMIT 'g', 'b', 7", SUMS]), AFTER);
    let server = server.crash();
    assert_eq!(server.run(&["XA RECOVER"]), "");
    assert_eq!(server.run(&[SUMS]), AFTER);
    let checked = server.run(&["ALTER TABLE d.t ADD x INT", "CHECK TABLE d.t EXTENDED"]);
    assert!(checked.ends_with("|OK"), "{checked}");
}

#[test]
fn what_is_prepared_is_rolled_back_by_its_name() {
    for crashes in [false, true] {
        let mut server = prepared();
        if crashes {
            server = server.crash();
        }
        assert_eq!(server.run(&["XA ROLLBACK 'g', 'b', 7", SUMS]), BEFORE);
        assert_eq!(server.run(&["SELECT COUNT(*) FROM d.t WHERE v > 0 FOR UPDATE NOWAIT"]), "500");
        let server = server.crash();
        assert_eq!(server.run(&["XA RECOVER"]), "");
        assert_eq!(server.run(&[SUMS]), BEFORE);
    }
}

#[test]
fn a_branch_ends_with_its_session_until_it_is_prepared() {
    let server = Server::new();
    assert_eq!(server.run(&["XA START 'a'", "DELETE FROM d.t", "XA END 'a'"]), "");
    assert_eq!(server.run(&["XA RECOVER"]), "");
    assert_eq!(server.run(&[SUMS]), BEFORE);
    // One that the session keeps is anybody's when the session has ended.
    let kept =
        ["SET xa_detach_on_prepare = 0", "XA START 'a'", "DELETE FROM d.t", "XA END 'a'", "XA PREPARE 'a'"];
    let mut session = root::connect_as(&server.engine, CAPABILITIES, 2);
    for sql in kept {
        ask(&mut *session, sql).expect("it runs");
    }
    assert!(server.run(&["XA COMMIT 'a'"]).starts_with("1397 "));
    drop(session);
    assert_eq!(server.run(&["XA COMMIT 'a'", "SELECT COUNT(*) FROM d.t"]), "0");
}

#[test]
fn a_name_without_changes_is_kept_too() {
    let server = Server::new();
    server.run(&["XA START 'r'", "SELECT COUNT(*) FROM d.t", "XA END 'r'", "XA PREPARE 'r'"]);
    let server = server.crash();
    assert_eq!(server.run(&["XA RECOVER"]), "1|1|0|r");
    assert_eq!(server.run(&["XA COMMIT 'r'", "XA RECOVER"]), "");
}
