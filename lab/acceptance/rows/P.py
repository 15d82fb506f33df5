"""Each driver profile beside the real driver it imitates: what the server sees of both differs by at most 10 %.

The server must be used by nobody else: its counters are compared. Best a 5.7: the log's threads of 8.0 and later spin while there is work, so
an insert costs more CPU the longer the client thinks, whatever it sends. Needs Java, Go, Python, Node and the drivers (docs/lab.md)."""

MUST = "server CPU, bytes each way and commands per operation of every profile within 10 % of its real driver"
SERVERS = ["alone"]
PROFILES = ["cj-5.1.49", "cj-8.0.22", "cj-8.0.33", "cj-8.3.0", "cj-8.3.0-cached", "mariadb-java", "go-sql-driver", "pymysql", "mysql2"]
SCENARIOS = [("point-select", []), ("insert", [])]


def row(bench):
    profiles = bench.extra or PROFILES
    for scenario, more in SCENARIOS:
        for profile in profiles:
            run = bench.lab("run", scenario, servers=SERVERS, keep=False, with_html=False,
                            options=["--driver", f"{profile},real-{profile}", "--protocol", "text,prepared", "--connections", "1", "--only-timing",
                                     "--no-twin", "--rounds", "6,12", "--time-budget", "15", *more])
            arms = run.evidence.get("arms", [])
            had = {arm["driver"] for index, arm in enumerate(arms) if run.median(index, "server_cpu_ns_per_op")}
            bench.check(f"{profile}, {scenario}: both ran", had == {profile, f"real-{profile}"}, sorted(had) or run.err[-200:])
            unlike = [warning for warning in run.evidence.get("warnings", []) if "unfaithful" in warning]
            bench.check(f"{profile}, {scenario}: within 10 %", not unlike, "; ".join(unlike) or "all figures")
