#!/usr/bin/env python3
"""test_timeline.py NAME: the timeline of programs whose functions take turns shows them in their order.

A function that runs for 400 ms has some 400 samples, of which those at its ends may be in the other one's bin (bins are a
millisecond wide in runs as short as these)."""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

from harness import PATIENCE, PENUMBRA, Recording, expect, main, run, target

MS = 1000000


def record(what, ms=400, options=("-F", "997"), report=("--timeline",)):
    return Recording([target("turns"), what, str(ms)], options, report=report)


def function(report, name):
    return next(f["samples"] for f in report["timeline"]["functions"] if f["name"] == name)


def own(report, name):
    return sum(f["self"] for f in report["functions"] if f["name"] == name)


def middle(samples, share):
    """The column by which so much of the samples had fallen."""
    total = 0
    for column, weight in enumerate(samples):
        total += weight
        if total >= share * sum(samples):
            return column
    return len(samples)


def check_sums(report):
    """Columns add up to what the views say, but for rounding to thousandths."""
    t = report["timeline"]
    expect(abs(sum(t["samples"]) - report["samples"]) < 1 + len(t["samples"]) / 1000, "sum of all")
    for f in t["functions"]:
        selves = sum(g["self"] for g in report["functions"]
                     if (g["name"], g["image"]) == (f["name"], f["image"]))
        expect(abs(sum(f["samples"]) - selves) < 1 + len(t["samples"]) / 1000,
               f"sum of {f['name']}: {selves}")
    for i, weight in enumerate(t["samples"]):
        expect(abs(sum(thread["samples"][i]
                       for thread in t["threads"]) - weight) < 0.01 * (1 + len(t["threads"])),
               "sum of threads")


def check_order(report, *names):
    """Each one's samples are behind those of the one before, but for one in fifty."""
    last = -1
    for name in names:
        samples = function(report, name)
        expect(sum(samples) > 50, f"{name}: samples")
        expect(middle(samples, 0.02) >= last - 1, f"{name} begins before the one before it ends")
        last = middle(samples, 0.98)


def order():
    r = record("order")
    check_sums(r.report)
    check_order(r.report, "alpha", "beta", "gamma_")
    t = r.report["timeline"]
    expect(t["bin_ns"] <= 16 * MS and t["from_ns"] == 0, "bins")
    whole = sum(t["samples"])
    for name in ("alpha", "beta", "gamma_"):
        share = sum(function(r.report, name)) / whole
        expect(abs(share - 1 / 3) < 0.02, f"{name} has {share}")
    columns = len(t["samples"]) * t["width_ns"]
    expect(abs(columns - r.report["duration_ns"]) <= t["width_ns"], "columns cover the duration")


def parts():
    """--time: parts add up to the whole, and in the middle of a turn there is that function only."""
    r = record("order")
    whole = r.samples()
    halves = [r.json(["--time", time_])["samples"] for time_ in ("..50%", "50%..")]
    expect(abs(sum(halves) - whole) <= 2, f"{halves} of {whole}")
    t = r.report["timeline"]
    for name in ("alpha", "beta", "gamma_"):
        samples = function(r.report, name)
        first, last = (middle(samples, share) * t["width_ns"] / 1e9 for share in (0.2, 0.8))
        part = r.json(["--time", f"{first:.6f}..{last:.6f}s", "--timeline"])
        expect(part["samples"] > 0.4 * own(r.report, name), f"{name}: {part['samples']}")
        expect(own(part, name) > 0.95 * part["samples"], f"in {name}'s turn: {part['functions']}")
        expect(part["from_ns"] == part["timeline"]["from_ns"] and part["duration_ns"] > 0,
               "from_ns")
        check_sums(part)
    for bad in ("5", "2..1", "a..b", "100%..", "1..2x", "1000..1001"):
        result = run([PENUMBRA, "report", "--time", bad, r.file])
        expect(result.returncode == 2 and b"--time" in result.stderr, f"{bad}: {result.stderr}")


