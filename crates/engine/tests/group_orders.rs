//! Groups in the order of an index, one row of each group, and conditions asked of rows as they are stored: how it is planned, that the rows
//! stay the same, and what is read.

mod answers;
mod database;
mod root;

use database::query;
use service::Session;

/// Runs a test over a table of 40,000 rows in a database of its own.
fn alone(test: impl FnOnce(&mut dyn Session)) {
    database::alone_with(&[], |session| {
        query(session, "SET cte_max_recursion_depth = 100000");
        query(
            session,
            "CREATE TABLE t (id INT PRIMARY KEY, a INT NOT NULL, b INT NOT NULL, c INT, note CHAR(80), KEY ab (a, b), KEY ca (c, a))",
        );
        query(
            session,
            "INSERT INTO t WITH RECURSIVE r AS (SELECT 0 AS i UNION ALL SELECT i + 1 FROM r WHERE i < 39999)
         SELECT i, i % 20, i % 997, IF(i % 9 = 0, NULL, i % 4000), 'x' FROM r",
        );
        query(session, "ANALYZE TABLE t");
        test(session);
    });
}

/// The plan, one operator a line, without costs.
fn plan(session: &mut dyn Session, sql: &str) -> Vec<String> {
    let tree = query(session, &format!("EXPLAIN FORMAT=TREE {sql}")).join("\n");
    let lines = tree.lines().map(|line| line.split("  (cost").next().unwrap_or(line).trim().to_owned());
    lines.collect()
}

/// Rows that the query reads.
fn rows_read(session: &mut dyn Session, sql: &str) -> u64 {
    let count = |session: &mut dyn Session| -> u64 {
        let rows = query(
            session,
            "SELECT SUM(VARIABLE_VALUE) FROM performance_schema.session_status WHERE VARIABLE_NAME IN
             ('Handler_read_next', 'Handler_read_prev', 'Handler_read_rnd_next', 'Handler_read_first', 'Handler_read_last')",
        );
        rows[0].parse::<f64>().expect("a number") as u64
    };
    let itself = {
        let before = count(session);
        count(session) - before
    };
    let before = count(session);
    query(session, sql);
    count(session) - before - itself
}

const HASHED: &str = "SET optimizer_switch = 'prefer_ordering_index=off,engine_condition_pushdown=off'";

/// The rows are the same in any order, and whatever finds the groups.
fn check_rows(session: &mut dyn Session, sql: &str) {
    let mut rows = query(session, sql);
    query(session, HASHED);
    let mut hashed = query(session, sql);
    query(session, "SET optimizer_switch = DEFAULT");
    if !sql.contains("ORDER BY") {
        rows.sort();
        hashed.sort();
    }
    assert_eq!(rows, hashed, "{sql}");
}

#[test]
fn groups_come_in_the_order_of_an_index() {
    alone(|session| {
        for (sql, expected) in [
            (
                "SELECT a, SUM(b) FROM t GROUP BY a",
                &["-> Group aggregate: sum(t.b)", "-> Covering index scan on t using ab"][..],
            ),
            (
                "SELECT a, SUM(b) FROM t GROUP BY a ORDER BY a DESC",
                &["-> Group aggregate: sum(t.b)", "-> Covering index scan on t using ab (reverse)"],
            ),
            ("SELECT id, SUM(b) FROM t GROUP BY id", &["-> Group aggregate: sum(t.b)", "-> Table scan on t"]),
            (
                "SELECT b, a, COUNT(*) FROM t GROUP BY b, a ORDER BY a",
                &["-> Group aggregate: count(0)", "-> Covering index scan on t using ab"],
            ),
            (
                "SELECT a, SUM(b) FROM t GROUP BY a HAVING SUM(b) > 5 ORDER BY a",
                &[
                    "-> Filter: (sum > 5)",
                    "-> Group aggregate: sum(t.b)",
                    "-> Covering index scan on t using ab",
                ],
            ),
            // Each row by its locator: the hash table is cheaper.
            (
                "SELECT a, MAX(note) FROM t GROUP BY a",
                &["-> Aggregate using hash table: max(t.note)", "-> Table scan on t"],
            ),
        ] {
            let tree = plan(session, sql);
            assert_eq!(tree, expected, "{sql}");
            check_rows(session, sql);
        }
        query(session, HASHED);
        let tree = plan(session, "SELECT a, SUM(b) FROM t GROUP BY a");
        assert!(tree[0].contains("hash table"), "{tree:?}");
    });
}

