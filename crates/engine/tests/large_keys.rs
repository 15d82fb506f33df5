//! Groups, DISTINCT, set operations, MIN, MAX and joins by large columns read what distinguishes rows, and say what they say of
//! whole values.

mod answers;
mod large;
mod root;

use env::random::Rng;
use large::{alone, count, query, reads};
use service::Session;

/// Runs statements and compares their rows, and how many large values and bytes of them they read.
fn costs(session: &mut dyn Session, statements: &[(&str, &[&str], u64, u64)]) {
    for (sql, expected, values, bytes) in statements {
        let before = (reads(session), count(session, "Large_value_bytes_read"));
        assert_eq!(query(session, sql), *expected, "{sql}");
        let after = (reads(session), count(session, "Large_value_bytes_read"));
        assert_eq!((after.0 - before.0, after.1 - before.1), (*values, *bytes), "{sql}");
    }
}

#[test]
fn keys_read_what_tells_rows_apart() {
    alone(|session| {
        query(
            session,
            "CREATE TABLE t (id INT PRIMARY KEY, k INT, c LONGBLOB, u LONGTEXT, pay LONGTEXT, KEY by_k (k))",
        );
        // c: all differ at once. u: the first four begin alike for 30,000 characters, the first two are equal.
        for id in 0..6 {
            let u = match id {
                0 | 1 => "CONCAT(REPEAT('u', 100000), 'a')".to_owned(),
                2 | 3 => format!("CONCAT(REPEAT('u', 30000), '{id}', REPEAT('x', 70000))"),
                _ => format!("CONCAT('{id}', REPEAT('u', 100000))"),
            };
            query(
                session,
                &format!(
                    "INSERT INTO t VALUES ({id}, {}, CONCAT('c{id}', REPEAT('x', 999998)), {u}, CONCAT('p{id}', REPEAT('p', 199998)))",
                    id % 2
                ),
            );
        }
        let two = 2048;
        let middle = 65_536;
        costs(
            session,
            &[
                // The rows' own bytes decide.
                ("SELECT COUNT(*) FROM (SELECT c FROM t GROUP BY c) d", &["6"], 0, 0),
                ("SELECT COUNT(DISTINCT c) FROM t", &["6"], 0, 0),
                ("SELECT k, COUNT(DISTINCT c) FROM t GROUP BY k", &["0|3", "1|3"], 0, 0),
                ("SELECT COUNT(*) FROM (SELECT DISTINCT c FROM t) d", &["6"], 0, 0),
                ("SELECT COUNT(*) FROM (SELECT c FROM t UNION SELECT c FROM t WHERE id < 0) d", &["6"], 0, 0),
                (
                    "SELECT COUNT(*) FROM (SELECT c FROM t EXCEPT SELECT c FROM t WHERE id < 0) d",
                    &["6"],
                    0,
                    0,
                ),
                // What is only carried along is never read.
                (
                    "SELECT k, COUNT(*) FROM (SELECT k, ANY_VALUE(pay) p FROM t GROUP BY k, id) d GROUP BY k",
                    &["0|3", "1|3"],
                    0,
                    0,
                ),
                (
                    "SELECT a.id FROM t a JOIN t b ON a.c = b.c AND a.k <= b.k WHERE a.id < 3 ORDER BY a.id",
                    &["0", "1", "2"],
                    0,
                    0,
                ),
                // A row that comes twice is the same row.
                ("SELECT COUNT(*) FROM (SELECT a.u FROM t a JOIN t b GROUP BY a.id, a.u) d", &["6"], 0, 0),
                ("SELECT COUNT(*) FROM (SELECT c FROM t INTERSECT SELECT c FROM t) d", &["6"], 0, 0),
            ],
        );
        // Of what is given only what is sent is read.
        let before = reads(session);
        assert_eq!(query(session, "SELECT k, ANY_VALUE(pay) FROM t GROUP BY k ORDER BY k LIMIT 1").len(), 1);
        assert_eq!(reads(session) - before, 1);
        let before = reads(session);
        assert_eq!(query(session, "SELECT DISTINCT c FROM t ORDER BY c DESC LIMIT 2").len(), 2);
        assert_eq!(reads(session) - before, 2);
        let before = (reads(session), count(session, "Large_value_bytes_read"));
        assert!(query(session, "SELECT MAX(c), MIN(c) FROM t")[0].starts_with("c5xxx"));
        assert_eq!(reads(session) - before.0, 2);
        assert_eq!(count(session, "Large_value_bytes_read") - before.1, 2_000_000);
        let before = reads(session);
        assert_eq!(
            query(session, "SELECT id, c FROM t WHERE id < 2 UNION ALL SELECT id, pay FROM t WHERE id > 4")
                .len(),
            3
        );
        assert_eq!(reads(session) - before, 3);
        costs(
            session,
            &[
                // Four begin alike: two kilobytes of each do not distinguish them, 64 do of two; the others are read whole.
                (
                    "SELECT COUNT(*) FROM (SELECT u FROM t GROUP BY u) d",
                    &["5"],
                    10,
                    4 * two + 4 * middle + 2 * 100_001,
                ),
                ("SELECT COUNT(DISTINCT u) FROM t WHERE id > 1", &["4"], 4, 2 * two + 2 * middle),
            ],
        );
    });
}

