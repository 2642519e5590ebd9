"""What profiles say that they cost, beside what they do: the account of plain sampling, of values and of shadows under a budget.

All copies of a round share a core. The kernel tells what each program has used, without its shadows (accounts.py). The profile's
account is what `report --json` has as `overhead.percent_of_cpu`, here in percent of the native copies' time."""
import os
import statistics

import inputs
import pairs
import profilers
import shadows
import store
import suite
import tables

WAYS = {"plain": (), "fast": ("-F", "997"), "values": ("--tool", "values"),
        "shadow": ("--carrier", "shadow", "--tool", "values", "--budget", "1%"),
        "budget": ("--budget", "1%"), "wall": ("-e", "wall"), "malloc": ("-e", "malloc"), "faults": ("-e", "page-faults"),
        "attach": ("-p",)}
TITLES = {"plain": "plain sampling", "fast": "`-F 997`", "values": "`--tool values`", "shadow": "shadows, `--budget 1%`",
          "budget": "`--budget 1%`", "wall": "`-e wall`", "malloc": "`-e malloc`", "faults": "`-e page-faults`", "attach": "attached (`-p`)"}
ATTACH = """hold=$1 ready=$2 penumbra=$3 profile=$4; shift 4
"$@" & p=$!
until [ -s "$ready" ] && ! [ /proc/$p/exe -ef "$hold" ]; do sleep 0.01; done
"$penumbra" record -q -p $p -o "$profile"
wait $p
"""
QUICK = ["xz", "gzip", "bzip2", "perl", "python3", "sqlite3", "cc1"]
LEAST, MOST = 0.8, 1.25
DEEP, DEEP_ROUNDS, PROCESSES = 200_000, 500_000, 1500
NAMES = ["deep", "processes"]


def own_programs(a):
    loop = f"i=0; while [ $i -lt {PROCESSES} ]; do /bin/true; i=$((i + 1)); done"
    return [suite.Program("deep", "", [a.tools.file("bench/bench-depth"), str(DEEP), str(DEEP_ROUNDS)]),
            suite.Program("processes", "", ["/bin/sh", "-c", loop])]


def files_of(program):
    """The made inputs that it needs."""
    return [word for word in (*program.argv, program.stdin) if word.startswith(inputs.INPUTS)]


def programs_of(a):
    chosen = [p for p in suite.SUITE if p.name in (a.only_stated or QUICK) and os.path.exists(p.binary)]
    if not a.only_stated:
        chosen += [p for p in suite.SUITE if p not in chosen and os.path.exists(p.binary) and files_of(p)
                   and all(map(os.path.exists, files_of(p)))]
    make_inputs(chosen)
    return chosen + [p for p in own_programs(a) if not a.only_stated or p.name in a.only_stated]


def make_inputs(programs):
    missing = {f for p in programs for f in files_of(p) if not os.path.exists(f)}
    os.makedirs(inputs.INPUTS, exist_ok=True)
    for names, maker in inputs.INPUT_MAKERS:
        if missing & {inputs.path(n) for n in names}:
            maker()


def record(a, options):
    """A program must have left the helper that holds it before it is attached to: what executes another is lost sight of."""
    if options == WAYS["attach"]:
        return lambda hold, out: ["/bin/sh", "-c", ATTACH, "sh", a.tools.hold, f"{out}/../ready", a.tools.penumbra,
                                  f"{out}/penumbra.pnb", *hold()]
    return lambda hold, out: [a.tools.penumbra, "record", "-q", *options, "-o", f"{out}/penumbra.pnb", "--", *hold()]


def account_of(a, profile, native_us):
    report = profilers.penumbra_head(a.tools, profile)
    overhead = report["overhead"]
    share = overhead["percent_of_cpu"]
    return {"stated": None if share is None else share * report["cpu_ns"] / 1000 / native_us, "samples": report["samples"],
             **{key: overhead[key] for key in ("handler_ns", "deliveries", "delivery_ns", "switches", "processes_ns")}}


