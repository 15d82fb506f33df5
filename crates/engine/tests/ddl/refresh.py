#!/usr/bin/env python3
"""Asks a real MySQL what it makes of each statement of NAME.sql and writes NAME.expected (create_table, alter_table).

    INVAR_ORACLE_ARGS="-h127.0.0.1 -P23097 -upeer -ppeer" ./refresh.py [name]

Each line runs in an empty schema `ddl_expected`; of statements with `;;` between them the last one counts. What is written: an error with its number, or the text of SHOW
CREATE TABLE, and the warnings. The test reads the file and needs no server.
"""
import os, subprocess, sys

name = sys.argv[1] if len(sys.argv) > 1 else "create_table"
args = os.environ["INVAR_ORACLE_ARGS"].split()
here = os.path.dirname(os.path.abspath(__file__))


def run(sql):
    command = ["mysql", *args, "--default-character-set=utf8mb4", "--show-warnings", "-f", "-N", "-r", "-B"]
    done = subprocess.run(command, input=sql.encode(), capture_output=True)
    return (done.stdout + done.stderr).decode()


out = []
for line in open(os.path.join(here, name + ".sql"), encoding="utf-8"):
    statement = line.strip()
    if not statement:
        continue
    text = run(
        "drop database if exists ddl_expected; create database ddl_expected; use ddl_expected; "
        + ";".join(statement.split(";;")[:-1]) + ";select '=== last';\n"
        + statement.split(";;")[-1] + ";\nselect '=== create'; show create table t;\n"
    )
    _, _, text = text.partition("=== last\n")
    before, _, after = text.partition("=== create\n")
    out.append("> " + statement)
    lines = [l for l in before.split("\n") if l.startswith(("Warning (Code", "Note (Code"))]
    errors = [l for l in text.split("\n") if l.startswith("ERROR") and " at line 2: " in l]
    for l in lines:
        if "ddl_expected'; database doesn't exist" not in l:
            out.append(l)
    if errors:
        out.append(errors[0].split(" at line ")[0] + ": " + errors[0].split(": ", 1)[1])
    elif "\t" not in after:
        out.append("no table")
    else:
        show = after.split("\n")
        out.append(("\n".join(show)).split("\t", 1)[1].split("\nERROR")[0].rstrip("\n"))
    out.append("")
open(os.path.join(here, name + ".expected"), "w", encoding="utf-8").write("\n".join(out))
run("drop database if exists ddl_expected")
