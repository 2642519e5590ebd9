"""The benchmark programs: real ones from Debian 12, near SPEC CPU2000's integer programs, which the
call-path-profiling paper measured. Each runs 4 to 7 seconds alone on one core."""
import os
from dataclasses import dataclass, field, replace

import inputs
from inputs import GCC, path

POVRAY = "/usr/share/doc/povray/examples/advanced"
GAP = "/usr/lib/x86_64-linux-gnu/gap/gap"
LIB = "/usr/lib/python3.11"
PYTHON_MODULES = ("argparse", "tarfile", "_pydecimal", "datetime", "doctest", "inspect", "optparse", "pickle",
                  "subprocess", "turtle", "typing")


@dataclass
class Program:
    name: str
    spec: str  # the SPEC CPU2000 program it stands for, or ""
    argv: list
    stdin: str = "/dev/null"
    env: dict = field(default_factory=dict)
    files: tuple = ()    # inputs copied into the fresh working folder
    outputs: tuple = ()  # files left in the working folder that must be the same in every copy
    exits: int = 0       # the exit status that is right
    volatile: str = ""   # a regular expression for parts of the output that differ from run to run

    @property
    def binary(self):
        return os.path.realpath(self.argv[0])


SUITE = [
    Program("gzip", "164.gzip", ["/usr/bin/gzip", "-9", "-c", path("big.tar")]),
    Program("bzip2", "256.bzip2", ["/usr/bin/bzip2", "-9", "-c", path("big.tar")]),
    Program("xz", "", ["/usr/bin/xz", "-6", "-T1", "-c", path("small.tar")]),
    Program("cc1", "176.gcc", [GCC + "/cc1", "-fpreprocessed", path("stbs.i"), "-quiet", "-O2", "-w",
                               "-o", "/dev/null"]),
    Program("perl", "253.perlbmk", ["/usr/bin/perl", "/usr/bin/pod2man", "--errors=none", "--name=ALL",
                                    "--section=3", "--release=1", "--date=1", path("all.pod")],
            env={"PERL_HASH_SEED": "0"}),
    Program("gap", "254.gap", [GAP, "-l", "/usr/lib/gap;/usr/share/gap", "-q", "-r", "-A",
                               path("groups.g")]),
    Program("linkparser", "197.parser", ["/usr/bin/link-parser", "en", "-batch", "-timeout=100000",
                                         "-limit=1000", "-verbosity=1"], stdin=path("sentences.txt"),
            volatile=r"[0-9.]+ (seconds|cpu|user|cum)[^\n]*"),
    Program("graywolf", "300.twolf", ["/usr/bin/graywolf", "-n", "mult"], files=("mult.cel", "mult.par"),
            outputs=("mult.pl1", "mult.pin")),
    Program("povray", "252.eon", ["/usr/bin/povray", f"+I{POVRAY}/biscuit.pov", f"+L{POVRAY}", "+W640",
                                  "+H480", "-D", "+WT1", "+A0.3", "-GA", "-F", "-V"],
            # Where parsing takes long, how far it has come is said.
            volatile=r"(Parsing [0-9]+K tokens)?==== \[Rendering[^\n]*\n+"),
    Program("stockfish", "186.crafty", ["/usr/games/stockfish", "bench", "16", "1", "14"],
            # How many "info" lines there are depends on the time.
            volatile=r"info [^\n]*\n|(Total time|Nodes/second)[^\n]*"),
    Program("sqlite3", "255.vortex", ["/usr/bin/sqlite3", ":memory:"], stdin=path("bench.sql")),
    Program("python3", "", ["/usr/bin/python3.11", "-m", "lib2to3", "-p", "-f", "all",
                            *(f"{LIB}/{m}.py" for m in PYTHON_MODULES)],
            env={"PYTHONHASHSEED": "0", "PYTHONWARNINGS": "ignore"}),
    Program("lua", "", ["/usr/bin/lua5.4", "/usr/bin/luacheck", "--no-config", path("lua-sources")],
            env={"LUA_PATH": "/usr/share/lua/5.4/?.lua;/usr/share/lua/5.1/?.lua;"
                             "/usr/share/lua/5.1/?/init.lua"}, exits=1),
]
BY_NAME = {p.name: p for p in SUITE}


def in_file(program, times, text):
    """The path of a new input of the program, for a run so many times as long."""
    name = f"long-{program.name}-{times}"
    inputs.write(name, text)
    return path(name)


def contents(name):
    with open(name) as f:
        return f.read()


def more_arguments(program, times):
    """Its last argument, an input, so many times."""
    return replace(program, argv=program.argv + program.argv[-1:] * (times - 1))


def more_stdin(program, times):
    return replace(program, stdin=in_file(program, times, contents(program.stdin) * times))


def longer_stockfish(program, times):
    bench = " ".join(program.argv[1:])
    return replace(program, argv=program.argv[:1], stdin=in_file(program, times, f"{bench}\n" * times + "quit\n"))


def longer_sqlite3(program, times):
    text = contents(program.stdin) + "DROP TABLE sale;\nDROP TABLE part;\n"
    return replace(program, stdin=in_file(program, times, text * times))


def longer_python3(program, times):
    return replace(program, argv=program.argv + program.argv[-len(PYTHON_MODULES):] * (times - 1))


def longer_perl(program, times):
    return replace(program, argv=program.argv[:-1] + [program.argv[-1], "/dev/null"] * times)


def longer_povray(program, times):
    """So many times as many pixels, of the same shape. (A frame more has its scene at other addresses, which are values, too.)"""
    side = {axis: round(int(size) * times ** 0.5) for axis, size in (("W", "640"), ("H", "480"))}
    return replace(program, argv=[f"+{word[1]}{side[word[1]]}" if word in ("+W640", "+H480") else word for word in program.argv])


LONGER = {"gzip": more_arguments, "bzip2": more_arguments, "xz": more_arguments, "perl": longer_perl,
          "linkparser": more_stdin, "povray": longer_povray, "stockfish": longer_stockfish, "sqlite3": longer_sqlite3,
          "python3": longer_python3, "lua": more_arguments}


# As much of it in one process as makes sense: graywolf's work is its children's; what gap makes lies elsewhere each time, and addresses
# are values; cc1 compiles one source, and many at once take a gigabyte.
MOST_AT_ONCE = {"graywolf": 1, "gap": 1, "cc1": 1}


def longer(program, times):
    """The program doing the same work so many times, in as few processes as it can: (program, how many of it)."""
    at_once = min(times, MOST_AT_ONCE.get(program.name, times))
    return (LONGER[program.name](program, at_once) if at_once > 1 else program), round(times / at_once)
