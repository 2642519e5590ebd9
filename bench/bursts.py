"""What bursts of values cost a program beside what they take by their own account: docs/values.md, "How often".

Copies of one round: plain call paths and values, both at 4 kHz, where what is looked for is larger than what two native copies
differ by; the report's own `cost` of both is the account. And at the default rate, with as many bursts as are allowed."""
import os
import statistics

import overhead
import pairs
import profilers
import store
import tables

EVERY = ("--tool", "values", "--every", "1")
WAYS = {"plain": (4000, ()), "near": (4000, (*EVERY, "--skip", "0", "--length", "1")), "all": (4000, EVERY),
        "default-plain": (997, ()), "default": (997, ("--tool", "values"))}
TITLES = {"near": "4,000 Hz, `--every 1 --skip 0 --length 1`", "all": "4,000 Hz, `--every 1`", "default": "997 Hz, the default"}
PLAIN = {"near": "plain", "all": "plain", "default": "default-plain"}
PROGRAMS = ["cc1", "sqlite3"]


def account(a, folder):
    """(nanoseconds that the runtime says it took, bursts) of a recording."""
    report = profilers.penumbra_totals(a.tools, os.path.join(folder, "penumbra.pnb"))
    return report["overhead"]["handler_ns"], (report.get("engine") or {}).get("bursts", 0)


def one_round(a, program):
    copies = [profilers.BY_NAME[n].copy(a.tools, 0) for n in ("native", "null")]
    copies += [pairs.Copy(n, profilers.penumbra(*options)(a.tools, hz), True) for n, (hz, options) in WAYS.items()]
    with pairs.Round(a.tools.hold, program, copies, a.core) as one:
        outcomes = one.run()
        said = {n: account(a, os.path.join(one.folder, n, "out")) for n in WAYS}
    rows = {n: overhead.row_of(o, outcomes["native"], program) for n, o in outcomes.items()}
    for n, (ns, bursts) in said.items():
        rows[n].update(account_ns=ns, bursts=bursts)
    return {**rows, "load": os.getloadavg()[0]}


def figures(one, way):
    """(bursts, what they take in ns by the account, what they cost in ns) of a round."""
    row, plain = one[way], one[PLAIN[way]]
    return row["bursts"], row["account_ns"] - plain["account_ns"], 1000 * (row["own_us"] - plain["own_us"])


def means(rounds, way):
    return [statistics.mean(column) for column in zip(*(figures(r, way) for r in rounds))]


def points(rounds, ns):
    return 100 * ns / 1000 / statistics.mean(r["native"]["own_us"] for r in rounds)


def summary(rounds):
    found = [(way, *means(rounds, way)) for way in TITLES]
    return "; ".join(f"{way}: {bursts:.0f} bursts, {points(rounds, took):.2f}% by the account, {points(rounds, cost):.2f}% in truth"
                     for way, bursts, took, cost in found)


def run(a, say):
    data = store.load("bursts")
    for program in a.programs:
        if not a.only and program.name not in PROGRAMS:
            continue
        rounds = [] if a.fresh else data.get(program.name, {}).get("rounds", [])
        for _ in range(a.rounds):
            rounds.append(one_round(a, program))
            data[program.name] = {"program": program.name, **store.when_and_what(a), "rounds": rounds}
            store.save("bursts", data)
        say(f"{program.name}: {summary(rounds)}")


def rows_of(name, rounds):
    null = statistics.mean(abs(r["null"]["own_us"] - r["native"]["own_us"]) * 1000 for r in rounds)
    rows = []
    for way, title in TITLES.items():
        bursts, took, cost = means(rounds, way)
        each = [cost_ns / number / 1000 if number else None for cost_ns, number in ((took, bursts), (cost, bursts))]
        rows.append([f"{name}, {title}", str(len(rounds)), f"{bursts:,.0f}", tables.shown(points(rounds, took), 2),
                     tables.shown(points(rounds, cost), 2), *(tables.shown(e, 1) for e in each),
                     tables.shown(points(rounds, null), 2)])
    return rows


def tables_run(a, say):
    data = store.load("bursts")
    if not data:
        return
    loads = [r["load"] for e in data.values() for r in e["rounds"]]
    text = tables.head_lines("What a burst costs behind its end", ["bench/run.py bursts"], data.values())
    text += ("\nMeans of rounds in which all copies share a core. *account*: what the runtime says that it took, less what it says "
             "under plain call paths at the same rate; it ends just before the `rt_sigreturn` that ends a burst. *true*: CPU time of "
             "the program, less that under plain call paths. Percent of the native copy's CPU time, and microseconds a burst; the last "
             f"column is by how much two native copies differed. The load was {min(loads):.0f} to {max(loads):.0f} on "
             f"{os.cpu_count()} processors. What is done about the difference: \"How often\" in [values.md](../values.md).\n\n")
    text += tables.table(["program", "rounds", "bursts", "account, %", "true, %", "account, us", "true, us", "null, %"],
                         [row for e in data.values() for row in rows_of(e["program"], e["rounds"])])
    tables.write("bursts.md", text)
    say("wrote docs/results/bursts.md")
