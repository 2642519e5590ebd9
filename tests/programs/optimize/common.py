"""What the tests of exports for optimizers share."""
import os
import sys

sys.path.insert(0, os.environ["HARNESS"])
from harness import PENUMBRA, Recording, expect, main, run, target  # noqa: E402,F401

N = 4000
LLVM = "/usr/lib/llvm-19/bin"  # Debian's links of BOLT in /usr/bin misbehave
EDGES = ("--exact", "--tool", "edges")


def skip(why):
    print(f"SKIP: {why}")
    sys.exit(77)


def reader(name):
    path = os.path.join(LLVM, name)
    return path if os.path.exists(path) else skip(f"no {path}: `make deps-optimize` installs it")


def record(kind, options=EDGES, *more):
    return Recording([target("optimize_" + kind), str(N), *more], options)


def export(recording, form, *options, status=0, says=None):
    result = run([PENUMBRA, "export", "-f", form, *options, recording.file])
    errors = result.stderr.decode()
    expect(result.returncode == status, f"export -f {form} {options} ends with {result.returncode}: {errors}")
    for words in (says,) if isinstance(says, str) else says or ():
        expect(words in errors, f"{words!r} is not in {errors!r}")
    return result.stdout.decode(), errors


def functions(path):
    """{name: (start, end)} by nm."""
    out = {}
    for line in run(["nm", "-S", path]).stdout.decode().splitlines():
        words = line.split()
        if len(words) == 4 and words[2] in "tT":
            start = int(words[0], 16)
            out[words[3]] = (start, start + int(words[1], 16))
    return out
