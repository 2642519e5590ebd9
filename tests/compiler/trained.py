#!/usr/bin/env python3
"""gcc's own counters (-fprofile-generate), sampled: what the program writes is what gcc's counters would have written, and
gcc -fprofile-use reads it.

usage: trained.py PENUMBRA PLUGIN RUNTIME CC FOLDER

RUNTIME is penumbra-inst.o, CC the compiler that PLUGIN is for, FOLDER where programs/ is. At interval 1 the files have
the very bytes that gcc's counters make, of threads, forked children, programs that are executed, libraries that are
loaded several times, C++; at another one each count is within what chance allows.
"""
import math
import os
import re
import subprocess
import sys
import tempfile

PATIENCE = 1200  # seconds: only what never happens takes as long, also on a busy machine
ROUNDS = 1000
MANY = 200 * ROUNDS
INTERVAL = 97
# program, its flags, its arguments, the plugin's options
EXACT = [
    ("trained", "-O2 -DCOUNTED -pthread -fprofile-update=atomic", [str(ROUNDS), "on"], []),
    ("trained", "-O2 -fPIC -pie -pthread -fprofile-update=single", [str(ROUNDS)], ["check=patched"]),
    ("switches", "-O1", [], ["variant=partial"]),
    ("numbers", "-O3 -flto", [], []),
    ("gotos", "-O0", [], []),
    ("exceptions", "-O2", [], []),
    ("loads", "-O2 -pthread -fprofile-update=atomic", [], []),
]
STATUS = {"gotos": 3}


def fail(text):
    sys.exit(f"trained.py: {text}")


