#!/usr/bin/env python3
"""How many stacks through generated code are complete, for each of the programs in this folder.

    bench/generated/measure.py build/penumbra            all that this machine has runtimes for
    bench/generated/measure.py build/penumbra Loops json    some of them
        --size N       how long they run (default 4: a second or more)
        --ends         what the outermost known frames of incomplete stacks are
        --option TEXT  another option for the runtime, such as --option=-XX:+PreserveFramePointer

A stack goes through generated code if one of its frames lies in no file."""
import argparse
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
JAVA_NAMES = ["-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit"]
NODE_NAMES = ["--perf-basic-prof", "--no-short-builtin-calls"]


def sources(pattern):
    return {os.path.splitext(os.path.basename(f))[0]: f for f in sorted(glob.glob(os.path.join(HERE, pattern)))}


def java(folder, source, options, size):
    subprocess.run(["javac", "-d", folder, source], check=True, timeout=300)
    name = os.path.splitext(os.path.basename(source))[0]
    return ["java", *JAVA_NAMES, *options, "-cp", folder, name, str(size)]


def node(_folder, source, options, size):
    return ["node", *NODE_NAMES, *options, source, str(size)]


class Stacks:
    """The stacks of a profile, root first, as (frames, samples); a frame is (function, image)."""

    def __init__(self, document):
        nodes = document["nodes"]
        paths = []
        self.all = []
        for node in nodes:
            up = node["parent"]
            paths.append(paths[up] + [(node["name"], node["image"])] if up >= 0 else [])
            if node["self"]:
                self.all.append((paths[-1], node["self"]))

    def generated(self):
        return [(f, n) for f, n in self.all if any(image == "[jit]" or name.startswith("Builtins_")
                                                   for name, image in f)]


def is_truncated(frames):
    return any(name == "[truncated]" for name, _ in frames)


def outermost(frames):
    at = [name for name, _ in frames].index("[truncated]") + 1
    return frames[at][0] if at < len(frames) else "(nothing)"


def record(tool, command, folder, environment=None):
    out = os.path.join(folder, "out.pnb")
    subprocess.run([tool, "record", "-q", "-o", out, "--", *command], check=True, timeout=600, cwd=folder,
                   stdout=subprocess.DEVNULL, env={**os.environ, **(environment or {})})
    done = subprocess.run([tool, "report", "--json=flat", "--min", "0", out], check=True, timeout=600, capture_output=True)
    return json.loads(done.stdout)


def row(name, stacks, ends):
    generated = stacks.generated()
    total = sum(n for _, n in generated)
    cut = [(f, n) for f, n in generated if is_truncated(f)]
    bad = sum(n for _, n in cut)
    everything = sum(n for _, n in stacks.all)
    allbad = sum(n for f, n in stacks.all if is_truncated(f))
    print(f"{name:14} {total:7} stacks, incomplete {100 * bad / max(1, total):6.2f}%; all threads' "
          f"{everything:7}, {100 * allbad / max(1, everything):6.2f}%", flush=True)
    if ends:
        by = {}
        for f, n in [x for x in stacks.all if is_truncated(x[0])]:
            by[outermost(f)] = by.get(outermost(f), 0) + n
        for end, n in sorted(by.items(), key=lambda x: -x[1])[:12]:
            print(f"    {n:7}  {end[:100]}")
    return total, bad


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("tool")
    ap.add_argument("names", nargs="*")
    ap.add_argument("--size", type=int, default=4)
    ap.add_argument("--ends", action="store_true")
    ap.add_argument("--option", action="append", default=[])
    a = ap.parse_intermixed_args()
    a.tool = os.path.abspath(a.tool)
    for runtime, pattern, make in (("java", "*.java", java), ("node", "*.js", node)):
        programs = {n: s for n, s in sources(pattern).items() if not a.names or n in a.names}
        if programs and not shutil.which(runtime):
            print(f"{runtime}: not installed")
            continue
        total = bad = 0
        for name, source in programs.items():
            with tempfile.TemporaryDirectory(prefix="penumbra-generated-") as folder:
                stacks = Stacks(record(a.tool, make(folder, source, a.option, a.size), folder))
            t, b = row(name, stacks, a.ends)
            total += t
            bad += b
        if programs:
            print(f"{runtime:14} {total:7} stacks, incomplete {100 * bad / max(1, total):6.2f}%")


if __name__ == "__main__":
    sys.exit(main())
