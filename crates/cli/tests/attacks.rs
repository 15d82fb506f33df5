//! Bombs: statements that ask for all memory or all time, packets that lie, clients that go away. The server stays within its limit of
//! memory, ends what it has to end, answers others meanwhile, and nothing in it panics.
//!
//! The memory of the process is bounded by what it has at rest, the limit given, and a tenth of that. Times are bounded generously, because
//! a busy machine runs the tests as well. What was measured is printed: `INVAR_ATTACK_REPORT=FILE` writes it down, with the longest time that another client's point select took.
//! `INVAR_BOMB_SECONDS` lets each bomb go on for longer than a second before it is killed.

mod harness;

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use client::{Connection, Error, Param};
use harness::{CONNECTION_MEMORY_LIMITS, Server};

/// `global_statement_memory_limit` of the servers attacked.
const LIMIT_BYTES: usize = 400 << 20;
/// What a server grows by when it first works, whatever its statements hold: pages of the buffer pool, buffers of connections.
const FIRST_WORK_BYTES: usize = 16 << 20;
/// The same under bombs. Each of a hundred threads needs some MB for the allocator's size classes beside what is charged.
const BOMBED_LIMIT_BYTES: usize = 2000 << 20;
/// The longest that another client's point select may take.
const FREEZE_MAX: Duration = Duration::from_secs(10);
/// How long one bomb may go on before it is ended by KILL, and how soon it has to have ended then.
const BOMB_TIME_MAX: Duration = Duration::from_secs(1);
const KILL_TIME_MAX: Duration = Duration::from_secs(30);

fn server(limit_bytes: usize) -> Server {
    let server = Server::start(&[
        "--skip-ssl",
        "--innodb-buffer-pool-size=16M",
        &format!("--global-statement-memory-limit={limit_bytes}"),
        &format!("--statement-memory-limit={}", limit_bytes / 2),
        "--cte-max-recursion-depth=100000000",
        "--group-concat-max-len=1000000000",
        "--max-connections=400",
    ]);
    let mut root = server.root();
    for sql in [
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, s VARCHAR(200), KEY (a), KEY (b))",
        "INSERT INTO t WITH RECURSIVE r AS (SELECT 1 i UNION ALL SELECT i + 1 FROM r WHERE i < 2000) SELECT i, i % 100, i % 7, REPEAT('v', 100) FROM r",
        "CREATE TABLE big (id INT AUTO_INCREMENT PRIMARY KEY, v LONGTEXT)",
    ] {
        root.run(sql.as_bytes()).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    server
}

fn list(count: usize, separator: &str, mut item: impl FnMut(usize) -> String) -> String {
    let mut text = String::new();
    for at in 0..count {
        if at > 0 {
            text.push_str(separator);
        }
        text.push_str(&item(at));
    }
    text
}

/// A name and the statements of one session; all but the last prepare the last.
struct Bomb(String, Vec<String>);

fn bomb(name: impl Into<String>, sql: impl Into<String>) -> Bomb {
    Bomb(name.into(), vec![sql.into()])
}

