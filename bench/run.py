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
    bench/run.py engine [--rounds 3]           what the engine takes for a block, a dispatch, a burst
    bench/run.py startup                       what starting a program costs under each carrier
    bench/run.py tables                        write docs/results/ from what was measured
    bench/run.py [all]                         all of these

One program, quickly:  bench/run.py overhead --only gzip --rounds 3
Method and how to read the tables: docs/benchmarks.md. Raw data: bench/work/results/.
"""
import argparse
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import calls  # noqa: E402
import calls_tables  # noqa: E402
import conflicts  # noqa: E402
import depth  # noqa: E402
import distortion  # noqa: E402
import engine  # noqa: E402
import inputs  # noqa: E402
import latconf_tables  # noqa: E402
import latency  # noqa: E402
import overhead  # noqa: E402
import pairs  # noqa: E402
import prepare  # noqa: E402
import profilers  # noqa: E402
import stacks  # noqa: E402
import startup  # noqa: E402
import store  # noqa: E402
import suite  # noqa: E402
import tables  # noqa: E402
import translator_tables  # noqa: E402
import translators  # noqa: E402
import values  # noqa: E402
import values_tables  # noqa: E402


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
                    choices=["prepare", "overhead", "stacks", "distortion", "translators", "calls", "depth",
                             "conflicts", "latency", "values", "engine", "startup", "tables",
                             "all"])
    ap.add_argument("--build", default=os.path.join(os.path.dirname(HERE), "build"), help="build directory")
    ap.add_argument("--only", default="", metavar="NAME,...", help="only these programs of the suite")
    ap.add_argument("--profilers", default="", metavar="NAME,...", help="only these profilers or translators (see docs)")
    ap.add_argument("--rates", default="997,10000", metavar="HZ,...", help="sampling rates for overhead")
    ap.add_argument("--rounds", type=int, default=3)
    ap.add_argument("--core", type=int, default=0, help="the core that the programs share")
    ap.add_argument("--revision", default=store.head(), help="what was built, for the tables (default: git's HEAD)")
    ap.add_argument("--fresh", action="store_true", help="forget earlier rounds of what is measured now")
    ap.add_argument("--again", action="store_true", help="prepare: make the inputs again")
    a = ap.parse_args()
    a.programs = [suite.BY_NAME[n] for n in names(ap, a.only, suite.BY_NAME)] or suite.SUITE
    a.chosen = names(ap, a.profilers, [*profilers.BY_NAME, "perf-a", "perf-b", *translators.NAMES]) or None
    a.tools = profilers.Tools(os.path.abspath(a.build))
    return a


def say(text):
    print(text, flush=True)


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
    "engine": [engine.run],
    "startup": [startup.run],
    "tables": [tables.run, translator_tables.run, calls_tables.run, latconf_tables.run,
               values_tables.run, engine.tables_run, startup.tables_run],
    "all": [prepare.run, overhead.run, stacks.run, distortion.run, translators.run, calls.run, depth.run,
            conflicts.run, latency.run, values.run, engine.run, startup.run, tables.run, translator_tables.run, calls_tables.run,
            latconf_tables.run, values_tables.run, engine.tables_run, startup.tables_run],
}


def main():
    a = arguments()
    pairs.raise_limits()
    try:
        for command in COMMANDS[a.command]:
            command(a, say)
    except (pairs.RoundError, inputs.InputError, prepare.PrepareError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
