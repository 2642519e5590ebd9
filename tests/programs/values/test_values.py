"""The tool `values`: programs whose instructions are observed at every trigger do what they do natively.
Nothing here depends on how many bursts there were, but that there were some."""
import json
import math
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.environ["HARNESS"])
from harness import Recording, expect, main, target  # noqa: E402


def record(command, options=(), rate="10000", stdin=None):
    return Recording(command, ["--tool", "values", "--every", "1", "-F", rate, *options],
                     stdin=stdin)


def had_bursts(recording):
    expect(recording.report["engine"]["bursts"] > 0, "no burst was taken")


def own(name):
    return os.path.join(os.environ["VALUES_TARGETS"], "values_" + name)


def symbols(program):
    lines = subprocess.check_output(["nm", program], text=True).splitlines()
    return {line.split()[2]: int(line.split()[0], 16) for line in lines if len(line.split()) == 3}


def observed(recording, program):
    """{(offset, kind): row} of the program's own instructions."""
    name = os.path.basename(program)
    return {(int(row["offset"], 16), row["kind"]): row for row in recording.report["instructions"]
            if row["image"] == name}


def bias():
    """One slow instruction and nine fast ones: each is observed as often as any other, though nearly all
    samples are of the one behind the slow one."""
    recording = record([own("bias"), "200000000"], rate="5000")
    places = symbols(own("bias"))
    counts = {}
    for (offset, _), row in observed(recording, own("bias")).items():
        if places["loop"] <= offset < places["loop_end"]:
            counts[offset] = max(counts.get(offset, 0), row["observed"])
    bursts = sum(counts.values()) / 4
    if bursts < 100:
        return  # a machine that hardly runs says nothing
    expect(len(counts) == 10, f"{len(counts)} instructions of ten were observed")
    # A burst observes 4 of 10; what is left of the bias is less than 2%
    # (tests/unit/tuples/test_bias.c).
    most = 5 * math.sqrt(bursts * 0.4 * 0.6) + 0.03 * 0.4 * bursts
    for offset, count in sorted(counts.items()):
        expect(abs(count - 0.4 * bursts) <= most,
               f"{offset:x} was observed {count} times in {bursts:.0f} bursts: {counts}")


def phases():
    """A hundred slow instructions and a hundred fast ones: each half has half of the observations, though nearly all of
    the time is the slow half's."""
    recording = record([own("phases"), "1500000"], rate="5000")
    places = symbols(own("phases"))
    counts = {}
    for (offset, _), row in observed(recording, own("phases")).items():
        if places["slow"] <= offset < places["phases_end"]:
            counts[offset] = max(counts.get(offset, 0), row["observed"])
    bursts = sum(counts.values()) / 4
    if bursts < 1000:
        print(f"SKIP: of so few bursts, {bursts:.0f}, many are of the time when all code is new")
        sys.exit(77)
    fast = sum(count for offset, count in counts.items() if offset >= places["fast"]) / (4 * bursts)
    # 5 standard deviations of a half; what is left of the bias, bursts that stay near while code is
    # made included.
    expect(abs(fast - 0.5) <= 5 * 0.5 / math.sqrt(bursts) + 0.05,
           f"{fast:.1%} of {bursts:.0f} bursts were of the fast half")


def seldom():
    """Bursts at half of so many triggers take more than their share, and there are fewer; not where
    --every says how many."""
    share = []
    for options in ((), ("--every", "2")):
        report = Recording([own("phases"), "1500000"],
                           ["--tool", "values", "-F", "20000", *options]).report
        share.append(report["engine"]["bursts"] / report["taken"])
    expect(share[0] < 0.3 and share[1] > 0.4, f"bursts of a sample: {share}")


def share(rows, place, kind, value):
    """(share, observations) of the value."""
    row = rows.get((place, kind))
    expect(row is not None, f"no {kind} at {place:x}")
    return next((v["share"] for v in row["values"] if int(v["value"], 16) == value),
                0), row["observed"]


