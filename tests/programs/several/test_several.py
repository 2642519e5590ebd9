"""Several triggers in one recording: each tells what a recording of its own tells, of a program of which it is known.

Tolerances: a threshold passed within a period of n samples is off by one at most; counts of pages and bytes do not depend
on how busy the machine is. Shares of CPU time are wide for that: other functions take some, too.
"""
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.environ["HARNESS"])
from harness import PENUMBRA, Recording, expect, main, run, runs, target  # noqa: E402

PAGES, MIB, MS = 16000, 64, 300
PAGE_PERIOD, BYTE_PERIOD = 16, 16384
WHOLE = ("--budget", "100", "--no-randomize")
NOPERF = os.path.join(os.environ["HARNESS_TARGETS"], "noperf")
EVENTS = {"cpu": "cpu=1ms", "page-faults": f"page-faults={PAGE_PERIOD}",
          "malloc": f"malloc={BYTE_PERIOD}",
          "read": f"read={BYTE_PERIOD}"}
OF = {"cpu": "cpu", "page-faults": "page-faults", "malloc": "allocated", "read": "read"}
READ_MIB = 4


def has_page_faults():
    result = run([PENUMBRA, "record", "-q", "-e", "page-faults", "-o", os.devnull, "--", "true"])
    return result.returncode == 0


def needs_perf():
    if not has_page_faults():
        print("SKIP: no perf events here")
        sys.exit(77)


def options_of(events):
    return [word for event in events for word in ("-e", EVENTS[event])]


def record(events, *more, options=WHOLE, around=()):
    return Recording([target("works"), str(PAGES), str(MIB), str(MS), *more],
                     [*options_of(events), *options],
                     around=around)


def by(recording, event):
    """The report by the metric that is the event's first."""
    return recording.json(["--metric", OF[event]])


def self_of(report, function):
    return sum(f["total"] for f in report["functions"] if f["name"] == function)


def near(value, wanted, tolerance, what):
    expect(abs(value - wanted) <= tolerance, f"{what} is {value}, not {wanted} +- {tolerance}")


def check(recording, events, times=1):
    """Each function has what it uses up, and by no other metric more than a trifle of it."""
    for event in events:
        report = by(recording, event)
        expect(report["trigger"] == event, f"{event}: the report is of {report['trigger']}")
        # A few signals wait while libc forks, and a forked child's first samples make faults, as in
        # a recording of one.
        most = 0.03 * report["samples"] if event in ("cpu", "page-faults") else 0
        expect(sum(report["dropped"].values()) <= most, f"{event}: {report['dropped']}")
        expect(report["truncated"] == 0, f"{event}: {report['truncated']} truncated")
        if event == "cpu":
            near(self_of(report, "spins"), MS * times, 0.25 * MS * times, "ms in spins")
            expect(report["samples"] >= MS * times * 0.9, f"cpu: {report['samples']} samples")
        if event == "page-faults":
            wanted = PAGES * times / PAGE_PERIOD
            near(self_of(report, "touches"), wanted, 0.04 * wanted,
                 "periods of page faults in touches")
            near(self_of(report, "allocates"), 0, 0.02 * wanted, "page faults of allocates")
        if event == "malloc":
            wanted = (MIB << 20) * times / BYTE_PERIOD
            near(self_of(report, "allocates"), wanted, 0.01 * wanted,
                 "periods of bytes in allocates")
            near(self_of(report, "touches"), 0, 0.01 * wanted, "bytes of touches")
        if event == "read":
            wanted = (READ_MIB << 20) * times / BYTE_PERIOD
            near(self_of(report, "reads"), wanted, 0.02 * wanted, "periods of bytes in reads")


def same(one, several, event, functions):
    """Sums of a recording of one trigger, and of the same one among several."""
    alone, among = by(one, event), by(several, event)
    for function in functions:
        a, b = self_of(alone, function), self_of(among, function)
        near(b, a, 0.02 * max(a, alone["samples"]) + 2, f"{event} of {function}")


def sums():
    """What three recordings say each, one says, too: of each function."""
    needs_perf()
    events = ["cpu", "page-faults", "malloc"]
    together = record(events)
    check(together, events)
    for event in events:
        alone = record([event])
        check(alone, [event])
        functions = ["touches", "allocates"] if event != "cpu" else []
        same(alone, together, event, functions)
        if event == "cpu":
            a, b = self_of(by(alone, event), "spins"), self_of(by(together, event), "spins")
            near(b, a, 0.25 * a, "ms in spins")


