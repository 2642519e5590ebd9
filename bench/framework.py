#!/usr/bin/env python3
"""Instrumentation sampling as its paper measures it (docs/instrumentation.md): the Tables 1 to 5 of Arnold and Ryder, with
their columns, and the accuracy of each program.

usage: framework.py PENUMBRA [--only NAME,...] [--rounds N] [--core N] [--folder DIR]

PENUMBRA is the command in a build directory that has the plugin for gcc-12; bench/built.py has the programs, and how they
are compared. With --rounds 0 nothing is timed: sizes, samples and accuracy are right on a busy machine, too. With --folder
builds, the times that they took and recordings are kept, and not made again. Prints tables
(docs/results/instrumentation.md), in Markdown."""
import json
import os
import resource
import statistics
import subprocess

import built
from instrumented import text_bytes

INTERVALS = (1, 10, 100, 1000, 10000, 100000)
BUILDS = {"full": [], "partial": ["variant=partial"], "none": ["variant=none"],
          "entries": ["variant=entries"], "back-edges": ["variant=back-edges"],
          "patched": ["check=patched"], "switched": ["check=switched"],
          **{f"{variant}, {what}": [f"variant={variant}", f"what={what}"]
             for variant in ("exhaustive", "none") for what in ("calls", "fields")}}
KINDS = {"calls": "callsite", "fields": "field"}
TABLE_1 = ["exhaustive, calls", "exhaustive, fields"]
TABLE_2 = ["full", "back-edges", "entries", "patched", "switched"]
TABLE_3 = ["none, calls", "none, fields"]
SAMPLED = ("full", "none")
WINDOWS = 10
TIMER = "1ms"  # the paper's has 10 ms, on a machine that is a hundred times slower


def made(bench, name, way, flags):
    """The binary, and the CPU seconds that making it took."""
    note = os.path.join(bench.work, name, way + ".seconds")
    bench.prepared(name)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    binary = bench.build(name, way, flags)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if not os.path.exists(note):
        with open(note, "w", encoding="utf-8") as file:
            file.write(str(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime))
    with open(note, encoding="utf-8") as file:
        return binary, float(file.read())


def recorded(bench, name, binary, variant, interval, *options):
    path = os.path.join(bench.work, name, "-".join([variant, str(interval), *options]).replace(" ", "") + ".pnb")
    if not os.path.exists(path):
        subprocess.run([*bench.recording, "--interval", str(interval), *options, "-o", path + ".new", "--", binary,
                        *bench.arguments(name)], stdout=subprocess.DEVNULL, cwd=bench.place(name),
                       env=os.environ | bench.env(name), check=True)
        os.rename(path + ".new", path)
    return path


def asked(bench, command, *words):
    return json.loads(subprocess.run([bench.penumbra, command, "--json", *words], capture_output=True, check=True).stdout)


def judged(bench, perfect, sampled):
    overlaps = [asked(bench, "compare", "--by", kind, perfect, sampled)["overlap"] for kind in KINDS.values()]
    return asked(bench, "report", sampled)["taken"], *overlaps


def accuracy(bench, name, binaries):
    """{variant, interval: (samples, overlap of calls, of fields)}, against all events, which interval 1 counts exactly."""
    perfect = recorded(bench, name, binaries["full"], "full", 1)
    found = {}
    for variant in SAMPLED:
        for interval in INTERVALS:
            sampled = recorded(bench, name, binaries[variant], variant, interval)
            found[variant, interval] = judged(bench, perfect, sampled)
    switched = binaries["switched"]
    found["windows"] = judged(bench, perfect, recorded(bench, name, switched, "switched", 1000, "--windows", str(WINDOWS)))
    found["timer"] = judged(bench, perfect, recorded(bench, name, switched, "switched", 1000, "--timer", TIMER))
    as_often = max(1, round(asked(bench, "report", perfect)["taken"] / max(1, found["timer"][0])))
    found["counter"] = judged(bench, perfect, recorded(bench, name, switched, "switched", as_often))
    return found


def sampled_copy(variant, interval):
    return f"{variant}, {interval}"


