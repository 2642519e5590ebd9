"""Where each microsecond of a sample goes: bench/delivery.c, step by step, and whole recordings of its work."""
import json
import os
import statistics
import subprocess
import tempfile

import pairs
import store
import tables

SETS = {0: "none", 1024: "1 MB", 32768: "32 MB"}  # kilobytes that the work walks over
STEPS = {"interrupt": "the timer expires, no signal", "signal": "... and a signal whose handler returns at once",
         "stack": "... on an alternate stack"}
TICK = "tick"
HZ = 4000
WORK_SLICES = 30  # of 20 ms


def said(argv):
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise pairs.RoundError(f"{argv} failed: {done.stderr[-600:]}")
    return done.stdout


def step(a, name, kilobytes, vectors):
    words = said([a.tools.file("bench/bench-delivery"), name, str(kilobytes), *(["vectors"] if vectors else [])]).split()
    return {"ns": float(words[0]), "low": float(words[1]), "high": float(words[2]), "count": int(words[3])}


def recorded(a, kilobytes, rounds):
    """Nanoseconds a sample of a whole recording, and of them what its account says, by turns with native runs."""
    binary = a.tools.file("bench/bench-delivery")
    work = [binary, "none", str(kilobytes), "", str(WORK_SLICES)]
    _, steps = said(work).split()
    costs, stated, handlers = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        profile = os.path.join(folder, "p.pnb")
        for _ in range(rounds):
            native = int(said([*work, steps]).split()[0])
            ns = int(said([a.tools.file("penumbra"), "record", "-q", "-F", str(HZ), "-o", profile, "--", *work, steps]).split()[0])
            report = json.loads(said([a.tools.file("penumbra"), "report", "--json", "--quick", profile]))
            o, count = report["overhead"], report["samples"]
            costs.append((ns - native) / count)
            stated.append(o["percent_of_cpu"] / 100 * report["cpu_ns"] / count)
            handlers.append(o["handler_ns"] / count)
    return {"ns": statistics.median(costs), "low": min(costs), "high": max(costs), "stated": statistics.median(stated),
            "handler": statistics.median(handlers)}


def run(a, say):
    data = {} if a.fresh else store.load("delivery")
    for kilobytes, title in SETS.items():
        found = {name: step(a, name, kilobytes, False) for name in [*STEPS, TICK]}
        found["vectors"] = step(a, "stack", kilobytes, True)
        found["penumbra"] = recorded(a, kilobytes, 3 * a.rounds)
        data[title] = {"name": title, **store.when_and_what(a), "load_average": os.getloadavg()[0], "steps": found}
        store.save("delivery", data)
        say(f"{title}: " + ", ".join(f"{n} {f['ns'] / 1000:.1f} us" for n, f in found.items()))


def cell(found):
    return f"{found['ns'] / 1000:.1f} ({found['low'] / 1000:.1f} to {found['high'] / 1000:.1f})"


def tables_run(a, say):
    data = store.load("delivery")
    if not data:
        return
    titles = {**STEPS, "vectors": "... with vector registers in use",
              "penumbra": "a sample of penumbra"}
    tick = "a timer that the kernel looks at when it ticks, and its signal"
    steps = [e["steps"] for e in data.values()]
    rows = [[text, *(cell(s[name]) for s in steps)] for name, text in titles.items()]
    rows += [[text, *(f"{s['penumbra'][key] / 1000:.1f}" for s in steps)]
             for key, text in (("stated", "what its account says"),
                               ("handler", "of that in the handler"))]
    rows.append([tick, *(cell(s[TICK]) for s in steps)])
    text = tables.head_lines("Where each microsecond of a sample goes", ["bench/run.py delivery"], data.values())
    text += ("\nCPU time of a thread that walks over memory in a random order, above the same work without, for each expiration of "
             "an event on its CPU clock, in microseconds. The steps add up. Each is the median of "
             "60 pairs of 20 ms (and their quartiles) with a period of 250 us; for whole recordings, at "
             f"{HZ:,} Hz, of runs that take turns with native ones (and their range). "
             f"{store.neighbours([e['load_average'] for e in data.values()])}\n\n")
    text += tables.table(["step", *(f"memory: {t}" for t in data)], rows)
    text += "\n" + tables.note("delivery.md").rstrip("\n") + "\n"
    tables.write("delivery.md", text)
    say("wrote docs/results/delivery.md")
