"""Synchronous triggers, phases and pauses, on programs whose true profile is known by construction.

Tolerances are shares of all that was counted. A share of n samples is at most 0.5 / sqrt(n) off (one
standard deviation), and there are thousands, so that they are many deviations wide; counts do not depend
on how fast or busy the machine is, but for the two that are of time, which are wide for that.
"""
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.environ["HARNESS"])
from harness import (PATIENCE, PENUMBRA, Failure, Recording, expect, main, nodes, run,  # noqa: E402
                     target)


WHOLE = ("--budget", "100")  # a sample each period, whatever it costs


def record(name, *arguments, event, options=WHOLE, report=()):
    return Recording([target("sync_" + name), *arguments], ["-e", event, *options], report=report)


def share(recording, function, what="self"):
    """Of all nodes whose innermost or any frame is the function: their part of the whole."""
    whole = recording.samples()
    return sum(f[what] for f in recording.report["functions"]
               if f["name"] == function) / max(1, whole)


def heap_of(recording, function):
    """(allocated, live, peak) below the outermost nodes of the function, in samples."""
    found = [0, 0, 0]
    stack = [recording.report["tree"]]
    while stack:
        node = stack.pop()
        if node["name"] == function:
            for i, key in enumerate(("allocated", "live", "peak")):
                found[i] += node["heap"][key]
        else:
            stack.extend(node["children"])
    return found


def near(value, wanted, tolerance, what):
    expect(abs(value - wanted) <= tolerance, f"{what} is {value}, not {wanted} +- {tolerance}")


def check_heap(r, mib):
    bytes_all = r.samples() * r.report["period"] / (1 << 20)
    near(bytes_all, mib, 0.03 * mib, "MiB allocated")
    for name, wanted in (("leaks", 1 / 8), ("holds", 2 / 8), ("churns", 4 / 8), ("grows", 1 / 8)):
        near(share(r, name, "total"), wanted, 0.04, f"share of {name}")
    allocated, live, peak = heap_of(r, "leaks")
    expect(live == allocated and peak == allocated, f"leaks: {allocated} {live} {peak}")
    allocated, live, peak = heap_of(r, "holds")
    expect(live == 0 and peak >= allocated - 2, f"holds: {allocated} {live} {peak}")
    allocated, live, peak = heap_of(r, "churns")
    expect(live == 0 and peak <= 20, f"churns: {allocated} {live} {peak}")
    expect(heap_of(r, "grows")[1] == 0, "grows has something live")
    expect(not r.report["truncated"], "truncated stacks")


def malloc():
    r = record("heap", "64", event="malloc=16k")
    check_heap(r, 64)
    live = r.json(["--metric", "live"])
    top = [f for f in live["functions"] if f["self"]]
    expect([f["name"] for f in top] == ["leaks"], f"live: {top}")


def malloc_threads():
    """Blocks of four threads are freed by a fifth."""
    r = record("heap", "64", "4", event="malloc=16k")
    check_heap(r, 64)
    expect(len(r.report["threads"]) == 5, "threads")


def malloc_exact():
    """A sample a byte: not an estimate any more."""
    r = record("heap", "1", event="malloc=1", options=["--no-randomize"])
    sizes = (24, 4096, 100, 65536, 7, 1000, 333)
    total, i, wanted = (1 << 20) // 8, 0, 0
    while total > sizes[i % 7]:
        wanted += sizes[i % 7] + 8
        total -= sizes[i % 7]
        i += 1
    expect(heap_of(r, "leaks") == [wanted] * 3, f"leaks: {heap_of(r, 'leaks')}, not {wanted}")


def malloc_workers():
    """The cost is a share of the CPU time of all threads, also of those that have not ended when
    the process does."""
    recording = record("workers", event="malloc=1k")
    expect(recording.report["cpu_ns"] > 200e6, f"{recording.report['cpu_ns']} ns of CPU time")


def said(recording, words):
    return [note for note in recording.report["notes"] if words in note]


def malloc_bound():
    """A program that does nothing but allocate pays no more than the bound: samples are fewer, and each
    stands for more. A budget of all its time leaves a sample for each period."""
    r = record("bound", "100000", event="malloc=64k", options=())
    bytes_all = r.samples() * r.report["period"] / (400000 * 65536)
    near(bytes_all, 1, 0.03, "part of the bytes")
    expect(r.report["taken"] < 0.5 * r.samples(),
           f"{r.report['taken']} samples of {r.samples()} periods")
    for name, wanted in (("often", 0.75), ("seldom", 0.25)):
        near(share(r, name, "total"), wanted, 2.5 / r.report["taken"] ** 0.5, f"share of {name}")
    expect(said(r, "stood for"), f"not said: {r.report['notes']}")
    r = record("bound", "10000", event="malloc=64k")
    near(r.samples(), 40000, 1200, "periods")
    expect(not said(r, "stood for"), f"said: {r.report['notes']}")


