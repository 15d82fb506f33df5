#!/usr/bin/env python3
"""Every sysbench 1.0 MySQL script against one server: no error, and the tables right afterwards.

    lab/sysbench/run.py --port 3306 [--user root] [--password ''] [--threads 1,16,128] [--tables 4] [--rows 250000]
        [--seconds 5] [--out FILE]

The oltp_* and select_* scripts run on fresh tables `sbtest.sbtest1..N`, prepared once, in text and in prepared mode, for each
thread count; bulk_insert runs on tables of its own in `sbbulk`. A line a run: queries per second, p95 ms, errors that
sysbench ignored (deadlocks and duplicate keys, which it retries), reconnects. A run fails on any other error. After each
script the tables are checked: CHECK TABLE; rows and sums by the primary key equal those by the secondary index; a script
that leaves the number of rows alone left it alone. Ends with `N runs, N failed`; the exit code says the same."""

import argparse
import glob
import os
import re
import subprocess
import sys

FOLDER = "/usr/share/sysbench"
# Scripts whose transactions end with as many rows as they began with.
KEEP_ROWS = {"oltp_read_write", "oltp_read_only", "oltp_point_select", "oltp_update_index", "oltp_update_non_index",
             "oltp_write_only", "select_random_points", "select_random_ranges"}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--user", default="root")
    parser.add_argument("--password", default="")
    parser.add_argument("--threads", default="1,16,128")
    parser.add_argument("--tables", type=int, default=4)
    parser.add_argument("--rows", type=int, default=250_000)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--scripts", default="")
    parser.add_argument("--out")
    return parser.parse_args()


