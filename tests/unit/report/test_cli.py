#!/usr/bin/env python3
"""`penumbra report` as typed: every option, exit statuses, messages.

usage: test_cli.py PENUMBRA WRITE_PROFILE LEVELS
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

PENUMBRA, WRITE_PROFILE = (os.path.abspath(p) for p in sys.argv[1:3])
LEVELS = int(sys.argv[3])
ENVIRONMENT = dict(os.environ, LC_ALL="C.UTF-8")


class Report(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory(prefix="penumbra-report-")
        cls.profile = os.path.join(cls.directory.name, "penumbra.pnb")
        subprocess.run([WRITE_PROFILE, cls.profile], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.directory.cleanup()

    def run_report(self, *arguments, status=0, environment=ENVIRONMENT):
        r = subprocess.run([PENUMBRA, "report", *arguments], cwd=self.directory.name, text=True,
                           capture_output=True, env=environment, check=False, timeout=1200)
        self.assertEqual(r.returncode, status, r.stderr)
        return r.stderr if status else r.stdout

    def write_page(self, *arguments):
        r = subprocess.run([PENUMBRA, "report", "--html", *arguments], cwd=self.directory.name,
                           text=True,
                           capture_output=True, env=ENVIRONMENT, check=False, timeout=1200)
        if "built without HTML pages" in r.stderr:
            self.skipTest("built with -Dhtml=false")
        self.assertEqual(r.returncode, 0, r.stderr)

    def rows(self, *arguments):
        """(first percentage, second, the text of the last column) of each line below the header."""
        table = self.run_report(*arguments).split("\n\n", 1)[1].splitlines()[1:]
        rows = []
        for line in table:
            fields = line.split()
            if len(fields) > 2 and fields[0].endswith("%"):
                rows.append((fields[0], fields[1], line[32:].strip()))
        return rows

    def test_default_is_flat(self):
        self.assertEqual(self.run_report(), self.run_report("penumbra.pnb"))
        self.assertEqual([r[:2] for r in self.rows()],
                         [("50.00%", "50.00%"), ("20.00%", "20.00%"), ("15.00%", "15.00%"),
                          ("10.00%", "10.00%"), ("5.00%", "30.00%"), ("0.00%", "50.00%"),
                          ("0.00%", "50.00%")])
        self.assertIn("More: --tree", self.run_report())
        self.assertNotIn("\x1b", self.run_report())

    def test_tree(self):
        rows = self.rows("--tree")
        self.assertEqual([r[2].split("  [")[0] for r in rows],
                         ["w", "x", "a", "├─ b", "│  ├─ c", "│  └─ d", "└─ e", "b", "a", "b"])
        ascii_rows = self.rows("--tree", "--ascii")
        self.assertEqual([r[2] for r in ascii_rows][3:7], ["|- b", "|  |- c", "|  `- d", "`- e"])
        plain = self.run_report("--tree", environment=dict(os.environ, LC_ALL="C"))
        self.assertTrue(plain.isascii())

    def test_bottom_up(self):
        rows = self.rows("--bottom-up", "--limit", "0")
        self.assertEqual([r[2].split("  [")[0] for r in rows][:4], ["x", "w", "e", "a"])

    def test_callers_and_callees(self):
        rows = self.rows("--callers", "b")
        self.assertEqual(rows[0][:2], ("30.00%", "30.00%"))
        self.assertEqual([r[2].split("  [")[0] for r in rows], ["b", "a", "b"])
        rows = self.rows("--callees", "b")
        self.assertEqual([(r[0], r[2].split("  [")[0]) for r in rows],
                         [("30.00%", "b"), ("15.00%", "├─ c"), ("10.00%", "├─ d"),
                          ("5.00%", "└─ a"), ("5.00%", "b")])

    def test_filters(self):
        self.assertEqual([r[2][0] for r in self.rows("--thread", "worker")], ["x", "w"])
        self.assertEqual(self.rows("--thread", "102"), self.rows("--thread", "worker"))
        self.assertEqual(len(self.rows("--process", "program")), 7)
        j = json.loads(self.run_report("--json", "--through", "a,b", "--through", "[cd]"))
        self.assertEqual((j["samples"], j["samples_all"]), (50, 200))
        text = self.run_report("--through", "a,b", "--tree")
        self.assertIn("60 of 200 samples (30.00%)", text)
        self.assertIn("of all", text)

    def test_rows_of_threads_processes_images(self):
        self.assertEqual([r[0] for r in self.rows("--by-thread")], ["50.00%", "50.00%"])
        self.assertEqual([r[0] for r in self.rows("--by-process")], ["100.00%"])
        self.assertEqual([r[:2] for r in self.rows("--by-image")], [("100.00%", "100.00%")])

    def test_order(self):
        """In which views are shown, however they are asked for."""
        views = ["--by-process", "--by-thread", "--by-image", "--flat", "--tree", "--bottom-up",
                 ["--callers", "b"],
                 ["--callees", "b"]]
        views = [view if isinstance(view, list) else [view] for view in views]
        tables = [self.run_report(*view).split("\n\n")[-1].strip() for view in views]
        self.assertEqual(len(set(tables)), len(views))
        text = self.run_report(*(word for view in reversed(views) for word in view))
        places = [text.index(table) for table in tables]
        self.assertEqual(places, sorted(places))

    def test_flat_json(self):
        for more in ([], ["--min", "10"], ["--depth", "3"], ["--ci"]):
            nodes = json.loads(self.run_report("--json=flat", *more))["nodes"]
            for at, node in enumerate(nodes):
                node["children"] = []
                parent = node.pop("parent")
                self.assertLess(parent, at)
                if at:
                    nodes[parent]["children"].append(node)
            self.assertEqual(nodes[0], json.loads(self.run_report("--json", *more))["tree"])
        self.assertIn("--json=flat", self.run_report("--json=deep", status=2))

    def test_json(self):
        j = json.loads(self.run_report("--json"))
        self.assertEqual(sum(f["self"] for f in j["functions"]), j["samples"])
        todo, selves = [j["tree"]], 0
        while todo:
            node = todo.pop()
            self.assertEqual(node["total"],
                             node["self"] + sum(c["total"] for c in node["children"]))
            selves += node["self"]
            todo += node["children"]
        self.assertEqual(selves, j["samples"])
        with open("docs/json.md", encoding="utf-8") as f:
            documented = f.read()
        keys = set(j) | set(j["functions"][0]) | set(j["threads"][0]) | set(j["processes"][0])
        for key in keys | set(j["dropped"]) | set(j["truncated_by_reason"]) | set(j["overhead"]):
            self.assertIn(f"`{key}`", documented)

    def test_html_holds_the_json(self):
        self.write_page("page.html")
        with open(os.path.join(self.directory.name, "page.html"), encoding="utf-8") as f:
            page = f.read()
        self.assertTrue(page.startswith("<!doctype html>"))
        self.assertIn('"samples":200', page)

    def test_output_file(self):
        self.assertEqual(self.run_report("-o", "out.txt"), "")
        with open(os.path.join(self.directory.name, "out.txt"), encoding="utf-8") as f:
            self.assertEqual(f.read(), self.run_report())
        self.assertIn("cannot create /nonexistent/x", self.run_report("-o", "/nonexistent/x",
                                                                      status=124))
        if os.path.exists("/dev/full"):
            self.assertIn("cannot write /dev/full", self.run_report("-o", "/dev/full", status=124))

    def test_output_is_not_the_profile(self):
        with open(self.profile, "rb") as f:
            before = f.read()
        link = os.path.join(self.directory.name, "link.pnb")
        os.symlink("penumbra.pnb", link)
        for options in (["-o", "penumbra.pnb"], ["-o", "./penumbra.pnb", "penumbra.pnb"],
                        ["--json", "-o", "link.pnb"],
                        ["--html", "penumbra.pnb", "penumbra.pnb"]):
            r = subprocess.run([PENUMBRA, "report", *options], cwd=self.directory.name, text=True,
                               capture_output=True,
                               env=ENVIRONMENT, check=False, timeout=1200)
            with open(self.profile, "rb") as f:
                self.assertEqual(f.read(), before, options)
            self.assertEqual(r.returncode, 2, options)
            self.assertIn("would be overwritten", r.stderr)
        os.unlink(link)

    def test_limits(self):
        self.assertEqual(len(self.rows("--limit", "2")), 2)
        self.assertIn("5 more functions are not shown", self.run_report("--limit", "2"))
        self.assertEqual(len(self.rows("--min", "30")), 4)
        self.assertEqual(len(self.rows("--tree", "--depth", "1")), 3)

    def test_intervals(self):
        text = self.run_report("--ci", "--limit", "1")
        self.assertIn("50.00%  [43.14, 56.86]", text)

    def test_mistakes(self):
        for arguments, says in [
                (["--flaat"], "did you mean --flat?"),
                (["--callers"], "--callers needs a value"),
                (["--flat=3"], "takes no value"),
                (["-x"], "there is no option -x"),
                (["--min", "200"], "--min"),
                (["--limit", "many"], "--limit"),
                (["--callers", "nobody"], 'named or matches "nobody"'),
                (["--thread", "nobody"], 'no thread "nobody"'),
                (["--through", "a,("], "not a regular expression"),
                (["--quick", "--lines"], "--quick reads no source lines"),
                (["--html", "x.html", "--tree"], "--html writes a page of its own"),
                (["one.pnb", "two.pnb"], '"two.pnb" is one too many'),
        ]:
            with self.subTest(arguments=arguments):
                self.assertIn(says, self.run_report(*arguments, status=2))
        self.assertIn("missing.pnb", self.run_report("missing.pnb", status=127))
        with open(os.path.join(self.directory.name, "text.pnb"), "w", encoding="utf-8") as f:
            f.write("not a profile\n" * 100)
        self.assertIn("text.pnb", self.run_report("text.pnb", status=3))

    def test_what_was_not_recorded(self):
        for view, says in [("--paths", "--tool paths"), ("--streams", "--tool streams"),
                           ("--calls", "--tool calls"),
                           ("--semi-invariant", "--tool values"), ("--imbalance", "mpirun"),
                           ("--by-phase", "phases")]:
            with self.subTest(view=view):
                self.assertIn(says, self.run_report(view, status=2))

    def test_names_that_are_no_expression(self):
        """As the page does: what is no regular expression is searched for as it is."""
        self.assertIn('named or matches "["', self.run_report("--callers", "[", status=2))
        brackets = os.path.join(self.directory.name, "brackets.pnb")
        subprocess.run([WRITE_PROFILE, brackets, "brackets"], check=True)
        self.assertIn("[f+0x10]", self.run_report("--callers", "[", brackets))
        self.assertIn("[f+0x10]", self.run_report("--callees", "[f+", brackets))

    def test_header(self):
        brief, verbose = self.run_report().split("\n\n")[0], self.run_report("--verbose").split("\n\n")[0]
        self.assertEqual(len(brief.splitlines()), 2)
        self.assertIn("trigger   cpu", verbose)
        self.assertNotIn("trigger", brief)
        self.assertEqual(self.run_report("-v"), self.run_report("--verbose"))

    def test_two_samplings(self):
        """None of them is perfect, and what is the same does not differ."""
        text = subprocess.run([PENUMBRA, "compare", "penumbra.pnb", "penumbra.pnb"],
                              cwd=self.directory.name, text=True,
                              capture_output=True, check=True, timeout=1200).stdout
        self.assertNotIn("perfect", text)
        self.assertNotIn("distortion", text)
        self.assertRegex(text, r"difference +0\.00%")

    def test_more_says_what_is_lacking(self):
        text = self.run_report()
        for lacks in ("record -e wall", "record --tool values", "record --exact --tool calls"):
            self.assertIn(lacks, text)
        self.assertNotIn("--by-process", text.split("More:")[1])

    def test_bytes_that_are_not_utf8(self):
        """A command line may hold any bytes: no output may, where text is expected."""
        latin = os.path.join(self.directory.name, "latin.pnb")
        subprocess.run([WRITE_PROFILE, latin, "latin"], check=True)
        for options in ([], ["--verbose"], ["--json"], ["--by-process"], ["--html", "-"]):
            r = subprocess.run([PENUMBRA, "report", *options, latin], cwd=self.directory.name,
                               capture_output=True,
                               env=ENVIRONMENT, check=False, timeout=1200)
            if b"built without HTML pages" in r.stderr:
                continue
            self.assertEqual(r.returncode, 0, r.stderr)
            r.stdout.decode("utf-8")
        for form in ("folded", "callgrind"):
            subprocess.run([PENUMBRA, "export", "--format", form, "-o", f"latin.{form}", latin],
                           check=True,
                           cwd=self.directory.name, capture_output=True, timeout=1200)
            with open(os.path.join(self.directory.name, f"latin.{form}"), encoding="utf-8") as f:
                self.assertIn("caf?", f.read())
        if os.path.exists(os.path.join(self.directory.name, "page.html")):
            self.assertIn("<title>program caf\ufffd &lt;b>", r.stdout.decode("utf-8"))

    def test_help_names_every_option(self):
        text = self.run_report("--help")
        with open("docs/man/penumbra-report.1", encoding="utf-8") as f:
            manual = f.read().replace("\\-", "-")
        options = re.findall(r"--[a-z][a-z-]*", text)
        self.assertGreater(len(options), 20)
        for option in options:
            self.assertIn(option, manual)

    def test_deep_recursion(self):
        deep = os.path.join(self.directory.name, "deep.pnb")
        subprocess.run([WRITE_PROFILE, deep, str(LEVELS)], check=True)
        for view in ["--flat", "--tree", "--bottom-up"]:
            self.assertIn("100.00%", self.run_report(view, deep))
        self.assertIn(f"recursion, {LEVELS:,} levels deep", self.run_report("--tree", deep))
        self.assertIn("recursion, 128 levels deep or more", self.run_report("--bottom-up", deep))
        self.assertIn("levels below 128", self.run_report("--tree", "--no-fold", deep))
        j = json.loads(self.run_report("--json", "--depth", "100", deep))
        self.assertEqual(j["samples"], LEVELS)
        subprocess.run([WRITE_PROFILE, deep, str(LEVELS // 3)], check=True)
        nodes = json.loads(self.run_report("--json=flat", deep))["nodes"]
        self.assertGreater(len(nodes), LEVELS // 3)

    def test_deep_recursion_as_a_page(self):
        deep = os.path.join(self.directory.name, "deep.pnb")
        subprocess.run([WRITE_PROFILE, deep, str(LEVELS)], check=True)
        self.write_page("deep.html", deep)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
