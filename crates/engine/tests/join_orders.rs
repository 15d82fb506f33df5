//! In which order relations are joined: any shape, with LEFT, semi and anti joins among them.

mod answers;
mod database;
mod root;

use database::query;
use service::Session;

/// Runs a test over two pairs of a large table and one that narrows it, in a database of its own.
fn alone(test: impl FnOnce(&mut dyn Session)) {
    database::alone_with(&[], |session| {
        query(session, "SET cte_max_recursion_depth = 100000");
        for (large, small) in [("orders", "customers"), ("items", "parts")] {
            query(
                session,
                &format!("CREATE TABLE {small} (id INT PRIMARY KEY, name VARCHAR(20), UNIQUE (name))"),
            );
            query(
                session,
                &format!(
                    "INSERT INTO {small} WITH RECURSIVE r AS (SELECT 0 AS i UNION ALL SELECT i + 1 FROM r WHERE i < 999)
                 SELECT i, CONCAT('name ', i) FROM r"
                ),
            );
            query(
                session,
                &format!(
                    "CREATE TABLE {large} (id INT PRIMARY KEY, {small}_id INT NOT NULL, place INT, note CHAR(50), KEY ({small}_id))"
                ),
            );
            query(
                session,
                &format!(
                    "INSERT INTO {large} WITH RECURSIVE r AS (SELECT 0 AS i UNION ALL SELECT i + 1 FROM r WHERE i < 19999)
                 SELECT i, i % 1000, i % 7, 'x' FROM r"
                ),
            );
        }
        test(session);
    });
}

/// The plan, one operator a line, without costs.
fn plan(session: &mut dyn Session, sql: &str) -> String {
    let tree = query(session, &format!("EXPLAIN FORMAT=TREE {sql}")).join("\n");
    let lines = tree.lines().map(|line| line.split("  (cost").next().unwrap_or(line).to_owned());
    lines.collect::<Vec<_>>().join("\n")
}

/// The tables of a plan in the order in which it names them.
fn tables(plan: &str) -> Vec<&str> {
    let read = plan.lines().filter(|line| line.contains("scan on ") || line.contains("lookup on "));
    read.filter_map(|line| line.split(" on ").nth(1)?.split_whitespace().next()).collect()
}

#[test]
fn both_sides_of_a_join_may_be_joins() {
    alone(|session| {
        let sql = "SELECT COUNT(*) FROM customers c JOIN orders o ON o.customers_id = c.id JOIN items l ON l.place = o.place
                   JOIN parts p ON l.parts_id = p.id WHERE c.name = 'name 5' AND p.name = 'name 6'";
        let tree = plan(session, sql);
        let mut order = tables(&tree);
        order[..2].sort_unstable();
        order[2..].sort_unstable();
        let mut halves = [order[..2].to_vec(), order[2..].to_vec()];
        halves.sort();
        assert_eq!(halves, [vec!["c", "o"], vec!["l", "p"]], "{tree}");
        let straight = sql.replacen("SELECT", "SELECT STRAIGHT_JOIN", 1);
        assert_eq!(query(session, sql), query(session, &straight));
    });
}

#[test]
fn what_narrows_comes_before_a_left_join() {
    alone(|session| {
        let sql = "SELECT COUNT(l.note) FROM orders o LEFT JOIN items l ON l.place = o.place AND l.id < o.id
                   JOIN customers c ON o.customers_id = c.id WHERE c.name = 'name 5'";
        let tree = plan(session, sql);
        assert_eq!(tables(&tree).last(), Some(&"l"), "{tree}");
        // What the left join adds is asked above it, and not while it is made.
        let sql = "SELECT COUNT(*) FROM orders o LEFT JOIN items l ON l.id = o.id + 19990
                   JOIN customers c ON o.customers_id = c.id WHERE l.note IS NULL";
        assert_eq!(query(session, sql), ["19990"], "{}", plan(session, sql));
        let sql = "SELECT COUNT(*) FROM orders o LEFT JOIN items l ON l.id = o.id + 19990
                   JOIN customers c ON IFNULL(l.parts_id, 3) = c.id";
        assert_eq!(query(session, sql), ["20000"], "{}", plan(session, sql));
    });
}

#[test]
fn what_narrows_comes_before_a_semi_join() {
    alone(|session| {
        for not in ["", "NOT"] {
            let sql = format!(
                "SELECT COUNT(*) FROM orders o JOIN customers c ON o.customers_id = c.id WHERE c.name = 'name 5' AND {not} EXISTS
                 (SELECT 1 FROM items l WHERE l.place = o.place AND l.note < o.note)"
            );
            let tree = plan(session, &sql);
            assert_eq!(tables(&tree).last(), Some(&"l"), "{tree}");
            let expected = if not.is_empty() { "0" } else { "20" };
            assert_eq!(query(session, &sql), [expected]);
        }
    });
}

