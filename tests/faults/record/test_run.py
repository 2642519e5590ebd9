"""What the program and its surroundings see while it is recorded: streams, exit status, signals,
the terminal, limits; and the options that say how long a recording lasts."""

import ctypes
import errno
import os
import pty
import re
import resource
import select
import signal
import struct
import subprocess
import sys
import termios
import time
import unittest

from harness import Case, PATIENCE, PENUMBRA, PYTHON, SPIN, sanitized

# Enters a sandbox, whose filter kills for rt_tgsigqueueinfo, which the runtime calls.
SANDBOX = """import ctypes as c, struct
f = b"".join(struct.pack("HBBI", *i) for i in ((0x20, 0, 0, 0), (0x15, 0, 1, 297), (6, 0, 0, 1 << 31), (6, 0, 0, 0x7fff0000)))
b = c.create_string_buffer(f)
p = c.create_string_buffer(struct.pack("HxxxxxxQ", 4, c.addressof(b)))
l = c.CDLL(None)
assert l.prctl(38, 1, 0, 0, 0) == 0 and l.prctl(22, 2, p) == 0
"""
THREAD = "import threading\nthread = threading.Thread(target=len, args=('',))\nthread.start()\nthread.join()\n"
MANY_PATHS = os.path.abspath(sys.argv.pop(1))


def no_perf_events():
    """A seccomp filter that answers perf_event_open (298) with EPERM, as containers do."""
    libc = ctypes.CDLL(None, use_errno=True)
    rows = [(0x20, 0, 0, 0), (0x15, 0, 1, 298), (0x06, 0, 0, 0x00050000 | errno.EPERM),
            (0x06, 0, 0, 0x7FFF0000)]
    code = b"".join(struct.pack("<HBBI", *row) for row in rows)
    program = ctypes.create_string_buffer(struct.pack("<HxxxxxxQ", len(rows), 0) + code)
    address = ctypes.addressof(program)
    struct.pack_into("<Q", program, 8, address + 16)
    assert libc.prctl(38, 1, 0, 0, 0) == 0  # PR_SET_NO_NEW_PRIVS
    assert libc.prctl(22, 2, ctypes.c_void_p(address)) == 0  # PR_SET_SECCOMP


