"""Locks between sessions, held against what MySQL 9.7 said (locks.script).

A line `name> statement` is sent by the session of that name; the lines below it say what came out, `name: waits` if the
session waits for another. Sessions that went on because of a statement are reported below it too. `(quit)` ends a
connection, `(reset)` is COM_RESET_CONNECTION, `(kill query b)` kills another session's statement.

    locks.py            compares (env HOST PORT USER_NAME PASSWORD)
    locks.py --record   writes what the server says into the script

Nothing here depends on how fast the server is: a session that is expected to answer is given 30 s."""

import os
import queue
import re
import sys
import threading

import pymysql

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "locks.script")
ANSWER_SECONDS_MAX = 30
# How long a statement that is expected to wait is watched, and how long each is tried when recording.
WAIT_SECONDS = 0.3
RECORD_SECONDS = 1.5


class Session:
    def __init__(self):
        self.link = pymysql.connect(
            host=os.environ["HOST"], port=int(os.environ["PORT"]), user=os.environ["USER_NAME"],
            password=os.environ["PASSWORD"], autocommit=None)
        self.statements, self.answers, self.waits = queue.Queue(), queue.Queue(), False
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            self.answers.put(self.answer(self.statements.get()))

    def answer(self, sql):
        try:
            if sql == "(reset)":
                self.link._execute_command(0x1F, b"")
                self.link._read_ok_packet()
                return "ok"
            with self.link.cursor() as cursor:
                cursor.execute(sql)
                if not cursor.description:
                    return f"ok {cursor.rowcount}"
                return " | ".join(",".join("NULL" if v is None else str(v) for v in row) for row in cursor.fetchall()) or "no rows"
        except pymysql.MySQLError as error:
            # Accounts differ between servers.
            return re.sub(r"'\w+'@'[\w.%]+'", "ACCOUNT", "ERROR %d: %s" % (error.args[0], error.args[1]))

    def take(self, seconds):
        try:
            answer = self.answers.get(timeout=seconds)
            self.waits = False
            return answer
        except queue.Empty:
            return None


def main():
    record = "--record" in sys.argv
    sessions, out, failed, passed = {}, [], 0, 0
    lines = open(SCRIPT, encoding="utf-8").read().split("\n")
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        match = re.match(r"(\w+)> (.*)", line)
        if not match:
            if not line.startswith("   "):
                out.append(line)
            continue
        expected = []
        while at < len(lines) and lines[at].startswith("   "):
            expected.append(lines[at].strip())
            at += 1
        out.append(line)
        name, sql = match.groups()
        wanted = dict(entry.split(": ", 1) for entry in expected)
        actual = {}
        if sql == "(quit)":
            sessions.pop(name).link.close()
        else:
            if name not in sessions:
                sessions[name] = Session()
            killed = re.match(r"\(kill query (\w+)\)", sql)
            if killed:
                sql = f"KILL QUERY {sessions[killed[1]].link.thread_id()}"
            session = sessions[name]
            assert not session.waits, f"{line}: the session still waits"
            session.statements.put(sql)
            session.waits = True
            patience = WAIT_SECONDS if wanted.get(name) == "waits" else ANSWER_SECONDS_MAX
            actual[name] = session.take(RECORD_SECONDS if record else patience) or "waits"
        for other, session in sessions.items():
            if session.waits and other != name:
                expects = other in wanted and not record
                answer = session.take(ANSWER_SECONDS_MAX if expects else RECORD_SECONDS if record else 0.01)
                if answer:
                    actual[other] = answer
        out += [f"   {who}: {what}" for who, what in sorted(actual.items())]
        if actual == wanted:
            passed += 1
        elif not record:
            failed += 1
            print(f"FAIL locks: {line}\n  expected: {wanted}\n  actual:   {actual}")
    if record:
        open(SCRIPT, "w", encoding="utf-8").write("\n".join(out))
    print(f"locks passed={passed} failed={failed}")
    return failed


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
