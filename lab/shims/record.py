#!/usr/bin/env python3
"""Writes down what a real driver sends: a proxy between a shim and a server.

record.py HOST:PORT USER PASSWORD DATABASE [--property NAME=VALUE]... [--modes MODE,...] -- SHIM COMMAND...

Runs each of the operations below twice on a new connection per mode, and prints the commands of login and operations in the form that
the tests of crates/lab/src/load/golden read. The schema is made and dropped by hand before and after: see TABLE.
"""
import socket
import struct
import subprocess
import sys
import threading
import time

TABLE = "CREATE TABLE golden (id BIGINT PRIMARY KEY, a INT, t VARCHAR(50), d DECIMAL(10,2))"
# Name, in a transaction, statements with parameters.
OPERATIONS = [
    ("select", 0, [(2, "SELECT t FROM golden WHERE id = ? AND t <> ?", [["i5", "sit's"], ["i-70000", "sb\\c"]])]),
    ("write", 1, [
        (1, "INSERT INTO golden (id, a, t, d) VALUES (?, ?, ?, ?)", [["#100", "n", "sabc", "d1.25"]]),
        (1, "DELETE FROM golden WHERE id = ?", [["i1"]]),
        (1, "DELETE FROM golden WHERE id > 0", [[]]),
    ]),
]
# Rows of a batch, in the same form; only with --batch.
INSERT = "INSERT INTO golden (id, a, t, d) VALUES (?, ?, ?, ?)"
BATCHES = [
    ("batch%d" % rows, 0, [(1, INSERT, [["#%d" % (100 * rows), "n", "sit's", "d1.25"]], rows), (1, "DELETE FROM golden", [[]])])
    for rows in (1, 3)
]
CAPABILITIES = [
    "LONG_PASSWORD", "FOUND_ROWS", "LONG_FLAG", "CONNECT_WITH_DB", "NO_SCHEMA", "COMPRESS", "ODBC", "LOCAL_FILES", "IGNORE_SPACE",
    "PROTOCOL_41", "INTERACTIVE", "SSL", "IGNORE_SIGPIPE", "TRANSACTIONS", "RESERVED", "SECURE_CONNECTION", "MULTI_STATEMENTS",
    "MULTI_RESULTS", "PS_MULTI_RESULTS", "PLUGIN_AUTH", "CONNECT_ATTRS", "PLUGIN_AUTH_LENENC_CLIENT_DATA",
    "CAN_HANDLE_EXPIRED_PASSWORDS", "SESSION_TRACK", "DEPRECATE_EOF", "OPTIONAL_RESULTSET_METADATA", "ZSTD_COMPRESSION",
    "QUERY_ATTRIBUTES", "MULTI_FACTOR_AUTHENTICATION", "CAPABILITY_EXTENSION", "SSL_VERIFY_SERVER_CERT", "REMEMBER_OPTIONS",
]
TYPES = {0: "DECIMAL", 1: "TINY", 2: "SHORT", 3: "LONG", 4: "FLOAT", 5: "DOUBLE", 6: "NULL", 7: "TIMESTAMP", 8: "LONGLONG", 10: "DATE",
         12: "DATETIME", 15: "VARCHAR", 245: "JSON", 246: "NEWDECIMAL", 251: "LONG_BLOB", 252: "BLOB", 253: "VAR_STRING", 254: "STRING"}


def escape(text):
    return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")


class Recorder:
    """One connection's commands."""

    def __init__(self):
        self.lines, self.parameters, self.capabilities, self.ids = [], {}, 0, []

    def query_text(self, body):
        """The SQL behind query attributes, which are none."""
        if self.capabilities >> 27 & 1:
            assert body[:2] == b"\x00\x01", body[:20]
            return body[2:]
        return body

    def execute(self, body):
        statement, flags, count = struct.unpack_from("<IBI", body)
        parameters, at = self.parameters.get(statement, 0), 9
        number = self.ids.index(statement) + 1 if statement in self.ids else 0
        words = [f"execute\t#{number}\tflags={flags}\tcount={count}"]
        has_attributes = self.capabilities >> 27 & 1
        if has_attributes and (parameters or flags & 8):
            words.append(f"told={body[at]}")
            parameters = body[at]
            at += 1
        if parameters:
            at += (parameters + 7) // 8
            bound, at = body[at], at + 1
            words.append(f"types={bound}")
            if bound:
                types = []
                for _ in range(parameters):
                    kind, flag = body[at], body[at + 1]
                    at += 2
                    name = ""
                    if has_attributes:
                        name, at = body[at + 1:at + 1 + body[at]].decode(), at + 1 + body[at]
                    types.append(TYPES.get(kind, str(kind)) + ("u" if flag & 0x80 else "") + (":" + name if name else ""))
                words.append(",".join(types))
        # All of it but the number of the statement, which is the server's choice.
        words.append("bytes=" + body[4:].hex())
        return "\t".join(words)

    def client_packet(self, sequence, body):
        if sequence == 1 and not self.capabilities:
            self.capabilities = struct.unpack_from("<I", body)[0]
            names = [name for bit, name in enumerate(CAPABILITIES) if self.capabilities >> bit & 1]
            self.lines.append("login\tcollation=%d\t%s" % (body[8], " ".join(names)))
        if sequence != 0:
            return
        command = body[0]
        if command == 3:
            self.lines.append("query\t" + escape(self.query_text(body[1:]).decode()))
        elif command == 22:
            self.lines.append("prepare\t" + escape(body[1:].decode()))
        elif command == 23:
            self.lines.append(self.execute(body[1:]))
        elif command == 24:
            self.lines.append("long_data\t%d bytes" % (len(body) - 7))
        elif command in (25, 26):
            statement = struct.unpack_from("<I", body, 1)[0]
            number = self.ids.index(statement) + 1 if statement in self.ids else 0
            self.lines.append({25: "close", 26: "reset"}[command] + f"\t#{number}")
        elif command == 1:
            self.lines.append("quit")
        elif command == 2:
            self.lines.append("init_db\t" + body[1:].decode())
        elif command == 14:
            self.lines.append("ping")
        elif command == 27:
            self.lines.append("set_option\t%d" % struct.unpack_from("<H", body, 1)[0])
        elif command == 31:
            self.lines.append("reset_connection")
        else:
            self.lines.append(f"command\t{command}\t{body[1:].hex()}")
        self.last = command

    last = None

    def server_packet(self, sequence, body):
        if self.last == 22 and sequence == 1 and body[0] == 0:
            statement, _, parameters = struct.unpack_from("<IHH", body, 1)
            self.ids.append(statement)
            self.parameters[statement] = parameters
            self.last = None


