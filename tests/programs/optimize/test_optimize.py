"""Exports for optimizers, of a program whose counts are known: what is written, and what BOLT and llvm-profgen say they
have read. Skipped where those are not installed (`make deps-optimize`)."""
import collections
import os
import re
import shutil
import subprocess
import tempfile

from common import EDGES, N, Recording, expect, export, functions, main, reader, record, run, target


class Bolt:
    """What was written: branches {(from, to): count}, and ranges {(kind, start, last): count}; None is outside."""

    def __init__(self, text):
        self.branches, self.ranges, self.lines = {}, {}, text.splitlines()
        for line in self.lines:
            kind, *words = line.split()
            at = tuple(None if w == "X:0" else int(w, 16) for w in words[:2])
            if kind == "B":
                expect(len(words) == 4 and words[3] == "0" and at not in self.branches, f"odd: {line}")
                self.branches[at] = int(words[2])
            else:
                expect(kind in "Ff" and len(words) == 3 and (kind, *at) not in self.ranges, f"odd: {line}")
                self.ranges[(kind, *at)] = int(words[2])

    def into(self, address):
        return sum(count for (_, to), count in self.branches.items() if to == address)


class Profgen:
    def __init__(self, text):
        lines = text.splitlines()
        ranges = lines[1:1 + int(lines[0])]
        branches = lines[2 + len(ranges):]
        expect(int(lines[1 + len(ranges)]) == len(branches), "the count of branches is not that of their lines")
        self.ranges = self.take(ranges, "-")
        self.branches = self.take(branches, "->")

    @staticmethod
    def take(lines, mark):
        out = {}
        for line in lines:
            at, count = line.split(":")
            out[tuple(int(a, 16) for a in at.split(mark))] = int(count)
        expect(len(out) == len(lines), "one place has two lines")
        return out


