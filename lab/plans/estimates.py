#!/usr/bin/env python3
"""Compares the rows that plans expect with the rows that they find, operator by operator.

Makes a schema of 20 tables whose columns depend on each other, as those of applications do, runs random joins over it with EXPLAIN ANALYZE, and
prints the q-error of each kind of operator: the greater of expected and found rows divided by the smaller, both at least one row, per execution of
the operator. What is correlated:

  1. dimensions are hierarchies (city, region, country): a lower level determines the higher ones;
  2. foreign keys are skewed: a few customers have most orders (Zipf);
  3. columns of a row determine each other in part: price by category, state by age of an order, amount by quantity and price;
  4. rows of joined tables do: what a region's customers buy depends on the region, and a shipment's day on its order's.

Works against any server that speaks MySQL's protocol and has EXPLAIN ANALYZE. Needs PyMySQL.

  estimates.py --server invar=mysql://root@127.0.0.1:3307 --server 9.7=mysql://root@127.0.0.1:3306 --queries 400 --seed 1
"""

import argparse
import math
import random
import re
import statistics
import urllib.parse

import pymysql

DATABASE = "lab_plans"
BATCH_ROWS = 1000
# Seconds after which a query ends and does not count.
TIME_MAX = 20

# Columns by table: name, definition. `id` is the primary key of each table.
TABLES = {
    "country": ["name VARCHAR(20)", "continent INT"],
    "region": ["country_id INT", "climate INT"],
    "city": ["region_id INT", "country_id INT", "people INT"],
    "store": ["city_id INT", "region_id INT", "kind INT", "opened DATE"],
    "employee": ["store_id INT", "job INT", "salary INT", "since DATE"],
    "segment": ["name VARCHAR(20)"],
    "customer": ["city_id INT", "region_id INT", "segment_id INT", "age INT", "income INT", "joined DATE"],
    "contact": ["customer_id INT", "kind INT", "verified INT"],
    "category": ["parent INT", "tax INT"],
    "brand": ["country_id INT", "tier INT"],
    "supplier": ["country_id INT", "brand_id INT", "rating INT"],
    "product": ["category_id INT", "brand_id INT", "supplier_id INT", "price INT", "weight INT", "launched DATE"],
    "stock": ["store_id INT", "product_id INT", "amount INT"],
    "promotion": ["category_id INT", "percent INT", "begins DATE", "ends DATE"],
    "orders": ["customer_id INT", "store_id INT", "day DATE", "state INT", "channel INT", "total INT"],
    "item": ["order_id INT", "product_id INT", "category_id INT", "quantity INT", "amount INT"],
    "payment": ["order_id INT", "method INT", "amount INT", "day DATE"],
    "shipment": ["order_id INT", "carrier INT", "day DATE", "days INT"],
    "complaint": ["order_id INT", "reason INT", "day DATE"],
    "review": ["product_id INT", "customer_id INT", "stars INT", "day DATE"],
}
# Joins: table, column, the table whose id it is.
EDGES = [
    ("region", "country_id", "country"), ("city", "region_id", "region"), ("store", "city_id", "city"),
    ("store", "region_id", "region"), ("employee", "store_id", "store"), ("customer", "city_id", "city"),
    ("customer", "region_id", "region"), ("customer", "segment_id", "segment"), ("contact", "customer_id", "customer"),
    ("brand", "country_id", "country"), ("supplier", "brand_id", "brand"), ("product", "category_id", "category"),
    ("product", "brand_id", "brand"), ("product", "supplier_id", "supplier"), ("stock", "store_id", "store"),
    ("stock", "product_id", "product"), ("promotion", "category_id", "category"), ("orders", "customer_id", "customer"),
    ("orders", "store_id", "store"), ("item", "order_id", "orders"), ("item", "product_id", "product"),
    ("payment", "order_id", "orders"), ("shipment", "order_id", "orders"), ("complaint", "order_id", "orders"),
    ("review", "product_id", "product"), ("review", "customer_id", "customer"),
]
# Columns with an index of their own, beside those of EDGES.
INDEXES = [("orders", "day"), ("orders", "state, day"), ("product", "price"), ("customer", "age"), ("shipment", "day")]


def zipf(rng, count):
    """A number from 1 to `count`, the small ones often."""
    return min(count, max(1, int(count ** rng.random() * (0.7 + 0.6 * rng.random()))))


