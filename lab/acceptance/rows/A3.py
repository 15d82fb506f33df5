"""A3: inserts in batches by one client, old version against new: many small costs."""

MUST = "many-small-costs: CPU x1.3 to 1.8, the interval excludes 1, no function above half; the builds are named"
SERVERS = ["old", "new"]


def row(bench):
    run = bench.lab("run", "incident-2-single-client-decay", servers=SERVERS,
                    options=["--scale", "200", "--rounds", "10,200", "--time-budget", "240"])
    verdict, evidence = run.verdict, run.evidence
    bench.check("under ten minutes", run.seconds < 600, f"{run.seconds:.0f} s")
    bench.check("the cause", verdict.get("cause") == "many-small-costs", verdict.get("summary"))
    bench.check("CPU ratio 1.2 to 2.5", 1.2 <= (verdict.get("ratio") or 0) <= 2.5, verdict.get("ratio"))
    pair = [one for one in run.comparisons("server_cpu")
            if {one["arm"], one["base"]} == {verdict.get("slow_arm"), verdict.get("fast_arm")}]
    bench.check("the interval excludes 1", pair and (pair[0]["ci_low"] > 1 or pair[0]["ci_high"] < 1), pair[:1])
    builds = [one["name"] for one in evidence.get("equalised", []) if one["name"].startswith("version_compile")]
    bench.check("the builds are named as a confound", builds, builds)
    shares = {}
    for profile in evidence.get("stacks", []):
        total = sum(count for _, count in profile["folded"])
        for stack, count in profile["folded"]:
            leaf = stack.split(";")[-1]
            shares[leaf] = max(shares.get(leaf, 0), 0) + count / total / 2
    top = sorted(shares.items(), key=lambda one: -one[1])[:5]
    bench.check("no single function with half of the CPU", top and top[0][1] <= 0.5, top)
    bench.note("interventions: " + "; ".join(
        f"{one['what']}: {one['before']:.0f} -> {one['during']:.0f} -> {one['after']:.0f} ns, recovered {one['recovered']:.2f}"
        for one in evidence.get("interventions", [])))