class Matrix:
    def __init__(self, options):
        self.options = options
        self.out = open(options.out, "w") if options.out else None
        self.runs = self.failed = 0

    def say(self, line):
        print(line, flush=True)
        if self.out:
            print(line, file=self.out, flush=True)

    def link(self, database):
        o = self.options
        return [f"--mysql-host={o.host}", f"--mysql-port={o.port}", f"--mysql-user={o.user}", f"--mysql-password={o.password}",
                f"--mysql-db={database}"]

    def sql(self, text, database=""):
        o = self.options
        done = subprocess.run(["mysql", "--no-defaults", f"-h{o.host}", f"-P{o.port}", f"-u{o.user}",
                               *([f"-p{o.password}"] if o.password else []), "-N", "-B", "-e", text, *([database] if database else [])],
                              capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{text}: {done.stderr.strip()}")
        return [line.split("\t") for line in done.stdout.splitlines()]

    def sysbench(self, script, database, command, *extra):
        return subprocess.run(["sysbench", f"{FOLDER}/{script}.lua", *self.link(database), *extra, command],
                              capture_output=True, text=True)

    def run(self, script, database, mode, threads, *extra):
        """One run; the number of events that it counted."""
        self.runs += 1
        done = self.sysbench(script, database, "run", *extra, f"--db-ps-mode={'auto' if mode == 'prepared' else 'disable'}",
                             f"--threads={threads}", f"--time={self.options.seconds}")
        text = done.stdout + done.stderr
        figure = lambda pattern: (re.search(pattern, text) or [None, "-"])[1]
        line = (f"{script:24} {mode:8} {threads:4} threads  {figure(r'queries:.*?([0-9.]+) per sec'):>10}/s  p95 "
                f"{figure(r'95th percentile: +([0-9.]+)'):>8} ms  ignored {figure(r'ignored errors: +([0-9]+)'):>3}  "
                f"reconnects {figure(r'reconnects: +([0-9]+)'):>2}")
        wrong = done.returncode != 0 or "FATAL" in text or "PANIC" in text or figure(r"reconnects: +([0-9]+)") != "0"
        self.say(line + ("  FAILED" if wrong else ""))
        if wrong:
            self.failed += 1
            for error in [line for line in text.splitlines() if "FATAL" in line or "error" in line.lower()][:5]:
                self.say(f"    {error}")
        return int(figure(r"transactions: +([0-9]+)").replace("-", "0"))

    def check(self, script, before):
        """What is wrong with the tables now; `before` rows of each table or None where the script changes them."""
        wrong = []
        for table in range(1, self.options.tables + 1):
            name = f"sbtest.sbtest{table}"
            status = self.sql(f"CHECK TABLE {name}")[-1][-1]
            if status != "OK":
                wrong.append(f"{name}: {status}")
            by_key, = self.sql(f"SELECT COUNT(*), SUM(k), SUM(id) FROM {name} FORCE INDEX (PRIMARY)")
            by_index, = self.sql(f"SELECT COUNT(*), SUM(k), SUM(id) FROM {name} FORCE INDEX (k_{table}) WHERE k > -1")
            if by_key != by_index:
                wrong.append(f"{name}: by PRIMARY {by_key}, by k_{table} {by_index}")
            if before and before[table - 1] != by_key[0]:
                wrong.append(f"{name}: {before[table - 1]} rows became {by_key[0]}")
        self.say(f"{script:24} tables {'right' if not wrong else 'WRONG: ' + '; '.join(wrong)}")
        self.failed += bool(wrong)

    def whole(self):
        o = self.options
        version = self.sql("SELECT VERSION()")[0][0]
        self.say(f"# sysbench matrix: {version}, {o.tables} tables x {o.rows} rows, {o.seconds} s a run")
        sizes = [f"--tables={o.tables}", f"--table-size={o.rows}"]
        names = sorted(os.path.basename(path)[:-4] for pattern in ("oltp_*", "select_*") for path in glob.glob(f"{FOLDER}/{pattern}.lua"))
        names = [name for name in names if name != "oltp_common" and (not o.scripts or name in o.scripts.split(","))]
        # Those which change the number of rows go last: oltp_write_only puts back rows that it takes away, where they exist.
        names.sort(key=lambda name: name not in KEEP_ROWS)
        self.sql("DROP DATABASE IF EXISTS sbtest; CREATE DATABASE sbtest")
        done = self.sysbench("oltp_read_write", "sbtest", "prepare", *sizes, "--threads=2")
        if done.returncode != 0:
            raise SystemExit(done.stdout + done.stderr)
        for script in names:
            # oltp_insert adds rows and oltp_delete takes them away: afterwards only the two paths are compared.
            before = None
            if script in KEEP_ROWS:
                before = [self.sql(f"SELECT COUNT(*) FROM sbtest.sbtest{t}")[0][0] for t in range(1, o.tables + 1)]
            for mode in ("text", "prepared"):
                for threads in o.threads.split(","):
                    self.run(script, "sbtest", mode, int(threads), *sizes)
            self.check(script, before)
        if not o.scripts or "bulk_insert" in o.scripts.split(","):
            self.bulk_insert()
        self.say(f"{self.runs} runs, {self.failed} failed")
        return self.failed

    def bulk_insert(self):
        for mode in ("text", "prepared"):
            for threads in self.options.threads.split(","):
                self.sql("DROP DATABASE IF EXISTS sbbulk; CREATE DATABASE sbbulk")
                done = self.sysbench("bulk_insert", "sbbulk", "prepare", f"--threads={threads}")
                if done.returncode != 0:
                    raise SystemExit(done.stdout + done.stderr)
                events = self.run("bulk_insert", "sbbulk", mode, int(threads))
                wrong, rows = [], 0
                for table in range(1, int(threads) + 1):
                    name = f"sbbulk.sbtest{table}"
                    status = self.sql(f"CHECK TABLE {name}")[-1][-1]
                    count, least, most = self.sql(f"SELECT COUNT(*), MIN(id), MAX(id) FROM {name}")[0]
                    rows += int(count)
                    if status != "OK" or (count != "0" and int(most) - int(least) + 1 != int(count)):
                        wrong.append(f"{name}: {status}, {count} rows, ids {least} to {most}")
                if rows != events:  # each event adds one row
                    wrong.append(f"{events} events made {rows} rows")
                self.say(f"{'bulk_insert':24} tables {'right' if not wrong else 'WRONG: ' + '; '.join(wrong[:3])}")
                self.failed += bool(wrong)
        self.sql("DROP DATABASE sbbulk")


if __name__ == "__main__":
    sys.exit(1 if Matrix(arguments()).whole() else 0)
