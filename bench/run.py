#!/usr/bin/env python3
"""The benchmarks of penumbra: what it costs, what its stacks are worth, how true its profiles are.

    bench/run.py prepare                       install packages, make inputs, time each program
    bench/run.py overhead [--rounds 3]         CPU time against native copies, beside other profilers
    bench/run.py stacks                        share of complete stacks, bytes a sample
    bench/run.py distortion [--rounds 3]       flat profiles against perf's
    bench/run.py translators [--rounds 3]      whole runs under translation, beside other translators
    bench/run.py calls [--rounds 3]            call-intensive programs beside gprof and uftrace
    bench/run.py depth [--rounds 3]            overhead by depth of the stack, beside perf
    bench/run.py conflicts                     what conflicts of stores and loads cost, and finding them
    bench/run.py values [--rounds 3]           what observing values costs, by length and share of triggers
    bench/run.py latency                       where the loads of pointer chases come from
    bench/run.py bursts [--rounds 3]           what bursts of values cost beside what they take
    bench/run.py engine [--rounds 3]           what the engine takes for a block, a dispatch, a burst
    bench/run.py shadows [--full | --quick]    what shadows cost, cover, and how near their profiles come
    bench/run.py references                    exact profiles of the programs, which shadows are compared with
    bench/run.py values-accuracy               how near sampled values come to exact ones, by rate
    bench/run.py code-cache [--rounds 3]       what shadows gain from each other's translations
    bench/run.py startup                       what starting a program costs under each carrier
    bench/run.py servers [--rounds 3]          servers under load, and threads that switch often, beside perf
    bench/run.py threads [--rounds 3]          many threads that sleep, and many short ones
    bench/run.py account [--rounds 3]          what profiles say that they cost, beside what they do
    bench/run.py delivery [--rounds 3]         where each microsecond of a sample goes
    bench/run.py waste                         stores in vain and loads of what was loaded, in the suite
    bench/run.py productions                   what productions cost, and how near their profiles come
    bench/run.py productions-sampled           the same in bursts and shadows, beside runs of full length
    bench/run.py dise                          what productions cost in a modelled processor's decode stage
    bench/run.py diff [--rounds 24]            what penumbra diff calls a change where there is none, and where there is
    bench/run.py tables                        write docs/results/ from what was measured
    bench/run.py [all]                         all of these

One program, quickly:  bench/run.py overhead --only gzip --rounds 3
Method and how to read the tables: docs/benchmarks.md. Raw data: bench/work/results/.
"""
import argparse
import os
import signal
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import accounts  # noqa: E402
import bursts  # noqa: E402
import calls  # noqa: E402
import calls_tables  # noqa: E402
import code_cache  # noqa: E402
import conflicts  # noqa: E402
import delivery  # noqa: E402
import depth  # noqa: E402
import diff  # noqa: E402
import dise  # noqa: E402
import distortion  # noqa: E402
import engine  # noqa: E402
import inputs  # noqa: E402
import latconf_tables  # noqa: E402
import latency  # noqa: E402
import overhead  # noqa: E402
import pairs  # noqa: E402
import prepare  # noqa: E402
import productions  # noqa: E402
import profilers  # noqa: E402
import references  # noqa: E402
import servers  # noqa: E402
import servers_tables  # noqa: E402
import shadows  # noqa: E402
import shadows_tables  # noqa: E402
import stacks  # noqa: E402
import startup  # noqa: E402
import stated  # noqa: E402
import store  # noqa: E402
import suite  # noqa: E402
import tables  # noqa: E402
import threads  # noqa: E402
import translator_tables  # noqa: E402
import translators  # noqa: E402
import values  # noqa: E402
import values_accuracy  # noqa: E402
import values_accuracy_tables  # noqa: E402
import values_tables  # noqa: E402
import waste  # noqa: E402


def names(ap, text, known):
    """The names in a comma-separated list, each of them known."""
    found = text.split(",") if text else []
    for name in found:
        if name not in known:
            ap.error(f"{name} is not one of {', '.join(known)}")
    return found


