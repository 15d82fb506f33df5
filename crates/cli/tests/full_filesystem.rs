//! A real server on a small file system that is filled to its end, killed as SIGKILL does, and started again on it as it is.
//!
//! That takes a file system of its own, which only root may mount: without that the test says LEFT OUT and counts as no passed one, so it has
//! a `main` of its own.

mod harness;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::{Duration, Instant};

use client::{Connection, Error};
use harness::Server;

const NAME: &str = "a_server_killed_on_a_full_file_system_starts_there_and_rows_can_be_removed_at_once";
const SIZE: &str = "size=160m";
const KILLS: u32 = 4;
const OPTIONS: [&str; 2] = ["--skip-ssl", "--innodb-buffer-pool-size=16M"];
const ROWS: u64 = 50;
const ROW_BYTES: u64 = 8_000;
const PATIENCE: Duration = Duration::from_secs(20);

/// A mounted file system in memory, unmounted with it.
struct Mount(PathBuf);

impl Mount {
    fn new(place: PathBuf) -> Option<Mount> {
        std::fs::create_dir(&place).expect("a folder");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", SIZE, "none"]).arg(&place).output();
        mounted.is_ok_and(|output| output.status.success()).then_some(Mount(place))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status(); // The folder goes after it.
    }
}

fn run(connection: &mut Connection, sql: &str) -> Result<u64, Error> {
    connection.run(sql.as_bytes()).map(|summary| summary.affected_rows)
}

fn insert(connection: &mut Connection, first: u64, rows: u64) -> Result<u64, Error> {
    let rows: Vec<String> =
        (first..first + rows).map(|id| format!("({id}, REPEAT('{}', {ROW_BYTES}))", id % 10)).collect();
    run(connection, &format!("INSERT INTO d.t VALUES {}", rows.join(",")))
}

fn number(connection: &mut Connection, sql: &str) -> u64 {
    let mut answer = connection.query(sql.as_bytes()).expect(sql);
    assert!(answer.next_result().expect(sql));
    let row = answer.next_row().expect(sql).expect("one row");
    let mut text = Vec::new();
    row.cell(0).write_text(&row.columns().get(0), &mut text);
    assert!(answer.next_row().expect(sql).is_none());
    String::from_utf8(text).expect("digits").parse().expect("a number")
}

fn is_full(error: &Error) -> bool {
    matches!(error.number(), Some(1114 | 1021))
}

/// Inserts until there is no room: rows of one statement, then of a single one, so that not even that fits.
fn fill(connection: &mut Connection, next: &mut u64, count: &mut u64) {
    for rows in [600, ROWS, 1] {
        loop {
            match insert(connection, *next, rows) {
                Ok(_) => (*next, *count) = (*next + rows, *count + rows),
                Err(error) => {
                    assert!(is_full(&error), "{error}");
                    break;
                }
            }
            assert!(*count < 100_000, "the file system is never full");
        }
    }
}

