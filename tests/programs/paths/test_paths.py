"""The tool paths: programs whose paths are known by construction. Counts are exact."""
import os
import sys

sys.path.insert(0, os.environ["HARNESS"])
from harness import Recording, expect, main, run, target  # noqa: E402

KNOWN = target("paths_known")


def labels(binary=KNOWN):
    """Offset to name of the labels that blocks begin at; of several names, the first."""
    names = {}
    for line in run(["nm", binary]).stdout.decode().splitlines():
        parts = line.split()
        if len(parts) == 3 and parts[1] in "tT":
            names.setdefault(int(parts[0], 16), parts[2])
    return names


def record(mode, n, options=("--exact",)):
    return Recording([KNOWN, mode, str(n)], [*options, "--tool", "paths"])


def paths_of(recording):
    """Count and instructions of each path that has blocks at labels only, by their names."""
    names, found = labels(), {}
    image = os.path.basename(KNOWN) + "+"
    for path in recording.report["paths"]:
        blocks = [b[len(image):] if b.startswith(image) else None for b in path["blocks"]]
        if all(b and int(b, 16) in names for b in blocks):
            found[" ".join(names[int(b, 16)] for b in blocks)] = (path["count"],
                                                                  path["instructions"])
    return found


def blocks_of(recording):
    names = labels()
    return {names[int(b["offset"], 16)]: b["count"] for b in recording.report["blocks"]
            if b["image"] == os.path.basename(KNOWN) and int(b["offset"], 16) in names}


def is_counted(recording, expected):
    found = paths_of(recording)
    for path, what in expected.items():
        expect(found.get(path) == what, f"{path}: {found.get(path)}, not {what}; of {found}")


def sums_agree(recording):
    """What is executed is in a path, dropped or cut."""
    report = recording.report
    totals = report["path_totals"]
    kept = sum(p["count"] for p in report["paths"])
    executed = sum(p["count"] * p["instructions"] for p in report["paths"])
    expect(totals["executions"] == kept + totals["dropped"], f"{totals}, kept {kept}")
    expect(report["instructions"] == executed + totals["dropped_instructions"] +
           totals["cut_instructions"] == totals["instructions"],
           f"{report['instructions']}, {totals}")


ODD, EVEN = "diamond_head diamond_odd diamond_join", "diamond_head diamond_even"


