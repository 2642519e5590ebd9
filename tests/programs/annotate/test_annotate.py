#!/usr/bin/env python3
"""penumbra annotate, report and compare of exact counts: profiles with known counts of a real program.

usage: test_annotate.py PENUMBRA WRITE_COUNTS LOOP LOOP.C
"""
import json
import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

PENUMBRA, WRITE_COUNTS, LOOP, SOURCE = (os.path.abspath(p) for p in sys.argv[1:5])
ENVIRONMENT = dict(os.environ, LC_ALL="C.UTF-8")


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def build_id(path):
    found = re.search(r"Build ID: ([0-9a-f]+)", output("readelf", "-n", path))
    return found.group(1) if found else "-"


def instructions(function):
    """[(address, bytes)] as objdump has them."""
    text = output("objdump", "-d", "--insn-width=16", f"--disassemble={function}", LOOP)
    rows = re.findall(r"^ +([0-9a-f]+):\t((?:[0-9a-f]{2} )+)", text, re.M)
    return [(int(address, 16), len(code.split())) for address, code in rows]


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.code = instructions("collatz")
        assert len(cls.code) > 8

    def setUp(self):
        self.directory = tempfile.TemporaryDirectory(prefix="penumbra-annotate-")
        self.addCleanup(self.directory.cleanup)

    def write(self, *what, image=LOOP, identity=None, name="a.pnb"):
        path = os.path.join(self.directory.name, name)
        subprocess.run([WRITE_COUNTS, path, image, identity or build_id(LOOP), *what], check=True)
        return path

    def run_penumbra(self, *arguments, status=0, environment=ENVIRONMENT):
        r = subprocess.run([PENUMBRA, *arguments], text=True, capture_output=True, check=False,
                           env=environment, timeout=1200)
        self.assertEqual(r.returncode, status, r.stderr)
        return r.stderr if status else r.stdout

    def annotate(self, path, function="collatz"):
        return json.loads(self.run_penumbra("annotate", "--json", path, function))

    def block(self, first, last, count):
        """Of the instructions first .. last of the function."""
        start = self.code[first][0]
        size = self.code[last][0] + self.code[last][1] - start
        return f"b:{start:#x}:{size}:{last - first + 1}:{count}"


