"""Whole runs under the engine: each program must behave as it does natively, to the last byte.

usage: test_exact.py signals|storms|threads|throng|behind|no_maps|rooted|exhausted|code|patched|alone|unread|calls|totals|contexts|ours|from_edges|start|programs
"""
import json
import os
import shutil
import sys
import tempfile

from harness import (PENUMBRA, Failure, Recording, expect, halting_record, main, nodes, run,
                     target)
import programs as suite


def same(command, tool="null", stdin=None):
    return Recording(command, ("--exact", "--tool", tool), stdin)


TOOLS = ("null", "count", "blocks", "edges", "calls")


def signals():
    """Arrival at any instruction, in order; faults, masks, alternate stacks, stepping."""
    for name in ("cleared", "context", "masks", "oddities", "twice", "unstacked"):
        for tool in ("null", "blocks"):
            same([target(name)], tool)
    for tool in (*TOOLS, "paths"):
        same([target("frames")], tool)


def storms():
    """Many signals, whatever code of the engine they interrupt."""
    for tool in TOOLS:
        if tool in ("null", "edges", "calls"):
            same([target("together")], tool)
            same([target("order")], tool)
        r = same([target("storm"), "10000"], tool)
        expect(b"wrong 0" in r.profiled.stdout, r.profiled.stdout.decode())


def threads():
    for name in ("crowd", "family", "barrier"):
        same([target(name)])
    same([target("crowd")], "blocks")
    same([target("family")], "blocks")
    # What the engine needs for each thread leaves the program its address space.
    same(["sh", "-c", f"ulimit -v 2000000; exec {target('crowd')}"], "blocks")


def throng():
    """Storage for many threads at once comes later than they are made: whoever makes them waits,
    and all are observed."""
    for tool in ("edges", "results", "paths", "values"):
        r = same([target("throng")], tool).report
        stopped = [why for why, count in r["stopped"].items() if count]
        expect(not stopped, f"{tool}: the engine stopped: {stopped}")
        expect(len(r["threads"]) == 201, f"{tool}: {len(r['threads'])} threads")


def behind():
    """Storage runs short for longer than it takes to make a thread or to start a program, and what
    was ready is another one's by the time it is used: all wait, and all are observed."""
    programs = "i=0; while [ $i -lt 40 ]; do /bin/true & i=$((i+1)); done; wait"
    with tempfile.TemporaryDirectory() as folder:
        for command, tool, status, expected in (([target("throng")], "results", 3, (1, 201)),
                                                (["sh", "-c", programs], "values", 0, (81, 81))):
            r = halting_record(command, os.path.join(folder, "out.pnb"),
                               ("--exact", "--tool", tool), status, still=0.4)
            stopped = [why for why, count in r["stopped"].items() if count]
            expect(not stopped and not any(r["dropped"].values()),
                   f"{tool}: the engine stopped: {stopped}, {r['dropped']}")
            seen = len(r["processes"]), len(r["threads"])
            expect(seen == expected, f"{tool}: {seen} observed")


def no_maps():
    """Where there is no /proc nobody knows what may be executed: natively, instead of one
    instruction at a time."""
    command = ["unshare", "-m", "sh", "-c", f"mount -t tmpfs none /proc && exec {target('crowd')}"]
    if run(command).returncode != run([target("crowd")]).returncode:
        print("SKIP: nothing can be mounted here")
        sys.exit(77)
    r = same(command).report
    expect(r["stopped"]["no-maps"] == 1, f"{r['stopped']}")


def rooted():
    """A program that leaves /proc behind by a chroot is observed there as before, and not stepped
    through."""
    if os.geteuid() != 0:
        sys.exit(77)
    with tempfile.TemporaryDirectory() as empty:
        for numbers, options in (("2000", ("--exact", "--tool", "blocks")),
                                 ("2000000", ("--carrier", "burst", "--tool", "blocks"))):
            r = Recording([target("rooted"), empty, numbers], options).report
            expect(r["stopped"]["unreadable"] == 0,
                   f"{options}: the engine stopped: {r['stopped']}")
            expect(any(f["name"] == "compare" for f in r["functions"]),
                   f"{options}: nothing was observed inside: {r['functions']}")


