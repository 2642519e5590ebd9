"""Running `penumbra record` in a directory of its own, for the tests of this folder."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PENUMBRA = os.path.abspath(sys.argv.pop(1))
PYTHON = os.path.realpath(sys.executable)
SPIN = "import time\nwhile time.process_time() < %s: sum(range(1000))\n"

# Long enough for a machine that is busy with other things: only what never happens takes as long.
PATIENCE = 240

# Whoever starts the tests may ignore or block signals (nohup, `make check &`): children inherit
# that.
for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
    signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
signal.pthread_sigmask(signal.SIG_SETMASK, ())


def sanitized():
    with open(PENUMBRA, "rb") as f:
        return b"__asan_init" in f.read()


FLAGS = {"-q", "--quiet", "--wait-all", "--no-follow", "--no-trampoline", "--no-randomize",
         "--no-names", "--verify-cost",
         "--no-timeline", "--no-arm-sandboxes"}


def options_of(args):
    """What stands before the program."""
    options, complete = [], True
    for arg in args:
        if complete and not arg.startswith("-"):
            break
        options.append(arg)
        complete = not complete or arg in FLAGS
    return options


def at_a_rate(args):
    """Samples are counted on: what they cost on this machine must not make them fewer."""
    given = {"-F", "-c", "--budget", "--exact", "--carrier", "--tool", "-e", "-p",
             "--help"} & set(options_of(args))
    return () if given or not args else ("-F", "997")


class Case(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="penumbra-test-")
        self.spool = os.path.join(self.dir, "spool")
        os.mkdir(self.spool)
        self.output = os.path.join(self.dir, "out.pnb")
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)

    def command(self, *args, output=None):
        """The command line up to the program; the spool is kept where it can be watched."""
        return [PENUMBRA, "record", "-o", output or self.output, "--spool", self.spool,
                *at_a_rate(args), *args]

    def record(self, *args, **options):
        options.setdefault("capture_output", True)
        options.setdefault("timeout", PATIENCE)
        return subprocess.run(self.command(*args), **options)

    def start(self, *args, **options):
        process = subprocess.Popen(self.command(*args), **options)
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream:
                stream.close()

    def summary(self, process):
        """Reads on until the collector says how long it has recorded; that many seconds."""
        said = b""
        for line in process.stderr:
            told = re.search(rb" samples? in (\d+\.\d) s", line)
            if told:
                return float(told[1])
            said += line
        return self.fail(f"there was no summary: {said}")

    def path(self, name, content=None, mode=0o755):
        path = os.path.join(self.dir, name)
        if content is not None:
            with open(path, "wb") as f:
                f.write(content)
            os.chmod(path, mode)
        return path

    def wait_for(self, condition, what):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            value = condition()
            if value:
                return value
            time.sleep(0.01)
        self.fail(f"never happened: {what}")

    def assert_nothing_left(self, *others):
        self.assertEqual(os.listdir(self.spool), [])
        self.assertEqual(sorted(os.listdir(self.dir)), sorted(["spool", *others]))

    def report(self, path=None):
        import json
        done = subprocess.run([PENUMBRA, "report", "--json", path or self.output],
                              capture_output=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)
