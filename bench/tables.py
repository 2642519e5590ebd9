"""Writes docs/results/ from what was measured: Markdown for people, JSON beside it."""
import json
import os
import statistics
import textwrap

import distortion
import inputs
import machine
import overhead
import store
import suite

RESULTS = os.path.join(os.path.dirname(inputs.HERE), "docs", "results")
WIDTH = 100
NOTES = os.path.join(inputs.HERE, "notes")
TITLES = {"null": "null check", "empty": "empty handler", "empty-fasync": "empty handler, asynchronous signal",
          "empty-itimer": "empty handler, setitimer", "penumbra": "**penumbra**", "perf": "perf, no stacks",
          "perf-fp": "perf fp", "perf-dwarf": "perf dwarf", "gperftools": "gperftools"}
PEERS = ["penumbra", "perf-fp", "perf-dwarf", "gperftools"]


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" + "---:|" * (len(head) - 1)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def processors(entries):
    """What was measured on which processor, where it was not all on this one: one line, or none."""
    revisions = {}
    for e in entries:
        revisions.setdefault(e.get("cpu", machine.cpu()), set()).add(e.get("revision", ""))
    if set(revisions) <= {machine.cpu()}:
        return ""
    return "By processor: " + "; ".join(f"{cpu}: {', '.join(sorted(of))}" for cpu, of in sorted(revisions.items())) + ".\n"


def head_lines(title, commands, entries):
    entries = list(entries)
    dates = {e["date"] for e in entries}
    revisions = sorted({e.get("revision", "") for e in entries} - {""})
    what = "\n".join(f"    {c}" for c in commands)
    when = " to ".join(sorted({min(dates), max(dates)}))
    return (f"# {title}\n\nMade by\n\n{what}\n\non {machine.sentence(machine.describe())}\nMeasured {when}, revision "
            f"{', '.join(revisions) or 'unknown'}. How: [benchmarks.md](../benchmarks.md).\n" + processors(entries))


def note(name):
    """What a page says besides what is made from measurements: bench/notes/ has it, as Markdown; "" if there is nothing."""
    try:
        with open(os.path.join(NOTES, name)) as f:
            return f.read().rstrip("\n") + "\n\n"
    except FileNotFoundError:
        return ""


def filled(text):
    """Markdown whose paragraphs end at WIDTH columns; tables, headings, lists and commands stay."""
    blocks = []
    for block in text.split("\n\n"):
        lines = block.strip("\n").split("\n")
        if not any(line.startswith(("|", "#", " ", "-")) for line in lines):
            block = textwrap.fill(" ".join(lines), WIDTH, break_long_words=False, break_on_hyphens=False)
        blocks.append(block)
    return "\n\n".join(blocks).rstrip("\n") + "\n"


def put(name, text):
    os.makedirs(RESULTS, exist_ok=True)
    with open(os.path.join(RESULTS, name), "w") as f:
        f.write(text)


def write(name, text):
    put(name, filled(text))


def write_json(name, data):
    put(name, json.dumps(data, separators=(",", ":")).replace('},"', '},\n"') + "\n")


def in_suite(data, hz):
    """Entries of the suite's programs at one rate, in the suite's order."""
    return [(p, data[f"{p.name}@{hz}"]) for p in suite.SUITE if f"{p.name}@{hz}" in data]


def names_in(entries):
    present = {n for _, e in entries for r in e["rounds"] for n in r}
    return [n for n in TITLES if n in present]


def middle(values):
    return statistics.median(values) if values else None


def shown(value, digits=1):
    return "" if value is None else f"{round(value, digits) + 0.0:.{digits}f}"


def overhead_rows(entries, names, total, spread):
    rows, columns = [], {n: [] for n in names}
    for program, entry in entries:
        native = statistics.median(r["native"]["own_us"] for r in entry["rounds"]) / 1e6
        row = [program.name + (f" ({program.spec})" if program.spec else ""), f"{native:.2f}"]
        for n in names:
            values = overhead.percent(entry["rounds"], n, total)
            if values:
                columns[n].append(statistics.median(values))
            cell = shown(middle(values))
            row.append(cell + (f" ({min(values):.1f}..{max(values):.1f})" if spread and len(values) > 1 else ""))
        rows.append(row)
    rows.append(["**median**", ""] + [f"**{shown(middle(columns[n]))}**" for n in names])
    rows.append(["mean", ""] + [shown(statistics.fmean(columns[n]) if columns[n] else None) for n in names])
    return rows, columns


