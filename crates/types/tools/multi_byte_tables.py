#!/usr/bin/env python3
"""Asks a MySQL server what the characters of its East Asian sets are, and writes data/multi_byte.bin.

    pip install pymysql
    tools/multi_byte_tables.py mysql://user:password@host:port

For each set: the code point of each sequence of bytes, the bytes of each code point where that is not the first such sequence, the
letter cases, and the weights that are not the character's own bytes. The layout of the file stands in src/charset/multi_byte.rs.
"""
import os
import struct
import sys

from oracle import ask, connect, number

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# In the order of `Charset`; what a set's table is written as differences from.
SETS = [("big5", "big5_chinese_ci", None), ("cp932", "cp932_japanese_ci", "sjis"), ("eucjpms", "eucjpms_japanese_ci", "ujis"),
        ("euckr", "euckr_korean_ci", None), ("gb18030", "gb18030_chinese_ci", "gbk"), ("gb2312", "gb2312_chinese_ci", "gbk"),
        ("gbk", "gbk_chinese_ci", None), ("sjis", "sjis_japanese_ci", None), ("ujis", "ujis_japanese_ci", None)]
# Weights of all other characters are their bytes. (Big5's are not, but nothing compares by them.)
WEIGHED = ("gbk", "gb18030")
LOST = 0x3F
PLANE = 0x8000
PINYIN = 0xFFA00000

server = connect(sys.argv[1])


def characters(name, collation, sequences):
    """{bytes: (code, weight, upper, lower)}, all as numbers, of the sequences that are one character."""
    rows = ask(server, "SELECT HEX(b), HEX(CONVERT(c USING utf32)), HEX(WEIGHT_STRING(c COLLATE %s)), HEX(UPPER(c)), HEX(LOWER(c)) FROM (SELECT b, "
               "CONVERT(b USING %s) c FROM (%s) z) t WHERE c IS NOT NULL AND CHAR_LENGTH(c) = 1" % (collation, name, sequences))
    return {int(row[0], 16): tuple(int(text, 16) for text in row[1:]) for row in rows if len(row[1]) == 8}


def counted(first, last, expression):
    return "WITH RECURSIVE n(i) AS (SELECT %d UNION ALL SELECT i + 1 FROM n WHERE i < %d) SELECT CAST(CHAR(%s) AS BINARY) b FROM n" \
        % (first, last, expression)


def linear(sequence):
    """The number of a character of four bytes."""
    a, b, c, d = sequence.to_bytes(4, "big")
    return (((a - 0x81) * 10 + b - 0x30) * 126 + c - 0x81) * 10 + d - 0x30


def runs(values, base):
    """A table of 16 bits, 0 where there is nothing, as steps over it."""
    out, at = bytearray(), 0
    while at < len(values):
        end = at
        if values[at] == 0:
            while end < len(values) and values[end] == 0:
                end += 1
            out += number((end - at) << 2)
        elif base and values[at] == base[at]:
            while end < len(values) and values[end] == base[end] != 0:
                end += 1
            out += number((end - at) << 2 | 1)
        else:
            while end < len(values) and values[end] and not (base and values[end] == base[end]):
                end += 1
            out += number((end - at) << 2 | 2) + struct.pack("<%dH" % (end - at), *values[at:end])
        at = end
    return bytes(out)


def pairs(mapped):
    out, before = number(len(mapped)), 0
    for source in sorted(mapped):
        out += number(source - before) + number(mapped[source])
        before = source
    return out


def observe(name, collation):
    found = characters(name, collation, counted(0, 255, "i"))
    found.update(characters(name, collation, counted(0x8000, 0xFFFF, "i")))
    if name in ("ujis", "eucjpms"):
        found.update(characters(name, collation, counted(0, 94 * 94 - 1, "0x8FA1A1 + (i DIV 94) * 256 + i % 94")))
    back = {}
    for code, sequence in ask(server, "WITH RECURSIVE n(i) AS (SELECT 128 UNION ALL SELECT i + 1 FROM n WHERE i < 0xFFFF) SELECT i, HEX(CONVERT("
                              "CONVERT(CHAR(i USING utf32) USING utf8mb4) USING %s)) FROM n WHERE i NOT BETWEEN 0xD800 AND 0xDFFF" % name):
        if sequence and int(sequence, 16) != LOST:
            back[code] = int(sequence, 16)
    return found, back


