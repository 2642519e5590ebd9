"""Programs of random system calls (calls.c), natively and recorded: run, compared, and reduced to
what still differs."""
import collections
import os
import re
import subprocess
import tempfile

WAYS = {
    "samples": ["-F", "10000"],
    "wall": ["-e", "wall", "-F", "10000"],
    "burst": ["--carrier", "burst", "--tool", "blocks", "-F", "4999"],
    "null": ["--exact", "--tool", "null"],
    "blocks": ["--exact", "--tool", "blocks"],
    "shadow": ["--carrier", "shadow", "--load", "2", "--sample-size", "100k", "-F", "997"],
}
PATIENCE = 300  # seconds: only what never happens takes as long


def as_list(numbers):
    return ",".join(map(str, numbers))


class Calls:
    """The program and the profiler, with a folder for what they write."""

    def __init__(self, program, penumbra, patience=PATIENCE):
        self.program, self.penumbra, self.patience = program, penumbra, patience
        self.folder = tempfile.TemporaryDirectory()
        self.spools = tempfile.TemporaryDirectory(dir="/dev/shm")

    def run(self, first, last, numbers, way=None):
        """{seed: what its process printed, and how it ended}, and what went wrong in the run."""
        log = os.path.join(self.folder.name, "log")
        profile = os.path.join(self.folder.name, "p.pnb")
        command = [self.program, log, f"{first}-{last}", numbers]
        if way:
            command = [self.penumbra, "record", "-q", "--spool", self.spools.name, "-o", profile,
                       *WAYS[way], "--", *command]
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, start_new_session=True)
        wrong = ""
        try:
            output, errors = child.communicate(timeout=self.patience)
        except subprocess.TimeoutExpired:
            wrong = f"does not end in {self.patience} s"
            output, errors = self.end(child, log)
        if not wrong and child.returncode:
            wrong = f"status {child.returncode}"
        if errors:
            wrong += f" standard error {errors.decode(errors='replace'):.300}"
        if way and not wrong and not os.path.exists(profile):
            wrong = "there is no profile"
        left = [os.path.join(self.spools.name, name) for name in os.listdir(self.spools.name)]
        if left and not wrong:
            wrong = f"counters are left: {left}"
        for file in (log, profile, *left):
            if os.path.exists(file):
                os.unlink(file)
        return seeds_of(output.decode(errors="replace")), wrong

    def end(self, child, log):
        """Ends what runs too long. What it has printed is in the log."""
        try:
            os.killpg(child.pid, 9)
        except ProcessLookupError:
            pass
        child.communicate()
        if not os.path.exists(log):
            return b"", b""
        with open(log, "rb") as f:
            text = f.read()[8:]
        return text.rstrip(b"\0"), b""

    def native(self, first, last, numbers):
        """{seed: its text}, of those that are the same two times."""
        once, twice = (self.run(first, last, numbers) for _ in range(2))
        if once[1] or twice[1]:
            return {}
        return {seed: text for seed, text in once[0].items() if twice[0].get(seed) == text}

    def differences(self, first, last, numbers, way, native):
        """{seed: (native text, recorded text)}; seed None: of the run as a whole."""
        recorded, wrong = self.run(first, last, numbers, way)
        found = {seed: (text, recorded.get(seed, "")) for seed, text in native.items()
                 if not is_same(text, recorded.get(seed, ""), way)}
        if wrong and not found:
            found[None] = ("", wrong)
        return found

    def differs(self, seed, numbers, way, tries):
        """How one seed does, in one of so many runs, or None. If native runs differ, it is None."""
        text = as_list(numbers)
        for _ in range(tries):
            native = self.native(seed, seed, text)
            if not native:
                return None
            found = self.differences(seed, seed, text, way, native)
            if found:
                return found.get(seed) or found[None]
        return None

    def reduced(self, seed, numbers, way, tries=2):
        """The fewest operations that still differ, and how; no numbers: alone the seed does not."""
        what = self.differs(seed, numbers, way, 3 * tries)
        if not what:
            return [], None
        size = len(numbers) // 2
        while size:
            at = 0
            while at < len(numbers):
                fewer = numbers[:at] + numbers[at + size:]
                less = fewer and self.differs(seed, fewer, way, tries)
                if less:
                    numbers, what = fewer, less
                else:
                    at += size
            size //= 2
        return numbers, what


def steps(text):
    """Lines, each with the kinds of descriptors that were open then."""
    files, found = collections.Counter(), []
    for line in text.splitlines() + [""]:
        if line.startswith("  files:"):
            files = collections.Counter(item.partition(":")[2] for item in line.split()[1:])
        else:
            found.append((line, files))
    return found


def is_same(native, recorded, way):
    """While a shadow is made other threads may see one or two descriptors more (docs/limits.md)."""
    if way != "shadow":
        return native == recorded
    a, b = steps(native), steps(recorded)
    return len(a) == len(b) and all(x == y and not before - after and (after - before).total() <= 2
                                    for (x, before), (y, after) in zip(a, b))


def seeds_of(text):
    """The part of each seed."""
    parts = re.split(r"^seed (\d+)\n", text, flags=re.M)
    return {int(seed): body for seed, body in zip(parts[1::2], parts[2::2])}


def first_difference(native, recorded):
    """The first line that is not the same, of either."""
    a, b = native.splitlines(), recorded.splitlines()
    at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
    return (a[at] if at < len(a) else "(nothing)"), (b[at] if at < len(b) else "(nothing)")
