"""Call-intensive programs: sampled calls beside counted ones (the form of csprof's Table 2).

Programs of the suite are built from Debian's sources, plain and with -pg; the plain build runs natively,
under the empty handler and under penumbra, the other alone (gprof) and under uftrace. The inputs are
shorter than the suite's. uftrace has rounds of its own: it takes many times as long as the others, and
would share the core with them only at their beginning."""
import dataclasses
import os
import struct

import inputs
import overhead
import pairs
import profilers
import sources
import store
import suite
from pairs import Copy

HZ = 997
SETS = [("native", "null", "empty", "penumbra", "no-trampoline", "gprof"), ("native", "uftrace")]
BYTES = {"gzip": 20_000_000, "bzip2": 12_000_000, "xz": 5_000_000}
SALES, LUA_FOLDERS = 250_000, 4


def input_of(name):
    return os.path.join(sources.FOLDER, "inputs", name)


def make_inputs():
    os.makedirs(input_of(""), exist_ok=True)
    with open(inputs.path("big.tar"), "rb") as f:
        big = f.read(max(BYTES.values()))
    for name, size in BYTES.items():
        with open(input_of(name + ".tar"), "wb") as f:
            f.write(big[:size])
    with open(input_of("bench.sql"), "w") as f:
        f.write(inputs.SQL.format(parts=20_000, sales=SALES))


def program_of(source):
    """The suite's program with a shorter input, from the plain build."""
    p = suite.BY_NAME[source.name]
    argv = [sources.path_of(source, "plain"), *p.argv[1:]]
    if source.name in BYTES:
        argv[-1] = input_of(source.name + ".tar")
    if source.name == "lua":
        argv[-1:] = [inputs.path(f"lua-sources/{i}") for i in range(LUA_FOLDERS)]
    stdin = input_of("bench.sql") if source.name == "sqlite3" else p.stdin
    return dataclasses.replace(p, argv=argv, stdin=stdin)


def copy(a, name, instrumented):
    if name == "gprof":
        return Copy(name, lambda hold, out: hold(binary=instrumented))
    if name == "uftrace":
        return Copy(name, lambda hold, out: ["uftrace", "record", "--no-libcall", "--force", "-d", f"{out}/data",
                                             *hold(binary=instrumented)])
    return profilers.BY_NAME[name].copy(a.tools, HZ)


ARC = struct.Struct("<QQi")
HISTOGRAM = struct.Struct("<QQii15sc")


def counted_calls(path):
    """All calls in a gmon.out (glibc's format: gmon_out.h): the sum over its arcs. None if there is none."""
    try:
        with open(path, "rb") as f:
            data = f.read()
    except FileNotFoundError:
        return None
    at, calls = 20, 0
    while at < len(data):
        tag, at = data[at], at + 1
        if tag == 0:
            at += HISTOGRAM.size + 2 * HISTOGRAM.unpack_from(data, at)[2]
        elif tag == 1:
            calls += ARC.unpack_from(data, at)[2] & 0xFFFFFFFF
            at += ARC.size
        else:
            raise pairs.RoundError(f"{path} has a record of kind {tag}, which is not known here")
    return calls


def left_bytes(folder):
    return sum(os.path.getsize(os.path.join(f, n)) for f, _, names in os.walk(folder) for n in names)


def one_round(a, source, names):
    program = program_of(source)
    copies = [copy(a, n, sources.path_of(source, "pg")) for n in names]
    with pairs.Round(a.tools.hold, program, copies, a.core) as one:
        outcomes = one.run()
        for c in copies:
            outcomes[c.name].bytes = left_bytes(one.folder_of(c) + "/out")
        if "gprof" in outcomes:
            gmon = one.folder_of(copies[names.index("gprof")]) + "/cwd/gmon.out"
            outcomes["gprof"].extra["calls"] = counted_calls(gmon)
            outcomes["gprof"].bytes = os.path.getsize(gmon) if os.path.exists(gmon) else 0
    return {n: overhead.row_of(o, outcomes["native"], program) for n, o in outcomes.items()}


def run(a, say):
    chosen = [s for s in sources.SOURCES if suite.BY_NAME[s.name] in a.programs]
    sources.build_all(chosen, say)
    make_inputs()
    data = store.load("calls")
    for source in chosen:
        for names in SETS:
            old = data.get(source.name, {}).get("rounds", [])
            if a.fresh:
                old = [r for r in old if not set(r) & set(names) - {"native"}]
            rounds = [one_round(a, source, names) for _ in range(a.rounds)]
            data[source.name] = {"program": source.name, "hz": HZ, **store.when_and_what(a), "rounds": old + rounds}
            store.save("calls", data)
            say(f"{source.name}, native {rounds[-1]['native']['own_us'] / 1e6:.2f} s")
            say(overhead.summary(rounds))
