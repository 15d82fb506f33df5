"""A2b: a sort of the same rows without the long column. What it costs more on the new version is another cause than A2's."""

MUST = "not mysql-bug-115555: its own stack share, no overflow reads"
SERVERS = ["old", "new"]


def row(bench):
    run = bench.lab("run", "incident-3-order-by-blob", servers=SERVERS, options=["--variant", "narrow", "--time-budget", "60"])
    verdict, evidence = run.verdict, run.evidence
    bench.check("the run came to an end", run.exit_code in (0, 1, 3), run.exit_code)
    bench.check("it is not taken for A2", verdict.get("cause") != "mysql-bug-115555", verdict.get("summary"))
    reads = [one for one in evidence.get("counts", []) if one["name"].startswith("btr_copy_externally")]
    bench.check("no overflow reads", all(one["per_op"] < 2 for one in reads), reads)
    for profile in evidence.get("stacks", []):
        total = sum(count for _, count in profile["folded"])
        under = sum(count for stack, count in profile["folded"] if "btr_copy_" in stack)
        bench.check("no CPU under the copy of overflow pages", under <= 0.05 * total, f"arm {profile['arm']}: {under} of {total}")
    bench.note(f"{run.kind}: {verdict.get('summary')}")
