#!/usr/bin/env python3
"""The same offered load over 100, 1,000 and 10,000 connections: latency, server CPU, memory.

    lab/connections/run.py --server NAME=mysql://user:password@host:port=PID ... [--invar target/release/invar]
                           [--connections 100,1000,10000] [--rounds 3] [--out lab/results/connections.txt]

99 of 100 operations read one row by its key, one changes one (many-connections.toml); arrivals keep their rate whatever the server
does, so latency counts from when an operation was due. Servers take turns within a round, in an order that changes. A server that
cannot hold so many connections is said so and left out from there on. Memory is the largest resident set while the connections are
open, and what that is beyond the resident set before, divided by their number. Each server must allow the connections
(max_connections, open files); the client needs as many open files. Nothing but Python's standard library is needed."""

import argparse
import json
import os
import random
import statistics
import subprocess
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))


def resident_kb(pid):
    with open(f"/proc/{pid}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))


def one(invar, name, url, pid, connections, seed):
    """One block: what the lab measured, and the memory before and while."""
    before, seen, ended = resident_kb(pid), [], threading.Event()

    def watch():
        while not ended.wait(0.1):
            seen.append(resident_kb(pid))

    watcher = threading.Thread(target=watch)
    watcher.start()
    with tempfile.TemporaryDirectory() as folder:
        evidence = os.path.join(folder, "run.json")
        with open(os.path.join(HERE, "many-connections.toml")) as file:
            text = file.read().replace("[sizes]", f"seed = {seed}\n[sizes]", 1)
        scenario = os.path.join(folder, "many-connections.toml")
        with open(scenario, "w") as file:
            file.write(text)
        command = [invar, "lab", "run", scenario, "--server", f"{name}={url}", "--only-timing", "--no-twin", "--rounds", "1,1", "--quiet",
                   "--scale", str(connections), "--time-budget", "120", "--schema", "invar_lab_connections", "--json", evidence]
        ran = subprocess.run(command, capture_output=True, text=True)
        ended.set()
        watcher.join()
        if not os.path.exists(evidence):
            return None, (ran.stderr or ran.stdout).strip().splitlines()[-1:]
        with open(evidence) as file:
            run = json.load(file)
    blocks = run.get("blocks", [])
    if not blocks or not blocks[0]["operations"]:
        return None, run.get("warnings") or [run.get("incomplete")]
    block = blocks[0]
    return {"p50_us": block["latency"]["p50_ns"] / 1e3, "p99_us": block["latency"]["p99_ns"] / 1e3,
            "service_p99_us": block["service"]["p99_ns"] / 1e3,
            "cpu_us": block["server_cpu_ns_per_op"] / 1e3, "operations_per_s": block["qps"],
            "resident_mb": max(seen) / 1024, "kb_each": max(0, max(seen) - before) / connections,
            "errors": sum(block["errors"].values()), "skips": block["skips"], "invalid": block["invalid"]}, None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", action="append", required=True)
    parser.add_argument("--invar", default=os.path.join(ROOT, "target/release/invar"))
    parser.add_argument("--connections", default="100,1000,10000")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out")
    given = parser.parse_args()
    servers = []
    for text in given.server:
        name, url, pid = text.split("=")
        servers.append((name, url, int(pid)))
    counts = [int(count) for count in given.connections.split(",")]
    found, left_out = {}, {}
    chance = random.Random(1)
    for number in range(given.rounds):
        for connections in counts:
            chance.shuffle(servers)
            for name, url, pid in servers:
                if name in left_out:
                    continue
                figures, why = one(given.invar, name, url, pid, connections, number)
                if figures is None:
                    left_out[name] = f"{connections} connections: {' '.join(map(str, why or []))}"
                    continue
                found.setdefault((name, connections), []).append(figures)
                print(f"round {number + 1}: {name} {connections}: p50 {figures['p50_us']:.0f} p99 {figures['p99_us']:.0f} us, "
                      f"{figures['cpu_us']:.1f} us CPU, {figures['resident_mb']:.0f} MB {figures['invalid'] or ''}", flush=True)
                time.sleep(1)
    lines = [f"{'server':<14}{'connections':>12}{'p50 us':>10}{'p99 us':>10}{'service p99':>12}{'CPU us/op':>11}{'op/s':>8}{'RSS MB':>9}"
             f"{'KB each':>9}  rounds"]
    for (name, connections), rounds in sorted(found.items()):
        middle = {key: statistics.median(one[key] for one in rounds) for key in rounds[0] if key not in ("invalid", "errors", "skips")}
        odd = [one["invalid"] for one in rounds if one["invalid"]]
        bad = sum(one["errors"] + one["skips"] for one in rounds)
        lines.append(f"{name:<14}{connections:>12}{middle['p50_us']:>10.0f}{middle['p99_us']:>10.0f}{middle['service_p99_us']:>12.0f}{middle['cpu_us']:>11.1f}"
                     f"{middle['operations_per_s']:>8.0f}{middle['resident_mb']:>9.0f}{middle['kb_each']:>9.1f}  {len(rounds)}"
                     + (f", {bad} errors or skips" if bad else "") + (f", {len(odd)} invalid: {odd[0]}" if odd else ""))
    lines += [f"{name}: {why}" for name, why in sorted(left_out.items())]
    text = "\n".join(lines) + "\n"
    print(text)
    if given.out:
        with open(given.out, "w") as file:
            file.write(text)


if __name__ == "__main__":
    main()
