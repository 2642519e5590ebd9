"""The benchmark programs: real ones from Debian 12, near SPEC CPU2000's integer programs, which the
call-path-profiling paper measured. Each runs 4 to 7 seconds alone on one core."""
import os
from dataclasses import dataclass, field

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
