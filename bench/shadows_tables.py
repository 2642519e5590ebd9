"""docs/results/shadows.md: Figures 3 to 7 of Shadow Profiling, as tables and as plots."""
import statistics

import plot
import shadows
import store
import suite
import tables

# What the paper says of its figures in numbers, by figure: the average over its programs at (sample size, load).
PAPER = {("paths", "match"): {("100M", 0.25): 93}, ("results", "slowdown"): {("100M", 0.25): 1},
         ("results", "coverage"): {("100M", 0.25): 0.2}}
OURS = {"slowdown": 1.0, "match": 97.0, "diff": 3.0, "coverage": 2.0}  # under the budget, median program


def percent_of(row, name):
    return None if row.get(name) is None else 100 * row[name]


def faults_more(row):
    """The page fault rate's increase in percent (faults by the program's CPU time)."""
    if not row.get("native_faults"):
        return None
    rate, native = row["faults"] / row["own_us"], row["native_faults"] / row["native_us"]
    return 100 * (rate / native - 1)


def times_native(row, instructions, ns):
    """CPU time of a shadow for an instruction, by that of the native copy. None: none was executed so, or it is not known."""
    if not row.get(instructions) or not row.get(ns) or not row.get("coverage") or "native_us" not in row:
        return None
    native_ns = 1000 * row["native_us"] * row["coverage"] / row["instructions"]
    return row[ns] / row[instructions] / native_ns


MEASURES = {
    "observing": lambda row: times_native(row, "instructions", "run_ns"),
    "passing": lambda row: times_native(row, "passed", "passed_ns"),
    "match": lambda row: row.get("weight_match"),
    "diff": lambda row: row.get("diff_top"),
    "slowdown": shadows.slowdown,
    "faults": faults_more,
    "coverage": lambda row: percent_of(row, "coverage"),
    "estimate": lambda row: percent_of(row, "coverage_estimated"),
    "shadow": lambda row: 100 * row["shadow_us"] / row["own_us"],
    "fork": lambda row: row["fork_us"],
    "window": lambda row: row.get("worst_window"),
    "completed": lambda row: row["completed"] and 100 * row["completed"] / row["started"],
}
FIGURES = [
    ("Figure 3: accuracy of path profiles", "paths", "match", "weight match, %", 1, 50),
    ("Figure 4: difference in invariance of value profiles", "results", "diff", "diff-top, %", 2, None),
    ("Figure 5: slowdown, value profiles", "results", "slowdown", "%", 2, None),
    ("Figure 5, path profiles", "paths", "slowdown", "%", 2, None),
    ("Figure 6: increase of the page fault rate, value profiles", "results", "faults", "%", 0, None),
    ("Figure 6, path profiles", "paths", "faults", "%", 0, None),
    ("Figure 7: coverage, value profiles", "results", "coverage", "% of all instructions", 3, None),
    ("Figure 7, path profiles", "paths", "coverage", "% of all instructions", 2, None),
]
WORDS = ("\nA native copy and one under shadows start together and share one core; shadows go where they like, at the lowest "
         "priority. Slowdown: CPU time of the program (without its shadows) over the native copy's of the same round, less one. "
         "Accuracy: `penumbra compare` with a whole run of the same program and input under `--exact`: weight match of acyclic "
         "paths, diff-top of results (concise samples of 16 values in both; the paper's are top-N-value tables). Coverage: instructions executed in shadows "
         "by those of the whole run, exactly. Page faults: minor faults of the program by its CPU time, above the native "
         "copy's. Medians over rounds. Before each round within the budget a gigabyte of memory is used and given back: what a virtual machine "
         "has not used for some seconds its host takes away, and whoever needs it next pays, up to 3% of a program.\n")


def cells(data, tool):
    """Keys of the cells of a tool that were measured, in the paper's order: (sample size, load)."""
    found = {e["cell"] for e in data.values() if e["tool"] == tool}
    return [(s, load) for s in shadows.SIZES for load in shadows.LOADS if f"{s}@{load:g}" in found]


def value(data, program, tool, cell, measure):
    name = cell if isinstance(cell, str) else f"{cell[0]}@{cell[1]:g}"
    entry = data.get(f"{program.name}/{tool}/{name}")
    return shadows.median_of(entry["rounds"], MEASURES[measure]) if entry else None


def figure_table(data, tool, measure, columns, digits):
    rows, by_column = [], [[] for _ in columns]
    for program in suite.SUITE:
        values = [value(data, program, tool, c, measure) for c in columns]
        if any(v is not None for v in values):
            rows.append([program.name] + [tables.shown(v, digits) for v in values])
        for found, v in zip(by_column, values):
            found += [] if v is None else [v]
    for title, reduce in (("**average**", statistics.fmean), ("**median**", statistics.median)):
        rows.append([title] + [f"**{tables.shown(reduce(v), digits)}**" if v else "" for v in by_column])
    head = ["program"] + [f"{c[0]}, {c[1]:g}" for c in columns]
    return tables.table(head, rows), by_column


