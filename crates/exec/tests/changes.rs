//! INSERT, REPLACE, UPDATE and DELETE over a store on a simulated disk, compared with what MySQL 9.7 answers: affected
//! rows, the insert id of the OK packet, its text, warnings, errors, and the rows afterwards.
//!
//! `changes/*.sql` hold statements, one per line; `changes/*.expected` what MySQL said to them, made by
//! `changes/ask.py`.

mod local;
mod world;

use exec::run_change;
use fixture::COLLATION;
use local::Local;
use types::Value;
use world::World;

fn world(found_rows: bool) -> World {
    World::new(Local::new(), "change_x", found_rows)
}

fn compare(name: &str) {
    let mut world = world(name == "found_rows");
    world::compare("changes", name, |statement| world.answer(statement, true));
}

#[test]
fn values_are_converted_and_checked_as_mysql_does() {
    compare("values");
}

#[test]
fn numbers_are_given_as_mysql_does() {
    compare("numbers");
}

#[test]
fn duplicates_are_resolved_as_mysql_does() {
    compare("duplicates");
}

#[test]
fn rows_are_updated_and_deleted_as_mysql_does() {
    compare("rows");
}

#[test]
fn a_client_may_count_found_rows() {
    compare("found_rows");
}

/// One plan, many executions: the compiled part keeps nothing of a run.
#[test]
fn a_prepared_insert_runs_again_and_again() {
    let mut world = world(false);
    world.answer("CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, a INT NOT NULL, b VARCHAR(9) DEFAULT 'x', c INT DEFAULT (a + 1))", true);
    let prepared = world.prepare("INSERT INTO t (a, b) VALUES (?, ?), (?, DEFAULT)").expect("a plan");
    for round in 0..50 {
        let params = [Value::Int(round), Value::string(format!("r{round}"), COLLATION), Value::UInt(7)];
        let (changed, warnings) =
            world.with_context(true, &params, |ctx| run_change(&prepared, ctx), |_| false);
        let changed = changed.expect("rows are inserted");
        assert_eq!((changed.affected, changed.records), (2, 2));
        assert_eq!(changed.last_insert_id, Some(round as u64 * 2 + 1));
        assert!(warnings.is_empty());
    }
    assert_eq!(
        world.answer("SELECT COUNT(*), SUM(a), SUM(c), MIN(b), MAX(id) FROM t", true),
        "100\t1575\t1675\tr0\t100\n"
    );
}

/// 2,700 rows of 24 parameters go in, and each is there: the shape of a driver's batch.
#[test]
fn a_batch_of_many_rows_goes_in() {
    const ROWS: usize = 2_700;
    let mut world = world(false);
    let columns: Vec<String> = (0..24)
        .map(|number| match number % 3 {
            0 => format!("c{number} INT"),
            1 => format!("c{number} VARCHAR(30)"),
            _ => format!("c{number} DECIMAL(12,2)"),
        })
        .collect();
    world
        .answer(&format!("CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, {})", columns.join(", ")), true);
    let names: Vec<String> = (0..24).map(|number| format!("c{number}")).collect();
    let row = format!("({})", vec!["?"; 24].join(","));
    let sql = format!("INSERT INTO t ({}) VALUES {}", names.join(","), vec![row; ROWS].join(","));
    let mut params = Vec::with_capacity(ROWS * 24);
    for number in 0..ROWS * 24 {
        params.push(match number % 3 {
            0 => Value::Int(number as i64),
            1 => Value::string(format!("text {number}"), COLLATION),
            _ => Value::string(format!("{number}.25"), COLLATION),
        });
    }
    let prepared = world.prepare(&sql).expect("a plan");
    let (changed, warnings) = world.with_context(true, &params, |ctx| run_change(&prepared, ctx), |_| false);
    assert_eq!(changed.expect("rows are inserted").affected, ROWS as u64);
    assert!(warnings.is_empty());
    let sum: usize = (0..ROWS).map(|row| row * 24).sum();
    assert_eq!(
        world.answer("SELECT COUNT(*), SUM(c0), MIN(c1), SUM(c2) FROM t", true),
        format!("{ROWS}\t{sum}\ttext 1\t{}.00\n", sum + 2 * ROWS + ROWS / 4)
    );
}
