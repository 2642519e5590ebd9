"""docs/results/values-accuracy.md: how near sampled values come to exact ones."""
import statistics

import store
import suite
import tables
import values_accuracy

DEFAULT = values_accuracy.bursts(values_accuracy.DEFAULT_HZ)
BOUNDS = (("overlap", "overlap of executed instructions at least 90%", lambda v: v >= 90),
          ("diff_top", "diff-top at most 4%", lambda v: v <= 4))


def ways_of(data):
    """Those that something was measured in."""
    return [w for w in values_accuracy.WAYS if any(w.key(p) in data for p in suite.SUITE)]


def part(data, measure, digits):
    """Each way has a column for what was found, bursts another one for what chance alone makes of as many observations."""
    columns = [(w, by_chance) for w in ways_of(data) for by_chance in ((False, True) if w in values_accuracy.BURSTS else (False,))]
    rows, found = [], [[] for _ in columns]
    for program in suite.SUITE:
        row = []
        for (way, by_chance), column in zip(columns, found):
            entry = data.get(way.key(program))
            row.append(entry and (entry["by_chance"] if by_chance else entry)[measure])
            column += [] if row[-1] is None else [row[-1]]
        if any(v is not None for v in row):
            rows.append([program.name] + [tables.shown(v, digits) for v in row])
    rows.append(["**median**"] + [f"**{tables.shown(statistics.median(c), digits)}**" if c else "" for c in found])
    heads = [w.title + (", by chance" if by_chance else "") for w, by_chance in columns]
    return tables.table(["program"] + heads, rows)


def verdict(data):
    """How many programs meet the bounds, in each way of recording whose seconds are the default's."""
    lines = []
    for way in ways_of(data):
        entries = [data[way.key(p)] for p in suite.SUITE if way.key(p) in data]
        said = []
        for m, words, met in BOUNDS:
            text = f"{words}: {sum(met(e[m]) for e in entries)} of {len(entries)} programs"
            said.append(text + (f" (by chance alone {sum(met(e['by_chance'][m]) for e in entries)})" if way in values_accuracy.BURSTS else ""))
        if way.seconds == DEFAULT.seconds:
            lines.append(f"- {way.title}: {'; '.join(said)}.\n")
    return "".join(lines)


def observed(data):
    ways = ways_of(data)
    rows = []
    for program in suite.SUITE:
        entries = [data.get(w.key(program)) for w in ways]
        there = [e for e in entries if e]
        if there:
            rows.append([program.name, f"{there[0]['entries']['perfect']:,}"]
                        + [f"{e['times']}; {e['observed']:,}; {e['entries']['common']:,}" if e else "" for e in entries]
                        + [tables.shown(max(e["left_out"] for e in there), 1)])
    return tables.table(["program", "instructions with results that were executed"] + [w.title for w in ways]
                        + ["left out, %"], rows)


def run(a, say):
    data = store.load("values-accuracy")
    if not data:
        return
    text = tables.head_lines("How near sampled values are", ["bench/run.py references --tools results",
                                                              "bench/run.py values-accuracy"], data.values())
    text += (
        "\n**What is compared with what.** Sampled: one recording of as many runs of the suite's program, one after the other, as make up "
        f"{values_accuracy.SECONDS} s of native CPU time, {values_accuracy.OTHER_SECONDS} s at 97 and 10,000 Hz: with `record --tool values` at its defaults "
        "(bursts of 4 instructions at every second trigger, or fewer where they would cost more than 0.7% of CPU time), and *in shadows*, with "
        "`record --carrier shadow --budget 1% --tool values`, or `--tool results`, which counts in tables of its own what instructions write to registers. "
        "*Few processes*: not one run after the other, but a single one that does as much work, with inputs named several times, or written one behind the other "
        "(`longer` in `bench/suite.py`); cc1, graywolf and gap as before. "
        "Exact: one whole run of the same program and input under `--exact --tool results`. `penumbra compare --by result`: an entry is an "
        "instruction with such a result, its weight is how often it was executed (exact) or observed (sampled). What the exact side "
        "does not count is left out of both; *left out* says how much of the sampled results that is. Both sides keep 16 values an instruction (concise samples). No address randomization.\n\n"
        "**By chance** is what the metric would be, on average, if each observation were drawn independently from the exact "
        "profile ([compare.md](../compare.md)): what is missing to it is bias, what is missing from it to 100% (to 0% of "
        f"diff-top) is how few observations there are.\n\nOf recordings of {values_accuracy.SECONDS} s:\n\n{verdict(data)}\n{tables.note('values-accuracy.md')}## Overlap of executed instructions, %\n\n"
        + part(data, "overlap", 1) + "\n## diff-top, %\n\n" + part(data, "diff_top", 2)
        + "\n## What was observed\n\nIn each way: runs in the recording; instructions that were observed; different ones among them "
        "that the exact side has.\n\n" + observed(data))
    tables.write("values-accuracy.md", text)
    tables.write_json("values-accuracy.json", data)
    say("docs/results/values-accuracy.md")
