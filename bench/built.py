"""Programs that a compiler builds from Debian's sources in several ways, and what a run of each costs: for pgo.py,
instrumented.py, framework.py, checks.py and optimize.py.

Copies of a round run at the same time on one core (pairs.py); a second plain copy is the null check."""
import argparse
import glob
import os
import random
import shutil
import statistics
import tempfile
from dataclasses import dataclass, field

import inputs
import pairs
import sources
import suite

CC = "gcc-12"
NOTHING = {"LC_ALL": "C"}
SCRIPT = """\
local words, n = {}, 0
local function fib(i) if i < 2 then return i end return fib(i - 1) + fib(i - 2) end
for round = 1, 60 do
  for i = 1, 60000 do
    local w = string.format("%x", (i * 7919 + round) % 4099)
    words[w] = (words[w] or 0) + 1
    n = n + #w
  end
  local list = {}
  for w, c in pairs(words) do list[#list + 1] = w .. ":" .. c end
  table.sort(list)
  n = n + select(2, table.concat(list, ","):gsub("1", "2")) + fib(24)
end
print(n)
"""
AWK = """\
{ for (i = 1; i <= NF; i++) { gsub(/[^a-zA-Z_]/, "", $i); words[$i]++ } lines[length($0)] = $0 }
END { n = asorti(words, sorted); for (i = 1; i <= n; i++) sum += words[sorted[i]] * length(sorted[i]); print n, sum, length(lines) }
"""
PYTHON = """\
import json, re
from collections import OrderedDict
class Node:
    def __init__(self, key):
        self.key, self.left, self.right = key, None, None
    def add(self, key):
        side = "left" if key < self.key else "right"
        below = getattr(self, side)
        below.add(key) if below else setattr(self, side, Node(key))
    def __iter__(self):
        for below in (self.left, self, self.right):
            if below is self:
                yield self.key
            elif below:
                yield from below
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
words, total = ["word%d" % (i * 7919 % 10007) for i in range(8000)], 0
for round in range(20):
    counts, tree = OrderedDict(), Node(5000)
    for word in sorted(words):
        counts[word] = counts.get(word, 0) + len(re.sub("[02468]", "", word))
        tree.add(int(word[4:]) * 31 % 10007)
    total += sum(json.loads(json.dumps(counts)).values()) + sum(k * i for i, k in enumerate(tree)) + fib(20)
print(total)
"""


def redis_commands(rounds):
    """An append-only file: redis executes what is in it, and leaves."""
    r = random.Random(1)
    for i in range(rounds):
        k = r.randrange(5000)
        yield "SET", f"s:{k}", "v" * (k % 90)
        yield "GET", f"s:{k * 7 % 5000}"
        yield "INCRBY", f"n:{k % 999}", k
        yield "HSET", f"h:{k % 300}", f"f{r.randrange(40)}", i
        yield "HGETALL", f"h:{k % 300}"
        yield "ZADD", f"z:{k % 60}", k, f"m{i % 3000}"
        yield "ZRANGE", f"z:{k % 60}", 0, 20, "WITHSCORES"
        yield "LPUSH", f"l:{k % 50}", i
        yield "LRANGE", f"l:{k % 50}", 0, 30
        yield "SADD", f"t:{k % 100}", i * k % 977
        if i % 10 == 0:
            yield "SORT", f"l:{k % 50}", "LIMIT", 0, 10
            yield "LTRIM", f"l:{k % 50}", 0, 400
            yield "SINTER", f"t:{k % 100}", f"t:{(k + 1) % 100}"
    yield "SHUTDOWN", "NOSAVE", "NOW", "FORCE"


def redis_log(rounds=90000):
    return "".join(f"*{len(c)}\r\n" + "".join(f"${len(str(w))}\r\n{w}\r\n" for w in c) for c in redis_commands(rounds))


@dataclass
class Subject:
    source: str       # of sources.py
    prepare: str      # once, without flags
    build: str        # with $CC and $FLAGS
    binary: str
    arguments: list   # {input}: a text of some megabytes; {script}: for Lua; {awk}: for awk ...
    files: dict = field(default_factory=dict)  # {name: what makes its text}: copied to where it runs
    env: dict = field(default_factory=dict)  # {source}: where it was prepared


