"""Profiles of source lines: their counts, and what LLVM and gcc make of them."""
import os
import re
import struct
import subprocess
import tempfile

from common import EDGES, LLVM, PENUMBRA, Recording, expect, export, main, reader, run, skip

N = 4000
SOURCE = os.path.join(os.environ["SOURCES"], "places.c")
CALLS = {"work": 1, "leaf": N, "rare": N // 8, "twice": 3 * N // 4, "thrice": N // 4}


def line_of(text):
    """The number of the line of places.c that has the text."""
    with open(SOURCE, encoding="ascii") as f:
        return next(i for i, line in enumerate(f, 1) if text in line)


class Program:
    def __init__(self, *command):
        self.folder = tempfile.TemporaryDirectory()
        self.compiler = command
        self.path = self.compile("places")

    def file(self, name, data=None):
        path = os.path.join(self.folder.name, name)
        if data is not None:
            with open(path, "wb" if isinstance(data, bytes) else "w") as f:
                f.write(data)
        return path

    def compile(self, name, *options):
        out = self.file(name)
        result = run([*self.compiler, *options, SOURCE, "-o", out, "-Wl,--build-id=sha1"], cwd=self.folder.name)
        self.said = result.stderr.decode()
        expect(result.returncode == 0, self.said)
        return out

    def record(self, options=EDGES, n=N):
        return Recording([self.path, str(n)], options)


def gcc(*options):
    return Program("cc", "-O2", "-g", "-fcf-protection=none", *options)


class Sample:
    """Of LLVM's text form: functions {name: (total, head)}, and places {((function, place) ..., place): count}."""

    def __init__(self, text):
        self.functions, self.places, self.calls = {}, {}, {}
        path = []
        for line in text.splitlines():
            depth = len(line) - len(line.lstrip(" "))
            if not depth:
                name, total, head = line.rsplit(":", 2)
                expect(name not in self.functions, f"{name} is there twice")
                self.functions[name] = int(total), int(head)
                path = [name]
                continue
            place, rest = line.strip().split(": ", 1)
            path = path[:depth] + [place]
            if re.fullmatch(r"\w+:\d+", rest):
                path.append(rest.split(":")[0])
                path = path[:-2] + [f"{path[-2]} {path[-1]}"]
                continue
            count, *targets = rest.split()
            expect(tuple(path) not in self.places, f"{path} is there twice")
            self.places[tuple(path)] = int(count)
            for target in targets:
                name, calls = target.rsplit(":", 1)
                self.calls[(*path, name)] = int(calls)

    def called(self, name):
        return sum(count for path, count in self.calls.items() if path[-1] == name)


def test_known():
    """By gcc's debug information."""
    program = gcc()
    text, errors = export(program.record(), "llvm-sample", says="executions of instructions of")
    sample = Sample(text)
    for name, calls in CALLS.items():
        expect(sample.functions[name][1] == calls, f"head of {name}: {sample.functions[name]}")
        expect(sample.called(name) == calls or name == "work", f"calls of {name}: {sample.called(name)}")
    expect(sample.functions["main"][1] == 1, text)
    first = line_of("unsigned within(unsigned n)\n")
    for text_of, times in ("return rare(n);", N // 8), ("return n / 3;", N - N // 8):
        place = str(line_of(text_of) - first)
        counts = [count for path, count in sample.places.items()
                  if len(path) == 4 and path[-1].split(".")[0] == place]
        expect(max(counts) == times, f"{text_of} {counts}")
    # two calls inlined into each other
    inner = {path: count for path, count in sample.places.items() if len(path) == 4}
    expect(inner and all(path[0] == "work" and path[1].endswith(" around") and path[2].endswith(" within")
                         for path in inner), f"inlined: {text}")
    expect(sum(count for path, count in sample.calls.items() if path[-1] == "rare" and len(path) == 5) == N // 8,
           f"rare is called from what was inlined twice: {sample.calls}")
    totals = sum(total for total, _ in sample.functions.values())
    expect(totals == sum(sample.places.values()), "totals are not those of places")


def test_sampled():
    program = gcc()
    text, errors = export(program.record(("-F", "997"), 30000000), "llvm-sample", says="of samples, each of one")
    sample = Sample(text)
    said = int(re.search(r": (\d+) samples of", errors).group(1))
    expect(said > 50 and sample.functions["work"][0] > 10, text)
    expect(0 < sum(sample.places.values()) <= said, f"{said} samples, written {text}")
    bursts = ("--carrier", "burst", "--tool", "edges", "-F", "997", "--length", "20000")
    text, _ = export(program.record(bursts, 1000000), "llvm-sample", says="not scaled")
    sample = Sample(text)
    ratio = sample.functions["twice"][1] / sample.functions["leaf"][1]
    expect(sample.functions["leaf"][1] > 500 and abs(ratio - 0.75) < 0.1, text)


def test_refused():
    program = gcc()
    r = program.record()
    other = program.compile("places", "-DOTHER", "-O1")
    for form in "llvm-sample", "autofdo":
        for options in (), ("--image", other):
            result = run([PENUMBRA, "export", "-f", form, *options, r.file])
            expect(result.returncode == 2 and not result.stdout, result.stderr.decode())
            expect("is another build of" in result.stderr.decode(), result.stderr.decode())
    bare = Program("cc", "-O2", "-g0")
    text, _ = export(bare.record(), "llvm-sample", says=("left out: 100.0%", "compile with -g"))
    expect("work" not in text, text)
    program = gcc()
    text, _ = export(program.record(("--exact", "--tool", "blocks")), "llvm-sample", says="only direct calls and jumps are known")
    expect(Sample(text).functions["leaf"][1] == N, text)


def test_llvm():
    """What llvm-profgen makes of ranges and branches is what is exported as places."""
    clang = reader("clang")
    program = Program(clang, "-O2", "-g", "-fdebug-info-for-profiling")
    r = program.record()
    text = export(r, "llvm-sample")[0]
    given, ranges, theirs = program.file("ours", text), program.file("ranges", export(r, "llvm-profgen")[0]), \
        program.file("theirs")
    result = run([reader("llvm-profgen"), "--unsymbolized-profile=" + ranges, "--use-offset=0", "--format=text",
                  "--binary=" + program.path, "--output=" + theirs])
    expect(result.returncode == 0, result.stderr.decode())
    with open(theirs, encoding="ascii") as f:
        # it takes code of no line, line 0, for code of a line before the function
        lines = [line for line in f if not re.match(r" +65\d\d\d: ", line)]
    program.file("theirs", "".join(lines))
    wanted = Sample("".join(lines))
    sample = Sample(text)
    for name in (*CALLS, "main"):  # its totals are of bytes of code
        expect(sample.functions[name][1] == wanted.functions[name][1],
               f"{name}: {sample.functions[name]}, llvm-profgen has {wanted.functions[name]}")
    own = {path: count for path, count in sample.places.items() if path[0] in CALLS}
    expect(own == {path: count for path, count in wanted.places.items() if path[0] in CALLS},
           f"places: {text}, llvm-profgen has {wanted.places}")
    expect({path: n for path, n in sample.calls.items() if path[0] in CALLS} ==
           {path: n for path, n in wanted.calls.items() if path[0] in CALLS},
           f"calls: {sample.calls}, llvm-profgen has {wanted.calls}")
    expect(any("." in path[-1] for path in own), "there are no discriminators")
    result = run([reader("llvm-profdata"), "overlap", "--sample", given, theirs])
    expect(result.returncode == 0 and b"Edge profile overlap" not in result.stderr, result.stderr.decode())
    said = re.search(r"Whole program profile similarity: ([\d.]+)%", result.stdout.decode())
    expect(said and float(said.group(1)) > 99.9, result.stdout.decode())
    # clang takes the counts of entries and branches
    ir = program.compile("places.ll", "-fprofile-sample-use=" + given, "-S", "-emit-llvm")
    with open(ir, encoding="ascii") as f:
        code = f.read()
    entries = dict(re.findall(r"define .*@(\w+)\(.*!prof !(\d+) ", code))
    counts = dict(re.findall(r'^!(\d+) = !{!"function_entry_count", i64 (\d+)}', code, re.M))
    for name in "leaf", "rare":
        expect(abs(int(counts[entries[name]]) - CALLS[name]) <= 1, f"clang has {name} entered {counts} times")
    better = program.compile("better", "-fprofile-sample-use=" + given)
    expect(run([better, str(N)]).stdout == r.native.stdout, "the optimized program writes something else")


def contexts_of(text):
    """{((function, place) ..., function): {place: count}} of LLVM's text form with calling contexts."""
    found = {}
    for line in text.splitlines():
        if line.startswith("["):
            name, total, head = line.rsplit(":", 2)
            *callers, leaf = name[1:-1].split(" @ ")
            places = found.setdefault((*(tuple(c.rsplit(":", 1)) for c in callers), leaf), {})
            expect(not places and int(total) and not int(head), f"odd: {line}")
            left = int(total)
        else:
            place, count = line.strip().split(": ")
            places[place] = int(count)
            left -= int(count)
            expect(left >= 0, f"{name} has less than its places")
    return found


def test_contexts():
    """Each function by who called it, inlined or not."""
    program = gcc()
    r = program.record(("-F", "1997"), 30000000)
    text, errors = export(r, "llvm-contexts", says="calls are not counted")
    found = contexts_of(text)
    said = int(re.search(r": (\d+) samples of", errors).group(1))
    counted = sum(sum(places.values()) for places in found.values())
    expect(50 < counted <= said, f"{said} samples, written {text}")
    within = line_of("unsigned within(unsigned n)\n")
    calls = {"leaf": ("work", line_of("leaf(i)") - line_of("APART unsigned work(unsigned n, operation *const *operations)\n")),
             "rare": ("within", line_of("return rare(n)") - within)}
    for name, (caller, line) in calls.items():
        ways = [path for path in found if path[-1] == name and len(path) > 2]
        expect(ways or name != "leaf", text)
        expect(all(path[-2][0] == caller and path[-2][1].split(".")[0] == str(line) and path[0][0] == "main"
                   for path in ways), f"{name}: {ways}")
    expect(any([frame[0] for frame in path[:-1]] == ["main", "work", "around"] for path in found), text)
    text, _ = export(program.record(), "llvm-contexts", status=2, says="no sampled call paths")
    expect(not text, text)


def test_deep():
    """A recursion: contexts begin anew where they would be too deep, and nothing is lost."""
    program = gcc()
    program.file("deep.c", "volatile unsigned sink;\n"
                 "__attribute__((noinline, noclone)) void down(unsigned n)\n"
                 "{ if (n) down(n - 1); for (int i = 0; i < 200; i++) sink += n; sink++; }\n"
                 "int main(void) { for (int i = 0; i < 10000; i++) down(100); return 0; }\n")
    deep = program.file("deep")
    result = run(["cc", "-O1", "-g", "-fno-optimize-sibling-calls", program.file("deep.c"), "-o", deep])
    expect(result.returncode == 0, result.stderr.decode())
    text, errors = export(Recording([deep], ("-F", "1997")), "llvm-contexts", says="samples of")
    found = contexts_of(text)
    lengths = {len(path) for path in found if path[-1] == "down"}
    expect(max(lengths) == 32 and len(lengths) > 25, f"{sorted(lengths)}")
    expect(all(path[0] == "down" or path[0][0] in ("main", "down") for path in found), text)


def test_cspgo():
    """llvm-profdata has the same of it, and clang takes it."""
    clang = reader("clang")
    program = Program(clang, "-O2", "-g", "-fdebug-info-for-profiling")
    r = program.record(("-F", "1997"), 30000000)
    text = export(r, "llvm-contexts")[0]
    given, theirs = program.file("given", text), program.file("theirs")
    result = run([reader("llvm-profdata"), "merge", "--sample", "--text", "--sample-merge-cold-context=0",
                  "--sample-trim-cold-context=0", given, "-o", theirs])
    expect(result.returncode == 0, result.stderr.decode())
    with open(theirs, encoding="ascii") as f:
        expect(contexts_of(f.read()) == contexts_of(text), f"llvm-profdata has others than {text}")
    shown = run([reader("llvm-profdata"), "show", "--sample", given])
    expect(shown.returncode == 0 and re.search(rb"work:[\d.]+ @ leaf: ", shown.stdout), shown.stdout.decode())
    ir = program.compile("places.ll", "-fprofile-sample-use=" + given, "-S", "-emit-llvm")
    with open(ir, encoding="ascii") as f:
        code = f.read()
    expect("branch_weights" in code and '"SampleProfile"' in code, "clang has no counts")
    better = program.compile("better", "-fprofile-sample-use=" + given)
    expect(run([better, "30000000"]).stdout == r.native.stdout, "the optimized program writes something else")


class Afdo:
    """Of gcc's form: functions {name: head}, places {((function, place) ..., place): count}, targets."""

    def __init__(self, data):
        self.data, self.at = data, 0
        expect(self.take("<4sII") == (b"adcg", 2, 0), "the header is odd")
        self.functions, self.places, self.targets = {}, {}, {}
        end = self.section(0xaa000000)
        self.names = [self.string() for _ in range(self.number())]
        expect(self.at == end, "names end elsewhere")
        end = self.section(0xac000000)
        for _ in range(self.number()):
            head = self.take("<Q")[0]
            name = self.instance(())
            expect(name not in self.functions, f"{name} is there twice")
            self.functions[name] = head
        expect(self.at == end, "functions end elsewhere")
        end = self.section(0xae000000)
        expect(self.number() == 0 and self.at == end == len(data), "modules")

    def take(self, form):
        values = struct.unpack_from(form, self.data, self.at)
        self.at += struct.calcsize(form)
        return values

    def number(self):
        return self.take("<I")[0]

    def string(self):
        size = self.number()
        expect(size % 4 == 0 and size, "a string's size")
        return self.take(f"<{size}s")[0].rstrip(b"\0").decode()

    def section(self, tag):
        found, size = self.take("<II")
        expect(found == tag, f"{found:#x} is not {tag:#x}")
        return self.at + size

    def instance(self, path):
        name, lines, calls = self.take("<III")
        path = (*path, self.names[name])
        for _ in range(lines):
            place, targets, count = self.take("<IIQ")
            key = (*path, place >> 16, place & 0xffff)
            expect(key not in self.places, f"{key} is there twice")
            self.places[key] = count
            for _ in range(targets):
                _, target, calls_of = self.take("<IQQ")
                self.targets[self.names[target]] = calls_of
        for _ in range(calls):
            place = self.number()
            self.instance((*path, place >> 16, place & 0xffff))
        return path[-1]


def exported(recording, form):
    result = subprocess.run([PENUMBRA, "export", "-f", form, recording.file], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, check=True)
    return result.stdout


def test_gcc():
    program = gcc()
    r = program.record()
    data = exported(r, "autofdo")
    afdo, sample = Afdo(data), Sample(export(r, "llvm-sample")[0])
    expect(afdo.functions == {name: head for name, (_, head) in sample.functions.items()}, f"{afdo.functions}")
    expect(sorted(afdo.places.values()) == sorted(sample.places.values()), "counts are others than for LLVM")
    expect({"twice": 3 * N // 4, "thrice": N // 4}.items() <= afdo.targets.items() and "leaf" not in afdo.targets,
           f"targets of the pointer: {afdo.targets}")
    last = {}
    for (*path, line, _), count in afdo.places.items():
        expect(last.get((*path, line), 0) <= count, f"of {path}, {line} the greatest count is not the last")
        last[(*path, line)] = count
    # gcc's own account of it
    given = program.file("given.afdo", data)
    program.compile("places.s", "-S", "-fauto-profile=" + given, "-fdump-tree-optimized-blocks-details")
    if "version" in program.said:
        skip(f"this gcc reads another version: {program.said}")
    dump = next(os.path.join(program.folder.name, name) for name in os.listdir(program.folder.name)
                if name.endswith(".optimized"))
    with open(dump, encoding="ascii", errors="replace") as f:
        text = f.read()
    blocks = {}
    for name, body in re.findall(r"^;; Function (\w+) \(.*?\n(.*?)(?=^;; Function |\Z)", text, re.M | re.S):
        blocks[name] = [int(n) for n in re.findall(r"^;;\s+basic block \d+.*count (\d+) \(auto FDO", body, re.M)]
    for name, counts in {"leaf": [N], "rare": [N // 8], "twice": [3 * N // 4], "thrice": [N // 4],
                         "work": [N, N // 8, N - N // 8, 3 * N // 4, N // 4]}.items():
        # of work, also those of the two functions that the pointer leads to
        expect(set(counts) <= set(blocks[name]), f"{name}: gcc has {blocks}")
    better = program.compile("better", "-fauto-profile=" + given)
    expect(not program.said, program.said)
    expect(run([better, str(N)]).stdout == r.native.stdout, "the optimized program writes something else")


main({name[5:]: test for name, test in list(globals().items()) if name.startswith("test_")})