def pump(source, sink, hear):
    """Passes packets on, telling of each before it goes out."""
    pending = b""
    while True:
        try:
            data = source.recv(1 << 16)
        except OSError:
            data = b""
        if not data:
            break
        pending += data
        while len(pending) >= 4:
            length = int.from_bytes(pending[:3], "little")
            if len(pending) < 4 + length:
                break
            hear(pending[3], pending[4:4 + length])
            pending = pending[4 + length:]
        sink.sendall(data)
    try:
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def main():
    words = sys.argv[1:]
    at = words.index("--")
    words, shim_words = words[:at], words[at + 1:]
    properties, modes, plain, operations = [], ["auto", "text", "prepared"], [], OPERATIONS
    while words:
        word = words.pop(0)
        if word == "--property":
            properties.append(words.pop(0).split("=", 1))
        elif word == "--batch":
            operations = BATCHES
        elif word == "--modes":
            modes = words.pop(0).split(",")
        else:
            plain.append(word)
    place, user, password, database = plain
    host, port = place.split(":")
    listener = socket.create_server(("127.0.0.1", 0))
    recorders = []

    def serve():
        while True:
            client, _ = listener.accept()
            server = socket.create_connection((host, int(port)))
            recorder = Recorder()
            recorders.append(recorder)
            threading.Thread(target=pump, args=(client, server, recorder.client_packet), daemon=True).start()
            threading.Thread(target=pump, args=(server, client, recorder.server_packet), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    shim = subprocess.Popen(shim_words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")

    def tell(*fields):
        shim.stdin.write("\t".join(escape(str(field)) for field in fields) + "\n")
        shim.stdin.flush()

    def expect(*first):
        while True:
            line = shim.stdout.readline()
            if not line:
                sys.exit("the shim ended")
            fields = line.rstrip("\n").split("\t")
            if fields[0] == "failed":
                print("\t".join(fields), file=sys.stderr)
                return False
            if fields[0] == "error":
                print("\t".join(fields), file=sys.stderr)
            if fields[0] in first:
                return fields

    hello = expect("hello")
    print("driver\t" + "\t".join(hello[1:]))
    for name, value in properties:
        print(f"property\t{name}\t{value}")
    is_login_shown = False
    for mode in modes:
        for name, transaction, statements in operations:
            recorders.clear()
            tell("host", "127.0.0.1")
            tell("port", listener.getsockname()[1])
            tell("user", user)
            tell("password", password)
            tell("database", database)
            tell("mode", mode)
            for pair in properties:
                tell("property", *pair)
            tell("connections", 1)
            tell("transaction", transaction)
            values = []
            for repeat, sql, parameters, *batch in statements:
                tell("statement", repeat, len(parameters[0]), sql, *batch)
                for number in range(repeat * (batch or [1])[0]):
                    values += parameters[number % len(parameters)]
            tell("values", 0, *values)
            tell("open")
            if not expect("opened"):
                print(f"mode\t{mode}\t{name}\tnot possible")
                continue
            before = len(recorders[0].lines)
            if not is_login_shown:
                is_login_shown = True
                print("\n".join(recorders[0].lines))
            print(f"mode\t{mode}\t{name}")
            for turn in range(2):
                start = len(recorders[0].lines)
                tell("run", "closed", 10000, 1, turn)
                if not expect("done"):
                    break
                time.sleep(0.3)  # A command without an answer may still be on its way.
                print("operation")
                print("\n".join(recorders[0].lines[start:]))
            assert len(recorders) == 1 and before > 0
            tell("close")
            expect("closed")
    shim.stdin.close()
    shim.wait()


main()
