"""Shadows: how near their profiles come, what they cost, what they cover. Figures 3 to 7 of Moseley et al., Shadow
Profiling (CGO 2007).

A cell is a tool with a sample size and a load, or a budget. In a round of it a native copy and one under shadows
share a core; shadows go where they like. What each process used is told by the kernel (accounts.py): the program's
time is without its shadows'. What was measured with the same revision is not measured again."""
import collections
import json
import os
import statistics
import subprocess

import accounts
import machine
import pairs
import profilers
import references
import store

SIZES = ("1M", "10M", "100M")
LOADS = (0.0625, 0.125, 0.25, 0.5, 1.0, 2.0)
BUDGET = "1%"
ALONE = "1% alone"  # no native copy: nobody shares the program's core
MATRICES = {
    "quick": {"paths": [("100M", 0.25), BUDGET, ALONE], "results": [BUDGET, ALONE]},
    "diagonal": {"paths": [("1M", 0.0625), ("10M", 0.25), ("100M", 0.25), ("100M", 1.0), ("10M", 2.0), BUDGET, ALONE],
                 "results": [("10M", 0.25), ("100M", 0.25), BUDGET, ALONE]},
    "full": {tool: [(s, load) for s in SIZES for load in LOADS] + [BUDGET, ALONE] for tool in ("paths", "results")},
}
BUDGET_ROUNDS = 3  # a difference of 1% needs more of them
SECONDS_A_ROUND = 13


class Cell(collections.namedtuple("Cell", "tool what")):
    def name(self):
        return self.what if isinstance(self.what, str) else f"{self.what[0]}@{self.what[1]:g}"

    def options(self):
        if isinstance(self.what, str):
            return ["--budget", BUDGET.rstrip("%")]
        return ["--sample-size", self.what[0], "--load", str(self.what[1])]

    def rounds(self, a):
        return a.rounds_asked or (BUDGET_ROUNDS if self.what == BUDGET else 1)

    def key(self, program):
        return f"{program.name}/{self.tool}/{self.name()}"


def cells_of(a):
    if a.sizes or a.loads:
        chosen = [(s, load) for s in (a.sizes or SIZES) for load in (a.loads or LOADS)]
        return [Cell(tool, what) for tool in a.reference_tools for what in chosen]
    matrix = MATRICES[a.matrix]
    return [Cell(tool, what) for tool in a.reference_tools for what in matrix.get(tool, [])]


class ShadowRound(pairs.Round):
    """A round in which the held program is the collector's own child."""
    results = False

    def run(self):
        machine.back_memory()
        with accounts.Listener() as listener:
            self.tasks = listener.finish
            return super().run()

    def pid_of(self, copy):
        with open(f"{self.folder_of(copy)}/ready") as f:
            return int(f.read())

    def read_result(self, copy, outcome):
        pid, tasks = self.pid_of(copy), self.tasks()
        cpu_ns, faults = accounts.used_by(tasks, pid)
        if not cpu_ns:
            raise pairs.RoundError(f"{self.program.name} under {copy.name} was not seen to end: {self.said(copy)}")
        collector = next(p for p, (c, _) in self.processes.items() if c is copy)
        outcome.user_us = round(cpu_ns / 1000)
        outcome.extra = {"faults": faults,
                         "shadow_us": round(accounts.shadows_of(tasks, pid, collector) / 1000) if pid != collector else 0}
        outcome.output = pairs.digest_of(self.program, self.folder_of(copy))


def record(a, cell):
    return lambda hold, out: [a.tools.penumbra, "record", "-q", "--carrier", "shadow", *references.TOOLS[cell.tool],
                              *cell.options(), "-o", f"{out}/penumbra.pnb", "--", *hold()]


