"""Programs that would break a careless profiler: each must behave the same and be seen right."""
import json
import math
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from harness import (Failure, PATIENCE, PENUMBRA, Recording, eventful, expect, kernel_events, main,
                     needs_kernel_events, nodes, run, target)


def within(value, wanted, samples, what, slack=0.01):
    """Binomial: five standard deviations and a little for what is not sampling error."""
    tolerance = 5 * math.sqrt(wanted * (1 - wanted) / samples) + slack
    expect(abs(value - wanted) <= tolerance, f"{what}: {value:.4f}, wanted {wanted:.4f} "
                                             f"+- {tolerance:.4f} ({samples} samples)")


def effective(r):
    """Samples of one weight each that would be as telling: those of elapsed time that were taken after
    a wait for the CPU, and those of a stretched period, stand for many."""
    return r.report["effective_samples"]


def shares_of(options):
    r = Recording([target("shares"), "1500"], options)
    expect(r.samples() > 400, f"only {r.samples()} samples")
    expect(r.complete() >= 0.995, f"complete: {r.complete()}")
    # Expirations that the handler itself was too late for are nobody's: on a busy machine, some in
    # a hundred.
    attributed = r.samples() - r.total("[unattributed]")
    expect(attributed > 0.9 * r.samples(), f"{attributed} of {r.samples()} are attributed")
    for name in ("first", "second", "third"):
        within(r.total(name) / attributed, 1 / 3, effective(r), name)
    within(r.total("leaf") / attributed, 1, effective(r), "leaf")
    return r


def shares():
    r = shares_of(())
    main_node = [n for n in nodes(r.report["tree"]) if n["name"] == "main"]
    expect(len(main_node) == 1, f"main appears {len(main_node)} times")
    callers = {n["name"] for n in main_node[0]["children"]}
    expect({"first", "second", "third"} <= callers, f"children of main: {callers}")


def shares_fast():
    r = shares_of(("-F", "9973"))
    expect(r.samples() > 4000, f"only {r.samples()} samples at 10 kHz")


def shares_wall():
    shares_of(("-e", "wall"))


def preempted():
    """A thread that waits for the processor in our handler stands where it was interrupted: that
    time is the program's."""
    spin = "i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done"
    r = Recording(["taskset", "-c", str(min(os.sched_getaffinity(0))), "sh", "-c",
                   f"for n in 1 2 3 4; do ({spin}) & done; wait"],
                  ("-e", "wall", "-F", "4999"))
    dropped = r.report["dropped"]
    expect(r.samples() > 4000, f"{r.samples()} samples")
    expect(dropped.get("nested", 0) < 0.005 * r.samples(), f"{dropped} of {r.samples()}")


def threads():
    r = Recording([target("threads")], ("-F", "4999"))
    expect(len(r.report["threads"]) >= 1001, f"{len(r.report['threads'])} threads")
    expect(r.complete() >= 0.995, f"complete: {r.complete()}")
    # The rest is the main thread's, which makes the threads: where the kernel is slow, much.
    expect(r.total("work") > 0.5 * r.samples(), f"work: {r.total('work')} of {r.samples()}")
    main_thread = [t["samples"] for t in r.report["threads"] if t["tid"] == t["pid"]]
    others = r.samples() - sum(main_thread) - r.total("[unattributed]")
    expect(len(main_thread) == 1 and r.total("work") > 0.8 * others,
           f"work: {r.total('work')} of {others}")


def rawclone():
    r = Recording([target("rawclone")])
    expect(r.total("raw_worker") > 0.5 * r.samples() and r.total("raw_worker") > 100,
           f"raw_worker: {r.total('raw_worker')} of {r.samples()}")


def held():
    """What the runtime puts before libc's functions looks for them in no child of a process with
    threads."""
    for options in ((), ("-e", "read=1M"), ("-e", "lock-wait=1s"), ("--exact", "--tool", "null")):
        Recording([target("held"), target("holder.so")], options)


def own_malloc():
    """Before main the runtime asks for no memory, and so does nobody on its behalf."""
    for options in ((), ("-e", "malloc=64k"), ("-e", "read=1M"), ("-e", "lock-wait=1s"),
                    ("--exact", "--tool", "null"),
                    ("--carrier", "shadow", "--tool", "edges")):
        Recording([target("own_malloc")], options)


