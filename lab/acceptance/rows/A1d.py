"""A1 with the real Connector/J 5.1.49, 8.0.22, 8.0.33 and 8.3.0: slow with each of them, where it is prepared, logged, and old.

Needs Java and the drivers' jars (INVAR_LAB_JARS)."""

MUST = "mysql-bug-73056 with each of four real Connector/J versions: slow only where prepared and server old and log on; driver excluded"
SERVERS = ["old", "new"]
DRIVERS = ["real-cj-5.1.49", "real-cj-8.0.22", "real-cj-8.0.33", "real-cj-8.3.0"]


def row(bench):
    run = bench.lab("run", "incident-1-prepared-bulk-insert", servers=SERVERS,
                    options=["--allow-global", "--driver", ",".join(DRIVERS), "--scale", "250", "--rounds", "10,20", "--time-budget", "400",
                             *bench.extra])
    verdict = run.verdict
    bench.check("under ten minutes", run.seconds < 600, f"{run.seconds:.0f} s")
    bench.check("the cause", verdict.get("cause") == "mysql-bug-73056", verdict.get("summary"))
    bench.check("confirmed", run.kind == "confirmed", run.kind)
    for layer in ("client", "app", "driver", "network"):
        bench.check(f"{layer} excluded", run.layer(layer) == "excluded", run.layer(layer))
    cost = {}
    for index, arm in enumerate(run.evidence.get("arms", [])):
        if arm.get("same_as") is None:
            levels = arm["levels"]
            key = arm["driver"], arm["server"], levels["protocol"], levels["global.slow_query_log"]
            cost[key] = run.median(index, "server_cpu_ns_per_op")
    for driver in DRIVERS:
        slow = cost.get((driver, "old", "prepared", "ON"))
        others = {key[1:]: value for key, value in cost.items() if key[0] == driver and key[1:] != ("old", "prepared", "ON")}
        dearest = max(others.values(), default=None)
        bench.check(f"{driver}: slow there and nowhere else", slow and dearest and slow >= 3 * dearest,
                    f"{(slow or 0) / 1e6:.0f} ms; the dearest of {len(others)} others {(dearest or 0) / 1e6:.0f} ms")
