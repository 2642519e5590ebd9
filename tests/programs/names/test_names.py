#!/usr/bin/env python3
"""test_names.py NAME: what code is called stays in the profile: whatever becomes of the files, wherever they
lie, however the program was started."""
import contextlib
import ctypes
import http.server
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from harness import PATIENCE, PENUMBRA, cpu_used, expect, main, run, wait_for

ROOT = os.geteuid() == 0

# Burns CPU time in outer, into which inner is inlined; line numbers count from the first line here.
SPIN = """\
#include <stdio.h>
#include <time.h>
int system(const char *); static inline __attribute__((always_inline)) unsigned inner(unsigned x)
{
    for (int i = 0; i < 1000; i++)
        x = x * 1664525 + 1013904223 + (x >> 7);
    return x;
}
__attribute__((noinline)) unsigned outer(double seconds)
{
    unsigned x = 1;
    struct timespec t;
    do {
        for (int i = 0; i < 100; i++)
            x = inner(x);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    } while (t.tv_sec + t.tv_nsec / 1e9 < seconds);
    return x;
}
"""
MAIN = """
unsigned outer(double seconds);
int main(int argc, char **argv)
{
    BEFORE
    return outer(0.25) == 12345;
}
"""


class Folder:
    """A folder to build and record in, removed in the end."""

    def __init__(self):
        self.temporary = tempfile.TemporaryDirectory(dir="/var/tmp")
        self.path = self.temporary.name
        os.chmod(self.path, 0o755)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.temporary.cleanup()

    def at(self, name):
        return os.path.join(self.path, name)

    def sh(self, command, **more):
        result = run(["sh", "-c", command], cwd=self.path, **more)
        expect(result.returncode == 0, f"{command}: {result.stderr.decode()}")
        return result.stdout.decode()

    def write(self, name, text):
        with open(self.at(name), "w", encoding="ascii") as file:
            file.write(text)

    def build(self, name="spin", before="", flags="-g -O2"):
        self.write(name + ".c", SPIN + MAIN.replace("BEFORE", before))
        self.sh(f"cc {flags} -Wl,--build-id -o {name} {name}.c -ldl")

    def record(self, *command, options=(), output="out.pnb", status=None, **more):
        result = run([PENUMBRA, "record", "-o", self.at(output), *options, "--", *command],
                     cwd=more.pop("cwd", self.path), **more)
        if status is not None:
            expect(result.returncode == status,
                   f"record: {result.returncode}: {result.stderr.decode()}")
        return result.stderr.decode()

    def report(self, *options, file="out.pnb", cwd="/"):
        result = run([PENUMBRA, "report", "--json", *options, self.at(file)], cwd=cwd)
        expect(result.returncode == 0, f"report: {result.stderr.decode()}")
        return json.loads(result.stdout)

    def names(self, *options, file="out.pnb"):
        return {f["name"]: f["self"] for f in self.report(*options, file=file)["functions"]}


def share(names, *wanted):
    return sum(names.get(w, 0) for w in wanted) / max(1, sum(names.values()))


def test_kept():
    """Deleted, stripped or built anew: function, inlined function, file and line stay."""
    for fate in ("rm spin", "strip spin",
                 "sed -i s/inner/other/g spin.c && cc -O1 -g -o spin spin.c"):
        with Folder() as folder:
            folder.build()
            folder.record(folder.at("spin"))
            text = [PENUMBRA, "report", "--lines", folder.at("out.pnb")]
            before, lines = folder.report(), run(text).stdout.decode()
            expect(share(folder.names(), "inner", "outer") > 0.7, f"{folder.names()}")
            expect("spin.c:6" in lines, lines)
            folder.sh(fate)
            after = folder.report()
            expect(before["functions"] == after["functions"],
                   f"{fate}:\n{before['functions']}\n{after['functions']}")
            expect(run(text).stdout.decode() == lines, run(text).stdout.decode())
            expect(not any("spin" in w for w in after["warnings"]), f"{after['warnings']}")


def test_not_kept():
    """--no-names."""
    with Folder() as folder:
        folder.build()
        folder.record(folder.at("spin"), options=["--no-names"])
        expect(share(folder.names(), "inner", "outer") > 0.7, "its file is there")
        folder.sh("rm spin")
        expect(share(folder.names(), "inner", "outer") == 0, "its file is gone")