fn memory_bombs() -> Vec<Bomb> {
    let many = "(SELECT x.id FROM t x, t y) m";
    let recursive = |rest: &str| {
        format!(
            "WITH RECURSIVE r AS (SELECT 1 i, CAST('' AS CHAR(1000)) s UNION ALL SELECT i + 1, REPEAT('s', 900) FROM r WHERE i < 100000000) {rest}"
        )
    };
    let mut bombs = vec![
        bomb("REPEAT of rows", "SELECT LENGTH(MAX(REPEAT('x', 20000000 + id))) FROM t"),
        bomb("REPEAT constant", "SELECT MAX(REPEAT('x', 20000000)) FROM t"),
        bomb("REPEAT in REPEAT", "SELECT LENGTH(REPEAT(REPEAT('x', 8000), 8000)) FROM t"),
        bomb("RPAD", "SELECT SUM(LENGTH(RPAD(s, 60000000, 'y'))) FROM t"),
        bomb("LPAD kept", "SELECT COUNT(*) FROM (SELECT LPAD(s, 1000000 + id, 'y') l FROM t ORDER BY 1 LIMIT 5000) u"),
        bomb("SPACE", "SELECT SUM(LENGTH(SPACE(60000000))) FROM t"),
        bomb("CONCAT", "SELECT LENGTH(CONCAT(REPEAT(s, 100000), REPEAT(s, 100000), REPEAT(s, 100000))) FROM t"),
        bomb("REPLACE", "SELECT LENGTH(REPLACE(REPEAT('a', 60000), 'a', REPEAT('b', 1000))) FROM t"),
        bomb("REGEXP_REPLACE", "SELECT LENGTH(REGEXP_REPLACE(REPEAT('a', 60000), 'a', REPEAT('b', 1000))) FROM t"),
        bomb("HEX", "SELECT LENGTH(HEX(HEX(HEX(REPEAT(s, 50000))))) FROM t"),
        bomb("TO_BASE64", "SELECT LENGTH(TO_BASE64(REPEAT(s, 300000))) FROM t"),
        bomb("UNCOMPRESS", "SELECT LENGTH(UNCOMPRESS(COMPRESS(REPEAT('a', 60000000)))) FROM t"),
        bomb("CASE wide", "SELECT MAX(CASE WHEN id % 2 THEN REPEAT('x', 30000000) ELSE REPEAT(s, 300000) END) FROM t"),
        bomb("COALESCE wide", "SELECT SUM(LENGTH(COALESCE(NULL, REPEAT(s, 300000)))) FROM t"),
        bomb("filter wide", "SELECT COUNT(*) FROM t WHERE LENGTH(REPEAT(s, 300000)) > id"),
        bomb("join key wide", "SELECT COUNT(*) FROM t JOIN t u ON REPEAT(t.s, 100000) = REPEAT(u.s, 100000)"),
        bomb("group key wide", "SELECT COUNT(*) FROM t GROUP BY REPEAT(s, 100000 + id)"),
        bomb("sort key wide", "SELECT id FROM t ORDER BY REPEAT(s, 100000 + id) LIMIT 1"),
        bomb("DISTINCT wide", "SELECT COUNT(*) FROM (SELECT DISTINCT REPEAT(s, 10000 + id) FROM t) u"),
        bomb("UNION wide", "SELECT COUNT(*) FROM (SELECT REPEAT(s, 10000 + id) FROM t UNION SELECT REPEAT(s, 20000 + id) FROM t) u"),
        bomb("GROUP_CONCAT", "SELECT LENGTH(GROUP_CONCAT(x.s)) FROM t x, t y, t z"),
        bomb("GROUP_CONCAT ordered", "SELECT LENGTH(GROUP_CONCAT(x.s ORDER BY y.id, x.id DESC)) FROM t x, t y"),
        bomb("GROUP_CONCAT distinct", "SELECT LENGTH(GROUP_CONCAT(DISTINCT CONCAT(x.s, y.id, x.id))) FROM t x, t y"),
        bomb("GROUP_CONCAT groups", "SELECT MAX(LENGTH(g)) FROM (SELECT GROUP_CONCAT(y.s) g FROM t x, t y GROUP BY x.id) u"),
        bomb("JSON_ARRAYAGG", "SELECT JSON_LENGTH(JSON_ARRAYAGG(x.s)) FROM t x, t y"),
        bomb("JSON_OBJECTAGG", "SELECT JSON_LENGTH(JSON_OBJECTAGG(CONCAT(x.id, ',', y.id), x.s)) FROM t x, t y"),
        bomb("JSON_ARRAYAGG groups", "SELECT MAX(JSON_LENGTH(g)) FROM (SELECT JSON_ARRAYAGG(y.s) g FROM t x, t y GROUP BY x.id) u"),
        bomb("JSON_ARRAY", format!("SELECT JSON_LENGTH(JSON_ARRAY({})) FROM t", list(500, ",", |_| "REPEAT(s, 500)".into()))),
        bomb("JSON_SET", "SELECT JSON_LENGTH(JSON_SET('{}', '$.a', REPEAT(s, 300000), '$.b', REPEAT(s, 300000))) FROM t"),
        bomb("JSON text", "SELECT JSON_VALID(CONCAT('[', REPEAT('1,', 20000000), '1]')), JSON_LENGTH(CONCAT('[', REPEAT('1,', 20000000), '1]')) FROM t"),
        bomb("JSON_MERGE", "SELECT JSON_LENGTH(JSON_MERGE_PRESERVE(CONCAT('[', REPEAT('1,', 2000000), '1]'), CONCAT('[', REPEAT('2,', 2000000), '1]'))) FROM t"),
        bomb("cross join", format!("SELECT COUNT(*) FROM {many}, t z, t w WHERE m.id + z.id + w.id = -1")),
        bomb("cross join sorted", "SELECT x.s FROM t x, t y, t z ORDER BY x.s, y.s, z.id LIMIT 100000000, 1"),
        bomb("cross join grouped", "SELECT COUNT(*) FROM (SELECT x.id, y.id i, z.id j FROM t x, t y, t z GROUP BY 1, 2, 3) u"),
        bomb("cross join distinct", "SELECT COUNT(*) FROM (SELECT DISTINCT x.id, y.id i, z.id j FROM t x, t y, t z) u"),
        bomb("COUNT DISTINCT", "SELECT COUNT(DISTINCT x.id, y.id, z.id) FROM t x, t y, t z"),
        bomb("hash join chain", "SELECT COUNT(*) FROM t x JOIN t y ON x.s = y.s JOIN t z ON y.s = z.s JOIN t w ON z.s = w.s"),
        bomb("window", "SELECT SUM(n) FROM (SELECT COUNT(*) OVER (ORDER BY x.id) n FROM t x, t y) u"),
        bomb("EXCEPT", "SELECT COUNT(*) FROM (SELECT x.id, y.id i, z.id j FROM t x, t y, t z EXCEPT SELECT 1, 2, 3) u"),
        bomb("recursive", recursive("SELECT COUNT(*) FROM r")),
        bomb("recursive distinct", recursive("SELECT COUNT(*) FROM r").replace("UNION ALL", "UNION")),
        bomb("recursive doubling", "WITH RECURSIVE r AS (SELECT 1 i UNION ALL SELECT r.i + 1 FROM r JOIN t) SELECT COUNT(*) FROM r"),
        bomb("recursive growing", "WITH RECURSIVE r AS (SELECT CAST('a' AS CHAR(60000000)) s UNION ALL SELECT CONCAT(s, s) FROM r) SELECT MAX(LENGTH(s)) FROM r"),
        bomb("wide row", format!("SELECT {}", list(4000, ",", |_| "REPEAT('x', 1000000)".into()))),
        bomb("wide rows", format!("SELECT {} FROM t", list(1000, ",", |_| "REPEAT(s, 1000)".into()))),
        bomb("IN list", format!("SELECT COUNT(*) FROM t WHERE id IN ({})", list(2_000_000, ",", |at| at.to_string()))),
        bomb("IN list of expressions", format!("SELECT COUNT(*) FROM t WHERE id IN ({})", list(400_000, ",", |at| format!("a+{at}")))),
        bomb("rows of INSERT", format!("INSERT IGNORE INTO t VALUES {}", list(300_000, ",", |at| format!("({at}+1,1,1,'x')")))),
        bomb("INSERT SELECT", "INSERT INTO big (v) SELECT REPEAT('x', 30000000 + id) FROM t"),
        bomb("UPDATE wide", "UPDATE big SET v = CONCAT(v, REPEAT('y', 60000000))"),
        bomb("select list", format!("SELECT {}", list(1_000_000, ",", |_| "1".into()))),
        // A call of many arguments is one expression.
        bomb("ELT", format!("SELECT ELT(a, {}) FROM t", list(50_000, ",", |_| "REPEAT(s, 10)".into()))),
        bomb("COALESCE", format!("SELECT COALESCE({}) FROM t", list(50_000, ",", |_| "NULLIF(a, a)".into()))),
        bomb("GREATEST", format!("SELECT GREATEST({}) FROM t", list(50_000, ",", |at| format!("a + {at}")))),
        bomb("calls", format!("SELECT {}", list(300_000, ",", |_| "CONCAT('a',1)".into()))),
        bomb("INTO", "SELECT GROUP_CONCAT(x.s) INTO @a FROM t x, t y, t z"),
        Bomb(
            "user variables".into(),
            (0..40).map(|at| format!("SET @v{at} = REPEAT('x', 60000000)")).collect(),
        ),
        Bomb(
            "small user variables".into(),
            (0..600).map(|at| format!("SET @w{at} = REPEAT('x', 3000000)")).collect(),
        ),
        Bomb(
            "user variable growing".into(),
            (0..40).map(|at| if at == 0 { "SET @g = 'x'".into() } else { "SET @g = CONCAT(@g, @g)".to_owned() }).collect(),
        ),
        Bomb(
            "named statements".into(),
            (0..60)
                .map(|at| format!("PREPARE p{at} FROM 'SELECT {}'", list(400_000, ",", |_| "1".into())))
                .collect(),
        ),
        Bomb(
            "procedure".into(),
            vec![
                "DROP PROCEDURE IF EXISTS bomb".into(),
                "CREATE PROCEDURE bomb() BEGIN DECLARE v LONGTEXT DEFAULT 'x'; DECLARE n INT DEFAULT 0; WHILE n < 100 DO SET v = CONCAT(v, v); SET n = n + 1; END WHILE; END".into(),
                "CALL bomb()".into(),
            ],
        ),
        Bomb(
            "cursor of a procedure".into(),
            vec![
                "DROP PROCEDURE IF EXISTS rows_bomb".into(),
                "CREATE PROCEDURE rows_bomb() BEGIN DECLARE v TEXT; DECLARE c CURSOR FOR SELECT x.s FROM t x, t y, t z; OPEN c; FETCH c INTO v; END".into(),
                "CALL rows_bomb()".into(),
            ],
        ),
        Bomb(
            "dynamic procedure".into(),
            vec![
                "DROP PROCEDURE IF EXISTS loops".into(),
                "CREATE PROCEDURE loops() BEGIN WHILE TRUE DO DO 1; END WHILE; END".into(),
                "CALL loops()".into(),
            ],
        ),
    ];
    for (name, call) in [
        ("BENCHMARK", "SELECT BENCHMARK(1000000000, MD5('a'))"),
        ("SLEEP", "SELECT SLEEP(1000)"),
        ("LIKE", "SELECT COUNT(*) FROM t WHERE REPEAT('a', 2000) LIKE CONCAT(REPEAT('%a', 500), 'b', id)"),
        (
            "REGEXP",
            "SELECT COUNT(*) FROM t WHERE REPEAT('a', 5000) REGEXP CONCAT('(a|aa)+(a|aa)+(a|aa)+b', id)",
        ),
        (
            "JSON_OVERLAPS",
            "SELECT SUM(JSON_OVERLAPS(CONCAT('[', REPEAT('1,', 200000), '1]'), CONCAT('[', REPEAT('2,', 200000), id, ']'))) FROM t",
        ),
        (
            "JSON_CONTAINS",
            "SELECT SUM(JSON_CONTAINS(CONCAT('[', REPEAT('1,', 200000), '1]'), CONCAT('[', REPEAT('1,', 200000), id, ']'))) FROM t",
        ),
        ("SHA2", "SELECT COUNT(*) FROM t WHERE SHA2(REPEAT(s, 500000), 512) = id"),
        ("AES", "SELECT COUNT(*) FROM t WHERE AES_ENCRYPT(REPEAT(s, 500000), 'k') = id"),
        ("COMPRESS", "SELECT COUNT(*) FROM t WHERE LENGTH(COMPRESS(REPEAT(s, 500000))) = id"),
        ("SOUNDEX", "SELECT COUNT(*) FROM t WHERE SOUNDEX(REPEAT(s, 500000)) = id"),
        ("REVERSE", "SELECT COUNT(*) FROM t WHERE REVERSE(UPPER(REPEAT(s, 500000))) = id"),
        (
            "correlated",
            "SELECT COUNT(*) FROM t x WHERE (SELECT COUNT(*) FROM t y, t z WHERE y.id + z.id + x.id = -1) = 1",
        ),
        (
            "EXISTS",
            "SELECT COUNT(*) FROM t x WHERE NOT EXISTS (SELECT 1 FROM t y, t z WHERE y.id + z.id + x.id = -1)",
        ),
    ] {
        bombs.push(bomb(name, call));
    }
    bombs
}

