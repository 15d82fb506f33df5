//! A plan whose estimate was wrong by 100 times is made again with the rows that were counted.

mod answers;
mod database;
mod root;

use database::query;
use service::Session;

/// Conditions that all say the same of half of the rows, and are estimated as if each halved them once more.
const ALIKE: &str = "c1 = 1 AND c2 = 1 AND c3 = 1 AND c4 = 1 AND c5 = 1 AND c6 = 1 AND c7 = 1 AND c8 = 1";

/// Runs a test over `a`, of whose 10,000 rows half meet [`ALIKE`], and `b`, with one row for each.
fn alone(test: impl FnOnce(&mut dyn Session)) {
    database::alone_with(&[("innodb_stats_auto_recalc", "OFF")], |session| {
        query(session, "SET cte_max_recursion_depth = 100000");
        let columns: Vec<String> = (1..=8).map(|at| format!("c{at} INT")).collect();
        query(session, &format!("CREATE TABLE a (id INT PRIMARY KEY, {})", columns.join(", ")));
        query(session, "CREATE TABLE b (id INT PRIMARY KEY, x INT, y INT, KEY (x))");
        let parities = ["i % 2"; 8].join(", ");
        query(
            session,
            &format!(
                "INSERT INTO a WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000) SELECT i, {parities} FROM n"
            ),
        );
        query(session, "INSERT INTO b SELECT id, id, id FROM a");
        query(session, "ANALYZE TABLE a, b");
        test(session);
    });
}

/// The lines of its plan.
fn plan(session: &mut dyn Session, sql: &str) -> String {
    query(session, &format!("EXPLAIN FORMAT=TREE {sql}")).join("\n")
}

fn misestimated(session: &mut dyn Session) -> u64 {
    let line = query(session, "SHOW GLOBAL STATUS LIKE 'Plans_misestimated'").remove(0);
    line.rsplit(['|', '\t', ' ']).next().expect("two cells").parse().expect("a count")
}

fn sum(conditions: &str) -> String {
    format!("SELECT SUM(b.y) FROM a JOIN b ON b.x = a.id WHERE {conditions}")
}

#[test]
fn the_next_plan_has_the_rows_that_were_counted() {
    alone(|session| {
        let sql = sum(ALIKE);
        let before = plan(session, &sql);
        assert!(before.contains("lookup on b"), "few rows: {before}");
        let answer = query(session, &sql);
        assert_eq!(misestimated(session), 1);
        let after = plan(session, &sql);
        assert!(after.contains("Inner hash") && after.contains("rows=5000"), "many rows: {after}");
        assert_eq!(query(session, &sql), answer);
        // As a prepared statement, and where each text has its own plan.
        for text in [sql.clone(), format!("{sql} AND CONCAT(a.id, '') <> 'x'")] {
            query(session, &format!("PREPARE s FROM '{}'", text.replace('\'', "''")));
            assert_eq!(query(session, "EXECUTE s"), answer);
            assert_eq!(query(session, "EXECUTE s"), answer);
            assert_eq!(query(session, &text), answer);
            let planned = plan(session, &text);
            assert!(planned.contains("Inner hash"), "{planned}");
        }
    });
}

#[test]
fn values_that_contradict_each_other_are_estimated() {
    alone(|session| {
        let (many, none) = (sum(ALIKE), sum(&ALIKE.replace("c2 = 1", "c2 = 0")));
        query(session, &many);
        assert!(plan(session, &many).contains("Inner hash"));
        assert_eq!(query(session, &none), ["NULL"]);
        for _ in 0..3 {
            assert!(plan(session, &none).contains("lookup on b"), "as without counts");
            query(session, &many);
            query(session, &none);
        }
        // The first of many, the one of none, and once more of many; after that it is not looked at.
        assert_eq!(misestimated(session), 3);
    });
}

#[test]
fn it_is_forgotten_with_the_statistics_and_can_be_turned_off() {
    alone(|session| {
        let sql = sum(ALIKE);
        query(session, "SET optimizer_feedback = OFF");
        query(session, &sql);
        assert_eq!(misestimated(session), 0);
        query(session, "SET optimizer_feedback = ON");
        query(session, &sql);
        assert!(plan(session, &sql).contains("Inner hash"));
        query(session, "SET optimizer_feedback = OFF");
        assert!(plan(session, &sql).contains("lookup on b"), "the plan of others is not taken");
        query(session, &sql);
        query(session, "SET optimizer_feedback = ON");
        assert!(plan(session, &sql).contains("Inner hash"));
        query(session, "ANALYZE TABLE a");
        assert!(plan(session, &sql).contains("lookup on b"));
        query(session, &sql);
        assert!(plan(session, &sql).contains("Inner hash"));
    });
}

#[test]
fn what_stops_before_its_end_says_nothing() {
    alone(|session| {
        for sql in [
            format!("SELECT b.y FROM a JOIN b ON b.x = a.id WHERE {ALIKE} LIMIT 3"),
            format!("SELECT EXISTS (SELECT 1 FROM a JOIN b ON b.x = a.id WHERE {ALIKE})"),
        ] {
            query(session, &sql);
            assert_eq!(misestimated(session), 0, "{}", plan(session, &sql));
        }
    });
}

#[test]
fn changes_are_planned_again_too() {
    alone(|session| {
        let sql = format!("UPDATE a JOIN b ON b.x = a.id SET b.y = b.y + 1 WHERE {ALIKE}");
        query(session, &sql);
        assert_eq!(misestimated(session), 1);
        assert!(plan(session, &sql).contains("rows=5000"), "{}", plan(session, &sql));
        query(session, &sql);
        assert_eq!(query(session, "SELECT SUM(y - x) FROM b"), ["10000"]);
    });
}