def exhausted():
    """A program that has no descriptor left is observed as before, and not stepped through: at the
    worst it goes on natively."""
    for options in (("--exact", "--tool", "blocks"),
                    ("--carrier", "burst", "--tool", "blocks", "-F", "5000")):
        numbers = "2000" if "--exact" in options else "300000"
        for how in ("", "standard", "forked"):
            command = ["sh", "-c", f"ulimit -n 64; exec {target('exhausted')} {numbers} {how}"] if how == "forked" else None
            r = Recording(command or [target("exhausted"), numbers, how], options).report
            expect(r["stopped"]["unreadable"] + r["stopped"]["no-maps"] == 0,
                   f"{options} {how}: the engine stopped: {r['stopped']}")
            expect(any(f["name"] == "compare" for f in r["functions"]),
                   f"{options} {how}: nothing was observed: {r['functions']}")
    r = same([target("exhausted"), "2000", "closed"], "blocks").report
    expect(r["stopped"]["no-maps"] == 1, f"{r['stopped']}")


def code():
    """Code that changes while it runs."""
    same([target("changing")])
    same([target("changing")], "blocks")
    for tool in ("null", "blocks", "edges"):
        same([target("racing")], tool)


def patched():
    """Code that changes over and over is observed to its end, with memory that has a bound."""
    for tool in ("null", "blocks", "edges", "calls", "paths"):
        r = same([target("patches")], tool).report
        expect(sum(r["stopped"].values()) == 0, f"{tool}: {r['stopped']}")
        expect(r["engine"]["code_bytes"] < 64 << 20, f"{tool}: {r['engine']}")
    changed = same([target("patches"), "30000"], "blocks").report
    expect(len(changed["blocks"]) < 5000, f"{len(changed['blocks'])} blocks")


def alone():
    """An instruction that cannot be translated is executed natively, and observation goes on behind
    it; it is named."""
    r = same([target("alone")], "blocks")
    expect(sum(r.report["stopped"].values()) == 0, f"{r.report['stopped']}")
    executed = executed_in(r.report, ("behind",)).get("behind", 0)
    expect(executed > 6 * 1000 * 3, f"{executed} instructions behind them")
    notes = " ".join(r.report["notes"])
    expect("alone+0x" in notes and "ret" in notes and "6 times" in notes, notes)
    # A burst goes on behind it, too.
    r = Recording([target("alone"), "30000"],
                  ("--carrier", "burst", "--tool", "blocks", "-F", "5000"))
    notes = " ".join(r.report["notes"])
    expect(r.report["stopped"]["far-transfer"] == 0, f"{r.report['stopped']}")
    expect("alone+0x" in notes and "natively, alone" in notes, notes)


def unread():
    """Code that may not be read is observed if the processor reads it: it is no harder to
    translate."""
    for options in (("--exact", "--tool", "blocks"), ("--exact", "--tool", "count")):
        r = Recording([target("unread")], options).report
        expect(r["instructions"] > 300 * 3000, f"{options}: {r['instructions']} instructions")


def calls():
    """Calls whose number is known, whatever interrupts them: leaf is called twice a turn."""
    turns = 2000
    r = same([target("storm"), str(turns), "20"], "calls")

    def find(node, name):
        if node["name"] == name:
            yield node
        for child in node["children"]:
            yield from find(child, name)

    got = sum(node["calls"] for name in ("leaf_begin", "leaf")
              for node in find(r.report["tree"], name))
    expect(got == 2 * 20 * turns, f"leaf was called {got} times, not {2 * 20 * turns}")
    # A call through the procedure linkage table is a call of the function, but for the one that
    # looks it up.
    listed = same(["ls", "-l", "/usr/bin"], "calls").report["functions"]
    stubs = {f["name"]: f["calls"] for f in listed if f["name"].endswith("@plt") and f["calls"] > 1}
    expect(not stubs, f"calls of stubs: {stubs}")
    same([target("family")], "calls")


# Do the same work in every run: the addresses of memory, and the environment, are in nobody's way.
STILL = ("setarch", "-R", "env", "-i")
FUNCTIONS = ("fib", "sort", "main")


def executed_in(report, names):
    """Instructions by function, of a tool that counts them."""
    return {f["name"]: f["self"] for f in report["functions"] if f["name"] in names}


