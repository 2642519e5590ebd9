"""Several tools in one recording: each gives what it gives alone, and all agree with `blocks`."""
import json
import os
import sys

sys.path.insert(0, os.environ["HARNESS"])
from harness import PENUMBRA, Recording, expect, main, run, target  # noqa: E402

KNOWN, STRIDES = target("paths_known"), target("paths_strides")
# Each tool's part of the report.
PARTS = {"blocks": ("blocks",), "count": ("classes", "blocks"), "edges": ("edges", "blocks"),
         "calls": ("functions",),
         "paths": ("paths", "path_totals", "blocks"), "streams": ("streams", "blocks"),
         "waste": ("waste",), "results": ("hotlists", "blocks")}
ALL = ",".join(PARTS)
# Its own program's, where what others do depends on random numbers of the kernel's (canaries,
# pointer guards).


def without(row, leaves_out):
    return {key: value for key, value in row.items() if not leaves_out(key)}


def own_waste(table, own):
    """Accesses of the program's own code, and pairs of those, without what only a set has: call paths; and without
    what had no room in a table of pairs, which is another's in each run."""
    pairs = [p for p in table["pairs"] if p["access"]["image"] == p["with"]["image"] == own]
    return [without(a, lambda key: key.startswith("other_")) for a in table["accesses"]
            if a["image"] == own] + \
           [without(p, lambda key: key == "call_paths") for p in pairs]


def record(command, tools, options=("--exact",)):
    """At the same addresses each time."""
    return Recording(command, [*options, "--tool", tools], around=("setarch", "-R"))


def parts(recording, tool):
    """Rows as a set: those of equal counts have no order."""
    report = run([PENUMBRA, "report", "--json", "--limit", "0", recording.file])
    expect(report.returncode == 0, report)
    found, of = json.loads(report.stdout), {}
    found["hotlists"] = found.get("instructions") # a number where there are none
    own = os.path.basename(recording.command[0])
    for part in PARTS[tool]:
        value = found.get(part, found.get("engine", {}).get(part))
        if part == "hotlists":
            # gcc takes back what it has reserved by a pop of what nobody has written.
            value = [v for v in value if v["image"] == own and v["p"] == 1
                     and not v["asm"].startswith("pop ")]
        if part == "waste":
            value = own_waste(value, own)
        expect(value, f"{tool} has no {part}")
        of[part] = {json.dumps(v, sort_keys=True)
                    for v in value} if isinstance(value, list) else value
    return of


def alone_and_together(command, sets, tools=tuple(PARTS)):
    alone = {}
    for tool in tools:
        recording = record(command, tool)
        recording.command = command
        alone[tool] = parts(recording, tool)
    for tools in sets:
        recording = record(command, tools)
        recording.command = command
        for tool in tools.split(","):
            got = parts(recording, tool)
            for part, value in alone[tool].items():
                other = got[part]
                if value != other and isinstance(value, set):
                    expect(False, f"{tools}: {part} of {tool}: without {list(value - other)[:3]}, with {list(other - value)[:3]}")
                expect(value == other, f"{tools}: {part} of {tool}: {other}, not {value}")


def exact():
    alone_and_together([KNOWN, "diamond", "20000"],
                       ["blocks,results", "paths,streams", "edges,results", "calls,edges",
                        "blocks,count,paths", ALL])
    alone_and_together([STRIDES, "1000"],
                       ["streams,paths,results", "streams,edges", "waste,blocks", ALL])


def instructions():
    """They are counted once, whoever does."""
    def executed(tools):
        report = record([KNOWN, "diamond", "2000"], tools).report
        return report["samples"] if "edges" in tools else report["instructions"]
    counts = {tools: executed(tools) for tools in
              ("blocks", "waste", "edges,waste", "blocks,waste", "paths,waste", "calls,waste")}
    expect(len(set(counts.values())) == 1 and counts["blocks"] > 10000, counts)


def threads():
    """Sums over threads, of which each has its own counters, ring and tables."""
    tools = ("blocks", "paths", "edges")
    first, second = (record([KNOWN, "threads", "2000"], t) for t in ("paths", ",".join(tools)))
    rounds = [max(b["count"] for b in r.report["blocks"] if b["function"].startswith("diamond"))
              for r in (first, second)]
    expect(rounds[0] == rounds[1], rounds)
    hot = [[(p["blocks"], p["count"]) for p in r.report["paths"][:2]] for r in (first, second)]
    expect(hot[0] == hot[1], hot)


def forks():
    """A child's tables are its own."""
    first, second = (record([KNOWN, "forks", "2000"], t)
                     for t in ("paths", "blocks,paths,streams,results"))
    hot = [[(p["blocks"], p["count"]) for p in r.report["paths"][:2]] for r in (first, second)]
    expect(hot[0] == hot[1], hot)


