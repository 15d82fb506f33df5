#!/usr/bin/env python3
"""Asks a real MySQL what it answers to each statement of NAME.sql and writes NAME.expected.

    INVAR_ORACLE=mysql://user:password@host:port ./refresh.py name ...

Statements are separated by empty lines and run in one session in an empty schema `routines_expected`. Needs pymysql.
"""
import os, sys, urllib.parse
import pymysql
from pymysql.constants import CLIENT

address = urllib.parse.urlparse(os.environ["INVAR_ORACLE"])
here = os.path.dirname(os.path.abspath(__file__))


def connect():
    return pymysql.connect(
        host=address.hostname, port=address.port, user=address.username, password=address.password,
        charset="utf8mb4", collation="utf8mb4_0900_ai_ci", client_flag=CLIENT.MULTI_RESULTS,
        autocommit=True, conv={})


def text(value):
    if value is None:
        return "NULL"
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def run(connection, sql, out):
    """Prints every result; answers whether there is something to show."""
    cursor = connection.cursor()
    try:
        cursor.execute(sql)
        while True:
            result = cursor._result
            if cursor.description:
                out.append("|".join(column[0] for column in cursor.description))
                out.extend("|".join(text(value) for value in row) for row in cursor.fetchall())
                out.append(f"({cursor.rowcount} rows, {result.warning_count} warnings)")
            else:
                out.append(f"OK, {result.affected_rows} affected, {result.warning_count} warnings")
            warnings = result.warning_count
            if not cursor.nextset():
                return warnings > 0
    except pymysql.Error as error:
        number, message = error.args
        out.append(f"ERROR {number}: {message}")
        return True


for name in sys.argv[1:]:
    connection, out = connect(), []
    for statement in ("drop database if exists routines_expected", "create database routines_expected",
                      "use routines_expected"):
        run(connection, statement, [])
    for statement in open(os.path.join(here, name + ".sql"), encoding="utf-8").read().split("\n\n"):
        statement = statement.strip("\n")
        if not statement:
            continue
        out.extend("> " + line for line in statement.split("\n"))
        if run(connection, statement, out):
            cursor = connection.cursor()
            cursor.execute("show warnings")
            out.extend(f"{level} {code}: {message}" for level, code, message in cursor.fetchall())
        out.append("")
    body = "\n".join(out)
    own = f"{address.username}@127.0.0.1"
    body = body.replace(own, "root@localhost").replace(f"`{address.username}`@`127.0.0.1`", "`root`@`localhost`")
    open(os.path.join(here, name + ".expected"), "w", encoding="utf-8").write(body)
    run(connection, "drop database if exists routines_expected", [])
