"""Inputs of the benchmark programs, made from files that a Debian 12 machine has.

Every input is a function of the installed packages alone: files are taken in sorted order, archives
carry no time stamps or owners, and generated data comes from fixed formulas. A made input is kept in
bench/work/ and made again only if it is missing.
"""
import contextlib
import glob
import os
import re
import shutil
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
WORK = os.path.join(HERE, "work")
INPUTS = os.path.join(WORK, "inputs")
# How much work each program gets: chosen so that each runs 4 to 7 s alone on a 2024 server core.
GZIP_BYTES = 61_000_000      # gzip and bzip2
XZ_BYTES = 17_000_000
STB = ("truetype", "ds", "image_write", "sprintf", "hexwave", "image", "vorbis")
POD_FILES = 640
GAP_ROUNDS = 14
SENTENCES = 840
MULTIPLIER_BITS = 17
SQL_SALES = 780_000
LUA_COPIES = 14

GCC = "/usr/lib/gcc/x86_64-linux-gnu/12"


class InputError(Exception):
    """An input cannot be made: says which, why, and what to try."""


@contextlib.contextmanager
def sized(folder, sizes):
    """Within it, inputs are made in this folder, and values above that are named are others."""
    names = globals()
    saved = {name: names[name] for name in ("INPUTS", *sizes)}
    names.update(sizes, INPUTS=folder)
    try:
        yield
    finally:
        names.update(saved)


def path(name):
    return os.path.join(INPUTS, name)


def run(argv, what, **options):
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", **options)
    if done.returncode != 0:
        raise InputError(f"making {what}: {argv[0]} exited {done.returncode}: {done.stdout[-400:]}")
    return done.stdout


def write(name, data):
    temporary = path(name) + ".new"
    with open(temporary, "wb" if isinstance(data, bytes) else "w") as f:
        f.write(data)
    os.replace(temporary, path(name))


def make_mix():
    """big.tar and small.tar: headers (text) and a compiler (machine code), in one archive."""
    parts = ["usr/include/c++/12", "usr/include/linux", GCC[1:] + "/plugin", GCC[1:] + "/cc1"]
    for part in parts:
        if not os.path.exists("/" + part):
            raise InputError(f"making big.tar: /{part} is missing; install g++-12, gcc-12-plugin-dev "
                             "and linux-libc-dev")
    tar = subprocess.Popen(["tar", "-C", "/", "--sort=name", "--mtime=@0", "--owner=0", "--group=0",
                            "--numeric-owner", "-cf", "-"] + parts, stdout=subprocess.PIPE)
    data = tar.stdout.read(GZIP_BYTES)
    tar.stdout.close()
    tar.wait()
    if len(data) != GZIP_BYTES:
        raise InputError(f"making big.tar: the archive has only {len(data)} bytes")
    write("big.tar", data)
    write("small.tar", data[:XZ_BYTES])


def make_stbs():
    """stbs.i: single-file libraries, preprocessed into one C file."""
    lines = [f"#define STB_{n.upper()}_IMPLEMENTATION" for n in STB]
    lines += [f"#include <stb/stb_{n}.h>" for n in STB]
    write("stbs.c", "\n".join(lines) + "\n")
    run(["gcc-12", "-E", "-P", "-w", "-O2", path("stbs.c"), "-o", path("stbs.i")], "stbs.i")


def perl_files(limit=None, ends=(".pm", ".pod")):
    roots = [os.path.realpath(r) for r in ("/usr/share/perl/5.36", "/usr/lib/x86_64-linux-gnu/perl/5.36")]
    found = [os.path.join(folder, name) for root in roots for folder, _, names in os.walk(root)
             for name in names if name.endswith(ends)]
    if len(found) < 250:
        raise InputError(f"only {len(found)} perl modules found; install perl-modules-5.36")
    return sorted(found)[:limit]


def make_pod():
    """all.pod: the documentation of perl's library files."""
    chunks = []
    for name in perl_files(POD_FILES):
        with open(name, "rb") as f:
            chunks.append(f.read())
    write("all.pod", b"\n\n".join(chunks) + b"\n")


# Upper-case word, then 5 to 13 lower-case ones, a comma at most between two.
SENTENCE = re.compile(r"[A-Z][a-z]*(?:,? [a-z]+){5,13}\.")


def make_sentences():
    """sentences.txt: simple sentences of 6 to 14 words from perl's documentation."""
    seen = {}
    for name in perl_files():
        with open(name, encoding="utf-8", errors="replace") as f:
            text = f.read()
        for block in re.split(r"\n\s*\n", text):
            if block.startswith(("=", " ", "\t", "#")) or "<" in block:
                continue
            for sentence in re.split(r"(?<=\.)\s+", " ".join(block.split())):
                if SENTENCE.fullmatch(sentence):
                    seen.setdefault(sentence)
    if len(seen) < SENTENCES:
        raise InputError(f"making sentences.txt: only {len(seen)} sentences found")
    write("sentences.txt", "\n".join(list(seen)[:SENTENCES]) + "\n")


