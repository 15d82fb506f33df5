//! What LOCK TABLES, FLUSH TABLES WITH READ LOCK and LOCK INSTANCE FOR BACKUP hold, whom they keep out, and what ends them.

mod answers;
mod root;

use answers::{CAPABILITIES, ask};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use engine::engine::{Engine, StartOptions};
use env::Env;
use env::blocking::{BlockingHook, Refused, WaitForOthers};
use service::{ChangeUserRequest, ClientHost, Discard, Reply, RowFormat, Service as _, Session};
use wire::packet::PacketBuffer;

fn error_of(session: &mut dyn Session, sql: &str) -> u16 {
    let error = ask(session, sql).expect_err(sql);
    error.split(' ').next().and_then(|number| number.parse().ok()).expect("an error has a number")
}

#[test]
fn locks_keep_others_out_until_they_are_released() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = StartOptions { data_folder: folder.path().join("data"), ..StartOptions::default() };
    let engine = Engine::open(&Env::real(), &options).expect("the folder opens");
    let mut holder = root::connect_as(&engine, CAPABILITIES, 1);
    let mut other = root::connect_as(&engine, CAPABILITIES, 2);
    for sql in ["CREATE DATABASE s", "USE s", "CREATE TABLE t (a INT)", "CREATE TABLE u (a INT)"] {
        ask(&mut *holder, sql).expect(sql);
    }
    for sql in ["USE s", "SET lock_wait_timeout = 1"] {
        ask(&mut *other, sql).expect(sql);
    }

    ask(&mut *holder, "LOCK TABLES t WRITE, u AS v READ").expect("nobody is in the way");
    ask(&mut *holder, "INSERT INTO t VALUES (1)").expect("it is locked for writing");
    assert_eq!(ask(&mut *holder, "SELECT COUNT(*) FROM u AS v").expect("its alias"), ["0"]);
    assert_eq!(error_of(&mut *holder, "SELECT * FROM u"), 1100, "not by its name");
    assert_eq!(error_of(&mut *holder, "INSERT INTO u VALUES (1)"), 1100);
    assert_eq!(error_of(&mut *holder, "DROP TABLE u"), 1099);
    assert_eq!(error_of(&mut *holder, "CREATE USER someone"), 1100);
    assert_eq!(error_of(&mut *holder, "FLUSH TABLES"), 1099);
    assert_eq!(error_of(&mut *other, "SELECT * FROM t"), 1205);
    assert_eq!(error_of(&mut *other, "INSERT INTO u VALUES (1)"), 1205);
    ask(&mut *holder, "RENAME TABLE t TO w").expect("it is locked for writing");
    ask(&mut *holder, "INSERT INTO w VALUES (2)").expect("the lock follows the name");
    ask(&mut *holder, "UNLOCK TABLES").expect("it runs");
    assert_eq!(ask(&mut *other, "SELECT COUNT(*) FROM w").expect("it is free"), ["2"]);

    ask(&mut *holder, "FLUSH TABLES WITH READ LOCK").expect("nobody is in the way");
    assert_eq!(error_of(&mut *holder, "INSERT INTO w VALUES (3)"), 1223);
    assert_eq!(error_of(&mut *holder, "LOCK TABLES w WRITE"), 1223);
    assert_eq!(error_of(&mut *other, "INSERT INTO w VALUES (3)"), 1205);
    ask(&mut *holder, "UNLOCK TABLES").expect("it runs");
    ask(&mut *other, "INSERT INTO w VALUES (3)").expect("it is free");

    ask(&mut *holder, "LOCK INSTANCE FOR BACKUP").expect("nobody is in the way");
    ask(&mut *holder, "CREATE TABLE own (a INT)").expect("the holder may define");
    assert_eq!(error_of(&mut *other, "CREATE TABLE x (a INT)"), 1205);
    ask(&mut *other, "INSERT INTO w VALUES (4)").expect("rows may change");
    drop(holder);
    ask(&mut *other, "CREATE TABLE x (a INT)").expect("the end of a session releases its locks");
}

