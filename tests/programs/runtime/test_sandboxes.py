"""Programs that give up privileges, and what is sampled of them then."""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from harness import (ENTERS_SANDBOX, PATIENCE, PENUMBRA, Failure, Recording, expect, kernel_events,
                     main, run, runs, target)


EVERY = ((), ("-F", "9973"), ("-e", "wall"), ("--tool", "values"),
         ("--carrier", "shadow", "--tool", "paths"),
         ("--exact", "--tool", "null"), ("-e", "malloc=1"), ("--carrier", "auto"))


def strict():
    """In strict mode reading the time stamp counter faults, and hardly a system call is left."""
    for i, how in enumerate(("prctl", "syscall", "seccomp", "thread", "refused")):
        for options in EVERY[i % 2 + 1:6:2] if i else EVERY:
            r = Recording([target("strict"), how], options)
            expect(r.native.returncode == (0 if how == "thread" else 7),
                   f"natively {r.native.returncode}")
    r = Recording([target("strict"), "prctl"], ("-F", "1000"))
    expect(r.report["processes"][0]["sandbox"].get("silenced") == 1, f"{r.report['processes']}")
    r = Recording([target("strict"), "thread"], ("-F", "1000"))
    expect(r.total("free_worker") > 100,
           f"{r.total('free_worker')} samples of the thread beside it")
    r = Recording([target("strict"), "refused"], ("-F", "1000"))
    expect(r.total("strict_worker") > 100,
           f"{r.total('strict_worker')} samples where the kernel has refused it")


def all_is_sampled(r, processes, what):
    report = r.report
    expect(len(report["processes"]) == processes, f"{what}: {report['processes']}")
    expect(not any("sandbox" in p for p in report["processes"]), f"{what}: {report['processes']}")
    expect(len(report["threads"]) == 3, f"{what}: {report['threads']}")


def privileges():
    """Who gives up new privileges forbids no system call: all that comes after that is sampled."""
    for what in ("none", "landlock", "harmless", "flatpak", "debug"):
        r = Recording([target("privileges"), what], ("-F", "1000"))
        all_is_sampled(r, 2, what)
        expect(r.total("late_worker") > 300, f"{what}: {r.total('late_worker')} samples")
    for what in ("landlock", "flatpak", "debug"):
        r = Recording([target("privileges"), what, target("shares"), "300"], ("-F", "1000"))
        expect(len(r.report["threads"]) >= 4 and r.total("late_worker") > 200,
               f"{what}: {r.report['threads']}")
        names = {p["name"] for p in r.report["processes"]}
        expect(names == {"privileges", "shares"}, f"{what}: {names}")
    for i, options in enumerate(EVERY):
        Recording([target("privileges"), ("harmless", "debug")[i % 2], target("shares"), "100"],
                  options)
    # Programs in between hand on what is not to be called, and enter a filter of their own.
    own = [target("privileges"), "debug"]
    r = Recording([*own, "/bin/sh", "-c", 'exec env -u NONE "$@"', "sh", *own, target("shares"),
                   "300"], ("-F", "1000"))
    expect({p["name"] for p in r.report["processes"]} == {"privileges", "shares", "sh", "env"},
           f"{r.report['processes']}")
    expect(r.total("late_worker") > 400, f"{r.total('late_worker')} samples")


def wrapped():
    """What begins programs without new privileges."""
    commands = [["setpriv", "--no-new-privs"], ["bwrap", "--dev-bind", "/", "/"]]
    found = [c for c in commands if shutil.which(c[0])]
    if not found:
        sys.exit(77)
    for command in found:
        r = Recording(command + [target("privileges"), "landlock"], ("-F", "1000"))
        expect(r.total("late_worker") > 200, f"{command}: {r.total('late_worker')} samples")


def chroots():
    """Where the library is not, the loader would complain of it on the program's standard error."""
    if os.geteuid() != 0:
        sys.exit(77)
    with tempfile.TemporaryDirectory() as root:
        mapped = [line.split() for line in run(["ldd",
                                                "/usr/bin/env"]).stdout.decode().splitlines()]
        for path in ["/usr/bin/env"] + [word for words in mapped for word in words
                                        if word.startswith("/")]:
            os.makedirs(root + os.path.dirname(path), exist_ok=True)
            shutil.copy(path, root + path)
        program = ["/usr/sbin/chroot", root, "/usr/bin/env", "A=b", "/usr/bin/env"]
        for options in ((), ("--exact", "--tool", "null")):
            notes = " ".join(Recording(program, options).report["notes"])
            expect("not recorded, of programs that were executed: 1, started where Penumbra's library is not" in notes, notes)


