"""What samples may cost, and what threads that begin at the same time cost each other."""
import contextlib
import os
import re
import shutil
import subprocess
import sys

from harness import PENUMBRA, Recording, expect, main, run, target

DEEP = [target("deep"), "100000", "900000000"]
SLOW = ("--no-trampoline",)  # each sample walks 100,000 frames


def bound():
    """By default samples get rarer where they would cost more than 2% of the CPU time; a rate that
    is asked for is kept."""
    r = Recording(DEEP, SLOW, report=("--depth", "50"), by_default=True)
    spent = r.report["overhead"]["percent_of_cpu"]
    expect("more than 2% of the CPU time" in str(r.report["notes"]), r.report["notes"])
    for options in (("-F", "997"), ("-c", "1ms"), ("-e", "cpu=1ms")):
        r = Recording(DEEP, (*options, *SLOW), report=("--depth", "50"), by_default=True)
        asked = r.report["overhead"]["percent_of_cpu"]
        expect(asked > 2 * spent, f"{options}: spent {asked}%, by default {spent}%")
        expect("more than 2%" not in str(r.report["notes"]), r.report["notes"])


def bounds():
    """So they do of elapsed time, and bursts where these would cost more than 5%. A sample is short
    here: what the first ones cost, until the period is long enough, is little of the whole."""
    program = [DEEP[0], "30000", DEEP[2]]
    for way in (("-e", "wall"), ("--tool", "values")):
        spent, asked = (Recording(program, (*way, *rate, *SLOW), report=("--depth", "50"),
                                  by_default=True).report["overhead"]["percent_of_cpu"]
                        for rate in ((), ("-F", "997")))
        expect(asked > 2 * spent, f"{way}: {asked}% as asked, {spent}% by default")


def crowd():
    """Threads that begin at the same time wait for each other's triggers, and all of them have one."""
    for _ in range(3):
        r = Recording([target("crowd"), "1000"])
        expect("could not be set" not in str(r.report["notes"]), r.report["notes"])


@contextlib.contextmanager
def one_busy_core(others):
    """The last processor, for which so many others compete."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    hogs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(others)]
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)
        for hog in hogs:
            hog.kill()
            hog.wait()


FORKS = """import os
memory = bytearray(b"x") * (50 << 20)
for _ in range(120):
    pid = os.fork()
    if not pid:
        os._exit(sum(range(20000)) & 1)
    os.waitpid(pid, 0)