/// Values stored inline and out of line, of the same texts: common prefixes, other letters, spaces, twice the same.
#[test]
fn keys_of_wholes_are_keys_of_values() {
    alone(|session| {
        let collations = [
            "LONGBLOB",
            "LONGTEXT COLLATE utf8mb4_0900_ai_ci",
            "LONGTEXT COLLATE utf8mb4_0900_as_cs",
            "LONGTEXT COLLATE utf8mb4_bin",
            "LONGTEXT COLLATE utf8mb4_general_ci",
            "LONGTEXT COLLATE utf8mb4_unicode_ci",
            "LONGTEXT CHARACTER SET latin1",
        ];
        let columns: Vec<String> =
            collations.iter().enumerate().map(|(number, of)| format!("c{number} {of}")).collect();
        // The filler pushes values out of some rows that other rows hold.
        query(
            session,
            &format!(
                "CREATE TABLE t (id INT PRIMARY KEY, g INT, filler VARBINARY(7000), {})",
                columns.join(", ")
            ),
        );
        let mut numbers = Rng::new(0x5eed_2026);
        let pieces =
            ["a", "A", "\u{e4}", "a\u{308}", "\u{df}", "ss", " ", "b\u{e9}", "\u{1}", "aaaaaaaaaaaaaaaaa"];
        let text = |numbers: &mut Rng, most: u64| {
            let mut text = ["a", "A", "\u{e4}"][numbers.below(3) as usize]
                .repeat([1, 20, 31, 40, 3000][numbers.below(5) as usize]);
            for _ in 0..numbers.below(most) {
                text.push_str(pieces[numbers.below(10) as usize]);
            }
            text + &" ".repeat([0, 0, 2, 40, 5000][numbers.below(5) as usize])
        };
        let mut all: Vec<String> = Vec::new();
        for id in 0..60 {
            let mut value = text(&mut numbers, 300);
            match numbers.below(4) {
                0 | 1 if !all.is_empty() => {
                    value = all[numbers.below(all.len() as u64) as usize].clone();
                    // Equal under some collations only.
                    match numbers.below(4) {
                        0 => value = value.to_uppercase(),
                        1 => value.push_str("   "),
                        2 => value = value.replace('\u{e4}', "a\u{308}"),
                        _ => {}
                    }
                }
                2 => value.truncate(0),
                _ => {}
            }
            let cells: Vec<String> = collations
                .iter()
                .map(|of| {
                    if numbers.below(12) == 0 {
                        "NULL".to_owned()
                    } else if of.contains("latin1") {
                        format!("'{}'", value.replace('\u{308}', "e"))
                    } else {
                        format!("'{value}'")
                    }
                })
                .collect();
            query(
                session,
                &format!(
                    "INSERT INTO t VALUES ({id}, {}, REPEAT('f', {}), {})",
                    numbers.below(4),
                    numbers.below(2) * 6900,
                    cells.join(", ")
                ),
            );
            all.push(value);
        }
        // `CONCAT(c, '')` is no column, so that its value is read whole.
        let statements = [
            "SELECT COUNT(*), MIN(id), SUM(id) FROM t GROUP BY {c}",
            "SELECT COUNT(*), MIN(id) FROM t GROUP BY g, {c}",
            "SELECT g, COUNT(DISTINCT {c}), COUNT(DISTINCT {c}, g) FROM t GROUP BY g",
            "SELECT COUNT(*) FROM (SELECT DISTINCT {c} FROM t) d",
            "SELECT COUNT(*) FROM (SELECT {c} FROM t WHERE id < 30 UNION SELECT {c} FROM t WHERE id >= 20) d",
            "SELECT COUNT(*) FROM (SELECT {c} FROM t WHERE id < 40 EXCEPT SELECT {c} FROM t WHERE id >= 20) d",
            "SELECT COUNT(*) FROM (SELECT {c} FROM t WHERE id < 40 INTERSECT SELECT {c} FROM t WHERE id >= 20) d",
            "SELECT COUNT(*) FROM (SELECT {c} FROM t WHERE id < 40 INTERSECT ALL SELECT {c} FROM t WHERE id >= 20) d",
            "SELECT g, MD5(m), MD5(n) FROM (SELECT g, MIN({c}) m, MAX({c}) n FROM t GROUP BY g) d ORDER BY g",
            "SELECT a.id, b.id FROM (SELECT id, {c} v FROM t) a JOIN (SELECT id, {c} w FROM t) b ON a.v = b.w",
            "SELECT a.id, b.id FROM (SELECT id, {c} v FROM t) a LEFT JOIN (SELECT id, {c} w FROM t WHERE id > 20) b ON a.v <=> b.w AND a.id <> b.id",
            "SELECT id FROM t WHERE {c} IN (SELECT {c} FROM t WHERE g = 1)",
            "SELECT id FROM t x WHERE NOT EXISTS (SELECT 1 FROM (SELECT {c} w, g FROM t) y WHERE y.w = x.{n} AND y.g = 2)",
        ];
        let sorted = |mut rows: Vec<String>| {
            rows.sort_unstable();
            rows
        };
        // With all in memory, and with tables of keys that are soon full.
        for memory in [16 << 20, 1024] {
            query(
                session,
                &format!("SET tmp_table_size = {memory}, join_buffer_size = {}", memory.min(256 << 10)),
            );
            for (number, collation) in collations.iter().enumerate() {
                let column = format!("c{number}");
                for statement in statements {
                    let with = |value: &str| statement.replace("{c}", value).replace("{n}", &column);
                    let part = sorted(query(session, &with(&column)));
                    let whole = sorted(query(session, &with(&format!("CONCAT({column}, '')"))));
                    assert_eq!(part, whole, "{collation} {}", with(&column));
                }
                // The values themselves come out as they are.
                let sql = format!(
                    "SELECT d.v = CONCAT(t.{column}, ''), LENGTH(d.v) FROM (SELECT MIN(id) i, ANY_VALUE({column}) v FROM t GROUP BY id) d JOIN t ON t.id = d.i WHERE d.v IS NOT NULL"
                );
                assert!(query(session, &sql).iter().all(|row| row.starts_with("1|")), "{sql}");
                let given = sorted(query(session, &format!("SELECT {column} FROM t GROUP BY {column}, id")));
                let plain = sorted(query(session, &format!("SELECT {column} FROM t")));
                assert_eq!(given, plain, "{column}");
            }
        }
    });
}