def hidden():
    """Where another file system lies over the counters, a program runs without us, which is said."""
    elsewhere = ["/usr/bin/unshare", "-m", "/bin/sh", "-c",
                 "mount -t tmpfs none /dev/shm && exec \"$@\"", "sh"]
    if os.geteuid() != 0 or run([*elsewhere, "true"]).returncode:
        sys.exit(77)
    program = [*elsewhere, sys.executable, "-c", "import os; print('PENUMBRA_SPOOL' in os.environ)"]
    for options in ((), ("--exact", "--tool", "null")):
        notes = " ".join(Recording(program, options).report["notes"])
        expect("not recorded, of programs that were executed: 1, started where the counters are not" in notes, notes)


def walls(rate):
    """Elapsed time, where events count it."""
    return (("-e", "wall", "-F", rate),) if kernel_events() else ()


def made():
    """What is made in a sandbox cannot set its trigger: it is set from outside,
    but for CPU timers (docs/limits.md)."""
    for options in (("-F", "1000"), ("-F", "9973"), *walls("1000")):
        r = Recording([target("sandbox_made"), "returns"], options)
        made_is_sampled(r, 5, "threads", options)
    r = Recording([target("sandbox_made"), "returns", "fork"], ("-F", "1000"))
    made_is_sampled(r, 6, "fork", ())
    expect(len(r.report["processes"]) == 2
           and all(p["end"] == "exit" and p["end_ns"] > 0 for p in r.report["processes"]),
           f"{r.report['processes']}")
    made_is_sampled(Recording([target("sandbox_made"), "returns", "shared"], ("-F", "1000")), 5,
                    "shared", ())
    limited = ["prlimit", f"--data={1 << 34}"] # as of Chromium's renderers
    made_is_sampled(Recording([*limited, target("sandbox_made"), "returns", "crowd"],
                              ("-F", "1000")), 15, "crowd", ())
    elsewhere = ["unshare", "-p", "-f"] # numbers of another namespace
    if run([*elsewhere, "true"]).returncode == 0:
        r = Recording([*elsewhere, target("sandbox_made"), "returns"], ("-F", "1000"))
        expect(r.total("made_worker") > 0.5 * r.samples() > 100,
               f"{r.total('made_worker')} of {r.samples()}")
    for options in (("-F", "1000"), ("-F", "20000"), *walls("20000")):
        r = Recording([target("sandbox_made"), "returns", "exec"], options)
        expect(r.total("executes") > 5, f"exec {options}: {r.total('executes')} of {r.samples()}")
    made_is_left_alone()
    for how, left in (("threads", (3, 0)), ("fork", (0, 1))):
        sandbox = Recording([target("sandbox_made"), "returns", how],
                            ("-F", "1000", "--no-arm-sandboxes")).report["processes"][0]["sandbox"]
        expect((sandbox["threads"], sandbox["processes"]) == left, f"{how}, not armed: {sandbox}")


def made_is_sampled(r, threads, what, options):
    expect(not any("sandbox" in p for p in r.report["processes"]),
           f"{what}: {r.report['processes']}, because {r.report['left_out']}")
    expect(len(r.report["threads"]) == threads, f"{what}: {r.report['threads']}")
    expect(r.total("made_worker") > 0.5 * r.samples() > 100,
           f"{what}: {r.total('made_worker')} of {r.samples()}")
    if "wall" not in options:
        expect(80 < r.report["coverage"]["percent"] < 110, f"{what}: {r.report['coverage']}")
        used, stands = sum(t["cpu_ns"]
                           for t in r.report["threads"]), r.samples() * r.report["period"]
        expect(0.8 < stands / used < 1.1, f"{what}: samples stand for {stands} ns of {used}")


