"""Runs a program natively and under `penumbra record`, and compares what the world can see of it."""
import functools
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

PENUMBRA = os.environ["PENUMBRA"]  # the built command
TARGETS = os.environ["TARGETS"]    # folder of the built targets
PATIENCE = 1200  # seconds: only what never happens takes as long, also on a busy machine

# Whoever starts the tests may ignore or block signals (nohup, `make check &`): children inherit
# that.
for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
    signal.signal(number, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.pthread_sigmask(signal.SIG_SETMASK, ())

# Python that enters a sandbox, whose filter kills for rt_tgsigqueueinfo, which the runtime calls.
ENTERS_SANDBOX = """import ctypes as c, struct
f = b"".join(struct.pack("HBBI", *i) for i in ((0x20, 0, 0, 0), (0x15, 0, 1, 297), (6, 0, 0, 1 << 31), (6, 0, 0, 0x7fff0000)))
b = c.create_string_buffer(f)
p = c.create_string_buffer(struct.pack("HxxxxxxQ", 4, c.addressof(b)))
l = c.CDLL(None)
assert l.prctl(38, 1, 0, 0, 0) == 0 and l.prctl(22, 2, p) == 0
"""


def runs(pid):
    """Whether a process has not ended: the first one of a container may never wait for it."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def target(name):
    return os.path.join(TARGETS, name)


class Failure(Exception):
    pass


def expect(condition, message):
    if not condition:
        raise Failure(message)


def wait_for(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        expect(time.monotonic() < end, what)
        time.sleep(0.02)


def cpu_used(pid):
    """Seconds of CPU time of a process."""
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        user, system = file.read().rsplit(")", 1)[1].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


@functools.cache
def kernel_events():
    """Whether programs may have events inside the kernel, as far as its release goes
    (collector/perf_event.h)."""
    return b"Linux 6.11" not in run([PENUMBRA, "record", "-e", "context-switches", "-o", os.devnull,
                                     "--", "true"]).stderr


def needs_kernel_events():
    """Skips a test of what only such events can see."""
    if not kernel_events():
        print("no events inside the kernel of this release: skipped")
        sys.exit(77)


def run(command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE,
                          **more)


# CompletedProcess by (command, input, environment): a program is run natively once for all options
natives = {}


def native_key(command, data=b""):
    return tuple(command), data, tuple(os.environ.items())


def at_a_rate(options):
    """Samples are counted on: what they cost on this machine must not make them fewer."""
    given = {"-F", "-c", "--budget", "--exact", "--carrier", "--tool", "--production"} & set(options)
    events = [event for option, event in zip(options, options[1:]) if option == "-e"]
    return () if given or set(events) - {"cpu", "wall"} else ("-F", "997")


class Recording:
    """One recorded run: .native and .profiled are CompletedProcess, .report the --json report."""

    def __init__(self, command, options=(), stdin=None, report=(), around=(), by_default=False):
        self.folder = tempfile.TemporaryDirectory()
        os.chmod(self.folder.name, 0o777)
        self.file = os.path.join(self.folder.name, "out.pnb")
        data = stdin or b""
        key = native_key(command, data)
        known = key in natives
        self.native = natives.get(key) or run(command, input=data)
        rate = () if by_default else at_a_rate(options)
        self.profiled = run([*around, PENUMBRA, "record", "-q", "-o", self.file, *rate, *options,
                             "--", *command],
                            input=data)
        if known and self.differences():
            self.native = run(command, input=data)
        natives[key] = self.native
        for what in self.differences():
            expect(False, f"{what} differs:\n native   {getattr(self.native, what)!r:.2000}\n"
                          f" profiled {getattr(self.profiled, what)!r:.2000}")
        self.report = self.json(report)

    def differences(self):
        return [what for what in ("returncode", "stdout", "stderr")
                if getattr(self.native, what) != getattr(self.profiled, what)]

    def json(self, options):
        result = run([PENUMBRA, "report", "--json", "--quick", *options, self.file])
        expect(result.returncode == 0, f"report failed: {result.stderr.decode()}")
        return json.loads(result.stdout)

    def total(self, name):
        return sum(f["total"] for f in self.report["functions"] if f["name"] == name)

    def samples(self):
        return self.report["samples"]

    def complete(self):
        return 1 - self.report["truncated"] / max(1, self.samples())


def eventful(command, options, around=()):
    """Sampled by events all the time: a timer's samples give time in the kernel to who called it."""
    for _ in range(8):
        r = Recording(command, options, around=around)
        if "switched so often" not in "".join(r.report["notes"]):
            return r
    print("other programs take the processor away all the time: skipped")
    sys.exit(77)


def report_of(file):
    result = run([PENUMBRA, "report", "--json", "--quick", file])
    expect(result.returncode == 0, f"report failed: {result.stderr.decode()}")
    return json.loads(result.stdout)


def halting_record(command, profile, options, status=0, still=0.2):
    """A recording whose collector stands still most of the time: its report."""
    collector = subprocess.Popen([PENUMBRA, "record", "-q", "-o", profile, *options, "--",
                                  *command])
    end = time.monotonic() + PATIENCE
    while collector.poll() is None and time.monotonic() < end:
        collector.send_signal(signal.SIGSTOP)
        time.sleep(still)
        collector.send_signal(signal.SIGCONT)
        time.sleep(still / 4)
    collector.kill()  # unless it has ended
    expect(collector.wait() == status, f"status {collector.returncode}")
    return report_of(profile)


def nodes(tree):
    stack = [tree]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(node["children"])


def main(tests):
    name = sys.argv[1]
    try:
        tests[name]()
    except Failure as failure:
        print(f"{name}: {failure}")
        sys.exit(1)
    print(f"{name}: ok")
