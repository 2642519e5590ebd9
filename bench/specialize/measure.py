#!/usr/bin/env python3
"""What specializing by hand gains: each program of build.sh beside its patched copy, as simultaneous pairs.

    bench/specialize/build.sh && bench/specialize/measure.py [--rounds 7] [--only gzip] [--core 1]

Prints rows of a table: the patched copy's own CPU time against the plain one's, median of the rounds, smallest and
largest; beside it the same of a second plain copy, which says what difference means nothing. Whether a
patched copy wrote other bytes is said on standard error.
"""
import argparse
import os
import statistics
import sys
from dataclasses import dataclass

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

import inputs  # noqa: E402
import pairs  # noqa: E402
import profilers  # noqa: E402
from suite import Program  # noqa: E402

WORK = os.path.join(inputs.WORK, "by-hand")
SCENES = "/usr/share/doc/povray/examples"


@dataclass
class Case:
    name: str
    patch: str      # of which patch
    binary: str     # below build/ of the plain and of the patched tree
    arguments: list
    outputs: tuple = ()

    def path(self, tree):
        return os.path.join(WORK, tree, "build", self.binary)

    @property
    def program(self):
        return Program(self.name, "", [self.path("plain"), *self.arguments], outputs=self.outputs,
                       volatile=r"# Render Date: [^\n]*\n")


def gzip(level, patch):
    return Case(f"gzip -{level}, {patch}", f"gzip-{patch}", "gzip/gzip", [f"-{level}", "-c", inputs.path("big.tar")])


def povray(scene, patch, size):
    folder = os.path.join(SCENES, os.path.dirname(scene))
    width, height = size
    options = [f"+W{width}", f"+H{height}", "-D", "+WT1", "+A0.3", "-GA", "-V", "+FP", "+Oimage.ppm"]
    return Case(f"povray {scene}, {patch}", f"povray-{patch}", "povray/unix/povray",
                [f"+I{os.path.join(SCENES, scene)}.pov", f"+L{folder}", "+L/usr/share/povray-3.7/include", *options],
                ("image.ppm",))


CASES = [gzip(1, "updcrc"), gzip(1, "literal"), gzip(6, "nice-match"), gzip(9, "nice-match"),
         povray("textures/patterns/crackle2", "crackle", (320, 240))]


def copy(name, case, tree):
    return pairs.Copy(name, lambda hold, folder: hold(binary=case.path(tree)))


def percent(rounds, name):
    values = [100 * (r[name].own_us / r["plain"].own_us - 1) for r in rounds]
    return f"{statistics.median(values):+.2f}% [{min(values):+.2f} .. {max(values):+.2f}]"


def run(case, rounds, hold, core):
    copies = [copy("plain", case, "plain"), copy("null", case, "plain"), copy("patched", case, case.patch)]
    done = []
    for _ in range(rounds):
        with pairs.Round(hold, case.program, copies, core) as one:
            done.append(one.run())
    for name in ("null", "patched"):
        harm = {pairs.harm(r["plain"], r[name], case.program) for r in done} - {""}
        if harm:
            print(f"measure.py: {case.name}, {name}: {'; '.join(sorted(harm))}", file=sys.stderr)
    plain = statistics.median(r["plain"].own_us for r in done) / 1e6
    print(f"| {case.name} | {rounds} | {plain:.2f} s | {percent(done, 'null')} | {percent(done, 'patched')} |", flush=True)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--build", default=os.path.join(os.path.dirname(inputs.HERE), "build"), help="build directory")
    ap.add_argument("--rounds", type=int, default=7)
    ap.add_argument("--only", default="", metavar="START", help="cases whose names begin so")
    ap.add_argument("--core", type=int, default=1)
    a = ap.parse_args()
    print("| case | rounds | plain | plain again | patched |\n|---|---:|---:|---:|---:|")
    for case in CASES:
        if case.name.startswith(a.only):
            run(case, a.rounds, profilers.Tools(a.build).hold, a.core)


if __name__ == "__main__":
    main()