def test_removed_meanwhile():
    """The file is gone, or another one, before the recording ends."""
    for fate in ("rm spin", "cp /bin/true new && mv new spin"):
        with Folder() as folder:
            # the collector has seen the file by then
            folder.build(before=f'if (system("sleep 0.5; {fate}")) return 9;')
            folder.sh("sed -i '1i #include <stdlib.h>' spin.c && cc -g -O2 -Wl,--build-id -o spin spin.c")
            folder.record("./spin", options=["--no-follow"])
            expect(share(folder.names(), "inner", "outer") > 0.7, f"{fate}: {folder.names()}")


def test_symbolized():
    """Debug information that comes later."""
    with Folder() as folder:
        folder.build()
        folder.sh("mkdir kept && objcopy --only-keep-debug spin kept/debug && strip spin")
        folder.record(folder.at("spin"))
        expect(share(folder.names(), "inner", "outer") == 0, "there is nothing to know")
        build_id = folder.sh("readelf -n spin | sed -n 's/.*Build ID: //p'").strip()
        folder.sh(f"mkdir -p d/.build-id/{build_id[:2]} && cp kept/debug d/.build-id/{build_id[:2]}/{build_id[2:]}.debug")
        folder.sh("rm -r spin kept")
        result = run([PENUMBRA, "symbolize", "--debug-dir", folder.at("d"), "-o",
                      folder.at("named.pnb"),
                      folder.at("out.pnb")])
        expect(result.returncode == 0, result.stderr.decode())
        expect("debug information" in result.stderr.decode(), result.stderr.decode())
        folder.sh("rm -r d")
        expect(share(folder.names(file="named.pnb"), "inner", "outer") > 0.7,
               f"{folder.names(file='named.pnb')}")
        expect(share(folder.names(), "inner", "outer") == 0, "the profile itself was changed")
        # Again, with nothing at hand: nothing is lost. In place.
        result = run([PENUMBRA, "symbolize", "-q", folder.at("named.pnb")])
        expect((result.returncode, result.stderr) == (0, b""), result.stderr.decode())
        expect(share(folder.names(file="named.pnb"), "inner", "outer") > 0.7,
               f"{folder.names(file='named.pnb')}")


