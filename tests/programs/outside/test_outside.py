"""-e wall where perf events are refused: threads that wait are looked at from outside.

Elapsed time is known by construction; on a busy machine each wait may be longer, never shorter. What is compared with the
clock is therefore bounded from below by the construction and from above by the recording's duration."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.environ["HARNESS"])
from harness import (PENUMBRA, Recording, expect, main, needs_kernel_events, nodes,  # noqa: E402
                     report_of, run, target, wait_for)

NOPERF = os.path.join(os.environ["HARNESS_TARGETS"], "noperf")
WAITS = ("in_poll", "in_alloca", "in_epoll", "in_condition", "in_read")


def record(*command, options=(), around=(NOPERF,)):
    return Recording(list(command), ["-e", "wall", "-F", "199", *options], around=list(around))


def seconds(recording, function):
    return recording.total(function) * recording.report["period"] / 1e9


def check_waits(r, ms):
    period, longest = r.report["period"] / 1e9, r.report["duration_ns"] / 1e9
    for name in (*WAITS, "main"):
        found = seconds(r, name)
        expect(ms / 1000 - 4 * period - 0.05 <= found <= longest + period,
               f"{name}: {found} s of {ms} ms in {longest} s, "
               f"{r.total('[unattributed]') * period} s unattributed: {r.report['notes']}")
    expect(r.report["trigger"] == "wall", r.report["trigger"])
    expect(any("from outside" in note for note in r.report["notes"]), f"notes: {r.report['notes']}")


def waits():
    """Whatever a thread waits for, and no system call ends early."""
    r = record(target("outside-waits"), "800")
    expect(r.native.stdout == b"early 0\n", r.native.stdout)
    check_waits(r, 800)
    truncated = r.report["truncated"] / r.samples()
    expect(truncated < 0.05,
           f"{truncated} of the stacks are incomplete: {r.report['truncated_by_reason']}")
    paths = {n["name"] for n in nodes(r.report["tree"])}
    expect({"main", "in_alloca"} <= paths, f"{paths}")


def framed():
    """Frames that hang on rbp, which the kernel does not tell."""
    r = record(target("outside-framed"), "1600")
    check_waits(r, 1600)
    expect(r.report["guessed"] > 0.3 * r.report["taken"],
           f"{r.report['guessed']} guessed of {r.report['taken']}")
    expect(r.report["truncated"] < 0.05 * r.samples(), f"{r.report['truncated_by_reason']}")
    for name in WAITS:
        above = [n for n in nodes(r.report["tree"]) if name in {c["name"] for c in n["children"]}]
        expect(above and all(n["name"] == "start_thread" for n in above),
               f"above {name}: {[n['name'] for n in above]}")


def late():
    """What threads wait before the collector first looks at them is theirs, too."""
    def threads_of(pid):
        children = run(["pgrep", "-P", str(pid)]).stdout.split()
        return len(os.listdir(f"/proc/{int(children[0])}/task")) if children else 0

    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "out.pnb")
        collector = subprocess.Popen([NOPERF, PENUMBRA, "record", "-q", "-e", "wall", "-F", "199",
                                      "-o", file, "--", target("outside-waits"), "800"],
                                     stdout=subprocess.DEVNULL)
        wait_for(lambda: collector.poll() is not None or threads_of(collector.pid) == 7,
                 "the threads do not begin")
        collector.send_signal(signal.SIGSTOP)
        time.sleep(0.4)
        collector.send_signal(signal.SIGCONT)
        expect(collector.wait() == 0, f"status {collector.returncode}")
        report = report_of(file)
    for name in (*WAITS, "main"):
        found = sum(f["total"] for f in report["functions"] if f["name"] == name)
        found *= report["period"] / 1e9
        expect(found > 0.73, f"{name}: {found} s of 800 ms in {report['duration_ns'] / 1e9} s; "
                             f"{[(f['name'], f['self']) for f in report['functions'] if f['self']]} {report['notes']}")


def sum_is_elapsed():
    """Each thread's periods are its elapsed time, by whatever it was used up."""
    r = record(target("outside-waits"), "800")
    period = r.report["period"] / 1e9
    whole = r.samples() * period
    threads = {}
    for t in r.report["threads"]:
        threads.setdefault(t["tid"], [0, 0])
        threads[t["tid"]][0] += t["samples"] * period
        threads[t["tid"]][1] = max(threads[t["tid"]][1], (t["end_ns"] - t["start_ns"]) / 1e9)
    for tid, (charged, lived) in threads.items():
        # Timers charge whole ticks of the kernel, up to 10 ms.
        expect(abs(charged - lived) < 0.1 * lived + 5 * period,
               f"thread {tid}: {charged} s charged, lived {lived} s")
    expect(len(threads) == 7 and whole > 7 * 0.7, f"{len(threads)} threads, {whole} s")


