"""The carrier shadow: programs of which copies run under the engine do what they do natively, and nobody sees
the copies. Nothing here depends on how many shadows there were, but that there were some."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.environ["HARNESS"])
from harness import (PATIENCE, PENUMBRA, Recording, expect, halting_record,  # noqa: E402
                     kernel_events, main, report_of, run, target)
from shadows import MORE, SHADOW, TIMES, record, skip_test, until  # noqa: E402



def processes(name):
    """The running processes of this command."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="latin-1") as f:
                stat = f.read()
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                command = f.read().split(b"\0")[0].decode(errors="replace")
        except OSError:
            continue
        if command == name and stat.rpartition(")")[2].split()[0] not in "ZX":
            found.append(int(pid))
    return found


def vanish(name):
    """Waits until no process of this command runs."""
    end = time.monotonic() + PATIENCE
    while processes(name):
        expect(time.monotonic() < end, f"{name} goes on running: {processes(name)}")
        time.sleep(0.05)


def private(name):
    """A copy of the target under a name that nothing else has."""
    folder = os.path.join(os.environ["TARGETS"], f"copies-{os.getpid()}")
    os.makedirs(folder, exist_ok=True)
    copy = os.path.join(folder, name)
    shutil.copy(target(name), copy)
    return copy


def begin(command, file, *options):
    """A recording that has begun to make shadows: the collector and the program's process."""
    collector = subprocess.Popen([PENUMBRA, "record", "-q", "-o", file, *SHADOW, *options, "--",
                                  *command],
                                 stdout=subprocess.DEVNULL)
    end = time.monotonic() + PATIENCE
    while True:
        there = processes(command[0])
        if len(there) > 1:
            break
        expect(collector.poll() is None and time.monotonic() < end, f"no shadow came: {there}")
        time.sleep(0.01)
    program = next(pid for pid in there if is_child(pid, collector.pid)
                   and session(pid) == os.getsid(0))
    return collector, program


def fields(pid):
    with open(f"/proc/{pid}/stat", encoding="latin-1") as f:
        return f.read().rpartition(")")[2].split()


def is_child(pid, parent):
    try:
        return int(fields(pid)[1]) == parent
    except OSError:
        return False


def session(pid):
    """A shadow has a session of its own."""
    try:
        return int(fields(pid)[3])
    except OSError:
        return -1


def bytes_once():
    calls = record([target("shadow_bytes")], size="10M").report["syscalls"]
    expect(calls["output"].get("write", 0) + calls["input"].get("read", 0) > 0,
           f"no call was met: {calls}")


def ring():
    for option in ([], ["--no-follow"]):
        ended = record([target("shadow_ring"), "200000"], *option).report["shadows"]["ended"]
        expect(ended["shared-write"] > 0, f"no shadow met shared memory: {ended}")


def skip():
    shadows = record([target("shadow_ring"), "200000"], "--skip-shared-writes",
                     "--no-follow").report["shadows"]
    expect(shadows["skipped_writes"] > 0, f"nothing was skipped: {shadows}")
    expect(shadows["ended"]["shared-write"] == 0, f"a write was not skipped: {shadows}")


def alone():
    """Transfers that cannot be translated are executed natively in the shadow, which goes on;
    system calls of another ABI are not."""
    report = record([target("shadow_alone"), "200000"], "--no-follow").report
    shadows = report["shadows"]
    ended = shadows["ended"]
    expect(ended["complete"] > 0 and ended["engine"] == 0, f"{ended}")
    expect(shadows["instructions"] > 500000 * shadows["ended"]["complete"], f"{shadows}")
    expect(any("natively, alone" in note for note in report["notes"]), f"{report['notes']}")
    # What they write is written once: the output is compared.
    if run([target("shadow_alone"), "1", "old"]).returncode:
        return  # a kernel without that ABI
    shadows = record([target("shadow_alone"), "200000", "old"], "--no-follow").report["shadows"]
    expect(shadows["ended"]["engine"] > 0, f"{shadows['ended']}")


def family():
    """Without --no-follow forked processes have shadows too; what they are told is the same."""
    record([target("shadow_family")])
    record([target("shadow_family")], "--no-follow")


def guards():
    """Whoever waits for a shadow ends by itself, after it."""
    record([target("shadow_guarded")], size="100k")