def figure(data, number, entry):
    title, tool, measure, unit, digits, least = entry
    columns = cells(data, tool)
    if not any(value(data, p, tool, c, measure) is not None for p in suite.SUITE for c in columns):
        return ""
    text, by_column = figure_table(data, tool, measure, columns, digits)
    kept = [(c, v) for c, v in zip(columns, by_column) if v]
    said = PAPER.get((tool, measure), {})
    paper = [(i, i, said[c]) for i, (c, _) in enumerate(kept) if c in said]
    name = f"shadows-{number}.svg"
    tables.put(name, plot.bars(title, unit, [((c[0], f"{c[1]:g}"), v) for c, v in kept], paper, least))
    note = "Bars: average; dots: programs" + ("; dashed: the paper's average" if paper else "") + "."
    return f"\n## {title}\n\n{unit}; columns: sample size, load. {note}\n\n![{title}]({name})\n\n{text}"


def mean(data, tool, cell, measure):
    found = [value(data, p, tool, cell, measure) for p in suite.SUITE]
    found = [v for v in found if v is not None]
    return statistics.fmean(found) if found else None


def span(data, tool, measure):
    found = [m for c in cells(data, tool) if (m := mean(data, tool, c, measure)) is not None]
    return f"{min(found):.1f} to {max(found):.1f}%" if found else "not measured"


def shown_percent(number, digits=1):
    return "not measured" if number is None else f"{number:.{digits}f}%"


def paper_table(data):
    at = ("100M", 0.25)
    rows = [
        ["accuracy of paths, average, over all cells", "83 to 93%", span(data, "paths", "match")],
        ["accuracy of paths at (100M, 0.25)", "93%", shown_percent(mean(data, "paths", at, "match"))],
        ["difference in invariance, average, over all cells", "4 to 8%", span(data, "results", "diff")],
        ["slowdown at (100M, 0.25)", "about 1%, values", f"{shown_percent(mean(data, 'results', at, 'slowdown'))} values, "
         f"{shown_percent(mean(data, 'paths', at, 'slowdown'))} paths"],
        ["greatest slowdown of a program", "up to 20%", shown_percent(greatest(data))],
        ["coverage at (100M, 0.25)", "0.2%, values", f"{shown_percent(mean(data, 'results', at, 'coverage'), 3)} values, "
         f"{shown_percent(mean(data, 'paths', at, 'coverage'))} paths"],
        ["gcc (cc1) at (1M, 0.0625), paths", "28%", shown_percent(value(data, suite.BY_NAME["cc1"], "paths", ("1M", 0.0625),
                                                                       "match"))],
    ]
    return tables.table(["", "the paper", "here"], rows)


def greatest(data):
    found = [value(data, p, t, c, "slowdown") for t in ("paths", "results") for p in suite.SUITE for c in cells(data, t)]
    return max((v for v in found if v is not None), default=None)


def budget_rows(data, tool, columns):
    rows, medians = [], {m: [] for m, _, _ in columns}
    for program in suite.SUITE:
        values = [value(data, program, tool, shadows.BUDGET, m) for m, _, _ in columns]
        if all(v is None for v in values):
            continue
        rows.append([program.name] + [tables.shown(v, digits) for v, (_, _, digits) in zip(values, columns)])
        for (m, _, _), v in zip(columns, values):
            medians[m] += [] if v is None else [v]
    middle = {m: statistics.median(v) for m, v in medians.items() if v}
    rows.append(["**median**"] + [f"**{tables.shown(middle.get(m), digits)}**" if m in middle else "" for m, _, digits in columns])
    return rows, middle, medians


def budget_sentences(middle, medians):
    said = []
    for m, words, met in (("slowdown", "slowdown at most 1%", lambda v: v <= OURS["slowdown"]),
                          ("match", "weight match at least 97%", lambda v: v >= OURS["match"]),
                          ("diff", "diff-top at most 3%", lambda v: v <= OURS["diff"]),
                          ("coverage", "coverage at least 2%", lambda v: v >= OURS["coverage"])):
        if m in middle:
            said.append(f"{words}: {'met' if met(middle[m]) else 'not met'} ({middle[m]:.2f}%)")
    over = [v for v in medians.get("slowdown", []) if v > 1.25]
    said.append(f"programs slowed by more than the budget and a quarter of it: {len(over)}")
    return "On the median program: " + "; ".join(said) + ".\n"


def budget_section(data, tool):
    accuracy = ("match", "weight match, %", 1) if tool == "paths" else ("diff", "diff-top, %", 2)
    columns = [("slowdown", "slowdown, %", 2), accuracy, ("coverage", "coverage, %", 2), ("estimate", "as estimated, %", 2),
               ("window", "worst ten seconds, % of their budget", 0),
               ("completed", "shadows completed, %", 0), ("fork", "half of the forks within, µs", 0),
               ("faults", "more page faults, %", 0), ("shadow", "shadows' CPU time, % of the program's", 0)]
    rows, middle, medians = budget_rows(data, tool, columns)
    if len(rows) < 2:
        return ""
    return (f"\n## `--budget 1%`, {tool}\n\n" + tables.table(["program"] + [c[1] for c in columns], rows)
            + f"\n{budget_sentences(middle, medians)}\nWorst ten seconds: of the program's CPU time, by Penumbra's own account of what forks "
            f"cost. Programs with more than a quarter above the budget: {sum(v > 125 for v in medians['window'])}.\n")