class Streams(Case):
    def test_binary_through_cat(self):
        data = os.urandom(300000)
        done = self.record("-q", "cat", input=data)
        self.assertEqual(done.stdout, data)
        self.assertEqual(done.stderr, b"")
        self.assert_nothing_left("out.pnb")

    def test_standard_error_is_the_programs(self):
        done = self.record("-q", "--", "sh", "-c", "echo to-out; echo to-err >&2")
        self.assertEqual((done.stdout, done.stderr), (b"to-out\n", b"to-err\n"))

    def test_summary(self):
        done = self.record(PYTHON, "-c", SPIN % 0.2)
        self.assertEqual(done.stdout, b"")
        self.assertRegex(done.stderr.decode(), r"^penumbra: \d+ samples? in \d+\.\d s, 1 process, "
                         r"\d+ dropped.*, \d+\.\d% overhead -> .*out\.pnb \(\d.*\)\n$")

    def test_overwritten_counters(self):
        """A program that has gone astray writes over how the counters begin: their profile is not
        lost."""
        done = self.record(PYTHON, "-c", "import ctypes, re\n"
                           "at = re.search(r'^(\\w+)-\\w+ rw-s 00000000 .*(/dev/shm/|penumbra-)', open('/proc/self/maps').read(), re.M)\n"
                           "ctypes.memset(int(at[1], 16), 0xa5, 12)\n" + SPIN % 0.3)
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr.decode(), r"^penumbra: \d\d+ samples in .*out\.pnb")
        self.assertIn("the program overwrote counters", str(self.report()["notes"]))

    def test_empty_profile_says_why(self):
        done = self.record("-c", "1s", "true")
        self.assertIn("nothing was sampled: the program used", done.stderr.decode())

    @unittest.skipUnless(os.path.exists("/sbin/ldconfig"), "no program that is linked statically")
    def test_summary_of_unrecorded(self):
        """Little of the work is seen: what was not recorded, and why."""
        for options in (("-c", "1000s"), ("-e", "wall", "-c", "1000s"),
                        ("--exact", "--tool", "blocks")):
            said = self.record(*options, "sh", "-c",
                               "/sbin/ldconfig -p >/dev/null; exit 3").stderr.decode()
            self.assertIn("penumbra: not recorded, of programs that were executed: 1, statically linked (as root: record --external)\n", said)

    def test_summary_in_a_sandbox(self):
        """Where something was left out, its CPU time is not known: no share of it is, and it is not
        0."""
        done = self.record(PYTHON, "-c", SANDBOX + SPIN % 0.5)
        self.assertRegex(done.stderr.decode(),
                         r"^penumbra: \d+ samples? in .*, \d+\.\d% overhead -> .*\n$")
        self.assertIsNotNone(self.report()["overhead"]["percent_of_cpu"])
        said = self.record("-c", "1000s", PYTHON, "-c", SANDBOX + SPIN % 0.1).stderr.decode()
        self.assertIn("nothing was sampled: the program used", said)
        said = self.record("-e", "malloc=1000G", PYTHON, "-c",
                           SANDBOX + THREAD + SPIN % 0.1).stderr.decode()
        self.assertIn("nothing was sampled: the program entered a sandbox (seccomp), and 1 thread and 0 processes were "
                      "made there that are not observed\n", said)
        self.assertNotIn("%", said)

    def test_closed_streams(self):
        script = f'exec "{PENUMBRA}" record -q -o "{self.output}" sh -c "exit 3" <&- >&- 2>&-'
        self.assertEqual(subprocess.run(["sh", "-c", script]).returncode, 3)
        self.assertGreater(os.path.getsize(self.output), 100)

    def test_closed_pipe_for_messages(self):
        read, write = os.pipe()
        os.close(read)
        done = self.record("sh", "-c", "exit 4", capture_output=False, stderr=write)
        os.close(write)
        self.assertEqual(done.returncode, 4)
        self.assert_nothing_left("out.pnb")

    def test_no_descriptor_leaks_into_the_program(self):
        """But for the runtime's own, which are high (4096 and up)."""
        listing = ["sh", "-c", "ls /proc/$$/fd"]
        seen = self.record("-q", *listing).stdout.split()
        self.assertEqual([fd for fd in seen if int(fd) < 1024],
                         subprocess.run(listing, capture_output=True).stdout.split())


class Ends(Case):
    def test_exit_status(self):
        for status in (0, 1, 42, 255):
            self.assertEqual(self.record("-q", "sh", "-c", f"exit {status}").returncode, status)
        self.assert_nothing_left("out.pnb")

    def test_death_by_signal(self):
        for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT,
                       signal.SIGPIPE, signal.SIGUSR1, signal.SIGHUP):
            done = self.record("-q", "sh", "-c", f"kill -{int(number)} $$")
            self.assertEqual(done.returncode, -number)
        self.assert_nothing_left("out.pnb")

    def test_no_core_dump_of_the_collector(self):
        resource_limit = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        pid = os.fork()
        if pid == 0:
            try:
                resource.setrlimit(resource.RLIMIT_CORE, resource_limit)
                os.chdir(self.dir)
                command = self.command("-q", "sh", "-c", "ulimit -c 0; kill -SEGV $$")
                os.execv(command[0], command)
            finally:
                os._exit(1)
        status = os.waitpid(pid, 0)[1]
        self.assertEqual(os.WTERMSIG(status), signal.SIGSEGV)
        self.assertFalse(os.WCOREDUMP(status))
        self.assert_nothing_left("out.pnb")

    def test_environment_of_the_program(self):
        env = dict(os.environ, MARK="kept")
        done = self.record("-q", "sh", "-c", 'echo "$MARK"', env=env)
        self.assertEqual(done.stdout, b"kept\n")

    # Waits until its parent has ended; then another one has it.
    ORPHAN = ("import os, sys, time\n"
              "while os.getppid() == int(sys.argv[1]): time.sleep(0.01)\n"
              "print(os.getppid())\n")

    def test_orphans_are_reparented_as_without_us(self):
        command = ["sh", "-c", '"$0" -c "$1" $$ & exit 0', PYTHON, self.ORPHAN]
        plain = subprocess.run(command, capture_output=True, timeout=PATIENCE)
        self.assertEqual(self.record("-q", *command).stdout, plain.stdout)

    def test_many_arguments(self):
        done = self.record("-q", "sh", "-c", "echo $#", "sh", *["x"] * 20000)
        self.assertEqual(done.stdout, b"20000\n")