def brief():
    """Whoever ends soon has its shadows counted as ended with it; a thread that ends leaves its
    process's alone."""
    for what in ("processes", "threads"):
        shadows = record([target("shadow_brief"), what, "60"], "-F", "5000", "--tool",
                         "count").report["shadows"]
        expect(shadows["ended"]["killed"] == 0, f"{what}: {shadows['ended']}")


def threads():
    for tool in ("blocks", "edges"):
        record([target("shadow_threads")], "--tool", tool)


def all_threads(command, *options, patience="1s", some=True, trigger=TIMES):
    recording = record(command, "--threads", "all", "--barrier-timeout", patience, *options,
                       some=False, trigger=trigger)
    shadows = recording.report["shadows"]
    there = shadows["threads"]
    if there["gave_up"]["no-events"]:
        skip_test("no perf events here: threads cannot be stopped")
    expect(not some or shadows["started"] > 0, f"there was no shadow: {shadows}")
    gave_up = sum(there["gave_up"].values())
    expect(there["barriers"] == shadows["started"] + shadows["declined"]["fork"],
           f"barriers: {shadows}")
    expect(gave_up == shadows["declined"]["barrier"], f"given up, but not declined: {shadows}")
    expect(there["scheduled"] <= there["rebuilt"], f"more ran than there were: {there}")
    return recording


def until_complete(command, *options):
    """Of what ends with its program nothing is known: once more, until one shadow has come to its
    end."""
    end = time.monotonic() + PATIENCE
    while True:
        report = all_threads(command, *options, some=False).report
        if report["shadows"]["completed"]:
            return report
        expect(time.monotonic() < end, f"no shadow was complete: {report['shadows']}")


def threads_all():
    """In one shadow several threads run, make others and join them, take locks and wait in turn."""
    report = until_complete([target("shadow_pool"), "1000"], "--load", "0.001")
    there, started = report["shadows"]["threads"], report["shadows"]["started"]
    expect(there["scheduled"] >= started + 2, f"no shadow had several threads: {there}")
    report = until_complete([target("shadow_pool"), "500"])
    shadows, calls = report["shadows"], report["syscalls"]
    # Nothing was wrong with any of them: that would end in an illegal instruction, or in abort().
    expect(not any(shadows["ended"][how] for how in ("fault", "signal", "killed")), f"{shadows}")
    expect(not shadows["ended"]["setup"] and shadows["threads"]["switches"] > 0, f"{shadows}")
    # Those that begin in a system call, as threads do that are about to end.
    ended = calls["unsafe"].get("exit", 0) > 0 or not kernel_events()
    expect(ended and calls["miscellaneous"]["futex"] > 0, f"{calls}")
    seen = {block["function"] for block in report["blocks"]
            if block["function"].startswith("work_")}
    expect(len(seen) == 9, f"only {sorted(seen)} ran")
    all_threads([target("shadow_threads")], "--seed", "7", "--tool", "edges")
    alone = until_complete([target("shadow_steady"), "1000"])["shadows"]
    expect(alone["completed"] <= alone["threads"]["rebuilt"] <= alone["started"]
           and not alone["threads"]["switches"], f"{alone}")


def threads_auto():
    """Shadows have all threads where several run, and one where there is one, or where threads
    cannot be stopped."""
    there = record([target("shadow_steady"), "2000"]).report["shadows"]["threads"]
    expect(there["barriers"] == sum(there["gave_up"].values()) == 0,
           f"barriers for a single thread: {there}")
    pool = [target("shadow_pool"), "500"]
    until(pool, lambda shadows: shadows["threads"]["switches"] > 0, "--barrier-timeout", "1s")
    few = Recording([target("shadow_waits"), "400"],
                    ("--carrier", "shadow", "--tool", "paths", "--budget", "20"))
    few = few.report["shadows"]
    asked = few["threads"]["barriers"] + sum(few["threads"]["gave_up"].values())
    expect(asked >= few["started"] > 0, f"a long shadow was risked with one thread: {few}")
    there = record(pool, "--threads", "one").report["shadows"]["threads"]
    expect(there["barriers"] == 0, f"barriers without being asked for: {there}")
    noperf = os.path.join(os.environ["HARNESS_TARGETS"], "noperf")
    shadows = Recording([target("shadow_pool"), "400"], SHADOW, around=[noperf]).report["shadows"]
    expect(shadows["started"] > 0 and not shadows["declined"]["barrier"]
           and not shadows["threads"]["barriers"], f"{shadows}")