def malloc_unbound():
    """A period of one unit counts exactly, whatever it costs."""
    r = record("bound", "5000", event="malloc=1", options=())
    calls = [c["total"] for c in r.report["functions"] if c["name"] in ("often", "seldom")]
    expect(sum(calls) == 20000 * 65536, f"{calls} bytes")


def io_bound():
    for event in ("read=2", "write=2"):
        r = record("trickle", "400000", event=event, options=())
        near(share(r, "main", "total") * r.samples(), 200000, 6000, "periods")
        expect(r.report["taken"] < 0.5 * r.samples(),
               f"{r.report['taken']} samples of {r.samples()} periods")
        expect(said(r, "stood for"), f"not said: {r.report['notes']}")


def malloc_cxx():
    if not os.path.exists(target("sync_cxx")):
        return
    r = record("cxx", "20000", event="malloc=16k")
    for name in ("by_new", "by_aligned_new", "by_nothrow", "by_malloc"):
        near(share(r, name + "(int)", "total"), 0.25, 0.04, f"share of {name}")
    expect(r.json(["--metric", "live"])["samples"] < 0.02 * r.samples(), "something is live")


def malloc_variants():
    for event in ("malloc=1", "malloc=4k", "malloc"):
        r = record("variants", event=event)
        expect(r.profiled.stdout == b"13 7\n", f"{r.profiled.stdout}")
    r = record("variants", event="malloc=1", options=["--no-randomize"])
    live = {p["pid"]: 0 for p in r.report["processes"]}
    for thread in r.report["threads"]:
        one = r.json(["--metric", "live", "--process", str(thread["pid"])])
        live[thread["pid"]] = one["samples"]
    parent, child = (p["pid"] for p in r.report["processes"])
    near(live[child], 700000, 10000, "bytes live in the child")
    expect(live[parent] < 450000, f"{live[parent]} bytes live in the parent")


def malloc_own():
    """A program's own malloc is not ours to see: said, and the program is as it was."""
    r = record("own_malloc", event="malloc=4k")
    expect(r.samples() == 0, "samples of an allocator that we cannot see")
    expect("own" in " ".join(r.report["notes"]), f"not said: {r.report['notes']}")


MIB = 1 << 20


def apart(how, *options):
    """What a library that calls malloc past the search for symbols allocates, and what of that is
    live at the end, in MiB."""
    r = Recording([target("sync_unseen"), how, target("sync_apart.so")],
                  ["-e", "malloc=64k", *WHOLE, *options])
    expect(r.profiled.stdout.strip() == b"10485760 1", f"{how}: {r.profiled.stdout}")
    allocated, live, _ = heap_of(r, "keep")
    return allocated * r.report["period"] / MIB, live * r.report["period"] / MIB


def malloc_loaded():
    """Libraries loaded with RTLD_DEEPBIND and by dlmopen, whose calls lead past us. They allocate
    15 MiB, keep 10, and free each with the allocator that gave it."""
    for how in ("deepbind", "deepbind-now", "dlmopen"):
        allocated, live = apart(how)
        # Periods are drawn: of some 240 samples the sum is off by 0.3 MiB (one standard deviation).
        near(allocated, 15, 1.5, f"{how}: MiB allocated")
        near(live, 10, 1.5, f"{how}: MiB live")


def malloc_mapped():
    """Arenas that the program maps itself, also for an allocator that is a hidden part of it."""
    # Periods are drawn: of some 300 samples the sum is off by 0.35 MiB (one standard deviation).
    for how, function, wanted, kept in (("arena", "arena_new", 24, 16),
                                        ("hidden", "arena_grow", 20, 20)):
        r = record("unseen", how, event="malloc=64k")
        allocated, live, _ = heap_of(r, function)
        near(allocated * r.report["period"] / MIB, wanted, 1.8, f"{how}: MiB mapped")
        near(live * r.report["period"] / MIB, kept, 1.8, f"{how}: MiB that stay mapped")
        notes = said(r, "mapped by the program itself")
        expect(notes and f"{wanted}.0 MiB" in notes[0], f"{how}: {r.report['notes']}")


