//! Values stored out of line are read for the rows that need them, and for no others.

mod answers;
mod large;
mod root;

use answers::CAPABILITIES;
use env::random::Rng;
use large::{alone, alone_after, count, query, reads};
use service::{Discard, Link, Outcome, Reply, RowFormat, Session};
use wire::client::{Event, ResultReader, text_row};
use wire::packet::{Incoming, PacketBuffer, PacketReader, next_packet};

const ROWS: u64 = 300;

#[test]
fn only_rows_that_are_returned_cost_reads() {
    alone(only_rows_that_are_returned);
}

fn only_rows_that_are_returned(session: &mut dyn Session) {
    query(
        session,
        "CREATE TABLE payment (id INT PRIMARY KEY, paytime INT, name CHAR(255), detail VARCHAR(8192) NULL)",
    );
    for id in 0..ROWS {
        // Seven has no detail; of all others the first eight letters differ but for ten that share them.
        let detail = match id {
            7 => "NULL".to_owned(),
            100..110 => format!("CONCAT('aaaaaaaa', REPEAT('x', 8000), {id})"),
            _ => format!("CONCAT('{:08}', REPEAT('y', 8184))", 10_000_000 + id),
        };
        query(
            session,
            &format!("INSERT INTO payment VALUES ({id}, {}, 'n{id}', {detail})", (id * 37) % ROWS),
        );
    }
    for (sql, rows, expected) in [
        ("SELECT * FROM payment ORDER BY paytime LIMIT 1", 1, 1),
        ("SELECT * FROM payment ORDER BY paytime DESC LIMIT 3", 3, 3),
        ("SELECT id, paytime FROM payment ORDER BY name", ROWS as usize, 0),
        ("SELECT detail FROM payment WHERE paytime < 5 ORDER BY name", 5, 5),
        ("SELECT a.detail FROM payment a JOIN payment b ON a.id = b.paytime WHERE b.id = 9", 1, 1),
        ("SELECT paytime % 7, COUNT(*) FROM payment GROUP BY 1", 7, 0),
        ("SELECT COUNT(*) FROM payment WHERE name > 'n2'", 1, 0),
    ] {
        let before = reads(session);
        assert_eq!(query(session, sql).len(), rows, "{sql}");
        assert_eq!(reads(session) - before, expected, "{sql}");
    }
}

/// Three rows with values stored out of line (1 MB, 300 kB of three-byte characters, 5,000 bytes, a document), one with all of them in
/// the row, one without any.
fn documents(session: &mut dyn Session) {
    query(
        session,
        "CREATE TABLE document (id INT PRIMARY KEY, note INT, data LONGBLOB, body LONGTEXT CHARACTER SET utf8mb4,
         latin MEDIUMTEXT CHARACTER SET latin1, doc JSON, KEY by_note (note))",
    );
    for id in 1..=3 {
        query(
            session,
            &format!(
                "INSERT INTO document VALUES ({id}, {id}, CONCAT('d{id}', REPEAT('x', 999997), 'e'),
                 CONCAT('b{id}', REPEAT('\u{20ac}', 100000)), CONCAT('l{id}', REPEAT('\u{e4}', 4998)),
                 JSON_OBJECT('long', REPEAT('j', 9000)))"
            ),
        );
    }
    query(
        session,
        "INSERT INTO document VALUES (4, NULL, 'd', '', 'l', '[]'), (5, 5, NULL, NULL, NULL, NULL)",
    );
}

