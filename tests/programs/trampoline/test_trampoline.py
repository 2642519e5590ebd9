"""Programs that leave their frames in all ways there are, with a trampoline on their stacks: they do
what they do without, and calls are counted where they can be known."""
import json
import os
import re
import shutil
import sys
import tempfile

import harness
from harness import Failure, Recording, expect, nodes, target

FAST = ("-F", "9973")
SKIPPED = 77


def calls_of(node):
    """{name: (calls, cost)} of a node's children."""
    found = {}
    for child in node["children"]:
        calls, total = found.get(child["name"], (0, 0))
        found[child["name"]] = (calls + child["calls"], total + child["total"])
    return found


def check_deep():
    """A tree too deep for parsers that recurse."""
    recording = Recording([target("figure1"), "deep"], ("-F", "1999"), report=("--depth", "100"))
    text = harness.run([harness.PENUMBRA, "report", "--tree", "--no-fold", "--ascii", "--depth",
                        "1000000",
                        recording.file]).stdout.decode()
    calls = {m[1]: int(m[2]) for m in
             re.finditer(r"(?:- |  )([ab]) \(1 [^\n]*\n[^\n]* c \((\d+) ", text)}
    expect(calls == {"a": 2, "b": 4}, f"deep: calls of c are {calls} in\n{text[-3000:]}")
    # Several samples share the first walk of a stack that is so deep; after it all are complete.
    later = recording.json(["--through", "^c$", "--depth", "100"])
    samples, complete = (sum(f["total"] for f in later["functions"] if f["name"] == name)
                         for name in ("c", "main"))
    expect(samples > 50 and complete > 0.98 * samples,
           f"{complete} of the {samples} of c are complete, "
           f"{recording.report['truncated']} of all {recording.samples()} are truncated")


def check_figure1(mode, calls_factor=1):
    recording = Recording([target("figure1"), mode], ("-F", "1999"))
    under = {"a": (0, 0), "b": (0, 0)}
    for node in nodes(recording.report["tree"]):
        if node["name"] in under:
            calls, total = calls_of(node).get("c", (0, 0))
            before = under[node["name"]]
            under[node["name"]] = (before[0] + calls, before[1] + total)
    expect(under["a"][0] == 2 * calls_factor and under["b"][0] == 4 * calls_factor,
           f"{mode}: calls of c under a and b are {under}")
    total = under["a"][1] + under["b"][1]
    samples = recording.samples() - recording.total("warm_up")
    expect(total > 0.5 * samples, f"{mode}: c has {total} of {samples}")
    share, sigma = under["a"][1] / total, 0.5 / total ** 0.5
    # The machine's speed may change between the two halves.
    expect(abs(share - 0.5) < 5 * sigma + 0.15, f"{mode}: {share:.3f} of c is under a")
    unsafe = recording.report["dropped"]["trampoline"]
    expect(unsafe <= 3 + 0.005 * recording.samples(), f"{mode}: {unsafe} samples were unsafe")
    return recording


def check_calls(sampled):
    """The exact calls of a run that does less in each: where one costs much, the sampled ones
    agree."""
    with tempfile.TemporaryDirectory() as folder:
        exact = os.path.join(folder, "exact.pnb")
        made = harness.run([harness.PENUMBRA, "record", "-q", "--exact", "--tool", "calls", "-o",
                            exact,
                            target("figure1"), "short"])
        expect(made.returncode == 0, f"exact: {made.stderr.decode()}")
        text = harness.run([harness.PENUMBRA, "compare", "--json", "--by", "call", exact,
                            sampled]).stdout
        expensive = json.loads(text)["expensive"]
        expect(expensive["contexts"] >= 4 and expensive["agreement"] == 100,
               f"compare: {expensive}")
        expect(expensive["perfect"] == expensive["sampled"] >= 8, f"compare: {expensive}")


def test_figure1():
    plain = check_figure1("plain")
    check_calls(plain.file)
    for function in plain.report["functions"]:
        if function["name"] == "c":
            cost, (low, high) = (function["cost_per_call"][k] for k in ("samples", "interval"))
            expect(function["calls"] == 6 and low <= cost <= high, f"c: {function}")
            expect(abs(cost - function["total"] / 6) < 0.01 * cost, f"c: {function}")
    text = harness.run([harness.PENUMBRA, "report", "--calls", plain.file]).stdout.decode()
    expensive, cheap = text.split("few expensive calls")[1].split("many cheap calls")
    expect("  c  figure1" in expensive and "  d  figure1" in cheap, f"--calls:\n{text}")
    check_figure1("recursion")
    check_deep()
    check_figure1("threads", 4)


