"""A2: ORDER BY over rows with a long column, old version against new."""

MUST = "mysql-bug-115555, engine below a filesort: equal plan, overflow reads 1 -> rows examined, CPU x5 or more; confirmed by a change"
SERVERS = ["old", "new"]
COUNT = "btr_copy_externally_stored_field"


def row(bench):
    run = bench.lab("run", "incident-3-order-by-blob", servers=SERVERS, options=["--time-budget", "100"])
    verdict, evidence = run.verdict, run.evidence
    bench.check("under ten minutes", run.seconds < 600, f"{run.seconds:.0f} s")
    bench.check("the cause", verdict.get("cause") == "mysql-bug-115555", verdict.get("summary"))
    bench.check("the layer", (verdict.get("layer") or "").startswith("engine"), verdict.get("layer"))
    bench.check("confirmed", run.kind == "confirmed", run.kind)
    bench.check("CPU ratio 5 or more", (verdict.get("ratio") or 0) >= 5, verdict.get("ratio"))
    counts = {one["arm"]: one for one in evidence.get("counts", []) if one["name"] == COUNT}
    fast, slow = counts.get(verdict.get("fast_arm"), {}), counts.get(verdict.get("slow_arm"), {})
    bench.check("once per operation on the old one", round(fast.get("per_op", 0)) == 1, fast)
    bench.check("follows rows examined on the new one", "rows examined" in (slow.get("follows") or ""), slow)
    said = " ".join(finding["evidence"] for finding in evidence.get("layers", []))
    bench.check("the plan is equal", "another plan" not in said, said)
    for layer in ("client", "app", "driver", "network"):
        bench.check(f"{layer} excluded", run.layer(layer) == "excluded", run.layer(layer))
    changes = evidence.get("interventions", [])
    best = max((one["before"] / one["during"] for one in changes if one["is_confirmed"]), default=0)
    bench.check("a change makes it four times as fast, and back", best >= 4, [
        (one["what"], one["before"], one["during"], one["after"], one["is_confirmed"]) for one in changes])
    bench.check("an index on the sort key does too", any("index" in one["what"] and one["is_confirmed"] for one in changes), None)
