#!/usr/bin/env python3
"""Kills a server with SIGKILL in the middle of work and looks whether it kept its word.

Several connections move money between accounts, each move also a row of `transfer`, some moved on to `archive`, some rolled
back. A ledger outside the server notes each COMMIT before it is sent and again when it was acknowledged. At a random moment
the server is killed; after its restart every acknowledged move must be there, whole, and nothing that was never committed:

  1. each acknowledged transfer is present, in exactly the table the ledger says, with its own bytes;
  2. every present transfer was sent to COMMIT (acknowledged or cut off in it), none was rolled back or made up;
  3. balances and change counts of accounts follow from the present transfers alone (nothing is half there);
  4. each batch has all of its rows or none, and with --large-rows one connection writes nothing but batches of that many, each
     a transaction that takes a savepoint back in its middle and now and then all of itself;
  5. indexes agree with tables;
  6. with --xa some moves are branches of XA transactions: one whose XA PREPARE was acknowledged is prepared until its decision, which is
     made after the restart, and then holds as any other.

With --flush 2 (`innodb_flush_log_at_trx_commit`) the same holds: the system keeps what the server wrote. With --flush 0 what was
acknowledged in the last moments may be gone; then what is left must be what was there at some moment:

  1. nothing is lost that was acknowledged more than --may-lose seconds before the kill;
  2. nothing is there whose COMMIT was sent after something lost had been acknowledged;
  3. all of 2 to 5 above.

Works against any server that speaks MySQL's protocol; prints the start-up time after each kill. Needs PyMySQL.

  kill9.py --rounds 50                                      # target/release/invar with a folder of its own
  kill9.py --serve 'mysqld ... --datadir={data} --port={port} --socket={socket}' --prepare 'mysqld --initialize-insecure ...'
"""

import argparse
import hashlib
import os
import random
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import zlib

import pymysql

DATABASE = "kill9"
ACCOUNTS = 200
START_BALANCE = 1000
BATCH_ROWS = 7
LARGE_STATEMENT_ROWS = 2000
LARGE_NOTE_CHARS = 190
# What a transaction may be told and simply try again: lock wait timeout, deadlock.
RETRY = {1205, 1213}
# Another state, no such branch, and one that a deadlock has rolled back.
XA_STATE = {1397, 1399, 1402, 1613, 1614}
# The connection is gone: the server was killed.
GONE = (pymysql.err.OperationalError, pymysql.err.InterfaceError, ConnectionError, OSError)

SCHEMA = [
    f"CREATE DATABASE {DATABASE}",
    f"USE {DATABASE}",
    "CREATE TABLE account (id INT PRIMARY KEY, balance BIGINT NOT NULL, changes INT NOT NULL, KEY by_changes (changes))",
    "CREATE TABLE transfer (id BIGINT PRIMARY KEY, source INT NOT NULL, target INT NOT NULL, amount INT NOT NULL,"
    " note VARCHAR(2000) NOT NULL, KEY by_source (source), KEY by_target (target, amount))",
    "CREATE TABLE archive (id BIGINT PRIMARY KEY, source INT NOT NULL, target INT NOT NULL, amount INT NOT NULL,"
    " note VARCHAR(2000) NOT NULL, KEY by_source (source))",
    "CREATE TABLE batch (batch_id BIGINT NOT NULL, number INT NOT NULL, note VARCHAR(200), PRIMARY KEY (batch_id, number))",
]


def note_for(transfer_id):
    """The text that belongs to a transfer: derived from its id, so that any wrong byte shows."""
    digest = hashlib.shake_128(b"%d" % transfer_id)
    return f"{transfer_id}:{digest.hexdigest((5, 50, 750)[digest.digest(1)[0] % 3])}"


