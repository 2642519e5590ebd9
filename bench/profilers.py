"""The profilers that are compared: how each is started around a held program."""
import glob
import json
import os
import subprocess
import sys
from dataclasses import dataclass

from pairs import Copy

GPERFTOOLS = "/usr/lib/x86_64-linux-gnu/libprofiler.so.0"
DEEP = 50000  # a report's tree of call paths is nested so deep at most


@dataclass
class Tools:
    """The built programs that the harness uses."""
    build: str

    def file(self, name):
        return os.path.join(self.build, name)

    @property
    def hold(self):
        return self.file("bench/bench-hold")

    @property
    def empty_handler(self):
        return self.file("bench/bench-empty-handler.so")

    @property
    def penumbra(self):
        return self.file("penumbra")


def native(tools, hz):
    return lambda hold, out: hold()


def empty(mode):
    def make(tools, hz):
        env = {"LD_PRELOAD": tools.empty_handler, "EMPTY_HANDLER_HZ": hz, "EMPTY_HANDLER_MODE": mode}
        return lambda hold, out: hold(env)
    return make


def penumbra(*options):
    def make(tools, hz):
        return lambda hold, out: ([tools.penumbra, "record", "-F", str(hz), "-o", f"{out}/penumbra.pnb"]
                                  + list(options) + ["--"] + hold())
    return make


def perf(*options):
    def make(tools, hz):
        return lambda hold, out: (["perf", "record", "-q", "-o", f"{out}/perf.data", "-e", "cpu-clock", "-F",
                                   str(hz)] + list(options) + ["--"] + hold())
    return make


def gperftools(tools, hz):
    return lambda hold, out: hold({"LD_PRELOAD": GPERFTOOLS, "CPUPROFILE": f"{out}/cpuprofile",
                                   "CPUPROFILE_FREQUENCY": hz})


@dataclass
class Profiler:
    name: str
    title: str
    make: callable
    watch: bool = False

    def copy(self, tools, hz, name=None):
        return Copy(name or self.name, self.make(tools, hz), self.watch)


# perf takes the user-mode instruction pointer of every sample (also of those in the kernel) in the
# flat recording: the reference for distortion.
PROFILERS = [
    Profiler("native", "native", native),
    Profiler("null", "null check", native),
    Profiler("empty", "empty handler", empty("trap")),
    Profiler("empty-fasync", "empty handler, async signal", empty("fasync")),
    Profiler("empty-itimer", "empty handler, setitimer", empty("itimer")),
    Profiler("empty-ctimer", "empty handler, timer a thread", empty("ctimer")),
    Profiler("penumbra", "penumbra", penumbra(), watch=True),
    Profiler("conflicts", "penumbra --tool conflicts", penumbra("--tool", "conflicts"), watch=True),
    Profiler("latency", "penumbra --tool latency", penumbra("--tool", "latency"), watch=True),
    Profiler("no-trampoline", "penumbra --no-trampoline", penumbra("--no-trampoline"), watch=True),
    Profiler("perf", "perf, no stacks", perf("--user-regs=ip"), watch=True),
    Profiler("perf-fp", "perf -g (fp)", perf("--call-graph", "fp"), watch=True),
    Profiler("perf-dwarf", "perf dwarf", perf("--call-graph", "dwarf"), watch=True),
    Profiler("gperftools", "gperftools", gperftools),
]
BY_NAME = {p.name: p for p in PROFILERS}


def files_of(folder, pattern):
    return sorted(glob.glob(os.path.join(folder, pattern)))


def penumbra_text(tools, file, *options):
    done = subprocess.run([tools.penumbra, "report", "--json", *options, file], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)
    if done.returncode != 0:
        raise RuntimeError(f"penumbra report --json {file} exited {done.returncode}: "
                           f"{done.stderr.decode(errors='replace')[-400:]}")
    return done.stdout.decode()


def penumbra_json(tools, file, *options):
    text = penumbra_text(tools, file, *options)
    sys.setrecursionlimit(max(DEEP, sys.getrecursionlimit()))
    return json.loads(text)


def penumbra_head(tools, file):
    """What a report says before its tables and its tree, which may be too deep for a parser."""
    text = penumbra_text(tools, file, "--quick", "--limit", "1")
    return json.loads(text[:text.index(',"notes":[')] + "}")


def penumbra_totals(tools, file):
    """The report without most rows of its tables and without lines, which are hundreds of megabytes for some profiles."""
    return penumbra_json(tools, file, "--quick", "--limit", "1")