def calls():
    """Synchronous triggers of three families at once, first of all none that interrupts."""
    events = ["malloc", "read"]
    check(record(events), events)
    locks = record(events, options=(*WHOLE, "-e", "lock-wait=1ms"))
    check(locks, events)
    names = [m["name"] for m in locks.report["metrics"]]
    expect(names == ["allocated", "live", "peak", "read", "lock-wait"], f"metrics: {names}")


def threads():
    needs_perf()
    events = ["cpu", "page-faults", "malloc", "read"]
    r = record(events, "thread")
    check(r, events, 4)
    tids = {t["tid"] for t in r.report["threads"]}
    expect(len(tids) == 4, f"threads {tids}")


def begins():
    """Also a thread whose first period is so short that its event stops behind it is sampled to its
    end."""
    needs_perf()
    r = Recording(["/usr/bin/perl", "-MTime::HiRes=clock", "-e",
                   "for (1..100) { if (!fork) { 1 while clock() < 0.01; exit } wait }"],
                  ["-e", "cpu=1ms", "-e", "page-faults=16", "--budget", "100"])
    children = [t for t in r.report["threads"] if t["cpu_ns"] > 5e6]
    expect(len(children) >= 100, f"{len(children)} threads")
    few = [t for t in children if t["samples"] * r.report["period"] < t["cpu_ns"] / 2]
    expect(not few, f"{len(few)} of {len(children)} are sampled in part only: {few[:3]}")


def forks():
    needs_perf()
    events = ["cpu", "page-faults", "malloc", "read"]
    r = record(events, "fork")
    check(r, events, 2)
    expect(len(r.report["processes"]) == 2, "processes")


def executes():
    needs_perf()
    events = ["cpu", "page-faults", "malloc", "read"]
    r = record(events, "exec")
    check(r, events, 2)
    cpu = by(r, "cpu")
    expect(cpu["cpu_ns"] < 4 * MS * 1e6, f"{cpu['cpu_ns']} ns of CPU time: some was counted twice")