def forks():
    r = Recording([target("forks")], ("-F", "4999"))
    expect(len(r.report["processes"]) >= 181, f"{len(r.report['processes'])} processes")
    expect(r.total("child_work") > 100, f"child_work: {r.total('child_work')} of {r.samples()}")
    alone = Recording([target("forks")], ("--no-follow",))
    expect(len(alone.report["processes"]) == 1,
           f"{len(alone.report['processes'])} processes with --no-follow")
    expect(alone.total("child_work") == 0, "a child was sampled with --no-follow")


def deep():
    r = Recording([target("deep"), "1000000"], report=("--depth", "50"))
    expect(r.samples() > 50, f"only {r.samples()} samples")
    r = Recording([target("deep"), "12000", "900000000"], report=("--depth", "50"))
    expect(r.complete() >= 0.97, f"12,000 frames: complete {r.complete()}")


def deep_shared():
    """Several samples share the walk of a stack that is too deep for one; then all of it is known."""
    r = Recording([target("deep"), "100000"], ("-F", "1997"), report=("--depth", "50"))
    expect(r.complete() >= 0.7, f"100,000 frames: complete {r.complete()}")
    folded = run([PENUMBRA, "export", "--format", "folded", "--max-depth", "0",
                  r.file]).stdout.decode()
    depths = [line.count(";descend") for line in folded.splitlines() if "truncated" not in line]
    expect(max(depths) >= 100000, f"frames: {sorted(depths)[-3:]}")


def account():
    """The account has a handler that is slow, and not what other programs do while it is preempted."""
    slow = Recording([target("deep"), "100000"], ("--no-trampoline",), report=("--depth", "50"))
    expect(slow.report["overhead"]["percent_of_cpu"] > 5,
           f"walks of 100,000 frames: {slow.report['overhead']}")
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    hogs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    try:
        allocates = [sys.executable, "-c", "for _ in range(40000): bytearray(4000)"]
        for command, options in (([target("shares"), "500"], ()),
                                 (allocates, ("-e", "malloc=16k"))):
            busy = Recording(command, options)
            expect(busy.report["overhead"]["percent_of_cpu"] < 25,
                   f"beside 2 others: {busy.report['overhead']}")
    finally:
        os.sched_setaffinity(0, cores)
        for hog in hogs:
            hog.kill()
            hog.wait()


def deep_moving():
    """A stack that grows and shrinks by 200,000 frames all the time: samples are not nested in
    samples that walk all of it."""
    r = Recording([target("recursing"), "200000", "100"], ("-F", "9973"), report=("--depth", "50"))
    nested = r.report["dropped"].get("nested", 0)
    expect(nested < 0.3 * (nested + r.samples()), f"{nested} nested, {r.samples()} taken")


def loader():
    r = Recording([target("loader"), target("plugin.so")], ("-F", "9973"))
    expect(r.complete() >= 0.99, f"complete: {r.complete()}")
    expect(r.total("plugin_work") > 100, f"plugin_work: {r.total('plugin_work')} of {r.samples()}")


def upgraded():
    """A library whose file is replaced while it is in use stays what it was, whatever else is
    unloaded."""
    with tempfile.TemporaryDirectory() as folder:
        used, new = (shutil.copy(target("plain.so"), os.path.join(folder, name))
                     for name in ("used.so", "new.so"))
        r = Recording([target("upgraded"), used, target("plugin.so"), new], ("-F", "4999"))
    few = 3 # samples: what the loader and libc run of it at its beginning and end has no name either
    places = [(f["image"], f["offset"]) for f in r.report["functions"] if f["image"] == "used.so" and f["total"] > few]
    expect(len(places) == 2 and len(set(places)) == 2, f"plugin_work and spin are in {places}")


def locked():
    r = Recording([target("locked")])
    expect(r.samples() > 50, f"only {r.samples()} samples")


def locks_all():
    """What the runtime maps is not locked with the program's memory, whoever locks it, and fills no
    /dev/shm."""
    for options in (("-F", "4999"), ("--exact",), ("--carrier", "burst", "-F", "997"),
                    ("--tool", "values", "--carrier", "burst")):
        for limit in ((), ("limited",)):
            Recording([target("locks_all"), *limit], options)


def inherits():
    for options in (("-F", "4999"), ("-F", "4999", "--no-follow")):
        Recording([target("inherits")], options)


def shells():
    r = Recording([target("shells")])
    expect(sum(p["name"] == "sh" for p in r.report["processes"]) > 40, "shells were not followed")


