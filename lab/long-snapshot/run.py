#!/usr/bin/env python3
"""What one old snapshot costs the others: updates per second, CPU per update and memory, without and with it.

    lab/long-snapshot/run.py --binary target/release/invar [--port 25930] [--seconds 180] [--connections 4] [--rows 100000]
        [--script oltp_update_non_index] [--pool 128M] [--out FILE]

Starts the server on an empty folder, prepares one sysbench table, and runs the script three times for as long: alone, beside a
session that holds START TRANSACTION WITH CONSISTENT SNAPSHOT and has read the table's sum, alone again. While it runs it notes
the server's resident memory every 10 s, and the undo's size from SHOW GLOBAL STATUS. At the end the old session reads its sum once more:
the same as before, or this fails. Updates per second depend on the machine's other work; CPU per update (user + system of the
server's process) less so."""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

SCRIPTS = "/usr/share/sysbench"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--port", type=int, default=25930)
    parser.add_argument("--seconds", type=int, default=180)
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


class Run:
    def __init__(self, options):
        self.options = options
        self.out = open(options.out, "w") if options.out else None
        self.folder = tempfile.mkdtemp(prefix="long-snapshot-")
        self.server = subprocess.Popen(
            [options.binary, "serve", "--data-dir", os.path.join(self.folder, "data"), "--port", str(options.port), "--skip-ssl",
             f"--innodb-buffer-pool-size={options.pool}", "--socket", os.path.join(self.folder, "socket")],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.mysql = ["mysql", "--no-defaults", "-h127.0.0.1", f"-P{options.port}", "-uroot"]

    def say(self, line):
        print(line, flush=True)
        if self.out:
            print(line, file=self.out, flush=True)

    def sql(self, text):
        done = subprocess.run([*self.mysql, "-N", "-B", "-e", text], capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{text}: {done.stderr.strip()}")
        return [line.split("\t") for line in done.stdout.splitlines()]

    def wait_for_server(self):
        for _ in range(300):
            if subprocess.run([*self.mysql, "-e", "DO 0"], capture_output=True).returncode == 0:
                return
            time.sleep(0.2)
        raise SystemExit("the server does not answer")

    def cpu_s(self):
        with open(f"/proc/{self.server.pid}/stat") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def rss_mb(self):
        with open(f"/proc/{self.server.pid}/status") as status:
            return int(re.search(r"VmRSS:\s+(\d+)", status.read())[1]) / 1024

    def undo(self):
        rows = dict(self.sql("SHOW GLOBAL STATUS LIKE 'Store_%'"))
        mb = lambda name: int(rows.get(name, 0)) / (1 << 20)
        return mb("Store_undo_bytes_in_memory"), mb("Store_undo_bytes_in_file")

    def sysbench(self, *words):
        o = self.options
        return ["sysbench", f"{SCRIPTS}/{o.script}.lua", "--mysql-host=127.0.0.1", f"--mysql-port={o.port}", "--mysql-user=root",
                "--mysql-db=sbtest", "--tables=1", f"--table-size={o.rows}", f"--threads={o.connections}", *words]

    def phase(self, name):
        seconds = self.options.seconds
        cpu = self.cpu_s()
        load = subprocess.Popen(self.sysbench(f"--time={seconds}", "run"), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        seen = []
        for _ in range(max(seconds // 10, 1)):
            time.sleep(min(10, seconds))
            seen.append((self.rss_mb(), *self.undo()))
        text = load.communicate()[0]
        found = re.search(r"transactions: +(\d+) +\(([0-9.]+) per sec", text)
        if not found or "FATAL" in text:
            raise SystemExit(text)
        updates = int(found[1])
        rss = " ".join(f"{moment[0]:.0f}" for moment in seen[::3])
        self.say(f"{name:24} {float(found[2]):8.0f} updates/s  {(self.cpu_s() - cpu) / updates * 1e6:6.1f} us CPU each  {updates} in all  "
                 f"undo at the end {seen[-1][1]:.1f} MB in memory, {seen[-1][2]:.1f} MB in the file  RSS every 30 s, MB: {rss}")

    def whole(self):
        o = self.options
        self.wait_for_server()
        self.say(f"# {self.sql('SELECT VERSION()')[0][0]}, {o.script}, {o.rows} rows, {o.connections} connections, pool {o.pool}, "
                 f"{o.seconds} s each; undo in memory: an eighth of the pool")
        self.sql("CREATE DATABASE sbtest")
        done = subprocess.run(self.sysbench("prepare"), capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(done.stdout + done.stderr)
        self.phase("alone")
        old = Old(self.mysql)
        total = "SELECT COUNT(*), SUM(k), SUM(CRC32(c)) FROM sbtest1"
        before = old.ask("START TRANSACTION WITH CONSISTENT SNAPSHOT", total)
        self.phase("beside an old snapshot")
        began = time.monotonic()
        after = old.ask(total)
        self.say(f"{'the old snapshot':24} reads the table in {time.monotonic() - began:.2f} s: "
                 f"{'the same as before' if before == after else f'WRONG: {before!r} became {after!r}'}")
        wrong = before != after or old.end() != 0
        self.phase("alone again")
        time.sleep(2)
        self.say(f"{'afterwards':24} undo {self.undo()[0]:.1f} MB in memory, {self.undo()[1]:.1f} MB in the file, RSS {self.rss_mb():.0f} MB")
        return wrong

    def end(self):
        self.server.terminate()
        self.server.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


if __name__ == "__main__":
    run = Run(arguments())
    try:
        sys.exit(1 if run.whole() else 0)
    finally:
        run.end()
