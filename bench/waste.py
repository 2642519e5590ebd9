"""Stores in vain and loads of what was loaded (docs/waste.md): the suite's programs under --exact --tool waste, beside
native copies, and in shadows under a budget. With a quarter of their inputs: whole runs take long."""
import os
import statistics

import overhead
import pairs
import profilers
import store
import suite
import tables

WAYS = {"exact": ("--exact",), "shadow": ("--carrier", "shadow", "--budget", "1%")}
KINDS = ("dead", "silent", "redundant")
TIMEOUT = 3600
LEAST_KB = 16 << 10  # a smaller program's memory is taken for this


def copy_of(tools, name):
    def wrap(hold, out):
        return [tools.penumbra, "record", "-q", "-o", f"{out}/penumbra.pnb", *WAYS[name], "--tool", "waste", "--", *hold()]
    return pairs.Copy(name, wrap, True)


def place(at):
    return f"{at.get('function') or hex(int(at['offset'], 16))} ({at['image']})"


def found(tools, file):
    """What a page shows of a recording."""
    report = profilers.penumbra_json(tools, file, "--limit", "1")
    waste = report["waste"]
    kept = {k: {f: waste[k].get(f, 0) for f in ("percent", "error", "bytes", "of_bytes")} for k in (*KINDS, "frame")}
    top = waste["pairs"][:1]
    kept["top"] = [{"kind": p["kind"], "access": place(p["access"]), "with": place(p["with"]), "bytes": p["bytes"]} for p in top]
    return {**kept, "windows": waste["windows"], "evicted": waste["evicted"], "voids": waste["voids"],
            "undecided_bytes": waste["undecided_bytes"], "instructions": report["instructions"]}


def one_round(a, program):
    copies = [pairs.Copy("native", profilers.native(a.tools, 0))] + [copy_of(a.tools, name) for name in WAYS]
    with pairs.Round(a.tools.hold, program, copies, a.core, timeout=TIMEOUT) as one:
        outcomes = one.run()
        for name in WAYS:
            outcomes[name].extra = found(a.tools, os.path.join(one.folder, name, "out", "penumbra.pnb"))
    return {n: overhead.row_of(o, outcomes["native"], program) for n, o in outcomes.items()}


def run(a, say):
    for program in a.programs:
        kept = [] if a.fresh else store.load("waste").get(program.name, {}).get("rounds", [])
        for _ in range(a.rounds_asked or 1):
            kept.append(one_round(a, suite.shorter(program)))
        data = store.load("waste")
        data[program.name] = {"program": program.name, **store.when_and_what(a), "rounds": kept}
        store.save("waste", data)
        say(f"{program.name}: " + ", ".join(f"{k} {middle(kept, 'exact', lambda r, k=k: r['extra'][k]['percent']):.1f}%" for k in KINDS)
            + f"; {ratio(kept, 'exact', 'own_us'):.1f} times the time")


def middle(rounds, way, figure):
    return statistics.median(figure(r[way]) for r in rounds)


def ratio(rounds, way, figure):
    return statistics.median(r[way][figure] / r["native"][figure] for r in rounds)


def memory(rounds, way):
    """Native, and with the tool, in MB; and the ratio."""
    kb = [statistics.median(r[w]["program_kb"] for r in rounds) for w in ("native", way)]
    return [f"{kb[0] / 1024:.1f}", f"{kb[1] / 1024:.1f}", f"{kb[1] / max(kb[0], LEAST_KB):.1f}"]


def percent(rounds, way, kind):
    of = rounds[-1][way].get("extra", {}).get(kind)
    if not of or not of["of_bytes"]:
        return "-"
    lone = way != "exact" and rounds[-1][way]["extra"]["windows"] < 2
    error = " ± ?" if lone or of["error"] is None else f" ± {of['error']:.1f}" if of["error"] else ""
    return f"{of['percent']:.1f}{'' if kind == 'frame' else error}"


def tables_run(a, say):
    data = store.load("waste")
    entries = [data[p.name] for p in suite.SUITE if p.name in data]
    if not entries:
        return
    head = ["program", "dead", "frame", "silent", "redundant", "not known", "time", "native MB", "MB", "memory"]
    exact, budget, pairs_of = [], [], []
    for e in entries:
        rounds = e["rounds"]
        last = rounds[-1]["exact"]["extra"]
        unknown = 100 * last["undecided_bytes"] / max(1, last["dead"]["of_bytes"])
        exact.append([e["program"], *(percent(rounds, "exact", k) for k in ("dead", "frame", "silent", "redundant")),
                      f"{unknown:.1f}", f"{ratio(rounds, 'exact', 'own_us'):.1f}", *memory(rounds, "exact")])
        budget.append([e["program"], *(percent(rounds, "shadow", k) for k in KINDS),
                       f"{100 * (ratio(rounds, 'shadow', 'own_us') - 1):.1f}"])
        pairs_of += [[e["program"], t["kind"], t["access"], t["with"], f"{100 * t['bytes'] / max(1, last[t['kind']]['of_bytes']):.1f}"]
                     for t in last["top"]]
    text = tables.head_lines("Waste of loads and stores", ["bench/run.py prepare", "bench/run.py waste"], entries)
    text += ("\nShares of the bytes that a program stores (dead, frame, silent) or loads (redundant), in percent, as "
             "[waste.md](../waste.md) defines them, with the 95% error that the report states. *Not known*: bytes stored of which "
             "it is not known whether they were read. *Time* relates to a native copy on the same core. So does *memory*, the peak "
             "of what is resident, but a program of less than 16 MB is taken for one of 16 MB.\n\n"
             "## Whole runs\n\n" + tables.table(head, exact) + "\n## Shadows, `--budget 1%`\n\n"
             "The last column is the program's own CPU time above the native copy's, in percent.\n\n" +
             tables.table(["program", "dead", "silent", "redundant", "overhead"], budget) +
             "\n## The pair that makes most waste of each program\n\nIts share of all bytes stored, or loaded.\n\n" +
             tables.table(["program", "kind", "access in vain", "with", "share"], pairs_of))
    tables.write("waste.md", text + ("\n" + tables.note("waste.md") if tables.note("waste.md") else ""))
    say("wrote waste.md")