fn planning_bombs() -> Vec<Bomb> {
    let doubling = |levels: usize| {
        let mut text = "WITH c0 AS (SELECT 1 x)".to_owned();
        for at in 1..=levels {
            let before = at - 1;
            let _ = write!(text, ", c{at} AS (SELECT a.x FROM c{before} a JOIN c{before} b ON a.x = b.x)");
        }
        format!("{text} SELECT COUNT(*) FROM c{levels}")
    };
    let tables = |count: usize, condition: &dyn Fn(usize) -> String| {
        format!(
            "SELECT COUNT(*) FROM {}",
            list(count, " ", |at| {
                if at == 0 { "t t0".into() } else { format!("JOIN t t{at} ON {}", condition(at)) }
            })
        )
    };
    let nested = |depth: usize, open: &str, inner: &str, close: &str| {
        format!("{}{inner}{}", open.repeat(depth), close.repeat(depth))
    };
    vec![
        bomb("doubled CTE, 9", doubling(9)),
        bomb("doubled CTE, 16", doubling(16)),
        bomb("doubled CTE, 60", doubling(60)),
        bomb(
            "doubled CTE over a table",
            doubling(9).replace("SELECT 1 x", "SELECT id x FROM t WHERE id < 3"),
        ),
        bomb("doubled CTE, aggregated", doubling(9).replace("SELECT a.x", "SELECT MAX(a.x) x")),
        bomb(
            "large CTE, copied",
            format!(
                "WITH c AS (SELECT 1 x WHERE {}) {}",
                list(2_000, " OR ", |at| format!("{at} = 1")),
                list(1_000, " UNION ALL ", |_| "SELECT x FROM c".into())
            ),
        ),
        bomb("61 tables in a chain", tables(61, &|at| format!("t{at}.id = t{}.a", at - 1))),
        bomb("61 tables in a star", tables(61, &|at| format!("t{at}.id = t0.a"))),
        bomb(
            "61 tables, each with each",
            tables(61, &|at| list(at, " AND ", |other| format!("t{at}.a = t{other}.b"))),
        ),
        bomb(
            "61 outer joins",
            tables(61, &|at| format!("t{at}.id = t{}.a", at - 1)).replace("JOIN", "LEFT JOIN"),
        ),
        bomb("8 tables without condition", tables(8, &|_| "1".into())),
        bomb("nested derived tables", nested(60, "SELECT * FROM (", "SELECT id FROM t WHERE id = 1", ") x")),
        bomb(
            "nested joins",
            nested(20, "SELECT x.id FROM (", "SELECT id FROM t WHERE id = 1", ") x JOIN t y ON x.id = y.id"),
        ),
        bomb(
            "nested joins, 60",
            nested(60, "SELECT x.id FROM (", "SELECT id FROM t WHERE id = 1", ") x JOIN t y ON x.id = y.id"),
        ),
        bomb(
            "nested aggregates",
            nested(
                60,
                "SELECT MAX(id) id FROM (",
                "SELECT id FROM t WHERE id = 1",
                ") x JOIN t y USING (id)",
            ),
        ),
        bomb(
            "doubled expressions",
            nested(60, "SELECT a + a + a a FROM (", "SELECT a FROM t WHERE id = 1", ") x WHERE a + a > a"),
        ),
        bomb(
            "doubled expressions grouped",
            nested(50, "SELECT a + a a FROM (", "SELECT a FROM t WHERE id = 1", ") x GROUP BY a + a"),
        ),
        bomb("doubled EXISTS", nested(40, "SELECT 1 a FROM t WHERE EXISTS (", "SELECT 1", ") AND id = 1")),
        bomb("IN of IN", nested(40, "SELECT id FROM t WHERE id IN (", "SELECT 1", ")")),
        bomb("NOT IN of NOT IN", nested(40, "SELECT id FROM t WHERE id NOT IN (", "SELECT 1", ")")),
        bomb(
            "AND",
            format!("SELECT COUNT(*) FROM t WHERE {}", list(100_000, " AND ", |at| format!("a <> {at}"))),
        ),
        bomb(
            "OR",
            format!("SELECT COUNT(*) FROM t WHERE {}", list(100_000, " OR ", |at| format!("id = {at}"))),
        ),
        bomb(
            "OR of pairs",
            format!(
                "SELECT COUNT(*) FROM t WHERE {}",
                list(20_000, " OR ", |at| format!("(a = {at} AND b = {at})"))
            ),
        ),
        bomb(
            "AND of OR",
            format!(
                "SELECT COUNT(*) FROM t WHERE {}",
                list(3_000, " AND ", |at| format!("(a = {at} OR b = {at} OR id > {at})"))
            ),
        ),
        bomb(
            "equalities",
            format!(
                "SELECT COUNT(*) FROM t x JOIN t y ON {}",
                list(3_000, " AND ", |_| "x.a = y.a AND x.b = y.b".into())
            ),
        ),
        bomb("UNION", list(4_000, " UNION ", |at| format!("SELECT a, b, s FROM t WHERE id = {at}"))),
        bomb(
            "UNION ALL under a condition",
            format!(
                "SELECT COUNT(*) FROM ({}) u WHERE a = 1 AND b IN (1, 2, 3)",
                list(2_000, " UNION ALL ", |_| "SELECT a, b, s FROM t".into())
            ),
        ),
        bomb("INTERSECT", list(1_000, " INTERSECT ", |_| "SELECT a FROM t".into())),
        bomb(
            "CASE",
            format!(
                "SELECT CASE {} END FROM t",
                list(20_000, " ", |at| format!("WHEN a = {at} THEN b + {at}"))
            ),
        ),
        bomb(
            "CASE of CASE",
            format!("SELECT {} FROM t", nested(150, "CASE a WHEN 1 THEN b ELSE ", "0", " END")),
        ),
        bomb(
            "subqueries",
            format!("SELECT {}", list(1_500, ",", |at| format!("(SELECT a FROM t WHERE id = {at})"))),
        ),
        bomb(
            "correlated subqueries",
            format!(
                "SELECT {} FROM t x WHERE x.id < 3",
                list(800, ",", |at| format!("(SELECT a FROM t WHERE id = x.id + {at})"))
            ),
        ),
        bomb(
            "IN lists by ranges",
            format!(
                "SELECT COUNT(*) FROM t WHERE a IN ({0}) AND b IN ({0}) AND id IN ({0})",
                list(5_000, ",", |at| at.to_string())
            ),
        ),
        bomb(
            "many IN lists",
            format!(
                "SELECT COUNT(*) FROM t WHERE {}",
                list(500, " AND ", |_| format!("a IN ({})", list(200, ",", |at| at.to_string())))
            ),
        ),
        bomb("GROUP BY", format!("SELECT 1 FROM t GROUP BY {}", list(2_000, ",", |at| format!("a + {at}")))),
        bomb(
            "ORDER BY",
            format!("SELECT 1 FROM t WHERE id < 3 ORDER BY {}", list(5_000, ",", |at| format!("a + {at}"))),
        ),
        bomb("aggregates", format!("SELECT {} FROM t", list(3_000, ",", |at| format!("SUM(a + {at})")))),
        bomb(
            "select list of a join",
            format!(
                "SELECT {} FROM t x JOIN t y USING (id)",
                list(20_000, ",", |at| format!("x.a + y.b + {at}"))
            ),
        ),
        bomb(
            "assignments",
            format!(
                "UPDATE t SET a = {} WHERE id = 0",
                list(300, " + ", |_| "(SELECT COUNT(*) FROM big)".into())
            ),
        ),
        bomb(
            "row comparisons",
            format!(
                "SELECT COUNT(*) FROM t WHERE (a, b) IN ({})",
                list(50_000, ",", |at| format!("({at}, {at})"))
            ),
        ),
        bomb("deep parentheses", format!("SELECT {}", nested(390, "(", "1", ")"))),
        bomb("deep functions", format!("SELECT {} FROM t", nested(390, "ABS(", "a", ")"))),
    ]
}