def measure(bench, name):
    plain, seconds = made(bench, name, "plain", "-O2")
    binaries, sizes, compiled = {}, {}, {}
    for way, options in BUILDS.items():
        binaries[way], took = made(bench, name, way, "-O2 " + bench.flags(options))
        sizes[way], compiled[way] = text_bytes(binaries[way]) / text_bytes(plain), took / seconds
    times = {}
    if bench.rounds:
        base = {"plain": bench.runs(plain), "null": bench.runs(plain)}
        alone = {way: bench.runs(binaries[way]) for way in TABLE_2 + TABLE_3 + ["none"]}
        exhaustive = {way: bench.records(binaries[way]) for way in TABLE_1}
        times = bench.compare(name, base | alone | exhaustive)
        sampled = {sampled_copy(v, i): bench.records(binaries[v], "--interval", str(i))
                   for v in SAMPLED for i in INTERVALS}
        sampled["windows"] = bench.records(binaries["switched"], "--windows", str(WINDOWS))
        sampled["switched, recorded"] = bench.records(binaries["switched"])
        times |= bench.compare(name, base | sampled)
    return {"sizes": sizes, "compiled": compiled, "times": times, "accuracy": accuracy(bench, name, binaries)}


def averages(measured, kind, key):
    return [m[kind][key] for m in measured.values()]


def print_table(title, head, rows):
    print(f"\n{title}\n\n| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |")


def print_timed(title, measured, columns):
    rows = [[name, *(f"{m['times'][c][0]:+.1f}" for c in ["null", *columns])] for name, m in measured.items()]
    means = [statistics.mean(m["times"][c][0] for m in measured.values()) for c in ["null", *columns]]
    print_table(title, ["program", "null", *columns], [*rows, ["mean", *(f"{mean:+.1f}" for mean in means)]])


def cells_of(measured, variant, interval):
    """Of Table 4, averaged over all programs."""
    shown = [statistics.mean(column) for column in zip(*averages(measured, "accuracy", (variant, interval)))]
    timed = ["-", "-"]
    if all(m["times"] for m in measured.values()):
        total = statistics.mean(m["times"][sampled_copy(variant, interval)][0] for m in measured.values())
        framework = statistics.mean(m["times"][variant][0] for m in measured.values())
        timed = [f"{total - framework:+.1f}", f"{total:+.1f}"]
    return [f"{shown[0]:,.0f}", *timed, f"{shown[1]:.1f}", f"{shown[2]:.1f}"]


def main():
    measured = built.measure_all(__doc__, measure)
    timed = all(m["times"] for m in measured.values())
    if timed:
        print_timed("Table 1: exhaustive instrumentation, recorded.", measured, TABLE_1)
        print_timed("Table 2: the framework, disarmed.", measured, TABLE_2)
    ways = ["full", "partial", "none", "patched", "switched"]
    print_table("Table 2: space, times the plain build's .text.", ["program", *ways],
                [[name, *(f"{m['sizes'][w]:.2f}" for w in ways)] for name, m in measured.items()])
    print_table("Table 2: compile time, times the plain build's.", ["program", *ways],
                [[name, *(f"{m['compiled'][w]:.1f}" for w in ways)] for name, m in measured.items()])
    if timed:
        print_timed("Table 3: no duplication, disarmed.", measured, TABLE_3)
    head = ["interval", "samples", "sampled instrumentation", "total", "call edges", "fields"]
    for variant in SAMPLED:
        print_table(f"Table 4, {variant}: overhead in percent, overlap in percent; means of the programs.", head,
                    [[f"{i:,}", *cells_of(measured, variant, i)] for i in INTERVALS])
    if timed:
        print_timed(f"Switched checks, recorded at 1,000; windows: --windows {WINDOWS}.", measured,
                    ["switched", "switched, recorded", "windows"])
    print_table(f"Table 5: timer ({TIMER}) and counter, and --windows {WINDOWS} at 1,000: samples, overlap in percent, "
                "call edges / fields.", ["program", "timer", "counter", "windows"],
                [[name, *("{:,}: {:.1f} / {:.1f}".format(*m["accuracy"][w]) for w in ("timer", "counter", "windows"))]
                 for name, m in measured.items()])
    print_table("Overlap in percent, call edges / fields, full.", ["program", *(f"{i:,}" for i in INTERVALS)],
                [[name, *("{:.1f} / {:.1f}".format(*m["accuracy"]["full", i][1:]) for i in INTERVALS)]
                 for name, m in measured.items()])


if __name__ == "__main__":
    main()
