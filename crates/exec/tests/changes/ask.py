#!/usr/bin/env python3
"""Asks a MySQL server for the answers to the statements of *.sql and writes *.expected.

Usage: ask.py HOST PORT USER PASSWORD   (needs PyMySQL; makes and drops the schema change_x)

Answers: `OK affected-rows insert-id text` with the warnings below, `ERROR number: text`, or rows separated by tabs.
"""
import pathlib, sys
import pymysql
from pymysql.constants import CLIENT

here = pathlib.Path(__file__).parent
host, port, user, password = sys.argv[1:5]

def ask(cursor, statement):
    try:
        affected = cursor.execute(statement)
    except pymysql.MySQLError as error:
        return f"ERROR {error.args[0]}: {error.args[1]}\n"
    if cursor.description is None:
        # The driver leaves the text's length before it.
        info = cursor._result.message[1:].decode()
        out = f"OK {affected} {cursor.lastrowid} {info}\n"
        if statement.split()[0] in ("INSERT", "REPLACE", "UPDATE", "DELETE"):
            cursor.execute("SHOW WARNINGS")
            for level, number, message in cursor.fetchall():
                out += f"{level} {number}: {message}\n"
        return out
    return "".join("\t".join("NULL" if value is None else str(value) for value in row) + "\n"
                   for row in cursor.fetchall())

for file in sorted(here.glob("*.sql")):
    flag = CLIENT.FOUND_ROWS if file.stem == "found_rows" else 0
    connection = pymysql.connect(host=host, port=int(port), user=user, password=password, autocommit=True,
                                 charset="utf8mb4", client_flag=flag, conv={})
    cursor = connection.cursor()
    cursor.execute("DROP DATABASE IF EXISTS change_x")
    cursor.execute("CREATE DATABASE change_x")
    cursor.execute("USE change_x")
    out = []
    for statement in file.read_text().splitlines():
        if statement and not statement.startswith("--"):
            out.append(f"> {statement}\n" + ask(cursor, statement.rstrip(";")))
    file.with_suffix(".expected").write_text("".join(out))
    cursor.execute("DROP DATABASE change_x")
