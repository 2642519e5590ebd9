"""Suites that are built by their own makefiles, once: sqlite's and libunwind's."""

import glob
import os
import shutil
import subprocess

from suites import WORK, Missing, Program, said

BUILD = 3600  # seconds


def built(suite, source, wanted, *steps):
    """The folder where the steps have made `wanted`. That not all of the rest can be made is no
    failure."""
    folder = os.path.join(WORK, "programs", suite.name)
    if os.path.exists(os.path.join(folder, wanted)):
        return folder
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "build.log"), "w", encoding="utf-8") as log:
        for step in steps:
            subprocess.run([word.replace("SOURCE", source) for word in step], cwd=folder,
                           stdin=subprocess.DEVNULL, stdout=log,
                           stderr=log, timeout=BUILD, check=False)
    if not os.path.exists(os.path.join(folder, wanted)):
        raise Missing(f"{suite.package} cannot be built here: see {os.path.join(folder, 'build.log')}")
    return folder


# Prints the files of a suite of tests, as permutations.test has them.
LIST = """set testdir [file dirname $argv0]
source $testdir/permutations.test
array set chosen $::testspec(veryquick)
foreach file [lsort $chosen(-files)] { puts "veryquick: [file tail $file] [file normalize [file join $testdir $file]]" }
exit 0
"""


# How much memory it took is drawn by lot where the test is.
MEMORY = rb"^(Memory used|Allocation count|Page-cache (used|overflow)|(Maximum|Current) memory usage).*\n"


def find_sqlite(suite, source):
    """Each file of veryquick by itself. Nothing that is tested is compiled out."""
    tcl = next(iter(glob.glob("/usr/lib/tcl8*/tclConfig.sh") +
                    glob.glob("/usr/lib/*/tcl8*/tclConfig.sh")), None)
    if not tcl:
        raise Missing("tcl-dev is not installed")
    folder = built(suite, source, "testfixture",
                   ["SOURCE/configure", "--enable-all", "--disable-shared",
                    f"--with-tcl={os.path.dirname(tcl)}"],
                   ["make", "testfixture"])
    fixture, script = os.path.join(folder,
                                   "testfixture"), os.path.join(source, "test", "peers-list.tcl")
    with open(script, "w", encoding="ascii") as f:
        f.write(LIST)
    lines = [line.split() for line in said(fixture, script, cwd=folder).splitlines()]
    return [(line[1], lambda line=line: Program(suite.name, line[1], [fixture, line[2]],
                                                ignored=MEMORY))
            for line in lines if line[:1] == ["veryquick:"]]


def libunwind_program(suite, folder, name):
    """libtool leaves a script in the place of a program that wants a library which is not
    installed."""
    inner, outer = os.path.join(folder, ".libs", name), os.path.join(folder, name)
    library = os.path.join(os.path.dirname(folder), "src", ".libs")
    if name.startswith("run-"):
        return Program(suite.name, name, ["sh", outer], folder)
    return Program(suite.name, name,
                   ["env", f"LD_LIBRARY_PATH={library}", inner if os.path.exists(inner) else outer],
                   folder)


def find_libunwind(suite, source):
    """What `make check` runs, but for what only looks at the library's names."""
    folder = os.path.join(built(suite, source, "tests/test-setjmp",
                                ["SOURCE/configure", "--disable-documentation"],
                                ["make", "-C", "src"], ["make", "-k", "-C", "tests", "check",
                                                        "TESTS="]), "tests")
    for file in glob.glob(os.path.join(source, "tests", "run-*")):
        shutil.copy(file, folder)
    helpers = {"run-check-namespace", "run-ia64-test-dyn1", "check-namespace.sh", "forker",
               "crasher", "mapper", "test-ptrace-misc"}
    names = [name for name in sorted(os.listdir(folder)) if name not in helpers
             and os.path.isfile(os.path.join(folder, name))
             and os.access(os.path.join(folder, name), os.X_OK)]
    return [(name, lambda name=name: libunwind_program(suite, folder, name)) for name in names]
