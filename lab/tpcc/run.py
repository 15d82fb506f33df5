#!/usr/bin/env python3
"""TPC-C against servers on this machine: load, run, check; one server after the other.

    lab/tpcc/run.py --serve target/release/invar --server mysql97=23097:peer:peer:PID
        [--warehouses 10] [--threads 1,16] [--seconds 30] [--foreign-keys] [--isolation 'READ COMMITTED'] [--only load] [--no-load]
        [--set innodb-buffer-pool-size=2G] [--kill] [--items N --customers N] [--out FILE]

`--serve BINARY` starts that `invar` on an empty folder and a free port, gives it `--set` options, and stops it at the end;
`--server NAME=PORT:USER:PASSWORD:PID` takes a running one (PID: a number or a file that holds it). Both may be given again and
again. The work is done by sysbench with `tpcc.lua` beside this file, which says what is the specification's and what is not.

A run of each thread count is followed by a line of tpmC (new orders a minute, those rolled back as specified among them),
server CPU per transaction (user + system time of the process), errors by number (each was tried again), and by a line for
each kind of transaction: how many, and latencies in ms. At the end the twelve consistency conditions are checked, and the rows
of `orders`, `new_order` and `history` against what the clients were told; `--kill` kills a started server with SIGKILL and
starts it again before that. `--only load` leaves a running server loaded for a later `--no-load`. The exit code is 1 if
anything failed or does not hold."""

import argparse
import os
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

from servers import Server, Started  # noqa: E402

SCRIPT = os.path.join(HERE, "tpcc.lua")
KINDS = ["new_order", "payment", "order_status", "delivery", "stock_level"]
SCHEMA = "invar_tpcc"


