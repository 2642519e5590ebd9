"""What observing values costs: Table 2 of Burrows et al., Efficient and Flexible Value Sampling, in its own form.

(a) nothing, call paths, values, values with context, conflicts, conflicts with context; (b) bursts of 4 to
32 instructions at every second trigger; (c) 4 to 64 instructions, so seldom that the average number an interrupt is
always 2."""
import overhead
import pairs
import profilers
import store

HZ = 997
OPTIONS = ["native", "null", "penumbra", "values", "values-context", "conflicts", "conflicts-context"]
LENGTHS = [(4, 2), (8, 2), (16, 2), (32, 2)]
SAME = [(4, 2), (8, 4), (16, 8), (32, 16), (64, 32)]


def burst_name(length, every):
    return f"values-{length}/{every}"


def copy_of(a, name):
    """A copy of the program under the profiler, or under values with a length and a share of triggers."""
    extra = {"values": ("values",), "values-context": ("values", "--by-site"),
             "conflicts": ("conflicts",), "conflicts-context": ("conflicts", "--by-site")}
    if "/" in name:
        length, every = name[len("values-"):].split("/")
        extra[name] = ("values", "--length", length, "--every", every)
    if name not in extra:
        return profilers.BY_NAME[name].copy(a.tools, HZ)
    make = profilers.penumbra("--tool", *extra[name])
    return pairs.Copy(name, make(a.tools, HZ), True)


def one_round(a, program, names):
    with pairs.Round(a.tools.hold, program, [copy_of(a, n) for n in names], a.core) as one:
        outcomes = one.run()
    return {n: overhead.row_of(o, outcomes["native"], program) for n, o in outcomes.items()}


def run(a, say):
    parts = {"options": OPTIONS}
    parts["lengths"] = ["native", "penumbra"] + [burst_name(*b) for b in LENGTHS]
    parts["same"] = ["native", "penumbra"] + [burst_name(*b) for b in SAME]
    for program in a.programs:
        for part, names in parts.items():
            data = store.load("values")
            rounds = [] if a.fresh else data.get(part, {}).get(program.name, {}).get("rounds", [])
            rounds += [one_round(a, program, names) for _ in range(a.rounds)]
            data.setdefault(part, {})[program.name] = {"program": program.name, **store.when_and_what(a),
                                                       "rounds": rounds}
            store.save("values", data)
            say(f"{program.name}, {part}")
            say(overhead.summary(rounds))
