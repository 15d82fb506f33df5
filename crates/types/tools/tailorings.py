#!/usr/bin/env python3
"""Asks a MySQL server how its language collations depart from the Unicode tables, and writes data/tailorings.bin.

    pip install pymysql
    tools/tailorings.py mysql://user:password@host:port

Weights of all characters come from WEIGHT_STRING. Sequences of characters with weights of their own (contractions) are looked
for among pairs of characters of the scripts that languages tailor, and among longer strings of their letters and marks;
tests/collation_oracle.rs compares random texts of the same characters. The layout of the file stands in
src/collation/tailoring.rs. Prints the lines of `collations!` in src/collation/info.rs. The two Japanese
collations are left out: what a length mark weighs there follows from more than a sequence. Takes some minutes, and
writes into a schema `invar_tailorings` of the server, which it drops at the end.
"""
import itertools
import os
import struct
import sys
from collections import Counter, defaultdict

from oracle import connect, number

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CODE_END = 0x110000
BASES = {0: ("utf8mb4_0900_as_cs", 3), 1: ("utf8mb4_unicode_ci", 1)}
NOT_TAILORED = {"utf8mb4_general_ci", "utf8mb4_bin", "utf8mb4_unicode_ci", "utf8mb4_unicode_520_ci", "utf8mb4_0900_ai_ci",
                "utf8mb4_0900_as_ci", "utf8mb4_0900_as_cs", "utf8mb4_0900_bin"}
# A range of weights is moved as one if so many characters say so; others are listed.
MOVE_VOTES = 30
# The greatest weight that the key codes of UCA 9.0.0 have room for; see `Leads` in src/collation/family.rs.
BASE_WEIGHT_MAX = 0x5500

LATIN = [*range(0x41, 0x5B), *range(0x61, 0x7B), 0xAA, 0xB5, 0xB7, 0xBA, *range(0xC0, 0x250), *range(0x1E00, 0x1F00)]
MARKS = [*range(0x300, 0x370)]
CYRILLIC = [*range(0x400, 0x530), *MARKS]
ARABIC = [*range(0x600, 0x700)]
SINHALA = [*range(0xD80, 0xE00)]
COMMON_MARKS = [0x300, 0x301, 0x302, 0x303, 0x304, 0x306, 0x307, 0x308, 0x309, 0x30A, 0x30B, 0x30C, 0x31B, 0x323, 0x326,
                0x327, 0x328, 0x331, 0x335]