#[test]
fn groups_that_are_looked_for_may_come_first() {
    alone(|session| {
        let sql = "SELECT COUNT(*) FROM orders o JOIN customers c ON o.customers_id = c.id WHERE o.id IN
                   (SELECT parts_id FROM items WHERE id < 40 GROUP BY parts_id HAVING COUNT(*) = 1)";
        let tree = plan(session, sql);
        assert_eq!(tables(&tree)[0], "items", "{tree}");
        assert!(!tree.contains("Semijoin"), "{tree}");
        assert_eq!(query(session, sql), ["40"]);
        // Equal under the comparison's collation is not the same as equal in the group.
        query(session, "CREATE TABLE a (s VARCHAR(5) COLLATE utf8mb4_0900_ai_ci)");
        query(session, "CREATE TABLE b (s VARCHAR(5) COLLATE utf8mb4_bin)");
        query(session, "INSERT INTO a VALUES ('x')");
        query(session, "INSERT INTO b VALUES ('x'), ('X')");
        let sql = "SELECT COUNT(*) FROM a WHERE s IN (SELECT s COLLATE utf8mb4_0900_ai_ci FROM (SELECT DISTINCT s FROM b) x)";
        assert_eq!(query(session, sql), ["1"], "{}", plan(session, sql));
        let sql = "SELECT COUNT(*) FROM a WHERE EXISTS (SELECT 1 FROM (SELECT DISTINCT s FROM b) x WHERE x.s COLLATE utf8mb4_0900_ai_ci = a.s)";
        assert_eq!(query(session, sql), ["1"], "{}", plan(session, sql));
        // Nor are numbers that are one DOUBLE the same group.
        query(session, "CREATE TABLE r (d DOUBLE)");
        query(session, "CREATE TABLE n (i BIGINT)");
        query(session, "INSERT INTO r VALUES (9007199254740992)");
        query(session, "INSERT INTO n VALUES (9007199254740992), (9007199254740993)");
        let sql = "SELECT COUNT(*) FROM r WHERE EXISTS (SELECT 1 FROM (SELECT DISTINCT i FROM n) x WHERE x.i = r.d)";
        assert_eq!(query(session, sql), ["1"], "{}", plan(session, sql));
    });
}

#[test]
fn an_aggregate_for_many_rows_is_a_join_with_groups() {
    alone(|session| {
        let count = "(SELECT COUNT(*) FROM orders o WHERE o.customers_id = c.id)";
        let all = format!("SELECT SUM(n) FROM (SELECT c.id, {count} AS n FROM customers c) x");
        let tree = plan(session, &all);
        assert!(tree.contains("Left hash") && !tree.contains("dependent"), "{tree}");
        assert_eq!(query(session, &all), ["20000"]);
        let few = format!("SELECT c.id, {count} AS n FROM customers c WHERE c.name = 'name 5'");
        let tree = plan(session, &few);
        assert!(tree.contains("dependent") && !tree.contains("Left hash"), "{tree}");
        assert_eq!(query(session, &few), ["5|20"]);
        // Without an index each would read the whole table; those of other values cannot fail, and are grouped.
        let unindexed = "SELECT COUNT(*) FROM orders o WHERE o.id = (SELECT MAX(i.id) FROM items i WHERE i.id = o.id AND i.note = 'x')";
        assert_eq!(query(session, unindexed), ["20000"]);
        let all_numbers = "SELECT SUM(n) FROM (SELECT (SELECT MAX(i.id) FROM items i WHERE i.place = o.id) AS n FROM orders o) x";
        let tree = plan(session, all_numbers);
        assert!(tree.contains("Left hash"), "{tree}");
        assert_eq!(query(session, all_numbers), ["139972"]);
        // What may warn or fail is computed for the rows that ask for it alone.
        let fails = "SELECT SUM(n) FROM (SELECT (SELECT MAX(i.id) FROM items i WHERE i.place = o.id AND i.note > 1) AS n FROM orders o) x";
        let tree = plan(session, fails);
        assert!(!tree.contains("Left hash"), "{tree}");
    });
}

