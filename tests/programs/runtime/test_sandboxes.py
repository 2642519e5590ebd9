"""Programs that give up privileges, and what is sampled of them then."""
import os
import shutil
import sys
import tempfile

from harness import Recording, expect, main, run, target


EVERY = ((), ("-F", "9973"), ("-e", "wall"), ("--tool", "values"), ("--carrier", "shadow", "--tool", "paths"),
         ("--exact", "--tool", "null"), ("-e", "malloc=1"), ("--carrier", "auto"))


def strict():
    """In strict mode reading the time stamp counter faults, and hardly a system call is left."""
    for how in ("prctl", "syscall", "seccomp", "thread", "refused"):
        for options in EVERY if how == "prctl" else EVERY[1:6]:
            r = Recording([target("strict"), how], options)
            expect(r.native.returncode == (0 if how == "thread" else 7), f"natively {r.native.returncode}")
    r = Recording([target("strict"), "prctl"], ("-F", "1000"))
    expect(r.report["processes"][0]["sandbox"].get("silenced") == 1, f"{r.report['processes']}")
    r = Recording([target("strict"), "thread"], ("-F", "1000"))
    expect(r.total("free_worker") > 100, f"{r.total('free_worker')} samples of the thread beside it")
    r = Recording([target("strict"), "refused"], ("-F", "1000"))
    expect(r.total("strict_worker") > 100, f"{r.total('strict_worker')} samples where the kernel has refused it")


def all_is_sampled(r, processes, what):
    report = r.report
    expect(len(report["processes"]) == processes, f"{what}: {report['processes']}")
    expect(not any("sandbox" in p for p in report["processes"]), f"{what}: {report['processes']}")
    expect(len(report["threads"]) == 3, f"{what}: {report['threads']}")


def privileges():
    """Who gives up new privileges forbids no system call: all that comes after that is sampled."""
    for what in ("none", "landlock", "harmless", "flatpak"):
        r = Recording([target("privileges"), what], ("-F", "1000"))
        all_is_sampled(r, 2, what)
        expect(r.total("late_worker") > 300, f"{what}: {r.total('late_worker')} samples")
        r = Recording([target("privileges"), what, target("shares"), "300"], ("-F", "1000"))
        expect(len(r.report["threads"]) >= 4 and r.total("late_worker") > 200, f"{what}: {r.report['threads']}")
        names = {p["name"] for p in r.report["processes"]}
        expect(names == {"privileges", "shares"}, f"{what}: {names}")
    for options in EVERY:
        Recording([target("privileges"), "harmless", target("shares"), "100"], options)


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
        mapped = [line.split() for line in run(["ldd", "/usr/bin/env"]).stdout.decode().splitlines()]
        for path in ["/usr/bin/env"] + [word for words in mapped for word in words if word.startswith("/")]:
            os.makedirs(root + os.path.dirname(path), exist_ok=True)
            shutil.copy(path, root + path)
        program = ["/usr/sbin/chroot", root, "/usr/bin/env", "A=b", "/usr/bin/env"]
        for options in ((), ("--exact", "--tool", "null")):
            notes = " ".join(Recording(program, options).report["notes"])
            expect("not recorded, of programs that were executed: 1, started where Penumbra's library is not" in notes, notes)


def hidden():
    """Where another file system lies over the counters, a program runs without us, which is said."""
    elsewhere = ["/usr/bin/unshare", "-m", "/bin/sh", "-c", "mount -t tmpfs none /dev/shm && exec \"$@\"", "sh"]
    if os.geteuid() != 0 or run([*elsewhere, "true"]).returncode:
        sys.exit(77)
    program = [*elsewhere, sys.executable, "-c", "import os; print('PENUMBRA_SPOOL' in os.environ)"]
    for options in ((), ("--exact", "--tool", "null")):
        notes = " ".join(Recording(program, options).report["notes"])
        expect("not recorded, of programs that were executed: 1, started where the counters are not" in notes, notes)


if __name__ == "__main__":
    main({f.__name__: f for f in (strict, privileges, wrapped, chroots, hidden)})