#[test]
fn a_part_costs_what_it_reads() {
    alone(|session| {
        documents(session);
        let row = |cells: &[&str]| cells.iter().map(|cell| (*cell).to_owned()).collect::<Vec<String>>();
        for (sql, expected, values, bytes) in [
            // Lengths and NULL are in the row.
            (
                "SELECT id, LENGTH(data), OCTET_LENGTH(body), BIT_LENGTH(data), CHAR_LENGTH(latin) FROM document WHERE id > 2",
                row(&["3|1000000|300002|8000000|5000", "4|1|0|8|1", "5|NULL|NULL|NULL|NULL"]),
                0,
                0,
            ),
            ("SELECT COUNT(data), COUNT(body), COUNT(doc), COUNT(*) FROM document", row(&["4|4|4|5"]), 0, 0),
            ("SELECT id FROM document WHERE data IS NULL", row(&["5"]), 0, 0),
            (
                "SELECT id FROM document WHERE doc IS NOT NULL AND ISNULL(body) = 0 AND id > 2",
                row(&["3", "4"]),
                0,
                0,
            ),
            (
                "SELECT data IS NULL, IFNULL(LENGTH(body), -1) FROM document WHERE id = 5",
                row(&["1|-1"]),
                0,
                0,
            ),
            (
                "SELECT id FROM document WHERE LENGTH(body) > 10 ORDER BY LENGTH(data) DESC, id DESC",
                row(&["3", "2", "1"]),
                0,
                0,
            ),
            (
                "SELECT MAX(LENGTH(data)), SUM(LENGTH(latin)) FROM document GROUP BY LENGTH(body) > 9 ORDER BY 1",
                row(&["NULL|NULL", "1|1", "1000000|15000"]),
                0,
                0,
            ),
            // The first 32 bytes are in the row.
            (
                "SELECT LEFT(data, 3), LEFT(body, 2), SUBSTRING(latin, 1, 2) FROM document WHERE id < 3",
                row(&["d1x|b1|l1", "d2x|b2|l2"]),
                0,
                0,
            ),
            ("SELECT COUNT(*) FROM document WHERE LEFT(data, 2) = 'd2'", row(&["1"]), 0, 0),
            // More: these bytes and no others.
            ("SELECT LENGTH(LEFT(data, 1000)) FROM document WHERE id = 1", row(&["1000"]), 1, 1000),
            (
                "SELECT LENGTH(LEFT(data, 1000)) FROM document",
                row(&["1000", "1000", "1000", "1", "NULL"]),
                3,
                3000,
            ),
            ("SELECT SUBSTRING(data, 500000, 10) FROM document WHERE id = 2", row(&["xxxxxxxxxx"]), 1, 10),
            (
                "SELECT SUBSTRING(data, -3), SUBSTR(data, -3, 1) FROM document WHERE id = 2",
                row(&["xxe|x"]),
                2,
                4,
            ),
            ("SELECT MID(data, 999999) FROM document WHERE id < 3", row(&["xe", "xe"]), 2, 4),
            // Characters of up to four bytes.
            ("SELECT SUBSTRING(body, 2, 3) FROM document WHERE id = 3", row(&["3\u{20ac}\u{20ac}"]), 0, 0),
            ("SELECT CHAR_LENGTH(LEFT(body, 20)) FROM document WHERE id = 3", row(&["20"]), 1, 80),
            (
                "SELECT CHAR_LENGTH(SUBSTRING(body, 1001, 20)) FROM document WHERE id = 3",
                row(&["20"]),
                1,
                4080,
            ),
            (
                "SELECT SUBSTRING(body, -2, 1), CHAR_LENGTH(body) FROM document WHERE id = 3",
                row(&["\u{20ac}|100002"]),
                2,
                600_004,
            ),
            // Through names, joins, subqueries.
            (
                "SELECT LENGTH(x) FROM (SELECT data AS x, id AS i FROM document) d WHERE i = 1",
                row(&["1000000"]),
                0,
                0,
            ),
            (
                "SELECT LENGTH(a.data), LENGTH(b.body) FROM document a JOIN document b ON b.note = a.id WHERE a.id = 2",
                row(&["1000000|300002"]),
                0,
                0,
            ),
            (
                "SELECT a.id, b.data IS NULL, LENGTH(b.data) FROM document a LEFT JOIN document b ON b.id = a.id + 1 WHERE a.id > 2",
                row(&["3|0|1", "4|1|NULL", "5|1|NULL"]),
                0,
                0,
            ),
            (
                "SELECT (SELECT COUNT(*) FROM document i WHERE LENGTH(i.latin) < LENGTH(o.data)) FROM document o WHERE id IN (3, 4)",
                row(&["4", "0"]),
                0,
                0,
            ),
            (
                "SELECT id FROM document o WHERE EXISTS (SELECT 1 FROM document i WHERE i.id = o.id + 1 AND LENGTH(i.data) < LENGTH(o.data))",
                row(&["3"]),
                0,
                0,
            ),
            // Rows that are thrown away cost nothing.
            (
                "SELECT LENGTH(LEFT(data, 1000)) FROM document ORDER BY note DESC LIMIT 2",
                row(&["NULL", "1000"]),
                1,
                1000,
            ),
            // Comparisons with known texts: the first bytes, which are in the row, most often decide.
            ("SELECT id FROM document WHERE data LIKE 'd2%'", row(&["2"]), 0, 0),
            ("SELECT id FROM document WHERE data LIKE '%2x%' AND id = 2", row(&["2"]), 0, 0),
            (
                "SELECT id FROM document WHERE body LIKE 'B_\u{20ac}%' ORDER BY id DESC",
                row(&["3", "2", "1"]),
                0,
                0,
            ),
            ("SELECT id FROM document WHERE latin NOT LIKE 'L1%'", row(&["2", "3", "4"]), 0, 0),
            (
                "SELECT id FROM document WHERE data > 'd2' AND body <= 'b3' AND 'l1' <= latin",
                row(&["2"]),
                0,
                0,
            ),
            ("SELECT id FROM document WHERE data = 'd' OR body = 'b4'", row(&["4"]), 0, 0),
            (
                "SELECT id, data <> 'd1x' FROM document WHERE id <> 4",
                row(&["1|1", "2|1", "3|1", "5|NULL"]),
                0,
                0,
            ),
            ("SELECT id FROM document WHERE body IN ('a', 'b', NULL, '')", row(&["4"]), 0, 0),
            ("SELECT id, body IN ('a', NULL) FROM document WHERE id > 3", row(&["4|NULL", "5|NULL"]), 0, 0),
            (
                "SELECT id, data BETWEEN 'd2' AND 'd3', data BETWEEN 'e' AND NULL, data BETWEEN 'a' AND NULL
                 FROM document WHERE id < 4",
                row(&["1|0|0|NULL", "2|1|0|NULL", "3|0|0|NULL"]),
                0,
                0,
            ),
            (
                "SELECT a.id FROM document a LEFT JOIN document b ON b.id = a.note AND b.data LIKE 'd3%' WHERE b.id IS NULL ORDER BY a.id",
                row(&["1", "2", "4", "5"]),
                0,
                0,
            ),
            // Where they do not, more and more of the value.
            (
                "SELECT id FROM document WHERE data LIKE 'd1xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx%'",
                row(&["1"]),
                1,
                1024,
            ),
            (
                "SELECT id FROM document WHERE data > 'd1xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxy'",
                row(&["2", "3"]),
                1,
                1024,
            ),
            ("SELECT COUNT(*) FROM document WHERE latin LIKE 'l_%z'", row(&["0"]), 3, 15_000),
            // An order goes by the bytes in the rows where they decide, whatever else the rows give.
            ("SELECT id FROM document ORDER BY data", row(&["5", "4", "1", "2", "3"]), 0, 0),
            ("SELECT id FROM document ORDER BY body DESC, data LIMIT 4", row(&["3", "2", "1", "4"]), 0, 0),
            (
                "SELECT id, LENGTH(body), LEFT(latin, 2) FROM document WHERE data LIKE 'd%' ORDER BY latin DESC LIMIT 1",
                row(&["3|300002|l3"]),
                0,
                0,
            ),
            ("SELECT RIGHT(latin, 1) FROM document ORDER BY data DESC LIMIT 1", row(&["\u{e4}"]), 1, 5000),
            (
                "SELECT a.id FROM document a JOIN document b ON a.id = b.note ORDER BY b.body LIMIT 2",
                row(&["5", "1"]),
                0,
                0,
            ),
            (
                "SELECT x FROM (SELECT id AS x, data AS d FROM document) e ORDER BY d LIMIT 3",
                row(&["5", "4", "1"]),
                0,
                0,
            ),
            // Locking reads.
            ("SELECT id FROM document WHERE data LIKE 'd2%' FOR UPDATE", row(&["2"]), 0, 0),
            (
                "SELECT id, LENGTH(data) FROM document WHERE LENGTH(body) = 300002 AND id < 3 FOR UPDATE",
                row(&["1|1000000", "2|1000000"]),
                0,
                0,
            ),
            ("SELECT LEFT(data, 2) FROM document WHERE note = 3 FOR SHARE", row(&["d3"]), 0, 0),
        ] {
            let before = (reads(session), count(session, "Large_value_bytes_read"));
            assert_eq!(query(session, sql), expected, "{sql}");
            let after = (reads(session), count(session, "Large_value_bytes_read"));
            assert_eq!((after.0 - before.0, after.1 - before.1), (values, bytes), "{sql}");
        }
    });
}

