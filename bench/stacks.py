"""What the recorded stacks are worth: the share that reaches main, a thread's start or another known
root; what a sample costs in bytes; how many samples of those due were taken."""
import os

import addresses
import pairs
import profilers
import store

CHOSEN = {997: ["penumbra", "perf-fp", "perf-dwarf", "gperftools"], 10000: ["penumbra", "perf-fp", "perf-dwarf"]}


def read(a, name, folder):
    """(samples, complete, more) from what the profiler left in `folder`."""
    if name == "penumbra":
        flat = addresses.penumbra_flat(a.tools, os.path.join(folder, "penumbra.pnb"))
        more = {k: flat[k] for k in ("taken", "truncated", "nodes", "unattributed", "strays")}
        return flat["complete"] + flat["incomplete"], flat["complete"], more
    if name == "gperftools":
        return addresses.gperftools_stacks(folder) + ({},)
    return addresses.perf_stacks(os.path.join(folder, "perf.data")) + ({},)


def measure(a, program, name, hz):
    copy = profilers.BY_NAME[name].copy(a.tools, hz)
    with pairs.Round(a.tools.hold, program, [copy], a.core) as one:
        outcome = one.run()[name]
        samples, complete, more = read(a, name, os.path.join(one.folder_of(copy), "out"))
    return {"samples": samples, "complete": complete, "bytes": outcome.bytes, "own_us": outcome.own_us,
            "profiler_kb": outcome.profiler_kb, "spool_bytes": outcome.spool_bytes,
            "spool_used": outcome.spool_used, "program_kb": outcome.program_kb, **more}


def run(a, say):
    for hz in map(int, a.rates.split(",")):
        for program in a.programs:
            for name in a.chosen or CHOSEN.get(hz, CHOSEN[997]):
                row = measure(a, program, name, hz)
                data = store.load("stacks")
                data[f"{program.name}@{hz}/{name}"] = {"program": program.name, "hz": hz, "profiler": name,
                                                      **store.when_and_what(a), **row}
                store.save("stacks", data)
                taken = max(1, row.get("taken", row["samples"]))
                due = row["own_us"] * hz / 1e6
                say(f"{program.name:11} {hz:6} Hz {name:11} {taken:7} samples ({100 * taken / due:5.1f}% of those due), "
                    f"complete {100 * row['complete'] / max(1, row['samples']):7.3f}%, "
                    f"{row['bytes'] / taken:8.1f} bytes each"
                    + (f", unattributed {row['unattributed']}" if row.get("unattributed") else "")
                    + (f", strays {row['strays']}" if row.get("strays") else ""))
