"""N3: a client that cannot keep up. What it sees says nothing about the servers: the run is invalid, and says so."""

MUST = "inconclusive: every block invalid because the client was saturated or late; no comparison of the servers is made"
SERVERS = ["same"]


def row(bench):
    run = bench.lab("run", "lab/acceptance/heavy-client.toml", servers=[("a", bench.url("same")), ("b", bench.url("same"))], options=["--time-budget", "20", "--rounds", "3,5"])
    blocks = run.evidence.get("blocks", [])
    reasons = sorted({(block.get("invalid") or "valid").split(":")[0] for block in blocks})
    bench.check("blocks were measured", blocks, len(blocks))
    bench.check("every block is invalid", all(block.get("invalid") for block in blocks), reasons)
    bench.check("the client is named", all("client" in reason for reason in reasons), reasons)
    bench.check("no verdict", run.kind == "inconclusive", run.kind)
    bench.check("the verdict says why", "client" in run.verdict.get("summary", ""), run.verdict.get("summary"))
    bench.check("nobody is called slower", not any(one["judgement"] in ("slower", "faster") for one in run.comparisons()), len(run.comparisons()))
    bench.check("exit code 3", run.exit_code == 3, run.exit_code)