/// Point selects of another client while bombs go off: the longest of them.
struct Probe {
    stop: AtomicBool,
    longest_us: AtomicU64,
    count: AtomicU64,
}

impl Probe {
    fn new() -> Probe {
        Probe { stop: AtomicBool::new(false), longest_us: AtomicU64::new(0), count: AtomicU64::new(0) }
    }

    fn run(&self, server: &Server) {
        let mut connection = server.root();
        let mut statement = connection.prepare(b"SELECT s FROM d.t WHERE id = ?").expect("prepared");
        while !self.stop.load(Ordering::Relaxed) {
            let start = Instant::now();
            connection
                .execute(&mut statement, &[Param::Int(7)])
                .and_then(client::Answer::finish)
                .expect("a row");
            let took = start.elapsed().as_micros() as u64;
            self.longest_us.fetch_max(took, Ordering::Relaxed);
            self.count.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn take_longest(&self) -> Duration {
        Duration::from_micros(self.longest_us.swap(0, Ordering::Relaxed))
    }
}

/// A session of root, on a machine that is busy with bombs.
fn patient_root(server: &Server) -> Connection {
    let mut options = server.options();
    options.connect_timeout = Some(harness::ANSWER_TIME_MAX);
    Connection::connect(&options).expect("root is let in")
}

/// What a bomb came to.
fn explode(server: &Server, bomb: &Bomb) -> (String, Duration, Duration) {
    let ended = AtomicBool::new(false);
    let killed_after = Mutex::new(None);
    let mut connection = patient_root(server);
    let id = connection.connection_id();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let start = Instant::now();
            let seconds = std::env::var("INVAR_BOMB_SECONDS").ok().and_then(|text| text.parse().ok());
            let time_max = seconds.map_or(BOMB_TIME_MAX, Duration::from_secs);
            while !ended.load(Ordering::Relaxed) && start.elapsed() < time_max {
                std::thread::sleep(Duration::from_millis(5));
            }
            if !ended.load(Ordering::Relaxed) {
                *killed_after.lock().unwrap() = Some(Instant::now());
                patient_root(server).run(format!("KILL {id}").as_bytes()).ok();
            }
        });
        let start = Instant::now();
        connection.run(b"USE d").expect("used");
        let mut came_to = "ok".to_owned();
        for sql in &bomb.1 {
            if let Err(error) = connection.run(sql.as_bytes()) {
                came_to = match &error {
                    Error::Server(error) => error.number.to_string(),
                    _ => "closed".to_owned(),
                };
                break;
            }
        }
        ended.store(true, Ordering::Relaxed);
        let killed: Option<Instant> = *killed_after.lock().unwrap();
        let after_kill = killed.map_or(Duration::ZERO, |killed| killed.elapsed());
        (came_to, start.elapsed(), after_kill)
    })
}

