//! What is found out about tables: how near estimates come to what is there, what is kept, and when plans are made again.

mod answers;
mod database;
mod root;

use std::path::Path;

use answers::CAPABILITIES;
use database::query;
use engine::engine::{Engine, StartOptions};
use service::Session;

/// Runs a step over the database in a folder.
fn over(folder: &Path, step: impl FnOnce(&mut dyn Session)) {
    let variables = vec![("innodb_stats_auto_recalc".to_owned(), "OFF".to_owned())];
    let options = StartOptions { data_folder: folder.join("data"), variables, ..StartOptions::default() };
    let engine = Engine::open(&env::Env::real(), &options).expect("the folder opens");
    let mut session = root::connect(&engine, CAPABILITIES);
    query(session.as_mut(), "CREATE DATABASE IF NOT EXISTS d");
    query(session.as_mut(), "USE d");
    step(session.as_mut());
    drop(session);
    engine.close().expect("the store closes");
}

fn alone(step: impl FnOnce(&mut dyn Session)) {
    let folder = tempfile::tempdir().expect("a folder for the test");
    over(folder.path(), step);
}

/// The rows that the plan of a query expects.
fn estimate(session: &mut dyn Session, sql: &str) -> f64 {
    let tree = query(session, &format!("EXPLAIN FORMAT=TREE {sql}")).join("\n");
    let first = tree.lines().find(|line| line.contains("rows=")).unwrap_or_else(|| panic!("{sql}: {tree}"));
    let rows = first.rsplit_once("rows=").expect("rows are shown").1;
    rows.trim_end_matches(')').parse().unwrap_or_else(|_| panic!("{first}"))
}

/// A number from 0 up to, not including, 1 that looks random, from `i` and a name.
fn random(name: &str) -> String {
    format!("(CRC32(CONCAT('{name}', i)) / 4294967296)")
}

fn fill(session: &mut dyn Session, table: &str, rows: u64, columns: &str) {
    query(session, "SET cte_max_recursion_depth = 1000000");
    query(
        session,
        &format!(
            "INSERT INTO {table} WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM r WHERE i < {rows}) SELECT {columns} FROM r"
        ),
    );
}

/// Four tables whose values are skewed, and belong together within a table and across.
fn correlated(session: &mut dyn Session) {
    query(session, "CREATE TABLE city (id INT PRIMARY KEY, country INT NOT NULL, name VARCHAR(30) NOT NULL)");
    fill(session, "city", 200, "i, i % 12, CONCAT(IF(i % 4 = 0, 'Saint ', 'New '), i)");
    query(
        session,
        "CREATE TABLE customer (id INT PRIMARY KEY, city_id INT NOT NULL, post INT NOT NULL, segment VARCHAR(10) NOT NULL,
         age INT, email VARCHAR(60), KEY (city_id, post))",
    );
    let (a, b, c) = (random("a"), random("b"), random("c"));
    fill(
        session,
        "customer",
        40_000,
        &format!(
            "i, 1 + FLOOR(200 * POW({a}, 3)), 100 * (1 + FLOOR(200 * POW({a}, 3))) + FLOOR(20 * {b}),
             CASE WHEN {b} < .6 THEN 'private' WHEN {b} < .9 THEN 'trade' WHEN {b} < .99 THEN 'public' ELSE 'own' END,
             IF({c} < .2, NULL, 18 + FLOOR(60 * {c})), IF({b} < .3, NULL, CONCAT('user', i, '@example.org'))"
        ),
    );
    query(
        session,
        "CREATE TABLE orders (id INT PRIMARY KEY, customer_id INT NOT NULL, day DATE NOT NULL, shipped DATE, status CHAR(1) NOT NULL,
         total DECIMAL(10,2) NOT NULL, note VARCHAR(200) NOT NULL)",
    );
    fill(
        session,
        "orders",
        80_000,
        &format!(
            "i, 1 + FLOOR(40000 * POW({a}, 2)), DATE '2015-01-01' + INTERVAL i DIV 40 DAY,
             IF({b} < .03, NULL, DATE '2015-01-01' + INTERVAL i DIV 40 + FLOOR(10 * {b}) DAY),
             IF({b} < .03, 'o', IF({b} < .05, 'x', 'd')), POW({c}, 4) * 10000, CONCAT('note ', FLOOR(500 * {c}))"
        ),
    );
    query(
        session,
        "CREATE TABLE item (order_id INT NOT NULL, line INT NOT NULL, product INT NOT NULL, quantity INT NOT NULL, price DOUBLE NOT NULL,
         PRIMARY KEY (order_id, line))",
    );
    fill(
        session,
        "item",
        200_000,
        &format!(
            "1 + i DIV 4, i % 4, FLOOR(5000 * POW({a}, 3)), 1 + FLOOR(50 * {b}), ROUND(FLOOR(5000 * POW({a}, 3)) * 1.5, 2)"
        ),
    );
}

