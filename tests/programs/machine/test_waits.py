"""record -e wall of the machine: what threads wait for, who wakes them, and that it adds up to elapsed time.

The programs say how long they were in each function. Each wait that is as long as a period is taken, so what is found
differs from that by samples of CPU time, and by waits that are drawn."""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.environ["HARNESS"])
from harness import PENUMBRA, expect, main, nodes, run, target  # noqa: E402
from recorder import REFUSED, Machine, skip  # noqa: E402

WALL = ("-e", "wall")
KINDS = ("sleeps", "reads", "locks")


def seconds(machine, name):
    return machine.total(name) * machine.report["period"] / 1e9


def said(machine):
    """What the program has printed: names and seconds."""
    return {line.split()[0]: float(line.split()[1]) for line in machine.stdout.splitlines()}


def check_near(machine, name, true, share=0.05, least=0.015):
    found = seconds(machine, name)
    most = sorted(machine.report["functions"], key=lambda f: -f["total"])[:30]
    notes = "\n".join([*machine.report["notes"], machine.stderr, *(f"{f['name']} {f['self']} {f['total']}" for f in most)])
    expect(abs(found - true) < share * true + least, f"{name}: {found} s, and it was {true} s\n{notes}")


def weight(node):
    return node["self"] + sum(weight(child) for child in node["children"])


def check_splits(machine):
    true = said(machine)
    for name in KINDS:
        check_near(machine, name, true[name])
    samples = true["runs"] / (machine.report["period"] / 1e9)
    check_near(machine, "runs", true["runs"], 0.05 + 4 / samples ** 0.5)
    check_near(machine, "main", true["all"])
    machine.check_complete()


def splits():
    """Sleep, a pipe, a mutex and CPU time, in dynamic and static programs; walked by the kernel, and by the collector."""
    for name, walk in (("machine-waits", None), ("machine-waits-static", None), ("machine-waits", "collector")):
        machine = Machine(["--external", *WALL], [target(name), "150"], walk=walk)
        check_splits(machine)
        # A sample of CPU time may be there, a wait is not.
        ours = {n["name"]: n["self"] for n in nodes(machine.report["tree"]) if n["name"] in ("__schedule", "schedule")}
        expect(sum(ours.values()) < 0.05 * weight(machine.report["tree"]), f"waits in the scheduler: {ours}")
        expect(not any(n["name"].startswith(("bpf_prog", "__traceiter")) for n in nodes(machine.report["tree"])), "our own frames")
        leaves = {n["name"] for n in nodes(machine.report["tree"]) if n["self"] > 50}
        expect(any("nanosleep" in n for n in leaves) and any("futex" in n for n in leaves), f"kernel functions: {leaves}")


def wakers(node, waiter, above=()):
    """Weights of waits in `waiter`, by the functions that were above [wakes]."""
    found = {}
    if node["name"] == "[wakes]":
        ended = sum(weight(n) for n in nodes(node) if n["name"] == waiter)
        return {name: ended for name in set(above)} if ended else {}
    for child in node["children"]:
        for name, more in wakers(child, waiter, (*above, node["name"])).items():
            found[name] = found.get(name, 0) + more
    return found


def blocked(wall, waiter):
    """Weight of a function, but for the time that it was ready to run, or ran in user mode."""
    found = [n for n in nodes(wall) if n["name"] == waiter]
    return sum(weight(n) for n in found) - sum(weight(n) for top in found for n in nodes(top) if n["name"] == "[run queue]")


def woken():
    """Who ends a wait: the other thread, where it does, or an interrupt, of which no program's function is to blame."""
    machine = Machine(["--external", *WALL], [target("machine-waits"), "150"])
    wall = machine.report["tree"]
    machine.read(("--metric", "waking"))
    for waiter, waker in (("reads", "writes"), ("locks", "holds"), ("sleeps", "hrtimer_wakeup")):
        found = wakers(machine.report["tree"], waiter)
        true, total = blocked(wall, waiter), found.get(waker, 0)
        expect(true > 50 and abs(total - true) < 0.05 * true + 15, f"{waker} ended {total} ms of waits in {waiter}, of {true}: {found}")
        if waiter == "sleeps":
            expect(not {"main", "second", "start_thread"} & set(found), f"ended sleeps: {found}")


