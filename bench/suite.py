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


SHORT = 4


def shorter_input(program):
    """Its last argument, a file, or standard input: the beginning, to the end of a line."""
    source = program.stdin if program.stdin != "/dev/null" else program.argv[-1]
    name = f"short-{program.name}-{os.path.basename(source)}"
    with open(source, "rb") as f:
        data = f.read(os.path.getsize(source) // SHORT)
    inputs.write(name, data[:data.rindex(b"\n") + 1])
    if program.stdin != "/dev/null":
        return replace(program, stdin=path(name))
    return replace(program, argv=[*program.argv[:-1], path(name)])


def shorter_text(program, old, new):
    """The same input but for one number."""
    source = program.argv[-1] if program.name == "gap" else program.stdin
    name = f"short-{program.name}-{os.path.basename(source)}"
    inputs.write(name, contents(source).replace(old, new))
    return replace(program, argv=[*program.argv[:-1], path(name)]) if program.name == "gap" else replace(program, stdin=path(name))


SHORTER = {
    "gzip": shorter_input, "bzip2": shorter_input, "xz": shorter_input, "perl": shorter_input, "linkparser": shorter_input,
    "gap": lambda p: shorter_text(p, f"work({inputs.GAP_ROUNDS})", f"work({inputs.GAP_ROUNDS // SHORT})"),
    "sqlite3": lambda p: shorter_text(p, str(inputs.SQL_SALES), str(inputs.SQL_SALES // SHORT)),
    "povray": lambda p: replace(p, argv=[{"+W640": "+W320", "+H480": "+H240"}.get(word, word) for word in p.argv]),
    "stockfish": lambda p: replace(p, argv=[*p.argv[:-1], "12"]),
    "python3": lambda p: replace(p, argv=p.argv[:-(len(PYTHON_MODULES) - len(PYTHON_MODULES) // SHORT)]),
    "lua": lambda p: replace(p, argv=[*p.argv[:-1], *(f"{p.argv[-1]}/{n}" for n in range(inputs.LUA_COPIES // SHORT))]),
}


def shorter(program):
    """The program with about a quarter of its work; cc1 and graywolf, whose inputs are one piece, as they are."""
    return SHORTER[program.name](program) if program.name in SHORTER else program


# As much of it in one process as makes sense: graywolf's work is its children's; what gap makes lies elsewhere each time, and addresses
# are values; cc1 compiles one source, and many at once take a gigabyte.
MOST_AT_ONCE = {"graywolf": 1, "gap": 1, "cc1": 1}


def longer(program, times):
    """The program doing the same work so many times, in as few processes as it can: (program, how many of it)."""
    at_once = min(times, MOST_AT_ONCE.get(program.name, times))
    return (LONGER[program.name](program, at_once) if at_once > 1 else program), round(times / at_once)