#[test]
fn one_row_of_each_group_is_enough() {
    alone(|session| {
        for (sql, expected) in [
            ("SELECT DISTINCT a FROM t", "-> Covering index skip scan for deduplication on t using ab"),
            ("SELECT a FROM t GROUP BY a", "-> Covering index skip scan for deduplication on t using ab"),
            ("SELECT a, MIN(b) FROM t GROUP BY a", "-> Covering index skip scan for grouping on t using ab"),
            (
                "SELECT a, MAX(b) FROM t GROUP BY a",
                "-> Covering index skip scan for grouping on t using ab (reverse)",
            ),
            (
                "SELECT a, MIN(b) FROM t WHERE a > 15 GROUP BY a",
                "-> Covering index skip scan for grouping on t using ab over (a > 15)",
            ),
            (
                "SELECT DISTINCT a FROM t WHERE a % 2 = 1 ORDER BY a DESC",
                "-> Covering index skip scan for deduplication on t using ab (reverse)",
            ),
        ] {
            let tree = plan(session, sql);
            assert_eq!(tree.last().map(String::as_str), Some(expected), "{sql}: {tree:?}");
            check_rows(session, sql);
            let read = rows_read(session, sql);
            assert!(read < 100, "{sql}: {read}");
        }
        for sql in [
            "SELECT a, MIN(b), MAX(b) FROM t GROUP BY a",
            "SELECT a, MIN(b) FROM t WHERE b > 7 GROUP BY a",
            "SELECT a, MIN(id) FROM t GROUP BY a",
            "SELECT c, MIN(a) FROM t GROUP BY c",
            "SELECT c, MAX(a) FROM t WHERE c IS NULL OR c < 100 GROUP BY c",
            "SELECT DISTINCT c FROM t",
            "SELECT DISTINCT c, a FROM t WHERE c > 3990",
        ] {
            check_rows(session, sql);
        }
    });
}

#[test]
fn a_limit_ends_the_reading_of_groups() {
    alone(|session| {
        for sql in [
            "SELECT a, SUM(b) FROM t GROUP BY a LIMIT 1",
            "SELECT id, COUNT(*) FROM t GROUP BY id ORDER BY id DESC LIMIT 10",
            "SELECT DISTINCT c, a FROM t ORDER BY c DESC LIMIT 5",
            "SELECT id, COUNT(*) FROM t GROUP BY id HAVING COUNT(*) = 1 LIMIT 10",
        ] {
            let read = rows_read(session, sql);
            assert!(read < 8_000, "{sql}: {read} {:?}", plan(session, sql));
        }
        let counting = "SELECT SQL_CALC_FOUND_ROWS a, SUM(b) FROM t GROUP BY a LIMIT 1";
        let all = rows_read(session, counting);
        assert!(all >= 40_000, "all groups are counted: {all}");
        query(session, counting);
        assert_eq!(query(session, "SELECT FOUND_ROWS()"), ["20"]);
    });
}

/// Rows that are left out early are counted as read.
#[test]
fn rows_left_out_early_are_rows_read() {
    alone(|session| {
        for sql in [
            "SELECT COUNT(*) FROM t WHERE b = 5",
            "SELECT COUNT(*) FROM t WHERE b > 990 AND note = 'x'",
            "SELECT COUNT(*) FROM t IGNORE INDEX (ca) WHERE c > 5000",
            "SELECT COUNT(*) FROM t WHERE a = 3 AND c < 50",
            "SELECT COUNT(note) FROM t FORCE INDEX (ca) WHERE c < 50 AND b < 20",
        ] {
            check_rows(session, sql);
            let read = rows_read(session, sql);
            query(session, "SET optimizer_switch = 'engine_condition_pushdown=off'");
            let expected = rows_read(session, sql);
            query(session, "SET optimizer_switch = DEFAULT");
            assert_eq!(read, expected, "{sql}");
        }
    });
}
