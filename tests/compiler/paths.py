#!/usr/bin/env python3
"""Paths of instrumented programs: against what is known of them, and against the engine's counts.

usage: paths.py PENUMBRA PLUGIN RUNTIME CC FOLDER TEST

RUNTIME is penumbra-inst.o, CC the compiler that PLUGIN is for, FOLDER where programs/ is. Tests:

  known      paths of programs/paths.c at interval 1, by arithmetic
  engine     the same program runs once more under the engine, which counts executions of the code that is not copied:
             each block as often as all paths through it, and each jump between blocks of a path as often as paths take it
  estimates  at interval 20, in some runs: executions are about the exact ones, and the intervals that report gives cover
             the exact shares
  shown      compare, merge, annotate, the page and exports take them
"""

import json
import os
import re
import sys
import tempfile
from collections import Counter

from known import Tools, expect, run

TIMES = 40

# program, and sets of flags
PROGRAMS = [("gotos", ["-O0", "-O2 -fPIC"]), ("switches", ["-O0", "-O1", "-O2", "-O3 -fno-jump-tables"]),
            ("memory", ["-O0", "-O2", "-Os"]), ("numbers", ["-O2 -flto", "-O3"]), ("exceptions", ["-O0", "-O2 -g"]),
            ("paths", ["-O0", "-O1", "-O2 -fno-pie -no-pie", "-O3"])]


class Builder(Tools):
    def build(self, name, flags, *options):
        source = os.path.join(self.folder, "programs", name + ".c")
        compiler = self.cc
        if not os.path.exists(source):
            source, compiler = source + "c", self.cc.replace("gcc", "g++")
        run([compiler, *flags.split(), source, "-o", name, "-pthread", f"-fplugin={self.plugin}",
             *(f"-fplugin-arg-penumbra-gcc-{o}" for o in ("what=paths", "report=left", *options)), self.runtime,
             "-Wl,--export-dynamic-symbol=__penumbra1_owner"], cwd=self.work)

    def report(self, *options):
        return json.loads(run([self.penumbra, "report", "--json", "--limit", "0", *options], cwd=self.work))

    def observe(self, name, how, output, *arguments):
        command = [self.penumbra, "record", "-q", "-o", output, *how.split(), "--", "./" + name, *map(str, arguments)]
        # its exit status is the program's, which may be any
        run(["sh", "-c", 'rm -f "$0"; "$@" >out; test -e "$0"', output, *command], cwd=self.work)
        return self.report(output)


def lines_of(report, function):
    """Of paths that are within one function: {lines: times}"""
    found = Counter()
    for path in report["paths"]:
        if path["functions"] == [function]:
            found[tuple(l["line"] for l in path["lines"])] += path["count"]
    return found


def line_of(tools, text):
    with open(os.path.join(tools.folder, "programs", "paths.c"), encoding="utf-8") as f:
        [at] = [n for n, line in enumerate(f, 1) if text in line]
    return at


def times_through(paths, line):
    return sum(times for lines, times in paths.items() if line in lines)


def rounds_taken():
    """Of rounds(n): iterations that are added up, that continue, and that leave"""
    taken = Counter()
    for i in range(TIMES):
        for k in range(i % 9):
            taken["skip" if k == 3 else "leave" if k == 7 else "add"] += 1
    return taken


def known(tools):
    for level in ("-O0", "-O1", "-O2"):
        tools.build("paths", f"{level} -g")
        with open(os.path.join(tools.work, "left"), encoding="utf-8") as f:
            left = set(re.findall(r": (\w+): (?:left as it is|without paths): ", f.read()))
        expect(left == {"catcher"}, (level, left))
        tools.observe("paths", "--carrier compiled --interval 1", "p.pnb", TIMES)
        report = tools.report("--paths", "p.pnb")
        check_known(tools, level, report)
        check_cut(level, report)
        expect(not any(report["dropped"].values()), report["dropped"])


