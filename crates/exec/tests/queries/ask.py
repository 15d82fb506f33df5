#!/usr/bin/env python3
"""Asks a MySQL server for the answers to the statements of *.sql and writes *.expected.

Usage: ask.py HOST PORT USER PASSWORD   (needs PyMySQL; makes and drops the schema plan_x)
"""
import pathlib, sys
import pymysql

here = pathlib.Path(__file__).parent
host, port, user, password = sys.argv[1:5]
connection = pymysql.connect(host=host, port=int(port), user=user, password=password, autocommit=True, charset="utf8mb4",
                             conv={})

def ask(cursor, statement):
    try:
        affected = cursor.execute(statement)
    except pymysql.MySQLError as error:
        return f"ERROR {error.args[0]}: {error.args[1]}\n"
    if cursor.description is None:
        return f"OK {affected}\n"
    lines = ["\t".join("NULL" if value is None else str(value) for value in row) for row in cursor.fetchall()]
    if "order by" not in statement.lower():
        lines.sort()
    return "".join(line + "\n" for line in lines)

for file in sorted(here.glob("*.sql")):
    if file.name in ("schema.sql", "plans.sql"):
        continue
    cursor = connection.cursor()
    cursor.execute("DROP DATABASE IF EXISTS plan_x")
    cursor.execute("CREATE DATABASE plan_x")
    cursor.execute("USE plan_x")
    for statement in (here / "schema.sql").read_text().split(";\n"):
        if statement.strip():
            cursor.execute(statement)
    out = []
    for statement in file.read_text().splitlines():
        if statement and not statement.startswith("--"):
            out.append(f"> {statement}\n" + ask(cursor, statement.rstrip(";")))
    file.with_suffix(".expected").write_text("".join(out))
    cursor.execute("DROP DATABASE plan_x")
