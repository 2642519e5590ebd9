"""Orders of functions, read by lld and gold: where functions lie in what they link."""
import os
import shutil
import subprocess
import tempfile

from common import EDGES, LLVM, Recording, expect, export, functions, main, run, skip

SOURCE = os.path.join(os.environ["SOURCES"], "calls.c")
COMPILE = ["cc", "-O2", "-ffunction-sections", "-fcf-protection=none"]
# entry calls a and that b, then c, then d; once is called once
WANTED = ["entry", "a", "b", "_Z1cj", "d", "once"]
PATH = {**os.environ, "PATH": LLVM + ":" + os.environ["PATH"]}


class Build:
    """The program, linked as the compiler likes, and its objects."""

    def __init__(self, way=("-pie", "-fPIE"), library=False):
        self.folder = tempfile.TemporaryDirectory()
        self.way, self.library = list(way), library
        self.object = self.path("calls.o")
        parts = ["-DFUNCTIONS"] if library else ["-DFUNCTIONS", "-DPROGRAM"]
        self.check([*COMPILE, *self.way, *parts, "-c", SOURCE, "-o", self.object])
        self.program = self.path("calls")
        self.placed = self.link("libcalls.so" if library else "calls")
        if library:
            self.check([*COMPILE, "-DPROGRAM", SOURCE, self.placed, "-Wl,-rpath," + self.folder.name, "-o",
                        self.program])

    def path(self, name):
        return os.path.join(self.folder.name, name)

    @staticmethod
    def check(command):
        result = run(command, env=PATH)
        expect(result.returncode == 0, f"{command}: {result.stderr.decode()}")
        return result.stderr.decode()

    def link(self, name, *options):
        out = self.path(name)
        self.said = self.check([*COMPILE, *self.way, *(["-shared"] if self.library else []), "-Wl,--build-id=sha1",
                                *options, self.object, "-o", out])
        return out


def lies(path):
    """Names of WANTED in the order of their addresses."""
    of = functions(path)
    return sorted(WANTED, key=lambda name: of[name][0])


def ordered(text):
    return [line for line in text.splitlines() if line in WANTED]


def record(build, options=EDGES, n=2000):
    return Recording([build.program, str(n)], options)


def test_known():
    """By all sources, the same order."""
    build = Build()
    for options in EDGES, ("--exact", "--tool", "paths"), ("--exact", "--tool", "blocks"):
        text, errors = export(record(build, options), "order")
        expect(ordered(text) == WANTED, f"{options}: {text}")
        expect("never" not in text.split(), "never is not executed")
        expect(len(set(text.splitlines())) == len(text.splitlines()), "a name is twice there")
        expect(f"{len(text.splitlines())} functions by " in errors, errors)
    build = Build(("-no-pie", "-fno-pie"))
    expect(ordered(export(record(build), "order")[0]) == WANTED, "without PIE")


def test_sampled():
    build = Build()
    bursts = ("--carrier", "burst", "--tool", "edges", "-F", "997", "--length", "20000")
    text, _ = export(record(build, bursts, 1000000), "order", says="not scaled")
    expect([f for f in ordered(text) if f != "once"] == WANTED[:5], f"of bursts: {text}")
    text, _ = export(record(build, ("-F", "997"), 4000000), "order", says="of sampled call paths")
    expect([f for f in ordered(text) if f != "once"] == WANTED[:5], f"of stacks: {text}")


def test_library():
    """Its functions call each other through linkage stubs."""
    build = Build(("-fPIC",), library=True)
    r = record(build)
    expect("a@plt" in run(["objdump", "-d", build.placed]).stdout.decode(), "there are no stubs")
    text, _ = export(r, "order", "--image", build.placed)
    expect(ordered(text) == WANTED, text)


def test_stripped():
    build = Build()
    full = build.path("full")
    shutil.copy(build.program, full)
    subprocess.run(["strip", build.program], check=True)
    r = record(build)
    text, _ = export(r, "order", says="100.0% of what was executed, in code without a symbol")
    expect(not ordered(text), text)
    expect(ordered(export(r, "order", "--image", full)[0]) == WANTED, "by the file with symbols")
    other = build.link("calls", "-Wl,-z,noseparate-code")
    for form in "order", "order-sections":
        text, _ = export(r, form, "--image", other, status=2, says="another build")
        expect(not text, "something was written")


def linked(form, linker, option):
    """The program linked by an order, and where its functions lie without and with it."""
    found = shutil.which("ld." + linker, path=PATH["PATH"])
    if not found:
        skip(f"no ld.{linker}: " + ("`make deps-optimize` installs it" if linker == "lld" else "it is in Debian's binutils"
                                    "-gold, or binutils before 2.44"))
    build = Build()
    r = record(build)
    given = build.path("order")
    with open(given, "w", encoding="ascii") as f:
        f.write(export(r, form)[0])
    before = lies(build.link("before", "-fuse-ld=" + linker))
    expect(before != WANTED, "they lie in the order of calls by themselves")
    after = build.link("after", "-fuse-ld=" + linker, f"-Wl,{option}={given}")
    expect(lies(after) == WANTED, f"{linker} places {lies(after)}")
    of = functions(after)
    span = max(of[name][1] for name in WANTED) - min(of[name][0] for name in WANTED)
    expect(span < 800, f"they take {span} bytes: something lies between them")
    expect(run([after, "2000"]).stdout == r.native.stdout, "the program writes something else")
    return build


def test_lld():
    build = linked("order", "lld", "--symbol-ordering-file")
    expect("no such symbol" not in build.said and "duplicate" not in build.said, build.said)


def test_gold():
    linked("order-sections", "gold", "--section-ordering-file")


main({name[5:]: test for name, test in list(globals().items()) if name.startswith("test_")})
