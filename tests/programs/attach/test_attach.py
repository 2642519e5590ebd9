#!/usr/bin/env python3
"""test_attach.py NAME: `penumbra record -p` on programs that run: what they do is what they do without
it, all their threads are seen, and nothing stays behind. ATTACHES=N: how often where it is repeated."""
import contextlib
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from harness import PATIENCE, Failure, PENUMBRA, cpu_used, expect, main, run, target, wait_for

ATTACHES = int(os.environ.get("ATTACHES", "10"))
ROOT = os.geteuid() == 0
WARM = 10  # rounds after which the runtime has all the buffers that it uses in turn


class Program:
    """A program that runs: stopped at the end of a `with`, however that ends."""

    def __init__(self, *command, ready=True, **more):
        more.setdefault("stdin", subprocess.PIPE)
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        **more)
        self.folder = tempfile.TemporaryDirectory()
        os.chmod(self.folder.name, 0o777)
        self.file = os.path.join(self.folder.name, "out.pnb")
        self.pid = self.process.pid
        if ready:
            expect(self.process.stdout.readline() == b"ready\n", "the program has not begun")

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait()

    def record(self, *options, status=0, pid=None, around=()):
        result = run([*around, PENUMBRA, "record", "-q", "-o", self.file, "-p",
                      str(pid or self.pid),
                      *options])
        expect(result.returncode == status,
               f"record: {result.returncode}: {result.stderr.decode()}")
        return result.stderr.decode()

    def report(self):
        result = run([PENUMBRA, "report", "--json", "--quick", self.file])
        expect(result.returncode == 0, f"report failed: {result.stderr.decode()}")
        return json.loads(result.stdout)

    def end(self, data=b""):
        """Ends standard input; what was printed, its lines sorted, and the status."""
        out, _ = self.process.communicate(data, timeout=PATIENCE)
        return sorted(out.decode().splitlines()), self.process.returncode

    def status(self, field, tid=None):
        with open(f"/proc/{self.pid}/task/{tid or self.pid}/status", encoding="ascii") as file:
            for line in file:
                if line.startswith(field + ":"):
                    return line.split()[1]
        raise Failure(f"no {field}")

    def compute(self, seconds):
        """Waits until the program has used so much CPU time from now on."""
        begun = cpu_used(self.pid)
        wait_for(lambda: cpu_used(self.pid) - begun >= seconds, "the program does not compute")

    def footprint(self):
        with open(f"/proc/{self.pid}/maps", encoding="utf-8") as file:
            maps = len(file.readlines())
        return {"maps": maps, "descriptors": len(os.listdir(f"/proc/{self.pid}/fd")),
                "kilobytes": int(self.status("VmSize"))}

    def handles_trap(self):
        return bool(int(self.status("SigCgt"), 16) >> (signal.SIGTRAP - 1) & 1)


def self_of(report, name):
    return sum(f["self"] for f in report["functions"] if f["name"] == name)


def test_waits():
    """No call is interrupted, by whatever way a thread waits."""
    with Program(target("attach-waits")) as native:
        expected = native.end()
    with Program(target("attach-waits")) as program:
        for _ in range(3):
            program.record("--duration", "0.05")
        found = program.end()
    expect(found == expected, f"native {expected}\nattached {found}")
    expect("SIGTRAP default 1 0" in expected[0], f"what a native run says: {expected}")
    with Program("sleep", "100", ready=False) as program: # no rate would see it
        wait_for(lambda: program.status("Name") == "sleep" and program.status("State") == "S",
                 "it does not sleep")
        said = run([PENUMBRA, "record", "-e", "wall", "-o", program.file, "-p", str(program.pid),
                    "--duration", "1"]).stderr.decode()
    seen = "nothing was sampled" not in said if "from outside" in said else "no thread that is recorded woke up in" in said
    expect(seen and "-F" not in said, said)


def test_works():
    """50 threads that are there, others that come and go: all are seen, in the right proportion."""
    with Program(target("attach-works"), "50") as program:
        there = {int(t) for t in os.listdir(f"/proc/{program.pid}/task")}
        for seconds in ("2", "8", "30"):
            program.record("--duration", seconds)
            report = program.report()
            seen = {t["tid"] for t in report["threads"] if t["samples"] or t["cpu_ns"]}
            heavy, light = self_of(report, "heavy"), self_of(report, "light")
            if len(seen & there) >= 50 and heavy + light >= 200:
                break
        expect(len(seen & there) >= 50, f"only {len(seen & there)} of 50 threads were seen")
        share = heavy / (heavy + light)
        # Some samples come late in a row, so they are not quite independent.
        tolerance = 0.05 + 5 * math.sqrt(0.75 * 0.25 / (heavy + light))
        expect(abs(share - 0.75) < tolerance, f"heavy has {share}, not 0.75 +- {tolerance}")
        expect(not program.handles_trap(), "the handler is still there")
        expect(program.end() == (["end 0 broken 0"], 0), "the program was disturbed")