def execs():
    r = Recording([target("execs")])
    names = [p["name"] for p in r.report["processes"]]
    expect(names.count("env") >= 14, f"exec'ed images were not followed: {names}")
    ours = r.report["overhead"]["handler_ns"]
    expect(ours > 10_000 * len(names), f"{ours} ns for the beginning of {len(names)} processes")


def users():
    """A program that another user runs is not recorded, and the profile says so."""
    if os.geteuid() != 0:
        sys.exit(77)
    r = Recording(["/usr/bin/perl", "-e", "$( = $) = 65534; $< = $> = 65534; exec '/usr/bin/env'"])
    notes = " ".join(r.report["notes"])
    expect("not recorded, of programs that were executed: 1, run as another user" in notes, notes)
    # One that keeps root's capabilities up to exec, which takes them away.
    r = Recording(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups",
                   "/usr/bin/env"])
    notes = " ".join(r.report["notes"])
    expect("not recorded, of programs that were executed: 1, run as another user" in notes, notes)
    r = Recording(["/usr/bin/env", "-i", "/usr/bin/env", "/usr/bin/su", "--help"])
    notes = " ".join(r.report["notes"])
    expect("setuid" not in notes, f"root is nobody else: {notes}")


def brink():
    """At the end of a stack there is no room for a signal: samples are taken on another one."""
    r = Recording([target("brink")], ("-F", "2000"))
    expect(r.report["dropped"]["no-stack"] == 0, f"dropped: {r.report['dropped']}")
    expect(r.total("stay") > 500, f"{r.total('stay')} samples there")


def page_faults():
    r = Recording(["/usr/bin/perl", "-e", "my @a = map { $_ x 3 } 1..300000; print scalar @a"],
                  ("-e", "page-faults", "-c", "7"))
    expect(r.samples() > 100, f"only {r.samples()} samples")


def huge_pages():
    """Expirations during a long page fault belong to the instruction that made it."""
    needs_kernel_events()
    r = Recording([target("huge"), "300"], ("-F", "10000"))
    if r.native.stdout != b"huge\n":
        print("SKIP: no huge pages here")
        sys.exit(77)
    expect(r.samples() > 1000, f"only {r.samples()} samples")
    touched, lost = r.total("touch"), r.total("[unattributed]")
    expect(touched > 20 * lost, f"{touched} periods in touch, {lost} nowhere")


def blocked():
    """What expires while libc blocks all signals for a moment belongs to the function that does."""
    r = Recording([target("blocked"), "300"], ("-F", "4999"))
    late = r.report["dropped"]["late"]
    expect(r.samples() > 50 and late < 0.02 * r.samples(), f"{late} are late beside {r.samples()}")


def context_switches():
    needs_kernel_events()
    r = Recording([target("eintr")], ("-e", "context-switches", "-c", "11"))
    expect(r.samples() > 100, f"only {r.samples()} samples")


def older_kernel():
    """Where a signal interrupts calls that wait, nothing inside the kernel has an event."""
    old = ["setarch", "--uname-2.6"]
    if not shutil.which("setarch") or not run([*old, "uname", "-r"]).stdout.startswith(b"2.6"):
        sys.exit(77)
    wanted = "before Linux 6.11"
    for event, how in (("cpu", "only in user mode"), ("wall", "looked at from outside")):
        r = Recording([target("eintr")], ("-e", event), around=old)
        notes = "".join(r.report["notes"])
        expect(wanted in notes and how in notes, f"{event}: {notes}")
        expect(r.samples() > 10, f"{event}: only {r.samples()} samples")
    # A program that is in the kernel nearly always; one that is not.
    calls = [sys.executable, "-c", "import os\nfor i in range(100): os.urandom(1 << 20)"]
    for command, options in ((calls, ()), (calls, ("--kernel",)), ([target("shares"), "500"], ())):
        r = eventful(command, options, old)
        notes = "".join(r.report["notes"])
        expect(("--kernel" in options) == ("functions are not seen" in notes), f"{options}: {notes}")
        nowhere = r.total("[unattributed]") / max(1, r.samples())
        expect(nowhere > 0.6 if command == calls else nowhere < 0.2,
               f"{command} {options}: {nowhere} of the time has no place: {r.samples()} samples")
    for events in (["-e", "context-switches"], ["-e", "cpu", "-e", "context-switches"],
                   ["-e", "wall", "--carrier", "burst"]):
        refused = run([*old, PENUMBRA, "record", *events, "-o", "/dev/null", "--", "true"])
        expect(refused.returncode == 119 and wanted.encode() in refused.stderr,
               f"{events}: {refused.returncode}: {refused.stderr.decode()}")