class Duration(Case):
    # Works until it finds a file, then ends with 7: as long as the test likes.
    UNTIL = ("import os, sys\n"
             "while not os.path.exists(sys.argv[1]): sum(range(1000))\n"
             "raise SystemExit(7)\n")

    def recorded_for(self, duration):
        """Samples of a recording that ends while the program goes on."""
        go = self.path("go")
        process = self.start("--duration", f"{duration}s", PYTHON, "-c", self.UNTIL, go,
                             stderr=subprocess.PIPE)
        self.assertGreaterEqual(self.summary(process), duration)
        self.assertIsNone(process.poll())
        self.path("go", b"")
        self.assertEqual(process.wait(PATIENCE), 7)
        os.unlink(go)
        self.assert_nothing_left("out.pnb")
        return self.report()["samples"]

    def test_duration(self):
        # A busy machine may need the shortest one to get the program started.
        self.assertTrue(any(self.recorded_for(duration) > 10 for duration in (0.3, 1, 5, 30)))

    def test_numbers_of_another_namespace(self):
        """A process that was killed in a pid namespace of its own has a number there that is
        another process's here."""
        unshare = ["unshare", *(["-r"] if os.geteuid() else []), "-fp"]
        if subprocess.run([*unshare, "true"], stderr=subprocess.DEVNULL).returncode:
            self.skipTest("no namespaces here")
        process = self.start("--wait-all", *unshare, "perl", "-e", "kill 9, $$ if !fork; wait",
                             stderr=subprocess.PIPE)
        try:
            said = process.communicate(timeout=PATIENCE)[1].decode()
        except subprocess.TimeoutExpired:
            process.kill()
            self.fail("it waits for ever")
        self.assertNotIn("left behind", said)

    def test_wait_all(self):
        """The shell ends at once; its child spins, waits to be told, and leaves a mark."""
        work = ("import os, sys, time\n"
                "while time.process_time() < 0.6: sum(range(1000))\n"
                "while not os.path.exists(sys.argv[1]): time.sleep(0.01)\n"
                "open(sys.argv[2], 'w').close()\n")
        go, mark = self.path("go"), self.path("mark")
        command = ["sh", "-c", '"$0" -c "$1" "$2" "$3" & exit 0', PYTHON, work, go, mark]
        first = self.start("-q", *command, stdout=subprocess.DEVNULL)
        self.assertEqual(first.wait(PATIENCE), 0)
        self.assertFalse(os.path.exists(mark))
        self.path("go", b"")
        self.wait_for(lambda: os.path.exists(mark), "the first child's end")
        os.unlink(mark)
        self.record("-q", "--wait-all", *command)
        self.assertTrue(os.path.exists(mark))
        self.assertGreater(self.report()["samples"], 300)

    def test_left_behind(self):
        """A program that ends while its child goes on, as servers do that go into the background:
        said once, with the option."""
        go, ready = self.path("go"), self.path("ready")
        script = 'sh -c \'>"$1"; while [ ! -e "$0" ]; do sleep 0.01; done\' "$0" "$1" >/dev/null 2>&1 & ' \
                 'while [ ! -e "$1" ]; do sleep 0.01; done; exit 0'
        done = self.record("sh", "-c", script, go, ready)
        said = done.stderr.decode()
        self.path("go", b"")
        self.assertEqual(said.count("--wait-all"), 1, said)
        self.assertIn("penumbra: processes that the program has left behind go on", said)
        self.assertIn("left behind", "".join(self.report()["notes"]))
        self.assertNotIn("--wait-all",
                         self.record("--wait-all", "sh", "-c",
                                     "sleep 0.1 & exit 0").stderr.decode())

    def test_no_follow(self):
        script = f'"{PYTHON}" -c "{SPIN % 0.3}"; exit 0'
        self.record("-q", "--no-follow", "sh", "-c", script)
        self.assertLess(self.report()["samples"], 100)