def test_later():
    """Threads that begin after the attaching do all the work, begun by one that does nothing else."""
    with Program(target("attach-later")) as program:
        program.record("--duration", "3")
        report = program.report()
        expect(report["samples"] >= 20, f"{report['samples']} samples")
        for name in ("by_pthread", "by_c11"):
            share = self_of(report, name) / report["samples"]
            expect(0.2 < share < 0.8, f"{name} has {share}")
        expect(program.end() == (["end 0"], 0), "the program was disturbed")


def busy(*arguments, function):
    with Program(target("attach-busy"), *arguments) as program:
        for seconds in ("0.5", "5", "30"):
            program.record("--duration", seconds)
            report = program.report()
            if report["samples"] >= 20:
                break
        total = sum(f["total"] for f in report["functions"] if f["name"] == function)
        expect(total > 0.9 * report["samples"] > 0, f"{function}: {total} of {report['samples']}")
        expect(any("calls are not counted" in note for note in report["notes"]),
               f"notes are {report['notes']}")
        program.process.terminate()
        expect(program.end() == (["SIGTRAP default 1"], 5), "the program was disturbed")


def test_busy():
    busy(function="compute")


def test_allocating():
    """A thread that is inside malloc nearly always."""
    busy("malloc", function="allocate")


def test_masked():
    """A thread that blocks all signals after it was found: what waits for it is taken away when we
    leave."""
    with Program(target("attach-busy"), "masked") as program:
        program.record("--duration", "1", "-F", "4000")
        expect(not program.handles_trap(), "the handler is still there")
        for tid in os.listdir(f"/proc/{program.pid}/task"):
            pending = program.status("SigPnd", tid)
            expect(int(pending, 16) == 0, f"signals {pending} wait for thread {tid}")
        program.process.terminate()
        expect(program.end() == (["SIGTRAP default 1", "masked"], 5), "the program was disturbed")


def test_python():
    code = ("import sys, threading\n"
            "print('ready', flush=True)\n"
            "def f(n): return n if n < 2 else f(n - 1) + f(n - 2)\n"
            "t = threading.Thread(target=sys.stdin.read); t.start()\n"
            "while t.is_alive(): assert f(15) == 610\n"
            "print('fine')\n")
    with Program(sys.executable, "-c", code) as program:
        for _ in range(5):
            program.record("--duration", "0.1")
        program.record("--duration", "1")
        expect(program.report()["samples"] > 0, "no samples")
        expect(program.end() == (["fine"], 0), "python was disturbed")


def footprint_stays(program, attaches, **options):
    """What attaching costs once is paid after some rounds; from then on nothing may grow."""
    for _ in range(WARM):
        program.record("--duration", "0.01")
    before = program.footprint()
    for _ in range(attaches):
        program.record("--duration", "0.01", **options)
    after = program.footprint()
    # The heap of a program that works may grow by itself, by an arena.
    expect(after["maps"] <= before["maps"] + 6
           and after["kilobytes"] <= before["kilobytes"] + 140000 and
           after["descriptors"] <= before["descriptors"] + 4, f"before {before}, after {after}")


def attached_again(program):
    """Footprints before and after."""
    before = program.footprint()
    for _ in range(ATTACHES):
        program.record("--duration", "0.01")
    return before, program.footprint()


def is_kept(before, after):
    """What is left in place of the counters is as large as they were, give or take."""
    return after["maps"] == before["maps"] and after["descriptors"] == before["descriptors"] and \
        abs(after["kilobytes"] - before["kilobytes"]) < 2048


def test_again():
    """Again and again: no mapping, descriptor or memory is left."""
    with Program(target("attach-busy")) as program:
        for _ in range(WARM):
            program.record("--duration", "0.01")
        # On a busy machine the last round before may have ended before it was in the program: what
        # is left grows again in the second try.
        before, after = attached_again(program)
        if not is_kept(before, after):
            before, after = attached_again(program)
        expect(is_kept(before, after), f"before {before}, after {after}")
        program.process.terminate()
        expect(program.end() == (["SIGTRAP default 1"], 5), "the program was disturbed")


