"""docs/results/values-accuracy.md: how near sampled values come to exact ones."""
import statistics

import store
import suite
import tables

DEFAULT_HZ = 997
BOUNDS = (("overlap", "overlap of executed instructions at least 90%", lambda v: v >= 90),
          ("diff_top", "diff-top at most 4%", lambda v: v <= 4))


def rates_of(data):
    """(rate, seconds of a recording), in the order of rates."""
    return sorted({(e["hz"], e["seconds"]) for e in data.values()})


def part(data, measure, digits):
    """Each rate has two columns: what was found, and what chance alone makes of as many observations."""
    rates = [hz for hz, _ in rates_of(data)]
    rows, columns = [], [[] for _ in range(2 * len(rates))]
    for program in suite.SUITE:
        entries = [data.get(f"{program.name}@{hz}") for hz in rates]
        found = [v for e in entries for v in ((e[measure], e["by_chance"][measure]) if e else (None, None))]
        if any(entries):
            rows.append([program.name] + [tables.shown(v, digits) for v in found])
        for column, v in zip(columns, found):
            column += [] if v is None else [v]
    rows.append(["**median**"] + [f"**{tables.shown(statistics.median(c), digits)}**" if c else "" for c in columns])
    heads = [f"{hz:,} Hz{what}" for hz in rates for what in ("", ", by chance")]
    return tables.table(["program"] + heads, rows)


def verdict(data):
    default = [e for e in data.values() if e["hz"] == DEFAULT_HZ]
    said = [f"{words}: {sum(met(e[m]) for e in default)} of {len(default)} programs, by chance alone it would be "
            f"{sum(met(e['by_chance'][m]) for e in default)}" for m, words, met in BOUNDS]
    missing = [p.name for p in suite.SUITE if f"{p.name}@{DEFAULT_HZ}" not in data]
    left = f" Not measured yet: {', '.join(missing)}." if missing else ""
    return f"At the default rate, {DEFAULT_HZ} Hz: {'; '.join(said)}.{left}\n" if default else ""


def observed(data):
    rates = [hz for hz, _ in rates_of(data)]
    rows = []
    for program in suite.SUITE:
        entries = [data.get(f"{program.name}@{hz}") for hz in rates]
        there = [e for e in entries if e]
        if there:
            rows.append([program.name, f"{there[0]['entries']['perfect']:,}"]
                        + [f"{e['times']}; {e['observed']:,}; {e['entries']['common']:,}" if e else "" for e in entries]
                        + [tables.shown(max(e["left_out"] for e in there), 1)])
    return tables.table(["program", "instructions with results that were executed"] + [f"{hz:,} Hz" for hz in rates]
                        + ["left out, %"], rows)


def run(a, say):
    data = store.load("values-accuracy")
    if not data:
        return
    text = tables.head_lines("How near sampled values are", ["bench/run.py references --tools results",
                                                              "bench/run.py values-accuracy"], data.values())
    seconds = ", ".join(f"{s:g} s at {hz:,} Hz" for hz, s in rates_of(data))
    text += (
        "\n**What is compared with what.** Sampled: one recording with `record --tool values` at its defaults (4 instructions at "
        "every second trigger, or fewer where they would cost more than 0.7% of CPU time) of as many runs of the suite's program, one after the other, as make up a time of native CPU "
        f"time: {seconds}. Exact: one whole run of the same program and input under `--exact --tool results`, which counts what "
        "each instruction writes to registers, in every execution. `penumbra compare --by result`: an entry is an "
        "instruction with such a result, its weight is how often it was executed (exact) or observed (sampled). What the exact side "
        "does not count is left out of both; *left out* says how much of the sampled results that is. Both sides keep 16 values an instruction (concise samples). No address randomization.\n\n"
        "**By chance** is what the metric would be, on average, if each observation were drawn independently from the exact "
        "profile ([compare.md](../compare.md)): what is missing to it is bias, what is missing from it to 100% (to 0% of "
        f"diff-top) is how few observations there are.\n\n{verdict(data)}\n{tables.note('values-accuracy.md')}## Overlap of executed instructions, %\n\n"
        + part(data, "overlap", 1) + "\n## diff-top, %\n\n" + part(data, "diff_top", 2)
        + "\n## What was observed\n\nBy rate: runs in the recording; instructions that were observed; different ones among them "
        "that the exact side has.\n\n" + observed(data))
    tables.write("values-accuracy.md", text)
    tables.write_json("values-accuracy.json", data)
    say("docs/results/values-accuracy.md")
