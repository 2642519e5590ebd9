#!/usr/bin/env python3
"""Profile-guided optimization by gcc's own counters and by sampled ones (docs/instrumentation.md): what the training
run costs, and how much faster the program becomes.

usage: pgo.py PENUMBRA [--only NAME,...] [--rounds N] [--core N] [--folder DIR]

PENUMBRA is the command in a build directory that has the plugin for gcc-12. Programs are built from Debian's sources
(bench/work/calls/); with --folder builds are kept, and not made again. Copies of a round run at the same time on one
core (bench/pairs.py); a second plain copy is the null check. Prints two tables (docs/results/pgo.md), in Markdown."""
import glob
import os
import subprocess

import built

GENERATE, USE = "-O2 -fprofile-generate", "-O2 -fprofile-use -fprofile-correction -Wno-missing-profile"


def train(bench, name, way):
    folder = os.path.join(bench.work, name, way)
    for old in glob.glob(f"{folder}/**/*.gcda", recursive=True):
        os.unlink(old)
    before = [*bench.recording, "-o", os.path.join(bench.work, "out.pnb"), "--"] if way == "sampled" else []
    subprocess.run([*before, os.path.join(folder, built.SUBJECTS[name].binary), *bench.arguments(name)],
                   stdout=subprocess.DEVNULL, env=os.environ | built.NOTHING, check=True)
    return folder


def measure(bench, name):
    plain = bench.build(name, "plain", "-O2")
    flags = {"counted": GENERATE, "edges": GENERATE + " -fno-profile-values",
             "sampled": f"{GENERATE} {bench.flags(['what=pgo'])}"}
    binaries = {way: bench.build(name, way, f) for way, f in flags.items()}
    used = {way: bench.build(name, "by-" + way, USE, train(bench, name, way)) for way in flags}
    training = {"plain": bench.runs(plain), "null": bench.runs(plain),
                **{way: bench.runs(binary) for way, binary in binaries.items() if way != "sampled"},
                "sampled": bench.records(binaries["sampled"]), "disarmed": bench.runs(binaries["sampled"])}
    result = {"plain": bench.runs(plain), "null": bench.runs(plain),
              **{way: bench.runs(binary) for way, binary in used.items()}}
    return bench.compare(name, training), bench.compare(name, result)


def main():
    measured = built.measure_all(__doc__, measure)
    built.table("training run", {n: m[0] for n, m in measured.items()}, ["null", "counted", "edges", "sampled", "disarmed"])
    built.table("result", {n: m[1] for n, m in measured.items()}, ["null", "counted", "edges", "sampled"])


if __name__ == "__main__":
    main()
