#!/usr/bin/env python3
"""What a checkpoint costs those who commit: p50 and p99 of single-row updates while one runs and while none does.

    lab/checkpoint/checkpoint.py --binary target/release/invar [--seconds 130] [--rate 2000] [--connections 16] [--rows 500000]
    lab/checkpoint/checkpoint.py --connect mysql://peer:peer@127.0.0.1:23097

Each connection is a process that updates rows drawn uniformly, autocommit, at its share of the rate: a time is measured from when the update
was due, so that one that waits is not lost from the others' figures. A session of its own asks every 20 ms whether a checkpoint runs
(`Store_checkpoint_running`, `Store_checkpoints`); an update counts as during one if it overlaps a stretch in which one ran. Checkpoints begin by themselves: after 60 s,
or when enough has changed. A server without such counters (MySQL writes pages all the time) gets the figures over all. With --rate 0 each
connection sends the next update at once.

`--worst` also gives the p99 of the worst whole second. Needs PyMySQL."""

import argparse
import array
import bisect
import multiprocessing
import os
import random
import shutil
import subprocess
import tempfile
import threading
import time
import urllib.parse

import pymysql

POLL_S = 0.02
BATCH = 500


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary")
    parser.add_argument("--port", type=int, default=25941)
    parser.add_argument("--pool", default="512M")
    parser.add_argument("--data-dir", help="where the server keeps its data, else a temporary folder")
    parser.add_argument("--connect", help="a running server instead")
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--seconds", type=int, default=130)
    parser.add_argument("--rate", type=float, default=2000, help="updates a second of all connections, 0: as fast as they can")
    parser.add_argument("--worst", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def connect(to, **more):
    for _ in range(300):
        try:
            return pymysql.connect(**to, autocommit=True, **more)
        except pymysql.err.OperationalError:
            time.sleep(0.1)
    raise SystemExit("the server does not answer")


def work(number, to, options, begin, results):
    """One connection: (start, end) of each update, in nanoseconds of the monotonic clock."""
    cursor = connect(to, database="checkpoint_lab").cursor()
    rng = random.Random(options.seed * 1000 + number)
    times = array.array("q")
    pause = int(1e9 * options.connections / options.rate) if options.rate else 0
    begin.wait()
    end = time.monotonic_ns() + options.seconds * 1_000_000_000
    due = time.monotonic_ns() + rng.randrange(pause or 1)
    while due < end:
        wait = due - time.monotonic_ns()
        if wait > 0:
            time.sleep(wait / 1e9)
        started = due if pause else time.monotonic_ns()
        cursor.execute(f"UPDATE t SET k = k + 1 WHERE id = {rng.randrange(options.rows)}")
        now = time.monotonic_ns()
        times.extend((started, now))
        due = due + pause if pause else now
    results.put(times.tobytes())


class Watch(threading.Thread):
    """Notes when checkpoints ran."""

    def __init__(self, to):
        super().__init__(daemon=True)
        self.cursor = connect(to).cursor()
        self.stretches = []
        self.ended = False

    def ask(self):
        self.cursor.execute("SHOW GLOBAL STATUS LIKE 'Store_checkpoint%'")
        return {name: int(value) for name, value in self.cursor.fetchall()}

    def run(self):
        before = self.ask()
        if "Store_checkpoint_running" not in before:
            return
        at = time.monotonic_ns()
        while not self.ended:
            time.sleep(POLL_S)
            now, status = time.monotonic_ns(), self.ask()
            ran = status["Store_checkpoint_running"] or before["Store_checkpoint_running"]
            if ran or status["Store_checkpoints"] != before["Store_checkpoints"]:
                if self.stretches and self.stretches[-1][1] == at:
                    self.stretches[-1][1] = now
                else:
                    self.stretches.append([at, now])
            before, at = status, now


def percentile(ordered, share):
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)] / 1e6


def say(what, taken):
    taken = sorted(taken)
    if not taken:
        print(f"{what:24} none")
        return None
    figures = "  ".join(f"p{share * 100:g} {percentile(taken, share):8.2f} ms" for share in (0.5, 0.9, 0.99, 0.999))
    print(f"{what:24} {len(taken):8} updates  {figures}  max {taken[-1] / 1e6:8.2f} ms", flush=True)
    return percentile(taken, 0.99)


def load(to, options):
    cursor = connect(to).cursor()
    for statement in ("DROP DATABASE IF EXISTS checkpoint_lab", "CREATE DATABASE checkpoint_lab", "USE checkpoint_lab",
                      "CREATE TABLE t (id INT PRIMARY KEY, k INT NOT NULL, s VARCHAR(200) NOT NULL)"):
        cursor.execute(statement)
    for first in range(0, options.rows, BATCH):
        rows = ",".join(f"({key},0,REPEAT('x',180))" for key in range(first, min(first + BATCH, options.rows)))
        cursor.execute("INSERT INTO t VALUES " + rows)
    cursor.execute("SELECT VERSION()")
    return cursor.fetchone()[0]


def measure(to, options):
    version = load(to, options)
    time.sleep(3)
    watch = Watch(to)
    begin, results = multiprocessing.Barrier(options.connections + 1), multiprocessing.Queue()
    workers = [multiprocessing.Process(target=work, args=(number, to, options, begin, results)) for number in range(options.connections)]
    for worker in workers:
        worker.start()
    begin.wait()
    watch.start()
    times = array.array("q")
    for _ in workers:
        times.frombytes(results.get())
    for worker in workers:
        worker.join()
    watch.ended = True
    watch.join()

    print(f"# {version}, {options.rows} rows, {options.connections} connections, {options.seconds} s, "
          f"{options.rate or 'unlimited'} updates/s wanted, {len(times) // 2 / options.seconds:.0f} done")
    starts = [stretch[0] for stretch in watch.stretches]
    during, outside, seconds = [], [], {}
    for started, ended in zip(times[::2], times[1::2]):
        at = bisect.bisect_right(starts, ended) - 1
        overlaps = at >= 0 and watch.stretches[at][1] >= started
        (during if overlaps else outside).append(ended - started)
        seconds.setdefault(ended // 1_000_000_000, []).append(ended - started)
    say("all", during + outside)
    if watch.stretches:
        ran = sum(end - start for start, end in watch.stretches) / 1e9
        print(f"{len(watch.stretches)} stretches with checkpoints, {ran:.2f} s in all")
        with_one, without = say("while a checkpoint ran", during), say("while none ran", outside)
        if with_one and without:
            print(f"p99 with / without: {with_one / without:.2f}")
    if options.worst:
        worst = max(seconds.values(), key=lambda taken: percentile(sorted(taken), 0.99))
        say("worst second", worst)


def main():
    options = arguments()
    if options.connect:
        url = urllib.parse.urlparse(options.connect)
        to = {"host": url.hostname, "port": url.port or 3306, "user": url.username, "password": url.password or ""}
        measure(to, options)
        connect(to).cursor().execute("DROP DATABASE checkpoint_lab")
        return
    folder = tempfile.mkdtemp(prefix="checkpoint-", dir=options.data_dir)
    server = subprocess.Popen(
        [options.binary, "serve", "--no-defaults", "--data-dir", os.path.join(folder, "data"), "--port", str(options.port), "--skip-ssl",
         f"--innodb-buffer-pool-size={options.pool}", "--socket", os.path.join(folder, "socket")],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        measure({"host": "127.0.0.1", "port": options.port, "user": "root", "password": ""}, options)
    finally:
        server.terminate()
        server.wait()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
