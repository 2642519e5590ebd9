"""Conflicts of stores and later loads: what each kind costs, and whether it is found."""
import json
import statistics
import subprocess

import latency
import overhead
import pairs
import profilers
import store

KINDS = {"order": "order", "size": "size", "synonym": "synonym", "split": "split", "page": "split"}
ROUNDS = {"order": 400_000_000, "size": 150_000_000, "synonym": 250_000_000, "split": 600_000_000, "page": 30_000_000}
COSTS = 5
HZ = 997
NAMES = ["native", "null", "penumbra", "conflicts"]


def costs(program):
    """Ticks an iteration by kind: medians of several runs of the program, each of which has medians."""
    runs = []
    for _ in range(COSTS):
        done = subprocess.run([program], stdout=subprocess.PIPE, text=True, check=True)
        runs.append([json.loads(line) for line in done.stdout.splitlines()])
    return {k["kind"]: {w: statistics.median(r[i][w] for r in runs) for w in ("conflict", "apart")}
            for i, k in enumerate(runs[0])}


def found(a, program, run):
    """The conflicts of a run, as (kind, the store's offset, the load's offset): count."""
    report = latency.recorded(a, ["-F", "10000", "--tool", "conflicts"], [program, *run])
    return {(c["kind"], int(c["store"]["offset"], 16), int(c["load"]["offset"], 16)): c["count"]
            for c in report.get("conflicts", [])}


def finding(a, program, kind):
    pair = (KINDS[kind], latency.symbol(program, kind + "_store"), latency.symbol(program, kind + "_load"))
    together = found(a, program, [kind, str(ROUNDS[kind])])
    apart = found(a, program, [kind + "-apart", str(ROUNDS[kind])])
    return {"pair": together.get(pair, 0), "others": sum(together.values()) - together.get(pair, 0),
            "apart": sum(apart.values())}


def one_round(a, program):
    copies = [profilers.BY_NAME[n].copy(a.tools, HZ) for n in NAMES]
    with pairs.Round(a.tools.hold, program, copies, a.core) as one:
        outcomes = one.run()
    return {n: overhead.row_of(o, outcomes["native"], program) for n, o in outcomes.items()}


def run(a, say):
    program = a.tools.file("bench/bench-conflicts")
    data = store.load("conflicts")
    data["costs"] = {"kinds": costs(program), **store.when_and_what(a)}
    say(json.dumps(data["costs"]["kinds"]))
    data["found"] = {k: finding(a, program, k) for k in KINDS}
    say(json.dumps(data["found"]))
    store.save("conflicts", data)
    for program in a.programs:
        rounds = [] if a.fresh else data.get("overhead", {}).get(program.name, {}).get("rounds", [])
        rounds += [one_round(a, program) for _ in range(a.rounds)]
        data.setdefault("overhead", {})[program.name] = {"program": program.name, **store.when_and_what(a),
                                                         "rounds": rounds}
        store.save("conflicts", data)
        say(program.name)
        say(overhead.summary(rounds))
