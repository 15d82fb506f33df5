//! A table is copied while another session changes rows at moments that are chosen: between the parts of the work, where the copier says
//! that it is still running.

mod answers;
mod root;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use answers::{CAPABILITIES, ask};
use engine::engine::{Engine, StartOptions};
use env::blocking::{self, BlockingHook};
use service::Session;

/// Several batches of rows, and enough notes to be settled while others write.
const ROWS: u32 = 3_000;

fn must(session: &mut dyn Session, sql: &str) -> Vec<String> {
    ask(session, sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
}

/// Runs statements of another session at some of the moments at which a computation says that it goes on.
struct Meddler {
    session: RefCell<Box<dyn Session>>,
    /// Which moment, from 1, and what is done then.
    plan: Vec<(u32, String)>,
    ticks: Cell<u32>,
    done: Cell<u32>,
}

impl BlockingHook for Meddler {
    fn enter(&self) {}

    fn leave(&self) {}

    fn tick(&self) {
        // Its own statements say it too.
        let Ok(mut session) = self.session.try_borrow_mut() else { return };
        self.ticks.set(self.ticks.get() + 1);
        for (_, sql) in self.plan.iter().filter(|(at, _)| *at == self.ticks.get()) {
            // Towards the end the copier is alone with the table.
            if ask(session.as_mut(), sql).is_ok() {
                self.done.set(self.done.get() + 1);
            }
        }
    }
}

/// What became of a copy that makes `u` the primary key, and how many statements of the plan were done beside it.
fn copied(engine: &Engine, setup: &str, plan: Vec<(u32, String)>) -> (Result<Vec<String>, String>, u32) {
    let mut session = root::connect_as(engine, CAPABILITIES, 1);
    let session = session.as_mut();
    must(session, "DROP DATABASE IF EXISTS d");
    must(session, "CREATE DATABASE d");
    must(session, "USE d");
    must(session, "CREATE TABLE t (id INT PRIMARY KEY, u INT NOT NULL, x INT NOT NULL)");
    must(session, "SET cte_max_recursion_depth = 100000");
    must(
        session,
        &format!(
            "INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {ROWS}) \
             SELECT i, i, 0 FROM n"
        ),
    );
    must(session, setup);
    let mut other = root::connect_as(engine, CAPABILITIES, 2);
    must(other.as_mut(), "USE d");
    must(other.as_mut(), "SET lock_wait_timeout = 1, innodb_lock_wait_timeout = 1");
    let meddler =
        Rc::new(Meddler { session: RefCell::new(other), plan, ticks: Cell::new(0), done: Cell::new(0) });
    assert!(blocking::install(Some(Rc::clone(&meddler) as Rc<dyn BlockingHook>)).is_none());
    let altered = ask(session, "ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (u)");
    blocking::install(None);
    (altered.map(|_| must(session, "SELECT COUNT(*), COUNT(DISTINCT u) FROM t")), meddler.done.get())
}

fn with_engine(test: impl FnOnce(&Engine)) {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let options = StartOptions { data_folder: folder.path().join("data"), ..StartOptions::default() };
    let engine = Engine::open(&env::Env::real(), &options).expect("a new folder opens");
    test(&engine);
    engine.close().expect("the store closes");
}

#[test]
fn a_key_that_a_later_row_gives_back_is_waited_for_while_rows_are_read() {
    with_engine(|engine| {
        // Two rows with one key when the copy begins; the second one, which is not read yet, gets another.
        let setup = format!("UPDATE t SET u = 1 WHERE id = {ROWS}");
        let plan = |id: u32| vec![(1, format!("UPDATE t SET u = {} WHERE id = {id}", ROWS + 5))];
        let (copied, done) = copied_twice(engine, &setup, &plan(ROWS));
        assert_eq!((copied, done), (Ok(vec![format!("{ROWS}|{ROWS}")]), 1));
        // Notes of another row help for a while; then two rows have one key.
        let (copied, done) = copied_twice(engine, &setup, &plan(7));
        let error = copied.expect_err("a duplicate");
        assert!(error.starts_with("1062 ") && done == 1, "{error}, {done}");
    });
}

fn copied_twice(engine: &Engine, setup: &str, plan: &[(u32, String)]) -> (Result<Vec<String>, String>, u32) {
    let first = copied(engine, setup, plan.to_vec());
    assert_eq!(first, copied(engine, setup, plan.to_vec()), "the moments are chosen");
    first
}

#[test]
fn a_key_that_is_taken_waits_as_long_as_notes_are_left() {
    with_engine(|engine| {
        // Many notes, so that they are settled while others still write; row 2000 is among them and row 1 is not. Between the two halves
        // of that, row 1 gives its key to row 2000, and only a note says so: the copy of row 1 still has it.
        let many = format!("UPDATE t SET x = x + 1, u = u + IF(id = 2000, {ROWS}, 0) WHERE id > 100");
        let swap = "UPDATE t SET u = IF(id = 1, 40000, 1) WHERE id IN (1, 2000)".to_owned();
        let mut beside = 0;
        for moment in 2..10 {
            let plan = vec![(1, many.clone()), (moment, swap.clone())];
            let (copied, done) = copied(engine, "DO 1", plan);
            assert_eq!(copied, Ok(vec![format!("{ROWS}|{ROWS}")]), "at moment {moment}");
            beside += u32::from(done == 2);
        }
        assert!(beside >= 4, "the other session came in between in {beside} of 8 copies");
    });
}