def arguments():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("command", nargs="?", default="all",
                    choices=list(COMMANDS))
    ap.add_argument("--build", default=os.path.join(os.path.dirname(HERE), "build"), help="build directory")
    ap.add_argument("--only", default="", metavar="NAME,...", help="only these programs of the suite (servers: these servers, or switching)")
    ap.add_argument("--profilers", default="", metavar="NAME,...", help="only these profilers or translators (see docs)")
    ap.add_argument("--rates", default="", metavar="HZ,...", help="sampling rates for overhead; the one for distortion (default 997)")
    ap.add_argument("--ways", default="", metavar="NAME,...",
                    help="values-accuracy: only these of "
                         f"{', '.join(w.name for w in values_accuracy.WAYS)}; account: of {', '.join(stated.WAYS)}")
    ap.add_argument("--rounds", type=int, help="default 3; of shadows 1, under a budget 3")
    ap.add_argument("--core", type=int, default=0, help="the core that the programs share")
    ap.add_argument("--revision", default=store.head(), help="what was built, for the tables (default: git's HEAD)")
    ap.add_argument("--fresh", action="store_true", help="forget earlier rounds of what is measured now")
    ap.add_argument("--sizes", default="", metavar="N,...", help="shadows: only these sample sizes (1M,10M,100M)")
    ap.add_argument("--loads", default="", metavar="L,...", help="shadows: only these loads (0.0625 to 2)")
    ap.add_argument("--tools", dest="tool_names", default="", metavar="NAME,...",
                    help="shadows, references: only paths, or results")
    ap.add_argument("--seconds", type=float, help="values-accuracy: CPU time of a recording (default 60; at 97 and 10,000 Hz 20)")
    ap.add_argument("--turns", type=int, default=servers.TURNS, help=f"servers: of each copy, a round (default {servers.TURNS})")
    matrix = ap.add_mutually_exclusive_group()
    for name, text in (("full", "all sample sizes and loads (hours)"), ("quick", "(100M, 0.25) and the budget; values: fewer lengths, two cores")):
        matrix.add_argument(f"--{name}", dest="matrix", action="store_const", const=name, default="diagonal",
                            help=f"shadows: {text}")
    ap.add_argument("--again", action="store_true", help="prepare: make the inputs again")
    a = ap.parse_args()
    a.only_servers = names(ap, a.only, servers.NAMES) if a.command == "servers" else []
    a.only_stated = names(ap, a.only, [*suite.BY_NAME, *stated.NAMES]) if a.command == "account" else []
    others = a.only_servers or a.only_stated
    a.programs = [suite.BY_NAME[n] for n in ([] if others else names(ap, a.only, suite.BY_NAME))] or suite.SUITE
    a.chosen = names(ap, a.profilers, [*profilers.BY_NAME, "perf-a", "perf-b", *translators.NAMES]) or None
    a.rounds_asked, a.rounds = a.rounds, a.rounds or 3
    a.rates_asked, a.rates = a.rates, a.rates or "997,10000"
    a.sizes = a.sizes.split(",") if a.sizes else []
    a.loads = [float(load) for load in a.loads.split(",")] if a.loads else []
    a.reference_tools = names(ap, a.tool_names, references.TOOLS) or list(references.TOOLS)
    known_ways = stated.WAYS if a.command == "account" else [w.name for w in values_accuracy.WAYS]
    a.ways = names(ap, a.ways, known_ways)
    a.tools = profilers.Tools(os.path.abspath(a.build))
    return a


def say(text):
    print(text, flush=True)


TABLES = [tables.run, translator_tables.run, calls_tables.run, latconf_tables.run, values_tables.run,
          values_accuracy_tables.run, shadows_tables.run, engine.tables_run, bursts.tables_run,
          code_cache.tables_run, startup.tables_run, servers_tables.run, threads.tables_run, stated.tables_run, delivery.tables_run,
          waste.tables_run, productions.tables_run, productions.sampled_tables_run, dise.tables_run, diff.tables_run]
COMMANDS = {
    "prepare": [prepare.run],
    "overhead": [overhead.run],
    "stacks": [stacks.run],
    "distortion": [distortion.run],
    "translators": [translators.run],
    "calls": [calls.run],
    "depth": [depth.run],
    "conflicts": [conflicts.run],
    "latency": [latency.run],
    "values": [values.run],
    "bursts": [bursts.run],
    "engine": [engine.run],
    "references": [references.run],
    "values-accuracy": [values_accuracy.run],
    "shadows": [shadows.run],
    "code-cache": [code_cache.run],
    "startup": [startup.run],
    "servers": [servers.run],
    "threads": [threads.run],
    "account": [stated.run],
    "delivery": [delivery.run],
    "waste": [waste.run],
    "productions": [productions.run],
    "productions-sampled": [productions.sampled_run],
    "dise": [dise.run],
    "diff": [diff.run],
}
COMMANDS["all"] = [step for steps in COMMANDS.values() for step in steps] + TABLES
COMMANDS["tables"] = TABLES


def interrupted(number, frame):
    raise KeyboardInterrupt


def main():
    a = arguments()
    pairs.raise_limits()
    signal.signal(signal.SIGTERM, interrupted)  # what was started is ended
    try:
        for command in COMMANDS[a.command]:
            command(a, say)
    except (pairs.RoundError, inputs.InputError, prepare.PrepareError, accounts.Refused) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
