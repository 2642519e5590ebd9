#!/usr/bin/env python3
"""Whole programs in the processor model against this machine: cycles an instruction of each.

    bench/cpi.py BUILD [--machine FILE] [--times 8] [--rounds 2] [--seeds 3] [PROGRAM...]

Programs are those of sampled.py. Cycles here are those of user mode, by CPU time beside a chain of dependent additions
(cycles.c), as a real-time process: how fast the processor's clock goes and what else wants the processor do not matter;
what others do to the last cache and to memory does. The rounds go through all programs; the difference between them is
the null check. A program of additions, whose cycles are known, is measured likewise. The model's are of sampled
simulations (`--seeds`), on the machine that `penumbra calibrate` finds here. What was measured is kept beside the inputs
(bench/work/small/cpi-*.json): remove it where the model has changed. Writes docs/results/cpi.md when all is measured,
unless programs are named.
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile

import inputs
import machine
import sampled
import sizes
import suite
import tables

ADDITIONS = 200_000_000
CORE = 0
SHOWN = 0.03  # of the cycles: smaller causes are not in the table


def runs(helper, program, times):
    """(user, system, cycles a second) of each run."""
    with tempfile.TemporaryDirectory() as folder, open(program.stdin) as stdin:
        said = subprocess.run([helper, str(CORE), str(times), *program.argv], stdin=stdin, cwd=folder, text=True,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env={**os.environ, **program.env})
    rows = [line.split() for line in said.stderr.splitlines()]
    rows = [[float(w) for w in row] for row in rows if len(row) == 3 and all(w.replace(".", "").isdigit() for w in row)]
    if len(rows) != times:
        raise SystemExit(f"cpi.py: {program.name}: {len(rows)} of {times} runs were measured: {said.stderr[-300:]}")
    return rows


def cycles(rows):
    """Of user mode, in a run: the lower quartile, as what disturbs a run makes it slower. A run's CPU time is exact; its
    part in user mode is told by ticks, and so by all runs together."""
    user = sum(r[0] for r in rows) / sum(r[0] + r[1] for r in rows)
    return statistics.quantiles([(r[0] + r[1]) * user * r[2] for r in rows], n=4)[0]


def known(helper):
    return suite.Program("additions", "", [helper, "additions", str(ADDITIONS)])


def kept_file(name):
    return os.path.join(sizes.folder(sizes.SMALL), f"cpi-{name}.json")


def kept(name):
    return json.loads(machine.read(kept_file(name)) or "null") or {"name": name, "rounds": [], "runs": []}


def keep(row):
    with open(kept_file(row["name"]), "w") as f:
        json.dump(row, f, indent=1)


def measure_here(a, helper, programs):
    for i in range(a.rounds):
        for p in programs:
            row = kept(p.name)
            if len(row["rounds"]) <= i:
                keep({**row, "rounds": [*row["rounds"], cycles(runs(helper, p, a.times))]})


def measure_model(a, penumbra, programs):
    for p in programs:
        for seed in range(len(kept(p.name)["runs"]) + 1, a.seeds + 1):
            of, _ = sampled.simulate(penumbra, p, *sampled.OPTIONS, "--seed", str(seed), machine_file=a.machine)
            row = kept(p.name)
            keep({**row, "runs": [*row["runs"], {"cpi": of["cpi"], "interval": of["sampled"]["interval"],
                                                 "stack": of["stack"], "instructions": of["sampled"]["instructions"]}]})


def judged(row):
    """The row, with CPIs and the error."""
    instructions = statistics.mean(r["instructions"] for r in row["runs"])
    here, model = statistics.mean(row["rounds"]) / instructions, statistics.mean(r["cpi"] for r in row["runs"])
    return {**row, "instructions": instructions, "here": here, "model": model, "error": model / here - 1,
            "half": statistics.mean(r["interval"] for r in row["runs"]) / len(row["runs"]) ** 0.5}


def null(row):
    return max(row["rounds"]) / min(row["rounds"]) - 1


def causes(row):
    """Parts of the model's CPI, largest first."""
    sums = {k: sum(r["stack"].get(k, 0) for r in row["runs"]) for k in row["runs"][0]["stack"]}
    total = sum(sums.values())
    return ", ".join(f"{k} {v / total * row['model']:.3f}" for k, v in sorted(sums.items(), key=lambda x: -x[1])
                     if v > SHOWN * total)


def shown(row):
    return [f"`{row['name']}`", f"{row['instructions'] / 1e6:.0f}", f"{row['here']:.3f}", f"{100 * null(row):.1f}%",
            f"{row['model']:.3f} +- {row['half']:.3f}", f"{100 * row['error']:+.1f}%", causes(row)]


HEAD = ["program", "million instructions", "CPI here", "rounds differ", "CPI of the model", "error", "of it"]


def page(a, rows, additions):
    errors = [abs(r["error"]) for r in rows]
    load = ", ".join(f"{x:.0f}" for x in os.getloadavg())
    return (f"# Whole programs in the processor model\n\nMade by\n\n    bench/cpi.py BUILD --seeds {a.seeds}\n\non "
            f"{machine.sentence(machine.describe())}\nThe machine file is the one that `penumbra calibrate --machine` wrote "
            f"there. Load averages at the end: {load}. {a.rounds} rounds of {a.times} runs a program; sampled "
            f"simulations, {a.seeds} a program (`{' '.join(sampled.OPTIONS)}`), with the 95% interval of their mean.\n\n"
            + tables.table(HEAD, [shown(r) for r in rows])
            + f"\nThe mean error is **{100 * statistics.mean(errors):.1f}%**, the greatest {100 * max(errors):.1f}%. The "
            f"program of {ADDITIONS / 1e6:.0f} million dependent additions took {statistics.mean(additions) / 1e6:.1f} million "
            f"cycles, those of its start among them.\n\n" + tables.note("cpi.md"))


def run(a):
    penumbra = os.path.abspath(os.path.join(a.build, "penumbra"))
    helper = os.path.abspath(os.path.join(a.build, "bench", "bench-cycles"))
    sizes.make(sizes.SMALL, print)
    if not a.machine:
        a.machine = os.path.join(inputs.WORK, "host.conf")
        if not os.path.exists(a.machine):
            subprocess.run([penumbra, "calibrate", "--machine", a.machine], check=True)
    a.machine = os.path.abspath(a.machine)
    programs = [p for p in sampled.programs() if not a.programs or p.name in a.programs]
    if not a.model:
        measure_here(a, helper, [known(helper), *programs])
    if not a.here:
        measure_model(a, penumbra, programs)
    rows = [kept(p.name) for p in programs]
    if not all(r["rounds"] and r["runs"] for r in rows):
        return
    text = page(a, [judged(r) for r in rows], kept("additions")["rounds"])
    print(text)
    if not a.programs:
        tables.write("cpi.md", text)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("build")
    p.add_argument("programs", nargs="*", help="these only; nothing is written")
    p.add_argument("--machine", help="a machine file, instead of calibrating")
    p.add_argument("--times", type=int, default=8, help="runs of a program in a round")
    p.add_argument("--rounds", type=int, default=2)
    p.add_argument("--seeds", type=int, default=3, help="sampled simulations of a program")
    p.add_argument("--here", action="store_true", help="only measure this machine: some minute that is best a quiet one")
    p.add_argument("--model", action="store_true", help="only simulate")
    run(p.parse_intermixed_args())


if __name__ == "__main__":
    main()
