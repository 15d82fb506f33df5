#!/usr/bin/env python3
"""One row that every client changes: throughput and the server's CPU for each change, from one client to thousands.

    lab/hot-row/run.py --server NAME=mysql://user:password@host:port=PID ... [--invar target/release/invar]
                       [--connections 1,16,256,1024,4096] [--rounds 3] [--out lab/results/hot-row.txt]

Each client changes the row again as soon as its last change is answered (hot-row.toml). What to look at: changes per second and CPU per
change must stay as they are at 16 clients. A server that wakes all who wait, or looks through them, falls. Servers take turns within a round, in an
order that changes. Shown are medians of the rounds; threads and memory are the largest seen. With --out the figures so far are written after
every round. Each server must allow the connections (max_connections, open files) and be durable alike: see the line of settings. Needs
PyMySQL for the versions, else Python's standard library."""

import os
import statistics
import sys
import threading
import urllib.parse

import pymysql

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

import turns  # noqa: E402


def about(url):
    """What a server says it is, and how durable."""
    at = urllib.parse.urlsplit(url)
    connection = pymysql.connect(host=at.hostname, port=at.port or 3306, user=at.username, password=at.password or "")
    with connection, connection.cursor() as cursor:
        cursor.execute("SELECT VERSION(), @@innodb_flush_log_at_trx_commit, @@transaction_isolation, @@innodb_thread_concurrency")
        version, sync, isolation, concurrency = cursor.fetchone()
        cursor.execute("SHOW GLOBAL VARIABLES LIKE 'log_bin'")
        binlog = (cursor.fetchone() or ("", "OFF"))[1]
    return f"{version}, innodb_flush_log_at_trx_commit {sync}, log_bin {binlog}, {isolation}, innodb_thread_concurrency {concurrency}"


def looks_of(pid):
    """Resident kilobytes and threads."""
    with open(f"/proc/{pid}/status") as file:
        words = dict(line.split(":", 1) for line in file if ":" in line)
    return int(words["VmRSS"].split()[0]), int(words["Threads"])


def switches_of(pid):
    """Context switches of the threads that are there."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{task}/status") as file:
                total += sum(int(line.split()[1]) for line in file if "ctxt_switches" in line)
        except OSError:
            pass  # It ended meanwhile.
    return total


def one(invar, name, url, pid, connections, seed):
    """One block: what the lab measured, and the memory and threads while it ran."""
    seen, ended = [looks_of(pid)], threading.Event()

    def watch():
        while not ended.wait(0.2):
            seen.append(looks_of(pid))

    watcher = threading.Thread(target=watch)
    watcher.start()
    before = switches_of(pid)

    def end():
        ended.set()
        watcher.join()

    block, why = turns.block(invar, os.path.join(HERE, "hot-row.toml"), "invar_lab_hot_row", name, url, connections, seed, end)
    if block is None:
        return None, why
    return {"per_s": block["qps"], "cpu_us": block["server_cpu_ns_per_op"] / 1e3, "switches": max(0, switches_of(pid) - before) / block["operations"],
            "threads": max(threads for _, threads in seen), "resident_mb": max(kb for kb, _ in seen) / 1024,
            "errors": sum(block["errors"].values()), "invalid": block["invalid"]}, None


def table(servers, found, left_out):
    """The medians so far, as text."""
    lines = [f"{name}: {about(url)}" for name, url, _ in sorted(servers)]
    lines += ["", f"{'server':<14}{'connections':>12}{'changes/s':>11}{'of 16':>8}{'CPU us':>9}{'of 16':>8}{'switches':>10}{'threads':>9}{'RSS MB':>9}  rounds"]
    middle = {key: {figure: statistics.median(one[figure] for one in rounds) for figure in rounds[0] if figure not in ("invalid", "errors")}
              for key, rounds in found.items()}
    for (name, connections), figures in sorted(middle.items()):
        of = middle.get((name, 16))
        rounds = found[name, connections]
        errors = sum(one["errors"] for one in rounds)
        ratios = [f"{figures[key] / of[key]:.2f}" if of else "-" for key in ("per_s", "cpu_us")]
        lines.append(f"{name:<14}{connections:>12}{figures['per_s']:>11.0f}{ratios[0]:>8}{figures['cpu_us']:>9.1f}{ratios[1]:>8}{figures['switches']:>10.2f}"
                     f"{figures['threads']:>9.0f}{figures['resident_mb']:>9.0f}  {len(rounds)}" + (f", {errors} errors" if errors else ""))
    lines += [f"{name}: {why}" for name, why in sorted(left_out.items())]
    return "\n".join(lines) + "\n"


def said(figures):
    return (f"{figures['per_s']:.0f}/s, {figures['cpu_us']:.1f} us CPU, {figures['switches']:.2f} switches, {figures['threads']} threads, "
            f"{figures['resident_mb']:.0f} MB")


def main():
    given = turns.arguments(__doc__, "1,16,256,1024,4096")
    turns.rounds(given, one, said, lambda found, left_out: table(given.servers, found, left_out))


if __name__ == "__main__":
    main()
