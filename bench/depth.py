"""Overhead by depth of the stack: bench/depth.c at 997 Hz, under penumbra with the trampoline and without,
and under perf."""
import overhead
import pairs
import profilers
import store
import suite

HZ = 997
DEPTHS = (10, 100, 1000, 5000, 10000, 100000)
NAMES = ["native", "null", "empty", "penumbra", "no-trampoline", "perf-fp", "perf-dwarf"]
LOOPS = 180_000  # about a second


def program_of(a, depth):
    return suite.Program(f"depth {depth}", "", [a.tools.file("bench/bench-depth"), str(depth), str(LOOPS)])


def one_round(a, depth):
    program = program_of(a, depth)
    copies = [profilers.BY_NAME[n].copy(a.tools, HZ) for n in NAMES]
    with pairs.Round(a.tools.hold, program, copies, a.core) as one:
        outcomes = one.run()
    return {n: overhead.row_of(o, outcomes["native"], program) for n, o in outcomes.items()}


def run(a, say):
    data = store.load("depth")
    for depth in DEPTHS:
        rounds = [] if a.fresh else data.get(str(depth), {}).get("rounds", [])
        rounds += [one_round(a, depth) for _ in range(a.rounds)]
        data[str(depth)] = {"depth": depth, "hz": HZ, **store.when_and_what(a), "rounds": rounds}
        store.save("depth", data)
        say(f"{depth} frames, native {rounds[-1]['native']['own_us'] / 1e6:.2f} s")
        say(overhead.summary(rounds))