def run(command, status=0, **more):
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE, **more)
    if result.returncode != status or result.stderr:
        fail(f"{' '.join(command)}: {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout


class Build:
    """One program, in a folder of its own, where its files of counters go."""

    def __init__(self, arguments, work, name):
        self.penumbra, self.plugin, self.runtime, self.cc, self.folder = map(os.path.abspath, arguments)
        self.work, self.name = work, name

    def source(self, name):
        path = os.path.join(self.folder, "programs", name)
        return path + ".cc" if os.path.exists(path + ".cc") else path + ".c"

    def compile(self, flags, options, name=None, output=None):
        source = self.source(name or self.name)
        compiler = self.cc.replace("gcc", "g++") if source.endswith(".cc") else self.cc
        plugin = [f"-fplugin={self.plugin}", "-fplugin-arg-penumbra-gcc-what=pgo", "-Wl," + self.runtime,
                  "-Wl,--export-dynamic-symbol=__penumbra1_owner"] if options is not None else []
        plugin += [f"-fplugin-arg-penumbra-gcc-{o}" for o in options or ()]
        run([compiler, *flags.split(), "-frandom-seed=1", source, "-o", output or self.name, *plugin], cwd=self.work)

    def counted(self, flags, options):
        """With counters; without the plugin (None) those that the plugin leaves out are left out, too."""
        flags = "-fprofile-generate " + flags
        if options is None: # what threads count at the same time is lost otherwise
            flags += " -fno-profile-values -fprofile-update=atomic"
        self.compile(flags, options)
        if self.name == "loads":
            self.compile(flags + " -fPIC -shared", options, "library", "library.so")

    def run(self, arguments, interval=None):
        """Its output and its files of counters, which are removed."""
        more = [os.path.join(self.work, "library.so")] if self.name == "loads" else []
        record = [self.penumbra, "record", "-q", "-o", "out.pnb", "--carrier", "compiled", "--interval", str(interval), "--"]
        output = run([*(record if interval else ()), "./" + self.name, *arguments, *more], STATUS.get(self.name, 0),
                     cwd=self.work)
        files = {}
        for name in sorted(os.listdir(self.work)):
            if name.endswith(".gcda"):
                with open(os.path.join(self.work, name), "rb") as file:
                    files[name] = file.read()
                os.unlink(os.path.join(self.work, name))
        return output, files


def check_exact(arguments, name, flags, given, options):
    with tempfile.TemporaryDirectory(prefix="compiler-test-") as work:
        build = Build(arguments, work, name)
        build.counted(flags, None)
        expected = build.run(given)
        build.counted(flags, options)
        seen = build.run(given, 1)
        if not expected[1] or seen != expected:
            differ = [f for f in expected[1] if seen[1].get(f) != expected[1][f]] or [seen[0], expected[0]]
            fail(f"{name} {flags} {options}: at interval 1 the counters are not gcc's own: {differ}")
        output, files = build.run(given)
        if output != expected[0] or files.keys() != expected[1].keys() or files == expected[1]:
            fail(f"{name} {flags} {options}: when disarmed, another output, or counts")


def counts(build, files):
    """All counts of a file of counters, in order."""
    [(name, data)] = files.items()
    path = os.path.join(build.work, name)
    with open(path, "wb") as file:
        file.write(data)
    tool = os.path.join(os.path.dirname(build.cc), os.path.basename(build.cc).replace("gcc", "gcov-dump"))
    rows = re.findall(r"^\S+:\s+\d+: ((?:\d+ )+)$", run([tool, "-l", path]), re.M)
    os.unlink(path)
    return [int(n) for row in rows for n in row.split()]


def check_sampled(arguments):
    with tempfile.TemporaryDirectory(prefix="compiler-test-") as work:
        build = Build(arguments, work, "trained")
        flags = "-O2 -pthread -fprofile-update=atomic"
        build.counted(flags, None)
        output, files = build.run([str(MANY)])
        exact = counts(build, files)
        build.counted(flags, [])
        [(file, data)] = build.run([str(MANY)], INTERVAL)[1].items()
        sampled = counts(build, {file: data})
        if len(exact) < 10 or len(exact) != len(sampled) or exact == sampled:
            fail(f"{exact} and {sampled}")
        for e, s in zip(exact, sampled):
            if abs(e - s) > 6 * math.sqrt(e * INTERVAL) + 6 * INTERVAL:
                fail(f"{s} instead of {e} at interval {INTERVAL}: {exact}, {sampled}")
        with open(os.path.join(work, file), "wb") as back:
            back.write(data)
        use = "-O2 -pthread -fprofile-use -fprofile-correction -Wmissing-profile -Werror=coverage-mismatch"
        build.compile(use + " -fdump-tree-optimized-all", None)
        if run(["./trained", str(MANY)], cwd=work) != output:
            fail("trained, it has another output")
        [dump] = [f for f in os.listdir(work) if f.endswith(".optimized")]
        with open(os.path.join(work, dump), encoding="utf-8") as file:
            text = file.read()
        # it is entered less often than there are samples
        if not re.search(r"^;; Function work .*\(hot\)$", text, re.M):
            fail("gcc has not learnt that the loop is hot: " + str(re.findall("^;; Function.*", text, re.M)))


def check_left(arguments):
    """A unit that cannot be instrumented has gcc's own counters."""
    with tempfile.TemporaryDirectory(prefix="compiler-test-") as work:
        build = Build(arguments, work, "left")
        with open(os.path.join(work, "left.c"), "w", encoding="ascii") as file:
            file.write("extern int g(int); int f(int n) { int s = 0; while (n--) s += g(n); return s; }\n")
        for option in ("-masm=intel", "-m32", "-mcmodel=large"):
            flags = ["-O2", "-fprofile-generate", "-fno-profile-values", "-frandom-seed=1", option, "-S", "left.c", "-o", "-"]
            texts = [run([build.cc, *flags, *more], cwd=work) for more in
                     ([], [f"-fplugin={build.plugin}", "-fplugin-arg-penumbra-gcc-what=pgo"])]
            if "__gcov0" not in texts[0] or texts[0] != texts[1]:
                fail(f"{option}: other code\n{texts[0]}{texts[1]}")


def main():
    if len(sys.argv) != 6:
        sys.exit(__doc__)
    for name, flags, given, options in EXACT:
        check_exact(sys.argv[1:], name, flags, given, options)
    check_sampled(sys.argv[1:])
    check_left(sys.argv[1:])


if __name__ == "__main__":
    main()