def narrow():
    """32-bit programs: the interrupted function alone."""
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "narrow")
        source = os.path.join(os.path.dirname(__file__), "targets", "narrow_waits.c")
        made = run(["gcc", "-m32", "-O2", "-nostdlib", "-static", "-fno-pic", "-no-pie", "-fno-stack-protector", "-o", program, source])
        if made.returncode or run([program]).returncode:
            skip("32-bit programs can not be made or run")
        machine = Machine(["--external", *WALL], [program])
        for name, us in zip(("longer", "shorter"), machine.stdout.split()):
            check_near(machine, name, int(us) / 1e6)


def switches():
    """Waits of microseconds, of which few are taken: nothing is lost or made up. Long ones among them are found."""
    machine = Machine(["--external", *WALL], [target("machine-switches"), "40000"])
    true = said(machine)
    taken, all_waits = (int(re.search(pattern, "\n".join(machine.report["notes"]))[1])
                        for pattern in (r"wait \d+ times; (\d+) times", r"wait (\d+) times"))
    expect(taken < 0.9 * all_waits, f"{taken} of {all_waits} waits were taken")
    check_near(machine, "long_turn", true["long"], 0.2)
    # What few waits stand for is as uncertain as their effective number says.
    error = 4 / machine.report["effective_samples"] ** 0.5
    expect(error < 0.6, f"an error of {error}: {machine.report['notes']}")
    check_near(machine, "main", 2 * true["all"], error)
    check_near(machine, "answers", true["all"], error)
    # No thread has waited longer than it was there.
    whole = 1.05 * 2 * machine.report["duration_ns"] / 1e9
    expect(seconds(machine, "main") < whole, f"main: {seconds(machine, 'main')} s in {whole} s")


def asleep(machine):
    """Share of the recording."""
    return seconds(machine, "hrtimer_nanosleep") / (machine.report["duration_ns"] / 1e9)


def check_asleep(machine, least):
    """It has waited all the time, and not longer."""
    share = asleep(machine)
    expect(least < share < 1.01, f"asleep in {100 * share}% of {machine.report['duration_ns']} ns\n{machine.report['notes']}")


def lasting():
    """What waits all the time has no end of a wait that could tell of it."""
    for duration in (2, 8, 32):  # on a busy machine the collector begins late
        with subprocess.Popen(["sleep", "1000"]) as sleeper:
            try:
                machine = Machine(["--external", "-p", str(sleeper.pid), "--duration", str(duration), *WALL])
            finally:
                sleeper.kill()
        if asleep(machine) > 0.9:
            break
    check_asleep(machine, 0.9)
    machine.read(("--metric", "waking"))
    expect(not machine.report["samples"], "nobody has woken it")


def killed():
    """A collector that is killed has counted waits that still go on. On a busy machine it may have begun late."""
    found = []
    for patience in (5, 15, 45):
        with subprocess.Popen(["sleep", "1000"]) as sleeper:
            def kill(collector, patience=patience):
                time.sleep(patience)
                collector.kill()
            try:
                machine = Machine(["--external", "-p", str(sleeper.pid), *WALL], beside=kill, status=-signal.SIGKILL)
            finally:
                sleeper.kill()
        if os.path.exists(machine.file) and run([PENUMBRA, "recover", machine.file]).returncode == 0:
            machine.read()
            found.append(seconds(machine, "hrtimer_nanosleep"))
            expect(found[-1] < patience + 0.5, f"{found}")
            if found[-1] >= 1:
                return
    expect(False, f"counted: {found}")


