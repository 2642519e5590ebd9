#!/usr/bin/env python3
"""Compiles a program with the plugin, runs it with and without samples, and compares.

usage: run.py PLUGIN RUNTIME CC FOLDER PROGRAM [EXPECTATION...]

PLUGIN is penumbra.so, RUNTIME runtime.c as a library, CC the compiler that PLUGIN is for, FOLDER
where programs/ is. The program's output and exit status are those of a build without the plugin,
at every interval and when disarmed. Expectations:

  exact       at interval 1, with full and with partial duplication and with none, the counts of all
              events are those of exhaustive instrumentation
  property1   no more checks are executed than functions are entered and back edges taken
  counted     no check is lost: there are as many samples as the interval and the checks ask for
  held        in loops the counter is held in a register that is free, and in one that is not
  left=NAME   the report says that function NAME is left as it is; others are not
  library     PROGRAM is loads, and gets a library
"""

import os
import re
import subprocess
import sys
import tempfile

FLAGS = {
    "gotos": ["-O0", "-O2 -fPIC"],
    "switches": ["-O1", "-O2 -g", "-O3 -fPIC -fno-jump-tables"],
    "jumps": ["-O0 -g -Wl,--no-warn-execstack", "-O2 -fno-omit-frame-pointer -Wl,--no-warn-execstack"],
    "memory": ["-O0 -fPIC", "-O2 -no-pie -fno-pie", "-Os"],
    "numbers": ["-O2 -flto", "-O3 -mavx2 -fPIC", "-O1"],
    "parallel": ["-O2 -fopenmp"],
    "exceptions": ["-O2 -g"],
    "loads": ["-O2 -pthread"],
    "loops": ["-O2", "-O2 -fPIC", "-O3 -mavx2 -fno-pie -no-pie"],
}
VARIANTS = ["full", "partial", "none"]
WITH_GLOBAL_COUNTER = ["gotos", "memory", "loops"]
VARIANTS_OF_PATHS = ["full", "partial", "full check=switched"]
WITH_THREADS = ["parallel", "loads"]
WITH_CHECKS_ALONE = ["gotos", "memory"]
WHAT = "what=calls,fields,values,allocations,edges"
PATHS = "what=paths"
PATIENCE = 1200  # seconds: only what never happens takes as long, also on a busy machine
INTERVALS = ["off", "0", "1", "2", "3", "997"]


def fail(text):
    sys.exit(f"run.py: {text}")


class Build:
    """One program with one set of flags."""

    def __init__(self, arguments, work, name, flags):
        self.plugin, self.runtime, self.cc, self.folder = arguments
        self.work = work
        self.flags = flags
        self.name = name
        self.source = self.path_of(name)

    def path_of(self, name):
        path = os.path.join(self.folder, "programs", name)
        return path + ".cc" if os.path.exists(path + ".cc") else path + ".c"

    def compiler(self):
        return self.cc.replace("gcc", "g++") if self.source.endswith(".cc") else self.cc

    def compile(self, output, options, source=None, more=()):
        plugin = [f"-fplugin={self.plugin}"] if options is not None else []
        plugin += [f"-fplugin-arg-penumbra-gcc-{o}" for o in options or ()]
        path = os.path.join(self.work, output)
        command = [self.compiler(), *self.flags.split(), *more, *plugin, source or self.source, "-o", path]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode or result.stderr:
            fail(f"{' '.join(command)}:\n{result.stderr}")
        return path

    def library(self, options):
        if self.name != "loads":
            return []
        self.compile("library.so", options, self.path_of("library"), ("-fPIC", "-shared"))
        return [os.path.join(self.work, "library.so")]

    def run(self, program, arguments, interval="off"):
        """Its output and exit status, and the counts' text."""
        counts = os.path.join(self.work, "counts")
        environment = dict(os.environ)
        if interval != "off":
            environment.update(LD_PRELOAD=self.runtime, TEST_INST_INTERVAL=interval,
                               TEST_INST_OUT=counts)
        if os.path.exists(counts):
            os.unlink(counts)
        result = subprocess.run([program, *arguments], capture_output=True, env=environment,
                                timeout=PATIENCE, check=False)
        text = ""
        if os.path.exists(counts):
            with open(counts, encoding="utf-8") as file:
                text = file.read()
        return (result.stdout, result.stderr, result.returncode), text


def events(text):
    return sorted(line for line in text.splitlines() if not line.startswith("#"))


def differences(a, b):
    return "\n".join([f"- {line}" for line in sorted(set(a) - set(b))][:10] +
                     [f"+ {line}" for line in sorted(set(b) - set(a))][:10])


def check_property1(text, where):
    for line in text.splitlines():
        figures = re.match(r"# samples \d+ checks (\d+) entries (\d+) back_edges (\d+)", line)
        if figures:
            checks, entries, back = map(int, figures.groups())
            if not 0 < checks <= entries + back:
                fail(f"{where}: {checks} checks for {entries} entries and {back} back edges")