/// What a client does so that its table locks end.
#[derive(Clone, Copy, Debug)]
enum End {
    Statement(&'static str),
    Reset,
    ChangeUser,
    Disconnect,
}

impl End {
    fn reach(self, engine: &Engine, mut session: Box<dyn Session>) -> Option<Box<dyn Session>> {
        let (mut buffer, mut link) = (PacketBuffer::new(), Discard);
        let mut reply = Reply::new(&mut buffer, &mut link, CAPABILITIES, RowFormat::Text);
        match self {
            End::Statement(sql) => drop(ask(&mut *session, sql).expect(sql)),
            End::Reset => session.reset_connection(&mut reply).expect("it is reset"),
            End::ChangeUser => {
                let host = ClientHost { name: "localhost".to_owned(), address: None };
                let request = ChangeUserRequest {
                    account: engine.find_account("root", &host).expect("root is there from the start"),
                    user: "root".to_owned(),
                    database: None,
                    attributes: Vec::new(),
                    collation: None,
                };
                session.change_user(request, &mut reply).expect("root may connect");
            }
            End::Disconnect => return None,
        }
        Some(session)
    }
}

#[test]
fn whatever_ends_lock_tables_lets_others_write() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = StartOptions { data_folder: folder.path().join("data"), ..StartOptions::default() };
    let engine = Engine::open(&Env::real(), &options).expect("the folder opens");
    let mut other = root::connect_as(&engine, CAPABILITIES, 1);
    for sql in [
        "CREATE DATABASE s",
        "CREATE TABLE s.t (a INT)",
        "CREATE TABLE s.u (a INT)",
        "SET lock_wait_timeout = 1",
    ] {
        ask(&mut *other, sql).expect(sql);
    }
    let ends = [
        End::Statement("UNLOCK TABLES"),
        End::Statement("START TRANSACTION"),
        End::Statement("LOCK TABLES s.u READ"),
        End::Reset,
        End::ChangeUser,
        End::Disconnect,
    ];
    for (number, end) in ends.into_iter().enumerate() {
        let mut holder = root::connect_as(&engine, CAPABILITIES, number as u64 + 2);
        ask(&mut *holder, "LOCK TABLES s.t READ").expect("nobody is in the way");
        assert_eq!(
            ask(&mut *other, "INSERT INTO s.t VALUES (1)").map_err(|error| error[..4].to_owned()),
            Err("1205".to_owned()),
            "{end:?}"
        );
        // The session goes on until the other one has written.
        let _holder = end.reach(&engine, holder);
        ask(&mut *other, "INSERT INTO s.t VALUES (1)")
            .unwrap_or_else(|error| panic!("after {end:?}: {error}"));
    }
}

/// Who would wait breaks instead.
struct Broken;

impl BlockingHook for Broken {
    fn enter(&self) {}

    fn leave(&self) {}

    fn try_enter(&self, _wait: WaitForOthers) -> Result<(), Refused> {
        panic!("planted: a wait for others");
    }
}

/// LOCK TABLES that panics has locked nothing: neither does the session see itself in its mode, nor do others wait.
#[test]
fn lock_tables_that_breaks_halfway_leaves_nothing_locked() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = StartOptions { data_folder: folder.path().join("data"), ..StartOptions::default() };
    let engine = Engine::open(&Env::real(), &options).expect("the folder opens");
    let mut broken = root::connect_as(&engine, CAPABILITIES, 1);
    let mut other = root::connect_as(&engine, CAPABILITIES, 2);
    for sql in ["CREATE DATABASE s", "USE s", "CREATE TABLE t (a INT)", "CREATE TABLE u (a INT)"] {
        ask(&mut *broken, sql).expect(sql);
    }
    for sql in ["USE s", "SET lock_wait_timeout = 1", "BEGIN", "INSERT INTO u VALUES (1)"] {
        ask(&mut *other, sql).expect(sql);
    }
    let before = env::blocking::install(Some(Rc::new(Broken)));
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let outcome = catch_unwind(AssertUnwindSafe(|| ask(&mut *broken, "LOCK TABLES t WRITE, u WRITE")));
    std::panic::set_hook(hook);
    env::blocking::install(before);
    assert!(outcome.is_err(), "u is in use: it would have to wait");
    broken.recover();

    ask(&mut *broken, "SELECT * FROM t").expect("the session is not under LOCK TABLES");
    ask(&mut *other, "INSERT INTO t VALUES (1)").expect("t is not locked");
    ask(&mut *other, "COMMIT").expect("it ends");
    ask(&mut *other, "ALTER TABLE u COMMENT 'free'").expect("nor is u");
    ask(&mut *other, "FLUSH TABLES WITH READ LOCK").expect("and nobody has tables locked for writing");
    ask(&mut *other, "UNLOCK TABLES").expect("it runs");
}
