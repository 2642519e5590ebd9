"""Simultaneous pairs: what a profiler costs a program, measured on a machine that is not quiet.

All copies of a program (native, native again, one under each profiler) wait at a gate, start at the
same moment and share one core, so that the kernel slices them against each other and every copy sees
the same neighbours, the same clock frequency and the same cache. What is compared is each copy's own
CPU time (user + system, children included), within the round. The second native copy is the null
check: it shows what difference means nothing.

Only the programs are pinned to the core. A profiler's own process may run where it likes; its CPU
time is kept apart ("total" is the program's and the profiler's together).
"""
import hashlib
import os
import re
import resource
import shutil
import signal
import struct
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass, field

import inputs


class RoundError(Exception):
    """A round could not be run: says which copy, and what it said."""


@dataclass
class Copy:
    """One copy of the program in a round. `wrap` turns the held program into what is started:
    wrap(hold, folder) where hold(env, before, binary) gives the command line that holds the program; `before`
    are words in front of the program's own command, `binary` another build to run in its place."""
    name: str
    wrap: callable
    watch: bool = False  # the started process is a profiler: watch its memory


@dataclass
class Outcome:
    user_us: int = 0
    system_us: int = 0
    program_kb: int = 0     # peak resident memory of the program
    status: int = 0         # as wait() gives it
    total_us: int = 0       # program and profiler
    profiler_kb: int = 0    # peak resident memory of the profiler's process
    spool_bytes: int = 0    # most storage behind files that the profiler maps shared, in bytes
    spool_used: int = 0     # of this, handed out (the spool's own account)
    output: str = ""        # hash of all that the program wrote
    bytes: int = 0          # size of what the profiler left
    extra: dict = field(default_factory=dict)

    @property
    def own_us(self):
        return self.user_us + self.system_us


def digest_of(program, folder):
    """One hash of standard output, standard error and the named output files."""
    digest = hashlib.sha256()
    for name in ("stdout", "stderr") + tuple("cwd/" + f for f in program.outputs):
        try:
            with open(os.path.join(folder, name), "rb") as f:
                data = f.read()
        except FileNotFoundError:
            data = b"(missing)"
        if program.volatile:
            data = re.sub(program.volatile.encode(), b"", data)
        digest.update(f"{name} {len(data)} ".encode() + data)
    return digest.hexdigest()[:16]


SPOOL = struct.Struct("<8sIIQQQ")  # magic, version, state, size, limit, next: src/sigsafe/spool.h


def spool_of(pid):
    """(bytes of storage, bytes handed out) of the spool that process `pid` maps shared; zeros if none."""
    with open(f"/proc/{pid}/maps") as maps:
        # It has no name: the mapping itself leads to the file.
        names = {f"/proc/{pid}/map_files/{line.split()[0]}" for line in maps if re.match(r"\S+ .w.s \S+ \S+ [1-9]", line)}
    for name in names:
        try:
            with open(name, "rb") as f:
                magic, *_, used = SPOOL.unpack(f.read(SPOOL.size))
            if magic == b"PNBSPOOL":
                return os.stat(name).st_blocks * 512, used
        except (OSError, struct.error):
            continue
    return 0, 0


def peak_kb(pid):
    with open(f"/proc/{pid}/status") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return int(line.split()[1])
    return 0


class Watcher(threading.Thread):
    """Looks at the profilers' memory a few times a second: the last look before a process ends is
    nearly its peak, for VmHWM only grows."""

    def __init__(self, outcomes):
        super().__init__(daemon=True)
        self.outcomes = outcomes  # pid -> Outcome
        self.done = threading.Event()

    def run(self):
        while not self.done.wait(0.2):
            for pid, outcome in self.outcomes.items():
                try:
                    outcome.profiler_kb = max(outcome.profiler_kb, peak_kb(pid))
                    storage, used = spool_of(pid)
                    outcome.spool_bytes = max(outcome.spool_bytes, storage)
                    outcome.spool_used = max(outcome.spool_used, used)
                except (OSError, ValueError):
                    continue


