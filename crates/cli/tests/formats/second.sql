USE kept;
INSERT INTO changed VALUES (3, 'later');
UPDATE parent SET name = 'renamed' WHERE id = 7;
DELETE FROM parent WHERE id = 8;
UPDATE child SET data = REPEAT('z', 70000) WHERE id = 9;
INSERT INTO parent (name, code) VALUES ('last', 100000);
BEGIN;
DELETE FROM hidden;