def budget():
    r = Recording([target("shares"), "1500"], ("-F", "20000", "--budget", "1"))
    spent = r.report["overhead"]["percent_of_cpu"]
    expect(spent < 2.5, f"budget 1%, spent {spent}%")
    within(r.total("first") / r.samples(), 1 / 3, effective(r), "first", 0.05)


def switched(kind, rounds, options=()):
    """Both threads of the target are sampled at ticks, and no call of theirs is interrupted."""
    cores = os.sched_getaffinity(0)
    # on one of their own each, threads that yield go on at once
    os.sched_setaffinity(0, {max(cores)})
    try:
        r = Recording([target("switching"), kind, str(rounds)], options)
    finally:
        os.sched_setaffinity(0, cores)
    expect(b" 0 interrupted" in r.profiled.stdout, r.profiled.stdout.decode())
    expect("switched so often" in str(r.report["notes"]), f"{kind}: {r.report['notes']}")
    return r


def accounted(r, threads):
    """Weights times the period are the CPU time since the trigger was set, within a period a thread
    and what a thread's beginning may be off by. What is before that is the loader's time and ours,
    which another program on the processor makes any."""
    period, cpu = r.report["period"], r.report["cpu_ns"] - r.report["coverage"]["early_ns"]
    off = r.samples() * period - cpu
    expect(abs(off) <= 2 * threads * period + 0.01 * cpu,
           f"{r.samples()} periods of {period}, {cpu} ns of CPU time, off by {off}")


def switching():
    """Threads that hand over to each other are sampled by timers, which cost nothing where threads
    switch."""
    needs_kernel_events()
    for kind, rounds in (("pipe", 60000), ("futex", 60000), ("condition", 60000), ("epoll", 40000),
                         ("sleep", 3000), ("yield", 200000)):
        r = switched(kind, rounds)
        accounted(r, 2)
        expect(r.report["overhead"]["switches"] < 0.3 * 2 * rounds,
               f"{kind}: events at {r.report['overhead']['switches']} switches")
    switched("pipe", 60000, ("-F", "97"))
    switched("pipe", 60000, ("-F", "9973"))
    switched("pipe", 60000, ("--budget", "1%"))


def switching_raw():
    """With the inherited event gone, threads that no library knows of are found all the same."""
    r = switched("raw", 150000)
    expect(r.total("raw_work") > 0.2 * r.samples(),
           f"raw_work: {r.total('raw_work')} of {r.samples()}")


def switching_seldom():
    """A thread that keeps its processor has its event, also where others are preempted all the
    time."""
    r = Recording([target("shares"), "1500"])
    expect("switched so often" not in str(r.report["notes"]), r.report["notes"])


def timed():
    """Where only timers are to be had, weights are the CPU time too."""
    for options in (("-F", "97"), ("-F", "9973")):
        r = Recording([target("shares"), "1500"], options, around=[target("noperf")])
        accounted(r, 1)
    accounted(Recording([target("switching"), "pipe", "60000"], around=[target("noperf")]), 2)


def fallback():
    """Where perf events are refused, a timer on the thread's CPU clock takes over."""
    r = Recording([target("shares"), "1500"], around=[target("noperf")])
    expect(r.samples() > 0.8 * r.report["cpu_ns"] / r.report["period"],
           f"{r.samples()} samples in {r.report['cpu_ns']} ns")
    within(r.total("first") / r.samples(), 1 / 3, effective(r), "first")
    expect(r.report["notes"], "nothing says what was lost")
    r = Recording([target("eintr")], ("-F", "9973"), around=[target("noperf")])
    expect(b"interrupted 0\n" in r.profiled.stdout, r.profiled.stdout.decode())
    Recording([target("threads")], around=[target("noperf")])
    old = [target("nosigtrap")]
    notes = "".join(Recording([target("shares"), "200"], around=old).report["notes"])
    expect("CPU timers" in notes and "before Linux 5.13" in notes, notes)
    refused = run([*old, PENUMBRA, "record", "-e", "page-faults", "-o", "/dev/null", "--", "true"])
    expect(refused.returncode == 119 and b"-e page-faults takes Linux 5.13" in refused.stderr,
           f"{refused.returncode}: {refused.stderr.decode()}")


