#!/usr/bin/env python3
"""test_mpi.py IMBALANCED PENUMBRA: eight ranks under Open MPI: a file each, one profile of them all, and the
imbalance that the program has by construction."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

IMBALANCED, PENUMBRA = sys.argv[1:3]
RANKS = 8


def run(*command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300,
                          **more)


def nodes(tree):
    stack = [tree]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(node["children"])


class Mpi(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.prof = os.path.join(cls.folder.name, "prof") + "/"
        cls.merged = os.path.join(cls.folder.name, "all.pnb")
        mpirun = ["mpirun", "--oversubscribe",
                  *(["--allow-run-as-root"] if os.geteuid() == 0 else []),
                  "-np", str(RANKS)]
        cls.result = run(*mpirun, PENUMBRA, "record", "-q", "-o", cls.prof, "--", IMBALANCED)
        cls.merging = run(PENUMBRA, "merge", "-o", cls.merged, cls.prof)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def report(self, *options):
        result = run(PENUMBRA, "report", *options, self.merged)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout.decode()

    def test_program(self):
        self.assertEqual(self.result.returncode, 0, self.result.stderr)
        lines = sorted(line for line in self.result.stdout.decode().splitlines())
        self.assertEqual(lines, [f"rank {i}" for i in range(RANKS)])

    def test_files(self):
        self.assertEqual(sorted(os.listdir(self.prof)), [f"rank-{i:04}.pnb" for i in range(RANKS)])

    def test_merged(self):
        self.assertEqual(self.merging.returncode, 0, self.merging.stderr)
        report = json.loads(self.report("--json", "--quick"))
        self.assertEqual({p["rank"] for p in report["processes"]}, set(range(RANKS)))
        parts = [json.loads(run(PENUMBRA, "report", "--json", "--quick", self.prof + name).stdout)
                 for name in os.listdir(self.prof)]
        self.assertEqual(report["samples"], sum(part["samples"] for part in parts))

    def test_imbalance(self):
        report = json.loads(self.report("--json", "--quick", "--imbalance"))
        of = {f["name"]: f for f in report["functions"]}
        work, even = of["work"]["ranks"], of["even"]["ranks"]
        self.assertGreater(work["max"], 40, "too few samples to say anything")
        # By construction 12 / 4.5 - 1 = 1.67, in rounds. In CPU time a round of one rank may take
        # half as long again as another's, whose neighbour on the processor does something else.
        self.assertGreater(work["imbalance"], 12 / 4.5 / 1.5 - 1)
        self.assertLess(work["imbalance"], 12 / 4.5 * 1.5 - 1)
        self.assertIn(work["slowest"], (3, 7))
        self.assertLess(even["imbalance"], work["imbalance"])
        self.assertAlmostEqual(work["mean"] * RANKS, of["work"]["total"], delta=0.01)
        contexts = [n for n in nodes(report["tree"]) if n["name"] == "work"]
        self.assertEqual(sum(n["ranks"]["max"] for n in contexts), work["max"])

    def test_text(self):
        text = self.report("--imbalance", "--quick")
        self.assertIn(f"each of {RANKS} ranks", text)
        self.assertRegex(text, r"%\s+[37]\s+work")

    def test_mixed(self):
        other = os.path.join(self.folder.name, "other.pnb")
        run(PENUMBRA, "record", "-q", "-e", "page-faults", "-o", other, "--", "true")
        result = run(PENUMBRA, "merge", "-o", self.merged + ".2", self.merged, other)
        self.assertEqual(result.returncode, 2)
        self.assertIn(b"page-faults", result.stderr)
        self.assertFalse(os.path.exists(self.merged + ".2"))

    def test_damaged(self):
        damaged = os.path.join(self.folder.name, "damaged.pnb")
        with open(self.merged, "rb") as source, open(damaged, "wb") as copy:
            data = bytearray(source.read())
            data[len(data) // 2] ^= 1
            copy.write(data)
        result = run(PENUMBRA, "merge", "-o", damaged + ".2", self.merged, damaged)
        self.assertEqual(result.returncode, 3)
        self.assertIn(b"damaged.pnb", result.stderr)
        self.assertEqual(run(PENUMBRA, "merge", "-o", damaged, self.merged, self.merged).returncode,
                         2)
        self.assertEqual(run(PENUMBRA, "merge", "-o", damaged, "/no/such/file").returncode, 127)


if not shutil.which("mpirun"):
    print("no mpirun here (Debian package openmpi-bin): skipped")
    sys.exit(77)
unittest.main(argv=sys.argv[:1])
