"""Runs operations of the lab through PyMySQL. README.md tells the protocol.

An operation is what a program does with a connection of its own: a cursor for each statement, its rows fetched.
"""
import re
import sys
import threading
import time
from decimal import Decimal

import pymysql


def unescape(field):
    if "\\" not in field:
        return field
    plain, chars = [], iter(field)
    for char in chars:
        if char == "\\":
            char = next(chars)
            char = {"t": "\t", "n": "\n", "r": "\r"}.get(char, char)
        plain.append(char)
    return "".join(plain)


def escape(field):
    return str(field).replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")


def say(*fields):
    sys.stdout.write("\t".join(map(escape, fields)) + "\n")


class Serial:
    """Numbers that were never used before."""

    def __init__(self, start):
        self.start = start


class After:
    """The last such number plus a distance."""

    def __init__(self, distance):
        self.distance = distance


READ = {"n": lambda _: None, "i": int, "d": Decimal, "s": str, "#": lambda text: Serial(int(text)), "+": lambda text: After(int(text))}


def percent(sql):
    """Placeholders as PyMySQL has them; a ? in a string or comment stays."""
    parts = re.split(r"('(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.|\"\")*\"|`[^`]*`|--[^\n]*|/\*.*?\*/)", sql, flags=re.S)
    return "".join(part.replace("%", "%%") if number % 2 else part.replace("%", "%%").replace("?", "%s")
                   for number, part in enumerate(parts))


class Plan:
    def __init__(self):
        self.words = {"mode": "auto", "tls": "off", "compression": "off", "connections": "1", "transaction": "0", "pace": "0"}
        self.session, self.commands, self.values = [], [], {}


class Link:
    """A connection with its operations."""

    def __init__(self, plan, number):
        words = plan.words
        if words["mode"] == "prepared":
            raise ValueError("PyMySQL cannot prepare statements at the server")
        if words["compression"] == "on":
            raise ValueError("PyMySQL cannot compress")
        self.is_transaction = words["transaction"] == "1"
        self.connection = pymysql.connect(
            host=words["host"], port=int(words["port"]), user=words["user"], password=words["password"], database=words["database"],
            autocommit=True, ssl={} if words["tls"] == "on" else None, ssl_disabled=words["tls"] != "on")
        self.commands = plan.commands
        self.values = plan.values.get(number, [[]])
        self.next = self.last = 0
        with self.connection.cursor() as cursor:
            for sql in plan.session:
                cursor.execute(sql)
        self.clear()

    def clear(self):
        self.operations = self.statements = self.rows = 0
        self.errors, self.texts = {}, {}
        self.service, self.latency, self.lag, self.skips = [], [], [], 0

    def fill(self, run, values):
        for value in values:
            if isinstance(value, Serial):
                self.last = value = value.start + run.serial()
            elif isinstance(value, After):
                value = self.last + value.distance
            yield value

    def operate(self, run):
        row = self.values[self.next]
        self.next = self.next + 1 if self.next + 1 < len(self.values) else 0
        at = 0
        try:
            if self.is_transaction:
                self.connection.begin()
            for repeat, count, sql in self.commands:
                for _ in range(repeat):
                    self.statements += 1
                    with self.connection.cursor() as cursor:
                        if count:
                            cursor.execute(sql, tuple(self.fill(run, row[at:at + count])))
                            at += count
                        else:
                            cursor.execute(sql)
                        if cursor.description:
                            self.rows += len(cursor.fetchall())
            if self.is_transaction:
                self.connection.commit()
            self.operations += 1
            return True
        except pymysql.MySQLError as error:
            number = error.args[0] if error.args else 0
            if not 1000 <= number < 2000 and not 3000 <= number < 14000:
                raise
            self.errors[number] = self.errors.get(number, 0) + 1
            self.texts.setdefault(number, error.args[1])
            if self.is_transaction:
                self.connection.rollback()
            return False