def check_branch_sites(text, where):
    """Back edges that the program jumps along need no instruction of ours while they are disarmed: those that depend on
    a condition, of which rotated loops have one each."""
    if not any(int(n) for n in re.findall(r"^#.* branch_sites (\d+)$", text, re.M)):
        fail(f"{where}: no conditional jump of the program's own is a site")


def check_counted(text, interval, where):
    samples, checks = map(int, re.search(r"# samples (\d+) checks (\d+)", text).groups())
    if checks < 10000 or samples != (checks + interval - 1) // interval:
        fail(f"{where}: at interval {interval} {samples} samples of {checks} checks")


def check_held(program, where):
    code = subprocess.run(["objdump", "-d", "--no-show-raw-insn", program], capture_output=True, text=True,
                          check=True).stdout
    for what, pattern in (("free register", r"\sdecl? +%[er]\w+\n.*\sjn?s "),
                          ("register that is not free", r"\sv?movq +%r\w+,%xmm([89]|1[0-5])\n")):
        if not re.search(pattern, code):
            fail(f"{where}: in no loop the counter is held in a {what}")


def check_alone(build, native):
    """Checks without duplicates are on each entry, or on each back edge, and nothing is counted."""
    for variant in ("entries", "back-edges"):
        where = f"{build.name} {build.flags} {variant}"
        program = build.compile("program", [f"variant={variant}", WHAT, "count-checks"])
        seen, text = build.run(program, [], "3")
        if seen != native:
            fail(f"{where}: {seen}, not {native}")
        figures = re.search(r"checks (\d+) entries (\d+) back_edges (\d+)", text)
        checks, entries, back = map(int, figures.groups())
        if events(text) or checks == 0 or checks != (entries if variant == "entries" else back):
            fail(f"{where}: {checks} checks for {entries} entries and {back} back edges, {len(events(text))} events")


def check_report(path, left, where):
    with open(path, encoding="utf-8") as file:
        found = set(re.findall(r": (\S+): left as it is: ", file.read()))
    found = {re.sub(r"\.\d+$", "", name) for name in found}
    if found != left:
        fail(f"{where}: left as they are: {sorted(found)}, not {sorted(left)}")


def check_variant(build, variant, what, native, expectations):
    where = f"{build.name} {build.flags} {variant} {what}"
    report = os.path.join(build.work, "report")
    if os.path.exists(report):
        os.unlink(report)
    options = [*f"variant={variant}".split(), what, f"report={report}", "count-checks"]
    program = build.compile("program", options)
    arguments = build.library(options)
    check_report(report, {e[5:] for e in expectations if e.startswith("left=")}, where)
    if "held" in expectations and variant in ("full", "partial"):
        check_held(program, where)
    at_one = ""
    for interval in INTERVALS:
        seen, text = build.run(program, arguments, interval)
        if seen != native:
            fail(f"{where}: at interval {interval}: {seen}, not {native}")
        if interval == "1":
            at_one = text
        if interval in ("1", "997") and "property1" in expectations and variant != "none":
            check_property1(text, where)
        if int(interval.replace("off", "0")) > 1 and "counted" in expectations and variant != "none":
            check_counted(text, int(interval), where)
        rotated = "property1" in expectations and "-O0" not in build.flags
        if interval == "1" and "check=patched" in variant and rotated:
            check_branch_sites(text, where)
    return events(at_one)


def check_what(build, what, variants, native, expectations):
    options = ["variant=exhaustive", what]
    exhaustive = build.compile("exhaustive", options)
    seen, text = build.run(exhaustive, build.library(options), "1")
    if seen != native:
        fail(f"{build.name} {build.flags}: exhaustive {what}: {seen}, not {native}")
    exact = events(text)
    if not exact:
        fail(f"{build.name} {build.flags}: exhaustive instrumentation counts nothing of {what}")
    for variant in variants:
        counts = check_variant(build, variant, what, native, expectations)
        if "exact" in expectations and counts != exact:
            fail(f"{build.name} {build.flags} {variant} {what}: at interval 1 (+), exhaustive (-):\n" +
                 differences(exact, counts))


def check(build, expectations):
    native, _ = build.run(build.compile("native", None), build.library(None))
    if build.name in WITH_CHECKS_ALONE:
        check_alone(build, native)
    more = ["full counter=global"] if build.name in WITH_GLOBAL_COUNTER else []
    more += ["full check=patched", "full check=switched", "partial check=switched"]
    check_what(build, WHAT, VARIANTS + more, native, expectations)
    if build.name not in WITH_THREADS:
        check_what(build, PATHS, VARIANTS_OF_PATHS, native, expectations)


def main():
    if len(sys.argv) < 6:
        sys.exit(__doc__)
    name = sys.argv[5]
    with tempfile.TemporaryDirectory(prefix="compiler-test-") as work:
        for flags in FLAGS[name]:
            check(Build(sys.argv[1:5], work, name, flags), sys.argv[6:])


if __name__ == "__main__":
    main()