#[test]
fn a_select_list_is_computed_after_order_and_limit() {
    alone(|session| {
        let count = "(SELECT COUNT(*) FROM orders o WHERE o.customers_id = c.id)";
        for order in ["c.id", "c.name", "LENGTH(c.name), c.id DESC"] {
            let sql = format!("SELECT c.id, {count} AS n FROM customers c ORDER BY {order} LIMIT 3");
            let tree = plan(session, &sql);
            let places = ["Limit", "on c", "Select"].map(|what| tree.find(what).expect(&tree));
            assert!(places.is_sorted() && !tree.contains("Left hash"), "{tree}");
            let first = tree.lines().nth(1).unwrap_or_default();
            assert_eq!(first.contains("Sort"), order.starts_with("LENGTH"), "{tree}");
        }
        let sql = format!("SELECT c.id, {count} + c.id AS n FROM customers c ORDER BY n DESC, c.id LIMIT 2");
        assert_eq!(query(session, &sql), ["999|1019", "998|1018"]);
        // Nothing is computed for the rows that are cut off.
        let sql = "SELECT c.id, CAST(9223372036854775807 AS SIGNED) + c.id AS n FROM customers c ORDER BY c.id LIMIT 1";
        assert_eq!(query(session, sql), ["0|9223372036854775807"]);
    });
}

#[test]
fn an_index_gives_the_order_of_joined_rows() {
    alone(|session| {
        // Partners of each, of half, none, several; by a unique index and another one; with conditions that refuse some.
        for join in [
            "JOIN items i ON i.id = o.id",
            "LEFT JOIN items i ON i.id = o.id * 2",
            "LEFT JOIN items i ON i.id = o.id * 2 AND i.place < o.place",
            "LEFT JOIN items i ON i.id = o.id + 1000000",
            "LEFT JOIN items i ON i.parts_id = o.id",
            "LEFT JOIN items i ON i.parts_id = o.id + 500 AND i.place = o.place",
            "LEFT JOIN parts i ON i.id = o.customers_id LEFT JOIN items k ON k.parts_id = o.id * 3 AND k.id < 3000",
        ] {
            for order in ["o.id", "o.id DESC"] {
                for (limit, offset) in [(5, 0), (300, 40), (50, 3000)] {
                    let sql = |order: &str| {
                        format!(
                            "SELECT o.id, i.id FROM orders o {join} ORDER BY {order}, i.id LIMIT {limit} OFFSET {offset}"
                        )
                    };
                    let by_index = format!(
                        "SELECT o.id, i.id IS NULL FROM orders o {join} ORDER BY {order} LIMIT {limit} OFFSET {offset}"
                    );
                    let tree = plan(session, &by_index);
                    assert!(offset > 40 || !tree.contains("Sort"), "{by_index}: {tree}");
                    let firsts = |rows: Vec<String>| {
                        rows.iter()
                            .map(|row| row.split('|').next().unwrap_or_default().to_owned())
                            .collect::<Vec<_>>()
                    };
                    let sorted = query(session, &sql(&order.replacen("o.id", "o.id + 0", 1)));
                    assert_eq!(firsts(query(session, &by_index)), firsts(sorted), "{by_index}: {tree}");
                }
            }
        }
        // Few rows pass: sorting them is better than to look for them in the order.
        let sql = "SELECT o.id FROM orders o JOIN customers c ON c.id = o.customers_id WHERE c.name = 'name 5' ORDER BY o.id LIMIT 3";
        assert!(plan(session, sql).contains("Sort"), "{}", plan(session, sql));
        assert_eq!(query(session, sql), ["5", "1005", "2005"]);
    });
}

#[test]
fn least_and_greatest_are_the_ends_of_indexes() {
    alone(|session| {
        let sql = "SELECT MIN(id), MAX(id), MAX(customers_id) FROM orders";
        let tree = plan(session, sql);
        assert_eq!(tree.matches("Limit: 1 row").count(), 3, "{tree}");
        assert_eq!(query(session, sql), ["0|19999|999"]);
        let sql = "SELECT MIN(id), MAX(id) FROM orders WHERE id > 5 AND place = 3";
        assert_eq!(query(session, sql), ["10|19995"]);
        let sql = "SELECT MIN(id), MAX(id) FROM orders WHERE id > 20000";
        assert_eq!(query(session, sql), ["NULL|NULL"]);
        let sql = "SELECT MIN(id), MAX(id), COUNT(*) FROM orders";
        assert_eq!(query(session, sql), ["0|19999|20000"]);
        let sql = "SELECT 1 FROM orders HAVING MIN(id) < MAX(id) AND MAX(customers_id) > 5";
        assert_eq!(query(session, sql), ["1"]);
    });
}