def vforks():
    """What runs between vfork and exec is a part of the program: in its contexts, and in its CPU
    time."""
    for around in ((), [target("noperf")]):
        parts_of = {"exec": 1, "clone": 1} if around else {"exec": 1, "exit": 1, "clone": 1,
                                                           "killed": 1, "fails": 2, "nested": 1}
        for way, parts in parts_of.items():
            r = Recording([target("vforks"), way, "3"], around=around)
            period, ms = r.report["period"] / 1e6, 300
            found = {name: r.total(name) * period
                     for name in ("in_parent", "in_child", "in_grandchild")}
            wanted = {"in_parent": ms, "in_child": parts * ms,
                      "in_grandchild": ms * (way == "nested")}
            for name, least in wanted.items():
                # Without perf events each child's part is whole ticks of the kernel, of up to 10
                # ms.
                slack = (0.35 if around else 0.2) * least + 30 * bool(around)
                expect(abs(found[name] - least) <= slack,
                       f"{way}: {name} has {found[name]} ms of {least}")
            outer = [n["name"] for n in nodes(r.report["tree"])
                     if "in_child" in {c["name"] for c in n["children"]}]
            expect(outer and "main" in {n["name"] for n in nodes(r.report["tree"])},
                   f"{way}: in_child is called by {outer}")
            coverage = r.report["coverage"]
            expect(around or coverage["percent"] > 85, f"{way}: {coverage}")
            expect(coverage["early_ns"] < 0.1 * coverage["cpu_ns"], f"{way}: {coverage}")


def spawns():
    """What a child of posix_spawn uses before it executes its program is its maker's: in its
    context, and in the CPU time."""
    for options in ((), ("--no-follow",)):
        r = Recording([target("vforks"), "spawn", "20"], options)
        coverage = r.report["coverage"]
        expect(coverage["percent"] > 70, f"{options}: {coverage}")
        share = r.total("by_spawn") / r.samples()
        expect(share > 0.5, f"{options}: the one who spawns has {share} of the time")


def unprivileged():
    """An ordinary user with perf_event_paranoid = 2 gets user-mode samples."""
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        sys.exit(77)
    user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"]
    r = Recording([target("shares"), "1500"], around=user)
    expect(r.samples() > 400, f"only {r.samples()} samples")
    within(r.total("first") / r.samples(), 1 / 3, effective(r), "first")


def dropped():
    """Threads that a server makes when it has dropped its rights are seen in user mode; what that
    leaves out is said."""
    with open("/proc/sys/kernel/perf_event_paranoid", encoding="utf-8") as f:
        user_mode = os.geteuid() == 0 and int(f.read()) >= 2 and kernel_events()
    for event, how in (("page-faults", "touches"), ("cpu", "works")):
        r = Recording([target("dropped"), how, "500"], ("-e", event))
        expect(r.total(how) > max(20, 0.8 * r.samples()),
               f"only {r.total(how)} of {r.samples()} samples of {event} in its threads")
        notes = "".join(r.report["notes"])
        wanted = "inside the kernel is not sampled in some threads of 1 process, which had dropped its rights by then"
        expect(len(r.report["threads"]) == 5 and (wanted in notes) == user_mode,
               f"{r.report['threads']}: {r.report['notes']}")
    expect(": it is [unattributed]" in notes or not user_mode, notes)
    # Threads that end, and some that do not: what nobody saw is known at the end all the same.
    r = Recording([target("dropped"), "reads", "500"])
    expect(85 < r.report["coverage"]["percent"] < 110, f"{r.report['coverage']}")


def dropped_kernel():
    """Events inside the kernel are not for such threads: said at once, with their number."""
    needs_kernel_events()
    with open("/proc/sys/kernel/perf_event_paranoid", encoding="utf-8") as f:
        if os.geteuid() != 0 or int(f.read()) < 2:
            sys.exit(77)
    for event in ("wall", "context-switches"):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "out.pnb")
            said = run([PENUMBRA, "record", "-e", event, "-o", file, "--", target("dropped"),
                        "works", "3000"]).stderr.decode()
            report = json.loads(run([PENUMBRA, "report", "--json", "--quick", file]).stdout)
        wanted = "the trigger could not be set in 4 threads: Permission denied"
        expect(said.count(wanted) == 1 and "perf_event_paranoid" in said,
               f"{event}: it is not said: {said}")
        expect(wanted in "".join(report["notes"]), f"{event}: no note: {report['notes']}")
        expect(len(report["threads"]) == 5, f"{event}: not five threads: {report['threads']}")