def ends():
    """--from and --to are the ends of --time, together or alone."""
    r = record("turns")
    for options, time_ in ((["--from", "0.3", "--to", "600ms"], "0.3..600ms"), (["--from", "50%"], "50%.."),
                           (["--to", "0.5s"], "..0.5s")):
        part, wanted = r.json(options), r.json(["--time", time_])
        expect(part["samples"] == wanted["samples"] > 0 and part["duration_ns"] == wanted["duration_ns"], time_)
    for bad in (["--from", "0..1"], ["--to", "x"], ["--from", "1", "--to", "0.5"], ["--from", "0", "--time", "0..1"],
                ["--to", "1" * 100]):
        result = run([PENUMBRA, "report", *bad, r.file])
        expect(result.returncode == 2 and b"--time" in result.stderr or b"--to want" in result.stderr,
               f"{bad}: {result.stderr}")


def waits():
    """A wait is charged at its end, and spread over it."""
    r = record("wait", 700, options=("-e", "wall", "-F", "199"))
    t = r.report["timeline"]
    alpha, beta = function(r.report, "alpha"), function(r.report, "beta")
    first, last = middle(alpha, 0.98) + 1, middle(beta, 0.02)
    between = [sum(t["samples"][i:i + 10]) for i in range(first, last - 10, 10)]
    expect(len(between) > 3, "there is a wait")
    mean = sum(between) / len(between)
    empty = sum(weight < mean / 4 for weight in between)
    expect(empty <= len(between) / 5, f"it is spread: {between}")


def thread():
    r = record("thread")
    check_sums(r.report)
    check_order(r.report, "alpha", "beta")
    t = r.report["timeline"]
    expect(len(t["threads"]) == 2, "two threads")
    for each, name in zip(sorted(t["threads"], key=lambda each: each["tid"]), ("alpha", "beta")):
        samples = function(r.report, name)
        expect(abs(sum(each["samples"]) - sum(samples)) < 0.1 * sum(samples), f"{name}'s thread")


def fork():
    """A child's timeline is its own, on the same axis."""
    r = record("fork")
    check_sums(r.report)
    check_order(r.report, "alpha", "beta")
    pids = {each["pid"]: each for each in r.report["timeline"]["threads"]}
    expect(len(pids) == 2, "two processes")
    child = pids[max(pids)]["samples"] if len(pids) == 2 else []
    expect(abs(sum(child) - sum(function(r.report, "beta"))) < 40, "the child has beta's only")
    marks = r.report["timeline"]["marks"]
    expect([m["kind"] for m in marks] == ["fork", "exit", "exit"], marks)
    expect(marks[0]["text"] == f"turns {max(pids)} began, of {min(pids)}", marks)
    began = (marks[0]["ns"] - r.report["timeline"]["from_ns"]) / r.report["timeline"]["width_ns"]
    before, behind = middle(function(r.report, "alpha"), 1), middle(function(r.report, "beta"), 1e-9)
    expect(before - 2 <= began <= behind + 2,
           f"alpha's last column is {before}, beta's first {behind}: the child began in {began}")
    text = run([PENUMBRA, "report", "--timeline", r.file]).stdout.decode()
    expect(re.search(rf"\d m?s  fork      turns {max(pids)} began, of {min(pids)}\n", text), text)
    expect(" exit " not in text, text)


def phases():
    """Phases share a thread's timeline; of each there is its own part."""
    r = record("phases")
    check_sums(r.report)
    check_order(r.report, "alpha", "beta", "gamma_")
    expect(len(r.report["timeline"]["threads"]) == 1, "one row a thread")
    for phase, name in zip("abc", ("alpha", "beta", "gamma_")):
        part = r.json(["--phase", phase, "--timeline"])
        check_sums(part)
        halves = [middle(samples, 0.5)
                  for samples in (part["timeline"]["samples"], function(part, name))]
        expect(abs(halves[0] - halves[1]) < 20, f"{phase}: {halves}")


def after():
    """The record of what is in no phase is made before the first sample, and used after the phase."""
    for options in (("-F", "997"), ("-e", "wall", "-F", "199")):
        r = record("after", ms=800, options=options)
        expect(not any("damage" in note for note in r.report["notes"]),
               f"{options}: {r.report['notes']}")
        check_sums(r.report)
        for name in ("alpha", "beta", "gamma_"):
            expect(sum(function(r.report, name)) > 30, f"{options}: {name}")