def made_is_left_alone():
    """Where a sample could end the program, or could be made to unseen."""
    for options in (("-F", "1000"), *walls("9973")):
        r = Recording([target("sandbox_made"), "silent"], options)
        sandbox = r.report["processes"][0]["sandbox"]
        expect(sandbox == {"threads": 3, "processes": 0, "silenced": 1},
               f"silent {options}: {sandbox}")
        expect(r.report["left_out"] == {"maker": 3}, f"silent: {r.report['left_out']}")
        r = Recording([target("sandbox_made"), "stackless"], options)
        sandbox = r.report["processes"][0]["sandbox"]
        expect(sandbox == {"threads": 3, "processes": 0}, f"stackless {options}: {sandbox}")
        expect(r.report["left_out"] == {"stack": 3}, f"stackless: {r.report['left_out']}")
        expect("3 the filter forbids sigaltstack" in
               run([PENUMBRA, "report", r.file]).stdout.decode(), "no reason is given")
        r = Recording([target("sandbox_made"), "more"], options)
        sandbox = r.report["processes"][0]["sandbox"]
        expect(sandbox == {"threads": 0, "processes": 0, "silenced": 4},
               f"more {options}: {sandbox}")
    expect(r.total("made_worker") > 30,
           f"more: {r.total('made_worker')} samples before the second filter")
    for what in ("silent", "deadly"):
        r = Recording([target("sandbox_made"), what, "fork"], ("-F", "5000"))
        sandbox = r.report["processes"][0]["sandbox"]
        expect((sandbox["threads"], sandbox["processes"]) == (0, 1),
               f"{what}: {r.report['processes']}")


def ticks():
    """A thread that a timer samples: where the filter kills for timer_settime, which would stop it."""
    ticking = "switched so often"
    for how in ("narrow", "prctl"):
        r = Recording([target("sandbox_return"), "kill", how, "ticks"], ("-F", "5000"))
        expect(ticking in str(r.report["notes"]), f"{how}: {r.report['notes']}")
        expect(r.report["processes"][0]["sandbox"]["silenced"] == 1,
               f"{how}: {r.report['processes']}")
    r = Recording([target("sandbox_return"), str(SETTIME), "exec", "ticks"], ("-F", "5000"))
    expect(ticking in str(r.report["notes"]), f"{r.report['notes']}")
    # A process of timers: what is executed does not ignore their signal.
    Recording([target("sandbox_return"), str(SETTIME), "exec"], ("-F", "5000"),
              around=[target("noperf")])


def handed():
    """A filter for all threads hands on what its thread has entered alone."""
    for what, how, silenced in ((SIGRETURN, "handed", 4), (IOCTL, "handed", 3),
                                (SIGRETURN, "narrow for all", 4)):
        r = Recording([target("sandbox_return"), str(what), how], ("-F", "5000"))
        expect(r.report["processes"][0]["sandbox"]["silenced"] == silenced,
               f"{what} {how}: {r.report['processes']}")


def programs_of(collector, path):
    """Its children that execute the program already."""
    try:
        children = open(f"/proc/{collector}/task/{collector}/children").read().split()
        return [pid for pid in children if os.readlink(f"/proc/{pid}/exe") == path]
    except OSError:
        return []


def with_descendants(pids):
    found = list(pids)
    for pid in found:
        try:
            for task in os.listdir(f"/proc/{pid}/task"):
                found += open(f"/proc/{pid}/task/{task}/children").read().split()
        except OSError:
            pass
    return found


