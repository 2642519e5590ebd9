"""penumbra daemon, query and db: what was sampled is found again, whatever happens to the daemon.

Where the kernel does not permit events of the whole machine, tests are skipped, with its reason."""
import contextlib
import ctypes
import json
import os
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.environ["HARNESS"])
from harness import PATIENCE, PENUMBRA, Failure, expect, main, run, target  # noqa: E402

SKIPPED, REFUSED = 77, 119
NOBODY = 65534
INTERVAL = 0.3  # seconds
PROGRAM = f"split-{os.getpid()}"
DETACH = 2  # MNT_DETACH
# CAP_DAC_READ_SEARCH, CAP_SYS_PTRACE, CAP_SYSLOG, CAP_CHECKPOINT_RESTORE
KEPT = 1 << 2 | 1 << 19 | 1 << 34 | 1 << 40
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK | os.X_OK) else None  # where nothing waits for a disk


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


class Daemon:
    """One that writes into `folder`."""

    def __init__(self, folder, *options):
        self.db = os.path.join(folder, "machine.db")
        self.said = ""
        self.process = subprocess.Popen([PENUMBRA, "daemon", "--db", self.db, "-F", "199", "--budget", "50%",
                                         "--interval", f"{INTERVAL}s", *options],
                                        stderr=subprocess.PIPE, text=True)
        self.wait_for("every")

    def wait_for(self, words):
        """Until it says so."""
        while True:
            line = self.process.stderr.readline()
            self.said += line
            if words in line:
                return
            if not line:
                status = self.process.wait()
                if status == REFUSED:
                    skip(self.said.strip())
                raise Failure(f"status {status}: {self.said}")

    def slots(self):
        """How many intervals are written: ends of slots."""
        with contextlib.closing(sqlite3.connect(self.db)) as file:
            return {row[0] for row in file.execute("SELECT end_ns FROM slot")}

    def wait_for_slots(self, count):
        end = time.time() + PATIENCE
        while len(found := self.slots()) < count:
            expect(time.time() < end, f"{len(found)} intervals, not {count}")
            time.sleep(0.05)
        return found

    def end(self, number=signal.SIGTERM, status=0):
        self.process.send_signal(number)
        self.said += self.process.communicate()[1]
        expect(self.process.returncode == status, f"status {self.process.returncode}: {self.said}")


def ask(db, *options, status=0, command="query"):
    result = run([PENUMBRA, command, "--db", db, *options])
    expect(result.returncode == status, f"{options}: {result.returncode} {result.stderr.decode()}")
    return result.stdout.decode() if not status else result.stderr.decode()


def functions(db, *options):
    return {f["name"]: f for f in json.loads(ask(db, "--json", *options))["functions"]}


def work(milliseconds=600):
    """By a name that no other test's process has: the whole machine is sampled."""
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, PROGRAM)
        os.symlink(target("machine-split"), program)
        run([program, str(milliseconds)])


def good(db):
    expect("good" in ask(db, "check", command="db"), "the database is damaged")


def sampled():
    """By program, function and binary, as text, JSON, a profile, a diff and services; kept, exported."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        daemon = Daemon(folder)
        work()
        with open(f"/proc/{daemon.process.pid}/status", encoding="ascii") as file:
            status = dict(line.split(":", 1) for line in file)
        for name in ("CapEff", "CapPrm", "CapInh", "CapAmb"):
            expect(not int(status[name], 16) & ~KEPT, f"{name} {status[name]}")
        expect(status["NoNewPrivs"].strip() == "1", status["NoNewPrivs"])
        daemon.end()
        db = daemon.db
        found = functions(db, "--program", PROGRAM)
        whole = found["main"]["total"]
        expect(whole > 90, f"{whole} samples of 120")
        expect(abs(found["in_first"]["total"] / whole - 0.5) < 0.25, f"{found['in_first']} of {whole}")
        expect(set(functions(db, "--function", "in_second")) & {"in_second", "in_first"} == {"in_second"}, "--function")
        expect("read" not in functions(db, "--binary", "machine-split"), "--binary")
        expect("in_first" in ask(db, "--last", "1h", "--program", PROGRAM, "tree"), "tree")
        services = json.loads(ask(db, "--json", "services"))
        expect(PROGRAM in [s["program"] for s in services], services)
        out = os.path.join(folder, "out.pnb")
        ask(db, "-o", out, "--program", PROGRAM)
        expect(b"in_first" in run([PENUMBRA, "report", out]).stdout, "a profile for report")
        expect("0 of" in ask(db, "diff", "--program", PROGRAM, "--before", "2000-01-01..now", "--after", "1h"), "diff")
        expect("not after" in ask(db, "--from", "12:00", "--to", "11:00", status=2), "a range that ends early")
        expect("nothing of this range" in ask(db, "--from", "1990-01-01", "--to", "1990-01-02", status=127), "no data")
        ask(db, "gc", command="db")
        ask(db, "-o", os.path.join(folder, "days"), "export", command="db")
        expect(len(os.listdir(os.path.join(folder, "days"))) >= 1, "export")
        good(db)
        expect(os.stat(db).st_mode & 0o777 == 0o600, "the database is private")


def killed():
    """At most one interval is lost, what was acknowledged is there, and the next one says so."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        for turn in range(4):
            daemon = Daemon(folder)
            expect(("without notice" in daemon.said) == (turn > 0), daemon.said)
            said = daemon.wait_for_slots(turn + 1)
            time.sleep(0.07 * turn)
            daemon.end(signal.SIGKILL, -signal.SIGKILL)
            good(daemon.db)
            expect(said <= daemon.slots(), "what was there stays")
        daemon = Daemon(folder)
        daemon.wait_for_slots(len(daemon.slots()) + 1)
        daemon.end()
        expect("4 times" in ask(daemon.db, "services"), "it says what is lost")


