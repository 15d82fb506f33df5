// One conversation through mysql2; ends with `node passed=N failed=N`.
const mysql = require('mysql2/promise');
const assert = require('assert');
const options = { host: process.env.HOST, port: +process.env.PORT, user: process.env.USER_NAME, password: process.env.PASSWORD };
let passed = 0, failed = 0;

async function check(what, run) {
  try { await run(); passed++; } catch (error) { failed++; console.log(`FAIL ${what}: ${error.message}`); }
}

(async () => {
  const link = await mysql.createConnection({ ...options, multipleStatements: true, supportBigNumbers: true });
  await link.query('DROP DATABASE IF EXISTS client_node; CREATE DATABASE client_node; USE client_node');
  await link.query('CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, s VARCHAR(50), n DECIMAL(10,2), d DATETIME(3), j JSON, b BLOB)');
  await check('insert', async () => {
    const [result] = await link.query('INSERT INTO t (s, n, d, j, b) VALUES (?, ?, ?, ?, ?)',
      ['ä🙂', '1.50', '2024-02-29 10:20:30.123', JSON.stringify({ a: [1, 2] }), Buffer.from([0, 255])]);
    assert.deepStrictEqual([result.affectedRows, result.insertId], [1, 1]);
  });
  await check('text row', async () => {
    const [rows] = await link.query('SELECT * FROM t');
    assert.strictEqual(rows[0].s, 'ä🙂');
    assert.strictEqual(rows[0].n, '1.50');
    assert.deepStrictEqual(rows[0].j, { a: [1, 2] });
    assert.deepStrictEqual([...rows[0].b], [0, 255]);
  });
  await check('binary row', async () => {
    const [rows, fields] = await link.execute('SELECT id, s, n, d FROM t WHERE id = ?', [1]);
    assert.strictEqual(rows[0].id, 1);
    assert.strictEqual(rows[0].d.getMilliseconds(), 123);
    assert.deepStrictEqual(fields.map(field => field.name), ['id', 's', 'n', 'd']);
  });
  await check('bulk', async () => {
    const rows = Array.from({ length: 500 }, (_, i) => ['row' + i, i]);
    const [result] = await link.query('INSERT INTO t (s, n) VALUES ?', [rows]);
    assert.strictEqual(result.affectedRows, 500);
  });
  await check('transaction', async () => {
    await link.beginTransaction();
    await link.execute('DELETE FROM t WHERE id > ?', [1]);
    await link.rollback();
    const [[{ n }]] = await link.query('SELECT COUNT(*) AS n FROM t');
    assert.strictEqual(n, 501);
  });
  await check('several statements', async () => {
    const [results] = await link.query('SELECT 1 AS a; SELECT 2 AS b');
    assert.strictEqual(results[1][0].b, 2);
  });
  await check('error', async () => {
    await assert.rejects(link.query('SELECT nope FROM t'), error => error.errno === 1054 && error.sqlState === '42S22');
  });
  await check('reset and change user', async () => {
    await link.changeUser({ database: 'client_node' });
    const [[{ db }]] = await link.query('SELECT DATABASE() AS db');
    assert.strictEqual(db, 'client_node');
  });
  await link.query('DROP DATABASE client_node');
  await link.end();
  console.log(`node passed=${passed} failed=${failed}`);
  process.exit(failed ? 1 : 0);
})().catch(error => { console.log('FAIL', error); console.log(`node passed=${passed} failed=${failed + 1}`); process.exit(1); });
