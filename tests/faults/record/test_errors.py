"""Each way in which a recording cannot begin: its exit status, its message, nothing left behind."""

import os
import resource
import struct
import subprocess
import unittest

from harness import Case, PATIENCE, PENUMBRA


def elf(interpreter=None, bits=64, machine=62, kind=3):
    """The smallest file that looks like a program: a header, and PT_INTERP if asked for."""
    ident = b"\x7fELF" + bytes([2 if bits == 64 else 1, 1, 1]) + bytes(9)
    count = 1 if interpreter else 0
    load = struct.pack("<IIQQQQQQ", 1, 5, 0, 0x400000, 0x400000, 64, 64, 4096)
    head = ident + struct.pack("<HHIQQQIHHHHHH", kind, machine, 1, 0x400000, 64, 0, 0, 64, 56,
                               1 + count, 0, 0, 0)
    if not interpreter:
        return head + load
    path = interpreter.encode() + b"\0"
    at = 64 + 2 * 56
    interp = struct.pack("<IIQQQQQQ", 3, 4, at, 0, 0, len(path), len(path), 1)
    return head + interp + load + path


class Usage(Case):
    def check(self, args, message):
        done = self.record(*args)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(message, done.stderr.decode())
        self.assertEqual(done.stdout, b"")
        self.assert_nothing_left()

    def test_suggestions(self):
        self.check(["--durtion", "3", "true"], "did you mean --duration?")
        self.check(["--durtion=3", "true"], "did you mean --duration?")
        self.check(["--arm-sandboxes", "true"],
                   "it is the default, and --no-arm-sandboxes turns it off")
        self.check(["-e", "cpuu", "true"], 'did you mean "cpu"?')
        self.check(["-e", "page-fault", "true"], 'did you mean "page-faults"?')
        self.check(["-e", "cache-mises", "true"], 'did you mean "cache-misses"?')
        self.check(["-e", "xyzzy", "true"], "--help lists")

    def test_carriers_and_tools(self):
        self.check(["--carrier", "brst", "true"], "did you mean burst?")
        self.check(["--exact", "--tool", "xyzzy", "true"], "stacks, blocks, count, edges, calls")
        self.check(["--tool", "latancy", "true"], "did you mean latency?")
        self.check(["--tool", "conflits", "true"], "did you mean conflicts?")
        self.check(["--tool", "edges", "true"], "add --exact")
        self.check(["--exact", "--tool", "stacks", "true"], "--exact --tool calls")
        self.check(["--carrier", "burst", "--tool", "calls", "true"], "needs the whole run")
        self.check(["--exact", "--length", "5", "true"], "add --carrier burst")
        self.check(["--carrier", "burst", "--length", "0", "true"], "between 1 and")
        self.check(["--tool", "values", "--skip", "5000", "true"], "between 0 and 4096")
        self.check(["--exact", "--tool", "values", "--skip", "5", "true"], "--skip is about bursts")
        self.check(["--carrier", "burst", "--skip", "5", "true"], "add --tool values")
        self.check(["--carrier", "burst", "--baseline", "3", "true"], "--baseline is for --exact")
        for option in (["-F", "10"], ["-c", "1ms"], ["-e", "cpu"], ["--budget", "1%"]):
            self.check(["--exact", *option, "true"], f"{option[0]} is about samples")

    def test_attached(self):
        """What needs the program from its start on is refused before the process is looked at."""
        def refused(*options, message):
            self.check([*options, "-p", "1"], message)
            self.check(["-p", "1", *options], message)
        for tool in ("edges", "values", "null"):
            refused("--exact", "--tool", tool, message="or choose --carrier shadow")
        refused("--exact", "--tool", "calls",
                message="start the program with penumbra record --exact")
        refused("--carrier", "shadow", "--tool", "calls",
                message="start the program with penumbra record --exact --tool calls")
        refused("--tool", "calls",
                message="start the program with penumbra record --exact --tool calls")
        refused("--tool", "edges", message="add --carrier shadow")
        for options in (["--tool", "values"], ["--carrier", "burst"], ["--carrier", "auto"],
                        ["--exact"]):
            refused(*options, message="or choose --carrier shadow")
        for event in ("malloc", "read", "write", "lock-wait"):
            refused("-e", event, message=f"-e {event} needs libpenumbra-rt.so from the program's start on")
            refused("-e", event, "--carrier", "shadow", message=f"-e {event} needs")
        refused("--carrier", "shadow", "--log-input",
                message="--log-input needs libpenumbra-rt.so from the program's start on")

    def test_numbers(self):
        self.check(["-F", "0", "true"], "between 1 and 100000, not 0")
        self.check(["-F", "100001", "true"], "between 1 and 100000")
        self.check(["-F", "-5", "true"], 'must be a number, not "-5"')
        self.check(["-F", "nan", "true"], "must be a number")
        self.check(["-F", "0x10", "true"], "has no unit known here")
        self.check(["-c", "1ns", "true"], "between 10000")
        self.check(["-c", "5kHz", "true"], "known are ns, us, ms, s")
        self.check(["--duration", "", "true"], "must be a number")
        self.check(["--duration", "5x", "true"], "known are ms, s, m, min, h")
        self.check(["--budget", "0", "true"], "between 0.001 and 100")
        self.check(["--budget", "101%", "true"], "between 0.001 and 100")
        self.check(["--max-depth", "1e9", "true"], "has no unit known here")
        self.check(["-F", "100", "-c", "1ms", "true"], "exclude each other")
        self.check(["-F", "100", "-e", "page-faults", "true"], "give a period with -c")

    def test_missing(self):
        self.check([], "no program to run")
        self.check([""], "no program to run")
        self.check(["-F"], "needs a value")
        self.check(["--duration"], "needs a value")

    def test_commands(self):
        for args, status in (([], 2), (["recrod"], 2), (["--help"], 0), (["--version"], 0),
                             (["help"], 0), (["help", "record"], 0), (["help", "help"], 0),
                             (["help", "x"], 2),
                             (["record", "--help"], 0), (["recover", "--help"], 0),
                             (["recover"], 127), (["recover", "--outptu", "x"], 2),
                             (["recover", "x", "y"], 2)):
            done = subprocess.run([PENUMBRA, *args], capture_output=True, timeout=PATIENCE,
                                  cwd=self.dir)
            self.assertEqual(done.returncode, status, args)
            told = done.stdout if status == 0 else done.stderr
            silent = done.stderr if status == 0 else done.stdout
            self.assertTrue(told, args)
            self.assertEqual(silent, b"", args)


