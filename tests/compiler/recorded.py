#!/usr/bin/env python3
"""Programs that `penumbra cflags` and `penumbra cc` build, recorded: counts are exact at interval 1.

usage: recorded.py PENUMBRA CC CXX

With checks that are compiled in and with sites that are made checks, linked dynamically and statically. And what
cflags says of a compiler that there is no plugin for.
"""
import json
import os
import subprocess
import sys
import tempfile

ROUNDS = 20000
SOURCE = """\
#include <stdio.h>
#include <stdlib.h>
struct node { long key, count, cold; };
static struct node nodes[16];
__attribute__((noinline)) long look(struct node *n) { return n->key; }
int main(int argc, char **argv)
{
    long sum = 0;
    (void)argc;
    for (long i = 0; i < atol(argv[1]); i++) {
        struct node *n = &nodes[i & 15];
        n->count = i;
        sum += look(n);
    }
    printf("%ld\\n", sum);
    return 0;
}
"""


def run(*command, status=0, **more):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    if done.returncode != status:
        sys.exit(f"{' '.join(command)}: status {done.returncode}: {done.stdout}{done.stderr}")
    return done


def expect(condition, what):
    if not condition:
        sys.exit(f"not as expected: {what}")


def counted(penumbra, program, interval):
    """{member: (reads, writes)} of struct node"""
    run(penumbra, "record", "-q", "--carrier", "compiled", "--interval", str(interval), "-o", "p.pnb", "--", program,
        str(ROUNDS))
    report = json.loads(run(penumbra, "report", "--json", "--limit", "0", "p.pnb").stdout)
    return {m["name"]: (m["reads"], m["writes"]) for t in report["types"] if t["name"] == "node"
            for m in t["members"]}


def check(penumbra, compiler, options, flags):
    given = run(penumbra, "cflags", "--compiler", compiler, *options).stdout.split()
    run(compiler, "-O2", *given, *flags, "-o", "program", "program.c")
    expect(run("./program", "5").stdout == "0\n", "it does not run by itself")
    found = counted(penumbra, "./program", 1)
    expect(found == {"key": (ROUNDS, 0), "count": (0, ROUNDS), "cold": (0, 0)}, (options, flags, found))
    some = counted(penumbra, "./program", 20)
    expect(abs(some["key"][0] - ROUNDS) < ROUNDS / 4, (options, flags, some))


def check_wrappers(penumbra, compiler, name):
    """penumbra cc: the compiler of that name that PATH has."""
    os.makedirs("bin", exist_ok=True)
    os.symlink(compiler, os.path.join("bin", name))
    path = f"{os.getcwd()}/bin:{os.environ['PATH']}"
    run(penumbra, "cc", "--", "sh", "-c", f"{name} -O2 -o wrapped program.c", env=dict(os.environ, PATH=path))
    found = counted(penumbra, "./wrapped", 1)
    expect(found["key"] == (ROUNDS, 0), (name, found))


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    penumbra, compiler, cxx = map(os.path.abspath, sys.argv[1:])
    with tempfile.TemporaryDirectory(prefix="compiler-recorded-") as work:
        os.chdir(work)
        with open("program.c", "w", encoding="utf-8") as f:
            f.write(SOURCE)
        for options in ([], ["check=patched"]):
            for flags in ([], ["-static"]):
                check(penumbra, compiler, options, flags)
        check_wrappers(penumbra, compiler, "gcc")
        check_wrappers(penumbra, cxx, "g++")
        with open("other", "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\necho 11.4.0\n")
        os.chmod("other", 0o755)
        said = run(penumbra, "cflags", "--compiler", "./other", status=127).stderr
        expect("there is no plugin for" in said and "version 11" in said, said)


if __name__ == "__main__":
    main()
