#!/usr/bin/env python3
"""Rivals in one run: sysbench workloads against several servers on this machine, arms interleaved.

    lab/rivals/run.py --server invar=3307:root::PID --server mysql97=23097:peer:peer:PID \\
        [--workloads point_select_ps,...] [--threads 1,16] [--rounds 3] [--seconds 5] [--rows 250000] [--out FILE]

A server is NAME=PORT:USER:PASSWORD:PID (PID: a number or a file that holds it); a path instead of a port is a Unix socket. For each workload and thread count the
servers take turns, `rounds` times; reported are the medians of queries per second and of server CPU per query (user +
system time of the whole process, threads that ended included). Needs sysbench 1.0 with its oltp_*.lua scripts."""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys

WORKLOADS = {
    "point_select_ps": ("oltp_point_select", ["--db-ps-mode=auto"]),
    "point_select_text": ("oltp_point_select", ["--db-ps-mode=disable"]),
    "read_only": ("oltp_read_only", ["--db-ps-mode=auto"]),
    "read_write": ("oltp_read_write", ["--db-ps-mode=auto"]),
    "insert": ("oltp_insert", ["--db-ps-mode=auto"]),
    "update_index": ("oltp_update_index", ["--db-ps-mode=auto"]),
    "update_non_index": ("oltp_update_non_index", ["--db-ps-mode=auto"]),
    "write_only": ("oltp_write_only", ["--db-ps-mode=auto"]),
    "delete": ("oltp_delete", ["--db-ps-mode=auto"]),
    "bulk_insert": ("bulk_insert", []),
}
TICKS = os.sysconf("SC_CLK_TCK")


class Server:
    def __init__(self, text):
        self.name, rest = text.split("=", 1)
        self.port, self.user, self.password, pid = rest.split(":", 3)
        self.address = [f"--mysql-socket={self.port}"] if "/" in self.port else ["--mysql-host=127.0.0.1", f"--mysql-port={self.port}"]
        self.pid = int(open(pid).read()) if os.path.exists(pid) else int(pid)

    def cpu_seconds(self):
        fields = open(f"/proc/{self.pid}/stat").read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS


def sysbench(server, script, options, command):
    arguments = ["sysbench", script, *server.address, f"--mysql-user={server.user}",
                 f"--mysql-password={server.password}", "--mysql-db=sbtest", *options, command]
    done = subprocess.run(arguments, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{server.name}: {' '.join(arguments)}\n{done.stdout[-1500:]}{done.stderr[-1500:]}")
    return done.stdout


def measure(server, workload, threads, options, seconds):
    script, extra = WORKLOADS[workload]
    before = server.cpu_seconds()
    out = sysbench(server, script, [*options, *extra, f"--threads={threads}", f"--time={seconds}", "--report-interval=0"], "run")
    cpu = server.cpu_seconds() - before
    queries = int(re.search(r"queries:\s+(\d+)", out).group(1))
    errors = int(re.search(r"ignored errors:\s+(\d+)", out).group(1))
    taken = float(re.search(r"total time:\s+([\d.]+)s", out).group(1))
    return {"qps": queries / taken, "cpu_us": 1e6 * cpu / max(queries, 1), "errors": errors}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", action="append", required=True)
    parser.add_argument("--workloads", default="point_select_ps,point_select_text,read_only,read_write,insert,update_index")
    parser.add_argument("--threads", default="1,16")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--tables", type=int, default=4)
    parser.add_argument("--rows", type=int, default=250000)
    parser.add_argument("--no-prepare", action="store_true")
    parser.add_argument("--out")
    given = parser.parse_args()
    servers = [Server(text) for text in given.server]
    data = [f"--tables={given.tables}", f"--table-size={given.rows}"]
    if not given.no_prepare:
        for server in servers:
            sysbench(server, "oltp_read_write", data, "cleanup")
            sysbench(server, "oltp_read_write", data, "prepare")
    results = []
    print(f"{'workload':20} {'threads':>7} " + " ".join(f"{server.name:>24}" for server in servers))
    for workload in given.workloads.split(","):
        for threads in given.threads.split(","):
            rounds = {server.name: [] for server in servers}
            for turn in range(given.rounds):
                order = servers if turn % 2 == 0 else servers[::-1]
                for server in order:
                    rounds[server.name].append(measure(server, workload, threads, data, given.seconds))
            cells = []
            for server in servers:
                runs = rounds[server.name]
                row = {"workload": workload, "threads": int(threads), "server": server.name,
                       "qps": statistics.median(run["qps"] for run in runs),
                       "cpu_us": statistics.median(run["cpu_us"] for run in runs),
                       "errors": sum(run["errors"] for run in runs), "rounds": runs}
                results.append(row)
                cells.append(f"{row['qps']:10.0f}/s {row['cpu_us']:8.1f}us")
            print(f"{workload:20} {threads:>7} " + " ".join(f"{cell:>24}" for cell in cells), flush=True)
    if given.out:
        with open(given.out, "w") as file:
            json.dump({"arguments": vars(given), "results": results}, file, indent=1)


main()
