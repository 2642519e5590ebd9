"""What productions cost in whole runs (docs/productions.md), by profile and frequency, and how near sampled profiles come
to exhaustive ones. With a quarter of the programs' inputs: exhaustive runs take long."""
import json
import os
import statistics
import subprocess

import overhead
import pairs
import profilers
import store
import suite
import tables

PROGRAMS = ("gzip", "perl", "lua")
# Beside runs of full length, at which less than one in a thousand of the events is seen.
CARRIERS = {"burst": ("--carrier", "burst", "-F", "100", "--length", "20k"), "shadow": ("--carrier", "shadow")}
KINDS = ("method", "pair")
BOTH = ("--production", "hot-methods", "--production", "hot-call-pairs")
FREQUENCIES = ("1/100", "1/1000", "1/10000")
# name of the shipped file, events of a burst, what compares it
PROFILES = (("hot-methods", 1, "method"), ("hot-call-pairs", 1, "pair"), ("hot-data-streams", 100, None))
EVERY = "exhaustive"
TIMEOUT = 3600


def recorded(tools, name, *options):
    def wrap(hold, out):
        return [tools.penumbra, "record", "-q", "-o", f"{out}/penumbra.pnb", *options, "--", *hold()]
    return pairs.Copy(name, wrap, True)


def way(profile, frequency):
    return f"{profile} {frequency}"


def copies(tools):
    made = [pairs.Copy("native", profilers.native(tools, 0)), recorded(tools, "engine", "--exact", "--tool", "null"),
            recorded(tools, EVERY, "--production", "hot-methods", "--production", "hot-call-pairs", "--frequency", "1/1")]
    return made + [recorded(tools, way(profile, f), "--production", profile, "--burst", str(burst), "--frequency", f)
                   for profile, burst, _ in PROFILES for f in FREQUENCIES]


def accuracy(tools, perfect, sampled, by):
    """overlap-90, in percent; None: nothing was sampled."""
    done = subprocess.run([tools.penumbra, "compare", "--json", "--by", by, perfect, sampled], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)
    return json.loads(done.stdout)["overlap_90"] if done.returncode == 0 else None


def one_round(a, program):
    with pairs.Round(a.tools.hold, program, copies(a.tools), a.core, timeout=TIMEOUT) as one:
        outcomes = one.run()

        def file(name):
            return os.path.join(one.folder, name, "out", "penumbra.pnb")
        for profile, _, by in PROFILES:
            for f in FREQUENCIES if by else ():
                outcomes[way(profile, f)].extra = {"overlap": accuracy(a.tools, file(EVERY), file(way(profile, f)), by)}
    return {n: overhead.row_of(o, outcomes["native"], program) for n, o in outcomes.items()}


def run(a, say):
    for program in [p for p in a.programs if p.name in PROGRAMS or len(a.programs) < len(suite.SUITE)]:
        kept = [] if a.fresh else store.load("productions").get(program.name, {}).get("rounds", [])
        for _ in range(a.rounds_asked or 1):
            kept.append(one_round(a, suite.shorter(program)))
        data = store.load("productions")
        data[program.name] = {"program": program.name, **store.when_and_what(a), "rounds": kept}
        store.save("productions", data)
        say(f"{program.name}: engine {ratio(kept, 'engine'):.2f}, " +
            ", ".join(f"{p} {ratio(kept, way(p, '1/1000')):.2f}" for p, _, _ in PROFILES) + " at 1/1000")


def ratio(rounds, name):
    return statistics.median(r[name]["own_us"] / r["native"]["own_us"] for r in rounds)


def overlap(rounds, name):
    values = [r[name].get("extra", {}).get("overlap") for r in rounds]
    return "-" if None in values else f"{statistics.median(values):.1f}"


# ---- in bursts and shadows ----

def sampled_copies(tools):
    native = profilers.native(tools, 0)
    return [pairs.Copy("native", native), pairs.Copy("null", native)] + [
        recorded(tools, name, *BOTH, *options) for name, options in CARRIERS.items()]


def counted(tools, file, by):
    """How many events of that kind a profile has, and what it says that it cost, in percent."""
    report = json.loads(subprocess.run([tools.penumbra, "report", "--json", "--quick", file], stdout=subprocess.PIPE,
                                       check=True).stdout)
    handler = {"method": "HotMethod_handler", "pair": "CallPair_handler"}[by]
    return (next((g["done"] for g in report["productions"] if g["name"] == handler), 0),
            report["overhead"]["percent_of_cpu"])


def sampled_round(a, program, perfect, events):
    with pairs.Round(a.tools.hold, program, sampled_copies(a.tools), a.core, timeout=TIMEOUT) as one:
        outcomes = one.run()
        for name in CARRIERS:
            file = os.path.join(one.folder, name, "out", "penumbra.pnb")
            outcomes[name].extra = {}
            for by in KINDS:
                seen, cost = counted(a.tools, file, by)
                outcomes[name].extra[by] = {"share": seen / events[by], "overlap": accuracy(a.tools, perfect, file, by)}
                outcomes[name].extra["cost"] = cost
    return {n: overhead.row_of(o, outcomes["native"], program) for n, o in outcomes.items()}