def malloc_raw():
    """Memory from system calls that no library sees: how much the process has that is not
    explained. None where all is seen."""
    r = record("unseen", "raw", event="malloc=64k")
    notes = said(r, "are not explained")
    expect(notes and "of 3" in notes[0], f"not said: {r.report['notes']}")
    for how in ("arena", "seen"):
        r = record("unseen", how, event="malloc=64k")
        expect(not said(r, "are not explained"), f"{how}: said: {r.report['notes']}")


def malloc_address():
    """A program that is not position-independent and takes malloc's address has none of its own."""
    r = record("address", event="malloc=4k")
    near(r.samples(), 1000, 20, "samples")
    expect("malloc of its own" not in " ".join(r.report["notes"]), f"said: {r.report['notes']}")


def malloc_preloaded():
    library = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"
    if not os.path.exists(library):
        return
    os.environ["LD_PRELOAD"] = library
    try:
        check_heap(record("heap", "64", event="malloc=16k"), 64)
        record("variants", event="malloc=1")
        if os.path.exists(target("sync_cxx")):
            r = record("cxx", "20000", event="malloc=16k")
            for name in ("by_new", "by_aligned_new", "by_nothrow", "by_malloc"):
                near(share(r, name + "(int)", "total"), 0.25, 0.04, f"share of {name}")
    finally:
        del os.environ["LD_PRELOAD"]


def malloc_stress():
    """Every block is freed in the end, by whichever thread: hardly anything of the program's is
    live."""
    for event in ("malloc=32", "malloc=4k"):
        r = record("stress", event=event)
        expect(r.profiled.stdout == b"0\n", f"{r.profiled.stdout}")
        allocated, live, peak = heap_of(r, "run")
        expect(allocated > 100 and peak > 0, f"allocated {allocated}, peak {peak}")
        parent = r.json(["--metric", "live", "--process", str(r.report["processes"][0]["pid"])])
        ours = sum(f["self"] for f in parent["functions"] if f["name"] == "run")
        expect(ours == 0, f"{ours} of {allocated} samples are live in the parent")


def io(event):
    with tempfile.NamedTemporaryFile() as file:
        file.write(bytes(5 << 20))
        file.flush()
        r = record("io", file.name, "4096", event=event + "=4k")
    near(r.samples() * 4096 / (1 << 20), 16, 0.4, "MiB moved")
    for name in ("by_read", "by_vector", "by_stream", "by_socket"):
        near(share(r, name, "total"), 0.25, 0.04, f"share of {name}")


def read():
    io("read")


def write():
    io("write")


def unattributed():
    """What scanf reads is not seen, but the kernel counts it."""
    code = ("#include <stdio.h>\nint main(void) { long n = 0; int x; FILE *f = fopen(\"data\", \"r\");"
            " while (fscanf(f, \"%d\", &x) == 1) n += x; printf(\"%ld\\n\", n); return 0; }\n")
    with tempfile.TemporaryDirectory() as folder:
        with open(folder + "/data", "w", encoding="ascii") as f:
            f.write("123456789\n" * 100000)
        subprocess.run(["cc", "-O2", "-x", "c", "-", "-o", folder + "/scan"], input=code.encode(),
                       cwd=folder, check=True)
        r = Recording(["sh", "-c", f"cd {folder} && exec ./scan"], ["-e", "read=10k"])
    near(share(r, "[unattributed]"), 1, 0.2, "share of [unattributed]")
    near(r.samples(), 1000000 / 10240, 20, "samples")


def lock_wait():
    """Shares of waiting are by sleeping: on a busy machine each may be longer, never shorter."""
    r = record("locks", "1600", event="lock-wait=100us")
    waits = {"waits_for_mutex": 800, "waits_for_rwlock": 400, "waits_for_condition": 200}
    for name, ms in waits.items():
        found = sum(f["total"] for f in r.report["functions"] if f["name"] == name) / 10
        expect(0.9 * ms <= found <= ms + 5000, f"{name}: {found} ms, not {ms}")
    expect(share(r, "never_waits", "total") < 0.5, "uncontended locks were waited for")


