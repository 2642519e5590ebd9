"""How true `penumbra diff` is (docs/diff.md): pairs of recordings of one program, in which nothing changed; and a
function that is 2% slower, which has to be found.

Calibration records a program again and again, one after the other, as people do. A pair is two neighbours. The
slower program and the other one run at the same time on one core, so that the machine is the same for both."""
import json
import os
import subprocess
import sys
import tempfile
import time

import store
import tables

PYTHON = """
import json, re
words = [f"word{i * 7919 % 10007}" for i in range(20000)]
for _ in range(ROUNDS):
    counts = {}
    for w in sorted(words):
        counts[w] = counts.get(w, 0) + len(re.sub("[02468]", "", w))
    json.loads(json.dumps(counts))
    sorted(counts.items(), key=lambda x: -x[1])
"""
SECONDS = 10
PAIRS, TRIES = 24, 10
FAST = "9973"
NORMALIZATIONS = ("total", "none")


def work(a, name="bench-diff"):
    return a.tools.file(f"bench/{name}")


def record(a, file, rate, command, core=None):
    pin = ["taskset", "-c", str(core)] if core is not None else []
    return subprocess.Popen([*pin, a.tools.penumbra, "record", "-q", *rate, "-o", file, "--", *command],
                            stdout=subprocess.DEVNULL)


def recorded(*processes):
    if any([p.wait() for p in processes]):
        raise RuntimeError("a recording failed")


def rounds_for(command, seconds):
    """As many as take so long."""
    for n in (50, 500, 5000, 50000):
        begun = os.times()
        subprocess.run(command(n), check=True, stdout=subprocess.DEVNULL)
        ended = os.times()
        took = ended.children_user + ended.children_system - begun.children_user - begun.children_system
        if took > 0.5:
            break
    return max(1, round(n * seconds / took))


def differences(a, before, after, normalize):
    out = subprocess.run([a.tools.penumbra, "diff", "--json", "--normalize", normalize, before, after], check=True,
                         stdout=subprocess.PIPE).stdout
    sys.setrecursionlimit(10000)
    return json.loads(out)


def significant(diff):
    """By list and weight: (rows compared, rows called significant)."""
    return {f"{rows} {weight}": (sum(r[weight]["q"] is not None for r in diff[rows]),
                                 sum(r[weight]["significant"] for r in diff[rows]))
            for rows in ("functions", "contexts") for weight in ("self", "total")}


def calibrate(a, say, name, command, rate, seconds):
    count = rounds_for(command, seconds)
    kept = {n: [] for n in NORMALIZATIONS}
    with tempfile.TemporaryDirectory(prefix="penumbra-bench-") as folder:
        before = None
        for i in range((a.rounds_asked or PAIRS) + 1):
            after = os.path.join(folder, f"{i}.pnb")
            recorded(record(a, after, rate, command(count)))
            for n in NORMALIZATIONS if before else ():
                kept[n].append(significant(differences(a, before, after, n)))
            if before:
                os.unlink(before)
            before = after
        samples = sum(r["samples"] for r in differences(a, before, before, "total")["before"])
    for n in NORMALIZATIONS:
        entry = {"program": name, "normalize": n, "rate": " ".join(rate) or "default", "samples": samples,
                 "pairs": kept[n], **store.when_and_what(a)}
        data = store.load("diff")
        data[f"calibration/{name}/{n}"] = entry
        store.save("diff", data)
        say(f"{name}, --normalize {n}: " + ", ".join(f"{k} {wrong} of {all_}" for k, (all_, wrong) in sums(kept[n]).items()))


def sums(pairs):
    return {k: tuple(sum(p[k][i] for p in pairs) for i in (0, 1)) for k in (pairs[0] if pairs else ())}


def plant(a, say, slower):
    """Tries in which the function was called significant, and slower; and those in which any other was."""
    count = rounds_for(lambda n: [work(a), str(n)], SECONDS)
    found, changes, others = 0, [], 0
    tries = min(a.rounds_asked or TRIES, TRIES)
    with tempfile.TemporaryDirectory(prefix="penumbra-bench-") as folder:
        files = [os.path.join(folder, f"{i}.pnb") for i in range(2)]
        for _ in range(tries):
            programs = (work(a), work(a, "bench-diff-slower" if slower else "bench-diff"))
            recorded(*[record(a, f, ["-F", FAST], [p, str(count)], a.core) for f, p in zip(files, programs)])
            diff = differences(a, *files, "none")
            rows = {r["name"]: r["self"] for r in diff["functions"]}
            row = rows.pop("planted")
            found += row["significant"] and row["difference"] > 0
            others += sum(r["significant"] for r in rows.values())
            changes.append(100 * row["difference"] / row["before"])
            samples = round(row["samples"][0])
            say(f"{'planted' if slower else 'null'}: {changes[-1]:+.2f}%{' *' if row['significant'] else ''}")
            data = store.load("diff")
            data[f"planted/{2 if slower else 0}"] = {"tries": len(changes), "found": found, "others": others, "changes": changes,
                                                     "samples": samples, **store.when_and_what(a)}
            store.save("diff", data)


def run(a, say):
    begun = time.time()
    calibrate(a, say, "bench-diff", lambda n: [work(a), str(n)], [], 4)
    calibrate(a, say, "python3", lambda n: [sys.executable, "-c", PYTHON.replace("ROUNDS", str(n))], [], 4)
    plant(a, say, True)
    plant(a, say, False)
    tables_run(a, say)
    say(f"took {(time.time() - begun) / 60:.0f} minutes")


def planted_text(data):
    rows = []
    for key, name in (("planted/2", "2% slower"), ("planted/0", "the same program")):
        if key in data:
            e = data[key]
            rows.append([name, f"{e['found']} of {e['tries']}", f"{min(e['changes']):+.2f}%..{max(e['changes']):+.2f}%",
                         str(e["others"]), f"{e['samples']:,}"])
    if not rows:
        return ""
    return (f"\n## A function that is 2% slower\n\nIt has 60% of the time. Both programs ran at the same time on one core, each "
            f"for some {SECONDS} s of CPU time, recorded with `-F {FAST}`; `--normalize none`. One recording a side.\n\n"
            + tables.table(["", "called slower", "change", "other functions called changed", "its samples"], rows))


def tables_run(a, say):
    data = store.load("diff")
    if not data:
        return
    text = tables.head_lines("What `penumbra diff` calls a change", ["bench/run.py diff"], data.values())
    text += ("\n## Where nothing changed\n\nNeighbours of a row of recordings of one program, made one after the other: of the "
             "rows that were compared, how many were called significant.\n\n")
    rows = []
    for key, entry in sorted(data.items()):
        if not key.startswith("calibration/"):
            continue
        cells = [f"{wrong} of {of} ({100 * wrong / max(1, of):.1f}%)" for of, wrong in sums(entry["pairs"]).values()]
        rows.append([entry["program"], entry["normalize"], str(len(entry["pairs"])), f"{entry['samples']:,}", *cells])
    text += tables.table(["program", "normalized by", "pairs", "samples of one", "functions, own", "functions, all", "contexts, own",
                          "contexts, all"], rows)
    text += planted_text(data)
    text += "\n" + tables.note("diff.md")
    tables.write("diff.md", text.rstrip("\n") + "\n")
    say("wrote docs/results/diff.md")