def day(number):
    """A date, `number` days after 2020 begins."""
    month_days = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    year, rest = 2020 + number // 365, number % 365
    month = 0
    while rest >= month_days[month]:
        rest -= month_days[month]
        month += 1
    return f"{year}-{month + 1:02}-{rest + 1:02}"


def rows_of(rng, scale):
    """The rows of all tables, by name."""
    count = lambda at_one: max(3, int(at_one * scale))
    data = {"country": [(at, f"country {at}", at % 5) for at in range(1, 31)]}
    data["region"] = [(at, (at - 1) // 7 + 1, rng.choice([at % 3, at % 3, rng.randrange(6)])) for at in range(1, 211)]
    region_country = {row[0]: row[1] for row in data["region"]}
    data["city"] = []
    for at in range(1, count(3000) + 1):
        region = zipf(rng, 210)
        data["city"].append((at, region, region_country[region], int(10 ** rng.uniform(3, 6.5) / region ** 0.3)))
    cities = data["city"]
    data["store"] = []
    for at in range(1, count(800) + 1):
        city = cities[zipf(rng, len(cities)) - 1]
        kind = 0 if city[3] > 50_000 else rng.randrange(1, 4)
        data["store"].append((at, city[0], city[1], kind, day(rng.randrange(900))))
    stores = data["store"]
    data["employee"] = []
    for at in range(1, count(12_000) + 1):
        store, job = rng.choice(stores), min(9, int(rng.expovariate(0.7)))
        data["employee"].append((at, store[0], job, 2000 + job * 700 + rng.randrange(600), day(rng.randrange(1500))))
    data["segment"] = [(at, f"segment {at}") for at in range(1, 13)]
    data["customer"] = []
    for at in range(1, count(20_000) + 1):
        city, age = cities[zipf(rng, len(cities)) - 1], int(min(95, 18 + rng.expovariate(0.05)))
        segment = min(12, 1 + age // 10 + rng.randrange(3))
        income = int(1500 + age * 40 * rng.uniform(0.5, 1.5) + 20 * segment ** 2)
        data["customer"].append((at, city[0], city[1], segment, age, income, day(min(1799, at * 1800 // count(20_000)))))
    customers = data["customer"]
    data["contact"] = [
        (at, rng.randrange(len(customers)) + 1, kind := zipf(rng, 6), int(kind < 3 or rng.random() < 0.1))
        for at in range(1, count(25_000) + 1)
    ]
    data["category"] = [(at, (at - 1) // 8, at % 4) for at in range(1, 81)]
    data["brand"] = [(at, zipf(rng, 30), min(4, at // 60)) for at in range(1, 301)]
    data["supplier"] = []
    for at in range(1, 601):
        brand = data["brand"][zipf(rng, 300) - 1]
        data["supplier"].append((at, brand[1], brand[0], min(5, 1 + brand[2] + rng.randrange(2))))
    suppliers = data["supplier"]
    data["product"] = []
    for at in range(1, count(6000) + 1):
        supplier, category = suppliers[zipf(rng, 600) - 1], zipf(rng, 80)
        price = int(category ** 1.5 * rng.uniform(5, 9)) + 5
        weight = price // 10 + rng.randrange(20)
        data["product"].append((at, category, supplier[2], supplier[0], price, weight, day(rng.randrange(1700))))
    products = data["product"]
    by_third = [[product for product in products if product[1] % 3 == third] for third in range(3)]
    data["stock"] = [
        (at, zipf(rng, len(stores)), (product := zipf(rng, len(products))), max(0, 200 - products[product - 1][4] // 20))
        for at in range(1, count(40_000) + 1)
    ]
    data["promotion"] = []
    for at in range(1, count(600) + 1):
        begins, percent = rng.randrange(1700), rng.choice([5, 5, 10, 10, 20, 50])
        data["promotion"].append((at, zipf(rng, 80), percent, day(begins), day(begins + 70 // percent * 5)))
    data["orders"], data["item"], data["payment"] = [], [], []
    data["shipment"], data["complaint"] = [], []
    order_count = count(60_000)
    for at in range(1, order_count + 1):
        customer = customers[zipf(rng, len(customers)) - 1]
        when = at * 1700 // order_count + rng.randrange(60)
        state = rng.choice([0, 1, 2]) if when > 1650 else 4 if rng.random() < 0.03 else 3
        channel = 0 if customer[4] < 30 else rng.choice([1, 1, 1, 2])
        total = 0
        for _ in range(min(8, 1 + int(rng.expovariate(0.9)))):
            choice = by_third[customer[2] % 3] or products
            product = choice[zipf(rng, len(choice)) - 1]
            quantity = 1 if product[4] > 800 else zipf(rng, 9)
            total += quantity * product[4]
            data["item"].append((len(data["item"]) + 1, at, product[0], product[1], quantity, quantity * product[4]))
        data["orders"].append((at, customer[0], zipf(rng, len(stores)), day(when), state, channel, total))
        if state >= 2:
            method = 0 if total > 5000 else rng.randrange(1, 4)
            data["payment"].append((len(data["payment"]) + 1, at, method, total, day(when + rng.randrange(4))))
        if state == 3:
            carrier = customer[2] % 5
            days = 1 + carrier + int(rng.expovariate(0.8))
            data["shipment"].append((len(data["shipment"]) + 1, at, carrier, day(when + days), days))
            if rng.random() < 0.01 * days ** 2:
                data["complaint"].append((len(data["complaint"]) + 1, at, min(5, days // 2), day(when + days + 3)))
    data["review"] = []
    for at in range(1, count(30_000) + 1):
        product, customer = products[zipf(rng, len(products)) - 1], customers[zipf(rng, len(customers)) - 1]
        stars = max(1, min(5, 5 - product[1] // 25 + rng.choice([-1, 0, 0, 1])))
        data["review"].append((at, product[0], customer[0], stars, day(rng.randrange(1700))))
    return data


def load(connection, data):
    """Makes the schema."""
    with connection.cursor() as cursor:
        cursor.execute(f"DROP DATABASE IF EXISTS {DATABASE}")
        cursor.execute(f"CREATE DATABASE {DATABASE}")
        cursor.execute(f"USE {DATABASE}")
        for name, columns in TABLES.items():
            keys = [f"KEY ({column})" for table, column, _ in EDGES if table == name]
            keys += [f"KEY ({columns})" for table, columns in INDEXES if table == name]
            cursor.execute(f"CREATE TABLE {name} ({', '.join(['id INT PRIMARY KEY', *columns, *keys])})")
            rows = data[name]
            for start in range(0, len(rows), BATCH_ROWS):
                values = ",".join(
                    "(" + ",".join(f"'{value}'" if isinstance(value, str) else str(value) for value in row) + ")"
                    for row in rows[start : start + BATCH_ROWS]
                )
                cursor.execute(f"INSERT INTO {name} VALUES {values}")
            connection.commit()
        for name in TABLES:
            cursor.execute(f"ANALYZE TABLE {name}")
            cursor.fetchall()


def condition(rng, data, table, at):
    """A condition of the column, whose constants are values of the table."""
    column = TABLES[table][at].split()[0]
    value = lambda: repr(rng.choice(data[table])[at + 1])
    match rng.randrange(5):
        case 0 | 1:
            return f"{table}.{column} = {value()}"
        case 2:
            return f"{table}.{column} {rng.choice(['<', '<=', '>', '>='])} {value()}"
        case 3:
            low, high = sorted([rng.choice(data[table])[at + 1] for _ in range(2)])
            return f"{table}.{column} BETWEEN {low!r} AND {high!r}"
        case _:
            return f"{table}.{column} IN ({', '.join(value() for _ in range(rng.randrange(2, 5)))})"


def query(rng, data):
    """A join of two to six tables along EDGES, with conditions on about half of them; and how many tables it joins."""
    tables, conditions = [rng.choice(list(TABLES))], []
    for _ in range(rng.randrange(1, 6)):
        edges = [edge for edge in EDGES if (edge[0] in tables) != (edge[2] in tables)]
        child, column, parent = rng.choice(edges)
        conditions.append(f"{child}.{column} = {parent}.id")
        tables.append(child if parent in tables else parent)
    for table in tables:
        columns = range(len(TABLES[table]))
        for at in rng.sample(columns, min(len(columns), rng.choice([0, 0, 1, 1, 2]))):
            conditions.append(condition(rng, data, table, at))
    grouped = rng.random() < 0.3
    if grouped:
        table = rng.choice(tables)
        column = f"{table}.{rng.choice(TABLES[table]).split()[0]}"
        text = f"SELECT {column}, COUNT(*) FROM {', '.join(tables)} WHERE {' AND '.join(conditions)} GROUP BY {column}"
    else:
        text = f"SELECT COUNT(*) FROM {', '.join(tables)} WHERE {' AND '.join(conditions)}"
    return text, len(tables)


OPERATOR = re.compile(
    r"-> (?P<text>.*?)  \((?:cost=(?P<cost>[^ ]+) )?rows=(?P<expected>[0-9.e+]+)\) "
    r"\(actual time=[^ ]+ rows=(?P<found>[0-9.e+]+) loops=(?P<loops>\d+)\)"
)
KINDS = [
    ("join", re.compile("join|semijoin|antijoin", re.I)), ("group", re.compile("group|aggregate", re.I)),
    ("lookup", re.compile("lookup", re.I)), ("range", re.compile("range|skip scan", re.I)),
    ("scan", re.compile("scan", re.I)), ("filter", re.compile("^filter", re.I)), ("other", re.compile("")),
]


def errors_of(plan):
    """Kind and q-error of each operator that ran. A scan without rows was stopped before it began: no table is empty."""
    for match in OPERATOR.finditer(plan):
        kind = next(kind for kind, pattern in KINDS if pattern.search(match["text"]))
        if kind == "scan" and float(match["found"]) == 0:
            continue
        expected, found = max(1.0, float(match["expected"])), max(1.0, float(match["found"]))
        yield kind, max(expected, found) / min(expected, found), match.group(0)


def quantile(values, share):
    return sorted(values)[min(len(values) - 1, math.ceil(share * len(values)) - 1)]


def row(name, values):
    return (f"{name:<14} {len(values):>6} {statistics.median(values):>8.2f} {quantile(values, 0.9):>8.1f}"
            f" {quantile(values, 0.95):>9.1f} {quantile(values, 0.99):>9.1f} {max(values):>10.0f}")


def connect(url):
    parts = urllib.parse.urlparse(url)
    return pymysql.connect(host=parts.hostname, port=parts.port or 3306, user=parts.username or "root",
                           password=parts.password or "", autocommit=True)


def measure(name, url, data, queries, worst_count):
    connection = connect(url)
    load(connection, data)
    by_kind, by_tables, worst, failed = {}, {}, [], 0
    with connection.cursor() as cursor:
        cursor.execute(f"SET max_execution_time = {TIME_MAX * 1000}")
        for text, table_count in queries:
            try:
                cursor.execute(f"EXPLAIN ANALYZE FORMAT=TREE {text}")
                plan = cursor.fetchone()[0]
            except pymysql.err.Error as error:
                if error.args[0] != 3024:
                    raise
                failed += 1
                continue
            for kind, error, line in errors_of(plan):
                by_kind.setdefault(kind, []).append(error)
                by_tables.setdefault(table_count, []).append(error)
                worst.append((error, line, text))
        cursor.execute("SELECT VERSION()")
        version = cursor.fetchone()[0]
        cursor.execute(f"DROP DATABASE {DATABASE}")
    print(f"\n{name} ({version}): {len(queries)} queries, {failed} of them ended after {TIME_MAX} s and do not count")
    print(f"{'operator':<14} {'count':>6} {'median':>8} {'90 %':>8} {'95 %':>9} {'99 %':>9} {'greatest':>10}")
    for kind, _ in KINDS:
        if kind in by_kind:
            print(row(kind, by_kind[kind]))
    for count in sorted(by_tables):
        print(row(f"{count} tables", by_tables[count]))
    print(row("all", [error for errors in by_kind.values() for error in errors]))
    for error, line, text in sorted(worst, key=lambda entry: -entry[0])[:worst_count]:
        print(f"  {error:.0f}: {line}\n    {text}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", action="append", required=True, metavar="NAME=URL")
    parser.add_argument("--queries", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scale", type=float, default=1.0, help="1: about 60,000 orders")
    parser.add_argument("--worst", type=int, default=0, help="operators with the greatest errors to print, at most")
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    data = rows_of(rng, arguments.scale)
    queries = [query(rng, data) for _ in range(arguments.queries)]
    print(f"seed {arguments.seed}, scale {arguments.scale}, {sum(map(len, data.values()))} rows in {len(TABLES)} tables")
    for server in arguments.server:
        name, url = server.split("=", 1)
        measure(name, url, data, queries, arguments.worst)


if __name__ == "__main__":
    main()
