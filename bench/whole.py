#!/usr/bin/env python3
"""usage: bench/whole.py BUILD [SECONDS]

`penumbra record -a` beside `perf record -a -g` and `perf record -a --call-graph dwarf`: at the same rate, in the
same period, on a machine that compiles this source tree again and again, two files at a time. Writes
docs/results/machine.md. Needs root. BUILD is a build folder, which has penumbra and compile_commands.json."""
import collections
import json
import os
import random
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time

import elf
import machine
import store
import tables

RATE, SECONDS, COMPILERS = 97, 60, 2
STEADY_RATE, STEADY_ROUNDS = 4999, 3
# (perf's way to call chains, who walks penumbra's stacks: docs/whole-machine.md)
PERIODS = (("fp", "kernel"), ("fp", "collector"), ("dwarf", "kernel"))
STATISTICS = "/proc/sys/kernel/bpf_stats_enabled"
KERNEL = re.compile(r"\[(kernel\.kallsyms|guest\.kernel\.kallsyms|[a-z0-9_]+)\]|\.ko\)?$")


class Load:
    """Compiles all files of src/, again and again."""

    def __init__(self, build):
        with open(os.path.join(build, "compile_commands.json")) as f:
            commands = [c for c in json.load(f) if "/src/" in c["file"] and c["file"].endswith(".c")]
        self.stop, self.files = False, 0
        self.commands = [(self.plain(c), c["directory"]) for c in commands]
        self.threads = [threading.Thread(target=self.run, args=(n,)) for n in range(COMPILERS)]
        for t in self.threads:
            t.start()

    @staticmethod
    def plain(command):
        words = shlex.split(command["command"])
        words = words[words[0] == "ccache":words.index("-MD")]
        return [*words, "-o", "/dev/null", "-c", command["file"]]

    def run(self, n):
        while not self.stop:
            command, folder = self.commands[n % len(self.commands)]
            subprocess.run(command, cwd=folder, stderr=subprocess.DEVNULL)
            self.files += 1
            n += COMPILERS

    def end(self):
        self.stop = True
        for t in self.threads:
            t.join()


def usage(command, walk):
    """Runs it: (user, system) seconds of it and all that it waited for."""
    env = dict(os.environ, PENUMBRA_WALK=walk)
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env) as p:
        _, status, used = os.wait4(p.pid, 0)
        p.returncode = os.waitstatus_to_exitcode(status)
    if p.returncode:
        raise RuntimeError(f"{command} failed: {p.returncode}")
    return used.ru_utime, used.ru_stime


def perf(mode, rate, file, *rest):
    return ["perf", "record", "-q", "-e", "cpu-clock", "-F", str(rate), "--call-graph", mode, "-o", file, *rest]


def program_used():
    """What the program in the kernel has used so far: (samples, seconds)."""
    said = subprocess.run(["bpftool", "-j", "prog", "show", "name", "machine_walk"], stdout=subprocess.PIPE, check=False).stdout
    found = json.loads(said.strip() or "{}")
    found = found[-1] if isinstance(found, list) and found else found or {}
    return found.get("run_cnt", 0), found.get("run_time_ns", 0) / 1e9


def together(commands, walk, seconds):
    """Runs them at a time: what each used, and what the program in the kernel used until shortly before the end."""
    results = {}
    threads = [threading.Thread(target=lambda n=n, c=c: results.update({n: usage(c, walk)})) for n, c in commands.items()]
    for t in threads:
        t.start()
    time.sleep(max(0, seconds - 1))
    results["program"] = program_used()
    for t in threads:
        t.join()
    return results


# ---- what the files say: (samples, the load's stacks with a user part, those that reach a root, kernel leaves, CPU
# seconds while it recorded, if the file says it) ----

LOAD = ("cc1", "as", "cc", "gcc")


def is_root(name):
    return elf.is_root_name(name.split("+")[0]) or name.startswith("runtime.goexit")


