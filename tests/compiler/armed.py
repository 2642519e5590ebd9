#!/usr/bin/env python3
"""Checks that are armed and disarmed while the program runs (check=switched).

usage: armed.py PENUMBRA PLUGIN RUNTIME CC FOLDER TOGGLE TEST

RUNTIME is penumbra-inst.o, CC the compiler that PLUGIN is for, FOLDER where programs/ is, TOGGLE
toggle.c. Tests:

  often     1,000 times a second, under 16 threads that work, threads that end, a library that is
            loaded and unloaded, and forks; then the program executes itself
  control   penumbra control PID interval 0 disarms what is running, and another interval arms it
  left      a recording that ends before its program leaves it disarmed
  alone     so is a program that nobody records
  windows   checks are executed in a part of the time: shares are right, and counts are estimates
  timer     one sample, whenever the time is over
  refused   where the switch cannot be shared it is on, and all is counted
"""

import ctypes
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import time

from known import ROUNDS, Tools, expect, fail, run

ONCE_A_ROUND = "fill", "second_bits", "divided", "copied"  # calls in one loop of known.c
CHECKS = 144  # offset of penumbra_inst_module.checks
SYS_MREMAP = 25
PATIENCE = 1200  # seconds: only what never happens takes as long


class Armed(Tools):
    def build(self):
        plugin = [f"-fplugin={self.plugin}", "-fplugin-arg-penumbra-gcc-check=switched",
                  "-fplugin-arg-penumbra-gcc-what=calls,paths", "-fplugin-arg-penumbra-gcc-count-checks",
                  self.runtime, "-Wl,--export-dynamic-symbol=__penumbra1_owner"]
        for name, flags in (("armed", ["-pthread"]), ("library", ["-fPIC", "-shared"])):
            source = os.path.join(self.folder, "programs", name + ".c")
            run([self.cc, "-O2", *flags, source, "-o", name, *plugin], cwd=self.work)

    def popen(self, *command):
        """The program works until its standard input ends."""
        # pylint: disable-next=consider-using-with
        return subprocess.Popen([*command, "./armed", "./library"], cwd=self.work, stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, text=True)

    def start(self, *options):
        return self.popen(self.penumbra, "record", "-q", "-o", "out.pnb", "--carrier", "compiled", *options, "--")

    def finish(self, recorder):
        said, _ = recorder.communicate(timeout=PATIENCE)
        expect(recorder.returncode == 0 and said == "0\n", (recorder.returncode, said))
        return json.loads(run([self.penumbra, "report", "--json", "--limit", "0", "out.pnb"],
                              cwd=self.work))


def until(what, found):
    ends = time.monotonic() + PATIENCE
    while time.monotonic() < ends:
        result = found()
        if result is not None:
            return result
        time.sleep(0.02)
    return fail(f"waited in vain for {what}")


def child_of(recorder):
    """The program, once it has a spool: (pid, spool)"""
    def look():
        with open(f"/proc/{recorder.pid}/task/{recorder.pid}/children", encoding="utf-8") as f:
            children = f.read().split()
        for pid in children:
            try:
                with open(f"/proc/{pid}/maps", encoding="utf-8") as f:
                    spool = re.search(r"(/\S*/penumbra-\S*\.spool)\n", f.read())
                if os.path.basename(os.readlink(f"/proc/{pid}/exe")) == "armed" and spool:
                    return int(pid), spool.group(1)
            except OSError:
                pass
        return None
    return until("the program's spool", look)


class Memory:
    """The switch of the program itself, and how many checks it has executed."""

    def __init__(self, tools, pid):
        symbols = {line.split()[2]: int(line.split()[0], 16)
                   for line in run(["nm", "armed"], cwd=tools.work).splitlines()
                   if line.split()[-1].startswith("__penumbra1_") and len(line.split()) == 3}
        with open(f"/proc/{pid}/maps", encoding="utf-8") as f:
            base = int(next(line for line in f if line.rstrip().endswith("/armed")).split("-")[0], 16)
        self.switch_at = base + symbols["__penumbra1_switch"]
        self.checks_at = base + symbols["__penumbra1_module"] + CHECKS
        # pylint: disable-next=consider-using-with
        self.file = open(f"/proc/{pid}/mem", "rb", buffering=0)

    def read(self, at, kind):
        self.file.seek(at)
        return struct.unpack(kind, self.file.read(struct.calcsize(kind)))[0]

    def is_armed(self):
        return self.read(self.switch_at, "I") != 0

    def executes_checks(self):
        before = self.read(self.checks_at, "Q")
        time.sleep(0.2)
        return self.read(self.checks_at, "Q") != before

    def expect_armed(self, armed):
        until(f"the switch to be {armed}", lambda: self.is_armed() == armed or None)
        if armed:
            until("checks", lambda: self.executes_checks() or None)
        else:
            until("no checks", lambda: not self.executes_checks() or None)
            expect(not self.executes_checks(), "checks are executed while disarmed")


def often(tools):
    recorder = tools.start()
    _, spool = child_of(recorder)
    run([tools.toggle, spool, "2500", "1000"])
    report = tools.finish(recorder)
    expect(report["taken"] > 0, report["dropped"])
    expect(report["dropped"]["spool-full"] == 0, report["dropped"])


