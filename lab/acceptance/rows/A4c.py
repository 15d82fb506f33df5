"""A4c: 400 columns named one by one, old version against new, no proxy."""

MUST = "wide-select-name-resolution: 60 % or more of the added CPU under find_field_in_table, grows with columns; SELECT * verified"
SERVERS = ["old", "new"]


def row(bench):
    run = bench.lab("run", "incident-4-orm-wide-select", servers=SERVERS, options=["--time-budget", "100"])
    verdict, evidence = run.verdict, run.evidence
    bench.check("under ten minutes", run.seconds < 600, f"{run.seconds:.0f} s")
    bench.check("the cause", verdict.get("cause") == "wide-select-name-resolution", verdict.get("summary"))
    bench.check("the layer", (verdict.get("layer") or "").startswith("server-sql"), verdict.get("layer"))
    bench.check("confirmed", run.kind == "confirmed", run.kind)
    shares = [line for line in verdict.get("evidence", []) if "of the added CPU under find_field" in line]
    bench.check("60 % of the added CPU under find_field_in_table", shares, shares)
    slow = verdict.get("slow_arm")
    name = evidence["arms"][slow]["server"] if slow is not None else None
    grown = [one for one in evidence.get("growth", []) if one["metric"] == "server_cpu" and one["group"].startswith(f"{name}/")
             and "variant=op" in one["group"]]
    bench.check("it grows with the columns named", grown and grown[0]["exponent"] >= 0.6, grown)
    changes = [one for one in evidence.get("interventions", []) if one["is_confirmed"]]
    bench.check("SELECT * takes it away, the names bring it back", changes, [
        (one["what"], one["before"], one["during"], one["after"]) for one in evidence.get("interventions", [])])
    for layer in ("client", "proxy", "network"):
        bench.check(f"{layer} excluded", run.layer(layer) == "excluded", run.layer(layer))