def killed():
    """The program, or the collector: what there is is in order, and at most the last sample has no
    time."""
    for victim in ("program", "collector"):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "out.pnb")
            process = subprocess.Popen([PENUMBRA, "record", "-q", "-F", "4999", "-o", file, "--",
                                        target("turns"), "order",
                                        "600"])
            children = f"/proc/{process.pid}/task/{process.pid}/children"
            deadline = time.monotonic() + PATIENCE
            while True:
                expect(time.monotonic() < deadline, "beta does not come")
                time.sleep(0.05)
                result = run([PENUMBRA, "report", "--json", "--quick", "--timeline", file])
                if result.returncode == 0:
                    report = json.loads(result.stdout)
                    if any(f["name"] == "beta" and sum(f["samples"]) > 200
                           for f in report["timeline"]["functions"]):
                        break
            with open(children, encoding="ascii") as f:
                program = int(f.read().split()[0])
            os.kill(program if victim == "program" else process.pid, signal.SIGKILL)
            process.wait()
            if victim == "collector":
                os.kill(program, signal.SIGKILL)
            result = run([PENUMBRA, "report", "--json", "--quick", "--timeline", file])
            expect(result.returncode == 0, result.stderr.decode())
            report = json.loads(result.stdout)
            expect(not any("damage" in note for note in report["notes"]),
                   f"{victim}: {report['notes']}")
            expect(abs(sum(report["timeline"]["samples"]) - report["samples"]) < 4, "sums")
            check_order(report, "alpha", "beta")


def off():
    r = record("order", 100, options=("--no-timeline",), report=())
    result = run([PENUMBRA, "report", "--timeline", r.file])
    expect(result.returncode == 2 and b"--no-timeline" in result.stderr, result.stderr.decode())
    result = run([PENUMBRA, "report", "--time", "0..1", r.file])
    expect(result.returncode == 2 and b"--no-timeline" in result.stderr, result.stderr.decode())
    exact = Recording([target("turns"), "order", "1"], ["--exact", "--tool", "calls"])
    result = run([PENUMBRA, "report", "--timeline", exact.file])
    expect(result.returncode == 2 and b"--exact" in result.stderr, "whole runs have none")
    r = record("order", 100)
    result = run([PENUMBRA, "report", "--timeline", "--image", "turns", r.file])
    expect(result.returncode == 2 and b"--image" in result.stderr, result.stderr.decode())


def refused():
    """What has no times; and an end behind the recording's is the recording's."""
    exact = Recording([target("turns"), "order", "1"], ["--exact", "--tool", "calls"])
    result = run([PENUMBRA, "report", "--time", "0..50%", exact.file])
    expect(result.returncode == 2 and b"engine" in result.stderr, f"whole runs: {result.stderr}")
    r = Recording([sys.executable, "-c", "x = [bytes(200000) for i in range(1000)]"],
                  ["-e", "malloc"])
    result = run([PENUMBRA, "report", r.file])
    expect(b"live" in result.stdout, f"all of it: {result.stdout}")
    result = run([PENUMBRA, "report", "--time", "0..1000", r.file])
    expect(result.returncode == 0 and b"live" not in result.stdout, f"of a part: {result.stdout}")
    part = r.json(["--time", "0..1000"])
    expect(part["duration_ns"] == r.report["duration_ns"],
           f"{part['duration_ns']} of {r.report['duration_ns']}")
    expect(b'"heap"' in run([PENUMBRA, "report", "--json", r.file]).stdout
           and '"heap"' not in json.dumps(part), "heap")
    for command in (["report"], ["export", "-f", "folded"]):
        result = run([PENUMBRA, *command, "--metric", "live", "--time", "0..1000", r.file])
        expect(result.returncode == 2 and b"--metric live" in result.stderr,
               f"{command}: {result.stderr}")