fn report(line: &str) {
    println!("{line}");
    if let Some(path) = std::env::var_os("INVAR_ATTACK_REPORT") {
        let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
        writeln!(file.expect("the report can be written"), "{line}").expect("written");
    }
}

/// Each bomb alone.
fn attack(what: &str, bombs: &[Bomb]) {
    let server = server(BOMBED_LIMIT_BYTES);
    let base = server.memory_bytes();
    let most = base + BOMBED_LIMIT_BYTES + BOMBED_LIMIT_BYTES / 10;
    let probe = Probe::new();
    let mut failures = String::new();
    let mut longest = Duration::ZERO;
    std::thread::scope(|scope| {
        scope.spawn(|| probe.run(&server));
        for bomb in bombs {
            let before = server.panics();
            let (came_to, took, after_kill) = explode(&server, bomb);
            let freeze = probe.take_longest();
            longest = longest.max(freeze);
            let used = server.memory_bytes_max();
            report(&format!(
                "{what}: {}: {came_to} in {} ms, {} ms after KILL, probe {} ms, {} MB",
                bomb.0,
                took.as_millis(),
                after_kill.as_millis(),
                freeze.as_millis(),
                used >> 20
            ));
            let mut fail = |why: String| {
                let _ = writeln!(failures, "{}: {why}", bomb.0);
            };
            if server.panics() != before || came_to == "1815" {
                fail("panicked".into());
            }
            if freeze > FREEZE_MAX {
                fail(format!("others waited {freeze:?}"));
            }
            if after_kill > KILL_TIME_MAX {
                fail(format!("ended {after_kill:?} after its KILL"));
            }
            if used > most && !failures.contains("of memory") {
                let _ = writeln!(failures, "{}: {} MB of memory, {} allowed", bomb.0, used >> 20, most >> 20);
            }
        }
        probe.stop.store(true, Ordering::Relaxed);
    });
    let asked = probe.count.load(Ordering::Relaxed);
    report(&format!("{what}: {asked} point selects beside, the longest {} ms", longest.as_millis()));
    assert!(failures.is_empty(), "\n{failures}");
    server.stop();
}

#[test]
fn memory_bombs_stay_within_the_limit() {
    attack("memory", &memory_bombs());
}

#[test]
fn planning_bombs_end() {
    attack("planning", &planning_bombs());
}

#[test]
fn a_hundred_bombs_at_once() {
    let mut bombs = memory_bombs();
    bombs.extend(planning_bombs());
    let server_bombs: Vec<Bomb> =
        bombs.into_iter().filter(|bomb| bomb.1.iter().all(|sql| sql.len() < 1 << 20)).collect();
    let server = server(BOMBED_LIMIT_BYTES);
    let base = server.memory_bytes();
    let most = base + BOMBED_LIMIT_BYTES + BOMBED_LIMIT_BYTES / 10;
    let probe = Probe::new();
    std::thread::scope(|scope| {
        scope.spawn(|| probe.run(&server));
        std::thread::scope(|bombers| {
            for at in 0..100 {
                let (server, bombs) = (&server, &server_bombs);
                bombers.spawn(move || explode(server, &bombs[at % bombs.len()]));
            }
        });
        probe.stop.store(true, Ordering::Relaxed);
    });
    let used = server.memory_bytes_max();
    let longest = probe.take_longest();
    let charged = {
        let mut root = server.root();
        let mut answer =
            root.query(b"SHOW GLOBAL STATUS LIKE 'Statement_memory_bytes_max'").expect("the status");
        assert!(answer.next_result().expect("the status"));
        let row = answer.next_row().expect("the status").expect("a row");
        let mut text = Vec::new();
        row.cell(1).write_text(&row.columns().get(1), &mut text);
        String::from_utf8_lossy(&text).parse::<usize>().expect("a number")
    };
    report(&format!("100 at once: {charged} bytes charged at most"));
    report(&format!("100 at once: probe {} ms, {} MB of {} MB", longest.as_millis(), used >> 20, most >> 20));
    assert_eq!(server.panics(), 0);
    assert!(used <= most, "{} MB, {} allowed", used >> 20, most >> 20);
    server.stop();
}

fn running(root: &mut Connection, text: &str) -> u64 {
    let sql = format!(
        "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE '{text}%' AND ID <> CONNECTION_ID()"
    );
    let mut answer = root.query(sql.as_bytes()).expect("the list");
    assert!(answer.next_result().unwrap());
    answer.next_row().unwrap().expect("a row").cell(0).as_i64().expect("a number") as u64
}

/// Nobody computes for a client that is gone.
#[test]
fn statements_of_clients_that_went_away_end() {
    let server = server(LIMIT_BYTES);
    let mut root = server.root();
    let statements = [
        "SELECT /* gone */ COUNT(*) FROM d.t a, d.t b, d.t c, d.t e WHERE a.id + b.id + c.id + e.id = -1",
        "SELECT /* gone */ SLEEP(1000)",
        "SELECT /* gone */ a.s FROM d.t a, d.t b, d.t c",
        "DO /* gone */ BENCHMARK(100000000000, MD5('a'))",
    ];
    for sql in statements {
        for answer_begun in [false, true] {
            let mut stream = logged_in(&server);
            let mut payload = vec![3];
            payload.extend_from_slice(sql.as_bytes());
            send(&mut stream, 0, &payload);
            if answer_begun {
                std::thread::sleep(Duration::from_millis(300));
            }
            drop(stream);
        }
    }
    let start = Instant::now();
    std::thread::sleep(Duration::from_millis(100));
    while running(&mut root, "%gone") > 0 {
        assert!(start.elapsed() < Duration::from_secs(60), "statements run on for clients that are gone");
        std::thread::sleep(Duration::from_millis(20));
    }
    report(&format!("gone: the last statement ended {} ms after its client", start.elapsed().as_millis()));
    assert_eq!(server.panics(), 0);
    server.stop();
}