def known():
    """Values that are known by construction: constant, two, by Zipf's law, strided, spread; integers,
    floating point, lanes."""
    recording = record([own("known"), "30000000"], ["--length", "32"])
    rows, places = observed(recording, own("known")), symbols(own("known"))
    always = [("v_constant", "result", 10), ("v_constant", "loaded", 10),
              ("v_constant", "address", places["constant"]), ("v_half", "result", 5),
              ("v_double", "result double", 0x4014000000000000),
              ("v_float", "result float", 0x40100000)]
    for name, kind, value in always:
        got, _ = share(rows, places[name], kind, value)
        expect(got == 1, f"{name}: {kind} is {value:x} in {got} of the observations")
    for name, value, want in (("v_two", 3, 717 / 1024), ("v_two", 77777777, 307 / 1024),
                              ("v_zipf", 2, 1 / 2), ("v_zipf", 3, 1 / 4),
                              ("v_zipf", 4, 170 / 1024)):
        got, count = share(rows, places[name], "loaded", value)
        expect(abs(got - want) <= 5 * math.sqrt(want * (1 - want) / max(count, 1)) + 0.01,
               f"{name}: {value} is {got} of {count} observations, not {want}")
    for value in (2, 4, 6, 8):
        got, _ = share(rows, places["v_lanes"], "result", value)
        expect(abs(got - 0.25) < 1e-6, f"v_lanes: {value} in {got} of the observations")
    for name in ("v_strided", "v_spread"):
        row = rows[places[name], "loaded"]
        if row["observed"] > 500:
            expect(row["invariance"] < 0.5, f"{name}: {row['invariance']} invariant")


def crowd():
    had_bursts(record([target("burst_crowd")]))
    had_bursts(record([target("burst_crowd")], ["--length", "128", "--skip", "4000"]))


def faults():
    recording = record([target("burst_faults"), "200"], ["--length", "128", "--skip", "500"])
    had_bursts(recording)
    expect(recording.report["stopped"].get("fault", 0) > 0, "no fault came in a burst")


def looks():
    had_bursts(record([target("burst_looks"), "300000"]))


def changing():
    """Code that is changed and made again while it is observed."""
    had_bursts(record([target("burst_changing"), "60000"], ["--length", "64"]))


def dies():
    for how in ("plain", "reset", "ignored", "sysv"):
        recording = record([target("burst_dies"), how], ["--length", "128", "--skip", "500"])
        had_bursts(recording)
        expect(recording.native.returncode != 0, "it did not die")


def programs():
    text = "\n".join(str(i * 7919 % 100003) for i in range(60000)).encode()
    loop = "s=0; for ((i = 0; i < 40000; i++)); do ((s += i)); done; echo $s"
    for command in (["sort", "-n"], ["gzip", "-c"], ["xz", "-T2", "-1", "-c"], ["bash", "-c", loop],
                    ["perl", "-e", "my %h; $h{$_ % 1000} += $_ for 1..600000; print $h{7}"],
                    ["python3", "-c", "print(sum(i * i for i in range(400000)))"],
                    # The vdso's code is not an image's file: what the engine reads of it is a copy.
                    ["python3", "-c", "import time\nfor i in range(1000000): time.monotonic()"]):
        if shutil.which(command[0]):
            had_bursts(record(command, ["--length", "16"], stdin=text))


def storm():
    """Signals that the program sends itself while it is observed."""
    storm = ("import signal, os\nn = [0]\n"
             "def f(*a): n[0] += 1\n"
             "for s in (10, 12, 14): signal.signal(s, f)\n"
             "for i in range(20000): os.kill(os.getpid(), (10, 12, 14)[i % 3])\n"
             "print(n[0])")
    had_bursts(record(["python3", "-c", storm], ["--length", "128"]))


def system_calls():
    """In a whole run each is seen, with its number and what it returned."""
    recording = Recording([own("calls"), "300"], ["--exact", "--tool", "values"])
    rows, place = observed(recording, own("calls")), symbols(own("calls"))["v_write"]
    for kind in ("system call", "returned"):
        expect(share(rows, place, kind, 1) == (1, 300), f"{kind}: {rows.get((place, kind))}")
    in_bursts = record([own("calls"), "200000"], rate="20000")
    rows = observed(in_bursts, own("calls"))
    if (place, "system call") in rows:
        got, count = share(rows, place, "system call", 1)
        expect(got == 1, f"{got} of {count} system calls are number 1")