/// An assignment sees what the ones before it set.
#[test]
fn a_part_of_what_was_assigned_is_of_the_new_value() {
    alone(|session| {
        documents(session);
        query(
            session,
            "UPDATE document SET data = 'new', note = LENGTH(data) WHERE LENGTH(data) > 100 AND id = 1",
        );
        query(session, "UPDATE document SET note = LENGTH(data), data = LEFT(data, 4) WHERE id = 2");
        query(session, "DELETE FROM document WHERE body IS NULL OR LEFT(body, 2) = 'b3'");
        let rows = query(session, "SELECT id, note, data FROM document");
        assert_eq!(rows, ["1|3|new", "2|1000000|d2xx", "4|NULL|d"]);
    });
}

/// `CONCAT(c, '')` is no column, so that its value is read whole: both must say the same.
#[test]
fn parts_are_parts_of_the_whole() {
    alone(|session| {
        query(
            session,
            "CREATE TABLE t (id INT PRIMARY KEY, b LONGBLOB, v VARBINARY(5000), u TEXT CHARACTER SET utf8mb4,
             l LONGTEXT CHARACTER SET latin1, w TEXT CHARACTER SET utf8mb3)",
        );
        let mut numbers = Rng::new(0x5eed_1a26);
        for id in 0..60 {
            let mut cells = Vec::new();
            for column in 0..5 {
                // Short, about as long as what a row holds of it, longer than a chunk.
                let length = [0, 7, 31, 33, 300, 4090, 9000][numbers.below(7) as usize] + numbers.below(3);
                let length = if column == 1 { length.min(5000) } else { length };
                let text: String = (0..length)
                    .map(|_| match numbers.below(4) {
                        0 if column > 1 => '\u{e4}',
                        1 if column == 2 => ['\u{20ac}', '\u{1f600}'][numbers.below(2) as usize],
                        1 if column == 4 => '\u{20ac}',
                        _ => char::from(b'a' + numbers.below(26) as u8),
                    })
                    .collect();
                cells.push(if numbers.below(6) == 0 { "NULL".into() } else { format!("'{text}'") });
            }
            query(session, &format!("INSERT INTO t VALUES ({id}, {})", cells.join(", ")));
        }
        for round in 0..120 {
            let column = ["b", "v", "u", "l", "w"][numbers.below(5) as usize];
            let mut number = || {
                let size = [3, 12, 40, 5000, 10_000][numbers.below(5) as usize];
                let number = numbers.below(size).cast_signed();
                if numbers.below(4) == 0 { -number } else { number }
            };
            let (a, b) = (number(), number());
            let of = |value: &str| match round % 6 {
                0 => format!("LENGTH({value})"),
                1 => format!("LEFT({value}, {a})"),
                2 => format!("SUBSTRING({value}, {a}, {b})"),
                3 => format!("SUBSTRING({value}, {a})"),
                4 => format!("HEX(LEFT({value}, {a})), BIT_LENGTH({value}), {value} IS NULL"),
                _ => format!("CHAR_LENGTH({value}), MID({value}, {a}, 1)"),
            };
            let order = if round % 2 == 0 { "ORDER BY id" } else { "ORDER BY id DESC LIMIT 20" };
            let part = query(session, &format!("SELECT id, {} FROM t {order}", of(column)));
            let whole = query(
                session,
                &format!("SELECT id, {} FROM t {order}", of(&format!("CONCAT({column}, '')"))),
            );
            assert_eq!(part, whole, "round {round}: {}", of(column));
        }
    });
}