fn send(stream: &mut TcpStream, sequence: u8, payload: &[u8]) {
    let length = (payload.len() as u32).to_le_bytes();
    let mut packet = vec![length[0], length[1], length[2], sequence];
    packet.extend_from_slice(payload);
    let _ = stream.write_all(&packet); // The server may have closed already.
}

fn receive(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut header = [0; 4];
    stream.read_exact(&mut header).ok()?;
    let mut payload = vec![0; u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize];
    stream.read_exact(&mut payload).ok()?;
    Some(payload)
}

fn greeted(server: &Server) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", server.port())).expect("the server listens");
    stream.set_read_timeout(Some(harness::ANSWER_TIME_MAX)).expect("a timeout");
    receive(&mut stream).expect("a greeting");
    stream
}

/// A session of root, whose account has no password.
fn logged_in(server: &Server) -> TcpStream {
    let mut stream = greeted(server);
    let mut payload = Vec::new();
    wire::handshake::HandshakeResponse {
        capabilities: client::Capabilities(
            client::Capabilities::PROTOCOL_41.0
                | client::Capabilities::SECURE_CONNECTION.0
                | client::Capabilities::PLUGIN_AUTH.0
                | client::Capabilities::LOCAL_FILES.0
                | client::Capabilities::TRANSACTIONS.0,
        ),
        packet_bytes_max: 1 << 24,
        collation: 255,
        user: b"root",
        auth_plugin: Some(b"caching_sha2_password"),
        ..Default::default()
    }
    .encode(&mut payload);
    send(&mut stream, 1, &payload);
    loop {
        let answer = receive(&mut stream).expect("let in");
        match answer.first() {
            Some(0) => return stream,
            Some(1) => {}
            other => panic!("not let in: {other:?}"),
        }
    }
}

/// Bytes that no client sends, in each state of a conversation.
#[test]
fn hostile_bytes_in_every_state() {
    let server = server(LIMIT_BYTES);
    let base = server.memory_bytes();
    let nothing: &[u8] = b"";
    let mut pieces: Vec<Vec<u8>> = vec![
        nothing.to_vec(),
        vec![0],
        vec![0xff; 3],
        vec![0xff, 0xff, 0xff, 0],
        vec![0xff, 0xff, 0xff, 0xff],
        vec![0, 0, 0, 0],
        vec![1, 0, 0, 9, 0x0e],
        vec![5, 0, 0, 0, 3, b'S', b'E'],
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n".to_vec(),
        vec![0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3],
        vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0],
        vec![0x78, 0x9c, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0],
        vec![0x41; 100_000],
    ];
    for command in 0..=40u8 {
        pieces.push(vec![1, 0, 0, 0, command]);
        pieces.push([&[41, 0, 0, 0, command][..], &[0xff; 40]].concat());
        pieces.push([&[41, 0, 0, 0, command][..], &[0; 40]].concat());
        // Said to be long, and cut.
        pieces.push([&[0xff, 0xff, 0x7f, 0, command][..], &[b'a'; 400]].concat());
        // Out of order.
        pieces.push(vec![1, 0, 0, 77, command]);
    }
    for piece in &pieces {
        for state in 0..3 {
            let mut stream = if state == 2 { logged_in(&server) } else { greeted(&server) };
            if state == 1 {
                send(&mut stream, 1, &[0x05, 0xa2, 0x0a, 0, 0, 0, 0, 1, 0xff]);
            }
            let _ = stream.write_all(piece);
            let _ = stream.shutdown(Shutdown::Write);
            let mut answer = Vec::new();
            let _ = stream.read_to_end(&mut answer);
        }
    }
    // Each command with bytes drawn from a seed, twelve times.
    let mut random = env::random::Rng::new(1);
    let mut draw = move || random.next_u64();
    for command in 0..=40u8 {
        for _ in 0..12 {
            let mut payload = vec![command];
            payload.extend((0..draw() % 200).map(|_| if draw() % 3 == 0 { 0 } else { draw() as u8 }));
            let start = Instant::now();
            let mut stream = logged_in(&server);
            send(&mut stream, 0, &payload);
            let _ = stream.shutdown(Shutdown::Write);
            let mut answer = Vec::new();
            let _ = stream.read_to_end(&mut answer);
            assert!(start.elapsed() < harness::ANSWER_TIME_MAX / 2, "command {command}: {payload:?}");
        }
    }
    server.root().run(b"SELECT 1").expect("the server answers");
    let used = server.memory_bytes_max();
    report(&format!(
        "hostile bytes: {} tries, {} MB beyond {} MB",
        pieces.len() * 3,
        (used - base) >> 20,
        base >> 20
    ));
    assert!(used - base < 200 << 20, "{} MB", used >> 20);
    assert_eq!(server.panics(), 0);
    server.stop();
}

/// Clients that stop: in a login, in a packet, in front of an answer that they do not read.
#[test]
fn clients_that_stop_cost_no_memory_and_hold_up_nobody() {
    let server = server(LIMIT_BYTES);
    let base = server.memory_bytes();
    let probe = Probe::new();
    std::thread::scope(|scope| {
        scope.spawn(|| probe.run(&server));
        let mut stopped = Vec::new();
        for at in 0..90 {
            match at % 3 {
                0 => {
                    let mut stream = greeted(&server);
                    let _ = stream.write_all(b"\x55\0");
                    stopped.push(stream);
                }
                1 => {
                    // Two thirds of a packet of 12 MB.
                    let mut stream = logged_in(&server);
                    let _ = stream.write_all(&[0, 0, 0xc0, 0, 3]);
                    let _ = stream.set_write_timeout(Some(Duration::from_secs(5)));
                    for _ in 0..8 {
                        let _ = stream.write_all(&vec![b' '; 1 << 20]);
                    }
                    stopped.push(stream);
                }
                _ => {
                    let mut stream = logged_in(&server);
                    let mut payload = vec![3];
                    payload.extend_from_slice(b"SELECT REPEAT('x', 1000000) FROM d.t");
                    send(&mut stream, 0, &payload);
                    stopped.push(stream);
                }
            }
        }
        std::thread::sleep(Duration::from_secs(1));
        let used = server.memory_bytes_max();
        let longest = probe.take_longest();
        probe.stop.store(true, Ordering::Relaxed);
        report(&format!(
            "stopped: probe {} ms, {} MB beyond {} MB",
            longest.as_millis(),
            (used - base) >> 20,
            base >> 20
        ));
        // Beside what is charged, each of them has up to a MB of a packet that is not charged.
        assert!(used - base < LIMIT_BYTES + LIMIT_BYTES / 4, "{} MB", used >> 20);
        drop(stopped);
    });
    assert_eq!(server.panics(), 0);
    server.stop();
}

