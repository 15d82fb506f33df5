#!/usr/bin/env python3
"""What one old snapshot costs the others: updates per second, CPU per update, latency and memory, with and without it.

    lab/long-snapshot/run.py --binary target/release/invar [--port 25930] [--seconds 180] [--edge-seconds N] [--rate 5000] [--beside]
        [--connections 4] [--rows 100000] [--script oltp_update_non_index] [--pool 128M] [--out FILE]

Starts the server on an empty folder, prepares one sysbench table, and runs the script three times: alone, beside a session that holds
START TRANSACTION WITH CONSISTENT SNAPSHOT and has read the table's sum (`--seconds`), alone again (`--edge-seconds`, by default as long). With
`--rate` each server gets that many updates a second, else as many as the connections manage. With `--beside` a second server of the same
kind bears the same load at the same time and nobody holds a snapshot there: what else the machine does meets both alike, so that an
hour can be told on a crowded one. At the end the old session reads its sum once more: the same as before, or this fails.

Latencies are sysbench's, the median over its reports every 10 s; CPU is user + system time of the server's process; memory is the
server's resident set and what SHOW GLOBAL STATUS says of the undo."""

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

SCRIPTS = "/usr/share/sysbench"
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
REPORT_SECONDS = 10
SUM = "SELECT COUNT(*), SUM(k), SUM(CRC32(c)) FROM sbtest1"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--port", type=int, default=25930)
    parser.add_argument("--seconds", type=int, default=180)
    parser.add_argument("--edge-seconds", type=int)
    parser.add_argument("--rate", type=int, default=0)
    parser.add_argument("--beside", action="store_true")
    parser.add_argument("--connections", type=int, default=4)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--script", default="oltp_update_non_index")
    parser.add_argument("--pool", default="128M")
    parser.add_argument("--out")
    return parser.parse_args()


