#!/usr/bin/env python3
"""How many instructions compiled-in checks add to a program that is not recorded (docs/instrumentation.md): counted by
valgrind's callgrind, so that a busy machine and the places of code do not matter.

usage: checks.py PENUMBRA [--only NAME,...] [--folder DIR]

PENUMBRA is the command in a build directory that has the plugin for gcc-12; bench/built.py has the programs, whose inputs
are small here. With --folder builds are kept, and not made again. Prints a table (docs/results/instrumentation.md), in
Markdown."""
import os
import re
import subprocess

import built

COUNTED = "-O2 -fprofile-generate "
WAYS = {"full": ("-O2 ", []), "partial": ("-O2 ", ["variant=partial"]), "pgo": (COUNTED, ["what=pgo"]),
        "pgo, partial": (COUNTED, ["what=pgo", "variant=partial"])}
INPUT = 300_000  # bytes


def check_addresses(binary):
    """{address of a check's first instruction: whether the counter is in a register there}"""
    said = subprocess.run(["objdump", "-d", "--no-show-raw-insn", binary], capture_output=True, text=True, check=True).stdout
    found = re.findall(r"^ *([0-9a-f]+):\s+decl? +(%fs:|%[er]\w+\n.*\sjn?s )", said, re.M)
    return {int(address, 16): counter != "%fs:" for address, counter in found}


def small(bench, name):
    """The program's arguments, with a smaller input."""
    path = os.path.join(bench.work, "small")
    script = name == "lua"
    with open(bench.script("script") if script else bench.arguments("gzip")[-1], encoding="utf-8") as file:
        text = file.read().replace("round = 1, 60 ", "round = 1, 2 ") if script else file.read(INPUT)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return [path if os.path.isabs(word) else word for word in bench.arguments(name)]


def executed(bench, name, binary):
    """Instructions of the program itself, without its libraries, the checks among them, and those with the counter in a
    register."""
    out, checks, counts = os.path.join(bench.work, "counts"), check_addresses(binary), [0, 0, 0]
    subprocess.run(["valgrind", "-q", "--tool=callgrind", "--dump-instr=yes", "--compress-strings=no", "--compress-pos=no",
                    f"--callgrind-out-file={out}", binary, *small(bench, name)], stdout=subprocess.DEVNULL, check=True)
    own = called = False
    with open(out, encoding="utf-8") as file:
        for line in file:
            if line.startswith("ob="):
                own = os.path.realpath(line[3:].strip()) == os.path.realpath(binary)
            elif line.startswith("calls="):
                called = True  # the next line is what the called function costs
            elif line.startswith("0x"):
                address, _, cost = line.split()[:3]
                held = checks.get(int(address, 16))
                if own and not called:
                    counts[0] += int(cost)
                    counts[1] += int(cost) if held is not None else 0
                    counts[2] += int(cost) if held else 0
                called = False
    return counts


def measure(bench, name):
    plain, *_ = executed(bench, name, bench.build(name, "plain", "-O2"))
    cells = [f"{plain / 1e6:.1f}"]
    for way, (flags, options) in WAYS.items():
        total, checks, held = executed(bench, name, bench.build(name, way, flags + bench.flags(options)))
        cells.append(f"{100 * (total / plain - 1):+.1f}% ({200 * checks / plain:+.1f}, {100 * held / checks:.0f}%)")
    return cells


def main():
    measured = built.measure_all(__doc__, measure, timed=False)
    print("\n| program | millions | " + " | ".join(WAYS) + " |\n|---|---|" + "---|" * len(WAYS))
    for name, cells in measured.items():
        print(f"| {name} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
