"""Many threads: 1 to 4,096 that mostly sleep, and 10,000 short ones a second (bench/threads.c), in simultaneous pairs."""
import os
import statistics

import pairs
import profilers
import store
import suite
import tables

COUNTS = (1, 64, 1024, 4096)
SLEEP_MS = 4000
SHORT, SHORT_A_SECOND = 30000, 10000
HZ = 997
NAMES = ["native", "null", "empty", "penumbra", "perf-fp"]
TITLES = {"native": "native", "null": "null check", "empty": "empty handler", "penumbra": "penumbra", "perf-fp": "perf -g"}


def programs(a):
    binary = a.tools.file("bench/bench-threads")
    found = [(f"sleep {n}", n, [binary, "sleep", str(n), str(SLEEP_MS)]) for n in COUNTS]
    return found + [("short", SHORT, [binary, "short", str(SHORT), str(SHORT_A_SECOND)])]


def names_for(name):
    """The empty handler's events stay open as long as the process: short threads would use all descriptors up."""
    return [n for n in NAMES if n != "empty" or name != "short"]


def told(one, copy):
    """CPU time until all threads had begun, and resident memory, as the program says."""
    texts = []
    for name in ("stdout", "stderr", "log"):
        with open(os.path.join(one.folder, copy, name), errors="replace") as f:
            texts.append(f.read())
    try:
        start, _, resident = map(int, texts[0].split())
    except ValueError:
        raise pairs.RoundError(f"{one.program.name} under {copy} failed: {' '.join(texts)[-600:]}") from None
    return start, resident


def one_round(a, name, argv):
    program = suite.Program(name, "", argv, volatile=r"[^\n]+")  # times
    copies = [profilers.BY_NAME[n].copy(a.tools, HZ) for n in names_for(name)]
    found = {}
    with pairs.Round(a.tools.hold, program, copies, a.core) as one:
        outcomes = one.run()
        for n, o in outcomes.items():
            start, resident = told(one, n)
            found[n] = {"own_us": o.own_us, "total_us": o.total_us, "start_us": start, "resident_kb": resident,
                        "profiler_kb": o.profiler_kb, "spool_bytes": o.spool_bytes}
            harm = pairs.harm(outcomes["native"], o, program)
            if harm:
                found[n]["harm"] = harm
        report = profilers.penumbra_totals(a.tools, os.path.join(one.folder, "penumbra/out/penumbra.pnb"))
    share = report["overhead"]["percent_of_cpu"]
    found["penumbra"] |= {"stated": share * report["cpu_ns"] / 1000 / outcomes["native"].own_us, "threads": len(report["threads"]),
                          "samples": report["samples"], "coverage": report["coverage"]["percent"]}
    found["load_average"] = round(os.getloadavg()[0], 1)
    return found


def of(rounds, name, key):
    return statistics.median(r[name][key] for r in rounds)


def cost_us(rounds, name, count):
    """CPU time of the program above the native copy's, in microseconds a thread."""
    return statistics.median((r[name]["own_us"] - r["native"]["own_us"]) / count for r in rounds)


def summary(rounds, count):
    texts = [f"native {of(rounds, 'native', 'own_us') / count:.1f} us a thread"]
    texts += [f"{n} +{cost_us(rounds, n, count):.1f} us, {of(rounds, n, 'resident_kb'):.0f} kB" for n in NAMES[1:] if n in rounds[-1]]
    return "; ".join(texts) + f"; stated {of(rounds, 'penumbra', 'stated'):.1f}%" + "".join(
        f"; HARM {n}: {rounds[-1][n]['harm']}" for n in NAMES if "harm" in rounds[-1].get(n, {}))


def run(a, say):
    for name, count, argv in programs(a):
        rounds = [] if a.fresh else store.load("threads").get(name, {}).get("rounds", [])
        for _ in range(a.rounds):
            rounds.append(one_round(a, name, argv))
            data = store.load("threads")
            data[name] = {"name": name, "count": count, **store.when_and_what(a), "rounds": rounds}
            store.save("threads", data)
        say(f"{name}, {len(rounds)} rounds: {summary(rounds, count)}")