def threads_leave():
    """Of the thread that was interrupted nothing is left in the shadow, not even its memory: the
    others go on."""
    end = time.monotonic() + PATIENCE
    while True:
        shadows = all_threads([target("shadow_leaving")], "--skip-shared-writes", "--sample-size",
                              "10M",
                              some=False).report["shadows"]
        expect(not shadows["ended"]["killed"] and not shadows["ended"]["fault"], f"{shadows}")
        if shadows["skipped_writes"]:
            return
        expect(time.monotonic() < end, f"no shadow came behind the end of a thread: {shadows}")


SLEEPS = {"clock_nanosleep", "poll", "pselect6", "epoll_wait", "futex", "rt_sigtimedwait", "read",
          "recvfrom"}


def sleepers():
    """Who sleeps in a system call is not woken, whatever the call: the program counts what ended
    early."""
    there = all_threads([target("shadow_sleepers")]).report["shadows"]["threads"]
    expect(there["asleep"] > 0, f"nobody slept: {there}")
    calls = there["asleep_in"]
    expect(sum(calls.values()) == there["asleep"] and not set(calls) - SLEEPS,
           f"others slept: {there}")


def listener():
    """A thread that waits for input sleeps on in a shadow, and the other one goes on to the
    shadow's end."""
    end = time.monotonic() + PATIENCE
    while True:
        shadows = all_threads([target("shadow_sleepers"), "listens"]).report["shadows"]
        if shadows["threads"]["fell_asleep"] and shadows["completed"]:
            return
        expect(time.monotonic() < end, f"no thread waited in a shadow: {shadows}")


def schedule_of(seed):
    """The order in which eight threads came to run in the one shadow of a program that was copied at a page fault, as
    the functions that were called tell it."""
    end = time.monotonic() + PATIENCE
    while True:
        report = all_threads([target("shadow_order")], "--seed", seed, "--load", "0.001",
                             "--no-randomize", some=False,
                             trigger=("-e", "page-faults", "-c", "1500")).report
        if report["shadows"]["ended"]["exit"]:
            break
        expect(time.monotonic() < end, f"no shadow came to its end: {report['shadows']}")
    there = report["shadows"]["threads"]
    expect(report["shadows"]["started"] == 1 and there["scheduled"] == there["rebuilt"] == 9,
           f"{report['shadows']}")
    order = sorted(block["function"] for block in report["blocks"]
                   if re.fullmatch(r"at_\d_\d", block["function"]))
    expect([name[3] for name in order] == list("01234567"), f"not one after the other: {order}")
    expect(sorted(name[5] for name in order) == list("01234567"), f"not each once: {order}")
    return order


def threads_seed():
    """The seed decides: the same order in another copy of the same moment, another one with another
    seed."""
    first = schedule_of("1")
    expect(schedule_of("1") == first, f"not {first} again")
    expect(schedule_of("2") != first, f"{first} with another seed")


def no_events():
    """Where perf events are refused no thread can be stopped: no shadow, and it is said why."""
    noperf = os.path.join(os.environ["HARNESS_TARGETS"], "noperf")
    report = Recording([target("shadow_pool"), "400"], [*SHADOW, "--threads", "all"],
                       around=[noperf]).report
    shadows = report["shadows"]
    expect(shadows["started"] == 0
           and shadows["threads"]["gave_up"]["no-events"] == shadows["declined"]["barrier"] > 0,
           f"{shadows}")


def threads_dropped():
    """Of a program that has dropped its rights /proc does not tell where threads are: one thread
    then, or no shadow and why."""
    command = [os.path.join(os.environ["HARNESS_TARGETS"], "dropped"), "works", "600"]
    shadows = all_threads(command, some=False).report["shadows"]
    expect(shadows["started"] == 0
           and shadows["threads"]["gave_up"]["rights"] == shadows["declined"]["barrier"] > 0,
           f"{shadows}")
    text, _ = said(command, *SHADOW, "--threads", "all")
    expect(text.count("the program has dropped its rights") == 1 and "--threads one" in text,
           f"it is not said: {text}")
    # Not risked within a budget, but for the first one.
    for options in (["--carrier", "shadow", "--load", "2", *TIMES],
                    ["--carrier", "shadow", "--budget", "30%", *TIMES]):
        shadows = Recording(command, options).report["shadows"]
        gave_up = shadows["threads"]["gave_up"]
        expect(shadows["started"] > 0 and sum(gave_up.values()) == gave_up["rights"] <= 1,
               f"{options}: {shadows}")