def control(tools):
    recorder = tools.start()
    pid, _ = child_of(recorder)
    memory = Memory(tools, pid)
    memory.expect_armed(True)
    for interval in 0, 500, 0:
        run([tools.penumbra, "control", str(pid), "interval", str(interval)])
        memory.expect_armed(interval != 0)
    tools.finish(recorder)


def left(tools):
    armed = False
    for duration in 2, 20, 200:  # a busy machine may have it over before it is seen
        recorder = tools.start("--duration", str(duration))
        pid, _ = child_of(recorder)
        memory = Memory(tools, pid)
        ends = time.monotonic() + duration
        while not armed and time.monotonic() < ends:
            armed = memory.is_armed()
        if armed:
            break
        tools.finish(recorder)
    expect(armed, "never armed")
    memory.expect_armed(False)
    expect(memory.read(memory.checks_at, "Q") > 0, "no checks were executed while armed")
    tools.finish(recorder)


def threads_of(pid):
    return len(os.listdir(f"/proc/{pid}/task"))


def alone(tools):
    program = tools.popen()
    until("its threads", lambda: threads_of(program.pid) > 16 or None)
    memory = Memory(tools, program.pid)
    memory.expect_armed(False)
    expect(memory.read(memory.checks_at, "Q") == 0, "checks were executed")
    said, _ = program.communicate(timeout=PATIENCE)
    expect(program.returncode == 0 and said == "0\n", (program.returncode, said))


def refuse_mremap():
    """By a filter: errno EPERM for mremap."""
    PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, FILTER = 38, 22, 2
    LOAD, JUMP_IF_EQUAL, RETURN, ALLOW, EPERM = 0x20, 0x15, 0x06, 0x7fff0000, 0x50001
    code = b"".join(struct.pack("HBBI", *line) for line in (
        (LOAD, 0, 0, 0), (JUMP_IF_EQUAL, 0, 1, SYS_MREMAP), (RETURN, 0, 0, EPERM),
        (RETURN, 0, 0, ALLOW)))
    held = ctypes.create_string_buffer(code)
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", 4, ctypes.addressof(held)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(PR_SET_SECCOMP, FILTER, program):
        raise OSError(ctypes.get_errno(), "prctl")


def refused(tools):
    tools.compile("known", ["-O2"], "calls -fplugin-arg-penumbra-gcc-check=switched")
    counts = []
    for how in None, refuse_mremap:
        report = tools.record("known", 1, ROUNDS, preexec_fn=how)
        counts.append(sorted((c["caller"], c["callee"], c["count"]) for c in report["call_sites"]))
    expect(counts[0] == counts[1] and ROUNDS in (c[2] for c in counts[0]), counts)


def calls_of(report):
    return {(c["caller"], c["callee"]): c["count"] for c in report["call_sites"]}


def record_long(tools, enough, interval, *options):
    """Of rounds enough for so many samples and for hundreds of windows, however fast the machine is: (rounds, report,
    seconds)"""
    rounds, report, seconds = 100000, {"taken": 0}, 0
    while report["taken"] < enough or seconds < 2.5:
        expect(rounds < 1 << 34, f"too few samples: {report['taken']}")
        rounds *= 4
        began = time.monotonic()
        run([tools.penumbra, "record", "-q", "-o", "out.pnb", "--carrier", "compiled", "--interval",
             str(interval), *options, "--", "./known", str(rounds)], cwd=tools.work)
        seconds = time.monotonic() - began
        report = json.loads(run([tools.penumbra, "report", "--json", "--limit", "0", "out.pnb"],
                                cwd=tools.work))
    return rounds, report, seconds


def windows(tools):
    tools.compile("known", ["-O2"], "calls -fplugin-arg-penumbra-gcc-check=switched")
    rounds, report, _ = record_long(tools, 5000, 100, "--windows", "5")
    rows = {c["callee"]: c for c in report["call_sites"] if c["caller"] == "main"}
    counts = [rows[callee]["count"] for callee in ONCE_A_ROUND]
    expect(all(n % 500 == 0 for n in counts), counts)
    expect(max(counts) < 1.05 * min(counts), counts)
    # a window that stays open would have 5 times as many
    expect(0 < max(counts) < 3 * rounds, (counts, rounds))
    expect(all(0 < r["share_low"] < r["share_high"] < 100 for r in rows.values()), rows)


def timer(tools):
    tools.compile("known", ["-O2"], "calls -fplugin-arg-penumbra-gcc-check=switched")
    _, report, seconds = record_long(tools, 50, 1000, "--timer", "2ms")
    expect(report["taken"] <= seconds / 0.002 + 1, (report["taken"], seconds))
    expect(calls_of(report), "nothing was counted")


def main():
    if len(sys.argv) != 8:
        sys.exit(__doc__)
    tests = {"often": often, "control": control, "left": left, "alone": alone, "refused": refused,
             "windows": windows, "timer": timer}
    with tempfile.TemporaryDirectory(prefix="compiler-test-") as work:
        tools = Armed(sys.argv[1:6], work)
        tools.toggle = os.path.abspath(sys.argv[6])
        tools.build()
        tests[sys.argv[7]](tools)


if __name__ == "__main__":
    main()