def overhead_table(entries, names, total=False, spread=True):
    rows, columns = overhead_rows(entries, names, total, spread)
    return table(["program (SPEC)", "native, CPU s"] + [TITLES[n] + ", %" for n in names], rows), columns


def rounds_sentence(entries):
    counts = [len(e["rounds"]) for _, e in entries]
    low, high = min(counts), max(counts)
    return (f"{low} rounds" if low > 1 else "one round") if low == high else f"{low} to {high} rounds"


def verdict(columns, own, whole):
    """What the numbers say about the two bounds that penumbra is held to."""
    if not columns.get("empty") or not columns.get("penumbra"):
        return ""
    empty, mine = middle(columns["empty"]), middle(columns["penumbra"])
    text = (f"Penumbra's median overhead is {mine:.2f}%, {mine / empty:.2f} times the empty handler's "
            f"{empty:.2f}%")
    each = [p / e for p, e in zip(columns["penumbra"], columns["empty"]) if e > 0.5]
    text += f" (program by program, the median of this ratio is {middle(each):.2f}).\n" if each else ".\n"
    if columns.get("perf-dwarf"):
        text += (f"`perf record --call-graph dwarf` costs the program {middle(own['perf-dwarf']):.2f}% "
                 f"and, with its own process, {middle(whole['perf-dwarf']):.2f}%; penumbra {mine:.2f}% and "
                 f"{middle(whole['penumbra']):.2f}%. perf's interrupt stays in the kernel and its work is done by its own "
                 "process; penumbra's signal and walk are part of the program's time, and little is left to do for its "
                 "process. So the sum is what to compare.\n")
    return text


def harm_lines(entries):
    found, compared = {}, 0
    for program, entry in entries:
        for r in entry["rounds"]:
            for name, row in r.items():
                compared += name != "native"
                if "harm" in row:
                    found.setdefault((name, row["harm"]), set()).add(program.name)
    why = {"gperftools": " (it reports to standard error)"}
    lines = [f"- {TITLES.get(n, n)}: {what} in {len(programs)} of {len(entries)} programs{why.get(n, '')}: "
             + ", ".join(sorted(programs)) for (n, what), programs in sorted(found.items())]
    return (f"Exit status, standard output, standard error and output files of {compared} copies were compared "
            "with the native copy of the same round. "
            + ("They were the same but for:\n\n" + "\n".join(lines) if lines else "All were the same.") + "\n")


def rate_section(data, hz):
    entries = in_suite(data, hz)
    if not entries:
        return ""
    names = names_in(entries)
    own_table, own = overhead_table(entries, names)
    profilers = [n for n in names if n in PEERS]
    total_table, whole = overhead_table(entries, profilers, total=True, spread=False)
    return (f"\n## {hz} Hz\n\nOverhead on the program's own CPU time (user + system), in percent of the native copy's "
            f"in the same round: median (smallest..largest) of {rounds_sentence(entries)}.\n\n{own_table}\n"
            f"{verdict(own, own, whole)}\nThe same with the CPU time of the profiler's own process added:\n\n{total_table}\n"
            f"{harm_lines(entries)}")


def stacks_of(data, hz, column, names):
    rows = []
    for p in suite.SUITE:
        cells = [data.get(f"{p.name}@{hz}/{n}") for n in names]
        if any(cells):
            rows.append([p.name] + [column(c) if c else "" for c in cells])
    return rows


def taken(row):
    """Samples that were taken. (One of penumbra's may stand for several periods, if expirations of the
    timer were merged: shares of a profile count periods.)"""
    return max(1, row.get("taken", row["samples"]))


def per_sample(row):
    return f"{row['bytes'] / taken(row):.1f}"


def memory_cell(row):
    if row["profiler"] == "gperftools":
        return "in the program"
    cell = f"{row['profiler_kb'] / 1024:.1f}"
    return cell + (f" (spool {row['spool_used'] / 2**20:.2f})" if row.get("spool_used") else "")