/// Comparisons with known texts say of values that are seen in part what they say of whole ones: beginnings of the values,
/// short of a character, longer, in other letters, with spaces behind.
#[test]
fn tests_of_a_beginning_are_tests_of_the_whole() {
    alone(|session| {
        let collations = [
            "LONGBLOB",
            "LONGTEXT COLLATE utf8mb4_bin",
            "LONGTEXT COLLATE utf8mb4_0900_ai_ci",
            "LONGTEXT COLLATE utf8mb4_0900_as_cs",
            "LONGTEXT COLLATE utf8mb4_general_ci",
            "LONGTEXT COLLATE utf8mb4_unicode_ci",
            "LONGTEXT CHARACTER SET latin1",
        ];
        let columns: Vec<String> =
            collations.iter().enumerate().map(|(number, of)| format!("c{number} {of}")).collect();
        query(session, &format!("CREATE TABLE t (id INT PRIMARY KEY, {})", columns.join(", ")));
        let mut numbers = Rng::new(0x0be9_1220);
        // Long values that share much, so that beginnings often leave a comparison open.
        let pieces = ["a", "A", "\u{e4}", "\u{df}", "ss", " ", "b\u{e9}", "_", "%", "aaaaaaaaaaaaaaaa"];
        let text = |numbers: &mut Rng, most: u64| {
            let mut text = ["a", "A", "\u{e4}"][numbers.below(3) as usize]
                .repeat([1, 31, 40][numbers.below(3) as usize]);
            for _ in 0..numbers.below(most) {
                text.push_str(pieces[numbers.below(10) as usize]);
            }
            text + &" ".repeat([0, 0, 2, 40, 5000][numbers.below(5) as usize])
        };
        let mut all: Vec<String> = Vec::new();
        for id in 0..40 {
            let mut value = text(&mut numbers, 1500);
            if let (0, Some(earlier)) = (numbers.below(5), all.last()) {
                value = String::clone(earlier);
            }
            let cells: Vec<String> = collations.iter().map(|_| format!("'{value}'")).collect();
            query(session, &format!("INSERT INTO t VALUES ({id}, {})", cells.join(", ")));
            all.push(value);
        }
        // In the same order, with keys in memory, on disk, and as a LIMIT wants them.
        for round in 0..30 {
            let column = format!("c{}", round % collations.len());
            query(
                session,
                if round < 10 { "SET sort_buffer_size = 32768" } else { "SET sort_buffer_size = 262144" },
            );
            let descending = ["", "DESC"][numbers.below(2) as usize];
            let limit = [String::new(), format!("LIMIT {}", 1 + numbers.below(20)), "LIMIT 7, 9".to_owned()];
            let limit = &limit[numbers.below(3) as usize];
            let ordered = |session: &mut dyn Session, key: &str| {
                let sql =
                    format!("SELECT id, LENGTH({column}) FROM t ORDER BY {key} {descending}, id {limit}");
                query(session, &sql)
            };
            let part = ordered(session, &column);
            let whole = ordered(session, &format!("CONCAT({column}, '')"));
            assert_eq!(part, whole, "{column} {descending} {limit}");
        }
        for round in 0..70 {
            let mut known = || {
                if numbers.below(3) == 0 {
                    return text(&mut numbers, 60);
                }
                let of = &all[numbers.below(all.len() as u64) as usize];
                let most = [8, 40, 1100, 20_000][numbers.below(4) as usize];
                let cut = numbers.below(most) as usize;
                let mut known: String = of.chars().take(cut).collect();
                if numbers.below(3) == 0 {
                    known.push_str(&text(&mut numbers, 3));
                }
                known
            };
            let (a, b) = (known(), known());
            let column = format!("c{}", round % collations.len());
            let tests = |value: &str| {
                format!(
                    "{value} = '{a}', {value} <> '{a}', {value} < '{a}', '{a}' < {value}, {value} >= '{a}',
                     {value} BETWEEN '{a}' AND '{b}', {value} IN ('{b}', '{a}'), {value} LIKE '{a}', {value} LIKE '{a}%',
                     {value} LIKE '{a}%{b}', {value} NOT LIKE '%{b}%'"
                )
            };
            let part = query(session, &format!("SELECT id, {} FROM t", tests(&column)));
            let whole =
                query(session, &format!("SELECT id, {} FROM t", tests(&format!("CONCAT({column}, '')"))));
            assert_eq!(part, whole, "round {round}: {column}, {a}, {b}");
        }
    });
}