def is_known(bolt, of, times):
    leaf, turn, order = (of[name][0] for name in ("leaf", "turn", "order"))
    expect(bolt.into(leaf) == times * (N + N // 8), f"leaf is called {bolt.into(leaf)} times")
    expect(bolt.into(turn) == times * N, f"turn is called {bolt.into(turn)} times")
    low, high = of["turn"]
    cases = [count for (start, to), count in bolt.branches.items()
             if start and to and low <= start < high and low <= to < high]
    expect(cases.count(times * N // 8) >= 8, f"the cases of turn: {cases}")
    from_outside = sum(count for (start, to), count in bolt.branches.items() if start is None and to == order)
    expect(from_outside > times * N, f"order is called {from_outside} times from libc")


def test_known():
    for kind in ("pie", "nopie"):
        r = record(kind)
        text, errors = export(r, "bolt")
        bolt, of = Bolt(text), functions(target("optimize_" + kind))
        is_known(bolt, of, 1)
        # each return of leaf and turn to main enters a range that says so
        returned = sum(count for (way, start, _), count in bolt.ranges.items()
                       if way == "f" and of["main"][0] <= start < of["main"][1])
        expect(2 * N <= returned <= 2 * N + 10, f"calls returned to main {returned} times")
        sums = sum(bolt.branches.values()), sum(bolt.ranges.values())
        expect(f"{sums[0]} executions of {len(bolt.branches)} branches, {sums[1]} of {len(bolt.ranges)} ranges" in errors,
               f"said is {errors}, written {sums}")
        profgen = Profgen(export(r, "llvm-profgen")[0])
        expect(profgen.branches == {(1 if a is None else a, b): n for (a, b), n in bolt.branches.items() if b},
               "branches for llvm-profgen are others than for BOLT")
        expect(sum(profgen.ranges.values()) == sums[1], "ranges for llvm-profgen are others than for BOLT")


def libc_of(program):
    return next(line.split()[2] for line in run(["ldd", program]).stdout.decode().splitlines() if "libc.so" in line)


def test_kept():
    """What ends at an instruction leaves it: taken, or falling into the range that begins with it. In libc also behind
    system calls. A function may be entered without an edge, and left by none, at the ends of a process."""
    r = record("pie")
    for options in ((), ("--image", libc_of(target("optimize_pie")))):
        bolt = Bolt(export(r, "bolt", *options)[0])
        ended, left = collections.Counter(), collections.Counter()
        for (way, start, last), count in bolt.ranges.items():
            ended[last] += count
        for (start, _), count in bolt.branches.items():
            left[start] += count
        for (way, start, last), count in bolt.ranges.items():
            if way == "F" and start in ended and start != last:
                left[start] += count
        wrong = {hex(at): (ended[at], left[at]) for at in left if at is not None and ended[at] != left[at]}
        bad = sum(abs(a - b) for a, b in wrong.values())
        expect(len(ended) > 20 and bad <= 5, f"of {len(ended)} ends of ranges, counts that differ: {wrong}")
        if options:  # its code lies in its file where it is linked
            with open(options[1], "rb") as f:
                code = f.read()
            expect(any(code[start - 2:start] == b"\x0f\x05" for _, start, _ in bolt.ranges),
                   "nothing was executed behind system calls")


def test_paths():
    """Paths and edges of one program tell the same."""
    edges = Bolt(export(record("nopie"), "bolt")[0])
    paths = Bolt(export(record("nopie", ("--exact", "--tool", "paths")), "bolt")[0])
    total = sum(edges.branches.values())
    missing = sum(abs(edges.branches.get(at, 0) - paths.branches.get(at, 0))
                  for at in {*edges.branches, *paths.branches})
    expect(missing < total / 1000, f"{missing} of {total} executions of branches differ")
    entered = [collections.Counter(), collections.Counter()]
    for which, bolt in enumerate((edges, paths)):
        for (way, start, last), count in bolt.ranges.items():
            entered[which][(way, start)] += count
    total = sum(entered[0].values())
    missing = sum(abs(entered[0][at] - entered[1][at]) for at in entered[0])
    expect(missing < total / 100, f"{missing} of {total} executions of ranges differ")


def test_blocks():
    r = record("pie", ("--exact", "--tool", "blocks"))
    _, errors = export(r, "bolt", status=2, says=("--tool edges", "only counts of blocks"))
    profgen = Profgen(export(r, "llvm-profgen", says="only direct calls and jumps are known")[0])
    of = functions(target("optimize_pie"))
    leaf = sum(count for (_, to), count in profgen.branches.items() if to == of["leaf"][0])
    expect(leaf == N + N // 8, f"leaf is called {leaf} times")
    whole = Profgen(export(record("pie"), "llvm-profgen")[0])
    def covered(p):
        return sum(count for (start, _), count in p.ranges.items() if start == of["leaf"][0])
    expect(covered(profgen) == covered(whole) == leaf, f"leaf's first range: {covered(profgen)}, {covered(whole)}")


def test_sampled():
    """Shares of a sample are those of the whole run."""
    many = Recording([target("optimize_pie"), "1000000"], ("--carrier", "burst", "--tool", "edges", "-F", "997", "--length", "20000"))
    text, _ = export(many, "bolt", says="not scaled")
    bolt, of = Bolt(text), functions(target("optimize_pie"))
    leaf, turn = bolt.into(of["leaf"][0]), bolt.into(of["turn"][0])
    expect(turn > 500, f"turn is called {turn} times in all bursts")
    # a ratio of two counts of the same bursts; leaf is called 9 times for 8 calls of turn
    expect(abs(leaf / turn - 1.125) < 0.1, f"leaf is called {leaf} times, turn {turn}")


def test_processes():
    bolt = Bolt(export(record("pie", EDGES, "fork"), "bolt")[0])
    is_known(bolt, functions(target("optimize_pie")), 2)


def test_chosen():
    """The stripped program is recorded; its file with symbols, elsewhere, is the same build. A library is chosen by its
    file."""
    with tempfile.TemporaryDirectory() as d:
        stripped = os.path.join(d, "stripped")
        subprocess.run(["strip", "-o", stripped, target("optimize_pie")], check=True)
        r = Recording([stripped, str(N)], EDGES)
        text, _ = export(r, "bolt", "--image", target("optimize_pie"))
        is_known(Bolt(text), functions(target("optimize_pie")), 1)
        libc = libc_of(target("optimize_pie"))
        library = Bolt(export(r, "bolt", "--image", libc, says=libc)[0])
        back = sum(count for (start, to), count in library.branches.items() if to is None)
        expect(back > N, f"libc calls order, outside of it, {back} times")


def test_refused():
    r = record("pie")
    export(r, "bolt", "--image", target("optimize_other"), status=2, says="is of no build in the profile")
    export(r, "bolt", "--image", "/no/such/file", status=127, says="/no/such/file")
    for option in (("--phase", "x"), ("--time", "1..2"), ("--metric", "x"), ("--threads",)):
        export(r, "bolt", *option, status=2, says=f"{option[0]} has no meaning")
    export(r, "folded", "--image", target("optimize_pie"), status=2, says="--image")
    with tempfile.TemporaryDirectory() as d:
        program = os.path.join(d, "program")
        shutil.copy(target("optimize_pie"), program)
        r = Recording([program, str(N)], EDGES)
        export(r, "bolt")
        shutil.copy(target("optimize_other"), program)
        for form in ("bolt", "llvm-profgen"):
            for options in ((), ("--image", program)):
                text, _ = export(r, form, *options, status=2, says=("is another build of", "whose build-id is"))
                expect(not text, "something was written")
        stacks = Recording([target("optimize_pie"), str(N)])
        export(stacks, "bolt", status=2, says="no transfers of control")


def read_by_bolt(r, kind, folder):
    """What BOLT has read of an export: its own record of it, as {(from, to): count} of (function, offset)."""
    given, out = os.path.join(folder, "pre"), os.path.join(folder, "fdata")
    program = target("optimize_" + kind)
    with open(given, "w", encoding="ascii") as f:
        f.write(export(r, "bolt")[0])
    result = run([reader("perf2bolt"), program, "-pa", "-p", given, "-o", out])
    said = result.stdout.decode() + result.stderr.decode()
    expect(result.returncode == 0, said)
    counts = {}
    with open(out, encoding="ascii") as f:
        for line in f:
            _, a, at, _, b, to, _, count = line.split()
            counts[((a.split("/")[0], int(at, 16)), (b.split("/")[0], int(to, 16)))] = int(count)
    return said, counts


def test_bolt():
    reader("perf2bolt")
    for kind in ("pie", "nopie"):
        with tempfile.TemporaryDirectory() as d:
            r = record(kind)
            written = Bolt(export(r, "bolt")[0])
            said, read = read_by_bolt(r, kind, d)
            expect(f"read {len(written.lines)} aggregated LBR entries" in said, said)
            expect("Out of range traces involving unknown regions: 0 " in said, said)
            mismatching = int(re.search(r"mismatching disassembled function contents: (\d+)", said).group(1))
            expect(mismatching < 50, said)  # the start-up code's
            of = functions(target("optimize_" + kind))
            own = [of[name] + (name,) for name in ("main", "leaf", "turn", "order")]

            def place(address):
                return next(((name, address - start) for start, end, name in own if start <= address < end), None)
            compared = 0
            for (start, to), count in written.branches.items():
                a, b = start is not None and place(start), to is not None and place(to)
                if a and b and (a[0] == b[0] or b[1] == 0):
                    expect(read.get((a, b)) == count, f"{a} -> {b}: written {count}, read {read.get((a, b))}")
                    compared += count
            expect(compared > 3 * N, f"only {compared} compared")
            # both ways of conditional branches: what falls through is in ranges only
            ways = 0
            for (way, start, last), count in written.ranges.items():
                taken = {to: n for (at, to), n in written.branches.items() if at == start}
                if way == "F" and place(start) and start != last and taken:
                    all_read = sum(n for (a, _), n in read.items() if a == place(start))
                    expect(all_read == count + sum(taken.values()), f"of {place(start)} BOLT has {all_read}")
                    ways += 1
            expect(ways >= 3, f"{ways} conditional branches")
            better = os.path.join(d, "better")
            result = run([reader("llvm-bolt"), target("optimize_" + kind), "-o", better, "-pa", "-p",
                          os.path.join(d, "pre"), "-reorder-blocks=ext-tsp", "-reorder-functions=hfsort",
                          "-split-functions"])
            expect(result.returncode == 0, result.stderr.decode())
            expect(run([better, str(N)]).stdout == r.native.stdout, "the optimized program writes something else")


def test_profgen():
    for kind in ("pie", "nopie"):
        with tempfile.TemporaryDirectory() as d:
            given, out = os.path.join(d, "given"), os.path.join(d, "out")
            text = export(record(kind), "llvm-profgen")[0]
            order = functions(target("optimize_" + kind))["order"][0]
            sorted_by = sum(count for (_, to), count in Profgen(text).branches.items() if to == order)
            with open(given, "w", encoding="ascii") as f:
                f.write(text)
            result = run([reader("llvm-profgen"), "--unsymbolized-profile=" + given, "--use-offset=0", "--format=text",
                          "--binary=" + target("optimize_" + kind), "--output=" + out])
            expect(result.returncode == 0, result.stderr.decode())
            with open(out, encoding="ascii") as f:
                text = f.read()
            heads = {name: int(head) for name, head in re.findall(r"^(\w+):\d+:(\d+)$", text, re.M)}
            wanted = {"main": 1, "leaf": N + N // 8, "turn": N, "order": sorted_by}
            expect({name: heads[name] for name in wanted} == wanted, f"heads: {heads}, not {wanted}")
            calls = sum(int(c) for c in re.findall(r" leaf:(\d+)", text))
            expect(calls == wanted["leaf"], f"calls of leaf: {text}")


main({name[5:]: test for name, test in list(globals().items()) if name.startswith("test_")})
