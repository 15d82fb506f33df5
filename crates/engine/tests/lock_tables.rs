//! What LOCK TABLES, FLUSH TABLES WITH READ LOCK and LOCK INSTANCE FOR BACKUP hold, whom they keep out, and what ends them.

mod answers;
mod root;

use answers::{CAPABILITIES, ask};
use engine::engine::{Engine, StartOptions};
use env::Env;
use service::Session;

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
