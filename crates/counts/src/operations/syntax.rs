//! Text to trees and digests.

use bumpalo::Bump;
use syntax::{DigestScratch, SqlMode, digest, parse};

use crate::count::Counter;

const POINT: &str = "SELECT c FROM sbtest1 WHERE id=4711";
const JOIN: &str = "SELECT o.id, c.name, SUM(i.price * i.quantity) AS total FROM orders o JOIN customer c ON c.id = o.customer_id \
    LEFT JOIN item i ON i.order_id = o.id WHERE o.day BETWEEN '2026-01-01' AND '2026-01-31' AND c.region IN (1, 2, 3) \
    GROUP BY o.id, c.name HAVING total > 100 ORDER BY total DESC LIMIT 10";
const UPDATE: &str = "UPDATE sbtest1 SET k = k + 1, c = 'some other text' WHERE id = 4711";
const CREATE: &str = "CREATE TABLE orders (id BIGINT NOT NULL AUTO_INCREMENT, customer_id INT NOT NULL, day DATE DEFAULT NULL, \
    total DECIMAL(12,2) NOT NULL DEFAULT 0, note VARCHAR(200), PRIMARY KEY (id), KEY by_customer (customer_id, day))";

pub(crate) fn count(counter: &mut Counter) {
    let mut wide = "select ".to_owned();
    for column in 0..100 {
        let comma = if column > 0 { ", " } else { "" };
        wide.push_str(&format!("{comma}this_.customer_column_{column:03} as customer{column}_0_{column}_"));
    }
    wide.push_str(" from customer this_ where this_.id = 12345");
    let mut insert = "INSERT INTO t (id, k, c, pad) VALUES ".to_owned();
    for row in 0..100 {
        let comma = if row > 0 { ", " } else { "" };
        insert.push_str(&format!(
            "{comma}({row}, {}, 'text {row:03} of some length', 'pad {row:03}')",
            row * 7919
        ));
    }
    let mut arena = Bump::new();
    let mut scratch = DigestScratch::default();
    for (name, sql, times) in [
        ("point_select", POINT, 256),
        ("join", JOIN, 64),
        ("update", UPDATE, 256),
        ("create_table", CREATE, 64),
        ("100_columns", &wide, 16),
        ("100_rows", &insert, 16),
    ] {
        counter.count(&format!("syntax.parse_{name}"), times, |_| {
            arena.reset();
            parse(sql.as_bytes(), &arena, SqlMode::default()).is_ok()
        });
        if name != "create_table" {
            counter.count(&format!("syntax.digest_{name}"), times, |_| {
                digest(sql.as_bytes(), SqlMode::default(), &mut scratch).map(|digested| digested.hash)
            });
        }
    }
}
