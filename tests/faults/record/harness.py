"""Running `penumbra record` in a directory of its own, for the tests of this folder."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

PENUMBRA = os.path.abspath(sys.argv.pop(1))
PYTHON = os.path.realpath(sys.executable)
SPIN = "import time\nwhile time.process_time() < %s: sum(range(1000))\n"


def sanitized():
    with open(PENUMBRA, "rb") as f:
        return b"__asan_init" in f.read()


class Case(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="penumbra-test-")
        self.spool = os.path.join(self.dir, "spool")
        os.mkdir(self.spool)
        self.output = os.path.join(self.dir, "out.pnb")
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)

    def command(self, *args, output=None):
        """The command line up to the program; the spool is kept where it can be watched."""
        return [PENUMBRA, "record", "-o", output or self.output, "--spool", self.spool, *args]

    def record(self, *args, **options):
        options.setdefault("capture_output", True)
        options.setdefault("timeout", 60)
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

    def path(self, name, content=None, mode=0o755):
        path = os.path.join(self.dir, name)
        if content is not None:
            with open(path, "wb") as f:
                f.write(content)
            os.chmod(path, mode)
        return path

    def wait_for(self, condition, what, seconds=20):
        end = time.monotonic() + seconds
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
                              capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)