def check_metrics(r, names, untimed):
    """By each metric columns add up to the whole, and so do the halves of the time."""
    for name in names:
        whole = r.json(["--metric", name, "--timeline"])
        expect(whole["metric"] == name and whole["samples"] > 50, f"{name}: {whole['samples']}")
        check_sums(whole)
        halves = [r.json(["--metric", name, "--time", time_]) for time_ in ("..50%", "50%..")]
        sums = [half["samples"] for half in halves]
        expect(abs(sum(sums) - whole["samples"]) <= 4, f"{name}: {sums} of {whole['samples']}")
        expect({m["name"] for m in halves[0]["metrics"]} == set(names), f"{halves[0]['metrics']}")
    for name in untimed:
        for option in (("--timeline",), ("--time", "0..1")):
            result = run([PENUMBRA, "report", "--metric", name, *option, r.file])
            expect(result.returncode == 2 and b"not when it was live" in result.stderr,
                   f"{name} {option}: {result.stderr}")


ALLOCATES = (sys.executable, "-S", "-c",
             "x = [bytes(200000 + i) for i in range(1000)]\n"
             "for i in range(40): open('/proc/self/exe', 'rb').read()\n"
             "sum(i * i for i in range(2000000))")


def metrics():
    """Each trigger of a recording has times, those in the program's own calls and those that
    interrupt it."""
    r = Recording(ALLOCATES, ["-e", "malloc=64k", "-e", "read=4k"], report=())
    check_metrics(r, ["allocated", "read"], ["live", "peak"])
    r = Recording(ALLOCATES, ["-e", "cpu", "-F", "997", "-e", "malloc=64k", "-e", "read=4k"],
                  report=())
    check_metrics(r, ["cpu", "allocated", "read"], ["live", "peak"])
    result = run([PENUMBRA, "record", "-q", "-e", "page-faults", "-o", os.devnull, "--", "true"])
    if result.returncode == 0:
        r = Recording(ALLOCATES, ["-e", "cpu", "-F", "997", "-e", "page-faults=16", "-e",
                                  "malloc=64k"], report=())
        check_metrics(r, ["cpu", "page-faults", "allocated"], ["live", "peak"])


def exported():
    r = record("order")
    t = r.report["timeline"]
    beta = function(r.report, "beta")
    first, last = (middle(beta, share) * t["width_ns"] / 1e9 for share in (0.2, 0.8))
    result = run([PENUMBRA, "export", "--quick", "-f", "folded", "--time",
                  f"{first:.6f}..{last:.6f}", r.file])
    expect(result.returncode == 0, result.stderr.decode())
    lines = [line.rsplit(" ", 1) for line in result.stdout.decode().splitlines()]
    whole = sum(int(count) for _, count in lines)
    expect(sum(int(count) for stack, count in lines if "beta" in stack) > 0.95 * whole > 100,
           f"{lines}")


def text():
    """Rows of blocks, or plain ASCII where the terminal is not of UTF-8."""
    r = record("order")
    for locale, levels, edge in (("C.UTF-8", " \u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588",
                                  "\u2502"),
                                 ("C", " .:-=+*%#", "|")):
        result = run([PENUMBRA, "report", "--timeline", "--no-inline", r.file],
                     env={**os.environ, "LC_ALL": locale})
        out = result.stdout.decode()
        expect(result.returncode == 0, result.stderr.decode())
        expect(edge != "|" or out.isascii(), out)
        rows = {line.split()[1]: line for line in out.splitlines() if "%" in line
                and line.rstrip().endswith(edge)}
        centre = {}
        for name in ("alpha", "beta", "gamma_"):
            expect(len(rows[name]) <= 100, f"{len(rows[name])} columns")
            cells = [levels.index(cell) for cell in rows[name][rows[name].index(edge) + 1:-1]]
            expect(sum(cells) > 5, f"{name}: {rows[name]}")
            centre[name] = sum(i * level for i, level in enumerate(cells)) / sum(cells)
        expect(centre["alpha"] < centre["beta"] < centre["gamma_"], f"{centre}")


main({f.__name__: f for f in (order, parts, ends, waits, thread, fork, phases, after, killed, off,
                              refused, metrics, exported, text)})
