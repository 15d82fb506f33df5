#!/usr/bin/env python3
"""Asks a MySQL server what each byte of its single-byte character sets is, and writes the tables of `types::charset`.

    pip install pymysql
    tools/single_byte_tables.py mysql://user:password@host:port

Writes data/single_byte.bin and prints the lines of `sets!` in src/charset/single_byte.rs, of the two functions in
src/collation/of_charset.rs and of `collations!` in src/collation/info.rs. Collations whose weights are not one byte per byte are left out, and sets
of which that is the default. Layout of the file: for each set 256 code points of 16 bits (little-endian, 0xFFFF: none), 256 bytes of upper
and 256 of lower case; then 256 weights for each collation.
"""
import os
import sys

import oracle

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OWN = {"ascii", "binary", "latin1"}

server = oracle.connect(sys.argv[1])


def ask(sql):
    return oracle.ask(server, sql)


def each_byte(expression):
    return list(ask("SELECT " + ",".join(expression.replace("{}", "%02X" % byte) for byte in range(256)))[0])


sets, data = [], bytearray()
for name, default, description in ask(
        "SELECT character_set_name, default_collate_name, description FROM information_schema.character_sets"
        " WHERE maxlen = 1 ORDER BY 1"):
    if name in OWN:
        continue
    codes = [int(text, 16) for text in each_byte("HEX(CONVERT(CONVERT(_%s X'{}' USING utf8mb4) USING utf16))" % name)]
    codes = [0xFFFF if code == 0x3F and byte != 0x3F else code for byte, code in enumerate(codes)]
    weights = {}
    for collation, number in ask("SELECT collation_name, id FROM information_schema.collations"
                                 " WHERE character_set_name = '%s' AND sortlen = 1 ORDER BY id" % name):
        if not collation.endswith("_bin"):
            asked = each_byte("HEX(WEIGHT_STRING(_%s X'{}' COLLATE %s))" % (name, collation))
            if any(len(weight) != 2 for weight in asked):
                print("left out: %s" % collation, file=sys.stderr)
                continue
            weights[collation] = (number, [int(weight, 16) for weight in asked])
        else:
            weights[collation] = (number, None)
    if default not in weights:
        print("left out: %s" % name, file=sys.stderr)
        continue
    cases = [[int(text, 16) for text in each_byte("HEX(%s(_%s X'{}'))" % (case, name))] for case in ("UPPER", "LOWER")]
    sets.append((name, default, description, weights))
    for code in codes:
        data += code.to_bytes(2, "little")
    data += bytes(cases[0]) + bytes(cases[1])

lines, tables = [], 0
for name, default, description, weights in sets:
    bin_name = next(collation for collation in weights if collation.endswith("_bin"))
    print('    %s, "%s", "%s";' % (name.capitalize(), name, description))
    print("            Self::%s => CollationId::%s," % (name.capitalize(), default.upper()))
    print("            Self::%s => CollationId::%s," % (name.capitalize(), bin_name.upper()))
    for collation, (number, table) in weights.items():
        if table is None:
            rules = "Rules::Bytes"
        else:
            data += bytes(table)
            rules = "Rules::ByteTable(single_byte::weights(%d))" % tables
            tables += 1
        lines.append((number, '    %s, %d, "%s", %s, PadSpace, 1, %s;'
                      % (collation.upper(), number, collation, name.capitalize(), rules)))
print()
for _, line in sorted(lines):
    print(line)
open(os.path.join(ROOT, "data", "single_byte.bin"), "wb").write(data)
print(len(sets), tables, file=sys.stderr)