"""


def preempted():
    """A period that expires while libc forks is the fork's, also where the thread is preempted
    before its signal comes."""
    late = []  # a signal may really come late once, where other programs are busy too
    while len(late) < 4 and 0 not in late:
        with one_busy_core(2):
            r = Recording([sys.executable, "-c", FORKS], ("-F", "9973"))
        late.append(r.report["dropped"]["late"])
        expect(r.samples() > 500, f"{r.samples()} samples, {r.report['dropped']}")
    expect(0 in late, f"{late} samples late")


def brief():
    """Threads that end before a signal could come are sampled as often as their time says, and what
    lives longer among them too."""
    count, us = 6000, 60
    r = Recording([target("brief"), str(count), str(us)])
    worked = r.total("brief_work")
    wanted = count * us * 1000 / r.report["period"]
    seen = worked + r.total("[unattributed]")
    expect(worked > 0.3 * wanted,
           f"{worked} samples in brief_work, which took {wanted:.0f} periods")
    expect(0.7 * wanted < seen,
           f"{seen} samples of brief_work or without a context, which took {wanted:.0f} periods")
    expect(r.total("long_work") > 200, f"{r.total('long_work')} samples in long_work")
    expect(r.samples() * r.report["period"] < 1.1 * r.report["coverage"]["cpu_ns"],
           f"{r.samples()} samples of {r.report['coverage']}")


def users():
    """Who records: root, and where that differs somebody who may not look into the kernel."""
    with open("/proc/sys/kernel/perf_event_paranoid", encoding="utf-8") as f:
        differs = os.geteuid() == 0 and int(f.read()) >= 2 and shutil.which("setpriv")
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"]
    return ((), nobody) if differs else ((),)


def shares_of_children(options, count, around, near, us=4000, pieces=0):
    """Recorded: each part of the children's work has the time that it takes by construction, as exactly as so many samples
    tell (`near` standard errors), and all samples together no more than there was."""
    r = Recording([target("children"), str(count), str(us), str(pieces)], options, around=around)
    error = near / max(1, r.report["effective_samples"]) ** 0.5
    period = r.report["period"]
    first, second = (r.total(name) * period / (count * us * 1000) for name in ("first_work", "second_work"))
    told = f"{options} {around}: {first} and {second} of the work, {r.samples()} samples of {r.report['coverage']}"
    expect(abs(first - 0.5) < 0.08 + error and abs(second - 0.2) < 0.04 + error, told)
    expect(r.samples() * period < (1.05 + error) * r.report["coverage"]["cpu_ns"], told)
    return r


def children():
    """Processes that live for some periods are sampled as their time says, in each part of it; within
    a budget they begin with as long a period as it takes, and not each anew with the shortest."""
    for around in users():
        shares_of_children((), 150, around, 2)
        count = 400
        taken = shares_of_children(("--budget", "0.1"), count, around, 3).report["taken"]
        expect(0 < taken < count, f"{taken} samples of {count} children")  # each has four periods


def servers():
    """Where one child after the other turns out to switch often, those that come have no event from the beginning, and samples
    as their time says."""
    count = 50
    for around in users():
        overhead = shares_of_children((), count, around, 3, 50000, 100).report["overhead"]
        expect(overhead["switches"] < count * 16 / 2, f"{overhead}")  # with an event, each is looked at after 16


def begins():
    """A sample that comes as soon as a thread is armed does not take the switches of the thread before, whose state this
    one has, for its own."""
    with one_busy_core(2):
        r = Recording([target("brief"), "3000", "150"], ("-F", "20000"))
    overhead = r.report["overhead"]
    expect(0 < overhead["switches"] < 1e6, f"{overhead}")
    expect("overwrote counters" not in str(r.report["notes"]), f"{r.report['notes']}")


def processes():
    """What many processes cost besides what their runtimes see is measured, once for a program that
    is executed and once for a fork."""
    few = Recording(["sh", "-c", "(:); (:); /bin/true; :"]).report["overhead"]
    expect(few["processes_ns"] == 0, f"few processes: {few}")
    for script, executed, forked in (("/bin/true; " * 50, 51, 0), ("(:); " * 50, 1, 50)):
        r = Recording(["sh", "-c", script + ":"])
        overhead = r.report["overhead"]
        expect(overhead["processes"] == len(r.report["processes"]) == executed + forked,
               f"{overhead}")
        each = overhead["processes_ns"] / (executed + forked)
        expect(5e3 < each < 5e6, f"{each} ns each: {overhead}")
        figures = run([PENUMBRA, "report", "--dump", r.file]).stdout.decode()
        found = [int(n) for n in re.findall(r'"processes\.(?:executed|forked)"\n.*\n.*\n.*a figure: (\d+)', figures)]
        expect(found == ([executed, forked] if forked else [executed]),
               f"{found} of {executed} and {forked}")


def ticks():
    """Ticks that look for unknown threads are signals like others: twenty a second of CPU time, and
    fewer within a budget, however rare samples are."""
    seconds = 2
    program = [sys.executable, "-c",
               f"import time\nwhile time.process_time() < {seconds}: sum(range(10000))"]
    counts = []
    for options in ((), ("--budget", "0.05")):
        r = Recording(program, ("-c", "1s", *options))
        notes = str(r.report["notes"])
        if "timers" in notes or "switched so often" in notes:  # nothing ticks in known threads
            return
        counts.append(r.report["overhead"]["deliveries"])
        expect(r.samples() <= 2 * seconds, f"{r.samples()} samples")
    expect(0.7 * 20 * seconds < counts[0] < 1.5 * 20 * seconds, f"{counts} signals")
    expect(2 <= counts[1] < counts[0] / 2, f"{counts} signals")


if __name__ == "__main__":
    main({f.__name__: f for f in (bound, bounds, crowd, preempted, brief, children, servers, begins,
                                 processes, ticks)})
