"""docs/results/values.md: what observing values costs, by what is observed, and how much of it."""
import statistics

import overhead
import store
import tables
import values

TITLES = {"null": "null check", "penumbra": "call paths only", "values": "values",
          "values-context": "values with context", "conflicts": "conflicts",
          "conflicts-context": "conflicts with context"}
# The paper's averages, in percent: tables 2 (a), (b) and (c).
PAPER = {"penumbra": 3.9, "values": 10.7, "values-context": 12.2, "conflicts": 5.9, "conflicts-context": 6.8,
         "4/2": 10.7, "8/2": 14.8, "16/2": 22.7, "32/2": 40.4, "8/4": 10.8, "16/8": 9.7, "32/16": 9.3, "64/32": 9.2}


def medians(entries, name):
    """The median overhead of each program, in percent."""
    return [statistics.median(overhead.percent(e["rounds"], name)) for e in entries.values()]


def row(entries, title, name):
    over = [m - p for m, p in zip(medians(entries, name), medians(entries, "penumbra"))]
    return [title, tables.shown(statistics.mean(medians(entries, name)), 2), tables.shown(statistics.mean(over), 2),
            f"{min(over):.2f}..{max(over):.2f}", tables.shown(PAPER.get(name.removeprefix("values-"), PAPER.get(name)))]


def part_table(entries, rows):
    heads = ["what", "average slowdown, %", "over call paths, points", "least..most", "the paper's, %"]
    return tables.table(heads, [row(entries, title, name) for title, name in rows])


def by_program(entries):
    """What values and conflicts cost over call paths, program by program: the bound is 1 point."""
    names = ("values", "conflicts")
    over = {n: [m - p for m, p in zip(medians(entries, n), medians(entries, "penumbra"))] for n in names}
    rows = [[program] + [tables.shown(over[n][i], 2) for n in names] for i, program in enumerate(entries)]
    rows.append(["**median**"] + [f"**{tables.shown(statistics.median(over[n]), 2)}**" for n in names])
    return tables.table(["program", *(f"{n} over call paths, points" for n in names)], rows)


def bursts_table(entries, lengths):
    """Of the lengths that were measured in all of the programs."""
    there = [b for b in lengths if all(values.burst_name(*b) in r for e in entries.values() for r in e["rounds"])]
    return part_table(entries, [(f"{n} instructions, 1/{k}", values.burst_name(n, k)) for n, k in there])


def run(a, say):
    data = store.load("values")
    if not data:
        return
    text = tables.head_lines("What observing values costs", ["bench/run.py values"],
                             [e for part in data.values() for e in part.values()])
    text += (f"\nTable 2 of Burrows et al., at {values.HZ} triggers a second. CPU time of the program over a native copy of "
             "the same round; each program's median, averaged over the programs. The null check says what difference means "
             "nothing. Each part's rounds have copies of their own: compare within a part.\n\n")
    if "options" in data:
        entries = data["options"]
        text += (f"(a) What is observed ({', '.join(entries)}; bursts of 4 instructions at every second trigger, of conflicts 128 "
                 "at every 128th, or fewer where they would cost more than 0.7% of CPU time)\n\n" + part_table(entries, [(t, n) for n, t in TITLES.items()]))
    if "bursts" in data:
        entries = data["bursts"]
        text += f"\n(b) Length of the bursts, at every second trigger ({', '.join(entries)})\n\n"
        text += bursts_table(entries, values.LENGTHS)
        text += f"\n(c) The same number of observed instructions a trigger, 2 ({', '.join(entries)})\n\n"
        text += bursts_table(entries, values.SAME)
    if "options" in data:
        text += "\n## By program\n\n" + by_program(data["options"])
    tables.write("values.md", text)
    tables.write_json("values.json", data)
    say("docs/results/values.md")