def sandboxed():
    """Where a system call would end the program no trigger makes one, and it is said why there is
    no shadow."""
    command = [os.path.join(os.environ["HARNESS_TARGETS"], "sandbox")]
    for options in ([], ["--threads", "all"], ["--log-input"]):
        shadows = record(command, *options, "--no-follow", some=False).report["shadows"]
        expect(shadows["declined"]["sandbox"] > 0, f"{options}: {shadows}")
    for options in (["--carrier", "shadow", "--budget", "5%"], ["--carrier", "auto"]):
        Recording(command, [*options, "-F", "1000"])


def threads_deaf():
    """A thread that no signal reaches: no shadow while it runs, and it is said why."""
    report = all_threads([target("shadow_sleepers"), "deaf"], patience="1ms", some=False).report
    shadows = report["shadows"]
    expect(shadows["threads"]["gave_up"]["timeout"] > 0, f"{shadows}")


def finish():
    """Shadows of a program that is over soon end with it, or, if they may, where it has ended."""
    command, size = [target("shadow_steady"), "300"], "10G"
    until(command, lambda shadows: shadows["ended"]["program-ended"], "--tool", "count", "--sample-size", size)
    report = record(command, "--tool", "count", "--finish-shadows", f"{PATIENCE}s", size=size).report
    shadows, whole = report["shadows"], 300 * 100000 * 4
    expect(shadows["ended"]["exit"] == shadows["started"], f"other ends: {shadows['ended']}")
    expect(shadows["instructions"] > whole / 4, f"{shadows['instructions']} instructions of {whole} and more")
    # A recording that ends before its program does not wait for them.
    shadows = record([target("shadow_steady"), "4000"], "--tool", "count", "--finish-shadows", f"{PATIENCE}s",
                     "--duration", "200ms", size="10G").report["shadows"]
    expect(not shadows["ended"]["exit"] and shadows["ended"]["program-ended"], f"other ends: {shadows['ended']}")


def complete():
    """Without system calls all that a shadow is asked for is what it does, and some blocks more at
    most."""
    for size in (1000, 12345, 5000000):
        report = record([target("shadow_steady"), "3000"], "--tool", "count", size=str(size)).report
        shadows = report["shadows"]
        whole = shadows["ended"]["complete"]
        ends = {name for name, count in shadows["ended"].items() if count}
        expect(ends <= {"complete", "program-ended", "system-call", "exit", "fault"},
               f"other ends: {ends}")
        expect(whole > 0, f"none was complete: {shadows}")
        least, most = whole * size, shadows["started"] * (size + MORE)
        expect(least <= shadows["instructions"] <= most,
               f"{shadows['instructions']} instructions in {whole} shadows of {size}")
        expect(report["instructions"] >= whole * size, f"{report['instructions']} counted")
        low, high = shadows["coverage_bounds"]
        expect(0 <= low <= shadows["coverage"] <= high <= 1, f"coverage: {shadows}")
        ours = report["overhead"]
        # The account of samples has the triggers' signals.
        cost = shadows["cost"]["program_ns"] - shadows["cost"]["signals_ns"]
        handlers = ours["handler_ns"] + ours["deliveries"] * ours["delivery_ns"] + ours["switched_ns"]
        expect(cost > 0 and abs(ours["percent_of_cpu"] * report["cpu_ns"] / 100 - handlers - cost) < 1000 + ours["deliveries"],
               f"what shadows cost is not in the cost: {ours}, {cost}")


def cold():
    """The same without the common code cache, and with every tool."""
    for options in (["--code-cache", "off"], ["--tool", "null"], ["--tool", "edges"]):
        record([target("shadow_steady"), "2000"], *options)


def reading():
    """The program reads on while a shadow begins; what that reads is what comes where it was
    forked."""
    report = record([target("shadow_reading"), "100"], "--tool", "blocks", size="300k").report
    functions = {f["name"]: f["total"] for f in report["functions"]}
    whole, read = report["shadows"]["ended"]["complete"], report["syscalls"]["input"].get("read", 0)
    expect(whole > 1 and read > 2 * whole and functions.get("told_right"),
           f"hardly anything was read: {report['shadows']}")
    expect(not functions.get("told_wrong"), f"a shadow has read something else: {functions}")


