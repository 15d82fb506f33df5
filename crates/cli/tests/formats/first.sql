CREATE DATABASE kept;
USE kept;
CREATE TABLE types (
  id INT PRIMARY KEY, tiny TINYINT, big BIGINT UNSIGNED, dec1 DECIMAL(20,5), f FLOAT, d DOUBLE, da DATE, dt DATETIME(3),
  ts TIMESTAMP(6) NULL, ti TIME(2), y YEAR, c CHAR(10), v VARCHAR(50) COLLATE utf8mb4_bin, bi VARBINARY(20), e ENUM('a','b'), s SET('x','y','z'),
  b BIT(9), j JSON, t TEXT);
SET time_zone = '+00:00';
INSERT INTO types VALUES
  (1, -128, 18446744073709551615, -12345.67890, 1.5, -2.25, '2026-01-31', '2026-01-31 12:34:56.789', '2026-01-31 12:34:56.123456', '-12:34:56.78',
   2026, 'char', 'Grün', x'00ff10', 'b', 'x,z', b'100000001', '{"a": [1, 2.5, null, "x"]}', REPEAT('text ', 10)),
  (-2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
CREATE TABLE parent (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(40), code INT, UNIQUE KEY code (code), KEY name (name(5), id DESC));
CREATE TABLE child (id INT PRIMARY KEY, parent INT, data LONGTEXT, CONSTRAINT belongs FOREIGN KEY (parent) REFERENCES parent (id) ON DELETE CASCADE);
INSERT INTO parent (name, code)
  WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 500) SELECT CONCAT('name ', i MOD 37), IF(i MOD 3, i, NULL) FROM n;
INSERT INTO child SELECT id, id, REPEAT(CHAR(65 + id MOD 26), id * 300) FROM parent WHERE id <= 100;
CREATE TABLE hidden (a INT, b VARCHAR(20), KEY b (b));
INSERT INTO hidden SELECT id, name FROM parent WHERE id <= 50;
CREATE TABLE changed (id INT PRIMARY KEY);
INSERT INTO changed VALUES (1), (2);
ALTER TABLE changed ADD COLUMN added VARCHAR(10) NOT NULL DEFAULT 'added';
CREATE PROCEDURE greet(IN name VARCHAR(20)) SELECT CONCAT('Hello ', name);
CREATE USER kept@localhost IDENTIFIED BY 'secret';
GRANT SELECT ON kept.* TO kept@localhost;
