"""What it costs to run a whole program under translation: our engine with each of its tools, beside
other translators, against native copies of the same round.

Each set of copies shares rounds of its own: a copy that takes thirty times as long would only share
the core with the others at their beginning."""
import shutil
import statistics

import overhead
import pairs
import store
from pairs import Copy

OURS = ("exact-null", "exact-blocks", "exact-path", "exact-written")
NAMES = OURS + ("valgrind", "qemu")
SETS = [("native", "null", "exact-null", "exact-blocks"), ("native", "exact-path", "exact-written"),
        ("native", "valgrind", "qemu")]


def exact(tools, tool):
    return lambda hold, out: [tools.penumbra, "record", "-q", "--exact", "--tool", tool, "-o",
                              f"{out}/penumbra.pnb", "--"] + hold()


def before(*command):
    return lambda hold, out: hold(before=[shutil.which(command[0]) or command[0], *command[1:]])


def copy(tools, name):
    if name.startswith("exact-"):
        return Copy(name, exact(tools, name.removeprefix("exact-")))
    if name in ("native", "null"):
        return Copy(name, lambda hold, out: hold())
    return Copy(name, before("valgrind", "-q", "--tool=none") if name == "valgrind" else before("qemu-x86_64"))


def one_round(a, program, names):
    with pairs.Round(a.tools.hold, program, [copy(a.tools, n) for n in names], a.core, timeout=3600) as one:
        outcomes = one.run()
    return {n: overhead.row_of(o, outcomes["native"], program) for n, o in outcomes.items()}


def ratios(rounds, name):
    """CPU time of copy `name` over the native copy's, one number a round in which both ran."""
    return [r[name]["own_us"] / r["native"]["own_us"] for r in rounds if name in r]


def say_round(say, program, rows):
    cells = [f"{n} {row['own_us'] / rows['native']['own_us']:.2f}" + (f" HARM: {row['harm']}" if "harm" in row else "")
             for n, row in rows.items() if n != "native"]
    say(f"{program.name:12} native {rows['native']['own_us'] / 1e6:.2f} s   " + "   ".join(cells))


def rounds_of(a, program, names, say):
    fresh = []
    for _ in range(a.rounds):
        rows = one_round(a, program, names)
        say_round(say, program, rows)
        fresh.append(rows)
    return fresh


def run(a, say):
    chosen = [[n for n in names if n == "native" or not a.chosen or n in a.chosen] for names in SETS]
    for program in a.programs:
        for names in (c for c in chosen if len(c) > 1):
            rounds = rounds_of(a, program, names, say)
            data = store.load("translators")
            old = data.get(program.name, {}).get("rounds", [])
            if a.fresh:
                old = [r for r in old if not set(r) & set(names) - {"native"}]
            data[program.name] = {"program": program.name, **store.when_and_what(a), "rounds": old + rounds}
            store.save("translators", data)