def room():
    """Storage runs short while the collector stands still: shadows wait for it, their time is
    nobody's."""
    work = ("import ast, decimal, difflib, inspect, json, re, tarfile\n"
            "for i in range(30):\n"
            "    ast.parse(inspect.getsource(tarfile)), json.loads(json.dumps(list(range(20000))))\n"
            "    re.findall('(a|b)*c', 'ab' * 500 + 'c' * i), decimal.Decimal(2) ** 50\n"
            "    compile(inspect.getsource(inspect), 'x', 'exec'), list(difflib.unified_diff(list('abcdef' * 30), list('abxdef' * 30)))\n")
    whole, early, end = 0, 0, time.monotonic() + PATIENCE
    with tempfile.TemporaryDirectory() as folder:
        # They wait for half a second only, which on a busy machine is not always enough.
        while whole < 5 or early > whole / 4:
            expect(time.monotonic() < end, f"{whole} were complete, {early} ended early")
            options = (*SHADOW, "--tool", "results", "--sample-size", "20M")
            ended = halting_record([sys.executable, "-c", work], os.path.join(folder, "out.pnb"),
                                   options)["shadows"]["ended"]
            whole, early = whole + ended["complete"], early + ended["engine"] + ended["fault"]


def patching():
    """What shadows have translated is not what the program has made of it since."""
    report = record([target("shadow_patching"), "60"], "--tool", "blocks", size="20k").report
    functions = {f["name"]: f["total"] for f in report["functions"]}
    expect("patched_function" in functions and not functions.get("never_executed"),
           f"old code was executed: {functions.get('never_executed')}")


def shared():
    """What one shadow translates, later ones use: each block is made once, and what is observed
    adds up."""
    for tool, what in (("paths", "paths"), ("streams", "streams"), ("results", "instructions")):
        # On a machine so busy that whoever translates does not run for two seconds, the code is
        # given up, and made again. A shadow that the program ends with has translated what the
        # program runs at its end, and told only how long that took.
        report = until([target("shadow_steady"), "2000"],
                       lambda shadows: not any(shadows["ended"][end]
                                               for end in ("cache-lost", "program-ended")),
                       "--tool", tool)
        whole = report["shadows"]["ended"]["complete"]
        expect(whole > 1, f"too few shadows: {report['shadows']}")
        made, counted = report["engine"]["translated"], report["engine"]["latency"]["translation"]["count"]
        expect(0 < made < 1000 and counted <= 3 * made,
               f"{tool}: {whole} shadows made them again: {report['engine']}")
        expect(len(report[what]) > 0, f"{tool}: nothing was observed")
    totals = record([target("shadow_steady"), "2000"], "--tool", "paths").report
    shadows = totals["shadows"]
    # Of a shadow that ends with the program only its paths are known: all, if it was about to say
    # that it is complete, and that is some blocks more than the sample size.
    more = totals["path_totals"]["instructions"] - shadows["instructions"]
    most = (shadows["started"] - shadows["completed"]) * (1000000 + 1000)
    expect(0 <= more <= most, f"{totals['path_totals']}, {shadows}")


def kill_program():
    for number in range(3):
        name = private("shadow_steady")
        file = name + ".pnb"
        collector, program = begin([name, "0"], file, "--sample-size", "1G")
        time.sleep(0.07 * number)
        os.kill(program, signal.SIGKILL)
        collector.wait(timeout=PATIENCE)
        expect(collector.returncode == -signal.SIGKILL, f"ended with {collector.returncode}")
        vanish(name)
        shadows = report_of(file)["shadows"]
        expect(sum(shadows["ended"].values()) == shadows["started"] > 0, f"{shadows}")
        expect(shadows["ended"]["program-ended"] > 0, f"the shadow outlived its program: {shadows}")


def kill_collector():
    name = private("shadow_steady")
    file = name + ".pnb"
    collector, program = begin([name, "0"], file, "--sample-size", "1G")
    collector.kill()
    collector.wait(timeout=PATIENCE)
    end = time.monotonic() + PATIENCE
    while processes(name) != [program]:
        expect(time.monotonic() < end, f"shadows live on: {processes(name)}")
        time.sleep(0.05)
    os.kill(program, signal.SIGKILL)
    vanish(name)
    result = run([PENUMBRA, "recover", file])
    expect(result.returncode == 0, f"recover failed: {result.stderr.decode()}")
    expect(report_of(file)["shadows"]["started"] > 0, "the shadows are lost")