def built(name):
    if not os.path.exists(target(name)):
        print(f"{name} was not built: no C++ compiler")
        sys.exit(77)
    return [target(name)]


def notes(recording):
    return " ".join(recording.report["notes"])


def test_exceptions():
    recording = Recording(built("exceptions"), FAST, report=("--depth", "100"))
    expect("calls are not counted" not in notes(recording), notes(recording))
    static = Recording(built("exceptions-static"), FAST, report=("--depth", "100"))
    expect("unwinder linked into it" in notes(static), f"static: {notes(static)!r}")


def test_jumps():
    recording = Recording([target("jumps")], FAST)
    report = recording.report
    expect(any(f["calls"] for f in report["functions"]), "no call was counted")
    # A context begins where makecontext says: swapcontext called in it is in stacks that are
    # complete.
    within = recording.total("body")
    expect(recording.total("__start_context") >= within > 20,
           f"{within} samples in contexts, without their root")
    expect(report["truncated"] < 0.02 * report["samples"],
           f"{report['truncated']} of {report['samples']} are truncated")


def test_unwinds():
    Recording([target("unwinds")], FAST)


def test_apart():
    """Exceptions that are raised past what stands in front of the unwinder."""
    library = built("libapart_library.so")[0]
    recording = Recording([target("apart"), library], FAST)
    expect(any(f["calls"] for f in recording.report["functions"]), "no call was counted: without trampolines")


def test_cursor():
    """libunwind, a frame at a time, in handlers of signals that come at any moment."""
    recording = Recording([target("cursor")], FAST)
    if recording.native.returncode == SKIPPED:
        print("skipped: no libunwind.so.8 here")
        sys.exit(SKIPPED)
    expect(recording.native.returncode == 0, recording.native.stderr.decode())
    expect(any(f["calls"] for f in recording.report["functions"]), "no call was counted: without trampolines")


def test_returns():
    """Samples that hit the trampoline are the caller's."""
    recording = Recording([target("returns"), "5000"], FAST, report=("--depth", "20"))
    report = recording.report
    expect(recording.samples() > 300, f"{recording.samples()} samples: too short")
    expect(any(f["name"] == "down" and f["calls"] > 1000 for f in report["functions"]),
           "no trampoline was used")
    unsafe = report["dropped"]["trampoline"]
    expect(unsafe <= recording.samples() // 1000,
           f"{unsafe} of {recording.samples()} samples were unsafe")
    strange = {f["name"]: f["total"] for f in report["functions"] if f["self"]}
    expect(strange.get("down", 0) > 0.9 * recording.samples(), f"samples are in {strange}")


def test_cancel():
    Recording([target("cancel")], FAST)


def test_coroutines():
    for options in ((), ("migrate",)):
        recording = Recording([target("coroutines"), *options], FAST)
        expect(any(f["calls"] for f in recording.report["functions"]), "no call was counted")


def test_copied():
    """Stacks that are copied away and back: returns find the entry that they had when the copy was
    made, and once one has come back there are no trampolines any more."""
    for options in ((), ("below",)):
        recording = Recording([target("copied"), *options], FAST)
        expect("copies its stacks" in notes(recording), f"notes are {notes(recording)!r}")


def test_stubs():
    Recording([target("stubs")], ("-e", "page-faults", "-c", "1"))
    Recording([target("stubs")], FAST)


def test_own_address():
    Recording([target("own_address")], FAST)


def test_twice():
    """Code that is mapped twice is not looked at where it has been unmapped."""
    Recording([target("twice")], FAST)


def test_hosts():
    hosts = {"JNI_CreateJavaVM": "Java", "node_module_register": "V8", "coreclr_initialize": ".NET",
             "caml_startup": "OCaml", "hs_free_stable_ptr": "GHC", "GHCRTS": "GHC",
             "scm_boot_guile": "Guile",
             "__tsan_init": "sanitizer", "__wine_main": "Wine"}
    for symbol, word in hosts.items():
        recording = Recording([target("host-" + symbol)], FAST)
        expect(word in notes(recording), f"{symbol}: notes are {notes(recording)!r}")
        calls = {f["name"]: f["calls"] for f in recording.report["functions"] if f["calls"]}
        if symbol == "GHCRTS":  # what was called before it asks may have been seen to return
            calls = {name: n for name, n in calls.items() if name in ("work", "step")}
        expect(not calls, f"{symbol}: calls were counted: {calls}")
    for symbol in ("no_host", "hs_init"):  # Tor has an hs_init, for its hidden services
        recording = Recording([target("host-" + symbol), "60"], FAST)
        work = [f["calls"] for f in recording.report["functions"] if f["name"] == "work"]
        # Those at the start are not, until the collector has compiled the program's table.
        expect(len(work) == 1 and 30 < work[0] <= 60,
               f"{symbol}: work was called {work} times: {notes(recording)!r}")


