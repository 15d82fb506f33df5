#!/usr/bin/env python3
"""Measures how long real drivers think within an operation: for `think` of crates/lab/src/drivers/profile.rs.

think.py INVAR mysql://user:password@host:port [PROFILE...]

Each driver, and its profile, runs single inserts, prepared, through `invar lab tap`, in turns. Printed are the tap's medians before
COM_STMT_EXECUTE and COM_STMT_CLOSE, and the driver's less the profile's plus what the profile has already. Where EXECUTE is an operation's
first command its think time is that between operations and says nothing. Best on a quiet machine.
"""
import json
import subprocess
import sys

PROFILES = ["cj-5.1.49", "cj-8.0.22", "cj-8.0.22-cached", "cj-8.0.33", "cj-8.0.33-cached", "cj-8.3.0", "go-sql-driver"]
KINDS = ["COM_STMT_EXECUTE", "COM_STMT_CLOSE"]
TURNS = 3


def medians(invar, url, driver):
    tap = subprocess.Popen([invar, "lab", "tap", "--to", url, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    place = tap.stderr.readline().split()[-1]
    through = url.rsplit("@", 1)[0] + "@" + place
    ran = subprocess.run([invar, "lab", "run", "insert", "--schema", "invar_lab", "--server", f"a={through}", "--driver", driver, "--protocol", "prepared",
                          "--only-timing", "--no-twin", "--rounds", "2,2", "--time-budget", "2", "--quiet"], capture_output=True, text=True)
    tap.terminate()
    out, _ = tap.communicate()
    commands = json.loads(out)["commands"]
    if not any(kind in commands for kind in KINDS):
        print(f"{driver}: nothing passed: {ran.stderr.strip()}", file=sys.stderr)
    return [commands[kind]["think_median_ns"] / 1e3 if kind in commands else None for kind in KINDS]


def main():
    invar, url, *profiles = sys.argv[1:]
    for profile in profiles or PROFILES:
        seen = {name: [medians(invar, url, name) for _ in range(TURNS)] for name in (profile, "real-" + profile)}
        words = []
        for place, kind in enumerate(KINDS):
            middle = {}
            for name, turns in seen.items():
                values = sorted(turn[place] for turn in turns if turn[place] is not None)
                middle[name] = values[len(values) // 2] if values else None
            ours, real = middle[profile], middle["real-" + profile]
            if ours is not None and real is not None:
                words.append(f"{kind} {ours:.1f} and {real:.1f} us: {real - ours:+.1f}")
        print(f"{profile}: {'; '.join(words)}", flush=True)


main()
