"""Programs that were compiled with a sanitizer: what they print, their reports and their children are the same
with and without us, and they are recorded. usage: test_sanitizers.py TEST; tests/programs/runtime has the harness."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.environ["HARNESS"])
from harness import PENUMBRA, Recording, expect, main, natives, run, target  # noqa: E402

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "target.c")
FOLDER = tempfile.TemporaryDirectory()
# Where the sanitizer's library is looked for is the program's own affair (DT_RUNPATH, of clang's).
CLANG = ["clang", "-shared-libsan"]
KINDS = {"asan": ["gcc", "-fsanitize=address"],
         "asan-ubsan": ["gcc", "-fsanitize=address,undefined"],
         "tsan": ["gcc", "-fsanitize=thread"], "lsan": ["gcc", "-fsanitize=leak"],
         "ubsan": ["gcc", "-fsanitize=undefined"], "clang-asan": [*CLANG, "-fsanitize=address"],
         "clang-static": ["clang", "-fsanitize=address"]}


def build(kind):
    """The target, compiled with this sanitizer, by the first of these tests; None if the machine does not have it."""
    program, fresh = target(kind), os.path.join(FOLDER.name, kind)
    if os.path.exists(program) and os.path.getmtime(program) > os.path.getmtime(SOURCE):
        return program
    compiler = KINDS[kind]
    if not shutil.which(compiler[0]):
        return None
    extra = []
    if "-shared-libsan" in compiler:
        where = run(["clang", "-print-file-name=libclang_rt.asan-x86_64.so"]).stdout.decode().strip()
        extra = [f"-Wl,-rpath,{os.path.dirname(where)}"]
    done = run([*compiler, "-g", "-O1", "-fno-omit-frame-pointer", "-pthread", SOURCE, "-o",
                fresh, "-ldl", *extra])
    if done.returncode or run([fresh]).returncode != 7:
        return None
    shutil.copy(fresh, f"{program}.{os.getpid()}")
    os.replace(f"{program}.{os.getpid()}", program)
    return program


def built():
    programs = {kind: build(kind) for kind in KINDS}
    if not programs["asan"]:
        print("SKIP: gcc's AddressSanitizer is not here")
        sys.exit(77)
    return {kind: program for kind, program in programs.items() if program}


def plain(text):
    """Without what differs between any two runs: addresses, processes, threads; the order of variables; what shells say
    of who has started them; what a stack seems to hold above main, in code without frame pointers."""
    text = re.sub(rb"(\bmain /[^\n]*\n)(?: +#\d+ [^\n]*\n)+|\+0x[0-9a-f]+", rb"\1", text)
    lines = [line for line in text.split(b"\n") if not line.startswith(b"_=")]
    text = b"\n".join(lines if b"Sanitizer" in text else sorted(lines))
    # Whether the other thread has ended by then is chance.
    text = re.sub(rb", (finished|running)\) created by", b", #) created by", text)
    return re.sub(rb"(0x)?[0-9a-f]{6,}|(?<===)\d+(?===)|(pid|tid)=\d+|\(\d+\)", b"#", text)


def seen(done):
    return done.returncode, plain(done.stdout), plain(done.stderr)


def same(command, options=(), **more):
    """Runs it natively (once for all options, and again where something differs) and recorded, and compares status
    and output."""
    out = os.path.join(FOLDER.name, "same.pnb")
    key = (tuple(command), str(more))
    known = natives.get(key)
    native = known or run(command, **more)
    recorded = run([PENUMBRA, "record", "-q", "-o", out, *options, "--", *command], **more)
    if known and seen(native) != seen(recorded):
        native = run(command, **more)
    natives[key] = native
    for what, a, b in zip(("status", "stdout", "stderr"), seen(native), seen(recorded)):
        expect(a == b, f"{command}: {what} differs:\n native   {a!r}\n recorded {b!r}")
    return native


def launched():
    """The program that is started is recorded."""
    for kind, program in built().items():
        r = Recording([program, "spin"])
        expect(r.native.returncode == 9, r.native)
        expect(r.samples() > 30 and r.total("spin") > 0.5 * r.samples(),
               f"{kind}: {r.samples()} samples")
        same([program, "load"])
        same([program, "env"])


def reports():
    """What a sanitizer reports holds no frames of ours, and all of the program's."""
    for kind, program in built().items():
        for what in ("report", "leak"):
            done = same([program, what])
            reports_it = {"report": ("asan", "tsan", "clang"),
                          "leak": ("asan", "lsan", "clang")}[what]
            expect(not kind.startswith(reports_it) or b"Sanitizer" in done.stderr,
                   f"{kind}: {done}")


