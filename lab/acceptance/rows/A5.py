"""A5: hundreds of idle connections that once read, writers beside them, 5.6 against 5.7. Needs max_connections above 520."""

MUST = "mysql-bug-88422: the search for the oldest view grows with idle readers on 5.7 (x4 from 4 to 500), not on 5.6; closing them helps"
SERVERS = ["old", "new"]


def row(bench):
    run = bench.lab("run", "incident-5-idle-connections", servers=SERVERS, options=["--time-budget", "240", "--rounds", "3,10"])
    verdict, evidence = run.verdict, run.evidence
    bench.check("under ten minutes", run.seconds < 600, f"{run.seconds:.0f} s")
    bench.check("the cause", verdict.get("cause") == "mysql-bug-88422", verdict.get("summary"))
    times = {}
    for one in evidence.get("counts", []):
        if one["name"].endswith("_ns"):
            arm = evidence["arms"][one["arm"]]
            times.setdefault(arm["server"], {})[arm["scale"]] = one["per_op"]
    new, old = times.get("new", {}), times.get("old", {})
    bench.check("x4 from 4 to 500 on the new one", new.get(500, 0) >= 4 * new.get(4, float("inf")), new)
    bench.check("flat on the old one", old.get(500, float("inf")) <= 2 * old.get(4, 0), old)
    changes = [one for one in evidence.get("interventions", []) if one["is_confirmed"]]
    bench.check("closing the idle ones takes half or more", any(one["during"] <= 0.5 * one["before"] for one in changes), [
        (one["what"], one["before"], one["during"], one["after"]) for one in evidence.get("interventions", [])])
