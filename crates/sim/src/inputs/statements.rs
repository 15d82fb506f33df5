//! Text that clients send as SQL.

use bumpalo::Bump;
use syntax::{SqlMode, parse, parse_expr};

/// Memory a parser may take per byte of text, and in any case.
const ARENA_BYTES_PER_BYTE_MAX: usize = 2000;
const ARENA_BYTES_MIN: usize = 1 << 20;

/// Parses `input`, but for its first byte, as statements in the sql_mode that the first byte is, and as an expression.
/// A statement that parses ends inside the text, and further than it began.
pub fn statements(input: &[u8]) {
    let Some((&mode, text)) = input.split_first() else { return };
    let mode = SqlMode(mode & 63);
    let mut rest = text;
    let mut arena = Bump::new();
    while !rest.is_empty() {
        let step = match parse(rest, &arena, mode) {
            Ok(parsed) => {
                assert!(parsed.end <= rest.len(), "a statement ends inside the text");
                if parsed.more { parsed.end } else { 0 }
            }
            Err(error) => {
                assert!(!error.to_string().is_empty());
                0
            }
        };
        assert!(
            arena.allocated_bytes() <= ARENA_BYTES_MIN + rest.len() * ARENA_BYTES_PER_BYTE_MAX,
            "{} bytes for a text of {}",
            arena.allocated_bytes(),
            rest.len()
        );
        if step == 0 {
            break;
        }
        rest = &rest[step..];
        arena.reset();
    }
    let _is_expression = parse_expr(text, &arena, mode).is_ok();
}

/// Well-formed inputs for [`statements`], and some that are nearly so.
#[must_use]
pub fn statement_samples() -> Vec<Vec<u8>> {
    let texts: [&[u8]; 28] = [
        b"SELECT 1",
        b"SELECT c FROM sbtest1 WHERE id=?",
        b"SELECT DISTINCT c FROM t WHERE id BETWEEN 1 AND 100 ORDER BY c DESC LIMIT 5, 10",
        b"select a.*, count(*), group_concat(distinct b order by c separator ',') from a left join b using (id) where x in (1,2,3) and y is not null group by z with rollup having count(*) > 1",
        b"SELECT (SELECT MAX(x) FROM t2 WHERE t2.id = t1.id), CASE WHEN a THEN 1 ELSE 2 END FROM (SELECT 1 AS id) AS t1 WHERE EXISTS (SELECT 1) FOR UPDATE SKIP LOCKED",
        b"WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM c WHERE n < 5) SELECT * FROM c; SELECT 2; ",
        b"SELECT ROW_NUMBER() OVER (PARTITION BY a ORDER BY b ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t",
        b"INSERT INTO t (a, b) VALUES (1, 'it''s'), (NULL, _utf8mb4'x' COLLATE utf8mb4_bin) AS n ON DUPLICATE KEY UPDATE a = n.a + 1",
        b"REPLACE t SET a = 0x4142, b = b'101', c = 1.5e-3, d = -7",
        b"UPDATE t1, t2 SET t1.a = t2.b WHERE t1.id = t2.id",
        b"DELETE FROM t WHERE a LIKE 'x%' ESCAPE '|' ORDER BY id LIMIT 3",
        b"CREATE TABLE IF NOT EXISTS `t``1` (id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, c CHAR(10) CHARACTER SET latin1 DEFAULT 'x' COMMENT 'y', d DECIMAL(10,2), e ENUM('a','b'), j JSON, t TIMESTAMP(3) DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3), UNIQUE KEY k (c(3) DESC), CONSTRAINT f FOREIGN KEY (d) REFERENCES o (d) ON DELETE CASCADE, CHECK (d > 0)) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 PARTITION BY HASH (id) PARTITIONS 4",
        b"ALTER TABLE t ADD COLUMN x INT FIRST, DROP INDEX k, MODIFY y VARCHAR(20) NOT NULL, RENAME TO u, ALGORITHM=INSTANT",
        b"CREATE PROCEDURE p(IN a INT) BEGIN DECLARE i INT DEFAULT 0; WHILE i < a DO SET i = i + 1; END WHILE; IF i = 3 THEN SELECT 1; END IF; END",
        b"GRANT SELECT (a), INSERT ON db.* TO 'u'@'%' WITH GRANT OPTION",
        b"SET @a := 1, GLOBAL max_connections = 10, NAMES utf8mb4, @@session.sql_mode = 'ANSI'",
        b"SHOW FULL COLUMNS FROM t LIKE '%'; EXPLAIN FORMAT=TREE SELECT 1",
        b"LOAD DATA LOCAL INFILE 'x' INTO TABLE t FIELDS TERMINATED BY ',' ENCLOSED BY '\"' LINES TERMINATED BY '\\n' IGNORE 1 LINES (a, @b) SET c = @b",
        b"/*!80000 SELECT */ /* c */ 1 -- end\n + 2 # more\n/*!99999 nothing */",
        b"SELECT 'a' 'b' \"c\" N'd' x'41' \\N, `q` . `r`, @v, @`w`, @@x, 1., .5, 1e5, 0x, 00123",
        b"SELECT DATE_ADD(NOW(), INTERVAL '1:2' MINUTE_SECOND), CAST(a AS DECIMAL(5,2)), CONVERT(x USING utf8mb4), a->>'$.b', EXTRACT(YEAR FROM d), TRIM(BOTH ' ' FROM s)",
        b"SELECT NOT a AND b OR c XOR d || e && f, -a ^ ~b << 2 | 3 & 4 DIV 5 MOD 6, a <=> b, a := 1, BINARY x, a SOUNDS LIKE b, a MEMBER OF (b), a REGEXP 'x'",
        b"START TRANSACTION READ ONLY, WITH CONSISTENT SNAPSHOT; COMMIT AND CHAIN; ROLLBACK TO SAVEPOINT s; XA START 'a','b',1",
        b"PREPARE s FROM 'SELECT ?'; EXECUTE s USING @a; DEALLOCATE PREPARE s",
        b"SELECT ((((((((((((1))))))))))))",
        b"SELECT * FROM ((a JOIN b) NATURAL JOIN c) STRAIGHT_JOIN d ON 1, JSON_TABLE('[]', '$[*]' COLUMNS (x INT PATH '$')) AS j, LATERAL (SELECT 1) AS l",
        b"HANDLER t OPEN; KILL QUERY 5; USE db; DO SLEEP(1); HELP 'x'; FLUSH TABLES; ANALYZE TABLE t; LOCK TABLES t READ; TRUNCATE t",
        b"SELECT '\xff\xfe\x80', \xe4\xb8\xad FROM `\xf0\x9f\x98\x80`",
    ];
    texts
        .into_iter()
        .flat_map(|text| {
            [0_u8, 63].map(|mode| {
                let mut sample = vec![mode];
                sample.extend_from_slice(text);
                sample
            })
        })
        .collect()
}