class Ledger:
    """What was promised. One file, appended line by line, and the same in memory."""

    def __init__(self, path):
        self.file = open(path, "a", buffering=1)
        self.lock = threading.Lock()
        self.sent = {}  # id -> (source, target, amount): COMMIT was sent, outcome unknown
        self.kept = {}  # id -> (source, target, amount): COMMIT was acknowledged
        self.moving = set()  # id: COMMIT of its move to the archive was sent
        self.archived = set()  # id: acknowledged to be in the archive
        self.batches_sent = set()
        self.batches_kept = set()
        self.large_batches = set()
        self.branches = {}  # id -> last step of its branch: "prepare" was sent, "prepared" acknowledged, "commit" or "rollback" sent
        self.times = {}  # (kind, id) -> [COMMIT sent, acknowledged or None], since an arbitrary start
        self.acknowledged = 0

    def write(self, *words):
        self.file.write(" ".join(map(str, words)) + "\n")

    def send(self, kind, number):
        self.times[kind, number] = [time.monotonic(), None]

    def acknowledge(self, kind, number):
        self.acknowledged += 1
        self.times[kind, number][1] = time.monotonic()


class Worker(threading.Thread):
    """One connection doing transactions until the server goes away."""

    def __init__(self, options, ledger, number, first_id, seed):
        super().__init__(daemon=True)
        self.options, self.ledger, self.number = options, ledger, number
        self.next_id = first_id
        self.rng = random.Random(seed)
        self.own = []  # transfers of this worker that are acknowledged and not archived
        self.problem = None
        self.transactions = self.retries = 0

    def run(self):
        try:
            connection = connect(self.options, DATABASE)
            cursor = connection.cursor()
            while True:
                try:
                    self.transaction(cursor)
                    self.transactions += 1
                except pymysql.err.OperationalError as error:
                    if error.args[0] not in RETRY:
                        raise
                    self.retries += 1
                    self.roll_back(cursor)
        except GONE as error:
            if isinstance(error, pymysql.err.OperationalError) and error.args[0] not in (2003, 2006, 2013, 1053, 1927):
                self.problem = repr(error)
        except Exception as error:  # pylint: disable=broad-except  # reported by the main thread, fails the run
            self.problem = repr(error)

    def roll_back(self, cursor):
        """Ends what a lock wait or a deadlock cut off, be it a transaction or a branch."""
        if not self.options.xa:
            cursor.execute("ROLLBACK")
            return
        for statement in ("ROLLBACK", f"XA END '{self.next_id - 1}'", f"XA ROLLBACK '{self.next_id - 1}'"):
            try:
                cursor.execute(statement)
            except pymysql.err.MySQLError as error:
                if error.args[0] not in XA_STATE:
                    raise

    def transaction(self, cursor):
        kind = self.rng.random()
        if self.number == 0 and self.options.large_rows:
            self.large_batch(cursor, rolls_back=kind < 0.2)
        elif kind < 0.1 and self.own:
            self.archive(cursor)
        elif kind < 0.2:
            self.batch(cursor)
        else:
            self.transfer(cursor, rolls_back=self.rng.random() < 0.1)

    def transfer(self, cursor, rolls_back):
        ledger, rng = self.ledger, self.rng
        transfer_id = self.next_id
        self.next_id += 1
        source, target = rng.sample(range(1, ACCOUNTS + 1), 2)
        amount = rng.randrange(1, 100)
        is_branch = rng.random() * 100 < self.options.xa
        cursor.execute(f"XA START '{transfer_id}'" if is_branch else "BEGIN")
        for _ in range(4):
            cursor.execute("SELECT balance FROM account WHERE id = %s", (rng.randrange(1, ACCOUNTS + 1),))
            cursor.fetchall()
        low = rng.randrange(1, ACCOUNTS - 20)
        cursor.execute("SELECT SUM(balance) FROM account WHERE id BETWEEN %s AND %s", (low, low + 19))
        cursor.fetchall()
        cursor.execute("UPDATE account SET balance = balance - %s, changes = changes + 1 WHERE id = %s", (amount, source))
        cursor.execute("UPDATE account SET balance = balance + %s, changes = changes + 1 WHERE id = %s", (amount, target))
        cursor.execute(
            "INSERT INTO transfer VALUES (%s, %s, %s, %s, %s)", (transfer_id, source, target, amount, note_for(transfer_id))
        )
        if is_branch:
            self.end_branch(cursor, transfer_id, (source, target, amount), rolls_back)
            return
        if rolls_back:
            cursor.execute("ROLLBACK")
            return
        with ledger.lock:
            ledger.sent[transfer_id] = (source, target, amount)
            ledger.write("commit", transfer_id, source, target, amount)
            ledger.send("commit", transfer_id)
        cursor.execute("COMMIT")
        with ledger.lock:
            ledger.kept[transfer_id] = ledger.sent.pop(transfer_id)
            ledger.write("acknowledged", transfer_id)
            ledger.acknowledge("commit", transfer_id)
        self.own.append(transfer_id)

    def end_branch(self, cursor, transfer_id, move, rolls_back):
        """Both phases of a move, prepared and then decided; now and then with a query between."""
        ledger = self.ledger
        cursor.execute(f"XA END '{transfer_id}'")
        with ledger.lock:
            ledger.sent[transfer_id] = move
            ledger.branches[transfer_id] = "prepare"
            ledger.write("prepare", transfer_id, *move)
            ledger.send("commit", transfer_id)
        cursor.execute(f"XA PREPARE '{transfer_id}'")
        decision = "rollback" if rolls_back else "commit"
        with ledger.lock:
            ledger.branches[transfer_id] = "prepared"
            ledger.write("prepared", transfer_id)
        if self.rng.random() < 0.3:
            cursor.execute("SELECT COUNT(*) FROM transfer")
        with ledger.lock:
            ledger.branches[transfer_id] = decision
            ledger.write(decision, transfer_id)
        cursor.execute(f"XA {decision} '{transfer_id}'")
        with ledger.lock:
            del ledger.branches[transfer_id]
            move = ledger.sent.pop(transfer_id)
            if not rolls_back:
                ledger.kept[transfer_id] = move
            ledger.write("decided", transfer_id)
            ledger.acknowledge("commit", transfer_id)
        if not rolls_back:
            self.own.append(transfer_id)

    def archive(self, cursor):
        ledger = self.ledger
        transfer_id = self.own[self.rng.randrange(len(self.own))]
        cursor.execute("BEGIN")
        cursor.execute("SELECT source, target, amount, note FROM transfer WHERE id = %s FOR UPDATE", (transfer_id,))
        row = cursor.fetchone()
        cursor.execute("DELETE FROM transfer WHERE id = %s", (transfer_id,))
        cursor.execute("INSERT INTO archive VALUES (%s, %s, %s, %s, %s)", (transfer_id, *row))
        with ledger.lock:
            ledger.moving.add(transfer_id)
            ledger.write("move", transfer_id)
            ledger.send("move", transfer_id)
        cursor.execute("COMMIT")
        with ledger.lock:
            ledger.moving.discard(transfer_id)
            ledger.archived.add(transfer_id)
            ledger.write("moved", transfer_id)
            ledger.acknowledge("move", transfer_id)
        self.own.remove(transfer_id)

    def batch(self, cursor):
        """One autocommitted statement of several rows."""
        ledger = self.ledger
        batch_id = self.next_id
        self.next_id += 1
        rows = ", ".join(f"({batch_id}, {number}, 'batch {batch_id} row {number}')" for number in range(BATCH_ROWS))
        with ledger.lock:
            ledger.batches_sent.add(batch_id)
            ledger.write("batch", batch_id)
            ledger.send("batch", batch_id)
        cursor.execute(f"INSERT INTO batch VALUES {rows}")
        with ledger.lock:
            ledger.batches_sent.discard(batch_id)
            ledger.batches_kept.add(batch_id)
            ledger.write("batch-kept", batch_id)
            ledger.acknowledge("batch", batch_id)


    def large_batch(self, cursor, rolls_back):
        """A transaction whose changes are more than a server may want to keep in memory."""
        ledger, rows = self.ledger, self.options.large_rows
        batch_id = self.next_id
        self.next_id += 1
        text = "x" * LARGE_NOTE_CHARS

        def insert(numbers):
            values = ", ".join(f"({batch_id}, {number}, '{number} {text}')" for number in numbers)
            cursor.execute(f"INSERT INTO batch VALUES {values}")

        cursor.execute("BEGIN")
        for first in range(0, rows, LARGE_STATEMENT_ROWS):
            if first // LARGE_STATEMENT_ROWS == rows // LARGE_STATEMENT_ROWS // 2:
                cursor.execute("SAVEPOINT half")
                for back in range(-rows, 0, LARGE_STATEMENT_ROWS):
                    insert(range(back, min(back + LARGE_STATEMENT_ROWS, 0)))
                cursor.execute("ROLLBACK TO SAVEPOINT half")
            insert(range(first, min(first + LARGE_STATEMENT_ROWS, rows)))
        if rolls_back:
            cursor.execute("ROLLBACK")
            return
        with ledger.lock:
            ledger.large_batches.add(batch_id)
            ledger.batches_sent.add(batch_id)
            ledger.write("large-batch", batch_id)
            ledger.send("batch", batch_id)
        cursor.execute("COMMIT")
        with ledger.lock:
            ledger.batches_sent.discard(batch_id)
            ledger.batches_kept.add(batch_id)
            ledger.write("batch-kept", batch_id)
            ledger.acknowledge("batch", batch_id)