/// What is asked of the tables, by the number of joins.
const QUERIES: [(usize, &str); 64] = [
    (0, "customer WHERE segment = 'private'"),
    (0, "customer WHERE segment = 'own'"),
    (0, "customer WHERE segment IN ('own', 'public')"),
    (0, "customer WHERE segment <> 'private'"),
    (0, "customer WHERE segment = 'none'"),
    (0, "customer WHERE age IS NULL"),
    (0, "customer WHERE age IS NOT NULL"),
    (0, "customer WHERE age < 40"),
    (0, "customer WHERE age BETWEEN 30 AND 32"),
    (0, "customer WHERE age > 70 AND segment = 'trade'"),
    (0, "customer WHERE email IS NULL"),
    (0, "customer WHERE email LIKE 'user1%'"),
    (0, "customer WHERE email = 'user39999@example.org'"),
    (0, "customer WHERE city_id = 1"),
    (0, "customer WHERE city_id = 150"),
    (0, "customer WHERE city_id = 1 AND post = 105"),
    (0, "customer WHERE city_id = 20 AND post BETWEEN 2000 AND 2005"),
    (0, "customer WHERE post = 105"),
    (0, "customer WHERE post < 500"),
    (0, "orders WHERE status = 'd'"),
    (0, "orders WHERE status = 'o'"),
    (0, "orders WHERE status = 'x'"),
    (0, "orders WHERE day = '2016-06-06'"),
    (0, "orders WHERE day < '2015-02-01'"),
    (0, "orders WHERE day >= DATE '2018-01-01' AND day < DATE '2018-01-01' + INTERVAL 1 YEAR"),
    (0, "orders WHERE shipped IS NULL"),
    (0, "orders WHERE shipped BETWEEN '2016-01-01' AND '2016-01-31'"),
    (0, "orders WHERE shipped IS NULL AND status = 'o'"),
    (0, "orders WHERE total > 9000"),
    (0, "orders WHERE total < 1"),
    (0, "orders WHERE total BETWEEN 100 AND 200"),
    (0, "orders WHERE note = 'note 77'"),
    (0, "orders WHERE note LIKE 'note 4%'"),
    (0, "orders WHERE customer_id = 5"),
    (0, "orders WHERE customer_id > 39000"),
    (0, "orders WHERE customer_id < 100 AND total > 5000"),
    (0, "item WHERE product = 0"),
    (0, "item WHERE product = 4321"),
    (0, "item WHERE product < 50"),
    (0, "item WHERE quantity = 7"),
    (0, "item WHERE quantity > 45 AND product > 4000"),
    (0, "item WHERE price > 7000"),
    (0, "item WHERE order_id BETWEEN 100 AND 200"),
    (1, "customer JOIN city ON city.id = city_id WHERE country = 3"),
    (1, "customer JOIN city ON city.id = city_id WHERE name LIKE 'Saint%'"),
    (1, "orders JOIN customer ON customer.id = customer_id WHERE segment = 'public'"),
    (1, "orders JOIN customer ON customer.id = customer_id WHERE status = 'o' AND age < 30"),
    (1, "orders JOIN customer ON customer.id = customer_id WHERE day > '2020-01-01'"),
    (1, "item JOIN orders ON orders.id = order_id WHERE status = 'x'"),
    (1, "item JOIN orders ON orders.id = order_id WHERE day < '2015-06-01' AND quantity < 10"),
    (1, "item JOIN orders ON orders.id = order_id WHERE shipped IS NULL"),
    (1, "item a JOIN item b ON a.order_id = b.order_id AND a.line = b.line WHERE a.quantity = 3"),
    (1, "item a JOIN item b ON a.product = b.product WHERE a.order_id < 100 AND b.order_id < 2000"),
    (1, "orders WHERE customer_id IN (SELECT id FROM customer WHERE segment = 'own')"),
    (1, "orders WHERE EXISTS (SELECT 1 FROM item WHERE order_id = orders.id AND quantity = 50)"),
    (1, "orders WHERE NOT EXISTS (SELECT 1 FROM item WHERE order_id = orders.id)"),
    (2, "item JOIN orders ON orders.id = order_id JOIN customer ON customer.id = customer_id WHERE segment = 'public'"),
    (2, "item JOIN orders ON orders.id = order_id JOIN customer ON customer.id = customer_id WHERE status = 'o' AND age > 60"),
    (2, "orders JOIN customer ON customer.id = customer_id JOIN city ON city.id = city_id WHERE country = 5 AND day < '2016-01-01'"),
    (3, "item JOIN orders ON orders.id = order_id JOIN customer ON customer.id = customer_id JOIN city ON city.id = city_id
         WHERE country = 1 AND quantity = 5"),
    (3, "item JOIN orders ON orders.id = order_id JOIN customer ON customer.id = customer_id JOIN city ON city.id = city_id
         WHERE segment = 'trade' AND product < 10"),
    (0, "(SELECT segment, COUNT(*) FROM customer GROUP BY segment) g"),
    (0, "(SELECT city_id, post, COUNT(*) FROM customer GROUP BY city_id, post) g"),
    (0, "(SELECT customer_id, COUNT(*) FROM orders GROUP BY customer_id) g"),
];

/// How many times an estimate is too large or too small; below a row all is alike.
fn q_error(estimate: f64, real: f64) -> f64 {
    let (estimate, real) = (estimate.max(1.0), real.max(1.0));
    (estimate / real).max(real / estimate)
}

/// The median and the 95th percentile of the errors of all queries, which are printed by number of joins.
fn errors(session: &mut dyn Session, prints: bool) -> (f64, f64) {
    let mut all = Vec::new();
    for (joins, from) in QUERIES {
        let sql = format!("SELECT 1 FROM {from}");
        let found = estimate(session, &sql);
        let real: f64 = query(session, &format!("SELECT COUNT(*) FROM {from}"))[0].parse().expect("a count");
        let error = q_error(found, real);
        if prints {
            println!("{error:10.2}  {found:10.0} of {real:10.0}  {joins} joins  {from}");
        }
        all.push((joins, error));
    }
    let percentile = |of: &dyn Fn(usize) -> bool, share: f64| {
        let mut errors: Vec<f64> =
            all.iter().filter(|(joins, _)| of(*joins)).map(|(_, error)| *error).collect();
        errors.sort_by(f64::total_cmp);
        errors[((errors.len() - 1) as f64 * share) as usize]
    };
    for joins in 0..4 {
        let of = |all: usize| all == joins;
        println!("{joins} joins: median {:.2}, most {:.2}", percentile(&of, 0.5), percentile(&of, 1.0));
    }
    let of = |_| true;
    let result = (percentile(&of, 0.5), percentile(&of, 0.95));
    println!("all: median {:.2}, 95th percentile {:.2}", result.0, result.1);
    result
}

fn analyze(session: &mut dyn Session) {
    let answer = query(session, "ANALYZE TABLE city, customer, orders, item");
    assert!(answer.iter().all(|row| row.ends_with("analyze|status|OK")), "{answer:?}");
}

#[test]
fn estimates_are_near_what_is_there() {
    alone(|session| {
        correlated(session);
        println!("without statistics:");
        errors(session, false);
        analyze(session);
        let (median, most) = errors(session, true);
        assert!(median <= 1.5 && most <= 15.0, "median {median}, 95th percentile {most}");
    });
}

#[test]
fn what_was_found_is_kept_as_long_as_it_is_true() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let open = "SELECT 1 FROM orders WHERE status = 'o'";
    let dear = "SELECT 1 FROM orders WHERE total > 9000";
    over(folder.path(), |session| {
        query(session, "CREATE TABLE orders (id INT PRIMARY KEY, status CHAR(1) NOT NULL, total INT)");
        fill(session, "orders", 10_000, "i, IF(i % 50 = 0, 'o', 'd'), i");
        assert_eq!(estimate(session, open), 10.0, "a guess");
        query(session, "ANALYZE TABLE orders");
        assert_eq!((estimate(session, open), estimate(session, dear)), (200.0, 1000.0));
    });
    over(folder.path(), |session| {
        assert_eq!((estimate(session, open), estimate(session, dear)), (200.0, 1000.0), "after a restart");
        query(session, "RENAME TABLE orders TO o2, o2 TO orders");
        query(session, "ALTER TABLE orders ADD COLUMN first INT FIRST");
        assert_eq!((estimate(session, open), estimate(session, dear)), (200.0, 1000.0), "columns moved");
        query(session, "ALTER TABLE orders DROP COLUMN total");
        query(session, "ALTER TABLE orders ADD COLUMN total INT");
        assert_eq!(estimate(session, open), 200.0);
        assert_ne!(estimate(session, dear), 1000.0, "another column of the same name");
    });
    over(folder.path(), |session| {
        assert_eq!(estimate(session, open), 200.0);
        assert_ne!(estimate(session, dear), 1000.0);
        query(session, "TRUNCATE TABLE orders");
        query(session, "INSERT INTO orders (id, status) VALUES (1, 'o'), (2, 'd')");
        assert_eq!(estimate(session, open), 2.0, "nothing is known of the new rows");
        query(session, "DROP TABLE orders");
        query(session, "CREATE TABLE orders (id INT PRIMARY KEY, status CHAR(1) NOT NULL, total INT)");
        fill(session, "orders", 10_000, "i, 'o', i");
        assert_eq!(estimate(session, open), 10.0, "another table");
        query(session, "CREATE TEMPORARY TABLE own (id INT PRIMARY KEY, status CHAR(1) NOT NULL)");
        fill(session, "own", 1_000, "i, IF(i % 10 = 0, 'o', 'd')");
        query(session, "ANALYZE TABLE own");
        assert_eq!(estimate(session, "SELECT 1 FROM own WHERE status = 'o'"), 100.0);
    });
}

/// A table that changed is looked at by itself, and what was found takes effect in the plans to come.
#[test]
fn a_changed_table_is_looked_at_by_itself() {
    alone(|session| {
        query(session, "CREATE TABLE t (id INT PRIMARY KEY, status CHAR(1) NOT NULL)");
        fill(session, "t", 2_000, "i, IF(i % 20 = 0, 'o', 'd')");
        let open = "SELECT 1 FROM t WHERE status = 'o'";
        assert_eq!(estimate(session, open), 10.0, "a guess");
        query(session, "SET GLOBAL innodb_stats_auto_recalc = ON");
        let mut tries = 0;
        while estimate(session, open) < 100.0 {
            tries += 1;
            assert!(tries < 300, "nobody looked at the table");
            query(session, "DO SLEEP(0.1)");
        }
        // Few changes more are not worth another look.
        let version = |session: &mut dyn Session| {
            query(session, "SELECT last_update, n_rows FROM mysql.innodb_table_stats WHERE table_name = 't'")
        };
        let before = version(session);
        query(session, "DELETE FROM t WHERE id <= 300");
        query(session, "DO SLEEP(2.5)");
        assert_eq!(version(session), before);
    });
}
