#!/usr/bin/env python3
"""`penumbra diff` by metrics other than time: what was planted is found, and nothing else.

usage: test_diff_metrics.py PENUMBRA DIFF_METRICS_C

Allocations, page faults, calls and instructions of the program do not depend on the machine's speed. What is sampled has
hundreds of samples and more where half as much again is planted: ten standard errors. Whether nothing else is called
significant is a matter of chance: of sampled metrics one row may be, with its callers."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

PENUMBRA, SOURCE = (os.path.abspath(p) for p in sys.argv[1:3])
ENVIRONMENT = dict(os.environ, LC_ALL="C.UTF-8")
# --budget 100: a sample each period, whatever it costs
EVENTS = {"malloc": ["-e", "malloc=16k", "--budget", "100"], "page-faults": ["-e", "page-faults=1", "--budget", "100"],
          "calls": ["--exact", "--tool", "calls"], "instructions": ["--exact", "--tool", "edges"]}
# by metric: recording, functions that have it at all
METRICS = {"allocated": ("malloc", "allocate"), "live": ("malloc", "keep"), "peak": ("malloc", "keep"),
           "page-faults": ("page-faults", "touch"), "calls": ("calls", "call"), "instructions": ("instructions", "call")}


class Metrics(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory(prefix="penumbra-diff-")
        for build, options in {"before": [], "after": ["-DGROWN"]}.items():
            folder = os.path.join(cls.directory.name, build)
            os.mkdir(folder)
            program = os.path.join(folder, "program")
            subprocess.run(["cc", "-O1", *options, SOURCE, "-o", program], check=True)
            for event, asked in EVENTS.items():
                cls.record(f"{build}-{event}", asked, program)
        for event, asked in EVENTS.items():
            cls.record(f"again-{event}", asked, os.path.join(cls.directory.name, "before", "program"))

    @classmethod
    def record(cls, name, asked, program):
        path = os.path.join(cls.directory.name, name + ".pnb")
        subprocess.run([PENUMBRA, "record", "-q", *asked, "-o", path, "--", program], check=True, timeout=600)

    @classmethod
    def tearDownClass(cls):
        cls.directory.cleanup()

    def diff(self, metric, after, *options, status=0):
        event = METRICS[metric][0]
        r = subprocess.run([PENUMBRA, "diff", "--metric", metric, "--normalize", "none", *options,
                            f"before-{event}.pnb", f"{after}-{event}.pnb"],
                           cwd=self.directory.name, text=True, capture_output=True, env=ENVIRONMENT, check=False, timeout=600)
        self.assertEqual(r.returncode, status, r.stdout + r.stderr)
        return r.stderr if status else r.stdout

    def functions(self, metric, after, weight="total"):
        return {f["name"]: f[weight] for f in json.loads(self.diff(metric, after, "--json"))["functions"]}

    def test_planted(self):
        for metric, (_, what) in METRICS.items():
            with self.subTest(metric):
                rows = self.functions(metric, "after")
                grown, same = rows[f"{what}_grown"], rows[f"{what}_same"]
                self.assertTrue(grown["significant"], grown)
                ratio = grown["samples"][1] / grown["samples"][0]
                error = 0 if metric in ("calls", "instructions") else 4 * ratio * sum(1 / s for s in grown["samples"]) ** 0.5
                self.assertAlmostEqual(ratio, 1.5, delta=0.01 + error)
                self.assertFalse(same["significant"], same)

    def test_rules(self):
        for metric, (_, what) in METRICS.items():
            with self.subTest(metric):
                said = self.diff(metric, "after", "--fail-on", f"{what}_grown > 10%", status=1)
                self.assertIn(f"{what}_grown changed by +", said)
                self.diff(metric, "after", "--fail-on", f"{what}_grown > 90%")
                self.diff(metric, "after", "--fail-on", f"{what}_same > 1%")
                self.diff(metric, "again", "--fail-on", f"{what}_grown > 10%")

    def test_units(self):
        """What a side has: a unit that names its metric is said once."""
        for metric in METRICS:
            with self.subTest(metric):
                unit = metric if metric in ("calls", "instructions") else f"samples of {metric}"
                self.assertRegex(self.diff(metric, "after"), rf"(?m)^before  .*, [\d,]+ {unit}\nafter   .*, [\d,]+ {unit}$")

    def test_nothing(self):
        for metric in METRICS:
            with self.subTest(metric):
                rows = self.functions(metric, "again", "self")
                wrong = [name for name, row in rows.items() if row["significant"]]
                self.assertLessEqual(len(wrong), 1 if METRICS[metric][0] == "malloc" else 0, wrong)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