SOURCES = {
    "lua": """local function f(n) if n == 0 then error("x") end return f(n - 1) + 1 end
local s = 0
for i = 1, 40000 do if not pcall(f, 60) then s = s + 1 end end
local co = {}
for i = 1, 8 do co[i] = coroutine.wrap(function()
  local k = 0
  while true do k = k + 1 coroutine.yield(k) end end) end
local t = 0
for i = 1, 1000000 do t = t + co[i % 8 + 1]() end
print(s, t)
""",
    "perl": """sub f { my $n = shift; die "x\\n" if !$n; f($n - 1); }
my $s = 0;
for (1 .. 20000) { eval { f(40); }; $s++ if $@ eq "x\\n"; }
print "$s\\n";
""",
    "python": """def squares(n):
    for i in range(n):
        yield from (x * x for x in range(i % 50))
def down(n):
    if n == 0:
        raise ValueError(n)
    down(n - 1)
total = 0
for i in range(2000):
    total += sum(squares(50))
    try:
        down(100)
    except ValueError:
        total += 1
print(total)
""",
    "node": "let s = 0; for (const x of Array(2e6).keys()) s += x * x % 7; console.log(s);\n",
}


def test_languages():
    ran = 0
    interpreters = {"lua": ("lua5.4", "lua", "luajit"), "perl": ("perl",),
                    "python": (sys.executable,), "node": ("node",)}
    with tempfile.TemporaryDirectory() as folder:
        for language, source in SOURCES.items():
            path = os.path.join(folder, language)
            with open(path, "w", encoding="utf-8") as f:
                f.write(source)
            for name in interpreters[language]:
                if shutil.which(name):
                    Recording([name, path], FAST)
                    ran += 1
    expect(ran >= 1, "no interpreter to run")


CALLCC = """require "continuation"
def deep(n, &b) n == 0 ? b.call : deep(n - 1, &b) + 1 end
total = 0
2000.times do
  seen, again = 0, nil
  total += deep(40) { v = callcc { |c| again = c; 0 }; (1..50).each { |x| v += x }; v }
  seen += 1
  again.call(seen) if seen < 6
end
puts total
"""

GREENLETS = """import greenlet
def work(n):
    def deep(k):
        return deep(k - 1) + 1 if k else greenlet.getcurrent().parent.switch(n)
    while True:
        deep(40)
greenlets = [greenlet.greenlet(lambda i=i: work(i)) for i in range(16)]
print(sum(greenlets[i % 16].switch(i) or 0 for i in range(100000)))
"""


def test_callcc():
    """Stacks that are copied away, and put back more than once."""
    if not shutil.which("ruby"):
        sys.exit(77)
    recording = Recording(["ruby", "-W0", "-e", CALLCC], FAST)
    expect("callcc" in notes(recording), f"notes are {notes(recording)!r}")


def test_greenlets():
    """Stacks that are copied away, and put back once."""
    if harness.run(["/usr/bin/python3", "-c", "import greenlet"]).returncode:
        sys.exit(77)
    recording = Recording(["/usr/bin/python3", "-c", GREENLETS], FAST)
    expect("greenlets copy their stacks" in notes(recording), f"notes are {notes(recording)!r}")


def expect_left(program, names):
    recording = Recording([target(program)], ("-F", "1999"))
    for name in names:
        calls = sum(n["calls"] for n in nodes(recording.report["tree"])
                    if n["name"].startswith(name))
        expect(8 <= calls <= 10, f"{name} was left {calls} times, of 10")


def test_leave():
    expect_left("leave", ("outer", "jumper"))


def test_suspended():
    """What waits on another stack has not been left."""
    for how in ("own", "swap", "jump"):
        recording = Recording([target("suspended"), how], ("-F", "1999"))
        found = [n for n in nodes(recording.report["tree"]) if n["name"].startswith("worker")]
        expect(found, f"{how}: worker was never sampled")
        calls = sum(n["calls"] for n in found)
        expect(calls == 0, f"{how}: {calls} calls of a function that never returns")


def test_thrown():
    expect_left("thrown", ("outer", "thrower"))


def test_off():
    recording = Recording([target("figure1")], ("--no-trampoline",))
    expect(all(f["calls"] == 0 and f["cost_per_call"] is None
               for f in recording.report["functions"]), "calls without trampolines")


if __name__ == "__main__":
    try:
        harness.main({name[5:]: f for name, f in globals().items() if name.startswith("test_")})
    except Failure as failure:
        sys.exit(str(failure))
