"""N1: the same server twice. Whatever the lab calls a difference there is a false alarm.

Runs are short, so many of them are inconclusive: what they show is that noise is never called a difference. That the answer to
the same server twice is "no difference" is then shown by fewer runs, without load, of the length a question is given.

Can be resumed: each run is a line of N1.runs.jsonl; `-- --runs 200` says how many there shall be in all, `-- --limit-s 600` when to
stop for now, `-- --anew` begins from nothing. Every second run has background load: two processes that spin.

A run counts if it came to its end (exit code 0, 1 or 3); it is a false alarm if it says that one of the
two is slower or faster (any verdict but no-difference and inconclusive, or exit code 1)."""

import argparse
import json
import math
import os
import subprocess
import sys
import time

MUST = "no-difference (or, under load, inconclusive); of 200 runs at most 2 false alarms"
SERVERS = ["same"]
SCENARIOS = ["point-select", "read-only", "scan", "insert"]
SECONDS = 5
FALSE_ALARMS_MAX_SHARE = 0.01
# Runs of the length a question is given, and how many of them may stay without an answer.
LONG_RUNS, LONG_SECONDS, LONG_UNANSWERED_MAX_SHARE = 8, 30, 0.25


def lines(path):
    if not os.path.exists(path):
        return []
    with open(path) as file:
        return [json.loads(line) for line in file]


def one(bench, number, seconds, may_load=True):
    has_load = may_load and number % 2 == 1
    spinning = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 if has_load else 0)]
    try:
        url = bench.url("same")
        ran = bench.lab("run", SCENARIOS[number // (2 if may_load else 1) % len(SCENARIOS)], servers=[("a", url), ("b", url)],
                        options=["--time-budget", str(seconds), "--schema", "invar_lab_n1"], with_html=False)
    finally:
        for child in spinning:
            child.kill()
            child.wait()
    arms = {arm["name"] for arm in ran.evidence.get("arms", [])}
    return {
        "number": number, "scenario": ran.evidence.get("scenario", {}).get("id"), "has_load": has_load, "exit_code": ran.exit_code,
        "kind": ran.kind, "ratio": ran.verdict.get("ratio"), "summary": ran.verdict.get("summary"), "seconds": round(ran.seconds, 1),
        "rounds": len({block["round"] for block in ran.evidence.get("blocks", [])}), "arms": len(arms),
        "invalid": sum(block.get("invalid") is not None for block in ran.evidence.get("blocks", [])),
        "comparisons": [{key: found[key] for key in ("metric", "ratio", "ci_low", "ci_high", "judgement")} for found in ran.evidence.get("comparisons", [])],
        "error": ran.err.strip()[-300:] if ran.exit_code not in (0, 1, 3) else None,
        "version": next((server["version"] for server in ran.evidence.get("servers", [])), None),
    }


def upper(alarms, runs):
    """Upper end of the one-sided 95 % interval of a share (Clopper and Pearson), by bisection."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        chance = sum(math.comb(runs, k) * middle**k * (1 - middle) ** (runs - k) for k in range(alarms + 1))
        low, high = (middle, high) if chance > 0.05 else (low, middle)
    return high


def row(bench):
    parser = argparse.ArgumentParser(prog="N1")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--limit-s", type=float, default=1e9)
    parser.add_argument("--anew", action="store_true")
    given = parser.parse_args(bench.extra)
    path = bench.path(".runs.jsonl")
    if given.anew and os.path.exists(path):
        os.remove(path)
    done = lines(path)
    began = time.monotonic()
    while len(done) < given.runs and time.monotonic() - began < given.limit_s:
        found = one(bench, len(done), given.seconds)
        if found["exit_code"] not in (0, 1, 3):
            bench.note(f"stopped: run {found['number']} did not come to its end, exit code {found['exit_code']}: {found['error']}")
            break  # It is no run, and is done again next time.
        done.append(found)
        with open(path, "a") as file:
            file.write(json.dumps(found) + "\n")
    long = lines(bench.path(".long.jsonl")) if not given.anew else []
    while len(done) >= given.runs and len(long) < LONG_RUNS:
        long.append(one(bench, len(long), LONG_SECONDS, may_load=False))
        with open(bench.path(".long.jsonl"), "w") as file:
            file.writelines(json.dumps(found) + "\n" for found in long)
    del bench.ran[:-1]  # The evidence of one is enough to see what a run is.
    ended = [run for run in done if run["exit_code"] in (0, 1, 3)]
    alarms = [run for run in ended if run["exit_code"] == 1 or run["kind"] not in ("no-difference", "inconclusive")]
    for label, some in (("without", [run for run in ended if not run["has_load"]]), ("with", [run for run in ended if run["has_load"]])):
        kinds = {kind: sum(run["kind"] == kind for run in some) for kind in sorted({str(run["kind"]) for run in some})}
        bench.note(f"{label} background load: {len(some)} runs, {kinds}")
    for scenario in SCENARIOS:
        some = [run for run in ended if run["scenario"] == scenario]
        bench.note(f"{scenario}: {len(some)} runs, {sum(run['kind'] == 'no-difference' for run in some)} no-difference, {sum(run in alarms for run in some)} false alarms")
    for run in alarms:
        bench.note(f"false alarm in run {run['number']} ({run['scenario']}, load {run['has_load']}): {run['summary']}")
    if ended:
        bench.note(f"false alarms {len(alarms)} of {len(ended)}; the share is below {100 * upper(len(alarms), len(ended)):.1f} % with 95 % confidence")
        bench.note(f"a run took {sum(run['seconds'] for run in ended) / len(ended):.1f} s on average")
    bench.check(f"{given.runs} runs came to their end", len(ended) >= given.runs, f"{len(ended)} of {len(done)}")
    bench.check("false alarms at most 1 %", len(alarms) <= FALSE_ALARMS_MAX_SHARE * max(given.runs, 200), f"{len(alarms)} of {len(ended)}")
    bench.note(f"of the short runs {sum(run['kind'] == 'no-difference' for run in ended)} said no-difference, the rest that they cannot tell")
    answered = [run["kind"] == "no-difference" for run in long]
    bench.check(f"given {LONG_SECONDS} s and no load, no-difference is the answer", long and sum(answered) >= (1 - LONG_UNANSWERED_MAX_SHARE) * LONG_RUNS,
                f"{sum(answered)} of {len(long)}: " + "; ".join(f"{run['scenario']}: {run['summary']}" for run in long))