def table(found, first):
    values = [0] * PLANE
    for sequence, (code, *_) in found.items():
        if sequence >> 16 == first and sequence > 0xFF and code != LOST:
            values[sequence & 0x7FFF] = code
    return values


def main():
    observed = {name: observe(name, collation) for name, collation, _ in SETS}
    data, sizes = bytearray(), {}
    for name, collation, base in SETS:
        found, back = observed[name]
        out = bytearray()
        for first in (0, 0x8F) if name in ("ujis", "eucjpms") else (0,):
            out += runs(table(found, first), table(observed[base][0], first) if base else None)
        # The first sequence of each code is taken, unless the server says another.
        first_of = {}
        for sequence in sorted(found):
            code = found[sequence][0]
            if code != LOST and sequence > 0xFF:
                first_of.setdefault(code, sequence)
        others = {code: back.get(code, 0) for code in set(first_of) | {code for code in back if back[code] > 0xFF}
                  if code >= 0x80 and back.get(code, 0) != first_of.get(code, 0)}
        four = {}
        if name == "gb18030":
            four = {code: linear(sequence) for code, sequence in back.items() if sequence > 0xFFFFFF}
            others = {code: 0 if code in four else sequence for code, sequence in others.items()
                      if code not in four or code in first_of}
        out += pairs(others)
        spans = []
        for code in sorted(four):
            if spans and four[code] - spans[-1][1] == code - spans[-1][0] == spans[-1][2]:
                spans[-1][2] += 1
            else:
                spans.append([code, four[code], 1])
        out += number(len(spans))
        for code, place, length in spans:
            out += number(code) + number(place) + number(length)
        all_of = dict(found)
        if name == "gb18030":
            rows = ask(server, "WITH RECURSIVE n(i) AS (SELECT 128 UNION ALL SELECT i + 1 FROM n WHERE i < 0x2FFFF) SELECT HEX(c), HEX(WEIGHT_STRING("
                       "c COLLATE %s)), HEX(UPPER(c)), HEX(LOWER(c)) FROM (SELECT CONVERT(CONVERT(CHAR(i USING utf32) USING utf8mb4) USING gb18030) c "
                       "FROM n WHERE i NOT BETWEEN 0xD800 AND 0xDFFF) t" % collation)
            all_of.update({int(row[0], 16): (0, *(int(text, 16) for text in row[1:])) for row in rows})
        for index in (2, 3):
            out += pairs({sequence: what[index] for sequence, what in all_of.items() if what[index] != sequence and sequence > 0x7F})
        weights = [0] * PLANE
        listed = {}  # By the number of a character of four bytes.
        if name in WEIGHED:
            for sequence, (_, weight, upper, _) in all_of.items():
                if sequence <= 0xFF:
                    continue
                if name == "gbk":
                    weights[sequence & 0x7FFF] = weight
                elif weight >> 16 == PINYIN >> 16:
                    if sequence > 0xFFFF:
                        listed[linear(sequence)] = weight & 0xFFFF
                    else:
                        weights[sequence & 0x7FFF] = weight & 0xFFFF
                else:
                    own = 0xFF000000 + linear(upper) if upper > 0xFFFF else upper
                    if weight != own:
                        print("%s %X: weight %X, upper %X" % (name, sequence, weight, upper), file=sys.stderr)
        out += runs(weights, None) if name in WEIGHED else number(PLANE << 2)
        starts = [place for place in sorted(listed) if place - 1 not in listed]
        out += number(len(starts))
        for start in starts:
            values = []
            while start + len(values) in listed:
                values.append(listed[start + len(values)])
            out += number(start) + number(len(values)) + struct.pack("<%dH" % len(values), *values)
        sizes[name] = len(out)
        data += struct.pack("<I", len(out)) + out
    print(sizes, len(data), file=sys.stderr)
    open(os.path.join(ROOT, "data", "multi_byte.bin"), "wb").write(data)


main()
