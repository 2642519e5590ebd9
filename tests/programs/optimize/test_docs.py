"""The commands of docs/optimize.md, as they stand there."""
import os
import re
import shutil
import subprocess
import tempfile

from common import LLVM, PENUMBRA, expect, main, skip

TARGETS = os.environ["SOURCES"]
DOCS = os.environ["DOCS"]
PATH = {**os.environ, "PATH": os.path.dirname(PENUMBRA) + ":" + LLVM + ":" + os.environ["PATH"]}
RECORD = "penumbra record --exact --tool edges -o prog.pnb -- ./prog ARGUMENTS"


def sections():
    """{title: commands}, each a line or continued lines."""
    with open(DOCS, encoding="utf-8") as f:
        parts = re.split(r"^## ", f.read(), flags=re.M)
    out = {}
    for part in parts:
        title, _, text = part.partition("\n")
        text = re.sub(r"\\\n +", "", text)
        out[title] = [line.strip() for line in text.splitlines() if line.startswith("    ")]
    return out


def missing(command):
    """What a command needs and is not here."""
    if command.startswith(("llvm-", "perf2bolt ", "clang ")):
        name = command.split()[0]
        return None if os.path.exists(os.path.join(LLVM, name)) else f"{LLVM}/{name} (`make deps-optimize`)"
    linker = re.search(r"-fuse-ld=(\w+)", command)
    return f"ld.{linker.group(1)}" if linker and not shutil.which("ld." + linker.group(1), path=PATH["PATH"]) else None


def follow(title, source, made):
    """Runs a section's commands. What they make does what the program does."""
    commands = sections()[title]
    expect(RECORD in sections()["Recording"], "the recording is made by another command")
    expect(any(command.startswith("penumbra export") for command in commands), f"{title} has no commands")
    for command in commands:
        if missing(command):
            skip(f"no {missing(command)}")
    with tempfile.TemporaryDirectory() as d:
        def run(command):
            result = subprocess.run(command.replace("ARGUMENTS", "3000"), shell=True, cwd=d, env=PATH, timeout=600,
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            expect(result.returncode == 0, f"{command}: {result.stdout.decode()}{result.stderr.decode()}")
            return result.stdout

        with open(os.path.join(TARGETS, source), encoding="ascii") as f:
            text = f.read()
        with open(os.path.join(d, "prog.c"), "w", encoding="ascii") as f:
            f.write("#define FUNCTIONS\n#define PROGRAM\n" + text)
        for command in commands:
            if command.startswith("penumbra export") and not os.path.exists(os.path.join(d, "prog.pnb")):
                run(RECORD)
            run(command)
            if os.path.exists(os.path.join(d, made)):
                expect(run(f"./{made} 3000") == run("./prog 3000"), f"{command} makes something else")


def test_bolt():
    follow("BOLT", "known.c", "prog.bolt")


def test_clang():
    follow("clang", "places.c", "prog.pgo")


def test_gcc():
    follow("gcc", "places.c", "prog.pgo")


def test_blocks():
    follow("The order of blocks", "places.c", "prog.placed")


def test_order():
    follow("The order of functions", "calls.c", "prog.ordered")


main({name[5:]: test for name, test in list(globals().items()) if name.startswith("test_")})
