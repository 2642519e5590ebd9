#!/usr/bin/env python3
"""Sampled simulation against all of the run: is the whole run's CPI in the interval that is stated?

    bench/sampled.py BUILD [--seeds 5] [PROGRAM...]

Programs are those of the suite with small inputs (sizes.py), and two that live in the second- and third-level cache (a
hash of strings in perl, sort): the model executes some million instructions a second, and all of each run is modelled
once. What was measured is kept beside the inputs (bench/work/small/sampled-*.json): remove it where the model has
changed. Each seed has windows of its own. Writes docs/results/simulate.md, unless programs are named.
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time

import machine
import sizes
import suite
import tables

MACHINE = "golden-cove"
OPTIONS = ("--sample", "--period", "1M")
PERL = ('my %n; for my $i (1 .. 60000) { my $w = "word" . ($i * 7919 % 20011); $n{$w} .= "x"; } my $s = 0; '
        '$s += length $n{$_} for sort keys %n; print "$s\\n"')


def numbers():
    """sort's input."""
    name = os.path.join(sizes.folder(sizes.SMALL), "numbers")
    with open(name, "w") as f:
        f.writelines(f"{n * 48271 % 1000003}\n" for n in range(60_000))
    return name


def programs():
    """Those of the suite, and two that live in the second- and third-level cache."""
    return sizes.programs(sizes.SMALL) + [
        suite.Program("perl-hash", "", ["/usr/bin/perl", "-e", PERL], env={"PERL_HASH_SEED": "0"}),
        suite.Program("sort", "", ["/usr/bin/sort", "--parallel=1", "-n", numbers()], env={"LC_ALL": "C"})]


def simulate(penumbra, program, *options, machine_file=MACHINE):
    """What the report says, and the seconds that the run took."""
    with tempfile.TemporaryDirectory() as folder, open(program.stdin) as stdin:
        out = os.path.join(folder, "simulated.pnb")
        begun = time.monotonic()
        subprocess.run([penumbra, "simulate", "-q", "-m", machine_file, *options, "-o", out, "--", *program.argv],
                       stdin=stdin, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       env={**os.environ, **program.env})
        took = time.monotonic() - begun
        said = subprocess.run([penumbra, "report", "--json", out], stdout=subprocess.PIPE, check=True).stdout
    return json.loads(said)["simulated"], took


def kept_file(program):
    return os.path.join(sizes.folder(sizes.SMALL), f"sampled-{program.name}.json")


def measure(a, penumbra, program):
    """All of the run, and each seed: what is not kept from before."""
    row = json.loads(machine.read(kept_file(program)) or "{}")
    if "cpi" not in row:
        whole, took = simulate(penumbra, program)
        row = {"name": program.name, "cpi": whole["cpi"], "instructions": whole["instructions"], "seconds": took, "runs": []}
    for seed in range(len(row["runs"]) + 1, a.seeds + 1):
        of, took = simulate(penumbra, program, *OPTIONS, "--seed", str(seed))
        row["runs"].append({**{k: of["sampled"].get(k) for k in ("cpi", "interval", "bias", "bias_interval", "windows")},
                            "seconds": took})
        with open(kept_file(program), "w") as f:
            json.dump(row, f)
    return {**row, "runs": row["runs"][:a.seeds]}


def covered(row):
    return sum(abs(r["cpi"] - row["cpi"]) <= r["interval"] for r in row["runs"])


def error(row):
    """Of the mean over all seeds: what is not chance, and how much of it may be."""
    errors = [(r["cpi"] - row["cpi"]) / row["cpi"] for r in row["runs"]]
    chance = statistics.stdev(errors) / len(errors) ** 0.5 if len(errors) > 1 else float("nan")
    return statistics.mean(errors), chance


def shown(row):
    mean, chance = error(row)
    return [f"`{row['name']}`", f"{row['instructions'] / 1e6:.0f}", f"{row['cpi']:.4f}",
            f"{statistics.mean(r['cpi'] for r in row['runs']):.4f}",
            f"{100 * statistics.mean(r['interval'] / row['cpi'] for r in row['runs']):.1f}%",
            f"{100 * max(abs(r['cpi'] / row['cpi'] - 1) for r in row['runs']):.1f}%",
            f"{100 * mean:+.2f}% +- {100 * chance:.2f}%", f"{covered(row)} of {len(row['runs'])}"]


HEAD = ["program", "million instructions", "CPI of all", "sampled, mean", "interval, half", "greatest error",
        "mean error", "in the interval"]


def section(a, rows):
    runs = sum(len(r["runs"]) for r in rows)
    inside = sum(covered(r) for r in rows)
    return (f"## Sampled, against all of the run\n\nMade by\n\n    bench/sampled.py BUILD\n\nThe machine is {MACHINE}, options "
            f"`{' '.join(OPTIONS)}`, {a.seeds} seeds a program. The interval is what the report states, 95%. The mean error is over "
            f"the seeds, with its standard error: what is not chance.\n\n" + tables.table(HEAD, [shown(r) for r in rows])
            + f"\nThe CPI of all of the run is in **{inside} of {runs}** intervals: {100 * inside / runs:.1f}%.\n")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("build")
    p.add_argument("programs", nargs="*", help="these only; nothing is written")
    p.add_argument("--seeds", type=int, default=5)
    a = p.parse_args()
    penumbra = os.path.abspath(os.path.join(a.build, "penumbra"))
    sizes.make(sizes.SMALL, print)
    rows = []
    for program in programs():
        if a.programs and program.name not in a.programs:
            continue
        rows.append(measure(a, penumbra, program))
        print(" ".join(shown(rows[-1])), flush=True)
    text = section(a, rows)
    print(text)
    if not a.programs:
        tables.write("simulate.md", tables.note("simulate.md") + text)


if __name__ == "__main__":
    main()