def leaks():
    """What LeakSanitizer finds is not hidden by samples that are due while it searches; they go on
    afterwards."""
    for kind, program in built().items():
        if not kind.startswith(("asan", "lsan", "clang")):
            continue
        native = run([program, "leak"])
        options = ("-q", "-o", os.path.join(FOLDER.name, "leaks.pnb"), "-F", "20000")
        for i in range(40 if kind == "lsan" else 5):
            recorded = run([PENUMBRA, "record", *options, "--", program, "leak"])
            expect(plain(recorded.stderr) == plain(native.stderr),
                   f"{kind} {i}: {native} {recorded}")
        searched = run([PENUMBRA, "record", *options, "--", program, "search"])
        expect(searched.stdout.count(b"1\n") == 20 and searched.stdout.count(b"spun") == 2,
               f"{kind}: {searched}")
        functions = json.loads(run([PENUMBRA, "report", "--json", "--quick",
                                    options[2]]).stdout)["functions"]
        expect(sum(f["total"] for f in functions if f["name"] == "spin") > 200,
               f"{kind}: {functions}")


def children():
    """So are programs that it, or an ordinary one, executes."""
    everything = built()
    for kind, program in everything.items():
        script = os.path.join(FOLDER.name, "script")
        with open(script, "w") as f:
            f.write(f"#!{program}\n")
        os.chmod(script, 0o755)
        for command in (["sh", "-c", f"{program} env; echo $?"], ["env", "-i", program, "env"],
                        [script],
                        [everything["asan"], "system", f"{program} env"],
                        *([everything["asan"], way, program, "env"]
                          for way in ("fork", "vfork", "spawn", "raw")),
                        *([everything["asan"], way, script] for way in ("fork", "spawn")),
                        [program, "fork", "/usr/bin/env"], [program, "raw", "/usr/bin/env"]):
            same(command)
        r = Recording(["sh", "-c", f"{program} spin; exit $?"])
        names = [p["name"] for p in r.report["processes"]]
        expect(kind in names and r.total("spin") > 0.5 * r.samples(),
               f"{kind}: {names}, {r.samples()} samples")


def preloaded():
    """What was to be preloaded anyway is, in its own place."""
    program = built()["asan"]
    first = run(["gcc", "-print-file-name=libasan.so"]).stdout.decode().strip()
    library = os.path.join(FOLDER.name, "nothing.so")
    subprocess.run(["gcc", "-shared", "-fPIC", "-xc", "/dev/null", "-o", library], check=True)
    quiet = dict(os.environ, ASAN_OPTIONS="detect_leaks=0")
    for value in (first, f"{first}:{library}", f"{first} {library}", library, f"{library}:{first}",
                  "no-such.so",
                  f"no-such.so {first}"):
        # Not penumbra itself, only what it starts has the variable.
        for command in ([program, "env"], [program, "fork", program, "env"], ["/usr/bin/env"],
                        ["sh", "-c", f"{program} env; env"]):
            same(["env", f"LD_PRELOAD={value}", *command], env=quiet)
    for value in (library, f"{library} {library}"):
        same(["/usr/bin/env"], env=dict(quiet, LD_PRELOAD=value))


def passed_on():
    """A static program passes its environment on to one that must have the sanitizer first."""
    busybox = shutil.which("busybox")
    if not busybox or b"not a dynamic" not in run(["ldd", busybox]).stderr:
        print("SKIP: no static busybox")
        sys.exit(77)
    for program in built().values():
        done = run([PENUMBRA, "record", "-q", "-o", os.path.join(FOLDER.name, "out.pnb"), "sh",
                    "-c",
                    f"busybox sh -c '{program}'"])
        expect(done.returncode == 7 and not done.stderr, done)


def carriers():
    """The engine, and triggers of calls."""
    for kind, program in built().items():
        for options in (["--exact"], ["--exact", "--tool", "calls"], ["--carrier", "burst"],
                        ["--carrier", "shadow"], ["-e", "malloc"], ["-e", "lock-wait"],
                        ["-e", "write"]):
            same([program, "brief"], options)
            same([program, "fork", program, "env"], options)


if __name__ == "__main__":
    main({f.__name__: f for f in (launched, reports, leaks, children, preloaded, passed_on,
                                  carriers)})