COMMANDS = (
    ["python3", "-c", "print(sum(len(str(i)) for i in range(100000)))"],
    ["python3", "-c", "import threading\nl = threading.Lock()\nn = 0\ndef f():\n global n\n"
     " for i in range(2000):\n  with l: n += 1\nt = [threading.Thread(target=f) for _ in range(8)]\n"
     "[x.start() for x in t]\n[x.join() for x in t]\nprint(n)"],
    ["perl", "-e", "my %h; $h{$_} = $_ x 3 for 1..30000; print scalar(keys %h), qq{\\n}"],
    ["sh", "-c", "ls -R /usr/lib/python3 | sort | md5sum; xz -T2 -1 -c /bin/sh | md5sum"],
    ["sqlite3", ":memory:", "with recursive c(x) as (select 1 union all select x + 1 from c where "
     "x < 30000) select sum(x), count(distinct x % 100) from c"],
    ["git", "--version"],
)


def programs():
    for event in ("malloc=8k", "read=4k", "write=1k", "lock-wait=10us"):
        for command in COMMANDS:
            if shutil.which(command[0]):
                Recording(command, ["-e", event])


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def serve(event, folder):
    port = free_port()
    out = os.path.join(folder, "redis.pnb")
    server = subprocess.Popen([PENUMBRA, "record", "-q", "-o", out, "-e", event, "--",
                               "redis-server",
                               "--port", str(port), "--save", "", "--dir", folder],
                              stdout=subprocess.DEVNULL)
    client = ["redis-cli", "-p", str(port)]
    deadline = time.monotonic() + PATIENCE
    while run([*client, "ping"]).stdout != b"PONG\n":
        expect(time.monotonic() < deadline, "redis-server does not answer")
        time.sleep(0.1)
    load = "".join(f"set key{i} {'x' * 500}\nget key{i}\n" for i in range(2000))
    answers = run(client, input=load.encode()).stdout.split(b"\n")
    expect(answers.count(b"OK") == 2000 and answers.count(b"x" * 500) == 2000, "wrong answers")
    run([*client, "shutdown", "nosave"])
    expect(server.wait(PATIENCE) == 0, "redis-server failed")
    return run([PENUMBRA, "report", "--quick", out])


def servers():
    if not shutil.which("redis-server") or not shutil.which("redis-cli"):
        return
    with tempfile.TemporaryDirectory() as folder:
        for event in ("malloc=4k", "read=4k", "write=4k", "lock-wait=10us"):
            expect(serve(event, folder).returncode == 0, event)


def options():
    def refused(*arguments, says):
        r = run([PENUMBRA, "record", *arguments, "--", "true"])
        expect(r.returncode == 2, f"not refused: {r.returncode}")
        expect(says in r.stderr.decode(), f"{r.stderr.decode()!r} does not say {says!r}")
    refused("-e", "malloc=lots", says="number of bytes")
    refused("-e", "malloc=1k", "-c", "2k", says="two periods")
    refused("-e", "malloc", "-F", "99", says="-F is for time")
    refused("-e", "lock-wait=3parsecs", says="unit")
    refused("-e", "mallok=3k", says='did you mean "malloc"')
    r = Recording(["true"], ["-e", "malloc=2M"])
    expect(r.report["period"] == 2 << 20 and r.report["unit"] == "bytes", "2M is 2 MiB")
    r = Recording(["true"], ["-e", "lock-wait=2ms"])
    expect(r.report["period"] == 2000000 and r.report["unit"] == "nanoseconds", "2ms")
    failed = run([PENUMBRA, "report", "--metric", "live", r.file])
    expect(b"-e malloc" in failed.stderr, "live is of malloc")


def phases():
    r = record("phases", "normal", "240", event="cpu")
    whole = r.samples()
    got = {p["path"]: p for p in r.report["phases"]}
    expect(sorted(got) == ["load", "load/parse", "run"], f"{sorted(got)}")
    expect(got["load"]["begun"] == 4 and got["run"]["begun"] == 1, "begun")
    expect(whole >= 200, f"only {whole} samples")
    for path, wanted in (("load", 1 / 16), ("load/parse", 1 / 16), ("run", 6 / 8)):
        near(got[path]["samples"] / whole, wanted, 0.12, path)
    load = r.json(["--phase", "load"])
    names = {f["name"] for f in load["functions"] if f["total"] > 0.05 * load["samples"]}
    expect({"loads", "parses"} <= names and "runs" not in names, f"--phase load: {names}")
    parse = r.json(["--phase", "load/parse"])
    expect("loads" not in {f["name"] for f in parse["functions"]}, "--phase load/parse")
    expect("warms_up" not in {f["name"] for f in r.report["functions"]}, "samples in a pause")
    expect(r.report["dropped"]["paused"] > 0.5 * whole, "the pause was not counted")
    process = r.report["processes"][0]
    expect(process["pauses"] == 1 and process["paused_ns"] > 0.9 * 8 * 240e6, "pauses")
    folded = run([PENUMBRA, "export", "-f", "folded", "--phase", "run", r.file]).stdout.decode()
    expect("runs" in folded and "loads" not in folded, "export --phase")
    versus = r.json(["--phase", "load", "--versus", "run"])
    expect([p["name"] for p in versus["phases"]] == ["load", "run"], "--versus")
    text = run([PENUMBRA, "report", "--quick", "--by-phase", r.file]).stdout.decode()
    expect("load/parse" in text and "paused    once" in text, text)
    unknown = run([PENUMBRA, "report", "--phase", "nowhere", r.file])
    expect(unknown.returncode and b'"load/parse"' in unknown.stderr, "an unknown phase")


