#!/usr/bin/env python3
"""Asks a real MySQL for the value, column metadata and warnings of every expression in expressions.txt and writes
answers.tsv. Needs PyMySQL. Usage: INVAR_ORACLE=user:password@host:port ./ask_oracle.py"""
import os
import pathlib
import re
import pymysql
import pymysql.converters
from pymysql.constants import FIELD_TYPE

here = pathlib.Path(__file__).parent
user, password, host, port = re.fullmatch(r"(.+?):(.*)@(.+):(\d+)", os.environ["INVAR_ORACLE"]).groups()
connection = pymysql.connect(host=host, port=int(port), user=user, password=password, charset="utf8mb4", conv=dict(pymysql.converters.encoders))
cursor = connection.cursor()
cursor.execute("SET time_zone = '+00:00', timestamp = 1706700000.123456, lc_time_names = 'en_US', sql_mode = DEFAULT")
names = {value: name for name, value in vars(FIELD_TYPE).items() if isinstance(value, int)}
names[252], names[13] = "BLOB", "YEAR"


def escape(value):
    if value is None:
        return "\\N"
    if isinstance(value, str):
        value = value.encode()
    return "".join(chr(b) if 32 <= b < 127 and b != 92 else "\\x%02x" % b for b in value)


with open(here / "answers.tsv", "w") as out:
    for line in (here / "expressions.txt").read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        try:
            cursor.execute("SELECT " + line)
            field = cursor._result.fields[0]
            value = cursor.fetchone()[0]
            meta = f"{names[field.type_code]} {field.length} {field.scale} {field.charsetnr} {'U' if field.flags & 32 else '-'}"
            cursor.execute("SHOW WARNINGS")
            warnings = "; ".join(
                "%s %s %s" % tuple(part.decode() if isinstance(part, bytes) else part for part in row)
                for row in cursor.fetchall())
            answer = f"{escape(value)}\t{meta}\t{warnings}"
        except pymysql.err.MySQLError as error:
            answer = f"ERROR {error.args[0]} {error.args[1]}\t\t"
        out.write(f"{line}\t{answer}\n")
