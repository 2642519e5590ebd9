"""docs/results/conflicts.md and latency.md: what conflicts cost and whether they are found, and where the loads of
pointer chases come from."""
import statistics

import conflicts
import overhead
import store
import tables

WHAT = {"order": "order: one store in eight goes, late, to what is loaded",
        "size": "size: 4 bytes stored, 8 loaded", "synonym": "synonym: load 4096 bytes behind the store",
        "split": "split: both cross a cache line", "page": "split: both cross a page"}


def cell(values):
    spread = f" ({min(values):.2f}..{max(values):.2f})" if len(values) > 1 else ""
    return tables.shown(statistics.median(values), 2) + spread if values else ""


def cost_rows(costs):
    return [[WHAT[k], tables.shown(c["conflict"], 2), tables.shown(c["apart"], 2),
             f"{c['conflict'] / c['apart']:.1f}"] for k, c in costs["kinds"].items()]


def found_rows(found):
    return [[WHAT[k], f"{f['pair']:,.0f}", f"{f['others']:,.0f}", f"{f['apart']:,.0f}"] for k, f in found.items()]


def overhead_rows(entries):
    rows = []
    for name, entry in entries.items():
        percents = {n: overhead.percent(entry["rounds"], n) for n in ("null", "penumbra", "conflicts")}
        more = [c - p for c, p in zip(percents["conflicts"], percents["penumbra"])]
        rows.append([name, str(len(entry["rounds"])), *(cell(percents[n]) for n in percents), cell(more)])
    return rows


def write_conflicts(say):
    data = store.load("conflicts")
    if not data:
        return
    entries = data.get("overhead", {})
    text = tables.head_lines("Conflicts of stores and later loads", ["bench/run.py conflicts"],
                             [data["costs"], *entries.values()])
    text += ("\nLoops of one store and one load (`bench/conflicts.c`), with the pair in conflict and with the same "
             "instructions on addresses that are not: ticks of the time stamp counter an iteration, medians.\n\n")
    text += tables.table(["pair", "in conflict", "apart", "times as long"], cost_rows(data["costs"]))
    text += (f"\nA ratio of 1.0 is a conflict that this processor does not mind. `order` is in conflict in one iteration of "
             f"eight.\n\nThe same loops under `record --tool conflicts`: how often the pair was "
             f"reported, how often any other pair of the program, and how often any where there is no conflict.\n\n")
    text += tables.table(["pair", "the pair", "any other", "any, when apart"], found_rows(data["found"]))
    if entries:
        text += (f"\nWhat it costs: CPU time of the program in percent over a native copy of the same round, at {conflicts.HZ} "
                 f"Hz: median (smallest..largest). The last column is the difference of `--tool conflicts` and plain "
                 f"sampling, round by round, in percentage points; the null check says what difference means nothing.\n\n")
        text += tables.table(["program", "rounds", "null check", "plain", "conflicts", "conflicts - plain"],
                             overhead_rows(entries))
    tables.write("conflicts.md", text)
    tables.write_json("conflicts.json", data)
    say("docs/results/conflicts.md")


def size_words(size):
    return f"{size >> 30} GB" if size >> 30 else f"{size >> 20} MB" if size >> 20 else f"{size >> 10} kB"


def chase_rows(rows):
    out = []
    for r in rows:
        levels = sorted(r["shares"].items(), key=lambda item: -item[1])
        out.append([f"{size_words(r['bytes'])}, {r['pages']} pages", f"{r['observed']:,}",
                    " ".join(f"({100 * share:.1f}% {level})" for level, share in levels)])
    return out


def write_latency(say):
    data = store.load("latency").get("chases")
    if not data:
        return
    text = tables.head_lines("Where the loads of pointer chases come from", ["bench/run.py latency"], [data])
    text += ("\n`penumbra calibrate` says:\n\n" + "".join(f"    {line}".rstrip() + "\n" for line in data["calibration"].splitlines())
             + "\nA chase through so many bytes (`bench/chase.c`), each load of which needs the one before, under `record "
             "--tool latency`: the chase's load. In small pages long chases miss the TLB as well.\n\n")
    text += tables.table(["chase", "observed", "latencies"], chase_rows(data["rows"]))
    tables.write("latency.md", text)
    tables.write_json("latency.json", data)
    say("docs/results/latency.md")


def run(a, say):
    write_conflicts(say)
    write_latency(say)
