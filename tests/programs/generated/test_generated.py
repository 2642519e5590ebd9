#!/usr/bin/env python3
"""test_generated.py NAME: stacks of generated code, of programs that know who calls whom: each must
be exactly that chain, and nearly all must be complete."""
import contextlib
import json
import os
import re
import shutil
import sys
import tempfile

from harness import PENUMBRA, expect, main, run

HERE = os.path.dirname(os.path.abspath(__file__))
SKIP = 77
# Of some thousand stacks. Those that are not are at a method's ends, or where it is taken apart.
COMPLETE_LEAST = 0.98
STACKS_LEAST = 300


def stacks(folder, command, environment=None):
    """(frames, samples) of each stack, the root first."""
    out = os.path.join(folder, "out.pnb")
    run([PENUMBRA, "record", "-q", "-F", "997", "-o", out, "--", *command], cwd=folder,
        env={**os.environ, **(environment or {})})
    report = run([PENUMBRA, "report", "--json=flat", "--min", "0", "--no-fold", out], cwd=folder)
    report = json.loads(report.stdout)
    for process in report["processes"]: # where runtimes leave names
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"/tmp/perf-{process['pid']}.map")
    nodes = report["nodes"]
    paths = []
    for node in nodes:
        up = node["parent"]
        paths.append(paths[up] + [node["name"]] if up >= 0 else [])
        if node["self"]:
            yield paths[-1], node["self"]


JAVA_CHAIN = ["main", "f0", "f1", "f2", "f3", "f4", "go", "f6", "f7", "f8", "f9"]
JAVA_NAMES = ["-XX:-UsePerfData", "-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit",
              "-XX:CompileCommand=dontinline,Chain*.*"]
NODE_CHAIN = ["", "f0", "f1", "f2", "", "f3", "f4", "f5", "f6", "f7"]
NODE_NAMES = ["--perf-basic-prof", "--no-short-builtin-calls", "--no-turbo-inlining",
              "--interpreted-frames-native-stack"]


def java_known(frame):
    """A method of the program, by the map's name of it, or None."""
    found = re.match(r"\S+ Chain(?:\$\w+)?\.(\w+)\(", frame)
    return found and found[1]


def java_wrong(frames):
    """Interpreted methods are called Interpreter, whichever they are, one frame each."""
    last = max(i for i, f in enumerate(frames) if java_known(f))
    stubs = (i for i, f in enumerate(frames[:last]) if f.startswith("StubRoutines"))
    begin = max(stubs, default=-1) + 1
    chain = frames[begin:last + 1]
    if "[truncated]" in frames:
        known = [JAVA_CHAIN.index(java_known(f)) for f in chain if java_known(f)]
        return known != list(range(known[0], known[0] + len(known)))
    return any(f != "Interpreter" and java_known(f) != JAVA_CHAIN[i] for i, f in enumerate(chain)) \
        or len(chain) > len(JAVA_CHAIN) or begin == 0


def node_known(frame):
    """A function of the program, or None. Its module, and what it gives to reduce, have no name."""
    found = re.match(r"JS:[~^*+]?\s*(\w*) \S*/chain\.js:", frame)
    return found and found[1]


def node_wrong(frames):
    chain = [node_known(f) for f in frames if node_known(f) not in (None, "Base", "Other")]
    if frames[-1].startswith("Builtins_BaselineOutOfLinePrologue"):
        return False  # makes its caller's frame: that one is left out (docs/unwind.md)
    if "[truncated]" in frames:
        return not any(chain == NODE_CHAIN[i:i + len(chain)] for i in range(len(NODE_CHAIN)))
    return chain != NODE_CHAIN[:len(chain)] or frames[0] != "_start"


def check(command, known, wrong):
    with tempfile.TemporaryDirectory() as folder:
        found = [(f, n) for f, n in stacks(folder, command) if any(known(x) is not None for x in f)]
    total = sum(n for _, n in found)
    cut = sum(n for f, n in found if "[truncated]" in f)
    bad = [f for f, _ in found if wrong(f)]
    expect(total > STACKS_LEAST, f"{total} stacks only")
    expect(not bad, f"{len(bad)} kinds of stacks are not what the program does, for example\n"
           + "\n".join(bad[0] if bad else []))
    expect(total - cut >= COMPLETE_LEAST * total, f"{cut} of {total} stacks are incomplete")
    print(f"{total} stacks, {cut} incomplete")


def needs(*commands):
    for command in commands:
        if not shutil.which(command):
            print(f"{command} is not installed")
            sys.exit(SKIP)


def java(*options):
    needs("java", "javac")
    with tempfile.TemporaryDirectory() as folder:
        done = run(["javac", "-d", folder, os.path.join(HERE, "Chain.java")])
        expect(done.returncode == 0, done.stderr.decode())
        check(["java", *JAVA_NAMES, *options, "-cp", folder, "Chain", "25"], java_known, java_wrong)


def test_java():
    java()


def test_java_one_compiler():
    java("-XX:TieredStopAtLevel=1")


def test_java_frame_pointers():
    """What a runtime that keeps frame pointers has on its stacks is the same."""
    java("-XX:+PreserveFramePointer", "-XX:-TieredCompilation")


def test_node():
    needs("node")
    check(["node", *NODE_NAMES, os.path.join(HERE, "chain.js"), "60"], node_known, node_wrong)


main({name[5:]: value for name, value in list(globals().items()) if name.startswith("test_")})
