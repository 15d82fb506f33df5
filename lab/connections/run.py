#!/usr/bin/env python3
"""The same offered load over 100, 1,000 and 10,000 connections: latency, server CPU, memory.

    lab/connections/run.py --server NAME=mysql://user:password@host:port=PID ... (or @%2Fpath%2Fof%2Fsocket) [--invar target/release/invar]
                           [--connections 100,1000,10000] [--rounds 3] [--out lab/results/connections.txt]

99 of 100 operations read one row by its key, one changes one (many-connections.toml); arrivals keep their rate whatever the server
does, so latency counts from when an operation was due. `usual p99` is the median over the seconds of all rounds of the p99 of a second's
operations: what holds both processors for some milliseconds (timers, a neighbour of the machine) falls into few of them. `quiet p99` is
the lower quartile of the same: noise only adds, so the quieter seconds are nearer to what the server itself does. Servers take turns within a round, in an order that changes. A server that
cannot hold that many connections is said so and left out from there on. Memory is the largest resident set while the connections are
open, and what that is beyond the resident set before, divided by their number. Each server must allow the connections
(max_connections, open files); the client needs as many open files. Purge CPU is what the purge thread used of processors
(`Store_purge_cpu_us` in SHOW STATUS; `-` where a server has no such counter) while all connections were open, by question. With --out the figures so far are written after
every round. Needs PyMySQL for that counter, else Python's standard library."""

import math
import os
import statistics
import sys
import threading
import urllib.parse

import pymysql

# Seconds between looks at the server's memory, and looks at its memory for each at its counters: what looks takes processor time from what is looked at.
MEMORY_INTERVAL_S = 1
MEMORY_LOOKS_PER_PURGE_LOOK = 5

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

import turns  # noqa: E402


class Purge:
    """What the purge thread uses of processors while all connections are there, by question asked meanwhile."""

    def __init__(self, url, connections):
        at = urllib.parse.urlsplit(url)
        place = urllib.parse.unquote(at.netloc.rpartition("@")[2])
        where = {"unix_socket": place} if place.startswith("/") else {"host": at.hostname, "port": at.port or 3306}
        self.connection = pymysql.connect(user=at.username, password=at.password or "", **where)
        self.connections, self.first, self.last = connections, None, None

    def look(self):
        with self.connection.cursor() as cursor:
            cursor.execute("SHOW GLOBAL STATUS WHERE Variable_name IN ('Store_purge_cpu_us', 'Questions', 'Threads_connected')")
            now = {name: int(number) for name, number in cursor}
        if "Store_purge_cpu_us" in now and now["Threads_connected"] > self.connections:
            self.first, self.last = self.first or now, now

    def us_each(self):
        """NaN if the server does not say."""
        if not self.first or self.last["Questions"] == self.first["Questions"]:
            return math.nan
        return (self.last["Store_purge_cpu_us"] - self.first["Store_purge_cpu_us"]) / (self.last["Questions"] - self.first["Questions"])


def resident_kb(pid):
    with open(f"/proc/{pid}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))


def one(invar, name, url, pid, connections, seed):
    """One block: what the lab measured, and the memory before and while."""
    before, seen, ended = resident_kb(pid), [], threading.Event()
    purge = Purge(url, connections)

    def watch():
        looks = 0
        while not ended.wait(MEMORY_INTERVAL_S):
            seen.append(resident_kb(pid))
            looks += 1
            if looks % MEMORY_LOOKS_PER_PURGE_LOOK == 0:
                purge.look()

    watcher = threading.Thread(target=watch)
    watcher.start()

    def end():
        ended.set()
        watcher.join()

    block, why = turns.block(invar, os.path.join(HERE, "many-connections.toml"), "invar_lab_connections", name, url, connections, seed, end)
    if block is None:
        return None, why
    return {"purge_us": purge.us_each(), "p50_us": block["latency"]["p50_ns"] / 1e3, "p99_us": block["latency"]["p99_ns"] / 1e3,
            "service_p99_us": block["service"]["p99_ns"] / 1e3,
            "seconds_p99_us": [ns / 1e3 for ns in block["latency_p99_by_second_ns"]],
            "cpu_us": block["server_cpu_ns_per_op"] / 1e3, "stolen": block["steal_share"] * 1e3, "operations_per_s": block["qps"],
            "resident_mb": max(seen) / 1024, "kb_each": max(0, max(seen) - before) / connections,
            "errors": sum(block["errors"].values()), "skips": block["skips"], "invalid": block["invalid"]}, None


def table(found, left_out):
    """The medians so far, as text."""
    lines = [f"{'server':<14}{'connections':>12}{'p50 us':>10}{'p99 us':>10}{'usual p99':>10}{'quiet p99':>10}{'service p99':>12}{'CPU us/op':>11}{'purge us/op':>12}{'op/s':>8}{'stolen':>8}{'RSS MB':>9}"
             f"{'KB each':>9}  rounds"]
    for (name, connections), rounds in sorted(found.items()):
        middle = {key: statistics.median(one[key] for one in rounds) for key in rounds[0] if key not in ("invalid", "errors", "skips", "seconds_p99_us")}
        quiet, usual, _ = statistics.quantiles((second for one in rounds for second in one["seconds_p99_us"]), n=4)
        odd = [one["invalid"] for one in rounds if one["invalid"]]
        bad = sum(one["errors"] + one["skips"] for one in rounds)
        purge = "-" if math.isnan(middle["purge_us"]) else f"{middle['purge_us']:.3f}"
        lines.append(f"{name:<14}{connections:>12}{middle['p50_us']:>10.0f}{middle['p99_us']:>10.0f}{usual:>10.0f}{quiet:>10.0f}{middle['service_p99_us']:>12.0f}{middle['cpu_us']:>11.1f}"
                     f"{purge:>12}{middle['operations_per_s']:>8.0f}{middle['stolen']:>8.1f}{middle['resident_mb']:>9.0f}{middle['kb_each']:>9.1f}  {len(rounds)}"
                     + (f", {bad} errors or skips" if bad else "") + (f", {len(odd)} invalid: {odd[0]}" if odd else ""))
    lines += [f"{name}: {why}" for name, why in sorted(left_out.items())]
    return "\n".join(lines) + "\n"


def said(figures):
    return (f"p50 {figures['p50_us']:.0f} p99 {figures['p99_us']:.0f} us (usual {statistics.median(figures['seconds_p99_us']):.0f}, quiet {statistics.quantiles(figures['seconds_p99_us'], n=4)[0]:.0f}), {figures['cpu_us']:.1f} us CPU, purge {figures['purge_us']:.3f} us, {figures['stolen']:.1f} stolen, "
            f"{figures['resident_mb']:.0f} MB")


def main():
    turns.rounds(turns.arguments(__doc__, "100,1000,10000"), one, said, table)


if __name__ == "__main__":
    main()