def totals():
    """What tools count of the same work agrees with --tool blocks, every time: nothing is lost, or
    it is said."""
    command = [*STILL, target("grows")]
    by_tool = {tool: same(command, tool).report for tool in
               ("blocks", "count", "edges", "paths", "streams", "results", "values", "calls")}
    want = executed_in(by_tool["blocks"], FUNCTIONS)
    expect(len(want) == len(FUNCTIONS) and want["fib"] > 100000, f"{want}")
    for tool in ("count", "edges", "paths", "streams", "results"):
        got = executed_in(by_tool[tool], FUNCTIONS)
        expect(got == want, f"{tool}: {got} instructions, blocks: {want}")
    values = by_tool["values"]
    expect(values["values"]["lost"] == 0, f"{values['values']}")
    seen = [i for i in values["instructions"] if i["function"] in FUNCTIONS
            and i["kind"] == "result"]
    expect(len(seen) > 20, f"{len(seen)} instructions have values")
    for i in seen:
        count = executions(by_tool["blocks"], i["image"], int(i["offset"], 16))
        expect(i["observed"] == count, f"values: {i} {count} times")
    entered = entered_in(by_tool["blocks"], FUNCTIONS)
    expect(called_in(by_tool["calls"], FUNCTIONS) == entered, f"calls, blocks: {entered}")
    # A tree that grows faster than storage is made.
    large = [*STILL, target("grows"), "27"]
    entered = entered_in(same(large, "blocks").report, FUNCTIONS)
    for _ in range(2):
        r = same(large, "calls").report
        calls_of = called_in(r, FUNCTIONS)
        expect(calls_of == entered, f"calls: {calls_of}, blocks: {entered}")
        expect(sum(r["dropped"].values()) == 0, f"{r['dropped']}")


def executions(report, image, offset):
    return sum(b["count"] for b in report["blocks"]
               if b["image"] == image and 0 <= offset - int(b["offset"], 16) < b["bytes"])


def called_in(report, names):
    return {f["name"]: f["calls"] for f in report["functions"] if f["name"] in names}


def entered_in(report, names):
    """Executions of the blocks that functions begin with."""
    begin = {f["name"]: f["offset"] for f in report["functions"] if f["name"] in names}
    return {b["function"]: b["count"] for b in report["blocks"]
            if begin.get(b["function"]) == b["offset"]}


def contexts():
    """The exact tree is as large as was asked for, at most; what is folded keeps its counts, and is
    said."""
    want = entered_in(same([target("grows"), "25"], "blocks").report, FUNCTIONS)
    for options, said in ((("--max-contexts", "1000"), True), (("--max-depth", "8"), True),
                          (("--fold-recursion",), False)):
        r = Recording([target("grows"), "25"], ("--exact", "--tool", "calls", *options))
        got = called_in(r.report, FUNCTIONS)
        expect(got == want, f"{options}: {got}, blocks: {want}")
        count = sum(1 for _ in nodes(r.report["tree"]))
        expect(count < 5000, f"{options}: {count} nodes")
        text = run([PENUMBRA, "report", "--quick", r.file]).stdout.decode()
        folded = any(node["name"] == "[folded]" for node in nodes(r.report["tree"]))
        expect(folded == said and ("folded" in text.split("function")[0]) == said,
               f"{options}: {text}")
    done = run([PENUMBRA, "record", "--max-contexts", "1000", "true"])
    expect(done.returncode != 0 and b"--tool calls" in done.stderr, done.stderr.decode())


def paths_to(tree, name, above=()):
    """Of the nodes with this name: the names from the root on."""
    here = (*above, tree["name"])
    if tree["name"] == name:
        yield here
    for child in tree["children"]:
        yield from paths_to(child, name, here)


def ours():
    """A handler stands below the function that it interrupts; the profiler's own functions are
    nowhere."""
    for more in ((), ("alternate",)):
        tree = same([target("traps"), *more], "calls").report["tree"]
        ways = list(paths_to(tree, "work"))
        expect(ways and all(way[-4:] == ("outer", "trap", "handler", "work") for way in ways),
               f"{ways}")
    for tool in ("calls", "blocks", "edges", "paths", "streams", "results", "count"):
        r = same([target("family")], tool)
        shown = json.dumps([r.report[part]
                            for part in ("tree", "functions", "blocks", "edges", "paths", "streams")
                            if part in r.report])
        expect("libpenumbra" not in shown,
               f"{tool}: {shown[max(0, shown.find('libpenumbra') - 300):][:600]}")
    for options in (("-F", "20000"), ("--carrier", "burst", "--tool", "blocks", "-F", "20000")):
        r = Recording([target("family")], options)
        shown = json.dumps([r.report.get(part) for part in ("tree", "functions", "blocks")])
        expect("libpenumbra" not in shown,
               f"{options}: {shown[max(0, shown.find('libpenumbra') - 300):][:600]}")