def perf_read(file):
    samples = user = rooted = 0
    leaves = collections.Counter()
    command = ["perf", "script", "--no-inline", "-i", file, "-F", "comm,pid,tid,ip,sym,dso"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace") as p:
        pid, name, frames = None, "", []
        for line in p.stdout:
            if line.strip():
                if pid is None:
                    name, pid = re.match(r"\s*(.*?)\s+(-?\d+)/-?\d+\s*$", line).groups()
                else:
                    function, dso = re.match(r"\s*[0-9a-f]+ (.*) \((.*)\)$", line).groups()
                    frames.append((function, bool(KERNEL.search(dso))))
                continue
            if frames and pid != "0":  # idle
                samples += 1
                outer = [function for function, kernel in frames if not kernel]
                user += name in LOAD and bool(outer)
                rooted += name in LOAD and any(map(is_root, outer))
                leaves[frames[0][0]] += frames[0][1]
            pid, frames = None, []
    return samples, user, rooted, +leaves, ""


def walks_read(notes, walk, program):
    """One row on the kernel's own walks."""
    said = re.search(r"the kernel walked (\d+) stacks itself, ([0-9.]+) frames each.*half of them took ([0-9.]+) us or less"
                     r"(?:, those of 30 frames ([0-9.]+) us)?", notes)
    others = re.search(r"the collector walked the others: (.*)", notes)
    samples, seconds = program
    each = f"{1e6 * seconds / samples:.2f}" if samples else ""
    return [walk, *(said.groups("") if said else ("0", "", "", "")), each, others[1] if others else ""]


def penumbra_read(tool, file):
    report = json.loads(subprocess.run([tool, "report", "--json", file], stdout=subprocess.PIPE, check=True).stdout)
    folded = subprocess.run([tool, "export", "-f", "folded", file], stdout=subprocess.PIPE, check=True, text=True).stdout
    leaves, names, user, rooted = collections.Counter(), set(), 0, 0

    def visit(node):
        if node.get("image") == "[kernel]":
            names.add(node["name"])
            leaves[node["name"]] += node["self"]
        for child in node["children"]:
            visit(child)
    sys.setrecursionlimit(10000)
    visit(report["tree"])
    for line in folded.splitlines():
        frames, samples = line.rsplit(" ", 1)
        name, *frames = frames.split(";")
        if name in LOAD and frames[0] not in names:
            user += int(samples)
            rooted += int(samples) * any(map(is_root, frames))
    notes = "\n".join(report["notes"])
    walking = re.search(r"the collector used ([0-9.]+) s", notes)
    return report["samples"], user, rooted, +leaves, f"{float(walking[1]):.2f}", notes


def distance(p, q):
    """Sum of the differences of shares, in points: 0 to 200."""
    total_p, total_q = sum(p.values()) or 1, sum(q.values()) or 1
    return sum(abs(100 * p[f] / total_p - 100 * q[f] / total_q) for f in p.keys() | q.keys())


def chance(p, q, rounds=50):
    """The distance of two profiles of as many samples that differ by chance alone: 95 of 100 are below it."""
    both = p + q
    names, weights = list(both), list(both.values())
    draws = sorted(distance(collections.Counter(random.choices(names, weights, k=sum(p.values()))),
                            collections.Counter(random.choices(names, weights, k=sum(q.values())))) for _ in range(rounds))
    return draws[rounds * 95 // 100]


# ---- a program that goes on, with 30 frames ----

STEADY = """
#include <stdlib.h>
volatile long sum;
__attribute__((noinline)) static long down(int n)
{
    for (long i = 0; n == 0 && i < 3000000; i++)
        sum += i;
    long below = n ? down(n - 1) : sum;
    sum += below;
    return sum + n;
}
int main(void)
{
    for (int i = 0; i < 300; i++)
        down(25);
}
"""


def steady_once(command, program, walk):
    """CPU seconds of the program and of what records it, and what that said of its own."""
    env = dict(os.environ, PENUMBRA_WALK=walk)
    with subprocess.Popen(command or ["sleep", "infinity"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env) as p:
        time.sleep(1)
        used = sum(usage([program], walk))
        p.send_signal(signal.SIGINT)
        _, _, own = os.wait4(p.pid, 0)
        p.returncode = 0
    return used, own.ru_utime + own.ru_stime


def steady(tool, folder):
    """Rows: the least of some rounds."""
    program, file = os.path.join(folder, "steady"), os.path.join(folder, "steady.pnb")
    subprocess.run(["gcc", "-O1", "-fno-optimize-sibling-calls", "-xc", "-", "-o", program], input=STEADY.encode(), check=True)
    ours = [tool, "record", "-q", "-a", "-F", str(STEADY_RATE), "-o", file]
    ways = {"nobody": ([], ""), "perf fp": (perf("fp", STEADY_RATE, os.path.join(folder, "steady.perf"), "-a"), ""),
            "**penumbra**, kernel walks": (ours, "kernel"), "**penumbra**, collector walks": (ours, "collector")}
    results = collections.defaultdict(list)
    for _ in range(STEADY_ROUNDS):
        for name, (command, walk) in ways.items():
            used, own = steady_once(command, program, walk)
            read = penumbra_read(tool, file) if walk else None
            each = 1e6 * float(read[4]) / read[0] if walk else 0
            results[name].append((used, own, each, walks_read(read[5], "", (0, 0))[3:5] if walk else ["", ""]))
    return [[name, f"{min(r[0] for r in rs):.2f}", f"{min(r[1] for r in rs):.2f}",
             f"{min(r[2] for r in rs):.1f}" if rs[0][2] else "", *min(r[3] for r in rs)] for name, rs in results.items()]


# ---- the page ----

def one_period(tool, mode, walk, seconds, folder):
    files = {"perf": os.path.join(folder, f"perf-{mode}"), "penumbra": os.path.join(folder, f"beside-{mode}.pnb")}
    used = together({
        "perf": perf(mode, RATE, files["perf"], "-a", "--", "sleep", str(seconds)),
        "penumbra": [tool, "record", "-q", "-F", str(RATE), "-a", "--duration", str(seconds), "-o", files["penumbra"]],
    }, walk, seconds)
    return files, used


def row(name, read, used, file, seconds):
    samples, user, rooted, _, walking = read[:5]
    machine_s = seconds * os.cpu_count()
    return [name, f"{samples}", f"{100 * rooted / max(1, user):.2f}", f"{used[0]:.2f}", f"{used[1]:.2f}",
            walking, f"{100 * sum(used) / machine_s:.2f}", f"{os.path.getsize(file) / 1000:.0f}"]


def measure(build, seconds):
    tool = os.path.join(build, "penumbra")
    rows, notes, walks = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        load = Load(build)
        try:
            time.sleep(2)
            for mode, walk in PERIODS:
                files, used = one_period(tool, mode, walk, seconds, folder)
                theirs, ours = perf_read(files["perf"]), penumbra_read(tool, files["penumbra"])
                rows.append(row(f"perf {mode}", theirs, used["perf"], files["perf"], seconds))
                rows.append(row(f"**penumbra**, {walk} walks", ours, used["penumbra"], files["penumbra"], seconds))
                walks.append(walks_read(ours[5], f"perf {mode}", used["program"]))
                notes.append((f"perf {mode}, {walk} walks", distance(theirs[3], ours[3]), chance(theirs[3], ours[3]), sum(ours[3].values())))
        finally:
            load.end()
        goes_on = steady(tool, folder)
    return rows, notes, walks, goes_on, load.files


def statistics(on):
    """Whether the kernel counts what programs use; as it was before."""
    with open(STATISTICS, "r+", encoding="ascii") as file:
        before = file.read()
        file.seek(0)
        file.write(on)
    return before


def main():
    build, seconds = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else SECONDS
    before = statistics("1")
    try:
        rows, notes, walks, goes_on, files = measure(build, seconds)
    finally:
        statistics(before)
    entry = {"date": time.strftime("%Y-%m-%d"), "revision": store.head()}
    text = tables.head_lines("The whole machine", [f"bench/whole.py BUILD {seconds}"], [entry])
    text += f"""
Two compilers ran all the time (gcc, this source tree, {files} files). Each pair of rows is one period of {seconds} s in which
both profilers ran, at {RATE} Hz a processor. *Complete*: of the compilers' stacks with a part in user mode, those that
reach a root function, by its name, in percent. *User* and *system*: the CPU time of the collector and its children, in
seconds; of penumbra that includes walking stacks (*walking*) and, at the end, reading names, which perf does later, in
`perf report`. *Machine*: user and system, in percent of all processors' time.

"""
    text += tables.table(["profiler", "samples", "complete", "user", "system", "walking", "machine", "file kB"], rows)
    text += """
**Walks in the kernel** ([whole-machine.md](../whole-machine.md)). *Walk*, *30 frames*: half of all walks, and of those of
28 to 32 frames, took no longer, in us. *Program*: the mean of all that the program does at a sample, its output included,
in us, by the kernel's statistics.

"""
    text += tables.table(["penumbra beside", "walked", "frames", "walk", "30 frames", "program", "walked by the collector"], walks)
    text += f"""
**A program that goes on**, with stacks of 30 frames, alone, at {STEADY_RATE} Hz; the least of {STEADY_ROUNDS} rounds. *Program*:
its own CPU time in seconds, which has the interrupts and what they do in it. *Recorder*: that of what records it. *Each*: of
the collector, to walk and count one sample, in us. *Walk*, *30 frames*: as above.

"""
    text += tables.table(["recorded by", "program", "recorder", "each", "walk", "30 frames"], goes_on)
    text += "\n**Kernel functions**, self time: the sum of the differences of shares, in points (0 to 200).\n\n"
    text += tables.table(["penumbra beside", "distance", "by chance at most", "kernel samples"],
                         [[n, f"{d:.1f}", f"{c:.1f}", f"{k}"] for n, d, c, k in notes])
    tables.write("machine.md", text)


if __name__ == "__main__":
    main()
