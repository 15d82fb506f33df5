"""A1: a prepared INSERT of hundreds of rows while the slow log is on, old version against new."""

MUST = "mysql-bug-73056, prepared statements of 5.7 with a log on; driver, network and app excluded; text and log off verified"
SERVERS = ["old", "new"]


def row(bench):
    run = bench.lab("run", "incident-1-prepared-bulk-insert", servers=SERVERS,
                    options=["--allow-global", "--time-budget", "240", *bench.extra])
    verdict, evidence = run.verdict, run.evidence
    bench.check("under ten minutes", run.seconds < 600, f"{run.seconds:.0f} s")
    bench.check("the cause", verdict.get("cause") == "mysql-bug-73056", verdict.get("summary"))
    bench.check("the layer", verdict.get("layer") == "server-sql:prepared-statement", verdict.get("layer"))
    bench.check("confirmed", run.kind == "confirmed", run.kind)
    slow = verdict.get("slow_arm")
    arm = evidence["arms"][slow] if slow is not None else {}
    bench.check("slow: old, prepared, log on", arm.get("server") == "old" and arm["levels"].get("protocol") == "prepared"
                and arm["levels"].get("global.slow_query_log") == "ON", arm.get("name"))
    for layer in ("client", "app", "driver", "network"):
        bench.check(f"{layer} excluded", run.layer(layer) == "excluded", run.layer(layer))
    growth = {one["group"]: one for one in evidence.get("growth", []) if one["metric"] == "server_cpu"}
    slow_grows = [one for name, one in growth.items() if name.startswith("old/") and "slow_query_log=ON" in name and "=prepared" in name]
    fast_grows = [one for name, one in growth.items() if name.startswith("new/") and "slow_query_log=ON" in name and "=prepared" in name]
    bench.check("exponent 1.7 or more where it is slow", slow_grows and slow_grows[0]["exponent"] >= 1.7, slow_grows)
    bench.check("exponent 1.2 or less on the new one", fast_grows and fast_grows[0]["exponent"] <= 1.2, fast_grows)
    shares = [line for line in verdict.get("evidence", []) if "of the added CPU under insert_params" in line]
    bench.check("80 % of the added CPU under insert_params", any(int(line.split(" % of")[0].split()[-1]) >= 80 for line in shares), shares)
    changes = evidence.get("interventions", [])
    told = [(one["what"], one["before"], one["during"], one["after"], one["recovered"], one["is_confirmed"]) for one in changes]
    bench.check("as text at least 3 times as fast", any("text" in one["what"] and one["is_confirmed"]
                and one["before"] >= 3 * one["during"] for one in changes), told)
    bench.check("log off takes 90 % of the gap away, on brings it back", any("log" in one["what"] and one["is_confirmed"]
                and one["recovered"] >= 0.9 for one in changes), None)