/// Beyond the limits that have MySQL's names a connection is closed; others go on, and administrators have none.
#[test]
fn connections_beyond_their_memory_are_closed() {
    let server = server(LIMIT_BYTES);
    let mut root = server.root();
    let long = b"SELECT LENGTH(CONCAT(REPEAT('x', 30000000), 'y'))";
    root.run(b"CREATE USER u").expect("an account");
    for (settings, number) in CONNECTION_MEMORY_LIMITS {
        for setting in settings {
            root.run(format!("SET GLOBAL {setting}").as_bytes()).expect("set");
        }
        let connect = || {
            let mut options = server.options();
            options.user = "u".into();
            Connection::connect(&options).expect("let in")
        };
        let (mut large, mut small) = (connect(), connect());
        let error = large.run(long).expect_err("beyond the limit");
        assert_eq!(error.number(), Some(number), "{error}");
        assert!(large.run(b"DO 1").is_err(), "the connection is closed");
        small.run(b"SELECT REPEAT('x', 1000)").expect("another connection goes on");
        server.root().run(long).expect("an administrator has no such limit");
    }
    assert_eq!(server.panics(), 0);
    server.stop();
}

/// Reads that no client waits for by themselves have the time of `max_execution_time` too.
#[test]
fn reads_of_variables_cursors_and_procedures_end_with_their_time() {
    let server = server(LIMIT_BYTES);
    let mut root = server.root();
    let endless = "FROM t a, t b, t c, t e WHERE a.id + b.id + c.id + e.id = -1";
    let cursor = format!("DECLARE v INT; DECLARE c CURSOR FOR SELECT a.id {endless}; OPEN c; FETCH c INTO v");
    for sql in [
        "USE d",
        "SET max_execution_time = 200",
        &format!("CREATE PROCEDURE looks() BEGIN SELECT COUNT(*) {endless}; END"),
        &format!("CREATE PROCEDURE fills() BEGIN DECLARE v INT; SELECT COUNT(*) INTO v {endless}; END"),
        &format!("CREATE PROCEDURE fetches() BEGIN {cursor}; END"),
    ] {
        root.run(sql.as_bytes()).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    for sql in
        [&format!("SELECT COUNT(*) INTO @a {endless}"), "CALL looks()", "CALL fills()", "CALL fetches()"]
    {
        let error = root.run(sql.as_bytes()).expect_err(sql);
        assert_eq!(error.number(), Some(3024), "{sql}: {error}");
        root.run(b"SELECT COUNT(*) FROM t").expect("the next statement has its own time");
    }
    server.stop();
}

/// A SELECT's time begins before it is planned.
#[test]
fn planning_ends_with_the_time_of_its_statement() {
    let server = server(LIMIT_BYTES);
    let mut root = server.root();
    let copies = list(1_000, " UNION ALL ", |_| "SELECT x FROM c".into());
    let conditions = list(2_000, " OR ", |at| format!("{at} = 1"));
    let sql = format!("WITH c AS (SELECT 1 x FROM t WHERE {conditions}) SELECT COUNT(*) FROM ({copies}) u");
    root.run(b"USE d").expect("a database");
    root.run(b"SET max_execution_time = 20").expect("set");
    let began = Instant::now();
    let error = root.run(sql.as_bytes()).expect_err("it takes seconds to plan");
    assert_eq!(error.number(), Some(3024), "{error}");
    assert!(began.elapsed() < Duration::from_millis(500), "{:?}", began.elapsed());
    // It is no time of PREPARE, nor of what is no SELECT.
    root.run(b"SELECT COUNT(*) FROM t").expect("the next statement has its own time");
    root.run(b"DO SLEEP(0.05)").expect("only a SELECT has a time");
    server.stop();
}

/// One row of thousands of large values, killed amid: it is not computed to its end.
#[test]
fn a_row_of_many_large_values_can_be_killed() {
    let server = server(LIMIT_BYTES);
    let mut root = server.root();
    root.run(b"SET GLOBAL statement_memory_limit = 8000000000").expect("set");
    root.run(b"SET GLOBAL global_statement_memory_limit = 16000000000").expect("set");
    let mut victim = server.root();
    let mut answer = victim.query(b"SELECT CONNECTION_ID()").expect("its number");
    assert!(answer.next_result().expect("a result"));
    let row = answer.next_row().expect("a row").expect("a row");
    let mut id = Vec::new();
    row.cell(0).write_text(&row.columns().get(0), &mut id);
    answer.finish().expect("the rest");
    let values = list(2_000, ", ", |at| format!("REPEAT(CONCAT(id, {at}), 300000)"));
    let statement = std::thread::spawn(move || {
        let sql = format!("SELECT {values} FROM d.t WHERE id = 1");
        (victim.run(sql.as_bytes()).map(drop), Instant::now())
    });
    std::thread::sleep(Duration::from_millis(200));
    let killed = Instant::now();
    root.run(format!("KILL QUERY {}", String::from_utf8(id).expect("digits")).as_bytes()).expect("killed");
    let (outcome, ended) = statement.join().expect("it ends");
    let error = outcome.expect_err("it was killed");
    assert_eq!(error.number(), Some(1317), "{error}");
    let took = ended.saturating_duration_since(killed);
    assert!(took < Duration::from_millis(500), "{took:?}");
    server.stop();
}

/// A client's file whose only line does not end: KILL ends the statement in its middle, or its memory does.
#[test]
fn an_endless_line_of_a_file_can_be_killed_and_is_bounded() {
    let server = server(LIMIT_BYTES);
    let base = server.memory_bytes();
    let most = base + FIRST_WORK_BYTES + LIMIT_BYTES + LIMIT_BYTES / 10;
    let mut root = server.root();
    root.run(b"SET GLOBAL local_infile = ON").expect("set");
    root.run(b"CREATE TABLE d.lines (s LONGTEXT)").expect("created");
    let load = b"LOAD DATA LOCAL INFILE 'endless' INTO TABLE d.lines";
    for (number, skipped) in [(1317u16, ""), (1317, " IGNORE 3 LINES"), (3170, ""), (3170, " IGNORE 3 LINES")]
    {
        let mut stream = logged_in(&server);
        send(&mut stream, 0, &[&[3][..], load, skipped.as_bytes()].concat());
        assert_eq!(receive(&mut stream).expect("a request").first(), Some(&0xfb));
        let mut sequence = 2u8;
        let mut pieces = 0;
        while running(&mut root, "LOAD DATA LOCAL") > 0 {
            send(&mut stream, sequence, &[b'x'; 1 << 20]);
            sequence = sequence.wrapping_add(1);
            pieces += 1;
            assert!(pieces < 2_000, "the statement goes on");
            if number == 1317 && pieces == 8 {
                let list = "SELECT ID FROM information_schema.PROCESSLIST WHERE INFO LIKE 'LOAD DATA LOCAL%'";
                let mut answer = root.query(list.as_bytes()).expect("the list");
                assert!(answer.next_result().expect("a result"));
                let id =
                    answer.next_row().expect("a row").expect("a row").cell(0).as_i64().expect("a number");
                answer.finish().expect("the rest");
                root.run(format!("KILL QUERY {id}").as_bytes()).expect("killed");
            }
        }
        // What the client still sends is read, and then the error is its answer.
        send(&mut stream, sequence, b"");
        let answer = receive(&mut stream).expect("an answer");
        assert_eq!(
            answer[..3],
            [&[0xff][..], &number.to_le_bytes()].concat(),
            "{}",
            String::from_utf8_lossy(&answer)
        );
    }
    let used = server.memory_bytes_max();
    report(&format!("an endless line: {} MB of {} MB", used >> 20, most >> 20));
    assert!(used <= most, "{} MB, {} allowed", used >> 20, most >> 20);
    assert_eq!(server.panics(), 0);
    server.stop();
}

/// Nothing stays charged for what is gone: packets that were executed, variables set again, limits that were asked for and refused.
#[test]
fn nothing_stays_charged_when_sessions_rest() {
    let server = server(LIMIT_BYTES);
    let charged = || {
        let mut root = server.root();
        let mut answer = root.query(b"SHOW GLOBAL STATUS LIKE 'Statement_memory_bytes'").expect("the status");
        assert!(answer.next_result().expect("the status"));
        let row = answer.next_row().expect("the status").expect("a row");
        let mut text = Vec::new();
        row.cell(1).write_text(&row.columns().get(1), &mut text);
        String::from_utf8_lossy(&text).parse::<usize>().expect("a number")
    };
    let before = charged();
    let mut sessions: Vec<Connection> = (0..4).map(|_| server.root()).collect();
    let long = format!("DO LENGTH('{}')", "x".repeat(8 << 20));
    for session in &mut sessions {
        session.run(long.as_bytes()).expect("a long packet");
        session.run(b"SET @long_name_of_a_variable = 0").expect("set");
        session
            .run(b"SELECT MAX(@long_name_of_a_variable := @long_name_of_a_variable + 1) FROM d.t x, d.t y")
            .expect("set often");
        for _ in 0..3 {
            let refused = session.run(
                b"SELECT LENGTH(GREATEST(REPEAT('x', 60000000), REPEAT('y', 60000000), REPEAT('z', 60000000), REPEAT('w', 60000000)))",
            );
            assert_eq!(refused.err().and_then(|error| error.number()), Some(3170));
        }
    }
    let after = charged();
    assert!(after < before + (10 << 20), "{before} bytes before, {after} after");
    drop(sessions);
    server.stop();
}

/// Long data of prepared statements that are never executed.
#[test]
fn floods_of_long_data_are_bounded() {
    let server = server(LIMIT_BYTES);
    let base = server.memory_bytes();
    let most = base + FIRST_WORK_BYTES + LIMIT_BYTES + LIMIT_BYTES / 10;
    let mut stream = logged_in(&server);
    let places = list(100, ",", |_| "?".into());
    let mut refused = false;
    for statement in 1..=30u32 {
        send(&mut stream, 0, &[&[0x16][..], format!("DO CONCAT({places})").as_bytes()].concat());
        let answer = receive(&mut stream).expect("prepared");
        if answer[0] == 0xff {
            assert_eq!(answer[1..3], 3170u16.to_le_bytes(), "{}", String::from_utf8_lossy(&answer));
            refused = true;
            break;
        }
        for _ in 0..101 {
            receive(&mut stream).expect("a parameter");
        }
        for parameter in 0..100u16 {
            let head = [&[0x18][..], &statement.to_le_bytes(), &parameter.to_le_bytes()].concat();
            send(&mut stream, 0, &[head, vec![b'x'; 600_000]].concat());
        }
    }
    if !refused {
        // What it has is beyond its limit, and that is said when it is used.
        send(&mut stream, 0, &[&[0x17, 30, 0, 0, 0, 0, 1, 0, 0, 0][..], &[0; 14]].concat());
        let answer = receive(&mut stream).expect("an answer");
        assert_eq!(answer[1..3], 3170u16.to_le_bytes(), "{}", String::from_utf8_lossy(&answer));
    }
    let used = server.memory_bytes_max();
    report(&format!("long data: {} MB of {} MB", used >> 20, most >> 20));
    assert!(used <= most, "{} MB, {} allowed", used >> 20, most >> 20);
    assert_eq!(server.panics(), 0);
    server.stop();
}

/// What a session keeps from one command to the next.
#[test]
fn floods_of_prepared_statements_and_cursors_are_bounded() {
    let server = server(LIMIT_BYTES);
    let base = server.memory_bytes();
    let most = base + LIMIT_BYTES + LIMIT_BYTES / 10;
    let mut refused = 0;
    let mut connections: Vec<Connection> = (0..8).map(|_| server.root()).collect();
    for connection in &mut connections {
        connection.run(b"USE d").expect("used");
    }
    // Texts of 1 MB.
    let text = format!("SELECT COUNT(*) FROM t WHERE s = '{}'", "x".repeat(1 << 20));
    for connection in &mut connections {
        for _ in 0..100 {
            match connection.prepare(text.as_bytes()) {
                Ok(statement) => std::mem::forget(statement),
                Err(error) => {
                    assert_eq!(error.number(), Some(3170), "{error}");
                    refused += 1;
                    break;
                }
            }
        }
    }
    assert!(refused > 0, "800 MB of texts were kept");
    let used = server.memory_bytes_max();
    report(&format!("prepared: {} MB of {} MB", used >> 20, most >> 20));
    assert!(used <= most, "{} MB, {} allowed", used >> 20, most >> 20);
    drop(connections);
    assert_eq!(server.panics(), 0);
    server.stop();
}
