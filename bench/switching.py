"""Ping-pong: two threads that hand over to each other, by pipe, futex, condition variable or epoll, under each profiler.

Copies take turns. Beside each other on one core they would be switched to each other at each hand-over, and pay for each other's
profilers. Turns are short, and each is compared with the native one of the same round."""
import os
import shutil
import statistics

import overhead
import pairs
import profilers
import store
from suite import Program

HAND_OVERS = {"pipe": 250000, "futex": 250000, "condition": 200000, "epoll": 200000}
ROUNDS = 5


def record(hz, *options):
    return profilers.penumbra(*options), hz


WAYS = {
    "native": (profilers.native, 0),
    "null": (profilers.native, 0),
    "penumbra-97": record(97),
    "penumbra-997": record(997),
    "penumbra-10000": record(10000),
    "penumbra-budget": record(997, "--budget", "1%"),
    "perf": (profilers.perf("-g"), 997),
    "gperftools": (profilers.gperftools, 997),
    "ctimer": (profilers.empty("ctimer"), 997),
    "event": (profilers.empty("trap"), 997),
}
TITLES = {"native": "native, us", "null": "null check", "penumbra-97": "penumbra, 97 Hz", "penumbra-997": "penumbra, 997 Hz",
          "penumbra-10000": "penumbra, 10 kHz", "penumbra-budget": "penumbra, `--budget 1%`", "perf": "perf -g, 997 Hz",
          "gperftools": "gperftools", "ctimer": "timer a thread", "event": "event a thread"}


def one_turn(a, program, way):
    make, hz = WAYS[way]
    with pairs.Round(a.tools.hold, program, [pairs.Copy(way, make(a.tools, hz))], a.core) as one:
        outcome = one.run()[way]
        row = {"own_us": outcome.own_us, "status": outcome.status, "output": outcome.output}
        if way.startswith("penumbra"):
            report = profilers.penumbra_totals(a.tools, f"{one.folder}/{way}/out/penumbra.pnb")
            share = report["overhead"]["percent_of_cpu"]
            row |= {"stated": 100 * share / (100 - share), "samples": report["samples"]}
    return row


def percent(rounds, way):
    return overhead.percent(rounds, way)


def summary(rounds, count):
    native = statistics.median(r["native"]["own_us"] for r in rounds) / count
    texts = [f"{way} {statistics.median(percent(rounds, way)):.1f}%" for way in WAYS if way != "native" and way in rounds[-1]]
    return f"native {native:.2f} us; " + ", ".join(texts)


def run(a, say):
    binary = a.tools.file("bench/bench-switching")
    ways = [w for w in WAYS if w != "gperftools" or os.path.exists(profilers.GPERFTOOLS)]
    ways = [w for w in ways if w != "perf" or shutil.which("perf")]
    for kind, count in HAND_OVERS.items():
        program = Program(kind, "", [binary, kind, str(count)])
        rounds = [] if a.fresh else store.load("switching").get(kind, {}).get("rounds", [])
        for _ in range(a.rounds_asked or ROUNDS):
            one = {way: one_turn(a, program, way) for way in ways}
            if one["native"]["status"]:
                raise pairs.RoundError(f"{kind}: the native copy exited with wait status {one['native']['status']}")
            for way, row in one.items():
                if (row["status"], row["output"]) != (one["native"]["status"], one["native"]["output"]):
                    row["harm"] = f"status {row['status']}" if row["status"] else "other output"
            rounds.append(one)
            data = store.load("switching")
            data[kind] = {"kind": kind, "count": count, **store.when_and_what(a), "rounds": rounds}
            store.save("switching", data)
        say(f"{kind}, {len(rounds)} rounds: {summary(rounds, count)}")