class Annotate(Case):
    def test_overlapping_blocks(self):
        path = self.write(self.block(0, 3, 10), self.block(2, 3, 5), self.block(5, 5, 100))
        got = self.annotate(path)
        self.assertEqual([(int(i["offset"], 16), i["bytes"]) for i in got["instructions"]],
                         self.code)
        self.assertEqual([i["count"] for i in got["instructions"]][:7], [10, 10, 15, 15, 0, 100, 0])
        self.assertEqual((got["unit"], got["function"]), ("executions", "collatz"))
        self.assertEqual(got["total"], 150)

    def test_source(self):
        got = self.annotate(self.write(self.block(0, 1, 1)))
        with open(SOURCE, encoding="utf-8") as f:
            lines = f.read().split("\n")
        for i in got["instructions"]:
            self.assertEqual(os.path.realpath(i["file"]), os.path.realpath(SOURCE))
            self.assertEqual(i["source"], lines[i["line"] - 1])
        self.assertIn("3 * n + 1", " ".join(i["source"] for i in got["instructions"]))

    def test_samples(self):
        second, third = self.code[1], self.code[2]
        path = self.write(f"s:{second[0]:#x}:7", f"s:{third[0]:#x}:2", f"s:{third[0] + 1:#x}:1")
        got = self.annotate(path)
        self.assertEqual(got["unit"], "samples")
        self.assertEqual([i["count"] for i in got["instructions"]][:4], [0, 7, 3, 0])
        text = self.run_penumbra("annotate", path, "collatz")
        self.assertIn("10 samples", text)
        self.assertRegex(text, rf"\n +7 +70\.00% +{second[0]:x} ")

    def test_inlined(self):
        """What report ranks and has no code: where it is, and how to see it there."""
        host = instructions("host")
        path = self.write(*(f"s:{address:#x}:1" for address, _ in host[:-1]))
        self.assertIn("mixed", {f["name"]
                                for f in json.loads(self.run_penumbra("report", "--json", path))["functions"]})
        message = self.run_penumbra("annotate", path, "mixed", status=2)
        place = f"{os.path.basename(LOOP)}+{host[0][0]:#x}"
        self.assertIn(f"inlined into host ({place}, ", message)
        self.assertIn(f"penumbra annotate {place} shows it", message)
        self.assertEqual(self.annotate(path, place)["function"], "host")
        self.assertIn("no function with counts",
                      self.run_penumbra("annotate", path, "nobody", status=2))

    def test_edges_on_branches(self):
        at = next(i for i, l in enumerate(self.annotate(self.write(self.block(0, 0, 1)))
                                         ["instructions"]) if l["text"].startswith("j"))
        branch, following = self.code[at][0], self.code[at + 1][0]
        path = self.write(self.block(0, at, 40), f"e:{branch:#x}:{following:#x}:10",
                          f"e:{branch:#x}:{self.code[-1][0]:#x}:30")
        line = self.annotate(path)["instructions"][at]
        self.assertEqual((line["left"], line["taken"]), (40, 30))
        self.assertIn("[75.0% taken]", self.run_penumbra("annotate", path, "collatz"))

    def record(self, tool):
        path = os.path.join(self.directory.name, tool)
        self.run_penumbra("record", "-q", "--exact", "--tool", tool, "-o", path, "--", LOOP,
                          "signals")
        return path

    def test_executions_of_recorded_edges_are_those_of_blocks(self):
        blocks, edges = self.record("blocks"), self.record("edges")
        for function in ("main", "twice", "collatz", "handle"):
            of_blocks, of_edges = self.annotate(blocks, function), self.annotate(edges, function)
            self.assertGreater(of_blocks["total"], 0)
            for a, b in zip(of_blocks["instructions"], of_edges["instructions"], strict=True):
                self.assertEqual((a["offset"], a["count"]), (b["offset"], b["count"]), function)
            self.assertEqual((of_edges["unit"], of_edges["total"]),
                             ("executions", of_blocks["total"]))
        reports = [json.loads(self.run_penumbra("report", "--json", path))
                   for path in (blocks, edges)]
        tables = [{f["name"]: f["self"] for f in r["functions"]
                   if f["image"] == os.path.basename(LOOP)} for r in reports]
        self.assertEqual(*tables)
        self.assertEqual((reports[1]["unread_transfers"], reports[1]["instructions"]), (0, None))
        text = self.run_penumbra("report", "--verbose", edges)
        self.assertIn("derived from transfers of control", text)
        self.assertRegex(text, r"self +total +instructions  function")
        self.assertNotIn("derived", self.run_penumbra("report", "--verbose", blocks))

    def test_edges_without_code(self):
        start = self.code[0][0]
        path = self.write(f"e:{self.code[2][0]:#x}:{start:#x}:7", image="/gone/loop")
        text = self.run_penumbra("report", path)
        self.assertIn("7 transfers went to code that cannot be read", text)
        self.assertNotIn("instructions  function", text)

    def test_entries_without_edges(self):
        """What leaves a run and did not come there by edges began at the function's beginning."""
        lines = self.annotate(self.write(self.block(0, 0, 1)))["instructions"]
        last = next(i for i, line in enumerate(lines) if line["text"].startswith("j"))
        path = self.write(f"e:{self.code[last][0]:#x}:{self.code[last + 1][0]:#x}:7",
                          f"e:{self.code[-1][0]:#x}:{self.code[last][0]:#x}:2", name="b.pnb")
        counts = [line["count"] for line in self.annotate(path)["instructions"]]
        self.assertEqual(counts[:last + 2], [5] * last + [7, 7])

    def test_calls_are_named(self):
        start = instructions("twice")[0][0]
        text = self.run_penumbra("annotate", self.write(f"b:{start:#x}:1:1:1"), "twice")
        self.assertIn("call collatz", text)
        self.assertIn("call printf@plt", self.run_penumbra(
            "annotate", self.write(f"b:{instructions('main')[0][0]:#x}:1:1:1"), "main"))

    def test_places(self):
        path = self.write(self.block(0, 1, 3))
        name = os.path.basename(LOOP)
        middle = self.code[4][0]
        self.assertEqual(self.annotate(path, f"{name}+{middle:#x}"), self.annotate(path))
        self.assertEqual(self.annotate(path, f"{LOOP}+{middle:#x}"), self.annotate(path))
        self.assertEqual(self.annotate(path, "coll.*z"), self.annotate(path))
        message = self.run_penumbra("annotate", path, f"{name}+0x7fffffffffff", status=2)
        self.assertIn("there is no function at 0x7fffffffffff", message)

    def test_functions_without_symbols(self):
        stripped = os.path.join(self.directory.name, "stripped")
        subprocess.run(["strip", "-o", stripped, LOOP], check=True)
        path = self.write(self.block(0, 1, 3), image=stripped)
        got = self.annotate(path, f"stripped+{self.code[3][0]:#x}")
        self.assertEqual(int(got["start"], 16), self.code[0][0])
        self.assertEqual([i["count"] for i in got["instructions"]][:3], [3, 3, 0])
        self.assertEqual(len(got["instructions"]), len(self.code))

    def test_names_that_do_not_decide(self):
        path = self.write(self.block(0, 1, 3), f"b:{instructions('twice')[0][0]:#x}:1:1:2")
        message = self.run_penumbra("annotate", path, "collatz|twice", status=2)
        self.assertIn("2 functions", message)
        self.assertIn(f"+{self.code[0][0]:#x}", message)
        self.assertIn("no function", self.run_penumbra("annotate", path, "nothing", status=2))
        for usage in ([], [path], [path, "collatz", "more"], ["--jsn", path, "collatz"]):
            self.assertIn("penumbra annotate: ", self.run_penumbra("annotate", *usage, status=2))

    def test_long_names_leave_room_for_places(self):
        long = os.path.join(self.directory.name, "long")
        vectors = "St6vectorIiSaIiEE" * 20
        names = {of: f"_Z{len(of)}{of}I{vectors}EvT_" for of in ("collatz", "twice")}
        redefined = [f"--redefine-sym={of}={name}" for of, name in names.items()]
        subprocess.run(["objcopy", *redefined, LOOP, long], check=True)
        twice = instructions("twice")[0][0]
        path = self.write(self.block(0, 1, 3), f"b:{twice:#x}:1:1:2", image=long)
        message = self.run_penumbra("annotate", path, "collatz|twice", status=2)
        for name, at in (("collatz", self.code[0][0]), ("twice", twice)):
            self.assertIn(f"void {name}<..>(std::vector<..>) (long+{at:#x})", message)

    def test_names_of_one_function_and_its_parts(self):
        start = {symbol: instructions(symbol)[0][0] for symbol in ("_Z3fibi", "_Z3fibi._omp_fn.0",
                                                                  "_ZZ3fibiENKUlvE_clEv", "_Z3twoi",
                                                                   "_Z3twol")}
        parts = [f"b:{at:#x}:1:1:{i + 1}" for i, at in enumerate(start.values())]
        path = self.write(*parts)
        got = self.annotate(path, "fib")
        self.assertEqual((got["function"], int(got["start"], 16)), ("fib(int)", start["_Z3fibi"]))
        text = self.run_penumbra("annotate", path, "fib")
        place = f"{os.path.basename(LOOP)}+"
        for name, symbol in (("fib(int) [clone ._omp_fn.0]", "_Z3fibi._omp_fn.0"),
                             ("fib(int)::{lambda()#1}::operator()() const",
                              "_ZZ3fibiENKUlvE_clEv")):
            self.assertRegex(text, rf"\nnot shown: .*{re.escape(name)} \({re.escape(place)}{start[symbol]:#x}\)")
            self.assertEqual(self.annotate(path, name)["function"], name)
        self.assertNotIn("not shown", self.run_penumbra("annotate", path, "fib(int)"))
        message = self.run_penumbra("annotate", path, "two", status=2)
        self.assertIn("2 functions", message)
        clones = self.write(*parts[1:3], name="clones.pnb")
        self.assertIn("2 functions", self.run_penumbra("annotate", clones, "fib", status=2))

    def test_cold_parts(self):
        """Of a function and its cold part, which have one name, the one with more counts is shown."""
        cold, work = instructions("_Z4workv.cold")[0][0], instructions("_Z4workv")[0][0]
        self.assertLess(cold, work)
        for kind in ("b:{:#x}:1:1:{}", "s:{:#x}:{}"):
            for counts in ((2, 9), (9, 2)):
                path = self.write(*(kind.format(*place) for place in zip((cold, work), counts)))
                got = self.annotate(path, "work")
                self.assertEqual((got["function"], got["total"]), ("work()", 9))
                self.assertEqual(int(got["start"], 16), work if counts[1] == 9 else cold)

    def test_files_that_are_not_there(self):
        gone = os.path.join(self.directory.name, "gone")
        shutil.copy(LOOP, gone)
        path = self.write(self.block(0, 1, 3), image=gone)
        place = f"gone+{self.code[0][0]:#x}"
        self.assertEqual(self.annotate(path, place)["total"], 6)
        changed = self.write(self.block(0, 1, 3), image=gone, identity="12" * 20, name="b.pnb")
        self.assertIn("changed", self.run_penumbra("annotate", changed, place, status=127))
        os.unlink(gone)
        self.assertIn(f"{gone} cannot be opened",
                      self.run_penumbra("annotate", path, place, status=127))
        with open(gone, "w", encoding="ascii") as f:
            f.write("not a program")
        self.assertIn("not an ELF file", self.run_penumbra("annotate", path, place, status=127))

    def test_colour_only_on_a_terminal(self):
        path = self.write(self.block(0, 3, 10))
        for no_colour, expected in (("", True), ("1", False)):
            main, other = pty.openpty()
            done = subprocess.Popen([PENUMBRA, "annotate", path, "collatz"], stdout=other,
                                    env=dict(ENVIRONMENT, NO_COLOR=no_colour, TERM="xterm"))
            os.close(other)
            text = b""
            try:
                while chunk := os.read(main, 4096):
                    text += chunk
            except OSError:
                pass # the other end is closed
            os.close(main)
            self.assertEqual(done.wait(), 0)
            self.assertEqual(b"\x1b[" in text, expected)
        self.assertNotIn("\x1b", self.run_penumbra("annotate", path, "collatz"))