def suite_line(data, hz, value, names, label, digits, pick=statistics.median):
    cells = []
    for n in names:
        values = [value(r) for k, r in data.items() if r["hz"] == hz and r["profiler"] == n]
        cells.append(f"**{pick(values):.{digits}f}**" if values else "")
    return [f"**{label}**"] + cells


def unattributed_sentence(data, hz):
    found = [(100 * r["unattributed"] / max(1, r["samples"] + r["unattributed"]), r["program"]) for r in data.values()
             if r["hz"] == hz and r["profiler"] == "penumbra" and "unattributed" in r]
    if not found:
        return ""
    share, program = max(found)
    return (f"\nPeriods in which no signal came (long page faults), which penumbra charges to no context: "
            f"{statistics.median(s for s, _ in found):.2f}% of all (median; at most {share:.2f}%, in {program}).\n")


def stacks_section(data, hz):
    names = [n for n in PEERS if any(r["hz"] == hz and r["profiler"] == n for r in data.values())]
    if not names:
        return ""

    def share(row):
        return 100 * row["complete"] / max(1, row["samples"])

    def size(row):
        return row["bytes"] / taken(row)

    def due(row):
        return 100 * taken(row) / (row["own_us"] * hz / 1e6)

    head = ["program"] + [TITLES[n] for n in names]
    return (f"\n## Stacks at {hz} Hz\n\nComplete stacks, in percent of the samples:\n\n"
            + table(head, stacks_of(data, hz, lambda r: f"{share(r):.2f}", names)
                    + [suite_line(data, hz, share, names, "smallest", 2, min)])
            + unattributed_sentence(data, hz) + "\nFile size, bytes a sample:\n\n"
            + table(head, stacks_of(data, hz, per_sample, names) + [suite_line(data, hz, size, names, "median", 1)])
            + "\nPeak memory of the profiler's own process, MiB (penumbra: with the part of it that is the spool, "
            "which the program maps too; perf: without its ring buffers, which the kernel holds):\n\n"
            + table(head, stacks_of(data, hz, memory_cell, names))
            + weight_sentence(data, hz) + "\nSamples taken, in percent of the program's CPU time multiplied by the rate:\n\n"
            + table(head, stacks_of(data, hz, lambda r: f"{due(r):.1f}", names)
                    + [suite_line(data, hz, due, names, "median", 1)]))


def stacks_text(data):
    if not data:
        return ""
    return ("\n# What the stacks are worth, and what a sample weighs\n\nMade by `bench/run.py stacks`, one program under "
            "one profiler at a time.\n\nA stack is complete if it reaches `main`, `_start` (of the program or of the "
            "dynamic linker), or libc's start of a process or of a thread. For penumbra and gperftools this is decided "
            "from addresses and libc's symbols, not by the profiler's own account; periods that penumbra charges to no "
            "context, because no signal came in them, are not stacks: their share is given apart. For perf it is decided by the names that `perf script` prints.\n" + "".join(stacks_section(data, hz) for hz in (997, 10000)))


def weight_sentence(data, hz):
    """File and memory a sample, beside those of perf's dwarf mode."""
    both = [(data[f"{p.name}@{hz}/penumbra"], data[f"{p.name}@{hz}/perf-dwarf"]) for p in suite.SUITE
            if f"{p.name}@{hz}/penumbra" in data and f"{p.name}@{hz}/perf-dwarf" in data]
    if not both:
        return ""
    files = [(d["bytes"] / taken(d)) / (p["bytes"] / taken(p)) for p, d in both]
    spool = [p["spool_used"] / taken(p) for p, _ in both]
    peak = [d["profiler_kb"] / p["profiler_kb"] for p, d in both if p["profiler_kb"]]
    return (f"\nA sample takes {statistics.median(files):.0f} times less of the file than one of perf's dwarf mode (median; "
            f"at least {min(files):.0f} times). The spool holds {statistics.median(spool):.0f} bytes a sample (median; at "
            f"most {max(spool):.0f}): trees, which grow with the number of different paths, and unwind tables, which grow "
            f"with the programs' code, so that longer runs need less a sample. The peak memory of perf's process in dwarf "
            f"mode is {statistics.median(peak):.1f} times that of penumbra's (median).\n")