def test_debuginfod():
    """A server has the debug file of a program that is gone."""
    try:
        ctypes.CDLL("libdebuginfod.so.1")
    except OSError:
        print("no libdebuginfod: skipped")
        return
    with Folder() as folder:
        folder.build()
        folder.sh("objcopy --only-keep-debug spin debug && strip spin")
        folder.record(folder.at("spin"))
        build_id = folder.sh("readelf -n spin | sed -n 's/.*Build ID: //p'").strip()
        folder.sh("rm spin")
        with open(folder.at("debug"), "rb") as file:
            debug = file.read()
        asked = []

        class Server(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                asked.append(self.path)
                body = answer if self.path == f"/buildid/{build_id}/debuginfo" else None
                self.send_response(200 if body else 404)
                self.send_header("Content-Length", str(len(body or b"")))
                self.end_headers()
                self.wfile.write(body or b"")

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        other = debug.replace(bytes.fromhex(build_id), bytes.fromhex(build_id)[::-1])
        for turn, (answer, named) in enumerate(((b"", False), (b"no ELF file", False), (other, False), (debug, True))):
            asked.clear()
            environment = {**os.environ, "DEBUGINFOD_URLS": f"http://127.0.0.1:{server.server_address[1]}",
                           "DEBUGINFOD_CACHE_PATH": folder.at(f"cache{turn}")}
            out = f"named{turn}.pnb"
            result = run([PENUMBRA, "symbolize", "-o", folder.at(out), folder.at("out.pnb")], env=environment)
            expect(result.returncode == 0, result.stderr.decode())
            expect(f"/buildid/{build_id}/debuginfo" in asked, f"the server is asked: {asked}")
            expect((share(folder.names(file=out), "inner", "outer") > 0.7) == named, f"{turn}: {folder.names(file=out)}")
        server.shutdown()
        server.server_close()


def test_symbolize_errors():
    for arguments, status, said in ((["--outptu", "x"], 2, "did you mean --output"),
                                    (["a", "b"], 2, "one file"),
                                    (["/nonexistent"], 127, "/nonexistent"),
                                    (["-o"], 2, "needs a value"),
                                    (["--help"], 0, "")):
        result = run([PENUMBRA, "symbolize", *arguments])
        expect((result.returncode != 0) == (status != 0) and said in result.stderr.decode(),
               f"{arguments}: {result.returncode} {result.stderr.decode()}")


def test_merged():
    """Each of two builds keeps its names in the sum."""
    with Folder() as folder:
        folder.build()
        folder.record(folder.at("spin"))
        folder.write("other.c", (SPIN + MAIN).replace("BEFORE",
                                                      "").replace("outer", "second").replace("inner", "one"))
        folder.sh("cc -g -O2 -Wl,--build-id -o spin other.c")
        folder.record(folder.at("spin"), output="other.pnb")
        folder.sh("rm spin")
        expect(run([PENUMBRA, "merge", "-o", folder.at("sum.pnb"), folder.at("out.pnb"),
                    folder.at("other.pnb")]).returncode
               == 0, "merge failed")
        names = folder.names(file="sum.pnb")
        expect(share(names, "inner", "outer") > 0.3 and share(names, "one", "second") > 0.3,
               f"{names}")


def test_exact():
    """Tables of whole runs, too."""
    with Folder() as folder:
        folder.build()
        folder.record(folder.at("spin"), options=["--exact"])
        before = folder.report()["functions"]
        folder.sh("rm spin")
        expect(folder.report()["functions"] == before, "names were lost")
        expect({"inner", "outer"} & {f["name"] for f in before}, f"{before}")


def test_slow():
    """What takes too long is left out, the profile comes all the same, and symbolize adds the rest."""
    with Folder() as folder:
        folder.build()
        # Whoever opens the debug file waits for its writer.
        folder.sh("objcopy --only-keep-debug spin spin.debug && strip spin && objcopy --add-gnu-debuglink=spin.debug spin"
                  " && mv spin.debug kept && mkdir .debug && mkfifo .debug/spin.debug")
        begun = time.monotonic()
        said = folder.record(folder.at("spin"))
        took = time.monotonic() - begun
        expect("penumbra symbolize" in said, said)
        expect(took < 120, f"it took {took} s")
        folder.sh("rm .debug/spin.debug && mv kept .debug/spin.debug")
        expect(run([PENUMBRA, "symbolize", "-q", folder.at("out.pnb")]).returncode == 0,
               "symbolize failed")
        folder.sh("rm -r spin .debug")
        expect(share(folder.names(), "inner", "outer") > 0.7, f"{folder.names()}")


def test_asked_to_end():
    """A signal that comes while names are read reaches the program, and ends the reading; the
    profile is there."""
    with Folder() as folder:
        folder.write("on.c", SPIN + "int main(void) { for (;;) outer(1e9); }\n")
        folder.sh("cc -g -O2 -Wl,--build-id -o on on.c && objcopy --only-keep-debug on on.debug && strip on"
                  " && objcopy --add-gnu-debuglink=on.debug on && rm on.debug && mkdir .debug && mkfifo .debug/on.debug")
        recorder = subprocess.Popen([PENUMBRA, "record", "-q", "--duration", "0.3", "-o",
                                     folder.at("out.pnb"), "./on"],
                                    cwd=folder.path)
        # The program, and who reads names.
        while len(children(recorder.pid)) < 2 and recorder.poll() is None:
            time.sleep(0.01)
        recorder.send_signal(signal.SIGTERM)
        expect(recorder.wait(PATIENCE) == -signal.SIGTERM, f"status {recorder.returncode}")
        folder.sh("rm -r .debug")
        expect(folder.report()["samples"] > 0, "no samples")


def children(pid):
    with contextlib.suppress(OSError):
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return file.read().split()
    return []


def test_relative():
    """Libraries by relative paths, by LD_LIBRARY_PATH and dlopen, after chdir."""
    with Folder() as folder:
        folder.write("k.c", SPIN)
        folder.write("by_link.c",
                     MAIN.replace("BEFORE", 'extern int chdir(const char *); if (chdir("/")) return 9;'))
        folder.write("by_open.c", "#include <dlfcn.h>\n#include <unistd.h>\nint main(void) {\n"
                     'void *l = dlopen("./libk.so", RTLD_NOW); if (!l || chdir("/")) return 9;\n'
                     'unsigned (*f)(double) = (unsigned (*)(double))dlsym(l, "outer"); return f(0.25) == 12345; }\n')
        folder.write("by_ctypes.py",
                     'import ctypes, os\nl = ctypes.CDLL("./libk.so")\nos.chdir("/")\n'
                     "l.outer.argtypes = [ctypes.c_double]\nl.outer(0.3)\n")
        folder.sh("cc -g -O2 -shared -fPIC -Wl,--build-id -o libk.so k.c && cc -O2 -o by_link by_link.c -L. -lk"
                  " && cc -O2 -o by_open by_open.c -ldl")
        for command in (["./by_link"], ["./by_open"], [sys.executable, "by_ctypes.py"]):
            for names in ([], ["--no-names"]):
                folder.record(*command, options=names, env={**os.environ, "LD_LIBRARY_PATH": "."})
                expect(share(folder.names(), "inner", "outer") > 0.5,
                       f"{command}: {folder.names()}")
                report = folder.report()
                expect(not any("libk" in w for w in report["warnings"]), f"{report['warnings']}")


def loader():
    for path in ("/lib64/ld-linux-x86-64.so.2",):
        if os.path.exists(path):
            return path
    return None


def test_by_loader():
    """ld.so PROGRAM is the program."""
    with Folder() as folder:
        folder.build()
        for options in ([], ["--library-path", "/nonexistent"]):
            for names in ([], ["--no-names"]):
                folder.record(loader(), *options, folder.at("spin"), options=names)
                expect(share(folder.names(), "inner", "outer") > 0.7, f"{folder.names()}")
                report = folder.report()
                expect(report["processes"][0]["name"] == "spin", f"{report['processes']}")
                expect(not any("ld-linux" in w for w in report["warnings"]),
                       f"{report['warnings']}")
        folder.record(loader(), "./spin")
        expect(share(folder.names(), "inner", "outer") > 0.7, f"{folder.names()}")


def test_interpreter():
    """glibc's loader under another name, and not glibc's loader under its own."""
    with Folder() as folder:
        folder.build()
        shutil.copy(loader(), folder.at("ld.so"))
        os.symlink(loader(), folder.at("link"))
        for name in ("ld.so", "link"):
            folder.build(flags=f"-g -O2 -Wl,--dynamic-linker={folder.at(name)}")
            folder.record("./spin", status=0)
            expect(share(folder.names(), "inner", "outer") > 0.7, f"{name}: {folder.names()}")
        folder.record(folder.at("ld.so"), "./spin", status=0)
        expect(share(folder.names(), "inner", "outer") > 0.7, f"{folder.names()}")
        folder.write("not.c", "void _start(void) { __asm__(\"mov $60, %eax; xor %edi, %edi; syscall\"); }")
        folder.sh("cc -shared -fPIC -nostdlib -o ld-linux-x86-64.so.2 not.c")
        folder.build(flags=f"-g -O2 -Wl,--dynamic-linker={folder.at('ld-linux-x86-64.so.2')}")
        said = folder.record("./spin", status=122)
        expect("not glibc" in said, said)


def test_go():
    """A static program is told how to be built otherwise, if it has the note of Go's linker."""
    with Folder() as folder:
        folder.write("go.c", '__asm__(".section .note.go.buildid,\\"a\\",@note\\n.long 4,4,4\\n.asciz \\"Go\\"\\n.zero 1\\n'
                     '.long 0\\n.text\\n");\nvoid _start(void) { for (;;); }\n')
        folder.write("c.c", "void _start(void) { for (;;); }\n")
        for name, told in (("go", True), ("c", False)):
            folder.sh(f"cc -static -nostdlib -Wl,--build-id=none -o {name} {name}.c")
            said = folder.record(f"./{name}", status=120)
            expect(("-linkmode external" in said) == told, said)


def test_zstd():
    """Debug sections compressed with zstd, in the file and beside it."""
    with Folder() as folder:
        folder.build()
        text = [PENUMBRA, "report", "--lines", folder.at("out.pnb")]
        if run(["objcopy", "--compress-debug-sections=zstd", folder.at("spin"),
                folder.at("packed")]).returncode:
            print("objcopy does not know zstd: skipped")
            sys.exit(77)
        folder.sh("mv packed spin")
        folder.record("./spin", options=["--no-names"])
        expect("spin.c:6" in run(text).stdout.decode(), run(text).stdout.decode())
        folder.sh("objcopy --only-keep-debug spin spin.debug && strip spin && objcopy --add-gnu-debuglink=spin.debug spin")
        folder.record("./spin")
        expect("spin.c:6" in run(text).stdout.decode(), run(text).stdout.decode())


# Copies the code of outer to memory, makes it known as jit_outer by a map or a dump, says "ready",
# and runs it until its standard input ends.
JIT = """\
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static const unsigned char code[] = { /* mov $300000, %ecx; 1: dec %ecx; jnz 1b; ret */
    0xb9, 0xe0, 0x93, 0x04, 0x00, 0xff, 0xc9, 0x75, 0xfc, 0xc3 };
struct { uint32_t magic, version, size, machine, pad, pid; uint64_t time, flags; } head =
    { 0x4a695444, 1, 40, 62, 0, 0, 0, 0 };
struct { uint32_t kind, size; uint64_t time; uint32_t pid, tid; uint64_t vma, address, bytes, index; } load;
int main(int argc, char **argv)
{
    unsigned char *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char path[200];
    struct pollfd in = { 0, POLLIN, 0 };
    memcpy(at, code, sizeof code);
    if (!strcmp(argv[1], "map")) {
        snprintf(path, sizeof path, "/tmp/perf-%d.map", getpid());
        FILE *f = fopen(path, "w");
        fprintf(f, "%lx %zx jit_outer\\n", (unsigned long)at, sizeof code);
        fclose(f);
    } else {
        snprintf(path, sizeof path, "%s/jit-%d.dump", argv[2], getpid());
        int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
        static const char name[] = "jit_outer";
        load.size = sizeof load + sizeof name + sizeof code;
        load.vma = load.address = (uintptr_t)at;
        load.bytes = sizeof code;
        head.pid = getpid();
        if (write(fd, &head, sizeof head) < 0 || write(fd, &load, sizeof load) < 0 ||
            write(fd, name, sizeof name) < 0 || write(fd, code, sizeof code) < 0)
            return 9;
        if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
            return 9;
    }
    puts("ready");
    fflush(stdout);
    while (!poll(&in, 1, 0))
        ((void (*)(void))at)();
    if (!strcmp(argv[1], "map"))
        unlink(path);
    return 0;
}
"""


@contextlib.contextmanager
def jit(folder, *command):
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               cwd=folder.path)
    try:
        expect(process.stdout.readline() == b"ready\n", "it has not begun")
        yield process
    finally:
        process.stdin.close()
        process.wait(PATIENCE)