def whole():
    """-a: kernel threads and everybody else; the time of each thread is at most the recording's."""
    machine = Machine(["-a", *WALL], [target("machine-waits"), "100"])
    check_near(machine, "locks", said(machine)["locks"])
    result = run([PENUMBRA, "report", "--json", "--quick", "--by-thread", machine.file])
    expect(result.returncode == 0, result.stderr.decode())
    report = json.loads(result.stdout)
    threads = {(t["pid"], t["tid"], t["name"]): t["samples"] * report["period"] for t in report["threads"]}
    # Few threads run much, all others wait all the time.
    expect(sum(ns > 0.5 * report["duration_ns"] for ns in threads.values()) > 10, f"{threads}")
    longer = {t: ns for t, ns in threads.items() if ns > 1.05 * report["duration_ns"]}
    expect(not longer, f"longer than the {report['duration_ns']} ns of the recording: {longer}")
    expect(machine.total("worker_thread") > 0, "no kernel thread waits for work")


def group():
    """--cgroup: who waits in a control group, and nobody else."""
    mounts = [m for m in ("/sys/fs/cgroup/unified", "/sys/fs/cgroup", "/sys/fs/cgroup/perf_event") if os.path.exists(f"{m}/cgroup.procs")]
    some = False
    for mount in mounts:
        path = f"{mount}/penumbra-waits-{os.getpid()}"
        try:
            os.mkdir(path)
        except OSError:
            continue
        try:
            script = f'echo $$ > {path}/cgroup.procs && exec "$0" 100'
            with subprocess.Popen(["sleep", "1000"]) as outside:
                try:
                    machine = Machine(["--cgroup", path, *WALL], ["sh", "-c", script, target("machine-waits")])
                finally:
                    outside.kill()
            check_splits(machine)
            waiting = {p["name"] for p in machine.report["processes"]}
            expect("machine-waits" in waiting and "sleep" not in waiting, f"{waiting}")
            some = True
        finally:
            os.rmdir(path)
    if not some:
        skip("no control group can be made")


def lost():
    """A collector that stands still loses records of waits, says so, and finds again who still waits."""
    for still in (1, 3, 9):  # a busy machine leaves the load little time
        with subprocess.Popen(["sleep", "1000"]) as sleeper, subprocess.Popen([target("machine-split"), "1000000"]) as load:
            def stop(collector, still=still):
                time.sleep(0.5 * still)
                for _ in range(3):
                    collector.send_signal(signal.SIGSTOP)
                    time.sleep(still)
                    collector.send_signal(signal.SIGCONT)
                    time.sleep(0.3 * still)
                collector.send_signal(signal.SIGINT)
            try:
                # Samples of CPU time fill the rings, each with a piece of the stack.
                machine = Machine(["--external", "-p", str(sleeper.pid), "-F", "19997", *WALL], beside=stop, walk="collector")
            finally:
                sleeper.kill()
                load.kill()
        if machine.report["dropped"]["lost"] and asleep(machine) > 0.7:
            break
    expect(machine.report["dropped"]["lost"] > 0, f"nothing lost: {machine.report['dropped']}")
    check_asleep(machine, 0.7)


def refused():
    """Where the kernel takes no such program, the recording ends, and says what is missing and what to try."""
    if os.geteuid():
        skip("only root can take rights from itself")
    no_types = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs none /sys/kernel/btf && exec "$0" "$@"']
    no_rights = ["setpriv", "--bounding-set=-sys_admin,-bpf", "--inh-caps=-all"]
    no_namespace = ["unshare", "--pid", "--fork", "--mount-proc"]
    for before, why in ((no_types, "/sys/kernel/btf"), (no_rights, "refuses a BPF program"), (no_namespace, "PID namespace")):
        if run([*before, "true"]).returncode:
            continue
        with tempfile.TemporaryDirectory() as folder:
            result = run([*before, PENUMBRA, "record", "-a", *WALL, "-o", os.path.join(folder, "x"), "--", "true"])
            words = result.stderr.decode()
            built = "without" not in run([PENUMBRA, "--version"]).stdout.decode()
            expect(result.returncode == REFUSED and (why in words or not built), f"{result}")
            expect("record -e wall PROGRAM" in words and "-e cpu" in words, words)
            expect(not os.listdir(folder), f"left behind: {os.listdir(folder)}")


main({test.__name__: test for test in (splits, woken, narrow, switches, lasting, killed, whole, group, lost, refused)})
