#!/usr/bin/env python3
"""Values from outside (docs/kernel-values.md): how far instructions are interpreted, how right kernel instructions'
hotlists are where they are known, and how near those of programs come to bursts'. Writes docs/results/kernel-values.md.

usage: bench/kernel_values.py BUILD [--seconds 4]        as root, in the first PID namespace"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
sys.path.insert(0, os.path.join(ROOT, "tests", "programs", "machine"))

import kernel_truth  # noqa: E402

RATE, LEAST = "4999", 8
LUA = "local n, t = 0, {} for i = 1, 6000000 do t[i % 1000] = i n = n + (t[(i * 7) % 1000] or 0) % 13 end print(n)"
PERL = "for (1 .. 3000000) { $n{$_ % 997} += $_ % 7 } print join(' ', map { $n{$_} } sort keys %n), \"\\n\""
PROGRAMS = (("gzip", ["gzip", "-9", "-c", "INPUT"]), ("bzip2", ["bzip2", "-c", "INPUT"]), ("xz", ["xz", "-1", "-T1", "-c", "INPUT"]),
            ("perl", ["perl", "-e", PERL]), ("lua", ["lua5.4", "-e", LUA]))
MOST = 4.0  # percent that bursts and values from outside may differ
CAUSES = ("Two recordings in bursts differ by chance: the shares of each are of so many observations, and programs that run for a "
          "moment have few. Beyond that are instructions that are reached by some ways only as far as what they need was captured, "
          "and those that a burst reaches by its skip, and an interrupt does not.")
NOTE = re.compile(r"values of (programs|the kernel): (\d+) moments, ([\d.]+) instructions interpreted at each; they ended by (.*)")


class Bench:
    def __init__(self, build, seconds, folder):
        self.penumbra = os.path.join(build, "penumbra")
        self.sizes = os.path.join(build, "tests/programs/machine/machine-sizes")
        self.seconds, self.folder = seconds, folder

    def record(self, name, options, command):
        out = os.path.join(self.folder, name)
        done = subprocess.run([self.penumbra, "record", "-q", "-F", RATE, "--tool", "values", "-o", out, *options, "--", *command],
                              stdout=subprocess.PIPE, check=True)
        return out, done.stdout

    def report(self, file):
        return json.loads(subprocess.run([self.penumbra, "report", "--json", "--quick", file], stdout=subprocess.PIPE, check=True).stdout)

    def kernel(self):
        file, said = self.record("kernel", ["--external"], [self.sizes, str(self.seconds), os.path.join(self.folder, "file")])
        report = self.report(file)
        return report, kernel_truth.judge(report, json.loads(said), LEAST)

    def compared(self, a, b):
        text = subprocess.run([self.penumbra, "compare", a, b], stdout=subprocess.PIPE, check=True).stdout.decode()
        return float(re.search(r"diff-top +([\d.]+)%", text).group(1))

    def program(self, name, command):
        burst = ["--carrier", "burst", "--length", "32", "--every", "1"]
        first, second = (self.record(f"{name}-{i}", burst, command)[0] for i in range(2))
        outside = self.record(f"{name}-outside", ["--external"], command)[0]
        return self.report(outside), self.compared(first, outside), self.compared(first, second)


def notes_of(report, which):
    for note in report["notes"]:
        found = NOTE.match(note)
        if found and found.group(1) == which:
            return found.group(2), found.group(3), found.group(4)
    return "0", "0", ""


def cost_of(report):
    return next((n for n in report["notes"] if n.startswith("the kernel took")), "")


def load_of(before):
    """How busy the machine was: by its averages over a minute at the begin and the end."""
    return f"Measured at a load of {before:.0f} at the begin and {os.getloadavg()[0]:.0f} at the end, on {os.cpu_count()} processors."


def beyond(found):
    names = [name for name, apart in found.items() if apart > MOST]
    return f"Wanted are at most {MOST:.0f}% between bursts and outside: not met by {', '.join(names)}." if names else \
        f"None differs from bursts by more than the {MOST:.0f}% that are wanted."


def page(bench, programs):
    before = os.getloadavg()[0]
    report, (right, wrong, places) = bench.kernel()
    moments, each, ends = notes_of(report, "the kernel")
    made = f"[kernel-values.md](../kernel-values.md) describes them. Made by `bench/kernel_values.py BUILD`: {RATE} moments a second, " \
           "at most 32 instructions each."
    known = f"A program reads and writes a file, and sends and receives datagrams over loopback, for {bench.seconds} s of CPU time " \
            "(tests/programs/machine/targets/sizes.c). Known are the arguments of its system calls, where the kernel loads them from " \
            "its saved registers, and where they are arguments of its functions (kernel_truth.py). Right is a hotlist whose shares " \
            "are within four deviations plus 2 points of the truth, and which has at most four deviations plus 1 point of other values. " \
            f"Of those with at least {LEAST} observations:"
    lines = ["# Values from outside", "", *textwrap.wrap(made, 100), "", "## The kernel", "", *textwrap.wrap(known, 100), "",
             "| | |", "|---|---:|", f"| instructions | {len(places)} |", f"| hotlists | {right + len(wrong)} |", f"| right | {right} |",
             f"| moments in the kernel | {moments} |", f"| instructions interpreted at each | {each} |", "",
             *textwrap.wrap(f"Ends: {ends}.", 100), "", f"What it cost: {cost_of(report)}.", ""]
    lines += [f"Wrong: {w}" for w in wrong]
    lines += ["## Programs", "", "diff-top of bursts of 32 instructions against values from outside, and of two recordings in bursts:", "",
              "| program | moments | interpreted at each | bursts, outside | bursts, bursts |", "|---|---:|---:|---:|---:|"]
    found = {}
    for name, command in programs:
        outside, found[name], chance = bench.program(name, command)
        count, length, _ = notes_of(outside, "programs")
        lines.append(f"| {name} | {count} | {length} | {found[name]:.2f} | {chance:.2f} |")
    lines += ["", *textwrap.wrap(f"{beyond(found)} {CAUSES}", 100), "", *textwrap.wrap(load_of(before), 100)]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--seconds", type=float, default=4)
    a = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        given = os.path.join(folder, "input")
        with open(given, "wb") as f, open(os.path.join(a.build, "penumbra"), "rb") as program:
            f.write((program.read() * 8)[:16_000_000])
        programs = [(n, [given if c == "INPUT" else c for c in command]) for n, command in PROGRAMS]
        text = page(Bench(os.path.abspath(a.build), a.seconds, folder), programs)
    with open(os.path.join(ROOT, "docs", "results", "kernel-values.md"), "w", encoding="utf-8") as f:
        f.write(text)


main()
