#!/usr/bin/env python3
"""Asks a MySQL server for the weights of cp1250_czech_cs, and writes data/cp1250_czech.bin.

    pip install pymysql
    tools/czech_table.py mysql://user:password@host:port

For each byte its weights at the two levels, then those of `ch`, `Ch` and `CH`.
"""
import os
import sys

from oracle import ask, connect

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
server = connect(sys.argv[1])
texts = ["%02X" % byte for byte in range(256)] + [text.encode().hex() for text in ("ch", "Ch", "CH")]
weights = ask(server, "SELECT " + ",".join("WEIGHT_STRING(_cp1250 X'%s' COLLATE cp1250_czech_cs)" % text for text in texts))[0]
assert all(len(weight) == 2 for weight in weights)
open(os.path.join(ROOT, "data", "cp1250_czech.bin"), "wb").write(b"".join(weights))