class Old:
    """A session that stays open: statements in, lines out."""

    def __init__(self, command):
        self.client = subprocess.Popen([*command, "-N", "-B", "-n", "sbtest"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, *statements):
        for statement in statements:
            self.client.stdin.write(statement + ";\n")
        self.client.stdin.flush()
        return self.client.stdout.readline().strip()

    def end(self):
        self.client.stdin.close()
        return self.client.wait()


class Server:
    """One server on an empty folder, and the load on it."""

    def __init__(self, name, port, options):
        self.name, self.port, self.options = name, port, options
        self.folder = tempfile.mkdtemp(prefix="long-snapshot-")
        self.process = subprocess.Popen(
            [options.binary, "serve", "--data-dir", os.path.join(self.folder, "data"), "--port", str(port), "--skip-ssl",
             f"--innodb-buffer-pool-size={options.pool}", "--socket", os.path.join(self.folder, "socket")],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.mysql = ["mysql", "--no-defaults", "-h127.0.0.1", f"-P{port}", "-uroot"]

    def sql(self, text):
        done = subprocess.run([*self.mysql, "-N", "-B", "-e", text], capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{self.name}: {text}: {done.stderr.strip()}")
        return [line.split("\t") for line in done.stdout.splitlines()]

    def wait_until_ready(self):
        for _ in range(300):
            if subprocess.run([*self.mysql, "-e", "DO 0"], capture_output=True).returncode == 0:
                return
            time.sleep(0.2)
        raise SystemExit(f"{self.name} does not answer")

    def prepare(self):
        self.wait_until_ready()
        self.sql("CREATE DATABASE sbtest")
        done = subprocess.run(self.sysbench("prepare"), capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(done.stdout + done.stderr)

    def sysbench(self, *words):
        o = self.options
        return ["sysbench", f"{SCRIPTS}/{o.script}.lua", "--mysql-host=127.0.0.1", f"--mysql-port={self.port}", "--mysql-user=root",
                "--mysql-db=sbtest", "--tables=1", f"--table-size={o.rows}", f"--threads={o.connections}", *words]

    def cpu_s(self):
        with open(f"/proc/{self.process.pid}/stat") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS_PER_S

    def rss_mb(self):
        with open(f"/proc/{self.process.pid}/status") as status:
            return int(re.search(r"VmRSS:\s+(\d+)", status.read())[1]) / 1024

    def undo_mb(self):
        """In memory, in the file."""
        rows = dict(self.sql("SHOW GLOBAL STATUS LIKE 'Store_undo_bytes%'"))
        return tuple(int(rows[f"Store_undo_bytes_in_{where}"]) / (1 << 20) for where in ("memory", "file"))

    def begin(self, seconds):
        self.cpu_before_s, self.seen = self.cpu_s(), []
        self.load = subprocess.Popen(
            self.sysbench(f"--time={seconds}", f"--rate={self.options.rate}", "--percentile=99", f"--report-interval={REPORT_SECONDS}", "run"),
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def look(self):
        self.seen.append((self.rss_mb(), *self.undo_mb()))

    def end_load(self):
        """(updates, CPU us each), and a line that tells all."""
        text = self.load.communicate()[0]
        found = re.search(r"transactions: +(\d+) +\(([0-9.]+) per sec", text)
        if not found or "FATAL" in text:
            raise SystemExit(text)
        updates = int(found[1])
        cpu_us = (self.cpu_s() - self.cpu_before_s) / updates * 1e6
        mean_ms = float(re.search(r"avg: +([0-9.]+)", text)[1])
        p99_ms = statistics.median(float(ms) for ms in re.findall(r"lat \(ms,99%\): ([0-9.]+)", text))
        marks = self.seen[:: max(len(self.seen) // 12, 1)]
        told = (f"{float(found[2]):7.0f} updates/s {cpu_us:6.1f} us CPU each  mean {mean_ms:.2f} ms, p99 {p99_ms:.2f} ms  {updates} in all  "
                f"undo {self.seen[-1][1]:.1f} MB in memory, {self.seen[-1][2]:.1f} MB in the file  "
                f"RSS MB: {' '.join(f'{moment[0]:.0f}' for moment in marks)}  undo file MB: {' '.join(f'{moment[2]:.0f}' for moment in marks)}")
        return updates, cpu_us, told

    def end(self):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


class Run:
    def __init__(self, options):
        self.options = options
        self.out = open(options.out, "w") if options.out else None
        names = ["held", "control"] if options.beside else ["held"]
        self.servers = [Server(name, options.port + number, options) for number, name in enumerate(names)]

    def say(self, line):
        print(line, flush=True)
        if self.out:
            print(line, file=self.out, flush=True)

    def phase(self, name, seconds):
        for server in self.servers:
            server.begin(seconds)
        began = time.monotonic()
        while time.monotonic() - began + REPORT_SECONDS < seconds:
            time.sleep(REPORT_SECONDS)
            for server in self.servers:
                server.look()
            if any(server.load.poll() is not None for server in self.servers):
                for server in self.servers:
                    server.load.terminate()
                    print(f"{name}, {server.name}: the load ended early\n{server.load.communicate()[0]}")
                raise SystemExit("a load ended early, see above")
        time.sleep(max(0, seconds - (time.monotonic() - began) - 1))
        cpu_us = []
        for server in self.servers:
            server.look()
        for server in self.servers:
            _, each, told = server.end_load()
            cpu_us.append(each)
            self.say(f"{name:24}{server.name:8}{told}")
        if len(cpu_us) == 2:
            self.say(f"{'':24}CPU of an update, held to control: {cpu_us[0] / cpu_us[1]:.3f}")

    def whole(self):
        o, held = self.options, self.servers[0]
        for server in self.servers:
            server.prepare()
        self.say(f"# {held.sql('SELECT VERSION()')[0][0]}, {o.script}, {o.rows} rows, {o.connections} connections, "
                 f"{o.rate or 'as many as they can'} updates/s, pool {o.pool}, {o.seconds} s; undo in memory: an eighth of the pool")
        edge = o.edge_seconds or o.seconds
        self.phase("alone", edge)
        old = Old(held.mysql)
        before = old.ask("START TRANSACTION WITH CONSISTENT SNAPSHOT", SUM)
        self.phase("beside an old snapshot", o.seconds)
        began = time.monotonic()
        after = old.ask(SUM)
        self.say(f"{'the old snapshot':24} reads the table in {time.monotonic() - began:.2f} s: "
                 f"{'the same as before' if before == after else f'WRONG: {before!r} became {after!r}'}")
        wrong = before != after or old.end() != 0
        self.phase("alone again", edge)
        time.sleep(2)
        memory, file = held.undo_mb()
        self.say(f"{'afterwards':24} undo {memory:.1f} MB in memory, {file:.1f} MB in the file, RSS {held.rss_mb():.0f} MB")
        return wrong

    def end(self):
        for server in self.servers:
            server.end()


if __name__ == "__main__":
    run = Run(arguments())
    try:
        sys.exit(1 if run.whole() else 0)
    finally:
        run.end()
