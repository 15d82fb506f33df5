//! Plans follow from what indexes say of the ranges that a statement asks for.

mod answers;
mod database;
mod root;

use answers::ask;
use database::query;
use service::Session;

const ROWS: u64 = 20_000;

/// Runs a test in a database of its own. Plans follow from the index alone here.
fn alone(test: impl FnOnce(&mut dyn Session)) {
    database::alone_with(&[("innodb_stats_auto_recalc", "OFF")], test);
}

fn table(session: &mut dyn Session) {
    query(session, "SET cte_max_recursion_depth = 100000");
    query(
        session,
        "CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL, day DATE, moment DATETIME(3), span TIME, price DECIMAL(12,2), real_number DOUBLE,
         name VARCHAR(20), bits BIT(16), pad CHAR(100) NOT NULL, KEY (n), KEY (day), KEY (moment), KEY (span), KEY (price), KEY (real_number),
         KEY (name), KEY (bits))",
    );
    query(
        session,
        &format!(
            "INSERT INTO t WITH RECURSIVE r AS (SELECT 0 AS i UNION ALL SELECT i + 1 FROM r WHERE i + 1 < {ROWS})
             SELECT i, i, DATE '2020-01-01' + INTERVAL i DIV 100 DAY, TIMESTAMP '2020-01-01 00:00:00' + INTERVAL i MINUTE,
             SEC_TO_TIME(i), i / 100, i / 1000, CONCAT('name ', LPAD(i, 5, '0')), i, 'x' FROM r"
        ),
    );
}

/// How the rows that meet a condition are read, and how many are expected.
fn reading(session: &mut dyn Session, condition: &str) -> (String, f64) {
    let sql = format!("EXPLAIN FORMAT=TREE SELECT SUM(LENGTH(pad)) FROM t WHERE {condition}");
    let tree = query(session, &sql).join("\n");
    let line = tree.lines().find(|line| line.contains("on t")).unwrap_or_else(|| panic!("{tree}"));
    let rows = tree.lines().nth(1).and_then(|line| line.rsplit_once("rows=")).expect("rows are shown").1;
    (line.trim().to_owned(), rows.trim_end_matches(')').parse().expect("a number"))
}

#[test]
fn ranges_of_all_types_are_asked_of_the_index() {
    alone(|session| {
        table(session);
        // A hundredth of the rows, and nine tenths.
        for (narrow, wide) in [
            ("n < 300 - 100", "n < 20000 - 2000"),
            ("n BETWEEN 1 + 1 AND 201", "n BETWEEN 2 - 1 AND 18000"),
            ("day < DATE '2020-01-03'", "day <= DATE '2020-07-18' - INTERVAL 20 DAY"),
            ("day < '2020-01-01' + INTERVAL 2 DAY", "day >= '2020-01-21'"),
            (
                "moment < TIMESTAMP '2020-01-01 03:20:00'",
                "moment >= '2020-01-01 00:00:00' AND moment < TIMESTAMP '2020-01-01 00:00:00' + INTERVAL 300 HOUR",
            ),
            ("span < TIME '00:03:20'", "span < '05:00:00'"),
            ("price < 1.995 + 0.005", "price < 180"),
            ("real_number < 2e-1", "real_number < 18"),
            ("name < 'name 00200'", "name < CONCAT('name ', '18000')"),
            ("bits < 200", "bits < 18000"),
            ("n < 100 OR n >= 19900", "n < 9000 OR n >= 11000"),
        ] {
            let (line, rows) = reading(session, narrow);
            assert!(line.contains("Index range scan"), "{narrow}: {line}");
            assert!((120.0..300.0).contains(&rows), "{narrow}: {rows}");
            let (line, rows) = reading(session, wide);
            assert!(line.contains("Table scan"), "{wide}: {line}");
            assert!((15_000.0..=20_000.0).contains(&rows), "{wide}: {rows}");
        }
        // What is not known, or an error, is the execution's.
        for condition in ["n < 9223372036854775807 + 1", "n < RAND() * 10", "day < 'no date'"] {
            let _ = ask(session, &format!("EXPLAIN SELECT * FROM t WHERE {condition}"));
        }
    });
}

