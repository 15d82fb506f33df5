"""One conversation with a MySQL server, held through each Python driver that is installed.

Every check compares what the driver returned with what MySQL returns. Ends with `python passed=N failed=N`."""

import datetime
import decimal
import os
import sys

HOST, PORT = os.environ["HOST"], int(os.environ["PORT"])
USER, PASSWORD = os.environ["USER_NAME"], os.environ["PASSWORD"]
passed = failed = 0


def check(driver, what, actual, expected):
    global passed, failed
    if actual == expected:
        passed += 1
    else:
        failed += 1
        print(f"FAIL {driver}: {what}: {actual!r}, expected {expected!r}")


def drivers():
    try:
        import pymysql
        yield "pymysql", pymysql, lambda **o: pymysql.connect(host=HOST, port=PORT, user=USER, password=PASSWORD, **o)
    except ImportError:
        print("pymysql is not installed", file=sys.stderr)
    try:
        import MySQLdb
        yield "mysqlclient", MySQLdb, lambda **o: MySQLdb.connect(
            host=HOST, port=PORT, user=USER, passwd=PASSWORD, charset="utf8mb4", **{("db" if k == "database" else k): v for k, v in o.items()})
    except ImportError:
        print("mysqlclient is not installed: LEFT OUT", file=sys.stderr)
    try:
        import mysql.connector
        yield "mysql-connector", mysql.connector, lambda **o: mysql.connector.connect(
            host=HOST, port=PORT, user=USER, password=PASSWORD, **o)
    except ImportError:
        print("mysql-connector is not installed: LEFT OUT", file=sys.stderr)


def converse(name, module, connect):
    database = "client_" + name.replace("-", "_")
    link = connect()
    cursor = link.cursor()
    cursor.execute(f"DROP DATABASE IF EXISTS {database}")
    cursor.execute(f"CREATE DATABASE {database}")
    cursor.close()
    link.close()
    link = connect(database=database)
    cursor = link.cursor()
    ok = lambda what, actual, expected: check(name, what, actual, expected)

    cursor.execute("SELECT 1, 'a', NULL, 1.50, CAST('2024-02-29' AS DATE)")
    ok("literals", tuple(cursor.fetchone()), (1, "a", None, decimal.Decimal("1.50"), datetime.date(2024, 2, 29)))
    cursor.execute(
        "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, s VARCHAR(50), d DECIMAL(20,6), f DOUBLE,"
        " dt DATETIME(6), ti TIME(3), b BLOB, u BIGINT UNSIGNED, e ENUM('x','y'), KEY (s))")
    moment = datetime.datetime(2024, 2, 29, 23, 59, 58, 123456)
    cursor.execute(
        "INSERT INTO t (s, d, f, dt, ti, b, u, e) VALUES (%s, %s, %s, %s, %s, %s, %s, %s)",
        ("Grüße 🙂", decimal.Decimal("12345678901234.567890"), 1.5e-7, moment,
         datetime.timedelta(hours=-3, minutes=-2), b"\x00\xff'\\", 18446744073709551615, "y"))
    ok("rowcount of insert", cursor.rowcount, 1)
    ok("lastrowid", cursor.lastrowid, 1)
    link.commit()
    cursor.execute("SELECT s, d, f, dt, b, u, e FROM t WHERE id = %s", (1,))
    ok("types come back", tuple(cursor.fetchone()),
       ("Grüße 🙂", decimal.Decimal("12345678901234.567890"), 1.5e-7, moment, b"\x00\xff'\\", 18446744073709551615, "y"))
    ok("description", [column[0] for column in cursor.description], ["s", "d", "f", "dt", "b", "u", "e"])

    cursor.executemany("INSERT INTO t (s, f) VALUES (%s, %s)", [(f"n{i}", i / 4) for i in range(100)])
    ok("executemany", cursor.rowcount, 100)
    link.rollback()
    cursor.execute("SELECT COUNT(*) FROM t")
    ok("rollback", cursor.fetchone()[0], 1)

    try:
        cursor.execute("INSERT INTO t (id) VALUES (1)")
        ok("duplicate key", "no error", "1062")
    except module.IntegrityError as error:
        ok("duplicate key", error.args[0], 1062)
    try:
        cursor.execute("SELECT * FROM missing")
        ok("missing table", "no error", "1146")
    except module.Error as error:
        ok("missing table", error.args[0], 1146)
    try:
        cursor.execute("SELEC 1")
        ok("syntax error", "no error", "1064")
    except module.Error as error:
        ok("syntax error", error.args[0], 1064)
    link.rollback()

    cursor.execute("UPDATE t SET f = f * 2, s = CONCAT(s, '!') WHERE id = 1")
    ok("rowcount of update", cursor.rowcount, 1)
    link.commit()
    cursor.execute("SELECT s, f FROM t WHERE id = 1")
    ok("update", tuple(cursor.fetchone()), ("Grüße 🙂!", 3e-7))
    big = "x" * 300_000
    cursor.execute("SELECT %s", (big,))
    ok("a long string", cursor.fetchone()[0] == big, True)
    cursor.execute("SELECT s FROM t WHERE s LIKE %s ORDER BY id LIMIT 5", ("gr%",))
    ok("like ignores case", [row[0] for row in cursor.fetchall()], ["Grüße 🙂!"])
    cursor.execute("DROP DATABASE " + database)
    link.close()


def prepared():
    """Connector/Python prepares on the server; the others only fill in text."""
    try:
        import mysql.connector
    except ImportError:
        return
    link = mysql.connector.connect(host=HOST, port=PORT, user=USER, password=PASSWORD)
    cursor = link.cursor(prepared=True)
    cursor.execute("SELECT ? + 1, ?, ?", (41, "text", None))
    check("mysql-connector", "prepared", tuple(cursor.fetchone()), (42, "text", None))
    for number in range(5):
        cursor.execute("SELECT ?", (number,))
        check("mysql-connector", "prepared again", cursor.fetchone()[0], number)
    link.close()


for driver_name, driver_module, driver_connect in drivers():
    try:
        converse(driver_name, driver_module, driver_connect)
    except Exception as error:  # A driver that breaks off is one failure, and the next is still tried.
        failed += 1
        print(f"FAIL {driver_name}: {type(error).__name__}: {error}")
try:
    prepared()
except Exception as error:
    failed += 1
    print(f"FAIL prepared: {type(error).__name__}: {error}")
print(f"python passed={passed} failed={failed}")
sys.exit(1 if failed else 0)