def shadows_of(a, profile):
    """What they have cost, by part."""
    s = profilers.penumbra_totals(a.tools, profile)["shadows"]
    return {"started": s["started"], "cow_faults": s["cow_faults"], **{k: s["cost"][k] for k in ("fork_ns", "program_ns", "huge_ns")}}


def kind_of(a, program):
    """Of a round: process numbers come round where many processes end, so that parents do not tell which are the
    program's. wait4 tells, but has shadows among them."""
    many = program.name == "processes"
    ways = [way for way in a.ways or WAYS if not (many and way in ("shadow", "attach"))]
    return pairs.Round if many else shadows.ShadowRound, ways


def one_round(a, program):
    kind, ways = kind_of(a, program)
    copies = [pairs.Copy(name, lambda hold, out: hold()) for name in ("native", "null")]
    copies += [pairs.Copy(way, record(a, WAYS[way])) for way in ways]
    with kind(a.tools.hold, program, copies, a.core) as one:
        outcomes = one.run()
        found = {}
        for name, o in outcomes.items():
            found[name] = {"own_us": o.own_us, **(o.extra or {})}
            if name in ways:
                native_us = (outcomes["native"].own_us + outcomes["null"].own_us) / 2
                found[name] |= account_of(a, os.path.join(one.folder, name, "out/penumbra.pnb"), native_us)
            if name == "shadow":
                found[name] |= shadows_of(a, os.path.join(one.folder, name, "out/penumbra.pnb"))
            harm = pairs.harm(outcomes["native"], o, program)
            if harm:
                found[name]["harm"] = harm
    found["load_average"] = round(os.getloadavg()[0], 1)
    return found


def ways_in(rounds):
    return [way for way in WAYS if any(way in r for r in rounds)]


def having(rounds, way):
    return [r for r in rounds if way in r]


def measured(rounds, way):
    """In percent of the native copies of each round, of which there are two: their mean."""
    return [100 * (r[way]["own_us"] * 2 / (r["native"]["own_us"] + r["null"]["own_us"]) - 1) for r in rounds]


def apart(rounds):
    """How far two native copies are apart, on the mean, in percent."""
    return statistics.mean(abs(100 * (r["null"]["own_us"] / r["native"]["own_us"] - 1)) for r in rounds)


def noise(rounds, all_rounds=()):
    """How far the median of the rounds is off by chance, in percent: by their own null check, or that of all programs, which a
    few rounds may miss by luck."""
    return max(apart(rounds), apart(all_rounds) if all_rounds else 0) / len(rounds) ** 0.5


def rounds_of(data):
    return [r for e in data.values() for r in e["rounds"]]


def verdict(stated, cost, off):
    """(stated over measured, what that says)."""
    if stated is None:
        return None, "not stated"
    least, most = cost - off, cost + off
    ratio = stated / cost if cost > 0 else None
    if most > 0 and stated / most > MOST or least > 0 and stated / least < LEAST:
        return ratio, "outside"
    if least > 0 and stated / least <= MOST and stated / most >= LEAST:
        return ratio, "inside"
    return ratio, "uncertain"


def judged(rounds, way, all_rounds=()):
    rounds = having(rounds, way)
    said = [r[way]["stated"] for r in rounds if r[way]["stated"] is not None]
    stated = statistics.median(said) if said else None
    cost = statistics.median(measured(rounds, way))
    return stated, cost, *verdict(stated, cost, noise(rounds, all_rounds))


def summary(rounds):
    out = [f"null {noise(rounds):.2f}%"]
    for way in ways_in(rounds):
        stated, cost, ratio, word = judged(rounds, way)
        out.append(f"{way} stated {tables.shown(stated, 2)}%, measured {cost:.2f}%, {tables.shown(ratio, 2)} {word}")
    last = rounds[-1]
    return "; ".join(out) + "".join(f"; HARM {w}: {last[w]['harm']}" for w in ways_in([last]) if "harm" in last[w])