/// Rows copied from table to table, and tables copied whole, take their large values along a piece at a time.
#[test]
fn copies_go_from_tree_to_tree() {
    alone(|session| {
        query(
            session,
            "CREATE TABLE t (id INT PRIMARY KEY, n INT, b LONGBLOB, u LONGTEXT, s TEXT, m MEDIUMBLOB)",
        );
        query(
            session,
            "INSERT INTO t VALUES (1, 1, REPEAT('b', 3000000), REPEAT('\u{20ac}', 100000), REPEAT('s', 9000), NULL),
             (2, 2, 'b', NULL, 's', REPEAT('m', 70000)), (3, 3, REPEAT('B', 70000), REPEAT('u', 65536), REPEAT('S', 60000), '')",
        );
        let sums = |session: &mut dyn Session, table: &str| {
            query(
                session,
                &format!(
                    "SELECT id, n, MD5(b), MD5(u), MD5(s), MD5(m), LENGTH(b), LENGTH(u) FROM {table} ORDER BY id"
                ),
            )
        };
        let expected = sums(session, "t");
        let streamed = |session: &mut dyn Session| count(session, "Large_value_bytes_streamed");
        let out_of_line = 3_000_000 + 300_000 + 70_000 + 70_000 + 65_536;
        for isolation in ["READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"] {
            query(session, &format!("SET SESSION TRANSACTION ISOLATION LEVEL {isolation}"));
            query(session, "CREATE TABLE copy LIKE t");
            let before = streamed(session);
            query(session, "INSERT INTO copy SELECT * FROM t ORDER BY n DESC");
            let by_pieces = streamed(session) - before;
            assert_eq!(
                by_pieces,
                if isolation == "READ UNCOMMITTED" { 0 } else { out_of_line },
                "{isolation}"
            );
            assert_eq!(sums(session, "copy"), expected, "{isolation}");
            // From the table to itself, and what its own transaction wrote.
            query(session, "START TRANSACTION");
            query(session, "UPDATE copy SET b = REPEAT('c', 100000) WHERE id = 2");
            query(session, "INSERT INTO copy SELECT id + 10, n, b, u, s, m FROM copy");
            let copied = query(
                session,
                "SELECT COUNT(*) FROM copy a JOIN copy b ON b.id = a.id + 10 WHERE MD5(a.b) = MD5(b.b) AND a.u <=> b.u AND a.s = b.s AND a.m <=> b.m",
            );
            assert_eq!(copied, ["3"], "{isolation}");
            query(session, "ROLLBACK");
            assert_eq!(sums(session, "copy"), expected, "{isolation}");
            query(session, "DROP TABLE copy");
        }
        // Other types: converted, cut or refused as ever.
        query(
            session,
            "CREATE TABLE other (id INT PRIMARY KEY, b TEXT, u LONGTEXT CHARACTER SET latin1, KEY by_u (u(10)))",
        );
        let before = streamed(session);
        query(session, "INSERT IGNORE INTO other SELECT id, b, s FROM t");
        assert_eq!(
            query(session, "SELECT LENGTH(b), LENGTH(u) FROM other"),
            ["65535|9000", "1|1", "65535|60000"]
        );
        assert_eq!(streamed(session), before);
        query(session, "CREATE TABLE made AS SELECT * FROM t");
        assert_eq!(sums(session, "made"), expected);
        query(session, "REPLACE INTO made SELECT id + 1, n, b, u, s, m FROM made");
        assert_eq!(query(session, "SELECT COUNT(*) FROM made"), ["6"]);
        // A copy of the table.
        let before = (streamed(session), count(session, "Large_value_bytes_read"));
        query(session, "OPTIMIZE TABLE t");
        assert_eq!(streamed(session) - before.0, out_of_line);
        assert_eq!(count(session, "Large_value_bytes_read") - before.1, out_of_line + 9000 + 60_000);
        assert_eq!(sums(session, "t"), expected);
        query(session, "ALTER TABLE t MODIFY n BIGINT, ADD KEY by_s (s(5)), ALGORITHM=COPY");
        assert_eq!(sums(session, "t"), expected);
        for table in ["t", "other", "made"] {
            assert_eq!(
                query(session, &format!("CHECK TABLE {table}")),
                [format!("d.{table}|check|status|OK")]
            );
        }
    });
}