def connect(options, database=None):
    where = {"unix_socket": options.connect_socket} if options.connect_socket else {"host": "127.0.0.1", "port": options.port}
    return pymysql.connect(
        user=options.user, password=options.password, database=database, autocommit=True, charset="utf8mb4", **where
    )


class Server:
    """The server under test as a child process."""

    def __init__(self, options):
        self.options = options
        self.process = None

    def start(self):
        """Starts it; returns the seconds until a query was answered."""
        began = time.monotonic()
        log = open(os.path.join(self.options.work, "server.log"), "ab")
        self.process = subprocess.Popen(self.options.serve_command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        log.close()
        while True:
            if self.process.poll() is not None:
                sys.exit(f"the server ended by itself with {self.process.returncode}; see {log.name}")
            try:
                connection = connect(self.options)
                connection.cursor().execute("SELECT 1")
                connection.close()
                return time.monotonic() - began
            except GONE:
                if time.monotonic() - began > self.options.start_timeout:
                    self.kill()
                    sys.exit(f"the server did not answer within {self.options.start_timeout} s; see {log.name}")
                time.sleep(0.005)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def take_losses(options, ledger, places, batches, killed, wrong):
    """Takes out of the ledger what a lazy log may lose, if that is what a log without its end loses; returns how many commits."""
    times = ledger.times
    lost = [("commit", transfer_id) for transfer_id in ledger.kept if transfer_id not in places]
    lost += [("move", transfer_id) for transfer_id in ledger.archived if places.get(transfer_id) == "transfer"]
    lost += [("move", transfer_id) for transfer_id in ledger.archived if transfer_id not in places]
    lost += [("batch", batch_id) for batch_id in ledger.batches_kept if batch_id not in batches]
    long_ago = [0.0, 0.0]  # In an earlier round.
    for kind, number in lost:
        before = killed - times.get((kind, number), long_ago)[1]
        if before > options.may_lose:
            wrong.append(f"{kind} {number} was acknowledged {before:.2f} s before the kill and is lost")
    if lost:
        first = min(times.get(key, long_ago)[1] for key in lost)
        kept = [("commit", transfer_id) for transfer_id in places]
        kept += [("move", transfer_id) for transfer_id, table in places.items() if table == "archive"]
        kept += [("batch", batch_id) for batch_id in batches]
        for key in kept:
            if times.get(key, long_ago)[0] > first:
                wrong.append(f"{key} was sent after something lost had been acknowledged, and is there")
    for kind, number in lost:
        if kind == "commit":
            del ledger.kept[number]
        elif kind == "move":
            ledger.archived.discard(number)
        else:
            ledger.batches_kept.discard(number)
    return len(lost)


def decide(options, ledger, rng):
    """Ends the branches that are prepared, as their client had begun to, or by chance; returns what is wrong."""
    wrong = []
    connection = connect(options)
    cursor = connection.cursor()
    cursor.execute("XA RECOVER")
    prepared = {int(row[3]) for row in cursor.fetchall()}
    for transfer_id, step in ledger.branches.items():
        if step == "prepared" and transfer_id not in prepared:
            wrong.append(f"branch {transfer_id}, whose XA PREPARE was acknowledged, is not prepared")
    for transfer_id in prepared:
        step = ledger.branches.get(transfer_id)
        if step is None:
            wrong.append(f"branch {transfer_id} is prepared, and was never or is decided")
            continue
        decision = step if step in ("commit", "rollback") else rng.choice(["commit", "rollback"])
        cursor.execute(f"XA {decision} '{transfer_id}'")
        move = ledger.sent.pop(transfer_id)
        if decision == "commit":
            ledger.kept[transfer_id] = move
    cursor.execute("XA RECOVER")
    if cursor.fetchall():
        wrong.append("a branch is prepared after its decision")
    connection.close()
    # One that is not prepared and was to be committed is there or was cut off in its XA PREPARE; one that was to be rolled back is not there.
    for transfer_id, step in ledger.branches.items():
        if step == "rollback":
            ledger.sent.pop(transfer_id, None)
        elif step == "commit" and transfer_id in ledger.sent:
            ledger.kept[transfer_id] = ledger.sent.pop(transfer_id)
    count = len(prepared)
    ledger.branches.clear()
    return wrong, count


def verify(options, ledger, killed):
    """Compares the server's tables with the ledger; returns the list of what is wrong, how many transfers there are, how many commits
    are lost that may be."""
    wrong = []
    lost = 0
    connection = connect(options, DATABASE)
    cursor = connection.cursor()

    def rows(sql):
        cursor.execute(sql)
        return cursor.fetchall()

    present = {}
    places = {}
    for table in ("transfer", "archive"):
        for transfer_id, source, target, amount, note in rows(f"SELECT id, source, target, amount, note FROM {table}"):
            if transfer_id in present:
                wrong.append(f"transfer {transfer_id} is in both tables")
            present[transfer_id] = (source, target, amount)
            places[transfer_id] = table
            if note != note_for(transfer_id):
                wrong.append(f"transfer {transfer_id} has another note (crc {zlib.crc32(note.encode()):08x})")
    found = rows("SELECT batch_id, COUNT(*), MIN(number), MAX(number) FROM batch GROUP BY batch_id")
    batches = {batch_id: count for batch_id, count, _, _ in found}
    if options.flush == 0:
        lost = take_losses(options, ledger, places, batches, killed, wrong)
    for transfer_id, move in ledger.kept.items():
        if present.get(transfer_id) != move:
            wrong.append(f"acknowledged transfer {transfer_id} {move} is {present.get(transfer_id)}")
    may_be_archived = ledger.archived | ledger.moving
    for transfer_id, move in present.items():
        if transfer_id not in ledger.kept and ledger.sent.get(transfer_id) != move:
            wrong.append(f"transfer {transfer_id} {move} was never committed")
        if transfer_id in ledger.archived and places[transfer_id] != "archive":
            wrong.append(f"transfer {transfer_id} was archived and is in {places[transfer_id]}")
        if places[transfer_id] == "archive" and transfer_id not in may_be_archived:
            wrong.append(f"transfer {transfer_id} was never archived")

    balance = {account: START_BALANCE for account in range(1, ACCOUNTS + 1)}
    changes = dict.fromkeys(balance, 0)
    for source, target, amount in present.values():
        balance[source] -= amount
        balance[target] += amount
        changes[source] += 1
        changes[target] += 1
    accounts = rows("SELECT id, balance, changes FROM account ORDER BY id")
    if len(accounts) != ACCOUNTS:
        wrong.append(f"{len(accounts)} accounts")
    for account, has, changed in accounts:
        if (has, changed) != (balance.get(account), changes.get(account)):
            wrong.append(
                f"account {account} has {has} after {changed} changes;"
                f" its transfers say {balance.get(account)} after {changes.get(account)}"
            )

    may_be_there = ledger.batches_kept | ledger.batches_sent
    for batch_id, count, first, last in found:
        expected = options.large_rows if batch_id in ledger.large_batches else BATCH_ROWS
        if (count, first, last) != (expected, 0, expected - 1):
            wrong.append(f"batch {batch_id} has {count} of {expected} rows, {first} to {last}")
        if batch_id not in may_be_there:
            wrong.append(f"batch {batch_id} was never sent")
    for batch_id in ledger.batches_kept - batches.keys():
        wrong.append(f"acknowledged batch {batch_id} is lost")

    for table, index, column in (
        ("transfer", "by_source", "source"),
        ("transfer", "by_target", "target"),
        ("archive", "by_source", "source"),
        ("account", "by_changes", "changes"),
    ):
        by_index = rows(f"SELECT {column}, COUNT(*) FROM {table} FORCE INDEX ({index}) WHERE {column} >= 0 GROUP BY {column}")
        by_table = rows(f"SELECT {column}, COUNT(*) FROM {table} IGNORE INDEX ({index}) GROUP BY {column}")
        if sorted(by_index) != sorted(by_table):
            wrong.append(f"index {index} of {table} does not agree with its table")

    # What was cut off in its COMMIT is decided now, for good.
    for transfer_id in list(ledger.sent):
        move = ledger.sent.pop(transfer_id)
        if transfer_id in present:
            ledger.kept[transfer_id] = move
    for transfer_id in list(ledger.moving):
        ledger.moving.discard(transfer_id)
        if places.get(transfer_id) == "archive":
            ledger.archived.add(transfer_id)
    for batch_id in list(ledger.batches_sent):
        ledger.batches_sent.discard(batch_id)
        if batch_id in batches:
            ledger.batches_kept.add(batch_id)
    connection.close()
    # A round is judged by its own times.
    ledger.times.clear()
    return wrong, len(present), lost


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    invar = os.path.join(root, "target", "release", "invar")
    parser.add_argument("--serve", default=f"{invar} serve --data-dir {{data}} --port {{port}} --socket {{socket}}")
    parser.add_argument("--prepare", help="run once before the first start")
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=3.0, help="longest time between the first commit and the kill")
    parser.add_argument("--large-rows", type=int, default=0, help="one connection inserts this many rows in each transaction")
    parser.add_argument("--xa", type=float, default=0, help="percentage of moves that are branches of XA transactions")
    parser.add_argument("--flush", type=int, choices=(0, 1, 2), help="innodb_flush_log_at_trx_commit of the server (default: its own)")
    parser.add_argument("--may-lose", type=float, default=1.5, help="seconds before the kill, with --flush 0")
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--port", type=int, default=24399)
    parser.add_argument("--connect-socket", help="connect by this Unix socket; may contain {socket}")
    parser.add_argument("--user", default="root")
    parser.add_argument("--password", default="")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--start-timeout", type=float, default=120)
    parser.add_argument("--work", help="folder for data, ledger and log (default: a temporary one)")
    parser.add_argument("--keep", action="store_true", help="keep the folder after success, too")
    options = parser.parse_args()
    if options.xa and options.flush == 0:
        parser.error("--xa needs a log that is synced or written: what --flush 0 loses is not followed through both phases")
    options.work = options.work or tempfile.mkdtemp(prefix="kill9-")
    os.makedirs(options.work, exist_ok=True)
    names = {
        "data": os.path.join(options.work, "data"),
        "socket": os.path.join(options.work, "sock"),
        "port": options.port,
        "work": options.work,
    }
    options.serve_command = shlex.split(options.serve.format(**names))
    if options.flush is not None:
        options.serve_command.append(f"--innodb-flush-log-at-trx-commit={options.flush}")
    options.prepare_command = shlex.split(options.prepare.format(**names)) if options.prepare else None
    if options.connect_socket:
        options.connect_socket = options.connect_socket.format(**names)
    return options