def kill_shadows():
    name = private("shadow_steady")
    file = name + ".pnb"
    collector, program = begin([name, "0"], file, "--sample-size", "1G")
    killed = 0
    end = time.monotonic() + PATIENCE
    while killed < 5:
        expect(time.monotonic() < end, "no further shadow came")
        for pid in processes(name):
            if pid != program and session(pid) == pid:
                try:
                    os.kill(pid, signal.SIGKILL)
                    killed += 1
                except OSError:
                    pass
        time.sleep(0.02)
    os.kill(program, signal.SIGTERM)
    collector.wait(timeout=PATIENCE)
    vanish(name)
    shadows = report_of(file)["shadows"]
    expect(shadows["ended"]["killed"] > 0, f"nobody noticed: {shadows}")
    expect(sum(shadows["ended"].values()) == shadows["started"], f"{shadows}")


def attach():
    """A process that runs already, twice: it goes on, and nobody of ours is left behind."""
    name = private("shadow_steady")
    with subprocess.Popen([name, "0"], stdout=subprocess.DEVNULL) as program:
        for number in range(2):
            file = f"{name}-{number}.pnb"
            end = time.monotonic() + PATIENCE
            while True:
                result = run([PENUMBRA, "record", "-q", "-o", file, *SHADOW, "--sample-size",
                              "100k",
                              "--duration", "1", "-p", str(program.pid)])
                expect(result.returncode == 0, f"attaching failed: {result.stderr.decode()}")
                shadows = report_of(file)["shadows"]
                if shadows["ended"]["complete"]:
                    break
                expect(time.monotonic() < end, f"there was no shadow: {shadows}")
            expect(program.poll() is None, "the program has ended")
            end = time.monotonic() + PATIENCE
            while processes(name) != [program.pid]:
                expect(time.monotonic() < end, f"shadows live on: {processes(name)}")
                time.sleep(0.05)
        program.kill()


def said(command, *options):
    """What record prints at the end, and the report."""
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "out.pnb")
        result = run([PENUMBRA, "record", "-o", file, *options, "--", *command])
        expect(result.returncode == 0, f"{command}: {result.stderr.decode()}")
        return result.stderr.decode(), report_of(file)


def text_report(recording):
    return run([PENUMBRA, "report", "--quick", "--verbose", recording.file]).stdout.decode()


def auto():
    """Shadows where they are affordable; where one fork takes more than the budget, bursts, and
    that is said."""
    options = ["--carrier", "auto", "-F", "1000", "--sample-size", "1M", "--load", "2"]
    few = len(os.sched_getaffinity(0)) < 2
    recording = Recording([target("shadow_heap"), "1", "400"], options)
    small, shadows = recording.report, recording.report["shadows"]
    expect("budget 1%" in text_report(recording),
           f"another budget than 1%: {text_report(recording)}")
    expect(small["carrier"] == "auto" and shadows["burst_length"] == 1000,
           f"{small['carrier']}: {shadows}")
    expect(few or shadows["started"] > 0 and shadows["placed"]["shadows"] > 0,
           f"no shadow: {shadows}")
    expect(few or small["engine"]["bursts"] == 0, f"bursts where shadows are affordable: {shadows}")
    command, options = [target("shadow_heap"), "128", "1000"], [*options, "--budget", "0.01%"]
    large = Recording(command, [*options, "--tool", "paths"])
    shadows = large.report["shadows"]
    expect(shadows["started"] == 0 and shadows["placed"]["processors" if few else "memory"] > 0,
           f"{shadows}")
    expect(large.report["engine"]["bursts"] > 0, f"there was no burst: {large.report['engine']}")
    expect("bursts in place" in "".join(large.report["notes"]), f"no note: {large.report['notes']}")
    expect("bursts in place" in text_report(large), "the report does not say so")
    result = run([PENUMBRA, "record", "-o", large.file, *options, "--tool", "values", "--",
                  *command])
    expect(result.returncode == 0 and result.stderr.count(b"bursts in place") == 1,
           f"it is not said once at the end: {result.stderr.decode()}")
    expect(large.json([])["engine"]["bursts"] > 0, "there was no burst that observes values")
    result = run([PENUMBRA, "record", "-o", large.file, "--carrier", "shadow", "--tool", "paths",
                  "--budget", "0.01%", "--", *command])
    expect(result.returncode == 0 and result.stderr.count(b"allowed no shadow") == 1,
           f"it is not said: {result.stderr.decode()}")