class Run:
    """One stretch."""

    def __init__(self, links, serial):
        self.links, self.next_serial, self.first_serial = links, serial, serial
        self.lock, self.issued, self.broken = threading.Lock(), 0, None

    def serial(self):
        with self.lock:
            self.next_serial += 1
            return self.next_serial - 1

    def issue(self):
        with self.lock:
            self.issued += 1
            return self.issued - 1

    def closed(self, link):
        clock, now = time.perf_counter_ns, time.perf_counter_ns()
        while now - self.origin < self.duration and self.issue() < self.most:
            is_good = link.operate(self)
            done = clock()
            if is_good:
                link.service.append(done - now)
            now = done

    def paced(self, link):
        clock, pace = time.perf_counter_ns, self.pace
        due = self.origin + pace
        while due - self.origin < self.duration and self.issue() < self.most:
            now = clock()
            while now < due:
                time.sleep((due - now) / 1e9)
                now = clock()
            link.lag.append(now - due)
            is_good = link.operate(self)
            done = clock()
            if is_good:
                link.service.append(done - now)
            missed = (done - due) // pace
            link.skips += missed
            due += (missed + 1) * pace

    def open(self, link):
        clock, arrivals = time.perf_counter_ns, self.arrivals
        while True:
            number = self.issue()
            if number >= len(arrivals):
                return
            due, now = self.origin + arrivals[number], clock()
            if now < due:
                while now < due:
                    time.sleep((due - now) / 1e9)
                    now = clock()
                link.lag.append(now - due)
            else:
                waiting = 1
                while number + waiting < len(arrivals) and self.origin + arrivals[number + waiting] <= now:
                    waiting += 1
                if len(self.links) - 1 + waiting > max(self.in_flight_max, len(self.links)):
                    link.skips += 1
                    continue
            is_good = link.operate(self)
            done = clock()
            if is_good:
                link.service.append(done - now)
                link.latency.append(done - due)

    def work(self, link):
        try:
            if self.arrivals is None and self.pace > 0:
                self.paced(link)
            elif self.arrivals is None:
                self.closed(link)
            else:
                self.open(link)
        except Exception as error:  # whatever broke the connection ends the stretch
            self.broken = error

    def go(self):
        for link in self.links:
            link.clear()
        self.origin = time.perf_counter_ns()
        if len(self.links) == 1:
            self.work(self.links[0])
        else:
            threads = [threading.Thread(target=self.work, args=(link,)) for link in self.links]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        wall = time.perf_counter_ns() - self.origin
        say("ended")
        sys.stdout.flush()
        if self.broken:
            raise self.broken
        for name in ("operations", "statements", "rows"):
            say(name, sum(getattr(link, name) for link in self.links))
        say("serials", self.next_serial - self.first_serial)
        say("wall_ns", wall)
        if self.arrivals is not None:
            say("arrivals", len(self.arrivals))
        if self.arrivals is not None or self.pace > 0:
            say("skips", sum(link.skips for link in self.links))
        for name in ("service", "latency", "lag"):
            counts = {}
            for link in self.links:
                for number in getattr(link, name):
                    unit = 10 ** max(0, len(str(number)) - 3)
                    number = number // unit * unit
                    counts[number] = counts.get(number, 0) + 1
            for number in sorted(counts):
                say(name, number, counts[number])
        for link in self.links:
            for number, count in link.errors.items():
                say("error", number, count, link.texts[number])
        say("done")
        sys.stdout.flush()


def main():
    sys.stdin.reconfigure(encoding="utf-8", newline="\n")
    sys.stdout.reconfigure(encoding="utf-8")
    say("hello", "pymysql", pymysql.VERSION_STRING)
    sys.stdout.flush()
    plan, links, arrivals = Plan(), [], None
    for line in sys.stdin:
        fields = [unescape(field) for field in line.rstrip("\n").split("\t")]
        word = fields[0]
        try:
            if word == "session":
                plan.session.append(fields[1])
            elif word == "property":
                raise ValueError(f"no property {fields[1]}")
            elif word == "statement":
                count = int(fields[2])
                plan.commands.append((int(fields[1]), count, percent(fields[3]) if count else fields[3]))
            elif word == "values":
                plan.values.setdefault(int(fields[1]), []).append([READ[field[0]](field[1:]) for field in fields[2:]])
            elif word == "open":
                for number in range(int(plan.words["connections"])):
                    links.append(Link(plan, number))
                say("opened")
                sys.stdout.flush()
            elif word == "arrivals":
                arrivals = [int(field) for field in fields[1:]]
            elif word == "run":
                run = Run(links, int(fields[-1]))
                run.pace = int(plan.words["pace"])
                if fields[1] == "open":
                    run.arrivals, run.in_flight_max = arrivals, int(fields[2])
                else:
                    run.arrivals, run.duration, run.most = None, int(fields[2]) * 1_000_000, int(fields[3])
                run.go()
            elif word == "close":
                for link in links:
                    link.connection.close()
                plan, links = Plan(), []
                say("closed")
                sys.stdout.flush()
            else:
                plan.words[word] = fields[1]
        except Exception as error:  # told to the lab, which decides
            for link in links:
                try:
                    link.connection.close()
                except pymysql.MySQLError:
                    pass
            plan, links = Plan(), []
            is_server = isinstance(error, pymysql.MySQLError) and len(error.args) > 1
            say("failed", error.args[0] if is_server else 0, error.args[1] if is_server else f"{type(error).__name__}: {error}")
            sys.stdout.flush()


main()
