"""What starting a program costs under each carrier and translator: programs that do nothing."""
import os
import shutil
import statistics
import subprocess
import tempfile
import time

import pairs
import store
import tables

ROUNDS = 25
PROGRAMS = {"true": ["/bin/true"], "python3": ["/usr/bin/python3", "-S", "-c", "pass"]}
BOUND_MS = 10  # of whole runs above native, on /bin/true
PROCESSES = (200, 1200)
PROCESS_ROUNDS = 9
DYNAMORIO_MS = "28 to 40"  # of an earlier measurement, with the program's own time


def commands(a, folder, program):
    """The ways of running the program, by name."""
    record = [a.tools.penumbra, "record", "-q", "-o", os.path.join(folder, "p.pnb")]
    ways = {"native": [], "record": [*record, "--"], "exact, null": [*record, "--exact", "--tool", "null", "--"],
            "exact, blocks": [*record, "--exact", "--tool", "blocks", "--"]}
    if shutil.which("valgrind"):
        ways["valgrind none"] = ["valgrind", "-q", "--tool=none"]
    if shutil.which("qemu-x86_64"):
        ways["qemu-x86_64"] = ["qemu-x86_64"]
    return {name: [*way, *program] for name, way in ways.items()}


def seconds(command):
    begin = time.monotonic()
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    took = time.monotonic() - begin
    if done.returncode != 0:
        raise pairs.RoundError(f"{' '.join(command)} exited {done.returncode}: {done.stderr[-400:]}")
    return took


def cpu_seconds(command):
    """User and system time of the command and all that it waited for."""
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise pairs.RoundError(f"{' '.join(command)} exited {child.returncode}")
    return used.ru_utime + used.ru_stime


def processes(a, say):
    """CPU time of a process more, in seconds, by kind and way: the difference of two numbers of them."""
    helper = os.path.join(os.path.dirname(a.tools.penumbra), "bench", "bench-processes")
    rows = {}
    with tempfile.TemporaryDirectory() as folder:
        ways = {"native": [], "record": [a.tools.penumbra, "record", "-q", "-o", os.path.join(folder, "p.pnb"), "--"]}
        if shutil.which("perf"):
            ways["perf -g"] = ["perf", "record", "-q", "-F", "997", "-g", "-e", "cpu-clock",
                               "-o", os.path.join(folder, "perf.data"), "--"]
        for kind in ("execs", "forks"):
            rounds = [{way: (cpu_seconds([*command, helper, kind, str(PROCESSES[1])])
                             - cpu_seconds([*command, helper, kind, str(PROCESSES[0])])) / (PROCESSES[1] - PROCESSES[0])
                       for way, command in ways.items()} for _ in range(PROCESS_ROUNDS)]
            rows[kind] = {way: statistics.median(r[way] for r in rounds) for way in ways}
            say(f"{kind}: " + ", ".join(f"{way} {1e6 * s:.0f} us" for way, s in rows[kind].items()))
    return rows


def run(a, say):
    data = store.load("startup")
    rows = {}
    for name, program in PROGRAMS.items():
        with tempfile.TemporaryDirectory() as folder:
            ways = commands(a, folder, program)
            rounds = [{way: seconds(command) for way, command in ways.items()} for _ in range(ROUNDS)]
        rows[name] = {"native": statistics.median(r["native"] for r in rounds)}
        rows[name].update({way: statistics.median(r[way] - r["native"] for r in rounds)
                           for way in ways if way != "native"})
        say(f"{name}: " + ", ".join(f"{way} {1000 * s:.1f} ms" for way, s in rows[name].items()))
    data["rows"] = rows
    data["processes"] = processes(a, say)
    data.update(store.when_and_what(a))
    store.save("startup", data)


def tables_run(a, say):
    data = store.load("startup")
    if not data:
        return
    ways = list(next(iter(data["rows"].values())))[1:]
    text = tables.head_lines("What starting a program costs", ["bench/run.py startup"], [data])
    text += (f"\nElapsed time from start to end in milliseconds: the native run's median of {ROUNDS}, and the medians of "
             "what each of the others took longer than the native run of the same round. Recording includes the "
             "collector: the profile is on disk when it ends.\n\n")
    text += tables.table(["program", "native", *ways],
                         [[name, tables.shown(1000 * row["native"]), *(f"+{1000 * row[w]:.1f}" for w in ways)]
                          for name, row in data["rows"].items()])
    text += (f"\nThe bound for a whole run under the engine is {BOUND_MS} ms above native on /bin/true. DynamoRIO "
             f"took {DYNAMORIO_MS} ms in an earlier measurement.\n")
    text += "\n## A process more\n"
    text += (f"\nCPU time in microseconds of each process that does nothing, the profiler's own included: {PROCESSES[1]} of them "
             f"less {PROCESSES[0]}, the medians of {PROCESS_ROUNDS} rounds. *execs*: one process executes the program again and "
             "again; *forks*: one forks children that exit.\n\n")
    ways = list(data["processes"]["execs"])
    text += tables.table(["", *ways], [[kind, *(f"{1e6 * row[w]:.0f}" for w in ways)]
                                       for kind, row in data["processes"].items()])
    note = tables.note("startup.md")
    tables.write("startup.md", text + ("\n" + note if note else ""))
    say("wrote docs/results/startup.md")
