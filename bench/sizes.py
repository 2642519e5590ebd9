"""The benchmark programs (suite.py) with less to do: what a processor model executes takes its time."""
import dataclasses
import os

import inputs
import suite

# Values of inputs.py's, and what stands in the place of arguments; None: the program is left out.
SMALL = {"name": "small",  # some 100 to 500 million instructions
         "sizes": {"GZIP_BYTES": 700_000, "XZ_BYTES": 250_000, "STB": ("sprintf",), "POD_FILES": 2, "GAP_ROUNDS": 1,
                   "SENTENCES": 4, "MULTIPLIER_BITS": 4, "SQL_SALES": 2_000, "LUA_COPIES": 1},
         "arguments": {"cc1": {"-O2": "-O0"}, "perl": None, "gap": None, "graywolf": None, "povray": None,
                       "stockfish": None, "python3": None,
                       "lua": {inputs.path("lua-sources"): inputs.path("lua-sources/0/parser.lua")}}}


def folder(size):
    return os.path.join(inputs.WORK, size["name"])


def changed(program, size):
    other = size["arguments"].get(program.name, {})
    argv = [other.get(a, a) for a in program.argv]
    argv = [a.replace(inputs.INPUTS, folder(size)) for a in argv if a is not None]
    return dataclasses.replace(program, argv=argv, stdin=program.stdin.replace(inputs.INPUTS, folder(size)))


def programs(size):
    return [changed(p, size) for p in suite.SUITE if size["arguments"].get(p.name, {}) is not None]


def make(size, say):
    """Its inputs."""
    with inputs.sized(folder(size), size["sizes"]):
        inputs.make_all(say)