def refused():
    """Why there was no shadow at all is said at once: the kernel refuses to fork, or no trigger
    came."""
    command = [target("shadow_refused"), "1"]
    for options in ([], ["--load", "1"]):
        text, report = said(command, "--carrier", "shadow", *options, *TIMES)
        expect(report["shadows"]["started"] == 0 and report["shadows"]["declined"]["fork"] > 0,
               f"{report['shadows']}")
        wanted = "no shadow was made: the kernel refused (Resource temporarily unavailable"
        expect(text.count(wanted) == 1 and "--carrier burst" in text,
               f"it is not said once: {text}")
        expect(wanted in "".join(report["notes"]), f"no note: {report['notes']}")
    text, report = said(["true"], "--carrier", "shadow", "-F", "10")
    expect(report["shadows"]["started"] == 0 and "nothing was sampled" in text,
           f"it is not said: {text}")


def call_table():
    table = {}
    with open(os.environ["CALLS"], encoding="utf-8") as f:
        for row in re.finditer(r'^CALL\((\d+), (\w+), (\w+), (\w+), "([^"]+)"\)$', f.read(), re.M):
            table[row[2]] = (int(row[1]), row[3], row[4])
    return table


def table():
    """Every number once, and as the kernel's headers have it."""
    ours = call_table()
    numbers = [number for number, group, how in ours.values()]
    expect(len(numbers) == len(set(numbers)) > 350, "a number is there twice")
    found = 0
    for header in ("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm/unistd_64.h"):
        if not os.path.exists(header):
            continue
        with open(header, encoding="utf-8") as f:
            for row in re.finditer(r"^#define __NR_(\w+)\s+(\d+)", f.read(), re.M):
                found += 1
                expect(row[1] not in ours or ours[row[1]][0] == int(row[2]),
                       f"{row[1]} is {row[2]}")
                expect(row[1] in ours or int(row[2]) > 462, f"{row[1]} is not in the table")
        break
    expect(found > 300 or not found, "the header was not understood")


# What the engine and the shadow itself call; a sleep that strace has met goes on as
# restart_syscall.
OWN = {"restart_syscall", "nanosleep", "fcntl", "dup3", "futex", "mmap", "munmap", "mprotect",
       "mremap", "madvise", "openat", "close", "read", "ioctl",
       "getrusage", "clock_gettime", "kill", "exit_group", "rt_sigreturn", "getpid",
       "rt_sigprocmask"}
# And before the program's first instruction, which begins when the handler returns.
PREPARE = OWN | {"getppid", "getpgid", "getsid", "prctl", "open", "getdents64", "fstat", "lseek",
                 "close_range", "write",
                 "setsid", "sched_setaffinity", "sched_setscheduler", "rt_sigaction", "gettid",
                 "arch_prctl"}
PASSIVE = {"RUN", "STAT", "STATX", "READ", "SEEK", "CLOSE", "DUP", "OPEN", "MMAP", "UNMAP",
           "PROTECT", "REMAP", "ADVISE",
           "FCNTL", "ACTION", "PRCTL", "ARCH", "LIMIT", "SELF"}


def audit():
    """What strace sees of shadows: nothing that the table does not let them do."""
    if not shutil.which("strace"):
        skip_test("there is no strace")
    allowed = OWN | {name for name, (_, _, how) in call_table().items() if how in PASSIVE}
    name = private("shadow_loop")  # its shadows live for long enough that strace finds them
    file = name + ".pnb"
    seen = set()
    collector = subprocess.Popen([PENUMBRA, "record", "-q", "-o", file, *SHADOW, "--sample-size",
                                  "100M",
                                  "--log-input", "--no-follow", "--", name, "5000"],
                                 stdout=subprocess.DEVNULL)
    tracers = {}
    while collector.poll() is None:
        for pid in processes(name):
            if pid not in tracers and session(pid) == pid:
                log = f"{name}-{pid}.strace"
                tracers[pid] = (subprocess.Popen(["strace", "-qq", "-o", log, "-p", str(pid)],
                                                 stderr=subprocess.DEVNULL), log)
        time.sleep(0.002)
    for tracer, log in tracers.values():
        tracer.wait(timeout=PATIENCE)
        if not os.path.exists(log):
            continue
        with open(log, encoding="utf-8", errors="replace") as f:
            calls = [call for call in (re.match(r"(?:\d+\s+)?(\w+)\((.*)", line) for line in f)
                     if call]
        begun = next((i for i, call in enumerate(calls) if call[1] == "rt_sigreturn"), len(calls))
        for i, call in enumerate(calls):
            seen.add(call[1])
            preparing = i < begun
            expect(call[1] in allowed or preparing and call[1] in PREPARE,
                   f"a shadow called {call[0]}")
            expect(call[1] != "kill" or re.search(r", 0\)", call[0]), f"a shadow called {call[0]}")
            expect(call[1] != "rt_sigprocmask" or preparing or call[2].startswith("0xffffffff "),
                   f"a shadow called {call[0]}")
            expect(call[1] != "write" or call[2].split(", ")[1].startswith('"1000'),
                   f"a shadow called {call[0]}")
            expect(call[1] != "openat" or "O_WRONLY" not in call[0] and "O_RDWR" not in call[0] or
                   "/proc/self/oom_score_adj" in call[0], f"a shadow called {call[0]}")
    print(f"{len(tracers)} shadows, seen: {sorted(seen)}")
    if not seen:
        skip_test("strace has seen no call of any shadow")