def diamonds(rounds, times=1):
    """The first round begins in its caller's path, and the last goes on into it."""
    return {ODD: (times * (rounds // 2 - 1), 6), EVEN: (times * (rounds // 2 - 1), 5)}


def diamond():
    recording = record("diamond", 20000)
    is_counted(recording, diamonds(20000))
    sums_agree(recording)
    blocks = blocks_of(recording)
    expect(blocks["diamond_head"] == 19999 and blocks["diamond_even"] == 10000 and
           blocks["diamond_odd"] == blocks["diamond_join"] == 10000 and blocks["diamond_end"] == 1,
           blocks)
    hot = recording.report["paths"][0]
    expect(hot["functions"] == ["diamond_head", "diamond_odd", "diamond_join"], hot["functions"])
    for text in ("diamond_head > diamond_odd > diamond_join", "paths     "):
        out = run([os.environ["PENUMBRA"], "report", "--paths", "--verbose",
                   recording.file]).stdout.decode()
        expect(text in out, f"{text} is not in the report: {out:.2000}")


def calls():
    """Calls and returns do not end a path, wherever they lead."""
    is_counted(record("calling", 1000), {"calling_head called calling_back": (998, 5)})
    recording = record("pointing", 3000)
    is_counted(recording, {
        "pointing_head first pointing_back pointing_same": (999, 10),
        "pointing_head second pointing_back pointing_same": (1000, 10),
        "pointing_head third pointing_back pointing_again": (999, 11)})
    sums_agree(recording)


def jumps():
    """Through a table: the jump to the lower address ends its path, the others do not."""
    recording = record("jumping", 3000)
    is_counted(recording, {
        "jumping_head": (999, 3),
        "below jumping_join jumping_same": (1000, 7),
        "jumping_head above jumping_join jumping_same": (1000, 10),
        "jumping_head further jumping_again": (999, 10)})
    sums_agree(recording)


def recursion():
    """No backward jump: paths of 64 branches. Each level goes down in two blocks, and up in one."""
    recording = record("deep", 5000)
    sums_agree(recording)
    blocks = blocks_of(recording)
    expect(blocks["deep_more"] == blocks["deep_back"] == 5000 and blocks["deep_bottom"] == 1,
           blocks)
    found = paths_of(recording)
    down = [p for p in found if p.startswith(("deep ", "deep_more ")) and "deep_b" not in p]
    longest = [p for p in found if len(p.split()) == 64]
    expect(down and longest and max(len(p.split()) for p in found) == 64, found)
    expect(sum(found[p][0] for p in down) in (5000 * 2 // 64 - 1, 5000 * 2 // 64), found)


def threads():
    is_counted(record("threads", 2000), diamonds(2000, 4))


def forks():
    recording = record("forks", 2000)
    is_counted(recording, diamonds(2000, 2))
    sums_agree(recording)


def signals():
    is_counted(record("signals", 50), diamonds(100, 50))


def killed():
    """SIGKILL loses nothing that was executed before the last system call."""
    recording = record("killed", 2000)
    expect(recording.native.returncode == -9, recording.native.returncode)
    is_counted(recording, diamonds(2000))


def many():
    """Cold paths are dropped, and what was executed of them is counted."""
    rounds, hot_rounds = 500000, 10000000
    recording = Recording([target("paths_many"), str(rounds)], ["--exact", "--tool", "paths"],
                          report=["--limit", "10"])
    report, totals = recording.report, recording.report["path_totals"]
    expect(totals["dropped_paths"] > 0 and totals["paths"] < rounds, totals)
    expect(rounds + hot_rounds <= totals["executions"] <= rounds + hot_rounds + 10000, totals)
    expect(report["instructions"] == totals["instructions"], totals)
    expect(len(report["paths"]) == 10, len(report["paths"]))
    hot = max(p["count"] for p in report["paths"])
    expect(hot > hot_rounds / 10, f"the hot path was lost: {hot}")


def room():
    """As long as no path has to be dropped for being cold none is: a whole run waits for the
    collector."""
    rounds = 150000
    recording = Recording([target("paths_many"), str(rounds)], ["--exact", "--tool", "paths"],
                          report=["--limit", "10"])
    totals = recording.report["path_totals"]
    expect(totals["dropped_paths"] == 0 and totals["paths"] >= rounds, totals)


def bursts():
    """Sampled: the hot paths are found, cut ones counted apart, nothing else than what there is."""
    perfect = record("diamond", 20000)
    sampled = record("diamond", 100000000,
                     ("--carrier", "burst", "--length", "5000..20000", "-F", "1000"))
    sums_agree(sampled)
    found, totals = paths_of(sampled), sampled.report["path_totals"]
    expect(found[ODD][0] > 0 and found[EVEN][0] > 0 and found[ODD][1] == 6, found)
    # Of two that alternate, a burst has at most one more of either.
    expect(abs(found[ODD][0] - found[EVEN][0]) <= sampled.report["engine"]["bursts"], found)
    expect(totals["cut"] > 0, totals)
    out = run([os.environ["PENUMBRA"], "compare", perfect.file, sampled.file])
    expect(out.returncode == 0 and b"acyclic paths" in out.stdout, out)


def merged():
    one, two = record("diamond", 20000), record("diamond", 4000)
    file = os.path.join(one.folder.name, "both.pnb")
    result = run([os.environ["PENUMBRA"], "merge", "-o", file, one.file, two.file])
    expect(result.returncode == 0, result)
    one.file = file
    one.report = one.json(())
    is_counted(one, {ODD: (9999 + 1999, 6), EVEN: (9999 + 1999, 5)})
    sums_agree(one)


def streams():
    """Loads and stores of known strides. The first round is in another block: a stream of its own."""
    rounds, binary = 5000, target("paths_strides")
    recording = Recording([binary, str(rounds)], ["--exact", "--tool", "streams"])
    names = labels(binary)
    found = {names[int(s["offset"], 16)]: s for s in recording.report["streams"]
             if s["image"] == os.path.basename(binary) and int(s["offset"], 16) in names}
    for name, kind, size, stride, span in (("upwards", "load", 8, 24, 24 * (rounds - 2)),
                                           ("downwards", "store", 4, -8, 8 * (rounds - 2)),
                                           ("again", "update", 8, 0, 0)):
        s = found[name]
        expect((s["kind"], s["bytes"], s["count"], s["span"]) == (kind, size, rounds, span), s)
        expect(s["strides"] == [{"stride": stride, "count": rounds - 2}], s)
        expect(s["runs"] == 1 and s["others"] == 0, s)
    expect(found["again"]["same_line"] == rounds - 2, found["again"])
    out = run([os.environ["PENUMBRA"], "report", "--streams", recording.file]).stdout.decode()
    expect("+24 100%" in out and "-8 100%" in out, f"{out:.3000}")


def empty():
    """The documents have their keys also where nothing was observed."""
    for tool in ("paths", "streams"):
        recording = Recording(["true"], ["--carrier", "shadow", "--tool", tool, "-F", "1"])
        expect(recording.report[tool] == [], recording.report.keys())


main({f.__name__: f for f in (diamond, calls, jumps, recursion, threads, forks, signals, killed,
                              many, room,
                              bursts, merged, streams, empty)})