def attach(folder, pid):
    for seconds in ("0.5", "5", "30"):
        result = run([PENUMBRA, "record", "-q", "-o", folder.at("out.pnb"), "-p", str(pid),
                      "--duration", seconds])
        expect(result.returncode == 0, result.stderr.decode())
        if folder.report()["samples"] >= 20:
            return folder.names()
    return folder.names()


def test_jit_before():
    """A map and a dump that were complete before the recording."""
    with Folder() as folder:
        folder.write("jit.c", JIT)
        folder.sh("cc -O2 -o jit jit.c")
        for how in ("map", "dump"):
            with jit(folder, "./jit", how, folder.path) as process:
                time.sleep(1.1)  # older than the recording by more than any clock's tick
                names = attach(folder, process.pid)
                expect(share(names, "jit_outer") > 0.7, f"{how}: {names}")


def test_jit_dump():
    """A dump of a program that is started."""
    with Folder() as folder:
        folder.write("jit.c", JIT)
        folder.sh("cc -O2 -o jit jit.c")
        process = subprocess.Popen([PENUMBRA, "record", "-q", "-o", folder.at("out.pnb"), "--",
                                    "./jit", "dump", folder.path],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder.path)
        expect(process.stdout.readline() == b"ready\n", "it has not begun")
        pid = inner_pid(process.pid)
        wait_for(lambda: cpu_used(pid) >= 1, "it does not work")
        process.stdin.close()
        process.wait(PATIENCE)
        expect(share(folder.names(), "jit_outer") > 0.7, f"{folder.names()}")


