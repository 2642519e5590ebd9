#!/usr/bin/env python3
"""How large a fleet's store gets, and how long queries of it take: fills one with days that nobody has lived.

usage: bench/fleet.py PENUMBRA URL HOURS [--stacks N] [--services N] [--frames N] [--keep]

URL: a ClickHouse server and a database that is not there yet, http://127.0.0.1:8123/bench; it is removed at the end,
unless --keep is given. The tables are those that the daemon makes; rows of them are made by the server. Each hour has
N stacks (15,000) of 30 services, out of a pool four times as large; the n-th stack of a service's pool has weight
1000/n + 1. There are no rows of intervals, so their size is not measured. Prints rows and bytes on disk by table,
and the median and the longest of five runs of each query.
"""
import argparse
import http.client
import statistics
import subprocess
import tempfile
import time
from urllib.parse import urlsplit

DAY = 86400
BEGIN = 1793145600 // DAY * DAY  # 2026-10-28
DEPTH, POOL, RUNS = 20, 4, 5


class Store:
    def __init__(self, url):
        self.url, self.parts = url, urlsplit(url)
        self.name = self.parts.path.strip("/")

    def ask(self, statement):
        connection = http.client.HTTPConnection(self.parts.hostname, self.parts.port, timeout=3600)
        connection.request("POST", "/", statement.encode())
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        if answer.status != 200:
            raise SystemExit(f"{statement[:200]}: {text}")
        return text.strip()


def stack_of(args, number):
    """The stack's number in SQL: hour and row choose one of the pool; the pool moves by a fiftieth a day."""
    each = args.stacks // args.services
    rank = f"(intHash64({number}) % {each * POOL})"
    return each, rank, f"intDiv(hour - {BEGIN}, {DAY}) * {each * POOL // 50} + {rank}"


def fill_samples(store, args, first, hours, hosts):
    """Sums of hours, or rows of intervals of so many hosts."""
    each, rank, _ = stack_of(args, "number")
    rows = hours * args.stacks * max(hosts, 1)
    hour = f"{first} + intDiv(number, {args.stacks * max(hosts, 1)}) * 3600"
    host = "''" if not hosts else f"concat('host-', toString(number % {hosts}))"
    batch = "0" if not hosts else f"intHash64(number % {hosts})"
    moved = f"intDiv({hour} - {BEGIN}, {DAY}) * {each * POOL // 50}"
    store.ask(f"""INSERT INTO {store.name}.samples SELECT toDate('1970-01-01') + intDiv(h, {DAY}), {2 if hosts else 6}, h, {host},
        concat('number-', toString(s), '.service'), concat('program', toString(s)), intHash64((r + {moved}) * 1000 + s) + 1,
        {batch}, {'h * 1000000000' if hosts else '0'}, {'(h + 60) * 1000000000' if hosts else '0'}, 8, 0, w, w * 52632,
        w * 52632 * 52632, 0, 0, 0, 0, 0 FROM (SELECT number, {hour} AS h, intDiv(number, {max(hosts, 1)}) % {args.services} AS s,
        {rank} AS r, intDiv(1000, r + 1) + 1 AS w FROM system.numbers LIMIT {rows})""")


def fill_rest(store, args, hours):
    """Slots and totals by hour; stacks of each day and their frames."""
    each = args.stacks // args.services
    days = (hours + 23) // 24
    store.ask(f"""INSERT INTO {store.name}.samples SELECT toDate('1970-01-01') + intDiv({BEGIN} + number * 3600, {DAY}), 4,
        {BEGIN} + number * 3600, '', '', '', 52632, 0, 0, 0, 8, 60, 0, 0, 0, 0, 3600000000, 0, 0, 1000
        FROM system.numbers LIMIT {hours}""")
    store.ask(f"""INSERT INTO {store.name}.samples SELECT day, 5, hour, '', service, program, 0, 0, 0, 0, 8, 0, sum(taken),
        sum(weight), sum(squares), 0, 0, 0, 0, 0 FROM {store.name}.samples WHERE kind = 6 GROUP BY day, hour, service, program""")
    pool = each * POOL
    store.ask(f"""INSERT INTO {store.name}.stacks SELECT toDate('1970-01-01') + intDiv({BEGIN}, {DAY}) + d,
        intHash64((k + d * {pool // 50}) * 1000 + s) + 1,
        arrayMap(i -> intHash64(bitShiftRight(k + d * {pool // 50}, if(i < 12, 12 - i, 0)) * 131 + i * 7 + s)
        % {args.frames} + 1, range({DEPTH})) FROM (SELECT intDiv(number, {pool * args.services}) AS d,
        intDiv(number, {pool}) % {args.services} AS s, number % {pool} AS k FROM system.numbers
        LIMIT {days * pool * args.services})""")
    store.ask(f"""INSERT INTO {store.name}.frames SELECT toDate('1970-01-01') + intDiv({BEGIN}, {DAY}) + intDiv(number, {args.frames}),
        number % {args.frames} + 1, 0, lower(hex(intHash64(number % 300))), concat('/usr/lib/x86_64-linux-gnu/libnumber',
        toString(number % 300), '.so.1'), 4096 + number % {args.frames} * 64, 4096 + intDiv(number % {args.frames}, 3) * 192,
        concat('library_function_with_a_name_', toString(intDiv(number % {args.frames}, 3))), 0
        FROM system.numbers LIMIT {days * args.frames}""")


def report_sizes(store):
    for table in ("samples", "stacks", "frames"):
        store.ask(f"OPTIMIZE TABLE {store.name}.{table}")
    print(store.ask(f"""SELECT table, sum(rows), sum(bytes_on_disk), round(sum(bytes_on_disk) / sum(rows), 2) FROM system.parts
        WHERE active AND database = '{store.name}' GROUP BY table ORDER BY table"""))


def report_queries(args):
    end = BEGIN + args.hours * 3600
    whole = ("--from", f"@{BEGIN}", "--to", f"@{end}")
    day = ("--from", f"@{end - DAY}", "--to", f"@{end}")
    for name, options in (("services", (*whole, "services")), ("top", (*whole, "top")), ("tree", (*whole, "tree")),
                          ("top, a service", (*whole, "--service", "number-3.service", "top")), ("top, the last day", (*day, "top"))):
        times = []
        for _ in range(RUNS):
            with tempfile.TemporaryFile() as out:
                begin = time.perf_counter()
                subprocess.run([args.penumbra, "query", "--store", args.url, *options], stdout=out, check=True)
                times.append(time.perf_counter() - begin)
        print(f"{name}: median {statistics.median(times):.2f} s, most {max(times):.2f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("penumbra")
    parser.add_argument("url")
    parser.add_argument("hours", type=int)
    parser.add_argument("--stacks", type=int, default=15000)
    parser.add_argument("--services", type=int, default=30)
    parser.add_argument("--frames", type=int, default=12000)
    parser.add_argument("--keep", action="store_true")
    args = parser.parse_args()
    store = Store(args.url)
    if store.ask(f"EXISTS TABLE {store.name}.samples") == "1":
        raise SystemExit(f"the database {store.name} is there already")
    begin = time.perf_counter()
    subprocess.run([args.penumbra, "db", "--store", args.url, "make"], check=True)
    for first in range(0, args.hours, 24):
        fill_samples(store, args, BEGIN + first * 3600, min(24, args.hours - first), 0)
    fill_rest(store, args, args.hours)
    print(f"filled in {time.perf_counter() - begin:.0f} s")
    report_sizes(store)
    report_queries(args)
    if not args.keep:
        store.ask(f"DROP DATABASE {store.name}")


main()