def section(data, title, words, cell, columns):
    """Of one cell, for each program; columns: (tool, measure, head, digits), or with another cell behind them."""
    rows, by_column = [], [[] for _ in columns]
    for program in suite.SUITE:
        values = [value(data, program, c[0], c[4] if len(c) > 4 else cell, c[1]) for c in columns]
        if any(v is not None for v in values):
            rows.append([program.name] + [tables.shown(v, c[3]) for v, c in zip(values, columns)])
        for found, v in zip(by_column, values):
            found += [] if v is None else [v]
    if not rows:
        return ""
    rows.append(["**median**"] + [f"**{tables.shown(statistics.median(v), c[3])}**" if v else "" for v, c in zip(by_column, columns)])
    return f"\n## {title}\n\n{words}\n\n" + tables.table(["program"] + [c[2] for c in columns], rows)


def alone_section(data):
    """What a program that has its core for itself gets for the same budget: it is over sooner."""
    return section(data, "Alone", "In the pairs above the program shares its core, so that it takes twice as long, and shadows, on the other core, see "
                   "twice as much of it. Without a native copy, each on a core of its own, at the same budget:", shadows.ALONE,
                   [("paths", "match", "weight match, %", 1), ("paths", "coverage", "coverage by paths, %", 2),
                    ("results", "diff", "diff-top, %", 2), ("results", "coverage", "coverage by results, %", 2)])


IN_A_ROW = ("100M", 0.25)


def speed_section(data):
    return section(data, "How fast shadows are", "CPU time of shadows for an instruction, translation included, by that of the native copy for one, "
                   "in the pairs above: while they observe, and while they pass over. Each stretch that is observed begins with cold caches, and "
                   "mostly with code that is new. In a row: shadows of 100 million instructions at a load of 0.25, as the paper's. "
                   "Bounds: 8 for paths, 15 for results (the paper's: 30 and 100).",
                   shadows.BUDGET,
                   [("paths", "observing", "paths", 2), ("results", "observing", "results", 2), ("paths", "passing", "passing over, paths", 2),
                    ("results", "passing", "passing over, results", 2),
                    ("paths", "observing", "paths, in a row", 2, IN_A_ROW), ("results", "observing", "results, in a row", 2, IN_A_ROW)])


def ends_section(data):
    """How shadows ended, by tool, in all rounds."""
    rows = []
    for tool in ("paths", "results"):
        for program in suite.SUITE:
            rounds = [r for e in data.values() if e["tool"] == tool and e["program"] == program.name for r in e["rounds"]]
            counts = {}
            for r in rounds:
                for why, n in r["ended"].items():
                    counts[why] = counts.get(why, 0) + n
            if rounds:
                rows.append([f"{program.name}, {tool}", f"{sum(r['started'] for r in rounds):,}",
                             ", ".join(f"{w} {n:,}" for w, n in sorted(counts.items(), key=lambda i: -i[1]))])
    return "\n## How shadows ended\n\nIn all rounds together (`docs/shadow.md` has the reasons).\n\n" + tables.table(
        ["program", "started", "ended"], rows)


BUSY = 4  # a round alone has a load of two or three


def load_sentence(data):
    """How busy the machine was: on a busy one shadows starve, and slowdowns are its neighbours'."""
    loads = [r["load_average"] for e in data.values() for r in e["rounds"] if "load_average" in r]
    if not loads:
        return ""
    middle = statistics.median(loads)
    warning = (" **The machine was busy with other work: shadows, at the lowest priority, starve then, and slowdowns and "
               "pauses mean little.**" if middle > BUSY else "")
    return f"\nLoad average after the rounds: {middle:g} (median; {min(loads):g} to {max(loads):g}).{warning}\n"


def harm_sentence(data):
    found = sorted({f"{e['program']} ({e['tool']}, {e['cell']}): {r['harm']}" for e in data.values() for r in e["rounds"]
                    if "harm" in r})
    return ("\nExit status and output were compared with the native copy's. "
            + ("They were the same but for: " + "; ".join(found) + ".\n" if found else "All were the same.\n"))


def run(a, say):
    data = store.load("shadows")
    if not data:
        return
    text = tables.head_lines("Shadows", ["bench/run.py prepare", "bench/run.py shadows"], data.values())
    text += WORDS + load_sentence(data) + harm_sentence(data) + "\n## Beside the paper\n\n" + paper_table(data)
    text += "".join(budget_section(data, t) for t in ("paths", "results")) + "\n" + tables.note("shadows.md").rstrip("\n") + "\n"
    text += alone_section(data) + speed_section(data) + "".join(figure(data, i, f) for i, f in enumerate(FIGURES, 1)) + ends_section(data)
    tables.write("shadows.md", text)
    tables.write_json("shadows.json", data)
    say("docs/results/shadows.md")
