"""Each driver profile beside the real driver it imitates: what the server sees of both differs by at most 10 %.

Commands and bytes are counted. CPU is measured with both at one pace, client and server on cores of their own, and beside the driver
against itself: what lies across the end of the 10 % with its noise is inconclusive, and the row does not hold then.
The server must be on this machine and used by nobody else: its counters are compared. Needs Java, Go, Python, Node and the drivers
(docs/lab.md). About 15 minutes, at most 40. `-- PROFILE...` takes only these."""

MUST = "server CPU, bytes each way and commands per operation of every profile within 10 % of its real driver"
SERVERS = ["alone"]
PROFILES = ["cj-5.1.49", "cj-8.0.22", "cj-8.0.33", "cj-8.3.0", "cj-8.3.0-cached", "mariadb-java", "go-sql-driver", "pymysql", "mysql2"]
SCENARIOS = ["point-select", "insert"]
# PyMySQL cannot prepare.
PROTOCOLS = {"pymysql": "text"}
# For one scenario of one profile, all its protocols together.
SECONDS = 120


def figure(one):
    text = f"{one['name']} {one['profile']:.1f} against {one['real']:.1f}"
    if one["rounds"]:
        noise = " and ".join(f"{share * 100:.1f} %" for share in one["noise"])
        text += f" (x{one['ratio']:.3f}, {one['low']:.3f} to {one['high']:.3f}; the driver against itself {noise}; {one['rounds']} rounds)"
    return text


def row(bench):
    for scenario in SCENARIOS:
        for profile in bench.extra or PROFILES:
            protocols = PROTOCOLS.get(profile, "text,prepared")
            run = bench.lab("run", scenario, servers=SERVERS, keep=False, with_html=False,
                            options=["--driver-fidelity", "--allow-pin", "--driver", profile, "--protocol", protocols, "--connections", "1",
                                     "--rounds", "16,120", "--time-budget", str(SECONDS)])
            found = {fidelity["arm"]: fidelity for fidelity in run.evidence.get("fidelity", [])}
            bench.check(f"{profile}, {scenario}: both ran", len(found) == len(protocols.split(",")), sorted(found) or run.err[-200:])
            shared = [warning for warning in run.evidence.get("warnings", []) if "share their cores" in warning]
            for arm, fidelity in found.items():
                words = {one["word"] for one in fidelity["figures"]}
                unlike = [figure(one) for one in fidelity["figures"] if one["word"] == "unlike"]
                shown = [figure(one) for one in fidelity["figures"] if one["rounds"] or one["word"] != "alike"]
                said = "INCONCLUSIVE: " if "unsure" in words and not unlike else ""
                paced = f"; every {fidelity['interval_ns'] / 1e3:.0f} us"
                bench.check(f"{arm.split('/', 1)[-1]}, {scenario}: within 10 %", words == {"alike"} and fidelity["interval_ns"] > 0,
                            said + "; ".join(unlike or shown) + paced + "".join(f"; {warning}" for warning in shared))
