#!/usr/bin/env python3
"""Acceptance rows of `invar lab`: one command each, without hints, and whether it concluded what it must.

    lab/acceptance/run.py ROW... --server NAME=mysql://user:password@host:port ... [--invar target/release/invar]
    lab/acceptance/run.py --list            the rows, what each needs and must conclude
    lab/acceptance/run.py --summary         writes lab/results/acceptance/README.md anew from what is kept

A row is a file lab/acceptance/rows/ROW.py:

    MUST = "mysql-bug-115555, layer sql, 8.0 and later"   # what must be concluded, one line
    SERVERS = ["mysql57", "mysql97"]                      # names that --server must give
    def row(bench):
        run = bench.lab("run", "incident-3-order-by-blob", servers=SERVERS, options=["--time-budget", "300"])
        verdict = run.verdict
        bench.check("the cause is named", verdict.get("cause") == "mysql-bug-115555", verdict.get("cause"))

`bench.lab` runs `invar lab ...` with --json and --html, and gives what it left (class `Ran`); `bench.check` notes what was
demanded and what was found; `bench.note` a line for the reader. A row passes if every check holds, and there was one.
Options after `--` go to the row as `bench.extra`. Kept under lab/results/acceptance (or --out): ROW.txt (for people), ROW.json
(all of it; .json.gz beyond 1 MB) and ROW.html (the page of the last run). Exit code: 0 all passed, 1 one failed, 2 bad use.
Nothing but Python's standard library is needed; nothing is built here."""

import argparse
import datetime
import gzip
import importlib.util
import json
import os
import re
import subprocess
import sys
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
ROWS = os.path.join(HERE, "rows")
# A file larger than this is kept gzipped.
PLAIN_BYTES_MAX = 1 << 20
# A command that takes longer than this is ended (Ctrl-C first, so that the lab cleans up) and the row fails.
COMMAND_SECONDS_MAX = 3600


class Ran:
    """What one `invar lab` command left.

    exit_code   of the process; None if it took too long
    seconds     from its start to its end
    out, err    what it printed
    evidence    the run as JSON (docs/lab-run.schema.json), {} if it kept none
    """

    def __init__(self, command, exit_code, seconds, out, err, evidence):
        self.command, self.exit_code, self.seconds = command, exit_code, seconds
        self.out, self.err, self.evidence = out, err, evidence

    @property
    def verdict(self):
        """The verdict as an object; {} if there is none."""
        return self.evidence.get("verdict") or {}

    @property
    def kind(self):
        """`confirmed`, `explained`, `located`, `novel`, `unlocated`, `no-difference`, `inconclusive`, or None."""
        return self.verdict.get("kind")

    def layer(self, layer):
        """Outcome of a layer: `excluded`, `blamed`, `contributes`, `not_measured`, or None."""
        return next((finding["outcome"] for finding in self.evidence.get("layers", []) if finding["layer"] == layer), None)

    def arms(self, **levels):
        """Indexes of the arms with these levels (server="new", protocol="text" ...), the twin left out."""
        def fits(arm):
            return arm.get("same_as") is None and all(arm["levels"].get(name) == value for name, value in levels.items())
        return [index for index, arm in enumerate(self.evidence.get("arms", [])) if fits(arm)]

    def comparisons(self, metric=None):
        """The comparisons made, of one metric (`server_cpu`, `latency_p50` ...) or of all."""
        return [one for one in self.evidence.get("comparisons", []) if metric in (None, one["metric"])]

    def median(self, arm, field):
        """Median of a number over the valid blocks of an arm; None if there is none."""
        found = sorted(block[field] for block in self.evidence.get("blocks", [])
                       if block["arm"] == arm and block.get("invalid") is None and block.get(field) is not None)
        return found[len(found) // 2] if found else None


class Bench:
    """What a row works with; `row(bench)` is given one."""

    def __init__(self, name, given):
        self.name, self.invar, self.out, self.extra = name, given.invar, given.out, given.extra
        self.urls = dict(one.split("=", 1) for one in given.server)
        self.checks, self.notes, self.ran = [], [], []

    def url(self, server):
        """Where a server is."""
        return self.urls[server]

    def path(self, suffix):
        """A file of this row beside its results: `bench.path(".runs.jsonl")`; it stays, so a row can be resumed."""
        return os.path.join(self.out, self.name + suffix)

    def lab(self, *words, servers=(), options=(), env=None, seconds_max=COMMAND_SECONDS_MAX, with_html=True, keep=True):
        """Runs `invar lab WORDS --server ... OPTIONS --json FILE [--html FILE]`.

        It runs in the project's root, so paths of scenarios can begin with lab/. servers: names as given to run.py, or (name in the
        run, URL) pairs. keep=False leaves the evidence out of ROW.json."""
        command = [self.invar, "lab", *words]
        for server in servers:
            name, url = server if isinstance(server, tuple) else (server, self.urls[server])
            command += ["--server", f"{name}={url}"]
        command += list(options)
        json_file = self.path(".last.json")
        shown = lambda path: os.path.relpath(path, ROOT) if path.startswith(ROOT + os.sep) else path
        if words and words[0] == "run":
            if "--schema" not in options:
                command += ["--schema", "invar_lab"]
            command += ["--quiet", "--json", shown(json_file)]
            if with_html:
                command += ["--html", shown(self.path(".html"))]
        if os.path.exists(json_file):
            os.remove(json_file)
        started = time.monotonic()
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT,
                                 env={**os.environ, **(env or {})})
        try:
            out, err = child.communicate(timeout=seconds_max)
            exit_code = child.returncode
        except subprocess.TimeoutExpired:
            child.terminate()
            try:
                out, err = child.communicate(timeout=30)
            except subprocess.TimeoutExpired:
                child.kill()
                out, err = child.communicate()
            exit_code = None
        seconds = time.monotonic() - started
        evidence = {}
        if os.path.exists(json_file):
            with open(json_file) as file:
                evidence = json.load(file)
            os.remove(json_file)
        told = ["invar", *(shown(without_passwords(word)) for word in command[1:])]
        ran = Ran(told, exit_code, seconds, out, err, evidence)
        if keep:
            self.ran.append(ran)
        return ran

    def check(self, what, is_so, found=None):
        """Notes a demand and whether it holds; `found` is what there was instead, or what makes it so."""
        self.checks.append({"what": what, "holds": bool(is_so), "found": found})
        return bool(is_so)

    def note(self, text):
        """A line for the reader."""
        self.notes.append(text)