/// What rows with equal beginnings cost: two kilobytes of each that they share, then 64, then all.
#[test]
fn an_order_reads_what_tells_rows_apart() {
    alone(|session| {
        query(
            session,
            "CREATE TABLE t (id INT PRIMARY KEY, c LONGBLOB, u LONGTEXT COLLATE utf8mb4_general_ci)",
        );
        for id in 0..6 {
            let letter = char::from(b'a' + (id * 5 % 6) as u8);
            let c = match id {
                // Four begin alike, two of them for 100,000 bytes.
                0 | 1 => format!("CONCAT(REPEAT('k', 100000), '{letter}', REPEAT('x', 900000))"),
                2 | 3 => format!("CONCAT(REPEAT('k', 1000), '{letter}', REPEAT('x', 999000))"),
                _ => format!("CONCAT('{letter}', REPEAT('x', 100000))"),
            };
            // Beyond 512 weights nothing counts.
            let u = format!(
                "CONCAT(REPEAT('u', {}), '{letter}', REPEAT('x', 500000))",
                if id < 3 { 511 } else { 512 }
            );
            query(session, &format!("INSERT INTO t VALUES ({id}, {c}, {u})"));
        }
        // Letters by row: a f e d c b.
        for (sql, expected, values, bytes) in [
            ("SELECT id FROM t ORDER BY c LIMIT 1", "5", 0, 0),
            ("SELECT id FROM t ORDER BY c LIMIT 2", "5 4", 0, 0),
            // Four of 2,048 bytes: the run of the rows that begin alike is distinguished as a whole.
            ("SELECT id FROM t ORDER BY c LIMIT 3", "5 4 3", 4, 4 * 2048),
            ("SELECT id FROM t ORDER BY c LIMIT 4", "5 4 3 2", 4, 4 * 2048),
            ("SELECT id FROM t ORDER BY c LIMIT 5", "5 4 3 2 0", 8, 4 * 2048 + 2 * 65_536 + 2 * 1_000_001),
            ("SELECT id FROM t ORDER BY c DESC", "1 0 2 3 4 5", 8, 4 * 2048 + 2 * 65_536 + 2 * 1_000_001),
            // 512 characters of up to four bytes each. Those of rows 3 to 5 are the same.
            ("SELECT id FROM t ORDER BY u, id DESC", "0 2 1 5 4 3", 6, 6 * 2048),
        ] {
            let before = (reads(session), count(session, "Large_value_bytes_read"));
            assert_eq!(query(session, sql).join(" "), expected, "{sql}");
            let after = (reads(session), count(session, "Large_value_bytes_read"));
            assert_eq!((after.0 - before.0, after.1 - before.1), (values, bytes), "{sql}");
        }
        query(session, "SET max_sort_length = 8");
        assert_eq!(query(session, "SELECT id FROM t ORDER BY u, id").join(" "), "0 1 2 3 4 5");
    });
}

/// A client that takes what is sent: how much waited at most, and what came.
#[derive(Default)]
struct Taker {
    waiting_max: usize,
    bytes: Vec<u8>,
}

impl Link for Taker {
    fn send(&mut self, packets: &mut PacketBuffer, _position: u64) -> Outcome {
        self.waiting_max = self.waiting_max.max(packets.len());
        self.bytes.extend_from_slice(packets.frames());
        packets.clear_frames();
        Ok(())
    }

    fn receive(&mut self, _packets: &mut PacketBuffer, _payload: &mut Vec<u8>) -> Outcome {
        Err(service::error::ER_NET_READ_ERROR.bare())
    }
}