def main():
    options = arguments()
    rng = random.Random(options.seed)
    print(f"seed {options.seed}, {options.rounds} rounds, {options.connections} connections, folder {options.work}", flush=True)
    if options.prepare_command:
        subprocess.run(options.prepare_command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    ledger = Ledger(os.path.join(options.work, "ledger"))
    server = Server(options)
    first_start = server.start()
    print(f"first start {first_start * 1000:.0f} ms", flush=True)
    cursor = connect(options).cursor()
    for statement in SCHEMA:
        cursor.execute(statement)
    values = ", ".join(f"({account}, {START_BALANCE}, 0)" for account in range(1, ACCOUNTS + 1))
    cursor.execute(f"INSERT INTO account VALUES {values}")
    # What comes before the load is not what is tried.
    time.sleep(2.5 if options.flush == 0 else 0)
    starts = []
    losses = 0
    failed = False
    for round_number in range(1, options.rounds + 1):
        before = ledger.acknowledged
        workers = [
            Worker(options, ledger, number, (round_number << 40) | (number << 32), rng.random())
            for number in range(options.connections)
        ]
        for worker in workers:
            worker.start()
        # A kill before the first commit shows little: the life is counted from there.
        began = time.monotonic()
        while ledger.acknowledged == before and time.monotonic() - began < 30 and any(map(threading.Thread.is_alive, workers)):
            time.sleep(0.01)
        life = rng.uniform(0.05, options.seconds)
        time.sleep(life)
        server.kill()
        killed = time.monotonic()
        for worker in workers:
            worker.join(30)
        problems = [worker.problem for worker in workers if worker.problem]
        problems += ["a worker did not end" for worker in workers if worker.is_alive()]
        unknown = len(ledger.sent) + len(ledger.moving) + len(ledger.batches_sent)
        seconds = server.start()
        starts.append(seconds)
        undecided, branches = decide(options, ledger, rng)
        wrong, count, lost = verify(options, ledger, killed)
        wrong = undecided + wrong
        losses += lost
        retries = sum(worker.retries for worker in workers)
        print(
            f"round {round_number:3}: killed {life:4.2f} s after the first commit, {ledger.acknowledged - before} commits acknowledged"
            f" ({unknown} cut off, {retries} retried), {count} transfers present, start-up {seconds * 1000:.0f} ms"
            + (f", {branches} branches were prepared" if options.xa else "")
            + (f", {lost} of the last commits lost" if lost else "")
            + ("" if not wrong + problems else f", {len(wrong)} WRONG, {len(problems)} PROBLEMS"),
            flush=True,
        )
        for line in (wrong + problems)[:20]:
            print("   ", line)
        if wrong or problems:
            failed = True
            break
    server.kill()
    if starts:
        print(
            f"{len(starts)} kills, {ledger.acknowledged} acknowledged commits,"
            f" start-up median {statistics.median(starts) * 1000:.0f} ms, longest {max(starts) * 1000:.0f} ms:"
            f" {'FAILED' if failed else f'{losses} of the last {options.may_lose} s lost, nothing half' if losses else 'every one present, nothing half'}"
        )
    if failed:
        print(f"folder kept: {options.work}; again with --seed {options.seed}")
        return 1
    if not options.keep:
        shutil.rmtree(options.work)
    return 0


if __name__ == "__main__":
    sys.exit(main())