def unharmed(program, attaches=1, status=0):
    """Attached to so often, it goes on until it is told to end; and what was said last."""
    for _ in range(attaches):
        message = program.record("--duration", "0.05", status=status)
    expect(not program.handles_trap(), "the handler is still there")
    program.process.terminate()
    found = program.end()
    expect(found == ([], 5), f"the program was disturbed: {found}")
    return message


def glibc_files():
    """The files of libc and of its loader, as this python has them mapped."""
    with open("/proc/self/maps", encoding="utf-8") as file:
        paths = {line.split()[5] for line in file if "/" in line}
    found = sorted(p for p in paths
                   if os.path.basename(p).startswith(("libc.so.6", "libc-2.", "ld-linux", "ld-2.")))
    expect(len(found) == 2, f"libc and its loader are {found}")
    return found


def test_mapped():
    """libc's and the loader's files are mapped to be read as well, as symbolizers do; and into a
    static program."""
    with Program(target("attach-maps"), "stay", *glibc_files()) as program:
        unharmed(program)
    with Program(target("attach-static-maps"), "stay", *glibc_files()) as program:
        message = unharmed(program, status=120)
        expect("statically linked" in message, message)


def test_mapped_again():
    with Program(target("attach-maps"), "again", *glibc_files()) as program:
        unharmed(program, ATTACHES)


def test_spaces():
    """A second libc, in another namespace."""
    with Program(target("attach-spaces"), "stay") as program:
        unharmed(program)


def test_spaces_again():
    with Program(target("attach-spaces"), "again") as program:
        unharmed(program, ATTACHES)


def test_mapped_allocator():
    """malloc of another library, whose file is mapped to be read as well, is not interrupted."""
    with Program(target("attach-inside"), target("libattach-allocator.so")) as program:
        unharmed(program, 5)


def test_other_handler():
    """Nor by way of a handler that the libc of another namespace has installed."""
    with Program(target("attach-inside")) as program:
        unharmed(program, 5)


def test_by_loader():
    """A program that was started by naming the loader: for the kernel, the loader is the program."""
    loader = next(path for path in glibc_files() if os.path.basename(path).startswith("ld"))
    with Program(loader, target("attach-maps"), "stay", *glibc_files()) as program:
        unharmed(program)


def test_cycle():
    """The loader's list of images has no end."""
    with Program(target("attach-maps"), "cycle") as program:
        message = unharmed(program, status=120)
        expect("libc" in message, message)