def keys():
    """The program can have all keys of thread-specific data; threads are sampled as before."""
    for arguments, options in (([], ("-F", "9973")), (["tss"], ("-F", "9973")),
                               ([], ("--carrier", "burst", "-F", "4999")), ([], ("--exact",))):
        r = Recording([target("keys"), *arguments], options)
        expect(r.native.stdout.startswith(b"keys 1024 one more 11 ended 40960 wrong 0"),
               r.native.stdout.decode())
        expect(len(r.report["threads"]) == 41, f"{options}: {len(r.report['threads'])} threads")
        if not options[0].startswith("--"):
            expect(r.total("key_worker") > 500, f"only {r.total('key_worker')} samples")


def stray():
    """A process made by a raw clone that makes threads and enters a sandbox (Chromium's) is a child
    like those of fork from then on."""
    for options in ((), ("-F", "20000"), ("-e", "wall"), ("--tool", "values"),
                    ("--carrier", "shadow", "--load", "2"),
                    ("--carrier", "auto"), ("--exact", "--tool", "blocks")):
        for when in ("in", "before"):
            recording = Recording([target("stray"), when], options)
            expect(recording.native.stdout == b"7 0\n",
                   f"{when}: natively {recording.native.stdout}")
            report = recording.report
            pids = [p["pid"] for p in report["processes"]]
            children = [p for p in report["processes"] if p["ppid"] in pids]
            expect(len(pids) == 2 and len(children) == 1,
                   f"{options} {when}: {report['processes']}")
            made = [t["pid"] for t in report.get("threads", ()) if t["pid"] == children[0]["pid"]]
            left_out = when == "in" and ("--tool" in options or "--carrier" in options)
            timers = when == "in" and "wall" in options and not kernel_events()
            expect("--exact" in options or len(made) == 2 - left_out,
                   f"{options} {when}: {report['threads']}")
            expect("--exact" in options
                   or children[0].get("sandbox", {}).get("threads", 0) == left_out + timers,
                   f"{options} {when}: {children}")
    # One that has set a handler for our signal, as Chromium's renderers do for crashes, before it
    # is adopted.
    for options in ((), ("-F", "9973"), ("--tool", "values")):
        recording = Recording([target("stray"), "handles"], options)
        expect(recording.native.stdout == b"7 0\n", f"natively {recording.native.stdout}")
        made = {t["pid"] for t in recording.report.get("threads", ())}
        expect(len(made) == 2, f"{options}: {recording.report['threads']}")
    for when in ("in", "before"): # a timer's signals
        Recording([target("stray"), when], ("-F", "1000"), around=[target("noperf")])
    r = Recording([target("stray"), "before"], ("-F", "1000"))
    expect(r.total("stray_worker") > 20,
           f"stray_worker: {r.total('stray_worker')} of {r.samples()}")


def traced():
    """strace would print every sample's signal: what it traces runs without us."""
    if not shutil.which("strace"):
        sys.exit(77)
    work = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; exit 3"
    r = Recording(["strace", "-qq", "-f", "-e", "trace=none", "sh", "-c", work])
    expect(any("tracer" in note for note in r.report["notes"]), "nothing says why")
    # The recorder itself: what it measures first sends signals, each of which costs far more now.
    with tempfile.TemporaryDirectory() as folder:
        said = os.path.join(folder, "said")
        done = run(["strace", "-qq", "-f", "-e", "trace=clone", "-o", said, PENUMBRA, "record",
                    "-q", "-o",
                    os.path.join(folder, "traced.pnb"), "--", "true"])
        expect(done.returncode == 0, f"{done.stderr}")
        text = run([PENUMBRA, "report", os.path.join(folder, "traced.pnb")]).stdout.decode()
        expect("note      the trigger could not be set" in text and "tracer" in text, text)
        with open(said) as f:
            signals = f.read().count("--- SIGTRAP")
        expect(0 < signals <= 300, f"{signals} signals")