/// A change of other columns leaves large values where they are.
#[test]
fn an_update_of_other_columns_reads_no_large_value() {
    alone(|session| {
        query(
            session,
            "CREATE TABLE t (id INT PRIMARY KEY, n INT, v VARCHAR(300), b LONGBLOB, s TEXT, r TEXT)",
        );
        query(
            session,
            "INSERT INTO t VALUES (1, 1, 'v', REPEAT('b', 1000000), REPEAT('s', 9000), REPEAT('r', 8000)), (2, 1, 'v', 'b', 's', REPEAT('r', 20000))",
        );
        let sums = |session: &mut dyn Session| query(session, "SELECT id, MD5(b), MD5(s), MD5(r) FROM t");
        let expected = sums(session);
        let before = (reads(session), count(session, "Large_value_bytes_read"));
        query(session, "UPDATE t SET n = n + 1");
        query(session, "UPDATE t SET n = n + 1, v = REPEAT('w', 250) WHERE id > 0");
        query(session, "UPDATE t SET id = id + 5 ORDER BY id DESC");
        assert_eq!((reads(session), count(session, "Large_value_bytes_read")), before);
        assert_eq!(query(session, "SELECT id, n, LENGTH(v) FROM t"), ["6|3|250", "7|3|250"]);
        query(session, "UPDATE t SET id = id - 5 ORDER BY id");
        assert_eq!(sums(session), expected);
        // One value of a shared stream changes: the others are written again with it.
        query(session, "UPDATE t SET s = REPEAT('t', 9001) WHERE id = 1");
        assert_eq!(
            query(
                session,
                "SELECT MD5(s) = MD5(REPEAT('t', 9001)), MD5(r) = MD5(REPEAT('r', 8000)) FROM t WHERE id = 1"
            ),
            ["1|1"]
        );
        query(session, "UPDATE t SET n = 0, r = NULL");
        // A dropped column's value goes with the next change of the row.
        query(session, "ALTER TABLE t DROP COLUMN s, ALGORITHM=INSTANT");
        query(session, "UPDATE t SET n = 7");
        assert_eq!(query(session, "CHECK TABLE t"), ["d.t|check|status|OK"]);
        assert_eq!(query(session, "SELECT id, n, LENGTH(b), r FROM t"), ["1|7|1000000|NULL", "2|7|1|NULL"]);
    });
}
