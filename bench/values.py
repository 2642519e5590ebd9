"""What observing values costs: Table 2 of Burrows et al., Efficient and Flexible Value Sampling, in its own form.

(a) nothing, call paths, values, values with context, conflicts, conflicts with context; (b) bursts of 4 to
32 instructions at every second trigger; (c) 4 to 64 instructions, so seldom that the average number an interrupt is
always 2."""
import concurrent.futures
import multiprocessing
import os

import overhead
import pairs
import profilers
import store

HZ = 997
OPTIONS = ["native", "null", "penumbra", "values", "values-context", "conflicts", "conflicts-context"]
LENGTHS = [(4, 2), (8, 2), (16, 2), (32, 2)]
SAME = [(4, 2), (8, 4), (16, 8), (32, 16), (64, 32)]
QUICK = [(4, 2), (16, 2), (32, 2), (16, 8), (64, 32)]


def burst_name(length, every):
    return f"values-{length}/{every}"


def parts_of(a):
    """The copies of a round, by what the round is for."""
    bursts = QUICK if a.matrix == "quick" else LENGTHS + SAME[1:]
    return {"options": OPTIONS, "bursts": ["native", "penumbra"] + [burst_name(*b) for b in bursts]}


def copy_of(tools, name):
    """A copy of the program under the profiler, or under values with a length and a share of triggers."""
    extra = {"values": ("values",), "values-context": ("values", "--by-site"),
             "conflicts": ("conflicts",), "conflicts-context": ("conflicts", "--by-site")}
    if "/" in name:
        length, every = name[len("values-"):].split("/")
        extra[name] = ("values", "--length", length, "--every", every)
    if name not in extra:
        return profilers.BY_NAME[name].copy(tools, HZ)
    make = profilers.penumbra("--tool", *extra[name])
    return pairs.Copy(name, make(tools, HZ), True)


def one_round(tools, program, names, core):
    with pairs.Round(tools.hold, program, [copy_of(tools, n) for n in names], core) as one:
        outcomes = one.run()
    return {n: overhead.row_of(o, outcomes["native"], program) for n, o in outcomes.items()}


def kept(a, part, program):
    """Rounds that there are already. Those of the same copies can be put beside each other, others not."""
    if a.fresh:
        return []
    rounds = store.load("values").get(part, {}).get(program.name, {}).get("rounds", [])
    return [r for r in rounds if list(r) == parts_of(a)[part]]


def save(a, part, program, rounds, say):
    data = store.load("values")
    data.setdefault(part, {})[program.name] = {"program": program.name, **store.when_and_what(a), "rounds": rounds}
    store.save("values", data)
    say(f"{program.name}, {part}")
    say(overhead.summary(rounds))


def run(a, say):
    """In the quick form one round of each part, side by side, each on a core of its own."""
    quick = a.matrix == "quick"
    cores = {"options": a.core, "bursts": (a.core + 1) % os.cpu_count() if quick else a.core}
    # A round waits for all children of its process, so each has a process.
    context = multiprocessing.get_context("fork")
    with concurrent.futures.ProcessPoolExecutor(len(set(cores.values())), mp_context=context) as pool:
        for program in a.programs:
            for _ in range(a.rounds_asked or (1 if quick else a.rounds)):
                rounds = {part: pool.submit(one_round, a.tools, program, names, cores[part])
                          for part, names in parts_of(a).items()}
                for part, one in rounds.items():
                    save(a, part, program, kept(a, part, program) + [one.result()], say)
