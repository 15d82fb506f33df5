#!/usr/bin/env python3
"""What a client costs: CPU per prepared point select of our load driver, of sysbench, and of the least that is possible.

    lab/client-cost/run.py --port 3306 --socket /path/sock [--invar target/release/invar] [--rounds 3] [--seconds 2] [--out FILE]

All against one server (root without a password), in turn, in a new random order each round, over TCP and a Unix socket, with 1
and 16 connections:
  invar     `invar lab run point-select`: CPU of its client threads over operations, as it notes it in each block
  sysbench  `oltp_point_select --db-ps-mode=auto`: user and system time of the process over queries (it starts and connects
            within that; --seconds of load make that small)
  floor     floor.rs: one send and one receive of ready bytes each, nothing looked at: what the kernel takes
Reported are medians, and how much of it each spends above the floor. Needs sysbench 1.0 and rustc."""

import argparse
import json
import os
import random
import re
import resource
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
ROWS = 10000


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 1, 3):
        sys.exit(f"{' '.join(command)}\n{done.stdout[-800:]}{done.stderr[-800:]}")
    return done.stdout


def children_cpu():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def invar(given, address, connections, folder):
    with open(os.path.join(ROOT, "lab/scenarios/point-select.toml")) as file:
        text = file.read().replace('mode = "closed"', f'mode = "closed"\nblock_ms = {int(given.seconds * 1000)}')
    scenario, out = os.path.join(folder, "point-select.toml"), os.path.join(folder, "run.json")
    with open(scenario, "w") as file:
        file.write(text)
    place = f"127.0.0.1:{given.port}" if address == "tcp" else given.socket.replace("/", "%2F")
    for _ in range(3):
        run([given.invar, "lab", "run", scenario, "--schema", "invar_lab", "--server", f"a=mysql://root@{place}", "--connections", str(connections),
             "--rounds", "1,1", "--no-twin", "--time-budget", str(given.seconds * 2), "--quiet", "--json", out])
        with open(out) as file:
            every = json.load(file)["blocks"]
        blocks = [block for block in every if not block.get("invalid")]
        if blocks:
            break
    else:
        sys.exit(f"no block counts, three times: {sorted({str(block['invalid']) for block in every})}")
    return statistics.median(block["client_cpu_ns_per_op"] for block in blocks), statistics.median(block["qps"] for block in blocks)


def sysbench_options(given, address):
    place = ["--mysql-host=127.0.0.1", f"--mysql-port={given.port}"] if address == "tcp" else [f"--mysql-socket={given.socket}"]
    return [*place, "--mysql-user=root", "--mysql-db=sbtest", "--tables=1", f"--table-size={ROWS}"]


def sysbench(given, address, connections, _):
    before = children_cpu()
    out = run(["sysbench", "oltp_point_select", *sysbench_options(given, address), "--db-ps-mode=auto", f"--threads={connections}",
               f"--time={given.seconds:.0f}", "--report-interval=0", "run"])
    cpu = children_cpu() - before
    queries = int(re.search(r"queries:\s+(\d+)", out).group(1))
    return cpu * 1e9 / queries, queries / given.seconds


def floor(given, address, connections, folder):
    place = f"tcp:127.0.0.1:{given.port}" if address == "tcp" else f"unix:{given.socket}"
    operations, cpu = run([os.path.join(folder, "floor"), place, str(connections), str(given.seconds)]).split()
    return float(cpu), int(operations) / given.seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--socket", required=True)
    parser.add_argument("--invar", default=os.path.join(ROOT, "target/release/invar"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--connections", default="1,16")
    parser.add_argument("--out")
    given = parser.parse_args()
    programs = {"invar": invar, "sysbench": sysbench, "floor": floor}
    counts = [int(count) for count in given.connections.split(",")]
    cells = [(name, address, count) for address in ("tcp", "unix") for count in counts for name in programs]
    found = {cell: [] for cell in cells}
    with tempfile.TemporaryDirectory() as folder:
        run(["rustc", "-O", "--edition", "2024", os.path.join(HERE, "floor.rs"), "-o", os.path.join(folder, "floor")])
        options = sysbench_options(given, "tcp")
        run(["sysbench", "oltp_point_select", *options, "cleanup"])
        run(["sysbench", "oltp_point_select", *options, "prepare"])
        for _ in range(given.rounds):
            random.shuffle(cells)
            for name, address, count in cells:
                found[name, address, count].append(programs[name](given, address, count, folder))
        run(["sysbench", "oltp_point_select", *options, "cleanup"])
    lines = [f"CPU of the client per prepared point select, microseconds; median of {given.rounds} rounds of {given.seconds:.0f} s, load average {os.getloadavg()[0]:.1f}",
             "", f"{'':22}{'invar lab':>22}{'sysbench':>22}{'floor':>22}{'above the floor':>26}"]
    for address in ("tcp", "unix"):
        for count in counts:
            cpu = {name: [one[0] / 1000 for one in found[name, address, count]] for name in programs}
            middle = {name: statistics.median(values) for name, values in cpu.items()}
            shown = "".join(f"{middle[name]:8.1f} ({min(cpu[name]):.1f}-{max(cpu[name]):.1f})".rjust(22) for name in programs)
            lines.append(f"{address + ', ' + str(count) + ' connections':22}{shown}"
                         + f"  {middle['invar'] - middle['floor']:+8.1f} {middle['sysbench'] - middle['floor']:+8.1f}".rjust(26))
    lines += ["", "In brackets least and most. The last column: invar lab, then sysbench."]
    print("\n".join(lines))
    if given.out:
        with open(given.out, "w") as file:
            file.write("$ " + " ".join(["lab/client-cost/run.py", *sys.argv[1:]]) + "\n\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
