#!/usr/bin/env python3
"""Measures what operations cost and prints it beside the constants by which the optimizer chooses (`crates/plan/src/cost.rs`).

Makes tables of two sizes, one that the processor's caches hold and one that they do not, and runs statements that are nearly all one operation. Each
is repeated until it has taken enough CPU of the server's process; from the CPU a time per row follows. What a statement does besides (reading its
rows) is subtracted as it was measured by itself. All pages are in memory.

Needs PyMySQL, and a server on this computer that does nothing else; its process is found by `--pid`.

  costs.py --server mysql://root@127.0.0.1:3307 --pid 4711 --rows 1000000
"""

import argparse
import math
import os
import pathlib
import re
import urllib.parse

import pymysql

DATABASE = "lab_costs"
TICKS = os.sysconf("SC_CLK_TCK")
SMALL_ROWS = 5_000
# CPU seconds that a statement is repeated for, and the most repetitions.
SECONDS_MIN = 1.0
REPEATS_MAX = 2_000


class Server:
    def __init__(self, url, pid):
        parts = urllib.parse.urlparse(url)
        connection = pymysql.connect(host=parts.hostname, port=parts.port or 3306, user=parts.username or "root",
                                     password=parts.password or "", autocommit=True)
        self.cursor, self.pid = connection.cursor(), pid

    def run(self, text):
        self.cursor.execute(text)
        return self.cursor.fetchall()

    def cpu(self):
        """CPU seconds of the process."""
        fields = pathlib.Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def seconds(self, text):
        """CPU seconds of the statement."""
        self.run(text)
        start, count = self.cpu(), 0
        while True:
            self.run(text)
            count += 1
            used = self.cpu() - start
            if used >= SECONDS_MIN or count == REPEATS_MAX:
                return used / count


def prepare(server, rows):
    server.run(f"DROP DATABASE IF EXISTS {DATABASE}")
    server.run(f"CREATE DATABASE {DATABASE}")
    server.run(f"USE {DATABASE}")
    for name, count in [("small", SMALL_ROWS), ("large", rows)]:
        # `far` is a key in no order of the rows; `few` has 100 values, `many` one for each ten rows.
        server.run(f"CREATE TABLE {name} (id INT PRIMARY KEY, far INT, few INT, many INT, pad CHAR(60), KEY (far))")
        server.run("SET cte_max_recursion_depth = 100000000")
        server.run(
            f"INSERT INTO {name} WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})"
            f" SELECT i, i * 7919 % {count}, i % 100, i * 31 % {max(1, count // 10)}, 'pad' FROM n"
        )
        server.run(f"ANALYZE TABLE {name}")


def measure(server, rows):
    """Name of the operation, rows of the table, nanoseconds."""
    found = []
    for table, count in [("small", SMALL_ROWS), ("large", rows)]:
        per_row = lambda text, count=count: server.seconds(text) * 1e9 / count
        scan = per_row(f"SELECT COUNT(pad) FROM {table} IGNORE INDEX (far) WHERE few >= 0")
        found.append(("ROW", count, scan))
        read = per_row(f"SELECT COUNT(pad) FROM {table} IGNORE INDEX (far)")
        entry = per_row(f"SELECT COUNT(far) FROM {table} FORCE INDEX (far) WHERE far >= 0")
        found.append(("COVERED_ENTRY", count, entry))
        located = per_row(f"SELECT COUNT(pad) FROM {table} FORCE INDEX (far) WHERE far >= 0 AND few >= 0")
        found.append(("located_row", count, located - entry))
        looked_up = per_row(
            f"SELECT /*+ NO_BNL(a, b) JOIN_ORDER(a, b) */ COUNT(b.few)"
            f" FROM {table} a IGNORE INDEX (far) JOIN {table} b FORCE INDEX (PRIMARY) ON b.id = a.many + 1"
        )
        found.append(("descent", count, looked_up - read))
        hashed = per_row(
            f"SELECT COUNT(b.few) FROM {table} a IGNORE INDEX (far) JOIN {table} b IGNORE INDEX (PRIMARY, far)"
            f" ON b.many = a.id AND a.few >= 0"
        )
        found.append(("HASH_BUILD + hash_probe", count, hashed - scan - read))
        few = per_row(f"SELECT COUNT(*) FROM (SELECT few, COUNT(pad) FROM {table} GROUP BY few) d")
        found.append(("group (100 groups)", count, few - read))
        many = per_row(f"SELECT COUNT(*) FROM (SELECT many, COUNT(pad) FROM {table} GROUP BY many) d")
        found.append((f"group ({count // 10} groups)", count, many - read))
        windowed = per_row(f"SELECT COUNT(n) FROM (SELECT ROW_NUMBER() OVER (ORDER BY many) n FROM {table}) d")
        found.append(("sort and WINDOW", count, windowed - read))
    pairs = 2_000
    text = f"SELECT COUNT(*) FROM (SELECT many FROM small LIMIT {pairs}) a JOIN (SELECT many FROM small LIMIT {pairs}) b ON a.many > b.many"
    found.append(("PAIR", pairs, server.seconds(text) * 1e9 / pairs**2))
    return found


def constants():
    """Numbers of `cost.rs`: those of constants, and the least and the greatest of functions."""
    text = (pathlib.Path(__file__).parents[2] / "crates/plan/src/cost.rs").read_text()
    number = lambda digits: float(digits.replace("_", ""))
    names = {name: (number(value), number(value)) for name, value in re.findall(r"const ([A-Z_]+): f64 = ([0-9_.]+);", text)}
    between = r"fn (\w+)\([^)]*\) -> f64 \{\s*between\(\w+, ([0-9_.]+), ([0-9_.]+)\)"
    names.update({name: (number(low), number(high)) for name, low, high in re.findall(between, text)})
    return names


def assumed(names, operation, count):
    """What the optimizer takes the operation to cost."""
    parts = re.findall(r"[A-Za-z_]+", re.sub(r"\(.*\)", "", operation))
    if "sort" in parts:
        return names["COMPARE"][0] * math.log2(count) + names["WINDOW"][0]
    low, high = (sum(names[part][at] for part in parts) for at in range(2))
    sizes = re.search(r"\((\d+) groups\)", operation)
    cached, uncached = names["CACHED_ROWS"][0], names["UNCACHED_ROWS"][0]
    share = math.log(max(1.0, float(sizes[1] if sizes else count)) / cached) / math.log(uncached / cached)
    return low * (high / low) ** min(1.0, max(0.0, share))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", required=True, metavar="URL")
    parser.add_argument("--pid", type=int, required=True, help="the server's process")
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of the large table")
    arguments = parser.parse_args()
    server, names = Server(arguments.server, arguments.pid), constants()
    prepare(server, arguments.rows)
    print(f"{server.run('SELECT VERSION()')[0][0]}; nanoseconds of CPU for each row")
    print(f"{'operation':<28} {'rows':>10} {'measured':>9} {'assumed':>9} {'ratio':>6}")
    for operation, count, nanoseconds in measure(server, arguments.rows):
        cost = assumed(names, operation, count)
        print(f"{operation:<28} {count:>10} {nanoseconds:>9.0f} {cost:>9.0f} {nanoseconds / cost:>6.2f}")
    server.run(f"DROP DATABASE {DATABASE}")


if __name__ == "__main__":
    main()
