"""Compiled-in instrumentation of a program whose events are known (program.c)."""
import collections
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.environ["HARNESS"])
from harness import (PENUMBRA, Recording, cpu_used, expect, main, run, target,  # noqa: E402
                     wait_for)

SHARED, STATIC, WITHOUT = target("inst_shared"), target("inst_static"), target("inst_without")
LIBRARY = target("libinst_loaded.so")
SOME = 400000


def record(program, *arguments, interval=1, options=()):
    return Recording([program, *map(str, arguments)],
                     ["--carrier", "compiled", "--interval", str(interval), *options],
                     report=("--limit", "0"))


def fields(report):
    """{(type, member): (reads, writes)}"""
    return {(t["name"], m["name"]): (m["reads"], m["writes"]) for t in report["types"]
            for m in t["members"]}


def calls(report):
    """{(line, callee): count}, of all files that have the callee."""
    found = collections.Counter()
    for c in report["call_sites"]:
        found[c["line"], c["callee"]] += c["count"]
    return dict(found)


def expected(rounds):
    return ({("node", "key"): (rounds + rounds // 4, 0), ("node", "flag"): (rounds // 4, 0),
             ("node", "count"): (0, rounds), ("node", "cold"): (0, 0)},
            {(20, "visit"): rounds, (22, "first"): rounds * 3 // 4, (22, "second"): rounds // 4,
             (30, "helper"): rounds // 4})


def expect_exact(report, rounds):
    want_fields, want_calls = expected(rounds)
    expect(fields(report) == want_fields, f"fields: {fields(report)}")
    expect(calls(report) == want_calls, f"calls: {calls(report)}")
    expect(report["fields_missed"] == 0 == report["call_sites_missed"], "something is missed")


def exact():
    """At interval 1 all counts are exact, in whatever way the runtime is linked."""
    for program in (SHARED, STATIC):
        report = record(program, "work", 10000).report
        expect_exact(report, 10000)
        node = report["types"][0]
        expect((node["name"], node["bytes"], node["line"]) == ("node", 88, 3), node)
        expect([m["offset"] for m in node["members"]] == [0, 8, 16, 24], node["members"])
        expect(node["hot"] == ["key", "count"] or set(node["hot"]) == {"key", "count", "flag"},
               node["hot"])
        expect(node["together"][0]["count"] == 12500, node["together"])
        expect({node["together"][0]["first"], node["together"][0]["second"]} == {"key", "count"},
               node["together"])
        together = {frozenset((p["first"], p["second"])): p["count"] for p in node["together"]}
        expect(together[frozenset(("count", "flag"))] == 2500, together)
        expect(node["bytes_proposed"] == 88, node)
        offsets = {m["name"]: m["offset"] for m in node["layout"]}
        expect({offsets["key"], offsets["count"]} == {0, 8} and offsets["cold"] >= 16, offsets)
        inlined = {c["callee"] for c in report["call_sites"] if c["inlined"]}
        expect(inlined == {"helper"}, inlined)
        expect({c["callee"] for c in report["call_sites"] if c["indirect"]} == {"first", "second"},
               report["call_sites"])


def share_of(rows, key):
    whole = sum(rows.values())
    return 100 * rows[key] / whole


def sampled():
    """A jittered interval estimates the shares within their own 95% intervals, and the counts."""
    inside = total = 0
    want_fields, want_calls = expected(SOME)
    accesses = {k: sum(v) for k, v in want_fields.items()}
    for _ in range(4):
        report = record(SHARED, "work", SOME, interval=100).report
        for t in report["types"]:
            for m in t["members"]:
                if m["name"] == "cold":
                    expect(m["share"] == 0 == m["share_low"] and m["share_high"] < 1, m)
                    continue
                true = share_of(accesses, (t["name"], m["name"]))
                expect(abs(m["share"] - true) < 6, (m, true))
                inside += m["share_low"] <= true <= m["share_high"]
                total += 1
        for c in report["call_sites"]:
            true = share_of(want_calls, (c["line"], c["callee"]))
            expect(abs(c["count"] - want_calls[c["line"], c["callee"]]) < SOME * 0.05, c)
            inside += c["share_low"] <= true <= c["share_high"]
            total += 1
    expect(total == 28, total)
    expect(inside >= 22, f"{inside} of {total} shares are in their intervals")


def fixed():
    """The same interval and seed: the same profile."""
    options = ("--no-randomize", "--seed", "7")
    first = record(SHARED, "work", SOME, interval=97, options=options).report
    second = record(SHARED, "work", SOME, interval=97, options=options).report
    expect(first["types"] == second["types"], (first["types"], second["types"]))
    expect(calls(first) == calls(second), (calls(first), calls(second)))
    # every 97th of all checks, of which the first is the 97th
    expect(fields(first)["node", "count"] == (0, SOME // 97 * 97), fields(first))


def iterations():
    """A burst of four checks in a row sees four rounds, and so one that is each fourth; weights stay."""
    options = ("--no-randomize", "--seed", "7", "--iterations", "4")
    report = record(SHARED, "work", SOME, interval=97, options=options).report
    rounds = [n for first in range(97, SOME + 1, 4 * 97) for n in range(first, min(first + 4, SOME + 1))]
    counted = fields(report)
    expect(counted["node", "count"] == (0, 97 * len(rounds)), (counted, len(rounds)))
    expect(abs(counted["node", "flag"][0] - 97 * len(rounds) / 4) <= 97, (counted, len(rounds)))
    expect_exact(record(SHARED, "work", 10000, options=("--iterations", "4")).report, 10000)
    some = fields(record(SHARED, "work", SOME, interval=100, options=("--iterations", "4")).report)
    expect(abs(some["node", "count"][1] - SOME) < SOME * 0.06, some)


def threads():
    """Threads count apart, and what one writes and others read is seen."""
    rounds = 50000
    report = record(SHARED, "threads", rounds).report
    expect(fields(report)["node", "key"] == (3 * rounds, 0), fields(report))
    expect(fields(report)["node", "count"] == (0, rounds), fields(report))
    shared = report["types"][0]["shared"]
    expect([(s["first"], s["second"]) for s in shared] == [("count", "key")], shared)
    expect(shared[0]["count"] == rounds, shared)


def forked():
    report = record(STATIC, "fork", 1000).report
    expect_exact(report, 2000)
    expect(len(report["processes"]) == 2, report["processes"])
    expect_exact(record(STATIC, "fork", 1000, options=("--no-follow",)).report, 1000)


def executed():
    """The image that exec has replaced counts nothing, and has ended."""
    expect_exact(record(SHARED, "exec", 1000).report, 1000)


def killed():
    recording = record(SHARED, "killed", 1000)
    expect(recording.profiled.returncode == -9, recording.profiled)
    expect_exact(recording.report, 1000)


def signals():
    """No count of a handler's is lost, or of the code that it interrupts."""
    file = os.path.join(target(""), "signals.pnb")
    rounds = 3000000
    result = run([PENUMBRA, "record", "-q", "-o", file, "--carrier", "compiled", "--interval", "1",
                  "--", SHARED, "signals", str(rounds)])
    handled = int(result.stdout.split()[1])
    report = json.loads(run([PENUMBRA, "report", "--json", "--limit", "0", file]).stdout)
    os.unlink(file)
    expect(handled > 10, handled)
    expect(fields(report)["node", "key"] == (rounds, 0), fields(report))
    expect(fields(report)["node", "count"] == (0, 10 * handled), (fields(report), handled))


def library():
    """A library that comes and goes has the numbers of its tables again."""
    report = record(SHARED, "library", LIBRARY, 1000).report
    expect(fields(report)["other", "next"] == (3000, 0), fields(report))


def disarmed():
    """Without a recording, without a runtime, and under other carriers nothing is seen or changed."""
    for program in (SHARED, STATIC, WITHOUT):
        alone = run([program, "work", "1000"])
        expect((alone.returncode, alone.stdout, alone.stderr) == (0, b"1000 0\n", b""), alone)
        report = Recording([program, "work", "1000"]).report
        expect("types" not in report and "call_sites" not in report, "another carrier sees it")
    report = record(WITHOUT, "work", 1000)
    expect(report.report.get("types", []) == [], report.report.get("types"))


class Running:
    """A program that runs its rounds until it is killed."""

    def __init__(self, folder):
        self.file = os.path.join(folder, "out.pnb")
        self.record = subprocess.Popen([PENUMBRA, "record", "-q", "-o", self.file, "--carrier",
                                        "compiled", "--", SHARED, "work", "100000000000"],
                                       stdout=subprocess.DEVNULL)
        self.pid = None
        wait_for(self.has_begun, "the program does not begin")

    def has_begun(self):
        found = run(["pgrep", "-P", str(self.record.pid), "inst_shared"]).stdout.split()
        if found and b".spool" in run(["cat", f"/proc/{found[0].decode()}/maps"]).stdout:
            self.pid = int(found[0])
        return self.pid is not None

    def report(self):
        """Of the recording so far."""
        return json.loads(run([PENUMBRA, "report", "--json", "--limit", "0", self.file]).stdout)

    def bursts(self):
        return self.report()["fields_bursts"]

    def work(self):
        """Waits until the program has worked for a moment more."""
        begun = cpu_used(self.pid)
        wait_for(lambda: cpu_used(self.pid) > begun + 0.05, "the program does not work")

    def seen(self):
        """Calls that were seen, and for how many they stand."""
        sites = self.report()["call_sites"]
        return [sum(site[k] for site in sites) for k in ("seen", "count")]

    def end(self):
        if self.record.poll() is None:
            os.kill(self.pid, signal.SIGKILL)
        self.record.wait()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.end()


def control(pid, *words):
    return run([PENUMBRA, "control", str(pid), *words])


def off():
    """penumbra control changes the interval, and turns bursts off and on."""
    with tempfile.TemporaryDirectory() as folder, Running(folder) as running:
        wait_for(lambda: running.bursts() > 0, "no bursts at the beginning")
        expect(control(running.pid, "interval", "0").returncode == 0, "cannot turn it off")
        running.work()  # a burst that was under way has ended
        before = running.bursts()
        running.work()
        expect(running.bursts() == before, "bursts go on")
        expect(control(running.pid, "interval", "100").returncode == 0, "cannot turn it on")
        wait_for(lambda: running.bursts() > before, "no more bursts")
        first = running.seen()
        wait_for(lambda: running.seen()[0] > first[0] + 1000, "no more calls are seen")
        seen, count = (now - then for now, then in zip(running.seen(), first))
        expect(80 * seen < count < 120 * seen, f"{seen} calls stand for {count}, at one of 100")
        for words in (("interval",), ("interval", "-1"), ("interval", "17M"), ("speed", "1")):
            expect(control(running.pid, *words).returncode == 2, words)
        expect(control(os.getpid(), "interval", "1").returncode == 127, "not recorded")
        running.end()
        report = running.report()
        expect(report["fields_interval"] == 1000, report["fields_interval"])


def hostile():
    """A spool that the program has scribbled over is read as far as it makes sense."""
    numbers = random.Random(7)
    for _ in range(3):
        with tempfile.TemporaryDirectory() as folder:
            running = Running(folder)
            running.work()
            running.record.kill()
            os.kill(running.pid, signal.SIGKILL)
            running.record.wait()
            with open(running.file, "rb") as file:
                spool = re.search(rb"/[^\0]*\.spool", file.read()).group()
            with open(spool, "r+b") as file:
                for _ in range(3000):
                    file.seek(4096 + numbers.randrange(1 << 19))
                    file.write(bytes([numbers.randrange(256)]))
            result = run([PENUMBRA, "report", "--json", running.file])
            expect(result.returncode in (0, 3, 124, 127), result)
            if os.path.exists(spool):
                os.unlink(spool)


def compared():
    """The overlap of an estimate with the exact profile."""
    perfect, sampled = record(SHARED, "work", SOME), record(SHARED, "work", SOME, interval=50)
    for by in ("callsite", "field"):
        result = run([PENUMBRA, "compare", "--json", "--by", by, perfect.file, sampled.file])
        expect(result.returncode == 0, result)
        overlap = json.loads(result.stdout)["overlap"]
        expect(97 < overlap <= 100, f"{by}: {overlap}")


def merged():
    """Two recordings of different intervals add up."""
    one, two = record(SHARED, "work", 1000), record(STATIC, "work", 3000)
    out = one.file + ".merged"
    result = run([PENUMBRA, "merge", "-o", out, one.file, two.file])
    expect(result.returncode == 0, result)
    expect_exact(json.loads(run([PENUMBRA, "report", "--json", "--limit", "0", out]).stdout), 4000)


def dumped():
    recording = record(SHARED, "work", 1000)
    dump = run([PENUMBRA, "report", "--dump", recording.file])
    expect(dump.returncode == 0 and b"the squares of an event" in dump.stdout, dump)
    text = run([PENUMBRA, "report", "--fields", "--callsites", recording.file]).stdout.decode()
    for words in ("node {", "long key;", "hole", "hot (95% of accesses", "cold: ",
                  "as many: 0 key, ", "visit",
                  "(inlined)", "every check was a sample"):
        expect(words in text, f"no {words!r} in {text}")


def kept(report):
    """{(kind, name): (count, {text: share})} of named values, those of the program's own module."""
    return {(h["kind"], v["name"]): (v["count"], {e["text"]: e["share"] for e in h["values"]})
            for v in report["named"] for h in v["hotlists"]}


def expect_named(report, rounds):
    named = kept(report)
    expect(named["argument", "n"] == (rounds, {"3": 0.75, "-8": 0.25}), named)
    count, targets = named["target", ""]
    expect(count == rounds and targets == {"first": 0.75, "second": 0.25}, named)
    sites = [(a["line"], a["type"], a["allocations"], a["bytes"], a["caller"])
             for a in report["allocation_sites"]]
    ways = {(b["line"], b["to_line"]): (b["count"], b["taken"]) for b in report["branches"]}
    expect(ways == {(25, 29): (rounds // 4, 25), (25, 31): (rounds * 3 // 4, 75)}, ways)
    expect(sites == [(24, "node", rounds, 24 * rounds, "work")], sites)


def named():
    """Values with their names, and allocations: exact at interval 1, merged, and as text."""
    for program in (SHARED, STATIC):
        expect_named(record(program, "work", 10000).report, 10000)
    one, two = record(SHARED, "work", 1000), record(SHARED, "fork", 1000)
    out = one.file + ".merged"
    run([PENUMBRA, "merge", "-o", out, one.file, two.file])
    report = json.loads(run([PENUMBRA, "report", "--json", "--limit", "0", out]).stdout)
    expect_named(report, 3000)
    text = run([PENUMBRA, "report", "--named", "--allocations", "--branches", out]).stdout.decode()
    for words in ("n in work (program.c:10)", "75.0% invariant: 3 75.0%, -8 25.0%", "target",
                  "work (program.c:24) -> node (88 bytes each)", "72,000",
                  "work (program.c:25) -> line 31"):
        expect(words in text, f"no {words!r} in {text}")
    semi = run([PENUMBRA, "report", "--semi-invariant", one.file]).stdout.decode()
    expect("work: n" in semi, semi)


def named_sampled():
    """Estimates of them, and their overlap with the exact profile."""
    perfect, some = record(SHARED, "work", SOME), record(SHARED, "work", SOME, interval=50)
    count, shares = kept(some.report)["argument", "n"]
    expect(abs(count - SOME) < SOME * 0.05 and abs(shares["3"] - 0.75) < 0.03, (count, shares))
    [site] = some.report["allocation_sites"]
    expect(abs(site["bytes"] - 24 * SOME) < 24 * SOME * 0.05, site)
    expect(site["seen"] < SOME / 30, site)
    for by in ("named", "allocation", "branch"):
        result = run([PENUMBRA, "compare", "--json", "--by", by, perfect.file, some.file])
        expect(result.returncode == 0, result)
        expect(96 < json.loads(result.stdout)["overlap"] <= 100, f"{by}: {result.stdout}")


def refused():
    for options, word in ((("--interval", "5"), "--carrier compiled"),
                          (("--carrier", "compiled", "--tool", "blocks"), "compiled"),
                          (("--tool", "fields"), "--carrier compiled"),
                          (("--carrier", "compiled", "-F", "10"), "--interval"),
                          (("--carrier", "compiled", "--interval", "0"), "--interval")):
        result = run([PENUMBRA, "record", *options, "-o", "/dev/null", "--", "true"])
        expect(result.returncode == 2 and word in result.stderr.decode(), (options, result))


main({f.__name__: f for f in (exact, sampled, fixed, iterations, threads, forked, executed, killed, signals,
                              library, disarmed, off, hostile, compared, merged, dumped, refused, named, named_sampled)})