SUBJECTS = {
    "sqlite3": Subject("sqlite3", "./configure --disable-shared --disable-tcl --disable-readline && make sqlite3.c",
                       "$CC $FLAGS -DSQLITE_THREADSAFE=0 -DSQLITE_OMIT_LOAD_EXTENSION -I. test/speedtest1.c sqlite3.c "
                       "-o program -lm", "program", ["--memdb", "--size", "60"]),
    "lua": Subject("lua", sources.SOURCES[-1].commands[0] + " && rm src/luac.c",
                   "$CC $FLAGS -DLUA_USE_LINUX -DLUA_COMPAT_5_3 -Wl,-E -o program src/*.c -lm -ldl", "program",
                   ["{script}"]),
    "gzip": Subject("gzip", "true", './configure CC="$CC" CFLAGS="$FLAGS" && make MAKEINFO=true', "gzip",
                    ["-9", "-c", "{input}"]),
    "bzip2": Subject("bzip2", "true", "$CC $FLAGS -D_FILE_OFFSET_BITS=64 -o program bzip2.c blocksort.c huffman.c crctable.c "
                     "randtable.c compress.c decompress.c bzlib.c", "program", ["-9", "-c", "{input}"]),
    "gawk": Subject("gawk", "true", './configure --disable-nls --disable-mpfr --disable-extensions --without-readline CC="$CC" '
                    'CFLAGS="$FLAGS" && make -C support && make gawk', "gawk", ["-f", "{awk}", "{input}"]),
    "redis": Subject("redis", "true", 'CFLAGS="$FLAGS" LDFLAGS="$FLAGS" make -C src -j2 MALLOC=libc CC="$CC" redis-server',
                     "src/redis-server", ["--port", "0", "--unixsocket", "socket", "--save", "", "--appendonly", "yes",
                                          "--logfile", "/dev/null"], files={"appendonly.aof": redis_log}),
    "cpython": Subject("cpython", "mkdir -p lib Lib/lib-dynload && ln -s ../Lib lib/python3.11",
                       './configure CC="$CC" OPT=-DNDEBUG CFLAGS="$FLAGS" LDFLAGS="$FLAGS" && make -j2 python', "python",
                       ["-S", "{python}"], env={"PYTHONHOME": "{source}", "PYTHONHASHSEED": "0"}),
}
USUAL = ("sqlite3", "lua", "gzip", "bzip2")  # what is measured if nothing is said


