"""Recordings from outside, for the tests of record -a and --external.

Where the kernel does not permit events of the whole machine, tests are skipped, with its reason."""
import json
import os
import subprocess
import sys
import tempfile

from harness import PENUMBRA, expect, run

SKIPPED, REFUSED = 77, 119
sys.setrecursionlimit(50000)  # trees are as deep as anybody's stacks
PARTS = {"in_first": 0.5, "in_second": 0.3, "in_kernel": 0.2}


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


class Machine:
    """A recording from outside. `beside`: called with the running collector; then it is not waited for."""

    def __init__(self, options, command=(), beside=None, status=0, before=(), walk=None):
        """before: a command that runs the collector; walk: who walks the stacks (docs/whole-machine.md)."""
        self.folder = tempfile.TemporaryDirectory()
        self.file = os.path.join(self.folder.name, "out.pnb")
        env = dict(os.environ, PENUMBRA_WALK=walk) if walk else None
        with subprocess.Popen([*before, PENUMBRA, "record", "-F", "997", "-o", self.file, *options, *(["--", *command] if command else [])],
                              env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as collector:
            if beside:
                beside(collector)
            self.stdout, self.stderr = (text.decode() for text in collector.communicate(timeout=600))
        if collector.returncode == REFUSED != status:
            skip(self.stderr.strip())
        expect(collector.returncode == status, f"status {collector.returncode}: {self.stderr}")
        if status == 0:
            self.read()

    def read(self, metric=()):
        result = run([PENUMBRA, "report", "--json", "--quick", *metric, self.file])
        expect(result.returncode == 0, f"report failed: {result.stderr.decode()}")
        self.report = json.loads(result.stdout)

    def total(self, name):
        return sum(f["total"] for f in self.report["functions"] if f["name"] == name)

    def check_parts(self, least=200):
        whole = sum(self.total(name) for name in PARTS)
        expect(whole >= least, f"{whole} samples in {self.report['samples']}: {self.stderr}")
        for name, part in PARTS.items():
            found, error = self.total(name) / whole, 4 * (part * (1 - part) / whole) ** 0.5 + 0.01
            expect(abs(found - part) < error, f"{name}: {found} of {whole}, not {part} +- {error}")

    def check_complete(self, share=0.99):
        complete = 1 - self.report["truncated"] / max(1, self.report["samples"])
        expect(complete >= share, f"{complete} of stacks are complete: {self.report['truncated_by_reason']}")