def stops():
    """Stops for a tracer are context switches: each would make the next sample, for ever."""
    needs_kernel_events()
    if not shutil.which("strace"):
        sys.exit(77)
    for tracer in (["strace", "-o", "/dev/null"], ["strace", "-f", "-o", "/dev/null"]):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "out.pnb")
            done = run(["timeout", "-k", "1", "60", PENUMBRA, "record", "-e", "wall", "-o", file,
                        "--", *tracer, "sh", "-c", "exit 3"])
            expect(done.returncode == 3, f"{tracer}: {done.returncode}")
            notes = json.loads(run([PENUMBRA, "report", "--json", "--quick", file]).stdout)["notes"]
        expect(b"samples ended in 1 thread when a debugger or tracer came" in done.stderr,
               done.stderr.decode())
        expect(any("samples ended in 1 thread" in note for note in notes), f"{notes}")
    stops_late()
    r = Recording(["sh", "-c", "i=0; while [ $i -lt 300 ]; do i=$((i+1)); /bin/true; done"],
                  ("-e", "wall"))
    expect(not r.report["notes"], f"{r.report['notes']}")


def stops_late():
    """A tracer that comes while the program works."""
    script = ("import os, sys\nprint(os.getpid(), flush=True)\nsys.stdin.read()\n"
              "for i in range(20000):\n    f = open('/proc/self/stat')\n    f.read()\n    f.close()\nprint('done')\n")
    with tempfile.TemporaryDirectory() as folder:
        p = subprocess.Popen(["timeout", "-k", "1", "60", PENUMBRA, "record", "-q", "-e", "wall",
                              "-o", os.path.join(folder, "out.pnb"),
                              "--", sys.executable, "-c", script], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE)
        tracer = subprocess.Popen(["strace", "-e", "trace=none", "-o", "/dev/null", "-p",
                                   p.stdout.readline().decode().strip()],
                                  stderr=subprocess.PIPE)
        tracer.stderr.readline() # attached
        output, _ = p.communicate(b"", timeout=PATIENCE)
        tracer.communicate(timeout=PATIENCE)
    expect(output == b"done\n" and p.returncode == 0, f"{output} {p.returncode}")


PROGRAMS = {
    "xz": (["xz", "-3", "-c", "-T2"], True),
    "gzip": (["gzip", "-c"], True),
    "bzip2": (["bzip2", "-c"], True),
    "sort": (["sort", "--parallel=4"], True),
    "sha256sum": (["sha256sum"], True),
    "file": (["file", "-L", "/bin/ls", "/usr/bin/perl", "/etc/passwd"], False),
    "perl": (["perl", "-e", "print join ',', sort { $a <=> $b } map { $_ * 7 % 1000 } 1..200000"],
             False),
    "perl-die": (["perl", "-e", "for (1..200000) { eval { die $_ } } print 'ok'"], False),
    "python3": (["/usr/bin/python3", "-c", "import json,ssl,sqlite3,subprocess;"
                 "print(subprocess.run(['sh','-c','echo hi; exit 3'],capture_output=True));"
                 "print(sum(hash(str(i))%7 for i in range(300000))>0)"], False),
    "bash": (["bash", "-c", "for i in {1..50}; do echo $(echo $i | tr 0-9 a-j); done; kill -9 $$"],
             False),
    "gcc": (["gcc", "-O2", "-S", "-x", "c", "-o", "-", "-"], True),
    "make": (["make", "-j4", "-f", "-"], True),
    "git": (["git", "--version"], False),
    "find": (["find", "/usr/share/doc", "-name", "*.gz"], False),
    "tar": (["sh", "-c", "tar -cf - /usr/include/linux 2>/dev/null | gzip -c | sha256sum"], False),
    "seccomp": (["sh", "-c", "command -v file >/dev/null && file /bin/sh"], False),
    "ulimit": (["sh", "-c", "ulimit -v 400000; ulimit -n 20; ls /usr/bin | sort | sha256sum"],
               False),
    "address-limit": (["/usr/bin/python3", "-c", "import resource;"
                       "resource.setrlimit(resource.RLIMIT_AS, (10**9, 10**9));"
                       "b = bytearray(700 * 1000 * 1000); print(len(b))"], False),
    "address-space": (["sh", "-c", "ulimit -v 1000000; exec /usr/bin/python3 -c "
                       "'b = bytearray(800 * 1000 * 1000); print(len(b))'"], False),
    "node": (["node", "-e", "let s=0; for (let i=0;i<5e7;i++) s=(s+i*i)%1000003; console.log(s)"],
             False),
    "java": (["java", "-version"], False),
    "sh-signals": (["sh", "-c", "trap 'echo term' TERM; kill -TERM $$; kill -TRAP $$"], False),
}