class VerifyCost(Case):
    """Unrecorded copies beside the program."""
    # Copies have no output.
    COPY = "import os, stat, sys\ncopy = stat.S_ISCHR(os.fstat(1).st_mode)\n"
    WORK = COPY + "lines = list(sys.stdin)\n" + SPIN % 0.4 + "print(lines, copy)\nsys.exit(len(lines))\n"

    @staticmethod
    def processes(argument):
        """The processes that were given this argument, but collectors."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as f:
                    words = f.read().split(b"\0")
            except OSError:
                continue
            if argument.encode() in words and words[0] == PYTHON.encode():
                found.append(int(pid))
        return found

    def verify(self, script, **options):
        done = self.record("--verify-cost", PYTHON, "-c", script, **options)
        return done, done.stderr.decode()

    def test_measured(self):
        with open(self.path("input", b"first\nlines\n"), "rb") as f:
            os.lseek(f.fileno(), len(b"first\n"), os.SEEK_SET)
            done, said = self.verify(self.WORK, stdin=f)
        self.assertEqual((done.returncode, done.stdout), (1, b"['lines\\n'] False\n"))
        told = re.search(r"measured cost (-?\d+\.\d)% of CPU time, give or take (\d+\.\d)%, where the account says "
                         r"\d+\.\d% \(recorded (\d\.\d\d) s; two unrecorded copies meanwhile (\d\.\d\d) s and "
                         r"(\d\.\d\d) s\)\n", said)
        self.assertTrue(told, said)
        recorded, one, two = (float(x) for x in told.groups()[2:])
        self.assertLess(0.4, min(recorded, one, two) + 0.02)
        native = (one + two) / 2
        self.assertAlmostEqual(float(told[1]), 100 * (recorded / native - 1), delta=3)
        self.assertAlmostEqual(float(told[2]), 100 * abs(one - two) / native, delta=3)
        self.assertIn(told[0].rstrip(), self.report()["notes"])
        self.assert_nothing_left("out.pnb", "input")

    def test_not_known(self):
        """A copy that ends otherwise tells nothing, nor does one that takes next to no time."""
        script = self.COPY + SPIN % 0.2 + "sys.exit(copy)"
        done, said = self.verify(script, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 0)
        self.assertIn("could not be measured: an unrecorded copy ended otherwise", said)
        done = self.record("--verify-cost", "sleep", "0", stdin=subprocess.DEVNULL)
        self.assertIn("takes less than 0.1 s of CPU time", done.stderr.decode())

    def test_refused(self):
        done, said = self.verify("print('ran')", input=b"from a pipe")
        self.assertEqual((done.returncode, done.stdout), (2, b""))
        self.assertIn("cannot read the same pipe or socket", said)
        for with_ in (("-p", str(os.getpid())), ("--duration", "1", "true"),
                      ("--wait-all", "true")):
            done = self.record("--verify-cost", *with_)
            self.assertEqual(done.returncode, 2)
            self.assertIn(b"so it excludes " + with_[0].encode(), done.stderr)

    def test_killed_collector(self):
        """The copies end with the collector."""
        marker = self.path("marker", b"")
        collector = self.start("-q", "--verify-cost", PYTHON, "-c", "import time\ntime.sleep(1000)",
                               marker,
                               stdin=subprocess.DEVNULL)
        self.wait_for(lambda: len(self.processes(marker)) == 3, "three processes")
        collector.kill()
        self.wait_for(lambda: len(self.processes(marker)) == 1, "the copies' end")
        for pid in self.processes(marker):
            os.kill(pid, signal.SIGKILL)


class Several(Case):
    def test_nested(self):
        inner = [PENUMBRA, "record", "-q", "-o", self.dir + "/inner.pnb", "--spool", self.spool]
        done = self.record("-q", *inner, PYTHON, "-c", SPIN % 0.3 + "raise SystemExit(5)")
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertGreater(self.report(self.dir + "/inner.pnb")["samples"], 100)
        self.report()
        self.assert_nothing_left("inner.pnb", "out.pnb")

    def test_at_the_same_time(self):
        other = subprocess.Popen([PENUMBRA, "record", "-q", "-o", self.dir + "/other.pnb",
                                  "--spool",
                                  self.spool, PYTHON, "-c", SPIN % 0.3])
        self.assertEqual(self.record("-q", PYTHON, "-c", SPIN % 0.3).returncode, 0)
        self.assertEqual(other.wait(PATIENCE), 0)
        for path in (self.output, self.dir + "/other.pnb"):
            self.assertGreater(self.report(path)["samples"], 100)
        self.assert_nothing_left("other.pnb", "out.pnb")

    def test_same_output(self):
        first = self.start("-q", "sleep", "1000")
        self.wait_for(lambda: os.path.exists(self.output), "the first one's file")
        done = self.record("true")
        self.assertEqual(done.returncode, 124)
        self.assertIn(f"another recording (process {first.pid})", done.stderr.decode())
        done = subprocess.run([PENUMBRA, "recover", self.output], capture_output=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("still being recorded", done.stderr.decode())
        self.report()  # a snapshot
        first.terminate()
        self.assertEqual(first.wait(PATIENCE), -signal.SIGTERM)
        self.assert_nothing_left("out.pnb")


class Limits(Case):
    @unittest.skipIf(sanitized(), "sanitizers need the address space themselves")
    def test_address_space(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
        self.assertEqual(self.record(PYTHON, "-c", SPIN % 0.2, preexec_fn=limit).returncode, 0)
        self.assertGreater(self.report()["samples"], 100)

    def test_file_size(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (50 << 20, 50 << 20))
        self.assertEqual(self.record(PYTHON, "-c", SPIN % 0.2, preexec_fn=limit).returncode, 0)
        self.assertGreater(self.report()["samples"], 100)

    @unittest.skipUnless(os.geteuid() == 0, "only root can mount")
    def test_full_spool(self):
        """The program goes on, what was counted is there, and what was not is counted as such."""
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4200k", "none", self.spool],
                          capture_output=True).returncode:
            self.skipTest("mounting is not allowed here")
        try:
            done = self.record("-e", "page-faults", MANY_PATHS, "2")
            self.assertEqual((done.returncode, done.stdout), (0, b"1\n"), done.stderr)
            report = self.report()
            self.assertGreater(report["dropped"]["spool-full"], 0)
            self.assertGreater(report["samples"], 100)
            self.assertIn(b"spool-full", done.stderr)
            self.assertEqual(os.listdir(self.spool), [])
        finally:
            subprocess.run(["umount", self.spool], check=True)

    def test_spool_grows_ahead_of_the_program(self):
        done = self.record("-e", "page-faults", MANY_PATHS, "2")
        report = self.report()
        # Each path has 200 nodes of 32 bytes, the outermost few of them shared; 4 MB are ready at
        # once. How many samples find no room while more is made depends on the machine.
        self.assertGreater(report["taken"] * 190 * 32, 1.2 * (4 << 20), done.stderr)
        self.assertEqual(done.returncode, 0)

    def test_without_perf_events(self):
        done = self.record(PYTHON, "-c", SPIN % 0.5, preexec_fn=no_perf_events)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr.decode(), r"^penumbra: perf events .* CPU timers are: ")
        self.assertGreater(self.report()["samples"], 100)
        for event in ("page-faults", "context-switches",
                      "cycles"): # not "wall": tests/programs/outside
            done = self.record("-e", event, "true", preexec_fn=no_perf_events)
            self.assertEqual(done.returncode, 119, event)
            self.assertIn("Operation not permitted", done.stderr.decode())

    def test_hardware_events_work_or_are_refused(self):
        done = self.record("-e", "cycles", "true")
        if done.returncode:
            self.assertEqual(done.returncode, 119)
            self.assertIn("perf_event_open says", done.stderr.decode())
            self.assert_nothing_left()



class Events(Case):
    """Events are counted, also where few of them are sampled: a program that mostly waits has little
    CPU time, of which the samples may cost a quarter. A slow machine stretches the period more."""
    COUNTING = ("import os, resource, time\n"
                "def count():\n"
                "    use = resource.getrusage(resource.RUSAGE_SELF)\n"
                "    return use.%s + use.%s\n"
                "before = count()\n"
                "%s\n"
                "print(count() - before, count(), flush=True)\n"
                "os._exit(0)\n")

    def check(self, event, fields, work):
        done = self.record("-q", "--no-randomize", "-e", event, PYTHON, "-c",
                           self.COUNTING % (*fields, work))
        if done.returncode == 119:
            self.skipTest(done.stderr.decode())
        self.assertEqual(done.returncode, 0, done.stderr)
        # What the kernel counted during the work, and since the process began. Sampling began in
        # between, and ends a little after the second number. Both counts are exact: the slack is
        # for what is merged in the kernel at the very end, and for printing.
        least, most = map(int, done.stdout.split())
        report = self.report()
        counted = report["samples"] + sum(report["dropped"].values())
        self.assertGreaterEqual(counted, 0.8 * least, done.stdout)
        self.assertLessEqual(counted, 1.05 * most + 8, done.stdout)

    def test_context_switches(self):
        self.check("context-switches", ("ru_nvcsw", "ru_nivcsw"),
                   "for i in range(50): time.sleep(0.001)")

    def test_page_faults(self):
        self.check("page-faults", ("ru_minflt", "ru_majflt"), "bytearray(40 << 20)")


class Jit(Case):
    """Code that the program makes itself: counts down from its argument."""
    SCRIPT = ("import atexit, ctypes, mmap, os, sys\n"
              "code = mmap.mmap(-1, 4096, prot=7)\n"
              "code.write(bytes.fromhex('48ffcf75fbc3'))\n"  # dec rdi; jnz -5; ret
              "at = ctypes.addressof(ctypes.c_char.from_buffer(code))\n"
              "path = f'/tmp/perf-{os.getpid()}.map'\n"
              "open(sys.argv[1] or path, 'w').write(f'{at:x} 6 old name\\nrubbish\\n{at:x} 6 made_code\\n')\n"
              "if sys.argv[1]: os.symlink(sys.argv[1], path)\n"
              "print(path, flush=True)\n"
              "ctypes.CFUNCTYPE(None, ctypes.c_long)(at)(1000000000)\n")

    def names(self, target):
        done = self.record("-q", PYTHON, "-c", self.SCRIPT, target)
        self.assertEqual(done.returncode, 0, done.stderr)
        os.unlink(done.stdout.strip())
        return [f["name"] for f in self.report()["functions"]]

    def test_symbols_are_taken_into_the_profile(self):
        self.assertEqual(self.names("")[0], "made_code")

    def test_links_are_not_followed(self):
        self.assertNotIn("made_code", self.names(self.path("elsewhere.map")))


class Signals(Case):
    # Waits for a signal, then until %s, then says what it got.
    HANDLER = ("import os, signal, sys, time\n"
               "got = []\n"
               "for n in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1):\n"
               "    signal.signal(n, lambda n, f: got.append(n))\n"
               "print('ready', flush=True)\n"
               "while not got: time.sleep(0.01)\n"
               "%s\n"
               "print(*map(int, got)); raise SystemExit(11)\n")

    def start_handler(self, then):
        process = self.start(PYTHON, "-c", self.HANDLER % then, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        return process

    def test_sent_to_the_collector(self):
        """It is handed on, and ends the recording, but not the program."""
        for number in (signal.SIGTERM, signal.SIGINT):
            go = self.path("go")
            process = self.start_handler(f"while not os.path.exists({go!r}): time.sleep(0.01)")
            process.send_signal(number)
            self.summary(process)
            self.assertIsNone(process.poll())
            self.path("go", b"")
            self.assertEqual(process.stdout.read(), b"%d\n" % number)
            self.assertEqual(process.wait(PATIENCE), 11)
            os.unlink(go)
            self.assert_nothing_left("out.pnb")

    def test_handed_on_without_stopping(self):
        process = self.start_handler("until = time.process_time() + 0.3\n"
                                     "while time.process_time() < until: sum(range(1000))")
        process.send_signal(signal.SIGUSR1)
        self.assertEqual(process.stdout.read(), b"%d\n" % signal.SIGUSR1)
        self.assertEqual(process.wait(PATIENCE), 11)
        self.assertGreater(self.report()["samples"], 100)

    def test_default_action(self):
        process = self.start("-q", "sleep", "1000")
        self.wait_for(lambda: os.path.exists(self.output), "start")
        process.terminate()
        self.assertEqual(process.wait(PATIENCE), -signal.SIGTERM)
        self.assert_nothing_left("out.pnb")

    def test_ignored_stays_ignored(self):
        ignore = lambda: [signal.signal(n, signal.SIG_IGN) for n in (signal.SIGINT, signal.SIGHUP)]
        done = self.record("-q", "grep", "SigIgn", "/proc/self/status", preexec_fn=ignore)
        mask = int(done.stdout.split()[1], 16)
        self.assertEqual(mask & 3, 3)
        done = self.record("-q", "grep", "SigIgn", "/proc/self/status", restore_signals=True)
        plain = subprocess.run(["grep", "SigIgn", "/proc/self/status"], capture_output=True)
        self.assertEqual(done.stdout, plain.stdout)


class Terminal(Case):
    """The collector and the program as the foreground job of a terminal."""

    def start_on_terminal(self, *args):
        pid, self.master = pty.fork()
        if pid == 0:
            termios.tcsetwinsize(0, (24, 132))  # room for drops in the live line
            command = self.command(*args)
            os.execv(command[0], command)
        self.addCleanup(os.close, self.master)
        self.seen = b""
        return pid

    def read_some(self):
        """What there is to read, waiting a little for it; False when the terminal was closed."""
        if select.select([self.master], [], [], 0.05)[0]:
            try:
                self.seen += os.read(self.master, 4096)
            except OSError:
                return False
        return True

    def read_until(self, text):
        end = time.monotonic() + PATIENCE
        while text not in self.seen:
            self.assertLess(time.monotonic(), end, self.seen)
            self.assertTrue(self.read_some(), self.seen)

    def wait(self, pid):
        """Reads on, so that nobody blocks, until the job has ended; then what is left to read."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if not self.read_some():
                time.sleep(0.01)
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                while select.select([self.master], [], [], 0)[0] and self.read_some():
                    pass
                return status
        os.kill(pid, signal.SIGKILL)
        return self.fail("did not end")

    def test_interrupt_reaches_the_program_once(self):
        # What the program prints follows the terminal's echo at once, or a live line some time
        # later.
        for then in ("", "time.sleep(0.5)"):
            pid = self.start_on_terminal(PYTHON, "-c", Signals.HANDLER % then)
            self.read_until(b"ready")
            os.write(self.master, b"\x03")
            status = self.wait(pid)
            self.assertEqual(os.waitstatus_to_exitcode(status), 11, self.seen)
            self.assertRegex(self.seen, rb"(\^C|\n|\x1b8)2\r\n")
            self.assertRegex(self.seen, rb"penumbra: \d+ samples? in \d")

    def test_interrupt_ends_the_program(self):
        pid = self.start_on_terminal(PYTHON, "-c", "print('ready', flush=True)\n" + SPIN % 1000)
        self.read_until(b"ready")
        os.write(self.master, b"\x03")
        self.assertEqual(os.waitstatus_to_exitcode(self.wait(pid)), -signal.SIGINT)
        self.assertGreater(self.report()["samples"], 0)
        self.assert_nothing_left("out.pnb")

    def test_live_line(self):
        pid = self.start_on_terminal(PYTHON, "-c", SPIN % 1)
        self.wait(pid)
        self.assertRegex(self.seen, rb"\x1b7\x1b\[\d+G\x1b\[K \[penumbra \d+\.\d s: \d+ samples, "
                         rb"1 process, 1 thread(, \d+ dropped[^\]]*)?, \d+\.\d% overhead\]\x1b8")
        self.assertRegex(self.seen, rb"\[K +\x1b8penumbra: \d+ samples in [^\n]*\r\n$")

    def test_live_line_above_the_budget(self):
        """A budget that no sampling keeps is not kept in silence."""
        pid = self.start_on_terminal("--budget", "0.001", PYTHON, "-c", SPIN % 1)
        self.wait(pid)
        said = rb"\d+\.\d% overhead, over the budget of 0\.001%"
        self.assertRegex(self.seen, said + rb"\]\x1b8")
        self.assertRegex(self.seen, said + rb" -> ")

    def test_live_line_in_a_sandbox(self):
        """The CPU time that is used there is known, but where calls are what is sampled."""
        for options, made, share in (((), "", rb"%"), (("-e", "malloc"), THREAD, rb" ms")):
            pid = self.start_on_terminal(*options, PYTHON, "-c", SANDBOX + made + SPIN % 1)
            self.wait(pid)
            self.assertRegex(self.seen,
                             rb"1 process, \d threads?(, \d+ dropped[^\]]*)?, \d+\.\d" + share +
                             rb" overhead\]\x1b8")

    def test_live_line_leaves_full_screen_programs_alone(self):
        # Until the program has set the terminal up the line may be drawn, and one may be on its
        # way.
        script = ("import sys, time, tty\n"
                  "tty.setraw(0); time.sleep(0.5); print('raw', flush=True); time.sleep(1)\n")
        pid = self.start_on_terminal(PYTHON, "-c", script)
        self.wait(pid)
        self.assertNotIn(b"[penumbra", self.seen[self.seen.index(b"raw"):])
        self.assertRegex(self.seen, rb"penumbra: \d")

    # A shell in small: without one the job's process group would be an orphaned one, in which
    # SIGTSTP does nothing.
    SHELL = ("import os, sys, signal\n"
             "signal.signal(signal.SIGTTOU, signal.SIG_IGN)\n"
             "pid = os.fork()\n"
             "if pid == 0:\n"
             "    os.setpgid(0, 0); os.tcsetpgrp(0, os.getpid())\n"
             "    signal.signal(signal.SIGTTOU, signal.SIG_DFL)\n"
             "    os.execv(sys.argv[1], sys.argv[1:])\n"
             "status = os.waitpid(pid, os.WUNTRACED)[1]\n"
             "print('stopped', os.WIFSTOPPED(status), flush=True)\n"
             "os.killpg(pid, signal.SIGCONT)\n"
             "status = os.waitpid(pid, 0)[1]\n"
             "print('ended', status, flush=True)\n")

    def start_job(self, *args):
        pid, self.master = pty.fork()
        if pid == 0:
            os.execv(PYTHON, [PYTHON, "-c", self.SHELL, *self.command(*args)])
        self.addCleanup(os.close, self.master)
        self.seen = b""
        return pid

    def check_job(self, pid):
        self.wait(pid)
        for text in (b"stopped True", b"on\r\n", b"ended 0"):
            self.assertIn(text, self.seen)
        self.assert_nothing_left("out.pnb")

    def test_stop_and_continue(self):
        script = ("import signal, time\n"
                  "again = []\n"
                  "signal.signal(signal.SIGCONT, lambda n, f: again.append(n))\n"
                  "print('ready', flush=True)\n"
                  "while not again: time.sleep(0.01)\n"
                  "print('on', flush=True)\n")
        pid = self.start_job("-q", PYTHON, "-c", script)
        self.read_until(b"ready")
        os.write(self.master, b"\x1a")
        self.check_job(pid)

    def test_program_that_stops_itself(self):
        script = ("import os, signal; print('ready', flush=True)\n"
                  "os.kill(os.getpid(), signal.SIGTSTP)\nprint('on', flush=True)")
        self.check_job(self.start_job("-q", PYTHON, "-c", script))


if __name__ == "__main__":
    unittest.main()
