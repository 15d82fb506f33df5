#!/usr/bin/env python3
"""The first incident, on any servers and drivers: CPU and time of one INSERT of many rows x 24 columns.

    lab/incidents/run.py --server invar=3307:root::PID --server mysql57=3306:user:password:PID \\
        --driver connector-j-8.3.0.jar [--driver ...] [--modes prepared,text] [--sizes 20,500] [--rows 500] \\
        [--logs off,all] [--growth 125,250,500,1000,2700] [--rounds 1] [--cpu-ms 1000] [--repeats 20] [--out FILE]

A server is NAME=PORT:USER:PASSWORD:PID (PID: a number or a file that holds it); its user may set global variables. Logs are
off, slow (on, nothing qualifies) or all (general log, and slow log with long_query_time=0). For each line of the table the
servers take turns, `rounds` times; reported are the medians of the statement's milliseconds and of the server's CPU
milliseconds per statement (user + system time of the whole process, over at least `cpu-ms` of it). `growth` runs prepared
statements of that many rows, logs off, with the first driver and the first size. Afterwards the ratios that are promised:
prepared to text, logs on to off, to the best rival (servers behind the first), and the cost per row at most to at fewest rows.

Log files that the server wrote under its data folder are removed after each run with logs, if they can be reached. Needs a
JDK (javac and java)."""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "PreparedBulkInsert.java")


class Server:
    def __init__(self, text):
        self.name, rest = text.split("=", 1)
        self.port, self.user, self.password, pid = rest.split(":", 3)
        self.pid = open(pid).read().strip() if os.path.exists(pid) else pid


def run(folder, server, driver, rows, size, mode, logs, given):
    arguments = ["java", "-Xmx2g", "-XX:+UseSerialGC", "-cp", f"{driver}:{folder}", "PreparedBulkInsert", server.port, server.user,
                 server.password, server.pid, str(rows), str(size), mode, logs, str(given.cpu_ms), str(given.repeats)]
    done = subprocess.run(arguments, capture_output=True, text=True)
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    if done.returncode != 0 or not lines:
        sys.exit(f"{server.name}: {' '.join(arguments)}\n{done.stdout[-1500:]}{done.stderr[-3000:]}")
    repeats, ms, cpu_ms = lines[-1].split()
    if logs != "off":
        forget_logs(server)
    return {"repeats": int(repeats), "ms": float(ms), "cpu_ms": float(cpu_ms)}


def forget_logs(server):
    """Removes what the query logs of the server hold open or held: they are off now, and are made again when needed."""
    names = subprocess.run(["mysql", "--no-defaults", "-h127.0.0.1", f"-P{server.port}", f"-u{server.user}", f"-p{server.password}", "-NB",
                            "-e", "SELECT @@datadir, @@general_log_file, @@slow_query_log_file"], capture_output=True, text=True).stdout.split()
    for name in names[1:]:
        path = os.path.join(names[0], name)
        if os.path.isfile(path):
            os.remove(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", action="append", required=True)
    parser.add_argument("--driver", action="append", required=True)
    parser.add_argument("--modes", default="prepared,text")
    parser.add_argument("--sizes", default="20,500")
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--logs", default="off,all")
    parser.add_argument("--growth", default="")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--cpu-ms", type=float, default=1000)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--out")
    given = parser.parse_args()
    servers = [Server(text) for text in given.server]
    name_of = lambda driver: os.path.basename(driver).removesuffix(".jar")
    sizes = [int(size) for size in given.sizes.split(",")]
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["javac", "-d", folder, PROGRAM], check=True)

        def line(driver, rows, size, mode, logs):
            runs = {server.name: [] for server in servers}
            for turn in range(given.rounds):
                for server in servers if turn % 2 == 0 else servers[::-1]:
                    runs[server.name].append(run(folder, server, driver, rows, size, mode, logs, given))
            cells = []
            for server in servers:
                cell = {key: statistics.median(one[key] for one in runs[server.name]) for key in ("ms", "cpu_ms")}
                results[name_of(driver), rows, size, mode, logs, server.name] = cell
                cells.append(f"{cell['ms']:9.1f} ms {cell['cpu_ms']:8.2f} cpu")
            print(f"{name_of(driver):>12} {rows:5} x {size:4} B {mode:>9} logs {logs:>4} " + " ".join(f"{cell:>25}" for cell in cells), flush=True)

        print(f"{'driver':>12} {'rows x value':>14} {'mode':>9} {'':9} " + " ".join(f"{server.name:>25}" for server in servers))
        for driver in given.driver:
            for size in sizes:
                for logs in given.logs.split(","):
                    for mode in given.modes.split(","):
                        line(driver, given.rows, size, mode, logs)
        growth = [int(rows) for rows in given.growth.split(",") if rows]
        for rows in growth:
            line(given.driver[0], rows, sizes[0], "prepared", "off")

    ours = servers[0].name

    def cpu(key, server=ours):
        cell = results.get((*key, server))
        return cell["cpu_ms"] if cell else None

    print(f"\nratios of {ours}, by server CPU")
    for (driver, rows, size, mode, logs, server), cell in results.items():
        if server != ours or rows != given.rows:
            continue
        notes = []
        text = cpu((driver, rows, size, "text", logs))
        if mode == "prepared" and text:
            notes.append(f"{cell['cpu_ms'] / text:.2f}x of text")
        off = cpu((driver, rows, size, mode, "off"))
        if logs != "off" and off:
            notes.append(f"{cell['cpu_ms'] / off:.2f}x of logs off")
        rivals = [cpu((driver, rows, size, mode, logs), other.name) for other in servers[1:]]
        if rivals:
            notes.append(f"{cell['cpu_ms'] / min(rivals):.2f}x of the best rival")
        print(f"{driver:>12} {rows:5} x {size:4} B {mode:>9} logs {logs:>4}  {', '.join(notes)}")
    if len(growth) > 1:
        first, last = ({rows: cpu((name_of(given.driver[0]), rows, sizes[0], "prepared", "off")) / rows for rows in growth}[rows]
                       for rows in (min(growth), max(growth)))
        print(f"CPU per row at {max(growth)} rows: {last / first:.2f}x of that at {min(growth)} rows")
    if given.out:
        with open(given.out, "w") as file:
            json.dump([dict(zip(("driver", "rows", "value_bytes", "mode", "logs", "server"), key), **cell) for key, cell in results.items()],
                      file, indent=1)


main()
