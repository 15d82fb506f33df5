#!/usr/bin/env python3
"""The first incident on one server, its arms in turn: prepared against text, query logs on against off.

    lab/incidents/interleaved.py --server invar=3307:root::PID --driver connector-j-8.3.0.jar [--driver ...]
        [--sizes 20,500] [--rows 500] [--rounds 20] [--statements 20,5] [--seed 1]

Where `run.py` compares servers, this asks one server for small differences. Each round has a block of each arm, in an order
drawn again; a ratio is taken within each round, reported is the median of the rounds' ratios with its 95 % interval (bootstrap,
seeded). `--statements` per block, for each size. Needs a JDK."""

import argparse
import os
import random
import statistics
import subprocess
import tempfile

FOLDER = os.path.dirname(os.path.abspath(__file__))
RATIOS = [("prepared / text, logs off", ("prepared", "off"), ("text", "off")),
          ("prepared / text, logs on", ("prepared", "all"), ("text", "all")),
          ("logs on / off, prepared", ("prepared", "all"), ("prepared", "off")),
          ("logs on / off, text", ("text", "all"), ("text", "off"))]


def interval(values, seed):
    draw = random.Random(seed)
    medians = sorted(statistics.median(draw.choices(values, k=len(values))) for _ in range(4000))
    return medians[100], medians[-101]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", required=True)
    parser.add_argument("--driver", action="append", required=True)
    parser.add_argument("--sizes", default="20,500")
    parser.add_argument("--statements", default="20,5")
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    name, rest = given.server.split("=", 1)
    port, user, password, pid = rest.split(":", 3)
    pid = open(pid).read().strip() if os.path.exists(pid) else pid
    with tempfile.TemporaryDirectory() as folder:
        sources = [os.path.join(FOLDER, file) for file in ("PreparedBulkInsert.java", "InterleavedBulkInsert.java")]
        subprocess.run(["javac", "-d", folder, *sources], check=True)
        for driver in given.driver:
            for size, count in zip(given.sizes.split(","), given.statements.split(",")):
                arguments = ["java", "-Xmx2g", "-XX:+UseSerialGC", "-cp", f"{driver}:{folder}", "InterleavedBulkInsert", port, user, password,
                             pid, str(given.rows), size, str(given.rounds), count, str(given.seed)]
                done = subprocess.run(arguments, capture_output=True, text=True)
                if done.returncode != 0:
                    raise SystemExit(f"{' '.join(arguments)}\n{done.stdout[-1500:]}{done.stderr[-3000:]}")
                cpu = {}
                for line in done.stdout.splitlines():
                    turn, mode, logs, cpu_ms, _ = line.split()
                    cpu.setdefault((mode, logs), {})[int(turn)] = float(cpu_ms)
                label = os.path.basename(driver).removesuffix(".jar")
                medians = ", ".join(f"{mode} logs {logs} {statistics.median(values.values()):.2f} ms" for (mode, logs), values in sorted(cpu.items()))
                print(f"{name}, driver {label}, {given.rows} rows x 24 x {size} bytes, {given.rounds} rounds of {count}: {medians}")
                for title, above, below in RATIOS:
                    values = [cpu[above][turn] / cpu[below][turn] for turn in cpu[above]]
                    low, high = interval(values, given.seed)
                    print(f"    {title:>26}: {statistics.median(values):.3f}  [{low:.3f}, {high:.3f}]", flush=True)


main()
