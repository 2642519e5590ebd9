#!/usr/bin/env python3
"""`penumbra diff` as typed, on recordings of a program that is built in several ways.

usage: test_diff_cli.py PENUMBRA DIFF_PROGRAM_C
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

PENUMBRA, SOURCE = (os.path.abspath(p) for p in sys.argv[1:3])
ENVIRONMENT = dict(os.environ, LC_ALL="C.UTF-8")

# Some 500 samples of -F 997 each.
BUILDS = {
    "plain": [],
    "shifted": ["-DPADDED", "-DEXTRA"],
    "renamed": ["-DPADDED", "-DSTEP=tread", "-DSLOWER=200"],
}


def run(*arguments, cwd=None):
    return subprocess.run(arguments, cwd=cwd, text=True, capture_output=True, env=ENVIRONMENT,
                          check=False, timeout=600)


class Diff(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory(prefix="penumbra-diff-")
        for name, options in BUILDS.items():
            folder = os.path.join(cls.directory.name, name)
            os.mkdir(folder)
            # Another name of the program too.
            program = os.path.join(folder, "renamed-too" if name == "renamed" else "program")
            subprocess.run(["cc", "-O1", "-DROUNDS=6000", *options, SOURCE, "-o", program],
                           check=True)
            subprocess.run(["strip", program, "-o", program + "-bare"], check=True)
            cls.record(name, program)
        for name, options in {"often": ["-DSHARE=90"], "seldom": ["-DSHARE=30", "-DPADDED"]}.items():
            program = os.path.join(cls.directory.name, name)
            subprocess.run(["cc", "-O1", "-DROUNDS=1", *options, SOURCE, "-o", program], check=True)
        cls.record("again", os.path.join(cls.directory.name, "plain", "program"))
        cls.record("bare", os.path.join(cls.directory.name, "plain", "program-bare"))
        cls.record("bare-again", os.path.join(cls.directory.name, "plain", "program-bare"))

    @classmethod
    def record(cls, name, program):
        path = os.path.join(cls.directory.name, name + ".pnb")
        subprocess.run([PENUMBRA, "record", "-q", "-F", "997", "-o", path, "--", program],
                       check=True, timeout=600)

    @classmethod
    def tearDownClass(cls):
        cls.directory.cleanup()

    def diff(self, *arguments, status=0):
        r = run(PENUMBRA, "diff", *arguments, cwd=self.directory.name)
        self.assertEqual(r.returncode, status, r.stdout + r.stderr)
        return r.stderr if status else r.stdout

    def functions(self, *arguments):
        return {f["name"]: f for f in json.loads(self.diff("--json", *arguments))["functions"]}

    def test_of_itself(self):
        text = self.diff("plain.pnb", "plain.pnb")
        self.assertRegex(text, r"\n0 of \d+ functions changed beyond chance, by their own samples")
        self.assertNotIn(" * ", text)
        for f in self.functions("plain.pnb", "plain.pnb").values():
            self.assertEqual((f["self"]["difference"], f["presence"]), (0, "both"), f)

    def test_shifted(self):
        f = self.functions("--normalize", "none", "plain.pnb", "shifted.pnb")
        self.assertEqual({name: f[name]["presence"] for name in ("step", "other", "leaf", "extra")},
                         {"step": "both", "other": "both", "leaf": "both", "extra": "appeared"})
        self.assertTrue(f["extra"]["self"]["significant"])
        gone = self.functions("shifted.pnb", "plain.pnb")["extra"]
        self.assertEqual(gone["presence"], "gone")
        self.assertLess(gone["total"]["high"], 0)
        self.assertIn("note    one recording a side",
                      self.diff("--normalize", "none", "plain.pnb", "shifted.pnb"))
        text = self.diff("plain.pnb", "shifted.pnb")
        self.assertNotIn("note ", text)
        self.assertRegex(text, r"appeared \* extra +program")
        self.assertRegex(self.diff("--contexts", "plain.pnb", "shifted.pnb"),
                         r"appeared \* .*main > extra")

    def test_renamed(self):
        f = self.functions("plain.pnb", "renamed.pnb")
        self.assertEqual(f["tread"]["was"], "step")
        self.assertEqual(f["tread"]["presence"], "both")
        self.assertNotIn("step", f)
        # A third, and three of five.
        self.assertTrue(f["tread"]["self"]["significant"])
        self.assertGreater(f["tread"]["self"]["difference"], 10)
        self.assertRegex(self.diff("plain.pnb", "renamed.pnb"), r"\* tread \(was step\)")
        f = self.functions("--no-shapes", "plain.pnb", "renamed.pnb")
        self.assertEqual((f["tread"]["presence"], f["step"]["presence"]), ("appeared", "gone"))

    def test_without_names(self):
        f = self.functions("bare.pnb", "bare-again.pnb")
        nameless = [x for name, x in f.items() if name.startswith("[program-bare+")]
        self.assertGreaterEqual(len(nameless), 3)
        for x in nameless:
            self.assertEqual(x["presence"], "both", x)
        # The same offsets of another build are other functions.
        f = self.functions("--no-shapes", "bare.pnb", "plain.pnb")
        self.assertEqual(f["leaf"]["presence"], "appeared")

    def test_groups(self):
        text = self.diff("--before", "plain.pnb", "again.pnb", "--after", "renamed.pnb")
        self.assertRegex(text, r"before +\S+, 2 recordings")
        d = json.loads(self.diff("--before", "plain.pnb", "again.pnb", "--after=renamed.pnb",
                                 "--after", "shifted.pnb", "--json"))
        self.assertEqual([len(d["before"]), len(d["after"])], [2, 2])
        self.assertEqual(d["after"][0]["file"], "renamed.pnb")

    def test_contexts(self):
        d = json.loads(self.diff("--json", "plain.pnb", "renamed.pnb"))
        contexts = d["contexts"]
        self.assertEqual((contexts[0]["parent"], contexts[0]["name"]), (-1, "[root]"))
        self.assertEqual(contexts[0]["total"]["samples"],
                         [sum(r["samples"] for r in d[side]) for side in ("before", "after")])
        for side in (0, 1):
            own = sum(c["self"]["samples"][side] for c in contexts)
            self.assertEqual(own, contexts[0]["total"]["samples"][side])
            for i, c in enumerate(contexts):
                self.assertLess(c["parent"], i)
        for line in self.diff("--folded", "plain.pnb", "renamed.pnb").splitlines():
            self.assertRegex(line, r"^[^;]+(;[^;]+)* \d+ \d+$")

    def record_values(self, name, times, seed, *options):
        path = f"{name}-{seed}-{times}.pnb"
        r = run(PENUMBRA, "record", "-q", "--tool", "values", *options, "-o", path, "--", "./" + name, str(times), str(seed),
                cwd=self.directory.name)
        self.assertEqual(r.returncode, 0, r.stderr)
        return path

    def values(self, *files):
        """{(kind, value): row} of the multiplication in pick, and all rows."""
        found = json.loads(self.diff("--values", "--json", *files))
        # result of imul: 7 * 11 or 9 * 11
        return {v["value"]: v for v in found["values"] if v["place"].startswith("pick") and
                v["asm"].startswith("imul") and v["kind"] == "result"}, found

    def test_exact_values(self):
        often, seldom = (self.record_values(name, 20000, 1, "--exact") for name in ("often", "seldom"))
        rows, found = self.values(often, seldom)
        seven = rows["0x4d (77)"]["share"]
        self.assertAlmostEqual(seven["before"], 90, delta=1.5)
        self.assertAlmostEqual(seven["after"], 30, delta=2)
        self.assertTrue(seven["significant"])
        # All was counted, but how much runs differ is not known: of 20,000 draws.
        self.assertTrue(-61.5 < seven["low"] < seven["difference"] < seven["high"] < -58.5, seven)
        self.assertAlmostEqual(rows["0x63 (99)"]["share"]["difference"], -seven["difference"], places=3)
        self.assertEqual(rows["0x4d (77)"]["observed"], [20000, 20000])
        _, same = self.values(often, often)
        self.assertFalse([v for v in same["values"] if v["share"]["significant"] or v["share"]["difference"]])
        self.assertRegex(self.diff("--values", often, seldom), r"\* .*pick\S*  seldom  imul .*  result = 0x4d \(77\)\n")

    def test_rules_of_values(self):
        pair = [self.record_values(name, 20000, 1, "--exact") for name in ("often", "seldom")]
        said = self.diff("--values", "--fail-on", "pick.*imul.*result = 0x63 > 100%", *pair, status=1)
        self.assertRegex(said, r"pick\S* imul .* result = 0x63 \(99\) changed by \+\d{3}")
        self.diff("--values", "--fail-on", "pick.*imul.*result = 0x4d < -50%", *pair, status=1)
        for rule in ("pick.*imul.*result = 0x4d > 1%", "pick.*imul.*result = 0x63 > 900%"):
            self.diff("--values", "--fail-on", rule, *pair)
        self.diff("--values", "--fail-on", ". > 0%", pair[0], pair[0])
        self.assertIn("no value of either side", self.diff("--values", "--fail-on", "pick.*idiv > 1%", *pair, status=2))
        self.assertIn("leave \"self\" out", self.diff("--values", "--fail-on", "pick.*imul self > 1%", *pair, status=2))

    def test_sampled_values(self):
        # Some 80 values of the multiplication each.
        often, again, seldom = (self.record_values(name, 800000000, seed, "-F", "4999")
                                for name, seed in (("often", 1), ("often", 2), ("seldom", 1)))
        rows, _ = self.values(often, seldom)
        share = rows["0x4d (77)"]["share"]
        self.assertTrue(share["significant"], share)
        # the interval, and two thirds of it more: a chance of one in a thousand
        third = (share["high"] - share["low"]) / 3
        self.assertTrue(share["low"] - third < -60 < share["high"] + third, share)
        rows, found = self.values(often, again)
        share = rows["0x4d (77)"]["share"]
        self.assertTrue(share["low"] < share["difference"] < share["high"] and share["samples"][0] > 10, share)
        # One false discovery is what the rate of 5% allows. An operand with two values tells it twice.
        wrong = {(v["place"], v["kind"]) for v in found["values"]
                 if v["share"]["significant"] and v["place"].startswith(("pick", "main"))}
        self.assertLessEqual(len(wrong), 1, wrong)

    def test_values_refused(self):
        for options in (["--values", "--folded"], ["--values", "--normalize", "none"]):
            self.assertIn("tables of its own", self.diff(*options, "plain.pnb", "again.pnb", status=2))
        self.assertIn("recording 1 has no values", self.diff("--values", "plain.pnb", "again.pnb", status=2))

    @unittest.skipUnless(shutil.which("go"), "go is not installed")
    def test_pprof_subtracts_the_same(self):
        folder = self.directory.name
        for name in ("plain", "shifted"):
            subprocess.run([PENUMBRA, "export", "-o", name + ".pb.gz", name + ".pnb"], cwd=folder,
                           check=True)
        top = subprocess.run(["go", "tool", "pprof", "-symbolize=none", "-sample_index=samples",
                              "-nodecount=1000", "-nodefraction=0", "-top", "-base=plain.pb.gz",
                              "shifted.pb.gz"], cwd=folder, check=True, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             env=dict(ENVIRONMENT, HOME=folder, PPROF_TMPDIR=folder)).stdout
        rows = {m[2]: int(m[1]) for m in
                re.finditer(r"^ *(-?\d+) .* (\w+)(?: \(inline\))?$", top, re.M)}
        f = self.functions("plain.pnb", "shifted.pnb")
        for name in ("step", "leaf", "other", "extra"):
            before, after = f[name]["self"]["samples"]
            self.assertEqual(rows.get(name, 0), after - before, top)

    def test_rules(self):
        pair = ("plain.pnb", "renamed.pnb")
        self.assertIn("tread changed by +", self.diff("--fail-on", "tread self > 5%", *pair,
                                                      status=1))
        for rule in ("step > 5%", "tread > 5", ". > 5%", "other < -5%", "^tread$ > +0%"):
            self.diff("--fail-on", rule, *pair, status=1)
        for rule in ("tread > 500%", "leaf > 5%", "tread < -1%", "leaf < -90%"):
            self.diff("--fail-on", rule, *pair)
        self.diff("--fail-on", "leaf > 5%", "--fail-on", "step > 5%", *pair, status=1)
        self.diff("--fail-on", ". > 0%", "plain.pnb", "plain.pnb")
        self.diff("--fail-on", "extra > 1000%", "plain.pnb", "shifted.pnb", status=1)
        self.assertIn("did you mean \"leaf\"?", self.diff("--fail-on", "leef > 5%", *pair,
                                                          status=2))
        for rule in ("", ">", "leaf", "leaf >", "> 5%", "leaf > x", "leaf > 5 apples", "leaf > -",
                     "leaf > 1e999", "self > 5%\x01"):
            self.diff("--fail-on", rule, *pair, status=2)

    def test_hostile(self):
        with open(os.path.join(self.directory.name, "noise.pnb"), "wb") as f:
            f.write(b"\x7f" * 5000)
        self.diff("noise.pnb", "plain.pnb", status=3)
        self.diff("plain.pnb", "/no/such/file", status=127)
        self.diff("plain.pnb", status=2)
        self.diff("plain.pnb", "plain.pnb", "again.pnb", status=2)
        self.diff("--before", "plain.pnb", status=2)
        self.diff("--before", "--after", "plain.pnb", status=2)
        self.diff("plain.pnb", "--before", "plain.pnb", "--after", "again.pnb", status=2)
        self.diff("--normalize", "totle", "plain.pnb", "plain.pnb", status=2)
        self.diff("--normalize", "instructions", "plain.pnb", "plain.pnb", status=2)
        self.diff("--metric", "wall", "plain.pnb", "plain.pnb", status=2)
        self.diff("--json", "--folded", "plain.pnb", "plain.pnb", status=2)
        self.diff("--html", "x.html", "--json", "plain.pnb", "plain.pnb", status=2)
        self.diff("--html", "plain.pnb", "plain.pnb", "again.pnb", status=2)
        self.diff("-o", "plain.pnb", "plain.pnb", "again.pnb", status=2)
        self.diff("-o", "/no/such/place", "plain.pnb", "again.pnb", status=124)
        self.assertIn("at most", self.diff("--before", *["plain.pnb"] * 300, "--after",
                                           "plain.pnb", status=2))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