def sampled_run(a, say):
    """The whole run once, then rounds beside it."""
    for program in [p for p in a.programs if p.name in PROGRAMS or len(a.programs) < len(suite.SUITE)]:
        kept = [] if a.fresh else store.load("productions-sampled").get(program.name, {}).get("rounds", [])
        exhaustive = [recorded(a.tools, EVERY, *BOTH, "--frequency", "1/1")]
        with pairs.Round(a.tools.hold, program, exhaustive, a.core, timeout=TIMEOUT) as one:
            one.run()
            perfect = os.path.join(one.folder, EVERY, "out", "penumbra.pnb")
            events = {by: counted(a.tools, perfect, by)[0] for by in KINDS}
            for _ in range(a.rounds):
                kept.append(sampled_round(a, program, perfect, events))
        data = store.load("productions-sampled")
        data[program.name] = {"program": program.name, **store.when_and_what(a), "rounds": kept}
        store.save("productions-sampled", data)
        say(program.name + ": " + "; ".join(" ".join(sampled_row(kept, name)) for name in CARRIERS))


def spread(values, form):
    return f"{statistics.median(values):{form}} ({min(values):{form}} to {max(values):{form}})"


def sampled_row(rounds, name):
    row = [spread(overhead.percent(rounds, name), ".1f"),
           f"{statistics.median(r[name]['extra']['cost'] for r in rounds):.2f}"]
    for by in KINDS:
        of = [r[name]["extra"][by] for r in rounds]
        row += [f"1/{1 / statistics.median(x['share'] for x in of):,.0f}", spread([x["overlap"] or 0 for x in of], ".1f")]
    return row


def sampled_tables_run(a, say):
    page = "productions-sampled.md"
    data = store.load("productions-sampled")
    entries = [data[p.name] for p in suite.SUITE if p.name in data]
    if not entries:
        return
    rows = [[e["program"], name, *sampled_row(e["rounds"], name)] for e in entries for name in CARRIERS]
    null = [v for e in entries for v in overhead.percent(e["rounds"], "null")]
    options = "; ".join(f"*{name}* is `{' '.join(options)}`" for name, options in CARRIERS.items())
    text = tables.head_lines("Productions in bursts and shadows", ["bench/run.py prepare", "bench/run.py productions-sampled"],
                             entries)
    text += (f"\nCall pairs and methods in one run; {options}. *Cost*: the program's CPU time over that of a native copy of the "
             "same round, in percent: median, least and greatest. A second native copy had "
             f"{spread(null, '.1f')}. *Stated*: by the profile's own account. *Seen*: of all events. Overlap-90 with a run that "
             "counts all ([compare.md](../compare.md)), in percent.\n\n" +
             tables.table(["program", "carrier", "cost", "stated"] +
                          [f"{by}s: {what}" for by in KINDS for what in ("seen", "overlap-90")], rows))
    tables.write(page, text + ("\n" + tables.note(page) if tables.note(page) else ""))
    say(f"wrote {page}")


# ---- tables ----

def tables_run(a, say):
    data = store.load("productions")
    entries = [data[p.name] for p in suite.SUITE if p.name in data]
    if not entries:
        return
    times, truth = [], []
    for e in entries:
        rounds = e["rounds"]
        for profile, burst, by in PROFILES:
            row = [e["program"], profile, str(burst)]
            times.append(row + [f"{ratio(rounds, 'engine'):.2f}"] +
                         [f"{ratio(rounds, way(profile, f)):.2f}" for f in FREQUENCIES] +
                         [f"{ratio(rounds, EVERY):.1f}" if by else "-"])
            if by:
                truth.append(row + [overlap(rounds, way(profile, f)) for f in FREQUENCIES])
    head = ["program", "profile", "burst"]
    text = tables.head_lines("Productions in whole runs", ["bench/run.py prepare", "bench/run.py productions"], entries)
    text += ("\nCPU time of a program under `record --production`, divided by that of a native copy on the same core, by "
             "[frequency](../productions.md). *engine* is the same for a whole run that observes nothing (`--tool null`): what is "
             "above it the productions cost. *1/1* has call pairs and methods in one run. All copies of a program run together.\n\n" +
             tables.table(head + ["engine", *FREQUENCIES, "1/1"], times) +
             "\n## Accuracy\n\noverlap-90 of sampled call pairs and methods with the exhaustive ones, in percent "
             "([compare.md](../compare.md)). Inputs are a quarter of the suite's, so a frequency of 1/10000 has few bursts.\n\n" +
             tables.table(head + list(FREQUENCIES), truth))
    tables.write("productions.md", text + ("\n" + tables.note("productions.md") if tables.note("productions.md") else ""))
    say("wrote productions.md")