def run(a, say):
    for program in programs_of(a):
        rounds = [] if a.fresh else store.load("stated").get(program.name, {}).get("rounds", [])
        for _ in range(a.rounds if kind_of(a, program)[1] else 0):
            rounds.append(one_round(a, program))
            data = store.load("stated")
            data[program.name] = {"program": program.name, **store.when_and_what(a), "rounds": rounds}
            store.save("stated", data)
        if rounds:
            say(f"{program.name}, {len(rounds)} rounds: {summary(rounds)}")


def rows_of(entry, all_rounds):
    rows = []
    for way in ways_in(entry["rounds"]):
        rounds = having(entry["rounds"], way)
        stated, cost, ratio, word = judged(rounds, way, all_rounds)
        values = measured(rounds, way)
        rows.append([f"{entry['program']}, {TITLES[way]}", str(len(rounds)), tables.shown(stated, 2), tables.shown(cost, 2),
                     f"{min(values):.2f} to {max(values):.2f}", tables.shown(noise(rounds, all_rounds), 2),
                     tables.shown(ratio, 2), word])
    return rows


def sentence(data, word):
    cells = [f"{e['program']} ({TITLES[way]})" for e in data.values() for way in ways_in(e["rounds"])
             if judged(e["rounds"], way, rounds_of(data))[3] == word]
    return ", ".join(cells) or "none"


def middle_ratio(data, way):
    """Stated over measured: the median over the suite's programs."""
    found = [judged(e["rounds"], way)[2] for e in data.values()
             if e["program"] not in NAMES and having(e["rounds"], way)]
    return tables.middle([ratio for ratio in found if ratio is not None])


def tables_run(a, say):
    data = store.load("stated")
    if not data:
        return
    loads = [r["load_average"] for e in data.values() for r in e["rounds"]]
    text = tables.head_lines("The stated cost beside the measured one", ["bench/run.py account"], data.values())
    text += ("\nA round is two native copies of a program and one under each way of recording, at the default rate, which share a "
             "core. *stated*: the profile's account, the median of rounds. *measured*: the program's CPU time above the mean of both "
             "native copies. Both are in percent of the native time; shadows' own time, which idle processors spend, is in "
             "neither. *null*: how far the median may be off, the mean difference of the native copies (of the program or of all, "
             "what is larger) over the root of the number of rounds. *inside* is what is between 0.8 and "
             "1.25 and stays there if the measured cost is off by as much; "
             "*outside* is what is outside and stays there; the others are *uncertain*. `deep` works at the end of "
             f"a stack of {DEEP:,} frames, `processes` is a shell that starts {PROCESSES:,} programs one after the other; its "
             "time is what wait4 tells. "
             f"{store.neighbours(loads)}\n\n")
    text += tables.table(["program", "rounds", "stated, %", "measured, %", "range", "null, %", "stated / measured", ""],
                         [row for e in data.values() for row in rows_of(e, rounds_of(data))])
    text += f"\nOutside 0.8 to 1.25: {sentence(data, 'outside')}.\n\nUncertain: {sentence(data, 'uncertain')}.\n"
    text += ("\nStated over measured, the median over the suite's programs: "
             + ", ".join(f"{title} {tables.shown(middle_ratio(data, way), 2)}" for way, title in TITLES.items())
             + ". What a delivery displaces from caches is not seen by any clock of the program: the factors `WHOLE` and "
             "`COLD` of [account.c](../../src/runtime/trigger/account.c) stand for it. The first two of these ratios are what they "
             "are to bring to 1.\n")
    harmed = sorted({f"{e['program']} ({w}: {r[w]['harm']})" for e in data.values() for r in e["rounds"]
                     for w in ways_in([r]) if "harm" in r[w]})
    text += f"\nHarm: {', '.join(harmed) or 'none'}.\n"
    note = tables.note("account.md")
    tables.write("account.md", text + ("\n" + note.rstrip("\n") + "\n" if note else ""))
    say("wrote docs/results/account.md")