def source():
    out = b""
    for folder, _, files in sorted(os.walk("/usr/include/linux")):
        for name in sorted(files):
            with open(os.path.join(folder, name), "rb") as f:
                out += f.read()
        if len(out) > 3 << 20:
            break
    return out[:3 << 20]


def programs():
    failures = []
    for name, (command, has_input) in PROGRAMS.items():
        if not shutil.which(command[0]):
            continue
        data = None
        if name == "gcc":
            data = b"#include <stdio.h>\nint main(void){for(int i=0;i<9;i++)printf(\"%d\",i);return 0;}"
        elif name == "make":
            data = b"all: a b c d\na b c d:\n\t@echo x | sha256sum; true\n"
        elif has_input:
            data = source()
        try:
            Recording(command, ("-F", "4999"), stdin=data)
        except Failure as failure:
            failures.append(f"{name}: {failure}")
    expect(not failures, "\n".join(failures))


def kill_children(pid):
    children = run(["ps", "-o", "pid=", "--ppid", str(pid)]).stdout.split()
    for child in children:
        try:
            os.kill(int(child), signal.SIGKILL)
        except ProcessLookupError:
            pass
    return bool(children)


def start_recording(file, command):
    return subprocess.Popen([PENUMBRA, "record", "-q", "-o", file, "--", *command],
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                            start_new_session=True)


def end_group(group):
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass


def recover(file):
    """The counters of a collector that was killed stay until somebody makes a profile of them."""
    run([PENUMBRA, "recover", file])


def samples_of(file):
    result = run([PENUMBRA, "report", "--json", "--quick", file])
    expect(result.returncode == 0, f"unreadable: {result.stderr.decode()}")
    return json.loads(result.stdout)["samples"]


def time_to_first_sample(file):
    begin = time.monotonic()
    p = start_recording(file, [target("shares"), "100000000"])
    try:
        while not os.path.exists(file) or not samples_of(file):
            expect(time.monotonic() - begin < PATIENCE, "there was never a sample")
            time.sleep(0.01)
        return time.monotonic() - begin
    finally:
        end_group(p.pid)
        p.wait()
        recover(file)


def closes():
    """Descriptors of ours that the program finds in /proc can be closed as others can, as far as it
    knows."""
    script = ("import os\nfailed = 0\nfor name in os.listdir('/proc/self/fd'):\n"
              "    number = int(name)\n"
              "    try:\n        os.fstat(number)\n    except OSError:\n        continue\n"
              "    try:\n        number > 2 and os.close(number)\n    except OSError:\n        failed += 1\n"
              "print(failed, sum(range(3000000)))\n")
    r = Recording([sys.executable, "-c", script])
    expect(r.samples() > 0, "nothing was sampled afterwards")


def kills():
    """SIGKILL to the program, to the collector, or to both, at random moments from before the first
    sample to long after it: if the program had begun, there is a file, and it is readable."""
    generator = random.Random(20051)
    rounds = int(os.environ.get("KILL_ROUNDS", "24"))
    with_samples = 0
    with tempfile.TemporaryDirectory() as folder:
        first = time_to_first_sample(os.path.join(folder, "first.pnb"))
    for i in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            file, begun = os.path.join(folder, "k.pnb"), os.path.join(folder, "begun")
            command = [target("forks")] if i % 4 == 3 else [target("shares"), "100000"]
            p = start_recording(file, ["sh", "-c", ': >"$0"; exec "$@"', begun, *command])
            time.sleep(generator.uniform(0.1, 3) * first)
            who = i % 3  # 0: the program, 1: the collector, 2: both
            try:
                while who != 1 and p.poll() is None and not kill_children(p.pid):
                    time.sleep(0.01)
                if who != 0:
                    p.kill()
                p.wait(PATIENCE)
            finally:
                end_group(p.pid)
            if os.path.exists(begun):
                with_samples += samples_of(file) > 0
            else:
                recover(file)
    # Two thirds of the moments are after the first sample; less than one in five would be if the
    # machine had become four times slower meanwhile.
    expect(with_samples > rounds / 10, f"only {with_samples} of {rounds} files had samples")


if __name__ == "__main__":
    main({name: f for name, f in dict(globals()).items()
          if getattr(f, "__module__", "") == "__main__"})