def two():
    """The second one says so and ends; the first goes on."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        daemon = Daemon(folder)
        said = ask(daemon.db, status=124, command="daemon")
        expect("another penumbra daemon" in said, said)
        daemon.end()
        good(daemon.db)


def full():
    """A disk without room: what was sampled waits in memory until there is some."""
    libc = ctypes.CDLL(None, use_errno=True)
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        if os.geteuid() or libc.mount(b"none", folder.encode(), b"tmpfs", 0, b"size=8m"):
            skip("a file system cannot be mounted here")
        try:
            daemon = Daemon(folder)
            daemon.wait_for_slots(1)
            filler = os.path.join(folder, "filler")
            with open(filler, "wb", buffering=0) as file:
                try:
                    while True:
                        file.write(bytes(4096))
                except OSError:
                    pass
            work(300)
            daemon.wait_for("kept in memory")
            os.unlink(filler)
            daemon.wait_for("can be written again")
            daemon.end()
            good(daemon.db)
            with contextlib.closing(sqlite3.connect(daemon.db)) as file:
                slots = file.execute("SELECT begin_ns, end_ns FROM slot ORDER BY begin_ns").fetchall()
            gaps = [(after[0] - before[1]) / 1e9 for before, after in zip(slots, slots[1:])]
            expect(max(gaps) < INTERVAL / 3, f"time that nothing is known of: {gaps}")
            found = functions(daemon.db, "--program", PROGRAM)
            expect("in_first" in found, "what was sampled while the disk was full")
        finally:
            libc.umount2(folder.encode(), DETACH)


def limited():
    """No memory for counters: said once an interval, not in a loop, and it goes on when there is some."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        daemon = Daemon(folder)
        before = len(daemon.wait_for_slots(1))
        hard = resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE)[1]
        begin = time.time()
        resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE, (0, hard))
        daemon.wait_for("spool")
        time.sleep(3 * INTERVAL)
        resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE, (hard, hard))
        intervals = (time.time() - begin) / INTERVAL
        daemon.wait_for_slots(before + 2)
        daemon.end()
        told = [line for line in daemon.said.splitlines() if "spool" in line]
        expect(len(told) <= intervals + 2, f"{len(told)} messages in {intervals:.1f} intervals: {told[0]}")
        good(daemon.db)


def reloaded():
    """SIGHUP reads the settings; what is wrong there changes nothing."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        config = os.path.join(folder, "conf")
        with open(config, "w", encoding="utf-8") as file:
            file.write("# days\nkeep = 3d\n")
        daemon = Daemon(folder, "--config", config)
        for line, words in (("keep = 2d\n", "settings read again"), ("kepe = 2d\n", "no setting \"kepe\"")):
            with open(config, "w", encoding="utf-8") as file:
                file.write(line)
            daemon.process.send_signal(signal.SIGHUP)
            daemon.wait_for(words)
        daemon.end()


def hostile():
    """Names of processes and files are data, to the database as to the terminal."""
    name = "x';\x1b[2J\n--"
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        program = os.path.join(folder, name)
        os.symlink(target("machine-split"), program)
        daemon = Daemon(folder)
        run([program, "300"])
        daemon.end()
        expect("in_first" in functions(daemon.db, "--program", name), "by its name")
        text = ask(daemon.db, "services")
        expect("\x1b" not in text and "x';\\x1b" in text, text)
        good(daemon.db)


def damaged():
    """A file that is none of ours, and one that was."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        db = os.path.join(folder, "machine.db")
        with open(db, "wb") as file:
            file.write(b"nothing of the kind" * 400)
        for command in (("daemon",), ("query",), ("db", "gc")):
            result = run([PENUMBRA, command[0], "--db", db, *command[1:]])
            expect(result.returncode == 3, f"{command}: {result.returncode} {result.stderr.decode()}")
        expect(run([PENUMBRA, "db", "--db", db, "check"]).returncode == 1, "check")
        expect("penumbra daemon makes one" in ask(db + "x", status=127), "no file")


def refused():
    """Without rights: what is missing, and what can be done without."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        os.chmod(folder, 0o777)
        rights = {} if os.geteuid() else {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        result = subprocess.Popen([PENUMBRA, "daemon", "--db", os.path.join(folder, "x.db")], stderr=subprocess.PIPE, **rights)
        try:
            said = result.communicate(timeout=20)[1].decode()
        except subprocess.TimeoutExpired:  # perf_event_paranoid lets everybody
            result.terminate()
            result.communicate()
            return
        expect(result.returncode == REFUSED and "CAP_PERFMON" in said and "penumbra record PROGRAM" in said, said)


main({test.__name__: test for test in (sampled, killed, two, full, limited, reloaded, hostile, damaged, refused)})