def programs():
    text = "\n".join(str(i * 7919 % 100003) for i in range(60000)).encode()
    count = "my %h; $h{$_ % 1000} += $_ for 1..600000; print $h{7}"
    loop = "s=0; for ((i = 0; i < 40000; i++)); do ((s += i)); done; echo $s; echo a b | tr a-z A-Z"
    commands = [
        ["sort", "-n"], ["gzip", "-c"], ["xz", "-T2", "-1", "-c"],
        ["awk", "{s += $1 * $1} END {print s}"],
        ["perl", "-e", count], ["bash", "-c", loop],
        ["/usr/bin/python3", "-c", "print(sum(i * i for i in range(400000)))"],
        ["lua", "-e", "s = 0 for i = 1, 3e6 do s = s + i % 7 end print(s)"],
        ["node", "-e", "let s = 0; for (let i = 0; i < 1e7; i++) s = (s + i * i) % 1000003; console.log(s)"],
        ["sqlite3", ":memory:", "with recursive c(x) as (select 1 union all select x + 1 from c where "
                                "x < 200000) select sum(x * x % 7) from c"],
    ]
    ran = 0
    for command in commands:
        if shutil.which(command[0]):
            record(command, stdin=text, some=False)
            ran += 1
    expect(ran > 3, "hardly a program is installed")


def options():
    for wrong in (["--sample-size", "0"], ["--load", "0"], ["--load", "100"],
                  ["--code-cache", "maybe"],
                  ["--tool", "calls"], ["--length", "5"], ["--threads", "two"],
                  ["--threads", "one", "--seed", "1"],
                  ["--log-input", "--barrier-timeout", "1ms"],
                  ["--threads", "all", "--barrier-timeout", "10s"]):
        result = run([PENUMBRA, "record", "--carrier", "shadow", *wrong, "--", "true"])
        expect(result.returncode == 2 and result.stderr, f"{wrong} was taken")
    for wrong in (["--tool", "calls"], ["--tool", "stacks"], ["-p", str(os.getpid())]):
        result = run([PENUMBRA, "record", "--carrier", "auto",
                      *wrong] + (["true"] if wrong[0] != "-p" else []))
        expect(result.returncode == 2 and (b"burst" in result.stderr or b"exact" in result.stderr),
               f"{wrong} was taken: {result.stderr.decode()}")
    for wrong in (["--threads", "all"], ["-e", "malloc"], ["-p", str(os.getpid())]):
        result = run([PENUMBRA, "record", "--carrier", "shadow", "--log-input", *wrong] +
                     (["true"] if wrong[0] != "-p" else []))
        expect(result.returncode != 0 and b"--log-input" in result.stderr,
               f"{wrong} was taken: {result.stderr}")
    for alone in (["--log-input"], ["--load", "1"], ["--sample-size", "1M"],
                  ["--skip-shared-writes"], ["--finish-shadows", "1s"], ["--threads", "all"],
                  ["--seed", "1"]):
        result = run([PENUMBRA, "record", *alone, "--", "true"])
        expect(result.returncode == 2 and b"shadow" in result.stderr, f"{alone} was taken")


tests = {name: function for name, function in globals().items() if callable(function)}
tests["bytes"] = bytes_once
main(tests)