def often():
    """Threads that wait shortly again and again get no signal at each end (where perf events may be
    used): they are looked at from outside, and what they wait is known as well."""
    times = os.path.join(tempfile.mkdtemp(), "times")
    r = record(target("outside-often"), "0.7", times, options=("-F", "997"), around=())
    with open(times, encoding="ascii") as f:
        shortly, longer, waits = (float(word) for word in f.read().split())
    shutil.rmtree(os.path.dirname(times))
    expect(r.native.stdout == b"early 0\n", r.native.stdout)
    refused = any("cannot be used" in note for note in r.report["notes"])  # then all are
    expect(refused or any("so often that what they waited" in note for note in r.report["notes"]),
           f"{r.report['notes']}")
    signals = r.report["overhead"]["deliveries"]
    expect(signals < waits / 4, f"{signals} signals, {waits} waits")
    ready = seconds(r, "[unattributed]")  # and without a processor, for the most part
    for name, known in (("in_short", shortly), ("in_long", longer), ("naps", 1.4)):
        found = seconds(r, name)
        expect(0.85 * known - ready - 0.1 < found < 1.15 * known + 0.1,
               f"{name}: {found} s of {known} s, {ready} s ready")
    expect(r.report["truncated"] < 0.05 * r.samples(), f"{r.report['truncated_by_reason']}")


def children():
    """Waits that never end, in a child too, of a program that is killed."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out.pnb")
        p = subprocess.Popen([NOPERF, PENUMBRA, "record", "-q", "-e", "wall", "-F", "99", "-o", out,
                              "--spool", folder, "--", target("outside-endless")],
                             stdout=subprocess.PIPE, start_new_session=True)
        expect(p.stdout.readline() == b"ready\n", "it does not begin")
        wait_for(lambda: os.path.exists(out) and b"for_ever" in run([PENUMBRA, "report", "--quick",
                                                                     out]).stdout,
                 "for_ever is not seen")
        os.killpg(p.pid, signal.SIGKILL)
        p.wait()


def unprivileged():
    """An ordinary user, whose events may not look into the kernel."""
    if os.geteuid():
        print("needs root, to become somebody else: skipped")
        sys.exit(77)
    with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as f:
        if int(f.read()) < 2:
            print("users' events may look into the kernel here: skipped")
            sys.exit(77)
    build = run(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "test", "-x",
                 PENUMBRA])
    if build.returncode:
        print("the build cannot be reached by others: skipped")
        sys.exit(77)
    check_waits(record(target("outside-waits"), "800",
                       around=["setpriv", "--reuid", "65534", "--regid", "65534",
                               "--clear-groups"]), 800)


def attached():
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out.pnb")
        for ms in ("3000", "9000", "27000", "81000"):  # a busy machine may be slow to attach
            p = subprocess.Popen([target("outside-waits"), ms], stdout=subprocess.PIPE)
            done = run([PENUMBRA, "record", "-e", "wall", "-o", out, "-p", str(p.pid), "--duration",
                        "1"])
            ended = p.poll() is not None
            expect(p.communicate()[0] == b"early 0\n", "calls ended early")
            if not ended:
                break
        expect(done.returncode == 0, done.stderr.decode())
        report = run([PENUMBRA, "report", "--quick", out]).stdout.decode()
        for name in WAITS:
            expect(name in report, f"{name} is not in {report}")


def phases():
    r = record(target("outside-phases"), "sleep")
    naps = seconds(r, "naps")
    paused = r.report["processes"][0]["paused_ns"] / 1e9
    expect(paused >= 0.39, f"paused for {paused} s")
    expect(abs(naps + paused - 1) < 0.25, f"{naps} s in naps, {paused} s in the pause")


def refused():
    """Root is not told to become root."""
    if os.geteuid():
        print("needs root: skipped")
        sys.exit(77)
    needs_kernel_events()
    done = run([NOPERF, PENUMBRA, "record", "-e", "context-switches", "-o", "/dev/null", "true"])
    expect(done.returncode == 119 and b"container" in done.stderr and b"as root" not in done.stderr,
           done.stderr.decode())


main({name: function for name, function in list(globals().items())
      if callable(function) and not isinstance(function, type)})