#[test]
fn lists_are_asked_up_to_the_limit() {
    alone(|session| {
        table(session);
        query(session, "CREATE TABLE s (k INT, pad CHAR(100), KEY (k))");
        // One value has nine tenths of the rows.
        query(session, "INSERT INTO s SELECT IF(n < 18000, 7, n), 'x' FROM t");
        let mut rows = |list: &str| {
            let sql = format!(
                "EXPLAIN FORMAT=TREE SELECT SUM(LENGTH(pad)) FROM s WHERE k IN ({list}) AND k + 0 > 1"
            );
            query(session, &sql).join("\n").contains("Table scan")
        };
        assert!(rows("7, 18001"));
        assert!(!rows("18001, 18002"));
        query(session, "SET eq_range_index_dive_limit = 2");
        let tree = query(
            session,
            "EXPLAIN FORMAT=TREE SELECT SUM(LENGTH(pad)) FROM s WHERE k IN (7, 18001) AND k + 0 > 1",
        );
        assert!(tree.join("\n").contains("Index"), "{tree:?}");
    });
}

/// A counter of the session's status.
fn count(session: &mut dyn Session, name: &str) -> u64 {
    let line = query(session, &format!("SHOW SESSION STATUS LIKE '{name}'")).remove(0);
    line.rsplit('|').next().and_then(|count| count.parse().ok()).expect("a count")
}

/// Rows that the table itself gave, and those of an index, in the session's next statement.
fn work(session: &mut dyn Session, sql: &str) -> (u64, u64) {
    query(session, "FLUSH STATUS");
    query(session, sql);
    (count(session, "Handler_read_rnd_next"), count(session, "Handler_read_next"))
}

#[test]
fn what_is_explained_is_what_runs() {
    alone(|session| {
        table(session);
        let sql = |limit: u64| format!("SELECT SUM(LENGTH(pad)) FROM t WHERE n < {limit}");
        // One text for all values: each gets the plan for about as many rows.
        for limit in [100, 18_000, 150, 19_999, 3, 12_000, 100] {
            let explained = query(session, &format!("EXPLAIN FORMAT=TREE {}", sql(limit))).join("\n");
            let by_index = explained.contains("Index range scan");
            assert_eq!(by_index, limit < 1_000, "{limit}: {explained}");
            assert!(explained.contains(&format!("n < {limit}")), "{explained}");
            let (of_table, of_index) = work(session, &sql(limit));
            assert_eq!((of_table > ROWS / 2, of_index > 0), (!by_index, by_index), "{limit}");
            let analyzed = query(session, &format!("EXPLAIN ANALYZE {}", sql(limit))).join("\n");
            assert_eq!(analyzed.contains("Index range scan"), by_index, "{limit}: {analyzed}");
        }
        query(session, "PREPARE p FROM 'SELECT SUM(LENGTH(pad)) FROM t WHERE n < ?'");
        for limit in [100, 18_000, 150] {
            query(session, &format!("SET @limit = {limit}"));
            let (of_table, of_index) = work(session, "EXECUTE p USING @limit");
            assert_eq!((of_table > ROWS / 2, of_index > 0), (limit > 1_000, limit < 1_000), "{limit}");
        }
    });
}

