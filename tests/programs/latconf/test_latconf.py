"""usage: test_latconf.py TEST: loads and conflicts that are known by construction."""
import os
import re
import sys

sys.path.insert(0, os.environ["HARNESS"])
from harness import PENUMBRA, Recording, expect, main, run, target  # noqa: E402

KINDS = {"order": "order", "size": "size", "synonym": "synonym", "split": "split", "page": "split"}
ROUNDS = {"order": 100_000_000, "size": 15_000_000, "synonym": 40_000_000, "split": 200_000_000,
          "page": 12_000_000}


def symbol(path, name):
    listing = run(["nm", path]).stdout.decode()
    return int(re.search(rf"^([0-9a-f]+) \w {name}$", listing, re.M)[1], 16)


def conflicts_of(recording):
    """(kind, the store's offset, the load's): count; of the program itself."""
    return {(c["kind"], int(c["store"]["offset"], 16), int(c["load"]["offset"], 16)): c["count"]
            for c in recording.report["conflicts"]
            if c["load"]["image"] == "bench-conflicts" and c["store"]["image"] == "bench-conflicts"}


def expect_tables_alone(recording, title):
    """A report of loads or conflicts has no table of values, which nobody asked for."""
    text = run([PENUMBRA, "report", recording.file]).stdout.decode()
    expect(title in text and "worth specializing" not in text, text)


def recorded(kind):
    # Every trigger takes a window: few triggers are enough, however slow the machine.
    rounds = ROUNDS[kind.removesuffix("-apart")]
    return Recording([target("bench-conflicts"), kind, str(rounds)],
                     ["-F", "997", "--tool", "conflicts", "--every", "1"])


def conflicts():
    program = target("bench-conflicts")
    expect_tables_alone(Recording(["true"], ["--exact", "--tool", "conflicts"]), "onflict")
    for kind, reported in KINDS.items():
        found = conflicts_of(recorded(kind))
        pair = (reported, symbol(program, kind + "_store"), symbol(program, kind + "_load"))
        expect(set(found) == {pair}, f"{kind}: expected {pair}, found {found}")


def apart():
    for kind in KINDS:
        found = conflicts_of(recorded(kind + "-apart"))
        expect(not found, f"{kind}-apart: found {found}")


def levels_of(shares):
    """By single level: a share of "L1/L2" counts for both."""
    out = {}
    for names, share in shares.items():
        for name in names.split("/"):
            out[name] = out.get(name, 0) + share
    return out


def chased(size, loads):
    program = target("bench-chase")
    recording = Recording([program, str(size), str(loads), "huge"],
                          ["-F", "997", "--tool", "latency"])
    at = symbol(program, "chase_load")
    expect(recording.report["tool"] == "latency", f"the tool is {recording.report['tool']}")
    for load in recording.report["loads"]:
        if load["image"] == "bench-chase" and int(load["offset"], 16) == at:
            return load
    return None


def latency():
    """The chase's load is observed, and shares add up. Which level it is said to come from depends on the
    machine; the long test (SOAK in the environment) asks for that."""
    expect_tables_alone(Recording(["true"], ["--exact", "--tool", "latency"]), "oads come from")
    load = chased(16 << 10, 400_000_000)
    expect(load and load["observed"] > 0, f"not observed: {load}")
    expect(abs(sum(load["latency"].values()) - 1) < 1e-4, f"shares of {load}")
    if not os.environ.get("SOAK"):
        return
    expect(levels_of(load["latency"]).get("L1", 0) > 0.5, f"16 kB: {load}")
    load = chased(256 << 10, 300_000_000)
    levels = levels_of(load["latency"])
    expect(levels.get("L2", 0) + levels.get("L3", 0) > 0.5, f"256 kB: {load}")
    for size in (256 << 20, 1 << 30):
        load = chased(size, 30_000_000)
        levels = levels_of(load["latency"])
        expect(levels.get("memory", 0) + levels.get("fault", 0) > 0.5, f"{size >> 20} MB: {load}")


if __name__ == "__main__":
    main({"apart": apart, "conflicts": conflicts, "latency": latency})
