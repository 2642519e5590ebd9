#!/usr/bin/env python3
"""What the checks of compiled-in instrumentation cost a program (docs/instrumentation.md): while nothing is recorded, and
while it is recorded at the default interval.

usage: instrumented.py PENUMBRA [--only NAME,...] [--rounds N] [--core N] [--folder DIR]

PENUMBRA is the command in a build directory that has the plugin for gcc-12; bench/built.py has the programs, and how they
are compared. With --folder builds are kept, and not made again. Prints tables (docs/results/instrumentation.md), in
Markdown."""
import subprocess

import built

WAYS = {"full": [], "partial": ["variant=partial"], "patched": ["check=patched"], "switched": ["check=switched"]}


def text_bytes(binary):
    said = subprocess.run(["size", "-A", binary], capture_output=True, text=True, check=True).stdout
    return sum(int(line.split()[1]) for line in said.splitlines() if line.startswith(".text "))


def measure(bench, name):
    plain = bench.build(name, "plain", "-O2")
    binaries = {way: bench.build(name, way, "-O2 " + bench.flags(options)) for way, options in WAYS.items()}
    copies = {"plain": bench.runs(plain), "null": bench.runs(plain),
              **{way: bench.runs(binary) for way, binary in binaries.items()},
              **{way + ", recorded": bench.records(binary) for way, binary in binaries.items()}}
    sizes = {way: text_bytes(binary) / text_bytes(plain) for way, binary in binaries.items()}
    return bench.compare(name, copies), sizes


def main():
    measured = built.measure_all(__doc__, measure)
    built.table("program", {n: m[0] for n, m in measured.items()},
                ["null", *WAYS, *(way + ", recorded" for way in WAYS)])
    print("\nTimes the plain build's .text:\n\n| program | " + " | ".join(WAYS) + " |\n|---|" + "---|" * len(WAYS))
    for name, (_, sizes) in measured.items():
        print(f"| {name} | " + " | ".join(f"{sizes[way]:.2f}" for way in WAYS) + " |")


if __name__ == "__main__":
    main()
