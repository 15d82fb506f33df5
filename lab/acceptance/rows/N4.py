"""N4: servers whose buffer pools differ. A difference between them may be the pool's: the lab names it and gives no verdict."""

MUST = "inconclusive: the buffer pool differs and is named as a confound; no verdict, even where one server is slower"
SERVERS = ["pool-large", "pool-small"]


def row(bench):
    run = bench.lab("run", "point-select", servers=SERVERS, options=["--time-budget", "20"])
    setting = next((one for one in run.evidence.get("equalised", []) if one["name"] == "innodb_buffer_pool_size"), {})
    values = setting.get("values", {})
    bench.check("the pools differ", len(set(values.values())) == 2, values)
    bench.check("the difference is marked as a confound", setting.get("is_confound"), setting.get("reason"))
    bench.check("no verdict", run.kind == "inconclusive", run.kind)
    said = run.verdict.get("summary", "") + " " + " ".join(run.verdict.get("evidence", []))
    bench.check("the verdict names the variable", "innodb_buffer_pool_size" in said, run.verdict.get("summary"))
    bench.check("exit code 3", run.exit_code == 3, run.exit_code)