#[test]
fn a_text_has_a_few_plans() {
    alone(|session| {
        table(session);
        query(session, "CREATE TABLE u (id INT PRIMARY KEY, n INT, KEY (n))");
        query(session, "INSERT INTO u SELECT id, n FROM t");
        let misses = |session: &mut dyn Session| count(session, "Plan_cache_misses");
        // Two ways to read one table: as many plans, whatever the values.
        let one = |limit: u64| format!("SELECT MIN(pad) FROM t WHERE n < {limit}");
        for limit in [10, 19_000] {
            query(session, &one(limit));
        }
        let before = misses(session);
        for limit in [1, 50, 18_000, 16_000, 0, 100_000] {
            query(session, &one(limit));
        }
        assert_eq!(misses(session), before);
        // Pages of a table, and ranges of its key: one plan is the best for all.
        for of in [
            "id > {} ORDER BY id LIMIT 10",
            "n > {} ORDER BY n LIMIT 10",
            "id < {}",
            "id BETWEEN 1 AND {} ORDER BY pad",
        ] {
            let sql =
                |limit: u64| format!("SELECT pad FROM t WHERE {}", of.replace("{}", &limit.to_string()));
            query(session, &sql(10));
            let before = misses(session);
            for limit in [0, 100, 10_000, 19_990, 30_000, 5] {
                query(session, &sql(limit));
            }
            assert_eq!(misses(session), before, "{of}");
        }
        // Of a join each fourfold number of rows has its own, the last four are kept, and answers are right beyond them.
        for limit in [1, 300, 2_000, 19_000, 1, 300, 2_000, 19_000, 60_000] {
            let rows = query(
                session,
                &format!("SELECT COUNT(*) FROM t JOIN u USING (id) WHERE t.n < {limit} AND u.n < 100"),
            );
            assert_eq!(rows, [limit.min(100).to_string()]);
        }
    });
}

/// Three indexes, two of which begin alike.
fn table_of_numbers(session: &mut dyn Session) {
    table(session);
    query(
        session,
        "CREATE TABLE u (id INT PRIMARY KEY, a INT, b INT, c INT, g INT, pad CHAR(100) NOT NULL, KEY (a), KEY ab (a, b), KEY (c), KEY ga (g, a))",
    );
    query(session, "INSERT INTO u SELECT id, n, n MOD 7, n, n MOD 4, 'x' FROM t");
}

#[test]
fn a_plan_holds_for_what_it_was_made_for() {
    alone(|session| {
        table_of_numbers(session);
        let mut statements = Vec::new();
        for limit in (0..22_000).step_by(500) {
            for of in [
                "SELECT a,c,pad FROM u WHERE a > {} ORDER BY c,id,b LIMIT 1",
                "SELECT a,c,pad FROM u WHERE a > {} ORDER BY pad",
                "SELECT COUNT(pad) FROM u WHERE a > {} AND c > {}",
                "SELECT COUNT(pad) FROM u WHERE a < {} AND c > 100",
                "SELECT COUNT(pad) FROM u WHERE a BETWEEN {} AND 18000 OR a BETWEEN 18500 AND 19000",
                "SELECT COUNT(pad) FROM u WHERE g IN (1, 2) AND a > {}",
                "SELECT COUNT(u.pad) FROM u JOIN t USING (id) WHERE u.a > {} AND t.n > {}",
            ] {
                statements.push(of.replace("{}", &limit.to_string()));
            }
        }
        for sql in statements {
            query(session, &sql);
            let before = count(session, "Plan_cache_misses");
            query(session, &sql);
            assert_eq!(count(session, "Plan_cache_misses"), before, "{sql}");
        }
    });
}

#[test]
fn indexes_that_begin_alike_have_one_turn() {
    alone(|session| {
        table_of_numbers(session);
        let before = count(session, "Plan_cache_misses");
        for step in 0..200_u64 {
            query(session, &format!("SELECT COUNT(pad) FROM u WHERE a > {}", step * 7919 % ROWS));
        }
        let misses = count(session, "Plan_cache_misses") - before;
        assert!(misses <= 4, "{misses}");
    });
}

#[test]
fn several_ranges_have_a_guard() {
    alone(|session| {
        table_of_numbers(session);
        for (sql, few, many) in [
            (
                "SELECT SUM(LENGTH(pad)) FROM u WHERE a BETWEEN 5 AND {} OR a BETWEEN 19000 AND 19003",
                9,
                18_000,
            ),
            ("SELECT SUM(LENGTH(pad)) FROM u WHERE g IN (0, 1, 2, 3) AND a > {}", 19_990, 100),
        ] {
            let sql = |limit: u64| sql.replace("{}", &limit.to_string());
            for _ in 0..2 {
                assert!(work(session, &sql(few)).0 < 100, "{}", sql(few));
                assert!(work(session, &sql(many)).0 > ROWS / 2, "{}", sql(many));
            }
        }
    });
}