GAP_SCRIPT = """\
# Permutation groups: orders, derived and central series, orbits, products of random-looking words.
work := function(rounds)
    local i, j, g, s, a, b, p, sum;
    sum := 0;
    for i in [1 .. rounds] do
        a := PermList(Concatenation([2 .. 60 + i], [1]));
        b := (1, 2);
        p := ();
        for j in [1 .. 60000] do
            if (j * 7 + i) mod 3 = 0 then p := p * a; else p := p * b * a ^ -1; fi;
        od;
        sum := sum + 1 ^ p;
        g := Group(a, b, p);
        sum := sum + Size(g) mod 1009;
        s := SylowSubgroup(SymmetricGroup(20 + (i mod 7)), 2);
        sum := sum + Length(ConjugacyClasses(Group(GeneratorsOfGroup(DihedralGroup(IsPermGroup, 60 + 2 * i)))));
        sum := sum + Length(DerivedSeries(s)) + Length(LowerCentralSeries(s));
        sum := sum + Sum(List(Orbits(s, Combinations([1 .. 20], 2), OnSets), Length));
    od;
    return sum;
end;;
Print(work(%d), "\\n");
QUIT;
"""


def make_gap():
    write("groups.g", GAP_SCRIPT % GAP_ROUNDS)


MULTIPLIER = """\
module mult(input clk, input [{top}:0] a, input [{top}:0] b, output reg [{wide}:0] p);
  reg [{top}:0] ra, rb;
  always @(posedge clk) begin
    ra <= a;
    rb <= b;
    p <= ra * rb;
  end
endmodule
"""


def make_netlist():
    """mult.cel and mult.par: a multiplier of osu035 cells, ready to be placed."""
    tech = "/usr/share/qflow/tech/osu035"
    lib = f"{tech}/osu035_stdcells.lib"
    write("mult.v", MULTIPLIER.format(top=MULTIPLIER_BITS - 1, wide=2 * MULTIPLIER_BITS - 1))
    script = (f"read_verilog mult.v; synth -flatten -top mult; dfflibmap -liberty {lib}; "
              f"abc -liberty {lib}; opt_clean -purge; write_blif -gates -impltf mult.yosys.blif")
    run(["yosys", "-q", "-p", script], "mult.cel", cwd=INPUTS)
    with open(path("mult.yosys.blif")) as f:
        write("mult.blif", re.sub(r"(?m)^\.subckt ", ".gate ", f.read()))
    run(["tclsh", "/usr/lib/qflow/scripts/blif2cel.tcl", "--blif", "mult.blif", "--lef",
         f"{tech}/osu035_stdcells.lef", "--cel", "mult.cel"], "mult.cel", cwd=INPUTS)
    with open(f"{tech}/osu035.par") as f:
        par = f.read()
    write("mult.par", par + "\nTWMC*random.seed : 12345\nTWSC*random.seed : 12345\n")


SQL = """\
CREATE TABLE part(id INTEGER PRIMARY KEY, name TEXT, weight REAL, kind INTEGER);
CREATE TABLE sale(id INTEGER PRIMARY KEY, part INTEGER, day INTEGER, amount REAL, note TEXT);
BEGIN;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {parts})
INSERT INTO part SELECT i, printf('part-%06d-%x', i, (i * 2654435761) % 4294967296),
  ((i * 7919) % 1000) / 10.0, (i * 31) % 97 FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {sales})
INSERT INTO sale SELECT i, 1 + (i * 48271) % {parts}, (i * 16807) % 365,
  ((i * 69621) % 100000) / 100.0, printf('note %d of day %d', i, (i * 16807) % 365) FROM n;
COMMIT;
CREATE INDEX sale_part ON sale(part, day);
CREATE INDEX part_kind ON part(kind);
SELECT kind, count(*), sum(amount), avg(weight) FROM part JOIN sale ON sale.part = part.id
  GROUP BY kind ORDER BY 3 DESC LIMIT 10;
SELECT day, count(DISTINCT part), max(note) FROM sale GROUP BY day ORDER BY 2 DESC LIMIT 10;
SELECT count(*) FROM sale WHERE note LIKE '%9% of day 1%';
SELECT p.name, total(s.amount) OVER (PARTITION BY p.kind ORDER BY s.id) AS running
  FROM sale s JOIN part p ON p.id = s.part ORDER BY running DESC LIMIT 10;
UPDATE sale SET amount = amount * 1.01 WHERE day % 7 = 3;
DELETE FROM sale WHERE part IN (SELECT id FROM part WHERE kind < 10);
SELECT substr(note, 1, 6), count(*), sum(length(note)) FROM sale GROUP BY 1 ORDER BY 2 DESC LIMIT 10;
"""


def make_sql():
    write("bench.sql", SQL.format(parts=20_000, sales=SQL_SALES))


LUACHECK = "/usr/share/lua/5.1/luacheck"


def make_lua():
    """lua-sources: luacheck's own sources, several times."""
    if not glob.glob(LUACHECK + "/*.lua"):
        raise InputError(f"making lua-sources: nothing in {LUACHECK}; install lua-check")
    shutil.rmtree(path("lua-sources"), ignore_errors=True)
    for i in range(LUA_COPIES):
        shutil.copytree(LUACHECK, path(f"lua-sources/{i}"))


# What is made by what: (files, function).
INPUT_MAKERS = [
    (("big.tar", "small.tar"), make_mix),
    (("stbs.i",), make_stbs),
    (("all.pod",), make_pod),
    (("sentences.txt",), make_sentences),
    (("groups.g",), make_gap),
    (("mult.cel", "mult.par"), make_netlist),
    (("bench.sql",), make_sql),
    (("lua-sources",), make_lua),
]


def make_all(say, again=False):
    os.makedirs(INPUTS, exist_ok=True)
    for names, maker in INPUT_MAKERS:
        if not again and all(os.path.exists(path(n)) for n in names):
            continue
        say("making " + ", ".join(names))
        maker()
