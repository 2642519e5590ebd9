"""Distortion (csprof §4.2): the sum over functions of |P_x(f) - P_ref(f)|, P in percent of the
samples, between a profiler's flat profile and that of `perf record -e cpu-clock` without stacks.

All profilers of a round run at the same moment on the same core, so that they see the same machine.
Samples of all rounds are added up. Two perf recordings of each round give the noise floor: what two
flat profiles of that many samples differ by when nothing differs but chance.

Functions are told apart by the search table of .eh_frame_hdr, not by symbols: the binaries are
stripped. A sample in the kernel counts, in all profilers alike, for the user-mode instruction that
was interrupted or that made the system call; perf is asked for that address with --user-regs=ip.
"""
import os

import addresses
import pairs
import profilers
import store

CHOSEN = ["perf-a", "perf-b", "penumbra", "gperftools"]
RATE = 997  # a round at 10,000 Hz has the samples of ten


def leaves_of(a, name, folder):
    if name == "penumbra":
        return addresses.penumbra_flat(a.tools, os.path.join(folder, "penumbra.pnb"))["leaves"]
    if name == "gperftools":
        return addresses.gperftools_leaves(folder)
    return addresses.perf_leaves(os.path.join(folder, "perf.data"))


def one_round(a, program, names, hz):
    copies = [profilers.BY_NAME[n.removesuffix("-a").removesuffix("-b")].copy(a.tools, hz, n) for n in names]
    with pairs.Round(a.tools.hold, program, copies, a.core) as one:
        one.run()
        return {c.name: addresses.functions(leaves_of(a, c.name, os.path.join(one.folder_of(c), "out")))
                for c in copies}


def distance(p, q):
    """Sum over functions of the difference of shares, in percentage points: 0 to 200."""
    total_p, total_q = sum(p.values()) or 1, sum(q.values()) or 1
    return sum(abs(100 * p.get(f, 0) / total_p - 100 * q.get(f, 0) / total_q) for f in p.keys() | q.keys())


def measures(profiles):
    """What is reported of one program: {name: distance}. A profiler is compared with both perf
    recordings, and the two distances are averaged."""
    a, b = profiles["perf-a"], profiles["perf-b"]
    out = {"perf": distance(a, b)}
    for name in profiles.keys() - {"perf-a", "perf-b"}:
        out[name] = (distance(profiles[name], a) + distance(profiles[name], b)) / 2
    return out


def worst(p, q, count=3):
    """The functions that differ most: [(difference in points, function)]."""
    total_p, total_q = sum(p.values()) or 1, sum(q.values()) or 1
    found = [(100 * p.get(f, 0) / total_p - 100 * q.get(f, 0) / total_q, f) for f in p.keys() | q.keys()]
    return [(round(d, 2), f) for d, f in sorted(found, key=lambda x: -abs(x[0]))[:count]]


def run(a, say):
    names = a.chosen or CHOSEN
    hz = int(a.rates_asked or RATE)
    for program in a.programs:
        old = {} if a.fresh else store.load("distortion").get(program.name, {})
        old = old if old.get("hz") == hz else {}
        profiles, rounds = old.get("profiles", {}), old.get("rounds", 0)
        for _ in range(a.rounds):
            for name, functions in one_round(a, program, names, hz).items():
                into = profiles.setdefault(name, {})
                for function, count in functions.items():
                    into[function] = into.get(function, 0) + count
            rounds += 1
        data = store.load("distortion")
        data[program.name] = {"program": program.name, "hz": hz, **store.when_and_what(a), "rounds": rounds,
                              "profiles": profiles}
        store.save("distortion", data)
        say(f"{program.name:11} {rounds} rounds  " + "  ".join(
            f"{n} {d:.2f}" for n, d in sorted(measures(profiles).items()))
            + f"  samples {[sum(p.values()) for p in profiles.values()]}"
            + (f"  worst {worst(profiles['penumbra'], profiles['perf-a'])}" if "penumbra" in profiles else ""))