def levels_of(weight_string, levels):
    units = struct.unpack(">%dH" % (len(weight_string) // 2), weight_string)
    parts = [[]]
    for unit in units:
        if unit == 0:
            parts.append([])
        else:
            parts[-1].append(unit)
    while len(parts) > levels:
        # The server gives a zero to a few sequences of marks in Lithuanian, which have no weight at the first level.
        parts.remove([])
    return tuple(tuple(part) for part in parts + [[]] * (levels - len(parts)))


def packed(weights):
    return struct.pack(">%dH" % len(weights), *weights)


class Collation:
    """One language's, as observed."""

    def __init__(self, server, name, base, base_weights):
        self.server, self.name, self.base, self.base_weights = server, name, base, base_weights
        self.base_levels = BASES[base][1]
        self.levels = self.base_levels
        server.execute("SELECT i, w FROM (SELECT i, WEIGHT_STRING(c COLLATE %s) w, w%d b FROM base) t WHERE NOT w <=> b"
                       % (name, base))
        self.own = {code: levels_of(weights, self.levels) for code, weights in server.fetchall()}
        self.find_moves()
        self.find_listed()
        self.sequences = {}

    def weights(self, code):
        return self.own.get(code) or self.of_base(code)

    def of_base(self, code):
        weights = self.base_weights[code]
        return weights + ((),) * (self.levels - len(weights))

    # --- Moved ranges ---

    def find_moves(self):
        self.moves, self.targets = [], {}
        for level in range(self.base_levels):
            votes = defaultdict(Counter)
            for code, base in self.base_weights.items():
                own = self.own.get(code)
                for weight, target in self.aligned(base[level], own[level] if own else base[level], level):
                    votes[weight][target] += 1
            ranges = []
            for weight in sorted(votes):
                ((target, before), count), = votes[weight].most_common(1)
                last = ranges[-1] if ranges else None
                if last and last["before"] == before and last["target"] - last["first"] == target - weight:
                    last["last"], last["votes"] = weight, last["votes"] + count
                else:
                    ranges.append({"first": weight, "last": weight, "target": target, "before": before, "votes": count})
            self.moves.append([(r["first"], r["last"], r["target"], r["before"]) for r in ranges
                               if (r["first"] != r["target"] or r["before"]) and r["votes"] >= MOVE_VOTES])

    @staticmethod
    def aligned(base, own, level):
        """(weight, (what it became, what stands before it)) for each weight, if they belong together one by one."""
        pairs, at, second = [], 0, False
        for weight in base:
            if at >= len(own):
                return []
            if second:
                if own[at] != weight:
                    return []
                at, second = at + 1, False
                continue
            second = level == 0 and 0xFB00 <= weight < 0xFC00
            if own[at] >= 0xFB00 and own[at] != weight and own[at + 1:at + 2] == (weight,):
                pairs.append((weight, (weight, own[at])))
                at += 2
            else:
                pairs.append((weight, (own[at], 0)))
                at += 1
        return pairs if at == len(own) else []

    def moved(self, code):
        out = []
        for level, weights in enumerate(self.of_base(code)):
            moved, second = [], False
            for weight in weights:
                if second:
                    moved.append(weight)
                    second = False
                    continue
                second = level == 0 and 0xFB00 <= weight < 0xFC00 and bool(self.moves[0])
                moved.extend(self.target(level, weight))
            out.append(tuple(moved))
        return tuple(out)

    def target(self, level, weight):
        if level >= self.base_levels or not self.moves[level]:
            return (weight,)
        if (level, weight) not in self.targets:
            found = (weight,)
            for first, last, target, before in self.moves[level]:
                if first <= weight <= last:
                    found = (before,) * bool(before) + (target + weight - first,)
            self.targets[level, weight] = found
        return self.targets[level, weight]

    def find_listed(self):
        codes = self.base_weights if any(self.moves) else self.own
        self.listed = {code: self.weights(code) for code in codes if self.moved(code) != self.weights(code)}

    # --- Sequences ---

    def ask_pairs(self, firsts, seconds):
        s = self.server
        for table, codes in (("first", firsts), ("second", seconds)):
            s.execute("DELETE FROM %s_char" % table)
            rows = []
            for code in dict.fromkeys(codes):
                weights = self.weights(code)
                rows.append((code, chr(code), *(packed(level) for level in weights), *[b""] * (3 - len(weights))))
            s.executemany("INSERT INTO %s_char VALUES (%%s, %%s, %%s, %%s, %%s)" % table, rows)
        expected = ["a.l1, b.l1"] + ["X'0000', a.l%d, b.l%d" % (n, n) for n in range(2, self.levels + 1)]
        s.execute("SELECT a.i, b.i, WEIGHT_STRING(CONCAT(a.c, b.c) COLLATE %s) w FROM first_char a, second_char b WHERE "
                  "WEIGHT_STRING(CONCAT(a.c, b.c) COLLATE %s) <> CONCAT(%s)" % (self.name, self.name, ", ".join(expected)))
        for first, second, weights in s.fetchall():
            self.sequences[first, second] = levels_of(weights, self.levels)

    def expected(self, codes):
        """The weights that the sequences found so far give to a string."""
        out, at = [()] * self.levels, 0
        while at < len(codes):
            for length in range(min(4, len(codes) - at), 0, -1):
                unit = self.sequences.get(codes[at:at + length]) if length > 1 else self.weights(codes[at])
                if unit is not None:
                    break
            out = [have + more for have, more in zip(out, unit)]
            at += length
        return tuple(out)

    def longest(self):
        return max(map(len, self.sequences), default=1)

    def check_strings(self, strings):
        """Asks for strings of the same length; those with weights nobody would expect are sequences."""
        strings = list(strings)
        for start in range(0, len(strings), 2000):
            part = strings[start:start + 2000]
            values = ",".join("ROW(%d,_utf8mb4 X'%s')" % (number, "".join(map(chr, codes)).encode().hex())
                              for number, codes in enumerate(part))
            self.server.execute("SELECT n, WEIGHT_STRING(c COLLATE %s) FROM (VALUES %s) t(n, c)" % (self.name, values))
            found = {}
            for number, weights in self.server.fetchall():
                weights = levels_of(weights, self.levels)
                if weights != self.expected(part[number]):
                    found[part[number]] = weights
            self.sequences.update(found)

    def find_sequences(self):
        tailored = [code for code in self.own if code < 0x3000] if len(self.own) < 500 else []
        self.ask_pairs(LATIN + MARKS + tailored, LATIN + MARKS + tailored)
        moved = len(self.own) >= 500
        if moved or any(0x400 <= code < 0x530 for code in self.own):
            self.ask_pairs(CYRILLIC, CYRILLIC)
        if "persian" in self.name:
            self.ask_pairs(ARABIC, ARABIC)
        if "sinhala" in self.name:
            self.ask_pairs(SINHALA, SINHALA)
        if not self.sequences:
            return
        pairs = list(self.sequences)
        letters = sorted({code for pair in pairs for code in pair if code < 0x80})
        both = sorted({ord(x) for code in letters for x in (chr(code).lower(), chr(code).upper())})
        if both and len(both) <= 30:
            for length in (3, 4):
                self.check_strings(itertools.product(both, repeat=length) if length == 3 or len(both) <= 20 else
                                   [a + b for a in pairs for b in itertools.product(both, repeat=2)
                                    if all(code < 0x80 for code in a)])
        # What a further mark does, before and behind.
        self.check_strings({pair + (mark,) for pair in pairs for mark in COMMON_MARKS})
        bases = sorted({pair[0] for pair in pairs if pair[1] in MARKS and len(pair) == 2})[:200]
        marks = sorted({pair[1] for pair in pairs if pair[1] in MARKS})
        self.check_strings({(base, mark, other) for base in bases if base < 0x80 for mark in COMMON_MARKS for other in marks})

    # --- The file ---

    def data(self):
        weights = [weight for code in self.listed for weight in self.listed[code][0]]
        weights += [weight for unit in self.sequences.values() for weight in unit[0]]
        weights += [target + last - first for first, last, target, _ in self.moves[0]]
        wide = self.base == 0 and any(BASE_WEIGHT_MAX < weight < 0xFB00 for weight in weights)
        if wide:
            assert all(weight >= 0x100 for code in self.base_weights for weight in self.weights(code)[0])
        out = bytearray([self.base, self.levels, wide])
        for level in range(self.levels):
            moves = self.moves[level] if level < self.base_levels else []
            out += number(len(moves))
            for move in moves:
                out += struct.pack("<4H", *move)
        common = ((0x20,), (0x02,), ())
        simple = {code: weights[0][0] for code, weights in self.listed.items()
                  if len(weights[0]) == 1 and weights[1:] == common[:self.levels - 1]}
        runs = []
        for code in sorted(simple):
            if not runs or runs[-1][0] + len(runs[-1][1]) != code:
                runs.append((code, []))
            runs[-1][1].append(simple[code])
        out += number(len(runs))
        end = 0
        for code, weights in runs:
            out += number(code - end) + number(len(weights)) + struct.pack("<%dH" % len(weights), *weights)
            end = code + len(weights)
        others = sorted(code for code in self.listed if code not in simple)
        out += number(len(others))
        before = 0
        for code in others:
            out += number(code - before) + self.unit(self.listed[code])
            before = code
        out += number(len(self.sequences))
        for codes in sorted(self.sequences, key=lambda codes: (codes[0], -len(codes), codes)):
            out += bytes([len(codes)]) + b"".join(map(number, codes)) + self.unit(self.sequences[codes])
        return bytes(out)

    @staticmethod
    def unit(weights):
        return b"".join(bytes([len(level)]) + struct.pack("<%dH" % len(level), *level) for level in weights)


def main():
    server = connect(sys.argv[1])
    only = sys.argv[2:]
    server.execute("CREATE DATABASE IF NOT EXISTS invar_tailorings")
    server.execute("USE invar_tailorings")
    for table in ("first_char", "second_char"):
        server.execute("DROP TABLE IF EXISTS %s" % table)
        server.execute("CREATE TABLE %s (i INT PRIMARY KEY, c VARCHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, "
                       "l1 VARBINARY(200), l2 VARBINARY(200), l3 VARBINARY(200))" % table)
    server.execute("DROP TABLE IF EXISTS base")
    server.execute("CREATE TABLE base (i INT PRIMARY KEY, c VARCHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, "
                   "w0 VARBINARY(400), w1 VARBINARY(200))")
    server.execute("INSERT INTO base SELECT i, c, WEIGHT_STRING(c COLLATE %s), WEIGHT_STRING(c COLLATE %s) FROM (WITH RECURSIVE "
                   "n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < %d) SELECT i, CONVERT(CHAR(i USING utf32) USING "
                   "utf8mb4) c FROM n WHERE i NOT BETWEEN 0xD800 AND 0xDFFF AND (i < 0x30000 OR i %% 256 IN (0, 255))) t" % (BASES[0][0], BASES[1][0], CODE_END - 1))
    server.connection.commit()
    # Beyond plane 2 no character has weights of its own: some of each page say which ranges are moved.
    base_weights = {}
    for base, (_, levels) in BASES.items():
        server.execute("SELECT i, w%d FROM base" % base)
        base_weights[base] = {code: levels_of(weights, levels) for code, weights in server.fetchall()}
    server.execute("SELECT id, collation_name, character_set_name, sortlen FROM information_schema.collations WHERE character_set_name IN "
                   "('utf8mb3', 'utf8mb4') ORDER BY id")
    rows = server.fetchall()
    tailorings, lines = [], []  # Names of the collations observed; for each: its data.
    place = {}
    for _, name, charset, _ in rows:
        if charset != "utf8mb4" or name in NOT_TAILORED or "_ja_" in name or name.endswith("_0900_ai_ci") or only and name not in only:
            continue
        base = 0 if "0900" in name else 1
        collation = Collation(server, name, base, base_weights[base])
        collation.find_sequences()
        data = collation.data()
        place[name] = len(tailorings)
        tailorings.append(data)
        print("%s: %d bytes, moves %s, %d characters, %d sequences up to %d%s" % (
            name, len(data), [len(level) for level in collation.moves], len(collation.listed), len(collation.sequences),
            collation.longest(), ", wide" if data[2] else ""), file=sys.stderr, flush=True)
    if only:
        return
    with open(os.path.join(ROOT, "data", "tailorings.bin"), "wb") as file:
        file.write(struct.pack("<H", len(tailorings)))
        for data in tailorings:
            file.write(struct.pack("<I", len(data)) + data)
    for number_, name, charset, sortlen in rows:
        key = name.replace("_0900_ai_ci", "_0900_as_cs").replace("utf8mb3", "utf8mb4")
        if key in place and name not in NOT_TAILORED:
            levels = 1 if "0900" not in name or name.endswith("_ai_ci") else 3
            print('    %s, %d, "%s", %s, %s, %d, Rules::Tailored { tailoring: TailoringId(%d), levels: %d };' % (
                name.upper(), number_, name, charset.capitalize(), "NoPad" if "0900" in name else "PadSpace", sortlen,
                place[key], levels))
    server.execute("DROP DATABASE invar_tailorings")


if __name__ == "__main__":
    main()
