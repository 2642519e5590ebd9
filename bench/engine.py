"""What the engine's own work takes: making a block, a dispatch, a burst from the handler's entry to the end. The engine
times itself (docs/engine.md, "Latencies"); this asks it under the conditions that its bounds are stated for."""
import json
import os
import statistics
import subprocess
import sys
import tempfile

import pairs
import store
import suite
import tables

COLD = ["cc1", "python3"]  # whole runs; each block is made for the first time
BURSTS = [(10000, 32), (1000, 32), (1000, 1000000)]
BURST_PROGRAM = "gzip"
KINDS = ["translation", "dispatch", "burst-warm", "burst-cold"]
BOUNDS = {"translation": "median 1 us", "dispatch": "mean 2 us", (10000, 32): "median warm 3 us, cold 10 us",
          (1000, 32): "median warm 5 us, cold 10 us", (1000, 1000000): "as fast as a whole run"}


def touch_memory():
    """A virtual machine may have given its free memory back to its host: to touch 2 MB of it for the first time takes
    milliseconds then, which are not the engine's. What is touched here and free again is what the recording gets."""
    subprocess.run([sys.executable, "-c", "b'x' * (1 << 30)"], check=True)


def recorded(a, program, *options):
    """The profile's account of the engine and its CPU time, of one recording."""
    with tempfile.TemporaryDirectory() as folder:
        for file in program.files:
            os.symlink(os.path.join(suite.path(""), file), os.path.join(folder, file))
        touch_memory()
        out = os.path.join(folder, "engine.pnb")
        command = [a.tools.penumbra, "record", "-q", "-o", out, *options, "--", *program.argv]
        with open(program.stdin) as stdin:
            done = subprocess.run(command, stdin=stdin, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                  cwd=folder, env={**os.environ, **program.env})
        if done.returncode != program.exits:
            raise pairs.RoundError(f"{' '.join(command)} exited {done.returncode}: {done.stderr[-400:]}")
        report = json.loads(subprocess.run([a.tools.penumbra, "report", "--json", out], stdout=subprocess.PIPE,
                                           check=True).stdout)
    return {**report["engine"], "cpu_ns": report["cpu_ns"], "instructions": report["instructions"]}


def run(a, say):
    data = store.load("engine")
    rows = {} if a.fresh else data.get("rows", {})
    burst = suite.BY_NAME[BURST_PROGRAM]
    for name in COLD:
        rows.setdefault(name, []).extend(recorded(a, suite.BY_NAME[name], "--exact", "--tool", "null")
                                         for _ in range(a.rounds))
        say(f"{name}: {summary(rows[name], ['translation', 'dispatch'])}")
    for hz, length in BURSTS:
        rows.setdefault(f"{hz}/{length}", []).extend(
            recorded(a, burst, "--carrier", "burst", "--tool", "null", "--length", str(length), "-F", str(hz))
            for _ in range(a.rounds))
        say(f"{burst.name}, {length} at {hz} Hz: {summary(rows[f'{hz}/{length}'], ['burst-warm', 'burst-cold'])}")
    whole = rows.setdefault("whole", [])
    for _ in range(a.rounds):
        counted = recorded(a, burst, "--exact", "--tool", "blocks")["instructions"]
        whole.append(recorded(a, burst, "--exact", "--tool", "null")["cpu_ns"] / counted)
    data["rows"] = rows
    data["load"] = os.getloadavg()[0]
    data.update(store.when_and_what(a))
    store.save("engine", data)


def middle(rounds, kind, figure):
    found = [r["latency"][kind][figure] for r in rounds if r["latency"][kind]["count"]]
    return statistics.median(found) if found else None


def summary(rounds, kinds):
    return "; ".join(f"{kind} median {middle(rounds, kind, 'p50_ns') or 0:.0f} ns" for kind in kinds)


def latency_row(what, bound, rounds, kind):
    count = sum(r["latency"][kind]["count"] for r in rounds)
    figures = [middle(rounds, kind, f) for f in ("p50_ns", "p90_ns", "p99_ns", "mean_ns")]
    return [what, f"{count:,}", *("" if f is None else tables.shown(f / 1000, 2) for f in figures), bound]


def tables_run(a, say):
    data = store.load("engine")
    if not data:
        return
    rows, table = data["rows"], []
    for name in COLD:
        for kind in ("translation", "dispatch"):
            table.append(latency_row(f"{name}, cold: {kind}", BOUNDS[kind], rows[name], kind))
    for hz, length in BURSTS:
        for kind in ("burst-warm", "burst-cold"):
            what = f"{BURST_PROGRAM}, {length:,} instructions at {hz:,} Hz: {kind}"
            table.append(latency_row(what, BOUNDS[hz, length], rows[f"{hz}/{length}"], kind))
    text = tables.head_lines("What the engine's own work takes", ["bench/run.py engine"], [data])
    text += (f"\nMicroseconds of elapsed time; medians of {len(rows[COLD[0]])} recordings. The load was {data['load']:.1f} on "
             "two cores: means, and the last quantiles, hold what other processes took meanwhile. *cold*: whole runs, "
             "tool null. Before each recording 1 GB is touched and freed: a virtual machine may have given free memory back to its "
             "host, and it takes milliseconds to touch 2 MB of that. A dispatch makes several blocks, where new code is reached. A burst is timed from the handler's "
             "entry to just before `rt_sigreturn`; what signal delivery and that system call take is not in it.\n\n")
    text += tables.table(["what", "number", "median", "p90", "p99", "mean", "bound"], table)
    long = rows["1000/1000000"]
    burst_ns = middle(long, "burst-warm", "p50_ns") or middle(long, "burst-cold", "p50_ns")
    text += (f"\nAn instruction of {BURST_PROGRAM}: {burst_ns / 1e6:.3f} ns in bursts of 1,000,000 (the median burst), "
             f"{statistics.median(rows['whole']):.3f} ns in whole runs (CPU time, tool null).\n\nBlocks made by a dispatch: ")
    text += ", ".join(f"{name} {rows[name][0]['translated'] / rows[name][0]['dispatches']:.1f}" for name in COLD) + ".\n"
    tables.write("engine.md", text)
    say("wrote docs/results/engine.md")
