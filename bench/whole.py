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


def usage(command):
    """Runs it: (user, system) seconds of it and all that it waited for."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as p:
        _, status, used = os.wait4(p.pid, 0)
        p.returncode = os.waitstatus_to_exitcode(status)
    if p.returncode:
        raise RuntimeError(f"{command} failed: {p.returncode}")
    return used.ru_utime, used.ru_stime


def perf(mode, rate, file, *rest):
    return ["perf", "record", "-q", "-e", "cpu-clock", "-F", str(rate), "--call-graph", mode, "-o", file, *rest]


def together(commands):
    results = {}
    threads = [threading.Thread(target=lambda n=n, c=c: results.update({n: usage(c)})) for n, c in commands.items()]
    for t in threads:
        t.start()
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
    walking = re.search(r"the collector used ([0-9.]+) s", "\n".join(report["notes"]))
    return report["samples"], user, rooted, +leaves, f"{float(walking[1]):.2f}"


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


# ---- the page ----

def one_period(tool, mode, seconds, folder):
    files = {"perf": os.path.join(folder, f"perf-{mode}"), "penumbra": os.path.join(folder, f"beside-{mode}.pnb")}
    used = together({
        "perf": perf(mode, RATE, files["perf"], "-a", "--", "sleep", str(seconds)),
        "penumbra": [tool, "record", "-q", "-F", str(RATE), "-a", "--duration", str(seconds), "-o", files["penumbra"]],
    })
    return files, used


def row(name, read, used, file, seconds):
    samples, user, rooted, _, walking = read
    machine_s = seconds * os.cpu_count()
    return [name, f"{samples}", f"{100 * rooted / max(1, user):.2f}", f"{used[0]:.2f}", f"{used[1]:.2f}",
            walking, f"{100 * sum(used) / machine_s:.2f}", f"{os.path.getsize(file) / 1000:.0f}"]


def measure(build, seconds):
    tool = os.path.join(build, "penumbra")
    rows, notes = [], []
    with tempfile.TemporaryDirectory() as folder:
        load = Load(build)
        try:
            time.sleep(2)
            for mode in ("fp", "dwarf"):
                files, used = one_period(tool, mode, seconds, folder)
                theirs, ours = perf_read(files["perf"]), penumbra_read(tool, files["penumbra"])
                rows.append(row(f"perf {mode}", theirs, used["perf"], files["perf"], seconds))
                rows.append(row("**penumbra**", ours, used["penumbra"], files["penumbra"], seconds))
                notes.append((f"perf {mode}", distance(theirs[3], ours[3]), chance(theirs[3], ours[3]), sum(ours[3].values())))
        finally:
            load.end()
    return rows, notes, load.files


def main():
    build, seconds = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else SECONDS
    rows, notes, files = measure(build, seconds)
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
    text += "\n**Kernel functions**, self time: the sum of the differences of shares, in points (0 to 200).\n\n"
    text += tables.table(["penumbra beside", "distance", "by chance at most", "kernel samples"],
                         [[n, f"{d:.1f}", f"{c:.1f}", f"{k}"] for n, d, c, k in notes])
    tables.write("machine.md", text)


if __name__ == "__main__":
    main()
