"""N2: nine faults, each put in place outside of the lab; one command without hints must name the layer.

It starts two servers of its own from the peers (N2_BASE, /opt/peers/mysql97) under N2_DATA (/dev/shm/n2: no disk's moods), alike
but for the port, and puts one fault before, into or beside the second. Needs root (a CPU quota), a C compiler (slow syncs), PyMySQL.

    lab/acceptance/run.py N2 -- [RUNS] [FAULT...]     runs of each fault (20), and which of them (all)

Each run is a line of N2.runs.jsonl; a row that is begun again goes on where it ended."""

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import threading
import time

MUST = "the top layer of each fault in 95 % of 20 runs"
SERVERS = []

HERE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "n2")
BASE = os.environ.get("N2_BASE", "/opt/peers/mysql97")
DATA = os.environ.get("N2_DATA", "/dev/shm/n2")
PORTS = {"good": 25611, "bad": 25612}
FRONT_PORT = 25613
SCHEMA = "invar_lab"
ROWS = 10000
# No layer is named there, so nothing wrong is said.
UNSURE = ("inconclusive", "unlocated")
RUNS = 20
SECONDS = "20"


class Servers:
    """Two servers alike: the second's syncs can be slowed by a file."""

    def __init__(self):
        os.makedirs(DATA, exist_ok=True)
        library = os.path.join(DATA, "slowsync.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, os.path.join(HERE, "slowsync.c"), "-ldl"], check=True)
        self.processes = {name: self.start(name, library) for name in PORTS}

    def start(self, name, library):
        home, share = os.path.join(DATA, name), os.path.join(BASE, "usr/share/mysql")
        os.makedirs(home, exist_ok=True)
        self.sync_file(name)
        loader = [os.path.join(BASE, "lib64/ld-linux-x86-64.so.2"), "--library-path", os.path.join(BASE, "usr/lib/x86_64-linux-gnu")]
        command = [*loader, os.path.join(BASE, "usr/sbin/mysqld"), "--no-defaults", "--user=root", f"--basedir={BASE}/usr",
                   f"--datadir={home}/data", f"--lc-messages-dir={share}", f"--character-sets-dir={share}/charsets",
                   f"--plugin-dir={BASE}/usr/lib/mysql/plugin", "--secure-file-priv="]
        with open(os.path.join(home, "out"), "ab") as log:
            if not os.path.exists(os.path.join(home, "data/ibdata1")):
                subprocess.run([*command, "--initialize-insecure"], check=True, stdout=log, stderr=log)
            accounts = os.path.join(home, "init.sql")
            with open(accounts, "w") as file:
                for user in ("good", "bad", "fault"):
                    file.write(f"CREATE USER IF NOT EXISTS '{user}'@'127.0.0.1' IDENTIFIED BY '';\n"
                               f"GRANT ALL ON *.* TO '{user}'@'127.0.0.1';\n")
            process = subprocess.Popen(
                [*command, "--mysqlx=OFF", "--skip-log-bin", "--bind-address=127.0.0.1", f"--port={PORTS[name]}", f"--init-file={accounts}",
                 f"--socket={home}/sock", f"--pid-file={home}/pid", f"--log-error={home}/error.log", "--skip-name-resolve",
                 "--innodb-buffer-pool-size=256M", "--innodb-flush-log-at-trx-commit=1"],
                stdout=log, stderr=log, start_new_session=True,
                env={**os.environ, "LD_PRELOAD": library, "N2_SYNC_US": self.sync_path(name)})
        until = time.monotonic() + 120
        while time.monotonic() < until:
            with contextlib.suppress(Exception):
                connect(name).close()
                return process
            if process.poll() is not None:
                break
            time.sleep(0.3)
        raise RuntimeError(f"server {name} did not come up; see {home}/error.log")

    def sync_path(self, name):
        return os.path.join(DATA, name, "sync_us")

    def sync_file(self, name, us=0):
        with open(self.sync_path(name), "w") as file:
            file.write(str(us))

    def stop(self):
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(60)


def connect(name):
    import pymysql
    return pymysql.connect(host="127.0.0.1", port=PORTS[name], user="fault", autocommit=True)


def url(name, port=None):
    return name, f"mysql://{name}@127.0.0.1:{port or PORTS[name]}"


# Faults: each is entered before the command and left after it, and yields the address of the bad server, more options for the
# command, and more environment.

@contextlib.contextmanager
def think(_servers, _bench):
    yield url("bad"), ["--driver", DRIVER], {"PYTHONPATH": os.path.join(HERE, "app"), "N2_APP_USER": "bad", "N2_APP_THINK_MS": "8"}


@contextlib.contextmanager
def round_trips(_servers, _bench):
    yield url("bad"), ["--driver", DRIVER], {"PYTHONPATH": os.path.join(HERE, "app"), "N2_APP_USER": "bad", "N2_APP_TRIPS": "5"}


@contextlib.contextmanager
def proxy(_servers, _bench):
    """A proxy that works 5 ms on each statement and lets everything else pass."""
    listener = socket.create_server(("127.0.0.1", 0))
    ended = threading.Event()

    def pass_on(client):
        server = socket.create_connection(("127.0.0.1", PORTS["bad"]))
        for one in (client, server):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with client, server:
            while not ended.is_set():
                for ready in select.select([client, server], [], [], 0.2)[0]:
                    data = ready.recv(1 << 16)
                    if not data:
                        return
                    # COM_QUERY, COM_STMT_PREPARE, COM_STMT_EXECUTE at the beginning of what the client sends.
                    if ready is client and len(data) > 4 and data[3] == 0 and data[4] in (0x03, 0x16, 0x17):
                        time.sleep(0.005)
                    (server if ready is client else client).sendall(data)

    def accept():
        while not ended.is_set():
            with contextlib.suppress(OSError):
                threading.Thread(target=pass_on, args=(listener.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield url("bad", listener.getsockname()[1]), [], {}
    finally:
        ended.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


@contextlib.contextmanager
def link(_servers, bench):
    process = subprocess.Popen([bench.invar, "lab", "tap", "--listen", f"127.0.0.1:{FRONT_PORT}", "--to", url("bad")[1], "--delay-ms", "4"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        process.stderr.readline()  # It listens.
        yield url("bad", FRONT_PORT), [], {}
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)


@contextlib.contextmanager
def beside(work):
    """Something that goes on beside the command until it ends; what fails because the table is not there yet is tried again."""
    ended = threading.Event()

    def loop():
        while not ended.is_set():
            with contextlib.suppress(Exception):
                work(ended)
            time.sleep(0.02)

    thread = threading.Thread(target=loop, daemon=True)
    thread.start()
    try:
        yield url("bad"), [], {}
    finally:
        ended.set()
        thread.join(10)


def wait_for_rows(cursor, ended):
    """The data is loaded by the command itself; a fault that were there before would be in its way."""
    while not ended.is_set():
        cursor.execute(f"SELECT COUNT(*) FROM {SCHEMA}.t")
        if cursor.fetchone()[0] == ROWS:
            return
        time.sleep(0.02)


def row_lock(_servers, _bench):
    def hold(ended):
        with connect("bad") as connection, connection.cursor() as cursor:
            wait_for_rows(cursor, ended)
            while not ended.is_set():
                cursor.execute("BEGIN")
                cursor.execute(f"SELECT COUNT(*) FROM (SELECT id FROM {SCHEMA}.t FOR UPDATE) x")
                time.sleep(0.005)
                cursor.execute("ROLLBACK")
                time.sleep(0.002)
    return beside(hold)


def dropped_index(_servers, _bench):
    def drop(ended):
        with connect("bad") as connection, connection.cursor() as cursor:
            wait_for_rows(cursor, ended)
            if not ended.is_set():
                cursor.execute(f"ALTER TABLE {SCHEMA}.t DROP INDEX k")
                ended.wait()
    return beside(drop)


@contextlib.contextmanager
def fsync(servers, _bench):
    servers.sync_file("bad", 8000)
    try:
        yield url("bad"), [], {}
    finally:
        servers.sync_file("bad")


@contextlib.contextmanager
def cpu_quota(servers, _bench):
    group = "/sys/fs/cgroup/cpu/n2"
    os.makedirs(group, exist_ok=True)

    def write(path, text):
        with open(path, "w") as file:
            file.write(text)
    write(group + "/cpu.cfs_period_us", "20000")
    write(group + "/cpu.cfs_quota_us", "2000")
    pid = str(servers.processes["bad"].pid)
    write(group + "/cgroup.procs", pid)
    try:
        yield url("bad"), [], {}
    finally:
        write("/sys/fs/cgroup/cpu/cgroup.procs", pid)
        os.rmdir(group)


@contextlib.contextmanager
def variable(_servers, _bench):
    with connect("bad") as connection, connection.cursor() as cursor:
        cursor.execute("SET GLOBAL tmp_table_size = 1024")
        try:
            yield url("bad"), [], {}
        finally:
            cursor.execute("SET GLOBAL tmp_table_size = DEFAULT")


DRIVER = "real-pymysql"
# Name, fault, scenario, the layer that must be named.
FAULTS = [
    ("think-time", think, "point", "app"),
    ("round-trips", round_trips, "point", "app"),
    ("proxy-delay", proxy, "point", "proxy"),
    ("link-delay", link, "point", "network"),
    ("row-lock", row_lock, "point", "engine"),
    ("fsync", fsync, "point", "engine"),
    ("cpu-quota", cpu_quota, "point", "kernel"),
    ("dropped-index", dropped_index, "point", "server-sql"),
    ("changed-variable", variable, "group", "server-sql"),
]


def row(bench):
    words = list(bench.extra)
    runs = int(words.pop(0)) if words and words[0].isdigit() else RUNS
    faults = [fault for fault in FAULTS if not words or fault[0] in words]
    kept_path = bench.path(".runs.jsonl")
    kept = []
    if os.path.exists(kept_path):
        with open(kept_path) as file:
            kept = [json.loads(line) for line in file]
    servers = Servers()
    try:
        for number in range(runs):
            for name, fault, scenario, layer in faults:
                if sum(one["fault"] == name for one in kept) > number:
                    continue
                with fault(servers, bench) as (bad, options, env):
                    ran = bench.lab("run", os.path.join(HERE, scenario + ".toml"), servers=[url("good"), bad],
                                    options=["--time-budget", SECONDS, "--rounds", "10", *options], env=env, keep=number == 0, seconds_max=300)
                said = (ran.verdict.get("layer") or "").split(":")[0]
                found = {"fault": name, "must": layer, "kind": ran.kind, "layer": ran.verdict.get("layer"), "seconds": round(ran.seconds, 1),
                         "right": ran.kind not in UNSURE and said == layer, "inconclusive": ran.kind in UNSURE,
                         "summary": ran.verdict.get("summary") or ran.err[-300:]}
                kept.append(found)
                with open(kept_path, "a") as file:
                    file.write(json.dumps(found) + "\n")
                print(f"  {name}: {found['kind']}, {found['layer']} in {found['seconds']} s", flush=True)
    finally:
        servers.stop()
    for name, _, _, layer in FAULTS:
        of = [one for one in kept if one["fault"] == name]
        if not of:
            bench.note(f"{name}: not run")
            continue
        right, unsure = sum(one["right"] for one in of), sum(one["inconclusive"] for one in of)
        wrong = sorted({str(one["layer"]) for one in of if not one["right"] and not one["inconclusive"]})
        bench.check(f"{name} is {layer}", right >= 0.95 * len(of),
                    f"right {right} of {len(of)}, inconclusive {unsure}, else {', '.join(wrong) or 'nothing'}")
    counts = [sum(one["fault"] == fault[0] for one in kept) for fault in FAULTS]
    bench.check("six faults or more, 20 runs each", sum(count >= RUNS for count in counts) >= 6, f"runs of each: {counts}")