def values():
    """A module beside tools that count."""
    command = [KNOWN, "diamond", "2000"]
    alone = record(command, "paths").report
    both = record(command, "values,paths,edges").report
    expect(both["path_totals"] == alone["path_totals"], (both["path_totals"], alone["path_totals"]))
    expect(both["values"]["instructions"] > 0 and both["tool"] == "edges,paths,values",
           both["tool"])
    listed = {o["kind"]: (o["tool"], o["how"]) for o in both["observations"]}
    expect(listed == {"code": ("edges,paths,values", "exact"), "paths": ("paths", "exact"),
                      "values": ("values", "exact")}, listed)
    seen = max(i["observed"] for i in both["instructions"] if i["image"] == os.path.basename(KNOWN))
    expect(1990 <= seen <= 2000, seen)


def agree(report):
    """All that was executed is in a path or cut; each access is executed as often as its block."""
    executed = sum(p["count"] * p["instructions"] for p in report["paths"])
    totals = report["path_totals"]
    expect(executed + totals["dropped_instructions"] +
           totals["cut_instructions"] == report["instructions"] ==
           sum(b["count"] * b["instructions"] for b in report["blocks"]),
           (executed, totals, report["instructions"]))


def accesses_agree(report):
    def executions(image, offset):
        return sum(b["count"] for b in report["blocks"] if b["image"] == image and
                   int(b["offset"], 16) <= offset < int(b["offset"], 16) + b["bytes"])
    # Its own, or those of libc's where a lone shadow has met nothing else.
    own = [s for s in report["streams"] if s["image"] == os.path.basename(STRIDES)]
    seen = own if len(own) >= 3 else report["streams"][:3]
    expect(len(seen) == 3 or seen is own, report["streams"])
    for s in seen:
        offset = int(s["offset"], 16)
        expect(s["count"] == executions(s["image"], offset),
               f"{s}, executed {executions(s['image'], offset)}")


def bursts():
    options = ("--carrier", "burst", "--length", "5000", "-F", "997")
    report = record([KNOWN, "diamond", "100000000"], "blocks,paths", options).report
    agree(report)
    expect({o["how"] for o in report["observations"]} == {"sampled"}, report["observations"])
    accesses_agree(record([STRIDES, "10000000"], "blocks,streams", options).report)


def shadows():
    """What is observed, by whichever tool, is the same sample."""
    for command, tools, check in (([KNOWN, "diamond", "300000000"], "blocks,paths", agree),
                                  ([STRIDES, "10000000"], "blocks,streams,results",
                                   accesses_agree)):
        for rest in ("100", "1000", "5000", "20000"):
            options = ("--carrier", "shadow", "--load", "0.5", "--sample-size", "1M", "-F", "997")
            report = record([*command, rest], tools, options).report
            # What a shadow that the program's end has ended had not handed on yet is in its blocks
            # only.
            if report["shadows"]["completed"] == report["shadows"]["started"] > 0:
                check(report)
                break
        else:
            expect(False, f"{tools}: never were all shadows complete: {report['shadows']}")


def merged():
    """Recordings of the same set are merged, of another one they are kept apart."""
    one, two = record([KNOWN, "diamond", "2000"],
                      "paths,blocks"), record([KNOWN, "diamond", "4000"], "blocks,paths")
    other = record([KNOWN, "diamond", "2000"], "blocks")
    out = os.path.join(one.folder.name, "merged.pnb")
    result = run([PENUMBRA, "merge", "-o", out, one.file, two.file])
    expect(result.returncode == 0, result)
    total = json.loads(run([PENUMBRA, "report", "--json", "--quick", out]).stdout)
    for key in ("executions", "instructions"):
        expect(total["path_totals"][key] == one.report["path_totals"][key] +
               two.report["path_totals"][key], total["path_totals"])
    expect(total["tool"] == "blocks,paths", total["tool"])
    result = run([PENUMBRA, "merge", "-o", out, one.file, other.file])
    expect(result.returncode == 0 and b"kept apart: exact:blocks,paths" in result.stderr, result)
    for tools, alone in (("blocks", other), ("blocks,paths", one)):
        part = json.loads(run([PENUMBRA, "report", "--json", "--quick", "--observation",
                               f"exact:{tools}", out]).stdout)
        expect(part["tool"] == tools, part["tool"])
        expect(part["instructions"] == alone.report["instructions"], part["instructions"])


def refused():
    """What one recording cannot hold is named."""
    def message(tools, *options):
        result = run([PENUMBRA, "record", *options, "--tool", tools, "-o", "/dev/null", "--",
                      "true"])
        expect(result.returncode == 2, result)
        return result.stderr.decode()
    for tools, options, names in (
            ("values,latency", ("--exact",), ("values", "latency")),
            ("results,values", ("--exact",), ("results", "values")),
            ("values,blocks", (), ("values", "blocks", "bursts")),
            ("blocks,calls", ("--carrier", "burst"), ("calls", "whole run")),
            ("stacks,blocks", ("--exact",), ("stacks", "handler")),
            ("blocks,pahts", ("--exact",), ("pahts", "paths"))):
        got = message(tools, *options)
        expect(all(n in got for n in names), f"{tools}: {got}")


main({f.__name__: f for f in (exact, instructions, threads, forks, values, bursts, shadows, merged,
                              refused)})
