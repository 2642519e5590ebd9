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
