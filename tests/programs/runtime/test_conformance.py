"""Every interposed function, called with good and bad arguments (targets/conformance.c): the same is seen natively and recorded.

    test_conformance.py rows              each export has a row
    test_conformance.py CARRIER FAMILY    handler, exact, burst or shadow; base, heap, io or locks
"""
import difflib
import os
import re
import sys
import tempfile

from harness import PENUMBRA, Failure, expect, run, target

HERE = os.path.dirname(os.path.abspath(__file__))
EXPORTS = os.path.join(HERE, "..", "..", "..", "tools", "runtime-exports.txt")
CARRIERS = {
    "handler": ["-F", "9973"],
    "exact": ["--exact"],
    "burst": ["--carrier", "burst", "-F", "4999"],
    "shadow": ["--carrier", "shadow", "--load", "2", "--sample-size", "100k", "-F", "997"],
}
EVENTS = {"base": [], "heap": ["-e", "malloc"], "io": ["-e", "read"], "locks": ["-e", "lock-wait"]}
SHOWN = 20  # differences


def exports():
    """{family: {function}}; those of the library itself are of the family "base"."""
    families, family = {"base": set()}, "base"
    with open(EXPORTS, encoding="utf-8") as lines:
        for line in map(str.strip, lines):
            if line.startswith("["):
                family = line.strip("[]")
                families[family] = set()
            elif line and not line.startswith("#"):
                families[family].add(line)
    return families


def listed():
    """(function, where) of each row, in order."""
    return [tuple(line.split()) for line in run([target("conformance"), "--list"]).stdout.decode().splitlines()]


def rows_missing(families, rows):
    """Exports without a row, and rows of what is no export."""
    exported, known = set().union(*families.values()), {row[0] for row in rows}
    return sorted(exported - known), sorted(known - exported)


def rows():
    families, table = exports(), listed()
    missing, unknown = rows_missing(families, table)
    expect(not missing, f"no row in targets/conformance_rows.h: {missing}")
    expect(not unknown, f"rows of functions that are not exported: {unknown}")
    probe = {**families, "base": families["base"] | {"one_without_a_row"}}
    expect(rows_missing(probe, table)[0] == ["one_without_a_row"], "an export without a row is not seen")


def told(output):
    """The lines, without what a siginfo holds that could not be written: how much of it the kernel leaves is its affair."""
    return [re.sub(r"^(sig\w*wait\w*\(.* errno 14) 1:\S+", r"\1", line) for line in output.decode().splitlines()]


def compared(carrier, family):
    names = [name for name, _ in listed()]
    own = [name for name in names if name in exports()[family]]
    command = [target("conformance"), own[0], own[-1]]
    native = run(command)
    with tempfile.TemporaryDirectory() as folder:
        options = ["-q", "-o", os.path.join(folder, "out.pnb"), *EVENTS[family]]
        if not (EVENTS[family] and carrier == "handler"):
            options += CARRIERS[carrier]
        recorded = run([PENUMBRA, "record", *options, "--", *command])
    expect(native.returncode == 0, f"ends with {native.returncode}")
    lines = told(native.stdout), told(recorded.stdout)
    expect(len(lines[0]) > len(own), f"only {len(lines[0])} calls of {len(own)} functions")
    expect(recorded.returncode == 0, f"recorded, it ends with {recorded.returncode}: {recorded.stderr.decode():.400}")
    differs = [line for line in difflib.unified_diff(*lines, "native", carrier, n=0, lineterm="") if line[0] in "-+"]
    expect(not differs, f"{len(differs)} lines differ:\n" + "\n".join(differs[:SHOWN]))


def main():
    try:
        rows() if sys.argv[1] == "rows" else compared(*sys.argv[1:])
    except Failure as failure:
        print(failure)
        sys.exit(1)
    print("ok")


main()