def deaf_to(command, number, delay, options):
    """What the program has written, where its collector is sent a signal so long after it has
    begun, and whether it ran then."""
    with tempfile.TemporaryDirectory() as folder:
        record = [PENUMBRA, "record", "-q", *options, "-o", os.path.join(folder, "out.pnb"),
                  "--spool", folder, *command]
        collector = subprocess.Popen(record, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while collector.poll() is None and not programs_of(collector.pid, command[0]):
            time.sleep(0.001)
        time.sleep(delay)
        programs = with_descendants(programs_of(collector.pid, command[0]))
        collector.send_signal(number)
        patient = time.monotonic() + PATIENCE / 4
        while any(runs(pid) for pid in programs) and time.monotonic() < patient:
            programs += [pid for pid in with_descendants(programs) if pid not in programs]
            time.sleep(0.01)
        hangs = [pid for pid in programs if runs(pid)]
        for pid in hangs:
            os.kill(int(pid), signal.SIGKILL)
        collector.send_signal(signal.SIGCONT)
        output, _ = collector.communicate(timeout=PATIENCE)
        expect(not hangs, f"{command} does not end {delay} s after its collector got {number.name}")
        return output, collector.returncode, bool(programs)


def deaf():
    """A collector that has died or is stopped: programs in sandboxes go on and end as they would."""
    for how in ((), ("fork",), ("exec",)):
        command = [target("sandbox_made"), "returns", *how]
        native = run(command)
        for number in (signal.SIGSTOP, signal.SIGKILL):
            struck = 0
            for delay in (0, 0.05, 0.3):
                output, status, ran = deaf_to(command, number, delay, ("-F", "5000"))
                struck += ran
                wanted = native.returncode if number == signal.SIGSTOP else -number
                expect(output == native.stdout, f"{how} {number.name} {delay}: {output}")
                expect(status in (wanted, native.returncode),
                       f"{how} {number.name} {delay}: status {status}")
            expect(struck, f"{how} {number.name}: the program had always ended before")
    # The event of a thread whose samples have ended runs on, as programs are executed.
    command = [target("sandbox_made"), "more", "exec"]
    output, status, _ = deaf_to(command, signal.SIGSTOP, 0.1, ("-F", "9973"))
    expect((output, status) == (b"executed\n", 0), f"{command}: {output}, status {status}")


def calls_of(thing):
    """Numbers of the system calls that it makes where nobody records it, each kind once."""
    with tempfile.NamedTemporaryFile() as log:
        done = run(["strace", "-f", "-n", "-qq", "-e", "signal=none", "-o", log.name,
                    target("sandbox_calls"), thing, "learn"])
        lines = open(log.name).read().splitlines()
    expect(done.returncode == 0 or thing in UNTRACED, f"{thing}: {done.returncode} under strace")
    numbers = [(re.match(r"\d+ +\[ *(\d+)\]", line), line) for line in lines]
    begins = next(i for i, (_, line) in enumerate(numbers) if "getpgid(-77)" in line)
    return {int(found[1]) for found,
            _ in numbers[begins + 1:] if found} | {FUTEX} | UNTRACED.get(thing, set())


FUTEX, SIGRETURN, SIGALTSTACK, SIGACTION, PTRACE, EXIT_GROUP = 202, 15, 131, 13, 101, 231
SETTIME, IOCTL, CLOSE = 223, 16, 3
UNTRACED = {"traced": {PTRACE, EXIT_GROUP}}


def calls():
    """In a sandbox nothing makes a system call that it does not make natively. What it makes depends a little on chance.

    Things in turn are let return, have an alternate stack, and so on: ALL=1 does each with each."""
    if not shutil.which("strace"):
        sys.exit(77)
    failed = []
    things = os.environ.get("THINGS",
                            "").split() or run([target("sandbox_calls")]).stdout.decode().split()
    expect(len(things) > 1 or "THINGS" in os.environ, "there are no things to do")
    for i, thing in enumerate(things):
        known = calls_of(thing)
        ways = (((SIGRETURN, SIGALTSTACK), ("-F", "9973")), ((), ("-F", "9973")),
                ((), EVERY[2 + i % (len(EVERY) - 2)]),
                ((SIGRETURN, SIGALTSTACK, SIGACTION), ("-F", "9973")))
        for more, options in ways if "ALL" in os.environ else (ways[0], ways[1 + i % 3]):
            numbers = [str(n) for n in sorted(known | set(more))]
            command = [target("sandbox_calls"), thing, *numbers]
            try:
                r = Recording(command, options)
                expect(r.native.returncode == 0, f"natively {r.native}")
            except Failure as failure:
                failed.append(f"{thing} {more} {options}: {failure}")
    expect(not failed, "\n".join(failed))


def confined():
    """What a vfork child executes that has entered a filter of its own is not recorded, and the
    profile says so."""
    notes = " ".join(Recording([target("sandbox_calls"), "executes_in_vfork",
                                "learn"]).report["notes"])
    expect("not recorded, of programs that were executed: 1, by children of vfork that had entered a sandbox" in notes, notes)


def entered():
    if os.geteuid() == 0:
        expect("sandbox" in Recording([target("sandbox"), "privileged"],
                                      ("-F", "10000")).report["processes"][0],
               "a sandbox of one with privileges is not noted")
    # prctl may bring another filter, and signals cannot be ignored
    r = Recording([target("sandbox")])
    expect(r.report["processes"][0].get("sandbox") == {"threads": 0, "processes": 1},
           f"{r.report['processes']}")
    expect(r.samples() > 100, f"only {r.samples()} samples")
    # A sample that is raised inside execve would end the new image.
    for options in (("-F", "10000"), ("-e", "wall", "-F", "10000")):
        for _ in range(5):
            Recording(["setpriv", "--no-new-privs", "sh", "-c", "echo sandboxed; echo x | cat"],
                      options)
    # Threads that are put into one are in the handler, in a burst, or under the engine at that
    # moment.
    for options in (("-F", "20000"), ("-F", "20000", "--tool", "values", "--every", "1"),
                    ("--exact", "--tool", "blocks"),
                    ("--carrier", "shadow", "--tool", "paths", "--load", "2", "-F", "1000")):
        Recording([target("sandbox_threads"), "10"], options)
    # Whoever asks whether there are filters is in no sandbox; what is made in one is counted.
    asked = Recording([target("locked_in")]).report
    expect(len(asked["processes"]) == 2 and "sandbox" not in asked["processes"][0],
           f"asked: {asked['processes']}")
    expect(len(asked["threads"]) == 3, f"{len(asked['threads'])} threads of one that asked")
    entered = Recording([target("locked_in"), "enter"])
    processes = entered.report["processes"]
    expect(len(processes) == 2 and not any("sandbox" in p for p in processes),
           f"entered: {processes}")
    entered = Recording([target("locked_in"), "enter"], ("-e", "malloc"))
    processes = entered.report["processes"]
    expect([p.get("sandbox") for p in processes] == [{"threads": 1, "processes": 1}],
           f"entered: {processes}")
    text = run([PENUMBRA, "report", entered.file]).stdout.decode()
    expect("1 thread and 1 process that were made there are not in this profile" in text, text)
    said = run([PENUMBRA, "record", "-e", "malloc", "-o", os.devnull, target("locked_in"),
                "enter"]).stderr.decode()
    expect("made there that are not observed" in said or "1 thread and 1 process, with all" in said,
           said)
    whole = Recording([target("locked_in")], ("--exact", "--tool", "blocks")).report
    expect(whole["stopped"]["sandbox"] == 0 and whole["instructions"] > 400000000,
           f"whole: {whole['instructions']}")


def returns():
    """A filter that does not know what a sample ends with (sshd's): samples end before it, and the
    report says so."""
    for options in ((), ("-F", "10000"), ("-e", "wall"), ("--no-trampoline",), ("--tool", "values"),
                    ("-e", "malloc=1"),
                    ("--carrier", "shadow", "--load", "2"), ("--carrier", "auto"),
                    ("--exact", "--tool", "blocks")):
        Recording([target("sandbox_return"), "kill", "prctl"], options)
    for what in ("kill", "errno", "caller"):
        for how in ("seccomp", "second", "blocked"):
            r = Recording([target("sandbox_return"), what, how], ("-F", "5000"))
            expect(r.report["processes"][0].get("sandbox", {}).get("silenced") == 1,
                   f"{what} {how}: {r.report['processes']}")
            text = run([PENUMBRA, "report", r.file]).stdout.decode()
            expect("1 thread is sampled only until it entered: " in text, text)
    # With threads in the handler, busy or asleep at that moment.
    for options in (("-F", "20000"), ("-e", "wall", "-F", "5000"),
                    ("-F", "20000", "--tool", "values", "--every", "1")):
        r = Recording([target("sandbox_return"), "kill", "threads"], options)
        expect(r.report["processes"][0]["sandbox"]["silenced"] == 4,
               f"threads: {r.report['processes']}")
    narrow()
    # what is executed ignores what it would natively
    for what in ("kill", "errno", "caller", "allow"):
        Recording([target("sandbox_return"), what, "exec"], ("-F", "5000"))
    for how in ("prctl", "threads", "blocked"): # a timer's signals
        Recording([target("sandbox_return"), "kill", how], ("-F", "1000"),
                  around=[target("noperf")])
    # Samples go on where they may, and where there is no filter in the end.
    for what, how in (("allow", "prctl"), ("allow", "second"), ("kill", "fails")):
        r = Recording([target("sandbox_return"), what, how], ("-F", "1000"))
        expect("silenced" not in r.report["processes"][0].get("sandbox", {}),
               f"{what} {how}: {r.report['processes']}")
        ended = Recording([target("sandbox_return"), "kill", "prctl"], ("-F", "1000")).samples()
        expect(r.samples() > 2 * ended and r.samples() > 100,
               f"{what} {how}: {r.samples()} samples, ended: {ended}")


def narrow():
    """The second filter is seen where the first one lets through as much as that takes; else
    samples end before the first one, if another one may come."""
    for around in ((), [target("noperf")]):
        for how in ("narrow", "narrow1", "narrower"):
            for options in (("-F", "1000"),
                            ("--tool", "values", "-F", "1000"))[:1 if around else 2]:
                r = Recording([target("sandbox_return"), "kill", how], options, around=around)
                expect(r.report["processes"][0]["sandbox"]["silenced"] == 1,
                       f"{how}: {r.report['processes']}")
        r = Recording([target("sandbox_return"), "kill", "last"], ("-F", "1000"), around=around)
        expect("silenced" not in r.report["processes"][0].get("sandbox", {}),
               f"last: {r.report['processes']}")
    early, late, later, last = (Recording([target("sandbox_return"), "kill", how],
                                          ("-F", "5000")).samples()
                                for how in ("narrower", "narrow", "narrow1", "last"))
    expect(1.5 * early < min(late, later) and 1.5 * max(late, later) < last,
           f"{early}, {late}, {later}, {last} samples")


def rate():
    """What a sample stands for in a sandbox is what its threads' periods are set to before it, once
    for all."""
    for _ in range(8):
        r = Recording([target("sandbox_return"), "allow", "prctl"], ("-F", "1000"))
        coverage = r.report["coverage"]
        expect(80 < coverage["percent"] < 120, f"{coverage}")
    # Elapsed time: a short wait is not a whole period.
    waits = ENTERS_SANDBOX + "import time\nfor i in range(4000):\n    time.sleep(1e-5)\nprint('end')\n"
    report = Recording([sys.executable, "-c", waits], ("-e", "wall", "-F", "499")).report
    charged, elapsed = report["samples"] * report["period"], report["duration_ns"]
    expect(0.5 * elapsed < charged < 1.1 * elapsed, f"{charged} ns are charged to {elapsed}")


def forbids():
    """A sample would end, or stop for ever, who has asked the kernel for these; what is asked for
    by number is what is done."""
    for what in ("traced", "clock", "calls", "elsewhere", "actions"):
        for options in ((), ("-F", "9973"), ("-e", "wall"), ("--tool", "values"),
                        ("--carrier", "shadow", "--tool", "paths"),
                        ("--exact", "--tool", "null"), ("-e", "malloc=1"), ("-e", "write=1"),
                        ("-e", "lock-wait=1")):
            Recording([target("forbids"), what], options)


def refused():
    """What the kernel has refused does not end samples: not of that thread, nor of threads and
    children that are made later."""
    for options in (("-F", "9973"), ("-e", "wall", "-F", "9973")):
        r = Recording([target("forbids"), "refused"], options, around=[target("refuses")])
        processes, threads = r.report["processes"], r.report["threads"]
        expect(len(processes) == 2 and len(threads) == 3, f"{processes} {threads}")
        expect(not any("sandbox" in p for p in processes), f"{processes}")
        expect(all(t["samples"] > 30 for t in threads), f"{threads}")
    r = Recording([target("forbids"), "refused", "privileges"], ("-F", "9973"),
                  around=[target("refuses")])
    expect(len(r.report["processes"]) == 2 and "sandbox" not in r.report["processes"][0],
           f"{r.report['processes']}")
    expect(r.samples() > 30, f"{r.samples()} samples")


if __name__ == "__main__":
    main({f.__name__: f for f in (strict, privileges, wrapped, chroots, hidden, made, ticks, handed,
                                  deaf, calls, confined, entered, returns, rate, forbids,
                                  refused)})
