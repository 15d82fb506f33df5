"""The MySQL server whose answers become the tables of this crate."""
from urllib.parse import urlparse

import pymysql


def connect(address):
    """A cursor on the server at `mysql://user:password@host:port`, which can count over all code points."""
    url = urlparse(address)
    cursor = pymysql.connect(host=url.hostname, port=url.port, user=url.username, password=url.password or "",
                             charset="utf8mb4").cursor()
    cursor.execute("SET SESSION cte_max_recursion_depth = 2000000")
    return cursor


def number(value):
    """The bytes of a LEB128 number."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def ask(cursor, sql):
    """All rows of a statement's answer."""
    cursor.execute(sql)
    return cursor.fetchall()