#[test]
fn a_range_of_the_primary_key_gives_way_to_an_index() {
    alone(|session| {
        table(session);
        query(session, "CREATE TABLE w (id INT PRIMARY KEY, tenant INT, pad CHAR(100), KEY (tenant))");
        query(session, "INSERT INTO w SELECT id, id MOD 500, 'x' FROM t");
        let sql = |id: u64, tenant: u64| {
            format!("SELECT SUM(LENGTH(pad)) FROM w WHERE id > {id} AND tenant = {tenant}")
        };
        query(session, &sql(ROWS - 10, 7));
        let (of_table, of_index) = work(session, &sql(1, 8));
        assert!(of_table + of_index < 1_000, "{of_table} and {of_index} rows read");
    });
}

#[test]
fn an_explained_plan_is_the_one_that_is_held() {
    alone(|session| {
        table(session);
        let sql = |limit: u64| format!("SELECT SUM(LENGTH(pad)) FROM t WHERE n < {limit}");
        // Which of the two ways it is, differs between values near each other: a plan holds for a while.
        let explained = |session: &mut dyn Session, limit: u64| {
            let tree = query(session, &format!("EXPLAIN FORMAT=TREE {}", sql(limit))).join("\n");
            assert!(tree.contains(&format!("n < {limit}")), "{tree}");
            tree.contains("Index range scan")
        };
        // The first number for which a new plan reads the whole table.
        let turn = (100..20_000).step_by(100).find(|&limit| !explained(session, limit)).expect("a turn");
        query(session, &sql(turn - 100));
        for limit in [turn + 100, turn * 2] {
            let by_index = explained(session, limit);
            let (of_table, _) = work(session, &sql(limit));
            assert_eq!(by_index, of_table < ROWS / 2, "{limit} beside {turn}");
        }
        assert!(explained(session, turn + 100), "the plan for {} holds for {}", turn - 100, turn + 100);
    });
}

#[test]
fn a_text_is_not_planned_for_ever() {
    alone(|session| {
        table(session);
        query(session, "CREATE TABLE u (id INT PRIMARY KEY, n INT, KEY (n))");
        query(session, "INSERT INTO u SELECT id, n FROM t");
        query(
            session,
            "PREPARE p FROM 'SELECT COUNT(*) FROM t JOIN u USING (id) WHERE t.n < ? AND u.n < ? AND t.price >= 0'",
        );
        let before = count(session, "Plan_cache_misses");
        for _ in 0..4 {
            for one in [10, 500, 3_000, 19_000] {
                for other in [10, 500, 3_000, 19_000] {
                    let sql = format!(
                        "SELECT COUNT(*) FROM t JOIN u USING (id) WHERE t.n < {one} AND u.n < {other}"
                    );
                    assert_eq!(query(session, &sql), [one.min(other).to_string()]);
                    query(session, &format!("SET @one = {one}, @other = {other}"));
                    assert_eq!(query(session, "EXECUTE p USING @one, @other"), [one.min(other).to_string()]);
                }
            }
            let misses = count(session, "Plan_cache_misses") - before;
            assert!(misses <= 20, "{misses}");
        }
    });
}

#[test]
fn moments_are_asked_for_in_the_time_zone_of_the_session() {
    alone(|session| {
        table(session);
        query(session, "SET time_zone = '+10:00'");
        query(
            session,
            "CREATE TABLE s (id INT PRIMARY KEY, moment TIMESTAMP NULL, pad CHAR(100), KEY (moment))",
        );
        query(
            session,
            "INSERT INTO s SELECT id, TIMESTAMP '2020-01-01 00:00:00' + INTERVAL id SECOND, 'x' FROM t",
        );
        let sql = "EXPLAIN FORMAT=TREE SELECT SUM(LENGTH(pad)) FROM s WHERE moment < TIMESTAMP '2020-01-01 00:03:20'";
        let tree = query(session, sql).join("\n");
        let line = tree.lines().find(|line| line.contains("on s")).unwrap_or_else(|| panic!("{tree}"));
        let rows = line.rsplit_once("rows=").expect("rows are shown").1.trim_end_matches(')');
        assert!((120.0..300.0).contains(&rows.parse::<f64>().expect("a number")), "{tree}");
    });
}