def test_redis():
    """A server under load fails no request."""
    if not shutil.which("redis-server") or not shutil.which("redis-benchmark"):
        print("no redis here (Debian packages redis-server and redis-tools): skipped")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "socket")
        with Program("redis-server", "--port", "0", "--unixsocket", path, "--save", "",
                     "--dir", folder, ready=False, stdin=subprocess.DEVNULL) as program:
            wait_for(lambda: os.path.exists(path), "redis has not begun")
            load = subprocess.Popen(["redis-benchmark", "-s", path, "-c", "20", "-l", "-q", "-t",
                                     "set,get,lpush,lpop"],
                                    stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            try:
                footprint_stays(program, ATTACHES)
                for _ in range(10):  # a busy machine may leave the server no time for so long
                    program.record("--duration", "1")
                    report = program.report()
                    if report["samples"]:
                        break
                expect(report["samples"] > 0,
                       f"no samples: {report['dropped']}, {report['notes']}, load {os.getloadavg()}")
                expect(load.poll() is None, "redis-benchmark has ended: a request has failed")
            finally:
                load.kill()
                complaints = load.communicate()[1].decode()
            expect("rror" not in complaints, complaints)
            expect(run(["redis-cli", "-s", path, "ping"]).stdout == b"PONG\n",
                   "redis does not answer")


def test_server():
    """Children of an attached process, made before, while and after; and those that become another
    program."""
    lines = [b"1\n", b"exec\n", b"2\n", b"exec\n"] * 5
    with Program(target("attach-server")) as native:
        expected = native.end(b"".join(lines))
    with Program(target("attach-server")) as program:
        for round_ in range(5):
            recorder = subprocess.Popen([PENUMBRA, "record", "-q", "-F", "5000", "-o", program.file,
                                         "-p",
                                         str(program.pid), "--duration", "0.5"])
            for line in lines[round_ * 4:round_ * 4 + 4]:
                program.process.stdin.write(line)
                program.process.stdin.flush()
            expect(recorder.wait(PATIENCE) == 0, "record failed")
        found = program.end()
    expect(found == expected, f"native {expected}\nattached {found}")


def check_execs(name, functions):
    for how in functions:
        for thread in ((), ("thread",)):
            with Program(target(name), how, *thread) as program:
                recorder = begin_recording(program, "-F", "10000")
                program.compute(0.2)  # the threads arm themselves
                found = program.end(b"\n")
                expect(found == (["lived"], 3), f"{how} {thread}: {found}")
                expect(recorder.wait(PATIENCE) == 0, "record failed")


def test_execs():
    """An attached thread that becomes another program, which works inside the kernel for some periods:
    the new program does not get a signal that was meant for the old one."""
    check_execs("attach-execs", ("execve", "execv", "execvp", "execl", "fexecve", "syscall"))


def test_execs_address():
    """The same where the program's own procedure linkage table has the functions' addresses."""
    check_execs("attach-execs-address", ("execve", "execv"))


def test_execs_recorded():
    """The same of a program that was started by us."""
    with tempfile.TemporaryDirectory() as folder:
        for how in ("execve", "syscall"):
            result = run([PENUMBRA, "record", "-q", "-F", "10000", "-o",
                          os.path.join(folder, "out.pnb"), "--",
                          target("attach-execs"), how], input=b"\n")
            expect((result.stdout, result.returncode) == (b"ready\nlived\n", 3), f"{how}: {result}")


def test_reloads():
    """What dlclose removes is forgotten, while attached too: another library lies at its address
    then."""
    libraries = [os.path.join(os.environ["TARGETS"], f"libattach-{name}.so")
                 for name in ("one", "two")]
    with Program(target("attach-reloads")) as program:
        recorder = begin_recording(program, "-F", "2000")
        for library in libraries:
            program.process.stdin.write(library.encode() + b"\n")
            program.process.stdin.flush()
            expect(program.process.stdout.readline() == b"done\n", f"{library} was not loaded")
        expect(program.end() == ([], 0), "the program was disturbed")
        expect(recorder.wait(PATIENCE) == 0, "record failed")
        report = program.report()
        one, two = self_of(report, "work_one"), self_of(report, "work_two")
        expect(min(one, two) > 0.25 * (one + two) > 0, f"the first had {one}, the second {two}")


def spool_of(pid):
    with open(f"/proc/{pid}/maps", encoding="utf-8") as file:
        for line in file:
            if "penumbra-" in line and ".spool" in line:
                return line.split()[5]
    return None


def begin_recording(program, *options):
    recorder = subprocess.Popen([PENUMBRA, "record", "-q", "-o", program.file, "-p",
                                 str(program.pid),
                                 *options], stderr=subprocess.PIPE)

    def is_attached():
        """Whoever comes while it is being attached to is told that it is traced."""
        return spool_of(program.pid) and program.status("TracerPid") == "0"
    wait_for(lambda: is_attached() or recorder.poll() is not None, "not attached")
    expect(recorder.poll() is None, "record has ended at once")
    expect(os.path.exists(program.file), "no live file")
    return recorder


def test_killed(*how):
    """The collector is killed: the process falls silent by itself, and can be attached to again."""
    with Program(target("attach-busy"), *how) as program:
        recorder = begin_recording(program)
        program.compute(0.5 if how else 0)
        spool = spool_of(program.pid)
        expect(spool is not None, "the process has no spool")
        recorder.kill()
        recorder.wait()
        contents = []

        def is_silent():
            with open(spool, "rb") as file:
                contents.append(file.read(4 << 20))
            return len(contents) > 1 and contents[-1] == contents[-2]

        def is_silent_for_a_while():
            time.sleep(0.3)
            return is_silent()
        wait_for(is_silent_for_a_while, "samples are still taken")
        expect(run([PENUMBRA, "report", program.file]).returncode == 0, "not recoverable")
        program.record("--duration", "0.2")
        expect(not program.handles_trap(), "the handler is still there")
        program.process.terminate()
        expect(program.end() == (["SIGTRAP default 1"], 5), "the program was disturbed")


def test_killed_switching():
    """Threads that switch so often that timers sample them, and no event finds others."""
    with Program(target("attach-busy"), "switching") as program:
        program.record("--duration", "1", "-F", "997")
        notes = program.report()["notes"]
        expect("switched so often" in str(notes), f"{notes}")
    test_killed("switching")


def test_killed_anywhere():
    """The collector is killed between any two steps of attaching and leaving: the thread in which it was
    at work goes on as if nothing had been."""
    environment = dict(os.environ, LD_PRELOAD=target("libattach-dies.so"))
    step, at, ended = max(1, 170 // ATTACHES), 1, False
    while not ended:
        with Program(target("attach-busy")) as program:
            environment["DIES_AT"] = str(at)
            result = run([PENUMBRA, "record", "-q", "-o", program.file, "-p", str(program.pid),
                          "--duration",
                          "0.01"], env=environment)
            ended = result.returncode == 0
            expect(ended or result.returncode == -signal.SIGKILL,
                   f"call {at}: {result.stderr.decode()}")
            program.compute(0.02)
            program.record("--duration", "0.01")
            program.process.terminate()
            found = program.end()
            expect(found == (["SIGTRAP default 1"], 5),
                   f"killed before call {at} of ptrace: {found}")
        at += step
    expect(at > 5 * step, "penumbra calls ptrace hardly ever")


def test_interrupted():
    """Ctrl-C ends the recording, and only that."""
    with Program(target("attach-busy")) as program:
        recorder = begin_recording(program)
        recorder.send_signal(signal.SIGINT)
        expect(recorder.wait(PATIENCE) == 0, "record failed")
        expect(program.process.poll() is None, "the program has ended too")
        expect(not program.handles_trap(), "the handler is still there")
        left_to_a_debugger(program)
        program.record("--duration", "0.1")
        expect(not program.handles_trap(), "the handler is still there")
        program.process.terminate()
        expect(program.end() == (["SIGTRAP default 1"], 5), "the program was disturbed")


def left_to_a_debugger(program):
    """A debugger has come since, so that the process cannot be left: that is said, also by the
    status."""
    seize = ("import ctypes\n"
             f"print(ctypes.CDLL(None).ptrace(0x4206, {program.pid}, None, None), flush=True)\n"
             "input()\n")
    recorder = begin_recording(program)
    debugger = subprocess.Popen([sys.executable, "-c", seize], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE)
    expect(debugger.stdout.readline() == b"0\n", "the debugger may not attach")
    recorder.send_signal(signal.SIGINT)
    said = recorder.communicate(timeout=PATIENCE)[1].decode()
    debugger.communicate(b"\n", timeout=PATIENCE)
    expect(recorder.returncode == 118 and "so the handler for its signal stays" in said,
           f"{recorder.returncode}: {said}")


def test_ended():
    """The process ends first."""
    with Program(target("attach-busy")) as program:
        recorder = begin_recording(program)
        program.process.terminate()
        expect(program.end()[1] == 5, "the program was disturbed")
        expect(recorder.wait(PATIENCE) == 0, "record failed")
        expect(program.report()["processes"][0]["pid"] == program.pid,
               "the profile is of another process")


def test_first_thread_ended():
    """The first thread has ended, the others work: the process has not ended."""
    release = [int(n) for n in os.uname().release.split("-")[0].split(".")[:2]]
    with Program(target("attach-headless")) as program:
        wait_for(lambda: open(f"/proc/{program.pid}/stat",
                              encoding="utf-8").read().rsplit(")", 1)[1].split()[0] == "Z",
                 "the first thread does not end")
        if release < [6, 9]:
            expect("first thread" in program.record(status=118), "it must be said why not")
            return
        for seconds in ("0.5", "5", "30"):
            program.record("--duration", seconds)
            report = program.report()
            if report["samples"] >= 20:
                break
        total = sum(f["total"] for f in report["functions"] if f["name"] == "compute")
        expect(total > 0.9 * report["samples"] > 0, f"compute: {total} of {report['samples']}")
        expect(program.end() == (["SIGTRAP default 1"], 0), "the program was disturbed")


def inner_pid(pid):
    """The process of the innermost command."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        children = file.read().split()
    return inner_pid(int(children[0])) if children else pid


def test_container():
    """Another mount and pid namespace, in which nothing of penumbra's can be seen."""
    build, hidden = os.path.dirname(PENUMBRA), "/dev/shm"
    if not ROOT or run(["unshare", "-mpf", "--mount-proc", "true"]).returncode:
        print("namespaces cannot be made here: skipped")
        sys.exit(77)
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        busy_copy = os.path.join(folder, "busy")
        shutil.copy(target("attach-busy"), busy_copy)
        script = f"mount -t tmpfs none {build} && mount -t tmpfs none {hidden} && {busy_copy}; exit $?"
        with Program("unshare", "-mpf", "--mount-proc", "sh", "-c", script) as program:
            pid = inner_pid(program.pid)
            for seconds in ("0.5", "5", "30"):
                program.record("--duration", seconds, pid=pid)
                report = program.report()
                if report["samples"] >= 10:
                    break
            expect(self_of(report, "compute") > 0 or report["samples"] > 0, "no samples")
            os.kill(pid, signal.SIGTERM)
            expect(program.end() == (["SIGTRAP default 1"], 5), "the program was disturbed")


def zombie():
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    wait_for(lambda: open(f"/proc/{pid}/stat", encoding="utf-8").read().split()[2] == "Z",
             "no zombie")
    return pid


def kernel_thread():
    """A container may have none."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                if int(file.read().rsplit(")", 1)[1].split()[6]) & 0x200000:  # PF_KTHREAD
                    return int(pid)
    return None


def test_refusals():
    with Program(target("attach-busy")) as program, \
            Program(target("attach-static")) as static:
        unused = 4194000
        while os.path.exists(f"/proc/{unused}"):
            unused -= 1
        cases = [(unused, 127, "no process"), (static.pid, 120, "statically linked"),
                 (zombie(), 127, "has ended")]
        if ROOT and kernel_thread():
            cases.append((kernel_thread(), 118, "kernel"))
        for pid, status, words in cases:
            message = program.record(status=status, pid=pid)
            expect(words in message, f"{pid}: {message}")
        recorder = begin_recording(program)
        message = program.record("-o", program.file + ".2", status=118)
        expect("already" in message, message)
        recorder.send_signal(signal.SIGINT)
        expect(recorder.wait(PATIENCE) == 0, "the first recording failed")
        for pid in (program.pid, static.pid):
            os.kill(pid, 0)
        thread = [int(t) for t in os.listdir(f"/proc/{program.pid}/task")]
        expect(thread == [program.pid], "the program has more threads than before")
        message = program.record("true", status=2)
        expect("not both" in message, message)
    refuse_recorded()
    refuse_traced()
    refuse_sandbox()
    refuse_rooted()


def refuse_rooted():
    """A root without /proc: the library's name there cannot be said."""
    if not ROOT:
        return
    with tempfile.TemporaryDirectory() as root, Program("python3", "-c",
                                                        f"import os, signal; os.chroot({root!r}); print('ready', flush=True); "
                                                        "signal.pause()") as program:
        message = program.record(status=118)
        expect("root folder without /proc" in message, message)
        os.kill(program.pid, 0)


def refuse_recorded():
    with Program(PENUMBRA, "record", "-q", "-o", "/dev/null", "--",
                 target("attach-busy")) as program:
        message = program.record(status=118, pid=inner_pid(program.pid))
        expect("already" in message, message)
        os.kill(inner_pid(program.pid), signal.SIGTERM)
        program.process.wait(PATIENCE)


def refuse_traced():
    if not shutil.which("strace"):
        return
    with Program("strace", "-o", "/dev/null", target("attach-busy")) as program:
        message = program.record(status=118, pid=inner_pid(program.pid))
        expect("traced" in message, message)
        os.kill(inner_pid(program.pid), signal.SIGTERM)
        program.process.wait(PATIENCE)


def refuse_sandbox():
    code = ("import ctypes, time\n"
            "ctypes.CDLL(None).prctl(22, 1, 0, 0, 0)\n"  # PR_SET_SECCOMP, SECCOMP_MODE_STRICT
            "while True: pass\n")
    with Program(sys.executable, "-c", code, ready=False) as program:
        wait_for(lambda: program.status("Seccomp") == "1", "no sandbox")
        message = program.record(status=118)
        expect("sandbox" in message, message)


def test_unprivileged():
    """Other users' processes are refused; one's own can be recorded, where perf events are allowed."""
    if not ROOT or not shutil.which("setpriv"):
        print("not root, or no setpriv: skipped")
        sys.exit(77)
    drop = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    if run([*drop, "test", "-x", PENUMBRA]).returncode:
        print("another user may not execute the built penumbra here: skipped")
        sys.exit(77)
    with Program(target("attach-busy")) as program:
        message = program.record(status=126, around=drop)
        expect("belongs to user 0" in message, message)
    with Program(*drop, target("attach-busy")) as program:
        program.record("--duration", "0.3")
        expect(not program.handles_trap(), "the handler is still there")


main({name[len("test_"):]: function for name, function in list(globals().items())
      if name.startswith("test_")})
