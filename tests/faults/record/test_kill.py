"""Sudden deaths: what was counted must be readable afterwards, whoever was killed."""

import glob
import os
import random
import re
import signal
import subprocess
import time
import unittest

from harness import Case, PATIENCE, PENUMBRA, PYTHON, SPIN


def has_ended(pid):
    """It is gone, or nobody has asked for its status yet. A signal has ended it a while before that."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
            return f.read().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


class Collector(Case):
    def start_spinning(self):
        process = self.start("-q", PYTHON, "-c", SPIN % 1000)
        self.wait_for(lambda: os.path.exists(self.output), "the live file")
        children = f"/proc/{process.pid}/task/{process.pid}/children"

        def program():
            with open(children) as f:
                return f.read().split()
        self.program = int(self.wait_for(program, "the program")[0])
        self.addCleanup(self.end_program)
        return process

    def end_program(self):
        try:
            os.kill(self.program, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def wait_for_samples(self, count):
        """Reading the live file shows what there is so far."""
        self.wait_for(lambda: self.report()["samples"] > count, f"{count} samples")

    def start_and_kill(self, samples=0):
        """Kills the collector after some samples; the program goes on."""
        process = self.start_spinning()
        if samples:
            self.wait_for_samples(samples)
        process.kill()
        process.wait()

    def recover(self, *args):
        return subprocess.run([PENUMBRA, "recover", *args], capture_output=True, timeout=PATIENCE)

    def test_killed_at_any_time(self):
        """There is no spool that no live file leads to, and what was there before is not lost."""
        for moment in range(40):
            with open(self.output, "wb") as f:
                f.write(b"what was there before")
            process = self.start("-q", "sleep", "3")
            time.sleep(moment / 1000)
            process.kill()
            process.wait()
            spools = os.listdir(self.spool)
            with open(self.output, "rb") as f:
                written = f.read()
            if spools:
                self.assertIn(os.path.join(self.spool, spools[0]).encode(), written)
                # The child that was to become the program has the lock, too, until it is that.
                end = time.monotonic() + PATIENCE
                while self.recover(self.output).returncode != 0:
                    self.assertLess(time.monotonic(), end, self.recover(self.output))
                    time.sleep(0.01)
            elif written != b"what was there before":
                self.assertIn(self.spool.encode(), written)
            for kept in glob.glob(self.output + ".*.old"):
                with open(kept, "rb") as f:
                    self.assertEqual(f.read(), b"what was there before")
                os.unlink(kept)

    def test_recover(self):
        self.start_and_kill(30)
        done = self.recover(self.output)
        self.assertEqual(done.returncode, 0, done.stderr)
        told = int(re.search(rb"recovered (\d+) samples of 1 process", done.stderr)[1])
        self.assertGreater(told, 30)
        self.assertEqual(self.report()["taken"], told)
        self.assert_nothing_left("out.pnb")
        # The program goes on, and is not sampled any more.
        os.kill(self.program, 0)
        again = self.recover(self.output)
        self.assertEqual(again.returncode, 0)
        self.assertIn(b"nothing to recover", again.stderr)

    def test_recover_elsewhere(self):
        self.start_and_kill(20)
        done = self.recover(self.output, "-o", self.dir + "/other.pnb")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(self.report(self.dir + "/other.pnb")["samples"], 20)
        self.assert_nothing_left("other.pnb")

    def test_recover_from_the_counters_alone(self):
        process = self.start_spinning()
        spool = os.path.join(self.spool, os.listdir(self.spool)[0])
        self.assertEqual(self.recover(spool).returncode, 2)  # still going on
        self.wait_for_samples(20)
        process.kill()
        process.wait()
        os.unlink(self.output)
        done = subprocess.run([PENUMBRA, "report", spool], capture_output=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 3)
        self.assertIn(b"penumbra recover", done.stderr)
        done = subprocess.run([PENUMBRA, "recover", spool], capture_output=True, cwd=self.dir)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(self.report(self.dir + "/penumbra.pnb")["samples"], 20)
        self.assert_nothing_left("penumbra.pnb")

    def test_huge_file_of_another_kind(self):
        with open(self.output, "wb") as f:
            f.truncate(1 << 34)
        for command in ("report", "recover"):
            done = subprocess.run([PENUMBRA, command, self.output], capture_output=True,
                                  timeout=PATIENCE)
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn(b"is not a profile", done.stderr)

    def test_report_recovers_by_itself(self):
        self.start_and_kill(20)
        self.assertGreater(self.report()["samples"], 20)
        self.assert_nothing_left("out.pnb")

    def test_both_killed(self):
        process = self.start_spinning()
        self.wait_for_samples(20)
        os.kill(self.program, signal.SIGKILL)
        process.kill()
        process.wait()
        self.wait_for(lambda: has_ended(self.program), "the end of the program")
        self.assertGreater(self.report()["samples"], 20)
        self.assert_nothing_left("out.pnb")

    def test_program_goes_on(self):
        ready, go, mark = self.path("ready"), self.path("go"), self.path("mark")
        script = 'echo >"$1"; while [ ! -e "$2" ]; do sleep 0.01; done; echo survived >"$3"'
        process = self.start("-q", "sh", "-c", script, "sh", ready, go, mark)
        self.wait_for(lambda: os.path.exists(ready), "the program")
        process.kill()
        process.wait()
        self.path("go", b"")
        self.wait_for(lambda: os.path.exists(mark), "the program's end")

    def test_spool_gone(self):
        self.start_and_kill()
        for name in os.listdir(self.spool):
            os.unlink(os.path.join(self.spool, name))
        done = self.recover(self.output)
        self.assertEqual(done.returncode, 127)
        self.assertIn(b"unfinished recording", done.stderr)

    def test_spool_replaced_by_something_else(self):
        self.start_and_kill()
        name = os.path.join(self.spool, os.listdir(self.spool)[0])
        os.rename(name, name + ".moved")
        for content in (b"", b"precious", bytes(8192)):
            with open(name, "wb") as f:
                f.write(content)
            done = self.recover(self.output)
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertTrue(os.path.exists(name))

    def test_spool_of_another_recording(self):
        self.start_and_kill()
        first = self.program
        name = os.path.join(self.spool, os.listdir(self.spool)[0])
        os.rename(self.output, self.output + ".first")
        self.start_and_kill()
        os.kill(first, signal.SIGKILL)
        other = [n for n in os.listdir(self.spool) if os.path.join(self.spool, n) != name][0]
        os.rename(os.path.join(self.spool, other), name)
        done = self.recover(self.output + ".first")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn(b"another one", done.stderr)

    def test_dead_recording_is_replaced(self):
        self.start_and_kill()
        done = self.record("true")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"replacing the unfinished recording", done.stderr)
        self.assert_nothing_left("out.pnb")

    def test_random_moments(self):
        """From before the program runs to after it has ended, however long that takes here."""
        begin = time.monotonic()
        self.assertEqual(self.record("-q", PYTHON, "-c", SPIN % 0.1).returncode, 0)
        whole = time.monotonic() - begin
        for i in range(20):
            if os.path.exists(self.output):
                os.unlink(self.output)
            process = self.start("-q", PYTHON, "-c", SPIN % 0.1)
            time.sleep(random.uniform(0, 1.2 * whole))
            process.kill()
            process.wait()
            for name in os.listdir(self.dir):
                if name.startswith("out.pnb."):  # an unfinished temporary file
                    os.unlink(os.path.join(self.dir, name))
            if os.path.exists(self.output):
                self.report()
            for name in os.listdir(self.spool):  # killed before the file said where it is
                path = os.path.join(self.spool, name)
                done = self.recover(path, "-o", self.dir + "/other.pnb")
                self.assertIn(done.returncode, (0, 2, 3), done.stderr)
                if done.returncode:  # no header yet, or the child has not let go of it
                    os.unlink(path)


class Program(Case):
    def test_killed(self):
        done = self.record("-q", PYTHON, "-c", SPIN % 0.4 + "import os; os.kill(os.getpid(), 9)")
        self.assertEqual(done.returncode, -signal.SIGKILL)
        self.assertGreater(self.report()["samples"], 50)
        self.assert_nothing_left("out.pnb")

    def test_children_killed(self):
        script = "for i in 1 2 3; do \"$1\" -c \"$2\"; done; exit 2"
        done = self.record("-q", "sh", "-c", script, "sh", PYTHON,
                           SPIN % 0.2 + "import os; os.kill(os.getpid(), 9)")
        self.assertEqual(done.returncode, 2)
        self.assertGreater(self.report()["samples"], 300)

    def test_exits_without_saying_goodbye(self):
        done = self.record("-q", PYTHON, "-c", SPIN % 0.3 + "import os; os._exit(6)")
        self.assertEqual(done.returncode, 6)
        self.assertGreater(self.report()["samples"], 50)


if __name__ == "__main__":
    unittest.main()