class Bench:
    def __init__(self, a, work, cc, inputs_each):
        self.cc, self.inputs_each = cc, inputs_each
        self.penumbra = os.path.abspath(a.penumbra)
        self.hold = os.path.join(os.path.dirname(self.penumbra), "bench", "bench-hold")
        self.core, self.rounds, self.work = a.core, a.rounds, work
        os.makedirs(work, exist_ok=True)
        self.recording = [self.penumbra, "record", "-q", "--carrier", "compiled"]
        self.scripts = {"script": SCRIPT, "awk": AWK, "python": PYTHON}
        for name, text in self.scripts.items():
            self.write(self.script(name), text)

    @staticmethod
    def write(path, text):
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text)

    def file(self, name):
        return os.path.join(self.work, name)

    def script(self, name):
        return self.file(name + ".txt")

    def files(self, name):
        """Made once."""
        for file, make in SUBJECTS[name].files.items():
            if not os.path.exists(self.file(file)):
                self.write(self.file(file) + ".new", make())
                os.rename(self.file(file) + ".new", self.file(file))
        return [self.file(file) for file in SUBJECTS[name].files]

    def place(self, name):
        """A folder in which it can run: its files are there."""
        folder = self.file(name)
        for file in self.files(name):
            shutil.copy(file, folder)
        return folder

    def env(self, name):
        return NOTHING | {n: v.format(source=self.prepared(name)) for n, v in SUBJECTS[name].env.items()}

    def prepared(self, name):
        kept = os.path.join(self.work, name, "source")
        if not os.path.isdir(kept):
            source = next(s for s in sources.SOURCES + sources.OTHERS if s.name == SUBJECTS[name].source)
            shutil.copytree(sources.unpack(source), kept, symlinks=True)
            inputs.run(["sh", "-c", SUBJECTS[name].prepare], name, cwd=kept)
        return kept

    def arguments(self, name):
        text = os.path.join(self.prepared("sqlite3"), "sqlite3.c")
        words = [w.format(input=text, **{s: self.script(s) for s in self.scripts}) for w in SUBJECTS[name].arguments]
        return words + [text] * (self.inputs_each - 1) if words[-1] == text else words

    def build(self, name, way, flags, counts=None):
        """Its binary. counts: the folder of a build whose counts it is to use."""
        folder = os.path.join(self.work, name, way)
        binary = os.path.join(folder, SUBJECTS[name].binary)
        if os.path.exists(binary):
            return binary
        shutil.copytree(self.prepared(name), folder, symlinks=True)
        for file in glob.glob(f"{counts}/**/*.gcda", recursive=True) if counts else ():
            shutil.copy(file, os.path.join(folder, os.path.relpath(file, counts)))
        inputs.run(["sh", "-c", SUBJECTS[name].build], f"{name} ({way})", cwd=folder,
                   env=os.environ | {"CC": self.cc, "FLAGS": flags})
        return binary

    def compare(self, name, copies):
        """{copy: (median of the ratios to the first copy, least, greatest)}, in percent more than it."""
        ratios = {copy: [] for copy in copies}
        volatile = r" *[0-9.]+s" if name == "sqlite3" else ""  # times of speedtest1, right-aligned
        program = suite.Program(name, "", ["program", *self.arguments(name)], env=self.env(name), volatile=volatile,
                                files=self.files(name))
        for _ in range(self.rounds):
            made = [pairs.Copy(copy, wrap) for copy, wrap in copies.items()]
            with pairs.Round(self.hold, program, made, self.core, keep=self.work, timeout=3600) as one:
                outcomes = one.run()
            first = outcomes[next(iter(copies))]
            for copy, outcome in outcomes.items():
                if pairs.harm(first, outcome, program):
                    raise SystemExit(f"{name}, {copy}: {pairs.harm(first, outcome, program)}")
                ratios[copy].append(100 * (outcome.own_us / first.own_us - 1))
        return {copy: (statistics.median(r), min(r), max(r)) for copy, r in ratios.items()}

    def runs(self, binary):
        return lambda hold, out: hold(NOTHING, binary=binary)

    def records(self, binary, *options):
        return lambda hold, out: [*self.recording, *options, "-o", f"{out}/p.pnb", "--", *hold(NOTHING, binary=binary)]

    def flags(self, options):
        """Of an instrumented build."""
        return inputs.run([self.penumbra, "cflags", "--compiler", self.cc, *options], "flags").strip()


def table(head, rows, columns):
    print(f"\n| {head} | " + " | ".join(columns) + " |\n|---|" + "---|" * len(columns))
    for name, row in rows.items():
        cells = ["{:+.1f} ({:+.1f} .. {:+.1f})".format(*row[c]) if c in row else "-" for c in columns]
        print(f"| {name} | {' | '.join(cells)} |")


def measure_all(document, measure, timed=True, cc=CC, inputs_each=1, usual=USUAL):
    """Measures the programs that the command line names: {name: measure(bench, name)}. inputs_each: how often a program
    that reads a text reads it."""
    parser = argparse.ArgumentParser(description=document, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("penumbra")
    parser.add_argument("--only", default=",".join(usual))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--core", type=int, default=0)
    parser.add_argument("--folder")
    a = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-built-") as work:
        bench = Bench(a, os.path.abspath(a.folder or work), cc, inputs_each)
        measured = {name: measure(bench, name) for name in a.only.split(",")}
    if timed and a.rounds:
        print(f"CPU time, percent of the plain build's more; the median of {a.rounds} rounds, the least and the greatest.")
    return measured