/// The rows of an answer, and how many bytes waited to be sent at most.
fn taken(
    session: &mut dyn Session,
    format: RowFormat,
    work: impl FnOnce(&mut dyn Session, &mut Reply<'_>) -> Outcome,
) -> (Vec<Vec<u8>>, usize) {
    let mut buffer = PacketBuffer::new();
    let mut link = Taker::default();
    let mut reply = Reply::new(&mut buffer, &mut link, CAPABILITIES, format);
    work(session, &mut reply).expect("an answer");
    reply.send().expect("it is taken");
    let mut reader = ResultReader::query(CAPABILITIES);
    let mut packets = PacketReader::new(0);
    let (mut rows, mut at) = (Vec::new(), 0);
    while at < link.bytes.len() {
        let (used, whole) = packets.feed(&link.bytes[at..], usize::MAX).expect("frames in order");
        at += used;
        assert!(whole);
        if let Event::Row(row) = reader.read(packets.payload()).expect("an answer") {
            rows.push(row.to_vec());
        }
        packets.clear();
    }
    (rows, link.waiting_max)
}

/// Large values go from the store to the socket a piece at a time.
#[test]
fn a_large_value_is_never_in_memory_whole_when_it_is_sent() {
    alone(|session| {
        const LENGTH: usize = 40_000_000;
        query(session, "CREATE TABLE film (id INT PRIMARY KEY, n INT, frames LONGBLOB, title VARCHAR(2000))");
        query(session, "INSERT INTO film SELECT 1, NULL, REPEAT('0123456789', 4000000), 'one'");
        query(session, "INSERT INTO film VALUES (2, 7, NULL, 'two'), (3, 8, REPEAT('z', 70000), NULL)");
        let expected = b"0123456789".repeat(LENGTH / 10);
        let has_it = |row: &[u8]| {
            let start = (0..row.len().min(64)).find(|&at| row[at..].starts_with(b"0123456789"));
            start.is_some_and(|start| row.get(start..start + LENGTH) == Some(&expected[..]))
        };
        // Waiting are a frame, a piece of the value and what came before.
        let waiting = (16 << 20) + (1 << 20);
        for sql in [
            "SELECT * FROM film",
            "SELECT frames, id, n, title FROM film ORDER BY id",
            "SELECT a.id, a.n, a.frames, b.title FROM film a JOIN film b ON a.id = b.id WHERE LENGTH(a.frames) IS NULL OR b.id <> 9",
            "SELECT id, n, f, title FROM (SELECT id, n, frames AS f, title FROM film) d WHERE id < 5",
        ] {
            let before = (reads(session), count(session, "Large_value_bytes_read"));
            let (rows, waited) = taken(session, RowFormat::Text, |session, reply| {
                session.query(sql.as_bytes(), reply).without_requeue()
            });
            let after = (reads(session), count(session, "Large_value_bytes_read"));
            assert_eq!((after.0 - before.0, after.1 - before.1), (2, 40_070_000), "{sql}");
            assert!(waited < waiting, "{sql}: {waited}");
            let mut cells = Vec::new();
            for row in &rows {
                text_row(row, |cell| cells.push(cell.map(<[u8]>::len))).expect("a text row");
            }
            cells.sort_unstable();
            let lengths = [
                None,
                None,
                None,
                Some(1),
                Some(1),
                Some(1),
                Some(1),
                Some(1),
                Some(3),
                Some(3),
                Some(70_000),
                Some(LENGTH),
            ];
            assert_eq!(cells, lengths, "{sql}");
            assert_eq!(rows.iter().filter(|row| has_it(row)).count(), 1, "{sql}");
        }
        // Locking reads, groups and what else needs the value: whole, and the same.
        for sql in [
            "SELECT frames FROM film WHERE id = 1 FOR UPDATE",
            "SELECT MAX(frames) FROM film WHERE id < 3",
            "SELECT DISTINCT frames FROM film WHERE id = 1",
            "SELECT frames FROM film WHERE frames LIKE '%890123%'",
        ] {
            let (rows, _) = taken(session, RowFormat::Text, |session, reply| {
                session.query(sql.as_bytes(), reply).without_requeue()
            });
            assert_eq!(rows.iter().filter(|row| has_it(row)).count(), 1, "{sql}");
        }
        // In binary form the bitmap goes before the values.
        let statement = prepared(session, "SELECT n, frames, title FROM film WHERE id >= ?");
        let mut parameters = Vec::new();
        wire::parameter::put_parameters(&mut parameters, &[wire::parameter::ParameterValue::Int(1)], false);
        let request = service::ExecuteRequest {
            statement_id: statement,
            flags: 0,
            iteration_count: 1,
            parameters: &parameters,
            query_attributes: false,
        };
        let (rows, waited) = taken(session, RowFormat::Binary, |session, reply| {
            session.execute(request, reply).without_requeue()
        });
        assert!(waited < waiting, "{waited}");
        // Header, bitmap (n is NULL: bit 2), a length of nine bytes, the value, "one".
        assert_eq!(rows[0].len(), 1 + 1 + 9 + LENGTH + 4);
        assert_eq!(rows[0][..7], [0, 0b100, 0xfe, 0x00, 0x5a, 0x62, 0x02]);
        assert!(has_it(&rows[0]));
        assert_eq!(&rows[0][rows[0].len() - 4..], b"\x03one");
        assert_eq!(rows[1], [&[0, 0b1000, 7, 0, 0, 0, 3][..], b"two"].concat());
        assert_eq!(rows[2].len(), 1 + 1 + 4 + 4 + 70_000);
        assert_eq!(rows[2][..2], [0, 0b1_0000]);
    });
}

fn prepared(session: &mut dyn Session, sql: &str) -> u32 {
    let mut buffer = PacketBuffer::new();
    let mut link = Discard;
    let mut reply = Reply::new(&mut buffer, &mut link, CAPABILITIES, RowFormat::Text);
    session.prepare(sql.as_bytes(), &mut reply).expect("it prepares");
    let mut reader = ResultReader::prepare(CAPABILITIES);
    let Incoming::Packet { payload, .. } = next_packet(buffer.frames()) else { panic!("no answer") };
    let Event::Prepared { statement_id, .. } = reader.read(payload).expect("an answer") else {
        panic!("not prepared")
    };
    statement_id
}

/// Runs a prepared statement whose parameters are an integer and long data, which was declared as a text or as bytes. The error's
/// number, if there is one.
fn execute_long(session: &mut dyn Session, statement: u32, id: i64, is_text: bool) -> Option<u16> {
    use wire::parameter::{ParameterValue, put_parameters};
    let mut parameters = Vec::new();
    put_parameters(&mut parameters, &[ParameterValue::Int(id), ParameterValue::LongData], false);
    if is_text {
        // Bitmap, flag, and the types, of two bytes each: BLOB becomes VAR_STRING.
        assert_eq!(parameters[4], 252);
        parameters[4] = 253;
    }
    let request = service::ExecuteRequest {
        statement_id: statement,
        flags: 0,
        iteration_count: 1,
        parameters: &parameters,
        query_attributes: false,
    };
    let mut buffer = PacketBuffer::new();
    let mut link = Discard;
    let mut reply = Reply::new(&mut buffer, &mut link, CAPABILITIES, RowFormat::Binary);
    session.execute(request, &mut reply).without_requeue().err().map(|error| error.number)
}

fn send_long(session: &mut dyn Session, statement: u32, data: &[u8]) {
    for piece in data.chunks(700_000) {
        session.send_long_data(statement, 1, piece);
    }
}

/// Compares what a client reads of a row's column.
fn column_is(session: &mut dyn Session, column: &str, id: i64, expected: &[u8]) {
    let sql = format!("SELECT {column} FROM t WHERE id = {id}");
    let (rows, _) = taken(session, RowFormat::Text, |session, reply| {
        session.query(sql.as_bytes(), reply).without_requeue()
    });
    let mut found = false;
    text_row(&rows[0], |cell| found = cell == Some(expected)).expect("a text row");
    assert!(found, "{sql}");
}

/// Long data lies on disk, and goes into the table from there where an INSERT takes it as it is; else it is as if it had been
/// sent with the statement.
#[test]
fn long_data_is_what_was_sent() {
    alone(|session| {
        query(
            session,
            "CREATE TABLE t (id INT PRIMARY KEY, b LONGBLOB, u LONGTEXT, l LONGTEXT CHARACTER SET latin1, s TEXT, n INT NOT NULL DEFAULT 7)",
        );
        let bytes: Vec<u8> =
            (0..5_000_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let text = "a\u{e9}\u{20ac}\u{1f600}b".repeat(300_000).into_bytes();
        let streamed = |session: &mut dyn Session| count(session, "Large_value_bytes_streamed");
        let before = streamed(session);
        let in_blob = prepared(session, "INSERT INTO t (id, b) VALUES (?, ?)");
        for id in [1, 2] {
            send_long(session, in_blob, &bytes);
            assert_eq!(execute_long(session, in_blob, id, false), None);
        }
        assert_eq!(streamed(session) - before, 10_000_000);
        column_is(session, "b", 1, &bytes);
        column_is(session, "b", 2, &bytes);
        let before = reads(session);
        assert_eq!(query(session, "SELECT id, LENGTH(b), n FROM t"), ["1|5000000|7", "2|5000000|7"]);
        assert_eq!(
            query(session, "SELECT id FROM t WHERE LEFT(b, 30) = (SELECT LEFT(b, 30) FROM t WHERE id = 2)"),
            ["1", "2"]
        );
        assert_eq!(reads(session), before);
        // A key that is there already: nothing stays of the value.
        send_long(session, in_blob, &bytes);
        assert_eq!(execute_long(session, in_blob, 2, false), Some(1062));
        // A text, checked on its way; short of a character it is refused, as it is when it is sent whole.
        let in_text = prepared(session, "INSERT INTO t (id, u) VALUES (?, ?)");
        send_long(session, in_text, &text);
        let before = streamed(session);
        assert_eq!(execute_long(session, in_text, 3, true), None);
        assert_eq!(streamed(session) - before, text.len() as u64);
        let before = streamed(session);
        column_is(session, "u", 3, &text);
        send_long(session, in_text, &text[..text.len() - 2]);
        assert_eq!(execute_long(session, in_text, 4, true), Some(1366));
        send_long(session, in_text, &bytes);
        assert_eq!(execute_long(session, in_text, 4, true), Some(1366));
        // Into another character set, through an expression, into a column that is too short, into an update: whole.
        let latin = "a\u{e9}b".repeat(600_000).into_bytes();
        let in_latin = prepared(session, "INSERT INTO t (id, l) VALUES (?, ?)");
        send_long(session, in_latin, &latin);
        assert_eq!(execute_long(session, in_latin, 5, true), None);
        column_is(session, "CONVERT(l USING utf8mb4)", 5, &latin);
        let in_short = prepared(session, "INSERT INTO t (id, s) VALUES (?, ?)");
        send_long(session, in_short, &text);
        assert_eq!(execute_long(session, in_short, 6, true), Some(1406));
        let in_expression = prepared(session, "INSERT INTO t (id, b) VALUES (?, CONCAT(?, 'x'))");
        send_long(session, in_expression, &bytes);
        assert_eq!(execute_long(session, in_expression, 7, false), None);
        column_is(session, "b", 7, &[&bytes[..], b"x"].concat());
        let in_update = prepared(session, "UPDATE t SET n = n + 0 * ?, b = ? WHERE id = 7");
        send_long(session, in_update, &bytes);
        assert_eq!(execute_long(session, in_update, 1, false), None);
        column_is(session, "b", 7, &bytes);
        let replaced = prepared(session, "REPLACE INTO t (id, b) VALUES (?, ?)");
        send_long(session, replaced, &bytes[..2_000_000]);
        assert_eq!(execute_long(session, replaced, 7, false), None);
        column_is(session, "b", 7, &bytes[..2_000_000]);
        assert_eq!(streamed(session), before);
        // Beside another value in the row, in an index, and after a definition has changed.
        query(session, "ALTER TABLE t ADD KEY by_b (b(10))");
        send_long(session, in_blob, &bytes);
        assert_eq!(execute_long(session, in_blob, 8, false), None);
        column_is(session, "b", 8, &bytes);
        query(session, "ALTER TABLE t DROP KEY by_b");
        let both = prepared(session, "INSERT INTO t (id, u, b) VALUES (?, REPEAT('u', 9000), ?)");
        send_long(session, both, &bytes);
        assert_eq!(execute_long(session, both, 9, false), None);
        column_is(session, "b", 9, &bytes);
        column_is(session, "u", 9, "u".repeat(9000).as_bytes());
        // What was sent is gone with its execution: now the value itself is missing.
        assert_eq!(execute_long(session, in_blob, 10, false), Some(1835));
        assert_eq!(
            query(session, "SELECT GROUP_CONCAT(id ORDER BY id), COUNT(*) FROM t"),
            ["1,2,3,5,7,8,9|7"]
        );
        assert_eq!(query(session, "CHECK TABLE t"), ["d.t|check|status|OK"]);
    });
}

/// With `max_long_data_size` more than a packet is taken of a parameter, as long as it need not be in memory whole.
#[test]
fn long_data_beyond_a_packet_is_passed_on_or_refused() {
    alone_after("SET GLOBAL max_allowed_packet = 1048576", |session| {
        query(session, "CREATE TABLE t (id INT PRIMARY KEY, b LONGBLOB)");
        let bytes: Vec<u8> =
            (0..4_000_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let insert = prepared(session, "INSERT INTO t (id, b) VALUES (?, ?)");
        let update = prepared(session, "UPDATE t SET b = ? WHERE id = 1 AND ? IS NOT NULL");
        query(session, "SET GLOBAL max_long_data_size = 1024");
        send_long(session, insert, &bytes[..1 << 20]);
        assert_eq!(
            execute_long(session, insert, 0, false),
            None,
            "the packet's limit counts where it is more"
        );
        send_long(session, insert, &bytes[..(1 << 20) + 1]);
        assert_eq!(execute_long(session, insert, 1, false), Some(1105));
        query(session, "SET GLOBAL max_long_data_size = 4000000");
        send_long(session, insert, &bytes);
        assert_eq!(execute_long(session, insert, 1, false), None);
        send_long(session, insert, &bytes);
        session.send_long_data(insert, 1, b"x");
        assert_eq!(execute_long(session, insert, 2, false), Some(1105));
        send_long(session, update, &bytes);
        assert_eq!(execute_long(session, update, 2, false), Some(1105));
        assert_eq!(query(session, "SELECT id, LENGTH(b) FROM t"), ["0|1048576", "1|4000000"]);
        column_is(session, "b", 1, &bytes);
        assert_eq!(query(session, "CHECK TABLE t"), ["d.t|check|status|OK"]);
    });
}

/// What a result refers to is what its snapshot sees, and READ UNCOMMITTED, which holds none, reads at once.
#[test]
fn references_are_read_as_the_statement_sees_them() {
    alone(|session| {
        query(session, "CREATE TABLE t (id INT PRIMARY KEY, b LONGTEXT, u TEXT CHARACTER SET latin1)");
        query(session, "INSERT INTO t VALUES (1, REPEAT('a', 9000), REPEAT('\u{e4}', 5000)), (2, 'b', 'c')");
        let expected = [format!("1|{}|{}", "a".repeat(9000), "\u{e4}".repeat(5000)), "2|b|c".to_owned()];
        for isolation in ["READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"] {
            query(session, &format!("SET SESSION TRANSACTION ISOLATION LEVEL {isolation}"));
            query(session, "START TRANSACTION");
            assert_eq!(query(session, "SELECT * FROM t"), expected, "{isolation}");
            assert_eq!(query(session, "SELECT id, b, u FROM t ORDER BY id LIMIT 2"), expected, "{isolation}");
            query(session, "UPDATE t SET b = REPEAT('x', 8000) WHERE id = 1");
            assert_eq!(query(session, "SELECT b FROM t WHERE id = 1"), ["x".repeat(8000)], "{isolation}");
            query(session, "ROLLBACK");
        }
        // Kept for later: whole.
        query(session, "SET @b = (SELECT b FROM t WHERE id = 1)");
        assert_eq!(query(session, "SELECT LENGTH(@b), LEFT(@b, 3)"), ["9000|aaa"]);
        query(session, "CREATE TABLE copy SELECT * FROM t");
        assert_eq!(query(session, "SELECT * FROM copy"), expected);
        assert_eq!(
            query(session, "SELECT b FROM t WHERE id = 1 UNION ALL SELECT b FROM copy WHERE id = 2"),
            ["a".repeat(9000), "b".to_owned()]
        );
    });
}