def killed():
    """SIGKILL loses nothing of any trigger; nor does the collector's death."""
    needs_perf()
    events = ["cpu", "page-faults", "malloc", "read"]
    r = record(events, "kill")
    check(r, ["cpu", "page-faults", "malloc"])
    near(self_of(by(r, "read"), "reads"), (READ_MIB << 20) / BYTE_PERIOD, 2,
         "periods of bytes in reads")
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "out.pnb")
        recorder = subprocess.Popen(
            [PENUMBRA, "record", "-q", "-o", file, *options_of(events), *WHOLE, "--",
             target("works"), str(PAGES), str(MIB),
             str(MS), "attach"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        recorder.stdout.readline()
        with open(f"/proc/{recorder.pid}/task/{recorder.pid}/children",
                  encoding="ascii") as children:
            program = int(children.read().split()[0])
        recorder.kill()
        recorder.wait()
        recorder.stdin.write(b"\n")
        recorder.stdin.close()
        while runs(program):
            recorder.stdout.read()
        result = run([PENUMBRA, "recover", file])
        expect(result.returncode == 0, result.stderr.decode())
        report = json.loads(run([PENUMBRA, "report", "--json", "--quick", "--metric", "allocated",
                                 file]).stdout)
        expect([m["name"] for m in report["metrics"]][:1] == ["allocated"],
               f"recovered: {report['metrics']}")


def phases():
    """Each trigger's samples are of the phase that they were taken in."""
    needs_perf()
    r = record(["cpu", "page-faults", "malloc"])
    for event, function, inside in (("page-faults", "touches", True), ("malloc", "allocates", True),
                                    ("cpu", "spins", False)):
        report = r.json(["--metric", OF[event], "--phase", "memory"])
        everywhere = self_of(by(r, event), function)
        found = self_of(report, function)
        near(found, everywhere if inside else 0, 1, f"{event} of {function} in the phase")


def timers():
    """Without perf events there is CPU time by timers, with what calls use up; the rest is refused."""
    r = record(["cpu", "malloc", "read"], around=[NOPERF])
    check(r, ["malloc", "read"])
    near(self_of(by(r, "cpu"), "spins"), MS, 0.3 * MS, "ms in spins")
    result = run([NOPERF, PENUMBRA, "record", "-q", *options_of(["cpu", "page-faults"]), "-o",
                  os.devnull, "--", "true"])
    said = result.stderr.decode()
    expect(result.returncode != 0 and "page-faults" in said,
           f"page faults without perf events: {said}")


def budget():
    """The bound is of all triggers together: periods get longer, and weights make up for that."""
    needs_perf()
    r = Recording([target("works"), str(4 * PAGES), str(4 * MIB), str(3 * MS)],
                  ["-e", "cpu=200us", "-e", "page-faults=1", "-e", "malloc=100", "--budget", "5"])
    spent = r.report["overhead"]["percent_of_cpu"]
    expect(spent < 12, f"{spent}% spent of 5%")
    faults, bytes_ = by(r, "page-faults"), by(r, "malloc")
    expect(faults["taken"] < 2 * PAGES, f"{faults['taken']} samples of page faults")
    near(faults["samples"], 4 * PAGES, 0.15 * 4 * PAGES, "page faults")
    near(bytes_["samples"], (4 * MIB << 20) / 100, 0.15 * (4 * MIB << 20) / 100, "periods of bytes")


def attached():
    needs_perf()
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "out.pnb")
        program = subprocess.Popen([target("works"), str(PAGES), str(MIB), str(MS), "attach"],
                                   stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE)
        program.stdout.readline()
        recorder = subprocess.Popen([PENUMBRA, "record", "-o", file, "-p", str(program.pid),
                                     *options_of(["cpu", "page-faults"]), *WHOLE],
                                    stderr=subprocess.PIPE)
        # The program goes on when the runtime is in it.
        while "libpenumbra-rt" not in open(f"/proc/{program.pid}/maps", encoding="utf-8").read():
            expect(recorder.poll() is None, "the recording has ended")
        with open(f"/proc/{recorder.pid}/status", encoding="ascii"):
            pass
        program.stdin.write(b"\n")
        program.stdin.close()
        expect(program.wait() == 0, "the program's status")
        said = recorder.communicate()[1].decode()
        result = run([PENUMBRA, "report", "--json", "--quick", "--metric", "page-faults", file])
        expect(result.returncode == 0, said + result.stderr.decode())
        touched = self_of(json.loads(result.stdout), "touches")
        expect(touched > 0.5 * PAGES / PAGE_PERIOD, f"{touched} periods of page faults: {said}")
        result = run([PENUMBRA, "record", "-p", "1", "-e", "cpu", "-e", "malloc", "-o", os.devnull])
        expect(b"-e malloc needs" in result.stderr, result.stderr.decode())


def options():
    """What does not go together is refused, in words; commas are as good as -e again."""
    for arguments, words in (
            (["-e", "cpu", "-e", "wall"], "the clock of a thread"),
            (["-e", "cpu,cpu"], "given twice"),
            (["-e", "cpu", "-e", "task-clock"], "given twice"),
            (["-e", "cpu", "-e", "malloc", "-c", "64k"], "-e cpu=64k"),
            (["-e", "cpu,"], "there is no event"),
            (["-e", "page-faults,malloc", "-F", "100"], "-F is for time"),
            (["-e", "cpu,malloc", "--carrier", "burst"], "one event"),
            (["-e", "cpu,malloc", "--carrier", "shadow"], "one event"),
            (["-e", "cpu,malloc", "--tool", "values"], "one event"),
            (["-e", "cpu,malloc", "--exact"], "-e"),
            (["-e", "cpu,malloc=0"], "bytes"),
    ):
        result = run([PENUMBRA, "record", *arguments, "-o", os.devnull, "--", "true"])
        said = result.stderr.decode()
        expect(result.returncode != 0 and words in said, f"{arguments}: {result.returncode} {said}")
    r = Recording([target("works"), "10", "8", "30"],
                  ["-e", f"read=4k,malloc={BYTE_PERIOD},cpu=2ms", *WHOLE])
    periods = {m["name"]: m["period"] for m in r.report["metrics"]}
    expect(list(periods) == ["cpu", "allocated", "live", "peak", "read"], f"metrics: {periods}")
    expect(periods == {"cpu": 2000000, "allocated": BYTE_PERIOD, "live": BYTE_PERIOD,
                       "peak": BYTE_PERIOD, "read": 4096},
           f"periods: {periods}")


def text(*arguments):
    result = run([PENUMBRA, *arguments])
    expect(result.returncode == 0, f"{arguments}: {result.stderr.decode()}")
    return result.stdout.decode()


def metrics():
    """Every view is of one metric, says of which, and names the others."""
    r = record(["cpu", "malloc", "read"])
    first = text("report", r.file)
    expect("of cpu, every 1 ms" in first and "(--metric allocated)" in first
           and "(--metric read)" in first, first)
    second = text("report", "--metric", "read", r.file)
    expect("of read" in second and "(--metric cpu)" in second and "(--metric read)" not in second,
           second)
    live = r.json(["--metric", "live"])
    expect(not [f for f in live["functions"] if f["self"] and f["name"] == "allocates"],
           "all was freed")
    result = run([PENUMBRA, "report", "--metric", "page-faults", r.file])
    expect(result.returncode and b"it has cpu, allocated, live, peak, read" in result.stderr,
           result.stderr.decode())
    listed = {m["name"]: m for m in r.report["metrics"]}
    expect(listed["read"]["taken"] >= (READ_MIB << 20) / (1 << 16), f"taken: {listed['read']}")
    expect(listed["allocated"]["weight"] == by(r, "malloc")["samples"], "weights")
    expect("allocates" in text("annotate", "--metric", "allocated", r.file, "allocates"),
           "annotate")
    overlap = json.loads(text("compare", "--json", "--metric", "allocated", r.file, r.file))
    expect(overlap["metrics"]["overlap"] > 0.999 if "metrics" in overlap
           else overlap["overlap"] > 0.999, f"{overlap}")
    expect("allocates" in text("report", "--dump", r.file), "dump")
    page = os.path.join(r.folder.name, "page.html")
    text("report", "--html", page, "--metric", "read", r.file)
    with open(page, encoding="utf-8") as f:
        expect("reads" in f.read(), "the page")


def merged():
    """Sums are kept, in whatever order; recordings of other triggers are refused."""
    a, b = record(["cpu", "malloc", "read"]), record(["malloc", "cpu", "read"])
    other = record(["cpu", "malloc"])
    with tempfile.TemporaryDirectory() as folder:
        files = [os.path.join(folder, name) for name in ("ab.pnb", "ba.pnb")]
        text("merge", "-o", files[0], a.file, b.file)
        text("merge", "-o", files[1], b.file, a.file)
        for event in ("cpu", "malloc", "read"):
            wanted = by(a, event)["samples"] + by(b, event)["samples"]
            for file in files:
                report = json.loads(text("report", "--json", "--quick", "--metric", OF[event],
                                         file))
                expect(report["samples"] == wanted, f"{event}: {report['samples']}, not {wanted}")
                taken = by(a, event)["taken"] + by(b, event)["taken"]
                expect(report["taken"] == taken, f"{event}: {report['taken']} taken, not {taken}")
        result = run([PENUMBRA, "merge", "-o", os.path.join(folder, "no.pnb"), a.file, other.file])
        expect(result.returncode and b"metrics" in result.stderr, result.stderr.decode())


def exported():
    r = record(["cpu", "malloc", "read"])
    folded = text("export", "-f", "folded", "--metric", "read", r.file)
    weights = [int(line.rsplit(" ", 1)[1]) for line in folded.splitlines() if ";reads" in line]
    near(sum(weights), (READ_MIB << 20) / BYTE_PERIOD, 2, "periods of bytes in reads")
    expect("spins" in text("export", "-f", "folded", r.file), "the first metric is CPU time")
    expect("reads" in text("export", "-f", "callgrind", "--metric", "read", r.file), "callgrind")
    pprof = os.path.join(r.folder.name, "out.pb.gz")
    text("export", "-f", "pprof", "-o", pprof, r.file)
    with gzip.open(pprof) as f:
        strings = f.read()
    for name in (b"cpu", b"allocated", b"live", b"peak", b"read", b"bytes", b"nanoseconds"):
        expect(name in strings, f"pprof: no {name}")
    if shutil.which("go"):
        top = run(["go", "tool", "pprof", "-top", "-sample_index=read", pprof])
        expect(top.returncode != 0 or b"reads" in top.stdout, top.stdout.decode())


main({f.__name__: f for f in (sums, calls, threads, begins, forks, executes, killed, phases, timers,
                              budget, attached, options,
                              metrics, merged, exported)})
