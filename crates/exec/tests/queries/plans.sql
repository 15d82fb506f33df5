-- What the optimizer makes of statements over the (empty) tables of schema.sql with rows as below.
SELECT name FROM t WHERE id = 3
SELECT name FROM t WHERE id IN (1, 2)
SELECT id FROM t WHERE k BETWEEN 1 AND 5
SELECT name FROM t WHERE id > 2 AND name = 'x'
SELECT id FROM t ORDER BY id DESC LIMIT 3
SELECT name FROM t ORDER BY name LIMIT 3
SELECT f FROM d ORDER BY a LIMIT 1
SELECT MAX(id) FROM t
SELECT k, COUNT(*) FROM t GROUP BY k
SELECT t.name, u.v FROM t JOIN u ON u.tid = t.id WHERE t.id = 5
SELECT t.name, u.v FROM t LEFT JOIN u ON u.tid = t.id WHERE u.v > 5
SELECT a.c, b.f FROM d a JOIN d b ON a.a = b.a
SELECT id FROM t WHERE id IN (SELECT tid FROM u)
SELECT id FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.tid = t.id)
SELECT id, (SELECT COUNT(*) FROM u WHERE u.tid = t.id) FROM t
SELECT x.a FROM (SELECT id AS a, k FROM t) x WHERE x.a = 3
SELECT id FROM t WHERE 1 = 1 AND FALSE
UPDATE t SET k = k + 1 WHERE id = 3
DELETE FROM u WHERE tid = 4