/// Repeats a statement while the disk is full: until the background threads have freed the space of what was removed.
fn once_there_is_room(mut statement: impl FnMut() -> Result<u64, Error>, what: &str) {
    let began = Instant::now();
    while let Err(error) = statement() {
        assert!(is_full(&error) && began.elapsed() < PATIENCE, "{what}: {error}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A server that is killed on a full disk when it has just been made, and again when it has just started there.
fn just_made(place: &Path) {
    let folder = Arc::new(tempfile::tempdir_in(place).expect("a folder"));
    let mut server = Server::start_in(Arc::clone(&folder), &OPTIONS);
    let taking = folder.path().join("taking");
    let mut file = std::fs::File::create(&taking).expect("a file");
    while file.write_all(&[0; 4096]).is_ok() {}
    let mut rows = 0;
    for _ in 0..3 {
        let mut root = server.root();
        if rows == 0 && run(&mut root, "CREATE DATABASE d").is_ok() {
            run(&mut root, "CREATE TABLE d.t (id INT PRIMARY KEY, s VARBINARY(8000))").unwrap();
        }
        rows += u64::from(insert(&mut root, rows, 1).is_ok());
        drop(server);
        server = Server::start_in(Arc::clone(&folder), &OPTIONS);
    }
    std::fs::remove_file(taking).expect("removed");
    let mut root = server.root();
    run(&mut root, "CREATE DATABASE IF NOT EXISTS d").unwrap();
    if rows > 0 {
        assert_eq!(number(&mut root, "SELECT count(*) FROM d.t"), rows);
    }
    server.stop();
}

fn removal_and_more(place: &Path) {
    let folder = Arc::new(tempfile::tempdir_in(place).expect("a folder"));
    let mut server = Server::start_in(Arc::clone(&folder), &OPTIONS);
    let mut root = server.root();
    run(&mut root, "CREATE DATABASE d").unwrap();
    run(&mut root, "CREATE TABLE d.t (id INT PRIMARY KEY, s VARBINARY(8000))").unwrap();
    drop(root);
    let (mut next, mut count) = (0, 0);
    for kill in 0..KILLS {
        let mut root = server.root();
        // After a kill this is within what the round before removed, and a background thread may not have freed it yet.
        for sql in [
            "CREATE TABLE d.truncated (id INT PRIMARY KEY)",
            "CREATE TABLE d.dropped SELECT 1 AS id",
            "INSERT INTO d.truncated VALUES (1), (2)",
        ] {
            once_there_is_room(|| run(&mut root, sql), &format!("before kill {kill}: {sql}"));
        }
        fill(&mut root, &mut next, &mut count);
        // Somebody is amid a transaction: its end is not seen.
        run(&mut root, "BEGIN").unwrap();
        let removed = number(&mut root, "SELECT min(id) FROM d.t");
        run(&mut root, &format!("DELETE FROM d.t WHERE id < {}", removed + 20)).unwrap();
        drop(server);
        drop(root);

        let began = Instant::now();
        server = Server::start_in(Arc::clone(&folder), &OPTIONS);
        println!("kill {kill}: {count} rows, starts on the full disk within {:?}", began.elapsed());
        let mut root = server.root();
        let found = number(&mut root, "SELECT count(*) FROM d.t WHERE length(s) = 8000");
        assert_eq!(found, count, "acknowledged rows after kill {kill}");
        // Each is the first of its kind on the full disk in turn.
        let delete = format!("DELETE FROM d.t ORDER BY id LIMIT {ROWS}");
        let removals = [delete.as_str(), "TRUNCATE TABLE d.truncated", "DROP TABLE d.dropped"];
        for at in 0..removals.len() {
            let sql = removals[(at + kill as usize) % removals.len()];
            run(&mut root, sql).unwrap_or_else(|error| panic!("after kill {kill}: {sql}: {error}"));
        }
        count -= ROWS;
        run(&mut root, "DROP TABLE d.truncated").unwrap();
        once_there_is_room(|| insert(&mut root, next, ROWS / 2), &format!("after kill {kill}: INSERT"));
        (next, count) = (next + ROWS / 2, count + ROWS / 2);
        // Room for the next round's definitions.
        run(&mut root, &format!("DELETE FROM d.t ORDER BY id LIMIT {ROWS}")).unwrap();
        count -= ROWS;
        assert_eq!(number(&mut root, "SELECT count(*) FROM d.t"), count);
    }
    server.stop();
}

/// What `cargo test` and `./test` count.
fn result(is_passed: bool, passed: usize, ignored: usize) -> ExitCode {
    let (word, failed) = if is_passed { ("ok", 0) } else { ("FAILED", 1) };
    println!(
        "\ntest result: {word}. {passed} passed; {failed} failed; {ignored} ignored; 0 measured; 0 filtered out\n"
    );
    if is_passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn main() -> ExitCode {
    let filters: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    if !filters.is_empty() && !filters.iter().any(|filter| NAME.contains(filter.as_str())) {
        return result(true, 0, 0);
    }
    let place = tempfile::tempdir().expect("a folder");
    let Some(mount) = Mount::new(place.path().join("small")) else {
        println!("LEFT OUT: a full file system: only root may mount one");
        return result(true, 0, 1);
    };
    let outcome = std::panic::catch_unwind(|| {
        just_made(&mount.0);
        removal_and_more(&mount.0);
    });
    drop(mount);
    println!("test {NAME} ... {}", if outcome.is_ok() { "ok" } else { "FAILED" });
    result(outcome.is_ok(), usize::from(outcome.is_ok()), 0)
}