def from_edges():
    """Edges of whole runs say how often blocks ran: also where profiles are compared, or written in
    other formats."""
    with tempfile.TemporaryDirectory() as folder:
        files = {tool: os.path.join(folder, tool) for tool in ("blocks", "edges")}
        for tool, file in files.items():
            expect(run([PENUMBRA, "record", "-q", "-o", file, "--exact", "--tool", tool, "--",
                        "setarch", "-R", "env", "-i",
                        "grep", "-c", "a", "/etc/services"]).returncode == 0, tool)
        for by in ("block", "function"):
            done = run([PENUMBRA, "compare", "--json", "--by", by, files["blocks"], files["edges"]])
            expect(done.returncode == 0 and json.loads(done.stdout)["overlap"] > 0.97,
                   f"by {by}: {done}")
        for tool, file in files.items():
            report = json.loads(run([PENUMBRA, "report", "--json", "--quick", file]).stdout)
            lines = run([PENUMBRA, "export", "--quick", "-f", "folded",
                         file]).stdout.decode().splitlines()
            executed = sum(int(line.rsplit(" ", 1)[1]) for line in lines)
            expect(executed == report["samples"] > 100000,
                   f"{tool}: {executed} of {report['samples']} instructions")
            expect(f"events: Ir\nsummary: {executed}\n" in
                   run([PENUMBRA, "export", "--quick", "-f", "callgrind", file]).stdout.decode(),
                   tool)
        run([PENUMBRA, "record", "-q", "-o", file, "--exact", "--tool", "null", "true"])
        expect("what was written is empty" in run([PENUMBRA, "export", "-f", "folded",
                                                   file]).stderr.decode(), "not said")


def start():
    """What a short program waits for besides itself: one profile that reaches the disk, no unwind
    tables, little storage."""
    if not shutil.which("strace"):
        print("no strace")
        return
    with tempfile.TemporaryDirectory() as folder:
        said = os.path.join(folder, "calls")
        # Without -f: the collector, not the program.
        run(["strace", "-qq", "-o", said, "-e", "trace=fsync,fallocate,clone3", PENUMBRA, "record",
             "-q", "-o",
             os.path.join(folder, "p.pnb"), "--exact", "--tool", "null", "--", "true"])
        with open(said, encoding="utf-8") as f:
            calls = [line for line in f if "(" in line]
    count = {name: sum(call.startswith(name) for call in calls)
             for name in ("fsync", "fallocate", "clone3")}
    stored = sum(int(call[call.index("(") + 1:call.index(")")].split(", ")[3])
                 for call in calls if call.startswith("fallocate"))
    expect(count["fsync"] == 1 and count["clone3"] == 0,
           f"more than one file is waited for, or a thread: {calls}")
    expect(0 < stored < 2 << 20, f"{stored} bytes of storage: {calls}")


def programs():
    failures, ran = [], 0
    for program in suite.BRIEF:
        if any(not shutil.which(need) for need in program.needs):
            continue
        ran += 1
        with tempfile.TemporaryDirectory() as folder:
            before = os.getcwd()
            os.chdir(folder)
            try:
                same(program.command, program.tool, program.input())
            except (Failure, OSError) as failure:
                failures.append(f"{program.name}: {failure}")
            finally:
                os.chdir(before)
    print(f"{ran} programs, {len(failures)} differ")
    expect(not failures, "\n".join(failures))


if __name__ == "__main__":
    main({"signals": signals, "storms": storms, "threads": threads, "throng": throng,
          "behind": behind, "no_maps": no_maps, "rooted": rooted, "exhausted": exhausted,
          "code": code, "patched": patched, "alone": alone,
          "unread": unread, "calls": calls, "totals": totals, "contexts": contexts, "ours": ours,
          "from_edges": from_edges, "start": start, "programs": programs})