def check_known(tools, level, report):
    early = lines_of(report, "early")
    by_end = [(2 * TIMES // 4, "return sink = 1"), (2 * TIMES // 4, "return sink = 3"),
              (2 * TIMES // 2, "sink = 4")]
    expect(sum(early.values()) == 2 * TIMES, (level, early))
    for times, text in by_end:
        expect(times_through(early, line_of(tools, text)) == times, (level, text, early))
    rounds, taken = lines_of(report, "rounds"), rounds_taken()
    expect(times_through(rounds, line_of(tools, "sink = 6")) == taken["skip"], (level, rounds))
    expect(times_through(rounds, line_of(tools, "sink = 7")) == taken["leave"], (level, rounds))
    expect(times_through(rounds, line_of(tools, "sum += sink")) == taken["add"], (level, rounds))
    deep = lines_of(report, "deep")
    expect(sum(deep.values()) == sum(i % 5 + 1 for i in range(TIMES)), (level, deep))
    expect(times_through(deep, line_of(tools, "sink = 8")) == TIMES, (level, deep))
    thrower = lines_of(report, "thrower")
    expect(sum(thrower.values()) == TIMES and times_through(thrower, line_of(tools, "sink = 11")) == TIMES // 2,
           (level, thrower))
    interrupted = lines_of(report, "interrupted")
    for text, every in (("sink = 15", 2), ("sink = 16", 2)):
        expect(times_through(interrupted, line_of(tools, text)) == TIMES // every, (level, text, interrupted))
    expect(sum(interrupted.values()) == TIMES, (level, interrupted))
    expect(sum(lines_of(report, "handler").values()) == TIMES, level)
    ends = lines_of(report, "left")
    expect(times_through(ends, line_of(tools, "sink = 17")) == 1 and sum(ends.values()) == 2, (level, ends))


def check_cut(level, report):
    """longjmp leaves through(); exit() leaves main in both processes, and forked() in the child."""
    cut = report["path_totals"]["cut"]
    expect(cut == TIMES // 2 + 3, (level, cut))


def span(report_path):
    """[(start, bytes)] of a path's blocks"""
    return [(int(place.split("+0x")[1], 16), size) for place, size in zip(report_path["blocks"], report_path["bytes"])]


def leaves(at, start, size, blocks):
    """Whether the instruction at `at` is the block's, or a jump behind it, which gcc puts on an edge"""
    return start <= at < start + size or (at == start + size and at not in blocks)


def check_against_engine(tools, name, flags):
    arguments = [TIMES] if name == "paths" else []
    where = f"{name} {flags}"
    # Sites, so that without a recording not even a thread's first check leads to a copy.
    tools.build(name, flags, "check=patched")
    sampled = tools.observe(name, "--carrier compiled --interval 1", "p.pnb", *arguments)
    blocks = tools.observe(name, "--exact --tool blocks", "b.pnb", *arguments)["blocks"]
    edges = tools.observe(name, "--exact --tool edges", "e.pnb", *arguments)["edges"]
    mine = [path for path in sampled["paths"] if all(b.startswith(name + "+") for b in path["blocks"])]
    through, jumps = Counter(), Counter()
    for path in mine:
        at = span(path)
        for start, _ in at:
            through[start] += path["count"]
        for (start, size), (to, _) in zip(at, at[1:]):
            # Code is padded where a loop begins. Without optimization gcc puts instructions that do nothing on edges,
            # so that a debugger can stop there.
            if not 0 <= to - (start + size) < 16 and "-O0" not in flags:
                jumps[start, size, to] += path["count"]
    expect(len(through) > 3, (where, through))
    own = [(int(b["offset"], 16), b["bytes"], b["count"]) for b in blocks if b["image"] == name]
    missed = sampled["path_totals"]["cut"]
    wrong = []
    for start, times in through.items():
        exact = sum(count for at, size, count in own if at <= start < at + size)
        if not times <= exact <= times + missed:
            wrong.append((hex(start), times, exact))
    expect(not wrong, f"{where}: block, by paths, by the engine: {wrong}; {missed} cut")
    for (start, size, to), times in jumps.items():
        exact = sum(e["count"] for e in edges if e["to"] == f"{name}+{to:#x}" and e["from"].startswith(name + "+") and
                    leaves(int(e["from"].split("+")[1], 16), start, size, through))
        if not times <= exact <= times + missed:
            wrong.append((hex(start), hex(to), times, exact))
    expect(not wrong, f"{where}: jump, by paths, by the engine: {wrong}; {missed} cut")
    return missed, len(jumps)


def engine(tools):
    jumps = 0
    for name, sets in PROGRAMS:
        for flags in sets:
            missed, more = check_against_engine(tools, name, flags)
            expect(name in ("paths", "exceptions") or missed == 0, f"{name} {flags}: {missed} cut")
            jumps += more
    expect(jumps > 30, jumps)


def estimates(tools):
    tools.build("paths", "-O1")
    many = 4000
    exact, times = shares(tools, "--carrier compiled --interval 1", many)
    expect(all(low == share == high for share, low, high in exact.values()), exact)
    covered = total = estimated = 0
    runs = 12
    for seed in range(1, runs + 1):
        found, about = shares(tools, f"--carrier compiled --interval 20 --seed {seed}", many)
        estimated += about
        for blocks, (share, low, high) in found.items():
            if blocks in exact and exact[blocks][0] > 0.5:
                expect(low <= share <= high, (blocks, share, low, high))
                covered += low <= exact[blocks][0] <= high
                total += 1
    # Of some 200 that are not independent 95% are to be covered.
    expect(abs(estimated / runs - times) < 0.05 * times, f"{estimated / runs} executions, not {times}")
    expect(total > 100 and covered > 0.88 * total, f"{covered} of {total} intervals cover the exact share")


def shares(tools, how, *arguments):
    report = tools.observe("paths", how, "s.pnb", *arguments)
    return ({tuple(p["blocks"]): (p["share"], p["share_low"], p["share_high"]) for p in report["paths"]},
            report["path_totals"]["executions"])


def shown(tools):
    tools.build("paths", "-O1 -g")
    one = tools.observe("paths", "--carrier compiled --interval 1", "one.pnb", TIMES)
    two = tools.observe("paths", "--carrier compiled --interval 2", "two.pnb", TIMES)
    expect(one["tool"].split(",")[0] == "paths" and two["path_totals"]["executions"] > 0, one["tool"])
    overlap = run([tools.penumbra, "compare", "--by", "acyclic", "one.pnb", "one.pnb"], cwd=tools.work)
    expect("overlap        100.00%" in overlap, overlap)
    again = tools.observe("paths", "--carrier compiled --interval 1", "again.pnb", TIMES)
    run(["sh", "-c", '"$0" merge -o both.pnb one.pnb again.pnb 2>&1', tools.penumbra], cwd=tools.work)
    both = tools.report("both.pnb")
    expect(both["path_totals"]["executions"] == 2 * one["path_totals"]["executions"] and
           len(both["paths"]) == len(one["paths"]) == len(again["paths"]), both["path_totals"])
    [add] = [p for p in one["paths"] if p["functions"] == ["handler"]]
    lines = run([tools.penumbra, "annotate", "one.pnb", "handler"], cwd=tools.work)
    expect(re.search(rf"^ +{add['count']} +100.00%", lines, re.M), lines)
    run([tools.penumbra, "report", "--html", "page.html", "one.pnb"], cwd=tools.work)
    with open(os.path.join(tools.work, "page.html"), encoding="utf-8") as f:
        page = f.read()
    data = json.loads(re.search(r'<script type="application/json"[^>]*>(.*?)</script>', page, re.S)[1])
    expect(len(data["paths"]) == len(one["paths"]), "paths on the page")
    bolt = run(["sh", "-c", '"$0" export --format bolt -o bolt.out one.pnb 2>&1 && cat bolt.out',
                tools.penumbra], cwd=tools.work)
    ranges = sum(int(times) for times in re.findall(r"^F \w+ \w+ (\d+)$", bolt, re.M))
    expect(ranges >= one["path_totals"]["executions"], bolt)


def main():
    if len(sys.argv) != 7:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory(prefix="compiler-test-") as work:
        {"known": known, "engine": engine, "estimates": estimates, "shown": shown}[sys.argv[6]](Builder(sys.argv[1:6], work))


if __name__ == "__main__":
    main()
