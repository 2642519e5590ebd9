"""docs/results/values-accuracy.md: how near sampled values come to exact ones."""
import statistics

import store
import suite
import tables
import values_accuracy

BOUNDS = (("overlap", "overlap of executed instructions at least 90%", lambda v: v >= 90),
          ("diff_top", "diff-top at most 4%", lambda v: v <= 4))


def part(data, measure, digits):
    rates = [hz for hz in sorted({e["hz"] for e in data.values()})]
    rows, columns = [], [[] for _ in rates]
    for program in suite.SUITE:
        values = [data.get(f"{program.name}@{hz}", {}).get(measure) for hz in rates]
        if all(v is None for v in values):
            continue
        rows.append([program.name] + [tables.shown(v, digits) for v in values])
        for found, v in zip(columns, values):
            found += [] if v is None else [v]
    rows.append(["**median**"] + [f"**{tables.shown(statistics.median(v), digits)}**" if v else "" for v in columns])
    return tables.table(["program"] + [f"{hz:,} Hz" for hz in rates], rows)


def verdict(data):
    default = [e for e in data.values() if e["hz"] == 997]
    said = [f"{words}: {sum(met(e[m]) for e in default)} of {len(default)} programs" for m, words, met in BOUNDS]
    return f"At the default rate, 997 Hz: {'; '.join(said)}.\n" if default else ""


def observed(data):
    rows = []
    for program in suite.SUITE:
        entries = [data[k] for k in (f"{program.name}@{hz}" for hz in values_accuracy.RATES) if k in data]
        if entries:
            last = entries[-1]
            rows.append([program.name, f"{last['times']:,}", f"{last['entries']['perfect']:,}"]
                        + ["; ".join(f"{e['entries']['common']:,}" for e in entries)])
    return tables.table(["program", "runs", "instructions executed", "of these observed, by rate"], rows)


def run(a, say):
    data = store.load("values-accuracy")
    if not data:
        return
    text = tables.head_lines("How near sampled values are", ["bench/run.py references --tools short",
                                                              "bench/run.py values-accuracy"], data.values())
    seconds = ", ".join(sorted({f"{e['seconds']:g}" for e in data.values()}))
    text += (f"\nRecordings of {seconds} s of the program's native CPU time (`record --tool values`, 4 instructions at every second "
             "trigger) against a whole run in which every value of every instruction was observed (`--exact --tool values "
             "--summary tnv`, tables of 50 values). Observing everything takes several hundred times as long as the program, so "
             "these are short inputs (`suite.short`), run again and again in one recording, without address randomization. The "
             "trigger is CPU time: instructions that take longer are observed more often than they are executed, from one part of "
             f"the program to another.\n\n{verdict(data)}\n## Overlap of executed instructions, %\n\n" + part(data, "overlap", 1)
             + "\n## diff-top, %\n\n" + part(data, "diff_top", 2) + "\n## What was observed\n\n" + observed(data))
    tables.write("values-accuracy.md", text)
    tables.write_json("values-accuracy.json", data)
    say("docs/results/values-accuracy.md")