def results():
    """The tool `results` counts every one, without a module, in whole runs and in shadows."""
    rounds, places = 300000, symbols(own("known"))
    exact = Recording([own("known"), str(rounds)], ["--exact", "--tool", "results"])
    rows = observed(exact, own("known"))
    for name, value, times in (("v_constant", 10, rounds), ("v_half", 5, rounds),
                               ("v_zipf", 2, rounds // 2)):
        got = share(rows, places[name], "result", value)
        expect(abs(got[0] * rounds - times) <= 512 and got[1] == rounds,
               f"{name}: {got}, not {times} of {rounds}")
    for value, want in ((3, 717 / 1024), (77777777, 307 / 1024)):
        got, _ = share(rows, places["v_two"], "result", value)
        expect(abs(got - want) < 0.002, f"v_two: {value} is {got}, not {want}")
    first = subprocess.run([os.environ["PENUMBRA"], "report", "--json", "--quick", "--limit", "2",
                            exact.file],
                           capture_output=True, text=True, check=True)
    expect(json.loads(first.stdout)["instructions"] == exact.report["instructions"][:2],
           first.stdout)
    spread = rows[places["v_spread"], "result"]
    expect(spread["observed"] == rounds and spread["p"] < 0.01 and spread["invariance"] < 0.3,
           spread)
    shadows = Recording([own("known"), "300000000"],
                        ["--carrier", "shadow", "--tool", "results", "--load", "1", "--sample-size",
                         "1M"])
    if shadows.report["shadows"]["completed"]:
        rows = observed(shadows, own("known"))
        expect(share(rows, places["v_constant"], "result", 10)[0] == 1, rows)
        two = rows[places["v_two"], "result"]
        executed = shadows.report["shadows"]["instructions"] * rounds / exact.report["samples"]
        # no more are kept than there is use for, and the block is not always observed, but always
        # counted
        if executed > 20000:
            got, _ = share(rows, places["v_two"], "result", 3)
            expect(two["p"] < 0.2 and abs(got - 717 / 1024) < 0.12, two)
            expect(0.9 < two["observed"] / executed < 1.1, f"{two}, executed {executed}")
        out = subprocess.run([os.environ["PENUMBRA"], "compare", "--json", exact.file,
                              shadows.file],
                             capture_output=True, text=True)
        expect(out.returncode == 0 and "diff_top" in out.stdout, out)
    bursts = Recording([own("known"), "30000000"],
                       ["--carrier", "burst", "--tool", "results", "--length", "5000", "-F",
                        "2000"])
    expect(bursts.report["values"]["instructions"] > 0, bursts.report["values"])


def copies():
    """Results of instructions that copy what their block has made: each is counted as often as it
    is executed."""
    rounds, program = 4000, own("copies")
    rows, places = observed(Recording([program, str(rounds)], ["--exact", "--tool", "results"]),
                            program), symbols(program)
    small, wide = 3 / 4, 1 / 4
    for name, values in (("load", {3: small, 0x100000007: wide}),
                         ("copy", {3: small, 0x100000007: wide}),
                         ("narrow", {3: small, 7: wide}), ("wide", {3: small, 7: wide}),
                         ("again", {3: small, 7: wide}),
                         ("changed", {4: small, 0x100000008: wide}),
                         ("popped", {3: small, 7: wide}),
                         ("out", {4: small, 0x100000008: wide}),
                         ("in", {3: small, 0x100000007: wide}),
                         ("low", {k: 1 / 4 for k in range(4)}),
                         ("twice", {k: 1 / 4 for k in range(4)}), ("part", {1: 1})):
        for value, want in values.items():
            got, seen = share(rows, places["c_" + name], "result", value)
            expect(abs(got - want) < 1e-9 and seen == rounds,
                   f"{name}: {value} is {got} of {seen}, not {want} of {rounds}")
    stack, pushed = (rows[places[name], "result"]["values"] for name in ("c_stack", "c_pushed"))
    expect(len(stack) == len(pushed) == 1, (stack, pushed))
    expect(int(stack[0]["value"], 16) - int(pushed[0]["value"], 16) == 8, (stack, pushed))


WIDE = {  # of 1000 rounds: {(symbol, kind): (observations, {value: share})}
    ("w_words", "result"): (4000, {11: 1 / 4, 22: 1 / 4, 33: 1 / 4, 44: 1 / 4}),
    ("w_shorts", "result"): (8000, {2 * n: 1 / 8 for n in range(1, 9)}),
    ("w_floats", "result float"): (8000, {0x3f800000: 1 / 8, 0x41000000: 1 / 8}),
    ("w_narrow", "result float"): (4000, {0: 1}),
    ("w_high", "result"): (2000, {33: 1 / 2, 44: 1 / 2}),
    ("w_mixed", "result"): (8000, {0: 5 / 8, 1: 1 / 8, 11: 1 / 8, 22: 1 / 8}),
    ("w_pair", "result"): (2000, {11: 1 / 2, 22: 1 / 2}),
    ("w_scalar", "result double"): (1000, {0x4004000000000000: 1}),
    ("w_far", "result float"): (1000,
                                {0: 1 / 4, 0x3f800000: 1 / 4, 0x40000000: 1 / 4,
                                 0x40400000: 1 / 4}),
    ("w_load", "result double"): (1000, {0x4004000000000000: 1}),
    ("w_long", "result double"): (1000, {0x3fb999999999999a: 1}),
    ("w_add", "result double"): (1000, {0x3fb999999999999a: 1 / 2, 0x3ff199999999999a: 1 / 2}),
    ("w_deeper", "result double"): (1000, {0x3fd0000000000000: 1 / 2, 0x4006000000000000: 1 / 2}),
    ("w_popped", "result double"): (1000, {0x3fd6666666666666: 1 / 2, 0x400ecccccccccccd: 1 / 2}),
    ("w_mmx", "result"): (4000, {22: 1 / 4, 0: 3 / 4}),
    ("w_product", "result"): (1000, {2**64 - 5: 1}),
    ("w_swapped", "result"): (1000, {0: 1 / 2, 1: 1 / 2}),
}
SECOND = {("w_product", "second result"): (1000, {4: 1}),
          ("w_swapped", "second result"): (1000, {5: 1})}


def wide():
    """Vector, x87 and MMX registers, and the second of two; what is not observed is counted."""
    program = own("wide")
    avx2 = "avx2" in open("/proc/cpuinfo").read()
    for tool, want in (("values", WIDE), ("results", {**WIDE, **SECOND})):
        recording = Recording([program, "1000"], ["--exact", "--tool", tool])
        rows, places = observed(recording, program), symbols(program)
        for (name, kind), (times, values) in want.items():
            if not avx2 and name in ("w_words", "w_shorts", "w_floats", "w_narrow", "w_high",
                                     "w_mixed"):
                continue
            for value, part in values.items():
                got, seen = share(rows, places[name], kind, value)
                expect(abs(got - part) < 1e-9 and seen == times,
                       f"{tool}: {name}: {kind} {value:x} is {got} of {seen}, not {part} of {times}")
        missed = recording.report["values"]["not_observed"]
        expect(missed["more-general"] >= (10 if tool == "results" else 2000), missed)
        expect(missed["more-vector"] >= (1000 if avx2 else 0), missed)
        if tool == "results":
            expect(missed["loop"] >= 1000 and missed["system-call"] >= 2, missed)


def results_everywhere():
    """Threads, children and signals: the program does what it does natively, and nothing is lost."""
    for command in (["xz", "-T2", "-0", "-c", own("known")],
                    ["sh", "-c", "echo one; (echo two | cat); exit 3"],
                    [target("burst_changing"), "2000"]):
        recording = Recording(command, ["--exact", "--tool", "results"])
        expect(recording.report["values"]["refused"] == 0, recording.report["values"])


def exact():
    """The whole run: nobody reads fast enough, and the program must not notice."""
    for command in (["echo", "hello"], ["sort", "-n"]):
        Recording(command, ["--exact", "--tool", "values"], stdin=b"3\n1\n2\n")


main({name: function for name, function in globals().items() if callable(function)})
