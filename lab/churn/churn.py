#!/usr/bin/env python3
"""How much disk a table takes that changes all the time: the data file against the live rows, under deletes and inserts.

    lab/churn/churn.py --binary target/release/invar [--port 25940] [--rows 400000] [--rounds 6] [--pattern sliding random]
    lab/churn/churn.py --connect mysql://peer:peer@127.0.0.1:23097 --files '/dev/shm/peers/mysql97/data/churn/t.ibd'

Loads `rows` rows in the order of their key. Each round then replaces as many rows as there are: `sliding` deletes the lowest key and adds
one behind the highest, `random` deletes any and adds any. After each round it notes the length of the files, and what one
live row takes of them. At the end four fifths of the rows go, and OPTIMIZE TABLE follows; both times it waits until the files stay
as they are. 1.00 is the file right after the load. Needs PyMySQL."""

import argparse
import glob
import os
import random
import shutil
import subprocess
import tempfile
import time
import urllib.parse

import pymysql

BATCH = 200
TEXT = 160


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary")
    parser.add_argument("--port", type=int, default=25940)
    parser.add_argument("--pool", default="128M")
    parser.add_argument("--connect", help="a running server instead")
    parser.add_argument("--files", help="with --connect: the files to measure, a pattern")
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--pattern", nargs="+", choices=["sliding", "random"], default=["sliding", "random"])
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


class Churn:
    def __init__(self, options):
        self.options, self.rng = options, random.Random(options.seed)
        self.server = self.folder = None
        if options.connect:
            url = urllib.parse.urlparse(options.connect)
            self.to = {"host": url.hostname, "port": url.port or 3306, "user": url.username, "password": url.password or ""}
            self.files = options.files
        else:
            self.folder = tempfile.mkdtemp(prefix="churn-")
            self.server = subprocess.Popen(
                [options.binary, "serve", "--no-defaults", "--data-dir", os.path.join(self.folder, "data"), "--port", str(options.port),
                 "--skip-ssl", f"--innodb-buffer-pool-size={options.pool}", "--socket", os.path.join(self.folder, "socket")],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.to = {"host": "127.0.0.1", "port": options.port, "user": "root", "password": ""}
            self.files = os.path.join(self.folder, "data", "data")
        self.cursor = self.connect().cursor()

    def connect(self):
        for _ in range(300):
            try:
                return pymysql.connect(**self.to, autocommit=True)
            except pymysql.err.OperationalError:
                time.sleep(0.1)
        raise SystemExit("the server does not answer")

    def sql(self, text):
        self.cursor.execute(text)
        return self.cursor.fetchall()

    def length(self):
        return sum(os.stat(path).st_size for path in glob.glob(self.files))

    def settled(self):
        """The length when it has not changed for a while: what runs behind the statements is over. Invar writes the data file at
        checkpoints, of which one may be a minute away."""
        status = self.status()
        if "Store_checkpoints" in status:
            wanted = status["Store_checkpoints"] + 1 + status["Store_checkpoint_running"]
            for _ in range(700):
                if self.status()["Store_checkpoints"] >= wanted or not self.dirty():
                    break
                time.sleep(0.2)
        length, since = self.length(), time.monotonic()
        while time.monotonic() - since < 4:
            time.sleep(0.2)
            if self.length() != length:
                length, since = self.length(), time.monotonic()
        return length

    def status(self):
        return {name: int(value) for name, value in self.sql("SHOW GLOBAL STATUS LIKE 'Store_%'")}

    def dirty(self):
        return int(self.sql("SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_dirty'")[0][1])

    def say(self, what, rows, length):
        used = self.status().get("Store_data_file_bytes_used", 0)
        used = f"  {used / (1 << 20):7.1f} MB of it in use" if used else ""
        print(f"{what:28} {rows:8} rows  {length / (1 << 20):7.1f} MB{used}  {length / max(rows, 1):6.0f} bytes a row  "
              f"{length / self.loaded * self.options.rows / max(rows, 1):5.2f}", flush=True)

    def insert(self, keys):
        rows = ",".join(f"({key},{self.rng.randrange(1 << 30)},REPEAT('{key % 10}',{TEXT}))" for key in keys)
        self.sql("INSERT INTO t VALUES " + rows)

    def delete(self, keys):
        self.sql(f"DELETE FROM t WHERE id IN ({','.join(map(str, keys))})")

    def load(self, pattern):
        rows = self.options.rows
        self.sql("DROP TABLE IF EXISTS t")
        self.sql("CREATE TABLE t (id BIGINT PRIMARY KEY, k INT NOT NULL, s VARCHAR(200) NOT NULL, KEY k (k))")
        # Random patterns need keys between the keys.
        keys = range(rows) if pattern == "sliding" else sorted(self.rng.sample(range(1 << 40), rows))
        self.keys = list(keys)
        for at in range(0, rows, BATCH):
            self.insert(self.keys[at:at + BATCH])
        self.loaded = self.settled()
        self.say(f"{pattern}: loaded", rows, self.loaded)

    def round(self, pattern):
        for _ in range(0, self.options.rows, BATCH):
            if pattern == "sliding":
                gone, self.keys = self.keys[:BATCH], self.keys[BATCH:]
                new = list(range(self.keys[-1] + 1, self.keys[-1] + 1 + BATCH))
                self.keys += new
            else:
                gone, new = [], []
                for at in self.rng.sample(range(len(self.keys)), BATCH):
                    gone.append(self.keys[at])
                    self.keys[at] = self.rng.randrange(1 << 40)
                    new.append(self.keys[at])
            self.delete(gone)
            self.insert(new)

    def run(self, pattern):
        rows = self.options.rows
        self.load(pattern)
        most = 0
        for number in range(1, self.options.rounds + 1):
            self.round(pattern)
            most = max(most, self.length())
            self.say(f"{pattern}: round {number}", rows, self.length())
        self.say(f"{pattern}: settled", rows, self.settled())
        self.rng.shuffle(self.keys)
        gone, self.keys = self.keys[rows // 5:], self.keys[:rows // 5]
        for at in range(0, len(gone), BATCH):
            self.delete(gone[at:at + BATCH])
        self.say(f"{pattern}: four fifths deleted", len(self.keys), self.settled())
        answer = self.sql("OPTIMIZE TABLE t")
        assert answer[-1][-1] == "OK", answer
        self.say(f"{pattern}: OPTIMIZE TABLE", len(self.keys), self.settled())
        (count,), = self.sql("SELECT COUNT(*) FROM t")
        assert count == len(self.keys), count
        print(f"{pattern}: at most {most / self.loaded:.2f} of the file after the load", flush=True)

    def whole(self):
        print(f"# {self.sql('SELECT VERSION()')[0][0]}, {self.options.rows} rows, {self.options.rounds} rounds, files {self.files}")
        self.sql("CREATE DATABASE IF NOT EXISTS churn")
        self.sql("USE churn")
        for pattern in self.options.pattern:
            self.run(pattern)
        self.sql("DROP DATABASE churn")

    def end(self):
        if self.server:
            self.server.terminate()
            self.server.wait()
            shutil.rmtree(self.folder, ignore_errors=True)


if __name__ == "__main__":
    churn = Churn(arguments())
    try:
        churn.whole()
    finally:
        churn.end()