class Report(Case):
    def test_json(self):
        path = self.write(self.block(0, 3, 10), self.block(5, 5, 3), "r:rseq:2", "n:2000", "t:5000",
                          f"e:{self.code[3][0]:#x}:{self.code[5][0]:#x}:9")
        got = json.loads(self.run_penumbra("report", "--json", path))
        self.assertEqual(got["instructions"], 43)
        self.assertEqual(got["slowdown"], 2.5)
        self.assertEqual((got["stopped"]["rseq"], sum(got["stopped"].values())), (2, 2))
        name = os.path.basename(LOOP)
        first = got["blocks"][0]
        self.assertEqual({k: first[k] for k in ("image", "offset", "function", "count",
                                                "instructions")},
                         {"image": name, "offset": f"{self.code[0][0]:#x}", "function": "collatz",
                          "count": 10, "instructions": 4})
        self.assertEqual(got["edges"], [{"from": f"{name}+{self.code[3][0]:#x}",
                                         "to": f"{name}+{self.code[5][0]:#x}", "count": 9}])
        self.assertEqual([(f["name"], f["self"]) for f in got["functions"] if f["self"]],
                         [("collatz", 43)])
        without = json.loads(self.run_penumbra("report", "--json", self.write(self.block(0, 0, 1))))
        self.assertIsNone(without["slowdown"])

    def test_text(self):
        path = self.write(self.block(0, 3, 1000), self.block(5, 5, 3000), "r:rseq:2")
        text = self.run_penumbra("report", path)
        self.assertIn("exact, tool edges: 7,000 instructions", text)
        self.assertRegex(text, r"\n +2  rseq: ")
        text = self.run_penumbra("report", "--verbose", path)
        self.assertIn("exact, tool edges: 7,000 instructions", text)
        self.assertRegex(text, r"slowdown +not known")
        self.assertRegex(text, r"\n +2  rseq: ")
        self.assertRegex(text, rf"57\.14% +4,000 +1,000 +4  \S+\+{self.code[0][0]:#x}  collatz")
        self.assertNotIn("dropped", text)
        self.assertIn("all threads",
                      self.run_penumbra("report", "--thread", "loop", path, status=2))

    def test_exact_calls(self):
        functions = [instructions(name)[0][0] for name in ("main", "twice", "collatz")]
        path = self.write(*(f"c:{start:#x}:{calls}" for start,
                            calls in zip(functions, (1, 2, 6600000))))
        text = self.run_penumbra("report", "--tree", path)
        self.assertRegex(text, r"total +self +calls  call path\n")
        self.assertRegex(text, r"6,600,003  main \(1 call, each 6,600,003 calls\)")
        self.assertRegex(text, r"6,600,002  twice \(2 calls, each 3,300,001 calls\)")
        self.assertRegex(text, r"6,600,000  collatz \(6,600,000 calls, each 1 call\)")
        self.assertRegex(self.run_penumbra("report", path), r"self +total +calls  function")
        self.assertRegex(self.run_penumbra("report", "--by-thread", path),
                         r"share +calls +CPU time")
        text = self.run_penumbra("report", "--calls", path)
        self.assertRegex(text, r"2 +3,300,001 calls +twice")
        self.assertRegex(text, r"6,600,000 +1 call +collatz")
        for text in (text, self.run_penumbra("report", "--tree", "--calls", "--by-thread", path)):
            self.assertNotRegex(text, "samples|interval|cheap|<")
        got = json.loads(self.run_penumbra("report", "--json", path))
        self.assertEqual(got["functions"][0]["cost_per_call"], {"samples": 1, "interval": [1, 1]})

    def test_compare(self):
        a = self.write(self.block(0, 3, 60), self.block(5, 5, 40), name="a.pnb")
        b = self.write(self.block(0, 3, 30), self.block(6, 6, 30), name="b.pnb")
        got = json.loads(self.run_penumbra("compare", "--json", a, b))
        self.assertEqual(got["by"], "block")
        self.assertAlmostEqual(got["overlap"], 50)
        self.assertAlmostEqual(got["weight_match"], 100)
        self.assertAlmostEqual(got["distortion"], 0)
        self.assertEqual(got["entries"], {"perfect": 2, "sampled": 2, "common": 1})
        same = json.loads(self.run_penumbra("compare", "--json", "--by", "function", a, a))
        self.assertEqual([same[k] for k in ("overlap", "overlap_90", "weight_match", "distortion")],
                         [100, 100, 100, 0])
        sampled = self.write(f"s:{self.code[0][0]:#x}:5", name="c.pnb")
        message = self.run_penumbra("compare", "--by", "block", a, sampled, status=2)
        self.assertIn("the sampled profile has no counts by block", message)
        self.assertIn("count different things", self.run_penumbra("compare", a, sampled))
        self.assertIn("did you mean", self.run_penumbra("compare", "--by", "bloc", a, b, status=2))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