def compared(a, reference, profile, tool):
    """The metrics of `penumbra compare`; None: nothing was observed."""
    by = {"paths": "acyclic", "results": "instruction"}[tool]
    done = subprocess.run([a.tools.penumbra, "compare", "--json", "--by", by, reference, profile],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else None


def instructions_of(a, reference):
    """Of the whole program, exactly."""
    report = profilers.penumbra_totals(a.tools, reference)
    return report.get("instructions") or None


def observed_row(a, cell, program, profile, references_of):
    report = profilers.penumbra_totals(a.tools, profile)
    s = report["shadows"]
    row = {k: s[k] for k in ("started", "completed", "instructions", "fork_us", "cow_faults")}
    row["ended"] = {k: v for k, v in s["ended"].items() if v}
    row["declined"] = {k: v for k, v in s["declined"].items() if v}
    cost = s["cost"]
    row["fork_ns"], row["coverage_estimated"] = cost["fork_ns"], s["coverage"]
    row |= {"passed": s["passed"], "run_ns": cost["shadow_run_ns"], "passed_ns": cost["shadow_passed_ns"]}
    if cost["window_budget_ns"]:
        row["worst_window"] = 100 * cost["worst_window_ns"] / cost["window_budget_ns"]
    total = references_of["instructions"]
    row["coverage"] = s["instructions"] / total if total else None
    found = compared(a, references_of[cell.tool], profile, cell.tool)
    if found:
        row["weight_match"], row["diff_top"], row["overlap"] = (found[k] for k in ("weight_match", "diff_top", "overlap"))
    return row


def one_round(a, cell, program, references_of):
    copies = [pairs.Copy("native", lambda hold, out: hold())] if cell.what != ALONE else []
    copies.append(pairs.Copy("shadow", record(a, cell)))
    with ShadowRound(a.tools.hold, program, copies, a.core) as one:
        outcomes = one.run()
        profile = os.path.join(one.folder_of(copies[-1]), "out", "penumbra.pnb")
        row = observed_row(a, cell, program, profile, references_of)
    native, mine = outcomes.get("native"), outcomes["shadow"]
    row |= {"own_us": mine.own_us, "faults": mine.extra["faults"], "shadow_us": mine.extra["shadow_us"], "revision": a.revision,
            "load_average": round(os.getloadavg()[0], 1)}
    if native:
        row |= {"native_us": native.own_us, "native_faults": native.extra["faults"]}
    harm = pairs.harm(native, mine, program) if native else None
    return row | ({"harm": harm} if harm else {})


def slowdown(row):
    """In percent; None: there was no native copy."""
    return 100 * (row["own_us"] / row["native_us"] - 1) if "native_us" in row else None


def line(row):
    match = f"match {row['weight_match']:.1f}%" if row.get("weight_match") is not None else ""
    if row.get("diff_top") is not None:
        match = f"diff-top {row['diff_top']:.2f}%"
    share = row["coverage"] if row["coverage"] is not None else row["coverage_estimated"]
    slower = slowdown(row)
    return (("alone            " if slower is None else f"slowdown {slower:6.2f}%") + f"  coverage {100 * share:6.3f}%  {match:14} {row['completed']} of "
            f"{row['started']} completed" + (f"  HARM: {row['harm']}" if "harm" in row else ""))


def references_for(a, program, tools, say):
    """The profiles to compare with, by tool, and the program's instructions, None if they were not counted."""
    found = {}
    for tool in tools:
        found[tool] = references.need(a, program, tool, say)
    counted = found.get("paths") or references.find(program, "paths")
    found["instructions"] = instructions_of(a, counted) if counted else None
    return found


def kept(a, cell, program):
    """The rounds of this revision that there are already."""
    entry = {} if a.fresh else store.load("shadows").get(cell.key(program), {})
    return [r for r in entry.get("rounds", []) if r["revision"] == a.revision]


def measure(a, cell, program, references_of, say):
    rounds = [] if a.fresh else kept(a, cell, program)
    while len(rounds) < cell.rounds(a):
        rounds.append(one_round(a, cell, program, references_of))
        say(f"{program.name:12}{cell.tool:7}{cell.name():>10}  {line(rounds[-1])}")
        data = store.load("shadows")
        data[cell.key(program)] = {"program": program.name, "tool": cell.tool, "cell": cell.name(),
                                   **store.when_and_what(a), "rounds": rounds}
        store.save("shadows", data)


def run(a, say):
    cells = cells_of(a)
    missing = sum(max(0, c.rounds(a) - len(kept(a, c, p))) for c in cells for p in a.programs)
    say(f"{missing} rounds to be measured, about {missing * SECONDS_A_ROUND / 60:.0f} minutes on a machine that does "
        "nothing else")
    for program in a.programs:
        left = [c for c in cells if a.fresh or len(kept(a, c, program)) < c.rounds(a)]
        references_of = references_for(a, program, sorted({c.tool for c in left}), say) if left else {}
        for cell in left:
            measure(a, cell, program, references_of, say)


def median_of(rounds, value):
    """The median of what `value` makes of each round, None where it is None in all."""
    found = [v for v in map(value, rounds) if v is not None]
    return statistics.median(found) if found else None
