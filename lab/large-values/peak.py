#!/usr/bin/env python3
"""Peak memory (VmHWM) of `invar serve` for statements with one large value, each in a server of its own.

    lab/large-values/peak.py --binary target/release/invar --folder /tmp/peaks --mb 512 [--only NAME,NAME]

Up to 4095 MB; from 1024 on no packet holds the value (insert-execute, insert-text). Needs PyMySQL. Prints a line a statement: name, peak in MB, seconds. The buffer pool keeps its default (128 MB), which is part of the peak.
"""

import argparse
import pathlib
import shutil
import socket
import struct
import subprocess
import sys
import time

import pymysql

PIECE = b"0123456789abcdef" * 4096  # 64 KiB


class Client:
    """The protocol as far as it takes to send and to drop values that need not fit into this process."""

    def __init__(self, port):
        self.plain = pymysql.connect(host="127.0.0.1", port=port, user="root", autocommit=True, max_allowed_packet=1 << 30)
        self.plain._sock.settimeout(600)
        self.socket = self.plain._sock
        self.file = self.plain._rfile

    def run(self, sql):
        with self.plain.cursor() as cursor:
            cursor.execute(sql)
            return cursor.fetchall()

    def send(self, pieces, total):
        """A packet of `total` bytes, in frames as it grows."""
        pending, number, left = bytearray(), 0, total
        for piece in pieces:
            pending += piece
            while len(pending) >= 0xFFFFFF:
                self.socket.sendall(struct.pack("<I", 0xFFFFFF | number << 24) + pending[:0xFFFFFF])
                del pending[:0xFFFFFF]
                number = (number + 1) % 256
                left -= 0xFFFFFF
        assert left == len(pending)
        self.socket.sendall(struct.pack("<I", left | number << 24) + pending)

    def packet(self):
        """The next packet's first bytes and its length; the rest is dropped."""
        head, length = b"", 0
        while True:
            header = self.exactly(4)
            count = struct.unpack("<I", header[:3] + b"\0")[0]
            left = count
            while left:
                some = self.exactly(min(left, 1 << 20))
                head = head or some[:64]
                left -= len(some)
            length += count
            if count < 0xFFFFFF:
                return head, length

    def exactly(self, count):
        data = self.file.read(count)
        if len(data) < count:
            sys.exit("the server is gone")
        return data

    def answer(self):
        """Drops a whole answer: its rows' bytes."""
        head, _ = self.packet()
        if head[0] == 0xFF:
            sys.exit(f"error {head!r}")
        if head[0] == 0x00:
            return 0
        while True:  # columns, then EOF
            head, length = self.packet()
            if head[0] == 0xFE and length < 9:
                break
        total = 0
        while True:
            head, length = self.packet()
            if head[0] == 0xFE and length < 9:
                return total
            if head[0] == 0xFF and length < 512:
                sys.exit(f"error {head!r}")
            total += length

    def query(self, sql):
        text = b"\x03" + sql.encode()
        self.send([text], len(text))
        return self.answer()

    def prepare(self, sql):
        text = b"\x16" + sql.encode()
        self.send([text], len(text))
        head, _ = self.packet()
        statement, columns, parameters = struct.unpack("<IHH", head[1:9])
        for count in (parameters, columns):
            for _ in range(count + 1 if count else 0):
                self.packet()
        return statement


def value(count):
    while count > 0:
        yield PIECE[: min(count, len(PIECE))]
        count -= len(PIECE)


def length_bytes(count):
    return b"\xfe" + struct.pack("<Q", count)


def insert_text(client, count):
    start, end = b"\x03INSERT INTO t (id, v) VALUES (9, '", b"')"
    def pieces():
        yield start
        yield from value(count)
        yield end

    client.send(pieces(), len(start) + count + len(end))
    client.answer()


def insert_execute(client, count):
    statement = client.prepare("INSERT INTO t (id, v) VALUES (9, ?)")
    start = b"\x17" + struct.pack("<IBI", statement, 0, 1) + b"\0\1" + struct.pack("<H", 252) + length_bytes(count)

    def pieces():
        yield start
        yield from value(count)

    client.send(pieces(), len(start) + count)
    client.answer()


