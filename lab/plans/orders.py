#!/usr/bin/env python3
"""Compares the plan that a server chooses for a join with random orders of the same join.

Makes the schema of estimates.py, runs random joins of three to eight tables over it, then each of them in random orders (JOIN_FIXED_ORDER; each table
but the first has a condition with one before it), and prints how many times the CPU time of the best of them the chosen plan took. An order
ends when it has taken as long as the chosen plan: a slower one is no rival. A ratio above --bound is measured again, three times each, before it counts.

CPU time is that of all threads of the server's process (/proc/PID/task/*/schedstat), so that other load of the machine counts little. Joins whose chosen
plan takes less than --floor milliseconds are not compared: there a statement's own overhead is what is measured.

  orders.py --server mysql://root@127.0.0.1:3307 --pid $(cat invar.pid) --queries 200 --orders 100 --seed 1
"""

import argparse
import glob
import random
import statistics

import pymysql

import estimates


def cpu_seconds(pid):
    """CPU time that all threads of a process have taken."""
    total = 0
    for path in glob.glob(f"/proc/{pid}/task/*/schedstat"):
        try:
            with open(path, encoding="ascii") as file:
                total += int(file.read().split()[0])
        except (FileNotFoundError, ProcessLookupError):
            continue
    return total / 1e9


def join(rng, data):
    """Tables and conditions of a join of three to eight tables."""
    tables, edges, filters = [rng.choice(list(estimates.TABLES))], [], []
    for _ in range(rng.randrange(2, 8)):
        next_edges = [edge for edge in estimates.EDGES if (edge[0] in tables) != (edge[2] in tables)]
        edge = rng.choice(next_edges)
        edges.append(edge)
        tables.append(edge[0] if edge[2] in tables else edge[2])
    for table in tables:
        columns = range(len(estimates.TABLES[table]))
        for at in rng.sample(columns, min(len(columns), rng.choice([0, 1, 1, 2]))):
            filters.append(estimates.condition(rng, data, table, at))
    return tables, edges, filters


def text_of(tables, edges, filters, hint):
    conditions = [f"{child}.{column} = {parent}.id" for child, column, parent in edges] + filters
    return f"SELECT {hint} COUNT(*) FROM {', '.join(tables)} WHERE {' AND '.join(conditions)}"


def random_order(rng, tables, edges):
    """The tables in an order in which each is joined to one before it."""
    order = [rng.choice(tables)]
    while len(order) < len(tables):
        near = [edge for edge in edges if (edge[0] in order) != (edge[2] in order)]
        child, _, parent = rng.choice(near)
        order.append(child if parent in order else parent)
    return order


class Server:
    def __init__(self, url, pid):
        self.connection, self.pid = estimates.connect(url), pid

    def run(self, text):
        """CPU seconds and answer; None if it was ended."""
        with self.connection.cursor() as cursor:
            before = cpu_seconds(self.pid)
            try:
                cursor.execute(text)
                answer = cursor.fetchone()[0]
            except pymysql.err.Error as error:
                if error.args[0] != 3024:
                    raise
                return None, None
            return cpu_seconds(self.pid) - before, answer

    def best_of(self, text, times):
        runs = [self.run(text) for _ in range(times)]
        return min((run for run in runs if run[0] is not None), default=(None, None))

    def plan(self, text):
        with self.connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN FORMAT=TREE {text}")
            return cursor.fetchone()[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", required=True, metavar="URL")
    parser.add_argument("--pid", required=True, type=int)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--orders", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scale", type=float, default=1.0, help="1: about 60,000 orders")
    parser.add_argument("--bound", type=float, default=3.0)
    parser.add_argument("--floor", type=float, default=2.0, help="milliseconds")
    parser.add_argument("--longest", type=float, default=20.0, help="seconds after which a chosen plan ends")
    parser.add_argument("--plans", action="store_true", help="show the plans of what is above the bound")
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    data = estimates.rows_of(rng, arguments.scale)
    server = Server(arguments.server, arguments.pid)
    estimates.load(server.connection, data)
    ratios, short, ended, slow, seen = [], 0, [], [], 0
    for number in range(arguments.queries):
        tables, edges, filters = join(rng, data)
        orders = {tuple(random_order(rng, tables, edges)) for _ in range(arguments.orders)}
        chosen_text = text_of(tables, edges, filters, f"/*+ MAX_EXECUTION_TIME({int(arguments.longest * 1000)}) */")
        chosen, answer = server.best_of(chosen_text, 2)
        if chosen is not None and chosen * 1000 < arguments.floor:
            short += 1
            continue
        limit = arguments.longest * 1000 if chosen is None else chosen * 1000 + 5
        hint = f"/*+ JOIN_FIXED_ORDER() MAX_EXECUTION_TIME({int(limit) + 1}) */"
        best, best_text = None, None
        for order in sorted(orders):
            text = text_of(order, edges, filters, hint)
            taken, other_answer = server.run(text)
            seen += 1
            if taken is None:
                continue
            if answer is not None and other_answer != answer:
                raise SystemExit(f"another answer ({other_answer}, {answer}): {text}")
            if best is None or taken < best:
                best, best_text = taken, text
                hint = f"/*+ JOIN_FIXED_ORDER() MAX_EXECUTION_TIME({int(max(best * 1000, arguments.floor)) + 5}) */"
        if chosen is None:
            (ended if best is None else slow).append((float("inf"), number, chosen_text, best_text, best))
            continue
        ratio = 1.0 if best is None else chosen / best
        if ratio > arguments.bound:
            chosen, best = server.best_of(chosen_text, 3)[0], server.best_of(best_text, 3)[0] or best
            ratio = chosen / best
        ratios.append(ratio)
        if ratio > arguments.bound:
            slow.append((ratio, number, chosen_text, best_text, best))
    print(f"seed {arguments.seed}, scale {arguments.scale}: {arguments.queries} joins, {short} of them below"
          f" {arguments.floor} ms, {len(ended)} ended after {arguments.longest} s in every order; {seen} random orders")
    if ratios:
        print(f"chosen / best random order: median {statistics.median(ratios):.2f}, 90 % {estimates.quantile(ratios, 0.9):.2f},"
              f" 95 % {estimates.quantile(ratios, 0.95):.2f}, greatest {max(ratios):.2f}; above {arguments.bound}: {len(slow)}")
    for ratio, number, chosen_text, best_text, best in sorted(slow, key=lambda entry: -entry[0]):
        print(f"  join {number}: {ratio:.1f} times {best * 1000:.1f} ms\n    {chosen_text}\n    {best_text}")
        if arguments.plans:
            print(server.plan(chosen_text))
            print(server.plan(best_text))
    with server.connection.cursor() as cursor:
        cursor.execute(f"DROP DATABASE {estimates.DATABASE}")


if __name__ == "__main__":
    main()
