#!/usr/bin/env python3
"""TPC-H on servers on this machine: generate, load, run the 22 queries, compare rows.

    lab/tpch/run.py --serve target/release/invar --server mysql97=23097:peer:peer:PID --scale 0.1 --generator tpchgen-cli
        [--rows DIR] [--data DIR] [--no-load] [--queries 1,19] [--runs 2] [--limit 60] [--set innodb-buffer-pool-size=2G]
        [--explain] [--out FILE]

`--generator` is the tpchgen-cli of PyPI's package of this name (`pip install tpchgen-cli`), a rewrite of TPC-H's dbgen; its files go to
`--rows` and are used again if they are there. `--serve BINARY` starts that `invar` on a free port, on an empty folder or on `--data`, which
is left for a later run with `--no-load`; `--server NAME=PORT:USER:PASSWORD:PID` takes a running server (PID: a number or a file that holds
it). The tables are those of `schema.sql`, loaded by LOAD DATA LOCAL.

A line a query: for each server the least CPU seconds (all threads of its process) and wall seconds of `--runs` runs, each in a
session of its own; `-` is a query that took longer than `--limit` seconds. Below it stands the geometric mean of the CPU seconds of the
queries that ended on all servers. Rows are compared with the first server's that ended, as sorted text. The exit code is 1 if rows differ or a
query failed."""

import argparse
import math
import os
import re
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

from servers import Server, Started  # noqa: E402

SCHEMA = "invar_tpch"
TABLES = ["region", "nation", "part", "supplier", "partsupp", "customer", "orders", "lineitem"]


def ask(server, text, schema=SCHEMA):
    """What the client printed, and its complaint, if any."""
    done = subprocess.run(["mysql", "--no-defaults", "--local-infile=1", "-h127.0.0.1", f"-P{server.port}", f"-u{server.user}",
                           *([f"-p{server.password}"] if server.password else []), "-N", "-B", "-e", text, schema],
                          capture_output=True, text=True)
    complaint = [line for line in done.stderr.splitlines() if "[Warning]" not in line]
    return done.stdout, "\n".join(complaint) if done.returncode else ""


def must(server, text, schema=SCHEMA):
    rows, complaint = ask(server, text, schema)
    if complaint:
        sys.exit(f"{server.name}: {text[:100]}: {complaint}")
    return rows


def load(server, rows):
    began, cpu = time.time(), server.thread_seconds()
    must(server, f"DROP DATABASE IF EXISTS {SCHEMA}; CREATE DATABASE {SCHEMA}; SET GLOBAL local_infile = 1", "")
    must(server, open(os.path.join(HERE, "schema.sql")).read())
    for table in TABLES:
        must(server, f"LOAD DATA LOCAL INFILE '{rows}/{table}.tbl' INTO TABLE {table} FIELDS TERMINATED BY '|' LINES TERMINATED BY '|\\n'")
    must(server, f"ANALYZE TABLE {', '.join(TABLES)}")
    return f"{server.name}: loaded in {time.time() - began:.0f} s, server CPU {server.thread_seconds() - cpu:.1f} s"


def queries(scale, wanted):
    text = open(os.path.join(HERE, "queries.sql")).read().replace("FRACTION", f"{0.0001 / scale:.10f}")
    parts = re.split(r"^-- Q(\d+)\n", text, flags=re.M)[1:]
    return [(int(number), sql.strip()) for number, sql in zip(parts[::2], parts[1::2]) if not wanted or number in wanted]


def run(server, sql, given):
    """Sorted rows (none: not within the limit), CPU and wall seconds, complaint."""
    best = (None, math.inf, math.inf, "")
    for _ in range(given.runs):
        cpu, began = server.thread_seconds(), time.time()
        rows, complaint = ask(server, f"SET max_execution_time = {given.limit * 1000}; {sql}")
        took = time.time() - began
        cpu = server.thread_seconds() - cpu
        if complaint:
            return None, math.inf, took, "" if "3024" in complaint else complaint
        best = (sorted(rows.splitlines()), min(best[1], cpu), min(best[2], took), "")
    return best


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--serve")
    options.add_argument("--server", action="append", default=[])
    options.add_argument("--scale", type=float, default=0.1)
    options.add_argument("--generator", default="tpchgen-cli")
    options.add_argument("--rows")
    options.add_argument("--data")
    options.add_argument("--no-load", action="store_true")
    options.add_argument("--queries")
    options.add_argument("--runs", type=int, default=2)
    options.add_argument("--limit", type=int, default=60)
    options.add_argument("--set", action="append", default=[])
    options.add_argument("--explain", action="store_true", help="print each server's EXPLAIN (FORMAT=TREE) instead of running")
    options.add_argument("--out")
    given = options.parse_args()
    out = open(given.out, "w") if given.out else None

    def say(line=""):
        print(line, flush=True)
        if out:
            print(line, file=out, flush=True)

    rows = os.path.abspath(given.rows or tempfile.mkdtemp(prefix="tpch-rows-"))
    if not given.no_load and not os.path.exists(f"{rows}/lineitem.tbl"):
        subprocess.run([given.generator, "--scale-factor", str(given.scale), "--output-dir", rows], check=True, stdout=subprocess.DEVNULL)
    servers = [Server(text) for text in given.server]
    if given.serve:
        servers.insert(0, Started(given.serve, given.set, "tpch-", given.data))
    failed = False
    try:
        if not given.no_load:
            for server in servers:
                say(load(server, rows))
        say(f"scale {given.scale}, least of {given.runs} runs: CPU s, wall s")
        say(f"{'':4}" + "".join(f"{server.name:>20}" for server in servers))
        ended = []
        for number, sql in queries(given.scale, given.queries and given.queries.split(",")):
            if given.explain:
                for server in servers:
                    say(f"Q{number} {server.name}\n" + must(server, f"EXPLAIN FORMAT=TREE {sql}").replace("\\n", "\n"))
                continue
            results = [run(server, sql, given) for server in servers]
            line = "".join(f"{cpu:11.3f}{wall:9.3f}" if got is not None else f"{'-':>11}{'-':>9}" for got, cpu, wall, _ in results)
            rows_of = [(server, got) for server, (got, *_) in zip(servers, results) if got is not None]
            differ = [server.name for server, got in rows_of if got != rows_of[0][1]]
            complaints = [f"{server.name}: {result[3]}" for server, result in zip(servers, results) if result[3]]
            say(f"Q{number:<3}{line}" + (f"  rows differ: {', '.join(differ)}" if differ else "") + "".join(f"  {c}" for c in complaints))
            failed |= bool(differ or complaints)
            if len(rows_of) == len(servers):
                ended.append([cpu for _, cpu, _, _ in results])
        if ended:
            means = [math.exp(sum(math.log(max(cpus[at], 1e-6)) for cpus in ended) / len(ended)) for at in range(len(servers))]
            say(f"{'mean':4}" + "".join(f"{mean:11.3f}{'':9}" for mean in means) + f"  of {len(ended)} queries")
    finally:
        for server in servers:
            server.stop()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