def insert_long(client, count):
    statement = client.prepare("INSERT INTO t (id, v) VALUES (9, ?)")
    for piece in value(count):
        head = b"\x18" + struct.pack("<IH", statement, 0)
        client.send([head, piece], len(head) + len(piece))
    start = b"\x17" + struct.pack("<IBI", statement, 0, 1) + b"\0\1" + struct.pack("<H", 252)
    client.send([start], len(start))
    client.answer()


def asks(*statements):
    def run(client, _count):
        for sql in statements:
            client.query(sql)

    return run


STATEMENTS = {
    "start": asks("SELECT 1"),
    "select": asks("SELECT v FROM t WHERE id = 1"),
    "select-sorted": asks("SELECT id, v FROM t ORDER BY v, id"),
    "group": asks("SELECT v, COUNT(*) FROM t GROUP BY v"),
    "distinct": asks("SELECT DISTINCT v FROM t"),
    "max": asks("SELECT MAX(v), MIN(v) FROM t"),
    "join": asks("SELECT a.v FROM t a JOIN u b ON a.v = b.v"),
    "insert-long": insert_long,
    "insert-execute": insert_execute,
    "insert-text": insert_text,
    "insert-select": asks("INSERT INTO t SELECT id + 10, n, v FROM t WHERE id = 1"),
    "update-other": asks("UPDATE t SET n = n + 1"),
    "optimize": asks("OPTIMIZE TABLE t"),
    "delete": asks("DELETE FROM t WHERE id = 1"),
}


# Statements that hold the value in one packet, and how much one takes.
ONE_PACKET, PACKET_MB_MAX = {"insert-execute", "insert-text"}, 1024


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def serve(arguments, data):
    port = free_port()
    server = subprocess.Popen(
        [arguments.binary, "serve", "--no-defaults", "--data-dir", str(data), f"--port={port}", "--skip-ssl",
         "--max-allowed-packet=1073741824", "--max-long-data-size=4294967295", *arguments.option],
        stdout=subprocess.PIPE,
    )
    server.stdout.readline()
    return server, Client(port)


def peak_mb(server):
    for line in pathlib.Path(f"/proc/{server.pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) // 1000
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--folder", required=True, type=pathlib.Path, help="is made, and removed at the end")
    parser.add_argument("--mb", type=int, default=512)
    parser.add_argument("--only", default="")
    parser.add_argument("--option", action="append", default=[], help="a further option of the server")
    arguments = parser.parse_args()
    count = arguments.mb << 20
    only = [name for name in arguments.only.split(",") if name]
    arguments.folder.mkdir(parents=True)
    try:
        data = arguments.folder / "data"
        server, client = serve(arguments, data)
        client.run("CREATE DATABASE d")
        for table in ("t", "u"):
            client.run(f"CREATE TABLE d.{table} (id INT PRIMARY KEY, n INT, v LONGBLOB)")
        client.run("USE d")
        insert_long(client, count)
        client.run("UPDATE t SET id = 1")
        client.run("INSERT INTO u SELECT * FROM t")
        server.terminate()
        server.wait()
        for name, run in STATEMENTS.items():
            if only and name not in only:
                continue
            if arguments.mb >= PACKET_MB_MAX and name in ONE_PACKET:
                continue
            server, client = serve(arguments, data)
            client.run("USE d")
            begin = time.monotonic()
            run(client, count)
            seconds = time.monotonic() - begin
            print(f"{name:16} {peak_mb(server):6} MB {seconds:7.1f} s", flush=True)
            if name.startswith("insert") or name in ("delete",):
                client.run("DELETE FROM t WHERE id > 1")
                client.run("INSERT IGNORE INTO t SELECT * FROM u")
            server.terminate()
            server.wait()
    finally:
        shutil.rmtree(arguments.folder)


if __name__ == "__main__":
    main()