def without_passwords(word):
    return re.sub(r"(mysql://[^:@/]*):[^@]*@", r"\1@", word)


def load(name):
    path = os.path.join(ROWS, name + ".py")
    if not os.path.exists(path):
        sys.exit(f"no row '{name}'; there are: {', '.join(names())}")
    spec = importlib.util.spec_from_file_location("row_" + re.sub(r"\W", "_", name), path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def names():
    return sorted(name[:-3] for name in os.listdir(ROWS) if name.endswith(".py") and not name.startswith("_"))


def commit():
    done = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


def versions(bench):
    found = {}
    for ran in bench.ran:
        for server in ran.evidence.get("servers", []):
            found[server["name"]] = f"{server['flavour']} {server['version']}"
    return found


def write(path, text):
    """Writes the text, gzipped if it is long; the other form is removed."""
    data = text.encode()
    for old in (path, path + ".gz"):
        if os.path.exists(old):
            os.remove(old)
    if len(data) > PLAIN_BYTES_MAX:
        with gzip.GzipFile(path + ".gz", "wb", mtime=0) as file:
            file.write(data)
    else:
        with open(path, "wb") as file:
            file.write(data)


def read(path):
    if os.path.exists(path):
        with open(path) as file:
            return json.load(file)
    with gzip.open(path + ".gz", "rt") as file:
        return json.load(file)


def run_row(name, given):
    module = load(name)
    missing = [server for server in getattr(module, "SERVERS", []) if server not in dict(one.split("=", 1) for one in given.server)]
    if missing:
        sys.exit(f"row {name} needs --server NAME=URL for: {', '.join(missing)}")
    bench = Bench(name, given)
    started = datetime.datetime.now(datetime.timezone.utc)
    clock = time.monotonic()
    try:
        module.row(bench)
    except Exception:  # A row that breaks has failed, and says where.
        bench.check("the row ran to its end", False, traceback.format_exc(limit=3))
    seconds = time.monotonic() - clock
    passed = bool(bench.checks) and all(check["holds"] for check in bench.checks)
    last = bench.ran[-1] if bench.ran else None
    kept = {
        "row": name, "must": module.MUST, "passed": passed, "started": started.isoformat(timespec="seconds"), "commit": commit(),
        "seconds": round(seconds, 1), "time_to_verdict_s": round(last.seconds, 1) if last else None,
        "verdict": {key: last.verdict.get(key) for key in ("kind", "cause", "layer", "summary")} if last else None,
        "servers": versions(bench), "machine": last.evidence.get("machine") if last else None,
        "checks": bench.checks, "notes": bench.notes,
        "commands": [{"command": " ".join(ran.command), "exit_code": ran.exit_code, "seconds": round(ran.seconds, 1)} for ran in bench.ran],
        "runs": [ran.evidence for ran in bench.ran if ran.evidence],
    }
    write(bench.path(".json"), json.dumps(kept, indent=1) + "\n")
    page = bench.path(".html")
    if os.path.exists(page) and os.path.getsize(page) > PLAIN_BYTES_MAX:
        with open(page) as file:
            text = file.read()
        write(page, text)
    write(bench.path(".txt"), text_of(kept, bench))
    print(f"{name}: {'passed' if passed else 'FAILED'} in {seconds:.0f} s")
    for check in bench.checks:
        print(f"  {'ok  ' if check['holds'] else 'FAIL'} {check['what']}: {check['found']}")
    return passed


def text_of(kept, bench):
    lines = [f"row {kept['row']}: {'passed' if kept['passed'] else 'FAILED'}", f"must conclude: {kept['must']}",
             f"{kept['started']}, commit {kept['commit']}, {kept['seconds']} s in all", ""]
    lines += [f"server {name}: {version}" for name, version in kept["servers"].items()]
    machine = kept["machine"] or {}
    if machine:
        lines.append(f"machine: {machine.get('cpu')}, {machine.get('cores')} cores, load average {machine.get('load_average')} at the start")
    lines += [""] + [f"$ {one['command']}\n  exit code {one['exit_code']} after {one['seconds']} s" for one in kept["commands"]]
    lines += [""] + [f"[{'ok' if check['holds'] else 'FAIL'}] {check['what']}: {check['found']}" for check in kept["checks"]]
    lines += [""] + kept["notes"]
    if bench.ran:
        lines += ["", "The last command printed:", "", bench.ran[-1].out.rstrip(), bench.ran[-1].err.rstrip()]
    return "\n".join(line.rstrip() for line in "\n".join(lines).splitlines()) + "\n"


def summary(out):
    """README.md from what is kept; rows that never ran stand there as such."""
    lines = ["# Acceptance rows", "", "Written by `lab/acceptance/run.py`; each row is one command, and what it must conclude without hints.", "",
             "| row | result | must conclude | concluded | time to verdict | servers | commit |", "| --- | --- | --- | --- | --- | --- | --- |"]
    def cell(text):
        return str(text).replace("|", "\\|").replace("\n", " ")
    for name in names():
        must = load(name).MUST
        try:
            kept = read(os.path.join(out, name + ".json"))
        except FileNotFoundError:
            lines.append(f"| {name} | not run | {cell(must)} | | | | |")
            continue
        verdict = kept.get("verdict") or {}
        said = ", ".join(str(verdict[key]) for key in ("kind", "cause", "layer") if verdict.get(key)) or "see the text"
        time_to_verdict = f"{kept['time_to_verdict_s']} s" if kept["time_to_verdict_s"] else ""
        failed = [check["what"] for check in kept["checks"] if not check["holds"]]
        result = "passed" if kept["passed"] else "FAILED: " + "; ".join(failed)
        servers = ", ".join(f"{name} = {version}" for name, version in kept["servers"].items())
        lines.append(f"| [{name}]({name}.txt) | {cell(result)} | {cell(must)} | {cell(said)} | {time_to_verdict} | {cell(servers)} | {kept['commit']} |")
    with open(os.path.join(out, "README.md"), "w") as file:
        file.write("\n".join(lines) + "\n")


def main():
    words = sys.argv[1:]
    extra = []
    if "--" in words:
        extra = words[words.index("--") + 1:]
        words = words[:words.index("--")]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*")
    parser.add_argument("--server", action="append", default=[])
    parser.add_argument("--invar", default=os.path.join(ROOT, "target/release/invar"))
    parser.add_argument("--out", default=os.path.join(ROOT, "lab/results/acceptance"))
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--summary", action="store_true")
    given = parser.parse_args(words)
    given.extra = extra
    given.invar, given.out = os.path.abspath(given.invar), os.path.abspath(given.out)
    if given.list:
        for name in names():
            module = load(name)
            print(f"{name:6} {module.MUST}\n       needs: {', '.join(getattr(module, 'SERVERS', [])) or 'nothing'}")
        return 0
    os.makedirs(given.out, exist_ok=True)
    if given.summary:
        summary(given.out)
        return 0
    if not given.rows:
        parser.error("which row? see --list")
    if any("=" not in server for server in given.server):
        parser.error("--server: expected NAME=mysql://user:password@host:port")
    if not os.access(given.invar, os.X_OK):
        parser.error(f"{given.invar} is not there; build it or say --invar PATH")
    passed = [run_row(name, given) for name in given.rows]
    summary(given.out)
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
