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
-- Windows: the order of an index, one order for windows whose keys begin each other, and ORDER BY that it gives.
SELECT id, ROW_NUMBER() OVER (ORDER BY k) FROM t
SELECT id, k, RANK() OVER (PARTITION BY name ORDER BY k), SUM(k) OVER (PARTITION BY name) FROM t
SELECT id, SUM(k) OVER (PARTITION BY name ORDER BY id ROWS BETWEEN 1 PRECEDING AND 2 FOLLOWING) s FROM t ORDER BY name, id
SELECT name, COUNT(*), SUM(COUNT(*)) OVER (ORDER BY name RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) FROM t GROUP BY name HAVING COUNT(*) > 1
SELECT * FROM (SELECT id, ROW_NUMBER() OVER (PARTITION BY k ORDER BY id) rn FROM t) x WHERE rn = 1