def memory_rows(sleeps):
    rows = []
    one = next(e for e in sleeps if e["count"] == 1)["rounds"]
    for e in sleeps:
        rounds, count = e["rounds"], e["count"]
        row = [f"{count:,}"]
        for n in NAMES:
            more = of(rounds, n, "resident_kb") - of(one, n, "resident_kb")
            row.append(f"{of(rounds, n, 'resident_kb'):,.0f}" if count == 1 else f"{more / (count - 1):.1f} a thread")
        rows.append(row + [f"{of(rounds, 'penumbra', 'spool_bytes') / 1024:,.0f}",
                           f"{of(rounds, 'penumbra', 'profiler_kb'):,.0f}", f"{of(rounds, 'perf-fp', 'profiler_kb'):,.0f}"])
    return rows


def cost_rows(entries, key):
    rows = []
    for e in entries:
        rounds, count = e["rounds"], e["count"]
        row = [e["name"], str(len(rounds)), f"{of(rounds, 'native', key) / count:.1f}"]
        row += [f"{statistics.median((r[n][key] - r['native'][key]) / count for r in rounds):+.1f}" if n in rounds[-1] else ""
                for n in NAMES[1:]]
        rows.append(row)
    return rows


def tables_run(a, say):
    data = store.load("threads")
    if not data:
        return
    sleeps = [e for e in data.values() if e["name"] != "short"]
    loads = [r["load_average"] for e in data.values() for r in e["rounds"]]
    titles = [TITLES[n] for n in NAMES]
    text = tables.head_lines("Many threads", ["bench/run.py threads"], data.values())
    text += (f"\nSimultaneous copies at {HZ} Hz which share a core, the medians of rounds. The load average, these copies "
             f"among it, was {min(loads):.0f} at the least."
             "\n\n## Memory\n\nThreads that sleep "
             "a second, work some microseconds, and sleep again. Resident memory of the program when all have begun, in kB: of one "
             "thread, and what each further one adds. *spool*: storage of the file that the program shares with its collector, "
             "whose pages are in the program's resident memory as far as it has touched them. The last two: peak memory of the "
             "profilers' own processes. All in kB.\n\n")
    text += tables.table(["threads", *titles, "spool", "collector", "perf's process"], memory_rows(sleeps))
    text += "\n## Start\n\nCPU time until all threads have begun, in microseconds a thread; for the profilers, what it is above native.\n\n"
    text += tables.table(["program", "rounds", *titles], cost_rows(sleeps, "start_us"))
    text += (f"\n## Whole run\n\nCPU time of the program in microseconds a thread; for the profilers, what it is above native. `sleep`: "
             f"{SLEEP_MS / 1000:.0f} s, some {SLEEP_MS // 1000} wake-ups of each thread. `short`: {SHORT:,} threads, "
             f"{SHORT_A_SECOND:,} a second, that do some microseconds' work and end. (The empty handler "
             "leaves a descriptor open for each thread, and so cannot be measured with them.)\n\n")
    text += tables.table(["program", "rounds", *titles], cost_rows(data.values(), "own_us"))
    text += "\n## Stated cost\n\nIn percent of the native copy's CPU time.\n\n"
    rows = []
    for e in data.values():
        r = e["rounds"]
        rows.append([e["name"], f"{of(r, 'penumbra', 'stated'):.2f}",
                     f"{statistics.median(100 * (x['penumbra']['own_us'] / x['native']['own_us'] - 1) for x in r):.2f}",
                     f"{statistics.median(100 * (x['null']['own_us'] / x['native']['own_us'] - 1) for x in r):.2f}",
                     f"{of(r, 'penumbra', 'coverage'):.0f}"])
    text += tables.table(["program", "stated, %", "measured, %", "null, %", "CPU time covered, %"], rows)
    note = tables.note("threads.md")
    tables.write("threads.md", text + ("\n" + note if note else ""))
    say("wrote docs/results/threads.md")