def inner_pid(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        children = file.read().split()
    return inner_pid(int(children[0])) if children else pid


def test_container():
    """In another mount and pid namespace: its map in its /tmp, under its number, and its files."""
    if not ROOT or run(["unshare", "-mpf", "--mount-proc", "true"]).returncode:
        print("namespaces cannot be made here: skipped")
        sys.exit(77)
    with Folder() as folder:
        folder.write("jit.c", JIT)
        folder.sh("cc -O2 -o jit jit.c")
        folder.build("spin", "sleep(0);", "-g -O2 -include unistd.h -Douter=outer_ -DX")
        script = "mount -t tmpfs none /tmp && mount -t tmpfs none /mnt && cp jit /mnt/jit && /mnt/jit map; exit $?"
        with jit(folder, "unshare", "-mpf", "--mount-proc", "sh", "-c", script) as process:
            pid = inner_pid(process.pid)
            time.sleep(1.1)
            names = attach(folder, pid)
            expect(share(names, "jit_outer") > 0.7, f"{names}")
            functions = {f["name"] for f in folder.report()["functions"]}
            expect("main" in functions, f"its file is /mnt/jit there: {functions}")
        # Ended, with all of its namespace.
        expect("main" in {f["name"] for f in folder.report()["functions"]}, "names were lost")


main({name[5:]: value for name, value in list(globals().items()) if name.startswith("test_")})