class Round:
    results = True  # the program is a child of bench-hold, which tells what it used

    def __init__(self, helper, program, copies, core, keep=None, timeout=900):
        self.helper = helper      # bench-hold
        self.program = program
        self.copies = copies
        self.core = core
        self.timeout = timeout
        self.folder = tempfile.mkdtemp(prefix="penumbra-bench-", dir=keep or inputs.WORK)
        self.processes = {}       # pid -> (Copy, Popen)

    def folder_of(self, copy):
        return os.path.join(self.folder, copy.name)

    def hold(self, copy):
        folder = self.folder_of(copy)
        base = [self.helper, "--core", str(self.core), "--gate", f"{self.folder}/gate", "--ready",
                f"{folder}/ready", "--cwd", f"{folder}/cwd", "--stdin",
                self.program.stdin, "--stdout", f"{folder}/stdout", "--stderr", f"{folder}/stderr"]
        if self.results:
            base += ["--result", f"{folder}/result"]
        for name, value in self.program.env.items():
            base += ["--env", f"{name}={value}"]

        def command(env=None, before=(), binary=None):
            more = [word for name, value in (env or {}).items() for word in ("--env", f"{name}={value}")]
            own = [binary or self.program.argv[0], *self.program.argv[1:]]
            return base + more + ["--", *before, *own]
        return command

    def start(self, copy):
        folder = self.folder_of(copy)
        os.makedirs(f"{folder}/cwd")
        os.makedirs(f"{folder}/out")
        for name in self.program.files:
            shutil.copy(inputs.path(name), f"{folder}/cwd")
        with open(f"{folder}/log", "wb") as log:
            process = subprocess.Popen(copy.wrap(self.hold(copy), f"{folder}/out"), stdout=log, stderr=log,
                                       stdin=subprocess.DEVNULL, start_new_session=True)
        self.processes[process.pid] = (copy, process)

    def said(self, copy):
        with open(f"{self.folder_of(copy)}/log", errors="replace") as log:
            return log.read()[-600:].strip()

    def wait_ready(self):
        deadline = time.monotonic() + 60
        waiting = list(self.processes.values())
        while waiting:
            waiting = [(c, p) for c, p in waiting if not os.path.exists(f"{self.folder_of(c)}/ready")]
            for copy, process in waiting:
                if process.poll() is not None:
                    raise RoundError(f"{self.program.name} under {copy.name} ended before it began, with status "
                                     f"{process.returncode}: {self.said(copy)}")
            if waiting and time.monotonic() > deadline:
                raise RoundError(f"{self.program.name} under {waiting[0][0].name} was not ready after 60 s: "
                                 f"{self.said(waiting[0][0])}")
            time.sleep(0.05)
        time.sleep(0.7)  # profilers that prepare tables while the program waits finish here

    def reap(self, outcomes):
        alarm = threading.Timer(self.timeout, self.kill)
        alarm.start()
        try:
            left = set(self.processes)
            while left:
                pid, status, usage = os.wait4(-1, 0)
                if pid not in left:
                    continue
                left.remove(pid)
                copy, process = self.processes[pid]
                process.returncode = os.waitstatus_to_exitcode(status)
                outcomes[pid].total_us = round(1e6 * (usage.ru_utime + usage.ru_stime))
                outcomes[pid].status = status
        finally:
            alarm.cancel()

    def read_result(self, copy, outcome):
        folder = self.folder_of(copy)
        try:
            with open(f"{folder}/result") as f:
                outcome.user_us, outcome.system_us, outcome.program_kb, outcome.status = map(int, f.read().split())
        except (OSError, ValueError):
            raise RoundError(f"{self.program.name} under {copy.name} left no result: {self.said(copy)}") from None
        outcome.output = digest_of(self.program, folder)
        outcome.bytes = sum(entry.stat().st_size for entry in os.scandir(f"{folder}/out") if entry.is_file())

    def run(self):
        """Runs the round; returns {copy name: Outcome}."""
        os.mkfifo(f"{self.folder}/gate")
        for copy in self.copies:
            self.start(copy)
        outcomes = {pid: Outcome() for pid in self.processes}
        self.wait_ready()
        gate = os.open(f"{self.folder}/gate", os.O_WRONLY)
        time.sleep(0.2)
        watcher = Watcher({pid: outcomes[pid] for pid, (c, _) in self.processes.items() if c.watch})
        watcher.start()
        os.close(gate)
        self.reap(outcomes)
        watcher.done.set()
        result = {}
        for pid, (copy, _) in self.processes.items():
            self.read_result(copy, outcomes[pid])
            result[copy.name] = outcomes[pid]
        return result

    def kill(self):
        for pid, (_, process) in self.processes.items():
            if process.returncode is None:
                try:
                    os.killpg(pid, signal.SIGKILL)
                except (ProcessLookupError, PermissionError):
                    continue

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()
        for _, process in self.processes.values():
            if process.returncode is None:
                process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def harm(native, other, program):
    """What a profiler changed of the program's behaviour, in words; empty if nothing."""
    found = []
    if other.status != native.status:
        found.append(f"wait status {other.status} instead of {native.status}")
    if other.output != native.output:
        found.append("other output")
    if native.status != program.exits << 8:
        found.append(f"the native copy ended with {native.status}, not {program.exits << 8}")
    return "; ".join(found)


def raise_limits():
    """Profilers open an event a thread and core: as many descriptors as are allowed."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