class Programs(Case):
    def check(self, program, status, message, **options):
        before = sorted(os.listdir(self.dir))
        done = self.record("--", program, **options)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertIn(message, done.stderr.decode())
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertEqual(done.stdout, b"")
        self.assertEqual(sorted(os.listdir(self.dir)), before)
        self.assertEqual(os.listdir(self.spool), [])

    def test_not_found(self):
        self.check("no-such-program", 127, "in any directory of PATH")
        self.check("./no-such-program", 127, "there is no file")
        self.check("/etc/passwd/x", 127, "there is no file")
        self.path("here", b"#!/bin/sh\n")
        self.check("here", 127, "write ./here", cwd=self.dir)
        self.check("x" * 5000, 127, "longer than any path")

    def test_path_is_searched_as_execvp_does(self):
        first, second = self.path("first"), self.path("second")
        os.mkdir(first)
        os.mkdir(second)
        self.path("first/tool", b"#!/bin/sh\nexit 1\n", 0o644)
        env = dict(os.environ, PATH=f"{first}:{second}")
        self.check("tool", 126, "may not be executed", env=env)
        self.path("second/tool", b"#!/bin/sh\nexit 5\n")
        self.assertEqual(self.record("tool", env=env).returncode, 5)

    def test_not_executable(self):
        self.check(self.dir, 126, "is a directory")
        self.check(self.path("plain", b"text\n", 0o644), 126, "may not be executed")
        self.check("/dev/null", 126, "not a regular file")
        self.check(self.path("cut", elf()[:40]), 126, "damaged")
        self.check(self.path("object", elf(kind=1)), 126, "object file")
        self.check(self.path("segments", elf("/x")[:70]), 126, "damaged")

    def test_scripts(self):
        self.check(self.path("bad", b"#!/no/such/interpreter\n"), 123, "/no/such/interpreter")
        self.check(self.path("dir", b"#! /tmp\n"), 123, "is a directory")
        self.path("loop", f"#!{self.dir}/loop\n".encode())
        self.check(self.path("loop"), 123, "more than 5 times")
        chain = self.path("last", b"#!/bin/sh\nexit 7\n")
        for i in range(3):
            chain = self.path(f"chain{i}", f"#!{chain}\n".encode())
        self.assertEqual(self.record(chain).returncode, 7)

    def test_script_without_interpreter_line_runs_in_the_shell(self):
        done = self.record(self.path("plain", b'echo "$0" "$1"; exit 9\n'), "argument")
        self.assertEqual(done.returncode, 9, done.stderr)
        self.assertEqual(done.stdout.decode(), f"{self.dir}/plain argument\n")

    def test_machines(self):
        self.check(self.path("data", bytes(range(256))), 122, "neither an ELF program nor a script")
        self.check(self.path("i386", elf(bits=32, machine=3)), 122, "32-bit x86")
        self.check(self.path("x32", elf(bits=32)), 122, "x32")
        self.check(self.path("arm", elf(machine=183)), 122, "AArch64")
        self.path("ld-musl-x86_64.so.1", b"")
        self.check(self.path("musl", elf(f"{self.dir}/ld-musl-x86_64.so.1")), 122, "not glibc")

    def test_static(self):
        self.check(self.path("static", elf(kind=2)), 120, "statically linked")
        self.check(self.path("static-pie", elf(kind=3)), 120, "statically linked")

    def test_loader_missing(self):
        self.check(self.path("moved", elf("/no/such/ld-linux-x86-64.so.2")), 123,
                   "needs the program "
                   "interpreter")

    @unittest.skipUnless(os.geteuid() == 0, "only root can give files away")
    def test_privileged(self):
        with open("/bin/true", "rb") as f:
            true = f.read()
        copy = self.path("setuid", true)
        os.chown(copy, 65534, 0)
        os.chmod(copy, 0o4755)
        if os.statvfs(copy).f_flag & os.ST_NOSUID:
            self.skipTest("nosuid file system")
        self.check(copy, 121, "is setuid")
        own = self.path("own", true, 0o4755)
        self.assertEqual(self.record("-q", own).returncode, 0)
        group = self.path("setgid", true)
        os.chown(group, 0, 65534)
        os.chmod(group, 0o2755)
        self.check(group, 121, "is setgid")

    def test_runtime_missing(self):
        self.check("true", 125, "PENUMBRA_RUNTIME",
                   env=dict(os.environ, PENUMBRA_RUNTIME="/no/such"))


    def test_proc_missing(self):
        """Without /proc nothing could be found, and what says so is that, not what was looked for."""
        hidden = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh"]
        if subprocess.run([*hidden, "true"], capture_output=True, timeout=PATIENCE).returncode:
            self.skipTest("nothing can be mounted here")
        for what in (["--", "true"], ["-p", str(os.getpid())]):
            done = subprocess.run([*hidden, PENUMBRA, "record", "-o", self.output, *what],
                                  capture_output=True, timeout=PATIENCE)
            self.assertEqual(done.returncode, 125, done.stderr)
            self.assertIn("/proc is not mounted", done.stderr.decode())
            self.assertIn("mount -t proc", done.stderr.decode())
            self.assert_nothing_left()