def phase_limits():
    r = record("phases", "many", event="cpu")
    expect(len(r.report["phases"]) == 255, "255 phases at most")
    expect(r.report["processes"][0]["phases_refused"] == 745, "refused")
    r = record("phases", "deep", event="cpu")
    expect(len(r.report["phases"]) == 64 and r.report["processes"][0]["phases_refused"] == 36,
           "depth")
    r = record("phases", "names", event="cpu")
    names = [p["name"] for p in r.report["phases"]]
    expect(len(names) == 5 and names[0] == "" and names[2] == "a/b" and len(names[4]) == 4096,
           f"{names}")
    text = run([PENUMBRA, "report", "--quick", "--by-phase", r.file]).stdout
    expect(b"\x1b" not in text and b"\\x1b[31m" in text, "control characters of a name")


def phase_forks():
    r = record("phases", "fork", "60", event="cpu")
    pid = r.report["processes"][1]["pid"]
    child = r.json(["--process", str(pid)])
    functions = {f["name"]: f["total"] for f in child["functions"]}
    inner = r.json(["--process", str(pid), "--phase", "outer/inner"])
    expect(functions.get("parses", 0) > 0 and functions.get("loads", 0) > 0, f"{functions}")
    seen = {f["name"] for f in inner["functions"] if f["total"]}
    expect("parses" in seen and "loads" not in seen, f"{seen}")


def pause_wall():
    """A nap that spans a pause counts for what is not in it."""
    try:
        r = record("phases", "sleep", event="wall")
    except Failure as failure:
        if "differs" in str(failure) and "needs events inside the kernel" in str(failure):
            return
        raise
    naps = sum(f["total"] for f in r.report["functions"] if f["name"] == "naps")
    seconds = naps * r.report["period"] / 1e9
    paused = r.report["processes"][0]["paused_ns"] / 1e9
    expect(paused >= 0.39, f"paused for {paused} s")
    near(seconds + paused, 1.0, 0.25, "seconds in naps and in the pause")


def header():
    """The header costs a program nothing: it builds everywhere, and runs alone."""
    code = b"#include <penumbra/penumbra.h>\nint main(void) { penumbra_phase_begin(\"a\");" \
           b" penumbra_pause(); penumbra_resume(); penumbra_phase_end(); return 3; }\n"
    kinds = ([], ["-no-pie", "-fno-pie"], ["-static"], ["-static-pie"], ["-O2", "-fno-plt"])
    built = 0
    with tempfile.TemporaryDirectory() as folder:
        program = folder + "/program"
        for compiler, languages in (("gcc", ("c", "c++")), ("clang", ("c", "c++"))):
            for language in languages if shutil.which(compiler) else ():
                standard = "-std=c99" if language == "c" else "-std=c++98"
                for kind in kinds:
                    r = run([compiler, "-x", language, standard, "-pedantic", "-Wall", "-Wextra",
                             "-Werror", *kind, "-I", os.environ["INCLUDE"], "-", "-o", program],
                            input=code)
                    if r.returncode and b"cannot find" in r.stderr:
                        continue  # no static libraries here
                    expect(r.returncode == 0, f"{compiler} {language} {kind}: {r.stderr.decode()}")
                    built += 1
                    expect(run([program]).returncode == 3, f"{kind} does not run alone")
                    if "-static" in kind or "-static-pie" in kind:
                        continue
                    out = folder + "/out.pnb"
                    expect(run([PENUMBRA, "record", "-q", "-o", out, program]).returncode == 3,
                           "status")
                    report = run([PENUMBRA, "report", "--quick", "--by-phase", out]).stdout.decode()
                    expect("paused    once" in report, f"{compiler} {language} {kind}: not found")
    expect(built >= 2, "no compiler")


main({name: function for name, function in list(globals().items())
      if callable(function) and not isinstance(function, type)})
