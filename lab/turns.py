"""Servers that take turns under one scenario, over ever more connections: what lab/connections and lab/hot-row have in common."""

import argparse
import json
import os
import random
import subprocess
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


# Closed connections that the kernel may still remember when the next block begins, and how long to wait for that, seconds. Each of them
# is forgotten by a timer a minute later, and ten thousand such timers hold up whoever is measured then.
TIME_WAIT_MOST = 500
TIME_WAIT_PATIENCE_S = 75


def wait_for_time_wait():
    """Returns when few closed connections are left in TIME_WAIT."""
    until = time.monotonic() + TIME_WAIT_PATIENCE_S
    while time.monotonic() < until:
        with open("/proc/net/sockstat") as file:
            words = next(line for line in file if line.startswith("TCP:")).split()
        if int(words[words.index("tw") + 1]) <= TIME_WAIT_MOST:
            return
        time.sleep(0.5)


def arguments(doc, connections):
    """The command line, parsed; `servers` are (name, URL, PID)."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", action="append", required=True)
    parser.add_argument("--invar", default=os.path.join(ROOT, "target/release/invar"))
    parser.add_argument("--connections", default=connections)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out")
    given = parser.parse_args()
    given.servers = []
    for text in given.server:
        name, url, pid = text.split("=")
        given.servers.append((name, url, int(pid)))
    return given


def block(invar, scenario_file, schema, name, url, connections, seed, ended):
    """One block of a scenario as its evidence has it, or None and why not; `ended` is called as soon as the run is over."""
    with tempfile.TemporaryDirectory() as folder:
        evidence = os.path.join(folder, "run.json")
        with open(scenario_file) as file:
            text = file.read().replace("[sizes]", f"seed = {seed}\n[sizes]", 1)
        scenario = os.path.join(folder, os.path.basename(scenario_file))
        with open(scenario, "w") as file:
            file.write(text)
        command = [invar, "lab", "run", scenario, "--server", f"{name}={url}", "--only-timing", "--no-twin", "--rounds", "1,1", "--quiet",
                   "--scale", str(connections), "--time-budget", "120", "--schema", schema, "--json", evidence]
        ran = subprocess.run(command, capture_output=True, text=True)
        ended()
        if not os.path.exists(evidence):
            return None, (ran.stderr or ran.stdout).strip().splitlines()[-1:]
        with open(evidence) as file:
            run = json.load(file)
    blocks = run.get("blocks", [])
    if not blocks or not blocks[0]["operations"]:
        return None, run.get("warnings") or [run.get("incomplete")]
    return blocks[0], None


def rounds(given, one, said, table):
    """Lets `one` measure each server at each number of connections, the order within a round changing. A server that failed is left out
    from there on. `said` tells figures in a line, `table` all so far as text, which is written after every round and printed at the end."""
    servers, found, left_out = given.servers, {}, {}
    chance = random.Random(1)
    for number in range(given.rounds):
        for connections in map(int, given.connections.split(",")):
            chance.shuffle(servers)
            for name, url, pid in servers:
                if name in left_out:
                    continue
                figures, why = one(given.invar, name, url, pid, connections, number)
                if figures is None:
                    left_out[name] = f"{connections} connections: {' '.join(map(str, why or []))}"
                    continue
                found.setdefault((name, connections), []).append(figures)
                print(f"round {number + 1}: {name} {connections}: {said(figures)} {figures['invalid'] or ''}", flush=True)
                time.sleep(1)
                wait_for_time_wait()
        if given.out:
            with open(given.out, "w") as file:
                file.write(table(found, left_out))
    print(table(found, left_out))
