"""Every interposed function, and every system call that the runtime or the engine tells from others, called with good and bad
arguments (targets/conformance.c): the same is seen natively and recorded.

    test_conformance.py rows              each of these functions and calls has a row
    test_conformance.py CARRIER FAMILY    handler, exact, burst or shadow; base, heap, io or locks
"""
import difflib
import fcntl
import os
import re
import sys
import tempfile

from harness import PENUMBRA, Failure, expect, run, target

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..", "..")
EXPORTS = os.path.join(ROOT, "tools", "runtime-exports.txt")
# Where calls of the program's are told apart, on their way to the kernel.
DISPATCHES = ["interpose/syscall.S", "carrier/exact/whole.c", "carrier/exact/whole_syscall.c",
              "trigger/interrupted.c",
              "input/input_calls.c"]
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


def calls_told_apart():
    found = set()
    for file in DISPATCHES:
        with open(os.path.join(ROOT, "src", "runtime", file), encoding="utf-8") as f:
            found |= set(re.findall(r"\bSYS_([a-z]\w*)", f.read()))
    return found


def listed():
    """(function, where) of each row, in order; of system calls: (syscall:NAME, where)."""
    return [tuple(line.split())
            for line in run([target("conformance"), "--list"]).stdout.decode().splitlines()]


def rows_missing(families, rows):
    """Exports without a row, and rows of what is no export."""
    exported, known = set().union(*families.values()), {row[0].partition(":")[0] for row in rows}
    return sorted(exported - known), sorted(known - exported)


def rows():
    families, table = exports(), listed()
    missing, unknown = rows_missing(families, table)
    expect(not missing, f"no row in targets/conformance_rows.h: {missing}")
    expect(not unknown, f"rows of functions that are not exported: {unknown}")
    probe = {**families, "base": families["base"] | {"one_without_a_row"}}
    told, known = calls_told_apart(), {name.partition(":")[2] for name, _ in table}
    expect(len(told) > 30, f"only {len(told)} system calls in {DISPATCHES}")
    expect(not told - known, f"no row of the system calls {sorted(told - known)}")
    expect(rows_missing(probe, table)[0] == ["one_without_a_row"],
           "an export without a row is not seen")


def told(output):
    """The lines, without what a siginfo holds that could not be written: how much of it the kernel
    leaves is its affair."""
    return [re.sub(r"^((?:syscall )?(?:rt_)?sig\w*wait\w*\(.* errno 14) [12]:\S+", r"\1", line)
            for line in output.decode().splitlines()]


def natively(command):
    done = run(command)
    expect(done.returncode == 0, f"ends with {done.returncode}")
    return done.stdout


def known(command, family):
    """What the program prints natively: by the first test of the family, for all of them."""
    path = target(f"conformance-{family}.native")
    with open(path, "a+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        output = file.read()
        if not output or os.path.getmtime(path) < os.path.getmtime(command[0]):
            output = natively(command)
            file.truncate(0)
            file.write(output)
    return output


def compared(carrier, family):
    names = [name for name, _ in listed()]
    own = [name for name in names if name in exports()[family]]
    command = [target("conformance"), own[0], own[-1]]
    native = known(command, family)
    # By one thread, since the kernel hands on what it has of an alternate stack even to what is
    # executed.
    with tempfile.TemporaryDirectory() as folder:
        options = ["-q", "-o", os.path.join(folder, "out.pnb"), *EVENTS[family]]
        if not (EVENTS[family] and carrier == "handler"):
            options += CARRIERS[carrier]
        recorded = run([PENUMBRA, "record", *options, "--", *command])
    if told(native) != told(recorded.stdout):
        native = natively(command)
    lines = told(native), told(recorded.stdout)
    expect(len(lines[0]) > len(own), f"only {len(lines[0])} calls of {len(own)} functions")
    expect(recorded.returncode == 0,
           f"recorded, it ends with {recorded.returncode}: {recorded.stderr.decode():.400}")
    differs = [line for line in difflib.unified_diff(*lines, "native", carrier, n=0, lineterm="")
               if line[0] in "-+"]
    expect(not differs, f"{len(differs)} lines differ:\n" + "\n".join(differs[:SHOWN]))


def main():
    try:
        rows() if sys.argv[1] == "rows" else compared(*sys.argv[1:])
    except Failure as failure:
        print(failure)
        sys.exit(1)
    print("ok")


main()