class Output(Case):
    def check(self, output, message, **options):
        done = subprocess.run(self.command("true", output=output), capture_output=True,
                              timeout=PATIENCE,
                              **options)
        self.assertEqual(done.returncode, 124, done.stderr)
        self.assertIn(message, done.stderr.decode())
        self.assertEqual(os.listdir(self.spool), [])

    def test_places(self):
        self.check("/no/such/place", 'directory "/no/such"')
        self.check(self.dir, "is a directory")
        self.check("/no/such/directory/", "cannot make the directory")
        self.check("/proc/profile.pnb", "choose another place")
        self.check("/dev/full", "No space left")
        os.symlink("/no/such/target", self.path("link"))
        self.check(self.path("link"), "symbolic link")
        os.unlink(self.path("link"))
        self.assert_nothing_left()

    def test_spool_place(self):
        done = subprocess.run([PENUMBRA, "record", "-o", self.output, "--spool", "/no/such",
                               "true"],
                              capture_output=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 124)
        self.assert_nothing_left()

    @unittest.skipIf(os.geteuid() == 0, "root may write anywhere")
    def test_not_permitted(self):
        self.check("/profile.pnb", "Permission denied")

    def test_file_size_limit(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
        self.check(self.output, "File too large", preexec_fn=limit)
        self.assert_nothing_left()

    @unittest.skipUnless(os.geteuid() == 0, "only root can mount")
    def test_full(self):
        full = self.path("full")
        os.mkdir(full)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", full],
                          capture_output=True).returncode:
            self.skipTest("mounting is not allowed here")
        try:
            with open(full + "/filler", "wb") as f:
                f.write(bytes(60 << 10))
            self.check(full + "/x.pnb", "No space left")
            self.assertEqual(os.listdir(full), ["filler"])
        finally:
            subprocess.run(["umount", full], check=True)

    def test_replaced_only_when_the_program_starts(self):
        self.path("out.pnb", b"precious")
        done = self.record("no-such-program")
        self.assertEqual(done.returncode, 127)
        with open(self.output, "rb") as f:
            self.assertEqual(f.read(), b"precious")

    def test_link_is_followed(self):
        os.mkdir(self.path("real"))
        self.path("real/x.pnb", b"")
        os.symlink("real/x.pnb", self.output)
        self.assertEqual(self.record("-q", "true").returncode, 0)
        self.assertTrue(os.path.islink(self.output))
        self.assertGreater(os.path.getsize(self.path("real/x.pnb")), 100)
        self.assertEqual(os.stat(self.path("real/x.pnb")).st_mode & 0o777, 0o600)


if __name__ == "__main__":
    unittest.main()
