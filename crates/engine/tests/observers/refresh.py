#!/usr/bin/env python3
"""Asks a real MySQL which triggers fire for each statement of triggers.sql, in which order and with which rows, and writes
triggers.expected.

    INVAR_ORACLE=mysql://user:password@host:port ./refresh.py

The tables and what the triggers do are those of ../observers.rs. LOAD DATA is sent with LOCAL. Needs pymysql.
"""
import os, tempfile, urllib.parse
import pymysql

here = os.path.dirname(os.path.abspath(__file__))
address = urllib.parse.urlparse(os.environ["INVAR_ORACLE"])
connection = pymysql.connect(host=address.hostname, port=address.port, user=address.username, password=address.password,
                             charset="utf8mb4", autocommit=True, local_infile=True, conv={})
cursor = connection.cursor()

TABLES = {
    "t": (["id", "u", "v", "w"], "id INT AUTO_INCREMENT PRIMARY KEY, u INT UNIQUE, v INT NOT NULL CHECK (v < 1000), w INT"),
    "o": (["id", "tid"], "id INT PRIMARY KEY, tid INT"),
    "p": (["id", "v"], "id INT PRIMARY KEY, v INT"),
    "c": (["id", "pid"], "id INT PRIMARY KEY, pid INT, FOREIGN KEY (pid) REFERENCES p(id) ON DELETE CASCADE ON UPDATE CASCADE"),
    "r": (["id", "pid"], "id INT PRIMARY KEY, pid INT, FOREIGN KEY (pid) REFERENCES p(id)"),
}

def refuse(condition):
    return f"IF {condition} THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'refused', MYSQL_ERRNO = 1644; END IF; "

def row(name, columns):
    return "CONCAT('(', " + ", ',', ".join(f"IFNULL({name}.{column}, 'NULL')" for column in columns) + ", ')')"

cursor.execute("SELECT @@GLOBAL.local_infile")
local_infile = cursor.fetchall()[0][0]
cursor.execute("SET GLOBAL local_infile = 1")
cursor.execute("DROP DATABASE IF EXISTS observers_expected")
cursor.execute("CREATE DATABASE observers_expected")
cursor.execute("USE observers_expected")
for table, (columns, definition) in TABLES.items():
    cursor.execute(f"CREATE TABLE {table} ({definition})")
    if table == "o":
        continue
    for time in ("BEFORE", "AFTER"):
        for event in ("INSERT", "UPDATE", "DELETE"):
            rows = [row(name, columns) for name, of in (("OLD", "UD"), ("NEW", "IU")) if event[0] in of]
            said = ", ' ', ".join(rows)
            body = f"SET @log = CONCAT(@log, '{time.lower()} {event.lower()} {table} ', {said}, '\\n'); "
            if table == "t":
                of = "OLD" if event == "DELETE" else "NEW"
                body += refuse(f"{of}.v = {66 if time == 'BEFORE' else 67}")
                if time == "BEFORE" and event != "DELETE":
                    body += "IF NEW.v = 77 THEN SET NEW.v = 78, NEW.w = 1; END IF; "
                    body += "IF NEW.v = 88 THEN SET NEW.v = NULL; END IF; "
                    body += "IF NEW.v = 99 THEN SET NEW.v = 1001; END IF; "
            cursor.execute(f"CREATE TRIGGER {table}_{time}_{event} {time} {event} ON {table} FOR EACH ROW BEGIN {body}END")

out = []
with tempfile.NamedTemporaryFile("w") as lines:
    lines.write("50\t1\n51\t77\n")
    lines.flush()
    for statement in open(os.path.join(here, "triggers.sql")).read().splitlines():
        out.append(f"> {statement}")
        sql = statement
        if statement == "LOAD DATA":
            sql = f"LOAD DATA LOCAL INFILE '{lines.name}' INTO TABLE t (u, v)"
        cursor.execute("SET @log = ''")
        try:
            affected = cursor.execute(sql)
            if cursor.description:
                out.extend(",".join("NULL" if value is None else str(value) for value in each) for each in cursor.fetchall())
            else:
                out.append(f"OK {affected}")
        except pymysql.Error as error:
            out.append(f"ERROR {error.args[0]}: {error.args[1]}".replace("observers_expected", "s"))
        cursor.execute("SELECT @log")
        out.extend(line for line in cursor.fetchall()[0][0].splitlines())
cursor.execute("DROP DATABASE observers_expected")
cursor.execute(f"SET GLOBAL local_infile = {local_infile}")
open(os.path.join(here, "triggers.expected"), "w").write("\n".join(out) + "\n")
