"""The five incidents with Invar as one arm beside a rival: nowhere may Invar be the slow one.

The rival is what is compared with; `-- SECONDS` is the time for each incident (90). Both servers need the same buffer pool and allow the
connections of the fifth incident (`--innodb-buffer-pool-size`, `--max-connections=1000`); otherwise the lab rightly says that they cannot be compared."""

MUST = "each incident: no difference, or the rival is the slow one; growth of Invar's CPU as flat as its work"
SERVERS = ["rival", "invar"]
INCIDENTS = ["incident-1-prepared-bulk-insert", "incident-2-single-client-decay", "incident-3-order-by-blob", "incident-4-orm-wide-select",
             "incident-5-idle-connections"]


def row(bench):
    seconds = bench.extra[0] if bench.extra else "90"
    for incident in INCIDENTS:
        options = ["--only-timing", "--time-budget", seconds, "--rounds", "5,30"]
        if incident.startswith("incident-1"):
            options.append("--allow-global")
        run = bench.lab("run", incident, servers=SERVERS, options=options)
        arms = run.evidence.get("arms", [])
        slow = run.verdict.get("slow_arm")
        slow = arms[slow]["server"] if slow is not None else "none"
        bench.check(f"{incident}: a verdict, and Invar is not the slow one", run.exit_code in (0, 1) and slow != "invar",
                    f"exit code {run.exit_code}, {run.kind}, slow: {slow}")
        worst = None
        for one in run.comparisons("server_cpu"):
            servers = arms[one["base"]]["server"], arms[one["arm"]]["server"]
            if set(servers) != {"rival", "invar"}:
                continue
            # As ratio of Invar to the rival.
            ratio, low = (one["ratio"], one["ci_low"]) if servers[1] == "invar" else (1 / one["ratio"], 1 / one["ci_high"])
            if worst is None or ratio > worst[0]:
                worst = ratio, low, arms[one["arm"] if servers[1] == "invar" else one["base"]]["name"]
        bench.check(f"{incident}: nowhere slower than the rival", worst and worst[1] <= 1.05,
                    worst and f"at worst {worst[0]:.2f} times its CPU, {worst[2]}")
        bench.note(f"{incident}: {run.kind}; {run.verdict.get('summary')}; slow: {slow}")
        for growth in run.evidence.get("growth", []):
            if growth["metric"] == "server_cpu" and growth["group"].startswith("invar/"):
                points = ", ".join(f"{size:.0f}: {ns / 1e3:.0f} us" for size, ns in growth["points"])
                bench.note(f"  {growth['group']}: exponent {growth['exponent']:.2f}; {points}")