def write_overhead(a, say):
    data = store.load("overhead")
    if not data:
        return
    text = head_lines("What penumbra costs", ["bench/run.py prepare", "bench/run.py overhead"],
                      data.values())
    text += ("\nThe table has the form of csprof's Table 2: overhead in percent of the unprofiled time, a program a "
             "row. The empty handler is the floor: the same event and signal as penumbra's, handled by a function "
             "that returns at once. The null check is a second native copy: differences of its size mean nothing. "
             "gperftools samples at the kernel's tick, 250 Hz, whatever is asked for: scaled to its rate, its "
             "overhead would be four times as large.\n")
    text += "".join(rate_section(data, hz) for hz in (997, 10000))
    text += stacks_text(store.load("stacks"))
    write("overhead.md", text)
    keep = ("user_us", "system_us", "total_us", "status", "bytes", "harm")
    write_json("overhead.json", {k: {**e, "rounds": [{n: {f: row[f] for f in keep if f in row} for n, row in r.items()}
                                                    for r in e["rounds"]]} for k, e in data.items()}
               | {"machine": machine.describe()})
    write_json("stacks.json", store.load("stacks") | {"machine": machine.describe()})
    say("wrote docs/results/overhead.md, overhead.json and stacks.json")


def distortion_rows(measured, names):
    rows = [[p.name, str(sum(measured[p.name]["profiles"]["perf-a"].values()))]
            + [shown(measured[p.name]["distance"].get(n), 2) for n in names] for p in suite.SUITE if p.name in measured]
    for label, pick in (("Minimum", min), ("Median", statistics.median), ("Mean", statistics.fmean), ("Maximum", max)):
        values = {n: [m["distance"][n] for m in measured.values() if n in m["distance"]] for n in names}
        rows.append([f"**{label}**", ""] + [f"**{pick(values[n]):.2f}**" if values[n] else "" for n in names])
    return rows


def write_distortion(a, say):
    data = store.load("distortion")
    if not data:
        return
    measured = {k: {**e, "distance": distortion.measures(e["profiles"])} for k, e in data.items()}
    for m in measured.values():
        if "penumbra" in m["distance"]:
            m["distance"]["above"] = m["distance"]["penumbra"] - m["distance"]["perf"]
    names = [n for n in ("penumbra", "perf", "above", "gperftools") if any(n in m["distance"] for m in measured.values())]
    titles = {"penumbra": "**penumbra**", "perf": "perf against itself (noise floor)", "above": "penumbra above the floor",
              "gperftools": "gperftools (250 Hz)"}
    rates = " and ".join(sorted({str(e["hz"]) for e in data.values()}))
    text = head_lines("How true the profiles are", ["bench/run.py prepare", "bench/run.py distortion"],
                      data.values())
    text += ("\nDistortion is csprof's formula (section 4.2): the sum over functions of |P_x(f) - P_ref(f)|, in "
             "percentage points (0: the same shares; 200: nothing in common). The reference is `perf record -e "
             f"cpu-clock -F {rates}` without stacks, running at the same moment on the same core. Two such recordings run in "
             "every round: the distance between them is the noise floor, what chance alone makes of this many samples. "
             "A profile cannot be told from the reference if its distance is no larger than that. The floor falls with the "
             "square root of the number of samples; what is above it is what penumbra adds, or less than that where the floor "
             "is high.\n\n")
    text += table(["program", "samples"] + [titles[n] for n in names], distortion_rows(measured, names))
    write("distortion.md", text)
    write_json("distortion.json", {k: {
        "date": m["date"], "rounds": m["rounds"], "hz": m["hz"],
        "samples": {n: sum(p.values()) for n, p in m["profiles"].items()},
        "distance": {n: round(d, 3) for n, d in m["distance"].items()},
        "largest_differences": distortion.worst(m["profiles"]["penumbra"], m["profiles"]["perf-a"], 5)
        if "penumbra" in m["profiles"] else []} for k, m in measured.items()} | {"machine": machine.describe()})
    say("wrote docs/results/distortion.md and .json")


def run(a, say):
    write_overhead(a, say)
    write_distortion(a, say)
