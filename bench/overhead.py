"""Overhead: each program's own CPU time under each profiler against a native copy of the same round."""
import dataclasses
import statistics

import pairs
import profilers
import store

# gperftools' timer is bound to the kernel's tick (250 Hz on Debian's kernels), so 10 kHz means
# nothing to it.
CHOSEN = {
    997: ["native", "null", "empty", "penumbra", "perf-fp", "perf-dwarf", "gperftools"],
    10000: ["native", "null", "empty", "penumbra", "perf-fp", "perf-dwarf"],
}


def chosen_for(a, hz):
    names = a.chosen or CHOSEN.get(hz, CHOSEN[997])
    return names if "native" in names else ["native"] + names


def percent(rounds, name, total=False):
    """Overhead of copy `name` in percent, one number a round in which it ran."""
    key = "total_us" if total else "own_us"
    return [100 * (r[name][key] / r["native"]["own_us"] - 1) for r in rounds if name in r]


def row_of(outcome, native, program):
    data = dataclasses.asdict(outcome)
    data["own_us"] = outcome.own_us
    data["harm"] = pairs.harm(native, outcome, program)
    for empty in ("extra", "harm"):
        if not data[empty]:
            del data[empty]
    return data


def one_round(a, program, hz, names):
    copies = [profilers.BY_NAME[n].copy(a.tools, hz) for n in names]
    with pairs.Round(a.tools.hold, program, copies, a.core) as one:
        outcomes = one.run()
    return {n: row_of(o, outcomes["native"], program) for n, o in outcomes.items()}


def summary(rounds):
    out = []
    for name in rounds[-1]:
        if name == "native":
            continue
        values = percent(rounds, name)
        harm = {r[name]["harm"] for r in rounds if name in r and "harm" in r[name]}
        out.append(f"    {name:14}{statistics.median(values):7.2f}% [{min(values):6.2f} .. {max(values):6.2f}]"
                   f"  total {statistics.median(percent(rounds, name, True)):7.2f}%"
                   + ("  HARM: " + ", ".join(sorted(harm)) if harm else ""))
    return "\n".join(out)


def run(a, say):
    for hz in map(int, a.rates.split(",")):
        names = chosen_for(a, hz)
        for program in a.programs:
            data = store.load("overhead")
            key = f"{program.name}@{hz}"
            rounds = [] if a.fresh else data.get(key, {}).get("rounds", [])
            for _ in range(a.rounds):
                rounds.append(one_round(a, program, hz, names))
            data = store.load("overhead")
            data[key] = {"program": program.name, "hz": hz, **store.when_and_what(a), "rounds": rounds}
            store.save("overhead", data)
            say(f"{program.name} at {hz} Hz, {len(rounds)} rounds, "
                f"native {statistics.median(r['native']['own_us'] for r in rounds) / 1e6:.2f} s")
            say(summary(rounds))