class Bench:
    def __init__(self, given):
        self.given = given
        self.out = open(given.out, "w") if given.out else None
        self.failed = 0

    def say(self, line=""):
        print(line, flush=True)
        if self.out:
            print(line, file=self.out, flush=True)

    def wrong(self, line):
        self.failed += 1
        self.say(f"WRONG: {line}")

    def sql(self, server, text):
        done = subprocess.run(["mysql", "--no-defaults", "-h127.0.0.1", f"-P{server.port}", f"-u{server.user}",
                               *([f"-p{server.password}"] if server.password else []), "-N", "-B", "-e", text],
                              capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{server.name}: {text}: {done.stderr.strip()}")
        return done.stdout.strip()

    def sysbench(self, server, command, *options):
        """What sysbench printed, and whether it succeeded."""
        g = self.given
        arguments = ["sysbench", SCRIPT, "--mysql-host=127.0.0.1", f"--mysql-port={server.port}", f"--mysql-user={server.user}",
                     f"--mysql-password={server.password}", f"--mysql-db={SCHEMA}", f"--warehouses={g.warehouses}", f"--items={g.items}",
                     f"--customers={g.customers}", f"--isolation={g.isolation}", f"--foreign_keys={'on' if g.foreign_keys else 'off'}",
                     *options, command]
        done = subprocess.run(arguments, capture_output=True, text=True)
        text = done.stdout + done.stderr
        return text, done.returncode == 0 and "FATAL" not in text

    def load(self, server):
        self.sql(server, f"DROP DATABASE IF EXISTS {SCHEMA}; CREATE DATABASE {SCHEMA}")
        began, cpu = time.time(), server.cpu_seconds()
        text, fine = self.sysbench(server, "prepare", "--threads=2")
        if not fine:
            sys.exit(f"{server.name}: {text[-3000:]}")
        self.say(f"{server.name:10} loaded {self.given.warehouses} warehouses in {time.time() - began:.0f} s, server CPU "
                 f"{server.cpu_seconds() - cpu:.0f} s")

    def run(self, server, threads):
        """Runs the mix; what the clients were told, added to `self.told`."""
        cpu = server.cpu_seconds()
        text, fine = self.sysbench(server, "run", f"--threads={threads}", f"--time={self.given.seconds}", "--rand-seed=20117")
        cpu = server.cpu_seconds() - cpu
        if not fine:
            self.wrong(f"{server.name}, {threads} threads: {text[-2000:]}")
            return
        taken = float(re.search(r"total time:\s+([\d.]+)s", text).group(1))
        counts = {kind: {"committed": 0, "rolled_back": 0, "errors": {}, "latencies": {}} for kind in KINDS}
        for kind, committed, rolled_back, errors, latencies in re.findall(
                r"^tpcc (\w+) committed=(\d+) rolled_back=(\d+) errors=(\S+) latencies=(\S+)$", text, re.M):
            counts[kind]["committed"] += int(committed)
            counts[kind]["rolled_back"] += int(rolled_back)
            for name, pairs in (("errors", errors), ("latencies", latencies)):
                for pair in pairs.split(",") if pairs != "-" else []:
                    key, value = (int(part) for part in pair.split(":"))
                    counts[kind][name][key] = counts[kind][name].get(key, 0) + value
        done = sum(c["committed"] + c["rolled_back"] for c in counts.values())
        orders = counts["new_order"]["committed"] + counts["new_order"]["rolled_back"]
        errors = {}
        for c in counts.values():
            for number, count in c["errors"].items():
                errors[number] = errors.get(number, 0) + count
        self.say(f"{server.name:10} {threads:>4} threads  tpmC {60 * orders / taken:9.0f}  transactions {done / taken:8.1f}/s  "
                 f"server CPU {1e6 * cpu / max(done, 1):7.0f} us each  tried again: "
                 + (", ".join(f"{count} of {number}" for number, count in sorted(errors.items())) or "none"))
        for kind in KINDS:
            c = counts[kind]
            self.say(f"    {kind:14} {c['committed']:8} committed {c['rolled_back']:5} rolled back   p50 {percentile(c['latencies'], 50):8.2f}  "
                     f"p95 {percentile(c['latencies'], 95):8.2f}  p99 {percentile(c['latencies'], 99):8.2f} ms")
        self.told["orders"] += counts["new_order"]["committed"]
        self.told["history"] += counts["payment"]["committed"]
        self.told["delivered"] += sum(int(n) for n in re.findall(r"^tpcc delivered orders=(\d+)$", text, re.M))

    def rows(self, server):
        names = ["orders", "new_order", "history"]
        counts = self.sql(server, "SELECT " + ", ".join(f"(SELECT COUNT(*) FROM {SCHEMA}.{name})" for name in names))
        return dict(zip(names, map(int, counts.split("\t"))))

    def check(self, server, before):
        """The conditions, and that rows since `before` are those that the clients were told of."""
        g, told, began = self.given, self.told, time.time()
        loaded_delivered = g.warehouses * 10 * int(g.customers * 0.7)
        delivered = before["orders"] - before["new_order"] - loaded_delivered + told["delivered"]
        text, fine = self.sysbench(server, "check", f"--delivered={delivered}")
        for line in re.findall(r"^condition .*BROKEN.*$", text, re.M):
            self.wrong(f"{server.name}: {line}")
        held, rows = len(re.findall(r"^condition .*: holds", text, re.M)), re.search(r"^rows: (.*)$", text, re.M)
        if not rows:
            self.wrong(f"{server.name}: {text[-2000:]}")
            return
        self.say(f"{server.name:10} consistency: {held} of 12 conditions hold, checked in {time.time() - began:.0f} s; {rows[1]}")
        expected = {"orders": before["orders"] + told["orders"], "history": before["history"] + told["history"],
                    "new_order": before["new_order"] + told["orders"] - told["delivered"]}
        found = dict(re.findall(r"(\w+)=(\d+)", rows[1]))
        lost = [f"{found[table]} rows in {table} instead of {rows}" for table, rows in expected.items() if int(found[table]) != rows]
        if lost:
            self.wrong(f"{server.name}: clients were told otherwise: {', '.join(lost)}")
        else:
            self.say(f"{server.name:10} orders, open orders and payments are exactly those the clients were told of")

    def whole(self, servers):
        g = self.given
        if g.items != 100_000 or g.customers != 3000:
            self.say(f"# NOT THE SPECIFIED SIZE: {g.items} items, {g.customers} customers a district")
        for server in servers:
            self.say(f"# {server.name}: {self.sql(server, 'SELECT VERSION()')}, buffer pool "
                     + self.sql(server, "SELECT CONCAT(@@innodb_buffer_pool_size DIV 1048576, ' MB, binary log ', @@log_bin, "
                                "', sync at commit ', @@innodb_flush_log_at_trx_commit, ', ', @@transaction_isolation)")
                     + (f" (sessions: {g.isolation})" if g.isolation else "")
                     + f", foreign keys {'on' if g.foreign_keys else 'off'}")
            if not g.no_load:
                self.load(server)
        if g.only == "load":
            return self.failed
        for server in servers:
            self.told = {"orders": 0, "history": 0, "delivered": 0}
            before = self.rows(server)
            for threads in g.threads.split(","):
                self.run(server, int(threads))
            self.say(f"{server.name:10} peak memory {server.peak_mb()} MB")
            if g.kill and server.kill():
                self.say(f"{server.name:10} killed with SIGKILL and started again")
            self.check(server, before)
        self.say("all right" if not self.failed else f"{self.failed} wrong")
        return self.failed


def percentile(latencies, share):
    """From buckets that grow by 5 %: the middle of the one that holds it, in ms."""
    left = sum(latencies.values()) * share / 100
    for bucket in sorted(latencies):
        left -= latencies[bucket]
        if left <= 0:
            return 1.05 ** (bucket + 0.5) / 1000
    return 0.0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--serve", action="append", default=[])
    parser.add_argument("--server", action="append", default=[])
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--warehouses", type=int, default=10)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--customers", type=int, default=3000)
    parser.add_argument("--threads", default="1,16")
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--foreign-keys", action="store_true")
    parser.add_argument("--isolation", default="")
    parser.add_argument("--only", choices=["load"])
    parser.add_argument("--no-load", action="store_true")
    parser.add_argument("--kill", action="store_true")
    parser.add_argument("--out")
    given = parser.parse_args()
    servers = []
    try:
        servers += [Started(binary, given.set, "tpcc-") for binary in given.serve] + [Server(text) for text in given.server]
        if not servers:
            parser.error("name a server (--serve or --server)")
        return 1 if Bench(given).whole(servers) else 0
    finally:
        for server in servers:
            server.stop()


if __name__ == "__main__":
    sys.exit(main())
